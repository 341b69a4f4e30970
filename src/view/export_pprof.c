/* SPDX-License-Identifier: MIT */
/*
 * pprof: profile.proto of github.com/google/pprof, gzipped. A location is an instruction with its
 * inlined frames; a sample has the labels event (one for each event of the set), state and category.
 *
 * The message is encoded by hand: of protobuf it needs numbers, strings and nesting, and a part is
 * written as soon as it is made, where protobuf-c would hold all of it as structs first.
 */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "view/export.h"

#define MARK "culprit pprof" /* comment of the gzip header */

struct bytes {
	uint8_t *data;
	size_t size, room;
};

/* Field numbers of profile.proto. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE,
	PROFILE_MAPPING,
	PROFILE_LOCATION,
	PROFILE_FUNCTION,
	PROFILE_STRING,
	PROFILE_DURATION = 10,
	PROFILE_PERIOD_TYPE,
	PROFILE_PERIOD,
	PROFILE_DEFAULT_TYPE = 14
};
enum { TYPE_TYPE = 1, TYPE_UNIT };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_TEXT };
enum {
	MAPPING_ID = 1,
	MAPPING_START,
	MAPPING_LIMIT,
	MAPPING_OFFSET,
	MAPPING_FILE,
	MAPPING_BUILD_ID,
	MAPPING_HAS_FUNCTIONS,
	MAPPING_HAS_FILES,
	MAPPING_HAS_LINES,
	MAPPING_HAS_INLINED
};
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE };
enum { LINE_FUNCTION = 1, LINE_LINE };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILE, FUNCTION_LINE };

struct writer {
	FILE *out;
	z_stream z;
	bool ok;
	struct bytes part, inner; /* a field of the profile; a message inside it */
	uint64_t nstrings;
};

static void put_byte(struct bytes *b, uint8_t byte)
{
	ARRAY_ROOM(b->data, b->room, b->size + 1);
	b->data[b->size++] = byte;
}

static void put_varint(struct bytes *b, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		put_byte(b, (uint8_t)v | 0x80);
	put_byte(b, (uint8_t)v);
}

static void put_number(struct bytes *b, unsigned field, uint64_t v)
{
	put_varint(b, field << 3);
	put_varint(b, v);
}

static void put_data(struct bytes *b, unsigned field, const void *data, size_t size)
{
	put_varint(b, field << 3 | 2);
	put_varint(b, size);
	if (!size)
		return;
	ARRAY_ROOM(b->data, b->room, b->size + size);
	memcpy(b->data + b->size, data, size);
	b->size += size;
}

static void put_inner(struct writer *w, unsigned field)
{
	put_data(&w->part, field, w->inner.data, w->inner.size);
	w->inner.size = 0;
}

static void pack(struct writer *w, const void *data, size_t size, int flush)
{
	uint8_t buf[16384];

	w->z.next_in = (Bytef *)(uintptr_t)data;
	w->z.avail_in = (uInt)size;
	do {
		w->z.next_out = buf;
		w->z.avail_out = sizeof(buf);
		deflate(&w->z, flush);
		const size_t n = sizeof(buf) - w->z.avail_out;

		w->ok = w->ok && fwrite(buf, 1, n, w->out) == n;
	} while (!w->z.avail_out);
}

/* Writes a field of the profile: the message that `part` holds. */
static void put_part(struct writer *w, unsigned field)
{
	put_data(&w->inner, field, w->part.data, w->part.size);
	pack(w, w->inner.data, w->inner.size, Z_NO_FLUSH);
	w->part.size = w->inner.size = 0;
}

static void put_profile_number(struct writer *w, unsigned field, uint64_t v)
{
	put_number(&w->inner, field, v);
	pack(w, w->inner.data, w->inner.size, Z_NO_FLUSH);
	w->inner.size = 0;
}

/* Strings are numbered as they come; equal ones may come again. */
static uint64_t string(struct writer *w, const char *text)
{
	struct bytes b = { 0 };

	put_data(&b, PROFILE_STRING, text, strlen(text));
	pack(w, b.data, b.size, Z_NO_FLUSH);
	free(b.data);
	return w->nstrings++;
}

/* Strings that samples name again and again. */
struct words {
	uint64_t event, state, category; /* keys */
	uint64_t base, events[MODEL_EVENTS], states[TIME_CATEGORY_COUNT],
	    categories[TIME_CATEGORY_COUNT];
	uint64_t cycles, unit, time, ns, executions, count;
};

static void put_words(struct writer *w, const struct export_profile *p, struct words *t)
{
	char unit[40];

	string(w, "");
	t->event = string(w, "event");
	t->state = string(w, "state");
	t->category = string(w, "category");
	t->base = string(w, "base");
	for (size_t i = 0; i < MODEL_EVENTS; i++)
		t->events[i] = string(w, p->model.event_name[i] ? p->model.event_name[i] : "?");
	for (int i = 0; i < TIME_CATEGORY_COUNT; i++) {
		t->states[i] = string(w, export_state(i));
		t->categories[i] =
		    string(w, p->model.category_name[i] ? p->model.category_name[i] : "?");
	}
	t->cycles = string(w, "cycles");
	t->unit = string(w, export_unit(p, unit, sizeof(unit)));
	t->time = string(w, "time");
	t->ns = string(w, "nanoseconds");
	t->executions = string(w, "executions");
	t->count = string(w, "count");
}

static void put_type(struct writer *w, unsigned field, uint64_t type, uint64_t unit)
{
	put_number(&w->part, TYPE_TYPE, type);
	put_number(&w->part, TYPE_UNIT, unit);
	put_part(w, field);
}

static void put_mappings(struct writer *w, const struct export_profile *p)
{
	for (size_t i = 0; i < p->nimages; i++) {
		const struct export_image *im = &p->images[i];
		const uint64_t file = string(w, im->path), id = string(w, im->build_id);

		put_number(&w->part, MAPPING_ID, i + 1);
		put_number(&w->part, MAPPING_START, im->start);
		put_number(&w->part, MAPPING_LIMIT, im->end);
		put_number(&w->part, MAPPING_OFFSET, 0);
		put_number(&w->part, MAPPING_FILE, file);
		put_number(&w->part, MAPPING_BUILD_ID, id);
		for (unsigned field = MAPPING_HAS_FUNCTIONS; field <= MAPPING_HAS_INLINED; field++)
			put_number(&w->part, field, 1);
		put_part(w, PROFILE_MAPPING);
	}
}

static void put_functions(struct writer *w, const struct export_profile *p)
{
	for (size_t i = 0; i < p->nfunctions; i++) {
		const struct export_function *f = &p->functions[i];
		const uint64_t name = string(w, f->name), file = string(w, f->file);

		put_number(&w->part, FUNCTION_ID, i + 1);
		put_number(&w->part, FUNCTION_NAME, name);
		put_number(&w->part, FUNCTION_SYSTEM_NAME, name);
		put_number(&w->part, FUNCTION_FILE, file);
		put_number(&w->part, FUNCTION_LINE, (uint64_t)f->line);
		put_part(w, PROFILE_FUNCTION);
	}
}

static void put_locations(struct writer *w, const struct export_profile *p)
{
	for (size_t i = 0; i < p->ncontexts; i++) {
		const struct export_place *at = &p->places[p->contexts[i].place];

		put_number(&w->part, LOCATION_ID, i + 1);
		if (at->image != EXPORT_NONE)
			put_number(&w->part, LOCATION_MAPPING, at->image + 1);
		put_number(&w->part, LOCATION_ADDRESS, at->pc);
		for (size_t k = 0; k < at->nframes; k++) {
			put_number(&w->inner, LINE_FUNCTION, at->frames[k].function + 1);
			put_number(&w->inner, LINE_LINE, (uint64_t)at->frames[k].line);
			put_inner(w, LOCATION_LINE);
		}
		put_part(w, PROFILE_LOCATION);
	}
}

static void put_label(struct writer *w, uint64_t key, uint64_t text)
{
	put_number(&w->inner, LABEL_KEY, key);
	put_number(&w->inner, LABEL_TEXT, text);
	put_inner(w, SAMPLE_LABEL);
}

static void put_samples(struct writer *w, const struct export_profile *p, const struct words *t)
{
	const double ns = p->model.clock_hz > 0 ? 1e9 / p->model.clock_hz / (double)p->scale : 0;
	double passed = 0;
	uint64_t passed_ns = 0;

	for (size_t i = 0; i < p->nsamples; i++) {
		const struct export_sample *s = &p->samples[i];

		for (size_t c = s->context; c != EXPORT_NONE; c = p->contexts[c].parent)
			put_number(&w->part, SAMPLE_LOCATION, c + 1);
		passed += (double)s->units;
		const uint64_t now_ns = (uint64_t)(passed * ns + 0.5);

		put_number(&w->part, SAMPLE_VALUE, s->executions);
		put_number(&w->part, SAMPLE_VALUE, now_ns - passed_ns);
		put_number(&w->part, SAMPLE_VALUE, s->time);
		passed_ns = now_ns;
		for (unsigned b = 0; b < MODEL_EVENTS; b++)
			if (s->events >> b & 1)
				put_label(w, t->event, t->events[b]);
		if (!s->events)
			put_label(w, t->event, t->base);
		if (export_state(s->category)) {
			put_label(w, t->state, t->states[s->category]);
			put_label(w, t->category, t->categories[s->category]);
		}
		put_part(w, PROFILE_SAMPLE);
	}
}

static bool pprof_write(FILE *out, const struct export_profile *p)
{
	struct writer w = { .out = out, .ok = true };
	struct words t;
	char mark[] = MARK;
	gz_header head = { .comment = (Bytef *)mark, .os = 255 };

	if (deflateInit2(&w.z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		die("out of memory");
	deflateSetHeader(&w.z, &head);
	put_words(&w, p, &t);
	put_type(&w, PROFILE_SAMPLE_TYPE, t.executions, t.count);
	put_type(&w, PROFILE_SAMPLE_TYPE, t.time, t.ns);
	put_type(&w, PROFILE_SAMPLE_TYPE, t.cycles, t.unit);
	put_type(&w, PROFILE_PERIOD_TYPE, t.cycles, t.unit);
	put_profile_number(&w, PROFILE_PERIOD, 1);
	put_profile_number(&w, PROFILE_DEFAULT_TYPE, t.cycles);
	if (p->model.clock_hz > 0)
		put_profile_number(&w, PROFILE_DURATION,
				   (uint64_t)((double)p->model.cycles * 1e9 / p->model.clock_hz));
	put_mappings(&w, p);
	put_functions(&w, p);
	put_locations(&w, p);
	put_samples(&w, p, &t);
	pack(&w, "", 0, Z_FINISH);
	deflateEnd(&w.z);
	free(w.part.data);
	free(w.inner.data);
	return w.ok;
}

static bool is_pprof(const uint8_t *head, size_t size, const char *path)
{
	return size > 10 && head[0] == 0x1f && head[1] == 0x8b &&
	       output_begins(head + 10, size - 10, MARK);
}

const struct exporter export_pprof = {
	.name = "pprof",
	.kind = { "a pprof profile that culprit wrote", "-o", false, is_pprof },
	.write = pprof_write,
};

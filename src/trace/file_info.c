/* SPDX-License-Identifier: MIT */
/*
 * Writes and parses what a trace file says of its run. It is text: one line per item, a key and its
 * values with tabs between; a backslash escapes backslash, tab and newline (\\ \t \n). A reader
 * skips keys that it does not know, so that keys can be added.
 */
#include "trace/file_format.h"

#include <inttypes.h>
#include <stdlib.h>
#include <zstd.h>

#include "util/array.h"

static void put_text(struct bytes *out, const char *s)
{
	for (; s && *s; s++) {
		char escaped = *s == '\\' ? '\\' : *s == '\t' ? 't' : *s == '\n' ? 'n' : 0;
		if (escaped) {
			bytes_put(out, "\\", 1);
			bytes_put(out, &escaped, 1);
		} else {
			bytes_put(out, s, 1);
		}
	}
}

/* Writes a line: the key, then `count` values. */
static void put_line(struct bytes *out, const char *key, const char *const *values, size_t count)
{
	put_text(out, key);
	for (size_t i = 0; i < count; i++) {
		bytes_put(out, "\t", 1);
		put_text(out, values[i]);
	}
	bytes_put(out, "\n", 1);
}

static void put_number(struct bytes *out, const char *key, uint64_t value)
{
	char text[32];
	snprintf(text, sizeof(text), "%" PRIu64, value);
	put_line(out, key, (const char *[]){ text }, 1);
}

static void put_real(struct bytes *out, const char *key, double value)
{
	char text[40];
	snprintf(text, sizeof(text), "%a", value);
	put_line(out, key, (const char *[]){ text }, 1);
}

static void put_wait(struct bytes *out, const struct trace_wait *w)
{
	const uint64_t values[] = { w->tid, w->by, w->kind, w->begin, w->end };
	char text[ARRAY_LEN(values)][32];
	const char *words[ARRAY_LEN(values)];

	for (size_t i = 0; i < ARRAY_LEN(values); i++) {
		snprintf(text[i], sizeof(text[i]), "%" PRIu64, values[i]);
		words[i] = text[i];
	}
	put_line(out, "wait", words, ARRAY_LEN(words));
}

void info_write(const struct trace_info *info, struct bytes *out)
{
	put_line(out, "program", (const char *[]){ info->meta.program }, 1);
	put_line(out, "machine", (const char *[]){ info->meta.machine }, 1);
#define X(type, name, valid) put_number(out, #name, info->meta.name);
	TRACE_META_NUMBERS(X)
#undef X
	put_real(out, "clock_hz", info->meta.clock_hz);
	put_number(out, "absent", info->absent);
	put_number(out, "complete", info->complete);
	put_number(out, "instructions", info->insts);
	put_number(out, "cycles", info->cycles);
	if (info->ended)
		put_number(out, "exit_status", (uint64_t)info->exit_status);
	if (info->files)
		put_line(out, "files", (const char *[]){ info->files }, 1);
	if (info->folders)
		put_line(out, "folders", (const char *[]){ info->folders }, 1);
	if (info->input)
		put_line(out, "input", (const char *[]){ info->input }, 1);
	for (size_t i = 0; i < info->nsettings; i++)
		put_line(out, "setting",
			 (const char *[]){ info->settings[i].section, info->settings[i].key,
					   info->settings[i].value },
			 3);
	for (size_t i = 0; i < info->nimages; i++) {
		const struct trace_image *im = &info->images[i];
		char n[3][32];
		snprintf(n[0], sizeof(n[0]), "%" PRIu64, im->start);
		snprintf(n[1], sizeof(n[1]), "%" PRIu64, im->end);
		snprintf(n[2], sizeof(n[2]), "%" PRIu64, im->bias);
		put_line(
		    out, "image",
		    (const char *[]){ n[0], n[1], n[2], im->path, im->name ? im->name : im->path },
		    5);
	}
	for (size_t i = 0; i < info->ncounters; i++) {
		char n[32];
		snprintf(n, sizeof(n), "%" PRIu64, info->counters[i].value);
		put_line(out, "counter", (const char *[]){ info->counters[i].name, n }, 2);
	}
	for (size_t i = 0; i < info->nwaits; i++)
		put_wait(out, &info->waits[i]);
}

void info_pack(struct bytes *b, size_t from)
{
	size_t size = b->size - from, bound = ZSTD_compressBound(size);
	uint8_t *room = x_malloc(bound);
	size_t n = ZSTD_compress(room, bound, b->data + from, size, 3);
	if (ZSTD_isError(n))
		die("out of memory");
	b->size = from;
	bytes_put(b, room, n);
	free(room);
}

uint8_t *info_unpack(const uint8_t *data, size_t size, size_t *unpacked_size)
{
	unsigned long long n = ZSTD_getFrameContentSize(data, size);
	if (n > INFO_TEXT_MAX) /* zstd's two error values are larger, too */
		return NULL;
	uint8_t *text = x_malloc((size_t)n + 1);
	size_t got = ZSTD_decompress(text, (size_t)n, data, size);
	if (ZSTD_isError(got) || got != n) {
		free(text);
		return NULL;
	}
	*unpacked_size = got;
	return text;
}

#define VALUES_MAX 6

/* Cuts a line in place into values, unescaped; returns how many. */
static size_t cut_line(char *line, char **values)
{
	size_t n = 1;
	char *to = line;
	values[0] = line;
	for (const char *from = line; *from; from++) {
		if (*from == '\t' && n < VALUES_MAX) {
			*to++ = '\0';
			values[n++] = to;
		} else if (*from == '\\' && from[1]) {
			from++;
			*to++ = *from == 't' ? '\t' : *from == 'n' ? '\n' : *from;
		} else {
			*to++ = *from;
		}
	}
	*to = '\0';
	return n;
}

static uint64_t number(const char *s)
{
	return strtoull(s, NULL, 10);
}

static void take_line(struct info_copy *c, char **v, size_t n)
{
	struct trace_info *info = &c->info;
	/* cppcheck-suppress uninitvar ; the caller has set the first n */
	const char *key = v[0];
	if (n < 2)
		return;
	if (!strcmp(key, "program"))
		snprintf(info->meta.program, sizeof(info->meta.program), "%s", v[1]);
	else if (!strcmp(key, "machine"))
		snprintf(info->meta.machine, sizeof(info->meta.machine), "%s", v[1]);
#define X(type, name, valid) else if (!strcmp(key, #name)) info->meta.name = (type)number(v[1]);
	TRACE_META_NUMBERS(X)
#undef X
	else if (!strcmp(key, "clock_hz")) info->meta.clock_hz = strtod(v[1], NULL);
	else if (!strcmp(key, "absent")) info->absent = (unsigned)number(v[1]);
	else if (!strcmp(key, "complete")) info->complete = number(v[1]) != 0;
	else if (!strcmp(key, "instructions")) info->insts = number(v[1]);
	else if (!strcmp(key, "cycles")) info->cycles = number(v[1]);
	else if (!strcmp(key, "exit_status"))
	{
		info->ended = true;
		info->exit_status = (int)number(v[1]);
	}
	else if (!strcmp(key, "files")) info->files = v[1];
	else if (!strcmp(key, "folders")) info->folders = v[1];
	else if (!strcmp(key, "input")) info->input = v[1];
	else if (!strcmp(key, "setting") && n >= 4)
	{
		*ARRAY_ADD(c->settings, info->nsettings) =
		    (struct trace_setting){ v[1], v[2], v[3] };
	}
	else if (!strcmp(key, "image") && n >= 6)
	{
		*ARRAY_ADD(c->images, info->nimages) = (struct trace_image){ .path = v[4],
									     .name = v[5],
									     .start = number(v[1]),
									     .end = number(v[2]),
									     .bias = number(v[3]) };
	}
	else if (!strcmp(key, "counter") && n >= 3)
	{
		*ARRAY_ADD(c->counters, info->ncounters) =
		    (struct trace_counter){ v[1], number(v[2]) };
	}
	else if (!strcmp(key, "wait") && n >= 6 && number(v[3]) < TRACE_WAIT_KINDS)
	{
		*ARRAY_ADD(c->waits, info->nwaits) =
		    (struct trace_wait){ .tid = (uint32_t)number(v[1]),
					 .by = (uint32_t)number(v[2]),
					 .kind = (uint32_t)number(v[3]),
					 .begin = number(v[4]),
					 .end = number(v[5]) };
	}
}

#define COUNT_MAX   (1ull << 62)
#define MACHINE_MAX (1u << 24) /* of any resource of a machine, and of latencies */
#define ROB_MAX	    (1u << 16)

/* Whether the numbers are possible for a run: memory is allocated by them. */
static bool is_possible(const struct trace_info *info)
{
	const struct trace_meta *m = &info->meta;
#define VALID_SIZE(n)	     ((n) <= MACHINE_MAX)
#define VALID_FREE(n)	     (VALID_SIZE(n) || (n) == UINT32_MAX)
#define VALID_ROB(n)	     ((n) <= ROB_MAX)
#define VALID_ANY(n)	     true
#define X(type, name, valid) VALID_##valid(m->name) &&
	return TRACE_META_NUMBERS(X) info->insts <= COUNT_MAX && info->cycles <= COUNT_MAX &&
	       m->clock_hz >= 0 && m->clock_hz <= 1e15 && info->host_seconds >= 0 &&
	       info->host_seconds <= 1e12;
#undef X
}

/* The machine that the settings describe; an unknown one if they describe none, or one that cannot
 * work. */
static struct machine *read_machine(const struct trace_info *info)
{
	struct machine *m = x_malloc(sizeof(*m));
	bool any = false;
	*m = machine_default;
	for (size_t i = 0; i < info->nsettings; i++)
		any |= machine_put(m, info->settings[i].section, info->settings[i].key,
				   info->settings[i].value, NULL);
	if (!any || !machine_check(m, NULL))
		machine_unknown(m);
	snprintf(m->name, sizeof(m->name), "%s", info->meta.machine);
	return m;
}

bool info_parse(const uint8_t *text, size_t size, struct info_copy *out)
{
	memset(out, 0, sizeof(*out));
	if (size && (text[size - 1] != '\n' || memchr(text, 0, size)))
		return false;
	out->text = x_strndup((const char *)text, size);
	for (char *line = out->text, *end; (end = strchr(line, '\n')); line = end + 1) {
		char *values[VALUES_MAX];
		*end = '\0';
		take_line(out, values, cut_line(line, values));
	}
	if (!is_possible(&out->info)) {
		info_free(out);
		return false;
	}
	out->info.settings = out->settings;
	out->info.images = out->images;
	out->info.counters = out->counters;
	out->info.waits = out->waits;
	out->info.machine = out->machine = read_machine(&out->info);
	return true;
}

void info_free(struct info_copy *c)
{
	free(c->settings);
	free(c->images);
	free(c->counters);
	free(c->waits);
	free(c->machine);
	free(c->text);
	memset(c, 0, sizeof(*c));
}

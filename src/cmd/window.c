/* SPDX-License-Identifier: MIT */
/* Opens a trace and reads a window of it; options that say which window. */
#include "cmd/window.h"

#include <inttypes.h>

#include "image/image.h"
#include "trace/trigger.h"

const struct cmd_option window_group[] = {
	{ .name = "from",
	  .type = CMD_TEXT,
	  .offset = offsetof(struct window_options, from),
	  .check = trigger_check,
	  .arg = "N",
	  .help =
	      "Where to begin: the number of an instruction (as in 'po'), cycle:N, pc:ADDR[#n] or "
	      "symbol:NAME[#n] (the n-th time that it commits, the first unless given); the "
	      "trace's "
	      "first instruction by default." },
	{ .name = "count",
	  .type = CMD_NUMBER,
	  .offset = offsetof(struct window_options, count),
	  .range = { 1, 0, NUMBER_DECIMAL },
	  .arg = "N",
	  .letter = 'n',
	  .help = "How many committed instructions; after --from cycle:N, how many cycles." },
	{ .name = "salvage",
	  .type = CMD_SWITCH,
	  .offset = offsetof(struct window_options, salvage),
	  .help = "Uses what is readable of a truncated or damaged file." },
	{ .name = NULL },
};

/* The images of the run that are still there; symbols of the others are not known. */
static struct images *images_of(const struct trace_info *info)
{
	struct images *set = images_new(NULL);

	for (size_t i = 0; i < info->nimages; i++) {
		struct err e = { "" };
		const struct trace_image *im = &info->images[i];

		images_add(set, im->path, im->name, im->bias, &e);
	}
	return set;
}

static bool resolve(void *ctx, const char *name, uint64_t *addr)
{
	return images_find(ctx, name, addr);
}

/* The number of the instruction that is the nth to commit at an address. */
static bool find_commit(struct trace_reader *r, const struct trigger *t, const char *from,
			uint64_t *po, struct err *e)
{
	const uint64_t nth = t->nth ? t->nth : 1;
	uint64_t seen = 0;

	for (size_t at = 0; at < trace_reader_blocks(r); at++) {
		struct trace_records b;

		if (!trace_reader_read(r, at, &b, e))
			return false;
		for (size_t i = 0; i < b.ninsts; i++) {
			*po = b.insts[i].po;
			if (b.insts[i].pc == t->value && b.insts[i].flags & RI_COMMITTED &&
			    ++seen == nth)
				return true;
		}
	}
	return err_set(e, "%s: 0x%" PRIx64 " commits %" PRIu64 " times in this trace", from,
		       t->value, seen);
}

static bool parse_window(struct trace_reader *r, const struct window_options *o,
			 uint64_t default_count, struct window *w, struct err *e)
{
	struct trigger t = { .kind = TRIGGER_INST };
	*w = (struct window){ .count = o->count ? o->count : default_count };
	if (!o->from) {
		for (size_t i = 0; i < trace_reader_blocks(r) && !w->from; i++)
			w->from = trace_reader_block(r, i)->first_po;
		return true;
	}
	struct images *images = images_of(trace_reader_info(r));
	const bool ok = trigger_parse(o->from, resolve, images, &t, e);

	images_free(images);
	if (!ok)
		return false;
	if (t.kind == TRIGGER_PC)
		return find_commit(r, &t, o->from, &w->from, e);
	if (t.kind != TRIGGER_INST && t.kind != TRIGGER_CYCLE)
		return err_set(e,
			       "'%s' is not a place of a trace: the number of an instruction, "
			       "cycle:N, pc:ADDR[#n] or symbol:NAME[#n]",
			       o->from);
	w->from = t.value;
	w->by_cycle = t.kind == TRIGGER_CYCLE;
	return true;
}

/* Which instructions and cycles a trace has, for the message of a window without any. */
static bool empty_window(struct trace_reader *r, const char *path, struct err *e)
{
	const size_t n = trace_reader_blocks(r);
	struct trace_records first, last;
	uint64_t po0 = UINT64_MAX, po1 = 0, cycle1 = 0;

	if (!n || !trace_reader_read(r, 0, &first, e))
		return err_set(e, "%s has no instructions", path);
	for (size_t i = 0; i < first.ninsts; i++)
		if (first.insts[i].flags & RI_COMMITTED)
			po0 = min_u64(po0, first.insts[i].po);
	if (!trace_reader_read(r, n - 1, &last, e))
		return false;
	for (size_t i = 0; i < last.ninsts; i++) {
		po1 = max_u64(po1, last.insts[i].po);
		cycle1 = max_u64(cycle1, last.insts[i].fetch + last.insts[i].commit);
	}
	return err_set(e,
		       "%s has no instructions in that window; it has instructions %" PRIu64
		       " to %" PRIu64 ", and its last cycle is %" PRIu64,
		       path, po0, po1, cycle1);
}

bool window_read_at(struct trace_reader *r, const char *path, const struct window_options *o,
		    uint64_t default_count, size_t max, struct window_records *out, struct err *e)
{
	struct window w;

	if (!parse_window(r, o, default_count, &w, e) || !window_read(r, &w, max, out, e))
		return false;
	if (out->ninsts)
		return true;
	window_free(out);
	return empty_window(r, path, e);
}

struct trace_reader *window_open(const char *command, const char *path,
				 const struct window_options *o, uint64_t default_count, size_t max,
				 struct window_records *out)
{
	struct err e = { "" };
	struct trace_reader *r = trace_reader_open(path, o->salvage, &e);
	if (r && *trace_reader_damage(r))
		warn("%s: %s: %s", command, path, trace_reader_damage(r));
	if (r && window_read_at(r, path, o, default_count, max, out, &e))
		return r;
	warn("%s: %s", command, e.text);
	trace_reader_close(r);
	return NULL;
}

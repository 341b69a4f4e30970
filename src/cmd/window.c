/* SPDX-License-Identifier: MIT */
/* Opens a trace and reads a window of it; options that say which window. */
#include "cmd/window.h"

#include "trace/trigger.h"

const struct cmd_option window_group[] = {
	{ .name = "from",
	  .type = CMD_TEXT,
	  .offset = offsetof(struct window_options, from),
	  .check = trigger_check,
	  .arg = "N",
	  .help = "Where to begin: the number of an instruction (as in 'po'), or cycle:N; the "
		  "trace's first instruction by default." },
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
	if (!trigger_parse(o->from, NULL, NULL, &t, e))
		return false;
	if (t.kind != TRIGGER_INST && t.kind != TRIGGER_CYCLE)
		return err_set(
		    e, "--from: '%s' is neither the number of an instruction nor cycle:N", o->from);
	w->from = t.value;
	w->by_cycle = t.kind == TRIGGER_CYCLE;
	return true;
}

struct trace_reader *window_open(const char *command, const char *path,
				 const struct window_options *o, uint64_t default_count, size_t max,
				 struct window_records *out)
{
	struct err e = { "" };
	struct window w;
	struct trace_reader *r = trace_reader_open(path, o->salvage, &e);
	if (r && *trace_reader_damage(r))
		warn("%s: %s: %s", command, path, trace_reader_damage(r));
	if (r && parse_window(r, o, default_count, &w, &e) && window_read(r, &w, max, out, &e)) {
		if (out->ninsts)
			return r;
		window_free(out);
		err_set(&e, "%s has no instructions in that window", path);
	}
	warn("%s: %s", command, e.text);
	trace_reader_close(r);
	return NULL;
}

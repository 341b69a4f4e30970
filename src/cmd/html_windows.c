/* SPDX-License-Identifier: MIT */
/*
 * Windows of a trace for the page: from a place on, or around the worst or the median execution of
 * an instruction. Executions are compared by the time for which they kept others from committing
 * (trace/gap.h). One pass over the trace gathers them for all instructions that are asked about.
 */
#include "cmd/html_windows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/window.h"
#include "image/image.h"
#include "trace/gap.h"
#include "trace/trigger.h"
#include "util/array.h"
#include "util/text.h"
#include "view/model.h"

#define MOST_TIME 20 /* instructions that get windows unless the user says where */

/* An execution of an instruction. */
struct execution {
	uint64_t cycles, po;
};

struct executions {
	uint64_t pc;
	struct execution *list;
	size_t count, capacity;
};

enum which { FROM_HERE, WORST, MEDIAN };
static const char *const which_words[] = { [WORST] = "worst:", [MEDIAN] = "median:" };

/* Which execution a text asks for, and of what: the rest of the text. */
static enum which which_of(const char *text, const char **rest)
{
	for (enum which w = WORST; w <= MEDIAN; w++) {
		const size_t n = strlen(which_words[w]);

		if (!strncmp(text, which_words[w], n)) {
			*rest = text + n;
			return w;
		}
	}
	*rest = text;
	return FROM_HERE;
}

/* "0x1234" and "NAME" as a trigger; the caller frees. */
static char *place_of(const char *rest)
{
	return x_asprintf("%s%s", rest[0] == '0' && rest[1] == 'x' ? "pc:" : "symbol:", rest);
}

bool html_window_check(const char *text, struct err *e)
{
	const char *rest;

	if (which_of(text, &rest) == FROM_HERE)
		return trigger_check(text, e);
	char *place = place_of(rest);
	const bool ok = trigger_check(place, e);

	free(place);
	return ok;
}

/* Whether the trace may be of the run: the same program on the same machine. */
static bool same_run(struct store *s, const struct trace_info *info, const char *path,
		     struct err *e)
{
	char program[MODEL_PROGRAM], machine[MODEL_MACHINE];
	const char *traced = info->meta.program, *on = info->meta.machine;

	model_run_names(s, program, machine);
	if (traced && strcmp(path_name(traced), path_name(program)) != 0)
		return err_set(e, "%s is a trace of %s, and %s is a profile of %s", path,
			       path_name(traced), store_path(s), path_name(program));
	if (on && strcmp(on, machine) != 0)
		return err_set(e, "%s is a trace of a run on %s, and %s is a profile of one on %s",
			       path, on, store_path(s), machine);
	return true;
}

static bool from_here(struct trace_reader *r, const struct html_windows_asked *asked,
		      const char *where, struct html_windows *out, struct err *e)
{
	const struct window_options o = { .from = where, .count = asked->insts };
	struct html_window *w = html_window_add(out);

	snprintf(w->name, sizeof(w->name), "%s", where ? where : "the beginning");
	return window_read_at(r, asked->trace, &o, asked->insts, (size_t)2 * HTML_WINDOW_MOST,
			      &w->records, e);
}

static bool around(struct trace_reader *r, const struct html_windows_asked *asked, const char *name,
		   const struct execution *x, struct html_windows *out, struct err *e)
{
	const uint64_t half = asked->insts / 2;
	const struct window at = { .from = x->po > half ? x->po - half : 0, .count = asked->insts };
	struct html_window *w = html_window_add(out);

	snprintf(w->name, sizeof(w->name), "%s: %" PRIu64 " cycles", name, x->cycles);
	if (!window_read(r, &at, (size_t)2 * HTML_WINDOW_MOST, &w->records, e))
		return false;
	for (size_t i = 0; i < w->records.ninsts; i++)
		if (w->records.insts[i].flags & RI_COMMITTED && w->records.insts[i].po == x->po)
			w->at = i;
	return true;
}

static int by_cycles(const void *a, const void *b)
{
	const struct execution *x = a, *y = b;
	const int order = (x->cycles > y->cycles) - (x->cycles < y->cycles);

	return order ? order : (x->po > y->po) - (x->po < y->po);
}

/* Adds time to an execution, which may be the last one that was added. */
static void add_execution(struct executions *of, size_t count, const struct rec_inst *r,
			  uint64_t cycles)
{
	for (size_t k = 0; k < count; k++) {
		struct executions *x = &of[k];

		if (x->pc != r->pc)
			continue;
		if (x->count && x->list[x->count - 1].po == r->po) {
			x->list[x->count - 1].cycles += cycles;
			continue;
		}
		ARRAY_ROOM(x->list, x->capacity, x->count + 1);
		x->list[x->count++] = (struct execution){ cycles, r->po };
	}
}

/* Gathers the executions of the instructions. */
static bool gather(struct trace_reader *r, struct executions *of, size_t count, struct err *e)
{
	struct gaps gaps = { 0 };
	bool first = true;

	for (size_t at = 0; at < trace_reader_blocks(r); at++) {
		struct trace_records b;

		if (!trace_reader_read(r, at, &b, e))
			return false;
		for (size_t i = 0; i < b.ninsts; i++) {
			const struct rec_inst *whose;
			struct rec_inst before;

			if (!(b.insts[i].flags & RI_COMMITTED))
				continue;
			if (first)
				gaps.left = b.insts[i].fetch;
			first = false;
			const uint64_t cycles = gaps_next(&gaps, &b.insts[i], &whose, &before);

			add_execution(of, count, whose, cycles);
			if (whose != &b.insts[i])
				add_execution(of, count, &b.insts[i], 0);
		}
	}
	for (size_t k = 0; k < count; k++)
		if (of[k].count)
			qsort(of[k].list, of[k].count, sizeof(*of[k].list), by_cycles);
	return true;
}

static bool resolve(void *ctx, const char *name, uint64_t *addr)
{
	return images_find(ctx, name, addr);
}

/* The address that the rest of worst: or median: names. */
static bool address_of(struct trace_reader *r, const char *rest, uint64_t *pc, struct err *e)
{
	const struct trace_info *info = trace_reader_info(r);
	struct images *set = images_new(NULL);
	char *place = place_of(rest);
	struct trigger t;

	for (size_t i = 0; i < info->nimages; i++) {
		struct err none = { "" };

		images_add(set, info->images[i].path, info->images[i].name, info->images[i].bias,
			   &none);
	}
	const bool ok = trigger_parse(place, resolve, set, &t, e);

	*pc = t.value;
	free(place);
	images_free(set);
	return ok;
}

/* The worst and the median execution of the instructions with most time. */
static bool of_most_time(struct trace_reader *r, const struct html_windows_asked *asked,
			 struct html_windows *out, struct err *e)
{
	struct executions of[MOST_TIME] = { 0 };
	size_t n = 0;
	struct store_rows rows = store_query(
	    asked->store, "SELECT pc FROM golden GROUP BY pc ORDER BY sum(units) DESC, pc LIMIT ?1",
	    "i", (int64_t)MOST_TIME);

	while (n < MOST_TIME && store_next(&rows))
		of[n++].pc = (uint64_t)store_int(&rows, 0);
	bool ok = store_done(&rows, e) && gather(r, of, n, e);

	for (size_t k = 0; ok && k < n; k++) {
		const struct executions *x = &of[k];
		char name[2][64];

		if (!x->count)
			continue;
		snprintf(name[0], sizeof(name[0]), "worst of %zu at 0x%" PRIx64, x->count, x->pc);
		snprintf(name[1], sizeof(name[1]), "median of %zu at 0x%" PRIx64, x->count, x->pc);
		ok = around(r, asked, name[0], &x->list[x->count - 1], out, e) &&
		     (x->count < 2 || around(r, asked, name[1], &x->list[x->count / 2], out, e));
	}
	for (size_t k = 0; k < n; k++)
		free(of[k].list);
	if (ok && !out->count)
		return from_here(r, asked, NULL, out, e);
	return ok;
}

static bool one(struct trace_reader *r, const struct html_windows_asked *asked, const char *where,
		struct html_windows *out, struct err *e)
{
	const char *rest;
	const enum which which = which_of(where, &rest);
	struct executions of = { 0 };

	if (which == FROM_HERE)
		return from_here(r, asked, where, out, e);
	bool ok = address_of(r, rest, &of.pc, e) && gather(r, &of, 1, e);

	if (ok && !of.count)
		ok =
		    err_set(e, "%s: 0x%" PRIx64 " never commits in %s", where, of.pc, asked->trace);
	else if (ok)
		ok = around(r, asked, where, &of.list[which == WORST ? of.count - 1 : of.count / 2],
			    out, e);
	free(of.list);
	return ok;
}

bool html_windows_read(const struct html_windows_asked *asked, struct html_windows *out,
		       struct err *e)
{
	struct trace_reader *r = trace_reader_open(asked->trace, false, e);
	bool ok = r && same_run(asked->store, trace_reader_info(r), asked->trace, e);

	if (ok && !asked->count)
		ok = of_most_time(r, asked, out, e);
	for (size_t i = 0; ok && i < asked->count; i++)
		ok = one(r, asked, asked->where[i], out, e);
	if (r)
		trace_reader_close(r);
	return ok;
}

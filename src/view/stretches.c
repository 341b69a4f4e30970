/* SPDX-License-Identifier: MIT */
/*
 * Cuts windows out of the stretches that analysis `windows` kept. A stretch has some thousand
 * records; a window has the few hundred around one instruction, which the page selects.
 */
#include "view/stretches.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "trace/gap.h"
#include "trace/stretch.h"
#include "util/array.h"
#include "view/findings.h"
#include "words/words.h"

#define EVENLY_MOST 16 /* windows at equal distances that are shown */
#define FINDINGS    20

struct unpacked {
	int64_t id;
	struct rec_inst *insts; /* in fetch order */
	size_t count;
};

struct stretches {
	struct unpacked *list;
	size_t count, capacity;
};

static int by_seq(const void *a, const void *b)
{
	const uint64_t x = ((const struct rec_inst *)a)->seq, y = ((const struct rec_inst *)b)->seq;

	return (x > y) - (x < y);
}

static void stretches_free(struct stretches *all)
{
	for (size_t i = 0; i < all->count; i++)
		free(all->list[i].insts);
	free(all->list);
}

static bool stretches_read(struct store *s, struct stretches *all, struct err *e)
{
	struct store_rows r =
	    store_query(s, "SELECT id, records, bytes FROM stretch ORDER BY id", "");
	struct stretch_coder *c = stretch_coder_new();
	bool whole = true;

	*all = (struct stretches){ 0 };
	while (whole && store_next(&r)) {
		const int64_t records = store_int(&r, 1);
		size_t size;
		const void *bytes = store_blob(&r, 2, &size);
		struct rec_inst *insts = bytes && records > 0 && records <= STRETCH_RECORDS_MAX
					     ? stretch_unpack(c, bytes, size, (size_t)records)
					     : NULL;

		whole = insts != NULL;
		if (!whole)
			break;
		qsort(insts, (size_t)records, sizeof(*insts), by_seq);
		ARRAY_ROOM(all->list, all->capacity, all->count + 1);
		all->list[all->count++] =
		    (struct unpacked){ store_int(&r, 0), insts, (size_t)records };
	}
	stretch_coder_free(c);
	if (!store_done(&r, e))
		whole = false;
	else if (!whole)
		err_set(e, "%s: a stretch of the pipeline is damaged", store_path(s));
	if (!whole)
		stretches_free(all);
	return whole;
}

static bool committed(const struct rec_inst *r)
{
	return r->flags & RI_COMMITTED;
}

/* Adds the window of `count` committed instructions that has this one in its middle. */
static struct html_window *add_window(struct html_windows *out, unsigned run,
				      const struct unpacked *s, size_t at, size_t count)
{
	size_t first = at, last = at, before = 0, after = 0;

	while (first && before < count / 2)
		before += committed(&s->insts[--first]);
	while (last + 1 < s->count && after + before + 1 < count)
		after += committed(&s->insts[++last]);
	while (first && before + after + 1 < count)
		before += committed(&s->insts[--first]);

	const size_t n = last - first + 1;
	struct html_window *w = html_window_add(out);

	w->run = run;
	w->at = at - first;
	w->records.insts = x_calloc(n, sizeof(*w->records.insts));
	w->records.ninsts = n;
	memcpy(w->records.insts, s->insts + first, n * sizeof(*w->records.insts));
	return w;
}

static const struct unpacked *stretch_of(const struct stretches *all, int64_t id)
{
	for (size_t i = 0; i < all->count; i++)
		if (all->list[i].id == id)
			return &all->list[i];
	return NULL;
}

/* The place of a committed instruction in a stretch; its number of records if it is not there. */
static size_t find_po(const struct unpacked *s, uint64_t po)
{
	size_t i = 0;

	while (i < s->count && !(committed(&s->insts[i]) && s->insts[i].po == po))
		i++;
	return i;
}

/* What a window around the costliest instance of an event is called. */
static void name_event(struct html_window *w, const char *why, uint64_t pc, uint64_t cycles)
{
	const char *words = "stall without an event";

	for (size_t k = 0; k < EVENT_PROFILED_COUNT; k++)
		if (!strcmp(why, words_events[k].name))
			words = words_events[k].meaning;
	snprintf(w->name, sizeof(w->name), "costliest %s%s%s: %" PRIu64 " cycles at 0x%" PRIx64,
		 words, strcmp(why, "stall") != 0 ? ", " : "", strcmp(why, "stall") != 0 ? why : "",
		 cycles, pc);
}

static bool add_events(struct store *s, const struct stretches *all, unsigned run, size_t count,
		       struct html_windows *out, struct err *e)
{
	struct store_rows r = store_query(s,
					  "SELECT stretch, why, pc, po, cycles FROM stretch_why "
					  "WHERE why <> 'even' ORDER BY cycles DESC, why",
					  "");

	while (store_next(&r)) {
		const struct unpacked *of = stretch_of(all, store_int(&r, 0));
		const size_t at = of ? find_po(of, (uint64_t)store_int(&r, 3)) : 0;

		if (of && at < of->count)
			name_event(add_window(out, run, of, at, count), store_shown(&r, 1),
				   (uint64_t)store_int(&r, 2), (uint64_t)store_int(&r, 4));
	}
	return store_done(&r, e);
}

static bool add_evenly(struct store *s, const struct stretches *all, unsigned run, size_t count,
		       struct html_windows *out, struct err *e)
{
	const int64_t many =
	    store_number(s, "SELECT count(*) FROM stretch_why WHERE why = 'even'", 0);
	const int64_t every = (many + EVENLY_MOST - 1) / EVENLY_MOST;
	struct store_rows r = store_query(
	    s, "SELECT stretch, po FROM stretch_why WHERE why = 'even' ORDER BY po", "");

	for (int64_t i = 0; store_next(&r); i++) {
		const struct unpacked *of = stretch_of(all, store_int(&r, 0));
		const size_t at = of ? find_po(of, (uint64_t)store_int(&r, 1)) : 0;

		if (!of || at >= of->count || i % every)
			continue;
		struct html_window *w = add_window(out, run, of, at, count);

		snprintf(w->name, sizeof(w->name), "from instruction %" PRIu64 " on",
			 of->insts[at].po);
	}
	return store_done(&r, e);
}

/* An execution of an instruction, and what it cost (trace/gap.h). */
struct found {
	const struct unpacked *in;
	size_t at, seen;
	uint64_t cost;
};

/* The costliest execution of an instruction in all stretches. */
static struct found find_costliest(const struct stretches *all, uint64_t pc)
{
	struct found f = { 0 };

	for (size_t i = 0; i < all->count; i++) {
		const struct unpacked *s = &all->list[i];
		struct gaps gaps = { .left = s->insts[0].fetch + s->insts[0].commit };

		for (size_t j = 0; j < s->count; j++) {
			const struct rec_inst *whose;
			struct rec_inst before;

			if (!committed(&s->insts[j]))
				continue;
			const uint64_t cost = gaps_next(&gaps, &s->insts[j], &whose, &before);

			f.seen += s->insts[j].pc == pc;
			if (whose->pc != pc || (f.in && cost <= f.cost))
				continue;
			const size_t at = whose == &s->insts[j] ? j : find_po(s, whose->po);

			f = (struct found){ s, at, f.seen, cost };
		}
	}
	return f;
}

/* The costliest execution of each instruction that a finding is about. */
static void add_findings(const struct model *m, const struct stretches *all, unsigned run,
			 size_t count, struct html_windows *out)
{
	struct finding list[FINDINGS];
	const size_t n = findings_of(m, list, ARRAY_LEN(list));

	for (size_t k = 0; k < n; k++) {
		if (!list[k].inst || list[k].event)
			continue;
		const struct found f = find_costliest(all, list[k].inst->pc);

		if (!f.in)
			continue;
		struct html_window *w = add_window(out, run, f.in, f.at, count);

		snprintf(w->name, sizeof(w->name),
			 "costliest of %zu kept at 0x%" PRIx64 ": %" PRIu64 " cycles", f.seen,
			 list[k].inst->pc, f.cost);
	}
}

bool stretches_windows(struct store *s, const struct model *m, unsigned run, size_t count,
		       struct html_windows *out, struct err *e)
{
	struct stretches all;

	if (!stretches_read(s, &all, e))
		return false;
	bool ok = add_events(s, &all, run, count, out, e);

	if (ok)
		add_findings(m, &all, run, count, out);
	ok = ok && add_evenly(s, &all, run, count, out, e);
	stretches_free(&all);
	return ok;
}

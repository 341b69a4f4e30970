/* SPDX-License-Identifier: MIT */
/* Streams of instructions for the analyses of `calc`. Cycles are counted alone, as in records that
 * only tell stamps: one record per batch, up to the last commit in it. */
#include "calc_stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

void stream_region(struct stream *s, uint64_t start, uint64_t end)
{
	assert_true(s->nregions < STREAM_REGIONS);
	s->regions[s->nregions].start = start;
	s->regions[s->nregions].end = end;
	s->regions[s->nregions++].first = s->ninsts;
}

struct rec_inst *stream_add(struct stream *s, uint64_t pc, uint64_t issue)
{
	assert_true(s->ninsts < STREAM_INSTS);
	struct rec_inst *r = &s->insts[s->ninsts++];
	*r = (struct rec_inst){ .seq = s->ninsts,
				.po = s->ninsts,
				.pc = pc,
				.target = pc + 4,
				.flags = RI_COMMITTED,
				.fetch = issue - 4,
				.decode = 1,
				.dispatch = 2,
				.ready = 3,
				.issue = 4,
				.complete = 5,
				.commit = 7,
				.lat_exec = 1 };
	return r;
}

static uint64_t commit_of(const struct rec_inst *r)
{
	return r->fetch + r->commit;
}

/* Hands over issue records of n instructions. Returns how many inst records are left, in `few`. */
static size_t put_issues(void *state, const struct analysis *a, const struct rec_inst *insts,
			 size_t n, struct rec_inst *few)
{
	static struct rec_issue issues[STREAM_INSTS];
	struct err e = { "" };
	size_t nissues = 0, nfew = 0;
	for (size_t i = 0; i < n; i++) {
		const struct rec_inst *r = &insts[i];
		if (!(r->flags & RI_COMMITTED))
			continue;
		if (r->psv & REC_ISSUE_EVENTS) {
			few[nfew] = *r;
			few[nfew++].seq = nissues;
		}
		issues[nissues++] = (struct rec_issue){ r->pc, r->fetch + r->issue };
	}
	if (nissues)
		assert_true(a->issues(state, issues, nissues, &e));
	return nfew;
}

struct store *stream_run(const struct stream *s, const struct analysis *a,
			 const struct trace_meta *meta, const struct analysis_options *o,
			 size_t batch)
{
	struct err e = { "" };
	struct store *store = store_create_memory("test", &e);
	void *state = x_calloc(1, a->state_size);
	assert_true(a->start(state, meta, o, &e));
	for (size_t g = 0; g < s->nregions; g++) {
		const size_t end = g + 1 < s->nregions ? s->regions[g + 1].first : s->ninsts;
		uint64_t now = s->regions[g].start;
		for (size_t i = s->regions[g].first; i < end || now < s->regions[g].end;) {
			const size_t n = min_u64(batch, end - i);
			/* The cycle in which the next one commits may come with the next batch. */
			uint64_t to = i + n < end ? commit_of(&s->insts[i + n]) : s->regions[g].end;
			struct rec_cycle c = { .cycle = now, .repeat = (uint32_t)(to - now) };
			static struct rec_inst few[STREAM_INSTS];
			const size_t nfew =
			    s->issues ? put_issues(state, a, s->insts + i, n, few) : 0;
			assert_true(a->batch(state, s->issues ? few : s->insts + i,
					     s->issues ? nfew : n, &c, c.repeat > 0, &e));
			now = to;
			i += n;
		}
	}
	assert_true(a->finish(state, store, &e));
	if (a->free)
		a->free(state);
	free(state);
	return store;
}

char *rows_of(struct store *s, const char *sql)
{
	struct err e = { "" };
	char *text = x_strdup("");
	int columns = 1;
	for (const char *p = sql; *p && *p != 'F'; p++)
		columns += *p == ',';
	struct store_rows r = store_query(s, sql, "");
	while (store_next(&r))
		for (int i = 0; i < columns; i++) {
			char *longer = x_asprintf("%s%s%s", text,
						  !*text ? ""
						  : i	 ? ","
							 : " ",
						  store_text(&r, i));
			free(text);
			text = longer;
		}
	assert_true(store_done(&r, &e));
	return text;
}

/* SPDX-License-Identifier: MIT */
/*
 * Interval analysis (eyerman2006 section 3). The run is cut, at dispatch, into intervals that each
 * end with one miss event. What dispatches first after the event begins the next interval:
 *
 *	mispredicted branch	the instruction after it: its path was fetched once it resolved
 *	I-cache, I-TLB miss	the instruction that was fetched late
 *	flush			the instruction after one whose commit flushed the pipeline
 *	long D-miss, page walk	the first to dispatch once the data had come
 *
 * Intervals are laid end to end, so their cycles are the run's; what follows the last event has no
 * kind (base). If several events end in the same place, a front-end event names the interval, since
 * dispatch waits for that one, and the others are counted beside it.
 *
 * The penalty of an event is what dispatch of the right path lost to it: of a branch, all cycles
 * from its own dispatch to that of its successor, which are its resolution (to its result) and the
 * refill; of the others the cycles in which nothing dispatched right before the interval's end.
 *
 * Curves are of useful instructions that began to execute, cycle by cycle, around where events
 * begin (a branch dispatches, fetch begins to wait, a load misses) and where dispatch goes on. Short
 * D-misses are no events, as in the paper. Nor are misses of stores: no instruction waits for them.
 */
#include "analysis/cpistack/interval.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/profile/cells.h"
#include "analysis/walk.h"
#include "store/store.h"
#include "trace/analysis.h"
#include "util/array.h"
#include "words/words.h"

#define LENGTHS 40	   /* powers of two of instructions */
#define RING	(1u << 17) /* cycles of which issued instructions are known */
#define POINTS	INTERVAL_POINTS
#define KINDS	CPI_COMPONENTS

enum anchor { AT_BEGIN, AT_END, ANCHORS };

/* A long D-miss whose data has not come yet. */
struct open_miss {
	uint64_t pc, begin, until; /* cycles */
	enum cpi_component kind;
};

/* An event whose curve is added once everything around it has begun to execute. */
struct waiting {
	uint64_t at[ANCHORS];
	enum cpi_component kind;
};

struct sums {
	uint64_t intervals, insts, cycles, penalty, resolution;
};

struct interval {
	struct sums kind[KINDS], length[KINDS][LENGTHS];
	uint64_t beside[KINDS]; /* events at the end of an interval that another names */
	uint64_t events[KINDS], issued[KINDS][ANCHORS][POINTS];
	/* Long misses by distance from the one before, in powers of two of instructions. */
	struct {
		uint64_t misses, overlapped;
	} near[LENGTHS];
	struct cells by_pc; /* units: penalty; count: events */
	/* Time without the gaps between regions. */
	uint64_t cycles, region, next_cycle; /* cycles so far; those before the region; its end */
	uint64_t region_cycle;
	/* The interval under way. */
	uint64_t begin, ninsts;
	/* The instruction before. */
	bool have;
	uint64_t dispatch, complete, pc, insts;
	uint32_t flags;
	uint64_t miss_at, miss_until; /* the last long miss: its number, and its data's cycle */
	struct open_miss *open;
	size_t nopen, cap_open;
	struct waiting *queue; /* from `first` on */
	size_t first, nqueue, cap_queue;
	uint8_t ring[RING];
	uint64_t frontier; /* no instruction yet to come begins to execute before this cycle */
};

unsigned interval_step(enum cpi_component kind)
{
	return kind == CPI_L2D || kind == CPI_DTLB || kind == CPI_L2I ? 4 : 1;
}

static bool interval_start(void *state, const struct trace_meta *meta,
			   const struct analysis_options *o, struct err *e)
{
	struct interval *s = state;
	(void)meta;
	(void)o;
	(void)e;
	cells_init(&s->by_pc);
	return true;
}

static unsigned log2_of(uint64_t n)
{
	return n ? 63 - (unsigned)__builtin_clzll(n) : 0;
}

/* ---- curves ---- */

static void add_curve(struct interval *s, const struct waiting *w)
{
	const unsigned step = interval_step(w->kind);
	const uint64_t reach = (uint64_t)INTERVAL_BEFORE * step;
	for (unsigned a = 0; a < ANCHORS; a++)
		if (w->at[a] < reach || w->at[a] - reach + RING / 2 < s->frontier)
			return;
	s->events[w->kind]++;
	for (unsigned a = 0; a < ANCHORS; a++) {
		const uint64_t from = w->at[a] - reach;
		for (unsigned i = 0; i < POINTS * step; i++)
			s->issued[w->kind][a][i / step] += s->ring[(from + i) % RING];
	}
}

/* Adds the curves of events around which everything has begun to execute. */
static void add_curves(struct interval *s, bool all)
{
	while (s->first < s->nqueue) {
		const struct waiting *w = &s->queue[s->first];
		const uint64_t last =
		    w->at[AT_BEGIN] > w->at[AT_END] ? w->at[AT_BEGIN] : w->at[AT_END];
		const uint64_t end =
		    last + (uint64_t)(POINTS - INTERVAL_BEFORE) * interval_step(w->kind);
		if (!all && end >= s->frontier)
			break;
		add_curve(s, w);
		s->first++;
	}
	if (s->first == s->nqueue)
		s->first = s->nqueue = 0;
}

/* Moves the frontier: cycles that the ring gets in place of old ones are empty. */
static void advance(struct interval *s, uint64_t to)
{
	const uint64_t from = s->frontier;
	if (to <= from)
		return;
	/* Before the old cycles go. */
	s->frontier = min_u64(to, from + RING / 4);
	add_curves(s, false);
	s->frontier = to;
	if (to - from >= RING)
		memset(s->ring, 0, sizeof(s->ring));
	else
		for (uint64_t c = from; c < to; c++)
			s->ring[(c + RING / 2) % RING] = 0;
	add_curves(s, false);
}

static void note_issue(struct interval *s, uint64_t cycle)
{
	uint8_t *at = &s->ring[cycle % RING];
	if (cycle < s->frontier + RING / 2 && *at < UINT8_MAX)
		++*at;
}

/* ---- intervals ---- */

static uint64_t traced(const struct interval *s, uint64_t cycle)
{
	return s->region + (cycle > s->region_cycle ? cycle - s->region_cycle : 0);
}

struct event {
	enum cpi_component kind; /* CPI_BASE: there is none */
	uint64_t pc, begin, end, penalty, resolution;
};

static void end_interval(struct interval *s, const struct event *ev)
{
	const uint64_t end = max_u64(traced(s, ev->end), s->begin);
	struct sums *all[] = { &s->kind[ev->kind], &s->length[ev->kind][log2_of(s->ninsts)] };
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		all[i]->intervals++;
		all[i]->insts += s->ninsts;
		all[i]->cycles += end - s->begin;
		all[i]->penalty += ev->penalty;
		all[i]->resolution += ev->resolution;
	}
	cells_add(&s->by_pc, cell_key(ev->pc, 0, ev->kind), ev->penalty, 1);
	s->begin = end;
	s->ninsts = 0;
	if (s->nqueue == s->cap_queue && s->first) {
		memmove(s->queue, s->queue + s->first, (s->nqueue - s->first) * sizeof(*s->queue));
		s->nqueue -= s->first;
		s->first = 0;
	}
	ARRAY_ROOM(s->queue, s->cap_queue, s->nqueue + 1);
	s->queue[s->nqueue++] = (struct waiting){ { ev->begin, ev->end }, ev->kind };
}

/* The front-end event that the instruction ends an interval of. */
static struct event front_event(const struct interval *s, const struct rec_inst *r, uint64_t now)
{
	struct event ev = { .kind = CPI_BASE, .pc = r->pc, .end = now };
	const uint32_t waited = (uint32_t)r->lat_icache + r->lat_itlb;
	if (s->flags & RI_MISPREDICT) {
		ev.kind = CPI_BMISP;
		ev.pc = s->pc;
		ev.begin = s->dispatch;
		ev.penalty = now - s->dispatch;
		ev.resolution = min_u64(s->complete, now) - s->dispatch;
		return ev;
	}
	if (s->flags & (RI_FLUSHES | RI_EXCEPTION)) {
		ev.kind = CPI_FLUSH;
		ev.pc = s->pc;
		ev.begin = s->dispatch;
	} else if (r->psv & (PSV_DR_L1 | PSV_DR_TLB) && waited) {
		ev.kind = r->lat_itlb >= r->lat_icache ? CPI_ITLB
			  : r->ilevel == LEVEL_MEM     ? CPI_L2I
						       : CPI_L1I;
		ev.begin = r->fetch - min_u64(waited, r->fetch);
	}
	ev.penalty = now > s->dispatch + 1 ? now - s->dispatch - 1 : 0;
	return ev;
}

/* Closes long misses whose data had come; the last of them is the event if there is no other. */
static void close_misses(struct interval *s, uint64_t now, struct event *ev)
{
	size_t kept = 0;
	for (size_t i = 0; i < s->nopen; i++) {
		const struct open_miss *m = &s->open[i];
		if (m->until > now) {
			s->open[kept++] = *m;
			continue;
		}
		if (ev->kind != CPI_BASE) {
			s->beside[m->kind]++;
			cells_add(&s->by_pc, cell_key(m->pc, 0, m->kind), 0, 1);
			continue;
		}
		ev->kind = m->kind;
		ev->pc = m->pc;
		ev->begin = m->begin;
		ev->penalty = now > s->dispatch + 1 ? now - s->dispatch - 1 : 0;
	}
	s->nopen = kept;
}

static void open_long_miss(struct interval *s, const struct rec_inst *r)
{
	const uint32_t walk = r->lat_dtlb, rest = r->lat_dmiss - min_u64(r->lat_dmiss, walk);
	const bool is_long = r->psv & PSV_ST_LLC || r->dlevel == LEVEL_MEM,
		   is_walk = r->psv & PSV_ST_TLB && walk;
	if (!(r->flags & RI_LOAD) || r->prod_line || (!is_long && !is_walk))
		return;
	const uint64_t begin = r->fetch + r->issue, until = r->fetch + r->complete;
	ARRAY_ROOM(s->open, s->cap_open, s->nopen + 1);
	s->open[s->nopen++] =
	    (struct open_miss){ r->pc, begin, until,
				!is_long || (is_walk && walk > rest) ? CPI_DTLB : CPI_L2D };
	if (s->miss_at) {
		const unsigned d = log2_of(s->insts - s->miss_at);
		s->near[d].misses++;
		s->near[d].overlapped += begin < s->miss_until;
	}
	s->miss_at = s->insts;
	s->miss_until = until;
}

static void take(struct interval *s, const struct rec_inst *r)
{
	const uint64_t now = r->fetch + r->dispatch;
	advance(s, r->fetch);
	if (s->have) {
		struct event ev = front_event(s, r, now);
		close_misses(s, now, &ev);
		if (ev.kind != CPI_BASE)
			end_interval(s, &ev);
	}
	s->insts++;
	s->ninsts++;
	s->have = true;
	s->dispatch = now;
	s->complete = r->fetch + r->complete;
	s->flags = r->flags;
	s->pc = r->pc;
	note_issue(s, r->fetch + r->issue);
	open_long_miss(s, r);
}

static bool interval_batch(void *state, const struct rec_inst *insts, size_t ninsts,
			   const struct rec_cycle *cycles, size_t ncycles, struct err *e)
{
	struct interval *s = state;
	struct walk w = { insts, ninsts, 0 };
	for (size_t i = 0; i < ncycles; i++) {
		const struct rec_cycle *c = &cycles[i];
		if (c->cycle != s->next_cycle || !s->cycles) {
			s->region = s->cycles;
			s->region_cycle = c->cycle;
		}
		for (unsigned k = 0; k < c->ncommit; k++) {
			const struct rec_inst *r = walk_next(&w, c, k, e);
			if (!r)
				return false;
			take(s, r);
		}
		s->cycles += c->repeat;
		s->next_cycle = c->cycle + c->repeat;
	}
	return true;
}

/* ---- the store ---- */

static bool put_kinds(const struct interval *s, struct store *store, struct err *e)
{
	bool ok = true;
	for (int k = 0; ok && k < KINDS; k++) {
		const char *name = words_components[k].name;
		const struct sums *a = &s->kind[k];
		if (a->intervals || s->beside[k])
			ok = store_insert(
			    store, e, "interval_kind", "siiiiiii", name, (int64_t)a->intervals,
			    (int64_t)a->insts, (int64_t)a->cycles, (int64_t)a->penalty,
			    (int64_t)a->resolution, (int64_t)s->beside[k], (int64_t)s->events[k]);
		for (int64_t n = 0; ok && n < LENGTHS; n++) {
			a = &s->length[k][n];
			if (a->intervals)
				ok = store_insert(store, e, "interval_length", "siiiiii", name, n,
						  (int64_t)a->intervals, (int64_t)a->insts,
						  (int64_t)a->cycles, (int64_t)a->penalty,
						  (int64_t)a->resolution);
		}
	}
	return ok;
}

static bool put_curves(const struct interval *s, struct store *store, struct err *e)
{
	static const char *const names[] = { "begin", "end" };
	bool ok = true;
	for (int k = 0; k < KINDS; k++)
		for (int a = 0; ok && s->events[k] && a < ANCHORS; a++)
			for (int64_t i = 0; ok && i < POINTS; i++)
				ok = store_insert(store, e, "interval_curve", "ssiiii",
						  words_components[k].name, names[a], i,
						  (int64_t)INTERVAL_BEFORE,
						  (int64_t)interval_step((enum cpi_component)k),
						  (int64_t)s->issued[k][a][i]);
	return ok;
}

static bool interval_finish(void *state, struct store *store, struct err *e)
{
	struct interval *s = state;
	bool ok = true;
	add_curves(s, true);
	struct sums *rest = &s->kind[CPI_BASE];
	rest->intervals += s->cycles > s->begin || s->ninsts;
	rest->insts += s->ninsts;
	rest->cycles += s->cycles - min_u64(s->begin, s->cycles);
	if (!store)
		return true;
	ok = put_kinds(s, store, e) && put_curves(s, store, e);
	for (int64_t n = 0; ok && n < LENGTHS; n++)
		if (s->near[n].misses)
			ok = store_insert(store, e, "interval_near", "iii", n,
					  (int64_t)s->near[n].misses,
					  (int64_t)s->near[n].overlapped);
	struct cell *cells = cells_sorted(&s->by_pc);
	for (size_t i = 0; ok && i < s->by_pc.used; i++)
		ok = store_insert(store, e, "interval_instruction", "isii",
				  (int64_t)cell_pc(&cells[i]),
				  words_components[cell_category(&cells[i])].name,
				  (int64_t)cells[i].count, (int64_t)cells[i].units);
	free(cells);
	return ok;
}

static void interval_free(void *state)
{
	struct interval *s = state;
	cells_free(&s->by_pc);
	free(s->open);
	free(s->queue);
}

const struct analysis interval_analysis = {
	.name = "interval-analysis",
	.summary = "intervals between miss events, their penalties and issue curves (culprit stack "
		   "--intervals)",
	.wants = WANT_CYCLES | WANT_INSTS | WANT_LATENCIES | WANT_PRODUCERS,
	.tables =
	    (const struct analysis_table[]){ { "interval_instruction", NULL }, { NULL, NULL } },
	.state_size = sizeof(struct interval),
	.start = interval_start,
	.batch = interval_batch,
	.finish = interval_finish,
	.free = interval_free,
};

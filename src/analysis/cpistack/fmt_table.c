/* SPDX-License-Identifier: MIT */
/*
 * The front-end miss event table (FMT) and the shared one (sFMT) of eyerman2006 section 4.1, row by row.
 * fmt.c computes what tables without limits would count; here are as many rows as hardware has, and their
 * counters are as wide as hardware's.
 *
 * - The open row is the one that the fetch pointer points to. An I-side miss counts there until a branch is
 *   fetched, which takes the row; the next row is opened, with zeros.
 * - A branch's penalty counter runs in the cycles after the one in which it dispatches, unless the ROB is full, until
 *   the right path enters behind it. If the branch retires before that, the global counter runs on.
 * - A mispredicted branch that resolves drops the rows after its own and clears the open row.
 * - Local counters stop at their largest value. Global ones never end.
 * - sFMT has one set of I-side counters for all rows, which an instruction takes that retires with its miss bit
 *   set, and which a mispredicted branch that retires clears.
 *
 * What the paper does not say, and what is done here:
 * - No row is free: the branch gets none, and so no penalty. The open row stays open for the next branch. If the
 *   branch is mispredicted, nothing tells the open row that it has counted a wrong path.
 * - Another flush (exception, memory order): rows of flushed branches are dropped, and the open row is cleared, as
 *   after a misprediction; nobody is charged a penalty.
 * - An I-miss after the redirect, while the branch is charged, and a branch that stays: enum reading.
 * - A table does not know wrong paths. While the right path behind a mispredicted branch is on its way to the ROB, a
 *   miss may already be on the wrong path of the next one; it spares the first all the same.
 *
 * Order. A branch's record comes when it leaves the machine, so cycles wait until everything that was fetched before
 * them has left: until an instruction commits that was fetched later.
 */
#include "analysis/cpistack/fmt_table.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/cpistack/cpistack.h"
#include "store/store.h"
#include "util/array.h"

/*
 * Where the text has more than one meaning. First: who gets the cycles in which fetch waits for an I-miss on the right
 * path of a branch that is still charged. Section 4.1 lets both counters run; section 3 has one penalty for one event.
 * Second: a resolved branch may stay in the ROB, behind older instructions, when the right path has long entered.
 * Section 4.1 counts while a branch resides there; by section 3.1.2 the penalty ends when the right path enters.
 */
enum reading {
	READING_MISS,	/* the miss; until the right path enters */
	READING_BRANCH, /* the branch; until the right path enters */
	READING_BOTH,	/* each of them; until the right path enters */
	READING_STAY,	/* the miss; until the branch retires */
};
static const char *const readings[] = { "miss", "branch", "both", "stay" };

#define MOST_ROWS 65536 /* unless more are asked for */

enum { SIDES = 3 }; /* L1I, L2I, ITLB */
_Static_assert(CPI_L1I == 1 && CPI_ITLB == (int)SIDES, "a range");

/* A cycle, as far as the tables look at it. */
struct tick {
	uint64_t cycle, repeat;
	uint64_t flush_po; /* a mispredicted branch that resolves; 0: none */
	uint8_t miss;	   /* enum cpi_component: what fetch waits for; CPI_BASE: nothing */
	uint8_t head; /* what a full ROB waits for; CPI_BASE: the ROB is not full, or commits */
	bool full, wrong, flush, enters;
};

/* Something that an instruction does, before cycle `at` is counted. In this order. */
enum deed { LEAVE, DISPATCH, FETCH };
struct event {
	uint64_t at, seq, po, dispatch;
	uint32_t flags, psv;
	uint8_t deed;
};

struct row {
	uint64_t seq, po;
	uint64_t local[SIDES];
	/* `running` when it dispatched, and when the right path entered behind it */
	uint64_t from, until;
	uint64_t spared; /* of the cycles between: those that an I-miss got instead */
	bool dispatched, entered;
};

struct fmt_table {
	struct fmt_table_counts n;
	uint64_t most_local; /* of a local counter */
	enum reading reading;
	struct row *rows; /* in use, oldest first; the open row follows */
	size_t nrows;
	uint64_t shared[SIDES];
	uint64_t
	    claimed; /* sFMT: instructions that dispatched before this cycle have no miss bit */
	uint64_t running; /* cycles in which penalty counters ran */
	uint64_t
	    waiting;  /* seq of the branch that resolved, until the right path enters; 0: none */
	bool retired; /* and it has retired, so that the global counter runs */
	uint64_t frontier; /* all that was fetched before this cycle is known */
	struct tick *ticks;
	size_t nticks, cap_ticks;
	struct event *events;
	size_t nevents, cap_events;
};

const struct fmt_table_counts *fmt_table_counts(const void *state)
{
	return &((const struct fmt_table *)state)->n;
}

/* Four times the longest miss, because misses add up in a row: the paper gives no width. */
static uint64_t default_bits(const struct trace_meta *m)
{
	uint64_t most = 4 * ((uint64_t)m->mem_latency + m->itlb_penalty), bits = 0;
	for (; most; most >>= 1)
		bits++;
	return bits ? bits : 1;
}

static bool table_start(void *state, const struct trace_meta *meta,
			const struct analysis_options *o, struct err *e)
{
	struct fmt_table *t = state;
	const char *reading = analysis_given(o, "fmt.reading");
	t->n.rows =
	    analysis_number(o, "fmt.rows", min_u64(meta->outstanding_branches, MOST_ROWS) + 1);
	t->n.bits = analysis_number(o, "fmt.bits", default_bits(meta));
	t->most_local = (UINT64_C(1) << t->n.bits) - 1;
	for (unsigned k = 0; reading && k <= ARRAY_LEN(readings); k++) {
		if (k == ARRAY_LEN(readings))
			return err_set(e, "fmt.reading=%s: it is miss, branch, both or stay",
				       reading);
		t->reading = (enum reading)k;
		if (!strcmp(reading, readings[k]))
			break;
	}
	t->rows = x_calloc(t->n.rows, sizeof(*t->rows));
	return true;
}

/* What a local counter shows that has been told to count n. */
static int64_t shown(struct fmt_table *t, uint64_t n)
{
	t->n.saturated += n > t->most_local;
	return (int64_t)min_u64(n, t->most_local);
}

static void give(struct fmt_table *t, enum cpi_component k, int64_t cycles)
{
	for (unsigned d = 0; d < FMT_DESIGNS; d++)
		t->n.stack[d][k] += cycles;
}

/* The open row is the one behind those in use: there always is one. */
static struct row *open_row(struct fmt_table *t)
{
	return &t->rows[t->nrows];
}

static void clear_open(struct fmt_table *t)
{
	*open_row(t) = (struct row){ .seq = 0 };
}

static void fetch(struct fmt_table *t, const struct event *ev)
{
	t->n.branches++;
	if (t->nrows + 1 == t->n.rows) {
		t->n.without++;
		return;
	}
	struct row *row = open_row(t);
	row->seq = ev->seq;
	row->po = ev->po;
	t->nrows++;
	clear_open(t);
	t->n.most = max_u64(t->n.most, t->nrows + 1);
}

static struct row *row_of(struct fmt_table *t, uint64_t seq)
{
	for (size_t i = t->nrows; i-- > 0 && t->rows[i].seq >= seq;)
		if (t->rows[i].seq == seq)
			return &t->rows[i];
	return NULL;
}

/* Moves those that follow, and the open row, to their place. */
static void remove_rows(struct fmt_table *t, struct row *first, size_t n)
{
	const size_t after = (size_t)(open_row(t) + 1 - (first + n));
	memmove(first, first + n, after * sizeof(*first));
	t->nrows -= n;
}

static void retire_branch(struct fmt_table *t, const struct event *ev)
{
	struct row *row = row_of(t, ev->seq);
	if (!row)
		return;
	for (unsigned k = 0; k < SIDES; k++)
		t->n.stack[DESIGN_FMT][CPI_L1I + k] += shown(t, row->local[k]);
	if (ev->flags & RI_MISPREDICT) {
		const uint64_t until = row->entered ? row->until : t->running;
		give(t, CPI_BMISP, shown(t, until - row->from - row->spared));
		memset(t->shared, 0, sizeof(t->shared));
		t->retired = t->waiting == ev->seq;
	}
	remove_rows(t, t->rows, (size_t)(row - t->rows) + 1);
}

static void leave(struct fmt_table *t, const struct event *ev)
{
	if (!(ev->flags & RI_COMMITTED)) {
		struct row *row = row_of(t, ev->seq);
		if (row)
			remove_rows(t, row, 1);
		return;
	}
	if (ev->psv & (PSV_DR_L1 | PSV_DR_TLB) && ev->dispatch >= t->claimed) {
		for (unsigned k = 0; k < SIDES; k++)
			t->n.stack[DESIGN_SFMT][CPI_L1I + k] += shown(t, t->shared[k]);
		memset(t->shared, 0, sizeof(t->shared));
		t->claimed = ev->at - 1;
	}
	retire_branch(t, ev);
}

static void happen(struct fmt_table *t, const struct event *ev)
{
	struct row *row;
	switch (ev->deed) {
	case FETCH:
		fetch(t, ev);
		break;
	case DISPATCH:
		row = row_of(t, ev->seq);
		if (row) {
			row->from = t->running;
			row->dispatched = true;
		}
		break;
	default:
		leave(t, ev);
	}
}

/* A flush. If it is a mispredicted branch's, and the branch has a row, the penalty goes on until the right path
 * enters. */
static void flush(struct fmt_table *t, uint64_t po)
{
	t->waiting = 0;
	if (!po) {
		clear_open(t);
		return;
	}
	for (size_t i = 0; i < t->nrows; i++)
		if (t->rows[i].po == po && t->rows[i].dispatched) {
			t->waiting = t->rows[i].seq;
			t->retired = false;
			t->nrows = i + 1;
			clear_open(t);
		}
}

/* The right path enters the ROB. */
static void enter(struct fmt_table *t)
{
	struct row *row = t->waiting && !t->retired ? row_of(t, t->waiting) : NULL;
	if (row && t->reading != READING_STAY) {
		row->until = t->running;
		row->entered = true;
	}
	t->waiting = 0;
}

/* Counts n cycles that are like this one, and in which nothing happens. */
static void count(struct fmt_table *t, const struct tick *c, uint64_t n)
{
	if (c->full) {
		if (c->head != CPI_BASE)
			give(t, (enum cpi_component)c->head, (int64_t)n);
		return;
	}
	const bool miss = c->miss != CPI_BASE, charged = t->waiting && miss;
	if (miss && !(charged && t->reading == READING_BRANCH)) {
		open_row(t)->local[c->miss - CPI_L1I] += n;
		t->shared[c->miss - CPI_L1I] += n;
	}
	t->running += n;
	if (!t->waiting)
		return;
	struct row *row = t->retired ? NULL : row_of(t, t->waiting);
	if (charged && (t->reading == READING_MISS || t->reading == READING_STAY)) {
		if (row)
			row->spared += n;
	} else if (t->retired) {
		give(t, CPI_BMISP, (int64_t)n);
	}
}

static int by_time(const void *a, const void *b)
{
	const struct event *x = a, *y = b;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	if (x->deed != y->deed)
		return x->deed < y->deed ? -1 : 1;
	return (x->seq > y->seq) - (x->seq < y->seq);
}

/* Counts all cycles before `end`, of which everything is known. */
static void run_to(struct fmt_table *t, uint64_t end)
{
	size_t next = 0, i = 0;
	if (t->nevents)
		qsort(t->events, t->nevents, sizeof(*t->events), by_time);
	for (; i < t->nticks && t->ticks[i].cycle < end; i++) {
		struct tick *c = &t->ticks[i];
		while (c->repeat) {
			uint64_t n = min_u64(c->repeat, end - c->cycle);
			while (next < t->nevents && t->events[next].at <= c->cycle)
				happen(t, &t->events[next++]);
			if (next < t->nevents)
				n = min_u64(n, t->events[next].at - c->cycle);
			if (!n)
				break;
			if (c->flush && !c->wrong)
				flush(t, c->flush_po);
			if (c->enters)
				enter(t);
			count(t, c, n);
			if (c->flush && c->wrong)
				flush(t, c->flush_po);
			c->flush = false;
			c->cycle += n;
			c->repeat -= n;
		}
		if (c->repeat)
			break;
	}
	/* Of an array that is still NULL nothing is taken. */
	if (i)
		memmove(t->ticks, t->ticks + i, (t->nticks - i) * sizeof(*t->ticks));
	t->nticks -= i;
	if (next)
		memmove(t->events, t->events + next, (t->nevents - next) * sizeof(*t->events));
	t->nevents -= next;
}

static void add_event(struct fmt_table *t, const struct rec_inst *r, enum deed deed, uint64_t at)
{
	ARRAY_ROOM(t->events, t->cap_events, t->nevents + 1);
	t->events[t->nevents++] = (struct event){
		.at = at,
		.seq = r->seq,
		.po = r->po,
		.dispatch = r->dispatch == STAMP_NONE ? UINT64_MAX : r->fetch + r->dispatch,
		.flags = r->flags,
		.psv = r->psv,
		.deed = (uint8_t)deed,
	};
}

static void add_inst(struct fmt_table *t, const struct rec_inst *r)
{
	const bool branch = r->flags & (RI_BRANCH | RI_JUMP | RI_CALL | RI_RETURN | RI_INDIRECT);
	if (branch) {
		add_event(t, r, FETCH, r->fetch);
		if (r->dispatch != STAMP_NONE)
			add_event(t, r, DISPATCH, r->fetch + r->dispatch + 1);
	}
	if (branch || (r->flags & RI_COMMITTED && r->psv & (PSV_DR_L1 | PSV_DR_TLB)))
		add_event(t, r, LEAVE, r->fetch + r->commit + 1);
	if (r->flags & RI_COMMITTED)
		t->frontier = max_u64(t->frontier, r->fetch);
}

static void add_cycle(struct fmt_table *t, const struct rec_cycle *c)
{
	const bool full = c->flags & RC_ROB_FULL;
	ARRAY_ROOM(t->ticks, t->cap_ticks, t->nticks + 1);
	t->ticks[t->nticks++] = (struct tick){
		.cycle = c->cycle,
		.repeat = c->repeat,
		.flush_po = c->flush_cause == FLUSH_MISPREDICT ? c->flush_po : 0,
		.miss = (uint8_t)cpi_fetch_miss(c->fetch_stall),
		.head = (uint8_t)(full && !c->ncommit ? cpi_head_reason(c) : CPI_BASE),
		.full = full,
		.wrong = c->flags & RC_WRONG_PATH,
		.flush = c->flags & RC_FLUSH,
		.enters = c->ndispatch && !(c->flags & (RC_DISPATCH_WRONG | RC_FLUSH)),
	};
	t->n.cycles += c->repeat;
}

static bool table_batch(void *state, const struct rec_inst *insts, size_t ninsts,
			const struct rec_cycle *cycles, size_t ncycles, struct err *e)
{
	struct fmt_table *t = state;
	(void)e;
	for (size_t i = 0; i < ninsts; i++)
		add_inst(t, &insts[i]);
	for (size_t i = 0; i < ncycles; i++)
		add_cycle(t, &cycles[i]);
	run_to(t, t->frontier);
	return true;
}

static bool put_design(const struct fmt_table *t, enum fmt_design d, struct store *store,
		       struct err *e)
{
	static const char *const names[] = { "fmt_table", "sfmt_table" };
	static const char *const summaries[] = {
		"front-end miss event table: rows and counters as hardware has them",
		"the same with shared I-side counters",
	};
	const int64_t id = (int64_t)METHODS + 1 + (int64_t)d;
	bool ok =
	    store_insert(store, e, "cpi_method", "issi", id, names[d], summaries[d], (int64_t)1);
	for (int k = 0; ok && k < CPI_COMPONENTS; k++)
		if (t->n.stack[d][k])
			ok = store_insert(store, e, "cpi_component", "iisi", (int64_t)-1, id,
					  words_components[k].name, t->n.stack[d][k]);
	return ok;
}

static bool table_finish(void *state, struct store *store, struct err *e)
{
	struct fmt_table *t = state;
	struct fmt_table_counts *n = &t->n;
	run_to(t, UINT64_MAX);
	/* The last instructions leave behind the last cycle. */
	for (size_t i = 0; i < t->nevents; i++)
		happen(t, &t->events[i]);
	t->nevents = 0;
	for (unsigned d = 0; d < FMT_DESIGNS; d++) {
		int64_t rest = (int64_t)n->cycles;
		for (unsigned k = CPI_BASE + 1; k < CPI_COMPONENTS; k++)
			rest -= n->stack[d][k];
		n->stack[d][CPI_BASE] = rest;
	}
	if (!store)
		return true;
	const struct {
		const char *key;
		uint64_t value;
	} run[] = {
		{ "fmt_table_rows", n->rows },
		{ "fmt_table_bits", n->bits },
		{ "fmt_table_branches", n->branches },
		{ "fmt_table_without_row", n->without },
		{ "fmt_table_most_rows", n->most },
		{ "fmt_table_saturated", n->saturated },
		{ "fmt_table_reading", (uint64_t)t->reading },
	};
	bool ok = put_design(t, DESIGN_FMT, store, e) && put_design(t, DESIGN_SFMT, store, e);
	for (size_t i = 0; ok && i < ARRAY_LEN(run); i++)
		ok = store_insert(store, e, "run", "si", run[i].key, (int64_t)run[i].value);
	return ok;
}

static void table_free(void *state)
{
	struct fmt_table *t = state;
	free(t->rows);
	free(t->ticks);
	free(t->events);
}

static const struct analysis_param params[] = {
	{ "fmt.rows",
	  "rows of the table, with the open one (default: the machine's outstanding branches + 1)",
	  true,
	  { 1, 1 << 20, NUMBER_DECIMAL } },
	{ "fmt.bits",
	  "width of a row's counters, which stop at their largest value (default: four times an "
	  "access to memory with a page walk)",
	  true,
	  { 1, 48, NUMBER_DECIMAL } },
	{ "fmt.reading",
	  "who gets an I-miss behind a mispredicted branch that is still charged: miss (default), "
	  "branch, or both; stay: as miss, and the branch is charged until it retires",
	  false,
	  { 0 } },
	{ .name = NULL },
};

const struct analysis fmt_table_analysis = {
	.name = "fmt-table",
	.summary = "CPI stacks by FMT and sFMT with finite rows and counters (beside cpistack)",
	.wants = WANT_CYCLES | WANT_HEAD | WANT_INSTS | WANT_SQUASHED,
	.params = params,
	.state_size = sizeof(struct fmt_table),
	.start = table_start,
	.batch = table_batch,
	.finish = table_finish,
	.free = table_free,
};

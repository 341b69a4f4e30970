/* SPDX-License-Identifier: MIT */
/*
 * Runs the small pipeline of scene.h cycle by cycle, writes its records, and keeps the front-end
 * miss event table beside it.
 */
#include "scene.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define FLIGHT_MAX 4096
#define L1D_HIT	   2

/* A step in flight, on the right path or on the wrong one. */
struct flight {
	const struct step *step;
	uint64_t po, seq, fetch, dispatch, issue, complete;
	bool wrong, dispatched, done, head_of_fetch;
};

#define BELOW 9 /* cycles that a hit in the cache below takes beyond one in the L1 */

/* A row of the table; there is one per branch that has dispatched and not completed. */
struct row {
	uint64_t seq;
	int64_t local[CPI_COMPONENTS]; /* slots lost before the branch */
	int64_t penalty, under_short, under_long, full_long, bound[2];
	uint64_t dispatch;
	bool resolved;
};

/* What the hardware remembers about the head of the window. */
struct window {
	uint64_t miss_po, miss_until, long_until, bound_until;
	int64_t left, behind;
	uint64_t long_age; /* cycles for which long misses have been at the head */
	enum cpi_component miss_cause, bound_cause;
};

struct table {
	struct window window;
	struct row rows[FLIGHT_MAX];
	size_t count;
	int64_t next[CPI_COMPONENTS]; /* for the row of the next branch to dispatch */
	uint8_t pipe[SCENE_DEPTH];    /* causes of bubbles in the front end, oldest first */
	uint64_t wait_age;	      /* cycles for which fetch has waited for memory */
	bool wait_wrong;
	int64_t partial;
	uint8_t bubble;
	bool open; /* a mispredicted branch has resolved and nothing has entered since */
	int64_t open_penalty, open_short, open_long, open_full, open_bound[2];
	bool open_blocked; /* a long miss blocked the head when it resolved */
	int64_t typical;   /* 64 times the mean cost of branches that met no long miss */
};

struct pipe {
	struct scene *out;
	const struct step *steps;
	size_t count, next; /* next: the step to be fetched */
	unsigned rob;
	struct flight flight[FLIGHT_MAX];
	size_t nflight, ndispatched; /* oldest first */
	uint64_t now, seq, wait_until;
	unsigned wait_cause;
	bool waited; /* the wait for the next step's I-miss is over */
	bool wrong;
	unsigned wrong_left;
	const struct step *wrong_branch;
	uint64_t flush_po;
	bool flushed;
	struct table table;
};

static enum cpi_component cause_of(unsigned stall)
{
	return stall == FETCH_ICACHE_L2	   ? CPI_L1I
	       : stall == FETCH_ICACHE_MEM ? CPI_L2I
	       : stall == FETCH_ITLB	   ? CPI_ITLB
					   : CPI_BASE;
}

/* The same in this cycle: a miss that goes to memory is the L1's while it is younger than a hit in the cache
 * below. */
static enum cpi_component cause_now(struct table *t, unsigned stall, bool wrong)
{
	const enum cpi_component cause = cause_of(stall);
	if (cause != CPI_L2I || wrong != t->wait_wrong)
		t->wait_age = 0;
	t->wait_wrong = wrong;
	return cause == CPI_L2I && t->wait_age++ < BELOW ? CPI_L1I : cause;
}

static void put_inst(struct pipe *p, const struct flight *f, bool committed)
{
	struct scene *s = p->out;
	if (!(s->ninsts & (s->ninsts - 1)))
		s->insts = x_realloc(s->insts, (2 * s->ninsts + 1) * sizeof(*s->insts));
	struct rec_inst *r = &s->insts[s->ninsts++];
	*r = (struct rec_inst){ .seq = f->seq, .po = f->po, .pc = 0x1000 + 4 * f->po };
	r->fetch = f->fetch;
	r->dispatch = f->dispatched ? (uint32_t)(f->dispatch - f->fetch) : STAMP_NONE;
	r->complete = f->done ? (uint32_t)(f->complete - f->fetch) : STAMP_NONE;
	r->commit = (uint32_t)(p->now - f->fetch);
	r->flags = (committed ? RI_COMMITTED : 0) | (f->head_of_fetch ? RI_FETCH_HEAD : 0);
	if (f->wrong) {
		if (f->head_of_fetch && p->wrong_branch && p->wrong_branch->wrong_imiss)
			r->psv = PSV_DR_L1;
		return;
	}
	r->flags |= (f->step->branch ? RI_BRANCH : 0) | (f->step->mispredict ? RI_MISPREDICT : 0);
	if (f->step->imiss)
		r->psv |= f->step->icause == FETCH_ITLB		? PSV_DR_TLB
			  : f->step->icause == FETCH_ICACHE_MEM ? PSV_DR_L1 | PSV_DR_L2 | PSV_DR_LLC
								: PSV_DR_L1;
	if (f->step->dlevel >= LEVEL_L2)
		r->psv |= f->step->dlevel == LEVEL_MEM ? PSV_ST_L1 | PSV_ST_LLC : PSV_ST_L1;
}

/* The branch at index i has resolved: squashes everything younger. */
static void resolve(struct pipe *p, size_t i, unsigned head)
{
	struct table *t = &p->table;
	for (size_t k = p->nflight; k-- > i + 1;)
		put_inst(p, &p->flight[k], false);
	p->nflight = i + 1;
	if (p->ndispatched > i + 1)
		p->ndispatched = i + 1;
	p->wrong = false;
	p->wrong_branch = NULL;
	p->wait_until = p->now + 1;
	p->wait_cause = FETCH_REDIRECT;
	p->flushed = true;
	p->flush_po = p->flight[i].po;
	/* the table loses the rows of younger branches and what is in the front end */
	while (t->count && t->rows[t->count - 1].seq > p->flight[i].seq)
		t->count--;
	memset(t->next, 0, sizeof(t->next));
	memset(t->pipe, CPI_BASE, sizeof(t->pipe));
	t->partial = 0;
	t->bubble = CPI_BASE;
	struct row *row = &t->rows[t->count - 1];
	assert(row->seq == p->flight[i].seq);
	row->resolved = true;
	t->open = true;
	t->open_penalty = row->penalty;
	t->open_short = head & RC_HEAD_L1MISS ? 0 : row->under_short;
	t->open_long = row->under_long;
	t->open_full = row->full_long;
	t->open_blocked = head & RC_HEAD_LONG_DMISS;
	memcpy(t->open_bound, row->bound, sizeof(t->open_bound));
}

static void complete(struct pipe *p, unsigned head)
{
	for (size_t i = 0; i < p->ndispatched; i++) {
		struct flight *f = &p->flight[i];
		if (f->done || f->complete != p->now)
			continue;
		f->done = true;
		if (!f->wrong && f->step->mispredict)
			resolve(p, i, head);
	}
}

static unsigned commit_steps(struct pipe *p)
{
	unsigned n = 0;
	struct table *t = &p->table;
	while (n < SCENE_WIDTH && p->ndispatched && p->flight[0].done) {
		const struct flight *f = &p->flight[0];
		put_inst(p, f, true);
		if (f->step->branch) {
			assert(t->count && t->rows[0].seq == f->seq);
			for (unsigned k = 0; k < CPI_COMPONENTS; k++)
				p->out->table[k] += t->rows[0].local[k];
			memmove(t->rows, t->rows + 1, --t->count * sizeof(*t->rows));
		}
		memmove(p->flight, p->flight + 1, --p->nflight * sizeof(*p->flight));
		p->ndispatched--;
		n++;
	}
	return n;
}

static uint64_t done_time(const struct pipe *p, const struct flight *f)
{
	uint64_t issue = f->dispatch + 1;
	if (!f->wrong && f->step->depends)
		for (size_t i = 0; i < p->ndispatched; i++)
			if (!p->flight[i].wrong && p->flight[i].po == f->po - f->step->depends &&
			    p->flight[i].complete > issue)
				issue = p->flight[i].complete;
	return issue;
}

static unsigned dispatch(struct pipe *p, uint8_t *stall, bool *wrong)
{
	unsigned n = 0;
	struct table *t = &p->table;
	*stall = DISPATCH_OK;
	*wrong = false;
	while (n < SCENE_WIDTH) {
		if (p->ndispatched == p->nflight ||
		    p->flight[p->ndispatched].fetch + SCENE_DEPTH > p->now) {
			*stall = DISPATCH_EMPTY;
			return n;
		}
		struct flight *f = &p->flight[p->ndispatched];
		if (p->ndispatched >= p->rob) {
			*stall = DISPATCH_ROB;
			*wrong |= !n && f->wrong;
			return n;
		}
		if (!n)
			*wrong = f->wrong;
		f->dispatch = p->now;
		f->dispatched = true;
		f->issue = done_time(p, f);
		f->complete = f->issue + (f->wrong || !f->step->latency ? 1 : f->step->latency);
		p->ndispatched++;
		n++;
		if (f->wrong || !f->step->branch)
			continue;
		struct row *row = &t->rows[t->count++];
		*row = (struct row){ .seq = f->seq, .dispatch = p->now };
		memcpy(row->local, t->next, sizeof(row->local));
		memset(t->next, 0, sizeof(t->next));
		row->penalty = SCENE_WIDTH - n; /* slots of this cycle after the branch */
	}
	return n;
}

static void fetch_wrong(struct pipe *p)
{
	for (unsigned n = 0; n < SCENE_WIDTH && p->nflight < FLIGHT_MAX - 8; n++)
		p->flight[p->nflight++] = (struct flight){ .po = p->flight[p->nflight - 1].po + 1,
							   .seq = ++p->seq,
							   .fetch = p->now,
							   .wrong = true,
							   .head_of_fetch = !n };
}

/* Returns why nothing was fetched, or FETCH_OK. */
static unsigned fetch(struct pipe *p, unsigned *nfetch)
{
	*nfetch = 0;
	if (p->wait_until > p->now)
		return p->wait_cause;
	if (p->wrong && p->wrong_left) {
		p->wrong_left--;
		return FETCH_ICACHE_L2;
	}
	if (p->nflight - p->ndispatched + SCENE_WIDTH > 64)
		return FETCH_BUFFER;
	if (p->wrong) {
		fetch_wrong(p);
		*nfetch = SCENE_WIDTH;
		return FETCH_OK;
	}
	if (p->next == p->count)
		return FETCH_END;
	while (*nfetch < SCENE_WIDTH && p->next < p->count) {
		const struct step *step = &p->steps[p->next];
		if (step->imiss && !p->waited) {
			if (*nfetch)
				break; /* the miss begins in the next cycle */
			p->waited = true;
			p->wait_cause = step->icause ? step->icause : FETCH_ICACHE_L2;
			p->wait_until = p->now + step->imiss;
			return p->wait_cause;
		}
		p->waited = false;
		p->flight[p->nflight++] = (struct flight){ .step = step,
							   .po = p->next + 1,
							   .seq = ++p->seq,
							   .fetch = p->now,
							   .head_of_fetch = !*nfetch };
		p->next++;
		(*nfetch)++;
		if (step->mispredict) {
			p->wrong = true;
			p->wrong_branch = step;
			p->wrong_left = step->wrong_imiss;
			break;
		}
	}
	return FETCH_OK;
}

static enum cpi_component head_cause(const struct rec_cycle *c)
{
	return c->flags & RC_HEAD_LONG_DMISS ? CPI_L2D
	       : c->flags & RC_HEAD_L1MISS   ? CPI_L1D
					     : CPI_LONG;
}

/* Takes up to `slots` slots from those that the last miss still delays. */
static int64_t take_delayed(struct window *w, const struct rec_cycle *c, int64_t slots)
{
	int64_t n = c->head_po >= w->miss_until ? 0 : slots < w->left ? slots : w->left;
	w->left -= n;
	return n;
}

/* Counts the slots of a full window. Returns how many of `charge` a short miss delayed. bound gets
 * those lost to long latency or to short misses in a full window, full_long those that a long miss
 * gets in this cycle. */
static int64_t table_window(struct pipe *p, const struct rec_cycle *c, bool full, int64_t charge,
			    int64_t bound[2], int64_t *full_long)
{
	struct window *w = &p->table.window;
	const uint64_t until = c->head_po + c->rob_used;
	const bool done = c->flags & RC_HEAD_DONE, wrong = c->flags & RC_DISPATCH_WRONG;
	const enum cpi_component cause = head_cause(c);
	bound[0] = bound[1] = 0;
	if (c->head_po && !done && cause != CPI_LONG) {
		if (w->miss_po != c->head_po)
			w->left = SCENE_WIDTH * (cause == CPI_L2D ? 250 : 9);
		w->miss_po = c->head_po;
		w->miss_cause = cause;
		w->miss_until = until;
		w->left -= full ? SCENE_WIDTH : charge;
		w->left = w->left < 0 ? 0 : w->left;
	}
	if (c->head_po && !done && full && cause == CPI_L2D)
		w->long_until = until;
	else if (c->head_po && !done && full && !wrong && c->head_po >= w->long_until) {
		w->bound_until = until;
		w->bound_cause = cause;
	}
	int64_t slots = w->behind;
	w->behind = 0;
	if (c->dispatch_stall == DISPATCH_ROB && c->ncommit)
		w->behind = SCENE_WIDTH - c->ndispatch;
	else if (c->dispatch_stall == DISPATCH_ROB ||
		 (c->flags & RC_ROB_FULL && !c->ncommit && !c->ndispatch))
		slots += SCENE_WIDTH - c->ndispatch;
	if (slots && (done || cause == CPI_LONG) && !wrong) {
		int64_t late = take_delayed(w, c, slots);
		p->out->table[w->miss_cause] += late;
		slots -= late;
	}
	/* A miss that goes to memory is the L1's while it is younger than a hit in the cache below. */
	if (!done)
		p->out->table[cause == CPI_L2D && w->long_age < BELOW ? CPI_L1D : cause] += slots;
	w->long_age = c->flags & RC_HEAD_LONG_DMISS ? w->long_age + 1 : 0;
	*full_long = !done && cause == CPI_L2D ? slots : 0;
	if (!c->head_po || c->flags & RC_HEAD_LONG_DMISS)
		return 0;
	if (c->head_po < w->bound_until) {
		int64_t stuck = SCENE_WIDTH - c->ncommit;
		bound[(c->ncommit ? w->bound_cause : cause) == CPI_L1D] =
		    stuck < charge ? stuck : charge;
		return 0;
	}
	if (cause == CPI_L1D)
		return charge;
	int64_t stuck = SCENE_WIDTH - c->ncommit;
	return w->miss_cause == CPI_L1D ? take_delayed(w, c, stuck < charge ? stuck : charge) : 0;
}

/* Returns whether an unresolved mispredicted branch is in the window. */
static bool past_branch(const struct pipe *p)
{
	for (size_t i = 0; i < p->ndispatched; i++)
		if (!p->flight[i].wrong && p->flight[i].step->mispredict && !p->flight[i].done)
			return true;
	return false;
}

/* The right path enters the window: splits what the branch before it lost between branch and long
 * misses. */
static void settle(struct pipe *p, int64_t lost)
{
	struct table *t = &p->table;
	const int64_t all = lost + t->open_full;
	int64_t cost = all;
	if (t->open_blocked || !(t->open_long || t->open_full)) {
		t->typical += cost - t->typical / 64;
	} else {
		cost = (lost > t->open_long ? lost - t->open_long : 0) + SCENE_WIDTH * 9;
		cost = cost > t->typical / 64 ? cost : t->typical / 64;
		cost = cost < all ? cost : all;
	}
	p->out->table[CPI_BMISP] += cost;
	p->out->table[CPI_L2D] += lost - cost;
}

/* Updates the table for one cycle. */
static void table_cycle(struct pipe *p, const struct rec_cycle *c)
{
	struct table *t = &p->table;
	const bool full =
	    c->flags & RC_ROB_FULL || (!c->ndispatch && c->dispatch_stall == DISPATCH_ROB);
	const bool starved = !full && c->dispatch_stall == DISPATCH_EMPTY;
	const bool blocked =
	    c->dispatch_stall == DISPATCH_ROB; /* what does not enter is the head's */
	const enum cpi_component tag = t->pipe[0];
	const int64_t empty = SCENE_WIDTH - c->ndispatch;
	bool miss = false;
	if (starved && !c->ndispatch) {
		miss = tag != CPI_BASE;
		if (miss)
			t->next[tag] += SCENE_WIDTH + t->partial;
		t->partial = 0;
		t->bubble = tag;
	}
	bool refill = false; /* the right path's first instructions enter beside empty slots */
	if (c->ndispatch && starved && !(c->flags & RC_DISPATCH_WRONG)) {
		struct row *last = t->count ? &t->rows[t->count - 1] : NULL;
		if (t->bubble != CPI_BASE && last && last->dispatch == c->cycle) {
			last->local[t->bubble] += empty;
			last->penalty -= empty;
		} else if (t->bubble != CPI_BASE)
			t->next[t->bubble] += empty;
		else
			refill = true;
		t->partial = t->bubble != CPI_BASE ? 0 : empty;
	} else if (c->ndispatch || full) {
		t->partial = 0;
	}
	if (c->ndispatch)
		t->bubble = CPI_BASE;
	const bool wrong = c->ndispatch && c->flags & RC_DISPATCH_WRONG;
	int64_t bound[2], full_long, charge = 0;
	if (wrong)
		charge = full || blocked ? c->ndispatch : SCENE_WIDTH;
	else if (!full && !c->ndispatch)
		charge = miss && !past_branch(p) ? 0 : SCENE_WIDTH;
	else if (refill)
		charge = empty;
	const int64_t by_short = table_window(p, c, full, charge, bound, &full_long);
	const int64_t under_long = c->flags & RC_HEAD_LONG_DMISS && !c->ncommit ? charge : 0;
	for (size_t i = 0; i < t->count; i++) {
		struct row *row = &t->rows[i];
		if (row->resolved || row->dispatch == c->cycle)
			continue;
		row->penalty += full || (blocked && c->ndispatch) ? c->ndispatch : SCENE_WIDTH;
		row->under_short += by_short;
		row->under_long += under_long;
		row->full_long += full_long;
		row->bound[0] += bound[0];
		row->bound[1] += bound[1];
	}
	for (size_t i = 0; full && i < t->count; i++)
		if (t->rows[i].dispatch == c->cycle)
			t->rows[i].penalty = 0;
	if (t->open) {
		const bool entered = c->ndispatch && !(c->flags & RC_DISPATCH_WRONG);
		if (!entered && !full && !miss)
			t->open_penalty += SCENE_WIDTH;
		t->open_bound[0] += bound[0];
		t->open_bound[1] += bound[1];
		t->open_full += full_long;
		if (entered) {
			t->open_penalty += refill ? empty : 0;
			settle(p, t->open_penalty - t->open_short - t->open_bound[0] -
				      t->open_bound[1]);
			p->out->table[CPI_L1D] += t->open_short + t->open_bound[1];
			p->out->table[CPI_LONG] += t->open_bound[0];
			t->open = false;
		}
	}
}

static uint16_t head_flags(const struct pipe *p)
{
	if (!p->ndispatched)
		return 0;
	const struct flight *h = &p->flight[0];
	if (h->done)
		return RC_HEAD_DONE;
	if (h->wrong || p->now < h->issue + L1D_HIT)
		return 0;
	return h->step->dlevel == LEVEL_MEM  ? RC_HEAD_LONG_DMISS
	       : h->step->dlevel == LEVEL_L2 ? RC_HEAD_L1MISS
					     : 0;
}

void scene_run(struct scene *s, const struct step *steps, size_t count, unsigned rob)
{
	struct pipe *p = x_calloc(1, sizeof(*p));
	*s = (struct scene){ .meta = { .fetch_width = SCENE_WIDTH,
				       .decode_width = SCENE_WIDTH,
				       .dispatch_width = SCENE_WIDTH,
				       .issue_width = SCENE_WIDTH,
				       .commit_width = SCENE_WIDTH,
				       .rob_entries = rob,
				       .frontend_depth = SCENE_DEPTH,
				       .l1d_latency = L1D_HIT,
				       .l2_latency = L1D_HIT + BELOW,
				       .llc_latency = L1D_HIT + BELOW,
				       .mem_latency = L1D_HIT + 250,
				       .itlb_penalty = 30,
				       .dtlb_penalty = 30 } };
	p->out = s;
	p->steps = steps;
	p->count = count;
	p->rob = rob;
	p->now = 1;
	while (p->next < count || p->nflight) {
		assert(p->now < 10000000);
		if (!(s->ncycles & (s->ncycles - 1)))
			s->cycles = x_realloc(s->cycles, (2 * s->ncycles + 1) * sizeof(*s->cycles));
		struct rec_cycle *c = &s->cycles[s->ncycles++];
		unsigned nfetch;
		bool wrong;
		*c = (struct rec_cycle){ .cycle = p->now, .repeat = 1 };
		c->rob_used = (uint16_t)p->ndispatched;
		c->head_po = p->ndispatched ? p->flight[0].po : 0;
		c->head_pc = c->head_po ? 0x1000 + 4 * c->head_po : 0;
		c->flags = (!p->ndispatched ? RC_ROB_EMPTY : 0) |
			   (p->ndispatched >= rob ? RC_ROB_FULL : 0) |
			   (p->wrong ? RC_WRONG_PATH : 0);
		p->flushed = false;
		/* a branch that resolves now has waited for a miss if one blocks the head now */
		unsigned head = 0;
		if (p->ndispatched && p->flight[0].complete != p->now)
			head = head_flags(p);
		complete(p, head);
		c->flags |= head_flags(p);
		c->ncommit = (uint8_t)commit_steps(p);
		uint8_t stall;
		c->ndispatch = (uint8_t)dispatch(p, &stall, &wrong);
		c->dispatch_stall = stall;
		c->flags |= wrong ? RC_DISPATCH_WRONG : 0;
		bool fetch_wrong_path = c->flags & RC_WRONG_PATH;
		c->fetch_stall = (uint8_t)fetch(p, &nfetch);
		c->nfetch = (uint8_t)nfetch;
		c->flags |= p->flushed ? RC_FLUSH : 0;
		c->flush_cause = p->table.open ? FLUSH_MISPREDICT : FLUSH_NONE;
		c->flush_po = p->flush_po;
		table_cycle(p, c);
		memmove(p->table.pipe, p->table.pipe + 1, SCENE_DEPTH - 1);
		/* a redirect leaves no bubble for the wrong path that it has just discarded */
		p->table.pipe[SCENE_DEPTH - 1] =
		    (uint8_t)(fetch_wrong_path && p->flushed
				  ? CPI_BASE
				  : cause_now(&p->table, c->fetch_stall, c->flags & RC_WRONG_PATH));
		p->now++;
	}
	free(p);
}

void scene_free(struct scene *s)
{
	free(s->cycles);
	free(s->insts);
}

struct cpistack *scene_analyse(const struct scene *s)
{
	struct cpistack *a = x_calloc(1, sizeof(*a));
	struct analysis_options o = { .period = 0 };
	struct err e = { "" };
	bool ok = cpistack_analysis.start(a, &s->meta, &o, &e) &&
		  cpistack_analysis.batch(a, s->insts, s->ninsts, s->cycles, s->ncycles, &e) &&
		  cpistack_analysis.finish(a, NULL, &e);
	if (!ok)
		die("%s", e.text);
	return a;
}

void scene_done(struct cpistack *a)
{
	cpistack_analysis.free(a);
	free(a);
}

/* SPDX-License-Identifier: MIT */
/*
 * Which causes can, and which cannot, explain the dynamic stalls of an instruction (dcpi1997 section
 * 6.3): guilty until proven innocent. Every cause is possible; a rule clears it, or it stays, with an
 * upper bound of the cycles that it can explain over all executions, and the addresses of instructions
 * that may be responsible.
 *
 *   cause           stays possible only if                                    bound per execution
 *   i, I            the line (page) is another one than that of some          longest fill (walk);
 *                   instruction that can come right before                    imiss (itlb) samples
 *   d, D            it reads or overwrites a register that a load may have    longest fill (walk);
 *                   written last and that nothing has waited for; or it is    dmiss (dtlb) samples;
 *                   a load, and loads before it can fill the miss registers   D: new pages (strides.c)
 *   p               head of a block after a conditional branch, an indirect   mispredict loop × those
 *                   jump or a return                                          edges; branchmp samples
 *   t               head of a block after a taken transfer                    btb_bubble × those edges
 *   w               a store, and stores before it can have filled the write   sending one line
 *                   buffer; fence or atomic: any store before it              sending all lines
 *   y               serialising, or right after such an instruction           what can be in flight
 *   m, f            needs the multiplier (a divider) or a result of it, and   time left
 *                   an earlier block may have left it busy
 *   o               a load that can overlap a narrower queued store, or       longest fill: what holds
 *                   needs the result of such a load                           up the store's commit
 *   k               right after a system call                                 all of it
 *   x               needs a result that a preceding block computes, and M     latency left
 *                   does not know (no M per edge, or another procedure)
 *
 * Edges below calc_options.ignore_edges of their block's frequency are ignored. carried.c says what the
 * paths to a block leave behind. Bounds from samples of an event count those that can have been
 * delivered for this instruction (delivery is late, section 4.1.2), with what chance can add. A cause
 * whose bound is below LEAST_SHARE of the stall is cleared. Of the others, those that cannot be the main cause, whatever
 * the rest take, count in the summary and are no letters.
 */
#include "calc/calc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calc/carried.h"
#include "calc/strides.h"
#include "util/array.h"

#define LEAST_SHARE 0.01
#define CHANCE	    2.0	  /* deviations by which a stall can be shorter than it looks */
#define NEARLY	    0.999 /* all but rounding */
#define MATTERS	    0.02  /* share of its least time that a risk can add to an instruction */
#define PATHS	    16	  /* blocks before it in which loads are looked for */
#define SKID	    8	  /* instructions before it at which the sample of a miss of code can be */

/* Of all instructions of a procedure, in their order. */
struct culprits {
	struct calc_culprit *list;
	size_t n, room;
};

/* One instruction under suspicion. */
struct suspect {
	const struct calc_program *p;
	struct calc_proc *proc;
	const struct carried_machine *m;
	const struct carried_walk *w; /* just before it issues */
	const struct carried_op *ops; /* of the procedure */
	const struct carried_op *op;
	uint32_t block, inst;
	bool head;	  /* first of its block */
	double frequency; /* executions */
	double stall;	  /* cycles over all executions */
	struct culprits *found;
	struct strides *strides;
	unsigned n;
	struct calc_culprit list[CAUSE_COUNT + 1];
};

static uint64_t pc_of(const struct suspect *s, uint32_t inst)
{
	return s->proc->graph->insts[inst].pc;
}

static void add_guilty(const struct suspect *s, struct calc_culprit *c, uint32_t inst)
{
	if (inst == CARRIED_OUTSIDE || inst >= s->proc->graph->ninsts)
		return;
	for (unsigned k = 0; k < c->nguilty; k++)
		if (c->guilty[k] == inst)
			return;
	if (c->nguilty < CALC_GUILTY)
		c->guilty[c->nguilty++] = inst;
}

/* The cause stays, with so many cycles over all executions at most, unless these are too few to matter:
 * then what is returned is overwritten by the next. */
static struct calc_culprit *accuse(struct suspect *s, enum cause cause, double most)
{
	struct calc_culprit *c = &s->list[s->n];

	*c = (struct calc_culprit){ .cause = (uint8_t)cause, .most = most };
	if (most > 0 && most >= LEAST_SHARE * s->stall)
		s->n++;
	return c;
}

/* ---- samples of events ---- */

/* How many events so many samples can stand for, chance included: about 97% of a Poisson. */
static double events(const struct suspect *s, enum sampled_event event, double samples)
{
	const struct calc_sampling *o = &s->p->sampling;
	const double running = o->running[event] > 0 ? o->running[event] : 1;

	return (samples + 2 * sqrt(samples) + 3) * (double)o->period[event] / running;
}

static bool sampled(const struct suspect *s, enum sampled_event event)
{
	return s->p->sampling.period[event] != 0;
}

static double samples_of(const struct suspect *s, enum sampled_event event, uint32_t from,
			 uint32_t to)
{
	double n = 0;

	for (uint32_t i = from; i < to; i++)
		n += s->proc->insts[i].count[event];
	return n;
}

/* Samples of an event whose instruction was at most `back` before this one, on any path. */
static double samples_before(const struct suspect *s, enum sampled_event event, uint32_t back)
{
	const struct cfg *g = s->proc->graph;
	const struct cfg_block *b = &g->blocks[s->block];
	const uint32_t first = s->inst - b->first > back ? s->inst - back : b->first;
	double n = samples_of(s, event, first, s->inst + 1);

	if (first > b->first)
		return n;
	back -= s->inst - b->first;
	for (uint32_t k = 0; k < b->nin; k++) {
		const uint32_t from = g->edges[g->in[b->first_in + k]].from;

		if (from == CFG_OUTSIDE || from == s->block ||
		    !carried_counts(s->p, s->proc, g->in[b->first_in + k]))
			continue;
		const struct cfg_block *o = &g->blocks[from];
		n += samples_of(s, event, o->first + (o->count > back ? o->count - back : 0),
				o->first + o->count);
	}
	return n;
}

/* ---- what comes right before ---- */

/* An edge into the suspect's block that counts. */
struct before {
	uint32_t last;	/* the last instruction of the block that it comes from; CARRIED_OUTSIDE */
	bool other;	/* another procedure came right before: entry, or after a call */
	bool taken;	/* the transfer was taken */
	bool predicted; /* its direction or target can have been predicted wrongly */
	double frequency; /* executions */
};

static struct before before_of(const struct suspect *s, uint32_t e)
{
	const struct cfg *g = s->proc->graph;
	const struct cfg_edge *edge = &g->edges[e];
	struct before r = { .last = CARRIED_OUTSIDE, .frequency = s->proc->edges[e].value };

	if (isnan(r.frequency) || r.frequency > s->frequency)
		r.frequency = s->frequency;
	if (edge->from == CFG_OUTSIDE) {
		r.other = r.taken = r.predicted = true;
		return r;
	}
	const struct cfg_block *b = &g->blocks[edge->from];
	const struct cfg_inst *last;

	if (!b->count) {
		r.other = r.taken = r.predicted = true;
		return r;
	}
	r.last = b->first + b->count - 1;
	last = &g->insts[r.last];
	r.other = b->flags & CFG_BLOCK_CALLS;
	r.taken = r.other || edge->kind != CFG_FALL;
	r.predicted = r.other || last->flow == IMAGE_BRANCH ||
		      (last->flow == IMAGE_JUMP && !last->direct) || last->flow == IMAGE_RETURN;
	return r;
}

/* Calls f for each edge that counts into the head of a block; what other procedures did only if
 * calc_options.cross does not clear it. */
static void each_before(struct suspect *s,
			void (*f)(struct suspect *s, const struct before *b, void *ctx), void *ctx)
{
	const struct cfg *g = s->proc->graph;
	const struct cfg_block *b = &g->blocks[s->block];
	bool entered = false;

	for (uint32_t k = 0; k < b->nin; k++) {
		const uint32_t e = g->in[b->first_in + k];
		const struct before r = before_of(s, e);

		entered |= g->edges[e].from == CFG_OUTSIDE;
		if (carried_counts(s->p, s->proc, e) &&
		    !(r.other && s->p->options.cross == CROSS_OPTIMISTIC))
			f(s, &r, ctx);
	}
	/* A graph need not have edges that enter, and one that lacks edges may be entered anywhere
	 * that a jump can reach. */
	if (((s->block == g->entry && !entered) || b->flags & CFG_BLOCK_MAYBE) &&
	    s->p->options.cross != CROSS_OPTIMISTIC)
		f(s,
		  &(struct before){ .last = CARRIED_OUTSIDE,
				    .other = true,
				    .taken = true,
				    .predicted = true,
				    .frequency = s->frequency },
		  ctx);
}

/* ---- the front end: i, I, p, t, k ---- */

struct code_place {
	uint64_t mask; /* of an address: its line or page */
	bool elsewhere,
	    other; /* than that of what came right before; that is another procedure's */
};

static void look_elsewhere(struct suspect *s, const struct before *b, void *ctx)
{
	struct code_place *c = ctx;

	c->other |= b->other;
	if (b->other || b->last == CARRIED_OUTSIDE ||
	    ((pc_of(s, b->last) ^ pc_of(s, s->inst)) & c->mask))
		c->elsewhere = true;
}

static void suspect_code(struct suspect *s, enum cause cause, enum sampled_event event,
			 uint64_t unit_bytes, double longest)
{
	struct code_place c = { .mask = ~(unit_bytes - 1) };
	double most = s->frequency * longest;

	if (s->head)
		each_before(s, look_elsewhere, &c);
	else
		c.elsewhere = (pc_of(s, s->inst - 1) ^ pc_of(s, s->inst)) & c.mask;
	if (!c.elsewhere)
		return;
	/* A miss of the TLB is counted long before its walk ends: if what came right before is in another procedure,
	 * its sample may be there. */
	if (sampled(s, event) && !(c.other && cause == CAUSE_ITLB))
		most = fmin(most, events(s, event, samples_before(s, event, SKID)) * longest);
	accuse(s, cause, most);
}

struct transfers {
	bool (*is)(const struct before *b);
	double frequency;
	uint32_t guilty[CALC_GUILTY];
	unsigned n;
};

static bool is_predicted(const struct before *b)
{
	return b->predicted;
}

static bool is_taken(const struct before *b)
{
	return b->taken;
}

static void count_transfer(struct suspect *s, const struct before *b, void *ctx)
{
	struct transfers *t = ctx;

	if (!t->is(b))
		return;
	t->frequency += b->frequency;
	if (t->n < CALC_GUILTY)
		t->guilty[t->n++] = b->last;
}

static void accuse_transfers(struct suspect *s, enum cause cause, const struct transfers *t,
			     double most)
{
	struct calc_culprit *c = accuse(s, cause, most);

	for (unsigned k = 0; k < t->n; k++)
		add_guilty(s, c, t->guilty[k]);
}

static void suspect_transfers(struct suspect *s)
{
	const struct machine *m = s->m->m;
	/* The branch resolves, fetch is redirected, and the front end fills up again. */
	const double loop = units_of_class(m, CLASS_BRANCH).latency + m->fetch_redirect +
			    m->fetch_depth + m->decode_depth + 1;
	struct transfers p = { .is = is_predicted }, t = { .is = is_taken };
	double most;

	if (!s->head)
		return;
	each_before(s, count_transfer, &p);
	most = loop * fmin(p.frequency, s->frequency);
	if (sampled(s, SAMPLED_BRANCHMP))
		most = fmin(most, loop * events(s, SAMPLED_BRANCHMP,
						samples_before(s, SAMPLED_BRANCHMP, SKID)));
	accuse_transfers(s, CAUSE_BRANCH, &p, most);
	each_before(s, count_transfer, &t);
	accuse_transfers(s, CAUSE_BUBBLE, &t,
			 m->fetch_btb_bubble * fmin(t.frequency, s->frequency));
}

/* ---- right after an instruction of some kind: k, y ---- */

struct predecessor {
	bool (*is)(const struct carried_op *op);
	uint32_t found;
	bool any;
};

static bool enters_kernel(const struct carried_op *op)
{
	return op->cls == CLASS_SYSTEM;
}

static bool serialises(const struct carried_op *op)
{
	return op->serial;
}

static void look_before(struct suspect *s, const struct before *b, void *ctx)
{
	struct predecessor *x = ctx;

	if (b->last == CARRIED_OUTSIDE || b->other)
		return;
	if (x->is(&s->ops[b->last])) {
		x->any = true;
		x->found = b->last;
	}
}

static struct predecessor right_after(struct suspect *s, bool (*is)(const struct carried_op *op))
{
	struct predecessor x = { .is = is, .found = CARRIED_OUTSIDE };

	if (s->head)
		each_before(s, look_before, &x);
	else
		look_before(s, &(struct before){ .last = s->inst - 1 }, &x);
	return x;
}

static void suspect_kernel(struct suspect *s)
{
	const struct predecessor x = right_after(s, enters_kernel);

	if (x.any)
		add_guilty(s, accuse(s, CAUSE_KERNEL, s->stall), x.found);
}

static void suspect_serial(struct suspect *s)
{
	const struct predecessor x = right_after(s, serialises);
	const struct carried_walk *w = s->w;
	const double memory = s->m->fill + s->m->walk;
	double most = s->m->latency;
	struct calc_culprit *c;

	if (!s->op->serial && !x.any)
		return;
	if (x.any) {
		/* It commits when it is done; an atomic's line may have to come first. */
		most += s->ops[x.found].load ? memory : 0;
	}
	if (s->op->serial) {
		most += w->s.loaded ? memory : 0;
		most += s->op->drains ? w->s.lines * s->m->line : 0;
	}
	c = accuse(s, CAUSE_SYNC, s->frequency * most);
	if (s->op->serial)
		add_guilty(s, c, s->inst);
	add_guilty(s, c, x.found);
}

/* ---- data: d, D, o, w ---- */

/* Adds the loads that may have written register r last: in this block, or at the ends of those before. */
static void add_loads(const struct suspect *s, struct calc_culprit *c, unsigned r)
{
	const struct cfg *g = s->proc->graph;
	const struct cfg_block *b = &g->blocks[s->block];

	add_guilty(s, c, s->w->s.by[r]);
	if (s->w->here >> r & 1)
		return;
	for (uint32_t k = 0; k < b->nin && c->nguilty < CALC_GUILTY; k++) {
		const uint32_t e = g->in[b->first_in + k], from = g->edges[e].from;

		if (from == CFG_OUTSIDE || !carried_counts(s->p, s->proc, e))
			continue;
		const struct cfg_block *o = &g->blocks[from];
		for (uint32_t i = o->first + o->count; i-- > o->first;) {
			if (s->ops[i].operands.dst != r)
				continue;
			if (s->ops[i].load)
				add_guilty(s, c, i);
			break;
		}
	}
}

/*
 * How many events the samples between the loads and this instruction stand for: that is where they are
 * delivered. INFINITY: a load is further away than the block before.
 */
static double load_events(const struct suspect *s, enum sampled_event event, uint64_t registers)
{
	const struct cfg *g = s->proc->graph;
	const struct cfg_block *b = &g->blocks[s->block];
	uint32_t first = s->inst, far = 0;

	for (uint64_t rest = registers; rest; rest &= rest - 1) {
		const unsigned r = (unsigned)__builtin_ctzll(rest);
		const uint32_t by = s->w->s.by[r];

		if (!(s->w->here >> r & 1))
			return INFINITY;
		if (by < first && by >= b->first)
			first = by;
		far |= by < b->first;
	}
	return far ? INFINITY : events(s, event, samples_of(s, event, first, s->inst + 1));
}

/* Adds how often the loads that may have written register r last can have come to another page; INFINITY: not all of
 * these loads are known. */
static double new_pages(const struct suspect *s, unsigned r)
{
	const struct cfg *g = s->proc->graph;
	uint32_t blocks[PATHS] = { s->block }, n = 1;
	double sum = 0;

	if (s->w->here >> r & 1)
		return strides_new_pages(s->strides, s->block, s->w->s.by[r]);
	/* Backwards from the block, until something writes it. */
	for (uint32_t i = 0; i < n && sum < INFINITY; i++) {
		const struct cfg_block *b = &g->blocks[blocks[i]];

		if (b->flags & CFG_BLOCK_MAYBE || (blocks[i] == g->entry))
			return INFINITY;
		for (uint32_t k = 0; k < b->nin; k++) {
			const uint32_t e = g->in[b->first_in + k], from = g->edges[e].from;
			const struct cfg_block *o = &g->blocks[from];
			uint32_t at, known = 0;

			if (!carried_counts(s->p, s->proc, e))
				continue;
			if (from == CFG_OUTSIDE || o->flags & CFG_BLOCK_CALLS)
				return INFINITY;
			for (at = o->first + o->count; at > o->first; at--)
				if (s->ops[at - 1].operands.dst == r)
					break;
			if (at > o->first) {
				if (s->ops[at - 1].load)
					sum += strides_new_pages(s->strides, from, at - 1);
				continue;
			}
			while (known < n && blocks[known] != from)
				known++;
			if (known == PATHS)
				return INFINITY;
			if (known == n)
				blocks[n++] = from;
		}
	}
	return sum;
}

/* The cycles of all walks by loads that are waited for: those in loops come to a new page once in a while. */
static double loop_walks(const struct suspect *s, uint64_t registers)
{
	double sum = 0;

	for (uint64_t rest = registers; rest && sum < INFINITY; rest &= rest - 1)
		sum += new_pages(s, (unsigned)__builtin_ctzll(rest));
	return sum * s->m->walk;
}

static void suspect_loads(struct suspect *s, enum cause cause, enum sampled_event event,
			  double longest)
{
	const uint64_t dst = 1ull << s->op->operands.dst;
	const uint64_t waits = (s->w->s.loaded & s->op->touches) | (s->w->s.stale & dst);
	const unsigned mshrs = s->m->m->mem.cache[MEM_L1D].mshrs;
	const bool full = s->op->load && (unsigned)__builtin_popcountll(s->w->s.loaded) >= mshrs;
	double most = s->frequency * longest;

	if (!waits && !full)
		return;
	if (sampled(s, event))
		most = fmin(most, load_events(s, event, full ? s->w->s.loaded : waits) * longest);
	if (cause == CAUSE_DTLB && !full)
		most = fmin(most, loop_walks(s, waits));
	struct calc_culprit *c = accuse(s, cause, most);
	for (uint64_t rest = waits ? waits : s->w->s.loaded; rest; rest &= rest - 1)
		add_loads(s, c, (unsigned)__builtin_ctzll(rest));
}

static void suspect_overlap(struct suspect *s)
{
	uint32_t by = CARRIED_OUTSIDE;
	const bool itself = s->op->load && carried_overlaps(s->w, s->op, &by);
	const uint64_t waits = s->w->s.overlapped & s->op->touches;

	if (!itself && !waits)
		return;
	/* Until the last store has left the queue; what needs the load's result waits as long as a hit takes besides. */
	const double left = carried_queued(s->w),
		     buffer = s->w->s.lines > (float)s->m->entries - 1 ? s->m->line : 0;
	const double most = fmin(s->m->fill, left + s->m->m->mem.cache[MEM_L1D].latency + buffer);
	struct calc_culprit *c = accuse(s, CAUSE_STORE, s->frequency * most);
	add_guilty(s, c, itself ? by : s->w->s.store_by);
}

static void suspect_write(struct suspect *s)
{
	const float lines = s->w->s.lines;
	double most;

	if (!s->m->entries)
		return;
	if (s->op->drains && lines > 0)
		most = ceil(lines) * s->m->line;
	else if (s->op->store && lines > (float)s->m->entries - 1)
		most = s->m->line;
	else
		return;
	add_guilty(s, accuse(s, CAUSE_WRITE, s->frequency * most), s->w->s.store_by);
}

/* ---- units and results of earlier blocks: m, f, x ---- */

static bool is_divider(unsigned unit)
{
	return unit == UNIT_DIV || unit == UNIT_FDIV || unit == UNIT_FSQRT;
}

static void suspect_unit(struct suspect *s, enum cause cause)
{
	const bool divider = cause == CAUSE_DIVIDE;
	const struct carried_walk *w = s->w;
	const unsigned own = s->op->use.unit;
	double left = 0;
	uint32_t by = CARRIED_OUTSIDE;

	if ((divider ? is_divider(own) : own == UNIT_MUL) && !(w->units_here >> own & 1)) {
		left = w->unit_until[own] - w->now;
		by = w->s.unit_by[own];
	}
	for (uint64_t rest = s->op->touches & ~w->here & w->s.live; rest; rest &= rest - 1) {
		const unsigned r = (unsigned)__builtin_ctzll(rest);

		if (w->s.by[r] == CARRIED_OUTSIDE || w->until[r] - w->now <= left)
			continue;
		const unsigned unit = s->ops[w->s.by[r]].use.unit;
		if (divider ? is_divider(unit) : unit == UNIT_MUL) {
			left = w->until[r] - w->now;
			by = w->s.by[r];
		}
	}
	if (left > 0)
		add_guilty(s, accuse(s, cause, s->frequency * left), by);
}

static void suspect_before(struct suspect *s)
{
	const struct carried_walk *w = s->w;
	double left = 0;
	uint32_t by = CARRIED_OUTSIDE;

	for (uint64_t rest = s->op->touches & ~w->here & w->s.live; rest; rest &= rest - 1) {
		const unsigned r = (unsigned)__builtin_ctzll(rest);

		/* M per edge, after the first round, knows what this procedure's blocks left. */
		if (w->s.by[r] != CARRIED_OUTSIDE && s->p->options.rounds != 1)
			continue;
		if (w->until[r] - w->now > left) {
			left = w->until[r] - w->now;
			by = w->s.by[r];
		}
	}
	if (left > 0)
		add_guilty(s, accuse(s, CAUSE_BEFORE, s->frequency * left), by);
}

static void try_all(struct suspect *s)
{
	const struct memsys_config *mem = &s->m->m->mem;

	suspect_code(s, CAUSE_ICACHE, SAMPLED_IMISS, machine_line_bytes(mem, MEM_L1I),
		     s->m->fetch_fill);
	if (mem->itlb.entries)
		suspect_code(s, CAUSE_ITLB, SAMPLED_ITLB, mem->page_bytes, s->m->walk);
	suspect_loads(s, CAUSE_DCACHE, SAMPLED_DMISS, s->m->fill);
	if (mem->dtlb.entries)
		suspect_loads(s, CAUSE_DTLB, SAMPLED_DTLB, s->m->walk);
	suspect_write(s);
	suspect_serial(s);
	suspect_transfers(s);
	suspect_unit(s, CAUSE_MULTIPLY);
	suspect_unit(s, CAUSE_DIVIDE);
	suspect_overlap(s);
	suspect_kernel(s);
	suspect_before(s);
}

/* ---- letters ---- */

/*
 * Whether a cause can be the main one: if no other takes more than its bound, they must still explain all that can
 * be explained of the stall, as short as chance lets it be.
 */
static bool can_be_main(const struct suspect *s, const struct calc_culprit *c, double explained)
{
	double sum = 0;

	for (unsigned k = 0; k < s->n; k++)
		sum += s->list[k].most < c->most ? s->list[k].most : c->most;
	return sum >= explained;
}

/* Those that can be the main cause come first. Returns their number. */
static unsigned put_main_first(struct suspect *s)
{
	if (!s->n)
		return 0;
	const double period = (double)s->p->sampling.period[SAMPLED_CYCLES];
	const double samples = s->proc->insts[s->inst].count[SAMPLED_CYCLES];
	const double least = fmax(s->stall - CHANCE * sqrt(samples) * period, s->stall / 2);
	struct calc_culprit sorted[CAUSE_COUNT + 1] = { { 0 } };
	double all = 0;
	unsigned n = 0, main;

	for (unsigned k = 0; k < s->n; k++)
		all += s->list[k].most;
	for (unsigned k = 0; k < s->n; k++)
		if (can_be_main(s, &s->list[k], fmin(least, all * NEARLY)))
			sorted[n++] = s->list[k];
	main = n;
	for (unsigned k = 0; k < s->n; k++)
		if (!can_be_main(s, &s->list[k], fmin(least, all * NEARLY)))
			sorted[n++] = s->list[k];
	memcpy(s->list, sorted, n * sizeof(*sorted));
	return main;
}

static void put_culprits(struct suspect *s)
{
	struct calc_inst *i = &s->proc->insts[s->inst];

	if (s->frequency > 0 && s->stall > 0)
		try_all(s);
	const unsigned main = put_main_first(s);

	i->nculprits = main & 15;
	i->nminor = (s->n - main) & 15;
	if (!s->n)
		return;
	ARRAY_ROOM(s->found->list, s->found->room, s->found->n + s->n);
	memcpy(s->found->list + s->found->n, s->list, s->n * sizeof(*s->list));
	s->found->n += s->n;
}

/* Calls f for each instruction that was executed, with the cycles of its stall. left: see
 * carried_results(). */
static void each_suspect(struct calc_program *p, struct calc_proc *proc,
			 void (*f)(struct suspect *s), double *left, struct culprits *found)
{
	const struct cfg *g = proc->graph;
	const double period = (double)p->sampling.period[SAMPLED_CYCLES];
	const struct carried_machine m = carried_machine(p);
	struct carried_op *ops = carried_ops(p->machine, proc);
	struct carried *states = carried_all(p, proc, &m, ops);
	struct strides strides = strides_begin(p->machine, proc, ops);
	struct carried_walk w;
	struct suspect s;

	s.strides = &strides;
	s.p = p;
	s.proc = proc;
	s.m = &m;
	s.w = &w;
	s.ops = ops;
	s.found = found;
	for (uint32_t b = 0; b < g->nblocks; b++) {
		carried_begin(&w, &m, proc, &states[b]);
		for (uint32_t i = g->blocks[b].first; i < g->blocks[b].first + g->blocks[b].count;
		     i++) {
			carried_wait(&w, i);
			s.op = &ops[i];
			s.block = b;
			s.inst = i;
			s.n = 0;
			s.head = i == g->blocks[b].first;
			s.frequency = proc->blocks[b].value;
			s.stall = proc->insts[i].count[SAMPLED_CYCLES] * period -
				  proc->insts[i].m * s.frequency;
			f(&s);
			carried_issue(&w, i, &ops[i]);
			if (g->insts[i].flow == IMAGE_RETURN)
				carried_results(&w, left);
		}
	}
	free(states);
	free(ops);
}

/* Whatever its samples say: all that can add MATTERS of the least time to it. */
static void put_risks(struct suspect *s)
{
	struct calc_inst *i = &s->proc->insts[s->inst];

	if (!(s->frequency > 0))
		s->frequency = 1;
	s->stall = MATTERS / LEAST_SHARE * s->frequency * fmax(i->m, 1);
	try_all(s);
	i->risks = CALC_RISKS_KNOWN;
	for (unsigned k = 0; k < s->n; k++)
		i->risks |= (uint16_t)(1u << s->list[k].cause);
}

void calc_culprits(struct calc_program *p, struct calc_proc *proc)
{
	double left[2] = { 0 };
	const struct cfg *g = proc->graph;
	struct culprits found = { 0 };
	uint32_t at = 0;

	each_suspect(p, proc, put_culprits, left, &found);
	free(proc->culprits);
	proc->culprits = found.n ? x_realloc(found.list, found.n * sizeof(*found.list)) : NULL;
	for (uint32_t b = 0; b < g->nblocks; b++)
		for (uint32_t i = g->blocks[b].first; i < g->blocks[b].first + g->blocks[b].count;
		     i++) {
			struct calc_inst *inst = &proc->insts[i];
			const unsigned n = inst->nculprits + inst->nminor;

			inst->first_culprit = at;
			at += n;
		}
}

void calc_risks(struct calc_program *p, struct calc_proc *proc, double *left)
{
	/* What other procedures have left behind is seldom still under way. */
	const enum cross_procedure asked = p->options.cross;

	p->options.cross = CROSS_OPTIMISTIC;
	each_suspect(p, proc, put_risks, left, NULL);
	p->options.cross = asked;
}

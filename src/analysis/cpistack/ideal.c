/* SPDX-License-Identifier: MIT */
/*
 * The ideal clock, as hardware could keep it: a time stamp for each register, for each entry of the
 * ROB and for each unit, moved on as instructions commit. An instruction
 *
 *	dispatches	after the one before, at most `width` in a cycle, and when the one that is as
 *			many before it as the ROB has entries has committed
 *	begins		a cycle later, when its operands are there and a unit is free; all data is in
 *			the L1
 *	commits		after the one before, at most `commit_width` in a cycle
 *
 * All of these hold in a machine in which nothing misses, so it is no faster. It may be slower: it also
 * has issue queues, a front end that takes one branch at a time, and stores that loads wait for.
 *
 * Units are taken by the time that operands are there, not in program order: an operation begins in the
 * first gap that is long enough. Which of several equal units has it is not kept, so that this is a lower
 * bound as well. What begins more than IDEAL_TABLE cycles after it dispatches waits for none.
 */
#include "analysis/cpistack/ideal.h"

#include <stdlib.h>
#include <string.h>

#include "isa/isa.h"
#include "util/util.h"

#define LATENCIES (IDEAL_DL1 | IDEAL_SHALU | IDEAL_LGALU | IDEAL_WIN | IDEAL_BW)

bool ideal_keeps(const struct machine *m, unsigned width, unsigned kind)
{
	return m->unit[kind].count &&
	       (m->unit[kind].count < width || !units_pipelined(m, (enum unit_kind)kind));
}

void ideal_init(struct ideal_clocks *s, const struct trace_meta *meta,
		const struct machine *machine)
{
	const uint32_t last = meta->llc_latency ? meta->llc_latency : meta->l2_latency;
	uint64_t size = 64;

	memset(s, 0, sizeof(*s));
	/* operations have other latencies there */
	if (!machine || machine->ideal_all & LATENCIES || machine->nideal_pcs || meta->in_order ||
	    !meta->rob_entries || !meta->commit_width ||
	    machine->unit[UNIT_ALU].count == MACHINE_UNLIMITED)
		return;
	s->machine = machine;
	s->width = meta->dispatch_width;
	s->commit_width = meta->commit_width;
	s->rob = meta->rob_entries;
	s->depth = meta->frontend_depth;
	s->refill = (uint64_t)meta->mispredict_loop * s->width;
	s->l2 = meta->l2_latency > meta->l1d_latency ? meta->l2_latency - meta->l1d_latency : 0;
	s->last = last > meta->l1d_latency ? last - meta->l1d_latency : 0;
	while (size <= s->rob)
		size *= 2;
	s->mask = size - 1;
	s->known = x_calloc(IDEAL_KNOWN, sizeof(*s->known));
	for (unsigned i = 0; i < CLOCKS; i++) {
		struct ideal_clock *c = &s->clock[i];

		c->commits = x_calloc(size, sizeof(*c->commits));
		for (unsigned k = 0; k < UNIT_COUNT; k++)
			if (ideal_keeps(machine, meta->dispatch_width, k))
				c->use[k] = x_calloc(IDEAL_TABLE, sizeof(*c->use[k]));
	}
}

void ideal_free(struct ideal_clocks *s)
{
	free(s->known);
	for (unsigned i = 0; i < CLOCKS; i++) {
		free(s->clock[i].commits);
		for (unsigned k = 0; k < UNIT_COUNT; k++)
			free(s->clock[i].use[k]);
	}
}

static const struct ideal_inst *decode(struct ideal_clocks *s, const struct rec_inst *r)
{
	struct ideal_inst *k = &s->known[(r->pc >> 1) % IDEAL_KNOWN];

	if (likely(k->pc == r->pc && k->word == r->word && k->latency))
		return k;

	const struct inst in = isa_decode(r->word);
	const struct inst_operands o = isa_operands(&in);
	const struct unit_use use = units_of(s->machine, &in);

	*k = (struct ideal_inst){ .pc = r->pc,
				  .word = r->word,
				  .busy = use.busy ? use.busy : 1,
				  .latency = use.latency ? use.latency : 1,
				  .unit = use.unit,
				  .dst = o.dst,
				  .src = { o.src[0], o.src[1], o.src[2] } };
	return k;
}

/* The first cycle from `at` on in which a unit is free for `busy` cycles; takes it. */
static uint64_t take_unit(const struct ideal_clocks *s, struct ideal_clock *c,
			  const struct ideal_inst *k, uint64_t at)
{
	struct ideal_use *use = c->use[k->unit];
	const uint64_t end = c->dispatched / s->width + IDEAL_TABLE;
	const uint32_t count = s->machine->unit[k->unit].count;
	uint64_t begin = at, n = 0;

	while (n < k->busy) {
		const uint64_t cycle = begin + n;
		const struct ideal_use *u = &use[cycle % IDEAL_TABLE];

		if (cycle >= end)
			return at;
		if (u->cycle == cycle && u->used >= count) {
			begin = cycle + 1;
			n = 0;
		} else {
			n++;
		}
	}
	for (n = 0; n < k->busy; n++) {
		struct ideal_use *u = &use[(begin + n) % IDEAL_TABLE];

		*u = (struct ideal_use){ begin + n, u->cycle == begin + n ? u->used + 1 : 1 };
	}
	return begin;
}

/* Returns the cycle in which its result is there. */
static inline uint64_t advance(const struct ideal_clocks *s, struct ideal_clock *c,
			       const struct ideal_inst *k, uint32_t latency, uint32_t flags)
{
	const uint64_t number = s->count;
	uint64_t at = c->dispatched + 1;

	if (number >= s->rob)
		at = max_u64(at, c->commits[(number - s->rob) & s->mask]);
	if (unlikely(flags & RI_SERIAL))
		at = max_u64(at, c->committed);
	c->dispatched = c->entered = at;

	uint64_t begin = at / s->width + 1;

	for (unsigned i = 0; i < 3; i++)
		begin = max_u64(begin, c->ready[k->src[i]]);
	if (c->use[k->unit])
		begin = take_unit(s, c, k, begin);
	if (k->dst)
		c->ready[k->dst] = begin + latency;
	/* commit_width instructions in a cycle */
	at = number >= s->commit_width ? c->commits[(number - s->commit_width) & s->mask] + s->width
				       : 0;
	at = max_u64(at, (begin + latency) * s->width);
	c->committed = max_u64(at, c->committed);
	c->commits[number & s->mask] = c->committed;
	/* Fetched anew behind it. A flush for the order of memory is no cost of an ideal machine. */
	if (unlikely(flags & RI_FLUSHES && !(flags & RI_LOAD)))
		c->dispatched = max_u64(c->dispatched, c->committed + s->depth * s->width);
	return begin + latency;
}

void ideal_inst(struct ideal_clocks *s, const struct rec_inst *r)
{
	const struct ideal_inst *k = decode(s, r);
	uint32_t latency = k->latency;

	advance(s, &s->clock[CLOCK_BASE], k, latency, r->flags);
	if (unlikely(r->psv & PSV_ST_L1) && r->flags & RI_LOAD)
		latency += r->psv & (PSV_ST_L2 | PSV_ST_LLC) ? s->last : s->l2;
	advance(s, &s->clock[CLOCK_L1D], k, latency, r->flags);
	struct ideal_clock *c = &s->clock[CLOCK_BMISP];
	const uint64_t done = advance(s, c, k, latency, r->flags);
	if (unlikely(r->flags & RI_MISPREDICT))
		c->dispatched = max_u64(c->dispatched, done * s->width + s->refill);
	s->count++;
}

/* SPDX-License-Identifier: MIT */
/*
 * The analysis around the methods: walks the records, keeps a vector of all counters, and cuts the
 * run into at most CPI_PHASES phases. Phases start short; when there are too many, pairs are joined
 * and the length doubles, so memory is bounded and a short run still has a time axis.
 *
 * Invariant: every method but the naive ones hands out exactly the cycles of the run (slots: times
 * the width).
 */
#include "analysis/cpistack/cpistack.h"

#include <stdlib.h>
#include <string.h>

#include "trace/file.h"

static bool cpistack_start(void *state, const struct trace_meta *meta,
			   const struct analysis_options *o, struct err *e)
{
	struct cpistack *s = state;
	if (!meta->dispatch_width || meta->commit_width > WALK_WIDTH_MAX)
		return err_set(e, "commit width %u is not in 1..%d", meta->commit_width,
			       WALK_WIDTH_MAX);
	s->meta = *meta;
	s->scale = 720720; /* divisible by 1..16 */
	s->phase = x_calloc(CPI_PHASES, sizeof(*s->phase));
	s->phase_cycles = s->phase_end = CPI_PHASE_BASE;
	const struct machine *machine = o->info ? o->info->machine : NULL;
	fmt_init(&s->fmt, meta, machine);
	ideal_init(&s->ideal, meta, machine);
	cells_init(&s->by_pc);
	s->stages = stages_new(s);
	return true;
}

/* Adds to s->now the counts that the methods keep elsewhere because it costs less. */
static void bring_up_to_date(struct cpistack *s)
{
	fmt_fold(s);
	stages_fold(s);
}

static void end_phase(struct cpistack *s)
{
	bring_up_to_date(s);
	if (s->nphases == CPI_PHASES) {
		for (size_t i = 0; i < CPI_PHASES / 2; i++)
			s->phase[i] = s->phase[2 * i + 1];
		s->nphases = CPI_PHASES / 2;
		s->phase_cycles *= 2;
		s->phase_end = ((uint64_t)s->phase[s->nphases - 1].cycles / s->phase_cycles + 1) *
			       s->phase_cycles;
		if ((uint64_t)s->now.cycles < s->phase_end)
			return;
	}
	s->phase[s->nphases++] = s->now;
	while (s->phase_end <= (uint64_t)s->now.cycles)
		s->phase_end += s->phase_cycles;
}

static void room_for(struct cpi_insts *in, size_t count)
{
	if (count <= in->capacity)
		return;
	in->capacity = count;
	in->po = x_realloc(in->po, count * sizeof(*in->po));
	in->pc = x_realloc(in->pc, count * sizeof(*in->pc));
	in->clock = x_realloc(in->clock, count * sizeof(*in->clock));
	in->units = x_realloc(in->units, count * sizeof(*in->units));
	in->special = x_realloc(in->special, count * sizeof(*in->special));
}

/* Copies what the methods need of the batch's instructions, and counts their events. */
static void take_insts(struct cpistack *s, const struct rec_inst *insts, size_t count)
{
	struct cpi_insts *in = &s->insts;
	size_t n = 0;
	in->nspecial = in->next_special = in->next = 0;
	room_for(in, count + CPI_UNITS);
	uint64_t *restrict po = in->po, *restrict pc = in->pc;
	for (size_t i = 0; i < count; i++) {
		const struct rec_inst *r = &insts[i];
		walk_fetch(r + WALK_AHEAD);
		po[n] = r->po;
		pc[n] = r->pc;
		if (unlikely(r->psv || r->flags & RI_MISPREDICT)) {
			counters_inst(s, r);
			if (r->flags & RI_COMMITTED && fmt_special(r))
				in->special[in->nspecial++] =
				    (struct cpi_special){ n, r->psv, r->flags };
		}
		if (r->flags & RI_COMMITTED && s->ideal.machine) {
			ideal_inst(&s->ideal, r);
			for (unsigned k = 0; k < CLOCKS; k++) {
				const struct ideal_clock *c = &s->ideal.clock[k];
				in->clock[n].at[k] = c->entered;
				in->clock[n].ahead[k] = c->committed - c->entered;
			}
		}
		n += r->flags & RI_COMMITTED;
	}
	_Static_assert(RI_COMMITTED == 1, "counts one");
	in->count = n;
	in->special[in->nspecial].at = SIZE_MAX;
}

static bool cpistack_batch(void *state, const struct rec_inst *insts, size_t ninsts,
			   const struct rec_cycle *cycles, size_t ncycles, struct err *e)
{
	struct cpistack *s = state;
	take_insts(s, insts, ninsts);
	for (size_t i = 0; i < ncycles;) {
		const size_t at = s->insts.next;
		const uint64_t now = (uint64_t)s->now.cycles;
		const size_t n = fmt_cycles(s, cycles + i, ncycles - i,
					    now < s->phase_end ? s->phase_end - now : 0, e);
		if (!n)
			return false;
		stages_runs(s, at);
		for (size_t k = 0; s->meta.in_order && k < s->nruns; k++)
			stalls_run(s, &s->runs[k]);
		for (size_t k = 0; k < s->nruns; k++)
			s->now.cycles += (int64_t)s->runs[k].repeat;
		s->now.insts += (int64_t)(s->insts.next - at);
		/* A phase ends where an instruction commits: how a stall is cut into records depends on
		 * where batches end, and so on who else listens. */
		if ((uint64_t)s->now.cycles >= s->phase_end && s->runs[s->nruns - 1].c->ncommit)
			end_phase(s);
		i += n;
	}
	bring_up_to_date(s);
	return true;
}

/*
 * Moves the slots of right-path instructions that were flushed and entered again, counted as
 * retiring so far, to machine clears. By the end of a phase there were at most as many of them as
 * had entered and not committed, and no more than by the end of the next phase.
 */
static void count_clears(struct cpistack *s)
{
	int64_t flushed = INT64_MAX;
	for (size_t i = s->nphases; i-- > 0;) {
		struct cpi_counts *c = &s->phase[i];
		const int64_t left = c->topdown[TD_RETIRING] - c->insts;
		flushed = left < flushed ? left : flushed;
		flushed = flushed < 0 ? 0 : flushed;
		c->topdown[TD_RETIRING] -= flushed;
		c->topdown[TD_CLEARS] += flushed;
	}
	if (s->nphases)
		memcpy(s->now.topdown, s->phase[s->nphases - 1].topdown, sizeof(s->now.topdown));
}

static bool cpistack_finish(void *state, struct store *store, struct err *e)
{
	struct cpistack *s = state;
	stages_end(s);
	counters_end(s);
	fmt_places_end(s);
	if (s->now.cycles && (!s->nphases || s->phase[s->nphases - 1].cycles != s->now.cycles)) {
		s->phase_end = (uint64_t)s->now.cycles;
		if (s->nphases == CPI_PHASES)
			s->nphases--;
		s->phase[s->nphases++] = s->now;
	}
	count_clears(s);
	return !store || cpistack_store(s, store, e);
}

static void cpistack_free(void *state)
{
	struct cpistack *s = state;
	fmt_free(&s->fmt);
	ideal_free(&s->ideal);
	cells_free(&s->by_pc);
	stages_free(s->stages);
	free(s->phase);
	free(s->insts.po);
	free(s->insts.pc);
	free(s->insts.clock);
	free(s->insts.units);
	free(s->insts.special);
}

const struct analysis cpistack_analysis = {
	.name = "cpistack",
	.summary = "CPI stacks: FMT, sFMT, naive, POWER5, by stage, and top-down",
	.wants = WANT_CYCLES | WANT_HEAD | WANT_INSTS | WANT_SQUASHED_EVENTS | WANT_BRIEF,
	.tables = (const struct analysis_table[]){ { "cpi_instruction", NULL },
						   { "cpi_place", NULL },
						   { NULL, NULL } },
	.state_size = sizeof(struct cpistack),
	.start = cpistack_start,
	.batch = cpistack_batch,
	.finish = cpistack_finish,
	.free = cpistack_free,
};

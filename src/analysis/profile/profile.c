/* SPDX-License-Identifier: MIT */
/*
 * Oracle, the golden per-instruction cycle stacks, and the walk that drives the samplers.
 *
 * Every cycle of the run is handed to the instruction(s) whose latency commit exposes in it, by the
 * four commit states (tip2021 section 2.2, tea2023 section 2):
 *
 *   computing  the n instructions that commit share the cycle, 1/n each
 *   stalled    the oldest instruction
 *   flushed    the instruction that emptied the ROB: the last that committed, or the one that took
 *              an exception
 *   drained    the next instruction to enter the ROB
 *
 * Stalled and drained time waits until that instruction commits, because only then are its events
 * complete. Time is in integer units of 1/lcm(1..width) cycle, so that the sum over all cells is
 * exactly the run.
 *
 * Invariants:
 *
 *   P1  units over all cells and execs of all threads + scale * (stalled + drained + excepted + kernel)
 *       == scale * cycles, after every record.
 *   P2  executions over all cells == committed instructions.
 */
#include "analysis/profile/profile.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/profile/shard.h"
#include "analysis/walk.h"
#include "isa/isa.h"
#include "util/array.h"

static uint64_t lcm_up_to(unsigned n)
{
	uint64_t l = 1;
	for (unsigned i = 2; i <= n; i++) {
		uint64_t a = l, b = i;
		while (b) {
			uint64_t t = a % b;
			a = b;
			b = t;
		}
		l = l / a * i;
	}
	return l;
}

uint64_t profile_scale(unsigned commit_width)
{
	return lcm_up_to((unsigned)min_u64(commit_width, SHARE_WIDTH_MAX));
}

bool profile_shares(unsigned commit_width, uint64_t share[GROUP_MAX + 1],
		    uint64_t first[GROUP_MAX + 1], struct err *e)
{
	const uint64_t scale = profile_scale(commit_width);

	if (!commit_width || commit_width > GROUP_MAX)
		return err_set(e, "commit width %u is not in 1..%d", commit_width, GROUP_MAX);
	for (unsigned n = 1; n <= commit_width; n++) {
		share[n] = scale / n;
		first[n] = scale - (n - 1) * share[n];
	}
	return true;
}

/* The sweep of tip2021 figure 11 and tea2023 figure 8: multiples of the period, both methods. */
static void add_sweep(struct profile *p, const struct analysis_options *o)
{
	static const uint64_t num[] = { 40, 20, 10, 4, 2, 1, 1, 1 },
			      den[] = { 1, 1, 1, 1, 1, 1, 2, 5 };
	for (size_t i = 0; i < ARRAY_LEN(num); i++)
		for (int random = 0; random < 2; random++)
			if (p->nsamplers < PROFILE_SAMPLERS_MAX)
				sampler_init(&p->sampler[p->nsamplers++],
					     max_u64(1, o->period * num[i] / den[i]), random,
					     o->seed + 1 + i, o->phase);
}

static bool profile_start(void *state, const struct trace_meta *meta,
			  const struct analysis_options *o, struct err *e)
{
	struct profile *p = state;
	if (!profile_shares(meta->commit_width, p->share, p->first, e))
		return false;
	p->meta = *meta;
	p->info = o->info;
	p->scale = profile_scale(meta->commit_width);
	if (o->shards > 1 && analysis_number(o, "tip-hardware", 0))
		return err_set(e, "tip-hardware=1 sees one cycle after the other: it needs profile "
				  "in one worker");
	if (o->shards > 1)
		p->shard = profile_shard_new(p, o);
	if (o->first)
		return true;
	cells_init(&p->cells);
	execs_init(&p->execs, &p->cells, TIME_EXECUTION);
	time_phases_init(&p->phases);
	p->images = o->images;
	p->later.into = &p->cells;
	sampler_init(&p->sampler[p->nsamplers++], o->period, o->random, o->seed, o->phase);
	sampler_count_states(&p->sampler[0], p->scale);
	if (analysis_number(o, "tip-hardware", 0)) {
		struct tip_layout layout;

		if (!tip_layout(meta->commit_width, EVENT_TEA_COUNT, &layout))
			return err_set(e, "TIP's hardware cannot be so wide");
		p->hw = x_malloc(sizeof(*p->hw));
		tiphw_init(p->hw, &layout);
		p->sampler[0].hardware = true;
	}
	p->pooled = analysis_number(o, "pooled", 0) != 0;
	if (analysis_number(o, "sweep", 0))
		add_sweep(p, o);
	if (p->shard)
		profile_shard_clocks(p->shard, p);
	return true;
}

/* Gives pending cycles of one kind to an instruction. */
static void settle(struct profile *p, unsigned kind, uint64_t cycles, uint64_t key)
{
	if (!cycles)
		return;
	cells_add_later(&p->later, key, cycles * p->scale);
	if (unlikely(p->phases.owing < p->phases.count))
		time_phases_settle(&p->phases, &p->cells, kind, key, p->scale);
}

/* Gives the pending time to the instruction that commits now. */
void profile_settle(struct profile *p, uint64_t pc, unsigned events, unsigned cls)
{
	if (p->stalled && !(events & PSV_TEA))
		p->sums.stall_length[min_u64(p->stalled, STALL_BUCKETS - 1)]++;
	settle(p, PENDING_STALLED, p->stalled, cell_key(pc, events, time_of_stall(cls)));
	settle(p, PENDING_DRAINED, p->drained, cell_key(pc, events, time_of_drain(events)));
	settle(p, PENDING_EXCEPTED, p->excepted, cell_key(pc, events, TIME_MISC_FLUSH));
	settle(p, PENDING_KERNEL, p->kernel, cell_key(pc, events, TIME_KERNEL));
	time_phases_settled(&p->phases);
	p->stalled = p->drained = p->excepted = p->kernel = 0;
	p->pending_pc = 0;
}

/* What all cells got since the phase before becomes the phase that ends now. */
static void end_phase(struct profile *p)
{
	const uint64_t pending[TIME_PENDING_KINDS] = { [PENDING_STALLED] = p->stalled,
						       [PENDING_DRAINED] = p->drained,
						       [PENDING_EXCEPTED] = p->excepted,
						       [PENDING_KERNEL] = p->kernel };

	time_phases_end(&p->phases, p->cycles, p->insts, pending);
	cells_later_flush(&p->later);
	execs_move(&p->execs);
	time_phases_take(&p->phases, &p->cells);
	for (size_t i = 0; i < p->nthreads; i++) {
		p->threads[i].execs.into = &p->threads[i].cells;
		execs_move(&p->threads[i].execs);
		p->threads[i].execs.into = &p->cells; /* for when its turn comes */
		time_phases_take(&p->phases, &p->threads[i].cells);
	}
}

void profile_phase(struct profile *p)
{
	if (p->cycles >= p->phases.end && time_phases_ends(&p->phases, p->cycles))
		end_phase(p);
}

void profile_thread(struct profile *p, uint32_t tid)
{
	struct profile_thread *t = NULL, now;

	if (!p->nthreads && !p->insts) { /* the first instruction */
		p->tid = tid;
		return;
	}
	if (!p->waits.count)
		waits_switch(&p->waits, p->tid, 0, 0);
	/* Pending time goes to the instruction that commits now. */
	waits_switch(&p->waits, tid, p->cycles - p->stalled - p->drained - p->excepted - p->kernel,
		     p->last_po);
	cells_later_flush(&p->later);
	for (size_t i = 0; i < p->nthreads && !t; i++)
		t = p->threads[i].tid == tid ? &p->threads[i] : NULL;
	if (!t) {
		t = ARRAY_ADD(p->threads, p->nthreads);
		t->tid = tid;
		cells_init(&t->cells);
		execs_init(&t->execs, &p->cells, TIME_EXECUTION);
	}
	now = (struct profile_thread){ p->tid, p->cells, p->execs };
	p->cells = t->cells;
	p->execs = t->execs;
	p->tid = t->tid;
	*t = now;
}

void profile_events(struct profile_sums *s, unsigned events)
{
	unsigned apart = events & PSV_TEA & ~(events & PSV_ST_LLC ? (unsigned)PSV_ST_L1 : 0);
	s->with_event += apart != 0;
	s->with_combined += (apart & (apart - 1)) != 0;
	s->with_bits += (events & PSV_TEA & ((events & PSV_TEA) - 1)) != 0;
	for (unsigned b = 0; b < CELL_EVENT_BITS; b++)
		s->event_count[b] += events >> b & 1;
}

/* Commits the instructions of cycle c and gives them their time. Notes them in group and keys, if
 * not NULL. */
static inline __attribute__((always_inline)) bool commit(struct profile *p, struct walk *w,
							 const struct rec_cycle *c,
							 const struct rec_inst **group,
							 uint64_t *keys, struct err *e)
{
	const unsigned n = c->ncommit;
	const uint64_t share = p->share[n];
	uint64_t units = p->first[n];
	for (unsigned i = 0; i < n; i++, units = share) {
		const struct rec_inst *r = walk_next(w, c, i, e);
		if (unlikely(!r))
			return false;
		const unsigned events = r->psv & CELL_EVENT_MASK;
		if (unlikely(!i && r->tid != p->tid))
			profile_thread(p, r->tid);
		if (!i && p->stalled | p->drained | p->excepted | p->kernel)
			profile_settle(p, r->pc, events, r->cls);
		if (group) {
			group[i] = r;
			keys[i] = profile_inst_key(r);
		}
		if (likely(!events)) {
			execs_add(&p->execs, r->pc, units);
		} else {
			cells_add(&p->cells, cell_key(r->pc, events, TIME_EXECUTION), units, 1);
			profile_events(&p->sums, events);
			if (unlikely(events & PSV_FL_EX) && p->waits.count)
				waits_note(&p->waits, r->po, p->cycles + 1);
		}
	}
	p->insts += n;
	p->last_key = profile_inst_key(&w->insts[w->at - 1]);
	p->last_po = c->head_po + n - 1;
	return true;
}

/* Accounts for a cycle in which nothing commits. True, with the instruction in *flush_key, if an
 * instruction that has committed emptied the ROB. */
static inline bool idle(struct profile *p, const struct rec_cycle *c, uint64_t *flush_key)
{
	if (!(c->flags & RC_ROB_EMPTY)) {
		p->stalled += c->repeat;
		p->pending_pc = c->head_pc;
	} else if (c->flush_cause == FLUSH_NONE) {
		p->drained += c->repeat;
	} else if (profile_flushed(c, p->last_po, p->last_key, flush_key)) {
		cells_add_later(&p->later,
				cell_key(*flush_key >> CELL_EVENT_BITS,
					 (unsigned)*flush_key & CELL_EVENT_MASK,
					 profile_flush_category(c)),
				c->repeat * p->scale);
		return true;
	} else {
		*(profile_in_kernel(c) ? &p->kernel : &p->excepted) += c->repeat;
		p->pending_pc = c->flush_pc;
	}
	return false;
}

/* A record does not follow the one before it: a region ended in between. */
static inline void begin_record(struct profile *p, const struct rec_cycle *c)
{
	if (unlikely(c->cycle != p->next_cycle) &&
	    (p->stalled | p->drained | p->excepted | p->kernel))
		profile_settle(p, p->pending_pc, 0, CLASS_ALU);
	p->next_cycle = c->cycle + c->repeat;
}

void profile_begin(struct profile *p, const struct rec_cycle *c)
{
	begin_record(p, c);
}

void profile_idle(struct profile *p, const struct rec_cycle *c)
{
	uint64_t flush_key;

	begin_record(p, c);
	idle(p, c, &flush_key);
}

/* What the hardware delivered goes to the first sampler's samples that wait for it. */
static void deliver(struct profile *p)
{
	const struct tip_sample *s = &p->hw->sample;
	const enum hw_state state = s->flags & TIP_STALLED	  ? HW_STALLED
				    : s->flags & TIP_FRONT_END	  ? HW_DRAINED
				    : s->flags & TIP_EXCEPTION	  ? HW_EXCEPTION
				    : s->flags & TIP_FLUSH	  ? HW_FLUSHED
				    : s->flags & TIP_MISPREDICTED ? HW_MISPREDICTED
								  : HW_COMPUTING;
	unsigned which[TIP_WAYS_MAX];
	struct group g = { .n = tip_blames(&p->hw->layout, s, which) };

	for (unsigned i = 0; i < g.n; i++)
		g.key[i] = s->address[which[i]] << CELL_EVENT_BITS | s->psv[which[i]];
	sampler_deliver(&p->sampler[0], &g, state);
}

void profile_sample(struct profile *p, const struct sampler_view *v,
		    const struct rec_inst *const *insts)
{
	const uint64_t end = p->cycles + v->rec->repeat;
	if (unlikely(p->next_sample < end)) {
		p->next_sample = UINT64_MAX;
		for (size_t i = 0; i < p->nsamplers; i++) {
			struct sampler *s = &p->sampler[i];
			while (s->next < end) {
				const uint64_t now = s->next, before = s->last;

				sampler_take(s, now, v);
				if (s->hardware && tiphw_fire(p->hw, v->rec, now, now + 1 - before))
					deliver(p);
			}
			p->next_sample = min_u64(p->next_sample, s->next);
			p->waiting |= (uint32_t)sampler_waits(s) << i;
		}
	}
	if (likely(!p->waiting) || !(v->commit->n || v->rec->ndispatch))
		return;
	for (uint32_t left = p->waiting; left; left &= left - 1) {
		unsigned i = (unsigned)__builtin_ctz(left);
		sampler_resolve(&p->sampler[i], v, insts);
		if (!sampler_waits(&p->sampler[i]))
			p->waiting &= ~(1u << i);
	}
}

/* Accounts for a cycle that a sampler may need, or for the last of a batch, which may be the last
 * of the run. */
static bool sampled_cycle(struct profile *p, struct walk *w, const struct rec_cycle *c, bool last,
			  struct err *e)
{
	const struct rec_inst *committed[WALK_WIDTH_MAX];
	struct group g;
	struct sampler_view v = { .rec = c, .commit = &g, .last_key = p->last_key };
	g.n = c->ncommit;
	v.category = profile_category(c);
	if (!g.n)
		v.flushed = idle(p, c, &v.flush_key);
	else if (!commit(p, w, c, committed, g.key, e))
		return false;
	if (p->hw && tiphw_begin(p->hw, c, committed))
		deliver(p);
	profile_sample(p, &v, committed);
	if (p->hw)
		tiphw_end(p->hw, c, committed);
	if (last) {
		p->last_rec = *c;
		p->last_commit = g;
	}
	return true;
}

static bool profile_batch(void *state, const struct rec_inst *insts, size_t ninsts,
			  const struct rec_cycle *cycles, size_t ncycles, struct err *e)
{
	struct profile *p = state;
	struct walk walk = { insts, ninsts, 0 };
	if (p->shard)
		return profile_shard_batch(p->shard, insts, ninsts, cycles, ncycles, e);
	for (size_t i = 0; i < ncycles; i++) {
		const struct rec_cycle *c = &cycles[i];
		const bool last = i + 1 == ncycles;
		uint64_t flush_key;

		walk_fetch(&cycles[i + WALK_AHEAD]);
		begin_record(p, c);
		if (unlikely(p->waiting || p->next_sample < p->cycles + c->repeat || last ||
			     p->hw)) {
			if (!sampled_cycle(p, &walk, c, last, e))
				return false;
		} else if (!c->ncommit) {
			idle(p, c, &flush_key);
		} else if (!commit(p, &walk, c, NULL, NULL, e)) {
			return false;
		}
		p->cycles += c->repeat;
		/* A phase ends where an instruction commits: how a stall is cut into records depends on
		 * where batches end, and so on who else listens. */
		if (unlikely(p->cycles >= p->phases.end) && c->ncommit)
			profile_phase(p);
	}
	cells_later_flush(&p->later);
	return true;
}

static void profile_free(void *state)
{
	struct profile *p = state;
	profile_shard_free(p->shard);
	cells_free(&p->cells);
	execs_free(&p->execs);
	free(p->hw);
	for (size_t i = 0; i < p->nthreads; i++) {
		cells_free(&p->threads[i].cells);
		execs_free(&p->threads[i].execs);
	}
	free(p->threads);
	waits_free(&p->waits);
	time_phases_free(&p->phases);
	for (size_t i = 0; i < p->nsamplers; i++)
		sampler_free(&p->sampler[i]);
}

/* The tables of all threads together become the profile's; each thread keeps its own. */
static void join_threads(struct profile *p)
{
	if (!p->nthreads)
		return;
	for (size_t i = 0; i < p->nthreads; i++) {
		p->threads[i].execs.into = &p->threads[i].cells;
		execs_move(&p->threads[i].execs);
	}
	struct profile_thread *own = ARRAY_ADD(p->threads, p->nthreads);

	own->tid = p->tid;
	own->cells = p->cells;
	execs_init(&own->execs, &own->cells, TIME_EXECUTION);
	cells_init(&p->cells);
	for (size_t i = 0; i < p->nthreads; i++) {
		const struct cells *from = &p->threads[i].cells;

		for (size_t k = 0; k <= from->mask; k++)
			if (from->slot[k].key)
				cells_add(&p->cells, from->slot[k].key, from->slot[k].units,
					  from->slot[k].count);
	}
}

/* The last phase is as long as it is; if there is no room for it, the one before has it, too. */
static void end_last_phase(struct profile *p)
{
	p->phases.end = p->cycles;
	end_phase(p);
	if (p->phases.count > TIME_PHASES)
		time_phases_join_last(&p->phases);
}

/* Gives the time that is still pending at the end of the run to the instruction that was waited
 * for. */
static void profile_close(struct profile *p)
{
	struct sampler_view v = { .rec = &p->last_rec,
				  .commit = &p->last_commit,
				  .last_key = p->last_key,
				  .category = TIME_EXECUTION };
	profile_settle(p, p->pending_pc, 0, CLASS_ALU);
	cells_later_flush(&p->later);
	execs_move(&p->execs);
	if (p->cycles &&
	    (!p->phases.count || p->phases.list[p->phases.count - 1].cycles != p->cycles))
		end_last_phase(p);
	join_threads(p);
	for (size_t i = 0; i < p->nsamplers; i++)
		sampler_end(&p->sampler[i], p->cycles, p->cycles ? &v : NULL);
}

static void profile_at(void *state, uint64_t cycles)
{
	struct profile *p = state;

	if (p->shard)
		profile_shard_at(p->shard, cycles);
}

static bool profile_turn(void *state, uint64_t index, struct err *e)
{
	struct profile *p = state;
	return profile_shard_turn(p->shard, index, e);
}

/* All but sums came to the first shard by turns. */
static bool profile_merge(void *into, void *from, struct err *e)
{
	struct profile *a = into, *b = from;
	profile_shard_sums(b->shard, &a->sums);
	return true;
}

static bool profile_finish(void *state, struct store *store, struct err *e)
{
	struct profile *p = state;
	if (p->shard)
		profile_shard_sums(p->shard, &p->sums);
	profile_close(p);
	return !store || profile_store(p, store, e);
}

static const struct analysis_param params[] = {
	{ "sweep", "1: other periods too, for accuracy --sweep", true, { 0, 1, NUMBER_PLAIN } },
	{ "tip-hardware",
	  "1: TIP's hardware too, judged sample by sample: profilers tip-hw and tea-hw",
	  true,
	  { 0, 1, NUMBER_PLAIN } },
	{ "pooled",
	  "1: graphs beside the samples, from which views make profiler tip-pooled",
	  true,
	  { 0, 1, NUMBER_PLAIN } },
	{ .name = NULL },
};

const struct analysis profile_analysis = {
	.params = params,
	.name = "profile",
	.summary = "golden per-instruction cycle stacks and every sampling profiler",
	.wants = WANT_CYCLES | WANT_INSTS | WANT_FETCH | WANT_BRIEF,
	.tables = (const struct analysis_table[]){ { "golden", "units" },
						   { "profile", NULL },
						   { "golden_thread", NULL },
						   { "profile_category", NULL },
						   { NULL, NULL } },
	.state_size = sizeof(struct profile),
	.start = profile_start,
	.batch = profile_batch,
	.merge = profile_merge,
	.turn = profile_turn,
	.at = profile_at,
	.finish = profile_finish,
	.free = profile_free,
};

/* SPDX-License-Identifier: MIT */
/*
 * The profile over several workers.
 *
 * A worker reads its batch record by record and makes a piece of it: time and executions by cell, added up
 * over as many instructions as nothing separates, and, in their order, what depends on the batches before or
 * on the whole: records before the first commit (their time is that of an instruction, or follows a
 * flush, that an earlier batch has), the first commit, changes of thread, places where a phase may end,
 * and the cycles that are sampled. Which these are every worker knows, because the bus says how many
 * cycles came before a batch (analysis.at). What commits and dispatches is noted briefly, too, for
 * samples that still wait for an instruction.
 *
 * Pieces are taken in the order of batches (turns.h), by the code that one worker runs for every record.
 *
 * Invariants:
 *
 *   H1  A phase ends at the first commit at or after a multiple of TIME_PHASE_BASE; at each of those what
 *       was added up goes into the piece.
 *   H2  When the next instruction commits after the first of a piece, all pending time is the piece's own.
 */
#include "analysis/profile/shard.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/walk.h"
#include "isa/isa.h"
#include "trace/turns.h"
#include "util/array.h"

#define SUMS 8192 /* cells that are added up at once; a power of two */

/* ---- what a piece consists of ---- */

struct piece {
	size_t bytes;			    /* all of it */
	uint64_t before;		    /* cycles of the batches before */
	size_t records, insts, ops;	    /* where they begin */
	size_t nrecords, ninsts, ops_bytes; /* how many; ops: bytes */
};

/* A record in which something commits or dispatches, or which is sampled. */
struct brief_record {
	uint64_t head_po, dispatch_seq;
	uint32_t first; /* of the instructions that commit */
	uint8_t ncommit, ndispatch;
};

struct brief_inst {
	uint64_t pc, seq;
	uint32_t psv;
	uint8_t cls;
};

enum piece_kind {
	PIECE_IDLE,
	PIECE_FIRST,
	PIECE_ADD,
	PIECE_PHASE,
	PIECE_THREAD,
	PIECE_NOTE,
	PIECE_SAMPLE,
	PIECE_END
};

struct piece_op {
	uint32_t kind, bytes; /* with this head; a multiple of 8 */
};

/* Time that waits for the next instruction to commit. */
struct pending {
	uint64_t stalled, drained, excepted, kernel, pc;
};

struct op_idle {
	struct piece_op op;
	struct rec_cycle record;
};
struct op_first { /* the first commit */
	struct piece_op op;
	struct rec_cycle record;
	uint64_t cycle; /* here and below: from the piece's beginning */
	uint64_t pc;
	uint32_t events, cls, tid;
};
struct op_add {
	struct piece_op op;
	struct {
		uint64_t key, units, count;
	} cell[];
};
struct op_phase {
	struct piece_op op;
	uint64_t cycle, insts;
};
struct op_thread {
	struct piece_op op;
	uint64_t cycle, last_po;
	struct pending pending;
	uint64_t tid;
};
struct op_note {
	struct piece_op op;
	uint64_t po, cycle;
};
struct op_sample {
	struct piece_op op;
	struct rec_cycle record;
	uint64_t cycle, index; /* of the brief record */
	uint64_t last_po, last_key;
	bool committed; /* something has committed in the piece: last_po, last_key are known */
};
struct op_end {
	struct piece_op op;
	uint64_t cycles, insts;
	bool committed; /* otherwise the rest of the state is still that of the batch before */
	struct pending pending;
	uint64_t next_cycle, last_po, last_key;
	struct rec_cycle record; /* the last */
	unsigned n;		 /* that commit in it */
	uint64_t key[];
};

struct profile_shard {
	struct profile *first; /* takes the pieces */
	struct turns turns;    /* the first's */
	bool has_turns;
	struct profile_shard *whose; /* the first */
	struct turn out;
	struct profile_sums sums;
	uint64_t before;

	/* Of the piece under way. */
	size_t piece; /* where it begins */
	size_t nrecords, ninsts;
	uint64_t cycle, insts;
	bool committed;
	struct pending pending;
	uint64_t next_cycle, last_po, last_key;
	uint32_t tid;
	uint64_t share[GROUP_MAX + 1], first_share[GROUP_MAX + 1], scale;

	/* Time and executions by cell: open addressing. */
	struct {
		uint64_t key, units, count;
	} slot[SUMS];
	uint16_t used[SUMS / 2];
	size_t nused;

	struct sampler clock[PROFILE_SAMPLERS_MAX]; /* only when they sample */
	size_t nclocks;
	uint64_t next_sample;
};

_Static_assert(SUMS <= UINT16_MAX + 1, "a slot's number fits");

struct profile_shard *profile_shard_new(struct profile *p, const struct analysis_options *o)
{
	struct profile_shard *s = x_calloc(1, sizeof(*s));

	memcpy(s->share, p->share, sizeof(s->share));
	memcpy(s->first_share, p->first, sizeof(s->first_share));
	s->scale = p->scale;
	s->first = o->first ? o->first : p;
	s->whose = o->first ? s->first->shard : s;
	if (o->first) {
		profile_shard_clocks(s, s->first);
	} else {
		turns_init(&s->turns);
		s->has_turns = true;
	}
	return s;
}

void profile_shard_clocks(struct profile_shard *s, const struct profile *p)
{
	s->next_sample = UINT64_MAX;
	s->nclocks = p->nsamplers;
	for (size_t i = 0; i < p->nsamplers; i++) {
		const struct sampler *from = &p->sampler[i];

		s->clock[i] = (struct sampler){ .period = from->period,
						.random = from->random,
						.rng = from->rng,
						.next = from->next,
						.period_end = from->period_end };
		s->next_sample = min_u64(s->next_sample, from->next);
	}
}

void profile_shard_free(struct profile_shard *s)
{
	if (!s)
		return;
	if (s->has_turns)
		turns_free(&s->turns);
	free(s->out.data);
	free(s);
}

void profile_shard_sums(const struct profile_shard *s, struct profile_sums *to)
{
	for (size_t i = 0; i < STALL_BUCKETS; i++)
		to->stall_length[i] += s->sums.stall_length[i];
	for (size_t i = 0; i < CELL_EVENT_BITS; i++)
		to->event_count[i] += s->sums.event_count[i];
	to->with_event += s->sums.with_event;
	to->with_combined += s->sums.with_combined;
	to->with_bits += s->sums.with_bits;
}

void profile_shard_at(struct profile_shard *s, uint64_t cycles)
{
	s->before = cycles;
}

/* ---- making a piece ---- */

static void *room(struct profile_shard *s, size_t bytes)
{
	uint8_t *data = s->out.data;

	ARRAY_ROOM(data, s->out.capacity, s->out.used + bytes);
	s->out.data = data;
	data += s->out.used;
	s->out.used += bytes;
	return data;
}

static struct piece *piece_of(struct profile_shard *s)
{
	return (struct piece *)((uint8_t *)s->out.data + s->piece);
}

/* An operation of so many bytes, of which the head is set and the rest is not. */
static void *add_op(struct profile_shard *s, enum piece_kind kind, size_t bytes)
{
	const size_t whole = (bytes + 7) & ~(size_t)7;
	struct piece_op *op = room(s, whole);

	*op = (struct piece_op){ .kind = (uint32_t)kind, .bytes = (uint32_t)whole };
	return op;
}

#define PUT_OP(s, kind, type, ...)                                                                 \
	do {                                                                                       \
		type *op_ = add_op(s, kind, sizeof(type));                                         \
		const struct piece_op head_ = op_->op;                                             \
		*op_ = (type){ .op = head_, __VA_ARGS__ };                                         \
	} while (0)

/* What was added up so far goes into the piece. */
static void flush_sums(struct profile_shard *s)
{
	if (!s->nused)
		return;
	struct op_add *op = add_op(s, PIECE_ADD, sizeof(*op) + s->nused * sizeof(op->cell[0]));

	for (size_t i = 0; i < s->nused; i++) {
		const uint16_t k = s->used[i];

		op->cell[i].key = s->slot[k].key;
		op->cell[i].units = s->slot[k].units;
		op->cell[i].count = s->slot[k].count;
		s->slot[k].key = 0;
	}
	s->nused = 0;
}

static inline void add_up(struct profile_shard *s, uint64_t key, uint64_t units, uint64_t count)
{
	size_t i = (key * 0x9e3779b97f4a7c15ull >> 32) & (SUMS - 1);

	while (s->slot[i].key != key) {
		if (!s->slot[i].key) {
			if (unlikely(s->nused == SUMS / 2)) {
				flush_sums(s);
				i = (key * 0x9e3779b97f4a7c15ull >> 32) & (SUMS - 1);
			}
			s->slot[i].key = key;
			s->slot[i].units = s->slot[i].count = 0;
			s->used[s->nused++] = (uint16_t)i;
			break;
		}
		i = (i + 1) & (SUMS - 1);
	}
	s->slot[i].units += units;
	s->slot[i].count += count;
}

static inline bool is_pending(const struct pending *p)
{
	return p->stalled | p->drained | p->excepted | p->kernel;
}

static void add_pending(struct profile_shard *s, uint64_t cycles, uint64_t key)
{
	if (cycles)
		add_up(s, key, cycles * s->scale, 0);
}

/* As profile_settle, for time that is the piece's own. */
static void settle(struct profile_shard *s, uint64_t pc, unsigned events, unsigned cls)
{
	const struct pending p = s->pending;

	if (p.stalled && !(events & PSV_TEA))
		s->sums.stall_length[min_u64(p.stalled, STALL_BUCKETS - 1)]++;
	add_pending(s, p.stalled, cell_key(pc, events, time_of_stall(cls)));
	add_pending(s, p.drained, cell_key(pc, events, time_of_drain(events)));
	add_pending(s, p.excepted, cell_key(pc, events, TIME_MISC_FLUSH));
	add_pending(s, p.kernel, cell_key(pc, events, TIME_KERNEL));
	s->pending = (struct pending){ 0 };
}

/* As idle() of profile.c, after the piece's first commit. */
static void idle(struct profile_shard *s, const struct rec_cycle *c)
{
	uint64_t key;

	if (!(c->flags & RC_ROB_EMPTY)) {
		s->pending.stalled += c->repeat;
		s->pending.pc = c->head_pc;
	} else if (c->flush_cause == FLUSH_NONE) {
		s->pending.drained += c->repeat;
	} else if (profile_flushed(c, s->last_po, s->last_key, &key)) {
		add_up(s,
		       cell_key(key >> CELL_EVENT_BITS, (unsigned)key & CELL_EVENT_MASK,
				profile_flush_category(c)),
		       c->repeat * s->scale, 0);
	} else {
		*(profile_in_kernel(c) ? &s->pending.kernel : &s->pending.excepted) += c->repeat;
		s->pending.pc = c->flush_pc;
	}
}

/* The oldest instruction of a group that commits: whose thread it is, and what time waited for it. */
static void begin_commit(struct profile_shard *s, const struct rec_cycle *c,
			 const struct rec_inst *r)
{
	const unsigned events = r->psv & CELL_EVENT_MASK;

	if (!s->committed) {
		PUT_OP(s, PIECE_FIRST, struct op_first, .record = *c, .cycle = s->cycle,
		       .pc = r->pc, .events = events, .cls = r->cls, .tid = r->tid);
		s->committed = true;
		s->tid = r->tid;
		return;
	}
	if (unlikely(r->tid != s->tid)) {
		flush_sums(s);
		PUT_OP(s, PIECE_THREAD, struct op_thread, .cycle = s->cycle, .last_po = s->last_po,
		       .pending = s->pending, .tid = r->tid);
		s->tid = r->tid;
	}
	if (is_pending(&s->pending))
		settle(s, r->pc, events, r->cls);
}

static bool commit(struct profile_shard *s, struct walk *w, const struct rec_cycle *c,
		   struct brief_inst *to, struct err *e)
{
	uint64_t units = s->first_share[c->ncommit];

	for (unsigned i = 0; i < c->ncommit; i++, units = s->share[c->ncommit]) {
		const struct rec_inst *r = walk_next(w, c, i, e);
		if (unlikely(!r))
			return false;
		const unsigned events = r->psv & CELL_EVENT_MASK;

		to[i] = (struct brief_inst){ r->pc, r->seq, r->psv, (uint8_t)r->cls };
		if (!i)
			begin_commit(s, c, r);
		add_up(s, cell_key(r->pc, events, TIME_EXECUTION), units, 1);
		if (unlikely(events)) {
			profile_events(&s->sums, events);
			if (events & PSV_FL_EX)
				PUT_OP(s, PIECE_NOTE, struct op_note, .po = r->po,
				       .cycle = s->cycle + 1);
		}
	}
	s->insts += c->ncommit;
	s->last_key = profile_inst_key(&w->insts[w->at - 1]);
	s->last_po = c->head_po + c->ncommit - 1;
	return true;
}

static void note_sample(struct profile_shard *s, const struct rec_cycle *c, uint64_t end)
{
	PUT_OP(s, PIECE_SAMPLE, struct op_sample, .record = *c, .cycle = s->cycle,
	       .index = s->nrecords, .last_po = s->last_po, .last_key = s->last_key,
	       .committed = s->committed);
	s->next_sample = UINT64_MAX;
	for (size_t i = 0; i < s->nclocks; i++) {
		while (s->clock[i].next < end)
			sampler_schedule(&s->clock[i]);
		s->next_sample = min_u64(s->next_sample, s->clock[i].next);
	}
}

/* Samples that fall into batches of other shards. */
static void skip_samples(struct profile_shard *s)
{
	if (s->next_sample >= s->before)
		return;
	s->next_sample = UINT64_MAX;
	for (size_t i = 0; i < s->nclocks; i++) {
		while (s->clock[i].next < s->before)
			sampler_schedule(&s->clock[i]);
		s->next_sample = min_u64(s->next_sample, s->clock[i].next);
	}
}

static void begin_piece(struct profile_shard *s, size_t ninsts, size_t ncycles)
{
	struct piece head = { .before = s->before };

	s->piece = s->out.used;
	head.records = sizeof(head);
	head.insts = head.records + ncycles * sizeof(struct brief_record);
	head.ops = head.insts + ninsts * sizeof(struct brief_inst);
	*(struct piece *)room(s, head.ops) = head;
	s->nrecords = s->ninsts = 0;
	s->cycle = s->insts = 0;
	s->committed = false;
	s->pending = (struct pending){ 0 };
	s->last_po = s->last_key = 0;
}

static void end_piece(struct profile_shard *s, const struct rec_cycle *last)
{
	const struct brief_record *r;
	struct op_end *end;

	flush_sums(s);
	end = add_op(s, PIECE_END, sizeof(*end) + last->ncommit * sizeof(end->key[0]));

	const struct piece_op head = end->op;
	struct piece *p = piece_of(s);

	*end = (struct op_end){ .op = head,
				.cycles = s->cycle,
				.insts = s->insts,
				.committed = s->committed,
				.pending = s->pending,
				.next_cycle = s->next_cycle,
				.last_po = s->last_po,
				.last_key = s->last_key,
				.record = *last,
				.n = last->ncommit };
	if (last->ncommit) {
		r = (struct brief_record *)((uint8_t *)p + p->records) + s->nrecords - 1;

		const struct brief_inst *in =
		    (struct brief_inst *)((uint8_t *)p + p->insts) + r->first;

		for (unsigned i = 0; i < last->ncommit; i++)
			end->key[i] = in[i].pc << CELL_EVENT_BITS | (in[i].psv & CELL_EVENT_MASK);
	}
	p->nrecords = s->nrecords;
	p->ninsts = s->ninsts;
	p->ops_bytes = s->out.used - s->piece - p->ops;
	p->bytes = s->out.used - s->piece;
}

bool profile_shard_batch(struct profile_shard *s, const struct rec_inst *insts, size_t ninsts,
			 const struct rec_cycle *cycles, size_t ncycles, struct err *e)
{
	struct walk walk = { insts, ninsts, 0 };
	uint64_t grid = s->before / TIME_PHASE_BASE * TIME_PHASE_BASE;

	if (!ncycles)
		return true;
	skip_samples(s);
	begin_piece(s, ninsts, ncycles);
	for (size_t i = 0; i < ncycles; i++) {
		const struct rec_cycle *c = &cycles[i];
		const uint64_t end = s->before + s->cycle + c->repeat;
		const bool sampled = s->next_sample < end;

		walk_fetch(&cycles[i + WALK_AHEAD]);
		if (s->committed && c->cycle != s->next_cycle && is_pending(&s->pending))
			settle(s, s->pending.pc, 0, CLASS_ALU);
		s->next_cycle = c->cycle + c->repeat;
		if (unlikely(sampled))
			note_sample(s, c, end);
		if (sampled || c->ncommit || c->ndispatch) {
			struct piece *p = piece_of(s);

			((struct brief_record *)((uint8_t *)p + p->records))[s->nrecords++] =
			    (struct brief_record){ c->head_po, c->dispatch_seq, (uint32_t)s->ninsts,
						   c->ncommit, c->ndispatch };
		}
		if (c->ncommit) {
			struct brief_inst group[WALK_WIDTH_MAX];

			if (!commit(s, &walk, c, group, e))
				return false;

			struct piece *p = piece_of(s); /* operations may have moved it */

			memcpy((struct brief_inst *)((uint8_t *)p + p->insts) + s->ninsts, group,
			       c->ncommit * sizeof(group[0]));
			s->ninsts += c->ncommit;
		} else if (s->committed) {
			idle(s, c);
		} else {
			PUT_OP(s, PIECE_IDLE, struct op_idle, .record = *c);
		}
		s->cycle += c->repeat;
		if (unlikely(end >= grid) && c->ncommit) { /* H1 */
			flush_sums(s);
			PUT_OP(s, PIECE_PHASE, struct op_phase, .cycle = s->cycle,
			       .insts = s->insts);
			grid = (end / TIME_PHASE_BASE + 1) * TIME_PHASE_BASE;
		}
	}
	end_piece(s, &cycles[ncycles - 1]);
	return true;
}

/* ---- taking pieces in their order ---- */

/* Serves the samplers with a record of which is known what commits and dispatches in it. */
static void serve(struct profile *p, const struct piece *in, size_t index, struct sampler_view v)
{
	const struct brief_record *b =
	    (const struct brief_record *)((const uint8_t *)in + in->records) + index;
	const struct brief_inst *from =
	    (const struct brief_inst *)((const uint8_t *)in + in->insts) + b->first;
	const struct rec_cycle brief = { .ncommit = b->ncommit,
					 .ndispatch = b->ndispatch,
					 .dispatch_seq = b->dispatch_seq };
	struct rec_inst insts[WALK_WIDTH_MAX];
	const struct rec_inst *list[WALK_WIDTH_MAX];
	struct group g;

	g.n = b->ncommit;
	for (unsigned k = 0; k < g.n; k++) {
		struct rec_inst *r = &insts[k];

		r->pc = from[k].pc;
		r->seq = from[k].seq;
		r->psv = from[k].psv;
		r->cls = from[k].cls;
		r->po = b->head_po + k;
		list[k] = r;
		g.key[k] = profile_inst_key(r);
	}
	v.commit = &g;
	if (!v.rec)
		v.rec = &brief;
	profile_sample(p, &v, list);
}

static void take_sample(struct profile *p, const struct piece *in, const struct op_sample *o)
{
	struct sampler_view v = { .rec = &o->record,
				  .last_key = o->committed ? o->last_key : p->last_key,
				  .category = profile_category(&o->record) };

	if (!o->record.ncommit)
		v.flushed = profile_flushed(&o->record, o->committed ? o->last_po : p->last_po,
					    v.last_key, &v.flush_key);
	p->cycles = in->before + o->cycle;
	serve(p, in, o->index, v);
}

/* Records from *at on, up to `end`, for as long as samples wait. */
static void resolve(struct profile *p, const struct piece *in, size_t at, size_t end)
{
	p->cycles = in->before; /* no sample falls into these records */
	for (; p->waiting && at < end; at++)
		serve(p, in, at, (struct sampler_view){ .rec = NULL });
}

static const struct piece_op *next_op(const struct piece_op *op)
{
	return (const struct piece_op *)((const uint8_t *)op + op->bytes);
}

static void take_samples(struct profile *p, const struct piece *in)
{
	const struct piece_op *op = (const struct piece_op *)((const uint8_t *)in + in->ops);
	size_t at = 0;

	for (; op->kind != PIECE_END; op = next_op(op)) {
		if (op->kind != PIECE_SAMPLE)
			continue;

		const struct op_sample *o = (const struct op_sample *)op;

		resolve(p, in, at, (size_t)o->index);
		take_sample(p, in, o);
		at = (size_t)o->index + 1;
	}
	resolve(p, in, at, in->nrecords);
}

static void take_first(struct profile *p, const struct piece *in, const struct op_first *o)
{
	profile_begin(p, &o->record);
	p->cycles = in->before + o->cycle;
	if (o->tid != p->tid)
		profile_thread(p, o->tid);
	p->insts++; /* the run has begun; take_end says how many there are */
	if (p->stalled | p->drained | p->excepted | p->kernel)
		profile_settle(p, o->pc, o->events, o->cls);
}

static void take_thread(struct profile *p, const struct piece *in, const struct op_thread *o)
{
	p->cycles = in->before + o->cycle;
	p->last_po = o->last_po;
	p->stalled = o->pending.stalled;
	p->drained = o->pending.drained;
	p->excepted = o->pending.excepted;
	p->kernel = o->pending.kernel;
	profile_thread(p, (uint32_t)o->tid);
	p->stalled = p->drained = p->excepted = p->kernel = 0; /* H2: settled in the piece */
}

static void take_add(struct profile *p, const struct op_add *o)
{
	const size_t n = (o->op.bytes - sizeof(*o)) / sizeof(o->cell[0]);

	for (size_t i = 0; i < n; i++) {
		if (i + 8 < n)
			__builtin_prefetch(cells_slot(&p->cells, o->cell[i + 8].key), 1);
		cells_add(&p->cells, o->cell[i].key, o->cell[i].units, o->cell[i].count);
	}
}

static void take_end(struct profile *p, const struct piece *in, const struct op_end *o,
		     uint64_t insts)
{
	p->cycles = in->before + o->cycles;
	p->insts = insts + o->insts;
	if (o->committed) {
		p->stalled = o->pending.stalled;
		p->drained = o->pending.drained;
		p->excepted = o->pending.excepted;
		p->kernel = o->pending.kernel;
		p->pending_pc = o->pending.pc;
		p->last_po = o->last_po;
		p->last_key = o->last_key;
	}
	p->next_cycle = o->next_cycle;
	p->last_rec = o->record;
	p->last_commit.n = o->n;
	memcpy(p->last_commit.key, o->key, o->n * sizeof(o->key[0]));
}

static void take_piece(struct profile *p, const struct piece *in)
{
	const uint64_t insts = p->insts;
	const struct piece_op *op;

	take_samples(p, in);
	for (op = (const struct piece_op *)((const uint8_t *)in + in->ops);; op = next_op(op)) {
		switch ((enum piece_kind)op->kind) {
		case PIECE_IDLE:
			profile_idle(p, &((const struct op_idle *)op)->record);
			break;
		case PIECE_FIRST:
			take_first(p, in, (const struct op_first *)op);
			break;
		case PIECE_ADD:
			take_add(p, (const struct op_add *)op);
			break;
		case PIECE_PHASE:
			p->cycles = in->before + ((const struct op_phase *)op)->cycle;
			p->insts = insts + ((const struct op_phase *)op)->insts;
			cells_later_flush(&p->later);
			profile_phase(p);
			break;
		case PIECE_THREAD:
			take_thread(p, in, (const struct op_thread *)op);
			break;
		case PIECE_NOTE: {
			const struct op_note *o = (const struct op_note *)op;

			if (p->waits.count)
				waits_note(&p->waits, o->po, in->before + o->cycle);
			break;
		}
		case PIECE_SAMPLE:
			break;
		case PIECE_END:
			cells_later_flush(&p->later);
			take_end(p, in, (const struct op_end *)op, insts);
			return;
		}
	}
}

static bool take(void *ctx, const struct turn *turn, struct err *e)
{
	const uint8_t *at = turn->data, *end = at + turn->used;

	while (at < end) {
		take_piece(ctx, (const struct piece *)at);
		at += ((const struct piece *)at)->bytes;
	}
	return true;
}

bool profile_shard_turn(struct profile_shard *s, uint64_t index, struct err *e)
{
	return turns_bring(&s->whose->turns, index, &s->out, take, s->first, e);
}

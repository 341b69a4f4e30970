/* SPDX-License-Identifier: MIT */
/*
 * Codes the instruction records in a block of a trace file: the predictions of inst_fields.def, and
 * what is learnt from each record for the next ones.
 *
 * Committed instructions are coded in program order. A run of squashed ones, which comes youngest
 * first, is coded oldest first, so that both read as straight code. What predicts what:
 *   pc          the target of the one before; its target: fall-through, last target, return stack
 *   static part what was last seen at this pc in this block
 *   taken       two-bit counters by pc and history
 *   producers   the last writers of its source registers, if they had not committed at dispatch
 *   ready       when the last producer completed; dispatch and commit: in order, up to their widths
 *   complete    issue + execution + miss latency, which follow the level that served it
 *   address     per-pc stride
 *   events      those last seen with the same levels and flags
 * A prediction that is often wrong costs bytes, never correctness.
 *
 * A brief record is a committed instruction without NOTE rows: it reached no stage, so most of what
 * is predicted and learnt here is constant. Everything is inlined into codec_put_brief(), so that
 * the compiler sees that: a brief record takes less than half the time of a whole one.
 */
#include "trace/file_codec_int.h"

#include <string.h>

#define AHEAD 8 /* how many brief records ahead their entries in the table are prefetched */

#define FLAGS_CONTROL (RI_BRANCH | RI_JUMP | RI_CALL | RI_RETURN)

/*
 * The record being coded, and what is known before it. The first three members are constants where
 * a walk is inlined. To stay in registers, the struct is passed by address only to inlined
 * functions and indexed only by constants.
 */
struct walk {
	bool brief;
	bool committed;
	bool first; /* of a run of squashed instructions */
	struct codec *c;
	struct inst_coder *k;
	struct recent now;
	struct static_inst *s;	/* of its pc */
	struct static_notes *n; /* of its pc; not for brief records */
	uint8_t epoch;
	uint64_t v[I_COUNT];
};

#define NUMBER(id) I_##id
#define V(id)	   w->v[I_##id]
/* A member of the instruction before it on its path. */
#define PREV(m) (w->committed || w->first ? w->now.last.m : w->now.last_squashed.m)

/* Steps */

WALK_INLINE void find_static(struct walk *w)
{
	const size_t slot = static_slot(V(PC));
	w->s = &w->c->statics[slot];
	w->n = &w->c->notes[slot];
	if (unlikely(w->s->pc != V(PC) || w->s->epoch != w->epoch)) {
		*w->s = (struct static_inst){ .pc = V(PC), .epoch = w->epoch };
		if (!w->brief)
			*w->n = (struct static_notes){ 0 };
	}
}

static void decode_word(struct static_inst *s, struct static_notes *n)
{
	struct inst in = isa_decode(s->word);
	struct inst_operands o = isa_operands(&in);
	n->decoded = true;
	n->dst = o.dst & 63;
	for (int i = 0; i < 3; i++)
		n->src[i] = o.src[i] & 63;
	s->taken_target = s->pc + (uint64_t)(int64_t)in.imm;
	s->has_target = true;
}

WALK_INLINE void learn_word(struct walk *w)
{
	const bool changed = V(WORD) != w->s->word;
	if (unlikely(changed)) {
		w->s->word = (uint32_t)V(WORD);
		w->s->has_target = false;
	}
	if (!w->brief && unlikely(changed || !w->n->decoded))
		decode_word(w->s, w->n);
}

/* Predictions, in the order of the rows */

WALK_INLINE uint64_t *wrong_pc_slot(struct walk *w)
{
	return &w->k->wrong_pc[hash_u64(w->now.last.pc) & 255];
}

WALK_INLINE uint64_t predict_pc(struct walk *w)
{
	return w->committed ? w->now.last_target
	       : w->first   ? *wrong_pc_slot(w)
			    : w->now.squashed_target;
}

/* After a run of squashed instructions the right path goes on with larger numbers. */
WALK_INLINE uint64_t predict_seq(const struct walk *w)
{
	const uint64_t po = V(PO), next = PREV(seq) + 1;
	if (w->brief || !w->committed || w->k->flush[po % FLUSH_SLOTS].po != po)
		return next;
	return max_u64(next, w->k->flush[po % FLUSH_SLOTS].seq);
}

/* Whether fetch was redirected after the instruction before. redirect_kind: 0 by a mispredicted
 * branch, 1 by a commit that flushed the pipeline. */
WALK_INLINE bool is_redirected(const struct walk *w)
{
	return w->committed && w->now.last.flags & (RI_MISPREDICT | RI_FLUSHES);
}
WALK_INLINE unsigned redirect_kind(const struct walk *w)
{
	return w->now.last.flags & RI_MISPREDICT ? 0 : 1;
}
WALK_INLINE uint64_t redirect_cycle(const struct walk *w)
{
	return redirect_kind(w) ? w->now.last.leave : w->now.last.complete;
}

WALK_INLINE uint64_t predict_fetch(const struct walk *w)
{
	if (unlikely(is_redirected(w)))
		return redirect_cycle(w) + w->k->redirect[redirect_kind(w)];
	return PREV(fetch) + (uint64_t)(int64_t)w->s->fetch_delta;
}

WALK_INLINE uint8_t *taken_counter(const struct walk *w)
{
	return &w->k->taken[((V(PC) >> 1) ^ w->k->history) & (TAKEN_SLOTS - 1)];
}

WALK_INLINE uint32_t predict_flags(const struct walk *w)
{
	const uint32_t flags = w->s->flags | (w->committed ? RI_COMMITTED : 0) |
			       (V(FETCH) != PREV(fetch) ? RI_FETCH_HEAD : 0);
	if (flags & RI_BRANCH)
		return (flags & ~(uint32_t)RI_TAKEN) | (*taken_counter(w) >= 2 ? RI_TAKEN : 0);
	return flags;
}

WALK_INLINE uint64_t earliest_dispatch(const struct walk *w)
{
	return V(FETCH) + w->c->meta.frontend_depth;
}

WALK_INLINE uint64_t predict_dispatch(const struct walk *w)
{
	const uint64_t earliest = earliest_dispatch(w);
	const uint64_t at = w->committed ? w->now.last.dispatch +
					       (w->now.dispatch_count >= w->c->meta.dispatch_width)
			    : w->first ? 0
				       : PREV(dispatch);
	return at != NEVER && at > earliest ? at : earliest;
}

WALK_INLINE uint64_t predict_decode(const struct walk *w)
{
	return V(DISPATCH) != NEVER ? V(DISPATCH) - w->now.decode_depth
				    : V(FETCH) + w->now.fetch_decode;
}

WALK_INLINE uint64_t predict_producer(const struct walk *w, int i)
{
	const unsigned reg = w->n->src[i];
	const uint64_t po = V(PO);
	if (V(DISPATCH) == NEVER)
		return 0;
	if (!w->committed)
		return reg && w->k->spec_run[reg] == w->k->run ? po - w->k->spec_writer[reg]
							       : w->n->prod[i];
	const uint64_t writer = reg ? w->k->writer[reg] : 0;
	const struct flight *f = &w->c->flights[writer & (FLIGHT_SLOTS - 1)];
	return writer && f->po == writer && f->commit > V(DISPATCH) ? po - writer : 0;
}

/* When the result of the producer of source i could be used; 0: unknown. */
WALK_INLINE uint64_t available(const struct walk *w, int i)
{
	const uint64_t distance = w->v[I_PROD0 + i], po = V(PO) - distance;
	const struct flight *f = &w->c->flights[po & (FLIGHT_SLOTS - 1)];
	return distance && f->po == po ? f->available : 0;
}

/* A plain store is ready when its address is; its data, the second source, may come later. */
WALK_INLINE bool is_split(const struct walk *w)
{
	return (V(FLAGS) & (RI_STORE | RI_LOAD)) == RI_STORE;
}

WALK_INLINE uint64_t predict_ready(const struct walk *w)
{
	uint64_t ready = (V(DISPATCH) == NEVER ? V(FETCH) : V(DISPATCH)) + 1;
	ready = max_u64(ready, available(w, 0));
	ready = max_u64(ready, available(w, 2));
	return is_split(w) ? ready : max_u64(ready, available(w, 1));
}

WALK_INLINE bool is_fetch_head(const struct walk *w)
{
	return V(FLAGS) & RI_FETCH_HEAD;
}

WALK_INLINE uint64_t predict_complete(const struct walk *w)
{
	const uint64_t done = (V(ISSUE) == NEVER ? V(FETCH) : V(ISSUE)) + V(LAT_EXEC) +
			      (V(FLAGS) & RI_LOAD ? V(LAT_DMISS) : 0);
	return is_split(w) ? max_u64(done, available(w, 1)) : done;
}

WALK_INLINE uint64_t predict_commit(const struct walk *w)
{
	if (!w->committed)
		return w->first ? w->now.last.leave : PREV(leave);
	const uint64_t at = w->now.last.leave + (w->now.commit_count >= w->c->meta.commit_width);
	return V(COMPLETE) != NEVER && V(COMPLETE) > at ? V(COMPLETE) : at;
}

/* The events last seen with an instruction of the same levels and flags. */
WALK_INLINE uint32_t *psv_slot(const struct walk *w)
{
	const uint32_t mask = (RI_MISPREDICT | RI_LOAD | RI_STORE | RI_FLUSHES) / RI_MISPREDICT;
	_Static_assert(RI_MISPREDICT < RI_LOAD && RI_LOAD < RI_STORE && RI_STORE < RI_FLUSHES &&
			   (RI_FLUSHES / RI_MISPREDICT * 2) << 4 <= ARRAY_LEN(w->k->psv),
		       "all of them have a place in the table");
	return &w->k->psv[(V(FLAGS) / RI_MISPREDICT & mask) << 4 | (V(ILEVEL) > LEVEL_L1) << 3 |
			  (V(DLEVEL) & 7)];
}

/* The address after the instruction. */
WALK_INLINE uint64_t after(const struct walk *w)
{
	return V(PC) + ((V(WORD) & 3) == 3 ? 4 : 2);
}

WALK_INLINE uint64_t predict_target(const struct walk *w)
{
	const uint64_t flags = V(FLAGS);
	if (!(flags & FLAGS_CONTROL))
		return after(w);
	if (flags & RI_RETURN)
		return w->k->ras[w->k->ras_top % RAS_SLOTS];
	if (flags & RI_BRANCH && !(flags & RI_TAKEN))
		return after(w);
	return w->s->has_target ? w->s->taken_target
				: w->s->pc + (uint64_t)(int64_t)isa_decode(w->s->word).imm;
}

WALK_INLINE uint64_t predict_lat_fu(const struct walk *w)
{
	const uint64_t ready = V(READY), issue = V(ISSUE);
	return issue != NEVER && ready != NEVER && issue > ready ? clip_u16(issue - ready) : 0;
}

WALK_INLINE uint32_t reach_of(const struct rec_inst *r)
{
	return (r->decode == STAMP_NONE ? REACH_DECODE : 0) |
	       (r->dispatch == STAMP_NONE ? REACH_DISPATCH : 0) |
	       (r->ready == STAMP_NONE ? REACH_READY : 0) |
	       (r->issue == STAMP_NONE ? REACH_ISSUE : 0) |
	       (r->complete == STAMP_NONE ? REACH_COMPLETE : 0);
}

#define LOAD_REACH  (w->brief ? REACH_NONE : reach_of(r))
#define HAS_REACH   true
#define STORE_REACH x = (uint32_t)x

#define WALK_FIELDS "trace/inst_fields.def"
#define WALK_RECORD struct rec_inst
#define WALK_COLUMN COLUMN_INST
#include "trace/file_walk.h"

/* What later instructions learn from the record that was just walked. */

/* Learns directions and targets. */
WALK_INLINE void learn_control(struct walk *w)
{
	struct inst_coder *k = w->k;
	const uint64_t flags = V(FLAGS);
	if (!(flags & (FLAGS_CONTROL | RI_TAKEN)))
		return;
	if (flags & (RI_TAKEN | RI_JUMP | RI_CALL)) {
		w->s->taken_target = V(TARGET);
		w->s->has_target = true;
	}
	if (!w->committed)
		return;
	if (flags & RI_BRANCH) {
		uint8_t *counter = taken_counter(w);
		const bool taken = flags & RI_TAKEN;
		if (taken && *counter < 3)
			++*counter;
		else if (!taken && *counter)
			--*counter;
		k->history = k->history << 1 | taken;
	}
	if (flags & RI_RETURN)
		k->ras_top--;
	if (flags & RI_CALL)
		k->ras[++k->ras_top % RAS_SLOTS] = after(w);
}

WALK_INLINE void learn_notes(struct walk *w)
{
	struct inst_coder *k = w->k;
	struct static_notes *n = w->n;
	if (V(ISSUE) != NEVER)
		n->dlevel = (uint8_t)V(DLEVEL);
	if (V(COMPLETE) != NEVER)
		n->lat_exec = (uint16_t)V(LAT_EXEC);
	if (V(DLEVEL) > LEVEL_L1) {
		k->lat_dmiss[V(DLEVEL) & 7] = (uint16_t)V(LAT_DMISS);
		k->lat_data[V(DLEVEL) & 7] = V(LAT_DATA);
	}
	if (V(ILEVEL) > LEVEL_L1)
		k->lat_icache[V(ILEVEL) & 7] = (uint16_t)V(LAT_ICACHE);
	else
		k->ilevel[is_fetch_head(w)] = (uint8_t)V(ILEVEL);
	if (V(ADDR) != n->addr + (uint64_t)n->stride)
		n->stride = n->addr ? (int64_t)(V(ADDR) - n->addr) : 0;
	n->addr = V(ADDR);
	if (V(DISPATCH) != NEVER && V(DECODE) != NEVER)
		w->now.decode_depth = V(DISPATCH) - V(DECODE);
	else if (V(DECODE) != NEVER)
		w->now.fetch_decode = V(DECODE) - V(FETCH);
	if (V(DISPATCH) != NEVER)
		n->prod_mem = (uint32_t)V(PROD_MEM);
	if (V(DISPATCH) != earliest_dispatch(w))
		w->now.stall = (uint8_t)V(DISPATCH_STALL);
}

WALK_INLINE void learn_squashed(struct walk *w)
{
	struct inst_coder *k = w->k;
	w->n->prod[0] = (uint32_t)V(PROD0);
	w->n->prod[1] = (uint32_t)V(PROD1);
	w->n->prod[2] = (uint32_t)V(PROD2);
	if (w->n->dst) {
		k->spec_writer[w->n->dst] = V(PO);
		k->spec_run[w->n->dst] = k->run;
	}
	if (w->first)
		*wrong_pc_slot(w) = V(PC);
	else
		w->s->fetch_delta = (int32_t)(V(FETCH) - PREV(fetch));
	w->now.reach = (uint32_t)V(REACH);
	w->now.squashed_target = V(TARGET);
}

WALK_INLINE void learn_committed(struct walk *w)
{
	struct inst_coder *k = w->k;
	if (unlikely(is_redirected(w)))
		k->redirect[redirect_kind(w)] = V(FETCH) - redirect_cycle(w);
	else
		w->s->fetch_delta = (int32_t)(V(FETCH) - PREV(fetch));
	if (!w->brief) {
		if (w->n->dst)
			k->writer[w->n->dst] = V(PO);
		w->c->flights[V(PO) & (FLIGHT_SLOTS - 1)] =
		    (struct flight){ .po = V(PO),
				     .available = V(FLAGS) & (RI_LOAD | RI_STORE)
						      ? V(COMPLETE)
						      : V(COMPLETE) + w->c->meta.wakeup_latency,
				     .commit = V(COMMIT) };
		w->now.dispatch_count =
		    V(DISPATCH) == w->now.last.dispatch ? w->now.dispatch_count + 1 : 1;
	}
	w->now.commit_count = V(COMMIT) == w->now.last.leave ? w->now.commit_count + 1 : 1;
	w->now.last_target = V(TARGET);
}

WALK_INLINE void learn(struct walk *w)
{
	*psv_slot(w) = (uint32_t)V(PSV);
	w->s->flags = (uint32_t)V(FLAGS) & ~FLAGS_ONCE;
	w->s->fixed = V(STATIC) & 0xffffff;
	learn_control(w);
	w->now.tid = (uint32_t)V(TID);
	if (!w->brief)
		learn_notes(w);
	if (w->committed)
		learn_committed(w);
	else
		learn_squashed(w);

	const struct mini m = { .seq = V(SEQ),
				.po = V(PO),
				.pc = V(PC),
				.fetch = V(FETCH),
				.dispatch = V(DISPATCH),
				.issue = V(ISSUE),
				.complete = V(COMPLETE),
				.leave = V(COMMIT),
				.flags = (uint32_t)V(FLAGS),
				.dlevel = (uint8_t)V(DLEVEL) };
	if (w->committed)
		w->now.last = m;
	else
		w->now.last_squashed = m;
	if (!w->brief)
		w->c->minis[w->c->ninsts++] = m;
}

/* Whole records */

WALK_INLINE void encode_inst(struct walk *w, const struct rec_inst *r, bool committed, bool first)
{
	w->committed = committed;
	w->first = first;
	masks_put(w->c, &w->c->masks, COLUMN_INST_MASK, encode(w, r));
	learn(w);
}

WALK_INLINE void decode_inst(struct walk *w, struct rec_inst *r, uint32_t mask, bool committed,
			     bool first)
{
	w->committed = committed;
	w->first = first;
	decode(w, r, mask);
	learn(w);
}

/* Ends a run of squashed instructions, coded oldest first: fetch went on after the youngest. */
WALK_INLINE void end_of_run(struct walk *w, uint64_t oldest_po)
{
	w->k->flush[oldest_po % FLUSH_SLOTS].po = oldest_po;
	w->k->flush[oldest_po % FLUSH_SLOTS].seq = w->now.last_squashed.seq + 1;
	w->k->run++;
}

WALK_INLINE void begin_walk(struct walk *w, struct codec *c, bool brief)
{
	w->brief = brief;
	w->c = c;
	w->k = &c->inst;
	w->now = c->inst.recent;
	w->epoch = c->epoch;
}

void codec_inst_begin(struct codec *c)
{
	memset(&c->inst, 0, sizeof(c->inst));
	memset(c->flights, 0, FLIGHT_SLOTS * sizeof(*c->flights));
	c->inst.run = 1;
	c->masks.count = 0;
	if (c->epoch == EPOCHS) { /* epoch numbers begin again */
		memset(c->statics, 0, STATIC_SLOTS * sizeof(*c->statics));
		c->epoch = 0;
	}
	c->epoch++;
}

void codec_inst_end(struct codec *c)
{
	masks_flush(c, &c->masks, COLUMN_INST_MASK);
}

void codec_put_insts(struct codec *c, const struct rec_inst *insts, size_t count)
{
	struct walk w;
	size_t i = 0;
	begin_walk(&w, c, false);
	while (i < count) {
		size_t from = i;
		for (; i < count && insts[i].flags & RI_COMMITTED; i++)
			encode_inst(&w, &insts[i], true, false);
		column_put(&c->column[COLUMN_RUNS], i - from);
		from = i;
		while (i < count && !(insts[i].flags & RI_COMMITTED) &&
		       (i == from || insts[i].seq == insts[i - 1].seq - 1))
			i++;
		column_put(&c->column[COLUMN_RUNS], i - from);
		for (size_t k = i; k-- > from;)
			encode_inst(&w, &insts[k], false, k == i - 1);
		if (i > from)
			end_of_run(&w, insts[i - 1].po);
	}
	c->inst.recent = w.now;
}

bool codec_inst_decode(struct codec *c, struct rec_inst *insts, size_t count)
{
	struct walk w;
	struct mask_columns masks;
	size_t i = 0;
	begin_walk(&w, c, false);
	if (!masks_get(c, COLUMN_INST_MASK, count, &masks))
		return false;
	while (i < count && !c->bad) {
		uint64_t committed = column_get(c, &c->column[COLUMN_RUNS]);
		if (committed > count - i)
			return false;
		for (size_t end = i + committed; i < end && !c->bad; i++)
			decode_inst(&w, &insts[i], mask_at(&masks, i), true, false);
		uint64_t squashed = column_get(c, &c->column[COLUMN_RUNS]);
		if (squashed > count - i)
			return false;
		for (size_t k = squashed; k-- > 0 && !c->bad;)
			decode_inst(&w, &insts[i + k], mask_at(&masks, i + squashed - 1 - k), false,
				    k == squashed - 1);
		i += squashed;
		if (squashed && !c->bad)
			end_of_run(&w, insts[i - 1].po);
	}
	return !c->bad;
}

/* Brief records */

void codec_put_brief(struct codec *c, const struct rec_inst *const *insts, size_t count)
{
	struct walk w;
	if (!count)
		return;
	begin_walk(&w, c, true);
	for (size_t i = 0; i < count; i++) {
		if (i + AHEAD < count)
			__builtin_prefetch(&c->statics[static_slot(insts[i + AHEAD]->pc)], 1);
		encode_inst(&w, insts[i], true, false);
	}
	column_put(&c->column[COLUMN_RUNS], count);
	column_put(&c->column[COLUMN_RUNS], 0);
	c->inst.recent = w.now;
	c->ninsts += count;
}

/* SPDX-License-Identifier: MIT */
/*
 * Committed instructions alone, and of them what precedes the notes: the bytes that file_inst.c
 * would write for such records, which it also reads, at less than half the cost. Without stamps
 * between fetch and commit, and without squashed instructions, most predictions are constants: no
 * producer, no latency, no address, nothing that flights or cycle records would ask for. What is
 * left of what is remembered at a pc fits in half a cache line, which is asked for early.
 *
 * Every prediction here is the one in file_inst.c for a committed instruction that reached no
 * stage; a test holds them together.
 */
#include "trace/file_codec_int.h"

#include <stdlib.h>
#include <string.h>

#define MASKS 128 /* that are kept until they are written */
#define AHEAD 8	  /* instructions whose place in the table is asked for before it is needed */

/* What was last seen at a pc; as struct static_inst, without what is always the same here. */
struct brief_inst {
	uint64_t pc;
	uint64_t taken_target; /* if it is known; else what the word says */
	uint32_t word;
	uint32_t flags; /* … and RI_COMMITTED */
	int32_t fetch_delta;
	uint32_t fixed : 24; /* size and class */
	uint32_t epoch : 7;  /* block in which it was seen, 1 …; 0: never */
	uint32_t has_target : 1;
};
_Static_assert(sizeof(struct brief_inst) == 32, "half a cache line");
#define EPOCHS 127 /* blocks that are told apart */

static inline struct brief_inst *brief_slot(const struct codec *c, uint64_t pc)
{
	return &c->briefs[static_slot(pc)];
}

static inline uint64_t word_target(const struct brief_inst *s)
{
	return s->pc + (uint64_t)(int64_t)isa_decode(s->word).imm;
}

/* Before epochs are used again what they meant is forgotten. */
static void begin_epoch(struct codec *c)
{
	if (!c->briefs)
		c->briefs = x_aligned(STATIC_SLOTS * sizeof(*c->briefs));
	if (c->brief_epoch % EPOCHS == 0) {
		memset(c->briefs, 0, STATIC_SLOTS * sizeof(*c->briefs));
		c->brief_epoch = 0;
	}
	c->brief_epoch++;
}

#define FLAGS_CONTROL (RI_BRANCH | RI_JUMP | RI_CALL | RI_RETURN)

static inline uint64_t predict_target(const struct inst_coder *k, const struct brief_inst *s,
				      uint32_t flags, uint64_t after)
{
	if (flags & RI_RETURN)
		return k->ras[k->ras_top % RAS_SLOTS];
	if (flags & RI_BRANCH && !(flags & RI_TAKEN))
		return after;
	return s->has_target ? s->taken_target : word_target(s);
}

/* The events last seen with an instruction to which the same could happen. */
static inline uint32_t *psv_slot(struct inst_coder *k, uint32_t flags)
{
	const uint32_t mask = (RI_MISPREDICT | RI_LOAD | RI_STORE | RI_FLUSHES) / RI_MISPREDICT;
	_Static_assert(RI_MISPREDICT < RI_LOAD && RI_LOAD < RI_STORE && RI_STORE < RI_FLUSHES &&
			   RI_FLUSHES / RI_MISPREDICT * 2 < ARRAY_LEN(k->psv),
		       "all of them have a place in the table");
	return &k->psv[flags / RI_MISPREDICT & mask];
}

/* Byte by byte into their columns; many at once, which a compiler makes of few instructions. */
static void put_masks(struct codec *c, const uint32_t *masks, size_t count)
{
	for (unsigned k = 0; k < 4; k++) {
		uint8_t *restrict at = c->column[COLUMN_INST_MASK + k].at;
		for (size_t i = 0; i < count; i++)
			at[i] = (uint8_t)(masks[i] >> 8 * k);
		c->column[COLUMN_INST_MASK + k].at += count;
	}
}

void codec_put_brief(struct codec *c, const struct rec_inst *const *insts, size_t count)
{
	const unsigned first = COLUMN_INST;
	struct inst_coder *k = &c->inst;
	struct mini last = k->last;
	uint64_t last_target = k->last_target, commit_cycle = k->commit_cycle;
	uint32_t commit_count = k->commit_count, tid = k->tid;
	uint32_t masks[MASKS];
	if (!count)
		return;
	if (!c->ninsts)
		begin_epoch(c);
	const uint8_t epoch = c->brief_epoch;

	for (size_t i = 0; i < count; i++) {
		const struct rec_inst *r = insts[i];
		uint32_t mask = 1u << I_REACH;
		if (i + AHEAD < count)
			__builtin_prefetch(brief_slot(c, insts[i + AHEAD]->pc), 1);

		PUT_DIFF(I_PC, r->pc, last_target);
		struct brief_inst *s = brief_slot(c, r->pc);
		if (unlikely(s->pc != r->pc || s->epoch != epoch))
			*s = (struct brief_inst){ .pc = r->pc,
						  .flags = RI_COMMITTED,
						  .epoch = epoch };
		if (unlikely(r->word != s->word)) {
			PUT_BITS(I_WORD, r->word, s->word);
			s->word = r->word;
			s->has_target = false;
		}
		PUT_DIFF(I_PO, r->po, last.po + 1);
		PUT_DIFF(I_SEQ, r->seq, last.seq + 1);
		PUT_DIFF(I_TID, r->tid, tid);

		if (unlikely(last.flags & (RI_MISPREDICT | RI_FLUSHES))) {
			const unsigned how = last.flags & RI_MISPREDICT ? 0 : 1;
			const uint64_t redirect = how ? last.leave : UINT64_MAX;
			PUT_DIFF(I_FETCH, r->fetch, redirect + k->redirect[how]);
			k->redirect[how] = r->fetch - redirect;
		} else {
			const uint64_t delta = r->fetch - last.fetch;
			PUT_DIFF(I_FETCH, delta, (uint64_t)(int64_t)s->fetch_delta);
			s->fetch_delta = (int32_t)delta;
		}

		const uint32_t real = r->flags;
		uint32_t flags = s->flags | (r->fetch != last.fetch ? RI_FETCH_HEAD : 0);
		const uint64_t after = r->pc + ((r->word & 3) == 3 ? 4 : 2);
		uint64_t target = after;
		if ((real | flags) & (RI_TAKEN | FLAGS_CONTROL)) {
			uint8_t *counter =
			    &k->taken[((r->pc >> 1) ^ k->history) & (TAKEN_SLOTS - 1)];
			if (flags & RI_BRANCH)
				flags =
				    (flags & ~(uint32_t)RI_TAKEN) | (*counter >= 2 ? RI_TAKEN : 0);
			if (real & FLAGS_CONTROL)
				target = predict_target(k, s, real, after);
			if (real & (RI_TAKEN | RI_JUMP | RI_CALL)) {
				s->taken_target = r->target;
				s->has_target = true;
			}
			inst_coder_learn(k, real, counter, after);
		}
		PUT_BITS(I_FLAGS, real, flags);
		s->flags = (real & ~(uint32_t)(FLAGS_ONCE | RI_FETCH_HEAD)) | RI_COMMITTED;
		PUT_DIFF(I_TARGET, r->target, target);

		const uint64_t leave = r->fetch + r->commit;
		PUT_DIFF(I_COMMIT, leave, commit_cycle + (commit_count >= c->meta.commit_width));
		uint32_t *psv = psv_slot(k, real);
		if (unlikely(r->psv != *psv)) {
			PUT_BITS(I_PSV, r->psv, *psv);
			*psv = r->psv;
		}

		const uint32_t fixed = (uint32_t)r->size << 8 | r->cls;
		if (unlikely(fixed != s->fixed)) {
			PUT_DIFF(I_STATIC, fixed, s->fixed);
			s->fixed = fixed;
		}
		commit_count = leave == commit_cycle ? commit_count + 1 : 1;
		commit_cycle = leave;
		tid = r->tid;
		last_target = r->target;
		last.seq = r->seq;
		last.po = r->po;
		last.fetch = r->fetch;
		last.leave = leave;
		last.flags = real;
		masks[i % MASKS] = mask;
		if (unlikely(i % MASKS == MASKS - 1))
			put_masks(c, masks, MASKS);
	}
	put_masks(c, masks, count % MASKS);
	memset(c->column[COLUMN_INST + I_REACH].at, REACH_NONE, count);
	c->column[COLUMN_INST + I_REACH].at += count;
	column_put(&c->column[COLUMN_RUNS], count);
	column_put(&c->column[COLUMN_RUNS], 0);
	k->last = last;
	k->last_target = last_target;
	k->commit_cycle = commit_cycle;
	k->commit_count = commit_count;
	k->tid = tid;
	c->ninsts += count;
}

/* SPDX-License-Identifier: MIT */
/*
 * Instruction records in a block of a trace file.
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
 */
#include "trace/file_codec_int.h"

#include <string.h>

#define NEVER UINT64_MAX

void codec_inst_begin(struct codec *c)
{
	memset(&c->inst, 0, sizeof(c->inst));
	memset(c->flights, 0, FLIGHT_SLOTS * sizeof(*c->flights));
	c->inst.run = 1;
	c->epoch++;
}

static inline struct static_inst *static_at(struct codec *c, uint64_t pc)
{
	struct static_inst *s = &c->statics[static_slot(pc)];
	if (s->pc != pc || s->epoch != c->epoch) {
		memset(s, 0, sizeof(*s));
		s->pc = pc;
		s->epoch = c->epoch;
	}
	return s;
}

static void learn_word(struct static_inst *s, uint32_t word)
{
	struct inst in = isa_decode(word);
	struct inst_operands o = isa_operands(&in);
	s->word = word;
	s->len = in.len;
	s->dst = o.dst & 63;
	for (int i = 0; i < 3; i++)
		s->src[i] = o.src[i] & 63;
	s->taken_target = s->pc + (uint64_t)(int64_t)in.imm;
}

static inline uint64_t absolute(uint64_t fetch, uint32_t stamp)
{
	return fetch + stamp;
}

static inline unsigned psv_context(const struct rec_inst *r)
{
	return (r->dlevel & 7u) | (r->ilevel > LEVEL_L1) << 3 | !!(r->flags & RI_MISPREDICT) << 4 |
	       !!(r->flags & RI_FLUSHES) << 5 | !!(r->flags & RI_LOAD) << 6 |
	       !!(r->flags & RI_STORE) << 7;
}

static inline uint64_t predict_producer(const struct codec *c, const struct static_inst *s, int i,
					uint64_t po, uint64_t dispatch)
{
	uint64_t w = s->src[i] ? c->inst.writer[s->src[i]] : 0;
	const struct flight *f = &c->flights[w & (FLIGHT_SLOTS - 1)];
	return w && f->po == w && f->commit > dispatch ? po - w : 0;
}

/* When the result of the producer of source i could be used; 0: unknown. */
static inline uint64_t available(const struct codec *c, const struct rec_inst *r, int i)
{
	const struct flight *f = &c->flights[(r->po - r->prod[i]) & (FLIGHT_SLOTS - 1)];
	return r->prod[i] && f->po == r->po - r->prod[i] ? f->available : 0;
}

/* A plain store is ready when its address is; its data, the second source, may come later. */
static inline bool is_split(const struct rec_inst *r)
{
	return (r->flags & (RI_STORE | RI_LOAD)) == RI_STORE;
}

static inline uint64_t predict_ready(const struct codec *c, const struct rec_inst *r,
				     uint64_t dispatch)
{
	uint64_t ready = dispatch + 1;
	for (int i = 0; i < 3; i++)
		if (i != 1 || !is_split(r))
			ready = max_u64(ready, available(c, r, i));
	return ready;
}

static inline __attribute__((always_inline)) void code_inst(struct codec *c, struct rec_inst *r,
							    const bool committed,
							    const bool first_squashed,
							    const bool encoding)
{
	struct inst_coder *k = &c->inst;
	const unsigned first = COLUMN_INST;
	const struct mini *prev = committed || first_squashed ? &k->last : &k->last_squashed;
	const unsigned wrong = (unsigned)(hash_u64(k->last.pc) & 255);
	uint32_t mask = 0;

	if (!encoding)
		for (int i = 0; i < 4; i++)
			mask |= (uint32_t)column_get_byte(c, &c->column[COLUMN_INST_MASK + i])
				<< 8 * i;

	DIFF(I_PC, r->pc,
	     committed	      ? k->last_target
	     : first_squashed ? k->wrong_pc[wrong]
			      : k->squashed_target);
	struct static_inst *s = static_at(c, r->pc);
	BITS(I_WORD, r->word, s->word);
	if (r->word != s->word || !s->len)
		learn_word(s, r->word);

	DIFF(I_PO, r->po, prev->po + 1);
	uint64_t seq = prev->seq + 1;
	if (committed && k->flush[r->po % FLUSH_SLOTS].po == r->po &&
	    k->flush[r->po % FLUSH_SLOTS].seq > seq)
		seq = k->flush[r->po % FLUSH_SLOTS].seq;
	DIFF(I_SEQ, r->seq, seq);
	DIFF(I_TID, r->tid, k->tid);

	uint64_t fetch = prev->fetch + (uint64_t)(int64_t)s->fetch_delta;
	bool redirected = committed && (k->last.flags & (RI_MISPREDICT | RI_FLUSHES));
	unsigned how = k->last.flags & RI_MISPREDICT ? 0 : 1;
	uint64_t redirect = how ? k->last.leave : k->last.complete;
	if (redirected)
		fetch = redirect + k->redirect[how];
	DIFF(I_FETCH, r->fetch, fetch);

	uint32_t flags = (s->flags & ~(uint32_t)(RI_COMMITTED | RI_FETCH_HEAD)) |
			 (committed ? RI_COMMITTED : 0) |
			 (r->fetch != prev->fetch ? RI_FETCH_HEAD : 0);
	uint8_t *counter = &k->taken[((r->pc >> 1) ^ k->history) & (TAKEN_SLOTS - 1)];
	if (s->flags & RI_BRANCH)
		flags = (flags & ~(uint32_t)RI_TAKEN) | (*counter >= 2 ? RI_TAKEN : 0);
	BITS(I_FLAGS, r->flags, flags);

	uint32_t reach = 0;
	if (encoding)
		reach = (r->decode == STAMP_NONE ? REACH_DECODE : 0) |
			(r->dispatch == STAMP_NONE ? REACH_DISPATCH : 0) |
			(r->ready == STAMP_NONE ? REACH_READY : 0) |
			(r->issue == STAMP_NONE ? REACH_ISSUE : 0) |
			(r->complete == STAMP_NONE ? REACH_COMPLETE : 0);
	BITS(I_REACH, reach, committed ? 0 : k->reach);

	uint64_t dispatch = NEVER, decode = NEVER, ready = NEVER, issue = NEVER, complete = NEVER;
	const uint64_t earliest = r->fetch + c->meta.frontend_depth;
	if (!(reach & REACH_DISPATCH)) {
		uint64_t at =
		    committed ? k->dispatch_cycle + (k->dispatch_count >= c->meta.dispatch_width)
		    : first_squashed ? 0
				     : prev->dispatch;
		dispatch = absolute(r->fetch, r->dispatch);
		DIFF(I_DISPATCH, dispatch, at != NEVER && at > earliest ? at : earliest);
	}
	if (!(reach & REACH_DECODE)) {
		decode = absolute(r->fetch, r->decode);
		DIFF(I_DECODE, decode,
		     dispatch != NEVER ? dispatch - k->decode_depth : r->fetch + k->fetch_decode);
	}
	if (!encoding) {
		r->dispatch = dispatch == NEVER ? STAMP_NONE : (uint32_t)(dispatch - r->fetch);
		r->decode = decode == NEVER ? STAMP_NONE : (uint32_t)(decode - r->fetch);
	}

	uint64_t prod[3];
	for (int i = 0; i < 3; i++) {
		unsigned reg = s->src[i];
		if (dispatch == NEVER)
			prod[i] = 0;
		else if (committed)
			prod[i] = predict_producer(c, s, i, r->po, dispatch);
		else
			prod[i] = reg && k->spec_run[reg] == k->run ? r->po - k->spec_writer[reg]
								    : s->prod[i];
	}
	DIFF(I_PROD0, r->prod[0], prod[0]);
	DIFF(I_PROD1, r->prod[1], prod[1]);
	DIFF(I_PROD2, r->prod[2], prod[2]);
	DIFF(I_PROD_MEM, r->prod_mem, dispatch == NEVER ? 0 : s->prod_mem);
	DIFF(I_PROD_LINE, r->prod_line, 0);

	if (!(reach & REACH_READY)) {
		ready = absolute(r->fetch, r->ready);
		DIFF(I_READY, ready, predict_ready(c, r, dispatch == NEVER ? r->fetch : dispatch));
	}
	if (!(reach & REACH_ISSUE)) {
		issue = absolute(r->fetch, r->issue);
		DIFF(I_ISSUE, issue, ready == NEVER ? r->fetch : ready);
	}
	DIFF(I_DLEVEL, r->dlevel, issue == NEVER ? 0 : s->dlevel);
	DIFF(I_ILEVEL, r->ilevel, k->ilevel[!!(r->flags & RI_FETCH_HEAD)]);
	DIFF(I_LAT_EXEC, r->lat_exec, reach & REACH_COMPLETE ? 0 : s->lat_exec);
	DIFF(I_LAT_DMISS, r->lat_dmiss, r->dlevel <= LEVEL_L1 ? 0 : k->lat_dmiss[r->dlevel & 7]);
	if (!(reach & REACH_COMPLETE)) {
		uint64_t done = (issue == NEVER ? r->fetch : issue) + r->lat_exec +
				(r->flags & RI_LOAD ? r->lat_dmiss : 0);
		complete = absolute(r->fetch, r->complete);
		DIFF(I_COMPLETE, complete, is_split(r) ? max_u64(done, available(c, r, 1)) : done);
	}
	uint64_t leave = absolute(r->fetch, r->commit);
	if (committed) {
		uint64_t at = k->commit_cycle + (k->commit_count >= c->meta.commit_width);
		DIFF(I_COMMIT, leave, complete != NEVER && complete > at ? complete : at);
	} else {
		DIFF(I_COMMIT, leave, first_squashed ? k->commit_cycle : prev->leave);
	}
	if (!encoding) {
		r->ready = ready == NEVER ? STAMP_NONE : (uint32_t)(ready - r->fetch);
		r->issue = issue == NEVER ? STAMP_NONE : (uint32_t)(issue - r->fetch);
		r->complete = complete == NEVER ? STAMP_NONE : (uint32_t)(complete - r->fetch);
		r->commit = (uint32_t)(leave - r->fetch);
	}

	uint32_t *psv = &k->psv[psv_context(r)];
	BITS(I_PSV, r->psv, *psv);
	DIFF(I_ADDR, r->addr, s->addr + (uint64_t)s->stride);

	uint64_t after = r->pc + s->len, target = after;
	if (r->flags & RI_RETURN)
		target = k->ras[k->ras_top % RAS_SLOTS];
	else if (r->flags & RI_BRANCH)
		target = r->flags & RI_TAKEN ? s->taken_target : after;
	else if (r->flags & (RI_JUMP | RI_CALL))
		target = s->taken_target;
	DIFF(I_TARGET, r->target, target);

	uint32_t fixed = (uint32_t)r->size << 8 | r->cls;
	DIFF(I_STATIC, fixed, (uint32_t)s->size << 8 | s->cls);
	DIFF(I_LAT_ICACHE, r->lat_icache, r->ilevel <= LEVEL_L1 ? 0 : k->lat_icache[r->ilevel & 7]);
	DIFF(I_LAT_ITLB, r->lat_itlb, 0);
	DIFF(I_LAT_FU, r->lat_fu,
	     issue != NEVER && ready != NEVER && issue > ready ? clip_u16(issue - ready) : 0);
	uint32_t data = (uint32_t)r->lat_dtlb | (uint32_t)r->lat_bus << 16;
	BITS(I_LAT_DATA, data, r->dlevel <= LEVEL_L1 ? 0 : k->lat_data[r->dlevel & 7]);
	DIFF(I_DISPATCH_STALL, r->dispatch_stall, dispatch == earliest ? 0 : k->stall);

	if (encoding) {
		for (int i = 0; i < 4; i++)
			column_byte(&c->column[COLUMN_INST_MASK + i], (uint8_t)(mask >> 8 * i));
	} else {
		r->size = (uint16_t)(fixed >> 8);
		r->cls = (uint8_t)fixed;
		r->lat_dtlb = (uint16_t)data;
		r->lat_bus = (uint16_t)(data >> 16);
	}

	/* learn */
	*psv = r->psv;
	s->size = r->size;
	s->cls = r->cls;
	s->flags = r->flags & ~(uint32_t)FLAGS_ONCE;
	if (issue != NEVER)
		s->dlevel = r->dlevel;
	if (complete != NEVER)
		s->lat_exec = r->lat_exec;
	if (r->dlevel > LEVEL_L1) {
		k->lat_dmiss[r->dlevel & 7] = r->lat_dmiss;
		k->lat_data[r->dlevel & 7] = data;
	}
	if (r->ilevel > LEVEL_L1)
		k->lat_icache[r->ilevel & 7] = r->lat_icache;
	else
		k->ilevel[!!(r->flags & RI_FETCH_HEAD)] = r->ilevel;
	if (r->addr != s->addr + (uint64_t)s->stride)
		s->stride = s->addr ? (int64_t)(r->addr - s->addr) : 0;
	s->addr = r->addr;
	if (r->flags & (RI_TAKEN | RI_JUMP | RI_CALL))
		s->taken_target = r->target;
	if (dispatch != NEVER && decode != NEVER)
		k->decode_depth = dispatch - decode;
	else if (decode != NEVER)
		k->fetch_decode = decode - r->fetch;
	if (dispatch != NEVER)
		s->prod_mem = r->prod_mem;
	if (dispatch != earliest)
		k->stall = r->dispatch_stall;
	k->tid = r->tid;

	struct mini *m = &c->minis[c->ninsts++];
	*m = (struct mini){ .seq = r->seq,
			    .po = r->po,
			    .pc = r->pc,
			    .fetch = r->fetch,
			    .dispatch = dispatch,
			    .issue = issue,
			    .complete = complete,
			    .leave = leave,
			    .flags = r->flags,
			    .dlevel = r->dlevel };
	if (!committed) {
		for (int i = 0; i < 3; i++)
			s->prod[i] = r->prod[i];
		if (s->dst) {
			k->spec_writer[s->dst] = r->po;
			k->spec_run[s->dst] = k->run;
		}
		if (first_squashed)
			k->wrong_pc[wrong] = r->pc;
		else
			s->fetch_delta = (int32_t)(r->fetch - prev->fetch);
		k->reach = reach;
		k->squashed_target = r->target;
		k->last_squashed = *m;
		return;
	}
	if (redirected)
		k->redirect[how] = r->fetch - redirect;
	else
		s->fetch_delta = (int32_t)(r->fetch - prev->fetch);
	inst_coder_learn(k, r->flags, counter, after);
	if (s->dst)
		k->writer[s->dst] = r->po;
	c->flights[r->po & (FLIGHT_SLOTS - 1)] =
	    (struct flight){ .po = r->po,
			     .available = r->flags & (RI_LOAD | RI_STORE)
					      ? complete
					      : complete + c->meta.wakeup_latency,
			     .commit = leave };
	k->dispatch_count = dispatch == k->dispatch_cycle ? k->dispatch_count + 1 : 1;
	k->dispatch_cycle = dispatch;
	k->commit_count = leave == k->commit_cycle ? k->commit_count + 1 : 1;
	k->commit_cycle = leave;
	k->last_target = r->target;
	k->last = *m;
}

/* A run of squashed instructions, oldest first, has been coded: fetch went on after the youngest.
 */
static void end_of_run(struct codec *c, uint64_t oldest_po)
{
	c->inst.flush[oldest_po % FLUSH_SLOTS].po = oldest_po;
	c->inst.flush[oldest_po % FLUSH_SLOTS].seq = c->inst.last_squashed.seq + 1;
	c->inst.run++;
}

void codec_inst_encode(struct codec *c, const struct rec_inst *insts, size_t count)
{
	size_t i = 0;
	while (i < count) {
		size_t from = i;
		while (i < count && insts[i].flags & RI_COMMITTED) {
			code_inst(c, (struct rec_inst *)&insts[i], true, false, true);
			i++;
		}
		column_put(&c->column[COLUMN_RUNS], i - from);
		from = i;
		while (i < count && !(insts[i].flags & RI_COMMITTED) &&
		       (i == from || insts[i].seq == insts[i - 1].seq - 1))
			i++;
		column_put(&c->column[COLUMN_RUNS], i - from);
		for (size_t k = i; k-- > from;)
			code_inst(c, (struct rec_inst *)&insts[k], false, k == i - 1, true);
		if (i > from)
			end_of_run(c, insts[i - 1].po);
	}
}

bool codec_inst_decode(struct codec *c, struct rec_inst *insts, size_t count)
{
	size_t i = 0;
	while (i < count && !c->bad) {
		uint64_t committed = column_get(c, &c->column[COLUMN_RUNS]);
		if (committed > count - i)
			return false;
		for (size_t end = i + committed; i < end && !c->bad; i++)
			code_inst(c, &insts[i], true, false, false);
		uint64_t squashed = column_get(c, &c->column[COLUMN_RUNS]);
		if (squashed > count - i)
			return false;
		for (size_t k = squashed; k-- > 0 && !c->bad;)
			code_inst(c, &insts[i + k], false, k == squashed - 1, false);
		i += squashed;
		if (squashed && !c->bad)
			end_of_run(c, insts[i - 1].po);
	}
	return !c->bad;
}

/* SPDX-License-Identifier: MIT */
/*
 * The core of synth.h: fetches up to four instructions a cycle along predicted paths, dispatches
 * them in order a fixed depth later, computes from their producers when each is ready and
 * complete, and commits in order. Time in which nothing moves is folded.
 */
#include "synth.h"

#include <string.h>

#include "isa/isa.h"
#include "util/util.h"

#define CODE  4000 /* static instructions */
#define RING  512
#define WIDTH 4
#define DEPTH 6
#define ROB   96
#define BASE  0x10400ull
#define NEVER UINT64_MAX

struct fixed {
	uint64_t pc;
	uint32_t word;
	int target;    /* index of the target of a branch or call */
	unsigned odds; /* of 256: probability that the branch is taken */
	uint64_t addr, stride, span;
	uint8_t miss; /* of 256: probability of a miss */
};

struct entry {
	struct rec_inst r;
	uint64_t dispatch, ready, issue, complete;
	bool wrong;
};

struct synth {
	struct emit *out;
	struct rng rng;
	struct fixed code[CODE];
	struct entry ring[RING];
	uint64_t now, head, disp, tail, seq;
	uint64_t map[64];
	uint64_t fetch_time, redirect_po, right_po;
	int at, right_at; /* next to fetch; next on the right path while fetch is on a wrong one */
	int stack[64];
	unsigned depth, right_depth;
	bool wrong;
	uint64_t flush_po, flush_pc;
	uint8_t flush_cause;
	uint64_t touched[CODE];
};

static struct entry *entry_at(struct synth *s, uint64_t po)
{
	return &s->ring[po % RING];
}

static uint32_t pick_word(struct rng *rng, unsigned kind)
{
	static const uint32_t alu[] = { 0x00b50533, 0x40c585b3, 0x00c5e633, 0x00150513,
					0x02c58733 };
	static const uint32_t load[] = { 0x0005b503, 0x0085b603, 0x00052783, 0x01013083 };
	static const uint32_t store[] = { 0x00a5b023, 0x00c5b423, 0x00113423 };
	static const uint32_t branch[] = { 0x00b50463, 0x00c59863, 0x00054663 };
	switch (kind) {
	case 0:
		return alu[rng_below(rng, ARRAY_LEN(alu))];
	case 1:
		return load[rng_below(rng, ARRAY_LEN(load))];
	case 2:
		return store[rng_below(rng, ARRAY_LEN(store))];
	default:
		return branch[rng_below(rng, ARRAY_LEN(branch))];
	}
}

static void make_code(struct synth *s)
{
	uint64_t pc = BASE;
	for (int i = 0; i < CODE; i++) {
		struct fixed *f = &s->code[i];
		unsigned dice = (unsigned)rng_below(&s->rng, 100);
		*f = (struct fixed){ .pc = pc, .target = -1 };
		if (i % 200 == 199) { /* a function's end */
			f->word = 0x00008067;
		} else if (dice < 55) {
			f->word = pick_word(&s->rng, 0);
		} else if (dice < 85) {
			f->word = pick_word(&s->rng, dice < 75 ? 1 : 2);
			f->addr = 0x200000 + rng_below(&s->rng, 1 << 20) * 8;
			f->stride = rng_below(&s->rng, 3) * 8;
			f->span = 8u << rng_below(&s->rng, 16);
			f->miss = rng_below(&s->rng, 8) ? 0 : 40;
		} else if (dice < 98) {
			int function = i / 200 * 200, to = i + 2 + (int)rng_below(&s->rng, 12);
			f->word = pick_word(&s->rng, 3);
			f->odds = rng_below(&s->rng, 3) ? 12 : 128;
			if (i % 200 > 30 && rng_below(&s->rng, 4) == 0) {
				to = i - 5 - (int)rng_below(&s->rng, 20); /* a loop */
				f->odds = 235;
			}
			if (to > function + 199)
				to = function + 199;
			f->target = to;
		} else if (i + 400 < CODE) {
			f->word = 0x008000ef; /* call of a later function */
			f->target = (i / 200 + 1 + (int)rng_below(&s->rng, 2)) * 200;
		} else {
			f->word = dice == 98 ? 0x00000073 : 0x00000013;
		}
		pc += isa_decode(f->word).len;
	}
}

void synth_meta(struct trace_meta *meta)
{
	memset(meta, 0, sizeof(*meta));
	strcpy(meta->program, "/tmp/synth");
	strcpy(meta->machine, "synth");
	meta->fetch_width = meta->decode_width = meta->dispatch_width = WIDTH;
	meta->issue_width = 8;
	meta->commit_width = WIDTH;
	meta->rob_entries = ROB;
	meta->frontend_depth = DEPTH;
	meta->clock_hz = 1e9;
	meta->line_bytes = 64;
}

static void fetch_one(struct synth *s, struct entry *e, bool head)
{
	struct fixed *f = &s->code[s->at];
	struct inst in = isa_decode(f->word);
	const struct op_info *op = &op_info[in.op];
	struct rec_inst *r = &e->r;
	int next = (s->at + 1) % CODE;
	*e = (struct entry){ .dispatch = NEVER, .ready = NEVER, .issue = NEVER, .complete = NEVER };
	e->wrong = s->wrong;
	r->seq = s->seq++;
	r->po = s->tail;
	r->pc = f->pc;
	r->fetch = s->now;
	r->word = f->word;
	r->cls = op->cls;
	r->size = op->mem_bytes;
	r->tid = 1000;
	r->ilevel = LEVEL_L1;
	r->flags = head ? RI_FETCH_HEAD : 0;
	if (op->flags & OPF_LOAD)
		r->flags |= RI_LOAD;
	if (op->flags & OPF_STORE)
		r->flags |= RI_STORE;
	if (f->span) {
		r->addr = f->addr + s->touched[s->at] % f->span;
		if (!s->wrong)
			s->touched[s->at] += f->stride;
	}
	if (op->cls == CLASS_SYSTEM)
		r->flags |= RI_EXCEPTION | RI_FLUSHES | RI_SERIAL;
	if (isa_is_return(&in)) {
		r->flags |= RI_JUMP | RI_RETURN | RI_INDIRECT | RI_TAKEN;
		next = s->depth ? s->stack[--s->depth % 64] : 0;
	} else if (isa_is_call(&in)) {
		r->flags |= RI_JUMP | RI_CALL | RI_TAKEN;
		s->stack[s->depth++ % 64] = next;
		next = f->target;
	} else if (op->cls == CLASS_BRANCH) {
		bool taken = rng_below(&s->rng, 256) < f->odds;
		bool surprise = rng_below(&s->rng, 256) < (f->odds == 128 ? 40 : 4);
		int other = taken ? next : f->target;
		next = taken ? f->target : next;
		r->flags |= RI_BRANCH | (taken ? RI_TAKEN : 0);
		if (surprise && !s->wrong) {
			r->flags |= RI_MISPREDICT;
			s->wrong = true;
			s->redirect_po = r->po;
			s->right_po = r->po + 1;
			s->right_at = next;
			s->right_depth = s->depth;
			r->target = s->code[next].pc;
			s->at = other;
			s->tail++;
			return;
		}
	}
	r->target = s->code[next].pc;
	s->at = next;
	s->tail++;
}

static unsigned fetch_stage(struct synth *s)
{
	unsigned n = 0;
	while (s->now >= s->fetch_time && n < WIDTH && s->tail - s->head < ROB + 16) {
		struct entry *e = entry_at(s, s->tail);
		fetch_one(s, e, !n);
		n++;
		if (e->r.flags & RI_EXCEPTION) {
			s->fetch_time = NEVER;
			break;
		}
		if (e->r.flags & (RI_TAKEN | RI_JUMP))
			break;
	}
	return n;
}

static void dispatch_one(struct synth *s, struct entry *e)
{
	struct inst in = isa_decode(e->r.word);
	struct inst_operands o = isa_operands(&in);
	struct rec_inst *r = &e->r;
	e->dispatch = s->now;
	e->ready = s->now + 1;
	for (int i = 0; i < 3; i++) {
		uint64_t w = o.src[i] ? s->map[o.src[i]] : 0;
		if (w < s->head || w >= r->po)
			continue;
		r->prod[i] = (uint32_t)(r->po - w);
		if ((i != 1 || r->cls != CLASS_STORE) && entry_at(s, w)->complete > e->ready)
			e->ready = entry_at(s, w)->complete;
	}
	if (o.dst)
		s->map[o.dst] = r->po;
	r->lat_fu = rng_below(&s->rng, 10) ? 0 : (uint16_t)rng_below(&s->rng, 4);
	e->issue = e->ready + r->lat_fu;
	r->lat_exec = r->cls == CLASS_MUL ? 3 : r->flags & RI_LOAD ? 3 : 1;
	if (r->flags & RI_LOAD) {
		r->dlevel = LEVEL_L1;
		if (rng_below(&s->rng, 256) < s->code[(r->pc - BASE) / 4 % CODE].miss) {
			r->dlevel = rng_below(&s->rng, 3) ? LEVEL_L2 : LEVEL_MEM;
			r->lat_dmiss =
			    r->dlevel == LEVEL_L2 ? 12 : (uint16_t)(80 + rng_below(&s->rng, 40));
			r->psv |= PSV_ST_L1 | (r->dlevel == LEVEL_MEM ? PSV_ST_LLC : 0);
		}
	}
	e->complete = e->issue + r->lat_exec + r->lat_dmiss;
	if (r->prod[1] && r->cls == CLASS_STORE)
		e->complete = max_u64(e->complete, entry_at(s, r->po - r->prod[1])->complete);
}

static uint32_t stamp(const struct synth *s, uint64_t cycle, uint64_t fetch)
{
	return cycle == NEVER || cycle > s->now ? STAMP_NONE : (uint32_t)(cycle - fetch);
}

static void emit_one(struct synth *s, struct entry *e, bool committed)
{
	struct rec_inst *r = &e->r;
	r->dispatch = stamp(s, e->dispatch, r->fetch);
	r->decode = r->dispatch == STAMP_NONE ? STAMP_NONE : r->dispatch - 2;
	r->ready = stamp(s, e->ready, r->fetch);
	r->issue = stamp(s, e->issue, r->fetch);
	r->complete = stamp(s, e->complete, r->fetch);
	r->commit = (uint32_t)(s->now - r->fetch);
	if (committed)
		r->flags |= RI_COMMITTED;
	if (r->flags & RI_MISPREDICT)
		r->psv |= PSV_FL_MB;
	*emit_inst(s->out) = *r;
}

static bool resolve(struct synth *s)
{
	struct entry *b = s->wrong ? entry_at(s, s->redirect_po) : NULL;
	if (!b || b->complete != s->now)
		return false;
	while (s->tail > s->redirect_po + 1) {
		struct entry *e = entry_at(s, --s->tail);
		struct inst in = isa_decode(e->r.word);
		struct inst_operands o = isa_operands(&in);
		if (o.dst && s->map[o.dst] == e->r.po)
			s->map[o.dst] = 0;
		emit_one(s, e, false);
	}
	if (s->disp > s->tail)
		s->disp = s->tail;
	s->wrong = false;
	s->at = s->right_at;
	s->depth = s->right_depth;
	s->fetch_time = s->now + 2;
	s->flush_po = b->r.po;
	s->flush_pc = b->r.pc;
	s->flush_cause = FLUSH_MISPREDICT;
	return true;
}

static unsigned commit_stage(struct synth *s, bool *flushed)
{
	unsigned n = 0;
	while (n < WIDTH && s->head < s->disp && entry_at(s, s->head)->complete <= s->now) {
		struct entry *e = entry_at(s, s->head++);
		emit_one(s, e, true);
		n++;
		if (e->r.flags & RI_EXCEPTION) {
			s->fetch_time = s->now + 300;
			s->flush_po = e->r.po;
			s->flush_pc = e->r.pc;
			s->flush_cause = FLUSH_EXCEPTION;
			*flushed = true;
			break;
		}
	}
	return n;
}

static uint64_t next_event(const struct synth *s)
{
	uint64_t next = s->fetch_time > s->now ? s->fetch_time : NEVER;
	for (uint64_t po = s->head; po < s->tail; po++) {
		const struct entry *e = &s->ring[po % RING];
		if (po >= s->disp) {
			next = min_u64(next, max_u64(e->r.fetch + DEPTH, s->now + 1));
			break;
		}
		if (e->ready > s->now)
			next = min_u64(next, e->ready);
		if (e->issue > s->now)
			next = min_u64(next, e->issue);
		if (e->complete > s->now)
			next = min_u64(next, e->complete);
	}
	return next == NEVER ? s->now + 1 : next;
}

static void step(struct synth *s)
{
	uint64_t used = s->disp - s->head;
	struct entry *head = entry_at(s, s->head);
	struct rec_cycle r = { .cycle = s->now,
			       .repeat = 1,
			       .head_po = used ? s->head : 0,
			       .head_pc = used ? head->r.pc : 0,
			       .rob_used = (uint16_t)used,
			       .fetch_seq = s->seq,
			       .fetch_po = s->wrong ? s->right_po : s->tail,
			       .fetch_pc = s->code[s->at].pc,
			       .flush_cause = s->flush_cause };
	r.flags = (used ? 0 : RC_ROB_EMPTY) | (used >= ROB ? RC_ROB_FULL : 0) |
		  (s->wrong ? RC_WRONG_PATH : 0) |
		  (used && head->complete <= s->now ? RC_HEAD_DONE : 0);
	emit_reserve(s->out, RING);
	bool flushed = resolve(s);
	r.ncommit = (uint8_t)commit_stage(s, &flushed);
	while (r.ndispatch < WIDTH && s->disp < s->tail && s->disp - s->head < ROB) {
		struct entry *e = entry_at(s, s->disp);
		if (e->r.fetch + DEPTH > s->now)
			break;
		dispatch_one(s, e);
		if (!r.ndispatch++) {
			r.dispatch_seq = e->r.seq;
			r.dispatch_pc = e->r.pc;
			r.flags |= e->wrong ? RC_DISPATCH_WRONG : 0;
		}
		if (!e->wrong)
			s->flush_cause = FLUSH_NONE;
		s->disp++;
	}
	if (s->disp == s->tail || entry_at(s, s->disp)->r.fetch + DEPTH > s->now) {
		r.dispatch_stall = DISPATCH_EMPTY;
	} else if (r.ndispatch < WIDTH) {
		r.dispatch_stall = DISPATCH_ROB;
		if (!r.ndispatch) {
			r.dispatch_seq = entry_at(s, s->disp)->r.seq;
			r.dispatch_pc = entry_at(s, s->disp)->r.pc;
			r.flags |= entry_at(s, s->disp)->wrong ? RC_DISPATCH_WRONG : 0;
		}
	}
	r.nfetch = (uint8_t)fetch_stage(s);
	r.fetch_stall = r.nfetch		 ? FETCH_OK
			: s->now < s->fetch_time ? FETCH_REDIRECT
						 : FETCH_BUFFER;
	for (uint64_t po = s->head; po < s->disp; po++)
		r.nissue += entry_at(s, po)->issue == s->now;
	r.flush_po = s->flush_po;
	r.flush_pc = s->flush_pc;
	if (flushed) {
		r.flags |= RC_FLUSH;
		r.flush_cause = s->flush_cause;
	}
	if (!(r.ncommit | r.ndispatch | r.nfetch | r.nissue) && !flushed)
		r.repeat = (uint32_t)(next_event(s) - s->now);
	*emit_cycle(s->out) = r;
	s->now += r.repeat;
}

uint64_t synth_run(struct emit *e, uint64_t seed, uint64_t insts)
{
	struct synth *s = x_calloc(1, sizeof(*s));
	rng_seed(&s->rng, seed);
	make_code(s);
	s->out = e;
	s->head = s->disp = s->tail = s->seq = 1;
	s->now = 1;
	while (s->head <= insts && !e->stop)
		step(s);
	uint64_t cycles = s->now - 1;
	__builtin_free(s);
	return cycles;
}

/* SPDX-License-Identifier: MIT */
/*
 * Fetch: a packet of instructions per cycle, from an aligned block, to the n-th taken branch, as
 * far as the fetch buffer and the fetch-target queue have room.
 *
 * On the right path an instruction is executed by the guest as it is fetched, or taken from the
 * steps that the guest has already made (after a flush). A control instruction is predicted; if the
 * prediction leads elsewhere, fetch goes there: on a wrong path instructions are executed by
 * spec.c, and their branches too can be mispredicted, resolve and redirect, within the wrong path.
 * A wrong path that reaches what cannot be executed (system call, illegal instruction, unmapped
 * address) waits there. Where the right path finds no instruction, the guest has received its
 * signal already; a uop that stands for the missing instruction goes through the pipeline and traps
 * when it commits.
 *
 * The I-cache is asked once per line: a line buffer holds the line of the last access. An
 * instruction that crosses a line belongs to the line in which it begins. Events of an access
 * (miss, TLB miss) go to the first instruction of the packet that suffered them, as in TEA.
 *
 * After a system call, a thread switch or an instruction that flushes when it commits, fetch waits
 * for the commit: whatever it fetched would be thrown away. (A real front end goes on, which has no
 * effect but early requests for the next lines. Waiting makes programs full of frflags twice as fast
 * to simulate.)
 */
#include "core/pipe.h"

#include <inttypes.h>
#include <stdlib.h>

/* The next packet has not waited for anything so far. */
static void forget_waits(struct core *c)
{
	c->front.lat_icache = c->front.lat_itlb = 0;
	c->front.level = LEVEL_L1;
}

void fetch_redirect(struct core *c, uint64_t pc, bool wrong, uint64_t time, enum fetch_stall reason)
{
	c->front.state = FETCHING;
	c->front.pc = pc;
	c->front.wrong = wrong;
	c->front.time = time;
	c->front.reason = (uint8_t)reason;
	c->front.token = 0;
	c->front.line = ~0ull;
	c->front.psv = 0;
	forget_waits(c);
	if (unlikely(c->front.ahead != NULL))
		ahead_redirect(c);
}

static enum fetch_stall stall_of(uint32_t events)
{
	if (events & MEM_EV_LLC_MISS)
		return FETCH_ICACHE_MEM;
	if (events & MEM_EV_L2_MISS)
		return FETCH_ICACHE_LLC;
	if (events & MEM_EV_L1_MISS)
		return FETCH_ICACHE_L2;
	return FETCH_ITLB;
}

/* An access has been answered: keeps what the packet's first instruction will carry. */
static void fetch_note(struct core *c, const struct mem_result *r)
{
	if (r->events & MEM_EV_L1_MISS)
		c->front.psv |= PSV_DR_L1;
	if (r->events & MEM_EV_L2_MISS)
		c->front.psv |= PSV_DR_L2;
	if (r->events & MEM_EV_LLC_MISS)
		c->front.psv |= PSV_DR_LLC;
	if (r->events & MEM_EV_TLB_MISS)
		c->front.psv |= PSV_DR_TLB;
	if (r->events & MEM_EV_STLB_MISS)
		c->front.psv |= PSV_DR_STLB;
	c->front.level = r->level;
	c->front.lat_itlb += r->xlat;
	c->front.lat_icache += r->miss > r->xlat ? r->miss - r->xlat : 0;
}

void fetch_done(struct core *c, uint64_t token, const struct mem_result *r)
{
	if (token != c->front.token)
		return; /* a redirect came in between */
	fetch_note(c, r);
	c->front.token = 0;
	c->front.state = FETCHING;
	c->front.reason = (uint8_t)stall_of(r->events);
	c->front.time = max_u64(c->now, r->ready - min_u64(r->ready, c->front.l1i_latency));
}

void fetch_asker(const struct core *c, struct mem_asker *who)
{
	*who = (struct mem_asker){ .pc = c->front.pc,
				   .po = c->tail,
				   .seq = c->front.seq,
				   .kind = MISS_FETCH,
				   .wrong = c->front.wrong };
}

void fetch_wake(struct core *c)
{
	if (c->front.state == FETCHING && c->front.time == NEVER)
		c->front.time = c->now;
}

/* Where an access that has missed the L1 will be served. */
static enum fetch_stall level_to_come(const struct core *c, uint64_t pc)
{
	if (memsys_probe(c->mem, MEM_L2, pc))
		return FETCH_ICACHE_L2;
	return memsys_probe(c->mem, MEM_LLC, pc) ? FETCH_ICACHE_LLC : FETCH_ICACHE_MEM;
}

/* Makes the line of pc available; false if fetch has to wait for it. */
static bool fetch_access(struct core *c, uint64_t pc)
{
	uint64_t line = pc & c->front.line_mask;
	uint32_t flags = 0;
	struct mem_result r;

	if (likely(line == c->front.line))
		return true;

	const struct uop *u = uop_get(c, pc, NULL);
	uint32_t ideal = c->ideal;

	if (unlikely(!u))
		return true; /* there is no line to ask for */
	if (unlikely(c->cfg.nideal_pcs))
		ideal = u->ideal;
	if (unlikely(ideal))
		flags = (ideal & IDEAL_IMISS ? MEM_IDEAL_IMISS : 0) |
			(ideal & IDEAL_ITLB ? MEM_IDEAL_ITLB : 0) |
			(ideal & IDEAL_IMEM ? MEM_IDEAL_IMEM : 0) |
			(ideal & IDEAL_BW ? MEM_IDEAL_BW : 0);
	if (c->front.wrong)
		flags |= MEM_WRONG_PATH;
	c->front.token = TOKEN_FETCH | ++c->front.tokens;

	uint64_t block = pc & ~(uint64_t)c->front.block_mask;

	switch (memsys_ifetch(c->mem, c->now, block, c->front.block_mask + 1, c->front.token, flags,
			      &r)) {
	case MEM_DONE:
		c->front.token = 0;
		c->front.line = line;
		if (likely(!r.events && r.ready <= c->now + c->front.l1i_latency))
			return true;
		fetch_note(c, &r);
		if (r.ready <= c->now + c->front.l1i_latency)
			return true;
		c->front.time = r.ready - c->front.l1i_latency;
		c->front.reason = (uint8_t)stall_of(r.events);
		return false;
	case MEM_PENDING:
		c->front.line = line;
		c->front.state = FETCH_WAIT_CACHE;
		c->front.reason = r.events & MEM_EV_TLB_MISS ? FETCH_ITLB : FETCH_ICACHE_L2;
		if (c->rec.wants && c->front.reason == FETCH_ICACHE_L2)
			c->front.reason = (uint8_t)level_to_come(c, pc);
		return false;
	case MEM_RETRY:
		c->front.token = 0;
		c->front.time = r.ready == MEM_NEVER ? NEVER : max_u64(r.ready, c->now + 1);
		c->front.reason = FETCH_ICACHE_L2;
		return false;
	}
	return false;
}

static uint64_t code_version(const struct core *c)
{
	return c->twin.follows ? twin_code_version(c->twin.follows) : guest_code_version(c->guest);
}

void fetch_registers(struct core *c)
{
	c->front.hart = c->twin.follows ? twin_hart(c->twin.follows) : guest_hart(c->guest);
	memcpy(c->front.regs, c->front.hart->x, sizeof(c->front.hart->x));
	memcpy(c->front.regs + 32, c->front.hart->f, sizeof(c->front.hart->f));
	c->front.regs[0] = 0;
	c->front.code_version = code_version(c);
}

/* The guest has entered the kernel, or goes on elsewhere: fetch waits until e has committed. */
static void fetch_trap(struct core *c, struct inflight *e, uint32_t flags)
{
	fetch_registers(c);
	if (flags & STEP_END)
		c->front.ended = true;
	if (flags & STEP_FAULT) {
		e->flags |= RI_FAULT;
		if (c->front.counts_guest && c->front.limit != NEVER)
			c->front.limit++;
		if (c->front.hold != NEVER && !c->twin.follows)
			c->front.hold++;
	}
	if ((flags & STEP_END) || !(e->u->ideal & IDEAL_FLUSH))
		e->state |= ST_TRAP;
}

/* Cannot happen while both cores execute what the guest did. */
static _Noreturn __attribute__((cold)) void twin_differs(const struct core *c, uint64_t pc,
							 uint64_t other)
{
	warn("the twin core is at %#" PRIx64 " where the run was at %#" PRIx64
	     " (instruction %" PRIu64 "); this is a bug in culprit",
	     pc, other, c->tail);
	abort();
}

/* Pages are touched in program order, whatever order the accesses are made in: a page fault is the
 * same instruction's on every machine. */
static bool is_first_touch(struct core *c, const struct uop *u, const struct guest_step *gs)
{
	return u->flags & (UOP_LOAD | UOP_STORE) && !(gs->flags & STEP_FAULT) &&
	       !(u->ideal & IDEAL_FLUSH) && lsu_first_touch(c, gs->addr);
}

/* The guest executes the instruction at pc. */
static inline const struct uop *step_guest(struct core *c, struct inflight *e, uint64_t pc,
					   struct guest_step *gs, uint64_t *value)
{
	struct twin *const twin = c->twin.leads;
	const struct uop *u = NULL;

	if (unlikely(twin != NULL))
		u = twin_before(twin, c, pc);
	guest_step(c->guest, gs);
	assert(gs->pc == pc);
	if (!u || !gs->inst || u->in.word != gs->inst->word)
		u = likely(gs->inst) ? uop_get(c, pc, gs->inst) : uop_missing(c, pc);

	const unsigned dst = u->dst;

	*value = !dst ? 0 : dst < 32 ? c->front.hart->x[dst] : c->front.hart->f[dst - 32];
	e->state = c->lsu.touched && is_first_touch(c, u, gs) ? ST_FAULT : 0;
	if (unlikely(twin != NULL))
		twin_after(twin, c, gs, u, *value, e->state & ST_FAULT);
	return u;
}

/* The twin takes the step that the guest made at pc. */
static inline const struct uop *step_twin(struct core *c, struct inflight *e, uint64_t pc,
					  struct guest_step *gs, uint64_t *value)
{
	uint64_t made_at;
	const struct twin_step *s = twin_step(c->twin.follows, &made_at);

	if (unlikely(made_at != pc))
		twin_differs(c, pc, made_at);
	gs->next_pc = s->next_pc;
	gs->addr = s->addr;
	gs->flags = s->flags;
	gs->tid = 0; /* only records tell it */
	*value = s->value;
	e->state = s->more & TWIN_TOUCH ? ST_FAULT : 0;
	return likely(!(s->more & TWIN_MISSING)) ? uop_get_word(c, pc, s->word)
						 : uop_missing(c, pc);
}

/* Fetches the next instruction of the right path; the guest executes it now. */
static void fetch_right(struct core *c, struct inflight *e, uint64_t pc)
{
	struct guest_step gs;
	uint64_t value;
	const struct uop *u = unlikely(c->twin.follows) ? step_twin(c, e, pc, &gs, &value)
							: step_guest(c, e, pc, &gs, &value);
	const unsigned dst = u->dst;

	e->u = u;
	e->addr = gs.addr;
	e->next_pc = gs.next_pc;
	e->psv = 0;
	e->flags = gs.flags & STEP_TAKEN ? RI_TAKEN : 0;
	e->tid = gs.tid;
	if (unlikely(u->flags & (UOP_HINT | UOP_CODE))) {
		if (u->flags & UOP_HINT)
			e->addr = c->front.regs[u->src[0]] + (uint64_t)(int64_t)u->in.imm;
		else
			c->front.code_version = code_version(c);
	}
	e->undo = c->front.regs[dst];
	if (dst)
		c->front.regs[dst] = value;
	c->front.stream_end++;
	if (unlikely(gs.flags & STEP_TRAPS))
		fetch_trap(c, e, gs.flags);
}

/* Fetches an instruction again that the guest has executed and a flush has squashed. */
static void fetch_again(struct core *c, struct inflight *e, uint32_t slot)
{
	const struct kept_step *step = &c->front.steps[slot];
	const struct uop *u = step->u;

	e->u = u;
	e->addr = step->addr;
	e->next_pc = step->next_pc;
	e->psv = step->psv;
	e->flags = step->flags | RI_REFETCH;
	e->tid = step->tid;
	e->state = step->state;
	e->undo = c->front.regs[u->dst];
	if (u->dst)
		c->front.regs[u->dst] = step->value;
	if (step->state & ST_TRAP)
		fetch_registers(c);
}

/* Fetches the next instruction of a wrong path. False if it cannot be executed. */
static bool fetch_wrong(struct core *c, struct inflight *e, uint64_t pc)
{
	const struct uop *u = uop_get(c, pc, NULL);
	struct spec_result r;

	if (!u)
		return false;
	spec_execute(c, u, c->tail, &r);
	if (r.stuck)
		return false;
	e->u = u;
	e->addr = r.addr;
	e->next_pc = r.next_pc;
	e->undo = c->front.regs[u->dst];
	e->psv = 0;
	e->flags = 0;
	if ((u->flags & UOP_CTRL) && (u->cls == CLASS_JUMP || r.next_pc != pc + u->in.len))
		e->flags = RI_TAKEN;
	e->tid = 0;
	e->state = ST_WRONG;
	if (u->dst)
		c->front.regs[u->dst] = r.value;
	c->stats.wrong_path++;
	return true;
}

/* Predicts the control instruction just fetched; returns where fetch goes on. */
static uint64_t predict(struct core *c, struct inflight *e, uint32_t slot, bool trap)
{
	const struct uop *u = e->u;
	struct bpred_pred *p = &c->front.preds[slot];
	bool taken = e->flags & RI_TAKEN;
	struct bpred_truth truth = { .taken = taken, .target = e->next_pc };

	bpred_predict(c->bpred, u->pc, &u->in, c->front.wrong ? NULL : &truth, p);
	if (unlikely(trap))
		return e->next_pc;

	uint64_t next = p->taken ? p->target : u->pc + u->in.len;
	const bool is_new = unlikely(c->seen) && !c->front.wrong && !see_branch(c, u->pc);

	if (likely(next == e->next_pc))
		return next;
	if (unlikely((u->ideal & IDEAL_BMISP || is_new) && !c->front.wrong)) {
		bpred_repair(c->bpred, u->pc, &u->in, p, taken, e->next_pc);
		p->taken = taken;
		p->target = e->next_pc;
		p->when = BPRED_AT_FETCH;
		return e->next_pc;
	}
	e->state |= ST_MISPREDICT;
	e->flags |= RI_MISPREDICT;
	if (!c->front.wrong) {
		c->front.wrong = true;
		c->front.right_po = c->tail + 1;
	}
	return next;
}

static void note_fetch(struct core *c, uint32_t slot, bool first)
{
	struct rec_notes *n = &c->rec.notes[slot];

	*n = (struct rec_notes){ .decode = STAMP_NONE,
				 .dispatch = STAMP_NONE,
				 .ready = STAMP_NONE,
				 .issue = STAMP_NONE,
				 .complete = STAMP_NONE,
				 .ilevel = LEVEL_L1 };
	c->rec.held[slot] = DISPATCH_OK;
	if (first) {
		n->ilevel = c->front.level;
		n->lat_icache = clip_u16(c->front.lat_icache);
		n->lat_itlb = clip_u16(c->front.lat_itlb);
	}
}

static void note_events(struct core *c, uint32_t slot)
{
	c->rec.events[slot].lat_icache = clip_u16(c->front.lat_icache);
	c->rec.events[slot].lat_itlb = clip_u16(c->front.lat_itlb);
}

/* Fetches one instruction at pc. False if there is none to be had. */
static bool fetch_one(struct core *c, struct inflight *e, uint32_t slot, uint64_t pc)
{
	if (likely(!c->front.wrong)) {
		if (likely(c->tail == c->front.stream_end))
			fetch_right(c, e, pc);
		else
			fetch_again(c, e, slot);
		if (unlikely(e->state & ST_TRAP))
			c->front.state = c->front.ended && c->tail + 1 == c->front.stream_end
					     ? FETCH_OVER
					     : FETCH_WAIT_TRAP;
	} else if (!fetch_wrong(c, e, pc)) {
		return false;
	}

	const struct uop *u = e->u;

	e->uflags = u->flags;
	e->latency = u->latency;
	e->queue = u->queue;
	e->unit = u->unit;
	e->dst = u->dst;
	e->cls = u->cls;
	e->flags |= u->rec_flags;
	e->seq = c->front.seq++;
	e->fetch = c->now;
	return true;
}

/* A twin has no step to take. */
static __attribute__((noinline)) bool is_starved(const struct core *c)
{
	return c->twin.follows && !c->front.wrong && c->tail == c->front.stream_end &&
	       !twin_has_step(c->twin.follows);
}

/* A twin has no step: the packet is left as it is, with pc next. */
static void starve(struct core *c, uint64_t pc, uint32_t room, uint64_t end, uint32_t taken)
{
	c->front.starved = true;
	c->front.pc = pc;
	c->front.packet_room = room;
	c->front.packet_end = end;
	c->front.packet_taken = taken;
}

bool fetch_faults(const struct core *c, uint64_t po)
{
	uint32_t flags = po < c->tail ? at(c, po)->flags : c->front.steps[slot_of(c, po)].flags;

	return flags & RI_FAULT;
}

/* The guest would enter the kernel for an instruction that may be beyond the end of the run. */
static bool is_held(struct core *c, uint64_t pc)
{
	if (c->front.wrong || c->tail < c->front.stream_end || c->twin.follows)
		return false;

	const struct uop *u = uop_get(c, pc, NULL);

	return !u || u->flags & UOP_TRAP;
}

/* Fetches a packet beginning at front.pc, whose line is there, or the rest of one: until the block
 * ends at `end`, after `taken` taken branches. */
static void fetch_packet(struct core *c, uint32_t room, uint64_t end, uint32_t taken)
{
	uint64_t pc = c->front.pc;

	if (!c->front.wrong && !c->twin.follows)
		guest_set_cycles(c->guest, c->now);
	while (c->did.fetches < room && (c->front.wrong || c->tail < c->front.limit)) {
		if (unlikely(c->tail >= c->front.hold)) {
			if (is_starved(c)) {
				starve(c, pc, room, end, taken);
				return;
			}
			if (is_held(c, pc))
				break;
		}

		uint32_t slot = slot_of(c, c->tail);
		struct inflight *e = &c->ring[slot];

		if (!fetch_one(c, e, slot, pc)) {
			c->front.state = FETCH_STUCK;
			break;
		}

		const struct uop *u = e->u;
		bool first = !c->did.fetches;
		bool trap = e->state & ST_TRAP;
		bool bubble = false, jumped = false;

		if (first) {
			e->flags |= RI_FETCH_HEAD;
			e->psv |= c->front.psv;
			c->front.packets_used++;
			if (unlikely(c->front.psv && c->rec.events))
				note_events(c, slot);
		}
		if (c->rec.notes)
			note_fetch(c, slot, first);
		if (u->flags & UOP_CTRL) {
			pc = predict(c, e, slot, trap);
			jumped = c->front.preds[slot].taken;
			bubble = jumped && c->front.preds[slot].when == BPRED_AT_DECODE;
		} else {
			pc = trap || c->front.state == FETCH_OVER ? e->next_pc : pc + u->in.len;
			/* An idealised trap goes straight on, wherever the guest went. */
			if (unlikely(pc != e->next_pc && !(e->state & ST_WRONG))) {
				pc = e->next_pc;
				jumped = true;
			}
		}
		c->tail++;
		c->did.fetches++;
		if (unlikely(trap))
			break;
		if (unlikely(u->flags & UOP_FLUSH)) {
			c->front.state = FETCH_STUCK;
			break;
		}
		if (unlikely(bubble)) {
			e->flags |= RI_BTB_MISS;
			if (!(u->ideal & IDEAL_BMISP)) {
				c->front.time = c->now + 1 + c->cfg.fetch_btb_bubble;
				c->front.reason = FETCH_REDIRECT;
				break;
			}
		}
		if (jumped) {
			if (++taken >= c->front.taken_max)
				break;
		} else if (pc < end || c->front.through) {
			if (likely(pc < end))
				continue;
		} else {
			break;
		}
		/* On into another block in the same cycle. */
		c->front.pc = pc;
		end = (pc | c->front.block_mask) + 1;
		if (c->did.fetches < room && (c->front.wrong || c->tail < c->front.limit)) {
			uint32_t psv = c->front.psv;

			c->front.psv = 0;
			/* What the packet waited for belongs to its first instruction. */
			forget_waits(c);
			if (!fetch_access(c, pc))
				goto out;
			c->front.psv = psv;
		}
	}
	c->front.psv = 0;
	forget_waits(c);
out:
	c->front.pc = pc;
	c->stats.fetched += c->did.fetches;
}

/* True if room more instructions, on top of what has arrived and not dispatched, exceed the fetch
 * buffer and the stages from decode to dispatch. */
static bool buffer_is_full(struct core *c, uint32_t room)
{
	uint64_t most = c->front.buffer + c->front.decode_stages;

	if (likely(c->tail - c->disp + room <= most))
		return false;
	c->front.buffered = max_u64(c->front.buffered, c->disp);
	while (c->front.buffered < c->tail &&
	       at(c, c->front.buffered)->fetch + c->cfg.fetch_depth <= c->now)
		c->front.buffered++;
	return c->front.buffered - c->disp + room > most;
}

void fetch_stage(struct core *c)
{
	switch (c->front.state) {
	case FETCHING:
		break;
	case FETCH_WAIT_CACHE:
		/* The translation is there, but the line missed the cache, too. */
		if (c->rec.wants && c->front.reason == FETCH_ITLB &&
		    !memsys_walking(c->mem, true, c->front.pc) &&
		    !memsys_probe(c->mem, MEM_L1I, c->front.pc))
			c->front.reason = (uint8_t)level_to_come(c, c->front.pc);
		c->did.fetch_stall = c->front.reason;
		return;
	case FETCH_WAIT_TRAP:
	case FETCH_STUCK:
		c->did.fetch_stall = FETCH_BLOCKED;
		return;
	case FETCH_OVER:
		c->did.fetch_stall = FETCH_END;
		return;
	}
	if (c->front.time > c->now) {
		c->did.fetch_stall = c->front.reason;
		return;
	}
	if (!c->front.wrong && c->tail >= c->front.limit) {
		c->did.fetch_stall = FETCH_END;
		return;
	}

	/* A packet enters as a whole: half packets would waste entries of the fetch-target queue.
	 */
	uint32_t room = c->front.width < c->front.buffer ? c->front.width : c->front.buffer;

	if (buffer_is_full(c, room) || c->front.packets_used >= c->front.packets_size ||
	    c->tail - c->head + c->front.width > c->mask) {
		c->did.fetch_stall = FETCH_BUFFER;
		return;
	}
	if (c->front.wrong && !uop_get(c, c->front.pc, NULL)) {
		c->front.state = FETCH_STUCK;
		c->did.fetch_stall = FETCH_BLOCKED;
		return;
	}
	if (!fetch_access(c, c->front.pc)) {
		c->did.fetch_stall = c->front.reason;
		return;
	}
	fetch_packet(c, room, (c->front.pc | c->front.block_mask) + 1, 0);
	c->did.fetch_stall = c->did.fetches ? FETCH_OK : FETCH_BLOCKED;
}

void fetch_resume(struct core *c)
{
	c->front.starved = false;
	fetch_packet(c, c->front.packet_room, c->front.packet_end, c->front.packet_taken);
	c->did.fetch_stall = c->did.fetches ? FETCH_OK : FETCH_BLOCKED;
}

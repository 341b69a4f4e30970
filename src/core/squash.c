/* SPDX-License-Identifier: MIT */
/*
 * Throwing instructions away: youngest first, each undoing what fetch and dispatch did for it, so
 * that registers, rename map, queues, lists and counters are what they were before it was fetched.
 *
 * What the memory system has begun for a squashed load goes on (wrong paths pollute); the core
 * ignores its completion.
 */
#include "core/pipe.h"

/* Undoes dispatch, and what happened after it. */
static void squash_dispatched(struct core *c, uint64_t po, struct inflight *e)
{
	uint32_t slot = slot_of(c, po);

	if (e->state & ST_EVENT)
		wheel_remove(c, e);
	if (is_ready(c, slot, e->queue))
		ready_clear(c, slot, e->queue);
	if (!(e->state & ST_ISSUED))
		c->win.iq_used[e->queue]--;
	/* In the opposite order of dispatch, so each source is the head of its producer's list. */
	for (int k = SOURCES - 1; k >= 0; k--) {
		if (e->src_slot[k] != SRC_NONE) {
			struct inflight *producer = &c->ring[e->src_slot[k]];

			assert(producer->dep_head == (slot << 2 | (uint32_t)k));
			producer->dep_head = e->dep_next[k];
		}
	}
	if (e->dst) {
		c->win.map[e->dst] = e->prev_map;
		count_writer(c, e, -1);
	}
	if (e->uflags & UOP_STORE)
		lsu_squash_store(c, po);
	if (e->uflags & UOP_LOAD)
		lsu_squash_load(c, po);
	if ((e->uflags & UOP_TAGGED) && !(e->state & ST_RESOLVED))
		c->win.branches_used--;
	if (e->uflags & UOP_SERIAL)
		c->win.serial = false;
}

/* An instruction of the right path will be fetched again, but the guest will not execute it again. */
static void keep_step(struct core *c, uint64_t po, const struct inflight *e)
{
	struct kept_step *step = &c->front.steps[slot_of(c, po)];

	step->u = e->u;
	step->addr = e->addr;
	step->next_pc = e->next_pc;
	step->value = c->front.regs[e->u->dst]; /* everything younger has been undone */
	step->psv = e->psv & STICKY_PSV;
	step->flags = e->flags & STICKY_FLAGS;
	step->tid = e->tid;
	step->state = e->state & (ST_TRAP | ST_FAULT);
}

static bool wants_squashed(const struct core *c, const struct inflight *e)
{
	return c->rec.wants & WANT_SQUASHED || e->psv || e->state & ST_MISPREDICT;
}

const struct bpred_pred *squash_from(struct core *c, uint64_t from)
{
	const struct bpred_pred *oldest = NULL;

	for (uint64_t po = c->tail; po-- > from;) {
		struct inflight *e = at(c, po);

		if (c->rec.wants & (WANT_SQUASHED | WANT_SQUASHED_EVENTS) && wants_squashed(c, e))
			record_squashed(c, po);
		if (po < c->disp)
			squash_dispatched(c, po, e);
		if (unlikely(!(e->state & ST_WRONG)))
			keep_step(c, po, e);
		if (e->dst)
			c->front.regs[e->dst] = e->undo;
		if (e->flags & RI_FETCH_HEAD)
			c->front.packets_used--;
		if (e->uflags & UOP_CTRL)
			oldest = &c->front.preds[slot_of(c, po)];
		c->stats.squashed++;
		e->state = 0;
	}
	if (c->tail > from)
		c->tail = from;
	if (c->disp > from)
		c->disp = from;
	if (c->front.buffered > from)
		c->front.buffered = from;
	if (c->win.issue_po > from)
		c->win.issue_po = from;
	if (c->front.noverlay)
		spec_squash(c, from);
	return oldest;
}

void squash_flush(struct core *c, uint64_t from, uint64_t pc, enum flush_cause cause,
		  uint64_t cause_po, uint64_t cause_pc, uint32_t wait)
{
	const struct bpred_pred *oldest = squash_from(c, from);

	if (oldest)
		bpred_restore(c->bpred, oldest);
	note_flush(c, cause, cause_po, cause_pc);
	fetch_redirect(c, pc, false, c->now + wait + c->cfg.fetch_flush,
		       wait ? FETCH_EXCEPTION : FETCH_REDIRECT);
}

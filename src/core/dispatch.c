/* SPDX-License-Identifier: MIT */
/*
 * Decode, rename and dispatch: in order, up to the width, from the fetch buffer into reorder
 * buffer, issue queue, load and store queues. An instruction can dispatch once it has passed the
 * front end's stages (fetch.depth + decode.depth cycles after fetch). The first that finds no room
 * stops dispatch, and the cause is kept.
 *
 * Renaming is a map from register to the youngest writer in flight; an instruction that needs a
 * value that is not there yet enters its producer's list. Physical registers are counted: every
 * writer in flight holds one beside the architectural ones, until it commits and so frees its
 * predecessor.
 */
#include "core/pipe.h"

/* Why e cannot dispatch now; DISPATCH_OK if it can. */
static enum dispatch_stall dispatch_blocked(struct core *c, struct inflight *e)
{
	uint64_t used = c->disp - c->head;

	if (used >= c->win.rob_size)
		return DISPATCH_ROB;
	if (unlikely(c->win.serial || ((e->uflags & UOP_SERIAL) && used))) {
		if (e->uflags & UOP_SERIAL)
			e->psv |= PSV_SERIAL;
		return DISPATCH_SERIAL;
	}
	if (c->win.iq_used[e->queue] >= c->win.iq_size[e->queue])
		return DISPATCH_IQ;
	if (e->dst && (e->uflags & UOP_FP_DST ? c->win.fp_used >= c->win.fp_size
					      : c->win.int_used >= c->win.int_size))
		return DISPATCH_REGS;
	if ((e->uflags & UOP_TAGGED) && c->win.branches_used >= c->win.branches_size)
		return DISPATCH_BRANCHES;
	if (e->uflags & (UOP_LOAD | UOP_STORE)) {
		uint32_t stores = (uint32_t)(c->lsu.sq_tail - c->lsu.sq_head);
		bool shared_full = c->lsu.lq_used + stores >= c->lsu.shared_size;

		if ((e->uflags & UOP_STORE) && (stores >= c->lsu.sq_size || shared_full) &&
		    !(e->u->ideal & IDEAL_SQ)) {
			if (c->lsu.sq_complete == stores && stores)
				e->psv |= PSV_DR_SQ;
			return DISPATCH_SQ;
		}
		if ((e->uflags & UOP_LOAD) && (c->lsu.lq_used >= c->lsu.lq_size || shared_full))
			return DISPATCH_LQ;
		if (stores > c->lsu.sq_mask)
			return DISPATCH_SQ;
	}
	return DISPATCH_OK;
}

/* Makes source k of the instruction in slot wait for the producer p. */
static void wait_for(struct core *c, struct inflight *e, uint32_t slot, unsigned k, uint64_t p)
{
	struct inflight *producer = at(c, p);

	e->src_slot[k] = (uint16_t)slot_of(c, p);
	e->dep_next[k] = producer->dep_head;
	producer->dep_head = slot << 2 | k;
}

static bool is_pending(const struct core *c, uint64_t p)
{
	return p >= c->head && !(at(c, p)->state & ST_AVAIL);
}

/* Without renaming, an instruction also waits for the last writer of its destination. It does so in
 * the place of a source that it does not have: a third register, or else (it is then no load) a
 * store. The record names the writer in the same place. */
static void wait_for_writer(struct core *c, struct inflight *e, uint32_t slot, uint64_t po)
{
	uint64_t p = c->win.map[e->dst];
	unsigned k = e->u->src[2] ? SRC_MEM : 2;

	if (!p || p < c->head || (k == SRC_MEM && !c->cfg.third_waits))
		return;
	if (c->rec.notes) {
		struct rec_notes *n = &c->rec.notes[slot];

		*(k == SRC_MEM ? &n->prod_mem : &n->prod[2]) = (uint32_t)(po - p);
	}
	if (!is_pending(c, p))
		return;
	wait_for(c, e, slot, k, p);
	e->pending++;
}

static void rename_sources(struct core *c, struct inflight *e, uint32_t slot, uint64_t po)
{
	const struct uop *u = e->u;

	e->pending = 0;
	for (unsigned k = 0; k < 3; k++) {
		uint64_t p = u->src[k] ? c->win.map[u->src[k]] : 0;
		bool pending = p && is_pending(c, p) && !(u->ideal & IDEAL_VALUES);

		e->src_slot[k] = SRC_NONE;
		if (pending) {
			wait_for(c, e, slot, k, p);
			if (!(k == 1 && (e->uflags & UOP_SPLIT)))
				e->pending++;
		} else if (k == 1 && (e->uflags & UOP_SPLIT)) {
			e->state |= ST_DATA;
		}
		if (c->rec.notes)
			c->rec.notes[slot].prod[k] = p >= c->head && p ? (uint32_t)(po - p) : 0;
	}
	e->src_slot[SRC_MEM] = SRC_NONE;
	if (unlikely(c->win.in_order) && e->dst)
		wait_for_writer(c, e, slot, po);
}

static void dispatch_one(struct core *c, struct inflight *e, uint32_t slot)
{
	const struct uop *u = e->u;
	uint64_t po = c->disp;

	if (c->rec.notes) {
		c->rec.notes[slot].dispatch = (uint32_t)(c->now - e->fetch);
		c->rec.notes[slot].decode = c->rec.notes[slot].dispatch - c->cfg.decode_depth;
	}
	e->dep_head = SLOT_NONE;
	e->sq_pos = (uint32_t)c->lsu.sq_tail;
	rename_sources(c, e, slot, po);
	if (e->dst) {
		e->prev_map = c->win.map[e->dst];
		c->win.map[e->dst] = po;
		count_writer(c, e, 1);
	}
	c->win.iq_used[e->queue]++;
	c->win.slot_kind[slot] = (uint8_t)(e->unit | e->queue << 4);
	if (e->uflags & UOP_LOAD) {
		lsu_dispatch_load(c, po);

		uint64_t n = c->lsu.memops[slot].store;

		if (n) {
			uint64_t p = store_at(c, n)->po;

			if (c->rec.notes)
				c->rec.notes[slot].prod_mem = (uint32_t)(po - p);
			if ((c->lsu.order == ORDER_PERFECT || (u->ideal & IDEAL_FLUSH)) &&
			    n >= c->lsu.sq_commit && is_pending(c, p)) {
				wait_for(c, e, slot, SRC_MEM, p);
				e->pending++;
			}
		}
	}
	if (e->uflags & UOP_STORE) {
		lsu_dispatch_store(c, po);
		if ((e->state & ST_DATA))
			store_at(c, c->lsu.memops[slot].own)->data_ready = 1;
	}
	if (e->uflags & UOP_TAGGED)
		c->win.branches_used++;
	if (e->uflags & UOP_SERIAL)
		c->win.serial = true;
	if (!e->pending) {
		e->state |= ST_READY;
		ready_set(c, slot, e->queue);
		if (c->rec.notes)
			c->rec.notes[slot].ready = (uint32_t)(c->now + 1 - e->fetch);
	}
	c->disp++;
}

void dispatch_stage(struct core *c)
{
	enum dispatch_stall stall = DISPATCH_OK;

	while (c->did.dispatches < c->win.dispatch_width) {
		if (c->disp == c->tail) {
			stall = DISPATCH_EMPTY;
			break;
		}

		uint32_t slot = slot_of(c, c->disp);
		struct inflight *e = &c->ring[slot];

		if (e->fetch + c->front.depth > c->now) {
			stall = DISPATCH_EMPTY;
			break;
		}
		stall = dispatch_blocked(c, e);
		if (stall != DISPATCH_OK)
			break;
		if (unlikely(c->rec.notes != NULL))
			record_dispatch(c, e, slot);
		dispatch_one(c, e, slot);
		if (!(e->state & ST_WRONG))
			c->flush.cause = FLUSH_NONE;
		c->did.dispatches++;
	}
	c->did.dispatch_stall = stall;
	if (unlikely(c->rec.stamps))
		for (uint64_t po = c->disp - c->did.dispatches; po < c->disp; po++)
			at(c, po)->fetch = c->now;
	if (!c->did.dispatches)
		c->stats.dispatch_stall[stall]++;
}

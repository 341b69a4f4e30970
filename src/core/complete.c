/* SPDX-License-Identifier: MIT */
/*
 * Completion: what the present cycle's events bring. Results become available and wake their
 * dependents through the producer's list; stores learn addresses and data; branches resolve, and a
 * mispredicted one throws away everything younger and redirects fetch, on the right path or within
 * a wrong one.
 *
 * A result that is available in cycle t can be used by an instruction that issues in t, and its
 * instruction can commit in t. With window.wakeup the dependents of a computation (not of a load)
 * are told that much later: fields2004's issue-wakeup loop.
 */
#include "core/pipe.h"

uint64_t wheel_next(const struct core *c)
{
	uint32_t from = (uint32_t)(c->now + 1) & (WHEEL_SIZE - 1);
	uint32_t w = from / 64;
	uint64_t bits = c->win.wheel_used[w] & ~0ull << (from & 63);

	for (uint32_t i = 0; i <= WHEEL_SIZE / 64; i++) {
		if (bits) {
			uint32_t b = w * 64 + (uint32_t)__builtin_ctzll(bits);

			return c->now + 1 + ((b - from) & (WHEEL_SIZE - 1));
		}
		w = (w + 1) % (WHEEL_SIZE / 64);
		bits = c->win.wheel_used[w];
	}
	return NEVER;
}

static void become_ready(struct core *c, uint32_t slot)
{
	struct inflight *e = &c->ring[slot];

	e->state |= ST_READY;
	ready_set(c, slot, e->queue);
	if (c->rec.notes)
		c->rec.notes[slot].ready = (uint32_t)(c->now - e->fetch);
}

static void wake_dependents(struct core *c, struct inflight *e)
{
	uint32_t link = e->dep_head;

	e->dep_head = SLOT_NONE;
	e->state |= ST_AVAIL;
	while (link != SLOT_NONE) {
		uint32_t slot = link >> 2, k = link & 3;
		struct inflight *d = &c->ring[slot];

		link = d->dep_next[k];
		d->src_slot[k] = SRC_NONE;
		if (k == 1 && (d->uflags & UOP_SPLIT)) {
			d->state |= ST_DATA;
			lsu_store_data(c, slot);
			if (d->state & ST_ADDR)
				complete_now(c, slot);
		} else if (!--d->pending) {
			become_ready(c, slot);
		}
	}
}

static void resolve(struct core *c, uint32_t slot)
{
	struct inflight *e = &c->ring[slot];
	const struct uop *u = e->u;

	if (e->uflags & UOP_TAGGED) {
		e->state |= ST_RESOLVED;
		c->win.branches_used--;
	}
	if (likely(!(e->state & ST_MISPREDICT)))
		return;

	uint64_t po = po_of(c, slot);

	if (c->rec.events)
		c->rec.events[slot].resolved = (uint32_t)(c->now - e->fetch);
	squash_from(c, po + 1);
	bpred_repair(c->bpred, u->pc, &u->in, &c->front.preds[slot], !!(e->flags & RI_TAKEN),
		     e->next_pc);
	if (!(e->state & ST_WRONG))
		note_flush(c, FLUSH_MISPREDICT, po, u->pc);
	fetch_redirect(c, e->next_pc, e->state & ST_WRONG, c->now + c->cfg.fetch_redirect,
		       FETCH_REDIRECT);
}

void complete_now(struct core *c, uint32_t slot)
{
	struct inflight *e = &c->ring[slot];

	e->state |= ST_DONE;
	if (c->rec.notes)
		c->rec.notes[slot].complete = (uint32_t)(c->now - e->fetch);
	if (e->uflags & UOP_STORE) {
		if (e->uflags & UOP_ATOMIC) {
			e->state |= ST_ADDR | ST_DATA;
			lsu_store_address(c, slot);
			lsu_store_data(c, slot);
		}
		c->lsu.sq_complete++;
	}
	if (unlikely(c->cfg.wakeup && !(e->uflags & (UOP_LOAD | UOP_STORE)) && e->latency))
		wheel_put(c, slot, WHEEL_WAKE, c->now + c->cfg.wakeup);
	else
		wake_dependents(c, e);
	if (e->uflags & UOP_CTRL)
		resolve(c, slot);
}

void complete_store_address(struct core *c, uint32_t slot)
{
	struct inflight *e = &c->ring[slot];

	e->state |= ST_ADDR;
	if (e->state & ST_DATA)
		complete_now(c, slot);
}

void complete_stage(struct core *c)
{
	uint32_t b = (uint32_t)c->now & (WHEEL_SIZE - 1);
	uint32_t slot;

	c->win.wheel_open = false;
	if (memsys_next_event(c->mem) <= c->now) {
		memsys_advance(c->mem, c->now);
		c->did.events++;
	}
	if (unlikely(c->lsu.retrying && c->lsu.retry_time <= c->now))
		lsu_retry(c);
	/* From the head every time: a squash may take any of the others out. */
	while ((slot = c->win.wheel[b]) != SLOT_NONE) {
		struct inflight *e = &c->ring[slot];

		wheel_remove(c, e);
		c->did.events++;
		if (unlikely(e->ev_time > c->now)) {
			wheel_put(c, slot, e->event, e->ev_time);
			continue;
		}
		switch ((enum wheel_event)e->event) {
		case WHEEL_COMPLETE:
			complete_now(c, slot);
			break;
		case WHEEL_WAKE:
			wake_dependents(c, e);
			break;
		case WHEEL_ADDR:
			complete_store_address(c, slot);
			break;
		}
	}
	c->win.wheel_open = true;
}

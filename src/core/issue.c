/* SPDX-License-Identifier: MIT */
/*
 * Issue: oldest ready first, within the width of each queue and of the machine, as units allow.
 *
 * Ready instructions are bits over the ring's slots, one mask per queue; selection walks the words
 * from the oldest slot on. A queue whose width is used up drops out of the walk. An instruction
 * that takes no time (idealised) completes on the spot; its dependents are younger, so the same
 * walk finds them.
 */
#include "core/pipe.h"

/* Takes a unit of the kind that e needs; false if all are busy. */
static bool take_unit(struct core *c, const struct inflight *e)
{
	unsigned kind = e->unit;

	if (unlikely(e->uflags & UOP_NO_UNIT))
		return true;
	if (likely(c->win.unit_pipelined[kind])) {
		if (c->win.unit_used[kind] >= c->win.unit_count[kind]) {
			c->win.units_full |= 1u << kind;
			return false;
		}
		c->win.unit_used[kind]++;
		return true;
	}
	for (unsigned i = 0; i < c->win.unit_count[kind]; i++) {
		if (c->win.unit_busy[kind][i] <= c->now) {
			c->win.unit_busy[kind][i] = c->now + e->u->busy;
			return true;
		}
		if (c->win.unit_busy[kind][i] < c->win.issue_time)
			c->win.issue_time = c->win.unit_busy[kind][i];
	}
	c->win.units_full |= 1u << kind;
	return false;
}

static void leave_issue_queue(struct core *c, uint32_t slot, struct inflight *e)
{
	ready_clear(c, slot, e->queue);
	if (e->state & ST_ISSUED)
		return;
	e->state |= ST_ISSUED;
	c->win.iq_used[e->queue]--;
	if (c->rec.notes)
		c->rec.notes[slot].issue = (uint32_t)(c->now - e->fetch);
	if (c->rec.wants & (WANT_HEAD | WANT_ISSUES))
		c->lsu.memops[slot].issue = (uint32_t)(c->now - e->fetch);
}

bool issue_try(struct core *c, uint32_t slot)
{
	struct inflight *e = &c->ring[slot];

	if (unlikely((e->uflags & UOP_DRAIN) &&
		     ((uint32_t)c->lsu.sq_head != e->sq_pos || memsys_writing(c->mem))))
		return false;
	if (unlikely(e->uflags & UOP_HINT) && !lsu_hint_fits(c, e->u))
		return false;
	if (!take_unit(c, e))
		return false;
	leave_issue_queue(c, slot, e);
	if (e->uflags & UOP_LOAD) {
		lsu_load(c, slot);
	} else if (e->uflags & UOP_STORE) {
		if (!(e->uflags & UOP_SPLIT)) {
			e->state |= ST_DATA;
			lsu_store_data(c, slot);
		}
		lsu_store_address(c, slot);
		wheel_put(c, slot, WHEEL_ADDR, c->now + 1);
	} else if (e->uflags & UOP_HINT) {
		lsu_hint(c, e);
		wheel_put(c, slot, WHEEL_COMPLETE, c->now + 1);
	} else if (unlikely(!e->latency)) {
		complete_now(c, slot);
	} else {
		wheel_put(c, slot, WHEEL_COMPLETE, c->now + e->latency);
	}
	return true;
}

void issue_stage(struct core *c)
{
	uint32_t room[QUEUES], left = c->win.issue_width;
	uint32_t first = slot_of(c, c->head);
	uint32_t nwords = (c->mask + 1) / 64;
	uint32_t w = first / 64;
	uint64_t valid = ~0ull << (first & 63);
	/* Words that the reorder buffer reaches into. */
	uint32_t reach = ((first & 63) + (uint32_t)(c->disp - c->head) + 63) / 64;

	c->win.issue_time = NEVER;
	if (!(c->win.nready[0] | c->win.nready[1] | c->win.nready[2]))
		return;
	memcpy(room, c->win.iq_width, sizeof(room));
	memset(c->win.unit_used, 0, sizeof(c->win.unit_used));
	c->win.unit_used[UNIT_LOAD] = c->lsu.ports_taken;
	c->win.units_full = 0;
	for (uint32_t i = 0; i < reach; i++) {
		if (i == nwords)
			valid = ~(~0ull << (first & 63));
		for (;;) {
			uint64_t bits = valid & ((room[0] ? c->win.ready[0][w] : 0) |
						 (room[1] ? c->win.ready[1][w] : 0) |
						 (room[2] ? c->win.ready[2][w] : 0));
			if (!bits)
				break;

			uint32_t slot = w * 64 + (uint32_t)__builtin_ctzll(bits);
			unsigned kind = c->win.slot_kind[slot];

			valid &= ~(bits ^ (bits - 1));
			/* A byte instead of the instruction's line: a window full of
			 * multiplications behind one multiplier is walked every cycle. */
			if ((c->win.units_full >> (kind & 15) & 1) || !issue_try(c, slot))
				continue;
			c->did.issues++;
			room[kind >> 4]--;
			if (!--left)
				return;
		}
		w = w + 1 == nwords ? 0 : w + 1;
		valid = ~0ull;
	}
}

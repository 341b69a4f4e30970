/* SPDX-License-Identifier: MIT */
/*
 * In-order issue, after the Alpha 21164 of dcpi1997: instructions begin execution in program order,
 * up to the issue width per cycle; the first that cannot go holds up all behind it. They complete
 * out of order, guarded by the same wake-up lists as the out-of-order core uses (a scoreboard),
 * including the last writer of the destination, since there is no renaming.
 *
 * Two rules of that machine are parameters. Issue groups (window.issue_group): instructions that issue
 * in the same cycle lie in one aligned group of bytes, by their first bytes, and no taken transfer is
 * between them; so a group issues as a whole before the next one begins, and a branch into the middle
 * begins there. And window.load_after_store: a load does not issue that many cycles after a store.
 * docs/model.md has all rules of issue in order, in "In order: when an instruction issues".
 */
#include "core/pipe.h"

/* True if e, whose predecessor has issued in this cycle, begins another group. */
static bool begins_group(const struct core *c, const struct inflight *e)
{
	const struct inflight *before = at(c, c->win.issue_po - 1);

	return c->win.group_mask &&
	       (before->flags & RI_TAKEN || (before->u->pc ^ e->u->pc) & c->win.group_mask);
}

static void note_store(struct core *c)
{
	uint64_t passed = c->now - c->win.stored_at;

	c->win.stored = (passed < 32 ? c->win.stored << passed : 0) | 1;
	c->win.stored_at = c->now;
}

/* False if a load or store has to wait for earlier stores, whatever its operands. */
static bool access_may_issue(struct core *c, struct inflight *e)
{
	if (e->uflags & UOP_LOAD) {
		/* Cycles from the store that would forbid it to the last one. */
		uint64_t gap = c->win.stored_at + c->win.load_after_store - c->now;

		if (c->win.load_after_store && gap < 32 && c->win.stored >> gap & 1) {
			c->win.issue_time = c->now + 1;
			return false;
		}
	}
	/* A store has come to a write buffer that is full; drain_stage has tried in this cycle. */
	if ((e->uflags & UOP_STORE) && c->lsu.buffered && c->lsu.sq_next < c->lsu.sq_commit &&
	    c->lsu.drain_time > c->now) {
		e->psv |= PSV_DR_SQ;
		return false;
	}
	return true;
}

void inorder_stage(struct core *c)
{
	c->win.issue_time = NEVER;
	memset(c->win.unit_used, 0, sizeof(c->win.unit_used));
	c->win.unit_used[UNIT_LOAD] = c->lsu.ports_taken;
	/* Loads that have issued, but were refused by the cache or waited for a store, go first. */
	if (c->win.nready[0] | c->win.nready[1] | c->win.nready[2]) {
		for (uint32_t w = 0; w <= c->mask / 64; w++) {
			uint64_t bits =
			    c->win.ready[0][w] | c->win.ready[1][w] | c->win.ready[2][w];

			for (; bits; bits &= bits - 1) {
				uint32_t slot = w * 64 + (uint32_t)__builtin_ctzll(bits);

				if ((c->ring[slot].state & ST_ISSUED) && issue_try(c, slot))
					c->did.issues++;
			}
		}
	}
	if (c->win.issue_po < c->head)
		c->win.issue_po = c->head;
	for (uint32_t left = c->win.issue_width; left && c->win.issue_po < c->disp; left--) {
		uint32_t slot = slot_of(c, c->win.issue_po);
		struct inflight *e = &c->ring[slot];

		if (!(e->state & ST_READY))
			return;
		if (left < c->win.issue_width && begins_group(c, e))
			return;
		if ((e->uflags & (UOP_LOAD | UOP_STORE)) && !access_may_issue(c, e))
			return;
		if (!issue_try(c, slot))
			return;
		if (e->uflags & UOP_STORE)
			note_store(c);
		c->did.issues++;
		c->win.issue_po++;
	}
}

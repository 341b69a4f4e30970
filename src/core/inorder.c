/* SPDX-License-Identifier: MIT */
/*
 * In-order issue, after the Alpha 21164 of dcpi1997: instructions begin execution in program order,
 * up to the issue width per cycle; the first that cannot go holds up all behind it. They complete
 * out of order, guarded by the same wake-up lists as the out-of-order core uses (a scoreboard),
 * including the last writer of the destination, since there is no renaming.
 */
#include "core/pipe.h"

void inorder_stage(struct core *c)
{
	c->win.issue_time = NEVER;
	memset(c->win.unit_used, 0, sizeof(c->win.unit_used));
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

		if (!(c->ring[slot].state & ST_READY) || !issue_try(c, slot))
			return;
		c->did.issues++;
		c->win.issue_po++;
	}
}

/* SPDX-License-Identifier: MIT */
/*
 * The core saved and read, for live-points: what it has learnt, with an empty pipeline. Time is not
 * in it: a core that is read begins at its own cycle, so what lies at a time is kept relative to it.
 * The pages that were touched are the guest's (guest_touched_state).
 */
#include "core/saved.h"

#include "core/pipe.h"

void core_pause(struct core *c)
{
	core_drain(c);
	core_cut(c);
	memsys_quiesce(c->mem);
	if (c->front.state != FETCH_OVER)
		core_attach(c);
}

void core_state(struct core *c, struct state *s)
{
	uint64_t ahead = c->lsu.wait_clear > c->now ? c->lsu.wait_clear - c->now : 0;

	assert(c->head == c->tail && c->lsu.sq_head == c->lsu.sq_tail);
	if (c->twin.leads) {
		state_fail(s, "a core with a twin is neither saved nor read");
		return;
	}
	state_mark(s, "core");
	memsys_saved(c->mem, s);
	bpred_saved(c->bpred, s);
	saved_same(s, c->cfg.wait_entries, "wait table");
	if (c->lsu.wait_table)
		saved_bytes(s, c->lsu.wait_table, c->cfg.wait_entries, 1);
	state_u64(s, &ahead);
	if (!state_reading(s))
		return;
	if (ahead > c->cfg.wait_clear)
		state_fail(s, "the wait table is cleared too late");
	else
		c->lsu.wait_clear = c->now + ahead;
}

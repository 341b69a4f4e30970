/* SPDX-License-Identifier: MIT */
/*
 * Commit: in order, up to its width. Exceptions are precise: the page fault of a load or store, and
 * a load that read too early (memory order), act when they are the oldest; the instruction and
 * everything younger are thrown away and fetched again. System calls and thread switches commit,
 * then the kernel's time passes. Serialising CSR accesses, fences and atomics flush what follows,
 * as BOOM's do.
 *
 * The kernel is not executed: its time is a number of cycles in which nothing is fetched.
 */
#include "core/pipe.h"

/* The oldest cannot commit as it is: throws it away and fetches it again. */
static void commit_exception(struct core *c, struct inflight *e)
{
	const struct uop *u = e->u;

	c->rec.flags |= RC_HEAD_DONE;
	e->flags |= RI_FLUSHES;
	if (e->state & ST_FAULT) {
		e->psv |= PSV_FL_EX;
		e->flags |= RI_EXCEPTION;
		c->stats.exceptions++;
		e->state &= (uint16_t)~ST_FAULT; /* fetched again, it does not raise another */
		squash_flush(c, c->head, u->pc, FLUSH_EXCEPTION, c->head, u->pc,
			     c->cfg.page_fault_cycles);
	} else {
		e->psv |= PSV_FL_MO;
		c->stats.violations++;
		if (c->lsu.wait_table)
			c->lsu.wait_table[hash_u64(u->pc) & (c->cfg.wait_entries - 1)] = 1;
		squash_flush(c, c->head, u->pc, FLUSH_ORDER, c->head, u->pc, 0);
	}
	c->did.events++;
}

static void commit_control(struct core *c, const struct inflight *e, uint32_t slot)
{
	const struct uop *u = e->u;
	bool taken = e->flags & RI_TAKEN;

	c->stats.controls++;
	c->stats.branches += e->cls == CLASS_BRANCH;
	c->stats.mispredicts += !!(e->state & ST_MISPREDICT);
	bpred_commit(c->bpred, u->pc, &u->in, &c->front.preds[slot], taken, e->next_pc);
}

/* A trap has committed: the kernel's time passes, then fetch goes on where the guest did. */
static void commit_trap(struct core *c, const struct inflight *e, uint64_t po)
{
	c->stats.exceptions++;
	if (c->front.ended && po + 1 == c->front.stream_end)
		return;
	note_flush(c, FLUSH_EXCEPTION, po, e->u->pc);
	fetch_redirect(c, e->next_pc, false, c->now + c->cfg.syscall_cycles + c->cfg.fetch_flush,
		       FETCH_EXCEPTION);
}

void commit_stage(struct core *c)
{
	while (c->did.commits < c->win.commit_width && c->head < c->disp) {
		uint32_t slot = slot_of(c, c->head);
		struct inflight *e = &c->ring[slot];
		const struct uop *u = e->u;

		if (!(e->state & ST_DONE))
			break;
		if (unlikely(e->state & (ST_FAULT | ST_VIOLATION))) {
			if (!c->did.commits)
				commit_exception(c, e);
			break;
		}
		assert(!(e->state & ST_WRONG));
		if (e->state & ST_MISPREDICT)
			e->psv |= PSV_FL_MB;
		if (e->uflags & UOP_FLUSH) {
			e->psv |= PSV_FL_CSR;
			e->flags |= RI_FLUSHES;
		}
		if (unlikely(e->flags & RI_FAULT))
			c->stats.faults++;
		if (e->state & ST_TRAP) {
			e->psv |= PSV_FL_EX;
			e->flags |= RI_EXCEPTION | RI_FLUSHES;
		}
		if (e->dst)
			count_writer(c, e, -1);
		if (e->uflags & UOP_LOAD) {
			c->lsu.lq_used--;
			c->stats.loads++;
		}
		if (e->uflags & UOP_STORE) {
			c->lsu.sq_commit++;
			c->stats.stores++;
		}
		if (e->uflags & UOP_CTRL)
			commit_control(c, e, slot);
		if (e->flags & RI_FETCH_HEAD)
			c->front.packets_used--;
		if (e->uflags & UOP_SERIAL)
			c->win.serial = false;
		c->head++;
		c->did.commits++;
		if (unlikely(e->state & ST_TRAP)) {
			commit_trap(c, e, c->head - 1);
			break;
		}
		if (unlikely(e->uflags & UOP_FLUSH)) {
			c->stats.serial_flushes++;
			if (c->rec.events)
				record_issues(c);
			else if (c->rec.insts)
				record_commits(c); /* ahead of what is squashed */
			squash_flush(c, c->head, e->next_pc, FLUSH_CSR, c->head - 1, u->pc, 0);
			return;
		}
	}
	if (!c->rec.insts || !c->did.commits)
		return;
	if (c->rec.events)
		record_issues(c);
	else
		record_commits(c);
}

/* SPDX-License-Identifier: MIT */
/*
 * The sampling hardware of TIP and TEA, cycle by cycle; see tiphw.h and docs/tip-hardware.md.
 *
 * As in the papers: a sample of Computing or Flushed is delivered in its own cycle; one of Stalled
 * or Drained waits until the next instruction commits, whose PSV is then complete; a Drained sample
 * gets its address when the first instruction has entered the ROB. The OIR is written with the
 * youngest entry that commits, and with the head when that raises an exception.
 *
 * Chosen here, where the papers say nothing: if the counter overflows while a sample waits, the
 * waiting sample stands for those cycles too. In Stalled only the oldest address register is filled,
 * because post-processing reads no other. A sample that waits for an instruction which then raises
 * an exception ends there, because the handler's instructions would be the next to commit. The PSV of an exception is the event that the ROB itself
 * sees (FL-EX or FL-MO): the others come when the instruction is executed again.
 */
#include "analysis/profile/tiphw.h"

#include <string.h>

void tiphw_init(struct tiphw *h, const struct tip_layout *layout)
{
	memset(h, 0, sizeof(*h));
	h->layout = *layout;
	h->psv_mask = (1u << layout->psv_bits) - 1;
}

/* The bank of the ROB in which instruction po is: one entry of each group of `ways`. */
static unsigned bank_of(const struct tiphw *h, uint64_t po)
{
	return (unsigned)((po - 1) % h->layout.ways);
}

static bool deliver(struct tiphw *h)
{
	h->waits = h->wants_entry = false;
	h->sample.number = h->number++;
	h->sample.tid = h->tid;
	h->sample.pid = h->pid;
	return true;
}

static void fill(struct tiphw *h, unsigned bank, uint64_t address, uint32_t psv)
{
	h->sample.valid |= 1ull << bank;
	h->sample.address[bank] = address;
	h->sample.psv[bank] = psv;
}

static void see_commits(struct tiphw *h, const struct rec_cycle *c,
			const struct rec_inst *const *insts)
{
	h->n = c->ncommit;
	if (!h->n)
		return;
	h->bank = bank_of(h, c->head_po);
	for (unsigned i = 0; i < h->n; i++) {
		h->pc[i] = insts[i]->pc;
		h->psv[i] = insts[i]->psv & h->psv_mask;
	}
	h->tid = insts[0]->tid;
	if (!h->pid || h->tid < h->pid)
		h->pid = h->tid;
}

bool tiphw_begin(struct tiphw *h, const struct rec_cycle *c, const struct rec_inst *const *insts)
{
	bool raised = false;

	if (h->flushing && c->flush_po == h->flush_po &&
	    (c->flush_cause == FLUSH_EXCEPTION || c->flush_cause == FLUSH_ORDER)) {
		raised = c->flush_cause == FLUSH_EXCEPTION;
		h->oir_address = h->flush_pc;
		h->oir_flags = c->flush_cause == FLUSH_EXCEPTION ? TIP_EXCEPTION : TIP_FLUSH;
		h->oir_psv =
		    (c->flush_cause == FLUSH_EXCEPTION ? PSV_FL_EX : PSV_FL_MO) & h->psv_mask;
	}
	h->flushing = false;
	if (h->wants_entry && !(c->flags & RC_ROB_EMPTY)) {
		h->wants_entry = false;
		h->sample.oldest = bank_of(h, c->head_po);
		fill(h, h->sample.oldest, c->head_pc, 0);
	}
	see_commits(h, c, insts);
	if (raised && h->waits && !h->wants_entry) {
		if (h->flush_pc == h->sample.address[h->sample.oldest])
			h->sample.psv[h->sample.oldest] = h->oir_psv;
		return deliver(h);
	}
	if (!h->waits || h->wants_entry || !h->n)
		return false;
	if (h->pc[0] == h->sample.address[h->sample.oldest])
		h->sample.psv[h->sample.oldest] = h->psv[0];
	return deliver(h);
}

bool tiphw_fire(struct tiphw *h, const struct rec_cycle *c, uint64_t time, uint64_t cycles)
{
	struct tip_sample *s = &h->sample;

	if (h->waits) {
		s->cycles += cycles;
		h->merged++;
		return false;
	}
	*s = (struct tip_sample){ .time = time, .cycles = cycles };
	s->kernel = c->flags & RC_ROB_EMPTY && c->fetch_stall == FETCH_EXCEPTION;
	if (h->n) {
		s->oldest = h->bank;
		for (unsigned i = 0; i < h->n; i++)
			fill(h, (h->bank + i) % h->layout.ways, h->pc[i], h->psv[i]);
		return deliver(h);
	}
	if (!(c->flags & RC_ROB_EMPTY)) {
		s->flags = TIP_STALLED;
		s->oldest = bank_of(h, c->head_po);
		fill(h, s->oldest, c->head_pc, 0);
		h->waits = true;
		return false;
	}
	if (h->oir_flags) {
		s->flags = h->oir_flags;
		fill(h, 0, h->oir_address, h->oir_psv);
		return deliver(h);
	}
	s->flags = TIP_FRONT_END;
	h->waits = h->wants_entry = true;
	return false;
}

void tiphw_end(struct tiphw *h, const struct rec_cycle *c, const struct rec_inst *const *insts)
{
	if (!h->n) {
		/* The head is done and cannot commit, and there is a flush: its own or another's. */
		h->flushing = c->flags & RC_FLUSH && !(c->flags & RC_ROB_EMPTY);
		h->flush_po = c->head_po;
		h->flush_pc = c->head_pc;
		return;
	}
	const struct rec_inst *youngest = insts[h->n - 1];
	/* An instruction that was executed again keeps its flags: the flush signal tells. */
	const bool flushes =
	    c->flags & RC_FLUSH && c->flush_po == youngest->po && youngest->flags & RI_FLUSHES;

	h->oir_address = youngest->pc;
	h->oir_psv = h->psv[h->n - 1];
	h->oir_flags = youngest->flags & RI_MISPREDICT ? TIP_MISPREDICTED : 0;
	if (flushes)
		h->oir_flags |= youngest->flags & RI_EXCEPTION ? TIP_EXCEPTION : TIP_FLUSH;
}

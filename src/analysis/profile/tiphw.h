/* SPDX-License-Identifier: MIT */
/*
 * The sampling hardware of TIP with TEA's PSVs (tip2021 figures A.5 and A.6, tea2023 figure B.4):
 * offending-instruction register (OIR), sample selection, address registers, oldest id, flags.
 *
 * It sees what the head of the ROB shows in a cycle: whether the ROB is empty, the address of its
 * oldest entry, the entries that commit with their flags and PSVs, and the flush signal with its
 * cause. It knows nothing of the golden reference.
 */
#ifndef ANALYSIS_PROFILE_TIPHW_H
#define ANALYSIS_PROFILE_TIPHW_H

#include "trace/record.h"
#include "trace/tip_file.h"

struct tiphw {
	struct tip_layout layout;
	uint32_t psv_mask;

	/* OIR: the last instruction that committed or raised an exception */
	uint64_t oir_address;
	unsigned oir_flags; /* part of TIP_FLUSHED */
	uint32_t oir_psv;

	/* an instruction at the head that cannot commit: the next cycle shows the cause */
	bool flushing;
	uint64_t flush_po, flush_pc;

	/* sample registers */
	bool waits;	  /* a sample is here, and waits for its PSV */
	bool wants_entry; /* drained: and for the first instruction to enter the ROB */
	struct tip_sample sample;
	uint64_t merged; /* overflows of the counter while a sample was waiting */

	/* the entries that commit in this cycle */
	unsigned n, bank;
	uint64_t pc[TIP_WAYS_MAX];
	uint32_t psv[TIP_WAYS_MAX];
	uint32_t tid, pid; /* of the last instruction that committed; lowest id so far */
	uint64_t number;   /* samples delivered */
};

void tiphw_init(struct tiphw *h, const struct tip_layout *layout);
/*
 * A cycle record, with the instructions that commit in it. True: a sample that has been waiting is
 * complete, in h->sample. Then for each overflow of the counter in these cycles tiphw_fire, then
 * tiphw_end.
 */
bool tiphw_begin(struct tiphw *h, const struct rec_cycle *c, const struct rec_inst *const *insts);
/* The counter overflows at `time`, `cycles` after it last did. True: h->sample is complete. */
bool tiphw_fire(struct tiphw *h, const struct rec_cycle *c, uint64_t time, uint64_t cycles);
void tiphw_end(struct tiphw *h, const struct rec_cycle *c, const struct rec_inst *const *insts);

#endif

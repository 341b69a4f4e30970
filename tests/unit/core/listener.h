/* SPDX-License-Identifier: MIT */
/* A listener that checks invariants R1 to R5 of trace/record.h on all records of a run. */
#ifndef TESTS_UNIT_CORE_LISTENER_H
#define TESTS_UNIT_CORE_LISTENER_H

#include "harness.h"

#define BATCH 512

struct listener {
	struct emit emit;
	struct rec_cycle cycles[BATCH];
	struct rec_inst insts[BATCH];
	uint64_t next_cycle;	   /* R1 */
	uint64_t next_po;	   /* R2 */
	uint64_t committed;	   /* inst records */
	uint64_t committed_cycles; /* sum of ncommit */
	uint64_t squashed;
	uint64_t total_cycles;
	uint64_t psv[32]; /* committed instructions with each event */
	uint64_t wrong_producers;
	uint64_t flush_cycles[FLUSH_CAUSE_COUNT]; /* cycles with an empty ROB, by cause */
	uint64_t stalls[DISPATCH_STALL_COUNT];
	uint64_t last_seq;
};

/* Runs the kernel or program and checks every record as it arrives. */
struct core_stats listen(struct listener *l, struct kernel_run k, uint64_t rounds, unsigned wants);

#define ALL                                                                                        \
	(WANT_CYCLES | WANT_HEAD | WANT_INSTS | WANT_SQUASHED | WANT_PRODUCERS | WANT_LATENCIES |  \
	 WANT_FETCH)

#endif

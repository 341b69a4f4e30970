/* SPDX-License-Identifier: MIT */
/*
 * The records that the core emits: everything downstream is computed from these streams. Every run
 * has inst and cycle records; miss records and the stamps of a twin are made if an analysis wants
 * them.
 *
 * Numbers. `seq` counts fetched instructions, right path or wrong: unique in a run, increasing in
 * fetch order. `po` counts instructions in program order on the instruction's own path: on the
 * right path it is contiguous from the start of the run; a wrong path goes on counting from its
 * mispredicted branch, so the same numbers come again on the right path. Distances to producers are
 * differences of po. A seq or po of 0 is "none"; the first instruction has 1.
 *
 * Order and invariants (tests hold them):
 *
 * R1  Cycle records cover every cycle of the traced region exactly once, in order. A gap (a record
 *     whose cycle is not the end of the one before) is the boundary between two regions.
 *
 * R2  Committed inst records come in program order; squashed ones when they are squashed.
 *
 * R3  An inst record is delivered in the same batch as, or an earlier batch than, the cycle record
 *     in which it commits; within a batch an analysis sees the insts first.
 *
 * R4  fetch <= decode <= dispatch <= ready <= issue < complete <= commit for a committed
 *     instruction.
 *
 * R5  The sum of ncommit over the cycle records is the number of committed inst records.
 *
 * M1  Every miss that is in progress in a cycle of the traced region has exactly one miss record;
 *     misses of wrong paths are included. The record comes once the line has arrived, no later than
 *     in the batch with the cycle record of that cycle. If the region ends before that, it comes
 *     with the batches after the region. Misses in progress when the run ends have a record, too,
 *     with MISS_CUT, as if the last cycle had brought their data.
 *
 * M2  Miss records need not be in order of begin or end. No later record has a begin before this
 *     one's begin + end - oldest.
 *
 * M3  0 < end and queue <= end; two misses of one cache with the same line do not
 *     overlap in time (a later request to a line on its way is counted in `merged`).
 *
 * T1  Every committed inst record has exactly one twin record with its po. Twin records come in
 *     program order, in any batch, before or after the instruction's.
 *
 * T2  Instruction po has the same pc on the twin, and commits there no earlier than it dispatches.
 *     The twin's cycles count from the start of its own run.
 *
 * I1  A batch with issue records has one for every instruction that commits in it, in program order. Its
 *     inst records are those of instructions with REC_ISSUE_EVENTS; the seq of each is the number of its
 *     issue record in the batch (from 0). Where instructions issue in program order, times never fall.
 */
#ifndef TRACE_RECORD_H
#define TRACE_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "words/words.h"

/* Events of words.h as bits of rec_inst.psv. */
enum psv_event {
#define X(id, ...) PSV_##id = 1 << EVENT_##id,
	WORDS_EVENTS(X)
#undef X
	    PSV_TEA = (1 << EVENT_TEA_COUNT) - 1,
};

enum rec_inst_flag {
	RI_COMMITTED = 1 << 0, /* else squashed */
	RI_BRANCH = 1 << 1,    /* conditional */
	RI_JUMP = 1 << 2,
	RI_CALL = 1 << 3,
	RI_RETURN = 1 << 4,
	RI_INDIRECT = 1 << 5,
	RI_TAKEN = 1 << 6,
	RI_MISPREDICT = 1 << 7, /* direction or target: fetch was redirected when it resolved */
	RI_LOAD = 1 << 8,
	RI_STORE = 1 << 9,
	RI_SERIAL = 1 << 10,	/* waits for an empty ROB; nothing dispatches until it commits */
	RI_FLUSHES = 1 << 11,	/* its commit flushed the pipeline: CSR, exception, memory order */
	RI_EXCEPTION = 1 << 12, /* took an exception: system call, first-touch page fault */
	RI_MARK_BEGIN = 1 << 13,
	RI_MARK_END = 1 << 14,
	RI_FETCH_HEAD = 1 << 15, /* first instruction of its fetch packet */
	RI_REFETCH = 1 << 16,	 /* fetched again after a memory-order flush or an exception */
	RI_BTB_MISS = 1 << 17,	 /* taken, but the front end learnt its target only at decode */
	RI_RESOLVED = 1 << 18,	 /* squashed after it had executed and was found mispredicted */
	RI_FAULT = 1 << 19,	 /* raised a signal instead of executing: bad address, illegal
				    instruction, ebreak; word 0: no instruction at pc */
	RI_STAMPS = 1 << 20,	 /* made for WANT_STAMPS: fetch is the cycle of dispatch */
};

/* A guest can jump to any 64-bit number; of an address without an instruction, so many bits are
 * kept. */
#define REC_PC_BITS 50

/* A stamp that is missing: the instruction did not get that far, or the source does not know. */
#define STAMP_NONE UINT32_MAX

/*
 * The notes: what happened to an instruction on its way through the machine; absent from brief
 * records. Stamps are cycles after fetch. Of a machine that issues in order, prod[2] is the last writer of
 * the destination where there is no third source, and prod_mem where there is.
 */
/* clang-format off */
#define REC_NOTES \
	uint64_t addr;        /* memory operand */ \
	uint32_t decode;      /* entered decode */ \
	uint32_t dispatch;    /* D: entered the ROB */ \
	uint32_t ready;       /* R: all operands available */ \
	uint32_t issue;       /* E: begins to execute */ \
	uint32_t complete;    /* P: result available */ \
	uint32_t prod[3];     /* producers of the source registers, as po distances; 0: none in flight */ \
	uint32_t prod_mem;    /* store that a load depends on, as po distance; 0: none is queued */ \
	uint32_t prod_line;   /* earlier miss whose line it waited for, as po distance; 0: none */ \
	uint16_t lat_icache;  /* cycles its fetch packet waited for the I-cache beyond a hit */ \
	uint16_t lat_itlb;    /* cycles its fetch packet waited for the I-TLB */ \
	uint16_t lat_fu;      /* cycles ready but not issued: width or functional units */ \
	uint16_t lat_exec;    /* execution latency without cache misses */ \
	uint16_t lat_dmiss;   /* cycles beyond an L1 hit; the next two are parts of it */ \
	uint16_t lat_dtlb;    /* address translation */ \
	uint16_t lat_bus;     /* waiting for MSHRs, buses, DRAM queues */ \
	uint8_t ilevel;       /* enum mem_level that served its fetch packet (RI_FETCH_HEAD, else L1) */ \
	uint8_t dlevel;       /* enum mem_level that served its data */
/* clang-format on */

struct rec_notes {
	REC_NOTES
};

/* One per instruction that leaves the machine. */
struct rec_inst {
	uint64_t seq;
	uint64_t fetch;	 /* cycle in which it was fetched */
	uint64_t target; /* control transfers: where it went; others: the next pc */
	uint32_t psv;	 /* enum psv_event */
	uint32_t flags;	 /* enum rec_inst_flag */

	uint64_t pc;		/* REC_PC_BITS, sign-extended */
	uint32_t word;		/* instruction word */
	uint16_t size;		/* bytes of the memory operand */
	uint8_t cls;		/* enum op_class */
	uint8_t dispatch_stall; /* enum dispatch_stall: what held it at dispatch longest */

	uint64_t po;
	uint32_t commit; /* C: committed, or squashed, in cycles after fetch */
	uint32_t tid;	 /* guest thread */
	union {
		struct {
			REC_NOTES
		};
		struct rec_notes notes; /* the same, as one */
	};
};
/* Each half is a cache line: a brief record writes only the first. */
_Static_assert(sizeof(struct rec_notes) == 64 && sizeof(struct rec_inst) == 128, "two cache lines");

enum rec_cycle_flag {
	RC_ROB_EMPTY = 1 << 0,	     /* at the start of the cycle, before this cycle's dispatch */
	RC_ROB_FULL = 1 << 1,	     /* likewise */
	RC_HEAD_DONE = 1 << 2,	     /* the oldest instruction has completed */
	RC_WRONG_PATH = 1 << 3,	     /* fetch is on a wrong path */
	RC_FLUSH = 1 << 4,	     /* a flush happened in this very cycle */
	RC_SQ_FULL = 1 << 5,	     /* the store queue is full of completed, undrained stores */
	RC_DISPATCH_WRONG = 1 << 6,  /* the first to dispatch (or wait) is on a wrong path */
	RC_DMISS_OUT = 1 << 7,	     /* an L1 D-miss is outstanding */
	RC_LONG_DMISS_OUT = 1 << 8,  /* a miss of the last level is outstanding */
	RC_HEAD_LONG_DMISS = 1 << 9, /* the oldest is a load that waits for a last-level miss */
	RC_HEAD_DTLB = 1 << 10,	     /* the oldest is a load that waits for a page walk */
	RC_HEAD_L1MISS = 1 << 11,    /* the oldest is a load whose L1 miss a lower cache serves */
};

/*
 * One per run of equal cycles: `repeat` folds cycles in which nothing here changes but `cycle` and
 * nissue. The first cache line is always written, the second only for WANT_FETCH.
 */
struct rec_cycle {
	uint64_t cycle;	  /* first cycle of the run */
	uint64_t head_po; /* the oldest instruction at the start of the cycle (first to commit); 0:
			     ROB empty */
	uint64_t head_pc;
	uint64_t dispatch_seq; /* first instruction that dispatches in this cycle, else the one that
				  waits; 0: none */
	uint64_t flush_po;     /* instruction of the last flush */
	uint64_t flush_pc;
	uint32_t repeat; /* cycles that this record stands for, >= 1; 1 if anything commits,
			    dispatches or is fetched */
	uint8_t ncommit; /* po head_po … head_po + ncommit - 1 commit in this cycle */
	uint8_t ndispatch;
	/* Total over the cycles of this record; if repeat > 1, at most dispatch_width in each
	 * cycle. */
	uint16_t nissue;
	uint16_t flags;	   /* enum rec_cycle_flag */
	uint16_t rob_used; /* entries at the start of the cycle */
	uint8_t nfetch;
	uint8_t dispatch_stall; /* enum dispatch_stall */
	uint8_t fetch_stall;	/* enum fetch_stall */
	uint8_t flush_cause;	/* enum flush_cause of the last flush; NONE again once its first
				   right-path instruction has dispatched */

	/* At the start of the cycle: the next instruction to be fetched, and the po of the next one
	 * of the right path. */
	uint64_t fetch_seq, fetch_po;
	uint64_t fetch_pc;    /* pc being fetched, wrong path or right */
	uint64_t dispatch_pc; /* of dispatch_seq */
	uint64_t unused[4];   /* the rest of the second cache line */
};
_Static_assert(sizeof(struct rec_cycle) == 128, "two cache lines");

enum rec_miss_flag {
	MISS_WRONG_PATH = 1 << 0, /* an instruction on a wrong path caused it */
	MISS_CUT = 1 << 1,	  /* was still in progress when the run ended */
};

/*
 * One per L1 line miss that takes an MSHR, and one per L1 TLB miss. Stamps are cycles after begin.
 * seq, po and pc are those of the first instruction that requested the line. For a hardware
 * prefetch or a page walk they are those of the instruction whose access caused it, if known (else
 * 0). A line that is asked for ahead of fetch is a hardware prefetch: pc is where the predicted path
 * enters the line's block, po and seq are those of the instruction that fetch had come to.
 */
struct rec_miss {
	uint64_t begin; /* cycle of the lookup that missed */
	uint64_t line;	/* address of the line; TLB misses: of the page */
	uint64_t pc;
	uint64_t po;  /* wrong paths count on their own, as in rec_inst */
	uint64_t seq; /* 0: not known */

	uint32_t end; /* when the data can be used */
	/* How long before `end` the oldest miss that has no record yet began; 0: none began
	 * before it. */
	uint32_t oldest;
	uint32_t queue;	 /* cycles spent waiting: MSHRs of lower levels, banks, buses, DRAM */
	uint32_t use;	 /* prefetches: first demand request before the data; else STAMP_NONE */
	uint16_t merged; /* later requests for the line while it was on its way; at most 65535 */
	uint8_t kind;	 /* enum miss_kind */
	uint8_t level;	 /* enum mem_level that served it. TLB misses: L2 where the second-level TLB
			    had the translation, else MEM */
	uint8_t flags;	 /* enum rec_miss_flag */
	/* The oldest instruction of the right path that waited for the data: its po less this one's
	 * (0: this one itself). WAITS_NONE: none did. Stores, hints and prefetches do not wait. */
	int32_t waits : 24;
};
_Static_assert(sizeof(struct rec_miss) == 64, "a cache line");

#define WAITS_NONE (-(1 << 23))

/* One per committed instruction, in program order, where nobody wants to know more of most of them (WANT_ISSUES). */
struct rec_issue {
	uint64_t pc;
	uint64_t time; /* cycle in which it issued */
};
/* The events of an instruction that has an inst record besides. */
#define REC_ISSUE_EVENTS (PSV_DR_L1 | PSV_DR_TLB | PSV_ST_L1 | PSV_ST_TLB | PSV_FL_MB)

/* The cycle in which the data can be used: the miss is in progress in [begin, that). */
static inline uint64_t miss_end(const struct rec_miss *m)
{
	return m->begin + m->end;
}

/* The instruction that waited; if there is one. */
static inline uint64_t miss_waiter(const struct rec_miss *m)
{
	return m->po + (uint64_t)(int64_t)m->waits;
}

/* Whether the instruction that caused a miss of this kind waits for its data. */
static inline bool miss_is_waited_for(enum miss_kind kind)
{
	return kind != MISS_STORE && kind != MISS_HINT && kind != MISS_PREFETCH;
}

/* Every miss that began before this cycle has had its record (M2). */
static inline uint64_t miss_settled(const struct rec_miss *m)
{
	return m->begin + m->end - m->oldest;
}

/*
 * When an instruction of the run was dispatched and committed on the twin: the same machine with
 * perfect caches and TLBs, which executes the same instructions. One per committed instruction.
 */
struct rec_twin {
	uint64_t po;
	uint64_t dispatch; /* cycle of the twin */
	uint32_t commit;   /* cycles after dispatch */
	uint32_t unused;
};
_Static_assert(sizeof(struct rec_twin) == 24, "no padding");

/*
 * Numbers of the machine and the run, after whole-run idealisation. A trace file has a line for
 * each. Columns: type, name, and the range that a trace file may have: SIZE at most 2^24; FREE also
 * UINT32_MAX for "no limit", because nothing is sized by it; ROB the size of a reorder buffer; ANY
 * anything.
 */
#define TRACE_META_NUMBERS(X)                                                                       \
	X(uint32_t, fetch_width, SIZE)                                                              \
	X(uint32_t, decode_width, SIZE)                                                             \
	X(uint32_t, dispatch_width, SIZE)                                                           \
	X(uint32_t, issue_width, FREE)                                                              \
	X(uint32_t, commit_width, SIZE)                                                             \
	X(uint32_t, rob_entries, ROB)                                                               \
	X(uint32_t, iq_entries, SIZE)                                                               \
	X(uint32_t, lq_entries, SIZE)                                                               \
	X(uint32_t, sq_entries, SIZE)                                                               \
	/* cycles from fetch to dispatch without stalls */                                          \
	X(uint32_t, frontend_depth, SIZE)                                                           \
	/* cycles from a branch's completion to the dispatch of the first right-path instruction */ \
	X(uint32_t, mispredict_loop, SIZE)                                                          \
	/* extra cycles between dependent one-cycle instructions (fields2004: issue-wakeup loop) */ \
	X(uint32_t, wakeup_latency, SIZE)                                                           \
	/* load-to-use, unloaded, of a hit in each level */                                         \
	X(uint32_t, l1i_latency, SIZE)                                                              \
	X(uint32_t, l1d_latency, SIZE)                                                              \
	X(uint32_t, l2_latency, SIZE)                                                               \
	X(uint32_t, llc_latency, SIZE)                                                              \
	X(uint32_t, mem_latency, SIZE)                                                              \
	/* typical page walk */                                                                     \
	X(uint32_t, itlb_penalty, SIZE)                                                             \
	X(uint32_t, dtlb_penalty, SIZE)                                                             \
	X(uint32_t, line_bytes, SIZE)                                                               \
	X(uint32_t, outstanding_branches, SIZE)                                                     \
	X(uint32_t, in_order, SIZE)	   /* 1: issues in program order */                         \
	X(uint32_t, taken_per_fetch, FREE) /* fetch stops at this taken branch */                   \
	X(uint64_t, seed, ANY)

/* What an analysis may need to know of the machine and the run; fixed before the first record. */
struct trace_meta {
	char program[256];
	char machine[64];
#define X(type, name, valid) type name;
	TRACE_META_NUMBERS(X)
#undef X
	double clock_hz;
};

#endif

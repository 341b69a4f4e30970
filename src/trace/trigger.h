/* SPDX-License-Identifier: MIT */
/*
 * Regions of a run: from a start condition to a stop condition, as often as they come.
 *
 * Conditions are evaluated on the record streams, so a live run and a replayed trace cut at the
 * same record. A region holds whole cycles. By instruction (count, pc, mark) it starts with the
 * cycle in which that instruction commits and ends before the cycle in which the stopping one
 * commits.
 */
#ifndef TRACE_TRIGGER_H
#define TRACE_TRIGGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/record.h"
#include "util/util.h"

enum trigger_kind {
	TRIGGER_NONE,  /* start: from the beginning; stop: at the end */
	TRIGGER_CYCLE, /* at cycle `value` */
	TRIGGER_INST,  /* at program-order number `value` */
	TRIGGER_PC,    /* at the nth commit of pc `value` */
	TRIGGER_WORD,  /* at the nth commit of an instruction whose word is `value` under `mask` */
	TRIGGER_MARK,  /* start: CULPRIT_BEGIN, stop: CULPRIT_END; every one of them */
	/* After the cycle in which the instruction commits that is number `value` of all that have
	 * committed since the records began, without those that fault; 0: from the first record.
	 * Only --settle makes it, for the one region of its run. */
	TRIGGER_AFTER,
};

struct trigger {
	enum trigger_kind kind;
	uint64_t value;
	uint64_t nth;  /* TRIGGER_PC, TRIGGER_WORD: which occurrence, from 1; 0: every one */
	uint32_t mask; /* TRIGGER_WORD */
};

struct region {
	struct trigger start, stop;
};

/*
 * Reads "cycle:N", "inst:N", "pc:0xADDR[#N]", "word:0xWORD[/0xMASK][#N]", "mark", "symbol:NAME[#N]" or a bare
 * number (instructions). A word of 16 bits is a compressed instruction. resolve finds the address of a symbol (false: there is none); it may be NULL,
 * then symbols are errors.
 */
bool trigger_parse(const char *text, bool (*resolve)(void *ctx, const char *name, uint64_t *addr),
		   void *ctx, struct trigger *out, struct err *e);
/* Whether the text is a trigger, whatever symbols the program has; for cmd_option.check. */
bool trigger_check(const char *text, struct err *e);

#define REGION_MAX 32

/* Cuts batches into the slices that lie inside regions. */
struct trigger_cutter {
	struct region regions[REGION_MAX];
	size_t count;	  /* 0: everything is inside */
	bool inside;	  /* at the end of the last batch */
	size_t current;	  /* the open region, or the next one to look for */
	uint64_t seen;	  /* occurrences so far of the pc or word that is looked for */
	uint64_t counted; /* TRIGGER_AFTER: instructions in earlier batches */
	uint64_t due; /* TRIGGER_AFTER: cycle of a later batch in which it comes true; 0: none */
	uint64_t next_cycle; /* everything before it has been decided */
};

struct trigger_slice {
	size_t cycle0, cycle1; /* [cycle0, cycle1) of the batch's cycle records */
	size_t inst0, inst1;
	uint64_t before; /* cycles of the slices before it, of all batches; set by the bus */
};

/* Regions are taken in order; the last one repeats if its conditions can come again (mark, pc with
 * nth 0). The array of cycle records must have room for `count` more: a folded run that a region
 * cuts is split in place, and *ncycles grows. Returns the number of slices written, at most
 * max_slices. */
size_t trigger_cut(struct trigger_cutter *t, struct rec_cycle *cycles, size_t *ncycles,
		   const struct rec_inst *insts, size_t ninsts, struct trigger_slice *slices,
		   size_t max_slices);

#endif

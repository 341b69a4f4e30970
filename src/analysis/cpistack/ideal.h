/* SPDX-License-Identifier: MIT */
/*
 * The ideal clock: when each committed instruction would dispatch and commit if nothing missed and every
 * branch were predicted. The base of a CPI stack cannot be less.
 */
#ifndef ANALYSIS_CPISTACK_IDEAL_H
#define ANALYSIS_CPISTACK_IDEAL_H

#include "machine/units.h"
#include "trace/record.h"

struct trace_meta;

#define IDEAL_KNOWN 4096 /* static instructions that are decoded at once */
#define IDEAL_TABLE 1024 /* cycles of which the use of units is known */

struct ideal_inst {
	uint64_t pc;
	uint32_t word, busy, latency;
	uint8_t unit, dst, src[3];
};

enum clock {
	CLOCK_BASE, /* all data is in the L1 */
	CLOCK_L1D, /* none comes from memory: what misses the L1 costs what the cache that has it costs, at most
		       the last */
	CLOCK_BMISP, /* and mispredicted branches are */
	CLOCKS
};

/* Times are dispatch slots, so that a machine that dispatches three a cycle is exact, too. */
struct ideal_clock {
	/* When the last instruction dispatched and committed; after which the next dispatches. */
	uint64_t entered, committed, dispatched;
	uint64_t ready[64]; /* cycles: of registers' values */
	uint64_t *commits;  /* ring: of the last instructions, in slots */
	struct ideal_use {
		uint64_t cycle;
		uint32_t used;
	} * use[UNIT_COUNT]; /* by unit and cycle, modulo IDEAL_TABLE; NULL: there are enough */
};

struct ideal_clocks {
	const struct machine *machine; /* NULL: the machine is not known, and there is no clock */
	uint64_t width, commit_width, rob, depth;
	uint64_t refill;   /* slots from a mispredicted branch's result to the next dispatch */
	uint32_t l2, last; /* cycles beyond a hit in the L1, of the L2, of the last cache */
	uint64_t mask, count;
	struct ideal_inst *known;
	struct ideal_clock clock[CLOCKS];
};

/* Whether the use of units of a kind is kept: operations may have to wait for one. */
bool ideal_keeps(const struct machine *m, unsigned width, unsigned kind);

void ideal_init(struct ideal_clocks *s, const struct trace_meta *meta,
		const struct machine *machine);
void ideal_free(struct ideal_clocks *s);
/* The next instruction that commits. */
void ideal_inst(struct ideal_clocks *s, const struct rec_inst *r);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * What the paths to an instruction may have left behind: registers that loads may have written last and
 * that nothing has waited for, results and units that may still be under way, stores that may be queued.
 * For the rules of culprit.c.
 */
#ifndef CALC_CARRIED_H
#define CALC_CARRIED_H

#include "calc/calc.h"
#include "isa/isa.h"
#include "machine/units.h"

#define CARRIED_OUTSIDE UINT32_MAX /* what did it is in another procedure, or not known */
#define CARRIED_STORES	8	   /* stores of the block that addresses are kept of */
#define CARRIED_WIDTHS	4	   /* of stores: 1, 2, 4 and 8 bytes */

/* At the beginning of a block, over all paths that are not ignored. Times are cycles from there. */
struct carried {
	uint64_t loaded;     /* registers that a load may have written last, not waited for */
	uint64_t stale;	     /* loaded by another procedure and of no use here: to be overwritten */
	uint64_t overlapped; /* of loaded: by a load that a queued store may have held up */
	uint64_t
	    live; /* registers that by and left say something of: all that are in one of these masks, and
			      * those that are not there yet */
	uint32_t unit_by[UNIT_COUNT];
	uint16_t unit_left[UNIT_COUNT];	 /* until the unit is free */
	uint16_t queued[CARRIED_WIDTHS]; /* until the last store of that width has left the queue */
	uint32_t store_by;		 /* that store */
	float lines;			 /* that the write buffer may hold */
	uint32_t by[64];   /* the instruction that wrote a register last, one of them */
	uint16_t left[64]; /* until it is there, if nothing dynamic holds it up */
};

/* What an instruction is, for the rules and for the schedule. */
struct carried_op {
	uint64_t reads, touches; /* registers: sources; these and the destination */
	struct unit_use use;
	struct inst_operands operands;
	int32_t imm;
	uint8_t cls; /* enum op_class */
	uint8_t mem_bytes;
	bool load, store;
	bool serial, drains;
};

/* The machine's longest times, in cycles. */
struct carried_machine {
	const struct machine *m;
	double fill, fetch_fill;  /* a line from memory, for data and for code */
	double walk;		  /* a page walk */
	double line;		  /* until the write buffer has sent one line, at the longest */
	double latency;		  /* of any unit */
	double results[2];	  /* until what a procedure returns is there: integer, FP */
	uint16_t results_left[2]; /* the same in whole cycles */
	bool pessimistic;	  /* calc_options.cross */
	uint32_t entries;	  /* of the write buffer; 0: stores cannot fill it */
};

/* A place in a block. */
struct carried_walk {
	const struct carried_machine *m;
	const struct calc_proc *proc;
	double now;	     /* cycles from the block's beginning to the last issue */
	uint64_t here;	     /* registers written in this block */
	uint32_t units_here; /* kinds of units used in it */
	struct {
		uint8_t base;
		int32_t from, to; /* offsets */
		uint32_t by;
	} stores[CARRIED_STORES]; /* of this block, the last ones */
	uint32_t nstores;	  /* all of this block */
	uint8_t line_base;	  /* base register of the line counted last; 0: none */
	int32_t line_offset;
	struct carried s; /* left, unit_left, queued: as they were at the block's beginning */
	double unit_until[UNIT_COUNT], queued_until[CARRIED_WIDTHS];
	double until[64]; /* of s.live */
};

struct carried_machine carried_machine(const struct calc_program *p);
struct carried_op carried_op(const struct machine *m, const struct cfg_inst *i);
/* The same from a table of what was decoded last, for one machine: programs say the same things again. NULL: none.
 * Freed with free(). */
struct carried_cache *carried_cache_new(void);
struct carried_op carried_op_of(struct carried_cache *c, const struct machine *m,
				const struct cfg_inst *i);

/* All instructions of a procedure; the caller frees them. */
struct carried_op *carried_ops(const struct machine *m, const struct calc_proc *proc);

/* The state of every block's beginning; the caller frees it. */
struct carried *carried_all(const struct calc_program *p, const struct calc_proc *proc,
			    const struct carried_machine *m, const struct carried_op *ops);

/*
 * The registers alone, for passed.c: what loads are under way at the ends of blocks, as carried_all() has it, at a
 * small part of its cost. Needs CROSS_SELECTIVE and proc->call_loads. What settle() found is where the next one
 * goes on: entry_loads and call_loads may only have grown between two of them.
 */
struct carried_loads *carried_loads_new(const struct calc_program *p, const struct calc_proc *proc,
					const struct carried_machine *m);
void carried_loads_settle(struct carried_loads *l);
uint64_t carried_loads_end(const struct carried_loads *l, uint32_t block);
void carried_loads_free(struct carried_loads *l);

/* Whether a path that comes over this edge counts. */
bool carried_counts(const struct calc_program *p, const struct calc_proc *proc, uint32_t edge);

void carried_begin(struct carried_walk *w, const struct carried_machine *m,
		   const struct calc_proc *proc, const struct carried *s);
/* Time passes until the instruction issues, if nothing dynamic holds it up. */
void carried_wait(struct carried_walk *w, uint32_t inst);
/* It has issued. */
void carried_issue(struct carried_walk *w, uint32_t inst, const struct carried_op *op);
/* At a return: how long what this procedure has computed for its caller still takes, if longer than left
 * says. left[0]: integer, left[1]: FP. */
void carried_results(const struct carried_walk *w, double *left);
/* Cycles until the last queued store has left the queue. */
double carried_queued(const struct carried_walk *w);
/* Whether a queued store may hold up a load now; *by: the store, or CARRIED_OUTSIDE. */
bool carried_overlaps(const struct carried_walk *w, const struct carried_op *op, uint32_t *by);

#endif

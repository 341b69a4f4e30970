/* SPDX-License-Identifier: MIT */
/*
 * One lane of the graph for a machine that has one part of another size: more or fewer entries, another
 * width, another number of units, a larger cache, or none of a limit.
 */
#ifndef ANALYSIS_ICOST_SIZED_H
#define ANALYSIS_ICOST_SIZED_H

#include "analysis/icost/graph.h"
#include "isa/isa.h"
#include "machine/machine.h"
#include "words/words.h"

#define SIZED_NONE UINT32_MAX /* there is no such limit */

/* How large each part is (enum resource); SIZED_NONE: it never binds. */
struct sized_limits {
	uint32_t of[RESOURCES];
};

/* What the lanes must know of the machine. */
struct sized_machine {
	struct graph_config config;
	struct sized_limits limits;
	bool unified;	       /* one issue queue */
	uint32_t decode_depth; /* stages whose room depends on the decode width */
	uint32_t l2_extra;     /* cycles that a miss adds which the L2 serves */
	bool pipelined[UNIT_COUNT];
};

/* Misses that a cache of twice the size would not have. */
enum sized_hit {
	SIZED_L1I = 1 << 0,
	SIZED_L1D = 1 << 1,
	SIZED_L2I = 1 << 2, /* the L2 has its instructions */
	SIZED_L2D = 1 << 3, /* the L2 has its data */
};

/* What they must know of an instruction beside its edges. */
struct sized_inst {
	uint8_t cls, queue, unit; /* enum op_class; issue queue; enum unit_kind */
	uint8_t dst;
	bool load, store, branch; /* branch: counts as unresolved until it has executed */
	uint8_t stall; /* enum dispatch_stall: what held it up at dispatch; DISPATCH_OK: nothing */
	uint8_t hits;  /* enum sized_hit */
	uint16_t latency; /* of its unit */
	uint16_t drain;	  /* store, held up by a full store queue: see struct stall_facts */
};

/* Which part has another size, and which. RESOURCES: none, the machine as it is. */
struct sized_change {
	enum resource what;
	uint32_t size; /* SIZED_NONE: no limit */
};

struct sized;

struct sized *sized_new(const struct sized_machine *m);
void sized_free(struct sized *l);
/* Forgets all instructions; from now on the machine is changed so. */
void sized_begin(struct sized *l, struct sized_change change);
/* Adds the next instruction. */
void sized_next(struct sized *l, const struct graph_inst *in, const struct sized_inst *about);
/* C of the last instruction. */
uint64_t sized_commit(const struct sized *l);

/* ---- for tests ---- */

/* The n latest of the times that were added. */
struct held {
	uint32_t n, first; /* n 0: no limit */
	uint64_t *time;	   /* sorted, from `first` on around */
};
void held_begin(struct held *h, uint32_t n);
/* The n-th latest; 0 if fewer were added. */
uint64_t held_least(const struct held *h);
void held_add(struct held *h, uint64_t time);

#endif

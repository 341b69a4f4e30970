/* SPDX-License-Identifier: MIT */
/*
 * The graph's memory, for graph.c, steps.c and the kernels.
 *
 * A vector over lanes is a row: a past time, a mask, or a delay (what parts add in each lane). A
 * block of lanes has all its rows in one array, so a row is a 16-bit number, the same in every block.
 * Lanes are independent. A kernel takes some of them through a whole batch of steps before it takes
 * the next ones, so their share of the rows stays in the L1 and L2, and the last F, D, P and C in
 * registers.
 *
 * Lanes are ordered differently inside than sets of categories are: bandwidth is bit 6 and window
 * bit 7, so that the compiler knows which edges a vector has.
 *
 * Lanes have 16 bits, each relative to a base of its own. A batch is run only if no time can exceed
 * 16 bits on any path (steps.c); the base is moved up first. Where the times that still matter are
 * too far apart, lanes have 32 bits for a while.
 */
#ifndef ANALYSIS_ICOST_GRAPH_INT_H
#define ANALYSIS_ICOST_GRAPH_INT_H

#include "analysis/icost/graph.h"

#define GRAPH_BLOCK  128 /* lanes whose rows lie together */
#define GRAPH_BLOCKS (GRAPH_LANES / GRAPH_BLOCK)

#define GRAPH_D_MASK	   15
#define GRAPH_D_GRAIN_MASK 127

#define GRAPH_BATCH   512 /* steps */
#define GRAPH_SINGLES 128 /* rows for delays of one small part */
#define GRAPH_SMALL   16  /* a small part has less than so many cycles */
#define GRAPH_DELAYS  512 /* entries of the cache of executions' delays */
/* Entries in which a key is looked for: as many as one instruction can need. */
#define GRAPH_PROBES 8

enum graph_last { LAST_F, LAST_D, LAST_P, LAST_C, LAST_COUNT };
enum graph_width { NARROW, BROAD, WIDTHS }; /* 16 and 32 bits */

/* First row of each kind. Rings are by instruction number. */
struct graph_rows {
	uint16_t d;	  /* D + 1 of the last 16; slots are the rows before these */
	uint16_t d_grain; /* D of every GRAPH_GRAIN-th, for GRAPH_REACH */
	uint16_t c;	  /* for window and commit width */
	uint16_t c_grain; /* every GRAPH_WIN_GRAIN-th, for window_ideal */
	uint16_t e;	  /* for window, if issue_edges */
	uint16_t last;	  /* LAST_COUNT */
	uint16_t unread;  /* takes results that nothing reads */
	uint16_t masks;	  /* GRAPH_MASKS; all rows before them are times */
	uint16_t singles, delays, count;
};

/* Bits of a step's flags: nodes that not every instruction has (F: it is a head; V: it has a port; P:
 * P has more edges than EXECUTION, or goes into mem), then rows that hold only sometimes. */
enum step_bit {
	BIT_F,
	BIT_V,
	BIT_P,
	BIT_P_KEPT,  /* the next instruction may need P */
	BIT_D_GRAIN, /* its D is kept for GRAPH_REACH */
	BIT_C_GRAIN, /* its C is kept for the idealised window */
	BIT_FORWARD, /* GRAPH_FORWARD */
/* Rows of edges.def whose condition is FLAG or RARE. */
#define BIT_IF_ALWAYS(name)
#define BIT_IF_PERSISTS(name)
#define BIT_IF_PACKET(name)
#define BIT_IF_FUSED(name)
#define BIT_NONE(name)
#define BIT_ONE(name)							BIT_##name,
#define BIT_IF_ZEROS(cond)						BIT_NONE
#define BIT_IF_FLAG(cond)						BIT_ONE
#define BIT_IF_RARE(cond)						BIT_ONE
#define EDGE(name, n, at, latency, removed, when, blame)		BIT_IF_##when(name)
#define NEAR(name, n, at, latency, removed, when, blame)		BIT_IF_##when(name)
#define LIMITED(name, n, at, latency, removed, when, blame, limit, fwd) BIT_IF_##when(name)
#define OVERTAKES(name, n, at, when)					BIT_IF_##when(name)
#define OWN(n, latency, when)						BIT_IF_##when(n##_own)
#define RESULT(slot, n, latency, when)					BIT_IF_##when(slot)
#include "analysis/icost/edges.def"
	BITS,
};
_Static_assert(BITS <= 32, "a step's flags");
#define STEP(name) (1u << BIT_##name)

/* The bits of all rows into B; if none is set, B is E. */
enum {
	STEPS_INTO_B = 0
#define NO_STEP(name)	       0
#define STEP_IF_PERSISTS(name) 0
#define STEP_IF_ALWAYS(name)   0
#define STEP_IF_ZEROS(cond)    NO_STEP
#define STEP_IF_FLAG(cond)     STEP
#define STEP_IF_RARE(cond)     STEP
#define EDGE(name, n, at, latency, removed, when, blame)                                           \
	| (NODE_##n == NODE_B ? STEP_IF_##when(name) : 0)
#define LIMITED(name, n, at, latency, removed, when, blame, limit, fwd)                            \
	| (NODE_##n == NODE_B ? STEP_IF_##when(name) : 0)
#include "analysis/icost/edges.def"
};

/* The bits that few steps have any of: rows whose condition is RARE, and P_KEPT. */
enum {
	STEPS_RARE = STEP(P_KEPT)
#define RARE_IF_ALWAYS(name)						0
#define RARE_IF_PERSISTS(name)						0
#define RARE_IF_PACKET(name)						0
#define RARE_IF_FUSED(name)						0
#define RARE_IF_ZEROS(cond)						NO_STEP
#define RARE_IF_FLAG(cond)						NO_STEP
#define RARE_IF_RARE(cond)						STEP
#define EDGE(name, n, at, latency, removed, when, blame)		| RARE_IF_##when(name)
#define NEAR(name, n, at, latency, removed, when, blame)		| RARE_IF_##when(name)
#define LIMITED(name, n, at, latency, removed, when, blame, limit, fwd) | RARE_IF_##when(name)
#define OVERTAKES(name, n, at, when)					| RARE_IF_##when(name)
#define OWN(n, latency, when)						| RARE_IF_##when(n##_own)
#define RESULT(slot, n, latency, when)					| RARE_IF_##when(slot)
#include "analysis/icost/edges.def"
};

/* An instruction, the same for all lanes. Members are rows unless they say cycles. */
struct graph_step {
	uint32_t flags;		     /* 1 << enum step_bit */
	uint16_t d, d_grain;	     /* where D + 1 and D go */
	uint16_t e, c, c_grain;	     /* where E and C go */
	uint16_t to_p, to_c, to_dst; /* delays: E to P, to C, to dst */
/* Of each edge: where it comes from, its latency, and its mask. */
#define HAS_LATENCY_NONE(name)
#define HAS_LATENCY_ONE(name)
#define HAS_LATENCY_EXECUTION(name)
#define HAS_LATENCY_MACHINE(member) BIT_NONE
#define HAS_LATENCY_CYCLES(cycles)  ROW_CYCLES
#define HAS_LATENCY_IN_PART(part)   ROW_DELAY
#define HAS_LATENCY_IN_PARTS(p, n)  ROW_DELAY
#define ROW_CYCLES(name)	    uint16_t name##_cycles;
#define ROW_DELAY(name)		    uint16_t name##_delay;
#define HAS_MASK_NEVER(name)
#define HAS_MASK_BW(name)
#define HAS_MASK_WIN(name)
#define HAS_MASK_BW_WIN(name)
#define HAS_MASK_NOT_WIN(name)
#define HAS_MASK_BY(category) ROW_MASK
#define ROW_MASK(name)	      uint16_t name##_mask;
#define EDGE(name, n, at, latency, removed, when, blame)                                           \
	uint16_t name;                                                                             \
	HAS_LATENCY_##latency(name) HAS_MASK_##removed(name)
#define NEAR(name, n, at, latency, removed, when, blame)                                           \
	HAS_LATENCY_##latency(name) HAS_MASK_##removed(name)
#define LIMITED(name, n, at, latency, removed, when, blame, limit, fwd)                            \
	uint16_t name, name##_limit; /* limit: cycles */                                           \
	HAS_LATENCY_##latency(name) HAS_MASK_##removed(name)
#define OVERTAKES(name, n, at, when) uint16_t name;
#define OWN(n, latency, when)	     HAS_LATENCY_##latency(n##_own)
#define RESULT(slot, n, latency, when)                                                             \
	uint16_t slot;                                                                             \
	HAS_LATENCY_##latency(slot)
#include "analysis/icost/edges.def"
};
/* The delays of an execution: E to P, to C and to the destination. */
struct graph_delay {
	uint64_t key[3]; /* the last is 0: free */
	uint64_t batch;	 /* the last batch that used it */
	uint32_t most;	 /* the most cycles in any lane */
	uint16_t to_p, to_c, to_dst;
};

struct graph {
	struct graph_config config;
	const struct graph_kernel *kernel;
	uint64_t count; /* instructions so far, plus start */
	uint64_t start; /* value of count at reset */
	enum graph_width width;
	uint64_t base[GRAPH_LANES]; /* what was subtracted from all times of a lane so far */
	struct graph_rows rows;
	void *memory[WIDTHS]; /* rows.count rows for each block; BROAD: NULL until needed */
	uint32_t c_mask, c_grain_mask;
	uint64_t highest;		  /* an upper bound of all times of all lanes */
	uint32_t wake;			  /* no slot, except a port's, is later than C by more */
	uint64_t ports[GRAPH_SLOTS / 64]; /* slots that are ports */
	uint64_t broad_until;		  /* count at which narrow lanes are tried again */
	uint32_t stay;			  /* instructions until then */
	bool counts[GRAPH_MASKS][GRAPH_LANES]; /* the masks; lanes in the inside order */
	uint64_t batches;
	struct graph_delay delay[GRAPH_DELAYS];
	unsigned next_probe;
	uint16_t single[GRAPH_MASKS][GRAPH_SMALL]; /* rows; 0: none yet */
	unsigned nsingles;
	struct graph_step steps[GRAPH_BATCH];
};

/* The inside number of the lane of a set of categories. */
static inline unsigned graph_inside(unsigned set)
{
	const unsigned low = 1u << CAT_BW, between = (1u << CAT_WIN) - 2 * low;
	return (set & (low - 1)) | (set & between) >> 1 | (set & low) << (CAT_WIN - 1 - CAT_BW) |
	       (set & 1u << CAT_WIN);
}

static inline void *graph_row(const struct graph *g, unsigned lane, unsigned row)
{
	const size_t at =
	    ((size_t)(lane / GRAPH_BLOCK) * g->rows.count + row) * GRAPH_BLOCK + lane % GRAPH_BLOCK;
	return (char *)g->memory[g->width] + (at << (g->width == BROAD ? 2 : 1));
}

/* Times are clipped this far before F, so that what an edge adds to a past time (cd_wait, one cycle)
 * cannot make a clipped time matter. */
#define GRAPH_MARGIN (GRAPH_WAIT_MAX + 1)
/* Times stay below this. */
#define GRAPH_LIMIT(width) ((width) == BROAD ? 1u << 31 : (1u << 16) - 1)

/* steps.c: makes steps of the next instructions, for one batch. Returns how many, at most
 * GRAPH_BATCH; 0: there is no room for the cycles of even one. *growth: how much g->highest may grow
 * by them. */
size_t graph_steps(struct graph *g, const struct graph_inst *in, size_t count, uint64_t *growth);
/* Forgets all delays, after masks or width have changed. */
void graph_forget_delays(struct graph *g);

extern const struct graph_kernel graph_kernel_c, graph_kernel_avx2, graph_kernel_avx512;

#endif

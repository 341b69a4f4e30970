/* SPDX-License-Identifier: MIT */
/*
 * The graph's memory, for graph.c, steps.c and the kernels.
 *
 * Everything that is a vector over lanes is a row: times of the past, masks, and delays (what parts
 * add in each lane). A block of lanes has all its rows in one array, so that a row is a 16-bit
 * number, the same in every block; lanes are independent, and a kernel takes some of them through a
 * whole batch of steps before the next: their share of the rows stays in the L1 and L2, and the
 * last F, D, P and C in registers.
 *
 * Inside, lanes are in another order than sets of categories: bandwidth is bit 6 and window bit 7,
 * so that which edges a vector has is known when the kernel is compiled.
 *
 * Lanes have 16 bits, each lane relative to a base of its own. A batch is run only if no time can
 * pass what 16 bits hold, whatever path is longest (steps.c); before that, what has gone by is
 * taken off. Where times that still matter are too far apart, lanes have 32 bits for a while.
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
#define GRAPH_SMALL   16  /* … of less than so many cycles */
#define GRAPH_DELAYS  512 /* of executions … */
#define GRAPH_PROBES  8	  /* … looked for in so many places: what one instruction can ask for */

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
	uint16_t unread;  /* where what nobody wants goes */
	uint16_t masks;	  /* GRAPH_MASKS; those before these are times */
	uint16_t singles, delays, count;
};

enum step_flag {
	STEP_HEAD = 1 << 0,
	STEP_PD = 1 << 1,
	STEP_CF = 1 << 2,
	STEP_SERIAL = 1 << 3,
	STEP_PORT = 1 << 4,
	STEP_PORT_BINDS = 1 << 5,
	STEP_WAIT = 1 << 6, /* on CD */
	STEP_IQ = 1 << 7,
	STEP_DD = 1 << 8,
	STEP_SOURCES = 1 << 9, /* more than two */
	STEP_RE = 1 << 10,
	STEP_P = 1 << 11,      /* P is more than E and a delay, or goes into mem */
	STEP_P_KEPT = 1 << 12, /* the next one may ask for P */
	STEP_PC = 1 << 13,
	STEP_D_GRAIN = 1 << 14,
	STEP_C_GRAIN = 1 << 15,
	STEP_LATE = 1 << 16,
	STEP_BRINGS = 1 << 17,
	STEP_LINE = 1 << 18, /* late is a line */
	STEP_FORWARD = 1 << 19,
};

/* An instruction as the kernels take it: rows (0: one of zeros), and flags for what few have. */
struct graph_step {
	uint32_t flags;
	uint16_t d_before, d; /* D(i - width) + 1, and where that of this one goes */
	uint16_t cd[2];	      /* C(i - x), in the real window and the idealised one */
	uint16_t src[GRAPH_SOURCES];
	uint16_t c_before, c;
	uint16_t to_p, to_c, to_dst; /* delays: E to P, to C, to dst */
	uint16_t dst;		     /* slot; 0: none */
	uint16_t line, line_mask, data, mem, wake;
	uint16_t late, drain; /* a store that a load waits for, and until it is written */
	uint16_t late_mask;
	uint16_t brings, fill; /* fill: cycles */
	uint16_t re, port, after, occupies;
	uint16_t wait, iq, e, dd, pc; /* pc: cycles */
	uint16_t d_grain, c_grain;    /* where D and C go if they are kept for longer */
	/* heads */
	uint16_t step, fetch, buffer, buffer_ideal, targets;
	uint16_t pd, pd_mask, cf; /* pd, cf: cycles */
};

/* The delays of an execution: E to P, to C and to the destination. */
struct graph_delay {
	uint64_t key[3]; /* the last is 0: free */
	uint64_t batch;	 /* that it was last used in */
	uint32_t most;	 /* cycles in any lane */
	uint16_t to_p, to_c, to_dst;
};

struct graph {
	struct graph_config config;
	const struct graph_kernel *kernel;
	uint64_t count; /* instructions so far, and as many as the rings hold */
	uint64_t start; /* value of count at reset */
	enum graph_width width;
	uint64_t base[GRAPH_LANES]; /* what was taken off all times of a lane so far */
	struct graph_rows rows;
	void *memory[WIDTHS]; /* rows.count rows for each block; BROAD: NULL until needed */
	uint32_t c_mask, c_grain_mask;
	uint64_t highest; /* no time of any lane is above */
	uint32_t wake;	  /* … and no slot but a port's above C by more than this */
	uint64_t ports[GRAPH_SLOTS / 64]; /* slots that are ports */
	uint64_t broad_until;		  /* count from which on narrow lanes may be tried again */
	uint32_t stay;			  /* instructions until then */
	bool counts[GRAPH_MASKS][GRAPH_LANES]; /* the masks; lanes as inside */
	uint64_t batches;
	struct graph_delay delay[GRAPH_DELAYS];
	unsigned next_probe;
	uint16_t single[GRAPH_MASKS][GRAPH_SMALL]; /* rows; 0: none yet */
	unsigned nsingles;
	struct graph_step steps[GRAPH_BATCH];
};

/* A set of categories as lanes are numbered inside, and back. */
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

/* Times are clipped so much before F that what is added to a time of the past (cd_wait, one cycle)
 * cannot make a clipped one matter. */
#define GRAPH_MARGIN (GRAPH_WAIT_MAX + 1)
/* Times stay below. */
#define GRAPH_LIMIT(width) ((width) == BROAD ? 1u << 31 : (1u << 16) - 1)

/* steps.c: the next instructions as steps of one batch. Returns how many, at most GRAPH_BATCH; 0:
 * not even one without room for its cycles. *growth: how much g->highest may grow by them. */
size_t graph_steps(struct graph *g, const struct graph_inst *in, size_t count, uint64_t *growth);
/* Forgets all delays: masks or width have changed. */
void graph_forget_delays(struct graph *g);

extern const struct graph_kernel graph_kernel_c, graph_kernel_avx2, graph_kernel_avx512;

#endif

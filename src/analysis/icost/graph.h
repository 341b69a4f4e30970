/* SPDX-License-Identifier: MIT */
/*
 * The dependence graph of fields2004 (section 3, table II), evaluated as it streams by.
 *
 * Five nodes an instruction: D enters the window, R has its operands, E starts to execute, P has
 * its result, C commits. A node's time is the latest of its incoming edges. Every edge's latency is
 * a sum of parts, each of which belongs to a category or to none; idealising a set of categories
 * makes their parts zero and removes their edges. All 2^8 sets are evaluated at once: a node is a
 * vector of 256 times, lane s being the machine with the categories of bit set s idealised.
 */
#ifndef ANALYSIS_ICOST_GRAPH_H
#define ANALYSIS_ICOST_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GRAPH_CATEGORIES 8
#define GRAPH_LANES	 (1 << GRAPH_CATEGORIES)

/* fields2004 table I. The window is the highest bit, so that a lane's half says which ROB edge it
 * has. */
enum graph_category {
	CAT_DL1,   /* L1 D-cache hit latency */
	CAT_BW,	   /* fetch, issue and commit bandwidth */
	CAT_BMISP, /* branch mispredictions */
	CAT_DMISS, /* D-cache misses */
	CAT_SHALU, /* one-cycle integer operations */
	CAT_LGALU, /* multi-cycle integer and floating-point operations */
	CAT_IMISS, /* I-cache misses */
	CAT_WIN,   /* finite window */
	CAT_NONE,  /* cannot be idealised */
};
extern const char *const graph_category_name[GRAPH_CATEGORIES];

struct graph_part {
	uint16_t cycles;
	uint8_t category; /* enum graph_category */
};

#define GRAPH_PARTS	4
#define GRAPH_PRODUCERS 5

/* What the graph must know of an instruction. Distances are in instructions, 0: no edge. */
struct graph_inst {
	struct graph_part dd[GRAPH_PARTS]; /* D(i-1) -> D(i) */
	struct graph_part ep[GRAPH_PARTS]; /* E -> P */
	struct graph_part re;		   /* R -> E */
	struct graph_part pc;		   /* P -> C */
	struct graph_part cc;		   /* C(i-1) -> C(i) */
	uint16_t dr;			   /* D -> R */
	uint16_t pd;			   /* P(i-1) -> D(i), if after_mispredict */
	uint16_t cd;			   /* C(i-w) -> D(i) */
	bool after_mispredict;
	uint8_t nproducers;
	struct {
		uint32_t distance;
		uint16_t cycles; /* P(j) -> R(i): wake-up and forwarding beyond completion */
	} producer[GRAPH_PRODUCERS];
	uint32_t line; /* P(j) -> P(i): shares j's cache line; removed with dmiss */
};

struct graph_config {
	uint32_t window;       /* ROB entries */
	uint32_t window_ideal; /* … with CAT_WIN idealised */
	uint32_t fetch_width, commit_width;
};

struct graph;

struct graph *graph_new(const struct graph_config *config);
void graph_free(struct graph *g);
/* Adds the next instruction in program order. */
void graph_add(struct graph *g, const struct graph_inst *in);
/* What the last instruction added would get in the real machine (lane 0); for residuals and tests.
 */
struct graph_times {
	uint64_t d, r, e, p, c;
};
struct graph_times graph_base(const struct graph *g);
/* What the next instruction would get in the real machine, without adding it. */
struct graph_times graph_predict(const struct graph *g, const struct graph_inst *in);
/* The run's length in every lane: C of the last instruction. */
void graph_length(const struct graph *g, uint64_t length[GRAPH_LANES]);
uint64_t graph_count(const struct graph *g);

/* The implementations, fastest first; tests compare them. supported() is false on hosts that lack
 * it. */
struct graph_kernel {
	const char *name;
	bool (*supported)(void);
	void (*step)(struct graph *g, const struct graph_inst *in);
};
extern const struct graph_kernel
    *const graph_kernels[]; /* NULL-terminated; the last always works */
void graph_use(struct graph *g, const struct graph_kernel *k);

/* icost(S) = sum over subsets V of S of (-1)^(|S|-|V|) cost(V), for all S at once: cost becomes
 * icost. */
void graph_icosts(double cost[GRAPH_LANES]);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The dependence graph of fields2004 (section 3, table II), evaluated as instructions stream by.
 *
 * An instruction has the nodes of edges.def: F fetched, D in the window, V its unit free, R operands
 * ready, E executes, B its access begins, P has its result, C commits. A node's time is the latest of its incoming
 * edges. The latency of an edge is a sum of parts, each of one category or of none. Idealising a set
 * of categories makes their parts zero and removes their edges. All sets are evaluated at once: a
 * node is a vector of 256 times, and lane s is the machine with the categories of bit set s
 * idealised.
 *
 * Results live in value slots: one per register, and a pool for stores and missed lines. An
 * instruction reads slots and writes its result to slots, so only the youngest result of each name
 * is kept, however far back it was made.
 */
#ifndef ANALYSIS_ICOST_GRAPH_H
#define ANALYSIS_ICOST_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "words/words.h"

#define GRAPH_CATEGORIES COST_COUNT
#define GRAPH_LANES	 (1 << GRAPH_CATEGORIES)

/* Rows of categories.def: the eight that can be idealised, then those derived from them. */
enum graph_category {
#define BASE(id, kind)		  CAT_##id,
#define DERIVED(id, kind, counts) CAT_##id,
#include "analysis/icost/categories.def"
#undef BASE
#undef DERIVED
	CAT_COUNT,
};

/* Rows of masks: one per category, and free ones for graphs that give their lanes another meaning
 * (graph_set_mask). */
#define GRAPH_MASKS 64

/* Whether parts of this category count in this lane. */
bool graph_counts(unsigned category, unsigned lane);

struct graph_part {
	uint16_t cycles;
	uint8_t category; /* enum graph_category, or another row of masks */
	uint8_t pad;
};

#define GRAPH_SLOTS	 512 /* 0: always zero; 1..63 registers; then a pool, then ports */
#define GRAPH_SLOT_POOL	 64
#define GRAPH_SLOT_PORTS 448
#define GRAPH_SOURCES	 4
#define GRAPH_EP_PARTS	 4
#define GRAPH_REACH	 480 /* furthest D(i - x) -> F(i) */
#define GRAPH_GRAIN	 4 /* D is kept of every 4th instruction: x is rounded up to one of them */
#define GRAPH_WIN_GRAIN	 8 /* C for idealised windows: of every 8th, x is rounded down */
#define GRAPH_WIDTH_MAX	 15
#define GRAPH_WAIT_MAX	 255

enum graph_node {
#define NODE(n) NODE_##n,
#include "analysis/icost/edges.def"
	NODES,
};

enum graph_flag {
	GRAPH_HEAD = 1 << 0,	/* first of its fetch packet: has an F of its own */
	GRAPH_PD = 1 << 1,	/* the edge pd */
	GRAPH_CF = 1 << 2,	/* the edge cf */
	GRAPH_SERIAL = 1 << 3,	/* the edge serial */
	GRAPH_PORT = 1 << 4,	/* the edge unit: its port was free */
	GRAPH_LINE = 1 << 5,	/* late is a line that a store brings: the edge store_line */
	GRAPH_FORWARD = 1 << 6, /* the store's data can be forwarded until its line comes */
};

/* What the graph must know of an instruction: the fields of edges.def, which says what each is for.
 * Distances are in instructions; 0: no edge. */
struct graph_inst {
	uint8_t flags; /* enum graph_flag */
#define FIELD(name)		   uint16_t name;
#define PART(name, fixes)	   struct graph_part name;
#define PARTS(name, count, fixes)  struct graph_part name[count];
#define REMOVER(name, kind, whose) uint8_t name;
#include "analysis/icost/edges.def"
} __attribute__((aligned(16)));

/* Whether an instruction has a node of its own, and whether a row of the table holds for it. */
#define HAS_F	       (in->flags & GRAPH_HEAD)
#define HAS_D	       true
#define HAS_V	       in->port
#define HAS_R	       true
#define HAS_E	       true
#define HAS_B	       true
#define HAS_P	       true
#define HAS_C	       true
#define HOLDS_ALWAYS   true
#define HOLDS_PERSISTS true
#define HOLDS_PACKET   true
#define HOLDS_FUSED    true
#define HOLDS_ZEROS(c) (c)
#define HOLDS_FLAG(c)  (c)
#define HOLDS_RARE(c)  (c)

/* Clears all edges. Written out: compilers turn a loop into a string instruction, which takes longer
 * than everything that is written afterwards. */
static inline void graph_inst_clear(struct graph_inst *in)
{
	typedef uint64_t part __attribute__((vector_size(16), may_alias));
	part *to = (part *)in;
	_Static_assert(sizeof(*in) == 8 * 16 || sizeof(*in) == 9 * 16, "what is written here");
	to[0] = to[1] = to[2] = to[3] = to[4] = to[5] = to[6] = to[7] = (part){ 0 };
	if (sizeof(*in) > 8 * 16)
		to[sizeof(*in) / 16 - 1] = (part){ 0 };
}

struct graph_config {
	uint32_t window;       /* reorder buffer entries: the largest cd[0] and iq */
	uint32_t past;	       /* the largest targets and written, if larger than window */
	uint32_t window_ideal; /* entries with CAT_WIN idealised: the largest cd[1] */
	uint32_t fetch_width;  /* instructions dispatched a cycle: the edge fbw */
	uint32_t commit_width;
	uint32_t depth;		   /* F -> D */
	uint32_t dispatch_latency; /* D -> R */
	uint32_t commit_latency;   /* E -> C at least */
	uint32_t buffer_ideal;	   /* D(i - x) -> F(i) with CAT_BW idealised; 0: none */
	uint32_t order_flush;	   /* a load is flushed -> it is fetched again */
	bool issue_edges;	   /* some instruction will have iq != 0 */
	bool overtakes;		   /* some instruction will have over != 0 */
	bool one_window;	   /* no lane idealises the window */
	bool one_width;		   /* no lane idealises bandwidth */
};

struct graph;

struct graph *graph_new(const struct graph_config *config);
void graph_free(struct graph *g);
/* Forgets all instructions. */
void graph_reset(struct graph *g);
/* Adds the next instructions in program order. */
void graph_add(struct graph *g, const struct graph_inst *in, size_t count);
/* Adds instructions, and writes when each commits in n lanes: n times per instruction. */
void graph_add_commits(struct graph *g, const struct graph_inst *in, size_t count,
		       const unsigned *lanes, size_t n, uint64_t *commits);
/* Times of the last instruction added in the real machine (lane 0). */
struct graph_times {
	uint64_t f, d, p, c;
};
struct graph_times graph_base(const struct graph *g);
/* The run's length in every lane: C of the last instruction. */
void graph_length(const struct graph *g, uint64_t length[GRAPH_LANES]);
/* The run's length in one lane. */
uint64_t graph_commit(const struct graph *g, unsigned lane);
uint64_t graph_count(const struct graph *g);
/* Gives a row of masks another meaning: its parts count in the lanes where on[lane] is true. */
void graph_set_mask(struct graph *g, unsigned row, const bool on[GRAPH_LANES]);

/* The implementations, fastest first; tests compare them. supported() is false on hosts that lack
 * it. */
struct graph_kernel {
	const char *name;
	bool (*supported)(void);
	/* for lanes of 16 and of 32 bits */
	void (*run[2])(struct graph *g, size_t count);
	uint64_t (*rebase[2])(struct graph *g, const uint32_t *off);
};
extern const struct graph_kernel
    *const graph_kernels[]; /* NULL-terminated; the last always works */
void graph_use(struct graph *g, const struct graph_kernel *k);

/* icost(S) = sum over subsets V of S of (-1)^(|S|-|V|) cost(V), for all S at once: cost becomes
 * icost. */
void graph_icosts(double cost[GRAPH_LANES]);

#endif

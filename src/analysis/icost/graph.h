/* SPDX-License-Identifier: MIT */
/*
 * The dependence graph of fields2004 (section 3, table II), evaluated as it streams by.
 *
 * Six nodes an instruction: F is fetched, D enters the window, R has its operands, E starts to
 * execute, P has its result, C commits. A node's time is the latest of its incoming edges. Every
 * edge's latency is a sum of parts, each of which belongs to a category or to none; idealising a
 * set of categories makes their parts zero and removes their edges. All sets are evaluated at
 * once: a node is a vector of 256 times, lane s being the machine with the categories of bit set s
 * idealised.
 *
 * Results live in value slots (a register's name, or one of a pool for stores and missed lines): an
 * instruction reads slots and its result goes into slots, so that only the youngest result of each
 * name has to be kept, however far back it was made.
 */
#ifndef ANALYSIS_ICOST_GRAPH_H
#define ANALYSIS_ICOST_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GRAPH_CATEGORIES 8
#define GRAPH_LANES	 (1 << GRAPH_CATEGORIES)

/* fields2004 table I. The window is the highest bit, so that a lane's half says which reorder
 * buffer it has. */
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
	/* goes with either of two */
	CAT_BW_LGALU,	 /* a unit that is busy for long */
	CAT_BW_BMISP,	 /* a fetch packet that a redirect cut short */
	CAT_BW_DMISS,	 /* stores that are slow to be written */
	CAT_BW_IMISS,	 /* a fetch packet that a miss cut short */
	CAT_BMISP_DMISS, /* a line that a wrong path threw out */
	CAT_BMISP_IMISS,
	/* only with mispredicts idealised: the miss that a wrong path had saved */
	CAT_SAVED_DMISS,
	CAT_SAVED_IMISS,
	CAT_SAVED_DTLB, /* … the page walk */
	/* only with these idealised and bandwidth not: waiting for an issue slot that the operation
	   took while it took time */
	CAT_SLOTS_SHALU,
	/* a miss that a wrong path would save in a larger window: idealised with the window, if
	   mispredicts are not */
	CAT_REACH_DMISS,
	CAT_REACH_BW_DMISS,	/* … with bandwidth, if mispredicts are not */
	CAT_REACH_EITHER_DMISS, /* … with either */
	CAT_REACH_BOTH_DMISS,	/* … with both together */
	CAT_COUNT,
};
extern const char *const graph_category_name[GRAPH_CATEGORIES];

/* Rows of masks: a category's own, none's, and some that only graphs with lanes of their own use
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
#define GRAPH_GRAIN	 4   /* … x is rounded up to hit an instruction whose number is 3 mod 4 */
#define GRAPH_WIN_GRAIN	 8   /* C(i - x) of idealised windows: rounded down, to 7 mod 8 */
#define GRAPH_WIDTH_MAX	 15
#define GRAPH_WAIT_MAX	 255

enum graph_flag {
	GRAPH_HEAD = 1 << 0,	/* first of its fetch packet: has an F of its own */
	GRAPH_PD = 1 << 1,	/* P(i-1) -> F(i) */
	GRAPH_CF = 1 << 2,	/* C(i-1) -> F(i) */
	GRAPH_SERIAL = 1 << 3,	/* C(i-1) -> D(i) */
	GRAPH_PORT = 1 << 4,	/* V(i) -> E(i): its port was free */
	GRAPH_LINE = 1 << 5,	/* late is a line that a store brings; removed with line_cat */
	GRAPH_FORWARD = 1 << 6, /* … and before that the store's data is there */
};

/* What the graph must know of an instruction. Distances are in instructions, 0: no edge. */
struct graph_inst {
	uint8_t flags;	  /* enum graph_flag */
	uint8_t pd_cat;	  /* the category that removes PD */
	uint8_t line_cat; /* … that removes PP, or the wait for a store's line */
	uint8_t pad;
	/* heads only */
	struct graph_part step[2];  /* F of the packet before -> F */
	struct graph_part fetch[3]; /* what the fetch itself takes beyond a hit */
	uint16_t pd, cf;	    /* latencies of PD and CF */
	uint16_t buffer;	    /* D(i - x) -> F(i): the fetch buffer; removed with bandwidth */
	uint16_t targets; /* C(i - x) -> F(i): the fetch-target queue, in the real window only;
			     removed with bandwidth */
	/* all */
	uint16_t cd[2];		   /* C(i - x) -> D(i), in the real window and the idealised one */
	uint16_t iq;		   /* E(i - x) -> D(i), in the real window only */
	struct graph_part cd_wait; /* on CD in the real window: the entry is freed after commit; at
				      most GRAPH_WAIT_MAX */
	struct graph_part dd; /* D(i-1) -> D(i), and all other edges into D: what they do not say */
	uint16_t src[GRAPH_SOURCES]; /* slots: PR */
	uint16_t port;	/* slot: V(i) is when its port is free; removed with bandwidth */
	uint16_t after; /* slot: the port of who had it before */
	struct graph_part occupies;		   /* V -> the port is free for the next */
	struct graph_part re;			   /* R -> E */
	uint16_t ep;				   /* E -> P, belongs to no category */
	struct graph_part ep_part[GRAPH_EP_PARTS]; /* filled from the first on */
	uint16_t late;		 /* slot -> the begin of EP: a load waits for that store's data,
				    or its line, which is there drain after the slot says */
	uint16_t written;	 /* C(i - x) -> the begin of EP: … for that store to be written */
	struct graph_part drain; /* … so long after it commits; at most GRAPH_WAIT_MAX */
	uint16_t line;		 /* slot -> P: PP, shares that miss's cache line */
	uint16_t data;		 /* slot -> P: a store's data */
	uint16_t pc;		 /* onto C: what the edges do not say */
	uint16_t dst, mem;	 /* slots that P goes into; 0: none */
	struct graph_part wake;	 /* added in dst: wake-up beyond completion */
	uint16_t brings, fill;	 /* slot that C goes into, and so many cycles: a store's line */
} __attribute__((aligned(16)));

_Static_assert(sizeof(struct graph_inst) == 7 * 16, "what graph_inst_clear writes");

/* No edges at all. One by one: compilers make a string instruction of a loop, which is slower than
 * all that is written into it afterwards. */
static inline void graph_inst_clear(struct graph_inst *in)
{
	typedef uint64_t part __attribute__((vector_size(16), may_alias));
	part *to = (part *)in;
	to[0] = to[1] = to[2] = to[3] = to[4] = to[5] = to[6] = (part){ 0 };
}

struct graph_config {
	uint32_t window;       /* reorder buffer entries: the largest cd[0] and iq */
	uint32_t past;	       /* the largest targets and written, if that is larger */
	uint32_t window_ideal; /* … with CAT_WIN idealised: the largest cd[1] */
	uint32_t fetch_width;  /* of dispatch, in fact: D(i - width) -> D(i) + 1 */
	uint32_t commit_width;
	uint32_t depth;		   /* F -> D */
	uint32_t dispatch_latency; /* D -> R */
	uint32_t commit_latency;   /* E -> C at least */
	uint32_t buffer_ideal;	   /* D(i - x) -> F(i) with CAT_BW idealised; 0: none */
	bool issue_edges;	   /* some instruction will have iq != 0 */
	bool one_window;	   /* no lane has the idealised window */
	bool one_width;		   /* … is without the edges that bandwidth removes */
};

struct graph;

struct graph *graph_new(const struct graph_config *config);
void graph_free(struct graph *g);
/* Forgets all instructions. */
void graph_reset(struct graph *g);
/* Adds the next instructions in program order. */
void graph_add(struct graph *g, const struct graph_inst *in, size_t count);
/* … and gives when each commits in some lanes: n for every instruction. */
void graph_add_commits(struct graph *g, const struct graph_inst *in, size_t count,
		       const unsigned *lanes, size_t n, uint64_t *commits);
/* Times of the last instruction added in the real machine (lane 0). */
struct graph_times {
	uint64_t f, d, p, c;
};
struct graph_times graph_base(const struct graph *g);
/* The run's length in every lane: C of the last instruction. */
void graph_length(const struct graph *g, uint64_t length[GRAPH_LANES]);
/* … in one. */
uint64_t graph_commit(const struct graph *g, unsigned lane);
uint64_t graph_count(const struct graph *g);
/* Gives a row of masks another meaning: parts of it count in the lanes where on[lane]. */
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

/* SPDX-License-Identifier: MIT */
/*
 * CPI stacks by every method, in one walk over the records. A method is a set of counters; each
 * cycle (or each slot of a cycle) goes to one of its components.
 */
#ifndef ANALYSIS_CPISTACK_CPISTACK_H
#define ANALYSIS_CPISTACK_CPISTACK_H

#include "analysis/profile/cells.h"
#include "analysis/walk.h"
#include "trace/analysis.h"

/* The components of eyerman2006, and what else our machines can lose cycles to. */
enum cpi_component {
	CPI_BASE,
	CPI_L1I, /* L1 I-cache misses that a lower cache serves */
	CPI_L2I, /* I-cache misses that go to memory */
	CPI_ITLB,
	CPI_BMISP, /* mispredicted branches */
	CPI_L1D,   /* L1 D-cache misses that a lower cache serves */
	CPI_L2D,   /* D-cache misses that go to memory */
	CPI_DTLB,
	CPI_LONG,     /* long-latency operations and dependences: resource stalls */
	CPI_FLUSH,    /* exceptions, serialising instructions, memory order */
	CPI_SQ,	      /* store queue full */
	CPI_FRONTEND, /* the front end delivers too little, with no miss */
	CPI_COMPONENTS,
};
extern const char *const cpi_component_name[CPI_COMPONENTS];

enum cpi_method {
	METHOD_FMT,
	METHOD_SFMT,
	METHOD_FMT_PAPER,
	METHOD_NAIVE,
	METHOD_NAIVE_NON_SPEC,
	METHOD_POWER5,
	METHOD_COMMIT,
	METHOD_DISPATCH,
	METHOD_ISSUE,
	METHODS,
};

/* Top-down analysis has components of its own. */
enum topdown {
	TD_RETIRING,
	TD_MISPREDICTS,	    /* bad speculation: mispredicted branches */
	TD_CLEARS,	    /* bad speculation: other flushes */
	TD_FETCH_LATENCY,   /* front-end bound: cycles without any instruction */
	TD_FETCH_BANDWIDTH, /* front-end bound: too few */
	TD_MEMORY,	    /* back-end bound: a miss is outstanding or the store queue is full */
	TD_CORE,	    /* back-end bound: the rest */
	TD_COMPONENTS,
};
extern const char *const topdown_name[TD_COMPONENTS];

#define CPI_PHASES     256
#define CPI_PHASE_BASE 4096 /* cycles of the shortest phase */

/* Running counts. The first are slots in which a mispredicted branch in the window would be
 * charged: the window is not full, and the right path has not lost them to a miss; the rest are
 * parts of them. */
struct fmt_sums {
	uint64_t charged;
	uint64_t under_short;	/* a short D-miss blocked the head, or what it had delayed */
	uint64_t bound[2];	/* lost to a slow head anyway: to long latency, to short D-misses */
	uint64_t under_long[2]; /* a long D-miss blocked the head; a page walk did */
	uint64_t beside_long;	/* a long D-miss was outstanding */
	uint64_t paper;		/* charged in whole cycles, by the paper's letter */
	/* and slots that are not charged: the window was full behind such a miss, such a walk */
	uint64_t full_long[2];
};

/* Instructions that entered the window in one cycle. The window's content is made of such groups,
 * as the rows of the table are of branches. */
struct fmt_group {
	uint64_t po; /* of the first */
	struct fmt_sums after;
	uint32_t number; /* of all groups: which of two came first */
	uint8_t beside;	 /* slots lost to the bubble before it */
	bool full, paper;
};

/* A mispredicted branch that has resolved; found by its number in program order. */
struct fmt_resolved {
	uint64_t po;
	uint64_t under_short, under_long[2]; /* of fmt_sums, when it resolved */
	bool blocked, blocked_long;	     /* then a short D-miss blocked the head; a long one */
	struct fmt_group next;		     /* with which the right path went on; po 0: not yet */
};

/* A D-miss that blocks, or has blocked, the head of the window. */
struct fmt_miss {
	uint64_t po;
	uint64_t until; /* instructions in the window while it blocked are older than this */
	uint64_t left;	/* slots of its delay that have not been seen yet */
	enum cpi_component cause;
};

/* A run of cycles on its way from fetch to dispatch. */
struct fmt_fed {
	uint64_t cycles;
	uint8_t cause; /* enum cpi_component: why fetch delivered nothing; CPI_BASE: it did, or no
			  miss was the reason */
	bool wrong;    /* fetch was on a wrong path */
};
#define FMT_FED 256 /* more than the stages from fetch to dispatch */

struct fmt {
	struct fmt_group
	    *groups; /* ring, as many as instructions fit in the window and then some */
	struct fmt_resolved *resolved;
	uint64_t mask; /* of both */
	uint64_t groups_begin, groups_end;
	uint32_t groups_entered;
	struct fmt_sums sums;
	uint32_t depth, width;	     /* of the front end, of dispatch */
	struct fmt_fed fed[FMT_FED]; /* ring: the front end's stages */
	uint64_t fed_begin, fed_end;
	bool fetched;	  /* something was fetched since the last flush */
	uint32_t partial; /* slots left empty beside the last instructions that dispatched */
	uint8_t bubble;	  /* enum cpi_component: the bubble that has just passed; CPI_BASE: none */
	uint32_t behind;  /* slots left empty by a full window while something committed */
	uint64_t next_po; /* what commits next */
	/* 64 times the slots that a mispredicted branch costs which does not wait for a long miss,
	 * in the mean of the last 64 or so */
	uint64_t typical;
	uint64_t entering_po; /* a resolved branch: the right path is still to enter; 0: none */
	struct fmt_miss miss;
	uint32_t penalty[CPI_COMPONENTS]; /* delay of a D-miss, by its cause */
	uint64_t walked_po, walked; /* slots that passed while it blocked a window with room */
	uint64_t long_until;	    /* as miss.until, of the last long miss */
	/* The window was full behind a slow head, no long miss: what was in it then is older than
	 * this. */
	uint64_t bound_until;
	enum cpi_component bound_cause;
	/* a mispredicted branch has committed and waits for the next instruction */
	bool have_branch;
	uint64_t branch_po;
	struct fmt_group branch_group;
	/* sFMT's shared counters: I-cache and I-TLB slots not yet claimed by an instruction that
	 * completes */
	uint64_t local[CPI_COMPONENTS];
	uint64_t cleared_po; /* miss bits of older instructions are reset */
};

/* A vector of all counters, so that phases are differences of vectors. */
struct cpi_counts {
	int64_t method[METHODS][CPI_COMPONENTS]; /* cycles times cpi_scale */
	int64_t topdown[TD_COMPONENTS];		 /* slots */
	int64_t cycles, insts;
};

struct cpistack {
	struct trace_meta meta;
	struct cpi_counts now;
	struct cpi_counts *phase; /* cumulative, at the end of each phase */
	size_t nphases;
	uint64_t phase_cycles, phase_end;
	struct fmt fmt;
	struct cells by_pc;    /* commit-stage stack: units by (pc, component), once all is over */
	struct stages *stages; /* stages.c */
	uint64_t scale;	       /* of by_pc */
	unsigned front_reason; /* enum cpi_component: why the front end last delivered nothing */
	unsigned flush_reason;
	uint64_t stalled[CPI_COMPONENTS]; /* by_pc: cycles that wait for the next to commit */
	uint64_t pending_pc, last_pc, last_po;
	uint64_t dispatched;
	/* counts for the naive methods: all, and only committed */
	uint64_t events[2][CPI_COMPONENTS];
	/* penalties per event (eyerman2006 figures 4, 6 and 9): real cycles */
	/* slots lost by the front end while a long D-miss or a page walk blocked the head; while
	 * one was outstanding (walks count at the head alone) */
	uint64_t overlap, beside_long;
};

extern const struct analysis cpistack_analysis;

/* fmt.c */
void fmt_init(struct fmt *f, const struct trace_meta *meta);
void fmt_free(struct fmt *f);
void fmt_cycle(struct cpistack *s, const struct rec_cycle *c);
void fmt_commit(struct cpistack *s, const struct rec_cycle *c, const struct rec_inst *r);
/* If fmt_commit has anything to do for an instruction. */
static inline bool fmt_special(const struct rec_inst *r)
{
	return r->flags & RI_MISPREDICT || r->psv & (PSV_DR_L1 | PSV_DR_TLB);
}
static inline bool fmt_wants(const struct fmt *f, const struct rec_inst *r)
{
	return f->have_branch || fmt_special(r);
}

/* stages.c: what holds up each stage. */
struct stages *stages_new(struct cpistack *s);
void stages_free(struct stages *g);
void stages_cycle(struct cpistack *s, const struct rec_cycle *c, const struct rec_inst *group);
void stages_end(struct cpistack *s);
/* Why the oldest instruction does not commit. */
enum cpi_component cpi_head_reason(const struct rec_cycle *c);
/* Why fetch delivers nothing, or CPI_BASE if it does. */
enum cpi_component cpi_fetch_reason(const struct rec_cycle *c);

/* counters.c: event counts times penalties, and POWER5's completion stalls. */
void counters_inst(struct cpistack *s, const struct rec_inst *r);
/* What POWER5 blames for a cycle in which nothing completes. */
enum cpi_component counters_reason(const struct cpistack *s, const struct rec_cycle *c);
void counters_end(struct cpistack *s);

/* Units of a cycle by a method: 1, or the dispatch width for those that count slots. */
int64_t cpi_scale(const struct cpistack *s, enum cpi_method m);

bool cpistack_store(struct cpistack *s, struct store *store, struct err *e);

#endif

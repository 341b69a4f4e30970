/* SPDX-License-Identifier: MIT */
/*
 * CPI stacks by every method, in one walk over the records. A method is a set of counters; each
 * cycle (or each slot of a cycle) goes to one of its components.
 */
#ifndef ANALYSIS_CPISTACK_CPISTACK_H
#define ANALYSIS_CPISTACK_CPISTACK_H

#include "analysis/cpistack/ideal.h"
#include "analysis/profile/cells.h"
#include "analysis/walk.h"
#include "trace/analysis.h"
#include "words/words.h"

#define CPI_PHASES     256
#define CPI_PHASE_BASE 4096 /* cycles of the shortest phase */

/* Running counts of slots. `charged` counts those for which a mispredicted branch in the window
 * would be charged: the window is not full, and the right path has not lost them to a miss. The
 * others, up to beside_long, are parts of it. */
struct fmt_sums {
	uint64_t charged;
	uint64_t under_short;	/* a short D-miss, or what it had delayed, blocked the head */
	uint64_t bound[2];	/* lost to a slow head anyway: to long latency, to short D-misses */
	uint64_t under_long[2]; /* a long D-miss blocked the head; a page walk did */
	uint64_t beside_long;	/* a long D-miss was outstanding */
	uint64_t paper;		/* cycles charged as the paper's text has it */
	/* Not charged: the window was full behind a long D-miss; behind a page walk. */
	uint64_t full_long[2];
	uint64_t back[2]; /* of those, what the ideal clocks took back */
	uint64_t walks;	  /* of those behind a D-miss, what its page walk was found to have cost */
};

/* Instructions that entered the window in one cycle. The window is a list of such groups, as the
 * paper's table is a list of branches. */
struct fmt_group {
	uint64_t po; /* of the first */
	struct fmt_sums after;
	uint64_t left[CLOCKS]; /* slots so far that were the clock's when it entered: fmt_pace() */
	uint32_t number;       /* counts all groups, so that of two the older is known */
	uint8_t beside;	       /* slots beside it that were lost to the bubble before it */
	bool full, paper;
};

/* A mispredicted branch that has resolved, by its number in program order. */
struct fmt_resolved {
	uint64_t po;
	uint64_t under_short, under_long[2]; /* the counts of fmt_sums when it resolved */
	bool blocked, blocked_long;	     /* a short D-miss blocked the head then; a long one */
	struct fmt_group next; /* first group of the right path; po 0: has not entered */
};

/* A D-miss that blocks, or has blocked, the head of the window. */
struct fmt_miss {
	uint64_t po;
	uint64_t until; /* instructions in the window while it blocked are older than this */
	uint64_t left;	/* slots of its delay that have not been seen yet */
	enum cpi_component cause;
};

/* What fetch passes to dispatch: the enum cpi_component that says why it delivered nothing
 * (CPI_BASE: it did deliver, or no miss was the reason), and whether it was on a wrong path. */
enum { FMT_FED_CAUSE = 15, FMT_FED_WRONG = 16 };
_Static_assert(CPI_COMPONENTS <= FMT_FED_CAUSE + 1, "four bits");

/* A run of cycles on its way from fetch to dispatch. It ends where the next begins. */
struct fmt_fed {
	uint64_t begin; /* when it arrives at dispatch */
	unsigned what;
};
#define FMT_FED 256 /* more than the stages from fetch to dispatch */

/* What the front end lost before an instruction dispatched, by enum fmt_lost. */
enum fmt_lost { LOST_BASE, LOST_L1I, LOST_L2I, LOST_ITLB, LOST_BMISP, LOST };
_Static_assert(LOST_L1I == (int)CPI_L1I && LOST_ITLB == (int)CPI_ITLB,
	       "I-side components as they are");
struct fmt_owed {
	uint64_t po;
	int64_t slots[LOST];
};

/* FMT by static instruction (fmt_places.c): every slot of the run belongs to one. */
struct fmt_places {
	struct cells cells; /* units: slots (modulo 2^64: some are taken back); count: events */
	struct cells_later later;
	/* Slots since the last dispatch of the right path that no back-end miss has. */
	struct fmt_owed next;
	struct fmt_owed *owed; /* ring, as large as that of groups: by instruction in the window */
	uint64_t begin, end;
	uint64_t dispatched; /* po behind the last instruction of the right path that dispatched */
	/* Who blocked the head: last; with a D-miss; with a full window behind it; with a long miss, with
	 * a page walk. */
	uint64_t head_pc, miss_pc, bound_pc, long_pc[2], branch_pc;
	/* At the end: slots that no instruction had, of instructions that did not commit; slots that were
	 * moved to another address. */
	int64_t rest;
	uint64_t moved;
	uint64_t late_pc[LOST]; /* the last instruction that a miss of this kind made late */
};

/* What the base, and the base with L1 D-misses, is worth by an ideal clock: fmt_pace(). In slots. */
struct fmt_pace {
	struct fmt_account {
		/* Given to other components so far; of these, when branches committed or taken back. */
		int64_t given, late;
		int64_t surplus; /* over the clock, as far as it does not count */
	} account[CLOCKS];
	int64_t before[CPI_COMPONENTS]; /* given when it was last looked at */
	uint64_t next_po;		/* when it is looked at next */
	uint64_t
	    from_branches; /* since then: what short misses got of branches that waited for them */
};

struct fmt {
	struct fmt_group
	    *groups; /* ring; has room for more than the instructions of a full window */
	struct fmt_resolved *resolved;
	uint64_t mask; /* of both rings */
	uint64_t groups_begin, groups_end;
	uint32_t groups_entered;
	struct fmt_sums sums;
	uint32_t depth, width; /* of the front end, of dispatch */
	uint64_t newest_po;    /* of the last group */
	/* Slots given to components since fmt_fold, the same in FMT and sFMT. */
	int64_t given[CPI_COMPONENTS];
	struct fmt_fed fed[FMT_FED]; /* ring: the front end's stages */
	uint64_t fed_begin, fed_end;
	uint64_t fed_time;   /* cycles that have arrived at dispatch */
	uint64_t fed_change; /* when the next run begins to arrive; UINT64_MAX: there is none */
	unsigned fed_last;   /* what the last run is */
	bool fetched;	     /* something has been fetched since the last flush */
	/* By [fetched][fetch_stall]: the cause of a bubble that begins at fetch. */
	uint8_t cause_of_fetch[2][UINT8_MAX + 1];
	uint32_t partial; /* slots left empty beside the last instructions that dispatched */
	uint8_t bubble;	  /* enum cpi_component: the bubble that has just passed; CPI_BASE: none */
	uint32_t behind;  /* slots left empty by a full window while something committed */
	uint64_t next_po; /* the next instruction to commit */
	/* 64 times the mean cost, in slots, of the last 64 or so mispredicted branches that did not
	 * wait for a long miss. */
	uint64_t typical;
	uint64_t entering_po; /* a resolved branch whose right path has not entered yet; 0: none */
	struct fmt_miss miss;
	uint32_t penalty[CPI_COMPONENTS]; /* delay of a D-miss, by its cause */
	uint64_t walked_po, walked; /* page walk at the head while the window had room: po, slots */
	bool walks_first; /* a page walk delays the access, so that a miss ends later by it */
	/* The last to block the head of a full window with a miss: slots that the miss got, and its walk. */
	uint64_t stalled_po, stalled, stalled_walk;
	uint64_t stalled_since,
	    walked_since; /* long_since then; at the last whose walk was charged */
	/* Cycles that a hit in the last cache takes beyond one in the L1; since when a data miss that goes to
	 * memory has been under way. */
	uint64_t below, now, long_since;
	uint64_t long_until; /* the same as miss.until for the last long miss */
	/* The window was full behind a slow head that was no long miss: instructions that were in
	 * it then are older than this. */
	uint64_t bound_until;
	enum cpi_component bound_cause;
	/* A mispredicted branch has committed; its penalty is known when the next instruction
	 * does. */
	bool have_branch;
	uint64_t branch_po;
	struct fmt_group branch_group;
	/* sFMT's shared counters: I-cache and I-TLB slots that no completing instruction has
	 * taken. */
	uint64_t local[CPI_COMPONENTS];
	uint64_t cleared_po; /* miss bits of older instructions are reset */
	struct fmt_pace pace;
	struct fmt_places places;
};

/* A vector of all counters, so that phases are differences of vectors. */
struct cpi_counts {
	int64_t method[METHODS][CPI_COMPONENTS]; /* cycles times cpi_scale */
	int64_t topdown[TD_COMPONENTS];		 /* slots */
	int64_t cycles, insts;
};

/* What the methods need of a batch's committed instructions, as parallel arrays: they are walked by
 * cycles, in which none, one or several commit. */
struct cpi_insts {
	size_t count, capacity;
	uint64_t *po, *pc;
	/* By the ideal clocks: slot of dispatch; slots from there to commit. */
	struct cpi_clock {
		uint64_t at[CLOCKS], ahead[CLOCKS];
	} * clock;
	uint32_t *units; /* by_pc: the share of its cycle that each gets */
	size_t next;	 /* index of the next to commit */
	/* Instructions for which fmt_special is true, by index into the arrays above; a sentinel
	 * with index SIZE_MAX follows. */
	struct cpi_special {
		size_t at;
		uint32_t psv, flags;
	} * special;
	size_t nspecial, next_special;
};
#define CPI_UNITS 8 /* units written at once: `units` has room for so many more */

/* A run of cycles that are equal to the methods: one or several records, of which c is the
 * first. */
struct cpi_run {
	const struct rec_cycle *c;
	uint64_t repeat;
	uint64_t issued; /* slots, in all cycles together */
};
#define CPI_BLOCK 256 /* records turned into runs at once; they stay in the nearest cache */

/* Stall counters of a machine that issues in order (inorder.c). */
#define STALLS_RING 1024
struct stalls {
	uint64_t waiting; /* instructions that have dispatched and not issued */
	/* Slots in which instructions issued; those that latency left empty. */
	uint64_t used, empty;
	/* The next to issue; behind the last that dispatched; the next to commit. */
	uint64_t next_po, dispatched_po, commit_po;
	/* Cycles so far; since when fetch has waited for memory, and a data miss been on its way there. */
	uint64_t now, fetch_since, long_since;
	uint64_t used_at[STALLS_RING],
	    empty_at[STALLS_RING]; /* by number: both when it had issued */
	enum cpi_component
	    front; /* the miss that fetch last waited for since something dispatched */
};

struct cpistack {
	struct trace_meta meta;
	struct cpi_insts insts;
	struct cpi_run runs[CPI_BLOCK];
	size_t nruns;
	struct cpi_counts now;	  /* after a batch; within it see fmt_fold, stages_fold */
	struct cpi_counts *phase; /* cumulative, at the end of each phase */
	size_t nphases;
	uint64_t phase_cycles, phase_end;
	struct fmt fmt;
	struct ideal_clocks ideal;
	struct cells by_pc; /* commit-stage stack: units by (pc, component); complete at the end */
	struct stages *stages; /* stages.c */
	uint64_t scale;	       /* of by_pc */
	struct stalls stalls;
	unsigned front_reason; /* enum cpi_component: why the front end last delivered nothing */
	uint64_t stalled[CPI_COMPONENTS]; /* by_pc: cycles for the next to commit */
	uint64_t last_pc, last_po;
	/* Events for the naive methods: of all instructions, and of committed ones alone. */
	uint64_t events[2][CPI_COMPONENTS];
	/* Slots of front-end penalties (fetch waits for a miss, or a mispredicted branch) while a
	 * long D-miss or a page walk blocked the head; while one was outstanding (page walks count
	 * only at the head). */
	uint64_t overlap, beside_long;
};

extern const struct analysis cpistack_analysis;

/* fmt.c */
/* machine: NULL if it is not known. */
void fmt_init(struct fmt *f, const struct trace_meta *meta, const struct machine *machine);
void fmt_free(struct fmt *f);
/*
 * Accounts for records up to the first in which something commits once `limit` cycles are reached:
 * at least one, at most CPI_BLOCK. Leaves their runs in s->runs and returns the number of records. 0:
 * the record of an instruction that commits is missing.
 */
size_t fmt_cycles(struct cpistack *s, const struct rec_cycle *cycles, size_t count, uint64_t limit,
		  struct err *e);
/* Brings s->now up to date. */
void fmt_fold(struct cpistack *s);
/* Slots that component k has in FMT so far. */
int64_t fmt_given(const struct cpistack *s, unsigned k);
/* Whether FMT or sFMT has to act when this instruction commits. */
static inline bool fmt_special(const struct rec_inst *r)
{
	return r->flags & RI_MISPREDICT || r->psv & (PSV_DR_L1 | PSV_DR_TLB | PSV_ST_TLB);
}

/* fmt_pace.c: gives the base, and L1 D-misses, what the ideal clocks say that they lack when an instruction
 * commits that entered with g. */
void fmt_pace(struct cpistack *s, const struct fmt_group *g, size_t at);
/* Notes that component k has been given slots; late: of instructions older than any that commits from now on. */
void fmt_pace_note(struct fmt *f, unsigned k, int64_t slots, bool late);

/* fmt_places.c: FMT by static instruction. */
void fmt_places_init(struct fmt_places *p, uint64_t ring);
void fmt_places_free(struct fmt_places *p);
/* The next of the right path dispatches: it gets what was lost before it. */
void fmt_places_dispatch(struct fmt *f, uint64_t po);
/* Gives what was lost before them to the instructions that commit in cycle c, the first of which is at s->insts.next. */
void fmt_places_commit(struct cpistack *s, const struct rec_cycle *c);
/* The rest of every component goes to the last instruction, so that all together are the stack. */
void fmt_places_end(struct cpistack *s);
/* Adds slots, which may be negative, to a component at an address. */
static inline void fmt_places_give(struct fmt_places *p, uint64_t pc, enum cpi_component k,
				   uint64_t slots)
{
	cells_add_later(&p->later, cell_key(pc, 0, k), slots);
}

/* inorder.c: where issue loses slots; for a machine that issues in order. */
void stalls_run(struct cpistack *s, const struct cpi_run *r);

/* stages.c: what holds up each stage. */
struct stages *stages_new(struct cpistack *s);
void stages_free(struct stages *g);
/* Accounts for s->runs, in which the instructions from `at` to s->insts.next commit. */
void stages_runs(struct cpistack *s, size_t at);
/* Brings s->now up to date. */
void stages_fold(struct cpistack *s);
void stages_end(struct cpistack *s);
/* Why the oldest instruction does not commit. A page walk takes precedence over a last-level miss,
 * and that over a first-level miss. */
static inline enum cpi_component cpi_head_reason(const struct rec_cycle *c)
{
	static const uint8_t reason[] = { CPI_LONG, CPI_L2D, CPI_DTLB, CPI_DTLB,
					  CPI_L1D,  CPI_L2D, CPI_DTLB, CPI_DTLB };
	_Static_assert(RC_HEAD_LONG_DMISS == 1 << 9 && RC_HEAD_DTLB == 1 << 10 &&
			   RC_HEAD_L1MISS == 1 << 11,
		       "three bits");
	return (enum cpi_component)reason[c->flags / RC_HEAD_LONG_DMISS % 8];
}
/* The miss that fetch waits for, or CPI_BASE. */
static inline enum cpi_component cpi_fetch_miss(unsigned fetch_stall)
{
	switch (fetch_stall) {
	case FETCH_ICACHE_L2:
	case FETCH_ICACHE_LLC:
		return CPI_L1I;
	case FETCH_ICACHE_MEM:
		return CPI_L2I;
	case FETCH_ITLB:
		return CPI_ITLB;
	default:
		return CPI_BASE;
	}
}

/* counters.c: event counts times penalties, and POWER5's completion stalls. */
void counters_inst(struct cpistack *s, const struct rec_inst *r);
/* The component that POWER5 blames for a cycle in which nothing completes. */
enum cpi_component counters_reason(const struct cpistack *s, const struct rec_cycle *c);
void counters_end(struct cpistack *s);
/* Cycles that the naive methods give an event of each component. */
void counters_penalties(const struct trace_meta *m, uint64_t penalty[CPI_COMPONENTS]);

/* Units of a cycle in a method: 1, or the dispatch width for methods that count slots. */
int64_t cpi_scale(const struct cpistack *s, enum cpi_method m);

bool cpistack_store(struct cpistack *s, struct store *store, struct err *e);

#endif

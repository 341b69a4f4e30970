/* SPDX-License-Identifier: MIT */
/*
 * The edges of the dependence graph, from instruction records. edges.def has one row per edge.
 */
#ifndef ANALYSIS_ICOST_EDGES_H
#define ANALYSIS_ICOST_EDGES_H

#include "analysis/icost/graph.h"
#include "isa/isa.h"
#include "machine/machine.h"
#include "trace/analysis.h"

#define EDGES_QUEUES 3
/* Kinds of units and ports that can hold an instruction up. */
enum edges_unit {
	PORT_MEMORY,
	PORT_STORE,
	PORT_MUL,
	PORT_DIV,
	PORT_FADD,
	PORT_FMUL,
	PORT_FDIV,
	PORT_FSQRT,
	EDGES_UNITS,
};

#define EDGES_PORTS   ((GRAPH_SLOTS - GRAPH_SLOT_PORTS) / EDGES_UNITS) /* slots for each unit */
#define EDGES_MSHRS   32  /* with more of them, none is waited for */
#define EDGES_PACKETS 128 /* fetch packets whose first instruction is kept */

/* What the edges need to know of the machine. */
struct edges_machine {
	uint32_t rob, dispatch_width, fetch_width, commit_width;
	uint32_t depth;	      /* fetch to dispatch */
	uint32_t fetch_depth; /* of these, fetch to fetch buffer */
	uint32_t
	    front_entries; /* instructions that fit between the fetch buffer's entry and dispatch */
	uint32_t redirect, flush; /* cycles from resolving (committing) to fetch */
	uint32_t fault;		  /* cycles of a page fault, in addition to the flush */
	uint32_t btb_bubble;
	uint32_t wakeup;
	bool
	    speculates; /* loads pass stores of unknown address, and are flushed if that was wrong */
	uint32_t l1d_latency, l2_latency, mem_latency, forward_latency;
	uint32_t walk;	    /* cycles of a page walk that hits the L2; what is beyond is a miss */
	uint32_t dl1_least; /* cycles of an L1D hit that idealising it leaves */
	bool walks_beside;  /* a translation and its access go on at once */
	uint32_t line_bytes, fetch_line_bytes; /* lines of the L1D, of the L1I */
	uint32_t mshrs; /* lines that can be under way to the L1; 0: never binds */
	uint32_t lq, sq, int_regs, fp_regs; /* the registers beyond the architectural ones */
	uint32_t iq[EDGES_QUEUES];	    /* integer, memory, FP; unified: the first */
	bool unified;
	struct {
		uint32_t count; /* 0: never binds */
		bool pipelined;
	} unit[EDGES_UNITS]; /* enum edges_unit */
	struct {
		uint8_t unit; /* enum edges_unit; EDGES_UNITS: one that never binds */
		uint32_t latency;
	} of_class[CLASS_COUNT]; /* enum op_class */
	uint32_t issue_slots;	 /* per cycle, for one-cycle operations; 0: never binds */
	uint32_t taken_per_fetch;
	uint32_t branches;    /* unresolved ones that the window takes */
	uint32_t targets;     /* fetch packets between fetch and commit; 0: never binds */
	uint32_t block_bytes; /* aligned, of a fetch packet */
};

/* The issue queue that an operation of this class waits in: 0 integer or unified, 1 memory, 2 FP. */
unsigned edges_queue_of(const struct edges_machine *m, unsigned cls);
/* meta: the numbers of the machine as it was simulated, with what was idealised for the whole run. */
bool edges_machine_read(struct edges_machine *m, const struct trace_meta *meta,
			const struct machine *machine, struct err *e);
/* How many instructions back an edge from C can reach: all in flight, and one packet more. */
uint32_t edges_past(const struct edges_machine *m);
struct graph_config edges_graph_config(const struct edges_machine *m);

/* Cycles that the edges did not explain, by node; for tests and docs. */
enum edges_residual {
	RESIDUAL_FETCH,
	RESIDUAL_DISPATCH,
	RESIDUAL_EXECUTE,
	RESIDUAL_COMMIT,
	RESIDUAL_STRICT, /* cycles by which an edge said later than observed */
	RESIDUAL_COUNT,
};

/*
 * A rule of the user's own categories (rules.c). Where several rules match an event, the first one
 * counts. Bandwidth and window always keep their categories.
 */
struct edges_rule {
	uint8_t event;	    /* enum graph_category: one of the eight base categories */
	uint8_t level;	    /* enum mem_level that served it; LEVEL_NONE: any */
	uint8_t category;   /* what the event becomes; CAT_NONE: it cannot be idealised */
	uint16_t cycles;    /* how many of each event's cycles, at most; 0: all */
	uint64_t low, high; /* only instructions at low <= pc < high; high 0: all */
};

/* What held an instruction up at dispatch beyond all that the window's edges say. */
struct stall_facts {
	uint8_t by;	 /* enum dispatch_stall */
	uint64_t cycles; /* 0: nothing did */
	uint64_t drain;	 /* store queue: cycles since the store that had the entry committed */
	uint64_t left;	 /* issue queue: how far back the one is that left its entry; 0: unknown */
};

struct edges;

struct edges *edges_new(const struct edges_machine *m);
/* Gives s the caches of the right path alone, which must outlive it; NULL: what wrong paths do to
 * caches stays unknown. */
struct shadow;
void edges_shadow(struct edges *s, struct shadow *shadow);
void edges_free(struct edges *s);
/* Takes over what another one has learnt about wrong paths. */
void edges_learnt(struct edges *s, const struct edges *from);
/* Rules in order of precedence; the array must outlive s. */
void edges_rules(struct edges *s, const struct edges_rule *rules, size_t count);
/* The edges of the next committed instruction. */
void edges_next(struct edges *s, const struct rec_inst *r, struct graph_inst *out);
/* Of the last instruction: what held it up at dispatch, and where a store found its line. */
struct edges_seen {
	struct stall_facts stall;
	enum mem_level stored; /* LEVEL_NONE: no store, or unknown */
};
struct edges_seen edges_seen(const struct edges *s);
/* Cycle of the run that is time 0 in the graph. */
uint64_t edges_origin(const struct edges *s);
const uint64_t *edges_residuals(const struct edges *s);

#endif

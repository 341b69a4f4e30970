/* SPDX-License-Identifier: MIT */
/*
 * Frequencies, cycles per execution and culprits from samples alone (dcpi1997 section 6). What goes
 * in: control-flow graphs, samples by instruction, the machine. Nothing here knows the truth, a
 * store or a binary.
 *
 *   graphs, samples --> schedule.c  least time of each instruction at the head of the issue queue (M)
 *                   --> classes.c   blocks and edges that execute equally often
 *                   --> evidence    what a class's samples say: dcpi.c (in order), commit.c (from TIP's
 *                                   commit states), relative.c (live: no schedule); or what branch
 *                                   records say: records.c
 *                   --> a method    frequencies of all blocks and edges: dcpi, profi, flow, bit
 *                   --> confidence.c, culprit.c, summary.c
 *
 * calc_run() does all of it. Arrays are indexed as the graph's are: an instruction, block or edge of a
 * procedure has the number that it has in its cfg.
 */
#ifndef CALC_CALC_H
#define CALC_CALC_H

#include <stdbool.h>
#include <stdint.h>

#include "image/cfg.h"
#include "machine/machine.h"
#include "util/util.h"
#include "words/words.h"

/* How samples are to be understood. */
enum calc_mode {
	CALC_ISSUE,    /* in order: a sample is at the oldest instruction not yet issued */
	CALC_COMMIT,   /* out of order: a sample says which instructions commit in its cycle */
	CALC_RELATIVE, /* a live machine: no schedule is known, samples may be late */
};

/* What was sampled. Periods are means, in cycles or in events; 0: the event was not sampled. */
struct calc_sampling {
	enum calc_mode mode;
	uint64_t period[SAMPLED_COUNT];
	double
	    running[SAMPLED_COUNT]; /* share of the time in which it was counted (multiplexing) */
	/* Frequencies are from branch records so deep, whatever the samples; 0: from the samples. Executions
	 * that one taken branch, and one range between two of them, in the records stand for. */
	unsigned record_depth;
	double record_branch, record_range;
};

/* Why an instruction cannot issue earlier than M says. */
struct calc_static {
	uint8_t why;	 /* enum static_stall of words.h; STATIC_NONE: it does not wait */
	uint16_t cycles; /* how long for this reason */
	uint32_t by;	 /* the instruction that it waits for; UINT32_MAX: none */
};
#define CALC_STATICS 4

#define CALC_RISKS_KNOWN (1u << 15)
#define CALC_GUILTY	 4
struct calc_culprit {
	uint8_t cause; /* enum cause of words.h */
	uint8_t nguilty;
	double most;		      /* cycles over all executions that it can explain */
	uint32_t guilty[CALC_GUILTY]; /* instructions of the procedure that may be responsible */
};

/* One of millions: 88 bytes. Counts of up to 16 million are exact. */
struct calc_inst {
	/* in */
	float count[SAMPLED_COUNT]; /* samples */
	float issued;		    /* samples in whose very cycle it issued (method bit) */
	float commits;		    /* CALC_COMMIT: samples that saw it commit */
	/* schedule.c */
	double
	    m; /* least cycles at the head of the queue, per execution; 0: with its predecessor */
	struct calc_static fixed[CALC_STATICS];
	/* results */
	double cpi;		/* cycles per execution; NAN: the frequency is not known or 0 */
	uint32_t first_culprit; /* in calc_proc.culprits */
	/* culprit.c: what can make it wait for longer than m, a bit for each enum cause; 0: not known */
	uint16_t risks;
	uint8_t nculprits : 4; /* that can be the main cause: its letters */
	uint8_t nminor : 4;    /* behind these: causes that can be a part of the stall */
	uint8_t nfixed : 3;
	bool issue_point : 1; /* m > 0 */
};
_Static_assert(CAUSE_COUNT < 16 && CALC_STATICS < 8, "as many fit");

/* An estimate of how often something was executed. */
struct calc_freq {
	double value;	    /* NAN: not known */
	double low, high;   /* interval of 95% (90% live) */
	uint8_t confidence; /* enum confidence of words.h */
	uint8_t origin;	    /* enum freq_origin of words.h */
};

/* What the samples of a class say, before any flow. */
struct calc_class {
	struct calc_freq freq;
	double samples;	       /* of all its instructions */
	double sum_m;	       /* of all its issue points */
	uint32_t issue_points; /* that it has */
	uint32_t used;	       /* that the estimate was made from */
	double tightness;      /* largest ratio used / smallest; 0: none */
};

/* CALC_COMMIT: two instructions of a procedure that committed in the same sampled cycle. */
struct calc_pair {
	uint32_t inst, other; /* inst < other */
	double count;
};

struct calc_proc {
	struct cfg *graph; /* the caller's */
	struct calc_inst *insts;
	struct calc_pair *pairs; /* the caller fills it with ARRAY_ADD; calc_free() frees it */
	uint32_t npairs;
	uint32_t *block_class, *edge_class; /* classes.c */
	uint32_t nclasses;
	struct calc_class *classes;	  /* until calc_run() is done */
	struct calc_freq *blocks, *edges; /* results */
	struct calc_culprit *culprits;	  /* of all instructions */
	/* schedule.c: by edge, the share of its block's entries that m was made with; below 0: of a block that has
	 * not been scheduled by edges. NULL: none has been. */
	float *shares;
	/* passed.c: registers that loads may be under way into when it is entered, and behind each block that
	 * calls. NULL: any. */
	uint64_t entry_loads, *call_loads;
	double samples; /* cycles samples of all instructions */
	/* Branch records: ranges that cover the end of each block; branches that took each edge, or ranges
	 * that went over it, NAN where neither can be seen. NULL: there are no records. */
	double *block_records, *edge_records;
	struct carried_cache *decoded; /* carried.h: of calc_run(), else NULL */
	bool rough; /* its flow is a good one, not the best: the graph is too large */
};

/* The numbers of the rules that the paper leaves open: thresholds.def. */
enum calc_threshold {
#define THRESHOLD(id, ...) CALC_##id,
#include "calc/thresholds.def"
#undef THRESHOLD
	CALC_THRESHOLDS
};
struct calc_threshold_info {
	const char *name;
	double value;
	const char *reason, *half, *twice; /* why, and what half and twice of it do */
};
extern const struct calc_threshold_info calc_thresholds[CALC_THRESHOLDS];

struct calc_options {
	const char *method;	    /* of calc_methods; NULL: CALC_DEFAULT */
	enum cross_procedure cross; /* culprits across calls and returns */
	double ignore_edges; /* paths over edges below this share of a block are ignored; 0.01 */
	unsigned rounds;     /* of schedule and frequencies for M per edge; 0: default */
	const double *thresholds; /* by enum calc_threshold; NULL: those of thresholds.def */
};

/* Kinds of risks (calc_inst.risks) that share how often they make an instruction wait. */
#define CALC_RISK_KINDS 6
#define CALC_RISK_MIXES (1 << CALC_RISK_KINDS)

struct calc_program {
	const struct machine *machine; /* NULL: CALC_RELATIVE */
	struct calc_sampling sampling;
	struct calc_proc *procs;
	uint32_t nprocs;
	struct calc_options options;
	double unstalled[CALC_RISK_MIXES]; /* likelihood.c: what the samples say of each mix */
	/* culprit.c: cycles from a return until its result is there, integer and FP, at the longest */
	double result_left[2];
	bool returned;		  /* that is known */
	struct calc_tails *tails; /* likelihood.c: of calc_run(), else NULL */
	double
	    spread; /* relative.c: mean square of how unequally long instructions take; 0: not known */
};

/* Culprit k of an instruction. */
static inline const struct calc_culprit *calc_culprit(const struct calc_proc *proc,
						      const struct calc_inst *i, unsigned k)
{
	return &proc->culprits[i->first_culprit + k];
}

/* Adds a procedure; the graph stays the caller's. Samples are then put into its insts. */
struct calc_proc *calc_add(struct calc_program *p, struct cfg *graph);
bool calc_run(struct calc_program *p, struct err *e);
void calc_free(struct calc_program *p);

/* A way from the evidence of classes to frequencies of all blocks and edges. */
struct calc_method {
	const char *name, *meaning;
	bool risks;  /* reads calc_inst.risks */
	bool issues; /* reads calc_inst.issued, which only samples of the issue queue's head have */
	/* One of the two: the whole program at once, or each procedure for itself. */
	bool (*estimate)(struct calc_program *p, struct err *e);
	void (*each)(struct calc_program *p, struct calc_proc *proc);
};
extern const struct calc_method *const calc_methods[]; /* NULL ends it */
#define CALC_DEFAULT "flow"
const struct calc_method *calc_method_find(const char *name);

/* Parts, in the order of calc_run; for tests and for `bench/calc`. */
/* classes.c: cycle equivalence; returns the number of classes. */
uint32_t calc_classes(const struct cfg *g, uint32_t *block_class, uint32_t *edge_class);
/* schedule.c: m and fixed of every instruction; edge frequencies, once known, weigh the tails of the
 * preceding blocks (first round: block by block, as the paper). */
void calc_schedule(const struct machine *m, struct calc_proc *p, bool first_round);
/* dcpi.c, commit.c, relative.c, records.c: the evidence of classes. */
void calc_evidence(struct calc_program *p, struct calc_proc *proc);
/* propagate.c: local propagation of the paper. */
void calc_propagate(struct calc_program *p, struct calc_proc *proc);
/* confidence.c */
void calc_confidence(struct calc_program *p, struct calc_proc *proc);
/* passed.c: what procedures pass on to each other, for calc_culprits(), with CROSS_SELECTIVE. */
void calc_passed(struct calc_program *p);
/* culprit.c */
void calc_culprits(struct calc_program *p, struct calc_proc *proc);
/* Likewise, what can make each instruction stall at all, whatever its samples say; and how long the
 * results that it returns still take, if longer than left says (integer, FP). */
void calc_risks(struct calc_program *p, struct calc_proc *proc, double *left);

/*
 * summary.c: figure 4's rows, each as least to most, as shares of the samples that were let in.
 * tallied + net error = 1 exactly.
 */
struct calc_range {
	double least, most;
};
struct calc_summary {
	double samples;	 /* of the procedure(s) */
	double included; /* share whose frequency's confidence is at least the asked one */
	struct calc_range dynamic[CAUSE_COUNT];
	double unexplained_stall, unexplained_gain;
	double dynamic_total;
	double fixed[STATIC_COUNT];
	double static_total;
	double execution;
	double net_error;
	double best_cpi, cpi; /* per instruction executed */
};
/* Of one procedure, or of all if proc is NULL. least: the confidence that an instruction's frequency
 * must have. */
struct calc_summary calc_summarise(const struct calc_program *p, const struct calc_proc *proc,
				   enum confidence least);

#endif

/* SPDX-License-Identifier: MIT */
/* Costs and interaction costs as the view reads them. */
#ifndef VIEW_ICOST_H
#define VIEW_ICOST_H

#include "store/store.h"
#include "view/doc.h"
#include "view/model.h"

#define ICOST_CATEGORIES COST_COUNT
#define ICOST_SETS	 (1 << ICOST_CATEGORIES)

/* The same costs from simulations with those categories idealised. */
struct icost_truth {
	bool known[ICOST_SETS];
	double cost[ICOST_SETS]; /* cycles */
	double cycles;		 /* of the run itself */
};

struct resource_row;

/* What fixing an event of some instructions, or another size of a part of the machine, would save. */
struct icost_what_if {
	const char *text; /* as asked for */
	const struct resource_row
	    *part; /* of the machine, of another size; NULL: events of instructions */
	size_t npcs;
	double predicted; /* cycles, by the graph */
	double on_path;	  /* cycles of the longest path */
	bool verified;
	double simulated; /* cycles */
};

struct icost_options {
	const char *focus;		 /* only pairs with this category; NULL: all */
	const char *svg;		 /* file for a picture; NULL: none */
	const struct icost_truth *truth; /* or NULL */
	const struct icost_what_if *what_if;
	size_t nwhat_if;
	bool phases;
	const struct icost_model *read; /* the store's, if it has been read; NULL: it is read */
};

bool view_icost(struct store *s, const struct view_options *o, const struct icost_options *io,
		struct err *e);
/* JSON alone: the instructions of a function (NULL: the one with most cost) with cost, slack and
 * criticality. Text and CSV are view_annotate()'s. */
bool view_icost_annotate(struct store *s, const struct view_options *o, struct err *e);

#define ICOST_EVENTS_MAX 6
#define ICOST_PCS_MAX	 64 /* as many as a setting of the machine takes */

/* What is to be idealised: these events of the instructions at these addresses, all of them together. */
struct icost_asked {
	char events[ICOST_EVENTS_MAX][16];
	size_t nevents;
	uint64_t pcs[ICOST_PCS_MAX];
	size_t npcs;
	double predicted; /* what the graph says that it saves */
	double on_path;	  /* how much of the longest path is theirs */
};

/*
 * Finds instructions by "EVENT[+EVENT…]@PLACE[,PLACE…]": EVENT one of dmiss bmisp imiss dl1 shalu lgalu; PLACE an
 * address, file.c:line, a function, or a function, a space and an address, as the views print them. False and e
 * filled if nothing is at one of the places.
 */
bool icost_find(struct store *s, const char *text, struct icost_asked *a, struct err *e);

/* icost_model.c */
struct icost_inst {
	uint64_t pc;
	char *disasm, *function, *file, *cls;
	int line;
	double executions, critical, slack, local_slack, least_slack;
	double cost[KIND_FIXABLE];    /* by enum cost_kind */
	double on_path[KIND_FIXABLE]; /* cycles of the longest path */
	double path;		      /* cycles of the longest path */
};

struct icost_pair {
	uint64_t a, b;
	char kind_a[16], kind_b[16];
	double cost, icost;
};

/* Interactions of two categories in a part of the run, in cycles; the lower index comes first. */
struct icost_pairs {
	double icost[ICOST_CATEGORIES][ICOST_CATEGORIES];
};

struct icost_function {
	char *name;
	double cycles;
	double cost[ICOST_CATEGORIES];
	struct icost_pairs pairs;
};

struct icost_phase {
	int64_t phase, insts;
	double cycles, cost[ICOST_CATEGORIES];
	struct icost_pairs pairs;
};

/* The monitor of fields2004 with one set of samples; design 0 is the graph of the same stretches. */
#define SHOTGUN_OURS	4 /* the design that is shown as the profiler's */
#define SHOTGUN_DESIGNS 7 /* 5 and 6: for comparison */
enum shotgun_count {
	SHOTGUN_BUILT,
	SHOTGUN_DISCARDED,
	SHOTGUN_WRONG,
	SHOTGUN_INSTS,
	SHOTGUN_RIGHT,
	SHOTGUN_NO_SAMPLE,
	SHOTGUN_INEXACT,
	SHOTGUN_INDIRECT,
	SHOTGUN_INDIRECT_RIGHT,
	SHOTGUN_ERRANT,
	SHOTGUN_COUNTS,
};
extern const char *const shotgun_count_names[SHOTGUN_COUNTS];

struct icost_shotgun {
	bool known;
	double cost[ICOST_SETS], icost[ICOST_SETS];
	/* NAN: not there. Fragments from samples of a file are not compared with the run's path. */
	double count[SHOTGUN_COUNTS];
};

struct icost_model {
	char program[MODEL_PROGRAM], machine[MODEL_MACHINE];
	double insts, cycles, graph_cycles; /* cycles: from the first fetch to the last commit;
					     * graph_cycles: of the base graph */
	double run_cycles;		    /* as the other views have them */
	double sampled_share; /* of the instructions, behind costs by function; 0: not known */
	char name[ICOST_SETS][160];
	double cost[ICOST_SETS], icost[ICOST_SETS];
	struct icost_inst *instructions; /* most cost first */
	size_t ninsts;
	struct icost_pair *pairs; /* strongest first */
	size_t npairs;
	struct icost_function *functions; /* most cycles first */
	size_t nfunctions;
	struct icost_phase *phases;
	size_t nphases;
	struct estimated estimated;
	double cost_margin[ICOST_SETS], icost_margin[ICOST_SETS]; /* NAN: not known */
	bool by_profiler; /* costs are those of the shotgun profiler, design 4 */
	/* The ten events of static instructions that cost most by the graph, by the profiler: how many of
	 * them it has among its own ten; the sum of its errors as a share of their cost; errors of how
	 * often their instructions are critical and of their slack, in the mean. events 0: not known. */
	struct {
		double events, found, error, critical, slack;
	} score;
	bool has_shotgun;
	struct icost_shotgun shotgun[SHOTGUN_DESIGNS];
};

bool icost_read(struct store *s, struct icost_model *m, struct err *e);
void icost_free(struct icost_model *m);
double icost_inst_cost(const struct icost_inst *i);
const struct icost_inst *icost_inst_at(const struct icost_model *m, uint64_t pc);
/* "dmiss 3.1%, bmisp 0.4%": which of its events cost the most, as shares of the run. */
void icost_inst_words(const struct icost_model *m, const struct icost_inst *i, char *buf,
		      size_t size_bytes);

/* icost.c: JSON: an object with a value per set of categories; values NULL: an empty one. known:
 * which sets it has; NULL: all. */
void icost_add_sets(struct doc *d, const char *key, const struct icost_model *m,
		    const double *values, const bool *known);
/* icost_parts.c: interactions by function and by phase. */
/* "dl1+win -7.1, …": the strongest of at least `least` cycles, as shares of `of`, in percent. */
void icost_pairs_words(const struct icost_model *m, const struct icost_pairs *p, double least,
		       double of, char *buf, size_t size_bytes);
/* A cell with the interactions of all pairs by name. */
void icost_pairs_cell(struct doc_table *t, const struct icost_model *m,
		      const struct icost_pairs *p);
/* Pairs whose interaction is next to nothing in the run as a whole because it is serial in some of its
 * phases or functions and parallel in others. */
void icost_add_cancelled(struct doc *d, const struct icost_model *m);
/* From now on the store's costs are those that the shotgun profiler (design 4) found. */
bool icost_use_profiler(struct store *s, struct err *e);

/* icost_shotgun.c: adds nothing if the run had no shotgun profiler. */
void icost_shotgun_add(struct doc *d, const struct icost_model *m);

#endif

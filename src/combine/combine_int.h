/* SPDX-License-Identifier: MIT */
/* What the files of combine/ share. */
#ifndef COMBINE_COMBINE_INT_H
#define COMBINE_COMBINE_INT_H

#include "combine/combine.h"
#include "combine/table.h"
#include "sampling/estimate.h"

/* ---- names.c: images, functions, blocks, instructions, graphs: the union over all points ---- */

struct names_inst {
	int64_t function, block, word, disasm, file, line, class;
};
struct names_graph {
	int64_t function; /* row of `functions` */
	int table;	  /* of graph_tables */
	int64_t numbers[4];
	void *bytes;
	size_t size_bytes;
};
struct combine_names {
	struct table images, functions, blocks, insts, inlined, graphed; /* sets of keys */
	struct names_inst *inst;					 /* of each of insts */
	size_t ninst;
	struct names_graph *graphs;
	size_t ngraphs;
	int64_t *image_id, *function_id; /* by row, once written */
};
void names_init(struct combine_names *n);
void names_close(struct combine_names *n);
bool names_take(struct combine_names *n, struct texts *texts, struct store *point, struct err *e);
/* Gives rows their numbers by address, and writes them. */
bool names_write(struct combine_names *n, const struct texts *texts, struct store *out,
		 struct err *e);
/* The row of the function that an instruction belongs to; -1: none. */
int64_t names_function_of(struct combine_names *n, uint64_t pc);

/* ---- facts.c: table run and table machine ---- */

struct fact {
	char *key;
	struct store_value value; /* text is allocated */
	bool is_dropped;	  /* points differ */
	double now, sum;	  /* of facts that are sums */
	bool is_whole;		  /* at every point */
};
struct facts {
	struct fact *all;
	size_t count;
	char *first; /* path of the first store */
	bool began;  /* a point ran from the start of the program */
	char *machine;
};
void facts_free(struct facts *f);
bool facts_take(struct facts *f, struct store *point, bool is_last, struct err *e);
void facts_fold(struct facts *f, struct factor by);
double facts_number(const struct facts *f, const char *key, double fallback);
/* All but the rows that combine.c writes itself. */
bool facts_write(const struct facts *f, int64_t cycles, int64_t instructions, struct store *out,
		 struct err *e);
/* Of the first point: all have the same. */
bool facts_copy_machine(struct store *point, struct store *out, struct err *e);

/* ---- the points ---- */

struct combine_point {
	const char *path;
	struct combine_weight weight;
	uint64_t instructions, cycles;
	int64_t id;			    /* by start */
	int64_t fast_forward, warm, settle; /* how it was simulated */
};

struct cluster_sums {
	uint64_t stands_for, instructions, cycles, intervals, points;
	double spread;
	struct table parts; /* method, component: units of all phases, a sum over points */
	double *length;	    /* of each lane of the dependence graph, in cycles */
	double graph_instructions;
};

#define LANES 256

/* A figure at a point: cycles, and for instructions executions. */
enum figure { FIGURE_FUNCTION, FIGURE_INSTRUCTION, FIGURE_STACK, FIGURE_COST, FIGURE_ICOST };
struct amount {
	enum figure figure;
	int64_t item, name; /* name: a text */
	uint32_t point;
	double cycles, executions;
};

struct combine {
	const struct combine_options *o;
	struct combine_point *points; /* by cluster and start */
	size_t npoints;
	struct cluster_sums *clusters;
	size_t nclusters;
	struct texts texts;
	struct table *tables; /* of each rule */
	struct combine_names names;
	struct facts facts;
	unsigned has; /* which analyses points have */
	fixed cycles_fixed;
	int64_t cycles; /* of the run, estimated */
	int64_t scale;	/* of the golden reference */
	struct amount *amounts;
	size_t namounts;
	int64_t *lane_name;	   /* texts; -1: none */
	bool lanes_whole;	   /* lengths are whole cycles */
	struct executed *executed; /* by pc: what points executed */
	size_t nexecuted;
	uint64_t unmeasured; /* executions of instructions that no point executed */
	struct store *out;
};

/* Units of a cycle in a method's stack; 0: there is no such method. */
int64_t combine_method_scale(struct combine *c, int64_t method);

/* ---- rules.c ---- */
extern const struct rule combine_rules[];
extern const size_t combine_nrules;
extern const char combine_left_out[];
struct table *combine_table(struct combine *c, const char *name);
/* Tables whose rows have to be numbered anew: groups of samples, loads of a spectrum. */
bool combine_write_groups(struct combine *c, struct err *e);
bool combine_write_loads(struct combine *c, struct err *e);

/* ---- executions.c: what exact executions do ---- */
struct executed {
	int64_t pc;
	fixed estimated; /* by the points */
	uint64_t exact;
};
/* Once the tables are sorted. */
void executions_find(struct combine *c);
/* The time of an instruction: in proportion to exact executions, the totals stay. */
void executions_times(struct combine *c, struct table *t);
/* Counts of executions, once they are rounded: those of an instruction add up to the exact ones. */
void executions_counts(struct combine *c, struct table *t);

/* ---- phases.c: the run over time ---- */
bool phases_take(struct combine *c, struct cluster_sums *into, struct store *point, struct err *e);
bool phases_write(struct combine *c, struct err *e);

/* ---- estimates.c ---- */
bool amounts_take(struct combine *c, size_t point, struct store *s, struct err *e);
bool estimates_write(struct combine *c, struct err *e);

#endif

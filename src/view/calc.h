/* SPDX-License-Identifier: MIT */
/*
 * Frequencies, cycles per execution and culprits of a stored profile. calc_model.c reads samples,
 * graphs and machine, lets calc/ estimate, and only then reads the truth, if the store has it;
 * calc_view.c makes documents of both, calc_proc.c those of one procedure.
 */
#ifndef VIEW_CALC_H
#define VIEW_CALC_H

#include "calc/calc.h"
#include "image/image.h"
#include "view/doc.h"
#include "view/model.h"
#include "view/view.h"

/* What really happened at an instruction. */
struct calc_truth {
	double executions;
	double head;		   /* cycles at the head of the issue queue */
	double cause[CAUSE_COUNT]; /* of these, by dynamic cause */
	double event[SAMPLED_COUNT];
};

/* An instruction's text, from the store or its code. */
struct calc_text {
	char *disasm, *file;
	int line;
};

/* More of a procedure: index i belongs to program.procs[i]. */
struct calc_name {
	int64_t function; /* of table function; -1: none */
	char *name, *image, *file;
	int line;
	struct cfg *graph;
	struct calc_truth *truth; /* by instruction; NULL: not known */
	double *edges;		  /* true executions by edge; NAN: not known */
	struct calc_text *texts;  /* by instruction; calc_texts() */
};

struct calc_model {
	char program_name[MODEL_PROGRAM], machine_name[MODEL_MACHINE];
	struct machine machine;
	struct calc_program program;
	struct calc_name *names;
	struct images *images; /* graphs that the store lacks are from there; NULL */
	struct store *store;
	const char *method;
	const struct calc_samples *sampled; /* calc_model.c */
	bool live;
	double samples;	  /* of cycles, all */
	double outside;	  /* of these, in code without a graph */
	uint64_t illegal; /* words of code that are no instruction */
	bool truth;
};

#define CALC_EXACT "exact" /* a method: the frequencies of the truth */

struct calc_read_options {
	const char *method; /* of calc_methods, or CALC_EXACT; NULL: CALC_DEFAULT */
	/* What frequencies are from: CALC_SAMPLES; NULL: issue in order, tip out of order. */
	const char *samples;
	enum cross_procedure cross;
	bool no_truth;
};

#define CALC_SAMPLES "issue, tip, nci, software, branches-16, branches-32, cycles-16, cycles-32"
/* Whether there are samples of that name; e names the nearest. */
bool calc_check_samples(const char *name, struct err *e);
/* Its name. */
const char *calc_samples_name(const struct calc_model *m);

/* Whether a store has samples that calc can read. */
bool calc_has(struct store *s);
/* Whether these are of the oldest instruction not yet issued. */
/* The analyses that a store of a run needs for these samples (NULL: those that its machine gives), and for the truth's
 * frequencies: a list with commas; "" if its machine does not give such samples. */
const char *calc_needs(struct store *s, const char *samples, bool exact);
bool calc_has_issue(struct store *s);
bool calc_read(struct store *s, const struct calc_read_options *o, struct calc_model *m,
	       struct err *e);
void calc_model_free(struct calc_model *m);

/* Reads the texts of a procedure's instructions, once. */
void calc_texts(struct calc_model *m, uint32_t proc);
/* The procedures of that name; e names the nearest if there is none. The caller frees. */
uint32_t *calc_named(const struct calc_model *m, const char *name, size_t *count, struct err *e);
/* All procedures, most samples first. The caller frees. */
uint32_t *calc_by_samples(const struct calc_model *m);
/* The instruction at an address; false: none. */
bool calc_find(const struct calc_model *m, uint64_t pc, uint32_t *proc, uint32_t *inst);

/* The stall of an instruction: cycles over all executions above what its schedule needs; 0: none,
 * or the frequency is not known. */
double calc_stall(const struct calc_model *m, uint32_t proc, uint32_t inst);
#define CALC_HUMAN 24
/* "3.21 M"; "?" for NAN. Returns buf. */
char *calc_human(double x, char buf[CALC_HUMAN]);
/* Cycles per execution, rounded to half cycles. */
double calc_halves(double cycles);
/* "dwD": the letters of an instruction's culprits; "?": it stalls and has none. */
char *calc_letters(const struct calc_proc *p, const struct calc_inst *i, bool stalls,
		   char buf[CAUSE_COUNT + 1]);
/* "d 91%, w 9%": what really held it, or "". */
char *calc_true_causes(const struct calc_truth *t, char *buf, size_t size_bytes);

/* The true cycles of a procedure (or of all, proc UINT32_MAX) by cause, of blocks with at least that
 * confidence, as shares of these cycles. False: not known. */
bool calc_true_summary(const struct calc_model *m, uint32_t proc, enum confidence least,
		       double cause[CAUSE_COUNT], double *cpi);

struct calc_options_view {
	struct calc_read_options read;
	enum confidence least; /* summaries include frequencies of at least this confidence */
	double cutoff;	       /* share of samples below which something is not shown */
	const char *stall;     /* sort procedures by this cause; NULL: not */
	const char *const *procs;
	size_t nprocs;
	bool dot, fdata;
};
bool view_calc(struct store *s, const struct view_options *o, const struct calc_options_view *c,
	       struct err *e);

/* calc_proc.c: one procedure as text, values and table of instructions. */
void calc_add_proc(struct doc *d, const struct view_options *o, struct calc_model *m,
		   const struct calc_options_view *c, uint32_t proc);
/* A table of all instructions of these procedures, for CSV. */
void calc_add_csv(struct doc *d, struct calc_model *m, const uint32_t *procs, size_t count);
void calc_add_summary(struct doc *d, const struct calc_model *m, uint32_t proc,
		      enum confidence least);
/* calc_export.c: to o->out. */
bool calc_print_dot(const struct view_options *o, struct calc_model *m, const uint32_t *procs,
		    size_t count);
bool calc_print_fdata(const struct view_options *o, const struct calc_model *m, struct err *e);

/* calc_elsewhere.c: sections of other views; nothing if a store has no such samples. */
bool calc_add_accuracy(struct doc *d, struct store *s, struct err *e);
bool calc_add_diff(struct doc *d, struct store *before, struct store *after, size_t limit,
		   struct err *e);

#endif

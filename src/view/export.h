/* SPDX-License-Identifier: MIT */
/*
 * Profiles in the formats of other tools. An exporter is one const struct in a file of its own and
 * one line in export_list (export.c); it writes what export_read (export_model.c) took from a store.
 *
 * A sample belongs to a context: a place in the code, and the context that called it. Without
 * export_options.calls, or if the store has no call stacks, every context is a root.
 *
 * All texts are as they may be shown (util/text.h): valid UTF-8 without control characters.
 */
#ifndef VIEW_EXPORT_H
#define VIEW_EXPORT_H

#include <stdio.h>

#include "store/store.h"
#include "util/output.h"
#include "view/model.h"

#define EXPORT_NONE SIZE_MAX

struct export_options {
	const char *profiler; /* NULL: the golden reference */
	const char *event;    /* only time with this event; NULL: all */
	const char *function; /* only this function; NULL: all */
	bool exact;	      /* time in parts of a cycle, so that no sum is rounded */
	bool event_leaf;      /* the set of events is the innermost frame of a stack */
	bool calls;	      /* with call stacks, if the store has any (export_calls.c) */
	bool phases;	      /* with the CPI stack over time, if the store has one */
};

struct export_function {
	char *name, *file; /* file: "" if it is not known */
	int line;	   /* where it begins; 0: not known */
};

/* A function and the line inside it, 0 if that is not known: stores do not keep the line at which
 * the outermost inlined function was called. */
struct export_frame {
	size_t function;
	int line;
};

struct export_place {
	uint64_t pc;
	int64_t function;	     /* of the store; -1: none */
	size_t image;		     /* EXPORT_NONE: none */
	struct export_frame *frames; /* innermost first; the last is the enclosing function */
	size_t nframes;
};

/* Behind its parent. */
struct export_context {
	size_t place, parent; /* parent: EXPORT_NONE for a root */
};

/* A stretch of the run with its CPI stack, in cycles. */
struct export_phase {
	double cycles, instructions, parts[CPI_COMPONENTS];
};

/* Time of a context with one set of events in one category. Samples are in the order of function,
 * file, line, address. */
struct export_sample {
	size_t context;
	unsigned events;
	int category; /* -1: the profiler does not know it */
	uint64_t units, executions;
	uint64_t time; /* in cycles, or in units if that was asked for */
};

struct export_image {
	char *path, *build_id;
	uint64_t start, end, bias;
};

struct export_profile {
	struct model model;
	struct export_options options;
	uint64_t scale; /* units in a cycle */
	struct export_function *functions;
	size_t nfunctions;
	struct export_place *places;
	size_t nplaces;
	struct export_context *contexts;
	size_t ncontexts;
	struct export_sample *samples;
	size_t nsamples;
	struct export_image *images;
	size_t nimages;
	struct export_phase *phases;
	size_t nphases;
	bool calls;    /* contexts have callers */
	uint64_t time; /* of all samples */
};

bool export_read(struct store *s, const struct export_options *o, struct export_profile *p,
		 struct err *e);
void export_free(struct export_profile *p);
/* Divides samples among the call stacks of the store; does nothing if it has none. unknown: the
 * function of code that the store does not know. */
bool export_add_calls(struct store *s, size_t unknown, struct export_profile *p, struct err *e);

/*
 * Rounds a running sum of units to the unit of export_sample.time. The parts of any stretch of
 * samples then differ from the truth by less than one in sum, and all of them together are right.
 * sum: begins as 0.
 */
uint64_t export_round(const struct export_profile *p, uint64_t *sum, uint64_t units);
/* "cycles", or "1/12 cycle". Returns buf. */
char *export_unit(const struct export_profile *p, char *buf, size_t size_bytes);
/* The commit state that a time category is part of. */
const char *export_state(int category);
/* A place's innermost frame. */
const struct export_frame *export_leaf(const struct export_profile *p,
				       const struct export_sample *s);

struct exporter {
	const char *name; /* of the format, as --format takes it */
	struct output_kind kind;
	bool calls, phases; /* what it wants of export_options in any case */
	/* False if out cannot be written. */
	bool (*write)(FILE *out, const struct export_profile *p);
};

/* NULL-terminated. */
extern const struct exporter *const export_list[];
extern const struct exporter export_pprof, export_callgrind, export_folded, export_speedscope,
    export_perf_script, export_firefox;

/* A text as a JSON string. */
void export_json_text(FILE *out, const char *text);

#endif

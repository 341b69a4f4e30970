/* SPDX-License-Identifier: MIT */
/*
 * What an analysis is: one const struct of this type and one line in analysis/list.c.
 *
 * The bus calls start once; then, for every batch, misses, twins, insts and cycles in this order
 * (each may be NULL; batch replaces the last two); then finish once. All calls for one state come
 * from one thread at a time. An analysis keeps everything in its state; it never prints and never
 * reaches into the core.
 */
#ifndef TRACE_ANALYSIS_H
#define TRACE_ANALYSIS_H

#include <string.h>

#include "trace/emit.h"
#include "trace/record.h"
#include "util/number.h"
#include "util/util.h"

struct images;
struct store;
struct trace_info;

/* Options for all analyses: sampling, seed, and free-form parameters. */
struct analysis_options {
	uint64_t period; /* sampling period in cycles; 0: default (1000) */
	bool random;	 /* sample at a random cycle within each period */
	uint64_t seed;
	/* An interval of a longer run: how far into a sampling period it begins, modulo the period; so
	 * periods go on from interval to interval. 0: the run begins with its first cycle. */
	uint64_t phase;
	const char *const
	    *params;	  /* "key=value" strings given for analyses, NULL-terminated; or NULL */
	const char *stem; /* default beginning of the names of files that analyses write; or NULL */
	/* If it is sharded: which of how many, and the state of shard 0, which has started (NULL for
	 * shard 0 itself). All have one set of options. */
	unsigned shard, shards;
	void *first;
	const char *suffix; /* added to the names of all files that analyses write; or NULL */
	/* The run and its images; complete when finish is called. */
	const struct trace_info *info; /* trace/file.h; or NULL */
	struct images *const *images;  /* image/image.h; or NULL */
};

/* The value of the last parameter of that name, or NULL. */
static inline const char *analysis_given(const struct analysis_options *o, const char *key)
{
	const char *value = NULL;
	size_t n = strlen(key);
	for (const char *const *p = o->params; p && *p; p++)
		if (!strncmp(*p, key, n) && (*p)[n] == '=')
			value = *p + n + 1;
	return value;
}

/* The value of that parameter as a number, or `otherwise`. It is in the analysis_param's range. */
static inline uint64_t analysis_number(const struct analysis_options *o, const char *key,
				       uint64_t otherwise)
{
	const char *given = analysis_given(o, key);
	uint64_t n;
	return given && number_parse(given, &(struct number_range){ 0 }, &n) ? n : otherwise;
}

/* The path of a file to write: the parameter's value or, without one, the stem and the extension.
 * The caller frees. */
static inline char *analysis_path(const struct analysis_options *o, const char *key,
				  const char *extension)
{
	const char *given = analysis_given(o, key), *suffix = o->suffix ? o->suffix : "";
	return given ? x_asprintf("%s%s", given, suffix)
		     : x_asprintf("%s.%s%s", o->stem ? o->stem : "culprit", extension, suffix);
}

/* A parameter of an analysis, given with --param. */
struct analysis_param {
	const char *name; /* NULL ends a list */
	const char *help; /* describes its value */
	bool number;
	struct number_range range; /* allowed numbers */
};

/* A table of the store that an analysis fills, with a row per instruction in its column pc. These
 * instructions get names, source lines and disassembly. */
struct analysis_table {
	const char *name; /* NULL ends a list */
	const char *time; /* column of the time by which the run's functions are ordered; or NULL */
};

struct analysis {
	const char *name;		     /* as in --analyze */
	const char *summary;		     /* one line for `culprit list` */
	unsigned wants;			     /* enum trace_want */
	const struct analysis_param *params; /* parameters that it has; NULL: none */
	const struct analysis_table *tables; /* tables with a column pc; NULL: none */
	bool writes_file;  /* what it finds goes into a file that a parameter names */
	size_t state_size; /* zeroed memory that start gets */
	bool (*start)(void *state, const struct trace_meta *meta,
		      const struct analysis_options *options, struct err *e);
	/* If not NULL: returns the stretches that it looks at; called after start. Records outside
	 * of them must not change its results. Not for an analysis of cycles or squashed
	 * instructions. */
	struct schedule (*schedule)(const void *state);
	/* false ends the run with e's message */
	bool (*insts)(void *state, const struct rec_inst *insts, size_t count, struct err *e);
	bool (*cycles)(void *state, const struct rec_cycle *cycles, size_t count, struct err *e);
	/* Instead of insts and cycles, for an analysis that walks both streams together. */
	bool (*batch)(void *state, const struct rec_inst *insts, size_t ninsts,
		      const struct rec_cycle *cycles, size_t ncycles, struct err *e);
	/* Issue records of a batch (WANT_ISSUES), before its insts and cycles, which may go on reading them. Not
	 * called if it has none: then its inst records are of all instructions. */
	bool (*issues)(void *state, const struct rec_issue *issues, size_t count, struct err *e);
	/* Miss and twin records of a batch, before its insts and cycles. */
	bool (*misses)(void *state, const struct rec_miss *misses, size_t count, struct err *e);
	bool (*twins)(void *state, const struct rec_twin *twins, size_t count, struct err *e);
	/* If not NULL the analysis can be sharded: shard k of n sees batches k, k + n, k + 2n, ….
	 * merge adds what `from` gathered to `into`. */
	bool (*merge)(void *into, void *from, struct err *e);
	/* If not NULL: called for a shard after everything of batch `index`, which counts all batches from
	 * 0, so that shards can put what they write in order. Other shards may be called meanwhile. */
	bool (*turn)(void *state, uint64_t index, struct err *e);
	/* If not NULL: called before insts, cycles or batch with the cycles of all batches before, whatever
	 * shard saw them. */
	void (*at)(void *state, uint64_t cycles);
	/* Writes its results into the store. */
	bool (*finish)(void *state, struct store *store, struct err *e);
	void (*free)(void *state); /* releases what start and the rest allocated; may be NULL */
};

/* All analyses, NULL-terminated; defined in analysis/list.c. */
extern const struct analysis *const analysis_list[];
const struct analysis *analysis_find(const char *name);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Basic block vectors: an interval is a list of (block, instructions executed in it). Their files, .bb
 * and .bb.gz, are the field's: a line "T:id:count :id:count …" for each interval. Lines that begin with
 * # are comments; ours has one kind with a meaning, "#D:k:count …", the data part of the interval
 * before it (docs/sampling.md, "Vectors").
 */
#ifndef SAMPLING_BB_H
#define SAMPLING_BB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampling/sampling.h"
#include "util/util.h"

/* The part of an interval that one block has. */
struct bb_part {
	uint64_t block; /* from 1, in the order of first execution */
	uint64_t insts;
};

/*
 * The data part of an interval: for a growing size of direct-mapped tables, how many loads and stores
 * found another line (or page) in their entry. It goes with the misses of a cache of that size.
 */
#define BB_DATA 5

/* More than anyone has; a file that says so is damaged or hostile. */
#define BB_PARTS_MAX	 (1u << 24)
#define BB_INTERVALS_MAX 10000000u

struct bb_interval {
	const struct bb_part *parts; /* in the order of first execution in the interval */
	size_t count;
	uint64_t insts;	      /* the sum over parts */
	const uint64_t *data; /* BB_DATA counts; NULL: none */
};

/* Called for each interval in turn. False ends it, with e filled. */
typedef bool bb_take(void *ctx, const struct bb_interval *v, struct err *e);

/* Reads a file, in whatever size, without holding more than one interval of it. False and e filled if
 * it is not a file of vectors, or take said so. */
bool bb_read(const char *path, bb_take *take, void *ctx, struct err *e);

/* From vectors to rows: rows have dims columns, and BB_DATA more with_data. */
struct bb_rows;
struct bb_rows *bb_rows_new(unsigned dims, uint64_t seed, bool with_data);
/* A bb_take whose ctx is the rows. With data wanted, an interval without is an error. */
bb_take bb_rows_add;
/* Fills out, which the caller frees (intervals_free), and frees r. The length of the intervals is that
 * of the longest. */
void bb_rows_finish(struct bb_rows *r, struct intervals *out);
void bb_rows_free(struct bb_rows *r);

/* Reads all of a file into rows. */
bool bb_intervals(const char *path, unsigned dims, uint64_t seed, bool with_data,
		  struct intervals *out, struct err *e);

/* Writing: gzip if the name ends with .gz. The file gets its name when it is finished. */
struct bb_file;
struct bb_file *bb_create(const char *path, struct err *e);
/* A bb_take whose ctx is the file. */
bb_take bb_write;
bool bb_finish(struct bb_file *f, struct err *e); /* frees f */
void bb_discard(struct bb_file *f);		  /* writes nothing; NULL is fine */

#endif

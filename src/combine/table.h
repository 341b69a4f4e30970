/* SPDX-License-Identifier: MIT */
/*
 * A table of the stores of points, and what becomes of its columns in the combined store. One letter
 * per column, in the order of the schema:
 *
 *	k  key, a number          t  key, a text
 *	S  a count: weighted sum, in whole numbers
 *	C  a count of what was really taken: plain sum
 *	x  the largest count
 *	R  a real amount: weighted sum
 *	P  a real amount: plain sum
 *	m  a mean over what column `by` counts (a real amount or a count)
 *	p  the part that column `by`, a count, has of the group
 *	l  the least value
 *	n  not known
 *
 * What is the same at every point (a name, a latency) is a key like the others.
 */
#ifndef COMBINE_TABLE_H
#define COMBINE_TABLE_H

#include "combine/sums.h"
#include "store/store.h"

#define TABLE_COLUMNS 16

struct rule {
	const char *table, *columns;
	const char *where; /* which rows, or NULL: all */
	const char
	    *select;	  /* the query that gives these columns, if they are not the table's own */
	unsigned primary; /* so many keys tell rows apart */
	unsigned group;	  /* rows that agree in so many keys keep their total */
	bool in_cycles;	  /* the first S of a group, at every point, is all cycles x the scale */
	bool by_pc;	  /* key `pc` is an address, whose exact executions may be known */
	unsigned pc, by;
	unsigned executions; /* which value counts executions, from 1; 0: none */
	bool elsewhere;	     /* rows are written by what made them read */
	size_t most;	     /* rows to keep, those with the largest first R; 0: all */
};

/* Texts by number, in the order in which they were met. */
struct texts {
	char **text;
	size_t count;
	uint32_t *slots;
	size_t nslots;
};
int64_t texts_number(struct texts *t, const char *text);
void texts_free(struct texts *t);

union now {
	int64_t count;
	double real;
};
union total {
	fixed count;
	double real;
};

struct table {
	const struct rule *rule;
	unsigned nkeys, nvalues;
	char kind[TABLE_COLUMNS]; /* letter of each value */
	unsigned by;		  /* value that means are over */
	size_t count, room;
	int64_t *keys;	    /* count x nkeys */
	union now *now;	    /* count x nvalues: the cluster that is being read */
	union total *total; /* count x nvalues: the clusters before */
	int64_t *whole;	    /* count x nvalues: S and C columns, after table_round */
	uint32_t *slots;
	size_t nslots;
};

void table_init(struct table *t, const struct rule *r);
void table_free(struct table *t);
/* The row with these keys; a new one is all zero. */
size_t table_row(struct table *t, const int64_t *keys);
/* Adds the rows of a point. */
bool table_read(struct table *t, struct store *s, struct texts *texts, struct err *e);
/* All points of a cluster were read. False: a sum is too large. */
bool table_fold(struct table *t, struct factor f);
/* Sorts by keys. False if rows that the primary key does not tell apart differ in other keys. */
bool table_sort(struct table *t);
/*
 * Makes whole numbers of the counts: each column of a group keeps its total, rounded, or what totals
 * says (one number per group for the first S, or NULL).
 */
void table_round(struct table *t, const int64_t *totals);
/* The groups of a sorted table: where each begins, and at last count. The caller frees. */
size_t *table_groups(const struct table *t, size_t *count);
/* Writes the rows that are not all zero. */
bool table_write(const struct table *t, struct store *s, const struct texts *texts, struct err *e);

#endif

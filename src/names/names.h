/* SPDX-License-Identifier: MIT */
/* Gives the addresses in a store their names: what runs on the modelled core and live profiles have
 * in common. */
#ifndef NAMES_NAMES_H
#define NAMES_NAMES_H

#include "image/image.h"
#include "store/store.h"

struct names;

/* An address and its time, in any unit. */
struct names_pc {
	uint64_t pc;
	int64_t units;
};

/* A function's row. */
struct names_row {
	uint64_t start;
	int64_t id;
};

struct names_options {
	uint64_t total;	    /* time of all addresses that will be added */
	bool (*stop)(void); /* when it returns true, the rest gets no names; may be NULL */
	bool jumps;	    /* fill table live_jump, too */
	/* Write the graphs of functions (names/graph.h) with at least so much time; -1: of none. */
	int64_t graphs_from;
	/* For a store that has names already: the first free rows of tables function and block, and functions that
	 * keep their row if their start is the same, sorted by start. */
	int64_t first_function, first_block;
	const struct names_row *kept;
	size_t nkept;
};

struct names *names_new(struct store *store, const struct names_options *o);
/*
 * Fills the tables function, block, instruction and inlined for every one of these addresses, and
 * for every other instruction of functions with at least 1/2000 of all time, so that these can be
 * shown whole. How many rows that gives is limited by how many addresses there are, not by what a
 * binary claims. Sorts pcs. Image i of the set is row first_image + i of table image. Addresses of
 * different calls must not lie in the same function.
 */
bool names_add(struct names *n, struct images *images, int64_t first_image, struct names_pc *pcs,
	       size_t count, struct err *e);
void names_free(struct names *n);

/* Fills table image with the images of a set, from row `first` on. */
bool names_put_images(struct store *store, const struct images *images, int64_t first,
		      struct err *e);

#endif

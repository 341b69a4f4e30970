/* SPDX-License-Identifier: MIT */
/* "Did you mean …": the known name that a mistyped word is nearest to. */
#ifndef UTIL_NEAREST_H
#define UTIL_NEAREST_H

#include <stddef.h>

/* Fewest single-character insertions, deletions, replacements and swaps of neighbours from a to b.
 */
unsigned edit_distance(const char *a, const char *b);

/*
 * Keeps the best of the candidates shown to it one by one. Start from { .word = … }; after the last
 * candidate, best is the nearest name (the first among equals), or NULL if there was none.
 */
struct nearest {
	const char *word;
	const char *best;
	unsigned distance; /* of best, if there is one */
};
void nearest_try(struct nearest *n, const char *candidate);

#endif

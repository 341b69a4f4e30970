/* SPDX-License-Identifier: MIT */
/*
 * Edit distance with swaps of neighbours (optimal string alignment), by the usual table of prefix
 * distances, of which three rows are kept. Words longer than LONGEST are compared by their
 * beginnings: option names and keys are short.
 */
#include "util/nearest.h"

#include <string.h>

#define LONGEST 63

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
	unsigned m = a < b ? a : b;
	return m < c ? m : c;
}

unsigned edit_distance(const char *a, const char *b)
{
	size_t na = strnlen(a, LONGEST), nb = strnlen(b, LONGEST);
	unsigned rows[3][LONGEST + 1];

	for (size_t j = 0; j <= nb; j++)
		rows[0][j] = (unsigned)j;
	for (size_t i = 1; i <= na; i++) {
		unsigned *row = rows[i % 3];
		const unsigned *above = rows[(i + 2) % 3], *above2 = rows[(i + 1) % 3];

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= nb; j++) {
			row[j] = min3(above[j] + 1, row[j - 1] + 1,
				      above[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    above2[j - 2] + 1 < row[j])
				row[j] = above2[j - 2] + 1;
		}
	}
	return rows[na % 3][nb];
}

void nearest_try(struct nearest *n, const char *candidate)
{
	unsigned distance = edit_distance(n->word, candidate);

	if (!n->best || distance < n->distance) {
		n->best = candidate;
		n->distance = distance;
	}
}

/* SPDX-License-Identifier: MIT */
/*
 * Random linear projection: a vector with a dimension per static block becomes a row of a few numbers,
 * and distances between rows are those between vectors but for a common factor and noise that falls
 * with the number of columns. The matrix has a row per block, hundreds of thousands in a large
 * program; its elements are a hash of where they stand, so there is nothing to keep, and a file can be
 * projected while it is read.
 *
 * Column j is the same whatever the number of columns: rows of few columns are the beginnings of rows
 * of many.
 */
#include <stdlib.h>

#include "sampling/sampling.h"

void project_add(double *row, unsigned dims, uint64_t seed, uint64_t dimension, double share)
{
	const uint64_t base = hash_u64(hash_u64(seed) + dimension);

	for (unsigned j = 0; j < dims; j++) {
		const uint64_t bits = hash_u64(base + (j + 1) * 0x9e3779b97f4a7c15ull);

		row[j] += share * ((double)(int64_t)bits * 0x1p-63);
	}
}

void intervals_free(struct intervals *v)
{
	free(v->rows);
	free(v->insts);
	*v = (struct intervals){ 0 };
}

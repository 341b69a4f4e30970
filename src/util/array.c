/* SPDX-License-Identifier: MIT */
/* Enlarging arrays. Sizes that do not fit into 64 bits are treated as memory that has run out. */
#include "util/array.h"

void *array_enlarge(void *array, size_t *capacity, size_t need, size_t element_bytes)
{
	size_t size_bytes;

	if (__builtin_mul_overflow(*capacity, 2, capacity) || *capacity < need)
		*capacity = need;
	if (__builtin_mul_overflow(*capacity, element_bytes, &size_bytes))
		die("out of memory (%zu elements of %zu bytes asked for)", *capacity,
		    element_bytes);
	return x_realloc(array, size_bytes);
}

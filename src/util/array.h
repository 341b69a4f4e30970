/* SPDX-License-Identifier: MIT */
/* Arrays: finding a place in a sorted one, and making one larger. */
#ifndef UTIL_ARRAY_H
#define UTIL_ARRAY_H

#include <stddef.h>

#include "util/util.h"

/*
 * Binary search: the first i below count for which the expression `before` is false, or count if it
 * is true for all. `before` uses i, and is true up to some i and false from there on. For example,
 * the first of n sorted numbers that is at least x:
 *
 *	ARRAY_SEARCH(n, i, number[i] < x)
 */
#define ARRAY_SEARCH(count, i, before)                                                             \
	({                                                                                         \
		size_t i##_low_ = 0, i##_high_ = (count);                                          \
		while (i##_low_ < i##_high_) {                                                     \
			const size_t i = i##_low_ + (i##_high_ - i##_low_) / 2;                    \
			if (before)                                                                \
				i##_low_ = i + 1;                                                  \
			else                                                                       \
				i##_high_ = i;                                                     \
		}                                                                                  \
		i##_low_;                                                                          \
	})

/*
 * Adds one element to the end of an array that begins as NULL and is enlarged by ARRAY_ADD alone:
 * enlarges the array at each power of two, raises count, and gives a pointer to the new element,
 * whose content is undefined. Dies if memory runs out.
 */
#define ARRAY_ADD(array, count)                                                                    \
	((array) = array_one_more((array), (size_t)(count), sizeof(*(array))), &(array)[(count)++])

/*
 * Enlarges an array of `capacity` elements (a size_t) that needs room for `need`; the capacity at
 * least doubles, so adding elements one by one takes linear time. New elements are undefined. Dies
 * if memory runs out.
 */
#define ARRAY_ROOM(array, capacity, need)                                                          \
	((array) = (need) <= (capacity)                                                            \
		       ? (array)                                                                   \
		       : array_enlarge((array), &(capacity), (need), sizeof(*(array))))

/* For the macros above. */
void *array_enlarge(void *array, size_t *capacity, size_t need, size_t element_bytes);
static inline void *array_one_more(void *array, size_t count, size_t element_bytes)
{
	size_t capacity = count;

	return count & (count - 1) ? array
				   : array_enlarge(array, &capacity, count + 1, element_bytes);
}

#endif

/* SPDX-License-Identifier: MIT */
/* For any host: vectors as the compiler sees fit. */
#include <stdint.h>

typedef uint32_t vec __attribute__((vector_size(16), may_alias));
#define VEC_LANES     4
#define VECS	      2
#define v_load(p)     (*(const vec *)(const void *)(p))
#define v_store(p, x) (*(vec *)(void *)(p) = (x))
#define v_all(x)      ((vec){ (uint32_t)(x), (uint32_t)(x), (uint32_t)(x), (uint32_t)(x) })
#define v_add(a, b)   ((a) + (b))
#define v_and(a, b)   ((a) & (b))

static inline vec v_max(vec a, vec b)
{
	const vec larger = (vec)(a > b);
	return (a & larger) | (b & ~larger);
}

#include "analysis/icost/kernel.h"

static bool supported(void)
{
	return true;
}

const struct graph_kernel graph_kernel_c = { "c", supported, kernel_run };

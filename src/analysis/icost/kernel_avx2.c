/* SPDX-License-Identifier: MIT */
/* For hosts with AVX2; compiled with -mavx2. */
#include <immintrin.h>

typedef __m256i vec;
#define VEC_LANES     8
#define VECS	      2 /* of sixteen registers, four nodes and their operands take twelve */
#define v_load(p)     _mm256_load_si256((const __m256i *)(const void *)(p))
#define v_store(p, x) _mm256_store_si256((__m256i *)(void *)(p), x)
#define v_all(x)      _mm256_set1_epi32((int)(x))
#define v_add(a, b)   _mm256_add_epi32(a, b)
#define v_max(a, b)   _mm256_max_epu32(a, b)
#define v_and(a, b)   _mm256_and_si256(a, b)

#include "analysis/icost/kernel.h"

static bool supported(void)
{
	return __builtin_cpu_supports("avx2");
}

const struct graph_kernel graph_kernel_avx2 = { "avx2", supported, kernel_run };

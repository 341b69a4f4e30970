/* SPDX-License-Identifier: MIT */
/* For hosts with AVX-512; compiled with -mavx512f -mavx512vl. */
#include <immintrin.h>

typedef __m512i vec;
#define VEC_LANES     16
#define VECS	      4
#define v_load(p)     _mm512_load_si512(p)
#define v_store(p, x) _mm512_store_si512(p, x)
#define v_all(x)      _mm512_set1_epi32((int)(x))
#define v_add(a, b)   _mm512_add_epi32(a, b)
#define v_max(a, b)   _mm512_max_epu32(a, b)
#define v_and(a, b)   _mm512_and_si512(a, b)

#include "analysis/icost/kernel.h"

static bool supported(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl");
}

const struct graph_kernel graph_kernel_avx512 = { "avx512", supported, kernel_run };

/* SPDX-License-Identifier: MIT */
/* For hosts with AVX-512; compiled with -mavx512f -mavx512bw -mavx512vl. */
#include <immintrin.h>

#define LANE	    uint16_t
#define NAME(x)	    x##_16
#define VEC_BYTES   64
#define VECS	    4 /* of 32 registers, four nodes and E take twenty */
#define V_MAX(a, b) ((VEC)_mm512_max_epu16((__m512i)(a), (__m512i)(b)))
#include "analysis/icost/kernel.h"

#define LANE	    uint32_t
#define NAME(x)	    x##_32
#define VEC_BYTES   64
#define VECS	    4
#define V_MAX(a, b) ((VEC)_mm512_max_epu32((__m512i)(a), (__m512i)(b)))
#include "analysis/icost/kernel.h"

static bool supported(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
	       __builtin_cpu_supports("avx512bw");
}

const struct graph_kernel graph_kernel_avx512 = {
	"avx512", supported, { run_16, run_32 }, { rebase_16, rebase_32 }
};

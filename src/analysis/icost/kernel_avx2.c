/* SPDX-License-Identifier: MIT */
/* For hosts with AVX2; compiled with -mavx2. */
#include <immintrin.h>

#define LANE	    uint16_t
#define NAME(x)	    x##_16
#define VEC_BYTES   32
#define VECS	    2 /* of sixteen registers, four nodes and E take ten */
#define V_MAX(a, b) ((VEC)_mm256_max_epu16((__m256i)(a), (__m256i)(b)))
#include "analysis/icost/kernel.h"

#define LANE	    uint32_t
#define NAME(x)	    x##_32
#define VEC_BYTES   32
#define VECS	    2
#define V_MAX(a, b) ((VEC)_mm256_max_epu32((__m256i)(a), (__m256i)(b)))
#include "analysis/icost/kernel.h"

static bool supported(void)
{
	return __builtin_cpu_supports("avx2");
}

const struct graph_kernel graph_kernel_avx2 = {
	"avx2", supported, { run_16, run_32 }, { rebase_16, rebase_32 }
};

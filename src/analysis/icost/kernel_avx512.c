/* SPDX-License-Identifier: MIT */
/* For hosts with AVX-512; compiled with -mavx512f -mavx512vl. */
#include "analysis/icost/kernel.h"

static bool supported(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl");
}

const struct graph_kernel graph_kernel_avx512 = { "avx512", supported, kernel_step };

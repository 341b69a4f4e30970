/* SPDX-License-Identifier: MIT */
/* For hosts with AVX2; compiled with -mavx2. */
#include "analysis/icost/kernel.h"

static bool supported(void)
{
	return __builtin_cpu_supports("avx2");
}

const struct graph_kernel graph_kernel_avx2 = { "avx2", supported, kernel_step };

/* SPDX-License-Identifier: MIT */
/* Hosts that are not x86-64 have plain C only. */
#include "analysis/icost/graph_int.h"

static bool supported(void)
{
	return false;
}

const struct graph_kernel graph_kernel_avx2 = { .name = "avx2", .supported = supported };
const struct graph_kernel graph_kernel_avx512 = { .name = "avx512", .supported = supported };

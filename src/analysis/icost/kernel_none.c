/* SPDX-License-Identifier: MIT */
/* Hosts that are not x86-64 have plain C only. */
#include "analysis/icost/graph_int.h"

static bool supported(void)
{
	return false;
}

const struct graph_kernel graph_kernel_avx2 = { "avx2", supported, NULL };
const struct graph_kernel graph_kernel_avx512 = { "avx512", supported, NULL };

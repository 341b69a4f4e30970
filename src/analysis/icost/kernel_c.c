/* SPDX-License-Identifier: MIT */
/* Plain C, for any host. */
#include "analysis/icost/kernel.h"

static bool supported(void)
{
	return true;
}

const struct graph_kernel graph_kernel_c = { "c", supported, kernel_step };

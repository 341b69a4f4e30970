/* SPDX-License-Identifier: MIT */
/* For any host: kernel.h's own vectors. */
#include "analysis/icost/kernel.h"

static bool supported(void)
{
	return true;
}

const struct graph_kernel graph_kernel_c = { "c", supported, kernel_run };

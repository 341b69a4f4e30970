/* SPDX-License-Identifier: MIT */
/* For any host: vectors as the compiler sees fit. */
#define LANE	  uint16_t
#define NAME(x)	  x##_16
#define VEC_BYTES 16
#define VECS	  2
#include "analysis/icost/kernel.h"

#define LANE	  uint32_t
#define NAME(x)	  x##_32
#define VEC_BYTES 16
#define VECS	  2
#include "analysis/icost/kernel.h"

static bool supported(void)
{
	return true;
}

const struct graph_kernel graph_kernel_c = {
	"c", supported, { run_16, run_32 }, { rebase_16, rebase_32 }
};

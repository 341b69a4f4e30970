/* SPDX-License-Identifier: MIT */
/* The portable executor as it runs programs: interp_body.def, and nothing else. */
#define INTERP_RUN	       interp_run
#define BLOCK_ENTRY(b)	       ((void)0)
#define IS_HOT(b)	       (--(b)->heat < 0)
#define BLOCK_TAKEN()	       ((void)0)
#define MEM_BEFORE(cls, flags) ((void)0)
#define MEM_AFTER(cls, flags)  ((void)0)
#include "guest/engine/interp_body.def"

/* SPDX-License-Identifier: MIT */
/* The portable executor that also marks the pages which loads and stores touch (engine_track). An
 * access that faults marks nothing: it does not come to MEM_AFTER. */
#define INTERP_RUN     interp_track
#define BLOCK_ENTRY(b) ((void)0)
#define IS_HOT(b)      (--(b)->heat < 0)
#define BLOCK_TAKEN()  ((void)0)
#define MEM_BEFORE(cls, flags)                                                                     \
	const uint64_t accessed_ =                                                                 \
	    (flags) & (OPF_LOAD | OPF_STORE) ? inst_address(h, in, (cls)) : 0;                     \
	(void)accessed_
#define MEM_AFTER(cls, flags)                                                                      \
	do {                                                                                       \
		if ((flags) & (OPF_LOAD | OPF_STORE))                                              \
			e->touched[accessed_ / GUEST_PAGE_BYTES] = 1;                              \
	} while (0)
#include "guest/engine/interp_body.def"

/* SPDX-License-Identifier: MIT */
/* The portable executor that also notes each block and the address of each access to memory
 * (engine_watch). The last address of an access that faults is noted, too, and nobody takes it. */
#define INTERP_RUN     interp_watch
#define IS_HOT(b)      false
#define BLOCK_ENTRY(b) watch_block(e, b)
#define BLOCK_TAKEN()  (e->watch->seen[e->watch->n - 1].taken = true)
#define MEM_BEFORE(cls, flags)                                                                     \
	do {                                                                                       \
		if ((flags) & (OPF_LOAD | OPF_STORE))                                              \
			*e->watch->access++ =                                                      \
			    (struct guest_access){ in, inst_address(h, in, (cls)) };               \
	} while (0)
#define MEM_AFTER(cls, flags) ((void)0)
#include "guest/engine/interp_body.def"

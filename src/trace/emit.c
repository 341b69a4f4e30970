/* SPDX-License-Identifier: MIT */
/* The rare case of writing records: more instructions leave in a cycle than a batch has room for. */
#include "trace/emit.h"

void emit_full_mid_cycle(struct emit *e, struct rec_cycle **begun)
{
	struct rec_cycle kept;

	if (*begun)
		kept = **begun;
	e->full(e);
	if (*begun) {
		*begun = emit_begin_cycle(e);
		**begun = kept;
	}
}

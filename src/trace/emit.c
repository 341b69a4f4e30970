/* SPDX-License-Identifier: MIT */
/* Hands over a batch in the middle of a cycle: more instructions leave in it than the batch has
 * room for. */
#include "trace/emit.h"

void emit_full_mid_cycle(struct emit *e, struct rec_cycle **begun)
{
	struct rec_cycle kept = begun && *begun ? **begun : (struct rec_cycle){ 0 };

	e->full(e);
	if (begun && *begun) {
		*begun = emit_begin_cycle(e);
		**begun = kept;
	}
}

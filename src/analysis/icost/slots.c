/* SPDX-License-Identifier: MIT */
/*
 * With one-cycle operations idealised, all that waits for a load could run in the cycle in which it
 * comes, were it not for the width of issue: operations that take no time take a slot all the same.
 * The oldest go first, so the n-th of those that wait for the same load goes n / width cycles after
 * it. That becomes a part of the instruction's latency which counts only if these operations are
 * idealised and bandwidth is not: along a chain the parts add up to n / width.
 *
 * Whom an instruction waits for is the youngest root among its sources, if it is still within the
 * window. Slots that others take, who wait for something else, are not seen.
 */
#include "analysis/icost/slots.h"

#include <string.h>

#define ROOTS (sizeof(((struct slots *)0)->waiting) / sizeof(uint32_t))

void slots_reset(struct slots *s, uint32_t width, uint32_t reach)
{
	memset(s, 0, sizeof(*s));
	s->width = width;
	s->reach = reach < ROOTS ? reach : (uint32_t)ROOTS - 1;
	s->count = s->reach + 1; /* a root of 0 is too far away */
}

void slots_next(struct slots *s, bool timeless, struct graph_inst *in)
{
	struct slots_chain from = { 0, 0 }, c = { 0, 0 };
	const uint32_t i = s->count++;
	if (!s->width)
		return;
	for (unsigned k = 0; k < GRAPH_SOURCES && in->src[k]; k++) {
		const struct slots_chain *b = &s->chain[in->src[k]];
		if (b->root > from.root || (b->root == from.root && b->rank > from.rank))
			from = *b;
	}
	if (i - from.root <= s->reach) {
		c = (struct slots_chain){ from.root, ++s->waiting[from.root % ROOTS] };
		const uint32_t wait = c.rank / s->width - from.rank / s->width;
		unsigned n = 0;
		while (n < GRAPH_EP_PARTS && in->ep_part[n].cycles)
			n++;
		if (wait && n < GRAPH_EP_PARTS)
			in->ep_part[n] = (struct graph_part){ .cycles = (uint16_t)wait,
							      .category = CAT_SLOTS_SHALU };
	}
	if (!timeless) {
		c = (struct slots_chain){ i, 0 };
		s->waiting[i % ROOTS] = 0;
	}
	s->chain[in->dst] = s->chain[in->mem] = c;
	s->chain[0] = (struct slots_chain){ 0, 0 };
}

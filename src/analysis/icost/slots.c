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
	s->per = width ? (UINT32_MAX + (uint64_t)width) / width : 0;
	s->reach = reach < ROOTS ? reach : (uint32_t)ROOTS - 1;
	s->count = s->reach + 1; /* a root of 0 is too far away */
}

void slots_next(struct slots *s, bool timeless, bool slot, struct graph_inst *in)
{
	uint64_t from = 0, chain = 0;
	const uint32_t i = s->count++;
	for (unsigned k = 0; k < GRAPH_SOURCES && in->src[k]; k++) {
		const uint64_t b = s->chain[in->src[k]];
		from = b > from ? b : from;
	}
	const uint32_t root = (uint32_t)(from >> 32), rank = (uint32_t)from;
	if (i - root <= s->reach) {
		const uint32_t mine = slot ? ++s->waiting[root % ROOTS] : rank;
		const uint32_t wait = (uint32_t)((mine * s->per >> 32) - (rank * s->per >> 32));
		chain = (uint64_t)root << 32 | mine;
		unsigned n = 0;
		while (n < GRAPH_EP_PARTS && in->ep_part[n].cycles)
			n++;
		if (wait && n < GRAPH_EP_PARTS)
			in->ep_part[n] = (struct graph_part){ .cycles = (uint16_t)wait,
							      .category = CAT_SLOTS_SHALU };
	}
	if (!timeless) {
		chain = (uint64_t)i << 32;
		s->waiting[i % ROOTS] = 0;
	}
	s->chain[in->mem] = chain;
	s->chain[in->dst] = chain;
	s->chain[0] = 0;
}

uint32_t slots_root(const struct slots *s, const struct graph_inst *in)
{
	uint64_t from = 0;
	for (unsigned k = 0; k < GRAPH_SOURCES && in->src[k]; k++) {
		const uint64_t b = s->chain[in->src[k]];
		from = b > from ? b : from;
	}
	return (uint32_t)(from >> 32);
}

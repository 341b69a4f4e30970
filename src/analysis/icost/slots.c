/* SPDX-License-Identifier: MIT */
/*
 * If one-cycle operations took no time, everything that waits for a load could execute in the cycle
 * in which its data comes. Issue width still limits it: an operation that takes no time takes a
 * slot. The oldest go first, so the n-th operation that waits for the same load issues n / width
 * cycles after the data. That is a part of the instruction's latency, which counts where one-cycle
 * operations are idealised and bandwidth is not. Along a chain the parts add up to n / width.
 *
 * An instruction waits for the youngest root among its sources, if that is still within the window.
 * Not modelled: slots taken by operations that wait for another root.
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
	s->count = s->reach + 1; /* so that root 0 is out of reach */
}

/* The youngest root among the sources, and the rank there: an entry of chain. */
static uint64_t youngest(const struct slots *s, const struct graph_inst *in)
{
	uint64_t from = 0;
	for (unsigned k = 0; k < GRAPH_SOURCES && in->src[k]; k++) {
		const uint64_t b = s->chain[in->src[k]];
		from = b > from ? b : from;
	}
	return from;
}

void slots_next(struct slots *s, bool timeless, bool slot, struct graph_inst *in)
{
	const uint64_t from = youngest(s, in);
	uint64_t chain = 0;
	const uint32_t i = s->count++;
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
	return (uint32_t)(youngest(s, in) >> 32);
}

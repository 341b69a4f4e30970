/* SPDX-License-Identifier: MIT */
/* Which of the sink's numbers a collector may give to it again. */
#include "collect/collector_int.h"

void collector_hold(const struct collector *c, struct held *h)
{
	maps_hold(c->maps, h);
	for (size_t i = 0; i < c->ntokens; i++) {
		if (c->tokens[i].state < TOKEN_IMAGE)
			continue;
		held_mark(h, HELD_IMAGES, c->tokens[i].place.image);
		held_mark(h, HELD_PROCESSES, c->tokens[i].place.process);
	}
	for (size_t i = 0; i < c->nspaces; i++)
		if (c->spaces[i].found)
			held_mark(h, HELD_PROCESSES, c->spaces[i].sink);
	collector_hold_stacks(c, h);
}

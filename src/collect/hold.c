/* SPDX-License-Identifier: MIT */
/* Which of the sink's numbers a collector may give to it again. */
#include <errno.h>
#include <signal.h>

#include "collect/collector_int.h"

/* Kernel threads may be unknown to the maps. */
static bool has_ended(const struct collector *c, const struct known_space *s)
{
	const int32_t pid = (int32_t)s->process.pid;

	return pid > 0 && !maps_knows(c->maps, pid) && kill(pid, 0) && errno == ESRCH;
}

/* Whoever was gone after a cut has its last counts in the next one. */
void collector_end_spaces(struct collector *c)
{
	if (c->nwaiting || c->nunplaced)
		return;
	for (size_t i = 0; i < c->nspaces; i++) {
		struct known_space *s = &c->spaces[i];

		if (s->found && s->cuts_since < 2 && has_ended(c, s))
			s->cuts_since++;
	}
}

void collector_hold(const struct collector *c, struct held *h)
{
	maps_hold(c->maps, h);
	for (size_t i = 0; i < c->ntokens; i++)
		if (c->tokens[i].state >= TOKEN_IMAGE)
			held_mark(h, HELD_IMAGES, c->tokens[i].place.image);
	for (size_t i = 0; i < c->nspaces; i++)
		if (c->spaces[i].found && c->spaces[i].cuts_since < 2)
			held_mark(h, HELD_PROCESSES, c->spaces[i].sink);
	collector_hold_stacks(c, h);
}

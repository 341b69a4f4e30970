/* SPDX-License-Identifier: MIT */
/* The lines that were touched last, as a list: engine/history.h keeps it up to date. */
#include "guest/engine/history.h"

#include <stdlib.h>

#include "guest/engine/engine.h"
#include "guest/process/process.h"

bool guest_history(struct guest *g)
{
	guest_touched(g);
	return engine_history(g->engine);
}

void guest_history_take(const struct guest *g, struct guest_lines *out)
{
	history_take(engine_history(g->engine), GUEST_LINES_MAX, out);
}

/* Lines as differences, which are alike where memory is walked through, and then take few bytes. */
void guest_lines_state(struct guest_lines *l, struct state *s)
{
	uint32_t before = 0;

	state_mark(s, "lines");
	state_bool(s, &l->all);
	STATE_LIST(s, l->lines, l->count, GUEST_LINES_MAX, line)
	{
		uint32_t step = line->line - before;

		state_u32(s, &step);
		line->line = before += step;
	}
	for (size_t i = 0; i < l->count; i++)
		state_bool(s, &l->lines[i].store);
}

void guest_lines_free(struct guest_lines *l)
{
	free(l->lines);
	l->lines = NULL;
	l->count = 0;
}

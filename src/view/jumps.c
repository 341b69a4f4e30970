/* SPDX-License-Identifier: MIT */
/*
 * Draws arrows. Each direct branch inside the function gets a lane: the innermost one that no
 * overlapping jump has. Short jumps choose first, so they are drawn closest to the code. A jump that
 * finds no lane is left out, and so are all jumps of a function with more than ROWS_MAX rows.
 */
#include "view/jumps.h"

#include <stdlib.h>
#include <string.h>

#include "util/array.h"

#define ROWS_MAX 16384

struct jump {
	size_t from, to; /* rows */
	int lane;	 /* 0 is next to the code; -1: not drawn */
};

struct jumps {
	struct jump *list;
	size_t count;
	int lanes;
	uint32_t (*held)[JUMP_LANES]; /* by row and lane: 1 + the jump that passes there; 0: none */
};

static size_t row_of(const uint64_t *pcs, size_t count, uint64_t pc)
{
	size_t i = ARRAY_SEARCH(count, k, pcs[k] < pc);
	return i < count && pcs[i] == pc ? i : SIZE_MAX;
}

static size_t top(const struct jump *j)
{
	return j->from < j->to ? j->from : j->to;
}

static size_t bottom(const struct jump *j)
{
	return j->from < j->to ? j->to : j->from;
}

static int by_length(const void *a, const void *b)
{
	const struct jump *x = a, *y = b;
	size_t lx = bottom(x) - top(x), ly = bottom(y) - top(y);
	if (lx != ly)
		return lx < ly ? -1 : 1;
	return (x->from > y->from) - (x->from < y->from);
}

static void place(struct jumps *j, size_t index)
{
	struct jump *x = &j->list[index];
	for (x->lane = 0; x->lane < JUMP_LANES; x->lane++) {
		size_t row = top(x);
		while (row <= bottom(x) && !j->held[row][x->lane])
			row++;
		if (row > bottom(x)) {
			for (row = top(x); row <= bottom(x); row++)
				j->held[row][x->lane] = (uint32_t)index + 1;
			if (x->lane + 1 > j->lanes)
				j->lanes = x->lane + 1;
			return;
		}
	}
	x->lane = -1;
}

struct jumps *jumps_new(const uint64_t *pcs, const uint64_t *targets, size_t count)
{
	struct jumps *j = x_calloc(1, sizeof(*j));
	j->list = x_calloc(count, sizeof(*j->list));
	j->held = x_calloc(count, sizeof(*j->held));
	for (size_t i = 0; i < count && count <= ROWS_MAX; i++) {
		if (!targets[i])
			continue;
		size_t to = row_of(pcs, count, targets[i]);
		if (to != SIZE_MAX)
			j->list[j->count++] = (struct jump){ .from = i, .to = to };
	}
	qsort(j->list, j->count, sizeof(*j->list), by_length);
	for (size_t i = 0; i < j->count; i++)
		place(j, i);
	return j;
}

void jumps_free(struct jumps *j)
{
	free(j->list);
	free(j->held);
	free(j);
}

int jumps_lanes(const struct jumps *j)
{
	return j->lanes;
}

/* The jumps that pass a row, short ones first. */
static int jumps_at(const struct jumps *j, size_t row, uint32_t here[JUMP_LANES])
{
	int n = 0;
	for (int lane = 0; lane < j->lanes; lane++) {
		const uint32_t jump = j->held[row][lane];
		int at = n;
		if (!jump)
			continue;
		for (; at && here[at - 1] > jump; at--)
			here[at] = here[at - 1];
		here[at] = jump;
		n++;
	}
	return n;
}

char *jumps_draw(const struct jumps *j, size_t index, int at_inst, char *buf)
{
	const char *cell[JUMP_LANES + 1];
	int columns = j->lanes + 1;
	for (int i = 0; i < columns; i++)
		cell[i] = " ";
	uint32_t here[JUMP_LANES];
	int passing = jumps_at(j, index, here);
	for (int i = 0; i < passing; i++) {
		const struct jump *x = &j->list[here[i] - 1];
		int column = j->lanes - 1 - x->lane;
		bool end = index == x->from || index == x->to;
		if (!at_inst || !end) {
			/* between instructions the line passes, unless it ended in the row above */
			if (at_inst || index > top(x))
				if (!strcmp(cell[column], " "))
					cell[column] = "│";
			if (!at_inst && index == top(x))
				continue;
			/* cppcheck-suppress identicalInnerCondition ; it is not the one above */
			if (!end || !at_inst)
				continue;
		}
		cell[column] = index == top(x) ? "╭" : "╰";
		for (int k = column + 1; k < columns - 1; k++)
			if (!strcmp(cell[k], " "))
				cell[k] = "─";
		cell[columns - 1] = index == x->to		     ? "▶"
				    : strcmp(cell[columns - 1], "▶") ? "─"
								     : "▶";
	}
	buf[0] = '\0';
	for (int i = 0; i < columns; i++)
		strcat(buf, cell[i]);
	return buf;
}

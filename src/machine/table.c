/* SPDX-License-Identifier: MIT */
/*
 * The table of a machine file: what a paper says of its machine, row by row, what the file makes of it,
 * and why. Rows are comments of the file, so a machine and its table cannot be separated:
 *
 *	;| part | the paper | section.key = value, … | why
 *
 * The first row is the heading. An empty first cell continues the part above; the paper's cell is "-" where
 * its table says nothing. A table belongs to its file alone: a machine that has another as its base repeats
 * what it keeps. The loader does not read tables; a test compares them with the machines.
 */
#include "machine/machine.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "util/inifile.h"

#define MARK ";|"

/* The text of a machine file; *owned: the caller frees it. NULL: there is no such machine. */
static char *text_of(const char *name_or_path, bool *owned, struct err *e)
{
	*owned = false;
	for (size_t i = 0; i < machine_files_count; i++)
		if (!strcmp(machine_files[i].name, name_or_path))
			return (char *)machine_files[i].text;
	*owned = true;
	return inifile_text(name_or_path, e);
}

/* Cuts the next cell off a row, without the spaces around it; an empty one at the end of the row. */
static char *next_cell(char **row)
{
	char *cell = *row + strspn(*row, " \t"), *end = strchr(cell, '|');

	*row = end ? end + 1 : cell + strlen(cell);
	if (end)
		*end = 0;
	else
		end = *row;
	while (end > cell && isspace((unsigned char)end[-1]))
		*--end = 0;
	return cell;
}

bool machine_table(const char *name_or_path, machine_row_take *take, void *ctx, struct err *e)
{
	bool owned, ok = true;
	char *text = text_of(name_or_path, &owned, e);

	if (!text)
		return false;
	for (const char *line = text; ok && *line;) {
		const size_t n = strcspn(line, "\n");

		if (!strncmp(line, MARK, strlen(MARK))) {
			char *row = x_strndup(line, n), *at = row + strlen(MARK);
			struct machine_row r;

			r.part = next_cell(&at);
			r.paper = next_cell(&at);
			r.ours = next_cell(&at);
			r.why = next_cell(&at);
			ok = take(ctx, &r, e);
			free(row);
		}
		line += n + (line[n] == '\n');
	}
	if (owned)
		free(text);
	return ok;
}

static bool print_row(void *ctx, const struct machine_row *r, struct err *e)
{
	(void)e;
	fprintf(ctx, MARK " %-9s | %-32s | %s%s%s\n", r->part, r->paper, r->ours,
		*r->why ? " | " : "", r->why);
	return true;
}

bool machine_print_table(const char *name_or_path, FILE *f, struct err *e)
{
	return machine_table(name_or_path, print_row, f, e);
}

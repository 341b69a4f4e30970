/* SPDX-License-Identifier: MIT */
/*
 * Shows which parts of the machine could be smaller for nothing, and which would help if they were larger:
 *
 *      Parts                              size   twice   smallest   costs   below   costs
 *        rob          reorder buffer       128    -3.2         96    +0.4      64    +2.1
 *        …
 *      Without a limit
 *        fetch_bw     fetch and decode …          -5.8
 */
#include "view/resources.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"

static int resource_of(const char *name)
{
	for (int k = 0; k < RESOURCES; k++)
		if (!strcmp(words_resources[k].name, name))
			return k;
	return -1;
}

static int by_part(const void *a, const void *b)
{
	const struct resource_row *x = a, *y = b;

	if (x->what != y->what)
		return x->what < y->what ? -1 : 1;
	return (x->size < y->size) - (x->size > y->size);
}

bool resources_read(struct store *s, struct resource_model *m, struct err *e)
{
	*m = (struct resource_model){ .cycles = model_run_number(s, "cycles", 0),
				      .error = model_run_number(s, "resources_error", 0),
				      .sampled = model_run_number(s, "resources_sampled", 0) };
	struct store_rows r =
	    store_query(s, "SELECT name, size, real, settings, cycles FROM resource", "");

	while (store_next(&r)) {
		const int what = resource_of(store_shown(&r, 0));
		struct resource_row row = { .what = (unsigned)what,
					    .size = store_int(&r, 1),
					    .real = store_int(&r, 2),
					    .cycles = store_double(&r, 4) };

		if (what < 0)
			continue;
		snprintf(row.name, sizeof(row.name), "%s", words_resources[what].name);
		row.settings = x_strdup(store_shown(&r, 3));
		*ARRAY_ADD(m->rows, m->count) = row;
	}
	if (m->count)
		qsort(m->rows, m->count, sizeof(*m->rows), by_part);
	return store_done(&r, e);
}

void resources_free(struct resource_model *m)
{
	for (size_t i = 0; i < m->count; i++)
		free(m->rows[i].settings);
	free(m->rows);
}

static struct resource_row *row_at(struct resource_model *m, const char *name, int64_t size)
{
	for (size_t i = 0; i < m->count; i++)
		if (!strcmp(m->rows[i].name, name) && m->rows[i].size == size)
			return &m->rows[i];
	return NULL;
}

static bool find_failed(const struct resource_model *m, const char *text, const char *name,
			struct err *e)
{
	char sizes[300] = "";
	size_t used = 0;

	for (size_t i = 0; i < m->count && used < sizeof(sizes); i++)
		if (!strcmp(m->rows[i].name, name))
			used += (size_t)snprintf(sizes + used, sizeof(sizes) - used, "%s%lld",
						 used ? ", " : "", (long long)m->rows[i].size);
	if (!m->count)
		return err_set(
		    e,
		    "'%s' is of a part of the machine, and the profile has none: run with "
		    "--analyze icost,resources",
		    text);
	if (used)
		return err_set(e, "'%s': of %s these sizes were tried: %s", text, name, sizes);
	return err_set(e,
		       "'%s': the machine has no part '%s', or no other size of it was tried; "
		       "`culprit list resources` has all",
		       text, name);
}

struct resource_row *resources_find(struct resource_model *m, const char *text, struct err *e)
{
	char name[64];
	const size_t n = strcspn(text, "*=");
	struct resource_row *found = NULL;

	snprintf(name, sizeof(name), "%.*s", (int)(n < sizeof(name) ? n : sizeof(name) - 1), text);
	if (!text[n])
		found = row_at(m, name, 0);
	else if (!strcmp(text + n, "*2"))
		found = resources_twice(m, name);
	else if (text[n] == '=' && text[n + 1])
		found = row_at(m, name, strtoll(text + n + 1, NULL, 10));
	if (!found)
		find_failed(m, text, name, e);
	return found;
}

struct resource_row *resources_twice(struct resource_model *m, const char *name)
{
	for (size_t i = 0; i < m->count; i++)
		if (!strcmp(m->rows[i].name, name) && m->rows[i].size > m->rows[i].real)
			return &m->rows[i];
	return NULL;
}

struct resource_row *resources_smallest(struct resource_model *m, const char *name, double most)
{
	struct resource_row *found = NULL;

	for (size_t i = 0; i < m->count; i++) {
		struct resource_row *r = &m->rows[i];

		if (strcmp(r->name, name) || r->size >= r->real || !r->size)
			continue;
		if (r->cycles > most)
			break;
		found = r;
	}
	return found;
}

struct resource_row *resources_below(struct resource_model *m, const char *name, int64_t size)
{
	for (size_t i = 0; i < m->count; i++)
		if (!strcmp(m->rows[i].name, name) && m->rows[i].size < size)
			return &m->rows[i];
	return NULL;
}

/* ---- the document ---- */

static bool any_verified(const struct resource_model *m)
{
	for (size_t i = 0; i < m->count; i++)
		if (m->rows[i].verified)
			return true;
	return false;
}

static void put_change(struct doc_table *t, const struct resource_model *m,
		       const struct resource_row *r)
{
	CELL_REAL_IF(t, r, 100 * r->cycles / m->cycles);
	CELL_REAL_IF(t, r && r->verified, 100 * r->simulated / m->cycles);
}

static void put_size(struct doc_table *t, const struct resource_row *r)
{
	if (r)
		cell_integer(t, r->size);
	else
		cell_none(t);
}

static void add_parts(struct doc *d, struct resource_model *m, double percent)
{
	const int simulated = any_verified(m) ? 7 : 0;
	const struct doc_column columns[] = {
		{ .head = "Part", .before = "  ", .width = -12 },
		{ .width = -24 },
		{ DOC_SHOWN("size", "%.0f", 8) },
		{ DOC_SHOWN("twice", "%+.2f", 8) },
		{ DOC_SHOWN("(sim.)", "%+.2f", simulated) },
		{ DOC_SHOWN("smallest", "%.0f", 9) },
		{ DOC_SHOWN("costs", "%+.2f", 7) },
		{ DOC_SHOWN("(sim.)", "%+.2f", simulated) },
		{ DOC_SHOWN("below", "%.0f", 7) },
		{ DOC_SHOWN("costs", "%+.2f", 7) },
		{ DOC_SHOWN("(sim.)", "%+.2f", simulated) },
	};

	doc_heading(d, "Parts of another size (%% of the cycles; smallest: for at most %g%% more)",
		    percent);
	struct doc_table *t = DOC_TABLE(d, columns, .heads = true);

	for (unsigned what = 0; what < RESOURCES; what++) {
		const char *name = words_resources[what].name;
		const struct resource_row *twice = resources_twice(m, name),
					  *least = resources_smallest(m, name,
								      percent / 100 * m->cycles),
					  *any = resources_below(m, name, INT64_MAX);

		if (!any || resource_params[what].kind == RESOURCE_IS_LIMIT)
			continue;
		const struct resource_row *below =
		    resources_below(m, name, least ? least->size : any->real);
		doc_row(t);
		cell_text(t, name);
		cell_text(t, words_resources[what].meaning);
		cell_integer(t, any->real);
		put_change(t, m, twice);
		put_size(t, least);
		put_change(t, m, least);
		put_size(t, below);
		put_change(t, m, below);
	}
}

static void add_limits(struct doc *d, const struct resource_model *m)
{
	const struct doc_column columns[] = {
		{ .head = "Limit", .before = "  ", .width = -12 },
		{ .width = -33 },
		{ DOC_SHOWN("without", "%+.2f", 8) },
		{ DOC_SHOWN("(sim.)", "%+.2f", any_verified(m) ? 7 : 0) },
	};

	doc_heading(d, "Without one of the limits (%% of the cycles)");
	struct doc_table *t = DOC_TABLE(d, columns, .heads = true);

	for (size_t i = 0; i < m->count; i++) {
		const struct resource_row *r = &m->rows[i];

		if (r->size)
			continue;
		doc_row(t);
		cell_text(t, r->name);
		cell_text(t, words_resources[r->what].meaning);
		put_change(t, m, r);
	}
}

/* For JSON and CSV: all that was tried. */
static void add_all(struct doc *d, const struct resource_model *m)
{
	static const struct doc_column columns[] = {
		{ DOC_DATA("part") },	   { DOC_DATA("size") },   { DOC_DATA("real") },
		{ DOC_DATA("settings") },  { DOC_DATA("cycles") }, { DOC_DATA("share") },
		{ DOC_DATA("simulated") },
	};
	struct doc_table *t = DOC_TABLE(d, columns, .key = "resources");

	for (size_t i = 0; i < m->count; i++) {
		const struct resource_row *r = &m->rows[i];

		doc_row(t);
		cell_text(t, r->name);
		cell_integer(t, r->size);
		cell_integer(t, r->real);
		cell_text(t, r->settings);
		cell_real(t, r->cycles);
		cell_real(t, r->cycles / m->cycles);
		CELL_REAL_IF(t, r->verified, r->simulated);
	}
}

bool view_resources(struct store *s, const struct view_options *o, struct resource_model *m,
		    double percent, struct err *e)
{
	struct doc *d = doc_new();
	char program[MODEL_PROGRAM], machine[MODEL_MACHINE];

	model_run_names(s, program, machine);
	model_title(d, program, machine, model_run_number(s, "instructions", 0), m->cycles,
		    "; the graph is off by %+.3f%% in the %.0f%% of the run that it looked at",
		    100 * m->error, 100 * m->sampled);
	doc_text(d, "program", program);
	doc_text(d, "machine", machine);
	doc_real(d, "cycles", m->cycles);
	doc_real(d, "within_percent", percent);
	add_parts(d, m, percent);
	add_limits(d, m);
	add_all(d, m);
	const bool ok = doc_print(d, o, e);

	doc_free(d);
	return ok;
}

/* SPDX-License-Identifier: MIT */
/*
 * Time by phase and function, for the page: {"cycles":[…],"instructions":[…],"rows":[…],"fn":[…],"set":[…],
 * "category":[…],"time":[…],"sets":[…]}. The first three have an element for each phase; rows: how many elements of the
 * others are its. fn: id of the function; set: which of `sets`; category: which of the page's cycle_stack. null without
 * phases.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "util/array.h"
#include "view/html.h"
#include "view/html_phases.h"

enum { FN, SET, CATEGORY, TIME, COLUMNS };
static const char *const names[COLUMNS] = { "fn", "set", "category", "time" };

struct row {
	int64_t fn, category;
	unsigned set;
	double cycles;
};

struct phase_rows {
	struct row *list;
	size_t count;
	size_t *of; /* rows by phase */
	size_t nphases;
};

/* Categories without a name are left out of the stack. */
static int64_t place_of(const struct model *m, int64_t category)
{
	int64_t place = 0;

	for (int64_t c = 0; c < category; c++)
		place += m->category_name[c] != NULL;
	return place;
}

static bool read_rows(struct store *s, const struct model *m, struct phase_rows *p, struct err *e)
{
	struct store_rows r = store_query(
	    s,
	    "SELECT phase, coalesce(function, -1), events, category, sum(units) FROM "
	    "golden_phase_function LEFT JOIN instruction USING (pc) GROUP BY 1, 2, 3, 4 "
	    "ORDER BY 1, 2, 3, 4",
	    "");

	while (store_next(&r)) {
		const uint64_t phase = (uint64_t)store_int(&r, 0);
		const int64_t category = store_int(&r, 3);

		if (phase >= p->nphases || category < 0 || category >= MODEL_CATEGORIES ||
		    !m->category_name[category])
			continue;
		*ARRAY_ADD(p->list, p->count) = (struct row){
			.fn = store_int(&r, 1),
			.set = (unsigned)store_int(&r, 2) & ((1u << MODEL_EVENTS) - 1),
			.category = place_of(m, category),
			.cycles = store_double(&r, 4) / m->scale,
		};
		p->of[phase]++;
	}
	return store_done(&r, e);
}

/* A set of events has the number of its first row. */
static void put_rows(FILE *f, const struct model *m, const struct phase_rows *p)
{
	unsigned *number = x_calloc((size_t)1 << MODEL_EVENTS, sizeof(*number));
	unsigned *sets = x_calloc(p->count + 1, sizeof(*sets)), nsets = 0;

	for (size_t i = 0; i < p->count; i++)
		if (!number[p->list[i].set]) {
			sets[nsets++] = p->list[i].set;
			number[p->list[i].set] = nsets;
		}
	fputs(",\"rows\":[", f);
	for (size_t i = 0; i < p->nphases; i++)
		fprintf(f, "%s%zu", i ? "," : "", p->of[i]);
	for (int c = 0; c < COLUMNS; c++) {
		fprintf(f, "],\n\"%s\":[", names[c]);
		for (size_t i = 0; i < p->count; i++) {
			fputs(i ? "," : "", f);
			if (c == TIME)
				html_put_real(f, p->list[i].cycles);
			else
				fprintf(f, "%" PRId64,
					c == FN	   ? p->list[i].fn
					: c == SET ? (int64_t)number[p->list[i].set] - 1
						   : p->list[i].category);
		}
	}
	fputs("],\n\"sets\":[", f);
	for (unsigned i = 0; i < nsets; i++) {
		char name[128];

		fputs(i ? "," : "", f);
		html_put_text(f, model_events(m, sets[i], name, sizeof(name)), SIZE_MAX);
	}
	fputs("]", f);
	free(sets);
	free(number);
}

bool html_put_phases(FILE *f, struct store *s, const struct model *m, struct err *e)
{
	struct phase_rows p = { .nphases = (size_t)store_number(
				    s, "SELECT count(*) FROM golden_phase", 0) };
	static const char *const columns[] = { "cycles", "instructions" };

	if (!p.nphases) {
		fputs("\"phases\":null,\n", f);
		return true;
	}
	fputs("\"phases\":{", f);
	for (size_t c = 0; c < ARRAY_LEN(columns); c++) {
		char *sql = x_asprintf("SELECT %s FROM golden_phase ORDER BY phase", columns[c]);
		struct store_rows r = store_query(s, sql, "");

		free(sql);
		fprintf(f, "%s\"%s\":[", c ? "]," : "", columns[c]);
		for (size_t n = 0; store_next(&r); n++)
			fprintf(f, "%s%" PRId64, n ? "," : "", store_int(&r, 0));
		if (!store_done(&r, e))
			return false;
	}
	fputs("]", f);
	p.of = x_calloc(p.nphases, sizeof(*p.of));
	const bool ok = read_rows(s, m, &p, e);

	put_rows(f, m, &p);
	fputs("},\n", f);
	free(p.list);
	free(p.of);
	return ok;
}

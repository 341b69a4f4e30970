/* SPDX-License-Identifier: MIT */
/* Collects the addresses that the analyses of a run have times for, and has them named. */
#include "analysis/symbolise.h"

#include <stdlib.h>

#include "names/names.h"
#include "trace/analysis.h"
#include "util/array.h"

/* The query for all rows of the tables that analyses declare, with their times. */
static char *select_pcs(void)
{
	char *sql = x_strdup("");
	for (size_t i = 0; analysis_list[i]; i++)
		for (const struct analysis_table *t = analysis_list[i]->tables; t && t->name; t++) {
			char *longer =
			    x_asprintf("%s%sSELECT pc, %s FROM %s", sql, *sql ? " UNION ALL " : "",
				       t->time ? t->time : "0", t->name);
			free(sql);
			sql = longer;
		}
	return sql;
}

/* Reads all addresses and times. They are sorted later, because the tables are already sorted runs:
 * SQLite's GROUP BY took a fifth of the time after the last record. */
static struct names_pc *read_pcs(struct store *store, size_t *count, uint64_t *total, struct err *e)
{
	struct names_pc *all = x_malloc(sizeof(*all));
	size_t capacity = 1, n = 0;
	char *sql = select_pcs();
	struct store_rows r = store_query(store, sql, "");
	*total = 0;
	while (store_next(&r)) {
		ARRAY_ROOM(all, capacity, n + 1);
		all[n] = (struct names_pc){ (uint64_t)store_int(&r, 0), store_int(&r, 1) };
		*total += all[n].pc ? (uint64_t)all[n].units : 0;
		n += all[n].pc != 0;
	}
	free(sql);
	*count = n;
	if (store_done(&r, e))
		return all;
	free(all);
	return NULL;
}

bool symbolise(struct store *store, struct images *images, bool (*stop)(void), struct err *e)
{
	/* whatever has samples for calc, or their truth, is read with graphs, and so are pooled samples */
	const int64_t calc = store_number(store,
					  "SELECT EXISTS (SELECT 1 FROM calc_sample) OR EXISTS"
					  " (SELECT 1 FROM calc_commit) OR EXISTS"
					  " (SELECT 1 FROM calc_truth) OR EXISTS"
					  " (SELECT 1 FROM run WHERE key = 'pooled')",
					  0);
	struct names_options o = { .stop = stop, .graphs_from = calc ? 0 : -1 };
	size_t count;
	struct names_pc *pcs = read_pcs(store, &count, &o.total, e);
	if (!pcs)
		return false;
	struct names *n = names_new(store, &o);
	const bool ok =
	    names_put_images(store, images, 0, e) && names_add(n, images, 0, pcs, count, e);
	names_free(n);
	free(pcs);
	return ok;
}

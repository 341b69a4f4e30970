/* SPDX-License-Identifier: MIT */
/* Collects the addresses that the analyses of a run have times for, and has them named. */
#include "analysis/symbolise.h"

#include <stdlib.h>
#include <string.h>

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

/* Whatever has samples for calc, or their truth, is read with graphs, and so are pooled samples. */
static bool wants_graphs(struct store *store)
{
	return store_number(store,
			    "SELECT EXISTS (SELECT 1 FROM calc_sample) OR EXISTS"
			    " (SELECT 1 FROM calc_commit) OR EXISTS"
			    " (SELECT 1 FROM calc_truth) OR EXISTS"
			    " (SELECT 1 FROM run WHERE key = 'pooled')",
			    0);
}

bool symbolise(struct store *store, struct images *images, bool (*stop)(void), struct err *e)
{
	struct names_options o = { .stop = stop, .graphs_from = wants_graphs(store) ? 0 : -1 };
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

/* ---- anew ---- */

/* The addresses of [start, end) that any table has, and their times. Tables of names are none of them: they may
 * have instructions that were not executed. */
static struct names_pc *pcs_between(struct store *store, uint64_t start, uint64_t end,
				    size_t *count, struct err *e)
{
	struct names_pc *all = x_malloc(sizeof(*all));
	size_t capacity = 1, n = 0;
	bool ok = true;
	struct store_rows tables = store_query(
	    store,
	    "SELECT format('SELECT pc, %s FROM \"%w\" WHERE pc >= ?1 AND pc < ?2', CASE m.name WHEN"
	    " 'golden' THEN 'units' WHEN 'live_count' THEN 'count' ELSE '0' END, m.name) FROM"
	    " sqlite_master m WHERE m.type = 'table' AND m.name NOT IN ('instruction', 'inlined',"
	    " 'live_jump') AND EXISTS (SELECT 1 FROM pragma_table_info(m.name) c WHERE c.name = "
	    "'pc')"
	    " ORDER BY m.name",
	    "");

	while (ok && store_next(&tables)) {
		struct store_rows r =
		    store_query(store, store_text(&tables, 0), "ii", (int64_t)start, (int64_t)end);

		for (; store_next(&r); n++) {
			ARRAY_ROOM(all, capacity, n + 1);
			all[n] = (struct names_pc){ (uint64_t)store_int(&r, 0), store_int(&r, 1) };
		}
		ok = store_done(&r, e);
	}
	*count = n;
	if (store_done(&tables, ok ? e : NULL) && ok)
		return all;
	free(all);
	return NULL;
}

static bool change(struct store *store, const char *sql, int64_t image, struct err *e)
{
	struct store_rows r = store_query(store, sql, strstr(sql, "?1") ? "i" : "", image);

	store_next(&r);
	return store_done(&r, e);
}

/* Takes the names of an image away. Its functions' rows, by start, are the caller's to free. */
static bool forget(struct store *store, int64_t image, struct names_row **rows, size_t *count,
		   struct err *e)
{
#define OF_IMAGE "function IN (SELECT id FROM function WHERE image = ?1)"
	static const char *const gone[] = {
		"DELETE FROM inlined WHERE pc IN (SELECT pc FROM instruction WHERE " OF_IMAGE ")",
		"DELETE FROM live_jump WHERE pc IN (SELECT pc FROM instruction WHERE " OF_IMAGE ")",
		"DELETE FROM instruction WHERE " OF_IMAGE,
		"DELETE FROM block WHERE " OF_IMAGE,
		"DELETE FROM graph_code WHERE " OF_IMAGE,
		"DELETE FROM graph_block WHERE " OF_IMAGE,
		"DELETE FROM graph_edge WHERE " OF_IMAGE,
		"DELETE FROM graph_function WHERE " OF_IMAGE,
		"DELETE FROM function WHERE image = ?1",
	};
#undef OF_IMAGE
	struct store_rows r = store_query(
	    store, "SELECT start, id FROM function WHERE image = ?1 ORDER BY start", "i", image);

	*rows = NULL;
	*count = 0;
	while (store_next(&r))
		*ARRAY_ADD(*rows, *count) =
		    (struct names_row){ (uint64_t)store_int(&r, 0), store_int(&r, 1) };
	bool ok = store_done(&r, e);

	for (size_t i = 0; ok && i < ARRAY_LEN(gone); i++)
		ok = change(store, gone[i], image, e);
	return ok;
}

bool symbolise_again(struct store *store, struct images *images, int64_t image, struct err *e)
{
	const struct image_info in = images_info(images, 0);
	const bool live = store_number(store, "SELECT EXISTS (SELECT 1 FROM live_event)", 0);
	struct names_options o = {
		.total = (uint64_t)store_number(
		    store,
		    "SELECT total(units) + (SELECT total(count) FROM live_count) FROM golden", 0),
		.graphs_from = wants_graphs(store) ? 0 : -1,
		.jumps = live,
		.first_function = store_number(store, "SELECT max(id) FROM function", 0) + 1,
		.first_block = store_number(store, "SELECT max(id) FROM block", 0) + 1,
	};
	size_t count;
	struct names_pc *pcs = pcs_between(store, in.start, in.end, &count, e);
	struct names_row *rows = NULL;
	bool ok = pcs && change(store, "BEGIN", 0, e) && forget(store, image, &rows, &o.nkept, e);

	if (live)
		images_show_own_addresses(images);
	o.kept = rows;
	struct names *n = names_new(store, &o);

	/* what was estimated for a function that is now several is of none of them */
	ok = ok && names_add(n, images, image, pcs, count, e) &&
	     change(store,
		    "DELETE FROM point_function WHERE function NOT IN (SELECT id FROM function)", 0,
		    e) &&
	     change(store,
		    "DELETE FROM estimate WHERE what = 'function' AND item NOT IN (SELECT id FROM"
		    " function)",
		    0, e) &&
	     change(store, "UPDATE live_image SET names = 'file' WHERE id = ?1", image, e) &&
	     change(store, "COMMIT", 0, e);
	names_free(n);
	free(rows);
	free(pcs);
	return ok;
}

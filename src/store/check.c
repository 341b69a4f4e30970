/* SPDX-License-Identifier: MIT */
/*
 * A profile that somebody sent may hold anything. Views are written for what culprit writes: these
 * tables, numbers that are numbers, counts whose sums fit into 63 bits. That is checked once, when
 * a profile is opened, so that no view needs to.
 */
#include "store/check.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_MOST "4611686018427387904" /* 2^62: of one value and of a column's sum */
#define SMALL_MOST "2147483647"		 /* of numbers that name something */
#define REAL_MOST  "1e18"
#define TEXT_MOST  "1000000" /* characters */

/* Columns of integers that are not just small numbers. What a method counts may be less than
 * nothing: it is what is left when its other components are taken away. */
static const char *const addresses[] = { "pc",	 "pc_a", "pc_b",   "start",	"end",
					 "bias", "word", "events", "categories" };
/* clang-format off */
static const char *const counts[] = {
	"units", "executions", "cycles", "samples", "count", "length", "period", "fetched",
	"committed", "value", "instructions", "sample_bytes", "scale", "misses", "wrong", "queue",
	"merged", "used", "level0", "level1", "level2", "cost", "net", "clusters", "sum", "median",
	"low", "high", "overlapped", "zero", "net_overlapped", "net_zero", "isolated", "hidden",
	"sizes", "even", "exposed", "serial", "overlapped_cycles", "serial_cycles",
};
/* clang-format on */
/* Texts that may be absent. */
static const char *const optional[] = { "file", "disasm", "class", "build_id" };

static bool is_among(const char *name, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(name, list[i]))
			return true;
	return false;
}
#define AMONG(name, list) is_among(name, list, ARRAY_LEN(list))

/* The schema of a new store, in memory. */
static sqlite3 *pattern(void)
{
	sqlite3 *db;
	if (sqlite3_open(":memory:", &db) != SQLITE_OK ||
	    sqlite3_exec(db, store_schema, NULL, NULL, NULL) != SQLITE_OK)
		die("out of memory");
	return db;
}

bool store_check_schema(struct store *s, struct err *e)
{
	static const char query[] = "SELECT type, name, tbl_name, coalesce(sql, '') "
				    "FROM sqlite_master ORDER BY type, name";
	sqlite3 *db = pattern();
	sqlite3_stmt *want;
	struct store_rows have = store_query(s, query, "");
	bool same = sqlite3_prepare_v2(db, query, -1, &want, NULL) == SQLITE_OK;
	for (bool more = true; same && more;) {
		more = sqlite3_step(want) == SQLITE_ROW;
		same = store_next(&have) == more;
		for (int i = 0; same && more && i < 4; i++) {
			const char *text = store_text(&have, i);
			same = text && !strcmp(text, (const char *)sqlite3_column_text(want, i));
		}
	}
	sqlite3_finalize(want);
	sqlite3_close(db);
	same = store_done(&have, NULL) && same;
	return same || err_set(e,
			       "%s does not have the tables of a profile, or has others; it is "
			       "damaged, or something else wrote it",
			       store_path(s));
}

/* Adds to a query what makes a value of that column a bad one. */
static void add_column(char *sql, size_t size, const char *plain, const char *type)
{
	char name[64];
	size_t n = strlen(sql);
	snprintf(name, sizeof(name), "\"%s\"", plain);
	if (!strcmp(type, "INTEGER") && AMONG(plain, addresses))
		snprintf(sql + n, size - n, " OR typeof(%s) NOT IN ('integer','null')", name);
	else if (!strcmp(type, "INTEGER"))
		snprintf(sql + n, size - n,
			 " OR typeof(%s) NOT IN ('integer','null') OR %s NOT BETWEEN -%s AND %s",
			 name, name, AMONG(plain, counts) ? COUNT_MOST : "1",
			 AMONG(plain, counts) ? COUNT_MOST : SMALL_MOST);
	else if (!strcmp(type, "REAL"))
		snprintf(sql + n, size - n,
			 " OR typeof(%s) NOT IN ('real','integer','null') OR abs(%s) > " REAL_MOST,
			 name, name);
	else if (!strcmp(type, "TEXT"))
		snprintf(sql + n, size - n,
			 " OR typeof(%s) NOT IN ('text'%s) OR length(%s) > " TEXT_MOST, name,
			 AMONG(plain, optional) ? ",'null'" : "", name);
	else /* of table run: whatever a run has to say; the seed is any number */
		snprintf(sql + n, size - n,
			 " OR typeof(%s) = 'blob' OR (typeof(%s) IN ('integer','real')"
			 " AND key <> 'seed' AND %s NOT BETWEEN -" REAL_MOST " AND " COUNT_MOST ")",
			 name, name, name);
}

static bool refuse(const struct store *s, const char *table, struct err *e)
{
	return err_set(e,
		       "%s: table %s holds what no run can have measured; it is damaged, or "
		       "something else wrote it",
		       store_path(s), table);
}

static bool check_table(struct store *s, sqlite3 *db, const char *table, struct err *e)
{
	char bad[4096] = "", sums[1024] = "", *sql;
	sqlite3_stmt *columns;
	sql = x_asprintf("SELECT name, type FROM pragma_table_info('%s')", table);
	bool ok = sqlite3_prepare_v2(db, sql, -1, &columns, NULL) == SQLITE_OK;
	free(sql);
	while (ok && sqlite3_step(columns) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(columns, 0);
		const char *type = (const char *)sqlite3_column_text(columns, 1);
		size_t n = strlen(sums);
		add_column(bad, sizeof(bad), name, type);
		if (!strcmp(type, "INTEGER") && AMONG(name, counts))
			snprintf(sums + n, sizeof(sums) - n, " OR total(abs(\"%s\")) > " COUNT_MOST,
				 name);
	}
	sqlite3_finalize(columns);
	sql = x_asprintf("SELECT total(0%s) > 0%s FROM %s", bad, sums, table);
	struct store_rows r = store_query(s, sql, "");
	ok = ok && store_next(&r) && !store_int(&r, 0);
	free(sql);
	ok = store_done(&r, NULL) && ok;
	return ok || refuse(s, table, e);
}

/* Numbers by which readers make room, or go through pairs: a run counts them, from 0 on. */
static bool check_dense(struct store *s, struct err *e)
{
	static const struct {
		const char *table, *bad;
	} all[] = {
		{ "sample_group", "max(id) > 16 * count(*) + 64 OR max(position) >= 64" },
		{ "cpi_phase", "max(phase) > 16 * count(*) + 64" },
		{ "icost_phase", "max(phase) > 16 * count(*) + 64" },
		{ "category", "max(id) >= 64" },
		{ "event", "max(bit) >= 64" },
		{ "spectrum_load", "max(id) > 16 * count(*) + 64" },
	};
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		char *sql = x_asprintf("SELECT coalesce(%s, 0) FROM %s", all[i].bad, all[i].table);
		int64_t bad = store_number(s, sql, 1);
		free(sql);
		if (bad)
			return refuse(s, all[i].table, e);
	}
	return true;
}

bool store_check_values(struct store *s, struct err *e)
{
	sqlite3 *db = pattern();
	sqlite3_stmt *tables;
	bool ok = sqlite3_prepare_v2(db, "SELECT name FROM sqlite_master WHERE type = 'table'", -1,
				     &tables, NULL) == SQLITE_OK;
	while (ok && sqlite3_step(tables) == SQLITE_ROW)
		ok = check_table(s, db, (const char *)sqlite3_column_text(tables, 0), e);
	sqlite3_finalize(tables);
	sqlite3_close(db);
	return ok && check_dense(s, e);
}

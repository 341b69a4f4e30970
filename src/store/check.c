/* SPDX-License-Identifier: MIT */
/*
 * Checks a profile once, when it is opened, so that no view needs to: one that somebody sent may
 * hold anything, but views are written for what culprit writes: these tables, numbers that are
 * numbers, counts whose sums fit into 63 bits.
 */
#include "store/check.h"

#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_MOST_INT ((int64_t)1 << 62) /* the largest value */
#define COUNT_MOST     0x1p62		  /* the same, and the largest sum of a column */
#define SMALL_MOST     2147483647	  /* the largest of other numbers: ids, lines */
#define REAL_MOST      1e18
#define TEXT_MOST      1000000	/* characters */
#define BLOB_MOST      67108864 /* bytes: the code of a function */
#define COLUMNS_MOST   64

/* Integer columns that may hold large numbers. A method's count may be negative, if it is what
 * remains after its other components are subtracted. */
static const char *const addresses[] = { "pc",	    "pc_a",   "pc_b",	  "start",	"end",
					 "bias",    "word",   "events",	  "categories", "target",
					 "address", "dev",    "ino",	  "start_ns",	"mtime_ns",
					 "source",  "callee", "producer", "other",	"item" };
/* clang-format off */
static const char *const counts[] = {
	"units", "executions", "cycles", "samples", "count", "length", "period", "fetched",
	"committed", "value", "instructions", "sample_bytes", "scale", "misses", "wrong", "queue",
	"merged", "used", "level0", "level1", "level2", "cost", "net", "clusters", "sum", "median",
	"low", "high", "overlapped", "zero", "net_overlapped", "net_zero", "isolated", "hidden",
	"sizes", "even", "exposed", "serial", "overlapped_cycles", "serial_cycles", "begin", "infimum",
	"supremum", "last", "last_commit", "taken", "stored", "lost", "pending", "unknown", "not_taken",
	"uid", "exec_id", "size_bytes", "occurred", "issued", "commits", "head", "stands_for", "intervals",
	"fast_forward", "warm", "settle", "penalty", "resolution", "beside", "curves", "blocked", "ready",
	"waits",
};
/* clang-format on */
/* Text columns that may be NULL. */
static const char *const optional[] = { "file", "disasm", "class", "build_id" };

static bool is_among(const char *name, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(name, list[i]))
			return true;
	return false;
}
#define AMONG(name, list) is_among(name, list, ARRAY_LEN(list))

/* The tables of a version, in memory. */
static sqlite3 *pattern(int version)
{
	sqlite3 *db;
	bool ok = sqlite3_open(":memory:", &db) == SQLITE_OK;
	for (int v = 1; v <= version; v++)
		ok = ok && sqlite3_exec(db, store_versions[v], NULL, NULL, NULL) == SQLITE_OK;
	if (!ok)
		die("out of memory");
	return db;
}

/* A statement that finds an object of a pattern; NULL: none can be made. */
static sqlite3_stmt *finder(sqlite3 *db)
{
	sqlite3_stmt *stmt = NULL;
	sqlite3_prepare_v2(db,
			   "SELECT 1 FROM sqlite_master WHERE type = ?1 AND name = ?2 AND "
			   "tbl_name = ?3 AND coalesce(sql, '') = ?4",
			   -1, &stmt, NULL);
	return stmt;
}

/* Whether the pattern has an object just like the one that `have` is at. */
static bool is_like(sqlite3_stmt *same, const struct store_rows *have)
{
	bool ok = same;
	for (int i = 0; ok && i < 4; i++)
		ok = sqlite3_bind_text(same, i + 1, store_text(have, i), -1, SQLITE_STATIC) ==
		     SQLITE_OK;
	ok = ok && sqlite3_step(same) == SQLITE_ROW;
	sqlite3_reset(same);
	return ok;
}

bool store_check_schema(struct store *s, int version, struct err *e)
{
	static const char query[] =
	    "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_master";
	const bool is_newest = version == STORE_VERSION;
	sqlite3 *own = pattern(version), *newest = is_newest ? NULL : pattern(STORE_VERSION);
	sqlite3_stmt *in_own = finder(own), *in_newest = is_newest ? NULL : finder(newest);
	sqlite3_stmt *count;
	struct store_rows have = store_query(s, query, "");
	int missing = -1;
	bool same = true;
	if (sqlite3_prepare_v2(own, "SELECT count(*) FROM sqlite_master", -1, &count, NULL) ==
		SQLITE_OK &&
	    sqlite3_step(count) == SQLITE_ROW)
		missing = sqlite3_column_int(count, 0);
	sqlite3_finalize(count);
	while (same && store_next(&have)) {
		bool expected = is_like(in_own, &have);
		missing -= expected;
		same = expected || is_like(in_newest, &have);
	}
	sqlite3_finalize(in_own);
	sqlite3_finalize(in_newest);
	sqlite3_close(own);
	sqlite3_close(newest);
	same = store_done(&have, NULL) && same && !missing;
	return same || err_set(e,
			       "%s does not have the tables of a profile, or has others; it is "
			       "damaged, or something else wrote it",
			       store_path(s));
}

/* What a column may hold. Rows are looked at one by one: as conditions of SQL the same took five times as long. */
enum kind { ADDRESS, COUNT, SMALL, REAL, TEXT, BLOB, FACT };

struct column {
	enum kind kind;
	bool optional, is_key;
	double sum; /* of a count */
};

static struct column column_of(const char *name, const char *type)
{
	return (struct column){
		.kind = !strcmp(type, "INTEGER") ? (AMONG(name, addresses) ? ADDRESS
						    : AMONG(name, counts)  ? COUNT
									   : SMALL)
			: !strcmp(type, "REAL")	 ? REAL
			: !strcmp(type, "TEXT")	 ? TEXT
			: !strcmp(type, "BLOB")	 ? BLOB
						 : FACT,
		.optional = AMONG(name, optional),
		.is_key = !strcmp(name, "key"),
	};
}

/* No more bytes than characters are allowed, or not too many characters. */
static bool is_short(sqlite3_stmt *row, int at)
{
	const int bytes = sqlite3_column_bytes(row, at);
	int64_t characters = 0;

	if (bytes <= TEXT_MOST)
		return true;
	const unsigned char *text = sqlite3_column_text(row, at);

	for (int i = 0; text && i < bytes && text[i]; i++)
		characters += (text[i] & 0xc0) != 0x80;
	return characters <= TEXT_MOST;
}

/* Table run: any text; numbers in range, but for the seed. */
static bool is_fact(sqlite3_stmt *row, int at, const char *key)
{
	const int type = sqlite3_column_type(row, at);

	if (type != SQLITE_INTEGER && type != SQLITE_FLOAT)
		return type != SQLITE_BLOB;
	const double value = sqlite3_column_double(row, at);

	return (key && !strcmp(key, "seed")) || (value >= -REAL_MOST && value <= COUNT_MOST);
}

static bool is_good(sqlite3_stmt *row, int at, struct column *c, const char *key)
{
	const int type = sqlite3_column_type(row, at);
	const bool number = type == SQLITE_INTEGER;
	const int64_t value = number ? sqlite3_column_int64(row, at) : 0;

	switch (c->kind) {
	case ADDRESS:
		return number || type == SQLITE_NULL;
	case COUNT:
		c->sum += fabs((double)value);
		return type == SQLITE_NULL ||
		       (number && value >= -COUNT_MOST_INT && value <= COUNT_MOST_INT);
	case SMALL:
		return type == SQLITE_NULL || (number && value >= -1 && value <= SMALL_MOST);
	case REAL:
		return type == SQLITE_NULL || ((number || type == SQLITE_FLOAT) &&
					       fabs(sqlite3_column_double(row, at)) <= REAL_MOST);
	case TEXT:
		return (type == SQLITE_TEXT && is_short(row, at)) ||
		       (type == SQLITE_NULL && c->optional);
	case BLOB:
		return type == SQLITE_BLOB && sqlite3_column_bytes(row, at) <= BLOB_MOST;
	default:
		return is_fact(row, at, key);
	}
}

static bool refuse(const struct store *s, const char *table, struct err *e)
{
	return err_set(e,
		       "%s: table %s holds what no run can have measured; it is damaged, or "
		       "something else wrote it",
		       store_path(s), table);
}

static bool check_table(struct store *s, const char *table, struct err *e)
{
	struct column columns[COLUMNS_MOST];
	int n = 0;
	/* Of some fifty tables a profile fills a few: an empty one costs one short statement. */
	char *sql = x_asprintf("SELECT * FROM %s", table);
	struct store_rows r = store_query(s, sql, "");
	bool ok = true, first = true;

	free(sql);
	for (; ok && store_next(&r); first = false) {
		const char *key = NULL;

		if (first) {
			sql = x_asprintf("SELECT name, type FROM pragma_table_info('%s')", table);
			struct store_rows of = store_query(s, sql, "");

			free(sql);
			while (n < COLUMNS_MOST && store_next(&of))
				columns[n++] = column_of(store_text(&of, 0), store_text(&of, 1));
			ok = store_done(&of, NULL) && n == sqlite3_column_count(r.stmt);
		}
		for (int i = 0; ok && i < n; i++) {
			if (columns[i].is_key)
				key = (const char *)sqlite3_column_text(r.stmt, i);
			ok = is_good(r.stmt, i, &columns[i], key);
		}
	}
	for (int i = 0; i < n; i++)
		ok = ok && columns[i].sum <= COUNT_MOST;
	ok = store_done(&r, NULL) && ok;
	return ok || refuse(s, table, e);
}

/* Checks numbers that readers allocate by: a run counts them up from 0. */
static bool check_dense(struct store *s, struct err *e)
{
	static const struct {
		const char *table, *bad;
	} all[] = {
		{ "sample_group", "max(id) > 16 * count(*) + 64 OR max(position) >= 64" },
		{ "cpi_phase", "max(phase) > 16 * count(*) + 64" },
		{ "golden_phase", "max(phase) >= count(*) OR min(phase) < 0 OR count(*) > 4096 OR "
				  "min(cycles) < 0" },
		{ "icost_phase", "max(phase) > 16 * count(*) + 64" },
		{ "category", "max(id) >= 64" },
		{ "event", "max(bit) >= 64" },
		{ "spectrum_load", "max(id) > 16 * count(*) + 64" },
		{ "live_event", "max(id) > 16 * count(*) + 64" },
		{ "sampled_cluster", "max(id) > 16 * count(*) + 64" },
		{ "point", "max(id) >= count(*) OR min(id) < 0 OR min(instructions) < 1" },
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
	struct store_rows tables =
	    store_query(s, "SELECT name FROM sqlite_master WHERE type = 'table'", "");
	bool ok = true;
	while (ok && store_next(&tables))
		ok = check_table(s, store_text(&tables, 0), e);
	ok = store_done(&tables, ok ? e : NULL) && ok;
	return ok && check_dense(s, e);
}

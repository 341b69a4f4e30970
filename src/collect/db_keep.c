/* SPDX-License-Identifier: MIT */
/*
 * Keeping a database small: what is packed, merged (db_merge.c), dropped and pruned (db_prune.c), and when. Work is done in
 * pieces, each bounded by a pack or WASTE_ROWS rows; a step does as many as its time allows, in one
 * transaction, so that neither the daemon nor its readers notice.
 */
#include <stdlib.h>

#include "collect/db_int.h"
#include "collect/db_merge.h"
#include "collect/db_prune.h"

#define DAY_NS	     86400000000000ull
#define WASTE_ROWS   64
#define VACUUM_PAGES 64

/* ---- What there is to do ---- */

/* Removes some packs under a number that is waste; *more: it was not all. */
static bool remove_waste(struct db *d, bool *more, struct err *e)
{
	static const char *const waste[] = {
		"DELETE FROM pack WHERE (data, image, event, process, cpu, cut) IN (SELECT data, "
		"image,"
		" event, process, cpu, cut FROM pack WHERE data = ?1 LIMIT ?2)",
		"DELETE FROM stack_pack WHERE (data, event, process, cut) IN (SELECT data, event,"
		" process, cut FROM stack_pack WHERE data = ?1 LIMIT ?2)",
		"DELETE FROM edge_pack WHERE (data, image, cut) IN (SELECT data, image, cut FROM"
		" edge_pack WHERE data = ?1 LIMIT ?2)",
	};
	const int64_t building = db_merge_number(d);
	struct db_rows q =
	    db_query(d, "SELECT data FROM waste WHERE data <> ?1 LIMIT 1", "i", building);
	const int64_t data = db_next(&q) ? db_int(&q, 0) : 0;

	*more = data != 0;
	if (!db_done(&q, e) || !data)
		return data == 0;
	for (size_t i = 0; i < ARRAY_LEN(waste); i++) {
		if (!db_run(d, e, waste[i], "ii", data, (int64_t)WASTE_ROWS))
			return false;
		if (sqlite3_changes(d->sql))
			return true;
	}
	return db_run(d, e, "DELETE FROM waste WHERE data = ?1", "i", data);
}

static bool drop_epoch(struct db *d, int64_t id, struct err *e)
{
	return db_run(d, e, "INSERT INTO waste SELECT data FROM epoch WHERE id = ?1", "i", id) &&
	       db_run(d, e, "DELETE FROM epoch_event WHERE epoch = ?1", "i", id) &&
	       db_run(d, e, "DELETE FROM epoch WHERE id = ?1", "i", id);
}

/* Drops the oldest epoch if it is too old, or if there is too much. */
static bool retain(struct db *d, const struct db_keep *k, bool *more, struct err *e)
{
	const uint64_t page = (uint64_t)db_number(d, "PRAGMA page_size", 0);
	const uint64_t used = (uint64_t)(db_number(d, "PRAGMA page_count", 0) -
					 db_number(d, "PRAGMA freelist_count", 0)) *
			      page;
	struct db_rows q = db_query(
	    d, "SELECT id, end_ns FROM epoch WHERE state = 2 ORDER BY end_ns, id LIMIT 1", "");
	int64_t id = 0;

	if (db_next(&q)) {
		const uint64_t end = (uint64_t)db_int(&q, 1);

		if ((k->max_age_ns && end + k->max_age_ns < k->now_ns) ||
		    (k->max_bytes && used > k->max_bytes))
			id = db_int(&q, 0);
	}
	*more = id != 0;
	return db_done(&q, e) && (!id || drop_epoch(d, id, e));
}

/* Begins to pack a closed epoch whose cuts are still apart. */
static bool begin_compaction(struct db *d, bool *more, struct err *e)
{
	const int64_t id = db_number(
	    d, "SELECT id FROM epoch WHERE state = 2 AND cuts > 0 ORDER BY id LIMIT 1", 0);

	*more = id != 0;
	return !id || db_merge_begin(d, &id, 1, e);
}

/* Begins to merge the epochs of a day that is over. */
static bool begin_day(struct db *d, const struct db_keep *k, bool *more, struct err *e)
{
	int64_t ids[DB_MERGE_MAX];
	size_t n = 0;

	*more = false;
	if (!k->day_after_ns || k->now_ns < k->day_after_ns)
		return true;
	struct db_rows q = db_query(
	    d,
	    "SELECT x.id FROM epoch x, (SELECT machine, boot_id, kernel, command, pushed, begin_ns"
	    " / ?1 AS day FROM epoch WHERE state = 2 AND cuts = 0 AND pushed <> 1 AND source ="
	    " 'daemon' AND end_ns < ?2 GROUP BY 1, 2, 3, 4, 5, 6 HAVING count(*) > 1 LIMIT 1) AS g"
	    " WHERE state = 2 AND cuts = 0 AND source = 'daemon' AND end_ns < ?2 AND"
	    " x.machine = g.machine AND x.boot_id = g.boot_id AND x.kernel = g.kernel AND"
	    " x.command = g.command AND x.pushed = g.pushed AND x.begin_ns / ?1 = g.day"
	    " ORDER BY x.begin_ns, x.id",
	    "ii", (int64_t)DAY_NS, (int64_t)(k->now_ns - k->day_after_ns));

	while (n < DB_MERGE_MAX && db_next(&q))
		ids[n++] = db_int(&q, 0);
	if (!db_done(&q, e))
		return false;
	*more = n > 1;
	return n < 2 || db_merge_begin(d, ids, n, e);
}

/* One piece of whatever is most urgent. */
static bool keep_piece(struct db *d, const struct db_keep *k, bool *more, bool *ended,
		       struct err *e)
{
	bool ok = remove_waste(d, more, e);

	*ended = false;
	if (!ok || *more)
		return ok;
	if (d->merge) {
		*more = true;
		return db_merge_piece(d, ended, e);
	}
	/* Rows that nothing needs go before an epoch does for want of room. */
	ok = db_prune_piece(d, k, more, e);
	if (ok && !*more)
		ok = retain(d, k, more, e);
	if (ok && !*more)
		ok = begin_compaction(d, more, e);
	if (ok && !*more)
		ok = begin_day(d, k, more, e);
	return ok;
}

bool db_keep_step(struct db *d, const struct db_keep *k, double cpu_ms, bool *more, struct err *e)
{
	const uint64_t start = db_cpu_ns(), limit = (uint64_t)(cpu_ms * 1e6);
	const struct db_merge_place before = db_merge_place(d);
	bool ended = false, ok = db_begin(d, e);

	*more = ok;
	while (ok && *more && !ended) {
		ok = keep_piece(d, k, more, &ended, e);
		if (db_cpu_ns() - start >= limit)
			break;
	}
	ok = db_end(d, ok, e);
	db_prune_end(d);
	if (ok && ended)
		db_merge_free(d);
	else if (!ok)
		db_merge_return(d, &before);
	if (ok && !*more && db_number(d, "PRAGMA freelist_count", 0) > VACUUM_PAGES) {
		*more = true;
		return db_exec(d, "PRAGMA incremental_vacuum(64)", e);
	}
	return ok;
}

bool db_merge(struct db *d, const uint64_t *ids, size_t n, struct err *e)
{
	int64_t epochs[DB_MERGE_MAX];
	bool more = true;

	if (n > DB_MERGE_MAX)
		return err_set(e, "at most %d epochs can be merged at once", DB_MERGE_MAX);
	for (size_t i = 0; i < n; i++) {
		epochs[i] = (int64_t)ids[i];
		for (size_t k = 0; k < i; k++)
			if (ids[i] == ids[k])
				return err_set(e, "epoch %llu is named twice",
					       (unsigned long long)ids[i]);
		struct db_rows q =
		    db_query(d,
			     "SELECT 1 FROM epoch a, epoch b WHERE a.id = ?1 AND b.id = ?2 AND"
			     " a.machine = b.machine AND a.pushed = b.pushed AND a.pushed <> 1",
			     "ii", epochs[0], epochs[i]);
		const bool fit = db_next(&q);

		if (!db_done(&q, e))
			return false;
		if (!fit)
			return err_set(
			    e,
			    "epochs %llu and %llu cannot be merged: one is missing, they are"
			    " of two machines, or only one was pushed",
			    (unsigned long long)ids[0], (unsigned long long)ids[i]);
	}
	if (!db_end(d, db_begin(d, e) && db_merge_begin(d, epochs, n, e), e)) {
		db_merge_free(d);
		return false;
	}
	while (more)
		if (!db_keep_step(d, &(struct db_keep){ 0 }, 1000, &more, e))
			return false;
	return true;
}

bool db_vacuum(struct db *d, struct err *e)
{
	return db_exec(d, "PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE)", e);
}

/* What a killed writer left: cuts that were not published, epochs that were not closed. What was
 * pending in the kernel then is lost. */
bool db_clean(struct db *d, struct err *e)
{
	const bool ok =
	    db_begin(d, e) &&
	    db_exec(d,
		    "INSERT OR IGNORE INTO waste SELECT data FROM epoch WHERE state = 0;"
		    "DELETE FROM epoch_event WHERE epoch IN (SELECT id FROM epoch WHERE state = 0);"
		    "DELETE FROM epoch WHERE state = 0;"
		    "DELETE FROM pack WHERE data IN (SELECT data FROM epoch WHERE state = 1) AND"
		    " cut > (SELECT cuts FROM epoch WHERE epoch.data = pack.data);"
		    "DELETE FROM stack_pack WHERE data IN (SELECT data FROM epoch WHERE state = 1)"
		    " AND cut > (SELECT cuts FROM epoch WHERE epoch.data = stack_pack.data);"
		    "DELETE FROM edge_pack WHERE data IN (SELECT data FROM epoch WHERE state = 1)"
		    " AND cut > (SELECT cuts FROM epoch WHERE epoch.data = edge_pack.data);"
		    "UPDATE epoch_event SET lost = lost + pending, pending = 0 WHERE epoch IN"
		    " (SELECT id FROM epoch WHERE state = 1);"
		    "UPDATE epoch SET state = 2 WHERE state = 1",
		    e);

	return db_end(d, ok, e);
}

/* SPDX-License-Identifier: MIT */
/*
 * Processes and images that no epoch needs any more. Their rows say in which second the last epoch
 * began that counted something for them (`last_s`); when all epochs that began before then are gone,
 * and nobody in this process holds the number, the row goes. A merged epoch begins with its first
 * part, so merging keeps what was kept before.
 *
 * Numbers are held outside of the file: by the source, for what it knows; by the writer, for counts
 * that wait; by other processes that write, which have the lock `writers` meanwhile. A row that is
 * held gets the second of the open epoch, and is not looked at before that one is gone.
 */
#include "collect/db_prune.h"

#include <stdlib.h>
#include <sys/file.h>

#include "collect/db_int.h"
#include "collect/held.h"

static const struct {
	const char *find, *remove, *keep;
} statements[] = {
	[HELD_IMAGES] = { "SELECT id FROM image WHERE last_s < ?1 ORDER BY last_s LIMIT ?2",
			  "DELETE FROM image WHERE id = ?1",
			  "UPDATE image SET last_s = ?2 WHERE id = ?1" },
	[HELD_PROCESSES] = { "SELECT id FROM process WHERE last_s < ?1 ORDER BY last_s LIMIT ?2",
			     "DELETE FROM process WHERE id = ?1",
			     "UPDATE process SET last_s = ?2 WHERE id = ?1" },
};

static int by_number(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Rows of a kind whose last epoch began before a second. */
static bool find_rows(struct db *d, enum held_kind kind, int64_t before_s, struct held *h,
		      struct err *e)
{
	int64_t ids[HELD_MAX];
	size_t n = 0;
	struct db_rows q =
	    db_query(d, statements[kind].find, "ii", before_s, (int64_t)ARRAY_LEN(ids));

	while (n < ARRAY_LEN(ids) && db_next(&q))
		ids[n++] = db_int(&q, 0);
	if (!db_done(&q, e))
		return false;
	if (n)
		qsort(ids, n, sizeof(*ids), by_number);
	held_init(h, kind);
	for (size_t i = 0; i < n; i++)
		held_ask(h, (uint32_t)ids[i]);
	return true;
}

static bool remove_rows(struct db *d, const struct held *h, int64_t now_s, struct err *e)
{
	bool ok = true;

	for (size_t i = 0; ok && i < h->n; i++) {
		const int64_t id = h->number[i];

		if (h->held[i]) {
			ok = db_run(d, e, statements[h->kind].keep, "ii", id, now_s);
			continue;
		}
		ok = db_run(d, e, statements[h->kind].remove, "i", id);
		if (ok && h->kind == HELD_IMAGES)
			ok = db_run(d, e, "DELETE FROM kept WHERE image = ?1", "i", id);
	}
	return ok;
}

/* No other process writes, and none begins to before db_prune_end. */
static bool be_alone(struct db *d)
{
	if (!d->alone)
		d->alone = !flock(d->writers, LOCK_EX | LOCK_NB);
	if (!d->alone)
		flock(d->writers, LOCK_SH);
	return d->alone;
}

void db_prune_end(struct db *d)
{
	if (d->alone)
		flock(d->writers, LOCK_SH);
	d->alone = false;
}

static bool prune(struct db *d, const struct db_keep *k, struct held *h, int64_t now_s,
		  struct err *e)
{
	if (d->writer) {
		k->hold(k->self, h);
		db_writer_hold(d->writer, h);
	}
	const bool ok = remove_rows(d, h, now_s, e);

	if (ok && d->writer)
		db_writer_forget(d->writer, h);
	return ok;
}

bool db_prune_piece(struct db *d, const struct db_keep *k, bool *more, struct err *e)
{
	const int64_t open_ns = d->writer ? (int64_t)db_writer_begin_ns(d->writer) : INT64_MAX;
	const int64_t first_ns = db_number(d, "SELECT min(begin_ns) FROM epoch", 0);
	const bool any = db_number(d, "SELECT count(*) FROM (SELECT 1 FROM epoch LIMIT 1)", 1) != 0;
	const int64_t begin_ns = any && first_ns < open_ns ? first_ns : open_ns;
	struct held h;

	*more = false;
	/* Whoever holds numbers must be asked. */
	if (d->lock < 0 || (d->writer && !k->hold))
		return true;
	for (enum held_kind kind = HELD_IMAGES; kind <= HELD_PROCESSES; kind++) {
		if (!find_rows(d, kind, begin_ns / 1000000000, &h, e))
			return false;
		if (!h.n)
			continue;
		if (!be_alone(d))
			return true;
		*more = true;
		return prune(d, k, &h, open_ns / 1000000000, e);
	}
	return true;
}

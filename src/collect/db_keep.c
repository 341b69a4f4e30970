/* SPDX-License-Identifier: MIT */
/*
 * Keeping a database small: compaction, merging, retention. Work is done in pieces of a few
 * milliseconds, each a transaction of its own, so that neither the daemon nor its readers notice.
 *
 * A merge (compaction is a merge of one epoch) writes the sums of its epochs' packs under a new
 * number, image by image. That number is in the table `waste` until one last transaction gives it to
 * the first of the epochs and puts the old ones' numbers there instead. So whatever is cut off leaves
 * the database whole, with waste that the next step removes.
 */
#include <stdlib.h>
#include <string.h>

#include "collect/db_int.h"
#include "util/array.h"

#define DAY_NS	     86400000000000ull
#define EPOCHS_MAX   64
#define VACUUM_PAGES 64

enum phase { MERGE_COUNTS, MERGE_STACKS, MERGE_EDGES, MERGE_PUBLISH };

/* A merge under way. */
struct keep_state {
	int64_t epochs[EPOCHS_MAX], datas[EPOCHS_MAX], cuts[EPOCHS_MAX];
	size_t n;
	int64_t to;
	enum phase phase;
	int64_t image;		/* the last one that is done */
	int64_t event, process; /* the same for stacks */
};

void db_keep_free(struct db *d)
{
	free(d->keep);
	d->keep = NULL;
}

/* ---- Merging ---- */

/* Begins a merge of these epochs, inside a transaction. */
static bool merge_begin(struct db *d, const int64_t *ids, size_t n, struct err *e)
{
	struct keep_state *k = x_calloc(1, sizeof(*k));
	bool ok = true;

	for (size_t i = 0; i < n && ok; i++) {
		struct db_rows q = db_query(
		    d, "SELECT data, cuts FROM epoch WHERE id = ?1 AND state = 2", "i", ids[i]);

		if (db_next(&q)) {
			k->epochs[k->n] = ids[i];
			k->datas[k->n] = db_int(&q, 0);
			k->cuts[k->n++] = db_int(&q, 1);
		} else {
			ok = err_set(e, "%s has no closed epoch %lld", d->path, (long long)ids[i]);
		}
		ok = db_done(&q, e) && ok;
	}
	k->to = db_new_data(d);
	k->image = k->event = k->process = INT64_MIN;
	ok = ok && db_run(d, e, "INSERT INTO waste VALUES (?1)", "i", k->to);
	if (!ok) {
		free(k);
		return false;
	}
	d->keep = k;
	return true;
}

/* A query about the packs of an epoch that is being merged: ?1 its data, ?2 the image, ?3 its last
 * cut. */
static struct db_rows packs_of(struct db *d, size_t epoch, const char *sql)
{
	const struct keep_state *k = d->keep;

	return db_query(d, sql, "iii", k->datas[epoch], k->image, k->cuts[epoch]);
}

/* The least image above the last one that any epoch has counts or edges of; INT64_MAX: none. */
static int64_t next_image(struct db *d, const char *sql)
{
	const struct keep_state *k = d->keep;
	int64_t least = INT64_MAX;

	for (size_t i = 0; i < k->n; i++) {
		struct db_rows q = packs_of(d, i, sql);

		if (db_next(&q) && db_int(&q, 0) < least)
			least = db_int(&q, 0);
		db_done(&q, NULL);
	}
	return least;
}

static bool damaged(struct db *d, struct err *e)
{
	return err_set(e, "%s is damaged; `culprit db check %s` says where", d->path, d->path);
}

static bool merge_counts(struct db *d, struct err *e)
{
	struct keep_state *k = d->keep;
	struct live_count *all = NULL;
	size_t n = 0, room = 0;
	bool ok = true;

	k->image = next_image(d, "SELECT image FROM pack WHERE data = ?1 AND image > ?2 AND"
				 " cut <= ?3 ORDER BY image LIMIT 1");
	if (k->image == INT64_MAX) {
		k->phase = MERGE_STACKS;
		return true;
	}
	for (size_t i = 0; i < k->n && ok; i++) {
		struct db_rows q =
		    packs_of(d, i,
			     "SELECT event, process, cpu, counts FROM pack WHERE data = ?1 AND"
			     " image = ?2 AND cut <= ?3");

		while (ok && db_next(&q)) {
			struct db_count *counts;
			size_t size, many;
			const uint8_t *blob = db_blob(&q, 3, &size);

			ok = db_unpack_counts(blob, size, &counts, &many) || damaged(d, e);
			ARRAY_ROOM(all, room, n + many);
			for (size_t c = 0; c < many; c++)
				all[n++] = (struct live_count){
					.image = (uint32_t)k->image,
					.event = (uint32_t)db_int(&q, 0),
					.process = (uint32_t)db_int(&q, 1),
					.cpu = (uint16_t)db_int(&q, 2),
					.offset = counts[c].offset,
					.count = counts[c].count,
				};
			free(counts);
		}
		ok = db_done(&q, e) && ok;
	}
	ok = ok && db_put_counts(d, k->to, 0, all, n, e);
	free(all);
	return ok;
}

static void add_stack(void *self, const struct live_stack *s)
{
	const struct live_sink *into = self;

	into->stack(into->self, s);
}

/* The next event and process of which any epoch has stacks. */
static bool next_stacks(struct db *d)
{
	struct keep_state *k = d->keep;
	int64_t event = INT64_MAX, process = INT64_MAX;

	for (size_t i = 0; i < k->n; i++) {
		struct db_rows q =
		    db_query(d,
			     "SELECT event, process FROM stack_pack WHERE data = ?1 AND (event,"
			     " process) > (?2, ?3) AND cut <= ?4 ORDER BY event, process LIMIT 1",
			     "iiii", k->datas[i], k->event, k->process, k->cuts[i]);

		if (db_next(&q) && (db_int(&q, 0) < event ||
				    (db_int(&q, 0) == event && db_int(&q, 1) < process))) {
			event = db_int(&q, 0);
			process = db_int(&q, 1);
		}
		db_done(&q, NULL);
	}
	k->event = event;
	k->process = process;
	return event != INT64_MAX;
}

static bool merge_stacks(struct db *d, struct err *e)
{
	struct keep_state *k = d->keep;
	bool ok = true;
	size_t n;

	if (!next_stacks(d)) {
		k->phase = MERGE_EDGES;
		k->image = INT64_MIN;
		return true;
	}
	struct live_profile *p = live_profile_new();
	struct live_sink into = live_profile_sink(p);

	for (size_t i = 0; i < k->n && ok; i++) {
		struct db_rows q =
		    db_query(d,
			     "SELECT stacks FROM stack_pack WHERE data = ?1 AND event = ?2 AND"
			     " process = ?3 AND cut <= ?4",
			     "iiii", k->datas[i], k->event, k->process, k->cuts[i]);

		while (ok && db_next(&q)) {
			size_t size;
			const uint8_t *blob = db_blob(&q, 0, &size);

			ok = db_unpack_stacks(blob, size, add_stack, &into) || damaged(d, e);
		}
		ok = db_done(&q, e) && ok;
	}
	const struct live_stack *sums = live_stacks(p, &n);
	struct live_stack *s = x_malloc((n + 1) * sizeof(*s));

	for (size_t i = 0; i < n; i++) {
		s[i] = sums[i];
		s[i].event = (uint32_t)k->event;
		s[i].process = (uint32_t)k->process;
	}
	ok = ok && (!n || db_put_stacks(d, k->to, 0, s, n, e));
	free(s);
	live_profile_free(p);
	return ok;
}

static bool merge_edges(struct db *d, struct err *e)
{
	struct keep_state *k = d->keep;
	bool ok = true;
	size_t n;

	k->image = next_image(d, "SELECT image FROM edge_pack WHERE data = ?1 AND image > ?2 AND"
				 " cut <= ?3 ORDER BY image LIMIT 1");
	if (k->image == INT64_MAX) {
		k->phase = MERGE_PUBLISH;
		return true;
	}
	struct live_profile *p = live_profile_new();
	struct live_sink into = live_profile_sink(p);

	for (size_t i = 0; i < k->n && ok; i++) {
		struct db_rows q =
		    packs_of(d, i,
			     "SELECT edges FROM edge_pack WHERE data = ?1 AND image = ?2 AND"
			     " cut <= ?3");

		while (ok && db_next(&q)) {
			struct live_edge *edges;
			size_t size, many;
			const uint8_t *blob = db_blob(&q, 0, &size);

			ok = db_unpack_edges(blob, size, &edges, &many) || damaged(d, e);
			for (size_t x = 0; x < many; x++) {
				edges[x].image = (uint32_t)k->image;
				into.edge(into.self, &edges[x]);
			}
			free(edges);
		}
		ok = db_done(&q, e) && ok;
	}
	const struct live_edge *sums = live_edges(p, &n);

	ok = ok && (!n || db_put_edges(d, k->to, 0, sums, n, e));
	live_profile_free(p);
	return ok;
}

/* Adds the totals of one epoch to those of another, and removes it. */
static bool join_epoch(struct db *d, int64_t to, int64_t from, struct err *e)
{
	return db_run(d, e,
		      "INSERT INTO epoch_event SELECT ?1, f.event, f.rate, f.period, f.running,"
		      " f.taken, f.stored, f.lost, f.pending FROM epoch_event f WHERE epoch = ?2"
		      " ON CONFLICT (epoch, event) DO UPDATE SET"
		      " rate = max(rate, excluded.rate), period = max(period, excluded.period),"
		      " running = max(running, excluded.running),"
		      " taken = taken + excluded.taken, stored = stored + excluded.stored,"
		      " lost = lost + excluded.lost, pending = pending + excluded.pending",
		      "ii", to, from) &&
	       db_run(d, e,
		      "UPDATE epoch SET begin_ns = min(epoch.begin_ns, f.begin_ns),"
		      " end_ns = max(epoch.end_ns, f.end_ns), parts = epoch.parts + f.parts,"
		      " cpus = max(epoch.cpus, f.cpus), idle_ns = epoch.idle_ns + f.idle_ns,"
		      " budget = max(epoch.budget, f.budget),"
		      " interrupt_ns = max(epoch.interrupt_ns, f.interrupt_ns),"
		      " daemon_cpu_ns = epoch.daemon_cpu_ns + f.daemon_cpu_ns,"
		      " boot_id = CASE epoch.boot_id WHEN f.boot_id THEN f.boot_id ELSE '' END,"
		      " kernel = CASE epoch.kernel WHEN f.kernel THEN f.kernel ELSE '' END,"
		      " kernel_build_id = CASE epoch.kernel_build_id WHEN f.kernel_build_id"
		      "  THEN f.kernel_build_id ELSE '' END,"
		      " command = CASE epoch.command WHEN f.command THEN f.command ELSE '' END"
		      " FROM (SELECT * FROM epoch WHERE id = ?2) AS f WHERE epoch.id = ?1",
		      "ii", to, from) &&
	       db_run(d, e, "DELETE FROM epoch_event WHERE epoch = ?1", "i", from) &&
	       db_run(d, e, "DELETE FROM epoch WHERE id = ?1", "i", from);
}

static bool merge_publish(struct db *d, struct err *e)
{
	struct keep_state *k = d->keep;
	char uuid[33];
	bool ok = true;

	for (size_t i = 0; i < k->n && ok; i++)
		ok = db_run(d, e, "INSERT INTO waste VALUES (?1)", "i", k->datas[i]) &&
		     (i == 0 || join_epoch(d, k->epochs[0], k->epochs[i], e));
	/* A merged epoch is another one to the fleet. */
	db_uuid(uuid);
	ok = ok && (k->n == 1 || db_run(d, e, "UPDATE epoch SET uuid = ?2 WHERE id = ?1", "is",
					k->epochs[0], uuid));
	return ok &&
	       db_run(d, e, "UPDATE epoch SET data = ?2, cuts = 0 WHERE id = ?1", "ii",
		      k->epochs[0], k->to) &&
	       db_run(d, e, "DELETE FROM waste WHERE data = ?1", "i", k->to);
}

/* One piece of the merge; *ended: it is published once the transaction is committed. */
static bool merge_piece(struct db *d, bool *ended, struct err *e)
{
	*ended = d->keep->phase == MERGE_PUBLISH;
	switch (d->keep->phase) {
	case MERGE_COUNTS:
		return merge_counts(d, e);
	case MERGE_STACKS:
		return merge_stacks(d, e);
	case MERGE_EDGES:
		return merge_edges(d, e);
	default:
		return merge_publish(d, e);
	}
}

/* ---- What there is to do ---- */

/* Removes the packs of some images under a number that is waste; *more: it was not all. */
static bool remove_waste(struct db *d, bool *more, struct err *e)
{
	const int64_t building = d->keep ? d->keep->to : 0;
	struct db_rows q =
	    db_query(d, "SELECT data FROM waste WHERE data <> ?1 LIMIT 1", "i", building);
	const int64_t data = db_next(&q) ? db_int(&q, 0) : 0;

	*more = data != 0;
	if (!db_done(&q, e) || !data)
		return data == 0;
	if (!db_run(d, e,
		    "DELETE FROM pack WHERE data = ?1 AND image IN (SELECT DISTINCT image"
		    " FROM pack WHERE data = ?1 LIMIT 16)",
		    "i", data))
		return false;
	if (sqlite3_changes(d->sql))
		return true;
	return db_run(d, e, "DELETE FROM stack_pack WHERE data = ?1", "i", data) &&
	       db_run(d, e, "DELETE FROM edge_pack WHERE data = ?1", "i", data) &&
	       db_run(d, e, "DELETE FROM waste WHERE data = ?1", "i", data);
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
	return !id || merge_begin(d, &id, 1, e);
}

/* Begins to merge the epochs of a day that is over. */
static bool begin_day(struct db *d, const struct db_keep *k, bool *more, struct err *e)
{
	int64_t ids[EPOCHS_MAX];
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

	while (n < EPOCHS_MAX && db_next(&q))
		ids[n++] = db_int(&q, 0);
	if (!db_done(&q, e))
		return false;
	*more = n > 1;
	return n < 2 || merge_begin(d, ids, n, e);
}

/* One piece of whatever is most urgent. */
static bool keep_piece(struct db *d, const struct db_keep *k, bool *more, bool *ended,
		       struct err *e)
{
	*ended = false;
	if (!remove_waste(d, more, e) || *more)
		return *more;
	if (d->keep) {
		*more = true;
		return merge_piece(d, ended, e);
	}
	if (!retain(d, k, more, e) || *more)
		return *more;
	if (!begin_compaction(d, more, e) || *more)
		return *more;
	return begin_day(d, k, more, e);
}

bool db_keep_step(struct db *d, const struct db_keep *k, double cpu_ms, bool *more, struct err *e)
{
	const uint64_t start = db_cpu_ns(), limit = (uint64_t)(cpu_ms * 1e6);
	struct keep_state *before = d->keep, saved = { 0 };
	bool ended = false, ok = db_begin(d, e);

	if (before)
		saved = *before;
	*more = ok;
	while (ok && *more && !ended && db_cpu_ns() - start < limit)
		ok = keep_piece(d, k, more, &ended, e);
	ok = db_end(d, ok, e);
	if (ok && ended) {
		db_keep_free(d);
	} else if (!ok && before) {
		*before = saved;
	} else if (!ok) {
		db_keep_free(d);
	}
	if (ok && !*more && db_number(d, "PRAGMA freelist_count", 0) > VACUUM_PAGES) {
		*more = true;
		return db_exec(d, "PRAGMA incremental_vacuum(64)", e);
	}
	return ok;
}

bool db_merge(struct db *d, const uint64_t *ids, size_t n, struct err *e)
{
	int64_t epochs[EPOCHS_MAX];
	bool more = true;

	if (n > EPOCHS_MAX)
		return err_set(e, "at most %d epochs can be merged at once", EPOCHS_MAX);
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
	if (!db_end(d, db_begin(d, e) && merge_begin(d, epochs, n, e), e)) {
		db_keep_free(d);
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
		    "UPDATE epoch SET state = 2 WHERE state = 1;"
		    "DELETE FROM process WHERE id NOT IN (SELECT process FROM pack UNION SELECT"
		    " process FROM stack_pack)",
		    e);

	return db_end(d, ok, e);
}

/* SPDX-License-Identifier: MIT */
/*
 * Merging epochs (compaction is a merge of one), in pieces of bounded work.
 *
 * The packs of all epochs are read in the order of their keys, one to a piece. Those with one key, a
 * group, are added up in memory, and are written as packs of at most PART_COUNTS counts, one to a
 * piece. So a piece takes as long as one pack, and never as long as an image: the kernel's counts of
 * an hour are millions, and each of its cuts has thousands.
 *
 * The sums are filed under a new number, which is in the table `waste` until one last transaction
 * gives it to the first of the epochs and puts the old ones' numbers there instead. So whatever is
 * cut off leaves the database whole, with waste that is removed later. Where a transaction fails, the
 * group that was begun in it or before it is begun again: its packs are written over themselves.
 */
#include "collect/db_merge.h"

#include <stdlib.h>
#include <string.h>

#include "util/array.h"

#define PART_COUNTS 8192
#define PART_STACKS 4096
#define KEYS	    4

/* What a pack is of, in the order in which packs are merged: (image, event, process, cpu), (event,
 * process, 0, 0) or (image, 0, 0, 0). */
struct key {
	int64_t of[KEYS];
};

/* The next pack of an epoch. */
struct pack_head {
	struct key key;
	int64_t cut;
	bool ended;
};

enum phase { MERGE_COUNTS, MERGE_STACKS, MERGE_EDGES, MERGE_PUBLISH };

struct db_merge {
	int64_t epochs[DB_MERGE_MAX], datas[DB_MERGE_MAX], cuts[DB_MERGE_MAX];
	struct pack_head heads[DB_MERGE_MAX];
	size_t n;
	int64_t to;
	enum phase phase;
	struct key done; /* the last group that is written */
	bool found;	 /* the heads are those behind `done` */
	/* The group under way. */
	bool begun, summed;
	struct key key;
	int64_t part;
	struct db_count *counts;
	size_t ncounts, at;
	struct live_profile *sums; /* stacks and edges */
};

/* By phase: ?1 the epoch's number, ?2 to ?5 a key, ?6 a cut, ?7 the epoch's last cut. The pack that
 * is there, and the one behind it. */
static const char *const next_packs[] = {
	[MERGE_COUNTS] = ("SELECT image, event, process, cpu, cut, counts FROM pack WHERE data = ?1"
			  " AND (image, event, process, cpu, cut) >= (?2, ?3, ?4, ?5, ?6) AND"
			  " cut <= ?7 ORDER BY image, event, process, cpu, cut LIMIT 2"),
	[MERGE_STACKS] = ("SELECT event, process, 0, 0, cut, stacks FROM stack_pack WHERE data = ?1"
			  " AND (event, process, cut) >= (?2, ?3, ?6) AND cut <= ?7"
			  " ORDER BY event, process, cut LIMIT 2"),
	[MERGE_EDGES] = ("SELECT image, 0, 0, 0, cut, edges FROM edge_pack WHERE data = ?1 AND"
			 " (image, cut) >= (?2, ?6) AND cut <= ?7 ORDER BY image, cut LIMIT 2"),
};

static const struct key before_all = { { INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN } };

static int key_order(const struct key *a, const struct key *b)
{
	for (size_t i = 0; i < KEYS; i++)
		if (a->of[i] != b->of[i])
			return a->of[i] < b->of[i] ? -1 : 1;
	return 0;
}

static void forget_group(struct db_merge *m)
{
	free(m->counts);
	live_profile_free(m->sums);
	m->counts = NULL;
	m->sums = NULL;
	m->ncounts = m->at = 0;
	m->begun = m->summed = false;
}

void db_merge_free(struct db *d)
{
	if (d->merge)
		forget_group(d->merge);
	free(d->merge);
	d->merge = NULL;
}

struct db_merge_place db_merge_place(const struct db *d)
{
	const struct db_merge *m = d->merge;
	struct db_merge_place p = { .phase = m ? (int)m->phase : -1 };

	if (m)
		memcpy(p.done, m->done.of, sizeof(p.done));
	return p;
}

void db_merge_return(struct db *d, const struct db_merge_place *p)
{
	struct db_merge *m = d->merge;

	if (p->phase < 0) {
		db_merge_free(d);
		return;
	}
	forget_group(m);
	m->phase = (enum phase)p->phase;
	memcpy(m->done.of, p->done, sizeof(p->done));
	m->found = false;
}

int64_t db_merge_number(const struct db *d)
{
	return d->merge ? d->merge->to : 0;
}

bool db_merge_begin(struct db *d, const int64_t *ids, size_t n, struct err *e)
{
	struct db_merge *m = x_calloc(1, sizeof(*m));
	bool ok = true;

	for (size_t i = 0; i < n && ok; i++) {
		struct db_rows q = db_query(
		    d, "SELECT data, cuts FROM epoch WHERE id = ?1 AND state = 2", "i", ids[i]);

		if (db_next(&q)) {
			m->epochs[m->n] = ids[i];
			m->datas[m->n] = db_int(&q, 0);
			m->cuts[m->n++] = db_int(&q, 1);
		} else {
			ok = err_set(e, "%s has no closed epoch %lld", d->path, (long long)ids[i]);
		}
		ok = db_done(&q, e) && ok;
	}
	m->to = db_new_data(d);
	m->done = before_all;
	ok = ok && db_run(d, e, "INSERT INTO waste VALUES (?1)", "i", m->to);
	if (!ok) {
		free(m);
		return false;
	}
	d->merge = m;
	return true;
}

/* ---- Reading ---- */

static bool damaged(struct db *d, struct err *e)
{
	return err_set(e, "%s is damaged; `culprit db check %s` says where", d->path, d->path);
}

static struct db_rows packs_from(struct db *d, size_t epoch, const struct key *key, int64_t cut)
{
	const struct db_merge *m = d->merge;

	return db_query(d, next_packs[m->phase], "iiiiiii", m->datas[epoch], key->of[0], key->of[1],
			key->of[2], key->of[3], cut, m->cuts[epoch]);
}

/* The row that a query stands at, or its end. */
static struct pack_head head_of(struct db_rows *q, bool row)
{
	struct pack_head h = { .ended = !row };

	for (int i = 0; i < KEYS && row; i++)
		h.key.of[i] = db_int(q, i);
	h.cut = row ? db_int(q, KEYS) : 0;
	return h;
}

static bool find_heads(struct db *d, struct err *e)
{
	struct db_merge *m = d->merge;
	bool ok = true;

	for (size_t i = 0; i < m->n && ok; i++) {
		struct db_rows q = packs_from(d, i, &m->done, INT64_MAX);

		m->heads[i] = head_of(&q, db_next(&q));
		ok = db_done(&q, e);
	}
	m->found = ok;
	return ok;
}

/* Adds counts that are sorted by offset to those of the group. */
static void add_counts(struct db_merge *m, struct db_count *more, size_t n)
{
	struct db_count *all;
	size_t a = 0, b = 0, to = 0;

	if (!m->ncounts) {
		free(m->counts);
		m->counts = more;
		m->ncounts = n;
		return;
	}
	all = x_malloc((m->ncounts + n) * sizeof(*all));
	while (a < m->ncounts || b < n) {
		const bool first =
		    b == n || (a < m->ncounts && m->counts[a].offset <= more[b].offset);
		const bool both =
		    first && b < n && a < m->ncounts && m->counts[a].offset == more[b].offset;

		all[to] = first ? m->counts[a++] : more[b++];
		if (both)
			all[to].count += more[b++].count;
		to++;
	}
	free(more);
	free(m->counts);
	m->counts = all;
	m->ncounts = to;
}

static void add_stack(void *self, const struct live_stack *s)
{
	const struct live_sink *into = self;

	into->stack(into->self, s);
}

/* Adds a pack to the group. */
static bool add_pack(struct db_merge *m, const uint8_t *blob, size_t size)
{
	struct live_sink into;
	size_t n;

	if (m->phase == MERGE_COUNTS) {
		struct db_count *counts;
		const bool ok = db_unpack_counts(blob, size, &counts, &n);

		if (ok)
			add_counts(m, counts, n);
		return ok;
	}
	if (!m->sums)
		m->sums = live_profile_new();
	into = live_profile_sink(m->sums);
	if (m->phase == MERGE_STACKS)
		return db_unpack_stacks(blob, size, add_stack, &into);
	struct live_edge *edges;

	if (!db_unpack_edges(blob, size, &edges, &n))
		return false;
	for (size_t i = 0; i < n; i++)
		into.edge(into.self, &edges[i]);
	free(edges);
	return true;
}

/* The next pack of an epoch, which is of the group. */
static bool take_pack(struct db *d, size_t epoch, struct err *e)
{
	struct db_merge *m = d->merge;
	struct pack_head *h = &m->heads[epoch];
	struct db_rows q = packs_from(d, epoch, &h->key, h->cut);
	bool ok = db_next(&q);
	size_t size;

	if (ok) {
		const uint8_t *blob = db_blob(&q, KEYS + 1, &size);

		ok = add_pack(m, blob, size) || damaged(d, e);
		*h = head_of(&q, ok && db_next(&q));
	} else if (q.status == SQLITE_DONE) {
		ok = damaged(d, e); /* somebody removed it */
	}
	return db_done(&q, e) && ok;
}

/* ---- Writing ---- */

/* The next part of the group's counts, under a cut of its own: all that are not above the epoch's
 * last cut, which is 0 then, count. */
static bool put_counts(struct db *d, struct err *e)
{
	struct db_merge *m = d->merge;
	const size_t left = m->ncounts - m->at, n = left < PART_COUNTS ? left : PART_COUNTS;
	const bool ok = db_put_group(d, m->to, m->part, m->key.of, &m->counts[m->at], n, e);

	m->at += n;
	return ok;
}

static bool put_stacks(struct db *d, struct err *e)
{
	struct db_merge *m = d->merge;
	struct live_stack part[64], *many = NULL;
	size_t all;
	const struct live_stack *sums = live_stacks(m->sums, &all);
	const size_t left = all - m->at, n = left < PART_STACKS ? left : PART_STACKS;

	if (n > ARRAY_LEN(part))
		many = x_malloc(n * sizeof(*many));

	struct live_stack *const s = many ? many : part;

	for (size_t i = 0; i < n; i++) {
		s[i] = sums[m->at + i];
		s[i].event = (uint32_t)m->key.of[0];
		s[i].process = (uint32_t)m->key.of[1];
	}
	m->at += n;
	m->ncounts = all;
	const bool ok = !n || db_put_stacks(d, m->to, m->part, s, n, e);

	free(many);
	return ok;
}

static bool put_edges(struct db *d, struct err *e)
{
	struct db_merge *m = d->merge;
	size_t all;
	const struct live_edge *sums = live_edges(m->sums, &all);
	const size_t left = all - m->at, n = left < PART_COUNTS ? left : PART_COUNTS;
	struct live_edge *edges = x_malloc((n + 1) * sizeof(*edges));

	for (size_t i = 0; i < n; i++) {
		edges[i] = sums[m->at + i];
		edges[i].image = (uint32_t)m->key.of[0];
	}
	m->at += n;
	m->ncounts = all;
	const bool ok = !n || db_put_edges(d, m->to, m->part, edges, n, e);

	free(edges);
	return ok;
}

/* One part of a group whose packs were all added. */
static bool put_part(struct db *d, struct err *e)
{
	struct db_merge *m = d->merge;
	const bool ok = m->phase == MERGE_COUNTS   ? put_counts(d, e)
			: m->phase == MERGE_STACKS ? put_stacks(d, e)
						   : put_edges(d, e);

	m->part--;
	if (m->at >= m->ncounts) {
		m->done = m->key;
		forget_group(m);
	}
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

static bool publish(struct db *d, struct err *e)
{
	struct db_merge *k = d->merge;
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

/* Begins the group that is next in any epoch; false: there is none. */
static bool begin_group(struct db_merge *m)
{
	const struct pack_head *least = NULL;

	for (size_t i = 0; i < m->n; i++)
		if (!m->heads[i].ended && (!least || key_order(&m->heads[i].key, &least->key) < 0))
			least = &m->heads[i];
	if (!least)
		return false;
	m->key = least->key;
	m->begun = true;
	m->part = 0;
	return true;
}

/* An epoch that has a pack of the group left, or the number of epochs. */
static size_t with_pack(const struct db_merge *m)
{
	size_t i = 0;

	while (i < m->n && (m->heads[i].ended || key_order(&m->heads[i].key, &m->key) != 0))
		i++;
	return i;
}

bool db_merge_piece(struct db *d, bool *ended, struct err *e)
{
	struct db_merge *m = d->merge;

	*ended = m->phase == MERGE_PUBLISH;
	if (*ended)
		return publish(d, e);
	if (!m->found)
		return find_heads(d, e);
	if (!m->begun && !begin_group(m)) {
		m->phase++;
		m->done = before_all;
		m->found = false;
		return true;
	}
	const size_t epoch = m->summed ? m->n : with_pack(m);

	if (epoch < m->n)
		return take_pack(d, epoch, e);
	m->summed = true;
	return put_part(d, e);
}

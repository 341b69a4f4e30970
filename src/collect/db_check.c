/* SPDX-License-Identifier: MIT */
/*
 * Checking a database: SQLite's own check, every pack unpacked and summed, and the invariants D1 and
 * D2. A line for everything that is wrong.
 */
#include <stdlib.h>

#include "collect/db_int.h"

struct checker {
	struct db *db;
	void (*say)(void *self, const char *line);
	void *self;
	bool clean;
};

static void complain(struct checker *c, const char *fmt, ...) PRINTF(2, 3);
static void complain(struct checker *c, const char *fmt, ...)
{
	char line[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	c->clean = false;
	c->say(c->self, line);
}

static void end(struct checker *c, struct db_rows *q)
{
	struct err e;

	if (!db_done(q, &e))
		complain(c, "%s", e.text);
}

static void check_file(struct checker *c)
{
	struct db_rows q = db_query(c->db, "PRAGMA quick_check(5)", "");

	while (db_next(&q))
		if (sqlite3_stricmp(db_text(&q, 0), "ok") != 0)
			complain(c, "the file: %s", db_text(&q, 0));
	end(c, &q);
}

static void check_packs(struct checker *c)
{
	struct db_rows q = db_query(
	    c->db,
	    "SELECT epoch.id, image, event, process, cpu, cut, entries, samples, counts,"
	    " EXISTS (SELECT 1 FROM image WHERE image.id = pack.image),"
	    " EXISTS (SELECT 1 FROM event WHERE event.id = pack.event),"
	    " process = -1 OR EXISTS (SELECT 1 FROM process WHERE process.id = pack.process)"
	    " FROM epoch JOIN pack USING (data) WHERE state > 0 AND cut <= cuts",
	    "");

	while (db_next(&q)) {
		struct db_count *counts;
		size_t size, n;
		const uint8_t *blob = db_blob(&q, 8, &size);
		const bool ok = db_unpack_counts(blob, size, &counts, &n);
		int64_t samples = 0;

		for (size_t i = 0; i < n; i++)
			samples += (int64_t)counts[i].count;
		if (!ok || (int64_t)n != db_int(&q, 6) || samples != db_int(&q, 7))
			complain(
			    c,
			    "epoch %lld: the pack of image %lld, event %lld, cut %lld is damaged",
			    (long long)db_int(&q, 0), (long long)db_int(&q, 1),
			    (long long)db_int(&q, 2), (long long)db_int(&q, 5));
		for (int i = 9; i < 12; i++)
			if (!db_int(&q, i))
				complain(c,
					 "epoch %lld: a pack names %s %lld, which does not exist",
					 (long long)db_int(&q, 0),
					 i == 9	   ? "image"
					 : i == 10 ? "event"
						   : "process",
					 (long long)db_int(&q, i - 8));
		free(counts);
	}
	end(c, &q);
}

struct frame_check {
	struct checker *c;
	uint64_t samples;
};

static void check_stack(void *self, const struct live_stack *s)
{
	struct frame_check *f = self;

	f->samples += s->count;
	for (size_t i = 0; i < s->nframes; i++) {
		struct db_rows q = db_query(f->c->db, "SELECT 1 FROM image WHERE id = ?1", "i",
					    (int64_t)s->frames[i].image);

		if (!db_next(&q))
			complain(f->c, "a stack names image %u, which does not exist",
				 s->frames[i].image);
		end(f->c, &q);
	}
}

static void check_other_packs(struct checker *c)
{
	struct db_rows q =
	    db_query(c->db,
		     "SELECT epoch.id, samples, stacks FROM epoch JOIN stack_pack USING"
		     " (data) WHERE state > 0 AND cut <= cuts",
		     "");

	while (db_next(&q)) {
		struct frame_check f = { .c = c };
		size_t size;
		const uint8_t *blob = db_blob(&q, 2, &size);

		if (!db_unpack_stacks(blob, size, check_stack, &f) ||
		    f.samples != (uint64_t)db_int(&q, 1))
			complain(c, "epoch %lld: a pack of stacks is damaged",
				 (long long)db_int(&q, 0));
	}
	end(c, &q);
	q = db_query(c->db,
		     "SELECT epoch.id, edges FROM epoch JOIN edge_pack USING (data) WHERE"
		     " state > 0 AND cut <= cuts",
		     "");
	while (db_next(&q)) {
		struct live_edge *edges;
		size_t size, n;
		const uint8_t *blob = db_blob(&q, 1, &size);

		if (!db_unpack_edges(blob, size, &edges, &n))
			complain(c, "epoch %lld: a pack of edges is damaged",
				 (long long)db_int(&q, 0));
		free(edges);
	}
	end(c, &q);
}

static void check_kept(struct checker *c)
{
	struct db_rows q = db_query(c->db, "SELECT image, symbols, code FROM kept", "");

	while (db_next(&q)) {
		struct live_symbol *symbols = NULL;
		struct live_code *code = NULL;
		size_t size, nsymbols = 0, ncode = 0;
		const uint8_t *blob = db_blob(&q, 1, &size);
		bool ok = !blob || db_unpack_symbols(blob, size, &symbols, &nsymbols);

		blob = db_blob(&q, 2, &size);
		ok = (!blob || db_unpack_code(blob, size, &code, &ncode)) && ok;
		if (!ok)
			complain(c, "the symbols or the code of image %lld are damaged",
				 (long long)db_int(&q, 0));
		db_symbols_free(symbols, nsymbols);
		db_code_free(code, ncode);
	}
	end(c, &q);
}

static void check_totals(struct checker *c)
{
	struct db_rows q = db_query(
	    c->db,
	    "SELECT epoch.id, event.name, taken, stored, lost, pending, state,"
	    " (SELECT ifnull(sum(samples), 0) FROM pack WHERE pack.data = epoch.data AND"
	    " pack.event = event.id AND cut <= cuts) FROM epoch JOIN epoch_event ON epoch ="
	    " epoch.id JOIN event ON event.id = event WHERE state > 0",
	    "");

	while (db_next(&q)) {
		const long long id = db_int(&q, 0), taken = db_int(&q, 2), stored = db_int(&q, 3),
				lost = db_int(&q, 4), pending = db_int(&q, 5);

		if (taken != stored + lost + pending)
			complain(
			    c,
			    "epoch %lld: %lld samples taken are not %lld stored, %lld lost and "
			    "%lld pending",
			    id, taken, stored, lost, pending);
		if (stored != db_int(&q, 7))
			complain(c, "epoch %lld: %lld samples stored, but its packs have %lld", id,
				 stored, (long long)db_int(&q, 7));
		if (db_int(&q, 6) == DB_CLOSED && pending)
			complain(c, "epoch %lld is closed with %lld samples pending", id, pending);
	}
	end(c, &q);
}

static void check_epochs(struct checker *c)
{
	struct db_rows q =
	    db_query(c->db,
		     "SELECT a.id, b.id FROM epoch a JOIN epoch b ON a.machine = b.machine AND"
		     " a.source = 'daemon' AND b.source = 'daemon' AND a.id <> b.id AND"
		     " a.begin_ns <= b.begin_ns AND b.begin_ns < a.end_ns WHERE a.state > 0 AND"
		     " b.state > 0 LIMIT 10",
		     "");

	while (db_next(&q))
		complain(c, "epochs %lld and %lld overlap", (long long)db_int(&q, 0),
			 (long long)db_int(&q, 1));
	end(c, &q);
	q = db_query(c->db,
		     "SELECT id FROM epoch WHERE begin_ns > end_ns OR state NOT IN (0, 1, 2)", "");
	while (db_next(&q))
		complain(c, "epoch %lld is damaged", (long long)db_int(&q, 0));
	end(c, &q);
}

bool db_check(struct db *d, void (*say)(void *self, const char *line), void *self)
{
	struct checker c = { d, say, self, true };

	if (!db_exec(d, "BEGIN", NULL)) {
		complain(&c, "%s cannot be read", d->path);
		return false;
	}
	check_file(&c);
	check_epochs(&c);
	check_totals(&c);
	check_packs(&c);
	check_other_packs(&c);
	check_kept(&c);
	sqlite3_exec(d->sql, "COMMIT", NULL, NULL, NULL);
	return c.clean;
}

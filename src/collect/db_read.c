/* SPDX-License-Identifier: MIT */
/*
 * Reading: from a selection to a live profile, and lists of what there is. All of one call is read in
 * one transaction, so that it is the state between two cuts.
 */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "collect/db_int.h"
#include "util/array.h"

/* From row numbers to numbers of the profile. */
struct numbers {
	struct {
		int64_t row;
		uint32_t number;
		bool used, wanted;
	} * slots;
	size_t size, used;
};

struct reader {
	struct db *db;
	const struct db_selection *s;
	struct live_profile *p;
	struct live_sink sink;
	struct numbers images, processes, events;
	bool bad;				/* something in the file is not as it must be */
	bool any;				/* counts, wanted or not */
	bool processors_apart, processes_apart; /* in any of them */
};

/* The slot of a row; a new one is not `used`. */
static size_t slot_of(struct numbers *n, int64_t row)
{
	if (n->used * 2 >= n->size) {
		const struct numbers old = *n;

		n->size = old.size ? old.size * 2 : 64;
		n->slots = x_calloc(n->size, sizeof(*n->slots));
		for (size_t i = 0; i < old.size; i++)
			if (old.slots[i].used)
				n->slots[slot_of(n, old.slots[i].row)] = old.slots[i];
		free(old.slots);
	}
	size_t at = hash_u64((uint64_t)row) & (n->size - 1);

	while (n->slots[at].used && n->slots[at].row != row)
		at = (at + 1) & (n->size - 1);
	return at;
}

static void put_number(struct numbers *n, size_t at, int64_t row, uint32_t number, bool wanted)
{
	n->slots[at].row = row;
	n->slots[at].number = number;
	n->slots[at].wanted = wanted;
	n->slots[at].used = true;
	n->used++;
}

static bool name_matches(const char *pattern, const char *name)
{
	return !pattern || strcmp(pattern, name) == 0 || strcmp(pattern, path_name(name)) == 0 ||
	       fnmatch(pattern, name, 0) == 0 || fnmatch(pattern, path_name(name), 0) == 0;
}

/* ---- Images ---- */

static void read_kept(struct reader *r, int64_t row, struct live_image *i)
{
	struct db_rows q =
	    db_query(r->db, "SELECT symbols, code FROM kept WHERE image = ?1", "i", row);
	size_t size;

	if (db_next(&q)) {
		const uint8_t *data = db_blob(&q, 0, &size);

		if (data && !db_unpack_symbols(data, size, &i->symbols, &i->nsymbols))
			r->bad = true;
		data = db_blob(&q, 1, &size);
		if (data && !db_unpack_code(data, size, &i->code, &i->ncode))
			r->bad = true;
	}
	r->bad |= !db_done(&q, NULL);
}

/* The profile's number of an image; false if it is not wanted. */
static bool image_number(struct reader *r, int64_t row, uint32_t *out)
{
	const size_t at = slot_of(&r->images, row);

	if (!r->images.slots[at].used) {
		struct db_rows q = db_query(r->db,
					    "SELECT kind, name, path, build_id, digest, dev, ino,"
					    " size_bytes, mtime_ns FROM image WHERE id = ?1",
					    "i", row);
		const bool found = db_next(&q) && db_int(&q, 0) >= 0 && db_int(&q, 0) < LIVE_KINDS;
		struct live_image i = { 0 };

		if (found) {
			i = (struct live_image){
				.kind = (enum live_kind)db_int(&q, 0),
				.name = x_strdup(db_text(&q, 1)),
				.path = *db_text(&q, 2) ? x_strdup(db_text(&q, 2)) : NULL,
				.build_id = x_strdup(db_text(&q, 3)),
				.digest = x_strdup(db_text(&q, 4)),
				.dev = (uint64_t)db_int(&q, 5),
				.ino = (uint64_t)db_int(&q, 6),
				.size_bytes = (uint64_t)db_int(&q, 7),
				.mtime_ns = (uint64_t)db_int(&q, 8),
			};
			read_kept(r, row, &i);
		}
		r->bad |= !found;
		db_done(&q, NULL);
		const bool wanted = found && name_matches(r->s->image, i.name);

		/* A stack's frames may lie in images that were not asked for. */
		put_number(&r->images, at, row, found ? r->sink.image(r->sink.self, &i) : 0,
			   wanted);
		db_symbols_free(i.symbols, i.nsymbols);
		db_code_free(i.code, i.ncode);
		free(i.name);
		free(i.path);
		free(i.build_id);
		free(i.digest);
	}
	*out = r->images.slots[at].number;
	return r->images.slots[at].wanted;
}

/* ---- Processes and events ---- */

static bool process_matches(const struct db_selection *s, const struct live_process *p)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", (int)p->pid);
	return (!s->process || strcmp(s->process, pid) == 0 || name_matches(s->process, p->comm) ||
		name_matches(s->process, p->exe)) &&
	       name_matches(s->container, p->container) && (!s->uid || *s->uid == p->uid);
}

static bool process_number(struct reader *r, int64_t row, uint32_t *out)
{
	*out = LIVE_NO_PROCESS;
	if (row == DB_NONE)
		return !r->s->process && !r->s->container && !r->s->uid;
	const size_t at = slot_of(&r->processes, row);

	if (!r->processes.slots[at].used) {
		struct db_rows q = db_query(r->db,
					    "SELECT pid, exec_id, start_ns, uid, comm, exe,"
					    " container FROM process WHERE id = ?1",
					    "i", row);
		uint32_t number = 0;
		bool wanted = false;

		if (db_next(&q)) {
			const struct live_process p = {
				.pid = (int32_t)db_int(&q, 0),
				.exec_id = (uint32_t)db_int(&q, 1),
				.start_ns = (uint64_t)db_int(&q, 2),
				.uid = (uint32_t)db_int(&q, 3),
				.comm = (char *)db_text(&q, 4),
				.exe = (char *)db_text(&q, 5),
				.container = (char *)db_text(&q, 6),
			};
			wanted = process_matches(r->s, &p);
			number = wanted ? r->sink.process(r->sink.self, &p) : 0;
		} else {
			r->bad = true;
		}
		db_done(&q, NULL);
		put_number(&r->processes, at, row, number, wanted);
	}
	*out = r->processes.slots[at].number;
	return r->processes.slots[at].wanted;
}

static bool event_number(struct reader *r, int64_t row, uint32_t *out)
{
	const size_t at = slot_of(&r->events, row);

	if (!r->events.slots[at].used) {
		struct db_rows q =
		    db_query(r->db, "SELECT name, actual FROM event WHERE id = ?1", "i", row);
		const bool found = db_next(&q);
		const struct live_event e = { .name = (char *)db_text(&q, 0),
					      .actual = (char *)db_text(&q, 1) };
		const bool wanted = found && (!r->s->event || strcmp(r->s->event, e.name) == 0);

		r->bad |= !found;
		put_number(&r->events, at, row, wanted ? r->sink.event(r->sink.self, &e) : 0,
			   wanted);
		db_done(&q, NULL);
	}
	*out = r->events.slots[at].number;
	return r->events.slots[at].wanted;
}

/* ---- Packs ---- */

static void read_counts(struct reader *r, int64_t data, int64_t cuts)
{
	struct db_rows q = db_query(
	    r->db,
	    "SELECT image, event, process, cpu, counts FROM pack WHERE data = ?1 AND cut <= ?2",
	    "ii", data, cuts);

	while (!r->bad && db_next(&q)) {
		struct live_count c = { .cpu = LIVE_NO_CPU };
		const int64_t cpu = db_int(&q, 3);
		struct db_count *counts;
		size_t size, n;
		const uint8_t *blob = db_blob(&q, 4, &size);

		r->any = true;
		r->processors_apart |= cpu != DB_NONE;
		r->processes_apart |= db_int(&q, 2) != DB_NONE;
		if (r->s->cpu && cpu != *r->s->cpu)
			continue;
		if (cpu != DB_NONE)
			c.cpu = (uint16_t)cpu;
		/* The event first: where it is not wanted, nothing else is looked up. */
		if (!event_number(r, db_int(&q, 1), &c.event) ||
		    !process_number(r, db_int(&q, 2), &c.process) ||
		    !image_number(r, db_int(&q, 0), &c.image))
			continue;
		if (!db_unpack_counts(blob, size, &counts, &n)) {
			r->bad = true;
			break;
		}
		for (size_t i = 0; i < n; i++) {
			c.offset = counts[i].offset;
			c.count = counts[i].count;
			r->sink.count(r->sink.self, &c);
		}
		free(counts);
	}
	r->bad |= !db_done(&q, NULL);
}

struct stack_reader {
	struct reader *r;
	uint32_t process, event;
};

static void read_stack(void *self, const struct live_stack *given)
{
	struct stack_reader *x = self;
	struct live_stack s = *given;
	struct live_frame *frames = (struct live_frame *)s.frames;
	bool wanted = true;

	for (size_t i = 0; i < s.nframes; i++) {
		const bool is = image_number(x->r, frames[i].image, &frames[i].image);

		wanted = i ? wanted : is;
	}
	s.process = x->process;
	s.event = x->event;
	if (wanted && !x->r->bad)
		x->r->sink.stack(x->r->sink.self, &s);
}

static void read_stacks(struct reader *r, int64_t data, int64_t cuts)
{
	struct db_rows q = db_query(
	    r->db, "SELECT event, process, stacks FROM stack_pack WHERE data = ?1 AND cut <= ?2",
	    "ii", data, cuts);

	while (!r->bad && db_next(&q)) {
		struct stack_reader x = { .r = r };
		size_t size;
		const uint8_t *blob = db_blob(&q, 2, &size);

		if (event_number(r, db_int(&q, 0), &x.event) &&
		    process_number(r, db_int(&q, 1), &x.process))
			r->bad |= !db_unpack_stacks(blob, size, read_stack, &x);
	}
	r->bad |= !db_done(&q, NULL);
}

static void read_edges(struct reader *r, int64_t data, int64_t cuts)
{
	struct db_rows q =
	    db_query(r->db, "SELECT image, edges FROM edge_pack WHERE data = ?1 AND cut <= ?2",
		     "ii", data, cuts);

	while (!r->bad && db_next(&q)) {
		struct live_edge *edges = NULL;
		uint32_t image;
		size_t size, n;
		const uint8_t *blob = db_blob(&q, 1, &size);

		if (!image_number(r, db_int(&q, 0), &image))
			continue;
		r->bad |= !db_unpack_edges(blob, size, &edges, &n);
		for (size_t i = 0; i < n; i++) {
			edges[i].image = image;
			r->sink.edge(r->sink.self, &edges[i]);
		}
		free(edges);
	}
	r->bad |= !db_done(&q, NULL);
}

/* ---- Epochs ---- */

/* Facts and totals of an epoch, joined with those so far. */
static void read_epoch_facts(struct reader *r, const struct db_rows *q)
{
	struct live_profile *part = live_profile_new();
	struct live_sink sink = live_profile_sink(part);
	struct live_event events[64];
	size_t n = 0;
	struct db_rows t =
	    db_query(r->db,
		     "SELECT name, actual, rate, period, running, taken, stored, lost,"
		     " pending FROM epoch_event JOIN event ON id = event WHERE epoch = ?1",
		     "i", db_int(q, 0));

	while (n < ARRAY_LEN(events) && db_next(&t))
		if (!r->s->event || strcmp(r->s->event, db_text(&t, 0)) == 0)
			events[n++] = (struct live_event){
				.name = x_strdup(db_text(&t, 0)),
				.actual = x_strdup(db_text(&t, 1)),
				.rate = db_real(&t, 2),
				.period = (uint64_t)db_int(&t, 3),
				.running = db_real(&t, 4),
				.taken = (uint64_t)db_int(&t, 5),
				.stored = (uint64_t)db_int(&t, 6),
				.lost = (uint64_t)db_int(&t, 7),
				.pending = (uint64_t)db_int(&t, 8),
			};
	r->bad |= !db_done(&t, NULL);
	const struct live_facts facts = {
		.machine = (char *)db_text(q, 3),
		.boot_id = (char *)db_text(q, 4),
		.kernel = (char *)db_text(q, 5),
		.kernel_build_id = (char *)db_text(q, 6),
		.command = (char *)db_text(q, 7),
		.begin_ns = (uint64_t)db_int(q, 8),
		.end_ns = (uint64_t)db_int(q, 9),
		.cpus = (uint32_t)db_int(q, 10),
		.idle_ns = (uint64_t)db_int(q, 11),
		.budget = db_real(q, 12),
		.interrupt_ns = db_real(q, 13),
		.daemon_cpu_ns = db_real(q, 14),
	};

	sink.cut(sink.self, events, n, &facts, NULL);
	live_profile_merge(r->p, part);
	live_profile_free(part);
	for (size_t i = 0; i < n; i++) {
		free(events[i].name);
		free(events[i].actual);
	}
}

/* Totals are those of what was selected (L1), with the losses of the whole epochs. */
static void set_totals(struct reader *r)
{
	const size_t n = live_events(r->p);
	struct live_event *events = x_calloc(n + 1, sizeof(*events));
	size_t ncounts;
	const struct live_count *c = live_counts(r->p, &ncounts);

	for (size_t i = 0; i < n; i++) {
		events[i] = *live_event(r->p, i);
		events[i].stored = 0;
	}
	for (size_t i = 0; i < ncounts; i++)
		events[c[i].event].stored += c[i].count;
	for (size_t i = 0; i < n; i++)
		events[i].taken = events[i].stored + events[i].lost + events[i].pending;
	r->sink.cut(r->sink.self, events, n, live_facts(r->p), NULL);
	free(events);
}

/* Says what the epochs do not keep apart, if the selection asks for it. */
static bool check_apart(const struct reader *r, struct err *e)
{
	if (!r->any)
		return true;
	if (r->s->cpu && !r->processors_apart)
		return err_set(e,
			       "%s keeps the samples of all processors together: `culprit daemon "
			       "--per-cpu` and `culprit db import --per-process` keep them apart",
			       r->db->path);
	if ((r->s->process || r->s->container || r->s->uid) && !r->processes_apart)
		return err_set(
		    e,
		    "%s keeps the samples of all processes together: `culprit daemon` and "
		    "`culprit db import` with --per-process keep them apart",
		    r->db->path);
	return true;
}

struct live_profile *db_select(struct db *d, const struct db_selection *s, struct err *e)
{
	struct reader r = { .db = d, .s = s, .p = live_profile_new() };
	size_t epochs = 0;

	r.sink = live_profile_sink(r.p);
	if (!db_exec(d, "BEGIN", e)) {
		live_profile_free(r.p);
		return NULL;
	}
	struct db_rows q = db_query(
	    d,
	    "SELECT id, data, cuts, machine, boot_id, kernel, kernel_build_id, command, begin_ns,"
	    " end_ns, cpus, idle_ns, budget, interrupt_ns, daemon_cpu_ns FROM epoch"
	    " WHERE state > 0 AND (?1 = 0 OR id = ?1) AND end_ns >= ?2 AND (?3 = 0 OR"
	    " begin_ns <= ?3) AND (?4 IS NULL OR machine = ?4) ORDER BY begin_ns, id",
	    "iiis", (int64_t)s->epoch, (int64_t)s->since_ns, (int64_t)s->until_ns, s->machine);

	while (!r.bad && db_next(&q)) {
		epochs++;
		read_epoch_facts(&r, &q);
		read_counts(&r, db_int(&q, 1), db_int(&q, 2));
		read_stacks(&r, db_int(&q, 1), db_int(&q, 2));
		read_edges(&r, db_int(&q, 1), db_int(&q, 2));
	}
	bool ok = db_done(&q, e) && check_apart(&r, e);

	sqlite3_exec(d->sql, "COMMIT", NULL, NULL, NULL);
	free(r.images.slots);
	free(r.processes.slots);
	free(r.events.slots);
	if (ok && r.bad)
		ok =
		    err_set(e, "%s is damaged; `culprit db check %s` says where", d->path, d->path);
	if (ok && !epochs)
		ok = err_set(e,
			     "%s has no epoch that was asked for; `culprit db list %s` shows them",
			     d->path, d->path);
	if (ok) {
		set_totals(&r);
		return r.p;
	}
	live_profile_free(r.p);
	return NULL;
}

/* ---- Lists ---- */

bool db_epochs(struct db *d, struct db_epoch **epochs, size_t *n, struct err *e)
{
	*epochs = NULL;
	*n = 0;
	struct db_rows q = db_query(
	    d,
	    "SELECT id, begin_ns, end_ns, cuts, parts, state = 1, pushed = 2, uuid, source,"
	    " machine, boot_id, kernel, command, cpus, budget,"
	    " (SELECT ifnull(sum(taken), 0) FROM epoch_event WHERE epoch = id),"
	    " (SELECT ifnull(sum(stored), 0) FROM epoch_event WHERE epoch = id),"
	    " (SELECT ifnull(sum(lost), 0) FROM epoch_event WHERE epoch = id),"
	    " (SELECT ifnull(sum(pending), 0) FROM epoch_event WHERE epoch = id),"
	    " (SELECT ifnull(sum(samples), 0) FROM pack WHERE pack.data = epoch.data AND"
	    "  cut <= cuts AND image IN (SELECT image.id FROM image WHERE kind = 7)),"
	    " (SELECT ifnull(sum(entries), 0) FROM pack WHERE pack.data = epoch.data AND"
	    "  cut <= cuts),"
	    " (SELECT ifnull(sum(length(counts)), 0) FROM pack WHERE pack.data = epoch.data AND"
	    "  cut <= cuts)"
	    " FROM epoch WHERE state > 0 ORDER BY begin_ns, id",
	    "");

	_Static_assert(LIVE_UNKNOWN == 7, "the query above names it");
	while (db_next(&q)) {
		struct db_epoch *x = ARRAY_ADD(*epochs, *n);

		*x = (struct db_epoch){
			.id = (uint64_t)db_int(&q, 0),
			.begin_ns = (uint64_t)db_int(&q, 1),
			.end_ns = (uint64_t)db_int(&q, 2),
			.cuts = (uint64_t)db_int(&q, 3),
			.parts = (uint64_t)db_int(&q, 4),
			.open = db_int(&q, 5) != 0,
			.pushed = db_int(&q, 6) != 0,
			.uuid = x_strdup(db_text(&q, 7)),
			.source = x_strdup(db_text(&q, 8)),
			.machine = x_strdup(db_text(&q, 9)),
			.boot_id = x_strdup(db_text(&q, 10)),
			.kernel = x_strdup(db_text(&q, 11)),
			.command = x_strdup(db_text(&q, 12)),
			.cpus = (uint32_t)db_int(&q, 13),
			.budget = db_real(&q, 14),
			.taken = (uint64_t)db_int(&q, 15),
			.stored = (uint64_t)db_int(&q, 16),
			.lost = (uint64_t)db_int(&q, 17),
			.pending = (uint64_t)db_int(&q, 18),
			.unknown = (uint64_t)db_int(&q, 19),
			.entries = (uint64_t)db_int(&q, 20),
			.bytes = (uint64_t)db_int(&q, 21),
		};
	}
	return db_done(&q, e);
}

void db_epochs_free(struct db_epoch *epochs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(epochs[i].uuid);
		free(epochs[i].source);
		free(epochs[i].machine);
		free(epochs[i].boot_id);
		free(epochs[i].kernel);
		free(epochs[i].command);
	}
	free(epochs);
}

bool db_size(struct db *d, struct db_size *out, struct err *e)
{
	struct db_rows q = db_query(
	    d,
	    "SELECT ifnull(sum(length(counts)), 0), ifnull(sum(entries), 0),"
	    " ifnull(sum(samples), 0), (SELECT count(*) FROM image), (SELECT count(*) FROM"
	    " process), (SELECT ifnull(sum(ifnull(length(symbols), 0) + ifnull(length(code),"
	    " 0)), 0) FROM kept), (SELECT ifnull(sum(end_ns - begin_ns), 0) FROM epoch WHERE"
	    " state > 0) FROM pack JOIN epoch USING (data) WHERE state > 0 AND"
	    " cut <= cuts",
	    "");

	*out = (struct db_size){ 0 };
	if (db_next(&q))
		*out = (struct db_size){
			.pack_bytes = (uint64_t)db_int(&q, 0),
			.entries = (uint64_t)db_int(&q, 1),
			.samples = (uint64_t)db_int(&q, 2),
			.images = (uint64_t)db_int(&q, 3),
			.processes = (uint64_t)db_int(&q, 4),
			.kept_bytes = (uint64_t)db_int(&q, 5),
			.covered_ns = (uint64_t)db_int(&q, 6),
		};
	out->file_bytes = (uint64_t)db_number(d, "PRAGMA page_count", 0) *
			  (uint64_t)db_number(d, "PRAGMA page_size", 0);
	return db_done(&q, e);
}

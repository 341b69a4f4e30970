/* SPDX-License-Identifier: MIT */
/*
 * The writer: a sink whose counts go into the database. Counts are added up in memory; a cut stages
 * them, and steps write the staged counts image by image in short transactions, under a cut number
 * that readers do not look at yet. The last transaction of a cut publishes that number together with
 * the totals. So writing is spread over time, a reader sees whole cuts, and a crash costs what was
 * not published.
 *
 * Where the disk is full, staged counts stay staged, later ones are added to them at the next cut,
 * and writing begins again from the start: each pack is written over its older self. Counts beyond
 * waiting_max are dropped and are part of `lost`.
 *
 * Time: epochs never overlap, so a wall clock that was set back is not followed; time goes on from
 * the last moment that was used, by the steady clock, until the wall clock has caught up.
 */
#include <stdlib.h>
#include <string.h>

#include "collect/db_int.h"
#include "collect/db_names.h"
#include "util/array.h"

#define WAITING_MAX (1u << 18)

/* Totals of an event in the epoch that is open. */
struct total {
	uint32_t id;
	uint64_t taken_base, lost_base; /* of the source, when the epoch began */
	uint64_t stored;		/* published */
	uint64_t dropped;		/* did not fit into memory, and that is published */
	uint64_t dropped_now;		/* since the last publication */
	struct live_event last;		/* as the last published cut said; names are not kept */
};

/* What was cut and is not published yet. */
struct staged {
	struct live_profile *profile; /* NULL: nothing is staged */
	const struct live_count *counts;
	const struct live_stack *stacks;
	const struct live_edge *edges;
	size_t ncounts, nstacks, nedges, at;
	enum { STAGE_COUNTS, STAGE_STACKS, STAGE_EDGES, STAGE_PUBLISH } phase;
	struct live_event *events; /* names are NULL; ids in event_ids */
	uint32_t *event_ids;
	size_t nevents;
	struct live_facts facts; /* texts are our own */
	uint64_t time_ns;
};

struct db_writer {
	struct db *db;
	struct db_writer_options o;
	char *source, *boot_id;
	struct db_clock clock;
	struct db_names *names;
	struct live_profile *buffer; /* counts since the last cut, by the database's numbers */
	struct live_sink into;	     /* of the buffer */
	size_t calls;		     /* at least the number of counts in the buffer */
	bool full;		     /* no count was let in any more since the last cut */
	struct staged staged;
	struct total *totals;
	size_t ntotals;
	int64_t epoch, data, cuts; /* 0: no epoch is open */
	int64_t needed_s;	   /* the second in which the open epoch began */
	uint64_t begin_ns, begin_steady_ns;
	uint64_t published_ns;	     /* the moment of the cut that was published last */
	uint64_t time_ns, steady_ns; /* the last moment used, by both clocks */
	uint64_t lost;
	uint64_t idle_base_ns,
	    idle_ns; /* of the source, when the epoch began and at the last cut */
	double cpu_base_ns, cpu_ns;
};

/* ---- Time ---- */

static uint64_t now(struct db_writer *w)
{
	const uint64_t wall = w->clock.wall_ns(w->clock.self);
	const uint64_t steady = w->clock.steady_ns(w->clock.self);

	w->time_ns = wall >= w->time_ns ? wall : w->time_ns + (steady - w->steady_ns);
	w->steady_ns = steady;
	return w->time_ns;
}

/* ---- The sink ---- */

static struct total *total_of(struct db_writer *w, uint32_t id)
{
	for (size_t i = 0; i < w->ntotals; i++)
		if (w->totals[i].id == id)
			return &w->totals[i];
	struct total *t = ARRAY_ADD(w->totals, w->ntotals);

	*t = (struct total){ .id = id };
	return t;
}

static uint32_t sink_image(void *self, const struct live_image *i)
{
	struct db_writer *w = self;

	return db_names_image(w->names, i);
}

static uint32_t sink_process(void *self, const struct live_process *p)
{
	struct db_writer *w = self;

	return w->o.per_process ? db_names_process(w->names, p) : LIVE_NO_PROCESS;
}

static uint32_t sink_event(void *self, const struct live_event *x)
{
	struct db_writer *w = self;

	return db_names_event(w->names, x);
}

/* Whether one more count fits into memory. `calls` counts too many where counts were added to ones
 * that are there already, so it is put right before anything is refused. */
static bool has_room(struct db_writer *w)
{
	const size_t max = w->o.waiting_max, staged = w->staged.ncounts;

	if (w->calls + staged < max)
		return true;
	if (!w->full) {
		live_counts(w->buffer, &w->calls);
		w->full = w->calls + staged >= max;
	}
	return !w->full;
}

static void sink_count(void *self, const struct live_count *given)
{
	struct db_writer *w = self;
	struct live_count c = *given;

	if (!c.count)
		return;
	if (!has_room(w)) {
		total_of(w, c.event)->dropped_now += c.count;
		w->lost += c.count;
		return;
	}
	if (!w->o.per_process)
		c.process = LIVE_NO_PROCESS;
	if (!w->o.per_cpu)
		c.cpu = LIVE_NO_CPU;
	w->calls++;
	w->into.count(w->into.self, &c);
}

static void sink_stack(void *self, const struct live_stack *given)
{
	struct db_writer *w = self;
	struct live_stack s = *given;

	if (w->full)
		return;
	if (!w->o.per_process)
		s.process = LIVE_NO_PROCESS;
	w->into.stack(w->into.self, &s);
}

static void sink_edge(void *self, const struct live_edge *x)
{
	struct db_writer *w = self;

	if (!w->full)
		w->into.edge(w->into.self, x);
}

/* ---- Staging ---- */

static void unstage(struct staged *s)
{
	live_profile_free(s->profile);
	free(s->events);
	free(s->event_ids);
	free(s->facts.machine);
	free(s->facts.boot_id);
	free(s->facts.kernel);
	free(s->facts.kernel_build_id);
	free(s->facts.command);
	*s = (struct staged){ 0 };
}

static void new_buffer(struct db_writer *w)
{
	w->buffer = live_profile_new();
	w->into = live_profile_sink(w->buffer);
	w->calls = 0;
	w->full = false;
}

/* Adds what is staged to the buffer: it was not published yet, and becomes part of the next cut. */
static void take_back(struct db_writer *w)
{
	const struct staged *s = &w->staged;

	for (size_t i = 0; i < s->ncounts; i++)
		w->into.count(w->into.self, &s->counts[i]);
	for (size_t i = 0; i < s->nstacks; i++)
		w->into.stack(w->into.self, &s->stacks[i]);
	for (size_t i = 0; i < s->nedges; i++)
		w->into.edge(w->into.self, &s->edges[i]);
}

static char *copy(const char *s)
{
	return x_strdup(s ? s : "");
}

static bool sink_cut(void *self, const struct live_event *events, size_t nevents,
		     const struct live_facts *facts, struct err *e)
{
	struct db_writer *w = self;
	struct staged *s = &w->staged;

	if (s->profile)
		take_back(w);
	unstage(s);
	s->profile = w->buffer;
	s->counts = live_counts(s->profile, &s->ncounts);
	s->stacks = live_stacks(s->profile, &s->nstacks);
	s->edges = live_edges(s->profile, &s->nedges);
	s->events = x_calloc(nevents + 1, sizeof(*s->events));
	s->event_ids = x_calloc(nevents + 1, sizeof(*s->event_ids));
	s->nevents = nevents;
	for (size_t i = 0; i < nevents; i++) {
		s->event_ids[i] = db_names_event(w->names, &events[i]);
		s->events[i] = events[i];
		s->events[i].name = s->events[i].actual = NULL;
	}
	s->facts = *facts;
	s->facts.machine = copy(facts->machine);
	s->facts.boot_id = copy(facts->boot_id);
	s->facts.kernel = copy(facts->kernel);
	s->facts.kernel_build_id = copy(facts->kernel_build_id);
	s->facts.command = copy(facts->command);
	s->time_ns = w->o.facts_time ? facts->end_ns : now(w);
	new_buffer(w);
	return !w->o.at_once || db_writer_flush(w, e);
}

struct live_sink db_writer_sink(struct db_writer *w)
{
	return (struct live_sink){
		.self = w,
		.image = sink_image,
		.process = sink_process,
		.event = sink_event,
		.count = sink_count,
		.stack = sink_stack,
		.edge = sink_edge,
		.cut = sink_cut,
	};
}

/* ---- Writing what is staged ---- */

/* A new row, inside a transaction. It is hidden until a cut is published. */
static bool begin_epoch(struct db_writer *w, struct err *e)
{
	char uuid[33];

	if (w->epoch)
		return true;
	db_uuid(uuid);
	const bool pulled = w->o.uuid != NULL;
	const int64_t data = db_new_data(w->db);
	const struct live_facts *f = &w->staged.facts;
	const int64_t begin = (int64_t)(w->o.facts_time ? f->begin_ns : w->begin_ns);

	if (!db_run(w->db, e,
		    "INSERT INTO epoch VALUES (NULL, ?1, ?2, ?3, 0, 1, ?11, ?4, ?5, ?6,"
		    " ?7, ?8, ?9, ?10, ?10, 0, 0, 0, 0, 0)",
		    "siissssssii", pulled ? w->o.uuid : uuid, (int64_t)DB_BUILDING, data, w->source,
		    f->machine, f->boot_id, f->kernel, f->kernel_build_id, f->command, begin,
		    (int64_t)(pulled ? 2 : 0)))
		return false;
	w->epoch = sqlite3_last_insert_rowid(w->db->sql);
	w->needed_s = begin / 1000000000;
	w->data = data;
	w->cuts = 0;
	return true;
}

/* Rows that packs are about to name, which the open epoch needs from now on. */
static uint32_t process_row(struct db_writer *w, uint32_t process, bool *ok, struct err *e)
{
	if (process == LIVE_NO_PROCESS)
		return process;
	const uint32_t row = db_names_row_of_process(w->names, process);

	*ok = *ok && db_names_need(w->names, HELD_PROCESSES, row, w->needed_s, e);
	return row;
}

static uint32_t image_row(struct db_writer *w, uint32_t image, bool *ok, struct err *e)
{
	const uint32_t row = db_names_row_of_image(w->names, image);

	*ok = *ok && db_names_need(w->names, HELD_IMAGES, row, w->needed_s, e);
	return row;
}

/* The counts of the next image. */
static bool write_counts(struct db_writer *w, struct err *e)
{
	struct staged *s = &w->staged;
	const struct live_count *first = &s->counts[s->at];
	size_t n = 0;

	while (s->at + n < s->ncounts && first[n].image == first->image)
		n++;
	struct live_count *c = x_malloc(n * sizeof(*c));

	bool ok = true;

	for (size_t i = 0; i < n && ok; i++) {
		c[i] = first[i];
		c[i].image = image_row(w, c[i].image, &ok, e);
		c[i].process = process_row(w, c[i].process, &ok, e);
	}
	ok = ok && db_put_counts(w->db, w->data, w->cuts + 1, c, n, e);

	free(c);
	s->at += n;
	return ok;
}

/* The stacks of the next event and process. */
static bool write_stacks(struct db_writer *w, struct err *e)
{
	struct staged *s = &w->staged;
	const struct live_stack *first = &s->stacks[s->at];
	size_t n = 0;

	while (s->at + n < s->nstacks && first[n].event == first->event &&
	       first[n].process == first->process)
		n++;
	struct live_stack *stacks = x_malloc(n * sizeof(*stacks));
	bool ok = true;

	for (size_t i = 0; i < n; i++) {
		struct live_frame *frames = (struct live_frame *)first[i].frames;

		stacks[i] = first[i];
		stacks[i].process = process_row(w, stacks[i].process, &ok, e);
		for (size_t k = 0; k < stacks[i].nframes; k++)
			frames[k].image = image_row(w, frames[k].image, &ok, e);
	}
	ok = ok && db_put_stacks(w->db, w->data, w->cuts + 1, stacks, n, e);

	free(stacks);
	s->at += n;
	return ok;
}

/* The edges of the next image. */
static bool write_edges(struct db_writer *w, struct err *e)
{
	struct staged *s = &w->staged;
	const struct live_edge *first = &s->edges[s->at];
	size_t n = 0;

	while (s->at + n < s->nedges && first[n].image == first->image)
		n++;
	struct live_edge *edges = x_malloc(n * sizeof(*edges));

	bool ok = true;

	memcpy(edges, first, n * sizeof(*edges));
	edges->image = image_row(w, first->image, &ok, e);
	ok = ok && db_put_edges(w->db, w->data, w->cuts + 1, edges, n, e);

	free(edges);
	s->at += n;
	return ok;
}

/* ---- Publishing ---- */

static bool write_total(struct db_writer *w, const struct total *t, const struct live_event *x,
			bool closed, struct err *e)
{
	const uint64_t pending = closed ? 0 : x->pending;
	const uint64_t taken = x->taken - t->taken_base - (closed ? x->pending : 0);
	const uint64_t lost = x->lost - t->lost_base + t->dropped;

	return db_run(w->db, e,
		      "INSERT OR REPLACE INTO epoch_event VALUES (?1, ?2, ?3, ?4, ?5,"
		      " ?6, ?7, ?8, ?9)",
		      "iididiiii", w->epoch, (int64_t)t->id, x->rate, (int64_t)x->period,
		      x->running, (int64_t)taken, (int64_t)t->stored, (int64_t)lost,
		      (int64_t)pending);
}

static bool write_epoch(struct db_writer *w, enum db_state state, const struct live_facts *f,
			uint64_t end_ns, struct err *e)
{
	return db_run(w->db, e,
		      "UPDATE epoch SET state = ?2, cuts = ?3, end_ns = max(begin_ns,"
		      " ?4), cpus = ?5, idle_ns = ?6, budget = ?7, interrupt_ns = ?8,"
		      " daemon_cpu_ns = ?9 WHERE id = ?1",
		      "iiiiiiddd", w->epoch, (int64_t)state, w->cuts, (int64_t)end_ns,
		      (int64_t)f->cpus, (int64_t)(f->idle_ns - w->idle_base_ns), f->budget,
		      f->interrupt_ns, f->daemon_cpu_ns - w->cpu_base_ns);
}

/* Makes the staged cut visible: its number and the totals, in one transaction that is on the disk
 * when it returns. */
static bool publish(struct db_writer *w, struct err *e)
{
	struct staged *s = &w->staged;

	/* Totals first: an event that is new makes the array longer. */
	for (size_t i = 0; i < s->nevents; i++)
		total_of(w, s->event_ids[i]);
	const size_t nbefore = w->ntotals;
	struct total *before = x_malloc((nbefore + 1) * sizeof(*before));

	memcpy(before, w->totals, nbefore * sizeof(*before));
	for (size_t i = 0; i < s->ncounts; i++)
		total_of(w, s->counts[i].event)->stored += s->counts[i].count;
	bool ok = db_exec(w->db, "PRAGMA synchronous=FULL", e) && db_begin(w->db, e);

	w->cuts++;
	for (size_t i = 0; ok && i < s->nevents; i++) {
		struct total *t = total_of(w, s->event_ids[i]);

		t->dropped += t->dropped_now;
		t->dropped_now = 0;
		t->last = s->events[i];
		ok = write_total(w, t, &t->last, false, e);
	}
	ok = ok && write_epoch(w, DB_EPOCH_OPEN, &s->facts, s->time_ns, e);
	ok = db_end(w->db, ok, e);
	sqlite3_exec(w->db->sql, "PRAGMA synchronous=NORMAL", NULL, NULL, NULL);
	if (!ok) {
		memcpy(w->totals, before, nbefore * sizeof(*before));
		w->cuts--;
	} else {
		w->published_ns = s->time_ns;
		w->idle_ns = s->facts.idle_ns;
		w->cpu_ns = s->facts.daemon_cpu_ns;
	}
	free(before);
	return ok;
}

/* The next piece of what is staged. */
static bool write_piece(struct db_writer *w, struct err *e)
{
	struct staged *s = &w->staged;

	if (s->phase == STAGE_COUNTS && s->at < s->ncounts)
		return write_counts(w, e);
	if (s->phase == STAGE_STACKS && s->at < s->nstacks)
		return write_stacks(w, e);
	if (s->phase == STAGE_EDGES && s->at < s->nedges)
		return write_edges(w, e);
	s->phase++;
	s->at = 0;
	return true;
}

/* One transaction with names and packs, for about cpu_ns. */
static bool write_slice(struct db_writer *w, uint64_t cpu_ns, struct err *e)
{
	struct staged *s = &w->staged;
	const struct staged before = *s;
	const int64_t epoch = w->epoch, data = w->data;
	const uint64_t start = db_cpu_ns();
	bool names = true, ok = db_begin(w->db, e);

	while (ok && names && db_cpu_ns() - start < cpu_ns)
		ok = db_names_write(w->names, &names, e);
	if (s->profile && !names) {
		ok = ok && begin_epoch(w, e);
		while (ok && s->phase != STAGE_PUBLISH && db_cpu_ns() - start < cpu_ns)
			ok = write_piece(w, e);
	}
	ok = db_end(w->db, ok, e);
	db_names_written(w->names, ok);
	if (!ok) {
		s->phase = before.phase;
		s->at = before.at;
		w->epoch = epoch;
		w->data = data;
	}
	return ok;
}

bool db_writer_step(struct db_writer *w, double cpu_ms, bool *more, struct err *e)
{
	struct staged *s = &w->staged;

	*more = true;
	if ((!s->profile || s->phase != STAGE_PUBLISH) &&
	    !write_slice(w, (uint64_t)(cpu_ms * 1e6), e))
		return false;
	if (s->profile && s->phase == STAGE_PUBLISH) {
		if (!publish(w, e))
			return false;
		unstage(s);
	}
	*more = s->profile != NULL;
	return true;
}

bool db_writer_flush(struct db_writer *w, struct err *e)
{
	bool more = true;

	while (more)
		if (!db_writer_step(w, 50, &more, e))
			return false;
	return true;
}

/* ---- Epochs ---- */

bool db_writer_end_epoch(struct db_writer *w, struct err *e)
{
	if (w->staged.profile)
		return err_set(e, "%s: the epoch cannot end while counts wait to be written",
			       w->db->path);
	/* What was counted since the last cut belongs to the next epoch. */
	const uint64_t end = w->o.facts_time				 ? 0
			     : w->epoch && w->published_ns > w->begin_ns ? w->published_ns
									 : now(w);
	bool ok = true;

	if (w->epoch) {
		ok = db_begin(w->db, e);
		for (size_t i = 0; ok && i < w->ntotals; i++)
			ok = write_total(w, &w->totals[i], &w->totals[i].last, true, e);
		ok = ok && db_run(w->db, e,
				  "UPDATE epoch SET state = ?2, end_ns = max(end_ns, ?3)"
				  " WHERE id = ?1",
				  "iii", w->epoch, (int64_t)DB_CLOSED, (int64_t)end);
		if (!db_end(w->db, ok, e))
			return false;
	}
	for (size_t i = 0; i < w->ntotals; i++) {
		struct total *t = &w->totals[i];

		t->taken_base = t->last.taken - t->last.pending;
		t->lost_base = t->last.lost;
		t->stored = t->dropped = 0;
	}
	w->idle_base_ns = w->idle_ns;
	w->cpu_base_ns = w->cpu_ns;
	w->epoch = w->data = w->cuts = 0;
	w->begin_ns = end;
	db_names_begin(w->names, (int64_t)(w->begin_ns / 1000000000));
	w->begin_steady_ns = w->clock.steady_ns(w->clock.self);
	return true;
}

struct db_writer *db_writer_open(struct db *d, const struct db_writer_options *o, struct err *e)
{
	struct db_writer *w = x_calloc(1, sizeof(*w));

	w->db = d;
	w->o = *o;
	w->source = copy(o->source);
	w->boot_id = copy(o->boot_id);
	w->clock = o->clock ? *o->clock : db_real_clock;
	if (!w->o.waiting_max)
		w->o.waiting_max = WAITING_MAX;
	w->names = db_names_new(d, w->boot_id, o->kept_max_bytes);
	new_buffer(w);
	/* Time begins where the last epoch ended. */
	w->steady_ns = w->clock.steady_ns(w->clock.self);
	w->time_ns = (uint64_t)db_number(
	    d, "SELECT ifnull(max(end_ns), 0) FROM epoch WHERE source = '" DB_SOURCE_DAEMON "'", 0);
	w->begin_ns = now(w);
	w->begin_steady_ns = w->steady_ns;
	db_names_begin(w->names, w->o.facts_time ? 0 : (int64_t)(w->begin_ns / 1000000000));
	d->writer = w;
	bool more;

	if (db_writer_step(w, 1, &more, e))
		return w;
	db_writer_drop(w);
	return NULL;
}

void db_writer_drop(struct db_writer *w)
{
	w->db->writer = NULL;
	unstage(&w->staged);
	live_profile_free(w->buffer);
	db_names_free(w->names);
	free(w->totals);
	free(w->source);
	free(w->boot_id);
	free(w);
}

/* ---- Numbers ---- */

static void hold_counts(const struct live_count *c, size_t n, struct held *h)
{
	for (size_t i = 0; i < n; i++)
		held_mark(h, h->kind, h->kind == HELD_IMAGES ? c[i].image : c[i].process);
}

static void hold_stacks(const struct live_stack *s, size_t n, struct held *h)
{
	for (size_t i = 0; i < n; i++) {
		held_mark(h, HELD_PROCESSES, s[i].process);
		for (size_t k = 0; k < s[i].nframes; k++)
			held_mark(h, HELD_IMAGES, s[i].frames[k].image);
	}
}

static void hold_edges(const struct live_edge *x, size_t n, struct held *h)
{
	for (size_t i = 0; i < n; i++)
		held_mark(h, HELD_IMAGES, x[i].image);
}

void db_writer_hold(struct db_writer *w, struct held *h)
{
	size_t n;

	hold_counts(w->staged.counts, w->staged.ncounts, h);
	hold_stacks(w->staged.stacks, w->staged.nstacks, h);
	hold_edges(w->staged.edges, w->staged.nedges, h);
	const struct live_count *counts = live_counts_unsorted(w->buffer, &n);

	hold_counts(counts, n, h);
	const struct live_stack *stacks = live_stacks(w->buffer, &n);

	hold_stacks(stacks, n, h);
	const struct live_edge *edges = live_edges(w->buffer, &n);

	hold_edges(edges, n, h);
	db_names_hold(w->names, h);
}

void db_writer_forget(struct db_writer *w, const struct held *gone)
{
	db_names_forget(w->names, gone);
}

uint64_t db_writer_begin_ns(const struct db_writer *w)
{
	return w->begin_ns;
}

bool db_writer_close(struct db_writer *w, struct err *e)
{
	const bool ok = db_writer_flush(w, e) && db_writer_end_epoch(w, e);

	db_writer_drop(w);
	return ok;
}

struct db_writer_status db_writer_status(const struct db_writer *w)
{
	return (struct db_writer_status){
		.epoch = (uint64_t)w->epoch,
		.epoch_begin_ns = w->begin_ns,
		.cuts = (uint64_t)w->cuts,
		.waiting = w->calls + w->staged.ncounts,
		.lost = w->lost,
		.age_ns = w->clock.steady_ns(w->clock.self) - w->begin_steady_ns,
		.behind = w->staged.profile != NULL,
	};
}

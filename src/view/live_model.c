/* SPDX-License-Identifier: MIT */
/*
 * Reads a live profile from a store: the samples that pass the filters, summed up by what a view
 * shows a row for.
 */
#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "util/text.h"
#include "view/live.h"
#include "view/model.h"

bool live_is(struct store *s)
{
	char *kind = model_run_text(s, "kind", "");
	const bool live = strcmp(kind, "live") == 0;

	free(kind);
	return live;
}

/* What joins a sample to its names, and the filters: ?1 image, ?2 process (name), ?3 pid, ?4
 * container, ?5 user, ?6 processor. NULL and -1 let everything pass. */
#define FROM_SAMPLES                                                                               \
	" FROM live_count c LEFT JOIN instruction n ON n.pc = c.pc LEFT JOIN function f ON "       \
	"f.id = n.function LEFT JOIN image i ON i.id = f.image LEFT JOIN live_image l ON "         \
	"l.id = i.id LEFT JOIN live_process p ON p.id = c.process "                                \
	"LEFT JOIN live_thread t ON t.id = c.process WHERE "                                       \
	"(?1 IS NULL OR i.name = ?1 OR i.build_id = ?1 OR substr(i.name, -length(?1) - 1) = '/' "  \
	"|| ?1 OR ((instr(?1, '*') OR instr(?1, '?')) AND (i.name GLOB ?1 OR i.name GLOB '*/' || " \
	"?1))) AND (?2 IS NULL OR p.comm = ?2 OR (?3 >= 0 AND p.pid = ?3) OR p.exe = ?2 OR "       \
	"substr(p.exe, -length(?2) - 1) = '/' || ?2) AND (?4 IS NULL OR p.container = ?4) AND "    \
	"(?5 < 0 OR p.uid = ?5) AND (?6 < 0 OR c.cpu = ?6)"
#define FILTER_TYPES "ssisii"
#define FILTER_VALUES(o)                                                                           \
	(o)->image, (o)->process, number_of((o)->process), (o)->container, user_of((o)->user),     \
	    (o)->cpu ? (int64_t) * (o)->cpu : -1

/* The number that a filter is; -1: it is none, or not a number. */
static int64_t number_of(const char *text)
{
	char *end = NULL;
	const long long n = text ? strtoll(text, &end, 10) : -1;

	return text && *text && !*end && n >= 0 && n <= UINT32_MAX ? (int64_t)n : -1;
}

/* A user by number or by name on this machine; -1: all, or there is no such user. */
static int64_t user_of(const char *text)
{
	const struct passwd *known = text && number_of(text) < 0 ? getpwnam(text) : NULL;

	return known ? (int64_t)known->pw_uid : number_of(text);
}

static bool check_filters(const struct view_options *o, struct err *e)
{
	if (o->user && user_of(o->user) < 0)
		return err_set(e, "--user %s: there is no such user here; give the number",
			       o->user);
	return true;
}

/* What a row is: its key, its name, and whether it lies in one image. */
static const struct {
	const char *key, *name, *image;
} by_what[] = {
	[LIVE_BY_PROCEDURE] = { "f.id", "f.name", "i.name" },
	[LIVE_BY_IMAGE] = { "i.id", "i.name", "NULL" },
	[LIVE_BY_PROCESS] = { "p.pid, p.start_ns, p.exec_id",
			      "coalesce(p.comm || ' (' || p.pid || ')', '[all processes]')",
			      "nullif(p.exe, '')" },
	[LIVE_BY_CONTAINER] = { "p.container", "coalesce(nullif(p.container, ''), '[host]')",
				"NULL" },
	[LIVE_BY_LINE] = { "n.file, n.line, CASE WHEN n.line > 0 THEN 0 ELSE f.id END",
			   "CASE WHEN n.line > 0 THEN n.file || ':' || n.line ELSE f.name END",
			   "i.name" },
	[LIVE_BY_THREAD] = { "t.id", "coalesce(t.name || ' (' || t.tid || ')', '[all threads]')",
			     "nullif(p.exe, '')" },
};

static bool no_event(struct store *s, const char *name, struct err *e)
{
	char known[200] = "";
	struct store_rows r = store_query(s, "SELECT name FROM live_event ORDER BY id", "");

	for (size_t n = 0; store_next(&r) && n < sizeof(known);)
		n += (size_t)snprintf(known + n, sizeof(known) - n, " %s", store_shown(&r, 0));
	store_done(&r, NULL);
	return err_set(e, "there is no event '%s' in %s; it has%s", name, store_path(s), known);
}

static bool read_events(struct store *s, const char *only, struct live_model *m, struct err *e)
{
	struct store_rows r =
	    store_query(s,
			"SELECT id, name, actual, rate, running, period, taken, stored, lost, "
			"pending, unknown FROM live_event WHERE ?1 IS NULL OR lower(name) = "
			"lower(?1) ORDER BY id",
			"s", only);

	while (store_next(&r))
		*ARRAY_ADD(m->events, m->nevents) = (struct live_event_row){
			.id = store_int(&r, 0),
			.name = model_copy(&r, 1),
			.actual = model_copy(&r, 2),
			.rate = store_double(&r, 3),
			.running = store_double(&r, 4),
			.period = (uint64_t)store_int(&r, 5),
			.taken = (uint64_t)store_int(&r, 6),
			.stored = (uint64_t)store_int(&r, 7),
			.lost = (uint64_t)store_int(&r, 8),
			.pending = (uint64_t)store_int(&r, 9),
			.unknown = (uint64_t)store_int(&r, 10),
		};
	if (!store_done(&r, e))
		return false;
	return m->nevents || !only || no_event(s, only, e);
}

static size_t event_index(const struct live_model *m, int64_t id)
{
	size_t i = 0;

	while (i < m->nevents && m->events[i].id != id)
		i++;
	return i;
}

static uint64_t first_samples(const struct live_model *m, const struct live_row *r)
{
	return m->nevents ? r->samples[0] : 0;
}

static int by_samples(const void *a, const void *b, void *ctx)
{
	const struct live_model *m = ctx;
	const struct live_row *x = a, *y = b;

	for (size_t i = 0; i < m->nevents; i++)
		if (x->samples[i] != y->samples[i])
			return x->samples[i] < y->samples[i] ? 1 : -1;
	const int order = strcmp(x->name, y->name);

	return order ? order : strcmp(x->image ? x->image : "", y->image ? y->image : "");
}

static bool read_rows(struct store *s, const struct view_options *o, enum live_by by,
		      struct live_model *m, struct err *e)
{
	const bool function = by == LIVE_BY_PROCEDURE;
	char *sql =
	    x_asprintf("SELECT %s, %s, c.event, sum(c.count), %s, l.names, dense_rank() OVER "
		       "(ORDER BY %s)" FROM_SAMPLES " GROUP BY %s, c.event ORDER BY 7",
		       function ? "f.id" : "-1", by_what[by].name, by_what[by].image,
		       by_what[by].key, by_what[by].key);
	struct store_rows r = store_query(s, sql, FILTER_TYPES, FILTER_VALUES(o));
	int64_t last = -1;

	free(sql);
	while (store_next(&r)) {
		const size_t event = event_index(m, store_int(&r, 2));
		const uint64_t n = (uint64_t)store_int(&r, 3);

		if (event == m->nevents || !n)
			continue;
		if (store_int(&r, 6) != last) {
			char *name = model_copy(&r, 1);

			*ARRAY_ADD(m->rows, m->nrows) = (struct live_row){
				.id = function && !store_is_null(&r, 0) ? store_int(&r, 0) : -1,
				.name = name ? name : x_strdup("[unknown]"),
				.image = model_copy(&r, 4),
				.names = model_copy(&r, 5),
				.samples = x_calloc(m->nevents, sizeof(uint64_t)),
			};
			last = store_int(&r, 6);
		}
		m->rows[m->nrows - 1].samples[event] += n;
		m->events[event].selected += n;
	}
	if (m->nrows)
		qsort_r(m->rows, m->nrows, sizeof(*m->rows), by_samples, m);
	return store_done(&r, e);
}

/* Says what the profile does not keep apart, if a view asks for it. */
static bool check_kept(struct store *s, const struct view_options *o, enum live_by by,
		       struct err *e)
{
	const bool any = store_number(s, "SELECT count(*) FROM live_count", 0) > 0;
	const bool process = o->process || o->container || o->user || by == LIVE_BY_PROCESS ||
			     by == LIVE_BY_CONTAINER;

	if (any && by == LIVE_BY_THREAD &&
	    store_number(s, "SELECT count(*) FROM live_thread", 0) == 0)
		return err_set(e,
			       "%s keeps the samples of all threads of a process together: "
			       "`culprit record --per-thread` keeps them apart",
			       store_path(s));

	if (any && process && store_number(s, "SELECT max(process) FROM live_count", -1) < 0)
		return err_set(e,
			       "%s keeps the samples of all processes together: `culprit record "
			       "--per-process` keeps processes, containers and users apart",
			       store_path(s));
	if (any && o->cpu && store_number(s, "SELECT max(cpu) FROM live_count", -1) < 0)
		return err_set(e,
			       "%s keeps the samples of all processors together: `culprit record "
			       "--per-cpu` keeps them apart",
			       store_path(s));
	return true;
}

static void describe_filters(const struct view_options *o, struct live_model *m)
{
	char processor[24];
	const struct {
		const char *name, *value;
	} texts[] = { { "image", o->image },
		      { "process", o->process },
		      { "container", o->container },
		      { "user", o->user },
		      { "processor", o->cpu ? processor : NULL } };
	char *all = x_strdup("");

	snprintf(processor, sizeof(processor), "%" PRIu64, o->cpu ? *o->cpu : 0);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		if (!texts[i].value)
			continue;
		char *shown = text_shown(texts[i].value),
		     *longer = x_asprintf("%s, %s %s", all, texts[i].name, shown);

		free(shown);
		free(all);
		all = longer;
	}
	m->filter = all;
}

bool live_read(struct store *s, const struct view_options *o, enum live_by by, struct live_model *m,
	       struct err *e)
{
	*m = (struct live_model){
		.machine = model_run_text(s, "machine", ""),
		.command = model_run_text(s, "program", ""),
		.kernel = model_run_text(s, "kernel", ""),
		.begin_ns =
		    (uint64_t)store_number(s, "SELECT value FROM run WHERE key = 'begin_ns'", 0),
		.end_ns =
		    (uint64_t)store_number(s, "SELECT value FROM run WHERE key = 'end_ns'", 0),
		.cpus = (uint64_t)store_number(s, "SELECT value FROM run WHERE key = 'cpus'", 0),
		.idle_ns =
		    (uint64_t)store_number(s, "SELECT value FROM run WHERE key = 'idle_ns'", 0),
	};
	describe_filters(o, m);
	const bool ok = check_filters(o, e) && check_kept(s, o, by, e) &&
			read_events(s, o->event, m, e) && read_rows(s, o, by, m, e);

	if (!ok)
		live_free(m);
	return ok;
}

void live_free(struct live_model *m)
{
	for (size_t i = 0; i < m->nevents; i++) {
		free(m->events[i].name);
		free(m->events[i].actual);
	}
	for (size_t i = 0; i < m->nrows; i++) {
		free(m->rows[i].name);
		free(m->rows[i].image);
		free(m->rows[i].names);
		free(m->rows[i].samples);
	}
	free(m->events);
	free(m->rows);
	free(m->machine);
	free(m->command);
	free(m->kernel);
	free(m->filter);
	*m = (struct live_model){ .machine = NULL };
}

uint64_t live_total(const struct live_model *m)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < m->nrows; i++)
		sum += first_samples(m, &m->rows[i]);
	return sum;
}

double live_seconds(const struct live_event_row *v)
{
	const bool clock = !strcmp(v->actual, "cpu-clock") || !strcmp(v->actual, "task-clock");

	return clock ? (double)v->period / 1e9 : 0;
}

/* "2026-11-16 14:00:00 to 14:00:10 UTC"; "" if the times are not known. */
static void time_span(const struct live_model *m, char *buf, size_t size_bytes)
{
	const time_t begin = (time_t)(m->begin_ns / 1000000000u),
		     end = (time_t)(m->end_ns / 1000000000u);
	struct tm b, e;
	char from[48], to[48];

	buf[0] = '\0';
	if (!m->begin_ns || m->end_ns < m->begin_ns || !gmtime_r(&begin, &b) || !gmtime_r(&end, &e))
		return;
	const bool same_day = b.tm_year == e.tm_year && b.tm_yday == e.tm_yday;

	strftime(from, sizeof(from), "%Y-%m-%d %H:%M:%S", &b);
	strftime(to, sizeof(to), same_day ? "%H:%M:%S" : "%Y-%m-%d %H:%M:%S", &e);
	snprintf(buf, size_bytes, ", %s to %s UTC (%.1f s)", from, to,
		 (double)(m->end_ns - m->begin_ns) / 1e9);
}

static double share_of(uint64_t part, uint64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
}

void live_title(struct doc *d, const struct live_model *m)
{
	uint64_t taken = 0, stored = 0, lost = 0, pending = 0, unknown = 0;
	char span[128], a[32], b[32], c[32], waiting[64] = "";

	for (size_t i = 0; i < m->nevents; i++) {
		const struct live_event_row *v = &m->events[i];

		taken += v->taken;
		stored += v->stored;
		lost += v->lost;
		pending += v->pending;
		unknown += v->unknown;
	}
	time_span(m, span, sizeof(span));
	if (pending)
		snprintf(waiting, sizeof(waiting), ", %s pending", number_commas(pending, a));
	doc_line(d, *m->machine ? m->machine : "[unknown machine]",
		 "%s: %s samples, lost %s (%.2f%%), unknown %s (%.2f%%)%s%s", span,
		 number_commas(stored, a), number_commas(lost, b), share_of(lost, taken),
		 number_commas(unknown, c), share_of(unknown, stored), waiting, m->filter);
	doc_object(d, "profile");
	doc_text(d, "kind", "live");
	doc_text(d, "machine", m->machine);
	doc_text(d, "command", m->command);
	doc_text(d, "kernel", m->kernel);
	doc_integer(d, "begin_ns", (int64_t)m->begin_ns);
	doc_integer(d, "end_ns", (int64_t)m->end_ns);
	doc_integer(d, "cpus", (int64_t)m->cpus);
	doc_integer(d, "idle_ns", (int64_t)m->idle_ns);
	doc_array(d, "events");
	for (size_t i = 0; i < m->nevents; i++) {
		const struct live_event_row *v = &m->events[i];

		doc_object(d, NULL);
		doc_text(d, "name", v->name);
		doc_text(d, "actual", v->actual);
		doc_real(d, "rate", v->rate);
		doc_integer(d, "period", (int64_t)v->period);
		doc_real(d, "running", v->running);
		doc_integer(d, "taken", (int64_t)v->taken);
		doc_integer(d, "stored", (int64_t)v->stored);
		doc_integer(d, "lost", (int64_t)v->lost);
		doc_integer(d, "pending", (int64_t)v->pending);
		doc_integer(d, "unknown", (int64_t)v->unknown);
		doc_integer(d, "selected", (int64_t)v->selected);
		doc_close(d);
	}
	doc_close(d);
	doc_close(d);
}

void live_add_nameless(struct doc *d, const struct live_model *m)
{
	static const struct {
		const char *names, *why;
	} reasons[] = {
		{ "changed", "have no names: the file is not the one that was sampled" },
		{ "missing", "have no names: the file is not there" },
		{ "unchecked", "have names from today's file, which may be another build" },
	};

	for (size_t k = 0; k < ARRAY_LEN(reasons); k++) {
		uint64_t samples = 0, images = 0;
		const char *first = NULL, *last = NULL;

		for (size_t i = 0; i < m->nrows; i++) {
			const struct live_row *r = &m->rows[i];

			if (!r->names || strcmp(r->names, reasons[k].names) || !r->image)
				continue;
			samples += first_samples(m, r);
			images += !last || strcmp(last, r->image);
			first = first ? first : r->image;
			last = r->image;
		}
		if (!images)
			continue;
		doc_note(d, TERM_YELLOW, "%.2f%% of the samples %s: %s%s",
			 share_of(samples, live_total(m)), reasons[k].why, first,
			 images > 1 ? ", …" : "");
	}
}

/* ---- Code ---- */

static bool read_instructions(struct store *s, int64_t function, size_t nevents,
			      struct live_function *c, struct err *e)
{
	struct store_rows r = store_query(
	    s,
	    "SELECT n.pc, n.pc - i.bias, j.target, n.disasm, n.file, n.line, (SELECT name FROM "
	    "inlined x WHERE x.pc = n.pc AND x.depth = 0), g.taken, g.not_taken FROM instruction n "
	    "JOIN function f ON f.id = n.function LEFT JOIN image i ON i.id = f.image LEFT JOIN "
	    "live_jump j ON j.pc = n.pc LEFT JOIN live_edge g ON g.pc = n.pc WHERE n.function = ?1 "
	    "ORDER BY n.pc",
	    "i", function);

	while (store_next(&r))
		*ARRAY_ADD(c->insts, c->count) = (struct live_inst){
			.pc = (uint64_t)store_int(&r, 0),
			.address = (uint64_t)store_int(&r, 1),
			.target = (uint64_t)store_int(&r, 2),
			.disasm = model_copy(&r, 3),
			.file = model_copy(&r, 4),
			.line = (int)store_int(&r, 5),
			.inlined = model_copy(&r, 6),
			.taken = (uint64_t)store_int(&r, 7),
			.not_taken = (uint64_t)store_int(&r, 8),
			.samples = x_calloc(nevents, sizeof(uint64_t)),
		};
	return store_done(&r, e);
}

static bool read_code_samples(struct store *s, const struct view_options *o,
			      const struct live_model *m, int64_t function, struct live_function *c,
			      struct err *e)
{
	struct store_rows r = store_query(s,
					  "SELECT c.pc, c.event, sum(c.count)" FROM_SAMPLES
					  " AND f.id = ?7 GROUP BY c.pc, c.event",
					  FILTER_TYPES "i", FILTER_VALUES(o), function);

	while (store_next(&r)) {
		const uint64_t pc = (uint64_t)store_int(&r, 0);
		const size_t at = ARRAY_SEARCH(c->count, i, c->insts[i].pc < pc);
		const size_t event = event_index(m, store_int(&r, 1));

		if (at < c->count && c->insts[at].pc == pc && event < m->nevents)
			c->insts[at].samples[event] += (uint64_t)store_int(&r, 2);
	}
	return store_done(&r, e);
}

bool live_read_code(struct store *s, const struct view_options *o, const struct live_model *m,
		    int64_t function, struct live_function *c, struct err *e)
{
	struct store_rows r = store_query(s,
					  "SELECT f.name, i.name, f.file, f.line FROM function f "
					  "LEFT JOIN image i ON i.id = f.image WHERE f.id = ?1",
					  "i", function);

	*c = (struct live_function){ .function = NULL };
	if (store_next(&r)) {
		c->function = model_copy(&r, 0);
		c->image = model_copy(&r, 1);
		c->file = model_copy(&r, 2);
		c->line = (int)store_int(&r, 3);
	}
	const bool ok = store_done(&r, e) && read_instructions(s, function, m->nevents, c, e) &&
			read_code_samples(s, o, m, function, c, e);

	if (!ok)
		live_free_code(c);
	return ok;
}

void live_free_code(struct live_function *c)
{
	for (size_t i = 0; i < c->count; i++) {
		free(c->insts[i].disasm);
		free(c->insts[i].file);
		free(c->insts[i].inlined);
		free(c->insts[i].samples);
	}
	free(c->insts);
	free(c->function);
	free(c->image);
	free(c->file);
	*c = (struct live_function){ .function = NULL };
}

/* SPDX-License-Identifier: MIT */
/* culprit db: what is in a profile database, and everything that is done to one by hand. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cmd/reading.h"
#include "collect/db.h"
#include "collect/fleet.h"
#include "collect/live_export.h"
#include "collect/perfdata.h"
#include "names/demangle.h"
#include "util/nearest.h"
#include "util/text.h"
#include "view/doc.h"

struct db_values {
	struct reading reading;
	struct selecting selecting;
	const char *event, *output, *keep, *fleet, *as;
	uint64_t max_bytes;
	int format, group;
	bool per_process;
};

static const char *const formats[] = { "folded", "perf-script", NULL };
static const char *const groups[] = { "image", "function", "machine", "kernel", "version", NULL };

/* What a verb works with. */
struct job {
	const struct db_values *v;
	const char *path; /* NULL: none was given */
	char **args;	  /* behind the path */
	int nargs;
};

static struct db *open_db(const struct job *j, enum db_mode mode, struct err *e)
{
	return db_open(j->path, mode, NULL, e);
}

static void print_time(char out[32], uint64_t ns)
{
	const time_t t = (time_t)(ns / 1000000000u);
	struct tm tm;

	strftime(out, 32, "%Y-%m-%d %H:%M:%S", gmtime_r(&t, &tm));
}

/* ---- list and show ---- */

static bool print_doc(const struct job *j, struct doc *d, struct err *e)
{
	struct view_options o;
	const bool ok = reading_options("db", &j->v->reading, &o) && doc_print(d, &o, e);

	doc_free(d);
	return ok;
}

static void epoch_row(struct doc_table *t, const struct db_epoch *x)
{
	char begin[32];
	char *machine = text_shown(x->machine), *source = text_shown(x->source),
	     *kernel = text_shown(x->kernel);

	print_time(begin, x->begin_ns);
	doc_row(t);
	cell_integer(t, (int64_t)x->id);
	cell_text(t, begin);
	cell_real(t, (double)(x->end_ns - x->begin_ns) / 1e9);
	cell_text(t, machine);
	cell_integer(t, (int64_t)x->stored);
	cell_integer(t, (int64_t)x->lost);
	cell_integer(t, (int64_t)x->pending);
	cell_integer(t, (int64_t)x->unknown);
	cell_integer(t, (int64_t)x->entries);
	cell_real(t, x->entries ? (double)x->bytes / (double)x->entries : 0);
	cell_integer(t, (int64_t)x->parts);
	cell_text(t, x->open ? "open" : x->cuts ? "closed" : "packed");
	cell_text(t, source);
	cell_integer(t, (int64_t)x->taken);
	cell_text(t, kernel);
	cell_text(t, x->boot_id);
	cell_text(t, x->uuid);
	cell_boolean(t, x->pushed);
	free(machine);
	free(source);
	free(kernel);
}

static struct doc_table *epoch_table(struct doc *d)
{
	static const struct doc_column columns[] = {
		{ DOC_DATA("epoch"), DOC_SHOWN("epoch", "%.0f", 5), .before = "" },
		{ DOC_DATA("begin"), DOC_SHOWN("begin (UTC)", NULL, -19) },
		{ DOC_DATA("seconds"), DOC_SHOWN("seconds", "%.0f", 7) },
		{ DOC_DATA("machine"), DOC_SHOWN("machine", NULL, -12) },
		{ DOC_DATA("stored"), DOC_SHOWN("samples", "%.0f", 10) },
		{ DOC_DATA("lost"), DOC_SHOWN("lost", "%.0f", 7) },
		{ DOC_DATA("pending"), DOC_SHOWN("pending", "%.0f", 7) },
		{ DOC_DATA("unknown"), DOC_SHOWN("unknown", "%.0f", 7) },
		{ DOC_DATA("counts"), DOC_SHOWN("counts", "%.0f", 8) },
		{ DOC_DATA("bytes_per_count"), DOC_SHOWN("bytes/c", "%.2f", 7) },
		{ DOC_DATA("parts"), DOC_SHOWN("parts", "%.0f", 5) },
		{ DOC_DATA("state"), DOC_SHOWN("state", NULL, -6) },
		{ DOC_DATA("source"), DOC_SHOWN("source", NULL, -12), .ragged = true },
		{ DOC_DATA("taken") },
		{ DOC_DATA("kernel") },
		{ DOC_DATA("boot_id") },
		{ DOC_DATA("uuid") },
		{ DOC_DATA("pushed") },
	};

	return DOC_TABLE(d, columns, .key = "", .heads = true);
}

static bool verb_list(const struct job *j, struct err *e)
{
	struct db *db = open_db(j, DB_READ, e);
	struct db_epoch *epochs = NULL;
	size_t n = 0;
	bool ok = db && db_epochs(db, &epochs, &n, e);

	if (ok) {
		struct doc *d = doc_new();
		struct doc_table *t = epoch_table(d);

		for (size_t i = 0; i < n; i++)
			epoch_row(t, &epochs[i]);
		ok = print_doc(j, d, e);
	}
	db_epochs_free(epochs, n);
	db_close(db);
	return ok;
}

#define PERF_BYTES 58 /* that perf record writes for a sample */

/* Of the files of the images that are here. */
static uint64_t image_bytes(const struct live_profile *p, size_t *n)
{
	uint64_t sum = 0;
	struct stat st;

	*n = 0;
	for (size_t i = 0; i < live_images(p); i++) {
		const char *path = live_image(p, (uint32_t)i)->path;

		if (!path || stat(path, &st) < 0 || !S_ISREG(st.st_mode))
			continue;
		sum += (uint64_t)st.st_size;
		++*n;
	}
	return sum;
}

/* What a day takes at this rate, beside what perf record would, and beside the images themselves. */
static void put_day(struct doc *d, const struct db_size *s, const struct live_profile *p)
{
	const double days = (double)s->covered_ns / 86400e9, mb = 1e6;
	size_t n;
	const double images = (double)image_bytes(p, &n);

	if (days <= 0 || !s->samples)
		return;
	doc_line(d, "a day",
		 ": %.1f MB at this rate, of which %.1f for counts; perf record: %.0f MB; the %zu "
		 "images that are here: %.1f MB",
		 (double)s->file_bytes / days / mb, (double)s->pack_bytes / days / mb,
		 (double)s->samples * PERF_BYTES / days / mb, n, images / mb);
}

static bool verb_show(const struct job *j, struct err *e)
{
	struct db *db = open_db(j, DB_READ, e);
	struct db_size s;
	struct selected sel;
	struct live_profile *p = NULL;
	bool ok = db && db_size(db, &s, e) && selecting_make(&j->v->selecting, &sel, e);

	if (ok) {
		sel.selection.event = j->v->event;
		p = db_select(db, &sel.selection, e);
		ok = p != NULL;
	}
	if (ok) {
		const struct live_facts *f = live_facts(p);
		struct doc *d = doc_new();
		char *machine = text_shown(f->machine), *kernel = text_shown(f->kernel);
		char begin[32], end[32];

		print_time(begin, f->begin_ns);
		print_time(end, f->end_ns);
		doc_line(d, machine, " %s, %s to %s UTC, %u processors", kernel, begin, end,
			 f->cpus);
		for (size_t i = 0; i < live_events(p); i++) {
			const struct live_event *x = live_event(p, i);

			doc_line(d, x->name,
				 " (%s): %llu samples taken = %llu stored + %llu lost + %llu "
				 "pending",
				 x->actual, (unsigned long long)x->taken,
				 (unsigned long long)x->stored, (unsigned long long)x->lost,
				 (unsigned long long)x->pending);
		}
		doc_line(d, "database",
			 ": %llu bytes, of which %llu for %llu counts (%.2f bytes each), %llu for "
			 "kept symbols; %llu images, %llu processes",
			 (unsigned long long)s.file_bytes, (unsigned long long)s.pack_bytes,
			 (unsigned long long)s.entries,
			 s.entries ? (double)s.pack_bytes / (double)s.entries : 0,
			 (unsigned long long)s.kept_bytes, (unsigned long long)s.images,
			 (unsigned long long)s.processes);
		put_day(d, &s, p);
		doc_text(d, "machine", machine);
		doc_integer(d, "file_bytes", (int64_t)s.file_bytes);
		doc_integer(d, "pack_bytes", (int64_t)s.pack_bytes);
		doc_integer(d, "counts", (int64_t)s.entries);
		doc_integer(d, "samples", (int64_t)s.samples);
		doc_integer(d, "images", (int64_t)s.images);
		ok = print_doc(j, d, e);
		free(machine);
		free(kernel);
	}
	live_profile_free(p);
	db_close(db);
	return ok;
}

/* ---- Keeping ---- */

static bool verb_merge(const struct job *j, struct err *e)
{
	static const struct number_range range = { 1, INT64_MAX, NUMBER_PLAIN };
	uint64_t ids[64];
	size_t n = 0;

	for (; n < ARRAY_LEN(ids) && j->args[n]; n++)
		if (!number_check("epoch", j->args[n], &range, &ids[n], e))
			return false;
	if (n < 2 || j->args[n])
		return err_set(e,
			       "name the epochs to merge, 2 to 64 of them: culprit db merge %s 1 2",
			       j->path);
	struct db *db = open_db(j, DB_OWN, e);
	const bool ok = db && db_merge(db, ids, n, e);

	db_close(db);
	return ok;
}

static bool keep(const struct job *j, const struct db_keep *k, struct err *e)
{
	struct db *db = db_is(j->path) ? open_db(j, DB_OWN, e) : NULL;
	bool more = db != NULL, ok = more;

	if (!db && !*e->text)
		err_set(e, "%s is not a profile database", j->path);
	while (ok && more)
		ok = db_keep_step(db, k, 100, &more, e);
	ok = ok && db_vacuum(db, e);
	db_close(db);
	return ok;
}

static bool verb_prune(const struct job *j, struct err *e)
{
	struct db_keep k = { .now_ns = db_real_clock.wall_ns(NULL), .max_bytes = j->v->max_bytes };

	if (!j->v->keep && !j->v->max_bytes)
		return err_set(e, "say what to keep: --keep 30d, --max-size 100M, or both");
	if (j->v->keep)
		selecting_duration(j->v->keep, &k.max_age_ns);
	return keep(j, &k, e);
}

static bool verb_compact(const struct job *j, struct err *e)
{
	const struct db_keep k = { .now_ns = db_real_clock.wall_ns(NULL),
				   .day_after_ns = 86400000000000u };

	return keep(j, &k, e);
}

static void say_line(void *self, const char *line)
{
	char *shown = text_shown(line);

	puts(shown);
	free(shown);
	(void)self;
}

static bool verb_check(const struct job *j, struct err *e)
{
	struct db *db = open_db(j, DB_READ, e);
	const bool ok = db && (db_check(db, say_line, NULL) ||
			       err_set(e, "%s is damaged; put back a copy of the folder", j->path));

	db_close(db);
	if (ok)
		puts("clean");
	return ok;
}

/* ---- Export and import ---- */

static bool verb_export(const struct job *j, struct err *e)
{
	struct selected sel;
	struct db *db = selecting_make(&j->v->selecting, &sel, e) ? open_db(j, DB_READ, e) : NULL;

	sel.selection.event = j->v->event;
	struct live_profile *p = db ? db_select(db, &sel.selection, e) : NULL;
	FILE *out = !p ? NULL : j->v->output ? fopen(j->v->output, "we") : stdout;
	bool ok = p && out;

	if (p && !out)
		err_set(e, "cannot write %s: %s", j->v->output, strerror(errno));
	const struct live_export o = { j->v->event, j->v->reading.raw_names };

	ok = ok && (j->v->format ? live_export_perf_script : live_export_folded)(p, &o, out, e);
	if (out && out != stdout && fclose(out))
		ok = err_set(e, "cannot write %s: %s", j->v->output, strerror(errno));
	live_profile_free(p);
	db_close(db);
	return ok;
}

static void say_note(void *self, const char *line)
{
	char *shown = text_shown(line);

	warn("db: %s", shown);
	free(shown);
	(void)self;
}

static bool import_file(struct db *db, const char *path, const struct db_values *v, struct err *e)
{
	const bool standard = !strcmp(path, "-");
	const int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	const char *name = standard ? "standard input" : path;
	const struct perfdata_options notes = { .note = say_note };
	char boot[64];
	const struct db_writer_options o = {
		.source = "perf.data",
		.boot_id = boot,
		.per_process = v->per_process,
		.per_cpu = v->per_process,
		.at_once = true,
		.facts_time = true,
		.waiting_max = (size_t)1 << 27,
	};
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return err_set(e, "cannot read %s: %s", path, strerror(errno));
	if (S_ISDIR(st.st_mode))
		return err_set(e, "%s is a folder; record with `perf record` without --threads",
			       path);
	/* Pids of a recording mean nothing outside of it. */
	snprintf(boot, sizeof(boot), "import-%llx-%llx-%llx", (unsigned long long)st.st_ino,
		 (unsigned long long)st.st_mtim.tv_sec, (unsigned long long)st.st_size);
	struct db_writer *w = db_writer_open(db, &o, e);

	if (!w)
		return false;
	const struct live_sink sink = db_writer_sink(w);
	bool ok = perfdata_read(fd, name, &notes, &sink, e);

	if (ok)
		ok = db_writer_close(w, e);
	else
		db_writer_drop(w);
	if (!standard)
		close(fd);
	return ok;
}

static bool verb_import(const struct job *j, struct err *e)
{
	if (!j->nargs)
		return err_set(e, "name what to import: culprit db import %s perf.data", j->path);
	struct db *db = open_db(j, DB_CREATE, e);
	bool ok = db != NULL;

	for (int i = 0; ok && i < j->nargs; i++)
		ok = import_file(db, j->args[i], j->v, e);
	db_close(db);
	return ok;
}

/* ---- The fleet ---- */

static const char *server(const struct job *j, struct err *e)
{
	if (!j->v->fleet)
		err_set(e, "say where the fleet's server is: --fleet 'host=HOST dbname=NAME'");
	return j->v->fleet;
}

static bool verb_init(const struct job *j, struct err *e)
{
	if (!server(j, e) || !fleet_init(j->v->fleet, e))
		return false;
	/* MACHINE is where other verbs have a folder. */
	return !j->path ||
	       fleet_add_machine(j->v->fleet, j->path, j->v->as ? j->v->as : j->path, e);
}

static bool verb_push(const struct job *j, struct err *e)
{
	struct fleet_pushed done = { 0 };
	struct db *db = server(j, e) ? open_db(j, DB_WRITE, e) : NULL;
	const bool ok = db && fleet_push(db, j->v->fleet, &done, e);

	if (db)
		printf("%llu epochs with %llu counts and %llu symbols sent; the server had %llu\n",
		       (unsigned long long)done.epochs, (unsigned long long)done.rows,
		       (unsigned long long)done.symbols, (unsigned long long)done.already);
	db_close(db);
	return ok;
}

static bool verb_pull(const struct job *j, struct err *e)
{
	struct fleet_pulled done = { 0 };
	struct selected sel;

	if (!server(j, e) || !selecting_make(&j->v->selecting, &sel, e))
		return false;
	struct db *db = open_db(j, DB_CREATE, e);
	const bool ok = db && fleet_pull(db, j->v->fleet, sel.selection.machine,
					 sel.selection.since_ns, &done, e);

	if (db)
		printf("%llu epochs with %llu counts received\n", (unsigned long long)done.epochs,
		       (unsigned long long)done.rows);
	db_close(db);
	return ok;
}

struct top {
	bool raw_names;
	struct fleet_row *rows; /* texts are our own */
	size_t n;
};

static void add_top(void *self, const struct fleet_row *r)
{
	struct top *t = self;
	struct fleet_row *to = ARRAY_ADD(t->rows, t->n);

	*to = *r;
	char *readable = t->raw_names ? NULL : demangle(r->name);

	to->name = text_shown(readable ? readable : r->name);
	free(readable);
	to->detail = text_shown(r->detail);
}

static bool verb_top(const struct job *j, struct err *e)
{
	static const struct doc_column columns[] = {
		{ DOC_DATA("samples"), DOC_SHOWN("samples", "%.0f", 12), .before = "" },
		{ DOC_DATA("share"), DOC_SHOWN("share", "%.2f%%", 7), .factor = 100 },
		{ DOC_DATA("machines"), DOC_SHOWN("machines", "%.0f", 8) },
		{ DOC_DATA("name"), .head = "name", .width = -40, .before = "  ", .name = true },
		{ DOC_DATA("detail"), .head = "", .width = -20, .ragged = true, .name = true,
		  .fill = true },
	};
	const int limit = j->v->reading.limit ? (int)j->v->reading.limit : 10;
	struct top top = { .raw_names = j->v->reading.raw_names };
	struct selected sel;
	uint64_t total = 0;

	if (!server(j, e) || !selecting_make(&j->v->selecting, &sel, e) ||
	    !fleet_top(j->v->fleet, sel.selection.since_ns, j->v->event,
		       (enum fleet_group)j->v->group, limit, add_top, &top, &total, e))
		return false;
	struct doc *d = doc_new();
	struct doc_table *t = DOC_TABLE(d, columns, .key = "", .heads = true);

	for (size_t i = 0; i < top.n; i++) {
		doc_row(t);
		cell_integer(t, (int64_t)top.rows[i].samples);
		cell_real(t, total ? (double)top.rows[i].samples / (double)total : 0);
		cell_integer(t, (int64_t)top.rows[i].machines);
		cell_text(t, top.rows[i].name);
		cell_text(t, top.rows[i].detail);
		free((char *)top.rows[i].name);
		free((char *)top.rows[i].detail);
	}
	free(top.rows);
	return print_doc(j, d, e);
}

/* ---- The command ---- */

static const struct {
	const char *name;
	bool (*run)(const struct job *j, struct err *e);
	bool needs_path;
} verbs[] = {
	{ "list", verb_list, true },	   { "show", verb_show, true },
	{ "merge", verb_merge, true },	   { "prune", verb_prune, true },
	{ "compact", verb_compact, true }, { "check", verb_check, true },
	{ "export", verb_export, true },   { "import", verb_import, true },
	{ "push", verb_push, true },	   { "pull", verb_pull, true },
	{ "top", verb_top, false },	   { "init", verb_init, false },
};

static int db_run_command(void *values, int nargs, char **args)
{
	struct nearest near = { .word = args[0] };
	const struct job j = { values, nargs > 1 ? args[1] : NULL, nargs > 1 ? args + 2 : args + 1,
			       nargs > 2 ? nargs - 2 : 0 };
	struct err e = { "" };

	for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
		nearest_try(&near, verbs[i].name);
		if (strcmp(verbs[i].name, args[0]) != 0)
			continue;
		if (verbs[i].needs_path && !j.path) {
			warn("db: name the database's folder: culprit db %s FOLDER", args[0]);
			return 2;
		}
		return reading_status("db", verbs[i].run(&j, &e), &e);
	}
	warn("db: there is no '%s'; the nearest is '%s'", args[0], near.best);
	return 2;
}

#define OPTION(field) .offset = offsetof(struct db_values, field)
static const struct cmd_option options[] = {
	READING_OPTIONS,
	READING_NAMES_OPTION,
	SELECTING_OPTIONS(struct db_values, selecting),
	{ .name = "event",
	  .type = CMD_TEXT,
	  OPTION(event),
	  .arg = "EVENT",
	  .help = "show, export, top: only this event" },
	{ .name = "format",
	  .type = CMD_CHOICE,
	  OPTION(format),
	  .arg = "FORMAT",
	  .choices = formats,
	  .help = "export: folded (for flame graphs, default) or perf-script" },
	{ .name = "output",
	  .type = CMD_PATH,
	  .letter = 'o',
	  OPTION(output),
	  .arg = "FILE",
	  .help = "export: where to; standard output by default" },
	{ .name = "per-process",
	  .type = CMD_SWITCH,
	  OPTION(per_process),
	  .help = "import: keeps processes and processors apart" },
	{ .name = "keep",
	  .type = CMD_TEXT,
	  OPTION(keep),
	  .arg = "TIME",
	  .check = selecting_check_duration,
	  .help = "prune: drops epochs that ended longer ago, 30d say" },
	{ .name = "max-size",
	  .type = CMD_NUMBER,
	  OPTION(max_bytes),
	  .arg = "BYTES",
	  .range = { 1, 0, NUMBER_BINARY },
	  .help = "prune: drops the oldest epochs until the rest takes no more" },
	{ .name = "fleet",
	  .type = CMD_TEXT,
	  OPTION(fleet),
	  .arg = "SERVER",
	  .help = "push, pull, top, init: the PostgreSQL server, as libpq names it ('host=db "
		  "dbname=culprit')" },
	{ .name = "group-by",
	  .type = CMD_CHOICE,
	  OPTION(group),
	  .arg = "WHAT",
	  .choices = groups,
	  .help = "top: image (default), function, machine, kernel, or version (an image's builds "
		  "apart)" },
	{ .name = "as",
	  .type = CMD_TEXT,
	  OPTION(as),
	  .arg = "ROLE",
	  .help = "init: the role that pushes for the machine; its name by default" },
	{ .name = NULL },
};

static const struct cmd_example examples[] = {
	{ "culprit db import profiles perf.data", "Takes what perf recorded into a database." },
	{ "culprit db list profiles", "The epochs, with samples taken and lost." },
	{ "culprit db export profiles --format folded > out.folded", "Stacks for a flame graph." },
	{ "culprit db prune profiles --keep 30d --max-size 200M",
	  "Drops what is too old or too much." },
	{ "culprit db top --fleet 'host=db dbname=culprit' --since 1d --group-by function",
	  "Where all machines spent the last day." },
	{ NULL, NULL },
};

const struct command cmd_db = {
	.name = "db",
	.summary = "profile databases: list, merge, prune, check, import, export, and the fleet",
	.args = "VERB [FOLDER] [ARGS...]",
	.min_args = 1,
	.max_args = -1,
	.description =
	    "Works on a profile database, the folder that `culprit daemon` writes. `report`, "
	    "`annotate`, `diff` and `stats` show its content.\n\n"
	    "list FOLDER: its epochs. show FOLDER: totals and sizes. check FOLDER: reads all of it "
	    "and says what is damaged.\n\n"
	    "merge FOLDER E1 E2...: makes one epoch of several. compact FOLDER: packs closed "
	    "epochs, and merges those of a day. prune FOLDER: drops old epochs. These need the "
	    "database for themselves; the daemon does the same by itself.\n\n"
	    "import FOLDER FILE...: takes in recordings of Linux perf (perf.data; - is standard "
	    "input). export FOLDER: stacks as text.\n\n"
	    "push FOLDER, pull FOLDER, top: exchange epochs with a PostgreSQL server that many "
	    "machines share. init [MACHINE]: makes or updates the server's tables, and lets a role "
	    "push as that machine.",
	.exit_status = "0 on success, 2 if something is damaged, cannot be read or written, or the "
		       "command was used wrongly.",
	.options = options,
	.examples = examples,
	.values_size = sizeof(struct db_values),
	.run = db_run_command,
};

/* SPDX-License-Identifier: MIT */
/*
 * The fleet over libpq. An epoch travels in one call of push_epoch, which is one transaction on the
 * server and knows by the epoch's uuid whether it has it already. Here an epoch is marked before it
 * is sent (it must not be merged with others from then on) and again when the server has it. So
 * whatever is cut, the epoch is sent again, and counted once.
 *
 * The spool is the database itself: its retention bounds what a machine keeps that was offline for
 * long. Counts travel without processes and processors.
 */
#include "collect/fleet.h"

#include <stdlib.h>
#include <string.h>

#include "collect/db_int.h"
#include "collect/fleet_schema.h"
#include "collect/fleet_server.h"
#include "collect/live_names.h"
#include "util/array.h"

#define NO_FUNCTION (-1)
#define NO_NAME	    "[no name]"

/* ---- The server ---- */

static int64_t version_of(struct server *c)
{
	struct answer *r = server_ask(c, "SELECT coalesce(max(version), 0) FROM culprit.version", 0,
				      NULL, "no version", NULL);
	const int64_t v = answer_rows(r) == 1 ? atoll(answer_text(r, 0, 0)) : 0;

	answer_free(r);
	return v;
}

/* Connects to a server whose tables are of this version. */
static struct server *connect_fleet(const char *server, struct err *e)
{
	struct server *c = server_open(server, e);
	const int64_t v = c ? version_of(c) : 0;

	if (!c || v == FLEET_SCHEMA_VERSION)
		return c;
	server_close(c);
	if (v > FLEET_SCHEMA_VERSION)
		err_set(e,
			"the fleet's server has version %d of the tables, this culprit knows up "
			"to %d; use a newer culprit",
			(int)v, FLEET_SCHEMA_VERSION);
	else
		err_set(e,
			"the fleet's server has %s; an administrator runs `culprit db init --fleet "
			"SERVER`",
			v ? "older tables" : "no tables of culprit, or hides them from this role");
	return NULL;
}

bool fleet_init(const char *server, struct err *e)
{
	struct server *c = server_open(server, e);
	bool ok = c && server_exec(c, fleet_versions[0], "cannot make the schema", e);

	/* The lock makes two that migrate at once take turns. */
	ok = ok && server_exec(c, "BEGIN; LOCK TABLE culprit.version", "cannot migrate", e);
	for (int64_t v = ok ? version_of(c) + 1 : FLEET_SCHEMA_VERSION + 1;
	     ok && v <= FLEET_SCHEMA_VERSION; v++) {
		char *note = x_asprintf("INSERT INTO culprit.version VALUES (%d)", (int)v);

		ok = server_exec(c, fleet_versions[v], "cannot migrate", e) &&
		     server_exec(c, note, "cannot migrate", e);
		free(note);
	}
	ok = ok && server_exec(c, "COMMIT", "cannot migrate", e);
	server_close(c);
	return ok;
}

bool fleet_add_machine(const char *server, const char *machine, const char *role, struct err *e)
{
	struct server *c = connect_fleet(server, e);

	if (!c)
		return false;
	const char *values[] = { machine, role };
	struct answer *r =
	    server_ask(c,
		       "INSERT INTO culprit.machine (name, role) VALUES ($1, $2) ON CONFLICT"
		       " (name) DO UPDATE SET role = excluded.role RETURNING 1",
		       2, values, "cannot add the machine", e);
	char *quoted = r ? server_quoted(c, role) : NULL;
	char *grant = quoted ? x_asprintf("GRANT culprit_push TO %s", quoted) : NULL;
	const bool ok = grant && server_exec(c, grant, "cannot grant culprit_push", e);

	free(grant);
	free(quoted);
	answer_free(r);
	server_close(c);
	return ok;
}

/* ---- Arrays as PostgreSQL writes them ---- */

struct list {
	FILE *out;
	char *text;
	size_t size;
	bool any;
};

static void list_open(struct list *l)
{
	*l = (struct list){ 0 };
	l->out = open_memstream(&l->text, &l->size);
	if (!l->out)
		die("out of memory");
	fputc('{', l->out);
}

static void comma(struct list *l)
{
	if (l->any)
		fputc(',', l->out);
	l->any = true;
}

static void list_int(struct list *l, int64_t x)
{
	comma(l);
	fprintf(l->out, "%lld", (long long)x);
}

static void list_real(struct list *l, double x)
{
	comma(l);
	fprintf(l->out, "%.17g", x);
}

/* Bytes that are not UTF-8 become question marks: the server refuses them. */
static void list_text(struct list *l, const char *s)
{
	comma(l);
	fputc('"', l->out);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			fputc('\\', l->out);
		fputc((unsigned char)*s >= 0x80 ? '?' : *s, l->out);
	}
	fputc('"', l->out);
}

static void list_bytes(struct list *l, const struct db_bytes *b)
{
	comma(l);
	fputs("\"\\\\x", l->out);
	for (size_t i = 0; i < b->size; i++)
		fprintf(l->out, "%02x", b->data[i]);
	fputc('"', l->out);
}

static const char *list_close(struct list *l)
{
	fputc('}', l->out);
	fclose(l->out);
	l->out = NULL;
	return l->text;
}

/* ---- Pushing ---- */

/* A function's samples in an epoch. */
struct function {
	uint32_t image, event;
	int64_t start, size;
	char *name;
	uint64_t samples;
};

struct pushing {
	struct server *c;
	struct live_profile *p;
	int64_t *image_ids; /* the server's, by the profile's number */
	struct function *functions;
	size_t nfunctions;
	uint64_t rows, symbols;
};

static bool push_images(struct pushing *x, struct err *e)
{
	const size_t n = live_images(x->p);
	struct list l[4];
	const char *values[4];

	for (int i = 0; i < 4; i++)
		list_open(&l[i]);
	for (size_t i = 0; i < n; i++) {
		const struct live_image *m = live_image(x->p, i);
		char *key = db_image_key(m);

		list_text(&l[0], key);
		list_int(&l[1], m->kind);
		list_text(&l[2], m->name);
		list_text(&l[3], m->build_id);
		free(key);
	}
	for (int i = 0; i < 4; i++)
		values[i] = list_close(&l[i]);
	struct answer *r = server_ask(x->c, "SELECT unnest(culprit.image_ids($1, $2, $3, $4))", 4,
				      values, "cannot send images", e);
	bool ok = r != NULL;

	if (ok && answer_rows(r) != (int)n)
		ok = err_set(e, "the fleet's server: it knows %d of %zu images", answer_rows(r), n);
	x->image_ids = x_calloc(n + 1, sizeof(*x->image_ids));
	for (size_t i = 0; ok && i < n; i++)
		x->image_ids[i] = atoll(answer_text(r, (int)i, 0));
	answer_free(r);
	for (int i = 0; i < 4; i++)
		free(l[i].text);
	return ok;
}

static int by_function(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	if (x->image != y->image)
		return x->image < y->image ? -1 : 1;
	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	return (x->start > y->start) - (x->start < y->start);
}

/* Counts by function. A function is known by where it begins in its image. */
static void find_functions(struct pushing *x)
{
	struct live_names *names = live_names_new(x->p);
	size_t n, to = 0;
	const struct live_count *c = live_counts(x->p, &n);

	for (size_t i = 0; i < n; i++) {
		struct function *last = x->nfunctions ? &x->functions[x->nfunctions - 1] : NULL;

		/* Counts come by offset: most lie in the function of the one before. */
		if (last && i && c[i].image == c[i - 1].image && c[i].event == c[i - 1].event &&
		    c[i].offset == c[i - 1].offset) {
			last->samples += c[i].count;
			continue;
		}
		const struct live_name name = live_names_find(names, c[i].image, c[i].offset);
		const bool known =
		    *name.function && *name.function != '[' && name.offset <= c[i].offset;
		const int64_t start = known ? (int64_t)(c[i].offset - name.offset) : NO_FUNCTION;
		struct function *f = ARRAY_ADD(x->functions, x->nfunctions);

		*f = (struct function){ c[i].image, c[i].event,
					start,	    known ? (int64_t)name.offset + 1 : 0,
					NULL,	    c[i].count };
		f->name = x_strdup(known ? name.function : NO_NAME);
	}
	live_names_free(names);
	if (x->nfunctions)
		qsort(x->functions, x->nfunctions, sizeof(*x->functions), by_function);
	for (size_t i = 0; i < x->nfunctions; i++) {
		struct function *f = &x->functions[i];

		if (to && by_function(&x->functions[to - 1], f) == 0) {
			struct function *sum = &x->functions[to - 1];

			sum->samples += f->samples;
			sum->size = sum->size > f->size ? sum->size : f->size;
			free(f->name);
		} else {
			x->functions[to++] = *f;
		}
	}
	x->nfunctions = to;
}

/* Sends the names that no machine has sent yet. */
static bool push_symbols(struct pushing *x, struct err *e)
{
	struct list l[4];
	const char *values[4];

	list_open(&l[0]);
	list_open(&l[1]);
	for (size_t i = 0; i < x->nfunctions; i++) {
		list_int(&l[0], x->image_ids[x->functions[i].image]);
		list_int(&l[1], x->functions[i].start);
	}
	values[0] = list_close(&l[0]);
	values[1] = list_close(&l[1]);
	struct answer *r = server_ask(x->c, "SELECT unnest(culprit.symbols_missing($1, $2))", 2,
				      values, "cannot send symbols", e);
	const int n = r ? answer_rows(r) : 0;

	free(l[0].text);
	free(l[1].text);
	for (int i = 0; i < 4; i++)
		list_open(&l[i]);
	for (int i = 0; i < n; i++) {
		const long long at = atoll(answer_text(r, i, 0)) - 1;

		if (at < 0 || (size_t)at >= x->nfunctions)
			continue;
		const struct function *f = &x->functions[at];

		list_int(&l[0], x->image_ids[f->image]);
		list_int(&l[1], f->start);
		list_int(&l[2], f->size);
		list_text(&l[3], f->name);
	}
	for (int i = 0; i < 4; i++)
		values[i] = list_close(&l[i]);
	bool ok = r != NULL;

	answer_free(r);
	if (ok && n) {
		r = server_ask(x->c, "SELECT culprit.symbols_add($1, $2, $3, $4)", 4, values,
			       "cannot send symbols", e);
		ok = r != NULL;
		answer_free(r);
	}
	for (int i = 0; i < 4; i++)
		free(l[i].text);
	x->symbols += ok ? (uint64_t)n : 0;
	return ok;
}

enum { EVENT_LISTS = 8, PACK_LISTS = 5, FUNCTION_LISTS = 4, FACTS = 12 };
#define LISTS (EVENT_LISTS + PACK_LISTS + FUNCTION_LISTS)

static void list_events(struct pushing *x, struct list *l)
{
	for (size_t i = 0; i < live_events(x->p); i++) {
		const struct live_event *v = live_event(x->p, i);

		list_text(&l[0], v->name);
		list_text(&l[1], v->actual);
		list_real(&l[2], v->rate);
		list_int(&l[3], (int64_t)v->period);
		list_real(&l[4], v->running);
		list_int(&l[5], (int64_t)v->taken);
		list_int(&l[6], (int64_t)v->stored);
		list_int(&l[7], (int64_t)v->lost);
	}
}

static int by_pack(const void *a, const void *b)
{
	const struct live_count *x = a, *y = b;

	if (x->image != y->image)
		return x->image < y->image ? -1 : 1;
	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

/* One pack for each image and event, whatever processes and processors it was. */
static void list_packs(struct pushing *x, struct list *l)
{
	size_t n;
	const struct live_count *given = live_counts(x->p, &n);
	struct live_count *c = x_malloc((n + 1) * sizeof(*c));
	struct db_count *counts = x_malloc((n + 1) * sizeof(*counts));
	struct db_bytes bytes = { 0 };

	memcpy(c, given, n * sizeof(*c));
	qsort(c, n, sizeof(*c), by_pack);
	for (size_t i = 0, k; i < n; i = k) {
		uint64_t samples = 0;
		size_t to = 0;

		for (k = i; k < n && c[k].image == c[i].image && c[k].event == c[i].event; k++) {
			samples += c[k].count;
			if (to && counts[to - 1].offset == c[k].offset)
				counts[to - 1].count += c[k].count;
			else
				counts[to++] = (struct db_count){ c[k].offset, c[k].count };
		}
		db_pack_counts(counts, to, &bytes);
		list_int(&l[0], x->image_ids[c[i].image]);
		list_int(&l[1], c[i].event + 1);
		list_int(&l[2], (int64_t)to);
		list_int(&l[3], (int64_t)samples);
		list_bytes(&l[4], &bytes);
		x->rows += to;
	}
	db_bytes_free(&bytes);
	free(counts);
	free(c);
}

static void list_functions(struct pushing *x, struct list *l)
{
	for (size_t i = 0; i < x->nfunctions; i++) {
		const struct function *f = &x->functions[i];

		list_int(&l[0], x->image_ids[f->image]);
		list_int(&l[1], f->event + 1);
		list_int(&l[2], f->start);
		list_int(&l[3], (int64_t)f->samples);
	}
}

/* *new: the server did not have it. */
static bool push_epoch(struct pushing *x, const char *uuid, bool *new, struct err *e)
{
	const struct live_facts *f = live_facts(x->p);
	struct list l[LISTS];
	const char *values[FACTS + LISTS] = { uuid, f->boot_id, f->kernel, f->kernel_build_id,
					      f->command };
	const double numbers[] = { (double)f->begin_ns, (double)f->end_ns, f->cpus,
				   (double)f->idle_ns,	f->budget,	   f->interrupt_ns,
				   f->daemon_cpu_ns };
	const uint64_t whole[] = { f->begin_ns, f->end_ns, f->cpus, f->idle_ns };
	char text[7][40];

	for (int i = 0; i < 7; i++) {
		if (i < 4)
			snprintf(text[i], sizeof(text[i]), "%llu", (unsigned long long)whole[i]);
		else
			snprintf(text[i], sizeof(text[i]), "%.17g", numbers[i]);
		values[5 + i] = text[i];
	}
	for (int i = 0; i < LISTS; i++)
		list_open(&l[i]);
	list_events(x, l);
	list_packs(x, l + EVENT_LISTS);
	list_functions(x, l + EVENT_LISTS + PACK_LISTS);
	for (int i = 0; i < LISTS; i++)
		values[FACTS + i] = list_close(&l[i]);
	struct answer *r = server_ask(
	    x->c,
	    "SELECT culprit.push_epoch($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13,"
	    " $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29)",
	    FACTS + LISTS, values, "cannot send an epoch", e);

	*new = r &&answer_rows(r) == 1 && *answer_text(r, 0, 0) == 't';
	for (int i = 0; i < LISTS; i++)
		free(l[i].text);
	answer_free(r);
	return r != NULL;
}

static void pushing_free(struct pushing *x)
{
	for (size_t i = 0; i < x->nfunctions; i++)
		free(x->functions[i].name);
	free(x->functions);
	free(x->image_ids);
	live_profile_free(x->p);
}

static bool push_one(struct db *d, struct server *c, int64_t id, const char *uuid,
		     struct fleet_pushed *out, struct err *e)
{
	struct pushing x = { .c = c };
	bool new = false;

	if (!db_run(d, e, "UPDATE epoch SET pushed = 1 WHERE id = ?1 AND state = 2", "i", id))
		return false;
	x.p = db_select(d, &(struct db_selection){ .epoch = (uint64_t)id }, e);
	bool ok = x.p && push_images(&x, e);

	if (ok) {
		find_functions(&x);
		ok = push_symbols(&x, e) && push_epoch(&x, uuid, &new, e) &&
		     db_run(d, e, "UPDATE epoch SET pushed = 2 WHERE id = ?1", "i", id);
	}
	if (ok) {
		out->epochs += new;
		out->already += !new;
		out->rows += new ? x.rows : 0;
		out->symbols += x.symbols;
	}
	pushing_free(&x);
	return ok;
}

bool fleet_push(struct db *d, const char *server, struct fleet_pushed *out, struct err *e)
{
	struct server *c = connect_fleet(server, e);
	bool ok = c != NULL;

	*out = (struct fleet_pushed){ 0 };
	while (ok) {
		struct db_rows q =
		    db_query(d,
			     "SELECT id, uuid FROM epoch WHERE state = 2 AND pushed < 2 ORDER BY"
			     " begin_ns, id LIMIT 1",
			     "");
		const bool any = db_next(&q);
		const int64_t id = any ? db_int(&q, 0) : 0;
		char *uuid = x_strdup(any ? db_text(&q, 1) : "");

		ok = db_done(&q, e) && (!any || push_one(d, c, id, uuid, out, e));
		free(uuid);
		if (!any)
			break;
	}
	server_close(c);
	return ok;
}

/* ---- Pulling ---- */

/* An image of the server in the database, with its symbols. */
static uint32_t pull_image(struct server *c, const struct live_sink *sink, const struct answer *r,
			   int row, struct err *e)
{
	const char *values[] = { answer_text(r, row, 0) };
	struct live_image i = { .kind = (enum live_kind)atoi(answer_text(r, row, 5)),
				.name = answer_text(r, row, 6),
				.build_id = answer_text(r, row, 7) };
	unsigned long long file[4] = { 0 };
	char digest[80] = "";
	struct answer *s =
	    server_ask(c,
		       "SELECT start, size_bytes, name FROM culprit.symbol WHERE image = $1 AND"
		       " start >= 0 ORDER BY start",
		       1, values, "cannot read symbols", e);
	const int n = s ? answer_rows(s) : 0;

	if (sscanf(answer_text(r, row, 4), "%*d file %llu %llu %llu %llu %79s", &file[0], &file[1],
		   &file[2], &file[3], digest) == 5) {
		i.dev = file[0];
		i.ino = file[1];
		i.size_bytes = file[2];
		i.mtime_ns = file[3];
		i.digest = strcmp(digest, "-") == 0 ? NULL : digest;
	}
	if ((unsigned)i.kind >= LIVE_KINDS)
		i.kind = LIVE_UNKNOWN;
	i.symbols = x_calloc((size_t)n + 1, sizeof(*i.symbols));
	i.nsymbols = (size_t)n;
	for (int k = 0; k < n; k++)
		i.symbols[k] = (struct live_symbol){ (uint64_t)atoll(answer_text(s, k, 0)),
						     (uint64_t)atoll(answer_text(s, k, 1)),
						     answer_text(s, k, 2) };
	/* The size is what one machine saw of it. Every function with counts is here, so that each
	 * reaches to the next. */
	for (int k = 0; k < n; k++)
		i.symbols[k].size_bytes = k + 1 < n ? i.symbols[k + 1].offset - i.symbols[k].offset
						    : max_u64(i.symbols[k].size_bytes, 1u << 20);
	const uint32_t id = sink->image(sink->self, &i);

	free(i.symbols);
	answer_free(s);
	return id;
}

static bool pull_counts(struct server *c, const struct live_sink *sink, const char *epoch,
			const struct live_event *events, const int *event_ids, int nevents,
			struct fleet_pulled *out, struct err *e)
{
	const char *values[] = { epoch };
	struct answer *r =
	    server_ask(c,
		       "SELECT image, event, counts, entries, identity, kind, name, build_id FROM"
		       " culprit.pack JOIN culprit.image ON id = image WHERE epoch = $1 ORDER BY"
		       " image, event",
		       1, values, "cannot read counts", e);
	bool ok = r != NULL;

	for (int i = 0; ok && i < answer_rows(r); i++) {
		size_t size, n;
		uint8_t *data = answer_bytes(r, i, 2, &size);
		struct db_count *counts = NULL;
		const int event = atoi(answer_text(r, i, 1));
		struct live_count count = { .image = pull_image(c, sink, r, i, e),
					    .process = LIVE_NO_PROCESS,
					    .cpu = LIVE_NO_CPU };

		for (int k = 0; k < nevents; k++)
			if (event_ids[k] == event)
				count.event = sink->event(sink->self, &events[k]);
		ok = data && db_unpack_counts(data, size, &counts, &n);
		if (!ok)
			err_set(e, "the fleet's server: epoch %s has a damaged pack", epoch);
		for (size_t k = 0; ok && k < n; k++) {
			count.offset = counts[k].offset;
			count.count = counts[k].count;
			sink->count(sink->self, &count);
		}
		out->rows += ok ? n : 0;
		free(counts);
		free(data);
	}
	answer_free(r);
	return ok;
}

/* Column of an epoch's row; the query is in fleet_pull. */
enum {
	E_ID,
	E_UUID,
	E_MACHINE,
	E_BOOT,
	E_KERNEL,
	E_BUILD,
	E_COMMAND,
	E_BEGIN,
	E_END,
	E_CPUS,
	E_IDLE,
	E_BUDGET,
	E_INTERRUPT,
	E_CPU
};

static bool pull_epoch(struct db *d, struct server *c, const struct answer *r, int row,
		       struct fleet_pulled *out, struct err *e)
{
	const char *epoch = answer_text(r, row, E_ID);
	const struct live_facts facts = {
		.machine = answer_text(r, row, E_MACHINE),
		.boot_id = answer_text(r, row, E_BOOT),
		.kernel = answer_text(r, row, E_KERNEL),
		.kernel_build_id = answer_text(r, row, E_BUILD),
		.command = answer_text(r, row, E_COMMAND),
		.begin_ns = (uint64_t)atoll(answer_text(r, row, E_BEGIN)),
		.end_ns = (uint64_t)atoll(answer_text(r, row, E_END)),
		.cpus = (uint32_t)atoi(answer_text(r, row, E_CPUS)),
		.idle_ns = (uint64_t)atoll(answer_text(r, row, E_IDLE)),
		.budget = atof(answer_text(r, row, E_BUDGET)),
		.interrupt_ns = atof(answer_text(r, row, E_INTERRUPT)),
		.daemon_cpu_ns = atof(answer_text(r, row, E_CPU)),
	};
	const struct db_writer_options o = { .source = "fleet",
					     .boot_id = facts.boot_id,
					     .uuid = answer_text(r, row, E_UUID),
					     .at_once = true,
					     .facts_time = true,
					     .waiting_max = (size_t)1 << 27 };
	const char *values[] = { epoch };
	struct answer *t =
	    server_ask(c,
		       "SELECT name, actual, rate, period, running, taken, stored, lost, id FROM"
		       " culprit.epoch_event JOIN culprit.event ON id = event WHERE epoch = $1"
		       " ORDER BY id LIMIT 64",
		       1, values, "cannot read totals", e);
	struct db_writer *w = t ? db_writer_open(d, &o, e) : NULL;
	struct live_event events[64];
	int ids[64];

	for (int i = 0; w && i < answer_rows(t); i++) {
		ids[i] = atoi(answer_text(t, i, 8));
		events[i] = (struct live_event){
			.name = answer_text(t, i, 0),
			.actual = answer_text(t, i, 1),
			.rate = atof(answer_text(t, i, 2)),
			.period = (uint64_t)atoll(answer_text(t, i, 3)),
			.running = atof(answer_text(t, i, 4)),
			.taken = (uint64_t)atoll(answer_text(t, i, 5)),
			.stored = (uint64_t)atoll(answer_text(t, i, 6)),
			.lost = (uint64_t)atoll(answer_text(t, i, 7)),
		};
	}
	bool ok = w != NULL;

	if (ok) {
		const struct live_sink sink = db_writer_sink(w);

		ok = pull_counts(c, &sink, epoch, events, ids, answer_rows(t), out, e) &&
		     sink.cut(sink.self, events, (size_t)answer_rows(t), &facts, e);
		if (ok)
			ok = db_writer_close(w, e);
		else
			db_writer_drop(w);
	}
	out->epochs += ok;
	answer_free(t);
	return ok;
}

bool fleet_pull(struct db *d, const char *server, const char *machine, uint64_t since_ns,
		struct fleet_pulled *out, struct err *e)
{
	struct server *c = connect_fleet(server, e);
	char since[32];
	const char *values[] = { since, machine ? machine : "" };
	struct answer *r = NULL;
	bool ok = c != NULL;

	*out = (struct fleet_pulled){ 0 };
	snprintf(since, sizeof(since), "%llu", (unsigned long long)since_ns);
	if (ok) {
		r = server_ask(
		    c,
		    "SELECT epoch.id, uuid, name, boot_id, kernel, kernel_build_id, command,"
		    " begin_ns, end_ns, cpus, idle_ns, budget, interrupt_ns, daemon_cpu_ns FROM"
		    " culprit.epoch JOIN culprit.machine ON machine.id = machine WHERE end_ns >="
		    " $1 AND ($2 = '' OR name = $2) ORDER BY begin_ns, epoch.id",
		    2, values, "cannot read epochs", e);
		ok = r != NULL;
	}
	for (int i = 0; ok && i < answer_rows(r); i++) {
		struct db_rows q = db_query(d, "SELECT 1 FROM epoch WHERE uuid = ?1", "s",
					    answer_text(r, i, E_UUID));
		const bool have = db_next(&q);

		ok = db_done(&q, e) && (have || pull_epoch(d, c, r, i, out, e));
	}
	answer_free(r);
	server_close(c);
	return ok;
}

/* ---- The largest ---- */

#define EVENTS                                                                                     \
	" (SELECT id FROM culprit.event WHERE name = coalesce(nullif($2, ''), (SELECT name FROM"   \
	" culprit.event ORDER BY id LIMIT 1)))"
/* Sums by machine first: that is one pass with a hash table, and counting machines is then cheap. */
#define BY_PACK(what, tables)                                                                      \
	"SELECT name, detail, sum(s)::bigint AS s, count(DISTINCT m), (sum(sum(s)) OVER "          \
	"())::bigint"                                                                              \
	" FROM (SELECT " what ", e.machine AS m, sum(p.samples) AS s FROM culprit.epoch e JOIN"    \
	" culprit.pack p ON p.epoch = e.id " tables " WHERE e.end_ns >= $1 AND p.event IN" EVENTS  \
	" GROUP BY 1, 2, 3) AS x GROUP BY 1, 2 ORDER BY 3 DESC, 1 LIMIT $3"

bool fleet_top(const char *server, uint64_t since_ns, const char *event, enum fleet_group group,
	       int limit, void (*each)(void *self, const struct fleet_row *r), void *self,
	       uint64_t *total, struct err *e)
{
	static const char *const queries[] = {
		[FLEET_IMAGE] = BY_PACK("i.name AS name, '' AS detail",
					"JOIN culprit.image i ON i.id = p.image"),
		[FLEET_VERSION] = BY_PACK("i.name AS name, i.build_id AS detail",
					  "JOIN culprit.image i ON i.id = p.image"),
		[FLEET_MACHINE] = BY_PACK("h.name AS name, '' AS detail",
					  "JOIN culprit.machine h ON h.id = e.machine"),
		[FLEET_KERNEL] = BY_PACK("e.kernel AS name, '' AS detail", ""),
		[FLEET_FUNCTION] =
		    "SELECT coalesce(y.name, '" NO_NAME "'), i.name, sum(s)::bigint AS s,"
		    " max(x.m), (sum(sum(s)) OVER ())::bigint FROM (SELECT image, start, sum(s) AS "
		    "s,"
		    " count(*) AS m FROM (SELECT f.image, f.start, e.machine, sum(f.samples) AS s "
		    "FROM"
		    " culprit.epoch e JOIN culprit.function_count f ON f.epoch = e.id WHERE "
		    "e.end_ns >="
		    " $1 AND f.event IN" EVENTS " GROUP BY 1, 2, 3) AS z GROUP BY 1, 2) AS x JOIN"
		    " culprit.image i ON i.id = x.image LEFT JOIN culprit.symbol y ON y.image = "
		    "x.image"
		    " AND y.start = x.start GROUP BY 1, 2 ORDER BY 3 DESC, 1 LIMIT $3",
	};
	struct server *c = connect_fleet(server, e);
	char since[32], most[16];
	const char *values[] = { since, event ? event : "", most };

	*total = 0;
	if (!c)
		return false;
	snprintf(since, sizeof(since), "%llu", (unsigned long long)since_ns);
	snprintf(most, sizeof(most), "%d", limit);
	struct answer *r = server_ask(c, queries[group], 3, values, "cannot read", e);

	for (int i = 0; r && i < answer_rows(r); i++) {
		const struct fleet_row row = { answer_text(r, i, 0), answer_text(r, i, 1),
					       (uint64_t)atoll(answer_text(r, i, 2)),
					       (uint64_t)atoll(answer_text(r, i, 3)) };

		*total = (uint64_t)atoll(answer_text(r, i, 4));
		each(self, &row);
	}
	answer_free(r);
	server_close(c);
	return r != NULL;
}

/* SPDX-License-Identifier: MIT */
/*
 * From a store to estimates: graphs, samples by instruction and the machine go into calc/. What the
 * estimates are made from is read by read_estimate() and what it calls; tables calc_truth… are read
 * by calc_truth.c when the estimates are there, so that these cannot depend on it.
 *
 * Three kinds of profiles: `issue` samples of an in-order machine; commit states of an out-of-order
 * one; and samples of a live machine, for which no schedule is known.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "image/arch.h"
#include "isa/isa.h"
#include "names/graph.h"
#include "util/nearest.h"
#include "util/text.h"
#include "view/calc_int.h"
#include "view/live.h"

/* ---- which samples there are ---- */

/* What the samples of each kind are: address, event, count, issued, commits. */
#define ISSUE_QUERY "SELECT pc, event, count, issued, 0 FROM calc_sample ORDER BY pc, event"
/* units are parts of a sample: all of them together are the samples */
#define COMMIT_QUERY(rule)                                                                         \
	"SELECT pc, 0, units * (SELECT samples FROM calc_event WHERE event = 0) / (SELECT "        \
	"max(1.0, total(units)) FROM calc_commit WHERE rule = '" rule "'), 0, commits FROM "       \
	"calc_commit WHERE rule = '" rule "' ORDER BY pc"
#define LIVE_QUERY                                                                                 \
	"SELECT pc, 0, sum(count), 0, 0 FROM live_count WHERE event = (SELECT min(event) FROM "    \
	"live_count) GROUP BY pc ORDER BY pc"

enum samples_kind { SAMPLES_ISSUE, SAMPLES_TIP, SAMPLES_TIME, SAMPLES_LIVE, SAMPLES_RECORDS };
struct calc_samples {
	const char *name;
	enum samples_kind kind;
	const char *sql;
	const char *records; /* what branch records were taken at */
	unsigned depth;
};
static const struct calc_samples sample_kinds[] = {
	{ "issue", SAMPLES_ISSUE, ISSUE_QUERY, NULL, 0 },
	{ "tip", SAMPLES_TIP, COMMIT_QUERY("tip"), NULL, 0 },
	{ "nci", SAMPLES_TIME, COMMIT_QUERY("nci"), NULL, 0 },
	{ "software", SAMPLES_TIME, COMMIT_QUERY("software"), NULL, 0 },
	{ "branches-16", SAMPLES_RECORDS, NULL, "branches", 16 },
	{ "branches-32", SAMPLES_RECORDS, NULL, "branches", 32 },
	{ "cycles-16", SAMPLES_RECORDS, NULL, "cycles", 16 },
	{ "cycles-32", SAMPLES_RECORDS, NULL, "cycles", 32 },
};
static const struct calc_samples live_samples = { "live", SAMPLES_LIVE, LIVE_QUERY, NULL, 0 };

static const struct calc_samples *find_samples(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(sample_kinds); i++)
		if (!strcmp(sample_kinds[i].name, name))
			return &sample_kinds[i];
	return NULL;
}

bool calc_check_samples(const char *name, struct err *e)
{
	struct nearest near = { .word = name };

	for (size_t i = 0; i < ARRAY_LEN(sample_kinds); i++)
		nearest_try(&near, sample_kinds[i].name);
	return find_samples(name) ||
	       err_set(e, "there are no samples '%s'; did you mean '%s'?", name, near.best);
}

static bool has_rows(struct store *s, const char *sql)
{
	return store_number(s, sql, 0) != 0;
}

bool calc_has_issue(struct store *s)
{
	return has_rows(s, "SELECT 1 FROM calc_sample WHERE event = 0 LIMIT 1");
}

static bool has_issue(struct store *s)
{
	return has_rows(s, "SELECT 1 FROM calc_event WHERE event = 0 LIMIT 1");
}

static bool has_commits(struct store *s)
{
	return has_rows(s, "SELECT 1 FROM calc_commit LIMIT 1");
}

const char *calc_samples_name(const struct calc_model *m)
{
	return m->sampled->name;
}

bool calc_has(struct store *s)
{
	return !live_is(s) && (has_issue(s) || has_commits(s));
}

static bool read_machine(struct store *s, struct machine *machine, struct err *e)
{
	struct store_rows r = store_query(s, "SELECT section, key, value FROM machine", "");
	bool ok = true;

	*machine = machine_default;
	while (ok && store_next(&r))
		ok = machine_put(machine, store_text(&r, 0), store_text(&r, 1), store_text(&r, 2),
				 e);
	ok = store_done(&r, ok ? e : NULL) && ok;
	return ok && machine_check(machine, e);
}

const char *calc_needs(struct store *s, const char *samples, bool exact)
{
	struct machine machine;
	struct err e;
	const bool in_order = read_machine(s, &machine, &e) && machine.model == MODEL_INORDER;
	const struct calc_samples *kind = samples ? find_samples(samples) : NULL;

	/* samples that its machine does not give: no run adds them, and reading says so */
	if (kind && kind->kind != SAMPLES_RECORDS && (kind->kind == SAMPLES_ISSUE) != in_order)
		return "";
	if (kind && kind->kind == SAMPLES_RECORDS)
		return in_order ? exact ? "issue,truth,branches" : "issue,branches"
		       : exact	? "commits,truth,branches"
				: "commits,branches";
	if (in_order)
		return exact ? "issue,truth" : "issue";
	return exact ? "commits,truth" : "commits";
}

static bool read_events(struct store *s, struct calc_sampling *sampling, struct err *e)
{
	struct store_rows r = store_query(s, "SELECT event, period, running FROM calc_event", "");

	while (store_next(&r)) {
		const int64_t event = store_int(&r, 0), period = store_int(&r, 1);
		const double running = store_double(&r, 2);

		if (event < 0 || event >= SAMPLED_COUNT || period <= 0)
			continue;
		sampling->period[event] = (uint64_t)period;
		sampling->running[event] = running > 0 && running <= 1 ? running : 1;
	}
	return store_done(&r, e);
}

static bool sampled_in_order(struct calc_model *m, struct err *e)
{
	m->program.sampling.mode = CALC_ISSUE;
	return has_issue(m->store)
		   ? read_events(m->store, &m->program.sampling, e)
		   : err_set(e,
			     "%s has no `issue` samples: make them by `culprit sim "
			     "--machine %s --analyze issue -- PROGRAM` (issue,truth "
			     "for the truth beside them)",
			     store_path(m->store), m->machine_name);
}

static bool sampled_out_of_order(struct calc_model *m, struct err *e)
{
	struct calc_sampling *sampling = &m->program.sampling;

	sampling->mode = m->sampled->kind == SAMPLES_TIME ? CALC_RELATIVE : CALC_COMMIT;
	sampling->period[SAMPLED_CYCLES] =
	    (uint64_t)store_number(m->store, "SELECT period FROM calc_event WHERE event = 0", 0);
	sampling->running[SAMPLED_CYCLES] = 1;
	if (!has_commits(m->store))
		return err_set(
		    e,
		    "%s is from %s, which issues out of order, and has no commit states of "
		    "TIP: run with --analyze commits, or on a machine that issues "
		    "in order (`culprit machines`)",
		    store_path(m->store), m->machine_name);
	return sampling->period[SAMPLED_CYCLES] ||
	       err_set(e,
		       "%s does not say how often it was sampled: run again with --analyze "
		       "commits",
		       store_path(m->store));
}

/* Chooses the samples, and says how they are to be understood. */
static bool read_sampling(struct calc_model *m, const char *asked, struct err *e)
{
	struct calc_sampling *sampling = &m->program.sampling;

	m->sampled = asked ? find_samples(asked) : NULL;
	if (live_is(m->store)) {
		if (asked)
			return err_set(e, "%s is of a live machine, which has samples of one kind",
				       store_path(m->store));
		m->sampled = &live_samples;
		m->live = true;
		sampling->mode = CALC_RELATIVE;
		sampling->period[SAMPLED_CYCLES] = 1;
		sampling->running[SAMPLED_CYCLES] = 1;
		return true;
	}
	if (!read_machine(m->store, &m->machine, e))
		return false;
	m->program.machine = &m->machine;
	const bool in_order = m->machine.model == MODEL_INORDER;

	if (!m->sampled)
		m->sampled = find_samples(in_order ? "issue" : "tip");
	if (m->sampled->kind != SAMPLES_RECORDS && (m->sampled->kind == SAMPLES_ISSUE) != in_order)
		return err_set(e, "%s is from %s, which issues %s, and has no samples of %s",
			       store_path(m->store), m->machine_name,
			       in_order ? "in order" : "out of order", m->sampled->name);
	return in_order ? sampled_in_order(m, e) : sampled_out_of_order(m, e);
}

/* The samples of time: with branch records, those of the machine. */
static const char *samples_sql(const struct calc_model *m)
{
	if (m->sampled->sql)
		return m->sampled->sql;
	return m->program.sampling.mode == CALC_ISSUE ? ISSUE_QUERY : COMMIT_QUERY("tip");
}

/* ---- graphs ---- */

static void add_graph(struct calc_model *m, struct cfg *g, struct calc_name name)
{
	/* the arrays grow together: index i of one belongs to index i of the other */
	size_t n = m->program.nprocs;

	calc_add(&m->program, g);
	name.graph = g;
	*ARRAY_ADD(m->names, n) = name;
}

static bool read_graphs(struct calc_model *m, struct err *e)
{
	struct store_rows r = store_query(
	    m->store,
	    "SELECT g.function, f.name, i.name, f.file, f.line FROM graph_function g JOIN function "
	    "f "
	    "ON f.id = g.function LEFT JOIN image i ON i.id = f.image ORDER BY g.function",
	    "");
	bool ok = true;

	while (ok && store_next(&r)) {
		struct cfg *g = names_graph_read(m->store, store_int(&r, 0), e);

		ok = g != NULL;
		if (ok)
			add_graph(m, g,
				  (struct calc_name){ .function = store_int(&r, 0),
						      .name = model_copy(&r, 1),
						      .image = model_copy(&r, 2),
						      .file = model_copy(&r, 3),
						      .line = (int)store_int(&r, 4) });
	}
	return store_done(&r, ok ? e : NULL) && ok;
}

/* The binaries of the profile, as they are now; one that was changed is refused. */
static bool open_images(struct calc_model *m, struct err *e)
{
	struct store_rows r =
	    store_query(m->store, "SELECT path, name, build_id, bias FROM image ORDER BY id", "");
	bool ok = true;
	size_t added = 0, all = 0;
	char missing[200] = "";

	m->images = images_new(NULL);
	while (ok && store_next(&r)) {
		const char *path = store_text(&r, 0), *name = store_text(&r, 1),
			   *id = store_text(&r, 2);
		struct image_probe probe;

		all++;
		if (!path || !image_probe(path, &probe, NULL)) {
			if (!missing[0])
				snprintf(missing, sizeof(missing), "%s", store_shown(&r, 0));
			continue;
		}
		if (id && *id && probe.build_id[0] && strcmp(id, probe.build_id))
			ok = err_set(
			    e,
			    "%s was changed since the profile was made (its build-id is "
			    "%.12s…, not %.12s…): bring the old file back, or profile again",
			    path, probe.build_id, id);
		else
			added += images_add(m->images, path, name ? name : path,
					    (uint64_t)store_int(&r, 3), NULL);
	}
	ok = store_done(&r, ok ? e : NULL) && ok;
	if (ok && !added)
		ok =
		    err_set(e,
			    "%s has no code, and its binary cannot be read (%s): bring it back, or "
			    "profile again",
			    store_path(m->store), all ? missing : "it names none");
	return ok;
}

/* ---- samples ---- */

static int by_start(const void *a, const void *b)
{
	const struct calc_piece *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->proc < y->proc ? -1 : x->proc > y->proc;
}

static void add_pieces(struct calc_pieces *p, const struct calc_model *m, uint32_t proc)
{
	const struct cfg *g = m->names[proc].graph;

	for (uint32_t b = 0; b < g->nblocks; b++)
		*ARRAY_ADD(p->list, p->count) =
		    (struct calc_piece){ g->blocks[b].start, g->blocks[b].end, proc, b };
}

struct calc_pieces calc_pieces_new(const struct calc_model *m)
{
	struct calc_pieces p = { 0 };

	for (uint32_t i = 0; i < m->program.nprocs; i++)
		add_pieces(&p, m, i);
	if (p.count)
		qsort(p.list, p.count, sizeof(*p.list), by_start);
	return p;
}

/* Symbols may overlap: a block may lie within another one's. */
#define OVERLAP 8

const struct calc_piece *calc_piece_at(const struct calc_pieces *p, uint64_t pc)
{
	const size_t after = ARRAY_SEARCH(p->count, i, p->list[i].start <= pc);

	for (size_t k = after; k > 0 && k + OVERLAP > after; k--)
		if (pc < p->list[k - 1].end)
			return &p->list[k - 1];
	return NULL;
}

bool calc_find(const struct calc_model *m, uint64_t pc, uint32_t *proc, uint32_t *inst)
{
	for (*proc = 0; *proc < m->program.nprocs; ++*proc) {
		*inst = cfg_inst_at(m->names[*proc].graph, pc);
		if (*inst != UINT32_MAX)
			return true;
	}
	return false;
}

static bool has_graph(const struct calc_model *m, const struct cfg *g)
{
	for (uint32_t i = 0; i < m->program.nprocs; i++)
		if (m->names[i].graph->start == g->start)
			return true;
	return false;
}

/* What the store knows of a function whose graph it lacks. */
static struct calc_name name_of(struct calc_model *m, const struct cfg *g)
{
	struct calc_name name = { .function = -1, .name = text_shown(g->name) };
	struct store_rows r =
	    store_query(m->store,
			"SELECT f.id, i.name, f.file, f.line FROM function f LEFT "
			"JOIN image i ON i.id = f.image WHERE f.start = ?1",
			"i", (int64_t)g->start);

	if (store_next(&r)) {
		name.function = store_int(&r, 0);
		name.image = model_copy(&r, 1);
		name.file = model_copy(&r, 2);
		name.line = (int)store_int(&r, 3);
	}
	store_done(&r, NULL);
	return name;
}

/* Graphs that the store lacks, for the addresses of a query's first column, which it sorts by. */
static bool build_graphs(struct calc_model *m, const char *sql, struct err *e)
{
	struct store_rows r = store_query(m->store, sql, "");
	uint64_t end = 0; /* of the last function */

	while (store_next(&r)) {
		const uint64_t pc = (uint64_t)store_int(&r, 0);

		if (pc < end)
			continue;
		struct cfg *g = cfg_build(m->images, pc);
		const struct place place = images_function(m->images, pc);

		end = place.end > pc ? place.end : pc + 1;
		if (g && has_graph(m, g)) /* a split part of a function that is there */
			cfg_free(g);
		else if (g)
			add_graph(m, g, name_of(m, g));
	}
	return store_done(&r, e);
}

static bool between(struct calc_model *m, uint64_t pc, uint32_t proc, struct err *e)
{
	return err_set(e,
		       "%s has samples at 0x%" PRIx64
		       ", between two instructions of %s: its code is "
		       "not the one that was sampled; profile again",
		       store_path(m->store), pc, m->names[proc].name);
}

static bool read_samples(struct calc_model *m, struct err *e)
{
	struct calc_pieces p = calc_pieces_new(m);
	struct store_rows r = store_query(m->store, samples_sql(m), "");
	bool ok = true;

	while (ok && store_next(&r)) {
		const uint64_t pc = (uint64_t)store_int(&r, 0);
		const int64_t event = store_int(&r, 1);
		const double count = store_double(&r, 2);
		const struct calc_piece *piece = calc_piece_at(&p, pc);

		if (event < 0 || event >= SAMPLED_COUNT || !(count >= 0))
			continue;
		m->samples += event == SAMPLED_CYCLES ? count : 0;
		if (!piece) {
			m->outside += event == SAMPLED_CYCLES ? count : 0;
			continue;
		}
		const uint32_t i = cfg_inst_at(m->names[piece->proc].graph, pc);

		if (i == UINT32_MAX) {
			ok = between(m, pc, piece->proc, e);
			continue;
		}
		struct calc_inst *in = &m->program.procs[piece->proc].insts[i];

		in->count[event] += count;
		in->issued += event == SAMPLED_CYCLES ? store_double(&r, 3) : 0;
		in->commits += store_double(&r, 4);
	}
	free(p.list);
	return store_done(&r, ok ? e : NULL) && ok;
}

/* Which instructions of a procedure committed in the same sampled cycle. */
static bool read_pairs(struct calc_model *m, struct err *e)
{
	struct calc_pieces p = calc_pieces_new(m);
	struct store_rows r = store_query(
	    m->store, "SELECT pc, other, count FROM calc_commit_pair ORDER BY pc, other", "");

	while (store_next(&r)) {
		const struct calc_piece *a = calc_piece_at(&p, (uint64_t)store_int(&r, 0)),
					*b = calc_piece_at(&p, (uint64_t)store_int(&r, 1));

		if (!a || !b || a->proc != b->proc)
			continue;
		struct calc_proc *proc = &m->program.procs[a->proc];
		const uint32_t x = cfg_inst_at(proc->graph, (uint64_t)store_int(&r, 0)),
			       y = cfg_inst_at(proc->graph, (uint64_t)store_int(&r, 1));

		if (x != y && x != UINT32_MAX && y != UINT32_MAX)
			*ARRAY_ADD(proc->pairs, proc->npairs) =
			    (struct calc_pair){ x < y ? x : y, x < y ? y : x, store_double(&r, 2) };
	}
	free(p.list);
	return store_done(&r, e);
}

static void count_illegal(struct calc_model *m)
{
	for (uint32_t p = 0; p < m->program.nprocs && m->program.machine; p++)
		for (uint32_t i = 0; i < m->names[p].graph->ninsts; i++)
			m->illegal += isa_decode(m->names[p].graph->insts[i].word).op == OP_ILLEGAL;
}

static bool read_estimate(struct calc_model *m, const char *samples, struct err *e)
{
	if (!read_sampling(m, samples, e) || !read_graphs(m, e))
		return false;
	if (!m->program.nprocs && (!open_images(m, e) || !build_graphs(m, samples_sql(m), e)))
		return false;
	if (!read_samples(m, e) || (m->program.sampling.mode == CALC_COMMIT && !read_pairs(m, e)))
		return false;
	if (m->sampled->records && !calc_read_records(m, m->sampled->records, m->sampled->depth, e))
		return false;
	count_illegal(m);
	return m->program.nprocs ||
	       err_set(e,
		       "%s: none of its samples lies in code that is known; its binary has no "
		       "symbols, or profile again",
		       store_path(m->store));
}

bool calc_read(struct store *s, const struct calc_read_options *o, struct calc_model *m,
	       struct err *e)
{
	const bool exact = o->method && !strcmp(o->method, CALC_EXACT);

	*m = (struct calc_model){ .store = s, .method = o->method };
	m->program.options = (struct calc_options){ .method = exact ? NULL : o->method,
						    .cross = o->cross,
						    .ignore_edges = 0.01 };
	model_run_names(s, m->program_name, m->machine_name);
	bool ok = read_estimate(m, o->samples, e) && (exact || calc_run(&m->program, e));

	if (ok && (exact || !o->no_truth))
		ok = calc_read_truth(m, e);
	if (ok && exact)
		ok = calc_run_exact(m, e);
	if (ok && m->program.sampling.mode == CALC_ISSUE)
		calc_truth_beyond(m);
	if (ok && o->no_truth)
		m->truth = false;
	if (!m->method)
		m->method = CALC_DEFAULT;
	if (!ok)
		calc_model_free(m);
	return ok;
}

void calc_model_free(struct calc_model *m)
{
	for (uint32_t i = 0; i < m->program.nprocs; i++) {
		struct calc_name *n = &m->names[i];

		for (uint32_t k = 0; n->texts && k < n->graph->ninsts; k++) {
			free(n->texts[k].disasm);
			free(n->texts[k].file);
		}
		free(n->texts);
		free(n->name);
		free(n->image);
		free(n->file);
		free(n->truth);
		free(n->edges);
	}
	const uint32_t count = m->program.nprocs;

	calc_free(&m->program);
	for (uint32_t i = 0; i < count; i++)
		cfg_free(m->names[i].graph);
	free(m->names);
	if (m->images)
		images_free(m->images);
	*m = (struct calc_model){ 0 };
}

/* ---- what views ask for ---- */

static void disassemble(struct calc_model *m, const struct cfg_inst *i, char *buf, size_t size)
{
	buf[0] = '\0';
	if (m->images) {
		images_disasm(m->images, i->pc, buf, size);
	} else if (!m->live) {
		const struct inst in = isa_decode(i->word);

		isa_disasm(&in, i->pc, DISASM_ALIASES, buf, size);
	}
}

#define PADDING 64 /* bytes between two blocks that one query reads */

static void read_texts(struct calc_model *m, struct calc_name *n, uint64_t start, uint64_t end)
{
	struct store_rows r = store_query(
	    m->store, "SELECT pc, disasm, file, line FROM instruction WHERE pc >= ?1 AND pc < ?2",
	    "ii", (int64_t)start, (int64_t)end);

	while (store_next(&r)) {
		const uint32_t i = cfg_inst_at(n->graph, (uint64_t)store_int(&r, 0));

		if (i != UINT32_MAX && !n->texts[i].disasm)
			n->texts[i] = (struct calc_text){ model_copy(&r, 1), model_copy(&r, 2),
							  (int)store_int(&r, 3) };
	}
	store_done(&r, NULL);
}

void calc_texts(struct calc_model *m, uint32_t proc)
{
	struct calc_name *n = &m->names[proc];
	char buf[160];

	if (n->texts)
		return;
	n->texts = x_calloc(n->graph->ninsts, sizeof(*n->texts));
	for (uint32_t b = 0, last; b < n->graph->nblocks; b = last + 1) {
		last = b;
		while (last + 1 < n->graph->nblocks &&
		       n->graph->blocks[last + 1].start < n->graph->blocks[last].end + PADDING)
			last++;
		read_texts(m, n, n->graph->blocks[b].start, n->graph->blocks[last].end);
	}
	for (uint32_t i = 0; i < n->graph->ninsts; i++)
		if (!n->texts[i].disasm) {
			disassemble(m, &n->graph->insts[i], buf, sizeof(buf));
			n->texts[i].disasm = text_shown(buf);
		}
}

uint32_t *calc_named(const struct calc_model *m, const char *name, size_t *count, struct err *e)
{
	uint32_t *order = calc_by_samples(m);
	struct nearest near = { .word = name };
	size_t n = 0;

	for (uint32_t i = 0; i < m->program.nprocs; i++) {
		nearest_try(&near, m->names[order[i]].name);
		if (!strcmp(m->names[order[i]].name, name))
			order[n++] = order[i];
	}
	*count = n;
	if (n)
		return order;
	free(order);
	err_set(e,
		"no procedure '%s' has samples in %s; did you mean '%s'? (`culprit calc %s` lists "
		"those with the longest stalls)",
		name, store_path(m->store), near.best ? near.best : "", store_path(m->store));
	return NULL;
}

static int by_samples(const void *a, const void *b, void *context)
{
	const struct calc_model *m = context;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const double sx = m->program.procs[x].samples, sy = m->program.procs[y].samples;

	if (sx != sy)
		return sx < sy ? 1 : -1;
	return x < y ? -1 : x > y;
}

uint32_t *calc_by_samples(const struct calc_model *m)
{
	uint32_t *order = x_calloc(m->program.nprocs + 1, sizeof(*order));

	for (uint32_t i = 0; i < m->program.nprocs; i++)
		order[i] = i;
	qsort_r(order, m->program.nprocs, sizeof(*order), by_samples, (void *)m);
	return order;
}

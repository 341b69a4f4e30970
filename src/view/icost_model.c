/* SPDX-License-Identifier: MIT */
/* Reads costs and interaction costs of a run, and finds the instructions that a what-if names. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "view/icost.h"
#include "view/model.h"

const char *const shotgun_count_names[SHOTGUN_COUNTS] = {
	[SHOTGUN_BUILT] = "fragments_built",
	[SHOTGUN_DISCARDED] = "fragments_discarded",
	[SHOTGUN_WRONG] = "fragments_wrong",
	[SHOTGUN_INSTS] = "instructions",
	[SHOTGUN_RIGHT] = "pcs_right",
	[SHOTGUN_NO_SAMPLE] = "no_sample",
	[SHOTGUN_INEXACT] = "inexact",
	[SHOTGUN_INDIRECT] = "indirect",
	[SHOTGUN_INDIRECT_RIGHT] = "indirect_right",
	[SHOTGUN_ERRANT] = "errant",
};

double icost_inst_cost(const struct icost_inst *i)
{
	double sum = 0;

	for (int k = 0; k < KIND_FIXABLE; k++)
		sum += i->cost[k];
	return sum;
}

static int by_cost(const void *a, const void *b)
{
	const struct icost_inst *x = a, *y = b;
	const double p = icost_inst_cost(x), q = icost_inst_cost(y);
	if (p != q)
		return p < q ? 1 : -1;
	return (x->pc > y->pc) - (x->pc < y->pc);
}

static bool read_sets(struct store *s, struct icost_model *m, struct err *e)
{
	struct store_rows r =
	    store_query(s, "SELECT categories, name, cost, icost FROM icost WHERE phase = -1", "");
	while (store_next(&r)) {
		const int64_t set = store_int(&r, 0);
		if (set <= 0 || set >= ICOST_SETS)
			continue;
		snprintf(m->name[set], sizeof(m->name[set]), "%s", store_shown(&r, 1));
		m->cost[set] = store_double(&r, 2);
		m->icost[set] = store_double(&r, 3);
		m->cost_margin[set] =
		    estimated_margin(&m->estimated, "cost", set, store_text(&r, 1));
		m->icost_margin[set] =
		    estimated_margin(&m->estimated, "icost", set, store_text(&r, 1));
	}
	return store_done(&r, e);
}

static bool read_instructions(struct store *s, struct icost_model *m, struct err *e)
{
	struct store_rows r = store_query(
	    s,
	    "SELECT c.pc, i.disasm, f.name, i.file, i.line, c.executions, c.critical, c.slack, "
	    "c.local_slack, c.least_slack, c.miss, c.mispredict, c.latency, c.imiss, p.path, "
	    "i.class, p.miss, p.mispredict, p.latency, p.imiss "
	    "FROM icost_instruction c LEFT JOIN instruction i ON i.pc = c.pc "
	    "LEFT JOIN function f ON f.id = i.function "
	    "LEFT JOIN (SELECT pc, sum(cycles) AS path, sum((kind = 'miss') * cycles) AS miss, "
	    "sum((kind = 'mispredict') * cycles) AS mispredict, "
	    "sum((kind = 'latency') * cycles) AS latency, sum((kind = 'imiss') * cycles) AS imiss "
	    "FROM icost_critical GROUP BY pc) p ON p.pc = c.pc",
	    "");
	while (store_next(&r)) {
		struct icost_inst *i = ARRAY_ADD(m->instructions, m->ninsts);
		*i = (struct icost_inst){ .pc = (uint64_t)store_int(&r, 0),
					  .disasm = model_copy(&r, 1),
					  .function = model_copy(&r, 2),
					  .file = model_copy(&r, 3),
					  .line = (int)store_int(&r, 4),
					  .executions = store_double(&r, 5),
					  .critical = store_double(&r, 6),
					  .slack = store_double(&r, 7),
					  .local_slack = store_double(&r, 8),
					  .least_slack = store_double(&r, 9),
					  .path = store_double(&r, 14),
					  .cls = model_copy(&r, 15) };
		for (int k = 0; k < KIND_FIXABLE; k++) {
			i->cost[k] = store_double(&r, 10 + k);
			i->on_path[k] = store_double(&r, 16 + k);
		}
	}
	if (m->ninsts)
		qsort(m->instructions, m->ninsts, sizeof(*m->instructions), by_cost);
	return store_done(&r, e);
}

static bool read_pairs(struct store *s, struct icost_model *m, struct err *e)
{
	struct store_rows r = store_query(s,
					  "SELECT pc_a, kind_a, pc_b, kind_b, cost, icost FROM "
					  "icost_pair ORDER BY abs(icost) DESC",
					  "");
	while (store_next(&r)) {
		struct icost_pair *p = ARRAY_ADD(m->pairs, m->npairs);
		p->a = (uint64_t)store_int(&r, 0);
		p->b = (uint64_t)store_int(&r, 2);
		snprintf(p->kind_a, sizeof(p->kind_a), "%s", store_shown(&r, 1));
		snprintf(p->kind_b, sizeof(p->kind_b), "%s", store_shown(&r, 3));
		p->cost = store_double(&r, 4);
		p->icost = store_double(&r, 5);
	}
	return store_done(&r, e);
}

static void put_pair(struct icost_pairs *p, int64_t set, double cycles)
{
	if (set > 0 && set < ICOST_SETS && __builtin_popcountll((uint64_t)set) == 2)
		p->icost[__builtin_ctzll((uint64_t)set)][63 - __builtin_clzll((uint64_t)set)] =
		    cycles;
}

static bool read_functions(struct store *s, struct icost_model *m, struct err *e)
{
	struct store_rows r = store_query(
	    s,
	    "SELECT coalesce(f.name, '[unknown]'), p.categories, sum(p.cost) FROM icost_place p "
	    "LEFT JOIN instruction i ON i.pc = p.pc LEFT JOIN function f ON f.id = i.function "
	    "GROUP BY f.id, p.categories ORDER BY sum(CASE WHEN p.categories = 0 THEN p.cost "
	    "ELSE 0 END) OVER (PARTITION BY f.id) DESC, f.id, p.categories",
	    "");
	while (store_next(&r)) {
		const char *name = store_shown(&r, 0);
		const int64_t set = store_int(&r, 1);
		if (!m->nfunctions || strcmp(m->functions[m->nfunctions - 1].name, name)) {
			*ARRAY_ADD(m->functions, m->nfunctions) =
			    (struct icost_function){ .name = x_strdup(name) };
		}
		struct icost_function *f = &m->functions[m->nfunctions - 1];
		if (!set)
			f->cycles = store_double(&r, 2);
		for (unsigned k = 0; k < ICOST_CATEGORIES; k++)
			if (set == 1 << k)
				f->cost[k] = store_double(&r, 2);
		put_pair(&f->pairs, set, store_double(&r, 2));
	}
	/* of both together, less what each saves alone */
	for (size_t i = 0; i < m->nfunctions; i++)
		for (unsigned a = 0; a < ICOST_CATEGORIES; a++)
			for (unsigned b = a + 1; b < ICOST_CATEGORIES; b++)
				m->functions[i].pairs.icost[a][b] -=
				    m->functions[i].cost[a] + m->functions[i].cost[b];
	return store_done(&r, e);
}

static bool read_phases(struct store *s, struct icost_model *m, struct err *e)
{
	struct store_rows r =
	    store_query(s,
			"SELECT p.phase, p.instructions, p.cycles, c.categories, c.cost, c.icost "
			"FROM icost_phase p JOIN icost c ON c.phase = p.phase WHERE p.phase >= 0 "
			"ORDER BY p.phase, c.categories",
			"");

	while (store_next(&r)) {
		const int64_t phase = store_int(&r, 0), set = store_int(&r, 3);

		if (set <= 0 || set >= ICOST_SETS)
			continue;
		if (!m->nphases || m->phases[m->nphases - 1].phase != phase) {
			*ARRAY_ADD(m->phases, m->nphases) =
			    (struct icost_phase){ .phase = phase,
						  .insts = store_int(&r, 1),
						  .cycles = store_double(&r, 2) };
		}
		struct icost_phase *last = &m->phases[m->nphases - 1];
		if (!(set & (set - 1)))
			last->cost[__builtin_ctzll((uint64_t)set)] = store_double(&r, 4);
		put_pair(&last->pairs, set, store_double(&r, 5));
	}
	return store_done(&r, e);
}

static bool read_shotgun(struct store *s, struct icost_model *m, struct err *e)
{
	struct store_rows r =
	    store_query(s, "SELECT design, categories, cost, icost FROM shotgun", "");

	while (store_next(&r)) {
		const int64_t d = store_int(&r, 0), set = store_int(&r, 1);

		if (d < 0 || d >= SHOTGUN_DESIGNS || set <= 0 || set >= ICOST_SETS)
			continue;
		m->has_shotgun = m->shotgun[d].known = true;
		m->shotgun[d].cost[set] = store_double(&r, 2);
		m->shotgun[d].icost[set] = store_double(&r, 3);
	}
	return store_done(&r, e);
}

static bool read_shotgun_counts(struct store *s, struct icost_model *m, struct err *e)
{
	struct store_rows r = store_query(s, "SELECT design, key, value FROM shotgun_count", "");

	for (int d = 0; d < SHOTGUN_DESIGNS; d++)
		for (int k = 0; k < SHOTGUN_COUNTS; k++)
			m->shotgun[d].count[k] = NAN;
	while (store_next(&r)) {
		const int64_t d = store_int(&r, 0);

		for (int k = 0; d >= 0 && d < SHOTGUN_DESIGNS && k < SHOTGUN_COUNTS; k++)
			if (!strcmp(shotgun_count_names[k], store_shown(&r, 1)))
				m->shotgun[d].count[k] = store_double(&r, 2);
	}
	m->has_shotgun |= m->shotgun[SHOTGUN_OURS].count[SHOTGUN_DISCARDED] > 0;
	return store_done(&r, e);
}

/* ---- the profiler in place of the graph ---- */

bool icost_use_profiler(struct store *s, struct err *e)
{
	/* Queries see these in place of the tables of the same name. */
	static const char *const views[] = {
		"CREATE TEMP VIEW IF NOT EXISTS icost AS SELECT -1 AS phase, categories, name, "
		"cost, "
		"icost FROM main.shotgun WHERE design = 4",
		"CREATE TEMP VIEW IF NOT EXISTS icost_phase AS SELECT -1 AS phase, (SELECT value "
		"FROM "
		"run WHERE key = 'shotgun_instructions') AS instructions, (SELECT value FROM run "
		"WHERE "
		"key = 'shotgun_cycles') AS cycles",
		"CREATE TEMP VIEW IF NOT EXISTS icost_instruction AS SELECT * FROM "
		"main.shotgun_instruction",
		"CREATE TEMP VIEW IF NOT EXISTS icost_critical AS SELECT * FROM "
		"main.shotgun_critical",
		"CREATE TEMP VIEW IF NOT EXISTS icost_pair AS SELECT * FROM main.shotgun_pair",
		"CREATE TEMP VIEW IF NOT EXISTS icost_place AS SELECT * FROM main.icost_place "
		"WHERE 0",
	};
	if (!store_number(s, "SELECT count(*) FROM shotgun WHERE design = 4", 0))
		return err_set(e,
			       "%s has no costs from a shotgun profiler; `culprit sim --analyze "
			       "shotgun -- PROG` samples them",
			       store_path(s));
	for (size_t i = 0; i < ARRAY_LEN(views); i++) {
		struct store_rows r = store_query(s, views[i], "");
		while (store_next(&r)) {
		}
		if (!store_done(&r, e))
			return false;
	}
	return true;
}

/* How well the profiler finds what the graph finds: the ten events of static instructions that cost most. */
static bool read_score(struct store *s, struct icost_model *m, struct err *e)
{
#define EVENTS_OF(table)                                                                           \
	"SELECT * FROM (SELECT pc, 'miss' AS kind, miss AS cost FROM main." table " UNION ALL "    \
	"SELECT pc, 'mispredict', mispredict FROM main." table " UNION ALL SELECT pc, 'latency', " \
	"latency FROM main." table " UNION ALL SELECT pc, 'imiss', imiss FROM main." table ") "    \
	"WHERE cost > 0"
	struct store_rows r = store_query(
	    s,
	    "WITH g AS (" EVENTS_OF("icost_instruction") "), p AS (" EVENTS_OF(
		"shotgun_instruction") "), top AS (SELECT * FROM g ORDER BY cost DESC, pc LIMIT "
				       "10), ten AS (SELECT * FROM p ORDER BY cost DESC, pc LIMIT "
				       "10) "
				       "SELECT count(*), sum(EXISTS (SELECT 1 FROM ten WHERE "
				       "ten.pc = "
				       "top.pc AND ten.kind = top.kind)), sum(abs(top.cost - "
				       "coalesce(p.cost, 0))), sum(top.cost), avg(abs(gi.critical "
				       "- "
				       "coalesce(pi.critical, 0))), avg(abs(gi.slack - "
				       "coalesce(pi.slack, 0))) FROM top LEFT JOIN p USING (pc, "
				       "kind) "
				       "JOIN main.icost_instruction gi USING (pc) LEFT JOIN "
				       "main.shotgun_instruction pi USING (pc)",
	    "");
	if (store_next(&r) && store_int(&r, 0) && store_double(&r, 3) > 0) {
		m->score.events = store_double(&r, 0);
		m->score.found = store_double(&r, 1);
		m->score.error = store_double(&r, 2) / store_double(&r, 3);
		m->score.critical = store_double(&r, 4);
		m->score.slack = store_double(&r, 5);
	}
	return store_done(&r, e);
}

bool icost_read(struct store *s, struct icost_model *m, struct err *e)
{
	memset(m, 0, sizeof(*m));
	if (!store_number(s, "SELECT count(*) FROM icost WHERE phase = -1", 0) &&
	    (!store_number(s, "SELECT count(*) FROM shotgun WHERE design = 4", 0) ||
	     !icost_use_profiler(s, e)))
		return err_set(
		    e, "%s has no costs; `culprit sim --analyze icost -- PROG` measures them",
		    store_path(s));
	m->by_profiler =
	    store_number(s, "SELECT count(*) FROM temp.sqlite_master WHERE name = 'icost'", 0) > 0;
	model_run_names(s, m->program, m->machine);
	m->insts =
	    (double)store_number(s, "SELECT instructions FROM icost_phase WHERE phase = -1", 0);
	m->graph_cycles = model_run_number(s, "graph_cycles", 0);
	m->cycles = model_run_number(s, "graph_reference_cycles", m->graph_cycles);
	m->run_cycles = model_run_number(s, "profiled_cycles", m->cycles);
	m->sampled_share = model_run_number(s, "icost_sampled_share", 0);
	if (m->by_profiler) {
		m->graph_cycles = m->cycles = model_run_number(s, "shotgun_cycles", 0);
		m->run_cycles = model_run_number(s, "profiled_cycles", m->cycles);
	}
	return estimated_read(s, &m->estimated, e) && read_sets(s, m, e) &&
	       read_instructions(s, m, e) && read_pairs(s, m, e) && read_functions(s, m, e) &&
	       read_phases(s, m, e) && read_shotgun(s, m, e) && read_shotgun_counts(s, m, e) &&
	       read_score(s, m, e);
}

void icost_free(struct icost_model *m)
{
	for (size_t i = 0; i < m->ninsts; i++) {
		free(m->instructions[i].disasm);
		free(m->instructions[i].function);
		free(m->instructions[i].file);
		free(m->instructions[i].cls);
	}
	for (size_t i = 0; i < m->nfunctions; i++)
		free(m->functions[i].name);
	free(m->functions);
	free(m->instructions);
	free(m->pairs);
	free(m->phases);
	estimated_free(&m->estimated);
}

const struct icost_inst *icost_inst_at(const struct icost_model *m, uint64_t pc)
{
	for (size_t i = 0; i < m->ninsts; i++)
		if (m->instructions[i].pc == pc)
			return &m->instructions[i];
	return NULL;
}

/* ---- what if ---- */

#define NAME_WITH_KIND(id, name, bit, letter, colour, rgb, kind, ...) NAME_IF_##kind(name)
#define NAME_IF_NONE(name)
#define NAME_IF_MISS(name)	 " " name
#define NAME_IF_MISPREDICT(name) " " name
#define NAME_IF_LATENCY(name)	 " " name
#define NAME_IF_IMISS(name)	 " " name

static int kind_of_event(const char *event)
{
	static const struct {
		const char *event;
		int kind;
	} kinds[] = {
#define X(id, name, bit, letter, colour, rgb, kind, ...) { name, KIND_##kind },
		WORDS_COSTS(X)
#undef X
	};
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (!strcmp(kinds[i].event, event))
			return kinds[i].kind;
	return -1;
}

/* Whether a path ends in the file that is wanted: "/src/dir/lbm.c" does in "dir/lbm.c". */
static bool is_file(const char *path, const char *wanted)
{
	const size_t n = strlen(path), w = strlen(wanted);
	return w <= n && !strcmp(path + n - w, wanted) && (n == w || path[n - w - 1] == '/');
}

/* Whether the instruction can have the event: the name of a latency depends on the operation. */
static bool can_have(const struct icost_inst *i, const char *event)
{
	const char *cls = i->cls ? i->cls : "";
	const bool load = !strcmp(cls, "load") || !strcmp(cls, "amo"),
		   memory = load || !strcmp(cls, "store"),
		   longer = !strcmp(cls, "mul") || !strcmp(cls, "div") || cls[0] == 'f';
	if (!strcmp(event, "dl1"))
		return load;
	if (!strcmp(event, "lgalu"))
		return longer;
	return strcmp(event, "shalu") || (!memory && !longer);
}

/* Places are those that the views print: an address, a line, a function, and a function and an address. */
static bool matches(const struct icost_inst *i, const char *place)
{
	char *end;
	const char *colon = strrchr(place, ':'), *space = strrchr(place, ' ');
	if (i->function && !strcmp(i->function, place))
		return true;
	const uint64_t address = strtoull(space ? space + 1 : place, &end, 16);
	if (!*end && end != place && address == i->pc)
		return !space ||
		       (i->function && !strncmp(i->function, place, (size_t)(space - place)) &&
			!i->function[space - place]);
	if (!colon)
		return false;
	char *file = x_strndup(place, (size_t)(colon - place));
	const bool yes = i->file && i->line == atoi(colon + 1) && is_file(i->file, file);
	free(file);
	return yes;
}

static bool holds(const uint64_t *pcs, size_t n, uint64_t pc)
{
	for (size_t i = 0; i < n; i++)
		if (pcs[i] == pc)
			return true;
	return false;
}

/* The events before the @, of which there is at least one. */
static bool read_events(const char *text, size_t n, struct icost_asked *a, struct err *e)
{
	char *words = x_strndup(text, n), *next = words;
	bool ok = true;
	while (ok && next) {
		char *event = strsep(&next, "+");
		ok =
		    (kind_of_event(event) >= 0 && a->nevents < ICOST_EVENTS_MAX) ||
		    err_set(e, "'%s': there is no event '%s'; they are" WORDS_COSTS(NAME_WITH_KIND),
			    text, event);
		if (ok)
			snprintf(a->events[a->nevents++], sizeof(a->events[0]), "%s", event);
	}
	free(words);
	return ok;
}

/* Whether the instruction is at one of the places, which have commas between. A name may have commas
 * itself. */
static bool is_at(const struct icost_inst *i, const char *places)
{
	if (matches(i, places))
		return true;
	char *words = strchr(places, ',') ? x_strdup(places) : NULL, *next = words;
	bool yes = false;
	while (!yes && next)
		yes = matches(i, strsep(&next, ","));
	free(words);
	return yes;
}

/* The place of a list at which there is no instruction; NULL: all have one. The caller frees. */
static char *empty_place(const struct icost_model *m, const char *places)
{
	char *words = x_strdup(places), *next = words, *empty = NULL;
	while (!empty && next) {
		const char *place = strsep(&next, ",");
		bool found = false;
		for (size_t i = 0; i < m->ninsts && !found; i++)
			found = matches(&m->instructions[i], place);
		empty = found ? NULL : x_strdup(place);
	}
	free(words);
	return empty;
}

/* Whether idealising what is asked for idealises this kind of cycles of the instruction. */
static bool takes_kind(const struct icost_asked *a, const struct icost_inst *i, int kind)
{
	for (size_t k = 0; k < a->nevents; k++)
		if (kind_of_event(a->events[k]) == kind && can_have(i, a->events[k]))
			return true;
	return false;
}

static const struct icost_inst *asked_at(const struct icost_model *m, const struct icost_asked *a,
					 uint64_t pc)
{
	for (size_t i = 0; holds(a->pcs, a->npcs, pc) && i < m->ninsts; i++)
		if (m->instructions[i].pc == pc)
			return &m->instructions[i];
	return NULL;
}

static bool takes_named(const struct icost_model *m, const struct icost_asked *a, uint64_t pc,
			const char *kind)
{
	const struct icost_inst *i = asked_at(m, a, pc);
	for (int k = 0; i && k < KIND_FIXABLE; k++)
		if (!strcmp(words_kinds[k].name, kind))
			return takes_kind(a, i, k);
	return false;
}

static bool find_asked(const struct icost_model *m, const char *text, const char *places,
		       struct icost_asked *a, struct err *e)
{
	/* Instructions come with the most costly first, so that a limit drops the least. What is on the longest
	 * path may cost nothing: another path may be as long. */
	size_t found = 0, able = 0;
	for (size_t i = 0; i < m->ninsts; i++) {
		const struct icost_inst *in = &m->instructions[i];
		bool can = false, used = false;
		if (!is_at(in, places))
			continue;
		found++;
		for (int kind = 0; kind < KIND_FIXABLE; kind++) {
			if (!takes_kind(a, in, kind))
				continue;
			can = true;
			if ((in->cost[kind] == 0 && in->on_path[kind] <= 0) ||
			    (a->npcs == ICOST_PCS_MAX && !used))
				continue;
			a->predicted += in->cost[kind];
			a->on_path += in->on_path[kind];
			if (!used)
				a->pcs[a->npcs++] = in->pc;
			used = true;
		}
		able += can;
	}
	/* Together they save the sum of what each saves alone, corrected by the interactions of pairs. */
	for (size_t i = 0; i < m->npairs; i++)
		if (takes_named(m, a, m->pairs[i].a, m->pairs[i].kind_a) &&
		    takes_named(m, a, m->pairs[i].b, m->pairs[i].kind_b))
			a->predicted += m->pairs[i].icost;
	const char *event = a->events[0];
	if (!found)
		return err_set(e, "'%s': no instruction that was executed is at %s", text, places);
	if (!able)
		return err_set(e, "'%s': no instruction at %s can have a %s", text, places, event);
	if (!a->npcs)
		return err_set(
		    e,
		    "'%s': no %s of an instruction at %s is ever on the longest path: fixing it "
		    "saves nothing",
		    text, event, places);
	return true;
}

bool icost_find(struct store *s, const char *text, struct icost_asked *a, struct err *e)
{
	const char *at = strchr(text, '@');
	struct icost_model m;
	*a = (struct icost_asked){ .nevents = 0 };
	if (!at || at == text || !at[1])
		return err_set(e,
			       "'%s' is not EVENT@PLACE; e.g. dmiss@lbm.c:88, bmisp@0x10656, "
			       "dl1+dmiss@main",
			       text);
	if (!read_events(text, (size_t)(at - text), a, e))
		return false;
	bool ok = icost_read(s, &m, e);
	if (ok) {
		bool whole = false;
		for (size_t i = 0; i < m.ninsts && !whole; i++)
			whole = matches(&m.instructions[i], at + 1);
		char *empty = whole ? NULL : empty_place(&m, at + 1);
		ok = !empty ||
		     err_set(e, "'%s': no instruction that was executed is at %s", text, empty);
		free(empty);
	}
	ok = ok && find_asked(&m, text, at + 1, a, e);
	icost_free(&m);
	return ok;
}

/* SPDX-License-Identifier: MIT */
/* Reads costs and interaction costs of a run, and finds the instructions that a what-if names. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "view/icost.h"
#include "view/model.h"

const char *const shotgun_count_names[SHOTGUN_COUNTS] = {
	[SHOTGUN_BUILT] = "fragments_built", [SHOTGUN_DISCARDED] = "fragments_discarded",
	[SHOTGUN_WRONG] = "fragments_wrong", [SHOTGUN_INSTS] = "instructions",
	[SHOTGUN_RIGHT] = "pcs_right",	     [SHOTGUN_NO_SAMPLE] = "no_sample",
	[SHOTGUN_INEXACT] = "inexact",
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
	}
	return store_done(&r, e);
}

static bool read_phases(struct store *s, struct icost_model *m, struct err *e)
{
	struct store_rows r =
	    store_query(s,
			"SELECT p.phase, p.instructions, p.cycles, c.categories, c.cost FROM "
			"icost_phase p JOIN icost c ON c.phase = p.phase WHERE p.phase >= 0 AND "
			"c.categories & (c.categories - 1) = 0 ORDER BY p.phase, c.categories",
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
		m->phases[m->nphases - 1].cost[__builtin_ctzll((uint64_t)set)] =
		    store_double(&r, 4);
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

	while (store_next(&r)) {
		const int64_t d = store_int(&r, 0);

		for (int k = 0; d >= 0 && d < SHOTGUN_DESIGNS && k < SHOTGUN_COUNTS; k++)
			if (!strcmp(shotgun_count_names[k], store_shown(&r, 1)))
				m->shotgun[d].count[k] = store_double(&r, 2);
	}
	m->has_shotgun |= m->shotgun[SHOTGUN_DESIGNS - 1].count[SHOTGUN_DISCARDED] > 0;
	return store_done(&r, e);
}

bool icost_read(struct store *s, struct icost_model *m, struct err *e)
{
	memset(m, 0, sizeof(*m));
	if (!store_number(s, "SELECT count(*) FROM icost WHERE phase = -1", 0))
		return err_set(
		    e, "%s has no costs; `culprit sim --analyze icost -- PROG` measures them",
		    store_path(s));
	model_run_names(s, m->program, m->machine);
	m->insts =
	    (double)store_number(s, "SELECT instructions FROM icost_phase WHERE phase = -1", 0);
	m->graph_cycles = model_run_number(s, "graph_cycles", 0);
	m->cycles = model_run_number(s, "graph_reference_cycles", m->graph_cycles);
	m->run_cycles = model_run_number(s, "profiled_cycles", m->cycles);
	m->sampled_share = model_run_number(s, "icost_sampled_share", 0);
	return estimated_read(s, &m->estimated, e) && read_sets(s, m, e) &&
	       read_instructions(s, m, e) && read_pairs(s, m, e) && read_functions(s, m, e) &&
	       read_phases(s, m, e) && read_shotgun(s, m, e) && read_shotgun_counts(s, m, e);
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

bool icost_find(struct store *s, const char *text, char event[16], uint64_t *pcs, size_t max,
		size_t *npcs, double *predicted, double *on_path, struct err *e)
{
	const char *at = strchr(text, '@');
	struct icost_model m;
	*npcs = 0;
	*predicted = *on_path = 0;
	if (!at || at == text || at - text > 15 || !at[1])
		return err_set(e,
			       "'%s' is not EVENT@PLACE; e.g. dmiss@lbm.c:88, bmisp@0x10656, "
			       "lgalu@main",
			       text);
	snprintf(event, 16, "%.*s", (int)(at - text), text);
	const int kind = kind_of_event(event);
	if (kind < 0)
		return err_set(e,
			       "'%s': there is no event '%s'; they are" WORDS_COSTS(NAME_WITH_KIND),
			       text, event);
	if (!icost_read(s, &m, e)) {
		icost_free(&m);
		return false;
	}
	/* Instructions come with the most costly first, so that a limit drops the least. What is on the longest
	 * path may cost nothing: another path may be as long. */
	size_t found = 0, able = 0;
	for (size_t i = 0; i < m.ninsts; i++)
		if (matches(&m.instructions[i], at + 1)) {
			found++;
			if (!can_have(&m.instructions[i], event))
				continue;
			able++;
			const double path = m.instructions[i].on_path[kind];
			if ((m.instructions[i].cost[kind] != 0 || path > 0) && *npcs < max) {
				pcs[(*npcs)++] = m.instructions[i].pc;
				*predicted += m.instructions[i].cost[kind];
				*on_path += path;
			}
		}
	/* Together they save the sum of what each saves alone, corrected by the interactions of pairs. */
	for (size_t i = 0; i < m.npairs; i++)
		if (!strcmp(m.pairs[i].kind_a, words_kinds[kind].name) &&
		    !strcmp(m.pairs[i].kind_b, words_kinds[kind].name) &&
		    holds(pcs, *npcs, m.pairs[i].a) && holds(pcs, *npcs, m.pairs[i].b))
			*predicted += m.pairs[i].icost;
	icost_free(&m);
	if (!found)
		return err_set(e, "'%s': no instruction that was executed is at %s", text, at + 1);
	if (!able)
		return err_set(e, "'%s': no instruction at %s can have a %s", text, at + 1, event);
	if (!*npcs)
		return err_set(
		    e,
		    "'%s': no %s of an instruction at %s is ever on the longest path: fixing it "
		    "saves nothing",
		    text, event, at + 1);
	return true;
}

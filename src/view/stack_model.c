/* SPDX-License-Identifier: MIT */
/*
 * Reads the stacks of a run. Slots are turned into cycles, so that the components of every method
 * sum to the cycles of the run; the base of a naive method may be negative. An error is a
 * difference to the simulated stack in percent of all cycles. What cannot be simulated (long
 * latency, flushes, the store queue, the front end) is part of the simulated base.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "view/stack.h"

#define NAME_WITH_AXIS(id, name, slots, axis, meaning) NAME_IF_##axis(name)
#define NAME_IF_0(name)
#define NAME_IF_1(name) " " name

int stack_part_of(const char *name)
{
	for (int k = 0; name && k < CPI_COMPONENTS; k++)
		if (!strcmp(name, words_components[k].name))
			return k;
	return -1;
}

static bool read_methods(struct stack_model *m, struct store *s, struct err *e)
{
	struct store_rows q = store_query(
	    s,
	    "SELECT m.id, m.name, m.summary, m.scale, c.component, c.units FROM cpi_method m LEFT "
	    "JOIN cpi_component c ON c.method = m.id AND c.phase = -1 ORDER BY m.id, c.component",
	    "");
	int64_t last = -1;

	while (store_next(&q)) {
		const char *name = store_shown(&q, 1), *component = store_shown(&q, 4);
		double cycles = (double)store_int(&q, 5) / (double)store_int(&q, 3);

		if (!strcmp(name, "topdown")) {
			if (component && m->ntopdown < ARRAY_LEN(m->topdown)) {
				struct stack_topdown *t = &m->topdown[m->ntopdown++];

				snprintf(t->name, sizeof(t->name), "%s", component);
				t->cycles = cycles;
			}
			continue;
		}
		if (store_int(&q, 0) != last) {
			if (m->nmethods == STACK_METHODS)
				continue;
			last = store_int(&q, 0);
			struct stack_method *new = &m->methods[m->nmethods++];

			snprintf(new->name, sizeof(new->name), "%s", name);
			snprintf(new->summary, sizeof(new->summary), "%s", store_shown(&q, 2));
		}
		int part = stack_part_of(component);

		if (part >= 0) {
			m->methods[m->nmethods - 1].cycles[part] = cycles;
			m->methods[m->nmethods - 1].margin[part] =
			    estimated_margin(&m->estimated, "stack", last, component);
		}
	}
	return store_done(&q, e);
}

static bool read_phases(struct stack_model *m, struct store *s, const char *method, struct err *e)
{
	int64_t n = store_number(s, "SELECT count(*) FROM cpi_phase WHERE phase >= 0", 0);
	bool known = false;

	for (size_t i = 0; i < m->nmethods; i++)
		known |= !m->methods[i].reference && !strcmp(m->methods[i].name, method);
	if (!known)
		return err_set(e,
			       "there is no method '%s' with a time axis; there are" WORDS_METHODS(
				   NAME_WITH_AXIS),
			       method);
	m->phases = x_calloc((size_t)n + 1, sizeof(*m->phases));
	struct store_rows q = store_query(
	    s,
	    "SELECT p.phase, p.cycles, p.instructions, c.component, c.units * 1.0 / m.scale FROM "
	    "cpi_phase p, cpi_method m LEFT JOIN cpi_component c ON c.phase = p.phase AND c.method "
	    "= m.id WHERE p.phase >= 0 AND m.name = ?1 ORDER BY p.phase",
	    "s", method);
	while (store_next(&q)) {
		size_t i = (size_t)store_int(&q, 0);
		int part = stack_part_of(store_shown(&q, 3));

		if (i >= (size_t)n)
			continue;
		m->nphases = i + 1;
		m->phases[i].cycles = store_double(&q, 1);
		m->phases[i].insts = store_double(&q, 2);
		if (part >= 0)
			m->phases[i].parts[part] = store_double(&q, 4);
	}
	return store_done(&q, e);
}

static bool read_events(struct stack_model *m, struct store *s, struct err *e)
{
	struct store_rows q =
	    store_query(s, "SELECT component, fetched, committed FROM cpi_event", "");

	while (store_next(&q)) {
		int part = stack_part_of(store_shown(&q, 0));

		if (part < 0 || part >= CPI_SIMULATED)
			continue;
		m->events[part] = store_double(&q, 1);
		m->committed[part] = store_double(&q, 2);
	}
	return store_done(&q, e);
}

/* The cycles that operations have a unit for that is not pipelined: all of them, one after the other.
 * fsqrt has units of its own, or else those of fdiv. */
static bool read_busiest(struct stack_model *m, struct store *s, struct err *e)
{
	struct store_rows q = store_query(
	    s,
	    "WITH u AS (SELECT c.key AS class, l.value + 0 AS latency, CASE WHEN c.key = 'fsqrt' "
	    "AND c.value + 0 = 0 THEN 'fdiv' ELSE c.key END AS "
	    "unit FROM machine c JOIN machine l ON l.section = 'units' AND l.key = c.key || "
	    "'_latency' JOIN machine p ON p.section = 'units' AND p.key = c.key || '_pipelined' "
	    "AND "
	    "p.value = 'no' WHERE c.section = 'units'), n AS (SELECT i.class AS class, "
	    "sum(g.executions) AS n FROM instruction i CROSS JOIN golden g USING (pc) WHERE "
	    "i.class IN (SELECT class FROM u) GROUP BY 1) SELECT u.unit, sum(n.n * u.latency) * "
	    "1.0 / "
	    "k.value FROM u JOIN n USING (class) JOIN machine k ON k.section = 'units' AND k.key = "
	    "u.unit WHERE k.value + 0 > 0 GROUP BY 1 ORDER BY 2 DESC LIMIT 1",
	    "");

	while (store_next(&q)) {
		snprintf(m->busiest, sizeof(m->busiest), "%s", store_shown(&q, 0));
		m->busiest_cycles = store_double(&q, 1);
	}
	return store_done(&q, e);
}

static int by_cycles(const void *a, const void *b)
{
	const struct stack_function *x = a, *y = b;

	return x->cycles != y->cycles ? (x->cycles < y->cycles ? 1 : -1) : strcmp(x->name, y->name);
}

/* By FMT; by what commit waits for where FMT by instruction is not known (files of older versions), and in
 * sampled runs, whose errors are known of time at commit alone. */
static bool read_functions(struct stack_model *m, struct store *s, struct err *e)
{
	const bool fmt = !m->estimated.is && store_number(s, "SELECT count(*) FROM cpi_place", 0);
	char *sql = x_asprintf(
	    "SELECT coalesce(f.name, '(no symbol)'), c.component, sum(c.%s), f.id FROM "
	    "%s c LEFT JOIN instruction i USING (pc) LEFT JOIN function f ON f.id = "
	    "i.function GROUP BY f.id, c.component ORDER BY f.id",
	    fmt ? "units) * 1.0 / (SELECT scale FROM cpi_method WHERE name = 'fmt'" : "cycles",
	    fmt ? "cpi_place" : "cpi_instruction");
	struct store_rows q = store_query(s, sql, "");

	while (store_next(&q)) {
		const char *name = store_shown(&q, 0);
		int part = stack_part_of(store_shown(&q, 1));

		if (!m->nfunctions || strcmp(m->functions[m->nfunctions - 1].name, name)) {
			*ARRAY_ADD(m->functions, m->nfunctions) =
			    (struct stack_function){ .id = store_int(&q, 3),
						     .name = x_strdup(name) };
		}
		if (part < 0)
			continue;
		m->functions[m->nfunctions - 1].parts[part] += store_double(&q, 2);
		m->functions[m->nfunctions - 1].cycles += store_double(&q, 2);
	}
	free(sql);
	m->function_method = fmt ? "fmt" : "commit";
	if (m->nfunctions)
		qsort(m->functions, m->nfunctions, sizeof(*m->functions), by_cycles);
	return store_done(&q, e);
}

static void add_references(struct stack_model *m, const struct stack_input *in)
{
	for (size_t i = 0; i < in->nreferences && m->nmethods < STACK_METHODS; i++) {
		struct stack_method *r = &m->methods[m->nmethods++];

		snprintf(r->name, sizeof(r->name), "%s", in->references[i].name);
		snprintf(r->summary, sizeof(r->summary), "%s", in->references[i].summary);
		r->reference = true;
		memcpy(r->cycles, in->references[i].cycles, sizeof(in->references[i].cycles));
	}
}

double stack_comparable(const struct stack_method *s, int part)
{
	double sum = s->cycles[part];

	for (int k = CPI_SIMULATED; part == CPI_BASE && k < CPI_COMPONENTS; k++)
		sum += s->cycles[k];
	return sum;
}

static void compare(struct stack_model *m)
{
	const struct stack_method *truth = &m->methods[0];

	if (!truth->reference || m->cycles <= 0)
		return;
	for (size_t i = 1; i < m->nmethods; i++) {
		struct stack_method *s = &m->methods[i];

		s->compared = true;
		for (int k = 0; k < CPI_SIMULATED; k++) {
			s->error[k] =
			    100 * (stack_comparable(s, k) - stack_comparable(truth, k)) / m->cycles;
			if (fabs(s->error[k]) > s->max_error) {
				s->max_error = fabs(s->error[k]);
				s->worst = (enum cpi_component)k;
			}
		}
	}
}

bool stack_read(const struct stack_input *in, const char *phase_method, struct stack_model *m,
		struct err *e)
{
	struct store *s = in->store;

	*m = (struct stack_model){ .nmethods = 0 };
	if (store_number(s, "SELECT count(*) FROM cpi_phase WHERE phase = -1", 0) != 1)
		return err_set(e,
			       "%s has no CPI stacks: make it with `culprit sim --analyze "
			       "cpistack` (or profile,cpistack)",
			       store_path(s));
	model_run_names(s, m->program, m->machine);
	m->cycles = (double)store_number(s, "SELECT cycles FROM cpi_phase WHERE phase = -1", 0);
	m->insts =
	    (double)store_number(s, "SELECT instructions FROM cpi_phase WHERE phase = -1", 0);
	m->width = (double)store_number(s, "SELECT scale FROM cpi_method WHERE name = 'fmt'", 0);
	m->in_order = store_number(
	    s, "SELECT value = 'inorder' FROM machine WHERE section = 'machine' AND key = 'model'",
	    0);
	m->ideal[0] = model_run_number(s, "ideal_cycles", 0);
	m->ideal[1] = model_run_number(s, "ideal_l1d_cycles", 0);
	m->ideal[2] = model_run_number(s, "ideal_mispredict_cycles", 0);
	m->overlap_cycles = model_run_number(s, "frontend_backend_overlap_cycles", 0);
	m->beside_long_cycles = model_run_number(s, "frontend_beside_long_miss_cycles", 0);
	add_references(m, in);
	if (!estimated_read(s, &m->estimated, e) || !read_methods(m, s, e) ||
	    !read_events(m, s, e) || !read_functions(m, s, e) || !read_busiest(m, s, e) ||
	    (phase_method && !read_phases(m, s, phase_method, e))) {
		stack_free(m);
		return false;
	}
	compare(m);
	return true;
}

void stack_free(struct stack_model *m)
{
	for (size_t i = 0; i < m->nfunctions; i++)
		free(m->functions[i].name);
	free(m->functions);
	free(m->phases);
	estimated_free(&m->estimated);
	*m = (struct stack_model){ .nmethods = 0 };
}

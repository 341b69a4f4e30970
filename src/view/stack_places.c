/* SPDX-License-Identifier: MIT */
/*
 * FMT by function and by instruction: every slot of the run's FMT stack is at one instruction, so the
 * rows of a component sum to the stack exactly. A mispredicted branch has what it cost, a load what the
 * full window lost behind its misses, the instruction that came late what an I-cache miss lost.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "view/stack.h"

bool stack_places_read(struct store *s, struct stack_places *p, struct err *e)
{
	struct store_rows q = store_query(
	    s,
	    "SELECT pc, component, units * 1.0 / (SELECT scale FROM cpi_method WHERE name = "
	    "'fmt'), events FROM cpi_place ORDER BY pc, component",
	    "");

	*p = (struct stack_places){ .run = (double)store_number(
					s, "SELECT cycles FROM cpi_phase WHERE phase = -1", 0) };
	while (store_next(&q)) {
		const uint64_t pc = (uint64_t)store_int(&q, 0);
		const int part = stack_part_of(store_shown(&q, 1));

		if (part < 0)
			continue;
		if (!p->count || p->all[p->count - 1].pc != pc)
			*ARRAY_ADD(p->all, p->count) = (struct stack_place){ .pc = pc };
		p->all[p->count - 1].cycles[part] = store_double(&q, 2);
		p->all[p->count - 1].events[part] = store_double(&q, 3);
	}
	if (!store_done(&q, e))
		return false;
	return p->count || err_set(e,
				   "%s has no FMT by instruction: make it with `culprit sim "
				   "--analyze cpistack`",
				   store_path(s));
}

void stack_places_free(struct stack_places *p)
{
	free(p->all);
	*p = (struct stack_places){ .count = 0 };
}

static int by_pc(const void *key, const void *item)
{
	const int64_t pc = *(const int64_t *)key,
		      at = (int64_t)((const struct stack_place *)item)->pc;

	return pc < at ? -1 : pc > at;
}

const struct stack_place *stack_place_at(const struct stack_places *p, uint64_t pc)
{
	return p->count ? bsearch(&pc, p->all, p->count, sizeof(*p->all), by_pc) : NULL;
}

double stack_place_lost(const struct stack_place *p)
{
	double sum = 0;

	for (int k = CPI_BASE + 1; k < CPI_COMPONENTS; k++)
		sum += p->cycles[k];
	return sum;
}

double stack_place_cycles(const struct stack_place *p)
{
	return p->cycles[CPI_BASE] + stack_place_lost(p);
}

void stack_place_words(const struct stack_place *p, double run, char *text, size_t size_bytes)
{
	int most = CPI_BASE + 1;

	for (int k = most + 1; k < CPI_COMPONENTS; k++)
		if (p->cycles[k] > p->cycles[most])
			most = k;
	text[0] = '\0';
	if (p->cycles[most] < 0.00005 * run)
		return;
	if (p->events[most] > 0)
		snprintf(text, size_bytes, "%s %.2f%%, %.1f each", words_components[most].name,
			 100 * p->cycles[most] / run, p->cycles[most] / p->events[most]);
	else
		snprintf(text, size_bytes, "%s %.2f%%", words_components[most].name,
			 100 * p->cycles[most] / run);
}

/* ---- by function ---- */

struct function {
	int64_t id;
	char *name;
	struct stack_place sum;
};

static int by_cycles(const void *a, const void *b)
{
	const struct function *x = a, *y = b;
	const double more = stack_place_cycles(&y->sum) - stack_place_cycles(&x->sum);

	return more > 0 ? 1 : more < 0 ? -1 : x->id < y->id ? -1 : x->id > y->id;
}

static bool read_functions(struct store *s, struct function **all, size_t *count, struct err *e)
{
	struct store_rows q = store_query(
	    s,
	    "SELECT f.id, coalesce(f.name, '(no symbol)'), c.component, sum(c.units) * 1.0 / "
	    "(SELECT "
	    "scale FROM cpi_method WHERE name = 'fmt'), sum(c.events) FROM cpi_place c LEFT JOIN "
	    "instruction i USING (pc) LEFT JOIN function f ON f.id = i.function GROUP BY f.id, "
	    "c.component ORDER BY f.id",
	    "");

	while (store_next(&q)) {
		const int64_t id = store_int(&q, 0);
		const int part = stack_part_of(store_shown(&q, 2));

		if (part < 0)
			continue;
		if (!*count || (*all)[*count - 1].id != id)
			*ARRAY_ADD(*all, *count) =
			    (struct function){ .id = id, .name = x_strdup(store_shown(&q, 1)) };
		(*all)[*count - 1].sum.cycles[part] = store_double(&q, 3);
		(*all)[*count - 1].sum.events[part] = store_double(&q, 4);
	}
	if (*count)
		qsort(*all, *count, sizeof(**all), by_cycles);
	return store_done(&q, e);
}

static void put_place(struct doc_table *t, const struct stack_place *p, const bool *used,
		      double run)
{
	cell_real(t, stack_place_cycles(p));
	cell_real(t, stack_place_cycles(p) / run);
	for (int k = 0; k < CPI_COMPONENTS; k++)
		if (used[k])
			cell_real(t, p->cycles[k] / run);
	cell_map(t);
	for (int k = 0; k < CPI_COMPONENTS; k++)
		if (p->cycles[k] != 0)
			cell_put(t, words_components[k].name, p->cycles[k]);
}

static const char *const heads[CPI_COMPONENTS] = {
	[CPI_BASE] = "base",	[CPI_L1I] = "L1I",     [CPI_L2I] = "L2I", [CPI_ITLB] = "I-TLB",
	[CPI_BMISP] = "branch", [CPI_L1D] = "L1D",     [CPI_L2D] = "L2D", [CPI_DTLB] = "D-TLB",
	[CPI_LONG] = "latency", [CPI_FLUSH] = "flush", [CPI_SQ] = "SQ",	  [CPI_FRONTEND] = "front",
};

static bool add_functions(struct doc *d, struct store *s, const struct stack_places *p,
			  const struct view_options *o, struct err *e)
{
	struct doc_column columns[CPI_COMPONENTS + 4] = {
		{ DOC_DATA("cycles") },
		{ DOC_DATA("share"), .head = "of the run", .format = "%.2f%%", .width = 11,
		  .factor = 100 },
	};
	struct function *all = NULL;
	struct stack_place sum = { .pc = 0 };
	bool used[CPI_COMPONENTS] = { false };
	size_t n = 2, count = 0;

	if (!read_functions(s, &all, &count, e))
		return false;
	for (size_t i = 0; i < count; i++)
		for (int k = 0; k < CPI_COMPONENTS; k++)
			sum.cycles[k] += all[i].sum.cycles[k];
	for (int k = 0; k < CPI_COMPONENTS; k++)
		if ((used[k] = sum.cycles[k] >= 0.00005 * p->run))
			columns[n++] = (struct doc_column){ .csv = words_components[k].name,
							    DOC_SHOWN(heads[k], "%.2f%%", 8),
							    .before = "",
							    .factor = 100 };
	columns[n++] = (struct doc_column){ .key = "stack" };
	columns[n++] = (struct doc_column){ DOC_DATA("symbol"), .head = "function", .before = "  ",
					    .width = -20,	.ragged = true,	    .name = true,
					    .fill = true };
	doc_heading(d, "Functions by fmt, in %% of the cycles of the run");
	struct doc_table *t = doc_table(
	    d, columns, n, &(struct doc_table_options){ .key = "functions", .heads = true });

	for (size_t i = 0; i < count && i < (size_t)o->limit; i++) {
		doc_row(t);
		put_place(t, &all[i].sum, used, p->run);
		cell_text(t, all[i].name);
	}
	doc_row(t);
	put_place(t, &sum, used, p->run);
	cell_text(t, "(all: the fmt stack of the run)");
	for (size_t i = 0; i < count; i++)
		free(all[i].name);
	free(all);
	return true;
}

/* ---- by instruction ---- */

static bool add_instructions(struct doc *d, struct store *s, const struct stack_places *p,
			     const struct view_options *o, struct err *e)
{
	const struct doc_column columns[] = {
		{ DOC_DATA("pc") },
		{ DOC_DATA("cycles") },
		{ DOC_DATA("share"), .head = "of the run", .format = "%.2f%%", .width = 11,
		  .factor = 100 },
		{ DOC_DATA("events"), DOC_SHOWN("events", "%.0f", 10) },
		{ DOC_DATA("penalty"), DOC_SHOWN("penalty", "%.1f", 8) },
		{ DOC_DATA("component") },
		{ .head = "lost to", .before = "  ", .width = -24 },
		{ DOC_DATA("symbol"), .head = "function", .width = -22, .name = true },
		{ DOC_DATA("disasm"), .head = "instruction", .width = -30, .ragged = true,
		  .name = true, .fill = true },
	};
	struct store_rows q = store_query(
	    s,
	    "SELECT c.pc, c.units * 1.0 / (SELECT scale FROM cpi_method WHERE name = 'fmt'), "
	    "c.events, c.component, f.name, n.disasm FROM cpi_place c LEFT JOIN instruction n "
	    "USING "
	    "(pc) LEFT JOIN function f ON f.id = n.function WHERE c.component != ?1 ORDER BY "
	    "c.units "
	    "DESC, c.pc, c.component LIMIT ?2",
	    "si", words_components[CPI_BASE].name, (int64_t)o->limit);

	doc_heading(d, "Instructions that lose most by fmt, penalties in cycles for each event");
	struct doc_table *t = DOC_TABLE(d, columns, .key = "by_instruction", .heads = true);

	while (store_next(&q)) {
		const double cycles = store_double(&q, 1), events = store_double(&q, 2);
		const int part = stack_part_of(store_shown(&q, 3));

		doc_row(t);
		cell_format(t, "0x%" PRIx64, (uint64_t)store_int(&q, 0));
		cell_real(t, cycles);
		cell_real(t, cycles / p->run);
		cell_real(t, events);
		CELL_REAL_IF(t, events > 0, cycles / events);
		cell_text(t, store_shown(&q, 3));
		cell_text(t, part < 0 ? "" : words_components[part].words);
		cell_text(t, store_shown(&q, 4));
		cell_code(t, store_shown(&q, 5));
	}
	return store_done(&q, e);
}

bool view_places(struct store *s, const struct view_options *o, enum stack_by by, struct err *e)
{
	char program[MODEL_PROGRAM], machine[MODEL_MACHINE];
	struct stack_places p;
	const double insts =
	    (double)store_number(s, "SELECT instructions FROM cpi_phase WHERE phase = -1", 0);
	bool ok = stack_places_read(s, &p, e);

	if (ok) {
		struct doc *d = doc_new();

		model_run_names(s, program, machine);
		model_title(d, program, machine, insts, p.run, ", CPI %.3f",
			    insts > 0 ? p.run / insts : 0);
		doc_text(d, "program", program);
		doc_text(d, "machine", machine);
		doc_integer(d, "cycles", (int64_t)p.run);
		doc_integer(d, "instructions", (int64_t)insts);
		ok = (by == STACK_BY_FUNCTION ? add_functions(d, s, &p, o, e)
					      : add_instructions(d, s, &p, o, e)) &&
		     doc_print(d, o, e);
		doc_free(d);
	}
	stack_places_free(&p);
	return ok;
}

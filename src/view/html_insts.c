/* SPDX-License-Identifier: MIT */
/*
 * Functions with time and their instructions, for the page. Instructions are columns of numbers, in
 * order of functions and addresses; texts are numbers of a table, in which 0 is no text. An address
 * is its distance from the first one of its function. A column `part` has the cycles of a set of
 * events only where an instruction has several; one alone has all its cycles.
 *
 * Instructions below the least share are one row at the end of their function, marked `folded`,
 * which has their sums: so the sums of a function, a library, an event and the run stay whole. The
 * row has no source line and no class.
 */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "util/interned.h"
#include "util/text.h"
#include "view/html.h"
#include "view/html_insts.h"

static_assert(MODEL_EVENTS <= 16, "a table has a number for every set of events");

/* A column as it will be printed. */
struct column {
	char *text;
	size_t size, capacity;
};

static void add_number(struct column *c, uint64_t n)
{
	char digits[24];
	size_t i = sizeof(digits);

	do
		digits[--i] = (char)('0' + n % 10);
	while (n /= 10);
	digits[--i] = ',';
	ARRAY_ROOM(c->text, c->capacity, c->size + sizeof(digits));
	memcpy(c->text + c->size, digits + i, sizeof(digits) - i);
	c->size += sizeof(digits) - i;
}

/* With twelve digits, as the documents have them. */
static void add_real(struct column *c, double value)
{
	if (value >= 0 && value < 1e12 && value == (double)(uint64_t)value) {
		add_number(c, (uint64_t)value);
		return;
	}
	ARRAY_ROOM(c->text, c->capacity, c->size + 32);
	c->size +=
	    (size_t)snprintf(c->text + c->size, 32, isfinite(value) ? ",%.12g" : ",null", value);
}

enum { PC, TEXT, FILE_NAME, LINE, CYCLES, EXECUTIONS, SETS, SET, PART, CLASS, INLINED, COLUMNS };
static const char *const column_name[COLUMNS] = { "pc",	    "text",	  "file",   "line",
						  "cycles", "executions", "sets",   "set",
						  "part",   "class",	  "inlined" };

struct table {
	const struct model *m;
	struct interned texts;
	struct column columns[COLUMNS];
	char *set_name[1 << MODEL_EVENTS]; /* by set of events; NULL until it is named */
	struct last_text {
		const char *text;
		uint32_t number;
	} last[COLUMNS]; /* of the row before, which often has the same */
};

/* Texts of the model are kept once, so the same has the same address. */
static void add_text(struct table *t, int column, const char *text)
{
	struct last_text *last = &t->last[column];

	if (last->text != text)
		*last = (struct last_text){ text, interned_number(&t->texts, text) };
	add_number(&t->columns[column], last->number);
}

static const char *set_name(struct table *t, unsigned events)
{
	char name[128];

	events &= (1u << MODEL_EVENTS) - 1;
	if (!t->set_name[events])
		t->set_name[events] = x_strdup(model_events(t->m, events, name, sizeof(name)));
	return t->set_name[events];
}

static void add_stack(struct table *t, const struct model_component *stack, size_t count)
{
	size_t n = 0;

	for (size_t k = 0; k < count; k++)
		n += stack[k].cycles != 0;
	add_number(&t->columns[SETS], n);
	for (size_t k = 0; k < count; k++) {
		if (stack[k].cycles == 0)
			continue;
		add_number(&t->columns[SET],
			   interned_number(&t->texts, set_name(t, stack[k].events)));
		if (n > 1)
			add_real(&t->columns[PART], stack[k].cycles);
	}
}

static void add_inst(struct table *t, const struct model_inst *i, uint64_t distance)
{
	add_number(&t->columns[PC], distance);
	add_text(t, TEXT, i->disasm);
	add_text(t, FILE_NAME, i->file);
	add_number(&t->columns[LINE], i->line > 0 ? (uint64_t)i->line : 0);
	add_real(&t->columns[CYCLES], i->cycles);
	add_number(&t->columns[EXECUTIONS], i->executions);
	add_stack(t, i->stack, i->nstack);
	add_text(t, CLASS, i->cls);
	add_text(t, INLINED, i->inlined);
}

static int by_events(const void *a, const void *b)
{
	const struct model_component *x = a, *y = b;

	return (x->events > y->events) - (x->events < y->events);
}

/* The sum of the instructions of a function that are below `least` cycles. */
static struct model_inst folded_of(const struct model_inst *insts, size_t count, double least)
{
	struct model_inst sum = { .pc = insts[0].pc };
	size_t n = 0, kept = 0;

	for (size_t k = 0; k < count; k++) {
		if (insts[k].cycles >= least)
			continue;
		sum.cycles += insts[k].cycles;
		sum.executions += insts[k].executions;
		for (size_t c = 0; c < insts[k].nstack; c++)
			*ARRAY_ADD(sum.stack, n) = insts[k].stack[c];
	}
	if (n)
		qsort(sum.stack, n, sizeof(*sum.stack), by_events);
	for (size_t k = 0; k < n; k++) {
		if (kept && sum.stack[kept - 1].events == sum.stack[k].events)
			sum.stack[kept - 1].cycles += sum.stack[k].cycles;
		else
			sum.stack[kept++] = sum.stack[k];
	}
	sum.nstack = kept;
	return sum;
}

/* Returns how many rows the function has. */
static size_t add_function(struct table *t, const struct model_inst *insts, size_t count,
			   double least, size_t *folded)
{
	size_t rows = 0;

	*folded = 0;
	for (size_t k = 0; k < count; k++)
		*folded += insts[k].cycles < least;
	for (size_t k = 0; k < count; k++)
		if (!*folded || insts[k].cycles >= least) {
			add_inst(t, &insts[k], insts[k].pc - insts[0].pc);
			rows++;
		}
	if (*folded) {
		struct model_inst sum = folded_of(insts, count, least);

		add_inst(t, &sum, 0);
		free(sum.stack);
		rows++;
	}
	return rows;
}

static void put_table(FILE *f, const struct table *t)
{
	fputs("\"insts\":{", f);
	for (int c = 0; c < COLUMNS; c++) {
		const struct column *col = &t->columns[c];

		fprintf(f, "%s\"%s\":[", c ? ",\n" : "", column_name[c]);
		if (col->size)
			fwrite(col->text + 1, 1, col->size - 1, f);
		fputc(']', f);
	}
	fputs("},\n\"texts\":[null", f);
	for (size_t n = 0; n < t->texts.count; n++) {
		fputc(',', f);
		html_put_text(f, t->texts.list[n], SIZE_MAX);
	}
	fputs("],\n", f);
}

static void table_free(struct table *t)
{
	for (int c = 0; c < COLUMNS; c++)
		free(t->columns[c].text);
	for (size_t n = 0; n < ARRAY_LEN(t->set_name); n++)
		free(t->set_name[n]);
	interned_free(&t->texts);
	free(t);
}

void html_put_insts(FILE *f, const struct model *m, double least_share)
{
	struct table *t = x_calloc(1, sizeof(*t));
	const double least = least_share * (double)m->cycles;
	size_t count, n, folded;
	const struct model_function **list = model_functions(m, NULL, &count);

	t->m = m;
	fputs("\"functions\":[", f);
	for (size_t i = 0; i < count && list[i]->cycles > 0; i++) {
		const struct model_inst *insts = model_insts_of(m, list[i], &n);
		const size_t rows = n ? add_function(t, insts, n, least, &folded) : (folded = 0);

		fprintf(f, "%s{\"id\":%" PRId64 ",\"name\":", i ? ",\n" : "", list[i]->id);
		html_put_text(f, list[i]->name, SIZE_MAX);
		fputs(",\"image\":", f);
		html_put_text(f, list[i]->image ? path_name(list[i]->image) : NULL, SIZE_MAX);
		fputs(",\"cycles\":", f);
		html_put_real(f, list[i]->cycles);
		fprintf(f,
			",\"base\":\"0x%" PRIx64 "\",\"rows\":%zu,\"folded\":%zu,\"bytes\":%" PRIu64
			"}",
			n ? insts[0].pc : 0, rows, folded, n ? list[i]->end - insts[0].pc : 0);
	}
	fputs("],\n", f);
	put_table(f, t);
	table_free(t);
	free(list);
}

/* SPDX-License-Identifier: MIT */
/* Sums instructions by source line and by library, and restricts a run to a part of them. */
#include "view/parts.h"

#include <stdlib.h>
#include <string.h>

#include "util/array.h"

static void add_component(struct model_inst *sum, const struct model_component *c)
{
	for (size_t k = 0; k < sum->nstack; k++)
		if (sum->stack[k].events == c->events) {
			sum->stack[k].cycles += c->cycles;
			return;
		}
	*ARRAY_ADD(sum->stack, sum->nstack) = *c;
}

static void add_inst(struct part *p, const struct model_inst *i)
{
	if (!p->most || i->cycles > p->most->cycles)
		p->most = i;
	p->sum.cycles += i->cycles;
	for (size_t k = 0; k < i->nstack; k++)
		add_component(&p->sum, &i->stack[k]);
}

static int by_component(const void *a, const void *b)
{
	const struct model_component *x = a, *y = b;

	if (x->cycles != y->cycles)
		return x->cycles < y->cycles ? 1 : -1;
	return (x->events > y->events) - (x->events < y->events);
}

static int by_place_cycles(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	if (x->sum.cycles != y->sum.cycles)
		return x->sum.cycles < y->sum.cycles ? 1 : -1;
	return (x->most->pc > y->most->pc) - (x->most->pc < y->most->pc);
}

static void sort_places(struct part *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (list[i].sum.nstack)
			qsort(list[i].sum.stack, list[i].sum.nstack, sizeof(*list[i].sum.stack),
			      by_component);
	if (count)
		qsort(list, count, sizeof(*list), by_place_cycles);
}

static int by_line(const void *a, const void *b)
{
	const struct model_inst *x = *(const struct model_inst *const *)a,
				*y = *(const struct model_inst *const *)b;
	const int file = strcmp(x->file, y->file);

	if (file)
		return file;
	if (x->line != y->line)
		return x->line - y->line;
	return (x->pc > y->pc) - (x->pc < y->pc);
}

struct part *parts_lines(const struct model *m, size_t *count)
{
	const struct model_inst **order = x_calloc(m->ninsts + 1, sizeof(*order));
	struct part *list = NULL;
	size_t n = 0;

	*count = 0;
	for (size_t i = 0; i < m->ninsts; i++)
		if (m->insts[i].cycles > 0 && m->insts[i].file && m->insts[i].line > 0)
			order[n++] = &m->insts[i];
	if (n)
		qsort(order, n, sizeof(*order), by_line);
	for (size_t i = 0; i < n; i++) {
		if (!i || order[i]->line != order[i - 1]->line ||
		    strcmp(order[i]->file, order[i - 1]->file))
			*ARRAY_ADD(list, *count) =
			    (struct part){ .sum = { .file = order[i]->file,
						    .line = order[i]->line } };
		add_inst(&list[*count - 1], order[i]);
	}
	free(order);
	sort_places(list, *count);
	return list;
}

/* The library of an image's path, a new one if need be. */
static struct part *library_of(struct part **list, size_t *count, const char *image)
{
	for (size_t i = 0; i < *count; i++)
		if (!strcmp((*list)[i].image, image))
			return &(*list)[i];
	struct part *p = ARRAY_ADD(*list, *count);

	*p = (struct part){ .image = image };
	return p;
}

struct part *parts_libraries(const struct model *m, size_t *count)
{
	struct part *list = NULL;

	*count = 0;
	for (size_t i = 0; i < m->ninsts; i++) {
		const struct model_inst *in = &m->insts[i];
		const struct model_function *f = model_function_of(m, in->function);

		if (in->cycles <= 0 || !f)
			continue;
		struct part *p = library_of(&list, count, f->image ? f->image : "[no file]");

		add_inst(p, in);
		p->nameless += f->name[0] == '[' ? in->cycles : 0;
	}
	sort_places(list, *count);
	return list;
}

void parts_free(struct part *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(list[i].sum.stack);
	free(list);
}

bool parts_restricted(const struct view_options *o)
{
	return o->function || o->file || o->event;
}

bool parts_match(const struct model *m, const struct model_inst *i, const struct view_options *o)
{
	const struct model_function *f = model_function_of(m, i->function);

	if (o->function && (!f || strcmp(f->name, o->function)))
		return false;
	if (o->file) {
		const size_t n = i->file ? strlen(i->file) : 0, want = strlen(o->file);

		if (n < want || !n || strcmp(i->file + n - want, o->file))
			return false;
	}
	if (o->event) {
		const int bit = model_event_bit(m, o->event);

		return bit >= 0 && model_with_event(i, (unsigned)bit) > 0;
	}
	return true;
}

double parts_restrict(struct model *m, const struct view_options *o)
{
	double left = 0;

	memset(m->category, 0, sizeof(m->category));
	for (size_t i = 0; i < m->nfunctions; i++)
		m->functions[i].cycles = 0;
	for (size_t i = 0; i < m->ninsts; i++) {
		struct model_inst *in = &m->insts[i];
		struct model_function *f = model_function_of(m, in->function);

		if (!parts_match(m, in, o))
			model_forget_time(in);
		if (f)
			f->cycles += in->cycles;
		for (size_t c = 0; c < TIME_CATEGORY_COUNT; c++)
			m->category[c] += in->category[c];
		left += in->cycles;
	}
	return left;
}

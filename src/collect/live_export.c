/* SPDX-License-Identifier: MIT */
/*
 * Exports of live profiles. Names come from programs and files, so they are shown without what would
 * end a name or a line in the format.
 */
#include "collect/live_export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collect/live_names.h"
#include "names/demangle.h"
#include "util/array.h"
#include "util/text.h"

struct exporter {
	struct live_profile *p;
	struct live_names *names;
	FILE *out;
	const char *event;
	bool raw_names;
	uint64_t samples, done; /* all, and those that are written */
	struct line *lines;	/* of folded stacks */
	size_t nlines;
};

struct line {
	char *text;
	uint64_t count;
};

static const struct live_process *process_of(const struct exporter *x, uint32_t process)
{
	static const struct live_process none = { .comm = "all" };

	return process == LIVE_NO_PROCESS ? &none : live_process(x->p, process);
}

/* A function's name, or the image's where it has none. */
static char *name_of(const struct exporter *x, const struct live_name *n, const char *without)
{
	char *readable = x->raw_names ? NULL : demangle(n->function);
	char *shown = text_shown_without(readable ? readable : n->function, without);

	free(readable);
	return shown;
}

static void folded(struct exporter *x, const struct live_stack *s)
{
	char *comm = text_shown_without(process_of(x, s->process)->comm, "; ");
	struct line *line = ARRAY_ADD(x->lines, x->nlines);
	size_t bytes;

	*line = (struct line){ .count = s->count };
	FILE *out = open_memstream(&line->text, &bytes);

	fputs(comm, out);
	free(comm);
	if (s->broken)
		fputs(";[broken]", out);
	for (size_t i = s->nframes; i--;) {
		const struct live_name n =
		    live_names_find(x->names, s->frames[i].image, s->frames[i].offset);
		char *name = name_of(x, &n, ";");

		fprintf(out, ";%s", name);
		free(name);
	}
	fclose(out);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct line *)a)->text, ((const struct line *)b)->text);
}

/* Writes the folded stacks, those with the same names as one. */
static void write_lines(struct exporter *x)
{
	if (x->nlines)
		qsort(x->lines, x->nlines, sizeof(*x->lines), by_text);
	for (size_t i = 0; i < x->nlines; i++) {
		struct line *line = &x->lines[i];

		if (i + 1 < x->nlines && !strcmp(line->text, line[1].text))
			line[1].count += line->count;
		else
			fprintf(x->out, "%s %llu\n", line->text, (unsigned long long)line->count);
		free(i ? line[-1].text : NULL);
	}
	if (x->nlines)
		free(x->lines[x->nlines - 1].text);
	free(x->lines);
}

static void perf_script(struct exporter *x, const struct live_stack *s)
{
	const struct live_process *process = process_of(x, s->process);
	const struct live_facts *f = live_facts(x->p);
	const struct live_event *event = live_event(x->p, s->event);
	char *comm = text_shown(process->comm);
	char **lines = x_calloc(s->nframes + 1, sizeof(*lines));

	for (size_t i = 0; i < s->nframes; i++) {
		const struct live_name n =
		    live_names_find(x->names, s->frames[i].image, s->frames[i].offset);
		char *name = name_of(x, &n, ""), *image = text_shown_without(n.image, "()");

		lines[i] = x_asprintf("\t%16llx %s+0x%llx (%s)\n", (unsigned long long)n.address,
				      name, (unsigned long long)n.offset, image);
		free(name);
		free(image);
	}
	for (uint64_t k = 0; k < s->count; k++) {
		const double t =
		    ((double)f->begin_ns +
		     (double)(f->end_ns - f->begin_ns) * (double)x->done++ / (double)x->samples) /
		    1e9;

		fprintf(x->out, "%s %d %.6f: %10llu %s: \n", comm, (int)process->pid, t,
			(unsigned long long)(event->period ? event->period : 1), event->name);
		for (size_t i = 0; i < s->nframes; i++)
			fputs(lines[i], x->out);
		fputc('\n', x->out);
	}
	for (size_t i = 0; i < s->nframes; i++)
		free(lines[i]);
	free(lines);
	free(comm);
}

/* Calls f for every stack of the event; where there are none, for every count as one frame. */
static void each_stack(struct exporter *x,
		       void (*f)(struct exporter *x, const struct live_stack *s))
{
	size_t nstacks, ncounts;
	const struct live_stack *s = live_stacks(x->p, &nstacks);

	for (size_t i = 0; i < nstacks; i++)
		if (strcmp(live_event(x->p, s[i].event)->name, x->event) == 0)
			f(x, &s[i]);
	if (nstacks)
		return;
	const struct live_count *c = live_counts(x->p, &ncounts);

	for (size_t i = 0; i < ncounts; i++) {
		const struct live_frame frame = { c[i].image, c[i].offset };

		if (strcmp(live_event(x->p, c[i].event)->name, x->event) == 0)
			f(x, &(struct live_stack){ c[i].process, c[i].event, &frame, 1, false,
						   c[i].count });
	}
}

static void add_up(struct exporter *x, const struct live_stack *s)
{
	x->samples += s->count;
}

static bool export(struct live_profile *p, const struct live_export *o, FILE *out,
		   void (*stack)(struct exporter *x, const struct live_stack *s), struct err *e)
{
	struct exporter x = { .p = p, .out = out, .event = o->event, .raw_names = o->raw_names };
	bool known = !o->event && live_events(p);

	if (known)
		x.event = live_event(p, 0)->name;
	for (size_t i = 0; !known && i < live_events(p); i++)
		known = strcmp(live_event(p, i)->name, o->event) == 0;
	if (!known)
		return err_set(e, "there are no samples of %s%s", o->event ? "event " : "any event",
			       o->event ? o->event : "");
	x.names = live_names_new(p);
	each_stack(&x, add_up);
	each_stack(&x, stack);
	write_lines(&x);
	live_names_free(x.names);
	return !ferror(out) || err_set(e, "cannot write: %s", strerror(errno));
}

bool live_export_folded(struct live_profile *p, const struct live_export *o, FILE *out,
			struct err *e)
{
	return export(p, o, out, folded, e);
}

bool live_export_perf_script(struct live_profile *p, const struct live_export *o, FILE *out,
			     struct err *e)
{
	return export(p, o, out, perf_script, e);
}

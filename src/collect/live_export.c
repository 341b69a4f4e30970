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
#include "util/text.h"

struct exporter {
	struct live_profile *p;
	struct live_names *names;
	FILE *out;
	const char *event;
	uint64_t samples, done; /* all, and those that are written */
};

static const struct live_process *process_of(const struct exporter *x, uint32_t process)
{
	static const struct live_process none = { .comm = "all" };

	return process == LIVE_NO_PROCESS ? &none : live_process(x->p, process);
}

/* A function's name, or the image's where it has none. */
static char *frame_name(struct exporter *x, struct live_frame f, const char *without)
{
	const struct live_name n = live_names_find(x->names, f.image, f.offset);

	return text_shown_without(n.function, without);
}

static void folded(struct exporter *x, const struct live_stack *s)
{
	char *comm = text_shown_without(process_of(x, s->process)->comm, "; ");

	fputs(comm, x->out);
	free(comm);
	if (s->broken)
		fputs(";[broken]", x->out);
	for (size_t i = s->nframes; i--;) {
		char *name = frame_name(x, s->frames[i], ";");

		fprintf(x->out, ";%s", name);
		free(name);
	}
	fprintf(x->out, " %llu\n", (unsigned long long)s->count);
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
		char *name = text_shown(n.function), *image = text_shown_without(n.image, "()");

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

static bool export(struct live_profile *p, const char *event, FILE *out,
		   void (*stack)(struct exporter *x, const struct live_stack *s), struct err *e)
{
	struct exporter x = { .p = p, .out = out, .event = event };
	bool known = !event && live_events(p);

	if (known)
		x.event = live_event(p, 0)->name;
	for (size_t i = 0; !known && i < live_events(p); i++)
		known = strcmp(live_event(p, i)->name, event) == 0;
	if (!known)
		return err_set(e, "there are no samples of %s%s", event ? "event " : "any event",
			       event ? event : "");
	x.names = live_names_new(p);
	each_stack(&x, add_up);
	each_stack(&x, stack);
	live_names_free(x.names);
	return !ferror(out) || err_set(e, "cannot write: %s", strerror(errno));
}

bool live_export_folded(struct live_profile *p, const char *event, FILE *out, struct err *e)
{
	return export(p, event, out, folded, e);
}

bool live_export_perf_script(struct live_profile *p, const char *event, FILE *out, struct err *e)
{
	return export(p, event, out, perf_script, e);
}

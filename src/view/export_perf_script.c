/* SPDX-License-Identifier: MIT */
/* Text as perf script prints it: a paragraph per sample, its time as the period. Profiles have no
 * order in time, so the stamps only count up. An inlined frame has the address of its instruction, as
 * perf prints it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "util/text.h"
#include "view/export.h"

static void put_place(FILE *out, const struct export_profile *p, const struct export_place *at)
{
	char *image = text_shown_without(
	    at->image == EXPORT_NONE ? "[unknown]" : p->images[at->image].path, "()");

	for (size_t k = 0; k < at->nframes; k++)
		fprintf(out, "\t%16" PRIx64 " %s (%s)\n", at->pc,
			p->functions[at->frames[k].function].name,
			k + 1 < at->nframes ? "inlined" : image);
	free(image);
}

static bool perf_script_write(FILE *out, const struct export_profile *p)
{
	const double hz = p->model.clock_hz > 0 ? p->model.clock_hz : 1e9;
	char *comm = text_shown_without(path_name(p->model.program), " "), name[128];
	double units = 0;

	for (size_t i = 0; i < p->nsamples; i++) {
		const struct export_sample *s = &p->samples[i];

		if (!s->time)
			continue;
		fprintf(out, "%s 1 %.9f: %10" PRIu64 " cycles: \n", comm,
			units / (double)p->scale / hz, s->time);
		units += (double)s->units;
		if (p->options.event_leaf)
			fprintf(out, "\t%16x [%s] (events)\n", 0,
				model_events(&p->model, s->events, name, sizeof(name)));
		for (size_t c = s->context; c != EXPORT_NONE; c = p->contexts[c].parent)
			put_place(out, p, &p->places[p->contexts[c].place]);
		fputc('\n', out);
	}
	free(comm);
	return !ferror(out);
}

/* The first line is one of those above. */
static bool is_perf_script(const uint8_t *head, size_t size, const char *path)
{
	static const char end[] = " cycles: ";
	const uint8_t *line = memchr(head, '\n', size);
	const size_t n = sizeof(end) - 1;

	return line && (size_t)(line - head) > n && !memcmp(line - n, end, n);
}

const struct exporter export_perf_script = {
	.name = "perf-script",
	.kind = { "text of perf script", "-o", false, is_perf_script },
	.write = perf_script_write,
};

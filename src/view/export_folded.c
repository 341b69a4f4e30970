/* SPDX-License-Identifier: MIT */
/* Folded stacks: "program;outer;inner TIME", sorted, one line for all stacks with the same names, as
 * flamegraph.pl, inferno and speedscope read them. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "util/text.h"
#include "view/export.h"

struct line {
	char *text;
	uint64_t time;
};

static void put_frame(FILE *out, const char *name)
{
	char *shown = text_shown_without(name, ";");

	fprintf(out, ";%s", shown);
	free(shown);
}

static void put_context(FILE *out, const struct export_profile *p, size_t context)
{
	if (context == EXPORT_NONE)
		return;
	const struct export_place *at = &p->places[p->contexts[context].place];

	put_context(out, p, p->contexts[context].parent);
	for (size_t k = at->nframes; k--;)
		put_frame(out, p->functions[at->frames[k].function].name);
}

static char *text_of(const struct export_profile *p, const struct export_sample *s)
{
	char *text, name[128], *program = text_shown_without(path_name(p->model.program), ";");
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		die("out of memory");
	fputs(program, out);
	put_context(out, p, s->context);
	if (p->options.event_leaf)
		fprintf(out, ";[%s]", model_events(&p->model, s->events, name, sizeof(name)));
	fclose(out);
	free(program);
	return text;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct line *)a)->text, ((const struct line *)b)->text);
}

static bool folded_write(FILE *out, const struct export_profile *p)
{
	struct line *lines = NULL;
	size_t nlines = 0;

	/* Samples of one instruction, and mostly of one function, follow each other: equal neighbours are
	 * merged at once, so that memory is needed for few lines. */
	for (size_t i = 0; i < p->nsamples; i++) {
		char *text = text_of(p, &p->samples[i]);

		if (nlines && !strcmp(lines[nlines - 1].text, text)) {
			lines[nlines - 1].time += p->samples[i].time;
			free(text);
		} else {
			*ARRAY_ADD(lines, nlines) = (struct line){ text, p->samples[i].time };
		}
	}
	if (nlines)
		qsort(lines, nlines, sizeof(*lines), by_text);
	for (size_t i = 0; i < nlines; i++) {
		if (i + 1 < nlines && !strcmp(lines[i].text, lines[i + 1].text))
			lines[i + 1].time += lines[i].time;
		else if (lines[i].time)
			fprintf(out, "%s %" PRIu64 "\n", lines[i].text, lines[i].time);
	}
	for (size_t i = 0; i < nlines; i++)
		free(lines[i].text);
	free(lines);
	return !ferror(out);
}

/* The first line has a semicolon and ends with a number, or it is longer than what was read. */
static bool is_folded(const uint8_t *head, size_t size, const char *path)
{
	const uint8_t *end = memchr(head, '\n', size);

	if (!end)
		return size == OUTPUT_HEAD_BYTES && memchr(head, ';', size);
	const uint8_t *at = end;

	while (at > head && isdigit(at[-1]))
		at--;
	return at < end && at > head && at[-1] == ' ' && memchr(head, ';', (size_t)(at - head));
}

const struct exporter export_folded = {
	.name = "folded",
	.kind = { "folded stacks", "-o", false, is_folded },
	.write = folded_write,
};

/* SPDX-License-Identifier: MIT */
/*
 * Callgrind's format (valgrind's manual, "Callgrind Format Specification"): a line per instruction
 * with its time, its executions and the time with each event. What was inlined from another file
 * stands behind fi=, and fe= leads back. There are no calls: stores keep none yet.
 *
 * Every column is rounded on its own along the file, so its sum is right.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "view/export.h"

#define MARK "# callgrind format"

struct names {
	bool *fn, *fl, *ob; /* which were written with their text */
	size_t *file_of;    /* a function's file: the number of the first function with that file */
};

struct row {
	uint64_t sum_time, sum[MODEL_EVENTS]; /* running sums of units */
	uint64_t total_time, total_executions, total[MODEL_EVENTS];
};

/* A name gets a number where it is first used; the number stands for it from then on. */
static void put_name(FILE *out, const char *key, bool *known, size_t id, const char *text)
{
	if (known[id])
		fprintf(out, "%s=(%zu)\n", key, id + 1);
	else
		fprintf(out, "%s=(%zu) %s\n", key, id + 1, *text ? text : "???");
	known[id] = true;
}

/* "ST-LLC" as ST_LLC: names of events are identifiers in this format. */
static void put_event(FILE *out, const char *name)
{
	for (; name && *name; name++)
		fputc(isalnum((unsigned char)*name) ? *name : '_', out);
}

static void put_head(FILE *out, const struct export_profile *p)
{
	const struct model *m = &p->model;
	char unit[40];

	fprintf(out, MARK "\nversion: 1\ncreator: culprit " CULPRIT_VERSION "\ncmd: %s\n",
		m->program);
	fprintf(out, "desc: Machine: %s\ndesc: Profiler: %s\npositions: instr line\n", m->machine,
		m->profiler);
	fprintf(out, "event: Cycles : time in %s\n", export_unit(p, unit, sizeof(unit)));
	for (size_t b = 0; b < MODEL_EVENTS; b++)
		if (m->event_name[b]) {
			fputs("event: ", out);
			put_event(out, m->event_name[b]);
			fprintf(out, " : %s, time with: %s\n", m->event_name[b],
				m->event_meaning[b]);
		}
	fputs("events: Cycles Executions", out);
	for (size_t b = 0; b < MODEL_EVENTS; b++)
		if (m->event_name[b]) {
			fputc(' ', out);
			put_event(out, m->event_name[b]);
		}
	fputc('\n', out);
}

/* Writes the line of the instruction whose samples begin at i. Returns where the next begins. */
static size_t put_line(FILE *out, const struct export_profile *p, size_t i, struct row *r)
{
	const size_t context = p->samples[i].context;
	uint64_t units = 0, executions = 0, with[MODEL_EVENTS] = { 0 };

	fprintf(out, "0x%" PRIx64 " %d", p->places[p->contexts[context].place].pc,
		export_leaf(p, &p->samples[i])->line);
	for (; i < p->nsamples && p->samples[i].context == context; i++) {
		units += p->samples[i].units;
		executions += p->samples[i].executions;
		for (size_t b = 0; b < MODEL_EVENTS; b++)
			with[b] += p->samples[i].events >> b & 1 ? p->samples[i].units : 0;
	}
	const uint64_t time = export_round(p, &r->sum_time, units);

	r->total_time += time;
	r->total_executions += executions;
	fprintf(out, " %" PRIu64 " %" PRIu64, time, executions);
	for (size_t b = 0; b < MODEL_EVENTS; b++)
		if (p->model.event_name[b]) {
			const uint64_t part = export_round(p, &r->sum[b], with[b]);

			r->total[b] += part;
			fprintf(out, " %" PRIu64, part);
		}
	fputc('\n', out);
	return i;
}

static int by_file(const void *a, const void *b, void *functions)
{
	const struct export_function *f = functions;
	const size_t x = *(const size_t *)a, y = *(const size_t *)b;
	const int order = strcmp(f[x].file, f[y].file);

	return order ? order : (x > y) - (x < y);
}

/* Gives equal files one number. */
static void number_files(const struct export_profile *p, struct names *n)
{
	size_t *order = x_calloc(p->nfunctions + 1, sizeof(*order));

	for (size_t i = 0; i < p->nfunctions; i++)
		order[i] = i;
	qsort_r(order, p->nfunctions, sizeof(*order), by_file, p->functions);
	for (size_t i = 0, first = 0; i < p->nfunctions; i++) {
		if (!i || strcmp(p->functions[order[i]].file, p->functions[first].file) != 0)
			first = order[i];
		n->file_of[order[i]] = first;
	}
	free(order);
}

static void put_body(FILE *out, const struct export_profile *p, struct names *n, struct row *r)
{
	size_t function = EXPORT_NONE, file = EXPORT_NONE;
	uint64_t image = EXPORT_NONE;

	for (size_t i = 0; i < p->nsamples;) {
		const struct export_place *at =
		    &p->places[p->contexts[p->samples[i].context].place];
		const size_t outer = at->frames[at->nframes - 1].function;
		const size_t here = n->file_of[at->frames[0].function];

		if (outer != function || at->image != image) {
			if (at->image != EXPORT_NONE)
				put_name(out, "ob", n->ob, at->image, p->images[at->image].path);
			put_name(out, "fl", n->fl, n->file_of[outer], p->functions[outer].file);
			put_name(out, "fn", n->fn, outer, p->functions[outer].name);
			function = outer;
			file = n->file_of[outer];
			image = at->image;
		}
		if (here != file)
			put_name(out, here == n->file_of[outer] ? "fe" : "fi", n->fl, here,
				 p->functions[here].file);
		file = here;
		i = put_line(out, p, i, r);
	}
}

static bool callgrind_write(FILE *out, const struct export_profile *p)
{
	struct row r = { 0 };
	struct names n = {
		.fn = x_calloc(p->nfunctions + 1, 1),
		.fl = x_calloc(p->nfunctions + 1, 1),
		.ob = x_calloc(p->nimages + 1, 1),
		.file_of = x_calloc(p->nfunctions + 1, sizeof(*n.file_of)),
	};

	number_files(p, &n);
	put_head(out, p);
	put_body(out, p, &n, &r);
	fprintf(out, "totals: %" PRIu64 " %" PRIu64, r.total_time, r.total_executions);
	for (size_t b = 0; b < MODEL_EVENTS; b++)
		if (p->model.event_name[b])
			fprintf(out, " %" PRIu64, r.total[b]);
	fputc('\n', out);
	free(n.fn);
	free(n.fl);
	free(n.ob);
	free(n.file_of);
	return !ferror(out);
}

static bool is_callgrind(const uint8_t *head, size_t size, const char *path)
{
	return output_begins(head, size, MARK "\n");
}

const struct exporter export_callgrind = {
	.name = "callgrind",
	.kind = { "a callgrind profile", "-o", false, is_callgrind },
	.write = callgrind_write,
};

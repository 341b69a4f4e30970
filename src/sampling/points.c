/* SPDX-License-Identifier: MIT */
/*
 * The field's files of simulation points: X.simpoints ("interval cluster") and X.weights ("weight
 * cluster"), line by line for the same point; tools that read them rely on that order.
 *
 * Reading is strict, for a mistake here gives wrong results without a sign: both files must have the
 * same points, no interval twice, and weights that add up to 1 (to one part in 1,000, because some
 * tools write few digits; weights that are rounded are scaled to add up).
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampling/sampling.h"
#include "util/array.h"
#include "util/number.h"
#include "util/output.h"
#include "util/text.h"

#define LINE_MOST 128 /* bytes; ours have at most 32 */
#define SUM_ERROR 1e-3
#define SUM_EXACT 1e-9

struct lines {
	FILE *f;
	char *shown; /* the file's name */
	const char *columns;
	size_t number; /* of the current line */
	char first[LINE_MOST];
	uint64_t cluster;
};

static bool lines_open(struct lines *l, const char *path, const char *columns, struct err *e)
{
	*l =
	    (struct lines){ .f = fopen(path, "re"), .columns = columns, .shown = text_shown(path) };
	return l->f || err_set(e, "cannot open %s: %s", l->shown, strerror(errno));
}

static void lines_close(struct lines *l)
{
	if (l->f)
		fclose(l->f);
	free(l->shown);
}

static bool bad_line(const struct lines *l, struct err *e)
{
	return err_set(e, "%s, line %zu is not \"%s\"", l->shown, l->number, l->columns);
}

/* The next line's two columns. *end: there is none. */
static bool lines_next(struct lines *l, bool *end, struct err *e)
{
	char line[LINE_MOST + 2], rest[2], cluster[LINE_MOST];
	const char *after;
	size_t length = 0;
	int byte = 0;

	l->number++;
	while (length <= LINE_MOST && (byte = getc(l->f)) != EOF && byte != '\n') {
		if (!byte)
			return bad_line(l, e);
		line[length++] = (char)byte;
	}
	line[length] = 0;
	if (ferror(l->f))
		return err_set(e, "cannot read %s: %s", l->shown, strerror(errno));
	*end = byte == EOF && !length;
	if (*end)
		return true;
	if (length >= LINE_MOST || sscanf(line, "%127s %127s %1s", l->first, cluster, rest) != 2 ||
	    !number_prefix(cluster, &after, &l->cluster) || *after || l->cluster >= UINT32_MAX)
		return bad_line(l, e);
	return true;
}

static bool parse_weight(const char *text, double *weight)
{
	char *end;

	if (strspn(text, "0123456789.eE+-") != strlen(text))
		return false;
	*weight = strtod(text, &end);
	return end != text && !*end && *weight >= 0 && *weight <= 1;
}

static bool next_point(struct lines *s, struct lines *w, size_t intervals, struct point *p,
		       bool *end, struct err *e)
{
	const char *after;
	uint64_t interval;
	bool no_weight;

	if (!lines_next(s, end, e) || !lines_next(w, &no_weight, e))
		return false;
	if (*end != no_weight)
		return err_set(e, "%s has %s points than %s: take both from one choice", s->shown,
			       *end ? "fewer" : "more", w->shown);
	if (*end)
		return true;
	if (!number_prefix(s->first, &after, &interval) || *after)
		return bad_line(s, e);
	if (!parse_weight(w->first, &p->weight))
		return bad_line(w, e);
	if (s->cluster != w->cluster)
		return err_set(e, "line %zu is of cluster %llu in %s and of cluster %llu in %s",
			       s->number, (unsigned long long)s->cluster, s->shown,
			       (unsigned long long)w->cluster, w->shown);
	if (intervals && interval >= intervals)
		return err_set(
		    e, "%s, line %zu: interval %llu is beyond the end: there are %zu, from 0 on",
		    s->shown, s->number, (unsigned long long)interval, intervals);
	p->interval = interval;
	p->cluster = (uint32_t)s->cluster;
	return true;
}

static int by_interval(const void *a, const void *b)
{
	const size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return (x > y) - (x < y);
}

/* No interval twice, and weights that add up. */
static bool check_points(struct point *points, size_t count, const struct lines *s,
			 const struct lines *w, struct err *e)
{
	size_t *sorted = x_malloc(count * sizeof(*sorted) + 1);
	double sum = 0;
	bool ok = count || err_set(e, "%s has no points", s->shown);

	for (size_t i = 0; i < count; i++) {
		sorted[i] = points[i].interval;
		sum += points[i].weight;
	}
	if (count)
		qsort(sorted, count, sizeof(*sorted), by_interval);
	for (size_t i = 1; ok && i < count; i++)
		if (sorted[i] == sorted[i - 1])
			ok = err_set(e, "%s names interval %zu twice", s->shown, sorted[i]);
	free(sorted);
	if (ok && !(fabs(sum - 1) <= SUM_ERROR))
		ok = err_set(e, "the weights of %s add up to %.6g, not to 1", w->shown, sum);
	for (size_t i = 0; ok && fabs(sum - 1) > SUM_EXACT && i < count; i++)
		points[i].weight /= sum;
	return ok;
}

bool points_read(const char *simpoints, const char *weights, size_t intervals,
		 struct point **points, size_t *count, struct err *e)
{
	struct lines s = { 0 }, w = { 0 };
	bool end = false;
	bool ok = lines_open(&s, simpoints, "interval cluster", e) &&
		  lines_open(&w, weights, "weight cluster", e);

	*points = NULL;
	*count = 0;
	while (ok && !end) {
		struct point p = { 0 };

		ok = next_point(&s, &w, intervals, &p, &end, e);
		if (ok && !end)
			*ARRAY_ADD(*points, *count) = p;
	}
	ok = ok && check_points(*points, *count, &s, &w, e);
	if (!ok) {
		free(*points);
		*points = NULL;
		*count = 0;
	}
	lines_close(&s);
	lines_close(&w);
	return ok;
}

/* Nothing but numbers: a file of this kind, or something as dull. */
static bool is_numbers(const uint8_t *head, size_t size, const char *path)
{
	for (size_t i = 0; i < size; i++)
		if (!head[i] || !strchr("0123456789.eE+- \t\r\n", head[i]))
			return false;
	return true;
}

static const struct output_kind kind = {
	.what = "a file of simulation points",
	.option = "-o",
	.is = is_numbers,
};

static bool write_lines(struct output *o, const struct point *points, size_t count, bool weights,
			struct err *e)
{
	FILE *f = output_stream(o, e);

	if (!f)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (weights)
			fprintf(f, "%.12g %u\n", points[i].weight, points[i].cluster);
		else
			fprintf(f, "%zu %u\n", points[i].interval, points[i].cluster);
	}
	const bool failed = fflush(f) || ferror(f);
	const int why = errno;

	fclose(f);
	if (!failed)
		return true;
	char *shown = text_shown(output_now(o));

	err_set(e, "cannot write %s: %s", shown, strerror(why));
	free(shown);
	return false;
}

bool points_write(const char *stem, const struct point *points, size_t count, struct err *e)
{
	static const char *const suffixes[] = { ".simpoints", ".weights" };
	struct output *files[ARRAY_LEN(suffixes)] = { NULL };
	bool ok = true;

	/* Both are complete before either gets its name. */
	for (size_t i = 0; ok && i < ARRAY_LEN(suffixes); i++) {
		char *path = x_asprintf("%s%s", stem, suffixes[i]);

		files[i] = output_open(path, &kind, e);
		ok = files[i] && write_lines(files[i], points, count, i == 1, e);
		free(path);
	}
	for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
		if (ok)
			ok = output_commit(files[i], e);
		else
			output_discard(files[i]);
	}
	return ok;
}

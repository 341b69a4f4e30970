/* SPDX-License-Identifier: MIT */
/*
 * How much the samples of procedures differ between several profiles, as dcpistats shows it
 * (dcpi1997, figure 3): the range is (most - least) / sum, and what varies most comes first, rare
 * procedures last. A
 * profile in which a procedure has no samples counts as 0 of them. The deviation is that of a
 * sample, by N - 1.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "view/live.h"
#include "view/model.h"

struct line {
	const char *name, *image;
	double *samples; /* by profile */
	double sum, least, most, mean, deviation, range;
	bool rare;
};

/* A procedure with a smaller share of all samples comes after the others: three samples in one
 * profile and none in the rest are a range of 100%, and mean nothing. */
#define RARE 0.005

struct cell {
	const char *name, *image;
	size_t set;
	double samples;
};

static int by_name(const void *a, const void *b)
{
	const struct cell *x = a, *y = b;
	const int order = strcmp(x->name, y->name);

	return order ? order : strcmp(x->image, y->image);
}

static int by_range(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->rare != y->rare)
		return x->rare ? 1 : -1;
	if (x->range != y->range)
		return x->range < y->range ? 1 : -1;
	if (x->sum != y->sum)
		return x->sum < y->sum ? 1 : -1;
	const int order = strcmp(x->name, y->name);

	return order ? order : strcmp(x->image, y->image);
}

static void measure(struct line *l, size_t sets)
{
	double squares = 0;

	l->least = l->most = l->samples[0];
	for (size_t i = 0; i < sets; i++) {
		l->sum += l->samples[i];
		l->least = fmin(l->least, l->samples[i]);
		l->most = fmax(l->most, l->samples[i]);
	}
	l->mean = l->sum / (double)sets;
	for (size_t i = 0; i < sets; i++)
		squares += (l->samples[i] - l->mean) * (l->samples[i] - l->mean);
	l->deviation = sets > 1 ? sqrt(squares / (double)(sets - 1)) : 0;
	l->range = l->sum > 0 ? (l->most - l->least) / l->sum : 0;
}

/* Procedures are the same if name and image's name, without its folder, are. */
static struct line *make_lines(const struct live_model *models, size_t sets, size_t *count)
{
	struct cell *cells = NULL;
	struct line *lines = NULL;
	size_t n = 0;

	*count = 0;
	for (size_t s = 0; s < sets; s++)
		for (size_t i = 0; i < models[s].nrows; i++) {
			const struct live_row *r = &models[s].rows[i];

			if (r->samples[0])
				*ARRAY_ADD(cells, n) =
				    (struct cell){ r->name, r->image ? path_name(r->image) : "", s,
						   (double)r->samples[0] };
		}
	if (n)
		qsort(cells, n, sizeof(*cells), by_name);
	for (size_t i = 0; i < n; i++) {
		if (!i || by_name(&cells[i - 1], &cells[i]) != 0)
			*ARRAY_ADD(lines, *count) =
			    (struct line){ .name = cells[i].name,
					   .image = cells[i].image,
					   .samples = x_calloc(sets, sizeof(double)) };
		lines[*count - 1].samples[cells[i].set] += cells[i].samples;
	}
	double total = 0;

	for (size_t i = 0; i < *count; i++) {
		measure(&lines[i], sets);
		total += lines[i].sum;
	}
	for (size_t i = 0; i < *count; i++)
		lines[i].rare = lines[i].sum < RARE * total;
	if (*count)
		qsort(lines, *count, sizeof(*lines), by_range);
	free(cells);
	return lines;
}

static void add_sets(struct doc *d, const struct live_model *models, size_t sets)
{
	double total = 0;
	char number[32];

	doc_line(d, NULL, "Number of samples of type %s",
		 models[0].nevents ? models[0].events[0].name : "[none]");
	doc_array(d, "sets");
	for (size_t i = 0; i < sets; i++) {
		const uint64_t n = live_total(&models[i]);

		doc_line(d, NULL, "  set %zu = %s  %s", i + 1, number_commas(n, number),
			 models[i].machine);
		doc_integer(d, NULL, (int64_t)n);
		total += (double)n;
	}
	doc_close(d);
	doc_line(d, NULL, "  TOTAL %s", number_commas((uint64_t)total, number));
	doc_real(d, "total", total);
	doc_blank(d);
	doc_line(d, NULL, "Statistics by the sample counts of each procedure from %zu sample set%s",
		 sets, sets == 1 ? "" : "s");
}

static void add_lines(struct doc *d, const struct view_options *o, const struct line *lines,
		      size_t n, size_t sets, double total)
{
	const struct doc_column columns[] = {
		{ DOC_DATA("range"), .csv_format = "%.8f", DOC_SHOWN("range%", "%.2f%%", 7),
		  .factor = 100 },
		{ DOC_DATA("sum"), .csv_format = "%.0f", DOC_SHOWN("sum", "%.2f", 12) },
		{ DOC_DATA("share"), .csv_format = "%.8f", DOC_SHOWN("sum%", "%.2f%%", 7),
		  .factor = 100 },
		{ DOC_DATA("n"), DOC_SHOWN("N", "%.0f", 3) },
		{ DOC_DATA("mean"), .csv_format = "%.3f", DOC_SHOWN("mean", "%.2f", 11) },
		{ DOC_DATA("deviation"), .csv_format = "%.3f", DOC_SHOWN("std-dev", "%.2f", 10) },
		{ DOC_DATA("least"), .csv_format = "%.0f", DOC_SHOWN("min", "%.2f", 11) },
		{ DOC_DATA("most"), .csv_format = "%.0f", DOC_SHOWN("max", "%.2f", 11) },
		{ DOC_DATA("procedure"), .head = "procedure", .before = "  ", .width = -24,
		  .name = true, .fill = true },
		{ DOC_DATA("image"), .head = "image", .width = -24, .ragged = true, .name = true,
		  .colour = TERM_DIM },
	};
	struct doc_table *t = DOC_TABLE(d, columns, .key = "rows", .heads = true,
					.limit = (size_t)o->limit, .more = true);

	for (size_t i = 0; i < n; i++) {
		const struct line *l = &lines[i];

		doc_row(t);
		cell_real(t, l->range);
		cell_real(t, l->sum);
		cell_real(t, total > 0 ? l->sum / total : 0);
		cell_integer(t, (int64_t)sets);
		cell_real(t, l->mean);
		cell_real(t, l->deviation);
		cell_real(t, l->least);
		cell_real(t, l->most);
		cell_text(t, l->name);
		cell_text(t, l->image);
	}
}

/* The `issue` samples of a run, by procedure, as a live profile has them. */
static bool read_issue(struct store *s, struct live_model *m, struct err *e)
{
	*m = (struct live_model){ .machine = model_run_text(s, "machine", "?") };
	*ARRAY_ADD(m->events, m->nevents) =
	    (struct live_event_row){ .name = x_strdup("cycles"), .actual = x_strdup("cycles") };
	struct store_rows r =
	    store_query(s,
			"SELECT coalesce(f.name, '[unknown]'), i.name, sum(c.count) FROM "
			"calc_sample c LEFT JOIN "
			"instruction n ON n.pc = c.pc LEFT JOIN function f ON f.id = n.function "
			"LEFT JOIN image i "
			"ON i.id = f.image WHERE c.event = 0 GROUP BY f.id ORDER BY f.id",
			"");

	while (store_next(&r)) {
		struct live_row row = { .id = -1,
					.name = model_copy(&r, 0),
					.image = model_copy(&r, 1),
					.samples = x_calloc(1, sizeof(uint64_t)) };

		row.samples[0] = (uint64_t)store_int(&r, 2);
		m->events[0].selected += row.samples[0];
		*ARRAY_ADD(m->rows, m->nrows) = row;
	}
	return store_done(&r, e);
}

/* One profile after the other; event NULL: that of the first one. */
static bool read_models(struct store **stores, size_t count, const struct view_options *o,
			struct live_model *models, size_t *read, struct err *e)
{
	struct view_options only = *o;
	const bool live = live_is(stores[0]);

	for (*read = 0; *read < count; ++*read) {
		/* the event of the first profile, if none was asked for */
		if (*read && !only.event && models[0].nevents)
			only.event = models[0].events[0].name;
		if (live_is(stores[*read]) != live)
			return err_set(
			    e,
			    "%s is a run on a modelled core, and the others are live profiles: "
			    "statistics need one kind",
			    store_path(stores[live ? *read : 0]));
		if (live ? !live_read(stores[*read], &only, LIVE_BY_PROCEDURE, &models[*read], e)
			 : !read_issue(stores[*read], &models[*read], e))
			return false;
	}
	return true;
}

bool live_add_stats(struct doc *d, struct store **stores, size_t count,
		    const struct view_options *o, struct err *e)
{
	struct live_model *models = x_calloc(count, sizeof(*models));
	size_t read, n;
	double total = 0;
	const bool ok = read_models(stores, count, o, models, &read, e);

	if (ok) {
		struct line *lines = make_lines(models, count, &n);

		add_sets(d, models, count);
		for (size_t i = 0; i < count; i++)
			total += (double)live_total(&models[i]);
		add_lines(d, o, lines, n, count, total);
		for (size_t i = 0; i < n; i++)
			free(lines[i].samples);
		free(lines);
	}
	while (read--)
		live_free(&models[read]);
	free(models);
	return ok;
}

bool live_stats(struct store **stores, size_t count, const struct view_options *o, struct err *e)
{
	struct doc *d = doc_new();
	const bool ok = live_add_stats(d, stores, count, o, e) && doc_print(d, o, e);

	doc_free(d);
	return ok;
}

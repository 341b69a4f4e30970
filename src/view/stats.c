/* SPDX-License-Identifier: MIT */
/* Shows the cycles of several runs, and of their functions, as mean and spread. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "view/calc.h"
#include "view/live.h"
#include "view/model.h"

struct stat_line {
	char key[200];
	double sum, squares, least, most;
	size_t runs;
};

static int by_stat_key(const void *a, const void *b)
{
	return strcmp(((const struct stat_line *)a)->key, ((const struct stat_line *)b)->key);
}

static int by_stat_sum(const void *a, const void *b)
{
	const struct stat_line *x = a, *y = b;
	if (x->sum != y->sum)
		return x->sum < y->sum ? 1 : -1;
	return strcmp(x->key, y->key);
}

/* The cycles of the run and of each function, run after run. */
static struct stat_line *read_stats(struct store **stores, size_t count, const char *profiler,
				    size_t *lines, struct err *e)
{
	struct stat_line *all = x_calloc(1, sizeof(*all));
	size_t n = 0;

	for (size_t s = 0; s < count; s++) {
		struct model m;

		if (!model_read(stores[s], profiler, &m, e)) {
			free(all);
			return NULL;
		}
		all = x_realloc(all, (n + m.nfunctions + 1) * sizeof(*all));
		for (size_t i = 0; i <= m.nfunctions; i++) {
			const double c = i ? m.functions[i - 1].cycles : (double)m.cycles;

			if (c <= 0)
				continue;
			struct stat_line *l = &all[n++];

			*l = (struct stat_line){
				.sum = c, .squares = c * c, .least = c, .most = c, .runs = 1
			};
			snprintf(l->key, sizeof(l->key), "%s",
				 i ? m.functions[i - 1].name : "(run)");
		}
		model_free(&m);
	}
	*lines = n;
	return all;
}

/* Adds up lines of the same name; returns how many are left. */
static size_t merge_stats(struct stat_line *all, size_t n)
{
	size_t kept = 0;

	qsort(all, n, sizeof(*all), by_stat_key);
	for (size_t i = 1; i < n; i++) {
		if (by_stat_key(&all[kept], &all[i])) {
			all[++kept] = all[i];
			continue;
		}
		all[kept].sum += all[i].sum;
		all[kept].squares += all[i].squares;
		all[kept].least = fmin(all[kept].least, all[i].least);
		all[kept].most = fmax(all[kept].most, all[i].most);
		all[kept].runs++;
	}
	n = n ? kept + 1 : 0;
	qsort(all, n, sizeof(*all), by_stat_sum);
	return n;
}

/* Whether all of them have it. */
static bool all_have(struct store **stores, size_t count, bool (*has)(struct store *s))
{
	for (size_t i = 0; i < count; i++)
		if (!has(stores[i]))
			return false;
	return true;
}

bool view_stats(struct store **stores, size_t count, const struct view_options *o, struct err *e)
{
	const struct doc_column columns[] = {
		{ DOC_DATA("symbol") },
		{ DOC_DATA("runs") },
		{ DOC_DATA("mean"), .csv_format = "%.3f", DOC_SHOWN("mean", "%.0f", 14),
		  .before = "  " },
		{ DOC_SHOWN("spread", "%.2f%%", 10), .factor = 100 },
		{ DOC_DATA("deviation"), .csv_format = "%.3f" },
		{ DOC_DATA("least"), .csv_format = "%.3f", DOC_SHOWN("least", "%.0f", 14) },
		{ DOC_DATA("most"), .csv_format = "%.3f", DOC_SHOWN("most", "%.0f", 14) },
		{ DOC_SHOWN("runs", "%.0f", 4), .before = "  " },
		{ .before = "  ", .width = -20, .ragged = true, .name = true, .fill = true },
	};
	const bool sampled = all_have(stores, count, calc_has);
	size_t n;

	for (size_t i = 0; i < count; i++)
		if (live_is(stores[i]))
			return live_stats(stores, count, o, e);
	if (sampled && !all_have(stores, count, model_has_golden))
		return live_stats(stores, count, o, e);
	struct stat_line *all = read_stats(stores, count, o->profiler, &n, e);

	if (!all)
		return false;
	n = merge_stats(all, n);
	struct doc *d = doc_new();

	doc_line(d, NULL, "%zu runs: cycles by function", count);
	struct doc_table *t =
	    DOC_TABLE(d, columns, .key = "", .heads = true, .limit = (size_t)o->limit + 1);

	for (size_t i = 0; i < n; i++) {
		/* a run that lacks the function spent no time in it */
		const double mean = all[i].sum / (double)count,
			     var = all[i].squares / (double)count - mean * mean,
			     deviation = sqrt(fmax(var, 0));

		doc_row(t);
		cell_text(t, all[i].key);
		cell_integer(t, (int64_t)all[i].runs);
		cell_real(t, mean);
		cell_real(t, deviation / mean);
		cell_real(t, deviation);
		cell_real(t, all[i].runs < count ? 0 : all[i].least);
		cell_real(t, all[i].most);
		cell_integer(t, (int64_t)all[i].runs);
		cell_text(t, all[i].key);
	}
	bool ok = true;

	if (sampled && o->format == VIEW_TEXT) {
		doc_blank(d);
		ok = live_add_stats(d, stores, count, o, e);
	}
	ok = ok && doc_print(d, o, e);
	doc_free(d);
	free(all);
	return ok;
}

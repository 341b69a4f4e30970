/* SPDX-License-Identifier: MIT */
/*
 * Compares runs of a campaign that differ in one thing only.
 *
 * Against a base: for each pair of runs that are alike but for the field, the ratio of the metric; the mean
 * of its logarithms and Student's interval over pairs, 95%. With one pair the interval is that of the two
 * runs, if they are estimates.
 *
 * Best: machine and settings together, averaged over programs, inputs and seeds. Only those compare that
 * have all runs.
 *
 * Effects: the main effect of a parameter is the mean of the logarithm at each of its values, over groups
 * of runs that are alike but for the parameter and have all its values. Its share is the sum of squares
 * that these means explain, of the sum of squares within programs, inputs and seeds; in a campaign with all
 * combinations shares add up to 1 less what parameters do together.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "view/campaign.h"

/* A run and what it shares with others. */
struct keyed {
	char *key;
	const struct campaign_row *row;
	double value; /* logarithm of the metric */
};

/* All fields but those for which `out` is true, as one text. */
static char *key_of(const struct campaign_model *m, const struct campaign_row *r,
		    bool (*out)(int field, int which), int which)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		die("out of memory");
	for (size_t i = 0; i < m->nfields; i++)
		if (!out((int)i, which))
			fprintf(f, "%s\x1f", r->fields[i] ? r->fields[i] : "\x1e");
	if (fclose(f))
		die("out of memory");
	return text;
}

static bool is_field(int field, int which)
{
	return field == which;
}

/* Fields that say what was run, not what on. */
static bool is_workload(int field, int which)
{
	(void)which;
	return field == CAMPAIGN_PROGRAM || field == CAMPAIGN_INPUT || field == CAMPAIGN_SEED;
}

static bool is_configuration(int field, int which)
{
	return !is_workload(field, which);
}

static int by_key(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;
	const int order = strcmp(x->key, y->key);

	return order ? order : (x->row->id > y->row->id) - (x->row->id < y->row->id);
}

/* The runs that are done, sorted by their keys. */
static struct keyed *sort_rows(const struct campaign_model *m, const struct campaign_metric *metric,
			       bool (*out)(int field, int which), int which, size_t *count)
{
	struct keyed *all = NULL;
	size_t n = 0;

	for (size_t i = 0; i < m->nrows; i++) {
		const double x = m->rows[i].done ? metric->of(&m->rows[i]) : NAN;

		if (isfinite(x) && x > 0)
			*ARRAY_ADD(all, n) = (struct keyed){ key_of(m, &m->rows[i], out, which),
							     &m->rows[i], log(x) };
	}
	if (n)
		qsort(all, n, sizeof(*all), by_key);
	*count = n;
	return all;
}

static void free_rows(struct keyed *all, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(all[i].key);
	free(all);
}

/* Where the group that begins at `from` ends. */
static size_t group_end(const struct keyed *all, size_t n, size_t from)
{
	size_t to = from + 1;

	while (to < n && !strcmp(all[to].key, all[from].key))
		to++;
	return to;
}

/* ---- against a base ---- */

struct change {
	size_t pairs;
	double sum, squares; /* of logarithms of ratios */
	double own;	     /* square of the relative half interval of the last pair */
};

static double own_square(const struct campaign_metric *metric, const struct campaign_row *r)
{
	const double half = metric->half ? metric->half(r) / metric->of(r) : 0;

	return isfinite(half) ? half * half : 0;
}

static void add_pair(struct change *c, const struct campaign_metric *metric,
		     const struct keyed *base, const struct keyed *other)
{
	const double x = other->value - base->value;

	c->pairs++;
	c->sum += x;
	c->squares += x * x;
	c->own = own_square(metric, base->row) + own_square(metric, other->row);
}

static struct change find_change(const struct keyed *all, size_t n, int field,
				 const struct campaign_metric *metric, const char *base,
				 const char *other)
{
	struct change c = { 0 };

	for (size_t from = 0, to; from < n; from = to) {
		const struct keyed *a = NULL, *b = NULL;

		to = group_end(all, n, from);
		for (size_t i = from; i < to; i++) {
			const char *value = all[i].row->fields[field];

			if (value && !strcmp(value, base))
				a = &all[i];
			else if (value && !strcmp(value, other))
				b = &all[i];
		}
		if (a && b)
			add_pair(&c, metric, a, b);
	}
	return c;
}

static void put_change(struct doc_table *t, const char *value, const struct change *c)
{
	const double n = (double)c->pairs, mean = c->pairs ? c->sum / n : 0;
	const double spread =
	    c->pairs > 1 ? sqrt(fmax(0, c->squares - n * mean * mean) / (n - 1) / n) : 0;
	const double half = c->pairs > 1 ? campaign_student(c->pairs - 1) * spread : sqrt(c->own);
	const bool known = c->pairs > 1 || half > 0;

	doc_row(t);
	cell_text(t, value);
	CELL_REAL_IF(t, c->pairs, 100 * (exp(mean) - 1));
	CELL_REAL_IF(t, known, 100 * (exp(mean - half) - 1));
	CELL_REAL_IF(t, known, 100 * (exp(mean + half) - 1));
	cell_integer(t, (int64_t)c->pairs);
	cell_text(t, !c->pairs		  ? "no pair is done"
		     : !known		  ? "one pair: no interval"
		     : fabs(mean) <= half ? "within the noise"
					  : NULL);
}

bool campaign_add_base(struct doc *d, const struct campaign_model *m, const struct campaign_view *v,
		       const struct campaign_metric *metric, struct err *e)
{
	static const struct doc_column columns[] = {
		{ DOC_DATA("value"), DOC_SHOWN("value", NULL, -20), .before = "" },
		{ DOC_DATA("change_percent"), DOC_SHOWN("change", "%+.2f%%", 10) },
		{ DOC_DATA("low_percent"), DOC_SHOWN("from", "%+.2f%%", 10) },
		{ DOC_DATA("high_percent"), DOC_SHOWN("to", "%+.2f%%", 10) },
		{ DOC_DATA("pairs"), DOC_SHOWN("pairs", "%.0f", 6) },
		{ DOC_DATA("remark"), DOC_SHOWN("", NULL, -24), .before = "  ", .ragged = true },
	};
	const char *equals = strchr(v->base, '=');
	char *name = x_strndup(v->base, equals ? (size_t)(equals - v->base) : strlen(v->base));
	const int field = equals ? campaign_find_field(m, name, e) : -1;
	size_t nvalues = 0, n = 0;
	const char **values = field >= 0 ? campaign_field_values(m, field, &nvalues) : NULL;
	bool found = false;

	for (size_t i = 0; i < nvalues; i++)
		found |= !strcmp(values[i], equals + 1);
	if (!equals)
		err_set(e, "--base %s: it is FIELD=VALUE, as machine=boom-tip", v->base);
	else if (field >= 0 && !found)
		err_set(e, "--base %s: no run has that value", v->base);
	if (found) {
		struct keyed *all = sort_rows(m, metric, is_field, field, &n);
		struct doc_table *t;

		doc_heading(d, "%s against %s, 95%% intervals over matched pairs", metric->name,
			    v->base);
		doc_text(d, "metric", metric->name);
		doc_text(d, "base", v->base);
		t = DOC_TABLE(d, columns, .key = "changes", .heads = true);
		for (size_t i = 0; i < nvalues; i++) {
			struct change c;

			if (!strcmp(values[i], equals + 1))
				continue;
			c = find_change(all, n, field, metric, equals + 1, values[i]);
			put_change(t, values[i], &c);
		}
		free_rows(all, n);
	}
	free(values);
	free(name);
	return found;
}

/* ---- best ---- */

/* One machine with one set of settings. */
struct configuration {
	const struct campaign_row *row; /* one of its runs, for the fields */
	double mean;			/* of the logarithm */
	size_t n;
};

struct bounded {
	const struct campaign_model *m;
	const struct campaign_metric *metric;
	const struct configuration *c;
	char text[40];
};

static const char *look_up(void *ctx, const char *field)
{
	struct bounded *b = ctx;

	if (!strcmp(field, b->metric->name)) {
		snprintf(b->text, sizeof(b->text), "%.17g", exp(b->c->mean));
		return b->text;
	}
	for (size_t i = 0; i < b->m->nfields; i++)
		if (!strcmp(b->m->fields[i], field))
			return b->c->row->fields[i];
	return NULL;
}

static struct configuration *find_configurations(const struct keyed *all, size_t n, size_t *count)
{
	struct configuration *list = NULL;

	*count = 0;
	for (size_t from = 0, to; from < n; from = to) {
		struct configuration c = { .row = all[from].row };

		to = group_end(all, n, from);
		for (size_t i = from; i < to; i++)
			c.mean += all[i].value;
		c.n = to - from;
		c.mean /= (double)c.n;
		*ARRAY_ADD(list, *count) = c;
	}
	return list;
}

static int lowest_first(const void *a, const void *b)
{
	const struct configuration *x = a, *y = b;

	return x->mean < y->mean   ? -1
	       : x->mean > y->mean ? 1
				   : (x->row->id > y->row->id) - (x->row->id < y->row->id);
}

static int highest_first(const void *a, const void *b)
{
	return -lowest_first(a, b);
}

static struct doc_table *best_table(struct doc *d, const struct campaign_model *m,
				    const struct campaign_metric *metric, size_t limit)
{
	struct doc_column *columns = x_calloc(m->nfields + 4, sizeof(*columns));
	struct doc_table *t;
	size_t n = 0;

	columns[n++] =
	    (struct doc_column){ DOC_DATA(metric->name),
				 DOC_SHOWN(metric->name, metric->format, 10), .before = "" };
	columns[n++] =
	    (struct doc_column){ DOC_DATA("worse_percent"), DOC_SHOWN("worse", "%.2f%%", 8) };
	columns[n++] = (struct doc_column){ DOC_DATA("runs"), DOC_SHOWN("runs", "%.0f", 5) };
	for (size_t i = 0; i < m->nfields; i++)
		if (!is_workload((int)i, 0)) {
			const size_t width = strlen(m->fields[i]);

			columns[n++] =
			    (struct doc_column){ DOC_DATA(m->fields[i]),
						 DOC_SHOWN(m->fields[i], NULL,
							   campaign_varies(m, (int)i)
							       ? -(int)(width > 14 ? width : 14)
							       : 0),
						 .before = "  " };
		}
	t = doc_table(d, columns, n,
		      &(struct doc_table_options){
			  .key = "best", .heads = true, .limit = limit, .more = true });
	free(columns);
	return t;
}

/* The fields of a bound must exist: a mistyped one would hold for nothing. */
static bool check_bound(const struct campaign_model *m, const struct campaign_metric *metric,
			const struct conditions *bound, struct err *e)
{
	for (size_t i = 0; i < bound->count; i++)
		if (strcmp(bound->items[i].field, metric->name) &&
		    campaign_find_field(m, bound->items[i].field, e) < 0)
			return false;
	return true;
}

bool campaign_add_best(struct doc *d, const struct campaign_model *m, const struct campaign_view *v,
		       const struct campaign_metric *metric, size_t limit, struct err *e)
{
	struct conditions bound = { NULL, 0 };
	size_t n, count = 0, most = 0, partial = 0, shown = 0;
	struct keyed *all = sort_rows(m, metric, is_workload, 0, &n);
	struct configuration *list = find_configurations(all, n, &count);
	bool ok = (!v->bound || conditions_parse(&bound, v->bound, e)) &&
		  check_bound(m, metric, &bound, e);
	double best = 0;

	if (ok && count) {
		struct doc_table *t;

		qsort(list, count, sizeof(*list),
		      metric->more_is_better ? highest_first : lowest_first);
		for (size_t i = 0; i < count; i++)
			most = list[i].n > most ? list[i].n : most;
		doc_heading(d, "best %s, geometric mean of %zu runs each%s%s", metric->name, most,
			    v->bound ? ", where " : "", v->bound ? v->bound : "");
		t = best_table(d, m, metric, limit);
		for (size_t i = 0; i < count; i++) {
			struct bounded b = { m, metric, &list[i], "" };

			partial += list[i].n < most;
			if (list[i].n < most || !conditions_hold(&bound, look_up, &b))
				continue;
			best = shown++ ? best : list[i].mean;
			doc_row(t);
			cell_real(t, exp(list[i].mean));
			cell_real(t, 100 * (exp(fabs(list[i].mean - best)) - 1));
			cell_integer(t, (int64_t)list[i].n);
			for (size_t k = 0; k < m->nfields; k++)
				if (!is_workload((int)k, 0))
					cell_text(t, list[i].row->fields[k]);
		}
		if (partial)
			doc_line(d, NULL,
				 "%zu settings have fewer runs that are done, and are left out.",
				 partial);
	}
	if (ok && !shown)
		ok = err_set(e, "no settings with all their runs done are within the bound");
	conditions_free(&bound);
	free(list);
	free_rows(all, n);
	return ok;
}

/* ---- effects ---- */

struct effect {
	int field;
	size_t groups;
	const char *low, *high; /* values with the lowest and the highest mean */
	double range, squares;
};

/* The sum of squares of the logarithms around the mean of their program, input and seed. */
static double all_squares(const struct campaign_model *m, const struct campaign_metric *metric)
{
	size_t n;
	struct keyed *all = sort_rows(m, metric, is_configuration, 0, &n);
	double sum = 0;

	for (size_t from = 0, to; from < n; from = to) {
		double mean = 0;

		to = group_end(all, n, from);
		for (size_t i = from; i < to; i++)
			mean += all[i].value / (double)(to - from);
		for (size_t i = from; i < to; i++)
			sum += (all[i].value - mean) * (all[i].value - mean);
	}
	free_rows(all, n);
	return sum;
}

static void find_effect(const struct campaign_model *m, const struct campaign_metric *metric,
			struct effect *x)
{
	size_t n, nvalues;
	struct keyed *all = sort_rows(m, metric, is_field, x->field, &n);
	const char **values = campaign_field_values(m, x->field, &nvalues);
	double *sums = x_calloc(nvalues + 1, sizeof(*sums)), mean = 0;

	for (size_t from = 0, to; from < n; from = to) {
		to = group_end(all, n, from);
		if (to - from != nvalues)
			continue;
		x->groups++;
		for (size_t i = from; i < to; i++)
			for (size_t k = 0; k < nvalues; k++)
				if (!strcmp(all[i].row->fields[x->field], values[k]))
					sums[k] += all[i].value;
	}
	for (size_t k = 0; x->groups && k < nvalues; k++) {
		sums[k] /= (double)x->groups;
		mean += sums[k] / (double)nvalues;
	}
	for (size_t k = 0, low = 0, high = 0; x->groups && k < nvalues; k++) {
		low = sums[k] < sums[low] ? k : low;
		high = sums[k] > sums[high] ? k : high;
		x->low = values[low];
		x->high = values[high];
		x->range = sums[high] - sums[low];
		x->squares += (double)x->groups * (sums[k] - mean) * (sums[k] - mean);
	}
	free(sums);
	free(values);
	free_rows(all, n);
}

static int largest_first(const void *a, const void *b)
{
	const struct effect *x = a, *y = b;

	return x->squares > y->squares ? -1 : x->squares < y->squares ? 1 : x->field - y->field;
}

void campaign_add_effects(struct doc *d, const struct campaign_model *m,
			  const struct campaign_metric *metric)
{
	static const struct doc_column columns[] = {
		{ DOC_DATA("parameter"), DOC_SHOWN("parameter", NULL, -24), .before = "" },
		{ DOC_DATA("range_percent"), DOC_SHOWN("highest over lowest", "%+.2f%%", 20) },
		{ DOC_DATA("lowest_at"), DOC_SHOWN("lowest at", NULL, -12), .before = "  " },
		{ DOC_DATA("highest_at"), DOC_SHOWN("highest at", NULL, -12) },
		{ DOC_DATA("variance_percent"), DOC_SHOWN("of variance", "%.1f%%", 12) },
		{ DOC_DATA("groups"), DOC_SHOWN("groups", "%.0f", 7) },
	};
	const double total = all_squares(m, metric);
	struct effect *list = NULL;
	struct doc_table *t;
	size_t n = 0;

	for (size_t i = 0; i < m->nfields; i++)
		if (!is_workload((int)i, 0) && campaign_varies(m, (int)i)) {
			struct effect *x = ARRAY_ADD(list, n);

			*x = (struct effect){ .field = (int)i };
			find_effect(m, metric, x);
		}
	if (n)
		qsort(list, n, sizeof(*list), largest_first);
	doc_heading(d, "which parameter matters most for %s", metric->name);
	doc_text(d, "metric", metric->name);
	t = DOC_TABLE(d, columns, .key = "effects", .heads = true);
	for (size_t i = 0; i < n; i++) {
		doc_row(t);
		cell_text(t, m->fields[list[i].field]);
		CELL_REAL_IF(t, list[i].groups, 100 * (exp(list[i].range) - 1));
		cell_text(t, list[i].low);
		cell_text(t, list[i].high);
		CELL_REAL_IF(t, list[i].groups && total > 0, 100 * list[i].squares / total);
		cell_integer(t, (int64_t)list[i].groups);
	}
	free(list);
}

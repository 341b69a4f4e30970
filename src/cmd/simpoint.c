/* SPDX-License-Identifier: MIT */
/*
 * culprit simpoint: which intervals of a run stand for it, from its basic block vectors.
 *
 *	t.bb: 68 intervals of 1,000,000 instructions, 67,400,000 in all.
 *
 *	    k       score  of the span
 *	    1      1021.4        0.0%
 *	    …
 *	k = 4 is the smallest with at least 90% of the span from the worst to the best score.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "sampling/bb.h"
#include "sampling/sampling.h"
#include "util/number.h"
#include "util/text.h"
#include "view/doc.h"
#include "view/view.h"

struct simpoint_values {
	uint64_t max_k, dims, tries, seed, threads;
	const char *bic, *output, *points;
	int bic_of;
	bool exhaustive, data, json;
};

#define DIMS_MOST    200
#define TRIES_MOST   1000
#define THREADS_MOST 256

static const char *const parts_of[] = { "span", "best", NULL };

static bool parse_bic(const char *text, double *bic)
{
	const char *unit;

	return number_real(text, bic, &unit) && !*unit && *bic <= 1;
}

static bool check_bic(const char *text, struct err *e)
{
	double ignored;

	return parse_bic(text, &ignored) ||
	       err_set(e, "'%s' is not a threshold from 0 to 1, such as 0.9", text);
}

static double bic_of(const struct simpoint_values *o)
{
	double bic = SAMPLING_BIC;

	if (o->bic)
		parse_bic(o->bic, &bic);
	return bic;
}

static uint64_t insts_of(const struct intervals *v)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < v->count; i++)
		sum += v->insts[i];
	return sum;
}

/* ---- what is shown ---- */

static void put_head(struct doc *d, const char *path, const struct intervals *v)
{
	char count[NUMBER_COMMAS_BYTES], length[NUMBER_COMMAS_BYTES], all[NUMBER_COMMAS_BYTES];
	char *shown = text_shown(path);

	number_commas(v->count, count);
	number_commas(v->interval, length);
	number_commas(insts_of(v), all);
	if (v->count == 1)
		doc_line(d, shown, ": one interval of %s instructions.", length);
	else
		doc_line(d, shown, ": %s intervals of %s instructions, %s in all.", count, length,
			 all);
	doc_text(d, "file", shown);
	doc_integer(d, "intervals", (int64_t)v->count);
	doc_integer(d, "interval", (int64_t)v->interval);
	doc_integer(d, "instructions", (int64_t)insts_of(v));
	free(shown);
}

static void put_tried(struct doc *d, const struct choice *c, unsigned k)
{
	static const struct doc_column columns[] = {
		{ DOC_DATA("k"), DOC_SHOWN("k", NULL, 6), .before = "" },
		{ DOC_DATA("score"), DOC_SHOWN("score", "%.1f", 14) },
		{ DOC_DATA("of_span"), DOC_SHOWN("of the span", "%.1f%%", 13), .factor = 100 },
		{ DOC_SHOWN("", NULL, -8), .before = "  ", .ragged = true },
	};
	double best = c->tried[0].bic, worst = best;

	for (size_t i = 1; i < c->ntried; i++) {
		best = c->tried[i].bic > best ? c->tried[i].bic : best;
		worst = c->tried[i].bic < worst ? c->tried[i].bic : worst;
	}
	doc_blank(d);
	struct doc_table *t = DOC_TABLE(d, columns, .key = "tried", .heads = true);

	for (size_t i = 0; i < c->ntried; i++) {
		doc_row(t);
		cell_integer(t, c->tried[i].k);
		cell_real(t, c->tried[i].bic);
		cell_real(t, best > worst ? (c->tried[i].bic - worst) / (best - worst) : 1);
		cell_text(t, c->tried[i].k == k ? "chosen" : "");
	}
}

/* What was chosen and why, and whether the other kind of threshold chooses differently. */
static void put_reason(struct doc *d, const struct simpoint_values *o, const struct choice *c)
{
	const bool of_best = o->bic_of == 1;
	const unsigned k = of_best ? c->k_best : c->k_span, other = of_best ? c->k_span : c->k_best;
	const double percent = bic_of(o) * 100;
	double best = c->tried[0].bic;

	for (size_t i = 1; i < c->ntried; i++)
		best = c->tried[i].bic > best ? c->tried[i].bic : best;
	doc_blank(d);
	if (of_best)
		doc_line(d, NULL, "k = %u is the smallest with at least %g%% of the best score.", k,
			 percent);
	else
		doc_line(d, NULL,
			 "k = %u is the smallest with at least %g%% of the span from the worst to "
			 "the best score.",
			 k, percent);
	if (c->clustering.k < k)
		doc_line(d, NULL, "Only %u intervals differ, so there are %u clusters.",
			 c->clustering.k, c->clustering.k);
	if (best <= 0)
		doc_line(d, NULL,
			 "The best score is not above zero, so that a part of it means "
			 "nothing; --bic-of best %s k = %u.",
			 of_best ? "chooses" : "would choose", c->k_best);
	else if (other != k)
		doc_line(d, NULL, "With --bic-of %s it would be k = %u.", parts_of[!of_best],
			 other);
	doc_integer(d, "k", k);
	doc_integer(d, "k_span", c->k_span);
	doc_integer(d, "k_best", c->k_best);
	doc_integer(d, "clusters", c->clustering.k);
	doc_real(d, "score", c->clustering.bic);
	doc_real(d, "distortion", c->clustering.distortion);
}

/* sizes: intervals of each cluster; NULL if that is not known. */
static void put_points(struct doc *d, const struct intervals *v, const struct point *points,
		       size_t count, const uint64_t *sizes)
{
	static const struct doc_column columns[] = {
		{ DOC_DATA("interval"), DOC_SHOWN("interval", NULL, 10), .before = "" },
		{ DOC_DATA("start"), DOC_SHOWN("first instruction", NULL, 18) },
		{ DOC_DATA("cluster"), DOC_SHOWN("cluster", NULL, 8) },
		{ DOC_DATA("weight"), .csv_format = "%.12g", DOC_SHOWN("weight", "%.2f%%", 9),
		  .factor = 100 },
		{ DOC_DATA("stands_for"), DOC_SHOWN("intervals", NULL, 10) },
	};
	uint64_t *starts = x_malloc(v->count * sizeof(*starts));
	uint64_t at = 0;

	for (size_t i = 0; i < v->count; i++) {
		starts[i] = at;
		at += v->insts[i];
	}
	doc_blank(d);
	doc_line(
	    d, NULL,
	    count == 1 ? "One point stands for the run:" : "%zu points stand for the run:", count);
	struct doc_table *t = DOC_TABLE(d, columns, .key = "points", .heads = true);

	for (size_t i = 0; i < count; i++) {
		doc_row(t);
		cell_integer(t, (int64_t)points[i].interval);
		cell_integer(t, (int64_t)starts[points[i].interval]);
		cell_integer(t, points[i].cluster);
		cell_real(t, points[i].weight);
		if (sizes)
			cell_integer(t, (int64_t)sizes[points[i].cluster]);
		else
			cell_none(t);
	}
	free(starts);
}

static int print(const struct simpoint_values *o, struct doc *d, struct err *e)
{
	struct view_options view = { .out = stdout, .format = o->json ? VIEW_JSON : VIEW_TEXT };

	view_defaults(&view);
	const bool ok = doc_print(d, &view, e);

	doc_free(d);
	return ok ? 0 : 2;
}

/* ---- the work ---- */

static int choose_points(const struct simpoint_values *o, const char *path,
			 const struct intervals *v, struct err *e)
{
	const long cores = sysconf(_SC_NPROCESSORS_ONLN);
	const struct choose_options options = {
		.max_k = (unsigned)o->max_k,
		.tries = (unsigned)o->tries,
		.bic = bic_of(o),
		.of_best = o->bic_of == 1,
		.exhaustive = o->exhaustive,
		.seed = o->seed,
		.threads = o->threads  ? (unsigned)o->threads
			   : cores > 0 ? (unsigned)cores
				       : 1,
	};
	struct choice c;

	if (!choose(v, &options, &c, e))
		return 2;
	struct doc *d = doc_new();
	uint64_t *sizes = x_malloc(c.clustering.k * sizeof(*sizes));
	int status = 2;

	clustering_sizes(v, &c.clustering, sizes);
	put_head(d, path, v);
	put_tried(d, &c, options.of_best ? c.k_best : c.k_span);
	put_reason(d, o, &c);
	put_points(d, v, c.points, c.count, sizes);
	if (o->output && !points_write(o->output, c.points, c.count, e))
		doc_free(d);
	else
		status = print(o, d, e);
	free(sizes);
	choice_free(&c);
	return status;
}

static int show_points(const struct simpoint_values *o, const char *path, const struct intervals *v,
		       struct err *e)
{
	char *simpoints = x_asprintf("%s.simpoints", o->points),
	     *weights = x_asprintf("%s.weights", o->points);
	struct point *points;
	size_t count;
	int status = 2;

	if (points_read(simpoints, weights, v->count, &points, &count, e)) {
		struct doc *d = doc_new();

		put_head(d, path, v);
		put_points(d, v, points, count, NULL);
		status = print(o, d, e);
		free(points);
	}
	free(simpoints);
	free(weights);
	return status;
}

static int simpoint_run(void *values, int nargs, char **args)
{
	const struct simpoint_values *o = values;
	struct intervals v = { 0 };
	struct err e = { "" };
	int status = 2;

	(void)nargs;
	if (o->points && o->output)
		err_set(&e, "--points shows points that are there: leave -o out");
	else if (bb_intervals(args[0], (unsigned)o->dims, o->seed, o->data, &v, &e))
		status =
		    o->points ? show_points(o, args[0], &v, &e) : choose_points(o, args[0], &v, &e);
	intervals_free(&v);
	if (e.text[0])
		warn("simpoint: %s", e.text);
	return status;
}

#define VALUE(member) .offset = offsetof(struct simpoint_values, member)

static const struct cmd_option options[] = {
	{ "output", CMD_TEXT, VALUE(output), .arg = "STEM", .letter = 'o',
	  .help = "Writes STEM.simpoints (interval, cluster) and STEM.weights (weight, cluster), "
		  "line by line for the same point." },
	{ "max-k", CMD_NUMBER, VALUE(max_k), .arg = "N",
	  .range = { 1, SAMPLING_K_MOST, NUMBER_DECIMAL }, .unset = SAMPLING_MAX_K,
	  .help = "At most so many clusters; 30 unless given." },
	{ "dims", CMD_NUMBER, VALUE(dims), .arg = "N", .range = { 1, DIMS_MOST, NUMBER_DECIMAL },
	  .unset = SAMPLING_DIMS,
	  .help = "Columns that vectors are projected to; 15 unless given." },
	{ "tries", CMD_NUMBER, VALUE(tries), .arg = "N", .range = { 1, TRIES_MOST, NUMBER_DECIMAL },
	  .unset = SAMPLING_TRIES,
	  .help = "How often each k is clustered, from other initial centres; the best counts. 5 "
		  "unless given." },
	{ "bic", CMD_TEXT, VALUE(bic), .check = check_bic, .arg = "PART",
	  .help = "The smallest k whose score is at or above this threshold is chosen; 0.9 unless "
		  "given." },
	{ "bic-of", CMD_CHOICE, VALUE(bic_of), .choices = parts_of, .arg = "WHAT",
	  .help = "What the threshold is a part of: span, from the worst to the best score "
		  "(default), or best, the best score." },
	{ "exhaustive", CMD_SWITCH, VALUE(exhaustive),
	  .help = "Tries every k instead of a binary search." },
	{ "data", CMD_SWITCH, VALUE(data),
	  .help = "Also compares what the intervals did to memory; the file must be from 'culprit "
		  "bbv --data'." },
	{ "points", CMD_TEXT, VALUE(points), .arg = "STEM",
	  .help = "Chooses nothing, but shows the points of STEM.simpoints and STEM.weights." },
	{ "seed", CMD_NUMBER, VALUE(seed), .arg = "N", .unset = 1,
	  .help = "Decides projection and initial centres; 1 unless given." },
	{ "threads", CMD_NUMBER, VALUE(threads), .arg = "N",
	  .range = { 1, THREADS_MOST, NUMBER_DECIMAL },
	  .help = "Works with so many threads; the host's processors unless given. Changes nothing "
		  "but the time." },
	{ "json", CMD_SWITCH, VALUE(json), .help = "Prints JSON with stable keys" },
	{ .name = NULL },
};

static const struct cmd_example examples[] = {
	{ "culprit simpoint program.bb -o program",
	  "Chooses points and writes program.simpoints and program.weights." },
	{ "culprit simpoint program.bb --max-k 10 --exhaustive",
	  "Shows the score of every k from 1 to 10." },
	{ NULL, NULL },
};

const struct command cmd_simpoint = {
	.name = "simpoint",
	.summary = "choose the intervals that stand for a run, from basic block vectors",
	.args = "FILE.bb",
	.min_args = 1,
	.max_args = 1,
	.description =
	    "Reads basic block vectors (from 'culprit bbv', or valgrind's exp-bbv), projects them "
	    "to a few random columns, finds clusters of intervals that are alike (k-means, from 1 "
	    "to --max-k clusters), and chooses the smallest number of clusters with a good score "
	    "(Bayesian information criterion). The interval closest to a cluster's centre stands "
	    "for the cluster; its weight is the cluster's share of the instructions.\n\n"
	    "The result depends on the vectors, the options and the seed alone.",
	.exit_status = "0; 2 if the file cannot be read, or the points cannot be written.",
	.options = options,
	.examples = examples,
	.values_size = sizeof(struct simpoint_values),
	.run = simpoint_run,
};

/* SPDX-License-Identifier: MIT */
/*
 * culprit sample, last step: one profile of all points (combine/), and the files that --keep leaves. A
 * run that was simulated whole needs no combining: its own profile is the result.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/sample.h"
#include "combine/combine.h"
#include "jobs/recipe.h"
#include "jobs/trust.h"
#include "store/store.h"

/* Copies a file; the copy gets its name when it is complete. */
static bool copy_file(const char *from, const char *to, struct err *e)
{
	char *temp = x_asprintf("%s.%ld", to, (long)getpid());
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out = in >= 0 ? open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : -1;
	struct stat st;
	bool ok = out >= 0 && !fstat(in, &st);

	for (off_t at = 0; ok && at < st.st_size;) {
		ssize_t n = sendfile(out, in, &at, (size_t)(st.st_size - at));

		if (!n)
			errno = EIO;
		ok = n > 0;
	}
	if (out >= 0 && close(out))
		ok = false;
	ok = ok && !rename(temp, to);
	if (!ok) {
		err_set(e, "cannot write '%s': %s", to, strerror(errno));
		if (out >= 0)
			unlink(temp);
	}
	if (in >= 0)
		close(in);
	free(temp);
	return ok;
}

/* The share of the run that each point stands for: its cluster's, by length. */
static void fill_weights(const struct sample *s, struct combine_weight *weights)
{
	struct estimate_point *points = x_calloc(s->npoints, sizeof(*points));
	double *shares = x_calloc(s->npoints, sizeof(*shares));
	uint64_t *stands_for = x_calloc(s->npoints, sizeof(*stands_for));
	const struct estimate_plan plan = { .clusters = s->clusters,
					    .nclusters = s->choice.clustering.k,
					    .points = points,
					    .npoints = s->npoints };

	for (size_t i = 0; i < s->npoints; i++)
		points[i] = (struct estimate_point){ s->points[i].cluster, s->points[i].length };
	estimate_factors(&plan, shares);
	for (size_t i = 0; i < s->npoints; i++)
		shares[i] *= (double)s->points[i].length;
	combine_shares(shares, s->npoints, s->total, stands_for);
	for (size_t i = 0; i < s->npoints; i++) {
		const struct sample_point *p = &s->points[i];

		weights[i] = (struct combine_weight){ .start = p->start,
						      .length = p->length,
						      .stands_for = stands_for[i],
						      .cluster = p->cluster,
						      .has_bracket = p->has_bracket,
						      .low_cycles = p->low_cycles,
						      .high_cycles = p->high_cycles };
	}
	free(points);
	free(shares);
	free(stands_for);
}

static bool remove_row(struct store *db, const char *key, struct err *e)
{
	struct store_rows q = store_query(db, "DELETE FROM run WHERE key = ?1", "s", key);

	store_next(&q);
	return store_done(&q, e);
}

/* Rows of the points say where each began; the run's own are those of the pass over all of it. */
static bool put_recipe(struct store *db, void *arg, struct err *e)
{
	const struct sample *s = arg;
	struct trust_key key;
	struct err ignored;
	char hex[DIGEST_HEX];
	bool ok = true;

	for (unsigned i = 0; ok && i < RUN_ITEMS; i++) {
		const char *name = recipe_rows[i].key;
		struct store_rows q;

		if (!(recipe_rows[i].use & RECIPE_SIGNED))
			continue;
		ok = remove_row(db, name, e);
		if (i == RUN_history && s->history)
			ok = ok && store_insert(db, e, "run", "si", name, 1ll);
		q = store_query(s->profile, "SELECT value FROM run WHERE key = ?1", "s", name);
		if (store_next(&q) && !store_is_null(&q, 0)) {
			const enum recipe_type type = recipe_rows[i].type;

			ok =
			    ok && (type == RECIPE_NUMBER || type == RECIPE_SWITCH
				       ? store_insert(db, e, "run", "si", name, store_int(&q, 0))
				       : store_insert(db, e, "run", "ss", name, store_text(&q, 0)));
		}
		ok = store_done(&q, e) && ok;
	}
	trust_key_load(&key, &ignored);
	ok = ok && remove_row(db, TRUST_ROW, e);
	return ok &&
	       (!trust_sign(db, &key, hex) || store_insert(db, e, "run", "ss", TRUST_ROW, hex));
}

/* Where each cluster's first point begins: the closest to its centre. The caller frees. */
static char *chosen_list(const struct sample *s)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	for (unsigned i = 0; f && s->members && i < s->choice.clustering.k; i++)
		fprintf(f, "%s%" PRIu64, i ? "," : "",
			(uint64_t)s->members[i][0] * s->vectors.interval);
	if (!f || fclose(f))
		die("out of memory");
	return text;
}

bool sample_combine(struct sample *s, struct err *e)
{
	if (s->is_whole)
		return copy_file(s->points[0].job.result, s->output, e);

	struct combine_weight *weights = x_calloc(s->npoints, sizeof(*weights));
	const char **paths = x_calloc(s->npoints, sizeof(*paths));
	const unsigned k = s->choice.clustering.k;
	struct combine_cluster *clusters = x_calloc(k, sizeof(*clusters));
	const bool systematic = s->choice.clustering.of == NULL;
	char *chosen = chosen_list(s),
	     *longer = x_asprintf("%lluM", (unsigned long long)s->warm / 1000000);
	const struct combine_setting settings[] = { { "chosen", chosen } };
	const struct combine_options o = {
		.method = systematic ? "systematic" : "simpoint",
		.total_instructions = s->total,
		.interval = systematic ? s->o->unit : s->vectors.interval,
		.settle = s->o->settle,
		.warm = s->warm == UINT64_MAX ? "all"
			: s->warm_is_longer   ? longer
			: s->o->warm	      ? s->o->warm
			: s->history	      ? SAMPLE_WARM
					      : "10M",
		.seed = s->o->seed,
		.k = s->choice.clustering.k,
		.mode = s->o->plain_weights ? COMBINE_WEIGHTS : COMBINE_EXECUTIONS,
		.exit_status = s->exit_status,
		.pcs = s->pcs,
		.executions = s->executions,
		.npcs = s->npcs,
		.strip = s->choice.clustering.of,
		.nstrip = systematic ? 0 : s->vectors.count,
		.clusters = clusters,
		.nclusters = k,
		.settings = settings,
		.nsettings = ARRAY_LEN(settings),
		.finish = put_recipe,
		.arg = s
	};
	bool ok;

	for (unsigned i = 0; i < k; i++)
		clusters[i] =
		    (struct combine_cluster){ s->clusters[i].intervals, s->clusters[i].spread };
	for (size_t i = 0; i < s->npoints; i++)
		paths[i] = s->points[i].job.result;
	fill_weights(s, weights);
	ok = combine_stores(paths, weights, s->npoints, &o, s->output, e);
	free(weights);
	free(paths);
	free(clusters);
	free(chosen);
	free(longer);
	return ok;
}

bool sample_keep(struct sample *s, struct err *e)
{
	struct point *points;
	struct combine_weight *weights;
	char *stem, *bb, *from;
	bool ok;

	if (!s->members)
		return err_set(e, "--keep leaves points of clusters; this run has none");
	if (!jobs_make_dirs(s->o->keep, e))
		return false;
	stem = x_asprintf("%s/%s", s->o->keep, path_name(s->args[0]));
	bb = x_asprintf("%s.bb.gz", stem);
	from = x_asprintf("%s/run.bb.gz", s->dir);
	points = x_calloc(s->npoints, sizeof(*points));
	weights = x_calloc(s->npoints, sizeof(*weights));
	fill_weights(s, weights);
	for (size_t i = 0; i < s->npoints; i++)
		points[i] = (struct point){ s->points[i].interval, s->points[i].cluster,
					    (double)weights[i].stands_for / (double)s->total };
	ok = copy_file(from, bb, e) && points_write(stem, points, s->npoints, e);
	free(points);
	free(weights);
	free(stem);
	free(bb);
	free(from);
	return ok;
}

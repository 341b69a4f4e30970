/* SPDX-License-Identifier: MIT */
/*
 * Reads what a sampled profile says of its points (tables sampled, sampled_cluster, sampled_strip and
 * point), and works out where its error comes from. The stratified estimate is made again from the
 * points, so that a cluster's share of the variance and the number of points that halve the error agree
 * with the interval that is shown.
 */
#include "view/sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MORE_MOST 100000 /* points; nobody simulates more to halve an error */

static void read_text(struct store *s, const char *sql, char *out, size_t size)
{
	struct store_rows q = store_query(s, sql, "");

	if (store_next(&q) && store_shown(&q, 0))
		snprintf(out, size, "%s", store_shown(&q, 0));
	store_done(&q, NULL);
}

static uint64_t count_of(struct store *s, const char *sql)
{
	return (uint64_t)store_number(s, sql, 0);
}

static bool read_clusters(struct store *s, struct sample_model *m, struct err *e)
{
	struct store_rows q;

	m->nclusters = count_of(s, "SELECT coalesce(max(id) + 1, 0) FROM sampled_cluster");
	m->clusters = x_calloc(m->nclusters + 1, sizeof(*m->clusters));
	q = store_query(s, "SELECT id, intervals, instructions, spread FROM sampled_cluster", "");
	while (store_next(&q)) {
		const uint64_t id = (uint64_t)store_int(&q, 0);

		if (id < m->nclusters)
			m->clusters[id] =
			    (struct sample_shown_cluster){ .intervals = (uint64_t)store_int(&q, 1),
							   .instructions =
							       (uint64_t)store_int(&q, 2),
							   .spread = store_double(&q, 3) };
	}
	return store_done(&q, e);
}

/* Whether a number is in a list like "5,17,200". */
static bool is_listed(const char *list, uint64_t n)
{
	while (list && *list) {
		char *end;

		if (strtoull(list, &end, 10) == n && end != list)
			return true;
		list = strchr(list, ',');
		if (list)
			list++;
	}
	return false;
}

static bool read_points(struct store *s, struct sample_model *m, struct err *e)
{
	struct store_rows q;
	char *chosen = NULL;

	q = store_query(s, "SELECT value FROM sampled WHERE key = 'chosen'", "");
	if (store_next(&q) && store_text(&q, 0))
		chosen = x_strdup(store_text(&q, 0));
	store_done(&q, NULL);
	m->points = x_calloc(count_of(s, "SELECT count(*) FROM point") + 1, sizeof(*m->points));
	q = store_query(
	    s,
	    "SELECT start, length, cluster, stands_for, instructions, cycles, low_cycles, "
	    "high_cycles FROM point ORDER BY start, id",
	    "");
	while (store_next(&q)) {
		struct sample_shown_point p = { .start = (uint64_t)store_int(&q, 0),
						.length = (uint64_t)store_int(&q, 1),
						.cluster = (uint32_t)store_int(&q, 2),
						.stands_for = (uint64_t)store_int(&q, 3),
						.instructions = (uint64_t)store_int(&q, 4),
						.cycles = (uint64_t)store_int(&q, 5),
						.has_bracket =
						    !store_is_null(&q, 6) && !store_is_null(&q, 7),
						.low_cycles = store_double(&q, 6),
						.high_cycles = store_double(&q, 7) };

		p.chosen = is_listed(chosen, p.start);
		if (p.cluster >= m->nclusters || !p.instructions) {
			free(chosen);
			store_done(&q, NULL);
			return err_set(e, "%s: a point of table point belongs to no cluster",
				       store_path(s));
		}
		m->points[m->npoints++] = p;
		m->brackets += p.has_bracket;
	}
	free(chosen);
	return store_done(&q, e);
}

static bool read_strip(struct store *s, struct sample_model *m, struct err *e)
{
	struct store_rows q;

	m->strip =
	    x_calloc(count_of(s, "SELECT count(*) FROM sampled_strip") + 1, sizeof(*m->strip));
	q = store_query(s, "SELECT first, count, cluster FROM sampled_strip ORDER BY first", "");
	while (store_next(&q)) {
		struct sample_strip *r = &m->strip[m->nstrip];

		*r = (struct sample_strip){ (uint64_t)store_int(&q, 0), (uint64_t)store_int(&q, 1),
					    (uint32_t)store_int(&q, 2) };
		if (r->cluster < m->nclusters && r->first == m->intervals) {
			m->intervals += r->count;
			m->nstrip++;
		}
	}
	return store_done(&q, e);
}

/* The CPIs of each cluster's points. */
static void sum_clusters(struct sample_model *m)
{
	uint64_t *insts = x_calloc(m->nclusters + 1, sizeof(*insts));

	for (size_t i = 0; i < m->npoints; i++) {
		const struct sample_shown_point *p = &m->points[i];
		struct sample_shown_cluster *c = &m->clusters[p->cluster];
		const double cpi = (double)p->cycles / (double)p->instructions;

		c->least = c->points ? fmin(c->least, cpi) : cpi;
		c->most = c->points ? fmax(c->most, cpi) : cpi;
		c->cpi += (double)p->cycles;
		insts[p->cluster] += p->instructions;
		c->points++;
	}
	for (size_t i = 0; i < m->nclusters; i++)
		if (insts[i])
			m->clusters[i].cpi /= (double)insts[i];
	free(insts);
}

/* Makes the estimate from the points, and says where its variance comes from. */
static bool find_errors(struct store *s, struct sample_model *m, struct err *e)
{
	struct estimate_cluster *clusters = x_calloc(m->nclusters + 1, sizeof(*clusters));
	struct estimate_point *points = x_calloc(m->npoints + 1, sizeof(*points));
	double *cycles = x_calloc(3 * (m->npoints + 1), sizeof(*cycles));
	double *low = cycles + m->npoints, *high = low + m->npoints;
	double *shares = x_calloc(m->nclusters + 1, sizeof(*shares));
	uint64_t *extra = x_calloc(m->nclusters + 1, sizeof(*extra)), all = 0;
	const struct estimate_plan plan = { clusters, m->nclusters, points, m->npoints, 0 };
	struct err why = { "" };
	bool ok;

	for (size_t i = 0; i < m->nclusters; i++)
		all += m->clusters[i].instructions;
	for (size_t i = 0; i < m->nclusters; i++) {
		const struct sample_shown_cluster *c = &m->clusters[i];

		clusters[i] =
		    (struct estimate_cluster){ all ? (double)c->instructions / (double)all : 0,
					       max_u64(c->intervals, c->points), c->spread };
	}
	for (size_t i = 0; i < m->npoints; i++) {
		const struct sample_shown_point *p = &m->points[i];

		points[i] = (struct estimate_point){ p->cluster, p->instructions };
		cycles[i] = low[i] = high[i] = (double)p->cycles;
		if (p->has_bracket) {
			low[i] = p->low_cycles;
			high[i] = p->high_cycles;
		}
	}
	ok = estimate_check(&plan, &why) ||
	     err_set(e, "%s: its points do not fit its clusters: %s", store_path(s), why.text);
	if (ok) {
		m->cpi = estimate_per_inst(&plan, cycles);
		m->sampling = m->cpi.has_error ? estimate_relative_error(&m->cpi) : NAN;
		estimate_shares(&plan, cycles, shares);
		m->more = m->cpi.has_error && m->sampling > 0
			      ? estimate_more(&plan, cycles, m->sampling / 2, MORE_MOST, extra)
			      : UINT64_MAX;
		estimate_bracket(&plan, low, cycles, high, &m->cpi);
		for (size_t i = 0; i < m->nclusters; i++) {
			m->clusters[i].share = shares[i];
			m->clusters[i].more = m->more == UINT64_MAX ? 0 : extra[i];
		}
	}
	free(clusters);
	free(points);
	free(cycles);
	free(shares);
	free(extra);
	return ok;
}

bool sample_read(struct store *s, struct sample_model *m, struct err *e)
{
	*m = (struct sample_model){ .sampling = NAN, .more = UINT64_MAX };
	if (!count_of(s, "SELECT count(*) FROM point"))
		return err_set(
		    e,
		    "%s is no sampled profile: 'culprit sample' writes them, unless a program "
		    "is so short that it is simulated whole",
		    store_path(s));
	read_text(s, "SELECT value FROM run WHERE key = 'program'", m->program, sizeof(m->program));
	read_text(s, "SELECT value FROM run WHERE key = 'machine'", m->machine, sizeof(m->machine));
	read_text(s, "SELECT value FROM sampled WHERE key = 'method'", m->method,
		  sizeof(m->method));
	read_text(s, "SELECT value FROM sampled WHERE key = 'warm'", m->warm, sizeof(m->warm));
	m->total = count_of(s, "SELECT value FROM sampled WHERE key = 'total_instructions'");
	m->interval = count_of(s, "SELECT value FROM sampled WHERE key = 'interval'");
	m->settle = count_of(s, "SELECT value FROM sampled WHERE key = 'settle'");
	m->units = count_of(s, "SELECT count(*) FROM sampled_unit");
	if (!read_clusters(s, m, e) || !read_points(s, m, e) || !read_strip(s, m, e)) {
		sample_model_free(m);
		return false;
	}
	sum_clusters(m);
	if (find_errors(s, m, e))
		return true;
	sample_model_free(m);
	return false;
}

void sample_model_free(struct sample_model *m)
{
	free(m->points);
	free(m->clusters);
	free(m->strip);
	*m = (struct sample_model){ .npoints = 0 };
}

size_t sample_cluster_at(const struct sample_model *m, double from, double to, double *share)
{
	double *of = x_calloc(m->nclusters + 1, sizeof(*of)), all = 0;
	size_t best = m->nclusters;

	for (size_t i = 0; i < m->nstrip; i++) {
		const struct sample_strip *r = &m->strip[i];
		const double begin = fmax(from, (double)r->first),
			     end = fmin(to, (double)(r->first + r->count));

		if (end > begin) {
			of[r->cluster] += end - begin;
			all += end - begin;
		}
	}
	for (size_t i = 0; i < m->nclusters; i++)
		if (of[i] > 0 && (best == m->nclusters || of[i] > of[best]))
			best = i;
	*share = best < m->nclusters ? of[best] / all : 0;
	free(of);
	return best;
}

char sample_letter(size_t cluster)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

	return letters[cluster % (sizeof(letters) - 1)];
}

/* SPDX-License-Identifier: MIT */
/*
 * Single clusters beside the truth: what the run saves when a cluster's misses are hits.
 *
 *      Clusters simulated without their misses: 200 of 8,937
 *                             cycles   of saved   median error   within 1   in the end: median error
 *        saved                20,114
 *        net cost             20,090     99.88%              0        99%                          0
 *        cost                 21,300    105.90%              2        40%                          2
 *        saved in the end     20,050     99.68%              0        85%
 *
 * What is saved is counted twice: when the last instruction of the cluster's recovery commits,
 * which is where net cost ends, and at the end of the run. What happens in between is not the
 * cluster's doing, but a consequence of it. The error of a cluster is what a measure says less what
 * was saved. Those with the largest errors are listed.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "util/number.h"
#include "view/model.h"
#include "view/spectrum_elsewhere.h"

bool spectrum_read_clusters(struct store *s, size_t most, struct spectrum_verify *v, struct err *e)
{
	struct store_rows r = store_query(
	    s,
	    "SELECT id, begin, end, size, kind, pattern, last, last_commit, cost, net FROM "
	    "spectrum_cluster ORDER BY id LIMIT ?1",
	    "i", (int64_t)most);

	v->cluster = x_calloc(most + 1, sizeof(*v->cluster));
	while (v->count < most && store_next(&r)) {
		struct spectrum_cluster *c = &v->cluster[v->count++];

		*c = (struct spectrum_cluster){ .id = store_int(&r, 0),
						.begin = (uint64_t)store_int(&r, 1),
						.end = (uint64_t)store_int(&r, 2),
						.size = (uint64_t)store_int(&r, 3),
						.last = (uint64_t)store_int(&r, 6),
						.last_commit = (uint64_t)store_int(&r, 7),
						.cost = store_int(&r, 8),
						.net = store_int(&r, 9) };
		snprintf(c->kind, sizeof(c->kind), "%s", store_shown(&r, 4));
		snprintf(c->pattern, sizeof(c->pattern), "%s", store_shown(&r, 5));
	}
	if (!store_done(&r, e))
		return false;
	v->of = (uint64_t)store_number(
	    s, "SELECT value FROM spectrum WHERE clustering = 0 AND key = 'clusters'", 0);
	v->too_large = (uint64_t)store_number(
	    s, "SELECT value FROM spectrum WHERE clustering = 0 AND key = 'too_large'", 0);
	if (!spectrum_is_there(s))
		return err_set(e, "%s has no spectrum; 'culprit sim --analyze spectrum' makes one",
			       store_path(s));
	if (!v->of)
		return err_set(e, "%s has no cluster of misses that could be simulated",
			       store_path(s));
	return v->count ||
	       err_set(e,
		       "%s holds no clusters with their misses; 'culprit sim --analyze spectrum' "
		       "keeps a sample of them",
		       store_path(s));
}

struct hit *spectrum_read_hits(struct store *s, int64_t cluster, size_t *count, struct err *e)
{
	struct store_rows r = store_query(s,
					  "SELECT begin, kind, address FROM spectrum_cluster_miss "
					  "WHERE cluster = ?1 ORDER BY number",
					  "i", cluster);
	struct hit *hits = NULL;

	*count = 0;
	while (store_next(&r)) {
		const char *kind = store_text(&r, 1);
		unsigned k = 0;

		while (k < MISS_KINDS && (!kind || strcmp(kind, words_misses[k].name) != 0))
			k++;
		if (k == MISS_KINDS)
			continue;
		hits = x_realloc(hits, (*count + 1) * sizeof(*hits));
		hits[(*count)++] = (struct hit){ .begin = (uint64_t)store_int(&r, 0),
						 .addr = (uint64_t)store_int(&r, 2),
						 .kind = (uint8_t)k };
	}
	if (store_done(&r, e))
		return hits;
	free(hits);
	return NULL;
}

void spectrum_verify_free(struct spectrum_verify *v)
{
	free(v->cluster);
}

/* ---- sums ---- */

static int by_number(const void *a, const void *b)
{
	const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

enum measure { NET, COST, IN_THE_END, MEASURES };

/* How a measure compares with what was saved. */
struct compared {
	int64_t sum, median; /* of the errors' sizes */
	int64_t end_median;  /* of those against what was saved in the end */
	size_t exact;	     /* clusters within one cycle */
};

static int64_t says(const struct spectrum_cluster *c, enum measure m)
{
	return m == NET ? c->net : m == COST ? c->cost : c->in_the_end;
}

static int64_t median(int64_t *numbers, size_t count)
{
	qsort(numbers, count, sizeof(*numbers), by_number);
	return count ? numbers[count / 2] : 0;
}

static struct compared compare(const struct spectrum_verify *v, enum measure m)
{
	struct compared out = { 0 };
	int64_t *errors = x_calloc(2 * v->count + 1, sizeof(*errors)), *end = errors + v->count;
	size_t n = 0;

	for (size_t i = 0; i < v->count; i++) {
		const struct spectrum_cluster *c = &v->cluster[i];

		if (!c->simulated)
			continue;
		out.sum += says(c, m);
		errors[n] = llabs(says(c, m) - c->saved);
		end[n] = llabs(says(c, m) - c->in_the_end);
		out.exact += errors[n++] <= 1;
	}
	out.median = median(errors, n);
	out.end_median = median(end, n);
	free(errors);
	return out;
}

static int64_t error_of(const struct spectrum_cluster *c)
{
	return c->net - c->saved;
}

static int by_error(const void *a, const void *b)
{
	const struct spectrum_cluster *const *x = a, *const *y = b;
	const int64_t p = llabs(error_of(*x)), q = llabs(error_of(*y));

	if (p != q)
		return p < q ? 1 : -1;
	return ((*x)->id > (*y)->id) - ((*x)->id < (*y)->id);
}

/* ---- the document ---- */

static void add_sums(struct doc *d, const struct spectrum_verify *v, size_t n, int64_t saved)
{
	static const struct doc_column columns[] = {
		{ .before = "  ", .width = -18 },
		{ .head = "cycles", .format = "%.0f", .width = 12 },
		{ .head = "of saved", .format = "%.2f%%", .factor = 100, .width = 10 },
		{ .head = "median error", .format = "%.0f", .width = 14 },
		{ .head = "within 1", .format = "%.0f%%", .factor = 100, .width = 10 },
		{ .head = "median error in the end", .format = "%.0f", .width = 25 },
	};
	static const char *const names[] = { "net cost", "cost", "saved in the end" };
	static const char *const keys[] = { "net", "cost", "in_the_end" };
	struct doc_table *t =
	    doc_table(d, columns, ARRAY_LEN(columns), &(struct doc_table_options){ .heads = true });

	doc_row(t);
	cell_text(t, "saved");
	cell_integer(t, saved);
	for (int i = 0; i < 4; i++)
		cell_words(t, "");
	doc_object(d, "verify");
	doc_integer(d, "clusters", (int64_t)n);
	doc_integer(d, "saved", saved);
	for (unsigned m = 0; m < MEASURES; m++) {
		const struct compared c = compare(v, m);

		doc_row(t);
		cell_text(t, names[m]);
		cell_integer(t, c.sum);
		cell_real(t, share_of((double)c.sum, (double)saved));
		cell_integer(t, c.median);
		cell_real(t, share_of((double)c.exact, (double)n));
		if (m != IN_THE_END)
			cell_integer(t, c.end_median);
		else
			cell_words(t, "");
		doc_object(d, keys[m]);
		doc_integer(d, "cycles", c.sum);
		doc_integer(d, "median_error", c.median);
		doc_real(d, "exact", share_of((double)c.exact, (double)n));
		doc_integer(d, "median_error_in_the_end", c.end_median);
		doc_close(d);
	}
	doc_close(d);
}

static void add_clusters(struct doc *d, const struct spectrum_verify *v, size_t n, size_t limit)
{
	static const struct doc_column columns[] = {
		{ .key = "begin", .head = "began in cycle", .before = "  ", .width = 14 },
		{ .key = "size", .head = "misses", .width = 7 },
		{ .key = "kind", .head = "kind", .before = "  ", .width = -8 },
		{ .key = "pattern", .head = "pattern", .width = -8 },
		{ .key = "cost", .head = "cost", .format = "%.0f", .width = 7 },
		{ .key = "net", .head = "net", .format = "%.0f", .width = 7 },
		{ .key = "saved", .head = "saved", .format = "%.0f", .width = 7 },
		{ .key = "in_the_end", .head = "in the end", .format = "%.0f", .width = 11 },
	};
	const struct spectrum_cluster **order = x_calloc(n + 1, sizeof(struct spectrum_cluster *));
	size_t k = 0;

	for (size_t i = 0; i < v->count; i++)
		if (v->cluster[i].simulated)
			order[k++] = &v->cluster[i];
	qsort(order, n, sizeof(struct spectrum_cluster *), by_error);
	doc_note(d, TERM_DIM, "\n  Those with the largest errors of net cost:");
	struct doc_table *t = doc_table(
	    d, columns, ARRAY_LEN(columns),
	    &(struct doc_table_options){
		.key = "verified", .heads = true, .limit = limit ? limit : 10, .more = true });
	for (size_t i = 0; i < n; i++) {
		const struct spectrum_cluster *c = order[i];

		doc_row(t);
		cell_integer(t, (int64_t)c->begin);
		cell_integer(t, (int64_t)c->size);
		cell_text(t, c->kind);
		cell_text(t, c->pattern);
		cell_integer(t, c->cost);
		cell_integer(t, c->net);
		cell_integer(t, c->saved);
		cell_integer(t, c->in_the_end);
	}
	free(order);
}

void spectrum_add_verified(struct doc *d, const struct spectrum_verify *v,
			   const struct view_options *o)
{
	int64_t saved = 0;
	size_t n = 0;
	char of[32];

	for (size_t i = 0; i < v->count; i++)
		if (v->cluster[i].simulated) {
			n++;
			saved += v->cluster[i].saved;
		}
	doc_heading(d, "Clusters simulated without their misses: %zu of %s", n,
		    number_commas(v->of, of));
	if (!n)
		return;
	add_sums(d, v, n, saved);
	add_clusters(d, v, n, (size_t)o->limit);
	if (v->too_large)
		doc_note(d, TERM_DIM,
			 "  %" PRIu64 " clusters have too many misses to be simulated so",
			 v->too_large);
}

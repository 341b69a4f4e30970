/* SPDX-License-Identifier: MIT */
/*
 * Pipeline spectroscopy:
 *
 *      hash_join on puzak2007: 2,000,000 instructions in 3,514,000 cycles
 *
 *      The finite cache adder: 1,500,000 cycles, 30.0 per miss
 *        net cost of 38,000 clusters   1,499,000   99.93% …
 *      Clusters of 2 misses: 7,000, by cost in cycles
 *        a spectrogram, and its peaks: 100+15  19.1%  median 114 …
 *      Misses and cycles per miss by size, patterns, overlaps and what the theory predicts,
 *      loads, functions and pairs
 */
#include "util/number.h"
#include "view/spectrum.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/nearest.h"
#include "view/doc.h"
#include "view/model.h"
#include "words/words.h"

#define GRAPH_ROWS 4
#define KS_BAD	   0.07 /* above it the theory's patterns are not those observed */
#define STRONG	   0.05 /* of the adder: such a pair gets a sentence */

static const char *count_text(int64_t n, char *buf)
{
	char digits[32];

	snprintf(buf, 34, "%s%s", n < 0 ? "-" : "",
		 number_commas((uint64_t)(n < 0 ? -n : n), digits));
	return buf;
}

/* ---- the law ---- */

static void law_row(struct doc_table *t, const char *name, int64_t cycles, double share,
		    const char *note)
{
	char text[34];

	doc_row(t);
	cell_text(t, name);
	cell_words(t, count_text(cycles, text));
	if (share != 0)
		cell_real(t, share);
	else
		cell_words(t, "");
	cell_text(t, note);
}

static void add_law(struct doc *d, const struct spectrum_model *m)
{
	static const struct doc_column columns[] = {
		{ .before = "  ", .width = -24 },
		{ .width = 16 },
		{ .format = "%.2f%%", .factor = 100, .width = 9 },
		{ .before = "  ", .width = -60, .ragged = true, .colour = TERM_DIM },
	};
	const double adder = (double)m->adder, insts = (double)m->instructions;
	const double all_misses = (double)(m->misses + m->cut_misses);
	char buf[34];

	doc_line(d, "\nThe finite cache adder", ": %s cycles", count_text(m->adder, buf));
	struct doc_table *t =
	    doc_table(d, columns, ARRAY_LEN(columns), &(struct doc_table_options){ 0 });
	law_row(t, "cycles", m->cycles, 0, NULL);
	law_row(t, "with perfect caches", m->twin_cycles, 0, NULL);
	law_row(t, "adder", m->adder, 1, "the difference: the sum of the next four");
	law_row(t, "net cost of clusters", m->net, share_of((double)m->net, adder), NULL);
	law_row(t, "drift", m->drift, share_of((double)m->drift, adder),
		"lag that changed outside of clusters");
	law_row(t, "head", m->head, share_of((double)m->head, adder),
		"clusters that the region's begin cuts");
	law_row(t, "tail", m->tail, share_of((double)m->tail, adder), "… and its end");
	law_row(t, "cost by the paper", m->cost, share_of((double)m->cost, adder),
		"infimum to supremum; part of no sum");
	if (!m->misses && !m->cut_misses) {
		doc_line(d, NULL, "\nThe run has no miss: nothing to show.");
		return;
	}
	if (insts > 0)
		doc_line(d, NULL,
			 "\n  CPI %.3f = %.3f with perfect caches + %.5f misses an "
			 "instruction * %.1f cycles a miss",
			 (double)m->cycles / insts, (double)m->twin_cycles / insts,
			 all_misses / insts, share_of(adder, all_misses));
}

static void add_misses(struct doc *d, const struct spectrum_model *m)
{
	const struct doc_column columns[] = {
		{ .head = "Misses", .before = "", .width = -14 },
		{ .head = "all", .width = 12 },
		{ .head = m->nlevels > 0 ? m->levels[0].name : NULL, .width = 12 },
		{ .head = m->nlevels > 1 ? m->levels[1].name : NULL,
		  .width = m->nlevels > 1 ? 12 : 0 },
		{ .head = m->nlevels > 2 ? m->levels[2].name : NULL,
		  .width = m->nlevels > 2 ? 12 : 0 },
		{ .head = "wrong path", .format = "%.1f%%", .factor = 100, .width = 11 },
		{ .head = "merged", .width = 10 },
		{ .head = "cycles", .format = "%.1f", .width = 8 },
		{ .head = "queued", .format = "%.1f", .width = 8 },
	};

	if (!m->nkinds)
		return;
	doc_blank(d);
	struct doc_table *t =
	    doc_table(d, columns, ARRAY_LEN(columns), &(struct doc_table_options){ .heads = true });
	for (size_t i = 0; i < m->nkinds; i++) {
		const struct spectrum_kind *k = &m->kinds[i];
		char name[24];

		snprintf(name, sizeof(name), "  %s", k->name);
		doc_row(t);
		cell_text(t, name);
		cell_integer(t, (int64_t)k->misses);
		for (int l = 0; l < SPECTRUM_MODEL_LEVELS; l++)
			cell_integer(t, (int64_t)k->level[l]);
		cell_real(t, share_of((double)k->wrong, (double)k->misses));
		cell_integer(t, (int64_t)k->merged);
		cell_real(t, share_of(k->cycles, (double)k->misses));
		cell_real(t, share_of(k->queue, (double)k->misses));
	}
}

/* ---- spectrograms ---- */

/* Which cycles are drawn: as asked, or from the lowest cost to beyond the last peak that counts. */
static void range_of(const struct spectrogram *g, const struct spectrum_options *so, int64_t *from,
		     int64_t *to)
{
	*from = so->from;
	*to = so->to;
	if (so->zoom)
		return;
	uint64_t seen = 0;

	*from = 0;
	*to = 20;
	for (size_t i = 0; i < g->nbins; i++) {
		seen += g->bins[i].clusters;
		if ((double)seen <= 0.995 * (double)g->clusters || i == 0)
			*to = g->bins[i].cycles;
	}
	for (size_t i = 0; i < g->npeaks; i++)
		if ((double)g->peaks[i].clusters >= 0.01 * (double)g->clusters &&
		    g->peaks[i].sum > *to)
			*to = g->peaks[i].sum;
	*to += *to / 10 + 5;
}

static void add_graph(struct doc *d, const struct spectrogram *g, int64_t from, int64_t to,
		      int width)
{
	static const char *const eighths[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	const int cells = width - 4 > 20 ? width - 4 : 20;
	double *sum = x_calloc((size_t)cells, sizeof(*sum)), most = 0;
	char *line = x_malloc((size_t)cells * 3 + 8);

	for (size_t i = 0; i < g->nbins; i++) {
		const int64_t c = g->bins[i].cycles;

		if (c < from || c >= to)
			continue;
		const size_t at = (size_t)((double)(c - from) * cells / (double)(to - from));
		sum[at] += (double)g->bins[i].clusters;
		most = fmax(most, sum[at]);
	}
	for (int row = GRAPH_ROWS - 1; row >= 0 && most > 0; row--) {
		char *p = line;

		for (int i = 0; i < cells; i++) {
			/* a share by its square root, so that small peaks are seen beside large ones */
			const double full = sqrt(sum[i] / most) * GRAPH_ROWS * 8 - row * 8;
			int eighth = full >= 8 ? 8 : full > 0 ? (int)full : 0;

			if (row == 0 && sum[i] > 0 && eighth == 0)
				eighth = 1;
			p = stpcpy(p, eighths[eighth]);
		}
		doc_note(d, TERM_CYAN, "  %s", line);
	}
	memset(line, ' ', (size_t)cells);
	line[cells] = '\0';
	for (int k = 0; k <= 4; k++) {
		char tick[24];
		const int n = snprintf(tick, sizeof(tick), "%" PRId64, from + (to - from) * k / 4);
		int at = cells * k / 4;

		at = at + n > cells ? cells - n : at;
		memcpy(line + at, tick, (size_t)n);
	}
	doc_note(d, TERM_DIM, "  %s", line);
	free(line);
	free(sum);
}

/* What the theory predicts of a peak: below 0 if it says nothing. */
static double predicted_at(const struct spectrogram *g, int64_t sum)
{
	if (!g->npredicted)
		return -1;
	for (size_t i = 0; i < g->npredicted; i++)
		if (g->predicted[i].cycles == sum)
			return g->predicted[i].share;
	return 0;
}

static void add_peaks(struct doc *d, const struct spectrum_model *m, const struct spectrogram *g,
		      const struct spectrum_options *so, int64_t from, int64_t to)
{
	const struct doc_column columns[] = {
		{ .head = "peak", .before = "  ", .width = -18 },
		{ .head = "area", .format = "%.2f%%", .factor = 100, .width = 8 },
		{ .before = "  ", .width = 20 },
		{ .head = "median", .format = "%.0f", .width = 8 },
		{ .head = "shift", .format = "%+.0f", .width = 7 },
		{ .head = "10%", .format = "%.0f", .width = 7 },
		{ .head = "90%", .format = "%.0f", .width = 7 },
		{ .head = "expected", .width = g->size > 2 && !so->kind && !so->pattern ? 9 : 0 },
		{ .head = "predicted", .format = "%.2f%%", .factor = 100, .width = 10 },
	};
	const bool theory = !so->kind && !so->pattern;
	struct doc_table *t = NULL;
	uint64_t negative = 0;

	for (size_t i = 0; i < g->nbins; i++)
		negative += g->bins[i].cycles < 0 ? g->bins[i].clusters : 0;
	for (size_t i = 0; i < g->npeaks; i++) {
		const struct spectrum_peak *p = &g->peaks[i];
		const double area = share_of((double)p->clusters, (double)g->clusters);
		const double predicted = theory ? predicted_at(g, p->sum) : -1;

		if ((area < 0.005 && predicted < 0.005) || p->sum < from || p->sum > to)
			continue;
		t = t ? t
		      : doc_table(d, columns,
				  ARRAY_LEN(columns) - (g->npredicted && theory ? 0 : 1),
				  &(struct doc_table_options){ .heads = true });
		doc_row(t);
		cell_text(t, p->name);
		cell_real(t, area);
		cell_bar(t, area, TERM_CYAN);
		cell_integer(t, p->median);
		cell_integer(t, p->median - p->sum);
		cell_integer(t, p->low);
		cell_integer(t, p->high);
		int64_t expected;
		if (g->size > 2 && spectrum_position(m, g->size, p, &expected))
			cell_integer(t, expected);
		else
			cell_words(t, "");
		if (g->npredicted && theory)
			cell_real(t, predicted);
	}
	if (negative)
		doc_note(d, TERM_DIM, "  below zero: %.2f%%",
			 100 * share_of((double)negative, (double)g->clusters));
}

static bool is_shown(const struct spectrogram *g, const struct spectrum_options *so)
{
	const size_t pattern = so->pattern ? strlen(so->pattern) : 0;

	if (pattern)
		return g->size == pattern;
	return so->size ? g->size == so->size : g->size <= SPECTRUM_SHOWN;
}

static void add_spectrograms(struct doc *d, const struct spectrum_model *m,
			     const struct spectrum_options *so, const struct view_options *o)
{
	for (size_t i = 0; i < SPECTRUM_LARGEST; i++) {
		const struct spectrogram *g = &m->grams[i];
		int64_t from, to;
		char n[32];

		if (!is_shown(g, so) || !g->clusters)
			continue;
		range_of(g, so, &from, &to);
		doc_heading(
		    d, "Clusters of %u miss%s%s%s%s%s: %s, by %s in cycles%s", g->size,
		    g->size > 1 ? "es" : "", so->pattern ? " " : "", so->pattern ? so->pattern : "",
		    so->kind ? " of kind " : "", so->kind ? so->kind : "",
		    number_commas(g->clusters, n), so->net ? "net cost" : "cost",
		    g->clusters < SPECTRUM_TOO_FEW ? " (too few for shares to mean much)" : "");
		add_graph(d, g, from, to, o->width);
		add_peaks(d, m, g, so, from, to);
	}
}

/* ---- sizes, patterns ---- */

static void add_sizes(struct doc *d, const struct spectrum_model *m, const struct view_options *o)
{
	static const struct doc_column columns[] = {
		{ .head = "Size", .before = "", .width = -10 },
		{ .head = "clusters", .width = 12 },
		{ .head = "misses", .width = 12 },
		{ .head = "share", .format = "%.2f%%", .factor = 100, .width = 8 },
		{ .head = "cost/miss", .format = "%.1f", .width = 10 },
		{ .head = "net/miss", .format = "%.1f", .width = 9 },
		{ .head = "far", .format = "%.1f%%", .factor = 100, .width = 8 },
	};

	if (!m->nsizes)
		return;
	doc_blank(d);
	struct doc_table *t = doc_table(
	    d, columns, ARRAY_LEN(columns),
	    &(struct doc_table_options){
		.heads = true, .limit = (size_t)(o->limit ? o->limit : 10), .more = true });
	for (size_t i = 0; i < m->nsizes; i++) {
		const struct spectrum_size *z = &m->sizes[i];
		char text[40];

		snprintf(text, sizeof(text), "  %" PRIu64 "%s", z->size, z->size > 64 ? " …" : "");
		doc_row(t);
		cell_text(t, text);
		cell_integer(t, (int64_t)z->clusters);
		cell_integer(t, (int64_t)z->misses);
		cell_real(t, share_of((double)z->misses, (double)m->misses));
		cell_real(t, share_of((double)z->cost, (double)z->misses));
		cell_real(t, share_of((double)z->net, (double)z->misses));
		cell_real(t, m->nlevels
				 ? share_of((double)z->level[m->nlevels - 1], (double)z->misses)
				 : 0);
	}
	doc_note(d, TERM_DIM,
		 "  largest cluster: %" PRIu64 " misses; zero net cost: %.2f%% of "
		 "clusters, below zero: %.2f%%",
		 m->largest, 100 * share_of((double)m->zero, (double)m->clusters),
		 100 * share_of((double)m->negative, (double)m->clusters));
}

static void add_patterns(struct doc *d, const struct spectrum_model *m,
			 const struct spectrum_options *so)
{
	static const struct doc_column columns[] = {
		{ .head = "Pattern", .before = "", .width = -10 },
		{ .head = "clusters", .width = 12 },
		{ .head = "observed", .format = "%.3f", .width = 9 },
		{ .head = "predicted", .format = "%.3f", .width = 10 },
		{ .head = "2nd order", .format = "%.3f", .width = 10 },
		{ .head = "with ends", .format = "%.3f", .width = 10 },
		{ .head = "overlap", .format = "%.2f", .width = 8 },
		{ .head = "of it zero", .format = "%.2f", .width = 11 },
	};
	struct doc_table *t = NULL;

	for (size_t i = 0; i < m->npatterns; i++) {
		const struct spectrum_pattern *p = &m->patterns[i];
		char text[24];

		if (p->of < SPECTRUM_TOO_FEW ||
		    (so->size ? p->size != so->size : p->size < 2 || p->size > 3))
			continue;
		if (!t) {
			doc_blank(d);
			t = doc_table(d, columns, ARRAY_LEN(columns),
				      &(struct doc_table_options){ .heads = true });
		}
		snprintf(text, sizeof(text), "  %s", p->text);
		doc_row(t);
		cell_text(t, text);
		cell_integer(t, (int64_t)p->clusters);
		cell_real(t, share_of((double)p->clusters, (double)p->of));
		if (p->predicted >= 0)
			cell_real(t, p->predicted);
		else
			cell_words(t, "");
		if (p->second >= 0)
			cell_real(t, p->second);
		else
			cell_words(t, "");
		if (p->ends >= 0)
			cell_real(t, p->ends);
		else
			cell_words(t, "");
		if (p->size != 2 || !p->clusters) {
			cell_words(t, "");
			cell_words(t, "");
			continue;
		}
		cell_real(t, share_of((double)p->overlapped, (double)p->clusters));
		cell_real(t, share_of((double)p->zero, (double)p->overlapped));
	}
}

/* Names the pattern that the chain predicts worst, of a size for which K-S is bad. */
static void add_break(struct doc *d, const struct spectrum_model *m, unsigned size)
{
	const struct spectrum_pattern *worst = NULL;
	double most = 0;

	for (size_t i = 0; i < m->npatterns; i++) {
		const struct spectrum_pattern *p = &m->patterns[i];
		const double off =
		    fabs(share_of((double)p->clusters, (double)p->of) - p->predicted);

		if (p->size == size && off > most) {
			most = off;
			worst = p;
		}
	}
	if (!worst || m->ks[size] < KS_BAD)
		return;
	char second[96] = "";

	if (m->ks_second[size] >= 0)
		snprintf(second, sizeof(second), "; K-S of second order: %.1f%%, with ends: %.1f%%",
			 100 * m->ks_second[size], 100 * m->ks_ends[size]);
	doc_line(d, NULL, "  size %u: %s breaks the chain, %.3f where %.3f is predicted%s", size,
		 worst->text, share_of((double)worst->clusters, (double)worst->of),
		 worst->predicted, second);
}

static void add_theory(struct doc *d, const struct spectrum_model *m)
{
	char ks[160] = "";
	size_t at = 0;

	if (m->nlevels < 2 || !m->clusters)
		return;
	if (!m->fitted) {
		doc_note(d, TERM_DIM,
			 "\n  too few clusters of two misses (or one level alone) to "
			 "fit the theory");
		return;
	}
	for (size_t k = 2; k < SPECTRUM_LARGEST; k++)
		if (m->ks[k] >= 0 && at < sizeof(ks))
			at += (size_t)snprintf(ks + at, sizeof(ks) - at, "%s size %zu: %.1f%%",
					       at ? "," : "; K-S", k, 100 * m->ks[k]);
	doc_line(d, NULL, "\n  p = %.3f (share of misses that %s serves), a = %.3f%s%s",
		 m->levels[m->nlevels - 1].share, m->levels[m->nlevels - 1].name, m->a,
		 m->a > 1 ? " (neighbours differ more often than chance)" : "", ks);
	for (unsigned k = 2; k < SPECTRUM_LARGEST; k++)
		add_break(d, m, k);
}

/* ---- loads ---- */

static void add_loads(struct doc *d, const struct spectrum_model *m, const struct view_options *o)
{
	static const struct doc_column columns[] = {
		{ .head = "Misses at", .before = "", .width = -32, .name = true },
		{ .head = "kind", .width = -8 },
		{ .head = "misses", .width = 10 },
		{ .head = "net", .format = "%.2f%%", .factor = 100, .width = 8 },
		{ .head = "even", .format = "%.2f%%", .factor = 100, .width = 8 },
		{ .head = "each", .format = "%.1f", .width = 7 },
		{ .head = "alone", .format = "%.0f%%", .factor = 100, .width = 6 },
		{ .head = "hidden", .format = "%.0f%%", .factor = 100, .width = 7 },
		{ .head = "size", .format = "%.1f", .width = 6 },
		{ .before = "  ", .width = -26, .ragged = true, .colour = TERM_DIM },
	};
	struct doc_table *t = NULL;

	for (size_t i = 0; i < m->nloads; i++) {
		const struct spectrum_load *l = &m->loads[i];
		const double n = (double)l->misses, adder = (double)m->adder;
		char place[SPECTRUM_PLACE], text[SPECTRUM_PLACE + 4];

		if (!l->misses)
			continue;
		if (!t) {
			doc_blank(d);
			t = doc_table(d, columns, ARRAY_LEN(columns),
				      &(struct doc_table_options){
					  .heads = true,
					  .limit = (size_t)(o->limit ? o->limit : 10),
					  .more = true });
		}
		spectrum_place(l, place);
		snprintf(text, sizeof(text), "  %s", place);
		doc_row(t);
		cell_text(t, text);
		cell_text(t, l->kind);
		cell_integer(t, (int64_t)l->misses);
		cell_real(t, share_of((double)l->exposed, adder));
		cell_real(t, share_of((double)l->even, adder));
		cell_real(t, share_of((double)l->exposed, n));
		cell_real(t, share_of((double)l->isolated, n));
		cell_real(t, share_of((double)l->hidden, n));
		cell_real(t, share_of((double)l->sizes, n));
		cell_text(t, o->width >= 120 ? l->disasm : NULL);
	}
}

struct place_sum {
	const char *name;
	int line; /* 0: a function */
	int64_t exposed;
	uint64_t misses;
};

static int by_sum(const void *a, const void *b)
{
	const struct place_sum *x = a, *y = b;

	if (x->exposed != y->exposed)
		return x->exposed < y->exposed ? 1 : -1;
	return strcmp(x->name, y->name) ? strcmp(x->name, y->name) : x->line - y->line;
}

/* Sums by function, or by source line. */
static void add_places(struct doc *d, const struct spectrum_model *m, bool lines,
		       const struct view_options *o)
{
	const struct doc_column columns[] = {
		{ .key = lines ? "line" : "function",
		  .head = lines ? "Lines" : "Functions",
		  .before = "  ",
		  .width = -34 },
		{ .key = "misses", .head = "misses", .width = 10 },
		{ .head = "net", .format = "%.2f%%", .factor = 100, .width = 8 },
		{ .key = "net" },
	};
	struct place_sum *sums = x_calloc(m->nloads + 1, sizeof(*sums));
	size_t n = 0;

	for (size_t i = 0; i < m->nloads; i++) {
		const struct spectrum_load *l = &m->loads[i];
		const char *name = lines	 ? (l->file && l->line ? path_name(l->file) : NULL)
				   : l->function ? l->function
						 : "[unknown]";
		size_t k = 0;

		if (!l->misses || !name)
			continue;
		while (k < n &&
		       (strcmp(sums[k].name, name) != 0 || sums[k].line != (lines ? l->line : 0)))
			k++;
		if (k == n)
			sums[n++] = (struct place_sum){ .name = name, .line = lines ? l->line : 0 };
		sums[k].exposed += l->exposed;
		sums[k].misses += l->misses;
	}
	qsort(sums, n, sizeof(*sums), by_sum);
	if (n)
		doc_blank(d);
	struct doc_table *t =
	    doc_table(d, columns, ARRAY_LEN(columns),
		      &(struct doc_table_options){ .key = lines ? "lines" : "functions",
						   .heads = n > 0,
						   .limit = (size_t)(o->limit ? o->limit : 10),
						   .more = true });
	for (size_t i = 0; i < n; i++) {
		char text[300];

		if (lines)
			snprintf(text, sizeof(text), "%s:%d", sums[i].name, sums[i].line);
		else
			snprintf(text, sizeof(text), "%s", sums[i].name);
		doc_row(t);
		cell_text(t, text);
		cell_integer(t, (int64_t)sums[i].misses);
		cell_real(t, share_of((double)sums[i].exposed, (double)m->adder));
		cell_integer(t, sums[i].exposed);
	}
	free(sums);
}

bool spectrum_pair_sentence(const struct spectrum_model *m, const struct spectrum_pair *p,
			    char *text, size_t size)
{
	const uint64_t n = p->overlapped + p->serial;
	char first[SPECTRUM_PLACE], second[SPECTRUM_PLACE], times[NUMBER_COMMAS_BYTES];

	const int64_t net =
	    m->loads[p->first].exposed + (p->first != p->second ? m->loads[p->second].exposed : 0);

	/* Misses that cost next to nothing, as those of stores may, need no advice. */
	if (!spectrum_pair_places(m, p, first, second) || m->adder <= 0 ||
	    (double)net < STRONG * (double)m->adder ||
	    (double)(p->serial_cycles + p->overlapped_cycles) < STRONG * (double)m->adder)
		return false;
	number_commas(n, times);
	if (p->serial > 3 * p->overlapped && p->first == p->second)
		snprintf(text, size,
			 "the misses at %s follow each other (%.0f%% of %s"
			 " in series): a chain, of which only the next address could be "
			 "prefetched",
			 first, 100 * share_of((double)p->serial, (double)n), times);
	else if (p->serial > 3 * p->overlapped)
		snprintf(text, size,
			 "the misses at %s wait for those at %s (%.0f%% of %s"
			 " in series): prefetch the second",
			 second, first, 100 * share_of((double)p->serial, (double)n), times);
	else if (p->overlapped > 3 * p->serial && p->first == p->second)
		snprintf(text, size,
			 "the misses at %s overlap each other (%.0f%% of %s"
			 "): only avoiding most of them saves their latency",
			 first, 100 * share_of((double)p->overlapped, (double)n), times);
	else if (p->overlapped > 3 * p->serial)
		snprintf(text, size,
			 "the misses at %s and %s overlap (%.0f%% of %s"
			 "): avoiding one alone saves little",
			 first, second, 100 * share_of((double)p->overlapped, (double)n), times);
	else
		return false;
	return true;
}

static void add_pairs(struct doc *d, const struct spectrum_model *m, const struct view_options *o)
{
	static const struct doc_column columns[] = {
		{ .head = "Pairs", .before = "", .width = -32, .name = true },
		{ .width = -30, .name = true },
		{ .head = "times", .width = 8 },
		{ .head = "overlap", .format = "%.0f%%", .factor = 100, .width = 7 },
		{ .head = "both", .width = 10 },
		{ .head = "serial", .width = 10 },
	};
	const size_t limit = (size_t)(o->limit ? o->limit : 10);
	struct doc_table *t = NULL;

	for (size_t i = 0; i < m->npairs; i++) {
		const struct spectrum_pair *p = &m->pairs[i];
		char first[SPECTRUM_PLACE], second[SPECTRUM_PLACE], text[SPECTRUM_PLACE + 4];

		if (!spectrum_pair_places(m, p, first, second))
			continue;
		if (!t) {
			doc_blank(d);
			t = doc_table(d, columns, ARRAY_LEN(columns),
				      &(struct doc_table_options){
					  .heads = true, .limit = limit, .more = true });
		}
		snprintf(text, sizeof(text), "  %s", first);
		doc_row(t);
		cell_text(t, text);
		cell_text(t, second);
		cell_integer(t, (int64_t)(p->overlapped + p->serial));
		cell_real(t, share_of((double)p->overlapped, (double)(p->overlapped + p->serial)));
		cell_integer(t, (int64_t)p->overlapped_cycles);
		cell_integer(t, (int64_t)p->serial_cycles);
	}
	for (size_t i = 0; i < m->npairs && i < limit; i++) {
		const struct spectrum_pair *p = &m->pairs[i];
		char text[400];

		if (spectrum_pair_sentence(m, p, text, sizeof(text)))
			doc_sentence(d, "  ", text, 2);
	}
}

/* A load's own spectrogram: the growth of the lag at each of its misses. */
static void add_own(struct doc *d, const struct spectrum_model *m,
		    const struct spectrum_options *so, const struct view_options *o)
{
	for (size_t i = 0; so->load && i < m->nloads; i++) {
		const struct spectrum_load *l = &m->loads[i];
		struct spectrogram own = { .size = 1, .bins = l->bins, .nbins = l->nbins };
		int64_t from, to;
		char place[SPECTRUM_PLACE];

		if (!l->misses)
			continue;
		for (size_t k = 0; k < l->nbins; k++)
			own.clusters += l->bins[k].clusters;
		range_of(&own, so, &from, &to);
		spectrum_place(l, place);
		doc_heading(d, "%s at %s (%s), by what each added to the lag", l->kind, place,
			    l->disasm ? l->disasm : "?");
		add_graph(d, &own, from, to, o->width);
	}
}

/* CSV: the histograms that are shown. */
static void add_csv(struct doc *d, const struct spectrum_model *m,
		    const struct spectrum_options *so)
{
	static const struct doc_column columns[] = { { .csv = "size" },
						     { .csv = "cycles" },
						     { .csv = "clusters" } };
	struct doc_table *t =
	    doc_table(d, columns, ARRAY_LEN(columns), &(struct doc_table_options){ 0 });

	for (size_t i = 0; i < SPECTRUM_LARGEST; i++)
		for (size_t k = 0; is_shown(&m->grams[i], so) && k < m->grams[i].nbins; k++) {
			const struct spectrum_bin *b = &m->grams[i].bins[k];

			if (so->zoom && (b->cycles < so->from || b->cycles >= so->to))
				continue;
			doc_row(t);
			cell_integer(t, m->grams[i].size);
			cell_integer(t, b->cycles);
			cell_integer(t, (int64_t)b->clusters);
		}
}

/* ---- what was asked for ---- */

static bool check_pattern(const struct spectrum_model *m, const char *pattern, struct err *e)
{
	char letters[8] = "";

	for (size_t k = 0; k < m->nlevels; k++)
		strcat(letters, m->levels[k].letter);
	if (!pattern[0] || strlen(pattern) > 5 || strspn(pattern, letters) != strlen(pattern))
		return err_set(e,
			       "--pattern: '%s' is not one to five of the letters %s (where each "
			       "miss was served)",
			       pattern, letters);
	return true;
}

static bool check_kind(const char *kind, struct err *e)
{
	struct nearest near = { .word = kind };

	if (!strcmp(kind, "mixed"))
		return true;
	nearest_try(&near, "mixed");
	for (size_t i = 0; i < MISS_KINDS; i++) {
		if (!strcmp(kind, words_misses[i].name))
			return true;
		nearest_try(&near, words_misses[i].name);
	}
	return err_set(e, "--kind: there are no misses of kind '%s'; the nearest is '%s'", kind,
		       near.best);
}

/* A size or pattern that was asked for must be there. */
static bool check_asked(const struct spectrum_model *m, const struct spectrum_options *so,
			struct err *e)
{
	uint64_t found = 0;

	if (!so->size && !so->pattern && !so->kind)
		return true;
	if (so->size && so->pattern && strlen(so->pattern) != so->size)
		return err_set(e,
			       "--pattern %s is of clusters of %zu misses, not of %" PRIu64
			       "; leave --size out",
			       so->pattern, strlen(so->pattern), so->size);
	for (size_t i = 0; i < SPECTRUM_LARGEST; i++)
		found += is_shown(&m->grams[i], so) ? m->grams[i].clusters : 0;
	if (found || (!m->misses && !so->pattern && !so->kind))
		return true;
	return err_set(e,
		       "the run has no such cluster (%s%s%s%s%s); without --size, --pattern and "
		       "--kind all are shown",
		       so->kind ? "kind " : "", so->kind ? so->kind : "",
		       so->kind && (so->pattern || so->size) ? ", " : "",
		       so->pattern ? "pattern "
		       : so->size  ? "of that size"
				   : "",
		       so->pattern ? so->pattern : "");
}

static void add_all(struct doc *d, const struct spectrum_model *m, const struct view_options *o,
		    const struct spectrum_options *so)
{
	char insts[32], cycles[34];

	doc_line(d, path_name(m->program), " on %s: %s instructions in %s cycles%s", m->machine,
		 number_commas(m->instructions, insts), count_text(m->cycles, cycles),
		 so->right ? "; misses of the right path alone" : "");
	spectrum_values(d, m);
	add_law(d, m);
	if (m->misses || m->cut_misses) {
		add_misses(d, m);
		add_spectrograms(d, m, so, o);
		add_sizes(d, m, o);
		add_patterns(d, m, so);
		add_theory(d, m);
		add_own(d, m, so, o);
		add_loads(d, m, o);
	}
	add_places(d, m, true, o);
	add_places(d, m, false, o);
	add_pairs(d, m, o);
	if (so->compare)
		spectrum_add_compared(d, so->compare, m);
	if (so->verify)
		spectrum_add_verified(d, so->verify, o);
	add_csv(d, m, so);
}

bool view_spectrum(struct store *s, const struct view_options *o, const struct spectrum_options *so,
		   struct err *e)
{
	struct spectrum_model m = { 0 };
	bool ok = spectrum_read(s, so, &m, e);

	ok = ok && (!so->pattern || check_pattern(&m, so->pattern, e)) &&
	     (!so->kind || check_kind(so->kind, e)) && check_asked(&m, so, e) &&
	     (!so->svg || spectrum_draw(&m, so, e));
	if (ok) {
		struct doc *d = doc_new();

		add_all(d, &m, o, so);
		ok = doc_print(d, o, e);
		doc_free(d);
	}
	spectrum_free(&m);
	return ok;
}

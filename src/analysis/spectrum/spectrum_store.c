/* SPDX-License-Identifier: MIT */
/*
 * Writes sums and histograms as rows of the store: totals, sizes, spectrograms and their peaks,
 * patterns, overlaps and the theory's predictions for them, loads and pairs. Once for each
 * clustering.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/spectrum/spectrum.h"
#include "store/store.h"

/* The letter of a level: H and M if there are two, as in the paper; L is one between them. */
static char level_letter(const struct spectrum *s, unsigned k)
{
	return k == 0 ? 'H' : k + 1 == s->nlevels ? 'M' : 'L';
}

static const char *kind_name(unsigned kind)
{
	return kind == KIND_MIXED ? "mixed" : words_misses[kind].name;
}

/* The pattern of bin_key as text. */
static void pattern_text(const struct spectrum *s, unsigned size, unsigned pattern, char *text)
{
	size = size > SPECTRUM_PATTERNS ? 0 : size;
	for (unsigned i = 0; i < size; i++)
		text[i] = level_letter(s, pattern >> 2 * (size - 1 - i) & 3);
	text[size] = '\0';
}

/* The index of a bin_key's pattern in the numbering of theory_levels. */
static size_t pattern_index(const struct spectrum *s, unsigned size, unsigned pattern)
{
	size_t index = 0;
	for (unsigned i = size; i-- > 0;)
		index = index * s->nlevels + (pattern >> 2 * i & 3);
	return index;
}

struct out {
	struct spectrum *s;
	const struct clusters *c;
	int64_t clustering;
	struct store *store;
	struct err *e;
	bool ok;
	const struct tally_entry *bins; /* sorted */
	size_t nbins;
};

#define PUT(o, table, types, ...)                                                                  \
	((o)->ok = (o)->ok && store_insert((o)->store, (o)->e, table, types, __VA_ARGS__))

static void put_total(struct out *o, const char *key, int64_t value)
{
	PUT(o, "spectrum", "isi", o->clustering, key, value);
}

static void put_totals(struct out *o)
{
	const struct clusters *c = o->c;
	put_total(o, "cycles", (int64_t)o->s->cycles);
	put_total(o, "twin_cycles", (int64_t)o->s->cycles - c->adder);
	put_total(o, "adder", c->adder);
	put_total(o, "cost", c->cost);
	put_total(o, "net", c->net);
	put_total(o, "drift", c->drift);
	put_total(o, "head", c->head);
	put_total(o, "tail", c->tail);
	put_total(o, "misses", (int64_t)c->misses);
	put_total(o, "clusters", (int64_t)c->clusters);
	put_total(o, "cut_clusters", (int64_t)c->cut);
	put_total(o, "cut_misses", (int64_t)c->cut_misses);
	put_total(o, "merged", (int64_t)c->merged);
	put_total(o, "largest", (int64_t)c->largest);
	put_total(o, "zero", (int64_t)c->zero);
	put_total(o, "negative", (int64_t)c->negative);
	put_total(o, "longer_than_kept", (int64_t)c->longer_than_kept);
	put_total(o, "pairs_left", (int64_t)c->loads.pairs_left);
	if (c->samples)
		put_total(o, "too_large", (int64_t)c->samples->too_large);
}

static void put_sizes(struct out *o)
{
	for (unsigned row = 1; row < SIZE_ROWS; row++) {
		const struct size_sums *z = &o->c->sizes[row];
		if (z->clusters)
			PUT(o, "spectrum_size", "iiiiiiiii", o->clustering,
			    (int64_t)size_of_row(row), (int64_t)z->clusters, (int64_t)z->misses,
			    (int64_t)z->level[0], (int64_t)z->level[1], (int64_t)z->level[2],
			    z->cost, z->net);
	}
}

static void put_bins(struct out *o)
{
	for (size_t i = 0; i < o->nbins; i++) {
		const struct bin_parts b = bin_parts(o->bins[i].key);
		char pattern[SPECTRUM_PATTERNS + 1];
		pattern_text(o->s, b.size, b.pattern, pattern);
		PUT(o, "spectrum_bin", "iiissii", o->clustering, (int64_t)b.measure,
		    (int64_t)b.size, kind_name(b.kind), pattern, bin_cycles(b.bin),
		    (int64_t)o->bins[i].count);
	}
}

/* ---- peaks ---- */

struct bin {
	int64_t cycles;
	uint64_t count;
};

/* The lowest cost that at least this share of the clusters does not exceed. */
static int64_t percentile(const struct bin *bins, size_t count, uint64_t all, double share)
{
	uint64_t seen = 0;
	for (size_t i = 0; i < count; i++) {
		seen += bins[i].count;
		if ((double)seen >= share * (double)all)
			return bins[i].cycles;
	}
	return 0;
}

/* Writes the peaks of one spectrogram; bins are ascending. */
static void put_peaks(struct out *o, int64_t measure, unsigned size, const char *kind,
		      const char *pattern, const struct bin *bins, size_t count)
{
	const struct spectrum *s = o->s;
	size_t nsums, at = 0;
	struct theory_sum *sums = theory_sums(s->latency, s->nlevels, size, &nsums);
	while (at < count) {
		const size_t peak = theory_nearest(sums, nsums, bins[at].cycles), from = at;
		uint64_t all = 0;
		char name[64];
		for (; at < count && theory_nearest(sums, nsums, bins[at].cycles) == peak; at++)
			all += bins[at].count;
		theory_sum_name(&sums[peak], s->latency, s->nlevels, name, sizeof(name));
		PUT(o, "spectrum_peak", "iiissisiiii", o->clustering, measure, (int64_t)size, kind,
		    pattern, (int64_t)sums[peak].cycles, name, (int64_t)all,
		    percentile(bins + from, at - from, all, 0.5),
		    percentile(bins + from, at - from, all, 0.1),
		    percentile(bins + from, at - from, all, 0.9));
	}
	free(sums);
}

static int by_cycles(const void *a, const void *b)
{
	const struct bin *x = a, *y = b;
	return (x->cycles > y->cycles) - (x->cycles < y->cycles);
}

/* The bins of a size, of one kind and of one pattern (-1: all), ascending; the caller frees. */
static struct bin *select_bins(const struct out *o, unsigned measure, unsigned size, int kind,
			       int pattern, size_t *count)
{
	struct bin *out = x_malloc((o->nbins + 1) * sizeof(*out));
	size_t n = 0, joined = 0;
	for (size_t i = 0; i < o->nbins; i++) {
		const struct bin_parts b = bin_parts(o->bins[i].key);
		if (b.measure == measure && b.size == size &&
		    (kind < 0 || b.kind == (unsigned)kind) &&
		    (pattern < 0 || b.pattern == (unsigned)pattern))
			out[n++] = (struct bin){ bin_cycles(b.bin), o->bins[i].count };
	}
	qsort(out, n, sizeof(*out), by_cycles);
	for (size_t i = 0; i < n; i++) {
		if (joined && out[joined - 1].cycles == out[i].cycles)
			out[joined - 1].count += out[i].count;
		else
			out[joined++] = out[i];
	}
	*count = joined;
	return out;
}

static void put_peaks_of(struct out *o, unsigned measure, unsigned size, int kind, int pattern)
{
	char text[SPECTRUM_PATTERNS + 1] = "";
	size_t n;
	struct bin *bins = select_bins(o, measure, size, kind, pattern, &n);
	if (pattern >= 0)
		pattern_text(o->s, size, (unsigned)pattern, text);
	put_peaks(o, measure, size, kind < 0 ? "" : kind_name((unsigned)kind), text, bins, n);
	free(bins);
}

static void put_all_peaks(struct out *o)
{
	for (unsigned measure = 0; measure < MEASURES; measure++)
		for (unsigned size = 1; size <= SPECTRUM_SIZES; size++) {
			bool kinds[MISS_KINDS + 1] = { false };
			bool patterns[1 << 2 * SPECTRUM_PATTERNS] = { false };
			for (size_t i = 0; i < o->nbins; i++) {
				const struct bin_parts b = bin_parts(o->bins[i].key);
				if (b.size != size)
					continue;
				kinds[b.kind] = true;
				patterns[b.pattern] = size <= SPECTRUM_PATTERNS;
			}
			put_peaks_of(o, measure, size, -1, -1);
			for (int k = 0; k <= MISS_KINDS; k++)
				if (kinds[k])
					put_peaks_of(o, measure, size, k, -1);
			for (int p = 0; p < 1 << 2 * SPECTRUM_PATTERNS; p++)
				if (patterns[p])
					put_peaks_of(o, measure, size, -1, p);
		}
}

/* ---- theory ---- */

/* How many clusters of a size have each pattern; the caller frees. */
static uint64_t *count_patterns(const struct out *o, unsigned size, uint64_t *all)
{
	uint64_t *counts = x_calloc(theory_patterns(o->s->nlevels, size), sizeof(*counts));
	*all = 0;
	for (size_t i = 0; i < o->nbins; i++) {
		const struct bin_parts b = bin_parts(o->bins[i].key);
		if (b.measure == MEASURE_COST && b.size == size) {
			counts[pattern_index(o->s, size, b.pattern)] += o->bins[i].count;
			*all += o->bins[i].count;
		}
	}
	return counts;
}

/* Overlap of a pattern of two: the area below the midpoint of the larger latency and the sum. */
struct overlap {
	uint64_t all, below, zero;
};

static struct overlap overlap_of(const struct out *o, unsigned measure, unsigned i, unsigned j)
{
	const uint32_t *latency = o->s->latency;
	const int64_t larger = latency[i > j ? i : j], sum = (int64_t)latency[i] + latency[j];
	struct overlap v = { 0 };
	size_t n;
	struct bin *bins = select_bins(o, measure, 2, -1, (int)(i << 2 | j), &n);
	for (size_t k = 0; k < n; k++) {
		v.all += bins[k].count;
		v.below += 2 * bins[k].cycles < larger + sum ? bins[k].count : 0;
		/* at least as near to zero as to the nearest level's latency */
		v.zero += 2 * bins[k].cycles <= (int64_t)latency[0] ? bins[k].count : 0;
	}
	free(bins);
	return v;
}

static void put_predicted(struct out *o, unsigned measure, const struct theory *t)
{
	for (unsigned size = 2; size <= SPECTRUM_SIZES; size++) {
		size_t n;
		struct theory_cost *costs = theory_spectrogram(t, size, &n);
		for (size_t i = 0; i < n; i++)
			PUT(o, "spectrum_predicted", "iiiid", o->clustering, (int64_t)measure,
			    (int64_t)size, (int64_t)costs[i].cycles, costs[i].share);
		free(costs);
	}
}

static void put_pattern(struct out *o, unsigned size, const uint8_t *levels, uint64_t clusters,
			double predicted, bool fitted)
{
	char text[SPECTRUM_PATTERNS + 1] = "";
	struct overlap v[MEASURES] = { { 0 } };
	for (unsigned k = 0; k < size; k++)
		text[k] = level_letter(o->s, levels[k]);
	for (unsigned m = 0; size == 2 && m < MEASURES; m++)
		v[m] = overlap_of(o, m, levels[0], levels[1]);
	if (fitted)
		PUT(o, "spectrum_pattern", "iisidiiii", o->clustering, (int64_t)size, text,
		    (int64_t)clusters, predicted, (int64_t)v[0].below, (int64_t)v[0].zero,
		    (int64_t)v[1].below, (int64_t)v[1].zero);
	else
		PUT(o, "spectrum_pattern", "iisiniiii", o->clustering, (int64_t)size, text,
		    (int64_t)clusters, (int64_t)v[0].below, (int64_t)v[0].zero, (int64_t)v[1].below,
		    (int64_t)v[1].zero);
}

/* Writes the patterns of every size, with the theory's predictions if it could be fitted. */
static void put_patterns(struct out *o, const struct theory *t, bool fitted)
{
	for (unsigned size = 1; size <= SPECTRUM_PATTERNS; size++) {
		const size_t n = theory_patterns(o->s->nlevels, size);
		uint64_t all, *counts = count_patterns(o, size, &all);
		double *observed = x_calloc(n, sizeof(*observed));
		double *predicted = x_calloc(n, sizeof(*predicted));
		char key[8];
		for (size_t i = 0; all && i < n; i++) {
			uint8_t levels[SPECTRUM_SIZES];
			theory_levels(o->s->nlevels, size, i, levels);
			observed[i] = (double)counts[i] / (double)all;
			predicted[i] = fitted ? theory_pattern(t, levels, size) : 0;
			put_pattern(o, size, levels, counts[i], predicted[i], fitted);
		}
		snprintf(key, sizeof(key), "ks%u", size);
		if (fitted && size >= 2 && all >= SPECTRUM_FEW)
			PUT(o, "spectrum", "isd", o->clustering, key,
			    theory_ks(observed, predicted, n));
		free(predicted);
		free(observed);
		free(counts);
	}
}

/* The shares of a size's patterns; NULL if there are too few clusters. The caller frees. */
static double *shares_of(const struct out *o, unsigned size)
{
	const size_t n = theory_patterns(o->s->nlevels, size);
	uint64_t all, *counts = count_patterns(o, size, &all);
	double *shares = all >= SPECTRUM_FEW ? x_calloc(n, sizeof(*shares)) : NULL;
	for (size_t i = 0; shares && i < n; i++)
		shares[i] = (double)counts[i] / (double)all;
	free(counts);
	return shares;
}

static void put_ks(struct out *o, unsigned size, const char *chain, const double *observed,
		   const double *predicted)
{
	char key[16];
	snprintf(key, sizeof(key), "ks%u_%s", size, chain);
	if (observed)
		PUT(o, "spectrum", "isd", o->clustering, key,
		    theory_ks(observed, predicted, theory_patterns(o->s->nlevels, size)));
}

/* Writes what the other chains predict, from clusters of two and three. */
static void put_second(struct out *o, const struct theory *t)
{
	double *pairs = shares_of(o, 2), *triples = shares_of(o, 3);
	for (unsigned size = 3; pairs && triples && size <= SPECTRUM_PATTERNS; size++) {
		const size_t n = theory_patterns(t->nlevels, size);
		double *observed = shares_of(o, size), *second = x_calloc(2 * n, sizeof(*second));
		double *ends = second + n;
		char text[SPECTRUM_PATTERNS + 1];
		for (size_t i = 0; i < n; i++) {
			uint8_t levels[SPECTRUM_SIZES];
			theory_levels(t->nlevels, size, i, levels);
			second[i] = theory_second(t, pairs, triples, levels, size);
			ends[i] = theory_ends(t, triples, levels, size);
			for (unsigned k = 0; k < size; k++)
				text[k] = level_letter(o->s, levels[k]);
			text[size] = '\0';
			PUT(o, "spectrum_second", "iisdd", o->clustering, (int64_t)size, text,
			    second[i], ends[i]);
		}
		put_ks(o, size, "second", observed, second);
		put_ks(o, size, "ends", observed, ends);
		free(second);
		free(observed);
	}
	free(triples);
	free(pairs);
}

static void put_theory(struct out *o)
{
	const struct spectrum *s = o->s;
	struct theory t = { .nlevels = s->nlevels };
	double pairs[SPECTRUM_LEVELS * SPECTRUM_LEVELS] = { 0 };
	uint64_t all, *counts = count_patterns(o, 2, &all);
	memcpy(t.latency, s->latency, sizeof(t.latency));
	for (unsigned k = 0; k < s->nlevels; k++)
		t.p[k] = o->c->misses ? (double)o->c->level[k] / (double)o->c->misses : 0;
	for (unsigned i = 0; i < s->nlevels * s->nlevels; i++)
		pairs[i] = all ? (double)counts[i] / (double)all : 0;
	free(counts);
	const bool fitted = all >= SPECTRUM_FEW && theory_fit(t.p, s->nlevels, pairs, &t.a);
	for (unsigned k = 0; k < s->nlevels; k++)
		PUT(o, "spectrum_level", "iissiid", o->clustering, (int64_t)k,
		    (char[]){ level_letter(s, k), '\0' },
		    s->level[k] == LEVEL_L2    ? "L2"
		    : s->level[k] == LEVEL_LLC ? "LLC"
					       : "memory",
		    (int64_t)s->latency[k], (int64_t)o->c->level[k], t.p[k]);
	if (fitted)
		PUT(o, "spectrum", "isd", o->clustering, "a", t.a);
	put_patterns(o, &t, fitted);
	if (fitted)
		put_second(o, &t);
	for (unsigned measure = 0; fitted && measure < MEASURES; measure++) {
		for (unsigned i = 0; i < s->nlevels; i++)
			for (unsigned j = 0; j < s->nlevels; j++) {
				const struct overlap v = overlap_of(o, measure, i, j);
				t.overlap[i][j] = v.all ? (double)v.below / (double)v.all : 0;
			}
		put_predicted(o, measure, &t);
	}
}

/* ---- loads ---- */

static void put_loads(struct out *o)
{
	const struct loads *l = &o->c->loads;
	for (size_t i = 0; i < l->nloads; i++) {
		const struct load *p = &l->load[i];
		PUT(o, "spectrum_load", "iiisiiiiiiiii", o->clustering, (int64_t)i, (int64_t)p->pc,
		    words_misses[p->kind].name, (int64_t)p->misses[0], (int64_t)p->misses[1],
		    (int64_t)p->misses[2], (int64_t)p->wrong, (int64_t)p->isolated,
		    (int64_t)p->hidden, (int64_t)p->sizes, p->even, p->exposed);
	}
	struct tally_entry *bins = tally_sorted(&l->bins);
	for (size_t i = 0; i < l->bins.used; i++)
		PUT(o, "spectrum_load_bin", "iiii", o->clustering, (int64_t)(bins[i].key >> 16),
		    bin_cycles((int16_t)(uint16_t)bins[i].key), (int64_t)bins[i].count);
	free(bins);
	for (size_t i = 0; i < l->npairs; i++) {
		const struct load_pair *p = &l->pair[i];
		PUT(o, "spectrum_pair", "iiiiiii", o->clustering, (int64_t)p->first,
		    (int64_t)p->second, (int64_t)p->overlapped, (int64_t)p->serial,
		    (int64_t)p->overlapped_cycles, (int64_t)p->serial_cycles);
	}
}

static bool put_samples(struct spectrum *s, struct store *store, struct err *e)
{
	bool ok = true;
	samples_sort(&s->samples);
	for (size_t i = 0; i < s->samples.count; i++) {
		const struct sampled *c = &s->samples.at[i];
		char pattern[SPECTRUM_PATTERNS + 1];
		pattern_text(s, (unsigned)c->size, c->pattern, pattern);
		ok = ok && store_insert(store, e, "spectrum_cluster", "iiiissiiiiii", (int64_t)i,
					(int64_t)c->begin, (int64_t)c->end, (int64_t)c->size,
					kind_name(c->kind), pattern, (int64_t)c->infimum,
					(int64_t)c->supremum, (int64_t)c->last,
					(int64_t)c->last_commit, c->cost, c->net);
		for (size_t k = 0; k < c->size; k++) {
			const struct hit *m = &c->misses[k];
			ok = ok && store_insert(store, e, "spectrum_cluster_miss", "iiisi",
						(int64_t)i, (int64_t)k, (int64_t)m->begin,
						words_misses[m->kind].name, (int64_t)m->addr);
		}
	}
	return ok;
}

static bool put_misses(const struct spectrum *s, struct store *store, struct err *e)
{
	bool ok = true;
	for (unsigned kind = 0; kind < MISS_KINDS; kind++)
		for (unsigned k = 0; k < s->nlevels; k++) {
			const struct miss_sums *m = &s->sums[kind][k];
			if (m->misses)
				ok = ok && store_insert(store, e, "spectrum_miss", "siiiiiii",
							words_misses[kind].name, (int64_t)k,
							(int64_t)m->misses, (int64_t)m->wrong,
							(int64_t)m->cycles, (int64_t)m->queue,
							(int64_t)m->merged, (int64_t)m->used);
		}
	return ok;
}

bool spectrum_store(struct spectrum *s, struct store *store, struct err *e)
{
	bool ok = put_misses(s, store, e) && put_samples(s, store, e);
	for (unsigned k = 0; ok && k < CLUSTERINGS; k++) {
		struct tally_entry *bins = tally_sorted(&s->clusters[k].bins);
		struct out o = { .s = s,
				 .c = &s->clusters[k],
				 .clustering = k,
				 .store = store,
				 .e = e,
				 .ok = true,
				 .bins = bins,
				 .nbins = s->clusters[k].bins.used };
		put_totals(&o);
		put_sizes(&o);
		put_bins(&o);
		put_all_peaks(&o);
		put_theory(&o);
		put_loads(&o);
		free(bins);
		ok = o.ok;
	}
	return ok;
}

/* SPDX-License-Identifier: MIT */
/*
 * What a spectrogram should look like (puzak2007 sections 5 to 8, appendix A): where its peaks can
 * be, and how patterns and costs of large clusters follow from those of two misses. Pure functions
 * of a few numbers.
 *
 * A level is where a miss was served, 0 the nearest; with two of them they are the paper's hit (H)
 * and miss (M) of the L2. A pattern is the levels of a cluster's misses in order.
 */
#ifndef ANALYSIS_SPECTRUM_THEORY_H
#define ANALYSIS_SPECTRUM_THEORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPECTRUM_LEVELS	  3
#define SPECTRUM_SIZES	  6   /* sizes with a spectrogram of their own */
#define SPECTRUM_PATTERNS 5   /* largest clusters whose patterns are kept */
#define SPECTRUM_FEW	  200 /* clusters below which shares mean nothing */

struct theory {
	unsigned nlevels;
	double p[SPECTRUM_LEVELS]; /* share of all misses that each level serves */
	double a; /* 1 - correlation of neighbours; above 1: they differ more than by chance */
	uint32_t latency[SPECTRUM_LEVELS];
	/* Probability that the second of two misses overlaps the first. */
	double overlap[SPECTRUM_LEVELS][SPECTRUM_LEVELS];
};

/* How many patterns there are: nlevels^size. */
size_t theory_patterns(unsigned nlevels, unsigned size);
/* The levels of pattern number `index`: the digits of index, the first miss's the highest. */
void theory_levels(unsigned nlevels, unsigned size, size_t index, uint8_t levels[]);

/* P(j|i) = (1 - a) [i = j] + a p_j: figure 11 for any number of levels. */
double theory_step(const struct theory *t, unsigned i, unsigned j);
double theory_pattern(const struct theory *t, const uint8_t levels[], unsigned size);
/*
 * Fits a to the shares of pairs, by least squares over all nlevels^2 of them; pairs is indexed as
 * in theory_levels. False if nothing can be fitted because there is only one level.
 */
bool theory_fit(const double *p, unsigned nlevels, const double *pairs, double *a);
/*
 * The share of a pattern of three or more by a chain of second order: its first two misses as the
 * pairs of clusters of two, each further one given the two before it, as in clusters of three.
 * pairs and triples are shares, indexed as in theory_levels. After two misses that no cluster of
 * three has, the first order's step.
 */
double theory_second(const struct theory *t, const double *pairs, const double *triples,
		     const uint8_t levels[], unsigned size);
/*
 * The same by a chain of first order that has ends: the first miss, the steps up to the last miss
 * but one, and the step to the last miss are those of the first miss, the first step and the last
 * step of clusters of three. A cluster ends because nothing follows its last miss, which is
 * therefore no miss like the others.
 */
double theory_ends(const struct theory *t, const double *triples, const uint8_t levels[],
		   unsigned size);
/* Kolmogorov-Smirnov: the largest difference of two cumulative distributions. */
double theory_ks(const double *observed, const double *predicted, size_t count);

struct theory_cost {
	uint32_t cycles;
	double share;
};
/*
 * The costs of a pattern by the trees of figure 13: neighbours overlap with the probability of
 * their pair, a run of overlapped misses costs its largest latency, runs add up. At most
 * 2^(size - 1), in ascending order, shares add up to 1. Returns how many.
 */
size_t theory_tree(const struct theory *t, const uint8_t levels[], unsigned size,
		   struct theory_cost out[1 << (SPECTRUM_SIZES - 1)]);
/* The predicted spectrogram of a size, ascending; the caller frees. */
struct theory_cost *theory_spectrogram(const struct theory *t, unsigned size, size_t *count);

/* A cost that a cluster can have: a number of exposed misses at each level (eq. 5). */
struct theory_sum {
	uint32_t cycles;
	uint8_t terms[SPECTRUM_LEVELS];
};
/* All possible sums, zero included, ascending; of equal ones the one with the fewest terms comes
 * first. There are C(size + nlevels, size). The caller frees. */
struct theory_sum *theory_sums(const uint32_t *latency, unsigned nlevels, unsigned size,
			       size_t *count);
/* "100+15"; "0" */
void theory_sum_name(const struct theory_sum *s, const uint32_t *latency, unsigned nlevels,
		     char *text, size_t size_bytes);
/* The index of the sum nearest to a cost; of two equally near ones the smaller. */
size_t theory_nearest(const struct theory_sum *sums, size_t count, int64_t cost);

#endif

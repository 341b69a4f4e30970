/* SPDX-License-Identifier: MIT */
/*
 * Positions of peaks, and predicted patterns and costs. Two slips of the paper are corrected: its
 * generating function has (1 - p)^y where (1 - ap)^y is meant, and its HMMMMH lacks a factor
 * (1 - a + ap).
 */
#include "analysis/spectrum/theory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "util/util.h"

size_t theory_patterns(unsigned nlevels, unsigned size)
{
	size_t n = 1;
	while (size--)
		n *= nlevels;
	return n;
}

void theory_levels(unsigned nlevels, unsigned size, size_t index, uint8_t levels[])
{
	for (unsigned i = size; i-- > 0; index /= nlevels)
		levels[i] = (uint8_t)(index % nlevels);
}

double theory_step(const struct theory *t, unsigned i, unsigned j)
{
	return (i == j ? 1 - t->a : 0) + t->a * t->p[j];
}

double theory_pattern(const struct theory *t, const uint8_t levels[], unsigned size)
{
	double p = t->p[levels[0]];
	for (unsigned i = 1; i < size; i++)
		p *= theory_step(t, levels[i - 1], levels[i]);
	return p;
}

bool theory_fit(const double *p, unsigned nlevels, const double *pairs, double *a)
{
	double above = 0, below = 0;
	for (unsigned i = 0; i < nlevels; i++)
		for (unsigned j = 0; j < nlevels; j++) {
			const double same = i == j ? p[i] : 0, slope = p[i] * p[j] - same;
			above += slope * (pairs[i * nlevels + j] - same);
			below += slope * slope;
		}
	if (below <= 0)
		return false;
	*a = above / below;
	return true;
}

double theory_second(const struct theory *t, const double *pairs, const double *triples,
		     const uint8_t levels[], unsigned size)
{
	const unsigned n = t->nlevels;
	double p = pairs[levels[0] * n + levels[1]];
	for (unsigned i = 2; i < size; i++) {
		const double *next = &triples[(levels[i - 2] * n + levels[i - 1]) * n];
		double all = 0;
		for (unsigned k = 0; k < n; k++)
			all += next[k];
		p *= all > 0 ? next[levels[i]] / all : theory_step(t, levels[i - 1], levels[i]);
	}
	return p;
}

/* Of clusters of three: how many begin with i (j < 0) or with i and j; or end with i and j. */
static double begins(const double *triples, unsigned n, unsigned i, int j)
{
	double sum = 0;
	for (unsigned b = 0; b < n; b++)
		for (unsigned c = 0; c < n; c++)
			sum += j < 0 || b == (unsigned)j ? triples[(i * n + b) * n + c] : 0;
	return sum;
}

static double ends(const double *triples, unsigned n, unsigned i, int j)
{
	double sum = 0;
	for (unsigned a = 0; a < n; a++)
		for (unsigned c = 0; c < n; c++)
			sum += j < 0 || c == (unsigned)j ? triples[(a * n + i) * n + c] : 0;
	return sum;
}

double theory_ends(const struct theory *t, const double *triples, const uint8_t levels[],
		   unsigned size)
{
	const unsigned n = t->nlevels;
	double p = begins(triples, n, levels[0], -1);
	for (unsigned i = 1; i < size; i++) {
		const unsigned from = levels[i - 1], to = levels[i];
		const bool last = i + 1 == size;
		const double all = last ? ends(triples, n, from, -1) : begins(triples, n, from, -1);
		const double some =
		    last ? ends(triples, n, from, (int)to) : begins(triples, n, from, (int)to);
		p *= all > 0 ? some / all : theory_step(t, from, to);
	}
	return p;
}

double theory_ks(const double *observed, const double *predicted, size_t count)
{
	double sum = 0, most = 0;
	for (size_t i = 0; i < count; i++) {
		sum += observed[i] - predicted[i];
		most = fmax(most, fabs(sum));
	}
	return most;
}

static int by_cycles(const void *a, const void *b)
{
	const struct theory_cost *x = a, *y = b;
	return (x->cycles > y->cycles) - (x->cycles < y->cycles);
}

/* Sorts costs and joins equal ones; returns how many are left. */
static size_t join_costs(struct theory_cost *c, size_t count)
{
	size_t n = 0;
	qsort(c, count, sizeof(*c), by_cycles);
	for (size_t i = 0; i < count; i++) {
		if (n && c[n - 1].cycles == c[i].cycles)
			c[n - 1].share += c[i].share;
		else
			c[n++] = c[i];
	}
	return n;
}

size_t theory_tree(const struct theory *t, const uint8_t levels[], unsigned size,
		   struct theory_cost out[1 << (SPECTRUM_SIZES - 1)])
{
	const unsigned leaves = 1u << (size - 1);
	for (unsigned leaf = 0; leaf < leaves; leaf++) { /* bit i: miss i + 1 overlaps miss i */
		uint32_t sum = 0, run = t->latency[levels[0]];
		double share = 1;
		for (unsigned i = 0; i + 1 < size; i++) {
			const double o = t->overlap[levels[i]][levels[i + 1]];
			const uint32_t next = t->latency[levels[i + 1]];
			if (leaf >> i & 1) {
				share *= o;
				run = next > run ? next : run;
			} else {
				share *= 1 - o;
				sum += run;
				run = next;
			}
		}
		out[leaf] = (struct theory_cost){ sum + run, share };
	}
	return join_costs(out, leaves);
}

struct theory_cost *theory_spectrogram(const struct theory *t, unsigned size, size_t *count)
{
	const size_t patterns = theory_patterns(t->nlevels, size);
	struct theory_cost *all = x_malloc((patterns << (size - 1)) * sizeof(*all));
	size_t n = 0;
	for (size_t i = 0; i < patterns; i++) {
		struct theory_cost tree[1 << (SPECTRUM_SIZES - 1)];
		uint8_t levels[SPECTRUM_SIZES];
		theory_levels(t->nlevels, size, i, levels);
		const double share = theory_pattern(t, levels, size);
		const size_t leaves = theory_tree(t, levels, size, tree);
		for (size_t k = 0; k < leaves; k++)
			all[n++] = (struct theory_cost){ tree[k].cycles, share * tree[k].share };
	}
	*count = join_costs(all, n);
	return all;
}

static unsigned terms_of(const struct theory_sum *s)
{
	unsigned n = 0;
	for (unsigned i = 0; i < SPECTRUM_LEVELS; i++)
		n += s->terms[i];
	return n;
}

static int by_sum(const void *a, const void *b)
{
	const struct theory_sum *x = a, *y = b;
	if (x->cycles != y->cycles)
		return x->cycles < y->cycles ? -1 : 1;
	return (int)terms_of(x) - (int)terms_of(y);
}

struct theory_sum *theory_sums(const uint32_t *latency, unsigned nlevels, unsigned size,
			       size_t *count)
{
	const size_t most = theory_patterns(size + 1, nlevels);
	struct theory_sum *out = x_calloc(most, sizeof(*out));
	size_t n = 0;
	for (size_t i = 0; i < most; i++) { /* the digits of i are the numbers of terms */
		uint8_t terms[SPECTRUM_LEVELS] = { 0 };
		struct theory_sum s = { 0 };
		theory_levels(size + 1, nlevels, i, terms);
		for (unsigned k = 0; k < nlevels; k++) {
			s.terms[k] = terms[k];
			s.cycles += terms[k] * latency[k];
		}
		if (terms_of(&s) <= size)
			out[n++] = s;
	}
	qsort(out, n, sizeof(*out), by_sum);
	*count = n;
	return out;
}

void theory_sum_name(const struct theory_sum *s, const uint32_t *latency, unsigned nlevels,
		     char *text, size_t size_bytes)
{
	size_t at = 0;
	snprintf(text, size_bytes, "0");
	for (unsigned k = nlevels; k-- > 0;)
		for (unsigned i = 0; i < s->terms[k] && at < size_bytes; i++)
			at += (size_t)snprintf(text + at, size_bytes - at, "%s%u", at ? "+" : "",
					       latency[k]);
}

size_t theory_nearest(const struct theory_sum *sums, size_t count, int64_t cost)
{
	size_t best = 0;
	for (size_t i = 1; i < count; i++)
		if (llabs(cost - sums[i].cycles) < llabs(cost - sums[best].cycles))
			best = i;
	return best;
}

/* SPDX-License-Identifier: MIT */
/*
 * Where the peaks of large clusters are, from those of clusters of one and two misses (puzak2007
 * leaves that open). A peak's shift is its median less its sum of latencies. Shifts are taken to
 * add up, for a peak of m terms in clusters of n misses:
 *
 *   for each term         its shift in clusters of one
 *   for each "+"          what the peak of both terms is shifted beyond them in clusters of two
 *   for each of the n - m misses that overlap others
 *                         what the peak of the largest term is shifted more in clusters of two
 *
 * Nothing is expected of a peak where one of these is not known.
 */
#include <stdlib.h>
#include <string.h>

#include "view/spectrum.h"

#define TERMS_MOST 8

/* The shift of a size's peak of that sum; false: it has too few clusters. */
static bool shift_of(const struct spectrogram *g, int64_t sum, int64_t *shift)
{
	for (size_t i = 0; i < g->npeaks; i++) {
		const struct spectrum_peak *p = &g->peaks[i];

		if (p->sum == sum && p->clusters >= SPECTRUM_PEAK_LEAST &&
		    p->high - p->low <= SPECTRUM_PEAK_WIDE) {
			*shift = p->median - sum;
			return true;
		}
	}
	return false;
}

/* The terms of "100+15", the largest first; 0 if it is no such name. */
static size_t terms_of(const char *name, int64_t terms[TERMS_MOST])
{
	size_t n = 0;

	while (n < TERMS_MOST) {
		char *end;

		terms[n] = strtoll(name, &end, 10);
		if (end == name || terms[n] <= 0)
			return 0;
		n++;
		if (*end != '+')
			return *end ? 0 : n;
		name = end + 1;
	}
	return 0;
}

bool spectrum_position(const struct spectrum_model *m, unsigned size, const struct spectrum_peak *p,
		       int64_t *expected)
{
	const struct spectrogram *one = &m->grams[0], *two = &m->grams[1];
	int64_t terms[TERMS_MOST], both, first, second;
	const size_t n = terms_of(p->name, terms);

	if (!n || n > size)
		return false;
	*expected = p->sum;
	for (size_t i = 0; i < n; i++) {
		if (!shift_of(one, terms[i], &first))
			return false;
		*expected += first;
	}
	for (size_t i = 1; i < n; i++) {
		if (!shift_of(two, terms[i - 1] + terms[i], &both) ||
		    !shift_of(one, terms[i - 1], &first) || !shift_of(one, terms[i], &second))
			return false;
		*expected += both - first - second;
	}
	if (size > n) {
		if (!shift_of(two, terms[0], &both) || !shift_of(one, terms[0], &first))
			return false;
		*expected += (int64_t)(size - n) * (both - first);
	}
	return true;
}

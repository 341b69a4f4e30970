/* SPDX-License-Identifier: MIT */
/*
 * Sparse histograms: how often each key came, and the bins of a cost. One cycle is one bin up to
 * BIN_EXACT cycles, beyond that an octave is BIN_OCTAVE bins; costs below zero have bins of their
 * own in the same way.
 */
#ifndef ANALYSIS_SPECTRUM_TALLY_H
#define ANALYSIS_SPECTRUM_TALLY_H

#include <stddef.h>
#include <stdint.h>

#define BIN_EXACT  4095
#define BIN_OCTAVE 8

int16_t bin_of(int64_t cycles);
/* Of the costs in a bin, the one nearest to zero. */
int64_t bin_cycles(int16_t bin);

struct tally_entry {
	uint64_t key;
	uint64_t count; /* 0: free */
};
struct tally {
	struct tally_entry *slot; /* open addressing, a power of two */
	size_t mask, used;
};

void tally_init(struct tally *t);
void tally_free(struct tally *t);
void tally_add(struct tally *t, uint64_t key, uint64_t count);
/* All entries, sorted by key; the caller frees the array. */
struct tally_entry *tally_sorted(const struct tally *t);

#endif

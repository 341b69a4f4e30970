/* SPDX-License-Identifier: MIT */
/*
 * A whole run whose cycles are known for every interval, for benchmarks that cluster without simulating: the files that the
 * analyses bbv (or bbv-data) and intervals write, with the same intervals.
 */
#ifndef BENCH_TRUTH_H
#define BENCH_TRUTH_H

#include <stdio.h>
#include <stdlib.h>

#include "sampling/bb.h"
#include "sampling/sampling.h"
#include "util/util.h"

struct truth {
	struct intervals v;
	double *cycles; /* of each interval */
};

static inline void truth_free(struct truth *t)
{
	intervals_free(&t->v);
	free(t->cycles);
}

/* Reads the cycles of t's intervals; ends the program unless they are there. */
static inline void truth_read_cycles(struct truth *t, const char *path)
{
	unsigned long long insts, cycles;
	FILE *f = fopen(path, "re");
	char line[128];
	size_t at = 0;

	if (!f)
		die("cannot open %s", path);
	t->cycles = x_calloc(t->v.count + 1, sizeof(*t->cycles));
	while (fgets(line, sizeof(line), f)) {
		if (line[0] == '#')
			continue;
		if (sscanf(line, "%llu %llu", &insts, &cycles) != 2 || at >= t->v.count ||
		    insts != t->v.insts[at])
			die("%s has other intervals than the vectors, from number %zu on", path,
			    at);
		t->cycles[at++] = (double)cycles;
	}
	fclose(f);
	if (at != t->v.count)
		die("%s has %zu intervals, the vectors %zu", path, at, t->v.count);
}

/* The first `percent` of the run, in intervals of `length` of t's, with the first `dims` columns: projection is linear, so a
 * row is the mean of those that it is made of, by instructions. */
static inline struct truth truth_joined(const struct truth *t, unsigned length, unsigned dims,
					unsigned percent)
{
	const size_t shorts = (t->v.count * percent + 99) / 100,
		     count = (shorts + length - 1) / length;
	struct truth out = {
		.v = { .interval = t->v.interval * length, .dims = dims, .count = count }
	};

	out.v.rows = x_calloc(count * dims, sizeof(double));
	out.v.insts = x_calloc(count, sizeof(uint64_t));
	out.cycles = x_calloc(count, sizeof(double));
	for (size_t i = 0; i < shorts; i++) {
		out.v.insts[i / length] += t->v.insts[i];
		out.cycles[i / length] += t->cycles[i];
	}
	for (size_t i = 0; i < shorts; i++)
		for (unsigned j = 0; j < dims; j++)
			out.v.rows[i / length * dims + j] += t->v.rows[i * t->v.dims + j] *
							     (double)t->v.insts[i] /
							     (double)out.v.insts[i / length];
	return out;
}

static inline double truth_cpi(const struct truth *t)
{
	double cycles = 0, insts = 0;

	for (size_t i = 0; i < t->v.count; i++) {
		cycles += t->cycles[i];
		insts += (double)t->v.insts[i];
	}
	return cycles / insts;
}

#endif

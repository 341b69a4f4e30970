/* SPDX-License-Identifier: MIT */
/*
 * How many records a second the bus carries: a producer that writes whole records, as fast as it
 * can, and the null analysis on one worker. Prints JSON. Built as bench_bus; bench/bus runs it.
 *
 *      bench_bus [MILLIONS [WORKERS]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "analysis/null.h"
#include "trace/bus.h"
#include "util/number.h"

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Produces two instructions a cycle: three records in two streams. */
static uint64_t produce(struct emit *e, uint64_t cycles)
{
	struct rec_inst inst = { .flags = RI_COMMITTED, .commit = 20 };
	struct rec_cycle cycle = { .repeat = 1, .ncommit = 2 };
	for (uint64_t i = 0; i < cycles; i++) {
		emit_reserve(e, 2);
		for (int k = 0; k < 2; k++) {
			inst.seq = inst.po = 2 * i + (uint64_t)k + 1;
			inst.pc = 0x10000 + 4 * (inst.po & 0xfff);
			inst.fetch = i;
			*emit_inst(e) = inst;
		}
		cycle.cycle = i + 20;
		cycle.head_po = 2 * i + 1;
		*emit_cycle(e) = cycle;
	}
	return 3 * cycles;
}

int main(int argc, char **argv)
{
	uint64_t millions = argc > 1 ? number_argument("MILLIONS", argv[1], 1, 1000000) : 60;
	unsigned workers = argc > 2 ? (unsigned)number_argument("WORKERS", argv[2], 0, 64) : 1;
	struct trace_meta meta = { .commit_width = 2 };
	struct err e = { "" };
	double best = 1e30;
	uint64_t records = 0;
	struct analysis whole = null_analysis; /* by default it wants no records */
	whole.wants &= ~(unsigned)WANT_LESS;
	for (int round = 0; round < 5; round++) {
		struct bus *b = bus_new(&(struct bus_config){ .workers = workers }, &meta,
					&(struct analysis_options){ 0 });
		if (!bus_add(b, &whole, 1, &e) || !bus_start(b, &e))
			die("%s", e.text);
		double start = now();
		records = produce(bus_emit(b), millions * 1000000 / 3);
		if (!bus_stop(b, &e) || !bus_finish(b, NULL, &e))
			die("%s", e.text);
		double seconds = now() - start;
		best = seconds < best ? seconds : best;
		bus_free(b);
	}
	printf("{\"records\": %llu, \"workers\": %u, \"records_per_second\": %.0f}\n",
	       (unsigned long long)records, workers, (double)records / best);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * How much of the daemon's own work fits into this second. The collector's part cannot wait; writing and
 * packing take what it leaves, in slices. They are at most 1.6% of a second, so that the collector, which
 * may take its part right after them, and they together stay below 5% as long as it takes no more than 2%. Private to collect/.
 */
#ifndef COLLECT_PACE_H
#define COLLECT_PACE_H

#include <stdint.h>

#define PACE_SECOND_NS 40000000u  /* of processor time in a second: 4% */
#define PACE_EVERY_NS  250000000u /* between the beginnings of two slices */
#define PACE_SLICE_NS  4000000u
#define PACE_LEAST_NS  1000000u
#define PACE_STARVED_S 10 /* after so long without a slice, there is a small one */

struct pace {
	struct {
		uint64_t at_ns, cpu_ns;
	} seen[16]; /* moments of the last second or two, in a ring */
	uint32_t n;
	uint64_t slice_ns; /* when the last slice began */
};

/*
 * The time by a steady clock, and the processor time of the whole process so far.
 * Gives the processor time of the next slice; 0: not now.
 */
uint64_t pace_slice(struct pace *p, uint64_t now_ns, uint64_t cpu_ns);

#endif

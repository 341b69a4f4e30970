/* SPDX-License-Identifier: MIT */
/*
 * The rate that a budget allows. What was spent beyond it, by starting or by a rate that was too high, is
 * saved within half a minute; what was not spent is not made up for. Private to collect/.
 */
#ifndef COLLECT_SPENDING_H
#define COLLECT_SPENDING_H

struct spending {
	double budget;	  /* share of the machine */
	double cpus;	  /* processors of it */
	double life_s;	  /* since the start */
	double used_s;	  /* processor time of all since then: samples, the collector, its start */
	double collector; /* share of the machine that the collector takes now */
	double sample_s;  /* processor time of one sample */
};

/* Samples a second and processor. */
double spending_rate(const struct spending *s);

#endif

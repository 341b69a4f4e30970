/* SPDX-License-Identifier: MIT */
/*
 * A profiler as the user describes it, NAME=RULE[:EVENTS[:PERIOD]]:
 *
 *	NAME    what it is called from then on
 *	RULE    which instruction a sample blames: as that profiler of the list does; or event, the instruction
 *	        that has the event, of a profiler that samples events
 *	EVENTS  what it reports of it: names of events, or of profilers for what those report, with commas between;
 *	        all; none, which is the default
 *	PERIOD  cycles between samples (as the run, unless given); ~N: at a random cycle of each N; N@EVENT: at every
 *	        N-th instruction that commits with that event
 */
#ifndef ANALYSIS_PROFILE_SPEC_H
#define ANALYSIS_PROFILE_SPEC_H

#include "analysis/profile/profilers.h"
#include "util/util.h"

#define SPEC_ALL ((1u << EVENT_COUNT) - 1)

struct profiler_spec {
	char name[32];
	char text[160]; /* how it was given, without the name */
	enum select_rule rule;
	bool precise;	 /* rule event */
	uint32_t events; /* of all that records have */
	uint64_t period; /* 0: that of the run */
	bool random;
	int every; /* event_bit of which every period-th is sampled; -1: cycles */
};

/* False and e filled if it is wrong: what, and the nearest name. */
bool profiler_spec_parse(const char *text, struct profiler_spec *out, struct err *e);

#endif

/* SPDX-License-Identifier: MIT */
/* The list of profilers, made from the rows of words.h, and the sets of events that they report. */
#include "analysis/profile/profilers.h"

#include "trace/record.h"

#define EVENTS_IBS (PSV_DR_L1 | PSV_DR_TLB | PSV_FL_MB | PSV_ST_L1 | PSV_ST_TLB | PSV_ST_LLC)
#define EVENTS_SPE (PSV_FL_MB | PSV_FL_EX | PSV_ST_L1 | PSV_ST_TLB | PSV_ST_LLC)
#define EVENTS_RIS                                                                                 \
	(PSV_DR_L1 | PSV_DR_TLB | PSV_DR_SQ | PSV_FL_MB | PSV_ST_L1 | PSV_ST_TLB | PSV_ST_LLC)

#define EVENTS_NONE 0
#define EVENTS_TEA  PSV_TEA

const struct profiler profilers[PROFILER_COUNT] = {
#define X(id, name, rule, events, bytes, chart, meaning)                                           \
	{ name, meaning, SELECT_##rule, EVENTS_##events, bytes },
	WORDS_PROFILERS(X)
#undef X
};

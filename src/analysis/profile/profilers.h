/* SPDX-License-Identifier: MIT */
/*
 * The profilers: each is a rule that selects the instruction(s) a sample blames, and the set of
 * events that it reports with it (tip2021 section 5, tea2023 table B.1). One row each in one list.
 */
#ifndef ANALYSIS_PROFILE_PROFILERS_H
#define ANALYSIS_PROFILE_PROFILERS_H

#include <stddef.h>
#include <stdint.h>

#include "words/words.h"

/* Which instruction a sample selects. */
enum select_rule {
	SELECT_TIP,	   /* by the four commit states; a committing group shares */
	SELECT_TIP_OLDEST, /* the same, but the oldest of a committing group takes all */
	SELECT_NCI,	   /* the oldest that commits in or after the cycle */
	SELECT_NCI_ALL,	   /* all that commit in that cycle share */
	SELECT_LCI,	   /* the youngest that committed before the cycle */
	SELECT_DISPATCH,   /* the first that dispatches in or after the cycle, if it commits */
	SELECT_FETCH,	   /* the first that is fetched in or after the cycle, if it commits */
	SELECT_RESUME,	 /* where execution resumes after an interrupt: the next right-path fetch */
	SELECT_HARDWARE, /* what TIP's registers hold (tiphw.h); only where they are modelled */
	SELECT_COUNT,
};

struct profiler {
	const char *name;
	const char *summary;
	enum select_rule rule;
	uint32_t events;       /* psv bits that it reports; 0: time only */
	uint32_t sample_bytes; /* as in tip2021 section 3.2, with 40 bytes of metadata */
};

extern const struct profiler profilers[PROFILER_COUNT];

#endif

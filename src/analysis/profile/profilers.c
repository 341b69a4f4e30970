/* SPDX-License-Identifier: MIT */
#include "analysis/profile/profilers.h"

#include "trace/record.h"

#define EVENTS_IBS (PSV_DR_L1 | PSV_DR_TLB | PSV_FL_MB | PSV_ST_L1 | PSV_ST_TLB | PSV_ST_LLC)
#define EVENTS_SPE (PSV_FL_MB | PSV_FL_EX | PSV_ST_L1 | PSV_ST_TLB | PSV_ST_LLC)
#define EVENTS_RIS                                                                                 \
	(PSV_DR_L1 | PSV_DR_TLB | PSV_DR_SQ | PSV_FL_MB | PSV_ST_L1 | PSV_ST_TLB | PSV_ST_LLC)

const struct profiler profilers[] = {
	{ "tip", "time-proportional: the four commit states", SELECT_TIP, 0, 88 },
	{ "tip-ilp", "TIP that gives a committing group to its oldest", SELECT_TIP_OLDEST, 0, 56 },
	{ "nci", "next-committing instruction, as Intel PEBS", SELECT_NCI, 0, 56 },
	{ "nci+ilp", "all of the next-committing group share", SELECT_NCI_ALL, 0, 88 },
	{ "lci", "last-committed instruction, as external monitors", SELECT_LCI, 0, 56 },
	{ "dispatch", "tagged at dispatch, as AMD IBS and Arm SPE", SELECT_DISPATCH, 0, 56 },
	{ "software", "where execution resumes after an interrupt, as perf", SELECT_RESUME, 0, 56 },
	{ "tea", "TIP with all nine events", SELECT_TIP, PSV_TEA, 88 },
	{ "nci-tea", "NCI with all nine events", SELECT_NCI, PSV_TEA, 56 },
	{ "ibs", "tagged at dispatch, IBS's events", SELECT_DISPATCH, EVENTS_IBS, 56 },
	{ "spe", "tagged at dispatch, SPE's events", SELECT_DISPATCH, EVENTS_SPE, 56 },
	{ "ris", "tagged at fetch, RIS's events", SELECT_FETCH, EVENTS_RIS, 56 },
	{ "tea-dispatch", "tagged at dispatch, all nine events", SELECT_DISPATCH, PSV_TEA, 56 },
};
const size_t nprofilers = sizeof(profilers) / sizeof(profilers[0]);

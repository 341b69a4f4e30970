/* SPDX-License-Identifier: MIT */
/* Profilers of the user's own, and all events that records have; own.c. */
#ifndef ANALYSIS_PROFILE_OWN_H
#define ANALYSIS_PROFILE_OWN_H

#include "trace/analysis.h"

#define OWN_MAX 16 /* profilers in a run */

extern const struct analysis own_analysis;

#endif

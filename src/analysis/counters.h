/* SPDX-License-Identifier: MIT */
/* Counters of the machine over time, into the store and as text. */
#ifndef ANALYSIS_COUNTERS_H
#define ANALYSIS_COUNTERS_H

#include "trace/analysis.h"

extern const struct analysis counters_analysis;

#endif

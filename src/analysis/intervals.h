/* SPDX-License-Identifier: MIT */
/* Cycles of each interval of a run. */
#ifndef ANALYSIS_INTERVALS_H
#define ANALYSIS_INTERVALS_H

#include "trace/analysis.h"

extern const struct analysis intervals_analysis;

#endif

/* SPDX-License-Identifier: MIT */
/* The analysis that does nothing but count. */
#ifndef ANALYSIS_NULL_H
#define ANALYSIS_NULL_H

#include "trace/analysis.h"

extern const struct analysis null_analysis;

#endif

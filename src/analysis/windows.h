/* SPDX-License-Identifier: MIT */
/* A few stretches of the run with all their instruction records. */
#ifndef ANALYSIS_WINDOWS_H
#define ANALYSIS_WINDOWS_H

#include "trace/analysis.h"

extern const struct analysis windows_analysis;

#endif

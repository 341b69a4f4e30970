/* SPDX-License-Identifier: MIT */
/* Cycles by call stack. */
#ifndef ANALYSIS_FOLDED_H
#define ANALYSIS_FOLDED_H

#include "trace/analysis.h"

/* Writes STEM.folded, or the file that the parameter folded=FILE names. */
extern const struct analysis folded_analysis;
/* Keeps them in the store, as a tree. */
extern const struct analysis calls_analysis;

#endif

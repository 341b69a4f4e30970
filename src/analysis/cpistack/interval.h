/* SPDX-License-Identifier: MIT */
/* Interval analysis (eyerman2006 section 3): the run as intervals between miss events. */
#ifndef ANALYSIS_CPISTACK_INTERVAL_H
#define ANALYSIS_CPISTACK_INTERVAL_H

#include "trace/analysis.h"
#include "words/words.h"

#define INTERVAL_BEFORE 32  /* points of a curve before its anchor */
#define INTERVAL_POINTS 128 /* of a curve */

/* Cycles of a point of the curve around events of this kind. */
unsigned interval_step(enum cpi_component kind);

extern const struct analysis interval_analysis;

#endif

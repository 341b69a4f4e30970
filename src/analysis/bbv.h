/* SPDX-License-Identifier: MIT */
/* Basic block vectors of a timed or replayed run. */
#ifndef ANALYSIS_BBV_H
#define ANALYSIS_BBV_H

#include "trace/analysis.h"

extern const struct analysis bbv_analysis;
extern const struct analysis bbv_data_analysis; /* with the data part */

#endif

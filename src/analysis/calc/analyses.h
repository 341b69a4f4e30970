/* SPDX-License-Identifier: MIT */
/* What `culprit calc` reads: samples as hardware gives them, and the truth beside them. */
#ifndef ANALYSIS_CALC_ANALYSES_H
#define ANALYSIS_CALC_ANALYSES_H

#include "trace/analysis.h"

extern const struct analysis issue_analysis;	/* samples of a machine that issues in order */
extern const struct analysis truth_analysis;	/* exact frequencies, and where every cycle went */
extern const struct analysis commits_analysis;	/* samples that say what commits */
extern const struct analysis branches_analysis; /* branch records */

#endif

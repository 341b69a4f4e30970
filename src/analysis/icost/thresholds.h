/* SPDX-License-Identifier: MIT */
/* The rows of thresholds.def. */
#ifndef ANALYSIS_ICOST_THRESHOLDS_H
#define ANALYSIS_ICOST_THRESHOLDS_H

enum {
#define THRESHOLD(name, value, means, fitted, buys) name = value,
#include "analysis/icost/thresholds.def"
#undef THRESHOLD
};

#endif

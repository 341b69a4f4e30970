/* SPDX-License-Identifier: MIT */
/* What a machine with one part of another size would take, from the dependence graph. */
#ifndef ANALYSIS_ICOST_RESOURCES_H
#define ANALYSIS_ICOST_RESOURCES_H

#include "analysis/icost/sized.h"
#include "trace/analysis.h"

#define RESOURCES_CHANGES 320 /* at most */

extern const struct analysis resources_analysis;

/* A machine to try. settings: what --set takes for it. */
struct resources_try {
	struct sized_change change;
	uint32_t real; /* its size in the machine; 0: of the kind LIMIT */
	char settings[64];
};

/* What the machine has; absent parts and those that never bind are SIZED_NONE. */
struct sized_limits resources_limits(const struct machine *machine);
/* Fills in the machines to try; returns how many. */
size_t resources_tries(const struct machine *machine, struct resources_try *list);

#endif

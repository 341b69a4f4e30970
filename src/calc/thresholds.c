/* SPDX-License-Identifier: MIT */
/* The thresholds of thresholds.def, and what the options put in their place. */
#include "calc/calc_int.h"

const struct calc_threshold_info calc_thresholds[CALC_THRESHOLDS] = {
#define THRESHOLD(id, name, value, reason, half, twice) { name, value, reason, half, twice },
#include "calc/thresholds.def"
#undef THRESHOLD
};

double calc_threshold(const struct calc_program *p, enum calc_threshold which)
{
	return p->options.thresholds ? p->options.thresholds[which] : calc_thresholds[which].value;
}

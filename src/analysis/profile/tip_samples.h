/* SPDX-License-Identifier: MIT */
/* The sampling hardware as an analysis: writes a file of samples. */
#ifndef ANALYSIS_PROFILE_TIP_SAMPLES_H
#define ANALYSIS_PROFILE_TIP_SAMPLES_H

extern const struct analysis tip_samples_analysis;

#endif

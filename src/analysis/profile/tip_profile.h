/* SPDX-License-Identifier: MIT */
/* A profile from a file of TIP's samples (trace/tip_file.h) and the binaries alone. */
#ifndef ANALYSIS_PROFILE_TIP_PROFILE_H
#define ANALYSIS_PROFILE_TIP_PROFILE_H

#include "store/store.h"
#include "util/util.h"

/* A store in memory with one profiler, tea-hw, and no golden reference. */
struct store *tip_profile_open(const char *path, struct err *e);

#endif

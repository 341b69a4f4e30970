/* SPDX-License-Identifier: MIT */
/* The settings of a machine file, as a trace has them. A trace that was imported has none. */
#ifndef ANALYSIS_ICOST_SETTINGS_H
#define ANALYSIS_ICOST_SETTINGS_H

#include "trace/file.h"

/* A setting's text; NULL if it is not there (info may be NULL). */
const char *setting_text(const struct trace_info *info, const char *section, const char *key);
/* Its number, with k and M for 2^10 and 2^20, or `otherwise`. */
uint64_t setting_number(const struct trace_info *info, const char *section, const char *key,
			uint64_t otherwise);
bool setting_is(const struct trace_info *info, const char *section, const char *key,
		const char *value);
bool setting_on(const struct trace_info *info, const char *section, const char *key);

#endif

/* SPDX-License-Identifier: MIT */
/* The list of all analyses, one line each. */
#include <string.h>

#include "analysis/bbv.h"
#include "analysis/calc/analyses.h"
#include "analysis/counters.h"
#include "analysis/cpistack/cpistack.h"
#include "analysis/cpistack/fmt_table.h"
#include "analysis/cpistack/interval.h"
#include "analysis/cpistack/naive_caches.h"
#include "analysis/folded.h"
#include "analysis/icost/icost.h"
#include "analysis/icost/resources.h"
#include "analysis/intervals.h"
#include "analysis/null.h"
#include "analysis/profile/own.h"
#include "analysis/profile/profile.h"
#include "analysis/profile/tip_samples.h"
#include "analysis/shotgun/shotgun.h"
#include "analysis/spectrum/spectrum.h"
#include "analysis/windows.h"
#include "trace/analysis.h"
#include "trace/export.h"
#include "trace/file.h"

/* clang-format off */
const struct analysis *const analysis_list[] = {
	&profile_analysis,
	&own_analysis,
	&cpistack_analysis,
	&interval_analysis,
	&fmt_table_analysis,
	&naive_caches_analysis,
	&icost_analysis,
	&resources_analysis,
	&shotgun_analysis,
	&shotgun_samples_analysis,
	&spectrum_analysis,
	&issue_analysis,
	&truth_analysis,
	&commits_analysis,
	&branches_analysis,
	&folded_analysis,
	&calls_analysis,
	&windows_analysis,
	&bbv_analysis,
	&bbv_data_analysis,
	&csv_analysis,
	&tip_samples_analysis,
	&trace_analysis,
	&trace_misses_analysis,
	&trace_committed_analysis,
	&intervals_analysis,
	&counters_analysis,
	&null_analysis,
	NULL,
};
/* clang-format on */

const struct analysis *analysis_find(const char *name)
{
	for (const struct analysis *const *a = analysis_list; *a; a++)
		if (!strcmp((*a)->name, name))
			return *a;
	return NULL;
}

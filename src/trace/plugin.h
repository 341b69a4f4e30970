/* SPDX-License-Identifier: MIT */
/*
 * An analysis of one's own, without rebuilding culprit: a shared object that ends with
 *
 *	CULPRIT_ANALYSIS(my_analysis)
 *
 * where my_analysis is a const struct analysis (trace/analysis.h), built with
 *
 *	cc -shared -fPIC $(pkg-config --cflags culprit) -o mine.so mine.c
 *
 * and named with a path: culprit sim --analyze profile,./mine.so. It may use what these headers
 * declare. It runs as culprit does, with the user's rights: load only what you trust.
 */
#ifndef TRACE_PLUGIN_H
#define TRACE_PLUGIN_H

#include "trace/analysis.h"

/*
 * The layout of records, of struct analysis and of what both refer to. A change of one of them is a
 * new number: a shared object that was built for another one is refused.
 */
#define CULPRIT_LAYOUT 3

struct culprit_plugin {
	uint32_t layout; /* CULPRIT_LAYOUT; this member never moves */
	const struct analysis *analysis;
};

#define CULPRIT_ANALYSIS(name)                                                                     \
	extern const struct culprit_plugin culprit_plugin;                                         \
	const struct culprit_plugin culprit_plugin = { CULPRIT_LAYOUT, &(name) };

#endif

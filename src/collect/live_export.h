/* SPDX-License-Identifier: MIT */
/* Live profiles as text that other tools read: perf script's output, and folded stacks. */
#ifndef COLLECT_LIVE_EXPORT_H
#define COLLECT_LIVE_EXPORT_H

#include <stdio.h>

#include "collect/live.h"

struct live_export {
	const char *event; /* NULL: the first */
	bool raw_names;	   /* names of C++ and Rust as binaries have them */
};

/* "program;outer;inner COUNT", one line per stack of the event, for flame graphs. Stacks with the same
 * names are one line; lines are sorted. A profile without stacks gives stacks of one frame. */
bool live_export_folded(struct live_profile *p, const struct live_export *o, FILE *out,
			struct err *e);
/* A paragraph per sample as perf script prints it. Counts have no time: samples are spread evenly
 * over the time of the profile. */
bool live_export_perf_script(struct live_profile *p, const struct live_export *o, FILE *out,
			     struct err *e);

#endif

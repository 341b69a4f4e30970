/* SPDX-License-Identifier: MIT */
/*
 * Reads what Linux perf records (perf.data): as a file or from a pipe, compressed (-z) or not, with
 * call chains (-g), several events and groups. Samples become counts of a sink.
 */
#ifndef COLLECT_PERFDATA_H
#define COLLECT_PERFDATA_H

#include "collect/live.h"

struct perfdata_options {
	/* Gets a line for everything in the file that is left out; may be NULL. */
	void (*note)(void *self, const char *line);
	void *self;
};

/* Reads all of it and makes one cut. name is what messages call it. Nothing in the file is trusted:
 * every length is checked, and at most 256 MiB wait to be put in order of time. */
bool perfdata_read(int fd, const char *name, const struct perfdata_options *o,
		   const struct live_sink *sink, struct err *e);

#endif

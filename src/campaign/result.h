/* SPDX-License-Identifier: MIT */
/* What a run of a campaign leaves: the summary of `culprit sim`, or a profile. */
#ifndef CAMPAIGN_RESULT_H
#define CAMPAIGN_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include "util/util.h"

struct result {
	bool has_cycles;
	uint64_t instructions, cycles;
	double cpi, cpi_low, cpi_high; /* 95% interval; as cpi where it is exact */
	bool estimated;		       /* the interval is that of an estimate */
	int64_t exit_status;	       /* -1: it did not end by itself */
	double host_seconds;
	bool is_store;
};

/* Whether a file can be a result: for job.usable, so it looks at no more than it must. */
bool result_is_usable(const char *path);
bool result_read(const char *path, struct result *out, struct err *e);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Event names by libpfm4, which knows the events of each processor model. It recognises this
 * machine's processor by itself; LIBPFM_FORCE_PMU=NAME in the environment makes it take another.
 */
#include "collect/events_pfm.h"

#include <perfmon/pfmlib.h>
#include <perfmon/pfmlib_perf_event.h>
#include <stdlib.h>

bool events_pfm_here(void)
{
	return true;
}

bool events_pfm_encode(const char *name, struct perf_event_attr *a)
{
	struct perf_event_attr found = { .size = sizeof(found) };
	pfm_perf_encode_arg_t arg = { .attr = &found, .size = sizeof(arg) };

	if (pfm_initialize() != PFM_SUCCESS)
		return false;
	const bool ok = pfm_get_os_event_encoding(name, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT,
						  &arg) == PFM_SUCCESS;

	if (ok) {
		a->type = found.type;
		a->config = found.config;
		a->config1 = found.config1;
		a->config2 = found.config2;
		a->exclude_user = found.exclude_user;
		a->exclude_kernel = found.exclude_kernel;
	}
	return ok;
}

/* SPDX-License-Identifier: MIT */
/*
 * Event names by libpfm4, which knows the events of each processor model. It recognises this
 * machine's processor by itself; LIBPFM_FORCE_PMU=NAME in the environment makes it take another.
 *
 * The library is opened when the first such name is asked for: its tables of all processors take
 * 2 MB of every process that has it, and most recordings name none of its events.
 */
#include "collect/events_pfm.h"

#include <dlfcn.h>
#include <perfmon/pfmlib.h>
#include <perfmon/pfmlib_perf_event.h>
#include <stdlib.h>

#define PFM_LIBRARY "libpfm.so.4"

bool events_pfm_here(void)
{
	void *library = dlopen(PFM_LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (library)
		dlclose(library);
	return library != NULL;
}

/* The function of that name; the library's header has its type. */
#define FUNCTION(library, name) ((__typeof__(&(name)))dlsym(library, #name))

static bool encode(void *library, const char *name, pfm_perf_encode_arg_t *arg)
{
	__typeof__(&pfm_initialize) begin = FUNCTION(library, pfm_initialize);
	__typeof__(&pfm_terminate) end = FUNCTION(library, pfm_terminate);
	__typeof__(&pfm_get_os_event_encoding) find = FUNCTION(library, pfm_get_os_event_encoding);

	if (!begin || !end || !find || begin() != PFM_SUCCESS)
		return false;
	const bool ok = find(name, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT, arg) == PFM_SUCCESS;

	end();
	return ok;
}

bool events_pfm_encode(const char *name, struct perf_event_attr *a)
{
	struct perf_event_attr found = { .size = sizeof(found) };
	pfm_perf_encode_arg_t arg = { .attr = &found, .size = sizeof(arg) };
	void *library = dlopen(PFM_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	const bool ok = library && encode(library, name, &arg);

	if (library)
		dlclose(library);
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

/* SPDX-License-Identifier: MIT */
/* Built without libpfm4: only the names in events.c and raw codes are known. */
#include "collect/events_pfm.h"

bool events_pfm_here(void)
{
	return false;
}

bool events_pfm_encode(const char *name, struct perf_event_attr *a)
{
	(void)name;
	(void)a;
	return false;
}

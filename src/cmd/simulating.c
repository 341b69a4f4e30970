/* SPDX-License-Identifier: MIT */
#include "cmd/simulating.h"

bool simulating_check(const char *command, const struct simulating *s)
{
	if (s->jobs <= SIMULATING_JOBS_MAX)
		return true;
	warn("%s: --jobs %llu: at most %d are valid", command, (unsigned long long)s->jobs,
	     SIMULATING_JOBS_MAX);
	return false;
}

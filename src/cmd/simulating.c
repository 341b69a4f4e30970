/* SPDX-License-Identifier: MIT */
#include "cmd/simulating.h"

struct job simulating_itself(const struct rerun *r)
{
	return rerun_job(r, "as it was", NULL, 0);
}

bool simulating_repeats(const char *command, const struct rerun *r, const struct job *itself,
			double cycles)
{
	const char *changes = rerun_changes(r);
	struct rerun_result result;
	struct err e;

	if (!rerun_read(itself, &result, &e)) {
		warn("%s: the run as it was: %s", command, e.text);
		return false;
	}
	if ((double)result.cycles == cycles)
		return true;
	warn("%s: the run does not repeat: it took %.0f cycles and now takes %llu, so what is "
	     "simulated is not what was measured: %s",
	     command, cycles, (unsigned long long)result.cycles,
	     changes
		 ? changes
		 : "a file that it reads may have changed since, or one that it wrote may be in "
		   "its way; and "
		   "--simulator must be a build with the same timing");
	return false;
}

/* SPDX-License-Identifier: MIT */
/*
 * culprit sim --functional: runs the guest at full speed. To show progress the run is cut into
 * slices; guest_run stops exactly, so slices do not change what the guest does.
 */
#include "cmd/sim.h"

#include "cmd/progress.h"

#define SLICE_INSTS (32u << 20) /* a tenth of a second or so */

void sim_functional(struct guest *g, const struct sim_options *options, struct sim_run *run)
{
	uint64_t limit = options->max_insts ? run->first_inst + options->max_insts : UINT64_MAX;
	struct progress progress;

	progress_begin(&progress, options->max_insts ? limit : 0);
	run->status = GUEST_RUNNING;
	while (run->status == GUEST_RUNNING && guest_insts(g) < limit && !sim_stop_signal()) {
		uint64_t left = limit - guest_insts(g);

		run->status = guest_run(g, progress.on ? min_u64(left, SLICE_INSTS) : left);
		/* Only the first process writes to the terminal. */
		if (!run->child)
			progress_update(&progress, guest_insts(g));
	}
	run->host_seconds = host_now() - run->first_second;
	run->insts = guest_insts(g) - run->first_inst;
	run->exit_status = run->status == GUEST_RUNNING ? 0 : guest_exit_status(g);
	run->stop_signal = run->status == GUEST_RUNNING ? sim_stop_signal() : 0;
	if (!run->child)
		progress_end(&progress);
}

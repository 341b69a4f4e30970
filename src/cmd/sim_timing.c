/* SPDX-License-Identifier: MIT */
/*
 * culprit sim: runs the guest on a modelled core. A first part may run at full speed
 * (--fast-forward) or come from a checkpoint (--restore), a second one functionally while caches, TLBs and predictors learn (--warm). The
 * instructions and cycles reported are those of the timed part.
 */
#include "cmd/sim.h"

#include <stdlib.h>

#include "cmd/progress.h"

static bool add_hits(struct core *c, const struct cmd_strings *texts, struct err *e)
{
	struct hit *hits = NULL;
	size_t count = 0;
	bool ok = true;

	for (size_t i = 0; ok && i < texts->count; i++)
		ok = hits_parse(texts->items[i], &hits, &count, e);
	if (ok)
		core_hits(c, hits, count);
	free(hits);
	return ok;
}

struct core *sim_timing_new(struct guest *g, const struct sim_options *options, struct err *e)
{
	struct machine config;

	if (!sim_timing_config(options, &config, e))
		return NULL;

	struct core *c = core_new(&config, g, NULL, e);

	if (c && !add_hits(c, &options->hits, e)) {
		core_free(c);
		return NULL;
	}
	return c;
}

bool sim_timing_config(const struct sim_options *options, struct machine *config, struct err *e)
{
	if (!machine_load(config, options->machine ? options->machine : SIM_DEFAULT_MACHINE, e))
		return false;
	for (size_t i = 0; i < options->sets.count; i++) {
		struct err inner;

		if (!machine_set(config, options->sets.items[i], &inner))
			return err_set(e, "--set %s: %s", options->sets.items[i], inner.text);
	}
	return machine_check(config, e);
}

/* Runs everything before the timed part. False if the guest has ended. */
static bool run_up(struct core *c, struct guest *g, const struct sim_options *options)
{
	bool all = options->warm == SIM_WARM_ALL;
	uint64_t left = all ? 0 : options->fast_forward;
	uint64_t warm = all ? options->fast_forward : options->warm;

	if (options->unknown)
		core_unknown(c, (enum mem_unknown)options->unknown);
	while (left && !sim_stop_signal()) {
		uint64_t before = guest_insts(g);

		if (guest_run(g, left) != GUEST_RUNNING)
			return false;
		left -= guest_insts(g) - before;
	}
	if ((options->fast_forward && !all) || options->restore)
		core_attach(c);
	if (options->history && !options->restore) {
		struct guest_lines lines;

		guest_history_take(g, &lines);
		core_recall(c, &lines);
		guest_lines_free(&lines);
	}
	return !warm || sim_stop_signal() || core_warm(c, warm) != CORE_ENDED;
}

/* A forked process begins to be measured. */
static enum core_status begin(struct core *c, const struct sim_options *options,
			      struct sim_run *run)
{
	uint64_t done = core_stats(c)->insts;

	run->begin(run->begin_ctx);
	if (options->max_insts && done >= options->max_insts)
		return CORE_STOPPED;
	core_limit(c, options->max_insts ? options->max_insts - done : 0);
	return CORE_RUNNING;
}

/* The instructions that settle have committed, or those that are measured. */
static enum core_status reached(struct core *c, const struct sim_options *options,
				struct sim_run *run)
{
	const struct core_stats *stats = core_stats(c);

	if (run->settled) {
		run->last_cycle = stats->cycles;
		run->last_inst =
		    stats->insts - (core_position(c) - run->start - options->max_insts);
		run->last_fault = stats->faults;
		core_drain(c);
		return CORE_STOPPED;
	}
	run->settled = true;
	run->first_cycle = stats->cycles;
	run->first_second = host_now();
	run->first_step = stats->steps;
	run->first_fault = stats->faults;
	/* What else committed in this cycle belongs to what is measured. */
	run->first_inst = stats->insts - (core_position(c) - run->start);
	if (options->max_insts)
		core_target(c, run->start + options->max_insts);
	return CORE_RUNNING;
}

void sim_timing(struct core *c, struct guest *g, const struct sim_options *options,
		struct sim_run *run)
{
	enum core_status status = CORE_ENDED;
	struct progress progress;

	run->has_cycles = true;
	progress_begin(&progress, options->max_insts);

	bool is_there = run_up(c, g, options);

	if (run->anew)
		run->begin(run->begin_ctx);
	if (is_there) {
		guest_log_waits(g);
		run->first_second = host_now();
		run->start = core_position(c) + options->settle;
		if (options->settle)
			core_target(c, run->start);
		core_limit(c, options->settle ? 0 : options->max_insts);
		do {
			status = core_continue(c, SIM_SLICE_CYCLES);
			if (unlikely(status == CORE_REACHED))
				status = reached(c, options, run);
			if (unlikely(run->anew) && status == CORE_STOPPED)
				status = begin(c, options, run);
			/* Only the first process writes to the terminal. */
			if (!run->child)
				progress_update(&progress, core_stats(c)->insts);
		} while (status == CORE_RUNNING && !sim_stop_signal() &&
			 !(run->emit && run->emit->stop));
	}
	if (status == CORE_RUNNING)
		core_end_twin(c);
	core_cut(c);
	run->host_seconds = host_now() - run->first_second;
	if (options->settle && !run->settled)
		run->first_cycle = core_stats(c)->cycles, run->first_inst = core_stats(c)->insts;
	run->insts = (run->last_inst ? run->last_inst : core_stats(c)->insts) - run->first_inst;
	run->cycles =
	    (run->last_cycle ? run->last_cycle : core_stats(c)->cycles) - run->first_cycle;
	run->faults = (run->last_inst ? run->last_fault : core_stats(c)->faults) - run->first_fault;
	run->stepped = core_stats(c)->steps - run->first_step;
	run->status = status == CORE_ENDED ? guest_run(g, 0) : GUEST_RUNNING;
	run->exit_status = run->status == GUEST_RUNNING ? 0 : guest_exit_status(g);
	run->stop_signal = run->status == GUEST_RUNNING ? sim_stop_signal() : 0;
	run->failed = run->status == GUEST_RUNNING && run->emit && run->emit->stop;
	if (!run->child)
		progress_end(&progress);
}

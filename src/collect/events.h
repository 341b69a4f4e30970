/* SPDX-License-Identifier: MIT */
/*
 * Events: from names to what perf_event_open takes, and one opened event on a processor or a task.
 */
#ifndef COLLECT_EVENTS_H
#define COLLECT_EVENTS_H

#include <linux/perf_event.h>

#include "util/util.h"

#define EVENTS_STREAMS 32 /* timers of a clock event on a processor; see events_periods */

struct event_spec {
	char *name;   /* as asked: "cycles" */
	char *actual; /* what is sampled: "cpu-clock" */
	struct perf_event_attr attr;
	bool clock;   /* its unit is ns; the rate decides its period */
	bool rotates; /* takes turns with the others that do */
};

struct event_list {
	struct event_spec *specs;
	size_t nspecs;
};

/* Turns names into events. A set ("default", "mux", "mux:A,B,…") is replaced by its events. Adds a
 * line to the notes for every event that this machine has not. kernel: sample the kernel, too. */
bool events_parse(const char *const *names, size_t nnames, bool kernel, struct event_list *out,
		  char ***notes, size_t *nnotes, struct err *e);
void events_free(struct event_list *l);
/* As above for one name, which is not a set, whether or not this machine has it. */
bool events_encode(const char *name, bool kernel, struct event_spec *out, struct err *e);
/* Whether the processor's own counters can be used here. */
bool events_have_pmu(void);

/*
 * The periods of n timers that together give `rate` samples a second. The kernel restarts a timer
 * with the same period, and user space cannot change it for every sample; so several timers run
 * side by side, with periods that are drawn uniformly from half to one and a half times their mean.
 * Their sum is close to a Poisson process: no pattern of the program can keep step with it.
 */
void events_periods(struct rng *rng, double rate, uint64_t *periods_ns, size_t n);

/* Opens an event and lets the program (a BPF descriptor) handle its samples; it begins disabled.
 * -1, with errno, if that is not possible. pid -1: all processes; cpu -1: all processors. */
int event_open(const struct event_spec *s, int pid, int cpu, uint64_t period, int program);

#endif

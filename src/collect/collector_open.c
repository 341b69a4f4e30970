/* SPDX-License-Identifier: MIT */
/*
 * Opening and ending a collector. The order matters: the side-band first, then the processes that
 * run already, then the events, so that no sample comes from a process that is not known.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "collect/collector_int.h"
#include "collect/privileges.h"
#include "util/array.h"

#define SIDEBAND_BYTES (1u << 20) /* per processor */
#define BUDGET	       0.01
#define RATE_LIMIT     "/proc/sys/kernel/perf_event_max_sample_rate"

void collector_free(struct collector *c)
{
	collector_close_events(c);
	ring_buffer__free(c->ring);
	sideband_close(c->sideband);
	maps_free(c->maps);
	program_unload(&c->program);
	events_free(&c->list);
	collector_free_stacks(c);
	collector_free_facts(c);
	const int fds[] = { c->epoll_fd, c->timer_fd, c->rotate_fd };

	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	free(c->cpus);
	free(c->tokens);
	free(c->spaces);
	free(c->waiting);
	free(c->unplaced);
	free(c->later);
	free(c->cpu_epoch);
	free(c->old_table);
	free(c);
}

void collector_watch(const struct collector *c, int fd)
{
	epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, fd,
		  &(struct epoll_event){ .events = EPOLLIN, .data.fd = fd });
}

static bool open_wait(struct collector *c, struct err *e)
{
	size_t nfds;
	const int *fds = sideband_fds(c->sideband, &nfds);

	c->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	c->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	c->rotate_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	c->ring = ring_buffer__new(c->program.ring_fd, collector_ring_record, c, NULL);
	if (c->epoll_fd < 0 || c->timer_fd < 0 || c->rotate_fd < 0 || !c->ring)
		return err_set(e, "cannot wait for samples: %s", strerror(errno));
	collector_watch(c, c->timer_fd);
	collector_watch(c, c->rotate_fd);
	collector_watch(c, ring_buffer__epoll_fd(c->ring));
	for (size_t i = 0; i < nfds; i++)
		collector_watch(c, fds[i]);
	return true;
}

/* A rate that the kernel would not give is refused here, in words. */
static bool check_rate(const struct collector_options *o, struct err *e)
{
	unsigned long limit = 0;
	FILE *f = fopen(RATE_LIMIT, "re");

	if (f) {
		if (fscanf(f, "%lu", &limit) != 1)
			limit = 0;
		fclose(f);
	}
	if (limit && o->rate > (double)limit)
		return err_set(e,
			       "%.0f samples a second are more than this kernel allows (%lu); "
			       "raise " RATE_LIMIT " or take a lower rate",
			       o->rate, limit);
	return true;
}

static bool load(struct collector *c, char ***notes, size_t *nnotes, struct err *e)
{
	const struct collector_options *o = &c->options;

	if (!check_rate(o, e) ||
	    !events_parse(o->events, o->nevents, o->kernel, &c->list, notes, nnotes, e))
		return false;
	if (c->list.nspecs > SAMPLE_EVENTS)
		return err_set(e, "%zu events are too many; at most %d at once", c->list.nspecs,
			       SAMPLE_EVENTS);
	const struct program_options p = {
		.table_entries = o->table_entries,
		.ring_bytes = o->ring_bytes,
		.count_max = o->count_max,
		.nevents = (uint32_t)c->list.nspecs,
		.processes = o->per_process || o->per_thread,
		.threads = o->per_thread,
		.stacks = o->stacks,
		.edges = o->edges,
		.trace = o->trace,
	};

	c->nevents = p.nevents;
	if (!program_load(&c->program, &p, e))
		return false;
	c->cpu_epoch = x_calloc(c->program.cpus, sizeof(*c->cpu_epoch));
	c->old_table = x_calloc(c->program.cpus, sizeof(*c->old_table));
	return true;
}

static bool open_maps(struct collector *c, char ***notes, size_t *nnotes, struct err *e)
{
	const struct sideband_options s = { .ring_bytes = SIDEBAND_BYTES,
					    .cpus = c->cpus,
					    .ncpus = c->ncpus };

	c->sideband = sideband_open(&s, notes, nnotes, e);
	if (!c->sideband)
		return false;
	c->maps = maps_new(&c->sink, "/proc");
	if (!maps_read_running(c->maps, e))
		return false;
	/* What loading took in other processes counts as the collector's. */
	c->begin_cpu_s -= c->program.load_cpu_s + maps_status(c->maps).load_cpu_s;
	size_t n;
	const char *const *lines = maps_notes(c->maps, &n);

	for (size_t i = 0; i < n; i++)
		*ARRAY_ADD(*notes, *nnotes) = x_strdup(lines[i]);
	return true;
}

/* Tells the sink of the events, and starts the clock of the cuts. */
static void begin(struct collector *c)
{
	const double drain = c->options.drain_s > 0 ? c->options.drain_s : COLLECTOR_DRAIN_S;
	const struct timespec t = { (time_t)drain, (long)((drain - (double)(time_t)drain) * 1e9) };

	for (uint32_t i = 0; i < c->nevents; i++)
		c->events[i].number = c->sink.event(
		    c->sink.self, &(struct live_event){ .name = c->list.specs[i].name,
							.actual = c->list.specs[i].actual,
							.rate = c->events[i].rate,
							.period = c->events[i].period,
							.running = 1 });
	timerfd_settime(c->timer_fd, 0, &(struct itimerspec){ t, t }, NULL);
	c->next_cut_ns = sideband_now() + (uint64_t)(drain * 1e9);
	c->next_budget_ns = collector_next_look(c);
}

struct collector *collector_open(const struct collector_options *o, const struct live_sink *sink,
				 char ***notes, size_t *nnotes, struct err *e)
{
	struct collector *c = x_calloc(1, sizeof(*c));

	*notes = NULL;
	*nnotes = 0;
	c->options = *o;
	if (c->options.budget <= 0)
		c->options.budget = BUDGET;
	c->sink = *sink;
	c->epoll_fd = c->timer_fd = c->rotate_fd = -1;
	c->tokens_base = c->spaces_base = 1;
	c->cpus = collector_online(&c->ncpus);
	if (!c->ncpus)
		*ARRAY_ADD(c->cpus, c->ncpus) = 0;
	c->begin_cpu_s = collector_cpu_s(c);
	c->open_ns = sideband_now();
	rng_seed(&c->rng, o->seed);
	collector_first_facts(c);
	bool ok = load(c, notes, nnotes, e) && open_maps(c, notes, nnotes, e) && open_wait(c, e);

	if (ok) {
		collector_choose(c);
		ok = collector_start(c, e);
		collector_begin_facts(c);
	}
	if (ok && o->run_as)
		ok = privileges_become(o->run_as, e);
	if (!ok) {
		collector_free(c);
		return NULL;
	}
	privileges_note(notes, nnotes);
	begin(c);
	return c;
}

void collector_trace(struct collector *c,
		     void (*fn)(void *self, const struct sample_record_trace *r), void *self)
{
	c->trace = fn;
	c->trace_self = self;
}

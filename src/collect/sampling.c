/* SPDX-License-Identifier: MIT */
/*
 * The opened events of a collection: on every processor, or on the threads of some processes and
 * what they start. A clock event is several timers with random periods (events_periods). Rotating
 * events take turns; what they would have counted all the time is their count by the time that they
 * were on.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "collect/collector_int.h"
#include "util/array.h"

/* A context switch stops and starts every timer of a task. */
#define TASK_STREAMS 4
#define MUX_MS	     20

static size_t streams(const struct collector *c, uint32_t event)
{
	/* One that rotates is switched on and off all the time, each timer by a call of its own. */
	if (!c->list.specs[event].clock || c->list.specs[event].rotates)
		return 1;
	return c->options.npids ? TASK_STREAMS : EVENTS_STREAMS;
}

/* Opens an event on a task or a processor. */
static bool open_on(struct collector *c, uint32_t event, int pid, int cpu, struct err *e)
{
	struct collected_event *x = &c->events[event];
	struct event_spec s = c->list.specs[event];
	uint64_t periods[EVENTS_STREAMS] = { s.attr.sample_period };
	const size_t n = streams(c, event);

	if (s.clock) {
		events_periods(&c->rng, c->rate, periods, n);
		x->rate = c->rate;
		x->period = (uint64_t)(1e9 / c->rate + 0.5);
	} else {
		x->period = s.attr.sample_period;
	}
	s.attr.enable_on_exec = c->options.on_exec && (!s.rotates || event == c->rotating);
	for (size_t i = 0; i < n; i++) {
		const int fd = event_open(&s, pid, cpu, periods[i], c->program.sample_fd[event]);

		if (fd < 0 && (errno == ESRCH || errno == ENODEV))
			return true; /* the thread ended, or the processor went off line */
		if (fd < 0)
			return err_set(
			    e, "cannot sample %s: %s%s", s.name, strerror(errno),
			    errno == EACCES || errno == EPERM ? "; it needs CAP_PERFMON, or root"
			    : errno == EMFILE ? "; raise the limit of open files (ulimit -n)"
					      : "");
		*ARRAY_ADD(x->fds, x->nfds) = fd;
	}
	return true;
}

/* Opens an event on all threads of a process; those that they start inherit it. */
static bool open_on_process(struct collector *c, uint32_t event, int32_t pid, struct err *e)
{
	char *path = x_asprintf("/proc/%d/task", pid);
	DIR *d = opendir(path);
	struct dirent *entry;
	bool ok = true;

	free(path);
	if (!d)
		return err_set(e, "there is no process %d", pid);
	while (ok && (entry = readdir(d)))
		if (entry->d_name[0] != '.')
			ok = open_on(c, event, atoi(entry->d_name), -1, e);
	closedir(d);
	return ok;
}

static void set_on(struct collector *c, uint32_t event, bool on)
{
	struct collected_event *x = &c->events[event];

	for (size_t i = 0; i < x->nfds; i++)
		ioctl(x->fds[i], on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

static uint32_t next_rotating(const struct collector *c, uint32_t from)
{
	for (uint32_t i = 1; i <= c->nevents; i++)
		if (c->list.specs[(from + i) % c->nevents].rotates)
			return (from + i) % c->nevents;
	return from;
}

void collector_rotate(struct collector *c)
{
	const uint32_t next = next_rotating(c, c->rotating);

	if (next == c->rotating)
		return;
	set_on(c, c->rotating, false);
	set_on(c, next, true);
	c->rotating = next;
}

/* Time that an event was on, by the kernel's clocks: the sum over its descriptors. */
static double on_ns(const struct collected_event *x)
{
	struct {
		uint64_t count, running;
	} now;
	double sum = 0;

	for (size_t i = 0; i < x->nfds; i++)
		if (read(x->fds[i], &now, sizeof(now)) == sizeof(now))
			sum += (double)now.running;
	return sum;
}

/* On processors, the share of all time. On tasks, which do not run all the time, the share of what all
 * that rotate have together: there is always one on. */
double collector_running(const struct collector *c, uint32_t event)
{
	const uint64_t end_ns = c->end_ns ? c->end_ns : sideband_now();
	const double own = on_ns(&c->events[event]);
	double all = (double)(end_ns - c->begin_ns) * (double)c->events[event].nfds;

	if (!c->list.specs[event].rotates || end_ns <= c->begin_ns)
		return 1;
	if (c->options.npids) {
		all = 0;
		for (uint32_t i = 0; i < c->nevents; i++)
			all += c->list.specs[i].rotates ? on_ns(&c->events[i]) : 0;
	}
	return all > own ? own / all : 1;
}

/* One descriptor per timer and processor: more than the usual limit on a large machine. */
static void raise_file_limit(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) == 0 && l.rlim_cur < l.rlim_max) {
		l.rlim_cur = l.rlim_max;
		setrlimit(RLIMIT_NOFILE, &l);
	}
}

bool collector_start(struct collector *c, struct err *e)
{
	bool ok = true;

	raise_file_limit();
	c->rotating = next_rotating(c, c->nevents - 1);
	for (uint32_t i = 0; i < c->nevents && ok; i++) {
		for (size_t k = 0; !c->options.npids && k < c->ncpus && ok; k++)
			ok = open_on(c, i, -1, c->cpus[k], e);
		for (size_t k = 0; k < c->options.npids && ok; k++)
			ok = open_on_process(c, i, c->options.pids[k], e);
		if (ok && !c->events[i].nfds)
			ok = err_set(e, "cannot sample %s: the processes have ended",
				     c->list.specs[i].name);
	}
	if (!ok)
		return false;
	c->begin_ns = sideband_now();
	const bool rotates = next_rotating(c, c->rotating) != c->rotating;

	for (uint32_t i = 0; i < c->nevents && !c->options.on_exec; i++)
		if (!c->list.specs[i].rotates || i == c->rotating)
			set_on(c, i, true);
	if (rotates) {
		const long ms = c->options.mux_ms ? (long)c->options.mux_ms : MUX_MS;
		const struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

		timerfd_settime(c->rotate_fd, 0, &(struct itimerspec){ t, t }, NULL);
	}
	return true;
}

void collector_stop(struct collector *c)
{
	for (uint32_t i = 0; i < c->nevents; i++)
		set_on(c, i, false);
	c->end_ns = sideband_now();
}

void collector_close_events(struct collector *c)
{
	for (uint32_t i = 0; i < c->nevents; i++) {
		for (size_t k = 0; k < c->events[i].nfds; k++)
			close(c->events[i].fds[k]);
		free(c->events[i].fds);
	}
}

void collector_set_rate(struct collector *c, double rate)
{
	c->rate = rate;
	for (uint32_t i = 0; i < c->nevents; i++) {
		struct collected_event *x = &c->events[i];
		const size_t n = streams(c, i);
		uint64_t periods[EVENTS_STREAMS];

		if (!c->list.specs[i].clock)
			continue;
		for (size_t k = 0; k + n <= x->nfds; k += n) {
			events_periods(&c->rng, rate, periods, n);
			for (size_t j = 0; j < n; j++)
				ioctl(x->fds[k + j], PERF_EVENT_IOC_PERIOD, &periods[j]);
		}
		x->rate = rate;
		x->period = (uint64_t)(1e9 / rate + 0.5);
	}
}

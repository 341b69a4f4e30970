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
#define FOLLOW_NS    1000000000u /* between two looks at which processors are on line */

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
		*ARRAY_ADD(x->fd_cpus, x->nfd_cpus) = cpu;
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
		free(c->events[i].fd_cpus);
	}
}

/* ---- Processors that come and go ---- */

/* The kernel ends the events of a processor that goes off line. Their descriptors are not good for anything
 * when it comes back. */
static void leave_cpu(struct collector *c, int cpu)
{
	for (uint32_t i = 0; i < c->nevents; i++) {
		struct collected_event *x = &c->events[i];
		int *fds = NULL, *cpus = NULL;
		size_t n = 0, ncpus = 0;

		for (size_t k = 0; k < x->nfds; k++) {
			if (x->fd_cpus[k] == cpu) {
				close(x->fds[k]);
				continue;
			}
			*ARRAY_ADD(fds, n) = x->fds[k];
			*ARRAY_ADD(cpus, ncpus) = x->fd_cpus[k];
		}
		free(x->fds);
		free(x->fd_cpus);
		x->fds = fds;
		x->fd_cpus = cpus;
		x->nfds = n;
		x->nfd_cpus = ncpus;
	}
}

static bool join_cpu(struct collector *c, int cpu, struct err *e)
{
	const int fd = sideband_add_cpu(c->sideband, cpu, e);

	if (fd < 0)
		return false;
	collector_watch(c, fd);
	for (uint32_t i = 0; i < c->nevents; i++) {
		struct collected_event *x = &c->events[i];
		const size_t first = x->nfds;

		if (!open_on(c, i, -1, cpu, e))
			return false;
		for (size_t k = first; k < x->nfds; k++)
			if (!c->list.specs[i].rotates || i == c->rotating)
				ioctl(x->fds[k], PERF_EVENT_IOC_ENABLE, 0);
	}
	return true;
}

static bool has_cpu(const int *cpus, size_t n, int cpu)
{
	for (size_t i = 0; i < n; i++)
		if (cpus[i] == cpu)
			return true;
	return false;
}

void collector_follow_cpus(struct collector *c)
{
	const uint64_t now = sideband_now();
	struct err e = { "" };
	size_t n;

	if (c->options.npids || now < c->next_cpus_ns)
		return;
	c->next_cpus_ns = now + FOLLOW_NS;
	int *online = collector_online(&n), *known = NULL;
	size_t nknown = 0;

	if (!n)
		return;
	for (size_t i = 0; i < c->ncpus; i++)
		if (!has_cpu(online, n, c->cpus[i]))
			leave_cpu(c, c->cpus[i]);
		else
			*ARRAY_ADD(known, nknown) = c->cpus[i];
	for (size_t i = 0; i < n; i++) {
		if (has_cpu(c->cpus, c->ncpus, online[i]))
			continue;
		if (!join_cpu(c, online[i], &e)) {
			warn("processor %d is not sampled: %s", online[i], e.text);
			leave_cpu(c, online[i]);
		}
		*ARRAY_ADD(known, nknown) = online[i];
	}
	free(online);
	free(c->cpus);
	c->cpus = known;
	c->ncpus = nknown;
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

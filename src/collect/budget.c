/* SPDX-License-Identifier: MIT */
/*
 * The budget: the highest rate at which sampling costs no more than the share of a processor that was
 * asked for. What an interrupt costs is measured on this machine: a loop of known work runs by turns
 * with and without a timer that fires 20,000 times a second into an empty program, and the medians
 * are compared. To that come the handler's own time, which the program measures on every 64th
 * sample, and the collector's processor time.
 */
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "collect/collector_int.h"

#define RATE_MAX       5200.0 /* dcpi1997 */
#define RATE_MIN       10.0
#define PROBE_NS       50000 /* period of the timer that is measured */
#define SLICE_NS       1500000
#define SLICES_FIRST   15
#define SLICES_AGAIN   5
#define COLLECTOR_PART 0.25    /* of the budget, until the collector's own time is known */
#define INTERRUPT_NS   13000.0 /* where it cannot be measured */
#define HANDLER_NS     1500.0  /* until it is known: of a miss, in cold caches */

static double thread_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

double collector_cpu_s(const struct collector *c)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9 - c->begin_cpu_s;
}

/* Time of so many steps of work. */
static double work(uint64_t steps)
{
	const double begin = thread_ns();
	uint64_t x = steps;

	for (uint64_t i = 0; i < steps; i++) {
		x = x * 6364136223846793005ull + 1442695040888963407ull;
		__asm__ volatile("" : "+r"(x));
	}
	return thread_ns() - begin;
}

static int order(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *x, size_t n)
{
	qsort(x, n, sizeof(*x), order);
	return x[n / 2];
}

/* What one interrupt into an empty program costs; 0: it cannot be measured. */
static double measure(const struct collector *c, size_t slices)
{
	double with[SLICES_FIRST], without[SLICES_FIRST];
	struct event_spec clock;
	struct err e;

	if (!events_encode("cpu-clock", c->options.kernel, &clock, &e))
		return 0;
	const int fd = event_open(&clock, 0, -1, PROBE_NS, c->program.empty_fd);

	free(clock.name);
	free(clock.actual);
	if (fd < 0)
		return 0;
	const double probe = work(100000);
	const uint64_t steps = (uint64_t)(100000.0 * SLICE_NS / (probe > 1 ? probe : 1)) + 1;

	for (size_t i = 0; i < slices; i++) {
		without[i] = work(steps);
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		with[i] = work(steps);
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	}
	close(fd);
	const double on = median(with, slices), off = median(without, slices);

	return on > off ? (on - off) / (on / PROBE_NS) : 0;
}

static double handler_ns(struct collector *c)
{
	const double ns = collector_status(c).handler_ns;

	return ns > 0 ? ns : HANDLER_NS;
}

/* collector: the collector's own share of a processor. */
static double rate_for(struct collector *c, double collector)
{
	const double rate =
	    (c->options.budget - collector) * 1e9 / (c->interrupt_ns + handler_ns(c));

	return rate > RATE_MAX ? RATE_MAX : rate < RATE_MIN ? RATE_MIN : rate;
}

void collector_choose(struct collector *c)
{
	c->interrupt_ns = measure(c, SLICES_FIRST);
	if (c->interrupt_ns <= 0)
		c->interrupt_ns = INTERRUPT_NS;
	c->rate =
	    c->options.rate > 0 ? c->options.rate : rate_for(c, c->options.budget * COLLECTOR_PART);
	c->adjusted_ns = sideband_now();
	c->adjusted_cpu_s = collector_cpu_s(c);
}

void collector_adjust(struct collector *c)
{
	const uint64_t now = sideband_now();
	const double cpu_s = collector_cpu_s(c), wall_s = (double)(now - c->adjusted_ns) / 1e9;

	if (c->options.rate > 0 || wall_s < 1)
		return;
	const double ns = measure(c, SLICES_AGAIN);

	/* One measurement on a busy machine is not trusted alone. */
	if (ns > 0)
		c->interrupt_ns = 0.7 * c->interrupt_ns + 0.3 * ns;
	const double collector = (cpu_s - c->adjusted_cpu_s) / wall_s / (double)c->ncpus;
	const double rate = rate_for(c, collector);

	c->adjusted_ns = now;
	c->adjusted_cpu_s = cpu_s;
	if (rate > 1.05 * c->rate || rate < 0.95 * c->rate)
		collector_set_rate(c, rate);
}

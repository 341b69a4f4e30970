/* SPDX-License-Identifier: MIT */
/*
 * The budget: the highest rate at which sampling costs no more than the share of a processor that was
 * asked for. What an interrupt costs is measured on this machine: a loop of known work runs by turns
 * with and without a timer that fires 20,000 times a second into an empty program, and the medians
 * are compared. To that come the handler's own time, which the program measures on every 64th
 * sample, and the collector's processor time. The first look is short, because starting is part of the
 * cost; others follow after 1, 3, 7, 15 and 31 seconds, and then every minute.
 */
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "collect/collector_int.h"
#include "collect/spending.h"

#define PROBE_NS       50000 /* period of the timer that is measured */
#define SLICE_NS       600000
#define SLICES_FIRST   9
#define SLICES_AGAIN   5
#define COLLECTOR_PART 0.25    /* of the budget at least, until a cut has shown what one takes */
#define INTERRUPT_NS   13000.0 /* where it cannot be measured */
#define HANDLER_NS     1500.0  /* until it is known: of a miss, in cold caches */
#define HANDLER_TIMED  16      /* it counts as so many that were timed */
#define MEASURE_NS     10000000000u /* between two measurements at least: each is 6 ms */
#define EARLY_S	       16	    /* between the last two early looks */

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

/* What a sample costs, and how many there were. */
static double sample_s(const struct collector *c, double *samples)
{
	double timed = HANDLER_TIMED, ns = HANDLER_TIMED * HANDLER_NS;

	*samples = 0;
	for (uint32_t i = 0; i < c->program.cpus; i++) {
		const struct sample_cpu *x = &c->program.cpu[i];

		timed += (double)(x->timed[0] + x->timed[1]);
		ns += (double)(x->timed_ns[0] + x->timed_ns[1]);
		for (uint32_t k = 0; k < c->nevents; k++)
			*samples += (double)x->now[k].taken;
	}
	return (c->interrupt_ns + ns / timed) / 1e9;
}

/* collector: the collector's own share of the machine. */
static double rate_for(const struct collector *c, double collector)
{
	double samples;
	const double each_s = sample_s(c, &samples), cpu_s = collector_cpu_s(c);

	if (!c->last_cut_ns && collector < c->options.budget * COLLECTOR_PART)
		collector = c->options.budget * COLLECTOR_PART;
	return spending_rate(
	    &(struct spending){ .budget = c->options.budget,
				.cpus = (double)c->ncpus,
				.life_s = (double)(sideband_now() - c->open_ns) / 1e9,
				.used_s = cpu_s + samples * each_s,
				.collector = collector,
				.sample_s = each_s });
}

uint64_t collector_next_look(const struct collector *c)
{
	const uint64_t second = 1000000000u, now = sideband_now();
	const uint64_t life = now - c->begin_ns;

	for (uint64_t s = 1; s <= EARLY_S; s *= 2)
		if (life < (2 * s - 1) * second)
			return c->begin_ns + (2 * s - 1) * second;
	/* Half a minute after the others, which are in the seconds of cuts. */
	return now + COLLECTOR_BUDGET_NS;
}

void collector_choose(struct collector *c)
{
	c->interrupt_ns = measure(c, SLICES_FIRST);
	if (c->interrupt_ns <= 0)
		c->interrupt_ns = INTERRUPT_NS;
	c->rate = c->options.rate > 0 ? c->options.rate : rate_for(c, 0);
	c->adjusted_ns = c->measured_ns = sideband_now();
	c->adjusted_cpu_s = collector_cpu_s(c);
}

void collector_adjust(struct collector *c)
{
	const uint64_t now = sideband_now();
	const double cpu_s = collector_cpu_s(c), wall_s = (double)(now - c->adjusted_ns) / 1e9;

	if (c->options.rate > 0 || wall_s < 0.5)
		return;
	if (now - c->measured_ns >= MEASURE_NS) {
		const double ns = measure(c, SLICES_AGAIN);

		c->measured_ns = now;
		/* One measurement on a busy machine is not trusted alone. */
		if (ns > 0)
			c->interrupt_ns = 0.7 * c->interrupt_ns + 0.3 * ns;
	}
	const double collector = (cpu_s - c->adjusted_cpu_s) / wall_s / (double)c->ncpus;
	const double rate = rate_for(c, collector);

	c->adjusted_ns = now;
	c->adjusted_cpu_s = cpu_s;
	if (rate > 1.05 * c->rate || rate < 0.95 * c->rate)
		collector_set_rate(c, rate);
}

/* SPDX-License-Identifier: MIT */
/*
 * Guest time and everything that happens at a time.
 *
 * Time is ticks (instructions, or cycles once the timing model reports them, unless the guest was told
 * to keep to instructions) divided by the clock rate, plus what was skipped while every thread waited. "Boot time" is the one scale in which
 * deadlines are kept; the wall clock is boot time plus a fixed epoch. With real_time both come from
 * the host.
 *
 * Timers (setitimer, timer_create, timerfd) live here; a timerfd is a host eventfd to which its
 * expirations are added, so that poll and epoll see it.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "guest/kernel/clock.h"
#include "guest/kernel/sched.h"
#include "guest/kernel/signal.h"
#include "guest/memory/copy.h"
#include "guest/process/process.h"
#include "guest/process/procs.h"

#define BOOT_NS	    (100 * NS_PER_SEC)	      /* uptime of the guest machine at its start */
#define EPOCH_NS    (1735689600 * NS_PER_SEC) /* 2025-01-01 */
#define TIMEBASE_HZ 10000000ull		      /* of the time CSR */

static uint64_t host_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
}

static uint64_t ticks(const struct guest *g)
{
	return g->cycle_mode ? g->tick_base + g->cycles : g->insts;
}

static uint64_t ticks_to_ns(const struct guest *g, uint64_t n)
{
	return g->clock.ns_per_tick == 1.0 ? n : (uint64_t)((double)n * g->clock.ns_per_tick);
}

uint64_t clock_cpu_ns(const struct guest *g)
{
	return g->config.real_time ? host_ns(CLOCK_PROCESS_CPUTIME_ID) : ticks_to_ns(g, ticks(g));
}

uint64_t clock_boot_ns(const struct guest *g)
{
	if (g->config.real_time)
		return host_ns(CLOCK_MONOTONIC);
	return BOOT_NS + ticks_to_ns(g, ticks(g)) + g->clock.skip_ns;
}

uint64_t clock_real_ns(const struct guest *g)
{
	if (g->config.real_time)
		return host_ns(CLOCK_REALTIME) + g->clock.offset_ns;
	return EPOCH_NS + clock_boot_ns(g) - BOOT_NS + g->clock.offset_ns;
}

bool clock_read(const struct guest *g, int id, uint64_t *ns)
{
	switch (id) {
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
	case CLOCK_REALTIME_ALARM:
	case CLOCK_TAI:
		*ns = clock_real_ns(g);
		return true;
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_RAW:
	case CLOCK_MONOTONIC_COARSE:
	case CLOCK_BOOTTIME:
	case CLOCK_BOOTTIME_ALARM:
		*ns = clock_boot_ns(g);
		return true;
	case CLOCK_PROCESS_CPUTIME_ID:
	case CLOCK_THREAD_CPUTIME_ID:
		*ns = clock_cpu_ns(g);
		return true;
	default:
		/* Negative ids name the CPU time of a process or thread: those that exist share the
		 * hart. */
		if (id < 0 && (id & 4) == 0 && (id & 3) != 3) {
			int pid = (int)(~(uint32_t)id >> 3);
			const struct proc_slot *s = pid > 0 ? proc_slot(g, pid) : NULL;

			*ns = clock_cpu_ns(g);
			return !pid || (s && s->guest_pid == pid);
		}
		return false;
	}
}

uint64_t clock_counter(void *ctx, unsigned csr, uint64_t executed)
{
	const struct guest *g = ctx;
	uint64_t now = ticks(g) + executed;

	if (csr == 0xc02)
		return g->insts + executed;
	if (csr == 0xc00)
		return g->clock.cpi == 1.0 ? now : (uint64_t)((double)now * g->clock.cpi);
	if (g->config.real_time)
		return clock_boot_ns(g) / (NS_PER_SEC / TIMEBASE_HZ);
	return (BOOT_NS + ticks_to_ns(g, now) + g->clock.skip_ns) / (NS_PER_SEC / TIMEBASE_HZ);
}

/* Ticks from now until it is later than boot_ns; at least 1. The moment does not depend on when this
 * is asked, so looking at the timers more often changes nothing. */
static uint64_t ticks_until(const struct guest *g, uint64_t boot_ns)
{
	uint64_t now = clock_boot_ns(g), at = ticks(g), passed = now - ticks_to_ns(g, at), t;
	double n;

	if (boot_ns <= now)
		return 1;
	n = (double)(boot_ns - now) / g->clock.ns_per_tick;
	if (n > 1e15)
		return n > 1e18 ? 1000000000000000000ull : (uint64_t)n + 1;
	t = (uint64_t)n + 1;
	/* Rounding may have put it one or two off. */
	while (t > 1 && passed + ticks_to_ns(g, at + t - 1) > boot_ns)
		t--;
	while (passed + ticks_to_ns(g, at + t) <= boot_ns)
		t++;
	return t;
}

uint64_t clock_insts_until(const struct guest *g, uint64_t boot_ns)
{
	/* With cycles or host time this is only when to look again. */
	if (g->config.real_time || g->cycle_mode)
		return 100000;
	return ticks_until(g, boot_ns);
}

uint64_t clock_cycles_at(const struct guest *g, uint64_t boot_ns)
{
	return g->cycles + ticks_until(g, boot_ns);
}

/* The current time on the timer's own clock. */
static uint64_t timer_now(const struct guest *g, const struct vtimer *v)
{
	uint64_t ns;

	if (v->cpu_clock)
		return clock_cpu_ns(g);
	return clock_read(g, v->clock, &ns) ? ns : clock_boot_ns(g);
}

uint64_t timers_next_ns(const struct guest *g)
{
	uint64_t next = NO_TIME;

	for (size_t i = 0; i < g->clock.ntimers; i++) {
		const struct vtimer *v = &g->clock.timers[i];
		uint64_t now, at;

		if (v->kind == TIMER_FREE || v->next_ns == NO_TIME)
			continue;
		now = timer_now(g, v);
		at = clock_boot_ns(g) + (v->next_ns > now ? v->next_ns - now : 0);
		next = min_u64(next, at);
	}
	return next;
}

static void fire(struct guest *g, size_t index, uint64_t count)
{
	struct vtimer *v = &g->clock.timers[index];
	siginfo_t info;

	if (v->kind == TIMER_FD) {
		ssize_t n = write(v->host_fd, &count, sizeof(count));

		(void)n; /* full: the guest has not read for 2^64 expirations */
		return;
	}
	if (v->notify_none)
		return;
	memset(&info, 0, sizeof(info));
	info.si_signo = v->signo;
	if (v->posix) {
		info.si_code = SI_TIMER;
		info.si_timerid = (int)index - TIMER_FIRST_POSIX;
		info.si_overrun = v->overrun = (int)min_u64(count - 1, INT32_MAX);
		info.si_value.sival_ptr = (void *)(uintptr_t)v->value;
	} else {
		info.si_code = SI_KERNEL;
	}
	signal_send(g, v->tid ? thread_find(g, v->tid) : NULL, &info);
}

void timers_fire(struct guest *g)
{
	for (size_t i = 0; i < g->clock.ntimers; i++) {
		struct vtimer *v = &g->clock.timers[i];
		uint64_t now, count = 1;

		if (v->kind == TIMER_FREE || v->next_ns == NO_TIME)
			continue;
		now = timer_now(g, v);
		if (v->next_ns > now)
			continue;
		if (v->interval_ns) {
			count += (now - v->next_ns) / v->interval_ns;
			v->next_ns += count * v->interval_ns;
		} else {
			v->next_ns = NO_TIME;
		}
		fire(g, i, count);
	}
}

void timer_release(struct guest *g, uint32_t index)
{
	struct vtimer *v = &g->clock.timers[index];

	if (v->kind == TIMER_FD)
		close(v->host_fd);
	memset(v, 0, sizeof(*v));
}

void timers_after_exec(struct guest *g, bool forked)
{
	for (size_t i = 0; i < g->clock.ntimers; i++) {
		struct vtimer *v = &g->clock.timers[i];

		if (v->kind != TIMER_SIGNAL)
			continue;
		if (v->posix)
			memset(v, 0, sizeof(*v));
		else if (forked)
			v->next_ns = NO_TIME;
	}
}

int timespec_in(struct guest *g, uint64_t addr, uint64_t *ns)
{
	int64_t ts[2];

	if (copy_in(g, ts, addr, sizeof(ts)) < 0)
		return -EFAULT;
	if (ts[0] < 0 || ts[1] < 0 || ts[1] >= (int64_t)NS_PER_SEC)
		return -EINVAL;
	*ns = (uint64_t)ts[0] > NO_TIME / 2 / NS_PER_SEC
		  ? NO_TIME / 2
		  : (uint64_t)ts[0] * NS_PER_SEC + (uint64_t)ts[1];
	return 0;
}

int timespec_out(struct guest *g, uint64_t addr, uint64_t ns)
{
	int64_t ts[2] = { (int64_t)(ns / NS_PER_SEC), (int64_t)(ns % NS_PER_SEC) };

	return copy_out(g, addr, ts, sizeof(ts));
}

uint64_t deadline_after(const struct guest *g, uint64_t ns)
{
	uint64_t now = clock_boot_ns(g);

	return ns >= NO_TIME / 2 ? NO_TIME - 1 : now + ns;
}

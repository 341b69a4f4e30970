/* SPDX-License-Identifier: MIT */
/* System calls about clocks and timers; time itself is in clock.c. */
#include <fcntl.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <sys/times.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

#include "guest/files/fd.h"
#include "guest/kernel/clock.h"
#include "guest/kernel/sched.h"
#include "guest/kernel/signal.h"
#include "guest/kernel/syscall.h"
#include "guest/memory/copy.h"
#include "guest/process/process.h"

int64_t sys_clock_gettime(struct guest *g, struct thread *t, const uint64_t *a)
{
	uint64_t ns;

	(void)t;
	return clock_read(g, (int)a[0], &ns) ? timespec_out(g, a[1], ns) : -EINVAL;
}

int64_t sys_clock_getres(struct guest *g, struct thread *t, const uint64_t *a)
{
	uint64_t ns;

	(void)t;
	if (!clock_read(g, (int)a[0], &ns))
		return -EINVAL;
	return a[1] ? timespec_out(g, a[1], 1) : 0;
}

int64_t sys_clock_settime(struct guest *g, struct thread *t, const uint64_t *a)
{
	uint64_t ns;

	(void)t;
	if ((int)a[0] != CLOCK_REALTIME)
		return -EINVAL;
	if (timespec_in(g, a[1], &ns) == -EFAULT)
		return -EFAULT;
	return -EPERM; /* the guest is not root */
}

int64_t sys_gettimeofday(struct guest *g, struct thread *t, const uint64_t *a)
{
	uint64_t now = clock_real_ns(g);
	int64_t tv[2] = { (int64_t)(now / NS_PER_SEC), (int64_t)(now % NS_PER_SEC / 1000) };
	int32_t zone[2] = { 0, 0 };

	(void)t;
	if (a[0] && copy_out(g, a[0], tv, sizeof(tv)) < 0)
		return -EFAULT;
	return a[1] ? copy_out(g, a[1], zone, sizeof(zone)) : 0;
}

int64_t sys_times(struct guest *g, struct thread *t, const uint64_t *a)
{
	int64_t out[4] = { (int64_t)(clock_cpu_ns(g) / 10000000), 0,
			   (int64_t)(g->family.children_cpu_ns / 10000000), 0 };

	(void)t;
	if (a[0] && copy_out(g, a[0], out, sizeof(out)) < 0)
		return -EFAULT;
	return (int64_t)(clock_boot_ns(g) / 10000000);
}

static int64_t adjtime_out(struct guest *g, uint64_t addr)
{
	uint64_t now = clock_real_ns(g);
	struct timex tx;

	if (copy_in(g, &tx, addr, sizeof(tx)) < 0)
		return -EFAULT;
	if (tx.modes)
		return -EPERM;
	memset(&tx, 0, sizeof(tx));
	tx.status = STA_UNSYNC;
	tx.tick = 10000;
	tx.time.tv_sec = (time_t)(now / NS_PER_SEC);
	tx.time.tv_usec = (suseconds_t)(now % NS_PER_SEC / 1000);
	return copy_out(g, addr, &tx, sizeof(tx)) < 0 ? -EFAULT : TIME_ERROR;
}

int64_t sys_adjtimex(struct guest *g, struct thread *t, const uint64_t *a)
{
	(void)t;
	return adjtime_out(g, a[0]);
}

int64_t sys_clock_adjtime(struct guest *g, struct thread *t, const uint64_t *a)
{
	(void)t;
	return (int)a[0] == CLOCK_REALTIME ? adjtime_out(g, a[1]) : -EINVAL;
}

/* ---- sleeping ---- */

static int64_t sleep_until(struct guest *g, struct thread *t, uint64_t deadline)
{
	if (t->wait.timed_out)
		return 0;
	if (!t->wait.started && deadline <= clock_boot_ns(g))
		return 0;
	return wait_begin(t, WAIT_TIME, deadline);
}

int64_t sys_nanosleep(struct guest *g, struct thread *t, const uint64_t *a)
{
	uint64_t ns;
	int err = timespec_in(g, a[0], &ns);

	if (err)
		return err;
	return sleep_until(g, t, deadline_after(g, ns));
}

int64_t sys_clock_nanosleep(struct guest *g, struct thread *t, const uint64_t *a)
{
	uint64_t ns, now;
	int err = timespec_in(g, a[2], &ns);

	if (err)
		return err;
	if (!clock_read(g, (int)a[0], &now) || (int)a[0] == CLOCK_THREAD_CPUTIME_ID)
		return -EINVAL;
	if ((int)a[1] & TIMER_ABSTIME)
		ns = ns > now ? ns - now : 0;
	return sleep_until(g, t, deadline_after(g, ns));
}

/* ---- timers ---- */

static size_t timer_alloc(struct guest *g)
{
	size_t i = TIMER_FIRST_POSIX;

	while (i < g->clock.ntimers && g->clock.timers[i].kind != TIMER_FREE)
		i++;
	if (i == g->clock.ntimers) {
		g->clock.timers = x_realloc(g->clock.timers, (i + 1) * sizeof(*g->clock.timers));
		g->clock.ntimers++;
	}
	memset(&g->clock.timers[i], 0, sizeof(g->clock.timers[i]));
	g->clock.timers[i].next_ns = NO_TIME;
	return i;
}

static uint64_t timer_now(const struct guest *g, const struct vtimer *v)
{
	uint64_t ns;

	if (v->cpu_clock)
		return clock_cpu_ns(g);
	return clock_read(g, v->clock, &ns) ? ns : clock_boot_ns(g);
}

static uint64_t timer_left(const struct guest *g, const struct vtimer *v)
{
	uint64_t now = timer_now(g, v);

	if (v->next_ns == NO_TIME)
		return 0;
	return v->next_ns > now ? v->next_ns - now : 1;
}

static void timer_arm(struct guest *g, struct vtimer *v, uint64_t value, uint64_t interval,
		      bool absolute)
{
	v->interval_ns = interval;
	if (!value)
		v->next_ns = NO_TIME;
	else
		v->next_ns = absolute ? value : timer_now(g, v) + value;
	v->overrun = 0;
	g->event_at = 0;
}

static struct vtimer *itimer(struct guest *g, uint64_t which)
{
	static const int signo[] = { SIGALRM, SIGVTALRM, SIGPROF };
	struct vtimer *v;

	if (which > 2)
		return NULL;
	v = &g->clock.timers[which];
	if (v->kind == TIMER_FREE)
		*v = (struct vtimer){ .kind = TIMER_SIGNAL,
				      .cpu_clock = which != 0,
				      .clock = CLOCK_MONOTONIC,
				      .signo = signo[which],
				      .next_ns = NO_TIME };
	return v;
}

static int64_t itimer_out(struct guest *g, uint64_t addr, const struct vtimer *v)
{
	uint64_t left = timer_left(g, v);
	int64_t tv[4] = { (int64_t)(v->interval_ns / NS_PER_SEC),
			  (int64_t)(v->interval_ns % NS_PER_SEC / 1000),
			  (int64_t)(left / NS_PER_SEC),
			  (int64_t)((left % NS_PER_SEC + 999) / 1000) };

	return copy_out(g, addr, tv, sizeof(tv));
}

int64_t sys_getitimer(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct vtimer *v = itimer(g, a[0]);

	(void)t;
	return v ? itimer_out(g, a[1], v) : -EINVAL;
}

int64_t sys_setitimer(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct vtimer *v = itimer(g, a[0]);
	int64_t tv[4] = { 0 };

	(void)t;
	if (!v)
		return -EINVAL;
	if (a[1] && copy_in(g, tv, a[1], sizeof(tv)) < 0)
		return -EFAULT;
	if (tv[0] < 0 || tv[2] < 0 || tv[1] < 0 || tv[1] >= 1000000 || tv[3] < 0 ||
	    tv[3] >= 1000000)
		return -EINVAL;
	if (a[2] && itimer_out(g, a[2], v) < 0)
		return -EFAULT;
	timer_arm(g, v, (uint64_t)tv[2] % 1000000000 * NS_PER_SEC + (uint64_t)tv[3] * 1000,
		  (uint64_t)tv[0] % 1000000000 * NS_PER_SEC + (uint64_t)tv[1] * 1000, false);
	return 0;
}

static bool is_cpu_clock(int clock)
{
	return clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID || clock < 0;
}

int64_t sys_timer_create(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct {
		uint64_t value;
		int32_t signo, notify, tid;
		uint8_t pad[44];
	} ev = { .signo = SIGALRM, .notify = SIGEV_SIGNAL };
	uint64_t ns;
	size_t i;
	int32_t id;

	if (!clock_read(g, (int)a[0], &ns))
		return -EINVAL;
	if (a[1] && copy_in(g, &ev, a[1], sizeof(ev)) < 0)
		return -EFAULT;
	if (ev.notify != SIGEV_SIGNAL && ev.notify != SIGEV_NONE && ev.notify != SIGEV_THREAD_ID)
		return -EINVAL;
	if (ev.notify != SIGEV_NONE && (ev.signo < 1 || ev.signo > GUEST_SIGNALS))
		return -EINVAL;
	if (ev.notify == SIGEV_THREAD_ID && !thread_find(g, (uint32_t)ev.tid))
		return -EINVAL;
	(void)t;
	i = timer_alloc(g);
	g->clock.timers[i] =
	    (struct vtimer){ .kind = TIMER_SIGNAL,
			     .posix = true,
			     .cpu_clock = is_cpu_clock((int)a[0]),
			     .clock = (int)a[0],
			     .next_ns = NO_TIME,
			     .signo = ev.signo,
			     .notify_none = ev.notify == SIGEV_NONE,
			     .tid = ev.notify == SIGEV_THREAD_ID ? (uint32_t)ev.tid : 0,
			     .value = a[1] ? ev.value : i - TIMER_FIRST_POSIX };
	id = (int32_t)(i - TIMER_FIRST_POSIX);
	if (copy_out(g, a[2], &id, sizeof(id)) < 0) {
		timer_release(g, (uint32_t)i);
		return -EFAULT;
	}
	return 0;
}

static struct vtimer *posix_timer(struct guest *g, uint64_t id)
{
	size_t i = (size_t)(uint32_t)id + TIMER_FIRST_POSIX;

	return i < g->clock.ntimers && g->clock.timers[i].kind == TIMER_SIGNAL &&
		       g->clock.timers[i].posix
		   ? &g->clock.timers[i]
		   : NULL;
}

static int64_t itimerspec_out(struct guest *g, uint64_t addr, const struct vtimer *v)
{
	uint64_t left = timer_left(g, v);

	if (timespec_out(g, addr, v->interval_ns) < 0)
		return -EFAULT;
	return timespec_out(g, addr + 16, left);
}

static int64_t itimerspec_set(struct guest *g, struct vtimer *v, bool absolute, uint64_t in,
			      uint64_t old)
{
	uint64_t interval, value;
	int err = timespec_in(g, in, &interval);

	if (!err)
		err = timespec_in(g, in + 16, &value);
	if (err)
		return err;
	if (old && itimerspec_out(g, old, v) < 0)
		return -EFAULT;
	timer_arm(g, v, value, interval, absolute);
	return 0;
}

int64_t sys_timer_settime(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct vtimer *v = posix_timer(g, a[0]);

	(void)t;
	return v ? itimerspec_set(g, v, (int)a[1] & TIMER_ABSTIME, a[2], a[3]) : -EINVAL;
}

int64_t sys_timer_gettime(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct vtimer *v = posix_timer(g, a[0]);

	(void)t;
	return v ? itimerspec_out(g, a[1], v) : -EINVAL;
}

int64_t sys_timer_getoverrun(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct vtimer *v = posix_timer(g, a[0]);

	(void)t;
	return v ? v->overrun : -EINVAL;
}

int64_t sys_timer_delete(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct vtimer *v = posix_timer(g, a[0]);

	(void)t;
	if (!v)
		return -EINVAL;
	memset(v, 0, sizeof(*v));
	return 0;
}

int64_t sys_timerfd_create(struct guest *g, struct thread *t, const uint64_t *a)
{
	uint64_t ns;
	int64_t fd;
	int host;
	size_t i;

	(void)t;
	if (!clock_read(g, (int)a[0], &ns) || is_cpu_clock((int)a[0]) ||
	    ((int)a[1] & ~(TFD_CLOEXEC | TFD_NONBLOCK)))
		return -EINVAL;
	host = eventfd(0, EFD_CLOEXEC | ((int)a[1] & TFD_NONBLOCK ? EFD_NONBLOCK : 0));
	if (host < 0)
		return -errno;
	fd = fd_install(g, host, 0, (int)a[1] & TFD_CLOEXEC, FD_TIMER);
	if (fd < 0)
		return fd;
	i = timer_alloc(g);
	g->clock.timers[i] = (struct vtimer){ .kind = TIMER_FD,
					      .clock = (int)a[0],
					      .next_ns = NO_TIME,
					      .host_fd = fcntl(host, F_DUPFD_CLOEXEC, 3) };
	g->fds[fd].timer = (uint32_t)i;
	g->fds[fd].internal = true;
	return fd;
}

int64_t sys_timerfd_settime(struct guest *g, struct thread *t, const uint64_t *a)
{
	const struct fd_entry *f = fd_get(g, a[0]);
	struct pollfd p;
	uint64_t count;
	int64_t r;

	(void)t;
	if (!f)
		return -EBADF;
	if (f->kind != FD_TIMER)
		return -EINVAL;
	r = itimerspec_set(g, &g->clock.timers[f->timer], (int)a[1] & TFD_TIMER_ABSTIME, a[2],
			   a[3]);
	/* Setting it forgets expirations that nobody read. */
	p = (struct pollfd){ .fd = f->host, .events = POLLIN };
	if (r == 0 && poll(&p, 1, 0) > 0 && read(f->host, &count, sizeof(count)) < 0)
		return -errno;
	return r;
}

int64_t sys_timerfd_gettime(struct guest *g, struct thread *t, const uint64_t *a)
{
	const struct fd_entry *f = fd_get(g, a[0]);

	(void)t;
	if (!f)
		return -EBADF;
	return f->kind == FD_TIMER ? itimerspec_out(g, a[1], &g->clock.timers[f->timer]) : -EINVAL;
}

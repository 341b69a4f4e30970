/* SPDX-License-Identifier: MIT */
/* The guest's clocks and timers. Time is counted in instructions or cycles, see clock.c. */
#ifndef GUEST_KERNEL_CLOCK_H
#define GUEST_KERNEL_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct guest;

#define NS_PER_SEC 1000000000ull
#define NO_TIME	   UINT64_MAX

enum timer_kind {
	TIMER_FREE,
	TIMER_SIGNAL,
	TIMER_FD,
};

struct vtimer {
	uint8_t kind; /* enum timer_kind */
	bool cpu_clock;
	bool posix;	  /* made by timer_create */
	int clock;	  /* as given by the guest */
	uint64_t next_ns; /* in its clock; NO_TIME: disarmed */
	uint64_t interval_ns;
	int signo;
	bool notify_none;
	uint64_t value; /* sigev_value */
	uint32_t tid;	/* the thread to signal; 0: the process */
	int overrun;
	int host_fd;
};
enum { TIMER_ITIMER_REAL, TIMER_ITIMER_VIRTUAL, TIMER_ITIMER_PROF, TIMER_FIRST_POSIX };

/* The part of a process that clock.c owns. */
struct clock {
	double ns_per_tick;
	double cpi;	    /* cycles that the counter shows for a tick */
	uint64_t skip_ns;   /* time that passed while every thread waited */
	uint64_t offset_ns; /* clock_settime */
	struct vtimer *timers;
	size_t ntimers;
};

uint64_t clock_boot_ns(const struct guest *g); /* guest time that deadlines are in */
uint64_t clock_cpu_ns(const struct guest *g);
uint64_t clock_real_ns(const struct guest *g); /* since 1970 */
bool clock_read(const struct guest *g, int id, uint64_t *ns);
uint64_t clock_counter(void *ctx, unsigned csr, uint64_t executed);
/* Instructions until boot_ns is reached, from now. */
uint64_t clock_insts_until(const struct guest *g, uint64_t boot_ns);
uint64_t clock_cycles_at(const struct guest *g, uint64_t boot_ns);
void timers_fire(struct guest *g);
uint64_t timers_next_ns(const struct guest *g); /* boot time of the next expiry, NO_TIME: none */
void timers_after_exec(struct guest *g, bool forked);
void timer_release(struct guest *g, uint32_t index);
/* Reads a struct timespec from guest memory: 0 and *ns, or -errno. */
int timespec_in(struct guest *g, uint64_t addr, uint64_t *ns);
int timespec_out(struct guest *g, uint64_t addr, uint64_t ns);
uint64_t deadline_after(const struct guest *g, uint64_t ns);

#endif

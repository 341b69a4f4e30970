/* SPDX-License-Identifier: MIT */
/*
 * A program whose course depends on the clock wherever it can: it waits actively, counts what it does
 * between two ticks of a timer, branches on the counters of the processor, and lets threads wait for
 * different times. What it prints depends on how fast time passes.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static volatile uint64_t ticks, work, mixed;

static uint64_t now(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t counter(int which)
{
	uint64_t v;

	if (which == 0)
		__asm__ volatile("rdcycle %0" : "=r"(v));
	else if (which == 1)
		__asm__ volatile("rdtime %0" : "=r"(v));
	else
		__asm__ volatile("rdinstret %0" : "=r"(v));
	return v;
}

static void on_tick(int signal)
{
	ticks++;
	mixed = mixed * 31 + work + counter(0);
}

static void *sleeper(void *arg)
{
	uint64_t ns = 20000 + 7000 * (uint64_t)(uintptr_t)arg;

	for (int i = 0; i < 6; i++) {
		struct timespec t = { 0, (long)ns };

		nanosleep(&t, NULL);
		mixed = mixed * 33 + counter(1) + (uint64_t)(uintptr_t)arg;
		for (uint64_t k = 0; k < mixed % 500; k++)
			work++;
	}
	return NULL;
}

int main(void)
{
	struct itimerval interval = { { 0, 37 }, { 0, 53 } };
	struct itimerspec every = { { 0, 11000 }, { 0, 11000 } };
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	uint64_t begin = now(CLOCK_MONOTONIC), expired = 0, loops = 0;
	pthread_t t[3];

	while (now(CLOCK_MONOTONIC) - begin < 30000)
		loops++;
	signal(SIGALRM, on_tick);
	setitimer(ITIMER_REAL, &interval, NULL);
	timerfd_settime(fd, 0, &every, NULL);
	for (uintptr_t i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, sleeper, (void *)i);
	while (ticks < 12) {
		uint64_t n;

		work++;
		if (counter(0) % 7 == 0)
			mixed += work;
		if (counter(2) % 5 == 0)
			mixed ^= counter(1);
		if (read(fd, &n, sizeof(n)) == sizeof(n))
			expired += n;
		if (ticks == 6 && work % 64 == 0)
			mixed += now(CLOCK_PROCESS_CPUTIME_ID) % 3;
	}
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	signal(SIGALRM, SIG_IGN);
	printf("%llu %llu %llu %llu %llu\n", (unsigned long long)loops, (unsigned long long)ticks,
	       (unsigned long long)expired, (unsigned long long)work, (unsigned long long)mixed);
	return (int)(mixed % 100);
}

/* SPDX-License-Identifier: MIT */
/* Tests futexes that have an owner (PI), by system calls and through the C library. It is compiled
 * for this machine and for the guest, and both must print the same. A thread id is printed as whose
 * it is. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOCK_PI2 13

static uint32_t word, word2, cond;
static volatile uint32_t other_tid;
static volatile int stage;

static long futex(uint32_t *at, int op, long val, void *timeout, uint32_t *at2, long val3)
{
	return syscall(SYS_futex, at, op, val, timeout, at2, val3);
}

static void say(const char *what, long result)
{
	uint32_t owner = word & FUTEX_TID_MASK;

	printf("%s: %ld %s; owner %s%s%s\n", what, result, result < 0 ? strerrorname_np(errno) : "",
	       owner == (uint32_t)syscall(SYS_gettid) ? "me"
	       : owner == other_tid && owner	      ? "other"
	       : owner				      ? "somebody"
						      : "nobody",
	       word & FUTEX_WAITERS ? ", waiters" : "", word & FUTEX_OWNER_DIED ? ", died" : "");
}
#define SAY(call) say(#call, call)

static void until(int n)
{
	while (stage != n)
		usleep(500);
}

static void until_waiters(const uint32_t *at)
{
	while (!(*(volatile const uint32_t *)at & FUTEX_WAITERS))
		usleep(500);
	usleep(20000);
}

static void *takes(void *arg)
{
	(void)arg;
	other_tid = (uint32_t)syscall(SYS_gettid);
	futex(&word, FUTEX_LOCK_PI, 0, NULL, NULL, 0);
	stage = 1;
	until(2);
	futex(&word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0);
	return NULL;
}

static void *waits(void *arg)
{
	long r = futex(&word, FUTEX_LOCK_PI, 0, NULL, NULL, 0);

	(void)arg;
	printf("waited: %ld, mine %d\n", r,
	       (word & FUTEX_TID_MASK) == (uint32_t)syscall(SYS_gettid));
	futex(&word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0);
	return NULL;
}

static void *dies(void *arg)
{
	(void)arg;
	other_tid = (uint32_t)syscall(SYS_gettid);
	futex(&word, FUTEX_LOCK_PI, 0, NULL, NULL, 0);
	stage = 1;
	until(2);
	until_waiters(&word);
	return NULL;
}

static void *waits_at(void *arg)
{
	long r = futex(&cond, FUTEX_WAIT_REQUEUE_PI, 0, NULL, &word2, 0);

	(void)arg;
	printf("requeued: %ld, mine %d\n", r,
	       (word2 & FUTEX_TID_MASK) == (uint32_t)syscall(SYS_gettid));
	futex(&word2, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0);
	return NULL;
}

static void calls(void)
{
	struct timespec past = { 1, 0 }, odd = { 0, -1 }, now;
	pthread_t t, u;

	SAY(futex(&word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0));
	SAY(futex(&word, FUTEX_LOCK_PI, 0, NULL, NULL, 0));
	SAY(futex(&word, FUTEX_LOCK_PI, 0, NULL, NULL, 0));
	SAY(futex(&word, FUTEX_TRYLOCK_PI, 0, NULL, NULL, 0));
	SAY(futex(&word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0));
	SAY(futex(&word, FUTEX_TRYLOCK_PI, 0, NULL, NULL, 0));
	SAY(futex(&word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0));
	SAY(futex(&word, LOCK_PI2, 0, NULL, NULL, 0));
	SAY(futex(&word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0));
	SAY(futex(&word, FUTEX_LOCK_PI | FUTEX_CLOCK_REALTIME, 0, NULL, NULL, 0));
	SAY(futex((void *)8, FUTEX_LOCK_PI, 0, NULL, NULL, 0));
	SAY(futex((void *)8, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0));
	SAY(futex((uint32_t *)((char *)&word + 1), FUTEX_LOCK_PI, 0, NULL, NULL, 0));
	word = 0x1ffffffe; /* no such thread */
	SAY(futex(&word, FUTEX_LOCK_PI, 0, NULL, NULL, 0));
	word = 0;
	pthread_create(&t, NULL, takes, NULL);
	until(1);
	SAY(futex(&word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0));
	SAY(futex(&word, FUTEX_TRYLOCK_PI, 0, NULL, NULL, 0));
	SAY(futex(&word, FUTEX_LOCK_PI, 0, &past, NULL, 0));
	SAY(futex(&word, FUTEX_LOCK_PI, 0, &odd, NULL, 0));
	clock_gettime(CLOCK_MONOTONIC, &now);
	now.tv_nsec += 5000000;
	if (now.tv_nsec >= 1000000000) {
		now.tv_sec++;
		now.tv_nsec -= 1000000000;
	}
	SAY(futex(&word, LOCK_PI2, 0, &now, NULL, 0));
	stage = 2;
	SAY(futex(&word, FUTEX_LOCK_PI, 0, NULL, NULL, 0));
	pthread_join(t, NULL);
	/* Unlocking hands the futex over to the waiter. */
	pthread_create(&t, NULL, waits, NULL);
	until_waiters(&word);
	futex(&word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0);
	pthread_join(t, NULL);
	SAY(0);
	/* The owner ends without unlocking. */
	stage = 0;
	pthread_create(&t, NULL, dies, NULL);
	until(1);
	stage = 2;
	SAY(futex(&word, FUTEX_LOCK_PI, 0, NULL, NULL, 0));
	pthread_join(t, NULL);
	futex(&word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0);
	SAY(0);
	/* Requeue from a plain futex to one with an owner. */
	SAY(futex(&cond, FUTEX_WAIT_REQUEUE_PI, 0, NULL, &cond, 0));
	SAY(futex(&cond, FUTEX_WAIT_REQUEUE_PI, 1, NULL, &word2, 0));
	SAY(futex(&cond, FUTEX_CMP_REQUEUE_PI, 2, (void *)1, &word2, 0));
	SAY(futex(&cond, FUTEX_CMP_REQUEUE_PI, 1, (void *)1, &word2, 1));
	SAY(futex(&cond, FUTEX_CMP_REQUEUE_PI, 1, (void *)1, &word2, 0));
	futex(&word2, FUTEX_LOCK_PI, 0, NULL, NULL, 0);
	pthread_create(&t, NULL, waits_at, NULL);
	pthread_create(&u, NULL, waits_at, NULL);
	usleep(50000);
	SAY(futex(&cond, FUTEX_CMP_REQUEUE_PI, 1, (void *)5, &word2, 0));
	futex(&word2, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0);
	pthread_join(t, NULL);
	pthread_join(u, NULL);
	pthread_create(&t, NULL, waits_at, NULL);
	usleep(50000);
	SAY(futex(&cond, FUTEX_CMP_REQUEUE_PI, 1, (void *)0, &word2, 0));
	pthread_join(t, NULL);
	printf("free: %u\n", word2);
}

static pthread_mutex_t *shared;
static long counter;

static void *counts(void *arg)
{
	for (int i = 0; i < 3000; i++) {
		pthread_mutex_lock(arg);
		counter++;
		if (i % 100 == 0)
			sched_yield();
		pthread_mutex_unlock(arg);
	}
	return NULL;
}

static void *keeps(void *arg)
{
	pthread_mutex_lock(arg);
	return NULL;
}

static void library(int robust, int pshared)
{
	pthread_mutexattr_t attr;
	pthread_t t[4];
	pid_t pid;
	int status;

	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_init(&attr);
	printf("protocol %d\n", pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT));
	if (robust)
		pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	if (pshared)
		pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(shared, &attr);
	counter = 0;
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, counts, shared);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	printf("counted %ld\n", counter);
	if (pshared) {
		pid = fork();
		if (!pid) {
			pthread_mutex_lock(shared);
			usleep(20000);
			if (!robust)
				pthread_mutex_unlock(shared);
			_exit(0);
		}
		waitpid(pid, &status, 0);
	} else if (robust) {
		pthread_create(&t[0], NULL, keeps, shared);
		pthread_join(t[0], NULL);
	}
	status = pthread_mutex_lock(shared);
	printf("lock: %s\n", status ? strerrorname_np(status) : "0");
	if (status == EOWNERDEAD)
		printf("consistent: %d\n", pthread_mutex_consistent(shared));
	printf("trylock: %s\n", strerrorname_np(pthread_mutex_trylock(shared)));
	printf("unlock: %d\n", pthread_mutex_unlock(shared));
	munmap(shared, 4096);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	calls();
	library(0, 0);
	library(1, 0);
	library(0, 1);
	library(1, 1);
	return 0;
}

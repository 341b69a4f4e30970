/* SPDX-License-Identifier: MIT */
/* Producers and consumers with mutex, condition variable, thread-local storage and a timed wait. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define COUNT 2000
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int queue[16], queued, done;
static long sum;
static __thread long made;

static void *produce(void *arg)
{
	for (int i = 1; i <= COUNT; i++) {
		pthread_mutex_lock(&lock);
		while (queued == 16)
			pthread_cond_wait(&changed, &lock);
		queue[queued++] = i;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
		made++;
	}
	return (void *)made;
}

static void *consume(void *arg)
{
	for (;;) {
		pthread_mutex_lock(&lock);
		while (!queued && !done)
			pthread_cond_wait(&changed, &lock);
		if (!queued) {
			pthread_mutex_unlock(&lock);
			return NULL;
		}
		sum += queue[--queued];
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
	}
}

int main(void)
{
	pthread_t producer[4], consumer[4];
	struct timespec before, until, after;
	long all = 0;
	int err;

	for (int i = 0; i < 4; i++) {
		pthread_create(&producer[i], NULL, produce, NULL);
		pthread_create(&consumer[i], NULL, consume, NULL);
	}
	for (int i = 0; i < 4; i++) {
		void *n;

		pthread_join(producer[i], &n);
		all += (long)n;
	}
	pthread_mutex_lock(&lock);
	done = 1;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < 4; i++)
		pthread_join(consumer[i], NULL);
	printf("sum %ld of %ld\n", sum, all);

	clock_gettime(CLOCK_REALTIME, &before);
	until = before;
	until.tv_sec += 100;
	pthread_mutex_lock(&lock);
	err = pthread_cond_timedwait(&changed, &lock, &until);
	clock_gettime(CLOCK_REALTIME, &after);
	printf("timed out %d after %ld s\n", err == ETIMEDOUT,
	       (long)(after.tv_sec - before.tv_sec));
	sleep(1000);
	return 0;
}

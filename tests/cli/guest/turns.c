/* SPDX-License-Identifier: MIT */
/* Two threads take turns: each adds up numbers, then wakes the other and waits for it. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#define TURNS 40

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned turn;
static volatile uint64_t sum;

static void *take_turns(void *own)
{
	const unsigned me = (unsigned)(uintptr_t)own;

	for (unsigned i = 0; i < TURNS; i++) {
		pthread_mutex_lock(&lock);
		while (turn % 2 != me)
			pthread_cond_wait(&changed, &lock);
		for (unsigned k = 0; k < (me ? 300 : 100); k++)
			sum += k;
		turn++;
		pthread_cond_signal(&changed);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(void)
{
	pthread_t other;

	pthread_create(&other, NULL, take_turns, (void *)1);
	take_turns((void *)0);
	pthread_join(other, NULL);
	printf("%llu\n", (unsigned long long)sum);
	return 0;
}

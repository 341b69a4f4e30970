/* SPDX-License-Identifier: MIT */
/*
 * A gate at which a thread that has nothing to do sleeps until another wakes it. Waking costs a
 * fence and a load if nobody sleeps; only the sleeper and a waker that sees it asleep take the
 * mutex.
 */
#ifndef TRACE_GATE_H
#define TRACE_GATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct gate {
	_Atomic bool asleep;
	pthread_mutex_t lock;
	pthread_cond_t wake;
};

static inline void gate_init(struct gate *g)
{
	atomic_init(&g->asleep, false);
	pthread_mutex_init(&g->lock, NULL);
	pthread_cond_init(&g->wake, NULL);
}

static inline void gate_free(struct gate *g)
{
	pthread_mutex_destroy(&g->lock);
	pthread_cond_destroy(&g->wake);
}

/* Call it after work was published. The fence pairs with the one in gate_sleep: either the sleeper
 * sees the work, or the waker sees the sleeper. */
static inline void gate_wake(struct gate *g)
{
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&g->asleep, memory_order_relaxed)) {
		pthread_mutex_lock(&g->lock);
		atomic_store_explicit(&g->asleep, false, memory_order_relaxed);
		pthread_cond_signal(&g->wake);
		pthread_mutex_unlock(&g->lock);
	}
}

static inline void gate_sleep(struct gate *g, bool (*has_work)(void *ctx), void *ctx)
{
	pthread_mutex_lock(&g->lock);
	atomic_store_explicit(&g->asleep, true, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
	while (!has_work(ctx) && atomic_load_explicit(&g->asleep, memory_order_relaxed))
		pthread_cond_wait(&g->wake, &g->lock);
	atomic_store_explicit(&g->asleep, false, memory_order_relaxed);
	pthread_mutex_unlock(&g->lock);
}

#endif

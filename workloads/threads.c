/* SPDX-License-Identifier: MIT */
/*
 * A pipeline of four threads that hand items through bounded queues, each guarded by one mutex and
 * two condition variables. Items keep their order, so the checksum does not depend on the schedule.
 *
 *      threads ITEMS [WORK]    WORK: mixing steps per item and stage
 */
#include <pthread.h>

#include "workload.h"

enum { STAGES = 4, DEPTH = 16 };

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t filled, drained;
	uint64_t item[DEPTH];
	unsigned first, count;
};

struct stage {
	struct queue *in, *out;
	uint64_t items, work, sum;
};

static void queue_put(struct queue *q, uint64_t item)
{
	pthread_mutex_lock(&q->lock);
	while (q->count == DEPTH)
		pthread_cond_wait(&q->drained, &q->lock);
	q->item[(q->first + q->count++) % DEPTH] = item;
	pthread_cond_signal(&q->filled);
	pthread_mutex_unlock(&q->lock);
}

static uint64_t queue_take(struct queue *q)
{
	uint64_t item;

	pthread_mutex_lock(&q->lock);
	while (!q->count)
		pthread_cond_wait(&q->filled, &q->lock);
	item = q->item[q->first];
	q->first = (q->first + 1) % DEPTH;
	q->count--;
	pthread_cond_signal(&q->drained);
	pthread_mutex_unlock(&q->lock);
	return item;
}

static void *stage_run(void *argument)
{
	struct stage *s = argument;

	for (uint64_t i = 0; i < s->items; i++) {
		uint64_t item = s->in ? queue_take(s->in) : i;

		for (uint64_t j = 0; j < s->work; j++)
			item = workload_mix(item, j);
		if (s->out)
			queue_put(s->out, item);
		else
			s->sum = workload_mix(s->sum, item);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t items = workload_arg(argc, argv, 1, 5000, 1, UINT64_MAX);
	uint64_t work = workload_arg(argc, argv, 2, 64, 0, UINT64_MAX);
	struct queue queues[STAGES - 1] = { 0 };
	struct stage stages[STAGES];
	pthread_t threads[STAGES];

	for (int i = 0; i < STAGES - 1; i++) {
		pthread_mutex_init(&queues[i].lock, NULL);
		pthread_cond_init(&queues[i].filled, NULL);
		pthread_cond_init(&queues[i].drained, NULL);
	}
	CULPRIT_BEGIN();
	for (int i = 0; i < STAGES; i++) {
		stages[i] = (struct stage){ .in = i ? &queues[i - 1] : NULL,
					    .out = i < STAGES - 1 ? &queues[i] : NULL,
					    .items = items,
					    .work = work };
		if (pthread_create(&threads[i], NULL, stage_run, &stages[i])) {
			fprintf(stderr, "threads: cannot start thread %d\n", i);
			return 1;
		}
	}
	for (int i = 0; i < STAGES; i++)
		pthread_join(threads[i], NULL);
	CULPRIT_END();
	return workload_print("threads", stages[STAGES - 1].sum);
}

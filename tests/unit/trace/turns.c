/* SPDX-License-Identifier: MIT */
/* 3670: what shards bring is taken in the order of batches, whoever brings it when. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "trace/turns.h"
#include "util/array.h"

#define BATCHES 2000
#define SHARDS	5

struct shared {
	struct turns turns;
	uint64_t taken[BATCHES];
	size_t ntaken;
};

struct worker {
	struct shared *shared;
	unsigned shard;
	pthread_t thread;
};

static bool take(void *ctx, const struct turn *turn, struct err *e)
{
	struct shared *s = ctx;
	const uint64_t *values = turn->data;

	for (size_t i = 0; i < turn->used; i++)
		s->taken[s->ntaken++] = values[i];
	return true;
}

/* Every third batch brings nothing, the one after it two values. */
static void bring(struct shared *s, struct turn *mine, uint64_t batch)
{
	uint64_t *values = mine->data;

	ARRAY_ROOM(values, mine->capacity, 2);
	mine->data = values;
	for (uint64_t k = batch; batch % 3 && k <= batch; k++)
		values[mine->used++] = k;
	if (!turns_bring(&s->turns, batch, mine, take, s, NULL) || mine->used)
		abort();
}

static void *work(void *ctx)
{
	struct worker *w = ctx;
	struct turn mine = { 0 };

	for (uint64_t batch = w->shard; batch < BATCHES; batch += SHARDS)
		bring(w->shared, &mine, batch);
	free(mine.data);
	return NULL;
}

static void check(const struct shared *s)
{
	size_t n = 0;

	for (uint64_t batch = 0; batch < BATCHES; batch++)
		if (batch % 3)
			assert_int_equal(s->taken[n++], batch);
	assert_int_equal(s->ntaken, n);
}

static void test_3670_batches_are_taken_in_order(void **state)
{
	static struct shared s;
	struct worker w[SHARDS];

	turns_init(&s.turns);
	for (unsigned i = 0; i < SHARDS; i++) {
		w[i] = (struct worker){ .shared = &s, .shard = i };
		assert_int_equal(pthread_create(&w[i].thread, NULL, work, &w[i]), 0);
	}
	for (unsigned i = 0; i < SHARDS; i++)
		pthread_join(w[i].thread, NULL);
	check(&s);
	turns_free(&s.turns);
}

static void test_3672_what_comes_last_first_waits_for_all_before_it(void **state)
{
	static struct shared s;
	struct turn mine = { 0 };

	turns_init(&s.turns);
	for (uint64_t batch = BATCHES; batch-- > 0;) {
		assert_int_equal(s.ntaken, 0);
		bring(&s, &mine, batch);
	}
	check(&s);
	free(mine.data);
	turns_free(&s.turns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_3670_batches_are_taken_in_order),
		cmocka_unit_test(test_3672_what_comes_last_first_waits_for_all_before_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Order among shards; turns.h. A shard is at most as far ahead as the bus has buffers, so little waits. */
#include "trace/turns.h"

#include <stdlib.h>

#include "util/array.h"

void turns_init(struct turns *t)
{
	*t = (struct turns){ .next = 0 };
	pthread_mutex_init(&t->lock, NULL);
}

void turns_free(struct turns *t)
{
	for (size_t i = 0; i < t->nwaiting; i++)
		free(t->waiting[i].data);
	for (size_t i = 0; i < t->nspare; i++)
		free(t->spare[i].data);
	free(t->waiting);
	free(t->spare);
	pthread_mutex_destroy(&t->lock);
}

bool turns_bring(struct turns *t, uint64_t index, struct turn *mine,
		 bool (*take)(void *ctx, const struct turn *turn, struct err *e), void *ctx,
		 struct err *e)
{
	bool ok = true;

	pthread_mutex_lock(&t->lock);
	mine->index = index;
	*ARRAY_ADD(t->waiting, t->nwaiting) = *mine;
	for (size_t i = 0; ok && i < t->nwaiting;) {
		struct turn *k = &t->waiting[i];

		if (k->index != t->next) {
			i++;
			continue;
		}
		ok = !k->used || take(ctx, k, e);
		*ARRAY_ADD(t->spare, t->nspare) =
		    (struct turn){ .data = k->data, .capacity = k->capacity };
		*k = t->waiting[--t->nwaiting];
		t->next++;
		i = 0;
	}
	*mine = t->nspare ? t->spare[--t->nspare] : (struct turn){ 0 };
	pthread_mutex_unlock(&t->lock);
	return ok;
}

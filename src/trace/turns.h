/* SPDX-License-Identifier: MIT */
/*
 * What shards of an analysis make of their batches, put back into the order of the batches: each
 * shard brings what it made (analysis.turn), and whoever brings the batch that comes next hands it on, and
 * what waits behind it. Nobody waits for anybody.
 */
#ifndef TRACE_TURNS_H
#define TRACE_TURNS_H

#include <pthread.h>
#include <stddef.h>

#include "util/util.h"

struct turn {
	uint64_t index; /* of the batch */
	void *data;	/* allocated; its memory is used again */
	size_t used, capacity;
};

struct turns {
	pthread_mutex_t lock;
	struct turn *waiting, *spare;
	size_t nwaiting, nspare;
	uint64_t next; /* batch that is handed on next */
};

void turns_init(struct turns *t);
void turns_free(struct turns *t);
/* Hands *mine, which is that of batch `index`, to `take` as soon as its turn has come. *mine is
 * another, empty one afterwards. */
bool turns_bring(struct turns *t, uint64_t index, struct turn *mine,
		 bool (*take)(void *ctx, const struct turn *turn, struct err *e), void *ctx,
		 struct err *e);

#endif

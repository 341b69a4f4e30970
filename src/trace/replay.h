/* SPDX-License-Identifier: MIT */
/* Feeds a trace file's records to a listener as the core would. */
#ifndef TRACE_REPLAY_H
#define TRACE_REPLAY_H

#include "trace/emit.h"
#include "trace/file_read.h"
#include "trace/twin.h"

struct replay_options {
	/* Called after every block with the instructions committed so far; false ends the replay.
	 */
	bool (*progress)(void *ctx, uint64_t insts);
	void *ctx;
	struct twin *twin; /* source of twin stamps if the listener wants them; or NULL */
};

/* Feeds all records. True when all have been delivered, or the listener or `progress` wanted no
 * more. */
bool replay_feed(struct trace_reader *r, struct emit *out, const struct replay_options *o,
		 struct err *e);

#endif

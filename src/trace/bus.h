/* SPDX-License-Identifier: MIT */
/*
 * The trace bus: takes the core's records and hands them to any number of analyses, in order,
 * losing nothing, mostly on other threads.
 *
 *      struct bus *b = bus_new(&config, &meta, &options);
 *      bus_add(b, &oracle, 1, &e); …           any number, before bus_start
 *      bus_start(b, &e);
 *      core_run(core with bus_emit(b)) …
 *      bus_stop(b, &e);                        all records have been seen by all
 *      bus_finish(b, store, &e);               results into the store, in the order of bus_add
 *      bus_free(b);
 */
#ifndef TRACE_BUS_H
#define TRACE_BUS_H

#include "trace/analysis.h"
#include "trace/emit.h"
#include "trace/trigger.h"

struct bus;

struct bus_config {
	unsigned workers;    /* threads that run analyses; 0: they run in the core's own thread */
	size_t memory_bytes; /* limit for all buffers; 0: 16 MiB; at least two are made */
	size_t batch_insts;  /* inst records, and cycle records, in a buffer; 0: a default */
	const struct region *regions; /* NULL: the whole run */
	size_t nregions;
	const struct trigger_cutter *before; /* regions continue from this state; or NULL */
	bool marks;			     /* notes speed and buffers over time: bus_marks */
};

/* How many worker threads suit this host for that many analyses: one core is left for the
 * simulator. */
unsigned bus_default_workers(unsigned nanalyses);

struct bus *bus_new(const struct bus_config *config, const struct trace_meta *meta,
		    const struct analysis_options *options);
/* Attaches an analysis; shards > 1 spreads it over that many workers, and needs its merge function.
 */
bool bus_add(struct bus *b, const struct analysis *a, unsigned shards, struct err *e);
bool bus_start(struct bus *b, struct err *e);
/* Where the core writes. Its `wants` is the union of what the analyses want. */
struct emit *bus_emit(struct bus *b);
/* Delivers the remaining records and waits for the workers. False, with the first failing
 * analysis's message, if one failed. */
bool bus_stop(struct bus *b, struct err *e);
bool bus_finish(struct bus *b, struct store *store, struct err *e);
void bus_free(struct bus *b);

/* Call it before this process is forked: returns when every worker sleeps. A worker inside an
 * analysis may hold a lock (of an allocator, say), for which the child would wait for ever. */
void bus_quiet(struct bus *b);
/* Call it in the forked process: the workers and the files of the analyses belong to the parent.
 * From then on b only follows its regions, for bus_regions; it must not be stopped or freed. */
void bus_forget(struct bus *b);
/* The state of the regions after all records emitted so far. */
struct trigger_cutter bus_regions(struct bus *b);

struct bus_stats {
	uint64_t batches, cycle_records, inst_records; /* inside regions */
	uint64_t waits;	 /* times the core had to wait for a free buffer */
	uint64_t helped; /* times that the core ran an analysis meanwhile */
	uint64_t cycles; /* covered, inside regions */
};
struct bus_stats bus_stats(const struct bus *b);

/* Speed and buffers at one time, about every BUS_MARK_NS of the run and at its end. */
#define BUS_MARK_NS 20000000
struct bus_mark {
	uint64_t ns, producer_ns; /* since the bus started; of it the producer's processor time */
	uint64_t cycle, insts;	  /* up to there records have been delivered */
	size_t waiting, buffers;  /* filled and not yet seen by all analyses; all that there are */
};
/* All of them, NULL if none were asked for; the bus's. */
const struct bus_mark *bus_marks(const struct bus *b, size_t *count);

#endif

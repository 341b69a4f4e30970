/* SPDX-License-Identifier: MIT */
/*
 * The trace bus, after TraceDoctor (tracedoctor2023 section 3). The core fills fixed-size
 * reference-counted buffers. Each is broadcast, in order, to every analysis's queue, and goes back
 * to the pool when the last analysis has released it. When no buffer is free the core waits, so
 * that nothing is ever dropped.
 *
 * Threads. There is one producer (the core's thread) and any number of workers. Buffers are
 * numbered, and an analysis's queue is the number of the buffer that it sees next. A worker with
 * nothing to do takes the analysis that is furthest behind and that no other thread holds, gives it
 * one buffer, and releases it. So all analyses see a buffer while it is in a near cache, and no
 * worker is idle while another has two analyses to serve. A core that would have to wait for a
 * buffer does the same if there are more analyses than workers. Workers search from the first
 * analysis, the core from the last, so that an analysis seldom moves from cache to cache.
 *
 * The pool is a stack. All threads push to it, but only the producer takes from it, and then takes
 * everything, so there is no ABA problem. Everything is lock-free; a mutex and a condition variable
 * are used only by a thread that found nothing to do, and by another that sees it asleep (gate.h).
 * A sleeping worker is woken only when several buffers wait for it, and a waiting core only when a
 * quarter of the buffers are free, so that neither is woken for every buffer. Buffers are small,
 * and the one that came back last is used first, so that the few in use stay in the core's near
 * caches.
 *
 * Invariants:
 * B1  a buffer is owned by exactly one of: the producer (being filled), the queues (references >
 *     0), the pool.
 * B2  every analysis sees every buffer, in the order in which they were filled.
 * B3  the ring has room for all buffers, so pushing never waits.
 * B4  an analysis's state is touched only by the thread that holds it, until bus_stop has joined
 *     the workers.
 * B5  a thread that found work looks again before it sleeps, so nothing is left behind; the core
 *     wakes the workers for what it leaves.
 */
#include "trace/bus.h"

#include "trace/gate.h"
#include "trace/spans.h"
#include "util/array.h"

#define WORKER_STACK_BYTES (8u << 20)

#include <pthread.h>
#include <sched.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CACHE_LINE     64
#define BATCH	       1024	  /* inst records in a buffer */
#define BATCH_SQUASHED 2048	  /* inst records in a buffer if squashed ones are wanted */
#define BATCH_EMPTY    (1u << 20) /* inst records in a buffer if they are only counted */
#define WAKE_INSTS     16384	  /* inst records that wait before a worker is woken */

struct buffer {
	struct buffer *next; /* in the pool */
	_Atomic unsigned references;
	uint64_t index; /* 0, 1, …: its place in the ring, and for shards */
	struct rec_cycle *cycles;
	struct rec_inst *insts;
	struct rec_miss *misses;
	struct rec_twin *twins;
	struct rec_issue *issues;
	struct trigger_slice *slices;
	size_t nslices, nmisses, ntwins, nissues, twins_capacity;
};

struct instance {
	alignas(CACHE_LINE) _Atomic size_t
	    next; /* the buffer that it sees next; moved by the thread that holds it */
	_Atomic bool held;
	const struct analysis *analysis;
	void *state;
	unsigned shard, shards;
	bool started;
};

struct worker {
	alignas(CACHE_LINE) struct gate gate;
	struct bus *bus;
	pthread_t thread;
	bool running;
};

struct bus {
	struct emit emit; /* first member: emit.full casts back to the bus */
	struct bus_config config;
	struct trace_meta meta;
	struct analysis_options options;
	struct trigger_cutter cutter;
	struct spans spans; /* used if there are regions and misses or a twin are wanted */

	struct instance **instances;
	size_t ninstances;
	struct worker *workers;
	size_t nworkers;

	struct buffer *buffers;
	size_t nbuffers, max_slices;
	struct buffer *current;	  /* being filled */
	struct buffer *free_list; /* buffers that were never used */
	struct buffer *recent;	  /* free buffers that the producer has taken from the pool */
	_Atomic(struct buffer *) pool;
	struct buffer **ring; /* by number; a power of two of slots */
	size_t mask;
	_Atomic size_t tail;		 /* number of the buffer that is filled next */
	_Atomic bool closing;		 /* no more buffers come */
	_Atomic size_t released, reused; /* buffers put into the pool so far, and taken from it */
	size_t wake_worker,
	    wake_core; /* waiting buffers that wake a worker; free ones that wake the core */
	struct gate pool_gate;

	_Atomic bool failed;
	pthread_mutex_t error_lock;
	struct err error;
	struct bus_stats stats;
	struct bus_mark *marks;
	size_t nmarks;
	uint64_t mark_from, mark_cpu_from, mark_cycle;
	bool started, stopped;
};

static void fail(struct bus *b, const char *name, const struct err *e)
{
	pthread_mutex_lock(&b->error_lock);
	if (!atomic_load(&b->failed))
		err_set(&b->error, "analysis %s: %.450s", name, e->text[0] ? e->text : "failed");
	atomic_store(&b->failed, true);
	pthread_mutex_unlock(&b->error_lock);
}

static void run_instance(struct bus *b, struct instance *in, const struct buffer *buf)
{
	const struct analysis *a = in->analysis;
	struct err e = { "" };
	if (in->shards > 1 && buf->index % in->shards != in->shard)
		return;
	if ((a->misses && b->emit.wants & WANT_MISSES &&
	     !a->misses(in->state, buf->misses, buf->nmisses, &e)) ||
	    (a->twins && b->emit.wants & WANT_TWIN &&
	     !a->twins(in->state, buf->twins, buf->ntwins, &e)) ||
	    (a->issues && buf->nissues && !a->issues(in->state, buf->issues, buf->nissues, &e))) {
		fail(b, a->name, &e);
		return;
	}
	for (size_t i = 0; i < buf->nslices; i++) {
		const struct trigger_slice *s = &buf->slices[i];
		bool ok = true;
		if (a->at)
			a->at(in->state, s->before);
		if (a->batch)
			ok = a->batch(in->state, buf->insts + s->inst0, s->inst1 - s->inst0,
				      buf->cycles + s->cycle0, s->cycle1 - s->cycle0, &e);
		if (ok && a->insts && s->inst1 > s->inst0)
			ok = a->insts(in->state, buf->insts + s->inst0, s->inst1 - s->inst0, &e);
		if (ok && a->cycles && s->cycle1 > s->cycle0)
			ok = a->cycles(in->state, buf->cycles + s->cycle0, s->cycle1 - s->cycle0,
				       &e);
		if (!ok) {
			fail(b, a->name, &e);
			return;
		}
	}
	if (in->shards > 1 && a->turn && !a->turn(in->state, buf->index, &e))
		fail(b, a->name, &e);
}

/* Compared as signed: a buffer can be taken before the worker that returned it has counted it. */
static bool has_enough(struct bus *b, size_t released)
{
	size_t reused = atomic_load_explicit(&b->reused, memory_order_relaxed);
	return (ptrdiff_t)(released - reused) >= (ptrdiff_t)b->wake_core;
}

static bool pool_has_enough(void *ctx)
{
	struct bus *b = ctx;
	return has_enough(b, atomic_load(&b->released));
}

static void buffer_release(struct bus *b, struct buffer *buf)
{
	if (atomic_fetch_sub_explicit(&buf->references, 1, memory_order_acq_rel) != 1)
		return;
	struct buffer *top = atomic_load_explicit(&b->pool, memory_order_relaxed);
	do
		buf->next = top;
	while (!atomic_compare_exchange_weak_explicit(&b->pool, &top, buf, memory_order_release,
						      memory_order_relaxed));
	/* A stale `reused` is too small: the core is woken too early, never too late. */
	if (has_enough(b, atomic_fetch_add(&b->released, 1) + 1))
		gate_wake(&b->pool_gate);
}

/* Buffers that the analysis has not seen; negative if it has seen more than `tail` says. */
static ptrdiff_t backlog(const struct instance *in, size_t tail)
{
	return (ptrdiff_t)(tail - atomic_load_explicit(&in->next, memory_order_relaxed));
}

static bool is_held(const struct instance *in)
{
	return atomic_load_explicit(&in->held, memory_order_relaxed);
}

/* Takes hold of the analysis that is furthest behind and that no thread holds. NULL: none has
 * work. */
static struct instance *take_behind(struct bus *b, bool last_first)
{
	for (;;) {
		size_t tail = atomic_load_explicit(&b->tail, memory_order_acquire);
		struct instance *best = NULL;
		ptrdiff_t behind = 0;
		for (size_t k = 0; k < b->ninstances; k++) {
			struct instance *in = b->instances[last_first ? b->ninstances - 1 - k : k];
			if (backlog(in, tail) > behind && !is_held(in)) {
				best = in;
				behind = backlog(in, tail);
			}
		}
		if (!best)
			return NULL;
		if (atomic_exchange_explicit(&best->held, true, memory_order_acquire))
			continue;
		if (backlog(best, tail) > 0)
			return best;
		atomic_store_explicit(&best->held, false, memory_order_release);
	}
}

/* Gives one analysis one buffer. False if there was nothing to do. After a failure buffers are only
 * released, so that the core does not wait for ever. */
static bool serve_one(struct bus *b, bool last_first)
{
	struct instance *in = take_behind(b, last_first);
	if (!in)
		return false;
	size_t next = atomic_load_explicit(&in->next, memory_order_relaxed);
	struct buffer *buf = b->ring[next & b->mask];
	if (!atomic_load_explicit(&b->failed, memory_order_relaxed))
		run_instance(b, in, buf);
	atomic_store_explicit(&in->next, next + 1, memory_order_relaxed);
	atomic_store_explicit(&in->held, false, memory_order_release);
	buffer_release(b, buf);
	return true;
}

static bool worker_has_work(void *ctx)
{
	struct bus *b = ((struct worker *)ctx)->bus;
	size_t tail = atomic_load_explicit(&b->tail, memory_order_acquire);
	for (size_t i = 0; i < b->ninstances; i++)
		if (backlog(b->instances[i], tail) > 0 && !is_held(b->instances[i]))
			return true;
	return atomic_load(&b->closing);
}

static void *worker_main(void *ctx)
{
	struct worker *w = ctx;
	for (;;) {
		while (serve_one(w->bus, false))
			;
		if (atomic_load(&w->bus->closing) && !serve_one(w->bus, false))
			return NULL;
		gate_sleep(&w->gate, worker_has_work, w);
	}
}

static void wake_workers(struct bus *b)
{
	for (size_t i = 0; i < b->nworkers; i++)
		gate_wake(&b->workers[i].gate);
}

static void publish(struct bus *b, struct buffer *buf)
{
	size_t tail = buf->index;
	atomic_store_explicit(&buf->references, (unsigned)b->ninstances, memory_order_relaxed);
	b->ring[tail & b->mask] = buf;
	atomic_store_explicit(&b->tail, tail + 1, memory_order_release);
	if ((tail + 1) % b->wake_worker == 0)
		wake_workers(b);
}

/* Waits until a quarter of the buffers are free. */
static void wait_for_buffers(struct bus *b)
{
	b->stats.waits++;
	wake_workers(b);
	uint64_t helped = b->stats.helped;
	while (!pool_has_enough(b)) {
		if (b->ninstances > b->nworkers && serve_one(b, true))
			b->stats.helped++;
		else
			gate_sleep(&b->pool_gate, pool_has_enough, b);
	}
	if (b->stats.helped != helped) /* B5 */
		wake_workers(b);
}

/* Takes a free buffer, the one that came back last first: it is still in a cache. */
static struct buffer *take_free(struct bus *b)
{
	if (!b->recent)
		b->recent = atomic_exchange_explicit(&b->pool, NULL, memory_order_acquire);
	while (!b->recent && !b->free_list) {
		wait_for_buffers(b);
		b->recent = atomic_exchange_explicit(&b->pool, NULL, memory_order_acquire);
	}
	struct buffer **list = b->recent ? &b->recent : &b->free_list;
	struct buffer *buf = *list;
	if (list == &b->recent)
		atomic_fetch_add_explicit(&b->reused, 1, memory_order_relaxed);
	*list = buf->next;
	return buf;
}

static void install(struct bus *b, struct buffer *buf)
{
	b->current = buf;
	b->emit.cycles = buf->cycles;
	b->emit.insts = buf->insts;
	b->emit.misses = buf->misses;
	b->emit.twins = buf->twins;
	b->emit.issues = buf->issues;
	b->emit.ncycles = b->emit.ninsts = b->emit.nmisses = b->emit.ntwins = b->emit.nissues = 0;
}

/* Keeps the misses and twin stamps that belong to regions. */
static void cut_more(struct bus *b, struct buffer *buf, size_t ncycles)
{
	buf->nmisses = b->emit.nmisses;
	buf->ntwins = b->emit.ntwins;
	buf->nissues = b->emit.nissues;
	if (!b->cutter.count || !(b->emit.wants & (WANT_MISSES | WANT_TWIN)))
		return;
	spans_add(&b->spans, buf->cycles, ncycles, buf->insts, b->emit.ninsts, buf->slices,
		  buf->nslices);
	buf->nmisses = spans_misses(&b->spans, buf->misses, buf->nmisses);
	buf->ntwins = spans_twins(&b->spans, &buf->twins, &buf->twins_capacity, buf->ntwins);
}

static void count(struct bus *b, struct buffer *buf)
{
	for (size_t i = 0; i < buf->nslices; i++) {
		struct trigger_slice *s = &buf->slices[i];
		s->before = b->stats.cycles;
		b->stats.cycle_records += s->cycle1 - s->cycle0;
		b->stats.inst_records += buf->nissues ? buf->nissues : s->inst1 - s->inst0;
		/* Only the first and last records are read: those between have left the nearest
		 * cache. */
		if (s->cycle1 > s->cycle0) {
			const struct rec_cycle *last = &buf->cycles[s->cycle1 - 1];
			b->stats.cycles +=
			    last->cycle + last->repeat - buf->cycles[s->cycle0].cycle;
		}
	}
	b->stats.batches++;
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t = { 0 };

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Notes speed and buffers if it is time to. */
static void mark(struct bus *b, bool always)
{
	const uint64_t ns = clock_ns(CLOCK_MONOTONIC) - b->mark_from;

	if (!always && b->nmarks && ns < b->marks[b->nmarks - 1].ns + BUS_MARK_NS)
		return;
	const size_t tail = atomic_load_explicit(&b->tail, memory_order_relaxed);
	struct bus_mark *m = ARRAY_ADD(b->marks, b->nmarks);

	*m = (struct bus_mark){ .ns = ns,
				.producer_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - b->mark_cpu_from,
				.cycle = b->mark_cycle,
				.insts = b->stats.inst_records,
				.buffers = b->nbuffers };
	for (size_t i = 0; b->nworkers && i < b->ninstances; i++) {
		const ptrdiff_t behind = backlog(b->instances[i], tail);
		m->waiting = behind > (ptrdiff_t)m->waiting ? (size_t)behind : m->waiting;
	}
}

static void deliver(struct bus *b)
{
	struct buffer *buf = b->current;
	size_t ncycles = b->emit.ncycles;
	buf->nslices = trigger_cut(&b->cutter, buf->cycles, &ncycles, buf->insts, b->emit.ninsts,
				   buf->slices, b->max_slices);
	/* Issue records are not made where there are regions. */
	if (!buf->nslices && b->emit.nissues)
		buf->slices[buf->nslices++] = (struct trigger_slice){ 0 };
	cut_more(b, buf, ncycles);
	if (!buf->nslices && !buf->nmisses && !buf->ntwins) {
		install(b, buf);
		return;
	}
	buf->index = atomic_load_explicit(&b->tail, memory_order_relaxed);
	count(b, buf);
	if (b->config.marks && buf->nslices) {
		const struct trigger_slice *s = &buf->slices[buf->nslices - 1];
		const struct rec_cycle *c = s->cycle1 ? &buf->cycles[s->cycle1 - 1] : NULL;
		const struct rec_inst *r = s->inst1 ? &buf->insts[s->inst1 - 1] : NULL;

		b->mark_cycle = c				     ? c->cycle + c->repeat
				: r && !(b->emit.wants & WANT_EMPTY) ? r->fetch + r->commit
								     : b->mark_cycle;
	}
	if (!b->nworkers) {
		for (size_t i = 0; i < b->ninstances && !atomic_load(&b->failed); i++)
			run_instance(b, b->instances[i], buf);
		atomic_store_explicit(&b->tail, buf->index + 1, memory_order_relaxed);
		install(b, buf);
	} else {
		publish(b, buf);
		install(b, take_free(b));
	}
	if (b->config.marks)
		mark(b, false);
	if (atomic_load_explicit(&b->failed, memory_order_relaxed))
		b->emit.stop = true;
}

static void bus_full(struct emit *e)
{
	deliver((struct bus *)e);
}

unsigned bus_default_workers(unsigned nanalyses)
{
	cpu_set_t set;
	unsigned ncpus = sched_getaffinity(0, sizeof(set), &set) ? 1 : (unsigned)CPU_COUNT(&set);
	return (unsigned)min_u64(ncpus - 1, nanalyses);
}

struct bus *bus_new(const struct bus_config *config, const struct trace_meta *meta,
		    const struct analysis_options *options)
{
	struct bus *b = x_calloc(1, sizeof(*b));
	b->config = *config;
	if (!b->config.memory_bytes)
		b->config.memory_bytes = 16u << 20;
	b->meta = *meta;
	b->options = *options;
	if (!b->options.period)
		b->options.period = 1000;
	b->cutter.count = config->nregions > REGION_MAX ? REGION_MAX : config->nregions;
	if (b->cutter.count)
		memcpy(b->cutter.regions, config->regions, b->cutter.count * sizeof(struct region));
	if (config->before) {
		b->cutter.inside = config->before->inside;
		b->cutter.current = config->before->current;
		b->cutter.seen = config->before->seen;
	}
	pthread_mutex_init(&b->error_lock, NULL);
	gate_init(&b->pool_gate);
	return b;
}

bool bus_add(struct bus *b, const struct analysis *a, unsigned shards, struct err *e)
{
	if (shards > 1 && !a->merge)
		return err_set(e, "analysis %s cannot be sharded: it does not know how to merge",
			       a->name);
	for (unsigned i = 0; i < (shards ? shards : 1); i++) {
		struct instance *in = x_aligned(sizeof(*in));
		*in = (struct instance){ .analysis = a, .shard = i, .shards = shards ? shards : 1 };
		in->state = x_calloc(1, a->state_size);
		*ARRAY_ADD(b->instances, b->ninstances) = in;
		b->options.shard = i;
		b->options.shards = in->shards;
		b->options.first = i ? b->instances[b->ninstances - 1 - i]->state : NULL;
		if (a->start && !a->start(in->state, &b->meta, &b->options, e))
			return false;
		in->started = true;
	}
	unsigned less = a->wants & WANT_LESS & (b->emit.wants ? b->emit.wants : WANT_LESS);
	b->emit.wants = ((b->emit.wants | a->wants) & ~(unsigned)WANT_LESS) | less;
	return true;
}

/* If all listeners look only at the same stretches, records are made for those alone. */
static void join_schedules(struct bus *b)
{
	for (size_t i = 0; i < b->ninstances; i++) {
		const struct instance *in = b->instances[i];
		const struct schedule mine = in->analysis->schedule
						 ? in->analysis->schedule(in->state)
						 : (struct schedule){ 0 };
		if (!i)
			b->emit.schedule = mine;
		else if (!schedule_same(&b->emit.schedule, &mine))
			b->emit.schedule.one_in = 0;
	}
	if (b->cutter.count ||
	    b->emit.wants & (WANT_CYCLES | WANT_SQUASHED | WANT_SQUASHED_EVENTS | WANT_EMPTY))
		b->emit.schedule.one_in = 0;
}

static void make_buffers(struct bus *b)
{
	/* Many times as many instructions must fit as can be squashed at once. */
	bool squashed = b->emit.wants & (WANT_SQUASHED | WANT_SQUASHED_EVENTS);
	size_t ninsts = b->config.batch_insts ? b->config.batch_insts
			: squashed ? max_u64(BATCH_SQUASHED, (size_t)4 * b->meta.rob_entries)
				   : BATCH;
	size_t ncycles = ninsts + 2 * REGION_MAX;
	/* Records that are only counted take no room, and workers need not be woken for them
	 * often. */
	const bool empty = b->emit.wants & WANT_EMPTY;
	const size_t nmisses = b->emit.wants & WANT_MISSES ? ninsts + EMIT_MISSES : 0;
	const size_t ntwins = b->emit.wants & WANT_TWIN ? ninsts : 0;
	const size_t nissues = b->emit.wants & WANT_ISSUES ? ninsts : 0;
	size_t each = (empty ? 0 : ninsts * sizeof(struct rec_inst)) +
		      ncycles * sizeof(struct rec_cycle) + nmisses * sizeof(struct rec_miss) +
		      ntwins * sizeof(struct rec_twin) + nissues * sizeof(struct rec_issue);
	size_t n = b->nworkers ? b->config.memory_bytes / each : 1;
	if (b->nworkers && n < 2)
		n = 2;
	b->nbuffers = n;
	b->wake_worker = max_u64(1, min_u64(WAKE_INSTS / ninsts, n / 4));
	b->wake_core = max_u64(1, n / 4);
	b->max_slices = b->cutter.count ? ninsts + 2 : 1;
	b->buffers = x_calloc(n, sizeof(*b->buffers));
	for (size_t i = 0; i < n; i++) {
		struct buffer *buf = &b->buffers[i];
		buf->cycles = x_aligned(ncycles * sizeof(*buf->cycles));
		buf->insts = x_aligned((empty ? 1 : ninsts) * sizeof(*buf->insts));
		buf->misses = nmisses ? x_aligned(nmisses * sizeof(*buf->misses)) : NULL;
		ARRAY_ROOM(buf->twins, buf->twins_capacity, ntwins);
		buf->issues = nissues ? x_aligned(nissues * sizeof(*buf->issues)) : NULL;
		buf->slices = x_malloc(b->max_slices * sizeof(*buf->slices));
		buf->next = b->free_list;
		b->free_list = buf;
	}
	b->emit.max_cycles = ninsts;
	b->emit.max_insts = empty ? max_u64(ninsts, BATCH_EMPTY) : ninsts;
	b->emit.max_misses = nmisses ? ninsts : 0;
	b->emit.max_twins = ntwins;
	b->emit.max_issues = nissues;
	b->emit.full = bus_full;
	struct buffer *first = b->free_list;
	b->free_list = first->next;
	install(b, first);
}

bool bus_start(struct bus *b, struct err *e)
{
	b->nworkers = min_u64(b->config.workers, b->ninstances);
	/* Regions are found in these records, even if no analysis wants them. */
	if (b->cutter.count)
		b->emit.wants = (b->emit.wants | WANT_CYCLES | WANT_INSTS) &
				~(unsigned)(WANT_LESS & ~WANT_BRIEF);
	/* A squashed instruction has no issue record. */
	if (b->emit.wants & (WANT_SQUASHED | WANT_SQUASHED_EVENTS))
		b->emit.wants &= ~(unsigned)WANT_ISSUES;
	join_schedules(b);
	make_buffers(b);
	b->started = true;
	b->mark_from = clock_ns(CLOCK_MONOTONIC);
	b->mark_cpu_from = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	if (!b->nworkers)
		return true;
	size_t slots = 2; /* B3 */
	while (slots < b->nbuffers)
		slots *= 2;
	b->ring = x_calloc(slots, sizeof(struct buffer *));
	b->mask = slots - 1;
	b->workers = x_aligned(b->nworkers * sizeof(*b->workers));
	memset(b->workers, 0, b->nworkers * sizeof(*b->workers));
	for (size_t i = 0; i < b->nworkers; i++) {
		gate_init(&b->workers[i].gate);
		b->workers[i].bus = b;
	}
	pthread_attr_t attr; /* the default stack is the main thread's limit, which may be tiny */
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, WORKER_STACK_BYTES);
	bool ok = true;
	for (size_t i = 0; ok && i < b->nworkers; i++) {
		if (pthread_create(&b->workers[i].thread, &attr, worker_main, &b->workers[i])) {
			ok = err_set(
			    e, "cannot start worker thread %zu of %zu; use fewer with --workers",
			    i + 1, b->nworkers);
			break;
		}
		b->workers[i].running = true;
		pthread_setname_np(b->workers[i].thread, "culprit worker");
	}
	pthread_attr_destroy(&attr);
	return ok;
}

struct emit *bus_emit(struct bus *b)
{
	return &b->emit;
}

static void join_workers(struct bus *b)
{
	if (!b->nworkers)
		return;
	atomic_store(&b->closing, true);
	wake_workers(b);
	while (b->ninstances > b->nworkers && serve_one(b, true))
		;
	for (size_t i = 0; i < b->nworkers; i++)
		if (b->workers[i].running) {
			pthread_join(b->workers[i].thread, NULL);
			b->workers[i].running = false;
		}
}

bool bus_stop(struct bus *b, struct err *e)
{
	if (!b->stopped) {
		b->stopped = true;
		if (b->emit.ncycles || b->emit.ninsts || b->emit.nmisses || b->emit.ntwins ||
		    b->emit.nissues)
			deliver(b);
		if (b->config.marks)
			mark(b, true);
		join_workers(b);
	}
	if (atomic_load(&b->failed))
		return err_set(e, "%s", b->error.text);
	return true;
}

bool bus_finish(struct bus *b, struct store *store, struct err *e)
{
	for (size_t i = 0; i < b->ninstances; i += b->instances[i]->shards) {
		struct instance *in = b->instances[i];
		for (unsigned k = 1; k < in->shards; k++)
			if (!in->analysis->merge(in->state, b->instances[i + k]->state, e))
				return false;
		if (in->analysis->finish && !in->analysis->finish(in->state, store, e))
			return false;
	}
	return true;
}

void bus_free(struct bus *b)
{
	if (!b)
		return;
	if (b->started && !b->stopped)
		join_workers(b);
	for (size_t i = 0; i < b->ninstances; i++) {
		struct instance *in = b->instances[i];
		if (in->started && in->analysis->free)
			in->analysis->free(in->state);
		free(in->state);
		free(in);
	}
	for (size_t i = 0; i < b->nworkers; i++)
		gate_free(&b->workers[i].gate);
	for (size_t i = 0; i < b->nbuffers; i++) {
		free(b->buffers[i].cycles);
		free(b->buffers[i].insts);
		free(b->buffers[i].misses);
		free(b->buffers[i].issues);
		free(b->buffers[i].twins);
		free(b->buffers[i].slices);
	}
	gate_free(&b->pool_gate);
	pthread_mutex_destroy(&b->error_lock);
	free(b->instances);
	free(b->workers);
	free(b->ring);
	free(b->buffers);
	spans_free(&b->spans);
	free(b->marks);
	free(b);
}

static bool is_behind(const struct bus *b)
{
	size_t tail = atomic_load_explicit(&b->tail, memory_order_relaxed);
	for (size_t i = 0; i < b->ninstances; i++)
		if (backlog(b->instances[i], tail) > 0)
			return true;
	return false;
}

/* Whether all workers are idle: one that has nothing to do and is marked asleep sleeps, or is about
 * to. */
static bool is_quiet(const struct bus *b)
{
	for (size_t i = 0; i < b->ninstances; i++)
		if (is_held(b->instances[i]))
			return false;
	for (size_t i = 0; i < b->nworkers; i++)
		if (!atomic_load(&b->workers[i].gate.asleep))
			return false;
	return true;
}

void bus_quiet(struct bus *b)
{
	while (b->nworkers && (is_behind(b) || !is_quiet(b))) {
		if (is_behind(b))
			wake_workers(b);
		sched_yield();
	}
}

void bus_forget(struct bus *b)
{
	b->ninstances = b->nworkers = 0;
}

struct trigger_cutter bus_regions(struct bus *b)
{
	if (b->emit.ncycles || b->emit.ninsts || b->emit.nissues)
		deliver(b);
	return b->cutter;
}

struct bus_stats bus_stats(const struct bus *b)
{
	return b->stats;
}

const struct bus_mark *bus_marks(const struct bus *b, size_t *count)
{
	*count = b->nmarks;
	return b->marks;
}

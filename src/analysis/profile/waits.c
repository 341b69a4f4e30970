/* SPDX-License-Identifier: MIT */
/*
 * Where threads were while they had not got the processor. A thread that lost it in a system call
 * which blocked waits until the instruction that ended the wait has committed; from then on, and
 * when it lost the processor in any other way, it is ready to run and another thread has the
 * processor. The kernel's list says which calls blocked and who ended the wait (trace/waits.h); when
 * that was, in cycles, follows from the records.
 *
 * Of each thread, running, waiting and being ready add up to the cycles from its first to its last,
 * or to the end of the run if it still waited then. A thread that has not run yet has no time.
 *
 * A wait that time or another process ended is over with the last system call, page fault or switch
 * before, because nothing marks the instruction itself.
 */
#include "analysis/profile/waits.h"

#include <stdlib.h>

#include "analysis/profile/cells.h"
#include "store/store.h"
#include "util/array.h"

static const char *const kind_names[TRACE_WAIT_KINDS] = {
	[TRACE_WAIT_TIME] = "time",	[TRACE_WAIT_FUTEX] = "lock",
	[TRACE_WAIT_FILES] = "files",	[TRACE_WAIT_CHILD] = "child",
	[TRACE_WAIT_SIGNAL] = "signal", [TRACE_WAIT_IPC] = "semaphore",
};

void waits_free(struct waits *w)
{
	free(w->stints);
	free(w->points);
}

void waits_note(struct waits *w, uint64_t po, uint64_t cycle)
{
	ARRAY_ROOM(w->points, w->cap_points, w->npoints + 1);
	w->points[w->npoints++] = (struct waits_point){ po, cycle };
}

void waits_switch(struct waits *w, uint32_t tid, uint64_t cycle, uint64_t last_po)
{
	if (w->count)
		w->stints[w->count - 1].last_po = last_po;
	ARRAY_ROOM(w->stints, w->capacity, w->count + 1);
	w->stints[w->count++] = (struct stint){ .begin = cycle, .last_po = UINT64_MAX, .tid = tid };
	waits_note(w, last_po, cycle);
}

/* ---- at the end ---- */

/* A thread's stint, with its end. */
struct turn {
	uint64_t begin, end, last_po;
	uint32_t tid;
};

static int by_thread(const void *x, const void *y)
{
	const struct turn *a = x, *b = y;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return a->begin < b->begin ? -1 : a->begin > b->begin;
}

static int by_thread_and_begin(const void *x, const void *y)
{
	const struct trace_wait *a = x, *b = y;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return a->begin < b->begin ? -1 : a->begin > b->begin;
}

/* How many of the points are not after instruction po. */
static size_t points_until(const struct waits *w, uint64_t po)
{
	return ARRAY_SEARCH(w->npoints, i, w->points[i].po <= po);
}

/* When instruction po had committed, as far as it was noted. */
static uint64_t cycle_of(const struct waits *w, uint64_t po)
{
	const size_t after = points_until(w, po);
	return after ? w->points[after - 1].cycle : 0;
}

/* A thread's waits by who ended them and what they were for. */
struct sum {
	uint64_t waits, cycles;
	uint32_t by, kind;
};

struct thread_sums {
	uint64_t ran, blocked, ready;
	struct sum *sums; /* one a wait; add_up() joins them */
	size_t nsums;
};

static void add_wait(struct thread_sums *t, const struct trace_wait *w, uint64_t cycles)
{
	struct sum *s = ARRAY_ADD(t->sums, t->nsums);

	*s = (struct sum){ 1, cycles, w->by, w->kind };
	t->blocked += cycles;
}

static int by_waker(const void *x, const void *y)
{
	const struct sum *a = x, *b = y;
	if (a->by != b->by)
		return a->by < b->by ? -1 : 1;
	return a->kind < b->kind ? -1 : a->kind > b->kind;
}

/* Joins waits that the same thread ended and that were for the same. A hostile trace may name another
 * thread in every wait, so they are sorted and not searched for. */
static void add_up(struct thread_sums *t)
{
	size_t n = 0;

	if (!t->nsums)
		return;
	qsort(t->sums, t->nsums, sizeof(*t->sums), by_waker);
	for (size_t i = 1; i < t->nsums; i++) {
		struct sum *s = &t->sums[n], *next = &t->sums[i];

		if (by_waker(s, next)) {
			t->sums[++n] = *next;
			continue;
		}
		s->waits += next->waits;
		s->cycles += next->cycles;
	}
	t->nsums = n + 1;
}

/* The time between two turns of a thread. Takes its waits from *seen on that began by then. */
static void between(const struct waits *w, struct thread_sums *t, const struct turn *turn,
		    uint64_t until, const struct trace_wait **seen, const struct trace_wait *end)
{
	uint64_t now = turn->end;
	while (*seen < end && (*seen)->tid == turn->tid && (*seen)->begin <= turn->last_po) {
		const struct trace_wait *v = (*seen)++;
		uint64_t over = v->end == UINT64_MAX ? until : min_u64(cycle_of(w, v->end), until);
		/* It blocked earlier in this turn, and nobody else got the processor. */
		if (v->begin != turn->last_po)
			over = now;
		over = max_u64(over, now);
		add_wait(t, v, over - now);
		now = over;
	}
	t->ready += until - now;
}

static bool put(struct store *s, uint32_t tid, struct thread_sums *t, struct err *e)
{
	add_up(t);
	bool ok = store_insert(s, e, "thread_time", "iiii", (int64_t)tid, (int64_t)t->ran,
			       (int64_t)t->blocked, (int64_t)t->ready);
	for (size_t i = 0; ok && i < t->nsums; i++)
		ok = store_insert(s, e, "thread_wait", "iisii", (int64_t)tid,
				  (int64_t)t->sums[i].by, kind_names[t->sums[i].kind],
				  (int64_t)t->sums[i].waits, (int64_t)t->sums[i].cycles);
	return ok;
}

bool waits_store(const struct waits *w, const struct trace_wait *seen, size_t nseen,
		 uint64_t cycles, struct store *s, struct err *e)
{
	if (w->count < 2 || !seen)
		return true;
	struct turn *turns = x_calloc(w->count + 1, sizeof(*turns));
	struct trace_wait *sorted = x_calloc(nseen + 1, sizeof(*sorted));
	bool ok = true;
	for (size_t i = 0; i < w->count; i++)
		turns[i] = (struct turn){ w->stints[i].begin,
					  i + 1 < w->count ? w->stints[i + 1].begin : cycles,
					  w->stints[i].last_po, w->stints[i].tid };
	qsort(turns, w->count, sizeof(*turns), by_thread);
	for (size_t i = 0; i < nseen; i++)
		sorted[i] = seen[i];
	qsort(sorted, nseen, sizeof(*sorted), by_thread_and_begin);
	const struct trace_wait *next = sorted, *end = sorted + nseen;
	struct thread_sums t = { 0 };
	for (size_t i = 0; ok && i < w->count; i++) {
		const struct turn *turn = &turns[i];
		const bool last = turns[i + 1].tid != turn->tid || i + 1 == w->count;
		while (next < end && next->tid < turn->tid)
			next++;
		t.ran += turn->end - turn->begin;
		if (!last) {
			between(w, &t, turn, turns[i + 1].begin, &next, end);
			continue;
		}
		/* Only a wait that is not over says that the thread is still there. */
		const bool waits = next < end && next->tid == turn->tid &&
				   next->begin == turn->last_po && next->end == UINT64_MAX;
		if (waits)
			between(w, &t, turn, cycles, &next, end);
		ok = put(s, turn->tid, &t, e);
		free(t.sums);
		t = (struct thread_sums){ 0 };
	}
	free(t.sums);
	free(turns);
	free(sorted);
	return ok;
}

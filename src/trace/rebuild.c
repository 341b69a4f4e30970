/* SPDX-License-Identifier: MIT */
/*
 * Instructions come in the order of fetch, and what happens in a cycle is known as soon as one comes
 * that was fetched after it: until then those in flight wait in a queue. Between two cycles in which
 * one of them is fetched, dispatched or leaves nothing changes that a record tells, so one record
 * stands for all of them.
 *
 * Dispatch, commits, squashes and flushes happen in the order of the queue, each with an index of its
 * own. Stamps that contradict it are moved forward as far as needed, so that any text gives a
 * pipeline.
 *
 * Why the front end delivers nothing, which misses are outstanding and what the oldest instruction
 * waits for follows from no stamp: these fields say "nothing".
 */
#include "trace/rebuild.h"

#include <stdlib.h>
#include <string.h>

#include "util/array.h"

#define NEVER	   UINT64_MAX
#define ISSUE_RING 4096 /* cycles ahead for which issues are counted */

struct flying {
	struct rec_inst inst;
	struct rebuild_flush flush;
	uint64_t fetch, dispatch, leave; /* dispatch: NEVER if it was not */
};

struct rebuild {
	struct emit *out;
	struct flying *queue;
	size_t count, capacity;
	/* The next to be fetched, to be dispatched, to commit, to be squashed, to begin a flush: all
	 * before have been, or are not of this kind. */
	size_t fetch, dispatch, commit, squash, flush;
	uint64_t used; /* entries of the ROB */
	bool begun;
	uint64_t now; /* the next cycle to write */
	uint64_t last_fetch, last_dispatch, last_squash, last_flush, last_commit;
	unsigned commits;	   /* in last_commit */
	uint64_t right_po;	   /* of the next instruction of the right path that is fetched */
	struct rebuild_flush last; /* flush */
	enum flush_cause cause;	   /* its cause, until the right path has dispatched */
	struct {
		uint64_t cycle;
		uint32_t count;
	} issues[ISSUE_RING];
};

struct rebuild *rebuild_new(struct emit *out)
{
	struct rebuild *r = x_calloc(1, sizeof(*r));

	r->out = out;
	return r;
}

void rebuild_free(struct rebuild *r)
{
	if (!r)
		return;
	free(r->queue);
	free(r);
}

uint64_t rebuild_last(const struct rebuild *r)
{
	return r->begun && r->now ? r->now - 1 : 0;
}

static bool commits(const struct flying *f)
{
	return f->inst.flags & RI_COMMITTED;
}

/* One that will be fetched again was on the right path, too. */
static bool right_path(const struct flying *f)
{
	return commits(f) || (f->flush.cause != FLUSH_NONE && f->flush.po == f->inst.po);
}

/* Moves the indices on to the next of their kind. */
static void skip(struct rebuild *r)
{
	while (r->dispatch < r->count && r->queue[r->dispatch].dispatch == NEVER)
		r->dispatch++;
	while (r->commit < r->count && !commits(&r->queue[r->commit]))
		r->commit++;
	while (r->squash < r->count && commits(&r->queue[r->squash]))
		r->squash++;
	while (r->flush < r->count && r->queue[r->flush].flush.cause == FLUSH_NONE)
		r->flush++;
}

static size_t oldest_needed(const struct rebuild *r)
{
	return min_u64(min_u64(r->fetch, r->dispatch),
		       min_u64(min_u64(r->commit, r->squash), r->flush));
}

/* Forgets those that have left. */
static void compact(struct rebuild *r)
{
	const size_t gone = oldest_needed(r);

	if (gone < 1024 || gone < r->count / 2)
		return;
	memmove(r->queue, r->queue + gone, (r->count - gone) * sizeof(*r->queue));
	r->count -= gone;
	r->fetch -= gone;
	r->dispatch -= gone;
	r->commit -= gone;
	r->squash -= gone;
	r->flush -= gone;
}

static void count_issue(struct rebuild *r, const struct rec_inst *inst)
{
	const uint64_t cycle = inst->fetch + inst->issue;

	if (inst->issue == STAMP_NONE || cycle < r->now || cycle - r->now >= ISSUE_RING)
		return;
	if (r->issues[cycle % ISSUE_RING].cycle != cycle)
		r->issues[cycle % ISSUE_RING].count = 0;
	r->issues[cycle % ISSUE_RING].cycle = cycle;
	r->issues[cycle % ISSUE_RING].count++;
}

static uint16_t count_issued(const struct rebuild *r, uint64_t from, uint64_t repeat)
{
	uint64_t n = 0;

	for (uint64_t t = from; t < from + min_u64(repeat, ISSUE_RING); t++)
		if (r->issues[t % ISSUE_RING].cycle == t)
			n += r->issues[t % ISSUE_RING].count;
	return (uint16_t)min_u64(n, UINT16_MAX);
}

/* The oldest instruction in the ROB at the start of the cycle, if there is one. */
static const struct flying *head(const struct rebuild *r)
{
	const size_t i = min_u64(r->commit, r->squash);

	return r->used && i < r->count ? &r->queue[i] : NULL;
}

static bool done(const struct flying *f, uint64_t now)
{
	return f->inst.complete != STAMP_NONE && f->inst.fetch + f->inst.complete <= now;
}

/* What holds when the cycle begins. */
static void begin_cycle(const struct rebuild *r, struct rec_cycle *c)
{
	const struct flying *oldest = head(r);
	const struct flying *fetched = r->fetch < r->count ? &r->queue[r->fetch] : NULL;

	*c = (struct rec_cycle){ .cycle = r->now,
				 .flush_po = r->last.po,
				 .flush_pc = r->last.pc,
				 .flush_cause = (uint8_t)r->cause,
				 .rob_used = (uint16_t)min_u64(r->used, UINT16_MAX),
				 .fetch_po = r->right_po };
	if (oldest) {
		c->head_po = oldest->inst.po;
		c->head_pc = oldest->inst.pc;
		c->flags |= done(oldest, r->now) ? RC_HEAD_DONE : 0;
	} else {
		c->flags |= RC_ROB_EMPTY;
	}
	if (fetched) {
		c->fetch_seq = fetched->inst.seq;
		c->fetch_pc = fetched->inst.pc;
		c->flags |= commits(fetched) ? 0 : RC_WRONG_PATH;
	}
}

/* Squashed instructions that leave in this cycle. */
static void squash(struct rebuild *r, bool one_by_one)
{
	const bool wanted = r->out->wants & (WANT_SQUASHED | WANT_SQUASHED_EVENTS);

	for (; r->squash < r->count && r->queue[r->squash].leave == r->now; r->squash++, skip(r)) {
		r->used -= r->queue[r->squash].dispatch != NEVER;
		if (wanted && one_by_one)
			emit_reserve(r->out, 1);
		if (wanted)
			emit_copy_inst(r->out, &r->queue[r->squash].inst);
	}
}

/* Instructions that leave in this cycle, in the batch that gets its record. First come those that
 * commit, unless more are squashed than a batch has room for. */
static void leave(struct rebuild *r, struct rec_cycle *c)
{
	size_t n = REBUILD_WIDTH;

	for (size_t i = r->squash; i < r->count; i++) {
		if (commits(&r->queue[i]))
			continue;
		if (r->queue[i].leave != r->now)
			break;
		n++;
	}
	if (n > r->out->max_insts) {
		squash(r, true);
		n = REBUILD_WIDTH;
	}
	emit_reserve(r->out, n);
	for (; r->commit < r->count && r->queue[r->commit].leave == r->now; r->commit++, skip(r)) {
		emit_copy_inst(r->out, &r->queue[r->commit].inst);
		c->ncommit++;
		r->used--;
	}
	squash(r, false);
}

static void dispatch(struct rebuild *r, struct rec_cycle *c)
{
	for (; r->dispatch < r->count && r->queue[r->dispatch].dispatch == r->now;
	     r->dispatch++, skip(r)) {
		const struct flying *f = &r->queue[r->dispatch];

		if (!c->ndispatch) {
			c->dispatch_seq = f->inst.seq;
			c->dispatch_pc = f->inst.pc;
			c->flags |= commits(f) ? 0 : RC_DISPATCH_WRONG;
		}
		c->ndispatch = (uint8_t)min_u64(c->ndispatch + 1u, UINT8_MAX);
		r->used++;
		if (right_path(f))
			r->cause = FLUSH_NONE;
	}
}

static void fetch(struct rebuild *r, struct rec_cycle *c)
{
	for (; r->fetch < r->count && r->queue[r->fetch].fetch == r->now; r->fetch++) {
		c->nfetch = (uint8_t)min_u64(c->nfetch + 1u, UINT8_MAX);
		if (commits(&r->queue[r->fetch]))
			r->right_po = r->queue[r->fetch].inst.po + 1;
	}
}

/* A flush that happened in this cycle holds from the next one on. */
static void flush(struct rebuild *r, struct rec_cycle *c)
{
	for (; r->flush < r->count && r->queue[r->flush].flush.cycle <= r->now;
	     r->flush++, skip(r)) {
		r->last = r->queue[r->flush].flush;
		r->cause = r->last.cause;
		c->flags |= RC_FLUSH;
	}
}

/* The next cycle, at most `limit`, in which a record may tell something else. */
static uint64_t next_change(const struct rebuild *r, uint64_t limit)
{
	const struct flying *q = r->queue, *oldest = head(r);
	uint64_t next = limit;

	if (r->fetch < r->count)
		next = min_u64(next, q[r->fetch].fetch);
	if (r->dispatch < r->count)
		next = min_u64(next, q[r->dispatch].dispatch);
	if (r->commit < r->count)
		next = min_u64(next, q[r->commit].leave);
	if (r->squash < r->count)
		next = min_u64(next, q[r->squash].leave);
	if (r->flush < r->count)
		next = min_u64(next, q[r->flush].flush.cycle);
	if (oldest && oldest->inst.complete != STAMP_NONE && !done(oldest, r->now))
		next = min_u64(next, oldest->inst.fetch + oldest->inst.complete);
	return max_u64(next, r->now + 1);
}

/* Writes all cycles before `limit`. */
static void advance(struct rebuild *r, uint64_t limit)
{
	while (r->now < limit && !r->out->stop) {
		struct rec_cycle c;

		begin_cycle(r, &c);
		fetch(r, &c);
		leave(r, &c);
		dispatch(r, &c);
		flush(r, &c);
		c.dispatch_stall =
		    c.ndispatch || r->dispatch < r->fetch ? DISPATCH_OK : DISPATCH_EMPTY;
		const bool quiet = !(c.nfetch | c.ncommit | c.ndispatch | (c.flags & RC_FLUSH));
		const uint64_t repeat = quiet ? next_change(r, limit) - r->now : 1;

		c.repeat = (uint32_t)min_u64(repeat, UINT32_MAX);
		c.nissue = count_issued(r, r->now, c.repeat);
		r->now += c.repeat;
		if (r->out->wants & WANT_CYCLES)
			*emit_cycle(r->out) = c;
	}
}

/* When a committed instruction leaves: after those before it, and no more in a cycle than can. */
static uint64_t commit_cycle(struct rebuild *r, const struct flying *f, uint64_t stamp)
{
	uint64_t leave = max_u64(max_u64(stamp, f->dispatch + 1), r->last_commit);

	if (leave == r->last_commit && r->commits >= REBUILD_WIDTH)
		leave++;
	r->commits = leave == r->last_commit ? r->commits + 1 : 1;
	r->last_commit = leave;
	return leave;
}

bool rebuild_add(struct rebuild *r, const struct rec_inst *inst, const struct rebuild_flush *why,
		 struct err *e)
{
	if (!r->begun) {
		r->begun = true;
		r->now = r->last_fetch = inst->fetch;
		r->right_po = 1;
	}
	if (r->count - oldest_needed(r) >= REBUILD_FLIGHT_MAX)
		return err_set(e, "more than %d instructions are in flight at once",
			       REBUILD_FLIGHT_MAX);
	ARRAY_ROOM(r->queue, r->capacity, r->count + 1);

	struct flying *f = &r->queue[r->count++];

	*f = (struct flying){ .inst = *inst, .flush = *why };
	f->inst.fetch = f->fetch = r->last_fetch = max_u64(inst->fetch, r->last_fetch);
	if (f->flush.cause != FLUSH_NONE)
		f->flush.cycle = r->last_flush =
		    max_u64(max_u64(why->cycle, r->last_flush), r->now);
	f->dispatch = inst->dispatch == STAMP_NONE && !commits(f)
			  ? NEVER
			  : max_u64(max_u64(f->fetch, r->last_dispatch),
				    inst->dispatch == STAMP_NONE ? 0 : f->fetch + inst->dispatch);
	const uint64_t stamp = f->fetch + inst->commit;

	if (commits(f)) {
		f->leave = commit_cycle(r, f, stamp);
	} else {
		f->leave = r->last_squash = max_u64(stamp, r->last_squash);
		f->dispatch = f->dispatch < f->leave ? f->dispatch : NEVER;
	}
	if (f->dispatch != NEVER)
		r->last_dispatch = f->dispatch;
	f->inst.commit = (uint32_t)(f->leave - f->fetch);
	count_issue(r, &f->inst);
	skip(r);
	advance(r, f->fetch);
	compact(r);
	return true;
}

void rebuild_end(struct rebuild *r)
{
	if (r->begun)
		advance(r, r->last_commit + 1);

	const uint64_t end = r->now;

	while (r->squash < r->count && !r->out->stop) { /* those that leave after the last commit */
		r->now = r->queue[r->squash].leave;
		squash(r, true);
	}
	r->now = end;
}

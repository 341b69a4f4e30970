/* SPDX-License-Identifier: MIT */
/*
 * System V IPC in a checkpoint: segments with their content, semaphores, queues of messages, who waits for what. The
 * tables are larger than what is in them, so that only rows in use are walked, each with its index.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest/checkpoint/checkpoint.h"
#include "guest/checkpoint/parts.h"
#include "guest/kernel/ipc.h"
#include "guest/kernel/ipc_int.h"
#include "guest/memory/mem.h"
#include "guest/process/process.h"

#define SEGMENT_PAGES (1u << 26)

static void head_state(struct state *s, struct ipc_head *h)
{
	struct ipc_perm64 *p = &h->perm;

	state_bool(s, &h->used);
	state_i32(s, &h->id);
	state_i64(s, &h->ctime);
	state_i32(s, &p->key);
	state_u32(s, &p->uid);
	state_u32(s, &p->gid);
	state_u32(s, &p->cuid);
	state_u32(s, &p->cgid);
	state_u32(s, &p->mode);
	state_u16(s, &p->seq);
}

/* The pages of a segment that are not zero. */
static void segment_content(struct guest *g, struct state *s, const struct ipc_segment *m)
{
	const uint64_t pages = page_up(m->size_bytes) / GUEST_PAGE_BYTES;
	uint8_t page[GUEST_PAGE_BYTES];
	uint64_t at = 0;

	for (;;) {
		if (!state_reading(s)) {
			while (at < pages &&
			       (pread(g->shared_fd, page, sizeof(page),
				      (off_t)(m->offset + at * GUEST_PAGE_BYTES)) != sizeof(page) ||
				page_is_zero(page)))
				at++;
		}
		state_u64(s, &at);
		if (!state_ok(s) || at == pages)
			return;
		if (at > pages) {
			state_fail(s, "a segment of shared memory has a page beyond its end");
			return;
		}
		state_piece(s, page, sizeof(page));
		if (state_reading(s) && state_ok(s) &&
		    pwrite(g->shared_fd, page, sizeof(page),
			   (off_t)(m->offset + at * GUEST_PAGE_BYTES)) != sizeof(page))
			state_fail(s, "cannot fill shared memory: %s", strerror(errno));
		at += !state_reading(s);
	}
}

static void segment_state(struct guest *g, struct state *s, struct ipc_segment *m)
{
	head_state(s, &m->head);
	state_bool(s, &m->removed);
	state_u64(s, &m->size_bytes);
	state_u64(s, &m->offset);
	state_i64(s, &m->atime);
	state_i64(s, &m->dtime);
	state_i32(s, &m->cpid);
	state_i32(s, &m->lpid);
	if (m->size_bytes > (uint64_t)SEGMENT_PAGES * GUEST_PAGE_BYTES || m->offset > 1ull << 46 ||
	    m->offset % GUEST_PAGE_BYTES)
		state_fail(s, "a segment of shared memory is absurd");
	if (state_reading(s) && state_ok(s)) {
		const off_t end = (off_t)(m->offset + page_up(m->size_bytes)),
			    now = lseek(g->shared_fd, 0, SEEK_END);

		if (now < 0 || (now < end && ftruncate(g->shared_fd, end) < 0))
			state_fail(s, "cannot make shared memory: %s", strerror(errno));
	}
	if (m->head.used && state_ok(s))
		segment_content(g, s, m);
}

static void queue_state(struct state *s, struct ipc_queue *q)
{
	uint64_t at = 0, messages = 0, bytes = 0;

	head_state(s, &q->head);
	state_i64(s, &q->stime);
	state_i64(s, &q->rtime);
	state_u64(s, &q->bytes);
	state_u64(s, &q->messages);
	state_u64(s, &q->limit_bytes);
	state_i32(s, &q->lspid);
	state_i32(s, &q->lrpid);
	q->used_bytes = (uint32_t)state_count(s, q->used_bytes, sizeof(q->data));
	/* A message is walked by its fields; its text stands behind them. */
	while (state_ok(s) && at < q->used_bytes) {
		struct ipc_message m = { 0 };

		if (q->used_bytes - at < sizeof(m)) {
			state_fail(s, "a queue of messages is damaged");
			break;
		}
		if (!state_reading(s))
			memcpy(&m, q->data + at, sizeof(m));
		state_i64(s, &m.type);
		m.bytes = (uint32_t)state_count(s, m.bytes, q->used_bytes - at - sizeof(m));
		memcpy(q->data + at, &m, sizeof(m));
		state_raw(s, q->data + at + sizeof(m), m.bytes);
		at += sizeof(m) + m.bytes;
		messages++;
		bytes += m.bytes;
	}
	if (messages != q->messages || bytes != q->bytes)
		state_fail(s, "a queue of messages is damaged");
}

static void set_state(struct guest *g, struct state *s, struct ipc_sem_set *set)
{
	head_state(s, &set->head);
	state_u32(s, &set->first);
	state_u32(s, &set->count);
	state_i64(s, &set->otime);
	if (set->count > SEM_PER_SET || set->first > SEM_TOTAL ||
	    set->count > SEM_TOTAL - set->first)
		state_fail(s, "a set of semaphores is absurd");
	for (unsigned i = 0; state_ok(s) && set->head.used && i < set->count; i++) {
		struct ipc_sem *sem = &g->ipc->sem[set->first + i];

		state_u16(s, &sem->value);
		state_i32(s, &sem->pid);
	}
}

static void waiter_state(struct state *s, struct ipc_waiter *w)
{
	uint32_t what = (uint32_t)w->what;

	state_i32(s, &w->pid);
	state_u32(s, &w->tid);
	state_i32(s, &w->id);
	state_u32(s, &w->num);
	what = state_below(s, what, IPC_FOR_MESSAGE + 1);
	memcpy(&w->what, &what, sizeof(what));
}

static unsigned count_state(struct state *s, unsigned n, unsigned limit)
{
	return (unsigned)state_count(s, n, limit);
}

void checkpoint_ipc(struct guest *g, struct state *s)
{
	struct ipc_table *t = g->ipc;

	state_u32(s, &t->segment_seq);
	state_u32(s, &t->set_seq);
	state_u32(s, &t->queue_seq);
	t->nsegments = count_state(s, t->nsegments, SHM_SEGMENTS);
	for (unsigned i = 0; i < t->nsegments && state_ok(s); i++)
		segment_state(g, s, &t->segment[i]);
	t->nattaches = count_state(s, t->nattaches, SHM_ATTACHES);
	for (unsigned i = 0; i < t->nattaches && state_ok(s); i++) {
		state_i32(s, &t->attach[i].pid);
		state_i32(s, &t->attach[i].id);
		state_u32(s, &t->attach[i].parts);
		state_u64(s, &t->attach[i].addr);
	}
	t->sems_used = count_state(s, t->sems_used, SEM_TOTAL);
	t->nsets = count_state(s, t->nsets, SEM_SETS);
	for (unsigned i = 0; i < t->nsets && state_ok(s); i++)
		set_state(g, s, &t->set[i]);
	t->nundos = count_state(s, t->nundos, SEM_UNDOS);
	for (unsigned i = 0; i < t->nundos && state_ok(s); i++) {
		state_i32(s, &t->undo[i].pid);
		state_i32(s, &t->undo[i].id);
		state_u32(s, &t->undo[i].num);
		state_i32(s, &t->undo[i].adjust);
	}
	t->nwaiters = count_state(s, t->nwaiters, IPC_WAITERS);
	for (unsigned i = 0; i < t->nwaiters && state_ok(s); i++)
		waiter_state(s, &t->waiter[i]);
	t->nqueues = count_state(s, t->nqueues, MSG_QUEUES);
	for (unsigned i = 0; i < t->nqueues && state_ok(s); i++)
		queue_state(s, &t->queue[i]);
	state_bool(s, &g->ipc_look);
}

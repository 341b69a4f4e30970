/* SPDX-License-Identifier: MIT */
/* System V message queues: bytes behind each other in shared memory, looked through from the front.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/msg.h>

#include "guest/kernel/clock.h"
#include "guest/kernel/ipc_int.h"
#include "guest/kernel/sched.h"
#include "guest/kernel/syscall.h"
#include "guest/memory/copy.h"
#include "guest/process/process.h"

#define MSG_STAT_ANY_ 13
#define MSG_COPY_     040000

struct msqid64 {
	struct ipc_perm64 perm;
	int64_t stime, rtime, ctime;
	uint64_t bytes, messages, limit_bytes;
	int32_t lspid, lrpid;
	uint64_t unused[2];
};

static struct ipc_queue *queue_of(struct guest *g, int id)
{
	return ipc_by_id(g->ipc->queue, g->ipc->nqueues, sizeof(g->ipc->queue[0]), id);
}

int64_t sys_msgget(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct ipc_queue *q;
	bool made;
	int64_t r;
	int i;

	(void)t;
	ipc_lock(g);
	i = ipc_get(g, g->ipc->queue, &g->ipc->nqueues, MSG_QUEUES, sizeof(*q), &g->ipc->queue_seq,
		    (int)a[0], (int)a[1], &made);
	r = i;
	if (i >= 0) {
		q = &g->ipc->queue[i];
		r = q->head.id;
		if (made) {
			q->stime = q->rtime = 0;
			q->head.ctime = ipc_seconds(g);
			q->bytes = q->messages = 0;
			q->limit_bytes = MSG_QUEUE_BYTES;
			q->lspid = q->lrpid = 0;
			q->used_bytes = 0;
		}
	}
	ipc_unlock(g);
	return r;
}

static int64_t send(struct guest *g, struct thread *t, const uint64_t *a, int64_t type,
		    const uint8_t *data)
{
	struct ipc_queue *q = queue_of(g, (int)a[0]);
	struct ipc_message m;
	int err;

	if (!q)
		return t->wait.started ? -EIDRM : -EINVAL;
	if (!ipc_may(&q->head, 2))
		return -EACCES;
	if (q->bytes + a[2] > q->limit_bytes || q->messages + 1 > q->limit_bytes ||
	    q->used_bytes + sizeof(m) + a[2] > sizeof(q->data)) {
		if ((int)a[3] & IPC_NOWAIT)
			return -EAGAIN;
		err = ipc_wait(g, t, q->head.id, 0, IPC_FOR_SPACE);
		return err ? err : wait_begin(t, WAIT_IPC, NO_TIME);
	}
	memset(&m, 0, sizeof(m));
	m.type = type;
	m.bytes = (uint32_t)a[2];
	memcpy(q->data + q->used_bytes, &m, sizeof(m));
	memcpy(q->data + q->used_bytes + sizeof(m), data, m.bytes);
	q->used_bytes += (uint32_t)(sizeof(m) + m.bytes);
	q->bytes += m.bytes;
	q->messages++;
	q->stime = ipc_seconds(g);
	q->lspid = g->pid;
	ipc_changed(g, q->head.id, true);
	return 0;
}

int64_t sys_msgsnd(struct guest *g, struct thread *t, const uint64_t *a)
{
	uint8_t *data;
	int64_t type, r;

	if (copy_in(g, &type, a[1], 8) < 0)
		return -EFAULT;
	if (a[2] > MSG_MAX_BYTES || (int)a[0] < 0 || type < 1)
		return -EINVAL;
	data = x_malloc(MSG_MAX_BYTES);
	if (copy_in(g, data, a[1] + 8, a[2]) < 0) {
		free(data);
		return -EFAULT;
	}
	ipc_lock(g);
	r = send(g, t, a, type, data);
	ipc_unlock(g);
	free(data);
	return r;
}

/* Offset of the message that msgrcv's rules choose; UINT32_MAX: none. */
static uint32_t choose(const struct ipc_queue *q, int64_t type, int flags)
{
	uint32_t best = UINT32_MAX;
	int64_t best_type = INT64_MAX, number = 0;

	for (uint32_t at = 0; at < q->used_bytes; number++) {
		struct ipc_message m;

		memcpy(&m, q->data + at, sizeof(m));
		if (flags & MSG_COPY_) {
			if (number == type)
				return at;
		} else if (type == 0) {
			return at;
		} else if (type > 0) {
			if ((m.type == type) != ((flags & MSG_EXCEPT) != 0))
				return at;
		} else if (type == INT64_MIN ? m.type < best_type
					     : m.type <= -type && m.type < best_type) {
			best = at;
			best_type = m.type;
		}
		at += (uint32_t)sizeof(m) + m.bytes;
	}
	return best;
}

static int64_t receive(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct ipc_queue *q = queue_of(g, (int)a[0]);
	int flags = (int)a[4], err;
	struct ipc_message m;
	uint64_t bytes;
	uint32_t at, next;

	if (!q)
		return t->wait.started ? -EIDRM : -EINVAL;
	if (!ipc_may(&q->head, 4))
		return -EACCES;
	at = choose(q, (int64_t)a[3], flags);
	if (at == UINT32_MAX) {
		if (flags & IPC_NOWAIT)
			return -ENOMSG;
		err = ipc_wait(g, t, q->head.id, 0, IPC_FOR_MESSAGE);
		return err ? err : wait_begin(t, WAIT_IPC, NO_TIME);
	}
	memcpy(&m, q->data + at, sizeof(m));
	if (m.bytes > a[2] && !(flags & MSG_NOERROR))
		return -E2BIG;
	bytes = min_u64(m.bytes, a[2]);
	err = copy_out(g, a[1], &m.type, 8) < 0 ||
	      copy_out(g, a[1] + 8, q->data + at + sizeof(m), bytes) < 0;
	if (!(flags & MSG_COPY_)) {
		/* Linux, too, takes the message off the queue before it finds the buffer bad. */
		next = at + (uint32_t)sizeof(m) + m.bytes;
		memmove(q->data + at, q->data + next, q->used_bytes - next);
		q->used_bytes -= next - at;
		q->bytes -= m.bytes;
		q->messages--;
		q->rtime = ipc_seconds(g);
		q->lrpid = g->pid;
		ipc_changed(g, q->head.id, true);
	}
	return err ? -EFAULT : (int64_t)bytes;
}

int64_t sys_msgrcv(struct guest *g, struct thread *t, const uint64_t *a)
{
	int flags = (int)a[4];
	int64_t r;

	if ((int)a[0] < 0 || (int64_t)a[2] < 0)
		return -EINVAL;
	if ((flags & MSG_COPY_) && ((flags & MSG_EXCEPT) || !(flags & IPC_NOWAIT)))
		return -EINVAL;
	ipc_lock(g);
	r = receive(g, t, a);
	ipc_unlock(g);
	return r;
}

static int64_t stat_out(struct guest *g, const void *object, uint64_t addr)
{
	const struct ipc_queue *q = object;
	struct msqid64 out;

	memset(&out, 0, sizeof(out));
	out.perm = q->head.perm;
	out.stime = q->stime;
	out.rtime = q->rtime;
	out.ctime = q->head.ctime;
	out.bytes = q->bytes;
	out.messages = q->messages;
	out.limit_bytes = q->limit_bytes;
	out.lspid = q->lspid;
	out.lrpid = q->lrpid;
	return copy_out(g, addr, &out, sizeof(out));
}

static int64_t info_out(struct guest *g, int command, uint64_t addr)
{
	struct {
		int32_t pool, map, max, mnb, mni, ssz, tql;
		uint16_t seg;
	} info = { .pool = MSG_QUEUES * MSG_QUEUE_BYTES / 1024,
		   .map = MSG_QUEUE_BYTES,
		   .max = MSG_MAX_BYTES,
		   .mnb = MSG_QUEUE_BYTES,
		   .mni = MSG_QUEUES,
		   .ssz = 16,
		   .tql = MSG_QUEUE_BYTES,
		   .seg = 0xffff };
	uint64_t bytes = 0, messages = 0;
	int32_t queues = 0;
	int64_t highest = 0;

	for (unsigned i = 0; i < g->ipc->nqueues; i++) {
		const struct ipc_queue *q = &g->ipc->queue[i];

		if (!q->head.used)
			continue;
		highest = i;
		queues++;
		bytes += q->bytes;
		messages += q->messages;
	}
	if (command == MSG_INFO) {
		info.pool = queues;
		info.map = (int32_t)messages;
		info.tql = (int32_t)bytes;
	}
	return copy_out(g, addr, &info, sizeof(info)) < 0 ? -EFAULT : highest;
}

static int64_t set(struct guest *g, void *object, const void *from)
{
	struct ipc_queue *q = object;
	const struct msqid64 *in = from;

	if (in->limit_bytes > MSG_QUEUE_BYTES)
		return -EPERM;
	q->limit_bytes = in->limit_bytes;
	ipc_changed(g, q->head.id, true);
	return 0;
}

static void remove_queue(struct guest *g, void *object)
{
	struct ipc_queue *q = object;

	q->head.used = false;
	ipc_changed(g, q->head.id, true);
}

int64_t sys_msgctl(struct guest *g, struct thread *t, const uint64_t *a)
{
	int64_t r;

	(void)t;
	if ((int)a[0] < 0 || (int)a[1] < 0)
		return -EINVAL;
	ipc_lock(g);
	r = ipc_control(g,
			&(struct ipc_objects){ .heads = g->ipc->queue,
					       .n = g->ipc->nqueues,
					       .stride = sizeof(g->ipc->queue[0]),
					       .info = MSG_INFO,
					       .stat = MSG_STAT,
					       .stat_any = MSG_STAT_ANY_,
					       .info_out = info_out,
					       .stat_out = stat_out,
					       .set_bytes = sizeof(struct msqid64),
					       .set = set,
					       .remove = remove_queue },
			(int)a[0], 0, (int)a[1], a[2]);
	ipc_unlock(g);
	return r;
}

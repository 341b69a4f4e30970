/* SPDX-License-Identifier: MIT */
/* What System V segments, semaphores and queues have in common: ids, permissions, waiting. */

#include <assert.h>
#include <string.h>
#include <sys/mman.h>

#include "guest/kernel/clock.h"
#include "guest/kernel/ipc.h"
#include "guest/kernel/ipc_int.h"
#include "guest/kernel/sched.h"
#include "guest/kernel/syscall.h"
#include "guest/memory/copy.h"
#include "guest/process/process.h"
#include "guest/process/procs.h"

void ipc_init(struct guest *g)
{
	pthread_mutexattr_t attr;

	g->ipc = mmap(NULL, sizeof(*g->ipc), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (g->ipc == MAP_FAILED)
		die("out of memory: cannot map the table of the guest's IPC objects");
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	/* Looking for a process may find that it is gone, and then clears up after it. */
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&g->ipc->lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

void ipc_free(struct guest *g)
{
	if (g->ipc)
		munmap(g->ipc, sizeof(*g->ipc));
	g->ipc = NULL;
}

void ipc_lock(struct guest *g)
{
	if (pthread_mutex_lock(&g->ipc->lock) == EOWNERDEAD)
		pthread_mutex_consistent(&g->ipc->lock);
}

void ipc_unlock(struct guest *g)
{
	pthread_mutex_unlock(&g->ipc->lock);
}

int64_t ipc_seconds(const struct guest *g)
{
	return (int64_t)(clock_real_ns(g) / NS_PER_SEC);
}

bool ipc_may(const struct ipc_head *h, unsigned want)
{
	/* There is one user, and it is the owner. */
	return ((h->perm.mode >> 6) & want) == want;
}

static struct ipc_head *at(void *heads, size_t stride, unsigned i)
{
	return (struct ipc_head *)((uint8_t *)heads + i * stride);
}

int ipc_get(struct guest *g, void *heads, unsigned *n, unsigned count, size_t stride, unsigned *seq,
	    int key, int flags, bool *made)
{
	struct ipc_head *h;
	unsigned i;

	(void)g;
	*made = false;
	for (i = 0; key != IPC_PRIVATE && i < *n; i++) {
		h = at(heads, stride, i);
		if (!h->used || h->perm.key != key)
			continue;
		if ((flags & IPC_CREAT) && (flags & IPC_EXCL))
			return -EEXIST;
		/* The owner must have each permission that is asked for any class of users. */
		return ipc_may(h,
			       ((unsigned)(flags >> 6) | (unsigned)(flags >> 3) | (unsigned)flags) &
				   6)
			   ? (int)i
			   : -EACCES;
	}
	if (key != IPC_PRIVATE && !(flags & IPC_CREAT))
		return -ENOENT;
	for (i = 0; i < count && at(heads, stride, i)->used; i++)
		;
	if (i == count)
		return -ENOSPC;
	h = at(heads, stride, i);
	memset(h, 0, sizeof(*h));
	if (i < *n)
		*seq = (*seq + 1) & 0xffff; /* the index was used before: another id */
	else
		*n = i + 1;
	h->used = true;
	h->id = (int)((*seq << IPC_INDEX_BITS | i) & INT32_MAX);
	h->perm = (struct ipc_perm64){ .key = key,
				       .uid = GUEST_UID,
				       .gid = GUEST_UID,
				       .cuid = GUEST_UID,
				       .cgid = GUEST_UID,
				       .mode = (uint32_t)flags & 0777,
				       .seq = (uint16_t)*seq };
	*made = true;
	return (int)i;
}

void *ipc_by_id(void *heads, unsigned n, size_t stride, int id)
{
	struct ipc_head *h;

	if (id < 0 || (unsigned)IPC_INDEX(id) >= n)
		return NULL;
	h = at(heads, stride, (unsigned)IPC_INDEX(id));
	return h->used && h->id == id ? h : NULL;
}

/* How a command names an object. */
enum named {
	BY_ID,	      /* IPC_STAT */
	BY_PLACE,     /* SHM_STAT and its like: by the index in the table, and the id is returned */
	BY_PLACE_ANY, /* SHM_STAT_ANY and its like: whether or not the guest may read it */
};

static int64_t stat_one(struct guest *g, const struct ipc_objects *o, int id, enum named named,
			uint64_t addr)
{
	const struct ipc_head *h = NULL;
	int64_t err;

	if (named == BY_ID)
		h = ipc_by_id(o->heads, o->n, o->stride, id);
	else if ((unsigned)id < o->n)
		h = at(o->heads, o->stride, (unsigned)id);
	if (!h || !h->used)
		return -EINVAL;
	if (named != BY_PLACE_ANY && !ipc_may(h, 4))
		return -EACCES;
	err = o->stat_out(g, h, addr);
	return err || named == BY_ID ? err : h->id;
}

static int64_t set_one(struct guest *g, const struct ipc_objects *o, struct ipc_head *h,
		       uint64_t addr)
{
	union {
		struct ipc_perm64 perm;
		uint8_t bytes[IPC_SET_BYTES_MAX];
	} in;
	int64_t err;

	assert(o->set_bytes <= sizeof(in));
	if (copy_in(g, &in, addr, o->set_bytes) < 0)
		return -EFAULT;
	if (!h)
		return -EINVAL;
	/* There is no other user that it could be given to. */
	if (in.perm.uid != GUEST_UID || in.perm.gid != GUEST_UID)
		return -EPERM;
	err = o->set ? o->set(g, h, &in) : 0;
	if (err)
		return err;
	h->perm.mode = (h->perm.mode & ~0777u) | (in.perm.mode & 0777);
	h->ctime = ipc_seconds(g);
	return 0;
}

int64_t ipc_control(struct guest *g, const struct ipc_objects *o, int id, int num, int command,
		    uint64_t arg)
{
	struct ipc_head *h = ipc_by_id(o->heads, o->n, o->stride, id);

	if (command == IPC_INFO || command == o->info)
		return o->info_out(g, command, arg);
	if (command == IPC_STAT)
		return stat_one(g, o, id, BY_ID, arg);
	if (command == o->stat)
		return stat_one(g, o, id, BY_PLACE, arg);
	if (command == o->stat_any)
		return stat_one(g, o, id, BY_PLACE_ANY, arg);
	if (command == IPC_SET)
		return set_one(g, o, h, arg);
	if (command != IPC_RMID)
		return o->other ? o->other(g, h, num, command, arg) : -EINVAL;
	if (!h)
		return -EINVAL;
	o->remove(g, h);
	return 0;
}

/* ---- waiting ---- */

static void drop_waiters(struct guest *g, int pid, uint32_t tid)
{
	struct ipc_table *ipc = g->ipc;

	for (unsigned i = 0; i < ipc->nwaiters; i++)
		if (ipc->waiter[i].pid == pid && (!tid || ipc->waiter[i].tid == tid))
			ipc->waiter[i].pid = 0;
	while (ipc->nwaiters && !ipc->waiter[ipc->nwaiters - 1].pid)
		ipc->nwaiters--;
}

int ipc_wait(struct guest *g, struct thread *t, int id, unsigned num, int what)
{
	struct ipc_table *ipc = g->ipc;
	unsigned i;

	drop_waiters(g, g->pid, t->tid);
	for (i = 0; i < IPC_WAITERS && ipc->waiter[i].pid; i++)
		;
	if (i == IPC_WAITERS)
		return -ENOMEM;
	ipc->waiter[i] =
	    (struct ipc_waiter){ .pid = g->pid, .tid = t->tid, .id = id, .num = num, .what = what };
	if (i >= ipc->nwaiters)
		ipc->nwaiters = i + 1;
	if (!t->wait.order)
		t->wait.order = ++g->sched.wait_order;
	return 0;
}

void ipc_wait_end(struct guest *g, struct thread *t)
{
	ipc_lock(g);
	drop_waiters(g, g->pid, t->tid);
	ipc_unlock(g);
}

void ipc_changed(struct guest *g, int id, bool queue)
{
	struct ipc_table *ipc = g->ipc;
	int told = 0;

	for (unsigned i = 0; i < ipc->nwaiters; i++) {
		const struct ipc_waiter *w = &ipc->waiter[i];

		if (!w->pid || w->id != id || (w->what >= IPC_FOR_SPACE) != queue)
			continue;
		if (w->pid == g->pid) {
			g->ipc_look = true;
			g->event_at = 0;
		} else if (w->pid != told) {
			told = w->pid;
			proc_look(g, w->pid);
		}
	}
}

unsigned ipc_waiters(struct guest *g, int id, unsigned num, int what)
{
	unsigned n = 0;

	for (unsigned i = 0; i < g->ipc->nwaiters; i++) {
		const struct ipc_waiter *w = &g->ipc->waiter[i];

		n += w->pid && w->id == id && w->num == num && (int)w->what == what &&
		     proc_alive(g, w->pid);
	}
	return n;
}

bool ipc_retry(struct guest *g)
{
	bool woke = false, again;

	g->ipc_look = false;
	do {
		struct thread *first = NULL;
		uint64_t after = 0;

		again = false;
		/* First come, first served; a thread that goes on may let others go on. */
		for (;;) {
			first = NULL;
			for (size_t i = 0; i < g->sched.nthreads; i++) {
				struct thread *t = g->sched.threads[i];

				if (t->state == THREAD_BLOCKED && t->wait.kind == WAIT_IPC &&
				    t->wait.order > after &&
				    (!first || t->wait.order < first->wait.order))
					first = t;
			}
			if (!first)
				break;
			after = first->wait.order;
			if (syscall_retry(g, first))
				woke = again = true;
		}
	} while (again);
	return woke;
}

/* ---- processes ---- */

void ipc_forked(struct guest *g, int parent)
{
	struct ipc_table *ipc = g->ipc;
	unsigned n;

	if (!ipc->nattaches)
		return;
	ipc_lock(g);
	n = ipc->nattaches;
	for (unsigned i = 0; i < n; i++) {
		unsigned k = 0;

		if (ipc->attach[i].pid != parent)
			continue;
		while (k < SHM_ATTACHES && ipc->attach[k].pid)
			k++;
		if (k == SHM_ATTACHES)
			break;
		ipc->attach[k] = ipc->attach[i];
		ipc->attach[k].pid = g->pid;
		if (k >= ipc->nattaches)
			ipc->nattaches = k + 1;
	}
	ipc_unlock(g);
}

void ipc_forget_memory(struct guest *g)
{
	if (!g->ipc->nattaches)
		return;
	ipc_lock(g);
	shm_detach_all(g, g->pid);
	ipc_unlock(g);
}

void ipc_process_gone(struct guest *g, int pid)
{
	if (!g->ipc->nattaches && !g->ipc->nundos && !g->ipc->nwaiters)
		return;
	ipc_lock(g);
	drop_waiters(g, pid, 0);
	shm_detach_all(g, pid);
	sem_undo_all(g, pid);
	ipc_unlock(g);
}

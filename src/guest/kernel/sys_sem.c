/* SPDX-License-Identifier: MIT */
/*
 * System V semaphores. An operation happens as a whole or not at all; a thread that has to wait
 * tries again whenever its set has changed, in the order in which threads came. What a process did
 * with SEM_UNDO is kept beside its number and taken back when it ends, however it ends.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/sem.h>

#include "guest/kernel/clock.h"
#include "guest/kernel/ipc_int.h"
#include "guest/kernel/sched.h"
#include "guest/kernel/syscall.h"
#include "guest/memory/copy.h"
#include "guest/process/process.h"

#define SEM_STAT_ANY_ 20

struct semid64 {
	struct ipc_perm64 perm;
	int64_t otime, ctime;
	uint64_t nsems;
	uint64_t unused[2];
};

static struct ipc_sem_set *set_of(struct guest *g, int id)
{
	return ipc_by_id(g->ipc->set, g->ipc->nsets, sizeof(g->ipc->set[0]), id);
}

static struct ipc_sem *sems_of(struct guest *g, const struct ipc_sem_set *s)
{
	return &g->ipc->sem[s->first];
}

/* The first gap between sets that is large enough; SEM_TOTAL if there is none. */
static unsigned find_room(struct guest *g, unsigned count)
{
	unsigned from = 0;
	bool moved;

	do {
		moved = false;
		for (unsigned i = 0; i < g->ipc->nsets; i++) {
			const struct ipc_sem_set *s = &g->ipc->set[i];

			if (s->head.used && s->count && s->first < from + count &&
			    from < s->first + s->count) {
				from = s->first + s->count;
				moved = true;
			}
		}
	} while (moved);
	return from + count <= SEM_TOTAL ? from : SEM_TOTAL;
}

int64_t sys_semget(struct guest *g, struct thread *t, const uint64_t *a)
{
	int count = (int)a[1], i;
	struct ipc_sem_set *s;
	bool made;
	int64_t r;

	(void)t;
	if (count < 0 || count > SEM_PER_SET)
		return -EINVAL;
	ipc_lock(g);
	i = ipc_get(g, g->ipc->set, &g->ipc->nsets, SEM_SETS, sizeof(*s), &g->ipc->set_seq,
		    (int)a[0], (int)a[2], &made);
	r = i;
	if (i >= 0) {
		s = &g->ipc->set[i];
		r = s->head.id;
		if (made) {
			s->count = 0;
			s->first = find_room(g, (unsigned)count);
			if (!count || s->first == SEM_TOTAL) {
				s->head.used = false;
				r = count ? -ENOSPC : -EINVAL;
			} else {
				s->count = (unsigned)count;
				s->otime = 0;
				s->head.ctime = ipc_seconds(g);
				memset(sems_of(g, s), 0, (size_t)count * sizeof(struct ipc_sem));
			}
		} else if ((unsigned)count > s->count) {
			r = -EINVAL;
		}
	}
	ipc_unlock(g);
	return r;
}

/* ---- undoing ---- */

static struct ipc_undo *undo_of(struct guest *g, int id, unsigned num, bool make)
{
	struct ipc_table *ipc = g->ipc;
	unsigned i, free = SEM_UNDOS;

	for (i = 0; i < ipc->nundos; i++) {
		if (ipc->undo[i].pid == g->pid && ipc->undo[i].id == id && ipc->undo[i].num == num)
			return &ipc->undo[i];
		if (!ipc->undo[i].pid && free == SEM_UNDOS)
			free = i;
	}
	if (!make)
		return NULL;
	if (free == SEM_UNDOS) {
		if (ipc->nundos == SEM_UNDOS)
			return NULL;
		free = ipc->nundos++;
	}
	ipc->undo[free] = (struct ipc_undo){ .pid = g->pid, .id = id, .num = num };
	return &ipc->undo[free];
}

/* Forgets adjustments: after SETVAL and SETALL nothing that was done before is undone. num
 * UINT_MAX: those of all semaphores. */
static void undo_forget(struct guest *g, int id, unsigned num)
{
	for (unsigned i = 0; i < g->ipc->nundos; i++)
		if (g->ipc->undo[i].id == id && (num == UINT32_MAX || g->ipc->undo[i].num == num))
			g->ipc->undo[i].pid = 0;
	while (g->ipc->nundos && !g->ipc->undo[g->ipc->nundos - 1].pid)
		g->ipc->nundos--;
}

void sem_undo_all(struct guest *g, int pid)
{
	struct ipc_table *ipc = g->ipc;

	for (unsigned i = 0; i < ipc->nundos; i++) {
		struct ipc_undo *u = &ipc->undo[i];
		struct ipc_sem_set *s;
		struct ipc_sem *sem;
		int value;

		if (u->pid != pid)
			continue;
		u->pid = 0;
		s = set_of(g, u->id);
		if (!s || u->num >= s->count || !u->adjust)
			continue;
		sem = &sems_of(g, s)[u->num];
		value = sem->value + u->adjust;
		sem->value = (uint16_t)(value < 0		? 0
					: value > SEM_MAX_VALUE ? SEM_MAX_VALUE
								: value);
		sem->pid = pid;
		s->otime = ipc_seconds(g);
		ipc_changed(g, u->id, false);
	}
	while (ipc->nundos && !ipc->undo[ipc->nundos - 1].pid)
		ipc->nundos--;
}

/* ---- operations ---- */

/* Tries all operations: 0, -errno, or 1 + the number of the operation that must wait. Values are as
 * before unless the result is 0. */
static int try_ops(struct guest *g, struct ipc_sem_set *s, const struct sembuf *op, unsigned n)
{
	struct ipc_sem *sem = sems_of(g, s);
	unsigned i;
	int result = 0;

	for (i = 0; i < n && !result; i++) {
		int value = sem[op[i].sem_num].value, adjust = 0;
		const struct ipc_undo *u;

		if (op[i].sem_op == 0 && value) {
			result = (int)i + 1;
			break;
		}
		if (op[i].sem_op < 0 && value + op[i].sem_op < 0) {
			result = (int)i + 1;
			break;
		}
		if (value + op[i].sem_op > SEM_MAX_VALUE) {
			result = -ERANGE;
			break;
		}
		if (op[i].sem_flg & SEM_UNDO) {
			u = undo_of(g, s->head.id, op[i].sem_num, false);
			for (unsigned k = 0; k <= i; k++)
				if (op[k].sem_num == op[i].sem_num && (op[k].sem_flg & SEM_UNDO))
					adjust -= op[k].sem_op;
			adjust += u ? u->adjust : 0;
			if (adjust < -SEM_MAX_VALUE - 1 || adjust > SEM_MAX_VALUE) {
				result = -ERANGE;
				break;
			}
		}
		sem[op[i].sem_num].value = (uint16_t)(value + op[i].sem_op);
	}
	if (result) {
		while (i-- > 0)
			sem[op[i].sem_num].value =
			    (uint16_t)(sem[op[i].sem_num].value - op[i].sem_op);
		return result;
	}
	return 0;
}

static int64_t operate(struct guest *g, struct thread *t, const uint64_t *a,
		       const struct sembuf *op, unsigned n, uint64_t deadline)
{
	struct ipc_sem_set *s = set_of(g, (int)a[0]);
	bool alters = false, undoes = false;
	int got, err;

	if (!s)
		return t->wait.started ? -EIDRM : -EINVAL;
	for (unsigned i = 0; i < n; i++) {
		if (op[i].sem_num >= s->count)
			return -EFBIG;
		alters |= op[i].sem_op != 0;
		undoes |= (op[i].sem_flg & SEM_UNDO) && op[i].sem_op;
	}
	if (!ipc_may(&s->head, alters ? 2 : 4))
		return -EACCES;
	/* Room for what must be undone comes first: later nothing may fail. */
	for (unsigned i = 0; undoes && i < n; i++)
		if ((op[i].sem_flg & SEM_UNDO) && op[i].sem_op &&
		    !undo_of(g, s->head.id, op[i].sem_num, true))
			return -ENOSPC;
	got = try_ops(g, s, op, n);
	if (got < 0)
		return got;
	if (got > 0) {
		const struct sembuf *w = &op[got - 1];

		if (w->sem_flg & IPC_NOWAIT || t->wait.timed_out)
			return -EAGAIN;
		err =
		    ipc_wait(g, t, s->head.id, w->sem_num, w->sem_op ? IPC_FOR_MORE : IPC_FOR_ZERO);
		return err ? err : wait_begin(t, WAIT_IPC, deadline);
	}
	for (unsigned i = 0; i < n; i++) {
		sems_of(g, s)[op[i].sem_num].pid = g->pid;
		if ((op[i].sem_flg & SEM_UNDO) && op[i].sem_op)
			undo_of(g, s->head.id, op[i].sem_num, true)->adjust -= op[i].sem_op;
	}
	s->otime = ipc_seconds(g);
	if (alters)
		ipc_changed(g, s->head.id, false);
	return 0;
}

int64_t sys_semtimedop(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct sembuf op[SEM_OPS];
	uint64_t ns, deadline = NO_TIME;
	uint32_t n = (uint32_t)a[2];
	int64_t r;
	int err;

	if (n < 1 || (int)a[0] < 0)
		return -EINVAL;
	if (n > SEM_OPS)
		return -E2BIG;
	if (copy_in(g, op, a[1], n * sizeof(op[0])) < 0)
		return -EFAULT;
	if (a[3]) {
		err = timespec_in(g, a[3], &ns);
		if (err)
			return err;
		deadline = deadline_after(g, ns);
	}
	ipc_lock(g);
	r = operate(g, t, a, op, n, deadline);
	ipc_unlock(g);
	return r;
}

int64_t sys_semop(struct guest *g, struct thread *t, const uint64_t *a)
{
	const uint64_t args[6] = { a[0], a[1], a[2], 0 };

	return sys_semtimedop(g, t, args);
}

/* ---- control ---- */

static int64_t stat_out(struct guest *g, const void *object, uint64_t addr)
{
	const struct ipc_sem_set *s = object;
	struct semid64 out;

	memset(&out, 0, sizeof(out));
	out.perm = s->head.perm;
	out.otime = s->otime;
	out.ctime = s->head.ctime;
	out.nsems = s->count;
	return copy_out(g, addr, &out, sizeof(out));
}

static int64_t info_out(struct guest *g, int command, uint64_t addr)
{
	/* semmap, mni, mns, mnu, msl, opm, ume, usz, vmx, aem */
	int32_t info[10] = { SEM_TOTAL, SEM_SETS, SEM_TOTAL, SEM_TOTAL,	    SEM_PER_SET,
			     SEM_OPS,	SEM_OPS,  20,	     SEM_MAX_VALUE, SEM_MAX_VALUE };
	int32_t sets = 0, sems = 0;
	int64_t highest = 0;

	for (unsigned i = 0; i < g->ipc->nsets; i++) {
		if (!g->ipc->set[i].head.used)
			continue;
		highest = i;
		sets++;
		sems += (int32_t)g->ipc->set[i].count;
	}
	if (command == SEM_INFO) {
		info[7] = sets;
		info[9] = sems;
	}
	return copy_out(g, addr, info, sizeof(info)) < 0 ? -EFAULT : highest;
}

static int64_t set_all(struct guest *g, struct ipc_sem_set *s, uint64_t addr)
{
	uint16_t *value;

	if (!ipc_may(&s->head, 2))
		return -EACCES;
	value = x_calloc(s->count, sizeof(*value));
	if (copy_in(g, value, addr, s->count * sizeof(*value)) < 0) {
		free(value);
		return -EFAULT;
	}
	for (unsigned i = 0; i < s->count; i++) {
		if (value[i] > SEM_MAX_VALUE) {
			free(value);
			return -ERANGE;
		}
	}
	for (unsigned i = 0; i < s->count; i++) {
		sems_of(g, s)[i].value = value[i];
		sems_of(g, s)[i].pid = g->pid;
	}
	free(value);
	undo_forget(g, s->head.id, UINT32_MAX);
	s->head.ctime = ipc_seconds(g);
	ipc_changed(g, s->head.id, false);
	return 0;
}

static int64_t get_all(struct guest *g, const struct ipc_sem_set *s, uint64_t addr)
{
	if (!ipc_may(&s->head, 4))
		return -EACCES;
	for (unsigned i = 0; i < s->count; i++)
		if (copy_out(g, addr + i * 2, &sems_of(g, s)[i].value, 2) < 0)
			return -EFAULT;
	return 0;
}

static int64_t control_one(struct guest *g, struct ipc_sem_set *s, int num, int command,
			   uint64_t arg)
{
	struct ipc_sem *sem;

	if (num < 0 || (unsigned)num >= s->count)
		return -EINVAL;
	if (!ipc_may(&s->head, command == SETVAL ? 2 : 4))
		return -EACCES;
	sem = &sems_of(g, s)[num];
	switch (command) {
	case GETVAL:
		return sem->value;
	case GETPID:
		return sem->pid;
	case GETNCNT:
		return ipc_waiters(g, s->head.id, (unsigned)num, IPC_FOR_MORE);
	case GETZCNT:
		return ipc_waiters(g, s->head.id, (unsigned)num, IPC_FOR_ZERO);
	default:
		if ((int)arg < 0 || (int)arg > SEM_MAX_VALUE)
			return -ERANGE;
		sem->value = (uint16_t)arg;
		sem->pid = g->pid;
		undo_forget(g, s->head.id, (unsigned)num);
		s->head.ctime = ipc_seconds(g);
		ipc_changed(g, s->head.id, false);
		return 0;
	}
}

static void remove_set(struct guest *g, void *object)
{
	struct ipc_sem_set *s = object;

	s->head.used = false;
	undo_forget(g, s->head.id, UINT32_MAX);
	ipc_changed(g, s->head.id, false);
}

static int64_t values(struct guest *g, void *object, int num, int command, uint64_t arg)
{
	struct ipc_sem_set *s = object;

	switch (command) {
	case GETALL:
		return s ? get_all(g, s, arg) : -EINVAL;
	case SETALL:
		return s ? set_all(g, s, arg) : -EINVAL;
	case SETVAL:
		if ((int)arg < 0 || (int)arg > SEM_MAX_VALUE)
			return -ERANGE;
		return s ? control_one(g, s, num, command, arg) : -EINVAL;
	case GETVAL:
	case GETPID:
	case GETNCNT:
	case GETZCNT:
		return s ? control_one(g, s, num, command, arg) : -EINVAL;
	default:
		return -EINVAL;
	}
}

int64_t sys_semctl(struct guest *g, struct thread *t, const uint64_t *a)
{
	int64_t r;

	(void)t;
	if ((int)a[0] < 0)
		return -EINVAL;
	ipc_lock(g);
	r = ipc_control(g,
			&(struct ipc_objects){ .heads = g->ipc->set,
					       .n = g->ipc->nsets,
					       .stride = sizeof(g->ipc->set[0]),
					       .info = SEM_INFO,
					       .stat = SEM_STAT,
					       .stat_any = SEM_STAT_ANY_,
					       .info_out = info_out,
					       .stat_out = stat_out,
					       .set_bytes = sizeof(struct semid64),
					       .remove = remove_set,
					       .other = values },
			(int)a[0], (int)a[1], (int)a[2], a[3]);
	ipc_unlock(g);
	return r;
}

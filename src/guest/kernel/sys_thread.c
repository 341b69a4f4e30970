/* SPDX-License-Identifier: MIT */
/* System calls about threads and the scheduler of the one hart that there is. */
#include <linux/rseq.h>
#include <sched.h>
#include <string.h>

#include "guest/kernel/clock.h"
#include "guest/kernel/sched.h"
#include "guest/kernel/syscall.h"
#include "guest/memory/copy.h"
#include "guest/memory/mem.h"
#include "guest/process/process.h"
#include "guest/process/procs.h"

int64_t sys_set_tid_address(struct guest *g, struct thread *t, const uint64_t *a)
{
	(void)g;
	t->clear_tid = a[0];
	return t->tid;
}

int64_t sys_sched_yield(struct guest *g, struct thread *t, const uint64_t *a)
{
	(void)t, (void)a;
	g->sched.resched = true;
	return 0;
}

/* The thread or process that a scheduler call is about. */
static bool known_thread(struct guest *g, uint64_t tid)
{
	return (int)tid == 0 || proc_find_task(g, (int)tid);
}

int64_t sys_sched_getaffinity(struct guest *g, struct thread *t, const uint64_t *a)
{
	uint64_t mask = 1;

	(void)t;
	if ((uint32_t)a[1] < 8 || (a[1] & 7))
		return -EINVAL;
	if (!known_thread(g, a[0]))
		return -ESRCH;
	return copy_out(g, a[2], &mask, 8) < 0 ? -EFAULT : 8;
}

int64_t sys_sched_setaffinity(struct guest *g, struct thread *t, const uint64_t *a)
{
	uint64_t mask = 0;

	(void)t;
	if (!known_thread(g, a[0]))
		return -ESRCH;
	if (copy_in(g, &mask, a[2], min_u64((uint32_t)a[1], 8)) < 0)
		return -EFAULT;
	return mask & 1 ? 0 : -EINVAL;
}

int64_t sys_sched_getscheduler(struct guest *g, struct thread *t, const uint64_t *a)
{
	(void)t;
	return known_thread(g, a[0]) ? SCHED_OTHER : -ESRCH;
}

int64_t sys_sched_setscheduler(struct guest *g, struct thread *t, const uint64_t *a)
{
	int32_t priority;

	(void)t;
	if (copy_in(g, &priority, a[2], 4) < 0)
		return -EFAULT;
	if (!known_thread(g, a[0]))
		return -ESRCH;
	switch ((int)a[1] & ~SCHED_RESET_ON_FORK) {
	case SCHED_OTHER:
	case SCHED_BATCH:
	case SCHED_IDLE:
		return priority ? -EINVAL : 0;
	case SCHED_FIFO:
	case SCHED_RR:
		return -EPERM;
	default:
		return -EINVAL;
	}
}

int64_t sys_sched_getparam(struct guest *g, struct thread *t, const uint64_t *a)
{
	int32_t priority = 0;

	(void)t;
	if (!known_thread(g, a[0]))
		return -ESRCH;
	return copy_out(g, a[1], &priority, 4);
}

int64_t sys_sched_setparam(struct guest *g, struct thread *t, const uint64_t *a)
{
	int32_t priority;

	(void)t;
	if (copy_in(g, &priority, a[1], 4) < 0)
		return -EFAULT;
	return !known_thread(g, a[0]) ? -ESRCH : priority ? -EINVAL : 0;
}

int64_t sys_sched_get_priority_max(struct guest *g, struct thread *t, const uint64_t *a)
{
	(void)g, (void)t;
	return (int)a[0] == SCHED_FIFO || (int)a[0] == SCHED_RR ? 99
	       : (unsigned)a[0] <= 6				? 0
								: -EINVAL;
}

int64_t sys_sched_get_priority_min(struct guest *g, struct thread *t, const uint64_t *a)
{
	(void)g, (void)t;
	return (int)a[0] == SCHED_FIFO || (int)a[0] == SCHED_RR ? 1
	       : (unsigned)a[0] <= 6				? 0
								: -EINVAL;
}

int64_t sys_sched_rr_get_interval(struct guest *g, struct thread *t, const uint64_t *a)
{
	(void)t;
	return known_thread(g, a[0]) ? timespec_out(g, a[1], 4000000) : -ESRCH;
}

int64_t sys_sched_setattr(struct guest *g, struct thread *t, const uint64_t *a)
{
	(void)t;
	return !mem_page_has(&g->mem, a[1], MEM_R) ? -EFAULT : known_thread(g, a[0]) ? 0 : -ESRCH;
}

int64_t sys_sched_getattr(struct guest *g, struct thread *t, const uint64_t *a)
{
	uint32_t attr[12] = { 48 };

	(void)t;
	if ((uint32_t)a[2] < 48)
		return -EINVAL;
	return known_thread(g, a[0]) ? copy_out(g, a[1], attr, sizeof(attr)) : -ESRCH;
}

int64_t sys_rseq(struct guest *g, struct thread *t, const uint64_t *a)
{
	uint32_t ids[2] = { 0, 0 };
	uint32_t none[2] = { 0, (uint32_t)RSEQ_CPU_ID_UNINITIALIZED };
	uint32_t node[2] = { 0, 0 };

	if ((int)a[2] & RSEQ_FLAG_UNREGISTER) {
		if (t->rseq_addr != a[0] || !t->rseq_addr || t->rseq_bytes != (uint32_t)a[1])
			return -EINVAL;
		if (t->rseq_sig != (uint32_t)a[3])
			return -EPERM;
		copy_out(g, a[0], none, sizeof(none));
		t->rseq_addr = 0;
		return 0;
	}
	if ((int)a[2])
		return -EINVAL;
	if (t->rseq_addr)
		return t->rseq_addr == a[0] && t->rseq_sig == (uint32_t)a[3] ? -EBUSY : -EINVAL;
	if ((a[0] & 31) || (uint32_t)a[1] < 32)
		return -EINVAL;
	if (copy_out(g, a[0], ids, sizeof(ids)) < 0 ||
	    copy_out(g, a[0] + 20, node, sizeof(node)) < 0)
		return -EFAULT;
	t->rseq_addr = a[0];
	t->rseq_bytes = (uint32_t)a[1];
	t->rseq_sig = (uint32_t)a[3];
	return 0;
}

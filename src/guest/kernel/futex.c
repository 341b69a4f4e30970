/* SPDX-License-Identifier: MIT */
/*
 * Futexes: threads that wait for a word in memory to change, first come, first woken.
 *
 * The key is the guest address. Threads of other processes that share the memory are reached by
 * looking again (see recheck_shared_futexes in sched.c).
 *
 * Of the operations with priority inheritance, ownership is implemented: the word holds the owner's
 * thread id, an unlock hands it to the thread that has waited longest, and an owner that dies is
 * marked. Priorities themselves have no meaning on one hart whose threads take turns, so there is
 * nothing to inherit.
 */
#include <linux/futex.h>
#include <time.h>

#include "guest/kernel/clock.h"
#include "guest/kernel/futex.h"
#include "guest/kernel/sched.h"
#include "guest/kernel/syscall.h"
#include "guest/memory/copy.h"
#include "guest/memory/mem.h"
#include "guest/process/process.h"
#include "guest/process/procs.h"

static struct thread *first_waiter(struct guest *g, uint64_t addr, uint32_t bits)
{
	struct thread *first = NULL;

	for (size_t i = 0; i < g->sched.nthreads; i++) {
		struct thread *t = g->sched.threads[i];

		if (t->state == THREAD_BLOCKED && t->wait.kind == WAIT_FUTEX && !t->wait.futex_pi &&
		    !t->wait.futex_then && t->wait.futex_addr == addr &&
		    (t->wait.futex_bits & bits) && (!first || t->wait.order < first->wait.order))
			first = t;
	}
	return first;
}

unsigned futex_wake(struct guest *g, uint64_t addr, unsigned count, uint32_t bits)
{
	unsigned woken = 0;
	struct thread *t;

	while (woken < count && (t = first_waiter(g, addr, bits))) {
		t->wait.woken = true;
		syscall_retry(g, t);
		woken++;
	}
	return woken;
}

static int64_t futex_wait(struct guest *g, struct thread *t, const uint64_t *a, uint32_t bits,
			  bool absolute)
{
	uint64_t addr = a[0], deadline = NO_TIME, ns;
	uint32_t word;
	int err;

	if (t->wait.started) {
		if (t->wait.woken)
			return 0;
		if (t->wait.timed_out)
			return -ETIMEDOUT;
		/* Retried only for memory that other processes can change. */
		if (!t->wait.futex_then && copy_in(g, &word, addr, 4) == 0 &&
		    word != (uint32_t)a[2] && t->wait.futex_addr == addr)
			return 0;
		return SYS_BLOCK;
	}
	if (!bits)
		return -EINVAL;
	if (a[3]) {
		err = timespec_in(g, a[3], &ns);
		if (err)
			return err;
		if (absolute) {
			uint64_t now =
			    a[1] & FUTEX_CLOCK_REALTIME ? clock_real_ns(g) : clock_boot_ns(g);

			ns = ns > now ? ns - now : 0;
		}
		deadline = deadline_after(g, ns);
	}
	if (copy_in(g, &word, addr, 4) < 0)
		return -EFAULT;
	if (word != (uint32_t)a[2])
		return -EAGAIN;
	t->wait.futex_addr = addr;
	t->wait.futex_bits = bits;
	t->wait.order = ++g->sched.wait_order;
	t->wait.woken = false;
	return wait_begin(t, WAIT_FUTEX, deadline);
}

/* ---- with an owner ---- */

/* The thread that has waited longest to own addr; if requeued, for FUTEX_CMP_REQUEUE_PI at addr. */
static struct thread *first_heir(struct guest *g, uint64_t addr, bool requeued)
{
	struct thread *first = NULL;

	for (size_t i = 0; i < g->sched.nthreads; i++) {
		struct thread *t = g->sched.threads[i];

		if (t->state == THREAD_BLOCKED && t->wait.kind == WAIT_FUTEX &&
		    t->wait.futex_addr == addr &&
		    (requeued ? t->wait.futex_then != 0 && !t->wait.futex_pi : t->wait.futex_pi) &&
		    (!first || t->wait.order < first->wait.order))
			first = t;
	}
	return first;
}

/* Makes the first waiting thread the owner of the word; false if none waits. */
static bool hand_over(struct guest *g, uint64_t addr, uint32_t bits)
{
	struct thread *heir = first_heir(g, addr, false);
	uint32_t word;

	if (!heir)
		return false;
	word = heir->tid | FUTEX_WAITERS | bits;
	if (copy_out(g, addr, &word, 4) < 0)
		return false;
	heir->wait.woken = true;
	syscall_retry(g, heir);
	return true;
}

void futex_release_owned(struct guest *g, struct thread *t)
{
	for (size_t i = 0; i < g->sched.nthreads; i++) {
		const struct thread *o = g->sched.threads[i];
		uint32_t word;

		if (o != t && o->state == THREAD_BLOCKED && o->wait.kind == WAIT_FUTEX &&
		    o->wait.futex_pi && copy_in(g, &word, o->wait.futex_addr, 4) == 0 &&
		    (word & FUTEX_TID_MASK) == t->tid)
			hand_over(g, o->wait.futex_addr, FUTEX_OWNER_DIED);
	}
}

/* Takes the word for t if it is free: 0. Otherwise marks it as waited for: 1. */
static int64_t take_pi(struct guest *g, const struct thread *t, uint64_t addr)
{
	uint32_t word, owner;

	if (copy_in(g, &word, addr, 4) < 0)
		return -EFAULT;
	owner = word & FUTEX_TID_MASK;
	if (owner == t->tid)
		return -EDEADLK;
	if (!owner) {
		word = t->tid | (word & FUTEX_OWNER_DIED) |
		       (first_heir(g, addr, false) ? FUTEX_WAITERS : 0);
		return copy_out(g, addr, &word, 4);
	}
	word |= FUTEX_WAITERS;
	if (copy_out(g, addr, &word, 4) < 0)
		return -EFAULT;
	return proc_find_task(g, (int)owner) ? 1 : -ESRCH;
}

static int64_t lock_pi(struct guest *g, struct thread *t, const uint64_t *a, bool try, bool wall)
{
	uint64_t deadline = NO_TIME, ns, now;
	int64_t got;
	int err;

	if (t->wait.started) {
		uint32_t word;

		if (t->wait.woken)
			return 0;
		if (t->wait.timed_out)
			return -ETIMEDOUT;
		/* Retried, because another process may have released it, or died with it. */
		if (copy_in(g, &word, a[0], 4) < 0)
			return -EFAULT;
		if (word & FUTEX_TID_MASK && proc_find_task(g, (int)(word & FUTEX_TID_MASK)))
			return SYS_BLOCK;
		word = t->tid |
		       (word & FUTEX_TID_MASK ? FUTEX_OWNER_DIED : word & FUTEX_OWNER_DIED) |
		       FUTEX_WAITERS;
		return copy_out(g, a[0], &word, 4);
	}
	if (a[3] && !try) {
		err = timespec_in(g, a[3], &ns);
		if (err)
			return err;
		now = wall ? clock_real_ns(g) : clock_boot_ns(g);
		deadline = deadline_after(g, ns > now ? ns - now : 0);
	}
	got = take_pi(g, t, a[0]);
	if (got <= 0)
		return got;
	if (try)
		return -EAGAIN;
	t->wait.futex_addr = a[0];
	t->wait.futex_pi = true;
	t->wait.woken = false;
	t->wait.order = ++g->sched.wait_order;
	return wait_begin(t, WAIT_FUTEX, deadline);
}

static int64_t unlock_pi(struct guest *g, const struct thread *t, uint64_t addr)
{
	uint32_t word, zero = 0;

	if (copy_in(g, &word, addr, 4) < 0)
		return -EFAULT;
	if ((word & FUTEX_TID_MASK) != t->tid)
		return -EPERM;
	if (hand_over(g, addr, 0))
		return 0;
	return copy_out(g, addr, &zero, 4);
}

/* Waits at a[0] like FUTEX_WAIT, and comes back as the owner of a[4]. */
static int64_t wait_requeue_pi(struct guest *g, struct thread *t, const uint64_t *a)
{
	int64_t got;

	if (t->wait.started && t->wait.futex_pi) {
		const uint64_t args[6] = { a[4] };

		return lock_pi(g, t, args, false, false);
	}
	if (!t->wait.started && ((a[4] & 3) || a[4] == a[0]))
		return -EINVAL;
	if (!t->wait.started && !mem_page_has(&g->mem, a[4], MEM_R | MEM_W))
		return -EFAULT;
	got = futex_wait(g, t, a, UINT32_MAX, true);
	if (got == SYS_BLOCK && !t->wait.started)
		t->wait.futex_then = a[4];
	return got;
}

static int64_t cmp_requeue_pi(struct guest *g, const uint64_t *a)
{
	uint64_t from = a[0], to = a[4];
	unsigned moved = 0, woken = 0;
	struct thread *t;
	uint32_t word;
	int64_t got;

	if ((int32_t)a[2] != 1 || (int32_t)a[3] < 0 || from == to)
		return -EINVAL;
	if (!mem_page_has(&g->mem, to, MEM_R | MEM_W) || copy_in(g, &word, from, 4) < 0)
		return -EFAULT;
	if (word != (uint32_t)a[5])
		return -EAGAIN;
	while (woken + moved < 1 + (unsigned)a[3] && (t = first_heir(g, from, true))) {
		if (t->wait.futex_then != to)
			return -EINVAL;
		got = take_pi(g, t, to);
		if (got < 0)
			return woken + moved ? (int64_t)(woken + moved) : got;
		t->wait.futex_addr = to;
		t->wait.futex_pi = true;
		t->wait.order = ++g->sched.wait_order;
		if (got == 0) {
			t->wait.woken = true;
			syscall_retry(g, t);
			woken++;
		} else {
			moved++;
		}
	}
	return woken + moved;
}

static int64_t requeue(struct guest *g, const uint64_t *a, bool compare)
{
	uint64_t from = a[0], to = a[4];
	unsigned moved = 0, woken;
	uint32_t word;
	struct thread *t;

	if ((int32_t)a[2] < 0 || (int32_t)a[3] < 0)
		return -EINVAL;
	if (!mem_page_has(&g->mem, to, MEM_R))
		return -EFAULT;
	if (compare) {
		if (copy_in(g, &word, from, 4) < 0)
			return -EFAULT;
		if (word != (uint32_t)a[5])
			return -EAGAIN;
	}
	woken = futex_wake(g, from, (unsigned)a[2], UINT32_MAX);
	while (from != to && moved < (unsigned)a[3] && (t = first_waiter(g, from, UINT32_MAX))) {
		t->wait.futex_addr = to;
		t->wait.order = ++g->sched.wait_order;
		moved++;
	}
	return woken + (compare ? moved : 0);
}

static int64_t wake_op(struct guest *g, const uint64_t *a)
{
	uint32_t code = (uint32_t)a[5], old, value;
	int32_t arg = (int32_t)(code << 8) >> 20, cmp_arg = (int32_t)(code << 20) >> 20;
	unsigned op = (code >> 28) & 7, woken;
	bool hit;

	if (code >> 31) {
		if (arg < 0 || arg > 31)
			return -EINVAL;
		arg = (int32_t)(1u << arg);
	}
	if ((a[4] & 3) || copy_in(g, &old, a[4], 4) < 0)
		return -EFAULT;
	switch (op) {
	case FUTEX_OP_SET:
		value = (uint32_t)arg;
		break;
	case FUTEX_OP_ADD:
		value = old + (uint32_t)arg;
		break;
	case FUTEX_OP_OR:
		value = old | (uint32_t)arg;
		break;
	case FUTEX_OP_ANDN:
		value = old & ~(uint32_t)arg;
		break;
	case FUTEX_OP_XOR:
		value = old ^ (uint32_t)arg;
		break;
	default:
		return -ENOSYS;
	}
	switch ((code >> 24) & 15) {
	case FUTEX_OP_CMP_EQ:
		hit = (int32_t)old == cmp_arg;
		break;
	case FUTEX_OP_CMP_NE:
		hit = (int32_t)old != cmp_arg;
		break;
	case FUTEX_OP_CMP_LT:
		hit = (int32_t)old < cmp_arg;
		break;
	case FUTEX_OP_CMP_LE:
		hit = (int32_t)old <= cmp_arg;
		break;
	case FUTEX_OP_CMP_GT:
		hit = (int32_t)old > cmp_arg;
		break;
	case FUTEX_OP_CMP_GE:
		hit = (int32_t)old >= cmp_arg;
		break;
	default:
		return -ENOSYS;
	}
	if (copy_out(g, a[4], &value, 4) < 0)
		return -EFAULT;
	woken = futex_wake(g, a[0], (unsigned)a[2], UINT32_MAX);
	if (hit)
		woken += futex_wake(g, a[4], (unsigned)a[3], UINT32_MAX);
	return woken;
}

int64_t sys_futex(struct guest *g, struct thread *t, const uint64_t *a)
{
	unsigned op = a[1] & 0x7f;

	if (a[0] & 3)
		return -EINVAL;
	if (a[0] >= GUEST_ADDR_LIMIT)
		return -EFAULT;
	/* A shared futex is identified by its page, so the page must exist. */
	if (!(a[1] & FUTEX_PRIVATE_FLAG) && !mem_page_has(&g->mem, a[0], MEM_R))
		return -EFAULT;
	if ((a[1] & FUTEX_CLOCK_REALTIME) && op != FUTEX_WAIT_BITSET &&
	    op != FUTEX_WAIT_REQUEUE_PI && op != FUTEX_LOCK_PI2)
		return -ENOSYS;
	switch (op) {
	case FUTEX_WAIT:
		return futex_wait(g, t, a, UINT32_MAX, false);
	case FUTEX_WAIT_BITSET:
		return futex_wait(g, t, a, (uint32_t)a[5], true);
	case FUTEX_WAKE:
		return futex_wake(g, a[0], (unsigned)max_u64((uint32_t)a[2], 1), UINT32_MAX);
	case FUTEX_WAKE_BITSET:
		if (!(uint32_t)a[5])
			return -EINVAL;
		return futex_wake(g, a[0], (unsigned)max_u64((uint32_t)a[2], 1), (uint32_t)a[5]);
	case FUTEX_REQUEUE:
		return requeue(g, a, false);
	case FUTEX_CMP_REQUEUE:
		return requeue(g, a, true);
	case FUTEX_WAKE_OP:
		return wake_op(g, a);
	case FUTEX_LOCK_PI:
		return lock_pi(g, t, a, false, true);
	case FUTEX_LOCK_PI2:
		return lock_pi(g, t, a, false, a[1] & FUTEX_CLOCK_REALTIME);
	case FUTEX_TRYLOCK_PI:
		return lock_pi(g, t, a, true, true);
	case FUTEX_UNLOCK_PI:
		return unlock_pi(g, t, a[0]);
	case FUTEX_WAIT_REQUEUE_PI:
		return wait_requeue_pi(g, t, a);
	case FUTEX_CMP_REQUEUE_PI:
		return cmp_requeue_pi(g, a);
	default:
		return -ENOSYS;
	}
}

int64_t sys_set_robust_list(struct guest *g, struct thread *t, const uint64_t *a)
{
	(void)g;
	if (a[1] != 24)
		return -EINVAL;
	t->robust_head = a[0];
	t->robust_len = a[1];
	return 0;
}

int64_t sys_get_robust_list(struct guest *g, struct thread *t, const uint64_t *a)
{
	uint64_t length = 24;
	struct thread *of = (uint32_t)a[0] ? thread_find(g, (uint32_t)a[0]) : t;

	if (!of)
		return proc_find_task(g, (int)a[0]) ? -EPERM : -ESRCH;
	if (copy_out(g, a[1], &of->robust_head, 8) < 0 || copy_out(g, a[2], &length, 8) < 0)
		return -EFAULT;
	return 0;
}

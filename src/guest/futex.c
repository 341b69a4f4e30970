/* SPDX-License-Identifier: MIT */
/*
 * Futexes: threads that wait for a word in memory to change, first come, first woken.
 *
 * The key is the guest address. Threads of other processes that share the memory are reached by
 * looking again (see recheck_shared_futexes in sched.c). Priority inheritance is not there: its
 * operations answer ENOSYS, as kernels without it do.
 */
#include <linux/futex.h>
#include <time.h>

#include "guest/process.h"

static struct thread *first_waiter(struct guest *g, uint64_t addr, uint32_t bits)
{
	struct thread *first = NULL;

	for (size_t i = 0; i < g->nthreads; i++) {
		struct thread *t = g->threads[i];

		if (t->state == THREAD_BLOCKED && t->wait.kind == WAIT_FUTEX &&
		    t->wait.futex_addr == addr && (t->wait.futex_bits & bits) &&
		    (!first || t->wait.order < first->wait.order))
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
		/* Only looked at again for memory that other processes can change. */
		if (copy_in(g, &word, addr, 4) == 0 && word != (uint32_t)a[2] &&
		    t->wait.futex_addr == addr)
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
	t->wait.order = ++g->wait_order;
	t->wait.woken = false;
	return wait_begin(t, WAIT_FUTEX, deadline);
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
		t->wait.order = ++g->wait_order;
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
	/* One that is shared is known by its page, so that there has to be one. */
	if (!(a[1] & FUTEX_PRIVATE_FLAG) && !mem_page_has(&g->mem, a[0], MEM_R))
		return -EFAULT;
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
		return -ESRCH;
	if (copy_out(g, a[1], &of->robust_head, 8) < 0 || copy_out(g, a[2], &length, 8) < 0)
		return -EFAULT;
	return 0;
}

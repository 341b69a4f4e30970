/* SPDX-License-Identifier: MIT */
/*
 * The gate: from an ecall to the function that does the work, and back.
 *
 * One row per system call in guest/kernel/syscalls.def (number of the riscv64 Linux ABI, name, flags).
 */
#include <stdlib.h>
#include <string.h>

#include "guest/kernel/clock.h"
#include "guest/kernel/ipc.h"
#include "guest/kernel/sched.h"
#include "guest/kernel/syscall.h"
#include "guest/kernel/waits.h"
#include "guest/process/limits.h"
#include "guest/process/process.h"

const struct syscall_row syscall_table[SYSCALL_MAX] = {
#define SYS(nr, call, fl) [nr] = { .name = #call, .fn = sys_##call, .flags = (fl) },
#include "guest/kernel/syscalls.def"
#undef SYS
};

/* Names of calls that exist in Linux but not here, for the message. */
static const struct {
	unsigned nr;
	const char *name;
	bool probed;
	const char *why;
} other[] = {
#define NOSYS(nr, call, probed, why) { nr, #call, probed, why },
#include "guest/kernel/nosyscalls.def"
#undef NOSYS
};

static int64_t unknown(struct guest *g, uint64_t nr)
{
	const char *name = "no such call in Linux 6.12", *why = "";

	if (nr < SYSCALL_MAX) {
		if (g->named[nr / 8] & (1 << (nr % 8)))
			return -ENOSYS;
		g->named[nr / 8] |= (uint8_t)(1 << (nr % 8));
		for (size_t i = 0; i < ARRAY_LEN(other); i++) {
			if (other[i].nr != nr)
				continue;
			if (other[i].probed)
				return -ENOSYS;
			name = other[i].name;
			why = other[i].why;
		}
	}
	warn("system call %llu (%s) is not there%s%s; the guest gets ENOSYS",
	     (unsigned long long)nr, name, *why ? ": " : "", why);
	return -ENOSYS;
}

static void clear_wait(struct wait *w)
{
	struct pollfd *fds = w->fds;
	size_t cap = w->cap_fds;

	memset(w, 0, sizeof(*w));
	w->fds = fds;
	w->cap_fds = cap;
	w->deadline_ns = NO_TIME;
}

void syscall_finish(struct guest *g, struct thread *t, int64_t result)
{
	if (t->wait.kind == WAIT_IPC)
		ipc_wait_end(g, t);
	if (t->state == THREAD_BLOCKED) {
		t->state = THREAD_READY;
		waits_end(g, t);
	}
	if (result != SYS_DONE)
		t->hart.x[10] = (uint64_t)result;
	clear_wait(&t->wait);
}

static int64_t call(struct guest *g, struct thread *t)
{
	return unlikely(limits_any(g)) ? limits_call(g, t) : t->row->fn(g, t, t->args);
}

void syscall_enter(struct guest *g, struct thread *t)
{
	uint64_t nr = t->hart.x[17];
	int64_t result;

	memcpy(t->args, &t->hart.x[10], sizeof(t->args));
	t->hart.pc += 4;
	clear_wait(&t->wait);
	if (nr >= SYSCALL_MAX || !syscall_table[nr].fn) {
		t->hart.x[10] = (uint64_t)unknown(g, nr);
		return;
	}
	t->row = &syscall_table[nr];
	g->sched.log.caller = t->tid;
	result = call(g, t);
	g->sched.log.caller = 0;
	if (result == SYS_BLOCK) {
		t->wait.started = true;
		t->state = THREAD_BLOCKED;
		waits_begin(g, t);
		return;
	}
	if (result != SYS_DONE)
		t->hart.x[10] = (uint64_t)result;
}

bool syscall_retry(struct guest *g, struct thread *t)
{
	int64_t result = call(g, t);

	if (result == SYS_BLOCK)
		return false;
	syscall_finish(g, t, result);
	return true;
}

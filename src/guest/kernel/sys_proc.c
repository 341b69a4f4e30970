/* SPDX-License-Identifier: MIT */
/*
 * System calls about the process and the machine: identities, limits, what kind of system this is.
 * Everything is fixed, so that a run does not depend on whose machine it is made on.
 */
#include <linux/capability.h>
#include <linux/sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "guest/files/procfs.h"
#include "guest/kernel/clock.h"
#include "guest/kernel/sched.h"
#include "guest/kernel/signal.h"
#include "guest/kernel/syscall.h"
#include "guest/memory/copy.h"
#include "guest/process/limits.h"
#include "guest/process/process.h"
#include "guest/process/procs.h"

int64_t sys_exit(struct guest *g, struct thread *t, const uint64_t *a)
{
	/* The exit status counts only if it is the last thread. */
	g->wait_status = (int)(a[0] & 0xff) << 8;
	thread_exit(g, t);
	return SYS_DONE;
}

int64_t sys_exit_group(struct guest *g, struct thread *t, const uint64_t *a)
{
	(void)t;
	guest_end(g, (int)(a[0] & 0xff) << 8);
	return SYS_DONE;
}

#define CONSTANT(call, value)                                                                      \
	int64_t sys_##call(struct guest *g, struct thread *t, const uint64_t *a)                   \
	{                                                                                          \
		(void)g, (void)t, (void)a;                                                         \
		return (value);                                                                    \
	}

CONSTANT(getpid, g->pid)
CONSTANT(gettid, t->tid)
CONSTANT(getuid, GUEST_UID)
CONSTANT(geteuid, GUEST_UID)
CONSTANT(getgid, GUEST_UID)
CONSTANT(getegid, GUEST_UID)
CONSTANT(setfsuid, GUEST_UID)
CONSTANT(setfsgid, GUEST_UID)
CONSTANT(capset, -EPERM)
CONSTANT(setgroups, -EPERM)
CONSTANT(seccomp, -EINVAL)

/* An unprivileged process may set an identity to what it is, or leave it (-1). */
static int64_t keep_identity(const uint64_t *a, int n)
{
	for (int i = 0; i < n; i++)
		if ((uint32_t)a[i] != GUEST_UID && (uint32_t)a[i] != UINT32_MAX)
			return -EPERM;
	return 0;
}

CONSTANT(setuid, keep_identity(a, 1))
CONSTANT(setgid, keep_identity(a, 1))
CONSTANT(setreuid, keep_identity(a, 2))
CONSTANT(setregid, keep_identity(a, 2))
CONSTANT(setresuid, keep_identity(a, 3))
CONSTANT(setresgid, keep_identity(a, 3))

static int64_t three_ids(struct guest *g, const uint64_t *a)
{
	uint32_t id = GUEST_UID;

	for (int i = 0; i < 3; i++)
		if (copy_out(g, a[i], &id, 4) < 0)
			return -EFAULT;
	return 0;
}

CONSTANT(getresuid, three_ids(g, a))
CONSTANT(getresgid, three_ids(g, a))

int64_t sys_getgroups(struct guest *g, struct thread *t, const uint64_t *a)
{
	uint32_t id = GUEST_UID;

	(void)t;
	if ((int)a[0] < 0)
		return -EINVAL;
	if ((int)a[0] == 0)
		return 1;
	return copy_out(g, a[1], &id, 4) < 0 ? -EFAULT : 1;
}

/* The entry of a process of the tree, 0 meaning the caller; NULL if there is none. */
static struct proc_slot *slot_of(struct guest *g, uint64_t pid)
{
	return (int)pid ? proc_find(g, (int)pid) : proc_slot(g, g->pid);
}

/* The entry of a thread, 0 meaning the caller; NULL if there is none. */
static struct proc_slot *task_of(struct guest *g, uint64_t id)
{
	struct proc_slot *s = (int)id ? proc_find_task(g, (int)id) : proc_slot(g, g->pid);

	return s ? proc_slot(g, s->tgid) : NULL;
}

/* An orphan belongs to the system's first process. */
CONSTANT(getppid, g->pid == g->pid_base || proc_alive(g, g->ppid) ? g->ppid : 1)

int64_t sys_setpgid(struct guest *g, struct thread *t, const uint64_t *a)
{
	const struct proc_slot *me = proc_slot(g, g->pid);
	struct proc_slot *s = slot_of(g, a[0]);
	int pgid = (int)a[1];

	(void)t;
	if (pgid < 0)
		return -EINVAL;
	if (!s || (s != me && s->ppid != g->pid))
		return -ESRCH;
	if (!pgid)
		pgid = s->guest_pid;
	if (s != me && s->sid != me->sid)
		return -EPERM;
	if (s != me && s->execed)
		return -EACCES;
	if (s->sid == s->guest_pid)
		return -EPERM;
	if (pgid != s->guest_pid && !proc_group_exists(g, pgid, me->sid))
		return -EPERM;
	s->pgid = pgid;
	return 0;
}

int64_t sys_getpgid(struct guest *g, struct thread *t, const uint64_t *a)
{
	const struct proc_slot *s = task_of(g, a[0]);

	(void)t;
	return s ? s->pgid : -ESRCH;
}

int64_t sys_getsid(struct guest *g, struct thread *t, const uint64_t *a)
{
	const struct proc_slot *s = task_of(g, a[0]);

	(void)t;
	return s ? s->sid : -ESRCH;
}

int64_t sys_setsid(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct proc_slot *s = slot_of(g, 0);

	(void)t, (void)a;
	if (proc_group_exists(g, g->pid, 0))
		return -EPERM;
	s->pgid = s->sid = g->pid;
	return g->pid;
}

/* Calls a function for each process that `which` and `who` name (PRIO_PROCESS, PRIO_PGRP,
 * PRIO_USER; ioprio_get's numbers are greater by one). Returns how many there were. */
static int each_named(struct guest *g, int which, int who,
		      void (*fn)(struct proc_slot *s, void *ctx), void *ctx)
{
	int n = (int)min_u64((uint64_t)g->procs->next, PROC_SLOTS), found = 0;
	const struct proc_slot *me = proc_slot(g, g->pid);

	if (which == PRIO_PROCESS) {
		struct proc_slot *s = task_of(g, (uint64_t)who);

		if (s)
			fn(s, ctx);
		return s != NULL;
	}
	for (int i = 0; i < n; i++) {
		struct proc_slot *s = &g->procs->slot[i];
		int pid = s->guest_pid;

		if (!pid || s->tgid != pid || !proc_find(g, pid))
			continue;
		if (which == PRIO_PGRP ? s->pgid == (who ? who : (int)me->pgid)
				       : !who || who == GUEST_UID) {
			fn(s, ctx);
			found++;
		}
	}
	return found;
}

struct niceness {
	int value;
	int64_t result;
};

static void nice_get(struct proc_slot *s, void *ctx)
{
	int64_t *best = ctx;

	*best = max_u64((uint64_t)*best, (uint64_t)(20 - s->nice));
}

/* Only root may make a process less nice. */
static void nice_set(struct proc_slot *s, void *ctx)
{
	struct niceness *n = ctx;

	if (n->value < s->nice)
		n->result = -EACCES;
	else
		s->nice = n->value;
}

int64_t sys_getpriority(struct guest *g, struct thread *t, const uint64_t *a)
{
	int64_t best = 0;

	(void)t;
	if ((unsigned)a[0] > PRIO_USER)
		return -EINVAL;
	return each_named(g, (int)a[0], (int)a[1], nice_get, &best) ? best : -ESRCH;
}

int64_t sys_setpriority(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct niceness n = { (int)a[2] < -20 ? -20 : (int)a[2] > 19 ? 19 : (int)a[2], 0 };

	(void)t;
	if ((unsigned)a[0] > PRIO_USER)
		return -EINVAL;
	return each_named(g, (int)a[0], (int)a[1], nice_set, &n) ? n.result : -ESRCH;
}

static void nothing(struct proc_slot *s, void *ctx)
{
	(void)s, (void)ctx;
}

/* Every process has the default I/O priority; setting it changes nothing. */
int64_t sys_ioprio_get(struct guest *g, struct thread *t, const uint64_t *a)
{
	(void)t;
	if ((int)a[0] < 1 || (int)a[0] > 3)
		return -EINVAL;
	return each_named(g, (int)a[0] - 1, (int)a[1], nothing, NULL) ? 0 : -ESRCH;
}

int64_t sys_ioprio_set(struct guest *g, struct thread *t, const uint64_t *a)
{
	unsigned class = ((unsigned)a[2] >> 13) & 7;

	if (class > 3)
		return -EINVAL;
	return class == 1 ? -EPERM : sys_ioprio_get(g, t, a);
}

/* The memory of another process cannot be reached; nor is the call needed for the caller's own. */
static int64_t foreign_memory(struct guest *g, const uint64_t *a)
{
	return task_of(g, a[0]) && (int)a[0] > 0 ? -EPERM : -ESRCH;
}

CONSTANT(process_vm_writev, foreign_memory(g, a))
CONSTANT(process_vm_readv, foreign_memory(g, a))

int64_t sys_uname(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct utsname u;

	(void)t;
	memset(&u, 0, sizeof(u));
	strcpy(u.sysname, "Linux");
	strcpy(u.nodename, "culprit");
	strcpy(u.release, "6.12.0");
	strcpy(u.version, "#1 SMP");
	strcpy(u.machine, "riscv64");
	strcpy(u.domainname, "(none)");
	return copy_out(g, a[0], &u, sizeof(u));
}

int64_t sys_sysinfo(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct sysinfo s;

	(void)t;
	memset(&s, 0, sizeof(s));
	s.uptime = (long)(clock_boot_ns(g) / NS_PER_SEC);
	s.totalram = 8ull << 30;
	s.freeram = 6ull << 30;
	s.procs = 1;
	s.mem_unit = 1;
	return copy_out(g, a[0], &s, sizeof(s));
}

static int64_t limit_get(struct guest *g, uint64_t which, uint64_t addr)
{
	if (which >= ARRAY_LEN(g->limit))
		return -EINVAL;
	return copy_out(g, addr, &g->limit[which], sizeof(g->limit[which]));
}

static int64_t limit_set(struct guest *g, uint64_t which, uint64_t addr)
{
	struct guest_limits new;

	if (which >= ARRAY_LEN(g->limit))
		return -EINVAL;
	if (copy_in(g, &new, addr, sizeof(new)) < 0)
		return -EFAULT;
	if (new.cur > new.max)
		return -EINVAL;
	if (new.max > g->limit[which].max)
		return -EPERM;
	g->limit[which] = new;
	return 0;
}

int64_t sys_getrlimit(struct guest *g, struct thread *t, const uint64_t *a)
{
	(void)t;
	return limit_get(g, (uint32_t)a[0], a[1]);
}

int64_t sys_setrlimit(struct guest *g, struct thread *t, const uint64_t *a)
{
	(void)t;
	return limit_set(g, (uint32_t)a[0], a[1]);
}

int64_t sys_prlimit64(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct guest_limits old;
	int64_t r = 0;

	(void)t;
	if ((int)a[0] && !thread_find(g, (uint32_t)a[0]))
		return proc_find_task(g, (int)a[0]) ? -EPERM : -ESRCH;
	if ((uint32_t)a[1] >= ARRAY_LEN(g->limit))
		return -EINVAL;
	old = g->limit[(uint32_t)a[1]];
	if (a[2])
		r = limit_set(g, (uint32_t)a[1], a[2]);
	if (r == 0 && a[3])
		r = copy_out(g, a[3], &old, sizeof(old));
	return r;
}

int64_t sys_getrusage(struct guest *g, struct thread *t, const uint64_t *a)
{
	int64_t ru[18] = { 0 };
	uint64_t cpu;

	(void)t;
	switch ((int)a[0]) {
	case RUSAGE_SELF:
	case RUSAGE_THREAD:
		cpu = clock_cpu_ns(g);
		break;
	case RUSAGE_CHILDREN:
		cpu = g->family.children_cpu_ns;
		break;
	default:
		return -EINVAL;
	}
	ru[0] = (int64_t)(cpu / NS_PER_SEC);
	ru[1] = (int64_t)(cpu % NS_PER_SEC / 1000);
	ru[4] = 4096; /* maxrss in KiB: fixed, because the host's differs from run to run */
	return copy_out(g, a[1], ru, sizeof(ru));
}

int64_t sys_prctl(struct guest *g, struct thread *t, const uint64_t *a)
{
	char name[16] = { 0 };
	int64_t n;
	int32_t number;

	switch ((int)a[0]) {
	case PR_SET_NAME:
		for (n = 0; n < 15; n++) {
			if (copy_in(g, &name[n], a[1] + (uint64_t)n, 1) < 0)
				return -EFAULT;
			if (!name[n])
				break;
		}
		name[15] = 0;
		memcpy(t->name, name, sizeof(name));
		proc_note(g);
		return 0;
	case PR_GET_NAME:
		return copy_out(g, a[1], t->name, sizeof(t->name));
	case PR_GET_PDEATHSIG:
		number = proc_slot(g, g->pid)->death_signal;
		return copy_out(g, a[1], &number, 4);
	case PR_SET_PDEATHSIG:
		if (a[1] > GUEST_SIGNALS)
			return -EINVAL;
		proc_slot(g, g->pid)->death_signal = (int)a[1];
		return 0;
	case PR_SET_DUMPABLE:
	case PR_SET_NO_NEW_PRIVS:
	case PR_SET_KEEPCAPS:
	case PR_SET_TIMERSLACK:
	case PR_SET_CHILD_SUBREAPER:
		return 0;
	case PR_GET_DUMPABLE:
		return 1;
	case PR_GET_NO_NEW_PRIVS:
	case PR_GET_KEEPCAPS:
	case PR_GET_SECCOMP:
	case PR_GET_THP_DISABLE:
	case PR_SET_THP_DISABLE:
		return 0;
	case PR_GET_TIMERSLACK:
		return 50000;
	default:
		/* PR_SET_VMA and PR_CAPBSET_READ among them: callers cope. */
		return -EINVAL;
	}
}

int64_t sys_getcpu(struct guest *g, struct thread *t, const uint64_t *a)
{
	uint32_t zero = 0;

	(void)t;
	if (a[0] && copy_out(g, a[0], &zero, 4) < 0)
		return -EFAULT;
	return a[1] ? copy_out(g, a[1], &zero, 4) : 0;
}

int64_t sys_personality(struct guest *g, struct thread *t, const uint64_t *a)
{
	uint64_t old = g->personality;

	(void)t;
	if ((uint32_t)a[0] != UINT32_MAX)
		g->personality = (uint32_t)a[0];
	return (int64_t)old;
}

int64_t sys_capget(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct __user_cap_header_struct h;
	uint32_t none[6] = { 0 };

	(void)t;
	if (copy_in(g, &h, a[0], sizeof(h)) < 0)
		return -EFAULT;
	if (h.version != _LINUX_CAPABILITY_VERSION_3) {
		h.version = _LINUX_CAPABILITY_VERSION_3;
		if (copy_out(g, a[0], &h, sizeof(h)) < 0)
			return -EFAULT;
		return a[1] ? -EINVAL : 0;
	}
	if (h.pid < 0)
		return -EINVAL;
	if (!task_of(g, (uint64_t)h.pid))
		return -ESRCH;
	return a[1] ? copy_out(g, a[1], none, sizeof(none)) : 0;
}

int64_t sys_getrandom(struct guest *g, struct thread *t, const uint64_t *a)
{
	uint64_t n = min_u64(a[1], 33554431);
	uint64_t done = 0;

	(void)t;
	if ((unsigned)a[2] & ~(GRND_RANDOM | GRND_NONBLOCK | 4u /* GRND_INSECURE */))
		return -EINVAL;
	while (done < n) {
		uint8_t buf[256];
		uint64_t part = min_u64(sizeof(buf), n - done);

		if (g->config.real_time) {
			if (getrandom(buf, part, 0) != (ssize_t)part)
				return done ? (int64_t)done : -EAGAIN;
		} else {
			for (uint64_t i = 0; i < part; i += 8) {
				uint64_t v = rng_next(&g->rng);

				memcpy(buf + i, &v, min_u64(8, part - i));
			}
		}
		uint64_t copied = copy_out_some(g, a[0] + done, buf, part);

		done += copied;
		if (copied < part)
			return done ? (int64_t)done : -EFAULT;
	}
	return (int64_t)done;
}

int64_t sys_riscv_hwprobe(struct guest *g, struct thread *t, const uint64_t *a)
{
	/* Keys and bits of Linux's hwprobe interface, up to 6.12. */
	static const struct {
		int64_t key;
		uint64_t value;
	} known[] = {
		{ 0, 0 },	  /* MVENDORID */
		{ 1, 0 },	  /* MARCHID */
		{ 2, 0 },	  /* MIMPID */
		{ 3, 1 },	  /* BASE_BEHAVIOR: IMA */
		{ 4, 1 << 0	  /* FD */
			 | 1 << 1 /* C */
			 | 1 << 3 /* Zba */
			 | 1 << 4 /* Zbb */
			 | 1 << 5 /* Zbs */
			 | 1ull << 35 /* Zicond */ },
		{ 5, 3 },		     /* CPUPERF_0: misaligned accesses are fast */
		{ 7, GUEST_ADDR_LIMIT - 1 }, /* HIGHEST_VIRT_ADDRESS */
		{ 8, 10000000 },	     /* TIME_CSR_FREQ */
		{ 9, 3 },		     /* MISALIGNED_SCALAR_PERF: fast */
	};
	uint64_t pairs = a[1];

	(void)t;
	if (a[4] & ~1ull)
		return -EINVAL;
	for (uint64_t i = 0; i < pairs; i++) {
		int64_t pair[2];

		if (copy_in(g, pair, a[0] + i * 16, sizeof(pair)) < 0)
			return -EFAULT;
		for (size_t k = 0; k < ARRAY_LEN(known); k++) {
			if (pair[0] == known[k].key) {
				pair[1] = (int64_t)known[k].value;
				goto found;
			}
		}
		pair[0] = -1;
		pair[1] = 0;
	found:
		if (copy_out(g, a[0] + i * 16, pair, sizeof(pair)) < 0)
			return -EFAULT;
	}
	return 0;
}

/* SPDX-License-Identifier: MIT */
/* System calls about signals; sending, delivery and the frame are in signal.c. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "guest/files/fd.h"
#include "guest/kernel/clock.h"
#include "guest/kernel/sched.h"
#include "guest/kernel/signal.h"
#include "guest/kernel/syscall.h"
#include "guest/memory/copy.h"
#include "guest/process/process.h"
#include "guest/process/procs.h"

#define BIT(signo)  (1ull << ((signo)-1))
#define UNBLOCKABLE (BIT(SIGKILL) | BIT(SIGSTOP))

int64_t sys_rt_sigaction(struct guest *g, struct thread *t, const uint64_t *a)
{
	int signo = (int)a[0];
	struct sig_action act, old;

	(void)t;
	if (a[3] != 8 || signo < 1 || signo > GUEST_SIGNALS)
		return -EINVAL;
	old = g->signals.action[signo];
	if (a[1]) {
		if (copy_in(g, &act, a[1], sizeof(act)) < 0)
			return -EFAULT;
		if (signo == SIGKILL || signo == SIGSTOP)
			return -EINVAL;
	}
	if (a[2] && copy_out(g, a[2], &old, sizeof(old)) < 0)
		return -EFAULT;
	if (a[1]) {
		act.mask &= ~UNBLOCKABLE;
		g->signals.action[signo] = act;
		if (act.handler > 1)
			signal_watch_host(g, signo);
	}
	return 0;
}

int64_t sys_rt_sigprocmask(struct guest *g, struct thread *t, const uint64_t *a)
{
	uint64_t set, old = t->sigmask;

	if (a[3] != 8)
		return -EINVAL;
	if (a[1]) {
		if (copy_in(g, &set, a[1], 8) < 0)
			return -EFAULT;
		if ((int)a[0] == SIG_BLOCK)
			set = old | set;
		else if ((int)a[0] == SIG_UNBLOCK)
			set = old & ~set;
		else if ((int)a[0] != SIG_SETMASK)
			return -EINVAL;
		t->sigmask = set & ~UNBLOCKABLE;
	}
	return a[2] ? copy_out(g, a[2], &old, 8) : 0;
}

int64_t sys_rt_sigpending(struct guest *g, struct thread *t, const uint64_t *a)
{
	uint64_t set = (t->pending.set | g->signals.pending.set) & t->sigmask;

	return a[1] > 8 ? -EINVAL : copy_out(g, a[0], &set, a[1]);
}

int64_t sys_rt_sigsuspend(struct guest *g, struct thread *t, const uint64_t *a)
{
	uint64_t mask;

	if (t->wait.started)
		return SYS_BLOCK;
	if (a[1] != 8)
		return -EINVAL;
	if (copy_in(g, &mask, a[0], 8) < 0)
		return -EFAULT;
	t->saved_sigmask = t->sigmask;
	t->restore_sigmask = true;
	t->sigmask = mask & ~UNBLOCKABLE;
	return wait_begin(t, WAIT_SIGNAL, NO_TIME);
}

int64_t sys_rt_sigtimedwait(struct guest *g, struct thread *t, const uint64_t *a)
{
	uint64_t set, ns = NO_TIME;
	siginfo_t info;
	int err;

	if (a[3] != 8)
		return -EINVAL;
	if (copy_in(g, &set, a[0], 8) < 0)
		return -EFAULT;
	set &= ~UNBLOCKABLE;
	if (a[2]) {
		err = timespec_in(g, a[2], &ns);
		if (err)
			return err;
	}
	if (signal_take(g, t, set, &info)) {
		if (a[1] && copy_out(g, a[1], &info, 128) < 0)
			return -EFAULT;
		return info.si_signo;
	}
	if (t->wait.timed_out || ns == 0)
		return -EAGAIN;
	for (int s = 1; s <= GUEST_SIGNALS; s++)
		if (set & BIT(s))
			signal_watch_host(g, s);
	t->wait.sigset = set;
	return wait_begin(t, WAIT_SIGNAL, ns == NO_TIME ? NO_TIME : deadline_after(g, ns));
}

static void describe_sender(struct guest *g, siginfo_t *info, int signo, int code)
{
	memset(info, 0, sizeof(*info));
	info->si_signo = signo;
	info->si_code = code;
	info->si_pid = g->pid;
	info->si_uid = GUEST_UID;
}

/* Every process of the tree that `pgid` names: a group, or -1 for all but the caller. The caller
 * itself comes last, because the signal may end it. */
static int64_t send_to_group(struct guest *g, int pgid, const siginfo_t *info)
{
	int64_t result = -ESRCH;
	bool self = false;
	int n = (int)min_u64((uint64_t)g->procs->next, PROC_SLOTS);

	for (int i = 0; i < n; i++) {
		const struct proc_slot *s = &g->procs->slot[i];
		int pid = s->guest_pid;

		if (!pid || s->tgid != pid || (pgid != -1 && s->pgid != pgid))
			continue;
		if (pid == g->pid) {
			self = pgid != -1;
			if (self)
				result = 0;
		} else if (proc_signal(g, pid, 0, info) == 0) {
			result = 0;
		}
	}
	if (self)
		proc_signal(g, g->pid, 0, info);
	return result;
}

int64_t sys_kill(struct guest *g, struct thread *t, const uint64_t *a)
{
	int pid = (int)a[0], signo = (int)a[1];
	const struct proc_slot *s;
	siginfo_t info;

	(void)t;
	if (signo < 0 || signo > GUEST_SIGNALS)
		return -EINVAL;
	describe_sender(g, &info, signo, SI_USER);
	if (pid > 0) {
		/* A thread's number stands for the process that it belongs to. */
		s = proc_find_task(g, pid);
		return s ? proc_signal(g, s->tgid, 0, &info) : -ESRCH;
	}
	if (pid == INT32_MIN)
		return -ESRCH;
	return send_to_group(g,
			     pid == 0	 ? (int)proc_slot(g, g->pid)->pgid
			     : pid == -1 ? -1
					 : -pid,
			     &info);
}

/* tgid 0: of whichever process. */
static int64_t send_to_thread(struct guest *g, int tgid, int tid, const siginfo_t *info)
{
	const struct proc_slot *s;

	if (info->si_signo < 0 || info->si_signo > GUEST_SIGNALS)
		return -EINVAL;
	s = proc_find_task(g, tid);
	if (!s || (tgid && s->tgid != tgid))
		return -ESRCH;
	return proc_signal(g, s->tgid, (uint32_t)tid, info);
}

int64_t sys_tkill(struct guest *g, struct thread *t, const uint64_t *a)
{
	siginfo_t info;

	(void)t;
	describe_sender(g, &info, (int)a[1], SI_TKILL);
	return (int)a[0] <= 0 ? -EINVAL : send_to_thread(g, 0, (int)a[0], &info);
}

int64_t sys_tgkill(struct guest *g, struct thread *t, const uint64_t *a)
{
	siginfo_t info;

	(void)t;
	if ((int)a[0] <= 0 || (int)a[1] <= 0)
		return -EINVAL;
	describe_sender(g, &info, (int)a[2], SI_TKILL);
	return send_to_thread(g, (int)a[0], (int)a[1], &info);
}

/* Reads the siginfo that a sender gives; one sent to another process cannot claim to be from the
 * kernel or kill(). */
static int64_t info_in(struct guest *g, siginfo_t *info, int signo, uint64_t addr, int to)
{
	memset(info, 0, sizeof(*info));
	if (copy_in(g, info, addr, 128) < 0)
		return -EFAULT;
	info->si_signo = signo;
	return (info->si_code >= 0 || info->si_code == SI_TKILL) && to != g->pid ? -EPERM : 0;
}

int64_t sys_rt_sigqueueinfo(struct guest *g, struct thread *t, const uint64_t *a)
{
	const struct proc_slot *s;
	siginfo_t info;
	int64_t err = info_in(g, &info, (int)a[1], a[2], (int)a[0]);

	(void)t;
	if (err)
		return err;
	s = (int)a[0] > 0 ? proc_find_task(g, (int)a[0]) : NULL;
	if (info.si_signo < 0 || info.si_signo > GUEST_SIGNALS)
		return s ? -EINVAL : -ESRCH;
	return s ? proc_signal(g, s->tgid, 0, &info) : -ESRCH;
}

int64_t sys_rt_tgsigqueueinfo(struct guest *g, struct thread *t, const uint64_t *a)
{
	siginfo_t info;
	int64_t err;

	(void)t;
	err = info_in(g, &info, (int)a[2], a[3], (int)a[0]);
	if (err)
		return err;
	if ((int)a[0] <= 0 || (int)a[1] <= 0)
		return -EINVAL;
	return send_to_thread(g, (int)a[0], (int)a[1], &info);
}

/* ---- descriptors of processes ---- */

/* A pidfd that came through a socket is not marked as one. The kernel knows its process; the table
 * knows whether that belongs to the tree. */
int pidfd_process(struct guest *g, const struct fd_entry *f)
{
	char path[64], line[128];
	int host = 0;
	bool is_pidfd = false;
	FILE *info;

	if (f->kind == FD_PIDFD)
		return f->pid;
	if (f->kind != FD_PLAIN)
		return -EBADF;
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", f->host);
	info = fopen(path, "re");
	while (info && fgets(line, sizeof(line), info))
		is_pidfd |= sscanf(line, "Pid: %d", &host) == 1;
	if (info)
		fclose(info);
	if (!is_pidfd)
		return -EBADF;
	host = proc_of_host(g, host);
	return host ? host : -ESRCH;
}

int64_t sys_pidfd_open(struct guest *g, struct thread *t, const uint64_t *a)
{
	const struct proc_slot *s;
	int host;
	int64_t fd;

	(void)t;
	if (((unsigned)a[1] & ~(unsigned)O_NONBLOCK) || (int)a[0] <= 0)
		return -EINVAL;
	s = proc_find_task(g, (int)a[0]);
	if (!s)
		return -ESRCH;
	if (s->tgid != (int)a[0])
		return -EINVAL; /* a thread, not a process */
	host = proc_open(g, (int)a[0]);
	if (host < 0)
		return host;
	if ((unsigned)a[1] & O_NONBLOCK)
		fcntl(host, F_SETFL, fcntl(host, F_GETFL) | O_NONBLOCK);
	fd = fd_install(g, host, 0, true, FD_PIDFD);
	if (fd >= 0)
		g->fds[fd].pid = (int)a[0];
	return fd;
}

int64_t sys_pidfd_send_signal(struct guest *g, struct thread *t, const uint64_t *a)
{
	const struct fd_entry *f = fd_get(g, a[0]);
	int signo = (int)a[1], pid;
	siginfo_t info;

	(void)t;
	if ((unsigned)a[3] & ~4u) /* PIDFD_SIGNAL_PROCESS_GROUP */
		return -EINVAL;
	if (!f)
		return -EBADF;
	pid = pidfd_process(g, f);
	if (pid < 0)
		return pid;
	describe_sender(g, &info, signo, SI_USER);
	if (a[2]) {
		int64_t err = info_in(g, &info, signo, a[2], pid);
		int32_t named;

		if (err == -EFAULT)
			return err;
		if (copy_in(g, &named, a[2], 4) == 0 && named != signo)
			return -EINVAL;
		if (err)
			return err;
	}
	if (signo < 0 || signo > GUEST_SIGNALS)
		return -EINVAL;
	if ((unsigned)a[3]) {
		const struct proc_slot *s = proc_find(g, pid);

		return s ? send_to_group(g, s->pgid, &info) : -ESRCH;
	}
	return proc_signal(g, pid, 0, &info);
}

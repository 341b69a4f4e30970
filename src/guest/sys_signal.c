/* SPDX-License-Identifier: MIT */
/* System calls about signals; sending, delivery and the frame are in signal.c. */
#include <string.h>
#include <unistd.h>

#include "guest/process.h"

#define BIT(signo)  (1ull << ((signo)-1))
#define UNBLOCKABLE (BIT(SIGKILL) | BIT(SIGSTOP))

int64_t sys_rt_sigaction(struct guest *g, struct thread *t, const uint64_t *a)
{
	int signo = (int)a[0];
	struct sig_action act, old;

	(void)t;
	if (a[3] != 8 || signo < 1 || signo > GUEST_SIGNALS)
		return -EINVAL;
	old = g->action[signo];
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
		g->action[signo] = act;
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
	uint64_t set = (t->pending.set | g->pending.set) & t->sigmask;

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

/* A process of the simulated tree other than this one. */
static int64_t send_to_process(struct guest *g, int pid, int signo)
{
	struct proc_slot *slot = proc_slot(g, pid);
	int host;

	if (!slot || slot->guest_pid != pid)
		return -ESRCH;
	host = slot->host_pid;
	if (slot->status & PROC_ENDED)
		return 0; /* a zombie takes signals */
	if (host <= 0)
		return -ESRCH;
	if (signo == SIGKILL && g->config.children == GUEST_CHILDREN_SIMULATED) {
		slot->killed = 1;
		kill(host, SIGCONT);
		signo = SIGNAL_KILLED;
	}
	return signo ? ret_errno(kill(host, signo)) : 0;
}

static int64_t send_to_group(struct guest *g, int pgid, int signo)
{
	int64_t result = -ESRCH;
	bool self = false;
	siginfo_t info;
	int n = g->procs->next;

	for (int i = 0; i < n && i < PROC_SLOTS; i++) {
		struct proc_slot *s = &g->procs->slot[i];

		if (!s->guest_pid || (s->status & PROC_ENDED) || (pgid != -1 && s->pgid != pgid))
			continue;
		if (s->guest_pid == g->pid) {
			self = pgid != -1;
			result = 0;
		} else if (send_to_process(g, s->guest_pid, signo) == 0) {
			result = 0;
		}
	}
	if (self && signo) {
		describe_sender(g, &info, signo, SI_USER);
		signal_send(g, NULL, &info);
	}
	return result;
}

int64_t sys_kill(struct guest *g, struct thread *t, const uint64_t *a)
{
	int pid = (int)a[0], signo = (int)a[1];
	siginfo_t info;

	(void)t;
	if (signo < 0 || signo > GUEST_SIGNALS)
		return -EINVAL;
	if (pid == g->pid) {
		if (signo) {
			describe_sender(g, &info, signo, SI_USER);
			signal_send(g, NULL, &info);
		}
		return 0;
	}
	if (pid > 0)
		return send_to_process(g, pid, signo);
	if (pid == 0)
		return send_to_group(g, proc_slot(g, g->pid)->pgid, signo);
	return send_to_group(g, pid == -1 ? -1 : -pid, signo);
}

static int64_t send_to_thread(struct guest *g, uint32_t tid, int signo)
{
	struct thread *to = thread_find(g, tid);
	siginfo_t info;

	if (signo < 0 || signo > GUEST_SIGNALS)
		return -EINVAL;
	if (!to)
		return -ESRCH;
	if (signo) {
		describe_sender(g, &info, signo, SI_TKILL);
		signal_send(g, to, &info);
	}
	return 0;
}

int64_t sys_tkill(struct guest *g, struct thread *t, const uint64_t *a)
{
	(void)t;
	return (int)a[0] <= 0 ? -EINVAL : send_to_thread(g, (uint32_t)a[0], (int)a[1]);
}

int64_t sys_tgkill(struct guest *g, struct thread *t, const uint64_t *a)
{
	(void)t;
	if ((int)a[0] <= 0 || (int)a[1] <= 0)
		return -EINVAL;
	return (int)a[0] == g->pid ? send_to_thread(g, (uint32_t)a[1], (int)a[2]) : -ESRCH;
}

static int64_t queue_info(struct guest *g, struct thread *to, int signo, uint64_t addr)
{
	siginfo_t info;

	if (signo < 0 || signo > GUEST_SIGNALS)
		return -EINVAL;
	if (copy_in(g, &info, addr, 128) < 0)
		return -EFAULT;
	info.si_signo = signo;
	if (signo)
		signal_send(g, to, &info);
	return 0;
}

int64_t sys_rt_sigqueueinfo(struct guest *g, struct thread *t, const uint64_t *a)
{
	(void)t;
	if ((int)a[0] == g->pid)
		return queue_info(g, NULL, (int)a[1], a[2]);
	return send_to_process(g, (int)a[0], (int)a[1]);
}

int64_t sys_rt_tgsigqueueinfo(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct thread *to = thread_find(g, (uint32_t)a[1]);

	(void)t;
	if ((int)a[0] != g->pid || !to)
		return -ESRCH;
	return queue_info(g, to, (int)a[2], a[3]);
}

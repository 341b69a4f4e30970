/* SPDX-License-Identifier: MIT */
/*
 * The one table of the guest's processes and threads, in memory that its whole tree shares.
 *
 * Every call that names a process goes through it: a number that is not in the table does not exist
 * for the guest, whatever process of the host has it. Ids are numbers of the tree, handed out in
 * order, so that they repeat from run to run, and never handed out twice.
 *
 * An entry names a process of the host by its pid, and a pid of the host may be used again once its
 * process is gone. Therefore each process of the tree holds a POSIX lock on a byte of its own in a
 * file without a name: the kernel says which live process holds it, and gives it up when the
 * process ends in any way. A signal goes through a pidfd that was opened before the lock was looked
 * at, so it reaches the holder of the lock or nobody.
 *
 * Signals between processes of the tree are entries of a mailbox beside the receiver's row, and one
 * signal of the host that says "look" (SIGNAL_LOOK). What they do is decided by the guest that
 * receives them, not by what the host would do with a signal of that number.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "guest/kernel/ipc.h"
#include "guest/kernel/sched.h"
#include "guest/kernel/signal.h"
#include "guest/process/baton.h"
#include "guest/process/process.h"
#include "guest/process/procs.h"

enum { MAIL_FREE, MAIL_WRITTEN, MAIL_SENT };

struct proc_slot *proc_slot(const struct guest *g, int pid)
{
	int i = pid - g->pid_base;

	return i < 0 ? NULL : &g->procs->slot[i % PROC_SLOTS];
}

int proc_new_id(struct guest *g)
{
	for (int i = 0; i < PROC_SLOTS; i++) {
		int id = g->pid_base + atomic_fetch_add(&g->procs->next, 1);

		if (proc_slot(g, id)->guest_pid == 0)
			return id;
	}
	return -EAGAIN;
}

static short lock_op(struct guest *g, int command, int pid, pid_t *holder)
{
	struct flock lock = { .l_type = F_WRLCK,
			      .l_whence = SEEK_SET,
			      .l_start = (pid - g->pid_base) % PROC_SLOTS,
			      .l_len = 1 };

	if (fcntl(g->shared_fd, command, &lock) < 0)
		return -1;
	if (holder)
		*holder = lock.l_pid;
	return lock.l_type;
}

void proc_slot_take(struct guest *g, int id, int tgid, const struct proc_slot *like)
{
	struct proc_slot *s = proc_slot(g, id);

	s->ready = 0;
	s->host_pid = 0;
	s->status = 0;
	s->end_ns = s->cpu_ns = s->wake_ns = 0;
	s->ppid = g->pid;
	s->pgid = like ? (int)like->pgid : id;
	s->sid = like ? (int)like->sid : id;
	s->nice = like ? (int)like->nice : 0;
	s->death_signal = 0;
	s->execed = 0;
	for (size_t i = 0; i < PROC_MAILS; i++)
		s->mail[i].state = MAIL_FREE;
	s->tgid = tgid;
	s->guest_pid = id;
}

void proc_slot_drop(struct guest *g, int id)
{
	struct proc_slot *s = proc_slot(g, id);

	if (s && s->guest_pid == id)
		s->guest_pid = 0;
}

void proc_slot_mine(struct guest *g)
{
	struct proc_slot *s = proc_slot(g, g->pid);

	s->host_pid = getpid();
	if (lock_op(g, F_SETLK, g->pid, NULL) < 0)
		die("cannot enter the table of guest processes: %s", strerror(errno));
	s->ready = 1;
}

void procs_init(struct guest *g)
{
	int fd = memfd_create("culprit", MFD_CLOEXEC);

	/* Above the standard streams, in case one of these is closed. */
	g->shared_fd = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (fd >= 0)
		close(fd);
	g->procs = mmap(NULL, sizeof(*g->procs), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (g->procs == MAP_FAILED || g->shared_fd < 0)
		die("out of memory: cannot map the table of guest processes");
	g->pid_base = 1000 + (g->config.seed ? (int)(hash_u64(g->config.seed) % 30000) : 0);
	g->pid = proc_new_id(g);
	g->ppid = g->pid_base - 1;
	g->procs->processes = g->procs->alive = 1;
	g->procs->foreground = g->pid;
	baton_init(g);
	ipc_init(g);
	proc_slot_take(g, g->pid, g->pid, NULL);
	proc_slot(g, g->pid)->ppid = g->ppid;
	proc_slot_mine(g);
}

void procs_free(struct guest *g)
{
	for (size_t i = 0; i < g->family.nchildren; i++)
		close(g->family.children[i].pidfd);
	free(g->family.children);
	g->family.children = NULL;
	g->family.nchildren = 0;
	ipc_free(g);
	if (g->procs) {
		munmap(g->procs, sizeof(*g->procs));
		close(g->shared_fd);
	}
	g->procs = NULL;
}

static bool is_child(const struct guest *g, int pid)
{
	for (size_t i = 0; i < g->family.nchildren; i++)
		if (g->family.children[i].guest_pid == pid)
			return true;
	return false;
}

/* Does the host's process still run? It may be a moment old and not have taken its lock yet. */
static bool holds_lock(struct guest *g, const struct proc_slot *s)
{
	const struct timespec moment = { 0, 1000000 };
	pid_t holder = 0;

	if (s->host_pid == getpid())
		return true;
	for (int i = 0; i < 1000 && !s->ready; i++)
		nanosleep(&moment, NULL);
	return lock_op(g, F_GETLK, s->guest_pid, &holder) == F_WRLCK && holder == s->host_pid;
}

bool proc_alive(struct guest *g, int pid)
{
	struct proc_slot *s = pid > 0 ? proc_slot(g, pid) : NULL;

	return s && s->guest_pid == pid && !(s->status & PROC_ENDED) && holds_lock(g, s);
}

struct proc_slot *proc_find(struct guest *g, int pid)
{
	struct proc_slot *s = pid > 0 ? proc_slot(g, pid) : NULL;

	if (!s || s->guest_pid != pid || s->tgid != pid)
		return NULL;
	if (pid == g->pid || is_child(g, pid))
		return s;
	/* Ended, and its parent has not asked yet; or killed, so that it could not say so itself.
	 */
	if (((s->status & PROC_ENDED) || !holds_lock(g, s)) && !proc_alive(g, s->ppid)) {
		s->guest_pid = 0;
		ipc_process_gone(g, pid);
		return NULL;
	}
	return s;
}

struct proc_slot *proc_find_task(struct guest *g, int id)
{
	struct proc_slot *s = id > 0 ? proc_slot(g, id) : NULL;

	if (!s || s->guest_pid != id)
		return NULL;
	return proc_find(g, s->tgid) ? s : NULL;
}

bool proc_group_exists(struct guest *g, int pgid, int sid)
{
	int n = (int)min_u64((uint64_t)g->procs->next, PROC_SLOTS);

	for (int i = 0; i < n; i++) {
		const struct proc_slot *s = &g->procs->slot[i];

		if (s->guest_pid && s->tgid == s->guest_pid && s->pgid == pgid &&
		    (!sid || s->sid == sid) && proc_find(g, s->guest_pid))
			return true;
	}
	return false;
}

int proc_of_host(struct guest *g, pid_t host)
{
	int n = (int)min_u64((uint64_t)g->procs->next, PROC_SLOTS);

	for (int i = 0; host > 0 && i < n; i++) {
		const struct proc_slot *s = &g->procs->slot[i];
		int pid = s->guest_pid;

		if (pid && s->tgid == pid && s->host_pid == host && proc_find(g, pid) &&
		    (is_child(g, pid) || holds_lock(g, s)))
			return pid;
	}
	return 0;
}

int proc_open(struct guest *g, int pid)
{
	struct proc_slot *s = proc_find(g, pid);
	int fd;

	if (!s)
		return -ESRCH;
	for (size_t i = 0; i < g->family.nchildren; i++)
		if (g->family.children[i].guest_pid == pid)
			return (int)ret_errno(
			    fcntl(g->family.children[i].pidfd, F_DUPFD_CLOEXEC, 3));
	fd = (int)syscall(SYS_pidfd_open, (pid_t)s->host_pid, 0);
	if (fd < 0)
		return -ESRCH;
	/* Only now is it certain whose process the pidfd is. */
	if (!holds_lock(g, s)) {
		close(fd);
		return -ESRCH;
	}
	return fd;
}

bool proc_others_before(struct guest *g, uint64_t boot_ns, bool *any)
{
	int n = (int)min_u64((uint64_t)g->procs->next, PROC_SLOTS);

	for (int i = 0; i < n; i++) {
		const struct proc_slot *s = &g->procs->slot[i];
		int pid = s->guest_pid;

		if (!pid || s->tgid != pid || pid == g->pid || (s->status & PROC_ENDED))
			continue;
		if (s->wake_ns < boot_ns)
			return true;
		*any |= !s->waits_child;
	}
	return false;
}

/* ---- signals from one process of the tree to another ---- */

static bool post(struct proc_slot *s, const siginfo_t *info, uint32_t tid)
{
	int signo;

	for (size_t i = 0; info->si_signo < 32 && i < PROC_MAILS; i++) {
		memcpy(&signo, s->mail[i].info, sizeof(signo));
		if (s->mail[i].state == MAIL_SENT && s->mail[i].tid == tid &&
		    signo == info->si_signo)
			return true; /* standard signals do not queue */
	}
	for (size_t i = 0; i < PROC_MAILS; i++) {
		struct sig_mail *m = &s->mail[i];
		int free = MAIL_FREE;

		if (!atomic_compare_exchange_strong(&m->state, &free, MAIL_WRITTEN))
			continue;
		memcpy(m->info, info, sizeof(m->info));
		m->tid = tid;
		m->order = atomic_fetch_add(&s->mails, 1);
		m->state = MAIL_SENT;
		return true;
	}
	return false;
}

void proc_look(struct guest *g, int pid)
{
	int fd = proc_open(g, pid);

	if (fd < 0)
		return;
	proc_slot(g, pid)->wake_ns = 0;
	syscall(SYS_pidfd_send_signal, fd, SIGNAL_LOOK, NULL, 0);
	close(fd);
}

/* Sends the signal that a process asked for at its parent's end (PR_SET_PDEATHSIG). */
void proc_tell_children(struct guest *g, int parent)
{
	int n = (int)min_u64((uint64_t)g->procs->next, PROC_SLOTS);

	for (int i = 0; i < n; i++) {
		struct proc_slot *s = &g->procs->slot[i];
		siginfo_t info;

		if (!s->guest_pid || s->ppid != parent || !s->death_signal ||
		    s->guest_pid == parent)
			continue;
		memset(&info, 0, sizeof(info));
		info.si_signo = s->death_signal;
		info.si_pid = parent;
		info.si_uid = GUEST_UID;
		proc_signal(g, s->guest_pid, 0, &info);
	}
}

int64_t proc_signal(struct guest *g, int pid, uint32_t tid, const siginfo_t *info)
{
	struct proc_slot *s = proc_find(g, pid);
	int fd;

	if (!s)
		return -ESRCH;
	if (!info->si_signo || (s->status & PROC_ENDED))
		return 0; /* a zombie takes signals */
	if (pid == g->pid) {
		signal_send(g, tid ? thread_find(g, tid) : NULL, info);
		return 0;
	}
	fd = proc_open(g, pid);
	if (fd < 0)
		return 0; /* it has just ended */
	if (!post(s, info, tid)) {
		close(fd);
		return -EAGAIN;
	}
	s->wake_ns = 0;
	/* SIGKILL, too, is carried out by the receiver, which may have results to write, locks to
	 * give up, and children to tell. */
	if (info->si_signo == SIGKILL || info->si_signo == SIGCONT)
		syscall(SYS_pidfd_send_signal, fd, SIGCONT, NULL, 0);
	syscall(SYS_pidfd_send_signal, fd, SIGNAL_LOOK, NULL, 0);
	close(fd);
	return 0;
}

void proc_end_others(struct guest *g)
{
	const siginfo_t kill = { .si_signo = SIGKILL };
	int n = (int)min_u64((uint64_t)g->procs->next, PROC_SLOTS);

	/* Measured processes go on until they have written their results. */
	if (g->config.children != GUEST_CHILDREN_FUNCTIONAL ||
	    (proc_slot(g, g->pid)->status & PROC_ENDED))
		return;
	for (int i = 0; i < n; i++) {
		const int pid = g->procs->slot[i].guest_pid;

		if (pid && pid != g->pid && g->procs->slot[i].tgid == pid)
			proc_signal(g, pid, 0, &kill);
	}
}

void proc_read_mail(struct guest *g)
{
	struct proc_slot *s = proc_slot(g, g->pid);

	for (;;) {
		struct sig_mail *first = NULL;
		siginfo_t info;
		uint32_t tid;

		for (size_t i = 0; i < PROC_MAILS; i++)
			if (s->mail[i].state == MAIL_SENT &&
			    (!first || s->mail[i].order < first->order))
				first = &s->mail[i];
		if (!first)
			return;
		memset(&info, 0, sizeof(info));
		memcpy(&info, first->info, sizeof(first->info));
		tid = first->tid;
		first->state = MAIL_FREE;
		if (!tid || thread_find(g, tid))
			signal_send(g, tid ? thread_find(g, tid) : NULL, &info);
	}
}

/* SPDX-License-Identifier: MIT */
/*
 * Processes: fork, exec, wait.
 *
 * A guest fork is a host fork: the child is a whole copy of this program that goes on with the
 * guest's child. The table of processes (procs.c) carries how a process ended and how much time it
 * took.
 *
 * A child that is not to be measured runs to its end inside the call that made it. vfork copies
 * instead of sharing memory; the parent waits as it should, and then gets what the child wrote into
 * its stack frame.
 */
#include <fcntl.h>
#include <linux/sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest/engine/engine.h"
#include "guest/files/fd.h"
#include "guest/files/path.h"
#include "guest/files/procfs.h"
#include "guest/kernel/clock.h"
#include "guest/kernel/ipc.h"
#include "guest/kernel/sched.h"
#include "guest/kernel/signal.h"
#include "guest/kernel/syscall.h"
#include "guest/memory/copy.h"
#include "guest/memory/mem.h"
#include "guest/process/baton.h"
#include "guest/process/exec.h"
#include "guest/process/fork.h"
#include "guest/process/limits.h"
#include "guest/process/process.h"
#include "guest/process/procs.h"
#include "util/array.h"

#define MAX_STRINGS (1u << 20)

/* A vfork child may write into its parent's stack frame before it ends (posix_spawn says there why
 * exec failed). The memories are separate here, so the part above the stack pointer is sent to the
 * parent. */
void process_end_vfork(struct guest *g)
{
	uint8_t frame[4096];
	size_t n = sizeof(frame);
	ssize_t sent = 0;

	if (g->family.vfork_fd < 0)
		return;
	if (g->family.vfork_sp && g->ended) {
		n = min_u64(n, GUEST_STACK_TOP > g->family.vfork_sp
				   ? GUEST_STACK_TOP - g->family.vfork_sp
				   : n);
		if (mem_read(&g->mem, frame, g->family.vfork_sp, n) == 0)
			sent = write(g->family.vfork_fd, frame, n);
	}
	(void)sent;
	close(g->family.vfork_fd);
	g->family.vfork_fd = -1;
	g->family.vfork_sp = 0;
}

/* This blocks the whole process, all threads, but only until the child's exec or exit. */
static void wait_vfork(struct guest *g, const struct thread *t, int fd)
{
	uint8_t frame[4096];
	ssize_t n;

	baton_drop(g);
	proc_slot(g, g->pid)->wake_ns = NO_TIME;
	while ((n = read(fd, frame, sizeof(frame))) != 0) {
		if (n > 0)
			mem_write(&g->mem, t->hart.x[2], frame, (size_t)n);
		else if (errno != EINTR || g->interrupted)
			break;
		signal_collect_host(g);
		if (g->signals.pending.set & (1ull << (SIGKILL - 1)))
			break;
	}
	proc_slot(g, g->pid)->wake_ns = 0;
	baton_take(g);
	close(fd);
}

static void new_thread_state(struct guest *g, struct thread *n, const struct thread *t,
			     uint64_t flags, uint64_t stack, uint64_t tls, uint64_t ctid)
{
	(void)g;
	n->hart = t->hart;
	n->hart.lr_addr = ~0ull;
	n->hart.x[10] = 0;
	if (stack)
		n->hart.x[2] = stack;
	if (flags & CLONE_SETTLS)
		n->hart.x[4] = tls;
	n->sigmask = t->sigmask;
	if (flags & CLONE_CHILD_CLEARTID)
		n->clear_tid = ctid;
	memcpy(n->name, t->name, sizeof(n->name));
}

static int64_t clone_thread(struct guest *g, struct thread *t, uint64_t flags, uint64_t stack,
			    uint64_t ptid, uint64_t tls, uint64_t ctid)
{
	struct thread *n;
	int tid;

	if (!(flags & CLONE_VM) || !(flags & CLONE_SIGHAND))
		return -EINVAL;
	tid = proc_new_id(g);
	if (tid < 0)
		return tid;
	if ((flags & CLONE_PARENT_SETTID) && copy_out(g, ptid, &tid, 4) < 0)
		return -EFAULT;
	if ((flags & CLONE_CHILD_SETTID) && copy_out(g, ctid, &tid, 4) < 0)
		return -EFAULT;
	proc_slot_take(g, tid, g->pid, proc_slot(g, g->pid));
	n = thread_new(g);
	n->tid = (uint32_t)tid;
	new_thread_state(g, n, t, flags, stack, tls, ctid);
	g->event_at = 0;
	return tid;
}

static void add_child(struct guest *g, int guest_pid, int host_pid, int exit_signal)
{
	*ARRAY_ADD(g->family.children, g->family.nchildren) = (struct child){
		.guest_pid = guest_pid,
		.host_pid = host_pid,
		.pidfd = (int)syscall(SYS_pidfd_open, host_pid, 0),
		.exit_signal = exit_signal,
	};
}

/* In the new process: everything that a child does not inherit. */
static void become_child(struct guest *g, struct thread *t, int pid, unsigned number)
{
	threads_free(g, t);
	for (size_t i = 0; i < g->family.nchildren; i++)
		close(g->family.children[i].pidfd);
	g->family.nchildren = 0;
	g->family.children_cpu_ns = 0;
	if (g->family.vfork_fd >= 0)
		close(g->family.vfork_fd);
	g->family.vfork_fd = -1;
	g->family.vfork_sp = 0;
	g->baton = false; /* the parent's */
	g->event_at = 0;
	g->ppid = g->pid;
	g->pid = pid;
	t->tid = (uint32_t)pid;
	proc_slot_mine(g);
	ipc_forked(g, g->ppid);
	g->family.child_number = number;
	proc_note(g);
	signal_flush(&t->pending);
	signal_flush(&g->signals.pending);
	timers_after_exec(g, true);
	t->robust_head = 0;
	/* The other end may now be in another process. */
	for (size_t i = 0; i < g->nfds; i++)
		g->fds[i].internal = false;
	signal_reset_host(g);
}

static void tell_fork(struct guest *g, enum guest_fork phase, unsigned number)
{
	if (g->config.forked &&
	    (g->config.children == GUEST_CHILDREN_SIMULATED || phase == GUEST_FORK_PREPARE))
		g->config.forked(g->config.forked_ctx, phase, number);
}

static int64_t process_fork(struct guest *g, struct thread *t, uint64_t flags, uint64_t stack,
			    uint64_t ptid, uint64_t tls, uint64_t ctid, int exit_signal,
			    uint64_t pidfd_addr)
{
	int pid, pipe_fd[2] = { -1, -1 };
	unsigned number;
	pid_t host;
	struct proc_slot *me = proc_slot(g, g->pid);

	if (!limits_process(g))
		return -EAGAIN;
	if (flags & CLONE_THREAD)
		return clone_thread(g, t, flags, stack, ptid, tls, ctid);
	if (flags & (CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC |
		     CLONE_NEWUTS))
		return -EPERM;
	if ((flags & CLONE_VFORK) && pipe2(pipe_fd, O_CLOEXEC) < 0)
		return -EAGAIN;
	signal_watch_host(g, SIGCHLD);
	pid = proc_new_id(g);
	if (pid < 0) {
		if (pipe_fd[0] >= 0) {
			close(pipe_fd[0]);
			close(pipe_fd[1]);
		}
		return pid;
	}
	number = (unsigned)atomic_fetch_add(&g->procs->processes, 1);
	g->procs->alive++;
	proc_slot_take(g, pid, pid, me);
	g->procs->note[(pid - g->pid_base) % PROC_SLOTS] =
	    g->procs->note[(g->pid - g->pid_base) % PROC_SLOTS];
	g->procs->note[(pid - g->pid_base) % PROC_SLOTS].ppid = g->pid;
	fflush(NULL);
	tell_fork(g, GUEST_FORK_PREPARE, number);
	engine_fork_begin(g->engine);
	mem_load(&g->mem, 0, GUEST_ADDR_LIMIT);
	host = fork();
	if (host == 0) {
		engine_fork_child(g->engine);
		mem_after_fork(&g->mem);
	} else {
		engine_fork_end(g->engine);
	}
	if (host < 0) {
		proc_slot_drop(g, pid);
		g->procs->alive--;
		tell_fork(g, GUEST_FORK_PARENT, number);
		return -EAGAIN;
	}
	if (host == 0) {
		become_child(g, t, pid, number);
		if (pipe_fd[0] >= 0) {
			close(pipe_fd[0]);
			g->family.vfork_fd = pipe_fd[1];
			g->family.vfork_sp = flags & CLONE_VM ? t->hart.x[2] : 0;
		}
		if (stack)
			t->hart.x[2] = stack;
		if (flags & CLONE_SETTLS)
			t->hart.x[4] = tls;
		t->clear_tid = flags & CLONE_CHILD_CLEARTID ? ctid : 0;
		if (flags & CLONE_CHILD_SETTID)
			copy_out(g, ctid, &pid, 4);
		tell_fork(g, GUEST_FORK_CHILD, number);
		g->family.run_here = g->config.children == GUEST_CHILDREN_FUNCTIONAL;
		return 0;
	}
	proc_slot(g, pid)->host_pid = host;
	add_child(g, pid, host, exit_signal);
	for (size_t i = 0; i < g->nfds; i++)
		g->fds[i].internal = false;
	tell_fork(g, GUEST_FORK_PARENT, number);
	if (flags & CLONE_PARENT_SETTID)
		copy_out(g, ptid, &pid, 4);
	if (flags & CLONE_PIDFD) {
		int fd = proc_open(g, pid);
		int32_t got = fd < 0 ? -1 : (int32_t)fd_install(g, fd, 0, true, FD_PIDFD);

		if (got >= 0)
			g->fds[got].pid = pid;
		copy_out(g, pidfd_addr, &got, 4);
	}
	if (flags & CLONE_VFORK) {
		close(pipe_fd[1]);
		wait_vfork(g, t, pipe_fd[0]);
	}
	return pid;
}

int64_t sys_clone(struct guest *g, struct thread *t, const uint64_t *a)
{
	uint64_t flags = a[0] & ~0xffull;

	return process_fork(g, t, flags, a[1], a[2], a[3], a[4], (int)(a[0] & 0xff), a[2]);
}

int64_t sys_clone3(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct {
		uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls,
		    set_tid, set_tid_size, cgroup;
	} c;

	memset(&c, 0, sizeof(c));
	if (a[1] < 64)
		return -EINVAL;
	if (a[1] > GUEST_PAGE_BYTES)
		return -E2BIG;
	if (copy_in(g, &c, a[0], min_u64(a[1], sizeof(c))) < 0)
		return -EFAULT;
	if (c.set_tid_size || (c.flags & 0xff) || c.exit_signal > GUEST_SIGNALS)
		return -EINVAL;
	return process_fork(g, t, c.flags, c.stack ? c.stack + c.stack_size : 0, c.parent_tid,
			    c.tls, c.child_tid, (int)c.exit_signal, c.pidfd);
}

/* ---- exec ---- */

static void strings_drop(char **v)
{
	for (size_t i = 0; v && v[i]; i++)
		free(v[i]);
	free(v);
}

/* A vector of strings from guest memory; NULL and *err on failure. */
static char **strings_in(struct guest *g, uint64_t addr, int *err)
{
	size_t n = 0, cap = 16;
	char **v = x_calloc(cap + 1, sizeof(*v));
	const size_t max_bytes = 131072;
	char *buf = x_malloc(max_bytes);

	*err = 0;
	while (addr) {
		uint64_t at;
		int64_t len;

		if (copy_in(g, &at, addr + n * 8, 8) < 0) {
			*err = -EFAULT;
			break;
		}
		if (!at)
			break;
		len = n < MAX_STRINGS ? mem_read_string(&g->mem, buf, at, max_bytes) : -E2BIG;
		if (len < 0) {
			*err = len == -ENAMETOOLONG ? -E2BIG : (int)len;
			break;
		}
		if (n == cap) {
			cap *= 2;
			v = x_realloc(v, (cap + 1) * sizeof(*v));
		}
		v[n++] = x_strndup(buf, (size_t)len);
		v[n] = NULL;
	}
	free(buf);
	if (*err) {
		strings_drop(v);
		return NULL;
	}
	return v;
}

static int64_t do_exec(struct guest *g, struct thread *t, const char *path, uint64_t argv_at,
		       uint64_t envp_at)
{
	char **argv, **envp = NULL;
	struct err e = { { 0 } };
	int err, code = 0;

	argv = strings_in(g, argv_at, &err);
	if (argv)
		envp = strings_in(g, envp_at, &err);
	if (!argv || !envp) {
		strings_drop(argv);
		return err;
	}
	if (!argv[0]) {
		argv[0] = x_strdup("");
		argv = x_realloc(argv, 2 * sizeof(*argv));
		argv[1] = NULL;
	}
	err = exec_check(g, path);
	if (err) {
		strings_drop(argv);
		strings_drop(envp);
		return err;
	}
	fflush(NULL);
	if (!exec_load(g, path, argv, envp, &e, &code)) {
		strings_drop(argv);
		strings_drop(envp);
		if (g->mem.nregions && mem_page_has(&g->mem, t->hart.pc - 4, MEM_X))
			return -code;
		/* The old image is gone: Linux kills. */
		warn("%s", e.text);
		guest_end(g, SIGKILL);
		return SYS_DONE;
	}
	strings_drop(argv);
	strings_drop(envp);
	for (size_t i = 0; i < g->sched.nthreads; i++)
		if (g->sched.threads[i]->tid != (uint32_t)g->pid)
			proc_slot_drop(g, (int)g->sched.threads[i]->tid);
	threads_free(g, t);
	g->cur = t;
	t->tid = (uint32_t)g->pid;
	proc_slot(g, g->pid)->execed = 1;
	ipc_forget_memory(g);
	t->clear_tid = t->robust_head = t->rseq_addr = 0;
	t->alt_sp = t->alt_size = 0;
	signal_after_exec(g);
	timers_after_exec(g, false);
	fd_close_on_exec(g);
	process_end_vfork(g);
	tell_fork(g, GUEST_FORK_EXEC, g->family.child_number);
	return SYS_DONE;
}

int64_t sys_execve(struct guest *g, struct thread *t, const uint64_t *a)
{
	char path[PATH_BYTES];
	int64_t n = mem_read_string(&g->mem, path, a[0], sizeof(path));

	return n < 0 ? n : n == 0 ? -ENOENT : do_exec(g, t, path, a[1], a[2]);
}

int64_t sys_execveat(struct guest *g, struct thread *t, const uint64_t *a)
{
	char path[PATH_BYTES], full[PATH_BYTES + 64];
	int64_t n = mem_read_string(&g->mem, path, a[1], sizeof(path));

	if (n < 0)
		return n;
	if (path[0] == '/' || (int)a[0] == AT_FDCWD)
		return do_exec(g, t, path, a[2], a[3]);
	if (fd_host(g, a[0]) < 0)
		return -EBADF;
	if (!*path && !((int)a[4] & AT_EMPTY_PATH))
		return -ENOENT;
	snprintf(full, sizeof(full), *path ? "/dev/fd/%d/%s" : "/dev/fd/%d", (int)a[0], path);
	return strlen(full) < PATH_BYTES ? do_exec(g, t, full, a[2], a[3]) : -ENAMETOOLONG;
}

/* ---- wait ---- */

#define WAIT_OPTIONS                                                                               \
	(WNOHANG | WUNTRACED | WCONTINUED | WEXITED | WNOWAIT | __WNOTHREAD | __WALL | __WCLONE)

struct wait_result {
	int pid, status;
	uint64_t cpu_ns;
};

static bool child_matches(struct guest *g, const struct child *c, int pid)
{
	const struct proc_slot *s = proc_slot(g, c->guest_pid), *me = proc_slot(g, g->pid);

	if (pid > 0)
		return c->guest_pid == pid;
	if (pid == -1)
		return true;
	return s->pgid == (pid == 0 ? me->pgid : -pid);
}

/* Looks for a child that has ended (or stopped, if asked for): 1, 0 if there is none yet, or
 * -ECHILD. */
static int reap(struct guest *g, int pid, int options, struct wait_result *r)
{
	bool any = false;

	for (size_t i = 0; i < g->family.nchildren; i++) {
		struct child *c = &g->family.children[i];
		struct proc_slot *s;
		siginfo_t info;
		int host_status;

		if (!child_matches(g, c, pid))
			continue;
		any = true;
		memset(&info, 0, sizeof(info));
		if (options & WNOWAIT) {
			if (waitid(P_PID, (id_t)c->host_pid, &info, WEXITED | WNOHANG | WNOWAIT) <
				0 ||
			    !info.si_pid)
				continue;
			host_status = info.si_code == CLD_EXITED ? (info.si_status & 0xff) << 8
								 : info.si_status;
		} else if (waitpid(c->host_pid, &host_status,
				   WNOHANG | (options & (WUNTRACED | WCONTINUED))) <= 0) {
			continue;
		}
		s = proc_slot(g, c->guest_pid);
		r->pid = c->guest_pid;
		r->status = s->status & PROC_ENDED ? s->status & 0xffff : host_status;
		r->cpu_ns = s->cpu_ns;
		if (WIFSTOPPED(host_status) || WIFCONTINUED(host_status)) {
			r->status = host_status;
			return 1;
		}
		if (options & WNOWAIT)
			return 1;
		/* The parent waited while the child ran: its time moves on by the child's. */
		if (!g->config.real_time && s->end_ns > clock_boot_ns(g))
			g->clock.skip_ns += s->end_ns - clock_boot_ns(g);
		g->family.children_cpu_ns += s->cpu_ns;
		if (!(s->status & PROC_ENDED))
			g->procs->alive--; /* killed from outside: it could not say so itself */
		ipc_process_gone(g, c->guest_pid);
		proc_slot_drop(g, c->guest_pid);
		close(c->pidfd);
		g->family.children[i] = g->family.children[--g->family.nchildren];
		return 1;
	}
	return any ? 0 : -ECHILD;
}

static void rusage_fill(int64_t ru[18], uint64_t cpu_ns)
{
	memset(ru, 0, 18 * sizeof(*ru));
	ru[0] = (int64_t)(cpu_ns / NS_PER_SEC);
	ru[1] = (int64_t)(cpu_ns % NS_PER_SEC / 1000);
}

int64_t sys_wait4(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct wait_result r;
	int options = (int)a[2], got;
	int64_t ru[18];

	if (options & ~(WNOHANG | WUNTRACED | WCONTINUED | __WNOTHREAD | __WALL | (int)__WCLONE))
		return -EINVAL;
	got = reap(g, (int)a[0], options, &r);
	if (got == 0)
		return options & WNOHANG ? 0 : wait_begin(t, WAIT_CHILD, NO_TIME);
	if (got < 0)
		return got;
	rusage_fill(ru, r.cpu_ns);
	if (a[1] && copy_out(g, a[1], &r.status, 4) < 0)
		return -EFAULT;
	if (a[3] && copy_out(g, a[3], ru, sizeof(ru)) < 0)
		return -EFAULT;
	return r.pid;
}

int64_t sys_waitid(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct wait_result r;
	int options = (int)a[3], pid = -1, got;
	int64_t ru[18];
	siginfo_t info;

	if ((options & ~WAIT_OPTIONS) || !(options & (WEXITED | WSTOPPED | WCONTINUED)))
		return -EINVAL;
	switch ((int)a[0]) {
	case P_ALL:
		break;
	case P_PID:
		pid = (int)a[1];
		break;
	case P_PGID:
		pid = a[1] ? -(int)a[1] : 0;
		break;
	case P_PIDFD: {
		const struct fd_entry *f = fd_get(g, a[1]);

		if (!f)
			return -EBADF;
		pid = pidfd_process(g, f);
		if (pid <= 0)
			return pid == -EBADF ? -EINVAL : -ECHILD;
		break;
	}
	default:
		return -EINVAL;
	}
	got = reap(g, pid, options & ~WEXITED, &r);
	if (got == 0 && !(options & WNOHANG))
		return wait_begin(t, WAIT_CHILD, NO_TIME);
	memset(&info, 0, sizeof(info));
	if (got < 0) /* Linux clears the answer then, too */
		return a[2] && copy_out(g, a[2], &info, 128) < 0 ? -EFAULT : got;
	if (got) {
		info.si_signo = SIGCHLD;
		info.si_pid = r.pid;
		info.si_uid = GUEST_UID;
		info.si_code = WIFEXITED(r.status) ? CLD_EXITED
			       : r.status & 0x80   ? CLD_DUMPED
						   : CLD_KILLED;
		info.si_status = WIFEXITED(r.status) ? WEXITSTATUS(r.status) : WTERMSIG(r.status);
	}
	rusage_fill(ru, got ? r.cpu_ns : 0);
	if (a[2] && copy_out(g, a[2], &info, 128) < 0)
		return -EFAULT;
	if (a[4] && copy_out(g, a[4], ru, sizeof(ru)) < 0)
		return -EFAULT;
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * Calls that are made of others (sendmmsg, vmsplice …), and those that only root may make: the
 * guest's user is not root, so that Linux's answer is EPERM, after the checks that come before it.
 */
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "guest/files/fd.h"
#include "guest/kernel/clock.h"
#include "guest/kernel/sched.h"
#include "guest/kernel/signal.h"
#include "guest/kernel/syscall.h"
#include "guest/memory/copy.h"
#include "guest/memory/mem.h"
#include "guest/process/process.h"
#include "guest/process/procs.h"

#define ONLY_ROOT(call)                                                                            \
	int64_t sys_##call(struct guest *g, struct thread *t, const uint64_t *a)                   \
	{                                                                                          \
		(void)g, (void)t, (void)a;                                                         \
		return -EPERM;                                                                     \
	}

ONLY_ROOT(umount2)
ONLY_ROOT(mount)
ONLY_ROOT(pivot_root)
ONLY_ROOT(chroot)
ONLY_ROOT(vhangup)
ONLY_ROOT(acct)
ONLY_ROOT(init_module)
ONLY_ROOT(finit_module)
ONLY_ROOT(delete_module)
ONLY_ROOT(kexec_load)
ONLY_ROOT(reboot)
ONLY_ROOT(sethostname)
ONLY_ROOT(setdomainname)
ONLY_ROOT(settimeofday)
ONLY_ROOT(swapon)
ONLY_ROOT(swapoff)
ONLY_ROOT(setns)
ONLY_ROOT(syslog)
ONLY_ROOT(open_by_handle_at)
ONLY_ROOT(fanotify_init)
ONLY_ROOT(open_tree)
ONLY_ROOT(move_mount)
ONLY_ROOT(fsopen)
ONLY_ROOT(fspick)
ONLY_ROOT(mount_setattr)
ONLY_ROOT(bpf)
ONLY_ROOT(userfaultfd)
ONLY_ROOT(pidfd_getfd) /* it needs the right to debug the process, which the guest does not have */

/* No process can be debugged, traced ones do not exist. */
int64_t sys_ptrace(struct guest *g, struct thread *t, const uint64_t *a)
{
	(void)t;
	if ((int)a[0] == 0) /* PTRACE_TRACEME */
		return -EPERM;
	if (!proc_find_task(g, (int)a[1]))
		return -ESRCH;
	/* PTRACE_ATTACH and PTRACE_SEIZE; all others are about a tracee, and there is none. */
	return (int)a[0] == 16 || (int)a[0] == 0x4206 ? -EPERM : -ESRCH;
}

int64_t sys_unshare(struct guest *g, struct thread *t, const uint64_t *a)
{
	const uint64_t own = CLONE_FS | CLONE_FILES | CLONE_SYSVSEM;
	const uint64_t spaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
				CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWTIME;

	(void)t;
	if (a[0] & ~(own | spaces | CLONE_THREAD | CLONE_SIGHAND | CLONE_VM))
		return -EINVAL;
	if ((a[0] & (CLONE_THREAD | CLONE_SIGHAND | CLONE_VM)) && g->sched.live > 1)
		return -EINVAL;
	/* Descriptors and the working folder are shared by threads only. */
	return a[0] & spaces || ((a[0] & own) && g->sched.live > 1) ? -EPERM : 0;
}

/* Linux's kernel makes this call itself, to restart another; here nothing needs it. */
int64_t sys_restart_syscall(struct guest *g, struct thread *t, const uint64_t *a)
{
	(void)g, (void)t, (void)a;
	return -EINTR;
}

/* The answer of file systems that have no handles. */
int64_t sys_name_to_handle_at(struct guest *g, struct thread *t, const uint64_t *a)
{
	(void)t;
	if ((int)a[4] & ~(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH | 0x203))
		return -EINVAL;
	return mem_page_has(&g->mem, a[1], MEM_R) && mem_page_has(&g->mem, a[2], MEM_R)
		   ? -EOPNOTSUPP
		   : -EFAULT;
}

/* ---- several messages at once ---- */

#define MMSG_BYTES 64 /* struct mmsghdr: a msghdr of 56 bytes, and how long the message was */

/* The messages from wait.progress on; one that must wait is tried again later. */
static int64_t each_message(struct guest *g, struct thread *t, const uint64_t *a, bool receive)
{
	uint64_t count = min_u64((uint32_t)a[2], 1024), i = t->wait.progress;
	int flags = (int)a[3];

	if (fd_host(g, a[0]) < 0)
		return -EBADF;
	for (; i < count; i++) {
		bool wait = !(receive && (flags & MSG_WAITFORONE) && i > 0);
		const uint64_t args[6] = { a[0], a[1] + i * MMSG_BYTES,
					   (uint64_t)((flags & ~MSG_WAITFORONE) |
						      (wait ? 0 : MSG_DONTWAIT)) };
		int64_t got = receive ? sys_recvmsg(g, t, args) : sys_sendmsg(g, t, args);
		uint32_t length = (uint32_t)got;

		if (got == SYS_BLOCK) {
			t->wait.progress = i;
			return got;
		}
		if (got < 0)
			return i ? (int64_t)i : got;
		if (copy_out(g, a[1] + i * MMSG_BYTES + 56, &length, 4) < 0)
			return i ? (int64_t)i : -EFAULT;
	}
	return (int64_t)i;
}

int64_t sys_sendmmsg(struct guest *g, struct thread *t, const uint64_t *a)
{
	return each_message(g, t, a, false);
}

int64_t sys_recvmmsg(struct guest *g, struct thread *t, const uint64_t *a)
{
	uint64_t ns;
	int err = a[4] ? timespec_in(g, a[4], &ns) : 0;

	return err ? err : each_message(g, t, a, true);
}

/* ---- pipes ---- */

/* Copies instead of handing over pages; only the time it takes could tell. */
int64_t sys_vmsplice(struct guest *g, struct thread *t, const uint64_t *a)
{
	int host = fd_host(g, a[0]), flags;

	if ((unsigned)a[3] & ~15u)
		return -EINVAL;
	if (host < 0)
		return -EBADF;
	flags = fcntl(host, F_GETPIPE_SZ) < 0 ? -1 : fcntl(host, F_GETFL);
	if (flags < 0)
		return -EBADF;
	return (flags & O_ACCMODE) == O_RDONLY ? sys_readv(g, t, a) : sys_writev(g, t, a);
}

int64_t sys_tee(struct guest *g, struct thread *t, const uint64_t *a)
{
	int in = fd_host(g, a[0]), out = fd_host(g, a[1]);
	struct pollfd ready[2] = { { .fd = in, .events = POLLIN },
				   { .fd = out, .events = POLLOUT } };
	ssize_t n;

	if ((unsigned)a[3] & ~15u)
		return -EINVAL;
	if (!a[2])
		return 0;
	if (in < 0 || out < 0 || (fcntl(in, F_GETFL) & O_ACCMODE) == O_WRONLY ||
	    (fcntl(out, F_GETFL) & O_ACCMODE) == O_RDONLY)
		return -EBADF;
	if (fcntl(in, F_GETPIPE_SZ) < 0 || fcntl(out, F_GETPIPE_SZ) < 0)
		return -EINVAL;
	poll(ready, 2, 0);
	if (!((unsigned)a[3] & SPLICE_F_NONBLOCK)) {
		if (!ready[0].revents)
			return wait_fd(g, t, (int)a[0], POLLIN, NO_TIME);
		if (!ready[1].revents)
			return wait_fd(g, t, (int)a[1], POLLOUT, NO_TIME);
	}
	n = tee(in, out, a[2], (unsigned)a[3] | SPLICE_F_NONBLOCK);
	if (n < 0 && errno == EPIPE)
		signal_send_kernel(g, t, SIGPIPE);
	return n < 0 ? -errno : n;
}

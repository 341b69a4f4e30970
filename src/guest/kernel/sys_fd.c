/* SPDX-License-Identifier: MIT */
/* System calls about descriptors themselves: duplicating, flags, locks, pipes, ioctl, listing
 * folders. */
#include <asm/ioctls.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest/files/fd.h"
#include "guest/files/listing.h"
#include "guest/files/nodes.h"
#include "guest/kernel/clock.h"
#include "guest/kernel/sched.h"
#include "guest/kernel/syscall.h"
#include "guest/memory/copy.h"
#include "guest/process/process.h"
#include "guest/process/procs.h"

/* Duplicates onto the lowest free number from min on. */
static int64_t dup_from(struct guest *g, const struct fd_entry *f, uint64_t min, bool cloexec)
{
	struct fd_entry like = *f;
	int host;
	int64_t fd;

	if (min >= g->limit[RLIMIT_NOFILE].cur)
		return -EINVAL;
	host = fcntl(f->host, F_DUPFD_CLOEXEC, 3);
	if (host < 0)
		return -errno;
	fd = fd_install(g, host, (int)min, cloexec, (enum fd_kind)like.kind);
	if (fd >= 0) {
		like.host = host;
		like.cloexec = cloexec;
		g->fds[fd] = like;
	}
	return fd;
}

int64_t sys_dup(struct guest *g, struct thread *t, const uint64_t *a)
{
	const struct fd_entry *f = fd_get(g, a[0]);

	(void)t;
	return f ? dup_from(g, f, 0, false) : -EBADF;
}

int64_t sys_dup3(struct guest *g, struct thread *t, const uint64_t *a)
{
	const struct fd_entry *f = fd_get(g, a[0]);
	struct fd_entry like;
	uint32_t to = (uint32_t)a[1];
	int host;

	(void)t;
	if ((uint32_t)a[0] == to || ((int)a[2] & ~O_CLOEXEC))
		return -EINVAL;
	if (!f || to >= g->limit[RLIMIT_NOFILE].cur)
		return -EBADF;
	like = *f;
	host = fcntl(f->host, F_DUPFD_CLOEXEC, 3);
	return host < 0 ? -errno : fd_install_at(g, host, (int)to, (int)a[2] & O_CLOEXEC, &like);
}

static int64_t lock(struct guest *g, struct thread *t, const struct fd_entry *f, const uint64_t *a)
{
	struct flock fl;
	int cmd = (int)a[1], r;
	bool wait = cmd == F_SETLKW || cmd == F_OFD_SETLKW;

	if (copy_in(g, &fl, a[2], sizeof(fl)) < 0)
		return -EFAULT;
	if (cmd == F_SETLKW)
		cmd = F_SETLK;
	if (cmd == F_OFD_SETLKW)
		cmd = F_OFD_SETLK;
	/* A lock would be seen outside. */
	if (g->view)
		view_change_fd(g, f->host);
	r = fcntl(f->host, cmd, &fl);
	if (r < 0 && wait && (errno == EAGAIN || errno == EACCES)) {
		/* Another process holds it: look again every millisecond of guest time. */
		t->wait.started = false;
		t->wait.timed_out = false;
		return wait_begin(t, WAIT_TIME, deadline_after(g, 1000000));
	}
	if (r < 0)
		return -errno;
	if ((cmd == F_GETLK || cmd == F_OFD_GETLK) && copy_out(g, a[2], &fl, sizeof(fl)) < 0)
		return -EFAULT;
	return r;
}

/* The owner, to which SIGIO would be sent, is remembered if it is a process of the tree. Nothing
 * here sends SIGIO. */
static int64_t set_owner(struct guest *g, struct fd_entry *f, int type, int64_t id)
{
	if ((type != F_OWNER_TID && type != F_OWNER_PID && type != F_OWNER_PGRP) || id < 0 ||
	    id > INT32_MAX)
		return -EINVAL;
	if (id && !(type == F_OWNER_PGRP ? proc_group_exists(g, (int)id, 0)
					 : proc_find_task(g, (int)id) != NULL))
		return -ESRCH;
	if (f->kind != FD_PIDFD)
		f->pid = type == F_OWNER_PGRP ? -(int)id : (int)id;
	return 0;
}

int64_t sys_fcntl(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct fd_entry *f = fd_get(g, a[0]);
	int32_t ex[2];

	if (!f)
		return -EBADF;
	switch ((int)a[1]) {
	case F_DUPFD:
	case F_DUPFD_CLOEXEC:
		return dup_from(g, f, a[2], (int)a[1] == F_DUPFD_CLOEXEC);
	case F_GETFD:
		return f->cloexec ? FD_CLOEXEC : 0;
	case F_SETFD:
		f->cloexec = a[2] & FD_CLOEXEC;
		return 0;
	case F_GETFL:
		if (f->kind == FD_SIGNAL)
			return O_RDWR | (f->timer ? O_NONBLOCK : 0);
		return fd_flags(f);
	case F_SETFL:
		if (f->kind == FD_SIGNAL) {
			f->timer = ((int)a[2] & O_NONBLOCK) != 0;
			return 0;
		}
		return ret_errno(fcntl(f->host, F_SETFL, (int)a[2]));
	case F_GETLK:
	case F_SETLK:
	case F_SETLKW:
	case F_OFD_GETLK:
	case F_OFD_SETLK:
	case F_OFD_SETLKW:
		return lock(g, t, f, a);
	case F_SETOWN:
		return set_owner(g, f, (int)a[2] < 0 ? F_OWNER_PGRP : F_OWNER_PID,
				 (int)a[2] < 0 ? -(int64_t)(int)a[2] : (int)a[2]);
	case F_GETOWN:
		return f->kind == FD_PIDFD ? 0 : f->pid;
	case F_SETSIG:
	case F_GETSIG:
		return 0;
	case F_SETPIPE_SZ:
	case F_GETPIPE_SZ:
	case F_ADD_SEALS:
	case F_GET_SEALS:
		return ret_errno(fcntl(f->host, (int)a[1], (int)a[2]));
	case F_GETOWN_EX:
		ex[0] = f->pid < 0 ? F_OWNER_PGRP : F_OWNER_PID;
		ex[1] = f->kind == FD_PIDFD ? 0 : f->pid < 0 ? -f->pid : f->pid;
		return copy_out(g, a[2], ex, sizeof(ex));
	case F_SETOWN_EX:
		if (copy_in(g, ex, a[2], sizeof(ex)) < 0)
			return -EFAULT;
		return set_owner(g, f, ex[0], ex[1]);
	default:
		return -EINVAL;
	}
}

int64_t sys_flock(struct guest *g, struct thread *t, const uint64_t *a)
{
	int host = fd_host(g, a[0]);
	int op = (int)a[1];

	if (host < 0)
		return -EBADF;
	/* A lock would be seen outside. */
	if (g->view)
		view_change_fd(g, host);
	if (flock(host, op | LOCK_NB) == 0)
		return 0;
	if (errno != EWOULDBLOCK || (op & LOCK_NB))
		return -errno;
	t->wait.started = false;
	t->wait.timed_out = false;
	return wait_begin(t, WAIT_TIME, deadline_after(g, 1000000));
}

int64_t sys_close(struct guest *g, struct thread *t, const uint64_t *a)
{
	(void)t;
	return fd_close(g, a[0]);
}

int64_t sys_close_range(struct guest *g, struct thread *t, const uint64_t *a)
{
	uint32_t first = (uint32_t)a[0], last = (uint32_t)a[1];

	(void)t;
	if (first > last || ((unsigned)a[2] & ~(CLOSE_RANGE_UNSHARE | CLOSE_RANGE_CLOEXEC)))
		return -EINVAL;
	for (size_t fd = first; fd < g->nfds && fd <= last; fd++) {
		if (g->fds[fd].kind == FD_CLOSED)
			continue;
		if (a[2] & CLOSE_RANGE_CLOEXEC)
			g->fds[fd].cloexec = true;
		else
			fd_close(g, fd);
	}
	return 0;
}

int64_t sys_pipe2(struct guest *g, struct thread *t, const uint64_t *a)
{
	int host[2];

	(void)t;
	if ((int)a[1] & ~(O_CLOEXEC | O_NONBLOCK | O_DIRECT))
		return -EINVAL;
	if (pipe2(host, (int)a[1] | O_CLOEXEC) < 0)
		return -errno;
	return fd_install_pair(g, host, (int)a[1] & O_CLOEXEC, a[0]);
}

/* The guest's groups and sessions are not the host's: only whether it is a terminal is asked there.
 * Whether culprit itself is in the foreground is not the guest's business. */
static int64_t terminal_group(struct guest *g, const struct fd_entry *f, uint32_t request,
			      uint64_t addr)
{
	const struct proc_slot *me = proc_slot(g, g->pid);
	int32_t group = request == TIOCGSID ? (int)me->sid : (int)g->procs->foreground;

	if (!isatty(f->host))
		return -ENOTTY;
	if (request != TIOCSPGRP)
		return copy_out(g, addr, &group, sizeof(group));
	if (copy_in(g, &group, addr, sizeof(group)) < 0)
		return -EFAULT;
	if (group < 0)
		return -EINVAL;
	if (!proc_group_exists(g, group, 0))
		return -ESRCH;
	if (!proc_group_exists(g, group, me->sid))
		return -EPERM;
	g->procs->foreground = group;
	return 0;
}

int64_t sys_ioctl(struct guest *g, struct thread *t, const uint64_t *a)
{
	/* Requests by what they move: numbers and structures are the same on riscv64 and x86-64. */
	static const struct {
		uint32_t request;
		uint16_t in, out;
	} known[] = {
		{ TCGETS, 0, 36 },	   { TCSETS, 36, 0 },
		{ TCSETSW, 36, 0 },	   { TCSETSF, 36, 0 },
		{ TIOCGWINSZ, 0, 8 },	   { TIOCSWINSZ, 8, 0 },
		{ FIONREAD, 0, 4 },	   { TIOCOUTQ, 0, 4 },
		{ FIONBIO, 4, 0 },	   { FIOASYNC, 4, 0 },
		{ FS_IOC_GETFLAGS, 0, 4 }, { TIOCGPTN, 0, 4 },
		{ TIOCSPTLCK, 4, 0 },	   { 0x802c542a /* TCGETS2 */, 0, 44 },
	};
	struct fd_entry *f = fd_get(g, a[0]);
	uint32_t request = (uint32_t)a[1];
	uint8_t buf[64] = { 0 };
	int r;

	(void)t;
	if (!f)
		return -EBADF;
	switch (request) {
	case FIOCLEX:
	case FIONCLEX:
		f->cloexec = request == FIOCLEX;
		return 0;
	case TCSBRK:
	case TCFLSH:
	case TCXONC:
		return ret_errno(ioctl(f->host, request, a[2]));
	case TIOCSCTTY:
	case TIOCNOTTY:
		return -EPERM;
	case TIOCGPGRP:
	case TIOCSPGRP:
	case TIOCGSID:
		return terminal_group(g, f, request, a[2]);
	case FICLONE: {
		int from = fd_host(g, a[2]);

		return from < 0 ? -EBADF : ret_errno(ioctl(f->host, FICLONE, from));
	}
	default:
		break;
	}
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (known[i].request != request)
			continue;
		if (known[i].in && copy_in(g, buf, a[2], known[i].in) < 0)
			return -EFAULT;
		r = ioctl(f->host, request, buf);
		if (r < 0)
			return -errno;
		if (request == TIOCGPTN) {
			int num = node_terminal(g, f);

			memcpy(buf, &num, sizeof(num));
		}
		if (known[i].out && copy_out(g, a[2], buf, known[i].out) < 0)
			return -EFAULT;
		return r;
	}
	return -ENOTTY;
}

int64_t sys_getdents64(struct guest *g, struct thread *t, const uint64_t *a)
{
	struct fd_entry *f = fd_get(g, a[0]);

	(void)t;
	if (!f)
		return -EBADF;
	if (f->node.row)
		return node_list(g, f, a[1], (uint32_t)a[2]);
	return listing_read(g, f, a[1], (uint32_t)a[2]);
}

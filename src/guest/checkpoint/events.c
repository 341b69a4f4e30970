/* SPDX-License-Identifier: MIT */
/*
 * Event descriptors in a checkpoint: eventfd with its value, epoll sets, pidfds; and locks of files.
 * What the kernel keeps about them it says in /proc/self/fdinfo.
 *
 * An epoll set gives its ready members in the order in which they became ready, and one that is edge
 * triggered (EPOLLET) only once. To learn both, the set is asked, and the members that it gave are taken
 * out and put in again in that order, so that it is as before. A restored set gets first the edge
 * triggered members that have nothing to report, which are then reported to nobody, and the others in
 * the order of the checkpoint.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest/checkpoint/checkpoint.h"
#include "guest/checkpoint/opened.h"
#include "guest/files/fd.h"
#include "guest/process/process.h"
#include "guest/process/procs.h"
#include "util/array.h"

#define LOCKS_MAX 4096u

static FILE *open_info(int host)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/thread-self/fdinfo/%d", host);
	return fopen(path, "re");
}

/* ---- eventfd ---- */

static bool event_look(int host, uint64_t *count, bool *semaphore)
{
	FILE *f = open_info(host);
	char line[256];
	int one;
	bool found = false;

	while (f && fgets(line, sizeof(line), f)) {
		found |= sscanf(line, "eventfd-count: %" SCNx64, count) == 1;
		if (sscanf(line, "eventfd-semaphore: %d", &one) == 1)
			*semaphore = one;
	}
	if (f)
		fclose(f);
	return found;
}

void event_state(struct state *s, struct opened *o)
{
	if (!state_reading(s) && !event_look(o->host, &o->count, &o->semaphore))
		state_fail(s, "descriptor %d is an eventfd whose value this kernel does not say",
			   o->first);
	state_u64(s, &o->count);
	state_bool(s, &o->semaphore);
	if (!state_reading(s) || !state_ok(s))
		return;
	o->host = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | (o->semaphore ? EFD_SEMAPHORE : 0));
	if (o->host >= 0 && o->count &&
	    write(o->host, &o->count, sizeof(o->count)) != sizeof(o->count))
		state_fail(s, "an eventfd has an absurd value");
	if (o->host >= 0)
		opened_flags(s, o->host, o->flags);
}

/* ---- pidfd ---- */

/* A pidfd of a process that has ended. */
static int open_ended(void)
{
	pid_t pid = fork();
	int fd;

	if (pid == 0)
		_exit(0);
	if (pid < 0)
		return -1;
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return fd;
}

void process_state(struct guest *g, struct state *s, struct opened *o)
{
	state_i32(s, &o->pid);
	if (state_reading(s) && state_ok(s))
		o->host =
		    o->pid == g->pid ? (int)syscall(SYS_pidfd_open, getpid(), 0) : open_ended();
}

/* ---- epoll ---- */

struct member {
	int fd; /* of the guest */
	int host;
	uint32_t events;
	uint64_t data;
	bool ready;
	uint64_t order;
};

/* The guest's descriptor that a member of the set is. */
static int member_fd(const struct guest *g, int host, uint64_t ino)
{
	struct stat st;
	int other = -1;

	for (size_t i = 0; i < g->nfds; i++) {
		if (g->fds[i].kind == FD_CLOSED || fstat(g->fds[i].host, &st) < 0 ||
		    st.st_ino != ino)
			continue;
		if (g->fds[i].host == host)
			return (int)i;
		other = other < 0 ? (int)i : other;
	}
	return other;
}

static size_t members_find(struct guest *g, struct state *s, int host, struct member **list)
{
	FILE *f = open_info(host);
	char line[256];
	size_t n = 0;

	*list = NULL;
	if (!f)
		state_fail(s, "an epoll set cannot be read: this system shows no /proc");
	while (f && fgets(line, sizeof(line), f)) {
		struct member m = { .order = UINT64_MAX };
		uint64_t ino;

		if (sscanf(line, "tfd: %d events: %x data: %" SCNx64 " pos:%*d ino:%" SCNx64,
			   &m.host, &m.events, &m.data, &ino) != 4)
			continue;
		m.fd = member_fd(g, m.host, ino);
		if (m.fd < 0)
			state_fail(s, "an epoll set watches a descriptor that is closed");
		else
			*ARRAY_ADD(*list, n) = m;
	}
	if (f)
		fclose(f);
	return n;
}

static int by_order(const void *va, const void *vb)
{
	const struct member *a = va, *b = vb;

	return a->order != b->order ? (a->order < b->order ? -1 : 1) : a->fd - b->fd;
}

/* Asks which members are ready, in order, and puts them back. */
static void members_look(int host, struct member *list, size_t n)
{
	struct epoll_event *ev = x_calloc(n + 1, sizeof(*ev));
	int got = n ? epoll_wait(host, ev, (int)n, 0) : 0;

	for (int k = 0; k < got; k++)
		for (size_t i = 0; i < n; i++)
			if (!list[i].ready && list[i].data == ev[k].data.u64 &&
			    list[i].events & ev[k].events) {
				list[i].ready = true;
				list[i].order = (uint64_t)k;
				break;
			}
	qsort(list, n, sizeof(*list), by_order);
	for (size_t i = 0; i < n && list[i].ready; i++) {
		struct epoll_event again = { .events = list[i].events, .data.u64 = list[i].data };

		if (!epoll_ctl(host, EPOLL_CTL_DEL, list[i].host, NULL))
			epoll_ctl(host, EPOLL_CTL_ADD, list[i].host, &again);
	}
	free(ev);
}

static void member_add(struct guest *g, struct state *s, int host, const struct member *m)
{
	struct epoll_event ev = { .events = m->events, .data.u64 = m->data };
	const struct fd_entry *f = m->fd < 0 ? NULL : fd_get(g, (uint64_t)m->fd);

	if (!f || epoll_ctl(host, EPOLL_CTL_ADD, f->host, &ev) < 0)
		state_fail(s, "an epoll set cannot watch descriptor %d", m->fd);
}

void epoll_state(struct guest *g, struct state *s, int host)
{
	struct member *list = NULL;
	size_t n = 0;

	if (!state_reading(s)) {
		n = members_find(g, s, host, &list);
		if (n)
			members_look(host, list, n);
	}
	STATE_LIST(s, list, n, OPENED_MAX, m)
	{
		state_i32(s, &m->fd);
		state_u32(s, &m->events);
		state_u64(s, &m->data);
		state_bool(s, &m->ready);
	}
	if (state_reading(s) && state_ok(s)) {
		struct epoll_event *nobody = x_calloc(n + 1, sizeof(*nobody));
		bool drained = false;

		for (size_t i = 0; i < n; i++)
			if (list[i].events & EPOLLET && !list[i].ready) {
				member_add(g, s, host, &list[i]);
				drained = true;
			}
		if (drained && epoll_wait(host, nobody, (int)n, 0) < 0)
			state_fail(s, "an epoll set cannot be made: %s", strerror(errno));
		for (size_t i = 0; i < n; i++)
			if (!(list[i].events & EPOLLET) || list[i].ready)
				member_add(g, s, host, &list[i]);
		free(nobody);
	}
	free(list);
}

/* ---- locks ---- */

struct lock {
	uint8_t kind; /* 0 flock, 1 fcntl, 2 of the open file */
	bool writes;
	int64_t start, end; /* end -1: to the end of the file */
};

static size_t locks_find(int host, struct lock **list)
{
	FILE *f = open_info(host);
	char line[256], kind[16], mode[16], end[24];
	size_t n = 0;

	*list = NULL;
	while (f && fgets(line, sizeof(line), f)) {
		struct lock l;

		if (sscanf(line, "lock: %*d: %15s %*s %15s %*s %*s %" SCNd64 " %23s", kind, mode,
			   &l.start, end) != 4)
			continue;
		l.kind = !strcmp(kind, "FLOCK") ? 0 : !strcmp(kind, "POSIX") ? 1 : 2;
		l.writes = !strcmp(mode, "WRITE");
		l.end = strcmp(end, "EOF") ? strtoll(end, NULL, 10) : -1;
		*ARRAY_ADD(*list, n) = l;
	}
	if (f)
		fclose(f);
	return n;
}

void locks_state(struct state *s, int host)
{
	struct lock *list = NULL;
	size_t n = state_reading(s) ? 0 : locks_find(host, &list);

	STATE_LIST(s, list, n, LOCKS_MAX, l)
	{
		l->kind = (uint8_t)state_below(s, l->kind, 3);
		state_bool(s, &l->writes);
		state_i64(s, &l->start);
		state_i64(s, &l->end);
		if (!state_reading(s) || !state_ok(s))
			continue;

		struct flock fl = { .l_type = l->writes ? F_WRLCK : F_RDLCK,
				    .l_start = l->start,
				    .l_len = l->end < 0 ? 0 : l->end - l->start + 1 };
		int r = l->kind == 0 ? flock(host, (l->writes ? LOCK_EX : LOCK_SH) | LOCK_NB)
				     : fcntl(host, l->kind == 1 ? F_SETLK : F_OFD_SETLK, &fl);

		if (r < 0)
			state_fail(s, "a file cannot be locked as it was: %s", strerror(errno));
	}
	free(list);
}

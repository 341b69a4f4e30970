/* SPDX-License-Identifier: MIT */
/*
 * Pipes and socket pairs in a checkpoint, with what is in them. It is looked at without being taken
 * out: tee copies a pipe into another one, a socket is peeked at from one message to the next.
 *
 * Both ends belong to the guest: pipes from outside are standard streams (streams.c), and a process
 * with live children is not saved. An end that no descriptor has is closed.
 *
 * Not kept: how the bytes of a pipe lie in its pages, so a full pipe may take a few bytes more or less;
 * descriptors on their way through a socket, which is an error.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest/checkpoint/checkpoint.h"
#include "guest/checkpoint/opened.h"
#include "guest/checkpoint/parts.h"
#include "guest/files/view.h"
#include "guest/process/process.h"
#include "util/array.h"

#define PEEK_BYTES (1u << 20)

static void queue_add(struct queue *q, const void *data, size_t bytes)
{
	struct message *m = ARRAY_ADD(q->messages, q->count);

	m->data = x_malloc(bytes + 1);
	memcpy(m->data, data, bytes);
	m->bytes = bytes;
}

static void queue_free(struct queue *q)
{
	for (size_t i = 0; i < q->count; i++)
		free(q->messages[i].data);
	free(q->messages);
	*q = (struct queue){ 0 };
}

static void queue_state(struct state *s, struct queue *q)
{
	uint64_t total = 0;

	STATE_LIST(s, q->messages, q->count, QUEUE_MAX, m)
	{
		m->bytes = state_count(s, m->bytes, QUEUE_BYTES);
		total += m->bytes;
		if (total > QUEUE_BYTES)
			state_fail(s, "a pipe holds too much");
		if (state_reading(s))
			m->data = x_malloc(state_ok(s) ? m->bytes + 1 : 1);
		if (state_ok(s))
			state_piece(s, m->data, m->bytes);
	}
}

/* ---- pipes ---- */

/* Copies what is in a pipe; r is an end for reading. */
static bool pipe_look(int r, struct pipe_state *p)
{
	uint8_t *buf = x_malloc(PEEK_BYTES);
	int copy[2];
	ssize_t n = 0;
	bool ok = pipe2(copy, O_CLOEXEC | O_NONBLOCK) == 0;

	if (!ok) {
		free(buf);
		return false;
	}
	fcntl(copy[0], F_SETPIPE_SZ, (int)p->capacity_bytes);
	n = tee(r, copy[1], INT32_MAX, SPLICE_F_NONBLOCK);
	ok = n >= 0 || errno == EAGAIN;
	while (n > 0) {
		ssize_t got = read(copy[0], buf, PEEK_BYTES);

		if (got <= 0)
			break;
		queue_add(&p->queue, buf, (size_t)got);
		n -= got;
	}
	close(copy[0]);
	close(copy[1]);
	free(buf);
	return ok;
}

static void pipe_find(struct guest *g, struct opened_all *all, struct opened *o)
{
	char place[2 * PATH_BYTES];
	struct stat st;
	struct pipe_state *p;

	if (fstat(o->host, &st) < 0)
		return;
	for (size_t i = 0; i < all->npipes; i++)
		if (all->pipes[i].ino == st.st_ino) {
			o->index = (uint32_t)i;
			all->pipes[i].packets |= o->flags & O_DIRECT;
			return;
		}
	o->index = (uint32_t)all->npipes;
	p = ARRAY_ADD(all->pipes, all->npipes);
	*p = (struct pipe_state){ .ino = st.st_ino, .packets = o->flags & O_DIRECT };
	p->capacity_bytes = (uint64_t)fcntl(o->host, F_GETPIPE_SZ);
	if (view_is_own(g, o->host) && view_place(g, o->host, place) == 0)
		p->place = x_strdup(place);
}

/* Takes what is in the pipes; after all are known. */
static void pipes_look(struct state *s, struct opened_all *all)
{
	for (size_t i = 0; i < all->npipes; i++)
		for (size_t k = 0; k < all->count; k++) {
			const struct opened *o = &all->items[k];

			if (o->kind != OPENED_PIPE || o->index != i ||
			    (o->flags & O_ACCMODE) == O_WRONLY || o->flags & O_PATH)
				continue;
			if (!pipe_look(o->host, &all->pipes[i]))
				state_fail(
				    s, "what is in the pipe of descriptor %d cannot be read: %s",
				    o->first, strerror(errno));
			break;
		}
}

static void pipe_make(struct guest *g, struct state *s, struct pipe_state *p)
{
	struct path_at at;
	int fd;

	p->ends[0] = p->ends[1] = -1;
	if (p->place) {
		if (path_find_in(g, p->place, 0, &at) == 0) {
			fd = at.node.row || !at.private
				 ? -1
				 : openat(at.dir, at.name,
					  O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
			path_done(&at);
			p->ends[0] = fd;
			p->ends[1] = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3);
		}
	} else if (pipe2(p->ends, O_CLOEXEC | O_NONBLOCK | (p->packets ? O_DIRECT : 0)) < 0) {
		p->ends[0] = p->ends[1] = -1;
	}
	if (p->ends[0] < 0) {
		state_fail(s, "a pipe cannot be made: %s", strerror(errno));
		return;
	}
	if (p->capacity_bytes && p->capacity_bytes <= QUEUE_BYTES)
		fcntl(p->ends[1], F_SETPIPE_SZ, (int)p->capacity_bytes);
	for (size_t i = 0; i < p->queue.count; i++)
		if (write(p->ends[1], p->queue.messages[i].data, p->queue.messages[i].bytes) !=
		    (ssize_t)p->queue.messages[i].bytes) {
			state_fail(s, "a pipe does not take what was in it");
			return;
		}
}

static void pipe_walk(struct guest *g, struct state *s, struct pipe_state *p)
{
	state_text(s, &p->place, 2 * PATH_BYTES);
	state_u64(s, &p->capacity_bytes);
	state_bool(s, &p->packets);
	queue_state(s, &p->queue);
	if (state_reading(s) && state_ok(s))
		pipe_make(g, s, p);
	else if (state_reading(s))
		p->ends[0] = p->ends[1] = -1;
}

/* ---- socket pairs ---- */

/* Peeks at all messages. */
static bool pair_look(int host, int type, struct queue *q, const char **why)
{
	uint8_t *buf = x_malloc(PEEK_BYTES);
	_Alignas(struct cmsghdr) uint8_t control[512];
	int offset = 0, old = -1, left = 0;
	socklen_t length = sizeof(old);
	bool ok = true;

	getsockopt(host, SOL_SOCKET, SO_PEEK_OFF, &old, &length);
	if (setsockopt(host, SOL_SOCKET, SO_PEEK_OFF, &offset, sizeof(offset)) < 0)
		ok = false;
	while (ok && q->count < QUEUE_MAX) {
		struct iovec iov = { buf, PEEK_BYTES };
		struct msghdr h = { .msg_iov = &iov,
				    .msg_iovlen = 1,
				    .msg_control = control,
				    .msg_controllen = sizeof(control) };
		ssize_t n = recvmsg(host, &h, MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

		for (struct cmsghdr *c = n < 0 ? NULL : CMSG_FIRSTHDR(&h); c;
		     c = CMSG_NXTHDR(&h, c)) {
			size_t fds = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

			if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
				continue;
			for (size_t i = 0; i < fds; i++) {
				int fd;

				memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
				close(fd);
			}
			ok = false;
			*why = "in which descriptors are on their way";
		}
		if (n < 0 || (n == 0 && type == SOCK_STREAM) || !ok)
			break;
		/* An empty message and the end of all look alike. */
		if (n == 0 && (ioctl(host, FIONREAD, &left) < 0 || left == 0))
			break;
		queue_add(q, buf, (size_t)n);
	}
	setsockopt(host, SOL_SOCKET, SO_PEEK_OFF, &old, sizeof(old));
	free(buf);
	return ok;
}

static void pair_find(struct guest *g, struct opened_all *all, struct opened *o)
{
	const struct fd_entry *f = &g->fds[o->first];
	socklen_t length = sizeof(int);
	struct pair_state *p = NULL;
	struct stat st;

	if (fstat(o->host, &st) < 0)
		return;
	for (size_t i = 0; i < all->npairs && !p; i++)
		for (int end = 0; end < 2; end++)
			if (all->pairs[i].ino[end] == st.st_ino) {
				p = &all->pairs[i];
				o->index = (uint32_t)i;
				o->end = end;
			}
	if (!p) {
		o->index = (uint32_t)all->npairs;
		o->end = false;
		p = ARRAY_ADD(all->pairs, all->npairs);
		*p = (struct pair_state){ .ino = { st.st_ino, f->peer }, .host = { -1, -1 } };
		getsockopt(o->host, SOL_SOCKET, SO_TYPE, &p->type, &length);
	}
	p->host[o->end] = o->host;
}

static void pairs_look(struct state *s, struct opened_all *all)
{
	for (size_t i = 0; i < all->npairs; i++)
		for (int end = 0; end < 2; end++) {
			struct pair_state *p = &all->pairs[i];
			struct pollfd poll_fd = { .fd = p->host[end], .events = POLLRDHUP };
			const char *why = "whose content cannot be read";
			socklen_t length = sizeof(int);

			if (p->host[end] < 0)
				continue;
			p->shut[end] = poll(&poll_fd, 1, 0) > 0 && poll_fd.revents & POLLRDHUP;
			getsockopt(p->host[end], SOL_SOCKET, SO_SNDBUF, &p->options[end][0],
				   &length);
			getsockopt(p->host[end], SOL_SOCKET, SO_RCVBUF, &p->options[end][1],
				   &length);
			if (!pair_look(p->host[end], p->type, &p->queue[end], &why))
				for (size_t k = 0; k < all->count; k++)
					if (all->items[k].host == p->host[end])
						state_fail(s, "descriptor %d is a socket %s",
							   all->items[k].first, why);
		}
}

/* A size as setsockopt takes it: the kernel doubles it. */
static void set_size(int fd, int option, int bytes)
{
	const int half = bytes / 2;

	if (bytes > 0)
		setsockopt(fd, SOL_SOCKET, option, &half, sizeof(half));
}

static void pair_make(struct state *s, struct pair_state *p, const bool open[2])
{
	int host[2];

	if (socketpair(AF_UNIX, p->type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, host) < 0) {
		state_fail(s, "a socket pair cannot be made: %s", strerror(errno));
		return;
	}
	for (int end = 0; end < 2; end++) {
		set_size(host[end], SO_SNDBUF, p->options[end][0]);
		set_size(host[end], SO_RCVBUF, p->options[end][1]);
	}
	for (int end = 0; end < 2; end++)
		for (size_t i = 0; i < p->queue[end].count; i++) {
			const struct message *m = &p->queue[end].messages[i];

			if (send(host[!end], m->data, m->bytes, MSG_NOSIGNAL) !=
			    (ssize_t)m->bytes) {
				state_fail(s, "a socket does not take what was in it");
				break;
			}
		}
	for (int end = 0; end < 2; end++) {
		if (p->shut[end] && open[0] && open[1])
			shutdown(host[!end], SHUT_WR);
		p->host[end] = host[end];
	}
	for (int end = 0; end < 2; end++)
		if (!open[end]) {
			close(host[end]);
			p->host[end] = -1;
		}
}

static void pair_walk(struct state *s, struct pair_state *p)
{
	bool open[2] = { p->host[0] >= 0, p->host[1] >= 0 };

	if (state_reading(s))
		p->host[0] = p->host[1] = -1;
	state_i32(s, &p->type);
	if (p->type != SOCK_STREAM && p->type != SOCK_DGRAM && p->type != SOCK_SEQPACKET)
		state_fail(s, "a socket pair has type %d", p->type);
	for (int end = 0; end < 2; end++) {
		state_bool(s, &open[end]);
		state_bool(s, &p->shut[end]);
		state_i32(s, &p->options[end][0]);
		state_i32(s, &p->options[end][1]);
		queue_state(s, &p->queue[end]);
	}
	if (state_reading(s) && state_ok(s))
		pair_make(s, p, open);
}

/* ---- both ---- */

void queues_find(struct guest *g, struct opened_all *all)
{
	for (size_t i = 0; i < all->count; i++) {
		if (all->items[i].kind == OPENED_PIPE)
			pipe_find(g, all, &all->items[i]);
		if (all->items[i].kind == OPENED_PAIR)
			pair_find(g, all, &all->items[i]);
	}
}

void queues_state(struct guest *g, struct state *s, struct opened_all *all)
{
	if (!state_reading(s)) {
		pipes_look(s, all);
		pairs_look(s, all);
	}
	STATE_LIST(s, all->pipes, all->npipes, OPENED_MAX, p) pipe_walk(g, s, p);
	STATE_LIST(s, all->pairs, all->npairs, OPENED_MAX, p) pair_walk(s, p);
}

int queue_take(struct guest *g, struct state *s, struct opened_all *all, const struct opened *o)
{
	int access = (int)(o->flags & O_ACCMODE), fd = -1, other;
	char link[FD_PATH_BYTES];

	(void)g;
	if (o->kind == OPENED_PAIR) {
		if (o->index >= all->npairs || all->pairs[o->index].host[o->end] < 0)
			return -1;
		fd = all->pairs[o->index].host[o->end];
		all->pairs[o->index].host[o->end] = -1;
		return fd;
	}
	if (o->index >= all->npipes)
		return -1;

	struct pipe_state *p = &all->pipes[o->index];

	/* The ends themselves for the first of each kind: flags tell a pipe that was opened again. */
	if (!p->place && access == O_RDONLY && p->ends[0] >= 0) {
		fd = p->ends[0];
		p->ends[0] = -1;
	} else if (!p->place && access == O_WRONLY && p->ends[1] >= 0) {
		fd = p->ends[1];
		p->ends[1] = -1;
	} else {
		other = p->ends[0] >= 0 ? p->ends[0] : p->ends[1];
		for (size_t i = 0; other < 0 && i < all->count; i++)
			if (all->items[i].kind == OPENED_PIPE && all->items[i].index == o->index)
				other = all->items[i].host;
		path_to_fd(other, link);
		fd = other < 0 ? -1 : open(link, access | O_NONBLOCK | O_CLOEXEC);
	}
	if (fd >= 0)
		opened_flags(s, fd, o->flags);
	return fd;
}

void queues_free(struct opened_all *all)
{
	for (size_t i = 0; i < all->npipes; i++) {
		for (int end = 0; all->made && end < 2; end++)
			if (all->pipes[i].ends[end] >= 0)
				close(all->pipes[i].ends[end]);
		free(all->pipes[i].place);
		queue_free(&all->pipes[i].queue);
	}
	for (size_t i = 0; i < all->npairs; i++) {
		for (int end = 0; all->made && end < 2; end++)
			if (all->pairs[i].host[end] >= 0)
				close(all->pairs[i].host[end]);
		queue_free(&all->pairs[i].queue[0]);
		queue_free(&all->pairs[i].queue[1]);
	}
	free(all->pipes);
	free(all->pairs);
}

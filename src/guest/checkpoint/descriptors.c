/* SPDX-License-Identifier: MIT */
/*
 * Descriptors in a checkpoint. Several descriptors of the guest may share one open file (dup): offset
 * and flags are the open file's, and it is walked once (opened.h). Behind it are files, named by place
 * and digest if the guest has not changed them and otherwise by number (content.c); folders, also half
 * listed; pipes and socket pairs (queues.c); events (events.c); standard streams (streams.c); devices.
 *
 * stat's device and inode of a restored file are those that the guest knows: it may have kept them.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/memfd.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "guest/checkpoint/checkpoint.h"
#include "guest/checkpoint/opened.h"
#include "guest/checkpoint/parts.h"
#include "guest/files/fd.h"
#include "guest/files/input.h"
#include "guest/files/listing.h"
#include "guest/files/nodes.h"
#include "guest/files/view.h"
#include "guest/kernel/clock.h"
#include "guest/process/process.h"
#include "util/array.h"
#include "util/text.h"

#define FDS_MAX	   (1u << 20)
#define WHY_BYTES  256
#define FLAGS_KEPT (O_APPEND | O_NONBLOCK | O_ASYNC | O_DIRECT | O_NOATIME)

void opened_flags(struct state *s, int host, uint32_t flags)
{
	if (fcntl(host, F_SETFL, (int)flags & FLAGS_KEPT) < 0 &&
	    fcntl(host, F_SETFL, (int)flags & FLAGS_KEPT & ~(O_DIRECT | O_NOATIME)) < 0)
		state_fail(s, "a descriptor cannot get its flags: %s", strerror(errno));
}

/* ---- what is behind a descriptor ---- */

/* 1 + the standard stream that an open file is; 0: none. */
static uint8_t stream_of(const struct guest *g, const struct stat *st)
{
	for (unsigned i = 0; i < 3; i++)
		if (g->streams.first[i].open && g->streams.first[i].dev == st->st_dev &&
		    g->streams.first[i].ino == st->st_ino)
			return (uint8_t)(i + 1);
	return 0;
}

/* A text for a socket that cannot be saved, or OPENED_SOCKET if it is neither bound nor connected. */
static uint32_t classify_socket(int host, char why[WHY_BYTES])
{
	struct sockaddr_storage ss = { 0 };
	socklen_t n = sizeof(ss);
	char address[INET6_ADDRSTRLEN] = "";
	int listening = 0;
	socklen_t length = sizeof(listening);
	bool peer = getpeername(host, (struct sockaddr *)&ss, &n) == 0;

	if (!peer) {
		n = sizeof(ss);
		if (getsockname(host, (struct sockaddr *)&ss, &n) < 0)
			n = 0;
	}
	getsockopt(host, SOL_SOCKET, SO_ACCEPTCONN, &listening, &length);
	if (ss.ss_family == AF_INET) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)&ss;

		inet_ntop(AF_INET, &in->sin_addr, address, sizeof(address));
		if (!peer && !in->sin_port)
			return OPENED_SOCKET;
		snprintf(why, WHY_BYTES, "a socket %s %s:%u", peer ? "to" : "bound to", address,
			 ntohs(in->sin_port));
	} else if (ss.ss_family == AF_INET6) {
		const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)&ss;

		inet_ntop(AF_INET6, &in->sin6_addr, address, sizeof(address));
		if (!peer && !in->sin6_port)
			return OPENED_SOCKET;
		snprintf(why, WHY_BYTES, "a socket %s [%s]:%u", peer ? "to" : "bound to", address,
			 ntohs(in->sin6_port));
	} else if (ss.ss_family == AF_UNIX) {
		const struct sockaddr_un *un = (const struct sockaddr_un *)&ss;
		char *shown;

		if (!peer && !listening && n <= offsetof(struct sockaddr_un, sun_path))
			return OPENED_SOCKET;
		shown = text_shown(n > offsetof(struct sockaddr_un, sun_path) ? un->sun_path : "");
		snprintf(why, WHY_BYTES, "a socket %s %.100s",
			 peer	     ? "to another process"
			 : listening ? "that listens at"
				     : "bound to",
			 shown);
		free(shown);
	} else {
		snprintf(why, WHY_BYTES, "a socket of family %d", ss.ss_family);
	}
	return OPENED_CANNOT;
}

/* A regular file. */
static uint32_t classify_file(struct guest *g, const struct opened *o, const struct stat *st,
			      const char *path, char why[WHY_BYTES])
{
	bool writes = (o->flags & O_ACCMODE) != O_RDONLY && !(o->flags & O_PATH);
	struct path_at at;
	struct stat now;
	char place[2 * PATH_BYTES];

	if (o->stream && writes)
		return OPENED_STREAM_FILE;
	if (!strncmp(path, "/memfd:", 7))
		return OPENED_MEMORY;
	if (g->view && path_below(path, g->view->path))
		return OPENED_FILE;
	if (writes) {
		char *shown = text_shown(path);

		snprintf(why, WHY_BYTES, "a file of the host that is written, %.150s", shown);
		free(shown);
		return OPENED_CANNOT;
	}
	/* A file that its path no longer leads to is kept with its content. */
	if (st->st_nlink && view_place(g, o->host, place) == 0 &&
	    path_find_in(g, place, 0, &at) == 0) {
		bool same = !at.node.row && *at.name &&
			    !fstatat(at.dir, at.name, &now, AT_SYMLINK_NOFOLLOW) &&
			    now.st_dev == st->st_dev && now.st_ino == st->st_ino;

		path_done(&at);
		if (same)
			return OPENED_INPUT;
	}
	return OPENED_FILE;
}

static uint32_t classify_device(struct guest *g, const struct opened *o, const struct stat *st,
				char why[WHY_BYTES])
{
	struct node n;

	if (g->fds[o->first].kind == FD_RANDOM)
		return OPENED_DEVICE;
	if (isatty(o->host)) {
		if (o->stream && !g->streams.typed)
			return OPENED_STREAM_TERMINAL;
		strcpy(why,
		       o->stream ? "a terminal from which the program has read" : "a terminal");
		return OPENED_CANNOT;
	}
	if (node_of_device(g, st->st_rdev, &n) && !n.num)
		return OPENED_DEVICE;
	strcpy(why, "a terminal");
	return OPENED_CANNOT;
}

/* What it is; OPENED_CANNOT: why says what that is. */
static uint32_t classify(struct guest *g, struct opened *o, char why[WHY_BYTES])
{
	const struct fd_entry *f = &g->fds[o->first];
	char link[FD_PATH_BYTES], path[PATH_BYTES];
	struct stat st;
	ssize_t n;

	if (f->kind == FD_TIMER || f->kind == FD_SIGNAL)
		return OPENED_EVENT;
	if (f->kind == FD_PIDFD)
		return OPENED_PROCESS;
	path_to_fd(o->host, link);
	n = readlink(link, path, sizeof(path) - 1);
	if (fstat(o->host, &st) < 0 || n < 0) {
		strcpy(why, "something that this system does not describe");
		return OPENED_CANNOT;
	}
	path[n] = 0;
	o->stream = stream_of(g, &st);
	switch (st.st_mode & S_IFMT) {
	case S_IFREG:
		return classify_file(g, o, &st, path, why);
	case S_IFDIR:
		return st.st_nlink ? OPENED_FOLDER : OPENED_GONE;
	case S_IFCHR:
		return classify_device(g, o, &st, why);
	case S_IFIFO:
		if (o->stream)
			return OPENED_STREAM_PIPE;
		if (!strncmp(path, "pipe:", 5) || view_is_own(g, o->host))
			return OPENED_PIPE;
		strcpy(why, "a named pipe of the host");
		return OPENED_CANNOT;
	case S_IFSOCK:
		if (o->stream)
			return OPENED_STREAM_SOCKET;
		return f->peer ? OPENED_PAIR : classify_socket(o->host, why);
	default:
		break;
	}
	if (!strcmp(path, "anon_inode:[eventfd]"))
		return OPENED_EVENT;
	if (!strcmp(path, "anon_inode:[eventpoll]"))
		return OPENED_EPOLL;
	snprintf(why, WHY_BYTES, "%s",
		 strstr(path, "inotify") ? "an inotify descriptor, which watches the host's files"
					 : "of a kind that is not known");
	return OPENED_CANNOT;
}

/* Finds the open files; false and e names one that cannot be saved. */
static bool opened_find(struct guest *g, struct opened_all *all, struct err *e)
{
	all->of = x_calloc(g->nfds + 1, sizeof(*all->of));
	for (size_t fd = 0; fd < g->nfds; fd++) {
		struct opened *o;
		struct stat st;
		char why[WHY_BYTES] = "";

		if (g->fds[fd].kind == FD_CLOSED || fstat(g->fds[fd].host, &st) < 0)
			continue;
		for (size_t i = 0; i < all->count && !all->of[fd]; i++)
			if (all->items[i].dev == st.st_dev && all->items[i].ino == st.st_ino &&
			    fd_same_open(all->items[i].host, g->fds[fd].host))
				all->of[fd] = (uint32_t)i + 1;
		if (all->of[fd])
			continue;
		o = ARRAY_ADD(all->items, all->count);
		*o = (struct opened){ .host = g->fds[fd].host,
				      .first = (int)fd,
				      .flags = (uint32_t)fcntl(g->fds[fd].host, F_GETFL),
				      .dev = st.st_dev,
				      .ino = st.st_ino,
				      .semaphore = g->fds[fd].counts_by_one,
				      .pid = g->fds[fd].pid };
		o->offset = lseek(o->host, 0, SEEK_CUR);
		all->of[fd] = (uint32_t)all->count;
		o->kind = classify(g, o, why);
		if (o->kind == OPENED_CANNOT)
			return err_set(e, "descriptor %zu is %s, which cannot be saved", fd, why);
	}
	for (size_t i = 0; i < all->count; i++)
		view_show_ids(g, &all->items[i].dev, &all->items[i].ino);
	return true;
}

static void opened_free(struct opened_all *all)
{
	for (size_t i = 0; i < all->count; i++)
		free(all->items[i].name);
	queues_free(all);
	free(all->items);
	free(all->of);
}

bool checkpoint_can_descriptors(struct guest *g, struct err *e)
{
	struct opened_all all = { 0 };
	bool ok = opened_find(g, &all, e);

	opened_free(&all);
	return ok;
}

/* ---- files and folders ---- */

/* Opens a file of the host or of the view again, as the guest had it. */
static int open_again(int fd, uint32_t flags)
{
	char link[FD_PATH_BYTES];
	int again, kept = (int)flags & (O_ACCMODE | O_APPEND | O_NONBLOCK | O_DIRECT | O_NOATIME |
					O_PATH | O_SYNC | O_DSYNC | O_DIRECTORY);

	path_to_fd(fd, link);
	again = open(link, kept | O_CLOEXEC);
	return again < 0 ? open(link, (kept & ~(O_DIRECT | O_NOATIME)) | O_CLOEXEC) : again;
}

static void seek(struct state *s, const struct opened *o)
{
	if (o->host >= 0 && o->offset >= 0 && !(o->flags & O_PATH) &&
	    lseek(o->host, o->offset, SEEK_SET) < 0)
		state_fail(s, "descriptor %d cannot be at %lld", o->first, (long long)o->offset);
}

/* The name by which the guest knows an open file; allocated. */
static char *guest_name(struct guest *g, int fd)
{
	char host[PATH_BYTES];

	return x_strdup(path_of_fd(fd, host) < 0 ? "" : path_guest(g, host));
}

static void input_state(struct guest *g, struct state *s, struct opened *o)
{
	char *path = state_reading(s) ? NULL : guest_name(g, o->host);
	int fd = -1;

	if (!state_reading(s)) {
		char link[FD_PATH_BYTES];

		path_to_fd(o->host, link);
		fd = open(link, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	}
	checkpoint_input(g, s, &path, &fd);
	if (state_reading(s) && state_ok(s)) {
		o->host = open_again(fd, o->flags & ~(uint32_t)(O_WRONLY | O_RDWR));
		seek(s, o);
	}
	if (fd >= 0)
		close(fd);
	free(path);
}

/* Seals of a memfd, which come last: they forbid what is done before. */
static void seals_state(struct state *s, int fd)
{
	int seals = state_reading(s) ? 0 : fcntl(fd, F_GET_SEALS);

	state_i32(s, &seals);
	if (state_reading(s) && state_ok(s) && seals > 0)
		fcntl(fd, F_ADD_SEALS, seals);
}

/* A file whose content is here: its number, and if that is new, the content. */
static void file_state(struct guest *g, struct state *s, struct opened *o)
{
	bool memory = o->kind == OPENED_MEMORY;
	char link[FD_PATH_BYTES], path[PATH_BYTES];
	uint32_t number = 0;
	struct stat st = { 0 };
	int fd = -1;

	if (!state_reading(s) && fstat(o->host, &st) == 0)
		number = checkpoint_file_number(g, st.st_dev, st.st_ino);
	state_u32(s, &number);
	if (number) {
		fd = state_reading(s) ? checkpoint_file_open(g, number) : -1;
	} else {
		uint32_t mode = st.st_mode & 07777;

		if (!state_reading(s) && memory && path_of_fd(o->host, path) == 0) {
			char *end = strstr(path, " (deleted)");

			if (end)
				*end = 0;
			o->name = x_strdup(path + 7);
		}
		state_text(s, &o->name, NAME_MAX);
		state_u32(s, &mode);
		path_to_fd(o->host, link);
		if (!state_reading(s))
			fd = open(link, O_RDONLY | O_CLOEXEC);
		else if (memory)
			fd = memfd_create(o->name ? o->name : "", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		else
			fd = openat(g->view->store, "t", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		if (state_ok(s) && fd < 0)
			state_fail(s, "the file of descriptor %d cannot be %s: %s", o->first,
				   state_reading(s) ? "made" : "read", strerror(errno));
		if (state_ok(s)) {
			saved_add(g, fd, state_reading(s));
			content_state(g, s, fd);
			fchmod(state_reading(s) ? fd : -1, mode & 0777);
		}
		if (memory && state_ok(s))
			seals_state(s, fd);
	}
	if (state_reading(s) && state_ok(s)) {
		o->host = fd < 0 ? -1 : open_again(fd, o->flags);
		seek(s, o);
	}
	if (fd >= 0)
		close(fd);
	if (state_ok(s) && (!state_reading(s) || o->host >= 0))
		locks_state(s, o->host);
}

static void folder_state(struct guest *g, struct state *s, struct opened *o)
{
	char text[2 * PATH_BYTES], *place = text;
	struct path_at at;
	int err = state_reading(s) ? 0 : view_place(g, o->host, text);

	if (err)
		state_fail(s, "descriptor %d is a folder without a name", o->first);
	state_text(s, &place, 2 * PATH_BYTES);
	if (!state_reading(s))
		return;
	err = !state_ok(s) || !place ? -ENOENT : path_find_in(g, place, 0, &at);
	if (!err) {
		o->host = at.is_dir && !at.node.row ? open_again(at.dir, o->flags) : -1;
		path_done(&at);
	}
	if (state_ok(s) && o->host < 0) {
		char *shown = text_shown(place ? place : "");

		state_fail(s, "the folder %.300s of descriptor %d is not there",
			   *shown ? shown + 1 : "", o->first);
		free(shown);
	}
	free(place);
}

/* A folder that was removed while it was open. */
static int open_gone(struct guest *g, uint32_t flags)
{
	int fd;

	if (mkdirat(g->view->store, "t/gone", 0700) < 0)
		return -1;
	fd = openat(g->view->store, "t/gone",
		    O_DIRECTORY | O_CLOEXEC | ((int)flags & (O_PATH | O_NONBLOCK)));
	unlinkat(g->view->store, "t/gone", AT_REMOVEDIR);
	return fd;
}

static void device_state(struct guest *g, struct state *s, struct opened *o)
{
	bool random = !state_reading(s) && g->fds[o->first].kind == FD_RANDOM;
	struct node n = { 0 };
	enum fd_kind kind;
	struct stat st;

	if (!state_reading(s)) {
		if (!random && !fstat(o->host, &st))
			node_of_device(g, st.st_rdev, &n);
		o->name = x_strdup(random ? "/dev/urandom" : node_row_name(n.row));
	}
	state_text(s, &o->name, NAME_MAX);
	if (!state_reading(s) || !state_ok(s))
		return;
	n.row = o->name ? node_row_find(o->name) : 0;
	if (!n.row || !strcmp(o->name, NODE_ROWS_END) || !S_ISCHR(node_mode(&n)) ||
	    !strcmp(o->name, "/dev/tty") || !strcmp(o->name, "/dev/ptmx") || strstr(o->name, "pts"))
		state_fail(s, "descriptor %d is of a device that there is not", o->first);
	else
		o->host = node_open(
		    g, &n, (int)o->flags & (O_ACCMODE | O_APPEND | O_NONBLOCK | O_PATH), &kind);
}

static void socket_state(struct state *s, struct opened *o)
{
	int what[3] = { 0 };
	socklen_t length = sizeof(int);

	if (!state_reading(s)) {
		getsockopt(o->host, SOL_SOCKET, SO_DOMAIN, &what[0], &length);
		getsockopt(o->host, SOL_SOCKET, SO_TYPE, &what[1], &length);
		getsockopt(o->host, SOL_SOCKET, SO_PROTOCOL, &what[2], &length);
	}
	for (int i = 0; i < 3; i++)
		state_i32(s, &what[i]);
	if (!state_reading(s) || !state_ok(s))
		return;
	if (what[0] == AF_UNIX || what[0] == AF_INET || what[0] == AF_INET6)
		o->host = socket(what[0], (what[1] & 15) | SOCK_CLOEXEC, what[2]);
	if (o->host >= 0)
		opened_flags(s, o->host, o->flags);
}

/* ---- the walk ---- */

static void opened_walk(struct guest *g, struct state *s, struct opened_all *all, struct opened *o)
{
	if (state_reading(s))
		o->host = -1;
	o->kind = state_below(s, o->kind, OPENED_KINDS);
	state_i32(s, &o->first);
	state_u32(s, &o->flags);
	state_i64(s, &o->offset);
	state_u64(s, &o->dev);
	state_u64(s, &o->ino);
	if (!state_ok(s))
		return;
	switch (o->kind) {
	case OPENED_INPUT:
		input_state(g, s, o);
		break;
	case OPENED_FILE:
	case OPENED_MEMORY:
		file_state(g, s, o);
		break;
	case OPENED_FOLDER:
		folder_state(g, s, o);
		break;
	case OPENED_GONE:
		if (state_reading(s))
			o->host = open_gone(g, o->flags);
		break;
	case OPENED_DEVICE:
		device_state(g, s, o);
		break;
	case OPENED_PIPE:
	case OPENED_PAIR:
		state_u32(s, &o->index);
		state_bool(s, &o->end);
		if (state_reading(s) && state_ok(s)) {
			o->host = queue_take(g, s, all, o);
			if (o->kind == OPENED_PAIR && o->host >= 0)
				opened_flags(s, o->host, o->flags);
		}
		break;
	case OPENED_SOCKET:
		socket_state(s, o);
		break;
	case OPENED_EVENT:
		event_state(s, o);
		break;
	case OPENED_EPOLL:
		if (state_reading(s))
			o->host = epoll_create1(EPOLL_CLOEXEC);
		break;
	case OPENED_PROCESS:
		process_state(g, s, o);
		break;
	default:
		stream_state(g, s, o);
	}
	if (!state_reading(s) || !state_ok(s))
		return;
	if (o->host < 0)
		state_fail(s, "descriptor %d cannot be opened: %s", o->first, strerror(errno));
	else if (o->kind != OPENED_EVENT && o->kind != OPENED_EPOLL && o->kind != OPENED_PROCESS &&
		 o->kind != OPENED_DEVICE)
		view_set_ids(g, o->host, o->dev, o->ino);
}

/* Where a listing of a folder that is made up goes on: a row's name and a number. */
static void list_at_state(struct state *s, uint64_t *list_at)
{
	char *row = (char *)(uintptr_t)node_row_name((uint16_t)min_u64(*list_at >> 32, UINT16_MAX));
	uint32_t low = (uint32_t)*list_at;

	state_text(s, &row, NAME_MAX);
	state_u32(s, &low);
	if (!state_reading(s))
		return;
	*list_at = (uint64_t)(row ? node_row_find(row) : 0) << 32 | low;
	free(row);
}

static void node_state(struct state *s, struct node *n)
{
	char *row = (char *)(uintptr_t)node_row_name(n->row);

	state_text(s, &row, NAME_MAX);
	state_i32(s, &n->pid);
	state_i32(s, &n->tid);
	state_i32(s, &n->num);
	if (!state_reading(s))
		return;
	n->row = row && *row ? node_row_find(row) : 0;
	if (state_ok(s) && row && *row && (!n->row || !strcmp(row, NODE_ROWS_END)))
		state_fail(s, "it has a file %.100s, which this culprit does not", row);
	free(row);
}

/* One descriptor of the guest. */
static void entry_state(struct guest *g, struct state *s, const struct opened_all *all,
			uint32_t number, uint32_t of)
{
	struct fd_entry f = state_reading(s) ? (struct fd_entry){ 0 } : g->fds[number];
	int host;

	state_u32(s, &number);
	of = state_below(s, of, (uint32_t)all->count);
	f.kind = (uint8_t)state_below(s, f.kind, FD_PIDFD + 1);
	state_bool(s, &f.cloexec);
	state_bool(s, &f.internal);
	state_u8(s, &f.input);
	state_u32(s, &f.listing);
	state_u32(s, &f.timer);
	state_u64(s, &f.sigset);
	state_i32(s, &f.pid);
	list_at_state(s, &f.list_at);
	node_state(s, &f.node);
	if (!state_reading(s) || !state_ok(s))
		return;
	if (number >= FDS_MAX || f.kind == FD_CLOSED || f.input > 3 || f.listing > g->nlistings ||
	    (number < g->nfds && g->fds[number].kind != FD_CLOSED) ||
	    (f.kind == FD_TIMER &&
	     (f.timer >= g->clock.ntimers || g->clock.timers[f.timer].kind != TIMER_FD ||
	      all->items[of].kind != OPENED_EVENT)) ||
	    (f.kind == FD_SIGNAL && all->items[of].kind != OPENED_EVENT) ||
	    (f.kind == FD_PIDFD && all->items[of].kind != OPENED_PROCESS)) {
		state_fail(s, "descriptor %u is absurd", number);
		return;
	}
	host = fcntl(all->items[of].host, F_DUPFD_CLOEXEC, 3);
	if (host < 0) {
		state_fail(s, "descriptor %u cannot be opened: %s", number, strerror(errno));
		return;
	}
	f.counts_by_one = all->items[of].semaphore;
	f.discard = g->config.discard_output && all->items[of].stream &&
		    all->items[of].kind != OPENED_STREAM_FILE &&
		    (all->items[of].flags & O_ACCMODE) != O_RDONLY;
	if (all->items[of].kind == OPENED_STREAM_TERMINAL)
		f.input = all->items[of].stream;
	fd_install_at(g, host, (int)number, f.cloexec, &f);
	if (f.kind == FD_TIMER && g->clock.timers[f.timer].host_fd < 0)
		g->clock.timers[f.timer].host_fd = fcntl(host, F_DUPFD_CLOEXEC, 3);
}

/* The inode of the other end of each pair, by which pairs are known. */
static void find_peers(struct guest *g, const struct opened_all *all)
{
	struct stat a, b;

	for (size_t i = 0; i < all->count; i++)
		for (size_t k = 0; k < all->count; k++) {
			const struct opened *x = &all->items[i], *y = &all->items[k];

			if (x->kind != OPENED_PAIR || y->kind != OPENED_PAIR ||
			    x->index != y->index || x->end == y->end || fstat(y->host, &b) < 0)
				continue;
			for (size_t fd = 0; fd < g->nfds; fd++)
				if (g->fds[fd].kind != FD_CLOSED && !fstat(x->host, &a) &&
				    fd_same_open(g->fds[fd].host, x->host))
					g->fds[fd].peer = b.st_ino;
		}
	/* An end whose other end is closed is still one of a pair. */
	for (size_t fd = 0; fd < g->nfds; fd++)
		for (size_t i = 0; i < all->count; i++)
			if (g->fds[fd].kind != FD_CLOSED && all->items[i].kind == OPENED_PAIR &&
			    !g->fds[fd].peer && fd_same_open(g->fds[fd].host, all->items[i].host))
				g->fds[fd].peer = UINT64_MAX;
}

static void entries_state(struct guest *g, struct state *s, const struct opened_all *all)
{
	size_t n = 0;

	for (size_t fd = 0; !state_reading(s) && fd < g->nfds; fd++)
		n += all->of[fd] != 0;
	n = state_count(s, n, FDS_MAX);
	for (size_t i = 0, fd = 0; i < n && state_ok(s); i++, fd++) {
		while (!state_reading(s) && !all->of[fd])
			fd++;
		entry_state(g, s, all, (uint32_t)fd, state_reading(s) ? 0 : all->of[fd] - 1);
	}
}

/* The working folder: made up, or by place. */
static void cwd_state(struct guest *g, struct state *s)
{
	char text[2 * PATH_BYTES] = "", *place = text;
	struct path_at at;
	int fd = state_reading(s) ? -1 : open(".", O_PATH | O_DIRECTORY | O_CLOEXEC), err;

	node_state(s, &g->world.cwd);
	if (!state_reading(s) && (fd < 0 || view_place(g, fd, text) < 0))
		state_fail(s, "the working folder of the program is gone");
	if (fd >= 0)
		close(fd);
	state_text(s, &place, 2 * PATH_BYTES);
	if (!state_reading(s))
		return;
	err = state_ok(s) && place ? path_find_in(g, place, 0, &at) : -ENOENT;
	if (!err) {
		err = !at.is_dir || at.node.row ? -ENOTDIR : fchdir(at.dir) < 0 ? -errno : 0;
		path_done(&at);
	}
	if (err && state_ok(s) && !g->world.cwd.row) {
		char *shown = text_shown(place ? place : "");

		state_fail(s, "the program's working folder %.300s cannot be entered: %s",
			   *shown ? shown + 1 : "", strerror(-err));
		free(shown);
	}
	free(place);
}

/* Which open files are the standard streams, for a checkpoint of the restored guest. */
static void know_streams(struct guest *g, const struct opened_all *all)
{
	struct stat st;

	for (size_t i = 0; i < all->count; i++) {
		const struct opened *o = &all->items[i];

		if (o->kind >= OPENED_STREAM_FILE && o->stream && !fstat(o->host, &st)) {
			g->streams.first[o->stream - 1].open = true;
			g->streams.first[o->stream - 1].dev = st.st_dev;
			g->streams.first[o->stream - 1].ino = st.st_ino;
		}
	}
}

void checkpoint_descriptors(struct guest *g, struct state *s)
{
	struct opened_all all = { .made = state_reading(s) };
	struct err e = { "" };

	if (state_reading(s)) {
		input_init(g);
		if (!view_begin(g, &e)) {
			state_fail(s, "%s", e.text);
			return;
		}
	}
	cwd_state(g, s);
	listings_state(g, s);
	streams_state(g, s); /* first: it may change what a stream is */
	if (!state_reading(s)) {
		if (!opened_find(g, &all, &e))
			state_fail(s, "%s", e.text);
		queues_find(g, &all);
	}
	queues_state(g, s, &all);
	STATE_LIST(s, all.items, all.count, OPENED_MAX, o) opened_walk(g, s, &all, o);
	state_mark(s, "entries");
	if (state_ok(s))
		entries_state(g, s, &all);
	for (size_t i = 0; i < all.count && state_ok(s); i++)
		if (all.items[i].kind == OPENED_EPOLL)
			epoll_state(g, s, all.items[i].host);
	if (state_reading(s)) {
		if (state_ok(s)) {
			find_peers(g, &all);
			know_streams(g, &all);
		}
		for (size_t i = 0; i < all.count; i++)
			if (all.items[i].host >= 0)
				close(all.items[i].host);
	}
	opened_free(&all);
}

/* SPDX-License-Identifier: MIT */
/*
 * Asking another process to open, rename and remove files. One request is one message: what to do,
 * flags and the names. With it comes a socket for the answer, because forked processes share the
 * socket for requests. The answer is an errno, and a descriptor if one was asked for.
 *
 * The server trusts no request. Before the seal no guest has run, and every name is recorded; after
 * it a name must be one of the recorded ones, followed by nothing but numbers of processes and
 * ".tmp". It renames and removes only what it opened itself, and a profile replaces nothing but a
 * profile.
 */
#include "util/outside.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/array.h"
#include "util/util.h"

enum verb {
	VERB_OPEN,
	VERB_RENAME,
	VERB_UNLINK,
	VERB_EXPECT,
	VERB_LOOK,
	VERB_SEAL,
};

struct request {
	int verb, flags, mode;
	char path[PATH_MAX], to[PATH_MAX];
};

/* One per process, like its root folder; set once, before there are threads. -1: files are opened
 * directly. */
static int outside = -1;

void outside_through(int socket)
{
	outside = socket;
}

static bool send_with(int socket, const void *data, size_t size, int fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .head = { 0 } };
	struct iovec part = { (void *)data, size };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };
	ssize_t n;

	if (fd >= 0) {
		m.msg_control = &control;
		m.msg_controllen = sizeof(control);
		control.head = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
						 .cmsg_type = SCM_RIGHTS,
						 .cmsg_len = CMSG_LEN(sizeof(int)) };
		memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	}
	while ((n = sendmsg(socket, &m, MSG_NOSIGNAL)) < 0 && errno == EINTR)
		;
	return n == (ssize_t)size;
}

/* Bytes received, 0 at the end; *fd is what came with them, or -1. */
static ssize_t receive_with(int socket, void *data, size_t size, int *fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = { data, size };
	struct msghdr m = { .msg_iov = &part,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	ssize_t n;

	*fd = -1;
	while ((n = recvmsg(socket, &m, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
		;
	if (n < 0)
		return 0;

	const struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(fd, CMSG_DATA(c), sizeof(*fd));
	return n;
}

/* What the other side answers: a descriptor, 0, or -1 and errno. */
static int ask(enum verb verb, const char *path, const char *to, int flags, int mode)
{
	struct request r = { .verb = verb, .flags = flags, .mode = mode };
	int ends[2], fd = -1, code = EIO;

	if (strlen(path) >= sizeof(r.path) || strlen(to) >= sizeof(r.to)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	strcpy(r.path, path);
	strcpy(r.to, to);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -1;
	if (send_with(outside, &r, sizeof(r), ends[1])) {
		close(ends[1]);
		ends[1] = -1;
		if (receive_with(ends[0], &code, sizeof(code), &fd) != sizeof(code))
			code = EIO;
	}
	if (ends[1] >= 0)
		close(ends[1]);
	close(ends[0]);
	if (code) {
		errno = code;
		return -1;
	}
	return fd >= 0 ? fd : 0;
}

int outside_open(const char *path, int flags, int mode)
{
	return outside < 0 ? open(path, flags, mode) : ask(VERB_OPEN, path, "", flags, mode);
}

bool outside_is_elsewhere(void)
{
	return outside >= 0;
}

int outside_rename(const char *from, const char *to, unsigned flags)
{
	return outside < 0 ? renameat2(AT_FDCWD, from, AT_FDCWD, to, flags)
			   : ask(VERB_RENAME, from, to, (int)flags, 0);
}

int outside_stat(const char *path, bool follow, struct stat *st)
{
	if (outside < 0)
		return follow ? stat(path, st) : lstat(path, st);

	int fd = ask(VERB_LOOK, path, "", follow ? 0 : O_NOFOLLOW, 0), result;

	if (fd < 0)
		return -1;
	result = fstat(fd, st);
	close(fd);
	return result;
}

int outside_unlink(const char *path)
{
	return outside < 0 ? unlink(path) : ask(VERB_UNLINK, path, "", 0, 0);
}

void outside_expect(const char *path)
{
	if (outside >= 0)
		ask(VERB_EXPECT, path, "", 0, 0);
}

void outside_seal(void)
{
	if (outside >= 0)
		ask(VERB_SEAL, "", "", 0, 0);
}

/* ---- the other side ---- */

struct outside_server {
	bool sealed;
	/* announced names, without ".PID.tmp" */
	struct base {
		char *path;
		bool in_place; /* what is there is written in place */
	} * bases;
	size_t nbases;
	char **opened; /* temporary files that this server made */
	size_t nopened;
};

struct outside_server *outside_server_new(void)
{
	return x_calloc(1, sizeof(struct outside_server));
}

static void list_add(char ***list, size_t *count, const char *text)
{
	*ARRAY_ADD(*list, *count) = x_strdup(text);
}

static size_t list_find(char *const *list, size_t count, const char *text)
{
	size_t i = 0;

	while (i < count && strcmp(list[i], text))
		i++;
	return i;
}

void outside_server_free(struct outside_server *s)
{
	for (size_t i = 0; i < s->nbases; i++)
		free(s->bases[i].path);
	for (size_t i = 0; i < s->nopened; i++)
		free(s->opened[i]);
	free(s->bases);
	free(s->opened);
	free(s);
}

/* The length of a name without ".PID.tmp". */
static size_t lasting(const char *path)
{
	size_t n = strlen(path), end = n;

	if (n < 6 || strcmp(path + n - 4, ".tmp"))
		return n;
	for (n -= 4; n && path[n - 1] >= '0' && path[n - 1] <= '9';)
		n--;
	return n > 1 && n < end - 4 && path[n - 1] == '.' ? n - 1 : end;
}

/* The announced name from which this name is made; NULL: none. */
static const struct base *base_of(const struct outside_server *s, const char *path)
{
	size_t n = lasting(path);

	for (size_t i = 0; i < s->nbases; i++) {
		size_t len = strlen(s->bases[i].path);

		if (len <= n && !strncmp(path, s->bases[i].path, len) &&
		    strspn(path + len, ".0123456789") >= n - len && (n == len || path[len] == '.'))
			return &s->bases[i];
	}
	return NULL;
}

/* A device, a pipe, a symbolic link is written to and never replaced. */
static bool is_in_place(const char *path)
{
	struct stat st;

	return !lstat(path, &st) && !S_ISREG(st.st_mode);
}

/* Whether it is written in place, with a check for what a guest may have put there since. */
static bool stays(const struct outside_server *s, const char *path)
{
	const struct base *base = base_of(s, path);

	return is_in_place(path) &&
	       (!s->sealed || (base && base->in_place && !strcmp(base->path, path)));
}

static void announce(struct outside_server *s, const char *path)
{
	if (base_of(s, path))
		return;
	*ARRAY_ADD(s->bases, s->nbases) = (struct base){ x_strdup(path), is_in_place(path) };
}

static bool is_profile(const char *path)
{
	static const char magic[] = "SQLite format 3";
	char head[sizeof(magic)] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool is = fd >= 0 && read(fd, head, sizeof(head)) == sizeof(head) &&
		  !memcmp(head, magic, sizeof(magic));

	if (fd >= 0)
		close(fd);
	return is;
}

static int do_open(struct outside_server *s, const struct request *r, int *fd)
{
	char *base = x_strndup(r->path, lasting(r->path));
	bool in_place = stays(s, base);
	/* one of the same name was left by a run that was killed */
	bool anew =
	    strcmp(base, r->path) && list_find(s->opened, s->nopened, r->path) == s->nopened;
	int flags = r->flags | O_CLOEXEC | O_NOCTTY;

	if (!s->sealed)
		announce(s, base);
	/* a guest that can write there must not lead the server elsewhere or block it */
	if (!in_place)
		flags |= O_NOFOLLOW | (anew ? O_TRUNC : 0) | (s->sealed ? O_NONBLOCK : 0);
	else
		flags &= ~O_EXCL;
	if (base_of(s, r->path) && (in_place || !is_in_place(base)))
		*fd = open(in_place ? base : r->path, flags, (mode_t)r->mode & 0666);
	else
		errno = EACCES;
	if (*fd >= 0 && flags & O_CREAT && list_find(s->opened, s->nopened, r->path) == s->nopened)
		list_add(&s->opened, &s->nopened, r->path);
	free(base);
	return *fd < 0 ? errno : 0;
}

static int do_rename(struct outside_server *s, const struct request *r)
{
	if (list_find(s->opened, s->nopened, r->path) == s->nopened || !base_of(s, r->to))
		return EACCES;
	if (stays(s, r->to))
		return 0; /* it was written in place */
	if (is_in_place(r->path) || is_in_place(r->to) ||
	    (is_profile(r->path) && !access(r->to, F_OK) && !is_profile(r->to)))
		return EEXIST;
	return renameat2(AT_FDCWD, r->path, AT_FDCWD, r->to, (unsigned)r->flags) ? errno : 0;
}

/* A descriptor for stat alone. */
static int do_look(struct outside_server *s, const struct request *r, int *fd)
{
	if (!s->sealed)
		announce(s, r->path);
	else if (!base_of(s, r->path))
		return EACCES;
	*fd = open(r->path, O_PATH | O_CLOEXEC | (r->flags & O_NOFOLLOW));
	return *fd < 0 ? errno : 0;
}

static int do_unlink(struct outside_server *s, const struct request *r)
{
	if (list_find(s->opened, s->nopened, r->path) == s->nopened)
		return !s->sealed && access(r->path, F_OK) ? ENOENT : EACCES;
	return unlink(r->path) ? errno : 0;
}

/* Makes a name absolute, without links and dots in its folder, so that a file has one name. */
static bool make_whole(char path[PATH_MAX])
{
	char *name = strrchr(path, '/'), *folder, *real;
	bool ok;

	if (!*path)
		return true;
	folder = name ? x_strndup(path, (size_t)(name - path) + 1) : x_strdup(".");
	name = x_strdup(name ? name + 1 : path);
	real = realpath(folder, NULL);
	ok = real && *name && strcmp(name, ".") && strcmp(name, "..") &&
	     snprintf(path, PATH_MAX, "%s/%s", strcmp(real, "/") ? real : "", name) < PATH_MAX;
	free(real);
	free(folder);
	free(name);
	return ok;
}

bool outside_serve(struct outside_server *s, int socket)
{
	struct request *r = x_calloc(1, sizeof(*r));
	int reply, fd = -1, code = ENOENT;
	bool answered = false;
	ssize_t n = receive_with(socket, r, sizeof(*r), &reply);

	r->path[PATH_MAX - 1] = r->to[PATH_MAX - 1] = 0;
	if (n == sizeof(*r) && reply >= 0 && make_whole(r->path) && make_whole(r->to)) {
		switch (r->verb) {
		case VERB_OPEN:
			code = do_open(s, r, &fd);
			break;
		case VERB_RENAME:
			code = do_rename(s, r);
			break;
		case VERB_UNLINK:
			code = do_unlink(s, r);
			break;
		case VERB_EXPECT:
			code = s->sealed ? EACCES : 0;
			if (!code)
				announce(s, r->path);
			break;
		case VERB_LOOK:
			code = do_look(s, r, &fd);
			break;
		case VERB_SEAL:
			s->sealed = true;
			code = 0;
			break;
		default:
			break;
		}
		answered = send_with(reply, &code, sizeof(code), fd);
	}
	if (reply >= 0 && !answered)
		send_with(reply, &code, sizeof(code), -1);
	if (fd >= 0)
		close(fd);
	if (reply >= 0)
		close(reply);
	free(r);
	return n > 0;
}

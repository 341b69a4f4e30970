/* SPDX-License-Identifier: MIT */
/*
 * The daemon's socket. A peer has a tenth of a second to say what it wants and may send one short
 * line, so that nobody can hold up the daemon.
 */
#include "collect/control.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define OK    "ok\n"
#define ERROR "error "

static bool address_of(const char *path, struct sockaddr_un *a, struct err *e)
{
	*a = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof(a->sun_path))
		return err_set(e,
			       "the path of the socket, %s, is longer than %zu bytes; name another "
			       "with --socket",
			       path, sizeof(a->sun_path) - 1);
	strcpy(a->sun_path, path);
	return true;
}

static int connected(const struct sockaddr_un *a)
{
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && connect(fd, (const struct sockaddr *)a, sizeof(*a)) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

int control_listen(const char *path, const char *group, struct err *e)
{
	const struct group *g = group ? getgrnam(group) : NULL;
	struct sockaddr_un a;
	struct stat st;

	if (!address_of(path, &a, e))
		return -1;
	if (group && !g) {
		err_set(e, "there is no group '%s'", group);
		return -1;
	}
	const int taken = connected(&a);

	if (taken >= 0) {
		close(taken);
		err_set(e, "somebody listens on %s already; name another with --socket", path);
		return -1;
	}
	/* Only a socket is removed: anything else there is not ours. */
	if (!lstat(path, &st) && S_ISSOCK(st.st_mode))
		unlink(path);
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const mode_t old = umask(0117);
	bool ok = fd >= 0 && bind(fd, (const struct sockaddr *)&a, sizeof(a)) == 0;

	umask(old);
	ok = ok && (!g || chown(path, (uid_t)-1, g->gr_gid) == 0) && listen(fd, 8) == 0;
	if (ok)
		return fd;
	err_set(e, "cannot listen on %s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return -1;
}

static bool is_member(uint32_t uid, uint32_t gid, uint32_t group)
{
	const struct passwd *p = getpwuid(uid);
	gid_t groups[256];
	int n = 256;

	if (gid == group)
		return true;
	if (!p || getgrouplist(p->pw_name, p->pw_gid, groups, &n) < 0)
		return false;
	for (int i = 0; i < n; i++)
		if (groups[i] == group)
			return true;
	return false;
}

int control_accept(int listener, uint32_t group, struct control_peer *peer, char *line, size_t size)
{
	const int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	const struct timeval soon = { .tv_usec = 100000 };
	struct ucred who;
	socklen_t length = sizeof(who);
	size_t n = 0;

	if (fd < 0)
		return -1;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &length) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof(soon)) ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof(soon))) {
		close(fd);
		return -1;
	}
	peer->uid = who.uid;
	peer->trusted = who.uid == 0 || who.uid == geteuid() || is_member(who.uid, who.gid, group);
	const ssize_t got = recv(fd, line, size - 1, 0);

	n = got > 0 ? (size_t)got : 0;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	if (n)
		return fd;
	close(fd);
	return -1;
}

void control_answer(int fd, const char *text)
{
	size_t size = strlen(text);

	while (size) {
		const ssize_t n = send(fd, text, size, MSG_NOSIGNAL);

		if (n <= 0)
			break;
		text += n;
		size -= (size_t)n;
	}
	close(fd);
}

bool control_ask(const char *path, const char *line, FILE *out, struct err *e)
{
	struct sockaddr_un a;
	char block[4096], head[512] = "";
	bool begun = false;

	if (!address_of(path, &a, e))
		return false;
	const int fd = connected(&a);

	if (fd < 0)
		return err_set(e, "no daemon answers on %s: %s; `culprit daemon FOLDER` starts one",
			       path, strerror(errno));
	bool ok = dprintf(fd, "%s\n", line) > 0;
	FILE *in = ok ? fdopen(fd, "r") : NULL;

	if (!in) {
		close(fd);
		return err_set(e, "%s: %s", path, strerror(errno));
	}
	while (fgets(block, sizeof(block), in)) {
		if (!begun)
			snprintf(head, sizeof(head), "%.500s", block);
		else
			fputs(block, out);
		begun = true;
	}
	fclose(in);
	if (!begun)
		return err_set(e, "the daemon on %s gave no answer; it may be stopping", path);
	head[strcspn(head, "\n")] = '\0';
	if (!strncmp(head, ERROR, strlen(ERROR)))
		return err_set(e, "%s", head + strlen(ERROR));
	return true;
}

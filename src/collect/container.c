/* SPDX-License-Identifier: MIT */
/*
 * Containers by cgroup: the name is what the container's tool put into the cgroup's path. docker,
 * podman, containerd and cri-o use an identifier of 64 hexadecimal digits, of which the first 12 are
 * shown as those tools do; lxc and systemd-nspawn use names. Services, sessions and slices of
 * systemd are no containers. A cgroup that was made by hand is a container of that name.
 *
 * An id of cgroup v2 is turned into a path by opening it as a file handle, which needs
 * CAP_DAC_READ_SEARCH; without it, /proc/PID/cgroup tells while the process lives.
 */
#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/maps_int.h"
#include "util/array.h"

#define FILE_BYTES 65536

/* ---- Names ---- */

static bool ends(const char *s, size_t n, const char *with)
{
	const size_t w = strlen(with);

	return n >= w && memcmp(s + n - w, with, w) == 0;
}

static bool begins(const char *s, size_t n, const char *with)
{
	const size_t w = strlen(with);

	return n >= w && memcmp(s, with, w) == 0;
}

/* 64 hexadecimal digits within a component, perhaps with a tool's name before and ".scope" after. */
static const char *identifier(const char *s, size_t n)
{
	size_t run = 0;

	for (size_t i = 0; i < n; i++) {
		run = isxdigit((unsigned char)s[i]) ? run + 1 : 0;
		if (run == 64 && (i + 1 == n || !isxdigit((unsigned char)s[i + 1])))
			return s + i - 63;
	}
	return NULL;
}

/* The name that a component gives a container; NULL: it is none. */
static char *component_name(const char *s, size_t n)
{
	static const char *const units[] = { ".service", ".slice", ".mount", ".socket", ".swap" };
	static const char lxc[] = "lxc.payload.", nspawn[] = "machine-";

	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (ends(s, n, units[i]))
			return NULL;
	if (begins(s, n, lxc))
		return x_strndup(s + sizeof(lxc) - 1, n - (sizeof(lxc) - 1));
	if (ends(s, n, ".scope")) {
		n -= strlen(".scope");
		if (begins(s, n, nspawn) && n > sizeof(nspawn) - 1)
			return x_strndup(s + sizeof(nspawn) - 1, n - (sizeof(nspawn) - 1));
		return NULL;
	}
	return n && !(n == 2 && memcmp(s, "..", 2) == 0) ? x_strndup(s, n) : NULL;
}

char *container_in_path(const char *path)
{
	const char *last = NULL;
	size_t nlast = 0;

	while (*path) {
		const size_t n = strcspn(path, "/");
		const char *id = identifier(path, n);

		if (id)
			return x_strndup(id, 12);
		if (n) {
			last = path;
			nlast = n;
		}
		path += n + (path[n] == '/');
	}
	char *name = last ? component_name(last, nlast) : NULL;

	return name ? name : x_strdup("");
}

/* A line is "number:controllers:path"; number 0 is cgroup v2, which is asked first. */
char *container_in_file(const char *text)
{
	char *name = x_strdup(""), *other = x_strdup("");

	while (*text) {
		const size_t n = strcspn(text, "\n");
		char *line = x_strndup(text, n), *path = strchr(line, ':');
		char **to = begins(line, n, "0:") ? &name : &other;

		path = path ? strchr(path + 1, ':') : NULL;
		/* Tools of version 1 put a container into all hierarchies, or into some. */
		if (path && !**to) {
			free(*to);
			*to = container_in_path(path + 1);
		}
		free(line);
		text += n + (text[n] == '\n');
	}
	char *kept = *name ? name : other;

	free(kept == name ? other : name);
	return kept;
}

char *container_of_process(const char *proc, int32_t pid)
{
	char *path = x_asprintf("%s/%d/cgroup", proc, pid), *text;
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t size = 0;
	ssize_t n = 0;

	free(path);
	if (fd < 0)
		return NULL;
	text = x_malloc(FILE_BYTES);
	while (size < FILE_BYTES - 1 && (n = read(fd, text + size, FILE_BYTES - 1 - size)) > 0)
		size += (size_t)n;
	close(fd);
	text[size] = '\0';
	char *name = n < 0 ? NULL : container_in_file(text);

	free(text);
	return name;
}

/* ---- Ids ---- */

struct containers {
	struct known {
		uint64_t cgroup;
		char *name; /* NULL: cannot be told */
	} * known;
	size_t count;
	int root; /* of cgroup v2; -1: none */
	char *root_path;
};

#define KNOWN_MAX 4096

struct containers *containers_new(void)
{
	static const char *const roots[] = { "/sys/fs/cgroup/unified", "/sys/fs/cgroup" };
	struct containers *c = x_calloc(1, sizeof(*c));

	c->root = -1;
	for (size_t i = 0; i < ARRAY_LEN(roots) && c->root < 0; i++) {
		char *file = x_asprintf("%s/cgroup.procs", roots[i]);

		/* Only the root of cgroup v2 has that file; v1 has it one folder below. */
		if (access(file, F_OK) == 0) {
			c->root = open(roots[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			c->root_path = x_strdup(roots[i]);
		}
		free(file);
	}
	return c;
}

/* Containers come and go for as long as the machine runs. */
static void forget_all(struct containers *c)
{
	for (size_t i = 0; i < c->count; i++)
		free(c->known[i].name);
	free(c->known);
	c->known = NULL;
	c->count = 0;
}

void containers_free(struct containers *c)
{
	if (!c)
		return;
	forget_all(c);
	free(c->root_path);
	if (c->root >= 0)
		close(c->root);
	free(c);
}

/* NULL: the cgroup is gone, or this user may not open it by its id. */
static char *name_of_id(const struct containers *c, uint64_t cgroup)
{
	union {
		struct file_handle handle;
		char room[sizeof(struct file_handle) + sizeof(uint64_t)];
	} h;
	char link[32], path[PATH_MAX];

	memset(&h, 0, sizeof(h));
	h.handle.handle_bytes = sizeof(cgroup);
	h.handle.handle_type = 0xfe; /* of kernfs */
	memcpy(h.handle.f_handle, &cgroup, sizeof(cgroup));
	const int fd = open_by_handle_at(c->root, &h.handle, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return NULL;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	const ssize_t n = readlink(link, path, sizeof(path) - 1);

	close(fd);
	if (n < 0)
		return NULL;
	path[n] = '\0';
	const char *below = path_below(path, c->root_path);

	return container_in_path(below ? below : path);
}

const char *container_of_cgroup(struct containers *c, uint64_t cgroup)
{
	if (c->root < 0 || !cgroup)
		return NULL;
	size_t at = ARRAY_SEARCH(c->count, i, c->known[i].cgroup < cgroup);

	if (at < c->count && c->known[at].cgroup == cgroup)
		return c->known[at].name;
	char *name = name_of_id(c, cgroup);

	/* A cgroup that cannot be opened is asked for again: it may be a question of time. */
	if (!name)
		return NULL;
	if (c->count == KNOWN_MAX) {
		forget_all(c);
		at = 0;
	}
	(void)ARRAY_ADD(c->known, c->count);
	memmove(&c->known[at + 1], &c->known[at], (c->count - 1 - at) * sizeof(*c->known));
	c->known[at] = (struct known){ cgroup, name };
	return name;
}

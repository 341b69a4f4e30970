/* SPDX-License-Identifier: MIT */
/*
 * Which files the guest reads and writes, so that a run can be repeated: what it read must be as it
 * was, what it made must not be there yet. Noted when a file is opened, and when a name appears
 * (mkdir, rename, link). Children that are forked note theirs in their own process.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest/process.h"

#define FILES_MAX 4096 /* of a program that walks over a file system the first are enough */

struct file_use {
	char *path;    /* on the host */
	unsigned uses; /* enum guest_use */
};

static bool is_kernels(const char *path)
{
	return !strncmp(path, "/proc/", 6) || !strncmp(path, "/sys/", 5) ||
	       !strncmp(path, "/dev/", 5);
}

static void note(struct guest *g, const char *path, unsigned uses)
{
	for (size_t i = 0; i < g->nfiles; i++)
		if (!strcmp(g->files[i].path, path)) {
			/* what was there first counts: a file that it made is not one that it
			 * changes */
			g->files[i].uses |= g->files[i].uses & GUEST_MADE ? uses & ~GUEST_CHANGED
									  : uses & ~GUEST_MADE;
			return;
		}
	if (g->nfiles == FILES_MAX || is_kernels(path))
		return;
	if (!(g->nfiles & (g->nfiles - 1)))
		g->files = x_realloc(g->files, (g->nfiles ? 2 * g->nfiles : 1) * sizeof(*g->files));
	g->files[g->nfiles++] = (struct file_use){ x_strdup(path), uses };
}

bool files_new(int dir, const char *path)
{
	return faccessat(dir, path, F_OK, AT_SYMLINK_NOFOLLOW) && errno == ENOENT;
}

void files_opened(struct guest *g, int host, int flags, bool made)
{
	bool writes = (flags & O_ACCMODE) != O_RDONLY || flags & O_TRUNC;
	char path[PATH_BYTES];
	struct stat st;

	if (flags & (O_PATH | O_DIRECTORY) || fstat(host, &st) || !S_ISREG(st.st_mode) ||
	    path_of_fd(host, path) < 0)
		return;
	note(g, path, made ? GUEST_MADE : writes ? GUEST_CHANGED : GUEST_READ);
}

void files_named(struct guest *g, int dir, const char *path, bool made)
{
	char folder[PATH_BYTES], whole[2 * PATH_BYTES];

	if (*path == '/')
		snprintf(whole, sizeof(whole), "%s", path);
	else if (dir == AT_FDCWD ? getcwd(folder, sizeof(folder)) != NULL
				 : path_of_fd(dir, folder) == 0)
		snprintf(whole, sizeof(whole), "%s/%.*s", folder[1] ? folder : "",
			 (int)strcspn(path, "/"), path);
	else
		return;
	note(g, whole, made ? GUEST_MADE : GUEST_CHANGED);
}

size_t guest_files(const struct guest *g, enum guest_use use, const char ***paths)
{
	size_t n = 0;

	*paths = x_calloc(g->nfiles + 1, sizeof(**paths));
	for (size_t i = 0; i < g->nfiles; i++) {
		unsigned uses = g->files[i].uses;

		/* what it writes has no content of its own to be read */
		if (uses & (GUEST_MADE | GUEST_CHANGED) ? uses & use & ~GUEST_READ : uses & use)
			(*paths)[n++] = g->files[i].path;
	}
	return n;
}

void files_free(struct guest *g)
{
	for (size_t i = 0; i < g->nfiles; i++)
		free(g->files[i].path);
	free(g->files);
}

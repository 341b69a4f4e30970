/* SPDX-License-Identifier: MIT */
/*
 * Which files the guest reads and writes, and which folders it lists, so that a run can be
 * repeated: what it read must be as it was, what it made must not be there yet. Noted when a file
 * is opened, when a name appears (mkdir, rename, link) and when a folder is listed.
 *
 * Processes that are forked note theirs too: what is new to a process goes into a log that all of
 * them share, in the order in which it happened; the lists are made from that.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "guest/files/files.h"
#include "guest/files/path.h"
#include "guest/process/process.h"
#include "util/array.h"

#define FILES_MAX 4096	    /* a program that walks a file system: the first are enough */
#define LOG_MAX	  (8 << 20) /* bytes */
#define NAMES_MAX (1 << 20) /* bytes of all folders' names together */

struct file_use {
	char *path;    /* on the host */
	unsigned uses; /* enum guest_use */
};

struct folder_use {
	char *path;
	char *names; /* of the first listing, each with its mark and a NUL; NULL: too many */
	size_t names_bytes, count;
	uint64_t digest; /* of all listings */
};

/* In the log. */
struct note_head {
	uint32_t uses; /* 0: a listing, whose names follow the path */
	uint32_t path_bytes, names_bytes;
};

static bool is_kernels(const char *path)
{
	return !strncmp(path, "/proc/", 6) || !strncmp(path, "/sys/", 5) ||
	       !strncmp(path, "/dev/", 5) || !strcmp(path, "/proc") || !strcmp(path, "/sys") ||
	       !strcmp(path, "/dev");
}

void files_init(struct guest *g)
{
	g->notes.log_fd = memfd_create("culprit-notes", MFD_CLOEXEC);
	if (g->notes.log_fd >= 0)
		fcntl(g->notes.log_fd, F_SETFL, O_APPEND);
}

static void log_note(const struct guest *g, unsigned uses, const char *path, const char *names,
		     size_t names_bytes)
{
	struct note_head head = { uses, (uint32_t)strlen(path) + 1, (uint32_t)names_bytes };
	struct iovec out[] = { { &head, sizeof(head) },
			       { (void *)path, head.path_bytes },
			       { (void *)names, names_bytes } };
	struct stat st;

	if (g->notes.log_fd < 0 || fstat(g->notes.log_fd, &st) || st.st_size > LOG_MAX)
		return;
	if (writev(g->notes.log_fd, out, names_bytes ? 3 : 2) < 0)
		warn("cannot note which files the program uses: %s", strerror(errno));
}

/* True if the note says something new. */
static bool note(struct guest *g, const char *path, unsigned uses)
{
	for (size_t i = 0; i < g->notes.nfiles; i++)
		if (!strcmp(g->notes.files[i].path, path)) {
			unsigned before = g->notes.files[i].uses;

			/* the first use counts: a file that the guest made is not one that it
			 * changed */
			g->notes.files[i].uses |=
			    before & GUEST_MADE ? uses & ~GUEST_CHANGED : uses & ~GUEST_MADE;
			return g->notes.files[i].uses != before;
		}
	if (g->notes.nfiles == FILES_MAX || is_kernels(path))
		return false;
	*ARRAY_ADD(g->notes.files, g->notes.nfiles) = (struct file_use){ x_strdup(path), uses };
	return true;
}

static void note_and_log(struct guest *g, const char *path, unsigned uses)
{
	if (note(g, path, uses))
		log_note(g, uses, path, NULL, 0);
}

static uint64_t digest_names(uint64_t h, const char *names, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		h = (h ^ (uint8_t)names[i]) * 0x100000001b3ull;
	return hash_u64(h);
}

static void note_folder(struct guest *g, const char *path, const char *names, size_t bytes)
{
	struct folder_use *f = NULL;
	size_t kept = 0;

	for (size_t i = 0; i < g->notes.nfolders; i++) {
		kept += g->notes.folders[i].names_bytes;
		if (!strcmp(g->notes.folders[i].path, path))
			f = &g->notes.folders[i];
	}
	if (!f) {
		if (g->notes.nfolders == FILES_MAX)
			return;
		f = ARRAY_ADD(g->notes.folders, g->notes.nfolders);
		*f = (struct folder_use){ .path = x_strdup(path) };
		for (size_t i = 0; i < bytes; i++)
			f->count += !names[i];
		if (kept + bytes <= NAMES_MAX) {
			f->names = x_malloc(bytes + 1);
			memcpy(f->names, names, bytes);
			f->names_bytes = bytes;
		}
	}
	f->digest = digest_names(f->digest, names, bytes);
}

void files_listed(struct guest *g, const char *path, const char *names, size_t bytes)
{
	if (!is_kernels(path))
		log_note(g, 0, path, names, bytes);
}

static void forget(struct guest *g)
{
	for (size_t i = 0; i < g->notes.nfiles; i++)
		free(g->notes.files[i].path);
	for (size_t i = 0; i < g->notes.nfolders; i++) {
		free(g->notes.folders[i].path);
		free(g->notes.folders[i].names);
	}
	g->notes.nfiles = g->notes.nfolders = 0;
}

void guest_notes(struct guest *g)
{
	struct note_head head;
	uint64_t at = 0;

	if (g->notes.log_fd < 0)
		return;
	forget(g);
	while (pread(g->notes.log_fd, &head, sizeof(head), (off_t)at) == sizeof(head)) {
		size_t bytes = (size_t)head.path_bytes + head.names_bytes;
		char *text = x_malloc(bytes + 1);

		at += sizeof(head);
		if (pread(g->notes.log_fd, text, bytes, (off_t)at) == (ssize_t)bytes) {
			if (head.uses)
				note(g, text, head.uses);
			else
				note_folder(g, text, text + head.path_bytes, head.names_bytes);
		}
		at += bytes;
		free(text);
	}
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
	    path_of_fd(host, path) < 0 || (g->view && path_below(path, g->view->path)))
		return;
	note_and_log(g, path, made ? GUEST_MADE : writes ? GUEST_CHANGED : GUEST_READ);
}

void files_named(struct guest *g, int dir, const char *path, bool made)
{
	char folder[PATH_BYTES], whole[2 * PATH_BYTES];

	if (g->view)
		return;
	if (*path == '/')
		snprintf(whole, sizeof(whole), "%s", path);
	else if (dir == AT_FDCWD ? getcwd(folder, sizeof(folder)) != NULL
				 : path_of_fd(dir, folder) == 0)
		snprintf(whole, sizeof(whole), "%s/%.*s", folder[1] ? folder : "",
			 (int)strcspn(path, "/"), path);
	else
		return;
	note_and_log(g, whole, made ? GUEST_MADE : GUEST_CHANGED);
}

size_t guest_files(const struct guest *g, enum guest_use use, const char ***paths)
{
	size_t n = 0;

	*paths = x_calloc(g->notes.nfiles + 1, sizeof(**paths));
	for (size_t i = 0; i < g->notes.nfiles; i++) {
		unsigned uses = g->notes.files[i].uses;

		/* a file that the guest writes does not count as read */
		if (uses & (GUEST_MADE | GUEST_CHANGED) ? uses & use & ~GUEST_READ : uses & use)
			(*paths)[n++] = g->notes.files[i].path;
	}
	return n;
}

bool guest_folder(const struct guest *g, size_t index, struct guest_folder *out)
{
	const struct folder_use *f;

	if (index >= g->notes.nfolders)
		return false;
	f = &g->notes.folders[index];
	*out = (struct guest_folder){ f->path, f->names, f->names_bytes, f->count, f->digest };
	return true;
}

void files_free(struct guest *g)
{
	forget(g);
	free(g->notes.files);
	free(g->notes.folders);
	if (g->notes.log_fd >= 0)
		close(g->notes.log_fd);
}

/* SPDX-License-Identifier: MIT */
/* Notes of the host's files and folders that the guest uses, so that its run can be repeated. */
#ifndef GUEST_FILES_FILES_H
#define GUEST_FILES_FILES_H

#include <stdbool.h>
#include <stddef.h>

struct guest;

/* The part of a process that files.c owns. */
struct notes {
	struct file_use *files;
	size_t nfiles;
	struct folder_use *folders;
	size_t nfolders;
	int log_fd;    /* what the processes of the tree have noted: they share it */
	char **hidden; /* what culprit writes: no folder shows it to the guest (listing.c) */
	size_t nhidden;
};

void files_init(struct guest *g);
/* A folder was listed: its names, each with the mark of its kind and a NUL. */
void files_listed(struct guest *g, const char *path, const char *names, size_t size_bytes);
/* Whether nothing of that name exists. */
bool files_new(int dir, const char *path);
/* A file was opened; made: it was not there before. */
void files_opened(struct guest *g, int host, int flags, bool made);
/* A name has appeared, or stands for something else than before. */
void files_named(struct guest *g, int dir, const char *path, bool made);
void files_free(struct guest *g);

#endif

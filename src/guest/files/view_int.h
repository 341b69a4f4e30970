/* SPDX-License-Identifier: MIT */
/* What view.c, which decides what is private, and view_copy.c, which copies it, need of each other. */
#ifndef GUEST_FILES_VIEW_INT_H
#define GUEST_FILES_VIEW_INT_H

#include <limits.h>
#include <stdio.h>

#include "guest/files/view.h"

/* The mode and times of a folder of the host that the guest has changed. */
struct view_attributes {
	unsigned mode;
	int64_t times[4]; /* atime, mtime: seconds, nanoseconds; nanoseconds -1: the host's */
};

bool view_attributes_read(struct guest *g, struct file_id id, struct view_attributes *a);

static inline struct file_id view_id_of(const struct stat *st)
{
	return (struct file_id){ st->st_dev, st->st_ino };
}

static inline bool view_same(struct file_id a, struct file_id b)
{
	return a.dev == b.dev && a.ino == b.ino;
}

/* The path of a key in a part of the store. */
#define LINK_BYTES (NAME_MAX + VIEW_KEY_BYTES + 8)
static inline void view_in_part(const char *part, const char *key, char path[LINK_BYTES])
{
	snprintf(path, LINK_BYTES, "%s/%s", part, key);
}

/* A name in the store for what is being made. */
void view_temp_name(struct guest *g, char name[VIEW_KEY_BYTES]);
/* A copy of an open file at temp, in the store; keep: with its content. 0 or -errno. */
int view_copy_file(struct guest *g, int in, const struct stat *st, bool keep, const char *temp);
/* Copies an entry of a folder of the host into the store: 0 or -errno. */
int view_copy_entry(struct guest *g, int from, const char *name, int to, const char *to_name,
		    bool keep, unsigned level);
/* The copy at (dir, name) stands for a file of the host from now on. */
void view_stands_for(struct guest *g, const struct stat *st, int dir, const char *name);

#endif

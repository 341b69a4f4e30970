/* SPDX-License-Identifier: MIT */
/*
 * A private view of the host's files: the guest sees them as they are, and what it changes goes to a
 * place of its own, which vanishes with it. See view.c.
 */
#ifndef GUEST_FILES_VIEW_H
#define GUEST_FILES_VIEW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "guest/files/path.h"
#include "util/util.h"

struct guest;

/* What the processes of the tree share. */
struct view_shared {
	_Atomic int changed;	/* a folder of the host has changed names */
	_Atomic int attributes; /* … or a changed mode or time */
	_Atomic int links;	/* a file of the host with several names was changed */
	_Atomic int aliases;	/* a file of the host is shown under other numbers */
	_Atomic uint64_t next_ino, next_temp;
};

struct view {
	int store; /* host descriptor of the private folder */
	int lock;
	pid_t maker; /* the host's process that removes it */
	char *path;  /* of the store, on the host */
	struct view_shared *shared;
	char text[2 * PATH_BYTES]; /* the last result of view_guest */
};

/* From now on the guest's changes are private. */
bool view_begin(struct guest *g, struct err *e);
void view_free(struct guest *g);

enum view_found {
	VIEW_HOST, /* as on the host */
	VIEW_OWN,  /* in the private folder *upper, if it is there at all */
};
/* Where a name in a folder of the host is to be looked for; *upper is the caller's to close. */
enum view_found view_find(struct guest *g, struct file_id folder, const char *name, int *upper);
/* Whether an open file lies in the store. */
bool view_is_own(struct guest *g, int fd);
/* The folder of the host whose private part fd is: a descriptor; -1: it is no such part. */
int view_host_folder(struct guest *g, int fd);

/* A path leads to `at`: if that is another name of a file of the host that was changed, it is the
 * changed one. 0 or -errno. */
int view_other_name(struct guest *g, struct path_at *at);

/* Each makes `at` a name or file that may be changed on the host: 0 or -errno. */
int view_make(struct guest *g, struct path_at *at);		 /* the name will appear */
int view_change(struct guest *g, struct path_at *at, bool keep); /* keep: its content, too */
int view_own_folder(struct guest *g, struct path_at *at);	 /* for a file without a name */
/* A name has appeared; or, at NULL, a file that is open. */
void view_made(struct guest *g, const struct path_at *at, int fd);
/* The host calls of the same names. */
int view_unlink(struct guest *g, struct path_at *at, int flags);
int view_rename(struct guest *g, struct path_at *from, struct path_at *to, unsigned flags);
int view_chmod(struct guest *g, struct path_at *at, mode_t mode);
int view_utimens(struct guest *g, struct path_at *at, const struct timespec *times);
/* Before a descriptor's file is changed or locked through a descriptor that may not write. */
int view_change_fd(struct guest *g, int fd);

/* Whether the mode that the guest gave a folder of the host allows it: 0 or -EACCES; 1: it gave none. */
int view_may(struct guest *g, int dir, int want);
/* What stat says, as the guest sees it. */
void view_show(struct guest *g, struct stat *st);
void view_show_ids(const struct guest *g, uint64_t *dev, uint64_t *ino);
/* Gives a file of the store, or an unchanged one of the host's, the numbers that the guest knows. */
void view_set_ids(struct guest *g, int fd, uint64_t dev, uint64_t ino);
/* The name under which the guest knows a host path; NULL: it is no name of the view's. */
const char *view_guest(const struct guest *g, const char *host);

/*
 * Places: names of files that hold on other hosts. The first letter says where it begins: s the
 * sysroot, c the folder in which the guest was started, h the host's root. See path_find_in.
 */
int view_place(struct guest *g, int fd, char place[2 * PATH_BYTES]);

/* Names of the store's parts, for content.c: the key of a folder or file. */
#define VIEW_KEY_BYTES 48
void view_key(struct file_id id, char key[VIEW_KEY_BYTES]);
/* The private part of a folder of the host, made if there is none: a descriptor or -errno. */
int view_upper(struct guest *g, int dir, struct file_id id);
int view_hide(struct guest *g, struct file_id folder, const char *name);
/* How many names of a private copy are still the host's; -1: it never had several. Setting: -1 is one
 * less than before. */
int64_t view_names_left(struct guest *g, struct file_id id);
void view_set_names_left(struct guest *g, int dir, const char *name, int64_t count);
/* Reads a small text of the store; its length or -1. */
ssize_t view_read(const struct guest *g, const char *part, const char *key, char *text,
		  size_t size_bytes);
bool view_write(const struct guest *g, const char *part, const char *key, const char *text);
void view_remove_tree(int dir, const char *name);

#endif

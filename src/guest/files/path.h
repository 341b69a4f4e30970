/* SPDX-License-Identifier: MIT */
/* Paths of the guest: which file of the host, or which made-up file, a path leads to. */
#ifndef GUEST_FILES_PATH_H
#define GUEST_FILES_PATH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "guest/files/fd.h"

struct guest;

struct file_id {
	uint64_t dev, ino;
};

static inline struct file_id file_id_of(const struct stat *st)
{
	return (struct file_id){ st->st_dev, st->st_ino };
}

static inline bool file_id_same(struct file_id a, struct file_id b)
{
	return a.ino && a.dev == b.dev && a.ino == b.ino;
}

/* Where the guest's names begin, and whose files are whose. All but cwd is fixed when the guest is
 * made. */
struct path_world {
	int root_fd;				      /* the host's "/", O_PATH */
	struct file_id root, sysroot, dev, etc, home; /* ino 0: there is none */
	struct file_id shm;
	bool super;	    /* the host would let this program pass over mode bits */
	bool root_unmapped; /* in a user namespace in which root's files are nobody's */
	uint32_t uid, gid;  /* of this program */
	char *sysroot_path; /* without symbolic links */
	int sysroot_fd;
	struct node cwd; /* the working folder, if it is made up */
	/* The folder in which the guest was started: where it is on the host, and the name by which
	 * the guest knows it. moved: that name leads elsewhere on this host, or nowhere. */
	int start_fd;
	char *start, *start_name;
	bool moved;
};

#define PATH_BYTES 4096
/* What a path stands for: a name in a folder of the host, or something that is made up. */
struct path_at {
	int dir;	       /* host descriptor of the folder; -1: see node */
	bool own;	       /* dir is to be closed */
	bool in_sysroot;       /* found there */
	bool is_dir;	       /* name is "" and dir a folder */
	char name[256 + 2];    /* in dir, never followed; "": what dir is open on. May end in '/' */
	uint64_t dev;	       /* of the folder's file system */
	struct file_id folder; /* dir, if it is a folder of the host */
	bool private;	       /* dir lies in the store of the guest's view (view.h) */
	struct node node;
};
enum path_flag {
	PATH_FOLLOW = 1 << 0, /* the last name, too, if it is a symbolic link */
	PATH_EMPTY = 1 << 1,  /* "" is the descriptor itself */
	PATH_NULL = 1 << 6,   /* a null pointer is "" */
	PATH_NAME = 1 << 2,   /* for calls that make, move or remove the last name */
	PATH_MAKE = 1 << 3,   /* the last name is made if it is not there */
	/* RESOLVE_* of openat2 from bit 8 on */
	PATH_RESOLVE_SHIFT = 8,
};
/*
 * Every path of a guest goes through here. The walk goes component by component and follows
 * symbolic links in the guest's name space, so what a path leads to decides, not its spelling.
 * Returns 0, after which the caller calls path_done, or -errno. The last name need not be there.
 */
int path_find(struct guest *g, uint64_t dirfd, const char *path, unsigned flags,
	      struct path_at *at);
/* From a place (view.h), which holds no "..". Only what is in the sysroot is found there. */
int path_find_in(struct guest *g, const char *place, unsigned flags, struct path_at *at);
/* The same with a path in guest memory. */
int path_find_at(struct guest *g, uint64_t dirfd, uint64_t addr, unsigned flags,
		 struct path_at *at);
void path_done(struct path_at *at);
/* struct stat of what was found. -EACCES if it belongs to the host's kernel. */
int path_stat(struct guest *g, const struct path_at *at, struct stat *st);
/* 0 if the guest has this access (R_OK, W_OK, X_OK): by the mode bits of the owner on every host,
 * and where this program is an ordinary user, by what the host says. */
int path_access(struct guest *g, const struct path_at *at, int want);
/* Opens it on the host; flags and mode as open takes them. -errno, or a descriptor that may be
 * given to the guest. Not for what is made up. */
int path_open(struct guest *g, const struct path_at *at, int flags, mode_t mode);
/* An O_PATH descriptor of it, or a copy of the descriptor that it is. Not for what is made up. */
int path_object(struct guest *g, const struct path_at *at);
/* Is an open file part of an interface of the host's kernel: procfs, sysfs, …? */
bool path_is_kernels(int host_fd);
void path_world_init(struct guest *g);
/* The guest knows the folder in which it was started by this name. If nothing is there, the folder in
 * which culprit was started takes its place. */
void path_world_move(struct guest *g, const char *name);
void path_world_free(struct guest *g);
/* The name of an open file on the host; 0 or -errno. */
int path_of_fd(int fd, char host[PATH_BYTES]);
#define FD_PATH_BYTES 48
/* A host path that leads to what is open, for host calls that take no descriptor. */
void path_to_fd(int fd, char host[FD_PATH_BYTES]);
/* The name under which the guest knows a host path. */
const char *path_guest(const struct guest *g, const char *host);
int path_cwd(const struct guest *g, char path[PATH_BYTES]); /* as the guest knows it */

#endif

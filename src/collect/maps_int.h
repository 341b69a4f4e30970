/* SPDX-License-Identifier: MIT */
/* Address spaces from within: what maps.c and its parts share. */
#ifndef COLLECT_MAPS_INT_H
#define COLLECT_MAPS_INT_H

#include "collect/intervals.h"
#include "collect/maps.h"

#define MAPS_NONE UINT32_MAX

/* The first two images of every struct maps. */
enum { MAPS_IMAGE_UNKNOWN, MAPS_IMAGE_ANON };

/* An image as the records name it; the sink's image is made of it when it is first found. */
struct maps_image {
	enum live_kind kind;
	char *name;
	char *path; /* NULL: not known, or not to be found on this host */
	char build_id[41];
	char digest[65];
	uint64_t dev, ino, ino_generation, size_bytes, mtime_ns;
	uint64_t hash;		    /* of what makes it one image */
	uint32_t number;	    /* the sink's; MAPS_NONE: not yet known there */
	bool looked;		    /* for its path, in vain or not */
	int32_t pid;		    /* a process that mapped it, */
	uint64_t start, end, pgoff; /* and where */
};

/* What a space was before a mapping was replaced. */
struct maps_version {
	uint64_t until_ns;
	uint32_t root;
};

/* A process between two execve calls. */
struct space {
	uint64_t since_ns, until_ns; /* until: 0 if it goes on */
	uint32_t root;		     /* of its mappings */
	uint32_t exe;		     /* image; MAPS_NONE: unknown */
	uint32_t process;	     /* the sink's number; MAPS_NONE: not yet known there */
	uint32_t nversions;
	struct maps_version *versions; /* oldest first */
	char comm[16];
	bool looked; /* its mappings were read from /proc */
};

/* A use of a pid. */
struct life {
	struct life *older; /* of the same pid */
	struct life *next;  /* in its bucket; the newest of each pid is there */
	int32_t pid;
	uint32_t threads;
	uint64_t start_ns;    /* 0: not known yet */
	uint64_t born_ns;     /* time of its fork; 0: ran before */
	uint64_t end_ns;      /* 0: runs */
	uint64_t snapshot_ns; /* its mappings were read then: older records are ignored */
	uint64_t record_ns;   /* last record */
	uint32_t uid;
	uint32_t first_exec; /* exec_id of spaces[0] */
	bool first_exec_known, start_in_ticks;
	uint32_t nspaces;
	struct space *spaces; /* oldest first; at least one */
	char *container;      /* NULL: not known */
	uint64_t cgroup;
};

struct maps {
	struct live_sink sink;
	char *proc; /* NULL: a recorded file */
	struct intervals *intervals;
	struct maps_image *images;
	size_t nimages;
	uint32_t *image_table; /* index + 1 */
	size_t image_table_size;
	struct life **buckets;
	size_t nbuckets, nlives;
	struct space kernel;
	uint64_t time_ns; /* of the newest record */
	uint64_t records, ignored;
	char **notes;
	size_t nnotes;
};

/* The image with this identity, made if it is new; its texts are copied. */
uint32_t maps_image_add(struct maps *m, const struct maps_image *like);
/* The sink's number of an image, which is made known to it if it was not. */
uint32_t maps_image_number(struct maps *m, uint32_t image);
void maps_images_free(struct maps *m);
void maps_build_id_text(char out[41], const uint8_t *bytes, size_t n);
void maps_space_put(struct maps *m, struct space *s, struct interval range, uint64_t time_ns);
void maps_space_clear(struct maps *m, struct space *s, uint64_t start, uint64_t end,
		      uint64_t time_ns);
/* The image that a mapping record names, made if it is new. */
uint32_t maps_image_of(struct maps *m, const struct maps_record *r);
struct life *maps_newest(const struct maps *m, int32_t pid);
static inline struct space *maps_now(struct life *l)
{
	return &l->spaces[l->nspaces - 1];
}
void maps_note(struct maps *m, const char *fmt, ...) PRINTF(2, 3);

#endif

/* SPDX-License-Identifier: MIT */
/* Address spaces from within: what maps.c and its parts share. */
#ifndef COLLECT_MAPS_INT_H
#define COLLECT_MAPS_INT_H

#include "collect/intervals.h"
#include "collect/maps.h"

#define MAPS_NONE    UINT32_MAX
#define MAPS_TICK_NS 10000000 /* of the start times in /proc */

/* Limits, so that nobody can make the collector large. */
#define MAPS_PINS	 128	    /* files and folders that are held open */
#define KEPT_BYTES	 (8u << 20) /* symbols and code of all images that cannot be found again */
#define KEPT_IMAGE_BYTES (1u << 20) /* of one image */

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
	uint64_t hash;	   /* of what makes it one image */
	uint32_t number;   /* the sink's; MAPS_NONE: not yet known there */
	uint8_t tries;	   /* looks for a file in vain */
	bool found;	   /* path or pin are known, or there is no file to be found */
	int pin;	   /* descriptor of a file that has no name here; -1: none */
	struct kept *kept; /* NULL: nothing */
	struct jit *jit;   /* of generated code; NULL: forgotten */
	/* Where it lies: of the kernel's code, its first address and its end; of a file, the last
	 * mapping that was seen. */
	int32_t pid;
	uint64_t start, end;
	uint64_t here_ino, here_mtime_ns; /* the file at path when it was found */
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
	bool looked;	 /* its mappings were read from /proc */
	struct jit *jit; /* NULL: no generated code seen */
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
	uint64_t cgroup;      /* id, 0: unknown */
	bool told;	      /* uid and cgroup came with a sample */
};

struct scan;
struct containers;

/* A file that was looked at, as the side-band names it. */
struct known_file {
	uint64_t dev, ino, generation;
	uint32_t image;
};
#define KNOWN_FILES 1024

struct maps {
	struct live_sink sink;
	char *proc; /* NULL: a recorded file */
	struct range_sets *intervals;
	struct maps_image *images;
	size_t nimages;
	uint32_t *free_images; /* places of forgotten images */
	size_t nfree_images, swept_images;
	uint32_t *image_table; /* index + 1 */
	size_t image_table_size;
	struct life **buckets;
	size_t nbuckets, nlives;
	struct space kernel;
	bool kernel_read, kernel_hidden;
	uint32_t kernel_image;
	struct kernel_names *names;
	uint32_t idle; /* the sink's number of the idle task; MAPS_NONE: not yet known there */
	uint64_t modules_read_ns;
	char kernel_build_id[41];
	uint32_t vdso; /* image; MAPS_NONE: not seen yet */
	struct containers *containers;
	struct scan *scan; /* files seen in one pass over all processes; NULL between passes */
	size_t pins;	   /* descriptors that are held for later */
	size_t kept_bytes; /* of all images */
	uint64_t time_ns;  /* of the newest record */
	uint64_t records, ignored;
	struct known_file known[KNOWN_FILES]; /* by a hash of all but the image */
	int running_fd;	   /* the iterator over running processes; -1: not loaded */
	double load_cpu_s; /* what loading it took in another process */
	char **notes;
	size_t nnotes;
};

/* The image with this identity, made if it is new; its texts are copied. */
uint32_t maps_image_add(struct maps *m, const struct maps_image *like);
/* The sink's number of an image, which is made known to it if it was not. */
uint32_t maps_image_number(struct maps *m, uint32_t image);
/* As the sink gets it, without symbols and code. */
struct live_image maps_live_image(const struct maps_image *i);
/* Forgets images that no space has, once there are many. Closes the descriptors of files whose
 * process has ended. */
void maps_images_sweep(struct maps *m);
/* Looks whether its file is still there; if not, holds what a process has mapped. */
void maps_image_recheck(struct maps *m, struct maps_image *i);
void maps_images_free(struct maps *m);
/* Marks the images that maps.c names outside of mappings. */
void maps_mark_images(const struct maps *m, bool *used);
struct scan *scan_new(void);
void scan_free(struct scan *s);
void maps_build_id_text(char out[41], const uint8_t *bytes, size_t n);
void maps_space_put(struct maps *m, struct space *s, struct interval range, uint64_t time_ns);
void maps_space_clear(struct maps *m, struct space *s, uint64_t start, uint64_t end,
		      uint64_t time_ns);
/* The image that a mapping record names, made if it is new. */
uint32_t maps_image_of(struct maps *m, const struct maps_record *r);
/* Sees to it that what was once found will be found when somebody looks: symbols and code of images
 * that have no file here. */
void keep_hit(struct maps *m, uint32_t image, uint64_t offset);
void keep_publish(struct maps *m);
/* Returns the bytes that it had. */
size_t keep_free(struct kept *k);

/* The kernel's own ranges, read when first asked for, and modules that have come since. */
void kernel_read(struct maps *m);
void kernel_read_modules(struct maps *m);
/* The image of a vdso that lies there. */
uint32_t kernel_vdso(struct maps *m, uint64_t address);
/* The kernel's function at an address and where it lies, good until the next call; NULL: none, or hidden. */
const char *kernel_name(const struct maps *m, uint64_t address, uint64_t *start, uint64_t *end);
size_t kernel_bytes(const struct maps *m); /* memory for that */
void kernel_free(struct maps *m);

/* Generated code: to be called when a process maps executable memory without a file, and a file that
 * may be a jitdump. */
void jit_prepare(struct maps *m, struct life *l, struct space *s);
void jit_dump_mapped(struct maps *m, struct life *l, struct space *s, const struct maps_record *r);
/* The image of generated code at an address, if it has a name; else MAPS_NONE. */
uint32_t jit_find(struct maps *m, struct life *l, struct space *s, uint64_t address);
/* The function of generated code at an address. */
struct jit_function {
	uint64_t start, size_bytes;
	const char *name;
	int code_fd; /* a jitdump that has the code; -1: none */
	uint64_t code_at;
	int32_t pid; /* whose memory has the code; 0: it has ended */
};
bool jit_function(struct maps *m, struct jit *j, uint64_t address, struct jit_function *f);
void jit_forget(struct maps *m, struct jit *j);

/* The name of the container that a process is in, "" if none; NULL: cannot be told. */
struct containers *containers_new(void);
void containers_free(struct containers *c);
char *container_of_process(const char *proc, int32_t pid);
const char *container_of_cgroup(struct containers *c, uint64_t cgroup);
/* The same from the content of /proc/PID/cgroup, and from a path. The caller frees. */
char *container_in_file(const char *text);
char *container_in_path(const char *path);

/* A process that runs: what it has mapped. */
struct running {
	int32_t pid;
	uint64_t time_ns; /* before anything was read */
	uint64_t start_ns;
	bool start_in_ticks;
	uint32_t exec_id;
	bool exec_known;
	uint32_t threads, uid;
	char comm[16];
	const struct maps_record *maps;
	size_t nmaps;
};
/* Replaces what is known of a process, unless that is newer. */
void maps_put_running(struct maps *m, const struct running *p);
/* Reads one process from /proc, if it is still the one that began then (0: whichever). */
void running_free_maps(struct maps_record *maps, size_t n);
bool running_read_one(struct maps *m, int32_t pid, uint64_t start_ns);

struct life *maps_newest(const struct maps *m, int32_t pid);
static inline struct space *maps_now(struct life *l)
{
	return &l->spaces[l->nspaces - 1];
}
void maps_note(struct maps *m, const char *fmt, ...) PRINTF(2, 3);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A live profile: what the sampling of a real machine gave, as counts by image, offset, event and
 * process. Everything in this folder meets here:
 *
 *	sources (the kernel's samples, perf.data) ──▶ struct live_sink ──▶ a struct live_profile in
 *	memory, or the database
 *	a struct live_profile (from a source, or selected from the database) ──▶ a store (live_store.h),
 *	which all views read
 *
 * Invariants:
 *	L1  For every event: taken = stored + lost + pending. `stored` is the sum of the counts that
 *	    the sink has got for it.
 *	L2  A count names an image that the sink knows. What no image explains belongs to the image of
 *	    kind LIVE_UNKNOWN, and is part of `stored`.
 *	L3  Merging profiles is exact and does not depend on the order.
 */
#ifndef COLLECT_LIVE_H
#define COLLECT_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/util.h"

enum live_kind {
	LIVE_FILE,   /* an ELF file; offsets are file offsets */
	LIVE_KERNEL, /* the kernel's text; offsets from _stext */
	LIVE_MODULE, /* a kernel module; offsets from its first text address */
	LIVE_BPF,    /* a BPF program; offsets from its start */
	LIVE_VDSO,   /* vdso, vsyscall; offsets from the start of the mapping */
	LIVE_JIT,  /* generated code with names from a perf map or jitdump; offsets are addresses */
	LIVE_ANON, /* executable memory without a file or a map, "[jit PROG]"; one offset, 0 */
	LIVE_UNKNOWN, /* no mapping was known; one offset, 0 */
	LIVE_KINDS
};

/* A function of an image whose file will not be found again, or that never had a file. */
struct live_symbol {
	uint64_t offset, size_bytes;
	char *name;
};

/* Bytes of hot code of such an image. */
struct live_code {
	uint64_t offset, size_bytes;
	uint8_t *bytes;
};

/*
 * What was executed. Two images are the same if kind, build-id and, where there is no build-id,
 * name, device, inode, size, mtime and digest are the same: a file replaced under its name is
 * another image.
 */
struct live_image {
	enum live_kind kind;
	char *name;	/* as its process sees it: "/usr/bin/node", "[kernel]", "[jit node]" */
	char *path;	/* where this host can open it now; NULL: nowhere */
	char *build_id; /* lower-case hex; "": none */
	char *digest;	/* of the content, where neither build-id nor inode tell; "": none */
	uint64_t dev, ino, size_bytes, mtime_ns;
	struct live_symbol *symbols; /* by offset */
	size_t nsymbols;
	struct live_code *code; /* by offset */
	size_t ncode;
};

/* Who executed it. Two processes are the same if pid, start and exec_id are. */
struct live_process {
	int32_t pid;
	uint32_t exec_id;  /* counts execve calls: another program, another process here */
	uint64_t start_ns; /* since boot */
	uint32_t uid;
	char *comm;	 /* the thread group's name */
	char *exe;	 /* the program's image name; "" unknown */
	char *container; /* name of the cgroup that is its container; "": none */
	/* One thread of it, where threads are kept apart: then they are part of what it is. Of a
	 * name that changed the last one is kept. */
	int32_t tid; /* 0: all threads */
	uint64_t thread_ns;
	char *thread;
};

#define LIVE_NO_PROCESS UINT32_MAX /* counts that are kept for all processes together */
#define LIVE_NO_CPU	UINT16_MAX

/* count samples of an event at an offset of an image. */
struct live_count {
	uint32_t image, process, event;
	uint16_t cpu;
	uint64_t offset;
	uint64_t count;
};

/* A call stack, innermost first. `broken`: the chain ended before the thread's first frame. */
struct live_frame {
	uint32_t image;
	uint64_t offset;
};
struct live_stack {
	uint32_t process, event;
	const struct live_frame *frames;
	size_t nframes;
	bool broken;
	uint64_t count;
};

/* A conditional branch, seen by interpreting the sampled instruction. */
struct live_edge {
	uint32_t image;
	uint64_t offset; /* of the branch */
	uint64_t taken, not_taken;
};

struct live_event {
	char *name;	 /* as the user asked: "cycles" */
	char *actual;	 /* what was sampled: "cpu-clock" */
	double rate;	 /* samples a second and processor that were asked for; 0: by period */
	uint64_t period; /* mean period in units of the event (ns for clocks) */
	double running;	 /* share of the time that the event was counted (1 unless multiplexed) */
	uint64_t taken, stored, lost, pending;
};

/* The facts of a collection. Texts are "" and numbers 0 where unknown. */
struct live_facts {
	char *machine, *boot_id, *kernel, *kernel_build_id, *command;
	uint64_t begin_ns, end_ns; /* wall clock, since 1970 */
	uint32_t cpus;
	uint64_t idle_ns;     /* all processors, from the kernel's own idle times */
	double budget;	      /* share of a processor that was asked for; 0: by rate */
	double interrupt_ns;  /* what one interrupt costs on this machine */
	double daemon_cpu_ns; /* the collector's own time */
};

/* Where a source puts what it finds. Texts and arrays are the caller's, copied if kept. */
struct live_sink {
	void *self;
	/* The number of an image or process; the same for the same. An image may come again with
	 * more symbols and code, which are added to those that it has. */
	uint32_t (*image)(void *self, const struct live_image *i);
	uint32_t (*process)(void *self, const struct live_process *p);
	uint32_t (*event)(void *self, const struct live_event *e);
	void (*count)(void *self, const struct live_count *c);
	void (*stack)(void *self, const struct live_stack *s);
	void (*edge)(void *self, const struct live_edge *e);
	/* Everything up to here belongs together: totals of every event, and the facts so far. A
	 * reader sees the state after one cut or after the next one, never something between. */
	bool (*cut)(void *self, const struct live_event *events, size_t nevents,
		    const struct live_facts *facts, struct err *e);
};

/* ---- A profile in memory ---- */

struct live_profile;

struct live_profile *live_profile_new(void);
void live_profile_free(struct live_profile *p);
/* A sink that adds to the profile. */
struct live_sink live_profile_sink(struct live_profile *p);
/* Adds everything of one profile to another (L3). Totals of events add up, facts are joined: the
 * earliest begin, the latest end, the sum of the times. */
void live_profile_merge(struct live_profile *to, const struct live_profile *from);

size_t live_images(const struct live_profile *p);
const struct live_image *live_image(const struct live_profile *p, size_t i);
size_t live_processes(const struct live_profile *p);
const struct live_process *live_process(const struct live_profile *p, size_t i);
size_t live_events(const struct live_profile *p);
const struct live_event *live_event(const struct live_profile *p, size_t i);
const struct live_facts *live_facts(const struct live_profile *p);
/* Counts sorted by image, offset, event, process, cpu; valid until the profile changes. */
const struct live_count *live_counts(struct live_profile *p, size_t *n);
/* The same in any order, without moving anything. */
const struct live_count *live_counts_unsorted(const struct live_profile *p, size_t *n);
/* Stacks and edges, sorted by all their members. */
const struct live_stack *live_stacks(struct live_profile *p, size_t *n);
const struct live_edge *live_edges(struct live_profile *p, size_t *n);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Address spaces: which image lay where in which process, and when. Fed with the records of the
 * kernel's side-band (live, or from a perf.data file) in order of time; asked where an address was.
 * A process' mappings are read once, when it is first seen, and updated from then on.
 */
#ifndef COLLECT_MAPS_H
#define COLLECT_MAPS_H

#include "collect/live.h"

struct maps;

/* A process between two execve calls. start_ns and exec_id are 0 where a source does not know
 * them (perf.data); then the records' order alone tells one use of a pid from the next. */
struct maps_space {
	int32_t pid;
	uint32_t exec_id;
	uint64_t start_ns;
};

/* What the side-band says. Texts are the caller's. */
enum maps_kind { MAPS_MMAP, MAPS_COMM, MAPS_FORK, MAPS_EXIT, MAPS_KSYMBOL, MAPS_TEXT_POKE };
struct maps_record {
	enum maps_kind kind;
	uint64_t time_ns;
	int32_t pid, tid, ppid; /* ppid: fork */
	bool exec;		/* comm: by execve */
	bool kernel;		/* mmap: of the kernel or a module */
	bool unregister;	/* ksymbol */
	bool bpf;		/* ksymbol: of a BPF program */
	uint64_t address, size_bytes;
	uint64_t pgoff; /* bytes; mmap of the kernel: address of the symbol that name ends in */
	uint32_t prot;	/* mmap without PROT_EXEC: whatever code was there is gone */
	bool shared;	/* mmap: changes are seen by others; code of files is private */
	uint64_t dev, ino, ino_generation; /* 0: unknown */
	uint8_t build_id[20];
	uint8_t build_id_bytes; /* 0: none */
	const char *name;	/* mmap: path; comm: name; ksymbol: symbol */
};

/* Images and processes that addresses belong to are made known to the sink when they are first
 * found there. proc: where procfs is ("/proc"), or NULL for a recorded file: then nothing of this
 * machine is looked at. */
struct maps *maps_new(const struct live_sink *sink, const char *proc);
void maps_free(struct maps *m);

/* Records must come in order of time. */
void maps_add(struct maps *m, const struct maps_record *r);
/* Knows all processes that run already; records that are older than what it finds are ignored. */
bool maps_read_running(struct maps *m, struct err *e);

struct maps_place {
	uint32_t image, process; /* the sink's numbers */
	uint64_t offset;
	uint32_t own; /* for maps_hit */
};
/* Where an address of a process lay after all records so far. Never fails: what is not known is in
 * the image of kind LIVE_UNKNOWN, or in LIVE_ANON for executable memory without a file. */
struct maps_place maps_find(struct maps *m, struct maps_space space, uint64_t address);
struct maps_place maps_find_kernel(struct maps *m, struct maps_space space, uint64_t address);
/* The same for an address that was executed at that time, which may lie before some of the records,
 * but not before the last maps_forget. 0: after all records. */
struct maps_place maps_find_at(struct maps *m, struct maps_space space, uint64_t address,
			       uint64_t time_ns);
/* What a source knows of a process beyond the side-band; cgroup: its id in cgroup v2, 0: unknown. The name is
 * taken where no record had one: of kernel threads, say. */
void maps_tell(struct maps *m, struct maps_space space, uint32_t uid, uint64_t cgroup,
	       const char *name);
/* The sink's number of a thread of a process, which began at thread_ns since boot. */
uint32_t maps_thread(struct maps *m, struct maps_space space, int32_t tid, uint64_t thread_ns,
		     const char *name);
/* For a source that asks for an image once and counts at other offsets of it: place is what
 * maps_find gave, with such an offset. Without this, functions of images that will not be found
 * again are not kept. Cheap: most images need nothing. */
void maps_hit(struct maps *m, const struct maps_place *place);
/* To be called before a cut: makes images known again, with the names and the hot code of those that
 * will not be found later. */
void maps_publish(struct maps *m);
/* Forgets what ended before the time, so that memory does not grow. Counts of before then must have
 * been asked for. */
void maps_forget(struct maps *m, uint64_t time_ns);
/* The same between two cuts, for processes of which nothing will be asked any more: not those of these
 * pids, which are sorted, and none with generated code, whose names are kept at a cut. */
void maps_forget_ended(struct maps *m, uint64_t time_ns, const int32_t *pids, size_t n);
/* Whether the process with this pid is the only one so far, runs, and has not executed another program. */
bool maps_goes_on(const struct maps *m, int32_t pid);

/* Whether anything is known of this pid. */
bool maps_knows(const struct maps *m, int32_t pid);
/* Marks the sink's numbers that may be given again. */
struct held;
void maps_hold(const struct maps *m, struct held *h);

struct maps_status {
	uint64_t spaces, images, mappings, memory_bytes;
	uint64_t records, ignored; /* ignored: older than what is known, or senseless */
	double load_cpu_s;	   /* processor time of other processes on its behalf */
};
struct maps_status maps_status(const struct maps *m);
/* One line for each thing that this machine or user does not let it see. */
const char *const *maps_notes(const struct maps *m, size_t *n);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The inside of a guest process, made of parts that belong to the files of guest/. Only these files
 * include it.
 */
#ifndef GUEST_PROCESS_PROCESS_H
#define GUEST_PROCESS_PROCESS_H

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include "guest/engine/engine.h"
#include "guest/files/fd.h"
#include "guest/files/files.h"
#include "guest/files/input.h"
#include "guest/files/path.h"
#include "guest/files/view.h"
#include "guest/guest.h"
#include "guest/kernel/clock.h"
#include "guest/kernel/sched.h"
#include "guest/kernel/signal.h"
#include "guest/memory/mem.h"
#include "guest/process/exec.h"
#include "guest/process/fork.h"
#include "guest/process/limits.h"
#include "util/util.h"

#define GUEST_UID 1000

struct guest {
	/* what guest_step touches for every instruction */
	struct engine *engine;
	struct thread *cur;
	uint64_t insts;
	uint64_t event_at; /* when insts reaches it, guest_settle must look */
	uint64_t cycles;
	uint64_t event_cycles;
	bool cycle_mode;
	bool stalled; /* every thread waits: guest_settle was interrupted */
	volatile sig_atomic_t interrupted;
	uint64_t tick_base;
	uint8_t *touched;	      /* see guest_touched; NULL: nobody wants to know */
	void (*on_kernel)(void *ctx); /* see guest_on_kernel */
	void *on_kernel_ctx;

	/* parts by owner: the header that declares a part says which file that is */
	struct guest_config config;
	struct guest_mem mem;
	struct rng rng;
	struct sched sched;
	struct signals signals;
	struct clock clock;
	struct program program;
	struct family family;
	struct path_world world;
	struct view *view; /* NULL: the guest changes the host's files */
	struct notes notes;
	struct streams streams;
	struct fd_entry *fds; /* fd.c */
	size_t nfds;
	struct listing *listings; /* listing.c */
	size_t nlistings;
	struct guest_image *images; /* image.c */
	size_t nimages;
	struct image_file *image_files; /* image.c: files of code that has run, with vectors */
	size_t nimage_files;
	bool vectors;
	struct guest_limits limit[RLIM_NLIMITS]; /* limits.c */
	uint64_t
	    data_before; /* bytes of this process when memory began to be limited; 0: not yet */

	/* shared with the tree */
	struct proc_table *procs; /* procs.c */
	int shared_fd;		  /* a file without a name: locks of procs.c, memory of sys_shm.c */
	int pid_base, pid, ppid;
	bool baton;	       /* this process holds it (baton.c) */
	struct ipc_table *ipc; /* ipc.c */
	bool ipc_look;	       /* what a thread of this process waits for has changed */

	uint32_t umask_value;
	uint64_t personality;
	bool ended;
	int wait_status; /* as wait4 reports it */
	int exit_status;
	uint8_t named[512 / 8];	      /* unknown system calls that were already named */
	struct saved_files *saved;    /* guest/checkpoint/content.c; NULL: none */
	struct input_digests *inputs; /* guest/checkpoint/input.c; NULL: none yet */
};

/* The result of a host call as a system call returns it. */
static inline int64_t ret_errno(int64_t r)
{
	return r < 0 ? -errno : r;
}

/* touched.c */
void touched_free(struct guest *g);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The sampling program in the kernel (sample.bpf.c), loaded: its descriptors, the memory that it
 * shares with this process, and the swap of its tables.
 */
#ifndef COLLECT_PROGRAM_H
#define COLLECT_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/sample.h"
#include "util/util.h"

#define PROGRAM_FDS (7 + SAMPLE_EVENTS)

struct program_options {
	uint32_t table_entries; /* per processor; 0: the default */
	uint32_t ring_bytes;	/* 0: the default */
	uint32_t count_max;	/* of one entry; 0: the default */
	uint32_t nevents;
	bool processes, threads, stacks, edges;
	bool trace; /* every sample goes to the ring by itself, with its time */
};

struct program {
	int fds[PROGRAM_FDS]; /* of all programs and maps; the ones below are among them */
	size_t nfds;
	int sample_fd[SAMPLE_EVENTS]; /* the program of each event */
	int empty_fd, cut_fd, table_fd, images_fd, ring_fd;
	uint32_t cpus;		/* processors that the tables have room for */
	uint32_t buckets[2];	/* of the large and the small table of each */
	struct sample_cpu *cpu; /* [cpus] */
	struct sample_shared *shared;
	size_t cpu_bytes;
	uint64_t memory_bytes; /* in the kernel */
	double load_cpu_s;     /* processor time of the loader */
};

bool program_load(struct program *p, const struct program_options *o, struct err *e);
void program_unload(struct program *p);
/* Swaps the tables of a processor. When it returns true, no handler uses the old one (number *old). */
bool program_cut(struct program *p, uint32_t cpu, uint32_t *old, struct err *e);
/* Calls fn for every entry in some buckets of a table that no handler uses, and frees the entry. */
bool program_drain(struct program *p, uint32_t cpu, uint32_t which, uint32_t from, uint32_t count,
		   void (*fn)(void *self, uint32_t cpu, const struct sample_entry *e), void *self,
		   struct err *e);
/* Forgets all images: they are announced anew with new numbers. */
void program_forget_images(struct program *p);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A guest process in a checkpoint. guest.h has what others call (guest_save, guest_restore,
 * guest_can_save); here is how it is made up, for the files of guest/checkpoint alone.
 *
 * A checkpoint is a file of sections (state/file.h). guest_save writes them, and guest_restore reads
 * them, in this order, each with ONE function that walks it in both directions:
 *
 *	process      program, arguments, folder, ids, limits, random numbers, counters   process.c
 *	signals      actions, signals pending for the process                            signals.c
 *	clock        skipped time, timers                                                clock.c
 *	ipc          System V segments, semaphores and queues                              ipc.c
 *	descriptors  what is behind each descriptor, files written so far            descriptors.c
 *	memory       regions and their pages                                              memory.c
 *	threads      registers, waits, masks, pending signals; who runs next             threads.c
 *	about        what the checkpoint is of, for those who only look at it               about.c
 *
 * Another part adds its section with state_file_section(f, NAME): the core's is "core". A section
 * that a reader does not know is skipped; one that it needs and that is missing is an error.
 *
 * While a section is read, what stands above it in the list is in place, and what is below is not:
 * descriptors find sysroot, folder, ids and timers restored (the host_fd of a TIMER_FD timer is -1
 * until checkpoint_descriptors sets it), but no memory and no thread; memory finds the descriptors,
 * so that it can map the files behind them; threads turn the host descriptors that a blocked call
 * waits for into numbers of the guest and back.
 *
 * Large content (pages, the bytes of a file or of a pipe) goes through state_piece in pieces of at most
 * CHECKPOINT_PIECE bytes: the checkpoints of one folder keep equal pieces once. Everything else is in
 * the section itself. Nothing of the host is written: no descriptor, path, device or inode number.
 */
#ifndef GUEST_CHECKPOINT_CHECKPOINT_H
#define GUEST_CHECKPOINT_CHECKPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "state/state.h"
#include "util/digest.h"

struct guest;
struct state_source;

#define CHECKPOINT_PIECE (64u << 10)
/* What is read is at most this: above it a checkpoint is absurd. */
#define CHECKPOINT_TEXT	   (1u << 20) /* bytes of a path, an argument */
#define CHECKPOINT_TEXTS   (1u << 20) /* arguments, variables */
#define CHECKPOINT_REGIONS (1u << 16)
#define CHECKPOINT_THREADS (1u << 16)
#define CHECKPOINT_TIMERS  (1u << 16)
#define CHECKPOINT_SIGNALS (1u << 16)
#define CHECKPOINT_WAITS   (1u << 16) /* descriptors that one call waits for */

struct state_file;
/* Reads all sections into a guest that has memory, engine and path_world, and nothing else. */
bool checkpoint_load(struct guest *g, struct state_file *f, struct err *e);

/* Files that the guest has made, changed and removed (content.c). First, so that all others find them. */
void checkpoint_content(struct guest *g, struct state *s);
/* All is restored: forgets the numbers of files. */
void checkpoint_files_done(struct guest *g);
void checkpoint_process(struct guest *g, struct state *s);
void checkpoint_ipc(struct guest *g, struct state *s);
void checkpoint_signals(struct guest *g, struct state *s);
void checkpoint_clock(struct guest *g, struct state *s);
/* source: where the pages of a checkpoint that is read come from; NULL: it has none. */
void checkpoint_memory(struct guest *g, struct state *s, struct state_source *source);
void checkpoint_threads(struct guest *g, struct state *s);
#define CHECKPOINT_ABOUT "about"
void checkpoint_about(struct guest *g,
		      struct state *s); /* only written: guest_saved_read reads it */

/*
 * Descriptors and files (descriptors.c, content.c). Walks g->fds, listings, streams, notes and the
 * content of files that the guest has written. What cannot be saved or restored: state_fail with one
 * line that names the descriptor and what it is.
 */
void checkpoint_descriptors(struct guest *g, struct state *s);
/* Whether checkpoint_descriptors would succeed in writing; false and e says what cannot be saved.
 * Fast: nothing is read or written. */
bool checkpoint_can_descriptors(struct guest *g, struct err *e);

/*
 * Files that are mapped. While writing, after checkpoint_descriptors: the number of the file that it has
 * saved (open, unlinked, memfd, or written by the guest), by what stat says on the host; 0 if it knows
 * no such file, which then has not been changed by the guest and is named by path and digest
 * (checkpoint_input).
 */
uint32_t checkpoint_file_number(struct guest *g, uint64_t dev, uint64_t ino);
/* While reading: a host descriptor of that file as it was at the checkpoint, the caller's to close, for
 * reading and, if it may be, writing; -1: there is none of that number. */
int checkpoint_file_open(struct guest *g, uint32_t number);

/*
 * Input: a file that the guest reads and has not changed (program, library, data). Written: its path as
 * the guest knows it, its size and the digest of its content, which is taken of the open file fd. Read:
 * the file is looked for under that path in the guest's name space, and must have that digest; *fd is then
 * open for reading, the caller's to close. If not: -1 and state_fail, whose line names the file. Digests
 * are kept for the life of the guest, so that many checkpoints take each but once.
 */
void checkpoint_input(struct guest *g, struct state *s, char **path, int *fd);

#endif

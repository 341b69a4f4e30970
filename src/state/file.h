/* SPDX-License-Identifier: MIT */
/*
 * The file of a checkpoint: named sections of saved state (state.h), and a folder's pool of pieces that its
 * checkpoints share. docs/checkpoint-format.md describes the bytes.
 *
 * A checkpoint is written whole, or not at all (util/output.h). Each section, and each frame of the pool that
 * the checkpoint needs, has a checksum in it, and the whole file has one. Pieces are read when they are
 * needed: opening a checkpoint of any size reads its own sections only.
 */
#ifndef STATE_FILE_H
#define STATE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "state/state.h"
#include "util/util.h"

#define STATE_FILE_SUFFIX ".checkpoint"

/* Pieces of the checkpoints in one folder. Counted: each holder closes it. */
struct state_pool;
/* To add to: the folder is made if it is not there. One process at a time adds; another waits for it. */
struct state_pool *state_pool_open(const char *folder, struct err *e);
void state_pool_close(struct state_pool *p);

struct state_file;
/* For writing; pool NULL: pieces go into the sections. The pool stays the caller's. */
struct state_file *state_file_new(struct state_pool *pool);
/* For reading. NULL and e: damaged, of a later version, or no checkpoint. */
struct state_file *state_file_open(const char *path, struct err *e);
void state_file_free(struct state_file *f);

/*
 * The section of that name: of a file for writing, a new writer; of a file for reading, a reader, or NULL if
 * there is none. It belongs to the file. A name has at most STATE_NAME_MAX letters.
 */
#define STATE_NAME_MAX 31
struct state *state_file_section(struct state_file *f, const char *name);
/* Writes the file under its name once all sections are walked. False and e if a section failed, or the file
 * cannot be written. */
bool state_file_write(struct state_file *f, const char *path, struct err *e);

/* What a file has: the index-th section; false if there are fewer. */
struct state_file_part {
	const char *name;
	unsigned version;
	uint64_t bytes, packed_bytes;
};
bool state_file_part(const struct state_file *f, size_t index, struct state_file_part *out);
/* The state of that section, of a file for writing. */
struct state *state_file_state(const struct state_file *f, size_t index);
/* Bytes of the pool that the checkpoint uses, packed and unpacked. */
void state_file_pieces(const struct state_file *f, uint64_t *bytes, uint64_t *packed_bytes);

/* Of a file for reading: its pieces by number, for as long as the caller holds them; also after the file was
 * freed or deleted. NULL if it has none. */
struct state_source;
struct state_source *state_file_source(struct state_file *f);
void state_source_free(struct state_source *p);
/* Fills data with `bytes` bytes of piece `id`. Keeps the last few frames, so neighbours are cheap. Needs no
 * memory of the heap, so that a signal handler may call it; not by two threads at once. */
bool state_source_get(struct state_source *p, uint64_t id, void *data, size_t bytes, struct err *e);

/* Whether the `bytes` bytes from `id` on are all there, in pieces of piece_bytes each. Nothing is read. */
bool state_source_has(const struct state_source *p, uint64_t id, uint64_t bytes,
		      size_t piece_bytes);

#endif

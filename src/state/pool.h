/* SPDX-License-Identifier: MIT */
/* The pool of pieces behind the checkpoints of one folder, for file.c: see pool.c. */
#ifndef STATE_POOL_H
#define STATE_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "state/file.h"

#define STATE_FILE_VERSION 1
#define STATE_POOL_NAME	   "pages.pool"
/* Bytes of a frame, unpacked; no piece is longer. */
#define STATE_FRAME_MAX (64u << 10)

/* A checksum against damage, not against an enemy; the same on every host. */
uint64_t state_sum(const void *data, size_t bytes);

/* A new checkpoint begins: state_pool_frames lists what is put from here on. */
void state_pool_begin(struct state_pool *p);
struct state_pieces state_pool_pieces(struct state_pool *p);
/* Everything that was put is in the file afterwards. */
bool state_pool_flush(struct state_pool *p, struct err *e);
/* Writes the list of frames that the present checkpoint uses. */
void state_pool_frames(struct state_pool *p, struct state *s);

/* Frames of that list in the pool beside the checkpoint `path`. */
struct state_source *state_source_new(const char *path, struct state *frames, struct err *e);
struct state_source *state_source_ref(struct state_source *p);
void state_source_size(const struct state_source *p, uint64_t *bytes, uint64_t *packed_bytes);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Saved state, field by field. A part of the guest or of the core that can be saved has ONE function
 * that walks its fields; the same function writes them and reads them, so the two cannot disagree:
 *
 *	static void clock_state(struct state *s, struct clock *c)
 *	{
 *		state_u64(s, &c->skip_ns);
 *		c->ntimers = state_count(s, c->ntimers, TIMERS_MAX);
 *		…
 *	}
 *
 * What is read is hostile: every count has a limit, and the first thing that is wrong stays (state_ok,
 * state_error). From then on reading gives zeros, and writing does nothing. Numbers are little-endian
 * and of fixed size: another host reads them alike. Nothing of the host goes in: no descriptor, pointer,
 * path or inode of it, no bytes of a host structure.
 */
#ifndef STATE_STATE_H
#define STATE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/util.h"

struct state;

/* Where pieces go that several checkpoints may share (state_piece). */
struct state_pieces {
	/* Keeps n bytes; the number by which they are found again. */
	bool (*put)(void *ctx, const void *data, size_t bytes, uint64_t *id, struct err *e);
	/* Fills data with the n bytes of that number. */
	bool (*get)(void *ctx, uint64_t id, void *data, size_t bytes, struct err *e);
	void *ctx;
};

/* For writing. pieces (NULL: pieces go into the bytes themselves) stays the caller's. */
struct state *state_writer(const struct state_pieces *pieces);
/* For reading bytes, which stay the caller's, and were written in version `version`. */
struct state *state_reader(const void *bytes, size_t count, unsigned version,
			   const struct state_pieces *pieces);
void state_free(struct state *s);

bool state_reading(const struct state *s);
/* The version that the bytes were written in; of a writer, STATE_VERSION. A field that was added in
 * version 2 is walked `if (state_version(s) >= 2)`. */
#define STATE_VERSION 1
unsigned state_version(const struct state *s);
bool state_ok(const struct state *s);
/* What went wrong first; "" if nothing did. */
const char *state_error(const struct state *s);
/* Something is wrong with what was read, or cannot be saved: one line for the user. */
void state_fail(struct state *s, const char *fmt, ...) PRINTF(2, 3);
/* What was written so far. */
const void *state_bytes_written(const struct state *s, size_t *count);
/* Of a reader: nothing is left, else state_fail. Of a writer: nothing. */
void state_end(struct state *s);

void state_bool(struct state *s, bool *v);
void state_u8(struct state *s, uint8_t *v);
void state_u16(struct state *s, uint16_t *v);
void state_u32(struct state *s, uint32_t *v);
void state_u64(struct state *s, uint64_t *v);
void state_i32(struct state *s, int *v);
void state_i64(struct state *s, int64_t *v);
void state_double(struct state *s, double *v);
/* An enum or index: what is read is below `limit`, else state_fail. */
uint32_t state_below(struct state *s, uint32_t v, uint32_t limit);
/* How many of something follow: what is read is at most `limit`, else state_fail and 0. */
size_t state_count(struct state *s, size_t n, size_t limit);
/* A text, or NULL; what is read is allocated, without a zero inside, and at most `limit` long. The old
 * *text is not freed. */
void state_text(struct state *s, char **text, size_t limit);
/* Exactly `bytes` bytes that are no structure of the host: memory of the guest, a buffer. */
void state_raw(struct state *s, void *data, size_t bytes);
/* The same for content that other checkpoints have, too; it is kept once. */
void state_piece(struct state *s, void *data, size_t bytes);
/* For content that is read later, or never (state_source_get of file.h): while writing, keeps data and gives the
 * number under which it is found; the caller walks that with state_u64. */
void state_keep(struct state *s, const void *data, size_t bytes, uint64_t *id);
/* A word that separates parts, so that a mistake is found where it is: what is read is equal, else
 * state_fail. */
void state_mark(struct state *s, const char *word);

/* A list of structs: STATE_LIST(s, array, count, limit, item) { walk *item } calls its body for each
 * element; while reading, the array is allocated anew (zeroed), and never larger than what was read. */
void *state_list_room(struct state *s, void *array, size_t index, size_t count, size_t bytes);
#define STATE_LIST(s, array, count, limit, item)                                                   \
	if ((count) = state_count((s), (count), (limit)), state_reading(s))                        \
		(array) = NULL;                                                                    \
	for (size_t item##_at_ = 0;                                                                \
	     item##_at_ < (count) &&                                                               \
	     ((array) = state_list_room((s), (array), item##_at_, (count), sizeof(*(array))),      \
	     state_ok(s) || ((count) = item##_at_, false));                                        \
	     item##_at_++)                                                                         \
		for (__typeof__(&(array)[0]) item = &(array)[item##_at_]; item; item = NULL)

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Packs: counts, stacks, edges, symbols and code as bytes. Numbers are varints, offsets are
 * differences to the one before; the whole is compressed by zstd where that makes it smaller. The
 * first byte says how. Unpacking takes nothing for granted: a pack may come from anybody.
 */
#ifndef COLLECT_DB_PACK_H
#define COLLECT_DB_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/live.h"

#define DB_PACK_MAX_BYTES (1u << 26) /* of one pack, unpacked */

struct db_bytes {
	uint8_t *data;
	size_t size, capacity;
};
void db_bytes_free(struct db_bytes *b);

struct db_count {
	uint64_t offset, count;
};

/* Each replaces the content of out. Counts are by offset, each offset once. */
void db_pack_counts(const struct db_count *c, size_t n, struct db_bytes *out);
void db_pack_stacks(const struct live_stack *s, size_t n, struct db_bytes *out);
void db_pack_edges(const struct live_edge *x, size_t n, struct db_bytes *out);
void db_pack_symbols(const struct live_symbol *s, size_t n, struct db_bytes *out);
void db_pack_code(const struct live_code *c, size_t n, struct db_bytes *out);

/* Each gives false if the bytes are not what the function above makes. The caller frees the array;
 * on failure there is none. */
bool db_unpack_counts(const uint8_t *data, size_t size, struct db_count **out, size_t *n);
bool db_unpack_edges(const uint8_t *data, size_t size, struct live_edge **out, size_t *n);
/* Symbols and code with what they point to: db_symbols_free, db_code_free. */
bool db_unpack_symbols(const uint8_t *data, size_t size, struct live_symbol **out, size_t *n);
bool db_unpack_code(const uint8_t *data, size_t size, struct live_code **out, size_t *n);
void db_symbols_free(struct live_symbol *s, size_t n);
void db_code_free(struct live_code *c, size_t n);
/* Calls `each` for every stack; process and event are 0. */
bool db_unpack_stacks(const uint8_t *data, size_t size,
		      void (*each)(void *self, const struct live_stack *s), void *self);

#endif

/* SPDX-License-Identifier: MIT */
/* The two ways in which a JIT compiler tells what it has generated: perf maps and jitdump files. */
#ifndef COLLECT_JIT_FILES_H
#define COLLECT_JIT_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JIT_NAME_BYTES 512 /* longer names are cut */

/* A function that was generated; names end within name_bytes and have no zero inside. */
struct jit_load {
	uint64_t start, size_bytes;
	const char *name;
	size_t name_bytes;
	uint64_t code_at; /* in the jitdump; 0: the file has no code */
};
typedef void jit_found(void *self, const struct jit_load *l);

/* Reads the complete lines "START SIZE name" (hexadecimal) of a part of a perf map; returns how many
 * bytes they take. Lines that are none are passed over. */
size_t jit_parse_map(const char *text, size_t size_bytes, jit_found *found, void *self);

/* Reads the records of a jitdump from *at (0: its start) to its end, or at most limit_bytes; sets *at
 * to what follows. Moved code is reported as loaded again. False: this is no jitdump. */
bool jit_read_dump(int fd, uint64_t *at, uint64_t limit_bytes, jit_found *found, void *self);

#endif

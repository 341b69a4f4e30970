/* SPDX-License-Identifier: MIT */
/*
 * The bytes of a trace file outside of its blocks' payloads, as docs/trace-format.md describes
 * them. All numbers are little endian. Private to trace/file*.
 */
#ifndef TRACE_FILE_FORMAT_H
#define TRACE_FILE_FORMAT_H

#include <stdint.h>
#include <string.h>

#include "trace/file.h"
#include "trace/file_codec.h"
#include "trace/file_read.h"

#define TRACE_MAGIC                                                                                \
	"\x89"                                                                                     \
	"CTR\r\n\x1a\n"
#define TRACE_END_MAGIC	  "CTREND\r\n"
#define TRACE_VERSION	  3	      /* 1 in files without misses and without a twin */
#define TRACE_HEAD_BYTES  16	      /* magic, version, zero */
#define TRACE_FOOT_BYTES  24	      /* offset of the index, its complement, magic */
#define BLOCK_MAGIC	  0x4b4c4243u /* "CBLK" */
#define BLOCK_HEAD_BYTES  64
#define BLOCK_PAYLOAD_MAX (1u << 28)
#define INFO_TEXT_MAX	  (1u << 27)
#define INDEX_ENTRY_BYTES 56

enum block_kind {
	BLOCK_INFO = 1, /* what trace_info says; the last one counts */
	BLOCK_RECORDS,
	BLOCK_INDEX,
};

struct block_head {
	uint32_t kind;
	uint32_t ninsts, ncycles;
	uint64_t payload_bytes;
	uint64_t checksum; /* of the head with this field zero, then of the payload */
	uint64_t first_cycle, end_cycle;
	uint64_t first_po, end_po; /* of committed instructions; equal: there are none */
};

static inline void put_u32(uint8_t *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}
static inline void put_u64(uint8_t *p, uint64_t v)
{
	for (int i = 0; i < 8; i++)
		p[i] = (uint8_t)(v >> 8 * i);
}
static inline uint32_t get_u32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}
static inline uint64_t get_u64(const uint8_t *p)
{
	return (uint64_t)get_u32(p) | (uint64_t)get_u32(p + 4) << 32;
}

/* file_block.c. The checksum takes eight bytes at a time: xor, multiply, fold. It does not protect
 * against forgery. */
uint64_t trace_checksum(uint64_t start, const uint8_t *data, size_t size);

void block_head_put(uint8_t out[BLOCK_HEAD_BYTES], struct block_head *h, const uint8_t *payload);
/* False if these bytes are not the head of a block, or of an impossible one. */
bool block_head_get(const uint8_t in[BLOCK_HEAD_BYTES], struct block_head *h);
bool block_check(const uint8_t head[BLOCK_HEAD_BYTES], const uint8_t *payload, size_t size);

/* An index entry: to bytes, from bytes, and from a block's head. */
void index_entry_put(uint8_t out[INDEX_ENTRY_BYTES], const struct trace_block *b);
struct trace_block index_entry_get(const uint8_t in[INDEX_ENTRY_BYTES]);
struct trace_block block_entry(uint64_t offset, const struct block_head *h);

/* file_info.c: a trace_info as lines of text. */
void info_write(const struct trace_info *info, struct bytes *out);
/* info_pack compresses the bytes after `from` in place. info_unpack returns new memory; NULL if the
 * data are not packed info. */
void info_pack(struct bytes *b, size_t from);
uint8_t *info_unpack(const uint8_t *data, size_t size, size_t *unpacked_size);
/* A parsed info owns its strings. */
struct info_copy {
	struct trace_info info;
	struct trace_setting *settings;
	struct trace_image *images;
	struct trace_counter *counters;
	struct trace_wait *waits;
	struct machine *machine;
	char *text;
};
bool info_parse(const uint8_t *text, size_t size, struct info_copy *out);
void info_free(struct info_copy *c);

#endif

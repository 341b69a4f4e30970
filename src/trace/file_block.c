/* SPDX-License-Identifier: MIT */
/* Encodes and decodes the fixed-size parts of a trace file: heads of blocks with their checksums,
 * and entries of the index. */
#include "trace/file_format.h"

uint64_t trace_checksum(uint64_t start, const uint8_t *data, size_t size)
{
	uint64_t h = start ^ (size * 0x9e3779b97f4a7c15ull);
	for (; size >= 8; data += 8, size -= 8) {
		h = (h ^ get_u64(data)) * 0xff51afd7ed558ccdull;
		h ^= h >> 32;
	}
	uint8_t rest[8] = { 0 };
	if (size)
		memcpy(rest, data, size);
	return hash_u64(h ^ get_u64(rest));
}

void block_head_put(uint8_t out[BLOCK_HEAD_BYTES], struct block_head *h, const uint8_t *payload)
{
	put_u32(out, BLOCK_MAGIC);
	put_u32(out + 4, h->kind);
	put_u32(out + 8, h->ninsts);
	put_u32(out + 12, h->ncycles);
	put_u64(out + 16, h->payload_bytes);
	put_u64(out + 24, 0);
	put_u64(out + 32, h->first_cycle);
	put_u64(out + 40, h->end_cycle);
	put_u64(out + 48, h->first_po);
	put_u64(out + 56, h->end_po);
	h->checksum = trace_checksum(trace_checksum(0, out, BLOCK_HEAD_BYTES), payload,
				     (size_t)h->payload_bytes);
	put_u64(out + 24, h->checksum);
}

bool block_head_get(const uint8_t in[BLOCK_HEAD_BYTES], struct block_head *h)
{
	*h = (struct block_head){ .kind = get_u32(in + 4),
				  .ninsts = get_u32(in + 8),
				  .ncycles = get_u32(in + 12),
				  .payload_bytes = get_u64(in + 16),
				  .checksum = get_u64(in + 24),
				  .first_cycle = get_u64(in + 32),
				  .end_cycle = get_u64(in + 40),
				  .first_po = get_u64(in + 48),
				  .end_po = get_u64(in + 56) };
	return get_u32(in) == BLOCK_MAGIC && h->kind >= BLOCK_INFO && h->kind <= BLOCK_INDEX &&
	       h->ninsts <= CODEC_INSTS_MAX && h->ncycles <= CODEC_CYCLES_MAX &&
	       h->payload_bytes <= BLOCK_PAYLOAD_MAX;
}

bool block_check(const uint8_t head[BLOCK_HEAD_BYTES], const uint8_t *payload, size_t size)
{
	uint8_t plain[BLOCK_HEAD_BYTES];
	memcpy(plain, head, sizeof(plain));
	put_u64(plain + 24, 0);
	return trace_checksum(trace_checksum(0, plain, sizeof(plain)), payload, size) ==
	       get_u64(head + 24);
}

void index_entry_put(uint8_t out[INDEX_ENTRY_BYTES], const struct trace_block *b)
{
	put_u64(out, b->offset);
	put_u64(out + 8, b->first_cycle);
	put_u64(out + 16, b->end_cycle);
	put_u64(out + 24, b->first_po);
	put_u64(out + 32, b->end_po);
	put_u32(out + 40, b->ninsts);
	put_u32(out + 44, b->ncycles);
	put_u64(out + 48, b->payload_bytes);
}

struct trace_block index_entry_get(const uint8_t in[INDEX_ENTRY_BYTES])
{
	return (struct trace_block){ .offset = get_u64(in),
				     .first_cycle = get_u64(in + 8),
				     .end_cycle = get_u64(in + 16),
				     .first_po = get_u64(in + 24),
				     .end_po = get_u64(in + 32),
				     .ninsts = get_u32(in + 40),
				     .ncycles = get_u32(in + 44),
				     .payload_bytes = get_u64(in + 48) };
}

struct trace_block block_entry(uint64_t offset, const struct block_head *h)
{
	return (struct trace_block){ .offset = offset,
				     .first_cycle = h->first_cycle,
				     .end_cycle = h->end_cycle,
				     .first_po = h->first_po,
				     .end_po = h->end_po,
				     .ninsts = h->ninsts,
				     .ncycles = h->ncycles,
				     .payload_bytes = h->payload_bytes };
}

/* SPDX-License-Identifier: MIT */
/* Reading trace files, block by block, from anywhere. */
#ifndef TRACE_FILE_READ_H
#define TRACE_FILE_READ_H

#include "trace/file.h"

struct trace_reader;

struct trace_block {
	uint64_t offset; /* in the file */
	uint64_t first_cycle, end_cycle;
	uint64_t first_po, end_po; /* committed instructions; equal: none */
	uint64_t payload_bytes;
	uint32_t ninsts, ncycles;
};

/* Records of a block; the memory is the reader's, valid until the next read. */
struct trace_records {
	struct rec_inst *insts;
	struct rec_cycle *cycles;
	const struct rec_miss *misses;
	const struct rec_twin *twins;
	size_t ninsts, ncycles, nmisses, ntwins;
};

/*
 * Opens a trace. A file that is truncated or damaged is an error, unless salvage: then its readable
 * blocks are used, and trace_reader_damage says what is missing. A file of a future version is an
 * error always.
 */
struct trace_reader *trace_reader_open(const char *path, bool salvage, struct err *e);
/* Opens a trace in memory, which stays the caller's; name is for messages. */
struct trace_reader *trace_reader_open_memory(const uint8_t *data, size_t size, const char *name,
					      bool salvage, struct err *e);
void trace_reader_close(struct trace_reader *r);

const struct trace_info *trace_reader_info(const struct trace_reader *r);
/* "" if the file is whole, else what was left out. */
const char *trace_reader_damage(const struct trace_reader *r);
size_t trace_reader_blocks(const struct trace_reader *r);
const struct trace_block *trace_reader_block(const struct trace_reader *r, size_t index);
/* The first block that ends after this cycle, or this committed instruction; the number of blocks
 * if there is none. */
size_t trace_reader_find_cycle(const struct trace_reader *r, uint64_t cycle);
size_t trace_reader_find_inst(const struct trace_reader *r, uint64_t po);
/* Reads a block. False and e filled if it is damaged, which cannot happen with salvage. */
bool trace_reader_read(struct trace_reader *r, size_t index, struct trace_records *out,
		       struct err *e);

#endif

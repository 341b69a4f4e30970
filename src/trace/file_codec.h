/* SPDX-License-Identifier: MIT */
/*
 * Codes the records of one block as columns of residuals. Private to trace/file*.
 *
 * Every field of a record has a prediction that depends only on earlier contents of the block. A
 * right prediction costs one zero bit in the record's mask; a wrong one costs a variable-length
 * number in the field's column. The same code walks a record to encode and to decode it, so that
 * the two cannot disagree.
 *
 * Instructions come first, then cycles: most of a cycle record follows from the stamps of the
 * instructions around it.
 */
#ifndef TRACE_FILE_CODEC_H
#define TRACE_FILE_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/record.h"
#include "util/util.h"

#define CODEC_INSTS_MAX	 65536 /* records in a block */
#define CODEC_CYCLES_MAX 65536
#define CODEC_MISSES_MAX 65536
#define CODEC_TWINS_MAX	 65536

struct codec;

struct codec *codec_new(const struct trace_meta *meta);
void codec_free(struct codec *c);
/* Reads blocks of version 2 of the format from now on: misses do not say who waited for them. */
void codec_read_version_2(struct codec *c);

/* Encoding: begin, any number of puts within the limits above, finish. */
void codec_begin(struct codec *c);
void codec_put_insts(struct codec *c, const struct rec_inst *insts, size_t count);
void codec_put_cycles(struct codec *c, const struct rec_cycle *cycles, size_t count);
/* Misses and twins are optional: a block without them is the same as in version 1 of the format. */
void codec_put_misses(struct codec *c, const struct rec_miss *misses, size_t count);
void codec_put_twins(struct codec *c, const struct rec_twin *twins, size_t count);
/* Puts committed instructions of which only the fields before the notes count. Such a block has no
 * other records. */
void codec_put_brief(struct codec *c, const struct rec_inst *const *insts, size_t count);
size_t codec_insts(const struct codec *c);
size_t codec_cycles(const struct codec *c);
/* The number of records that have been put; after decoding, the number and place of the block's. */
size_t codec_misses(const struct codec *c, const struct rec_miss **misses);
size_t codec_twins(const struct codec *c, const struct rec_twin **twins);

struct bytes {
	uint8_t *data;
	size_t size, capacity;
};
void bytes_reserve(struct bytes *b, size_t more);
void bytes_put(struct bytes *b, const void *data, size_t size);
void bytes_varint(struct bytes *b, uint64_t v);

/* Appends the block's payload to out. */
void codec_finish(struct codec *c, struct bytes *out);

/*
 * Decodes a payload into arrays of ninsts and ncycles records. False if that is not possible;
 * nothing is read or written out of bounds, whatever the bytes are.
 */
bool codec_decode(struct codec *c, const uint8_t *payload, size_t size, struct rec_inst *insts,
		  size_t ninsts, struct rec_cycle *cycles, size_t ncycles);

/* Bytes by column of all blocks finished so far, before and after compression; for tuning. */
struct codec_column_size {
	const char *name;
	uint64_t raw, stored;
};
size_t codec_sizes(const struct codec *c, const struct codec_column_size **sizes);

#endif

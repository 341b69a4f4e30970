/* SPDX-License-Identifier: MIT */
/*
 * Puts a block's payload together and takes it apart: the base cycle, then every column. Columns
 * are compressed (zstd) one by one, so that unlike statistics are not mixed, and only if that makes
 * them smaller.
 *
 *      varint base cycle
 *      per column: varint size, varint stored size, bytes      (equal sizes: not compressed)
 *
 * If there are records of misses or of a twin, their numbers follow as two varints, then their
 * columns.
 */
#include "trace/file_codec_int.h"

#include <stdlib.h>
#include <string.h>

#include "util/array.h"

/* The fastest of zstd's standard levels: columns of residuals are small already. */
#define ZSTD_LEVEL     1
#define COMPRESS_BYTES 32 /* smaller columns are stored as they are */
#define VARINT_MAX     10

void bytes_reserve(struct bytes *b, size_t more)
{
	ARRAY_ROOM(b->data, b->capacity, b->size + more);
}

void bytes_put(struct bytes *b, const void *data, size_t size)
{
	bytes_reserve(b, size);
	if (size)
		memcpy(b->data + b->size, data, size);
	b->size += size;
}

void bytes_varint(struct bytes *b, uint64_t v)
{
	bytes_reserve(b, VARINT_MAX);
	while (v >= 128) {
		b->data[b->size++] = (uint8_t)v | 128;
		v >>= 7;
	}
	b->data[b->size++] = (uint8_t)v;
}

/*
 * Writes a number of 128 or more. Its length cannot be predicted, so without branches up to 56 bits
 * are spread over eight bytes, and all eight are written. There is room: a column has VARINT_MAX
 * bytes for each of its numbers.
 */
void column_put_long(struct column *c, uint64_t v)
{
	while (unlikely(v >> 56)) {
		*c->at++ = (uint8_t)v | 128;
		v >>= 7;
	}
	/* the number of bits / 7, rounded up */
	const unsigned bytes = (9 * (64u - (unsigned)__builtin_clzll(v)) + 64) / 64;
	v = (v & 0x0fffffff) | (v & 0x0fffffffull << 28) << 4;
	v = (v & 0x00003fff00003fff) | (v & 0x0fffc0000fffc000) << 2;
	v = (v & 0x007f007f007f007f) | (v & 0x3f803f803f803f80) << 1;
	v |= 0x8080808080808080 & ((1ull << 8 * (bytes - 1)) - 1);
	memcpy(c->at, &v, sizeof(v)); /* the lowest byte comes first */
	c->at += bytes;
}

void codec_read_version_2(struct codec *c)
{
	c->version_2 = true;
}

static const char *const column_names[COLUMN_COUNT] = {
	[COLUMN_RUNS] = "runs",
	[COLUMN_INST_MASK] = "inst mask 0",
	"inst mask 1",
	"inst mask 2",
	"inst mask 3",
#define FIELD(id, ...) "inst " #id,
#define NOTE(id, ...)  "inst " #id,
#include "trace/inst_fields.def"
	[COLUMN_CYCLE_MASK] = "cycle mask 0",
	"cycle mask 1",
	"cycle mask 2",
	"cycle mask 3",
#define FIELD(id, ...) "cycle " #id,
#define GAP(id)	       "cycle " #id,
#include "trace/cycle_fields.def"
	[COLUMN_MISS_MASK] = "miss mask 0",
	"miss mask 1",
	"miss mask 2",
	"miss mask 3",
#define FIELD(id, ...) "miss " #id,
#include "trace/miss_fields.def"
	[COLUMN_TWIN_MASK] = "twin mask 0",
	"twin mask 1",
	"twin mask 2",
	"twin mask 3",
#define FIELD(id, ...) "twin " #id,
#include "trace/twin_fields.def"
};

/* Writes many masks at once: the compiler vectorises the loop. */
void masks_flush(struct codec *c, struct masks *m, unsigned first)
{
	const size_t count = m->count;
	for (unsigned k = 0; k < 4; k++) {
		uint8_t *restrict at = c->column[first + k].at;
		const uint32_t *restrict mask = m->mask;
		for (size_t i = 0; i < count; i++)
			at[i] = (uint8_t)(mask[i] >> 8 * k);
		c->column[first + k].at += count;
	}
	m->count = 0;
}

bool masks_get(struct codec *c, unsigned first, size_t count, struct mask_columns *out)
{
	for (unsigned k = 0; k < 4; k++) {
		struct column *column = &c->column[first + k];
		out->byte[k] = column->at;
		if ((size_t)(column->end - column->at) != count)
			return false;
		column->at = column->end;
	}
	return true;
}

struct codec *codec_new(const struct trace_meta *meta)
{
	struct codec *c = x_calloc(1, sizeof(*c));
	c->meta = *meta;
	c->statics = x_calloc(STATIC_SLOTS, sizeof(*c->statics));
	c->notes = x_calloc(STATIC_SLOTS, sizeof(*c->notes));
	c->flights = x_calloc(FLIGHT_SLOTS, sizeof(*c->flights));
	for (size_t i = 0; i < COLUMN_COUNT; i++)
		c->sizes[i].name = column_names[i];
	return c;
}

void codec_free(struct codec *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < COLUMN_COUNT; i++)
		if (c->column[i].capacity)
			free(c->column[i].base);
	ZSTD_freeCCtx(c->zc);
	ZSTD_freeDCtx(c->zd);
	free(c->unpacked);
	free(c->cycles);
	free(c->misses);
	free(c->twins);
	free(c->minis);
	free(c->statics);
	free(c->notes);
	free(c->flights);
	free(c->moments);
	free(c->by_seq);
	free(c->next_right);
	free(c->by_po);
	free(c);
}

/* Reserves memory for the worst block. Pages that are not written are never touched. */
static void open_columns(struct codec *c)
{
	const size_t most = CODEC_INSTS_MAX > CODEC_CYCLES_MAX ? CODEC_INSTS_MAX : CODEC_CYCLES_MAX;
	for (size_t i = 0; i < COLUMN_COUNT; i++) {
		struct column *k = &c->column[i];
		size_t bytes = most * VARINT_MAX * (i == COLUMN_RUNS ? 2 : 1);
		if (k->capacity < bytes) {
			if (k->capacity)
				free(k->base);
			k->capacity = bytes;
			k->base = x_malloc(bytes);
		}
		k->at = k->base;
	}
}

void codec_room(struct codec *c, size_t ninsts)
{
	if (ninsts <= c->room_insts)
		return;
	c->room_insts = ninsts;
	c->minis = x_realloc(c->minis, ninsts * sizeof(*c->minis));
	c->by_seq = x_realloc(c->by_seq, INDEX_FACTOR * ninsts * sizeof(*c->by_seq));
	c->next_right = x_realloc(c->next_right, INDEX_FACTOR * ninsts * sizeof(*c->next_right));
	c->by_po = x_realloc(c->by_po, INDEX_FACTOR * ninsts * sizeof(*c->by_po));
}

void codec_begin(struct codec *c)
{
	codec_room(c, CODEC_INSTS_MAX);
	if (!c->zc && !(c->zc = ZSTD_createCCtx()))
		die("out of memory");
	if (!c->cycles)
		c->cycles = x_malloc(CODEC_CYCLES_MAX * sizeof(*c->cycles));
	c->ninsts = c->ncycles = c->nmisses = c->ntwins = 0;
	open_columns(c);
	codec_inst_begin(c);
}

void codec_put_cycles(struct codec *c, const struct rec_cycle *cycles, size_t count)
{
	if (count)
		memcpy(c->cycles + c->ncycles, cycles, count * sizeof(*cycles));
	c->ncycles += count;
}

void codec_put_misses(struct codec *c, const struct rec_miss *misses, size_t count)
{
	ARRAY_ROOM(c->misses, c->misses_capacity, c->nmisses + count);
	if (count)
		memcpy(c->misses + c->nmisses, misses, count * sizeof(*misses));
	c->nmisses += count;
}

void codec_put_twins(struct codec *c, const struct rec_twin *twins, size_t count)
{
	ARRAY_ROOM(c->twins, c->twins_capacity, c->ntwins + count);
	if (count)
		memcpy(c->twins + c->ntwins, twins, count * sizeof(*twins));
	c->ntwins += count;
}

size_t codec_misses(const struct codec *c, const struct rec_miss **misses)
{
	if (misses)
		*misses = c->misses;
	return c->nmisses;
}

size_t codec_twins(const struct codec *c, const struct rec_twin **twins)
{
	if (twins)
		*twins = c->twins;
	return c->ntwins;
}

size_t codec_insts(const struct codec *c)
{
	return c->ninsts;
}

size_t codec_cycles(const struct codec *c)
{
	return c->ncycles;
}

static void pack_column(struct codec *c, size_t number, struct bytes *out)
{
	struct column *k = &c->column[number];
	size_t size = (size_t)(k->at - k->base), bound = ZSTD_compressBound(size), stored = size;
	bytes_reserve(out, bound + 2 * VARINT_MAX);
	uint8_t *room = out->data + out->size + 2 * VARINT_MAX;
	if (size > COMPRESS_BYTES) {
		size_t n = ZSTD_compressCCtx(c->zc, room, bound, k->base, size, ZSTD_LEVEL);
		if (!ZSTD_isError(n) && n < size)
			stored = n;
	}
	bytes_varint(out, size);
	bytes_varint(out, stored);
	if (stored < size)
		memmove(out->data + out->size, room, stored);
	else if (size)
		memcpy(out->data + out->size, k->base, size);
	out->size += stored;
	c->sizes[number].raw += size;
	c->sizes[number].stored += stored;
}

void codec_finish(struct codec *c, struct bytes *out)
{
	uint64_t base = c->ncycles ? c->cycles[0].cycle : 0;
	codec_inst_end(c);
	const bool more = c->nmisses || c->ntwins;
	if (c->ncycles || more)
		codec_index(c);
	codec_cycle_encode(c, base);
	bytes_varint(out, base);
	for (size_t i = 0; i < COLUMN_ALWAYS; i++)
		pack_column(c, i, out);
	if (!more)
		return;
	codec_miss_encode(c);
	codec_twin_encode(c);
	bytes_varint(out, c->nmisses);
	bytes_varint(out, c->ntwins);
	for (size_t i = COLUMN_ALWAYS; i < COLUMN_COUNT; i++)
		pack_column(c, i, out);
}

size_t codec_sizes(const struct codec *c, const struct codec_column_size **sizes)
{
	*sizes = c->sizes;
	return COLUMN_COUNT;
}

static bool read_varint(const uint8_t **at, const uint8_t *end, uint64_t *out)
{
	*out = 0;
	for (unsigned shift = 0; shift < 64 && *at < end; shift += 7) {
		uint8_t b = *(*at)++;
		*out |= (uint64_t)(b & 127) << shift;
		if (b < 128)
			return true;
	}
	return false;
}

struct packed {
	const uint8_t *data;
	size_t size, stored;
};

/* Finds the columns [first, last). False if one is larger than so many records can make it. */
static bool find_columns(struct packed *packed, unsigned first, unsigned last, const uint8_t **at,
			 const uint8_t *end, size_t records)
{
	for (size_t i = first; i < last; i++) {
		uint64_t size, stored;
		if (!read_varint(at, end, &size) || !read_varint(at, end, &stored) ||
		    size > 2 * VARINT_MAX * (records + 1) || stored > size ||
		    stored > (size_t)(end - *at))
			return false;
		packed[i] = (struct packed){ *at, size, stored };
		*at += stored;
	}
	return true;
}

static bool unpack_columns(struct codec *c, const struct packed *packed)
{
	size_t total = 0;
	for (size_t i = 0; i < COLUMN_COUNT; i++)
		total += packed[i].stored < packed[i].size ? packed[i].size : 0;
	if (total > c->unpacked_size) {
		free(c->unpacked);
		c->unpacked = x_malloc(total);
		c->unpacked_size = total;
	}
	uint8_t *room = c->unpacked;
	for (size_t i = 0; i < COLUMN_COUNT; i++) {
		struct column *k = &c->column[i];
		const struct packed *p = &packed[i];
		if (k->capacity) {
			free(k->base);
			k->capacity = 0;
		}
		k->base = k->at = (uint8_t *)p->data;
		if (p->stored < p->size) {
			size_t n = ZSTD_decompressDCtx(c->zd, room, p->size, p->data, p->stored);
			if (ZSTD_isError(n) || n != p->size)
				return false;
			k->base = k->at = room;
			room += p->size;
		}
		k->end = k->base + p->size;
	}
	return true;
}

/* Finds and unpacks all columns of a payload from `at` on, and reads the numbers of misses and
 * twins. */
static bool open_payload(struct codec *c, const uint8_t *at, const uint8_t *end, size_t records)
{
	struct packed packed[COLUMN_COUNT];
	const unsigned waits = COLUMN_MISS + M_WAITS;
	for (size_t i = 0; i < COLUMN_COUNT; i++)
		packed[i] = (struct packed){ end, 0, 0 };
	c->nmisses = c->ntwins = 0;
	if (!find_columns(packed, 0, COLUMN_ALWAYS, &at, end, records))
		return false;
	if (at != end) {
		uint64_t misses, twins;
		if (!read_varint(&at, end, &misses) || !read_varint(&at, end, &twins) ||
		    misses > CODEC_MISSES_MAX || twins > CODEC_TWINS_MAX || (!misses && !twins) ||
		    !find_columns(packed, COLUMN_ALWAYS, waits, &at, end, max_u64(misses, twins)) ||
		    !find_columns(packed, waits + c->version_2, COLUMN_COUNT, &at, end,
				  max_u64(misses, twins)))
			return false;
		ARRAY_ROOM(c->misses, c->misses_capacity, misses);
		ARRAY_ROOM(c->twins, c->twins_capacity, twins);
		c->nmisses = misses;
		c->ntwins = twins;
		if (misses)
			memset(c->misses, 0, misses * sizeof(*c->misses));
		if (twins)
			memset(c->twins, 0, twins * sizeof(*c->twins));
	}
	return at == end && unpack_columns(c, packed);
}

bool codec_decode(struct codec *c, const uint8_t *payload, size_t size, struct rec_inst *insts,
		  size_t ninsts, struct rec_cycle *cycles, size_t ncycles)
{
	const uint8_t *at = payload, *end = payload + size;
	uint64_t base;
	if (ninsts > CODEC_INSTS_MAX || ncycles > CODEC_CYCLES_MAX || !read_varint(&at, end, &base))
		return false;
	if (!c->zd && !(c->zd = ZSTD_createDCtx()))
		die("out of memory");
	c->ninsts = c->ncycles = 0;
	c->bad = false;
	if (!open_payload(c, at, end, max_u64(ninsts, ncycles)))
		return false;
	codec_room(c, ninsts);
	codec_inst_begin(c);
	if (!codec_inst_decode(c, insts, ninsts))
		return false;
	if (ncycles || c->nmisses || c->ntwins)
		codec_index(c);
	if (!codec_cycle_decode(c, cycles, ncycles, base) || !codec_miss_decode(c) ||
	    !codec_twin_decode(c))
		return false;
	/* Every byte of every column must have been used. */
	for (size_t i = 0; i < COLUMN_COUNT; i++)
		if (c->column[i].at != c->column[i].end)
			return false;
	return true;
}

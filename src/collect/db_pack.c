/* SPDX-License-Identifier: MIT */
/*
 * The bytes of packs. Columns apart (all offsets, then all counts): most counts are small and alike,
 * so that they compress apart from the offsets.
 */
#include "collect/db_pack.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "util/array.h"

enum { PACK_RAW, PACK_ZSTD };

#define STACK_FRAMES_MAX 4096

void db_bytes_free(struct db_bytes *b)
{
	free(b->data);
	*b = (struct db_bytes){ 0 };
}

static void put_bytes(struct db_bytes *b, const void *data, size_t size)
{
	ARRAY_ROOM(b->data, b->capacity, b->size + size);
	if (size)
		memcpy(b->data + b->size, data, size);
	b->size += size;
}

static void put(struct db_bytes *b, uint64_t x)
{
	uint8_t text[10];
	size_t n = 0;

	for (; x >= 0x80; x >>= 7)
		text[n++] = (uint8_t)(x | 0x80);
	text[n++] = (uint8_t)x;
	put_bytes(b, text, n);
}

/* Reads from bytes; `bad` once something was not there or too large. */
struct cursor {
	const uint8_t *at, *end;
	bool bad;
};

static uint64_t get(struct cursor *c)
{
	uint64_t x = 0;

	for (unsigned shift = 0; c->at < c->end && shift < 64; shift += 7) {
		const uint64_t bits = *c->at & 0x7f;

		if (bits << shift >> shift != bits)
			break;
		x |= bits << shift;
		if (!(*c->at++ & 0x80))
			return x;
	}
	c->bad = true;
	c->at = c->end;
	return 0;
}

/* A number of things that take at least each_bytes each in what is left. */
static size_t get_number(struct cursor *c, size_t each_bytes)
{
	const uint64_t n = get(c);

	if (n > (uint64_t)(c->end - c->at) / each_bytes)
		c->bad = true;
	return c->bad ? 0 : (size_t)n;
}

/* Compresses what is in out, if that makes it smaller, behind the byte that says so. */
static void finish(struct db_bytes *out)
{
	const size_t bound = ZSTD_compressBound(out->size);
	uint8_t *small = x_malloc(bound + 11);
	struct db_bytes head = { 0 };

	put(&head, out->size);
	small[0] = PACK_ZSTD;
	memcpy(small + 1, head.data, head.size);
	const size_t got = ZSTD_compress(small + 1 + head.size, bound, out->data, out->size, 6);

	if (!ZSTD_isError(got) && 1 + head.size + got < out->size + 1) {
		out->size = 0;
		put_bytes(out, small, 1 + head.size + got);
	} else {
		put_bytes(out, "", 1);
		memmove(out->data + 1, out->data, out->size - 1);
		out->data[0] = PACK_RAW;
	}
	free(small);
	db_bytes_free(&head);
}

/* What the bytes were before finish; *own is what the caller frees. */
static struct cursor begin(const uint8_t *data, size_t size, uint8_t **own)
{
	struct cursor c = { data + 1, data + size, false };

	*own = NULL;
	if (!size || (data[0] != PACK_RAW && data[0] != PACK_ZSTD))
		return (struct cursor){ data, data, true };
	if (data[0] == PACK_RAW)
		return c;
	const uint64_t raw = get(&c);

	/* zstd makes nothing more than a few thousand times smaller than it was. */
	if (c.bad || raw > DB_PACK_MAX_BYTES || raw / 65536 > size)
		return (struct cursor){ data, data, true };
	*own = x_malloc((size_t)raw + 1);
	if (ZSTD_decompress(*own, (size_t)raw, c.at, (size_t)(c.end - c.at)) != raw)
		return (struct cursor){ data, data, true };
	return (struct cursor){ *own, *own + raw, false };
}

static bool ended(struct cursor *c)
{
	return !c->bad && c->at == c->end;
}

/* ---- Counts ---- */

void db_pack_counts(const struct db_count *c, size_t n, struct db_bytes *out)
{
	uint64_t last = 0;

	out->size = 0;
	put(out, n);
	for (size_t i = 0; i < n; i++) {
		put(out, c[i].offset - last);
		last = c[i].offset;
	}
	for (size_t i = 0; i < n; i++)
		put(out, c[i].count);
	finish(out);
}

/* Ends the reading of a pack; one that makes no sense has no elements. */
static bool whole(struct cursor *c, uint8_t *own, size_t *n)
{
	const bool ok = ended(c);

	free(own);
	*n = ok ? *n : 0;
	return ok;
}

bool db_unpack_counts(const uint8_t *data, size_t size, struct db_count **out, size_t *n)
{
	uint8_t *own;
	struct cursor c = begin(data, size, &own);
	uint64_t last = 0, sum = 0;

	*n = get_number(&c, 2);
	*out = x_malloc((*n + 1) * sizeof(**out));
	for (size_t i = 0; i < *n; i++) {
		const uint64_t step = get(&c);

		c.bad |= (i && !step) || last + step < last;
		(*out)[i].offset = last += step;
	}
	for (size_t i = 0; i < *n; i++) {
		const uint64_t count = get(&c);

		c.bad |= !count || count > INT64_MAX - sum;
		(*out)[i].count = count;
		sum += c.bad ? 0 : count;
	}
	if (whole(&c, own, n))
		return true;
	free(*out);
	*out = NULL;
	return false;
}

/* ---- Stacks ---- */

void db_pack_stacks(const struct live_stack *s, size_t n, struct db_bytes *out)
{
	out->size = 0;
	put(out, n);
	for (size_t i = 0; i < n; i++) {
		put(out, (uint64_t)s[i].nframes << 1 | s[i].broken);
		put(out, s[i].count);
		for (size_t k = 0; k < s[i].nframes; k++) {
			put(out, s[i].frames[k].image);
			put(out, s[i].frames[k].offset);
		}
	}
	finish(out);
}

bool db_unpack_stacks(const uint8_t *data, size_t size,
		      void (*each)(void *self, const struct live_stack *s), void *self)
{
	uint8_t *own;
	struct cursor c = begin(data, size, &own);
	struct live_frame *frames = x_malloc(STACK_FRAMES_MAX * sizeof(*frames));

	for (size_t n = get_number(&c, 2); n && !c.bad; n--) {
		struct live_stack s = { .frames = frames };
		const uint64_t head = get(&c);

		s.broken = head & 1;
		s.nframes = (size_t)(head >> 1);
		s.count = get(&c);
		c.bad |= s.nframes > STACK_FRAMES_MAX || s.count > INT64_MAX;
		for (size_t k = 0; k < s.nframes && !c.bad; k++) {
			const uint64_t image = get(&c);

			c.bad |= image > UINT32_MAX;
			frames[k] = (struct live_frame){ (uint32_t)image, get(&c) };
		}
		if (!c.bad && each)
			each(self, &s);
	}
	const bool ok = ended(&c);

	free(frames);
	free(own);
	return ok;
}

/* ---- Edges ---- */

void db_pack_edges(const struct live_edge *x, size_t n, struct db_bytes *out)
{
	uint64_t last = 0;

	out->size = 0;
	put(out, n);
	for (size_t i = 0; i < n; i++) {
		put(out, x[i].offset - last);
		put(out, x[i].taken);
		put(out, x[i].not_taken);
		last = x[i].offset;
	}
	finish(out);
}

bool db_unpack_edges(const uint8_t *data, size_t size, struct live_edge **out, size_t *n)
{
	uint8_t *own;
	struct cursor c = begin(data, size, &own);
	uint64_t last = 0;

	*n = get_number(&c, 3);
	*out = x_calloc(*n + 1, sizeof(**out));
	for (size_t i = 0; i < *n; i++) {
		const uint64_t step = get(&c);

		c.bad |= last + step < last;
		(*out)[i].offset = last += step;
		(*out)[i].taken = get(&c);
		(*out)[i].not_taken = get(&c);
	}
	if (whole(&c, own, n))
		return true;
	free(*out);
	*out = NULL;
	return false;
}

/* ---- Symbols and code ---- */

void db_pack_symbols(const struct live_symbol *s, size_t n, struct db_bytes *out)
{
	uint64_t last = 0;

	out->size = 0;
	put(out, n);
	for (size_t i = 0; i < n; i++) {
		const size_t length = strlen(s[i].name);

		put(out, s[i].offset - last);
		put(out, s[i].size_bytes);
		put(out, length);
		put_bytes(out, s[i].name, length);
		last = s[i].offset;
	}
	finish(out);
}

void db_symbols_free(struct live_symbol *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(s[i].name);
	free(s);
}

bool db_unpack_symbols(const uint8_t *data, size_t size, struct live_symbol **out, size_t *n)
{
	uint8_t *own;
	struct cursor c = begin(data, size, &own);
	uint64_t last = 0;

	*n = get_number(&c, 3);
	*out = x_calloc(*n + 1, sizeof(**out));
	for (size_t i = 0; i < *n && !c.bad; i++) {
		struct live_symbol *s = &(*out)[i];

		s->offset = last += get(&c);
		s->size_bytes = get(&c);
		const size_t length = get_number(&c, 1);

		s->name = x_strndup((const char *)c.at, length);
		c.bad |= strlen(s->name) != length;
		c.at += length;
	}
	const bool ok = ended(&c);

	free(own);
	if (!ok) {
		db_symbols_free(*out, *n);
		*out = NULL;
		*n = 0;
	}
	return ok;
}

void db_pack_code(const struct live_code *code, size_t n, struct db_bytes *out)
{
	out->size = 0;
	put(out, n);
	for (size_t i = 0; i < n; i++) {
		put(out, code[i].offset);
		put(out, code[i].size_bytes);
		put_bytes(out, code[i].bytes, code[i].size_bytes);
	}
	finish(out);
}

void db_code_free(struct live_code *code, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(code[i].bytes);
	free(code);
}

bool db_unpack_code(const uint8_t *data, size_t size, struct live_code **out, size_t *n)
{
	uint8_t *own;
	struct cursor c = begin(data, size, &own);

	*n = get_number(&c, 2);
	*out = x_calloc(*n + 1, sizeof(**out));
	for (size_t i = 0; i < *n && !c.bad; i++) {
		struct live_code *code = &(*out)[i];

		code->offset = get(&c);
		code->size_bytes = get_number(&c, 1);
		code->bytes = x_malloc((size_t)code->size_bytes + 1);
		memcpy(code->bytes, c.at, (size_t)code->size_bytes);
		c.at += code->size_bytes;
	}
	const bool ok = ended(&c);

	free(own);
	if (!ok) {
		db_code_free(*out, *n);
		*out = NULL;
		*n = 0;
	}
	return ok;
}

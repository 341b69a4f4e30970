/* SPDX-License-Identifier: MIT */
/* Writes and reads fields of saved state: state.h. */
#include "state/state.h"

#include <stdlib.h>
#include <string.h>

#include "util/array.h"

#define LIST_FIRST 64 /* elements that a list gets before any of them was read */

struct state {
	bool reading;
	unsigned version;
	const uint8_t *from; /* reading */
	uint8_t *to;	     /* writing */
	size_t at, count, capacity;
	const struct state_pieces *pieces;
	struct err error;
};

struct state *state_writer(const struct state_pieces *pieces)
{
	struct state *s = x_calloc(1, sizeof(*s));

	s->version = STATE_VERSION;
	s->pieces = pieces;
	return s;
}

struct state *state_reader(const void *bytes, size_t count, unsigned version,
			   const struct state_pieces *pieces)
{
	struct state *s = x_calloc(1, sizeof(*s));

	s->reading = true;
	s->version = version;
	s->from = bytes;
	s->count = count;
	s->pieces = pieces;
	return s;
}

void state_free(struct state *s)
{
	if (s)
		free(s->to);
	free(s);
}

bool state_reading(const struct state *s)
{
	return s->reading;
}

unsigned state_version(const struct state *s)
{
	return s->version;
}

bool state_ok(const struct state *s)
{
	return !s->error.text[0];
}

const char *state_error(const struct state *s)
{
	return s->error.text;
}

void state_fail(struct state *s, const char *fmt, ...)
{
	va_list args;

	if (!state_ok(s))
		return;
	va_start(args, fmt);
	vsnprintf(s->error.text, sizeof(s->error.text), fmt, args);
	va_end(args);
}

const void *state_bytes_written(const struct state *s, size_t *count)
{
	*count = s->count;
	return s->to;
}

void state_end(struct state *s)
{
	if (s->reading && s->at != s->count)
		state_fail(s, "%zu bytes too many in a section of saved state", s->count - s->at);
}

void state_raw(struct state *s, void *data, size_t bytes)
{
	if (s->reading) {
		if (state_ok(s) && bytes > s->count - s->at)
			state_fail(s, "saved state ends too early");
		if (!state_ok(s)) {
			memset(data, 0, bytes);
			return;
		}
		memcpy(data, s->from + s->at, bytes);
		s->at += bytes;
		return;
	}
	if (!state_ok(s))
		return;
	ARRAY_ROOM(s->to, s->capacity, s->count + bytes);
	memcpy(s->to + s->count, data, bytes);
	s->count += bytes;
}

/* A number of so many bytes, the lowest first. */
static uint64_t number(struct state *s, uint64_t v, unsigned bytes)
{
	uint8_t b[8];

	for (unsigned i = 0; i < bytes; i++)
		b[i] = (uint8_t)(v >> 8 * i);
	state_raw(s, b, bytes);
	v = 0;
	for (unsigned i = 0; i < bytes; i++)
		v |= (uint64_t)b[i] << 8 * i;
	return v;
}

void state_bool(struct state *s, bool *v)
{
	*v = state_below(s, *v, 2);
}

void state_u8(struct state *s, uint8_t *v)
{
	*v = (uint8_t)number(s, *v, 1);
}

void state_u16(struct state *s, uint16_t *v)
{
	*v = (uint16_t)number(s, *v, 2);
}

void state_u32(struct state *s, uint32_t *v)
{
	*v = (uint32_t)number(s, *v, 4);
}

void state_u64(struct state *s, uint64_t *v)
{
	*v = number(s, *v, 8);
}

void state_i32(struct state *s, int *v)
{
	*v = (int)(uint32_t)number(s, (uint32_t)*v, 4);
}

void state_i64(struct state *s, int64_t *v)
{
	*v = (int64_t)number(s, (uint64_t)*v, 8);
}

void state_double(struct state *s, double *v)
{
	uint64_t bits;

	memcpy(&bits, v, 8);
	bits = number(s, bits, 8);
	memcpy(v, &bits, 8);
}

uint32_t state_below(struct state *s, uint32_t v, uint32_t limit)
{
	v = (uint32_t)number(s, v, 4);
	if (s->reading && v >= limit) {
		state_fail(s, "a number in saved state is out of range: %u is not below %u", v,
			   limit);
		return 0;
	}
	return v;
}

size_t state_count(struct state *s, size_t n, size_t limit)
{
	const uint64_t count = number(s, n, 8);

	if (s->reading && count > limit) {
		state_fail(s, "a count in saved state is absurd: %llu, at most %zu",
			   (unsigned long long)count, limit);
		return 0;
	}
	return (size_t)count;
}

void state_text(struct state *s, char **text, size_t limit)
{
	bool there = *text;

	state_bool(s, &there);
	if (!there) {
		*text = NULL;
		return;
	}
	const size_t n = state_count(s, s->reading ? 0 : strlen(*text), limit);

	if (!s->reading) {
		state_raw(s, *text, n);
		return;
	}
	if (state_ok(s) && n > s->count - s->at)
		state_fail(s, "saved state ends too early");
	if (!state_ok(s)) {
		*text = x_strdup("");
		return;
	}
	*text = x_strndup((const char *)s->from + s->at, n);
	if (strlen(*text) != n)
		state_fail(s, "a text in saved state has a zero byte inside");
	s->at += n;
}

void state_piece(struct state *s, void *data, size_t bytes)
{
	uint64_t id = 0;
	struct err e = { "" };

	if (!s->pieces) {
		state_raw(s, data, bytes);
		return;
	}
	if (!s->reading && state_ok(s) && !s->pieces->put(s->pieces->ctx, data, bytes, &id, &e))
		state_fail(s, "%s", e.text);
	state_u64(s, &id);
	if (s->reading && state_ok(s) && !s->pieces->get(s->pieces->ctx, id, data, bytes, &e))
		state_fail(s, "%s", e.text);
	if (s->reading && !state_ok(s))
		memset(data, 0, bytes);
}

void state_keep(struct state *s, const void *data, size_t bytes, uint64_t *id)
{
	struct err e = { "" };

	*id = 0;
	if (!s->pieces || !s->pieces->put)
		state_fail(s, "saved state has no place for pieces");
	else if (state_ok(s) && !s->pieces->put(s->pieces->ctx, data, bytes, id, &e))
		state_fail(s, "%s", e.text);
}

void state_mark(struct state *s, const char *word)
{
	char read[32] = { 0 };
	const size_t n = strnlen(word, sizeof(read));

	memcpy(read, word, n);
	state_raw(s, read, n);
	if (state_ok(s) && memcmp(read, word, n) != 0)
		state_fail(s, "saved state is damaged: no '%s' where it should be", word);
}

void *state_list_room(struct state *s, void *array, size_t index, size_t count, size_t bytes)
{
	size_t room = LIST_FIRST;

	if (!s->reading || !state_ok(s))
		return array;
	/* Enlarged at each power of two: who lies about the count gets no memory for it. */
	if (index && (index < LIST_FIRST || index & (index - 1)))
		return array;
	while (room <= index)
		room *= 2;
	room = room < count ? room : count;
	array = x_realloc(array, room * bytes);
	memset((char *)array + index * bytes, 0, (room - index) * bytes);
	return array;
}

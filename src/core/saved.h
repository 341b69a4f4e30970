/* SPDX-License-Identifier: MIT */
/* Saving and reading tables of the core (state/state.h). A table's size is the machine's own: what is
 * read must have been written for one of the same size. */
#ifndef CORE_SAVED_H
#define CORE_SAVED_H

#include "state/state.h"

/* A number that the machine decides: what is read must equal it. */
static inline void saved_same(struct state *s, uint64_t value, const char *what)
{
	uint64_t v = value;

	state_u64(s, &v);
	if (state_ok(s) && v != value)
		state_fail(s, "it was saved on another machine: %s differs", what);
}

static inline void saved_u64s(struct state *s, uint64_t *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		state_u64(s, &v[i]);
}
static inline void saved_u32s(struct state *s, uint32_t *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		state_u32(s, &v[i]);
}
static inline void saved_u16s(struct state *s, uint16_t *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		state_u16(s, &v[i]);
}
/* Bytes, each at most `most`. */
static inline void saved_bytes(struct state *s, uint8_t *v, size_t n, uint8_t most)
{
	state_raw(s, v, n);
	for (size_t i = 0; i < n && state_reading(s) && state_ok(s); i++)
		if (v[i] > most)
			state_fail(s, "a counter is beyond its range");
}
/* A shift register that is never 0. */
static inline void saved_lfsr(struct state *s, uint32_t *r)
{
	state_u32(s, r);
	if (state_ok(s) && !*r)
		state_fail(s, "a random generator is stuck");
	*r |= !*r;
}

#endif

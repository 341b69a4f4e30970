/* SPDX-License-Identifier: MIT */
/* Fuzzes the reader of perf maps: in one piece, and cut in two. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "collect/jit_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);

struct sum {
	uint64_t count, sum;
};

static void found(void *self, const struct jit_load *l)
{
	struct sum *s = self;

	assert(l->size_bytes && l->start + l->size_bytes >= l->start);
	assert(l->name_bytes && l->name_bytes <= JIT_NAME_BYTES);
	assert(!memchr(l->name, '\n', l->name_bytes) && !memchr(l->name, '\0', l->name_bytes));
	s->count++;
	s->sum += l->start * 31 + l->size_bytes + (unsigned char)l->name[l->name_bytes - 1];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	const char *text = (const char *)data;
	struct sum whole = { 0 }, parts = { 0 };
	const size_t used = jit_parse_map(text, size_bytes, found, &whole);

	assert(used <= size_bytes);
	const size_t half = jit_parse_map(text, size_bytes / 2, found, &parts);
	assert(half <= size_bytes / 2);
	assert(half + jit_parse_map(text + half, size_bytes - half, found, &parts) == used);
	assert(parts.count == whole.count && parts.sum == whole.sum);
	return 0;
}

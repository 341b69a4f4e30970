/* SPDX-License-Identifier: MIT */
/*
 * Names in the order of their addresses, BLOCK of them compressed together by zstd. The kernel of a
 * distribution has 120,000 functions: 3 MB of names become 0.9, because most names repeat parts of
 * their neighbours. A lookup unpacks one block of 7 KB, which is kept for the next one.
 */
#include "collect/kernel_names.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "util/array.h"

#define BLOCK 256

struct name {
	uint32_t address; /* from base: code of the kernel and its modules lies within 4 GiB */
	uint32_t at;	  /* in text */
};

struct block {
	uint32_t at;	/* in packed; the next block's is the end */
	uint32_t bytes; /* of its text */
};

struct kernel_names {
	uint64_t base;
	size_t count;
	/* While names are added. */
	struct name *list;
	char *text;
	size_t room, text_bytes, text_room;
	/* When they are packed. */
	uint32_t *addresses;
	struct block *blocks; /* one more than there are */
	uint8_t *packed;
	size_t nblocks, packed_bytes;
	/* The block that was asked for last. */
	char *open;
	size_t open_block, open_room;
};

struct kernel_names *kernel_names_new(void)
{
	return x_calloc(1, sizeof(struct kernel_names));
}

void kernel_names_free(struct kernel_names *k)
{
	if (!k)
		return;
	free(k->list);
	free(k->text);
	free(k->addresses);
	free(k->blocks);
	free(k->packed);
	free(k->open);
	free(k);
}

void kernel_names_add(struct kernel_names *k, uint64_t address, const char *name)
{
	const size_t n = strlen(name) + 1;

	if (!k->count)
		k->base = address & ~(uint64_t)UINT32_MAX;
	if (address < k->base || address - k->base > UINT32_MAX || k->text_bytes + n > UINT32_MAX)
		return;
	ARRAY_ROOM(k->list, k->room, k->count + 1);
	ARRAY_ROOM(k->text, k->text_room, k->text_bytes + n);
	memcpy(k->text + k->text_bytes, name, n);
	k->list[k->count++] =
	    (struct name){ (uint32_t)(address - k->base), (uint32_t)k->text_bytes };
	k->text_bytes += n;
}

static int by_address(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	return x->address != y->address ? (x->address > y->address) - (x->address < y->address)
					: (x->at > y->at) - (x->at < y->at);
}

/* Sorts, and drops all names of an address but the first. */
static void order(struct kernel_names *k)
{
	size_t n = 0;

	if (k->count)
		qsort(k->list, k->count, sizeof(*k->list), by_address);
	for (size_t i = 0; i < k->count; i++)
		if (!n || k->list[n - 1].address != k->list[i].address)
			k->list[n++] = k->list[i];
	k->count = n;
}

/* Packs the names from `first` on. */
static void pack_block(struct kernel_names *k, ZSTD_CCtx *zstd, size_t first, char *text,
		       size_t *room)
{
	const size_t end = first + BLOCK < k->count ? first + BLOCK : k->count;
	size_t bytes = 0;

	for (size_t i = first; i < end; i++) {
		const char *name = k->text + k->list[i].at;
		const size_t n = strlen(name) + 1;

		memcpy(text + bytes, name, n);
		bytes += n;
	}
	const size_t bound = ZSTD_compressBound(bytes);

	ARRAY_ROOM(k->packed, *room, k->packed_bytes + bound);
	const size_t got =
	    ZSTD_compressCCtx(zstd, k->packed + k->packed_bytes, bound, text, bytes, 1);

	if (ZSTD_isError(got))
		die("cannot pack the kernel's names: %s", ZSTD_getErrorName(got));
	k->blocks[k->nblocks++] = (struct block){ (uint32_t)k->packed_bytes, (uint32_t)bytes };
	k->packed_bytes += got;
}

/* The longest text that a block has. */
static size_t longest_block(const struct kernel_names *k)
{
	size_t most = 0, bytes = 0;

	for (size_t i = 0; i < k->count; i++) {
		bytes = (i % BLOCK ? bytes : 0) + strlen(k->text + k->list[i].at) + 1;
		most = bytes > most ? bytes : most;
	}
	return most;
}

void kernel_names_pack(struct kernel_names *k)
{
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	size_t room = 0;

	if (!zstd)
		die("out of memory");
	order(k);
	k->addresses = x_malloc((k->count + 1) * sizeof(*k->addresses));
	for (size_t i = 0; i < k->count; i++)
		k->addresses[i] = k->list[i].address;
	k->blocks = x_malloc((k->count / BLOCK + 2) * sizeof(*k->blocks));
	char *text = x_malloc(longest_block(k) + 1);

	for (size_t i = 0; i < k->count; i += BLOCK)
		pack_block(k, zstd, i, text, &room);
	k->blocks[k->nblocks] = (struct block){ (uint32_t)k->packed_bytes, 0 };
	ZSTD_freeCCtx(zstd);
	free(text);
	free(k->list);
	free(k->text);
	k->list = NULL;
	k->text = NULL;
	k->room = k->text_room = 0;
	k->open_block = SIZE_MAX;
	if (k->packed)
		k->packed = x_realloc(k->packed, k->packed_bytes + 1);
}

/* The text of a block. */
static const char *open_block(struct kernel_names *k, size_t b)
{
	const struct block *x = &k->blocks[b];

	if (k->open_block == b)
		return k->open;
	ARRAY_ROOM(k->open, k->open_room, x->bytes);
	k->open_block = b;
	if (ZSTD_decompress(k->open, x->bytes, k->packed + x->at, x[1].at - x->at) != x->bytes)
		die("the kernel's names cannot be unpacked");
	return k->open;
}

const char *kernel_names_find(struct kernel_names *k, uint64_t address, uint64_t *start,
			      uint64_t *end)
{
	size_t i = address >= k->base
		       ? ARRAY_SEARCH(k->count, n, k->base + k->addresses[n] <= address)
		       : 0;

	if (!i)
		return NULL;
	*end = i < k->count ? k->base + k->addresses[i] : UINT64_MAX;
	*start = k->base + k->addresses[--i];
	const char *name = open_block(k, i / BLOCK);

	for (size_t n = i % BLOCK; n; n--)
		name += strlen(name) + 1;
	return name;
}

size_t kernel_names_bytes(const struct kernel_names *k)
{
	return sizeof(*k) + k->room * sizeof(*k->list) + k->text_room +
	       k->count * sizeof(*k->addresses) + k->nblocks * sizeof(*k->blocks) +
	       k->packed_bytes + k->open_room;
}

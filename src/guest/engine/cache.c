/* SPDX-License-Identifier: MIT */
/*
 * What has been decoded: blocks for fast execution, pages of single instructions for stepping and
 * wrong-path fetch.
 *
 * A block is a straight run of instructions that ends with the first that may go elsewhere, or
 * needs the kernel, or must see exact counts. Blocks may overlap: each is found by its first pc
 * alone. They stand in an arena that is emptied as a whole; a block that invalidation drops keeps
 * its memory until then. A decoded page has a slot for each halfword, so that an instruction has
 * one address for as long as the code stands. A dropped page is freed when the next instruction is
 * looked up in the pages: a caller that was handed an instruction of it may use it until then.
 * Dropping empties the views, so that lookup comes before any further instruction is handed out.
 *
 * Invariants: (1) every block in the hash table was decoded from bytes that have not been
 * invalidated since; (2) a lookup entry or a link points only to blocks in the hash table.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "guest/engine/impl.h"
#include "guest/engine/jit.h"
#include "isa/csr.h"
#include "util/util.h"

#define HASH_ENTRIES 65536
#define PAGES_MAX    8192 /* decoded pages, 256 MiB; then all are dropped */

#define SEEN_PAGES 65536

struct cache {
	uint64_t seen[SEEN_PAGES / 64]; /* pages (modulo) from which anything was decoded */
	struct block *hash[HASH_ENTRIES];
	uint8_t *chunks[CHUNKS_MAX];
	unsigned chunk_count;
	size_t chunk_used;
	struct decode_page *pages[PAGE_ENTRIES];
	unsigned page_count;
	struct decode_page *retired; /* dropped, and not yet freed */
	uint64_t version;	     /* counts invalidations of what was decoded */
};

struct cache *cache_new(void)
{
	return x_calloc(1, sizeof(struct cache));
}

static void free_pages(struct decode_page *p)
{
	while (p) {
		struct decode_page *next = p->next;
		free(p);
		p = next;
	}
}

void cache_free(struct cache *c)
{
	for (unsigned i = 0; i < c->chunk_count; i++)
		free(c->chunks[i]);
	for (unsigned i = 0; i < PAGE_ENTRIES; i++)
		free_pages(c->pages[i]);
	free_pages(c->retired);
	free(c);
}

uint64_t cache_version(const struct cache *c)
{
	return c->version;
}

bool cache_is_full(const struct cache *c)
{
	return c->chunk_count == CHUNKS_MAX && c->chunk_used > CHUNK_BYTES / 2;
}

void cache_each(const struct cache *c, void (*visit)(void *ctx, struct block *b), void *ctx)
{
	for (unsigned i = 0; i < HASH_ENTRIES; i++)
		for (struct block *b = c->hash[i]; b; b = b->hash_next)
			visit(ctx, b);
}

static void note_seen(struct cache *c, uint64_t pc)
{
	uint64_t page = pc / GUEST_PAGE_BYTES % SEEN_PAGES;

	c->seen[page / 64] |= 1ull << page % 64;
}

static bool was_seen(const struct cache *c, uint64_t start, uint64_t end)
{
	uint64_t first = start / GUEST_PAGE_BYTES;
	uint64_t last = (end - 1) / GUEST_PAGE_BYTES;

	if (end <= start)
		return false;
	if (last - first >= SEEN_PAGES)
		return true;
	for (uint64_t page = first; page <= last; page++)
		if (c->seen[page % SEEN_PAGES / 64] >> page % 64 & 1)
			return true;
	return false;
}

/*
 * Reads the instruction word at pc: *word and true, or e->fault and false. A page that the guest
 * may execute can still fail on the host (a file that was truncated), hence the guard.
 */
static bool fetch_word(struct engine *e, uint64_t pc, uint32_t *word)
{
	uint64_t next = pc + 2;
	uint16_t half[2] = { 0, 0 };

	e->fault = (struct engine_fault){ .addr = pc };
	if ((pc & 1) || !mem_page_has(e->mem, pc, MEM_X)) {
		e->fault.mapped = mem_page_has(e->mem, pc, MEM_MAPPED);
		return false;
	}
	struct engine *before = engine_enter(e);
	if (sigsetjmp(e->fetch_env, 0)) {
		e->fetching = false;
		engine_leave(before);
		return false;
	}
	e->fetching = true;
	half[0] = *(volatile uint16_t *)(e->base + pc);
	bool wide = (half[0] & 3) == 3;
	bool ok = true;
	if (wide) {
		ok = next % GUEST_PAGE_BYTES != 0 || mem_page_has(e->mem, next, MEM_X);
		if (ok)
			half[1] = *(volatile uint16_t *)(e->base + next);
	}
	e->fetching = false;
	engine_leave(before);
	if (!ok) {
		e->fault.addr = next;
		e->fault.mapped = mem_page_has(e->mem, next, MEM_MAPPED);
		return false;
	}
	*word = half[0] | (uint32_t)half[1] << 16;
	note_seen(e->cache, pc);
	note_seen(e->cache, next);
	return true;
}

/* How instruction `in` ends its block; BLOCK_END_SEQ if the block may go on after it. */
static enum block_end inst_ends_block(const struct inst *in)
{
	const struct op_info *info = &op_info[in->op];

	if (info->flags & OPF_CTRL)
		return BLOCK_END_CTRL;
	switch (in->op) {
	case OP_ILLEGAL:
	case OP_ECALL:
	case OP_EBREAK:
	case OP_FENCE_I:
		return BLOCK_END_KERNEL;
	default:
		break;
	}
	/* Counters must know how many instructions came before; frm changes what generated code
	 * means. */
	if (info->cls == CLASS_CSR && in->imm != CSR_FFLAGS)
		return BLOCK_END_KERNEL;
	if (in->rd == 0 && (isa_is_mark_begin(in) || isa_is_mark_end(in)))
		return BLOCK_END_MARK;
	return BLOCK_END_SEQ;
}

static struct block *block_alloc(struct cache *c, unsigned count)
{
	size_t size_bytes = sizeof(struct block) + (count + 1) * sizeof(struct inst);

	size_bytes = (size_bytes + 15) & ~(size_t)15;
	if (c->chunk_count == 0 || c->chunk_used + size_bytes > CHUNK_BYTES) {
		assert(c->chunk_count < CHUNKS_MAX); /* see cache_is_full */
		c->chunks[c->chunk_count++] = x_malloc(CHUNK_BYTES);
		c->chunk_used = 0;
	}
	struct block *b = (struct block *)(c->chunks[c->chunk_count - 1] + c->chunk_used);
	c->chunk_used += size_bytes;
	memset(b, 0, sizeof(*b));
	return b;
}

static struct block *block_decode(struct engine *e, uint64_t pc, uint64_t leader)
{
	struct inst insts[BLOCK_MAX_INSTS + 1];
	unsigned count = 0;
	uint64_t end = pc;
	enum block_end kind = BLOCK_END_SEQ;

	while (count < BLOCK_MAX_INSTS) {
		uint32_t word;
		if (!fetch_word(e, end, &word)) {
			if (count == 0)
				return NULL;
			break;
		}
		insts[count] = isa_decode(word);
		enum block_end ends = inst_ends_block(&insts[count]);
		if (count > 0 && (ends == BLOCK_END_KERNEL || ends == BLOCK_END_MARK))
			break;
		end += insts[count].len;
		count++;
		kind = ends;
		if (kind != BLOCK_END_SEQ)
			break;
	}
	insts[count] = (struct inst){ .op = OP_BLOCK_END };

	struct block *b = block_alloc(e->cache, count);
	b->pc = pc;
	b->end = end;
	b->count = count;
	b->end_kind = kind;
	b->leader = leader;
	if (e->vectors)
		b->tally = vectors_tally(e, leader, count);
	b->heat = e->jit ? HEAT_TRANSLATE : HEAT_NEVER;
	memcpy(b->insts, insts, (count + 1) * sizeof(insts[0]));
	return b;
}

static unsigned block_hash(uint64_t pc)
{
	return hash_u64(pc) % HASH_ENTRIES;
}

struct block *cache_continued(struct engine *e, uint64_t pc, uint64_t leader, bool decode)
{
	struct cache *c = e->cache;
	struct block **slot = &c->hash[block_hash(pc)];
	struct block *b = *slot;

	while (b && (b->pc != pc || b->leader != leader))
		b = b->hash_next;
	if (b || !decode || cache_is_full(c)) /* engine_run empties it */
		return b;
	b = block_decode(e, pc, leader);
	if (!b)
		return NULL;
	b->hash_next = *slot;
	*slot = b;
	return b;
}

struct block *cache_find(struct engine *e, uint64_t pc)
{
	struct block *b = cache_continued(e, pc, pc, true);

	if (!b)
		return NULL;
	unsigned i = (pc >> 1) % LOOKUP_ENTRIES;
	e->lookup[i].pc = pc;
	e->lookup[i].block = b;
	return b;
}

void cache_clear_lookup(struct engine *e)
{
	/* An entry with key 0 is empty. The entry that pc 0 maps to gets a key that maps
	 * elsewhere, so that pc 0 does not hit it. */
	memset(e->lookup, 0, sizeof(e->lookup));
	e->lookup[0].pc = 2;
	memset(e->views, 0, sizeof(e->views));
	e->views[0].pc = GUEST_PAGE_BYTES;
}

static unsigned page_hash(uint64_t page_pc)
{
	return hash_u64(page_pc) % PAGE_ENTRIES;
}

static struct decode_page *page_find(struct cache *c, uint64_t page_pc)
{
	struct decode_page *p = c->pages[page_hash(page_pc)];

	while (p && p->pc != page_pc)
		p = p->next;
	return p;
}

static void drop_page(struct cache *c, struct decode_page **link)
{
	struct decode_page *p = *link;

	*link = p->next;
	p->next = c->retired;
	c->retired = p;
	c->page_count--;
}

static struct decode_page *page_add(struct engine *e, uint64_t page_pc)
{
	struct cache *c = e->cache;
	struct decode_page *p = x_calloc(1, sizeof(*p));

	if (c->page_count >= PAGES_MAX) {
		for (unsigned i = 0; i < PAGE_ENTRIES; i++)
			while (c->pages[i])
				drop_page(c, &c->pages[i]);
		cache_clear_lookup(e);
	}
	p->pc = page_pc;
	p->next = c->pages[page_hash(page_pc)];
	c->pages[page_hash(page_pc)] = p;
	c->page_count++;
	return p;
}

const struct inst *cache_inst(struct engine *e, uint64_t pc)
{
	uint64_t page_pc = pc & ~(GUEST_PAGE_BYTES - 1);
	struct decode_page *p = page_find(e->cache, page_pc);
	struct inst *in = p ? &p->slots[(pc - page_pc) / 2] : NULL;

	free_pages(e->cache->retired);
	e->cache->retired = NULL;
	if (!in || in->len == 0 || (pc & 1)) {
		uint32_t word;
		if (!fetch_word(e, pc, &word))
			return NULL;
		if (!p) {
			p = page_add(e, page_pc);
			in = &p->slots[(pc - page_pc) / 2];
		}
		*in = isa_decode(word);
	}
	e->views[page_pc / GUEST_PAGE_BYTES % VIEW_ENTRIES] =
	    (struct decode_view){ .pc = page_pc, .slots = p->slots };
	return in;
}

static void invalidate_pages(struct engine *e, uint64_t start, uint64_t end)
{
	struct cache *c = e->cache;

	for (unsigned i = 0; i < PAGE_ENTRIES; i++) {
		struct decode_page **link = &c->pages[i];
		while (*link) {
			struct decode_page *p = *link;
			/* The last instruction may reach into the next page. */
			uint64_t reach = p->slots[DECODE_SLOTS - 1].len == 4 ? 2 : 0;

			if (p->pc < end && p->pc + GUEST_PAGE_BYTES + reach > start)
				drop_page(c, link);
			else
				link = &p->next;
		}
	}
}

void cache_invalidate(struct engine *e, uint64_t start, uint64_t end)
{
	struct cache *c = e->cache;
	bool all = start == 0 && end >= GUEST_ADDR_LIMIT;
	unsigned dropped = 0;

	if (e->vectors)
		vectors_remapped(e);
	/* Nothing was decoded from a library that is being mapped, or from a heap. */
	if (!was_seen(c, start, end))
		return;
	/* What was seen points into what is dropped. */
	if (e->watch && e->watch->n)
		watch_flush(e, e->hart->pc);
	c->version++;
	if (e->vectors)
		vectors_collect(e);
	invalidate_pages(e, start, end);
	for (unsigned i = 0; i < HASH_ENTRIES; i++) {
		struct block **link = &c->hash[i];
		while (*link) {
			struct block *b = *link;
			if (b->pc < end && b->end > start) {
				if (e->counts)
					counts_add_block(e->counts, b, b->count, counts_of(e, b));
				*link = b->hash_next;
				dropped++;
			} else {
				link = &b->hash_next;
			}
		}
	}
	if (all) {
		for (unsigned i = 1; i < c->chunk_count; i++)
			free(c->chunks[i]);
		c->chunk_count = min_u64(c->chunk_count, 1);
		c->chunk_used = 0;
		memset(c->seen, 0, sizeof(c->seen));
		if (e->vectors)
			vectors_reset_tallies(e);
		if (e->jit)
			jit_reset(e->jit);
	} else if (dropped) {
		for (unsigned i = 0; i < HASH_ENTRIES; i++)
			for (struct block *b = c->hash[i]; b; b = b->hash_next)
				b->next[0] = b->next[1] = NULL;
		if (e->jit)
			jit_unlink(e->jit);
	}
	cache_clear_lookup(e);
}

/* SPDX-License-Identifier: MIT */
/*
 * The write buffer between a write-through L1D and the level below, after the Alpha 21164's: a few
 * entries of a line each (l1d.write_buffer).
 *
 * A store merges into the entry of its line, unless that is on its way down; otherwise it takes a free
 * entry, and where there is none the L1D refuses the store. The oldest entry goes down as soon as the
 * one before it is gone: it arrives after the L1D's miss latency, gets port and bank like any other
 * request, and gives its place up `latency` cycles after the level below has found its line or an MSHR
 * for it. So at most one entry is on its way, and the buffer drains as fast as the level below takes
 * lines: one per miss latency + latency if they hit there, slower while its MSHRs are full.
 *
 * Not modelled: an entry that waits for more stores to merge while nothing else wants to go; a load that
 * misses the L1D and finds its line in the buffer does not wait for it.
 */
#include <string.h>

#include "core/mem/mem_int.h"

/* The entry that a store to this line can merge into; used: none. */
static uint32_t find(const struct write_buffer *b, uint64_t line)
{
	uint32_t i = b->sending;

	while (i < b->used && b->entry[i].line != line)
		i++;
	return i;
}

bool wbuf_takes(const struct memsys *ms, uint64_t line, uint64_t second)
{
	const struct write_buffer *b = &ms->wbuf;
	uint32_t need = find(b, line) == b->used;

	if (second != line)
		need += find(b, second) == b->used;
	return b->used + need <= b->size;
}

static void send(struct memsys *ms, uint64_t t)
{
	struct write_buffer *b = &ms->wbuf;
	const struct cache *c = &ms->cache[MEM_L1D];

	if (!b->used || b->sending)
		return;
	if (!ms->nreq_free) {
		mem_schedule(ms, t + 1, DUE_WRITE, NULL);
		return;
	}
	b->sending = true;
	post_write(ms, c, b->entry[0].addr, b->entry[0].pc, b->entry[0].flags, t)->owner = b;
}

void wbuf_write(struct memsys *ms, uint64_t addr, uint64_t pc, uint32_t flags, uint64_t t)
{
	struct write_buffer *b = &ms->wbuf;
	uint64_t line = addr >> ms->cache[MEM_L1D].line_shift;

	if (find(b, line) < b->used)
		return;
	assert(b->used < b->size);
	b->entry[b->used++] = (struct write_entry){ line, addr, pc, flags };
	if (b->used == 1)
		send(ms, t);
}

void wbuf_taken(struct memsys *ms, struct req *req, uint64_t t)
{
	if (req->owner != &ms->wbuf)
		return;
	req->owner = NULL;
	mem_schedule(ms, t, DUE_WRITTEN, NULL);
}

void wbuf_event(struct memsys *ms, bool written, uint64_t t)
{
	struct write_buffer *b = &ms->wbuf;

	if (written) {
		b->sending = false;
		memmove(b->entry, b->entry + 1, --b->used * sizeof(b->entry[0]));
		ms->wake |= 1u << MEM_L1D;
	}
	send(ms, t);
}

bool memsys_writing(const struct memsys *ms)
{
	return ms->wbuf.used;
}

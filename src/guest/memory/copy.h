/* SPDX-License-Identifier: MIT */
/*
 * Checked copies between guest memory and the host's, in the short forms that system calls use: 0 or -EFAULT.
 */
#ifndef GUEST_MEMORY_COPY_H
#define GUEST_MEMORY_COPY_H

#include "guest/process/process.h"

static inline int copy_in(struct guest *g, void *dst, uint64_t addr, size_t n)
{
	return mem_read(&g->mem, dst, addr, n);
}
static inline int copy_out(struct guest *g, uint64_t addr, const void *src, size_t n)
{
	return mem_write(&g->mem, addr, src, n);
}
/* Copies up to the first page that cannot be written; returns how many bytes. */
static inline size_t copy_out_some(struct guest *g, uint64_t addr, const uint8_t *src, size_t n)
{
	size_t done = 0;

	if (copy_out(g, addr, src, n) == 0)
		return n;
	while (done < n && copy_out(g, addr + done, src + done, 1) == 0)
		done++;
	return done;
}
/* The host address of a guest buffer, for host calls that report EFAULT themselves; NULL if out of
 * range. */
static inline void *host_ptr(struct guest *g, uint64_t addr, uint64_t n)
{
	if (addr >= GUEST_ADDR_LIMIT || n > GUEST_ADDR_LIMIT - addr)
		return NULL;
	mem_load(&g->mem, addr, n);
	return g->mem.base + addr;
}

#endif

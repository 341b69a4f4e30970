/* SPDX-License-Identifier: MIT */
/*
 * Guest memory: one reserved host region, host address = base + guest address, host page protection =
 * guest page protection (never executable on the host). A byte per page says what the guest may do, so
 * that kernel-side copies and wrong-path reads can be checked without touching the page.
 *
 * Accesses by the engine go straight to host memory after one check against GUEST_ADDR_LIMIT; a fault is
 * caught by the host's SIGSEGV/SIGBUS handler and turned into ENGINE_FAULT.
 */
#ifndef GUEST_MEM_H
#define GUEST_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guest/guest.h"

/* So much address space is reserved without access on either side of the guest's region: an access whose
 * base register was checked may miss the region by its offset and size, and must fault. */
#define GUEST_GUARD_BYTES (64ull << 10)

enum mem_prot {
	MEM_R = 1,
	MEM_W = 2,
	MEM_X = 4,
	MEM_MAPPED = 8, /* also set for PROT_NONE mappings */
};

struct guest_mem {
	uint8_t *base;  /* host address of guest address 0 */
	uint8_t *prot;  /* enum mem_prot per page; lazily committed */
	/* Called when instructions in [start, end) may have changed: unmapped, remapped, protection
	 * changed, or written by the kernel into an executable page. */
	void (*code_changed)(void *ctx, uint64_t start, uint64_t end);
	void *code_changed_ctx;
};

static inline bool mem_page_has(const struct guest_mem *m, uint64_t addr, unsigned want)
{
	return addr < GUEST_ADDR_LIMIT && (m->prot[addr / GUEST_PAGE_BYTES] & want) == want;
}

#endif

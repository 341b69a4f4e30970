/* SPDX-License-Identifier: MIT */
/*
 * Guest memory: one reserved host region, host address = base + guest address, host page protection
 * = guest page protection (never executable on the host). A byte per page says what the guest may
 * do, so that kernel-side copies and wrong-path reads can be checked without touching the page.
 *
 * Accesses by the engine go straight to host memory after one check against GUEST_ADDR_LIMIT; a
 * fault is caught by the host's SIGSEGV/SIGBUS handler and turned into ENGINE_FAULT.
 */
#ifndef GUEST_MEM_H
#define GUEST_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guest/guest.h"
#include "guest/memory/reserve.h"

enum mem_prot {
	MEM_R = 1,
	MEM_W = 2,
	MEM_X = 4,
	MEM_MAPPED = 8, /* also set for PROT_NONE mappings */
	MEM_BUS = 16,	/* the mapped file may end before this page: touching it may raise SIGBUS */
	MEM_LAZY =
	    32, /* of a restored guest: it has no access on the host until it is loaded (lazy.c) */
};

/* A run of pages that were mapped alike. */
struct mem_region {
	uint64_t start, end;
	uint8_t prot; /* enum mem_prot: R, W, X */
	bool shared;
	bool file;
	bool no_fork;	   /* MADV_DONTFORK: a child does not have it */
	bool wipe_on_fork; /* MADV_WIPEONFORK: a child has it empty */
	uint64_t offset;   /* of start, in the file */
	uint64_t dev, ino; /* of the file */
	char *name;	   /* path as the guest knows it, "[stack]", …; NULL: anonymous */
};

struct guest_mem {
	uint8_t *base; /* host address of guest address 0: reserve.base */
	struct reserve reserve;
	uint8_t *prot; /* enum mem_prot per page; lazily committed */
	/* Called when instructions in [start, end) may have changed: unmapped, remapped, protection
	 * changed, or written by the kernel into an executable page. */
	void (*code_changed)(void *ctx, uint64_t start, uint64_t end);
	void *code_changed_ctx;
	struct mem_region *regions; /* by address, disjoint */
	size_t nregions, cap_regions;
	uint64_t map_top;      /* mmap hands out addresses below it */
	struct mem_lazy *lazy; /* pages that are still in a checkpoint; NULL: none */
};

static inline bool mem_page_has(const struct guest_mem *m, uint64_t addr, unsigned want)
{
	return addr < GUEST_ADDR_LIMIT && (m->prot[addr / GUEST_PAGE_BYTES] & want) == want;
}

/* The whole of [addr, addr + length) is below the limit; no sum overflows. */
static inline bool mem_range_ok(uint64_t addr, uint64_t length)
{
	return addr < GUEST_ADDR_LIMIT && length <= GUEST_ADDR_LIMIT - addr;
}

static inline uint64_t page_up(uint64_t n)
{
	return (n + GUEST_PAGE_BYTES - 1) & ~(GUEST_PAGE_BYTES - 1);
}

static inline uint64_t page_down(uint64_t n)
{
	return n & ~(GUEST_PAGE_BYTES - 1);
}

bool mem_init(struct guest_mem *m, struct err *e);
void mem_fini(struct guest_mem *m);
/* Unmaps everything, as execve does. */
void mem_reset(struct guest_mem *m);

/* As Linux's calls of the same names; prot and flags are PROT_ and MAP_ values, which riscv64
 * shares with x86-64. The result is an address (or 0), or -errno. */
int64_t mem_map(struct guest_mem *m, uint64_t addr, uint64_t length, int prot, int flags,
		int host_fd, uint64_t offset, const char *name);
int64_t mem_unmap(struct guest_mem *m, uint64_t addr, uint64_t length);
int64_t mem_protect(struct guest_mem *m, uint64_t addr, uint64_t length, int prot);
int64_t mem_remap(struct guest_mem *m, uint64_t addr, uint64_t old_length, uint64_t new_length,
		  int flags, uint64_t new_addr);
/* As madvise, for advice that the guest could notice; other known advice is accepted. */
int64_t mem_advise(struct guest_mem *m, uint64_t addr, uint64_t length, int advice);
/* In a new child process, before anything of the guest's runs: takes away what it does not inherit.
 */
void mem_after_fork(struct guest_mem *m);
/* 0 if every page of the range is mapped; otherwise the error that Linux's calls give. */
int64_t mem_check_mapped(const struct guest_mem *m, uint64_t addr, uint64_t length);
/* Compares the host's mappings with the invariants of reserve.h and with the regions. Returns what
 * differs, or NULL if nothing does or the kernel does not show its mappings. */
const char *mem_verify(const struct guest_mem *m);
/* True if [start, end) is free of mappings. */
bool mem_is_free(const struct guest_mem *m, uint64_t start, uint64_t end);
/* The region that holds addr, or the first one after it; NULL if there is none. */
const struct mem_region *mem_region_at(const struct guest_mem *m, uint64_t addr);
/* A file was cut short: its mappings may raise SIGBUS from now on. */
void mem_file_cut(struct guest_mem *m, uint64_t dev, uint64_t ino);

/* Maps a region of a checkpoint where nothing is: fd -1 is anonymous memory, else the file that it maps, from
 * `offset` on. 0 or -errno. */
int mem_restore(struct guest_mem *m, const struct mem_region *like, int fd, uint64_t offset);
/* Kernel-side copies: 0, or -EFAULT if any byte of the guest's range is not readable (writable). */
int mem_read(const struct guest_mem *m, void *dst, uint64_t addr, size_t n);
int mem_write(struct guest_mem *m, uint64_t addr, const void *src, size_t n);
/* Copies a string with its zero; its length, -EFAULT, or -ENAMETOOLONG if it does not fit. */
int64_t mem_read_string(const struct guest_mem *m, char *dst, uint64_t addr, size_t size_bytes);
/* One page of any protection, read by the host's kernel: 0, or -EFAULT if it has no content, as beyond a file's
 * end. The host must be allowed to read it. */
int mem_read_page(const struct guest_mem *m, void *dst, uint64_t addr);
/* The host wrote into the guest's range on its own: tells the engine if there was code. */
void mem_written(struct guest_mem *m, uint64_t addr, uint64_t n);
/* The instruction at pc: its bytes, 2 or 4, in *word, or 0 if it cannot be fetched. */
unsigned mem_peek_code(const struct guest_mem *m, uint64_t pc, uint32_t *word);
/* Reads what is readable, zero elsewhere. Never faults. */
uint64_t mem_peek(const struct guest_mem *m, uint64_t addr, unsigned size_bytes);

/* Pages whose content comes when they are touched: `pages` pages from number `page` on are the bytes from piece `id`
 * on. The list belongs to the memory afterwards, and is by page; source is held. Regions are in place. */
struct state_source;
struct mem_run {
	uint64_t page, pages, id;
};
bool mem_lazy_begin(struct guest_mem *m, struct state_source *source, struct mem_run *runs,
		    size_t count, struct err *e);
/* What was not loaded is gone: nothing is mapped any more. A thread may still peek; mem_lazy_end frees. */
void mem_lazy_forget(struct guest_mem *m);
void mem_lazy_end(struct guest_mem *m);
/* Loads what of a range is not there yet. */
void mem_lazy_load(struct guest_mem *m, uint64_t addr, uint64_t length);
/* The host faulted at addr: true if the page was not there and now is. */
bool mem_lazy_fault(struct guest_mem *m, uint64_t addr);
/* Reads n bytes of a page that may not be there yet, without loading it; any thread. False: it is there. */
bool mem_lazy_peek(const struct guest_mem *m, void *dst, uint64_t addr, size_t n);

static inline void mem_load(const struct guest_mem *m, uint64_t addr, uint64_t length)
{
	if (__builtin_expect(m->lazy != NULL, 0))
		mem_lazy_load((struct guest_mem *)(uintptr_t)m, addr, length);
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Guest memory: which pages are mapped, how, and checked copies for system calls.
 *
 * The whole guest address space is one host reservation without access; a guest mapping is a host
 * mapping fixed inside it, so files, shared memory, copy-on-write and lazy zero pages are the host
 * kernel's work. The list of regions is kept because the host's own list cannot be asked cheaply.
 *
 * Write implies read, and execute implies read on the host side (instructions are fetched as data),
 * as on Linux for riscv64 but for execute-only pages, whose loads do not fault here. Not modelled:
 * MAP_GROWSDOWN (the stack is mapped whole, lazily) and huge pages.
 */
#include "guest/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "util/util.h"

#define RESERVED_BYTES	(GUEST_ADDR_LIMIT + 2 * GUEST_GUARD_BYTES)
#define MAP_LOW		0x10000ull
#define MAP_BELOW_STACK 0x3f00000000ull

static void *reserve(void *at, uint64_t length)
{
	return mmap(at, length, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at ? MAP_FIXED : 0), -1, 0);
}

bool mem_init(struct guest_mem *m, struct err *e)
{
	memset(m, 0, sizeof(*m));
	m->map_top = MAP_BELOW_STACK;
	m->base = reserve(NULL, RESERVED_BYTES);
	if (m->base == MAP_FAILED) {
		m->base = NULL;
		return err_set(
		    e, "cannot reserve %llu GiB of address space for the guest: %s (see ulimit -v)",
		    GUEST_ADDR_LIMIT >> 30, strerror(errno));
	}
	m->base += GUEST_GUARD_BYTES;
	m->prot = mmap(NULL, GUEST_ADDR_LIMIT / GUEST_PAGE_BYTES, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (m->prot == MAP_FAILED) {
		m->prot = NULL;
		mem_fini(m);
		return err_set(e, "cannot reserve the guest's page table: %s", strerror(errno));
	}
	return true;
}

static void forget_regions(struct guest_mem *m)
{
	for (size_t i = 0; i < m->nregions; i++)
		free(m->regions[i].name);
	m->nregions = 0;
}

void mem_fini(struct guest_mem *m)
{
	if (m->base)
		munmap(m->base - GUEST_GUARD_BYTES, RESERVED_BYTES);
	if (m->prot)
		munmap(m->prot, GUEST_ADDR_LIMIT / GUEST_PAGE_BYTES);
	forget_regions(m);
	free(m->regions);
	memset(m, 0, sizeof(*m));
}

static void changed(struct guest_mem *m, uint64_t start, uint64_t end)
{
	if (m->code_changed)
		m->code_changed(m->code_changed_ctx, start, end);
}

void mem_reset(struct guest_mem *m)
{
	if (reserve(m->base, GUEST_ADDR_LIMIT) == MAP_FAILED)
		die("out of memory: cannot clear the guest's address space");
	for (size_t i = 0; i < m->nregions; i++)
		memset(m->prot + m->regions[i].start / GUEST_PAGE_BYTES, 0,
		       (m->regions[i].end - m->regions[i].start) / GUEST_PAGE_BYTES);
	madvise(m->prot, GUEST_ADDR_LIMIT / GUEST_PAGE_BYTES, MADV_DONTNEED);
	forget_regions(m);
	m->map_top = MAP_BELOW_STACK;
	changed(m, 0, GUEST_ADDR_LIMIT);
}

/* Index of the first region that ends after addr. */
static size_t region_index(const struct guest_mem *m, uint64_t addr)
{
	size_t low = 0, high = m->nregions;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (m->regions[mid].end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

const struct mem_region *mem_region_at(const struct guest_mem *m, uint64_t addr)
{
	size_t i = region_index(m, addr);

	return i < m->nregions ? &m->regions[i] : NULL;
}

bool mem_is_free(const struct guest_mem *m, uint64_t start, uint64_t end)
{
	size_t i = region_index(m, start);

	return i == m->nregions || m->regions[i].start >= end;
}

static void insert_at(struct guest_mem *m, size_t i, struct mem_region r)
{
	if (m->nregions == m->cap_regions) {
		m->cap_regions = m->cap_regions ? m->cap_regions * 2 : 64;
		m->regions = x_realloc(m->regions, m->cap_regions * sizeof(*m->regions));
	}
	memmove(&m->regions[i + 1], &m->regions[i], (m->nregions - i) * sizeof(*m->regions));
	m->regions[i] = r;
	m->nregions++;
}

static void remove_at(struct guest_mem *m, size_t i)
{
	free(m->regions[i].name);
	m->nregions--;
	memmove(&m->regions[i], &m->regions[i + 1], (m->nregions - i) * sizeof(*m->regions));
}

/* Makes addr a boundary between regions. */
static void split_at(struct guest_mem *m, uint64_t addr)
{
	size_t i = region_index(m, addr);
	struct mem_region tail;

	if (i == m->nregions || m->regions[i].start >= addr)
		return;
	tail = m->regions[i];
	tail.start = addr;
	tail.offset += addr - m->regions[i].start;
	tail.name = tail.name ? x_strdup(tail.name) : NULL;
	m->regions[i].end = addr;
	insert_at(m, i + 1, tail);
}

/* Forgets what is mapped in [start, end); true if there was code. */
static bool cut(struct guest_mem *m, uint64_t start, uint64_t end)
{
	bool code = false;
	size_t i;

	split_at(m, start);
	split_at(m, end);
	i = region_index(m, start);
	while (i < m->nregions && m->regions[i].start < end) {
		code |= m->regions[i].prot & MEM_X;
		remove_at(m, i);
	}
	return code;
}

static bool same_kind(const struct mem_region *a, const struct mem_region *b)
{
	return a->end == b->start && a->prot == b->prot && a->shared == b->shared && !a->file &&
	       !b->file &&
	       ((!a->name && !b->name) || (a->name && b->name && strcmp(a->name, b->name) == 0));
}

static void merge_around(struct guest_mem *m, uint64_t start, uint64_t end)
{
	size_t i = region_index(m, start ? start - 1 : 0);

	while (i + 1 < m->nregions && m->regions[i].start <= end) {
		if (same_kind(&m->regions[i], &m->regions[i + 1])) {
			m->regions[i].end = m->regions[i + 1].end;
			remove_at(m, i + 1);
		} else {
			i++;
		}
	}
}

static void set_prot(struct guest_mem *m, uint64_t start, uint64_t end, unsigned prot)
{
	memset(m->prot + start / GUEST_PAGE_BYTES, (int)prot, (end - start) / GUEST_PAGE_BYTES);
}

static unsigned mem_from_prot(int prot)
{
	unsigned p = 0;

	if (prot & PROT_READ)
		p |= MEM_R;
	if (prot & PROT_WRITE)
		p |= MEM_R | MEM_W;
	if (prot & PROT_EXEC)
		p |= MEM_X;
	return p;
}

static int host_prot(unsigned prot)
{
	return (prot & (MEM_R | MEM_X) ? PROT_READ : 0) |
	       (prot & MEM_W ? PROT_READ | PROT_WRITE : 0);
}

/* The highest free place below map_top, or 0. */
static uint64_t find_free(const struct guest_mem *m, uint64_t length)
{
	uint64_t top = m->map_top;
	size_t i = region_index(m, top - 1);

	/* Regions from i on end above top; only the first of them can begin below it. */
	if (i < m->nregions && m->regions[i].start < top)
		top = m->regions[i].start;
	for (;;) {
		uint64_t floor = i > 0 ? m->regions[i - 1].end : MAP_LOW;

		if (top >= floor && top - floor >= length)
			return top - length;
		if (i == 0)
			return 0;
		i--;
		top = m->regions[i].start;
	}
}

static bool range_ok(uint64_t addr, uint64_t length)
{
	return addr < GUEST_ADDR_LIMIT && length <= GUEST_ADDR_LIMIT - addr;
}

int64_t mem_map(struct guest_mem *m, uint64_t addr, uint64_t length, int prot, int flags,
		int host_fd, uint64_t offset, const char *name)
{
	bool fixed = flags & (MAP_FIXED | MAP_FIXED_NOREPLACE);
	bool shared = (flags & MAP_TYPE) != MAP_PRIVATE;
	unsigned p = mem_from_prot(prot);
	struct mem_region r = { .prot = (uint8_t)p, .shared = shared };
	int host_flags = (shared ? MAP_SHARED : MAP_PRIVATE) | MAP_FIXED | MAP_NORESERVE;
	uint64_t bus_from = UINT64_MAX;
	bool code;

	if (length == 0 || (flags & MAP_TYPE) == 0 || (flags & MAP_TYPE) > MAP_SHARED_VALIDATE)
		return -EINVAL;
	if (length > GUEST_ADDR_LIMIT)
		return -ENOMEM;
	length = page_up(length);
	if (offset & (GUEST_PAGE_BYTES - 1))
		return -EINVAL;
	if (fixed && (addr & (GUEST_PAGE_BYTES - 1)))
		return -EINVAL;
	addr = page_down(addr);
	if (fixed) {
		if (!range_ok(addr, length))
			return -ENOMEM;
		if ((flags & MAP_FIXED_NOREPLACE) && !mem_is_free(m, addr, addr + length))
			return -EEXIST;
	} else if (addr < MAP_LOW || !range_ok(addr, length) ||
		   !mem_is_free(m, addr, addr + length)) {
		addr = find_free(m, length);
		if (!addr)
			return -ENOMEM;
	}

	if (flags & MAP_ANONYMOUS) {
		host_flags |= MAP_ANONYMOUS;
		host_fd = -1;
		offset = 0;
	} else {
		struct stat st;

		if (fstat(host_fd, &st) < 0)
			return -errno;
		r.file = true;
		r.offset = offset;
		r.dev = st.st_dev;
		r.ino = st.st_ino;
		if (S_ISREG(st.st_mode)) {
			uint64_t size = page_up((uint64_t)st.st_size);

			bus_from = offset >= size ? 0 : size - offset;
		}
	}
	if (mmap(m->base + addr, length, host_prot(p), host_flags, host_fd, (off_t)offset) ==
	    MAP_FAILED)
		return -errno;

	code = cut(m, addr, addr + length);
	r.start = addr;
	r.end = addr + length;
	r.name = name ? x_strdup(name) : NULL;
	insert_at(m, region_index(m, addr), r);
	set_prot(m, addr, addr + length, p | MEM_MAPPED);
	if (bus_from < length)
		set_prot(m, addr + bus_from, addr + length, p | MEM_MAPPED | MEM_BUS);
	merge_around(m, addr, addr + length);
	if (code || (p & MEM_X))
		changed(m, addr, addr + length);
	return (int64_t)addr;
}

int64_t mem_unmap(struct guest_mem *m, uint64_t addr, uint64_t length)
{
	bool code;

	if ((addr & (GUEST_PAGE_BYTES - 1)) || length == 0 || length > GUEST_ADDR_LIMIT)
		return -EINVAL;
	length = page_up(length);
	if (!range_ok(addr, length))
		return -EINVAL;
	if (mem_is_free(m, addr, addr + length))
		return 0;
	if (reserve(m->base + addr, length) == MAP_FAILED)
		return -errno;
	/* Only what was mapped has entries to clear; a huge range may be mostly empty. */
	for (size_t i = region_index(m, addr);
	     i < m->nregions && m->regions[i].start < addr + length; i++) {
		uint64_t start = max_u64(addr, m->regions[i].start);
		uint64_t end = min_u64(addr + length, m->regions[i].end);

		set_prot(m, start, end, 0);
	}
	code = cut(m, addr, addr + length);
	if (code)
		changed(m, addr, addr + length);
	return 0;
}

/* True if every page of [start, end) is mapped. */
static bool covered(const struct guest_mem *m, uint64_t start, uint64_t end)
{
	size_t i = region_index(m, start);

	while (i < m->nregions && m->regions[i].start <= start) {
		if (m->regions[i].end >= end)
			return true;
		start = m->regions[i++].end;
	}
	return false;
}

int64_t mem_protect(struct guest_mem *m, uint64_t addr, uint64_t length, int prot)
{
	unsigned p = mem_from_prot(prot);
	bool code = p & MEM_X;

	if (addr & (GUEST_PAGE_BYTES - 1))
		return -EINVAL;
	if (length > GUEST_ADDR_LIMIT)
		return -ENOMEM;
	length = page_up(length);
	if (length == 0)
		return 0;
	if (!range_ok(addr, length) || !covered(m, addr, addr + length))
		return -ENOMEM;
	if (mprotect(m->base + addr, length, host_prot(p)) < 0)
		return -errno;
	split_at(m, addr);
	split_at(m, addr + length);
	for (size_t i = region_index(m, addr);
	     i < m->nregions && m->regions[i].start < addr + length; i++) {
		code |= m->regions[i].prot & MEM_X;
		m->regions[i].prot = (uint8_t)p;
	}
	for (uint64_t page = addr / GUEST_PAGE_BYTES; page < (addr + length) / GUEST_PAGE_BYTES;
	     page++)
		m->prot[page] = (uint8_t)((m->prot[page] & MEM_BUS) | p | MEM_MAPPED);
	merge_around(m, addr, addr + length);
	if (code)
		changed(m, addr, addr + length);
	return 0;
}

/* Moves pages and leaves the old place reserved, so that nothing of the host can settle there. */
static int move_pages(struct guest_mem *m, uint64_t from, uint64_t to, uint64_t length)
{
	if (mremap(m->base + from, length, length, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP,
		   m->base + to) != MAP_FAILED)
		return reserve(m->base + from, length) == MAP_FAILED ? -errno : 0;
	if (errno != EINVAL)
		return -errno;
	/* An older kernel, or a kind of mapping that it cannot keep: there is a moment without
	 * reservation. */
	if (mremap(m->base + from, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, m->base + to) ==
	    MAP_FAILED)
		return -errno;
	return mmap(m->base + from, length, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1,
		    0) == MAP_FAILED
		   ? -errno
		   : 0;
}

/* Adds length bytes behind region r, which ends at end, where [end, end + length) is free. */
static int64_t extend(struct guest_mem *m, const struct mem_region *r, uint64_t end,
		      uint64_t length)
{
	int flags = (r->shared ? MAP_SHARED : MAP_PRIVATE) | MAP_FIXED;
	int prot = (r->prot & MEM_R ? PROT_READ : 0) | (r->prot & MEM_W ? PROT_WRITE : 0) |
		   (r->prot & MEM_X ? PROT_EXEC : 0);

	return mem_map(m, end, length, prot, flags | MAP_ANONYMOUS, -1, 0, r->name);
}

int64_t mem_remap(struct guest_mem *m, uint64_t addr, uint64_t old_length, uint64_t new_length,
		  int flags, uint64_t new_addr)
{
	struct mem_region r;
	const struct mem_region *at;
	uint64_t to, kept;
	int64_t got;
	int err;

	if ((flags & ~(MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP)) ||
	    (addr & (GUEST_PAGE_BYTES - 1)))
		return -EINVAL;
	if ((flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) && !(flags & MREMAP_MAYMOVE))
		return -EINVAL;
	if (flags & MREMAP_DONTUNMAP)
		return -EINVAL; /* callers fall back */
	if (new_length == 0 || new_length > GUEST_ADDR_LIMIT || old_length > GUEST_ADDR_LIMIT)
		return -EINVAL;
	old_length = page_up(old_length);
	new_length = page_up(new_length);
	if (old_length == 0)
		return -EINVAL;
	at = mem_region_at(m, addr);
	if (!range_ok(addr, old_length) || !at || at->start > addr ||
	    !covered(m, addr, addr + old_length))
		return -EFAULT;
	if (flags & MREMAP_FIXED) {
		if ((new_addr & (GUEST_PAGE_BYTES - 1)) || !range_ok(new_addr, new_length) ||
		    (new_addr < addr + old_length && addr < new_addr + new_length))
			return -EINVAL;
	} else if (new_length <= old_length) {
		if (new_length < old_length)
			mem_unmap(m, addr + new_length, old_length - new_length);
		return (int64_t)addr;
	}
	if (at->end < addr + old_length)
		return -EFAULT; /* spans mappings of different kinds */

	r = *at;
	r.name = r.name ? x_strdup(r.name) : NULL;
	got = -ENOMEM;
	if (!(flags & MREMAP_FIXED) && r.end == addr + old_length && !r.file && !r.shared &&
	    range_ok(addr, new_length) && mem_is_free(m, addr + old_length, addr + new_length)) {
		got = extend(m, &r, addr + old_length, new_length - old_length);
		if (got >= 0)
			got = (int64_t)addr;
		goto out;
	}
	if (!(flags & MREMAP_MAYMOVE))
		goto out;

	to = flags & MREMAP_FIXED ? new_addr : find_free(m, new_length);
	if (!to && !(flags & MREMAP_FIXED))
		goto out;
	if (flags & MREMAP_FIXED)
		mem_unmap(m, to, new_length);
	kept = min_u64(old_length, new_length);
	if (new_length < old_length)
		mem_unmap(m, addr + new_length, old_length - new_length);
	if (r.file || r.shared) {
		/* The host knows what lies behind the end of the file mapping; let it grow it while
		 * moving. */
		if (mremap(m->base + addr, kept, new_length, MREMAP_MAYMOVE | MREMAP_FIXED,
			   m->base + to) == MAP_FAILED) {
			got = -errno;
			goto out;
		}
		mmap(m->base + addr, kept, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
	} else {
		err = move_pages(m, addr, to, kept);
		if (err) {
			got = err;
			goto out;
		}
	}
	for (size_t i = 0; i < kept / GUEST_PAGE_BYTES; i++)
		m->prot[to / GUEST_PAGE_BYTES + i] = m->prot[addr / GUEST_PAGE_BYTES + i];
	set_prot(m, addr, addr + kept, 0);
	r.offset += addr - r.start;
	cut(m, addr, addr + kept);
	insert_at(m, region_index(m, to),
		  (struct mem_region){ .start = to,
				       .end = to + (r.file || r.shared ? new_length : kept),
				       .prot = r.prot,
				       .shared = r.shared,
				       .file = r.file,
				       .offset = r.offset,
				       .dev = r.dev,
				       .ino = r.ino,
				       .name = r.name ? x_strdup(r.name) : NULL });
	if (r.prot & MEM_X) {
		changed(m, addr, addr + old_length);
		changed(m, to, to + new_length);
	}
	got = (int64_t)to;
	if (new_length > kept) {
		if (r.file || r.shared)
			set_prot(m, to + kept, to + new_length, r.prot | MEM_MAPPED | MEM_BUS);
		else if (extend(m, &r, to + kept, new_length - kept) < 0)
			got = -ENOMEM;
	}
out:
	free(r.name);
	return got;
}

void mem_file_cut(struct guest_mem *m, uint64_t dev, uint64_t ino)
{
	for (size_t i = 0; i < m->nregions; i++) {
		const struct mem_region *r = &m->regions[i];

		if (r->file && r->dev == dev && r->ino == ino)
			set_prot(m, r->start, r->end, r->prot | MEM_MAPPED | MEM_BUS);
	}
}

/* Every page of the range has want; *bus if touching one may raise SIGBUS. */
static bool check(const struct guest_mem *m, uint64_t addr, size_t n, unsigned want, bool *bus)
{
	unsigned seen = 0;

	if (!range_ok(addr, n))
		return false;
	for (uint64_t page = addr / GUEST_PAGE_BYTES; page <= (addr + n - 1) / GUEST_PAGE_BYTES;
	     page++) {
		if ((m->prot[page] & want) != want)
			return false;
		seen |= m->prot[page];
	}
	*bus = seen & MEM_BUS;
	return true;
}

/* Copies that the host kernel makes: it answers a page beyond the end of a file with an error. */
static int copy_by_kernel(const void *host, void *buf, size_t n, bool write)
{
	struct iovec local = { buf, n }, remote = { (void *)(uintptr_t)host, n };
	ssize_t got = write ? process_vm_writev(getpid(), &local, 1, &remote, 1, 0)
			    : process_vm_readv(getpid(), &local, 1, &remote, 1, 0);

	return got == (ssize_t)n ? 0 : -EFAULT;
}

int mem_read(const struct guest_mem *m, void *dst, uint64_t addr, size_t n)
{
	bool bus;

	if (n == 0)
		return 0;
	if (!check(m, addr, n, MEM_R, &bus))
		return -EFAULT;
	if (unlikely(bus))
		return copy_by_kernel(m->base + addr, dst, n, false);
	memcpy(dst, m->base + addr, n);
	return 0;
}

int mem_write(struct guest_mem *m, uint64_t addr, const void *src, size_t n)
{
	bool bus;

	if (n == 0)
		return 0;
	if (!check(m, addr, n, MEM_R | MEM_W, &bus))
		return -EFAULT;
	if (unlikely(bus)) {
		if (copy_by_kernel(m->base + addr, (void *)(uintptr_t)src, n, true) < 0)
			return -EFAULT;
	} else {
		memcpy(m->base + addr, src, n);
	}
	mem_written(m, addr, n);
	return 0;
}

void mem_written(struct guest_mem *m, uint64_t addr, uint64_t n)
{
	if (n == 0 || !range_ok(addr, n))
		return;
	for (uint64_t page = addr / GUEST_PAGE_BYTES; page <= (addr + n - 1) / GUEST_PAGE_BYTES;
	     page++) {
		if (m->prot[page] & MEM_X) {
			changed(m, addr, addr + n);
			return;
		}
	}
}

int64_t mem_read_string(const struct guest_mem *m, char *dst, uint64_t addr, size_t size_bytes)
{
	size_t done = 0;

	while (done < size_bytes) {
		size_t n = GUEST_PAGE_BYTES - ((addr + done) & (GUEST_PAGE_BYTES - 1));
		const char *zero;

		if (n > size_bytes - done)
			n = size_bytes - done;
		if (mem_read(m, dst + done, addr + done, n) < 0)
			return -EFAULT;
		zero = memchr(dst + done, 0, n);
		if (zero)
			return zero - dst;
		done += n;
	}
	return -ENAMETOOLONG;
}

uint64_t mem_peek(const struct guest_mem *m, uint64_t addr, unsigned size_bytes)
{
	uint64_t value = 0;
	bool bus;

	if (size_bytes > 8)
		size_bytes = 8;
	if (likely(size_bytes && check(m, addr, size_bytes, MEM_R, &bus))) {
		if (unlikely(bus))
			return copy_by_kernel(m->base + addr, &value, size_bytes, false) ? 0
											 : value;
		memcpy(&value, m->base + addr, size_bytes);
		return value;
	}
	for (unsigned i = 0; i < size_bytes; i++) {
		uint8_t byte = 0;

		if (mem_read(m, &byte, addr + i, 1) == 0)
			value |= (uint64_t)byte << (8 * i);
	}
	return value;
}

/* SPDX-License-Identifier: MIT */
/*
 * Guest memory: which pages are mapped, and how.
 *
 * The whole guest address space is one host reservation without access (reserve.c); a guest mapping
 * is a host mapping inside it, so files, shared memory, copy-on-write and lazy zero pages are the
 * host kernel's work. The list of regions is kept because the host's own list cannot be asked
 * cheaply; debug builds compare the two after every call.
 *
 * What a child process does not inherit is kept in the list and taken away after the fork, because
 * the host's own MADV_DONTFORK would leave a hole in the child. For the same reason only files and
 * /dev/zero can be mapped: other devices may choose not to be inherited.
 *
 * Write implies read, and execute implies read on the host side (instructions are fetched as data),
 * as on Linux for riscv64 but for execute-only pages, whose loads do not fault here. Not modelled:
 * MAP_GROWSDOWN (the stack is mapped whole, lazily) and huge pages.
 */
#include "guest/memory/mem.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "util/array.h"
#include "util/util.h"

#define MAP_LOW		0x10000ull
#define MAP_BELOW_STACK 0x3f00000000ull

bool mem_init(struct guest_mem *m, struct err *e)
{
	memset(m, 0, sizeof(*m));
	m->map_top = MAP_BELOW_STACK;
	if (!reserve_open(&m->reserve, e))
		return false;
	m->base = m->reserve.base;
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
	mem_lazy_end(m);
	reserve_close(&m->reserve);
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
	mem_lazy_forget(m);
	reserve_clear(&m->reserve, 0, GUEST_ADDR_LIMIT);
	m->reserve.maps = 1;
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
	return ARRAY_SEARCH(m->nregions, i, m->regions[i].end <= addr);
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
	ARRAY_ROOM(m->regions, m->cap_regions, m->nregions + 1);
	memmove(&m->regions[i + 1], &m->regions[i], (m->nregions - i) * sizeof(*m->regions));
	m->regions[i] = r;
	m->nregions++;
}

static void remove_at(struct guest_mem *m, size_t i, size_t count)
{
	for (size_t k = i; k < i + count; k++)
		free(m->regions[k].name);
	m->nregions -= count;
	memmove(&m->regions[i], &m->regions[i + count], (m->nregions - i) * sizeof(*m->regions));
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
	size_t first, i;

	split_at(m, start);
	split_at(m, end);
	first = region_index(m, start);
	for (i = first; i < m->nregions && m->regions[i].start < end; i++)
		code |= m->regions[i].prot & MEM_X;
	if (i > first)
		remove_at(m, first, i - first);
	return code;
}

static bool same_name(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_kind(const struct mem_region *a, const struct mem_region *b)
{
	return a->end == b->start && a->prot == b->prot && !b->shared && !a->file && !b->file &&
	       !a->shared && a->no_fork == b->no_fork && a->wipe_on_fork == b->wipe_on_fork &&
	       same_name(a->name, b->name);
}

static void merge_around(struct guest_mem *m, uint64_t start, uint64_t end)
{
	size_t i = region_index(m, start ? start - 1 : 0);

	while (i + 1 < m->nregions && m->regions[i].start <= end) {
		if (same_kind(&m->regions[i], &m->regions[i + 1])) {
			m->regions[i].end = m->regions[i + 1].end;
			remove_at(m, i + 1, 1);
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

/* A debug build looks after every call, or with many regions after some: each look reads them all.
 */
static void checked(struct guest_mem *m)
{
#ifndef NDEBUG
	const char *why;

	if (++m->reserve.unchecked <= m->nregions / 32)
		return;
	m->reserve.unchecked = 0;
	why = mem_verify(m);
	if (why)
		warn("the guest's address space is not as it should be: %s", why);
	assert(!why);
#else
	(void)m;
#endif
}

/* The list and the table forget [start, end), which the host has cleared. */
static void forget(struct guest_mem *m, uint64_t start, uint64_t end)
{
	/* Only mapped pages have entries to clear: a huge range may be mostly empty. */
	for (size_t i = region_index(m, start); i < m->nregions && m->regions[i].start < end; i++)
		set_prot(m, max_u64(start, m->regions[i].start), min_u64(end, m->regions[i].end),
			 0);
	if (cut(m, start, end))
		changed(m, start, end);
}

/* How many bytes of a file's mapping (length bytes from offset) can be touched without SIGBUS;
 * -errno if the file is of a kind that is not mapped (see the top of this file). */
static int64_t describe_file(struct mem_region *r, int fd, uint64_t offset, uint64_t length)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) && !(S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 5)))
		return -ENODEV;
	r->file = true;
	r->offset = offset;
	r->dev = st.st_dev;
	r->ino = st.st_ino;
	if (S_ISREG(st.st_mode)) {
		uint64_t size = page_up((uint64_t)st.st_size);

		return (int64_t)(offset >= size ? 0 : min_u64(size - offset, length));
	}
	return (int64_t)length;
}

int64_t mem_map(struct guest_mem *m, uint64_t addr, uint64_t length, int prot, int flags,
		int host_fd, uint64_t offset, const char *name)
{
	bool fixed = flags & (MAP_FIXED | MAP_FIXED_NOREPLACE);
	bool shared = (flags & MAP_TYPE) != MAP_PRIVATE;
	unsigned p = mem_from_prot(prot);
	struct mem_region r = { .prot = (uint8_t)p, .shared = shared };
	int host_flags = shared ? MAP_SHARED : MAP_PRIVATE, err;
	int64_t backed;
	enum reserve_lost lost;
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
		if (!mem_range_ok(addr, length))
			return -ENOMEM;
		if ((flags & MAP_FIXED_NOREPLACE) && !mem_is_free(m, addr, addr + length))
			return -EEXIST;
	} else if (addr < MAP_LOW || !mem_range_ok(addr, length) ||
		   !mem_is_free(m, addr, addr + length)) {
		addr = find_free(m, length);
		if (!addr)
			return -ENOMEM;
	}

	backed = (int64_t)length;
	if (flags & MAP_ANONYMOUS) {
		host_flags |= MAP_ANONYMOUS;
		host_fd = -1;
		offset = 0;
	} else {
		if (offset > INT64_MAX - length)
			return -EOVERFLOW;
		backed = describe_file(&r, host_fd, offset, length);
		if (backed < 0)
			return backed;
	}
	if (!reserve_has_room(&m->reserve, 2))
		return -ENOMEM;
	err = reserve_map(&m->reserve, addr, length, host_prot(p), host_flags, host_fd, offset,
			  &lost);
	if (err) {
		if (lost)
			forget(m, addr, addr + length);
		checked(m);
		return err;
	}

	code = cut(m, addr, addr + length);
	r.start = addr;
	r.end = addr + length;
	r.name = name ? x_strdup(name) : NULL;
	insert_at(m, region_index(m, addr), r);
	set_prot(m, addr, addr + length, p | MEM_MAPPED);
	if ((uint64_t)backed < length)
		set_prot(m, addr + (uint64_t)backed, addr + length, p | MEM_MAPPED | MEM_BUS);
	merge_around(m, addr, addr + length);
	if (code || (p & MEM_X))
		changed(m, addr, addr + length);
	checked(m);
	return (int64_t)addr;
}

int mem_restore(struct guest_mem *m, const struct mem_region *like, int fd, uint64_t offset)
{
	const uint64_t length = like->end - like->start;
	struct mem_region r = *like;
	int64_t backed = (int64_t)length;
	enum reserve_lost lost;
	int err, flags = r.shared ? MAP_SHARED : MAP_PRIVATE;

	if (!mem_range_ok(r.start, length) || !mem_is_free(m, r.start, r.end))
		return -EEXIST;
	if (!reserve_has_room(&m->reserve, 2))
		return -ENOMEM;
	if (fd >= 0) {
		if (offset > INT64_MAX - length)
			return -EOVERFLOW;
		backed = describe_file(&r, fd, offset, length);
		if (backed < 0)
			return (int)backed;
	} else {
		flags |= MAP_ANONYMOUS;
	}
	err =
	    reserve_map(&m->reserve, r.start, length, host_prot(r.prot), flags, fd, offset, &lost);
	if (err)
		return err;
	if (r.no_fork)
		reserve_advise(&m->reserve, r.start, length, MADV_DONTDUMP);
	r.file = like->file;
	r.offset = like->offset;
	r.name = like->name ? x_strdup(like->name) : NULL;
	insert_at(m, region_index(m, r.start), r);
	set_prot(m, r.start, r.end, r.prot | MEM_MAPPED);
	if ((uint64_t)backed < length)
		set_prot(m, r.start + (uint64_t)backed, r.end, r.prot | MEM_MAPPED | MEM_BUS);
	checked(m);
	return 0;
}

/* Whether the host certainly has different mappings before and after addr. Pages without a region
 * are private and without access. */
static bool is_host_edge(const struct guest_mem *m, uint64_t addr)
{
	static const struct mem_region none = { 0 };
	const struct mem_region *right = mem_region_at(m, addr), *left = &none;

	if (addr > 0) {
		left = mem_region_at(m, addr - 1);
		if (!left || left->start >= addr)
			left = &none;
	}
	if (!right || right->start > addr)
		right = &none;
	return host_prot(left->prot) != host_prot(right->prot) || left->shared != right->shared ||
	       left->file != right->file;
}

int64_t mem_unmap(struct guest_mem *m, uint64_t addr, uint64_t length)
{
	if ((addr & (GUEST_PAGE_BYTES - 1)) || length == 0 || length > GUEST_ADDR_LIMIT)
		return -EINVAL;
	length = page_up(length);
	if (!mem_range_ok(addr, length))
		return -EINVAL;
	if (mem_is_free(m, addr, addr + length))
		return 0;
	/* Unmapping adds no host mapping where there is an edge already, so a guest at the limit
	 * can still free memory. */
	if (!reserve_has_room(&m->reserve,
			      (size_t)!is_host_edge(m, addr) + !is_host_edge(m, addr + length)))
		return -ENOMEM;
	reserve_clear(&m->reserve, addr, length);
	forget(m, addr, addr + length);
	checked(m);
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

int64_t mem_check_mapped(const struct guest_mem *m, uint64_t addr, uint64_t length)
{
	if (addr & (GUEST_PAGE_BYTES - 1))
		return -EINVAL;
	if (length == 0)
		return 0;
	if (length > GUEST_ADDR_LIMIT || !mem_range_ok(addr, page_up(length)))
		return -ENOMEM;
	return covered(m, addr, addr + page_up(length)) ? 0 : -ENOMEM;
}

int64_t mem_protect(struct guest_mem *m, uint64_t addr, uint64_t length, int prot)
{
	unsigned p = mem_from_prot(prot);
	uint64_t end;
	int64_t err;
	bool code = p & MEM_X;

	err = mem_check_mapped(m, addr, length);
	if (err || length == 0)
		return err;
	end = addr + page_up(length);
	mem_load(m, addr, end - addr);
	if (!reserve_has_room(&m->reserve, 2))
		return -ENOMEM;
	split_at(m, addr);
	split_at(m, end);
	/* Region by region: if a read-only file refuses, the regions before it stay changed, as on
	 * Linux. */
	for (size_t i = region_index(m, addr); i < m->nregions && m->regions[i].start < end; i++) {
		struct mem_region *r = &m->regions[i];

		err = reserve_protect(&m->reserve, r->start, r->end - r->start, host_prot(p));
		if (err) {
			end = r->start;
			break;
		}
		code |= r->prot & MEM_X;
		r->prot = (uint8_t)p;
	}
	for (uint64_t page = addr / GUEST_PAGE_BYTES; page < end / GUEST_PAGE_BYTES; page++)
		m->prot[page] = (uint8_t)(p | MEM_MAPPED | (m->prot[page] & MEM_BUS));
	merge_around(m, addr, end);
	if (code && end > addr)
		changed(m, addr, end);
	checked(m);
	return err;
}

/* Adds length anonymous private bytes like those of region r at addr. */
static int64_t map_more(struct guest_mem *m, const struct mem_region *r, uint64_t addr,
			uint64_t length)
{
	int prot = (r->prot & MEM_R ? PROT_READ : 0) | (r->prot & MEM_W ? PROT_WRITE : 0) |
		   (r->prot & MEM_X ? PROT_EXEC : 0);
	int64_t got =
	    mem_map(m, addr, length, prot, MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, -1, 0, r->name);

	if (got >= 0 && r->no_fork)
		mem_advise(m, addr, length, MADV_DONTFORK);
	if (got >= 0 && r->wipe_on_fork)
		mem_advise(m, addr, length, MADV_WIPEONFORK);
	return got;
}

/* Moves length bytes of region r from `from` to `to`, where new_length bytes are free. */
static int64_t move_region(struct guest_mem *m, const struct mem_region *r, uint64_t from,
			   uint64_t to, uint64_t length, uint64_t new_length)
{
	bool object = r->file || r->shared;
	struct mem_region moved = *r;
	unsigned lost = LOST_NOTHING;
	int64_t err = 0;

	if (!object && new_length > length) {
		err = map_more(m, r, to + length, new_length - length);
		if (err < 0)
			return err;
	}
	if (!reserve_has_room(&m->reserve, 4))
		err = -ENOMEM;
	else if (object)
		err = reserve_move_object(&m->reserve, from, to, length, new_length, &lost);
	else
		err = reserve_move(&m->reserve, from, to, length, &lost);
	if (err) {
		if (lost & LOST_SOURCE)
			forget(m, from, from + length);
		if (!object && new_length > length)
			mem_unmap(m, to + length, new_length - length);
		checked(m);
		return err;
	}

	memcpy(m->prot + to / GUEST_PAGE_BYTES, m->prot + from / GUEST_PAGE_BYTES,
	       length / GUEST_PAGE_BYTES);
	moved.offset += from - r->start;
	moved.start = to;
	moved.end = to + (object ? new_length : length);
	moved.name = r->name ? x_strdup(r->name) : NULL;
	forget(m, from, from + length);
	insert_at(m, region_index(m, to), moved);
	if (object && new_length > length)
		set_prot(m, to + length, to + new_length, r->prot | MEM_MAPPED | MEM_BUS);
	merge_around(m, to, to + new_length);
	if (r->prot & MEM_X)
		changed(m, to, to + new_length);
	checked(m);
	return (int64_t)to;
}

int64_t mem_remap(struct guest_mem *m, uint64_t addr, uint64_t old_length, uint64_t new_length,
		  int flags, uint64_t new_addr)
{
	struct mem_region r;
	const struct mem_region *at;
	uint64_t to;
	int64_t got = -ENOMEM;

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
	if (!mem_range_ok(addr, old_length) || !at || at->start > addr ||
	    !covered(m, addr, addr + old_length))
		return -EFAULT;
	if (flags & MREMAP_FIXED) {
		if ((new_addr & (GUEST_PAGE_BYTES - 1)) || !mem_range_ok(new_addr, new_length) ||
		    (new_addr < addr + old_length && addr < new_addr + new_length))
			return -EINVAL;
	} else if (new_length <= old_length) {
		if (new_length < old_length)
			got = mem_unmap(m, addr + new_length, old_length - new_length);
		return new_length < old_length && got < 0 ? got : (int64_t)addr;
	}
	if (at->end < addr + old_length)
		return -EFAULT; /* spans mappings of different kinds */
	mem_load(m, addr, old_length);

	r = *at;
	r.name = r.name ? x_strdup(r.name) : NULL;
	if (!(flags & MREMAP_FIXED) && r.end == addr + old_length && !r.file && !r.shared &&
	    mem_range_ok(addr, new_length) &&
	    mem_is_free(m, addr + old_length, addr + new_length)) {
		got = map_more(m, &r, addr + old_length, new_length - old_length);
		if (got >= 0)
			got = (int64_t)addr;
		goto out;
	}
	if (!(flags & MREMAP_MAYMOVE))
		goto out;
	to = flags & MREMAP_FIXED ? new_addr : find_free(m, new_length);
	if (!to && !(flags & MREMAP_FIXED))
		goto out;
	got = flags & MREMAP_FIXED ? mem_unmap(m, to, new_length) : 0;
	if (got == 0 && new_length < old_length)
		got = mem_unmap(m, addr + new_length, old_length - new_length);
	if (got == 0)
		got = move_region(m, &r, addr, to, min_u64(old_length, new_length), new_length);
out:
	free(r.name);
	return got;
}

static bool is_private_anonymous(const struct guest_mem *m, uint64_t start, uint64_t end)
{
	for (size_t i = region_index(m, start); i < m->nregions && m->regions[i].start < end; i++)
		if (m->regions[i].file || m->regions[i].shared)
			return false;
	return true;
}

static int64_t advise_fork(struct guest_mem *m, uint64_t start, uint64_t end, int advice)
{
	if (advice == MADV_WIPEONFORK && !is_private_anonymous(m, start, end))
		return -EINVAL;
	if (advice == MADV_DONTFORK || advice == MADV_DOFORK) {
		int err;

		if (!reserve_has_room(&m->reserve, 2))
			return -ENOMEM;
		/* Makes these pages differ on the host too, so that they are a mapping of their own
		 * as on Linux: removing them in a child then needs no additional mapping. */
		err = reserve_advise(&m->reserve, start, end - start,
				     advice == MADV_DONTFORK ? MADV_DONTDUMP : MADV_DODUMP);
		if (err)
			return err;
	}
	split_at(m, start);
	split_at(m, end);
	for (size_t i = region_index(m, start); i < m->nregions && m->regions[i].start < end; i++) {
		struct mem_region *r = &m->regions[i];

		r->no_fork = advice == MADV_DONTFORK || (advice != MADV_DOFORK && r->no_fork);
		r->wipe_on_fork =
		    advice == MADV_WIPEONFORK || (advice != MADV_KEEPONFORK && r->wipe_on_fork);
	}
	merge_around(m, start, end);
	return 0;
}

int64_t mem_advise(struct guest_mem *m, uint64_t addr, uint64_t length, int advice)
{
	int64_t err = mem_check_mapped(m, addr, length);

	if (err || length == 0)
		return err;
	length = page_up(length);
	mem_load(m, addr, length);
	switch (advice) {
	case MADV_FREE: /* at once, so that what a later read gives does not depend on the host */
		if (!is_private_anonymous(m, addr, addr + length))
			return -EINVAL;
		advice = MADV_DONTNEED;
		/* fall through */
	case MADV_DONTNEED:
	case MADV_REMOVE:
		err = reserve_advise(&m->reserve, addr, length, advice);
		if (!err)
			mem_written(m, addr, length);
		break;
	case MADV_DONTFORK:
	case MADV_DOFORK:
	case MADV_WIPEONFORK:
	case MADV_KEEPONFORK:
		err = advise_fork(m, addr, addr + length, advice);
		break;
	case MADV_NORMAL:
	case MADV_RANDOM:
	case MADV_SEQUENTIAL:
	case MADV_WILLNEED:
	case MADV_MERGEABLE:
	case MADV_UNMERGEABLE:
	case MADV_HUGEPAGE:
	case MADV_NOHUGEPAGE:
	case MADV_DONTDUMP:
	case MADV_DODUMP:
	case MADV_COLD:
	case MADV_PAGEOUT:
	case 22: /* MADV_POPULATE_READ */
	case 23: /* MADV_POPULATE_WRITE */
	case 25: /* MADV_COLLAPSE */
		return 0;
	default:
		return -EINVAL;
	}
	checked(m);
	return err;
}

void mem_after_fork(struct guest_mem *m)
{
	size_t kept = 0;

	/* One pass: with many regions, moving the rest up for each one that goes takes seconds. */
	for (size_t i = 0; i < m->nregions; i++) {
		struct mem_region *r = &m->regions[i];
		uint64_t start = r->start, end = r->end;

		/* A file may have refused to be inherited. */
		if (r->no_fork ||
		    (r->file && !reserve_is_whole(&m->reserve, (int64_t)start, end - start))) {
			reserve_clear(&m->reserve, start, end - start);
			set_prot(m, start, end, 0);
			if (r->prot & MEM_X)
				changed(m, start, end);
			free(r->name);
			continue;
		}
		if (r->wipe_on_fork) {
			if (reserve_advise(&m->reserve, start, end - start, MADV_DONTNEED))
				die("out of memory: cannot empty memory of a forked process");
			mem_written(m, start, end - start);
		}
		m->regions[kept++] = *r;
	}
	m->nregions = kept;
	if (!reserve_is_whole(&m->reserve, -(int64_t)GUEST_GUARD_BYTES,
			      GUEST_ADDR_LIMIT + 2 * GUEST_GUARD_BYTES))
		die("the address space of a forked process has a hole");
	checked(m);
}

struct verify {
	const struct guest_mem *m;
	int64_t at; /* everything before it has been seen */
	const char *why;
};

static void verify_mapping(void *ctx, const struct reserve_mapping *map)
{
	struct verify *v = ctx;
	const struct guest_mem *m = v->m;
	int64_t at = map->start;

	if (map->start > v->at)
		v->why = "there is a hole in it";
	v->at = map->end;
	if (map->prot[2] != '-')
		v->why = "something in it can be executed on the host";
	while (!v->why && at < map->end) {
		const struct mem_region *r = at < 0 ? NULL : mem_region_at(m, (uint64_t)at);
		int64_t end = at < 0 ? 0 : map->end;
		int prot = 0;

		if (r && r->start <= (uint64_t)at) {
			const bool lazy = mem_page_has(m, (uint64_t)at, MEM_LAZY);
			uint64_t page = (uint64_t)at;

			prot = lazy ? 0 : host_prot(r->prot);
			end = min_u64((uint64_t)end, r->end);
			while (m->lazy && page < (uint64_t)end &&
			       mem_page_has(m, page, MEM_LAZY) == lazy)
				page += GUEST_PAGE_BYTES;
			end = m->lazy ? (int64_t)page : end;
		} else {
			if (r)
				end = min_u64((uint64_t)end, r->start);
			r = NULL;
		}
		if ((map->prot[0] == 'r') != !!(prot & PROT_READ) ||
		    (map->prot[1] == 'w') != !!(prot & PROT_WRITE))
			v->why = "the host's protection is not the guest's";
		else if ((map->prot[3] == 's') != (r && r->shared))
			v->why = "shared memory and private memory are confused";
		else if ((map->inode != 0) != (r && (r->file || r->shared)))
			v->why = "a file stands where none should, or none where one should";
		at = end;
	}
}

const char *mem_verify(const struct guest_mem *m)
{
	struct verify v = { .m = m, .at = -(int64_t)GUEST_GUARD_BYTES };

	if (!reserve_each(&m->reserve, verify_mapping, &v))
		return NULL;
	if (!v.why && v.at < (int64_t)(GUEST_ADDR_LIMIT + GUEST_GUARD_BYTES))
		v.why = "its end is missing";
	for (size_t i = 0; !v.why && i < m->nregions; i++) {
		const struct mem_region *r = &m->regions[i];

		if (r->start >= r->end || (i && m->regions[i - 1].end > r->start))
			v.why = "regions overlap";
		if (!mem_page_has(m, r->start, r->prot | MEM_MAPPED) ||
		    !mem_page_has(m, r->end - 1, r->prot | MEM_MAPPED))
			v.why = "the table of pages and the list of regions differ";
	}
	return v.why;
}

void mem_file_cut(struct guest_mem *m, uint64_t dev, uint64_t ino)
{
	for (size_t i = 0; i < m->nregions; i++) {
		const struct mem_region *r = &m->regions[i];

		if (!r->file || r->dev != dev || r->ino != ino)
			continue;
		mem_load(m, r->start, r->end - r->start);
		set_prot(m, r->start, r->end, r->prot | MEM_MAPPED | MEM_BUS);
	}
}

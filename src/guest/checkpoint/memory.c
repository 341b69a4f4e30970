/* SPDX-License-Identifier: MIT */
/*
 * Memory in a checkpoint: its regions, and the pages that are not what the region's kind says by itself. A page of zeros
 * in anonymous memory, and a page of a file's mapping that the guest has not changed, are not kept: the file is named
 * instead, by its digest (input.c) or by the number under which section descriptors has it.
 *
 * Which pages a process has is asked of the host's kernel (/proc/self/pagemap), so that address space that was only
 * reserved costs nothing; where the kernel does not say, every page is looked at.
 *
 * After the restore, pages come when they are touched (guest/memory/lazy.c).
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "guest/checkpoint/checkpoint.h"
#include "guest/checkpoint/parts.h"
#include "guest/files/path.h"
#include "guest/memory/mem.h"
#include "guest/process/process.h"
#include "state/file.h"
#include "util/array.h"

#define RUNS_MAX   (1u << 26)	/* as many as there are pages */
#define FILE_PAGES (1u << 20)	/* changed pages of files' mappings; they are loaded at once */
#define PRESENT	   (3ull << 62) /* of an entry of pagemap: in memory, or swapped out */
#define OF_FILE	   (1ull << 61) /* the page is the file's own, or shared */
#define LOOK	   4096u	/* entries of pagemap that are read at a time */

enum region_kind {
	REGION_PLAIN,	 /* anonymous */
	REGION_SHARED,	 /* anonymous and shared */
	REGION_NUMBERED, /* a file of section descriptors */
	REGION_INPUT,	 /* a file that is named by its digest */
	REGION_ZERO,	 /* /dev/zero */
	REGION_SEGMENT,	 /* System V shared memory */
	REGION_KEPT,	 /* a file that can no longer be opened: its pages are here */
	REGION_KINDS,
};

struct region_file {
	enum region_kind kind;
	uint32_t number; /* REGION_NUMBERED */
	int fd;		 /* REGION_INPUT */
	uint64_t backed; /* bytes of REGION_SHARED and REGION_KEPT that have content */
};

struct pages {
	struct mem_run *runs;
	size_t count, capacity;
	uint64_t file_pages;
};

bool page_is_zero(const void *page)
{
	const uint64_t *at = page;

	for (size_t i = 0; i < GUEST_PAGE_BYTES / 8; i += 8)
		if (at[i] | at[i + 1] | at[i + 2] | at[i + 3] | at[i + 4] | at[i + 5] | at[i + 6] |
		    at[i + 7])
			return false;
	return true;
}

static bool is_file(int fd, uint64_t dev, uint64_t ino)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_dev == dev && st.st_ino == ino;
}

static uint64_t backed_bytes(const struct guest_mem *m, const struct mem_region *r)
{
	uint64_t at = r->start;

	while (at < r->end && !mem_page_has(m, at, MEM_BUS))
		at += GUEST_PAGE_BYTES;
	return at - r->start;
}

/* Opens the file of a region by its name, if that still leads to it; -1. */
static int open_mapped(struct guest *g, const struct mem_region *r)
{
	struct path_at at;
	int fd;

	if (!r->name || path_find(g, (uint64_t)AT_FDCWD, r->name, PATH_FOLLOW, &at) < 0)
		return -1;
	fd = at.node.row ? -1 : path_open(g, &at, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0);
	path_done(&at);
	if (fd >= 0 && !is_file(fd, r->dev, r->ino)) {
		close(fd);
		fd = -1;
	}
	return fd < 0 ? -1 : fd;
}

static struct region_file classify(struct guest *g, const struct mem_region *r)
{
	struct region_file f = { .fd = -1, .kind = r->shared ? REGION_SHARED : REGION_PLAIN };
	struct stat zero;

	f.backed = r->end - r->start;
	if (!r->file) {
		f.backed = r->shared ? backed_bytes(&g->mem, r) : f.backed;
		return f;
	}
	if (is_file(g->shared_fd, r->dev, r->ino)) {
		f.kind = REGION_SEGMENT;
	} else if ((f.number = checkpoint_file_number(g, r->dev, r->ino))) {
		f.kind = REGION_NUMBERED;
	} else if (stat("/dev/zero", &zero) == 0 && zero.st_dev == r->dev &&
		   zero.st_ino == r->ino) {
		f.kind = REGION_ZERO;
	} else {
		f.fd = open_mapped(g, r);
		f.kind = f.fd >= 0 ? REGION_INPUT : REGION_KEPT;
		f.backed = f.fd >= 0 ? f.backed : backed_bytes(&g->mem, r);
	}
	return f;
}

static void add_page(struct pages *p, uint64_t page, uint64_t id)
{
	struct mem_run *last = p->count ? &p->runs[p->count - 1] : NULL;

	if (last && last->page + last->pages == page &&
	    last->id + last->pages * GUEST_PAGE_BYTES == id) {
		last->pages++;
		return;
	}
	ARRAY_ROOM(p->runs, p->capacity, p->count + 1);
	p->runs[p->count++] = (struct mem_run){ page, 1, id };
}

/* Whether a page of a file's private mapping is still the file's. */
static bool equals_file(const struct region_file *f, uint64_t offset, const uint8_t *page)
{
	uint8_t own[GUEST_PAGE_BYTES];
	ssize_t n;

	if (f->kind != REGION_INPUT)
		return false;
	n = pread(f->fd, own, sizeof(own), (off_t)offset);
	if (n < 0)
		return false;
	memset(own + n, 0, sizeof(own) - (size_t)n);
	return !memcmp(own, page, sizeof(own));
}

static void keep_page(struct guest *g, struct state *s, const struct mem_region *r,
		      const struct region_file *f, uint64_t addr, struct pages *out)
{
	const uint8_t *page = g->mem.base + addr;
	uint8_t copy[GUEST_PAGE_BYTES];
	uint64_t id;

	if (g->mem.prot[addr / GUEST_PAGE_BYTES] & MEM_BUS) {
		if (mem_read_page(&g->mem, copy, addr) < 0)
			return;
		page = copy;
	}
	if (f->kind == REGION_INPUT || f->kind == REGION_NUMBERED) {
		if (equals_file(f, r->offset + (addr - r->start), page))
			return;
	} else if (page_is_zero(page)) {
		return;
	}
	state_keep(s, page, GUEST_PAGE_BYTES, &id);
	add_page(out, addr / GUEST_PAGE_BYTES, id);
	out->file_pages += r->file;
}

/* What pagemap says of the pages from addr on; all ones where it does not say. */
static void look(int pagemap, const struct guest_mem *m, uint64_t addr, size_t count,
		 uint64_t *entries)
{
	const uint64_t page = (uint64_t)(uintptr_t)(m->base + addr) / GUEST_PAGE_BYTES;

	if (pagemap < 0 ||
	    pread(pagemap, entries, count * 8, (off_t)(page * 8)) != (ssize_t)(count * 8))
		memset(entries, 0xff, count * 8);
}

static bool has_own(const struct region_file *f, uint64_t entry)
{
	if (f->kind == REGION_KEPT || entry == UINT64_MAX)
		return true;
	if (!(entry & PRESENT))
		/* Pages of a shared object may be in it and not in this process' tables. */
		return f->kind == REGION_SHARED;
	return f->kind == REGION_PLAIN || f->kind == REGION_SHARED || !(entry & OF_FILE);
}

static void keep_pages(struct guest *g, struct state *s, const struct mem_region *r,
		       const struct region_file *f, int pagemap, struct pages *out)
{
	const bool hidden = !(r->prot & (MEM_R | MEM_X));
	uint64_t entries[LOOK];

	if (f->kind == REGION_SEGMENT || (r->file && r->shared && f->kind != REGION_KEPT))
		return;
	if (hidden &&
	    reserve_protect(&g->mem.reserve, r->start, r->end - r->start, PROT_READ) < 0) {
		state_fail(s, "out of memory");
		return;
	}
	for (uint64_t at = r->start; at < r->start + f->backed && state_ok(s);) {
		const size_t n = min_u64(LOOK, (r->start + f->backed - at) / GUEST_PAGE_BYTES);

		look(pagemap, &g->mem, at, n, entries);
		for (size_t i = 0; i < n; i++)
			if (has_own(f, entries[i]))
				keep_page(g, s, r, f, at + i * GUEST_PAGE_BYTES, out);
		at += n * GUEST_PAGE_BYTES;
	}
	if (hidden && reserve_protect(&g->mem.reserve, r->start, r->end - r->start, PROT_NONE) < 0)
		state_fail(s, "out of memory");
	if (out->file_pages > FILE_PAGES)
		state_fail(s,
			   "the program has changed more than 4 GiB of private mappings of files");
}

static void region_state(struct state *s, struct mem_region *r)
{
	state_u64(s, &r->start);
	state_u64(s, &r->end);
	r->prot = (uint8_t)state_below(s, r->prot, (MEM_R | MEM_W | MEM_X) + 1);
	state_bool(s, &r->shared);
	state_bool(s, &r->file);
	state_bool(s, &r->no_fork);
	state_bool(s, &r->wipe_on_fork);
	state_u64(s, &r->offset);
	state_text(s, &r->name, CHECKPOINT_TEXT);
}

static void file_state(struct guest *g, struct state *s, const struct mem_region *r,
		       struct region_file *f)
{
	char *path = r->name;

	f->kind = (enum region_kind)state_below(s, f->kind, REGION_KINDS);
	state_u64(s, &f->backed);
	if (f->kind == REGION_NUMBERED)
		state_u32(s, &f->number);
	if (f->kind == REGION_INPUT) {
		checkpoint_input(g, s, &path, &f->fd);
		if (state_reading(s))
			free(path);
	}
}

/* A file without a name, for memory that is one on the host. */
static int object(uint64_t bytes)
{
	const int fd = memfd_create("culprit", MFD_CLOEXEC);

	if (fd >= 0 && ftruncate(fd, (off_t)bytes) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static int open_region(struct guest *g, const struct mem_region *r, const struct region_file *f,
		       uint64_t *offset)
{
	*offset = r->offset;
	switch (f->kind) {
	case REGION_NUMBERED:
		return checkpoint_file_open(g, f->number);
	case REGION_INPUT:
		return f->fd;
	case REGION_ZERO:
		return open("/dev/zero", O_RDWR | O_CLOEXEC);
	case REGION_SEGMENT:
		return fcntl(g->shared_fd, F_DUPFD_CLOEXEC, 3);
	default:
		*offset = 0;
		return object(f->backed);
	}
}

/* Maps a region that was read, if it is one. */
static void map_region(struct guest *g, struct state *s, const struct mem_region *r,
		       struct region_file *f, uint64_t after)
{
	uint64_t offset = 0;
	int fd = -1, err;

	if (r->start < after || r->start >= r->end || r->end > GUEST_ADDR_LIMIT ||
	    r->start % GUEST_PAGE_BYTES || r->end % GUEST_PAGE_BYTES ||
	    r->offset % GUEST_PAGE_BYTES || r->offset > INT64_MAX / 2 ||
	    f->backed > r->end - r->start || f->backed % GUEST_PAGE_BYTES ||
	    r->file != (f->kind > REGION_SHARED) ||
	    (!r->file && r->shared != (f->kind == REGION_SHARED)) ||
	    (r->prot & (MEM_R | MEM_W)) == MEM_W)
		state_fail(s, "its regions of memory overlap, or are none");
	if (state_ok(s) && f->kind != REGION_PLAIN) {
		fd = open_region(g, r, f, &offset);
		if (fd < 0)
			state_fail(s, "a file that is mapped at 0x%llx cannot be opened",
				   (unsigned long long)r->start);
	}
	err = state_ok(s) ? mem_restore(&g->mem, r, fd, offset) : 0;
	if (err)
		state_fail(s, "memory at 0x%llx cannot be mapped: %s", (unsigned long long)r->start,
			   strerror(-err));
	if (fd < 0)
		fd = f->fd;
	if (fd >= 0)
		close(fd);
}

static void read_regions(struct guest *g, struct state *s, size_t n)
{
	uint64_t after = 0;

	for (size_t i = 0; i < n && state_ok(s); i++) {
		struct mem_region r = { 0 };
		struct region_file f = { .fd = -1 };

		region_state(s, &r);
		if (state_ok(s))
			file_state(g, s, &r, &f);
		map_region(g, s, &r, &f, after);
		after = r.end;
		free(r.name);
	}
}

static void write_regions(struct guest *g, struct state *s, struct pages *p)
{
	const int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

	for (size_t i = 0; i < g->mem.nregions && state_ok(s); i++) {
		struct mem_region *r = &g->mem.regions[i];
		struct region_file f = classify(g, r);

		region_state(s, r);
		file_state(g, s, r, &f);
		keep_pages(g, s, r, &f, pagemap, p);
		if (f.fd >= 0)
			close(f.fd);
	}
	if (pagemap >= 0)
		close(pagemap);
}

/* Runs that were read lie in regions, in order, and have content in the checkpoint. */
static void check_runs(const struct guest *g, struct state *s, const struct pages *p,
		       const struct state_source *source)
{
	uint64_t after = 0, file_pages = 0;

	for (size_t i = 0; i < p->count && state_ok(s); i++) {
		const struct mem_run *r = &p->runs[i];
		uint64_t at = r->page, end = r->page + r->pages;

		if (r->page < after || !r->pages || end < r->page ||
		    end > GUEST_ADDR_LIMIT / GUEST_PAGE_BYTES || r->id > UINT64_MAX / 2)
			state_fail(s, "its pages are not in order");
		else if (!source || !state_source_has(source, r->id, r->pages * GUEST_PAGE_BYTES,
						      GUEST_PAGE_BYTES))
			state_fail(s, "its pages are missing");
		while (state_ok(s) && at < end) {
			const struct mem_region *m = mem_region_at(&g->mem, at * GUEST_PAGE_BYTES);

			if (!m || m->start > at * GUEST_PAGE_BYTES) {
				state_fail(s, "it has a page where no memory is");
				break;
			}
			file_pages += m->file ? min_u64(end, m->end / GUEST_PAGE_BYTES) - at : 0;
			if (m->file && m->shared)
				state_fail(s, "it has a page of a file that is shared");
			at = m->end / GUEST_PAGE_BYTES;
		}
		after = end;
	}
	if (file_pages > FILE_PAGES)
		state_fail(s, "it has more than 4 GiB of changed pages of files");
}

void checkpoint_memory(struct guest *g, struct state *s, struct state_source *source)
{
	struct pages p = { 0 };
	struct err e = { "" };
	const size_t n = state_count(s, g->mem.nregions, CHECKPOINT_REGIONS);

	state_u64(s, &g->mem.map_top);
	if (state_reading(s))
		read_regions(g, s, n);
	else {
		mem_load(&g->mem, 0, GUEST_ADDR_LIMIT);
		write_regions(g, s, &p);
	}
	STATE_LIST(s, p.runs, p.count, RUNS_MAX, r)
	{
		state_u64(s, &r->page);
		state_u64(s, &r->pages);
		state_u64(s, &r->id);
	}
	if (state_reading(s)) {
		if (g->mem.map_top > GUEST_ADDR_LIMIT || g->mem.map_top % GUEST_PAGE_BYTES)
			state_fail(s, "the place for new memory is absurd");
		check_runs(g, s, &p, source);
		if (state_ok(s) && p.count) {
			if (!mem_lazy_begin(&g->mem, source, p.runs, p.count, &e))
				state_fail(s, "%s", e.text);
			return;
		}
	}
	state_source_free(source);
	free(p.runs);
}

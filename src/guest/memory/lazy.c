/* SPDX-License-Identifier: MIT */
/*
 * Memory of a restored guest, loaded when it is touched.
 *
 * Pages whose content is still in the checkpoint have MEM_LAZY in the page table and no access on the host. What
 * touches them comes through one of three doors: a guest instruction raises SIGSEGV, whose handler calls
 * mem_lazy_fault, and is repeated; system calls go through mem_read, mem_write or host_ptr, which call mem_load for
 * the whole range before the host's kernel sees it; and a thread beside the guest's own (the timing model looks
 * ahead) only reads, with mem_lazy_peek, from the checkpoint and not from memory. So no host call ever meets a page
 * that is not there, and no kernel feature with privileges (userfaultfd) is needed. The file of the pages stays open:
 * the checkpoint may be deleted meanwhile.
 *
 * Pages are loaded by chunks of at least 256 KiB, and larger in larger guests, so that the host has at most some
 * thousand mappings more than the guest needs. Before a fork, everything is loaded: parent and child then share it.
 *
 * Only anonymous memory is lazy, private or shared: a page of a chunk that the checkpoint does not have is zero. The few
 * pages of a private mapping of a file that the guest has changed are loaded at once (mem_lazy_begin).
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "guest/memory/mem.h"
#include "state/file.h"
#include "util/array.h"

#define CHUNK_PAGES 64u	  /* at least */
#define CHUNKS	    8192u /* at most */

struct mem_lazy {
	struct state_source *source;
	struct mem_run *runs;
	size_t nruns;
	uint64_t chunk_pages; /* a power of two */
	uint64_t left;	      /* pages with MEM_LAZY */
	/* Held while pages are loaded: a thread that peeks sees a page before or after, never between. */
	pthread_mutex_t lock;
};

static bool is_lazy(const struct guest_mem *m, uint64_t page)
{
	return __atomic_load_n(&m->prot[page], __ATOMIC_ACQUIRE) & MEM_LAZY;
}

static int host_prot(unsigned prot)
{
	return (prot & (MEM_R | MEM_X) ? PROT_READ : 0) |
	       (prot & MEM_W ? PROT_READ | PROT_WRITE : 0);
}

/* The first run that ends after the page. */
static size_t run_of(const struct mem_lazy *l, uint64_t page)
{
	return ARRAY_SEARCH(l->nruns, i, l->runs[i].page + l->runs[i].pages <= page);
}

static bool get(const struct mem_lazy *l, uint64_t id, void *to, struct err *e)
{
	return state_source_get(l->source, id, to, GUEST_PAGE_BYTES, e);
}

/* The guest runs already, and has no content for a page. */
static _Noreturn void give_up(const struct err *e)
{
	die("cannot go on from the checkpoint: %s", e->text);
}

/* Fills the pages [page, end), which have one protection. */
static bool load_pages(struct guest_mem *m, uint64_t page, uint64_t end, struct err *e)
{
	struct mem_lazy *l = m->lazy;
	const uint64_t addr = page * GUEST_PAGE_BYTES, bytes = (end - page) * GUEST_PAGE_BYTES;

	if (reserve_protect(&m->reserve, addr, bytes, PROT_READ | PROT_WRITE) < 0)
		return err_set(e, "the host has no mappings left for the guest's pages");
	for (size_t i = run_of(l, page); i < l->nruns && l->runs[i].page < end; i++) {
		const struct mem_run *r = &l->runs[i];

		for (uint64_t p = max_u64(r->page, page); p < min_u64(r->page + r->pages, end); p++)
			if (!get(l, r->id + (p - r->page) * GUEST_PAGE_BYTES,
				 m->base + p * GUEST_PAGE_BYTES, e))
				return false;
	}
	if (reserve_protect(&m->reserve, addr, bytes, host_prot(m->prot[page])) < 0)
		return err_set(e, "the host has no mappings left for the guest's pages");
	m->reserve.maps += 2;
	for (uint64_t p = page; p < end; p++)
		__atomic_store_n(&m->prot[p], (uint8_t)(m->prot[p] & ~MEM_LAZY), __ATOMIC_RELEASE);
	l->left -= min_u64(l->left, end - page);
	return true;
}

/* Loads what of [page, end) is not there yet. */
static void load_range(struct guest_mem *m, uint64_t page, uint64_t end)
{
	const unsigned kind = MEM_R | MEM_W | MEM_X | MEM_LAZY;
	struct err e = { "" };

	pthread_mutex_lock(&m->lazy->lock);
	while (page < end) {
		uint64_t to = page + 1;

		if (is_lazy(m, page)) {
			while (to < end && (m->prot[to] & kind) == (m->prot[page] & kind))
				to++;
			if (!load_pages(m, page, to, &e))
				give_up(&e);
		}
		page = to;
	}
	pthread_mutex_unlock(&m->lazy->lock);
}

void mem_lazy_load(struct guest_mem *m, uint64_t addr, uint64_t length)
{
	const uint64_t chunk = m->lazy->chunk_pages,
		       stop = (addr + length + GUEST_PAGE_BYTES - 1) / GUEST_PAGE_BYTES;
	uint64_t page = addr / GUEST_PAGE_BYTES;

	if (!m->lazy->left || !length)
		return;
	/* By runs, not by pages: a range may be the whole address space. */
	for (size_t i = run_of(m->lazy, page & ~(chunk - 1)); i < m->lazy->nruns; i++) {
		const struct mem_run *r = &m->lazy->runs[i];
		const uint64_t first = max_u64(r->page & ~(chunk - 1), page & ~(chunk - 1));
		const uint64_t last = min_u64(r->page + r->pages, ((stop - 1) | (chunk - 1)) + 1);

		if (first >= stop)
			break;
		load_range(m, first, (last + chunk - 1) & ~(chunk - 1));
	}
}

bool mem_lazy_fault(struct guest_mem *m, uint64_t addr)
{
	if (addr >= GUEST_ADDR_LIMIT || !is_lazy(m, addr / GUEST_PAGE_BYTES))
		return false;
	const uint64_t first = addr / GUEST_PAGE_BYTES & ~(m->lazy->chunk_pages - 1);

	load_range(m, first, first + m->lazy->chunk_pages);
	return true;
}

bool mem_lazy_peek(const struct guest_mem *m, void *dst, uint64_t addr, size_t n)
{
	const struct mem_lazy *l = m->lazy;
	uint8_t page[GUEST_PAGE_BYTES];
	struct err e = { "" };
	size_t done = 0;

	if (!is_lazy(m, addr / GUEST_PAGE_BYTES) && !is_lazy(m, (addr + n - 1) / GUEST_PAGE_BYTES))
		return false;
	pthread_mutex_lock(&m->lazy->lock);
	while (done < n) {
		const uint64_t number = (addr + done) / GUEST_PAGE_BYTES,
			       in = (addr + done) % GUEST_PAGE_BYTES;
		const size_t part = min_u64(n - done, GUEST_PAGE_BYTES - in);
		const size_t i = run_of(l, number);

		if (!is_lazy(m, number)) {
			memcpy((uint8_t *)dst + done, m->base + addr + done, part);
		} else if (i < l->nruns && l->runs[i].page <= number) {
			if (!get(l, l->runs[i].id + (number - l->runs[i].page) * GUEST_PAGE_BYTES,
				 page, &e))
				give_up(&e);
			memcpy((uint8_t *)dst + done, page + in, part);
		} else {
			memset((uint8_t *)dst + done, 0, part);
		}
		done += part;
	}
	pthread_mutex_unlock(&m->lazy->lock);
	return true;
}

/* Takes access from the pages of [start, end) that are of no file. */
static void hide(struct guest_mem *m, uint64_t start, uint64_t end)
{
	while (start < end) {
		const struct mem_region *r = mem_region_at(m, start * GUEST_PAGE_BYTES);
		uint64_t stop;

		if (!r || r->start / GUEST_PAGE_BYTES >= end)
			return;
		start = max_u64(start, r->start / GUEST_PAGE_BYTES);
		stop = min_u64(end, r->end / GUEST_PAGE_BYTES);
		if (r->file) {
			start = stop;
			continue;
		}
		if (reserve_protect(&m->reserve, start * GUEST_PAGE_BYTES,
				    (stop - start) * GUEST_PAGE_BYTES, PROT_NONE) < 0)
			die("out of memory: the host has no mappings left for the guest's pages");
		for (; start < stop; start++) {
			m->lazy->left += !is_lazy(m, start);
			m->prot[start] |= MEM_LAZY;
		}
	}
}

/* Changed pages of a file's private mapping. */
static bool load_file_pages(struct guest_mem *m, struct err *e)
{
	bool ok = true;

	for (size_t i = 0; ok && i < m->nregions; i++) {
		const struct mem_region *r = &m->regions[i];
		const uint64_t first = r->start / GUEST_PAGE_BYTES, end = r->end / GUEST_PAGE_BYTES;
		const size_t at = run_of(m->lazy, first);

		if (r->file && at < m->lazy->nruns && m->lazy->runs[at].page < end)
			ok = load_pages(m, first, end, e);
	}
	return ok;
}

bool mem_lazy_begin(struct guest_mem *m, struct state_source *source, struct mem_run *runs,
		    size_t count, struct err *e)
{
	struct mem_lazy *l = x_calloc(1, sizeof(*l));
	uint64_t pages = 0, from = 0, to = 0;

	for (size_t i = 0; i < count; i++)
		pages += runs[i].pages;
	*l = (struct mem_lazy){
		.source = source, .runs = runs, .nruns = count, .chunk_pages = CHUNK_PAGES
	};
	while (l->chunk_pages * CHUNKS < pages)
		l->chunk_pages *= 2;
	pthread_mutex_init(&l->lock, NULL);
	m->lazy = l;
	if (!load_file_pages(m, e))
		return false;
	for (size_t i = 0; i < count; i++) {
		const uint64_t first = runs[i].page & ~(l->chunk_pages - 1);
		const uint64_t last =
		    (runs[i].page + runs[i].pages + l->chunk_pages - 1) & ~(l->chunk_pages - 1);

		if (first > to) {
			hide(m, from, to);
			from = first;
		}
		to = last;
	}
	hide(m, from, to);
	m->reserve.maps += min_u64(2 * count, 2 * CHUNKS);
	return true;
}

void mem_lazy_forget(struct guest_mem *m)
{
	if (m->lazy)
		m->lazy->left = 0;
}

void mem_lazy_end(struct guest_mem *m)
{
	struct mem_lazy *l = m->lazy;

	if (!l)
		return;
	m->lazy = NULL;
	pthread_mutex_destroy(&l->lock);
	state_source_free(l->source);
	free(l->runs);
	free(l);
}

/* SPDX-License-Identifier: MIT */
/*
 * The reservation (see reserve.h).
 *
 * mmap and mremap with MAP_FIXED unmap what stands at the target before they look whether the rest
 * can be done; a file's own mmap may refuse, memory may run out. So whatever can be refused is
 * mapped somewhere else first and then moved to its place by mremap, which has nothing left to
 * refuse. If the kernel runs out of memory even so, the range is reserved anew at once, and the
 * guest has lost what it had there, as on Linux before 6.12.
 *
 * mremap unmaps the source unless it is told not to (MREMAP_DONTUNMAP; Linux 5.7, for files 5.13).
 * Older kernels leave a hole for the moment until the next call, in which no other thread's memory
 * can come to lie as long as the reservation is apart; where it is not, moving is refused.
 */
#include "guest/memory/reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "guest/guest.h"
#include "util/util.h"

#define RESERVED_BYTES (GUEST_ADDR_LIMIT + 2 * GUEST_GUARD_BYTES)
#define RESERVED_FLAGS (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)

/*
 * Where the reservation is put, at random. x86-64 Linux maps from below the stack (0x7fff...)
 * downwards, or with an unlimited stack from a third of the address space (0x2aaaaaaaa000) upwards;
 * programs and their heaps begin at two thirds, or below 4 GiB; AddressSanitizer's shadow ends at
 * 0x10007fff8000. So nothing is placed between that and the third unless someone asks for it.
 */
#define PLACE_LOW   0x110000000000ull
#define PLACE_HIGH  0x2a0000000000ull
#define PLACE_ALIGN (2ull << 20) /* the host's large pages begin where the guest's would */
#define PLACE_TRIES 16

/* Linux's default limit, so that a guest meets the same one on most hosts, and what culprit itself
 * may need of it: threads, libraries, large allocations. */
#define HOST_MAX_MAPS 65530u
#define CULPRIT_MAPS  4096u

static void *host_remap(void *at, size_t old_length, size_t new_length, int flags, void *to)
{
	return mremap(at, old_length, new_length, flags, to);
}

static const struct reserve_host host_calls = {
	.map = mmap,
	.unmap = munmap,
	.protect = mprotect,
	.remap = host_remap,
	.advise = madvise,
};

static size_t limit_of_mappings(void)
{
	unsigned long max = HOST_MAX_MAPS;
	FILE *f = fopen("/proc/sys/vm/max_map_count", "re");

	if (f && fscanf(f, "%lu", &max) != 1)
		max = HOST_MAX_MAPS;
	if (f)
		fclose(f);
	max = min_u64(max, HOST_MAX_MAPS);
	return max - min_u64(CULPRIT_MAPS, max / 2);
}

static uint8_t *place_apart(void)
{
#if defined(__x86_64__)
	const uint64_t places = (PLACE_HIGH - PLACE_LOW - RESERVED_BYTES) / PLACE_ALIGN - 1;

	for (unsigned i = 0; i < PLACE_TRIES; i++) {
		uint64_t n = i;
		uint8_t *at, *got;

		if (getrandom(&n, sizeof(n), GRND_NONBLOCK) != sizeof(n))
			n = (uint64_t)getpid() * PLACE_TRIES + i;
		at = (uint8_t *)(uintptr_t)(PLACE_LOW + (1 + n % places) * PLACE_ALIGN -
					    GUEST_GUARD_BYTES);
		got = mmap(at, RESERVED_BYTES, PROT_NONE, RESERVED_FLAGS | MAP_FIXED_NOREPLACE, -1,
			   0);
		if (got == at)
			return at;
		if (got != MAP_FAILED) /* a kernel before 4.17 may choose another address */
			munmap(got, RESERVED_BYTES);
	}
#endif
	return NULL;
}

bool reserve_open(struct reserve *r, struct err *e)
{
	uint8_t *at = place_apart();

	memset(r, 0, sizeof(*r));
	r->apart = at != NULL;
	if (!at)
		at = mmap(NULL, RESERVED_BYTES, PROT_NONE, RESERVED_FLAGS, -1, 0);
	if (at == MAP_FAILED)
		return err_set(
		    e, "cannot reserve %llu GiB of address space for the guest: %s (see ulimit -v)",
		    GUEST_ADDR_LIMIT >> 30, strerror(errno));
	r->base = at + GUEST_GUARD_BYTES;
	r->host = &host_calls;
	r->max_maps = limit_of_mappings();
	r->maps = 1;
	return true;
}

void reserve_close(struct reserve *r)
{
	if (r->base)
		munmap(r->base - GUEST_GUARD_BYTES, RESERVED_BYTES);
	memset(r, 0, sizeof(*r));
}

bool reserve_is_whole(const struct reserve *r, int64_t addr, uint64_t length)
{
	/* MS_ASYNC writes nothing: it only looks for pages that are not mapped. */
	return msync(r->base + addr, length, MS_ASYNC) == 0;
}

static bool try_reserve(struct reserve *r, uint64_t addr, uint64_t length)
{
	return r->host->map(r->base + addr, length, PROT_NONE, RESERVED_FLAGS | MAP_FIXED, -1, 0) !=
	       MAP_FAILED;
}

/* Called after a host call that failed and may have unmapped the range. */
static void close_hole(struct reserve *r, uint64_t addr, uint64_t length)
{
	if (!r->apart && !reserve_is_whole(r, (int64_t)addr, length))
		die("out of memory: the guest's address space has a hole in which this program's "
		    "own memory may lie");
	/* Tries twice: memory that was freed in the meantime may be enough. */
	if (!try_reserve(r, addr, length) && !try_reserve(r, addr, length))
		die("out of memory: cannot reserve the guest's address space again");
	r->full = false;
}

void reserve_clear(struct reserve *r, uint64_t addr, uint64_t length)
{
	if (!try_reserve(r, addr, length))
		close_hole(r, addr, length);
	r->full = false;
}

int reserve_map(struct reserve *r, uint64_t addr, uint64_t length, int prot, int flags, int fd,
		uint64_t offset, enum reserve_lost *lost)
{
	void *elsewhere;
	int err;

	*lost = LOST_NOTHING;
	flags = (flags & ~MAP_FIXED) | MAP_NORESERVE;
	if (flags & MAP_ANONYMOUS && (flags & MAP_TYPE) == MAP_PRIVATE) {
		/* No object that could refuse, and by far the most common kind. */
		if (r->host->map(r->base + addr, length, prot, flags | MAP_FIXED, -1, 0) !=
		    MAP_FAILED)
			return 0;
		err = errno;
		close_hole(r, addr, length);
		*lost = LOST_TARGET;
		return -err;
	}
	elsewhere = r->host->map(NULL, length, prot, flags, fd, (off_t)offset);
	if (elsewhere == MAP_FAILED)
		return -errno;
	if (r->host->remap(elsewhere, length, length, MREMAP_MAYMOVE | MREMAP_FIXED,
			   r->base + addr) != MAP_FAILED)
		return 0;
	err = errno;
	close_hole(r, addr, length);
	*lost = LOST_TARGET;
	r->host->unmap(elsewhere, length);
	return -err;
}

int reserve_protect(struct reserve *r, uint64_t addr, uint64_t length, int prot)
{
	return r->host->protect(r->base + addr, length, prot) < 0 ? -errno : 0;
}

int reserve_advise(struct reserve *r, uint64_t addr, uint64_t length, int advice)
{
	return r->host->advise(r->base + addr, length, advice) < 0 ? -errno : 0;
}

/* Moves pages of one host mapping to `to`, NULL: somewhere else. The source stays mapped, with
 * zeros or the file's contents. Where to, or NULL and *err. */
static void *lift(struct reserve *r, uint64_t from, uint64_t length, void *to, int *err)
{
	int fixed = to ? MREMAP_FIXED : 0;
	void *got = r->host->remap(r->base + from, length, length,
				   MREMAP_MAYMOVE | MREMAP_DONTUNMAP | fixed, to);

	if (got != MAP_FAILED)
		return got;
	*err = -errno;
	if (*err != -EINVAL)
		return NULL;
	*err = -ENOMEM;
	if (!r->apart)
		return NULL;
	if (!to)
		to = r->host->map(NULL, length, PROT_NONE, RESERVED_FLAGS, -1, 0);
	if (to == MAP_FAILED)
		return NULL;
	/* On failure a place of our choice may be unmapped, and be someone else's already. */
	got = r->host->remap(r->base + from, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	if (got == MAP_FAILED)
		return NULL;
	close_hole(r, from, length);
	return got;
}

/*
 * The kernel moves one of its own mappings at a time. What is one region to the guest may be
 * several to it (after a fork it does not join new pages to inherited ones), and is halved until
 * the parts are single. *done: what was moved before a failure.
 */
static int lift_parts(struct reserve *r, uint64_t from, uint64_t to, uint64_t length,
		      uint64_t *done)
{
	uint64_t half = (length / GUEST_PAGE_BYTES / 2) * GUEST_PAGE_BYTES;
	int err = 0;

	if (lift(r, from, length, r->base + to, &err)) {
		*done += length;
		return 0;
	}
	if (err != -EFAULT || half == 0)
		return err;
	close_hole(r, to, length);
	err = lift_parts(r, from, to, half, done);
	return err ? err : lift_parts(r, from + half, to + half, length - half, done);
}

int reserve_move(struct reserve *r, uint64_t from, uint64_t to, uint64_t length, unsigned *lost)
{
	uint64_t done = 0, back = 0;
	int err = lift_parts(r, from, to, length, &done);

	*lost = LOST_NOTHING;
	if (!err) {
		reserve_clear(r, from, length);
		return 0;
	}
	if (done && lift_parts(r, to, from, done, &back)) {
		close_hole(r, from, length);
		*lost |= LOST_SOURCE;
	}
	close_hole(r, to, length);
	*lost |= LOST_TARGET;
	return err;
}

int reserve_move_object(struct reserve *r, uint64_t from, uint64_t to, uint64_t length,
			uint64_t new_length, unsigned *lost)
{
	int err = 0;
	uint8_t *aside = lift(r, from, length, NULL, &err), *grown;

	*lost = LOST_NOTHING;
	if (!aside)
		return err;
	grown = r->host->remap(aside, length, new_length, MREMAP_MAYMOVE, NULL);
	if (grown == MAP_FAILED) {
		err = -errno;
	} else {
		aside = grown;
		if (r->host->remap(aside, new_length, new_length, MREMAP_MAYMOVE | MREMAP_FIXED,
				   r->base + to) != MAP_FAILED) {
			reserve_clear(r, from, length);
			return 0;
		}
		err = -errno;
		close_hole(r, to, new_length);
		*lost |= LOST_TARGET;
		if (new_length > length)
			r->host->unmap(aside + length, new_length - length);
	}
	if (r->host->remap(aside, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, r->base + from) ==
	    MAP_FAILED) {
		close_hole(r, from, length);
		r->host->unmap(aside, length);
		*lost |= LOST_SOURCE;
	}
	return err;
}

bool reserve_each(const struct reserve *r,
		  void (*visit)(void *ctx, const struct reserve_mapping *map), void *ctx)
{
	const uint64_t low = (uint64_t)(uintptr_t)r->base - GUEST_GUARD_BYTES;
	const uint64_t high = low + RESERVED_BYTES;
	FILE *f = fopen("/proc/self/maps", "re");
	unsigned long start, end, inode;
	struct reserve_mapping map;
	char line[512];
	bool begins = true;

	if (!f)
		return false;
	while (fgets(line, sizeof(line), f)) {
		bool whole = strchr(line, '\n') != NULL;

		/* A long name continues in the next piece. */
		if (begins &&
		    sscanf(line, "%lx-%lx %4s %*x %*s %lu", &start, &end, map.prot, &inode) == 4 &&
		    end > low) {
			if (start >= high)
				break;
			map.start = (int64_t)(start - (uint64_t)(uintptr_t)r->base);
			map.end = (int64_t)(end - (uint64_t)(uintptr_t)r->base);
			map.inode = inode;
			visit(ctx, &map);
		}
		begins = whole;
	}
	fclose(f);
	return true;
}

static void count_mapping(void *ctx, const struct reserve_mapping *map)
{
	(void)map;
	++*(size_t *)ctx;
}

bool reserve_has_room(struct reserve *r, size_t n)
{
	size_t counted = 0;

	if (n == 0)
		return true;
	if (likely(r->maps + n <= r->max_maps)) {
		r->maps += n;
		return true;
	}
	if (r->full)
		return false;
	/* maps counts the most that each call can have made; the kernel joins many of them. */
	if (reserve_each(r, count_mapping, &counted))
		r->maps = counted;
	r->full = r->maps + n > r->max_maps;
	if (r->full)
		return false;
	r->maps += n;
	return true;
}

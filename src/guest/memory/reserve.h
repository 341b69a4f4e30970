/* SPDX-License-Identifier: MIT */
/*
 * The reservation: the range of host addresses that belongs to the guest, and every host call that
 * changes what stands in it.
 *
 * Invariants, after each function here and in each child process:
 *
 *   (1) every page from base - GUEST_GUARD_BYTES to base + GUEST_ADDR_LIMIT + GUEST_GUARD_BYTES is
 *       mapped, by the guest or without access; no host call that fails leaves a hole
 *   (2) nothing of culprit's own stands there. Where the host allows it the range is far below all
 *       addresses that the kernel chooses by itself (`apart`), so that culprit's memory would not
 *       come to lie in it even if there were a hole
 *   (3) the host has no more than max_maps mappings in it, so that some are left for culprit
 *
 * Addresses and lengths are the guest's and in whole pages, and have been checked.
 */
#ifndef GUEST_RESERVE_H
#define GUEST_RESERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

/* Bytes reserved without access on either side of the guest's region: an access whose base register
 * was checked may miss the region by its offset and size, and must fault. */
#define GUEST_GUARD_BYTES (64ull << 10)

/* The host calls that are made; tests put calls that fail in their place. */
struct reserve_host {
	void *(*map)(void *at, size_t length, int prot, int flags, int fd, off_t offset);
	int (*unmap)(void *at, size_t length);
	int (*protect)(void *at, size_t length, int prot);
	void *(*remap)(void *at, size_t old_length, size_t new_length, int flags, void *to);
	int (*advise)(void *at, size_t length, int advice);
};

struct reserve {
	uint8_t *base; /* host address of guest address 0 */
	bool apart;    /* see invariant 2 */
	const struct reserve_host *host;
	size_t max_maps;
	size_t maps;	  /* upper bound of the host mappings in the range */
	bool full;	  /* maps was counted, and nothing has been given back since */
	size_t unchecked; /* calls since the last check of a debug build */
};

/* Which of the guest's pages a failed call has lost: these have no mapping now. */
enum reserve_lost { LOST_NOTHING = 0, LOST_TARGET = 1, LOST_SOURCE = 2 };

bool reserve_open(struct reserve *r, struct err *e);
void reserve_close(struct reserve *r);

/* False if n more host mappings could be too many. */
bool reserve_has_room(struct reserve *r, size_t n);
/* Removes what the guest has mapped there. */
void reserve_clear(struct reserve *r, uint64_t addr, uint64_t length);
/* As mmap with MAP_FIXED, which flags need not have. 0 or -errno; *lost on failure. */
int reserve_map(struct reserve *r, uint64_t addr, uint64_t length, int prot, int flags, int fd,
		uint64_t offset, enum reserve_lost *lost);
int reserve_protect(struct reserve *r, uint64_t addr, uint64_t length, int prot);
int reserve_advise(struct reserve *r, uint64_t addr, uint64_t length, int advice);
/* Moves private anonymous pages. 0 or -errno; *lost (may be both) on failure. */
int reserve_move(struct reserve *r, uint64_t from, uint64_t to, uint64_t length, unsigned *lost);
/* The same for one mapping of any object, which is now new_length long. */
int reserve_move_object(struct reserve *r, uint64_t from, uint64_t to, uint64_t length,
			uint64_t new_length, unsigned *lost);

/* The kernel's own list: calls visit for what stands in the reservation, by address, start and end
 * relative to base (the guards too, so start may be negative). False if it cannot be read. */
struct reserve_mapping {
	int64_t start, end;
	char prot[5]; /* as in /proc/PID/maps: "rw-p" */
	uint64_t inode;
};
bool reserve_each(const struct reserve *r,
		  void (*visit)(void *ctx, const struct reserve_mapping *map), void *ctx);
/* False if a page of the range is not mapped; one host call. */
bool reserve_is_whole(const struct reserve *r, int64_t addr, uint64_t length);

#endif

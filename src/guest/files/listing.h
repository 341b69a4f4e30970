/* SPDX-License-Identifier: MIT */
/* Listings of folders: in the order of names, without what culprit writes. */
#ifndef GUEST_FILES_LISTING_H
#define GUEST_FILES_LISTING_H

#include <stdbool.h>
#include <stdint.h>

struct guest;
struct fd_entry;

/* The next entries of a folder into guest memory, in the order of their names. */
int64_t listing_read(struct guest *g, struct fd_entry *f, uint64_t addr, uint64_t size_bytes);
/* Moves within a folder that was listed; false if it was not. */
bool listing_seek(struct guest *g, struct fd_entry *f, int64_t offset, int whence, int64_t *at);
/* A descriptor was closed. */
void listing_closed(struct guest *g, uint32_t listing);
void listings_free(struct guest *g);
/* The listings that have begun, in a checkpoint. */
struct state;
void listings_state(struct guest *g, struct state *s);

#endif

/* SPDX-License-Identifier: MIT */
/* Texts that are kept once each, with numbers from 1 on in the order in which they first came. */
#ifndef UTIL_INTERNED_H
#define UTIL_INTERNED_H

#include <stddef.h>
#include <stdint.h>

struct interned {
	char **list; /* text number n is list[n - 1] */
	size_t count, capacity;
	uint32_t *slots; /* where each is by its hash: its number, or 0 */
	size_t nslots;	 /* a power of two */
};

/* The number of a text; 0 for NULL. */
uint32_t interned_number(struct interned *t, const char *text);
/* The same text as long as the table is there; NULL for NULL. */
const char *interned(struct interned *t, const char *text);
void interned_free(struct interned *t);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The names of the kernel's functions, packed: a daemon has them for months and asks for a few at each
 * cut. Private to collect/.
 */
#ifndef COLLECT_KERNEL_NAMES_H
#define COLLECT_KERNEL_NAMES_H

#include <stddef.h>
#include <stdint.h>

struct kernel_names;

struct kernel_names *kernel_names_new(void);
void kernel_names_free(struct kernel_names *k);
/* In any order, and then once kernel_names_pack. Of several names of one address the first stays. */
void kernel_names_add(struct kernel_names *k, uint64_t address, const char *name);
void kernel_names_pack(struct kernel_names *k);
/* The last function that begins at or below the address, and where the next one begins (UINT64_MAX: there
 * is none). NULL: there is none. Good until the next call. */
const char *kernel_names_find(struct kernel_names *k, uint64_t address, uint64_t *start,
			      uint64_t *end);
size_t kernel_names_bytes(const struct kernel_names *k);

#endif

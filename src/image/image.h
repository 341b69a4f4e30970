/* SPDX-License-Identifier: MIT */
/*
 * Binaries: from an address of the running program to its function, source line, inlined frames and
 * basic block. Symbols come from .symtab, else .dynsym, else the ranges of .eh_frame; lines and
 * inlining from DWARF in the file itself or in a separate debug file found by build-id or debug
 * link.
 */
#ifndef IMAGE_IMAGE_H
#define IMAGE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/util.h"

struct images;

/* debug_root: where /usr/lib/debug and its like are looked up first (a sysroot); may be NULL. */
struct images *images_new(const char *debug_root);
void images_free(struct images *set);
/* Adds an ELF file that is in memory with this bias (address - ELF virtual address; 0 for a program
 * that is not position-independent). False if it is not a readable ELF file; the other files still
 * work. name is what a user calls it. */
bool images_add(struct images *set, const char *path, const char *name, uint64_t bias,
		struct err *e);

struct image_info {
	const char *path, *name;
	const char *build_id;	   /* hex, or "" */
	uint64_t bias, start, end; /* addresses, not ELF virtual ones */
};
size_t images_count(const struct images *set);
struct image_info images_info(const struct images *set, size_t index);

/* Where an address lies. Strings live as long as the set. */
struct place {
	size_t image;	      /* index of the image; SIZE_MAX: none */
	const char *function; /* never NULL: symbol, "[lib.so+0x1234]" or "[unknown]" */
	uint64_t start, end;  /* of the function */
	const char *file;     /* NULL: unknown */
	int line;	      /* 0: unknown */
};
struct place images_place(struct images *set, uint64_t pc);

/* Source line that declares the function at pc, for headings; false if unknown. */
bool images_declared(struct images *set, uint64_t pc, const char **file, int *line);

/* A frame that was inlined at an address: the function and the line inside it, innermost first. The
 * last frame is not the enclosing function itself. */
struct inline_frame {
	const char *function;
	const char *file;
	int line;
};
size_t images_inlined(struct images *set, uint64_t pc, struct inline_frame *frames, size_t max);

/* First address of a function by name; false if there is none. */
bool images_find(struct images *set, const char *function, uint64_t *addr);

/* The instruction word at pc as the file has it; false if pc is in no executable segment. */
bool images_word(struct images *set, uint64_t pc, uint32_t *word);

/*
 * Basic blocks of the function that contains pc, from its code: a block starts at the function's
 * start, at the target of a jump or branch inside it, and after every control transfer. Indirect
 * jumps' targets are not known. Returns the number of block starts written (sorted); the array is
 * the set's, valid until the next call.
 */
size_t images_blocks(struct images *set, uint64_t pc, const uint64_t **starts);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Binaries of any instruction set of arch.h: from an address of the running program to its function, source line, inlined frames and
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

/* What a file's headers say, without looking at its symbols. */
#define IMAGE_SEGMENTS_MAX 64
struct image_segment {
	uint64_t offset, address, file_bytes, memory_bytes;
	bool executable;
};
struct image_probe {
	char build_id[65]; /* hex, or "" */
	uint64_t size_bytes, mtime_ns;
	struct image_segment segment[IMAGE_SEGMENTS_MAX]; /* those that are loaded */
	size_t nsegments;
};
bool image_probe(const char *path, struct image_probe *out, struct err *e);
/* The address (ELF virtual) of an offset of the file; false if no segment loads it. */
bool image_probe_address(const struct image_probe *p, uint64_t offset, uint64_t *address);

struct images;

/* debug_root: where /usr/lib/debug and its like are looked up first (a sysroot); may be NULL. */
struct images *images_new(const char *debug_root);
void images_free(struct images *set);
/* Looks for debug files in these folders first, by build-id (FOLDER/.build-id/ab/cd….debug) and by name: that of
 * the file's debug link, or FILE.debug, in the folder and in the one below it that is called as the file's own.
 * Before the first images_add. False: a folder cannot be searched. */
bool images_look_in(struct images *set, const char *const *folders, size_t count, struct err *e);
/* The debug file that belongs to an image, wherever it was found; NULL: there is none, or the file itself has all. */
const char *images_debug_file(struct images *set, size_t index);
/* Adds an ELF file that is in memory with this bias (address - ELF virtual address; 0 for a program
 * that is not position-independent). False if it is not a readable ELF file; the other files still
 * work. name is what a user calls it. */
bool images_add(struct images *set, const char *path, const char *name, uint64_t bias,
		struct err *e);

/* A function or a piece of code of an image that has no file. Addresses are those of the set. */
struct image_symbol {
	uint64_t start, size_bytes; /* size 0: up to the next one */
	const char *name;
};
struct image_bytes {
	uint64_t start, size_bytes;
	const uint8_t *bytes;
};
struct image_kept {
	const char *name;
	uint64_t bias, start, end;
	unsigned machine; /* ELF e_machine of its code; 0: this host's */
	const struct image_symbol *symbols;
	size_t nsymbols;
	const struct image_bytes *code;
	size_t ncode;
};
/* Adds an image by what is known of it: functions, and some of its code. Everything is copied. What
 * no symbol covers is named by its offset; without any symbol all of it is one function, "[name]". */
void images_add_kept(struct images *set, const struct image_kept *k);

/* Function tables of large files are kept in this folder, by build-id, and read from there the next
 * time. What is read is checked; a folder that cannot be used is the same as none. */
void images_set_cache(struct images *set, const char *folder);
/* Disassembly has the addresses of the file, not those of the set. */
void images_show_own_addresses(struct images *set);

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
/* The same without file and line, for which no DWARF is read. */
struct place images_function(struct images *set, uint64_t pc);

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

/* Where control goes after an instruction. */
enum image_flow { IMAGE_NEXT, IMAGE_BRANCH, IMAGE_JUMP, IMAGE_CALL, IMAGE_RETURN };
struct image_inst {
	unsigned size_bytes;
	uint32_t word; /* its first bytes, at most four, lowest first */
	enum image_flow flow;
	bool direct; /* target is known */
	uint64_t target;
	const char *cls; /* "load", "branch", …; NULL: it is no instruction */
};
/* The instruction at pc as the file has it; false if there is no code at pc, or if its instruction
 * set is unknown. */
bool images_inst(struct images *set, uint64_t pc, struct image_inst *out);
/* Its text; "" where images_inst is false. */
void images_disasm(struct images *set, uint64_t pc, char *buf, size_t size_bytes);

/* The code at pc, up to size_bytes of it, which stays the set's; NULL: there is not as much. machine: its
 * ELF e_machine. */
const uint8_t *images_code(struct images *set, uint64_t pc, size_t size_bytes, unsigned *machine);

/* The RISC-V instruction word at pc as the file has it; false if pc is in no executable segment. */
bool images_word(struct images *set, uint64_t pc, uint32_t *word);

/*
 * Basic blocks of the function that contains pc, from its code: a block starts at the function's
 * start, at the target of a jump or branch inside it, and after every control transfer. Indirect
 * jumps' targets are not known. Returns the number of block starts written (sorted); the array is
 * the set's, valid until the next call.
 */
size_t images_blocks(struct images *set, uint64_t pc, const uint64_t **starts);

#endif

/* SPDX-License-Identifier: MIT */
/* What the files of image/ share. */
#ifndef IMAGE_IMAGE_INT_H
#define IMAGE_IMAGE_INT_H

#include <elfutils/libdwfl.h>
#include <gelf.h>

#include "image/arch.h"
#include "image/image.h"

struct function_range {
	uint64_t start, end; /* addresses */
	const char *name;
	bool owned; /* name is ours to free */
};

/* A function in DWARF, or one inlined into it. */
struct scope {
	Dwarf_Die die;
	int parent; /* index in the unit; -1: none */
	unsigned depth;
};

/* From here to the next span this is the innermost scope; -1: none. */
struct scope_span {
	uint64_t start; /* the file's address */
	int scope;
};

struct unit_scopes {
	const void *id; /* where libdw has the unit's entry */
	struct scope *scope;
	size_t nscopes;
	struct scope_span *span; /* sorted */
	size_t nspans;
};

/* Addresses of the file that belong to the unit whose entry is at this offset. */
struct unit_range {
	uint64_t start, end, unit;
};

/* A stretch of code: an executable section, or a whole segment where there are no sections. */
struct code {
	uint64_t start, end; /* addresses */
	const uint8_t *bytes;
};

struct image {
	char *path, *name;
	char build_id[65];
	uint64_t bias, start, end;
	Dwfl_Module *module;	 /* NULL: it has no file */
	const struct arch *arch; /* NULL: unknown */
	uint64_t file_bytes;
	/* libdwfl places a program that is not position-independent at its own addresses, whatever
	 * bias it is given: address - skew is what libdwfl calls it. */
	uint64_t skew;
	bool gathered;			  /* functions and code are filled */
	struct function_range *functions; /* sorted, not overlapping */
	size_t nfunctions;
	struct code *code; /* sorted, not overlapping */
	size_t ncode;
	void *names;   /* holds names of functions that were read from the cache or kept; or NULL */
	uint8_t *kept; /* holds the bytes of kept code; or NULL */
	struct unit_scopes *unit; /* units in which an address was asked for */
	size_t nunits;
	struct unit_range *ranges; /* of all units, sorted, if `ranged` */
	size_t nranges;
	bool ranged;
	struct image_data *data;     /* data.c; NULL: not read yet */
	struct image_graphs *graphs; /* cfg_parts.c: what is known of its functions; or NULL */
};

/* Bounds, because a file may contain anything: above what any compiler makes. */
#define IMAGE_NAME_BYTES   4096	      /* of a symbol or a file; what is longer is cut */
#define IMAGE_SECTIONS_MAX (1u << 20) /* sections that are looked at */
#define IMAGE_SYMBOLS_MAX  (1u << 22)
#define IMAGE_BLOCKS_BYTES (1u << 24) /* a longer function has no blocks */

struct joined_file {
	const char *dir, *file; /* libdw's strings, compared by address */
	char *joined;
};

struct images {
	Dwfl *dwfl;
	Dwfl_Callbacks callbacks;
	char *debug_path;
	char *cache; /* folder; NULL: none */
	bool own_addresses;
	struct image *image;
	size_t count;
	struct joined_file *files;
	size_t nfiles;
	uint64_t *block_starts;
	size_t nblocks;
	uint64_t blocks_of; /* start of the function that block_starts belongs to */
};

/* cache.c: takes the functions of an image from the cache; keeps them there. */
bool image_read_cache(const struct images *set, struct image *im);
void image_write_cache(const struct images *set, const struct image *im);

/* The image that holds an address, with its functions gathered. */
struct image *image_at(const struct images *set, uint64_t pc);
const struct function_range *image_function(const struct image *im, uint64_t pc);
/* Fills code and functions. */
void image_gather_functions(const struct images *set, struct image *im);
/* golang.c: adds the functions that Go's run time knows and symbols do not. */
void image_gather_go(struct image *im);
/* Adds a function, unless one of the first `known`, which are sorted, has its start, or no code is there. */
void image_add_function(struct image *im, uint64_t start, uint64_t end, size_t known,
			const char *name, size_t name_bytes);
/* Gives every address of [at, end) that none of the first `known` functions has, which are sorted, to
 * a function that is named by its offset. next: the first of them to look at, and where to go on. */
void image_fill_gap(struct image *im, uint64_t at, uint64_t end, size_t known, size_t *next);
void image_sort_functions(struct image *im);
/* Sorts, and makes one of functions with the same start: the longest. Returns how many there are. */
size_t image_join_functions(struct image *im);
/* The code at an address and how much of it follows; NULL if there is none. */
const uint8_t *image_code(const struct image *im, uint64_t pc, size_t *left_bytes);

/* units.c: the compilation unit at an address; address - skew - bias is the file's own. False: DWARF
 * has none there. */
bool image_unit(struct image *im, uint64_t pc, Dwarf_Die *unit, uint64_t *bias);
/* The innermost scope at an address, and its compilation unit; NULL: DWARF has none there. */
struct scope *image_scope(struct image *im, uint64_t pc, Dwarf_Die *unit);
/* The scope around it; NULL: none. */
struct scope *image_outer_scope(struct image *im, const Dwarf_Die *unit, const struct scope *scope);
void image_free_scopes(struct image *im);

/* data.c: the number of this many bytes (at most 8) at an address, extended with zeros, as the loader
 * leaves it there; false: there is none, or the program may change it. */
bool image_constant(struct image *im, uint64_t at, unsigned bytes, uint64_t *value);
/* The symbol that the loader puts the address of there; NULL: none. */
const char *image_slot(struct image *im, uint64_t at);
/* Where such a slot leads before that. */
bool image_slot_first(struct image *im, uint64_t at, uint64_t *target);
void image_free_data(struct image *im);
void image_free_graphs(struct image *im);

#define IMAGE_PAGE 4096u
/* guard.c: a file that becomes shorter while it is read has zeros in place of what is gone. */
void image_guard(void);
/* Whether that happened since it was asked for. */
bool image_became_shorter(void);

#endif

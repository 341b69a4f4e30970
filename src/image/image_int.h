/* SPDX-License-Identifier: MIT */
/* What the files of image/ share. */
#ifndef IMAGE_IMAGE_INT_H
#define IMAGE_IMAGE_INT_H

#include <elfutils/libdwfl.h>
#include <gelf.h>

#include "image/image.h"

struct function_range {
	uint64_t start, end; /* addresses */
	const char *name;
	bool owned; /* name is ours to free */
};

struct image {
	char *path, *name;
	char build_id[65];
	uint64_t bias, start, end;
	Dwfl_Module *module;
	struct function_range *functions; /* sorted, not overlapping */
	size_t nfunctions, capacity;
};

struct joined_file {
	const char *dir, *file; /* libdw's strings, known by their address */
	char *joined;
};

struct images {
	Dwfl *dwfl;
	Dwfl_Callbacks callbacks;
	char *debug_path;
	struct image *image;
	size_t count;
	struct joined_file *files;
	size_t nfiles;
	uint64_t *block_starts;
	size_t nblocks, blocks_capacity;
	uint64_t blocks_of; /* start of the function that block_starts belongs to */
};

struct image *image_at(const struct images *set, uint64_t pc);
const struct function_range *image_function(const struct image *im, uint64_t pc);
void image_gather_functions(struct image *im);
/* The code section that holds an address: its contents and address; NULL if there is none. */
const uint8_t *image_code(const struct image *im, uint64_t pc, size_t *left_bytes);

#endif

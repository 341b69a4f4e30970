/* SPDX-License-Identifier: MIT */
/* What building graphs has found out about the functions of an image. */
#ifndef IMAGE_CFG_GRAPHS_H
#define IMAGE_CFG_GRAPHS_H

#include "image/cfg_int.h"

enum returns { RETURNS_UNKNOWN, RETURNS, RETURNS_NEVER, RETURNS_ASKED };

struct image_graphs {
	uint32_t *whole;  /* by function: the one that it is a part of; UINT32_MAX: not asked yet */
	uint8_t *returns; /* by function: enum returns */
	uint64_t *writes; /* by function: registers that a call of it changes; 0: not asked yet */
	uint64_t *entries; /* addresses inside of functions that are entered from outside */
	size_t nentries;
	uint32_t *by_name; /* functions, sorted by name; NULL: not sorted yet */
};

struct image_graphs *image_graphs(struct image *im);

#endif

/* SPDX-License-Identifier: MIT */
/* Gives the addresses in a store their names. */
#ifndef ANALYSIS_SYMBOLISE_H
#define ANALYSIS_SYMBOLISE_H

#include "image/image.h"
#include "store/store.h"

/*
 * Fills the tables image, function, block, instruction and inlined for every address that has time
 * or a sample, and for every other instruction of functions with at least 1/2000 of all time, so
 * that these can be shown whole. How many rows that gives is limited by how much was executed, not
 * by what a binary claims. When stop (which may be NULL) returns true, the rest is written without
 * names.
 */
bool symbolise(struct store *store, struct images *images, bool (*stop)(void), struct err *e);

/*
 * Names anew what lies in one image (a row of table image) of a store that has names already and is in memory
 * (store_detach). The set has this image alone.
 */
bool symbolise_again(struct store *store, struct images *images, int64_t image, struct err *e);

#endif

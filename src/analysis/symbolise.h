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

#endif

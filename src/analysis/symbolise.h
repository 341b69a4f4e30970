/* SPDX-License-Identifier: MIT */
/* Gives the addresses in a store their names. */
#ifndef ANALYSIS_SYMBOLISE_H
#define ANALYSIS_SYMBOLISE_H

#include "image/image.h"
#include "store/store.h"

/*
 * Fills image, function, block, instruction and inlined for every address that has time or a
 * sample, and for every other instruction of functions with at least 1/2000 of all time, so that
 * they can be shown whole. How much that is does not depend on what a binary says of itself but on
 * how much was executed. When stop (which may be NULL) becomes true, the rest is written without
 * names.
 */
bool symbolise(struct store *store, struct images *images, bool (*stop)(void), struct err *e);

#endif

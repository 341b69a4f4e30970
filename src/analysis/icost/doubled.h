/* SPDX-License-Identifier: MIT */
/* Which misses of the right path a cache of twice the size would not have. */
#ifndef ANALYSIS_ICOST_DOUBLED_H
#define ANALYSIS_ICOST_DOUBLED_H

#include "machine/machine.h"
#include "trace/record.h"

struct doubled;

struct doubled *doubled_new(const struct machine *machine);
void doubled_free(struct doubled *d);
/* The next committed instruction; returns a set of enum sized_hit. */
unsigned doubled_next(struct doubled *d, const struct rec_inst *r);

#endif

/* SPDX-License-Identifier: MIT */
/* What the collector may do: which capabilities it has, and giving up those that it does not need. */
#ifndef COLLECT_PRIVILEGES_H
#define COLLECT_PRIVILEGES_H

#include "util/util.h"

/* Adds a line for each capability that is missing, with what it costs. */
void privileges_note(char ***notes, size_t *nnotes);
/* Becomes the user, and keeps only the capabilities that sampling needs. */
bool privileges_become(const char *user, struct err *e);

#endif

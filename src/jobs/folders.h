/* SPDX-License-Identifier: MIT */
/* Whether the folders that a run has listed still hold what they held. */
#ifndef JOBS_FOLDERS_H
#define JOBS_FOLDERS_H

#include <jansson.h>

#include "util/digest.h"

/*
 * folders is row "folders" of a profile. Files in `made`, which the run itself made, and the
 * profile `store` do not count. Adds what the folders hold now to d. Returns the differences in
 * words, or NULL; the caller frees.
 */
char *folders_changed(const json_t *folders, const json_t *made, const char *store,
		      struct digest *d);

/* A name as a profile has it, with the mark of its kind behind it: bytes above 127 are written as \xNN if
 * it is not UTF-8. The caller frees. */
char *folders_name(const char *name, const char *mark);

#endif

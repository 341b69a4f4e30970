/* SPDX-License-Identifier: MIT */
/* Folders that a run has listed: if they hold what they held. */
#ifndef JOBS_FOLDERS_H
#define JOBS_FOLDERS_H

#include <jansson.h>

#include "jobs/digest.h"

/*
 * folders: as row "folders" of a profile has them; made: paths that the run itself made, store: the
 * profile; neither counts. What they hold now goes into d. Returns in words what is not as it was,
 * or NULL; the caller frees.
 */
char *folders_changed(const json_t *folders, const json_t *made, const char *store,
		      struct digest *d);

#endif

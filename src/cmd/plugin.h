/* SPDX-License-Identifier: MIT */
/* Analyses in shared objects of the user's (trace/plugin.h). */
#ifndef CMD_PLUGIN_H
#define CMD_PLUGIN_H

#include "trace/analysis.h"

/* Whether a name in --analyze is that of a shared object: it has a slash or ends with .so. */
bool plugin_is_path(const char *name);
/* Loads it; NULL and e filled if it cannot be used. It stays loaded to the end of the program. */
const struct analysis *plugin_load(const char *path, struct err *e);

#endif

/* SPDX-License-Identifier: MIT */
/* Lines of source files, read on demand and kept. */
#ifndef VIEW_SOURCE_H
#define VIEW_SOURCE_H

#include <stddef.h>
#include <stdint.h>

struct sources;

struct sources *sources_new(void);
void sources_free(struct sources *s);
/* The text of a line without its end; NULL if the file or the line is not there. */
const char *sources_line(struct sources *s, const char *file, int line);

/* Where files are now: "FROM=TO" for paths that begin with FROM; the first that fits counts. The list stays
 * the caller's. */
void sources_map(struct sources *s, const char *const *maps, size_t count);
/* When a file was last written, in seconds since 1970; 0 if it cannot be read. */
int64_t sources_changed_s(struct sources *s, const char *file);

#endif

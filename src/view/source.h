/* SPDX-License-Identifier: MIT */
/* Lines of source files, read on demand and kept. */
#ifndef VIEW_SOURCE_H
#define VIEW_SOURCE_H

struct sources;

struct sources *sources_new(void);
void sources_free(struct sources *s);
/* The text of a line without its end; NULL if the file or the line is not there. */
const char *sources_line(struct sources *s, const char *file, int line);

#endif

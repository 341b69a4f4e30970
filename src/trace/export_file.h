/* SPDX-License-Identifier: MIT */
/* A text file that gets its name only when it is complete, or when the disk is full; for analyses
 * that write one. */
#ifndef TRACE_EXPORT_FILE_H
#define TRACE_EXPORT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/output.h"

struct export_file {
	struct output *file; /* NULL: not open */
	char *path;
	char *buffer;
	size_t used;
	uint64_t written;  /* bytes … */
	uint64_t whole;	   /* … of which so many are whole lines */
	uint64_t cost_ns;  /* … and the last few took so long */
	uint64_t reserved; /* bytes for which the disk has room set aside; UINT64_MAX: it cannot */
	bool full;	   /* something could not be written */
	enum { EXPORT_CACHE, EXPORT_PASS_ON, EXPORT_KEEP } pages; /* export_file.c */
};
#define EXPORT_BUFFER_BYTES                                                                        \
	(1u << 18)	      /* what is written at once, in whole pages: a third cheaper */
#define EXPORT_LINE_BYTES 256 /* the longest that may be written in place */

bool export_file_open(struct export_file *f, const char *path, const struct output_kind *kind,
		      struct err *e);
/* Writes EXPORT_BUFFER_BYTES of what there is, which is at least that. */
bool export_file_spill(struct export_file *f, struct err *e);
/* Writes what is left and gives the file its name. */
bool export_file_finish(struct export_file *f, struct err *e);
/* Throws away a file that was not finished, unless something could not be written: then the whole
 * lines that could get the file's name. Does nothing to one that was finished. */
void export_file_free(struct export_file *f);

/* Where to write a line of at most EXPORT_LINE_BYTES; then add its length to used. NULL: failed. */
static inline char *export_file_line(struct export_file *f, struct err *e)
{
	if (unlikely(f->used >= EXPORT_BUFFER_BYTES) && !export_file_spill(f, e))
		return NULL;
	return f->buffer + f->used;
}
bool export_file_text(struct export_file *f, const char *text, size_t size, struct err *e);

#endif

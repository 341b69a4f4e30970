/* SPDX-License-Identifier: MIT */
/* A text file for analyses that write one. It gets its name only when it is complete, or when the
 * disk is full. */
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
	uint64_t written;  /* bytes */
	uint64_t whole;	   /* bytes of them that are whole lines */
	uint64_t cost_ns;  /* time that the last few writes took */
	uint64_t reserved; /* bytes for which disk space is reserved; UINT64_MAX: not possible */
	bool full;	   /* a write has failed */
	enum { EXPORT_CACHE, EXPORT_PASS_ON, EXPORT_KEEP } pages; /* export_file.c */
};
#define EXPORT_BUFFER_BYTES (1u << 18) /* written at once, in whole pages: a third cheaper */
#define EXPORT_LINE_BYTES   256	       /* the longest line for export_file_line */

bool export_file_open(struct export_file *f, const char *path, const struct output_kind *kind,
		      struct err *e);
/* Writes EXPORT_BUFFER_BYTES of the buffer, which must hold at least that. */
bool export_file_spill(struct export_file *f, struct err *e);
/* Writes what is left and gives the file its name. */
bool export_file_finish(struct export_file *f, struct err *e);
/* Throws away a file that was not finished. If a write had failed, the whole lines before it are
 * kept under the file's name. Does nothing to a file that was finished. */
void export_file_free(struct export_file *f);

/* The place for a line of at most EXPORT_LINE_BYTES; the caller then adds its length to `used`.
 * NULL: a write failed. */
static inline char *export_file_line(struct export_file *f, struct err *e)
{
	if (unlikely(f->used >= EXPORT_BUFFER_BYTES) && !export_file_spill(f, e))
		return NULL;
	return f->buffer + f->used;
}
bool export_file_text(struct export_file *f, const char *text, size_t size, struct err *e);

#endif

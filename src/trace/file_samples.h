/* SPDX-License-Identifier: MIT */
/*
 * A file of what a monitor sampled in a run: what a trace says of its run (struct trace_info), and
 * the samples, which are bytes to this file. docs/trace-format.md describes the bytes.
 */
#ifndef TRACE_FILE_SAMPLES_H
#define TRACE_FILE_SAMPLES_H

#include "trace/file.h"
#include "util/output.h"

#define SAMPLES_MAGIC_BYTES 8

struct samples_kind {
	char magic[SAMPLES_MAGIC_BYTES + 1];
	struct output_kind output; /* what messages call it */
};
/* Samples of the shotgun profiler (analysis/shotgun/). */
extern const struct samples_kind samples_shotgun;

bool samples_file_write(const char *path, const struct samples_kind *kind,
			const struct trace_info *info, const uint8_t *data, size_t size,
			struct err *e);

struct samples_file;
/* Reads a whole file. Nothing in it is trusted: sizes and checksums are checked; what the samples say is
 * for the caller to check. */
struct samples_file *samples_file_open(const char *path, const struct samples_kind *kind,
				       struct err *e);
void samples_file_close(struct samples_file *f);
const struct trace_info *samples_file_info(const struct samples_file *f);
const uint8_t *samples_file_data(const struct samples_file *f, size_t *size);

/* Whether a file's first bytes are those of this kind. */
bool samples_file_begins(const struct samples_kind *kind, const void *head, size_t size);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Files that culprit writes. What is written goes into a file beside its final name, which it gets
 * when it is complete. Only a file of the same kind is replaced: a profile by a profile, a trace by
 * a trace. A device or a pipe is written in place, if the kind allows it; the target of a symbolic
 * link is what counts, and the link stays.
 *
 * The file beside is called NAME.NUMBER.tmp and is locked (flock) by its writer for as long as that
 * lives. A process that begins to write the same NAME removes those that are not locked: their
 * writer was killed.
 */
#ifndef UTIL_OUTPUT_H
#define UTIL_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "util/util.h"

#define OUTPUT_HEAD_BYTES 4096

struct output_kind {
	const char *what;   /* "a culprit profile" */
	const char *option; /* what names another place: "-o" */
	bool only_files;    /* cannot be written into a device or a pipe */
	/* Whether a file is of this kind, by its first bytes (fewer if it is shorter) and its path.
	 */
	bool (*is)(const uint8_t *head, size_t size, const char *path);
};

struct output;

/* NULL and e filled if what is there must not be replaced, or nothing can be written there. */
struct output *output_open(const char *path, const struct output_kind *kind, struct err *e);
/* The same check without opening anything, for files that are written only at the end of a run. */
bool output_may_open(const char *path, const struct output_kind *kind, struct err *e);
/* A descriptor for writing; the output closes it. */
int output_fd(const struct output *o);
/* A stream of its own for writing, which the caller closes before output_commit; NULL: no memory,
 * or no descriptor, which e says. */
FILE *output_stream(const struct output *o, struct err *e);
/* The name under which the file can be opened now. */
const char *output_now(const struct output *o);
/*
 * Gives the file its name and frees o. If something else has taken the name meanwhile, the file is
 * kept under another one, and e says which.
 */
bool output_commit(struct output *o, struct err *e);
/* Removes the file, unless it is a device or a pipe, and frees o. NULL is fine. */
void output_discard(struct output *o);

/* In a process that was forked: the file is the parent's. Frees o, and leaves the file alone. NULL
 * is fine. */
void output_forget(struct output *o);

/* Helper for output_kind.is: the head begins with that text. */
bool output_begins(const uint8_t *head, size_t size, const char *text);

#endif

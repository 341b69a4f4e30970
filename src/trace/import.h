/* SPDX-License-Identifier: MIT */
/* Imports other simulators' traces as sources of records. */
#ifndef TRACE_IMPORT_H
#define TRACE_IMPORT_H

#include <stdio.h>

#include "trace/emit.h"
#include "trace/file.h"

/* Whether the text begins as gem5's O3PipeView does. */
bool import_is_o3pipeview(const char *text, size_t size);

struct o3_import;

/*
 * Begins to read gem5's O3PipeView text and finds out how many ticks a cycle has. It gives inst
 * records only, without dependences and latencies (`absent` in its info says so). f stays the
 * caller's.
 */
struct o3_import *import_o3pipeview_open(FILE *f, const char *name, struct err *e);
const struct trace_info *import_o3pipeview_info(const struct o3_import *im);
/* Feeds all records; false, with the line in the message, if one is wrong. */
bool import_o3pipeview_feed(struct o3_import *im, struct emit *out, struct err *e);
/* The size of what was read: committed instructions, and cycles from the first fetch to the last
 * commit. */
void import_o3pipeview_size(const struct o3_import *im, uint64_t *insts, uint64_t *cycles);
void import_o3pipeview_close(struct o3_import *im);

#endif

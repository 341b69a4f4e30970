/* SPDX-License-Identifier: MIT */
/*
 * A twin that is another trace: the same program on the same machine with perfect caches. Its
 * instructions are paired with the run's by their number in program order.
 */
#ifndef TRACE_TWIN_H
#define TRACE_TWIN_H

#include "trace/file_read.h"
#include "trace/record.h"

struct twin;

/* Opens the trace. It must be of the same program as the run `of`, and of a machine with perfect
 * caches and TLBs, if it says what its machine is; the run's must not be perfect. */
struct twin *twin_open(const char *path, bool salvage, const struct trace_info *of, struct err *e);
void twin_close(struct twin *t);
/* Finds the twin's stamps of a committed instruction; call it in program order. False, with a
 * message, if the twin lacks the instruction or has another one in its place. */
bool twin_find(struct twin *t, const struct rec_inst *r, struct rec_twin *out, struct err *e);

#endif

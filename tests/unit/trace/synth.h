/* SPDX-License-Identifier: MIT */
/*
 * A made-up program on a made-up core, for tests of what follows the core: loops, calls,
 * mispredicted branches, squashed wrong paths, cache misses, system calls. The records keep
 * invariants R1 to R5 of trace/record.h.
 */
#ifndef TESTS_SYNTH_H
#define TESTS_SYNTH_H

#include "trace/emit.h"
#include "trace/record.h"

void synth_meta(struct trace_meta *meta);
/* Writes records until `insts` instructions have committed, or the listener stops. Returns the
 * number of cycles. */
uint64_t synth_run(struct emit *e, uint64_t seed, uint64_t insts);

#endif

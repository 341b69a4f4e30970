/* SPDX-License-Identifier: MIT */
/*
 * The timing model: a cycle-level out-of-order (or in-order) core that runs a guest.
 *
 * The guest executes at fetch and is the truth; the core says when. A caller that wants to know why
 * passes an emit, into which the core writes the records of trace/record.h; without one nothing is
 * computed for them.
 */
#ifndef CORE_CORE_H
#define CORE_CORE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/mem/mem.h"
#include "machine/machine.h"
#include "guest/guest.h"
#include "trace/emit.h"
#include "trace/hits.h"
#include "util/util.h"

struct core;

/*
 * Builds the core that config describes, to run g. emit (may be NULL) and g stay the caller's.
 * Returns NULL and fills e if config does not pass machine_check.
 */
struct core *core_new(const struct machine *config, struct guest *g, struct emit *emit,
		      struct err *e);
void core_free(struct core *c);
/* From now on these misses of another run of the guest on this machine are hits (memsys_hits). */
void core_hits(struct core *c, const struct hit *hits, size_t count);
/* Before core_warm: what becomes of what the state before it could decide, when it is timed (memsys_unknown). With
 * UNKNOWN_HIT a branch is predicted right, too, the first time. For bounds of what a longer warm-up gives. */
void core_unknown(struct core *c, enum mem_unknown unknown);
/* Debug builds: every invariant is checked in every cycle from now on; slow. */
void core_checked(struct core *c);
/* From now on emit (NULL: nobody) gets the records. Only while the pipeline is empty: for a
 * listener that must know core_meta first. */
void core_listen(struct core *c, struct emit *emit);
/* The records of the next cycle and later ones go to emit, which wants what the one before wants.
 * Anything may be in flight. Misses that are have their records, as of now. */
void core_relisten(struct core *c, struct emit *emit);

enum core_status {
	CORE_RUNNING, /* out of cycles: there is more to do */
	CORE_STOPPED, /* the instructions asked for have committed; the pipeline is empty */
	CORE_ENDED,   /* the guest's process has ended and everything has committed */
	CORE_REACHED, /* core_target: that many have committed; more are in flight */
};

/* Fetches at most max_insts more right-path instructions (0: no limit) and runs until all that was
 * fetched has committed. Here and below, instructions that raise a signal count, unless the guest's
 * clock is instructions (guest_clocks_insts): then all counts of instructions are the guest's. */
enum core_status core_run(struct core *c, uint64_t max_insts);
/* Goes on for at least max_cycles, without a new limit of instructions: running in pieces changes
 * nothing. */
enum core_status core_continue(struct core *c, uint64_t max_cycles);
/* Sets that limit without running. */
void core_limit(struct core *c, uint64_t max_insts);
/* core_continue returns CORE_REACHED once, at the end of the cycle in which core_position has reached
 * `position` (and may have passed it: others commit in the same cycle). The cycles are those of a run
 * that goes on: what follows is fetched. But the guest does not enter the kernel for an instruction
 * beyond `position` before that is reached. 0: never. */
void core_target(struct core *c, uint64_t position);
/* The number of the guest's instructions that have committed; the guest itself is ahead by what is in
 * flight. */
uint64_t core_position(const struct core *c);
/* Fetches nothing new and runs until all that was fetched has committed, all stores are written and
 * no miss is on its way. The guest is then where the core is. */
void core_drain(struct core *c);
/* The guest has touched these lines (guest_history_take), which its caches and TLBs then have as far as there is room. Before
 * core_warm, of a new core. */
void core_recall(struct core *c, const struct guest_lines *lines);
/* Runs n instructions functionally and lets caches, TLBs and predictors learn from them. No time
 * passes, but until stores are written and misses have ended. Only while the pipeline is empty. */
enum core_status core_warm(struct core *c, uint64_t n);
/* core_drain(), and then forgets what a core that was read from a state does not know either: open
 * rows of memory, when buses are free. */
void core_pause(struct core *c);
/* Saves or reads (state/state.h) what timing later depends on: caches, TLBs, predictors, prefetchers.
 * Only after core_pause, or in a core that has just been made for the same machine: a size that
 * differs is an error of the state. Read it before core_listen. */
void core_state(struct core *c, struct state *s);
/* The run stops with instructions in the pipeline: its twin, if it has one (WANT_TWIN), says when those that
 * have committed did so there. */
void core_end_twin(struct core *c);
/* The run, or its timed part, is over: misses in progress get their records now (WANT_MISSES). */
void core_cut(struct core *c);
/* The guest has moved on without the core (guest_run): fetch goes on from where it is now. Only
 * while the pipeline is empty. */
void core_attach(struct core *c);

/* What the run has cost so far. */
struct core_stats {
	uint64_t cycles;
	uint64_t insts;		 /* committed */
	uint64_t fetched;	 /* right path and wrong */
	uint64_t squashed;	 /* of fetched: thrown away */
	uint64_t wrong_path;	 /* of fetched: on a wrong path */
	uint64_t branches;	 /* committed conditional branches */
	uint64_t controls;	 /* committed branches and jumps */
	uint64_t mispredicts;	 /* committed and mispredicted, direction or target */
	uint64_t loads, stores;	 /* committed */
	uint64_t forwards;	 /* loads that the store queue served */
	uint64_t violations;	 /* memory-order flushes */
	uint64_t exceptions;	 /* system calls, page faults, thread switches, faults */
	uint64_t faults;	 /* of insts: raised a signal instead of executing; the guest does
				    not count them (guest_insts) */
	uint64_t serial_flushes; /* CSR, fence, atomic */
	uint64_t steps; /* cycles that were simulated one by one; the others were skipped */
	uint64_t
	    dispatch_stall[DISPATCH_STALL_COUNT]; /* cycles in which nothing dispatched, by cause */
};
const struct core_stats *core_stats(const struct core *c);
/* What the run has cost the twin, once it has stopped or ended; NULL: there is no twin. */
const struct core_stats *core_twin_stats(const struct core *c);
/* In a host process that was forked while the core ran: its threads are not there any more. */
void core_forked(struct core *c);
const struct memsys_stats *core_memory_stats(const struct core *c);

/* Describes machine and run for analyses. */
void core_meta(const struct core *c, struct trace_meta *meta);

/* Prints the pipeline's state, for messages about bugs. */
void core_dump(const struct core *c, FILE *f);

#endif

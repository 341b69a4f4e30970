/* SPDX-License-Identifier: MIT */
/*
 * Inside the engine: how many instructions each static block has executed since the last look.
 *
 * A static block is a run of instructions in sequence, from where a thread enters it to the next
 * control transfer or ecall. It is named by its first instruction, its leader. How the engine cuts
 * blocks does not matter: an engine block that goes on with a static block (the first one was too long,
 * or an instruction had to stand alone) is decoded anew for each leader, and knows it.
 *
 * Each engine block has a tally. Times are counted from -1, so that an increment in generated code has
 * the zero flag for a first run, which puts the tally's number on the list of those that have run.
 */
#ifndef GUEST_VECTOR_H
#define GUEST_VECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "guest/engine/engine.h"

struct block;

/* The present instruction begins a static block. */
#define LEADER_NEW UINT64_MAX

struct tally {
	int64_t times;	/* runs since it was last collected, less 1 */
	uint32_t insts; /* of the engine block */
	uint32_t place; /* its static block */
};

struct vectors;

/* near: where the tallies had best be, for generated code; NULL: anywhere. */
struct vectors *vectors_new(const struct engine_config *config, const void *near);
void vectors_free(struct vectors *v);
void vectors_free_locality(struct engine *e);

/* A tally for a new engine block. */
struct tally *vectors_tally(struct engine *e, uint64_t leader, unsigned insts);
/* All engine blocks are gone. */
void vectors_reset_tallies(struct engine *e);
/* Adds up what the tallies have counted. Before any engine block, or what the guest has mapped,
 * changes. */
void vectors_collect(struct engine *e);
/* Code may be another's from now on. */
void vectors_remapped(struct engine *e);

/* Instructions of the static block that began at leader, outside of whole engine blocks. */
void vectors_single(struct engine *e, uint64_t leader, unsigned insts);
/* Block b began to run and did not end. */
void vectors_undo(struct engine *e, const struct block *b);
/* Runs of b in the whole run, after vectors_collect. */
uint64_t vectors_total(const struct engine *e, const struct block *b);
/* The number of a tally, which goes on the list. */
uint32_t vectors_number(const struct engine *e, const struct tally *t);

#endif

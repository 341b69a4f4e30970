/* SPDX-License-Identifier: MIT */
/* The caches as they would be if only the right path had used them. */
#ifndef ANALYSIS_ICOST_SHADOW_H
#define ANALYSIS_ICOST_SHADOW_H

#include "machine/machine.h"
#include "trace/record.h"

struct shadow;

/* NULL if the machine has no caches, or none are known. */
struct shadow *shadow_new(const struct machine *machine, const struct trace_meta *meta);
void shadow_free(struct shadow *s);

enum shadow_side { SHADOW_INST, SHADOW_DATA };

/*
 * The right path's next access to the line of addr, which was really served by that level: where it
 * would have been served without wrong paths; LEVEL_NONE if that cannot be told (a prefetcher, or
 * too little has been seen).
 */
enum mem_level shadow_access(struct shadow *s, enum shadow_side side, uint64_t addr,
			     enum mem_level really);
/* The same for a store, which is really served after its record is made. LEVEL_NONE also where
 * misses are idealised. */
enum mem_level shadow_store(struct shadow *s, uint64_t addr);
/* The line of such a store did come from memory, as a load saw that waited for it, or did not. */
void shadow_stored(struct shadow *s, bool memory);
/* Translates addr. `took` is the observed time; returns the extra cycles without wrong paths, 0
 * also where that cannot be told (a TLB that is not fully associative). */
uint16_t shadow_translate(struct shadow *s, uint64_t addr, uint16_t took);
/* An instruction that nothing more is asked about. */
void shadow_watch(struct shadow *s, const struct rec_inst *r);
/* What a miss that is served there adds to a hit; learnt from those that happened. */
void shadow_learn(struct shadow *s, enum shadow_side side, enum mem_level level, uint16_t cycles);
uint16_t shadow_latency(const struct shadow *s, enum shadow_side side, enum mem_level level);
/* What such a miss adds at least: one that added less was begun by another access. */
uint16_t shadow_least(const struct shadow *s, enum shadow_side side, enum mem_level level);

#endif

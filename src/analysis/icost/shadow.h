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
 * The right path's next access to the line of addr, which level `really` served. Returns the level
 * that would have served it without wrong paths; LEVEL_NONE if that cannot be told (a prefetcher, or
 * too little has been seen).
 */
enum mem_level shadow_access(struct shadow *s, enum shadow_side side, uint64_t addr,
			     enum mem_level really);
/* The same for a store, whose record is made before it is served. LEVEL_NONE also where misses are
 * idealised. */
enum mem_level shadow_store(struct shadow *s, uint64_t addr);
/* LEVEL_NONE then means that a prefetcher brought the line, or may have: the line's first use. */
bool shadow_knows_first(const struct shadow *s, enum shadow_side side);
/* A load has shown where the line of such a store came from; memory: from memory. */
void shadow_stored(struct shadow *s, bool memory);
/* Translates addr. `took` is the observed time; returns the extra cycles without wrong paths, 0
 * also where that cannot be told (a TLB that is not fully associative). */
uint16_t shadow_translate(struct shadow *s, uint64_t addr, uint16_t took);
/* The right path asks for a line with a prefetch instruction. Whether it comes in time is not known, as
 * with a prefetcher's lines: nothing is said about its first use. */
void shadow_hint(struct shadow *s, const struct rec_inst *r);
/* Updates the tags with an instruction about which nothing is asked. */
void shadow_watch(struct shadow *s, const struct rec_inst *r);
/* Learns, and tells, how many cycles a miss served by this level adds to a hit, in the mean. */
void shadow_learn(struct shadow *s, enum shadow_side side, enum mem_level level, uint16_t cycles);
uint16_t shadow_latency(const struct shadow *s, enum shadow_side side, enum mem_level level);
/* The cycles that such a miss adds at least; one that added fewer was begun by another access. */
uint16_t shadow_least(const struct shadow *s, enum shadow_side side, enum mem_level level);

#endif

/* SPDX-License-Identifier: MIT */
/* The loop predictor that TAGE can be given. See loop.c. */
#ifndef CORE_BPRED_LOOP_H
#define CORE_BPRED_LOOP_H

#include "core/bpred/dir.h"

struct loop;

struct loop *loop_new(const struct bpred_config *c);
void loop_saved(struct loop *l, struct state *s);
void loop_free(struct loop *l);
/* True if the branch is a loop whose trip count is known for sure; *taken is then the prediction.
 */
bool loop_predict(const struct loop *l, uint64_t pc, bool *taken);
/* The speculative iteration count moves over the branch. */
void loop_advance(struct loop *l, uint64_t pc, bool taken, struct spec_log *log);
/* The speculative counts, *n of them. */
uint64_t **loop_spec(struct loop *l, size_t *n);
/*
 * Trains in program order. sure and said are what loop_predict answered; other is what would have
 * been predicted without it; random: a few random bits for replacement.
 */
void loop_update(struct loop *l, uint64_t pc, bool sure, bool said, bool other, bool taken,
		 uint32_t random);
uint64_t loop_bits(const struct bpred_config *c);
uint64_t loop_hash(const struct loop *l, uint64_t h);
uint64_t loop_hash_spec(const struct loop *l, uint64_t h);

#endif

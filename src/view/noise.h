/* SPDX-License-Identifier: MIT */
/*
 * How much of a difference between two runs may be chance, where one or both are estimates. Two runs
 * with the same points are compared point by point (matched pairs): what makes one interval slower than
 * another is the same in both and drops out. Otherwise the two intervals add up as independent ones do.
 */
#ifndef VIEW_NOISE_H
#define VIEW_NOISE_H

#include "sampling/estimate.h"
#include "view/model.h"

struct noise;

/* NULL with ok set: both runs were simulated whole. NULL without: e says what is wrong. */
struct noise *noise_read(struct store *before, struct store *after, const struct model *a,
			 const struct model *b, bool *ok, struct err *e);
void noise_free(struct noise *n);
bool noise_matched(const struct noise *n);

/* Half of the 95% interval of the change from one to the other, in cycles; NAN: not known. Functions by
 * their ids, instructions by their addresses; NULL: it is only in the other run. */
double noise_function(struct noise *n, const int64_t *before, const int64_t *after);
double noise_instruction(const struct noise *n, const int64_t *before, const int64_t *after);
/* Of all cycles, as a part of those before. */
double noise_cycles(const struct noise *n);

#endif

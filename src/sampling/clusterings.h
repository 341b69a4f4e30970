/* SPDX-License-Identifier: MIT */
/* What choose.c needs of clusterings beyond sampling.h. */
#ifndef SAMPLING_CLUSTERINGS_H
#define SAMPLING_CLUSTERINGS_H

#include "sampling/sampling.h"

/* The intervals that they are of. */
const struct intervals *clusterings_of(const struct clusterings *c);
/* For each cluster, the interval that is closest to its centre; of equally close ones the first. */
void clustering_closest(const struct intervals *v, const struct clustering *c, size_t *closest);

#endif

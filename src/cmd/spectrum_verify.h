/* SPDX-License-Identifier: MIT */
/* Simulations for `culprit spectrum`. */
#ifndef CMD_SPECTRUM_VERIFY_H
#define CMD_SPECTRUM_VERIFY_H

#include "cmd/simulating.h"
#include "view/spectrum.h"

/* Fills in what making the misses of each cluster of v hits saves. False and e filled if the
 * simulations could not begin, or were interrupted; *failed counts those that failed. */
bool spectrum_verify(struct store *s, const struct simulating *o, struct spectrum_verify *v,
		     size_t *failed, struct err *e);
/* Simulates the run without each of the loads' misses, and without any data miss. */
bool spectrum_multisim(struct store *s, const struct simulating *o, struct spectrum_compare *c,
		       size_t *failed, struct err *e);

#endif

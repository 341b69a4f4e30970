/* SPDX-License-Identifier: MIT */
/* A made-up source: images, processes and counts from a seed, for tests of what keeps them. */
#ifndef TEST_COLLECT_SYNTH_H
#define TEST_COLLECT_SYNTH_H

#include "collect/live.h"

struct synth {
	struct rng rng;
	struct live_event events[2];
	struct live_facts facts;
	uint64_t pending; /* taken and not given yet */
	uint32_t nimages, nprocesses, noffsets;
	uint32_t first_image, first_process; /* others than before where these are raised */
	bool stacks;
};

void synth_begin(struct synth *s, uint64_t seed);
/* Gives n counts to the sink. */
void synth_counts(struct synth *s, const struct live_sink *sink, int n);
/* Makes a cut with the totals so far. */
bool synth_cut(struct synth *s, const struct live_sink *sink, struct err *e);

/* A text of everything in a profile that does not depend on the order in which it was filled; the
 * caller frees. */
char *synth_text(struct live_profile *p);

/* Setup and teardown of a test: a temporary folder, which is the current one meanwhile. */
int synth_make_folder(void **state);
int synth_remove_folder(void **state);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Perfect: told the outcome and the target, it repeats them, with every target at fetch. Nothing is
 * trained. Without the truth (there is no wrong path to need it on unless something else than a
 * branch opens one) it predicts taken.
 */
#include "core/bpred/dir.h"

static bool perfect_predict(void *state, uint64_t pc, const struct history *h, struct bpred_pred *p)
{
	return true;
}

const struct bpred_dir dir_perfect = {
	.name = "perfect",
	.summary = "right every time, direction and target",
	.oracle = true,
	.predict = perfect_predict,
};

/* SPDX-License-Identifier: MIT */
/*
 * Always taken: the static predictor that needs no state. Targets still come from the BTB, the
 * return-address stack and the indirect predictor.
 */
#include "core/bpred/dir.h"

static bool taken_predict(void *state, uint64_t pc, const struct history *h, struct bpred_pred *p)
{
	return true;
}

const struct bpred_dir dir_taken = {
	.name = "taken",
	.summary = "every branch is taken",
	.predict = taken_predict,
};

/* SPDX-License-Identifier: MIT */
/* An example analysis: how long instructions take from dispatch to commit, by class. */
#include "isa/isa.h"
#include "store/store.h"
#include "trace/analysis.h"
#include "trace/plugin.h"

struct lifetime {
	uint64_t cycles[CLASS_COUNT], insts[CLASS_COUNT];
};

static bool lifetime_insts(void *state, const struct rec_inst *r, size_t count, struct err *e)
{
	struct lifetime *l = state;
	for (size_t i = 0; i < count; i++) {
		l->cycles[r[i].cls % CLASS_COUNT] += r[i].commit - r[i].dispatch;
		l->insts[r[i].cls % CLASS_COUNT]++;
	}
	return true;
}

static bool lifetime_finish(void *state, struct store *store, struct err *e)
{
	struct lifetime *l = state;
	bool ok = true;
	for (int c = 0; ok && c < CLASS_COUNT; c++)
		if (l->insts[c])
			ok = store_insert(store, e, "counter", "si", op_class_name[c],
					  (int64_t)(l->cycles[c] / l->insts[c]));
	return ok;
}

const struct analysis lifetime_analysis = {
	.name = "lifetime",
	.summary = "mean cycles from dispatch to commit, by class of instruction",
	.wants = WANT_INSTS,
	.state_size = sizeof(struct lifetime),
	.insts = lifetime_insts,
	.finish = lifetime_finish,
};

/* For `culprit sim --analyze ./lifetime.so`; one that is built in has a line in analysis/list.c instead. */
CULPRIT_ANALYSIS(lifetime_analysis)

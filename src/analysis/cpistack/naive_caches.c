/* SPDX-License-Identifier: MIT */
/*
 * The naive method (eyerman2006 section 2) as counters at the caches have it: every request that goes out counts, on
 * whatever path, also a store's, which misses when it drains after its commit, and so after anything could be noted
 * of its instruction. `naive` in counters.c counts what instructions have suffered.
 *
 * Prefetches and page-table entries do not count: the paper's machine has neither; nor do prefetch instructions.
 */
#include "analysis/cpistack/naive_caches.h"

#include "analysis/cpistack/cpistack.h"
#include "store/store.h"

struct naive_caches {
	struct trace_meta meta;
	struct naive_caches_counts n;
};

const struct naive_caches_counts *naive_caches_counts(const void *state)
{
	return &((const struct naive_caches *)state)->n;
}

static bool naive_start(void *state, const struct trace_meta *meta,
			const struct analysis_options *o, struct err *e)
{
	(void)o;
	(void)e;
	((struct naive_caches *)state)->meta = *meta;
	return true;
}

static bool naive_misses(void *state, const struct rec_miss *misses, size_t count, struct err *e)
{
	struct naive_caches *s = state;
	(void)e;
	for (size_t i = 0; i < count; i++) {
		const struct rec_miss *m = &misses[i];
		const bool memory = m->level == LEVEL_MEM;
		switch ((enum miss_kind)m->kind) {
		case MISS_FETCH:
			s->n.events[memory ? CPI_L2I : CPI_L1I]++;
			break;
		case MISS_STORE:
			s->n.of_stores++;
			/* fallthrough */
		case MISS_LOAD:
		case MISS_ATOMIC:
			s->n.events[memory ? CPI_L2D : CPI_L1D]++;
			break;
		case MISS_ITLB:
			s->n.events[CPI_ITLB]++;
			break;
		case MISS_DTLB:
			s->n.events[CPI_DTLB]++;
			break;
		default:
			break;
		}
	}
	return true;
}

static bool naive_batch(void *state, const struct rec_inst *insts, size_t ninsts,
			const struct rec_cycle *cycles, size_t ncycles, struct err *e)
{
	struct naive_caches *s = state;
	(void)e;
	for (size_t i = 0; i < ninsts; i++)
		if (insts[i].flags & RI_MISPREDICT && insts[i].flags & (RI_COMMITTED | RI_RESOLVED))
			s->n.events[CPI_BMISP]++;
	for (size_t i = 0; i < ncycles; i++)
		s->n.cycles += cycles[i].repeat;
	return true;
}

static bool naive_finish(void *state, struct store *store, struct err *e)
{
	struct naive_caches *s = state;
	struct naive_caches_counts *n = &s->n;
	uint64_t penalty[CPI_COMPONENTS];
	const int64_t id = (int64_t)METHODS + 3;
	counters_penalties(&s->meta, penalty);
	n->stack[CPI_BASE] = (int64_t)n->cycles;
	for (unsigned k = CPI_BASE + 1; k < CPI_COMPONENTS; k++) {
		n->stack[k] = (int64_t)(n->events[k] * penalty[k]);
		n->stack[CPI_BASE] -= n->stack[k];
	}
	if (!store)
		return true;
	bool ok =
	    store_insert(store, e, "cpi_method", "issi", id, "naive_caches",
			 "naive, by counters at the caches: stores and all paths", (int64_t)1);
	for (int k = 0; ok && k < CPI_COMPONENTS; k++)
		if (n->stack[k])
			ok = store_insert(store, e, "cpi_component", "iisi", (int64_t)-1, id,
					  words_components[k].name, n->stack[k]);
	return ok && store_insert(store, e, "run", "si", "naive_caches_store_misses",
				  (int64_t)n->of_stores);
}

const struct analysis naive_caches_analysis = {
	.name = "naive-caches",
	.summary = "naive CPI stack by counters at the caches, store misses too (beside cpistack)",
	.wants = WANT_CYCLES | WANT_INSTS | WANT_SQUASHED_EVENTS | WANT_MISSES | WANT_BRIEF,
	.state_size = sizeof(struct naive_caches),
	.start = naive_start,
	.batch = naive_batch,
	.misses = naive_misses,
	.finish = naive_finish,
};

/* SPDX-License-Identifier: MIT */
/* Writes CPI stacks as rows of the store: per run, per phase and (commit stage) per instruction. */
#include <stdlib.h>

#include "analysis/cpistack/cpistack.h"
#include "store/store.h"

static const bool in_slots[METHODS] = {
#define X(id, name, slots, axis, meaning) [METHOD_##id] = slots,
	WORDS_METHODS(X)
#undef X
};

int64_t cpi_scale(const struct cpistack *s, enum cpi_method m)
{
	return in_slots[m] ? s->meta.dispatch_width : 1;
}

static bool put_counts(struct store *store, struct err *e, int64_t phase,
		       const struct cpi_counts *now, const struct cpi_counts *before)
{
	bool ok = store_insert(store, e, "cpi_phase", "iii", phase, now->cycles - before->cycles,
			       now->insts - before->insts);
	for (int64_t m = 0; ok && m < METHODS; m++)
		for (int k = 0; ok && k < CPI_COMPONENTS; k++) {
			int64_t units = now->method[m][k] - before->method[m][k];
			if (units)
				ok = store_insert(store, e, "cpi_component", "iisi", phase, m,
						  words_components[k].name, units);
		}
	for (int k = 0; ok && k < TD_COMPONENTS; k++) {
		int64_t units = now->topdown[k] - before->topdown[k];
		if (units)
			ok = store_insert(store, e, "cpi_component", "iisi", phase,
					  (int64_t)METHODS, words_topdown[k].name, units);
	}
	return ok;
}

static bool put_places(const struct cells *places, struct store *store, struct err *e)
{
	struct cell *cells = cells_sorted(places);
	bool ok = true;
	for (size_t i = 0; ok && i < places->used; i++)
		if (cells[i].units || cells[i].count)
			ok =
			    store_insert(store, e, "cpi_place", "isii", (int64_t)cell_pc(&cells[i]),
					 words_components[cell_category(&cells[i])].name,
					 (int64_t)cells[i].count, (int64_t)cells[i].units);
	free(cells);
	return ok;
}

bool cpistack_store(struct cpistack *s, struct store *store, struct err *e)
{
	static const struct cpi_counts zero;
	bool ok = true;
	for (int64_t m = 0; ok && m < METHODS; m++)
		if (m != METHOD_STALLS || s->meta.in_order)
			ok = store_insert(store, e, "cpi_method", "issi", m, words_methods[m].name,
					  words_methods[m].meaning,
					  cpi_scale(s, (enum cpi_method)m));
	ok = ok &&
	     store_insert(store, e, "cpi_method", "issi", (int64_t)METHODS, "topdown",
			  "top-down analysis of dispatch slots", (int64_t)s->meta.dispatch_width);
	/* phase -1 is the whole run */
	ok = ok && put_counts(store, e, -1, &s->now, &zero);
	for (size_t i = 0; ok && i < s->nphases; i++) {
		/* Components known only at the end (base of FMT, the naive methods) have no place
		 * on the time axis. */
		struct cpi_counts now = s->phase[i], before = i ? s->phase[i - 1] : zero;
		for (int m = METHOD_FMT; m <= METHOD_NAIVE_NON_SPEC; m++) {
			int64_t sum = 0;
			now.method[m][CPI_BASE] = before.method[m][CPI_BASE] = 0;
			for (int k = 0; k < CPI_COMPONENTS; k++)
				sum += now.method[m][k] - before.method[m][k];
			if (m < METHOD_NAIVE)
				now.method[m][CPI_BASE] = (now.cycles - before.cycles) *
							      cpi_scale(s, (enum cpi_method)m) -
							  sum;
			else
				for (int k = 0; k < CPI_COMPONENTS; k++)
					now.method[m][k] = before.method[m][k] = 0;
		}
		ok = put_counts(store, e, (int64_t)i, &now, &before);
	}
	struct cell *cells = cells_sorted(&s->by_pc);
	for (size_t i = 0; ok && i < s->by_pc.used; i++)
		ok = store_insert(store, e, "cpi_instruction", "isid", (int64_t)cell_pc(&cells[i]),
				  words_components[cell_category(&cells[i])].name,
				  (int64_t)cells[i].count,
				  (double)cells[i].units / (double)s->scale);
	free(cells);
	ok = ok && put_places(&s->fmt.places.cells, store, e);
	for (int k = 0; ok && k < CPI_COMPONENTS; k++)
		if (s->events[0][k])
			ok = store_insert(store, e, "cpi_event", "sii", words_components[k].name,
					  (int64_t)s->events[0][k], (int64_t)s->events[1][k]);
	static const char *const clock[CLOCKS] = { "ideal_cycles", "ideal_l1d_cycles",
						   "ideal_mispredict_cycles" };
	for (unsigned k = 0; ok && k < CLOCKS && s->ideal.machine; k++)
		ok = store_insert(store, e, "run", "si", clock[k],
				  (int64_t)(s->ideal.clock[k].committed / s->meta.dispatch_width));
	return ok &&
	       store_insert(store, e, "run", "si", "frontend_backend_overlap_cycles",
			    (int64_t)(s->overlap / s->meta.dispatch_width)) &&
	       store_insert(store, e, "run", "si", "frontend_beside_long_miss_cycles",
			    (int64_t)(s->beside_long / s->meta.dispatch_width));
}

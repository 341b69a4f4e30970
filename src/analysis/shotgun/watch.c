/* SPDX-License-Identifier: MIT */
/*
 * What the shotgun profiler's monitor sees of a run: of each committed instruction its record, and
 * the facts beside it that hardware would have and a record lacks (struct shotgun_seen).
 */
#include "analysis/icost/shadow.h"
#include "analysis/shotgun/shotgun.h"
#include "trace/file.h"

#define DETAIL_PERIOD 200
#define LONG_PERIOD   20000
#define MAX_DETAILS   (1u << 20)
#define MAX_LONGS     1024

bool shotgun_watch_start(struct shotgun_watch *w, const struct trace_meta *meta,
			 const struct analysis_options *o, struct err *e)
{
	const struct monitor_config mc = {
		.detail_period = (uint32_t)analysis_number(o, "shotgun.detail", DETAIL_PERIOD),
		.long_period = (uint32_t)analysis_number(o, "shotgun.signature", LONG_PERIOD),
		.max_details = MAX_DETAILS,
		.max_longs = MAX_LONGS,
		.seed = o->seed + 7,
		.shape = { .length = (uint32_t)analysis_number(o, "shotgun.length", SHOTGUN_LONG),
			   .context =
			       (uint32_t)analysis_number(o, "shotgun.context", SHOTGUN_CONTEXT),
			   .bits = (uint32_t)analysis_number(o, "shotgun.bits", SHOTGUN_BITS) },
	};

	if (!edges_machine_read(&w->machine, meta, o->info->machine, e))
		return false;
	if (mc.detail_period < shotgun_span(&mc.shape))
		return err_set(
		    e,
		    "shotgun.detail=%u: one sample is under way at a time, so at least %u "
		    "instructions lie between two",
		    mc.detail_period, shotgun_span(&mc.shape));
	w->shape = mc.shape;
	w->monitor = monitor_new(&mc);
	w->edges = edges_new(&w->machine);
	w->shadow = shadow_new(o->info->machine, meta);
	edges_shadow(w->edges, w->shadow);
	return true;
}

/* Cycles saved because a wrong path had fetched the line. */
static uint16_t saved(const struct graph_inst *in, enum graph_category category)
{
	if (category == CAT_SAVED_IMISS)
		return in->fetch[2].category == category ? in->fetch[2].cycles : 0;
	for (unsigned k = 0; k < GRAPH_EP_PARTS && in->ep_part[k].cycles; k++)
		if (in->ep_part[k].category == category)
			return in->ep_part[k].cycles;
	return 0;
}

bool shotgun_watch_next(struct shotgun_watch *w, const struct rec_inst *r, struct graph_inst *edges)
{
	if (!w->insts++)
		w->first_cycle = r->fetch;
	w->last_cycle = r->fetch + r->commit;
	edges_next(w->edges, r, edges);

	const struct edges_seen at = edges_seen(w->edges);
	const struct shotgun_seen seen = { .isaved = saved(edges, CAT_SAVED_IMISS),
					   .dsaved = saved(edges, CAT_SAVED_DMISS),
					   .stall = at.stall,
					   .stored = at.stored };

	return monitor_add(w->monitor, r, &seen);
}

struct shotgun_samples shotgun_watch_finish(struct shotgun_watch *w)
{
	struct shotgun_samples s = { .shape = w->shape,
				     .insts = w->insts,
				     .cycles = w->last_cycle - w->first_cycle,
				     .scored = true };

	monitor_finish(w->monitor);
	s.details = monitor_details(w->monitor, &s.ndetails);
	s.longs = monitor_longs(w->monitor, &s.nlongs);
	return s;
}

void shotgun_watch_free(struct shotgun_watch *w)
{
	monitor_free(w->monitor);
	edges_free(w->edges);
	shadow_free(w->shadow);
}

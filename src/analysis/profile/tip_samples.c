/* SPDX-License-Identifier: MIT */
/*
 * Runs TIP's and TEA's sampling hardware (tiphw.h) over the records and writes what it delivers into
 * a file (trace/tip_file.h). It samples the same cycles as the profile analysis does with the same
 * period and seed. Cycles after the last sample are in no sample; the file says how many.
 */
#include "analysis/profile/tip_samples.h"

#include <stdlib.h>

#include "analysis/profile/sampler.h"
#include "analysis/profile/tiphw.h"
#include "analysis/walk.h"
#include "trace/analysis.h"
#include "trace/file.h"
#include "util/outside.h"

struct tip_samples {
	struct tiphw hw;
	struct sampler clock; /* only when to sample */
	struct export_file file;
	bool open;
	const struct trace_info *info;
	uint64_t cycles, written, covered; /* of the run; samples, and the cycles they stand for */
};

static bool samples_start(void *state, const struct trace_meta *meta,
			  const struct analysis_options *o, struct err *e)
{
	struct tip_samples *t = state;
	struct tip_header head = { .period = o->period };
	char *path;

	if (!tip_layout(meta->commit_width, EVENT_TEA_COUNT, &head.layout))
		return err_set(e, "commit width %u is not in 1..%d", meta->commit_width,
			       TIP_WAYS_MAX);
	if (o->info && o->info->machine)
		head.clock_hz = (uint64_t)(o->info->machine->clock_ghz * 1e9 + 0.5);
	snprintf(head.program, sizeof(head.program), "%s", meta->program);
	snprintf(head.machine, sizeof(head.machine), "%s", meta->machine);
	tiphw_init(&t->hw, &head.layout);
	t->info = o->info;
	path = analysis_path(o, "tip-samples", "tip");
	outside_expect(path);
	t->open = export_file_open(&t->file, path, &tip_file_kind, e);
	free(path);
	if (!t->open)
		return false;
	sampler_init(&t->clock, o->period, o->random, o->seed, o->phase);
	return tip_write_header(&t->file, &head, e);
}

static bool put_sample(struct tip_samples *t, struct err *e)
{
	t->written++;
	t->covered += t->hw.sample.cycles;
	return tip_write_sample(&t->file, &t->hw.layout, &t->hw.sample, e);
}

static bool samples_batch(void *state, const struct rec_inst *insts, size_t ninsts,
			  const struct rec_cycle *cycles, size_t ncycles, struct err *e)
{
	struct tip_samples *t = state;
	struct sampler *clock = &t->clock;
	struct walk walk = { insts, ninsts, 0 };
	const struct rec_inst *group[WALK_WIDTH_MAX];

	for (size_t i = 0; i < ncycles; i++) {
		const struct rec_cycle *c = &cycles[i];

		for (unsigned k = 0; k < c->ncommit; k++)
			if (!(group[k] = walk_next(&walk, c, k, e)))
				return false;
		if (tiphw_begin(&t->hw, c, group) && !put_sample(t, e))
			return false;
		while (clock->next < t->cycles + c->repeat) {
			const uint64_t now = clock->next, before = clock->last;

			clock->last = now + 1;
			sampler_schedule(clock);
			if (tiphw_fire(&t->hw, c, now, now + 1 - before) && !put_sample(t, e))
				return false;
		}
		tiphw_end(&t->hw, c, group);
		t->cycles += c->repeat;
	}
	return true;
}

static bool samples_finish(void *state, struct store *store, struct err *e)
{
	struct tip_samples *t = state;

	for (size_t i = 0; t->info && i < t->info->nimages; i++) {
		const struct trace_image *from = &t->info->images[i];
		const struct tip_image image = { (char *)from->path, (char *)from->name,
						 from->start, from->end, from->bias };

		if (from->path && from->name && from->start < from->end &&
		    !tip_write_image(&t->file, &image, e))
			return false;
	}
	const uint64_t lost = t->cycles > t->covered ? t->cycles - t->covered : 0;

	return tip_write_end(&t->file, t->written, t->covered, lost, e) &&
	       export_file_finish(&t->file, e);
}

static void samples_free(void *state)
{
	struct tip_samples *t = state;

	if (!t->open)
		return;
	export_file_free(&t->file);
	sampler_free(&t->clock);
}

const struct analysis tip_samples_analysis = {
	.name = "tip-samples",
	.summary =
	    "what TIP's sampling hardware delivers, with TEA's PSVs (--param tip-samples=FILE)",
	.wants = WANT_CYCLES | WANT_INSTS | WANT_BRIEF,
	.params =
	    (const struct analysis_param[]){ { "tip-samples", "the file to write", false, { 0 } },
					     { .name = NULL } },
	.state_size = sizeof(struct tip_samples),
	.start = samples_start,
	.batch = samples_batch,
	.finish = samples_finish,
	.free = samples_free,
};

/* SPDX-License-Identifier: MIT */
/*
 * Fragments of the run go through the graph again and again, each time with one part of the machine of
 * another size (sized.c, tries.c). How much longer or shorter a fragment then is, is what that size costs or
 * saves. The first LEAD instructions of a fragment fill the machine and do not count.
 *
 * What a fragment has no instruction for (a divider, say) takes no time of the analysis.
 */
#include "analysis/icost/resources.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/icost/build.h"
#include "analysis/icost/doubled.h"
#include "analysis/icost/edges.h"
#include "analysis/icost/shadow.h"
#include "machine/units.h"
#include "store/store.h"
#include "trace/file.h"

#define FRAGMENT 8192
#define LEAD	 1024 /* instructions before it that fill the machine */
#define WARM	 4096 /* and before those, instructions that warm tags; of a sampled fragment */
#define EVERY	 8    /* one fragment in how many */

struct resources {
	struct edges_machine machine;
	struct sized_machine sized;
	const struct trace_info *info;
	struct edges *edges;
	struct shadow *shadow;
	struct doubled *doubled;
	struct sized *lane;
	struct resources_try tries[RESOURCES_CHANGES];
	size_t ntries;
	struct unit_use use[CLASS_COUNT];
	struct schedule schedule;
	struct stretch stretch;
	bool begun;
	/* The present fragment with its lead. */
	struct graph_inst *in;
	struct sized_inst *about;
	uint64_t *committed; /* cycle */
	size_t count, lead;
	uint64_t used; /* enum resource whose instructions it has, of those that not all have */
	uint64_t insts, reference, base, cycles[RESOURCES_CHANGES];
};

_Static_assert(RESOURCES <= 64, "a bit for each in `used`");

static bool resources_start(void *state, const struct trace_meta *meta,
			    const struct analysis_options *o, struct err *e)
{
	struct resources *s = state;
	const struct machine *m = o->info->machine;
	const uint32_t one_in = (uint32_t)analysis_number(o, "resources.sample", EVERY);

	if (!edges_machine_read(&s->machine, meta, m, e))
		return false;
	s->info = o->info;
	s->sized.config = edges_graph_config(&s->machine);
	s->sized.limits = resources_limits(m);
	s->sized.limits.of[RESOURCE_ROB] = s->machine.rob;
	s->sized.limits.of[RESOURCE_DECODE] = s->machine.dispatch_width;
	s->sized.limits.of[RESOURCE_COMMIT] = s->machine.commit_width;
	s->sized.unified = m->unified;
	s->sized.decode_depth = m->decode_depth;
	s->sized.l2_extra =
	    meta->l2_latency - (uint32_t)min_u64(meta->l2_latency, meta->l1d_latency);
	for (unsigned k = 0; k < UNIT_COUNT; k++)
		s->sized.pipelined[k] =
		    k == UNIT_FMUL ? m->unit[k].pipelined : units_pipelined(m, (enum unit_kind)k);
	for (unsigned k = 0; k < CLASS_COUNT; k++)
		s->use[k] = units_of_class(m, (enum op_class)k);
	s->ntries = resources_tries(m, s->tries);
	s->lane = sized_new(&s->sized);
	s->shadow = shadow_new(m, meta);
	s->doubled = doubled_new(m);
	s->edges = edges_new(&s->machine);
	edges_shadow(s->edges, s->shadow);
	s->in = x_calloc(LEAD + FRAGMENT, sizeof(*s->in));
	s->about = x_calloc(LEAD + FRAGMENT, sizeof(*s->about));
	s->committed = x_calloc(LEAD + FRAGMENT, sizeof(*s->committed));
	if (one_in > 1)
		s->schedule = (struct schedule){ .one_in = one_in,
						 .insts = FRAGMENT,
						 .lead = LEAD + WARM,
						 .seed = o->seed + 1 };
	return true;
}

static struct schedule resources_schedule(const void *state)
{
	return ((const struct resources *)state)->schedule;
}

/* The fragment's cycles without its lead. */
static uint64_t run(struct resources *s, struct sized_change change)
{
	uint64_t lead = 0;

	sized_begin(s->lane, change);
	for (size_t i = 0; i < s->count; i++) {
		if (i == s->lead)
			lead = sized_commit(s->lane);
		sized_next(s->lane, &s->in[i], &s->about[i]);
	}
	return sized_commit(s->lane) - lead;
}

/* Whether some instructions of the fragment have to do with it. */
static bool matters(const struct resources *s, enum resource what)
{
	switch (what) {
	case RESOURCE_FP_QUEUE:
	case RESOURCE_FP_ISSUE:
	case RESOURCE_FP_REGS:
	case RESOURCE_L1D:
	case RESOURCE_L1I:
	case RESOURCE_L2:
		return s->used >> what & 1;
	default:
		return resource_params[what].kind != RESOURCE_IS_UNITS || s->used >> what & 1;
	}
}

static void end_fragment(struct resources *s)
{
	if (s->count <= s->lead)
		return;
	const uint64_t base = run(s, (struct sized_change){ .what = RESOURCES });
	s->base += base;
	s->reference += s->committed[s->count - 1] - (s->lead ? s->committed[s->lead - 1] : 0);
	s->insts += s->count - s->lead;
	for (size_t k = 0; k < s->ntries; k++)
		s->cycles[k] +=
		    matters(s, s->tries[k].change.what) ? run(s, s->tries[k].change) : base;
}

/* What is there of a fragment goes; the last instructions become the next one's lead. */
static void keep_lead(struct resources *s)
{
	const size_t kept = min_u64(s->count, LEAD), from = s->count - kept;

	memmove(s->in, s->in + from, kept * sizeof(*s->in));
	memmove(s->about, s->about + from, kept * sizeof(*s->about));
	memmove(s->committed, s->committed + from, kept * sizeof(*s->committed));
	s->count = s->lead = kept;
}

static void forget(struct resources *s)
{
	struct edges *next = edges_new(&s->machine);

	edges_learnt(next, s->edges);
	edges_free(s->edges);
	s->edges = next;
	edges_shadow(s->edges, s->shadow);
	s->count = s->lead = 0;
	s->used = 0;
}

static const uint8_t unit_resource[UNIT_COUNT] = {
	[UNIT_ALU] = RESOURCE_ALU,     [UNIT_BRANCH] = RESOURCE_BRANCH, [UNIT_MUL] = RESOURCE_MUL,
	[UNIT_DIV] = RESOURCE_DIV,     [UNIT_FADD] = RESOURCE_FADD,	[UNIT_FMUL] = RESOURCE_FMUL,
	[UNIT_FDIV] = RESOURCE_FDIV,   [UNIT_FSQRT] = RESOURCE_FSQRT,	[UNIT_LOAD] = RESOURCE_LOAD,
	[UNIT_STORE] = RESOURCE_STORE,
};

static void add(struct resources *s, const struct rec_inst *r)
{
	struct sized_inst *a = &s->about[s->count];
	const struct inst in = isa_decode(r->word);

	edges_next(s->edges, r, &s->in[s->count]);
	const struct edges_seen seen = edges_seen(s->edges);
	*a = (struct sized_inst){
		.cls = r->cls,
		.queue = (uint8_t)edges_queue_of(&s->machine, r->cls),
		.unit = s->use[r->cls].unit,
		.dst = isa_operands(&in).dst,
		.load = r->cls == CLASS_LOAD || r->cls == CLASS_AMO,
		.store = r->cls == CLASS_STORE || r->cls == CLASS_AMO,
		.branch = r->flags & (RI_BRANCH | RI_INDIRECT),
		.stall = seen.stall.cycles ? seen.stall.by : DISPATCH_OK,
		.drain = clip_u16(seen.stall.drain),
		.hits = (uint8_t)doubled_next(s->doubled, r),
		.latency = clip_u16(s->use[r->cls].busy),
	};
	s->committed[s->count] = r->fetch + r->commit;
	s->used |= 1ull << unit_resource[a->unit];
	if (a->queue == 2)
		s->used |= 1ull << RESOURCE_FP_QUEUE | 1ull << RESOURCE_FP_ISSUE;
	if (a->dst >= 32)
		s->used |= 1ull << RESOURCE_FP_REGS;
	if (a->hits & SIZED_L1I)
		s->used |= 1ull << RESOURCE_L1I;
	if (a->hits & SIZED_L1D)
		s->used |= 1ull << RESOURCE_L1D;
	if (a->hits & (SIZED_L2I | SIZED_L2D))
		s->used |= 1ull << RESOURCE_L2;
	s->count++;
}

/* Of a sampled run: where the instruction lies. */
static bool wanted(struct resources *s, const struct rec_inst *r)
{
	if (!s->schedule.one_in)
		return true;
	if (r->po >= s->stretch.end) {
		if (s->begun) {
			end_fragment(s);
			forget(s);
		}
		s->stretch = schedule_next(&s->schedule, r->po);
	}
	s->begun = r->po + LEAD >= s->stretch.from;
	if (!s->begun && r->po >= s->stretch.lead) {
		if (s->shadow)
			shadow_watch(s->shadow, r);
		doubled_next(s->doubled, r);
	}
	if (s->begun && r->po < s->stretch.from)
		s->lead = s->count + 1;
	return s->begun;
}

static bool resources_insts(void *state, const struct rec_inst *insts, size_t n, struct err *e)
{
	struct resources *s = state;

	for (size_t i = 0; i < n; i++) {
		const struct rec_inst *r = &insts[i];

		if (!(r->flags & RI_COMMITTED) || !wanted(s, r) || s->count == LEAD + FRAGMENT)
			continue;
		add(s, r);
		if (s->count < LEAD + FRAGMENT)
			continue;
		if (!s->schedule.one_in) {
			end_fragment(s);
			keep_lead(s);
			s->used = 0;
		}
	}
	return true;
}

static bool resources_finish(void *state, struct store *store, struct err *e)
{
	struct resources *s = state;

	if (!s->schedule.one_in || s->begun)
		end_fragment(s);
	if (!s->base || !store)
		return true;
	/* Fragments are scaled to the whole run. */
	const double cycles = s->info ? (double)s->info->cycles : (double)s->reference,
		     scale = cycles / (double)s->base;
	bool ok = store_insert(store, e, "run", "sd", "resources_error",
			       (double)s->base / (double)s->reference - 1) &&
		  store_insert(store, e, "run", "sd", "resources_sampled",
			       (double)s->insts / (double)max_u64(1, s->info->insts));
	for (size_t k = 0; ok && k < s->ntries; k++) {
		const struct resources_try *t = &s->tries[k];
		const int64_t size = t->change.size == SIZED_NONE ? 0 : (int64_t)t->change.size;

		ok = store_insert(store, e, "resource", "siisd",
				  words_resources[t->change.what].name, size, (int64_t)t->real,
				  t->settings, ((double)s->cycles[k] - (double)s->base) * scale);
	}
	return ok;
}

static void resources_free(void *state)
{
	struct resources *s = state;

	edges_free(s->edges);
	shadow_free(s->shadow);
	doubled_free(s->doubled);
	sized_free(s->lane);
	free(s->in);
	free(s->about);
	free(s->committed);
}

static const struct analysis_param params[] = {
	{ "resources.sample",
	  "one fragment of 8,192 instructions in how many (8); 1: all",
	  true,
	  { 1, 1000000, NUMBER_DECIMAL } },
	{ .name = NULL },
};

const struct analysis resources_analysis = {
	.params = params,
	.name = "resources",
	.summary =
	    "what queues, widths, units and caches of another size would cost or save, from the "
	    "dependence graph",
	.wants = WANT_INSTS | WANT_PRODUCERS | WANT_LATENCIES,
	.state_size = sizeof(struct resources),
	.start = resources_start,
	.schedule = resources_schedule,
	.insts = resources_insts,
	.finish = resources_finish,
	.free = resources_free,
};

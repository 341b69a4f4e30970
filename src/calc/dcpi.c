/* SPDX-License-Identifier: MIT */
/*
 * What the samples of a class say about its frequency, in order (dcpi1997 section 6.1.3).
 *
 * An issue point is an instruction with M > 0. Without dynamic stalls its samples S are F x M, so
 * S / M is the frequency F; stalls only make it larger. If the instruction waits for an earlier one
 * with others between, a stall of those would shorten its wait: then the sums of S and of M from
 * behind that earlier instruction stand for it. The ratios, sorted, fall into clusters; the mean of
 * the lowest cluster that no rule discards is the frequency. Rules, with their numbers in
 * thresholds.def:
 *
 *   - an issue point is dropped if what issues with it has samples of its own: the schedule is
 *     wrong there; likewise if its M depends on instructions before the block, whose stalls no sum
 *     here sees
 *   - a cluster with too small a share of the class's issue points is discarded
 *   - a cluster is discarded if its frequency makes another instruction of the class wait for
 *     longer than the machine can make it wait
 *
 * If dropping leaves no issue point, none is dropped; if all clusters are discarded, the share no
 * longer matters; if all are discarded even so, the highest is taken, whose stalls are the shortest.
 */
#include <math.h>
#include <stdlib.h>

#include "calc/calc_int.h"
#include "isa/isa.h"

#define Z95 1.96 /* deviations that 95% of a normal distribution lie within */
#define FEW 24	 /* ratios that are sorted by insertion */
#define NONE_SEEN                                                                                  \
	3.0 /* if this many samples are expected, none comes with a probability of 5% (e^-3) */

double calc_longest_stall(const struct machine *m)
{
	const struct memsys_config *mem = &m->mem;
	double fill = mem->mem.latency, walk = mem->walk_latency, unit = 0;
	double stores =
	    mem->cache[MEM_L1D].write_buffer ? mem->cache[MEM_L1D].write_buffer : m->store_queue;

	for (unsigned c = MEM_L1D; c < MEM_CACHES; c++)
		if (mem->cache[c].size_bytes)
			fill += mem->cache[c].latency;
	if (mem->walk == MEM_WALK_CACHES)
		walk = 3 * fill;
	for (unsigned u = 0; u < UNIT_COUNT; u++)
		unit = fmax(unit, m->unit[u].latency);
	/* Its line and page of code, its operand's line and page, a full write buffer, a redirect. */
	return 2 * (fill + walk) + stores * mem->cache[MEM_L2].latency + unit + m->fetch_redirect +
	       m->fetch_depth + m->decode_depth;
}

struct calc_members calc_members(const struct calc_proc *proc)
{
	const struct cfg *g = proc->graph;
	struct calc_members m = { .at = x_calloc(proc->nclasses + 2, sizeof(*m.at)),
				  .list = x_calloc(g->nblocks + 1, sizeof(*m.list)) };

	/* Counted two places on, so that filling in moves each class's end to its place. */
	for (uint32_t b = 0; b < g->nblocks; b++)
		m.at[proc->block_class[b] + 2]++;
	for (uint32_t c = 2; c < proc->nclasses + 2; c++)
		m.at[c] += m.at[c - 1];
	for (uint32_t b = 0; b < g->nblocks; b++)
		m.list[m.at[proc->block_class[b] + 1]++] = b;
	return m;
}

/* One class at work. */
struct work {
	const struct calc_program *p;
	const struct calc_proc *proc;
	struct calc_class *class;
	const uint32_t *blocks; /* of the class */
	uint32_t nblocks;
	struct calc_ratio *ratios; /* room for all instructions of the procedure */
	uint32_t nratios;
	double top_stall;	 /* the longest that the machine can make */
	double partner, least_m; /* thresholds */
};

static const struct cfg_block *block_of(const struct work *w, uint32_t n)
{
	return &w->proc->graph->blocks[w->blocks[n]];
}

static double samples_of(const struct calc_inst *inst)
{
	return inst->count[SAMPLED_CYCLES];
}

/* The instruction whose end i waits for in the schedule; UINT32_MAX: none. */
static uint32_t waits_for(const struct calc_inst *inst)
{
	for (unsigned k = inst->nfixed; k-- > 0;)
		if (inst->fixed[k].why != STATIC_SLOT && inst->fixed[k].by != UINT32_MAX)
			return inst->fixed[k].by;
	return UINT32_MAX;
}

/* The ratio of issue point i of a block. */
static struct calc_ratio ratio_of(const struct work *w, const struct cfg_block *b, uint32_t i)
{
	const struct calc_inst *insts = w->proc->insts;
	uint32_t j = waits_for(&insts[i]);
	struct calc_ratio r = { 0 };
	double m = insts[i].m, partners = 0;

	r.samples = samples_of(&insts[i]);
	r.unstalled = calc_unstalled(w->p, insts[i].risks);
	if (j != UINT32_MAX && (j < b->first || j >= i)) {
		r.dropped = true;
	} else if (j != UINT32_MAX) {
		for (uint32_t k = j + 1; k < i; k++) {
			r.samples += samples_of(&insts[k]);
			m += insts[k].m;
			r.unstalled *= calc_unstalled(w->p, insts[k].risks);
		}
	}
	r.m = m;
	r.value = r.samples / m;
	for (uint32_t k = i + 1; k < b->first + b->count && insts[k].m <= 0; k++)
		partners += samples_of(&insts[k]);
	if (partners > w->partner * samples_of(&insts[i]))
		r.dropped = true;
	return r;
}

static int compare_ratios(const void *a, const void *b)
{
	double x = ((const struct calc_ratio *)a)->value, y = ((const struct calc_ratio *)b)->value;

	return (x > y) - (x < y);
}

/* Most classes have a few ratios. */
static void sort_ratios(struct calc_ratio *r, uint32_t n)
{
	if (n > FEW) {
		qsort(r, n, sizeof(*r), compare_ratios);
		return;
	}
	for (uint32_t i = 1; i < n; i++) {
		const struct calc_ratio one = r[i];
		uint32_t k = i;

		for (; k && r[k - 1].value > one.value; k--)
			r[k] = r[k - 1];
		r[k] = one;
	}
}

static void gather(struct work *w)
{
	uint32_t n = 0, kept = 0;

	for (uint32_t k = 0; k < w->nblocks; k++) {
		const struct cfg_block *b = block_of(w, k);

		for (uint32_t i = b->first; i < b->first + b->count; i++) {
			const struct calc_inst *inst = &w->proc->insts[i];

			w->class->samples += samples_of(inst);
			w->class->sum_m += inst->m;
			w->class->issue_points += inst->m > 0;
			if (inst->m >= w->least_m)
				w->ratios[n++] = ratio_of(w, b, i);
		}
	}
	for (uint32_t i = 0; i < n; i++)
		kept += !w->ratios[i].dropped;
	w->nratios = 0;
	for (uint32_t i = 0; i < n; i++)
		if (!kept || !w->ratios[i].dropped)
			w->ratios[w->nratios++] = w->ratios[i];
	sort_ratios(w->ratios, w->nratios);
}

static bool is_system_call(uint32_t word)
{
	return op_info[isa_decode(word).op].cls == CLASS_SYSTEM;
}

/* True if the frequency f (in samples per cycle) makes no instruction of the class stall for longer
 * than the machine can. After a system call any time can pass. */
static bool is_possible(const struct work *w, double f)
{
	double longest = calc_threshold(w->p, CALC_LONGEST) * w->top_stall;
	const struct cfg *g = w->proc->graph;

	for (uint32_t k = 0; k < w->nblocks; k++) {
		const struct cfg_block *b = block_of(w, k);

		for (uint32_t i = b->first; i < b->first + b->count; i++) {
			const struct calc_inst *inst = &w->proc->insts[i];
			if (samples_of(inst) > f * (inst->m + longest) &&
			    !(i && is_system_call(g->insts[i - 1].word)))
				return false;
		}
	}
	return true;
}

/* The mean of the ratios [from, to), by their least times: long ones have more samples. */
static double mean(const struct calc_ratio *ratios, uint32_t from, uint32_t to)
{
	double samples = 0, m = 0;

	for (uint32_t i = from; i < to; i++) {
		samples += ratios[i].samples;
		m += ratios[i].m;
	}
	return samples / m;
}

/* A ratio that chance has not made as small (large) as it could be. */
static double beyond(const struct calc_ratio *r, double deviations)
{
	return (r->samples + deviations * sqrt(r->samples + 1)) / r->m;
}

/* The end of the cluster that begins at `from`: what is not too large, chance allowed for. */
static uint32_t cluster_end(const struct work *w, uint32_t from)
{
	double noise = calc_threshold(w->p, CALC_NOISE);
	double limit = (1 + calc_threshold(w->p, CALC_SPREAD)) * beyond(&w->ratios[from], noise);
	uint32_t to = from + 1;

	while (to < w->nratios && beyond(&w->ratios[to], -noise) <= limit)
		to++;
	return to;
}

/* The lowest cluster that is not discarded: [*from, *to) of the ratios. */
static void choose(const struct work *w, uint32_t *from, uint32_t *to)
{
	double share = calc_threshold(w->p, CALC_LEAST_SHARE);

	for (unsigned pass = 0; pass < 2; pass++) {
		for (*to = 0; *to < w->nratios;) {
			*from = *to;
			*to = cluster_end(w, *from);

			/* A class with samples does not have the frequency 0. */
			double f = mean(w->ratios, *from, *to);
			if (f > 0 && (pass || *to - *from >= share * w->nratios) &&
			    is_possible(w, f))
				return;
		}
	}
}

/* Sets the class's frequency from `samples` samples that say f samples per cycle. */
static void put(struct work *w, double f, double samples, enum freq_origin origin)
{
	double period = (double)w->p->sampling.period[SAMPLED_CYCLES];
	double half = samples > 0 ? Z95 / sqrt(samples) : 1;

	w->class->freq = (struct calc_freq){ .value = f * period,
					     .low = fmax(0, f * (1 - half)) * period,
					     .high = f * (1 + half) * period,
					     .origin = (uint8_t)origin };
}

static void estimate(struct work *w)
{
	struct calc_class *class = w->class;
	double samples = 0;
	uint32_t from = 0, to = 0;

	gather(w);
	if (!(class->sum_m > 0))
		return; /* left to propagation */
	if (!(class->samples > 0)) {
		put(w, 0, 0, ORIGIN_NO_SAMPLES);
		class->freq.high =
		    NONE_SEEN / class->sum_m * (double)w->p->sampling.period[SAMPLED_CYCLES];
		return;
	}
	/* The last ratio is 0: all samples are of instructions that issue with others. */
	if (!w->nratios || !(w->ratios[w->nratios - 1].value > 0) ||
	    class->samples < calc_threshold(w->p, CALC_LEAST_SAMPLES) * class->sum_m) {
		class->used = class->issue_points;
		put(w, class->samples / class->sum_m, class->samples, ORIGIN_POOLED);
		return;
	}
	choose(w, &from, &to);
	for (uint32_t i = from; i < to; i++)
		samples += w->ratios[i].samples;
	class->used = to - from;
	/* No sample is less than one. */
	class->tightness =
	    w->ratios[to - 1].value /
	    fmax(w->ratios[from].value, fmin(1 / w->ratios[from].m, w->ratios[to - 1].value));
	put(w, mean(w->ratios, from, to), samples, ORIGIN_CLUSTER);
}

static void evidence_issue(struct calc_program *p, struct calc_proc *proc)
{
	struct calc_members members = calc_members(proc);
	struct work w = { .p = p,
			  .proc = proc,
			  .ratios = x_malloc((proc->graph->ninsts + 1) * sizeof(*w.ratios)),
			  .top_stall = calc_longest_stall(p->machine),
			  .partner = calc_threshold(p, CALC_PARTNER),
			  .least_m = calc_threshold(p, CALC_LEAST_M) };

	for (uint32_t c = 0; c < proc->nclasses; c++) {
		w.class = &proc->classes[c];
		*w.class = (struct calc_class){ .freq = { .value = NAN, .origin = ORIGIN_NONE } };
		w.blocks = members.list + members.at[c];
		w.nblocks = members.at[c + 1] - members.at[c];
		estimate(&w);
	}
	free(w.ratios);
	free(members.at);
	free(members.list);
}

uint32_t calc_ratios(const struct calc_program *p, const struct calc_proc *proc,
		     const uint32_t *blocks, uint32_t nblocks, struct calc_ratio *ratios)
{
	struct calc_class class = { 0 };
	struct work w = { .p = p,
			  .proc = proc,
			  .class = &class,
			  .blocks = blocks,
			  .nblocks = nblocks,
			  .ratios = ratios,
			  .partner = calc_threshold(p, CALC_PARTNER),
			  .least_m = calc_threshold(p, CALC_LEAST_M) };

	gather(&w);
	return w.nratios;
}

void calc_evidence(struct calc_program *p, struct calc_proc *proc)
{
	if (p->sampling.record_depth) {
		calc_evidence_records(p, proc);
		return;
	}
	switch (p->sampling.mode) {
	case CALC_ISSUE:
		evidence_issue(p, proc);
		break;
	case CALC_COMMIT:
		calc_evidence_commit(p, proc);
		break;
	case CALC_RELATIVE:
		calc_evidence_relative(p, proc);
		break;
	}
}

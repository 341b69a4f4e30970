/* SPDX-License-Identifier: MIT */
/*
 * 1160 to 1173: costs of misses on puzak2007 that are known in advance: kernels run on the machine
 * and on its twin with perfect caches, and through the analysis. A miss that the L2 serves takes
 * 15 cycles more than a hit, one that memory serves 100. From 1170 on the same kernels run without
 * the misses of one cluster. From 1300 on kernels of cost_kernels.c, most of them for many distances;
 * 1309 runs one of ahead_kernels.c.
 */
#include "../core/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/spectrum/spectrum.h"

#define ARENA 0x10000000
#define CHAIN 0x20000000
#define LINE  128
#define FRESH (ARENA + 0x80000) /* a line that only the kernel itself touches */

/* What runs on what. */
static const char *program = MISS_KERNELS, *machine = "puzak2007";

#define TWIN "ideal.dmiss=on", "ideal.imiss=on", "ideal.dtlb=on", "ideal.itlb=on"

/* All records of a run. */
struct records {
	struct emit emit;
	struct rec_cycle cycles[64];
	struct rec_inst some[256];
	struct rec_miss first[8 + EMIT_MISSES];
	struct rec_inst *insts;
	struct rec_miss *misses;
	size_t ninsts, nmisses;
	uint64_t end;
};

static void take(struct emit *e)
{
	struct records *r = (struct records *)e;

	r->insts = x_realloc(r->insts, (r->ninsts + e->ninsts + 1) * sizeof(*r->insts));
	memcpy(r->insts + r->ninsts, e->insts, e->ninsts * sizeof(*r->insts));
	r->ninsts += e->ninsts;
	r->misses = x_realloc(r->misses, (r->nmisses + e->nmisses + 1) * sizeof(*r->misses));
	memcpy(r->misses + r->nmisses, e->misses, e->nmisses * sizeof(*r->misses));
	r->nmisses += e->nmisses;
	if (e->ncycles)
		r->end = e->cycles[e->ncycles - 1].cycle + e->cycles[e->ncycles - 1].repeat;
	e->nmisses = e->ninsts = e->ncycles = 0;
}

/* hits: misses that are to be hits. */
static struct records *record_without(const char *kernel, const char *const *sets,
				      struct trace_meta *meta, const struct hit *hits, size_t nhits)
{
	char *argv[] = { (char *)program, (char *)kernel, NULL };
	struct guest_config guest_config = { .argv = argv, .envp = (char **)kernel_environment };
	struct records *r = x_calloc(1, sizeof(*r));
	struct machine config;
	struct err e;

	r->emit = (struct emit){ .cycles = r->cycles,
				 .insts = r->some,
				 .misses = r->first,
				 .max_cycles = 64,
				 .max_insts = 256,
				 .max_misses = 8,
				 .wants = WANT_CYCLES | WANT_INSTS | WANT_MISSES,
				 .full = take };
	config_of(&config, machine, sets);

	struct guest *g = guest_new(&guest_config, &e);
	struct core *c = g ? core_new(&config, g, &r->emit, &e) : NULL;

	if (!c)
		fail_msg("%s", e.text);
	core_meta(c, meta);
	core_hits(c, hits, nhits);
	assert_int_equal(core_run(c, 0), CORE_ENDED);
	core_cut(c);
	take(&r->emit);
	core_free(c);
	guest_free(g);
	return r;
}

static struct records *record(const char *kernel, const char *const *sets, struct trace_meta *meta)
{
	return record_without(kernel, sets, meta, NULL, 0);
}

static void records_free(struct records *r)
{
	free(r->insts);
	free(r->misses);
	free(r);
}

/* A kernel's spectrum, and its misses. */
struct measured {
	struct spectrum *s;
	struct records *run;
};

#define SETS_MOST 4 /* of a machine, at most */

/* sets ends with NULL. */
static struct measured measure_with(const char *kernel, const char *const *sets)
{
	const char *finite[SETS_MOST + 1] = { NULL };
	const char *infinite[SETS_MOST + 5] = { NULL };
	static const char *const perfect[] = { TWIN };
	size_t n = 0;

	for (; sets[n]; n++)
		finite[n] = infinite[n] = sets[n];
	memcpy(infinite + n, perfect, sizeof(perfect));
	struct measured m = { .s = x_calloc(1, sizeof(*m.s)) };
	struct trace_meta meta, ignored;
	struct err e = { "" };

	m.run = record(kernel, finite, &meta);
	struct records *twin = record(kernel, infinite, &ignored);
	struct rec_twin *stamps = x_calloc(twin->ninsts + 1, sizeof(*stamps));

	assert_int_equal(m.run->ninsts, twin->ninsts);
	assert_int_equal(twin->nmisses, 0);
	for (size_t i = 0; i < twin->ninsts; i++) {
		const struct rec_inst *r = &twin->insts[i];

		assert_int_equal(r->po, m.run->insts[i].po);
		assert_int_equal(r->pc, m.run->insts[i].pc);
		stamps[i] = (struct rec_twin){ .po = r->po,
					       .dispatch = r->fetch + r->dispatch,
					       .commit = r->commit - r->dispatch };
	}
	const struct rec_cycle all = { .repeat = (uint32_t)m.run->end };

	assert_true(spectrum_analysis.start(m.s, &meta, &(struct analysis_options){ 0 }, &e));
	assert_true(spectrum_analysis.misses(m.s, m.run->misses, m.run->nmisses, &e));
	assert_true(spectrum_analysis.twins(m.s, stamps, twin->ninsts, &e));
	assert_true(spectrum_analysis.batch(m.s, m.run->insts, m.run->ninsts, &all, 1, &e));
	assert_true(spectrum_analysis.finish(m.s, NULL, &e));
	const struct clusters *c = &m.s->clusters[CLUSTERS_ALL];
	assert_int_equal(c->net + c->drift + c->head + c->tail, c->adder);
	/* the twin's own cycles, to the cycle */
	assert_int_equal(m.s->cycles - (uint64_t)c->adder, twin->end);
	free(stamps);
	records_free(twin);
	return m;
}

static struct measured measure(const char *kernel, const char *set)
{
	return measure_with(kernel, (const char *const[]){ set, NULL });
}

static void done(struct measured *m)
{
	spectrum_analysis.free(m->s);
	free(m->s);
	records_free(m->run);
}

/* Costs of all clusters of the load that missed a line (for the n-th time), and how many misses
 * share them. */
struct cost {
	int64_t net;
	uint64_t size, isolated, hidden;
};

static struct cost cost_of(const struct measured *m, uint64_t line, unsigned nth)
{
	const struct loads *l = &m->s->clusters[CLUSTERS_ALL].loads;

	for (size_t i = 0; i < m->run->nmisses; i++) {
		const struct rec_miss *one = &m->run->misses[i];

		if (one->line != line || nth--)
			continue;
		for (size_t k = 0; k < l->nloads; k++)
			if (l->load[k].pc == one->pc && l->load[k].kind == one->kind)
				return (struct cost){ l->load[k].exposed, l->load[k].sizes,
						      l->load[k].isolated, l->load[k].hidden };
	}
	fail_msg("no miss of line 0x%llx", (unsigned long long)line);
	return (struct cost){ 0 };
}

static void near(int64_t value, int64_t expected)
{
	if (value < expected - 1 || value > expected + 1)
		fail_msg("%lld cycles, not %lld", (long long)value, (long long)expected);
}

static void test_1160_a_miss_alone_costs_its_latency(void **state)
{
	struct measured m = measure("a", NULL);
	struct cost c = cost_of(&m, ARENA, 0);

	near(c.net, 100);
	assert_int_equal(c.isolated, 1);
	done(&m);
	m = measure("b", NULL);
	c = cost_of(&m, ARENA, 1);
	near(c.net, 15);
	assert_int_equal(c.isolated, 1);
	done(&m);
}

static void test_1161_two_independent_misses_cost_one_latency(void **state)
{
	struct measured m = measure("c", NULL);
	const struct cost a = cost_of(&m, ARENA, 0), b = cost_of(&m, ARENA + LINE, 0);

	near(a.net + b.net, 100);
	assert_int_equal(a.size, 2);
	assert_int_equal(b.size, 2);
	done(&m);
}

static void test_1162_two_dependent_misses_cost_both_latencies(void **state)
{
	struct measured m = measure("d", NULL);
	const struct cost a = cost_of(&m, CHAIN, 0), b = cost_of(&m, CHAIN + LINE, 0);

	near(a.net + b.net, 200);
	assert_int_equal(a.size, 2);
	assert_int_equal(b.size, 2);
	done(&m);
}

static void test_1163_with_one_mshr_independent_misses_are_in_series(void **state)
{
	struct measured m = measure("k", "l1d.mshrs=1");
	const struct cost a = cost_of(&m, ARENA, 0), b = cost_of(&m, ARENA + LINE, 0);

	/* On the twin both hit at once; here the second load looks up the L1, for 2 cycles, when
	 * the first has its line. */
	near(a.net + b.net, 202);
	done(&m);
}

static void test_1164_requests_for_a_line_on_its_way_are_no_misses(void **state)
{
	struct measured m = measure("e", NULL);
	const struct cost c = cost_of(&m, ARENA, 0);

	near(c.net, 100);
	assert_int_equal(c.isolated, 1);
	done(&m);
}

static void test_1165_a_store_that_nobody_waits_for_costs_nothing(void **state)
{
	struct measured m = measure("f", NULL);
	const struct cost c = cost_of(&m, ARENA, 0);

	/* The fence at the kernel's end waits for the store, but 30 divisions hide that. */
	near(c.net, 0);
	assert_int_equal(c.hidden, 1);
	done(&m);
}

static void
test_1166_a_miss_of_a_wrong_path_costs_no_cycle_and_is_not_in_the_right_one(void **state)
{
	struct measured m = measure("g", NULL);
	const struct clusters *all = &m.s->clusters[CLUSTERS_ALL],
			      *right = &m.s->clusters[CLUSTERS_RIGHT];
	const struct cost c = cost_of(&m, ARENA, 0);

	/* The cost is below zero: on the twin the wrong path has its data, goes on and keeps the
	 * only divider busy for the rest of a division. */
	assert_true(c.net <= 0 && c.net > -20);
	assert_int_equal(all->misses + all->cut_misses, right->misses + right->cut_misses + 1);
	done(&m);
	m = measure("g", "units.div=2");
	near(cost_of(&m, ARENA, 0).net, 0);
	done(&m);
}

static void test_1167_a_prefetch_takes_off_what_it_is_ahead(void **state)
{
	/* two divisions of 20 cycles between the hint and the load */
	struct measured m = measure("h", NULL);
	int64_t ahead = -1;

	for (size_t i = 0; i < m.run->nmisses; i++)
		if (m.run->misses[i].line == ARENA && m.run->misses[i].use != STAMP_NONE)
			ahead = m.run->misses[i].use;
	assert_true(ahead >= 40);
	near(cost_of(&m, ARENA, 0).net, 100 - ahead);
	done(&m);
	m = measure("i", NULL);
	near(cost_of(&m, ARENA, 0).net, 0);
	done(&m);
}

/* The cluster of the sample with a miss of that line (the n-th such miss of the run). */
static const struct sampled *cluster_of(const struct measured *m, uint64_t line, unsigned nth)
{
	for (size_t i = 0; i < m->run->nmisses; i++) {
		const struct rec_miss *one = &m->run->misses[i];

		if (one->line != line || nth--)
			continue;
		for (size_t k = 0; k < m->s->samples.count; k++) {
			const struct sampled *c = &m->s->samples.at[k];

			for (size_t j = 0; j < c->size; j++)
				if (c->misses[j].addr == line && c->misses[j].begin == one->begin)
					return c;
		}
	}
	fail_msg("no cluster with a miss of line 0x%llx", (unsigned long long)line);
	return NULL;
}

/* What the kernel saves without the misses of that cluster: by its last instruction's commit, if it
 * is given, else in the end. */
static int64_t saved(const struct measured *m, const char *kernel, const char *set,
		     const struct sampled *c, bool at_last)
{
	const char *const sets[] = { set, NULL };
	struct trace_meta ignored;
	struct records *r = record_without(kernel, sets, &ignored, c->misses, c->size);
	uint64_t before = m->run->end, after = r->end;

	for (size_t i = 0; at_last && i < r->ninsts; i++)
		if (r->insts[i].flags & RI_COMMITTED && r->insts[i].po == c->last) {
			before = c->last_commit;
			after = r->insts[i].fetch + r->insts[i].commit;
		}
	records_free(r);
	return (int64_t)(before - after);
}

static void test_1170_without_its_misses_a_cluster_saves_its_net_cost(void **state)
{
	static const struct {
		const char *kernel, *set;
		uint64_t line;
		unsigned nth;
		int64_t saves;
	} all[] = {
		{ "a", NULL, ARENA, 0, 100 },
		{ "b", NULL, ARENA, 1, 15 },
		{ "c", NULL, ARENA, 0, 100 },
		{ "d", NULL, CHAIN, 0, 200 },
		{ "e", NULL, ARENA, 0, 100 },
		{ "f", NULL, ARENA, 0, 0 },
		{ "k", "l1d.mshrs=1", ARENA, 0, 202 },
		{ "g", "units.div=2", ARENA, 0, 0 },
		{ "i", NULL, ARENA, 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		struct measured m = measure(all[i].kernel, all[i].set);
		const struct sampled *c = cluster_of(&m, all[i].line, all[i].nth);

		near(saved(&m, all[i].kernel, all[i].set, c, true), all[i].saves);
		near(saved(&m, all[i].kernel, all[i].set, c, false), all[i].saves);
		near(c->net, all[i].saves);
		done(&m);
	}
}

static void test_1171_only_the_misses_of_that_cluster_become_hits(void **state)
{
	struct measured m = measure("d", NULL);
	const struct sampled *c = cluster_of(&m, CHAIN, 0);
	struct trace_meta ignored;
	struct records *r = record_without("d", NULL, &ignored, c->misses, c->size);
	size_t gone = 0;

	assert_int_equal(r->nmisses + c->size, m.run->nmisses);
	for (size_t i = 0; i < r->nmisses; i++)
		for (size_t k = 0; k < c->size; k++)
			gone += r->misses[i].line == c->misses[k].addr;
	assert_int_equal(gone, 0);
	records_free(r);
	done(&m);
}

static void test_1172_a_line_that_is_not_asked_for_any_more_is_there_all_the_same(void **state)
{
	/* The first miss of the line is named with an address far away as well: what the run never
	 * asks for is put in, and changes nothing. */
	struct measured m = measure("a", NULL);
	const struct sampled *c = cluster_of(&m, ARENA, 0);
	struct hit two[] = { c->misses[0], { c->misses[0].begin, 0x70000000, MISS_LOAD } };
	struct trace_meta ignored;
	struct records *r = record_without("a", NULL, &ignored, two, 2);

	assert_int_equal(c->size, 1);
	near((int64_t)(m.run->end - r->end), 100);
	assert_int_equal(r->nmisses + 1, m.run->nmisses);
	records_free(r);
	done(&m);
}

static void test_1173_a_sample_is_the_same_for_any_size_of_it(void **state)
{
	struct samples few = { 0 }, many = { 0 };

	samples_init(&few, 10, 7);
	samples_init(&many, 100, 7);
	for (uint64_t i = 0; i < 3000; i++) {
		const struct rec_miss m = { .begin = 50 * i, .line = 64 * i, .kind = MISS_LOAD };
		const struct sampled c = { .begin = m.begin, .size = 1 };

		samples_miss(&few, &m);
		samples_miss(&many, &m);
		samples_close(&few, i % 3 ? &c : NULL); /* every third does not count */
		samples_close(&many, i % 3 ? &c : NULL);
	}
	samples_sort(&few);
	samples_sort(&many);
	assert_int_equal(few.count, 10);
	assert_int_equal(many.count, 100);
	uint64_t late = 0;
	for (size_t i = 0; i < 100; i++) {
		const struct sampled *c = &many.at[i];

		assert_int_equal(c->misses[0].begin, c->begin);
		assert_int_not_equal(c->begin / 50 % 3, 0);
		if (i < 10)
			assert_int_equal(few.at[i].begin, c->begin);
		late += c->begin >= 75000;
	}
	/* half of them began in the second half, within four standard deviations */
	assert_true(late >= 30 && late <= 70);
	samples_free(&few);
	samples_free(&many);
}

/* ---- costs by distance ---- */

static struct measured measure_cost(char letter, unsigned n, const char *set)
{
	char kernel[16];

	program = COST_KERNELS;
	snprintf(kernel, sizeof(kernel), "%c%u", letter, n);
	struct measured m = measure(kernel, set);

	program = MISS_KERNELS;
	return m;
}

static const struct rec_miss *miss_of(const struct measured *m, uint64_t line, unsigned nth)
{
	for (size_t i = 0; i < m->run->nmisses; i++)
		if (m->run->misses[i].line == line && !nth--)
			return &m->run->misses[i];
	fail_msg("no miss of line 0x%llx", (unsigned long long)line);
	return NULL;
}

/* What all misses of the kernel itself cost; its program's other misses are of other lines. */
static int64_t cost_of_fresh(const struct measured *m, size_t lines)
{
	const struct samples *s = &m->s->samples;
	int64_t sum = 0;

	for (size_t i = 0; i < s->count; i++)
		if (s->at[i].misses[0].addr >= FRESH &&
		    s->at[i].misses[0].addr < FRESH + LINE * lines)
			sum += s->at[i].net;
	return sum;
}

static void test_1300_three_misses_cost_each_of_the_ten_sums(void **state)
{
	static const struct {
		unsigned sum;
		uint64_t line;
		unsigned nth;
	} all[] = {
		{ 0, ARENA, 1 },
		{ 15, ARENA, 1 },
		{ 30, ARENA, 1 },
		{ 45, ARENA, 1 },
		{ 100, FRESH, 0 },
		{ 115, CHAIN + 4 * LINE, 0 },
		{ 200, CHAIN, 0 },
		{ 130, CHAIN + 4 * LINE, 0 },
		{ 215, CHAIN + 5 * LINE, 0 },
		{ 300, CHAIN, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		struct measured m = measure_cost('t', all[i].sum, NULL);
		const struct sampled *c = cluster_of(&m, all[i].line, all[i].nth);

		near(c->net, all[i].sum);
		assert_int_equal(c->size, 3);
		done(&m);
	}
}

static void test_1301_two_dependent_misses_cost_30_or_115(void **state)
{
	struct measured m = measure_cost('d', 30, NULL);

	near(cluster_of(&m, ARENA, 1)->net, 30);
	assert_int_equal(cluster_of(&m, ARENA, 1)->size, 2);
	done(&m);
	m = measure_cost('d', 115, NULL);
	near(cluster_of(&m, CHAIN + 4 * LINE, 0)->net, 115);
	assert_int_equal(cluster_of(&m, CHAIN + 4 * LINE, 0)->size, 2);
	done(&m);
}

static void test_1302_a_chase_is_one_cluster_of_as_many_latencies(void **state)
{
	static const unsigned lengths[] = { 5, 12, 24 };

	for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
		struct measured m = measure_cost('c', lengths[i], NULL);
		const struct sampled *c = cluster_of(&m, CHAIN + 8 * LINE, 0);

		near(c->net, 100 * lengths[i]);
		assert_int_equal(c->size, lengths[i]);
		done(&m);
	}
}

/* Whether the definition keeps the clusters of two misses apart; by a plain search. */
static bool are_apart(const struct records *r, const struct rec_miss *a, const struct rec_miss *b)
{
	const struct rec_inst *supremum = NULL, *infimum = NULL;

	for (size_t i = 0; i < r->ninsts; i++) {
		const struct rec_inst *one = &r->insts[i];

		if (!(one->flags & RI_COMMITTED))
			continue;
		if (!supremum && one->fetch + one->commit >= a->begin + a->end)
			supremum = one;
		if (one->fetch + one->dispatch < b->begin)
			infimum = one;
	}
	assert_true(supremum && infimum);
	return b->begin > a->begin + a->end && infimum->po > supremum->po &&
	       infimum->fetch + infimum->dispatch >= supremum->fetch + supremum->commit;
}

static void test_1303_two_misses_are_one_cluster_or_two_by_the_rule_at_every_distance(void **state)
{
	static const unsigned distances[] = { 0,   8,	16,  24,  26,  28,  30,	 32,  34,
					      36,  40,	50,  64,  80,  100, 120, 140, 150,
					      160, 170, 180, 200, 250, 300, 400, 500 };
	unsigned ones = 0, twos = 0;

	for (size_t i = 0; i < ARRAY_LEN(distances); i++) {
		struct measured m = measure_cost('a', distances[i], NULL);
		const struct rec_miss *a = miss_of(&m, FRESH, 0), *b = miss_of(&m, FRESH + LINE, 0);
		const bool apart = are_apart(m.run, a, b);
		const int64_t cost = cost_of_fresh(&m, 2);

		assert_int_equal(cluster_of(&m, FRESH, 0)->size, apart ? 1 : 2);
		assert_int_equal(cluster_of(&m, FRESH + LINE, 0)->size, apart ? 1 : 2);
		*(apart ? &twos : &ones) += 1;
		assert_true(apart || distances[i] < 500);
		/* The window has 32 entries. Beyond it the second miss begins when the first is over;
		 * only what the window held meanwhile, 8 cycles of dispatch at most, is done. */
		if (distances[i] <= 30)
			near(cost, 100);
		else if (distances[i] >= 34)
			assert_true(cost >= 200 - 8 && cost <= 200);
		done(&m);
	}
	assert_true(ones >= 6 && twos >= 6);
}

/* Costs by n from 0 to 150: 100 less what is covered, and never below 0. What is covered is n cycles
 * and a constant, which the cost at n = 50 tells. */
static void falls_to_zero(char letter)
{
	int64_t constant = 0;

	for (unsigned k = 0; k <= 16; k++) {
		const unsigned n = k ? 10 * (k - 1) : 50;
		struct measured m = measure_cost(letter, n, NULL);
		const int64_t cost = cost_of_fresh(&m, 1);

		if (!k) {
			constant = 50 - cost;
			assert_true(constant >= 0 && constant < 20);
		}
		near(cost, (int64_t)n + constant < 100 ? 100 - (int64_t)n - constant : 0);
		done(&m);
	}
}

/* The committed instruction of that number. */
static const struct rec_inst *committed(const struct measured *m, uint64_t po)
{
	for (size_t i = 0; i < m->run->ninsts; i++)
		if (m->run->insts[i].po == po && m->run->insts[i].flags & RI_COMMITTED)
			return &m->run->insts[i];
	fail_msg("no instruction %llu", (unsigned long long)po);
	return NULL;
}

static void test_1304_a_branch_that_resolves_late_covers_a_miss_beside_it(void **state)
{
	unsigned mispredicted = 0, hidden = 0;

	for (unsigned n = 0; n <= 150; n += 10) {
		struct measured m = measure_cost('b', n, "units.div=2");
		const struct rec_miss *miss = miss_of(&m, FRESH, 0);
		/* After the load: addi, the chain, the branch; then add, a jump, and a division that
		 * waits for the load's value. */
		const uint64_t po = miss->po + 2 + n / 20 + n % 20;
		const struct rec_inst *branch = committed(&m, po), *next = committed(&m, po + 3);
		const int64_t left =
		    (int64_t)(miss->begin + miss->end) - (int64_t)(next->fetch + next->dispatch);

		assert_int_equal(branch->cls, CLASS_BRANCH);
		if (branch->flags & RI_MISPREDICT) {
			mispredicted++;
			hidden += left < 0;
			/* The division waits for the rest of the miss. */
			near(cost_of_fresh(&m, 1), left > 0 ? left : 0);
		}
		done(&m);
	}
	assert_true(mispredicted >= 12 && hidden >= 4);
}

static void test_1305_a_prefetch_takes_off_each_cycle_that_it_is_ahead(void **state)
{
	falls_to_zero('p');
}

static void test_1306_store_misses_cost_cycles_when_the_store_queue_is_full(void **state)
{
	struct measured m = measure_cost('s', 0, "l1d.mshrs=4");

	assert_true(cost_of_fresh(&m, 64) > 100);
	done(&m);
}

static void test_1307_a_load_of_the_line_waits_for_the_store_s_miss(void **state)
{
	struct measured m = measure_cost('l', 0, NULL);
	const struct rec_miss *one = miss_of(&m, FRESH, 0);
	const int64_t cost = cost_of_fresh(&m, 1);

	assert_int_equal(one->kind, MISS_STORE);
	assert_int_equal(one->merged, 1);
	/* a division of 20 cycles before the load, and the store drains some cycles after its commit */
	assert_true(cost > 80 && cost < 100);
	done(&m);
}

static void test_1308_misses_at_once_come_16_cycles_apart_over_the_bus(void **state)
{
	machine = "puzak2007-bus";
	struct measured m = measure_cost('n', 0, NULL);

	machine = "puzak2007";
	const struct sampled *c = cluster_of(&m, FRESH, 0);
	const struct rec_miss *first = miss_of(&m, FRESH, 0);

	assert_int_equal(c->size, 5);
	for (unsigned k = 1; k < 5; k++) {
		const struct rec_miss *one = miss_of(&m, FRESH + LINE * k, 0);

		near((int64_t)(one->begin + one->end - first->begin - first->end), 16 * k);
	}
	done(&m);
	m = measure_cost('n', 0, NULL);
	near(cluster_of(&m, FRESH, 0)->net, 100);
	done(&m);
}

/*
 * 16 lines of straight code, none of them cached. Line i begins with block 2i, which is walked in
 * cycle 2i if the queue of k blocks has room, else when fetch leaves block 2i - k - 1; fetch reads a
 * line in 8 cycles. What fetch waits for is the cost.
 */
static int64_t cost_of_straight_code(unsigned k)
{
	int64_t read[16] = { 100 }, waited = 100;

	for (unsigned i = 1; i < 16; i++) {
		const int64_t used = read[i - 1] + 8;
		int64_t asked = 2 * i;

		if (2 * i > k) {
			const unsigned left = 2 * i - k - 1;

			asked = read[left / 2] + left % 2 * 4 + 3;
		}
		if (!k)
			asked = used;
		read[i] = used > asked + 100 ? used : asked + 100;
		waited += read[i] - used;
	}
	return waited;
}

/* The committed instruction at pc. */
static uint64_t po_at(const struct measured *m, uint64_t pc)
{
	for (size_t i = 0; i < m->run->ninsts; i++)
		if (m->run->insts[i].pc == pc && m->run->insts[i].flags & RI_COMMITTED)
			return m->run->insts[i].po;
	fail_msg("no instruction at 0x%llx", (unsigned long long)pc);
	return 0;
}

static void test_1309_instruction_misses_overlap_as_far_as_the_predictors_run_ahead(void **state)
{
	static const unsigned blocks[] = { 0, 1, 2, 4, 8, 12, 14, 16, 32 };
	const uint64_t code = ARENA, end = code + 16 * LINE; /* of ahead_kernels */

	program = AHEAD_KERNELS;
	for (size_t i = 0; i < ARRAY_LEN(blocks); i++) {
		char ahead[32];
		const char *const sets[] = { "ideal.imiss=off", "l1i.mshrs=32", ahead, NULL };

		snprintf(ahead, sizeof(ahead), "fetch.ahead=%u", blocks[i]);

		struct measured m = measure_with("s", sets);
		const struct samples *s = &m.s->samples;
		unsigned alone = 0;

		for (size_t k = 0; k < s->count; k++)
			alone += s->at[k].size == 1 && s->at[k].misses[0].addr > code &&
				 s->at[k].misses[0].addr < end && s->at[k].net == 100;
		/* The first line is in a cluster with a miss before it, the others come one by one. */
		assert_int_equal(alone, blocks[i] ? 0 : 15);
		near(stamps_lag(&m.s->stamps, po_at(&m, end - 4)) -
			 stamps_lag(&m.s->stamps, po_at(&m, code) - 1),
		     cost_of_straight_code(blocks[i]));
		done(&m);
	}
	program = MISS_KERNELS;
	assert_int_equal(cost_of_straight_code(0), 1600);
	assert_int_equal(cost_of_straight_code(32), 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_1160_a_miss_alone_costs_its_latency),
		cmocka_unit_test(test_1161_two_independent_misses_cost_one_latency),
		cmocka_unit_test(test_1162_two_dependent_misses_cost_both_latencies),
		cmocka_unit_test(test_1163_with_one_mshr_independent_misses_are_in_series),
		cmocka_unit_test(test_1164_requests_for_a_line_on_its_way_are_no_misses),
		cmocka_unit_test(test_1165_a_store_that_nobody_waits_for_costs_nothing),
		cmocka_unit_test(
		    test_1166_a_miss_of_a_wrong_path_costs_no_cycle_and_is_not_in_the_right_one),
		cmocka_unit_test(test_1167_a_prefetch_takes_off_what_it_is_ahead),
		cmocka_unit_test(test_1170_without_its_misses_a_cluster_saves_its_net_cost),
		cmocka_unit_test(test_1171_only_the_misses_of_that_cluster_become_hits),
		cmocka_unit_test(
		    test_1172_a_line_that_is_not_asked_for_any_more_is_there_all_the_same),
		cmocka_unit_test(test_1173_a_sample_is_the_same_for_any_size_of_it),
		cmocka_unit_test(test_1300_three_misses_cost_each_of_the_ten_sums),
		cmocka_unit_test(test_1301_two_dependent_misses_cost_30_or_115),
		cmocka_unit_test(test_1302_a_chase_is_one_cluster_of_as_many_latencies),
		cmocka_unit_test(
		    test_1303_two_misses_are_one_cluster_or_two_by_the_rule_at_every_distance),
		cmocka_unit_test(test_1304_a_branch_that_resolves_late_covers_a_miss_beside_it),
		cmocka_unit_test(test_1305_a_prefetch_takes_off_each_cycle_that_it_is_ahead),
		cmocka_unit_test(test_1306_store_misses_cost_cycles_when_the_store_queue_is_full),
		cmocka_unit_test(test_1307_a_load_of_the_line_waits_for_the_store_s_miss),
		cmocka_unit_test(test_1308_misses_at_once_come_16_cycles_apart_over_the_bus),
		cmocka_unit_test(
		    test_1309_instruction_misses_overlap_as_far_as_the_predictors_run_ahead),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

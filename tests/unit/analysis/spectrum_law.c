/* SPDX-License-Identifier: MIT */
/*
 * The law of the spectrum (costs, drift, head and tail are the difference between the run's cycles
 * and its twin's) on random machines, for kernels and for programs that go wrong on purpose: with
 * signals, timers, threads, exec, and code that changes.
 */
#include "../core/harness.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/spectrum/spectrum.h"
#include "differential/random/hostile.h"

#define PROGRAM "./law-program"
#define BATCH	512
#define MISSES	64
#define TWINS	128 /* fewer than arrive at once */

/* A run through the analysis. */
struct law {
	struct emit emit;
	struct rec_cycle cycles[BATCH];
	struct rec_inst insts[BATCH];
	struct rec_miss misses[MISSES + EMIT_MISSES];
	struct rec_twin twins[TWINS];
	struct spectrum *s;
	struct err e;
	bool ok;
};

static void take(struct emit *e)
{
	struct law *l = (struct law *)e;
	const struct analysis *a = &spectrum_analysis;

	l->ok = l->ok && a->misses(l->s, e->misses, e->nmisses, &l->e) &&
		a->twins(l->s, e->twins, e->ntwins, &l->e) &&
		a->batch(l->s, e->insts, e->ninsts, e->cycles, e->ncycles, &l->e);
	e->ninsts = e->ncycles = e->nmisses = e->ntwins = 0;
}

static void describe(const struct random_machine *m, char *text, size_t size)
{
	snprintf(text, size, "%s", m->name);
	for (unsigned i = 0; m->list[i]; i++)
		snprintf(text + strlen(text), size - strlen(text), " %s", m->list[i]);
}

/* Runs a program on a machine and checks the law. Returns how many misses there were, and in
 * *twin_cycles what the twin took (0: the machine has no spectrum). wants: WANT_STAMPS or 0. */
static uint64_t check_law(const struct random_machine *m, char **argv, unsigned wants,
			  uint64_t *twin_cycles)
{
	static const int no_streams[3] = { -1, -1, -1 };
	struct guest_config guest_config = { .argv = argv,
					     .envp = (char **)kernel_environment,
					     .streams = no_streams };
	struct law *l = x_calloc(1, sizeof(*l));
	const struct analysis_options options = { 0 };
	struct trace_meta meta;
	struct machine config;
	char text[4096];

	describe(m, text, sizeof(text));
	l->emit = (struct emit){ .cycles = l->cycles,
				 .insts = l->insts,
				 .misses = l->misses,
				 .twins = l->twins,
				 .max_cycles = BATCH,
				 .max_insts = BATCH,
				 .max_misses = MISSES,
				 .max_twins = TWINS,
				 .wants = (spectrum_analysis.wants & ~(unsigned)WANT_LESS) | wants,
				 .full = take };
	config_of(&config, m->name, m->list);

	struct guest *g = guest_new(&guest_config, &l->e);
	struct core *c = g ? core_new(&config, g, NULL, &l->e) : NULL;

	if (!c)
		fail_msg("%s", l->e.text);
	core_meta(c, &meta);
	l->s = x_calloc(1, spectrum_analysis.state_size);
	if (!spectrum_analysis.start(l->s, &meta, &options, &l->e)) {
		/* There is no level beyond the L1 caches. */
		*twin_cycles = 0;
		free(l->s);
		free(l);
		core_free(c);
		guest_free(g);
		return 0;
	}
	l->ok = true;
	core_listen(c, &l->emit);
	assert_int_equal(core_run(c, 0), CORE_ENDED);
	core_cut(c);
	take(&l->emit);
	if (!l->ok || !spectrum_analysis.finish(l->s, NULL, &l->e))
		fail_msg("%s: %s", text, l->e.text);

	const int64_t adder = (int64_t)(core_stats(c)->cycles - core_twin_stats(c)->cycles);
	uint64_t misses = 0;

	*twin_cycles = core_twin_stats(c)->cycles;
	assert_int_equal(core_stats(c)->insts, core_twin_stats(c)->insts);
	for (unsigned k = 0; k < CLUSTERINGS; k++) {
		const struct clusters *cl = &l->s->clusters[k];

		assert_int_equal(core_stats(c)->cycles, l->s->cycles);
		assert_int_equal(cl->net + cl->drift + cl->head + cl->tail, cl->adder);
		if (cl->adder != adder)
			fail_msg("%s: the adder is %lld, not %lld cycles", text,
				 (long long)cl->adder, (long long)adder);
	}
	for (unsigned k = 0; k < MISS_KINDS; k++)
		for (unsigned level = 0; level < SPECTRUM_LEVELS; level++)
			misses += l->s->sums[k][level].misses;
	spectrum_analysis.free(l->s);
	free(l->s);
	free(l);
	core_free(c);
	guest_free(g);
	return misses;
}

static void
test_1211_the_law_holds_and_the_twin_is_a_run_with_perfect_caches_on_random_machines(void **state)
{
	static const unsigned kernels[] = { 16, 17, 19, 18, 8, 12, 11 };
	static const char *const perfect[] = { "ideal.dmiss=on", "ideal.imiss=on", "ideal.dtlb=on",
					       "ideal.itlb=on", NULL };
	const char *sets[ARRAY_LEN(((struct random_machine *)0)->list) + ARRAY_LEN(perfect)];
	struct kernel_run k = { .sets = sets, .size = 65536 };
	struct rng r;
	unsigned legal = 0;
	uint64_t misses = 0, twin;

	rng_seed(&r, 1211);
	while (legal < 150) {
		struct random_machine m;
		char number[8];
		char *argv[] = { (char *)KERNELS, number,	(char *)"30",
				 (char *)"65536", (char *)"64", NULL };

		if (!random_machine(&r, &m))
			continue;
		k.kernel = kernels[rng_below(&r, ARRAY_LEN(kernels))];
		snprintf(number, sizeof(number), "%u", k.kernel);
		misses += check_law(&m, argv, legal++ & 1 ? WANT_STAMPS : 0, &twin);

		/* A kernel reads no clock, so a run with perfect caches is what the twin is. */
		unsigned n = 0;

		while (m.list[n])
			n++;
		memcpy(sets, m.list, n * sizeof(*sets));
		memcpy(sets + n, perfect, sizeof(perfect));
		k.machine = m.name;
		if (twin)
			assert_int_equal(run_kernel(&k, 30).cycles, twin);
	}
	assert_true(misses > 1000);
}

static void test_1212_the_law_holds_for_hostile_programs_on_random_machines(void **state)
{
	struct rng r;
	unsigned legal = 0;
	uint64_t misses = 0, twin;

	rng_seed(&r, 1212);
	while (legal < 60) {
		struct hostile_options o = { .seed = 1200 + legal, .timer = legal % 3 == 2 };
		struct hostile h;
		struct random_machine m;
		char *argv[] = { (char *)PROGRAM, NULL };

		if (!random_machine(&r, &m))
			continue;
		assert_true(hostile_write(&o, PROGRAM, &h));
		misses += check_law(&m, argv, legal++ & 1 ? WANT_STAMPS : 0, &twin);
	}
	assert_true(misses > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    test_1211_the_law_holds_and_the_twin_is_a_run_with_perfect_caches_on_random_machines),
		cmocka_unit_test(test_1212_the_law_holds_for_hostile_programs_on_random_machines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* The twin of core/twin.h: what it reports for each instruction, and that it does not change the
 * run. */
#include "harness.h"

#include <inttypes.h>
#include <stdlib.h>

#include "util/util.h"

#define PERFECT_CACHES "ideal.dmiss=on", "ideal.imiss=on", "ideal.dtlb=on", "ideal.itlb=on"
#define BATCH	       512
#define TWINS	       64 /* fewer than arrive at once */

/* Keeps when each instruction was dispatched and committed, on the twin or on the core itself. */
struct stamps {
	struct emit emit;
	struct rec_inst insts[BATCH];
	struct rec_cycle cycles[BATCH];
	struct rec_twin twins[TWINS];
	bool own; /* keeps the core's own stamps */
	struct rec_twin *list;
	size_t count, capacity;
	uint64_t committed;
};

static void keep(struct stamps *s, struct rec_twin t)
{
	if (s->count == s->capacity) {
		s->capacity = s->capacity ? 2 * s->capacity : 1024;
		s->list = x_realloc(s->list, s->capacity * sizeof(*s->list));
	}
	s->list[s->count++] = t;
}

static void take(struct emit *e)
{
	struct stamps *s = (struct stamps *)e;

	for (size_t i = 0; i < e->ninsts; i++) {
		const struct rec_inst *r = &e->insts[i];

		s->committed++;
		if (s->own)
			keep(s, (struct rec_twin){ .po = r->po,
						   .dispatch = r->fetch + r->dispatch,
						   .commit = r->commit - r->dispatch });
	}
	for (size_t i = 0; i < e->ntwins; i++)
		keep(s, e->twins[i]);
	e->ninsts = e->ncycles = e->ntwins = 0;
}

static struct core_stats run(struct stamps *s, struct kernel_run k, uint64_t rounds, unsigned wants)
{
	free(s->list);
	*s = (struct stamps){ .emit = { .insts = s->insts,
					.cycles = s->cycles,
					.twins = s->twins,
					.max_insts = BATCH,
					.max_cycles = BATCH,
					.max_twins = TWINS,
					.wants = wants,
					.full = take },
			      .own = !(wants & WANT_TWIN) };
	k.emit = &s->emit;

	struct core_stats stats = run_kernel(&k, rounds);

	take(&s->emit);
	return stats;
}

static void same_stamps(const struct stamps *a, const struct stamps *b, const struct kernel_run *k)
{
	assert_int_equal(a->count, b->count);
	for (size_t i = 0; i < a->count; i++) {
		const struct rec_twin *x = &a->list[i], *y = &b->list[i];

		if (x->po != y->po || x->dispatch != y->dispatch || x->commit != y->commit)
			fail_msg("kernel %u on %s: instruction %" PRIu64 " dispatches at %" PRIu64
				 " and not at %" PRIu64 ", commits after %u and not %u cycles",
				 k->kernel, k->machine, x->po, x->dispatch, y->dispatch, x->commit,
				 y->commit);
	}
}

static const char *const machines[] = { "puzak2007", "boom-tip", "fields2004", "inorder-2w" };

static void test_1200_the_twin_is_a_run_with_perfect_caches_and_the_run_is_the_run(void **state)
{
	static struct stamps twin, perfect;

	for (unsigned m = 0; m < ARRAY_LEN(machines); m++) {
		for (unsigned kernel = 1; kernel <= 19; kernel++) {
			struct kernel_run k = { .machine = machines[m],
						.kernel = kernel,
						.size = MB / 4 };
			uint64_t rounds = kernel == 13 ? 1 : 40;
			struct core_stats alone = run_kernel(&k, rounds);
			struct core_stats with = run(&twin, k, rounds, WANT_INSTS | WANT_TWIN);

			assert_int_equal(alone.cycles, with.cycles);
			assert_int_equal(alone.wrong_path, with.wrong_path);
			assert_int_equal(twin.count, with.insts);
			k.sets = SETS(PERFECT_CACHES);
			run(&perfect, k, rounds, WANT_INSTS);
			same_stamps(&twin, &perfect, &k);
		}
	}
	free(twin.list);
	free(perfect.list);
}

static void test_1201_wrong_paths_of_the_twin_read_memory_as_it_was(void **state)
{
	static struct stamps twin, perfect;

	for (unsigned m = 0; m < ARRAY_LEN(machines); m++) {
		struct core_stats stats;
		struct kernel_run k = { .machine = machines[m],
					.program = TWIN_KERNELS,
					.args = (const char *const[]){ "change", NULL },
					.twin = &stats };

		run(&twin, k, 0, WANT_INSTS | WANT_TWIN);
		assert_true(stats.wrong_path > 5000);
		k.sets = SETS(PERFECT_CACHES);
		k.twin = NULL;
		/* Loaded values decide where a wrong path goes on, so both must have loaded the
		 * same. */
		assert_int_equal(run(&perfect, k, 0, WANT_INSTS).wrong_path, stats.wrong_path);
		same_stamps(&twin, &perfect, &k);
	}
	free(twin.list);
	free(perfect.list);
}

static void test_1202_the_guests_clock_is_the_runs(void **state)
{
	static struct stamps twin;
	struct kernel_run k = { .machine = "puzak2007",
				.program = TWIN_KERNELS,
				.args = (const char *const[]){ "clock", NULL } };
	struct core_stats alone = run_kernel(&k, 0);
	struct core_stats with = run(&twin, k, 0, WANT_INSTS | WANT_TWIN);

	assert_int_equal(alone.insts, with.insts);
	assert_int_equal(twin.count, with.insts);
	for (size_t i = 0; i < twin.count; i++)
		assert_int_equal(twin.list[i].po, i + 1);
	/* A separate run reads another time and so executes other instructions. */
	k.sets = SETS(PERFECT_CACHES);
	assert_int_not_equal(run_kernel(&k, 0).insts, with.insts);
	free(twin.list);
}

/* Keeps which instructions raise an exception. */
struct faults {
	struct emit emit;
	struct rec_inst insts[BATCH];
	struct rec_cycle cycles[BATCH];
	uint64_t po[1024];
	size_t count;
};

static void take_faults(struct emit *e)
{
	struct faults *f = (struct faults *)e;

	for (size_t i = 0; i < e->ninsts; i++)
		if (e->insts[i].flags & RI_COMMITTED && e->insts[i].flags & RI_EXCEPTION &&
		    f->count < ARRAY_LEN(f->po))
			f->po[f->count++] = e->insts[i].po;
	e->ninsts = e->ncycles = 0;
}

static void test_1210_pages_are_touched_in_program_order_on_every_machine(void **state)
{
	static struct faults f, in_order;
	static struct stamps twin, perfect;
	struct kernel_run k = { .machine = "boom-tip",
				.program = TWIN_KERNELS,
				.args = (const char *const[]){ "touch", NULL } };
	struct emit emit = { .insts = f.insts,
			     .cycles = f.cycles,
			     .max_insts = BATCH,
			     .max_cycles = BATCH,
			     .wants = WANT_INSTS,
			     .full = take_faults };

	f.emit = in_order.emit = emit;
	k.emit = &f.emit;
	run_kernel(&k, 0);
	take_faults(&f.emit);
	k.emit = &in_order.emit;
	k.sets = SETS("machine.model=inorder");
	run_kernel(&k, 0);
	take_faults(&in_order.emit);
	assert_true(f.count > 128);
	assert_int_equal(f.count, in_order.count);
	assert_memory_equal(f.po, in_order.po, f.count * sizeof(*f.po));

	k.sets = NULL;
	run(&twin, k, 0, WANT_INSTS | WANT_TWIN);
	k.sets = SETS(PERFECT_CACHES);
	run(&perfect, k, 0, WANT_INSTS);
	same_stamps(&twin, &perfect, &k);
	free(twin.list);
	free(perfect.list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    test_1200_the_twin_is_a_run_with_perfect_caches_and_the_run_is_the_run),
		cmocka_unit_test(test_1201_wrong_paths_of_the_twin_read_memory_as_it_was),
		cmocka_unit_test(test_1202_the_guests_clock_is_the_runs),
		cmocka_unit_test(test_1210_pages_are_touched_in_program_order_on_every_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* The invariants R1 to R5 of trace/record.h, and what records say about known events. */
#include "listener.h"

#include <stdlib.h>
#include <string.h>

static void test_340_records_hold_their_invariants_on_every_kernel_and_machine(void **state)
{
	static const char *const machines[] = { "boom-tip", "fields2004", "inorder-2w",
						"puzak2007-bus" };
	static struct listener l;

	for (unsigned m = 0; m < ARRAY_LEN(machines); m++) {
		for (unsigned kernel = 1; kernel <= 19; kernel++) {
			struct kernel_run k = { .machine = machines[m],
						.kernel = kernel,
						.size = MB / 4,
						.check = kernel != 13 };

			listen(&l, k, kernel == 13 ? 1 : 40, ALL);
		}
	}
}

static void test_341_listening_changes_no_cycle(void **state)
{
	static struct listener l;

	for (unsigned kernel = 9; kernel <= 18; kernel++) {
		struct kernel_run k = { .machine = "boom-tip", .kernel = kernel, .size = MB };

		if (kernel != 13)
			assert_int_equal(listen(&l, k, 200, ALL).cycles,
					 run_kernel(&k, 200).cycles);
	}
}

/* Returns the bit number of an event. */
static unsigned bit(enum psv_event event)
{
	return (unsigned)__builtin_ctz(event);
}

static void test_342_events_are_set_on_the_instructions_that_suffer_them(void **state)
{
	static struct listener l;
	struct kernel_run k = { .machine = "boom-tip", .kernel = 16, .sets = SETS(PERFECT) };

	listen(&l, k, 100, ALL);
	assert_int_equal(l.psv[bit(PSV_FL_MO)], 100);

	k = (struct kernel_run){ .machine = "boom-tip", .kernel = 11, .sets = SETS(PERFECT) };
	listen(&l, k, 10, ALL);
	assert_int_equal(l.psv[bit(PSV_FL_CSR)], 160);
	assert_int_equal(l.psv[bit(PSV_FL_MB)], 0);
	assert_true(l.flush_cycles[FLUSH_CSR] > 160 * 8);

	k = (struct kernel_run){ .machine = "boom-tip", .kernel = 15, .sets = SETS(PERFECT) };
	listen(&l, k, 10, ALL);
	assert_int_equal(l.psv[bit(PSV_FL_EX)], 11); /* including the last exit */
	assert_true(l.flush_cycles[FLUSH_EXCEPTION] > 10 * 1000);

	k = (struct kernel_run){ .machine = "boom-tip",
				 .kernel = 7,
				 .sets =
				     SETS("bpred.direction=taken", "exception.page_faults=no") };
	struct core_stats s = listen(&l, k, 10, ALL);
	assert_int_equal(l.psv[bit(PSV_FL_MB)], s.mispredicts);
	assert_true(s.mispredicts >= 640);

	k = (struct kernel_run){ .machine = "boom-tip",
				 .kernel = 3,
				 .size = 8 * MB,
				 .sets = SETS(FLAT, "exception.page_faults=no") };
	listen(&l, k, 2100, WANT_CYCLES | WANT_INSTS);
	assert_true(l.psv[bit(PSV_ST_LLC)] >= 2000 * 60);
	assert_int_equal(l.psv[bit(PSV_ST_TLB)], 0);

	k = (struct kernel_run){ .machine = "boom-tip",
				 .kernel = 12,
				 .size = 8 * MB,
				 .sets = SETS(FLAT, "l1d.mshrs=2", "lsu.store_queue=8") };
	listen(&l, k, 2000, ALL);
	assert_true(l.psv[bit(PSV_DR_SQ)] > 1000);
	assert_true(l.stalls[DISPATCH_SQ] > 2000 * 50);

	k = (struct kernel_run){ .machine = "boom-tip",
				 .kernel = 13,
				 .sets = SETS(PERFECT, "l1i.prefetch=none") };
	listen(&l, k, 4, ALL);
	assert_true(l.psv[bit(PSV_DR_L1)] >= 3 * 1024);
}

static void test_343_a_page_fault_is_its_instructions_and_is_taken_once(void **state)
{
	static struct listener l;
	struct kernel_run off = { .machine = "boom-tip",
				  .kernel = 9,
				  .size = MB,
				  .stride = 4096,
				  .sets = SETS("exception.page_faults=no") };
	struct kernel_run on = off;

	on.sets = SETS("exception.page_faults=yes");

	uint64_t before = run_kernel(&off, 300).exceptions;
	struct core_stats s = listen(&l, on, 300, ALL);

	/* 256 pages of the buffer fault, and a few of stack and data. */
	assert_in_range(s.exceptions - before, 256, 264);
	assert_int_equal(l.psv[bit(PSV_FL_EX)], s.exceptions);
}

/* Keeps the records inside the stretches of a schedule. */
struct keeper {
	struct emit emit;
	struct rec_inst insts[BATCH];
	struct schedule schedule;
	struct rec_inst *kept;
	size_t nkept, nseen;
};

static void keep_batch(struct emit *e)
{
	struct keeper *k = (struct keeper *)e;

	for (size_t i = 0; i < e->ninsts; i++) {
		const struct rec_inst *r = &e->insts[i];
		const struct stretch t = schedule_next(&k->schedule, r->po);

		k->nseen++;
		if (r->po < t.lead)
			continue;
		k->kept = x_realloc(k->kept, (k->nkept + 1) * sizeof(*k->kept));
		k->kept[k->nkept++] = *r;
	}
	e->ninsts = e->ncycles = 0;
}

static void keep(struct keeper *k, struct kernel_run run, const struct schedule *asked)
{
	memset(k, 0, sizeof(*k));
	k->schedule = (struct schedule){ .one_in = 10, .insts = 700, .lead = 300, .seed = 5 };
	k->emit = (struct emit){ .insts = k->insts,
				 .max_cycles = 1,
				 .max_insts = BATCH,
				 .wants = WANT_INSTS | WANT_PRODUCERS | WANT_LATENCIES,
				 .full = keep_batch };
	if (asked)
		k->emit.schedule = *asked;
	run.emit = &k->emit;
	run_kernel(&run, 150);
	keep_batch(&k->emit);
}

static void test_344_records_of_scheduled_stretches_are_those_of_the_whole_run(void **state)
{
	static const char *const machines[] = { "boom-tip", "fields2004" };
	static struct keeper all, some;

	for (unsigned m = 0; m < ARRAY_LEN(machines); m++) {
		for (unsigned kernel = 1; kernel <= 12; kernel++) {
			struct kernel_run k = { .machine = machines[m],
						.kernel = kernel,
						.size = MB / 4 };

			keep(&all, k, NULL);
			keep(&some, k, &all.schedule);
			assert_int_equal(some.nkept, all.nkept);
			if (all.nkept)
				assert_memory_equal(some.kept, all.kept,
						    all.nkept * sizeof(*all.kept));
			if (all.nseen > 14000) /* most records between the stretches are not made */
				assert_true(some.nseen < all.nseen / 3);
			free(all.kept);
			free(some.kept);
		}
	}
}

/* Keeps cycle records, and counts issues per cycle from the instructions' own stamps. */
struct issues {
	struct emit emit;
	struct rec_cycle cycles[BATCH];
	struct rec_inst insts[BATCH];
	struct rec_cycle kept[1 << 16];
	size_t nkept;
	unsigned stamped[1 << 16];
};

static void count_batch(struct emit *e)
{
	struct issues *k = (struct issues *)e;

	for (size_t i = 0; i < e->ninsts; i++) {
		const struct rec_inst *r = &e->insts[i];

		if (r->issue != STAMP_NONE) {
			assert_true(r->fetch + r->issue < ARRAY_LEN(k->stamped));
			k->stamped[r->fetch + r->issue]++;
		}
	}
	assert_true(k->nkept + e->ncycles <= ARRAY_LEN(k->kept));
	memcpy(k->kept + k->nkept, e->cycles, e->ncycles * sizeof(*e->cycles));
	k->nkept += e->ncycles;
	e->ninsts = e->ncycles = 0;
}

static void test_345_a_record_of_several_cycles_counts_what_issues_in_all_of_them(void **state)
{
	static const char *const machines[] = { "boom-tip", "fields2004", "eyerman2006" };
	static struct issues k;
	unsigned several = 0, exact = 0;

	for (unsigned m = 0; m < ARRAY_LEN(machines); m++) {
		for (unsigned kernel = 1; kernel <= 12; kernel++) {
			struct kernel_run run = { .machine = machines[m],
						  .kernel = kernel,
						  .size = 4096,
						  .emit = &k.emit };

			memset(&k, 0, sizeof(k));
			k.emit = (struct emit){ .cycles = k.cycles,
						.insts = k.insts,
						.max_cycles = BATCH,
						.max_insts = BATCH,
						.wants = ALL,
						.full = count_batch };
			run_kernel(&run, 20);
			count_batch(&k.emit);
			uint64_t again = 0; /* loads that issued a second time */

			for (size_t i = 0; i < k.nkept; i++) {
				const struct rec_cycle *r = &k.kept[i];
				unsigned stamped = 0;

				for (uint64_t t = r->cycle; t < r->cycle + r->repeat; t++)
					stamped += k.stamped[t];
				assert_true(r->nissue >= stamped);
				again += r->nissue - stamped;
				several += r->repeat > 1 && stamped;
			}
			exact += !again;
		}
	}
	assert_true(exact > 20);
	assert_true(several > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    test_340_records_hold_their_invariants_on_every_kernel_and_machine),
		cmocka_unit_test(test_341_listening_changes_no_cycle),
		cmocka_unit_test(test_342_events_are_set_on_the_instructions_that_suffer_them),
		cmocka_unit_test(
		    test_344_records_of_scheduled_stretches_are_those_of_the_whole_run),
		cmocka_unit_test(
		    test_345_a_record_of_several_cycles_counts_what_issues_in_all_of_them),
		cmocka_unit_test(test_343_a_page_fault_is_its_instructions_and_is_taken_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

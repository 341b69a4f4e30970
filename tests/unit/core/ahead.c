/* SPDX-License-Identifier: MIT */
/*
 * 1250-1262: the predictors run ahead of fetch (core/ahead.c). The misses of ahead_kernels.c are
 * compared with closed forms: puzak2007 reads blocks of 64 bytes from lines of 128, four
 * instructions a cycle, and walks a block a cycle.
 */
#include "harness.h"

#include <string.h>

#include "core/mem/mem.h"
#include "util/util.h"

#define STRAIGHT 0x10000000 /* 16 lines */
#define LEAPS	 0x20000000
#define BRANCHES 0x30000000
#define CALLS	 0x40000000
#define ASTRAY	 0x50000000 /* 65 lines, the first with a jump at its begin */
#define THRASH	 0x60000000
#define LINE	 128
#define READ	 8   /* cycles in which fetch reads a line */
#define MEMORY	 100 /* beyond a hit */
#define L2	 15
#define HIT	 1 /* L1I latency */
#define MOST	 (1 << 16)
#define ROUNDS	 10 /* of the loops of kernels.c */
#define WANTS	 (WANT_CYCLES | WANT_INSTS | WANT_MISSES)

/* The records of a run. */
struct run {
	struct emit emit;
	struct rec_cycle cycles[64];
	struct rec_inst insts[256];
	struct rec_miss misses[8 + EMIT_MISSES];
	struct rec_twin twins[64];
	struct rec_inst all_insts[MOST];
	struct rec_miss all[MOST];
	size_t ninsts, nmisses;
	uint64_t settled; /* M2 of trace/record.h */
	struct core_stats stats;
};

static void take(struct emit *e)
{
	struct run *r = (struct run *)e;

	for (size_t i = 0; i < e->nmisses && r->nmisses < MOST; i++) {
		const struct rec_miss *m = &e->misses[i];

		assert_true(m->begin >= r->settled && m->end > 0 && m->queue <= m->end);
		r->settled = max_u64(r->settled, miss_settled(m));
		r->all[r->nmisses++] = *m;
	}
	for (size_t i = 0; i < e->ninsts && r->ninsts < MOST; i++)
		r->all_insts[r->ninsts++] = e->insts[i];
	e->nmisses = e->ninsts = e->ncycles = e->ntwins = 0;
}

static struct run *listen(struct kernel_run k, unsigned wants)
{
	static struct run r;

	memset(&r, 0, sizeof(r));
	r.emit = (struct emit){ .cycles = r.cycles,
				.insts = r.insts,
				.misses = r.misses,
				.twins = r.twins,
				.max_cycles = 64,
				.max_insts = 256,
				.max_misses = 8,
				.max_twins = 64,
				.wants = wants,
				.full = take };
	k.emit = &r.emit;
	r.stats = run_kernel(&k, ROUNDS);
	take(&r.emit);
	return &r;
}

/* Runs a kernel of ahead_kernels on puzak2007 with a real I-cache and so many blocks ahead. */
static struct run *run_ahead(const char *kernel, unsigned blocks, const char *set)
{
	char ahead[32];
	const char *const sets[] = { "ideal.imiss=off", "l1i.mshrs=32", ahead, set, NULL };

	snprintf(ahead, sizeof(ahead), "fetch.ahead=%u", blocks);
	return listen((struct kernel_run){ .machine = "puzak2007",
					   .sets = sets,
					   .program = AHEAD_KERNELS,
					   .args = (const char *const[]){ kernel, NULL },
					   .check = true },
		      WANTS);
}

/* The n-th miss of a line, in the order of begins; NULL if there are fewer. */
static const struct rec_miss *miss_at(const struct run *r, uint64_t line, unsigned n)
{
	for (size_t i = 0; i < r->nmisses; i++)
		if (r->all[i].line == line && r->all[i].kind < MISS_ITLB && !n--)
			return &r->all[i];
	return NULL;
}

/* As miss_at, for the line of an instruction; there must be one. */
static const struct rec_miss *miss_of(const struct run *r, uint64_t pc, unsigned n)
{
	const struct rec_miss *m = miss_at(r, pc & ~(uint64_t)(LINE - 1), n);

	assert_non_null(m);
	return m;
}

/* When the instruction at pc was fetched for the n-th time. */
static uint64_t fetched(const struct run *r, uint64_t pc, unsigned n)
{
	for (size_t i = 0; i < r->ninsts; i++)
		if (r->all_insts[i].pc == pc && !n--)
			return r->all_insts[i].fetch;
	fail_msg("no instruction at %#llx", (unsigned long long)pc);
	return 0;
}

/* The miss of a line that fetch asks for itself. */
static void check_fetch(const struct rec_miss *m, uint64_t begin, uint32_t latency)
{
	assert_non_null(m);
	assert_int_equal(m->kind, MISS_FETCH);
	assert_int_equal(m->begin, begin);
	assert_int_equal(m->end, HIT + latency);
	assert_int_equal(m->merged, 0);
	assert_int_equal(m->use, STAMP_NONE);
}

/* The miss of a line that was asked for ahead of fetch, which asks for it in cycle `used`. */
static void check_ahead(const struct rec_miss *m, uint64_t begin, uint32_t latency, uint64_t used)
{
	bool late = used < begin + HIT + latency;

	assert_non_null(m);
	assert_int_equal(m->kind, MISS_PREFETCH);
	assert_int_equal(m->begin, begin);
	assert_int_equal(m->end, HIT + latency);
	assert_int_equal(m->merged, late);
	assert_int_equal(m->use, late ? (uint32_t)(used - begin) : STAMP_NONE);
	assert_int_equal(m->line, m->pc & ~(uint64_t)(LINE - 1));
}

/*
 * Straight code with a queue of k blocks. Line i begins with block 2i, which is walked in cycle 2i
 * if it fits, else when fetch leaves block 2i - k - 1. Fetch reads a block in four cycles and asks
 * for a line by itself if nobody has.
 */
static void check_straight(unsigned k)
{
	struct run *r = run_ahead("s", k, NULL);
	uint64_t first = miss_at(r, STRAIGHT, 0)->begin, read[16] = { first + MEMORY };

	check_fetch(miss_at(r, STRAIGHT, 0), first, MEMORY);
	assert_int_equal(fetched(r, STRAIGHT, 0), read[0]);
	for (unsigned i = 1; i < 16; i++) {
		const struct rec_miss *m = miss_at(r, STRAIGHT + i * LINE, 0);
		uint64_t used = read[i - 1] + READ, asked = first + 2 * i;

		if (2 * i > k) {
			unsigned left = 2 * i - k - 1;

			asked = read[left / 2] + left % 2 * READ / 2 + READ / 2 - 1;
		}
		if (k)
			check_ahead(m, asked, MEMORY, used);
		else
			check_fetch(m, asked = used, MEMORY);
		read[i] = max_u64(used, asked + MEMORY);
		assert_int_equal(fetched(r, STRAIGHT + i * LINE, 0), read[i]);
		assert_null(miss_at(r, STRAIGHT + i * LINE, 1));
	}
	/* Without it misses come one after the other; with enough of it they are one. */
	if (k == 0)
		assert_int_equal(read[15], read[0] + 15 * (READ + MEMORY));
	if (k >= 14)
		assert_int_equal(read[7], read[0] + 7 * READ);
}

static void test_1250_in_straight_code_misses_overlap_as_far_as_the_queue_reaches(void **state)
{
	for (unsigned k = 0; k <= 16; k++)
		check_straight(k);
}

static void test_1251_a_block_waits_for_an_mshr_and_fetch_comes_first(void **state)
{
	struct run *r = run_ahead("s", 64, "l1i.mshrs=4");
	uint64_t first = miss_at(r, STRAIGHT, 0)->begin;

	/* Lines 0 to 3 have the MSHRs; each passes its own on when it is filled. */
	for (unsigned i = 1; i < 16; i++)
		assert_int_equal(miss_at(r, STRAIGHT + i * LINE, 0)->begin,
				 first + i % 4 * 2 + i / 4 * (HIT + MEMORY));
	/* With one MSHR the next line is asked for once fetch's own has come. */
	r = run_ahead("s", 64, "l1i.mshrs=1");
	first = miss_at(r, STRAIGHT, 0)->begin;
	for (unsigned i = 1; i < 16; i++)
		assert_int_equal(miss_at(r, STRAIGHT + i * LINE, 0)->begin,
				 first + i * (HIT + MEMORY));
}

/* Eight lines, each left by its first instruction. The second time the BTB knows them. */
static void check_leaps(const char *kernel, uint64_t start, uint64_t distance)
{
	struct run *r = run_ahead(kernel, 0, NULL);
	uint64_t first = miss_at(r, start, 1)->begin;

	for (unsigned i = 0; i < 8; i++) {
		check_fetch(miss_of(r, start + i * distance, 1), first + i * (L2 + 1), L2);
		assert_int_equal(fetched(r, start + i * distance, 1), first + L2 + i * (L2 + 1));
	}
	r = run_ahead(kernel, 8, NULL);
	first = miss_at(r, start, 1)->begin;
	for (unsigned i = 0; i < 8; i++) {
		if (i)
			check_ahead(miss_of(r, start + i * distance, 1), first + i, L2,
				    first + L2 + i);
		assert_int_equal(fetched(r, start + i * distance, 1), first + L2 + i);
	}
	/* Three blocks: line i is asked for when fetch leaves line i - 4. */
	r = run_ahead(kernel, 3, NULL);
	first = miss_at(r, start, 1)->begin;
	for (unsigned i = 1; i < 8; i++) {
		uint64_t asked = first + i % 4 + i / 4 * L2;

		assert_int_equal(miss_of(r, start + i * distance, 1)->begin, asked);
		assert_int_equal(fetched(r, start + i * distance, 1), asked + L2);
	}
}

static void test_1252_jumps_that_the_btb_knows_are_followed(void **state)
{
	check_leaps("l", LEAPS, 16512);
}

static void test_1253_branches_are_followed_as_their_direction_is_predicted(void **state)
{
	check_leaps("b", BRANCHES, 1152);
}

static void test_1254_what_the_btb_does_not_know_is_taken_as_sequential(void **state)
{
	struct run *r = run_ahead("l", 4, NULL);
	uint64_t first = miss_at(r, LEAPS, 0)->begin;

	/* The first time: the line after each jump is asked for, and the jump's target is not. */
	for (unsigned i = 0; i < 7; i++) {
		uint64_t pc = LEAPS + i * 16512;

		check_fetch(miss_of(r, pc, 0), first, MEMORY);
		check_ahead(miss_of(r, pc + LINE, 0), first + 2, MEMORY, UINT64_MAX);
		/* A cycle to fetch, another for the bubble of an unknown target. */
		first += MEMORY + 2;
	}
}

static void test_1255_calls_and_returns_follow_the_stack(void **state)
{
	struct run *r = run_ahead("c", 16, NULL);
	uint64_t first = miss_at(r, CALLS, 1)->begin;

	/* The caller's line is walked before each callee's. */
	for (unsigned i = 1; i <= 6; i++) {
		/* Behind the block that fetch waits for: callee, caller, callee, … */
		uint64_t used = first + L2 + 2 * i - 1;

		check_ahead(miss_of(r, CALLS + i * 16512, 1), first + 2 * i - 1, L2, used);
	}
}

static void test_1256_a_redirect_empties_the_queue_and_lines_asked_for_stay(void **state)
{
	struct run *r = run_ahead("w", 256, "mem.latency=40");
	uint64_t first = miss_at(r, ASTRAY, 0)->begin, wrong = fetched(r, ASTRAY, 0), redirect = 0;
	unsigned before = 0, flagged = 0;

	for (size_t i = 0; i < r->ninsts; i++)
		if (r->all_insts[i].pc == ASTRAY)
			redirect = r->all_insts[i].fetch + r->all_insts[i].complete;
	assert_true(redirect > wrong);
	for (unsigned i = 1; i < 64; i++) {
		const struct rec_miss *m = miss_at(r, ASTRAY + i * LINE, 0);

		assert_non_null(m);
		assert_null(miss_at(r, ASTRAY + i * LINE, 1)); /* fetched later, found */
		if (m->begin > redirect)
			continue;
		assert_int_equal(m->begin, first + 2 * i);
		assert_int_equal(!!(m->flags & MISS_WRONG_PATH), m->begin >= wrong);
		flagged += m->flags & MISS_WRONG_PATH;
		before++;
	}
	/* One line every other cycle up to the redirect, none after it. */
	assert_int_equal(before, (redirect - 1 - first) / 2);
	assert_in_range(before, 20, 60);
	assert_in_range(flagged, 5, before - 1);
}

/* The I-TLB has two of the kernel's pages, a walk takes 30 cycles. */
static void test_1257_a_block_waits_for_fetch_to_bring_its_page(void **state)
{
	static const char *const sets[] = { "ideal.imiss=off", "fetch.ahead=8",	  "itlb.entries=2",
					    "walk.kind=flat",  "walk.latency=30", NULL };
	struct kernel_run k = { .machine = "puzak2007",
				.sets = sets,
				.program = AHEAD_KERNELS,
				.args = (const char *const[]){ "l", NULL } };
	struct run *r = listen(k, WANTS);

	/* Each leap is in another page. */
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(miss_of(r, LEAPS + i * 16512, 1)->kind, MISS_FETCH);
	k.args = (const char *const[]){ "s", NULL };
	r = listen(k, WANTS);

	/* Straight code is in one page: once that is known, lines are asked for. */
	uint64_t first = miss_of(r, STRAIGHT, 0)->begin;

	assert_int_equal(fetched(r, STRAIGHT, 0), first + MEMORY);
	for (unsigned i = 1; i <= 4; i++)
		assert_int_equal(miss_of(r, STRAIGHT + i * LINE, 0)->begin, first + 2 * i - 1);
}

static const char *const machines[] = { "puzak2007-inst", "boom-tip",	 "boom-tea",
					"fields2004",	  "eyerman2006", "inorder-2w" };

#define EVERY_RUN(m, kernel)                                                                       \
	for (unsigned m = 0; m < ARRAY_LEN(machines); m++)                                         \
		for (unsigned kernel = 13; kernel <= 22; kernel++)

static uint64_t cycles_of(unsigned m, unsigned kernel, const char *const *sets)
{
	struct kernel_run k = { .machine = machines[m],
				.kernel = kernel,
				.size = MB / 8,
				.sets = sets,
				.check = true };

	return run_kernel(&k, ROUNDS).cycles;
}

static void test_1258_runs_repeat_and_listening_changes_no_cycle(void **state)
{
	EVERY_RUN(m, kernel)
	{
		struct kernel_run k = { .machine = machines[m],
					.kernel = kernel,
					.size = MB / 8,
					.sets = SETS("fetch.ahead=6") };
		uint64_t cycles = cycles_of(m, kernel, k.sets);

		assert_int_equal(listen(k, WANTS | WANT_SQUASHED)->stats.cycles, cycles);
		assert_int_equal(cycles_of(m, kernel, k.sets), cycles);
	}
}

#define PERFECT_CACHES "ideal.dmiss=on", "ideal.imiss=on", "ideal.dtlb=on", "ideal.itlb=on"

static void test_1259_the_twin_and_a_perfect_i_cache_have_nothing_to_ask_for(void **state)
{
	EVERY_RUN(m, kernel)
	{
		struct core_stats twin;
		struct kernel_run k = { .machine = machines[m],
					.kernel = kernel,
					.size = MB / 8,
					.sets = SETS("fetch.ahead=6"),
					.twin = &twin };
		uint64_t perfect = cycles_of(m, kernel, SETS(PERFECT_CACHES, "fetch.ahead=0"));

		listen(k, WANT_INSTS | WANT_TWIN);
		assert_int_equal(twin.cycles, perfect);
		assert_int_equal(cycles_of(m, kernel, SETS(PERFECT_CACHES, "fetch.ahead=6")),
				 perfect);
	}
}

static void test_1260_it_works_with_everything_that_can_be_idealised(void **state)
{
	static const char *const ideals[] = {
		"ideal.bw=on",	 "ideal.bmisp=on", "ideal.win=on",	     "ideal.flush=on",
		"ideal.itlb=on", "ideal.imem=on",  "bpred.direction=perfect"
	};

	for (unsigned i = 0; i < ARRAY_LEN(ideals); i++) {
		EVERY_RUN(m, kernel)
		{
			/* straight code, unknown branches, wrong paths far away */
			if (kernel != 13 && kernel != 17 && kernel != 22)
				continue;

			uint64_t cycles = cycles_of(m, kernel, SETS("fetch.ahead=5", ideals[i]));

			/* Straight code that misses. inorder-2w prefetches as many lines as it has
			 * MSHRs. */
			if (kernel == 13 && m < 5)
				assert_true(cycles <
					    cycles_of(m, kernel, SETS("fetch.ahead=0", ideals[i])));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    test_1250_in_straight_code_misses_overlap_as_far_as_the_queue_reaches),
		cmocka_unit_test(test_1251_a_block_waits_for_an_mshr_and_fetch_comes_first),
		cmocka_unit_test(test_1252_jumps_that_the_btb_knows_are_followed),
		cmocka_unit_test(test_1253_branches_are_followed_as_their_direction_is_predicted),
		cmocka_unit_test(test_1254_what_the_btb_does_not_know_is_taken_as_sequential),
		cmocka_unit_test(test_1255_calls_and_returns_follow_the_stack),
		cmocka_unit_test(test_1256_a_redirect_empties_the_queue_and_lines_asked_for_stay),
		cmocka_unit_test(test_1257_a_block_waits_for_fetch_to_bring_its_page),
		cmocka_unit_test(test_1258_runs_repeat_and_listening_changes_no_cycle),
		cmocka_unit_test(test_1259_the_twin_and_a_perfect_i_cache_have_nothing_to_ask_for),
		cmocka_unit_test(test_1260_it_works_with_everything_that_can_be_idealised),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

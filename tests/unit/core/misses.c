/* SPDX-License-Identifier: MIT */
/* 1001-1015: one record per L1 miss, checked against what the kernels must do. */
#include "harness.h"

#include "core/mem/mem.h"

#include <string.h>

#define ARENA  0x10000000
#define CHAIN  0x20000000
#define LINE   128 /* puzak2007 */
#define L1     2   /* L1D latency, to which a miss adds its own */
#define L2     15
#define MEMORY 100
#define MOST   (1 << 16)

/* All records of a run. */
struct records {
	struct emit emit;
	struct rec_cycle cycles[64];
	struct rec_inst insts[256];
	struct rec_miss misses[8 + EMIT_MISSES];
	struct rec_inst all_insts[MOST];
	struct rec_miss all[MOST];
	size_t ninsts, count;
	bool whole_lines; /* no bus takes time: data is usable as soon as the line arrives */
	uint64_t settled; /* M2 */
	uint64_t next_cycle;
	struct core_stats stats;
	struct memsys_stats memory;
};

static void take(struct emit *e)
{
	struct records *r = (struct records *)e;

	for (size_t i = 0; i < e->nmisses; i++) {
		const struct rec_miss *m = &e->misses[i];

		assert_true(m->begin >= r->settled); /* M2 */
		if (miss_settled(m) > r->settled)
			r->settled = miss_settled(m);
		assert_true(m->end > 0 && m->queue <= m->end); /* M3 */
		/* M1: the record comes no later than the cycle in which the line arrives. */
		if (r->whole_lines && !(m->flags & MISS_CUT))
			assert_true(miss_end(m) >= r->next_cycle);
		if (r->count < MOST)
			r->all[r->count++] = *m;
	}
	for (size_t i = 0; i < e->ninsts && r->ninsts < MOST; i++)
		r->all_insts[r->ninsts++] = e->insts[i];
	if (e->ncycles)
		r->next_cycle = e->cycles[e->ncycles - 1].cycle + e->cycles[e->ncycles - 1].repeat;
	e->nmisses = e->ninsts = e->ncycles = 0;
}

/* Runs a kernel of miss_kernels (a letter) or of kernels (a number and rounds). */
static struct records *record_some(const char *program, const char *kernel, const char *machine,
				   const char *const *sets, unsigned wants, uint64_t insts)
{
	static struct records r;
	char *argv[] = { (char *)program,  (char *)kernel, (char *)"100",
			 (char *)"131072", (char *)"64",   NULL };
	struct guest_config guest_config = { .argv = argv, .envp = (char **)kernel_environment };
	struct machine config;
	struct err e;

	memset(&r, 0, sizeof(r));
	r.emit = (struct emit){ .cycles = r.cycles,
				.insts = r.insts,
				.misses = r.misses,
				.max_cycles = 64,
				.max_insts = 256,
				.max_misses = 8,
				.wants = wants,
				.full = take };
	r.whole_lines = !strcmp(machine, "puzak2007");
	config_of(&config, machine, sets);

	struct guest *g = guest_new(&guest_config, &e);

	if (!g)
		fail_msg("%s", e.text);

	struct core *c = core_new(&config, g, wants ? &r.emit : NULL, &e);

	if (!c)
		fail_msg("%s", e.text);
	core_checked(c);
	assert_int_equal(core_run(c, insts), insts ? CORE_STOPPED : CORE_ENDED);
	core_cut(c);
	take(&r.emit);
	r.stats = *core_stats(c);
	r.memory = *core_memory_stats(c);
	core_free(c);
	guest_free(g);
	return &r;
}

#define WANTS (WANT_CYCLES | WANT_INSTS | WANT_SQUASHED | WANT_MISSES)

static struct records *record(const char *kernel, const char *const *sets)
{
	return record_some(MISS_KERNELS, kernel, "puzak2007", sets, WANTS, 0);
}

/* Returns the n-th record of a line, in the order of arrival; NULL if there are fewer. */
static const struct rec_miss *miss_at(const struct records *r, uint64_t line, unsigned n)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->all[i].line == line && r->all[i].kind < MISS_ITLB && !n--)
			return &r->all[i];
	return NULL;
}

/* Returns the record of the instruction that a miss names; both must agree about its kind. */
static const struct rec_inst *inst_of(const struct records *r, const struct rec_miss *m)
{
	for (size_t i = 0; i < r->ninsts; i++) {
		const struct rec_inst *inst = &r->all_insts[i];

		if (inst->seq != m->seq)
			continue;
		assert_int_equal(inst->po, m->po);
		assert_int_equal(inst->pc, m->pc);
		assert_int_equal(!(inst->flags & RI_COMMITTED), !!(m->flags & MISS_WRONG_PATH));
		return inst;
	}
	fail_msg("no instruction has seq %llu", (unsigned long long)m->seq);
	return NULL;
}

/* Checks a miss that is alone in an idle memory system. */
static void check_alone(const struct rec_miss *m, enum miss_kind kind, enum mem_level level,
			uint32_t cycles)
{
	assert_non_null(m);
	assert_int_equal(m->kind, kind);
	assert_int_equal(m->level, level);
	assert_int_equal(m->end, cycles);
	assert_int_equal(m->queue, 0);
	assert_int_equal(m->merged, 0);
	assert_int_equal(m->use, STAMP_NONE);
	assert_int_equal(m->flags, 0);
}

/* Checks that the miss lasts from the issue of the load until its result is usable. */
static void check_load(const struct records *r, const struct rec_miss *m)
{
	const struct rec_inst *load = inst_of(r, m);

	assert_int_equal(m->begin, load->fetch + load->issue);
	assert_int_equal(miss_end(m), load->fetch + load->complete);
}

static void test_1001_a_load_that_memory_serves_misses_for_100_cycles_beyond_a_hit(void **state)
{
	struct records *r = record("a", NULL);
	const struct rec_miss *m = miss_at(r, ARENA, 0);

	check_alone(m, MISS_LOAD, LEVEL_MEM, L1 + MEMORY);
	assert_int_equal(m->oldest, 0);
	check_load(r, m);
	assert_null(miss_at(r, ARENA, 1));
}

static void test_1002_a_load_that_the_l2_serves_misses_for_15_cycles_beyond_a_hit(void **state)
{
	struct records *r = record("b", NULL);

	check_alone(miss_at(r, ARENA, 0), MISS_LOAD, LEVEL_MEM, L1 + MEMORY);
	check_alone(miss_at(r, ARENA, 1), MISS_LOAD, LEVEL_L2, L1 + L2);
	check_load(r, miss_at(r, ARENA, 1));
	assert_null(miss_at(r, ARENA, 2));
}

static void
test_1003_independent_misses_overlap_and_the_first_names_the_other_as_oldest(void **state)
{
	struct records *r = record("c", NULL);
	const struct rec_miss *a = miss_at(r, ARENA, 0), *b = miss_at(r, ARENA + LINE, 0);

	check_alone(a, MISS_LOAD, LEVEL_MEM, L1 + MEMORY);
	check_alone(b, MISS_LOAD, LEVEL_MEM, L1 + MEMORY);
	check_load(r, a);
	check_load(r, b);
	assert_int_equal(a->begin, b->begin);
	assert_int_equal(a->po + 1, b->po);
	assert_int_equal(a->oldest, L1 + MEMORY);
	assert_int_equal(b->oldest, 0);
}

static void test_1004_a_dependent_miss_begins_when_the_first_ends(void **state)
{
	struct records *r = record("d", NULL);
	const struct rec_miss *a = miss_at(r, CHAIN, 0), *b = miss_at(r, CHAIN + LINE, 0);

	check_alone(a, MISS_LOAD, LEVEL_MEM, L1 + MEMORY);
	check_alone(b, MISS_LOAD, LEVEL_MEM, L1 + MEMORY);
	assert_int_equal(b->begin, miss_end(a));
}

static void test_1005_a_request_for_a_line_on_its_way_is_no_miss(void **state)
{
	struct records *r = record("e", NULL);
	const struct rec_miss *m = miss_at(r, ARENA, 0);

	assert_int_equal(m->merged, 2);
	assert_int_equal(m->end, L1 + MEMORY);
	check_load(r, m);
	assert_null(miss_at(r, ARENA, 1));
}

static void test_1006_a_store_misses_when_it_drains_after_its_commit(void **state)
{
	struct records *r = record("f", NULL);
	const struct rec_miss *m = miss_at(r, ARENA, 0);

	check_alone(m, MISS_STORE, LEVEL_MEM, L1 + MEMORY);

	const struct rec_inst *store = inst_of(r, m);

	assert_true(store->flags & RI_STORE);
	assert_int_equal(m->begin, store->fetch + store->commit + 1);
}

static void test_1007_a_squashed_load_of_a_wrong_path_has_its_miss(void **state)
{
	struct records *r = record("g", SETS("bpred.direction=taken"));
	const struct rec_miss *m = miss_at(r, ARENA, 0);

	assert_non_null(m);
	assert_int_equal(m->flags, MISS_WRONG_PATH);
	assert_int_equal(m->kind, MISS_LOAD);
	assert_int_equal(m->end, L1 + MEMORY);

	const struct rec_inst *load = inst_of(r, m);

	/* The load was squashed before its data came. */
	assert_int_equal(m->begin, load->fetch + load->issue);
	assert_true(load->fetch + load->commit < miss_end(m));
	assert_int_equal(load->complete, STAMP_NONE);
}

static void test_1008_a_prefetch_instruction_misses_once_and_knows_its_first_use(void **state)
{
	struct records *r = record("h", NULL);
	const struct rec_miss *m = miss_at(r, ARENA, 0);

	assert_non_null(m);
	assert_int_equal(m->kind, MISS_HINT);
	assert_int_equal(m->end, L1 + MEMORY);
	assert_int_equal(m->merged, 1);
	assert_null(miss_at(r, ARENA, 1));

	const struct rec_inst *hint = inst_of(r, m), *load = NULL;

	for (size_t i = 0; i < r->ninsts; i++)
		if (r->all_insts[i].flags & RI_LOAD && r->all_insts[i].addr == ARENA)
			load = &r->all_insts[i];
	assert_non_null(load);
	assert_int_equal(m->begin, hint->fetch + hint->issue);
	assert_int_equal(m->begin + m->use, load->fetch + load->issue);
	assert_int_equal(miss_end(m), load->fetch + load->complete);
}

static void test_1009_a_prefetch_that_nobody_uses_says_so(void **state)
{
	struct records *r = record("i", NULL);

	check_alone(miss_at(r, ARENA, 0), MISS_HINT, LEVEL_MEM, L1 + MEMORY);
	/* Hints that do not queue are prefetches from the start. */
	r = record("i", SETS("lsu.hint_queue=0"));
	check_alone(miss_at(r, ARENA, 0), MISS_HINT, LEVEL_MEM, L1 + MEMORY);
	inst_of(r, miss_at(r, ARENA, 0));
}

static void test_1010_an_atomic_instruction_has_a_kind_of_its_own(void **state)
{
	struct records *r = record("j", NULL);

	check_alone(miss_at(r, ARENA, 0), MISS_ATOMIC, LEVEL_MEM, L1 + MEMORY);
	check_load(r, miss_at(r, ARENA, 0));
}

static void test_1011_a_hardware_prefetch_names_the_load_that_caused_it(void **state)
{
	struct records *r = record("a", SETS("l1d.prefetch=next-line"));
	const struct rec_miss *load = miss_at(r, ARENA, 0), *m = miss_at(r, ARENA + LINE, 0);

	check_alone(m, MISS_PREFETCH, LEVEL_MEM, L1 + MEMORY);
	assert_int_equal(m->begin, load->begin);
	assert_int_equal(m->seq, load->seq);
	assert_int_equal(m->po, load->po);
	assert_int_equal(m->pc, load->pc);
	/* The second load of this kernel uses the line that the first load's miss prefetches. */
	r = record("c", SETS("l1d.prefetch=next-line"));
	m = miss_at(r, ARENA + LINE, 0);
	assert_int_equal(m->kind, MISS_PREFETCH);
	assert_int_equal(m->merged, 1);
	assert_int_equal(m->use, 0);
}

static void test_1012_a_tlb_miss_comes_before_the_miss_of_the_line(void **state)
{
	struct records *r =
	    record("a", SETS("dtlb.entries=16", "walk.kind=flat", "walk.latency=30"));
	const struct rec_miss *line = miss_at(r, ARENA, 0), *page = NULL;

	for (size_t i = 0; i < r->count; i++)
		if (r->all[i].kind == MISS_DTLB && r->all[i].line == ARENA)
			page = &r->all[i];
	check_alone(page, MISS_DTLB, LEVEL_MEM, 30);
	check_alone(line, MISS_LOAD, LEVEL_MEM, L1 + MEMORY);
	assert_int_equal(line->begin, miss_end(page));
	assert_int_equal(line->seq, page->seq);

	const struct rec_inst *load = inst_of(r, page);

	assert_int_equal(page->begin, load->fetch + load->issue);
	assert_int_equal(miss_end(line), load->fetch + load->complete);
	/* A page walk goes through the caches: three entries, one after the other. */
	r = record("a", SETS("dtlb.entries=16", "walk.kind=caches"));
	line = miss_at(r, ARENA, 0);

	uint64_t walks = 0, cycles = 0;

	for (size_t i = 0; i < r->count; i++) {
		if (r->all[i].kind == MISS_WALK && r->all[i].seq == line->seq) {
			walks++;
			cycles += r->all[i].end;
			assert_int_equal(r->all[i].pc, line->pc);
		}
		if (r->all[i].kind == MISS_DTLB && r->all[i].seq == line->seq)
			page = &r->all[i];
	}
	assert_in_range(walks, 1, 3);
	assert_in_range(page->end, cycles, cycles + 2 * L1);
	assert_int_equal(line->begin, miss_end(page));
}

static void test_1013_a_fetch_names_the_first_instruction_that_waited_for_it(void **state)
{
	struct records *r = record("g", SETS("ideal.imiss=off"));
	unsigned right = 0;

	for (size_t i = 0; i < r->count; i++) {
		const struct rec_miss *m = &r->all[i];

		if (m->kind != MISS_FETCH || m->flags)
			continue;

		const struct rec_inst *inst = inst_of(r, m);

		assert_true(inst->flags & RI_FETCH_HEAD);
		assert_true(inst->psv & PSV_DR_L1);
		assert_int_equal(m->line, m->pc & ~(uint64_t)(LINE - 1));
		assert_int_equal(inst->fetch, miss_end(m) - 1); /* the L1I's latency */
		right++;
	}
	assert_true(right >= 3);
}

static void test_1014_misses_wait_for_the_only_mshr_before_they_begin(void **state)
{
	struct records *r = record("k", SETS("l1d.mshrs=1"));
	const struct rec_miss *a = miss_at(r, ARENA, 0), *b = miss_at(r, ARENA + LINE, 0);

	check_alone(a, MISS_LOAD, LEVEL_MEM, L1 + MEMORY);
	check_alone(b, MISS_LOAD, LEVEL_MEM, L1 + MEMORY);
	assert_int_equal(b->begin, miss_end(a));
}

static void test_1015_a_miss_that_the_end_of_the_run_cuts_has_a_record(void **state)
{
	struct records *r = record("f", NULL);
	const struct rec_inst *store = inst_of(r, miss_at(r, ARENA, 0));

	r = record_some(MISS_KERNELS, "f", "puzak2007", NULL, WANTS, store->po + 1);

	const struct rec_miss *m = miss_at(r, ARENA, 0);

	assert_non_null(m);
	assert_int_equal(m->flags, MISS_CUT);
	assert_int_equal(m->kind, MISS_STORE);
	assert_int_equal(m->level, LEVEL_MEM);
	assert_int_equal(miss_end(m), r->next_cycle);
	assert_true(m->end < MEMORY);
}

/* Every MSHR that an L1 allocates gives one record, whatever the program does; listening changes no
 * cycle. */
static void test_1016_records_are_as_many_as_lines_asked_for_and_change_no_cycle(void **state)
{
	const struct {
		const char *machine, *kernel;
		const char *const *sets;
	} runs[] = {
		{ "puzak2007", "3", NULL },
		{ "boom-tip", "3", NULL },
		{ "boom-tip", "12", NULL },
		{ "boom-tea", "9", SETS("l1d.prefetch=stride") },
		{ "fields2004", "12", NULL },
		{ "boom-tip", "20", NULL }, /* wrong paths */
		{ "inorder-2w", "3", SETS("l1d.no_write_allocate=off") },
	};

	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		struct records *r =
		    record_some(KERNELS, runs[i].kernel, runs[i].machine, runs[i].sets, WANTS, 0);
		uint64_t lines = 0, pages = 0, asked = 0;

		for (size_t k = 0; k < r->count; k++) {
			lines += r->all[k].kind < MISS_ITLB;
			pages += r->all[k].kind >= MISS_ITLB;
		}
		for (int k = MEM_L1I; k <= MEM_L1D; k++)
			asked += r->memory.cache[k].misses - r->memory.cache[k].merges +
				 r->memory.cache[k].prefetches;
		assert_true(r->count < MOST && lines > 100);
		assert_int_equal(lines, asked);
		assert_true(pages <= r->memory.itlb.misses + r->memory.dtlb.misses);

		const uint64_t cycles = r->stats.cycles;

		r = record_some(KERNELS, runs[i].kernel, runs[i].machine, runs[i].sets, 0, 0);
		assert_int_equal(r->stats.cycles, cycles);
		assert_int_equal(r->count, 0);
	}
}

static void test_2700_a_miss_names_the_oldest_instruction_that_waited_for_it(void **state)
{
	static const struct {
		const char *kernel;
		int32_t waits;
	} cases[] = {
		{ "a", 0 },	     /* the load itself */
		{ "e", 0 },	     /* … and younger ones */
		{ "f", WAITS_NONE }, /* a store */
		{ "h", 4 },	     /* the load behind a hint */
		{ "i", WAITS_NONE }, /* a hint alone */
		{ "l", -1 },	     /* an older load that came later */
		{ "g", WAITS_NONE }, /* a wrong path's load */
		{ "m", 1 },	     /* … for whose line the right path asks, too */
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct records *r = record(cases[i].kernel, SETS("bpred.direction=taken"));
		const struct rec_miss *m = miss_at(r, ARENA, 0);

		assert_non_null(m);
		if (m->waits != cases[i].waits)
			fail_msg("kernel %s: %d", cases[i].kernel, m->waits);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    test_1001_a_load_that_memory_serves_misses_for_100_cycles_beyond_a_hit),
		cmocka_unit_test(
		    test_1002_a_load_that_the_l2_serves_misses_for_15_cycles_beyond_a_hit),
		cmocka_unit_test(
		    test_1003_independent_misses_overlap_and_the_first_names_the_other_as_oldest),
		cmocka_unit_test(test_1004_a_dependent_miss_begins_when_the_first_ends),
		cmocka_unit_test(test_1005_a_request_for_a_line_on_its_way_is_no_miss),
		cmocka_unit_test(test_1006_a_store_misses_when_it_drains_after_its_commit),
		cmocka_unit_test(test_1007_a_squashed_load_of_a_wrong_path_has_its_miss),
		cmocka_unit_test(
		    test_1008_a_prefetch_instruction_misses_once_and_knows_its_first_use),
		cmocka_unit_test(test_1009_a_prefetch_that_nobody_uses_says_so),
		cmocka_unit_test(test_1010_an_atomic_instruction_has_a_kind_of_its_own),
		cmocka_unit_test(test_1011_a_hardware_prefetch_names_the_load_that_caused_it),
		cmocka_unit_test(test_1012_a_tlb_miss_comes_before_the_miss_of_the_line),
		cmocka_unit_test(test_1013_a_fetch_names_the_first_instruction_that_waited_for_it),
		cmocka_unit_test(test_1014_misses_wait_for_the_only_mshr_before_they_begin),
		cmocka_unit_test(test_1015_a_miss_that_the_end_of_the_run_cuts_has_a_record),
		cmocka_unit_test(test_2700_a_miss_names_the_oldest_instruction_that_waited_for_it),
		cmocka_unit_test(
		    test_1016_records_are_as_many_as_lines_asked_for_and_change_no_cycle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * Branch prediction: targets (BTB, return-address stack, indirect jumps), and that a wrong path
 * leaves no trace. The last is checked on whole predictors: one goes astray at random and is
 * repaired, its twin never does, and their speculative state and tables must stay equal.
 */
#include "bpred_stream.h"

static struct bpred *default_bpred(void)
{
	return bpred_new(&machine_default.bpred);
}

static void test_330_a_taken_branch_without_btb_entry_waits_for_decode(void **state)
{
	struct bpred_config c = stream_config("taken");
	struct bpred *bp = bpred_new(&c);
	struct bpred_pred p;

	bpred_predict(bp, 0x1000, &stream_branch, NULL, &p);
	assert_int_equal(p.taken, 1);
	assert_int_equal(p.btb_hit, 0);
	assert_int_equal(p.when, BPRED_AT_DECODE);
	assert_int_equal(p.target, 0x1040);
	assert_true(bpred_right(&p, true, 0x1040));
	bpred_commit(bp, 0x1000, &stream_branch, &p, true, 0x1040);
	bpred_predict(bp, 0x1000, &stream_branch, NULL, &p);
	assert_int_equal(p.btb_hit, 1);
	assert_int_equal(p.when, BPRED_AT_FETCH);
	bpred_free(bp);
}

static void test_331_a_branch_not_taken_takes_no_btb_entry(void **state)
{
	struct bpred_config c = stream_config("taken");
	struct bpred *bp = bpred_new(&c);
	struct bpred_pred p;

	for (int i = 0; i < 2; i++) {
		bpred_predict(bp, 0x1000, &stream_branch, NULL, &p);
		assert_int_equal(p.btb_hit, 0);
		bpred_repair(bp, 0x1000, &stream_branch, &p, false, 0x1040);
		bpred_commit(bp, 0x1000, &stream_branch, &p, false, 0x1040);
	}
	bpred_free(bp);
}

static bool btb_knows(struct bpred *bp, uint64_t pc)
{
	struct bpred_pred p;

	bpred_predict(bp, pc, &stream_jump, NULL, &p);
	bpred_restore(bp, &p);
	return p.btb_hit;
}

static void test_332_btb_replaces_the_least_recently_used_way(void **state)
{
	/* 2 ways, 2048 sets of 2-byte slots: these three share a set */
	const uint64_t a = 0x100000, b = a + 4096, c = b + 4096;
	struct bpred *bp = default_bpred();

	bpred_warm(bp, a, &stream_jump, true, a + 256);
	bpred_warm(bp, b, &stream_jump, true, b + 256);
	bpred_warm(bp, a, &stream_jump, true, a + 256);
	bpred_warm(bp, c, &stream_jump, true, c + 256);
	assert_true(btb_knows(bp, a));
	assert_false(btb_knows(bp, b));
	assert_true(btb_knows(bp, c));
	bpred_free(bp);
}

static void test_333_btb_holds_as_many_jumps_as_it_has_entries(void **state)
{
	struct bpred *bp = default_bpred();
	unsigned known = 0;

	for (uint64_t i = 0; i < 4096; i++)
		bpred_warm(bp, 0x100000 + 2 * i, &stream_jump, true, 0x100000 + 2 * i + 256);
	for (uint64_t i = 0; i < 4096; i++)
		known += btb_knows(bp, 0x100000 + 2 * i);
	assert_int_equal(known, 4096);
	bpred_free(bp);
}

/* Calls down to the given depth from different places and returns; counts mispredicted returns. */
static unsigned nest(struct bpred *bp, unsigned depth)
{
	unsigned wrong = 0;

	for (uint64_t d = 0; d < depth; d++)
		bpred_warm(bp, 0x10000 + 8192 * d, &stream_call, true, 0x11000 + 8192 * d);
	for (uint64_t d = depth; d-- > 0;)
		wrong +=
		    !bpred_warm(bp, 0x12000 + 8192 * d, &stream_return, true, 0x10004 + 8192 * d);
	return wrong;
}

static void test_334_nested_calls_return_right_up_to_the_size_of_the_stack(void **state)
{
	struct bpred *bp = default_bpred();

	for (unsigned depth = 1; depth <= 32; depth++)
		assert_int_equal(nest(bp, depth), 0);
	bpred_free(bp);
}

static void test_335_overflow_loses_the_oldest_entries_only(void **state)
{
	struct bpred *bp = default_bpred();

	assert_int_equal(nest(bp, 40), 8);
	assert_int_equal(nest(bp, 32), 0);
	bpred_free(bp);
}

static void test_336_recursion_from_one_place_returns_right_at_any_depth(void **state)
{
	struct bpred *bp = default_bpred();
	unsigned wrong = 0;

	for (int d = 0; d < 1000; d++)
		bpred_warm(bp, 0x10000, &stream_call, true, 0x11000);
	for (int d = 0; d < 1000; d++)
		wrong += !bpred_warm(bp, 0x12000, &stream_return, true, 0x10004);
	assert_int_equal(wrong, 0);
	bpred_free(bp);
}

static void test_337_wrong_path_calls_and_returns_leave_the_stack_intact(void **state)
{
	struct bpred *bp = default_bpred();
	struct bpred_pred branch, p;

	for (uint64_t d = 0; d < 20; d++)
		bpred_warm(bp, 0x10000 + 8192 * d, &stream_call, true, 0x11000 + 8192 * d);
	bpred_predict(bp, 0x70000, &stream_branch, NULL, &branch);
	/* the wrong path pops ten good entries and overwrites all 32 */
	for (int i = 0; i < 10; i++)
		bpred_predict(bp, 0x70100, &stream_return, NULL, &p);
	for (uint64_t i = 0; i < 100; i++)
		bpred_predict(bp, 0x80000 + 16 * i, &stream_icall, NULL, &p);
	bpred_repair(bp, 0x70000, &stream_branch, &branch, !branch.taken, 0x70040);
	for (uint64_t d = 20; d-- > 0;) {
		bpred_predict(bp, 0x12000 + 8192 * d, &stream_return, NULL, &p);
		assert_int_equal(p.target, 0x10004 + 8192 * d);
	}
	bpred_free(bp);
}

static void test_338_a_coroutine_switch_pops_and_pushes(void **state)
{
	struct bpred *bp = default_bpred();
	struct bpred_pred p;

	bpred_warm(bp, 0x10000, &stream_call, true, 0x11000);
	bpred_predict(bp, 0x11000, &stream_coroutine, NULL, &p);
	assert_int_equal(p.kind, BPRED_CORO);
	assert_int_equal(p.target, 0x10004);
	bpred_predict(bp, 0x10010, &stream_return, NULL, &p);
	assert_int_equal(p.target, 0x11004);
	bpred_free(bp);
}

static void test_339_without_a_stack_returns_go_where_they_went_last(void **state)
{
	struct bpred_config c = machine_default.bpred;
	struct bpred *bp;

	c.ras_entries = 0;
	bp = bpred_new(&c);
	assert_false(bpred_warm(bp, 0x2000, &stream_return, true, 0x3000));
	assert_true(bpred_warm(bp, 0x2000, &stream_return, true, 0x3000));
	bpred_free(bp);
}

static void test_346_an_unknown_indirect_target_waits_for_execution(void **state)
{
	struct bpred *bp = default_bpred();
	struct bpred_pred p;

	bpred_predict(bp, 0x2000, &stream_indirect, NULL, &p);
	assert_int_equal(p.when, BPRED_AT_EXECUTE);
	assert_false(bpred_right(&p, true, p.target));
	bpred_free(bp);
}

/* Runs an indirect jump that cycles through the targets; returns mispredicts in the last 1000 of
 * 4000. */
static unsigned go_round(struct bpred *bp, const char *targets)
{
	size_t n = strlen(targets);
	unsigned wrong = 0;

	for (unsigned i = 0; i < 4000; i++) {
		uint64_t target = 0x40000 + 64 * (uint64_t)targets[i % n];
		unsigned w = !bpred_warm(bp, 0x2000, &stream_indirect, true, target);

		wrong += i >= 3000 ? w : 0;
	}
	return wrong;
}

static void test_347_one_target_is_learnt_at_once_and_cycles_from_history(void **state)
{
	static const char *const round[] = {
		"A", "AB", "ABC", "AABB", "ABACAD", "ABCDEFGHIJKLMNOP"
	};

	for (size_t i = 0; i < ARRAY_LEN(round); i++) {
		struct bpred *bp = default_bpred();

		assert_int_equal(go_round(bp, round[i]), 0);
		bpred_free(bp);
	}
}

static void test_348_with_the_btb_alone_changing_targets_are_missed(void **state)
{
	struct bpred_config c = machine_default.bpred;
	struct bpred *bp;

	c.indirect_entries = 0;
	bp = bpred_new(&c);
	assert_int_equal(go_round(bp, "A"), 0);
	assert_int_equal(go_round(bp, "AB"), 1000);
	bpred_free(bp);
}

static void test_349_an_indirect_target_that_follows_a_branch_is_learnt(void **state)
{
	struct bpred *bp = default_bpred();
	unsigned wrong = 0;
	struct rng r;

	rng_seed(&r, 353);
	for (unsigned i = 0; i < 20000; i++) {
		bool b = rng_next(&r) >> 33 & 1;
		unsigned w;

		stream_cond(bp, 0x3000, b);
		w = !bpred_warm(bp, 0x3040, &stream_indirect, true, b ? 0x5000 : 0x6000);
		wrong += i >= 18000 ? w : 0;
	}
	assert_true(wrong <= 200);
	bpred_free(bp);
}

static void test_354_an_interpreter_loop_is_learnt_from_its_targets(void **state)
{
	/* one dispatch jump, a guest program of 24 operations, 9 different ones */
	static const char program[] = "ABCADBEAFGABCHADIBEAFCGB";
	struct bpred *bp = default_bpred();

	assert_true(go_round(bp, program) <= 10);
	bpred_free(bp);
}

/* A random control instruction whose behaviour is partly predictable. */
struct event {
	uint64_t pc, target;
	const struct inst *in;
	bool taken;
};

static struct event random_event(struct rng *r)
{
	static const struct inst *const kind[] = {
		&stream_branch, &stream_branch, &stream_branch,	  &stream_branch, &stream_jump,
		&stream_call,	&stream_return, &stream_indirect, &stream_icall,  &stream_coroutine,
	};
	uint64_t k = rng_below(r, ARRAY_LEN(kind));
	struct event e = { .in = kind[k] };

	e.pc = 0x10000 + 0x1000 * k + 4 * rng_below(r, 8);
	e.taken = k >= 4 || rng_below(r, 8) < 6;
	e.target = op_info[e.in->op].cls == CLASS_BRANCH || e.in->op == OP_JAL
		       ? e.pc + (uint64_t)(int64_t)e.in->imm
		       : 0x80000 + 64 * rng_below(r, 4);
	return e;
}

static void wander(struct bpred *bp, struct rng *r)
{
	struct bpred_pred p;

	for (uint64_t n = rng_below(r, 60); n > 0; n--) {
		struct event e = random_event(r);

		bpred_predict(bp, e.pc, e.in, NULL, &p);
		/* a wrong path resolves branches, too */
		if (rng_below(r, 4) == 0)
			bpred_repair(bp, e.pc, e.in, &p, e.taken, e.target);
	}
}

static void predict_and_resolve(struct bpred *bp, const struct event *e, struct bpred_pred *p,
				struct rng *astray)
{
	bpred_predict(bp, e->pc, e->in, NULL, p);
	if (astray && rng_below(astray, 8) == 0) {
		/* a flush fetches the instruction again */
		wander(bp, astray);
		bpred_restore(bp, p);
		bpred_predict(bp, e->pc, e->in, NULL, p);
	}
	if (bpred_right(p, e->taken, e->target))
		return;
	if (astray)
		wander(bp, astray);
	bpred_repair(bp, e->pc, e->in, p, e->taken, e->target);
}

static void check_twins(const struct bpred_config *c)
{
	enum { LAG = 48, STEPS = 5000 };
	struct bpred *a = bpred_new(c), *b = bpred_new(c);
	struct event e[LAG];
	struct bpred_pred pa[LAG], pb[LAG];
	struct rng r, astray;
	unsigned wrong = 0;

	rng_seed(&r, 360);
	rng_seed(&astray, 361);
	for (unsigned i = 0; i < STEPS; i++) {
		unsigned k = i % LAG;

		if (i >= LAG) {
			bpred_commit(a, e[k].pc, e[k].in, &pa[k], e[k].taken, e[k].target);
			bpred_commit(b, e[k].pc, e[k].in, &pb[k], e[k].taken, e[k].target);
		}
		e[k] = random_event(&r);
		predict_and_resolve(a, &e[k], &pa[k], &astray);
		predict_and_resolve(b, &e[k], &pb[k], NULL);
		wrong += !bpred_right(&pa[k], e[k].taken, e[k].target);
		assert_int_equal(pa[k].taken, pb[k].taken);
		assert_int_equal(pa[k].target, pb[k].target);
		assert_true(bpred_hash_speculative(a) == bpred_hash_speculative(b));
		if (i % 64 == 0)
			assert_true(bpred_hash_tables(a) == bpred_hash_tables(b));
	}
	/* otherwise the test would have tested nothing */
	assert_true(wrong > STEPS / 20);
	bpred_free(a);
	bpred_free(b);
}

static void test_355_a_wrong_path_leaves_no_trace_in_any_predictor(void **state)
{
	static const char *const direction[] = { "tage",       "gshare", "bimodal",
						 "tournament", "taken",	 "perfect" };

	for (size_t d = 0; d < ARRAY_LEN(direction); d++) {
		struct bpred_config c = stream_config(direction[d]);

		check_twins(&c);
	}
}

static void test_356_a_wrong_path_leaves_no_trace_in_loop_counts(void **state)
{
	struct bpred_config c = machine_default.bpred;

	c.loop_predictor = 1;
	c.loop_entries = 8;
	check_twins(&c);
}

static void test_357_a_wrong_path_leaves_no_trace_in_small_or_odd_machines(void **state)
{
	struct bpred_config c = machine_default.bpred;

	c.ras_entries = 3;
	c.tage_tables = 5;
	c.tage_max_history = 1000;
	c.indirect_entries = 16;
	c.btb_entries = 4;
	c.inflight = 48 + 60 + 60 + 2;
	check_twins(&c);
	c.ras_entries = 1;
	c.tage_tables = 1;
	check_twins(&c);
	c.ras_entries = 0;
	c.indirect_entries = 0;
	check_twins(&c);
}

static void test_358_the_hash_of_speculative_state_sees_each_part_of_it(void **state)
{
	static const struct inst *const in[] = { &stream_branch, &stream_call, &stream_indirect,
						 &stream_return };

	for (size_t i = 0; i < ARRAY_LEN(in); i++) {
		struct bpred *bp = default_bpred();
		uint64_t before = bpred_hash_speculative(bp), tables = bpred_hash_tables(bp);
		struct bpred_pred p;

		bpred_predict(bp, 0x1234, in[i], NULL, &p);
		assert_true(bpred_hash_speculative(bp) != before);
		assert_true(bpred_hash_tables(bp) == tables);
		bpred_restore(bp, &p);
		assert_true(bpred_hash_speculative(bp) == before);
		bpred_commit(bp, 0x1234, in[i], &p, true, 0x4321 & ~1u);
		assert_true(bpred_hash_tables(bp) != tables);
		bpred_free(bp);
	}
}

/* These values were recorded with gcc 12 and clang 14, optimised and not; they change only with a
 * predictor. */
#define GOLD_TAGE	0xbd9415f18393986ull
#define GOLD_LOOP	0x96b58c344d75af38ull
#define GOLD_GSHARE	0x6986c78a1a0de89ull
#define GOLD_TOURNAMENT 0xaf8bac7f545fe1c7ull

static uint64_t run_hash(const char *direction, bool loop)
{
	struct bpred_config c = stream_config(direction);
	struct bpred *bp;
	uint64_t h;
	struct rng r;

	c.loop_predictor = loop;
	bp = bpred_new(&c);
	rng_seed(&r, 364);
	for (int i = 0; i < 300000; i++) {
		struct event e = random_event(&r);

		bpred_warm(bp, e.pc, e.in, e.taken, e.target);
	}
	h = bpred_hash_speculative(bp) ^ bpred_hash_tables(bp);
	bpred_free(bp);
	return h;
}

static void test_359_the_same_stream_gives_the_same_state_on_every_host(void **state)
{
	assert_int_equal(run_hash("tage", false), GOLD_TAGE);
	assert_int_equal(run_hash("tage", true), GOLD_LOOP);
	assert_int_equal(run_hash("gshare", false), GOLD_GSHARE);
	assert_int_equal(run_hash("tournament", false), GOLD_TOURNAMENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_330_a_taken_branch_without_btb_entry_waits_for_decode),
		cmocka_unit_test(test_331_a_branch_not_taken_takes_no_btb_entry),
		cmocka_unit_test(test_332_btb_replaces_the_least_recently_used_way),
		cmocka_unit_test(test_333_btb_holds_as_many_jumps_as_it_has_entries),
		cmocka_unit_test(test_334_nested_calls_return_right_up_to_the_size_of_the_stack),
		cmocka_unit_test(test_335_overflow_loses_the_oldest_entries_only),
		cmocka_unit_test(test_336_recursion_from_one_place_returns_right_at_any_depth),
		cmocka_unit_test(test_337_wrong_path_calls_and_returns_leave_the_stack_intact),
		cmocka_unit_test(test_338_a_coroutine_switch_pops_and_pushes),
		cmocka_unit_test(test_339_without_a_stack_returns_go_where_they_went_last),
		cmocka_unit_test(test_346_an_unknown_indirect_target_waits_for_execution),
		cmocka_unit_test(test_347_one_target_is_learnt_at_once_and_cycles_from_history),
		cmocka_unit_test(test_348_with_the_btb_alone_changing_targets_are_missed),
		cmocka_unit_test(test_349_an_indirect_target_that_follows_a_branch_is_learnt),
		cmocka_unit_test(test_354_an_interpreter_loop_is_learnt_from_its_targets),
		cmocka_unit_test(test_355_a_wrong_path_leaves_no_trace_in_any_predictor),
		cmocka_unit_test(test_356_a_wrong_path_leaves_no_trace_in_loop_counts),
		cmocka_unit_test(test_357_a_wrong_path_leaves_no_trace_in_small_or_odd_machines),
		cmocka_unit_test(test_358_the_hash_of_speculative_state_sees_each_part_of_it),
		cmocka_unit_test(test_359_the_same_stream_gives_the_same_state_on_every_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

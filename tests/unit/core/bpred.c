/* SPDX-License-Identifier: MIT */
/*
 * Branch prediction: configuration and storage, and that each predictor learns what it should and
 * only that. Bounds are in mispredicts of a counted number of branches after a stated warm-up.
 */
#include "bpred_stream.h"

#include "core/bpred/history.h"

static void test_373_default_configuration_is_valid(void **state)
{
	struct err e = { "" };

	assert_true(machine_check_bpred(&machine_default.bpred, &e));
}

static void test_374_a_value_out_of_range_names_its_key_and_range(void **state)
{
	for (size_t i = 0; i < machine_params_count; i++) {
		const struct param *p = &machine_params[i];
		struct machine m = machine_default;
		struct err e = { "" };
		char range[64];

		if (strcmp(p->section, "bpred"))
			continue;
		if (p->type == PARAM_NAME) {
			strcpy(m.bpred.direction, "oracle");
			assert_false(machine_check_bpred(&m.bpred, &e));
			assert_non_null(strstr(e.text, "direction = oracle"));
			assert_non_null(
			    strstr(e.text, "tage, gshare, bimodal, tournament, perfect, taken"));
			continue;
		}
		*(uint32_t *)((char *)&m + p->offset) = (uint32_t)p->max + 1;
		assert_false(machine_check_bpred(&m.bpred, &e));
		assert_non_null(strstr(e.text, p->key));
		snprintf(range, sizeof(range), "%.0f..%.0f", p->min, p->max);
		assert_non_null(strstr(e.text, range));
	}
}

static void test_375_keys_are_set_from_text(void **state)
{
	struct machine m = machine_default;
	const struct bpred_config *c = &m.bpred;
	struct err e = { "" };

	assert_true(machine_put(&m, "bpred", "direction", "gshare", &e));
	assert_string_equal(c->direction, "gshare");
	assert_true(machine_put(&m, "bpred", "btb_entries", "512", &e));
	assert_int_equal(c->btb_entries, 512);
	assert_true(machine_put(&m, "bpred", "tage_entries", "128, 256 512", &e));
	assert_int_equal(c->tage_entries[0], 128);
	assert_int_equal(c->tage_entries[2], 512);
	assert_int_equal(c->tage_entries[3], machine_default.bpred.tage_entries[3]);
	assert_true(machine_put(&m, "bpred", "tage_tag_bits", "7", &e));
	assert_int_equal(c->tage_tag_bits[7], 7);
}

static void test_376_bad_text_is_refused_and_changes_nothing(void **state)
{
	static const char *const bad[][2] = {
		{ "direction", "guess" },
		{ "btb_entries", "513" },
		{ "btb_entries", "many" },
		{ "btb_entries", "512x" },
		{ "btb_entries", "" },
		{ "btb_entries", "512 512" },
		{ "btb_entries", "-512" },
		{ "tage_entries", "7" },
		{ "no_such_key", "1" },
		{ "tage_entries", "16 17" },
		{ "ras_entries", "99999999999999999999" },
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct machine m = machine_default;
		struct err e = { "" };

		assert_false(machine_put(&m, "bpred", bad[i][0], bad[i][1], &e));
		assert_non_null(strstr(e.text, bad[i][0]));
		assert_memory_equal(&m, &machine_default, sizeof(m));
	}
}

static void test_377_values_that_do_not_fit_together_are_refused(void **state)
{
	static const char *const bad[][2] = {
		{ "gshare_history", "14" },
		{ "tage_max_history", "3" },
		{ "btb_entries", "1" },
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct machine m = machine_default;
		struct err e = { "" };

		assert_true(machine_put(&m, "bpred", bad[i][0], bad[i][1], &e));
		assert_false(machine_check_bpred(&m.bpred, &e));
	}
}

static void test_378_default_tage_needs_at_most_28_kilobytes(void **state)
{
	uint64_t bits = bpred_direction_bits(&machine_default.bpred);
	char text[2048] = "", want[64];
	FILE *f = fmemopen(text, sizeof(text), "w");

	bpred_print_storage(&machine_default.bpred, f);
	fclose(f);
	/* table sizes by hand: 8k x 2, 2k x (13 13 14 15 15 16), 1k x (16 16); the rest are
	 * registers */
	assert_in_range(bits, 16384 + 2048 * 86 + 1024 * 32, 16384 + 2048 * 86 + 1024 * 32 + 1024);
	assert_true(bits <= 28 * 1024 * 8);
	snprintf(want, sizeof(want), "tage: %llu bits, ", (unsigned long long)bits);
	assert_non_null(strstr(text, want));
}

static void test_379_tournament_storage_is_three_tables_of_8k_counters(void **state)
{
	struct bpred_config c = stream_config("tournament");

	assert_int_equal(bpred_direction_bits(&c), 3 * 8192 * 2 + 13);
}

static void test_380_tage_histories_are_geometric(void **state)
{
	static const uint32_t want[] = { 4, 7, 13, 24, 43, 78, 141, 256 };

	for (uint32_t i = 0; i < ARRAY_LEN(want); i++)
		assert_int_equal(history_tage_length(&machine_default.bpred, i), want[i]);
}

static void test_381_folds_kept_bit_by_bit_equal_folds_of_the_whole_history(void **state)
{
	struct history h;
	u16x8 slow[FOLD_COUNT];
	struct rng r;

	rng_seed(&r, 308);
	history_init(&h, &machine_default.bpred, true);
	for (int i = 0; i < 6000; i++) {
		history_push(&h, rng_next(&r) & 1);
		if (i % 13)
			continue;
		history_fold_slow(&h, slow);
		assert_memory_equal(slow, h.fold, sizeof(slow));
	}
	history_fini(&h);
}

static void test_382_fold_polynomials_are_primitive(void **state)
{
	for (uint32_t width = 4; width <= 15; width++)
		for (unsigned fold = 0; fold < FOLD_COUNT; fold++) {
			uint32_t poly = history_fold_poly(width, fold), x = 1, order = 0;

			do {
				x <<= 1;
				x ^= x >> width ? poly : 0;
				order++;
			} while (x != 1 && order < 1u << width);
			assert_int_equal(order, (1u << width) - 1);
		}
}

/* Runs one branch with a period of outcomes; returns the mispredicts in the last `count` after
 * `warm`. */
static unsigned run_period(struct bpred *bp, const char *pattern, unsigned warm, unsigned count)
{
	size_t n = strlen(pattern);
	unsigned wrong = 0;

	for (unsigned i = 0; i < warm + count; i++) {
		unsigned w = stream_cond(bp, 0x10000, pattern[i % n] == 'T');

		wrong += i >= warm ? w : 0;
	}
	return wrong;
}

static unsigned learn_period(const char *direction, const char *pattern)
{
	struct bpred_config c = stream_config(direction);
	struct bpred *bp = bpred_new(&c);
	unsigned wrong = run_period(bp, pattern, 2000, 2000);

	bpred_free(bp);
	return wrong;
}

static void test_383_bimodal_learns_bias_but_no_pattern(void **state)
{
	assert_int_equal(learn_period("bimodal", "N"), 0);
	assert_int_equal(learn_period("bimodal", "TTTTTTTTTN"), 200);
	assert_true(learn_period("bimodal", "TN") >= 1000);
}

static void test_384_gshare_tournament_and_tage_learn_short_patterns(void **state)
{
	static const char *const pattern[] = { "TN", "TTNN", "TNTTN", "TTTTTTTTTN", "TNNTTTNTNN" };
	static const char *const direction[] = { "gshare", "tournament", "tage" };

	for (size_t d = 0; d < ARRAY_LEN(direction); d++)
		for (size_t i = 0; i < ARRAY_LEN(pattern); i++)
			assert_int_equal(learn_period(direction[d], pattern[i]), 0);
}

/* Runs two random branches, then one that is their xor, with `far` always-taken branches
 * between. */
static unsigned learn_xor(const char *direction, unsigned far)
{
	struct bpred_config c = stream_config(direction);
	struct bpred *bp = bpred_new(&c);
	unsigned wrong = 0;
	struct rng r;

	rng_seed(&r, 311);
	for (unsigned i = 0; i < 40000; i++) {
		bool a = rng_next(&r) >> 40 & 1, b = rng_next(&r) >> 40 & 1;
		unsigned w;

		stream_cond(bp, 0x20000, a);
		stream_cond(bp, 0x20010, b);
		for (unsigned k = 0; k < far; k++)
			stream_cond(bp, 0x21000 + 16 * k, true);
		w = stream_cond(bp, 0x20020, a ^ b);
		wrong += i >= 38000 ? w : 0;
	}
	bpred_free(bp);
	return wrong;
}

static void test_385_correlated_branches_are_learnt_within_reach_of_the_history(void **state)
{
	assert_true(learn_xor("bimodal", 0) > 800);
	assert_true(learn_xor("gshare", 6) <= 20);
	assert_true(learn_xor("tage", 0) <= 20);
	assert_true(learn_xor("gshare", 40) > 800);
	assert_true(learn_xor("tage", 40) <= 40);
}

/* Runs a loop that takes its back edge `trip` times, again and again; returns mispredicts in 50
 * executions. */
static unsigned learn_loop(const struct bpred_config *c, unsigned trip)
{
	struct bpred *bp = bpred_new(c);
	unsigned wrong = 0;

	for (unsigned run = 0; run < 250; run++)
		for (unsigned i = 0; i <= trip; i++) {
			unsigned w = stream_cond(bp, 0x30000, i < trip);

			wrong += run >= 200 ? w : 0;
		}
	bpred_free(bp);
	return wrong;
}

static void test_386_tage_knows_when_a_long_loop_ends_and_gshare_does_not(void **state)
{
	struct bpred_config tage = stream_config("tage"), gshare = stream_config("gshare");

	for (unsigned trip = 14; trip <= 255; trip++) {
		if (trip % 20 == 0)
			assert_int_equal(learn_loop(&gshare, trip), 50);
		assert_true(learn_loop(&tage, trip) <= 2);
	}
}

static void test_387_loop_predictor_counts_beyond_the_history(void **state)
{
	struct bpred_config c = stream_config("tage");

	assert_true(learn_loop(&c, 900) >= 45);
	c.loop_predictor = 1;
	assert_int_equal(learn_loop(&c, 900), 0);
	assert_int_equal(learn_loop(&c, 5), 0);
	assert_true(bpred_direction_bits(&c) > bpred_direction_bits(&machine_default.bpred));
}

/* Runs a loop of 30 with a random branch in its body: its history never repeats. */
static unsigned learn_noisy_loop(const struct bpred_config *c)
{
	struct bpred *bp = bpred_new(c);
	unsigned wrong = 0;
	struct rng r;

	rng_seed(&r, 315);
	for (unsigned run = 0; run < 400; run++)
		for (unsigned i = 0; i <= 30; i++) {
			unsigned w;

			stream_cond(bp, 0x31000, rng_next(&r) >> 33 & 1);
			w = stream_cond(bp, 0x31040, i < 30);
			wrong += run >= 300 ? w : 0;
		}
	bpred_free(bp);
	return wrong;
}

static void test_388_loop_predictor_sees_through_a_noisy_body(void **state)
{
	struct bpred_config c = stream_config("tage");

	assert_true(learn_noisy_loop(&c) >= 90);
	c.loop_predictor = 1;
	assert_true(learn_noisy_loop(&c) <= 2);
}

/* Runs biased branches among random ones (bimodal's case) and patterned ones (gshare's case). */
static unsigned learn_mix(const char *direction)
{
	struct bpred_config c = stream_config(direction);
	struct bpred *bp = bpred_new(&c);
	unsigned wrong = 0;
	struct rng r;

	rng_seed(&r, 316);
	for (unsigned i = 0; i < 20000; i++) {
		unsigned w = 0;

		/* many addresses with a constant direction, after noise: gshare never warms up */
		for (unsigned k = 0; k < 8; k++)
			stream_cond(bp, 0x50000 + 2 * k, rng_next(&r) >> 33 & 1);
		for (unsigned k = 0; k < 4; k++)
			w += stream_cond(bp, 0x51000 + 2 * k, k & 1);
		/* six constant outcomes in a row remove the noise from a pattern's history */
		for (unsigned k = 0; k < 20; k++)
			w += stream_cond(bp, 0x52000, k % 2);
		wrong += i >= 15000 ? w : 0;
	}
	bpred_free(bp);
	return wrong;
}

static void test_389_tournament_picks_the_better_of_its_two(void **state)
{
	unsigned bimodal = learn_mix("bimodal"), gshare = learn_mix("gshare");
	unsigned both = learn_mix("tournament");

	assert_true(both < bimodal);
	assert_true(both < gshare);
}

static void test_390_taken_is_right_exactly_when_a_branch_is_taken(void **state)
{
	assert_int_equal(learn_period("taken", "TTTN"), 500);
}

static void test_391_perfect_repeats_the_truth_at_fetch(void **state)
{
	struct bpred_config c = stream_config("perfect");
	struct bpred *bp = bpred_new(&c);
	struct rng r;

	rng_seed(&r, 318);
	for (int i = 0; i < 1000; i++) {
		struct bpred_truth t = { rng_next(&r) >> 33 & 1, 0x40000 };
		struct bpred_truth j = { true, rng_next(&r) & ~1ull };
		struct bpred_pred p;

		bpred_predict(bp, 0x3ffc0, &stream_branch, &t, &p);
		assert_true(bpred_right(&p, t.taken, t.target));
		bpred_predict(bp, 0x41000, &stream_indirect, &j, &p);
		assert_true(bpred_right(&p, true, j.target));
		assert_int_equal(p.when, BPRED_AT_FETCH);
		bpred_predict(bp, 0x3ffc0, &stream_branch, NULL, &p);
		assert_int_equal(p.taken, 1);
	}
	bpred_free(bp);
}

/* Runs a synthetic program: calls in loops, biased and correlated branches, 5% coin flips. */
static double run_program(const char *direction)
{
	struct bpred_config c = stream_config(direction);
	struct bpred *bp = bpred_new(&c);
	unsigned wrong = 0, count = 0;
	struct rng r;

	rng_seed(&r, 319);
	for (unsigned i = 0; i < 4000; i++) {
		unsigned w = 0, n = 0;
		bool mode = i / 3 % 2;

		for (unsigned k = 0; k <= 12; k++) {
			bool rare = rng_below(&r, 64) == 0;

			w += stream_cond(bp, 0x60100, rare);
			w += stream_cond(bp, 0x60110, mode);
			w += stream_cond(bp, 0x60120, mode != rare);
			w += stream_cond(bp, 0x60130, k % 3 == 0);
			w += stream_cond(bp, 0x60140, k < 12);
			n += 5;
		}
		for (unsigned k = 0; k < 3; k++)
			w += stream_cond(bp, 0x60200, rng_next(&r) >> 33 & 1);
		n += 3;
		wrong += i >= 1000 ? w : 0;
		count += i >= 1000 ? n : 0;
	}
	bpred_free(bp);
	return (double)wrong / count;
}

static void test_392_misprediction_rates_of_a_synthetic_program_are_within_bounds(void **state)
{
	/* unavoidable: 1/64 of a fifth of the loop's branches, half of the 3 coin flips in 68 */
	const double floor_rate = (13.0 / 64 + 1.5) / 68;
	double tage = run_program("tage"), gshare = run_program("gshare");
	double tournament = run_program("tournament"), bimodal = run_program("bimodal");

	assert_true(tage >= floor_rate * 0.9);
	assert_true(tage <= floor_rate * 1.6);
	assert_true(tage < gshare && gshare < bimodal);
	assert_true(tournament <= gshare * 1.1 && tournament < bimodal);
	assert_true(bimodal < 0.25);
}

static void test_393_a_coin_is_no_better_than_chance_for_anyone(void **state)
{
	static const char *const direction[] = { "tage", "gshare", "bimodal", "tournament" };

	for (size_t d = 0; d < ARRAY_LEN(direction); d++) {
		struct bpred_config c = stream_config(direction[d]);
		struct bpred *bp = bpred_new(&c);
		unsigned wrong = 0;
		struct rng r;

		rng_seed(&r, 320);
		for (unsigned i = 0; i < 20000; i++)
			wrong += stream_cond(bp, 0x70000, rng_next(&r) >> 33 & 1);
		assert_in_range(wrong, 9500, 10500);
		bpred_free(bp);
	}
}

static void test_394_noise_costs_tage_little_more_than_the_noise(void **state)
{
	struct bpred_config c = stream_config("tage");
	struct bpred *bp = bpred_new(&c);
	unsigned wrong = 0;
	struct rng r;

	rng_seed(&r, 321);
	for (unsigned i = 0; i < 40000; i++) {
		unsigned w = stream_cond(bp, 0x71000, rng_below(&r, 10) != 0);

		wrong += i >= 20000 ? w : 0;
	}
	/* 2000 are unavoidable; believing every new entry costs 600 */
	assert_in_range(wrong, 1900, 2300);
	bpred_free(bp);
}

static void test_395_training_that_lags_by_64_branches_still_learns(void **state)
{
	enum { LAG = 64 };
	struct bpred *bp = bpred_new(&machine_default.bpred);
	struct bpred_pred p[LAG];
	bool went[LAG];
	unsigned wrong = 0;

	for (unsigned i = 0; i < 40000; i++) {
		bool taken = i % 41 != 0;
		unsigned k = i % LAG;

		if (i >= LAG)
			bpred_commit(bp, 0x72000, &stream_branch, &p[k], went[k], 0x72040);
		bpred_predict(bp, 0x72000, &stream_branch, NULL, &p[k]);
		went[k] = taken;
		if (p[k].taken != taken) {
			bpred_repair(bp, 0x72000, &stream_branch, &p[k], taken, 0x72040);
			wrong += i >= 30000;
		}
	}
	assert_true(wrong <= 10);
	bpred_free(bp);
}

static void test_396_what_tage_knows_survives_branches_that_cannot_be_learnt(void **state)
{
	struct bpred *bp = bpred_new(&machine_default.bpred);
	unsigned wrong = 0;
	struct rng r;

	rng_seed(&r, 323);
	for (unsigned run = 0; run < 300; run++) {
		/* a loop of 60 that is worth remembering, then 4000 coin flips at many addresses */
		for (unsigned i = 0; i <= 60; i++) {
			unsigned w = stream_cond(bp, 0x73000, i < 60);

			wrong += run >= 100 && i == 60 ? w : 0;
		}
		for (unsigned i = 0; i < 4000; i++)
			stream_cond(bp, 0x74000 + 6 * (i % 500), rng_next(&r) >> 33 & 1);
		/* remove the flips from the history of the loop's exit */
		for (unsigned i = 0; i < 30; i++)
			stream_cond(bp, 0x73800 + 2 * i, i < 29);
	}
	assert_true(wrong <= 10);
	bpred_free(bp);
}

static void test_4680_warming_leaves_what_predicting_and_committing_leaves(void **state)
{
	static const char *const names[] = { "tage",	   "gshare",  "bimodal",
					     "tournament", "perfect", "taken" };
	static const struct inst *const kinds[] = {
		&stream_branch, &stream_branch,	  &stream_branch, &stream_jump,	    &stream_call,
		&stream_return, &stream_indirect, &stream_icall,  &stream_coroutine
	};

	for (unsigned i = 0; i < ARRAY_LEN(names) * 4; i++) {
		struct bpred_config c = stream_config(names[i / 4]);
		struct rng r;

		c.ras_entries = i & 1 ? 0 : c.ras_entries;
		c.loop_predictor = i & 2 ? 0 : 1;
		struct bpred *a = bpred_new(&c), *b = bpred_new(&c);

		rng_seed(&r, 4680 + i);
		for (unsigned k = 0; k < 30000; k++) {
			/* a loop of 20 now and then, places that know their way, and coins */
			const uint64_t place = rng_below(&r, 300);
			const struct inst *in = kinds[place % ARRAY_LEN(kinds)];
			const uint64_t pc = 0x10000 + 6 * place;
			const bool taken = in != &stream_branch || (k % 7 ? place & 1 : k / 20 & 1);
			const uint64_t target = in->imm
						    ? pc + (uint64_t)(int64_t)in->imm
						    : 0x20000 + 64 * rng_below(&r, 1 + place % 5);
			const struct bpred_truth truth = { taken, target };
			struct bpred_pred p;

			bpred_predict(a, pc, in, &truth, &p);
			const bool right = bpred_right(&p, taken, target);

			if (!right)
				bpred_repair(a, pc, in, &p, taken, target);
			bpred_commit(a, pc, in, &p, taken, target);
			assert_int_equal(bpred_warm(b, pc, in, taken, target), right);
			if (k % 1000)
				continue;
			assert_int_equal(bpred_hash_speculative(a), bpred_hash_speculative(b));
			assert_int_equal(bpred_hash_tables(a), bpred_hash_tables(b));
		}
		bpred_free(a);
		bpred_free(b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_373_default_configuration_is_valid),
		cmocka_unit_test(test_374_a_value_out_of_range_names_its_key_and_range),
		cmocka_unit_test(test_375_keys_are_set_from_text),
		cmocka_unit_test(test_376_bad_text_is_refused_and_changes_nothing),
		cmocka_unit_test(test_377_values_that_do_not_fit_together_are_refused),
		cmocka_unit_test(test_378_default_tage_needs_at_most_28_kilobytes),
		cmocka_unit_test(test_379_tournament_storage_is_three_tables_of_8k_counters),
		cmocka_unit_test(test_380_tage_histories_are_geometric),
		cmocka_unit_test(test_381_folds_kept_bit_by_bit_equal_folds_of_the_whole_history),
		cmocka_unit_test(test_382_fold_polynomials_are_primitive),
		cmocka_unit_test(test_383_bimodal_learns_bias_but_no_pattern),
		cmocka_unit_test(test_384_gshare_tournament_and_tage_learn_short_patterns),
		cmocka_unit_test(
		    test_385_correlated_branches_are_learnt_within_reach_of_the_history),
		cmocka_unit_test(test_386_tage_knows_when_a_long_loop_ends_and_gshare_does_not),
		cmocka_unit_test(test_387_loop_predictor_counts_beyond_the_history),
		cmocka_unit_test(test_388_loop_predictor_sees_through_a_noisy_body),
		cmocka_unit_test(test_389_tournament_picks_the_better_of_its_two),
		cmocka_unit_test(test_390_taken_is_right_exactly_when_a_branch_is_taken),
		cmocka_unit_test(test_391_perfect_repeats_the_truth_at_fetch),
		cmocka_unit_test(
		    test_392_misprediction_rates_of_a_synthetic_program_are_within_bounds),
		cmocka_unit_test(test_393_a_coin_is_no_better_than_chance_for_anyone),
		cmocka_unit_test(test_394_noise_costs_tage_little_more_than_the_noise),
		cmocka_unit_test(test_395_training_that_lags_by_64_branches_still_learns),
		cmocka_unit_test(test_396_what_tage_knows_survives_branches_that_cannot_be_learnt),
		cmocka_unit_test(test_4680_warming_leaves_what_predicting_and_committing_leaves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

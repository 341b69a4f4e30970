/* SPDX-License-Identifier: MIT */
/* 850: pairing the instructions of one build with those of another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "view/match.h"

#define MAX 64

struct listing {
	struct match_key key[MAX];
	size_t count;
};

static void put(struct listing *l, int line, const char *disasm)
{
	l->key[l->count++] = match_key(disasm, line ? "/some/where/x.c" : NULL, line);
}

static size_t after_of(const struct match_pair *pairs, size_t count, size_t before)
{
	for (size_t i = 0; i < count; i++)
		if (pairs[i].before == before)
			return pairs[i].after;
	fail_msg("instruction %zu is in no pair", before);
	return MATCH_NONE;
}

static size_t match(const struct listing *a, const struct listing *b, struct match_pair *pairs)
{
	return match_keys(a->key, a->count, b->key, b->count, pairs);
}

static void test_850_what_a_build_adds_pairs_with_nothing(void **state)
{
	struct listing a = { .count = 0 }, b = { .count = 0 };
	struct match_pair pairs[2 * MAX];
	put(&a, 1, "fld fa0,0(a0)");
	put(&a, 2, "fsqrt.d fa0,fa0");
	put(&a, 3, "ret");
	put(&b, 1, "fld fa0,0(a0)");
	put(&b, 2, "frflags a4");
	put(&b, 2, "flt.d a5,fa0,fa5");
	put(&b, 2, "fsflags a4");
	put(&b, 2, "fsqrt.d fa0,fa0");
	put(&b, 3, "ret");
	size_t n = match(&a, &b, pairs);
	assert_int_equal(n, 6);
	assert_int_equal(after_of(pairs, n, 0), 0);
	assert_int_equal(after_of(pairs, n, 1), 4);
	assert_int_equal(after_of(pairs, n, 2), 5);
	for (size_t i = 1; i < 4; i++) {
		assert_int_equal(pairs[i].before, MATCH_NONE);
		assert_int_equal(pairs[i].after, i);
	}
	assert_int_equal(match(&b, &a, pairs), 6);
	assert_int_equal(after_of(pairs, 6, 2), MATCH_NONE);
}

static void test_851_other_registers_on_the_same_line_are_the_same_instruction(void **state)
{
	struct listing a = { .count = 0 }, b = { .count = 0 };
	struct match_pair pairs[2 * MAX];
	put(&a, 10, "ld a0,8(a1)");
	put(&a, 11, "ld a2,16(a1)");
	put(&b, 9, "ld t0,0(s0)");
	put(&b, 10, "ld t1,8(s0)");
	put(&b, 11, "ld t2,16(s0)");
	size_t n = match(&a, &b, pairs);
	assert_int_equal(after_of(pairs, n, 0), 1);
	assert_int_equal(after_of(pairs, n, 1), 2);
}

static void test_852_lines_that_moved_pair_by_their_operands(void **state)
{
	struct listing a = { .count = 0 }, b = { .count = 0 };
	struct match_pair pairs[2 * MAX];
	put(&a, 10, "add a0,a0,a1");
	put(&a, 11, "mul a2,a0,a1");
	put(&b, 20, "add a5,a5,1"); /* differs in line and operands, so not the same */
	put(&b, 22, "add a0,a0,a1");
	put(&b, 23, "mul a2,a0,a1");
	size_t n = match(&a, &b, pairs);
	assert_int_equal(after_of(pairs, n, 0), 1);
	assert_int_equal(after_of(pairs, n, 1), 2);
	assert_int_equal(pairs[0].before, MATCH_NONE);
}

static void test_853_where_a_jump_leads_does_not_matter(void **state)
{
	struct match_key a = match_key("bnez a5,0x10a98 <forces+0x1c2>", "x.c", 7);
	struct match_key b = match_key("bnez a5,0x20a90 <forces+0x1ba>", "y/x.c", 7);
	struct match_key c = match_key("bnez a4,0x10a98 <forces+0x1c2>", "x.c", 7);
	struct match_key d = match_key("bnez a4,0x10a98 <forces+0x1c2>", "x.c", 8);
	assert_int_equal(a.text, b.text);
	assert_int_equal(a.line, b.line);
	assert_true(a.text != c.text);
	assert_int_equal(a.shape, c.shape);
	assert_true(c.line != d.line);
	assert_int_equal(match_key("nop", NULL, 0).line, 0);
}

static void test_854_operands_are_alike_by_kind(void **state)
{
	uint64_t load = match_key("ld a0,-8(sp)", NULL, 0).shape;
	assert_int_equal(load, match_key("ld t6,2040(s11)", NULL, 0).shape);
	assert_true(load != match_key("fld fa0,-8(sp)", NULL, 0).shape);
	assert_true(match_key("fmv.d.x fa0,a0", NULL, 0).shape !=
		    match_key("fmv.d.x a0,a0", NULL, 0).shape);
	/* names that are not registers are not replaced */
	assert_true(match_key("csrr a0,cycle", NULL, 0).shape !=
		    match_key("csrr a0,instret", NULL, 0).shape);
	assert_true(match_key("fcvt.w.d a0,fa0,rtz", NULL, 0).shape !=
		    match_key("fcvt.w.d a0,fa0,rup", NULL, 0).shape);
}

/* Every instruction of both builds appears once, both stay in order, and different instructions are
 * not paired. */
static void test_855_a_pairing_is_complete_and_in_order(void **state)
{
	static const char *const texts[] = { "add a0,a0,a1", "add a2,a2,a1", "ld a0,0(a1)", "ret" };
	struct match_pair pairs[2 * MAX];
	struct rng rng;
	rng_seed(&rng, 7);
	for (int round = 0; round < 500; round++) {
		struct listing l[2] = { { .count = 0 }, { .count = 0 } };
		for (int side = 0; side < 2; side++)
			for (uint64_t i = rng_below(&rng, MAX); i-- > 0;)
				put(&l[side], (int)rng_below(&rng, 4),
				    texts[rng_below(&rng, ARRAY_LEN(texts))]);
		size_t n = match(&l[0], &l[1], pairs), i = 0, j = 0;
		for (size_t k = 0; k < n; k++) {
			assert_false(pairs[k].before == MATCH_NONE && pairs[k].after == MATCH_NONE);
			if (pairs[k].before != MATCH_NONE)
				assert_int_equal(pairs[k].before, i++);
			if (pairs[k].after != MATCH_NONE)
				assert_int_equal(pairs[k].after, j++);
			if (pairs[k].before != MATCH_NONE && pairs[k].after != MATCH_NONE)
				assert_int_equal(l[0].key[i - 1].mnemonic,
						 l[1].key[j - 1].mnemonic);
		}
		assert_int_equal(i, l[0].count);
		assert_int_equal(j, l[1].count);
	}
}

/* The functions are longer than the table: the middle of what both share is paired along the
 * diagonal. */
static void test_856_long_functions_are_paired_near_the_diagonal(void **state)
{
	enum { LONG = 12000, SHIFT = 40 };
	struct match_key *a = x_malloc(LONG * sizeof(*a)),
			 *b = x_malloc((LONG + SHIFT) * sizeof(*b));
	struct match_pair *pairs = x_malloc((2 * LONG + SHIFT) * sizeof(*pairs));
	for (int i = 0; i < LONG + SHIFT; i++) {
		struct match_key k = match_key("add a0,a0,a1", "x.c", i + 1);
		if (i < LONG)
			a[i] = k;
		b[i] = k;
	}
	for (int i = 0; i < LONG; i++)
		b[i + SHIFT] = a[i];
	a[LONG - 1] = match_key("ret", "x.c", 1);
	for (int i = 0; i < SHIFT; i++)
		b[i] = match_key("mul a0,a0,a1", "x.c", 1);
	size_t n = match_keys(a, LONG, b, LONG + SHIFT, pairs), both = 0;
	for (size_t i = 0; i < n; i++)
		if (pairs[i].before != MATCH_NONE && pairs[i].after != MATCH_NONE) {
			assert_int_equal(pairs[i].after, pairs[i].before + SHIFT);
			both++;
		}
	assert_int_equal(both, LONG - 1);
	free(a);
	free(b);
	free(pairs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_850_what_a_build_adds_pairs_with_nothing),
		cmocka_unit_test(
		    test_851_other_registers_on_the_same_line_are_the_same_instruction),
		cmocka_unit_test(test_852_lines_that_moved_pair_by_their_operands),
		cmocka_unit_test(test_853_where_a_jump_leads_does_not_matter),
		cmocka_unit_test(test_854_operands_are_alike_by_kind),
		cmocka_unit_test(test_855_a_pairing_is_complete_and_in_order),
		cmocka_unit_test(test_856_long_functions_are_paired_near_the_diagonal),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

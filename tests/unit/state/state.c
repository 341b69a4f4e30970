/* SPDX-License-Identifier: MIT */
/* Saved state: what is written is read back, and damaged bytes give one message. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "state/state.h"

#define ITEMS_MAX 1000

struct item {
	uint64_t a;
	char *name;
};
struct all {
	bool b;
	uint8_t u8;
	uint16_t u16;
	uint32_t u32, choice;
	uint64_t u64;
	int i32;
	int64_t i64;
	double d;
	char *text, *none;
	uint8_t page[64];
	struct item *items;
	size_t nitems;
};

static void walk(struct state *s, struct all *a)
{
	state_bool(s, &a->b);
	state_u8(s, &a->u8);
	state_u16(s, &a->u16);
	state_u32(s, &a->u32);
	a->choice = state_below(s, a->choice, 5);
	state_u64(s, &a->u64);
	state_i32(s, &a->i32);
	state_i64(s, &a->i64);
	state_double(s, &a->d);
	state_text(s, &a->text, 100);
	state_text(s, &a->none, 100);
	state_mark(s, "page");
	state_piece(s, a->page, sizeof(a->page));
	STATE_LIST(s, a->items, a->nitems, ITEMS_MAX, item)
	{
		state_u64(s, &item->a);
		state_text(s, &item->name, 20);
	}
	state_end(s);
}

static void clear(struct all *a)
{
	for (size_t i = 0; i < a->nitems; i++)
		free(a->items[i].name);
	free(a->items);
	free(a->text);
	free(a->none);
}

static struct all example(size_t nitems)
{
	struct all a = { .b = true, .u8 = 200, .u16 = 60000, .u32 = 4000000000u, .choice = 4 };

	a.u64 = UINT64_MAX - 1;
	a.i32 = -7;
	a.i64 = INT64_MIN;
	a.d = -1.5e-300;
	a.text = x_strdup("a text");
	for (size_t i = 0; i < sizeof(a.page); i++)
		a.page[i] = (uint8_t)(i * 7);
	a.nitems = nitems;
	a.items = x_calloc(nitems, sizeof(*a.items));
	for (size_t i = 0; i < nitems; i++)
		a.items[i] = (struct item){ i * i, i & 1 ? x_asprintf("%zu", i) : NULL };
	return a;
}

static void test_2800_what_is_written_is_read(void **ctx)
{
	(void)ctx;
	for (size_t n = 0; n <= 300; n += 75) {
		struct all a = example(n), b = { 0 };
		struct state *w = state_writer(NULL);
		size_t bytes;

		walk(w, &a);
		assert_true(state_ok(w));
		const void *p = state_bytes_written(w, &bytes);
		struct state *r = state_reader(p, bytes, STATE_VERSION, NULL);

		walk(r, &b);
		assert_string_equal(state_error(r), "");
		assert_true(b.b && b.u8 == 200 && b.u16 == 60000 && b.u32 == 4000000000u);
		assert_true(b.choice == 4 && b.u64 == UINT64_MAX - 1 && b.i32 == -7);
		assert_true(b.i64 == INT64_MIN && b.d == -1.5e-300 && !b.none);
		assert_string_equal(b.text, "a text");
		assert_memory_equal(a.page, b.page, sizeof(a.page));
		assert_int_equal(b.nitems, n);
		for (size_t i = 0; i < n; i++) {
			assert_int_equal(b.items[i].a, i * i);
			assert_int_equal(!b.items[i].name, !(i & 1));
		}
		state_free(w);
		state_free(r);
		clear(&a);
		clear(&b);
	}
}

static void test_2801_bytes_cut_short_or_changed_are_refused_or_read_within_limits(void **ctx)
{
	struct all a = example(100);
	struct state *w = state_writer(NULL);
	size_t bytes;
	unsigned refused = 0;

	(void)ctx;
	walk(w, &a);
	const uint8_t *p = state_bytes_written(w, &bytes);

	for (size_t cut = 0; cut < bytes; cut++) {
		uint8_t *copy =
		    x_malloc(cut + 1); /* of its own, so that ASan sees a byte too far */
		struct all b = { 0 };

		memcpy(copy, p, cut);
		struct state *r = state_reader(copy, cut, STATE_VERSION, NULL);

		walk(r, &b);
		assert_false(state_ok(r));
		assert_true(strlen(state_error(r)) > 10);
		state_free(r);
		clear(&b);
		free(copy);
	}
	for (size_t at = 0; at < bytes; at++) {
		uint8_t *copy = x_malloc(bytes);
		struct all b = { 0 };

		memcpy(copy, p, bytes);
		copy[at] ^= 0xff;
		struct state *r = state_reader(copy, bytes, STATE_VERSION, NULL);

		walk(r, &b);
		refused += !state_ok(r);
		assert_true(b.nitems <= ITEMS_MAX);
		state_free(r);
		clear(&b);
		free(copy);
	}
	assert_true(refused > 100);
	state_free(w);
	clear(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_2800_what_is_written_is_read),
		cmocka_unit_test(
		    test_2801_bytes_cut_short_or_changed_are_refused_or_read_within_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* A live profile in memory: what is the same, what adds up, and merging in any order. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

#include "collect/live.h"

static struct live_image file_image(char *name, char *build_id, uint64_t ino)
{
	return (
	    struct live_image){ .kind = LIVE_FILE, .name = name, .build_id = build_id, .ino = ino };
}

static void test_710_an_image_is_its_build_id_or_else_its_file(void **state)
{
	struct live_profile *p = live_profile_new();
	struct live_sink s = live_profile_sink(p);
	struct live_image one = file_image("/bin/a", "abcd", 1),
			  moved = file_image("/b/a", "abcd", 2), bare = file_image("/bin/a", "", 1),
			  replaced = file_image("/bin/a", "", 2);

	const uint32_t id = s.image(s.self, &one);
	assert_int_equal(s.image(s.self, &moved), id);
	assert_int_not_equal(s.image(s.self, &bare), id);
	assert_int_not_equal(s.image(s.self, &replaced), s.image(s.self, &bare));
	assert_int_equal(live_images(p), 3);
	live_profile_free(p);
	(void)state;
}

static void test_711_a_pid_that_is_used_again_is_another_process(void **state)
{
	struct live_profile *p = live_profile_new();
	struct live_sink s = live_profile_sink(p);
	struct live_process a = { .pid = 7, .start_ns = 10, .comm = "sh" }, later = a, exec = a;

	later.start_ns = 20;
	exec.exec_id = 1;
	const uint32_t id = s.process(s.self, &a);
	assert_int_equal(s.process(s.self, &a), id);
	assert_int_not_equal(s.process(s.self, &later), id);
	assert_int_not_equal(s.process(s.self, &exec), id);
	live_profile_free(p);
	(void)state;
}

/* Puts n random counts and stacks into a profile, from few images, so that many are the same. */
static void fill(struct live_profile *p, uint64_t seed, int n)
{
	struct live_sink s = live_profile_sink(p);
	struct live_event event = { .name = "cycles", .actual = "cpu-clock" };
	struct live_facts facts = { .machine = "m", .begin_ns = seed, .end_ns = seed + 10 };
	struct rng r;
	char name[] = "/bin/a";

	rng_seed(&r, seed);
	for (int i = 0; i < n; i++) {
		name[5] = (char)('a' + rng_below(&r, 5));
		struct live_image image = file_image(name, "", 1);
		struct live_process process = { .pid = (int)rng_below(&r, 3), .comm = "x" };
		struct live_frame frames[3];
		struct live_count c = { .image = s.image(s.self, &image),
					.process = s.process(s.self, &process),
					.event = s.event(s.self, &event),
					.offset = rng_below(&r, 50),
					.count = 1 + rng_below(&r, 3) };

		for (int k = 0; k < 3; k++)
			frames[k] = (struct live_frame){ c.image, rng_below(&r, 2) };
		s.count(s.self, &c);
		s.stack(s.self, &(struct live_stack){ c.process, c.event, frames,
						      1 + rng_below(&r, 3), false, c.count });
		s.edge(s.self, &(struct live_edge){ c.image, c.offset, c.count, 1 });
		event.taken += c.count;
		event.stored += c.count;
	}
	assert_true(s.cut(s.self, &event, 1, &facts, NULL));
}

/* A profile's content in an order that does not depend on its numbers of images and processes. */
static void sums(struct live_profile *p, uint64_t by_place[5][3][50], uint64_t *all,
		 uint64_t *stacks, uint64_t *edges)
{
	size_t n;
	const struct live_count *c = live_counts(p, &n);

	*all = *stacks = *edges = 0;
	for (size_t i = 0; i < n; i++) {
		const int image = live_image(p, c[i].image)->name[5] - 'a';

		by_place[image][live_process(p, c[i].process)->pid][c[i].offset] = c[i].count;
		*all += c[i].count;
	}
	const struct live_stack *s = live_stacks(p, &n);
	for (size_t i = 0; i < n; i++)
		*stacks = *stacks + s[i].count * (1 + s[i].frames[0].offset + 2 * s[i].nframes);
	const struct live_edge *e = live_edges(p, &n);
	for (size_t i = 0; i < n; i++)
		*edges += e[i].taken * (e[i].offset + 1) + e[i].not_taken;
}

static void test_712_merging_is_exact_and_its_order_does_not_matter(void **state)
{
	static uint64_t places[3][5][3][50];
	uint64_t all[3], stacks[3], edges[3], stored[3];
	struct live_profile *whole = live_profile_new(), *ab = live_profile_new(),
			    *ba = live_profile_new(), *a = live_profile_new(),
			    *b = live_profile_new();
	struct live_profile *results[] = { ab, ba, whole };

	fill(a, 1, 2000);
	fill(b, 2, 3000);
	live_profile_merge(ab, a);
	live_profile_merge(ab, b);
	live_profile_merge(ba, b);
	live_profile_merge(ba, a);
	live_profile_merge(whole, ab);
	for (int i = 0; i < 3; i++) {
		sums(results[i], places[i], &all[i], &stacks[i], &edges[i]);
		stored[i] = live_event(results[i], 0)->stored;
		assert_int_equal(stored[i], all[i]);
		assert_int_equal(all[i], all[0]);
		assert_int_equal(stacks[i], stacks[0]);
		assert_int_equal(edges[i], edges[0]);
		assert_memory_equal(places[i], places[0], sizeof(places[0]));
		assert_int_equal(live_facts(results[i])->begin_ns, 1);
		assert_int_equal(live_facts(results[i])->end_ns, 12);
	}
	assert_int_equal(all[0], live_event(a, 0)->stored + live_event(b, 0)->stored);
	for (int i = 0; i < 3; i++)
		live_profile_free(results[i]);
	live_profile_free(a);
	live_profile_free(b);
	(void)state;
}

static void test_2136_symbols_that_come_later_are_added_in_any_order(void **state)
{
	struct live_symbol one[] = { { 10, 4, "b" }, { 30, 4, "d" } },
			   two[] = { { 10, 4, "a" }, { 20, 4, "c" }, { 30, 8, "e" } };
	uint8_t bytes[] = { 1, 2, 3 };
	struct live_code code[] = { { 10, 2, bytes }, { 20, 3, bytes } };

	for (int swap = 0; swap < 2; swap++) {
		struct live_profile *p = live_profile_new();
		struct live_sink s = live_profile_sink(p);
		struct live_image a = { .kind = LIVE_JIT, .name = "x" }, b = a;

		a.symbols = one;
		a.nsymbols = 2;
		a.code = code;
		a.ncode = 1;
		b.symbols = two;
		b.nsymbols = 3;
		b.code = code;
		b.ncode = 2;
		s.image(s.self, swap ? &b : &a);
		assert_int_equal(s.image(s.self, swap ? &a : &b), 0);
		const struct live_image *i = live_image(p, 0);

		assert_int_equal(i->nsymbols, 3);
		assert_string_equal(i->symbols[0].name, "a");
		assert_string_equal(i->symbols[1].name, "c");
		assert_string_equal(i->symbols[2].name, "e");
		assert_int_equal(i->ncode, 2);
		assert_memory_equal(i->code[1].bytes, bytes, 3);
		live_profile_free(p);
	}
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_710_an_image_is_its_build_id_or_else_its_file),
		cmocka_unit_test(test_711_a_pid_that_is_used_again_is_another_process),
		cmocka_unit_test(test_712_merging_is_exact_and_its_order_does_not_matter),
		cmocka_unit_test(test_2136_symbols_that_come_later_are_added_in_any_order),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

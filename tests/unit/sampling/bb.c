/* SPDX-License-Identifier: MIT */
/* Files of basic block vectors: what is written is read, in both forms; what is wrong is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#include "sampling/bb.h"
#include "sampling/walk.h"

static char folder[64];

static const char *path_of(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static int make_folder(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/culprit-bb-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	static const char *const names[] = { "x.bb", "x.bb.gz", "y.bb" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		unlink(path_of(names[i]));
	return rmdir(folder);
}

static void put(const char *name, const void *bytes, size_t n)
{
	FILE *f = fopen(path_of(name), "w");

	assert_non_null(f);
	fwrite(bytes, 1, n, f);
	fclose(f);
}

/* Random intervals: some of one block, some of many, with numbers of all sizes. */
static void each_interval(bb_take *take, void *ctx, unsigned count, bool data)
{
	struct bb_part *parts = calloc(20000, sizeof(*parts));
	uint64_t counts[BB_DATA];
	struct err e;
	struct rng rng;

	rng_seed(&rng, 42);
	for (unsigned i = 0; i < count; i++) {
		struct bb_interval v = { .parts = parts, .data = data ? counts : NULL };

		v.count = 1 + rng_below(&rng, i % 10 ? 50 : 20000);
		for (size_t k = 0; k < v.count; k++) {
			parts[k].block = 1 + (rng_next(&rng) >> (8 + rng_below(&rng, 56)));
			parts[k].insts = 1 + (rng_next(&rng) >> (20 + rng_below(&rng, 40)));
			v.insts += parts[k].insts;
		}
		for (unsigned k = 0; k < BB_DATA; k++)
			counts[k] = rng_next(&rng) >> rng_below(&rng, 64);
		assert_true(take(ctx, &v, &e));
	}
	free(parts);
}

static void same_rows(const struct intervals *a, const struct intervals *b)
{
	assert_int_equal(a->count, b->count);
	assert_int_equal(a->dims, b->dims);
	assert_int_equal(a->interval, b->interval);
	assert_memory_equal(a->insts, b->insts, a->count * sizeof(*a->insts));
	assert_memory_equal(a->rows, b->rows, a->count * a->dims * sizeof(*a->rows));
}

static void test_2850_rows_of_a_file_are_those_of_the_run_in_both_forms(void **state)
{
	static const char *const names[] = { "x.bb", "x.bb.gz" };
	struct err e;

	(void)state;
	for (unsigned round = 0; round < 4; round++) {
		bool data = round / 2;
		const char *name = names[round % 2];
		struct bb_rows *rows = bb_rows_new(15, 7, data);
		struct bb_file *f = bb_create(path_of(name), &e);
		struct intervals direct, read;

		assert_non_null(f);
		each_interval(bb_rows_add, rows, 60, data);
		each_interval(bb_write, f, 60, data);
		assert_true(access(path_of(name), F_OK) || round > 1); /* not before it is whole */
		assert_true(bb_finish(f, &e));
		bb_rows_finish(rows, &direct);
		assert_true(bb_intervals(path_of(name), 15, 7, data, &read, &e));
		assert_int_equal(direct.dims, 15 + (data ? BB_DATA : 0));
		same_rows(&direct, &read);
		intervals_free(&direct);
		intervals_free(&read);
	}
	/* The two are one text, and a data part is a comment to who does not want it. */
	struct intervals plain, without;
	assert_true(bb_intervals(path_of("x.bb"), 15, 7, false, &plain, &e));
	assert_true(bb_intervals(path_of("x.bb.gz"), 15, 7, false, &without, &e));
	same_rows(&plain, &without);
	intervals_free(&plain);
	intervals_free(&without);
}

static void test_2851_a_row_is_the_sum_of_shares_times_coefficients(void **state)
{
	/* One number beyond those whose coefficients are kept. */
	static const char text[] = "T:3:30 :1:60 :5000000:10\n";
	double row[15] = { 0 };
	struct intervals v;
	struct err e;

	(void)state;
	put("x.bb", text, strlen(text));
	assert_true(bb_intervals(path_of("x.bb"), 15, 99, false, &v, &e));
	project_add(row, 15, 99, 3, 0.3);
	project_add(row, 15, 99, 1, 0.6);
	project_add(row, 15, 99, 5000000, 0.1);
	assert_int_equal(v.insts[0], 100);
	for (unsigned j = 0; j < 15; j++)
		assert_true(row[j] == v.rows[j]);
	intervals_free(&v);
}

static void test_2852_comments_blank_lines_and_free_space_are_tolerated(void **state)
{
	/* As SimPoint's examples, valgrind and gem5 have them. */
	static const char text[] = "# a comment\n"
				   "#Another: T:1:1\n"
				   "\n"
				   "T:1:5   :2:7 \r\n"
				   "   \n"
				   "T :1:0 :3:9\t\n"
				   "# Total intervals: 2\n";
	struct intervals v;
	struct err e;

	(void)state;
	put("x.bb", text, strlen(text));
	assert_true(bb_intervals(path_of("x.bb"), 3, 0, false, &v, &e));
	assert_int_equal(v.count, 2);
	assert_int_equal(v.insts[0], 12);
	assert_int_equal(v.insts[1], 9);
	assert_int_equal(v.interval, 12);
	intervals_free(&v);
}

static void test_2853_what_is_not_a_file_of_vectors_is_refused_with_its_line(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "", "no interval" },
		{ "# only a comment\n", "no interval" },
		{ "\x7f"
		  "ELF\x02\x01",
		  "line 1" },
		{ "T:1:5 :2:6", "cut short" },
		{ "T:1:5\nT:1:5 :2", "line 2" },
		{ "T:1:5\nT:1:", "line 2" },
		{ "T:1:5\nX:1:5\n", "line 2" },
		{ "T\n", "without instructions" },
		{ "T:1:0\n", "without instructions" },
		{ "T:0:5\n", "block 0" },
		{ "T:1\n", "without its instructions" },
		{ "T:1:5:2:6 7\n", "line 1" },
		{ "T:-1:5\n", "line 1" },
		{ "T:1:0x5\n", "line 1" },
		{ "T:18446744073709551616:1\n", "beyond 64 bits" },
		{ "T:1:99999999999999999999999999\n", "beyond 64 bits" },
		{ "T:1:18446744073709551615 :2:1\n", "beyond 64 bits" },
		{ "#D:1:1 :2:2 :3:3 :4:4 :5:5\n", "without its interval" },
		{ "T:1:5\n#D:1:1\n", "data part" },
		{ "T:1:5\n#D:1:1 :2:2 :3:3 :4:4 :5:5 :6:6\n", "data part" },
	};
	struct intervals v;
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		put("x.bb", bad[i].text, strlen(bad[i].text));
		e.text[0] = 0;
		assert_false(bb_intervals(path_of("x.bb"), 15, 0, false, &v, &e));
		if (!strstr(e.text, bad[i].says))
			fail_msg("%zu: \"%s\" lacks \"%s\"", i, e.text, bad[i].says);
		assert_null(strchr(e.text, '\n'));
	}
	assert_false(bb_intervals(path_of("none.bb"), 15, 0, false, &v, &e));
	assert_non_null(strstr(e.text, "cannot open"));
	/* Wants a data part that is not there. */
	put("x.bb", "T:1:5\n", 6);
	assert_false(bb_intervals(path_of("x.bb"), 15, 0, true, &v, &e));
	assert_non_null(strstr(e.text, "--data"));
}

static void test_2854_a_compressed_file_that_is_cut_or_damaged_is_refused(void **state)
{
	static unsigned char bytes[1 << 20];
	struct intervals v;
	struct err e;
	struct bb_file *f = bb_create(path_of("x.bb.gz"), &e);

	(void)state;
	each_interval(bb_write, f, 5, false);
	assert_true(bb_finish(f, &e));
	FILE *in = fopen(path_of("x.bb.gz"), "r");
	size_t n = fread(bytes, 1, sizeof(bytes), in);
	fclose(in);
	assert_in_range(n, 100, sizeof(bytes) - 1);
	for (size_t cut = 1; cut < n; cut += n / 17) {
		put("x.bb.gz", bytes, cut);
		assert_false(bb_intervals(path_of("x.bb.gz"), 15, 0, false, &v, &e));
	}
	bytes[n / 2] ^= 0x55;
	put("x.bb.gz", bytes, n);
	assert_false(bb_intervals(path_of("x.bb.gz"), 15, 0, false, &v, &e));
}

static void test_2855_a_line_of_any_length_takes_the_memory_of_its_blocks_alone(void **state)
{
	/* 64 MB of spaces and a comment of the same length pack to some 130 KB. */
	static char spaces[1 << 16];
	gzFile f = gzopen(path_of("x.bb.gz"), "wb1");
	struct intervals v;
	struct err e;

	(void)state;
	memset(spaces, ' ', sizeof(spaces));
	gzputs(f, "T:1:5");
	for (unsigned i = 0; i < 1024; i++)
		gzwrite(f, spaces, sizeof(spaces));
	gzputs(f, ":2:6\n#");
	for (unsigned i = 0; i < 1024; i++)
		gzwrite(f, spaces, sizeof(spaces));
	gzputs(f, "\nT:1:5\n");
	gzclose(f);
	assert_true(bb_intervals(path_of("x.bb.gz"), 15, 0, false, &v, &e));
	assert_int_equal(v.count, 2);
	assert_int_equal(v.insts[0], 11);
	intervals_free(&v);
}

static void
test_2856_nothing_replaces_a_file_of_another_kind_or_is_left_of_a_discarded_one(void **state)
{
	struct err e;

	(void)state;
	put("y.bb", "a letter\n", 9);
	assert_null(bb_create(path_of("y.bb"), &e));
	struct bb_file *f = bb_create(path_of("x.bb"), &e);
	assert_non_null(f);
	each_interval(bb_write, f, 5, false);
	unlink(path_of("x.bb"));
	bb_discard(f);
	assert_int_not_equal(access(path_of("x.bb"), F_OK), 0);
}

struct seen {
	char text[256];
};

static bool note(void *ctx, const struct bb_interval *v, struct err *e)
{
	struct seen *s = ctx;
	size_t n = strlen(s->text);

	(void)e;
	for (size_t i = 0; i < v->count; i++)
		n += (size_t)snprintf(s->text + n, sizeof(s->text) - n, " %llu:%llu",
				      (unsigned long long)v->parts[i].block,
				      (unsigned long long)v->parts[i].insts);
	snprintf(s->text + n, sizeof(s->text) - n, ";");
	return true;
}

static void test_2857_a_thread_goes_on_with_its_block_where_it_was_left(void **state)
{
	struct seen s = { "" };
	struct bb_walk_options o = { .interval = 6, .take = note, .ctx = &s };
	struct bb_walk *w = bb_walk_new(&o);
	struct err e;

	(void)state;
	/* Thread 1 is in the block at 100 when thread 2 runs that at 200, and when the interval ends. */
	bb_walk_add(w, 1, 100, 104, false, &e);
	bb_walk_add(w, 1, 104, 108, false, &e);
	bb_walk_add(w, 2, 200, 204, false, &e);
	bb_walk_add(w, 2, 204, 208, true, &e);
	bb_walk_add(w, 1, 108, 110, false, &e);
	bb_walk_add(w, 1, 110, 114, false, &e);
	bb_walk_add(w, 1, 114, 118, true, &e);
	/* Behind the end of a block another begins; so it does inside of one that is jumped into. */
	bb_walk_add(w, 1, 118, 122, true, &e);
	bb_walk_add(w, 1, 104, 108, false, &e);
	bb_walk_add(w, 2, 208, 212, false, &e);
	assert_true(bb_walk_finish(w, &e));
	assert_string_equal(s.text, " 1:4 2:2; 1:1 3:1 4:1 5:1;");
	assert_int_equal(bb_walk_blocks(w), 5);
	bb_walk_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_2850_rows_of_a_file_are_those_of_the_run_in_both_forms),
		cmocka_unit_test(test_2851_a_row_is_the_sum_of_shares_times_coefficients),
		cmocka_unit_test(test_2852_comments_blank_lines_and_free_space_are_tolerated),
		cmocka_unit_test(test_2853_what_is_not_a_file_of_vectors_is_refused_with_its_line),
		cmocka_unit_test(test_2854_a_compressed_file_that_is_cut_or_damaged_is_refused),
		cmocka_unit_test(
		    test_2855_a_line_of_any_length_takes_the_memory_of_its_blocks_alone),
		cmocka_unit_test(
		    test_2856_nothing_replaces_a_file_of_another_kind_or_is_left_of_a_discarded_one),
		cmocka_unit_test(test_2857_a_thread_goes_on_with_its_block_where_it_was_left),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

/* SPDX-License-Identifier: MIT */
/* The table of a run's recipe, and what is derived from it for a stored run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jobs/recipe.h"
#include "jobs/streams.h"
#include "jobs/trust.h"

static void test_1040_what_is_repeated_is_signed_and_what_is_signed_is_kept(void **state)
{
	for (unsigned i = 0; i < RUN_ITEMS; i++) {
		const struct recipe_row *row = &recipe_rows[i];
		const unsigned use = row->use;

		if (use & (RECIPE_REPEAT | RECIPE_DIGEST) && !(use & RECIPE_SIGNED))
			fail_msg("%s is used without being covered by the signature", row->key);
		if (use & RECIPE_SIGNED && !(use & RECIPE_ROW))
			fail_msg("%s is signed and has no row", row->key);
		if (use & RECIPE_REPEAT && !(use & RECIPE_DIGEST))
			fail_msg("%s decides a result that does not depend on it", row->key);
		if (use & RECIPE_REPEAT && !row->option)
			fail_msg("%s is repeated by no option", row->key);
		for (unsigned k = 0; k < i; k++)
			assert_string_not_equal(row->key, recipe_rows[k].key);
	}
}

/* Another set of rows would make signatures of older versions invalid, or leave something
 * unsigned. */
static void test_1041_the_signature_covers_what_it_always_did(void **state)
{
	static const char *const covered[] = {
		"absent",	"allow_read",	"allow_write",	   "argv",	"children",
		"content0",	"content1",	"content2",	   "folders",	"input",
		"cwd",		"env",		"fast_forward",	   "files",	"limit_files",
		"limit_memory", "limit_output", "limit_processes", "max_insts", "overlay",
		"real_time",	"regions",	"sandbox",	   "seed",	"start",
		"stdin",	"stop",		"streams",	   "sysroot",	"warm",
	};

	for (size_t i = 0; i < ARRAY_LEN(covered); i++)
		if (!trust_covers(covered[i]))
			fail_msg("%s is not covered", covered[i]);
	assert_false(trust_covers("host_seconds"));
	assert_false(trust_covers("cycles"));
}

/* Makes a store with these rows in table run. */
static struct store *make_store(const char *path, const char *const (*rows)[2])
{
	struct err e = { "" };
	struct store *s = store_create(path, &e);

	assert_non_null(s);
	for (; (*rows)[0]; rows++)
		assert_true(store_insert(s, &e, "run", "ss", (*rows)[0], (*rows)[1]));
	return s;
}

static void read_rows(struct recipe *r, const char *const (*rows)[2])
{
	char folder[] = "/tmp/culprit-recipe-XXXXXX", *path;
	struct store *s;

	assert_non_null(mkdtemp(folder));
	path = x_asprintf("%s/a.culprit", folder);
	s = make_store(path, rows);
	recipe_read(r, s);
	store_close(s); /* without a commit, it leaves no file */
	assert_int_equal(rmdir(folder), 0);
	free(path);
}

static void test_1042_the_rows_of_a_profile_become_options_again(void **state)
{
	static const char *const rows[][2] = {
		{ "env", "[\"A=1\",\"B=two words\"]" },
		{ "max_insts", "5000" },
		{ "seed", "0" },
		{ "sysroot", "/a folder" },
		{ "start", "[\"mark\"]" },
		{ "stop", "[\"inst:9\",7]" }, /* not all are strings: treated as absent */
		{ "children", "simulated" },
		{ "sets", "[\"l2.latency=9\"]" }, /* part of the machine already */
		{ "real_time", "1" },		  /* refused, not repeated */
		{ NULL, NULL },
	};
	static const char *const want[] = { "--sysroot",  "/a folder", "--max-insts", "5000",
					    "--env",	  "A=1",       "--env",	      "B=two words",
					    "--children", "simulated", "--start",     "mark" };
	struct words w = { NULL, 0 };
	struct recipe r;

	read_rows(&r, rows);
	recipe_options(&r, &w);
	assert_int_equal(w.count, ARRAY_LEN(want));
	for (size_t i = 0; i < w.count; i++)
		assert_string_equal(w.items[i], want[i]);
	assert_null(w.items[w.count]);
	assert_string_equal(recipe_text(&r, RUN_real_time), "1");
	assert_null(recipe_text(&r, RUN_sets)); /* not signed, so not read */
	words_free(&w);
	recipe_free(&r);
}

static void digest_of(const struct recipe *r, char hex[DIGEST_HEX])
{
	struct digest d;

	digest_init(&d);
	recipe_digest(r, &d);
	digest_hex(&d, hex);
}

static void test_1043_a_digest_depends_on_each_item_that_is_marked(void **state)
{
	static const char *const rows[][2] = { { "argv", "[\"./prog\"]" }, { NULL, NULL } };
	char before[DIGEST_HEX], after[DIGEST_HEX];
	struct recipe r;

	read_rows(&r, rows);
	for (unsigned i = 0; i < RUN_ITEMS; i++) {
		const bool marked = recipe_rows[i].use & RECIPE_DIGEST;

		digest_of(&r, before);
		words_add(&r.items[i], "x");
		digest_of(&r, after);
		if (!strcmp(before, after) == marked)
			fail_msg("%s: %s", recipe_rows[i].key, marked ? "left out" : "taken in");
		recipe_replace(&r, (enum recipe_item)i, "y");
		digest_of(&r, before);
		if (marked)
			assert_string_not_equal(before, after);
	}
	recipe_free(&r);
}

static void test_1044_streams_are_read_as_they_are_written(void **state)
{
	static const char *const texts[] = {
		"null+r,null+w,=1",
		"file+r+append+sync+size=77+at=5+as=/home/other/in,closed,other",
		"pipe+r+named+mode=640,pipe+w+nonblock,pipe+rw+of=1",
		("terminal:80x25+rw+mode=620+pixels=8x16+tty=500.5.bf.8a3b."
		 "0102030405060708090a0b0c0d0e0f10111213,socket+rw,-"),
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		char *copy = x_strdup(texts[i]), *text = NULL;
		struct stream all[STREAMS];
		struct err e = { "" };
		size_t size;
		FILE *f = open_memstream(&text, &size);

		assert_non_null(f);
		if (!streams_read(copy, all, &e))
			fail_msg("%s: %s", texts[i], e.text);
		for (int k = 0; k < STREAMS; k++) {
			fputs(k ? "," : "", f);
			stream_write(f, &all[k]);
		}
		fclose(f);
		assert_string_equal(text, texts[i]);
		free(text);
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_1040_what_is_repeated_is_signed_and_what_is_signed_is_kept),
		cmocka_unit_test(test_1041_the_signature_covers_what_it_always_did),
		cmocka_unit_test(test_1042_the_rows_of_a_profile_become_options_again),
		cmocka_unit_test(test_1043_a_digest_depends_on_each_item_that_is_marked),
		cmocka_unit_test(test_1044_streams_are_read_as_they_are_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* 800: the store: whole or not there, ours or refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "store/store.h"

static char dir[64];

static char *path_of(const char *name)
{
	static char path[128];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static int make_dir(void **state)
{
	snprintf(dir, sizeof(dir), "/tmp/culprit-store-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	char command[128];
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static void write_bytes(const char *path, const char *bytes, size_t n)
{
	FILE *f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	fclose(f);
}

static void make_store(const char *path)
{
	struct err e = { "" };
	struct store *s = store_create(path, &e);
	assert_non_null(s);
	assert_true(store_insert(s, &e, "run", "si", "cycles", (int64_t)42));
	assert_true(store_insert(s, &e, "run", "ss", "program", "a \"b\" c"));
	assert_true(store_commit(s, &e));
	store_close(s);
}

static void test_801_what_was_written_is_read(void **state)
{
	struct err e = { "" };
	make_store(path_of("a.culprit"));
	struct store *s = store_open(path_of("a.culprit"), &e);
	assert_non_null(s);
	assert_int_equal(store_number(s, "SELECT value FROM run WHERE key = 'cycles'", 0), 42);
	struct store_rows r =
	    store_query(s, "SELECT value FROM run WHERE key = ?1", "s", "program");
	assert_true(store_next(&r));
	assert_string_equal(store_text(&r, 0), "a \"b\" c");
	assert_false(store_next(&r));
	assert_true(store_done(&r, &e));
	store_close(s);
}

static void test_802_a_store_has_no_name_before_it_is_whole(void **state)
{
	struct err e = { "" };
	struct store *s = store_create(path_of("b.culprit"), &e);
	assert_non_null(s);
	assert_true(store_insert(s, &e, "run", "si", "cycles", (int64_t)1));
	assert_int_equal(access(path_of("b.culprit"), F_OK), -1);
	store_close(s);
	assert_int_equal(access(path_of("b.culprit"), F_OK), -1);
	char command[160];
	snprintf(command, sizeof(command), "test -z \"$(ls %s | grep tmp)\"", dir);
	assert_int_equal(system(command), 0);
}

static void test_803_a_killed_run_leaves_an_older_store_as_it_was(void **state)
{
	struct err e = { "" };
	make_store(path_of("c.culprit"));
	pid_t child = fork();
	if (!child) {
		struct store *s = store_create(path_of("c.culprit"), &e);
		store_insert(s, &e, "run", "si", "cycles", (int64_t)7);
		_exit(s ? 0 : 1); /* as if killed */
	}
	int status;
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
	struct store *s = store_open(path_of("c.culprit"), &e);
	assert_non_null(s);
	assert_int_equal(store_number(s, "SELECT value FROM run WHERE key = 'cycles'", 0), 42);
	store_close(s);
}

static void refuse(const char *path, const char *why)
{
	struct err e = { "" };
	struct store *s = store_open(path, &e);
	if (s)
		fail_msg("%s was opened", path);
	if (!strstr(e.text, why))
		fail_msg("'%s' does not say '%s'", e.text, why);
	assert_null(strchr(e.text, '\n'));
}

static void test_804_foreign_and_damaged_files_are_refused(void **state)
{
	sqlite3 *db;
	refuse(path_of("missing.culprit"), "cannot read");
	write_bytes(path_of("text.culprit"), "hello, world\n", 13);
	refuse(path_of("text.culprit"), "not a culprit profile");
	write_bytes(path_of("empty.culprit"), "", 0);
	refuse(path_of("empty.culprit"), "not a culprit profile");
	assert_int_equal(sqlite3_open(path_of("other.culprit"), &db), SQLITE_OK);
	sqlite3_exec(db, "CREATE TABLE x (y)", NULL, NULL, NULL);
	sqlite3_close(db);
	refuse(path_of("other.culprit"), "not a culprit profile");
}

static void test_805_a_newer_version_is_refused_by_number(void **state)
{
	sqlite3 *db;
	make_store(path_of("new.culprit"));
	assert_int_equal(sqlite3_open(path_of("new.culprit"), &db), SQLITE_OK);
	sqlite3_exec(db, "PRAGMA user_version = 99", NULL, NULL, NULL);
	sqlite3_close(db);
	refuse(path_of("new.culprit"), "version 99");
}

static void test_806_a_truncated_or_scribbled_store_never_crashes_a_reader(void **state)
{
	struct err e = { "" };
	char *whole;
	struct rng rng;
	make_store(path_of("d.culprit"));
	FILE *f = fopen(path_of("d.culprit"), "rb");
	assert_int_equal(fseek(f, 0, SEEK_END), 0);
	long n = ftell(f);
	rewind(f);
	whole = malloc((size_t)n);
	assert_int_equal(fread(whole, 1, (size_t)n, f), (size_t)n);
	fclose(f);
	rng_seed(&rng, 3);
	for (int i = 0; i < 60; i++) {
		char *copy = malloc((size_t)n);
		memcpy(copy, whole, (size_t)n);
		size_t size = i % 3 ? (size_t)n : rng_below(&rng, (uint64_t)n);
		for (int k = 0; k < 20 && i % 3; k++)
			copy[rng_below(&rng, (uint64_t)n)] = (char)rng_next(&rng);
		write_bytes(path_of("e.culprit"), copy, size);
		free(copy);
		struct store *s = store_open(path_of("e.culprit"), &e);
		if (s) {
			store_number(s, "SELECT count(*) FROM run", 0);
			store_close(s);
		} else {
			assert_true(e.text[0]);
		}
	}
	free(whole);
}

static void test_807_an_impossible_place_is_one_clear_line(void **state)
{
	struct err e = { "" };
	assert_null(store_create("/nonexistent/folder/x.culprit", &e));
	assert_non_null(strstr(e.text, "cannot create"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_801_what_was_written_is_read),
		cmocka_unit_test(test_802_a_store_has_no_name_before_it_is_whole),
		cmocka_unit_test(test_803_a_killed_run_leaves_an_older_store_as_it_was),
		cmocka_unit_test(test_804_foreign_and_damaged_files_are_refused),
		cmocka_unit_test(test_805_a_newer_version_is_refused_by_number),
		cmocka_unit_test(test_806_a_truncated_or_scribbled_store_never_crashes_a_reader),
		cmocka_unit_test(test_807_an_impossible_place_is_one_clear_line),
	};
	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}

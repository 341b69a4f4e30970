/* SPDX-License-Identifier: MIT */
/* 800: the store: a file is complete or does not exist, and only files of culprit's are opened. */
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

/* Applies the statement to a good store; returns whether it can be opened afterwards. */
static bool opens_after(const char *sql, struct err *e)
{
	sqlite3 *db;
	unlink(path_of("f.culprit"));
	make_store(path_of("f.culprit"));
	assert_int_equal(sqlite3_open(path_of("f.culprit"), &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	sqlite3_close(db);
	struct store *s = store_open(path_of("f.culprit"), e);
	store_close(s);
	return s != NULL;
}

static void test_881_a_store_with_other_tables_than_ours_is_refused(void **state)
{
	static const char *const all[] = {
		"CREATE VIEW v AS SELECT 1",
		"DROP TABLE golden; CREATE VIEW golden AS WITH RECURSIVE n(i) AS (SELECT 1 UNION "
		"ALL "
		"SELECT i + 1 FROM n) SELECT i AS pc, i AS units FROM n",
		"CREATE TRIGGER t AFTER INSERT ON run BEGIN DELETE FROM run; END",
		"CREATE TABLE more (x)",
		"DROP TABLE counter",
		"ALTER TABLE run ADD COLUMN g GENERATED ALWAYS AS (hex(zeroblob(1000000))) VIRTUAL",
		"CREATE INDEX i ON golden (units)",
		"CREATE VIRTUAL TABLE x USING fts5(a)",
		"ANALYZE",
	};
	struct err e = { "" };
	assert_true(opens_after("UPDATE run SET value = 43 WHERE key = 'cycles'", &e));
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		assert_false(opens_after(all[i], &e));
		assert_non_null(strstr(e.text, "f.culprit"));
	}
}

static void test_882_values_that_no_run_can_have_are_refused(void **state)
{
	static const char *const all[] = {
		"INSERT INTO golden VALUES (1, 0, 0, 9223372036854775807, 0)",
		"INSERT INTO golden VALUES (1, 0, -5, 5, 0)",
		"INSERT INTO golden VALUES (1, 0, 0, 'many', 0)",
		"INSERT INTO golden VALUES (1, 0, 0, 0.5, 0)",
		("INSERT INTO golden VALUES (1, 0, 0, 4000000000000000000, 0), "
		 "(2, 0, 0, 4000000000000000000, 0)"),
		"INSERT INTO category VALUES (1000, 'x')",
		"INSERT INTO category VALUES (1, NULL)",
		"INSERT INTO category VALUES (1, x'00ff')",
		"INSERT INTO event VALUES (99, 'a', 'b', 0)",
		"INSERT INTO sample_group VALUES (2000000000, 0, 0, 0)",
		"INSERT INTO sample_group VALUES (0, 100, 0, 0)",
		"INSERT INTO icost VALUES (-1, 0, 'x', 9e999, 0)",
		"INSERT INTO function VALUES (9223372036854775807, 0, 'f', 0, 1, NULL, 0)",
		"UPDATE run SET value = 9223372036854775807 WHERE key = 'cycles'",
		"UPDATE run SET value = x'00' WHERE key = 'program'",
	};
	struct err e = { "" };
	assert_true(
	    opens_after("INSERT INTO golden VALUES (-1, 4095, 3, 4000000000000000000, 7)", &e));
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (opens_after(all[i], &e))
			fail_msg("taken: %s", all[i]);
}

static void test_883_what_is_shown_of_a_store_is_plain(void **state)
{
	struct err e = { "" };
	assert_true(opens_after("UPDATE run SET value = 'a' || char(27) || '[2J' || char(10) || "
				"char(8238) WHERE key = 'program'",
				&e));
	struct store *s = store_open(path_of("f.culprit"), &e);
	struct store_rows r = store_query(s, "SELECT value FROM run WHERE key = 'program'", "");
	assert_true(store_next(&r));
	assert_string_equal(store_shown(&r, 0), "a\\x1b[2J\\x0a\\u{202e}");
	assert_string_equal(store_text(&r, 0), "a\x1b[2J\n\xe2\x80\xae");
	assert_true(store_done(&r, &e));
	store_close(s);
}

static void test_884_a_journal_beside_a_store_is_left_alone(void **state)
{
	static const char journal[] = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7";
	struct err e = { "" };
	assert_true(opens_after("SELECT 1", &e));
	write_bytes(path_of("f.culprit-journal"), journal, sizeof(journal));
	write_bytes(path_of("f.culprit-wal"), journal, sizeof(journal));
	struct store *s = store_open(path_of("f.culprit"), &e);
	assert_non_null(s);
	store_close(s);
	assert_int_equal(access(path_of("f.culprit-journal"), F_OK), 0);
	assert_int_equal(access(path_of("f.culprit-shm"), F_OK), -1);
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
		cmocka_unit_test(test_881_a_store_with_other_tables_than_ours_is_refused),
		cmocka_unit_test(test_882_values_that_no_run_can_have_are_refused),
		cmocka_unit_test(test_883_what_is_shown_of_a_store_is_plain),
		cmocka_unit_test(test_884_a_journal_beside_a_store_is_left_alone),
	};
	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}

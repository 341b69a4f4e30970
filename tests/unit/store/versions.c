/* SPDX-License-Identifier: MIT */
/* Files of other versions: older ones are migrated in memory, newer ones refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "store/store.h"

static char dir[64], path[128];

static int make_dir(void **state)
{
	snprintf(dir, sizeof(dir), "/tmp/culprit-versions-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/a.culprit", dir);
	return 0;
}

static int remove_dir(void **state)
{
	unlink(path);
	return rmdir(dir);
}

static void change(const char *sql)
{
	sqlite3 *db;
	char *why = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	sqlite3_exec(db, "PRAGMA synchronous = OFF", NULL, NULL, NULL);
	if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
		fail_msg("%s: %s", sql, why);
	sqlite3_close(db);
}

static char *read_all(const char *name, size_t *size)
{
	FILE *f = fopen(name, "rb");
	char *text;

	if (!f)
		fail_msg("cannot read %s", name);
	fseek(f, 0, SEEK_END);
	*size = (size_t)ftell(f);
	rewind(f);
	text = calloc(1, *size + 1);
	assert_int_equal(fread(text, 1, *size, f), *size);
	fclose(f);
	return text;
}

/* Makes a file as the first version wrote it. */
static void make_first_version(void)
{
	size_t size;
	char *sql = read_all(getenv("VERSION_1"), &size);

	unlink(path);
	change(sql);
	change("INSERT INTO run VALUES ('cycles', 42), ('program', './prog');"
	       "INSERT INTO golden VALUES (4096, 0, 0, 7, 1)");
	free(sql);
}

static void opens_with_all_tables(void)
{
	struct err e = { "" };
	struct store *s = store_open(path, &e);

	if (!s)
		fail_msg("it was refused: %s", e.text);
	assert_int_equal(store_number(s, "SELECT value FROM run WHERE key = 'cycles'", 0), 42);
	assert_int_equal(store_number(s, "SELECT units FROM golden", 0), 7);
	assert_int_equal(store_number(s, "SELECT count(*) FROM cpi_phase", -1), 0);
	assert_int_equal(store_number(s, "SELECT count(*) FROM icost_pair", -1), 0);
	assert_int_equal(store_number(s, "SELECT count(*) FROM shotgun_count", -1), 0);
	assert_int_equal(store_number(s, "SELECT count(*) FROM spectrum_load", -1), 0);
	assert_int_equal(store_number(s, "SELECT count(*) FROM live_count", -1), 0);
	store_close(s);
}

static void refuse(const char *why)
{
	struct err e = { "" };
	struct store *s = store_open(path, &e);

	if (s)
		fail_msg("it was opened");
	if (!strstr(e.text, why))
		fail_msg("'%s' does not say '%s'", e.text, why);
	assert_null(strchr(e.text, '\n'));
}

static void test_1050_an_older_file_is_migrated_in_memory(void **state)
{
	size_t before_size, after_size;
	char *before, *after;

	make_first_version();
	before = read_all(path, &before_size);
	opens_with_all_tables();
	after = read_all(path, &after_size);
	assert_int_equal(before_size, after_size);
	assert_memory_equal(before, after, before_size);
	free(before);
	free(after);
}

/* For a while tables were added and the version stayed 1. */
static void test_1051_an_older_file_may_have_tables_of_later_versions(void **state)
{
	make_first_version();
	change("CREATE TABLE cpi_phase (phase INTEGER PRIMARY KEY, cycles INTEGER, "
	       "instructions INTEGER)");
	opens_with_all_tables();
	make_first_version();
	change(store_versions[2]);
	opens_with_all_tables();
}

static void test_1052_an_older_file_with_other_tables_is_refused(void **state)
{
	static const char *const changes[] = {
		"DROP TABLE golden",
		"CREATE TABLE more (x)",
		"CREATE VIEW cpi_phase AS SELECT 1 AS phase, 2 AS cycles, 3 AS instructions",
		"CREATE TABLE cpi_phase (phase INTEGER PRIMARY KEY, cycles INTEGER)",
		"CREATE TRIGGER t AFTER INSERT ON run BEGIN SELECT 1; END",
	};

	for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
		make_first_version();
		change(changes[i]);
		refuse("does not have the tables of a profile");
	}
	make_first_version();
	change("UPDATE golden SET units = 'many'");
	refuse("table golden");
}

static void test_1053_a_newer_version_is_refused_in_one_line(void **state)
{
	make_first_version();
	char set[64], why[96];

	snprintf(set, sizeof(set), "PRAGMA user_version = %d", STORE_VERSION + 1);
	snprintf(why, sizeof(why), "has format version %d, this culprit reads up to %d",
		 STORE_VERSION + 1, STORE_VERSION);
	change(set);
	refuse(why);
	change("PRAGMA user_version = 0");
	refuse("no valid format version");
}

static void test_1054_a_copy_that_fails_is_said(void **state)
{
	make_first_version();
	change("WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 200000)"
	       "INSERT INTO bare_stall SELECT i, i FROM n");
	sqlite3_hard_heap_limit64(sqlite3_memory_used() + (3 << 20));
	refuse("cannot be copied to migrate it from format 1: out of memory");
	sqlite3_hard_heap_limit64(0);
	opens_with_all_tables();
}

static uint64_t hash(const char *text)
{
	uint64_t h = 0xcbf29ce484222325;

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 0x100000001b3;
	return h;
}

static void test_1055_the_tables_of_a_version_never_change(void **state)
{
	static const uint64_t known[STORE_VERSION + 1] = { 0,
							   0x540c9601cde1c8df,
							   0xc482f045983aeede,
							   0xb7865083f47e9425,
							   0xf9458b1a3be793c2,
							   0x9b2b043311cf4716,
							   0xa1e9af5151531d95,
							   0xefbeb061b217b060,
							   0x7e98277d1d0c2bd0,
							   0xf8c0c7e63837cd4d,
							   0x314dd4be4a1058ad,
							   0xa578839c27779caa,
							   0x104e0b505cb903b1,
							   0x530b1d282a6526c8 };

	for (int v = 1; v <= STORE_VERSION; v++)
		if (hash(store_versions[v]) != known[v])
			fail_msg("version %d is not what files of it were made by (now 0x%llx): "
				 "add a version instead",
				 v, (unsigned long long)hash(store_versions[v]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_1050_an_older_file_is_migrated_in_memory),
		cmocka_unit_test(test_1051_an_older_file_may_have_tables_of_later_versions),
		cmocka_unit_test(test_1052_an_older_file_with_other_tables_is_refused),
		cmocka_unit_test(test_1053_a_newer_version_is_refused_in_one_line),
		cmocka_unit_test(test_1054_a_copy_that_fails_is_said),
		cmocka_unit_test(test_1055_the_tables_of_a_version_never_change),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}

/* SPDX-License-Identifier: MIT */
/* Rows of processes and images go with the last epoch that needs them, while the daemon runs. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "collect/db.h"
#include "collect/held.h"
#include "synth.h"

#define HOUR   3600000000000ull
#define EACH   100 /* new processes and images of an epoch */
#define KEPT_H 6

struct times {
	uint64_t wall, steady;
};

static uint64_t wall(void *self)
{
	return ((struct times *)self)->wall;
}

static uint64_t steady(void *self)
{
	return ((struct times *)self)->steady;
}

static void must(bool ok, const struct err *e)
{
	if (!ok)
		fail_msg("%s", e->text);
}

static void complain(void *self, const char *line)
{
	(*(int *)self)++;
	print_message("%s\n", line);
}

static void assert_clean(void)
{
	struct err e = { "" };
	struct db *d = db_open("db", DB_READ, NULL, &e);
	int lines = 0;

	must(d != NULL, &e);
	db_check(d, complain, &lines);
	assert_int_equal(lines, 0);
	db_close(d);
}

static sqlite3 *shell(const char *sql, int64_t *first)
{
	sqlite3_stmt *stmt = NULL;
	sqlite3 *s = NULL;

	assert_int_equal(sqlite3_open("db/profile.db", &s), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(s, sql, -1, &stmt, NULL), SQLITE_OK);
	if (sqlite3_step(stmt) == SQLITE_ROW)
		*first = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return s;
}

/* The number that a query gives, from beside. */
static int64_t ask(const char *sql)
{
	int64_t n = -1;

	sqlite3_close(shell(sql, &n));
	return n;
}

static void change(const char *sql)
{
	sqlite3 *s = NULL;

	assert_int_equal(sqlite3_open("db/profile.db", &s), SQLITE_OK);
	assert_int_equal(sqlite3_exec(s, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(s);
}

/* A daemon's database, and the numbers that its source holds. */
struct life {
	struct times t;
	struct db_clock clock;
	struct db *d;
	struct db_writer *w;
	struct live_sink sink;
	struct synth s;
	uint32_t process, image; /* held */
};

static void hold(void *self, struct held *h)
{
	const struct life *l = self;

	held_mark(h, HELD_PROCESSES, l->process);
	held_mark(h, HELD_IMAGES, l->image);
}

static void begin(struct life *l)
{
	struct err e = { "" };

	*l = (struct life){ .t = { 1000 * HOUR, 5 },
			    .process = LIVE_NO_PROCESS,
			    .image = UINT32_MAX };
	l->clock = (struct db_clock){ &l->t, wall, steady };
	const struct db_writer_options o = { .source = DB_SOURCE_DAEMON,
					     .boot_id = "boot-1",
					     .per_process = true,
					     .clock = &l->clock };

	l->d = db_open("db", DB_OWN, NULL, &e);
	must(l->d != NULL, &e);
	l->w = db_writer_open(l->d, &o, &e);
	must(l->w != NULL, &e);
	l->sink = db_writer_sink(l->w);
	synth_begin(&l->s, 1);
	l->s.nprocesses = l->s.nimages = EACH;
}

static void end(struct life *l)
{
	struct err e = { "" };

	must(db_writer_close(l->w, &e), &e);
	db_close(l->d);
}

static void cut(struct life *l)
{
	struct err e = { "" };

	must(synth_cut(&l->s, &l->sink, &e) && db_writer_flush(l->w, &e), &e);
}

/* Does all there is to do, in small steps. */
static void keep(struct life *l)
{
	const struct db_keep k = {
		.now_ns = l->t.wall, .max_age_ns = KEPT_H * HOUR, .hold = hold, .self = l
	};
	struct err e = { "" };
	bool more = true;

	for (int i = 0; more; i++) {
		assert_true(i < 100000);
		must(db_keep_step(l->d, &k, 0.2, &more, &e), &e);
	}
}

static void pass_hour(struct life *l)
{
	struct err e = { "" };

	l->t.wall += HOUR;
	l->t.steady += HOUR;
	must(db_writer_end_epoch(l->w, &e), &e);
	l->s.first_process += EACH;
	l->s.first_image += EACH;
	keep(l);
}

static uint32_t a_process(struct life *l, int32_t pid)
{
	return l->sink.process(l->sink.self, &(struct live_process){ .pid = pid,
								     .start_ns = 1,
								     .comm = "server",
								     .exe = "/usr/bin/server",
								     .container = "" });
}

static uint32_t an_image(struct life *l, const char *build_id)
{
	return l->sink.image(l->sink.self, &(struct live_image){ .kind = LIVE_FILE,
								 .name = "/usr/bin/server",
								 .build_id = (char *)build_id,
								 .digest = "" });
}

static void count(struct life *l, uint32_t process, uint32_t image)
{
	const struct live_count c = { .image = image,
				      .process = process,
				      .event = l->sink.event(l->sink.self, &l->s.events[0]),
				      .cpu = LIVE_NO_CPU,
				      .offset = 4,
				      .count = 1 };

	l->sink.count(l->sink.self, &c);
	l->s.events[0].taken++;
	l->s.events[0].stored++;
}

/* A machine on which everything is new every hour, and one server that runs all the time. */
static void test_4600_rows_go_with_the_last_epoch_that_needs_them(void **state)
{
	struct life l;

	begin(&l);
	l.process = a_process(&l, 1);
	l.image = an_image(&l, "aa");
	for (int hour = 0; hour < 40; hour++) {
		synth_counts(&l.s, &l.sink, 400);
		/* The server does nothing for longer than epochs are kept. */
		if (hour < 3 || hour > 30)
			count(&l, l.process, l.image);
		cut(&l);
		pass_hour(&l);
		/* The first hours' rows, and those of the epochs that are kept. */
		assert_in_range(ask("SELECT count(*) FROM process"), EACH / 2,
				(KEPT_H + 2) * EACH + 1);
		assert_in_range(ask("SELECT count(*) FROM image"), EACH / 2,
				(KEPT_H + 2) * EACH + 2);
		assert_in_range(ask("SELECT count(*) FROM kept"), 0, KEPT_H + 2);
		assert_int_equal(ask("SELECT count(*) FROM process WHERE comm = 'server'"), 1);
	}
	assert_int_equal(ask("SELECT count(*) FROM process WHERE id NOT IN (SELECT process FROM"
			     " pack UNION SELECT process FROM stack_pack)"),
			 0);
	end(&l);
	assert_clean();
	(void)state;
}

/* Counts that wait keep their rows, whoever else has forgotten them; and so does another writer. */
static void test_4601_what_waits_and_what_others_write_is_kept(void **state)
{
	struct err e = { "" };
	struct life l;

	begin(&l);
	const uint32_t process = a_process(&l, 1), image = an_image(&l, "aa");

	count(&l, process, image);
	cut(&l);
	pass_hour(&l);
	count(&l, process, image);
	for (int hour = 0; hour < 2 * KEPT_H; hour++)
		pass_hour(&l);
	assert_int_equal(ask("SELECT count(*) FROM epoch"), 0);
	assert_int_equal(ask("SELECT count(*) FROM process"), 1);
	cut(&l);
	pass_hour(&l);
	assert_clean();
	struct db *other = db_open("db", DB_WRITE, NULL, &e);

	must(other != NULL, &e);
	for (int hour = 0; hour < 2 * KEPT_H; hour++)
		pass_hour(&l);
	assert_int_equal(ask("SELECT count(*) FROM process"), 1);
	db_close(other);
	keep(&l);
	assert_int_equal(ask("SELECT count(*) FROM process"), 0);
	/* It runs again: another row, and not the number of the one that is gone. */
	count(&l, a_process(&l, 1), an_image(&l, "aa"));
	cut(&l);
	end(&l);
	assert_clean();
	assert_int_equal(ask("SELECT count(*) FROM process WHERE comm = 'server'"), 1);
	(void)state;
}

/* Numbers are 32 bits, and a build machine uses them up in weeks. */
static void test_4602_numbers_begin_anew(void **state)
{
	struct life l;

	begin(&l);
	count(&l, a_process(&l, 1), an_image(&l, "aa"));
	cut(&l);
	end(&l);
	change("UPDATE sequence SET next = 4294963200 WHERE name = 'process'");
	begin(&l);
	for (int32_t pid = 2; pid < 9000; pid++) {
		const uint32_t process = a_process(&l, pid);

		assert_true(process != LIVE_NO_PROCESS);
		count(&l, process, an_image(&l, "aa"));
	}
	cut(&l);
	end(&l);
	assert_int_equal(ask("SELECT count(DISTINCT pid) FROM process"), 8999);
	assert_int_equal(ask("SELECT count(*) FROM process WHERE comm <> 'server'"), 0);
	assert_clean();
	(void)state;
}

/* A file of version 1: readers take it as it is, a writer brings it up to date. */
static void test_4603_a_file_of_version_1_is_read_and_brought_up_to_date(void **state)
{
	struct err e = { "" };
	struct life l;

	begin(&l);
	synth_counts(&l.s, &l.sink, 1000);
	cut(&l);
	end(&l);
	change("DROP INDEX image_last; DROP INDEX process_last;"
	       "ALTER TABLE image DROP COLUMN last_s; ALTER TABLE process DROP COLUMN last_s;"
	       "PRAGMA user_version = 1");
	assert_clean();
	struct db *d = db_open("db", DB_READ, NULL, &e);
	struct live_profile *p = d ? db_select(d, &(struct db_selection){ 0 }, &e) : NULL;

	must(p != NULL, &e);
	char *before = synth_text(p);

	live_profile_free(p);
	db_close(d);
	assert_int_equal(ask("PRAGMA user_version"), 1);
	begin(&l);
	assert_int_equal(ask("PRAGMA user_version"), 2);
	assert_clean();
	p = db_select(l.d, &(struct db_selection){ 0 }, &e);
	must(p != NULL, &e);
	char *after = synth_text(p);

	live_profile_free(p);
	assert_string_equal(after, before);
	keep(&l);
	assert_true(ask("SELECT count(*) FROM process") > EACH / 2);
	l.t.wall += 10 * HOUR;
	pass_hour(&l);
	assert_int_equal(ask("SELECT count(*) FROM process"), 0);
	end(&l);
	free(before);
	free(after);
	(void)state;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, synth_make_folder, synth_remove_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_4600_rows_go_with_the_last_epoch_that_needs_them),
		TEST(test_4601_what_waits_and_what_others_write_is_kept),
		TEST(test_4602_numbers_begin_anew),
		TEST(test_4603_a_file_of_version_1_is_read_and_brought_up_to_date),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

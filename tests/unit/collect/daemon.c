/* SPDX-License-Identifier: MIT */
/* The daemon with a made-up source: what its socket answers and to whom, and how it ends. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "collect/control.h"
#include "collect/daemon.h"
#include "synth.h"

/* ---- The source ---- */

struct made_up {
	struct synth s;
	struct live_sink sink;
	uint32_t new_each_time; /* processes */
};

static void *open_source(void *self, const struct live_sink *sink, struct err *e)
{
	struct made_up *m = x_calloc(1, sizeof(*m));

	synth_begin(&m->s, 1);
	m->sink = *sink;
	if (self)
		m->s.nprocesses = m->new_each_time = *(const uint32_t *)self;
	(void)e;
	return m;
}

static int source_fd(void *source)
{
	(void)source;
	return -1;
}

static bool flush_source(void *source, struct err *e)
{
	struct made_up *m = source;

	return synth_cut(&m->s, &m->sink, e);
}

static bool poll_source(void *source, int timeout_ms, struct err *e)
{
	struct made_up *m = source;

	synth_counts(&m->s, &m->sink, 50);
	m->s.pending = 7;
	m->s.first_process += m->new_each_time;
	(void)timeout_ms;
	return flush_source(source, e);
}

static bool close_source(void *source, struct err *e)
{
	struct made_up *m = source;

	m->s.pending = 0;
	const bool ok = flush_source(source, e);

	free(m);
	return ok;
}

/* It asks for a number whenever it counts. */
static void hold_nothing(void *source, struct held *h)
{
	(void)source;
	(void)h;
}

static struct daemon_source made_up = { .open = open_source,
					.fd = source_fd,
					.poll = poll_source,
					.flush = flush_source,
					.hold = hold_nothing,
					.close = close_source };

static pid_t start(const struct daemon_options *given)
{
	struct daemon_options o = *given;
	int ready[2];
	char byte;

	assert_int_equal(pipe(ready), 0);
	const pid_t child = fork();

	if (!child) {
		struct err e = { "" };

		/* A test that fails leaves no daemon behind. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(ready[0]);
		o.ready_fd = ready[1];
		const bool ok = daemon_run(&o, &made_up, &e);

		if (!ok)
			fprintf(stderr, "%s\n", e.text);
		_exit(ok ? 0 : 2);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return child;
}

static void ends_well(pid_t child)
{
	int status;

	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* What the daemon answers; NULL: an error, whose text is in e. The caller frees. */
static char *ask(const char *socket, const char *line, struct err *e)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	const bool ok = control_ask(socket, line, out, e);

	fclose(out);
	if (ok)
		return text;
	free(text);
	return NULL;
}

static void complain(void *self, const char *line)
{
	print_message("%s\n", line);
	(void)self;
}

static size_t epochs_of(const char *path, uint64_t *stored)
{
	struct err e = { "" };
	struct db *d = db_open(path, DB_READ, NULL, &e);
	struct db_epoch *epochs;
	size_t n;

	if (!d)
		fail_msg("%s", e.text);
	assert_true(db_check(d, complain, NULL));
	assert_true(db_epochs(d, &epochs, &n, &e));
	for (size_t i = 0; stored && i < n; i++)
		*stored += epochs[i].stored;
	db_epochs_free(epochs, n);
	db_close(d);
	return n;
}

static void test_2340_it_answers_status_flush_epoch_and_stop(void **state)
{
	const struct daemon_options o = { .folder = "db", .per_process = true };
	const pid_t child = start(&o);
	struct err e = { "" };
	struct stat st;
	char pid[32];

	assert_int_equal(stat("db/socket", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0660);
	usleep(600000);
	char *text = ask("db/socket", "status", &e);

	assert_non_null(text);
	snprintf(pid, sizeof(pid), "process %d,", (int)child);
	assert_non_null(strstr(text, pid));
	assert_non_null(strstr(text, "cycles: "));
	assert_non_null(strstr(text, "prog0"));
	free(text);
	free(ask("db/socket", "flush", &e));
	assert_int_equal(epochs_of("db", NULL), 1);
	free(ask("db/socket", "epoch", &e));
	usleep(600000);
	assert_null(ask("db/socket", "dance", &e));
	assert_non_null(strstr(e.text, "status, flush, epoch"));
	free(ask("db/socket", "stop", &e));
	ends_well(child);
	uint64_t stored = 0;

	assert_int_equal(epochs_of("db", &stored), 2);
	assert_true(stored > 100);
	assert_int_equal(access("db/socket", F_OK), -1);
	(void)state;
}

static void test_2341_a_second_daemon_names_the_first(void **state)
{
	const struct daemon_options o = { .folder = "db", .ready_fd = -1 };
	const pid_t child = start(&o);
	struct err e = { "" };
	char pid[32];

	assert_false(daemon_run(&o, &made_up, &e));
	snprintf(pid, sizeof(pid), "process %d;", (int)child);
	assert_non_null(strstr(e.text, pid));
	assert_int_equal(kill(child, SIGTERM), 0);
	ends_well(child);
	/* After a kill, its lock and its socket do not stand in the way. */
	const pid_t second = start(&o);

	kill(second, SIGKILL);
	waitpid(second, NULL, 0);
	assert_int_equal(access("db/socket", F_OK), 0);
	const pid_t third = start(&o);

	kill(third, SIGTERM);
	ends_well(third);
	(void)state;
}

static void test_2342_a_user_outside_the_group_sees_own_processes_alone(void **state)
{
	const struct group *g = getgrnam("nogroup");
	const struct passwd *p = getpwnam("nobody");
	const struct daemon_options o = {
		.folder = "db", .socket = "sock", .group = "nogroup", .per_process = true
	};

	if (geteuid() != 0 || !g || !p) {
		print_message("needs root, nobody and nogroup\n");
		skip();
	}
	const pid_t child = start(&o);
	struct err e = { "" };

	usleep(800000);
	char *all = ask("sock", "status", &e);

	/* The made-up processes belong to users 0, 1 and 2. */
	assert_non_null(strstr(all, "of user 0"));
	assert_non_null(strstr(all, "of user 2"));
	free(all);
	const pid_t asker = fork();

	if (!asker) {
		/* uid 2 with the socket's group, which is not the database's. */
		if (setgroups(0, NULL) || setgid(g->gr_gid) || setuid(2))
			_exit(10);
		char *own = ask("sock", "status", &e);

		if (!own || !strstr(own, "of user 2"))
			_exit(11);
		if (strstr(own, "of user 0") || strstr(own, "of user 1") || strstr(own, "database"))
			_exit(12);
		free(own);
		if (ask("sock", "stop", &e) || !strstr(e.text, "group"))
			_exit(13);
		_exit(access("db/profile.db", R_OK) == 0 ? 14 : 0);
	}
	ends_well(asker);
	free(ask("sock", "stop", &e));
	ends_well(child);
	(void)state;
}

struct fake_clock {
	uint64_t steady, wall;
};

/* A clock that runs ten thousand times as fast, and whose wall jumps back and forth. */
static uint64_t fast_steady(void *self)
{
	struct fake_clock *c = self;

	return (db_real_clock.steady_ns(NULL) - c->steady) * 10000;
}

static uint64_t fast_wall(void *self)
{
	struct fake_clock *c = self;
	const uint64_t t = fast_steady(self);

	return c->wall + t - (t / 5000000000000u % 2) * 20000000000000u;
}

static void test_2343_epochs_end_by_time_and_never_overlap(void **state)
{
	struct fake_clock c = { db_real_clock.steady_ns(NULL), 1700000000000000000u };
	const struct db_clock clock = { &c, fast_wall, fast_steady };
	const struct daemon_options o = { .folder = "db",
					  .clock = &clock,
					  .keep = { .max_age_ns = 1000 * 3600000000000u } };
	const pid_t child = start(&o);
	struct err e = { "" };

	usleep(2500000); /* about seven hours */
	free(ask("db/socket", "stop", &e));
	ends_well(child);
	assert_in_range(epochs_of("db", NULL), 4, 9);
	(void)state;
}

static void test_2344_no_second_takes_more_than_a_twentieth_of_a_processor(void **state)
{
	const struct daemon_options o = { .folder = "db",
					  .per_process = true,
					  .epoch_ns = 1000000000u };
	const pid_t child = start(&o);
	struct err e = { "" };
	double last = 0;

	/* status itself is answered in that time, too. */
	for (int i = 0; i < 4; i++) {
		usleep(1000000);
		char *text = ask("db/socket", "status", &e);
		const char *at = strstr(text, "resident") ? strchr(text, ',') : NULL;

		assert_non_null(at);
		const double now = strtod(at + 1, NULL);

		if (i)
			assert_true(now - last <= 0.11); /* 0.05, and figures of one decimal */
		last = now;
		free(text);
	}
	free(ask("db/socket", "stop", &e));
	ends_well(child);
	assert_true(epochs_of("db", NULL) >= 3);
	(void)state;
}

#ifdef __has_feature
#define SLOW __has_feature(address_sanitizer)
#elif defined(__SANITIZE_ADDRESS__)
#define SLOW 1
#else
#define SLOW 0
#endif

static int64_t number(const char *sql)
{
	sqlite3_stmt *stmt = NULL;
	sqlite3 *s = NULL;

	assert_int_equal(sqlite3_open("db/profile.db", &s), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(s, sql, -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	const int64_t n = sqlite3_column_int64(stmt, 0);

	sqlite3_finalize(stmt);
	sqlite3_close(s);
	return n;
}

/* A machine whose processes are others all the time: the database has those of what it keeps. */
static void test_4604_processes_go_while_it_runs(void **state)
{
	uint32_t each = 50;
	struct err e = { "" };

	made_up.self = &each;
	const pid_t child = start(&(struct daemon_options){ .folder = "db",
							    .per_process = true,
							    .epoch_ns = 300000000,
							    .keep = { .max_age_ns = 500000000 } });

	made_up.self = NULL;
	sleep(6);
	free(ask("db/socket", "stop", &e));
	ends_well(child);
	const int64_t all = number("SELECT max(id) FROM process");
	const int64_t kept = number("SELECT count(*) FROM process");

	print_message("%d processes, %d of them kept\n", (int)all, (int)kept);
	assert_true(all > 200);
	/* Sanitizers slow the daemon down, which then spends its share of time on fewer rows. */
	assert_true(kept > 0 && kept < (SLOW ? all - 20 : all / 2));
	struct db *d = db_open("db", DB_READ, NULL, &e);

	assert_non_null(d);
	assert_true(db_check(d, complain, NULL));
	db_close(d);
	(void)state;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, synth_make_folder, synth_remove_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_2340_it_answers_status_flush_epoch_and_stop),
		TEST(test_2341_a_second_daemon_names_the_first),
		TEST(test_2342_a_user_outside_the_group_sees_own_processes_alone),
		TEST(test_2343_epochs_end_by_time_and_never_overlap),
		TEST(test_4604_processes_go_while_it_runs),
		TEST(test_2344_no_second_takes_more_than_a_twentieth_of_a_processor),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Output files: what they replace, and what happens to temporary files of writers that were
 * killed. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "util/output.h"

static char folder[64];

static bool is_own(const uint8_t *head, size_t size, const char *path)
{
	return output_begins(head, size, "own");
}

static const struct output_kind kind = { "one of ours", "-o", false, is_own };

static int enter(void **state)
{
	strcpy(folder, "/tmp/culprit-output-XXXXXX");
	return mkdtemp(folder) && !chdir(folder) ? 0 : -1;
}

static int leave(void **state)
{
	char *command = x_asprintf("rm -r %s", folder);
	int status = chdir("/") || system(command);

	free(command);
	return status;
}

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	fputs(text, f);
	fclose(f);
}

static bool holds(const char *path, const char *text)
{
	char buf[64] = "";
	int fd = open(path, O_RDONLY);
	ssize_t n = read(fd, buf, sizeof(buf) - 1);

	close(fd);
	return n == (ssize_t)strlen(text) && !strcmp(buf, text);
}

static bool write_to(const char *path, struct err *e)
{
	struct output *o = output_open(path, &kind, e);

	if (!o)
		return false;
	assert_int_equal(write(output_fd(o), "own new", 7), 7);
	return output_commit(o, e);
}

static void test_048_only_its_own_kind_is_replaced(void **state)
{
	static const char *const others[] = { "", "o", "precious", "\177ELF" };
	struct err e;

	assert_true(write_to("x", &e));
	assert_true(holds("x", "own new"));
	put("x", "own old");
	assert_true(write_to("x", &e));
	assert_true(holds("x", "own new"));
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		put("x", others[i]);
		assert_false(write_to("x", &e));
		assert_non_null(strstr(e.text, "x is not replaced"));
		assert_true(holds("x", others[i]));
		assert_false(output_may_open("x", &kind, &e));
	}
	assert_int_equal(mkdir("d", 0700), 0);
	assert_false(write_to("d", &e));
	assert_false(write_to("nowhere/x", &e));
}

static void test_049_a_link_stays_and_its_target_counts(void **state)
{
	struct stat st;
	struct err e;

	put("target", "own old");
	assert_int_equal(symlink("target", "link"), 0);
	assert_true(write_to("link", &e));
	assert_true(holds("target", "own new"));
	assert_true(!lstat("link", &st) && S_ISLNK(st.st_mode));
	put("target", "precious");
	assert_false(write_to("link", &e));
	assert_true(holds("target", "precious"));
	assert_int_equal(unlink("target"), 0);
	assert_false(write_to("link", &e));
	assert_int_equal(access("target", F_OK), -1);
}

static void test_050_a_pipe_is_written_in_place(void **state)
{
	char buf[16];
	struct err e;

	assert_int_equal(mkfifo("pipe", 0600), 0);
	int reader = open("pipe", O_RDONLY | O_NONBLOCK);
	assert_true(write_to("pipe", &e));
	assert_int_equal(read(reader, buf, sizeof(buf)), 7);
	close(reader);

	struct output_kind files = kind;
	files.only_files = true;
	assert_null(output_open("pipe", &files, &e));
}

static void test_051_what_appears_during_the_run_is_not_lost_and_neither_is_the_result(void **state)
{
	struct err e;
	struct output *o = output_open("x", &kind, &e);

	assert_int_equal(write(output_fd(o), "own new", 7), 7);
	put("x", "precious");
	assert_false(output_commit(o, &e));
	assert_non_null(strstr(e.text, "x.new1"));
	assert_true(holds("x", "precious"));
	assert_true(holds("x.new1", "own new"));
}

static void test_052_what_a_killed_writer_left_is_removed_by_the_next(void **state)
{
	struct err e;
	int ends[2], status;
	char byte;

	assert_int_equal(pipe(ends), 0);
	pid_t child = fork();
	if (!child) {
		struct output *o = output_open("x", &kind, &e);
		if (!o || write(output_fd(o), "own", 3) != 3 || write(ends[1], "!", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ends[0], &byte, 1), 1);
	char *left = x_asprintf("x.%d.tmp", (int)child);
	assert_int_equal(access(left, F_OK), 0);

	/* A temporary file is not removed while its writer runs. */
	assert_true(write_to("x", &e));
	assert_int_equal(access(left, F_OK), 0);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);

	/* A file that only looks like a temporary one is not removed either. */
	put("x.77.tmp", "precious");
	put("x.y.tmp", "own");
	put("xx.78.tmp", "own");
	assert_true(write_to("x", &e));
	assert_int_equal(access(left, F_OK), -1);
	assert_int_equal(access("x.77.tmp", F_OK), 0);
	assert_int_equal(access("x.y.tmp", F_OK), 0);
	assert_int_equal(access("xx.78.tmp", F_OK), 0);
	free(left);
}

static void test_053_two_writers_do_not_disturb_each_other(void **state)
{
	struct err e;
	struct output *a = output_open("x", &kind, &e), *b = output_open("x", &kind, &e);

	assert_string_not_equal(output_now(a), output_now(b));
	assert_int_equal(write(output_fd(a), "own a", 5), 5);
	assert_int_equal(write(output_fd(b), "own b", 5), 5);
	assert_true(output_commit(a, &e));
	assert_true(holds("x", "own a"));
	assert_true(output_commit(b, &e));
	assert_true(holds("x", "own b"));
	a = output_open("x", &kind, &e);
	output_discard(a);
	assert_true(holds("x", "own b"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)
		TEST(test_048_only_its_own_kind_is_replaced),
		TEST(test_049_a_link_stays_and_its_target_counts),
		TEST(test_050_a_pipe_is_written_in_place),
		TEST(test_051_what_appears_during_the_run_is_not_lost_and_neither_is_the_result),
		TEST(test_052_what_a_killed_writer_left_is_removed_by_the_next),
		TEST(test_053_two_writers_do_not_disturb_each_other),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* Tests the process that opens files for a confined one, asked by a confined process that a guest
 * has taken over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/outside.h"
#include "util/util.h"

/* Runs fn in a new folder, in a process that asks another one to open files; returns fn's
 * result. */
static int asking(int (*fn)(void))
{
	char folder[] = "/tmp/culprit-outside-XXXXXX", *command;
	int ends[2], status;
	struct outside_server *server = outside_server_new();

	assert_non_null(mkdtemp(folder));
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	assert_int_equal(chdir(folder), 0);

	pid_t pid = fork();

	if (!pid) {
		close(ends[0]);
		outside_through(ends[1]);
		_exit(fn());
	}
	close(ends[1]);
	while (outside_serve(server, ends[0]))
		;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	outside_server_free(server);
	close(ends[0]);
	command = x_asprintf("rm -rf %s", folder);
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(system(command), 0);
	free(command);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

static void put_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		_exit(97);
	close(fd);
}

static bool holds(const char *path, const char *text)
{
	char buf[64] = "";
	int fd = open(path, O_RDONLY);
	bool same = fd >= 0 && read(fd, buf, sizeof(buf) - 1) >= 0 && !strcmp(buf, text);

	close(fd);
	return same;
}

static bool opens(const char *path)
{
	int fd = outside_open(path, O_WRONLY | O_CREAT, 0666);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Prints the first line that does not hold, and fails. */
#define HOLD(what)                                                                                 \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			dprintf(2, "line %d: %s\n", __LINE__, #what);                              \
			return 1;                                                                  \
		}                                                                                  \
	} while (0)

static int after_the_seal(void)
{
	static const char *const never[] = { "b",
					     "a.culpri",
					     "a.culpritx",
					     "a.culprit.x",
					     "a.culprit.2/x",
					     "../a.culprit",
					     "/etc/passwd",
					     "a.tmp",
					     "a.culprit.1.tmp.sh",
					     ".a.culprit",
					     "a.culprit.-1",
					     "./../../etc/x",
					     "" };

	HOLD(opens("a.culprit.1.tmp"));
	outside_seal();
	for (size_t i = 0; i < ARRAY_LEN(never); i++) {
		HOLD(!opens(never[i]));
		HOLD(outside_unlink(never[i]) == -1);
		HOLD(outside_rename("a.culprit.1.tmp", never[i], 0) == -1);
		HOLD(outside_rename(never[i], "a.culprit", 0) == -1);
	}
	HOLD(opens("a.culprit.2.1.77.tmp"));
	HOLD(opens("./a.culprit.3"));
	HOLD(outside_rename("a.culprit.1.tmp", "a.culprit", 0) == 0);
	HOLD(!access("a.culprit", F_OK));
	outside_expect("b");
	HOLD(!opens("b"));
	return 0;
}

static void test_036_after_the_seal_only_known_names_and_their_numbers_are_opened(void **state)
{
	assert_int_equal(asking(after_the_seal), 0);
}

static int others_files(void)
{
	put_file("a.culprit", "not a profile");
	put_file("a.culprit.7.tmp", "another run's");
	HOLD(opens("a.culprit.1.tmp"));
	put_file("a.culprit.1.tmp", "SQLite format 3");
	HOLD(truncate("a.culprit.1.tmp", 16) == 0);
	outside_seal();
	HOLD(outside_unlink("a.culprit.7.tmp") == -1 && holds("a.culprit.7.tmp", "another run's"));
	HOLD(outside_unlink("a.culprit") == -1 && holds("a.culprit", "not a profile"));
	HOLD(outside_rename("a.culprit.7.tmp", "a.culprit", 0) == -1);
	HOLD(outside_rename("a.culprit.1.tmp", "a.culprit", 0) == -1 && errno == EEXIST);
	HOLD(holds("a.culprit", "not a profile"));
	HOLD(outside_unlink("a.culprit.1.tmp") == 0);
	return 0;
}

static void test_037_what_others_made_is_neither_removed_nor_replaced(void **state)
{
	assert_int_equal(asking(others_files), 0);
}

/* A guest that may write in the same folder puts something in the way. */
static int in_the_way(void)
{
	struct stat st;

	put_file("victim", "kept");
	outside_expect("a");
	outside_seal();
	HOLD(symlink("victim", "a") == 0 && symlink("victim", "a.1.tmp") == 0);
	HOLD(symlink("victim", "a.1") == 0 && symlink("victim", "a.2.9.tmp") == 0);
	HOLD(mkfifo("a.3", 0666) == 0 && mkfifo("a.4.9.tmp", 0666) == 0);
	HOLD(!opens("a") && !opens("a.1.tmp") && !opens("a.1") && !opens("a.2.9.tmp"));
	HOLD(!opens("a.3") && !opens("a.3.9.tmp") && !opens("a.4.9.tmp"));
	HOLD(opens("a.5.9.tmp"));
	HOLD(outside_rename("a.5.9.tmp", "a", 0) == -1);
	HOLD(!lstat("a", &st) && S_ISLNK(st.st_mode));
	HOLD(holds("victim", "kept"));
	return 0;
}

static void test_293_what_a_guest_puts_in_the_way_is_not_followed(void **state)
{
	assert_int_equal(asking(in_the_way), 0);
}

static int left_over(void)
{
	put_file("a.culprit.2.tmp", "left by a run that was killed");
	HOLD(opens("a.culprit.2.tmp"));
	HOLD(holds("a.culprit.2.tmp", ""));
	put_file("a.culprit.2.tmp", "mine");
	HOLD(opens("a.culprit.2.tmp")); /* a second time, as SQLite opens it */
	HOLD(holds("a.culprit.2.tmp", "mine"));
	return 0;
}

static void test_038_a_left_over_of_the_same_name_begins_empty(void **state)
{
	assert_int_equal(asking(left_over), 0);
}

static int in_place(void)
{
	struct stat st;

	HOLD(mkfifo("pipe", 0666) == 0);
	HOLD(open("pipe", O_RDWR) >= 0); /* so that opening the pipe does not block */
	HOLD(outside_stat("pipe", false, &st) == 0 && S_ISFIFO(st.st_mode));
	HOLD(opens("pipe.5.tmp") && access("pipe.5.tmp", F_OK));
	HOLD(outside_rename("pipe.5.tmp", "pipe", 0) == 0);
	HOLD(outside_stat("pipe", false, &st) == 0 && S_ISFIFO(st.st_mode));
	outside_seal();
	HOLD(outside_stat("/etc/passwd", true, &st) == -1 && errno == EACCES);
	return 0;
}

static void test_039_a_pipe_is_written_and_never_replaced(void **state)
{
	assert_int_equal(asking(in_place), 0);
}

/* Two processes ask at once: each gets its own answers. */
static int by_two(void)
{
	int status, other;
	pid_t pid;

	outside_expect("a");
	outside_expect("b");
	outside_seal();
	pid = fork();
	for (int i = 0; i < 200; i++) {
		int fd = outside_open(pid ? "a" : "b", O_RDWR | O_CREAT, 0666);
		struct stat st, mine;

		HOLD(fd >= 0 && !fstat(fd, &st) && !stat(pid ? "a" : "b", &mine) &&
		     st.st_ino == mine.st_ino);
		other = close(fd);
		HOLD(!other);
	}
	if (!pid)
		_exit(0);
	return waitpid(pid, &status, 0) != pid || status;
}

static void test_040_processes_that_ask_at_once_get_their_own_answers(void **state)
{
	assert_int_equal(asking(by_two), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    test_036_after_the_seal_only_known_names_and_their_numbers_are_opened),
		cmocka_unit_test(test_037_what_others_made_is_neither_removed_nor_replaced),
		cmocka_unit_test(test_293_what_a_guest_puts_in_the_way_is_not_followed),
		cmocka_unit_test(test_038_a_left_over_of_the_same_name_begins_empty),
		cmocka_unit_test(test_039_a_pipe_is_written_and_never_replaced),
		cmocka_unit_test(test_040_processes_that_ask_at_once_get_their_own_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

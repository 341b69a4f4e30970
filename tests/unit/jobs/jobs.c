/* SPDX-License-Identifier: MIT */
/* Tests the job runner with shell commands as jobs, in a cache of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "jobs/jobs.h"

static char *cache; /* cache folder of the running test */

static int setup(void **state)
{
	char name[] = "/tmp/culprit-jobs-XXXXXX";
	cache = x_strdup(mkdtemp(name));
	return 0;
}

static int teardown(void **state)
{
	char *command = x_asprintf("rm -rf '%s'", cache);
	int status = system(command);
	free(command);
	free(cache);
	return status;
}

static struct job shell(const char *name, const char *script)
{
	struct job j = { .name = x_strdup(name), .argv = x_calloc(4, sizeof(char *)) };
	struct digest d;
	j.argv[0] = x_strdup("/bin/sh");
	j.argv[1] = x_strdup("-c");
	j.argv[2] = x_strdup(script);
	digest_init(&d);
	digest_text(&d, script);
	digest_hex(&d, j.key);
	return j;
}

static bool run(struct job *jobs, size_t count, unsigned parallel, struct err *e)
{
	struct jobs_options o = { .parallel = parallel, .cache_dir = cache };
	return jobs_run(jobs, count, &o, e);
}

static void free_all(struct job *jobs, size_t count)
{
	for (size_t i = 0; i < count; i++)
		job_free(&jobs[i]);
}

static char *content(const char *path)
{
	static char text[256];
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	text[fread(text, 1, sizeof(text) - 1, f)] = 0;
	fclose(f);
	return text;
}

/* Returns how often a file was appended to. */
static long lines(const char *name)
{
	char *path = x_asprintf("%s/%s", cache, name);
	struct stat st;
	long n = stat(path, &st) ? 0 : (long)st.st_size / 2;
	free(path);
	return n;
}

static void test_860_the_digest_is_sha_256(void **state)
{
	static const struct {
		const char *text, *hex;
	} known[] = {
		{ "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
		{ "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
	};
	struct digest d;
	char hex[DIGEST_HEX];
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		digest_init(&d);
		digest_add(&d, known[i].text, strlen(known[i].text));
		digest_hex(&d, hex);
		assert_string_equal(hex, known[i].hex);
	}
	digest_init(&d);
	for (int i = 0; i < 1000000; i++)
		digest_add(&d, "a", 1);
	digest_hex(&d, hex);
	assert_string_equal(hex,
			    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* By the processor's instructions, if it has them, and without; in one piece and in many. */
static void test_2925_every_way_to_digest_gives_the_same(void **state)
{
	static uint8_t data[5000];
	char first[DIGEST_HEX], other[DIGEST_HEX];
	uint64_t r = 1;

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)((r = hash_u64(r)) >> 32);
	for (size_t bytes = 0; bytes < sizeof(data); bytes += 61) {
		struct digest whole, pieces, plain;

		digest_init(&whole);
		digest_init(&pieces);
		digest_init(&plain);
		plain.by_host = false;
		digest_add(&whole, data, bytes);
		digest_add(&plain, data, bytes);
		for (size_t at = 0, n; at < bytes; at += n) {
			n = min_u64(1 + (r = hash_u64(r)) % 200, bytes - at);
			digest_add(&pieces, data + at, n);
		}
		digest_hex(&whole, first);
		digest_hex(&plain, other);
		assert_string_equal(first, other);
		digest_hex(&pieces, other);
		assert_string_equal(first, other);
	}
}

static void test_861_texts_do_not_run_together(void **state)
{
	struct digest a, b;
	char x[DIGEST_HEX], y[DIGEST_HEX];
	digest_init(&a);
	digest_init(&b);
	digest_text(&a, "ab");
	digest_text(&a, "c");
	digest_text(&b, "a");
	digest_text(&b, "bc");
	digest_hex(&a, x);
	digest_hex(&b, y);
	assert_string_not_equal(x, y);
}

static void test_862_a_second_call_runs_nothing(void **state)
{
	char *script = x_asprintf("echo x >> %s/ran; echo result > {result}", cache);
	struct job jobs[1] = { shell("one", script) };
	struct err e = { "" };
	assert_true(run(jobs, 1, 2, &e));
	assert_int_equal(jobs[0].status, JOB_DONE);
	assert_string_equal(content(jobs[0].result), "result\n");
	assert_true(run(jobs, 1, 2, &e));
	assert_int_equal(jobs[0].status, JOB_CACHED);
	assert_string_equal(content(jobs[0].result), "result\n");
	assert_int_equal(lines("ran"), 1);
	free_all(jobs, 1);
	free(script);
}

static void test_863_a_failed_job_is_named_and_the_rest_kept(void **state)
{
	struct job jobs[3] = { shell("good", "echo 1 > {result}"),
			       shell("bad", "echo what went wrong >&2; exit 3"),
			       shell("also good", "echo 2 > {result}") };
	struct err e = { "" };
	assert_true(run(jobs, 3, 1, &e));
	assert_int_equal(jobs[0].status, JOB_DONE);
	assert_int_equal(jobs[1].status, JOB_FAILED);
	assert_int_equal(jobs[2].status, JOB_DONE);
	assert_non_null(strstr(jobs[1].message, "status 3"));
	assert_non_null(strstr(jobs[1].message, "what went wrong"));
	/* a failed job runs again, the others do not */
	assert_true(run(jobs, 3, 1, &e));
	assert_int_equal(jobs[0].status, JOB_CACHED);
	assert_int_equal(jobs[1].status, JOB_FAILED);
	free_all(jobs, 3);
}

static void test_864_a_job_without_a_result_has_failed(void **state)
{
	struct job jobs[3] = {
		shell("nothing", "true"), shell("empty", ": > {result}"),
		shell("full",
		      "echo culprit: sim: a: the disk is full; echo culprit: 5 instructions")
	};
	struct err e = { "" };
	assert_true(run(jobs, 3, 3, &e));
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(jobs[i].status, JOB_FAILED);
	/* The reason, not the summary of the run that follows it. */
	assert_non_null(strstr(jobs[2].message, "the disk is full"));
	free_all(jobs, 3);
}

static void test_865_a_job_that_a_signal_ends_has_failed(void **state)
{
	struct job jobs[1] = { shell("killed", "echo 1 > {result}; kill -SEGV $$") };
	struct err e = { "" };
	assert_true(run(jobs, 1, 1, &e));
	assert_int_equal(jobs[0].status, JOB_FAILED);
	assert_non_null(strstr(jobs[0].message, "signal 11"));
	free_all(jobs, 1);
}

static void test_866_jobs_of_one_digest_run_once(void **state)
{
	char *script = x_asprintf("echo x >> %s/ran; sleep 0.1; echo r > {result}", cache);
	struct job jobs[3] = { shell("a", script), shell("b", script), shell("c", script) };
	struct err e = { "" };
	assert_true(run(jobs, 3, 3, &e));
	for (unsigned i = 0; i < 3; i++)
		assert_true(jobs[i].status == JOB_DONE || jobs[i].status == JOB_CACHED);
	assert_int_equal(lines("ran"), 1);
	free_all(jobs, 3);
	free(script);
}

static void test_867_no_more_jobs_run_at_a_time_than_allowed(void **state)
{
	/* each job counts those that run beside it */
	char *script = x_asprintf("mkdir %s/run.$$; ls -d %s/run.* | wc -l > {result}; sleep 0.1; "
				  "rmdir %s/run.$$",
				  cache, cache, cache);
	struct job jobs[6];
	struct err e = { "" };
	for (unsigned i = 0; i < 6; i++) {
		char *own = x_asprintf("%s; : %u", script, i);
		jobs[i] = shell("counts", own);
		free(own);
	}
	assert_true(run(jobs, 6, 2, &e));
	for (unsigned i = 0; i < 6; i++) {
		assert_int_equal(jobs[i].status, JOB_DONE);
		assert_true(atoi(content(jobs[i].result)) <= 2);
	}
	free_all(jobs, 6);
	free(script);
}

static void test_868_an_interrupted_run_goes_on_where_it_stopped(void **state)
{
	char *slow = x_asprintf("echo x >> %s/slow; sleep 30; echo r > {result}", cache);
	char *quick = x_asprintf("echo x >> %s/quick; echo r > {result}", cache);
	struct job jobs[2] = { shell("quick", quick), shell("slow", slow) };
	struct err e = { "" };
	pid_t pid = fork();
	if (!pid) {
		bool ok = run(jobs, 2, 1, &e);
		_exit(!ok && strstr(e.text, "1 of 2") ? 42 : 1);
	}
	for (unsigned i = 0; i < 200 && !lines("slow"); i++)
		usleep(20000);
	assert_int_equal(lines("slow"), 1);
	kill(pid, SIGINT);
	int status;
	waitpid(pid, &status, 0);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 42);
	/* the second time the first job's result is cached, and the second job has left nothing */
	free(jobs[1].argv[2]);
	jobs[1].argv[2] = x_strdup("echo done > {result}");
	assert_true(run(jobs, 2, 1, &e));
	assert_int_equal(jobs[0].status, JOB_CACHED);
	assert_int_equal(jobs[1].status, JOB_DONE);
	assert_int_equal(lines("quick"), 1);
	free_all(jobs, 2);
	free(slow);
	free(quick);
}

static void test_869_a_cache_that_cannot_be_written_is_an_error(void **state)
{
	struct job jobs[1] = { shell("one", "echo 1 > {result}") };
	struct jobs_options o = { .cache_dir = "/proc/nowhere" };
	struct err e = { "" };
	assert_false(jobs_run(jobs, 1, &o, &e));
	assert_non_null(strstr(e.text, "/proc/nowhere"));
	free_all(jobs, 1);
}

static void test_870_progress_counts_every_job(void **state)
{
	struct jobs_line line = { 0 };
	struct job jobs[2] = { shell("one", "echo 1 > {result}"), shell("two", "exit 1") };
	struct jobs_options o = {
		.parallel = 1, .cache_dir = cache, .progress = jobs_line_show, .progress_ctx = &line
	};
	struct err e = { "" };
	assert_true(jobs_run(jobs, 2, &o, &e));
	jobs_line_end(&line);
	assert_true(line.asked);
	free_all(jobs, 2);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_860_the_digest_is_sha_256),
		cmocka_unit_test(test_2925_every_way_to_digest_gives_the_same),
		cmocka_unit_test(test_861_texts_do_not_run_together),
		CASE(test_862_a_second_call_runs_nothing),
		CASE(test_863_a_failed_job_is_named_and_the_rest_kept),
		CASE(test_864_a_job_without_a_result_has_failed),
		CASE(test_865_a_job_that_a_signal_ends_has_failed),
		CASE(test_866_jobs_of_one_digest_run_once),
		CASE(test_867_no_more_jobs_run_at_a_time_than_allowed),
		CASE(test_868_an_interrupted_run_goes_on_where_it_stopped),
		CASE(test_869_a_cache_that_cannot_be_written_is_an_error),
		CASE(test_870_progress_counts_every_job),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

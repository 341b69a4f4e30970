/* SPDX-License-Identifier: MIT */
/*
 * Processors that are possible but not on line, and those that come and go: as the collector sees them, in
 * a mount namespace whose list of processors is the test's own. Needs root and two processors; else
 * skipped. (tests/cli/second-kernel.sh switches one off and on.)
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <setjmp.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/collector.h"

#define ONLINE "/sys/devices/system/cpu/online"

static void set_online(const char *path, const char *list)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fprintf(f, "%s\n", list);
	assert_int_equal(fclose(f), 0);
}

static pid_t busy_on(int cpu)
{
	const pid_t child = fork();

	if (child)
		return child;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (sched_setaffinity(0, sizeof(set), &set))
		_exit(1);
	for (;;)
		__asm__ volatile("" ::: "memory");
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Samples of a processor by now. Every cut says taken = stored + lost + pending. */
static uint64_t samples_of(struct live_profile *p, struct collector *c, uint16_t cpu)
{
	struct err e = { "" };
	uint64_t samples = 0;
	size_t n;

	if (!collector_flush(c, &e))
		fail_msg("%s", e.text);
	const struct live_count *counts = live_counts(p, &n);
	const struct live_event *v = live_event(p, 0);

	assert_int_equal(v->taken, v->stored + v->lost + v->pending);
	for (size_t i = 0; i < n; i++)
		samples += counts[i].cpu == cpu ? counts[i].count : 0;
	return samples;
}

/* Polls until a processor has so many samples more, or the time is over. Gives how many it has. */
static uint64_t poll_until(struct live_profile *p, struct collector *c, uint16_t cpu, uint64_t more,
			   double seconds)
{
	const uint64_t begin = samples_of(p, c, cpu);
	const double until = now_s() + seconds;
	uint64_t now = begin;
	struct err e = { "" };

	while (now < begin + more && now_s() < until) {
		const double pause = now_s() + 0.5;

		while (now_s() < pause)
			if (!collector_poll(c, 100, &e))
				fail_msg("%s", e.text);
		now = samples_of(p, c, cpu);
	}
	return now;
}

static void test_4407_processors_come_and_go_and_no_sample_is_unaccounted_for(void **state)
{
	char path[] = "/tmp/culprit-online-XXXXXX";
	const int fd = mkstemp(path);
	struct err e = { "" };
	char **notes = NULL;
	size_t nnotes = 0;

	assert_true(fd >= 0);
	close(fd);
	set_online(path, "0");
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2 || unshare(CLONE_NEWNS) ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount(path, ONLINE, NULL, MS_BIND, NULL)) {
		unlink(path);
		print_message("skipped: needs root and two processors\n");
		skip();
	}
	const pid_t busy[] = { busy_on(0), busy_on(1) };
	struct live_profile *p = live_profile_new();
	const struct live_sink sink = live_profile_sink(p);
	const struct collector_options o = {
		.rate = 1000, .kernel = true, .per_cpu = true, .drain_s = 1
	};
	struct collector *c = collector_open(&o, &sink, &notes, &nnotes, &e);

	for (size_t i = 0; i < nnotes; i++)
		free(notes[i]);
	free(notes);
	if (c) {
		/* Fewer are on line than possible: those alone are sampled. */
		assert_true(poll_until(p, c, 0, 50, 30) >= 50);
		assert_int_equal(samples_of(p, c, 1), 0);
		set_online(path, "0-1");
		const uint64_t joined = poll_until(p, c, 1, 50, 30);

		assert_true(joined >= 50);
		set_online(path, "0");
		poll_until(p, c, 1, UINT64_MAX / 2, 2.5);
		const uint64_t left = samples_of(p, c, 1);
		const uint64_t other = samples_of(p, c, 0);

		assert_true(poll_until(p, c, 0, 50, 30) >= other + 50);
		assert_int_equal(samples_of(p, c, 1), left);
		set_online(path, "0-1");
		assert_true(poll_until(p, c, 1, 50, 30) >= left + 50);
		assert_true(collector_close(c, &e));
		assert_int_equal(live_event(p, 0)->pending, 0);
	}
	live_profile_free(p);
	for (size_t i = 0; i < 2; i++) {
		kill(busy[i], SIGKILL);
		waitpid(busy[i], NULL, 0);
	}
	umount(ONLINE);
	unlink(path);
	if (!c) {
		print_message("skipped: %s\n", e.text);
		skip();
	}
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_4407_processors_come_and_go_and_no_sample_is_unaccounted_for),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

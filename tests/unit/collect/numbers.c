/* SPDX-License-Identifier: MIT */
/*
 * The kernel's numbers of images and processes begin anew after weeks of a build machine. Here the last
 * ones are given first. Needs root; else skipped.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/collector_int.h"

#define RUNS 8

/* A shell that stops until it may count, and run programs one after the other. */
static pid_t stopped_shell(void)
{
	char *script = x_asprintf("kill -STOP $$; n=0; while [ $n -lt 200000 ]; do n=$((n+1)); "
				  "done; for i in $(seq %d); do %s shares 0.1; done",
				  RUNS, getenv("SAMPLED"));
	const pid_t child = fork();
	int status;

	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!freopen("/dev/null", "w", stdout))
			_exit(1);
		execl("/bin/sh", "sh", "-c", script, NULL);
		_exit(1);
	}
	free(script);
	assert_int_equal(waitpid(child, &status, WUNTRACED), child);
	assert_true(WIFSTOPPED(status));
	return child;
}

static void test_4605_numbers_begin_anew_and_no_sample_loses_its_place(void **state)
{
	const pid_t child = stopped_shell();
	struct live_profile *p = live_profile_new();
	const struct live_sink sink = live_profile_sink(p);
	const struct collector_options o = {
		.rate = 4000, .kernel = true, .pids = &child, .npids = 1, .per_process = true
	};
	uint64_t here = 0, unknown = 0, nobody = 0;
	struct err e = { "" };
	char **notes = NULL;
	size_t nnotes = 0, n;
	int status;
	struct collector *c = collector_open(&o, &sink, &notes, &nnotes, &e);

	for (size_t i = 0; i < nnotes; i++)
		free(notes[i]);
	free(notes);
	if (!c) {
		kill(child, SIGKILL);
		live_profile_free(p);
		print_message("skipped: %s\n", e.text);
		skip();
	}
	/* Nothing was sampled yet. */
	c->program.shared->tokens = SAMPLE_TOKENS - 2;
	c->tokens_base = SAMPLE_TOKENS - 1;
	c->program.shared->spaces = UINT32_MAX - 3;
	c->spaces_base = UINT32_MAX - 2;
	kill(child, SIGCONT);
	while (waitpid(child, &status, WNOHANG) == 0)
		assert_true(collector_poll(c, 50, &e));
	assert_true(collector_flush(c, &e));
	assert_true(c->program.shared->tokens > SAMPLE_TOKENS);
	assert_true(c->ntokens >= 2 && c->ntokens < 1000);
	assert_true(c->nspaces >= RUNS && c->nspaces < 1000);
	assert_true(collector_close(c, &e));
	const struct live_count *counts = live_counts(p, &n);
	const struct live_event *v = live_event(p, 0);

	assert_true(v->taken > 500);
	assert_int_equal(v->taken, v->stored + v->lost);
	for (size_t i = 0; i < n; i++) {
		const struct live_image *m = live_image(p, counts[i].image);

		here += strstr(m->name, "sampled") ? counts[i].count : 0;
		unknown += m->kind == LIVE_UNKNOWN ? counts[i].count : 0;
		nobody += counts[i].process == LIVE_NO_PROCESS ? counts[i].count : 0;
	}
	print_message("%d samples, %d of the program, %d unknown, %d of nobody\n", (int)v->stored,
		      (int)here, (int)unknown, (int)nobody);
	assert_true(here > v->stored / 3);
	assert_int_equal(unknown, 0);
	assert_int_equal(nobody, 0);
	assert_true(live_processes(p) > RUNS);
	live_profile_free(p);
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_4605_numbers_begin_anew_and_no_sample_loses_its_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

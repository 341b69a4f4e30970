/* SPDX-License-Identifier: MIT */
/*
 * Runs hostile guests (hostile.h) on modelled machines: culprit must not fail, must write a profile
 * that can be read and a trace that gives the same profile again, and the guest must do what it does
 * in the functional mode: same output, same status, same instructions. Every other program is one
 * that qemu-riscv64 runs as Linux does, and is compared with qemu, too.
 *
 *      hostile --culprit FILE [--qemu FILE] [--count N] [--seed N] [--emit FILE]
 *
 * --count programs (default 36), from --seed on; each on the next machine of the list, with the
 * next settings. --emit writes the first program and ends. Exits 0, or 1 after the first program
 * that fails, whose files are kept.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "differential/random/hostile.h"
#include "differential/random/run.h"
#include "util/number.h"
#include "util/util.h"

enum run {
	RUN_FUNCTIONAL,
	RUN_TIMING,
	RUN_INTERPRETED,
	RUN_QEMU,
	RUN_REPORT,
	RUN_REPLAY,
	RUN_AGAIN,
	RUNS
};
static const char *const run_name[RUNS] = { "functional", "timing", "interpreter",	   "qemu",
					    "report",	  "replay", "report of the replay" };

static const char *const machines[] = {
	"boom-tip",	 "boom-tea",	   "eyerman2006",  "fields2004", "inorder-2w",
	"puzak2007-bus", "puzak2007-inst", "puzak2007-l3", "puzak2007",	 "tracedoctor2023",
};
static const char *const settings[][2] = {
	{ "exception.page_faults=yes", "window.rob=128" },
	{ "window.rob=8", "lsu.order=speculative" },
	{ "window.rob=16", "lsu.store_queue=1" },
	{ "ideal.flush=on", "window.rob=64" },
	{ "ideal.bw=on", "lsu.order=conservative" },
	{ "ideal.win=on", "decode.branches=1" },
	{ "bpred.direction=perfect", "lsu.load_queue=1" },
};

struct options {
	struct runner runner;
	uint64_t seed;
	unsigned count;
	const char *emit;
};

static void usage(void)
{
	die("usage: hostile --culprit FILE [--qemu FILE] [--count N] [--seed N] [--emit FILE]");
}

static void parse(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{ "culprit", required_argument, NULL, 'c' },
		{ "qemu", required_argument, NULL, 'q' },
		{ "count", required_argument, NULL, 'n' },
		{ "seed", required_argument, NULL, 'S' },
		{ "emit", required_argument, NULL, 'e' },
		{ 0 },
	};
	int opt;

	while ((opt = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (opt) {
		case 'c':
			o->runner.culprit = optarg;
			break;
		case 'q':
			o->runner.qemu = optarg;
			break;
		case 'n':
			o->count = (unsigned)number_argument("--count", optarg, 1, 100000000);
			break;
		case 'S':
			o->seed = number_argument("--seed", optarg, 0, UINT64_MAX);
			break;
		case 'e':
			o->emit = optarg;
			break;
		default:
			usage();
		}
	}
	if (optind != argc || (!o->emit && !o->runner.culprit))
		usage();
}

static char *in_folder(const struct runner *r, const char *name)
{
	return x_asprintf("%s/%s", r->folder, name);
}

static void remove_file(const struct runner *r, const char *name)
{
	char *path = in_folder(r, name);

	unlink(path);
	free(path);
}

static void remove_files(const struct runner *r)
{
	static const char *const names[] = { "program", "program.bad", "store",
					     "again",	"first",       "trace" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		remove_file(r, names[i]);
	for (unsigned n = 0; n < RUNS; n++) {
		char name[3][16];

		snprintf(name[0], sizeof(name[0]), "out.%u", n);
		snprintf(name[1], sizeof(name[1]), "err.%u", n);
		snprintf(name[2], sizeof(name[2]), "sum.%u", n);
		for (unsigned k = 0; k < 3; k++)
			remove_file(r, name[k]);
	}
}

/* Returns the options of program `seed`. */
static struct hostile_options options_of(const struct options *o, uint64_t seed)
{
	return (struct hostile_options){ .seed = seed,
					 .plain = o->runner.qemu && seed % 2,
					 .timer = seed % 10 == 4 };
}

struct test {
	const struct options *o;
	uint64_t seed;
	struct hostile_options program;
	struct hostile made;
	struct outcome out[RUNS];
	bool ran[RUNS];
};

static bool complain(const struct test *t, enum run run, const char *what)
{
	const struct outcome *a = &t->out[RUN_FUNCTIONAL], *b = &t->out[run];

	printf("seed %llu on %s with %s and %s: %s: %s\n", (unsigned long long)t->seed,
	       machines[t->seed % ARRAY_LEN(machines)], settings[t->seed % ARRAY_LEN(settings)][0],
	       settings[t->seed % ARRAY_LEN(settings)][1], run_name[run], what);
	printf("status %d, here %d; %zu bytes, here %zu; %llu instructions, here %llu and %llu "
	       "faults; it ends by %s\nits files are in %s\n",
	       run_status(a->status), run_status(b->status), a->output_bytes, b->output_bytes,
	       (unsigned long long)a->insts, (unsigned long long)b->insts,
	       (unsigned long long)b->faults, hostile_end_name[t->made.end], t->o->runner.folder);
	return false;
}

static void run(struct test *t, enum run run, const char *const *argv)
{
	pid_t pid = run_start(&t->o->runner, run, argv);

	run_collect(&t->o->runner, run, pid, &t->out[run]);
	t->ran[run] = true;
}

static void run_program(struct test *t)
{
	const struct runner *r = &t->o->runner;
	char *elf = in_folder(r, "program"), *store = in_folder(r, "store");
	char *trace = in_folder(r, "trace"), *again = in_folder(r, "again");
	char *first = in_folder(r, "first");
	char *sum = in_folder(r, "sum.0"), *sum_timing = in_folder(r, "sum.1");
	char *sum_interpreted = in_folder(r, "sum.2");
	const char *const *set = settings[t->seed % ARRAY_LEN(settings)];
	const char *machine = machines[t->seed % ARRAY_LEN(machines)];
	/* Interaction costs need an out-of-order machine. */
	const char *analyses =
	    strstr(machine, "inorder") ? "profile,cpistack" : "profile,icost,cpistack";

	run(t, RUN_FUNCTIONAL,
	    (const char *[]){ r->culprit, "sim", "--functional", "--max-insts", "2M",
			      "--summary-json", sum, "--", elf, NULL });
	run(t, RUN_TIMING,
	    (const char *[]){
		r->culprit, "sim",  "--machine",   machine, "--set",	      set[0],
		"--set",    set[1], "--max-insts", "2M",    "--analyze",      analyses,
		"--trace",  trace,  "-o",	   store,   "--summary-json", sum_timing,
		"--",	    elf,    NULL });
	if (t->seed % 3 == 0)
		run(t, RUN_INTERPRETED,
		    (const char *[]){ r->culprit, "sim", "--functional", "--interpreter",
				      "--max-insts", "2M", "--summary-json", sum_interpreted, "--",
				      elf, NULL });
	if (t->program.plain)
		run(t, RUN_QEMU, (const char *[]){ r->qemu, elf, NULL });
	run(t, RUN_REPORT, (const char *[]){ r->culprit, "report", store, NULL });
	run(t, RUN_REPLAY,
	    (const char *[]){ r->culprit, "replay", "--analyze", analyses, "-o", again, trace,
			      NULL });
	/* A report names its file, so both are read under one name. */
	if (rename(store, first) == 0 && rename(again, store) == 0)
		run(t, RUN_AGAIN, (const char *[]){ r->culprit, "report", store, NULL });
	free(elf);
	free(store);
	free(trace);
	free(again);
	free(first);
	free(sum);
	free(sum_timing);
	free(sum_interpreted);
}

static bool check(const struct test *t)
{
	const struct outcome *a = &t->out[RUN_FUNCTIONAL];

	for (enum run n = 0; n <= RUN_QEMU; n++) {
		const struct outcome *b = &t->out[n];

		if (!t->ran[n])
			continue;
		if (n != RUN_QEMU && WIFSIGNALED(b->status))
			return complain(t, n, "culprit was killed by a signal");
		if (run_status(a->status) != run_status(b->status))
			return complain(t, n, "another status");
		if (a->output_bytes != b->output_bytes ||
		    memcmp(a->output, b->output, a->output_bytes))
			return complain(t, n, "another output");
		if (n != RUN_QEMU && !t->program.timer && a->insts + b->faults != b->insts)
			return complain(t, n, "another count of instructions");
	}
	if (t->made.end != END_FIRST && !t->out[RUN_TIMING].faults)
		return complain(t, RUN_TIMING, "nothing went wrong");
	if (t->out[RUN_REPORT].status || !t->out[RUN_REPORT].output_bytes)
		return complain(t, RUN_REPORT, "the profile cannot be read");
	if (t->out[RUN_REPLAY].status)
		return complain(t, RUN_REPLAY, "the trace cannot be replayed");
	if (t->out[RUN_AGAIN].output_bytes != t->out[RUN_REPORT].output_bytes ||
	    memcmp(t->out[RUN_AGAIN].output, t->out[RUN_REPORT].output, OUTPUT_BYTES))
		return complain(t, RUN_AGAIN, "another report than that of the run");
	return true;
}

int main(int argc, char **argv)
{
	struct options o = { .count = 36, .seed = 1 };
	struct test *t = x_calloc(1, sizeof(*t));
	unsigned did[HOSTILE_KINDS] = { 0 }, ends[END_KINDS] = { 0 };
	uint64_t faults = 0;
	bool ok = true;

	parse(argc, argv, &o);
	if (o.emit) {
		t->program = options_of(&o, o.seed);
		return hostile_write(&t->program, o.emit, &t->made) ? 0 : 2;
	}
	snprintf(o.runner.folder, sizeof(o.runner.folder), "/tmp/culprit-hostile.XXXXXX");
	if (!mkdtemp(o.runner.folder))
		die("%s: %s", o.runner.folder, strerror(errno));
	for (unsigned i = 0; ok && i < o.count; i++) {
		char *elf = in_folder(&o.runner, "program");

		memset(t, 0, sizeof(*t));
		t->o = &o;
		t->seed = o.seed + i;
		t->program = options_of(&o, t->seed);
		if (!hostile_write(&t->program, elf, &t->made))
			die("%s: %s", elf, strerror(errno));
		run_program(t);
		ok = check(t);
		for (unsigned k = 0; t->made.end != END_FIRST && k < HOSTILE_KINDS; k++)
			did[k] += t->made.did[k];
		ends[t->made.end]++;
		faults += t->out[RUN_TIMING].faults;
		if (ok)
			remove_files(&o.runner);
		free(elf);
	}
	if (ok) {
		rmdir(o.runner.folder);
		printf("%u programs, %llu faults; items:", o.count, (unsigned long long)faults);
		for (unsigned k = 0; k < HOSTILE_KINDS; k++)
			printf(" %s %u%s", hostile_name[k], did[k],
			       k + 1 < HOSTILE_KINDS ? "," : "");
		printf("; ends:");
		for (unsigned k = 0; k < END_KINDS; k++)
			printf(" %s %u%s", hostile_end_name[k], ends[k],
			       k + 1 < END_KINDS ? "," : "\n");
	}
	free(t);
	return ok ? 0 : 1;
}

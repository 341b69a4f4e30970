/* SPDX-License-Identifier: MIT */
/*
 * Runs random programs in translated code, in the interpreter and under qemu-riscv64. All registers,
 * fcsr, the data and the exit status must be the same, and so must our instruction counts.
 *
 *      random --culprit FILE [--qemu FILE | --self] [--count N] [--seed N] [--insts N]
 *             [--emit FILE]
 *
 * Goes on until --count instructions (default 1,000,000) have been executed. With --self only our
 * executors are compared, over instructions that qemu 7.2 lacks too. --insts is the size of each
 * program. --emit writes the first program and ends. On a difference the program is made small and
 * shown, with the first instruction whose result differs. Exits 0, 1 on a difference, 77 without
 * qemu.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "differential/random/run.h"
#include "util/number.h"
#include "util/util.h"

struct options {
	struct runner runner;
	struct program_options program;
	uint64_t count;
	const char *emit;
};

static void usage(void)
{
	die("usage: random --culprit FILE [--qemu FILE | --self] [--count N] [--seed N] [--insts "
	    "N] [--emit FILE]");
}

static void parse(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{ "culprit", required_argument, NULL, 'c' },
		{ "qemu", required_argument, NULL, 'q' },
		{ "self", no_argument, NULL, 's' },
		{ "count", required_argument, NULL, 'n' },
		{ "seed", required_argument, NULL, 'S' },
		{ "insts", required_argument, NULL, 'i' },
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
		case 's':
			o->program.self = true;
			break;
		case 'n':
			o->count = number_argument("--count", optarg, 1, UINT64_MAX);
			break;
		case 'S':
			o->program.seed = number_argument("--seed", optarg, 0, UINT64_MAX);
			break;
		case 'i':
			o->program.insts = (unsigned)number_argument("--insts", optarg, 1, 200000);
			break;
		case 'e':
			o->emit = optarg;
			break;
		default:
			usage();
		}
	}
	if (optind != argc)
		usage();
	if (o->program.self)
		o->runner.qemu = NULL;
}

static void remove_files(const struct runner *r)
{
	static const char *const names[] = { "program", "out.0", "out.1", "out.2", "err.0",
					     "err.1",	"err.2", "sum.0", "sum.1", "qemu.log" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char path[128];

		snprintf(path, sizeof(path), "%s/%s", r->folder, names[i]);
		unlink(path);
	}
	rmdir(r->folder);
}

static void explain(const struct options *o, struct program *p, struct outcomes *out,
		    enum machine m)
{
	printf("seed %llu, %u instructions%s: %s differs from %s\n",
	       (unsigned long long)o->program.seed, o->program.insts,
	       o->program.self ? ", --self" : "", machine_name[0], machine_name[m]);
	run_print_difference(out, m);
	fflush(stdout);
	program_minimise(&o->runner, p);
	run_everywhere(&o->runner, p, out);
	if (run_differs(&o->runner, out) != MACHINES)
		m = run_differs(&o->runner, out);
	printf("made small:\n");
	program_print(p);
	run_print_difference(out, m);
	fflush(stdout);
	locate(&o->runner, p, m);
	printf("the small program is %s/program\n", o->runner.folder);
}

int main(int argc, char **argv)
{
	struct options o = { .count = 1000000, .program = { .seed = 1, .insts = 12000 } };
	struct outcomes *out = x_calloc(1, sizeof(*out));
	uint64_t executed = 0, programs = 0;
	bool ok = true;

	parse(argc, argv, &o);
	if (o.emit) {
		struct program *p = program_new(&o.program);
		struct code code;

		program_layout(p, &code);
		ok = program_write(p, &code, o.emit);
		code_free(&code);
		program_free(p);
		return ok ? 0 : 2;
	}
	if (!o.runner.culprit)
		usage();
	if (!o.program.self && (!o.runner.qemu || access(o.runner.qemu, X_OK) < 0)) {
		printf("skipped: no qemu-riscv64\n");
		return 77;
	}
	snprintf(o.runner.folder, sizeof(o.runner.folder), "/tmp/culprit-random.XXXXXX");
	if (!mkdtemp(o.runner.folder))
		die("%s: %s", o.runner.folder, strerror(errno));
	for (; ok && executed < o.count; o.program.seed++) {
		struct program *p = program_new(&o.program);
		enum machine m;

		run_everywhere(&o.runner, p, out);
		m = run_differs(&o.runner, out);
		executed += out->of[0].insts;
		programs++;
		if (m != MACHINES) {
			explain(&o, p, out, m);
			ok = false;
		}
		program_free(p);
	}
	if (ok) {
		printf("%llu instructions of %llu programs: %s\n", (unsigned long long)executed,
		       (unsigned long long)programs,
		       o.program.self ? "both executors agree" : "both executors and qemu agree");
		remove_files(&o.runner);
	}
	free(out);
	return ok ? 0 : 1;
}

/* SPDX-License-Identifier: MIT */
/*
 * Runs a guest program on the guest machine alone, for tests and for looking into failures. The
 * exit status is the guest's; with -n the instruction count goes to stderr.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "guest/guest.h"

extern char **environ;

int main(int argc, char **argv)
{
	struct guest_config config = { 0 };
	bool step = false, count = false;
	struct guest_step out = { 0 };
	struct timespec before, after;
	struct err e = { { 0 } };
	struct guest *g;
	double seconds;
	int opt, status;

	while ((opt = getopt(argc, argv, "+L:sniq:S:rE")) != -1) {
		switch (opt) {
		case 'L':
			config.sysroot = optarg;
			break;
		case 's':
			step = true;
			break;
		case 'n':
			count = true;
			break;
		case 'i':
			config.interpreter_only = true;
			break;
		case 'q':
			config.quantum = strtoull(optarg, NULL, 0);
			break;
		case 'S':
			config.seed = strtoull(optarg, NULL, 0);
			break;
		case 'r':
			config.real_time = true;
			break;
		case 'E':
			config.envp = environ;
			break;
		default:
			return 2;
		}
	}
	if (optind == argc)
		die("usage: guest_run [-L SYSROOT] [-s] [-n] [-i] [-r] [-E] [-q QUANTUM] [-S SEED] "
		    "PROGRAM [ARG…]");
	config.argv = argv + optind;
	g = guest_new(&config, &e);
	if (!g)
		die("%s", e.text);
	clock_gettime(CLOCK_MONOTONIC, &before);
	if (step) {
		while (!(out.flags & STEP_END))
			guest_step(g, &out);
	} else {
		while (guest_run(g, UINT64_MAX) == GUEST_RUNNING)
			;
	}
	clock_gettime(CLOCK_MONOTONIC, &after);
	seconds =
	    (double)(after.tv_sec - before.tv_sec) + (double)(after.tv_nsec - before.tv_nsec) / 1e9;
	if (count)
		fprintf(stderr, "%llu instructions, %.3f s, %.1f MIPS\n",
			(unsigned long long)guest_insts(g), seconds,
			(double)guest_insts(g) / seconds / 1e6);
	status = guest_exit_status(g);
	guest_free(g);
	return status;
}

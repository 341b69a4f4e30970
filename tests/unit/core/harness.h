/* SPDX-License-Identifier: MIT */
/* Runs the kernels of kernels.c on a machine and returns statistics. */
#ifndef TESTS_UNIT_CORE_HARNESS_H
#define TESTS_UNIT_CORE_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/core.h"
#include "util/util.h"

#define MB (1024 * 1024)

/* Settings that switch off what a closed form leaves out. */
#define PERFECT	  "bpred.direction=perfect", "exception.page_faults=no"
#define PLAIN	  PERFECT, "l1d.prefetch=none", "l1i.prefetch=none", "dtlb.entries=0"
#define FLAT	  PLAIN, "mem.kind=flat", "mem.bytes_per_kcycle=0"
#define SETS(...) ((const char *const[]){ __VA_ARGS__, NULL })

struct kernel_run {
	const char *machine;
	const char *const *sets; /* NULL-terminated; NULL: none */
	unsigned kernel;
	unsigned size, stride; /* 0: the kernel's default */
	struct emit *emit;     /* may be NULL */
	bool check;	       /* core_check in every cycle */
	const char *program;   /* path of a program to run instead of kernels, with args */
	const char *const *args;
	bool ends_badly;	 /* the program need not exit with 0 */
	struct core_stats *twin; /* if not NULL, gets the twin's statistics */
	const int *streams;	 /* the guest's streams; NULL: those of the test */
};

/* The environment is fixed: cycles depend on where the stack begins, and that on these strings. */
extern char *const kernel_environment[];
/* Returns the run's statistics; fails the test if anything is wrong. */
struct core_stats run_kernel(const struct kernel_run *k, uint64_t rounds);
/* Returns cycles per round, from the difference of two runs. */
double cycles_per_round(const struct kernel_run *k, uint64_t from, uint64_t to);
void config_of(struct machine *c, const char *machine, const char *const *sets);

/* A machine with some of its parameters set at random. */
struct random_machine {
	const char *name;
	char sets[24][96];
	const char *list[25]; /* sets, NULL-terminated */
};
/* False if what was chosen is no machine. */
bool random_machine(struct rng *r, struct random_machine *m);

#define assert_near(value, expected, percent)                                                      \
	do {                                                                                       \
		double v_ = (value), e_ = (expected);                                              \
		if (v_ < e_ * (1 - (percent) / 100.0) || v_ > e_ * (1 + (percent) / 100.0))        \
			fail_msg("%s is %g, not %g", #value, v_, e_);                              \
	} while (0)

#endif

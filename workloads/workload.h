/* SPDX-License-Identifier: MIT */
/*
 * What every guest program of the suite shares: numeric arguments with defaults, one random number
 * generator, one checksum, one line of output. The arguments of the three sizes (quick, test, ref)
 * stand in suite.txt and nowhere else; a program run without arguments does its test size.
 */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "culprit.h"

/* Returns argument number `index` of the command line, or `missing` where it was not given; a word
 * that is not a number in min..max ends the program with status 2. */
static inline uint64_t workload_arg(int argc, char **argv, int index, uint64_t missing,
				    uint64_t min, uint64_t max)
{
	char *end;
	uint64_t value;

	if (index >= argc)
		return missing;
	value = strtoull(argv[index], &end, 0);
	if (*argv[index] == '-' || end == argv[index] || *end || value < min || value > max) {
		fprintf(stderr,
			"%s: argument %d is '%s', wanted a number in %" PRIu64 "..%" PRIu64 "\n",
			argv[0], index, argv[index], min, max);
		exit(2);
	}
	return value;
}

/* Allocates `count` elements, or ends the program with status 1. */
static inline void *workload_array(size_t count, size_t element_bytes)
{
	void *array = calloc(count, element_bytes);

	if (!array) {
		fprintf(stderr, "no memory for %zu elements of %zu bytes\n", count, element_bytes);
		exit(1);
	}
	return array;
}

/* xorshift64*: full period over nonzero states. */
static inline uint64_t workload_random(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * 0x2545f4914f6cdd1dULL;
}

/* Order-dependent checksum step. */
static inline uint64_t workload_mix(uint64_t sum, uint64_t value)
{
	sum ^= value;
	sum *= 0x9e3779b97f4a7c15ULL;
	return sum ^ sum >> 29;
}

static inline uint64_t workload_mix_double(uint64_t sum, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return workload_mix(sum, bits);
}

static inline int workload_print(const char *name, uint64_t checksum)
{
	return printf("%s %016" PRIx64 "\n", name, checksum) < 0 || fflush(stdout) ? 1 : 0;
}

#endif

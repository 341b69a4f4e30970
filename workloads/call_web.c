/* SPDX-License-Identifier: MIT */
/*
 * 1024 distinct functions in four layers of 256, well over 64 KB of code that is all equally hot.
 * Each function calls one of two functions of the next layer, chosen by its data; a function is
 * named by four digits in base 4, and its callees by permutations of them, so that neighbours in
 * memory are no neighbours in the web. It misses in the instruction cache, its TLB and the branch
 * target buffer.
 *
 *      call_web CALLS          of four functions each
 */
#include "workload.h"

typedef uint64_t web_function(uint64_t x);

#define DIGIT(a, b, c, d)	   ((a)*64 + (b)*16 + (c)*4 + (d))
#define NAME(layer, a, b, c, d)	   web_##layer##_##a##b##c##d
#define DECLARE(layer, a, b, c, d) static uint64_t NAME(layer, a, b, c, d)(uint64_t x);

/* The constants differ per function, so no two bodies can be merged. */
#define BODY(layer, n)                                                                             \
	x += 0x9e3779b9u + (layer)*0x10001u + (n)*0x01010101u;                                     \
	x ^= x >> (11 + (n) % 13);                                                                 \
	x = x * 5 + (n)*0x2003u;                                                                   \
	x ^= x << (7 + (n) % 5);                                                                   \
	if (x & 1ull << (20 + (n) % 7))                                                            \
		x += (n)*0x765u + 0x55aa55u;                                                       \
	else                                                                                       \
		x ^= (n)*0x1357u + 0x33cc33u;

#define INNER(layer, next, a, b, c, d)                                                             \
	static uint64_t __attribute__((noinline, noclone)) NAME(layer, a, b, c, d)(uint64_t x)     \
	{                                                                                          \
		BODY(layer, DIGIT(a, b, c, d))                                                     \
		if (x & 0x100)                                                                     \
			return NAME(next, c, a, d, b)(x) + DIGIT(a, b, c, d);                      \
		return NAME(next, d, c, b, a)(x) ^ DIGIT(d, a, b, c);                              \
	}
#define LEAF(layer, a, b, c, d)                                                                    \
	static uint64_t __attribute__((noinline, noclone)) NAME(layer, a, b, c, d)(uint64_t x)     \
	{                                                                                          \
		BODY(layer, DIGIT(a, b, c, d))                                                     \
		return x;                                                                          \
	}
#define LAYER0(a, b, c, d)   INNER(0, 1, a, b, c, d)
#define LAYER1(a, b, c, d)   INNER(1, 2, a, b, c, d)
#define LAYER2(a, b, c, d)   INNER(2, 3, a, b, c, d)
#define LAYER3(a, b, c, d)   LEAF(3, a, b, c, d)
#define DECLARE1(a, b, c, d) DECLARE(1, a, b, c, d)
#define DECLARE2(a, b, c, d) DECLARE(2, a, b, c, d)
#define DECLARE3(a, b, c, d) DECLARE(3, a, b, c, d)
#define ENTRY(a, b, c, d)    NAME(0, a, b, c, d),

#define EACH_D(m, a, b, c) m(a, b, c, 0) m(a, b, c, 1) m(a, b, c, 2) m(a, b, c, 3)
#define EACH_C(m, a, b)	   EACH_D(m, a, b, 0) EACH_D(m, a, b, 1) EACH_D(m, a, b, 2) EACH_D(m, a, b, 3)
#define EACH_B(m, a)	   EACH_C(m, a, 0) EACH_C(m, a, 1) EACH_C(m, a, 2) EACH_C(m, a, 3)
#define EACH(m)		   EACH_B(m, 0) EACH_B(m, 1) EACH_B(m, 2) EACH_B(m, 3)

EACH(DECLARE1)
EACH(DECLARE2)
EACH(DECLARE3)
EACH(LAYER0)
EACH(LAYER1)
EACH(LAYER2)
EACH(LAYER3)

static web_function *const entries[256] = { EACH(ENTRY) };

int main(int argc, char **argv)
{
	uint64_t calls = workload_arg(argc, argv, 1, 100000, 1, UINT64_MAX), x = 1, at = 0;

	CULPRIT_BEGIN();
	for (uint64_t i = 0; i < calls; i++) {
		/* A full cycle through all 256 entries, no two neighbours in a row. */
		at = (at * 5 + 113) & 255;
		x = entries[at](x + i);
	}
	CULPRIT_END();
	return workload_print("call_web", workload_mix(0, x));
}

/* SPDX-License-Identifier: MIT */
/*
 * Resamples a greyscale image along a warped grid and rounds with floor() and ceil() for every
 * pixel. In glibc for RISC-V both read fflags before and write it after the work, which serialises
 * or flushes the pipeline of many cores. With a second argument of 1 the same algorithm without the
 * two CSR accesses is called instead; the checksum does not change, so the difference in time is
 * the price of fflags.
 *
 *      image_filter ROWS [FREE]        rows of 256 pixels; FREE 0: libm, 1: free of fflags
 */
#include <math.h>

#include "workload.h"

enum { WIDTH = 256, IMAGE_ROWS = 256 };

/* libm's functions under names that the compiler knows nothing about: otherwise it hoists, merges
 * or rewrites the calls, and the two ways of filtering differ in more than the callee. */
double floor_libm(double x) __asm__("floor");
double ceil_libm(double x) __asm__("ceil");

static double __attribute__((noipa)) floor_free(double x)
{
#if defined(__riscv)
	int64_t whole;
	double result;

	if (!(fabs(x) < 0x1p52))
		return x;
	__asm__("fcvt.l.d %0, %1, rdn" : "=r"(whole) : "f"(x));
	result = whole;
	return copysign(result, x);
#else
	return floor(x);
#endif
}

static double __attribute__((noipa)) ceil_free(double x)
{
#if defined(__riscv)
	int64_t whole;
	double result;

	if (!(fabs(x) < 0x1p52))
		return x;
	__asm__("fcvt.l.d %0, %1, rup" : "=r"(whole) : "f"(x));
	result = whole;
	return copysign(result, x);
#else
	return ceil(x);
#endif
}

/* Inlined twice with a constant `free_of_flags`, so that both ways are direct calls. */
static inline __attribute__((always_inline)) uint64_t filter(const uint8_t *image, uint64_t rows,
							     int free_of_flags)
{
	uint64_t sum = 0;

	for (uint64_t row = 0; row < rows; row++) {
		double v = (row % IMAGE_ROWS) * 0.83, bend = (row % 64) * 0.0021;

		for (int column = 0; column < WIDTH; column++) {
			double u = column * 0.91 + bend * column;
			double left = free_of_flags ? floor_free(u) : floor_libm(u);
			double right = free_of_flags ? ceil_free(u) : ceil_libm(u);
			double top = free_of_flags ? floor_free(v) : floor_libm(v);
			double part_u = u - left, part_v = v - top;
			int x0 = (int)left & (WIDTH - 1), x1 = (int)right & (WIDTH - 1);
			int y0 = (int)top & (IMAGE_ROWS - 1), y1 = (y0 + 1) & (IMAGE_ROWS - 1);
			double a = image[y0 * WIDTH + x0] * (1.0 - part_u) +
				   image[y0 * WIDTH + x1] * part_u;
			double b = image[y1 * WIDTH + x0] * (1.0 - part_u) +
				   image[y1 * WIDTH + x1] * part_u;
			double mixed = a * (1.0 - part_v) + b * part_v + 0.5;
			double grey = free_of_flags ? floor_free(mixed) : floor_libm(mixed);

			sum = sum * 3 + (uint64_t)(int64_t)grey;
		}
	}
	return sum;
}

static uint64_t __attribute__((noinline)) filter_libm(const uint8_t *image, uint64_t rows)
{
	return filter(image, rows, 0);
}

static uint64_t __attribute__((noinline)) filter_free(const uint8_t *image, uint64_t rows)
{
	return filter(image, rows, 1);
}

int main(int argc, char **argv)
{
	uint64_t rows = workload_arg(argc, argv, 1, 300, 1, UINT64_MAX);
	uint64_t free_of_flags = workload_arg(argc, argv, 2, 0, 0, 1);
	uint8_t *image = workload_array(WIDTH * IMAGE_ROWS, 1);
	uint64_t state = 521288629, sum;

	for (size_t i = 0; i < WIDTH * IMAGE_ROWS; i++)
		image[i] = workload_random(&state) >> 56;
	CULPRIT_BEGIN();
	sum = free_of_flags ? filter_free(image, rows) : filter_libm(image, rows);
	CULPRIT_END();
	return workload_print("image_filter", workload_mix(0, sum));
}

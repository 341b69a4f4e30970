/* SPDX-License-Identifier: MIT */
/*
 * Copy, scale, add and triad over three arrays of doubles: sequential loads and stores whose
 * addresses any prefetcher guesses, limited by bandwidth once the arrays leave the caches.
 *
 *      stream ELEMENTS ROUNDS
 */
#include "workload.h"

static void __attribute__((noinline))
stream_round(double *a, double *b, double *c, size_t count, double k)
{
	for (size_t i = 0; i < count; i++)
		c[i] = a[i];
	for (size_t i = 0; i < count; i++)
		b[i] = k * c[i];
	for (size_t i = 0; i < count; i++)
		c[i] = a[i] + b[i];
	for (size_t i = 0; i < count; i++)
		a[i] = b[i] + k * c[i];
}

int main(int argc, char **argv)
{
	size_t count = workload_arg(argc, argv, 1, 100000, 1, 1 << 28);
	uint64_t rounds = workload_arg(argc, argv, 2, 4, 1, UINT64_MAX), sum = 0;
	double *a = workload_array(count, sizeof(*a));
	double *b = workload_array(count, sizeof(*b));
	double *c = workload_array(count, sizeof(*c));

	for (size_t i = 0; i < count; i++)
		a[i] = 1.0 + i % 17;
	CULPRIT_BEGIN();
	for (uint64_t i = 0; i < rounds; i++)
		stream_round(a, b, c, count, 0.4142);
	CULPRIT_END();
	for (size_t i = 0; i < count; i += count / 1000 + 1)
		sum = workload_mix_double(sum, a[i]);
	return workload_print("stream", sum);
}

/* SPDX-License-Identifier: MIT */
/*
 * Quicksort of random keys (median of three, insertion sort below sixteen): data-dependent branches
 * that are predicted half of the time near the pivot, on a working set that shrinks as it recurses.
 *
 *      quicksort KEYS
 */
#include "workload.h"

enum { SMALL = 16 };

static void sort_small(uint32_t *key, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		uint32_t k = key[i];
		size_t j = i;

		for (; j > 0 && key[j - 1] > k; j--)
			key[j] = key[j - 1];
		key[j] = k;
	}
}

static uint32_t median(uint32_t a, uint32_t b, uint32_t c)
{
	if (a < b)
		return b < c ? b : a < c ? c : a;
	return a < c ? a : b < c ? c : b;
}

static void sort(uint32_t *key, size_t count)
{
	while (count > SMALL) {
		uint32_t pivot = median(key[0], key[count / 2], key[count - 1]);
		size_t low = 0, high = count - 1;

		for (;;) {
			while (key[low] < pivot)
				low++;
			while (key[high] > pivot)
				high--;
			if (low >= high)
				break;
			uint32_t swap = key[low];

			key[low++] = key[high];
			key[high--] = swap;
		}
		/* Recurse into the smaller half so that the stack stays logarithmic. */
		size_t left = high + 1;

		if (left < count - left) {
			sort(key, left);
			key += left;
			count -= left;
		} else {
			sort(key + left, count - left);
			count = left;
		}
	}
	sort_small(key, count);
}

int main(int argc, char **argv)
{
	size_t count = workload_arg(argc, argv, 1, 110000, 1, 1 << 28);
	uint32_t *key = workload_array(count, sizeof(*key));
	uint64_t state = 2463534242ULL, sum = 0;

	for (size_t i = 0; i < count; i++)
		key[i] = workload_random(&state) >> 32;
	CULPRIT_BEGIN();
	sort(key, count);
	CULPRIT_END();
	for (size_t i = 0; i < count; i++) {
		if (i && key[i - 1] > key[i]) {
			fprintf(stderr, "quicksort: key %zu is out of order\n", i);
			return 1;
		}
		if (i % 64 == 0)
			sum = workload_mix(sum, key[i]);
	}
	return workload_print("quicksort", sum);
}

/* SPDX-License-Identifier: MIT */
/*
 * A chain of dependent loads through one random cycle over all nodes of the working set, one node
 * to a cache line: it shows the latency of the level that the working set fits in, and nothing
 * hides that latency.
 *
 *      pointer_chase KIB HOPS
 */
#include "workload.h"

struct node {
	struct node *next;
	uint64_t id;
	char rest_of_line[48];
};

int main(int argc, char **argv)
{
	uint64_t kib = workload_arg(argc, argv, 1, 4096, 1, 1 << 22);
	uint64_t hops = workload_arg(argc, argv, 2, 2000000, 1, UINT64_MAX);
	size_t count = kib * 1024 / sizeof(struct node);
	struct node *nodes = workload_array(count + 1, sizeof(*nodes)), *at;
	uint32_t *order = workload_array(count, sizeof(*order));
	uint64_t state = 88172645463325252ULL;

	nodes = (struct node *)(((uintptr_t)nodes + 63) & ~(uintptr_t)63);
	for (size_t i = 0; i < count; i++)
		order[i] = i;
	/* Sattolo's shuffle gives one cycle through all nodes, never a short one. */
	for (size_t i = count - 1; i > 0; i--) {
		size_t j = workload_random(&state) % i;
		uint32_t swap = order[i];

		order[i] = order[j];
		order[j] = swap;
	}
	for (size_t i = 0; i < count; i++) {
		nodes[i].next = &nodes[order[i]];
		nodes[i].id = i;
	}
	at = nodes;
	CULPRIT_BEGIN();
	for (uint64_t i = 0; i < hops; i++)
		at = at->next;
	/* Without a use in the region the compiler may move the end of the chain behind it. */
	__asm__ volatile("" : "+r"(at));
	CULPRIT_END();
	return workload_print("pointer_chase", workload_mix(0, at->id));
}

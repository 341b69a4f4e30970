/* SPDX-License-Identifier: MIT */
/*
 * mcf_vs_glpsol SEED NODES FILE: writes a random minimum-cost circulation as a linear program that glpsol
 * reads (CPLEX LP format) into FILE, and prints the cost of our solution.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "calc/mcf.h"
#include "util/util.h"

#define PIECES 4

struct arc {
	uint32_t from, to;
	struct mcf_piece piece[PIECES];
	unsigned n;
};

static struct arc random_arc(struct rng *r, uint32_t nodes)
{
	struct arc a = { .from = (uint32_t)rng_below(r, nodes),
			 .to = (uint32_t)rng_below(r, nodes),
			 .n = 1 + (unsigned)rng_below(r, PIECES) };
	int64_t slope = (int64_t)rng_below(r, 60) - 40;
	for (unsigned i = 0; i < a.n; i++, slope += (int64_t)rng_below(r, 30))
		a.piece[i] = (struct mcf_piece){ 1 + (int64_t)rng_below(r, 100000), slope };
	return a;
}

static void write_program(FILE *f, const struct arc *arcs, uint32_t narcs, uint32_t nodes)
{
	fprintf(f, "Minimize\n cost: 0 none");
	for (uint32_t i = 0; i < narcs; i++)
		for (unsigned k = 0; k < arcs[i].n; k++)
			fprintf(f, "\n %+" PRId64 " x%u_%u", arcs[i].piece[k].slope, i, k);
	fprintf(f, "\nSubject To\n");
	for (uint32_t n = 0; n < nodes; n++) {
		fprintf(f, " n%u: 0 none", n);
		for (uint32_t i = 0; i < narcs; i++)
			for (unsigned k = 0; k < arcs[i].n && arcs[i].from != arcs[i].to; k++)
				if (arcs[i].from == n || arcs[i].to == n)
					fprintf(f, "\n %c x%u_%u", arcs[i].to == n ? '+' : '-', i,
						k);
		fprintf(f, " = 0\n");
	}
	fprintf(f, "Bounds\n");
	for (uint32_t i = 0; i < narcs; i++)
		for (unsigned k = 0; k < arcs[i].n; k++)
			fprintf(f, " 0 <= x%u_%u <= %" PRId64 "\n", i, k, arcs[i].piece[k].width);
	fprintf(f, "End\n");
}

static int64_t our_cost(const struct arc *arcs, uint32_t narcs, uint32_t nodes)
{
	struct mcf *m = mcf_new(nodes);
	int64_t cost = 0;
	for (uint32_t i = 0; i < narcs; i++)
		mcf_arc(m, arcs[i].from, arcs[i].to, arcs[i].piece, arcs[i].n);
	if (!mcf_solve(m) || !mcf_optimal(m))
		die("no solution");
	for (uint32_t i = 0; i < narcs; i++) {
		int64_t left = mcf_flow(m, i);
		for (unsigned k = 0; k < arcs[i].n; k++) {
			int64_t here =
			    left < arcs[i].piece[k].width ? left : arcs[i].piece[k].width;
			cost += here * arcs[i].piece[k].slope;
			left -= here;
		}
	}
	mcf_free(m);
	return cost;
}

int main(int argc, char **argv)
{
	struct rng r;
	if (argc != 4)
		return 2;
	rng_seed(&r, strtoull(argv[1], NULL, 10));
	uint32_t nodes = (uint32_t)strtoul(argv[2], NULL, 10);
	uint32_t narcs = nodes + (uint32_t)rng_below(&r, 2 * nodes + 1);
	struct arc *arcs = x_calloc(narcs, sizeof(*arcs));
	for (uint32_t i = 0; i < narcs; i++)
		arcs[i] = random_arc(&r, nodes);
	FILE *f = fopen(argv[3], "w");
	if (!f)
		die("cannot write %s", argv[3]);
	write_program(f, arcs, narcs, nodes);
	fclose(f);
	printf("%" PRId64 "\n", our_cost(arcs, narcs, nodes));
	free(arcs);
	return 0;
}

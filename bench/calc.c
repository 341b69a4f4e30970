/* SPDX-License-Identifier: MIT */
/*
 * What bench/calc calls: frequencies of all functions of a riscv64 binary.
 *
 *	bench_calc FILE METHOD SHARE [largest]
 *
 * Builds the graph of every function (of the first SHARE of the code; 1: all), gives every instruction
 * samples as a run would (one in eight instructions stalls), and estimates by METHOD on inorder-2w.
 * `largest`: the largest function alone. Prints one JSON object: bytes of code, functions, blocks,
 * seconds of processor time of graphs and of estimates, the most memory, and a digest of all results.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "calc/calc.h"
#include "util/array.h"

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double memory_bytes(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return 1024.0 * (double)u.ru_maxrss;
}

struct code {
	struct cfg **graphs;
	size_t count;
	uint64_t bytes, blocks;
};

static uint64_t bytes_of(const struct cfg *g)
{
	uint64_t sum = 0;

	for (uint32_t b = 0; b < g->nblocks; b++)
		sum += g->blocks[b].end - g->blocks[b].start;
	return sum;
}

static struct code read_code(struct images *set, double share)
{
	const struct image_info info = images_info(set, 0);
	const uint64_t end = info.start + (uint64_t)(share * (double)(info.end - info.start));
	struct code c = { 0 };

	for (uint64_t pc = info.start; pc < end;) {
		const struct place place = images_function(set, pc);
		struct image_inst first;
		struct cfg *g = images_inst(set, pc, &first) ? cfg_build(set, pc) : NULL;

		/* a split part is in the graph of its function */
		if (g && g->start == place.start) {
			*ARRAY_ADD(c.graphs, c.count) = g;
			c.bytes += bytes_of(g);
			c.blocks += g->nblocks;
		} else if (g) {
			cfg_free(g);
		}
		pc = place.end > pc ? place.end : pc + 2;
	}
	return c;
}

static void keep_largest(struct code *c)
{
	size_t most = 0;

	for (size_t i = 1; i < c->count; i++)
		if (c->graphs[i]->nblocks > c->graphs[most]->nblocks)
			most = i;
	for (size_t i = 0; i < c->count; i++)
		if (i != most)
			cfg_free(c->graphs[i]);
	c->graphs[0] = c->graphs[most];
	c->count = c->count ? 1 : 0;
	c->bytes = c->count ? bytes_of(c->graphs[0]) : 0;
	c->blocks = c->count ? c->graphs[0]->nblocks : 0;
}

static void put_samples(struct calc_proc *p, struct rng *r)
{
	for (uint32_t b = 0; b < p->graph->nblocks; b++) {
		const double f = (double)rng_below(r, 1000);

		for (uint32_t i = p->graph->blocks[b].first;
		     i < p->graph->blocks[b].first + p->graph->blocks[b].count; i++)
			p->insts[i].count[SAMPLED_CYCLES] =
			    f * (double)(i % 2) +
			    (rng_below(r, 8) ? 0 : f * (double)rng_below(r, 20));
	}
}

/* FNV-1a of all results, so that two builds can be compared. */
static uint64_t hash(uint64_t h, const void *data, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		h = (h ^ ((const uint8_t *)data)[i]) * 0x100000001b3ull;
	return h;
}

static uint64_t digest(const struct calc_program *p)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (uint32_t i = 0; i < p->nprocs; i++) {
		const struct calc_proc *proc = &p->procs[i];

		for (uint32_t b = 0; b < proc->graph->nblocks; b++) {
			h = hash(h, &proc->blocks[b].value, sizeof(double));
			h = hash(h, &proc->blocks[b].low, sizeof(double));
			h = hash(h, &proc->blocks[b].confidence, 1);
		}
		for (uint32_t k = 0; k < proc->graph->ninsts; k++) {
			const struct calc_inst *inst = &proc->insts[k];

			h = hash(h, &inst->m, sizeof(double));
			for (unsigned c = 0; c < inst->nculprits; c++) {
				const struct calc_culprit *one = calc_culprit(proc, inst, c);

				h = hash(h, &one->cause, 1);
				h = hash(h, &one->most, sizeof(double));
				h = hash(h, one->guilty, one->nguilty * sizeof(one->guilty[0]));
			}
		}
	}
	return h;
}

/* Sums of all results, for builds whose arithmetic differs in the last digits. */
static void print_sums(const struct calc_program *p)
{
	double value = 0, low = 0, high = 0, sure = 0, m = 0, most = 0, letters = 0;

	for (uint32_t i = 0; i < p->nprocs; i++) {
		const struct calc_proc *proc = &p->procs[i];

		for (uint32_t b = 0; b < proc->graph->nblocks; b++) {
			value += isnan(proc->blocks[b].value) ? 0 : proc->blocks[b].value;
			low += isnan(proc->blocks[b].low) ? 0 : proc->blocks[b].low;
			high += isnan(proc->blocks[b].high) ? 0 : proc->blocks[b].high;
			sure += proc->blocks[b].confidence;
		}
		for (uint32_t k = 0; k < proc->graph->ninsts; k++) {
			m += proc->insts[k].m;
			letters += proc->insts[k].nculprits;
			for (unsigned c = 0; c < proc->insts[k].nculprits; c++)
				most += calc_culprit(proc, &proc->insts[k], c)->most;
		}
	}
	printf("\"sums\": [%.12g, %.12g, %.12g, %.0f, %.12g, %.0f, %.12g]}\n", value, low, high,
	       sure, m, letters, most);
}

int main(int argc, char **argv)
{
	struct err e = { "" };
	struct machine machine = machine_default;
	struct calc_program p = { .machine = &machine };
	struct rng r;

	if (argc < 4) {
		fprintf(stderr, "usage: bench_calc FILE METHOD SHARE [largest]\n");
		return 2;
	}
	struct images *set = images_new(NULL);

	if (!machine_load(&machine, "inorder-2w", &e) ||
	    !images_add(set, argv[1], argv[1], 0, &e)) {
		fprintf(stderr, "bench_calc: %s\n", e.text);
		return 2;
	}
	p.options = (struct calc_options){ .method = argv[2], .ignore_edges = 0.01 };
	p.sampling.period[SAMPLED_CYCLES] = 64000;
	p.sampling.running[SAMPLED_CYCLES] = 1;
	rng_seed(&r, 1);

	const double before = memory_bytes(), start = seconds();
	struct code c = read_code(set, atof(argv[3]));

	if (argc > 4)
		keep_largest(&c);
	const double graphs = seconds() - start;

	for (size_t i = 0; i < c.count; i++)
		put_samples(calc_add(&p, c.graphs[i]), &r);
	const double begin = seconds();

	if (!calc_method_find(argv[2]) || !calc_run(&p, &e)) {
		fprintf(stderr, "bench_calc: %s\n", e.text);
		return 2;
	}
	const double calc = seconds() - begin, memory = memory_bytes() - before;

	printf(
	    "{\"functions\": %zu, \"blocks\": %llu, \"code_bytes\": %llu, \"graph_seconds\": %.4f, "
	    "\"calc_seconds\": %.4f, \"memory_bytes\": %.0f, \"digest\": \"%016llx\", ",
	    c.count, (unsigned long long)c.blocks, (unsigned long long)c.bytes, graphs, calc,
	    memory, (unsigned long long)digest(&p));
	print_sums(&p);
	calc_free(&p);
	for (size_t i = 0; i < c.count; i++)
		cfg_free(c.graphs[i]);
	free(c.graphs);
	images_free(set);
	return 0;
}

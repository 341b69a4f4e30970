/* SPDX-License-Identifier: MIT */
/*
 * Builds the graphs of all functions of a binary, and holds them against transfers that a run made:
 *
 *	graphs FILE [BIAS EDGES]
 *
 * EDGES has lines "SOURCE TARGET COUNT" (addresses in hex): an instruction and the one that was executed
 * after it. No transfer inside of a function whose graph is whole may lack an edge, and none through a
 * resolved indirect jump. Prints what was found; exit status 1 if a transfer is outside of a graph.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "image/cfg.h"
#include "image/image_int.h"
#include "util/array.h"

struct counts {
	uint64_t functions, none, bytes, insts, blocks, edges, kinds[CFG_KINDS], missing;
	uint64_t indirect, unresolved;
};

static bool is_indirect(const struct cfg *g, uint32_t block)
{
	const struct cfg_inst *in = &g->insts[g->blocks[block].first + g->blocks[block].count - 1];

	return in->flow == IMAGE_JUMP && !in->direct;
}

static void count_graph(const struct cfg *g, struct counts *c, bool list)
{
	c->insts += g->ninsts;
	c->blocks += g->nblocks;
	c->edges += g->nedges;
	c->missing += g->missing;
	for (uint32_t i = 0; i < g->nedges; i++)
		c->kinds[g->edges[i].kind]++;
	for (uint32_t i = 0; i < g->nblocks; i++) {
		const bool open = g->blocks[i].flags & CFG_BLOCK_UNRESOLVED;

		c->indirect += is_indirect(g, i);
		c->unresolved += open;
		if (open && list)
			printf("unresolved 0x%" PRIx64 " in %s\n",
			       g->insts[g->blocks[i].first + g->blocks[i].count - 1].pc, g->name);
	}
}

static struct counts build_all(struct images *set, size_t image, bool list)
{
	struct counts c = { 0 };
	const struct image *im = image_at(set, images_info(set, image).start);

	for (size_t i = 0; im && i < im->nfunctions; i++) {
		struct cfg *g = cfg_build(set, im->functions[i].start);

		c.functions++;
		c.bytes += im->functions[i].end - im->functions[i].start;
		c.none += !g;
		if (g && g->start == im->functions[i].start)
			count_graph(g, &c, list);
		cfg_free(g);
	}
	return c;
}

struct transfer {
	uint64_t source, target, count;
};

static int by_source(const void *a, const void *b)
{
	const struct transfer *x = a, *y = b;

	return (x->source > y->source) - (x->source < y->source);
}

static struct transfer *read_transfers(const char *path, size_t *n)
{
	struct transfer *all = NULL, t;
	FILE *f = fopen(path, "r");

	*n = 0;
	if (!f)
		die("cannot read %s", path);
	while (fscanf(f, "%" SCNx64 " %" SCNx64 " %" SCNu64, &t.source, &t.target, &t.count) == 3)
		*ARRAY_ADD(all, *n) = t;
	fclose(f);
	if (*n)
		qsort(all, *n, sizeof(*all), by_source);
	return all;
}

/* How often indirect jumps were executed: all of them, and those whose targets are known. */
struct weights {
	uint64_t jumps, known, checked, wrong;
};

static bool has_edge(const struct cfg *g, uint32_t block, uint32_t to, uint64_t target)
{
	const struct cfg_block *b = &g->blocks[block];

	for (uint32_t e = b->first_out; e < b->first_out + b->nout; e++) {
		const struct cfg_edge *at = &g->edges[e];

		if (to == CFG_OUTSIDE
			? at->kind == CFG_EXIT && (!at->callee || at->callee == target)
			: at->to == to)
			return true;
	}
	return false;
}

static void check_transfer(const struct cfg *g, const struct transfer *t, struct weights *w)
{
	const uint32_t i = cfg_inst_at(g, t->source);

	if (i == UINT32_MAX) {
		printf("no instruction at 0x%" PRIx64 " in %s\n", t->source, g->name);
		w->wrong++;
		return;
	}
	const uint32_t block = cfg_block_of(g, i), at = cfg_inst_at(g, t->target);
	const struct cfg_block *b = &g->blocks[block];
	const struct cfg_inst *in = &g->insts[i];
	const bool last = i == b->first + b->count - 1;
	const bool open = b->flags & CFG_BLOCK_UNRESOLVED;
	const uint32_t to = at == UINT32_MAX ? CFG_OUTSIDE : cfg_block_at(g, t->target);
	if (in->flow == IMAGE_JUMP && !in->direct) {
		w->jumps += t->count;
		w->known += open ? 0 : t->count;
	}
	if (in->flow == IMAGE_CALL && last) {
		/* the instruction after a call is its callee's; that it comes back is seen there */
		return;
	}
	if (open)
		return;
	w->checked += t->count;
	const bool inner = !last && t->target == in->pc + in->size_bytes;
	if (inner ||
	    (last && (at == UINT32_MAX || to != UINT32_MAX) && has_edge(g, block, to, t->target)))
		return;
	/* a return into the function, or a signal, is no transfer of its own */
	if (in->flow == IMAGE_RETURN)
		return;
	printf("0x%" PRIx64 " to 0x%" PRIx64 " (%" PRIu64 " times) is not in the graph of %s\n",
	       t->source, t->target, t->count, g->name);
	w->wrong++;
}

static struct weights check_all(struct images *set, const struct transfer *all, size_t n)
{
	struct weights w = { 0 };
	struct cfg *g = NULL;

	for (size_t i = 0; i < n; i++) {
		if (!g || cfg_inst_at(g, all[i].source) == UINT32_MAX) {
			cfg_free(g);
			g = cfg_build(set, all[i].source);
		}
		if (g)
			check_transfer(g, &all[i], &w);
	}
	cfg_free(g);
	return w;
}

int main(int argc, char **argv)
{
	struct err e = { "" };
	const char *root = getenv("CULPRIT_SYSROOT");
	struct images *set = images_new(root);
	struct timespec a, b;

	if (argc < 2)
		die("graphs FILE [BIAS EDGES]");
	if (!images_add(set, argv[1], path_name(argv[1]),
			argc > 2 ? strtoull(argv[2], NULL, 16) : 0, &e))
		die("%s", e.text);
	if (argc > 3) {
		size_t n;
		struct transfer *all = read_transfers(argv[3], &n);
		const struct weights w = check_all(set, all, n);

		printf("indirect jumps %" PRIu64 " known %" PRIu64 " checked %" PRIu64
		       " wrong %" PRIu64 "\n",
		       w.jumps, w.known, w.checked, w.wrong);
		free(all);
		images_free(set);
		return w.wrong ? 1 : 0;
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
	const struct counts c = build_all(set, 0, getenv("GRAPHS_LIST"));
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
	printf("functions %" PRIu64 " without %" PRIu64 " bytes %" PRIu64 " instructions %" PRIu64
	       " blocks %" PRIu64 " edges %" PRIu64 " missing %" PRIu64 "\n",
	       c.functions, c.none, c.bytes, c.insts, c.blocks, c.edges, c.missing);
	printf("indirect %" PRIu64 " unresolved %" PRIu64, c.indirect, c.unresolved);
	for (unsigned i = 0; i < CFG_KINDS; i++)
		printf(" %s %" PRIu64, words_cfg[i].name, c.kinds[i]);
	printf("\nseconds %.2f\n",
	       (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec));
	images_free(set);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * Graphs of whole binaries, and graphs against what a run did:
 *
 *	graphs build FILE    builds the graphs of all functions; prints what there is and the time
 *	graphs check STORE   a store that `--analyze issue,truth` wrote: every transfer that was made from
 *	                     a function with a graph must be one of its edges, unless an indirect jump is
 *	                     unresolved, and no call said never to come back may have come back
 *
 * Exit status 1 if a transfer is not in a graph.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "image/cfg.h"
#include "image/image_int.h"
#include "names/graph.h"
#include "store/store.h"
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

struct check {
	struct store *store;
	struct transfer *made; /* sorted by source */
	size_t nmade;
	uint64_t *reached; /* targets where no function starts, sorted */
	size_t nreached;
	uint64_t graphs, missing, jumps, known, transfers, wrong;
	bool failed;
};

static int by_number(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void read_transfers(struct check *c)
{
	struct store_rows r = store_query(
	    c->store, "SELECT source, target, count FROM calc_truth_edge ORDER BY source, target",
	    "");
	struct err e = { "" };

	while (store_next(&r))
		*ARRAY_ADD(c->made, c->nmade) =
		    (struct transfer){ (uint64_t)store_int(&r, 0), (uint64_t)store_int(&r, 1),
				       (uint64_t)store_int(&r, 2) };
	if (!store_done(&r, &e))
		die("%s", e.text);
	/* what is reached though no function starts there */
	r = store_query(c->store,
			"SELECT DISTINCT target FROM calc_truth_edge WHERE target NOT IN"
			" (SELECT start FROM function)",
			"");
	while (store_next(&r))
		*ARRAY_ADD(c->reached, c->nreached) = (uint64_t)store_int(&r, 0);
	if (!store_done(&r, &e))
		die("%s", e.text);
	if (c->nreached)
		qsort(c->reached, c->nreached, sizeof(*c->reached), by_number);
}

static bool is_reached(const struct check *c, uint64_t pc)
{
	const size_t i = ARRAY_SEARCH(c->nreached, k, c->reached[k] < pc);

	return i < c->nreached && c->reached[i] == pc;
}

static bool has_edge(const struct cfg *g, const struct cfg_block *b, uint64_t target)
{
	const uint32_t to =
	    cfg_inst_at(g, target) == UINT32_MAX ? CFG_OUTSIDE : cfg_block_at(g, target);

	for (uint32_t i = b->first_out; i < b->first_out + b->nout; i++) {
		const struct cfg_edge *at = &g->edges[i];

		if (at->to != to)
			continue;
		if (to != CFG_OUTSIDE ||
		    (at->kind == CFG_EXIT && (!at->callee || at->callee == target)))
			return true;
	}
	return false;
}

static void wrong(struct check *c, const struct cfg *g, uint64_t source, uint64_t target)
{
	printf("0x%" PRIx64 " to 0x%" PRIx64 " is not in the graph of %s\n", source, target,
	       g->name);
	c->wrong++;
}

static void check_block(struct check *c, const struct cfg *g, const struct cfg_block *b)
{
	for (uint32_t k = b->first; k < b->first + b->count; k++) {
		const struct cfg_inst *in = &g->insts[k];
		const bool last = k == b->first + b->count - 1;
		const bool indirect = in->flow == IMAGE_JUMP && !in->direct;

		for (size_t i = ARRAY_SEARCH(c->nmade, n, c->made[n].source < in->pc);
		     i < c->nmade && c->made[i].source == in->pc; i++) {
			const bool open = b->flags & CFG_BLOCK_UNRESOLVED;

			c->jumps += indirect ? c->made[i].count : 0;
			c->known += indirect && !open ? c->made[i].count : 0;
			c->transfers += c->made[i].count;
			if (last && (open || in->flow == IMAGE_CALL || in->flow == IMAGE_RETURN))
				continue;
			/* where a system call goes on, or a signal interrupts, the kernel decides */
			if (in->flow == IMAGE_NEXT)
				continue;
			/* a branch at which another thread or a handler takes over */
			if (last && in->direct && c->made[i].target != in->target &&
			    c->made[i].target != in->pc + in->size_bytes)
				continue;
			if (!last || !has_edge(g, b, c->made[i].target))
				wrong(c, g, in->pc, c->made[i].target);
		}
	}
	if (b->flags & CFG_BLOCK_NO_RETURN && cfg_inst_at(g, b->end) == UINT32_MAX &&
	    is_reached(c, b->end))
		wrong(c, g, b->start, b->end);
}

static bool check_graph(void *context, int64_t function, const char *image, const char *name,
			uint64_t start)
{
	struct check *c = context;
	struct err e = { "" };
	struct cfg *g = names_graph_read(c->store, function, &e);

	if (!g)
		die("%s", e.text);
	c->graphs++;
	c->missing += g->missing;
	for (uint32_t i = 0; i < g->nblocks; i++) {
		check_block(c, g, &g->blocks[i]);
		if (g->blocks[i].flags & CFG_BLOCK_UNRESOLVED && getenv("GRAPHS_LIST"))
			printf("unresolved 0x%" PRIx64 " in %s of %s\n", g->blocks[i].end, name,
			       image);
	}
	cfg_free(g);
	return true;
}

static int check_store(const char *path)
{
	struct err e = { "" };
	struct check c = { .store = store_open(path, &e) };

	if (!c.store)
		die("%s", e.text);
	read_transfers(&c);
	if (!names_graph_each(c.store, check_graph, &c, &e))
		die("%s", e.text);
	printf("graphs %" PRIu64 " missing %" PRIu64 " transfers %" PRIu64 " indirect %" PRIu64
	       " resolved %" PRIu64 " (%.2f%%) wrong %" PRIu64 "\n",
	       c.graphs, c.missing, c.transfers, c.jumps, c.known,
	       c.jumps ? 100.0 * (double)c.known / (double)c.jumps : 100.0, c.wrong);
	store_close(c.store);
	free(c.made);
	free(c.reached);
	return c.wrong || !c.graphs;
}

int main(int argc, char **argv)
{
	struct err e = { "" };
	struct timespec a, b;

	if (argc != 3)
		die("graphs build FILE, or graphs check STORE");
	if (!strcmp(argv[1], "check"))
		return check_store(argv[2]);
	struct images *set = images_new(getenv("CULPRIT_SYSROOT"));
	if (!images_add(set, argv[2], path_name(argv[2]), 0, &e))
		die("%s", e.text);
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

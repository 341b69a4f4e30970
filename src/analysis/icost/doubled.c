/* SPDX-License-Identifier: MIT */
/*
 * For each of the L1s and the L2, two sets of LRU tags: of its size and of twice its size, with as many
 * ways. Both see the accesses of committed instructions in program order. An access that really missed, that the
 * tags of the real size miss and that those of twice the size hit would be a hit in a cache that large. What
 * both sizes miss, and what a wrong path evicted, stays a miss.
 *
 * The L2 sees what really missed the L1 (of stores: what the tags of the L1 miss). What prefetchers bring is
 * not modelled.
 */
#include "analysis/icost/doubled.h"

#include <stdlib.h>

#include "analysis/icost/sized.h"
#include "util/util.h"

struct tags {
	uint32_t sets, ways;
	uint64_t *line; /* by set, most recent first: line + 1; 0: free */
};

struct pair {
	uint32_t shift;	     /* from addresses to lines */
	struct tags tags[2]; /* of the real size, of twice that; sets 0: no such cache */
};

struct doubled {
	struct pair l1i, l1d, l2;
	uint64_t fetched; /* line of the last instruction */
};

static void pair_begin(struct pair *p, const struct memsys_config *mem, enum mem_cache id)
{
	const struct mem_cache_config *c = &mem->cache[id];
	const uint32_t line = machine_line_bytes(mem, id);

	p->shift = (uint32_t)__builtin_ctz(line);
	for (unsigned k = 0; c->size_bytes && k < 2; k++) {
		struct tags *t = &p->tags[k];
		t->ways = c->ways;
		t->sets = c->size_bytes / line / c->ways << k;
		t->line = x_calloc((size_t)t->sets * t->ways, sizeof(*t->line));
	}
}

struct doubled *doubled_new(const struct machine *machine)
{
	struct doubled *d = x_calloc(1, sizeof(*d));
	pair_begin(&d->l1i, &machine->mem, MEM_L1I);
	pair_begin(&d->l1d, &machine->mem, MEM_L1D);
	pair_begin(&d->l2, &machine->mem, MEM_L2);
	d->fetched = UINT64_MAX;
	return d;
}

void doubled_free(struct doubled *d)
{
	if (!d)
		return;
	for (unsigned k = 0; k < 2; k++) {
		free(d->l1i.tags[k].line);
		free(d->l1d.tags[k].line);
		free(d->l2.tags[k].line);
	}
	free(d);
}

/* Makes the line the most recent of its set; whether it was there. */
static bool touch(struct tags *t, uint64_t line)
{
	uint64_t *set = t->line + line % t->sets * t->ways;
	uint32_t k = 0;

	while (k < t->ways && set[k] != line + 1)
		k++;
	const bool hit = k < t->ways;
	for (k = hit ? k : t->ways - 1; k; k--)
		set[k] = set[k - 1];
	set[0] = line + 1;
	return hit;
}

/* What the two sizes say of an access. */
struct answer {
	bool real, twice; /* has the line */
};

static struct answer ask(struct pair *p, uint64_t addr)
{
	const uint64_t line = addr >> p->shift;
	struct answer a = { true, true };

	if (!p->tags[0].sets)
		return a;
	a.real = touch(&p->tags[0], line);
	a.twice = touch(&p->tags[1], line);
	return a;
}

static bool gained(struct answer a)
{
	return !a.real && a.twice;
}

unsigned doubled_next(struct doubled *d, const struct rec_inst *r)
{
	unsigned hits = 0;

	if (r->pc >> d->l1i.shift != d->fetched || r->lat_icache) {
		d->fetched = r->pc >> d->l1i.shift;
		hits |= gained(ask(&d->l1i, r->pc)) && r->lat_icache ? SIZED_L1I : 0;
		if (r->lat_icache && gained(ask(&d->l2, r->pc)) && r->ilevel > LEVEL_L2)
			hits |= SIZED_L2I;
	}
	if (!(r->flags & (RI_LOAD | RI_STORE)) || r->cls == CLASS_HINT || r->flags & RI_FAULT)
		return hits;
	const struct answer l1 = ask(&d->l1d, r->addr);
	if (!(r->flags & RI_LOAD)) {
		if (!l1.real)
			ask(&d->l2, r->addr);
		return hits;
	}
	if (!(r->psv & PSV_ST_L1) || r->psv & PSV_ST_MERGE || r->dlevel == LEVEL_FWD)
		return hits;
	hits |= gained(l1) ? SIZED_L1D : 0;
	if (gained(ask(&d->l2, r->addr)) && r->dlevel > LEVEL_L2)
		hits |= SIZED_L2D;
	return hits;
}

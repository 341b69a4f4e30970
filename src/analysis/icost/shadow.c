/* SPDX-License-Identifier: MIT */
/*
 * A second set of cache tags (L1s, L2 and last level, LRU) that only committed instructions touch.
 * If the real access hit and this one misses, a wrong path had fetched the line; if the real one
 * missed and this one hits, a wrong path had evicted it. Neither would happen if branches were
 * predicted right, so the graph counts both with mispredicts.
 *
 * Accesses come in program order, not in the order of execution. A run may begin with warm caches,
 * so nothing is said about a set of an L1 until the set is full. Whether a line that was not seen
 * before is in a lower cache is learnt from the lines that really missed.
 *
 * A next-line prefetcher at an L1 is modelled here too, and so are the program's own prefetches.
 * Whether such a line comes in time is not known, so nothing is said about the first use of a
 * prefetched line. With any other prefetcher, that side (instructions or data) is not modelled.
 */
#include "analysis/icost/shadow.h"

#include "analysis/icost/thresholds.h"
#include <stdlib.h>
#include <string.h>

#include "isa/isa.h"

struct tags {
	uint32_t sets, ways; /* sets 0: no such cache */
	uint32_t mask;	     /* sets - 1 if that is a power of two, else 0 */
	uint32_t shift;	     /* from addresses to its lines */
	/* by set, most recent first: 2 * (line + 1), plus 1 if prefetched and not used; 0: free */
	uint64_t *line;
};

#define TLB_MOST 512 /* largest TLB that is modelled */

struct tlb {
	uint32_t entries, used; /* entries 0: no such TLB, or not modelled */
	uint64_t clock;
	uint64_t page[TLB_MOST], last[TLB_MOST]; /* page, and the clock when it was last used */
	uint16_t at[1024];			 /* entry that a page was last in, by its number */
	uint32_t sixteenths;			 /* mean walk, in sixteenths of a cycle */
};

struct shadow {
	struct tags l1[2], l2, llc;
	struct tlb dtlb;
	bool usable[2];
	bool ideal;	     /* the machine has no data misses, or none that go to memory */
	uint32_t ahead[2];   /* lines that the prefetcher brings per trigger */
	bool cross_page[2];  /* the prefetcher may leave the page */
	uint32_t page_shift; /* from addresses to pages */
	uint64_t watched;    /* line of the last instruction that shadow_watch saw */
	struct strange {
		uint32_t
		    by[LEVEL_MEM + 1]; /* misses of lines not seen before that a level served */
		int64_t owed[LEVEL_MEM +
			     1]; /* lines still to be said to come from it, times their sum */
	} strange[2], stores;
	uint32_t sixteenths[2]
			   [LEVEL_MEM + 1]; /* what a miss adds, mean, in sixteenths of a cycle */
	uint16_t least[2][LEVEL_MEM + 1];
};

static struct tags tags_of(const struct memsys_config *mem, enum mem_cache id)
{
	const struct mem_cache_config *c = &mem->cache[id];
	const uint32_t line = machine_line_bytes(mem, id);
	struct tags t = { .ways = c->ways, .shift = (uint32_t)__builtin_ctz(line) };
	if (c->size_bytes) {
		t.sets = c->size_bytes / line / t.ways;
		t.mask = t.sets & (t.sets - 1) ? 0 : t.sets - 1;
		t.line = x_calloc((size_t)t.sets * t.ways, sizeof(*t.line));
	}
	return t;
}

/* Lines that a prefetcher brings with a miss; UINT32_MAX: one whose lines cannot be told. */
static uint32_t lines_ahead(const struct mem_prefetch_config *p)
{
	if (p->kind == MEM_PF_NONE)
		return 0;
	return p->kind == MEM_PF_NEXT_LINE ? p->degree : UINT32_MAX;
}

struct shadow *shadow_new(const struct machine *machine, const struct trace_meta *meta)
{
	const struct memsys_config *c = &machine->mem;
	if (!c->cache[MEM_L1I].size_bytes && !c->cache[MEM_L1D].size_bytes)
		return NULL;
	struct shadow *s = x_calloc(1, sizeof(*s));
	s->l1[SHADOW_INST] = tags_of(c, MEM_L1I);
	s->l1[SHADOW_DATA] = tags_of(c, MEM_L1D);
	s->l2 = tags_of(c, MEM_L2);
	s->llc = tags_of(c, MEM_LLC);
	if (c->dtlb.entries <= TLB_MOST && !c->dtlb.ways)
		s->dtlb.entries = c->dtlb.entries;
	s->page_shift = (uint32_t)__builtin_ctz(c->page_bytes);
	s->ideal = machine->ideal_all & (IDEAL_DMISS | IDEAL_DMEM);
	for (unsigned side = 0; side < 2; side++) {
		const struct mem_prefetch_config *p =
		    &c->cache[side == SHADOW_INST ? MEM_L1I : MEM_L1D].prefetch;
		s->ahead[side] = lines_ahead(p);
		s->cross_page[side] = p->cross_page;
		s->usable[side] = s->l1[side].sets && s->ahead[side] != UINT32_MAX;
	}
	/* Nor can the lines that the predictors ask for ahead of fetch. */
	if (machine->fetch_ahead)
		s->usable[SHADOW_INST] = false;
	/* a level adds the same to a hit on either side */
	for (unsigned side = 0; side < 2; side++) {
		s->least[side][LEVEL_L2] = (uint16_t)(meta->l2_latency - meta->l1d_latency);
		s->least[side][LEVEL_LLC] = (uint16_t)(meta->llc_latency - meta->l1d_latency);
		s->least[side][LEVEL_MEM] = (uint16_t)(meta->mem_latency - meta->l1d_latency);
		for (unsigned level = LEVEL_L2; level <= LEVEL_MEM; level++)
			s->sixteenths[side][level] = 16u * s->least[side][level];
	}
	return s;
}

void shadow_free(struct shadow *s)
{
	if (!s)
		return;
	free(s->l1[0].line);
	free(s->l1[1].line);
	free(s->l2.line);
	free(s->llc.line);
	free(s);
}

enum touch { TOUCH_MISS, TOUCH_HIT, TOUCH_FIRST /* use of a line that was prefetched */ };

static uint64_t *set_of(const struct tags *t, uint64_t line)
{
	return t->line + (size_t)(t->mask ? line & t->mask : line % t->sets) * t->ways;
}

/* The way that has the line; t->ways: none. */
static uint32_t way_of(const struct tags *t, const uint64_t *set, uint64_t line)
{
	uint32_t k = 0;
	while (k < t->ways && (set[k] & ~1ull) != 2 * (line + 1))
		k++;
	return k;
}

/* Makes the line the most recent of its set. *full: the set had no free way. */
static enum touch touch(struct tags *t, uint64_t line, bool *full)
{
	uint64_t *set = set_of(t, line);
	const uint64_t tag = 2 * (line + 1);
	*full = set[t->ways - 1] != 0;
	if (likely(set[0] == tag))
		return TOUCH_HIT;
	uint32_t k = way_of(t, set, line);
	const enum touch hit = k == t->ways ? TOUCH_MISS : set[k] == tag ? TOUCH_HIT : TOUCH_FIRST;
	for (k = hit ? k : t->ways - 1; k; k--)
		set[k] = set[k - 1];
	set[0] = tag;
	return hit;
}

/* The line of a lower cache that has this line of t. */
static uint64_t line_in(const struct tags *lower, const struct tags *t, uint64_t line)
{
	return line >> (lower->shift - t->shift);
}

/* Brings the prefetcher's next lines, after a miss or the first use of a prefetched line. */
static void prefetch(struct shadow *s, enum shadow_side side, uint64_t line)
{
	struct tags *t = &s->l1[side];
	const uint32_t page_shift = s->page_shift - t->shift;
	for (uint64_t next = line + 1; next <= line + s->ahead[side]; next++) {
		uint64_t *set = set_of(t, next);
		bool full;
		if (!s->cross_page[side] && next >> page_shift != line >> page_shift)
			return;
		if (way_of(t, set, next) < t->ways)
			continue;
		touch(t, next, &full);
		set[0] |= 1;
		if ((!s->l2.sets || !touch(&s->l2, line_in(&s->l2, t, next), &full)) && s->llc.sets)
			touch(&s->llc, line_in(&s->llc, t, next), &full);
	}
}

/* The level from `from` on that a line comes from of which it is not known: each as often as for the real
 * misses. */
static enum mem_level level_by_chance(struct strange *s, enum mem_level from)
{
	int64_t all = 0;
	unsigned level = LEVEL_MEM;
	for (unsigned k = from; k <= LEVEL_MEM; k++)
		all += s->by[k];
	for (unsigned k = from; k <= LEVEL_MEM; k++) {
		s->owed[k] += s->by[k];
		if (s->owed[k] > s->owed[level])
			level = k;
	}
	s->owed[level] -= all;
	return (enum mem_level)level;
}

static enum mem_level access_line(struct shadow *s, enum shadow_side side, uint64_t addr,
				  enum mem_level really, struct strange *strange)
{
	const struct tags *l1 = &s->l1[side];
	const uint64_t line = addr >> l1->shift;
	bool full, full2 = true, full3;
	if (!s->usable[side])
		return LEVEL_NONE;
	const enum touch found = touch(&s->l1[side], line, &full);
	if (found != TOUCH_HIT && s->ahead[side])
		prefetch(s, side, line);
	if (found)
		return found == TOUCH_HIT ? LEVEL_L1 : LEVEL_NONE;
	enum mem_level level = LEVEL_MEM;
	if (s->l2.sets && touch(&s->l2, line_in(&s->l2, l1, line), &full2))
		level = LEVEL_L2;
	full3 = full2;
	if (level == LEVEL_MEM && s->llc.sets && touch(&s->llc, line_in(&s->llc, l1, line), &full3))
		level = LEVEL_LLC;
	if (level == LEVEL_MEM && !full3) {
		/* It may have been there before the run. */
		if (really > LEVEL_L1)
			strange->by[really]++;
		if (really == LEVEL_MEM)
			return full ? LEVEL_MEM : LEVEL_NONE;
		level = level_by_chance(strange, full2 ? LEVEL_LLC : LEVEL_L2);
	}
	return full ? level : LEVEL_NONE;
}

enum mem_level shadow_access(struct shadow *s, enum shadow_side side, uint64_t addr,
			     enum mem_level really)
{
	return access_line(s, side, addr, really, &s->strange[side]);
}

enum mem_level shadow_store(struct shadow *s, uint64_t addr)
{
	const enum mem_level level = access_line(s, SHADOW_DATA, addr, LEVEL_NONE, &s->stores);
	return s->ideal ? LEVEL_NONE : level;
}

bool shadow_knows_first(const struct shadow *s, enum shadow_side side)
{
	return s->usable[side] && !s->ideal;
}

void shadow_stored(struct shadow *s, bool memory)
{
	s->stores.by[memory ? LEVEL_MEM : s->llc.sets ? LEVEL_LLC : LEVEL_L2]++;
}

/* True if the TLB has the page; from now on it does. */
static bool translate(struct tlb *t, uint64_t page)
{
	uint16_t *at = &t->at[page % ARRAY_LEN(t->at)];
	uint32_t k = *at, oldest = 0;
	t->clock++;
	if (likely(k < t->used && t->page[k] == page)) {
		t->last[k] = t->clock;
		return true;
	}
	for (k = 0; k < t->used && t->page[k] != page; k++)
		if (t->last[k] < t->last[oldest])
			oldest = k;
	const bool hit = k < t->used;
	if (!hit)
		k = t->used < t->entries ? t->used++ : oldest;
	t->page[k] = page;
	t->last[k] = t->clock;
	*at = (uint16_t)k;
	return hit;
}

uint16_t shadow_translate(struct shadow *s, uint64_t addr, uint16_t took)
{
	struct tlb *t = &s->dtlb;
	if (!t->entries)
		return 0;
	const bool full = t->used == t->entries, hit = translate(t, addr >> s->page_shift);
	if (hit || !full)
		return 0;
	if (took)
		t->sixteenths =
		    ((MEAN_OF - 1) * t->sixteenths + 16u * took + MEAN_OF / 2) / MEAN_OF;
	const uint32_t walk = (t->sixteenths + 8) / 16;
	return walk > took ? (uint16_t)(walk - took) : 0;
}

void shadow_hint(struct shadow *s, const struct rec_inst *r)
{
	const struct inst in = isa_decode(r->word);
	const enum shadow_side side = in.op == OP_PREFETCH_I ? SHADOW_INST : SHADOW_DATA;
	struct tags *t = &s->l1[side];
	const uint64_t line = r->addr >> t->shift;
	bool full;
	/* Programs ask for what a null pointer points to, which is nowhere. */
	if (in.op == OP_PAUSE || !s->usable[side] || !(r->addr >> s->page_shift))
		return;
	if (side == SHADOW_DATA)
		shadow_translate(s, r->addr, r->lat_dtlb);
	const enum touch found = touch(t, line, &full);
	if (found == TOUCH_HIT)
		return;
	set_of(t, line)[0] |= 1;
	if (s->ahead[side])
		prefetch(s, side, line);
	if (!found && (!s->l2.sets || !touch(&s->l2, line_in(&s->l2, t, line), &full)) &&
	    s->llc.sets)
		touch(&s->llc, line_in(&s->llc, t, line), &full);
}

void shadow_watch(struct shadow *s, const struct rec_inst *r)
{
	const uint64_t line = r->pc >> s->l1[SHADOW_INST].shift;
	if (line != s->watched || r->lat_icache) {
		s->watched = line;
		shadow_access(s, SHADOW_INST, r->pc,
			      r->lat_icache ? (enum mem_level)r->ilevel : LEVEL_L1);
	}
	if (r->flags & (RI_LOAD | RI_STORE))
		shadow_translate(s, r->addr, r->lat_dtlb);
	if (r->cls == CLASS_HINT)
		shadow_hint(s, r);
	else if (r->cls == CLASS_STORE)
		shadow_store(s, r->addr);
	else if (r->flags & (RI_LOAD | RI_STORE))
		shadow_access(s, SHADOW_DATA, r->addr,
			      r->psv & (PSV_ST_L1 | PSV_ST_MERGE) ? (enum mem_level)r->dlevel
								  : LEVEL_L1);
}

void shadow_learn(struct shadow *s, enum shadow_side side, enum mem_level level, uint16_t cycles)
{
	/* a running mean: merging shortens single misses and queues lengthen them */
	uint32_t *l = &s->sixteenths[side][level <= LEVEL_MEM ? level : LEVEL_MEM];
	*l = ((MEAN_OF - 1) * *l + 16u * cycles + MEAN_OF / 2) / MEAN_OF;
}

uint16_t shadow_latency(const struct shadow *s, enum shadow_side side, enum mem_level level)
{
	return (uint16_t)((s->sixteenths[side][level] + 8) / 16);
}

uint16_t shadow_least(const struct shadow *s, enum shadow_side side, enum mem_level level)
{
	return s->least[side][level];
}

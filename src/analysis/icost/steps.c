/* SPDX-License-Identifier: MIT */
/*
 * From edges to steps: what is the same in every lane is worked out once, here: which rows an
 * instruction reads and writes, and what its parts add in each lane. Sums of parts are rows, too
 * (delays); few differ, so they are kept: one small part in a table, the parts of an execution in a
 * cache. A cache entry that a step of the batch needs must stay until the batch has run; where one
 * would have to go, the batch ends.
 *
 * Times cannot overflow: every node is at most the latest time so far plus all that the
 * instruction's edges add, so the sum of those bounds how far a batch can get. F moves only at
 * heads, so only they add the front end's depth.
 */
#include <assert.h>
#include <string.h>

#include "analysis/icost/graph_int.h"
#include "util/util.h"

void graph_forget_delays(struct graph *g)
{
	memset(g->delay, 0, sizeof(g->delay));
	memset(g->single, 0, sizeof(g->single));
	g->nsingles = 0;
}

/* Adds a part to what a row's lanes of a block hold. */
static void add_part(const struct graph *g, unsigned lane, unsigned row, struct graph_part p)
{
	if (!p.cycles)
		return;
	if (g->width == BROAD) {
		uint32_t *to = graph_row(g, lane, row);
		const uint32_t *mask = graph_row(g, lane, g->rows.masks + p.category);
		for (unsigned k = 0; k < GRAPH_BLOCK; k++)
			to[k] += p.cycles & mask[k];
	} else {
		uint16_t *to = graph_row(g, lane, row);
		const uint16_t *mask = graph_row(g, lane, g->rows.masks + p.category);
		for (unsigned k = 0; k < GRAPH_BLOCK; k++)
			to[k] = (uint16_t)(to[k] + (p.cycles & mask[k]));
	}
}

static void fill(const struct graph *g, unsigned lane, unsigned row, uint32_t value)
{
	if (g->width == BROAD) {
		uint32_t *to = graph_row(g, lane, row);
		for (unsigned k = 0; k < GRAPH_BLOCK; k++)
			to[k] = value;
	} else {
		uint16_t *to = graph_row(g, lane, row);
		for (unsigned k = 0; k < GRAPH_BLOCK; k++)
			to[k] = (uint16_t)value;
	}
}

static void copy(const struct graph *g, unsigned lane, unsigned to, unsigned from)
{
	memcpy(graph_row(g, lane, to), graph_row(g, lane, from),
	       (size_t)GRAPH_BLOCK * (g->width == BROAD ? 4 : 2));
}

static void at_least(const struct graph *g, unsigned lane, unsigned row, uint32_t value)
{
	if (g->width == BROAD) {
		uint32_t *to = graph_row(g, lane, row);
		for (unsigned k = 0; k < GRAPH_BLOCK; k++)
			to[k] = to[k] > value ? to[k] : value;
	} else {
		uint16_t *to = graph_row(g, lane, row);
		for (unsigned k = 0; k < GRAPH_BLOCK; k++)
			to[k] = to[k] > value ? to[k] : (uint16_t)value;
	}
}

/* An entry of the cache, which stays for this batch; NULL: the batch must end. *known: it is these
 * parts' already. */
static inline struct graph_delay *delay_for(struct graph *g, const uint64_t key[3], bool *known)
{
	const uint64_t h = (key[0] * 0x9e3779b97f4a7c15ull ^ key[1] * 0xc2b2ae3d27d4eb4full) +
			   key[2] * 0x165667b19e3779f9ull;
	const unsigned home = (unsigned)(h >> 48);
	struct graph_delay *d;
	for (unsigned k = 0; k < GRAPH_PROBES; k++) {
		d = &g->delay[(home + k) % GRAPH_DELAYS];
		if (likely(!((d->key[0] ^ key[0]) | (d->key[1] ^ key[1]) | (d->key[2] ^ key[2])))) {
			d->batch = g->batches;
			*known = true;
			return d;
		}
	}
	*known = false;
	for (unsigned k = 0; k < GRAPH_PROBES; k++) {
		d = &g->delay[(home + g->next_probe++ % GRAPH_PROBES) % GRAPH_DELAYS];
		if (d->batch != g->batches || !d->key[2]) {
			d->batch = g->batches;
			return d;
		}
	}
	return NULL;
}

/* Works the rows of a new entry out. */
static void add_up(const struct graph *g, struct graph_delay *d, uint16_t ep,
		   const struct graph_part parts[GRAPH_EP_PARTS], struct graph_part wake)
{
	const unsigned row = g->rows.delays + 3 * (unsigned)(d - g->delay);
	d->to_p = d->to_c = d->to_dst = (uint16_t)row;
	if (ep < g->config.commit_latency)
		d->to_c = (uint16_t)(row + 1);
	if (wake.cycles)
		d->to_dst = (uint16_t)(row + 2);
	for (unsigned lane = 0; lane < GRAPH_LANES; lane += GRAPH_BLOCK) {
		fill(g, lane, row, ep);
		for (unsigned k = 0; k < GRAPH_EP_PARTS && parts[k].cycles; k++)
			add_part(g, lane, row, parts[k]);
		if (d->to_c != row) {
			copy(g, lane, d->to_c, row);
			at_least(g, lane, d->to_c, g->config.commit_latency);
		}
		if (d->to_dst != row) {
			copy(g, lane, d->to_dst, row);
			add_part(g, lane, d->to_dst, wake);
		}
	}
}

#define PART_KEY 0x00ffffff00ffffffull /* of two parts, without padding */
#define USED	 (1ull << 63)

/* Delays of an execution: ep and its parts; wake in to_dst; at least the commit latency in to_c.
 * NULL: the batch must end. */
static inline const struct graph_delay *delays(struct graph *g, uint16_t ep,
					       const struct graph_part parts[GRAPH_EP_PARTS],
					       struct graph_part wake)
{
	uint64_t key[3], two[2];
	uint32_t wakes;
	memcpy(two, parts, sizeof(two));
	memcpy(&wakes, &wake, sizeof(wakes));
	key[0] = two[0] & PART_KEY;
	key[1] = two[1] & PART_KEY;
	key[2] = (wakes & (uint32_t)PART_KEY) | (uint64_t)ep << 32 | USED;
	bool known;
	struct graph_delay *d = delay_for(g, key, &known);
	if (likely(known) || !d)
		return d;
	uint32_t most = ep + wake.cycles;
	for (unsigned k = 0; k < GRAPH_EP_PARTS && parts[k].cycles; k++)
		most += parts[k].cycles;
	d->key[2] = 0;
	if (most > GRAPH_LIMIT(g->width)) /* more than a sum of narrow lanes holds */
		return NULL;
	memcpy(d->key, key, sizeof(d->key));
	d->most = most;
	add_up(g, d, ep, parts, wake);
	return d;
}

/* Row for a part that is not an execution's, of which there are some cycles. False: the batch must
 * end. */
static bool part_row(struct graph *g, struct graph_part p, uint16_t *row)
{
	if (likely(p.cycles < GRAPH_SMALL)) {
		uint16_t *r = &g->single[p.category][p.cycles];
		*row = *r;
		if (likely(*r))
			return true;
		if (g->nsingles < GRAPH_SINGLES) {
			*row = *r = (uint16_t)(g->rows.singles + g->nsingles++);
			for (unsigned lane = 0; lane < GRAPH_LANES; lane += GRAPH_BLOCK) {
				fill(g, lane, *r, 0);
				add_part(g, lane, *r, p);
			}
			return true;
		}
	}
	const struct graph_part parts[GRAPH_EP_PARTS] = { p };
	const struct graph_delay *d = delays(g, 0, parts, (struct graph_part){ 0 });
	if (d)
		*row = d->to_p;
	return d;
}

/* … for up to three, of which there may be none. */
static bool parts_row(struct graph *g, const struct graph_part *p, unsigned n, uint16_t *row)
{
	unsigned used = 0, at = 0;
	for (unsigned k = 0; k < n; k++)
		if (p[k].cycles) {
			used++;
			at = k;
		}
	*row = 0;
	if (likely(used <= 1))
		return !used || part_row(g, p[at], row);
	struct graph_part parts[GRAPH_EP_PARTS] = { 0 };
	used = 0;
	for (unsigned k = 0; k < n; k++)
		if (p[k].cycles)
			parts[used++] = p[k];
	const struct graph_delay *d = delays(g, 0, parts, (struct graph_part){ 0 });
	if (d)
		*row = d->to_p;
	return d;
}

static uint16_t grain_row(const struct graph *g, uint64_t i, uint32_t back)
{
	const uint64_t j = (i - back - (GRAPH_GRAIN - 1)) / GRAPH_GRAIN;
	return (uint16_t)(g->rows.d_grain + (j & GRAPH_D_GRAIN_MASK));
}

/* What the steps of a batch have in common. */
struct batch {
	struct graph *g;
	uint32_t width, commit_width, c_mask, c_grain_mask, constant;
	uint32_t growth; /* what the present instruction can add to the latest time, at most */
};

/* These return false where the batch must end before the instruction, and the flags of what it has
 * in *flags. */
static inline bool head(struct batch *b, const struct graph_inst *restrict in, uint64_t i,
			struct graph_step *restrict s, unsigned *flags)
{
	struct graph *g = b->g;
	*flags |= STEP_HEAD;
	b->growth += (uint32_t)in->step[0].cycles + in->step[1].cycles + in->fetch[0].cycles +
		     in->fetch[1].cycles + in->fetch[2].cycles + g->config.depth;
	if (in->flags & GRAPH_PD) {
		*flags |= STEP_PD;
		s->pd = in->pd;
		s->pd_mask = (uint16_t)(g->rows.masks + in->pd_cat);
		b->growth += in->pd;
	}
	if (in->flags & GRAPH_CF) {
		*flags |= STEP_CF;
		s->cf = in->cf;
		b->growth += in->cf;
	}
	s->buffer = in->buffer ? grain_row(g, i, in->buffer) : 0;
	s->targets = in->targets ? (uint16_t)(g->rows.c + ((i - in->targets) & b->c_mask)) : 0;
	s->buffer_ideal = g->config.buffer_ideal ? grain_row(g, i, g->config.buffer_ideal) : 0;
	return parts_row(g, in->step, 2, &s->step) && parts_row(g, in->fetch, 3, &s->fetch);
}

static inline bool dispatch(struct batch *b, const struct graph_inst *restrict in, uint64_t i,
			    struct graph_step *restrict s, unsigned *flags)
{
	const struct graph_rows *r = &b->g->rows;
	s->d_before = (uint16_t)(r->d + ((i - b->width) & GRAPH_D_MASK));
	s->d = (uint16_t)(r->d + (i & GRAPH_D_MASK));
	s->cd[0] = in->cd[0] ? (uint16_t)(r->c + ((i - in->cd[0]) & b->c_mask)) : 0;
	s->cd[1] =
	    in->cd[1]
		? (uint16_t)(r->c_grain + ((i - in->cd[1]) / GRAPH_WIN_GRAIN & b->c_grain_mask))
		: 0;
	if (in->iq) {
		*flags |= STEP_IQ;
		s->iq = (uint16_t)(r->e + ((i - in->iq) & b->c_mask));
	}
	if (in->flags & GRAPH_SERIAL)
		*flags |= STEP_SERIAL;
	if (i % GRAPH_GRAIN == GRAPH_GRAIN - 1) {
		*flags |= STEP_D_GRAIN;
		s->d_grain = (uint16_t)(r->d_grain + (i / GRAPH_GRAIN & GRAPH_D_GRAIN_MASK));
	}
	if (unlikely(in->cd_wait.cycles && in->cd[0])) {
		*flags |= STEP_WAIT;
		b->growth += in->cd_wait.cycles;
		assert(in->cd_wait.cycles <= GRAPH_WAIT_MAX);
		if (!part_row(b->g, in->cd_wait, &s->wait))
			return false;
	}
	if (in->dd.cycles) {
		*flags |= STEP_DD;
		b->growth += in->dd.cycles;
		if (!part_row(b->g, in->dd, &s->dd))
			return false;
	}
	return true;
}

static inline bool execute(struct batch *b, const struct graph_inst *restrict in, uint64_t i,
			   struct graph_step *restrict s, unsigned *flags)
{
	struct graph *g = b->g;
	memcpy(s->src, in->src, sizeof(s->src));
	if (in->src[2])
		*flags |= STEP_SOURCES;
	if (in->port) {
		*flags |= STEP_PORT | (in->flags & GRAPH_PORT ? STEP_PORT_BINDS : 0);
		s->port = in->port;
		s->after = in->after;
		s->occupies = 0;
		b->growth += in->occupies.cycles;
		g->ports[in->port / 64] |= 1ull << in->port % 64;
		if (in->occupies.cycles && !part_row(g, in->occupies, &s->occupies))
			return false;
	}
	if (in->re.cycles) {
		*flags |= STEP_RE;
		b->growth += in->re.cycles;
		if (!part_row(g, in->re, &s->re))
			return false;
	}
	if (unlikely(in->late | in->written)) {
		*flags |= STEP_LATE | (in->flags & GRAPH_LINE ? STEP_LINE : 0) |
			  (in->flags & GRAPH_FORWARD ? STEP_FORWARD : 0);
		s->fill = in->fill;
		s->late = in->written ? (uint16_t)(g->rows.c + ((i - in->written) & b->c_mask))
				      : in->late;
		s->late_mask = (uint16_t)(g->rows.masks + in->line_cat);
		s->drain = 0;
		assert(in->drain.cycles <= GRAPH_WAIT_MAX);
		b->growth += in->drain.cycles;
		if (in->drain.cycles && !part_row(g, in->drain, &s->drain))
			return false;
	}
	const struct graph_delay *d = delays(g, in->ep, in->ep_part, in->wake);
	if (!d)
		return false;
	b->growth += d->most;
	s->to_p = d->to_p;
	s->to_c = d->to_c;
	s->to_dst = d->to_dst;
	s->dst = in->dst;
	if (in->line | in->data | in->mem) {
		*flags |= STEP_P;
		s->line = in->line;
		s->line_mask = (uint16_t)(g->rows.masks + in->line_cat);
		s->data = in->data;
		s->mem = in->mem ? in->mem : g->rows.unread;
		s->wake = 0;
		if (in->wake.cycles && !part_row(g, in->wake, &s->wake))
			return false;
	}
	if (unlikely(in->wake.cycles > g->wake))
		g->wake = in->wake.cycles;
	if (unlikely(in->brings)) {
		*flags |= STEP_BRINGS;
		s->brings = in->brings;
		s->pc = in->pc;
		s->fill = in->fill;
		b->growth += in->fill;
		g->wake = (uint32_t)max_u64(g->wake, in->fill);
	}
	return true;
}

static inline bool step(struct batch *b, const struct graph_inst *restrict in, uint64_t i,
			struct graph_step *restrict s)
{
	const struct graph_rows *r = &b->g->rows;
	unsigned flags = 0;
	b->growth = b->constant + in->pc;
	if (in->flags & GRAPH_HEAD && !head(b, in, i, s, &flags))
		return false;
	if (!dispatch(b, in, i, s, &flags) || !execute(b, in, i, s, &flags))
		return false;
	const uint16_t slot = (uint16_t)(i & b->c_mask);
	s->e = (uint16_t)(r->e + slot);
	s->c = (uint16_t)(r->c + slot);
	s->c_before = (uint16_t)(r->c + ((i - b->commit_width) & b->c_mask));
	if (in->pc) {
		flags |= STEP_PC;
		s->pc = in->pc;
	}
	if (i % GRAPH_WIN_GRAIN == GRAPH_WIN_GRAIN - 1) {
		flags |= STEP_C_GRAIN;
		s->c_grain = (uint16_t)(r->c_grain + (i / GRAPH_WIN_GRAIN & b->c_grain_mask));
	}
	s->flags = flags;
	return true;
}

size_t graph_steps(struct graph *g, const struct graph_inst *in, size_t count, uint64_t *growth)
{
	const uint64_t room = GRAPH_LIMIT(g->width) - g->highest;
	const size_t most = min_u64(count, GRAPH_BATCH);
	struct batch b = { .g = g,
			   .width = g->config.fetch_width,
			   .commit_width = g->config.commit_width,
			   .c_mask = g->c_mask,
			   .c_grain_mask = g->c_grain_mask,
			   .constant = 2 + g->config.dispatch_latency + g->config.commit_latency };
	uint64_t sum = 0;
	size_t n = 0;
	g->batches++;
	for (; n < most; n++) {
		if (!step(&b, &in[n], g->count + n, &g->steps[n]) || sum + b.growth > room)
			break;
		sum += b.growth;
		if (n && in[n].flags & GRAPH_PD)
			g->steps[n - 1].flags |= STEP_P_KEPT;
	}
	if (n)
		g->steps[n - 1].flags |= STEP_P_KEPT;
	*growth = sum;
	return n;
}

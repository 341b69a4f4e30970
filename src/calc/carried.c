/* SPDX-License-Identifier: MIT */
/*
 * What the paths to each block may have left behind: a data-flow analysis, forwards, over all paths
 * but those over edges that are ignored (calc_options.ignore_edges).
 *
 * All blocks are gone through in order of address, round by round, until nothing changes: paths forward
 * need one round, loops one more for each level. A state only grows (masks join, times and counts take
 * the larger), so a block's change is passed on and never taken back. A write buffer that has not settled
 * after WIDEN rounds is taken to be full. If anything has not after ROUNDS, nothing is known of any block,
 * and all is possible. So the work is at most ROUNDS times the procedure's size, whatever its graph, and
 * no recursion is needed.
 *
 * Time that passes is at least M. Registers: an instruction that reads or overwrites a register has
 * waited for its last writer when it issues. Calls and returns, by calc_options.cross:
 *
 *   pessimistic   anything may be under way
 *   selective     what the calling convention passes: arguments, results, registers that the callee
 *                 saves and restores; of other registers a load may be under way that nobody needs,
 *                 and that who overwrites one waits for; all of it only as far as the program's own
 *                 calls and returns leave loads under way (passed.c). Results that are computed take as long as at
 *                 the returns of the program's procedures. What the write buffer held before a call it
 *                 may hold after it
 *   optimistic    nothing
 *
 * Lines in the write buffer: a store takes one, unless it is at most a line away from the one counted
 * last, by the same register. They leave at the slowest rate of the level below.
 *
 * Stores in the queue: a load that lies within one gets its data from there and waits for nothing. Data
 * lie at multiples of their size, so only a narrower store can hold up a load; any store can, an atomic.
 *
 * Not modelled: addresses beyond base register and offset, within a block.
 */
#include "calc/carried.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 16
#define WIDEN  6
#define QUEUED                                                                                     \
	8 /* cycles from a store's issue to its leaving the queue, if nothing holds up commit */

/* Registers of the calling convention, as in inst_operands. */
#define X(n)	    (1ull << (n))
#define F(n)	    (1ull << (32 + (n)))
#define RANGE(a, b) ((2ull << (b)) - (1ull << (a)))
#define SAVED	    (RANGE(8, 9) | RANGE(18, 27) | RANGE(32 + 8, 32 + 9) | RANGE(32 + 18, 32 + 27))
#define ARGUMENTS   (RANGE(10, 17) | RANGE(32 + 10, 32 + 17))
#define RESULTS	    (RANGE(10, 11) | RANGE(32 + 10, 32 + 11))
#define ALL	    (~1ull)

static double below_l1(const struct memsys_config *mem)
{
	double t = mem->mem.latency;

	if (mem->mem.kind == MEM_DRAM) {
		const struct mem_dram_config *d = &mem->mem.dram;

		t = d->overhead + (d->rp + d->rcd + d->cas) * d->clock_milli / 1000.0;
	}
	for (unsigned c = MEM_L2; c < MEM_CACHES; c++) {
		const struct mem_cache_config *cache = &mem->cache[c];

		if (cache->size_bytes)
			t += cache->miss_latency < 0 ? (double)cache->latency : cache->miss_latency;
	}
	return t;
}

static uint16_t rest(double until, double now)
{
	const double left = until - now;

	if (!(left > 0))
		return 0;
	if (left >= UINT16_MAX)
		return UINT16_MAX;
	return (uint16_t)((uint16_t)left + (left > (uint16_t)left));
}

struct carried_machine carried_machine(const struct calc_program *p)
{
	const struct machine *m = p->machine;
	const struct memsys_config *mem = &m->mem;
	const double below = below_l1(mem);
	struct carried_machine k = { .m = m,
				     .fill = mem->cache[MEM_L1D].latency + below,
				     .fetch_fill = mem->cache[MEM_L1I].latency + below,
				     .entries = mem->cache[MEM_L1D].write_buffer,
				     .pessimistic = p->options.cross == CROSS_PESSIMISTIC };
	const unsigned mshrs = mem->cache[MEM_L2].size_bytes ? mem->cache[MEM_L2].mshrs : 1;

	k.walk = mem->walk == MEM_WALK_FLAT ? mem->walk_latency : 3 * k.fill;
	k.walk += mem->stlb.entries ? mem->stlb.latency : 0;
	k.line = fmax(mem->cache[MEM_L1D].latency + mem->cache[MEM_L2].latency, k.fill / mshrs);
	for (unsigned c = 0; c < CLASS_COUNT; c++)
		k.latency = fmax(k.latency, units_of_class(m, c).latency);
	for (unsigned fp = 0; fp < 2; fp++) {
		k.results[fp] = p->returned ? p->result_left[fp] : k.latency;
		k.results_left[fp] = rest(k.results[fp], 0);
	}
	return k;
}

struct carried_op carried_op(const struct machine *m, const struct cfg_inst *i)
{
	const struct inst in = isa_decode(i->word);
	struct carried_op op = { .imm = in.imm,
				 .operands = isa_operands(&in),
				 .use = units_of(m, &in),
				 .cls = op_info[in.op].cls,
				 .mem_bytes = op_info[in.op].mem_bytes };
	uint32_t policy = SERIAL_NONE;

	op.load = op.cls == CLASS_LOAD || op.cls == CLASS_AMO;
	op.store = op.cls == CLASS_STORE || op.cls == CLASS_AMO;
	for (unsigned k = 0; k < 3; k++)
		op.reads |= 1ull << op.operands.src[k];
	op.touches = (op.reads | 1ull << op.operands.dst) & ALL;
	op.reads &= ALL;
	if (op.cls == CLASS_AMO)
		policy = m->amo;
	else if (op.cls == CLASS_FENCE)
		policy = m->fence;
	else if (op.cls == CLASS_CSR)
		policy = m->csr;
	op.serial = policy != SERIAL_NONE;
	op.drains = op.serial && op.cls != CLASS_CSR;
	return op;
}

/* By a hash of the instruction's word, which is not 0 if the place is taken. */
#define CACHED_BITS 12
struct carried_cache {
	struct {
		uint32_t word;
		struct carried_op op;
	} of[1 << CACHED_BITS];
};

struct carried_cache *carried_cache_new(void)
{
	return x_calloc(1, sizeof(struct carried_cache));
}

struct carried_op carried_op_of(struct carried_cache *c, const struct machine *m,
				const struct cfg_inst *i)
{
	const uint32_t word = (i->word & 3) == 3 ? i->word : i->word & 0xffff;
	const uint32_t at = word * 2654435761u >> (32 - CACHED_BITS);

	if (!c || !word)
		return carried_op(m, i);
	if (c->of[at].word != word) {
		c->of[at].op = carried_op(m, i);
		c->of[at].word = word;
	}
	return c->of[at].op;
}

struct carried_op *carried_ops(const struct machine *m, const struct calc_proc *proc)
{
	const struct cfg *g = proc->graph;
	struct carried_op *ops = x_malloc((g->ninsts + 1) * sizeof(*ops));

	for (uint32_t i = 0; i < g->ninsts; i++)
		ops[i] = carried_op_of(proc->decoded, m, &g->insts[i]);
	return ops;
}

bool carried_counts(const struct calc_program *p, const struct calc_proc *proc, uint32_t edge)
{
	const double least = p->options.ignore_edges > 0 ? p->options.ignore_edges : 0.01;
	const uint32_t to = proc->graph->edges[edge].to;
	const double f = to == CFG_OUTSIDE ? NAN : proc->blocks[to].value;

	return !(f > 0) || !(proc->edges[edge].value < least * f);
}

/* ---- within a block ---- */

void carried_begin(struct carried_walk *w, const struct carried_machine *m,
		   const struct calc_proc *proc, const struct carried *s)
{
	memset(w, 0, offsetof(struct carried_walk, s));
	w->m = m;
	w->proc = proc;
	memcpy(&w->s, s, offsetof(struct carried, by));
	for (uint64_t rest = s->live; rest; rest &= rest - 1) {
		const unsigned r = (unsigned)__builtin_ctzll(rest);

		w->s.by[r] = s->by[r];
		w->until[r] = s->left[r];
	}
	for (unsigned u = 0; u < UNIT_COUNT; u++)
		w->unit_until[u] = s->unit_left[u];
	for (unsigned k = 0; k < CARRIED_WIDTHS; k++)
		w->queued_until[k] = s->queued[k];
}

void carried_wait(struct carried_walk *w, uint32_t inst)
{
	const double passed = w->proc->insts[inst].m;

	w->now += passed;
	if (w->s.lines > 0) {
		const double lines = w->s.lines - passed / w->m->line;

		w->s.lines = lines > 0 ? (float)lines : 0;
	}
}

/* The index of a store's width in queued. */
static unsigned width_of(const struct carried_op *op)
{
	return (unsigned)__builtin_ctz(op->mem_bytes | 1u << (CARRIED_WIDTHS - 1));
}

bool carried_overlaps(const struct carried_walk *w, const struct carried_op *op, uint32_t *by)
{
	const int32_t from = op->imm, to = from + op->mem_bytes;
	const uint32_t known = w->nstores < CARRIED_STORES ? w->nstores : CARRIED_STORES;
	const unsigned widths = op->cls == CLASS_AMO ? CARRIED_WIDTHS : width_of(op);
	bool here = false, before = false;

	for (unsigned k = 0; k < widths; k++) {
		here |= w->queued_until[k] > w->now;
		before |= w->s.queued[k] > w->now;
	}
	if (!here)
		return false;
	for (uint32_t k = 0; k < known; k++) {
		const bool narrower = w->stores[k].to - w->stores[k].from < to - from;

		if ((narrower || op->cls == CLASS_AMO) &&
		    (w->stores[k].base != op->operands.src[0] ||
		     (w->stores[k].from < to && from < w->stores[k].to))) {
			*by = w->stores[k].by;
			return true;
		}
	}
	*by = CARRIED_OUTSIDE;
	return w->nstores > CARRIED_STORES || before;
}

double carried_queued(const struct carried_walk *w)
{
	double left = 0;

	for (unsigned k = 0; k < CARRIED_WIDTHS; k++)
		if (w->queued_until[k] - w->now > left)
			left = w->queued_until[k] - w->now;
	return left;
}

/* Whether a load of this procedure may be under way. Behind those of others (after a call, at the
 * entry) a store waits only if all is possible (CROSS_PESSIMISTIC). */
static bool loads_pending(const struct carried_walk *w)
{
	for (uint64_t rest = w->s.loaded; rest; rest &= rest - 1)
		if (w->m->pessimistic || w->s.by[__builtin_ctzll(rest)] != CARRIED_OUTSIDE)
			return true;
	return false;
}

static void issue_store(struct carried_walk *w, uint32_t inst, const struct carried_op *op)
{
	const uint8_t base = op->operands.src[0];
	const int32_t at = op->imm, line = (int32_t)machine_line_bytes(&w->m->m->mem, MEM_L1D);
	double *queued = &w->queued_until[width_of(op)];

	w->stores[w->nstores % CARRIED_STORES].base = base;
	w->stores[w->nstores % CARRIED_STORES].from = at;
	w->stores[w->nstores % CARRIED_STORES].to = at + op->mem_bytes;
	w->stores[w->nstores++ % CARRIED_STORES].by = inst;
	w->s.store_by = inst;
	/* It commits after all older, which a load that misses may hold up. */
	const double until = w->now + QUEUED + (loads_pending(w) ? w->m->fill : 0);
	if (until > *queued)
		*queued = until;
	if (base == w->line_base && base && abs(at - w->line_offset) < line)
		return;
	w->line_base = base;
	w->line_offset = at;
	w->s.lines = w->s.lines + 1 < (float)w->m->entries ? w->s.lines + 1 : (float)w->m->entries;
}

void carried_issue(struct carried_walk *w, uint32_t inst, const struct carried_op *op)
{
	const uint8_t dst = op->operands.dst;
	uint32_t by;
	bool overlaps = op->load && carried_overlaps(w, op, &by);

	w->s.loaded &= ~op->touches;
	w->s.overlapped &= ~op->touches;
	w->s.stale &= ~op->touches;
	if (op->serial) {
		w->s.loaded = w->s.overlapped = w->s.stale = w->s.live = 0;
	}
	if (op->drains) {
		memset(w->queued_until, 0, sizeof(w->queued_until));
		w->s.lines = 0;
	}
	if (op->store)
		issue_store(w, inst, op);
	if (op->use.busy > 1) {
		w->unit_until[op->use.unit] = w->now + op->use.busy;
		w->s.unit_by[op->use.unit] = inst;
		w->units_here |= 1u << op->use.unit;
	}
	if (!dst)
		return;
	if (op->load)
		w->s.loaded |= 1ull << dst;
	if (overlaps)
		w->s.overlapped |= 1ull << dst;
	w->until[dst] = w->now + op->use.latency;
	w->s.by[dst] = inst;
	w->s.live |= 1ull << dst;
	w->here |= 1ull << dst;
	/* Addresses by the old value say nothing any more. */
	for (uint32_t k = 0; k < CARRIED_STORES; k++)
		if (w->stores[k].base == dst)
			w->stores[k].base = 0;
	if (w->line_base == dst)
		w->line_base = 0;
}

void carried_results(const struct carried_walk *w, double *left)
{
	for (uint64_t rest = RESULTS & w->s.live; rest; rest &= rest - 1) {
		const unsigned r = (unsigned)__builtin_ctzll(rest);

		if (w->s.by[r] != CARRIED_OUTSIDE)
			left[r >= 32] = fmax(left[r >= 32], w->until[r] - w->now);
	}
}

/* What the block leaves behind. */
static void end(const struct carried_walk *w, struct carried *out)
{
	const uint64_t pending = w->s.loaded | w->s.stale | w->s.overlapped;

	memcpy(out, &w->s, offsetof(struct carried, by));
	for (uint64_t left = w->s.live; left; left &= left - 1) {
		const unsigned r = (unsigned)__builtin_ctzll(left);

		out->by[r] = w->s.by[r];
		out->left[r] = rest(w->until[r], w->now);
		if (!out->left[r] && !(pending >> r & 1))
			out->live &= ~(1ull << r);
	}
	for (unsigned u = 0; u < UNIT_COUNT; u++)
		out->unit_left[u] = rest(w->unit_until[u], w->now);
	for (unsigned k = 0; k < CARRIED_WIDTHS; k++)
		out->queued[k] = rest(w->queued_until[k], w->now);
}

/* ---- between blocks ---- */

static void unknown(const struct carried_machine *m, struct carried *s)
{
	memset(s, 0, sizeof(*s));
	s->loaded = s->overlapped = s->live = ALL;
	memset(s->by, 0xff, sizeof(s->by));
	memset(s->unit_by, 0xff, sizeof(s->unit_by));
	for (unsigned r = 1; r < 64; r++)
		s->left[r] = rest(m->latency, 0);
	for (unsigned u = 0; u < UNIT_COUNT; u++)
		s->unit_left[u] = units_pipelined(m->m, u) ? 0 : rest(m->latency, 0);
	for (unsigned k = 0; k < CARRIED_WIDTHS; k++)
		s->queued[k] = rest(m->fill + QUEUED, 0);
	s->store_by = CARRIED_OUTSIDE;
	s->lines = (float)m->entries;
}

static void nothing(struct carried *s)
{
	memset(s, 0, offsetof(struct carried, by));
	memset(s->unit_by, 0xff, sizeof(s->unit_by));
	s->store_by = CARRIED_OUTSIDE;
}

/* What another procedure may have left behind: loads into registers that this one may need, of those
 * that the program's procedures pass on. */
static void outside(const struct calc_program *p, const struct carried_machine *m, uint64_t loaded,
		    uint64_t passed, uint64_t computed, float lines, struct carried *s)
{
	if (p->options.cross == CROSS_PESSIMISTIC) {
		unknown(m, s);
		return;
	}
	nothing(s);
	if (p->options.cross == CROSS_OPTIMISTIC)
		return;
	s->loaded = loaded & passed;
	s->stale = ALL & ~loaded & passed;
	s->live = s->loaded | s->stale | computed;
	for (uint64_t rest = s->live; rest; rest &= rest - 1) {
		const unsigned r = (unsigned)__builtin_ctzll(rest);

		s->by[r] = CARRIED_OUTSIDE;
		s->left[r] = computed >> r & 1 ? m->results_left[r >= 32] : 0;
	}
	s->lines = lines;
}

/* Joins from into s; true if s has grown. */
static bool join(struct carried *s, const struct carried *from)
{
	bool grown = (s->loaded | from->loaded) != s->loaded ||
		     (s->overlapped | from->overlapped) != s->overlapped ||
		     (s->stale | from->stale) != s->stale || from->lines > s->lines;

	s->loaded |= from->loaded;
	s->overlapped |= from->overlapped;
	s->stale |= from->stale;
	for (uint64_t rest = from->live & ~s->live; rest; rest &= rest - 1) {
		const unsigned r = (unsigned)__builtin_ctzll(rest);

		s->by[r] = CARRIED_OUTSIDE;
		s->left[r] = 0;
	}
	s->live |= from->live;
	for (uint64_t rest = from->live; rest; rest &= rest - 1) {
		const unsigned r = (unsigned)__builtin_ctzll(rest);

		if (from->left[r] > s->left[r]) {
			s->left[r] = from->left[r];
			grown = true;
		}
		if (from->by[r] < s->by[r])
			s->by[r] = from->by[r];
	}
	for (unsigned u = 0; u < UNIT_COUNT; u++) {
		if (from->unit_left[u] > s->unit_left[u]) {
			s->unit_left[u] = from->unit_left[u];
			grown = true;
		}
		if (from->unit_by[u] < s->unit_by[u])
			s->unit_by[u] = from->unit_by[u];
	}
	for (unsigned k = 0; k < CARRIED_WIDTHS; k++) {
		if (from->queued[k] > s->queued[k]) {
			s->queued[k] = from->queued[k];
			grown = true;
		}
	}
	if (from->store_by < s->store_by)
		s->store_by = from->store_by;
	s->lines = from->lines > s->lines ? from->lines : s->lines;
	return grown;
}

struct flow {
	const struct calc_program *p;
	const struct calc_proc *proc;
	const struct carried_machine *m;
	const struct carried_op *ops;
	struct carried *at;
	uint8_t *changed; /* by block: in this round or the last */
	uint8_t *rare;	  /* by block: no edge into it counts, but it was executed: all do */
};

/* Passes it on to block `to`; true if that changes its state. */
static bool pass_to(struct flow *f, uint32_t to, const struct carried *out, unsigned round)
{
	if (!join(&f->at[to], out))
		return false;
	if (round >= WIDEN)
		f->at[to].lines = (float)f->m->entries;
	f->changed[to] = 1;
	return true;
}

/* Passes on what block b leaves behind; true if that changes a block's state. */
static bool pass_on(struct flow *f, uint32_t b, unsigned round)
{
	const struct cfg *g = f->proc->graph;
	const struct cfg_block *block = &g->blocks[b];
	struct carried_walk w;
	struct carried out;
	bool any = false;

	carried_begin(&w, f->m, f->proc, &f->at[b]);
	for (uint32_t i = block->first; i < block->first + block->count; i++) {
		carried_wait(&w, i);
		carried_issue(&w, i, &f->ops[i]);
	}
	end(&w, &out);
	if (block->flags & CFG_BLOCK_CALLS)
		outside(f->p, f->m, RESULTS | SAVED,
			f->proc->call_loads ? f->proc->call_loads[b] : ALL, RESULTS, out.lines,
			&out);
	for (uint32_t e = block->first_out; e < block->first_out + block->nout; e++) {
		const uint32_t to = g->edges[e].to;

		if (to != CFG_OUTSIDE && (f->rare[to] || carried_counts(f->p, f->proc, e)))
			any |= pass_to(f, to, &out, round);
	}
	/* A jump to an unknown place goes to any block that one may enter. */
	for (uint32_t to = 0; block->flags & CFG_BLOCK_UNRESOLVED && to < g->nblocks; to++)
		if (g->blocks[to].flags & CFG_BLOCK_MAYBE)
			any |= pass_to(f, to, &out, round);
	return any;
}

/* How a block is come to. */
enum way {
	WAY_RARE = 1 << 0,    /* no edge into it counts: all do */
	WAY_ENTERED = 1 << 1, /* from another procedure */
	WAY_UNKNOWN = 1 << 2, /* nobody knows */
};

static unsigned ways_into(const struct calc_program *p, const struct calc_proc *proc, uint32_t b)
{
	const struct cfg *g = proc->graph;
	bool entered = b == g->entry, any = entered, outside_too = false;

	for (uint32_t k = 0; k < g->blocks[b].nin; k++) {
		const uint32_t e = g->in[g->blocks[b].first_in + k];
		const bool from_outside = g->edges[e].from == CFG_OUTSIDE;

		outside_too |= from_outside;
		if (carried_counts(p, proc, e)) {
			any = true;
			entered |= from_outside;
		}
	}
	const unsigned rare = any ? 0 : WAY_RARE;

	if (!g->blocks[b].nin && !any && !(g->blocks[b].flags & CFG_BLOCK_MAYBE))
		return rare | WAY_UNKNOWN;
	return rare | (entered || (!any && outside_too) ? WAY_ENTERED : 0);
}

struct carried *carried_all(const struct calc_program *p, const struct calc_proc *proc,
			    const struct carried_machine *m, const struct carried_op *ops)
{
	const struct cfg *g = proc->graph;
	struct flow f = { .p = p,
			  .proc = proc,
			  .m = m,
			  .ops = ops,
			  .at = x_malloc((g->nblocks + 1) * sizeof(*f.at)),
			  .changed = x_calloc(g->nblocks + 1, 1),
			  .rare = x_calloc(g->nblocks + 1, 1) };
	struct carried entry, anything;

	outside(p, m, ARGUMENTS | SAVED, proc->call_loads ? proc->entry_loads : ALL, 0, 0, &entry);
	unknown(m, &anything);
	for (uint32_t b = 0; b < g->nblocks; b++) {
		const unsigned ways = ways_into(p, proc, b);

		f.rare[b] = ways & WAY_RARE ? 1 : 0;
		nothing(&f.at[b]);
		if (ways & WAY_UNKNOWN)
			join(&f.at[b], &anything);
		else if (ways & WAY_ENTERED)
			join(&f.at[b], &entry);
		f.changed[b] = 1;
	}
	unsigned more = 1;
	for (unsigned round = 0; more && round < ROUNDS; round++) {
		more = 0;
		for (uint32_t b = 0; b < g->nblocks; b++) {
			if (!f.changed[b])
				continue;
			f.changed[b] = 0;
			more |= pass_on(&f, b, round);
		}
	}
	for (uint32_t b = 0; more && b < g->nblocks; b++)
		f.at[b] = anything;
	free(f.changed);
	free(f.rare);
	return f.at;
}

/* ---- registers alone ---- */

/* A block, as a function of the registers that loads are under way into at its beginning: `keep` of them and
 * `gen` are under way at its end. */
struct carried_block {
	uint64_t keep, gen;
	uint64_t loaded, stale; /* at its beginning */
	uint8_t ways;
	bool changed;
};

struct carried_loads {
	const struct calc_program *p;
	const struct calc_proc *proc;
	uint64_t loaded, stale; /* at jumps to unknown places */
	struct carried_block blocks[];
};

struct carried_loads *carried_loads_new(const struct calc_program *p, const struct calc_proc *proc,
					const struct carried_machine *m)
{
	const struct cfg *g = proc->graph;
	struct carried_loads *l = x_calloc(1, sizeof(*l) + g->nblocks * sizeof(l->blocks[0]));

	l->p = p;
	l->proc = proc;
	for (uint32_t b = 0; b < g->nblocks; b++) {
		struct carried_block *k = &l->blocks[b];

		*k = (struct carried_block){ .keep = ~0ull,
					     .ways = (uint8_t)ways_into(p, proc, b),
					     .changed = true };
		if (k->ways & WAY_UNKNOWN)
			k->loaded = ALL;
		for (uint32_t i = g->blocks[b].first; i < g->blocks[b].first + g->blocks[b].count;
		     i++) {
			const struct carried_op op =
			    carried_op_of(proc->decoded, m->m, &g->insts[i]);
			const uint64_t keep = op.serial ? 0 : ~op.touches;

			k->keep &= keep;
			k->gen = (k->gen & keep) |
				 (op.load && op.operands.dst ? 1ull << op.operands.dst : 0);
		}
	}
	return l;
}

void carried_loads_free(struct carried_loads *l)
{
	free(l);
}

static bool loads_join(struct carried_block *to, uint64_t loaded, uint64_t stale)
{
	if (!((loaded & ~to->loaded) | (stale & ~to->stale)))
		return false;
	to->loaded |= loaded;
	to->stale |= stale;
	to->changed = true;
	return true;
}

/* As pass_on(). */
static bool loads_pass_on(struct carried_loads *l, uint32_t b)
{
	const struct cfg *g = l->proc->graph;
	const struct cfg_block *block = &g->blocks[b];
	const struct carried_block *k = &l->blocks[b];
	uint64_t loaded = (k->loaded & k->keep) | k->gen, stale = k->stale & k->keep;
	bool any = false;

	if (block->flags & CFG_BLOCK_CALLS) {
		loaded = l->proc->call_loads[b] & (RESULTS | SAVED);
		stale = l->proc->call_loads[b] & ALL & ~(RESULTS | SAVED);
	}
	for (uint32_t e = block->first_out; e < block->first_out + block->nout; e++) {
		const uint32_t to = g->edges[e].to;

		if (to != CFG_OUTSIDE &&
		    ((l->blocks[to].ways & WAY_RARE) || carried_counts(l->p, l->proc, e)))
			any |= loads_join(&l->blocks[to], loaded, stale);
	}
	if (!(block->flags & CFG_BLOCK_UNRESOLVED) ||
	    !((loaded & ~l->loaded) | (stale & ~l->stale)))
		return any;
	l->loaded |= loaded;
	l->stale |= stale;
	for (uint32_t to = 0; to < g->nblocks; to++)
		if (g->blocks[to].flags & CFG_BLOCK_MAYBE)
			any |= loads_join(&l->blocks[to], l->loaded, l->stale);
	return any;
}

void carried_loads_settle(struct carried_loads *l)
{
	const struct cfg *g = l->proc->graph;
	const uint64_t needed = l->proc->entry_loads & (ARGUMENTS | SAVED);
	bool more = true;

	assert(l->p->options.cross == CROSS_SELECTIVE && l->proc->call_loads);
	for (uint32_t b = 0; b < g->nblocks; b++) {
		if ((l->blocks[b].ways & WAY_ENTERED) && !(l->blocks[b].ways & WAY_UNKNOWN))
			loads_join(&l->blocks[b], needed, l->proc->entry_loads & ALL & ~needed);
		l->blocks[b].changed |= g->blocks[b].flags & CFG_BLOCK_CALLS ? 1 : 0;
	}
	while (more) {
		more = false;
		for (uint32_t b = 0; b < g->nblocks; b++) {
			if (!l->blocks[b].changed)
				continue;
			l->blocks[b].changed = false;
			more |= loads_pass_on(l, b);
		}
	}
}

uint64_t carried_loads_end(const struct carried_loads *l, uint32_t b)
{
	const struct carried_block *k = &l->blocks[b];

	return (k->loaded & k->keep) | k->gen | (k->stale & k->keep);
}

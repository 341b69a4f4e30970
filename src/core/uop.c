/* SPDX-License-Identifier: MIT */
/*
 * Predecoded instructions: what the core knows of a static instruction, made when it is first
 * fetched.
 *
 * A uop never moves and never changes, so that instructions in flight can point at it; if the code
 * at an address changes, the address gets a new one. The memory of the old one is used again once no
 * instruction can point at it: those fetched before it was replaced have left, also those that a
 * flush made fetch take again. So a guest that changes its code for ever needs no more than a window
 * of uops. A guest that executes code in very many places needs at most UOPS_MAX: then all are
 * dropped and made anew.
 *
 * Lookup is two loads for an address in the page that was asked for last, which nearly all are.
 */
#include "core/pipe.h"

#include <stdlib.h>

#include "machine/units.h"

#define DIR_BITS   13
#define LEAF_BITS  (GUEST_ADDR_BITS - UOP_PAGE_SHIFT - DIR_BITS)
#define CHUNK_UOPS 1024
#define UOPS_MAX   (4u << 20)
#define PAGES_MAX  16384

struct uop_chunk {
	struct uop_chunk *next;
	struct uop uops[CHUNK_UOPS];
};

struct uop_table {
	struct uop_page **dir[1u << DIR_BITS];
	uint32_t npages, nuops;
	struct uop_chunk *chunks;
	uint32_t used; /* of the first chunk */
	/* Replaced ones, oldest first: a ring of `size` (a power of two). */
	struct retired {
		struct uop *u;
		uint64_t po; /* what may point at it is below */
	} * retired;
	uint64_t first, next, size;
};

struct uop_table *uop_table_new(void)
{
	struct uop_table *t = x_calloc(1, sizeof(*t));

	t->used = CHUNK_UOPS;
	return t;
}

void uop_table_free(struct uop_table *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < ARRAY_LEN(t->dir); i++) {
		for (size_t k = 0; t->dir[i] && k < (1u << LEAF_BITS); k++)
			free(t->dir[i][k]);
		free(t->dir[i]);
	}
	while (t->chunks) {
		struct uop_chunk *next = t->chunks->next;

		free(t->chunks);
		t->chunks = next;
	}
	free(t->retired);
	free(t);
}

static void retire(struct core *c, const struct uop *u, uint64_t po)
{
	struct uop_table *t = c->front.uops;

	if (t->next - t->first == t->size) {
		uint64_t size = t->size ? 2 * t->size : 64;
		struct retired *ring = x_calloc(size, sizeof(*ring));

		for (uint64_t i = t->first; i < t->next; i++)
			ring[i & (size - 1)] = t->retired[i & (t->size - 1)];
		free(t->retired);
		t->retired = ring;
		t->size = size;
	}
	t->retired[t->next++ & (t->size - 1)] = (struct retired){ (struct uop *)u, po };
}

static struct uop *new_uop(struct core *c)
{
	struct uop_table *t = c->front.uops;

	if (t->first < t->next && t->retired[t->first & (t->size - 1)].po <= c->head)
		return t->retired[t->first++ & (t->size - 1)].u;
	if (t->used == CHUNK_UOPS) {
		struct uop_chunk *chunk = x_malloc(sizeof(*chunk));

		chunk->next = t->chunks;
		t->chunks = chunk;
		t->used = 0;
	}
	return &t->chunks->uops[t->used++];
}

/* The first instruction in program order that cannot point at what is replaced now. */
static uint64_t next_po(const struct core *c)
{
	return max_u64(c->tail, c->front.stream_end);
}

static void drop_all(struct core *c)
{
	struct uop_table *t = c->front.uops;

	for (size_t i = 0; i < ARRAY_LEN(t->dir); i++) {
		for (size_t k = 0; t->dir[i] && k < (1u << LEAF_BITS); k++) {
			struct uop_page *p = t->dir[i][k];

			for (size_t n = 0; p && n < ARRAY_LEN(p->slot); n++)
				if (p->slot[n])
					retire(c, p->slot[n], next_po(c));
			free(p);
		}
		free(t->dir[i]);
		t->dir[i] = NULL;
	}
	t->npages = t->nuops = 0;
	c->front.uop_page_number = ~0ull;
}

/* The page with that number, or NULL; the one asked for last is found without a search. */
static struct uop_page *find_page(struct core *c, uint64_t page)
{
	struct uop_page **dir = c->front.uops->dir[page >> LEAF_BITS];
	struct uop_page *p = dir ? dir[page & ((1u << LEAF_BITS) - 1)] : NULL;

	if (p) {
		c->front.uop_page_number = page;
		c->front.uop_page = p;
	}
	return p;
}

static struct uop_page *add_page(struct core *c, uint64_t page)
{
	struct uop_table *t = c->front.uops;
	struct uop_page ***dir = &t->dir[page >> LEAF_BITS];

	if (!*dir)
		*dir = x_calloc(1u << LEAF_BITS, sizeof(**dir));
	(*dir)[page & ((1u << LEAF_BITS) - 1)] = x_calloc(1, sizeof(struct uop_page));
	t->npages++;
	return find_page(c, page);
}

static uint32_t ideal_of(const struct core *c, uint64_t pc)
{
	uint32_t ideal = c->cfg.ideal_all;

	for (uint32_t i = 0; i < c->cfg.nideal_pcs; i++)
		if (c->cfg.ideal_pcs[i].pc == pc)
			ideal |= c->cfg.ideal_pcs[i].mask;
	return ideal;
}

static void set_policy(struct uop *u, enum serial_policy policy)
{
	if (u->ideal & IDEAL_FLUSH)
		return;
	if (policy != SERIAL_NONE)
		u->flags |= UOP_SERIAL | UOP_DRAIN;
	if (policy == SERIAL_FLUSH)
		u->flags |= UOP_FLUSH;
}

static void predecode(const struct core *c, struct uop *u, uint64_t pc, const struct inst *in)
{
	const struct op_info *info = &op_info[in->op];
	struct inst_operands operands = isa_operands(in);
	const struct machine *cfg = &c->cfg;
	const struct unit_use use = units_of(cfg, in);

	memset(u, 0, sizeof(*u));
	u->in = *in;
	u->pc = pc;
	u->cls = info->cls;
	u->mem_bytes = info->mem_bytes;
	u->dst = operands.dst;
	memcpy(u->src, operands.src, sizeof(u->src));
	u->ideal = ideal_of(c, pc);
	u->unit = use.unit;
	u->latency = (uint16_t)use.latency;
	u->busy = (uint16_t)use.busy;

	bool fp = u->cls == CLASS_FADD || u->cls == CLASS_FMUL || u->cls == CLASS_FDIV ||
		  u->cls == CLASS_FSQRT;
	u->queue = u->unit == UNIT_LOAD || u->unit == UNIT_STORE ? 1 : fp ? 2 : 0;
	if (cfg->unified)
		u->queue = 0;
	if (u->dst >= 32)
		u->flags |= UOP_FP_DST;
	if (u->ideal & (IDEAL_BW | IDEAL_ISSUE_BW))
		u->flags |= UOP_NO_UNIT;

	switch (u->cls) {
	case CLASS_LOAD:
		u->flags |= UOP_LOAD;
		break;
	case CLASS_STORE:
		u->flags |= UOP_STORE;
		if (!c->win.in_order)
			u->flags |= UOP_SPLIT;
		break;
	case CLASS_AMO:
		u->flags |= UOP_LOAD | UOP_STORE | UOP_ATOMIC;
		set_policy(u, cfg->amo);
		break;
	case CLASS_BRANCH:
		u->flags |= UOP_CTRL | UOP_TAGGED;
		u->rec_flags |= RI_BRANCH;
		break;
	case CLASS_JUMP:
		u->flags |= UOP_CTRL;
		u->rec_flags |= RI_JUMP;
		if (isa_is_call(in))
			u->rec_flags |= RI_CALL;
		if (isa_is_return(in))
			u->rec_flags |= RI_RETURN;
		if (isa_is_indirect(in)) {
			u->flags |= UOP_TAGGED;
			u->rec_flags |= RI_INDIRECT;
		}
		break;
	case CLASS_CSR:
		set_policy(u, cfg->csr);
		u->flags &= (uint16_t)~UOP_DRAIN;
		break;
	case CLASS_FENCE:
		set_policy(u, cfg->fence);
		if (in->op == OP_FENCE_I)
			u->flags |= UOP_CODE;
		break;
	case CLASS_SYSTEM:
		u->flags |= UOP_TRAP;
		break;
	case CLASS_HINT:
		if (in->op != OP_PAUSE)
			u->flags |= UOP_HINT;
		break;
	default:
		break;
	}
	if (u->flags & UOP_LOAD)
		u->rec_flags |= RI_LOAD;
	if (u->flags & UOP_STORE)
		u->rec_flags |= RI_STORE;
	if (u->flags & UOP_SERIAL)
		u->rec_flags |= RI_SERIAL;
	if (isa_is_mark_begin(in))
		u->rec_flags |= RI_MARK_BEGIN;
	if (isa_is_mark_end(in))
		u->rec_flags |= RI_MARK_END;

	bool memory = u->flags & (UOP_LOAD | UOP_STORE | UOP_HINT);
	if (!memory && (u->ideal & (u->latency == 1 ? IDEAL_SHALU : IDEAL_LGALU)))
		u->latency = u->busy = 0;
}

const struct uop *uop_missing(struct core *c, uint64_t pc)
{
	struct inst none = isa_decode(0);
	struct uop *u = new_uop(c);

	predecode(c, u, (uint64_t)((int64_t)(pc << (64 - REC_PC_BITS)) >> (64 - REC_PC_BITS)),
		  &none);
	retire(c, u, c->tail + 1);
	return u;
}

const struct uop *uop_find(struct core *c, uint64_t pc, const struct inst *in)
{
	struct uop_table *t = c->front.uops;
	bool ask = !in;

	if (unlikely(pc >= GUEST_ADDR_LIMIT || (pc & 1)))
		return NULL;

	const uint64_t page = pc >> UOP_PAGE_SHIFT;
	const size_t n = (pc & ((1u << UOP_PAGE_SHIFT) - 1)) >> 1;
	struct uop_page *p = find_page(c, page);
	struct uop *u = p ? (struct uop *)p->slot[n] : NULL;

	if (likely(u && (in ? u->in.word == in->word : u->version == c->front.code_version)))
		return u;
	if (ask)
		in = c->twin.follows ? twin_fetch(c->twin.follows, pc) : guest_fetch(c->guest, pc);
	if (!in)
		return NULL;
	if (u && u->in.word == in->word) {
		u->version = c->front.code_version;
		return u;
	}
	if (unlikely(t->nuops >= UOPS_MAX || (!p && t->npages >= PAGES_MAX))) {
		drop_all(c);
		p = NULL;
		u = NULL;
	}
	if (!p)
		p = add_page(c, page);
	if (u)
		retire(c, u, next_po(c));
	else
		t->nuops++;
	u = new_uop(c);
	predecode(c, u, pc, in);
	/* An instruction of the right path may have changed the code that it was. */
	u->version = ask ? c->front.code_version : 0;
	p->slot[n] = u;
	return u;
}

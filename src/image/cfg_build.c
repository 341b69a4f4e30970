/* SPDX-License-Identifier: MIT */
/*
 * Finds the control-flow graph of a function, from its code.
 *
 * Code is followed from the function's start over branches, jumps and calls that come back, so that
 * data between instructions is never read as code. Indirect jumps are looked into when all that leads
 * to them is known (cfg_jumps.c). What is still not covered then is either what fills the space
 * between functions, or data, or code that something unknown enters: an exception's handler, a second
 * entry, the target of a jump that could not be resolved.
 *
 * Code that jumps into the middle of an instruction (x86: past a lock prefix) has both readings; there
 * each instruction is a block of its own.
 */
#include <stdlib.h>
#include <string.h>

#include "image/cfg_graphs.h"
#include "util/array.h"

#define ROUNDS_MAX                                                                                 \
	16 /* of resolving jumps, whose targets have jumps; compilers' code needs three */

bool image_decode_after(const struct arch *arch, const uint8_t *bytes, size_t left, uint64_t pc,
			const struct cfg_inst *before, struct cfg_inst *out, bool *is_inst)
{
	struct image_inst in;

	if (!left || !arch->decode(bytes, left, pc, &in) || in.size_bytes > left)
		return false;
	*out = (struct cfg_inst){ .pc = pc,
				  .target = in.target,
				  .word = in.word,
				  .size_bytes = (uint8_t)in.size_bytes,
				  .flow = (uint8_t)in.flow,
				  .direct = in.direct };
	*is_inst = in.cls;
	if ((in.flow == IMAGE_JUMP || in.flow == IMAGE_CALL) && !in.direct && before &&
	    arch->pair && before->pc + before->size_bytes == pc)
		out->direct = arch->pair(before->word, before->pc, in.word, &out->target);
	if (!out->direct)
		out->target = 0;
	return true;
}

bool cfg_decode(unsigned machine, const uint8_t *bytes, size_t left, uint64_t pc,
		const struct cfg_inst *before, struct cfg_inst *out)
{
	const struct arch *arch = arch_find(machine);
	bool is_inst;

	return arch && image_decode_after(arch, bytes, left, pc, before, out, &is_inst);
}

struct part *build_part(const struct build *b, uint64_t pc)
{
	for (size_t i = 0; i < b->nparts; i++)
		if (pc >= b->parts[i].start && pc < b->parts[i].end)
			return &b->parts[i];
	return NULL;
}

static uint32_t *slot_of(const struct build *b, uint64_t pc)
{
	struct part *p = build_part(b, pc);
	const unsigned unit = b->im->arch->unit_bytes;

	return p && (pc - p->start) % unit == 0 ? &p->inst[(pc - p->start) / unit] : NULL;
}

uint32_t build_inst_at(const struct build *b, uint64_t pc)
{
	const uint32_t *slot = slot_of(b, pc);

	return slot ? *slot : NO_INST;
}

static bool add_part(struct build *b, const struct function_range *f)
{
	size_t left = 0;
	const uint8_t *bytes = image_code(b->im, f->start, &left);
	const uint64_t size = bytes ? min_u64(left, f->end - f->start) : 0;
	const unsigned unit = b->im->arch->unit_bytes;

	if (!size || size > IMAGE_BLOCKS_BYTES - b->code_bytes)
		return false;
	b->code_bytes += size;
	struct part *p = ARRAY_ADD(b->parts, b->nparts);
	*p = (struct part){ f->start, f->start + size, bytes,
			    x_malloc((size / unit + 1) * sizeof(*p->inst)) };
	for (uint64_t i = 0; i <= size / unit; i++)
		p->inst[i] = NO_INST;
	return true;
}

bool build_lead(struct build *b, uint64_t pc)
{
	if (!build_part(b, pc)) {
		const struct function_range *g = image_function(b->im, pc);

		if (!g || image_whole(b->im, g) != b->f || !add_part(b, g))
			return false;
	}
	const uint32_t *slot = slot_of(b, pc);
	if (!slot)
		return false;
	if (*slot == NO_INST)
		*ARRAY_ADD(b->work, b->nwork) = pc;
	return true;
}

static uint32_t add_inst(struct build *b, const struct cfg_inst *in, uint8_t flags)
{
	ARRAY_ROOM(b->insts, b->room, b->ninsts + 1);
	b->insts[b->ninsts] = (struct build_inst){ .i = *in, .flags = flags, .table = UINT32_MAX };
	return (uint32_t)b->ninsts++;
}

static void add_table(struct build *b, uint32_t inst)
{
	b->insts[inst].table = (uint32_t)b->ntables;
	*ARRAY_ADD(b->tables, b->ntables) = (struct jump_table){ .pc = b->insts[inst].i.pc };
}

/* Whether code goes on behind this instruction; notes where else it leads. */
static bool follow_inst(struct build *b, uint32_t number, uint64_t run_start)
{
	const struct cfg_inst in = b->insts[number].i;
	const struct arch *arch = b->im->arch;

	switch (in.flow) {
	case IMAGE_NEXT:
		if (arch->is_system(in.word, in.size_bytes) &&
		    image_system_exits(b->im, run_start, in.pc))
			b->insts[number].flags |= INST_NO_RETURN;
		return !(b->insts[number].flags & (INST_STOPS | INST_NO_RETURN));
	case IMAGE_BRANCH:
		if (in.direct)
			build_lead(b, in.target);
		return true;
	case IMAGE_JUMP:
		if (in.direct)
			build_lead(b, in.target);
		else
			add_table(b, number);
		return false;
	case IMAGE_CALL:
		if (in.direct && in.target != b->f->start && build_part(b, in.target) &&
		    build_lead(b, in.target))
			*ARRAY_ADD(b->roots, b->nroots) = in.target;
		if (in.direct && !image_returns(b->set, in.target))
			b->insts[number].flags |= INST_NO_RETURN;
		return !(b->insts[number].flags & INST_NO_RETURN);
	default:
		return false;
	}
}

static void walk(struct build *b, uint64_t pc)
{
	const struct arch *arch = b->im->arch;
	const uint64_t run_start = pc;
	struct cfg_inst before = { 0 };

	for (;;) {
		struct part *p = build_part(b, pc);
		uint32_t *slot = slot_of(b, pc);
		struct cfg_inst in;
		bool is_inst;

		if (!slot || *slot != NO_INST ||
		    !image_decode_after(arch, p->bytes + (pc - p->start), p->end - pc, pc, &before,
					&in, &is_inst))
			return;
		const struct image_inst plain = { .word = in.word, .size_bytes = in.size_bytes };
		*slot = add_inst(b, &in, !is_inst || arch->stops(&plain) ? INST_STOPS : 0);
		if (!follow_inst(b, *slot, run_start))
			return;
		before = in;
		pc += in.size_bytes;
	}
}

void build_follow(struct build *b)
{
	while (b->nwork)
		walk(b, b->work[--b->nwork]);
}

/* Whether bytes that nothing leads to are code: up to the next transfer, or to code that is known,
 * all are instructions. `end` is where that was seen. */
static bool is_code(const struct build *b, const struct part *p, uint64_t pc, uint64_t *end)
{
	const struct arch *arch = b->im->arch;
	struct cfg_inst in;
	bool is_inst;

	*end = pc;
	while (pc < p->end && build_inst_at(b, pc) == NO_INST) {
		if (!image_decode_after(arch, p->bytes + (pc - p->start), p->end - pc, pc, NULL,
					&in, &is_inst)) {
			*end = p->end;
			return false;
		}
		pc += in.size_bytes;
		*end = pc;
		const struct image_inst plain = { .word = in.word, .size_bytes = in.size_bytes };
		if (!is_inst)
			return false;
		if (in.flow != IMAGE_NEXT || arch->stops(&plain))
			return true;
	}
	return pc < p->end;
}

/* Follows code that nothing known leads to. True: there is some. */
static bool follow_rest(struct build *b)
{
	const struct arch *arch = b->im->arch;
	const size_t roots = b->nroots;

	for (size_t i = 0; i < b->nparts; i++) {
		bool behind_call = false;

		for (uint64_t pc = b->parts[i].start; pc < b->parts[i].end;) {
			const struct part *p = &b->parts[i];
			uint32_t known = build_inst_at(b, pc);
			struct cfg_inst in;
			uint64_t end;
			bool is_inst;

			if (known != NO_INST) {
				pc += b->insts[known].i.size_bytes;
				behind_call = b->insts[known].i.flow == IMAGE_CALL;
				continue;
			}
			if (!image_decode_after(arch, p->bytes + (pc - p->start), p->end - pc, pc,
						NULL, &in, &is_inst))
				break;
			const struct image_inst plain = { .word = in.word,
							  .size_bytes = in.size_bytes };
			if (!is_inst || arch->pads(&plain) || arch->stops(&plain)) {
				pc += in.size_bytes;
			} else if (!is_code(b, p, pc, &end)) {
				pc = end;
			} else {
				if (behind_call)
					*ARRAY_ADD(b->dead, b->ndead) = pc;
				else
					*ARRAY_ADD(b->roots, b->nroots) = pc;
				build_lead(b, pc);
				build_follow(b);
				continue;
			}
			behind_call = false;
		}
	}
	return b->nroots > roots;
}

static int by_start(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

void build_sort(struct build *b)
{
	const unsigned unit = b->im->arch->unit_bytes;
	struct build_inst *sorted = x_malloc((b->ninsts + 1) * sizeof(*sorted));
	size_t n = 0;

	b->room = b->ninsts + 1;
	qsort(b->parts, b->nparts, sizeof(*b->parts), by_start);
	for (size_t i = 0; i < b->nparts; i++) {
		const struct part *p = &b->parts[i];

		for (uint64_t k = 0; k < (p->end - p->start + unit - 1) / unit; k++)
			if (p->inst[k] != NO_INST) {
				sorted[n] = b->insts[p->inst[k]];
				p->inst[k] = (uint32_t)n++;
			}
	}
	free(b->insts);
	b->insts = sorted;
}

static void mark(struct build *b, uint64_t pc, uint8_t flags)
{
	const uint32_t i = build_inst_at(b, pc);

	if (i != NO_INST)
		b->insts[i].flags |= flags;
}

uint32_t build_mark_leaders(struct build *b)
{
	uint32_t blocks = 0;

	for (size_t i = 0; i < b->ninsts; i++)
		b->insts[i].flags &= (uint8_t) ~(INST_LEADER | INST_TARGET | INST_ROOT | INST_DEAD);
	mark(b, b->f->start, INST_LEADER);
	for (size_t i = 0; i < b->nroots; i++)
		mark(b, b->roots[i], INST_LEADER | INST_ROOT);
	for (size_t i = 0; i < b->ndead; i++)
		mark(b, b->dead[i], INST_LEADER | INST_DEAD);
	for (size_t i = 0; i < b->ntables; i++)
		for (size_t k = 0; k < b->tables[i].ntargets; k++)
			mark(b, b->tables[i].targets[k], INST_LEADER | INST_TARGET);
	for (size_t i = 0; i < b->ninsts; i++) {
		struct build_inst *in = &b->insts[i];
		const uint64_t next = in->i.pc + in->i.size_bytes;
		const bool apart = i + 1 < b->ninsts && in[1].i.pc != next;

		if (in->i.flow != IMAGE_NEXT || in->flags & (INST_STOPS | INST_NO_RETURN) || apart)
			mark(b, next, INST_LEADER);
		if (apart)
			in[1].flags |= INST_LEADER;
		if (in->i.direct && (in->i.flow == IMAGE_BRANCH || in->i.flow == IMAGE_JUMP))
			mark(b, in->i.target, INST_LEADER | INST_TARGET);
	}
	for (size_t i = 0; i < b->ninsts; i++)
		blocks += b->insts[i].flags & INST_LEADER;
	return blocks;
}

/* The graph that is being put together. */
struct draft {
	struct cfg_block *blocks;
	uint32_t nblocks;
	struct cfg_edge *edges;
	uint32_t nedges;
	bool missing;
};

static uint32_t block_at(const struct build *b, const struct draft *d, uint64_t pc)
{
	const uint32_t i = build_inst_at(b, pc);

	if (i == NO_INST)
		return CFG_OUTSIDE;
	return (uint32_t)ARRAY_SEARCH(d->nblocks, k, d->blocks[k].first < i);
}

static void add_edge(struct draft *d, uint32_t from, uint32_t to, enum cfg_kind kind,
		     uint64_t callee)
{
	*ARRAY_ADD(d->edges, d->nedges) =
	    (struct cfg_edge){ .from = from, .to = to, .kind = (uint8_t)kind, .callee = callee };
}

/* An edge to an address: out of the function if nothing of it is there. */
static void add_edge_to(const struct build *b, struct draft *d, uint32_t from, uint64_t pc,
			enum cfg_kind kind)
{
	const uint32_t to = block_at(b, d, pc);

	add_edge(d, from, to, to == CFG_OUTSIDE ? CFG_EXIT : kind, to == CFG_OUTSIDE ? pc : 0);
}

static void add_table_edges(const struct build *b, struct draft *d, uint32_t from,
			    const struct jump_table *t)
{
	if (t->resolved) {
		for (size_t i = 0; i < t->ntargets; i++)
			add_edge_to(b, d, from, t->targets[i], CFG_TABLE);
		if (t->exits)
			add_edge(d, from, CFG_OUTSIDE, CFG_EXIT, 0);
	} else if (t->may_exit && !b->unclaimed) {
		add_edge(d, from, CFG_OUTSIDE, CFG_EXIT, 0);
	} else {
		add_edge(d, from, CFG_OUTSIDE, CFG_MISSING, 0);
		d->blocks[from].flags |= CFG_BLOCK_UNRESOLVED;
		d->missing = true;
	}
}

static void add_edges(const struct build *b, struct draft *d, uint32_t from)
{
	struct cfg_block *at = &d->blocks[from];
	const struct build_inst *last = &b->insts[at->first + at->count - 1];

	switch (last->i.flow) {
	case IMAGE_CALL:
		at->flags |= CFG_BLOCK_CALLS;
		at->callee = last->i.direct ? last->i.target : 0;
		if (last->flags & INST_NO_RETURN)
			at->flags |= CFG_BLOCK_NO_RETURN;
		break;
	case IMAGE_RETURN:
		add_edge(d, from, CFG_OUTSIDE, CFG_EXIT, 0);
		return;
	case IMAGE_BRANCH:
	case IMAGE_JUMP:
		if (last->i.direct)
			add_edge_to(b, d, from, last->i.target, CFG_TAKEN);
		else if (last->table != UINT32_MAX)
			add_table_edges(b, d, from, &b->tables[last->table]);
		if (last->i.flow == IMAGE_JUMP)
			return;
		break;
	default:
		break;
	}
	if (last->flags & (INST_STOPS | INST_NO_RETURN))
		add_edge(d, from, CFG_OUTSIDE, CFG_EXIT, 0);
	else
		add_edge_to(b, d, from, at->end, CFG_FALL);
}

/* Entries; and where a jump that could not be resolved may lead. */
static void add_entries(const struct build *b, struct draft *d)
{
	enum { FALLS = 1, ELSE = 2 };
	uint8_t *in = x_calloc(d->nblocks, sizeof(*in));

	for (uint32_t i = 0; i < d->nedges; i++)
		if (d->edges[i].to != CFG_OUTSIDE)
			in[d->edges[i].to] |= d->edges[i].kind == CFG_FALL ? FALLS : ELSE;
	for (uint32_t i = 0; i < d->nblocks; i++) {
		const struct build_inst *first = &b->insts[d->blocks[i].first];
		const bool start = first->i.pc == b->f->start;

		if (start || (first->flags & INST_ROOT && !d->missing))
			add_edge(d, CFG_OUTSIDE, i, CFG_ENTRY, 0);
		if (d->missing && !start && in[i] != FALLS)
			d->blocks[i].flags |= CFG_BLOCK_MAYBE;
	}
	free(in);
}

static struct cfg *finish(struct build *b)
{
	struct draft d = { .nblocks = 0 };
	struct cfg_inst *insts = x_malloc((b->ninsts + 1) * sizeof(*insts));
	const uint32_t most = build_mark_leaders(b);

	d.blocks = x_calloc((size_t)most + 1, sizeof(*d.blocks));
	for (size_t i = 0; i < b->ninsts; i++) {
		insts[i] = b->insts[i].i;
		if (b->insts[i].flags & INST_LEADER)
			d.blocks[d.nblocks++] =
			    (struct cfg_block){ .start = insts[i].pc, .first = (uint32_t)i };
		struct cfg_block *at = &d.blocks[d.nblocks - 1];
		at->count++;
		at->end = insts[i].pc + insts[i].size_bytes;
	}
	for (uint32_t i = 0; i < d.nblocks; i++)
		add_edges(b, &d, i);
	add_entries(b, &d);
	return cfg_assemble(b->f->start, b->f->name, insts, (uint32_t)b->ninsts, d.blocks,
			    d.nblocks, d.edges, d.nedges, NULL);
}

void cfg_note_entry(struct images *set, uint64_t pc)
{
	struct image *im = image_at(set, pc);
	struct image_graphs *g = im ? image_graphs(im) : NULL;

	if (!g)
		return;
	for (size_t i = 0; i < g->nentries; i++)
		if (g->entries[i] == pc)
			return;
	*ARRAY_ADD(g->entries, g->nentries) = pc;
}

/* Follows code from where it is known to be entered from outside. */
static void lead_entries(struct build *b)
{
	const struct image_graphs *g = image_graphs(b->im);

	for (size_t i = 0; i < g->nentries; i++)
		if (build_part(b, g->entries[i]) && g->entries[i] != b->f->start) {
			build_lead(b, g->entries[i]);
			*ARRAY_ADD(b->roots, b->nroots) = g->entries[i];
		}
}

static struct cfg *build(struct images *set, struct image *im, const struct function_range *f)
{
	struct build b = { .set = set, .im = im, .f = f };
	struct cfg *g = NULL;

	if (add_part(&b, f)) {
		build_lead(&b, f->start);
		lead_entries(&b);
		build_follow(&b);
		for (unsigned i = 0; i < ROUNDS_MAX && build_resolve(&b); i++)
			;
		b.unclaimed = follow_rest(&b);
		if (b.unclaimed || b.ndead)
			for (unsigned i = 0; i < ROUNDS_MAX && build_resolve(&b); i++)
				;
		build_sort(&b);
		/* what does not decode at its very start has no graph */
		g = b.ninsts && b.insts[0].i.pc <= f->start ? finish(&b) : NULL;
	}
	for (size_t i = 0; i < b.nparts; i++)
		free(b.parts[i].inst);
	for (size_t i = 0; i < b.ntables; i++)
		free(b.tables[i].targets);
	free(b.parts);
	free(b.insts);
	free(b.work);
	free(b.roots);
	free(b.dead);
	free(b.tables);
	return g;
}

struct cfg *cfg_build(struct images *set, uint64_t pc)
{
	struct image *im = image_at(set, pc);
	const struct function_range *f = im ? image_function(im, pc) : NULL;

	if (!f || !im->arch || !im->arch->effect)
		return NULL;
	const struct function_range *whole = image_whole(im, f);
	struct cfg *g = build(set, im, whole);
	if (g && whole != f && cfg_inst_at(g, f->start) == UINT32_MAX) {
		/* an exception's handlers, say, which nothing in the rest leads to */
		cfg_free(g);
		g = build(set, im, f);
	}
	return g;
}

/* SPDX-License-Identifier: MIT */
/*
 * Values of registers, followed back through a function (cfg_values.h). From an instruction the search
 * goes back to the start of its block, then from dominator to dominator as long as nothing on the way
 * between them writes the register. Where something does, the value is the register's at that block,
 * unless everything that may have written it wrote the same constant.
 */
#include "image/cfg_values.h"

#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX   48
#define BUDGET	    (1u << 18)
#define WRITERS_MAX 16
#define STORES_MAX  32 /* that a load is followed back over */

uint64_t values_extend(uint64_t x, unsigned bits, bool is_signed)
{
	const unsigned drop = 64 - bits;

	if (bits >= 64 || !bits)
		return x;
	return is_signed ? (uint64_t)((int64_t)(x << drop) >> drop) : x << drop >> drop;
}

/* Successors of a block, up to two and a table. */
struct successors {
	uint32_t block[2];
	unsigned n;
	const struct jump_table *table;
};

static uint32_t block_at(const struct values *v, uint64_t pc)
{
	const uint32_t i = build_inst_at(v->b, pc);

	return i == NO_INST ? UINT32_MAX : v->block_of[i];
}

static struct successors successors_of(const struct values *v, uint32_t block)
{
	const struct build_inst *last = &v->b->insts[v->first[block + 1] - 1];
	struct successors s = { .n = 0 };
	uint32_t to;

	/* code behind a call that never comes back was compiled as if it did */
	const uint32_t next = build_inst_at(v->b, last->i.pc + last->i.size_bytes);
	const bool falls = build_falls(last) || (last->flags & INST_NO_RETURN && next != NO_INST &&
						 v->b->insts[next].flags & INST_DEAD);
	if (falls && (to = block_at(v, last->i.pc + last->i.size_bytes)) != UINT32_MAX)
		s.block[s.n++] = to;
	if (last->i.direct && (last->i.flow == IMAGE_BRANCH || last->i.flow == IMAGE_JUMP) &&
	    (to = block_at(v, last->i.target)) != UINT32_MAX)
		s.block[s.n++] = to;
	if (last->table != UINT32_MAX)
		s.table = &v->b->tables[last->table];
	return s;
}

/* Calls fn for every edge; those that enter come from block nblocks. */
static void each_edge(struct values *v, void (*fn)(struct values *, uint32_t from, uint32_t to))
{
	for (uint32_t i = 0; i < v->nblocks; i++) {
		const struct successors s = successors_of(v, i);

		for (unsigned k = 0; k < s.n; k++)
			fn(v, i, s.block[k]);
		for (size_t k = 0; s.table && k < s.table->ntargets; k++) {
			const uint32_t to = block_at(v, s.table->targets[k]);

			if (to != UINT32_MAX)
				fn(v, i, to);
		}
		const struct build_inst *first = &v->b->insts[v->first[i]];
		if (first->i.pc == v->b->f->start || first->flags & INST_ROOT)
			fn(v, v->nblocks, i);
	}
}

static void count_edge(struct values *v, uint32_t from, uint32_t to)
{
	v->pred_first[to + 2]++;
}

static void put_edge(struct values *v, uint32_t from, uint32_t to)
{
	v->pred[v->pred_first[to + 1]++] = from;
}

/* Blocks in reverse postorder from what enters; returns how many are reached. */
static uint32_t order_blocks(struct values *v, uint32_t *order, uint32_t *number)
{
	const uint32_t root = v->nblocks;
	uint32_t *path = x_malloc(((size_t)v->nblocks + 2) * sizeof(*path));
	uint32_t *at = x_calloc((size_t)v->nblocks + 2, sizeof(*at));
	uint32_t depth = 0, done = 0;

	for (uint32_t i = 0; i <= v->nblocks; i++)
		number[i] = UINT32_MAX;
	/* every block that is entered is a start of its own; the search's order stays valid */
	for (uint32_t e = v->nblocks; e-- > 0;) {
		const struct build_inst *first = &v->b->insts[v->first[e]];

		if (number[e] != UINT32_MAX ||
		    (first->i.pc != v->b->f->start && !(first->flags & INST_ROOT)))
			continue;
		path[depth++] = e;
		number[e] = 0;
		while (depth) {
			const uint32_t n = path[depth - 1];
			const struct successors s = successors_of(v, n);
			const size_t ntargets = s.table ? s.table->ntargets : 0;

			if (at[n] < s.n + ntargets) {
				const uint32_t k = at[n]++;
				const uint32_t to =
				    k < s.n ? s.block[k] : block_at(v, s.table->targets[k - s.n]);

				if (to != UINT32_MAX && number[to] == UINT32_MAX) {
					number[to] = 0;
					path[depth++] = to;
				}
				continue;
			}
			order[done++] = n;
			depth--;
		}
	}
	order[done++] = root;
	for (uint32_t i = 0; i < done / 2; i++) {
		const uint32_t x = order[i];

		order[i] = order[done - 1 - i];
		order[done - 1 - i] = x;
	}
	for (uint32_t i = 0; i < done; i++)
		number[order[i]] = i;
	free(path);
	free(at);
	return done;
}

/* Immediate dominators, after Cooper, Harvey and Kennedy, "A simple, fast dominance algorithm". */
static void find_dominators(struct values *v)
{
	const uint32_t root = v->nblocks;
	uint32_t *order = x_malloc(((size_t)v->nblocks + 2) * sizeof(*order));
	uint32_t *number = x_malloc(((size_t)v->nblocks + 2) * sizeof(*number));
	const uint32_t reached = order_blocks(v, order, number);

	for (uint32_t i = 0; i <= v->nblocks; i++)
		v->idom[i] = UINT32_MAX;
	v->idom[root] = root;
	for (bool changed = true; changed;) {
		changed = false;
		for (uint32_t i = 1; i < reached; i++) {
			const uint32_t n = order[i];
			uint32_t best = UINT32_MAX;

			for (uint32_t k = v->pred_first[n]; k < v->pred_first[n + 1]; k++) {
				uint32_t p = v->pred[k];

				if (v->idom[p] == UINT32_MAX)
					continue;
				if (best == UINT32_MAX)
					best = p;
				while (p != best) {
					while (number[p] > number[best])
						p = v->idom[p];
					while (number[best] > number[p])
						best = v->idom[best];
				}
			}
			changed = changed || v->idom[n] != best;
			v->idom[n] = best;
		}
	}
	free(order);
	free(number);
}

struct values *values_new(struct build *b)
{
	struct values *v = x_calloc(1, sizeof(*v));
	const uint32_t blocks = build_mark_leaders(b);

	v->b = b;
	v->arch = b->im->arch;
	v->first = x_malloc(((size_t)blocks + 2) * sizeof(*v->first));
	v->block_of = x_malloc((b->ninsts + 1) * sizeof(*v->block_of));
	for (uint32_t i = 0; i < b->ninsts; i++) {
		if (b->insts[i].flags & INST_LEADER)
			v->first[v->nblocks++] = i;
		v->block_of[i] = v->nblocks - 1;
	}
	v->first[v->nblocks] = (uint32_t)b->ninsts;
	v->writes = x_calloc((size_t)v->nblocks + 1, sizeof(*v->writes));
	v->seen = x_calloc((size_t)v->nblocks + 1, sizeof(*v->seen));
	v->queue = x_malloc(((size_t)v->nblocks + 1) * sizeof(*v->queue));
	v->idom = x_malloc(((size_t)v->nblocks + 1) * sizeof(*v->idom));
	v->pred_first = x_calloc((size_t)v->nblocks + 4, sizeof(*v->pred_first));
	each_edge(v, count_edge);
	for (uint32_t i = 2; i < v->nblocks + 3; i++)
		v->pred_first[i] += v->pred_first[i - 1];
	v->pred = x_malloc(((size_t)v->pred_first[v->nblocks + 2] + 1) * sizeof(*v->pred));
	each_edge(v, put_edge);
	find_dominators(v);
	return v;
}

void values_free(struct values *v)
{
	free(v->first);
	free(v->block_of);
	free(v->writes);
	free(v->seen);
	free(v->queue);
	free(v->idom);
	free(v->pred_first);
	free(v->pred);
	free(v);
}

void values_restart(struct values *v)
{
	v->nnodes = v->nmemo = 0;
	v->depth = 0;
	v->budget = BUDGET;
	v->full = false;
	values_constant(v, 0); /* node 0 is what a full table gives */
}

uint16_t values_find(const struct values *v, enum node_kind kind, unsigned bits, uint16_t a)
{
	for (uint16_t i = 0; i < v->nnodes; i++)
		if (v->nodes[i].kind == kind && v->nodes[i].bits == bits && v->nodes[i].a == a)
			return i;
	return NO_NODE;
}

static uint16_t intern(struct values *v, struct node n)
{
	for (uint16_t i = 0; i < v->nnodes; i++)
		if (v->nodes[i].kind == n.kind && v->nodes[i].bits == n.bits &&
		    v->nodes[i].a == n.a && v->nodes[i].b == n.b && v->nodes[i].c == n.c)
			return i;
	if (v->nnodes == NODES_MAX) {
		v->full = true;
		return 0;
	}
	v->nodes[v->nnodes] = n;
	return v->nnodes++;
}

uint16_t values_constant(struct values *v, uint64_t c)
{
	return intern(v, (struct node){ .kind = NODE_CONST, .c = c });
}

/* How many of the lowest bits a value can have set; 64: any. */
static unsigned width_of(const struct values *v, uint16_t n)
{
	const struct node *at = &v->nodes[n];

	switch (at->kind) {
	case NODE_CONST:
		return at->c ? 64 - (unsigned)__builtin_clzll(at->c) : 1;
	case NODE_ZERO:
	case NODE_LOAD:
		return at->bits;
	case NODE_LESS:
		return 1;
	case NODE_SHR:
		return width_of(v, at->a) > at->c ? width_of(v, at->a) - (unsigned)at->c : 1;
	default:
		return 64;
	}
}

static uint16_t add_nodes(struct values *v, uint16_t a, uint16_t b)
{
	struct node *x = &v->nodes[a], *y = &v->nodes[b];

	if (x->kind == NODE_CONST && y->kind == NODE_CONST)
		return values_constant(v, x->c + y->c);
	if (x->kind == NODE_CONST)
		return add_nodes(v, b, a);
	if (y->kind == NODE_CONST) {
		if (!y->c)
			return a;
		if (x->kind == NODE_ADD && v->nodes[x->b].kind == NODE_CONST)
			return add_nodes(v, x->a, values_constant(v, v->nodes[x->b].c + y->c));
	}
	return intern(v, (struct node){ .kind = NODE_ADD, .a = a, .b = b });
}

static uint16_t shift_node(struct values *v, enum node_kind kind, uint16_t a, uint64_t by)
{
	const struct node *x = &v->nodes[a];

	by &= 63;
	if (!by)
		return a;
	if (x->kind == NODE_CONST)
		return values_constant(v, kind == NODE_SHL   ? x->c << by
					  : kind == NODE_SHR ? x->c >> by
							     : (uint64_t)((int64_t)x->c >> by));
	if (kind == NODE_SHL || x->kind != NODE_SHL)
		return intern(v, (struct node){ .kind = (uint8_t)kind, .a = a, .c = by });
	/* up and down again: some of its bits, extended */
	const uint64_t up = x->c;
	const bool is_signed = kind == NODE_SAR;
	uint16_t low =
	    values_node(v, is_signed ? NODE_SIGN : NODE_ZERO, 64 - (unsigned)up, x->a, 0, 0);
	return up >= by ? shift_node(v, NODE_SHL, low, up - by) : shift_node(v, kind, low, by - up);
}

static uint16_t extend_node(struct values *v, enum node_kind kind, unsigned bits, uint16_t a)
{
	const struct node *x = &v->nodes[a];

	if (bits >= 64)
		return a;
	if (x->kind == NODE_CONST)
		return values_constant(v, values_extend(x->c, bits, kind == NODE_SIGN));
	if (kind == NODE_ZERO ? width_of(v, a) <= bits : width_of(v, a) < bits)
		return a;
	/* what is above these bits does not matter */
	if ((x->kind == NODE_ZERO || x->kind == NODE_SIGN) && x->bits >= bits)
		return extend_node(v, kind, bits, x->a);
	return intern(v, (struct node){ .kind = (uint8_t)kind, .bits = (uint8_t)bits, .a = a });
}

uint16_t values_node(struct values *v, enum node_kind kind, unsigned bits, uint16_t a, uint16_t b,
		     uint64_t c)
{
	const struct node *x = &v->nodes[a], *y = &v->nodes[b];

	switch (kind) {
	case NODE_ADD:
		return add_nodes(v, a, b);
	case NODE_SUB:
		if (y->kind == NODE_CONST)
			return add_nodes(v, a, values_constant(v, -y->c));
		break;
	case NODE_AND:
		if (x->kind == NODE_CONST && y->kind != NODE_CONST)
			return values_node(v, kind, bits, b, a, c);
		if (x->kind == NODE_CONST)
			return values_constant(v, x->c & y->c);
		if (y->kind == NODE_CONST && y->c && !(y->c & (y->c + 1)))
			return extend_node(v, NODE_ZERO, 64 - (unsigned)__builtin_clzll(y->c), a);
		break;
	case NODE_SHL:
	case NODE_SHR:
	case NODE_SAR:
		return shift_node(v, kind, a, c);
	case NODE_ZERO:
	case NODE_SIGN:
		return extend_node(v, kind, bits, a);
	default:
		break;
	}
	return intern(
	    v,
	    (struct node){ .kind = (uint8_t)kind, .bits = (uint8_t)bits, .a = a, .b = b, .c = c });
}

void values_effect(const struct values *v, uint32_t inst, struct arch_effect *out)
{
	struct build_inst *in = &v->b->insts[inst];
	const struct part *p = build_part(v->b, in->i.pc);

	if (!v->arch->effect(p->bytes + (in->i.pc - p->start), p->end - in->i.pc, in->i.pc, out))
		*out = (struct arch_effect){ .dst = ARCH_NO_REG };
	if (in->i.flow == IMAGE_CALL)
		out->writes |= v->arch->call_writes;
	in->writes = out->writes | WRITES_KNOWN;
}

uint64_t values_writes(const struct values *v, uint32_t inst)
{
	struct arch_effect f;

	if (!(v->b->insts[inst].writes & WRITES_KNOWN))
		values_effect(v, inst, &f);
	return v->b->insts[inst].writes;
}

static uint64_t block_writes(struct values *v, uint32_t block)
{
	if (!(v->writes[block] & WRITES_KNOWN)) {
		v->writes[block] = WRITES_KNOWN;
		for (uint32_t i = v->first[block]; i < v->first[block + 1]; i++)
			v->writes[block] |= values_writes(v, i);
	}
	return v->writes[block];
}

/* Whether a register has the same value at the start of a block as at the end of its dominator. */
static bool is_kept(struct values *v, uint32_t block, uint32_t dominator, uint8_t reg)
{
	uint32_t n = 0;

	v->stamp++;
	v->queue[n++] = block;
	while (n) {
		const uint32_t at = v->queue[--n];

		for (uint32_t k = v->pred_first[at]; k < v->pred_first[at + 1]; k++) {
			const uint32_t p = v->pred[k];

			if (p == dominator || v->seen[p] == v->stamp)
				continue;
			if (p == v->nblocks || !v->budget-- || block_writes(v, p) >> reg & 1) {
				v->budget += !v->budget;
				return false;
			}
			v->seen[p] = v->stamp;
			v->queue[n++] = p;
		}
	}
	return true;
}

/* The last instruction of [from, to) that writes a register; UINT32_MAX: none. */
static uint32_t last_writer(const struct values *v, uint32_t from, uint32_t to, uint8_t reg)
{
	while (to-- > from)
		if (values_writes(v, to) >> reg & 1)
			return to;
	return UINT32_MAX;
}

/* Where the value of a register before an instruction comes from: an instruction, or else (UINT32_MAX)
 * the start of a block. */
static uint32_t find_source(struct values *v, uint32_t inst, uint8_t reg, uint32_t *block)
{
	uint32_t at = v->block_of[inst];
	uint32_t writer = last_writer(v, v->first[at], inst, reg);

	while (writer == UINT32_MAX && v->idom[at] != UINT32_MAX && v->idom[at] != v->nblocks &&
	       is_kept(v, at, v->idom[at], reg)) {
		at = v->idom[at];
		if (block_writes(v, at) >> reg & 1)
			writer = last_writer(v, v->first[at], v->first[at + 1], reg);
	}
	*block = at;
	return writer;
}

uint32_t values_writer(struct values *v, uint32_t inst, uint8_t reg)
{
	uint32_t block;

	return find_source(v, inst, reg, &block);
}

static uint16_t address_node(struct values *v, uint32_t inst, const struct arch_effect *f)
{
	uint16_t sum = values_constant(v, (uint64_t)f->disp);

	if (f->base != ARCH_NO_REG)
		sum = add_nodes(v, values_register(v, inst, f->base), sum);
	if (f->index != ARCH_NO_REG)
		sum = add_nodes(
		    v, shift_node(v, NODE_SHL, values_register(v, inst, f->index), f->shift), sum);
	return sum;
}

static uint16_t unknown(struct values *v, uint64_t where, uint8_t reg)
{
	return intern(v, (struct node){ .kind = NODE_UNKNOWN, .bits = reg, .c = where });
}

/* An address as a node and a constant. */
static uint16_t split_address(const struct values *v, uint16_t address, uint64_t *offset)
{
	const struct node *n = &v->nodes[address];

	*offset = 0;
	if (n->kind == NODE_CONST) {
		*offset = n->c;
		return NO_NODE;
	}
	if (n->kind != NODE_ADD || v->nodes[n->b].kind != NODE_CONST)
		return address;
	*offset = v->nodes[n->b].c;
	return n->a;
}

/* What a load reads: what a store put there, or else its bits at the address and memory's name. */
static uint16_t load_node(struct values *v, uint32_t inst, const struct arch_effect *f)
{
	const uint16_t address = address_node(v, inst, f);
	uint64_t offset, stored;
	const uint16_t base = split_address(v, address, &offset);
	uint32_t block, writer = find_source(v, inst, ARCH_MEMORY, &block);

	for (unsigned i = 0; i < STORES_MAX && writer != UINT32_MAX && v->depth < DEPTH_MAX; i++) {
		struct arch_effect s;

		values_effect(v, writer, &s);
		if (s.op != ARCH_STORE)
			break;
		v->depth++;
		const uint16_t other = split_address(v, address_node(v, writer, &s), &stored);
		v->depth--;
		if (other != base)
			break;
		if (offset == stored && s.bits == f->bits)
			return extend_node(v, NODE_ZERO, f->bits,
					   values_operand(v, writer, &s, &s.x));
		if (offset - stored < s.bits / 8u || stored - offset < f->bits / 8u)
			break;
		writer = find_source(v, writer, ARCH_MEMORY, &block);
	}
	const uint64_t name = writer == UINT32_MAX ? v->b->insts[v->first[block]].i.pc | AT_BLOCK
						   : v->b->insts[writer].i.pc;
	return values_node(v, NODE_LOAD, f->bits, address, unknown(v, name, ARCH_MEMORY), 0);
}

uint16_t values_operand(struct values *v, uint32_t inst, const struct arch_effect *f,
			const struct arch_operand *o)
{
	switch (o->kind) {
	case ARCH_REG:
		return values_register(v, inst, o->reg);
	case ARCH_MEM:
		return load_node(v, inst, f);
	default:
		return values_constant(v, (uint64_t)o->imm);
	}
}

/* What an instruction leaves in its destination. */
static uint16_t result_of(struct values *v, uint32_t inst, const struct arch_effect *f)
{
	static const uint8_t kinds[] = {
		[ARCH_ADD] = NODE_ADD,	 [ARCH_SUB] = NODE_SUB, [ARCH_AND] = NODE_AND,
		[ARCH_SHL] = NODE_SHL,	 [ARCH_SHR] = NODE_SHR, [ARCH_SAR] = NODE_SAR,
		[ARCH_LESS] = NODE_LESS,
	};
	uint16_t x, y, out;

	switch (f->op) {
	case ARCH_MOVE:
		out = values_operand(v, inst, f, &f->x);
		break;
	case ARCH_ADDRESS:
		out = address_node(v, inst, f);
		break;
	case ARCH_SHL:
	case ARCH_SHR:
	case ARCH_SAR:
		x = values_operand(v, inst, f, &f->x);
		y = values_operand(v, inst, f, &f->y);
		if (!values_is_constant(v, y))
			return NO_NODE;
		if (f->op != ARCH_SHL)
			x = extend_node(v, f->op == ARCH_SAR ? NODE_SIGN : NODE_ZERO, f->bits, x);
		out = shift_node(v, kinds[f->op], x, v->nodes[y].c & (f->bits - 1u));
		break;
	case ARCH_ADD:
	case ARCH_SUB:
	case ARCH_AND:
	case ARCH_LESS:
		x = values_operand(v, inst, f, &f->x);
		y = values_operand(v, inst, f, &f->y);
		out = values_node(v, kinds[f->op], 0, x, y, 0);
		break;
	default:
		return NO_NODE;
	}
	return extend_node(v, f->is_signed ? NODE_SIGN : NODE_ZERO, f->bits, out);
}

static uint16_t written_by(struct values *v, uint32_t inst, uint8_t reg)
{
	const uint64_t pc = v->b->insts[inst].i.pc;
	struct arch_effect f;
	uint16_t n = NO_NODE;

	for (uint16_t i = 0; i < v->nmemo; i++)
		if (v->memo[i].pc == pc && v->memo[i].reg == reg)
			return v->memo[i].node;
	values_effect(v, inst, &f);
	if (f.dst == reg && v->b->insts[inst].i.flow != IMAGE_CALL && v->depth < DEPTH_MAX) {
		v->depth++;
		n = result_of(v, inst, &f);
		v->depth--;
	}
	if (n == NO_NODE)
		n = unknown(v, pc, reg);
	if (v->nmemo < NODES_MAX)
		v->memo[v->nmemo++] = (struct memo){ pc, reg, n };
	return n;
}

/* The constant that everything writes that can have written a register before a block; NO_NODE: not
 * the same, or not all are known. */
static uint16_t same_constant(struct values *v, uint32_t block, uint8_t reg)
{
	uint32_t writers[WRITERS_MAX], nwriters = 0, n = 0;
	uint16_t only = NO_NODE;

	v->stamp++;
	v->queue[n++] = block;
	while (n) {
		const uint32_t at = v->queue[--n];

		for (uint32_t k = v->pred_first[at]; k < v->pred_first[at + 1]; k++) {
			const uint32_t p = v->pred[k];

			if (v->seen[p] == v->stamp)
				continue;
			if (p == v->nblocks || !v->budget || nwriters == WRITERS_MAX)
				return NO_NODE;
			v->budget--;
			v->seen[p] = v->stamp;
			if (block_writes(v, p) >> reg & 1)
				writers[nwriters++] =
				    last_writer(v, v->first[p], v->first[p + 1], reg);
			else
				v->queue[n++] = p;
		}
	}
	for (uint32_t i = 0; i < nwriters; i++) {
		const uint16_t node = written_by(v, writers[i], reg);

		if (!values_is_constant(v, node) || (i && node != only))
			return NO_NODE;
		only = node;
	}
	return only;
}

uint16_t values_register(struct values *v, uint32_t inst, uint8_t reg)
{
	uint32_t block;
	const uint32_t writer = find_source(v, inst, reg, &block);

	if (writer != UINT32_MAX)
		return written_by(v, writer, reg);
	const uint64_t name = v->b->insts[v->first[block]].i.pc | AT_BLOCK;
	if (reg == ARCH_MEMORY || v->depth >= DEPTH_MAX)
		return unknown(v, name, reg);
	v->depth++;
	const uint16_t same = same_constant(v, block, reg);
	v->depth--;
	return same != NO_NODE ? same : unknown(v, name, reg);
}

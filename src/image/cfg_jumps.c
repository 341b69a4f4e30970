/* SPDX-License-Identifier: MIT */
/*
 * Where indirect jumps lead. The target is followed back to an expression (cfg_values.c). Branches that
 * must have gone one way on every path to the jump bound what is in it. If then one part of it that has
 * a bound decides all the rest, every value of it is tried, with what the loads find in read-only data:
 * that is the table, whatever its base, entry size and sign, and wherever the compiler put the check.
 *
 * Where no bound is known, entries are taken as long as they are code of the function: a table that
 * begins there has no other entries, so that none is missed.
 *
 * A jump through a pointer that is no table's, with the stack as at the function's start, is a tail
 * call, provided that no code is left that it might reach instead.
 */
#include <stdlib.h>
#include <string.h>

#include "image/cfg_values.h"
#include "util/array.h"

#define ENTRIES_MAX 65536 /* values that are tried */
#define OPEN_MAX    4096  /* ... where no bound is known */
#define DEPTH_MAX   64
#define OFFSETS	    4096 /* a smaller number in an address is no table, but a member\'s offset */
#define PATHS_MAX   48	 /* ways into a block that are looked along for a bound */
#define CLIMB_MAX   4	 /* ... and dominators of each */

struct bound {
	uint64_t low, high;  /* unsigned */
	int64_t least, most; /* signed */
};

static const struct bound anything = { 0, UINT64_MAX, INT64_MIN, INT64_MAX };

struct jump {
	struct values *v;
	struct bound bound[NODES_MAX]; /* of nodes, as branches say */
	uint16_t nbounds;	       /* nodes from here on have none */
	/* of the expression */
	uint16_t root, variable;
	uint16_t order[NODES_MAX], norder; /* nodes that it needs, operands first */
	uint64_t value[NODES_MAX];
	bool known[NODES_MAX]; /* value is; by node */
	bool listed[NODES_MAX];
};

static struct bound bound_of(const struct jump *j, uint16_t n)
{
	return n < j->nbounds ? j->bound[n] : anything;
}

static struct bound *bound_at(struct jump *j, uint16_t n)
{
	while (j->nbounds <= n)
		j->bound[j->nbounds++] = anything;
	return &j->bound[n];
}

static enum arch_relation negate(enum arch_relation r)
{
	static const enum arch_relation not [] = {
		[ARCH_EQ] = ARCH_NE,   [ARCH_NE] = ARCH_EQ,   [ARCH_LT] = ARCH_GE,
		[ARCH_GE] = ARCH_LT,   [ARCH_LE] = ARCH_GT,   [ARCH_GT] = ARCH_LE,
		[ARCH_LTU] = ARCH_GEU, [ARCH_GEU] = ARCH_LTU, [ARCH_LEU] = ARCH_GTU,
		[ARCH_GTU] = ARCH_LEU,
	};

	return not [r];
}

/* x R y is y flip(R) x */
static enum arch_relation flip(enum arch_relation r)
{
	static const enum arch_relation flipped[] = {
		[ARCH_EQ] = ARCH_EQ,   [ARCH_NE] = ARCH_NE,   [ARCH_LT] = ARCH_GT,
		[ARCH_GE] = ARCH_LE,   [ARCH_LE] = ARCH_GE,   [ARCH_GT] = ARCH_LT,
		[ARCH_LTU] = ARCH_GTU, [ARCH_GEU] = ARCH_LEU, [ARCH_LEU] = ARCH_GEU,
		[ARCH_GTU] = ARCH_LTU,
	};

	return flipped[r];
}

static bool is_signed(enum arch_relation r)
{
	return r == ARCH_LT || r == ARCH_GE || r == ARCH_LE || r == ARCH_GT;
}

/* Tightens a bound by a relation to a constant. */
static void add_bound(struct bound *b, enum arch_relation r, uint64_t c)
{
	const int64_t s = (int64_t)c;

	switch (r) {
	case ARCH_EQ:
		b->low = max_u64(b->low, c);
		b->high = min_u64(b->high, c);
		break;
	case ARCH_NE:
		if (b->low == c && c != UINT64_MAX)
			b->low++;
		break;
	case ARCH_LTU:
	case ARCH_LEU:
		if (r == ARCH_LTU && !c)
			break;
		b->high = min_u64(b->high, r == ARCH_LTU ? c - 1 : c);
		break;
	case ARCH_GEU:
	case ARCH_GTU:
		if (r == ARCH_GTU && c == UINT64_MAX)
			break;
		b->low = max_u64(b->low, r == ARCH_GTU ? c + 1 : c);
		break;
	case ARCH_LT:
	case ARCH_LE:
		if ((r == ARCH_LE || s > INT64_MIN) && (r == ARCH_LT ? s - 1 : s) < b->most)
			b->most = r == ARCH_LT ? s - 1 : s;
		break;
	case ARCH_GE:
	case ARCH_GT:
		if ((r == ARCH_GE || s < INT64_MAX) && (r == ARCH_GT ? s + 1 : s) > b->least)
			b->least = r == ARCH_GT ? s + 1 : s;
		break;
	default:
		break;
	}
	if (b->least >= 0) {
		b->low = max_u64(b->low, (uint64_t)b->least);
		b->high = min_u64(b->high, (uint64_t)b->most);
	}
}

/* A node that stands in a relation to a constant; NO_NODE: nothing is known. */
struct fact {
	uint16_t node;
	enum arch_relation relation;
	uint64_t c;
};

static struct fact fact_of(struct jump *j, uint16_t x, uint16_t y, enum arch_relation r,
			   unsigned bits)
{
	struct values *v = j->v;
	const enum node_kind extend = is_signed(r) ? NODE_SIGN : NODE_ZERO;
	const struct fact nothing = { .node = NO_NODE };

	x = values_node(v, extend, bits, x, 0, 0);
	y = values_node(v, extend, bits, y, 0, 0);
	if (values_is_constant(v, x) && !values_is_constant(v, y)) {
		const uint16_t other = x;

		x = y;
		y = other;
		r = flip(r);
	}
	if (values_is_constant(v, x) || !values_is_constant(v, y))
		return nothing;
	const struct node *n = &v->nodes[x];
	if (n->kind != NODE_LESS || v->nodes[y].c || (r != ARCH_EQ && r != ARCH_NE))
		return (struct fact){ x, r, v->nodes[y].c };
	/* whether it is less was compared with 0 */
	if (!values_is_constant(v, n->b))
		return nothing;
	return (struct fact){ n->a, r == ARCH_NE ? ARCH_LTU : ARCH_GEU, v->nodes[n->b].c };
}

/* What a branch says when it went, or did not go, to its target. */
static struct fact branch_fact(struct jump *j, uint32_t branch, bool taken)
{
	struct values *v = j->v;
	struct arch_effect f, flags;

	values_effect(v, branch, &f);
	if (f.op != ARCH_BRANCH || f.relation == ARCH_UNKNOWN)
		return (struct fact){ .node = NO_NODE };
	const enum arch_relation r = taken ? f.relation : negate(f.relation);
	if (f.x.kind != ARCH_NONE)
		return fact_of(j, values_operand(v, branch, &f, &f.x),
			       values_operand(v, branch, &f, &f.y), r, f.bits);
	const uint32_t compare = values_writer(v, branch, f.base);
	if (compare == UINT32_MAX)
		return (struct fact){ .node = NO_NODE };
	values_effect(v, compare, &flags);
	if (flags.op != ARCH_COMPARE)
		return (struct fact){ .node = NO_NODE };
	return fact_of(j, values_operand(v, compare, &flags, &flags.x),
		       values_operand(v, compare, &flags, &flags.y), r, flags.bits);
}

/* What must hold at the start of a block because of the branches that lead there: the same node is
 * bounded by every one of them. */
static void add_block_bound(struct jump *j, uint32_t block)
{
	struct values *v = j->v;
	const uint32_t first = v->pred_first[block], n = v->pred_first[block + 1] - first;
	const uint64_t start = v->b->insts[v->first[block]].i.pc;
	struct bound all = { 0 };
	uint16_t node = NO_NODE;

	if (n > PATHS_MAX)
		return;
	for (uint32_t k = 0; k < n; k++) {
		const uint32_t p = v->pred[first + k];

		if (p == v->nblocks)
			return;
		const uint32_t branch = v->first[p + 1] - 1;
		const struct cfg_inst *in = &v->b->insts[branch].i;
		if (in->flow != IMAGE_BRANCH || !in->direct ||
		    in->target == in->pc + in->size_bytes)
			return;
		const struct fact f = branch_fact(j, branch, in->target == start);
		if (f.node == NO_NODE || (k && f.node != node))
			return;
		struct bound b = anything;
		add_bound(&b, f.relation, f.c);
		node = f.node;
		if (!k) {
			all = b;
			continue;
		}
		all.low = min_u64(all.low, b.low);
		all.high = max_u64(all.high, b.high);
		all.least = all.least < b.least ? all.least : b.least;
		all.most = all.most > b.most ? all.most : b.most;
	}
	if (node == NO_NODE)
		return;
	struct bound *b = bound_at(j, node);
	b->low = max_u64(b->low, all.low);
	b->high = min_u64(b->high, all.high);
	b->least = b->least > all.least ? b->least : all.least;
	b->most = b->most < all.most ? b->most : all.most;
	add_bound(b, ARCH_UNKNOWN, 0);
}

static struct bound range_of(const struct jump *j, uint16_t n, unsigned depth);

static struct bound narrower(struct bound a, struct bound b)
{
	a.low = max_u64(a.low, b.low);
	a.high = min_u64(a.high, b.high);
	a.least = a.least > b.least ? a.least : b.least;
	a.most = a.most < b.most ? a.most : b.most;
	add_bound(&a, ARCH_UNKNOWN, 0);
	return a;
}

/* The block that one leads to another from, if it is the only one and ends with a branch. */
static uint32_t branch_before(const struct values *v, uint32_t from, uint64_t to, bool *taken)
{
	const uint32_t last = v->first[from + 1] - 1;
	const struct cfg_inst *in = &v->b->insts[last].i;

	*taken = in->target == to;
	return in->flow == IMAGE_BRANCH && in->direct && in->target != in->pc + in->size_bytes
		   ? last
		   : UINT32_MAX;
}

/* What a register can be at the end of block `from` on its way to `to`: what branches on the way there
 * say of that very value. */
static struct bound bound_along(struct jump *j, uint32_t from, uint64_t to, uint8_t reg)
{
	struct values *v = j->v;
	const uint16_t node = values_register(v, v->first[from + 1] - 1, reg);
	struct bound all = range_of(j, node, 0);

	/* the last instruction itself may write it */
	if (values_writes(v, v->first[from + 1] - 1) >> reg & 1)
		return anything;
	for (unsigned i = 0; i < CLIMB_MAX; i++) {
		bool taken;
		const uint32_t branch = branch_before(v, from, to, &taken);

		if (branch != UINT32_MAX) {
			const struct fact f = branch_fact(j, branch, taken);
			struct bound b = anything;

			add_bound(&b, f.relation, f.c);
			if (f.node == node)
				all = narrower(all, b);
		}
		if (v->pred_first[from + 1] - v->pred_first[from] != 1 ||
		    v->pred[v->pred_first[from]] == v->nblocks)
			break;
		to = v->b->insts[v->first[from]].i.pc;
		from = v->pred[v->pred_first[from]];
	}
	return all;
}

/* The value that a register has at the start of a block can come from several places: each may have a
 * check of its own. */
static void add_joined_bound(struct jump *j, uint16_t node)
{
	struct values *v = j->v;
	const struct node n = v->nodes[node];
	const uint32_t inst = build_inst_at(v->b, n.c & ~AT_BLOCK);
	struct bound all = { .low = 1 }; /* nothing yet */

	if (!(n.c & AT_BLOCK) || n.bits == ARCH_MEMORY || inst == NO_INST)
		return;
	const uint32_t block = v->block_of[inst], first = v->pred_first[block],
		       count = v->pred_first[block + 1] - first;
	if (count > PATHS_MAX)
		return;
	for (uint32_t k = 0; k < count; k++) {
		if (v->pred[first + k] == v->nblocks)
			return;
		const struct bound b = bound_along(j, v->pred[first + k], n.c & ~AT_BLOCK, n.bits);

		if (k) {
			all.low = min_u64(all.low, b.low);
			all.high = max_u64(all.high, b.high);
		} else {
			all = b;
		}
	}
	struct bound *b = bound_at(j, node);
	if (count && all.low <= all.high) {
		b->low = max_u64(b->low, all.low);
		b->high = min_u64(b->high, all.high);
	}
}

/* Goes up from dominator to dominator and notes what must hold at a block. */
static void add_bounds(struct jump *j, uint32_t block)
{
	const struct values *v = j->v;

	for (unsigned i = 0; i < DEPTH_MAX && block < v->nblocks; i++) {
		add_block_bound(j, block);
		block = v->idom[block];
	}
}

static struct bound both(struct bound a, uint64_t low, uint64_t high)
{
	a.low = max_u64(a.low, low);
	a.high = min_u64(a.high, high);
	return a;
}

/* What values a node can have. */
static struct bound range_of(const struct jump *j, uint16_t n, unsigned depth)
{
	const struct values *v = j->v;
	const struct node *at = &v->nodes[n];
	const struct bound own = bound_of(j, n);
	struct bound a, b;
	uint64_t most;

	if (depth > DEPTH_MAX)
		return own;
	switch (at->kind) {
	case NODE_CONST:
		return both(own, at->c, at->c);
	case NODE_LOAD:
		return both(own, 0, values_extend(UINT64_MAX, at->bits, false));
	case NODE_LESS:
		return both(own, 0, 1);
	case NODE_ZERO:
	case NODE_SIGN:
		a = range_of(j, at->a, depth + 1);
		most = values_extend(UINT64_MAX, at->bits, false) >> (at->kind == NODE_SIGN);
		if (a.high <= most)
			return both(own, a.low, a.high);
		/* the other way to extend the same bits may have been compared */
		const uint16_t other =
		    values_find(v, at->kind == NODE_ZERO ? NODE_SIGN : NODE_ZERO, at->bits, at->a);
		b = other == NO_NODE ? anything : bound_of(j, other);
		if (b.high <= most >> (at->kind == NODE_ZERO))
			return both(own, b.low, b.high);
		return at->kind == NODE_ZERO ? both(own, 0, most) : own;
	case NODE_AND:
		a = range_of(j, at->a, depth + 1);
		b = range_of(j, at->b, depth + 1);
		return both(own, 0, min_u64(a.high, b.high));
	case NODE_SHL:
		a = range_of(j, at->a, depth + 1);
		return a.high <= UINT64_MAX >> at->c ? both(own, a.low << at->c, a.high << at->c)
						     : own;
	case NODE_SHR:
		a = range_of(j, at->a, depth + 1);
		return both(own, a.low >> at->c, a.high >> at->c);
	case NODE_ADD:
		a = range_of(j, at->a, depth + 1);
		b = range_of(j, at->b, depth + 1);
		if (a.low + b.low <= a.high + b.high &&
		    a.high + b.high - (a.low + b.low) == (a.high - a.low) + (b.high - b.low) &&
		    (a.high - a.low) <= UINT64_MAX - (b.high - b.low))
			return both(own, a.low + b.low, a.high + b.high);
		return own;
	default:
		return own;
	}
}

static bool is_bounded(const struct jump *j, uint16_t n)
{
	const struct bound r = range_of(j, n, 0);

	return r.high >= r.low && r.high - r.low < ENTRIES_MAX;
}

enum { FIXED = NO_NODE, FAILED = NO_NODE - 1 };

static bool has_operands(uint8_t kind)
{
	return kind != NODE_CONST && kind != NODE_UNKNOWN;
}

static bool has_two(uint8_t kind)
{
	return kind == NODE_ADD || kind == NODE_SUB || kind == NODE_AND || kind == NODE_LESS;
}

static bool compute(struct jump *j, uint16_t root, uint16_t variable, uint64_t value,
		    bool *impossible);

/* The node that decides a node's value; FIXED: it is constant. `open`: it need not be bounded. */
static uint16_t find_variable(struct jump *j, uint16_t n, bool open, unsigned depth)
{
	const struct values *v = j->v;
	const struct node *at = &v->nodes[n];
	uint16_t found = FAILED;

	if (at->kind == NODE_CONST)
		return FIXED;
	if (depth < DEPTH_MAX && has_operands(at->kind)) {
		found = find_variable(j, at->a, open, depth + 1);
		if (found != FAILED && has_two(at->kind)) {
			const uint16_t other = find_variable(j, at->b, open, depth + 1);

			found = other == FIXED || other == found ? found
				: found == FIXED		 ? other
								 : FAILED;
		}
		if (found != FAILED && at->kind == NODE_LOAD) {
			/* a load is followed if it reads a table */
			const uint64_t first =
			    found == FIXED || open ? 0 : range_of(j, found, 0).low;
			bool impossible;

			if ((!compute(j, n, found, first, &impossible) && !impossible) ||
			    (open && j->value[at->a] < v->b->im->start + OFFSETS))
				found = FAILED;
		}
	}
	if (found == FAILED &&
	    (open ? at->kind == NODE_UNKNOWN || at->kind == NODE_LOAD || at->kind == NODE_ZERO
		  : is_bounded(j, n)))
		return n;
	return found;
}

/* Lists what a node needs; and, because they rule values out, nodes that have bounds. */
static void need(struct jump *j, uint16_t n, uint16_t variable)
{
	bool *listed = j->listed;
	const struct values *v = j->v;
	uint16_t last = n;

	memset(listed, 0, sizeof(j->listed));
	listed[n] = true;
	for (uint16_t i = 0; i < j->nbounds && i < v->nnodes; i++)
		if (memcmp(&j->bound[i], &anything, sizeof(anything)) != 0) {
			listed[i] = true;
			last = i > last ? i : last;
		}
	/* operands have smaller numbers: marking from the top down reaches all */
	for (uint16_t i = (uint16_t)(last + 1); i-- > 0;) {
		const struct node *at = &v->nodes[i];

		if (!listed[i] || i == variable || !has_operands(at->kind))
			continue;
		listed[at->a] = true;
		if (has_two(at->kind))
			listed[at->b] = true;
	}
	j->norder = 0;
	for (uint16_t i = 0; i <= last; i++)
		if (listed[i])
			j->order[j->norder++] = i;
}

static bool apply(const struct jump *j, const struct node *at, uint64_t *out)
{
	const uint64_t a = has_operands(at->kind) ? j->value[at->a] : 0;
	const uint64_t b = has_two(at->kind) ? j->value[at->b] : 0;

	switch (at->kind) {
	case NODE_CONST:
		*out = at->c;
		return true;
	case NODE_ADD:
		*out = a + b;
		return true;
	case NODE_SUB:
		*out = a - b;
		return true;
	case NODE_AND:
		*out = a & b;
		return true;
	case NODE_LESS:
		*out = a < b;
		return true;
	case NODE_SHL:
		*out = a << at->c;
		return true;
	case NODE_SHR:
		*out = a >> at->c;
		return true;
	case NODE_SAR:
		*out = (uint64_t)((int64_t)a >> at->c);
		return true;
	case NODE_ZERO:
	case NODE_SIGN:
		*out = values_extend(a, at->bits, at->kind == NODE_SIGN);
		return true;
	case NODE_LOAD:
		return image_constant(j->v->b->im, a, at->bits / 8u, out);
	default:
		return false;
	}
}

/* The values of j->order with the variable set; false: the root's cannot be known, or is `impossible`. */
static bool run(struct jump *j, uint16_t root, uint16_t variable, uint64_t value, bool *impossible)
{
	*impossible = false;
	for (uint16_t i = 0; i < j->norder; i++) {
		const uint16_t n = j->order[i];
		const struct node *at = &j->v->nodes[n];
		const struct bound b = bound_of(j, n);

		j->known[n] = n == variable;
		j->value[n] = value;
		if (n != variable)
			j->known[n] = (!has_operands(at->kind) || j->known[at->a]) &&
				      (!has_two(at->kind) || j->known[at->b]) &&
				      apply(j, at, &j->value[n]);
		const uint64_t x = j->value[n];
		if (j->known[n] &&
		    (x < b.low || x > b.high || (int64_t)x < b.least || (int64_t)x > b.most)) {
			*impossible = true;
			return false;
		}
	}
	return j->known[root];
}

static bool compute(struct jump *j, uint16_t root, uint16_t variable, uint64_t value,
		    bool *impossible)
{
	need(j, root, variable);
	return run(j, root, variable, value, impossible);
}

/* Whether a target is code: in the function, or, if allowed, where another one starts. */
static bool is_target(const struct build *b, uint64_t pc, bool elsewhere)
{
	const struct function_range *f = image_function(b->im, pc);
	const struct part *p = build_part(b, pc);
	struct image_inst in;
	size_t left = 0;
	const uint8_t *bytes = f ? image_code(b->im, pc, &left) : NULL;

	if (!bytes || !b->im->arch->decode(bytes, left, pc, &in) || !in.cls)
		return false;
	if (p)
		return (pc - p->start) % b->im->arch->unit_bytes == 0;
	return image_whole(b->im, f) == b->f || (elsewhere && f->start == pc);
}

static int by_number(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void sort_targets(struct jump_table *t)
{
	size_t kept = 0;

	if (t->ntargets)
		qsort(t->targets, t->ntargets, sizeof(*t->targets), by_number);
	for (size_t i = 0; i < t->ntargets; i++)
		if (!kept || t->targets[kept - 1] != t->targets[i])
			t->targets[kept++] = t->targets[i];
	t->ntargets = kept;
}

/*
 * Tries every value of the variable. Where that meets an entry that is no code of the function, the
 * bound is not the table's own (a byte, say, that is never above 20), or none is known: then the entries
 * before it are all.
 */
static bool enumerate(struct jump *j, struct jump_table *t, bool open)
{
	const struct build *b = j->v->b;
	bool whole = !open, left = false;
	const struct bound r = range_of(j, j->variable, 0);
	const uint64_t low = open ? 0 : r.low, high = open ? OPEN_MAX - 1 : r.high;

	need(j, j->root, j->variable);
	for (uint64_t i = 0; i <= high - low; i++) {
		bool impossible;
		const bool known = run(j, j->root, j->variable, low + i, &impossible);

		if (!known && impossible)
			continue;
		if (!known || !is_target(b, j->value[j->root], whole)) {
			whole = false;
			break;
		}
		left = left || !is_target(b, j->value[j->root], false);
		if (!t->ntargets || t->targets[t->ntargets - 1] != j->value[j->root])
			*ARRAY_ADD(t->targets, t->ntargets) = j->value[j->root];
	}
	sort_targets(t);
	return whole ? t->ntargets > 0 : t->ntargets > 1 && !low && !left;
}

/* Whether the stack pointer is what it was when the function was entered. */
static bool frame_is_gone(struct values *v, uint32_t inst)
{
	const struct node *n = &v->nodes[values_register(v, inst, v->arch->stack)];

	return n->kind == NODE_UNKNOWN && n->c == (v->b->f->start | AT_BLOCK);
}

/* A jump through a slot that the loader fills: out of the function, or, before the loader has looked for
 * the symbol, to where the slot leads at first. */
static bool is_slot(struct jump *j, struct jump_table *t)
{
	struct build *b = j->v->b;
	const struct node *root = &j->v->nodes[j->root];
	uint64_t first;

	if (root->kind != NODE_LOAD || !values_is_constant(j->v, root->a) ||
	    !image_slot(b->im, j->v->nodes[root->a].c))
		return false;
	t->resolved = t->exits = true;
	if (image_slot_first(b->im, j->v->nodes[root->a].c, &first) && build_part(b, first) &&
	    is_target(b, first, false))
		*ARRAY_ADD(t->targets, t->ntargets) = first;
	return true;
}

static void resolve(struct jump *j, uint32_t inst, struct jump_table *t)
{
	struct values *v = j->v;
	struct arch_effect f;
	bool open = false;

	values_restart(v);
	j->nbounds = 0;
	values_effect(v, inst, &f);
	if (f.op != ARCH_JUMP)
		return;
	j->root = values_operand(v, inst, &f, &f.x);
	if (f.x.kind == ARCH_REG)
		j->root =
		    values_node(v, NODE_ADD, 0, j->root, values_constant(v, (uint64_t)f.disp), 0);
	add_bounds(j, v->block_of[inst]);
	for (uint16_t i = 0, n = v->nnodes; i < n; i++)
		if (v->nodes[i].kind == NODE_UNKNOWN)
			add_joined_bound(j, i);
	const bool gone = frame_is_gone(v, inst);
	if (v->full)
		return;
	if (is_slot(j, t))
		return;
	j->variable = find_variable(j, j->root, false, 0);
	if (j->variable == FAILED || j->variable == j->root) {
		j->variable = find_variable(j, j->root, true, 0);
		open = true;
	}
	if (j->variable == FIXED) {
		bool impossible;

		t->resolved = true;
		t->exits = !compute(j, j->root, FIXED, 0, &impossible) ||
			   !is_target(v->b, j->value[j->root], true);
		if (!t->exits)
			*ARRAY_ADD(t->targets, t->ntargets) = j->value[j->root];
		return;
	}
	if (j->variable != FAILED && j->variable != j->root) {
		t->resolved = enumerate(j, t, open);
		if (!t->resolved)
			t->ntargets = 0;
		return;
	}
	/* code that jumps on inside of a function keeps its frame */
	t->resolved = t->exits = gone && values_writer(v, inst, v->arch->stack) != UINT32_MAX;
	t->may_exit = gone && !t->resolved;
}

/* Takes a new answer over; true: it differs from the one before. */
static bool take(struct build *b, struct jump_table *t, struct jump_table *now)
{
	const bool same = t->resolved == now->resolved && t->ntargets == now->ntargets &&
			  t->exits == now->exits && t->may_exit == now->may_exit &&
			  !memcmp(t->targets ? t->targets : (uint64_t[1]){ 0 },
				  now->targets ? now->targets : (uint64_t[1]){ 0 },
				  now->ntargets * sizeof(*now->targets));

	if (same) {
		free(now->targets);
		return false;
	}
	if (t->resolved && !now->resolved) /* what was found through it is still code */
		for (size_t i = 0; i < t->ntargets; i++)
			if (build_inst_at(b, t->targets[i]) != NO_INST)
				*ARRAY_ADD(b->roots, b->nroots) = t->targets[i];
	free(t->targets);
	*t = *now;
	for (size_t i = 0; i < t->ntargets; i++)
		build_lead(b, t->targets[i]);
	return true;
}

bool build_resolve(struct build *b)
{
	bool changed = false;

	if (!b->ntables)
		return false;
	build_sort(b);
	struct jump *j = x_malloc(sizeof(*j));
	j->v = values_new(b);
	/* all answers first: they are to rest on the same graph */
	const size_t ntables = b->ntables;
	struct jump_table *now = x_calloc(ntables, sizeof(*now));
	for (size_t i = 0; i < ntables; i++) {
		now[i].pc = b->tables[i].pc;
		now[i].failed = b->tables[i].failed;
		if (!now[i].failed)
			resolve(j, build_inst_at(b, now[i].pc), &now[i]);
		now[i].failed = now[i].failed || (b->tables[i].resolved && !now[i].resolved);
	}
	for (size_t i = 0; i < ntables; i++)
		changed = take(b, &b->tables[i], &now[i]) || changed;
	build_follow(b);
	values_free(j->v);
	free(j);
	free(now);
	return changed;
}

/* SPDX-License-Identifier: MIT */
/*
 * Functional warming: caches, TLBs and predictors learn from instructions that the guest executes
 * without the core, or from a list of the lines that it touched last.
 *
 * The guest tells stretches, each at most a block, and which of their instructions accessed memory
 * (guest_watch). Only those, the starts of lines and the last instruction of a stretch matter; the rest
 * of the instructions are looked at where a stretch enters another line, to find where that is.
 */
#include "core/pipe.h"

#define NO_LINE (~0ull)

/* What is left of a stretch. */
struct part {
	const struct inst *at; /* the pc of this instruction is known */
	uint64_t pc;
	const struct guest_access *access, *end;
};

static void walk_to(struct part *s, const struct inst *in)
{
	for (; s->at < in; s->at++)
		s->pc += s->at->len;
}

/* The accesses of instructions before `until`. */
static void warm_accesses(struct core *c, struct part *s, const struct inst *until)
{
	for (; s->access < s->end && s->access->inst < until; s->access++) {
		const struct inst *in = s->access->inst;
		const struct op_info *info = &op_info[in->op];
		const enum mem_access kind =
		    info->cls == CLASS_LOAD ? MEM_ACCESS_LOAD : MEM_ACCESS_STORE;

		lsu_first_touch(c, s->access->addr);
		if (likely(memsys_warm_hit(c->mem, kind, s->access->addr, info->mem_bytes)))
			continue;
		walk_to(s, in);
		memsys_warm(c->mem, kind, s->access->addr, info->mem_bytes, s->pc);
	}
}

static void warm_memory(struct core *c, const struct guest_seen *seen)
{
	const uint64_t lines = c->front.line_mask;
	struct part s = { seen->insts, seen->pc, seen->accesses, seen->accesses + seen->naccesses };
	const struct inst *const end = seen->insts + seen->count;
	uint64_t pc = seen->pc;

	if (likely(((seen->end - 1) & lines) == c->front.warm_line &&
		   (pc & lines) == c->front.warm_line)) {
		warm_accesses(c, &s, end);
		return;
	}
	for (const struct inst *in = seen->insts; in < end; pc += in->len, in++) {
		if ((pc & lines) == c->front.warm_line)
			continue;
		warm_accesses(c, &s, in);
		if (!memsys_warm_hit(c->mem, MEM_ACCESS_FETCH, pc, 4))
			memsys_warm(c->mem, MEM_ACCESS_FETCH, pc, 4, pc);
		c->front.warm_line = pc & lines;
	}
	warm_accesses(c, &s, end);
}

static void warm_stretch(struct core *c, const struct guest_seen *seen, uint64_t next_pc)
{
	const struct inst *last = seen->insts + seen->count - 1;
	const uint64_t pc = seen->end - last->len;

	if (!c->twin.follows)
		warm_memory(c, seen);
	if (!(op_info[last->op].flags & OPF_CTRL))
		return;
	if (unlikely(c->seen))
		see_branch(c, pc);
	if (!seen->switched)
		bpred_warm(c->bpred, pc, last, seen->taken, next_pc);
}

static void warm_seen(void *ctx, const struct guest_seen *list, size_t n, uint64_t next_pc)
{
	struct core *c = ctx;

	for (size_t i = 0; i < n; i++) {
		uint64_t next = i + 1 < n ? list[i + 1].pc : next_pc;

		warm_stretch(c, &list[i], next);
		if (c->twin.leads)
			warm_stretch(twin_core(c->twin.leads), &list[i], next);
	}
}

void core_recall(struct core *c, const struct guest_lines *lines)
{
	/* What is older than twice the largest cache is in none, but for a few crowded sets. */
	const size_t most = 2 * (memsys_reach(c->mem) >> GUEST_LINE_BITS),
		     first = lines->count > most ? lines->count - most : 0;

	for (const struct guest_line *l = lines->lines + first, *end = lines->lines + lines->count;
	     l < end; l++)
		memsys_recall(c->mem, l->store, (uint64_t)l->line << GUEST_LINE_BITS,
			      1u << GUEST_LINE_BITS);
	if (lines->all)
		memsys_data_known(c->mem);
}

static void warm_begin(struct core *c)
{
	assert(c->head == c->tail);
	core_rest(c);
	core_cut(c);
	memsys_quiesce(c->mem);
	c->front.warm_line = NO_LINE;
}

enum core_status core_warm(struct core *c, uint64_t n)
{
	const struct guest_watcher w = { .seen = warm_seen,
					 .ctx = c,
					 .faults_count = !c->front.counts_guest };

	warm_begin(c);
	if (c->twin.leads)
		warm_begin(twin_core(c->twin.leads));
	if (c->front.state == FETCH_OVER)
		return CORE_ENDED;
	if (guest_watch(c->guest, n, &w) != GUEST_RUNNING) {
		c->front.state = FETCH_OVER;
		return CORE_ENDED;
	}
	core_attach(c);
	return CORE_STOPPED;
}

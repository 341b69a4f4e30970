/* SPDX-License-Identifier: MIT */
/*
 * Cycles by call stack: in the folded format that flame-graph tools read, "main;parse;lex 1234"
 * (folded), and as a tree in the store (calls).
 *
 * Each thread's stack follows its calls and returns. A call pushes the function that it enters and
 * the address to return to. A return pops down to the frame with that address, so that longjmp and
 * frames that were left without a return do no harm. A plain jump changes the entry of the top
 * frame: a jump within a function gives the same name in the end, a tail call (or a PLT stub) the
 * name of the function that was jumped to. Names are looked up when the run is over and all images
 * are known.
 *
 * Every cycle goes to the stack of the next instruction to commit, or, if several commit, of the
 * oldest; so the counts sum to the cycles measured. What was on the stack before measuring began is
 * not known: stacks then begin at the function that was running.
 */
#include "analysis/folded.h"

#include <stdlib.h>
#include <string.h>

#include "image/image.h"
#include "store/store.h"
#include "trace/export_file.h"
#include "trace/file.h"
#include "trace/turns.h"
#include "util/array.h"
#include "util/outside.h"
#include "util/text.h"

#define DEPTH_MAX 512 /* deeper frames count as the frame at this depth */

/* A stack: a path in a tree of function entries. */
struct node {
	uint64_t entry;
	uint32_t parent; /* 0: none; the root has no frame */
	uint32_t next;	 /* in its hash bucket */
	uint64_t cycles;
};

struct frame {
	uint64_t back; /* return address */
	uint32_t node;
};

struct thread {
	uint32_t tid;
	uint32_t depth;	   /* frames in use, at least 1 once it has run */
	uint32_t too_deep; /* calls beyond DEPTH_MAX */
	struct frame *frames;
};

/*
 * What stacks need to know of a batch: instructions of one thread up to and with the next call, return
 * or jump are one step. Steps are made from a batch alone, so shards make them side by side; following them is
 * done in the order of batches.
 */
struct step {
	uint64_t end; /* cycle after the last one's commit; of the others the cycle itself */
	uint64_t pc;  /* of the first */
	uint64_t target, back;
	uint32_t tid;
	enum { STEP_ON, STEP_CALL, STEP_RETURN, STEP_JUMP, STEP_BEGIN, STEP_SEEN } what;
};

struct folded {
	struct node *nodes;
	uint32_t nnodes, capacity;
	uint32_t *buckets;
	uint32_t nbuckets; /* a power of two */
	struct thread *threads;
	uint32_t nthreads, current;
	uint64_t now;  /* end of the last cycle that has been given to a stack */
	uint64_t seen; /* end of the last cycle that records have covered */
	uint32_t last; /* node of the last instruction that got cycles */
	struct images *const *images;
	char *path;
	struct folded *first; /* of the shards; NULL: there are none */
	struct turn steps;    /* those of the present batch */
	struct turns turns;   /* the first's */
	bool has_turns;
};

static void rehash(struct folded *f)
{
	f->nbuckets *= 2;
	f->buckets = x_realloc(f->buckets, f->nbuckets * sizeof(*f->buckets));
	memset(f->buckets, 0, f->nbuckets * sizeof(*f->buckets));
	for (uint32_t i = 1; i < f->nnodes; i++) {
		uint32_t *b =
		    &f->buckets[hash_u64(f->nodes[i].entry ^ (uint64_t)f->nodes[i].parent << 40) &
				(f->nbuckets - 1)];
		f->nodes[i].next = *b;
		*b = i;
	}
}

static uint32_t child(struct folded *f, uint32_t parent, uint64_t entry)
{
	uint32_t *b = &f->buckets[hash_u64(entry ^ (uint64_t)parent << 40) & (f->nbuckets - 1)];
	for (uint32_t i = *b; i; i = f->nodes[i].next)
		if (f->nodes[i].entry == entry && f->nodes[i].parent == parent)
			return i;
	if (f->nnodes == f->capacity) {
		f->capacity *= 2;
		f->nodes = x_realloc(f->nodes, f->capacity * sizeof(*f->nodes));
	}
	f->nodes[f->nnodes] = (struct node){ .entry = entry, .parent = parent, .next = *b };
	*b = f->nnodes;
	if (f->nnodes++ >= f->nbuckets)
		rehash(f);
	return f->nnodes - 1;
}

static struct thread *thread_of(struct folded *f, uint32_t tid)
{
	if (likely(f->current < f->nthreads && f->threads[f->current].tid == tid))
		return &f->threads[f->current];
	for (f->current = 0; f->current < f->nthreads; f->current++)
		if (f->threads[f->current].tid == tid)
			return &f->threads[f->current];
	f->threads = x_realloc(f->threads, (f->nthreads + 1) * sizeof(*f->threads));
	f->threads[f->nthreads] = (struct thread){ .tid = tid };
	f->threads[f->nthreads].frames = x_calloc(DEPTH_MAX, sizeof(struct frame));
	return &f->threads[f->nthreads++];
}

static void call(struct folded *f, struct thread *t, uint64_t target, uint64_t back)
{
	if (t->depth == DEPTH_MAX) {
		t->too_deep++;
		return;
	}
	t->frames[t->depth] =
	    (struct frame){ .back = back, .node = child(f, t->frames[t->depth - 1].node, target) };
	t->depth++;
}

static void go_back(struct folded *f, struct thread *t, uint64_t target)
{
	if (t->too_deep) {
		t->too_deep--;
		return;
	}
	for (uint32_t d = t->depth; d-- > 1;)
		if (t->frames[d].back == target) {
			t->depth = d;
			return;
		}
	/* The call was before measuring began: the caller becomes the bottom of the stack. */
	t->depth = 1;
	t->frames[0].node = child(f, 0, target);
}

/* Gives a step's time to the stack that it ran on, and then follows its call, return or jump. */
static inline void follow(struct folded *f, const struct step *s)
{
	struct thread *t = thread_of(f, s->tid);
	if (unlikely(!t->depth)) {
		t->depth = 1;
		t->frames[0] = (struct frame){ .node = child(f, 0, s->pc) };
	}
	struct frame *top = &t->frames[t->depth - 1];
	if (s->end != f->now) {
		f->nodes[top->node].cycles += s->end - f->now;
		f->now = s->end;
		f->last = top->node;
	}
	if (s->what == STEP_CALL)
		call(f, t, s->target, s->back);
	else if (s->what == STEP_RETURN)
		go_back(f, t, s->target);
	else if (s->what == STEP_JUMP && !t->too_deep)
		top->node = child(f, f->nodes[top->node].parent, s->target);
}

/* Gives the time up to `end` to the last stack. */
static void settle(struct folded *f, uint64_t end)
{
	if (end > f->now)
		f->nodes[f->last].cycles += end - f->now;
	f->now = end;
}

static void follow_all(struct folded *f, const struct step *steps, size_t count)
{
	for (const struct step *s = steps; s < steps + count; s++) {
		if (likely(s->what < STEP_BEGIN)) {
			follow(f, s);
		} else if (s->what == STEP_SEEN) {
			f->seen = s->end ? s->end : f->now;
		} else if (s->end != f->seen) {
			settle(f, f->seen);
			f->now = s->end;
		}
	}
}

/*
 * Whether this may be a folded file: lines of a stack, a space and a number, sorted by stack. That
 * is little to go by, so the file must also be named .folded or hold a stack of two frames.
 */
static bool is_folded(const uint8_t *head, size_t size, const char *path)
{
	const char *at = (const char *)head, *end = at + size, *before = NULL, *stop;
	size_t path_bytes = strlen(path), before_bytes = 0;
	bool deep = path_bytes >= 7 && !strcmp(path + path_bytes - 7, ".folded");
	for (; (stop = memchr(at, '\n', (size_t)(end - at))); at = stop + 1) {
		const char *digit = stop;
		while (digit > at && digit[-1] >= '0' && digit[-1] <= '9')
			digit--;
		if (digit == stop || digit < at + 2 || digit[-1] != ' ')
			return false;
		size_t bytes = (size_t)(digit - 1 - at);
		if (before) {
			size_t least = before_bytes < bytes ? before_bytes : bytes;
			int order = memcmp(before, at, least);
			if (order > 0 || (!order && before_bytes >= bytes))
				return false;
		}
		deep |= memchr(at, ';', bytes) != NULL;
		before = at;
		before_bytes = bytes;
	}
	return before && deep && (at == end || size == OUTPUT_HEAD_BYTES);
}

static const struct output_kind folded_kind = {
	.what = "a file of folded stacks",
	.option = "--param folded=FILE",
	.is = is_folded,
};

static bool calls_start(void *state, const struct trace_meta *meta,
			const struct analysis_options *o, struct err *e)
{
	struct folded *f = state;
	const char *first = o->info ? trace_setting_find(o->info, "run", "first_cycle") : NULL;

	if (o->shards > 1)
		f->first = o->first ? o->first : f;
	if (o->first)
		return true;
	turns_init(&f->turns);
	f->has_turns = true;
	f->images = o->images;
	/* A run begins with cycle 1; a forked process is told where its run does. */
	f->now = f->seen = first ? strtoull(first, NULL, 10) : 1;
	f->capacity = 1024;
	f->nodes = x_calloc(f->capacity, sizeof(*f->nodes));
	f->nnodes = 1;
	f->nbuckets = 1024;
	f->buckets = x_calloc(f->nbuckets, sizeof(*f->buckets));
	return true;
}

static bool folded_start(void *state, const struct trace_meta *meta,
			 const struct analysis_options *o, struct err *e)
{
	struct folded *f = state;
	if (o->first)
		return calls_start(state, meta, o, e);
	f->path = analysis_path(o, "folded", "folded");
	outside_expect(f->path);
	/* Checked before the run, so that a bad name is found before time is spent. */
	if (!output_may_open(f->path, &folded_kind, e)) {
		free(f->path);
		return false;
	}
	return calls_start(state, meta, o, e);
}

/* Adds a step to those of the batch; there is room. */
static inline struct step *add_step(struct folded *f, uint32_t what, uint64_t end)
{
	struct step *s = (struct step *)f->steps.data + f->steps.used++;
	s->what = what;
	s->end = end;
	return s;
}

/*
 * A committed instruction gets the cycles since the commit before it, and the cycle of its own
 * commit. Cycle records are there only if another analysis wants them, or if there are regions:
 * then they tell where a region begins and ends.
 */
static void make_steps(struct folded *f, const struct rec_inst *insts, size_t ninsts,
		       const struct rec_cycle *cycles, size_t ncycles)
{
	struct step *steps = f->steps.data, *on = NULL;

	ARRAY_ROOM(steps, f->steps.capacity, f->steps.used + ninsts + 2);
	f->steps.data = steps;
	if (ncycles)
		add_step(f, STEP_BEGIN, cycles[0].cycle);
	for (size_t i = 0; i < ninsts; i++) {
		const struct rec_inst *r = &insts[i];
		if (unlikely(!(r->flags & RI_COMMITTED)))
			continue;
		if (unlikely(!on || on->tid != r->tid)) {
			on = add_step(f, STEP_ON, 0);
			on->pc = r->pc;
			on->tid = r->tid;
		}
		on->end = r->fetch + r->commit + 1;
		if (likely(!(r->flags & (RI_CALL | RI_RETURN | RI_JUMP))))
			continue;
		on->what = r->flags & RI_CALL	  ? STEP_CALL
			   : r->flags & RI_RETURN ? STEP_RETURN
						  : STEP_JUMP;
		on->target = r->target;
		on->back = r->pc + ((r->word & 3) == 3 ? 4 : 2);
		on = NULL;
	}
	add_step(f, STEP_SEEN,
		 ncycles ? cycles[ncycles - 1].cycle + cycles[ncycles - 1].repeat : 0);
}

static bool folded_batch(void *state, const struct rec_inst *insts, size_t ninsts,
			 const struct rec_cycle *cycles, size_t ncycles, struct err *e)
{
	struct folded *f = state;

	make_steps(f, insts, ninsts, cycles, ncycles);
	if (!f->first) {
		follow_all(f, f->steps.data, f->steps.used);
		f->steps.used = 0;
	}
	return true;
}

static bool take_steps(void *ctx, const struct turn *turn, struct err *e)
{
	follow_all(ctx, turn->data, turn->used);
	return true;
}

static bool folded_turn(void *state, uint64_t index, struct err *e)
{
	struct folded *f = state;
	return turns_bring(&f->first->turns, index, &f->steps, take_steps, f->first, e);
}

/* The first has followed all steps. */
static bool folded_merge(void *into, void *from, struct err *e)
{
	(void)into;
	(void)from;
	(void)e;
	return true;
}

/* A line of the result, or part of one. */
struct line {
	char *stack;
	uint64_t cycles;
};

static int by_stack(const void *a, const void *b)
{
	return strcmp(((const struct line *)a)->stack, ((const struct line *)b)->stack);
}

/* The stack of a node as names. Semicolons in names are escaped, because they would break the
 * format. */
static char *stack_text(struct folded *f, uint32_t node)
{
	uint32_t path[DEPTH_MAX + 1];
	size_t depth = 0, bytes = 1, used = 0;
	char *text = NULL;
	for (uint32_t n = node; n && depth < ARRAY_LEN(path); n = f->nodes[n].parent)
		path[depth++] = n;
	while (depth-- > 0) {
		const char *name = "[unknown]";
		if (f->images && *f->images)
			name = images_place(*f->images, f->nodes[path[depth]].entry).function;
		char *shown = text_shown_without(name, ";");
		size_t n = strlen(shown);
		bytes += n + 1;
		text = x_realloc(text, bytes);
		if (used)
			text[used++] = ';';
		memcpy(text + used, shown, n + 1);
		used += n;
		free(shown);
	}
	return text ? text : x_strdup("[unknown]");
}

static bool folded_finish(void *state, struct store *store, struct err *e)
{
	struct folded *f = state;
	struct export_file out;
	size_t n = 0;
	settle(f, f->seen);
	if (!export_file_open(&out, f->path, &folded_kind, e))
		return false;
	struct line *lines = x_calloc(f->nnodes, sizeof(*lines));
	for (uint32_t i = 0; i < f->nnodes; i++)
		if (f->nodes[i].cycles)
			lines[n++] = (struct line){ stack_text(f, i), f->nodes[i].cycles };
	qsort(lines, n, sizeof(*lines), by_stack);
	bool ok = true;
	for (size_t i = 0; i < n; i++) {
		if (i + 1 < n && !strcmp(lines[i].stack, lines[i + 1].stack)) {
			lines[i + 1].cycles += lines[i].cycles;
			continue;
		}
		char count[32];
		int digits =
		    snprintf(count, sizeof(count), " %llu\n", (unsigned long long)lines[i].cycles);
		ok = ok && export_file_text(&out, lines[i].stack, strlen(lines[i].stack), e) &&
		     export_file_text(&out, count, (size_t)digits, e);
	}
	ok = export_file_finish(&out, ok ? e : NULL) && ok;
	export_file_free(&out);
	for (size_t i = 0; i < n; i++)
		free(lines[i].stack);
	free(lines);
	return ok;
}

/* A frame of the tree by function: nodes of one parent that begin in one function are one. */
struct context {
	const char *name;
	uint64_t pc, cycles;
	uint32_t parent, child,
	    next; /* its first child, and the next child of its parent; 0: none */
};

/* The context of a function below another; a new one unless there is one. */
static uint32_t context_of(struct context *c, uint32_t *count, uint32_t parent, const char *name,
			   uint64_t pc)
{
	for (uint32_t i = c[parent].child; i; i = c[i].next)
		if (!strcmp(c[i].name, name))
			return i;
	c[*count] =
	    (struct context){ .name = name, .pc = pc, .parent = parent, .next = c[parent].child };
	c[parent].child = *count;
	return (*count)++;
}

static bool calls_finish(void *state, struct store *store, struct err *e)
{
	struct folded *f = state;
	bool ok = true;

	settle(f, f->seen);
	if (!store)
		return true;
	struct context *c = x_calloc(f->nnodes + 1, sizeof(*c));
	uint32_t *to = x_calloc(f->nnodes + 1, sizeof(*to)), n = 1;

	/* A node comes after its parent. */
	for (uint32_t i = 1; i < f->nnodes; i++) {
		const struct node *node = &f->nodes[i];
		const char *name = NULL;

		if (f->images && *f->images)
			name = images_place(*f->images, node->entry).function;
		to[i] = context_of(c, &n, to[node->parent], name ? name : "[unknown]", node->entry);
		c[to[i]].cycles += node->cycles;
	}
	for (uint32_t i = 1; ok && i < n; i++)
		ok = store_insert(store, e, "call_context", "iiii", (int64_t)i,
				  (int64_t)c[i].parent, (int64_t)c[i].pc, (int64_t)c[i].cycles);
	free(to);
	free(c);
	return ok;
}

static void folded_free(void *state)
{
	struct folded *f = state;
	for (uint32_t i = 0; i < f->nthreads; i++)
		free(f->threads[i].frames);
	free(f->threads);
	free(f->nodes);
	free(f->buckets);
	free(f->path);
	free(f->steps.data);
	if (f->has_turns)
		turns_free(&f->turns);
}

const struct analysis folded_analysis = {
	.name = "folded",
	.summary = "call stacks by cycles, for flame graphs (--param folded=FILE)",
	.wants = WANT_INSTS | WANT_BRIEF,
	.params = (const struct analysis_param[]){ { "folded", "the file to write", false, { 0 } },
						   { .name = NULL } },
	.writes_file = true,
	.state_size = sizeof(struct folded),
	.start = folded_start,
	.batch = folded_batch,
	.merge = folded_merge,
	.turn = folded_turn,
	.finish = folded_finish,
	.free = folded_free,
};

const struct analysis calls_analysis = {
	.name = "calls",
	.summary = "call stacks by cycles, as a tree in the profile",
	.wants = WANT_INSTS | WANT_BRIEF,
	.tables = (const struct analysis_table[]){ { "call_context", NULL }, { NULL, NULL } },
	.state_size = sizeof(struct folded),
	.start = calls_start,
	.batch = folded_batch,
	.merge = folded_merge,
	.turn = folded_turn,
	.finish = calls_finish,
	.free = folded_free,
};

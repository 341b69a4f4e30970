/* SPDX-License-Identifier: MIT */
/*
 * Writes a Kanata log, version 0004, the format of the Konata pipeline viewer: a line per event, in
 * order of cycles; C= and C move time on. I begins an instruction, L gives it text (0: shown at the
 * left, 1: when the mouse is over it), S and E begin and end a stage in a lane, W draws an arrow
 * from the producer (0: register, 1: memory), R ends the instruction (0: retired, 1: flushed).
 *
 * Lane 0: F fetch, Dc decode, Ds in the window waiting for operands, Rd ready and waiting for a
 * unit, X execution, Cm complete and waiting to commit. Lane 1 has stalls: what held the
 * instruction at dispatch, misses of its fetch and of its data.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "isa/isa.h"
#include "trace/export.h"
#include "util/array.h"
#include "util/output.h"

static const char heading[] = "Kanata\t0004\n";

struct event {
	uint64_t cycle;
	uint32_t order; /* keeps the events of a cycle in the order in which they were made */
	char text[120];
};

struct log {
	struct event *events;
	size_t count, capacity;
};

static void add(struct log *l, uint64_t cycle, const char *fmt, ...) PRINTF(3, 4);
static void add(struct log *l, uint64_t cycle, const char *fmt, ...)
{
	va_list ap;
	ARRAY_ROOM(l->events, l->capacity, l->count + 1);
	struct event *e = &l->events[l->count];
	e->cycle = cycle;
	e->order = (uint32_t)l->count++;
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
}

static int by_cycle(const void *a, const void *b)
{
	const struct event *x = a, *y = b;
	if (x->cycle != y->cycle)
		return x->cycle < y->cycle ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

struct stage {
	const char *name;
	uint32_t from;
};

static void add_lane(struct log *l, size_t id, int lane, const char *name, uint64_t from,
		     uint64_t to)
{
	if (to <= from)
		return;
	add(l, from, "S\t%zu\t%d\t%s", id, lane, name);
	add(l, to, "E\t%zu\t%d\t%s", id, lane, name);
}

/* The cycle from which an instruction is shown: its fetch begins to wait for the I-cache. */
static uint64_t begin(const struct rec_inst *r)
{
	return r->fetch - min_u64(r->lat_icache, r->fetch);
}

static void add_stages(struct log *l, size_t id, const struct rec_inst *r)
{
	const struct stage stages[] = {
		{ "F", 0 },	    { "Dc", r->decode }, { "Ds", r->dispatch },
		{ "Rd", r->ready }, { "X", r->issue },	 { "Cm", r->complete }
	};
	size_t n = ARRAY_LEN(stages);
	for (size_t i = 0; i < n; i++) {
		uint32_t to = r->commit;
		if (stages[i].from == STAMP_NONE || stages[i].from > r->commit)
			continue;
		for (size_t k = n; k-- > i + 1;)
			if (stages[k].from != STAMP_NONE && stages[k].from <= to)
				to = stages[k].from;
		/* The last stage is seen for a cycle even if it ends at once. */
		if (stages[i].from == r->commit && to == r->commit && i + 1 == n)
			add(l, r->fetch + r->commit, "S\t%zu\t0\t%s", id, stages[i].name);
		else
			add_lane(l, id, 0, stages[i].name, r->fetch + stages[i].from,
				 r->fetch + to);
	}
}

static void add_stalls(struct log *l, size_t id, const struct rec_inst *r)
{
	const char *held =
	    r->dispatch_stall > DISPATCH_EMPTY && r->dispatch_stall < DISPATCH_STALL_COUNT
		? words_dispatch_stalls[r->dispatch_stall].name
		: NULL;
	add_lane(l, id, 1, "im", begin(r), r->fetch);
	if (held && r->decode != STAMP_NONE && r->dispatch != STAMP_NONE)
		add_lane(l, id, 1, held, r->fetch + r->decode, r->fetch + r->dispatch);
	if (r->lat_dmiss && r->issue != STAMP_NONE && r->complete != STAMP_NONE)
		add_lane(l, id, 1, r->dlevel == LEVEL_MEM ? "mem" : "dm", r->fetch + r->issue,
			 r->fetch + r->complete);
}

/* Index + 1 of the instruction with this number on the same path; 0: not in the window. */
static size_t producer(const struct window_records *w, size_t at, uint64_t po)
{
	for (size_t i = at; i-- > 0 && at - i < 4096;)
		if (w->insts[i].po == po &&
		    (w->insts[i].flags & RI_COMMITTED || !(w->insts[at].flags & RI_COMMITTED)))
			return i + 1;
	return 0;
}

static void add_arrows(struct log *l, const struct window_records *w, size_t id)
{
	const struct rec_inst *r = &w->insts[id];
	uint64_t when = r->fetch + (r->issue != STAMP_NONE ? r->issue : r->commit);
	for (int i = 0; i < 5; i++) {
		uint32_t d = i < 3 ? r->prod[i] : i == 3 ? r->prod_mem : r->prod_line;
		size_t p = d && d < r->po ? producer(w, id, r->po - d) : 0;
		if (p)
			add(l, when, "W\t%zu\t%zu\t%d", id, p - 1, i < 3 ? 0 : 1);
	}
}

static void add_inst(struct log *l, const struct window_records *w, size_t id, uint64_t *retired)
{
	const struct rec_inst *r = &w->insts[id];
	struct inst in = isa_decode(r->word);
	bool committed = r->flags & RI_COMMITTED;
	char text[80];
	snprintf(text, sizeof(text), "%s", r->cls < CLASS_COUNT ? op_class_name[r->cls] : "?");
	if (r->word)
		isa_disasm(&in, r->pc, DISASM_ALIASES, text, sizeof(text));
	for (char *p = text; *p; p++)
		*p = *p == '\t' ? ' ' : *p;
	add(l, begin(r), "I\t%zu\t%" PRIu64 "\t%u", id, r->seq, r->tid);
	add(l, begin(r), "L\t%zu\t0\t%" PRIx64 ": %s", id, r->pc, text);
	add(l, begin(r), "L\t%zu\t1\tpo %" PRIu64 "%s%s", id, r->po,
	    r->flags & RI_MISPREDICT ? ", mispredicted" : "", committed ? "" : ", squashed");
	if (r->addr)
		add(l, begin(r), "L\t%zu\t1\t\\naddress 0x%" PRIx64, id, r->addr);
	add_stages(l, id, r);
	add_stalls(l, id, r);
	add_arrows(l, w, id);
	add(l, r->fetch + r->commit + 1, "R\t%zu\t%" PRIu64 "\t%d", id,
	    committed ? (*retired)++ : 0, !committed);
}

bool export_kanata(FILE *out, const struct trace_info *info, const struct window_records *w)
{
	struct log l = { 0 };
	uint64_t retired = 0;
	for (size_t i = 0; i < w->ninsts; i++)
		add_inst(&l, w, i, &retired);
	if (l.count)
		qsort(l.events, l.count, sizeof(*l.events), by_cycle);
	fputs(heading, out);
	for (size_t i = 0; i < l.count; i++) {
		uint64_t now = i ? l.events[i - 1].cycle : l.events[i].cycle;
		if (!i)
			fprintf(out, "C=\t%" PRIu64 "\n", now);
		if (l.events[i].cycle != now)
			fprintf(out, "C\t%" PRIu64 "\n", l.events[i].cycle - now);
		fprintf(out, "%s\n", l.events[i].text);
	}
	free(l.events);
	return !ferror(out);
}

bool export_is_kanata(const uint8_t *head, size_t size, const char *path)
{
	return output_begins(head, size, heading);
}

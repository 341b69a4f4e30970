/* SPDX-License-Identifier: MIT */
/*
 * Shows the pipeline. As text it is a drawing: a letter with a colour for every instruction and cycle,
 * and no columns of values. So text is printed as it is drawn, and JSON alone is a document.
 *
 *        po        pc  instruction            cycle 1042
 *       318     1056a  add a0,a0,a1           F---d--D.X=C
 *       319     1056e  beq a0,a1,10576      ! F---d--D..X=C               mispredicted
 *         -     10572  ld a0,0(a1)            .F---d--D.rX====x           squashed
 *
 * Time runs to the right. Stretches in which nothing happens to any instruction shown are cut short
 * (at most GAP_COLUMNS columns), so that a miss to memory does not push everything else off the
 * line. When instructions no longer fit, the axis begins anew, with a heading that says at which
 * cycle.
 */
#include "view/pipeline.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "isa/isa.h"
#include "view/doc.h"

#define GAP_COLUMNS  6
#define LEFT_COLUMNS 50 /* number, address, instruction, mark */
#define TEXT_COLUMNS 26

/* Where cycles stand on the axis: every cycle in which something happens, and its column. */
struct axis {
	uint64_t *cycles;
	uint64_t *columns;
	size_t count;
};

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

#define STAMPS 7 /* of an instruction, from fetch to commit */

static void stamps_of(const struct rec_inst *r, uint32_t out[STAMPS])
{
	out[0] = 0;
	out[1] = r->decode;
	out[2] = r->dispatch;
	out[3] = r->ready;
	out[4] = r->issue;
	out[5] = r->complete;
	out[6] = r->commit;
}

static struct axis axis_new(const struct window_records *w)
{
	struct axis a = { 0 };
	size_t n = 0;
	a.cycles = x_calloc(STAMPS * w->ninsts + 1, sizeof(*a.cycles));
	for (size_t i = 0; i < w->ninsts; i++) {
		uint32_t stamps[STAMPS];
		stamps_of(&w->insts[i], stamps);
		for (int k = 0; k < STAMPS; k++)
			if (stamps[k] != STAMP_NONE)
				a.cycles[n++] = w->insts[i].fetch + stamps[k];
	}
	qsort(a.cycles, n, sizeof(*a.cycles), by_value);
	for (size_t i = 0; i < n; i++)
		if (!a.count || a.cycles[i] != a.cycles[a.count - 1])
			a.cycles[a.count++] = a.cycles[i];
	a.columns = x_calloc(a.count + 1, sizeof(*a.columns));
	for (size_t i = 1; i < a.count; i++)
		a.columns[i] =
		    a.columns[i - 1] + min_u64(a.cycles[i] - a.cycles[i - 1], GAP_COLUMNS);
	return a;
}

static void axis_free(struct axis *a)
{
	free(a->cycles);
	free(a->columns);
}

static uint64_t column_of(const struct axis *a, uint64_t cycle)
{
	size_t i = ARRAY_SEARCH(a->count, k, a->cycles[k] < cycle);
	return i < a->count ? a->columns[i] : 0;
}

/* What enters at each stamp, and what fills the time until the next. */
static const char enters[] = "FdDrXP", fills[] = "--.:=_";

/* Draws into line, which is `columns` wide and blank. Column `base` of the axis is its first. */
static void draw(const struct axis *a, const struct rec_inst *r, uint64_t base, char *line,
		 size_t columns)
{
	uint32_t stamps[STAMPS];
	uint64_t at = column_of(a, r->fetch);
	char fill = '-';
	stamps_of(r, stamps);
	for (int k = 0; k < STAMPS; k++) {
		if (stamps[k] == STAMP_NONE)
			continue;
		uint64_t to = column_of(a, r->fetch + stamps[k]);
		for (; at < to; at++)
			if (at >= base && at - base < columns && line[at - base] == ' ')
				line[at - base] = fill;
		if (to >= base && to - base < columns)
			line[to - base] =
			    k == STAMPS - 1 ? (r->flags & RI_COMMITTED ? 'C' : 'x') : enters[k];
		at = to + 1;
		if (k < STAMPS - 1)
			fill = fills[k];
	}
	if (at > base + columns)
		line[columns - 1] = '>';
}

static const char *note(const struct rec_inst *r, char buf[64])
{
	size_t n = 0;
	buf[0] = '\0';
	if (!(r->flags & RI_COMMITTED))
		n += (size_t)snprintf(buf + n, 64 - n, " squashed");
	if (r->flags & RI_MISPREDICT)
		n += (size_t)snprintf(buf + n, 64 - n, " mispredicted");
	else if (r->flags & RI_FLUSHES)
		n += (size_t)snprintf(buf + n, 64 - n, " flush");
	if (r->lat_icache)
		n += (size_t)snprintf(buf + n, 64 - n, " I-miss %u", r->lat_icache);
	if (r->lat_dmiss)
		snprintf(buf + n, 64 - n, " %s %u", r->dlevel == LEVEL_MEM ? "memory" : "D-miss",
			 r->lat_dmiss);
	return buf;
}

static void disasm(const struct rec_inst *r, char *buf, size_t size)
{
	struct inst in = isa_decode(r->word);
	/* An imported record may lack the word. */
	snprintf(buf, size, "%s", r->cls < CLASS_COUNT ? op_class_name[r->cls] : "?");
	if (r->word)
		isa_disasm(&in, r->pc, DISASM_ALIASES, buf, size);
	for (char *p = buf; *p; p++)
		*p = *p == '\t' ? ' ' : *p;
}

static enum term_colour colour_of(char letter, bool dim)
{
	static const struct {
		const char *letters;
		enum term_colour colour;
	} colours[] = {
		{ "Fd", TERM_BLUE },  { "D.", TERM_YELLOW }, { "r:", TERM_ORANGE },
		{ "X=", TERM_GREEN }, { "C", TERM_BOLD },    { "x", TERM_RED },
	};

	for (size_t i = 0; i < ARRAY_LEN(colours); i++)
		if (strchr(colours[i].letters, letter))
			return colours[i].colour;
	return dim ? TERM_DIM : TERM_PLAIN;
}

static void print_line(const struct view_options *o, const char *line, size_t columns, bool dim)
{
	enum term_colour last = TERM_PLAIN;
	size_t end = columns;
	while (end && line[end - 1] == ' ')
		end--;
	for (size_t i = 0; i < end; i++) {
		const enum term_colour c = colour_of(line[i], dim);

		if (c != last)
			fprintf(o->out, "%s%s", term_off(o), term_on(o, c));
		fputc(line[i], o->out);
		last = c;
	}
	fprintf(o->out, "%s", term_off(o));
	for (size_t i = end; i < columns; i++)
		fputc(' ', o->out);
}

static void print_row(const struct view_options *o, const struct axis *a, const struct rec_inst *r,
		      uint64_t base, size_t columns)
{
	char text[96], line[512], notes[64], number[24] = "-";
	bool wrong = !(r->flags & RI_COMMITTED);
	disasm(r, text, sizeof(text));
	memset(line, ' ', sizeof(line));
	draw(a, r, base, line, columns);
	if (!wrong)
		snprintf(number, sizeof(number), "%" PRIu64, r->po);
	note(r, notes);
	fprintf(o->out, "%s%9s %10" PRIx64 "  ", wrong ? term_on(o, TERM_DIM) : "", number, r->pc);
	term_text(o, text, TEXT_COLUMNS, true);
	fprintf(o->out, "%s%c ", term_off(o), r->flags & RI_MISPREDICT ? '!' : wrong ? '~' : ' ');
	/* The note fills free room at the end of the line; no line is wider than the terminal. */
	size_t used = columns;
	while (used && line[used - 1] == ' ')
		used--;
	size_t room = columns - used, want = strlen(notes);
	print_line(o, line, want <= room ? columns - want : columns, wrong);
	if (want <= room)
		fprintf(o->out, "%s%s%s", term_on(o, wrong ? TERM_RED : TERM_MAGENTA), notes,
			term_off(o));
	fputc('\n', o->out);
}

static void print_heading(const struct view_options *o, uint64_t cycle)
{
	char number[32];
	fprintf(o->out, "%s%9s %10s  %-*s  cycle %s%s\n", term_on(o, TERM_BOLD), "po", "pc",
		TEXT_COLUMNS, "instruction", number_commas(cycle, number), term_off(o));
}

static void print_text(const struct window_records *w, const struct view_options *o)
{
	struct axis a = axis_new(w);
	size_t width = o->width > LEFT_COLUMNS + 20 ? (size_t)o->width : LEFT_COLUMNS + 20;
	size_t columns = min_u64(width - LEFT_COLUMNS, 500);
	uint64_t base = 0;
	bool begun = false;
	for (size_t i = 0; i < w->ninsts; i++) {
		const struct rec_inst *r = &w->insts[i];
		uint64_t from = column_of(&a, r->fetch);
		uint64_t to = column_of(&a, r->fetch + r->commit);
		/* A new axis when this row does not fit, unless it would not fit there either. */
		if (!begun || from < base || (to >= base + columns && from > base + columns / 3)) {
			base = from;
			begun = true;
			print_heading(o, r->fetch);
		}
		print_row(o, &a, r, base, columns);
	}
	fprintf(
	    o->out,
	    "%sF fetch  d decode  D in the window .  r operands ready :  X executes =  P complete _"
	    "\nC commits  x squashed  ! mispredicted  ~ wrong path or refetched; long waits are "
	    "cut "
	    "short%s\n",
	    term_on(o, TERM_DIM), term_off(o));
	axis_free(&a);
}

static void stamp_cell(struct doc_table *t, const struct rec_inst *r, uint32_t stamp)
{
	if (stamp == STAMP_NONE)
		cell_words(t, "");
	else
		cell_integer(t, (int64_t)(r->fetch + stamp));
}

static bool print_json(const struct trace_info *info, const struct window_records *w,
		       const struct view_options *o, struct err *e)
{
	static const struct doc_column columns[] = {
		{ .key = "seq" },	   { .key = "po" },	{ .key = "pc" },
		{ .key = "disasm" },	   { .key = "thread" }, { .key = "committed" },
		{ .key = "mispredicted" }, { .key = "fetch" },	{ .key = "decode" },
		{ .key = "dispatch" },	   { .key = "ready" },	{ .key = "issue" },
		{ .key = "complete" },	   { .key = "commit" }, { .key = "squash" },
	};
	struct doc *d = doc_new();

	doc_text(d, "program", info->meta.program);
	doc_text(d, "machine", info->meta.machine);
	struct doc_table *t = DOC_TABLE(d, columns, .key = "instructions");

	for (size_t i = 0; i < w->ninsts; i++) {
		const struct rec_inst *r = &w->insts[i];
		const bool committed = r->flags & RI_COMMITTED;
		uint32_t stamps[STAMPS];
		char text[96];

		disasm(r, text, sizeof(text));
		stamps_of(r, stamps);
		doc_row(t);
		cell_integer(t, (int64_t)r->seq);
		cell_integer(t, (int64_t)r->po);
		cell_format(t, "0x%" PRIx64, r->pc);
		cell_text(t, text);
		cell_integer(t, r->tid);
		cell_boolean(t, committed);
		cell_boolean(t, r->flags & RI_MISPREDICT);
		for (int k = 0; k < STAMPS - 1; k++)
			stamp_cell(t, r, stamps[k]);
		if (!committed)
			cell_none(t);
		stamp_cell(t, r, r->commit);
		if (committed)
			cell_none(t);
	}
	const bool ok = doc_print(d, o, e);

	doc_free(d);
	return ok;
}

bool view_pipeline(const struct trace_info *info, const struct window_records *w,
		   const struct view_options *o, struct err *e)
{
	if (o->format == VIEW_JSON)
		return print_json(info, w, o, e);
	print_text(w, o);
	return !ferror(o->out) || err_set(e, "cannot write the output");
}

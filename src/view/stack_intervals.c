/* SPDX-License-Identifier: MIT */
/*
 * Shows interval analysis (eyerman2006 section 3): how long the intervals between miss events are,
 * what each event costs, how many instructions begin to execute around it, and which instructions
 * are to blame. Every cycle of the run is in one interval.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "view/stack.h"
#include "view/svg.h"

#define MAX_POINTS 512
#define ANCHORS	   2

/* Sums over intervals that one kind of event ends, or of one length. */
struct sums {
	double intervals, insts, cycles, penalty, resolution;
};

struct curve {
	int from, step; /* of the first point, and from point to point, in cycles */
	size_t count;
	double rate[MAX_POINTS]; /* instructions in a cycle */
};

struct kind {
	const char *name, *words;
	struct sums all;
	double beside, events;
	struct curve curve[ANCHORS];
};

struct intervals {
	char program[MODEL_PROGRAM], machine[MODEL_MACHINE];
	struct sums run;
	struct kind kinds[CPI_COMPONENTS];
	size_t nkinds;
	int width; /* of dispatch, in instructions */
};

static const char *words_of(const char *name)
{
	for (int k = 1; k < CPI_COMPONENTS; k++)
		if (!strcmp(name, words_components[k].name))
			return words_components[k].words;
	return "end of the run";
}

static struct kind *kind_of(struct intervals *m, const char *name)
{
	for (size_t i = 0; name && i < m->nkinds; i++)
		if (!strcmp(name, m->kinds[i].name))
			return &m->kinds[i];
	return NULL;
}

static bool read_kinds(struct intervals *m, struct store *s, struct err *e)
{
	for (int k = 1; k <= CPI_COMPONENTS; k++) {
		/* the base is what follows the last event: it comes last */
		const char *name = words_components[k % CPI_COMPONENTS].name;
		struct kind *kind = &m->kinds[m->nkinds];
		struct store_rows q =
		    store_query(s,
				"SELECT intervals, instructions, cycles, penalty, resolution, "
				"beside, curves FROM interval_kind WHERE kind = ?1",
				"s", name);

		if (store_next(&q)) {
			m->nkinds++;
			kind->name = name;
			kind->words = words_of(name);
			kind->all = (struct sums){ store_double(&q, 0), store_double(&q, 1),
						   store_double(&q, 2), store_double(&q, 3),
						   store_double(&q, 4) };
			kind->beside = store_double(&q, 5);
			kind->events = store_double(&q, 6);
			m->run.intervals += kind->all.intervals;
			m->run.insts += kind->all.insts;
			m->run.cycles += kind->all.cycles;
			m->run.penalty += kind->all.penalty;
		}
		if (!store_done(&q, e))
			return false;
	}
	return m->nkinds ||
	       err_set(e, "%s has no intervals; culprit sim --analyze interval-analysis finds them",
		       store_path(s));
}

static bool read_curves(struct intervals *m, struct store *s, struct err *e)
{
	struct store_rows q = store_query(s,
					  "SELECT kind, anchor, -origin * cycles, cycles, issued "
					  "FROM interval_curve ORDER BY kind, anchor, point",
					  "");

	while (store_next(&q)) {
		struct kind *kind = kind_of(m, store_text(&q, 0));
		const char *anchor = store_text(&q, 1);

		if (!kind || !anchor || kind->events <= 0)
			continue;
		struct curve *c = &kind->curve[!strcmp(anchor, "end")];

		if (c->count == MAX_POINTS || store_int(&q, 3) <= 0)
			continue;
		if (!c->count)
			c->from = (int)store_int(&q, 2);
		c->step = (int)store_int(&q, 3);
		c->rate[c->count++] = store_double(&q, 4) / kind->events / c->step;
	}
	return store_done(&q, e);
}

/* ---- text ---- */

static void each(struct doc_table *t, double sum, double count)
{
	CELL_REAL_IF(t, count > 0, sum / count);
}

static void add_kinds(struct doc *d, const struct intervals *m)
{
	static const struct doc_column columns[] = {
		{ .key = "kind" },
		{ .head = "ended by", .before = "  ", .width = -24 },
		{ .key = "intervals", DOC_SHOWN("intervals", "%.0f", 10) },
		{ .key = "instructions", DOC_SHOWN("insts each", "%.1f", 11) },
		{ .key = "cycles" },
		{ DOC_SHOWN("cycles each", "%.1f", 12) },
		{ .key = "share", DOC_SHOWN("of the run", "%.2f%%", 11), .factor = 100 },
		{ .key = "penalty", DOC_SHOWN("penalty", "%.1f", 8) },
		{ .key = "resolution", DOC_SHOWN("resolution", "%.1f", 11) },
		{ .key = "beside" },
	};

	doc_heading(d, "Intervals between miss events, by the event that ends them");
	struct doc_table *t = DOC_TABLE(d, columns, .key = "kinds", .heads = true);

	for (size_t i = 0; i < m->nkinds; i++) {
		const struct kind *k = &m->kinds[i];

		doc_row(t);
		cell_text(t, k->name);
		cell_text(t, k->words);
		cell_real(t, k->all.intervals);
		each(t, k->all.insts, k->all.intervals);
		cell_real(t, k->all.cycles);
		each(t, k->all.cycles, k->all.intervals);
		cell_real(t, m->run.cycles > 0 ? k->all.cycles / m->run.cycles : 0);
		CELL_REAL_IF(t, k->all.penalty > 0, k->all.penalty / k->all.intervals);
		CELL_REAL_IF(t, k->all.resolution > 0, k->all.resolution / k->all.intervals);
		cell_real(t, k->beside);
	}
	doc_line(d, NULL,
		 "  %.0f intervals, %.0f cycles: all of the run. Penalty: cycles for each event; "
		 "resolution is a part of it.",
		 m->run.intervals, m->run.cycles);
	for (size_t i = 0; i < m->nkinds; i++)
		if (m->kinds[i].beside > 0)
			doc_line(d, NULL, "  %.0f more %s ended where another event did.",
				 m->kinds[i].beside, m->kinds[i].words);
}

static void put_range(struct doc_table *t, int64_t power)
{
	const uint64_t low = 1ull << (power & 63), high = 2 * low - 1;

	if (high == low)
		cell_format(t, "%" PRIu64, low);
	else
		cell_format(t, "%" PRIu64 "-%" PRIu64, low, high);
}

static bool add_lengths(struct doc *d, struct store *s, const struct intervals *m, struct err *e)
{
	static const struct doc_column columns[] = {
		{ .key = "length" },
		{ .head = "instructions", .before = "  ", .width = -18 },
		{ .key = "intervals", DOC_SHOWN("intervals", "%.0f", 10) },
		{ .key = "share", DOC_SHOWN("of the run", "%.2f%%", 11), .factor = 100 },
		{ .key = "ipc", DOC_SHOWN("IPC", "%.2f", 6) },
		{ .key = "branches", DOC_SHOWN("branches", "%.0f", 10) },
		{ .key = "resolution", DOC_SHOWN("resolution", "%.1f", 11) },
		{ .key = "refill", DOC_SHOWN("refill", "%.1f", 7) },
	};
	struct store_rows q =
	    store_query(s,
			"SELECT l.length, sum(l.intervals), sum(l.instructions), sum(l.cycles), "
			"max(b.intervals), "
			"max(b.penalty), max(b.resolution) FROM interval_length l LEFT JOIN "
			"interval_length b ON "
			"b.length = l.length AND b.kind = ?1 GROUP BY l.length ORDER BY l.length",
			"s", words_components[CPI_BMISP].name);

	doc_heading(d, "By length, with the penalty of a mispredicted branch at its end");
	struct doc_table *t = DOC_TABLE(d, columns, .key = "lengths", .heads = true);

	while (store_next(&q)) {
		const double branches = store_double(&q, 4), resolution = store_double(&q, 6);

		doc_row(t);
		cell_integer(t, store_int(&q, 0));
		put_range(t, store_int(&q, 0));
		cell_real(t, store_double(&q, 1));
		cell_real(t, m->run.cycles > 0 ? store_double(&q, 3) / m->run.cycles : 0);
		each(t, store_double(&q, 2), store_double(&q, 3));
		cell_real(t, branches);
		each(t, resolution, branches);
		each(t, store_double(&q, 5) - resolution, branches);
	}
	return store_done(&q, e);
}

static bool add_near(struct doc *d, struct store *s, struct err *e)
{
	static const struct doc_column columns[] = {
		{ .key = "distance" },
		{ .head = "instructions apart", .before = "  ", .width = -18 },
		{ .key = "misses", DOC_SHOWN("misses", "%.0f", 10) },
		{ .key = "overlapped", DOC_SHOWN("overlap", "%.1f%%", 11), .factor = 100 },
	};
	struct store_rows q = store_query(
	    s, "SELECT distance, misses, overlapped FROM interval_near ORDER BY distance", "");
	struct doc_table *t = NULL;

	while (store_next(&q)) {
		if (!t) {
			doc_heading(d, "Long data misses by distance from the one before");
			t = DOC_TABLE(d, columns, .key = "long_misses", .heads = true);
		}
		doc_row(t);
		cell_integer(t, store_int(&q, 0));
		put_range(t, store_int(&q, 0));
		cell_real(t, store_double(&q, 1));
		each(t, store_double(&q, 2), store_double(&q, 1));
	}
	return store_done(&q, e);
}

static double highest(const struct intervals *m)
{
	double top = 0;

	for (size_t i = 0; i < m->nkinds; i++)
		for (int a = 0; a < ANCHORS; a++)
			for (size_t k = 0; k < m->kinds[i].curve[a].count; k++)
				top = fmax(top, m->kinds[i].curve[a].rate[k]);
	return top;
}

/* A row of eighths of blocks, with the anchor marked below. */
static void add_line(struct doc *d, const struct curve *c, const char *label, double top, int cells)
{
	static const char *const level[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	const size_t per = (c->count + (size_t)cells - 1) / (size_t)cells;
	char *line = x_calloc(c->count + 1, 4), *at = line;

	for (size_t i = 0; i < c->count; i += per) {
		double sum = 0;
		size_t n = 0;

		for (; n < per && i + n < c->count; n++)
			sum += c->rate[i + n];
		at = stpcpy(at, level[top > 0 ? (int)lround(8 * sum / (double)n / top) : 0]);
	}
	doc_line(d, NULL, "    %-12s %s", label, line);
	doc_line(d, NULL, "    %12s %*s^ 0, from %d to %d cycles", "",
		 (int)((size_t)(-c->from / c->step) / per), "", c->from,
		 c->from + (int)c->count * c->step);
	free(line);
}

static void add_curves(struct doc *d, const struct intervals *m, const struct view_options *o)
{
	const double top = highest(m);
	const int cells = o->width > 40 ? o->width - 20 : 20;

	if (top <= 0)
		return;
	doc_heading(d, "Useful instructions that begin to execute in a cycle, up to %.2f", top);
	for (size_t i = 0; i < m->nkinds; i++) {
		const struct kind *k = &m->kinds[i];

		if (!k->curve[0].count)
			continue;
		doc_line(d, NULL, "  %s (mean of %.0f)", k->words, k->events);
		add_line(d, &k->curve[0], "it begins", top, cells);
		add_line(d, &k->curve[1], "dispatch", top, cells);
	}
}

static void put_curves(struct doc *d, const struct intervals *m)
{
	static const char *const names[ANCHORS] = { "begin", "end" };

	doc_array(d, "curves");
	for (size_t i = 0; i < m->nkinds; i++)
		for (int a = 0; a < ANCHORS; a++) {
			const struct curve *c = &m->kinds[i].curve[a];

			if (!c->count)
				continue;
			doc_object(d, NULL);
			doc_text(d, "kind", m->kinds[i].name);
			doc_text(d, "anchor", names[a]);
			doc_integer(d, "from", c->from);
			doc_integer(d, "step", c->step);
			doc_array(d, "rates");
			for (size_t k = 0; k < c->count; k++)
				doc_real(d, NULL, c->rate[k]);
			doc_close(d);
			doc_close(d);
		}
	doc_close(d);
}

static bool add_instructions(struct doc *d, struct store *s, const struct intervals *m,
			     const struct view_options *o, struct err *e)
{
	const struct doc_column columns[] = {
		{ .key = "pc" },
		{ .key = "share", DOC_SHOWN("of the run", "%.2f%%", 11), .factor = 100 },
		{ .key = "events", DOC_SHOWN("events", "%.0f", 9) },
		{ .key = "penalty", DOC_SHOWN("penalty", "%.1f", 8) },
		{ .key = "kind" },
		{ .head = "event", .before = "  ", .width = -22 },
		{ .key = "symbol", .head = "function", .width = -22, .name = true },
		{ .key = "disasm",
		  .head = "instruction",
		  .width = -30,
		  .ragged = true,
		  .name = true,
		  .fill = true },
	};
	struct store_rows q = store_query(
	    s,
	    "SELECT i.pc, i.kind, i.events, i.penalty, f.name, n.disasm FROM "
	    "interval_instruction i LEFT JOIN instruction n USING (pc) LEFT JOIN function f ON "
	    "f.id = n.function ORDER BY i.penalty DESC, i.pc, i.kind LIMIT ?1",
	    "i", (int64_t)o->limit);

	doc_heading(d, "Instructions with the largest penalties");
	struct doc_table *t = DOC_TABLE(d, columns, .key = "by_instruction", .heads = true);

	while (store_next(&q)) {
		const double events = store_double(&q, 2), penalty = store_double(&q, 3);

		doc_row(t);
		cell_format(t, "0x%" PRIx64, (uint64_t)store_int(&q, 0));
		cell_real(t, m->run.cycles > 0 ? penalty / m->run.cycles : 0);
		cell_real(t, events);
		each(t, penalty, events);
		cell_text(t, store_shown(&q, 1));
		cell_text(t, words_of(store_shown(&q, 1)));
		cell_text(t, store_shown(&q, 4));
		cell_code(t, store_shown(&q, 5));
	}
	return store_done(&q, e);
}

/* ---- picture ---- */

#define LEFT 70
#define WIDE 380
#define HIGH 130
#define ROW  210
#define TOP  70

static void draw(FILE *f, const void *what)
{
	const struct intervals *m = what;
	const double top = highest(m), step = svg_step(top > 0 ? top : 1);
	char title[400];
	size_t row = 0, rows = 0;

	for (size_t i = 0; i < m->nkinds; i++)
		rows += m->kinds[i].curve[0].count > 0;
	snprintf(title, sizeof(title), "Useful instructions that begin to execute, %s on %s",
		 path_name(m->program), m->machine);
	svg_begin(f, 2 * (LEFT + WIDE) + 40, TOP + (double)rows * ROW, LEFT, title);
	for (size_t i = 0; i < m->nkinds; i++) {
		if (!m->kinds[i].curve[0].count)
			continue;
		for (int a = 0; a < ANCHORS; a++) {
			const struct curve *c = &m->kinds[i].curve[a];
			const double left = LEFT + a * (LEFT + WIDE);
			struct svg_frame r = { .left = left,
					       .right = left + WIDE,
					       .top = TOP + (double)row * ROW,
					       .height = HIGH,
					       .high = ceil(top / step - 1e-9) * step,
					       .from = c->from,
					       .to = c->from + (double)c->count * c->step };

			svg_axis_y(f, &r, step, a ? "" : "instructions in a cycle");
			svg_axis_x(f, &r, svg_step(r.to - r.from),
				   a ? "cycles from where dispatch goes on"
				     : "cycles from where the event begins");
			fprintf(f, "<text x=\"%.0f\" y=\"%.0f\">", left, r.top - 8);
			svg_text(f, m->kinds[i].words);
			fprintf(f,
				", %.0f events</text>\n<polyline fill=\"none\" "
				"stroke=\"#3c7fb1\" stroke-width=\"1.5\" points=\"",
				m->kinds[i].events);
			for (size_t k = 0; k < c->count; k++)
				fprintf(f, "%s%.1f,%.1f", k ? " " : "",
					svg_x(&r, c->from + (double)k * c->step),
					svg_y(&r, c->rate[k]));
			fprintf(f,
				"\"/>\n<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" "
				"stroke=\"#d1495b\" stroke-dasharray=\"3 3\"/>\n",
				svg_x(&r, 0), svg_x(&r, 0), r.top, r.top + r.height);
		}
		row++;
	}
	fputs("</svg>\n", f);
}

bool view_intervals(struct store *s, const struct view_options *o, const char *svg, struct err *e)
{
	struct intervals *m = x_calloc(1, sizeof(*m));
	struct doc *d = doc_new();
	bool ok = read_kinds(m, s, e) && read_curves(m, s, e);

	model_run_names(s, m->program, m->machine);
	if (ok) {
		model_title(d, m->program, m->machine, m->run.insts, m->run.cycles, ", CPI %.3f",
			    m->run.insts > 0 ? m->run.cycles / m->run.insts : 0);
		doc_text(d, "program", m->program);
		doc_text(d, "machine", m->machine);
		doc_integer(d, "cycles", (int64_t)m->run.cycles);
		doc_integer(d, "instructions", (int64_t)m->run.insts);
		add_kinds(d, m);
		ok = add_lengths(d, s, m, e);
		if (ok) {
			add_curves(d, m, o);
			put_curves(d, m);
		}
		ok = ok && add_near(d, s, e) && add_instructions(d, s, m, o, e) &&
		     doc_print(d, o, e);
	}
	if (ok && svg)
		ok = svg_file(svg, draw, m, e);
	doc_free(d);
	free(m);
	return ok;
}

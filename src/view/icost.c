/* SPDX-License-Identifier: MIT */
/*
 * Shows what fixing it would buy:
 *
 *      quicksort on fields2004: 975,724 instructions in 957,926 cycles; the graph has 957,925 …
 *
 *      Breakdown        % cycles
 *        dl1                11.5   ████
 *        …
 *        dl1+win            -2.1
 *        other               1.3   all other interactions
 *        rest                4.0   with all of them idealised
 *        total             100.0
 *
 * Sentences about interactions follow, the signed bar of fields2004 figure 1(b), functions and
 * critical instructions.
 */
#include "view/icost.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "view/resources.h"
#include "view/svg.h"

#define STRONG	0.02  /* an interaction worth a sentence, as a share of all cycles */
#define VISIBLE 0.005 /* an interaction worth a row */
#define PARTS	40

/* How each category looks, and is called in a sentence. */
static const struct {
	const char *name, *words, *better, *verb;
	enum term_colour colour;
	char letter;
	const char *rgb;
} categories[] = {
#define X(id, name, bit, letter, colour, rgb, kind, words, better, verb, meaning)                  \
	{ name, words, better, verb, TERM_##colour, letter, rgb },
	WORDS_COSTS(X)
#undef X
};

static int category_row(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(categories); i++)
		if (!strcmp(categories[i].name, name))
			return (int)i;
	return -1;
}

static bool is_single(unsigned set)
{
	return set && !(set & (set - 1));
}
static bool is_pair(unsigned set)
{
	return __builtin_popcount(set) == 2;
}

/* Sets in the order of the table: singles, then pairs by strength. */
struct order {
	unsigned sets[ICOST_SETS];
	size_t count;
	double other; /* icosts of all sets that are not shown, in cycles */
};

static bool has_focus(const struct icost_model *m, unsigned set, const char *focus)
{
	for (unsigned k = 0; k < ICOST_CATEGORIES; k++)
		if (set >> k & 1 && !strcmp(m->name[1u << k], focus))
			return true;
	return false;
}

static void choose_sets(const struct icost_model *m, const struct icost_options *io,
			struct order *t)
{
	t->count = 0;
	for (unsigned k = 0; k < ICOST_CATEGORIES; k++)
		t->sets[t->count++] = 1u << k;
	const size_t first = t->count;
	for (unsigned set = 1; set < ICOST_SETS; set++) {
		if (!is_pair(set) || (io->focus && !has_focus(m, set, io->focus)))
			continue;
		if (!io->focus && fabs(m->icost[set]) < VISIBLE * m->graph_cycles)
			continue;
		size_t at = t->count++;
		while (at > first && fabs(m->icost[t->sets[at - 1]]) < fabs(m->icost[set])) {
			t->sets[at] = t->sets[at - 1];
			at--;
		}
		t->sets[at] = set;
	}
	t->other = m->cost[ICOST_SETS - 1];
	for (size_t i = 0; i < t->count; i++)
		t->other -= m->icost[t->sets[i]];
}

/* The interaction cost by simulation; false if a simulation that it needs is missing. */
static bool true_icost(const struct icost_truth *truth, unsigned set, double *icost)
{
	double sum = 0;
	for (unsigned v = set; truth && v; v = (v - 1) & set) {
		if (!truth->known[v])
			return false;
		sum += (__builtin_popcount(set) - __builtin_popcount(v)) & 1 ? -truth->cost[v]
									     : truth->cost[v];
	}
	*icost = sum;
	return truth != NULL;
}

/* The categories of a set in words; "" if the user defined them. */
static void set_words(const struct icost_model *m, unsigned set, char *buf, size_t size_bytes)
{
	size_t used = 0;

	buf[0] = '\0';
	for (unsigned k = 0; k < ICOST_CATEGORIES && used < size_bytes; k++) {
		const int row = set >> k & 1 ? category_row(m->name[1u << k]) : -1;

		if (row >= 0)
			used += (size_t)snprintf(buf + used, size_bytes - used, "%s%s",
						 used ? " and " : "", categories[row].words);
	}
}

static void add_breakdown(struct doc *d, const struct icost_model *m, const struct view_options *o,
			  const struct icost_options *io, const struct order *t)
{
	const int room = o->width - 60 - (io->truth ? 19 : 0) - (m->estimated.is ? 8 : 0);
	const struct doc_column columns[] = {
		{ .head = "Breakdown", .before = "", .width = -16 },
		{ DOC_SHOWN("% cycles", "%.1f", 8), .factor = 100 },
		{ DOC_SHOWN("±", "±%.1f", m->estimated.is ? 7 : 0), .factor = 100 },
		{ DOC_SHOWN("simulated", "%.1f", io->truth ? 10 : 0), .factor = 100 },
		{ DOC_SHOWN("error", "%+.1f", io->truth ? 7 : 0), .factor = 100 },
		{ .before = "   ", .width = 30 },
		{ .before = "  ",
		  .width = room > 10 ? -room : 0,
		  .ragged = true,
		  .colour = TERM_DIM },
	};
	const struct {
		const char *name;
		double share;
		const char *words;
	} sums[] = {
		{ "  other", t->other / m->graph_cycles, "all other interactions" },
		{ "  rest", 1 - m->cost[ICOST_SETS - 1] / m->graph_cycles,
		  "with all of them idealised" },
		{ "  total", 1, NULL },
	};

	doc_blank(d);
	struct doc_table *table = DOC_TABLE(d, columns, .heads = true);

	for (size_t i = 0; i < t->count; i++) {
		const unsigned set = t->sets[i];
		const double share = m->icost[set] / m->graph_cycles;
		const int c = is_single(set) ? category_row(m->name[set]) : -1;
		double real;
		char words[160];

		if (i == ICOST_CATEGORIES)
			doc_gap(table);
		doc_row(table);
		cell_format(table, "  %s", m->name[set]);
		cell_real(table, share);
		if (fabs(share) >= STRONG && is_pair(set))
			cell_colour(table, TERM_BOLD);
		estimated_cell(table, m->icost_margin[set] / m->graph_cycles);
		const bool known = true_icost(io->truth, set, &real);

		CELL_REAL_IF(table, known, real / io->truth->cycles);
		CELL_REAL_IF(table, known, share - real / io->truth->cycles);
		cell_bar(table, fmin(fabs(share), 1),
			 c >= 0	     ? categories[c].colour
			 : share < 0 ? TERM_DIM
				     : TERM_PLAIN);
		set_words(m, set, words, sizeof(words));
		cell_text(table, words);
	}
	for (size_t i = 0; i < ARRAY_LEN(sums); i++) {
		doc_row(table);
		cell_text(table, sums[i].name);
		cell_real(table, sums[i].share);
		cell_none(table);
		cell_none(table);
		cell_none(table);
		cell_text(table, sums[i].words);
		cell_none(table);
	}
	if (m->run_cycles <= m->cycles)
		return;
	doc_row(table);
	cell_text(table, "  outside");
	cell_real(table, (m->run_cycles - m->cycles) / m->graph_cycles);
	cell_none(table);
	cell_none(table);
	cell_none(table);
	cell_format(table, "%.0f cycles at the two ends", m->run_cycles - m->cycles);
	cell_none(table);
}

/* The sentence for a pair; buf is filled and returned. */
static char *sentence(const struct icost_model *m, unsigned set, char *buf, size_t size_bytes)
{
	const unsigned a = set & (~set + 1), b = set ^ a;
	const double share = m->icost[set] / m->graph_cycles;
	int x = category_row(m->name[a]), y = category_row(m->name[b]);
	if (x < 0 || y < 0) {
		snprintf(buf, size_bytes, "%s and %s interact %s, %+.1f%%.", m->name[a], m->name[b],
			 share < 0 ? "serially" : "in parallel", 100 * share);
		return buf;
	}
	/* The window comes second: it is easier to enlarge than to speed up. */
	if (!strcmp(m->name[a], "win")) {
		const int t = x;
		x = y;
		y = t;
	}
	const double gain = m->icost[x == category_row(m->name[a]) ? a : b];
	const double hidden = gain > 0 ? fmin(-m->icost[set] / gain, 1) : 0;
	if (share < 0)
		snprintf(buf, size_bytes,
			 "%s and %s interact serially, %.1f%%: %s hides %s of what %s would give; "
			 "fix either.",
			 categories[x].words, categories[y].words, 100 * share, categories[y].verb,
			 hidden >= 0.5	  ? "most"
			 : hidden >= 0.25 ? "a good part"
					  : "some",
			 categories[x].better);
	else
		snprintf(
		    buf, size_bytes,
		    "%s and %s interact in parallel, +%.1f%%: these cycles go only with both %s "
		    "and %s.",
		    categories[x].words, categories[y].words, 100 * share, categories[x].better,
		    categories[y].better);
	if (buf[0] >= 'a' && buf[0] <= 'z')
		buf[0] = (char)(buf[0] - 'a' + 'A');
	return buf;
}

static bool is_strong(const struct icost_model *m, unsigned set)
{
	return is_pair(set) && fabs(m->icost[set]) >= STRONG * m->graph_cycles;
}

static void add_sentences(struct doc *d, const struct icost_model *m, const struct order *t)
{
	bool any = false;

	doc_array(d, "interactions");
	for (size_t i = 0; i < t->count; i++) {
		char text[300];

		if (!is_strong(m, t->sets[i]))
			continue;
		if (!any)
			doc_heading(d, "Interactions");
		any = true;
		sentence(m, t->sets[i], text, sizeof(text));
		doc_sentence(d, "  ", text, 4);
		doc_text(d, NULL, text);
	}
	doc_close(d);
}

/* ---- the signed bar ---- */

static void collect_parts(const struct icost_model *m, const struct order *t, bool negative,
			  double scale, struct term_part *parts, size_t *n, double *sum)
{
	*n = 0;
	*sum = 0;
	for (size_t i = 0; i < t->count; i++) {
		const double share = m->icost[t->sets[i]] / m->graph_cycles;
		if ((share < 0) != negative || *n == PARTS - 2)
			continue;
		const int c = is_single(t->sets[i]) ? category_row(m->name[t->sets[i]]) : -1;
		parts[(*n)++] = (struct term_part){ fabs(share) / scale,
						    c >= 0 ? categories[c].colour : TERM_PLAIN,
						    c >= 0 ? categories[c].letter : '+' };
		*sum += fabs(share);
	}
	const double other = t->other / m->graph_cycles,
		     rest = 1 - m->cost[ICOST_SETS - 1] / m->graph_cycles;
	if ((other < 0) == negative) {
		parts[(*n)++] = (struct term_part){ fabs(other) / scale, TERM_DIM, 'o' };
		*sum += fabs(other);
	}
	if (!negative) {
		parts[(*n)++] = (struct term_part){ rest / scale, TERM_DIM, '.' };
		*sum += rest;
	}
}

static void add_bar(struct doc *d, const struct icost_model *m, const struct view_options *o,
		    const struct order *t)
{
	struct term_part parts[PARTS], legend[ARRAY_LEN(categories) + 3];
	const char *names[ARRAY_LEN(categories) + 3];
	const int cells = o->width - 24;
	char label[32];
	size_t n;
	double above, below;

	collect_parts(m, t, false, 1, parts, &n, &above);
	doc_heading(d, "Signed bar: what adds, above; what interacts serially, below");
	collect_parts(m, t, false, above, parts, &n, &above);
	snprintf(label, sizeof(label), "  %+7.1f%%  ", 100 * above);
	doc_stack(d, label, parts, n, cells, NULL);
	collect_parts(m, t, true, above, parts, &n, &below);
	snprintf(label, sizeof(label), "  %+7.1f%%  ", -100 * below);
	doc_stack(d, label, parts, n, cells, NULL);
	for (n = 0; n < ARRAY_LEN(categories); n++) {
		legend[n] = (struct term_part){ 0, categories[n].colour, categories[n].letter };
		names[n] = categories[n].name;
	}
	legend[n] = (struct term_part){ 0, TERM_PLAIN, '+' };
	names[n++] = "pairs";
	legend[n] = (struct term_part){ 0, TERM_DIM, 'o' };
	names[n++] = "other";
	legend[n] = (struct term_part){ 0, TERM_DIM, '.' };
	names[n++] = "rest";
	doc_legend(d, legend, names, n);
}

/* A category has its usual colour, one that the user named that of its place; a set of two categories
 * has stripes of both. */
static struct svg_part set_look(const struct icost_model *m, unsigned set)
{
	struct svg_part part = { .name = m->name[set] };
	const unsigned one = set & -set, two = set & (set - 1);
	const int row = category_row(m->name[one]);
	part.colour = categories[row >= 0 ? row : __builtin_ctz(one)].rgb;
	if (two) {
		const int other = category_row(m->name[two & -two]);
		part.stripe = categories[other >= 0 ? other : __builtin_ctz(two)].rgb;
	}
	return part;
}

static bool write_svg(const struct icost_model *m, const struct order *t, const char *path,
		      struct err *e)
{
	struct svg_part parts[PARTS];
	double values[PARTS];
	size_t n = 0;
	char title[700];
	for (size_t i = 0; i < t->count && n < PARTS - 2; i++) {
		parts[n] = set_look(m, t->sets[i]);
		values[n++] = 100 * m->icost[t->sets[i]] / m->graph_cycles;
	}
	parts[n] = (struct svg_part){ .name = "other", .colour = "#e0e0e0" };
	values[n++] = 100 * t->other / m->graph_cycles;
	parts[n] = (struct svg_part){ .name = "rest", .colour = "#f4f4f4" };
	values[n++] = 100 * (1 - m->cost[ICOST_SETS - 1] / m->graph_cycles);
	const struct svg_bar bar = { "", values };
	const char *program = path_name(m->program);
	const struct svg_group group = { program, &bar, 1 };
	snprintf(title, sizeof(title), "Interaction costs of %s on %s", program, m->machine);
	const struct svg_chart chart = { .title = title,
					 .y_label = "% of cycles",
					 .parts = parts,
					 .nparts = n,
					 .groups = &group,
					 .ngroups = 1,
					 .bar = 90 };
	return svg_write(path, &chart, e);
}

/* ---- instructions ---- */

static void place_of(const struct icost_inst *i, char *buf, size_t size_bytes)
{
	if (i && i->file && i->line)
		snprintf(buf, size_bytes, "%s:%d", path_name(i->file), i->line);
	else if (i && i->function)
		snprintf(buf, size_bytes, "%s %" PRIx64, i->function, i->pc);
	else
		snprintf(buf, size_bytes, "%" PRIx64, i ? i->pc : 0);
}

void icost_inst_words(const struct icost_model *m, const struct icost_inst *i, char *buf,
		      size_t size_bytes)
{
	size_t used = 0;
	buf[0] = '\0';
	for (int k = 0; k < KIND_FIXABLE; k++)
		if (i->cost[k] >= 0.0005 * m->graph_cycles && used < size_bytes)
			used += (size_t)snprintf(buf + used, size_bytes - used, "%s%s %.1f%%",
						 used ? ", " : "", words_kinds[k].name,
						 100 * i->cost[k] / m->graph_cycles);
}

/* The pairs that an instruction is in, strongest first: the next one from *at on, or NULL. */
static const struct icost_pair *next_pair(const struct icost_model *m, const struct icost_inst *i,
					  size_t *at)
{
	for (; *at < m->npairs; ++*at)
		if (m->pairs[*at].a == i->pc || m->pairs[*at].b == i->pc)
			return &m->pairs[(*at)++];
	return NULL;
}

static void add_pair_lines(struct doc_table *t, const struct icost_model *m,
			   const struct icost_inst *i)
{
	const struct icost_pair *p;
	size_t at = 0;

	for (unsigned shown = 0; shown < 2 && (p = next_pair(m, i, &at));) {
		const bool first = p->a == i->pc;
		char where[300];

		if (fabs(p->icost) < 0.002 * m->graph_cycles)
			continue;
		place_of(icost_inst_at(m, first ? p->b : p->a), where, sizeof(where));
		doc_above(t, TERM_DIM, "%39s%s with the %s of %s (%" PRIx64 "): %+.1f%%, fix %s",
			  "", first ? p->kind_a : p->kind_b, first ? p->kind_b : p->kind_a, where,
			  first ? p->b : p->a, 100 * p->icost / m->graph_cycles,
			  p->icost < 0 ? "either" : "both");
		shown++;
	}
}

static void add_instructions(struct doc *d, const struct icost_model *m,
			     const struct view_options *o)
{
	const struct doc_column columns[] = {
		{ DOC_SHOWN("saves", "%.1f%%", 6), .before = "  ", .factor = 100 },
		{ DOC_SHOWN("critical", "%.0f%%", 8), .factor = 100 },
		{ DOC_SHOWN("slack", "%.1f", 9) },
		{ DOC_SHOWN("local", "%.1f", 9) },
		{ .before = "  ", .width = -22, .name = true },
		{ .width = -28 },
		{ .width = -(o->width > 95 ? o->width - 92 : 20),
		  .ragged = true,
		  .colour = TERM_DIM },
	};
	const size_t n = min_u64(m->ninsts, (uint64_t)o->limit);

	if (!n || icost_inst_cost(&m->instructions[0]) <= 0)
		return;
	doc_heading(d, "Critical instructions (what fixing each alone saves; slack in cycles)");
	struct doc_table *t = DOC_TABLE(d, columns, .heads = true);

	for (size_t k = 0; k < n; k++) {
		const struct icost_inst *i = &m->instructions[k];
		char where[300], words[160];

		if (icost_inst_cost(i) < 0.0005 * m->graph_cycles)
			break;
		place_of(i, where, sizeof(where));
		icost_inst_words(m, i, words, sizeof(words));
		doc_row(t);
		cell_real(t, icost_inst_cost(i) / m->graph_cycles);
		cell_real(t, i->critical);
		cell_real(t, i->slack);
		cell_real(t, i->local_slack);
		cell_text(t, where);
		cell_text(t, i->disasm ? i->disasm : "");
		cell_text(t, words);
		add_pair_lines(t, m, i);
	}
}

/* Fills in a column per category, behind `fixed` columns that are there already. */
static size_t category_columns(const struct icost_model *m, struct doc_column *columns,
			       size_t fixed, double factor)
{
	for (unsigned k = 0; k < ICOST_CATEGORIES; k++)
		columns[fixed + k] =
		    (struct doc_column){ DOC_SHOWN(m->name[1u << k], "%.1f", 6), .factor = factor };
	return fixed + ICOST_CATEGORIES;
}

/* The strongest interactions of a part of the run, in a line of their own. */
static void add_pairs_line(struct doc_table *t, const struct icost_model *m,
			   const struct icost_pairs *p, double least, double of)
{
	char words[160];

	icost_pairs_words(m, p, least, of, words, sizeof(words));
	if (*words)
		doc_above(t, TERM_DIM, "%8s%s", "", words);
}

static void add_functions(struct doc *d, const struct icost_model *m, const struct view_options *o)
{
	struct doc_column columns[5 + ICOST_CATEGORIES] = {
		{ .key = "symbol",
		  .before = "  ",
		  .width = -(o->width > 88 ? o->width - 66 : 22),
		  .name = true },
		{ .key = "cycles" },
		{ .key = "costs" },
		{ .key = "icosts" },
		{ DOC_SHOWN("cycles", "%.1f", 6) },
	};
	const size_t n = category_columns(m, columns, 5, 0);
	size_t shown = 0;

	while (shown < m->nfunctions && shown < (size_t)o->limit &&
	       m->functions[shown].cycles >= 0.001 * m->graph_cycles)
		shown++;
	if (m->nfunctions && m->sampled_share > 0)
		doc_heading(d,
			    "Functions (share of all cycles; what each category costs there, from "
			    "%.1f%% of "
			    "the instructions)",
			    100 * m->sampled_share);
	else if (m->nfunctions)
		doc_heading(d, "Functions (share of all cycles; what each category costs there)");
	/* Text leaves out functions that take next to no time; JSON has them. */
	struct doc_table *t =
	    doc_table(d, columns, n,
		      &(struct doc_table_options){ .key = "functions",
						   .heads = m->nfunctions > 0,
						   .limit = shown ? shown : SIZE_MAX });

	for (size_t i = 0; i < m->nfunctions && i < (size_t)o->limit; i++) {
		const struct icost_function *f = &m->functions[i];

		doc_row(t);
		cell_text(t, f->name);
		cell_real(t, f->cycles);
		cell_map(t);
		for (unsigned k = 0; k < ICOST_CATEGORIES; k++)
			cell_put(t, m->name[1u << k], f->cost[k]);
		icost_pairs_cell(t, m, &f->pairs);
		cell_real(t, 100 * f->cycles / m->graph_cycles);
		for (unsigned k = 0; k < ICOST_CATEGORIES; k++)
			cell_real(t, 100 * f->cost[k] / m->graph_cycles);
		add_pairs_line(t, m, &f->pairs, VISIBLE * m->graph_cycles, m->graph_cycles);
	}
}

/* "saves 3,210 cycles, 1.02%"; or costs them. */
static char *saving(double cycles, double of, char *buf, size_t size_bytes)
{
	char number[32];

	snprintf(buf, size_bytes, "%s %s cycles, %.2f%%", cycles < 0 ? "costs" : "saves",
		 number_commas((uint64_t)fabs(cycles), number), 100 * fabs(cycles) / of);
	return buf;
}

static void add_part_what_if(struct doc *d, const struct icost_model *m,
			     const struct icost_what_if *w)
{
	const struct resource_row *r = w->part;
	char graph[96], real[96], size[64] = "without it";

	if (r->size)
		snprintf(size, sizeof(size), "%" PRId64 " for %" PRId64, r->size, r->real);
	saving(w->predicted, m->cycles, graph, sizeof(graph));
	saving(w->simulated, m->cycles, real, sizeof(real));
	doc_line(d, NULL, "  %s (%s, %s): %s, by the graph%s%s%s", w->text,
		 words_resources[r->what].meaning, size, graph, w->verified ? "; " : "",
		 w->verified ? real : "", w->verified ? ", simulated" : "");
}

static void add_event_what_if(struct doc *d, const struct icost_model *m,
			      const struct icost_what_if *w)
{
	char cycles[32], real[32], simulated[96] = "";

	if (w->verified)
		snprintf(simulated, sizeof(simulated), "; %s, %.2f%%, simulated",
			 number_commas((uint64_t)fmax(w->simulated, 0), real),
			 100 * w->simulated / m->cycles);
	doc_line(d, NULL, "  %s (%zu instruction%s): saves %s cycles, %.2f%%, by the graph%s",
		 w->text, w->npcs, w->npcs == 1 ? "" : "s",
		 number_commas((uint64_t)fmax(w->predicted, 0), cycles),
		 100 * w->predicted / m->graph_cycles, simulated);
	if (w->predicted <= 0 && w->on_path > 0)
		doc_line(d, NULL,
			 "    %.2f%% of the longest path are its, but other paths are as long",
			 100 * w->on_path / m->graph_cycles);
}

static void add_what_if(struct doc *d, const struct icost_model *m, const struct icost_options *io)
{
	static const struct doc_column columns[] = {
		{ .key = "what_if" },
		{ .key = "instructions" },
		{ .key = "predicted" },
		{ .key = "simulated" },
	};

	if (io->nwhat_if)
		doc_heading(d, "What if");
	struct doc_table *t = DOC_TABLE(d, columns, .key = "what_if");

	for (size_t i = 0; i < io->nwhat_if; i++) {
		const struct icost_what_if *w = &io->what_if[i];

		if (w->part)
			add_part_what_if(d, m, w);
		else
			add_event_what_if(d, m, w);
		doc_row(t);
		cell_text(t, w->text);
		cell_integer(t, (int64_t)w->npcs);
		cell_real(t, w->predicted);
		CELL_REAL_IF(t, w->verified, w->simulated);
	}
}

static void add_phases(struct doc *d, const struct icost_model *m)
{
	struct doc_column columns[6 + ICOST_CATEGORIES] = {
		{ DOC_SHOWN("phase", "%.0f", 5), .key = "phase", .before = "  " },
		{ .key = "instructions", .head = "instructions", .width = 12 },
		{ .key = "cycles" },
		{ .key = "costs" },
		{ .key = "icosts" },
		{ DOC_SHOWN("IPC", "%.3f", 7) },
	};
	const size_t n = category_columns(m, columns, 6, 100);

	doc_heading(d, "Phases (%% of each phase's cycles)");
	struct doc_table *t =
	    doc_table(d, columns, n, &(struct doc_table_options){ .key = "phases", .heads = true });

	for (size_t i = 0; i < m->nphases; i++) {
		const struct icost_phase *p = &m->phases[i];
		const double cycles = p->cycles > 0 ? p->cycles : 1;

		doc_row(t);
		cell_integer(t, p->phase);
		cell_integer(t, p->insts);
		cell_real(t, p->cycles);
		cell_map(t);
		for (unsigned k = 0; k < ICOST_CATEGORIES; k++)
			cell_put(t, m->name[1u << k], p->cost[k]);
		icost_pairs_cell(t, m, &p->pairs);
		cell_real(t, (double)p->insts / cycles);
		for (unsigned k = 0; k < ICOST_CATEGORIES; k++)
			cell_real(t, p->cost[k] / cycles);
		add_pairs_line(t, m, &p->pairs, STRONG * cycles, cycles);
	}
}

/* ---- values for JSON, rows for CSV ---- */

static void add_inst_values(struct doc *d, const struct icost_model *m, const struct icost_inst *i)
{
	const struct icost_pair *p;
	size_t at = 0;

	doc_object(d, NULL);
	doc_format(d, "pc", "0x%" PRIx64, i->pc);
	doc_text(d, "symbol", i->function ? i->function : "[unknown]");
	if (i->file && i->line)
		doc_format(d, "source", "%s:%d", i->file, i->line);
	else
		doc_text(d, "source", "");
	doc_text(d, "disasm", i->disasm);
	doc_real(d, "executions", i->executions);
	doc_real(d, "critical", i->critical);
	doc_real(d, "slack", i->slack);
	doc_real(d, "local_slack", i->local_slack);
	doc_real(d, "least_slack", i->least_slack);
	doc_real(d, "path_cycles", i->path);
	doc_object(d, "costs");
	for (int k = 0; k < KIND_FIXABLE; k++)
		doc_real(d, words_kinds[k].name, i->cost[k]);
	doc_close(d);
	doc_array(d, "pairs");
	for (unsigned n = 0; n < 5 && (p = next_pair(m, i, &at)); n++) {
		const bool first = p->a == i->pc;

		doc_object(d, NULL);
		doc_text(d, "event", first ? p->kind_a : p->kind_b);
		doc_format(d, "with", "0x%" PRIx64, first ? p->b : p->a);
		doc_text(d, "with_event", first ? p->kind_b : p->kind_a);
		doc_real(d, "cost", p->cost);
		doc_real(d, "icost", p->icost);
		doc_close(d);
	}
	doc_close(d);
	doc_close(d);
}

void icost_add_sets(struct doc *d, const char *key, const struct icost_model *m,
		    const double *values, const bool *known)
{
	doc_object(d, key);
	for (unsigned set = 1; values && set < ICOST_SETS; set++)
		if (!known || known[set])
			doc_real(d, m->name[set], values[set]);
	doc_close(d);
}

static void add_values(struct doc *d, const struct icost_model *m, const struct view_options *o,
		       const struct icost_options *io)
{
	doc_text(d, "program", m->program);
	doc_text(d, "machine", m->machine);
	doc_real(d, "instructions_executed", m->insts);
	doc_real(d, "cycles", m->cycles);
	doc_real(d, "graph_cycles", m->graph_cycles);
	icost_add_sets(d, "costs", m, m->cost, NULL);
	icost_add_sets(d, "icosts", m, m->icost, NULL);
	if (m->estimated.is) {
		icost_add_sets(d, "cost_margins", m, m->cost_margin, NULL);
		icost_add_sets(d, "icost_margins", m, m->icost_margin, NULL);
	}
	doc_real(d, "rest", m->graph_cycles - m->cost[ICOST_SETS - 1]);
	icost_add_sets(d, "simulated_costs", m, io->truth ? io->truth->cost : NULL,
		       io->truth ? io->truth->known : NULL);
	doc_array(d, "instructions");
	for (size_t i = 0; i < m->ninsts && i < (size_t)o->limit; i++)
		add_inst_values(d, m, &m->instructions[i]);
	doc_close(d);
}

static void add_rows(struct doc *d, const struct icost_model *m, const struct icost_options *io)
{
	const struct doc_column columns[] = {
		{ .csv = "categories" },
		{ .csv = "cost", .csv_format = "%.0f" },
		{ .csv = "icost", .csv_format = "%.0f" },
		{ .csv = "cost_share" },
		{ .csv = "icost_share" },
		{ .csv = io->truth ? "simulated_cost" : NULL, .csv_format = "%.0f" },
		{ .csv = m->estimated.is ? "cost_margin" : NULL, .csv_format = "%.0f" },
		{ .csv = m->estimated.is ? "icost_margin" : NULL, .csv_format = "%.0f" },
	};
	struct doc_table *t = DOC_TABLE(d, columns, .key = NULL);

	for (unsigned set = 1; set < ICOST_SETS; set++) {
		doc_row(t);
		cell_text(t, m->name[set]);
		cell_real(t, m->cost[set]);
		cell_real(t, m->icost[set]);
		cell_real(t, m->cost[set] / m->graph_cycles);
		cell_real(t, m->icost[set] / m->graph_cycles);
		CELL_REAL_IF(t, io->truth && io->truth->known[set], io->truth->cost[set]);
		CELL_REAL_IF(t, m->estimated.is && !isnan(m->cost_margin[set]),
			     m->cost_margin[set]);
		CELL_REAL_IF(t, m->estimated.is && !isnan(m->icost_margin[set]),
			     m->icost_margin[set]);
	}
}

/* Who asks what something would save, and nothing else, gets that answer and nothing else. */
static bool answer_alone(const struct icost_options *io)
{
	return io->nwhat_if && !io->truth && !io->phases && !io->focus && !io->svg;
}

static void add_model(struct doc *d, const struct icost_model *m, const struct view_options *o,
		      const struct icost_options *io, const struct order *t)
{
	char graph[32];

	if (m->by_profiler)
		model_title(d, m->program, m->machine, m->insts, m->run_cycles, "%s", "");
	else
		model_title(d, m->program, m->machine, m->insts, m->run_cycles,
			    "; the graph has %s (%+.3f%%)",
			    number_commas((uint64_t)m->graph_cycles, graph),
			    100 * (m->graph_cycles / m->cycles - 1));
	estimated_add(d, &m->estimated);
	if (m->by_profiler)
		doc_line(d, NULL,
			 "Costs are those of a shotgun profiler: fragments built from samples and "
			 "the binary (design 4).");
	doc_boolean(d, "by_profiler", m->by_profiler);
	if (o->format == VIEW_TEXT && answer_alone(io)) {
		add_what_if(d, m, io);
		return;
	}
	add_values(d, m, o, io);
	add_breakdown(d, m, o, io, t);
	add_sentences(d, m, t);
	icost_add_cancelled(d, m);
	add_bar(d, m, o, t);
	add_functions(d, m, o);
	add_instructions(d, m, o);
	add_what_if(d, m, io);
	icost_shotgun_add(d, m);
	if (io->phases)
		add_phases(d, m);
	add_rows(d, m, io);
}

static bool view_model(const struct icost_model *m, const struct view_options *o,
		       const struct icost_options *io, struct err *e)
{
	struct order t;
	bool ok = true;

	if (io->focus && !has_focus(m, ICOST_SETS - 1, io->focus))
		ok = err_set(e,
			     "there is no category '%s'; they are" WORDS_COSTS(
				 WORDS_SPACED) " unless --param icost.categories said otherwise",
			     io->focus);
	if (ok) {
		choose_sets(m, io, &t);
		ok = !io->svg || write_svg(m, &t, io->svg, e);
	}
	if (ok) {
		struct doc *d = doc_new();

		add_model(d, m, o, io, &t);
		ok = doc_print(d, o, e);
		doc_free(d);
	}
	return ok;
}

bool view_icost(struct store *s, const struct view_options *o, const struct icost_options *io,
		struct err *e)
{
	struct icost_model m;

	if (io->read)
		return view_model(io->read, o, io, e);
	const bool ok = icost_read(s, &m, e) && view_model(&m, o, io, e);

	icost_free(&m);
	return ok;
}

/* ---- annotate ---- */

static int by_pc(const void *a, const void *b)
{
	const struct icost_inst *x = *(const struct icost_inst *const *)a,
				*y = *(const struct icost_inst *const *)b;
	return (x->pc > y->pc) - (x->pc < y->pc);
}

bool view_icost_annotate(struct store *s, const struct view_options *o, struct err *e)
{
	struct icost_model m;
	if (!icost_read(s, &m, e)) {
		icost_free(&m);
		return false;
	}
	const char *function = o->function;
	for (size_t i = 0; !function && i < m.ninsts; i++)
		function = m.instructions[i].function;
	const struct icost_inst **list = x_calloc(m.ninsts + 1, sizeof(*list));
	size_t n = 0;

	for (size_t i = 0; function && i < m.ninsts; i++)
		if (m.instructions[i].function && !strcmp(m.instructions[i].function, function))
			list[n++] = &m.instructions[i];
	if (n)
		qsort(list, n, sizeof(*list), by_pc);
	struct doc *d = doc_new();

	doc_array(d, NULL);
	for (size_t i = 0; i < n; i++)
		add_inst_values(d, &m, list[i]);
	const bool ok = n ? doc_print(d, o, e)
			  : err_set(e,
				    "no instruction of '%s' was looked at in %s; `culprit icost` "
				    "lists those that cost most",
				    function ? function : "", store_path(s));

	doc_free(d);
	free(list);
	icost_free(&m);
	return ok;
}

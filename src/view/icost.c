/* SPDX-License-Identifier: MIT */
/*
 * What fixing it would buy:
 *
 *      quicksort on fields2004: 975,724 instructions in 957,926 cycles; the graph has 957,925
 *
 *      Breakdown          % of cycles
 *        dl1                    11.5   ████
 *        …
 *        dl1+win                -2.1
 *        other                   1.3
 *        not idealised           4.0
 *        total                 100.0
 *      what it means, in sentences; the signed bar of fields2004 figure 1(b); critical instructions
 */
#include "view/icost.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "view/model.h"
#include "view/svg.h"
#include "view/term.h"

#define STRONG	0.02  /* an interaction worth a sentence, as a share of all cycles */
#define VISIBLE 0.005 /* … worth a row */
#define PARTS	40

/* Categories in words, as the subject of a sentence; and how to better one. */
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

static void heading(const struct view_options *o, const char *text)
{
	fprintf(o->out, "\n%s%s%s\n", term_on(o, TERM_BOLD), text, term_off(o));
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

/* icost by simulation, if all that it needs was simulated. */
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

static void print_row(const struct icost_model *m, const struct view_options *o,
		      const struct icost_options *io, unsigned set)
{
	const double share = m->icost[set] / m->graph_cycles;
	double real;
	fprintf(o->out, "  %-14s %s%8.1f%s", m->name[set],
		fabs(share) >= STRONG && is_pair(set) ? term_on(o, TERM_BOLD) : "", 100 * share,
		fabs(share) >= STRONG && is_pair(set) ? term_off(o) : "");
	if (true_icost(io->truth, set, &real))
		fprintf(o->out, " %10.1f %+7.1f", 100 * real / io->truth->cycles,
			100 * (share - real / io->truth->cycles));
	else if (io->truth)
		fprintf(o->out, " %18s", "");
	fputs("   ", o->out);
	const int c = is_single(set) ? category_row(m->name[set]) : -1;
	term_bar(o, fmin(fabs(share), 1), 30,
		 c >= 0	     ? categories[c].colour
		 : share < 0 ? TERM_DIM
			     : TERM_PLAIN);
	fputc('\n', o->out);
}

static void print_table(const struct icost_model *m, const struct view_options *o,
			const struct icost_options *io, const struct order *t)
{
	fprintf(o->out, "\n%s%-16s %8s", term_on(o, TERM_BOLD), "Breakdown", "% cycles");
	if (io->truth)
		fprintf(o->out, " %10s %7s", "simulated", "error");
	fprintf(o->out, "%s\n", term_off(o));
	for (size_t i = 0; i < t->count; i++) {
		if (i == ICOST_CATEGORIES)
			fputc('\n', o->out);
		print_row(m, o, io, t->sets[i]);
	}
	fprintf(o->out, "  %-14s %8.1f   all other interactions\n", "other",
		100 * t->other / m->graph_cycles);
	fprintf(o->out, "  %-14s %8.1f   with all of them idealised\n", "rest",
		100 * (1 - m->cost[ICOST_SETS - 1] / m->graph_cycles));
	fprintf(o->out, "  %-14s %8.1f\n", "total", 100.0);
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
	/* The one that is easier to enlarge than to speed up comes second: the window. */
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

static void print_sentences(const struct icost_model *m, const struct view_options *o,
			    const struct order *t)
{
	bool any = false;
	for (size_t i = 0; i < t->count; i++) {
		char text[300];
		if (!is_pair(t->sets[i]) || fabs(m->icost[t->sets[i]]) < STRONG * m->graph_cycles)
			continue;
		if (!any)
			heading(o, "Interactions");
		any = true;
		fputs("  ", o->out);
		term_wrap(o, sentence(m, t->sets[i], text, sizeof(text)), 4);
	}
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

static void print_bar(const struct icost_model *m, const struct view_options *o,
		      const struct order *t)
{
	struct term_part parts[PARTS];
	size_t n;
	double above, below;
	collect_parts(m, t, false, 1, parts, &n, &above);
	const int cells = o->width - 24;
	heading(o, "Signed bar: what adds, above; what interacts serially, below");
	collect_parts(m, t, false, above, parts, &n, &above);
	fprintf(o->out, "  %+7.1f%%  ", 100 * above);
	term_stack(o, parts, n, cells);
	fputc('\n', o->out);
	collect_parts(m, t, true, above, parts, &n, &below);
	fprintf(o->out, "  %+7.1f%%  ", -100 * below);
	term_stack(o, parts, n, cells);
	fputs("\n  ", o->out);
	for (size_t i = 0; i < ARRAY_LEN(categories); i++)
		fprintf(o->out, "%s%c %s%s  ", term_on(o, categories[i].colour),
			categories[i].letter, categories[i].name, term_off(o));
	fprintf(o->out, "+ pairs  o other  . rest\n");
}

/* A category as everywhere, also one that the user named; a set of two in stripes of both. */
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
	const struct svg_group group = { m->program, &bar, 1 };
	snprintf(title, sizeof(title), "Interaction costs of %s on %s", m->program, m->machine);
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
		snprintf(buf, size_bytes, "%s:%d", model_basename(i->file), i->line);
	else if (i && i->function)
		snprintf(buf, size_bytes, "%s %" PRIx64, i->function, i->pc);
	else
		snprintf(buf, size_bytes, "%" PRIx64, i ? i->pc : 0);
}

static void cost_words(const struct icost_model *m, const struct icost_inst *i, char *buf,
		       size_t size_bytes)
{
	size_t used = 0;
	buf[0] = '\0';
	for (int k = 0; k < 4; k++)
		if (i->cost[k] >= 0.0005 * m->graph_cycles && used < size_bytes)
			used += (size_t)snprintf(buf + used, size_bytes - used, "%s%s %.1f%%",
						 used ? ", " : "", words_kinds[k].name,
						 100 * i->cost[k] / m->graph_cycles);
}

static void print_inst_pairs(const struct icost_model *m, const struct view_options *o,
			     const struct icost_inst *i)
{
	unsigned shown = 0;
	for (size_t k = 0; k < m->npairs && shown < 2; k++) {
		const struct icost_pair *p = &m->pairs[k];
		if ((p->a != i->pc && p->b != i->pc) || fabs(p->icost) < 0.002 * m->graph_cycles)
			continue;
		const bool first = p->a == i->pc;
		char where[300];
		place_of(icost_inst_at(m, first ? p->b : p->a), where, sizeof(where));
		fprintf(o->out, "  %*s%s%s with the %s of %s (%" PRIx64 "): %+.1f%%, fix %s%s\n",
			37, "", term_on(o, TERM_DIM), first ? p->kind_a : p->kind_b,
			first ? p->kind_b : p->kind_a, where, first ? p->b : p->a,
			100 * p->icost / m->graph_cycles, p->icost < 0 ? "either" : "both",
			term_off(o));
		shown++;
	}
}

static void print_instructions(const struct icost_model *m, const struct view_options *o)
{
	const size_t n = min_u64(m->ninsts, (uint64_t)o->limit);
	if (!n || icost_inst_cost(&m->instructions[0]) <= 0)
		return;
	heading(o, "Critical instructions (what fixing each alone saves; slack in cycles)");
	fprintf(o->out, "  %6s %8s %9s %9s  %s\n", "saves", "critical", "slack", "local", "");
	for (size_t k = 0; k < n; k++) {
		const struct icost_inst *i = &m->instructions[k];
		char where[300], words[160];
		if (icost_inst_cost(i) < 0.0005 * m->graph_cycles)
			break;
		place_of(i, where, sizeof(where));
		cost_words(m, i, words, sizeof(words));
		fprintf(o->out, "  %5.1f%% %7.0f%% %9.1f %9.1f  ",
			100 * icost_inst_cost(i) / m->graph_cycles, 100 * i->critical, i->slack,
			i->local_slack);
		term_text(o, where, 22, true);
		fputc(' ', o->out);
		term_text(o, i->disasm ? i->disasm : "", 28, true);
		fprintf(o->out, " %s", term_on(o, TERM_DIM));
		term_text(o, words, o->width > 95 ? o->width - 92 : 20, false);
		fprintf(o->out, "%s\n", term_off(o));
		print_inst_pairs(m, o, i);
	}
}

static void print_functions(const struct icost_model *m, const struct view_options *o)
{
	if (!m->nfunctions)
		return;
	heading(o, "Functions (share of all cycles; what each category costs there)");
	fprintf(o->out, "  %-22s %6s", "", "cycles");
	for (unsigned k = 0; k < ICOST_CATEGORIES; k++)
		fprintf(o->out, " %6s", m->name[1u << k]);
	fputc('\n', o->out);
	for (size_t i = 0; i < m->nfunctions && i < (size_t)o->limit; i++) {
		const struct icost_function *f = &m->functions[i];
		if (f->cycles < 0.001 * m->graph_cycles)
			break;
		fputs("  ", o->out);
		term_text(o, f->name, 22, true);
		fprintf(o->out, " %6.1f", 100 * f->cycles / m->graph_cycles);
		for (unsigned k = 0; k < ICOST_CATEGORIES; k++)
			fprintf(o->out, " %6.1f", 100 * f->cost[k] / m->graph_cycles);
		fputc('\n', o->out);
	}
}

static void print_what_if(const struct icost_model *m, const struct view_options *o,
			  const struct icost_options *io)
{
	if (!io->nwhat_if)
		return;
	heading(o, "What if");
	for (size_t i = 0; i < io->nwhat_if; i++) {
		const struct icost_what_if *w = &io->what_if[i];
		char cycles[32];
		fprintf(o->out, "  %s (%zu instruction%s): saves %s cycles, %.2f%%, by the graph",
			w->text, w->npcs, w->npcs == 1 ? "" : "s",
			term_count((uint64_t)fmax(w->predicted, 0), cycles),
			100 * w->predicted / m->graph_cycles);
		if (w->verified)
			fprintf(o->out, "; %s, %.2f%%, simulated",
				term_count((uint64_t)fmax(w->simulated, 0), cycles),
				100 * w->simulated / m->cycles);
		fputc('\n', o->out);
	}
}

static void print_phases(struct store *s, const struct icost_model *m, const struct view_options *o)
{
	heading(o, "Phases (% of each phase's cycles)");
	fprintf(o->out, "  %5s %12s %7s", "phase", "instructions", "IPC");
	for (unsigned k = 0; k < ICOST_CATEGORIES; k++)
		fprintf(o->out, " %6s", m->name[1u << k]);
	fputc('\n', o->out);
	struct store_rows r =
	    store_query(s,
			"SELECT p.phase, p.instructions, p.cycles, c.categories, c.cost FROM "
			"icost_phase p JOIN "
			"icost c ON c.phase = p.phase WHERE p.phase >= 0 AND c.categories IN "
			"(1,2,4,8,16,32,64,128) ORDER BY p.phase, c.categories",
			"");
	while (store_next(&r)) {
		const double cycles = store_double(&r, 2);
		char count[32];
		if (store_int(&r, 3) == 1)
			fprintf(o->out, "  %5" PRId64 " %12s %7.3f", store_int(&r, 0),
				term_count((uint64_t)store_int(&r, 1), count),
				(double)store_int(&r, 1) / (cycles > 0 ? cycles : 1));
		fprintf(o->out, " %6.1f", 100 * store_double(&r, 4) / (cycles > 0 ? cycles : 1));
		if (store_int(&r, 3) == 128)
			fputc('\n', o->out);
	}
	store_done(&r, NULL);
}

/* ---- JSON and CSV ---- */

static json_t *json_inst(const struct icost_model *m, const struct icost_inst *i)
{
	json_t *row = json_object(), *cost = json_object(), *pairs = json_array();
	char text[600];
	snprintf(text, sizeof(text), "0x%" PRIx64, i->pc);
	json_object_set_new(row, "pc", json_string(text));
	json_object_set_new(row, "symbol", json_string(i->function ? i->function : "[unknown]"));
	text[0] = '\0';
	if (i->file && i->line)
		snprintf(text, sizeof(text), "%s:%d", i->file, i->line);
	json_object_set_new(row, "source", json_string(text));
	json_object_set_new(row, "disasm", json_string(i->disasm ? i->disasm : ""));
	json_object_set_new(row, "executions", json_real(i->executions));
	json_object_set_new(row, "critical", json_real(i->critical));
	json_object_set_new(row, "slack", json_real(i->slack));
	json_object_set_new(row, "local_slack", json_real(i->local_slack));
	json_object_set_new(row, "least_slack", json_real(i->least_slack));
	json_object_set_new(row, "path_cycles", json_real(i->path));
	for (int k = 0; k < 4; k++)
		json_object_set_new(cost, words_kinds[k].name, json_real(i->cost[k]));
	json_object_set_new(row, "costs", cost);
	unsigned n = 0;
	for (size_t k = 0; k < m->npairs && n < 5; k++) {
		const struct icost_pair *p = &m->pairs[k];
		if (p->a != i->pc && p->b != i->pc)
			continue;
		const bool first = p->a == i->pc;
		snprintf(text, sizeof(text), "0x%" PRIx64, first ? p->b : p->a);
		json_array_append_new(pairs, json_pack("{s:s, s:s, s:s, s:f, s:f}", "event",
						       first ? p->kind_a : p->kind_b, "with", text,
						       "with_event", first ? p->kind_b : p->kind_a,
						       "cost", p->cost, "icost", p->icost));
		n++;
	}
	json_object_set_new(row, "pairs", pairs);
	return row;
}

static json_t *json_sentences(const struct icost_model *m, const struct order *t)
{
	json_t *list = json_array();
	for (size_t i = 0; i < t->count; i++) {
		char text[300];
		if (is_pair(t->sets[i]) && fabs(m->icost[t->sets[i]]) >= STRONG * m->graph_cycles)
			json_array_append_new(
			    list, json_string(sentence(m, t->sets[i], text, sizeof(text))));
	}
	return list;
}

static void print_json(struct store *s, const struct icost_model *m, const struct view_options *o,
		       const struct icost_options *io, const struct order *t)
{
	json_t *top = json_object(), *costs = json_object(), *icosts = json_object(),
	       *simulated = json_object(), *insts = json_array(), *what_if = json_array(),
	       *functions = json_array();
	json_object_set_new(top, "program", json_string(m->program));
	json_object_set_new(top, "machine", json_string(m->machine));
	json_object_set_new(top, "instructions_executed", json_real(m->insts));
	json_object_set_new(top, "cycles", json_real(m->cycles));
	json_object_set_new(top, "graph_cycles", json_real(m->graph_cycles));
	for (unsigned set = 1; set < ICOST_SETS; set++) {
		json_object_set_new(costs, m->name[set], json_real(m->cost[set]));
		json_object_set_new(icosts, m->name[set], json_real(m->icost[set]));
		if (io->truth && io->truth->known[set])
			json_object_set_new(simulated, m->name[set],
					    json_real(io->truth->cost[set]));
	}
	json_object_set_new(top, "costs", costs);
	json_object_set_new(top, "icosts", icosts);
	json_object_set_new(top, "rest", json_real(m->graph_cycles - m->cost[ICOST_SETS - 1]));
	json_object_set_new(top, "simulated_costs", simulated);
	json_object_set_new(top, "interactions", json_sentences(m, t));
	for (size_t i = 0; i < m->ninsts && i < (size_t)o->limit; i++)
		json_array_append_new(insts, json_inst(m, &m->instructions[i]));
	json_object_set_new(top, "instructions", insts);
	for (size_t i = 0; i < m->nfunctions && i < (size_t)o->limit; i++) {
		json_t *c = json_object();
		for (unsigned k = 0; k < ICOST_CATEGORIES; k++)
			json_object_set_new(c, m->name[1u << k],
					    json_real(m->functions[i].cost[k]));
		json_array_append_new(functions,
				      json_pack("{s:s, s:f, s:o}", "symbol", m->functions[i].name,
						"cycles", m->functions[i].cycles, "costs", c));
	}
	json_object_set_new(top, "functions", functions);
	for (size_t i = 0; i < io->nwhat_if; i++) {
		const struct icost_what_if *w = &io->what_if[i];
		json_t *row = json_pack("{s:s, s:i, s:f}", "what_if", w->text, "instructions",
					(int)w->npcs, "predicted", w->predicted);
		if (w->verified)
			json_object_set_new(row, "simulated", json_real(w->simulated));
		json_array_append_new(what_if, row);
	}
	json_object_set_new(top, "what_if", what_if);
	json_t *shotgun = icost_shotgun_json(s, m);
	if (shotgun)
		json_object_set_new(top, "shotgun", shotgun);
	json_dumpf(top, o->out, JSON_INDENT(1) | JSON_REAL_PRECISION(12));
	fputc('\n', o->out);
	json_decref(top);
}

static void print_csv(const struct icost_model *m, const struct view_options *o,
		      const struct icost_options *io)
{
	fprintf(o->out, "categories,cost,icost,cost_share,icost_share%s\n",
		io->truth ? ",simulated_cost" : "");
	for (unsigned set = 1; set < ICOST_SETS; set++) {
		fprintf(o->out, "%s,%.0f,%.0f,%.6f,%.6f", m->name[set], m->cost[set], m->icost[set],
			m->cost[set] / m->graph_cycles, m->icost[set] / m->graph_cycles);
		if (io->truth && io->truth->known[set])
			fprintf(o->out, ",%.0f", io->truth->cost[set]);
		else if (io->truth)
			fputc(',', o->out);
		fputc('\n', o->out);
	}
}

bool view_icost(struct store *s, const struct view_options *o, const struct icost_options *io,
		struct err *e)
{
	struct icost_model m;
	struct order t;
	char insts[32], cycles[32], graph[32];
	bool ok = icost_read(s, &m, e);
	if (ok && io->focus && !has_focus(&m, ICOST_SETS - 1, io->focus))
		ok = err_set(e,
			     "there is no category '%s'; they are" WORDS_COSTS(
				 WORDS_SPACED) " unless --param icost.categories said otherwise",
			     io->focus);
	if (ok) {
		choose_sets(&m, io, &t);
		ok = !io->svg || write_svg(&m, &t, io->svg, e);
	}
	if (ok && o->format == VIEW_JSON) {
		print_json(s, &m, o, io, &t);
	} else if (ok && o->format == VIEW_CSV) {
		print_csv(&m, o, io);
	} else if (ok) {
		fprintf(o->out,
			"%s on %s: %s instructions in %s cycles; the graph has %s (%+.3f%%)\n",
			m.program, m.machine, term_count((uint64_t)m.insts, insts),
			term_count((uint64_t)m.cycles, cycles),
			term_count((uint64_t)m.graph_cycles, graph),
			100 * (m.graph_cycles / m.cycles - 1));
		print_table(&m, o, io, &t);
		print_sentences(&m, o, &t);
		print_bar(&m, o, &t);
		print_functions(&m, o);
		print_instructions(&m, o);
		print_what_if(&m, o, io);
		icost_shotgun_print(s, &m, o);
		if (io->phases)
			print_phases(s, &m, o);
	}
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
	json_t *rows = o->format == VIEW_JSON ? json_array() : NULL;
	size_t n = 0;
	for (size_t i = 0; function && i < m.ninsts; i++)
		if (m.instructions[i].function && !strcmp(m.instructions[i].function, function))
			list[n++] = &m.instructions[i];
	if (n)
		qsort(list, n, sizeof(*list), by_pc);
	if (n && !rows)
		fprintf(o->out, "%s%s%s\n  %7s %8s %8s %8s\n", term_on(o, TERM_BOLD), function,
			term_off(o), "saves", "critical", "slack", "local");
	for (size_t i = 0; i < n; i++) {
		char words[160];
		if (rows) {
			json_array_append_new(rows, json_inst(&m, list[i]));
			continue;
		}
		if (list[i]->file && list[i]->line &&
		    (!i || !list[i - 1]->file || list[i]->line != list[i - 1]->line))
			fprintf(o->out, "  %36s%s%s:%d%s\n", "", term_on(o, TERM_CYAN),
				model_basename(list[i]->file), list[i]->line, term_off(o));
		cost_words(&m, list[i], words, sizeof(words));
		fprintf(o->out, "  %6.2f%% %7.0f%% %8.1f %8.1f  %8" PRIx64 "  ",
			100 * icost_inst_cost(list[i]) / m.graph_cycles, 100 * list[i]->critical,
			list[i]->slack, list[i]->local_slack, list[i]->pc);
		term_text(o, list[i]->disasm ? list[i]->disasm : "", 34, true);
		fprintf(o->out, " %s%s%s\n", term_on(o, TERM_DIM), words, term_off(o));
	}
	if (rows && n) {
		json_dumpf(rows, o->out, JSON_INDENT(1) | JSON_REAL_PRECISION(12));
		fputc('\n', o->out);
	}
	json_decref(rows);
	const bool ok = n || err_set(e,
				     "no instruction of '%s' was looked at in %s; `culprit icost` "
				     "lists those that cost most",
				     function ? function : "", store_path(s));
	free(list);
	icost_free(&m);
	return ok;
}

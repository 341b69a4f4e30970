/* SPDX-License-Identifier: MIT */
/*
 * Shows one procedure as dcpicalc does (dcpi1997, figures 2 and 4): block by block its best-case and
 * actual cycles per instruction, its frequency and edges; above every instruction that waits a line
 * for each half cycle, with the letters of what may be guilty; then the summary.
 *
 *   address  instruction          samples      CPI  culprit
 *            dwD                                    (d = D-cache miss, w = write buffer)
 *            dwD                           18.0cy
 *            dwD                                    (D = D-TLB miss)
 *     10450  sd   a4,0(a2)         27,766  18.0cy   10440
 *     10454  sltu a4,a0,a5              0  (dual issue)
 *
 * A half cycle a line shows two instructions that issue together as two lines without a gap.
 */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "view/calc_int.h"
#include "view/source.h"

#define FOLD 3 /* longer rows of bubbles become three lines, the middle one with the length */

/* Static causes have letters too; none is that of a dynamic cause. */
static const struct {
	char letter;
	const char *words, *row;
} fixed_words[STATIC_COUNT] = {
	[STATIC_NONE] = { '-', "nothing", NULL },
	[STATIC_SLOT] = { 's', "slotting: cannot issue with the one before it", "Slotting" },
	[STATIC_RA] = { 'a', "waits for its first source register", "Ra dependency" },
	[STATIC_RB] = { 'b', "waits for another source register", "Rb dependency" },
	[STATIC_RC] = { 'c', "waits for the last writer of its destination", "Rc dependency" },
	[STATIC_UNIT] = { 'u', "its functional unit is taken", "Unit dependency" },
};

struct listing {
	struct doc *d;
	const struct view_options *o;
	struct calc_model *m;
	const struct calc_options_view *c;
	uint32_t number;
	const struct calc_proc *proc;
	const struct calc_name *name;
	struct sources *sources;
	bool told_cause[CAUSE_COUNT], told_fixed[STATIC_COUNT], told_unexplained;
};

/* ---- numbers ---- */

char *calc_human(double x, char buf[CALC_HUMAN])
{
	static const char *const units[] = { "", " K", " M", " G", " T" };
	size_t u = 0;

	if (!(fabs(x) < 1e16)) {
		snprintf(buf, CALC_HUMAN, "?");
		return buf;
	}
	for (; fabs(x) >= 999.5 && u + 1 < ARRAY_LEN(units); u++)
		x /= 1000;
	const int digits = fabs(x) >= 99.95 ? 0 : fabs(x) >= 9.995 ? 1 : 2;

	if (!u && x == floor(x))
		snprintf(buf, CALC_HUMAN, "%.0f", x);
	else
		snprintf(buf, CALC_HUMAN, "%.*f%s", digits, x, units[u]);
	return buf;
}

double calc_halves(double cycles)
{
	return round(2 * cycles) / 2;
}

double calc_stall(const struct calc_model *m, uint32_t proc, uint32_t inst)
{
	const struct calc_proc *p = &m->program.procs[proc];
	const struct calc_inst *i = &p->insts[inst];
	const double f = p->blocks[cfg_block_of(p->graph, inst)].value;

	return i->cpi > i->m && f > 0 ? (i->cpi - i->m) * f : 0;
}

char *calc_letters(const struct calc_proc *p, const struct calc_inst *i, bool stalls,
		   char buf[CAUSE_COUNT + 1])
{
	size_t n = 0;

	for (unsigned k = 0; k < i->nculprits && n < CAUSE_COUNT; k++)
		if (!memchr(buf, words_cause_letter[calc_culprit(p, i, k)->cause], n))
			buf[n++] = words_cause_letter[calc_culprit(p, i, k)->cause];
	if (!n && stalls)
		buf[n++] = '?';
	buf[n] = '\0';
	return buf;
}

/* " (true 3.14 M)", or "". */
static char *true_count(double truth, char buf[CALC_HUMAN + 16])
{
	char number[CALC_HUMAN];

	buf[0] = '\0';
	if (!isnan(truth))
		snprintf(buf, CALC_HUMAN + 16, " (true %s)", calc_human(truth, number));
	return buf;
}

static bool relative(const struct calc_model *m)
{
	return m->program.sampling.mode == CALC_RELATIVE;
}

static bool scheduled(const struct calc_model *m)
{
	return m->program.sampling.mode == CALC_ISSUE;
}

static double true_frequency(const struct listing *l, uint32_t block)
{
	return l->m->truth ? l->name->truth[l->proc->graph->blocks[block].first].executions : NAN;
}

static double true_edge(const struct listing *l, uint32_t edge)
{
	return l->m->truth ? l->name->edges[edge] : NAN;
}

static double true_cpi(const struct calc_truth *t)
{
	return t->executions > 0 ? t->head / t->executions : NAN;
}

/* ---- the head of a block ---- */

/* Cycles and instructions of a block: least, sampled, true. */
struct block_cycles {
	double best, actual, truth;
	uint32_t count;
};

static struct block_cycles block_cycles(const struct listing *l, uint32_t block)
{
	const struct cfg_block *b = &l->proc->graph->blocks[block];
	struct block_cycles c = { .count = b->count, .truth = l->m->truth ? 0 : NAN };

	for (uint32_t i = b->first; i < b->first + b->count; i++) {
		c.best += l->proc->insts[i].m;
		c.actual += l->proc->insts[i].cpi;
		if (l->m->truth)
			c.truth += true_cpi(&l->name->truth[i]);
	}
	return c;
}

static void edge_words(const struct listing *l, uint32_t edge, bool in, char *buf, size_t size)
{
	const struct cfg *g = l->proc->graph;
	const struct cfg_edge *d = &g->edges[edge];
	const uint32_t other = in ? d->from : d->to;
	char count[CALC_HUMAN], truth[CALC_HUMAN + 16], where[32];

	if (other == CFG_OUTSIDE)
		snprintf(where, sizeof(where), "outside");
	else
		snprintf(where, sizeof(where), "%" PRIx64, g->blocks[other].start);
	snprintf(buf, size, "%s by %s %s%s", where, words_cfg[d->kind].name,
		 calc_human(l->proc->edges[edge].value, count),
		 true_count(true_edge(l, edge), truth));
}

static void add_edges(const struct listing *l, uint32_t block, bool in)
{
	const struct cfg *g = l->proc->graph;
	const struct cfg_block *b = &g->blocks[block];
	const uint32_t first = in ? b->first_in : b->first_out, count = in ? b->nin : b->nout;
	char *line = x_strdup(""), one[160];

	for (uint32_t k = 0; k < count; k++) {
		edge_words(l, in ? g->in[first + k] : first + k, in, one, sizeof(one));
		char *longer = x_asprintf("%s%s%s", line, k ? ", " : "", one);

		free(line);
		line = longer;
	}
	if (count)
		doc_sentence(l->d, in ? "  from  " : "  to    ", line, 8);
	free(line);
}

static void add_cpi(const struct listing *l, uint32_t block)
{
	const struct block_cycles c = block_cycles(l, block);
	char truth[32] = "";

	if (relative(l->m))
		return;
	if (scheduled(l->m))
		doc_line(l->d, NULL, "  Best case %8.4g/%u = %.2f CPI", calc_halves(c.best),
			 c.count, c.best / c.count);
	if (!isnan(c.truth))
		snprintf(truth, sizeof(truth), " (true %.2f)", c.truth / c.count);
	if (isnan(c.actual))
		doc_line(l->d, NULL, "  Actual          ? CPI%s: the frequency is not known",
			 truth);
	else
		doc_line(l->d, NULL, "  Actual    %8.4g/%u = %.2f CPI%s", calc_halves(c.actual),
			 c.count, c.actual / c.count, truth);
}

static void add_block_head(const struct listing *l, uint32_t block)
{
	const struct cfg_block *b = &l->proc->graph->blocks[block];
	const struct calc_freq *f = &l->proc->blocks[block];
	char count[CALC_HUMAN], low[CALC_HUMAN], high[CALC_HUMAN], truth[CALC_HUMAN + 16];
	char strong[64];

	doc_blank(l->d);
	snprintf(strong, sizeof(strong), "Block %" PRIx64 " to %" PRIx64, b->start, b->end);
	if (isnan(f->value))
		doc_line(l->d, strong, ", %u instruction%s: frequency not known%s", b->count,
			 b->count == 1 ? "" : "s", true_count(true_frequency(l, block), truth));
	else
		doc_line(l->d, strong,
			 ", %u instruction%s: %sfrequency %s%s, %s to %s, %s confidence (%s)",
			 b->count, b->count == 1 ? "" : "s", relative(l->m) ? "relative " : "",
			 calc_human(f->value, count), true_count(true_frequency(l, block), truth),
			 calc_human(f->low, low), calc_human(f->high, high),
			 words_confidence[f->confidence].name, words_origins[f->origin].name);
	if (b->flags & CFG_BLOCK_UNRESOLVED)
		doc_line(l->d, NULL, "  its last jump goes to places that are not known");
	add_edges(l, block, true);
	add_edges(l, block, false);
	add_cpi(l, block);
	doc_blank(l->d);
}

/* ---- instructions and bubbles ---- */

#define AT_ADDRESS 10
#define AT_TEXT	   30

static void add_bubble(const struct listing *l, const char *letters, const char *length,
		       const char *words)
{
	doc_note(l->d, TERM_YELLOW, "%*s  %-*s %12s %8s%s%s", AT_ADDRESS, "", AT_TEXT, letters, "",
		 length, *words ? "  " : "", words);
}

/* Rows of bubbles for so many half cycles; explains letters that are new, a line each, the last line
 * takes those left over. */
static void add_bubbles(const struct listing *l, const char *letters, unsigned halves,
			const char *const *news, size_t nnews)
{
	const unsigned lines = halves > FOLD ? FOLD : halves;
	char length[32], words[320];
	size_t told = 0;

	for (unsigned k = 0; k < lines; k++) {
		const size_t upto = k + 1 == lines ? nnews : told + (told < nnews);
		size_t n = 0;

		length[0] = words[0] = '\0';
		if (halves > FOLD && k == 1)
			snprintf(length, sizeof(length), "%.1fcy", halves / 2.0);
		for (; told < upto && n < sizeof(words); told++)
			n += (size_t)snprintf(words + n, sizeof(words) - n, "%s(%s)", n ? " " : "",
					      news[told]);
		add_bubble(l, letters, length, words);
	}
}

static void add_dynamic(struct listing *l, const struct calc_inst *i, unsigned halves)
{
	char letters[CAUSE_COUNT + 1], text[CAUSE_COUNT + 1][80];
	const char *news[CAUSE_COUNT + 1];
	size_t n = 0;

	calc_letters(l->proc, i, true, letters);
	for (unsigned k = 0; k < i->nculprits; k++) {
		const unsigned c = calc_culprit(l->proc, i, k)->cause;

		if (l->told_cause[c] || n >= CAUSE_COUNT)
			continue;
		l->told_cause[c] = true;
		snprintf(text[n], sizeof(text[n]), "%c = %s", words_cause_letter[c],
			 words_causes[c].words);
		news[n] = text[n];
		n++;
	}
	if (!i->nculprits && !l->told_unexplained) {
		l->told_unexplained = true;
		news[n++] = "? = no cause is left that can explain it";
	}
	add_bubbles(l, letters, halves, news, n);
}

static void add_static(struct listing *l, const struct calc_inst *i, unsigned halves)
{
	char letters[STATIC_COUNT + 1] = "", text[STATIC_COUNT][80];
	const char *news[STATIC_COUNT];
	size_t n = 0, nnews = 0;

	for (unsigned k = 0; k < i->nfixed; k++) {
		const unsigned why = i->fixed[k].why;

		if (why == STATIC_NONE || memchr(letters, fixed_words[why].letter, n))
			continue;
		letters[n++] = fixed_words[why].letter;
		if (l->told_fixed[why])
			continue;
		l->told_fixed[why] = true;
		snprintf(text[nnews], sizeof(text[nnews]), "%c = %s", fixed_words[why].letter,
			 fixed_words[why].words);
		news[nnews] = text[nnews];
		nnews++;
	}
	add_bubbles(l, n ? letters : "-", halves, news, nnews);
}

/* Addresses of what an instruction may have waited for: "10440 1044c". */
static void guilty_words(const struct listing *l, const struct calc_inst *i, bool fixed,
			 bool dynamic, char *buf, size_t size)
{
	uint64_t all[CALC_STATICS + CAUSE_COUNT * CALC_GUILTY];
	size_t count = 0, n = 0;

	for (unsigned k = 0; fixed && k < i->nfixed; k++)
		if (i->fixed[k].by != UINT32_MAX && i->fixed[k].by < l->proc->graph->ninsts)
			all[count++] = l->proc->graph->insts[i->fixed[k].by].pc;
	for (unsigned k = 0; dynamic && k < i->nculprits && k < CAUSE_COUNT; k++)
		for (unsigned g = 0; g < calc_culprit(l->proc, i, k)->nguilty; g++)
			all[count++] =
			    l->proc->graph->insts[calc_culprit(l->proc, i, k)->guilty[g]].pc;
	buf[0] = '\0';
	for (size_t k = 0; k < count && n + 20 < size; k++) {
		size_t before = 0;

		while (all[before] != all[k])
			before++;
		if (before == k)
			n +=
			    (size_t)snprintf(buf + n, size - n, "%s%" PRIx64, n ? " " : "", all[k]);
	}
}

static void add_source(const struct listing *l, const struct calc_text *t)
{
	const char *text = sources_line(l->sources, t->file, t->line);
	char place[96], shown[512] = "";

	snprintf(place, sizeof(place), "%.80s:%d", path_name(t->file), t->line);
	if (text) {
		text += strspn(text, " \t");
		term_cut(text, l->o->width - AT_ADDRESS - 4 - (int)strlen(place), shown,
			 sizeof(shown));
	}
	doc_note(l->d, TERM_CYAN, "%*s  %s  %s", AT_ADDRESS, "", place, shown);
}

/* Issues with the instruction before it, as far as half cycles tell. */
static bool is_paired(const struct listing *l, uint32_t inst)
{
	const struct calc_inst *i = &l->proc->insts[inst];
	const struct cfg *g = l->proc->graph;

	return scheduled(l->m) && g->blocks[cfg_block_of(g, inst)].first != inst &&
	       (i->cpi < 0.25 || (isnan(i->cpi) && !i->issue_point));
}

static void cpi_words(const struct listing *l, uint32_t inst, char *buf, size_t size)
{
	const struct calc_inst *i = &l->proc->insts[inst];

	if (relative(l->m))
		buf[0] = '\0';
	else if (isnan(i->cpi))
		snprintf(buf, size, "?");
	else if (is_paired(l, inst))
		snprintf(buf, size, "(dual issue)");
	else
		snprintf(buf, size, "%.1fcy", calc_halves(i->cpi));
}

/* The line of an instruction. */
static void add_line(const struct listing *l, uint32_t inst, const char *guilty)
{
	const struct calc_inst *i = &l->proc->insts[inst];
	const char *disasm = l->name->texts[inst].disasm, *tab = strpbrk(disasm, "\t ");
	char text[160], cut[200], cpi[32], samples[32], truth[160] = "", causes[120];

	if (tab)
		snprintf(text, sizeof(text), "%-6.*s %s", (int)(tab - disasm), disasm, tab + 1);
	else
		snprintf(text, sizeof(text), "%s", disasm);
	char *symbol = strstr(text, " <"); /* the address says it */

	if (symbol)
		*symbol = '\0';
	term_cut(text, AT_TEXT, cut, sizeof(cut));
	cpi_words(l, inst, cpi, sizeof(cpi));
	if (l->m->truth && !isnan(true_cpi(&l->name->truth[inst]))) {
		const struct calc_truth *t = &l->name->truth[inst];

		calc_true_causes(t, causes, sizeof(causes));
		if (true_cpi(t) >= 0.05 || calc_halves(i->cpi) > 0)
			snprintf(truth, sizeof(truth), "(true %.1f%s%s)", true_cpi(t),
				 *causes ? ": " : "", causes);
	}
	doc_line(l->d, NULL, "%*" PRIx64 "  %-*s %12s %8s%s%s%s%s", AT_ADDRESS,
		 l->proc->graph->insts[inst].pc, AT_TEXT, cut,
		 number_commas((uint64_t)(i->count[SAMPLED_CYCLES] + 0.5), samples), cpi,
		 *truth ? "  " : "", truth, *guilty ? "  " : "", guilty);
}

/* Half cycles before an instruction in which nothing issues. `alone`: its predecessor in the block
 * issued without a partner, and leaves half a cycle empty. */
static void add_inst(struct listing *l, uint32_t inst, bool alone)
{
	const struct calc_inst *i = &l->proc->insts[inst];
	unsigned fixed = 0, dynamic = 0;
	char guilty[160];

	if (scheduled(l->m) && !isnan(i->cpi) && i->cpi < 1e9) {
		/* half cycles between the instruction before it and this one */
		const double gap = 2 * calc_halves(i->cpi) - 2 + alone,
			     least = fmax(2 * calc_halves(i->m) - 2 + alone, 0);

		fixed = (unsigned)fmax(fmin(gap, least), 0);
		dynamic = (unsigned)fmax(gap - fixed, 0);
		if (!i->nfixed) { /* nothing of the schedule to show */
			dynamic += i->cpi - i->m >= 0.25 ? fixed : 0;
			fixed = 0;
		}
	}
	if (fixed)
		add_static(l, i, fixed);
	if (dynamic)
		add_dynamic(l, i, dynamic);
	guilty_words(l, i, fixed, dynamic, guilty, sizeof(guilty));
	add_line(l, inst, guilty);
}

static void add_insts(struct listing *l, uint32_t block)
{
	const struct cfg_block *b = &l->proc->graph->blocks[block];
	const struct calc_text *last = NULL;
	bool alone = false;

	for (uint32_t i = b->first; i < b->first + b->count; i++) {
		const struct calc_text *t = &l->name->texts[i];

		if (t->file && t->line > 0 &&
		    (!last || strcmp(last->file, t->file) || last->line != t->line)) {
			add_source(l, t);
			last = t;
		}
		add_inst(l, i, alone);
		alone = !is_paired(l, i);
	}
}

static double block_samples(const struct calc_proc *proc, uint32_t block)
{
	const struct cfg_block *b = &proc->graph->blocks[block];
	double sum = 0;

	for (uint32_t i = b->first; i < b->first + b->count; i++)
		sum += proc->insts[i].count[SAMPLED_CYCLES];
	return sum;
}

static void add_blocks_text(struct listing *l)
{
	const struct cfg *g = l->proc->graph;
	uint32_t cold = 0;

	doc_line(l->d, NULL, "\n%*s  %-*s %12s %8s  %sculprit", AT_ADDRESS, "address", AT_TEXT,
		 "instruction", "samples", "CPI", l->m->truth ? "(true: causes)  " : "");
	for (uint32_t b = 0; b <= g->nblocks; b++) {
		const double samples = b < g->nblocks ? block_samples(l->proc, b) : 1;

		if (b < g->nblocks &&
		    (!(samples > 0) || samples < l->c->cutoff * l->proc->samples)) {
			cold++;
			continue;
		}
		if (cold)
			doc_note(l->d, TERM_DIM, "\n… %u block%s %s …", cold, cold == 1 ? "" : "s",
				 l->c->cutoff > 0 ? "below the cutoff" : "without samples");
		cold = 0;
		if (b < g->nblocks) {
			add_block_head(l, b);
			add_insts(l, b);
		}
	}
}

/* ---- values ---- */

static void add_culprits(const struct listing *l, uint32_t inst, double frequency)
{
	const struct calc_inst *i = &l->proc->insts[inst];

	doc_array(l->d, "culprits");
	for (unsigned k = 0; k < i->nculprits; k++) {
		const struct calc_culprit *c = calc_culprit(l->proc, i, k);

		doc_object(l->d, NULL);
		doc_text(l->d, "cause", words_causes[c->cause].name);
		doc_real(l->d, "bound", isfinite(c->most) ? c->most / frequency : NAN);
		doc_array(l->d, "guilty");
		for (unsigned g = 0; g < c->nguilty; g++)
			doc_format(l->d, NULL, "0x%" PRIx64,
				   l->proc->graph->insts[c->guilty[g]].pc);
		doc_close(l->d);
		doc_close(l->d);
	}
	doc_close(l->d);
	if (!l->m->truth)
		return;
	doc_object(l->d, "true_culprits");
	for (unsigned c = 0; c < CAUSE_COUNT; c++)
		if (l->name->truth[inst].cause[c] > 0)
			doc_real(l->d, words_causes[c].name, l->name->truth[inst].cause[c]);
	doc_close(l->d);
}

static void add_inst_values(const struct listing *l, uint32_t inst, double frequency)
{
	const struct calc_inst *i = &l->proc->insts[inst];

	doc_object(l->d, NULL);
	doc_format(l->d, "pc", "0x%" PRIx64, l->proc->graph->insts[inst].pc);
	doc_real(l->d, "samples", i->count[SAMPLED_CYCLES]);
	doc_real(l->d, "m", scheduled(l->m) ? i->m : NAN);
	doc_real(l->d, "cpi", i->cpi);
	if (l->m->truth) {
		doc_real(l->d, "true_cpi", true_cpi(&l->name->truth[inst]));
		doc_real(l->d, "true_executions", l->name->truth[inst].executions);
	}
	add_culprits(l, inst, frequency);
	doc_close(l->d);
}

static void add_block_values(const struct listing *l, uint32_t block)
{
	const struct cfg *g = l->proc->graph;
	const struct cfg_block *b = &g->blocks[block];
	const struct calc_freq *f = &l->proc->blocks[block];

	doc_object(l->d, NULL);
	doc_format(l->d, "start", "0x%" PRIx64, b->start);
	doc_real(l->d, "frequency", f->value);
	if (l->m->truth)
		doc_real(l->d, "true_frequency", true_frequency(l, block));
	doc_array(l->d, "interval");
	doc_real(l->d, NULL, f->low);
	doc_real(l->d, NULL, f->high);
	doc_close(l->d);
	doc_text(l->d, "confidence", words_confidence[f->confidence].name);
	doc_array(l->d, "edges");
	for (uint32_t k = b->first_out; k < b->first_out + b->nout; k++) {
		doc_object(l->d, NULL);
		if (g->edges[k].to == CFG_OUTSIDE)
			doc_null(l->d, "to");
		else
			doc_format(l->d, "to", "0x%" PRIx64, g->blocks[g->edges[k].to].start);
		doc_text(l->d, "kind", words_cfg[g->edges[k].kind].name);
		doc_real(l->d, "frequency", l->proc->edges[k].value);
		if (l->m->truth)
			doc_real(l->d, "true_frequency", true_edge(l, k));
		doc_close(l->d);
	}
	doc_close(l->d);
	doc_array(l->d, "instructions");
	for (uint32_t i = b->first; i < b->first + b->count; i++)
		add_inst_values(l, i, f->value);
	doc_close(l->d);
	doc_close(l->d);
}

static void add_range(struct doc *d, const char *name, double least, double most)
{
	doc_array(d, name);
	doc_real(d, NULL, least);
	doc_real(d, NULL, most);
	doc_close(d);
}

static void add_summary_values(struct doc *d, const struct calc_summary *s)
{
	for (unsigned c = 0; c < CAUSE_COUNT; c++)
		add_range(d, words_causes[c].name, s->dynamic[c].least, s->dynamic[c].most);
	add_range(d, "unexplained_stall", s->unexplained_stall, s->unexplained_stall);
	add_range(d, "unexplained_gain", s->unexplained_gain, s->unexplained_gain);
	for (unsigned k = STATIC_SLOT; k < STATIC_COUNT; k++)
		add_range(d, words_statics[k].name, s->fixed[k], s->fixed[k]);
	add_range(d, "execution", s->execution, s->execution);
	add_range(d, "net_error", s->net_error, s->net_error);
}

static void add_values(const struct listing *l)
{
	const struct calc_summary s = calc_summarise(&l->m->program, l->proc, l->c->least);
	double truth[CAUSE_COUNT], cpi;

	doc_object(l->d, NULL);
	doc_text(l->d, "symbol", l->name->name);
	doc_real(l->d, "samples", l->proc->samples);
	doc_real(l->d, "best_cpi", scheduled(l->m) ? s.best_cpi : NAN);
	doc_real(l->d, "cpi", relative(l->m) ? NAN : s.cpi);
	doc_object(l->d, "summary");
	if (scheduled(l->m))
		add_summary_values(l->d, &s);
	doc_close(l->d);
	if (calc_true_summary(l->m, l->number, l->c->least, truth, &cpi)) {
		doc_real(l->d, "true_cpi", cpi);
		doc_object(l->d, "true_summary");
		for (unsigned c = 0; c < CAUSE_COUNT; c++)
			doc_real(l->d, words_causes[c].name, truth[c]);
		doc_close(l->d);
	}
	doc_array(l->d, "blocks");
	for (uint32_t b = 0; b < l->proc->graph->nblocks; b++)
		add_block_values(l, b);
	doc_close(l->d);
	doc_close(l->d);
}

/* ---- the summary ---- */

static void add_row(struct doc *d, const char *name, double least, double most, const char *truth)
{
	doc_line(d, NULL, "  %c%-21s %6.1f%% to %6.1f%%%s", toupper((unsigned char)name[0]),
		 name + 1, least, most, truth);
}

static double tenths(double share)
{
	return round(1000 * share) / 10 + 0.0; /* no minus zero */
}

void calc_add_summary(struct doc *d, const struct calc_model *m, uint32_t proc,
		      enum confidence least)
{
	const bool all = proc == UINT32_MAX;
	const struct calc_summary s =
	    calc_summarise(&m->program, all ? NULL : &m->program.procs[proc], least);
	double truth[CAUSE_COUNT], cpi, fixed = 0;
	char words[48] = "", samples[32];
	const bool known = calc_true_summary(m, proc, least, truth, &cpi);

	doc_heading(d, "Where the cycles %s went", all ? "of the program" : "of the procedure");
	if (!(s.included > 0)) {
		doc_line(
		    d, NULL,
		    "  No samples have a frequency of %s confidence; --confidence low shows all.",
		    words_confidence[least].name);
		return;
	}
	if (known)
		snprintf(words, sizeof(words), " (true %.2f)", cpi);
	doc_line(d, NULL, "  Best case %.2f CPI, actual %.2f CPI%s\n", s.best_cpi, s.cpi, words);
	for (unsigned c = 0; c < CAUSE_COUNT; c++) {
		words[0] = '\0';
		if (known)
			snprintf(words, sizeof(words), "   (true %.1f%%)", 100 * truth[c]);
		add_row(d, words_causes[c].words, tenths(s.dynamic[c].least),
			tenths(s.dynamic[c].most), words);
	}
	add_row(d, "Unexplained stall", tenths(s.unexplained_stall), tenths(s.unexplained_stall),
		"");
	add_row(d, "Unexplained gain", tenths(s.unexplained_gain), tenths(s.unexplained_gain), "");
	const double dynamic = tenths(s.dynamic_total), execution = tenths(s.execution);

	doc_line(d, NULL, "  %-38s %10.1f%%\n", "Subtotal dynamic", dynamic);
	for (unsigned k = STATIC_SLOT; k < STATIC_COUNT; k++) {
		doc_line(d, NULL, "  %-22s %6.1f%%", fixed_words[k].row, tenths(s.fixed[k]));
		fixed += tenths(s.fixed[k]);
	}
	doc_line(d, NULL, "  %-38s %10.1f%%", "Subtotal static", fixed);
	doc_line(d, NULL, "  %-38s %10.1f%%", "Total stall", dynamic + fixed);
	doc_line(d, NULL, "  %-38s %10.1f%%", "Execution", execution);
	doc_line(d, NULL, "  %-38s %10.1f%%", "Net sampling error",
		 round(10 * (100 - dynamic - fixed - execution)) / 10 + 0.0);
	doc_line(d, NULL, "  %-38s %10.1f%%", "Total tallied", 100.0);
	doc_line(d, NULL, "  (%s samples, %.1f%% of all: frequencies of at least %s confidence)",
		 number_commas((uint64_t)(s.included * s.samples + 0.5), samples), 100 * s.included,
		 words_confidence[least].name);
}

void calc_add_proc(struct doc *d, const struct view_options *o, struct calc_model *m,
		   const struct calc_options_view *c, uint32_t proc)
{
	struct listing l = { .d = d,
			     .o = o,
			     .m = m,
			     .c = c,
			     .number = proc,
			     .proc = &m->program.procs[proc],
			     .name = &m->names[proc] };
	char line[24] = "";

	if (o->format != VIEW_TEXT) {
		add_values(&l);
		return;
	}
	calc_texts(m, proc);
	l.sources = sources_new();
	if (l.name->file && l.name->line > 0)
		snprintf(line, sizeof(line), ":%d", l.name->line);
	doc_blank(d);
	doc_line(d, l.name->name, "  %s%s  %.2f%% of all samples",
		 l.name->file	 ? l.name->file
		 : l.name->image ? l.name->image
				 : "",
		 line, m->samples > 0 ? 100 * l.proc->samples / m->samples : 0);
	if (l.proc->graph->missing)
		doc_line(d, NULL,
			 "Some of its jumps go to places that are not known: each block is "
			 "estimated by itself.");
	add_blocks_text(&l);
	if (scheduled(m))
		calc_add_summary(d, m, proc, c->least);
	sources_free(l.sources);
}

void calc_add_csv(struct doc *d, struct calc_model *m, const uint32_t *procs, size_t count)
{
	const bool truth = m->truth;
	const struct doc_column columns[] = {
		{ .csv = "symbol" },
		{ .csv = "block" },
		{ .csv = "pc" },
		{ .csv = "disasm" },
		{ .csv = "frequency", .csv_format = "%.3f" },
		{ .csv = "low", .csv_format = "%.3f" },
		{ .csv = "high", .csv_format = "%.3f" },
		{ .csv = "confidence" },
		{ .csv = "samples", .csv_format = "%.0f" },
		{ .csv = "m", .csv_format = "%.4f" },
		{ .csv = "cpi", .csv_format = "%.4f" },
		{ .csv = "culprits" },
		{ .csv = truth ? "true_frequency" : NULL, .csv_format = "%.0f" },
		{ .csv = truth ? "true_cpi" : NULL, .csv_format = "%.4f" },
		{ .csv = truth ? "true_culprits" : NULL },
	};
	struct doc_table *t = DOC_TABLE(d, columns, .key = NULL);

	for (size_t k = 0; k < count; k++) {
		const struct calc_proc *p = &m->program.procs[procs[k]];
		const struct calc_name *n = &m->names[procs[k]];

		calc_texts(m, procs[k]);
		for (uint32_t i = 0; i < p->graph->ninsts; i++) {
			const uint32_t b = cfg_block_of(p->graph, i);
			const struct calc_freq *f = &p->blocks[b];
			char letters[CAUSE_COUNT + 1], causes[160];

			doc_row(t);
			cell_text(t, n->name);
			cell_format(t, "0x%" PRIx64, p->graph->blocks[b].start);
			cell_format(t, "0x%" PRIx64, p->graph->insts[i].pc);
			cell_text(t, n->texts[i].disasm);
			CELL_REAL_IF(t, !isnan(f->value), f->value);
			CELL_REAL_IF(t, !isnan(f->value), f->low);
			CELL_REAL_IF(t, !isnan(f->value), f->high);
			cell_text(t, words_confidence[f->confidence].name);
			cell_real(t, p->insts[i].count[SAMPLED_CYCLES]);
			CELL_REAL_IF(t, scheduled(m), p->insts[i].m);
			CELL_REAL_IF(t, !isnan(p->insts[i].cpi), p->insts[i].cpi);
			cell_text(t, calc_letters(p, &p->insts[i], false, letters));
			CELL_REAL_IF(t, truth, n->truth[i].executions);
			CELL_REAL_IF(t, truth && !isnan(true_cpi(&n->truth[i])),
				     true_cpi(&n->truth[i]));
			cell_text(t, truth ? calc_true_causes(&n->truth[i], causes, sizeof(causes))
					   : NULL);
		}
	}
}

/* SPDX-License-Identifier: MIT */
/*
 * Shows functions of a live profile line by line, as dcpilist does: source where its files can be
 * read, and every instruction with its samples of each event, its address in its own file and its
 * jumps. Without a name it shows the hottest functions, hottest first.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "view/jumps.h"
#include "view/live.h"
#include "view/model.h"
#include "view/source.h"

/* A longer run of instructions without samples becomes one line. */
#define COLD_RUN     6
#define EVENTS_SHOWN 4
#define LEFT	     10 /* columns of samples */

struct listing {
	const struct live_model *m;
	const struct live_function *c;
	const char *symbol; /* as the view names it */
	struct jumps *jumps;
	struct doc_column *columns;
	size_t ncolumns;
	int address; /* columns of an address */
	int left;    /* columns before the jumps */
};

static bool cold(const struct listing *l, size_t i)
{
	for (size_t k = 0; k < l->m->nevents; k++)
		if (l->c->insts[i].samples[k])
			return false;
	return true;
}

static size_t shown_events(const struct live_model *m)
{
	return m->nevents < EVENTS_SHOWN ? m->nevents : EVENTS_SHOWN;
}

static void open_listing(struct listing *l, const struct view_options *o)
{
	const size_t n = l->c->count, events = shown_events(l->m);
	uint64_t *pcs = x_calloc(n + 1, sizeof(*pcs)), *targets = x_calloc(n + 1, sizeof(*targets));

	for (size_t i = 0; i < n; i++) {
		pcs[i] = l->c->insts[i].pc;
		targets[i] = l->c->insts[i].target;
	}
	l->jumps = jumps_new(pcs, targets, n);
	free(pcs);
	free(targets);
	char last[32];
	const int digits =
	    snprintf(last, sizeof(last), "%" PRIx64, n ? l->c->insts[n - 1].address : 0);

	l->address = digits > 9 ? digits : 9;
	l->left = (int)events * (LEFT + 1) + 9 + l->address + 2;
	const int lanes = jumps_lanes(l->jumps), rest = o->width - l->left - lanes - 1,
		  text = rest > 30 ? rest : 30;
	const struct doc_column fixed[] = {
		{ DOC_DATA("address") },
		{ .csv = "symbol" },
		{ DOC_DATA("disasm") },
		{ DOC_DATA("source") },
		{ .key = "samples" },
		{ .key = "taken" },
		{ .key = "not_taken" },
		{ .head = "%", .format = "%.2f%%", .width = 8 },
		{ .head = "address", .width = l->address, .colour = TERM_DIM },
		{ .width = -(lanes + 1) },
		{ .width = -text, .ragged = true, .name = true },
	};

	for (size_t i = 0; i < ARRAY_LEN(fixed); i++) {
		if (i == 7)
			for (size_t k = 0; k < events; k++)
				*ARRAY_ADD(l->columns, l->ncolumns) =
				    (struct doc_column){ .head = l->m->events[k].name,
							 .csv = l->m->events[k].name,
							 .width = LEFT };
		*ARRAY_ADD(l->columns, l->ncolumns) = fixed[i];
	}
}

static void close_listing(struct listing *l)
{
	jumps_free(l->jumps);
	free(l->columns);
}

static void add_source(struct doc_table *t, const struct listing *l, const struct view_options *o,
		       struct sources *sources, size_t i)
{
	const struct live_inst *in = &l->c->insts[i];
	const char *text = sources_line(sources, in->file, in->line);
	char lanes[64], place[96], cut[512];

	jumps_draw(l->jumps, i, 0, lanes);
	snprintf(place, sizeof(place), "%.40s%s%s%s%d", in->inlined ? in->inlined : "",
		 in->inlined ? ":" : "", text ? "" : path_name(in->file), text ? "" : ":",
		 in->line);
	cut[0] = '\0';
	if (text)
		term_cut_source(text,
				o->width - l->left - jumps_lanes(l->jumps) - 4 - (int)strlen(place),
				cut, sizeof(cut));
	doc_above(t, TERM_CYAN, "%*s%s %s%s%s", l->left, "", lanes, place, *cut ? "  " : "", cut);
}

/* "je 26460 <f+0x10>" with the operands in a column, and how often a branch was taken. */
static void disasm_line(const struct live_inst *in, char *buf, size_t size_bytes)
{
	const char *disasm = in->disasm && *in->disasm ? in->disasm : "-";
	const size_t n = strcspn(disasm, "\t ");
	int used = snprintf(buf, size_bytes, disasm[n] ? "%-7.*s %s" : "%.*s%s", (int)n, disasm,
			    disasm[n] ? disasm + n + 1 : "");

	if (in->taken + in->not_taken && (size_t)used < size_bytes)
		snprintf(buf + used, size_bytes - (size_t)used, "  taken %.1f%% of %" PRIu64,
			 100 * (double)in->taken / (double)(in->taken + in->not_taken),
			 in->taken + in->not_taken);
}

static void put_inst(struct doc_table *t, const struct listing *l, size_t i)
{
	const struct live_inst *in = &l->c->insts[i];
	const uint64_t all = l->m->nevents ? l->m->events[0].selected : 0;
	char line[256], lanes[64];

	doc_row(t);
	cell_format(t, "0x%" PRIx64, in->address);
	cell_text(t, l->symbol);
	cell_text(t, in->disasm ? in->disasm : "");
	model_source_cell(t, in->file, in->line);
	cell_map(t);
	for (size_t k = 0; k < l->m->nevents; k++)
		cell_put(t, l->m->events[k].name, (double)in->samples[k]);
	cell_integer(t, (int64_t)in->taken);
	cell_integer(t, (int64_t)in->not_taken);
	for (size_t k = 0; k < shown_events(l->m); k++) {
		if (in->samples[k])
			cell_integer(t, (int64_t)in->samples[k]);
		else
			cell_words(t, "");
	}
	const double share = all ? (double)in->samples[0] / (double)all : 0;

	if (share >= 0.00005) {
		cell_real(t, 100 * share);
		cell_colour(t, share >= 0.05 ? TERM_RED : share >= 0.01 ? TERM_YELLOW : TERM_PLAIN);
	} else {
		cell_words(t, "");
	}
	cell_format(t, "%*" PRIx64, l->address, in->address);
	jumps_draw(l->jumps, i, 1, lanes);
	cell_text(t, lanes);
	disasm_line(in, line, sizeof(line));
	cell_code(t, line);
}

static void add_instructions(struct doc_table *t, const struct listing *l,
			     const struct view_options *o, struct sources *sources)
{
	const char *file = NULL;
	int line = 0;

	for (size_t i = 0, run; i < l->c->count; i++) {
		const struct live_inst *in = &l->c->insts[i];

		for (run = 0; i + run < l->c->count && cold(l, i + run);)
			run++;
		if (run > COLD_RUN) {
			doc_above(t, TERM_DIM, "%*s… %zu instructions without samples …", l->left,
				  "", run);
			for (; run; run--, i++) {
				put_inst(t, l, i);
				doc_hide(t);
			}
			i--;
			file = NULL;
			continue;
		}
		if (in->file && in->line && (!file || strcmp(file, in->file) || line != in->line)) {
			add_source(t, l, o, sources, i);
			file = in->file;
			line = in->line;
		}
		put_inst(t, l, i);
	}
}

static void add_listing(struct doc *d, struct listing *l, const struct live_row *r,
			const struct view_options *o, struct sources *sources)
{
	const struct live_function *c = l->c;
	const uint64_t all = l->m->nevents ? l->m->events[0].selected : 0;
	const double share = all ? (double)r->samples[0] / (double)all : 0;
	char line[24] = "", number[32];

	if (c->file && c->line)
		snprintf(line, sizeof(line), ":%d", c->line);
	doc_blank(d);
	doc_line(d, r->name, "  %s  %s%s%s%s samples, %.2f%%", r->image ? r->image : "",
		 c->file ? c->file : "", line, c->file ? "  " : "",
		 number_commas(l->m->nevents ? r->samples[0] : 0, number), 100 * share);
	doc_object(d, NULL);
	doc_text(d, "symbol", r->name);
	doc_text(d, "image", r->image ? r->image : "");
	doc_real(d, "share", share);
	struct doc_table *t =
	    doc_table(d, l->columns, l->ncolumns,
		      &(struct doc_table_options){ .key = "instructions", .heads = true });

	add_instructions(t, l, o, sources);
	doc_close(d);
}

/* Where an interrupt finds the program is later than where the event happened. */
static void add_skid(struct doc *d, const struct live_model *m)
{
	bool precise = m->nevents > 0;

	for (size_t i = 0; i < m->nevents; i++)
		precise = precise && strstr(m->events[i].name, ":p");
	if (!precise)
		doc_line(d, NULL,
			 "Skid: an interrupt comes after the instruction that caused it, so that "
			 "samples stand at the next one or a few below.");
}

static bool is_wanted(const struct live_row *r, const struct live_model *m,
		      const struct view_options *o, size_t shown)
{
	if (r->id < 0)
		return false;
	if (o->function)
		return strcmp(r->name, o->function) == 0;
	return !shown || (double)r->samples[0] >= 0.01 * (double)live_total(m);
}

bool live_annotate(struct store *s, const struct view_options *o, struct err *e)
{
	struct live_model m;
	struct sources *sources = sources_new();
	struct doc *d = doc_new();
	size_t shown = 0;
	bool ok = live_read(s, o, LIVE_BY_PROCEDURE, &m, e);

	if (!ok) {
		doc_free(d);
		sources_free(sources);
		return false;
	}
	doc_array(d, NULL);
	add_skid(d, &m);
	for (size_t i = 0; ok && i < m.nrows && shown < (size_t)o->limit; i++) {
		struct live_function c;

		if (!is_wanted(&m.rows[i], &m, o, shown))
			continue;
		ok = live_read_code(s, o, &m, m.rows[i].id, &c, e);
		if (!ok)
			break;
		struct listing l = { .m = &m, .c = &c, .symbol = m.rows[i].name };

		open_listing(&l, o);
		add_listing(d, &l, &m.rows[i], o, sources);
		close_listing(&l);
		live_free_code(&c);
		shown++;
	}
	if (ok && !shown)
		ok = err_set(e,
			     "no function '%s' has any samples in %s%s; `culprit report` lists "
			     "those that have",
			     o->function ? o->function : "", store_path(s), m.filter);
	ok = ok && doc_print(d, o, e);
	doc_free(d);
	sources_free(sources);
	live_free(&m);
	return ok;
}

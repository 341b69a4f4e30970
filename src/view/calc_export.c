/* SPDX-License-Identifier: MIT */
/*
 * Estimates for other tools: graphs for Graphviz, and edges for BOLT.
 *
 * BOLT's fdata has a line for each edge with executions, `1 FROM OFFSET 1 TO OFFSET MISPREDICTED
 * COUNT`: function names and hexadecimal offsets of the transfer and of its target. It holds
 * transfers inside of functions, what falls through a conditional branch, and direct calls. Nothing
 * was mispredicted as far as samples can tell. Frequencies of a live machine are relative; they are
 * scaled so that the rarest edge with any has 1, within what a count can be.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "view/calc_int.h"

/* ---- Graphviz ---- */

/* Names in quotes: what would end the quotes is left out. */
static void put_quoted(FILE *out, const char *text)
{
	for (; *text; text++)
		if (*text != '"' && *text != '\\')
			fputc(*text, out);
}

static void dot_block(FILE *out, const struct calc_model *m, uint32_t proc, uint32_t b)
{
	const struct calc_proc *p = &m->program.procs[proc];
	const struct cfg_block *block = &p->graph->blocks[b];
	const struct calc_freq *f = &p->blocks[b];
	double cycles = 0, samples = 0;
	char count[CALC_HUMAN], truth[CALC_HUMAN];

	for (uint32_t i = block->first; i < block->first + block->count; i++) {
		cycles += p->insts[i].cpi;
		samples += p->insts[i].count[SAMPLED_CYCLES];
	}
	fprintf(out, "    p%u_%u [label=\"%" PRIx64 "\\n%s times", proc, b, block->start,
		calc_human(f->value, count));
	if (m->truth)
		fprintf(out, " (true %s)",
			calc_human(m->names[proc].truth[block->first].executions, truth));
	if (!isnan(cycles) && m->program.sampling.mode != CALC_RELATIVE)
		fprintf(out, "\\n%.2f CPI", cycles / block->count);
	fprintf(out, "\\n%.0f samples\"", samples);
	if (p->samples > 0)
		fprintf(out, ", fillcolor=\"0 %.3f 1\"", fmin(samples / p->samples, 1));
	fputs("];\n", out);
}

static void dot_edge(FILE *out, const struct calc_model *m, uint32_t proc, uint32_t k)
{
	const struct calc_proc *p = &m->program.procs[proc];
	const struct cfg_edge *d = &p->graph->edges[k];
	char count[CALC_HUMAN];

	if (d->from == CFG_OUTSIDE)
		fprintf(out, "    p%u_in -> p%u_%u", proc, proc, d->to);
	else if (d->to == CFG_OUTSIDE)
		fprintf(out, "    p%u_%u -> p%u_out", proc, d->from, proc);
	else
		fprintf(out, "    p%u_%u -> p%u_%u", proc, d->from, proc, d->to);
	fprintf(out, " [label=\"%s\"%s];\n", calc_human(p->edges[k].value, count),
		d->kind == CFG_FALL	 ? ""
		: d->kind == CFG_MISSING ? ", style=dotted"
					 : ", style=dashed");
}

bool calc_print_dot(const struct view_options *o, struct calc_model *m, const uint32_t *procs,
		    size_t count)
{
	fputs("digraph calc {\n  node [shape=box, fontname=\"monospace\", style=filled, "
	      "fillcolor=white];\n",
	      o->out);
	for (size_t k = 0; k < count; k++) {
		const struct calc_proc *p = &m->program.procs[procs[k]];

		fprintf(o->out, "  subgraph cluster_%u {\n    label=\"", procs[k]);
		put_quoted(o->out, m->names[procs[k]].name);
		fprintf(o->out,
			"\";\n    p%u_in [label=entry, shape=plain];\n"
			"    p%u_out [label=exit, shape=plain];\n",
			procs[k], procs[k]);
		for (uint32_t b = 0; b < p->graph->nblocks; b++)
			dot_block(o->out, m, procs[k], b);
		for (uint32_t e = 0; e < p->graph->nedges; e++)
			dot_edge(o->out, m, procs[k], e);
		fputs("  }\n", o->out);
	}
	return fputs("}\n", o->out) != EOF;
}

/* ---- BOLT ---- */

/* A name as fdata has it: a blank or a backslash gets a backslash before it. */
static void put_name(FILE *out, const char *name)
{
	for (; *name; name++) {
		if (*name == ' ' || *name == '\\')
			fputc('\\', out);
		fputc(*name, out);
	}
}

struct fdata {
	FILE *out;
	const struct calc_model *m;
	double scale;
	uint64_t lines;
};

static void put_edge(struct fdata *f, const char *from, uint64_t from_offset, const char *to,
		     uint64_t to_offset, double frequency)
{
	const double count = round(frequency * f->scale);

	if (!(count >= 1) || !(count < 9e18))
		return;
	fputs("1 ", f->out);
	put_name(f->out, from);
	fprintf(f->out, " %" PRIx64 " 1 ", from_offset);
	put_name(f->out, to);
	fprintf(f->out, " %" PRIx64 " 0 %.0f\n", to_offset, count);
	f->lines++;
}

/* Whether an address lies behind the start of its function; a split part has a symbol of its own,
 * which the graph does not name. */
static bool offset_of(const struct cfg *g, uint64_t pc, uint64_t *offset)
{
	uint64_t end = g->start;

	/* the part that begins at the start: blocks without a large gap between them */
	for (uint32_t b = 0; b < g->nblocks; b++)
		if (g->blocks[b].start >= g->start && g->blocks[b].start <= end + 64)
			end = g->blocks[b].end > end ? g->blocks[b].end : end;
	*offset = pc - g->start;
	return pc >= g->start && pc < end;
}

static const struct calc_name *callee_of(const struct calc_model *m, uint64_t start)
{
	for (uint32_t i = 0; i < m->program.nprocs; i++)
		if (m->names[i].graph->start == start)
			return &m->names[i];
	return NULL;
}

static void put_block(struct fdata *f, uint32_t proc, uint32_t b)
{
	const struct calc_proc *p = &f->m->program.procs[proc];
	const struct calc_name *n = &f->m->names[proc];
	const struct cfg *g = p->graph;
	const struct cfg_block *block = &g->blocks[b];
	const struct cfg_inst *last = &g->insts[block->first + block->count - 1];
	uint64_t from, to;

	if (!offset_of(g, last->pc, &from))
		return;
	if (block->flags & CFG_BLOCK_CALLS) {
		const struct calc_name *callee =
		    block->callee ? callee_of(f->m, block->callee) : NULL;

		if (callee)
			put_edge(f, n->name, from, callee->name, 0, p->blocks[b].value);
		return;
	}
	if (last->flow != IMAGE_BRANCH && last->flow != IMAGE_JUMP)
		return;
	for (uint32_t k = block->first_out; k < block->first_out + block->nout; k++)
		if (g->edges[k].to != CFG_OUTSIDE &&
		    offset_of(g, g->blocks[g->edges[k].to].start, &to))
			put_edge(f, n->name, from, n->name, to, p->edges[k].value);
}

/* What makes a relative frequency a count: the rarest edge gets 1, the most frequent at most 10^12. */
static double fdata_scale(const struct calc_model *m)
{
	double least = INFINITY, most = 0;

	if (m->program.sampling.mode != CALC_RELATIVE)
		return 1;
	for (uint32_t i = 0; i < m->program.nprocs; i++)
		for (uint32_t k = 0; k < m->names[i].graph->nedges; k++) {
			const double f = m->program.procs[i].edges[k].value;

			if (f > 0) {
				least = fmin(least, f);
				most = fmax(most, f);
			}
		}
	return most > 0 ? fmin(1 / least, 1e12 / most) : 1;
}

bool calc_print_fdata(const struct view_options *o, const struct calc_model *m, struct err *e)
{
	struct fdata f = { .out = o->out, .m = m, .scale = fdata_scale(m) };

	for (uint32_t i = 0; i < m->program.nprocs; i++)
		for (uint32_t b = 0; b < m->names[i].graph->nblocks; b++)
			put_block(&f, i, b);
	return f.lines ||
	       err_set(e,
		       "%s: no edge was executed as far as its samples tell; profile for "
		       "longer or sample more often",
		       store_path(m->store));
}

/* SPDX-License-Identifier: MIT */
/*
 * The spectrum beside the other analyses of the same run: what each says data misses cost, for the
 * run and load by load, and whether pairs of loads that overlap interact as the graph says.
 * docs/spectrum.md says why they differ. A method whose analysis the store does not have, or that
 * was not simulated, has no row.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "view/model.h"
#include "view/spectrum.h"

#define FEW_CYCLES 1.0 /* an interaction of less says nothing */

static double real_of(struct store *s, const char *sql, bool *known)
{
	struct store_rows r = store_query(s, sql, "");

	*known = store_next(&r) && !store_is_null(&r, 0);
	const double value = *known ? store_double(&r, 0) : 0;
	return store_done(&r, NULL) ? value : 0;
}

static void add_method(struct spectrum_compare *c, const char *key, const char *name, bool known,
		       double cycles)
{
	if (known && c->nmethods < ARRAY_LEN(c->methods))
		c->methods[c->nmethods++] = (struct spectrum_method){ key, name, cycles };
}

static void read_methods(struct store *s, struct spectrum_compare *c)
{
	static const char stack[] =
	    "SELECT sum(c.units) * 1.0 / m.scale FROM cpi_component c JOIN cpi_method m ON m.id = "
	    "c.method WHERE c.phase = -1 AND m.name = 'fmt' AND c.component IN ('L1 D-cache', "
	    "'L2 D-cache')";
	static const char golden[] =
	    "SELECT sum(units) * 1.0 / (SELECT value FROM run WHERE key = 'scale') FROM golden "
	    "WHERE events & %u";
	char text[256];
	bool known;
	double cycles = real_of(
	    s,
	    "SELECT sum(exposed) FROM spectrum_load WHERE clustering = 0 AND kind IN " DATA_KINDS,
	    &known);

	add_method(c, "net", "net cost of data misses", known, cycles);
	cycles =
	    real_of(s,
		    "SELECT sum(m.misses * l.latency) FROM spectrum_miss m JOIN spectrum_level l "
		    "ON l.level = m.level WHERE l.clustering = 0 AND m.kind IN " DATA_KINDS,
		    &known);
	add_method(c, "misses_latency", "misses * latency", known, cycles);
	snprintf(text, sizeof(text), golden, 1u << EVENT_ST_L1 | 1u << EVENT_ST_LLC);
	cycles = real_of(s, text, &known);
	add_method(c, "golden", "golden reference: time with ST-L1 or ST-LLC", known, cycles);
	cycles = real_of(s, stack, &known);
	add_method(c, "fmt", "FMT's stack: L1D + L2D", known, cycles);
	cycles = real_of(s, "SELECT cost FROM icost WHERE phase = -1 AND name = 'dmiss'", &known);
	add_method(c, "icost", "the graph's cost of dmiss", known, cycles);
}

static bool read_loads(struct store *s, size_t most, struct spectrum_compare *c, struct err *e)
{
	struct store_rows r = store_query(
	    s,
	    "SELECT l.pc, sum(l.exposed), sum(l.even), sum(l.level0 + l.level1 + l.level2), "
	    "sum(l.level0 * (SELECT latency FROM spectrum_level WHERE clustering = 0 AND level = "
	    "0) + l.level1 * coalesce((SELECT latency FROM spectrum_level WHERE clustering = 0 AND "
	    "level = 1), 0) + l.level2 * coalesce((SELECT latency FROM spectrum_level WHERE "
	    "clustering = 0 AND level = 2), 0)), "
	    "(SELECT sum(units) * 1.0 / (SELECT value FROM run WHERE key = 'scale') FROM golden g "
	    "WHERE g.pc = l.pc AND events & ?2 AND NOT events & ?3), "
	    "(SELECT sum(units) * 1.0 / (SELECT value FROM run WHERE key = 'scale') FROM golden g "
	    "WHERE g.pc = l.pc AND events & ?3), "
	    "(SELECT miss FROM icost_instruction i WHERE i.pc = l.pc), i.file, i.line, f.name, "
	    "f.start FROM spectrum_load l LEFT JOIN instruction i ON i.pc = l.pc LEFT JOIN "
	    "function f ON f.id = i.function WHERE l.clustering = 0 AND l.kind IN " DATA_KINDS
	    " GROUP BY l.pc ORDER BY sum(l.exposed) DESC, l.pc LIMIT ?1",
	    "iii", (int64_t)most, (int64_t)1 << EVENT_ST_L1, (int64_t)1 << EVENT_ST_LLC);

	c->loads = x_calloc(most + 1, sizeof(*c->loads));
	while (c->nloads < most && store_next(&r)) {
		struct spectrum_compared *l = &c->loads[c->nloads++];
		struct spectrum_load where = { .pc = (uint64_t)store_int(&r, 0),
					       .file = (char *)store_shown(&r, 8),
					       .line = (int)store_int(&r, 9),
					       .function = (char *)store_shown(&r, 10),
					       .function_start = (uint64_t)store_int(&r, 11) };

		l->pc = where.pc;
		l->net = store_int(&r, 1);
		l->even = store_int(&r, 2);
		l->misses = (uint64_t)store_int(&r, 3);
		l->latency = store_int(&r, 4);
		for (int k = 0; k < 3; k++) {
			l->known[k] = !store_is_null(&r, 5 + k);
			l->cycles[k] = store_double(&r, 5 + k);
		}
		spectrum_place(&where, l->place);
	}
	return store_done(&r, e);
}

static bool read_pairs(struct store *s, struct spectrum_compare *c, struct err *e)
{
	struct store_rows r = store_query(
	    s,
	    "SELECT a.pc, b.pc, sum(p.overlapped), sum(p.serial), q.icost FROM spectrum_pair p "
	    "JOIN spectrum_load a ON a.clustering = 0 AND a.id = p.first JOIN spectrum_load b ON "
	    "b.clustering = 0 AND b.id = p.second JOIN icost_pair q ON q.kind_a = 'miss' AND "
	    "q.kind_b = 'miss' AND q.pc_a = min(a.pc, b.pc) AND q.pc_b = max(a.pc, b.pc) WHERE "
	    "p.clustering = 0 AND a.pc <> b.pc GROUP BY min(a.pc, b.pc), max(a.pc, b.pc) ORDER BY "
	    "abs(q.icost) DESC LIMIT 64",
	    "");

	while (c->npairs < ARRAY_LEN(c->pairs) && store_next(&r)) {
		struct spectrum_interaction *p = &c->pairs[c->npairs];
		size_t found = 0;

		p->overlapped = (uint64_t)store_int(&r, 2);
		p->serial = (uint64_t)store_int(&r, 3);
		p->icost = store_double(&r, 4);
		for (size_t i = 0; i < c->nloads; i++)
			for (int k = 0; k < 2; k++)
				if (c->loads[i].pc == (uint64_t)store_int(&r, k)) {
					p->load[k] = i;
					found |= 1u << k;
				}
		c->npairs += found == 3;
	}
	return store_done(&r, e);
}

bool spectrum_compare_read(struct store *s, size_t most, struct spectrum_compare *c, struct err *e)
{
	*c = (struct spectrum_compare){ 0 };
	read_methods(s, c);
	c->whole = store_number(s, "SELECT count(*) FROM golden", 0) &&
		   store_number(s, "SELECT count(*) FROM cpi_method", 0) &&
		   store_number(s, "SELECT count(*) FROM icost", 0);
	return read_loads(s, most, c, e) && read_pairs(s, c, e);
}

void spectrum_compare_simulated(struct spectrum_compare *c, const char *key, const char *name,
				double cycles)
{
	add_method(c, key, name, true, cycles);
}

void spectrum_compare_free(struct spectrum_compare *c)
{
	free(c->loads);
}

/* ---- the document ---- */

static void add_methods(struct doc *d, const struct spectrum_compare *c, double adder)
{
	static const struct doc_column columns[] = {
		{ .before = "  ", .width = -46 },
		{ .format = "%.0f", .width = 14 },
		{ .format = "%.1f%%", .factor = 100, .width = 9 },
		{ .before = " ", .width = -12, .colour = TERM_DIM },
	};
	struct doc_table *t =
	    doc_table(d, columns, ARRAY_LEN(columns), &(struct doc_table_options){ 0 });

	doc_object(d, "compared");
	for (size_t i = 0; i < c->nmethods; i++) {
		const struct spectrum_method *m = &c->methods[i];

		doc_row(t);
		cell_text(t, m->name);
		cell_real(t, m->cycles);
		cell_real(t, share_of(m->cycles, adder));
		cell_text(t, i ? "" : "of the adder");
		doc_real(d, m->key, m->cycles);
	}
	doc_close(d);
}

static void add_compared_loads(struct doc *d, const struct spectrum_compare *c)
{
	static const struct doc_column columns[] = {
		{ .key = "place",
		  .head = "Cycles of misses at",
		  .before = "  ",
		  .width = -26,
		  .name = true },
		{ .key = "misses", .head = "misses", .width = 8 },
		{ .key = "net", .head = "net", .format = "%.0f", .width = 10 },
		{ .key = "even", .head = "even", .format = "%.0f", .width = 10 },
		{ .key = "st_l1", .head = "ST-L1", .format = "%.0f", .width = 9 },
		{ .key = "st_llc", .head = "ST-LLC", .format = "%.0f", .width = 10 },
		{ .key = "graph", .head = "graph", .format = "%.0f", .width = 10 },
		{ .key = "simulated", .head = "simulated", .format = "%.0f", .width = 10 },
		{ .key = "misses_latency", .head = "* latency", .format = "%.0f", .width = 10 },
	};

	doc_blank(d);
	struct doc_table *t =
	    doc_table(d, columns, ARRAY_LEN(columns),
		      &(struct doc_table_options){ .key = "compared_loads", .heads = c->nloads });
	for (size_t i = 0; i < c->nloads; i++) {
		const struct spectrum_compared *l = &c->loads[i];

		doc_row(t);
		cell_text(t, l->place);
		cell_integer(t, (int64_t)l->misses);
		cell_integer(t, l->net);
		cell_integer(t, l->even);
		for (int k = 0; k < 3; k++)
			CELL_REAL_IF(t, l->known[k], l->cycles[k]);
		CELL_REAL_IF(t, l->simulated, l->saved);
		cell_integer(t, l->latency);
	}
}

/* Overlapped misses should interact in parallel (above zero), those in series not. */
static const char *verdict(const struct spectrum_interaction *p)
{
	const bool overlap = p->overlapped > p->serial;

	if (p->icost > -FEW_CYCLES && p->icost < FEW_CYCLES)
		return "none";
	return overlap == (p->icost > 0) ? "agrees" : "differs";
}

static void add_interactions(struct doc *d, const struct spectrum_compare *c)
{
	static const struct doc_column columns[] = {
		{ .key = "first", .head = "Interactions", .before = "  ", .width = -26 },
		{ .key = "second", .width = -26 },
		{ .key = "times", .head = "times", .width = 8 },
		{ .key = "overlap",
		  .head = "overlap",
		  .format = "%.0f%%",
		  .factor = 100,
		  .width = 8 },
		{ .key = "icost", .head = "icost", .format = "%+.0f", .width = 10 },
		{ .key = "sign", .head = "sign", .before = "  ", .width = -8 },
	};

	if (c->npairs)
		doc_blank(d);
	struct doc_table *t =
	    doc_table(d, columns, ARRAY_LEN(columns),
		      &(struct doc_table_options){ .key = "interactions", .heads = c->npairs });
	for (size_t i = 0; i < c->npairs; i++) {
		const struct spectrum_interaction *p = &c->pairs[i];
		const uint64_t n = p->overlapped + p->serial;

		doc_row(t);
		cell_text(t, c->loads[p->load[0]].place);
		cell_text(t, c->loads[p->load[1]].place);
		cell_integer(t, (int64_t)n);
		cell_real(t, share_of((double)p->overlapped, (double)n));
		cell_real(t, p->icost);
		cell_text(t, verdict(p));
	}
}

void spectrum_add_compared(struct doc *d, const struct spectrum_compare *c,
			   const struct spectrum_model *m)
{
	doc_heading(d, "What data misses cost, by each analysis of this run");
	add_methods(d, c, (double)m->adder);
	add_compared_loads(d, c);
	add_interactions(d, c);
	if (!c->whole)
		doc_note(d, TERM_DIM,
			 "  More columns: culprit sim --analyze profile,cpistack,icost,spectrum");
}

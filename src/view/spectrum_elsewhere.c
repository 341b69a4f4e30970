/* SPDX-License-Identifier: MIT */
/*
 * What other views show of a spectrum: `annotate` what the misses of each instruction cost,
 * `report` a finding, `diff` what changed.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/number.h"
#include "view/spectrum_elsewhere.h"

#define MIN_SHARE    0.04 /* of the run's cycles: below, a load gets no finding */
#define SIZES_APART  6	  /* in a diff; larger ones are one row */
#define PAIRS_LOOKED 10	  /* pairs that may get a finding */

bool spectrum_is_there(struct store *s)
{
	return store_number(s, "SELECT count(*) FROM spectrum WHERE clustering = 0", 0);
}

/* ---- annotate ---- */

bool spectrum_insts_read(struct store *s, struct spectrum_insts *out, struct err *e)
{
	*out = (struct spectrum_insts){ 0 };
	if (!spectrum_is_there(s))
		return err_set(e,
			       "%s has no spectrum; 'culprit sim --analyze profile,spectrum' makes "
			       "one",
			       store_path(s));
	struct store_rows r = store_query(
	    s, "SELECT name FROM spectrum_level WHERE clustering = 0 ORDER BY level", "");

	while (out->nlevels < SPECTRUM_MODEL_LEVELS && store_next(&r))
		snprintf(out->level[out->nlevels++], sizeof(out->level[0]), "%s",
			 store_shown(&r, 0));
	if (!store_done(&r, e))
		return false;
	out->list = x_calloc(
	    (size_t)store_number(s, "SELECT count(*) FROM spectrum_load WHERE clustering = 0", 0) +
		1,
	    sizeof(*out->list));
	r = store_query(s,
			"SELECT pc, sum(level0), sum(level1), sum(level2), sum(exposed), "
			"sum(hidden) FROM spectrum_load WHERE clustering = 0 GROUP BY pc ORDER BY "
			"pc",
			"");
	while (store_next(&r)) {
		struct spectrum_inst *i = &out->list[out->count++];

		i->pc = (uint64_t)store_int(&r, 0);
		for (int k = 0; k < SPECTRUM_MODEL_LEVELS; k++) {
			i->level[k] = (uint64_t)store_int(&r, 1 + k);
			i->misses += i->level[k];
		}
		i->net = store_int(&r, 4);
		i->hidden = (uint64_t)store_int(&r, 5);
	}
	return store_done(&r, e);
}

void spectrum_insts_free(struct spectrum_insts *l)
{
	free(l->list);
}

static int by_pc(const void *key, const void *inst)
{
	const uint64_t pc = *(const uint64_t *)key;
	const struct spectrum_inst *i = inst;

	return (pc > i->pc) - (pc < i->pc);
}

const struct spectrum_inst *spectrum_inst_at(const struct spectrum_insts *l, uint64_t pc)
{
	const struct spectrum_inst *i =
	    l->count ? bsearch(&pc, l->list, l->count, sizeof(*l->list), by_pc) : NULL;

	return i && i->misses ? i : NULL;
}

/* ---- report ---- */

static void load_sentence(const struct spectrum_model *m, const struct spectrum_load *l, char *text,
			  size_t size)
{
	char place[SPECTRUM_PLACE];
	const double n = (double)l->misses;

	spectrum_place(l, place);
	snprintf(text, size,
		 "The cache misses at %s cost %.1f%% of all cycles: %.0f each, %.0f%% of them "
		 "hidden behind other work.",
		 place, 100 * share_of((double)l->exposed, (double)m->cycles),
		 share_of((double)l->exposed, n), 100 * share_of((double)l->hidden, n));
}

size_t spectrum_findings(struct store *s, char (*out)[1024], size_t most, struct err *e)
{
	struct spectrum_model m = { 0 };
	size_t n = 0;

	if (!most || !spectrum_is_there(s) ||
	    !spectrum_read(s, &(struct spectrum_options){ 0 }, &m, e)) {
		spectrum_free(&m);
		return 0;
	}
	if (m.nloads && (double)m.loads[0].exposed >= MIN_SHARE * (double)m.cycles)
		load_sentence(&m, &m.loads[0], out[n++], sizeof(out[0]));
	for (size_t i = 0; i < m.npairs && i < PAIRS_LOOKED && n < most; i++) {
		char text[400];

		if ((double)m.adder < MIN_SHARE * (double)m.cycles ||
		    !spectrum_pair_sentence(&m, &m.pairs[i], text, sizeof(text)))
			continue;
		snprintf(out[n++], sizeof(out[0]), "T%s.", text + 1);
	}
	spectrum_free(&m);
	return n;
}

/* ---- diff ---- */

enum side { BEFORE, AFTER, SIDES };

struct change {
	char name[SPECTRUM_PLACE + 20];
	bool in[SIDES];
	uint64_t misses[SIDES];
	double net[SIDES];
};

static double grew(const struct change *c)
{
	return c->net[AFTER] - c->net[BEFORE];
}

static int by_growth(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	const double p = fabs(grew(x)), q = fabs(grew(y));

	if (p != q)
		return p < q ? 1 : -1;
	return strcmp(x->name, y->name);
}

static struct change *find(struct change *list, size_t *count, const char *name)
{
	size_t i = 0;

	while (i < *count && strcmp(list[i].name, name) != 0)
		i++;
	if (i == *count) {
		list[i] = (struct change){ 0 };
		snprintf(list[i].name, sizeof(list[i].name), "%s", name);
		++*count;
	}
	return &list[i];
}

static void put(struct change *c, enum side side, uint64_t misses, int64_t net)
{
	c->in[side] = true;
	c->misses[side] += misses;
	c->net[side] += (double)net;
}

/* A load by source line, or else by function: addresses differ from build to build. */
static void load_name(const struct spectrum_load *l, char *name, size_t size)
{
	if (l->file && l->line)
		snprintf(name, size, "%.360s:%d  %s", path_name(l->file), l->line, l->kind);
	else if (l->function)
		snprintf(name, size, "%.380s  %s", l->function, l->kind);
	else
		snprintf(name, size, "[unknown]  %s", l->kind);
}

static void add_changes(struct doc *d, const struct change *list, size_t count, const char *key,
			const char *head, size_t limit)
{
	const struct doc_column columns[] = {
		{ .key = "name", .head = head, .before = "  ", .width = -36, .name = true },
		{ .key = "misses_before", .head = "misses", .width = 12 },
		{ .key = "misses_after", .head = "after", .width = 12 },
		{ .key = "net_before", .head = "net cost", .format = "%.0f", .width = 12 },
		{ .key = "net_after", .head = "after", .format = "%.0f", .width = 12 },
		{ .key = "change", .head = "change", .format = "%+.0f", .width = 12 },
	};

	doc_blank(d);
	struct doc_table *t = doc_table(
	    d, columns, ARRAY_LEN(columns),
	    &(struct doc_table_options){ .key = key, .heads = true, .limit = limit, .more = true });
	for (size_t i = 0; i < count; i++) {
		const struct change *c = &list[i];

		doc_row(t);
		cell_text(t, c->name);
		for (int k = 0; k < SIDES; k++)
			cell_integer(t, (int64_t)c->misses[k]);
		for (int k = 0; k < SIDES; k++)
			cell_real(t, c->net[k]);
		cell_real(t, grew(c));
		cell_colour(t, grew(c) < 0 ? TERM_GREEN : grew(c) > 0 ? TERM_RED : TERM_PLAIN);
	}
}

static void add_totals(struct doc *d, const struct spectrum_model m[SIDES])
{
	static const struct {
		const char *key, *name;
		size_t at;
	} rows[] = {
		{ "adder", "cycles that caches cost", offsetof(struct spectrum_model, adder) },
		{ "twin", "cycles with perfect caches",
		  offsetof(struct spectrum_model, twin_cycles) },
		{ "misses", "misses", offsetof(struct spectrum_model, misses) },
		{ "clusters", "clusters of misses", offsetof(struct spectrum_model, clusters) },
	};
	static const struct doc_column columns[] = {
		{ .key = "what", .before = "  ", .width = -36 },
		{ .key = "before", .head = "before", .format = "%.0f", .width = 14 },
		{ .key = "after", .head = "after", .format = "%.0f", .width = 14 },
		{ .key = "change", .head = "change", .format = "%+.0f", .width = 14 },
	};

	doc_heading(d, "What caches cost (culprit spectrum)");
	struct doc_table *t =
	    doc_table(d, columns, ARRAY_LEN(columns),
		      &(struct doc_table_options){ .key = "totals", .heads = true });
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		double is[SIDES];

		for (int k = 0; k < SIDES; k++)
			is[k] = (double)*(const int64_t *)(const void *)((const char *)&m[k] +
									 rows[i].at);
		doc_row(t);
		cell_text(t, rows[i].name);
		for (int k = 0; k < SIDES; k++)
			cell_real(t, is[k]);
		cell_real(t, is[AFTER] - is[BEFORE]);
	}
}

static void add_diff(struct doc *d, const struct spectrum_model m[SIDES], size_t limit)
{
	struct change *sizes = x_calloc(SIZES_APART + 2, sizeof(*sizes));
	struct change *loads = x_calloc(m[BEFORE].nloads + m[AFTER].nloads + 1, sizeof(*loads));
	size_t nsizes = 0, nloads = 0;
	char name[SPECTRUM_PLACE + 20];

	for (size_t size = 1; size <= SIZES_APART + 1; size++) {
		snprintf(name, sizeof(name), "%zu%s", size, size > SIZES_APART ? " and more" : "");
		find(sizes, &nsizes, name);
	}
	for (int k = 0; k < SIDES; k++) {
		for (size_t i = 0; i < m[k].nsizes; i++) {
			const struct spectrum_size *z = &m[k].sizes[i];
			const uint64_t row = z->size > SIZES_APART ? SIZES_APART + 1 : z->size;

			if (row)
				put(&sizes[row - 1], k, z->misses, z->net);
		}
		for (size_t i = 0; i < m[k].nloads; i++) {
			const struct spectrum_load *l = &m[k].loads[i];

			load_name(l, name, sizeof(name));
			put(find(loads, &nloads, name), k, l->misses, l->exposed);
		}
	}
	qsort(loads, nloads, sizeof(*loads), by_growth);
	doc_object(d, "spectrum");
	add_totals(d, m);
	add_changes(d, sizes, nsizes, "sizes", "Clusters of so many misses", 0);
	add_changes(d, loads, nloads, "loads", "Misses at", limit);
	doc_close(d);
	free(sizes);
	free(loads);
}

bool spectrum_add_diff(struct doc *d, struct store *before, struct store *after, size_t limit,
		       struct err *e)
{
	const struct spectrum_options all = { 0 };
	struct spectrum_model m[SIDES] = { { .nsizes = 0 } };

	if (!spectrum_is_there(before) || !spectrum_is_there(after))
		return true;
	const bool ok =
	    spectrum_read(before, &all, &m[BEFORE], e) && spectrum_read(after, &all, &m[AFTER], e);
	if (ok)
		add_diff(d, m, limit);
	spectrum_free(&m[BEFORE]);
	spectrum_free(&m[AFTER]);
	return ok;
}

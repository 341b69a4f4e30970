/* SPDX-License-Identifier: MIT */
/*
 * Interactions by function and by phase; and those that cancel out. An interaction cost of zero means that two
 * categories are independent, but it may also be the sum of parts in which they are serial and of others in
 * which they are parallel. Then what to do about it depends on the part.
 */
#include <math.h>
#include <string.h>

#include "view/icost.h"

#define NAMED 2 /* interactions of a part that are named */
#define OPPOSED                                                                                    \
	0.01 /* what both the serial and the parallel parts must reach, as a share of the run */
#define CANCELS 0.25 /* and how much of the larger one their sum may be */

void icost_pairs_words(const struct icost_model *m, const struct icost_pairs *p, double least,
		       double of, char *buf, size_t size_bytes)
{
	size_t used = 0;
	double last = INFINITY;

	buf[0] = '\0';
	for (unsigned n = 0; n < NAMED && of > 0 && used < size_bytes; n++) {
		unsigned first = 0, second = 0;
		double best = least;

		for (unsigned a = 0; a < ICOST_CATEGORIES; a++)
			for (unsigned b = a + 1; b < ICOST_CATEGORIES; b++)
				if (fabs(p->icost[a][b]) >= best && fabs(p->icost[a][b]) < last) {
					best = fabs(p->icost[a][b]);
					first = a;
					second = b;
				}
		if (!second)
			return;
		last = best;
		used += (size_t)snprintf(buf + used, size_bytes - used, "%s%s+%s %+.1f",
					 used ? ", " : "", m->name[1u << first],
					 m->name[1u << second], 100 * p->icost[first][second] / of);
	}
}

void icost_pairs_cell(struct doc_table *t, const struct icost_model *m, const struct icost_pairs *p)
{
	cell_map(t);
	for (unsigned a = 0; a < ICOST_CATEGORIES; a++)
		for (unsigned b = a + 1; b < ICOST_CATEGORIES; b++)
			cell_put(t, m->name[1u << a | 1u << b], p->icost[a][b]);
}

/* What one pair adds up to over the parts of one kind. */
struct opposed {
	double serial, parallel;
	const char *most_serial, *most_parallel; /* the parts with most of each */
};

static void add_part(struct opposed *o, double *least, double *most, double icost, const char *name)
{
	*(icost < 0 ? &o->serial : &o->parallel) += icost;
	if (icost < *least) {
		*least = icost;
		o->most_serial = name;
	}
	if (icost > *most) {
		*most = icost;
		o->most_parallel = name;
	}
}

static void add_note(struct doc *d, const struct icost_model *m, unsigned set,
		     const struct opposed *o, const char *parts, bool *any)
{
	const double sum = o->serial + o->parallel, large = fmax(-o->serial, o->parallel);
	char text[500];

	if (fmin(-o->serial, o->parallel) < OPPOSED * m->graph_cycles ||
	    fabs(sum) > CANCELS * large)
		return;
	if (!*any)
		doc_heading(d, "Interactions that cancel out");
	*any = true;
	snprintf(
	    text, sizeof(text),
	    "%s: %+.1f%% of the run, the sum of %+.1f%% in %s where the two are serial (most in "
	    "%s) and %+.1f%% where they are parallel (most in %s): look at the parts.",
	    m->name[set], 100 * sum / m->graph_cycles, 100 * o->serial / m->graph_cycles, parts,
	    o->most_serial, 100 * o->parallel / m->graph_cycles, o->most_parallel);
	doc_sentence(d, "  ", text, 4);
	doc_object(d, NULL);
	doc_text(d, "categories", m->name[set]);
	doc_text(d, "by", parts);
	doc_real(d, "serial", o->serial);
	doc_real(d, "parallel", o->parallel);
	doc_text(d, "most_serial", o->most_serial);
	doc_text(d, "most_parallel", o->most_parallel);
	doc_close(d);
}

void icost_add_cancelled(struct doc *d, const struct icost_model *m)
{
	bool any = false;

	doc_array(d, "cancelled");
	for (unsigned a = 0; a < ICOST_CATEGORIES; a++)
		for (unsigned b = a + 1; b < ICOST_CATEGORIES; b++) {
			struct opposed functions = { 0 }, phases = { 0 };
			double least = 0, most = 0;
			char names[2][32] = { "", "" };

			for (size_t i = 0; i < m->nfunctions; i++)
				add_part(&functions, &least, &most,
					 m->functions[i].pairs.icost[a][b], m->functions[i].name);
			least = most = 0;
			for (size_t i = 0; i < m->nphases; i++) {
				const double icost = m->phases[i].pairs.icost[a][b];
				char *name = names[icost > 0];

				if (icost < least || icost > most)
					snprintf(name, sizeof(names[0]), "phase %lld",
						 (long long)m->phases[i].phase);
				add_part(&phases, &least, &most, icost, name);
			}
			add_note(d, m, 1u << a | 1u << b, &functions, "functions", &any);
			add_note(d, m, 1u << a | 1u << b, &phases, "phases", &any);
		}
	doc_close(d);
}

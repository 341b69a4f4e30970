/* SPDX-License-Identifier: MIT */
/* A spectrum as values, for JSON. */
#include <inttypes.h>

#include "view/spectrum.h"

static void put_bins(struct doc *d, const struct spectrum_bin *bins, size_t n)
{
	doc_array(d, "histogram");
	for (size_t i = 0; i < n; i++) {
		doc_array(d, NULL);
		doc_integer(d, NULL, bins[i].cycles);
		doc_integer(d, NULL, (int64_t)bins[i].clusters);
		doc_close(d);
	}
	doc_close(d);
}

static void put_sizes(struct doc *d, const struct spectrum_model *m)
{
	doc_array(d, "sizes");
	for (size_t i = 0; i < m->nsizes; i++) {
		const struct spectrum_size *z = &m->sizes[i];

		doc_object(d, NULL);
		doc_integer(d, "size", (int64_t)z->size);
		doc_integer(d, "clusters", (int64_t)z->clusters);
		doc_integer(d, "misses", (int64_t)z->misses);
		doc_integer(d, "cost", z->cost);
		doc_integer(d, "net", z->net);
		if (z->size >= 1 && z->size <= SPECTRUM_LARGEST) {
			const struct spectrogram *g = &m->grams[z->size - 1];

			doc_array(d, "peaks");
			for (size_t k = 0; k < g->npeaks; k++) {
				const struct spectrum_peak *p = &g->peaks[k];

				doc_object(d, NULL);
				doc_integer(d, "at", p->sum);
				doc_text(d, "sum", p->name);
				doc_real(d, "area",
					 share_of((double)p->clusters, (double)g->clusters));
				doc_integer(d, "median", p->median);
				doc_integer(d, "shift", p->median - p->sum);
				doc_integer(d, "low", p->low);
				doc_integer(d, "high", p->high);
				int64_t expected;
				if (g->size > 2 && spectrum_position(m, g->size, p, &expected))
					doc_integer(d, "expected", expected);
				doc_close(d);
			}
			doc_close(d);
			put_bins(d, g->bins, g->nbins);
		}
		doc_close(d);
	}
	doc_close(d);
}

static void put_theory(struct doc *d, const struct spectrum_model *m)
{
	doc_array(d, "patterns");
	for (size_t i = 0; i < m->npatterns; i++) {
		const struct spectrum_pattern *p = &m->patterns[i];

		doc_object(d, NULL);
		doc_text(d, "pattern", p->text);
		doc_integer(d, "clusters", (int64_t)p->clusters);
		doc_real(d, "observed", share_of((double)p->clusters, (double)p->of));
		if (p->predicted >= 0)
			doc_real(d, "predicted", p->predicted);
		if (p->second >= 0)
			doc_real(d, "second_order", p->second);
		if (p->ends >= 0)
			doc_real(d, "with_ends", p->ends);
		doc_close(d);
	}
	doc_close(d);
	doc_array(d, "overlaps");
	for (size_t i = 0; i < m->npatterns; i++) {
		const struct spectrum_pattern *p = &m->patterns[i];

		if (p->size != 2 || !p->clusters)
			continue;
		doc_object(d, NULL);
		doc_text(d, "pattern", p->text);
		doc_real(d, "overlap", share_of((double)p->overlapped, (double)p->clusters));
		doc_real(d, "zero", share_of((double)p->zero, (double)p->overlapped));
		doc_close(d);
	}
	doc_close(d);
	doc_array(d, "predicted");
	for (size_t i = 0; i < SPECTRUM_LARGEST; i++)
		for (size_t k = 0; k < m->grams[i].npredicted; k++) {
			doc_object(d, NULL);
			doc_integer(d, "size", m->grams[i].size);
			doc_integer(d, "at", m->grams[i].predicted[k].cycles);
			doc_real(d, "area", m->grams[i].predicted[k].share);
			doc_close(d);
		}
	doc_close(d);
	doc_array(d, "ks");
	for (size_t k = 2; k < SPECTRUM_LARGEST; k++)
		if (m->ks[k] >= 0) {
			doc_object(d, NULL);
			doc_integer(d, "size", (int64_t)k);
			doc_real(d, "ks", m->ks[k]);
			if (m->ks_second[k] >= 0)
				doc_real(d, "second_order", m->ks_second[k]);
			if (m->ks_ends[k] >= 0)
				doc_real(d, "with_ends", m->ks_ends[k]);
			doc_close(d);
		}
	doc_close(d);
}

static void put_load(struct doc *d, const struct spectrum_model *m, const struct spectrum_load *l)
{
	char place[SPECTRUM_PLACE], pc[24];

	spectrum_place(l, place);
	snprintf(pc, sizeof(pc), "0x%" PRIx64, l->pc);
	doc_object(d, NULL);
	doc_text(d, "pc", pc);
	doc_text(d, "place", place);
	doc_text(d, "kind", l->kind);
	if (l->function)
		doc_text(d, "function", l->function);
	if (l->disasm)
		doc_text(d, "disasm", l->disasm);
	doc_integer(d, "misses", (int64_t)l->misses);
	doc_object(d, "levels");
	for (size_t k = 0; k < m->nlevels; k++)
		doc_integer(d, m->levels[k].name, (int64_t)l->level[k]);
	doc_close(d);
	doc_integer(d, "net", l->exposed);
	doc_integer(d, "even", l->even);
	doc_integer(d, "wrong_path", (int64_t)l->wrong);
	doc_integer(d, "isolated", (int64_t)l->isolated);
	doc_integer(d, "hidden", (int64_t)l->hidden);
	doc_real(d, "cluster_size", share_of((double)l->sizes, (double)l->misses));
	if (l->nbins)
		put_bins(d, l->bins, l->nbins);
	doc_close(d);
}

static void put_who(struct doc *d, const struct spectrum_model *m)
{
	doc_array(d, "loads");
	for (size_t i = 0; i < m->nloads; i++)
		if (m->loads[i].misses)
			put_load(d, m, &m->loads[i]);
	doc_close(d);
	doc_array(d, "pairs");
	for (size_t i = 0; i < m->npairs; i++) {
		const struct spectrum_pair *p = &m->pairs[i];
		char first[SPECTRUM_PLACE], second[SPECTRUM_PLACE];

		if (!spectrum_pair_places(m, p, first, second))
			continue;
		doc_object(d, NULL);
		doc_text(d, "first", first);
		doc_text(d, "second", second);
		doc_integer(d, "overlapped", (int64_t)p->overlapped);
		doc_integer(d, "serial", (int64_t)p->serial);
		doc_integer(d, "overlapped_cycles", (int64_t)p->overlapped_cycles);
		doc_integer(d, "serial_cycles", (int64_t)p->serial_cycles);
		doc_close(d);
	}
	doc_close(d);
}

void spectrum_values(struct doc *d, const struct spectrum_model *m)
{
	doc_integer(d, "cycles", m->cycles);
	doc_integer(d, "twin_cycles", m->twin_cycles);
	doc_integer(d, "adder", m->adder);
	doc_integer(d, "cost", m->cost);
	doc_integer(d, "net", m->net);
	doc_integer(d, "drift", m->drift);
	doc_integer(d, "head", m->head);
	doc_integer(d, "tail", m->tail);
	doc_integer(d, "misses", (int64_t)m->misses);
	doc_integer(d, "clusters", (int64_t)m->clusters);
	doc_integer(d, "cut_misses", (int64_t)m->cut_misses);
	doc_integer(d, "largest", (int64_t)m->largest);
	if (m->nlevels)
		doc_real(d, "p", m->levels[m->nlevels - 1].share);
	if (m->fitted)
		doc_real(d, "a", m->a);
	else
		doc_null(d, "a");
	put_sizes(d, m);
	put_theory(d, m);
	put_who(d, m);
}

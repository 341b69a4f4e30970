/* SPDX-License-Identifier: MIT */
/* Reads one clustering and one measure of a spectrum from a store. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "util/nearest.h"
#include "util/number.h"
#include "view/model.h"
#include "view/spectrum.h"

/* Room for one more in an array of `count` that grows by doubling. */
#define GROW(array, count)                                                                         \
	do {                                                                                       \
		if (!((count) & ((count) + 1)))                                                    \
			(array) = x_realloc(array, 2 * ((count) + 1) * sizeof(*(array)));          \
	} while (0)

static char *copy(const char *text)
{
	return text ? x_strdup(text) : NULL;
}

static bool read_totals(struct store *s, int64_t clustering, struct spectrum_model *m,
			struct err *e)
{
	const struct {
		const char *key;
		int64_t *to;
	} all[] = { { "cycles", &m->cycles },
		    { "twin_cycles", &m->twin_cycles },
		    { "adder", &m->adder },
		    { "cost", &m->cost },
		    { "net", &m->net },
		    { "drift", &m->drift },
		    { "head", &m->head },
		    { "tail", &m->tail },
		    { "misses", (int64_t *)&m->misses },
		    { "clusters", (int64_t *)&m->clusters },
		    { "cut_clusters", (int64_t *)&m->cut_clusters },
		    { "cut_misses", (int64_t *)&m->cut_misses },
		    { "merged", (int64_t *)&m->merged },
		    { "largest", (int64_t *)&m->largest },
		    { "zero", (int64_t *)&m->zero },
		    { "negative", (int64_t *)&m->negative } };
	struct store_rows r = store_query(
	    s, "SELECT key, value FROM spectrum WHERE clustering = ?1", "i", clustering);
	bool any = false;

	for (size_t i = 0; i < SPECTRUM_LARGEST; i++)
		m->ks[i] = m->ks_second[i] = m->ks_ends[i] = -1;
	while (store_next(&r)) {
		const char *key = store_text(&r, 0);

		any = true;
		for (size_t i = 0; key && i < ARRAY_LEN(all); i++)
			if (!strcmp(key, all[i].key))
				*all[i].to = store_int(&r, 1);
		if (key && !strcmp(key, "a")) {
			m->fitted = true;
			m->a = store_double(&r, 1);
		}
		if (key && !strncmp(key, "ks", 2) && key[2] >= '2' &&
		    key[2] < '0' + SPECTRUM_LARGEST)
			(!key[3]	 ? m->ks
			 : key[4] == 's' ? m->ks_second
					 : m->ks_ends)[key[2] - '0'] = store_double(&r, 1);
	}
	if (!store_done(&r, e))
		return false;
	return any || err_set(e, "%s has no spectrum; 'culprit sim --analyze spectrum' makes one",
			      store_path(s));
}

static bool read_levels(struct store *s, int64_t clustering, struct spectrum_model *m,
			struct err *e)
{
	struct store_rows r = store_query(s,
					  "SELECT letter, name, latency, misses, share FROM "
					  "spectrum_level WHERE clustering = ?1 ORDER BY level",
					  "i", clustering);

	while (store_next(&r) && m->nlevels < SPECTRUM_MODEL_LEVELS) {
		struct spectrum_level *l = &m->levels[m->nlevels++];

		snprintf(l->letter, sizeof(l->letter), "%s", store_shown(&r, 0));
		snprintf(l->name, sizeof(l->name), "%s", store_shown(&r, 1));
		l->latency = store_int(&r, 2);
		l->misses = (uint64_t)store_int(&r, 3);
		l->share = store_double(&r, 4);
	}
	return store_done(&r, e);
}

static bool read_kinds(struct store *s, struct spectrum_model *m, struct err *e)
{
	struct store_rows r =
	    store_query(s,
			"SELECT kind, level, misses, wrong, cycles, queue, merged, used FROM "
			"spectrum_miss ORDER BY kind, level",
			"");

	while (store_next(&r)) {
		const char *name = store_shown(&r, 0);
		const int64_t level = store_int(&r, 1);
		struct spectrum_kind *k = m->nkinds ? &m->kinds[m->nkinds - 1] : NULL;

		if (!k || strcmp(k->name, name) != 0) {
			if (m->nkinds == ARRAY_LEN(m->kinds))
				break;
			k = &m->kinds[m->nkinds++];
			snprintf(k->name, sizeof(k->name), "%s", name);
		}
		if (level >= 0 && level < SPECTRUM_MODEL_LEVELS)
			k->level[level] = (uint64_t)store_int(&r, 2);
		k->misses += (uint64_t)store_int(&r, 2);
		k->wrong += (uint64_t)store_int(&r, 3);
		k->cycles += store_double(&r, 4);
		k->queue += store_double(&r, 5);
		k->merged += (uint64_t)store_int(&r, 6);
		k->used += (uint64_t)store_int(&r, 7);
	}
	return store_done(&r, e);
}

static bool read_sizes(struct store *s, int64_t clustering, struct spectrum_model *m, struct err *e)
{
	struct store_rows r = store_query(
	    s,
	    "SELECT size, clusters, misses, level0, level1, level2, cost, net FROM spectrum_size "
	    "WHERE clustering = ?1 ORDER BY size",
	    "i", clustering);

	while (store_next(&r)) {
		GROW(m->sizes, m->nsizes);
		struct spectrum_size *z = &m->sizes[m->nsizes++];

		*z = (struct spectrum_size){ .size = (uint64_t)store_int(&r, 0),
					     .clusters = (uint64_t)store_int(&r, 1),
					     .misses = (uint64_t)store_int(&r, 2),
					     .cost = store_int(&r, 6),
					     .net = store_int(&r, 7) };
		for (int k = 0; k < SPECTRUM_MODEL_LEVELS; k++)
			z->level[k] = (uint64_t)store_int(&r, 3 + k);
	}
	return store_done(&r, e);
}

static bool read_bins(struct store *s, int64_t clustering, const struct spectrum_options *so,
		      struct spectrogram *g, struct err *e)
{
	struct store_rows r = store_query(
	    s,
	    "SELECT cycles, sum(clusters) FROM spectrum_bin WHERE clustering = ?1 AND measure = ?2 "
	    "AND size = ?3 AND (?4 = '' OR kind = ?4) AND (?5 = '' OR pattern = ?5) GROUP BY "
	    "cycles ORDER BY cycles",
	    "iiiss", clustering, (int64_t)so->net, (int64_t)g->size, so->kind ? so->kind : "",
	    so->pattern ? so->pattern : "");

	while (store_next(&r)) {
		GROW(g->bins, g->nbins);
		g->bins[g->nbins++] =
		    (struct spectrum_bin){ store_int(&r, 0), (uint64_t)store_int(&r, 1) };
		g->clusters += (uint64_t)store_int(&r, 1);
	}
	return store_done(&r, e);
}

static bool read_peaks(struct store *s, int64_t clustering, const struct spectrum_options *so,
		       struct spectrogram *g, struct err *e)
{
	struct store_rows r = store_query(
	    s,
	    "SELECT sum, name, clusters, median, low, high FROM spectrum_peak WHERE clustering = "
	    "?1 AND measure = ?2 AND size = ?3 AND kind = ?4 AND pattern = ?5 ORDER BY sum",
	    "iiiss", clustering, (int64_t)so->net, (int64_t)g->size, so->kind ? so->kind : "",
	    so->pattern ? so->pattern : "");

	while (store_next(&r)) {
		GROW(g->peaks, g->npeaks);
		struct spectrum_peak *p = &g->peaks[g->npeaks++];

		*p = (struct spectrum_peak){ .sum = store_int(&r, 0),
					     .clusters = (uint64_t)store_int(&r, 2),
					     .median = store_int(&r, 3),
					     .low = store_int(&r, 4),
					     .high = store_int(&r, 5) };
		snprintf(p->name, sizeof(p->name), "%s", store_shown(&r, 1));
	}
	return store_done(&r, e);
}

static bool read_predicted(struct store *s, int64_t clustering, const struct spectrum_options *so,
			   struct spectrogram *g, struct err *e)
{
	struct store_rows r =
	    store_query(s,
			"SELECT cycles, share FROM spectrum_predicted WHERE clustering = ?1 AND "
			"measure = ?2 AND size = ?3 ORDER BY cycles",
			"iii", clustering, (int64_t)so->net, (int64_t)g->size);

	while (store_next(&r)) {
		GROW(g->predicted, g->npredicted);
		g->predicted[g->npredicted].cycles = store_int(&r, 0);
		g->predicted[g->npredicted++].share = store_double(&r, 1);
	}
	return store_done(&r, e);
}

static bool read_patterns(struct store *s, int64_t clustering, bool net, struct spectrum_model *m,
			  struct err *e)
{
	struct store_rows r = store_query(
	    s,
	    "SELECT p.size, p.pattern, p.clusters, p.predicted, p.overlapped, p.zero, "
	    "p.net_overlapped, p.net_zero, sum(p.clusters) OVER (PARTITION BY p.size), s.share, "
	    "s.ends "
	    "FROM spectrum_pattern p LEFT JOIN spectrum_second s ON s.clustering = p.clustering "
	    "AND s.size = p.size AND s.pattern = p.pattern WHERE p.clustering = ?1 ORDER BY "
	    "p.size, p.pattern",
	    "i", clustering);

	while (store_next(&r)) {
		GROW(m->patterns, m->npatterns);
		struct spectrum_pattern *p = &m->patterns[m->npatterns++];

		*p = (struct spectrum_pattern){
			.size = (unsigned)store_int(&r, 0),
			.clusters = (uint64_t)store_int(&r, 2),
			.of = (uint64_t)store_int(&r, 8),
			.predicted = store_is_null(&r, 3) ? -1 : store_double(&r, 3),
			.second = store_is_null(&r, 9) ? -1 : store_double(&r, 9),
			.ends = store_is_null(&r, 10) ? -1 : store_double(&r, 10),
			.overlapped = (uint64_t)store_int(&r, net ? 6 : 4),
			.zero = (uint64_t)store_int(&r, net ? 7 : 5)
		};
		snprintf(p->text, sizeof(p->text), "%s", store_shown(&r, 1));
	}
	return store_done(&r, e);
}

static int by_exposed(const void *a, const void *b)
{
	const struct spectrum_load *x = a, *y = b;

	if (x->exposed != y->exposed)
		return x->exposed < y->exposed ? 1 : -1;
	return (x->id > y->id) - (x->id < y->id);
}

static bool read_loads(struct store *s, int64_t clustering, struct spectrum_model *m, struct err *e)
{
	struct store_rows r = store_query(
	    s,
	    "SELECT l.id, l.pc, l.kind, i.disasm, f.name, i.file, i.line, l.level0, l.level1, "
	    "l.level2, l.wrong, l.isolated, l.hidden, l.sizes, l.even, l.exposed, f.start FROM "
	    "spectrum_load l LEFT JOIN instruction i ON i.pc = l.pc LEFT JOIN function f ON f.id = "
	    "i.function WHERE l.clustering = ?1",
	    "i", clustering);

	while (store_next(&r)) {
		GROW(m->loads, m->nloads);
		struct spectrum_load *l = &m->loads[m->nloads++];

		*l = (struct spectrum_load){ .id = store_int(&r, 0),
					     .pc = (uint64_t)store_int(&r, 1),
					     .disasm = copy(store_shown(&r, 3)),
					     .function = copy(store_shown(&r, 4)),
					     .file = copy(store_shown(&r, 5)),
					     .line = (int)store_int(&r, 6),
					     .wrong = (uint64_t)store_int(&r, 10),
					     .isolated = (uint64_t)store_int(&r, 11),
					     .hidden = (uint64_t)store_int(&r, 12),
					     .sizes = (uint64_t)store_int(&r, 13),
					     .even = store_int(&r, 14),
					     .exposed = store_int(&r, 15),
					     .function_start = (uint64_t)store_int(&r, 16) };
		snprintf(l->kind, sizeof(l->kind), "%s", store_shown(&r, 2));
		for (int k = 0; k < SPECTRUM_MODEL_LEVELS; k++) {
			l->level[k] = (uint64_t)store_int(&r, 7 + k);
			l->misses += l->level[k];
		}
	}
	if (m->nloads)
		qsort(m->loads, m->nloads, sizeof(*m->loads), by_exposed);
	return store_done(&r, e);
}

static int by_weight(const void *a, const void *b)
{
	const struct spectrum_pair *x = a, *y = b;
	const uint64_t p = x->overlapped_cycles + x->serial_cycles;
	const uint64_t q = y->overlapped_cycles + y->serial_cycles;

	if (p != q)
		return p < q ? 1 : -1;
	if (x->first != y->first)
		return x->first > y->first ? 1 : -1;
	return (x->second > y->second) - (x->second < y->second);
}

static bool read_pairs(struct store *s, int64_t clustering, struct spectrum_model *m, struct err *e)
{
	int64_t most = 0;

	for (size_t i = 0; i < m->nloads; i++)
		most = m->loads[i].id > most ? m->loads[i].id : most;
	size_t *index = x_calloc((size_t)most + 2, sizeof(*index)); /* + 1; by id */
	for (size_t i = 0; i < m->nloads; i++)
		if (m->loads[i].id >= 0)
			index[m->loads[i].id] = i + 1;
	struct store_rows r =
	    store_query(s,
			"SELECT first, second, overlapped, serial, overlapped_cycles, "
			"serial_cycles FROM spectrum_pair WHERE clustering = ?1",
			"i", clustering);

	while (store_next(&r)) {
		const int64_t a = store_int(&r, 0), b = store_int(&r, 1);

		if (a < 0 || b < 0 || a > most || b > most || !index[a] || !index[b])
			continue;
		GROW(m->pairs, m->npairs);
		m->pairs[m->npairs++] = (struct spectrum_pair){ index[a] - 1,
								index[b] - 1,
								(uint64_t)store_int(&r, 2),
								(uint64_t)store_int(&r, 3),
								(uint64_t)store_int(&r, 4),
								(uint64_t)store_int(&r, 5) };
	}
	if (m->npairs)
		qsort(m->pairs, m->npairs, sizeof(*m->pairs), by_weight);
	free(index);
	return store_done(&r, e);
}

/* The address tells loads of one line apart. */
void spectrum_place(const struct spectrum_load *l, char text[SPECTRUM_PLACE])
{
	const size_t size = SPECTRUM_PLACE;

	if (l->file && l->line)
		snprintf(text, size, "%s:%d @%" PRIx64, path_name(l->file), l->line, l->pc);
	else if (!l->function)
		snprintf(text, size, "0x%" PRIx64, l->pc);
	else if (!model_offset_name(l->function, l->pc - l->function_start, text, size))
		snprintf(text, size, "%.*s+0x%" PRIx64, SPECTRUM_PLACE - 20, l->function,
			 l->pc - l->function_start);
}

bool spectrum_pair_places(const struct spectrum_model *m, const struct spectrum_pair *p,
			  char first[SPECTRUM_PLACE], char second[SPECTRUM_PLACE])
{
	spectrum_place(&m->loads[p->first], first);
	spectrum_place(&m->loads[p->second], second);
	return m->loads[p->first].misses && m->loads[p->second].misses;
}

/* ---- which load --load means ---- */

static bool is_load(const struct spectrum_load *l, const char *name)
{
	uint64_t pc;
	char place[600];

	if (number_parse(name, &(struct number_range){ 0 }, &pc) && pc == l->pc)
		return true;
	if (l->function && !strcmp(l->function, name))
		return true;
	if (l->function) {
		snprintf(place, sizeof(place), "%s+0x%" PRIx64, l->function,
			 l->pc - l->function_start);
		if (!strcmp(place, name) ||
		    (model_offset_name(l->function, l->pc - l->function_start, place,
				       sizeof(place)) &&
		     !strcmp(place, name)))
			return true;
	}
	if (!l->file)
		return false;
	snprintf(place, sizeof(place), "%s:%d", l->file, l->line);
	if (!strcmp(place, name))
		return true;
	snprintf(place, sizeof(place), "%s:%d", path_name(l->file), l->line);
	return !strcmp(place, name);
}

/* The line of the same source file that is nearest to FILE:LINE; false: there is none. */
static bool nearest_line(const struct spectrum_model *m, const char *name, char *found, size_t size)
{
	const char *colon = strrchr(name, ':');
	long best = -1;

	for (size_t i = 0; colon && i < m->nloads; i++) {
		const struct spectrum_load *l = &m->loads[i];
		const char *file = l->file ? path_name(l->file) : "";
		const long apart = labs(l->line - strtol(colon + 1, NULL, 10));

		if (strlen(file) != (size_t)(colon - name) ||
		    strncmp(file, name, (size_t)(colon - name)) != 0 ||
		    (best >= 0 && apart >= best))
			continue;
		best = apart;
		snprintf(found, size, "%s:%d", file, l->line);
	}
	return best >= 0;
}

/* The address nearest to a number, the line nearest to FILE:LINE, else the name nearest to a word. */
static bool refuse_load(const struct spectrum_model *m, const char *name, struct err *e)
{
	struct nearest near = { .word = name };
	char found[64] = "";
	uint64_t pc, best = UINT64_MAX;
	const bool number = number_parse(name, &(struct number_range){ 0 }, &pc);
	const bool line = !number && nearest_line(m, name, found, sizeof(found));

	for (size_t i = 0; i < m->nloads; i++) {
		const struct spectrum_load *l = &m->loads[i];
		const uint64_t apart = l->pc > pc ? l->pc - pc : pc - l->pc;

		if (number && apart < best) {
			best = apart;
			snprintf(found, sizeof(found), "0x%" PRIx64, l->pc);
		}
		if (!number && l->function)
			nearest_try(&near, l->function);
	}
	if (!m->nloads)
		return err_set(e, "nothing at '%s' misses the cache: the run has no miss", name);
	return err_set(e, "nothing at '%s' misses the cache; the nearest that does is '%s'", name,
		       number || line ? found
		       : near.best    ? near.best
				      : "");
}

/* Drops all loads but those asked for, and reads their own spectrograms. */
static bool select_loads(struct store *s, int64_t clustering, const char *name,
			 struct spectrum_model *m, struct err *e)
{
	bool any = false, ok = true;

	for (size_t i = 0; i < m->nloads; i++)
		any |= is_load(&m->loads[i], name);
	if (!any)
		return refuse_load(m, name, e);
	for (size_t i = 0; ok && i < m->nloads; i++) {
		struct spectrum_load *l = &m->loads[i];

		if (!is_load(l, name)) {
			l->misses = 0; /* not shown */
			continue;
		}
		struct store_rows r = store_query(
		    s,
		    "SELECT cycles, misses FROM spectrum_load_bin WHERE clustering = ?1 AND load = "
		    "?2 ORDER BY cycles",
		    "ii", clustering, l->id);
		while (store_next(&r)) {
			GROW(l->bins, l->nbins);
			l->bins[l->nbins++] =
			    (struct spectrum_bin){ store_int(&r, 0), (uint64_t)store_int(&r, 1) };
		}
		ok = store_done(&r, e);
	}
	return ok;
}

bool spectrum_read(struct store *s, const struct spectrum_options *so, struct spectrum_model *m,
		   struct err *e)
{
	const int64_t clustering = so->right;
	char *program, *machine;

	*m = (struct spectrum_model){ 0 };
	if (!read_totals(s, clustering, m, e))
		return false;
	program = model_run_text(s, "program", "?");
	machine = model_run_text(s, "machine", "?");
	snprintf(m->program, sizeof(m->program), "%s", program);
	snprintf(m->machine, sizeof(m->machine), "%s", machine);
	free(program);
	free(machine);
	m->instructions = (uint64_t)model_run_number(s, "instructions", 0);
	bool ok = read_levels(s, clustering, m, e) && read_kinds(s, m, e) &&
		  read_sizes(s, clustering, m, e) && read_patterns(s, clustering, so->net, m, e) &&
		  read_loads(s, clustering, m, e) && read_pairs(s, clustering, m, e);
	for (unsigned k = 0; ok && k < SPECTRUM_LARGEST; k++) {
		struct spectrogram *g = &m->grams[k];

		g->size = k + 1;
		ok = read_bins(s, clustering, so, g, e) && read_peaks(s, clustering, so, g, e) &&
		     read_predicted(s, clustering, so, g, e);
	}
	return ok && (!so->load || select_loads(s, clustering, so->load, m, e));
}

void spectrum_free(struct spectrum_model *m)
{
	for (size_t i = 0; i < SPECTRUM_LARGEST; i++) {
		free(m->grams[i].bins);
		free(m->grams[i].peaks);
		free(m->grams[i].predicted);
	}
	for (size_t i = 0; i < m->nloads; i++) {
		free(m->loads[i].disasm);
		free(m->loads[i].function);
		free(m->loads[i].file);
		free(m->loads[i].bins);
	}
	free(m->sizes);
	free(m->patterns);
	free(m->loads);
	free(m->pairs);
}

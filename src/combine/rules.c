/* SPDX-License-Identifier: MIT */
/*
 * What becomes of every table. Tables of names are in names.c, run and machine in facts.c, everything
 * by phase in phases.c. Not combined are call stacks, medians, fits and single clusters of the spectrum: they are no
 * sums, and what they are made from is not in a store.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "combine/combine_int.h"
#include "util/array.h"

const char combine_left_out[] =
    "counter_sample: points have times of their own; psv_curve: the best sets of points differ; "
    "spectrum_peak, spectrum_predicted, "
    "spectrum_second, spectrum_cluster, spectrum_cluster_miss: "
    "medians, fits and single clusters of points do not add up; call_context: the stacks of points "
    "begin at other functions; stretch, stretch_why: which stretches are costliest was asked "
    "within "
    "each point";

/* A group of instructions as a text: "pc,events pc,events …". */
#define GROUPS                                                                                     \
	"WITH g AS (SELECT id, group_concat(pc || ',' || events, ' ') AS members FROM (SELECT * "  \
	"FROM sample_group ORDER BY id, position) GROUP BY id) "
#define TOTALS_THAT_ADD_UP                                                                         \
	"key IN ('cycles', 'twin_cycles', 'adder', 'cost', 'net', 'drift', 'head', 'tail', "       \
	"'misses', 'clusters', 'cut_clusters', 'cut_misses', 'merged', 'zero', 'negative', "       \
	"'longer_than_kept', 'pairs_left', 'too_large')"

/* clang-format off */
const struct rule combine_rules[] = {
	{ "category", "kt", .primary = 1 },
	{ "event", "kttS", .primary = 1 },
	{ "sampler", "kkkC", .primary = 1 },
	{ "profiler", "kttkkk", .primary = 1 },
	{ "golden", "kkkSS", .primary = 3, .in_cycles = true, .by_pc = true, .executions = 2 },
	{ "profile", "kkkkS", .primary = 4, .group = 2, .in_cycles = true, .by_pc = true, .pc = 2 },
	{ "golden_thread", "kkkkSS", .primary = 4, .in_cycles = true },
	{ "golden_events", "kkSS", .primary = 2, .in_cycles = true },
	{ "sample_state", "kkSSS", .primary = 2 },
	{ "profile_category", "kkkS", .primary = 3, .in_cycles = true },
	{ "sample_pair", "kttSC", .primary = 3, .group = 1, .elsewhere = true,
	  .select = GROUPS "SELECT rule, b.members, t.members, cycles, samples FROM sample_pair p LEFT JOIN g b ON "
			   "b.id = p.blamed LEFT JOIN g t ON t.id = p.truth" },
	{ "bare_stall", "kS", .primary = 1 },
	{ "counter", "tS", .primary = 1, .group = 1 },
	{ "cpi_method", "kttk", .primary = 1 },
	{ "cpi_component", "kktS", .where = "phase = -1", .primary = 3, .group = 2, .in_cycles = true },
	{ "cpi_instruction", "ktSR", .primary = 2, .by_pc = true, .executions = 1 },
	{ "cpi_place", "ktSS", .primary = 2, .in_cycles = true, .by_pc = true },
	{ "cpi_event", "tSS", .primary = 1 },
	{ "interval_kind", "tSSSSSSS", .primary = 1 },
	{ "interval_length", "tkSSSSS", .primary = 2 },
	{ "interval_curve", "ttkkkS", .primary = 5 },
	{ "interval_near", "kSS", .primary = 1 },
	{ "interval_instruction", "ktSS", .primary = 2, .by_pc = true },
	{ "thread_time", "kSSS", .primary = 1 },
	{ "thread_wait", "kktSS", .primary = 3 },
	{ "icost_instruction", "kRmmmlRRRR", .primary = 1, .by = 1, .by_pc = true },
	{ "icost_critical", "ktR", .primary = 2, .by_pc = true },
	{ "icost_pair", "ktktRR", .primary = 4, .most = 1000 },
	{ "icost_place", "kkR", .primary = 2 },
	{ "resource", "tkktR", .primary = 2 },
	{ "shotgun", "kktRR", .primary = 2 },
	{ "shotgun_instruction", "kRmmmlRRRR", .primary = 1, .by = 1, .by_pc = true },
	{ "shotgun_critical", "ktR", .primary = 2, .by_pc = true },
	{ "shotgun_pair", "ktktRR", .primary = 4, .most = 1000 },
	{ "shotgun_count", "ktP", .primary = 2 },
	{ "spectrum", "ktS", .where = TOTALS_THAT_ADD_UP, .primary = 2, .group = 2 },
	{ "spectrum", "ktx", .where = "key = 'largest'", .primary = 2, .group = 2 },
	{ "spectrum_miss", "tkSSSSSS", .primary = 2 },
	{ "spectrum_level", "kkttkSp", .primary = 2, .group = 1, .by = 5 },
	{ "spectrum_size", "kkSSSSSSS", .primary = 2, .group = 1 },
	{ "spectrum_bin", "kkkttkS", .primary = 6, .group = 2 },
	{ "spectrum_pattern", "kktSnSSSS", .primary = 3, .group = 2 },
	{ "spectrum_load", "kktSSSSSSSSS", .primary = 3, .group = 1, .elsewhere = true,
	  .select = "SELECT clustering, pc, kind, level0, level1, level2, wrong, isolated, hidden, sizes, even, "
		    "exposed FROM spectrum_load" },
	{ "spectrum_load_bin", "kktkS", .primary = 4, .group = 3, .elsewhere = true,
	  .select = "SELECT b.clustering, l.pc, l.kind, b.cycles, b.misses FROM spectrum_load_bin b JOIN "
		    "spectrum_load l ON l.clustering = b.clustering AND l.id = b.load" },
	{ "spectrum_pair", "kktktSSSS", .primary = 5, .group = 1, .elsewhere = true,
	  .select = "SELECT p.clustering, a.pc, a.kind, b.pc, b.kind, overlapped, serial, overlapped_cycles, "
		    "serial_cycles FROM spectrum_pair p JOIN spectrum_load a ON a.clustering = p.clustering AND "
		    "a.id = p.first JOIN spectrum_load b ON b.clustering = p.clustering AND b.id = p.second" },
	{ "calc_event", "kkmSS", .primary = 1, .group = 1, .by = 3 },
	{ "calc_sample", "kkSS", .primary = 2 },
	{ "calc_commit", "tkSS", .primary = 2, .group = 1 },
	{ "calc_commit_pair", "kkS", .primary = 2 },
	{ "calc_branch", "tkkkS", .primary = 4, .group = 2 },
	{ "calc_range", "tkkkS", .primary = 4, .group = 2 },
	{ "calc_truth", "kSS", .primary = 1, .by_pc = true, .executions = 1 },
	{ "calc_truth_reason", "kkkS", .primary = 3 },
	{ "calc_truth_edge", "kkS", .primary = 2 },
	{ "calc_truth_event", "kkS", .primary = 2 },
};
/* clang-format on */
const size_t combine_nrules = ARRAY_LEN(combine_rules);

struct table *combine_table(struct combine *c, const char *name)
{
	for (size_t i = 0; i < combine_nrules; i++)
		if (!strcmp(combine_rules[i].table, name))
			return &c->tables[i];
	return NULL;
}

/* ---- groups of samples ---- */

/* The group's number: groups are written when they are first needed. */
static int64_t group_number(struct combine *c, struct table *seen, int64_t text, struct err *e)
{
	const size_t before = seen->count, row = table_row(seen, &text);
	const char *at = c->texts.text[text];
	bool ok = true;

	for (int64_t position = 0; ok && row == before && *at; position++) {
		char *end;
		const int64_t pc = strtoll(at, &end, 10);
		const int64_t events = *end == ',' ? strtoll(end + 1, &end, 10) : 0;

		ok = store_insert(c->out, e, "sample_group", "iiii", (int64_t)row, position, pc,
				  events);
		at = *end == ' ' ? end + 1 : "";
	}
	return ok ? (int64_t)row : -1;
}

bool combine_write_groups(struct combine *c, struct err *e)
{
	static const struct rule by_text = { "sample_group", "t", .primary = 1 };
	const struct table *t = combine_table(c, "sample_pair");
	struct table seen;
	bool ok = true;

	table_init(&seen, &by_text);
	for (size_t i = 0; ok && i < t->count; i++) {
		const int64_t *keys = &t->keys[i * t->nkeys], *whole = &t->whole[i * t->nvalues];
		const int64_t blamed = group_number(c, &seen, keys[1], e);
		const int64_t truth = blamed < 0 ? -1 : group_number(c, &seen, keys[2], e);

		ok = truth >= 0 && store_insert(c->out, e, "sample_pair", "iiiii", keys[0], blamed,
						truth, whole[0], whole[1]);
	}
	table_free(&seen);
	return ok;
}

/* ---- loads ---- */

/* The number of a load within its clustering; both tables are sorted by clustering, pc and kind. */
static int64_t load_number(const struct table *loads, int64_t clustering, int64_t pc, int64_t kind)
{
	const int64_t want[] = { clustering, pc, kind };
	const size_t first =
	    ARRAY_SEARCH(loads->count, i, loads->keys[i * loads->nkeys] < clustering);
	const size_t at = ARRAY_SEARCH(loads->count, i, ({
					       const int64_t *k = &loads->keys[i * loads->nkeys];
					       unsigned j = 0;
					       while (j < 2 && k[j] == want[j])
						       j++;
					       k[j] < want[j];
				       }));

	return (int64_t)at - (int64_t)first;
}

bool combine_write_loads(struct combine *c, struct err *e)
{
	const struct table *loads = combine_table(c, "spectrum_load"),
			   *bins = combine_table(c, "spectrum_load_bin"),
			   *pairs = combine_table(c, "spectrum_pair");
	bool ok = true;

	for (size_t i = 0; ok && i < loads->count; i++) {
		const int64_t *k = &loads->keys[i * loads->nkeys],
			      *v = &loads->whole[i * loads->nvalues];

		ok = store_insert(c->out, e, "spectrum_load", "iiisiiiiiiiii", k[0],
				  load_number(loads, k[0], k[1], k[2]), k[1], c->texts.text[k[2]],
				  v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8]);
	}
	for (size_t i = 0; ok && i < bins->count; i++) {
		const int64_t *k = &bins->keys[i * bins->nkeys], misses = bins->whole[i];

		ok = !misses || store_insert(c->out, e, "spectrum_load_bin", "iiii", k[0],
					     load_number(loads, k[0], k[1], k[2]), k[3], misses);
	}
	for (size_t i = 0; ok && i < pairs->count; i++) {
		const int64_t *k = &pairs->keys[i * pairs->nkeys],
			      *v = &pairs->whole[i * pairs->nvalues];

		ok = store_insert(c->out, e, "spectrum_pair", "iiiiiii", k[0],
				  load_number(loads, k[0], k[1], k[2]),
				  load_number(loads, k[0], k[3], k[4]), v[0], v[1], v[2], v[3]);
	}
	return ok;
}

/* SPDX-License-Identifier: MIT */
/*
 * Every profiler against the golden reference of the same run.
 *
 * Error of a profile (tea2023 section 4): E = (T - sum over symbols and components of min(C, Cref))
 * / T, where a component is a set of events and the reference is reduced to the events that the
 * profiler reports. It holds both what the profiler gets wrong and what sampling misses. The
 * systematic error (tip2021 section 4) leaves sampling out: sample by sample, which share of it
 * fell on a symbol that the golden reference blames in that very cycle; with it comes a 95%
 * confidence interval over the samples.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "view/doc.h"
#include "util/number.h"
#include "util/array.h"
#include "view/model.h"

enum level { LEVEL_INSTRUCTION, LEVEL_BLOCK, LEVEL_FUNCTION, LEVELS };

struct entry {
	int64_t symbol;
	unsigned events;
	double units;
};

struct entries {
	struct entry *list;
	size_t count;
};

struct symbols {
	uint64_t *pc; /* sorted */
	int64_t *id[LEVELS];
	size_t count;
};

struct row {
	int64_t id, rule;
	char name[32];
	unsigned events;
	double sample_bytes;
	double error[LEVELS], systematic[LEVELS], interval[LEVELS];
};

static void add_entry(struct entries *e, int64_t symbol, unsigned events, double units)
{
	*ARRAY_ADD(e->list, e->count) = (struct entry){ symbol, events, units };
}

static bool read_symbols(struct store *s, struct symbols *y, struct err *e)
{
	size_t n = (size_t)store_number(s, "SELECT count(*) FROM instruction", 0), i = 0;
	memset(y, 0, sizeof(*y));
	y->pc = x_calloc(n, sizeof(*y->pc));
	for (int l = 0; l < LEVELS; l++)
		y->id[l] = x_calloc(n, sizeof(*y->id[l]));
	struct store_rows r =
	    store_query(s, "SELECT pc, block, function FROM instruction ORDER BY pc", "");
	for (; store_next(&r) && i < n; i++) {
		y->pc[i] = (uint64_t)store_int(&r, 0);
		y->id[LEVEL_INSTRUCTION][i] = store_int(&r, 0);
		y->id[LEVEL_BLOCK][i] = store_int(&r, 1);
		y->id[LEVEL_FUNCTION][i] = store_int(&r, 2);
	}
	y->count = i;
	return store_done(&r, e);
}

static void free_symbols(struct symbols *y)
{
	free(y->pc);
	for (int l = 0; l < LEVELS; l++)
		free(y->id[l]);
}

static int64_t symbol_of(const struct symbols *y, uint64_t pc, int level)
{
	const size_t lo = ARRAY_SEARCH(y->count, i, y->pc[i] < pc);
	return lo < y->count && y->pc[lo] == pc ? y->id[level][lo] : -1;
}

static int by_symbol(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	if (x->symbol != y->symbol)
		return x->symbol < y->symbol ? -1 : 1;
	return (x->events > y->events) - (x->events < y->events);
}

/* The entries' pcs as symbols of a level, events reduced to a mask, equal ones added up. */
static struct entries regroup(const struct entries *from, const struct symbols *y, int level,
			      unsigned mask)
{
	struct entries out = { 0 };
	for (size_t i = 0; i < from->count; i++)
		add_entry(&out, symbol_of(y, (uint64_t)from->list[i].symbol, level),
			  from->list[i].events & mask, from->list[i].units);
	if (!out.count)
		return out;
	qsort(out.list, out.count, sizeof(*out.list), by_symbol);
	size_t kept = 0;
	for (size_t i = 1; i < out.count; i++) {
		if (by_symbol(&out.list[kept], &out.list[i]))
			out.list[++kept] = out.list[i];
		else
			out.list[kept].units += out.list[i].units;
	}
	out.count = kept + 1;
	return out;
}

static double error_of(const struct entries *profile, const struct entries *golden,
		       const struct symbols *y, int level, unsigned mask, double total)
{
	struct entries p = regroup(profile, y, level, mask), g = regroup(golden, y, level, mask);
	double right = 0;
	for (size_t i = 0, k = 0; i < p.count && k < g.count;) {
		int c = by_symbol(&p.list[i], &g.list[k]);
		if (!c)
			right += fmin(p.list[i].units, g.list[k].units);
		i += c <= 0;
		k += c >= 0;
	}
	free(p.list);
	free(g.list);
	return total > 0 ? (total - right) / total : 0;
}

static bool read_golden(struct store *s, struct entries *g, struct err *e)
{
	struct store_rows r =
	    store_query(s, "SELECT pc, events, sum(units) FROM golden GROUP BY pc, events", "");
	while (store_next(&r))
		add_entry(g, store_int(&r, 0), (unsigned)store_int(&r, 1),
			  (double)store_int(&r, 2));
	return store_done(&r, e);
}

static bool read_profile(struct store *s, int64_t sampler, int64_t profiler, struct entries *p,
			 struct err *e)
{
	struct store_rows r = store_query(
	    s, "SELECT pc, events, units FROM profile WHERE sampler = ?1 AND profiler = ?2", "ii",
	    sampler, profiler);
	p->count = 0;
	while (store_next(&r))
		add_entry(p, store_int(&r, 0), (unsigned)store_int(&r, 1),
			  (double)store_int(&r, 2));
	return store_done(&r, e);
}

static bool read_rows(struct store *s, struct row **rows, size_t *count, struct err *e)
{
	struct store_rows r = store_query(
	    s, "SELECT id, name, rule, events, sample_bytes FROM profiler ORDER BY id", "");
	*rows = NULL;
	*count = 0;
	while (store_next(&r)) {
		struct row *row = ARRAY_ADD(*rows, *count);
		*row = (struct row){ .id = store_int(&r, 0),
				     .rule = store_int(&r, 2),
				     .events = (unsigned)store_int(&r, 3) };
		row->sample_bytes = store_double(&r, 4);
		snprintf(row->name, sizeof(row->name), "%s", store_shown(&r, 1));
	}
	return store_done(&r, e);
}

/* Interned sample groups: the members of group g are member[first[g] .. first[g + 1]). */
struct groups {
	struct entry *member;
	size_t *first;
	size_t count;
};

static bool read_groups(struct store *s, struct groups *g, struct err *e)
{
	size_t members = (size_t)store_number(s, "SELECT count(*) FROM sample_group", 0), at = 0;
	g->count = (size_t)store_number(s, "SELECT coalesce(max(id) + 1, 0) FROM sample_group", 0);
	g->member = x_calloc(members, sizeof(*g->member));
	g->first = x_calloc(g->count + 1, sizeof(*g->first));
	struct store_rows r =
	    store_query(s, "SELECT id, pc, events FROM sample_group ORDER BY id, position", "");
	while (store_next(&r) && at < members) {
		size_t id = (size_t)store_int(&r, 0);
		g->member[at++] = (struct entry){ store_int(&r, 1), (unsigned)store_int(&r, 2), 0 };
		if (id < g->count)
			g->first[id + 1] = at;
	}
	for (size_t i = 1; i <= g->count; i++)
		if (g->first[i] < g->first[i - 1])
			g->first[i] = g->first[i - 1];
	return store_done(&r, e);
}

/* Which share of a sample blamed on group a is right if group b is the truth. */
static double overlap(const struct groups *g, const struct symbols *y, size_t a, size_t b,
		      int level, unsigned mask)
{
	size_t na = g->first[a + 1] - g->first[a], nb = g->first[b + 1] - g->first[b];
	double right = 0;
	for (size_t i = g->first[a]; i < g->first[a + 1]; i++) {
		int64_t symbol = symbol_of(y, (uint64_t)g->member[i].symbol, level);
		unsigned events = g->member[i].events & mask;
		double mine = 0, truth = 0;
		bool first = true;
		for (size_t k = g->first[a]; k < g->first[a + 1]; k++)
			if (symbol_of(y, (uint64_t)g->member[k].symbol, level) == symbol &&
			    (g->member[k].events & mask) == events) {
				first &= k >= i;
				mine += 1.0 / (double)na;
			}
		for (size_t k = g->first[b]; k < g->first[b + 1]; k++)
			if (symbol_of(y, (uint64_t)g->member[k].symbol, level) == symbol &&
			    (g->member[k].events & mask) == events)
				truth += 1.0 / (double)nb;
		if (first)
			right += fmin(mine, truth);
	}
	return right;
}

static bool systematic_errors(struct store *s, const struct symbols *y, struct row *rows,
			      size_t count, struct err *e)
{
	struct groups g;
	if (!read_groups(s, &g, e))
		return false;
	bool ok = true;
	for (size_t i = 0; ok && i < count; i++) {
		double sum[LEVELS] = { 0 }, squares[LEVELS] = { 0 }, weight = 0, samples = 0;
		struct store_rows r = store_query(
		    s, "SELECT blamed, truth, cycles, samples FROM sample_pair WHERE rule = ?1",
		    "i", rows[i].rule);
		while (store_next(&r)) {
			size_t a = (size_t)store_int(&r, 0), b = (size_t)store_int(&r, 1);
			double w = (double)store_int(&r, 2), n = (double)store_int(&r, 3);
			if (a >= g.count || b >= g.count)
				continue;
			weight += w;
			samples += n;
			for (int l = 0; l < LEVELS; l++) {
				double wrong = 1 - overlap(&g, y, a, b, l, rows[i].events);
				sum[l] += w * wrong;
				squares[l] += w * wrong * wrong;
			}
		}
		ok = store_done(&r, e);
		for (int l = 0; l < LEVELS && weight > 0; l++) {
			double mean = sum[l] / weight, variance = squares[l] / weight - mean * mean;
			rows[i].systematic[l] = mean;
			rows[i].interval[l] =
			    samples > 1 ? 1.96 * sqrt(fmax(variance, 0) / samples) : 0;
		}
	}
	free(g.member);
	free(g.first);
	return ok;
}

/* Samples that this run would have produced in a second of the machine's time. */
static double sample_rate(struct store *s)
{
	double cycles = model_run_number(s, "profiled_cycles", 0),
	       hz = model_run_number(s, "clock_hz", 0);
	return cycles > 0 ? (double)store_number(s, "SELECT samples FROM sampler WHERE id = 0", 0) /
				cycles * hz
			  : 0;
}

static void add_table(struct doc *d, struct store *s, const struct row *rows, size_t count,
		      uint64_t samples, uint64_t period)
{
	static const struct doc_column columns[] = {
		{ .key = "name",
		  .csv = "profiler",
		  .head = "profiler",
		  .before = "",
		  .width = -14 },
		{ .key = "instruction",
		  .csv = "instruction",
		  .csv_format = "%.4f",
		  .head = "instruction",
		  .format = "%.2f",
		  .width = 11 },
		{ .key = "block",
		  .csv = "block",
		  .csv_format = "%.4f",
		  .head = "block",
		  .format = "%.2f",
		  .width = 11 },
		{ .key = "function",
		  .csv = "function",
		  .csv_format = "%.4f",
		  .head = "function",
		  .format = "%.2f",
		  .width = 11 },
		{ .key = "systematic", .csv = "systematic", .csv_format = "%.4f" },
		{ .key = "systematic_block" },
		{ .key = "systematic_function" },
		{ .key = "interval", .csv = "interval", .csv_format = "%.4f" },
		{ .key = "sample_bytes" },
		{ .head = "systematic", .before = "   ", .width = -18 },
		{ .head = "MB/s", .format = "%.2f", .width = 9 },
	};
	const double rate = sample_rate(s);
	char text[64];

	doc_integer(d, "samples", (int64_t)samples);
	doc_integer(d, "period", (int64_t)period);
	doc_line(d, NULL,
		 "Error against the golden reference of this run, in %% (%s samples, one in %llu "
		 "cycles)\n",
		 number_commas(samples, text), (unsigned long long)period);
	struct doc_table *t =
	    doc_table(d, columns, ARRAY_LEN(columns),
		      &(struct doc_table_options){ .key = "profilers", .heads = true });

	for (size_t i = 0; i < count; i++) {
		doc_row(t);
		cell_text(t, rows[i].name);
		for (int l = 0; l < LEVELS; l++)
			cell_real(t, 100 * rows[i].error[l]);
		for (int l = 0; l < LEVELS; l++)
			cell_real(t, 100 * rows[i].systematic[l]);
		cell_real(t, 100 * rows[i].interval[0]);
		cell_real(t, rows[i].sample_bytes);
		snprintf(text, sizeof(text), "%6.2f ± %.2f", 100 * rows[i].systematic[0],
			 100 * rows[i].interval[0]);
		cell_text(t, text);
		cell_real(t, rows[i].sample_bytes * rate / 1e6);
	}
	doc_line(d, NULL,
		 "\nSystematic: instruction level, sample by sample, with a 95%% interval. "
		 "MB/s: what the samples\n"
		 "of this period are on the machine (at perf's 4 kHz: TIP 352 KB/s, one "
		 "address 224 KB/s).");
}

static void add_bare_stalls(struct doc *d, struct store *s)
{
	int64_t all = store_number(s, "SELECT coalesce(sum(count), 0) FROM bare_stall", 0), at = 0,
		length = 0;
	if (!all)
		return;
	struct store_rows r =
	    store_query(s, "SELECT length, count FROM bare_stall ORDER BY length", "");
	while (store_next(&r) && at < all - all / 100) {
		length = store_int(&r, 0);
		at += store_int(&r, 1);
	}
	store_done(&r, NULL);
	doc_line(d, NULL,
		 "\n99%% of the stalls without any event last at most %lld cycles (tea2023: 5.8).",
		 (long long)length);
	double with = model_run_number(s, "with_event", 0),
	       combined = model_run_number(s, "with_combined_events", 0);
	if (with > 0)
		doc_line(d, NULL,
			 "%.1f%% of the executions with an event have more than one (tea2023: "
			 "30.0%%).",
			 100 * combined / with);
}

/* The profilers that tip2021 figure 11 and tea2023 figure 8 show. */
static bool in_chart(const char *profiler)
{
	static const struct {
		const char *name;
		bool chart;
	} all[] = {
#define X(id, name, rule, events, bytes, chart, meaning) { name, chart },
		WORDS_PROFILERS(X)
#undef X
	};
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (!strcmp(all[i].name, profiler))
			return all[i].chart;
	return false;
}

/* Errors by sampling period and method. */
static bool add_sweep(struct doc *d, struct store *s, const struct row *rows, size_t count,
		      const struct entries *golden, const struct symbols *y, double total,
		      struct err *e)
{
	struct doc_column columns[4 + PROFILER_COUNT] = {
		{ .key = "period", .head = "period", .before = "", .format = "%.0f", .width = 10 },
		{ .key = "method", .head = "method", .width = -9 },
		{ .key = "samples", .head = "samples", .format = "%.0f", .width = 9 },
		{ .key = "instruction" },
	};
	size_t ncolumns = 4;
	struct entries p = { 0 };
	bool ok = true, any = false;
	struct store_rows r = store_query(
	    s,
	    "SELECT id, period, random, samples FROM sampler WHERE id > 0 ORDER BY period DESC, "
	    "random",
	    "");

	for (size_t i = 0; i < count && ncolumns < ARRAY_LEN(columns); i++)
		if (in_chart(rows[i].name))
			columns[ncolumns++] = (struct doc_column){ .head = rows[i].name,
								   .format = "%.2f",
								   .width = 9 };
	doc_blank(d);
	struct doc_table *t = doc_table(
	    d, columns, ncolumns, &(struct doc_table_options){ .key = "sweep", .heads = true });

	while (ok && store_next(&r)) {
		double shown[PROFILER_COUNT];
		size_t n = 0;

		any = true;
		doc_row(t);
		cell_integer(t, store_int(&r, 1));
		cell_text(t, store_int(&r, 2) ? "random" : "periodic");
		cell_integer(t, store_int(&r, 3));
		cell_map(t);
		for (size_t i = 0; ok && i < count; i++) {
			ok = read_profile(s, store_int(&r, 0), rows[i].id, &p, e);
			double error = ok ? 100 * error_of(&p, golden, y, LEVEL_INSTRUCTION,
							   rows[i].events, total)
					  : 0;
			cell_put(t, rows[i].name, error);
			if (in_chart(rows[i].name) && n < ncolumns - 4)
				shown[n++] = error;
		}
		for (size_t i = 0; i < ncolumns - 4; i++)
			cell_real(t, i < n ? shown[i] : 0);
	}
	ok = store_done(&r, ok ? e : NULL) && ok;
	free(p.list);
	if (ok && !any)
		ok = err_set(e, "%s holds no sweep: run `culprit sim` with --param sweep=1",
			     store_path(s));
	return ok;
}

/* Pearson's r between executions with the event and cycles, over the instructions that have it;
 * NAN if there is none. */
static double correlation(struct store *s, int64_t bit, double *instructions, bool *ok,
			  struct err *e)
{
	double n = 0, sx = 0, sy = 0, sxx = 0, syy = 0, sxy = 0;
	struct store_rows r = store_query(s,
					  "SELECT sum(executions), sum(units) FROM golden "
					  "WHERE (events >> ?1) & 1 GROUP BY pc",
					  "i", bit);
	while (store_next(&r)) {
		double x = store_double(&r, 0), v = store_double(&r, 1);
		n++;
		sx += x;
		sy += v;
		sxx += x * x;
		syy += v * v;
		sxy += x * v;
	}
	*ok = store_done(&r, e);
	*instructions = n;
	double spread = (n * sxx - sx * sx) * (n * syy - sy * sy);
	return spread > 0 ? (n * sxy - sx * sy) / sqrt(spread) : NAN;
}

/* How well the number of events of an instruction tells its cycles (tea2023 figure 7). */
static bool add_correlation(struct doc *d, struct store *s, struct err *e)
{
	struct store_rows names = store_query(s, "SELECT bit, name FROM event ORDER BY bit", "");
	bool ok = true;

	doc_heading(d, "Event      instructions  correlation of its count with its cycles");
	doc_object(d, "event_correlation");
	while (ok && store_next(&names)) {
		const char *name = store_shown(&names, 1);
		double n, corr = correlation(s, store_int(&names, 0), &n, &ok, e);

		if (isnan(corr))
			doc_null(d, name);
		else
			doc_real(d, name, corr);
		if (n > 0)
			doc_line(d, NULL, "%-10s %12.0f  %.3f", name, n, corr);
	}
	doc_close(d);
	return store_done(&names, ok ? e : NULL) && ok;
}

bool view_accuracy(struct store *s, const struct view_options *o, const struct accuracy_options *a,
		   struct err *e)
{
	struct symbols y;
	struct entries golden = { 0 }, profile = { 0 };
	struct row *rows = NULL;
	size_t count = 0;
	uint64_t samples = (uint64_t)store_number(s, "SELECT samples FROM sampler WHERE id = 0", 0);
	uint64_t period = (uint64_t)store_number(s, "SELECT period FROM sampler WHERE id = 0", 0);
	double total = model_run_number(s, "profiled_cycles", 0) * model_run_number(s, "scale", 1);
	bool ok =
	    read_symbols(s, &y, e) && read_golden(s, &golden, e) && read_rows(s, &rows, &count, e);

	if (ok && total <= 0)
		ok = err_set(e, "%s holds no profile: run `culprit sim` with --analyze profile",
			     store_path(s));
	for (size_t i = 0; ok && i < count; i++) {
		ok = read_profile(s, 0, rows[i].id, &profile, e);
		for (int l = 0; ok && l < LEVELS; l++)
			rows[i].error[l] =
			    error_of(&profile, &golden, &y, l, rows[i].events, total);
	}
	ok = ok && systematic_errors(s, &y, rows, count, e);
	if (ok) {
		struct doc *d = doc_new();

		add_table(d, s, rows, count, samples, period);
		add_bare_stalls(d, s);
		if (a->sweep)
			ok = add_sweep(d, s, rows, count, &golden, &y, total, e);
		if (ok && a->events)
			ok = add_correlation(d, s, e);
		ok = ok && doc_print(d, o, e);
		doc_free(d);
	}
	free(rows);
	free(golden.list);
	free(profile.list);
	free_symbols(&y);
	return ok;
}

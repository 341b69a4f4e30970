/* SPDX-License-Identifier: MIT */
/* Shows the errors of every profiler against the golden reference of the same run. */
#include "view/accuracy.h"

#include <math.h>
#include <string.h>

#include "view/calc.h"
#include "view/doc.h"
#include "words/words.h"

#define FEW_SAMPLES 0.02 /* error by chance, by function, from which on it is said */

/* Bandwidth has a column of its own, the last, where it is asked for. */
static void add_profilers(struct doc *d, const struct accuracy_model *m, bool bandwidth)
{
	static const struct doc_column columns[] = {
		{ .key = "name",
		  .csv = "profiler",
		  .head = "profiler",
		  .before = "",
		  .width = -14 },
		{ DOC_DATA("instruction"), .csv_format = "%.4f",
		  DOC_SHOWN("instruction", "%.2f", 11) },
		{ DOC_DATA("block"), .csv_format = "%.4f", DOC_SHOWN("block", "%.2f", 11) },
		{ DOC_DATA("function"), .csv_format = "%.4f", DOC_SHOWN("function", "%.2f", 11) },
		{ DOC_DATA("systematic"), .csv_format = "%.4f" },
		{ .key = "systematic_block" },
		{ .key = "systematic_function" },
		{ DOC_DATA("interval"), .csv_format = "%.4f" },
		{ .key = "sample_bytes" },
		{ .head = "systematic", .before = "   ", .width = -18 },
		{ DOC_SHOWN("MB/s", "%.2f", 9) },
	};
	char text[32];

	doc_integer(d, "samples", (int64_t)m->samples);
	doc_integer(d, "period", (int64_t)m->period);
	doc_line(d, NULL,
		 "Error against the golden reference of this run, in %% (%s samples, one in %llu "
		 "cycles)\n",
		 number_commas(m->samples, text), (unsigned long long)m->period);
	struct doc_table *t =
	    doc_table(d, columns, ARRAY_LEN(columns) - (bandwidth ? 0 : 1),
		      &(struct doc_table_options){ .key = "profilers", .heads = true });

	for (size_t i = 0; i < m->nprofilers; i++) {
		const struct accuracy_profiler *p = &m->profilers[i];

		doc_row(t);
		cell_text(t, p->name);
		for (int l = 0; l < ACCURACY_LEVELS; l++)
			cell_real(t, 100 * p->error[l]);
		for (int l = 0; l < ACCURACY_LEVELS; l++)
			cell_real(t, p->own ? NAN : 100 * p->systematic[l]);
		cell_real(t, p->own ? NAN : 100 * p->interval[0]);
		cell_real(t, p->sample_bytes);
		if (p->own)
			cell_text(t, "     -");
		else
			cell_format(t, "%6.2f ± %.2f", 100 * p->systematic[0],
				    100 * p->interval[0]);
		if (bandwidth)
			cell_real(t, p->sample_bytes * p->sample_rate / 1e6);
	}
	if (m->estimated)
		doc_boolean(d, "estimated", true);
	doc_real(d, "chance_error", 100 * m->chance);
	doc_boolean(d, "too_few_samples", m->chance >= FEW_SAMPLES);
	if (m->chance >= FEW_SAMPLES)
		doc_note(d, TERM_YELLOW,
			 "\nThe %s too few samples: by chance alone a profiler is off by "
			 "%.1f%% by "
			 "function. A shorter --period or %s.",
			 m->estimated ? "points have" : "run has", 100 * m->chance,
			 m->estimated ? "more points help" : "a longer run helps");
	if (m->tip_chance > 0) {
		doc_real(d, "tip_chance_error", 100 * m->tip_chance);
		doc_boolean(d, "resonates", m->resonates);
		doc_real(d, "samples_at_4khz", m->perf_samples);
		doc_line(
		    d, NULL,
		    "\nBy chance alone so many samples put TIP off by %.2f%% by instruction; a "
		    "million would by %.2f%%.\nThe papers' 4 kHz would take %.0f in this time.",
		    100 * m->tip_chance, 100 * m->tip_chance * sqrt((double)m->samples / 1e6),
		    m->perf_samples);
	}
	if (m->resonates)
		doc_note(
		    d, TERM_YELLOW,
		    "\nThe samples fall in step with a loop: TIP is off by %.1f%% by instruction, "
		    "and by %.1f%% if the cycles were\nchosen at random. --random or another "
		    "--period avoids it.",
		    100 * m->tip_error, 100 * m->tip_chance);
	doc_line(d, NULL,
		 "\nSystematic: instruction level, sample by sample, with a 95%% interval.");
	if (bandwidth)
		doc_line(
		    d, NULL,
		    "MB/s: what the samples of this period are on the machine (at perf's 4 kHz: "
		    "TIP 352 KB/s, one address\n224 KB/s).");
}

static void add_pooled(struct doc *d, const struct accuracy_pooled *p)
{
	if (!p->is)
		return;
	doc_object(d, "pooled");
	doc_real(d, "of_tip", p->of_tip);
	doc_real(d, "limit", p->limit);
	doc_real(d, "covered", 100 * p->covered);
	doc_real(d, "covered_time", 100 * p->covered_time);
	doc_real(d, "negative", 100 * p->negative);
	doc_close(d);
	doc_line(
	    d, NULL,
	    "\ntip-pooled has %.2f of TIP's error by instruction from the same samples; %.2f if "
	    "executions were known.\n"
	    "Its 95%% intervals hold the truth of %.1f%% of the instructions, with %.1f%% of the "
	    "time.",
	    p->of_tip, p->limit, 100 * p->covered, 100 * p->covered_time);
}

static void add_bare_stalls(struct doc *d, const struct accuracy_model *m)
{
	if (!m->bare_stalls)
		return;
	doc_line(d, NULL,
		 "\n99%% of the stalls without any event last at most %lld cycles (tea2023: 5.8).",
		 (long long)m->bare_length);
	if (m->with_event > 0)
		doc_line(d, NULL,
			 "%.1f%% of the executions with an event have more than one (tea2023: "
			 "30.0%%).",
			 100 * m->with_combined / m->with_event);
	if (m->with_event > 0 && m->with_bits >= 0)
		doc_line(d, NULL,
			 "%.1f%% have several bits set, if the L1 miss of a last-level miss counts "
			 "as an event, too.",
			 100 * m->with_bits / m->with_event);
}

/* What the sampling hardware saw that the reference did not, and the other way round. */
static void add_verdicts(struct doc *d, const struct accuracy_model *m)
{
	static const struct doc_column columns[] = {
		{ .key = "state", .head = "state", .before = "", .width = -14 },
		{ .key = "verdict", .head = "beside TIP's rule", .before = "  ", .width = -20 },
		{ .key = "samples", DOC_SHOWN("samples", "%.0f", 10) },
	};

	if (!m->nverdicts)
		return;
	doc_heading(d, "What the hardware delivered, sample by sample");
	struct doc_table *t = DOC_TABLE(d, columns, .key = "hardware", .heads = true);

	for (size_t i = 0; i < m->nverdicts; i++) {
		doc_row(t);
		cell_text(t, m->verdicts[i].state);
		cell_text(t, m->verdicts[i].verdict);
		cell_integer(t, (int64_t)m->verdicts[i].samples);
	}
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

/* Errors by sampling period and method: JSON has all profilers, text those of the papers' charts. */
static void add_sweep(struct doc *d, const struct accuracy_model *m)
{
	struct doc_column columns[4 + PROFILER_COUNT] = {
		{ .key = "period", DOC_SHOWN("period", "%.0f", 10), .before = "" },
		{ .key = "method", .head = "method", .width = -9 },
		{ .key = "samples", DOC_SHOWN("samples", "%.0f", 9) },
		{ .key = "instruction" },
	};
	size_t shown[PROFILER_COUNT], n = 0;

	for (size_t i = 0; i < m->nprofilers && n < PROFILER_COUNT; i++)
		if (in_chart(m->profilers[i].name)) {
			columns[4 + n] =
			    (struct doc_column){ DOC_SHOWN(m->profilers[i].name, "%.2f", 9) };
			shown[n++] = i;
		}
	doc_blank(d);
	struct doc_table *t = doc_table(
	    d, columns, 4 + n, &(struct doc_table_options){ .key = "sweep", .heads = true });

	for (size_t k = 0; k < m->nsamplers; k++) {
		const struct accuracy_sampler *s = &m->samplers[k];

		doc_row(t);
		cell_integer(t, s->period);
		cell_text(t, s->random ? "random" : "periodic");
		cell_integer(t, s->samples);
		cell_map(t);
		for (size_t i = 0; i < m->nprofilers; i++)
			if (!m->profilers[i].own)
				cell_put(t, m->profilers[i].name, 100 * s->error[i]);
		for (size_t i = 0; i < n; i++)
			cell_real(t, 100 * s->error[shown[i]]);
	}
}

/* Table 2.1 of the thesis as numbers: the profilers whose rules differ. */
static void add_states(struct doc *d, const struct accuracy_model *m)
{
	static const char *const rules[] = { "software", "dispatch", "ris",	"nci",
					     "nci+ilp",	 "lci",	     "tip-ilp", "tip" };
	struct doc_column columns[4 + ARRAY_LEN(rules)] = {
		{ .key = "category", .head = "commit", .before = "", .width = -12 },
		{ .key = "samples", DOC_SHOWN("samples", "%.0f", 9) },
		{ DOC_DATA("share"), .factor = 100, DOC_SHOWN("time", "%.1f", 6) },
		{ .key = "right" },
	};
	size_t shown[ARRAY_LEN(rules)], n = 0;

	for (size_t i = 0; i < ARRAY_LEN(rules); i++)
		for (size_t k = 0; k < m->nprofilers; k++)
			if (!strcmp(m->profilers[k].name, rules[i])) {
				columns[4 + n] =
				    (struct doc_column){ DOC_SHOWN(rules[i], "%.1f", 9) };
				shown[n++] = k;
			}
	if (!m->nstates)
		return;
	doc_heading(
	    d, "Time given to the right instruction, in %%, by what commit was doing (sample by "
	       "sample)");
	struct doc_table *t = doc_table(
	    d, columns, 4 + n, &(struct doc_table_options){ .key = "states", .heads = true });

	for (size_t i = 0; i < m->nstates; i++) {
		const struct accuracy_state *s = &m->states[i];

		doc_row(t);
		cell_text(t, words_times[s->category].name);
		cell_real(t, s->samples);
		cell_real(t, s->share);
		cell_map(t);
		for (size_t k = 0; k < m->nprofilers; k++)
			if (!isnan(s->right[k]))
				cell_put(t, m->profilers[k].name, 100 * s->right[k]);
		for (size_t k = 0; k < n; k++)
			cell_real(t, 100 * s->right[shown[k]]);
	}
}

/* How many bits explain how much (tea2023 section 3). */
static void add_psvs(struct doc *d, const struct accuracy_model *m)
{
	static const struct doc_column columns[] = {
		{ .key = "bits", DOC_SHOWN("bits", "%.0f", 5), .before = "" },
		{ .key = "event", .head = "with", .before = "  ", .width = -10 },
		{ .key = "stall", DOC_SHOWN("99% of stalls", "%.0f", 14) },
		{ DOC_DATA("bare"), .factor = 100, DOC_SHOWN("unexplained", "%.2f%%", 12) },
		{ .key = "bytes", DOC_SHOWN("bytes", "%.0f", 7) },
	};

	if (!m->npsvs)
		return;
	doc_heading(d, "What sets of events explain: each has one more than the one before");
	struct doc_table *t = DOC_TABLE(d, columns, .key = "psv_curve", .heads = true);

	for (size_t i = 0; i < m->npsvs; i++) {
		const struct accuracy_psv *p = &m->psvs[i];

		doc_row(t);
		cell_integer(t, p->bits);
		cell_text(t, p->paper		      ? "TEA's nine"
			     : p->event < 0	      ? "none"
			     : p->event < EVENT_COUNT ? words_events[p->event].name
						      : "?");
		cell_real(t, p->stall);
		cell_real(t, p->idle > 0 ? p->bare / p->idle : 0);
		cell_real(t, p->bytes);
	}
	doc_line(d, NULL,
		 "\n99%% of the stalls without an event of the set last at most so many cycles "
		 "(tea2023: 5.8 with "
		 "nine).\nUnexplained: share of the time in which nothing commits. Bytes: what TEA "
		 "adds to TIP in the "
		 "core.");
}

static void add_events(struct doc *d, const struct accuracy_model *m)
{
	doc_heading(d, "Event      instructions  correlation of its count with its cycles");
	doc_object(d, "event_correlation");
	for (size_t i = 0; i < m->nevents; i++) {
		const struct accuracy_event *e = &m->events[i];

		doc_real(d, e->name, e->correlation);
		if (e->instructions > 0)
			doc_line(d, NULL, "%-10s %12.0f  %.3f", e->name, e->instructions,
				 e->correlation);
	}
	doc_close(d);
}

bool view_accuracy(struct store *s, const struct view_options *o, const struct accuracy_options *a,
		   struct err *e)
{
	struct accuracy_model m;
	struct doc *d;

	if (!model_has_golden(s) && calc_has(s)) {
		d = doc_new();
		const bool alone = calc_add_accuracy(d, s, e) && doc_print(d, o, e);

		doc_free(d);
		return alone;
	}
	if (!accuracy_read(s, a, &m, e))
		return false;
	d = doc_new();

	estimated_rebuilt(d, s);
	add_profilers(d, &m, a->bandwidth);
	add_pooled(d, &m.pooled);
	add_bare_stalls(d, &m);
	add_verdicts(d, &m);
	if (a->sweep)
		add_sweep(d, &m);
	if (a->events)
		add_events(d, &m);
	if (a->states)
		add_states(d, &m);
	if (a->bits)
		add_psvs(d, &m);
	const bool ok = calc_add_accuracy(d, s, e) && doc_print(d, o, e);

	doc_free(d);
	accuracy_free(&m);
	return ok;
}

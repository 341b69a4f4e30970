/* SPDX-License-Identifier: MIT */
/* culprit spectrum: what every cluster of cache misses cost. */
#include "cmd/adding.h"
#include "cmd/reading.h"
#include "cmd/spectrum_verify.h"
#include "util/number.h"
#include "view/spectrum.h"
#include "words/words.h"

struct spectrum_values {
	struct reading reading;
	struct simulating simulating;
	uint64_t size, verify;
	const char *from, *to, *pattern, *kind, *load, *svg;
	bool right, net, compare, multisim, add;
};

/* Cycles: a number, with a minus before it for a cost below zero. */
static bool parse_cycles(const char *text, int64_t *out)
{
	const struct number_range range = { 0, 1000000000, NUMBER_DECIMAL };
	const bool below = *text == '-';
	uint64_t n;

	if (!number_parse(text + below, &range, &n))
		return false;
	*out = below ? -(int64_t)n : (int64_t)n;
	return true;
}

static bool check_cycles(const char *text, struct err *e)
{
	int64_t ignored;

	return parse_cycles(text, &ignored) ||
	       err_set(e, "'%s' is not a number of cycles, such as 80 or -20", text);
}

static bool zoom_of(const struct spectrum_values *v, struct spectrum_options *so)
{
	so->zoom = v->from || v->to;
	if (v->from)
		parse_cycles(v->from, &so->from);
	so->to = so->from + 200;
	if (v->to)
		parse_cycles(v->to, &so->to);
	if (so->zoom && v->to && !v->from && so->to <= 0)
		so->from = so->to - 200;
	if (so->to > so->from)
		return true;
	warn("spectrum: --to %lld is not beyond --from %lld", (long long)so->to,
	     (long long)so->from);
	return false;
}

static int spectrum_run(void *values, int nargs, char **args)
{
	const struct spectrum_values *v = values;
	struct spectrum_options so = { .size = v->size,
				       .pattern = v->pattern,
				       .kind = v->kind,
				       .load = v->load,
				       .right = v->right,
				       .net = v->net,
				       .svg = v->svg };
	struct view_options o;
	struct store *store;
	struct err e = { "" };

	if (!zoom_of(v, &so))
		return 2;
	if (v->multisim && !v->compare) {
		warn("spectrum: --multisim needs --compare, in whose table it shows");
		return 2;
	}
	if (!reading_options("spectrum", &v->reading, &o) ||
	    !reading_open("spectrum", &v->reading, args, 1, &store))
		return 2;
	if (!adding_ensure("spectrum", &v->reading, &store, "spectrum", v->add, &v->simulating)) {
		store_close(store);
		return 2;
	}
	struct spectrum_verify verify = { 0 };
	struct spectrum_compare compare = { 0 };
	size_t failed = 0;
	bool ok = true;

	if (v->verify) {
		ok = spectrum_read_clusters(store, v->verify, &verify, &e);
		if (ok && simulating_trusted("spectrum", store, &v->simulating)) {
			ok = spectrum_verify(store, &v->simulating, &verify, &failed, &e);
			so.verify = &verify;
		}
	}
	if (ok && v->compare) {
		ok = spectrum_compare_read(store, (size_t)(o.limit ? o.limit : 10), &compare, &e);
		so.compare = &compare;
		if (ok && v->multisim && simulating_trusted("spectrum", store, &v->simulating))
			ok = spectrum_multisim(store, &v->simulating, &compare, &failed, &e);
	}
	const int status = reading_status("spectrum", ok && view_spectrum(store, &o, &so, &e), &e);
	spectrum_verify_free(&verify);
	spectrum_compare_free(&compare);
	store_close(store);
	return status ? status : failed ? 1 : 0;
}

#define OPTION(field) .offset = offsetof(struct spectrum_values, field)
static const struct cmd_option options[] = {
	READING_OPTIONS,
	READING_DEBUG_OPTION,
	{ .name = "size",
	  .type = CMD_NUMBER,
	  OPTION(size),
	  .range = { 1, SPECTRUM_LARGEST, NUMBER_PLAIN },
	  .arg = "N",
	  .help = "Only clusters of so many misses; 1 to 4 by default" },
	{ .name = "pattern",
	  .type = CMD_TEXT,
	  OPTION(pattern),
	  .arg = "PATTERN",
	  .help = "Only clusters whose misses were served so, in order: H by the nearest level "
		  "beyond the L1, M by the farthest, L by one between" },
	{ .name = "kind",
	  .type = CMD_TEXT,
	  OPTION(kind),
	  .arg = "NAME",
	  .help = "Only clusters of misses of one kind:" WORDS_MISSES(
	      WORDS_SPACED) "; mixed: of several" },
	{ .name = "right-path",
	  .type = CMD_SWITCH,
	  OPTION(right),
	  .help = "Clusters of the right path's misses alone" },
	{ .name = "net",
	  .type = CMD_SWITCH,
	  OPTION(net),
	  .help = "Spectrograms by net cost instead of the paper's" },
	{ .name = "from",
	  .type = CMD_TEXT,
	  OPTION(from),
	  .check = check_cycles,
	  .arg = "CYCLES",
	  .help = "Where spectrograms begin; costs below zero too (--from=-20)" },
	{ .name = "to",
	  .type = CMD_TEXT,
	  OPTION(to),
	  .check = check_cycles,
	  .arg = "CYCLES",
	  .help = "… and end" },
	{ .name = "load",
	  .type = CMD_TEXT,
	  OPTION(load),
	  .arg = "PLACE",
	  .help = "Only the misses of an address, FILE:LINE or function, with a spectrogram each" },
	{ .name = "svg",
	  .type = CMD_TEXT,
	  OPTION(svg),
	  .arg = "FILE",
	  .help = "Writes the spectrograms as a picture too, predictions as pulses under them" },
	{ .name = "verify",
	  .type = CMD_NUMBER,
	  OPTION(verify),
	  .range = { 1, SPECTRUM_VERIFY_MOST, NUMBER_PLAIN },
	  .arg = "N",
	  .help = "Simulates the run again without the misses of one cluster, for each of N random "
		  "clusters, and shows what that saves beside what they cost" },
	{ .name = "compare",
	  .type = CMD_SWITCH,
	  OPTION(compare),
	  .help = "Shows what the run's other analyses say of data misses beside it: of a run with "
		  "--analyze profile,cpistack,icost,spectrum" },
	{ .name = "multisim",
	  .type = CMD_SWITCH,
	  OPTION(multisim),
	  .help = "With --compare: simulates the run again without data misses, without those of "
		  "each load that is shown, and for the simulated stack" },
	ADDING_OPTION(struct spectrum_values, add),
	SIMULATING_OPTIONS(struct spectrum_values),
	{ .name = NULL },
};

static const struct cmd_example examples[] = {
	{ "culprit sim --machine puzak2007 --analyze spectrum -- ./prog",
	  "Runs the program on the machine and on its twin, and makes the spectrum." },
	{ "culprit spectrum prog.culprit --right-path --svg prog.svg",
	  "Shows it as the paper does, without wrong paths." },
	{ "culprit spectrum prog.culprit --size 2 --pattern HM --from 80 --to 130",
	  "One pattern of two misses, closer." },
	{ "culprit spectrum prog.culprit --verify 200",
	  "The truth for 200 clusters: what the run saves if their misses are hits." },
	{ NULL, NULL },
};

const struct command cmd_spectrum = {
	.name = "spectrum",
	.summary = "what every cluster of cache misses cost",
	.args = "FILE",
	.min_args = 1,
	.max_args = 1,
	.description =
	    "Shows pipeline spectroscopy (puzak2007): the cycles that caches cost a run, against a "
	    "twin with perfect ones, cluster of misses by cluster. Spectrograms show how many "
	    "clusters of a size cost how much; their peaks are sums of the memory's latencies, and "
	    "which sums there are says what overlaps. Patterns of large clusters follow from those "
	    "of two misses. Loads, lines and functions with the cycles that their misses cost, and "
	    "pairs of loads whose misses overlap or wait for each other.",
	.exit_status = "0 on success; 1 if a simulation failed, which is named, while the rest is "
		       "shown; 2 if the file cannot be read or the command was used wrongly.",
	.options = options,
	.examples = examples,
	.values_size = sizeof(struct spectrum_values),
	.run = spectrum_run,
};

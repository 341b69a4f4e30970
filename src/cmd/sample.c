/* SPDX-License-Identifier: MIT */
/*
 * culprit sample: a profile of a long program from a few of its intervals. The steps, each in a file of
 * its own: a functional pass over the whole run gives vectors and exact execution counts
 * (sample_profile.c); intervals are chosen (sample_points.c) and simulated (sample_simulate.c); their
 * stores become one (sample_combine.c). `sample show` shows what such a profile was made of
 * (sample_show.c).
 */
#include "cmd/sample.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/sim.h"
#include "cmd/simulating.h"
#include "util/number.h"

static const char *const methods[] = { "simpoint", "systematic", NULL };

static bool check_share(const char *text, struct err *e)
{
	const char *unit;
	double x;

	return (number_real(text, &x, &unit) && !*unit && x <= 1) ||
	       err_set(e, "'%s' is not valid: a number from 0 to 1", text);
}

static bool check_percent(const char *text, struct err *e)
{
	const char *unit;
	double x;

	return (number_real(text, &x, &unit) && !strcmp(unit, "%") && x > 0 && x <= 100) ||
	       err_set(e, "'%s' is not valid: a percentage like 1%%", text);
}

static bool check_confidence(const char *text, struct err *e)
{
	const char *unit;
	double x;

	return (number_real(text, &x, &unit) && !strcmp(unit, "%") && x >= 50 && x < 100) ||
	       err_set(e, "'%s' is not valid: a percentage from 50%% to below 100%%", text);
}

static bool check_warm(const char *text, struct err *e)
{
	static const struct number_range range = { 0, SIM_INSTS_MAX, NUMBER_DECIMAL };
	uint64_t n;

	return !strcmp(text, "all") || !strcmp(text, "auto") || number_parse(text, &range, &n) ||
	       err_set(e,
		       "'%s' is not valid: a number of instructions (k, M or G may follow), all or "
		       "auto",
		       text);
}

#define OPTION(field, kind, option, ...)                                                           \
	{                                                                                          \
		.name = option, .type = CMD_##kind,                                                \
		.offset = offsetof(struct sample_options, field), __VA_ARGS__                      \
	}

static const struct cmd_option options[] = {
	OPTION(method, CHOICE, "method", .choices = methods,
	       .help =
		   "How intervals are chosen: by clusters of basic block vectors (simpoint, the "
		   "default), or many short ones at equal distances (systematic)."),
	OPTION(
	    interval, NUMBER, "interval", .range = { 1, SIM_INSTS_MAX, NUMBER_DECIMAL },
	    .unset = SAMPLING_INTERVAL, .arg = "N",
	    .help =
		"Instructions of an interval, 1M by default (k, M, G: 10^3, 10^6, 10^9). A run of "
		"fewer than 20 intervals is simulated whole."),
	OPTION(max_k, NUMBER, "max-k", .range = { 1, 10000, NUMBER_PLAIN }, .unset = SAMPLING_MAX_K,
	       .arg = "K", .help = "At most so many clusters, 30 by default."),
	OPTION(dims, NUMBER, "dims", .range = { 1, 1000, NUMBER_PLAIN }, .unset = SAMPLING_DIMS,
	       .arg = "N", .help = "Dimensions that vectors are projected to, 15 by default."),
	OPTION(tries, NUMBER, "tries", .range = { 1, 1000, NUMBER_PLAIN }, .unset = SAMPLING_TRIES,
	       .arg = "N",
	       .help = "Clusterings per number of clusters, 5 by default; the best counts."),
	OPTION(
	    bic, TEXT, "bic", .arg = "SHARE", .check = check_share,
	    .help =
		"The fewest clusters whose score lies so far up from the worst to the best, 0.9 by "
		"default."),
	OPTION(bic_of_best, SWITCH, "bic-of-best",
	       .help = "--bic is a part of the best score, as in the literature."),
	OPTION(exhaustive, SWITCH, "exhaustive", .help = "Tries every number of clusters."),
	OPTION(no_data, SWITCH, "no-data",
	       .help =
		   "Clusters by blocks alone, without the part of the vectors that says how local "
		   "loads and stores are."),
	OPTION(
	    no_history, SWITCH, "no-history",
	    .help =
		"Caches and TLBs begin a warm-up empty; without it with the lines that the run has "
		"touched last, which are kept with the checkpoints."),
	OPTION(seed, NUMBER, "seed", .arg = "N",
	       .help =
		   "Of projection, clustering and the choice of further points; 0 by default. The "
		   "program's own is --guest-seed."),
	OPTION(
	    error, TEXT, "error", .arg = "P%", .check = check_percent,
	    .help =
		"Adds points, where they help most, until the interval of confidence of the CPI is "
		"at most so wide to each side. systematic: 3% by default."),
	OPTION(max_points, NUMBER, "max-points", .range = { 1, 1000000, NUMBER_PLAIN }, .arg = "N",
	       .help = "At most so many points, 300 by default, 10,000 for systematic; each "
		       "cluster has one "
		       "in any case."),
	OPTION(confidence, TEXT, "confidence", .arg = "P%", .check = check_confidence,
	       .help = "Of intervals: 95% by default, 99.7% for systematic."),
	OPTION(unit, NUMBER, "unit", .range = { 100, 1000000000, NUMBER_DECIMAL },
	       .unset = SAMPLE_UNIT, .arg = "N",
	       .help = "systematic: instructions of an interval, 1,000 by default."),
	OPTION(live_points, SWITCH, "live-points",
	       .help =
		   "systematic: keeps process and core before each unit, and measures units from "
		   "there in random order, so that Ctrl-C ends it with an estimate at any time. "
		   "Another analysis takes the same live-points."),
	OPTION(warm, TEXT, "warm", .arg = "N|all|auto", .check = check_warm,
	       .help =
		   "Instructions before a point during which caches, TLBs and predictors "
		   "learn, untimed; "
		   "2M by default, after what the history of the run says (10M with "
		   "--no-history), and four times that where it matters. A few points are "
		   "simulated again after a longer one; the difference goes into the error. all: "
		   "all that precede it. auto: as many as each point needs, and "
		   "what they leave unknown goes into the error."),
	OPTION(
	    settle, NUMBER, "settle", .range = { 0, 1000000000, NUMBER_DECIMAL },
	    .unset = SAMPLE_SETTLE, .arg = "N",
	    .help =
		"Instructions before a point that are timed but not measured, 2,000 by default."),
	OPTION(machine, TEXT, "machine", .arg = "NAME|FILE.ini",
	       .help =
		   "The machine to model; 'culprit machines' lists them. boom-tip unless given."),
	OPTION(sets, STRINGS, "set", .arg = "SECTION.KEY=VALUE",
	       .help = "Changes a parameter of the machine. May be given more than once."),
	OPTION(analyze, TEXT, "analyze", .arg = "LIST",
	       .help =
		   "What to compute at each point: names with commas between, profile by default."),
	OPTION(period, NUMBER, "period", .range = { 1, SESSION_PERIOD_MAX, NUMBER_DECIMAL },
	       .arg = "CYCLES", .help = "Cycles between two samples, 1000 by default."),
	OPTION(frequency, NUMBER, "frequency", .range = { 1, SESSION_PERIOD_MAX, NUMBER_DECIMAL },
	       .arg = "HZ", .help = "Samples a second of the machine's time, instead of --period."),
	OPTION(random, SWITCH, "random", .help = "Samples at a random cycle of each period."),
	OPTION(params, STRINGS, "param", .arg = "KEY=VALUE", .check = session_check_param,
	       .help = "A parameter of an analysis."),
	OPTION(
	    plain_weights, SWITCH, "plain-weights",
	    .help =
		"The time of an instruction is the weighted sum over points; without it, how often "
		"it ran in the whole run, times the cycles that an execution took at the points."),
	OPTION(output, TEXT, "output", .arg = "FILE", .letter = 'o',
	       .help =
		   "Where the profile goes; the program's name with .culprit, in this folder, by "
		   "default."),
	OPTION(
	    keep, TEXT, "keep", .arg = "DIR",
	    .help =
		"Leaves vectors (.bb.gz), points (.simpoints) and weights (.weights) there, in the "
		"forms that other tools read."),
	OPTION(partial, SWITCH, "partial",
	       .help = "Uses what ran of a program that a signal ended, or Ctrl-C, while it was "
		       "profiled."),
	OPTION(jobs, NUMBER, "jobs", .range = { 1, 1024, NUMBER_PLAIN }, .arg = "N", .letter = 'j',
	       .help = "Simulations at a time, as many as there are processors by default."),
	OPTION(place, TEXT, "place", .arg = "local|slurm[:PARTITION]",
	       .check = simulating_check_place, .help = "Where simulations run: local by default."),
	OPTION(cache, TEXT, "cache", .arg = "DIR",
	       .help = "Where results are kept: $CULPRIT_CACHE, $XDG_CACHE_HOME/culprit or "
		       "~/.cache/culprit by default."),
	OPTION(again, SWITCH, "again", .help = "Profiles and simulates also what is in the cache."),
	OPTION(sysroot, TEXT, "sysroot", .arg = "DIR",
	       .help = "Looks absolute guest paths up under DIR first."),
	OPTION(max_insts, NUMBER, "max-insts", .range = { 1, SIM_INSTS_MAX, NUMBER_DECIMAL },
	       .arg = "N", .help = "The run ends after N instructions."),
	OPTION(env, STRINGS, "env", .arg = "NAME=VALUE",
	       .help = "Sets a variable of the guest's environment. May be given more than once."),
	OPTION(guest_seed, NUMBER, "guest-seed", .arg = "N",
	       .help = "Changes what the guest gets as random numbers and process id."),
	OPTION(
	    children, CHOICE, "children", .choices = sim_children_choices,
	    .help =
		"What becomes of processes that the guest forks: they run unmeasured (functional). "
		"simulated cannot be sampled."),
	OPTION(interpreter, SWITCH, "interpreter",
	       .help = "Profiles without generated host code. Slower, same result."),
	{ .name = NULL },
};

static double percent(const char *text, double fallback)
{
	const char *unit;
	double x;

	return text && number_real(text, &x, &unit) ? x / 100 : fallback;
}

/* From texts to numbers; false if options contradict each other. */
static bool settle_options(struct sample *s, struct err *e)
{
	static const struct number_range range = { 0, SIM_INSTS_MAX, NUMBER_DECIMAL };
	const struct sample_options *o = s->o;
	const bool systematic = o->method == SAMPLE_SYSTEMATIC;
	const char *unit;

	if (o->children)
		return err_set(
		    e, "--children simulated: points are of one process, so forked processes "
		       "cannot be sampled; 'culprit sim' measures them");
	if (systematic && o->warm && strcmp(o->warm, "all"))
		return err_set(e,
			       "--method systematic warms up all the way: --warm %s contradicts it",
			       o->warm);
	if (o->live_points && !systematic)
		return err_set(
		    e, "--live-points are for --method systematic; clusters have checkpoints");
	if (o->live_points && o->max_points > SAMPLE_MAX_LIVE)
		return err_set(e, "--live-points: --max-points is at most %d", SAMPLE_MAX_LIVE);
	if (o->period && o->frequency)
		return err_set(e, "--period and --frequency exclude each other");
	s->bic = SAMPLING_BIC;
	if (o->bic)
		number_real(o->bic, &s->bic, &unit);
	s->error = percent(o->error, systematic ? SYSTEMATIC_ERROR : 0);
	s->confidence =
	    percent(o->confidence, systematic ? SYSTEMATIC_CONFIDENCE : ESTIMATE_CONFIDENCE);
	s->max_points = o->max_points ? o->max_points
			: systematic  ? SAMPLE_MAX_UNITS
				      : SAMPLE_MAX_POINTS;
	if (o->live_points)
		s->max_points = min_u64(s->max_points, SAMPLE_MAX_LIVE);
	s->warm = UINT64_MAX;
	s->warm_auto = o->warm && !strcmp(o->warm, "auto");
	if (s->warm_auto)
		s->warm = SAMPLE_AUTO_LAST;
	else if (o->warm && strcmp(o->warm, "all"))
		number_parse(o->warm, &range, &s->warm);
	else if (!o->warm && (o->no_history || systematic))
		s->warm = SAMPLE_WARM_ALONE;
	else if (!o->warm)
		number_parse(SAMPLE_WARM, &range, &s->warm);
	s->history = !systematic && !o->no_history && s->warm != UINT64_MAX;
	s->cache = o->cache ? x_strdup(o->cache) : jobs_cache_dir();
	s->output =
	    o->output ? x_strdup(o->output) : x_asprintf("%s.culprit", path_name(s->args[0]));
	return true;
}

/* One line on standard error: what came out. */
static void report(const struct sample *s)
{
	char insts[NUMBER_COMMAS_BYTES], cycles[NUMBER_COMMAS_BYTES], error[64] = "";
	char from[64];
	const char *program = path_name(s->args[0]);

	number_commas(s->total, insts);
	if (s->is_whole) {
		number_commas(s->points[0].cycles, cycles);
		warn("%s: %s instructions are fewer than %d intervals of %llu, so all were "
		     "simulated: %s "
		     "cycles, CPI %.3f; %s",
		     program, insts, SAMPLE_WHOLE, (unsigned long long)s->o->interval, cycles,
		     s->cpi.value, s->output);
		return;
	}
	number_commas((uint64_t)llround(s->cpi.value * (double)s->total), cycles);
	if (s->cpi.has_error)
		snprintf(error, sizeof(error), " ±%.2f%% (%.4g%% confidence)",
			 100 * estimate_relative_error(&s->cpi), 100 * s->confidence);
	if (s->choice.clustering.of)
		snprintf(from, sizeof(from), "%zu points in %u cluster%s", s->npoints,
			 s->choice.clustering.k, s->choice.clustering.k == 1 ? "" : "s");
	else
		snprintf(from, sizeof(from), "%zu units of %llu", s->npoints,
			 (unsigned long long)s->o->unit);
	warn("%s: %s instructions, estimated %s cycles, CPI %.3f%s, from %s; %s", program, insts,
	     cycles, s->cpi.value, error, from, s->output);
	if (s->cut_short)
		warn("%s: measuring was interrupted; the estimate is of the units before, and the "
		     "same command "
		     "goes on from there",
		     program);
	else if (s->error > 0 && !(s->sampling_error <= s->error))
		warn("%s: the error is above the %.4g%% that were wanted: --max-points %llu is "
		     "reached",
		     program, 100 * s->error, (unsigned long long)s->max_points);
}

/* A folder that cannot be written costs nothing if it is found before anything runs. */
static bool check_output(const struct sample *s, struct err *e)
{
	const char *slash = strrchr(s->output, '/');
	char *folder =
	    slash ? x_strndup(s->output, (size_t)(slash - s->output) + 1) : x_strdup(".");
	const bool ok = !access(folder, W_OK | X_OK);

	if (!ok)
		err_set(e, "cannot write '%s': %s", s->output, strerror(errno));
	free(folder);
	return ok;
}

static bool measure(struct sample *s, struct err *e)
{
	if (s->o->method == SAMPLE_SYSTEMATIC &&
	    s->total / s->o->unit >= SAMPLE_WHOLE * SAMPLE_WHOLE)
		return sample_units(s, e);
	return sample_choose(s, e) && sample_simulate(s, e);
}

static bool take_steps(struct sample *s, struct err *e)
{
	return settle_options(s, e) && sample_prepare(s, e) && check_output(s, e) &&
	       sample_profile(s, e) && measure(s, e) && sample_combine(s, e) &&
	       (!s->o->keep || sample_keep(s, e));
}

static int run(void *values, int nargs, char **args)
{
	struct sample s = { .o = values, .args = args };
	struct err e = { "" };
	bool ok;

	if (!strcmp(args[0], "show"))
		return sample_show(nargs - 1, args + 1);
	ok = take_steps(&s, &e);
	if (ok)
		report(&s);
	else if (!s.said)
		warn("sample: %s", e.text);
	sample_points_free(&s);
	sample_profile_free(&s);
	free(s.machine);
	free(s.cache);
	free(s.output);
	return ok ? 0 : 2;
}

static const struct cmd_example examples[] = {
	{ "culprit sample -- ./program input", "Profiles a long run from a few of its intervals." },
	{ "culprit sample --error 1% --analyze profile,cpistack -- ./program",
	  "As many points as make the CPI sure to 1%." },
	{ "culprit sample --machine big.ini -o big.culprit -- ./program",
	  "Another machine on the same points: only they are simulated." },
	{ "culprit sample show program.culprit", "What the profile was made of." },
	{ NULL, NULL },
};

const struct command cmd_sample = {
	.name = "sample",
	.summary = "profile a long program from a few of its intervals",
	.args = "[--] PROG [ARGS...] | show FILE",
	.min_args = 1,
	.max_args = -1,
	.args_verbatim = true,
	.description =
	    "Runs the program once, functionally, with its own input and output; finds intervals "
	    "that "
	    "stand for all of it; simulates them in parallel, which leaves no trace; and writes "
	    "one "
	    "profile, with the same views as that of 'culprit sim', each figure with its error.\n\n"
	    "What is known of program and input is kept, so another machine or analysis only "
	    "simulates "
	    "the points, and an interrupted call goes on where it stopped. The guest's time "
	    "follows from "
	    "instructions (sim --clock insts): it executes the same instructions however it is "
	    "run.\n\n"
	    "`culprit sample show FILE` shows what such a profile was made of: the run by "
	    "clusters, the "
	    "points, and what the uncertainty comes from. Its options: --svg FILE, --json, --csv, "
	    "--width N. A program of that name is ./show.",
	.exit_status =
	    "0 on success; 2 if an option is wrong, the program could not be profiled, a point "
	    "could not be simulated or the profile could not be written.",
	.options = options,
	.examples = examples,
	.values_size = sizeof(struct sample_options),
	.run = run,
};

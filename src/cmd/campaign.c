/* SPDX-License-Identifier: MIT */
/* culprit campaign: programs x inputs x machines x settings from one file, and what came out. */
#include <stdlib.h>
#include <string.h>

#include "campaign/campaign.h"
#include "cmd/reading.h"
#include "cmd/sim.h"
#include "cmd/simulating.h"
#include "jobs/slurm.h"
#include "trace/analysis.h"
#include "util/condition.h"
#include "util/nearest.h"
#include "util/text.h"
#include "view/campaign.h"

struct campaign_values {
	struct reading reading;
	bool dry_run, yes, retry;
	uint64_t jobs;
	const char *cache, *place, *simulator;
	const char *rows, *columns, *metric, *where, *base, *bound, *svg;
	bool best, effects, runs;
};

/* ---- what the plan asks about commands ---- */

static bool has(const char *command, const char *option)
{
	const struct command *c = cmd_find(command);
	struct cmd_walk w = { .at = c ? c->options : NULL };
	struct cmd_option o;

	if (!c || !option)
		return c;
	while (cmd_walk(&w, &o))
		if (!strcmp(o.name, option))
			return true;
	return false;
}

static bool check_analyses(const char *list, struct err *e)
{
	char *copy = x_strdup(list), *rest = copy;
	bool ok = true;

	for (char *word; ok && strcmp(list, "none") && (word = strsep(&rest, ","));) {
		struct nearest near = { .word = word };

		word[strcspn(word, ":")] = 0;
		for (const struct analysis *const *p = analysis_list; *p; p++)
			nearest_try(&near, (*p)->name);
		ok = analysis_find(word) ||
		     err_set(e, "analyses: there is no analysis '%s'; the nearest is '%s'", word,
			     near.best);
	}
	free(copy);
	return ok;
}

static bool check(char *const *words, struct err *e)
{
	const struct command *c = cmd_find(words[0]);
	void *values = x_calloc(1, c->values_size);
	struct cmd_parsed parsed;
	int n = 0;

	while (words[n + 1])
		n++;

	char **copy = x_calloc((size_t)n + 1, sizeof(char *));

	memcpy(copy, words + 1, (size_t)n * sizeof(char *));

	struct err inner = { "" };
	bool ok = cmd_parse(c, n, copy, values, &parsed, &inner) &&
		  (c != cmd_find("sim") || sim_options_check(values, &inner));

	if (!ok)
		err_set(e, "culprit %s would refuse the runs: %s", c->name, inner.text);
	for (char *const *w = words; ok && w[0] && w[1]; w++)
		if (!strcmp(w[0], "--analyze"))
			ok = check_analyses(w[1], e);
	cmd_values_free(c, values);
	free(values);
	free(copy);
	return ok;
}

static const struct campaign_commands commands = { has, check };

/* ---- running ---- */

static void put_time(char *out, size_t size, double seconds)
{
	if (seconds < 120)
		snprintf(out, size, "%.0f s", seconds);
	else if (seconds < 7200)
		snprintf(out, size, "%.0f min", seconds / 60);
	else if (seconds < 48 * 3600)
		snprintf(out, size, "%.1f h", seconds / 3600);
	else
		snprintf(out, size, "%.1f days", seconds / 86400);
}

static void print_dry(const struct campaign_plan *p, const struct campaign_state *s, size_t limit)
{
	char time[64];

	for (size_t i = 0; i < p->count && i < limit; i++) {
		const struct campaign_run *r = &p->runs[i];
		char *name = text_shown(r->job.name);

		printf("%-8s %s\n",
		       r->known || r->job.status == JOB_CACHED ? "there"
		       : r->failed_before		       ? "failed"
							       : "to run",
		       name);
		free(name);
	}
	if (p->count > limit)
		printf("… and %zu more\n", p->count - limit);
	printf("%zu runs: %zu there, %zu failed, %zu to run", s->total, s->done, s->failed,
	       s->waiting);
	if (p->skipped)
		printf("; %zu left out", p->skipped);
	putchar('\n');
	if (!s->waiting)
		return;
	put_time(time, sizeof(time), s->seconds_left / s->parallel);
	if (s->unknown == s->waiting)
		printf("time: not known, none of these programs has run yet\n");
	else if (s->unknown)
		printf("time: about %s with %u at a time, and %zu runs of programs that have not "
		       "run yet\n",
		       time, s->parallel, s->unknown);
	else
		printf("time: about %s with %u at a time\n", time, s->parallel);
}

static void print_failed(void *ctx, const char *name, const char *why, const char *log)
{
	char *shown = text_shown(name);

	jobs_line_end(ctx);
	warn("campaign: '%s' failed: %s%s%s", shown, why, log ? "; its log: " : "", log ? log : "");
	free(shown);
}

static int run_plan(struct campaign_plan *p, const struct campaign_values *v)
{
	struct jobs_line line = { 0 };
	const struct campaign_options o = { .retry = v->retry,
					    .dry_run = v->dry_run,
					    .yes = v->yes,
					    .jobs = v->jobs,
					    .place = v->place,
					    .progress = jobs_line_show,
					    .progress_ctx = &line,
					    .failed = print_failed,
					    .failed_ctx = &line };
	struct campaign_state s;
	struct err e = { "" };
	struct campaign_results *r = campaign_open(p, &o, &s, &e);
	size_t before = r ? s.failed : 0;
	bool ok = r;

	if (ok && v->dry_run) {
		print_dry(p, &s, v->reading.limit ? (size_t)v->reading.limit : p->count);
	} else if (ok && s.waiting > CAMPAIGN_RUNS_ASK && !v->yes) {
		ok = err_set(&e, "%zu runs are more than %d; look at --dry-run, then give --yes",
			     s.waiting, CAMPAIGN_RUNS_ASK);
	} else if (ok) {
		ok = campaign_run(r, &s, &e);
		jobs_line_end(&line);
	}
	if (ok && !v->dry_run)
		printf("%zu runs: %zu done, %zu failed%s; results: %s\n", s.total, s.done, s.failed,
		       before && !v->retry ? " (--retry tries them again)" : "",
		       p->campaign->output);
	campaign_close(r);
	if (!ok) {
		warn("campaign: %s", e.text);
		return 2;
	}
	return !cmd_flush() ? 2 : s.failed ? 1 : 0;
}

static int run_file(const char *path, const struct campaign_values *v)
{
	struct err e = { "" };
	struct campaign *c = campaign_read(path, &e);
	struct campaign_plan *p =
	    c ? campaign_plan(c, v->simulator, v->cache, &commands, &e) : NULL;
	int status = 2;

	if (p)
		status = run_plan(p, v);
	else
		warn("campaign: %s", e.text);
	campaign_plan_free(p);
	campaign_free(c);
	return status;
}

/* ---- showing ---- */

static int show(const char *path, const struct campaign_values *v)
{
	const struct campaign_view view = { .rows = v->rows,
					    .columns = v->columns,
					    .metric = v->metric,
					    .base = v->base,
					    .bound = v->bound,
					    .best = v->best,
					    .effects = v->effects,
					    .runs = v->runs,
					    .svg = v->svg };
	const size_t n = strlen(path);
	struct conditions where = { NULL, 0 };
	struct view_options o;
	struct err e = { "" };
	bool ok;

	if (!reading_options("campaign", &v->reading, &o))
		return 2;

	char *file =
	    n > 4 && !strcmp(path + n - 4, ".ini") ? campaign_results(path, &e) : x_strdup(path);
	struct store *s = file ? results_open(file, RESULTS_READ, &e) : NULL;

	ok = s && (!v->where || conditions_parse(&where, v->where, &e));
	ok = ok && view_campaign(s, &where, &view, &o, &e);
	store_close(s);
	conditions_free(&where);
	free(file);
	return reading_status("campaign", ok, &e);
}

static int campaign_run_command(void *values, int nargs, char **args)
{
	const struct campaign_values *v = values;
	const bool shows = v->rows || v->columns || v->metric || v->where || v->base || v->bound ||
			   v->svg || v->best || v->effects || v->runs || v->reading.json ||
			   v->reading.csv;
	const bool runs =
	    v->dry_run || v->yes || v->retry || v->jobs || v->cache || v->place || v->simulator;

	if (nargs == 2 && !strcmp(args[0], "work"))
		return slurm_work(args[1]);
	if (nargs == 2 && !strcmp(args[0], "show")) {
		if (!runs)
			return show(args[1], v);
		warn("campaign: show runs nothing; leave the options for running out");
		return 2;
	}
	if (nargs == 2) {
		warn("campaign: there is no '%s FILE'; 'culprit campaign FILE.ini' runs, 'culprit "
		     "campaign show FILE' shows",
		     args[0]);
		return 2;
	}
	if (shows) {
		warn("campaign: these options show results: culprit campaign show %s …", args[0]);
		return 2;
	}
	return run_file(args[0], v);
}

#define OPTION(field) .offset = offsetof(struct campaign_values, field)
static bool check_conditions(const char *text, struct err *e)
{
	struct conditions c = { 0 };
	struct err why = { "" };
	const bool ok = conditions_parse(&c, text, &why);

	conditions_free(&c);
	return ok || err_set(e, "'%s' is not valid: %.300s", text, why.text);
}

#define CONDITIONS(title, field, text)                                                             \
	{                                                                                          \
		.name = (title), .type = CMD_TEXT, OPTION(field), .arg = "CONDITIONS",             \
		.check = check_conditions, .help = (text)                                          \
	}
#define TEXT_OPTION(title, field, argument, text)                                                  \
	{                                                                                          \
		.name = (title), .type = CMD_TEXT, OPTION(field), .arg = (argument),               \
		.help = (text)                                                                     \
	}
#define SWITCH_OPTION(title, field, text)                                                          \
	{                                                                                          \
		.name = (title), .type = CMD_SWITCH, OPTION(field), .help = (text)                 \
	}
static const struct cmd_option options[] = {
	SWITCH_OPTION(
	    "dry-run", dry_run,
	    "Runs nothing: prints the runs (-n N: the first N), what is there already and how "
	    "long the rest takes."),
	SWITCH_OPTION("yes", yes, "Runs also more than 10,000 runs."),
	SWITCH_OPTION("retry", retry, "Runs those again that failed, and no others."),
	{ .name = "jobs",
	  .type = CMD_NUMBER,
	  OPTION(jobs),
	  .range = { 1, 100000, NUMBER_PLAIN },
	  .arg = "N",
	  .letter = 'j',
	  .help = "Runs at a time, as many as there are processors by default; on Slurm, jobs at a "
		  "time, 1000 by default." },
	{ .name = "place",
	  .type = CMD_TEXT,
	  OPTION(place),
	  .arg = "local|slurm[:PARTITION]",
	  .check = simulating_check_place,
	  .help = "Where runs are: on this host, or as jobs of a Slurm cluster whose nodes see the "
		  "cache folder and the programs. As the file says by default." },
	TEXT_OPTION("cache", cache, "DIR",
		    "Where results of runs are kept: $CULPRIT_CACHE, $XDG_CACHE_HOME/culprit or "
		    "~/.cache/culprit by default."),
	TEXT_OPTION("simulator", simulator, "FILE", "Another build of culprit for the runs."),
	TEXT_OPTION("rows", rows, "FIELD",
		    "show: what the rows of the table are: program, input, machine, seed, or a "
		    "setting such as window.rob."),
	TEXT_OPTION(
	    "columns", columns, "FIELD",
	    "show: what its columns are; none for one column. The first setting that varies by "
	    "default."),
	TEXT_OPTION("metric", metric, "NAME",
		    "show: cpi (default), ipc, cycles, instructions, seconds, memory or error."),
	CONDITIONS("where", where,
		   "show: only runs for which these hold: 'window.rob>=64 program=search|oltp'."),
	TEXT_OPTION(
	    "base", base, "FIELD=VALUE",
	    "show: the change of every other value of the field against this one, over pairs of "
	    "runs that differ in nothing else, with a 95% interval."),
	SWITCH_OPTION("best", best, "show: machines and settings, the best ones first."),
	CONDITIONS(
	    "bound", bound,
	    "show: of --best, only those for which these hold, of settings or of the metric: "
	    "'l2.size<=512k cpi<=1.2'."),
	SWITCH_OPTION("effects", effects, "show: which parameter matters most."),
	SWITCH_OPTION("runs", runs, "show: every run."),
	TEXT_OPTION(
	    "svg", svg, "FILE",
	    "show: draws the table as lines, the metric over the columns with error bars, one "
	    "line a row."),
	READING_OPTIONS,
	{ .name = NULL },
};

static const struct cmd_example examples[] = {
	{ "culprit campaign rob.ini --dry-run", "What would run, and for how long." },
	{ "culprit campaign rob.ini",
	  "Runs what is missing; the same command goes on after a stop." },
	{ "culprit campaign show rob.ini --rows program --columns window.rob --svg rob.svg",
	  "CPI over the size of the reorder buffer, as a table and as a picture." },
	{ "culprit campaign show rob.ini --base window.rob=128", "What each size changes." },
	{ "culprit campaign show rob.ini --best --bound 'l2.size<=512k'",
	  "The best settings with a small L2." },
	{ NULL, NULL },
};

const struct command cmd_campaign = {
	.name = "campaign",
	.summary =
	    "many runs from one file: programs, machines, settings, and tables of what came out",
	.args = "[show] FILE",
	.min_args = 1,
	.max_args = 2,
	.description =
	    "Runs every program of FILE.ini with every input on every machine with every setting, "
	    "and "
	    "keeps a row per run in one SQLite file, FILE.db (docs/campaigns.md describes both). "
	    "Everything is checked before anything runs. What a program writes is thrown away.\n\n"
	    "Nothing runs twice: a result is kept under the digest of all that it depends on. "
	    "Whatever is interrupted or killed, the same command goes on. A run that fails is "
	    "named "
	    "with its last line and its log, and the rest goes on; it is tried again only with "
	    "--retry. A run over a limit of the file is ended and named.\n\n"
	    "culprit campaign show FILE.db|FILE.ini shows what is there, also while it still "
	    "runs.\n\n"
	    "culprit campaign work FOLDER is what jobs of Slurm call; it is of no use by hand.",
	.exit_status =
	    "0 if all runs are done; 1 if one failed, which is named; 2 if the file is wrong, "
	    "something cannot be read or written, or the command was used wrongly.",
	.options = options,
	.examples = examples,
	.values_size = sizeof(struct campaign_values),
	.run = campaign_run_command,
};

/* SPDX-License-Identifier: MIT */
/* culprit icost: what fixing something would buy, by the dependence graph and, on request, by
 * simulation. */
#include <stdlib.h>
#include <string.h>

#include "cmd/adding.h"
#include "cmd/reading.h"
#include "cmd/simulating.h"
#include "jobs/rerun.h"
#include "util/nearest.h"
#include "util/number.h"
#include "view/icost.h"
#include "view/resources.h"
#include "words/words.h"

#define WHAT_IF_MAX	   32
#define RESOURCES_VERIFIED (3 * RESOURCES + 8) /* at most */

struct icost_values {
	struct reading reading;
	struct simulating simulating;
	bool phases, resources, multisim, all, verify, add;
	const char *within;
	const char *svg, *focus, *profiler;
	struct cmd_strings what_if;
};

/* The simulations to run: one per set of categories and one per what-if. */
struct plan {
	struct job jobs[1 + ICOST_SETS + WHAT_IF_MAX]; /* the first is the unchanged run */
	unsigned set[1 + ICOST_SETS +
		     WHAT_IF_MAX]; /* idealised categories; 0: this job is of a what_if */
	size_t what_if[1 + ICOST_SETS + WHAT_IF_MAX];
	size_t count;
};

static void plan_set(struct plan *p, const struct rerun *r, unsigned set)
{
	char text[ICOST_CATEGORIES][32], name[96] = "";
	const char *settings[ICOST_CATEGORIES];
	size_t n = 0, used = 0;
	for (unsigned k = 0; k < ICOST_CATEGORIES; k++)
		if (set >> k & 1) {
			snprintf(text[n], sizeof(text[n]), "ideal.%s=on", words_costs[k].name);
			settings[n] = text[n];
			used += (size_t)snprintf(name + used, sizeof(name) - used, "%s%s",
						 n ? "+" : "", words_costs[k].name);
			n++;
		}
	p->set[p->count] = set;
	p->jobs[p->count++] = rerun_job(r, name, settings, n);
}

static void plan_what_if(struct plan *p, const struct rerun *r, size_t index,
			 const struct icost_what_if *w, const struct icost_asked *a)
{
	char text[ICOST_EVENTS_MAX][ICOST_PCS_MAX * 20 + 32];
	const char *settings[ICOST_EVENTS_MAX];
	for (size_t k = 0; k < a->nevents; k++) {
		size_t n = (size_t)snprintf(text[k], sizeof(text[k]), "ideal.%s=", a->events[k]);
		for (size_t i = 0; i < a->npcs; i++)
			n += (size_t)snprintf(text[k] + n, sizeof(text[k]) - n, "%s0x%llx",
					      i ? "," : "", (unsigned long long)a->pcs[i]);
		settings[k] = text[k];
	}
	p->set[p->count] = 0;
	p->what_if[p->count] = index;
	p->jobs[p->count++] = rerun_job(r, w->text, settings, a->nevents);
}

static void plan_part(struct plan *p, const struct rerun *r, size_t index,
		      const struct resource_row *part)
{
	const char *const settings[] = { part->settings };

	p->set[p->count] = 0;
	p->what_if[p->count] = index;
	p->jobs[p->count++] = rerun_job(r, part->settings, settings, 1);
}

/* Turns the cycles of the jobs into savings. */
static void take_found(const struct plan *p, struct icost_truth *truth,
		       struct icost_what_if *what_if)
{
	for (size_t i = 1; i < p->count; i++) {
		double cycles;
		if (!simulating_cycles(&p->jobs[i], &cycles))
			continue;
		const double saved = truth->cycles - cycles;
		if (p->set[i]) {
			truth->known[p->set[i]] = true;
			truth->cost[p->set[i]] = saved;
		} else {
			what_if[p->what_if[i]].verified = true;
			what_if[p->what_if[i]].simulated = saved;
		}
	}
}

static bool simulate(struct store *s, const struct icost_values *v, const struct icost_asked *asked,
		     struct icost_truth *truth, struct icost_what_if *what_if, size_t *failed,
		     struct err *e)
{
	struct rerun *r = rerun_open(s, v->simulating.simulator, v->simulating.cache, e);
	if (!r)
		return false;
	struct plan *p = x_calloc(1, sizeof(*p));
	struct simulating_found found;
	p->jobs[p->count++] = simulating_itself(r);
	for (unsigned set = 1; (v->multisim || v->all) && set < ICOST_SETS; set++)
		if (v->all || __builtin_popcount(set) <= 2)
			plan_set(p, r, set);
	for (size_t i = 0; v->verify && i < v->what_if.count; i++)
		if (what_if[i].part)
			plan_part(p, r, i, what_if[i].part);
		else
			plan_what_if(p, r, i, &what_if[i], &asked[i]);
	const bool ok =
	    simulating_run("icost", s, r, &v->simulating, p->jobs, p->count, p->jobs, &found, e);
	truth->cycles = found.cycles;
	*failed = found.failed;
	if (found.repeats)
		take_found(p, truth, what_if);
	for (size_t i = 0; i < p->count; i++)
		job_free(&p->jobs[i]);
	free(p);
	rerun_close(r);
	return ok;
}

static bool find_what_ifs(struct store *s, const struct icost_values *v, struct icost_asked *asked,
			  struct icost_what_if *what_if, struct resource_model *parts,
			  struct err *e)
{
	for (size_t i = 0; i < v->what_if.count; i++) {
		what_if[i].text = v->what_if.items[i];
		if (!strchr(what_if[i].text, '@')) {
			what_if[i].part = resources_find(parts, what_if[i].text, e);
			if (!what_if[i].part)
				return false;
			what_if[i].predicted = -what_if[i].part->cycles;
			continue;
		}
		if (!icost_find(s, v->what_if.items[i], &asked[i], e))
			return false;
		what_if[i].npcs = asked[i].npcs;
		what_if[i].predicted = asked[i].predicted;
		what_if[i].on_path = asked[i].on_path;
	}
	return true;
}

/* Simulations idealise the eight categories; the user's own are not known to them. */
static bool has_the_eight(struct store *s, struct err *e)
{
	bool ok = true;
	struct store_rows r = store_query(s,
					  "SELECT name, categories FROM icost WHERE phase = -1 AND "
					  "(categories & (categories - 1)) = 0",
					  "");
	while (store_next(&r)) {
		const unsigned set = (unsigned)store_int(&r, 1) & (ICOST_SETS - 1);
		if (ok && set && strcmp(store_shown(&r, 0), words_costs[__builtin_ctz(set)].name))
			ok = err_set(
			    e,
			    "%s has categories of its own (icost.categories), such as '%s', "
			    "that a simulation cannot idealise; --multisim compares only the "
			    "eight that `culprit list categories` shows",
			    store_path(s), store_shown(&r, 0));
	}
	return store_done(&r, e) && ok;
}

/* ---- parts of the machine of another size ---- */

static void want_row(struct resource_row **rows, size_t *n, struct resource_row *r)
{
	if (r && *n < RESOURCES_VERIFIED)
		rows[(*n)++] = r;
}

/* The rows that the view shows. */
static size_t wanted_rows(struct resource_model *m, double most, struct resource_row **rows)
{
	size_t n = 0;

	for (unsigned k = 0; k < RESOURCES; k++) {
		const char *name = words_resources[k].name;
		struct resource_row *least = resources_smallest(m, name, most),
				    *any = resources_below(m, name, INT64_MAX);

		if (!any)
			continue;
		want_row(rows, &n, resources_twice(m, name));
		want_row(rows, &n, least);
		want_row(rows, &n, resources_below(m, name, least ? least->size : any->real));
	}
	for (size_t i = 0; i < m->count; i++)
		if (!m->rows[i].size)
			want_row(rows, &n, &m->rows[i]);
	return n;
}

static bool verify_parts(struct store *s, const struct icost_values *v, struct resource_model *m,
			 double most, size_t *failed, struct err *e)
{
	struct rerun *r = rerun_open(s, v->simulating.simulator, v->simulating.cache, e);
	if (!r)
		return false;
	struct resource_row **rows = x_calloc(RESOURCES_VERIFIED, sizeof(*rows));
	const size_t n = wanted_rows(m, most, rows);
	struct job *jobs = x_calloc(n + 1, sizeof(*jobs));
	struct simulating_found found;

	jobs[0] = simulating_itself(r);
	for (size_t i = 0; i < n; i++) {
		const char *const settings[] = { rows[i]->settings };
		jobs[i + 1] = rerun_job(r, rows[i]->settings, settings, 1);
	}
	const bool ok = simulating_run("icost", s, r, &v->simulating, jobs, n + 1, jobs, &found, e);

	*failed = found.failed;
	for (size_t i = 0; i <= n; i++) {
		double cycles;

		if (i && ok && found.repeats && simulating_cycles(&jobs[i], &cycles)) {
			rows[i - 1]->verified = true;
			rows[i - 1]->simulated = cycles - found.cycles;
		}
		job_free(&jobs[i]);
	}
	free(jobs);
	free(rows);
	rerun_close(r);
	return ok;
}

static int parts_run(struct icost_values *v, const struct view_options *o, struct store *s)
{
	struct resource_model m = { 0 };
	struct err e = { "" };
	size_t failed = 0;

	if (!adding_ensure("icost", &v->reading, &s, "resources", v->add, &v->simulating)) {
		store_close(s);
		return 2;
	}
	double within = 0.01;
	bool ok = resources_read(s, &m, &e);

	if (v->within)
		number_share(v->within, &within); /* checked */
	if (ok && v->verify && simulating_trusted("icost", s, &v->simulating))
		ok = verify_parts(s, v, &m, within * m.cycles, &failed, &e);
	ok = ok && view_resources(s, o, &m, 100 * within, &e);
	resources_free(&m);
	store_close(s);
	const int status = reading_status("icost", ok, &e);
	return status ? status : failed ? 1 : 0;
}

static int icost_run(void *values, int nargs, char **args)
{
	struct icost_values *v = values;
	struct view_options o;
	struct store *s;
	struct err e = { "" };
	size_t failed = 0;
	if (v->what_if.count > WHAT_IF_MAX) {
		warn("icost: at most %d --what-if at a time", WHAT_IF_MAX);
		return 2;
	}
	if (v->verify && !v->what_if.count && !v->resources) {
		warn("icost: --verify needs a --what-if or --resources to verify");
		return 2;
	}
	if (!reading_options("icost", &v->reading, &o) ||
	    !reading_open("icost", &v->reading, args, 1, &s))
		return 2;
	if (v->resources)
		return parts_run(v, &o, s);
	/* without a graph, a shotgun profiler's costs are shown */
	const bool other = v->profiler || store_number(s, "SELECT count(*) FROM shotgun", 0);

	if ((v->add || !other) &&
	    !adding_ensure("icost", &v->reading, &s, "icost", v->add, &v->simulating)) {
		store_close(s);
		return 2;
	}
	struct icost_truth *truth = x_calloc(1, sizeof(*truth));
	struct icost_what_if what_if[WHAT_IF_MAX] = { 0 };
	struct icost_asked *asked = x_calloc(WHAT_IF_MAX, sizeof(*asked));
	struct resource_model parts = { 0 };
	bool ok = (!v->profiler || icost_use_profiler(s, &e)) && resources_read(s, &parts, &e) &&
		  find_what_ifs(s, v, asked, what_if, &parts, &e);
	ok = ok && (!(v->multisim || v->all) || has_the_eight(s, &e));
	const bool simulated = ok && (v->multisim || v->all || v->verify) &&
			       simulating_trusted("icost", s, &v->simulating);
	if (simulated)
		ok = simulate(s, v, asked, truth, what_if, &failed, &e);
	const struct icost_options io = { .focus = v->focus,
					  .svg = v->svg,
					  .truth =
					      simulated && (v->multisim || v->all) ? truth : NULL,
					  .what_if = what_if,
					  .nwhat_if = v->what_if.count,
					  .phases = v->phases };
	ok = ok && view_icost(s, &o, &io, &e);
	store_close(s);
	resources_free(&parts);
	free(truth);
	free(asked);
	const int status = reading_status("icost", ok, &e);
	return status ? status : failed ? 1 : 0;
}

/* A part of the machine: its name, or with *2 or =SIZE behind it. */
static bool check_part(const char *text, struct err *e)
{
	const size_t n = strcspn(text, "*=");
	struct nearest near = { .word = text };
	uint64_t size;
	bool known = false;

	for (size_t i = 0; i < RESOURCES; i++) {
		const char *name = words_resources[i].name;

		known |= !strncmp(name, text, n) && !name[n];
		nearest_try(&near, name);
	}
	if (known && (!text[n] || !strcmp(text + n, "*2") ||
		      (text[n] == '=' &&
		       number_parse(text + n + 1,
				    &(struct number_range){ 1, UINT32_MAX, NUMBER_PLAIN }, &size))))
		return true;
	return err_set(e,
		       "'%s' is not valid: EVENT@PLACE, such as dmiss@lbm.c:88, or a part of the "
		       "machine, such as %s, %s*2 or %s=SIZE; `culprit list resources` has all",
		       text, near.best, near.best, near.best);
}

static bool check_what_if(const char *text, struct err *e)
{
	const char *at = strchr(text, '@');

	if (!at)
		return check_part(text, e);
	return (at > text && at[1]) ||
	       err_set(
		   e,
		   "'%s' is not valid: EVENT@PLACE, such as dmiss@lbm.c:88, with an event before "
		   "the @ and a place behind it",
		   text);
}

static bool check_within(const char *text, struct err *e)
{
	double ignored;

	return number_share(text, &ignored) ||
	       err_set(e, "'%s' is not valid: a share of the run in %%, 0 to 100", text);
}

static bool check_profiler(const char *text, struct err *e)
{
	return !strcmp(text, "shotgun") || err_set(e, "'%s' is not valid; it is shotgun", text);
}

#define OPTION(field) .offset = offsetof(struct icost_values, field)
static const struct cmd_option options[] = {
	READING_OPTIONS,
	READING_DEBUG_OPTION,
	{ .name = "focus",
	  .type = CMD_TEXT,
	  OPTION(focus),
	  .arg = "CATEGORY",
	  .help = "Shows all interactions of one category, as the tables of fields2004 do; "
		  "`culprit list categories` has them" },
	{ .name = "profiler",
	  .type = CMD_TEXT,
	  OPTION(profiler),
	  .check = check_profiler,
	  .arg = "shotgun",
	  .help =
	      "Shows what the shotgun profiler (design 4) found in place of the graph; by default "
	      "only if there is no graph" },
	{ .name = "phases", .type = CMD_SWITCH, OPTION(phases), .help = "Shows costs over time" },
	{ .name = "svg",
	  .type = CMD_TEXT,
	  OPTION(svg),
	  .arg = "FILE",
	  .help = "Draws the signed stacked bar" },
	{ .name = "multisim",
	  .type = CMD_SWITCH,
	  OPTION(multisim),
	  .help = "Simulates the run again with every category and every pair idealised, and shows "
		  "those costs beside the graph's" },
	{ .name = "multisim-all",
	  .type = CMD_SWITCH,
	  OPTION(all),
	  .help = "The same as --multisim with all 255 sets of categories" },
	{ .name = "what-if",
	  .type = CMD_STRINGS,
	  OPTION(what_if),
	  .arg = "WHAT",
	  .check = check_what_if,
	  .help =
	      "EVENTS@PLACES: what it would save to be rid of an event (dmiss, bmisp, imiss, dl1, "
	      "shalu, lgalu) of the instructions at an address, source line (file.c:88), function, "
	      "or function "
	      "and address. Several events have + between (dl1+dmiss), several places commas: what "
	      "it saves to be rid of all of these together. Or a part of the machine (`culprit "
	      "list "
	      "resources`) of another size, if the profile has analysis resources: rob*2, "
	      "load_queue=24, l1d*2; without a limit: fetch_bw, issue_bw, commit_bw, values" },
	{ .name = "resources",
	  .type = CMD_SWITCH,
	  OPTION(resources),
	  .help =
	      "Shows instead which queues, widths, units and caches could be smaller for nothing, "
	      "and what twice as many would save; needs analysis resources. With --verify, "
	      "simulates all that it shows" },
	{ .name = "within",
	  .type = CMD_TEXT,
	  OPTION(within),
	  .arg = "PERCENT",
	  .check = check_within,
	  .help = "With --resources: how much longer the run may get (1)" },
	{ .name = "verify",
	  .type = CMD_SWITCH,
	  OPTION(verify),
	  .help = "Simulates every --what-if and prints the truth beside the prediction" },
	ADDING_OPTION(struct icost_values, add),
	SIMULATING_OPTIONS(struct icost_values),
	{ .name = NULL },
};

static const struct cmd_example examples[] = {
	{ "culprit sim --machine fields2004 --analyze icost -- ./prog",
	  "Makes a profile with costs." },
	{ "culprit icost prog.culprit", "What each category costs, alone and with others." },
	{ "culprit icost prog.culprit --focus dl1 --multisim",
	  "The interactions of L1 latency, beside simulated ones." },
	{ "culprit icost prog.culprit --what-if dmiss@lbm.c:88 --verify",
	  "What no misses at that line would save; then simulates it." },
	{ "culprit icost prog.culprit --resources --verify",
	  "Which parts of the machine could be smaller, and which should be larger; then simulates "
	  "it." },
	{ NULL, NULL },
};

const struct command cmd_icost = {
	.name = "icost",
	.summary = "costs, interaction costs, slack, critical instructions",
	.args = "FILE",
	.min_args = 1,
	.max_args = 1,
	.description =
	    "Says how many cycles would go away if something were fixed, alone and together with "
	    "something else (fields2004). The cost of a category is the time that idealising it "
	    "saves. The interaction cost of two is what idealising both saves beyond each alone: "
	    "positive where they overlap (parallel: fix both), negative where one hides the other "
	    "(serial: fix either). All come from the dependence graph of the run, made in one pass "
	    "by `culprit sim --analyze icost`.",
	.exit_status = "0 on success; 1 if a simulation failed, which is named, while the rest is "
		       "shown; 2 if the file cannot be read or the command was used wrongly.",
	.options = options,
	.examples = examples,
	.values_size = sizeof(struct icost_values),
	.run = icost_run,
};

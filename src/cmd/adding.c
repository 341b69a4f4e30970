/* SPDX-License-Identifier: MIT */
/*
 * Adds an analysis to a profile. The program runs again as a job (jobs/rerun.h): the profile that it
 * leaves has all analyses, the run's own again with the new one, so that every table is of one run. It
 * takes over what table run says of how the run came about, with the signature of that; and it takes
 * the old one's place only if it needed the same instructions and cycles.
 *
 * Which analyses a profile has follows from its tables. What an analysis wrote into a file of its own
 * is not written again. Results that a --param or a --profiler asked for would be lost, so a profile
 * with such results stays as it is.
 */
#include "cmd/adding.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jobs/recipe.h"
#include "jobs/trust.h"
#include "util/output.h"
#include "util/text.h"

static const struct {
	const char *analysis, *what, *rows;
} known[] = {
	{ "profile", "profile", "SELECT count(*) FROM golden" },
	{ "cpistack", "CPI stacks", "SELECT count(*) FROM cpi_phase WHERE phase = -1" },
	{ "interval-analysis", "intervals", "SELECT count(*) FROM interval_kind" },
	{ "icost", "costs", "SELECT count(*) FROM icost WHERE phase = -1" },
	{ "resources", "parts of other sizes", "SELECT count(*) FROM resource" },
	{ "shotgun", "costs from a shotgun profiler", "SELECT count(*) FROM shotgun" },
	{ "spectrum", "spectrum", "SELECT count(*) FROM spectrum" },
	{ "calls", "call stacks", "SELECT count(*) FROM call_context" },
	{ "windows", "stretches", "SELECT count(*) FROM stretch" },
	{ "issue", "samples of issue",
	  "SELECT count(*) FROM calc_event WHERE event = 0 AND NOT EXISTS"
	  " (SELECT 1 FROM calc_commit)" },
	{ "commits", "samples of commit", "SELECT count(*) FROM calc_commit" },
	{ "branches", "branch records", "SELECT count(*) FROM calc_branch" },
	{ "truth", "truth", "SELECT count(*) FROM calc_truth" },
	{ "own", "events of its own", "SELECT count(*) FROM golden_events" },
	{ "intervals", "lengths of intervals", "SELECT count(*) FROM sampled_unit" },
	{ "counters", "counters over time", "SELECT count(*) FROM counter_sample" },
};

static bool has(struct store *s, size_t i)
{
	return store_number(s, known[i].rows, 0) > 0;
}

/* Whether a word of a list with commas. */
static bool is_listed(const char *list, const char *word)
{
	const size_t n = strlen(word);

	for (const char *at = list; (at = strstr(at, word)); at += n)
		if ((at == list || at[-1] == ',') && (!at[n] || at[n] == ','))
			return true;
	return false;
}

/* Those that the profile has, and those of a list. */
static char *analyses(struct store *s, const char *more)
{
	char *list = x_strdup("");

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (has(s, i) || is_listed(more, known[i].analysis)) {
			char *longer =
			    x_asprintf("%s%s%s", list, *list ? "," : "", known[i].analysis);

			free(list);
			list = longer;
		}
	return list;
}

static char *run_row(struct store *s, const char *key)
{
	struct store_rows r =
	    store_query(s, "SELECT CAST(value AS TEXT) FROM run WHERE key = ?1", "s", key);
	const char *text = store_next(&r) ? store_text(&r, 0) : NULL;
	char *copy = text ? x_strdup(text) : NULL;

	store_done(&r, NULL);
	return copy;
}

/* What of the run is an option of `sim` and decides nothing of it. */
static void add_sampling(struct store *s, struct words *w)
{
	char *period = run_row(s, "period");

	if (period)
		words_add_option(w, recipe_rows[RUN_period].option, period);
	if (store_number(s, "SELECT value FROM run WHERE key = 'random'", 0))
		words_add_option(w, recipe_rows[RUN_random].option, NULL);
	free(period);
}

static void add_sets(struct store *s, struct words *w)
{
	char *text = run_row(s, recipe_rows[RUN_sets].key);
	json_t *list = text ? json_loads(text, 0, NULL) : NULL;

	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *set = json_string_value(json_array_get(list, i));

		if (set)
			words_add_option(w, recipe_rows[RUN_sets].option, set);
	}
	json_decref(list);
	free(text);
}

/* The command that makes the profile again with the analyses of the list; NULL: the profile does not
 * say how it was made. */
static char *command_text(struct store *s, const char *list)
{
	struct recipe r;
	struct words w = { NULL, 0 };
	char *text = NULL, *machine = run_row(s, "machine"), *real = realpath(store_path(s), NULL);
	size_t size;

	recipe_read(&r, s);

	const char *cwd = recipe_text(&r, RUN_cwd), *input = recipe_text(&r, RUN_stdin);
	const struct words *argv = &r.items[RUN_argv];
	FILE *f = argv->count ? open_memstream(&text, &size) : NULL;

	if (f) {
		words_add(&w, "culprit");
		words_add(&w, "sim");
		if (machine)
			words_add_option(&w, recipe_rows[RUN_machine].option, machine);
		add_sets(s, &w);
		recipe_options(&r, &w);
		words_add_option(&w, recipe_rows[RUN_analyze].option, list);
		add_sampling(s, &w);
		/* the command begins elsewhere, so a relative path would lead elsewhere, too */
		words_add_option(&w, recipe_rows[RUN_output].option,
				 cwd && real ? real : store_path(s));
		if (!recipe_text(&r, RUN_restore))
			words_add(&w, "--");
		for (size_t i = 0; !recipe_text(&r, RUN_restore) && i < argv->count; i++)
			words_add(&w, argv->items[i]);
		if (cwd) {
			fputs("cd ", f);
			text_put_word(f, cwd);
			fputs(" && ", f);
		}
		for (size_t i = 0; i < w.count; i++) {
			fputs(i ? " " : "", f);
			text_put_word(f, w.items[i]);
		}
		if (input) {
			fputs(" <", f);
			text_put_word(f, input);
		}
		if (fclose(f))
			die("out of memory");
	}
	words_free(&w);
	recipe_free(&r);
	free(machine);
	free(real);
	return text;
}

static bool is_profile(const char *path)
{
	struct err e;
	struct store *s = store_open(path, &e);

	store_close(s);
	return s;
}

static bool is_any(const uint8_t *head, size_t size, const char *path)
{
	return true; /* it was opened as a profile */
}

/* What the profile says of how its run came about, and not of what came out. */
static bool take_recipe(const char *path, struct store *old, struct err *e)
{
	const char *keys[RUN_ITEMS + 2];
	size_t n = 0;

	for (size_t i = 0; i < RUN_ITEMS; i++)
		keys[n++] = recipe_rows[i].key;
	keys[n++] = "program";
	keys[n++] = TRUST_ROW;
	return store_take_run(path, old, keys, n, e);
}

/* Writes the file `from` in place of the profile, as part of the run that it was. */
static bool replace(struct store *old, const char *from, struct err *e)
{
	static const struct output_kind kind = {
		.what = "a culprit profile", .option = "-o", .only_files = true, .is = is_any
	};
	const char *path = store_path(old);
	struct output *out = output_open(path, &kind, e);
	FILE *f = fopen(from, "re"), *to = out ? output_stream(out, e) : NULL;
	bool ok = out && to && (f || err_set(e, "cannot read %s: %s", from, strerror(errno)));
	char piece[65536];
	size_t n;

	while (ok && (n = fread(piece, 1, sizeof(piece), f)) > 0)
		ok = fwrite(piece, 1, n, to) == n;
	if (f)
		fclose(f);
	if (to && fclose(to))
		ok = false;
	ok = ok && take_recipe(output_now(out), old, e);
	if (ok)
		return output_commit(out, e);
	if (!e->text[0])
		err_set(e, "cannot write %s: %s", path, strerror(errno));
	output_discard(out);
	return false;
}

/* Whether no table gets shorter. One does if a --param or a --profiler asked for its rows: those are not
 * among what the run is made again with. */
static bool keeps_all(struct store *old, struct store *new, struct err *e)
{
	struct store_rows r = store_query(
	    new, "SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'run'", "");
	bool ok = true;

	while (ok && store_next(&r)) {
		const char *name = store_text(&r, 0);
		char *rows = x_asprintf("SELECT count(*) FROM \"%s\"", name);

		if (store_number(old, rows, 0) > store_number(new, rows, 0))
			ok = err_set(
			    e,
			    "rows of table %s would be lost, because --add knows nothing of "
			    "--param and --profiler; the profile stays as it is: run sim "
			    "again with these and the new analysis",
			    name);
		free(rows);
	}
	return store_done(&r, ok ? e : NULL) && ok;
}

/* Whether both are of one run. */
static bool same_run(struct store *old, const char *path, struct err *e)
{
	static const char *const keys[] = { "instructions", "cycles" };
	struct store *new = store_open(path, e);
	bool ok = new;

	for (size_t i = 0; ok && i < ARRAY_LEN(keys); i++) {
		char *a = run_row(old, keys[i]), *b = run_row(new, keys[i]);

		if (!a || !b || strcmp(a, b) != 0)
			ok = err_set(e,
				     "the run does not repeat: %s %s then, %s now; the profile "
				     "stays as it is",
				     a ? a : "no", keys[i], b ? b : "none");
		free(a);
		free(b);
	}
	ok = ok && keeps_all(old, new, e);
	store_close(new);
	return ok;
}

static bool run_again(struct store *s, const struct simulating *o, const char *list, struct err *e)
{
	struct rerun *r = rerun_open(s, o->simulator, o->cache, e);
	struct words w = { NULL, 0 };
	struct jobs_line line = { 0 };
	const char *argument = NULL;
	const struct job_place *place = o->place ? job_place_find(o->place, &argument, e) : NULL;
	const struct jobs_options jo = { .place = place,
					 .place_argument = argument,
					 .parallel = 1,
					 .cache_dir = o->cache,
					 .again = o->again,
					 .progress = jobs_line_show,
					 .progress_ctx = &line };

	if (!r)
		return false;
	if (rerun_points(r)) {
		rerun_close(r);
		return err_set(e,
			       "%s is estimated from points of a run, which --add cannot run "
			       "again; culprit sample --analyze can",
			       store_path(s));
	}
	words_add_option(&w, recipe_rows[RUN_analyze].option, list);
	add_sampling(s, &w);
	words_add_option(&w, recipe_rows[RUN_output].option, JOB_RESULT);

	struct job j = rerun_changed(r, "with what was lacking",
				     &(struct rerun_change){
					 .options = (const char *const *)w.items,
					 .noptions = w.count,
					 .usable = is_profile,
				     });
	bool ok = jobs_run(&j, 1, &jo, e);

	jobs_line_end(&line);
	if (ok && j.status == JOB_FAILED)
		ok = err_set(e, "the run failed: %s", j.message);
	ok = ok && same_run(s, j.result, e) && replace(s, j.result, e);
	job_free(&j);
	words_free(&w);
	rerun_close(r);
	return ok;
}

/* Runs it and opens the new profile in place of the old one. */
static bool add_to(const char *command, const struct reading *r, struct store **s, const char *list,
		   const struct simulating *o)
{
	struct err e = { "" };
	char *path = x_strdup(store_path(*s));
	struct store *new;
	bool ok = simulating_trusted(command, *s, o);

	if (ok && !run_again(*s, o, list, &e)) {
		warn("%s: %s", command, e.text);
		ok = false;
	}
	ok = ok && reading_open(command, r, &path, 1, &new);
	if (ok) {
		store_close(*s);
		*s = new;
	}
	free(path);
	return ok;
}

bool adding_ensure(const char *command, const struct reading *r, struct store **s,
		   const char *needs, bool add, const struct simulating *o)
{
	size_t lacks = ARRAY_LEN(known);

	for (size_t i = ARRAY_LEN(known); i-- > 0;)
		if (is_listed(needs, known[i].analysis) && !has(*s, i))
			lacks = i;
	if (lacks == ARRAY_LEN(known))
		return true;

	char *list = analyses(*s, needs), *text = command_text(*s, list);
	bool ok = !text;

	if (text && add)
		ok = add_to(command, r, s, list, o);
	else if (text)
		warn("%s: %s has no %s; --add runs this, in a sandbox: %s", command, store_path(*s),
		     known[lacks].what, text);
	free(text);
	free(list);
	return ok;
}

/* SPDX-License-Identifier: MIT */
/*
 * What the commands that simulate a stored run again share: whether the profile is trusted, running
 * the simulations, and checking that the unchanged run still takes the cycles that it took.
 */
#include "cmd/simulating.h"

#include <stdlib.h>
#include <string.h>

#include "combine/combine.h"
#include "jobs/recipe.h"
#include "jobs/trust.h"
#include "util/text.h"

#define JOBS_MAX 1024 /* at a time */

bool simulating_check_place(const char *text, struct err *e)
{
	const char *argument;

	return job_place_find(text, &argument, e);
}

const struct cmd_option simulating_group[] = {
	{ .name = "jobs",
	  .type = CMD_NUMBER,
	  .offset = offsetof(struct simulating, jobs),
	  .range = { 1, JOBS_MAX, NUMBER_PLAIN },
	  .arg = "N",
	  .letter = 'j',
	  .help = "Simulations at a time, as many as there are processors by default" },
	{ .name = "cache",
	  .type = CMD_TEXT,
	  .offset = offsetof(struct simulating, cache),
	  .arg = "DIR",
	  .help = "Where results of simulations are kept: $CULPRIT_CACHE, "
		  "$XDG_CACHE_HOME/culprit or ~/.cache/culprit by default" },
	{ .name = "place",
	  .type = CMD_TEXT,
	  .offset = offsetof(struct simulating, place),
	  .arg = "local|slurm[:PARTITION]",
	  .check = simulating_check_place,
	  .help = "Where simulations run: on this host (default), or as jobs of a Slurm cluster "
		  "whose nodes see the cache folder and the program" },
	{ .name = "simulator",
	  .type = CMD_TEXT,
	  .offset = offsetof(struct simulating, simulator),
	  .arg = "FILE",
	  .help = "Another build of culprit for the simulations, which depend on it: what it "
		  "has simulated stays in the cache while this one changes" },
	{ .name = "trust",
	  .type = CMD_SWITCH,
	  .offset = offsetof(struct simulating, trust),
	  .help = "Simulates also a profile that this user's culprit did not write on this "
		  "machine, that is, runs the command that it names, in a sandbox" },
	{ .name = "again",
	  .type = CMD_SWITCH,
	  .offset = offsetof(struct simulating, again),
	  .help = "Simulates also what is in the cache" },
	{ .name = NULL },
};

/* The command that a simulation of the store would run; NULL: the store does not say. */
static char *command_text(struct store *s)
{
	struct recipe r;
	char *text = NULL;
	size_t size;
	FILE *f;

	recipe_read(&r, s);

	const char *cwd = recipe_text(&r, RUN_cwd), *sysroot = recipe_text(&r, RUN_sysroot);
	const struct words *argv = &r.items[RUN_argv];

	f = argv->count ? open_memstream(&text, &size) : NULL;
	if (f) {
		if (cwd) {
			fputs("cd ", f);
			text_put_word(f, cwd);
			fputs(" && ", f);
		}
		fputs("culprit sim --sandbox", f);
		if (sysroot) {
			fputs(" --sysroot ", f);
			text_put_word(f, sysroot);
		}
		fputs(" --", f);
		for (size_t i = 0; i < argv->count; i++) {
			fputc(' ', f);
			text_put_word(f, argv->items[i]);
		}
		if (fclose(f))
			die("out of memory");
	}
	recipe_free(&r);
	return text;
}

bool simulating_trusted(const char *command, struct store *s, const struct simulating *o)
{
	struct trust_key key;
	struct err e = { "" };
	char *text;

	if (o->trust)
		return true;
	trust_key_load(&key, &e);
	if (trust_holds(s, &key))
		return true;
	text = command_text(s);

	bool says = text;

	if (says)
		warn("%s: %s %s, so it is shown without simulations; --trust allows them, which "
		     "run: %s",
		     command, store_path(s),
		     key.is_there ? "was not written by this user's culprit on this machine"
				  : e.text,
		     text);
	free(text);
	/* without a command it cannot be simulated: the caller says why */
	return !says;
}

struct job simulating_itself(const struct rerun *r)
{
	return rerun_job(r, "as it was", NULL, 0);
}

/*
 * Whether the run takes the cycles of the profile: those of its regions if the profile counts them
 * exactly (cpi_phase), otherwise those of the whole run.
 */
static bool repeats(const char *command, struct store *s, const struct rerun *r,
		    const struct rerun_result *result)
{
	const char *changes = rerun_changes(r);
	uint64_t before =
	    (uint64_t)store_number(s, "SELECT cycles FROM cpi_phase WHERE phase = -1", 0);
	uint64_t now = result->cycles;

	if (!before) {
		before = (uint64_t)store_number(s, "SELECT value FROM run WHERE key = 'cycles'", 0);
		now = result->run_cycles;
	}
	if (now == before)
		return true;
	warn("%s: the run does not repeat: it took %llu cycles and now takes %llu, so what is "
	     "simulated is not what was measured: %s",
	     command, (unsigned long long)before, (unsigned long long)now,
	     changes ? changes
		     : "a file that it reads may have changed since, or one that it wrote may be "
		       "in its way; and --simulator must be a build with the same timing");
	return false;
}

/* ---- sampled runs: the points in place of the run ---- */

/* Every job once for each point; the caller frees. */
static struct job *at_points(const struct rerun *r, const struct job *jobs, size_t count)
{
	const size_t n = rerun_points(r);
	struct job *all = x_calloc(count * n + 1, sizeof(*all));

	for (size_t i = 0; i < count * n; i++)
		all[i] = rerun_at_point(r, &jobs[i / n], i % n);
	return all;
}

/* What the points say of the run becomes the job's result, as if the run had been simulated. */
static void from_points(struct job *j, struct store *s, const struct job *points, size_t n,
			const char *cache)
{
	uint64_t *cycles = x_calloc(n, sizeof(*cycles));
	char text[64], *dir = cache ? x_strdup(cache) : jobs_cache_dir();
	struct err e = { "" };
	double sum = 0;
	bool ok = true;

	j->status = JOB_FAILED;
	for (size_t i = 0; ok && i < n; i++) {
		struct rerun_result result;

		ok = points[i].status != JOB_FAILED && rerun_read(&points[i], &result, &e);
		cycles[i] = ok ? result.cycles : 0;
		if (!ok)
			j->message = x_asprintf("point %zu: %s", i,
						points[i].message ? points[i].message : e.text);
	}
	if (ok && !(ok = combine_cycles(s, cycles, n, &sum, &e)))
		j->message = x_strdup(e.text);
	if (ok) {
		const int size = snprintf(text, sizeof(text), "{\"cycles\": %.0f}\n", sum);

		j->result = rerun_keep(dir, "points", ".json", text, (size_t)size, &e);
		if (j->result)
			j->status = JOB_DONE;
		else
			j->message = x_strdup(e.text);
	}
	free(dir);
	free(cycles);
}

static bool run_jobs(struct store *s, const struct rerun *r, struct job *jobs, size_t count,
		     const struct jobs_options *o, struct err *e)
{
	const size_t n = rerun_points(r);

	if (!n)
		return jobs_run(jobs, count, o, e);

	struct job *all = at_points(r, jobs, count);
	const bool ok = jobs_run(all, count * n, o, e);

	for (size_t i = 0; ok && i < count; i++)
		from_points(&jobs[i], s, &all[i * n], n, o->cache_dir);
	for (size_t i = 0; i < count * n; i++)
		job_free(&all[i]);
	free(all);
	return ok;
}

bool simulating_run(const char *command, struct store *s, const struct rerun *r,
		    const struct simulating *o, struct job *jobs, size_t count,
		    const struct job *itself, struct simulating_found *out, struct err *e)
{
	struct jobs_line line = { 0 };
	const char *argument = NULL;
	const struct job_place *place = o->place ? job_place_find(o->place, &argument, e) : NULL;
	const struct jobs_options jo = { .place = place,
					 .place_argument = argument,
					 .parallel = (unsigned)o->jobs,
					 .cache_dir = o->cache,
					 .again = o->again,
					 .progress = jobs_line_show,
					 .progress_ctx = &line };
	const bool ok = run_jobs(s, r, jobs, count, &jo, e);

	*out = (struct simulating_found){ 0 };
	jobs_line_end(&line);
	for (size_t i = 0; ok && i < count; i++) {
		struct rerun_result result;
		struct err why = { "" };

		if (jobs[i].status == JOB_FAILED || !rerun_read(&jobs[i], &result, &why)) {
			warn("%s: the run '%s' failed: %s", command, jobs[i].name,
			     jobs[i].message ? jobs[i].message : why.text);
			jobs[i].status = JOB_FAILED;
			out->failed++;
		} else if (&jobs[i] == itself) {
			out->repeats = repeats(command, s, r, &result);
			out->cycles = (double)result.cycles;
			out->failed += !out->repeats;
		}
	}
	return ok;
}

bool simulating_cycles(const struct job *j, double *cycles)
{
	struct rerun_result result;
	struct err e;

	if (j->status == JOB_FAILED || !rerun_read(j, &result, &e))
		return false;
	*cycles = (double)result.cycles;
	return true;
}

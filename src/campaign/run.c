/* SPDX-License-Identifier: MIT */
/*
 * Runs what is missing and keeps what came out.
 *
 * The results file has a row for each run of the plan. Rows of runs that went well are committed every
 * two seconds: whatever is lost when the runner is killed is in the cache, under the run's digest. The
 * row of a run that failed is committed at once, because nothing else says that it has run. A row whose
 * digest is no longer that of its run (another program, another culprit) begins anew; one that the file
 * no longer asks for stays and is not shown.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "campaign/campaign.h"
#include "campaign/result.h"
#include "util/text.h"

#define COMMIT_SECONDS 2
/* Instructions a second, where nothing has run yet: what a host of 2020 does. */
#define FULL_SPEED	 8e6
#define FUNCTIONAL_SPEED 500e6

struct campaign_results {
	struct campaign_plan *plan;
	const struct campaign_options *o;
	const struct job_place *place;
	const char *place_argument;
	struct store *store; /* NULL: a dry run, and there is no file yet */
	int lock;
	bool open; /* a transaction is */
	double committed;
	/* jobs_run takes an array of jobs: which run each is */
	struct job *jobs;
	struct campaign_run **of;
	size_t njobs;
	struct campaign_state *state;
};

static double now_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- the file ---- */

/* Holds the file while this runner lives. */
static bool take_lock(struct campaign_results *r, const char *path, struct err *e)
{
	char *name = x_asprintf("%s.lock", path), text[96] = "", host[64] = "";
	bool ok;

	r->lock = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
	ok = r->lock >= 0 || err_set(e, "cannot write '%s': %s", name, strerror(errno));
	if (ok && flock(r->lock, LOCK_EX | LOCK_NB)) {
		const ssize_t n = pread(r->lock, text, sizeof(text) - 1, 0);

		text[n > 0 ? n : 0] = 0;
		text[strcspn(text, "\n")] = 0;
		text_make_plain(text);
		ok = err_set(e, "%s is being run already%s%s", path, *text ? " by " : "", text);
	}
	if (ok) {
		gethostname(host, sizeof(host) - 1);

		const int n =
		    snprintf(text, sizeof(text), "process %ld on %s\n", (long)getpid(), host);

		if (ftruncate(r->lock, 0) || pwrite(r->lock, text, (size_t)n, 0) != n)
			ok = err_set(e, "cannot write '%s': %s", name, strerror(errno));
	}
	free(name);
	return ok;
}

static bool begin(struct campaign_results *r, struct err *e)
{
	if (r->open)
		return true;
	r->open = RESULTS_DO(r->store, e, "BEGIN IMMEDIATE", "");
	return r->open;
}

static bool commit(struct campaign_results *r, struct err *e)
{
	if (!r->open)
		return true;
	r->open = false;
	r->committed = now_seconds();
	return RESULTS_DO(r->store, e, "COMMIT", "");
}

#define FORGET                                                                                     \
	" status = 'waiting', cpi = NULL, cpi_low = NULL, cpi_high = NULL, error = NULL,"          \
	" instructions = NULL, cycles = NULL, exit_status = NULL, seconds = NULL,"                 \
	" memory_bytes = NULL, host = NULL, ended = NULL, store = NULL, log = NULL,"               \
	" message = NULL, note = NULL"

/* The words of a command as one text, for people. */
static char *command_text(const struct campaign_run *r)
{
	char *all = x_strdup("culprit");

	for (char *const *a = r->job.argv + 1; *a; a++) {
		const bool plain = **a && !(*a)[strcspn(*a, " \t\n'\"\\$`*?;&|<>()")];
		char *more = x_asprintf(plain ? "%s %s" : "%s '%s'", all, *a);

		free(all);
		all = more;
	}
	return all;
}

static const char *machine_of(const struct campaign_run *r)
{
	return r->machine ? r->machine->name : "";
}

/* Finds the row of a run, and whether it still says something. */
static bool find_row(struct campaign_results *r, struct campaign_run *run, bool *same,
		     struct err *e)
{
	const struct campaign *c = r->plan->campaign;
	struct store_rows q = store_query(
	    r->store,
	    "SELECT id, digest, status, store FROM run WHERE program = ?1 AND input = ?2 AND "
	    "machine = ?3 AND seed = ?4 AND how = ?5 AND analyses = ?6 AND settings = ?7",
	    "sssisss", run->program->name, run->input->name, machine_of(run),
	    (int64_t)strtoll(run->seed, NULL, 10), campaign_hows[c->how],
	    c->analyses.text ? c->analyses.text : "", run->json);

	*same = false;
	if (store_next(&q)) {
		const char *digest = store_text(&q, 1), *status = store_text(&q, 2);

		run->id = store_int(&q, 0);
		*same = digest && !strcmp(digest, run->job.key);
		/* a profile must still be there; a summary is all in the row */
		run->known = *same && status && !strcmp(status, "done") && store_is_null(&q, 3);
		run->failed_before =
		    *same && status && (!strcmp(status, "failed") || !strcmp(status, "over"));
	}
	return store_done(&q, e);
}

static bool put_row(struct campaign_results *r, struct campaign_run *run, struct err *e)
{
	const struct campaign *c = r->plan->campaign;
	bool same, ok = find_row(r, run, &same, e);

	if (!ok || r->o->dry_run)
		return ok;
	if (!run->id) {
		char *command = command_text(run);

		ok = RESULTS_DO(
		    r->store, e,
		    "INSERT INTO run(planned, program, input, machine, seed, how, analyses, "
		    "settings, command, digest, status) VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, "
		    "?7, ?8, ?9, 'waiting')",
		    "sssisssss", run->program->name, run->input->name, machine_of(run),
		    (int64_t)strtoll(run->seed, NULL, 10), campaign_hows[c->how],
		    c->analyses.text ? c->analyses.text : "", run->json, command, run->job.key);
		run->id = store_number(r->store, "SELECT last_insert_rowid()", 0);
		free(command);
	} else if (!same) {
		char *command = command_text(run);

		ok = RESULTS_DO(r->store, e,
				"UPDATE run SET planned = 1, command = ?2, digest = ?3," FORGET
				" WHERE id = ?1",
				"iss", run->id, command, run->job.key);
		free(command);
	} else {
		ok = RESULTS_DO(r->store, e, "UPDATE run SET planned = 1 WHERE id = ?1", "i",
				run->id);
	}
	return ok;
}

/* The settings that vary, in the order of the file: what tables show first. */
static bool put_settings(struct campaign_results *r, struct err *e)
{
	const struct campaign *c = r->plan->campaign;
	char *all = x_strdup("");
	bool ok;

	for (size_t i = 0; i < c->ngroups; i++)
		for (size_t k = 0; k < c->groups[i].nsettings; k++) {
			char *more = x_asprintf("%s%s%s", all, *all ? " " : "",
						c->groups[i].settings[k].name);

			free(all);
			all = more;
		}
	ok = RESULTS_DO(r->store, e, "INSERT OR REPLACE INTO campaign VALUES ('settings', ?1)", "s",
			all);
	free(all);
	return ok;
}

static bool put_plan(struct campaign_results *r, struct err *e)
{
	const bool writes = !r->o->dry_run;
	bool ok = true;

	if (writes)
		ok = begin(r, e) && RESULTS_DO(r->store, e, "UPDATE run SET planned = 0", "") &&
		     RESULTS_DO(r->store, e, "INSERT OR REPLACE INTO campaign VALUES ('file', ?1)",
				"s", r->plan->campaign->path) &&
		     put_settings(r, e);
	for (size_t i = 0; ok && i < r->plan->count; i++)
		ok = put_row(r, &r->plan->runs[i], e);
	return ok && (!writes || commit(r, e));
}

/* ---- how long it takes ---- */

static double option_number(const struct campaign *c, const char *name)
{
	for (size_t i = 0; i < c->nsim; i++)
		if (!strcmp(c->sim[i].name, name) && c->sim[i].value) {
			char *end;
			const double x = strtod(c->sim[i].value, &end);

			return x * (*end == 'k' ? 1e3 : *end == 'M' ? 1e6 : *end == 'G' ? 1e9 : 1);
		}
	return 0;
}

/* What the runs of each program took so far, else what their instructions allow. */
static void expect(struct campaign_results *r)
{
	const struct campaign *c = r->plan->campaign;
	const double most = option_number(c, "max-insts");
	const double speed = c->how == CAMPAIGN_FUNCTIONAL ? FUNCTIONAL_SPEED : FULL_SPEED;

	for (size_t i = 0; i < c->nprograms; i++) {
		const struct campaign_program *g = &c->programs[i];
		double seconds = most > 0 && c->how != CAMPAIGN_SAMPLED ? most / speed : 0;

		if (r->store) {
			struct store_rows q = store_query(r->store,
							  "SELECT avg(seconds) FROM run WHERE "
							  "program = ?1 AND how = ?2 AND status = "
							  "'done' AND seconds IS NOT NULL",
							  "ss", g->name, campaign_hows[c->how]);

			if (store_next(&q) && !store_is_null(&q, 0))
				seconds = store_double(&q, 0);
			store_done(&q, NULL);
		}
		for (size_t k = 0; k < r->plan->count; k++)
			if (r->plan->runs[k].program == g)
				r->plan->runs[k].job.expected_seconds = seconds;
	}
}

/* ---- what came out ---- */

/* What the run's sandbox could not do, or did; the caller frees. NULL: the log does not say. */
static char *sandbox_note(const char *log)
{
	static const char mark[] = "culprit: sandbox: ";
	FILE *f = log ? fopen(log, "re") : NULL;
	char line[512], *note = NULL;

	while (f && !note && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		if (!strncmp(line, mark, sizeof(mark) - 1))
			note = text_shown(line + sizeof(mark) - 1);
	}
	if (f)
		fclose(f);
	return note;
}

static bool record_done(struct campaign_results *r, struct campaign_run *run, const struct job *j,
			const char *log, struct err *e)
{
	struct result x;
	const bool ran = j->status == JOB_DONE;
	char *note;
	bool ok;

	if (!result_read(j->result, &x, e))
		return false;
	note = sandbox_note(log);
	ok =
	    begin(r, e) &&
	    RESULTS_DO(r->store, e,
		       x.has_cycles
			   ? "UPDATE run SET status = 'done', instructions = ?2, exit_status = ?3, "
			     "seconds = ?4, memory_bytes = ?5, host = ?6, ended = ?7, store = ?8, "
			     "note = ?9, log = NULL, message = NULL, cycles = ?10, cpi = ?11, "
			     "cpi_low = ?12, cpi_high = ?13, error = ?14 WHERE id = ?1"
			   : "UPDATE run SET status = 'done', instructions = ?2, exit_status = ?3, "
			     "seconds = ?4, memory_bytes = ?5, host = ?6, ended = ?7, store = ?8, "
			     "note = ?9, log = NULL, message = NULL, cycles = NULL, cpi = NULL, "
			     "cpi_low = NULL, cpi_high = NULL, error = NULL WHERE id = ?1",
		       x.has_cycles ? "iiidisissidddd" : "iiidisiss", run->id,
		       (int64_t)x.instructions, x.exit_status, ran ? j->seconds : x.host_seconds,
		       (int64_t)j->memory_bytes, j->host, (int64_t)time(NULL),
		       x.is_store ? j->result : NULL, note, (int64_t)x.cycles, x.cpi, x.cpi_low,
		       x.cpi_high, x.cpi > 0 ? (x.cpi_high - x.cpi_low) / 2 / x.cpi : 0);
	free(note);
	return ok;
}

static bool record_failed(struct campaign_results *r, struct campaign_run *run, const struct job *j,
			  struct err *e)
{
	const bool over = j->over == JOB_OVER_TIME || j->over == JOB_OVER_MEMORY;

	return begin(r, e) &&
	       RESULTS_DO(r->store, e,
			  "UPDATE run SET status = ?2, seconds = ?3, memory_bytes = ?4, host = ?5, "
			  "ended = ?6, log = ?7, message = ?8 WHERE id = ?1",
			  "isdisiss", run->id, over ? "over" : "failed", j->seconds,
			  (int64_t)j->memory_bytes, j->host, (int64_t)time(NULL), j->log,
			  j->message) &&
	       commit(r, e);
}

static bool on_end(void *ctx, const struct job *j, const char *log, struct err *e)
{
	struct campaign_results *r = ctx;
	struct campaign_run *run = r->of[j - r->jobs];

	if (j->status == JOB_FAILED) {
		r->state->failed++;
		r->state->waiting--;
		if (r->o->failed)
			r->o->failed(r->o->failed_ctx, j->name, j->message, j->log);
		return record_failed(r, run, j, e);
	}
	r->state->done++;
	r->state->waiting--;
	r->state->cached += j->status == JOB_CACHED;
	return record_done(r, run, j, log, e);
}

static void on_progress(void *ctx, const struct jobs_progress *p)
{
	struct campaign_results *r = ctx;
	struct err e = { "" };

	/* a row that cannot be written now is written by the next call, which then says why not */
	if (r->open && now_seconds() - r->committed > COMMIT_SECONDS)
		commit(r, &e);
	if (r->o->progress)
		r->o->progress(r->o->progress_ctx, p);
}

/* ---- all of it ---- */

/* Counts what is there, and collects the jobs that are to run. */
static void select_runs(struct campaign_results *r, struct campaign_state *s)
{
	const long processors = sysconf(_SC_NPROCESSORS_ONLN);
	size_t *at = x_calloc(r->plan->count, sizeof(*at)); /* 1 + the job of a run */

	*s = (struct campaign_state){ .total = r->plan->count };
	s->parallel = r->o->jobs		? (unsigned)r->o->jobs
		      : r->plan->campaign->jobs ? (unsigned)r->plan->campaign->jobs
		      : processors > 0		? (unsigned)processors
						: 1;
	r->jobs = x_calloc(r->plan->count, sizeof(*r->jobs));
	r->of = x_calloc(r->plan->count, sizeof(struct campaign_run *));
	for (size_t i = 0; i < r->plan->count; i++) {
		struct campaign_run *run = &r->plan->runs[i];

		if (run->known) {
			s->done++;
			continue;
		}
		if (run->failed_before != r->o->retry) {
			s->failed += run->failed_before;
			s->waiting += !run->failed_before;
			continue;
		}
		if (r->o->dry_run && jobs_is_cached(&run->job, r->plan->cache_dir)) {
			s->done++;
			s->cached++;
			continue;
		}
		s->waiting++;
		s->unknown += run->job.expected_seconds <= 0;
		s->seconds_left += run->job.expected_seconds;
		r->jobs[r->njobs] = run->job;
		if (run->job.after)
			r->jobs[r->njobs].after = at[run->job.after - 1];
		r->of[r->njobs] = run;
		at[i] = ++r->njobs;
	}
	free(at);
}

struct campaign_results *campaign_open(struct campaign_plan *p, const struct campaign_options *o,
				       struct campaign_state *state, struct err *e)
{
	struct campaign_results *r = x_calloc(1, sizeof(*r));
	const char *output = p->campaign->output;
	const char *place = o->place		      ? o->place
			    : p->campaign->place.text ? p->campaign->place.text
						      : "local";
	struct stat st;
	bool ok;

	r->plan = p;
	r->o = o;
	r->lock = -1;
	r->place = job_place_find(place, &r->place_argument, e);
	ok = r->place;
	if (ok && !o->dry_run)
		ok = take_lock(r, output, e);
	if (ok && (!o->dry_run || (!stat(output, &st) && st.st_size))) {
		r->store = results_open(output, o->dry_run ? RESULTS_READ : RESULTS_WRITE, e);
		ok = r->store && put_plan(r, e);
	}
	if (ok) {
		expect(r);
		select_runs(r, state);
		r->state = state;
		return r;
	}
	campaign_close(r);
	return NULL;
}

bool campaign_run(struct campaign_results *r, struct campaign_state *state, struct err *e)
{
	const struct jobs_options jo = { .parallel = r->place->queues ? (unsigned)r->o->jobs
								      : state->parallel,
					 .cache_dir = r->plan->cache_dir,
					 .place = r->place,
					 .place_argument = r->place_argument,
					 .again = r->o->retry,
					 .keep_logs = true,
					 .progress = on_progress,
					 .progress_ctx = r,
					 .ended = on_end,
					 .ended_ctx = r };
	struct err last = { "" };
	bool ok;

	r->state = state;
	r->committed = now_seconds();
	ok = jobs_run(r->jobs, r->njobs, &jo, e);
	/* what ended is kept, whatever happened */
	return commit(r, ok ? e : &last) && ok;
}

void campaign_close(struct campaign_results *r)
{
	if (!r)
		return;
	/* the runs have the strings of jobs that existed before; these are new */
	for (size_t i = 0; i < r->njobs; i++) {
		free(r->jobs[i].result);
		free(r->jobs[i].message);
		free(r->jobs[i].log);
		free(r->jobs[i].host);
	}
	free(r->jobs);
	free(r->of);
	store_close(r->store);
	if (r->lock >= 0)
		close(r->lock);
	free(r);
}

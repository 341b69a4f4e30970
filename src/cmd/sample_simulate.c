/* SPDX-License-Identifier: MIT */
/*
 * culprit sample, third step: simulates points, each a job whose result is a store. A result's digest
 * covers program, input, machine, culprit and the point, so what was simulated once is not simulated
 * again: not after an interruption, and not when more points are wanted.
 *
 * With --error points are added in rounds. After each, the estimate says how many more are needed and in
 * which clusters; a round ends with all of them measured.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "campaign/result.h"
#include "cmd/progress.h"
#include "cmd/sample.h"
#include "cmd/sim.h"
#include "jobs/recipe.h"
#include "machine/machine.h"
#include "store/store.h"
#include "trace/analysis.h"
#include "util/nearest.h"

/* ---- the machine ---- */

/* The machine with all settings as an INI file, by whose content results are kept. */
static char *machine_file(const struct sample *s, struct err *e)
{
	const struct sim_options o = { .machine = s->o->machine, .sets = s->o->sets };
	struct machine config;
	char *text = NULL, *path = NULL, section[64] = "", suffix[128];
	size_t size;
	FILE *f;

	if (!sim_timing_config(&o, &config, e))
		return NULL;
	f = open_memstream(&text, &size);
	if (!f)
		die("out of memory");
	for (size_t i = 0; i < machine_params_count; i++) {
		const struct param *p = &machine_params[i];
		char value[256];

		machine_param_text(&config, p, value, sizeof(value));
		if (!*value || (!strcmp(p->section, "machine") && !strcmp(p->key, "base")))
			continue;
		if (strcmp(p->section, section)) {
			snprintf(section, sizeof(section), "%s", p->section);
			fprintf(f, "[%s]\n", section);
		}
		fprintf(f, "%s = %s\n", p->key, value);
	}
	if (fclose(f))
		die("out of memory");
	/* The file's name is the machine's, which profiles show. */
	snprintf(suffix, sizeof(suffix), "/%s.ini", path_name(config.name));
	path = rerun_keep(s->cache, "machines", suffix, text, size, e);
	free(text);
	return path;
}

/* ---- jobs ---- */

static bool is_store(const char *path)
{
	struct err ignored;
	struct store *s = store_open(path, &ignored);
	bool ok = s && store_number(s, "SELECT value FROM run WHERE key = 'cycles'", 0) > 0;

	store_close(s);
	return ok;
}

static void add_number(struct words *w, enum recipe_item item, uint64_t n)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)n);
	words_add_option(w, recipe_rows[item].option, text);
}

static void add_text(struct words *w, enum recipe_item item, const char *text)
{
	if (text)
		words_add_option(w, recipe_rows[item].option, text);
}

/* Options of analyses, which are the same for every point. */
static void add_analyses(const struct sample *s, struct words *w)
{
	const struct sample_options *o = s->o;

	add_text(w, RUN_analyze, o->analyze);
	if (o->period)
		add_number(w, RUN_period, o->period);
	if (o->frequency)
		add_number(w, RUN_frequency, o->frequency);
	if (o->random)
		words_add_option(w, recipe_rows[RUN_random].option, NULL);
	for (size_t i = 0; i < o->params.count; i++)
		add_text(w, RUN_params, o->params.items[i]);
	/* Points run beside each other: each has its core to itself. */
	add_number(w, RUN_workers, 0);
}

/* Options of a job that only says how many cycles it took. */
static void add_summary(struct words *w)
{
	add_text(w, RUN_analyze, "none");
	add_text(w, RUN_summary_json, JOB_RESULT);
}

struct job sample_job(const struct sample *s, const char *name, const struct words *options,
		      bool is_bound)
{
	struct words w = { NULL, 0 };
	struct rerun_change change = { .machine = s->machine,
				       .usable = is_bound ? result_is_usable : is_store,
				       .is_part = true };
	struct job j;

	for (size_t i = 0; i < options->count; i++)
		words_add(&w, options->items[i]);
	if (is_bound) {
		add_summary(&w);
	} else {
		add_analyses(s, &w);
		/* --intervals says where its stores go. */
		if (!options->count || strcmp(options->items[0], "--intervals"))
			add_text(&w, RUN_output, JOB_RESULT);
	}
	change.options = (const char *const *)w.items;
	change.noptions = w.count;
	change.restores = options->count > 1 && !strcmp(options->items[0], "--restore");
	j = rerun_changed(s->rerun, name, &change);
	words_free(&w);
	return j;
}

/* Where the way to a point begins to matter: its warm-up. */
uint64_t sample_approach(const struct sample *s, const struct sample_point *p, uint64_t *settle,
			 uint64_t *warm)
{
	*settle = min_u64(s->o->settle + (p->is_check ? SAMPLE_CHECK_SETTLE : 0), p->start);
	*warm = min_u64(p->warm, p->start - *settle);
	return p->start - *settle - *warm;
}

struct job sample_point_job(const struct sample *s, const struct sample_point *p,
			    const char *checkpoint, uint64_t from)
{
	struct words w = { NULL, 0 };
	char *name = s->is_whole ? x_strdup("the whole run")
				 : x_asprintf(p->is_check ? "interval %zu again" : "interval %zu",
					      p->interval);
	uint64_t settle, warm, at = sample_approach(s, p, &settle, &warm);
	struct job j;

	if (checkpoint)
		add_text(&w, RUN_restore, checkpoint);
	if (checkpoint && s->live) {
		words_add_option(&w, recipe_rows[RUN_restore_core].option, NULL);
		at = from;
		warm = 0;
	}
	if (!s->is_whole) {
		if (at > from)
			add_number(&w, RUN_fast_forward, at - from);
		if (warm)
			add_number(&w, RUN_warm, warm);
		if (s->history)
			words_add_option(&w, recipe_rows[RUN_history].option, NULL);
		if (settle)
			add_number(&w, RUN_settle, settle);
		if (p->unknown)
			add_text(&w, RUN_unknown, sim_unknown_choices[p->unknown]);
		add_number(&w, RUN_max_insts, p->length);
	}
	j = sample_job(s, name, &w, p->unknown != UNKNOWN_EMPTY || p->is_check);
	if (s->is_whole && s->exit_status >= 0)
		j.want_status = s->exit_status;
	words_free(&w);
	free(name);
	return j;
}

bool sample_read_point(struct sample_point *p, struct err *e)
{
	struct store *s = store_glance(p->job.result, e);
	uint64_t insts;

	if (!s)
		return false;
	p->cycles = (uint64_t)store_number(s, "SELECT value FROM run WHERE key = 'cycles'", 0);
	insts = (uint64_t)store_number(s, "SELECT value FROM run WHERE key = 'instructions'", 0);
	store_close(s);
	return insts == p->length ||
	       err_set(
		   e,
		   "the interval at instruction %llu had %llu instructions and has %llu now: the "
		   "program does not repeat, because a file that it reads has changed, or one that "
		   "it wrote is in its way",
		   (unsigned long long)p->start, (unsigned long long)p->length,
		   (unsigned long long)insts);
}

bool sample_read_points(struct sample *s, size_t first, struct err *e)
{
	bool ok = true;

	for (size_t i = first; ok && i < s->npoints; i++) {
		struct sample_point *p = &s->points[i];
		uint64_t settle, warm;

		ok = sample_read_point(p, e);
		/* Nothing is unknown where all that precedes has warmed up. */
		if (!sample_approach(s, p, &settle, &warm)) {
			p->has_bracket = true;
			p->low_cycles = p->high_cycles = (double)p->cycles;
		} else if (s->has_rest) {
			p->has_bracket = true;
			p->low_cycles = (double)p->cycles * (1 + s->rest_low);
			p->high_cycles = (double)p->cycles * (1 + s->rest_high);
		}
	}
	return ok;
}

/* A point's analyses must leave something in its store: it is all that is combined. */
static bool check_analyses(const struct sample *s, struct err *e)
{
	char *copy = x_strdup(s->o->analyze ? s->o->analyze : "profile"), *rest = copy;
	bool ok = strcmp(copy, "none") ||
		  err_set(e, "--analyze none: a sampled profile is made of what analyses find");

	for (char *word; ok && (word = strsep(&rest, ","));) {
		struct nearest near = { .word = word };
		const struct analysis *a;

		word[strcspn(word, ":")] = 0;
		for (const struct analysis *const *p = analysis_list; *p; p++)
			nearest_try(&near, (*p)->name);
		a = analysis_find(word);
		if (!a)
			ok = err_set(e, "--analyze: there is no analysis '%s'; the nearest is '%s'",
				     word, near.best);
		else if (a->writes_file)
			ok =
			    err_set(e,
				    "--analyze: '%s' writes a file of its own, and the points of a "
				    "run cannot share it; 'culprit sim' writes it for a whole run",
				    word);
	}
	free(copy);
	return ok;
}

bool sample_prepare(struct sample *s, struct err *e)
{
	if (!check_analyses(s, e))
		return false;
	if (s->o->keep && !jobs_make_dirs(s->o->keep, e))
		return err_set(e, "--keep: cannot make the folder '%s'", s->o->keep);
	s->place = job_place_find(s->o->place ? s->o->place : "local", &s->place_argument, e);
	return s->place && (s->machine = machine_file(s, e));
}

/* Whether the job's result is in the cache already. */
static bool is_there(const struct sample *s, const struct job *j)
{
	char *path = x_asprintf("%s/jobs/%.2s/%s", s->cache, j->key, j->key + 2);
	const bool there = !s->o->again && !access(path, R_OK);

	free(path);
	return there;
}

/*
 * How the missing points are reached. Running to each is good enough for a few short ways. Otherwise
 * checkpoints are made, and jobs begin there; a job's result does not depend on its way, so its digest
 * stays. Where even that leaves long ways, *sequence is set.
 */
static bool find_ways(struct sample *s, const struct sample_point *points, struct job *jobs,
		      size_t count, bool *sequence, struct err *e)
{
	uint64_t *at = x_calloc(count + 1, sizeof(*at)), way = 0, warming = 0, settle, warm,
		 last = 0;
	size_t missing = 0;
	bool ok = true;

	for (size_t i = 0; i < count; i++) {
		if (is_there(s, &jobs[i]))
			continue;
		at[missing] = sample_approach(s, &points[i], &settle, &warm);
		way += at[missing];
		warming += warm;
		last = max_u64(last, points[i].start);
		missing++;
	}
	/* To warm up with all that precedes costs each point a pass; together they need one. */
	*sequence = missing > 2 && s->warm == UINT64_MAX && warming > 2 * last;
	if (!*sequence && missing > 1 && way > SAMPLE_FAR) {
		way = 0;
		/* Without checkpoints it takes longer, and gives the same. */
		if (!sample_save(s, at, missing, e)) {
			ok = !s->stopped;
			if (ok)
				warn("sample: goes on without checkpoints: %s", e->text);
		}
		for (size_t i = 0; ok && i < count; i++) {
			char *path;
			const uint64_t to = sample_approach(s, &points[i], &settle, &warm);
			const uint64_t from = sample_saved_before(s, to, &path);

			/* What is run on the way would not be in its history. */
			if (s->history && from != to) {
				way += is_there(s, &jobs[i]) ? 0 : to;
				free(path);
				continue;
			}
			if (path && !is_there(s, &jobs[i])) {
				struct job j = sample_point_job(s, &points[i], path, from);

				memcpy(j.key, jobs[i].key, sizeof(j.key));
				job_free(&jobs[i]);
				jobs[i] = j;
			}
			way += is_there(s, &jobs[i]) ? 0 : to - from;
			free(path);
		}
		*sequence = way > 2 * last && way > SAMPLE_FAR;
	}
	free(at);
	return ok;
}

bool sample_run(struct sample *s, struct sample_point *points, size_t count, bool *sequence,
		struct err *e)
{
	struct jobs_line line = { 0 };
	struct jobs_options jo = { .parallel = (unsigned)s->o->jobs,
				   .cache_dir = s->cache,
				   .place = s->place,
				   .place_argument = s->place_argument,
				   .again = s->o->again,
				   .progress = jobs_line_show,
				   .progress_ctx = &line };
	struct job *jobs = x_calloc(count + 1, sizeof(*jobs));
	bool ok;

	*sequence = false;
	for (size_t i = 0; i < count; i++)
		jobs[i] = sample_point_job(s, &points[i], NULL, 0);
	ok = s->is_whole || find_ways(s, points, jobs, count, sequence, e);
	if (ok && !*sequence) {
		ok = jobs_run(jobs, count, &jo, e);
		jobs_line_end(&line);
	}
	for (size_t i = 0; i < count; i++) {
		struct sample_point *p = &points[i];

		if (*sequence) {
			job_free(&jobs[i]);
			continue;
		}
		p->job = jobs[i];
		s->cached += p->job.status == JOB_CACHED;
		if (ok && p->job.status == JOB_FAILED)
			ok = err_set(e, "%s was not simulated: %s", p->job.name, p->job.message);
	}
	free(jobs);
	return ok;
}

/* Runs the points from `first` on. */
static bool run_points(struct sample *s, size_t first, struct err *e)
{
	const bool checks = first == 0 && !s->is_whole && !s->warm_auto && s->warm != UINT64_MAX;
	bool sequence = false;

	return (!s->warm_auto || sample_warm_up(s, first, e)) &&
	       (checks ? sample_run_checked(s, &sequence, e)
		       : sample_run(s, &s->points[first], s->npoints - first, &sequence, e)) &&
	       (!sequence || sample_sequence(s, first, e)) && sample_read_points(s, first, e);
}

/* ---- the estimate ---- */

static void estimate(struct sample *s, uint64_t *extra, uint64_t *more)
{
	struct estimate_point *points = x_calloc(s->npoints, sizeof(*points));
	double *cycles = x_calloc(3 * s->npoints, sizeof(*cycles));
	double *low = cycles + s->npoints, *high = low + s->npoints;
	const struct estimate_plan plan = { .clusters = s->clusters,
					    .nclusters = s->choice.clustering.k,
					    .points = points,
					    .npoints = s->npoints,
					    .confidence = s->confidence };
	const uint64_t room = s->max_points > s->npoints ? s->max_points - s->npoints : 0;

	for (size_t i = 0; i < s->npoints; i++) {
		const struct sample_point *p = &s->points[i];

		points[i] = (struct estimate_point){ p->cluster, p->length };
		cycles[i] = low[i] = high[i] = (double)p->cycles;
		if (p->has_bracket) {
			low[i] = fmin(p->low_cycles, cycles[i]);
			high[i] = fmax(p->high_cycles, cycles[i]);
		}
	}
	s->cpi = estimate_per_inst(&plan, cycles);
	s->sampling_error = estimate_relative_error(&s->cpi);
	*more = s->error > 0 && room ? estimate_more(&plan, cycles, s->error, room, extra) : 0;
	estimate_bracket(&plan, low, cycles, high, &s->cpi);
	free(points);
	free(cycles);
}

bool sample_simulate(struct sample *s, struct err *e)
{
	uint64_t *extra = x_calloc(s->choice.clustering.k, sizeof(*extra));
	const double begin = host_now();
	size_t first = 0;
	bool ok = true, wants = true;

	while (ok && wants) {
		uint64_t more = 0;

		ok = run_points(s, first, e);
		if (!ok)
			break;
		estimate(s, extra, &more);
		first = s->npoints;
		/* The clusters that UINT64_MAX points leave go as far as --max-points allows. */
		wants = more && !s->is_whole && sample_add_points(s, extra);
		memset(extra, 0, s->choice.clustering.k * sizeof(*extra));
	}
	s->seconds = host_now() - begin;
	free(extra);
	return ok;
}

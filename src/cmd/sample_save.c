/* SPDX-License-Identifier: MIT */
/*
 * culprit sample: ways to a point. The nearest is a checkpoint where its warm-up begins, made with all
 * others in one functional pass. Where the process cannot be saved there, the last checkpoint before it
 * serves, and the rest of the way is run. Where there is none, or everything that precedes is to warm
 * up, all points are measured in one process, one after the other (sim --intervals).
 *
 * Checkpoints belong to program and input: they are kept with the profile, and serve every machine.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/progress.h"
#include "cmd/sample.h"
#include "cmd/sim.h"
#include "jobs/recipe.h"
#include "state/file.h"

/* ---- one process ---- */

/* How far it is, from 0 to 1. */
typedef double sample_done(void *ctx);

static bool interrupted(void)
{
	sigset_t pending;

	sigpending(&pending);
	return sigismember(&pending, SIGINT) || sigismember(&pending, SIGTERM);
}

static void show_step(const char *what, double done, double begin)
{
	const double now = host_now();

	if (!isatty(STDERR_FILENO) || now - begin < 1)
		return;
	fprintf(stderr, "\rculprit: %s, %.0f%%", what, 100 * done);
	if (done > 0.01)
		fprintf(stderr, ", about %.0f s left", (now - begin) * (1 - done) / done);
	fputs("\033[K", stderr);
}

/* The last line of a log, for a message. */
static void last_line(const char *path, char *out, size_t size)
{
	FILE *f = fopen(path, "re");
	char line[512];

	*out = 0;
	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		if (*line)
			snprintf(out, size, "%s", line);
	}
	if (f)
		fclose(f);
}

static bool run_one(struct sample *s, const struct job *j, const char *what, sample_done *done,
		    void *ctx, struct err *e)
{
	char *log = x_asprintf("%s/log.%ld", s->dir, (long)getpid()), said[512];
	const struct job_task task = { .name = what,
				       .key = j->key,
				       .argv = j->argv,
				       .dir = j->dir,
				       .input = j->input,
				       .log = log };
	const struct job_place_options place = { .parallel = 1,
						 .argument = s->place_argument,
						 .cache_dir = s->cache };
	struct job_end end = { .status = -1 };
	sigset_t stop, before;
	const double begin = host_now();
	void *state;
	bool ok, ended = false;

	sigemptyset(&stop);
	sigaddset(&stop, SIGINT);
	sigaddset(&stop, SIGTERM);
	sigprocmask(SIG_BLOCK, &stop, &before);
	state = s->place->open(&place, e);
	ok = state && s->place->start(state, &task, 0, e);
	while (ok && !(ended = s->place->wait(state, 200, &end)) && !interrupted())
		show_step(what, done(ctx), begin);
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
	if (ok && !ended) {
		s->place->cancel(state);
		s->stopped = true;
		ok = err_set(e,
			     "interrupted; what is complete is kept, the same command goes on from "
			     "there");
		while (interrupted())
			sigtimedwait(&stop, NULL, &(struct timespec){ 0 });
	} else if (ok && end.status) {
		last_line(log, said, sizeof(said));
		ok = err_set(e, "%s ended with status %d: %.300s", what, end.status, said);
	}
	if (ended)
		job_end_free(&end);
	if (state)
		s->place->close(state);
	sigprocmask(SIG_SETMASK, &before, NULL);
	unlink(log);
	free(log);
	return ok;
}

/* ---- checkpoints ---- */

/* Checkpoints belong to program and input alone; what a core has learnt belongs to its machine, too, whose file is named by
 * its content. */
static char *checkpoints_dir(const struct sample *s)
{
	char hex[DIGEST_HEX];
	struct digest d;

	if (!s->live)
		return x_asprintf("%s/%s", s->dir, s->history ? "histories" : "checkpoints");
	digest_init(&d);
	digest_text(&d, s->machine);
	digest_hex(&d, hex);
	return x_asprintf("%s/live-%.32s", s->dir, hex);
}

char *sample_saved_path(const struct sample *s, uint64_t at)
{
	char *dir = checkpoints_dir(s), *path = sim_checkpoint_path(dir, at);

	free(dir);
	return path;
}

uint64_t sample_saved_before(const struct sample *s, uint64_t at, char **path)
{
	char *dir = checkpoints_dir(s);
	DIR *d = opendir(dir);
	uint64_t best = 0;

	*path = NULL;
	for (struct dirent *x; d && (x = readdir(d));) {
		const char *end;
		uint64_t n;

		if (number_prefix(x->d_name, &end, &n) && !strcmp(end, STATE_FILE_SUFFIX) &&
		    n <= at && (!*path || n > best)) {
			free(*path);
			*path = x_asprintf("%s/%s", dir, x->d_name);
			best = n;
		}
	}
	if (d)
		closedir(d);
	free(dir);
	return best;
}

struct saving {
	const struct sample *s;
	uint64_t last;
};

static double saved_part(void *ctx)
{
	const struct saving *x = ctx;
	char *path;
	const uint64_t at = sample_saved_before(x->s, x->last, &path);

	free(path);
	return x->last ? (double)at / (double)x->last : 0;
}

bool sample_save(struct sample *s, const uint64_t *at, size_t count, struct err *e)
{
	struct words w = { NULL, 0 };
	struct saving ctx = { .s = s };
	char *list = NULL, *dir = checkpoints_dir(s);
	size_t size, missing = 0;
	FILE *f = open_memstream(&list, &size);
	bool ok = true;

	if (!f)
		die("out of memory");
	for (size_t i = 0; i < count; i++) {
		char *path = sim_checkpoint_path(dir, at[i]);

		if (at[i] && access(path, R_OK)) {
			fprintf(f, "%s%" PRIu64, missing++ ? "," : "", at[i]);
			ctx.last = max_u64(ctx.last, at[i]);
		}
		free(path);
	}
	if (fclose(f))
		die("out of memory");
	if (missing) {
		struct rerun_change change = { .command = "checkpoint",
					       .is_part = true,
					       .usable = sample_any_file };
		struct job j;

		words_add_option(&w, "at", list);
		words_add_option(&w, "skip", NULL);
		if (s->live) {
			words_add_option(&w, "with-core", NULL);
			change.machine = s->machine;
		}
		if (s->history)
			words_add_option(&w, "with-history", NULL);
		words_add_option(&w, "output", dir);
		change.options = (const char *const *)w.items;
		change.noptions = w.count;
		j = rerun_changed(s->rerun, "checkpoints", &change);
		ok = jobs_make_dirs(dir, e) &&
		     run_one(s, &j, "saving checkpoints", saved_part, &ctx, e);
		job_free(&j);
		words_free(&w);
	}
	free(list);
	free(dir);
	return ok;
}

bool sample_any_file(const char *path)
{
	(void)path;
	return true;
}

/* ---- one process for all points ---- */

static int by_start(const void *a, const void *b)
{
	const struct sample_point *const *x = a, *const *y = b;

	return (*x)->start < (*y)->start ? -1 : (*x)->start > (*y)->start;
}

struct measuring {
	struct sample_point **points;
	size_t count;
	const char *dir;
	uint64_t total;
};

static char *store_of(const char *dir, const struct sample_point *p)
{
	return x_asprintf("%s/%" PRIu64 ".culprit", dir, p->start);
}

static double measured_part(void *ctx)
{
	const struct measuring *m = ctx;
	double done = 0;

	for (size_t i = 0; i < m->count; i++) {
		char *path = store_of(m->dir, m->points[i]);

		if (!access(path, F_OK))
			done = (double)m->points[i]->start / (double)m->total;
		free(path);
	}
	return done;
}

static bool write_list(const struct sample *s, const struct measuring *m, const char *path,
		       struct err *e)
{
	FILE *f = fopen(path, "we");
	bool ok = f;

	for (size_t i = 0; ok && i < m->count; i++) {
		const struct sample_point *p = m->points[i];
		char *store = store_of(m->dir, p), warm[24] = "all";

		if (p->warm != UINT64_MAX)
			snprintf(warm, sizeof(warm), "%" PRIu64,
				 min_u64(s->history ? max_u64(p->warm, SAMPLE_WARM_ALONE) : p->warm,
					 p->start));
		ok = fprintf(f, "%" PRIu64 " %s %" PRIu64 " %" PRIu64 " %s\n", p->start, warm,
			     min_u64(s->o->settle, p->start), p->length, store) > 0;
		free(store);
	}
	if (f && fclose(f))
		ok = false;
	return ok || err_set(e, "cannot write '%s': %s", path, strerror(errno));
}

/* The folder of the results: by what a result alone depends on, and by all points, since one may warm
 * up another. */
static char *sequence_dir(const struct sample *s, const struct job *j, const struct measuring *m)
{
	char hex[DIGEST_HEX], number[72];
	struct digest d;

	digest_init(&d);
	digest_text(&d, j->key);
	for (size_t i = 0; i < m->count; i++) {
		snprintf(number, sizeof(number), "%" PRIu64 " %" PRIu64 " %" PRIu64,
			 m->points[i]->start, m->points[i]->length, m->points[i]->warm);
		digest_text(&d, number);
	}
	snprintf(number, sizeof(number), "%" PRIu64 " %" PRIu64, s->warm, s->o->settle);
	digest_text(&d, number);
	digest_hex(&d, hex);
	return x_asprintf("%s/sequence-%.32s", s->dir, hex);
}

static bool measure(struct sample *s, struct measuring *m, const char *dir, struct err *e)
{
	char *temp = x_asprintf("%s.%ld", dir, (long)getpid());
	char *list = x_asprintf("%s/list", temp);
	struct words w = { NULL, 0 };
	bool ok;

	m->dir = temp;
	sample_remove_folder(temp);
	ok = jobs_make_dirs(temp, e) && write_list(s, m, list, e);
	if (ok) {
		struct job j;

		words_add_option(&w, recipe_rows[RUN_intervals].option, list);
		j = sample_job(s, "all points", &w, false);
		ok = run_one(s, &j, "measuring point after point", measured_part, m, e);
		job_free(&j);
	}
	if (ok && rename(temp, dir))
		ok = err_set(e, "'%s' cannot become '%s': %s", temp, dir, strerror(errno));
	if (!ok)
		sample_remove_folder(temp);
	words_free(&w);
	free(list);
	free(temp);
	return ok;
}

bool sample_sequence(struct sample *s, size_t first, struct err *e)
{
	struct measuring m = { .count = s->npoints - first, .total = s->total };
	struct words none = { NULL, 0 };
	struct job key = sample_job(s, "", &none, false);
	char *dir;
	bool ok;

	m.points = x_calloc(m.count, sizeof(*m.points));
	for (size_t i = 0; i < m.count; i++)
		m.points[i] = &s->points[first + i];
	qsort(m.points, m.count, sizeof(*m.points), by_start);
	dir = sequence_dir(s, &key, &m);
	ok = (!s->o->again && !access(dir, R_OK)) || measure(s, &m, dir, e);
	for (size_t i = 0; ok && i < m.count; i++) {
		m.points[i]->job.result = store_of(dir, m.points[i]);
		m.points[i]->job.status = JOB_DONE;
	}
	job_free(&key);
	words_free(&none);
	free(m.points);
	free(dir);
	return ok;
}

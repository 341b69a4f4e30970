/* SPDX-License-Identifier: MIT */
/*
 * Runs tasks as jobs of Slurm. Tasks go into a queue in the cache folder (jobs/queue.h), which the
 * nodes must share; jobs are elements of arrays that take tasks from it one after the other
 * (slurm_work.c). So short runs share a job without anybody knowing beforehand how long they take, and
 * a runner that is started again finds the queue and the jobs of the one before.
 *
 * Slurm starts one or two jobs a second: there are only so many jobs that each has half a minute of
 * work, by the time that tasks have taken so far. As long as that is not known there is one job, until
 * it has run for half a minute.
 *
 * What Slurm is asked: `squeue --json`, which also knows jobs that ended in the last minutes. Without
 * accounting nothing knows more, so a task's own files say how it ended. A claim whose job is gone
 * belongs to a task that was lost (it is queued again), cancelled or out of Slurm's time (it failed).
 * Everything that is called has a time limit; if Slurm does not answer for two minutes, the runner
 * gives up, and the same command goes on later.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "jobs/jobs.h"
#include "jobs/queue.h"
#include "util/array.h"
#include "util/text.h"

#define ARRAY_MOST	1000 /* elements of one array */
#define TASK_SECONDS	30   /* of work that a job should have */
#define WORK_SECONDS	600  /* slurm_work.c: after that a job takes no further task */
#define COMMAND_SECONDS 30
#define PATIENCE	120 /* seconds without an answer of Slurm */
#define ASK_SECONDS	2   /* between two questions to Slurm */
#define LOST_MOST	5   /* times that a task is queued again */
#define REFUSED_MOST	3   /* times that sbatch may fail while squeue answers */
#define FAILED_MOST	5   /* jobs that may fail before a task has ended */
#define NOT_SHARED	97  /* exit status of a job that does not see the queue */

extern char **environ;

struct slurm_task {
	char key[DIGEST_HEX];
	size_t id;
	bool open;     /* started and not reported */
	unsigned lost; /* how often */
	double expected_seconds;
};

/* A job of ours, as squeue describes it. */
struct slurm_job {
	unsigned long id;
	unsigned restart;
	size_t elements; /* that wait; 1 if it runs */
	bool alive, waits_for_time;
	char state[24];
	int exit_code;
	char *node;
};

struct slurm {
	struct queue *queue;
	char *name;	 /* of all jobs for this queue */
	char *partition; /* NULL: the default one */
	char *token;	 /* file that a node must see */
	size_t most;	 /* jobs at a time */
	struct slurm_task *tasks;
	size_t ntasks, nopen, next; /* next: where the search for ended tasks goes on */
	struct slurm_job *jobs;
	size_t njobs;
	size_t nqueued;	      /* tasks that nobody has claimed, at the last look */
	size_t nended;	      /* that this runner has seen end */
	double ended_seconds; /* of those */
	double limit_seconds; /* the largest of the tasks'; 0: none */
	bool unlimited;	      /* some task has no limit */
	double began;	      /* when a job was first seen to run; 0: not yet */
	double asked, answered;
	unsigned long seen; /* the highest number of a job when this runner began */
	bool known;	    /* jobs is what Slurm said after the last submission */
	unsigned refused;   /* how often sbatch has failed since it last worked */
	struct err trouble; /* what Slurm said last */
	struct err broken;  /* why nothing can run */
};

static double now_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- commands of Slurm ---- */

/* Reads what comes from fd until its end or the time is over. */
static char *read_all(int fd, double until)
{
	char *text = x_malloc(1);
	size_t used = 0, room = 1;

	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		const double left = until - now_seconds();

		ARRAY_ROOM(text, room, used + 65537);
		if (left <= 0 || poll(&p, 1, (int)(left * 1000) + 1) < 0)
			break;
		if (!p.revents)
			continue;

		const ssize_t n = read(fd, text + used, 65536);

		if (n <= 0)
			break;
		used += (size_t)n;
	}
	text[used] = 0;
	return text;
}

/* Starts a command with pipes or files as its streams; the pid, or -1. */
static pid_t spawn(char *const *argv, int in, int out, int err)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t how;
	sigset_t none;
	pid_t pid = -1;

	sigemptyset(&none);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, in, 0);
	posix_spawn_file_actions_adddup2(&files, out, 1);
	posix_spawn_file_actions_adddup2(&files, err, 2);
	posix_spawnattr_init(&how);
	posix_spawnattr_setsigmask(&how, &none);
	posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK);

	const int why = posix_spawnp(&pid, argv[0], &files, &how, argv, environ);

	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&how);
	errno = why;
	return why ? -1 : pid;
}

/* Waits for a command, which is killed when the time is over; its exit status, 124 if so. */
static int wait_for(pid_t pid, double until)
{
	int status = 0;

	for (;;) {
		const pid_t got = waitpid(pid, &status, WNOHANG);

		if (got == pid)
			return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
		if (got < 0 && errno != EINTR)
			return 127;
		if (now_seconds() > until) {
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			return 124;
		}
		poll(NULL, 0, 2);
	}
}

/* Runs a command with `input` as its standard input. Its standard output, which the caller frees;
 * NULL and e filled with what it said if it failed. */
static char *command(char *const *argv, const char *input, struct err *e)
{
	const double until = now_seconds() + COMMAND_SECONDS;
	FILE *in = tmpfile(), *said = tmpfile();
	int out[2] = { -1, -1 };
	char *text = NULL, line[300] = "";
	int status = 127;

	if (!in || !said || pipe2(out, O_CLOEXEC)) {
		err_set(e, "cannot call %s: %s", argv[0], strerror(errno));
	} else {
		fputs(input ? input : "", in);
		rewind(in);

		const pid_t pid = spawn(argv, fileno(in), out[1], fileno(said));

		close(out[1]);
		if (pid < 0) {
			err_set(e, "cannot call %s: %s", argv[0], strerror(errno));
		} else {
			text = read_all(out[0], until);
			status = wait_for(pid, until);
			rewind(said);
			for (char l[300]; fgets(l, sizeof(l), said);) {
				l[strcspn(l, "\n")] = 0;
				if (*l)
					memcpy(line, l, sizeof(line));
			}
			text_make_plain(line);
			if (status == 124)
				err_set(e, "%s did not end within %d s", argv[0], COMMAND_SECONDS);
			else if (status)
				err_set(e, "%s failed: %s", argv[0],
					*line ? line : "it does not say why");
		}
		close(out[0]);
	}
	if (in)
		fclose(in);
	if (said)
		fclose(said);
	if (!status)
		return text;
	free(text);
	return NULL;
}

/* ---- what Slurm knows ---- */

static void free_jobs(struct slurm *s)
{
	for (size_t i = 0; i < s->njobs; i++)
		free(s->jobs[i].node);
	free(s->jobs);
	s->jobs = NULL;
	s->njobs = 0;
}

/* How many elements "0-5,8" names. */
static size_t count_elements(const char *text)
{
	size_t n = 0;

	while (*text && *text != '%') {
		char *end;
		const unsigned long from = strtoul(text, &end, 10);
		unsigned long to = from;

		if (end == text)
			break;
		if (*end == '-')
			to = strtoul(end + 1, &end, 10);
		n += to >= from && to - from < 1000000 ? to - from + 1 : 1;
		text = end + (*end == ',');
	}
	return n ? n : 1;
}

static bool is_one_of(const char *word, const char *const *words)
{
	while (*words && strcmp(word, *words))
		words++;
	return *words;
}

static void add_job(struct slurm *s, const json_t *j)
{
	static const char *const alive[] = { "PENDING",	    "RUNNING",	 "CONFIGURING",
					     "COMPLETING",  "SUSPENDED", "REQUEUED",
					     "STAGE_OUT",   "SIGNALING", "STOPPED",
					     "REQUEUE_FED", "RESIZING",	 NULL };
	const char *name = json_string_value(json_object_get(j, "name"));
	const char *state = json_string_value(json_object_get(j, "job_state"));
	const char *reason = json_string_value(json_object_get(j, "state_reason"));
	const char *elements = json_string_value(json_object_get(j, "array_task_string"));
	const char *node = json_string_value(json_object_get(j, "nodes"));

	if (!name || strcmp(name, s->name) || !state ||
	    json_integer_value(json_object_get(j, "user_id")) != (json_int_t)geteuid())
		return;

	struct slurm_job *new = ARRAY_ADD(s->jobs, s->njobs);

	*new = (struct slurm_job){
		.id = (unsigned long)json_integer_value(json_object_get(j, "job_id")),
		.restart = (unsigned)json_integer_value(json_object_get(j, "restart_cnt")),
		.elements = elements && *elements ? count_elements(elements) : 1,
		.alive = is_one_of(state, alive),
		.waits_for_time = reason && !strcmp(reason, "BeginTime"),
		.exit_code = (int)json_integer_value(json_object_get(j, "exit_code")) >> 8,
		.node = node ? text_shown(node) : NULL,
	};
	snprintf(new->state, sizeof(new->state), "%s", state);
	if (!strcmp(state, "RUNNING") && s->began <= 0)
		s->began = now_seconds();
}

/* Asks for all jobs; false: Slurm does not answer. */
static bool ask(struct slurm *s)
{
	char *const argv[] = { "squeue", "--json", NULL };
	struct err e = { "" };
	char *text = command(argv, NULL, &e);
	json_t *all = text ? json_loads(text, 0, NULL) : NULL;
	const json_t *jobs = json_object_get(all, "jobs");
	const bool ok = json_is_array(jobs);

	free(text);
	s->asked = now_seconds();
	if (ok) {
		free_jobs(s);
		for (size_t i = 0; i < json_array_size(jobs); i++)
			add_job(s, json_array_get(jobs, i));
		s->answered = s->asked;
		s->known = true;
	} else {
		err_set(&s->trouble, "%s", *e.text ? e.text : "squeue --json does not write JSON");
	}
	json_decref(all);
	return ok;
}

static const struct slurm_job *job_of(const struct slurm *s, unsigned long id)
{
	const struct slurm_job *found = NULL;

	/* an array's number stands for its waiting elements and for one that runs */
	for (size_t i = 0; i < s->njobs; i++)
		if (s->jobs[i].id == id && (!found || !strcmp(found->state, "PENDING")))
			found = &s->jobs[i];
	return found;
}

/* A node that does not see the queue would fail every job at once. */
static void find_broken(struct slurm *s)
{
	size_t failed = 0;

	for (size_t i = 0; i < s->njobs; i++) {
		const struct slurm_job *j = &s->jobs[i];
		const char *node = j->node ? j->node : "?";

		if (j->alive || j->id <= s->seen || strcmp(j->state, "FAILED"))
			continue;
		failed++;
		if (j->exit_code == NOT_SHARED)
			err_set(&s->broken,
				"the node %s does not see the folder '%s'; choose a cache folder "
				"that all nodes share (--cache DIR)",
				node, queue_folder(s->queue));
		else if (j->exit_code == 126 || j->exit_code == 127)
			err_set(&s->broken,
				"the node %s cannot run this culprit; install it where all nodes "
				"see it",
				node);
		else if (failed == FAILED_MOST && !s->nended)
			err_set(&s->broken,
				"%d jobs failed before they ran anything, the last one on "
				"node %s with exit code %d; 'scontrol show job %lu' says more",
				FAILED_MOST, node, j->exit_code, j->id);
	}
}

/* ---- tasks ---- */

static struct slurm_task *task_of(struct slurm *s, const char *key)
{
	for (size_t i = 0; i < s->ntasks; i++) {
		struct slurm_task *t = &s->tasks[(s->next + i) % s->ntasks];

		if (!strcmp(t->key, key)) {
			s->next = (s->next + i) % s->ntasks;
			return t;
		}
	}
	return NULL;
}

/* Decides what a claim is worth whose job Slurm no longer runs. */
static void judge_claim(void *ctx, const struct queue_copy *c)
{
	struct slurm *s = ctx;
	const struct slurm_job *j = job_of(s, c->job);
	struct slurm_task *t = task_of(s, c->key);
	const bool waits = j && !strcmp(j->state, "PENDING");
	char *why = NULL;

	if (j && j->alive && j->restart <= c->restart && !waits)
		return;
	if (j && j->alive && waits && j->restart <= c->restart)
		return; /* it has just begun: the answer is older */
	if (j && !strcmp(j->state, "CANCELLED"))
		why = x_asprintf("its Slurm job %lu was cancelled from outside", c->job);
	else if (j && !strcmp(j->state, "TIMEOUT") && !c->number)
		why = x_asprintf("Slurm's own time limit ended its job %lu", c->job);
	else if (t && ++t->lost > LOST_MOST)
		why = x_asprintf("it was lost %u times; the last job was %lu, %s", t->lost, c->job,
				 j ? j->state : "which Slurm does not know");
	if (why) {
		const struct job_end end = { .status = 128 + SIGKILL,
					     .over = JOB_CANCELLED,
					     .host = j && j->node ? j->node : NULL,
					     .message = why };

		queue_end(s->queue, c, &end);
		free(why);
	} else {
		queue_release(s->queue, c);
	}
}

/* Seconds that a task takes, by what has ended or what the caller expects; 0: not known. */
static double task_seconds(const struct slurm *s)
{
	double sum = 0;
	size_t n = 0;

	if (s->nended)
		return s->ended_seconds / (double)s->nended;
	for (size_t i = 0; i < s->ntasks; i++)
		if (s->tasks[i].open && s->tasks[i].expected_seconds > 0) {
			sum += s->tasks[i].expected_seconds;
			n++;
		}
	if (n)
		return sum / (double)n;
	return s->began > 0 && now_seconds() - s->began > TASK_SECONDS ? TASK_SECONDS : 0;
}

static bool submit(struct slurm *s, size_t count)
{
	char program[4096];
	const ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);
	struct words {
		char *name, *array, *output, *partition, *time, *script;
	} w = { .name = x_asprintf("--job-name=%s", s->name),
		.array = x_asprintf("--array=0-%zu", count - 1),
		.output = x_strdup("--output=/dev/null") };
	const char *argv[16] = { "sbatch",
				 "--parsable",
				 "--requeue",
				 "--ntasks=1",
				 "--cpus-per-task=1",
				 "--open-mode=append",
				 "--chdir=/",
				 w.name,
				 w.array,
				 w.output };
	size_t at = 10;
	char *said;

	program[n > 0 ? n : 0] = 0;
	if (s->partition)
		argv[at++] = w.partition = x_asprintf("--partition=%s", s->partition);
	/* Slurm counts in minutes and ends what is over; the limit of a run is enforced in the job. */
	if (!s->unlimited)
		argv[at++] = w.time =
		    x_asprintf("--time=%.0f", ceil((WORK_SECONDS + s->limit_seconds) / 60) + 2);
	w.script =
	    x_asprintf("#!/bin/sh\n[ -e \"%s\" ] || exit %d\nexec \"%s\" campaign work \"%s\"\n",
		       s->token, NOT_SHARED, program, queue_folder(s->queue));
	said = command((char *const *)argv, w.script, &s->trouble);
	free(w.name);
	free(w.array);
	free(w.output);
	free(w.partition);
	free(w.time);
	free(w.script);
	const bool ok = said;

	free(said);
	s->known = !ok; /* until Slurm has listed them */
	s->refused = ok ? 0 : s->refused + 1;
	if (s->refused == REFUSED_MOST)
		err_set(&s->broken, "Slurm takes no jobs: %s", s->trouble.text);
	return ok;
}

static size_t count_queued(struct slurm *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->ntasks; i++) {
		char *path;

		if (!s->tasks[i].open)
			continue;
		path = x_asprintf("%s/queue/%s", queue_folder(s->queue), s->tasks[i].key);
		n += !access(path, F_OK);
		free(path);
	}
	return n;
}

/* Submits so many jobs that each has half a minute of work. */
static void submit_more(struct slurm *s)
{
	const double each = task_seconds(s);
	size_t alive = 0, wanted;

	s->nqueued = count_queued(s);
	if (!s->nqueued || !s->known)
		return;
	for (size_t i = 0; i < s->njobs; i++)
		if (s->jobs[i].alive && !s->jobs[i].waits_for_time)
			alive += s->jobs[i].elements;
	wanted = each > 0 ? (size_t)ceil((double)s->nopen * each / TASK_SECONDS) : 1;
	wanted = wanted < 1 ? 1 : wanted;
	wanted = wanted > s->nqueued + alive ? s->nqueued + alive : wanted;
	wanted = wanted > s->most ? s->most : wanted;
	if (wanted <= alive)
		return;
	wanted -= alive;
	for (size_t n; wanted; wanted -= n) {
		n = wanted < ARRAY_MOST ? wanted : ARRAY_MOST;
		if (!submit(s, n))
			return;
	}
}

/* ---- the place ---- */

/* A name for jobs that is the same for all runners of one queue. */
static char *jobs_name(const char *folder)
{
	struct digest d;
	char hex[DIGEST_HEX];

	digest_init(&d);
	digest_text(&d, folder);
	digest_hex(&d, hex);
	return x_asprintf("culprit-%.12s", hex);
}

static void slurm_close(void *state)
{
	struct slurm *s = state;

	free_jobs(s);
	queue_close(s->queue);
	free(s->tasks);
	free(s->name);
	free(s->partition);
	free(s->token);
	free(s);
}

static bool make_token(struct slurm *s, struct err *e)
{
	const int fd = open(s->token, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);

	if (fd < 0)
		return err_set(e, "cannot write '%s': %s", s->token, strerror(errno));
	close(fd);
	return true;
}

static void *slurm_open(const struct job_place_options *o, struct err *e)
{
	struct slurm *s = x_calloc(1, sizeof(*s));
	char *base = realpath(o->cache_dir, NULL);
	char *folder = x_asprintf("%s/slurm%s%s", base ? base : o->cache_dir,
				  o->argument ? "-" : "", o->argument ? o->argument : "");
	bool ok;

	free(base);
	s->partition = o->argument ? x_strdup(o->argument) : NULL;
	s->most = o->parallel ? o->parallel : ARRAY_MOST;
	s->name = jobs_name(folder);
	s->token = x_asprintf("%s/shared", folder);
	ok = (!o->argument || !strpbrk(o->argument, "/ \t\n\"$`\\")) ||
	     err_set(e, "'%s' cannot be the name of a partition", o->argument);
	ok = ok && (!strpbrk(folder, "\"$`\\\n") ||
		    err_set(e,
			    "the cache folder '%s' has a name that a shell would read "
			    "differently; choose another (--cache DIR)",
			    folder));
	s->queue = ok ? queue_open(folder, e) : NULL;
	ok = s->queue && make_token(s, e);
	if (ok && !ask(s))
		ok = err_set(e, "there is no Slurm to use from here: %s", s->trouble.text);
	free(folder);
	for (size_t i = 0; i < s->njobs; i++)
		s->seen = s->jobs[i].id > s->seen ? s->jobs[i].id : s->seen;
	if (ok)
		return s;
	slurm_close(s);
	return NULL;
}

static bool slurm_start(void *state, const struct job_task *task, size_t id, struct err *e)
{
	struct slurm *s = state;

	if (!queue_add(s->queue, task, e))
		return false;

	struct slurm_task *t = ARRAY_ADD(s->tasks, s->ntasks);

	*t = (struct slurm_task){ .id = id,
				  .open = true,
				  .expected_seconds = task->expected_seconds };
	snprintf(t->key, sizeof(t->key), "%s", task->key);
	s->nopen++;
	s->unlimited |= task->limits.seconds <= 0;
	s->limit_seconds = fmax(s->limit_seconds, task->limits.seconds);
	return true;
}

struct found {
	struct slurm *s;
	struct slurm_task *task; /* NULL: none yet */
};

static void find_ended(void *ctx, const char *key)
{
	struct found *f = ctx;
	struct slurm_task *t = f->task ? NULL : task_of(f->s, key);

	if (t && t->open)
		f->task = t;
}

static bool slurm_wait(void *state, int timeout_ms, struct job_end *end)
{
	struct slurm *s = state;
	const double now = now_seconds();
	struct found f = { .s = s };

	queue_each_ended(s->queue, find_ended, &f);
	if (f.task && queue_ended(s->queue, f.task->key, end)) {
		end->id = f.task->id;
		f.task->open = false;
		s->nopen--;
		s->nended++;
		s->ended_seconds += end->seconds;
		return true;
	}
	if (now - s->asked >= ASK_SECONDS || !s->known) {
		if (ask(s)) {
			find_broken(s);
			queue_each_claim(s->queue, judge_claim, s);
			if (!*s->broken.text)
				submit_more(s);
		}
	}
	poll(NULL, 0, timeout_ms);
	return false;
}

static void slurm_taken(void *state, size_t id)
{
	struct slurm *s = state;

	for (size_t i = 0; i < s->ntasks; i++)
		if (s->tasks[i].id == id)
			queue_forget(s->queue, s->tasks[i].key);
}

static bool slurm_works(void *state, struct err *e)
{
	struct slurm *s = state;

	if (*s->broken.text)
		return err_set(e, "%s", s->broken.text);
	return now_seconds() - s->answered < PATIENCE ||
	       err_set(
		   e,
		   "Slurm has not answered for %d s: %s; what runs goes on, and so does the same "
		   "command later",
		   PATIENCE, s->trouble.text);
}

/* Nobody is to run a task of ours any more. */
static void drop_claim(void *ctx, const struct queue_copy *c)
{
	struct slurm *s = ctx;
	const struct slurm_task *t = task_of(s, c->key);

	if (!t || !t->open)
		return;
	queue_unclaim(s->queue, c);
}

static void slurm_cancel(void *state)
{
	struct slurm *s = state;
	char *name = x_asprintf("--name=%s", s->name);
	char *user = x_asprintf("--user=%u", geteuid());
	char *const argv[] = { "scancel", name, user, NULL };
	struct err e = { "" };

	for (size_t i = 0; i < s->ntasks; i++)
		if (s->tasks[i].open)
			queue_remove(s->queue, s->tasks[i].key);
	free(command(argv, NULL, &e));
	queue_each_claim(s->queue, drop_claim, s);
	free(name);
	free(user);
}

const struct job_place job_place_slurm = {
	.name = "slurm",
	.summary = "jobs of a Slurm cluster whose nodes see the same files",
	.argument = "the name of a partition",
	.queues = true,
	.open = slurm_open,
	.start = slurm_start,
	.wait = slurm_wait,
	.taken = slurm_taken,
	.works = slurm_works,
	.cancel = slurm_cancel,
	.close = slurm_close,
};

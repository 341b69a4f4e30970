/* SPDX-License-Identifier: MIT */
/*
 * Inside a Slurm job: claims tasks and runs them as the place "local" does, with their limits. A job
 * that Slurm has started once more takes back what its earlier copy had claimed. On SIGTERM (scancel,
 * Slurm's time limit) the task is ended and its claim stays: Slurm tells the runner why.
 */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "jobs/queue.h"
#include "jobs/slurm.h"

#define MOST_SECONDS 600 /* then a job takes no further task, so that others get the node */
#define POLL_MS	     100

static unsigned long number_of(const char *variable)
{
	const char *text = getenv(variable);

	return text ? strtoul(text, NULL, 10) : 0;
}

static bool told_to_stop(void)
{
	sigset_t pending;

	sigpending(&pending);
	return sigismember(&pending, SIGTERM) || sigismember(&pending, SIGINT);
}

struct earlier {
	struct queue *queue;
	const struct queue_copy *me;
};

static void take_back(void *ctx, const struct queue_copy *c)
{
	const struct earlier *x = ctx;

	if (c->job == x->me->job && c->restart < x->me->restart)
		queue_release(x->queue, c);
}

/* Slurm sends SIGTERM to all processes of a job. A simulation that it reached first has ended with its own
 * summary, which is that of a part of the run. */
static bool stops_too(const struct job_end *end)
{
	if (end->status != 128 + SIGTERM && end->status != 128 + SIGINT)
		return false;
	for (unsigned i = 0; i < 20 && !told_to_stop(); i++)
		poll(NULL, 0, 50);
	return told_to_stop();
}

/* Runs one task to its end; false: the job was told to stop. */
static bool run_task(struct queue *q, struct queue_task *t)
{
	const struct job_place_options po = { .parallel = 1 };
	const struct job_place *here = &job_place_local;
	struct job_end end = { .status = 127 };
	struct err e = { "" };
	void *state = here->open(&po, &e);
	bool stop = false;

	if (state && here->start(state, &t->task, 0, &e)) {
		while (!(stop = told_to_stop()) && !here->wait(state, POLL_MS, &end))
			;
		stop = stop || stops_too(&end);
	} else {
		end.message = x_strdup(e.text);
	}
	if (state)
		here->close(state); /* ends a task that still runs */
	if (stop)
		queue_clean(q, &t->copy);
	else
		queue_end(q, &t->copy, &end);
	job_end_free(&end);
	return !stop;
}

int slurm_work(const char *folder)
{
	struct queue_copy me = { .job = number_of("SLURM_JOB_ID"),
				 .restart = (unsigned)number_of("SLURM_RESTART_COUNT") };
	struct err e = { "" };
	struct queue *q = queue_open(folder, &e);
	const time_t begin = time(NULL);
	struct queue_task t;
	sigset_t stop;
	bool go_on = true;

	if (!q) {
		warn("campaign: %s", e.text);
		return 2;
	}
	sigemptyset(&stop);
	sigaddset(&stop, SIGINT);
	sigaddset(&stop, SIGTERM);
	sigprocmask(SIG_BLOCK, &stop, NULL);
	queue_each_claim(q, take_back, &(struct earlier){ q, &me });
	while (go_on && !told_to_stop() && time(NULL) - begin < MOST_SECONDS &&
	       queue_claim(q, &me, &t)) {
		go_on = run_task(q, &t);
		queue_task_free(&t);
		me.number++;
	}
	queue_close(q);
	return go_on ? 0 : 128 + SIGTERM;
}

/* SPDX-License-Identifier: MIT */
/*
 * A queue of tasks in a folder that several hosts share. Who runs a task claims it; a task's own files
 * say how it ended. Every step is one rename or link, so a process that is killed leaves each task
 * queued, claimed or ended.
 *
 *      queue/KEY                      a task that nobody runs, as JSON
 *      claimed/KEY.JOB-RESTART-N      the same while job JOB runs it, as its N-th task since its
 *                                     RESTART-th start
 *      work/KEY.JOB-RESTART-N[.log]   what it writes
 *      ended/KEY                      how it ended, as JSON
 *
 * Two copies of a task may run (a batch system starts a job again whose node it has lost, while the
 * job lives on there); the first one that ends counts.
 */
#ifndef JOBS_QUEUE_H
#define JOBS_QUEUE_H

#include "jobs/place.h"
#include "util/digest.h"

struct queue;

/* Opens or makes the folder. */
struct queue *queue_open(const char *folder, struct err *e);
void queue_close(struct queue *q);
const char *queue_folder(const struct queue *q);

/* Which copy of a task: what follows the key in the names of its files. */
struct queue_copy {
	char key[DIGEST_HEX];
	unsigned long job;
	unsigned restart;
	unsigned number;
};

/* ---- who wants results ---- */

/* Adds a task unless it is queued, claimed or ended. */
bool queue_add(struct queue *q, const struct job_task *t, struct err *e);
/* Takes a task back that nobody has claimed. */
void queue_remove(struct queue *q, const char *key);
/* How a task ended: false if it has not. The status and what the task wrote stay until queue_forget. */
bool queue_ended(struct queue *q, const char *key, struct job_end *end);
void queue_forget(struct queue *q, const char *key);
/* Calls f with every ended task's key, and with every claimed task. */
void queue_each_ended(struct queue *q, void (*f)(void *ctx, const char *key), void *ctx);
void queue_each_claim(struct queue *q, void (*f)(void *ctx, const struct queue_copy *c), void *ctx);
/* The claim is void: the task is queued again, is not wanted any more, or has ended. A copy that has lost
 * its claim counts only if it went well. */
void queue_release(struct queue *q, const struct queue_copy *c);
void queue_unclaim(struct queue *q, const struct queue_copy *c);
bool queue_end(struct queue *q, const struct queue_copy *c, const struct job_end *end);

/* ---- who runs tasks ---- */

/* A task as it was queued. */
struct queue_task {
	struct queue_copy copy;
	struct job_task task; /* its strings belong to `spec` and to this struct */
	void *spec;	      /* of jansson */
	char **argv;
	char *result, *log;
};
/* Claims a task for the copy's job; false: there is none. */
bool queue_claim(struct queue *q, const struct queue_copy *who, struct queue_task *out);
/* Removes what a copy that was stopped has written. */
void queue_clean(struct queue *q, const struct queue_copy *c);
void queue_task_free(struct queue_task *t);

#endif

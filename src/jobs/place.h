/* SPDX-License-Identifier: MIT */
/*
 * A place where jobs run: one const struct of this type. local.c runs them as processes of this
 * host; a cluster's batch system would be another file with the same five functions, if it sees the
 * same files.
 */
#ifndef JOBS_PLACE_H
#define JOBS_PLACE_H

#include <stddef.h>

#include "util/util.h"

/* A process to be run. All strings stay the caller's until it has ended. */
struct job_task {
	const char *name;  /* in words, for a queue's listing */
	char *const *argv; /* NULL-terminated; argv[0] is a path */
	const char *dir;   /* working directory; NULL: this one */
	const char *input; /* standard input; NULL: empty */
	const char *log;   /* file for standard output and standard error */
};

/* How a task ended. */
struct job_end {
	size_t id;
	int status; /* exit status, or 128 + signal */
};

struct job_place {
	const char *name, *summary;
	/* For up to `parallel` tasks at a time. */
	void *(*open)(unsigned parallel, struct err *e);
	/* Starts a task; `id` identifies it from now on. */
	bool (*start)(void *state, const struct job_task *task, size_t id, struct err *e);
	/* Waits up to timeout_ms for a task to end; true and `end` filled if one did. */
	bool (*wait)(void *state, int timeout_ms, struct job_end *end);
	/* Kills all running tasks. */
	void (*cancel)(void *state);
	void (*close)(void *state);
};

extern const struct job_place job_place_local;
/* All of them, NULL-terminated. */
extern const struct job_place *const job_places[];

#endif

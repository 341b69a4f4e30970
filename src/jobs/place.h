/* SPDX-License-Identifier: MIT */
/*
 * A place where jobs run: one const struct of this type. local.c runs them as processes of this
 * host, slurm.c hands them to the batch system of a cluster whose nodes see the same files.
 */
#ifndef JOBS_PLACE_H
#define JOBS_PLACE_H

#include <stddef.h>

#include "util/util.h"

#define JOB_RESULT "{result}" /* in argv: stands for the file that the job has to write */

/* What a run may use; then it is ended. 0: no limit. */
struct job_limits {
	double seconds;
	uint64_t memory_bytes; /* resident, of all its processes */
};

/* A process to be run. All strings stay the caller's until it has ended. */
struct job_task {
	const char *name;   /* in words, for a queue's listing */
	const char *key;    /* digest of what it computes */
	char *const *argv;  /* NULL-terminated; argv[0] is a path; JOB_RESULT stands for `result` */
	const char *dir;    /* working directory; NULL: this one */
	const char *input;  /* standard input; NULL: empty */
	const char *result; /* file that it writes */
	const char *log;    /* file for standard output and standard error */
	struct job_limits limits;
	double expected_seconds; /* how long it may take; 0: not known */
	bool again;		 /* also if it has ended in an earlier call */
};

/* Why a task ended that did not end by itself. */
enum job_over {
	JOB_NOT_OVER,
	JOB_OVER_TIME,
	JOB_OVER_MEMORY,
	JOB_CANCELLED, /* somebody else ended it; `message` says how */
};

/* How a task ended. Its strings are allocated; see job_end_free. */
struct job_end {
	size_t id;
	int status; /* exit status, or 128 + signal */
	enum job_over over;
	double seconds;	       /* that it ran */
	uint64_t memory_bytes; /* most that one of its processes had resident; 0: not known */
	char *host;	       /* where it ran */
	char *result, *log;    /* files, if they are not those of the task; NULL: they are */
	char *message;	       /* what the place says of it; NULL: nothing */
};
void job_end_free(struct job_end *end);

struct job_place_options {
	unsigned parallel;     /* tasks at a time; 0: as many as the place allows */
	const char *argument;  /* what followed the place's name and a colon; NULL: nothing */
	const char *cache_dir; /* a folder that the place sees, too */
};

struct job_place {
	const char *name, *summary;
	const char *argument; /* what may follow the name and a colon; NULL: nothing */
	/* Tasks are queued there, any number of them, and go on when this process ends: the same
	 * task started by another process is the one that runs already. */
	bool queues;
	void *(*open)(const struct job_place_options *o, struct err *e);
	/* Starts a task; `id` identifies it from now on. */
	bool (*start)(void *state, const struct job_task *task, size_t id, struct err *e);
	/* Waits up to timeout_ms for a task to end; true and `end` filled if one did. */
	bool (*wait)(void *state, int timeout_ms, struct job_end *end);
	/* The end of a task has been recorded; NULL: that does not matter there. */
	void (*taken)(void *state, size_t id);
	/* Says in e why nothing can run there any more, if that is so; NULL: that cannot be. */
	bool (*works)(void *state, struct err *e);
	/* Kills all running tasks. */
	void (*cancel)(void *state);
	void (*close)(void *state);
};

extern const struct job_place job_place_local, job_place_slurm;
/* All of them, NULL-terminated. */
extern const struct job_place *const job_places[];
/* The place that a user names, NAME[:ARGUMENT], whose argument is a part of the text; NULL and e
 * filled if there is none. */
const struct job_place *job_place_find(const char *text, const char **argument, struct err *e);

/* The words of a task with the result's name filled in; free each and the list. */
char **job_words(char *const *argv, const char *result);

#endif

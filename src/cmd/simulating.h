/* SPDX-License-Identifier: MIT */
/* What the commands that simulate a stored run again share. */
#ifndef CMD_SIMULATING_H
#define CMD_SIMULATING_H

#include <stddef.h>

#include "cmd/cmd.h"
#include "jobs/rerun.h"

/* Options; a member named `simulating` of a command's values. */
struct simulating {
	uint64_t jobs;	       /* runs at a time; 0: as many as there are processors */
	const char *cache;     /* NULL: the user's */
	const char *place;     /* NULL: this host */
	const char *simulator; /* the culprit to call; NULL: this one */
	bool again;	       /* simulate also what is in the cache */
	bool trust;	       /* simulate also profiles from elsewhere */
};

/* cmd_option.check of options that name a place. */
bool simulating_check_place(const char *text, struct err *e);
/* Row for the option table of a command. */
extern const struct cmd_option simulating_group[];
#define SIMULATING_OPTIONS(values)                                                                 \
	{                                                                                          \
		.group = simulating_group, .offset = offsetof(values, simulating)                  \
	}

/*
 * Whether the store may choose what is run: this user's culprit wrote it on this machine, or
 * --trust was given. If not, a line on stderr says which command it would run.
 */
bool simulating_trusted(const char *command, struct store *s, const struct simulating *o);

/* The unchanged run: one of the jobs that simulating_run takes. */
struct job simulating_itself(const struct rerun *r);

struct simulating_found {
	bool
	    repeats; /* the unchanged run takes the cycles of the profile. If not, a line on stderr says so, and the other jobs say nothing about the stored run */
	double cycles; /* of the unchanged run, in its regions if it has any */
	size_t
	    failed; /* jobs that failed, each named on stderr, and one more if it does not repeat */
};
/* Runs the jobs, or finds them in the cache. False and e filled if that could not begin, or was
 * interrupted. */
bool simulating_run(const char *command, struct store *s, const struct rerun *r,
		    const struct simulating *o, struct job *jobs, size_t count,
		    const struct job *itself, struct simulating_found *out, struct err *e);
/* The cycles of such a job, in regions if there are any; false: it failed. */
bool simulating_cycles(const struct job *j, double *cycles);

#endif

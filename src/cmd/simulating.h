/* SPDX-License-Identifier: MIT */
/* What the commands that simulate a stored run again share: options of how and where. */
#ifndef CMD_SIMULATING_H
#define CMD_SIMULATING_H

#include <stddef.h>

#include "cmd/cmd.h"
#include "jobs/rerun.h"

/* A member named `simulating` of the values of such a command. */
struct simulating {
	uint64_t jobs;	       /* runs at a time; 0: as many as there are processors */
	const char *cache;     /* NULL: the user's */
	const char *simulator; /* the culprit to call; NULL: this one */
	bool again;	       /* simulate also what is in the cache */
	bool trust;	       /* also profiles from elsewhere */
};

#define SIMULATING_JOBS_MAX 1024

#define SIMULATING_OPTIONS(values)                                                                 \
	{ .name = "jobs",                                                                          \
	  .type = CMD_NUMBER,                                                                      \
	  .offset = offsetof(values, simulating.jobs),                                             \
	  .range = { 1, SIMULATING_JOBS_MAX, NUMBER_PLAIN },                                       \
	  .arg = "N",                                                                              \
	  .letter = 'j',                                                                           \
	  .help = "Simulations at a time, as many as there are processors by default" },           \
	    { .name = "cache",                                                                     \
	      .type = CMD_TEXT,                                                                    \
	      .offset = offsetof(values, simulating.cache),                                        \
	      .arg = "DIR",                                                                        \
	      .help = "Where results of simulations are kept: $CULPRIT_CACHE, "                    \
		      "$XDG_CACHE_HOME/culprit or ~/.cache/culprit by default" },                  \
	    { .name = "simulator",                                                                 \
	      .type = CMD_TEXT,                                                                    \
	      .offset = offsetof(values, simulating.simulator),                                    \
	      .arg = "FILE",                                                                       \
	      .help = "Another build of culprit for the simulations, which depend on it: what it " \
		      "has simulated stays in the cache while this one changes" },                 \
	    { .name = "trust",                                                                     \
	      .type = CMD_SWITCH,                                                                  \
	      .offset = offsetof(values, simulating.trust),                                        \
	      .help = "Simulates also a profile that this user's culprit did not write on this "   \
		      "machine, that is, runs the command that it names, in a sandbox" },          \
	{                                                                                          \
		.name = "again", .type = CMD_SWITCH, .offset = offsetof(values, simulating.again), \
		.help = "Simulates also what is in the cache"                                      \
	}

/*
 * The run as it was, to be simulated beside the others, and whether it was: if it takes other
 * cycles than the stored one, the rest are not of the stored run either, which a line on stderr
 * says.
 */
struct job simulating_itself(const struct rerun *r);
bool simulating_repeats(const char *command, const struct rerun *r, const struct job *itself,
			double cycles);

/*
 * If the store may choose what is run: this user's culprit wrote it on this machine, or --trust
 * says so. Otherwise a line on stderr tells which command it would be.
 */
bool simulating_trusted(const char *command, struct store *s, const struct simulating *o);

#endif

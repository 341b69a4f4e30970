/* SPDX-License-Identifier: MIT */
/*
 * What the files of `culprit sample` share. sample.c is the command and the order of its steps; then one
 * file per step: sample_profile.c (vectors and execution counts of the whole run), sample_points.c (which
 * intervals are simulated), sample_simulate.c (jobs, each a point), sample_check.c and sample_warm.c
 * (how long points warm up, and what that leaves), sample_units.c and sample_live.c (systematic
 * sampling), sample_combine.c (one profile of all).
 */
#ifndef CMD_SAMPLE_H
#define CMD_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/cmd.h"
#include "core/mem/mem.h"
#include "jobs/jobs.h"
#include "jobs/recipe.h"
#include "jobs/rerun.h"
#include "sampling/estimate.h"
#include "sampling/sampling.h"

enum sample_method { SAMPLE_SIMPOINT, SAMPLE_SYSTEMATIC };

#define SAMPLE_WHOLE	  20   /* intervals; a shorter run is simulated whole */
#define SAMPLE_SETTLE	  2000 /* instructions */
#define SAMPLE_UNIT	  1000
#define SAMPLE_MAX_POINTS 300
#define SAMPLE_MAX_UNITS  10000
#define SAMPLE_MAX_LIVE	  8000 /* live-points: they are named on a command line */
#define SAMPLE_WARM	  "2M" /* after what the history says */
#define SAMPLE_WARM_ALONE 10000000ull
/* --warm auto: warm-ups to try, each SAMPLE_AUTO_STEP times the one before; the share of the cycles at which what is not
 * known does not matter. */
#define SAMPLE_AUTO_FIRST 1000000ull
#define SAMPLE_AUTO_STEP  10
#define SAMPLE_AUTO_LAST  100000000ull
#define SAMPLE_AUTO_ERROR 0.005
/* What a usual warm-up leaves (sample_check.c): so many points are simulated again, after so many times its length, with so
 * many more timed instructions before. */
#define SAMPLE_CHECKS	    6
#define SAMPLE_CHECK_TIMES  4
#define SAMPLE_CHECK_SETTLE 100000
/* Instructions that all points together may run to be reached before checkpoints pay: half a second. */
#define SAMPLE_FAR 500000000ull
/* The command line; NULL, 0 or empty if not given. */
struct sample_options {
	int method;
	uint64_t interval, max_k, dims, tries, seed;
	const char *bic;
	bool bic_of_best, exhaustive, no_data, no_history;
	const char *machine;
	struct cmd_strings sets;
	const char *analyze;
	uint64_t period, frequency;
	bool random;
	struct cmd_strings params;
	const char *warm;
	uint64_t settle;
	const char *error, *confidence;
	uint64_t max_points, unit;
	uint64_t jobs;
	const char *place, *cache, *keep, *output;
	bool again, partial, plain_weights, live_points;
	/* of the guest */
	const char *sysroot;
	uint64_t max_insts, guest_seed;
	struct cmd_strings env;
	int children;
	bool interpreter;
};

/* An interval that is simulated. */
struct sample_point {
	uint64_t start, length; /* instructions: before it, and in it */
	uint32_t cluster;
	size_t interval;	  /* from 0 */
	uint64_t warm;		  /* at most so many; UINT64_MAX: all that precede */
	enum mem_unknown unknown; /* other than UNKNOWN_EMPTY: only its cycles are wanted */
	bool is_check;		  /* of the warm-up: only its cycles, with SAMPLE_CHECK_SETTLE */
	struct job job;
	uint64_t cycles; /* measured */
	bool has_bracket;
	double low_cycles, high_cycles; /* if what was not known had been hits, misses */
};

/* One call of the command. */
struct sample {
	const struct sample_options *o;
	char **args;  /* the program and its arguments */
	char *output; /* of the profile */
	char *cache;  /* the folder of results */
	double bic;   /* threshold */
	double error; /* wanted, relative; 0: none */
	double confidence;
	uint64_t max_points;
	uint64_t warm;	/* UINT64_MAX: all that precedes */
	bool warm_auto; /* each point has its own, by what is still unknown */
	/* sample_check.c: by how much of its cycles a point may be too high (negative) or too low. */
	bool has_rest, warm_is_longer;
	double rest_low, rest_high;
	/* sample_profile.c */
	char *dir;	       /* what is known of program and input */
	struct store *profile; /* the run's recipe */
	struct rerun *rerun;
	char *program;	 /* its name, as the profile has it */
	uint64_t total;	 /* instructions of the run */
	int exit_status; /* -1: it did not end */
	bool profile_cached;
	bool stopped;	/* by SIGINT or SIGTERM, while a step of sample_save.c ran */
	bool history;	/* points begin with the lines that were touched before (sim --history) */
	bool live;	/* units begin from live-points */
	bool cut_short; /* a signal ended the measuring of units; those before it count */
	bool said;	/* the program's process has said what went wrong */
	struct intervals vectors;
	uint64_t *pcs, *executions; /* by instruction, ascending */
	size_t npcs;
	/* sample_points.c */
	bool is_whole; /* the run is simulated whole */
	struct choice choice;
	struct estimate_cluster *clusters;
	size_t *npoints_of; /* of each cluster: points so far */
	size_t **members; /* of each cluster: intervals in the order in which they become points */
	struct sample_point *points;
	size_t npoints;
	/* sample_simulate.c */
	char *machine; /* INI file */
	const struct job_place *place;
	const char *place_argument;
	struct estimate cpi;   /* of the whole run */
	double sampling_error; /* half of the interval, without brackets, relative */
	size_t cached;	       /* points whose results were there */
	double seconds;	       /* of simulating */
};

/* Loads the profile of the run, or makes it by running the program. */
bool sample_profile(struct sample *s, struct err *e);
void sample_profile_free(struct sample *s);
void sample_profile_free_vectors(struct sample *s);

/* The first points. */
bool sample_choose(struct sample *s, struct err *e);
/* Adds so many points to each cluster; returns how many that were. */
size_t sample_add_points(struct sample *s, const uint64_t *extra);
void sample_points_free(struct sample *s);

/* Checks what simulating needs, before anything runs. */
bool sample_prepare(struct sample *s, struct err *e);
/* Simulates all points, adding more until the error is as wanted. */
bool sample_simulate(struct sample *s, struct err *e);

/* A simulation on the machine that was asked for, with its analyses and these options; the caller frees
 * it (job_free). */
struct job sample_job(const struct sample *s, const char *name, const struct words *options,
		      bool is_bound);
/* Where the way to a point begins to matter: its warm-up. */
uint64_t sample_approach(const struct sample *s, const struct sample_point *p, uint64_t *settle,
			 uint64_t *warm);
/* Simulates points, each a job. *sequence: that does not pay; they are to be measured in one process. */
bool sample_run(struct sample *s, struct sample_point *points, size_t count, bool *sequence,
		struct err *e);
/* sample_warm.c: finds the warm-ups of the points from `first` on, and what they leave unknown. */
bool sample_warm_up(struct sample *s, size_t first, struct err *e);

/* sample_check.c: simulates the first points, and finds what their warm-up leaves; a longer one if that matters. */
bool sample_run_checked(struct sample *s, bool *sequence, struct err *e);

/* Reads what the points from `first` on measured. */
bool sample_read_points(struct sample *s, size_t first, struct err *e);
bool sample_read_point(struct sample_point *p, struct err *e);
/* Simulates a point, from a checkpoint `from` instructions into the run if there is one; with s->live the
 * core comes from there, too. */
struct job sample_point_job(const struct sample *s, const struct sample_point *p,
			    const char *checkpoint, uint64_t from);
/* sample_live.c: measures units from live-points in random order, until the error is as wanted or a signal comes. Only
 * the points that were measured remain. */
bool sample_live(struct sample *s, struct err *e);
/* sample_units.c: systematic sampling, points and simulations. */
bool sample_units(struct sample *s, struct err *e);

/* sample_save.c */
/* Saves the process after so many instructions, as far as it can be saved; if s->live, with the core. */
bool sample_save(struct sample *s, const uint64_t *at, size_t count, struct err *e);
/* The file of a checkpoint at that instruction, whether it is there or not; the caller frees. */
char *sample_saved_path(const struct sample *s, uint64_t at);
/* The last checkpoint at or before an instruction: where it is, and its file, which the caller frees.
 * 0 and NULL: there is none. */
uint64_t sample_saved_before(const struct sample *s, uint64_t at, char **path);
/* Measures the points from `first` on in one process. */
bool sample_sequence(struct sample *s, size_t first, struct err *e);
bool sample_any_file(const char *path); /* job.usable: any */
void sample_remove_folder(const char *path);

/* Writes the profile. */
bool sample_combine(struct sample *s, struct err *e);

/* The files of --keep. */
bool sample_keep(struct sample *s, struct err *e);

/* sample_show.c: `culprit sample show …`. Returns the exit status. */
int sample_show(int nargs, char **args);

#endif

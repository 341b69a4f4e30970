/* SPDX-License-Identifier: MIT */
/*
 * A campaign: programs x inputs x machines x settings x seeds, from one INI file (docs/campaigns.md).
 * file.c reads it, plan.c makes runs of it and checks them, run.c runs what is missing and keeps what
 * came out (store/results.h).
 */
#ifndef CAMPAIGN_CAMPAIGN_H
#define CAMPAIGN_CAMPAIGN_H

#include "jobs/jobs.h"
#include "jobs/recipe.h"
#include "machine/machine.h"
#include "store/results.h"
#include "util/condition.h"

#define CAMPAIGN_RUNS_MOST 1000000
#define CAMPAIGN_RUNS_ASK  10000 /* more want --yes */

enum campaign_how { CAMPAIGN_FULL, CAMPAIGN_SAMPLED, CAMPAIGN_FUNCTIONAL, CAMPAIGN_HOWS };
extern const char *const campaign_hows[CAMPAIGN_HOWS + 1];

/* A text of the file and the line that it stands in. */
struct campaign_text {
	char *text; /* NULL: not given */
	int line;
};

struct campaign_input {
	char *name;
	char *text; /* stands for {input} */
	int line;
};

struct campaign_program {
	char *name;
	struct words command; /* {input} not yet replaced */
	struct campaign_text folder, sysroot, stdin_file, files;
	struct words env;
	struct campaign_input *inputs; /* at least one; an unnamed one is called "" */
	size_t ninputs;
	int status; /* exit status of a run that went well; -1: any */
	int line, command_line;
};

/* A parameter that varies. */
struct campaign_setting {
	char *name; /* section.key */
	struct words values;
	int line;
};

struct campaign_machine {
	char *name;
	char *source; /* NAME or FILE.ini */
	int line;
	struct campaign_setting *sets; /* one value each */
	size_t nsets;
	struct machine machine; /* with what [set] says */
	char *file;		/* if it is not built in: what runs read */
};

/* Settings of one section [settings …]; sections are combined with each other. */
struct campaign_group {
	char *section;
	bool paired; /* the n-th values of all go together */
	struct campaign_setting *settings;
	size_t nsettings;
};

struct campaign_rule {
	struct conditions when;
	bool only; /* else: skip */
	int line;
};

/* An option of `culprit sim` or `culprit sample`, from section [sim] or [sample]. */
struct campaign_option {
	char *name, *value; /* value NULL: a switch */
	int line;
};

struct campaign {
	char *path, *folder; /* of the file */
	char *output;	     /* the results */
	enum campaign_how how;
	int how_line;
	struct campaign_text analyses, place;
	struct words seeds;
	struct job_limits limits;
	uint64_t jobs; /* at a time; 0: as many as the place allows */
	struct campaign_program *programs;
	size_t nprograms;
	struct campaign_machine *machines;
	size_t nmachines;
	struct campaign_group *groups;
	size_t ngroups;
	struct campaign_setting *fixed; /* of section [set]; one value each */
	size_t nfixed;
	struct campaign_option *sim, *sample;
	size_t nsim, nsample;
	struct campaign_rule *rules;
	size_t nrules;
};

/* Reads a file. NULL and e filled, with file and line, if it is wrong. */
struct campaign *campaign_read(const char *path, struct err *e);
void campaign_free(struct campaign *c);
/* Where the results of FILE.ini go, without reading more of it than that; the caller frees. */
char *campaign_results(const char *path, struct err *e);

/* The values that "32 64", "32..512 *2", "1..9 +2" or "8..12" name. */
bool campaign_values(const char *text, struct words *out, struct err *e);

/* ---- runs ---- */

struct campaign_run {
	const struct campaign_program *program;
	const struct campaign_input *input;
	const struct campaign_machine *machine; /* NULL: how = functional */
	const char *seed;
	struct words settings; /* name, value, name, value … */
	char *json;	       /* the same as an object */
	int64_t id;	       /* of its row; 0: none yet */
	struct job job;
	bool known;	    /* its row says how it ended, and needs no run */
	bool failed_before; /* it failed in an earlier call and is not to be tried again */
};

struct campaign_plan {
	const struct campaign *campaign;
	struct campaign_run *runs;
	size_t count;
	size_t skipped; /* by rules */
	char *cache_dir;
};

/* What the layer above knows of commands. */
struct campaign_commands {
	/* Whether the command has the option; option NULL: whether there is such a command. */
	bool (*has)(const char *command, const char *option);
	/* Checks a command line (without "culprit") as the command itself would. */
	bool (*check)(char *const *words, struct err *e);
};

/* Makes all runs and checks all that can be checked before anything runs: files, machines, options.
 * simulator: the culprit to call; NULL: this one. cache_dir as in jobs_options. */
struct campaign_plan *campaign_plan(const struct campaign *c, const char *simulator,
				    const char *cache_dir, const struct campaign_commands *commands,
				    struct err *e);
void campaign_plan_free(struct campaign_plan *p);
/* The value of a run's field: program, input, machine, seed, how or a setting; NULL: it has none. */
const char *campaign_field(const struct campaign_run *r, const char *name);

/* ---- running ---- */

struct campaign_options {
	bool retry; /* only runs that failed */
	bool dry_run, yes;
	uint64_t jobs;	   /* 0: as the file says */
	const char *place; /* NULL: as the file says */
	void (*progress)(void *ctx, const struct jobs_progress *p);
	void *progress_ctx;
	/* Called with each run that fails; log may be NULL. */
	void (*failed)(void *ctx, const char *name, const char *why, const char *log);
	void *failed_ctx;
};

/* What is there before anything runs, and what came out. */
struct campaign_state {
	size_t total, done, cached, failed, waiting;
	double seconds_left; /* of work for the waiting, one after the other; 0: not known */
	size_t unknown;	     /* waiting runs whose time is not known */
	unsigned parallel;
};

struct campaign_results;
/* Opens or makes the results and puts the plan into them; with dry_run only looks. */
struct campaign_results *campaign_open(struct campaign_plan *p, const struct campaign_options *o,
				       struct campaign_state *state, struct err *e);
/* Runs what is missing. False and e filled if it had to stop; what ended is kept. */
bool campaign_run(struct campaign_results *r, struct campaign_state *state, struct err *e);
void campaign_close(struct campaign_results *r);

#endif

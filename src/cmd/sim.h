/* SPDX-License-Identifier: MIT */
/*
 * What the files of `culprit sim` share. sim.c parses and loads the guest; one file per way to run
 * it drives it and fills in a struct sim_run; sim.c then reports that.
 */
#ifndef CMD_SIM_H
#define CMD_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/cmd.h"
#include "cmd/session.h"
#include "confine/confine.h"
#include "core/core.h"
#include "guest/guest.h"

#define SIM_DEFAULT_MACHINE "boom-tip"
#define SIM_INSTS_MAX	    1000000000000000000ull /* more than anyone waits for */

/* Options of --sandbox; limits are numbers or "none", NULL: the default. */
struct sim_sandbox {
	bool on, net;
	struct cmd_strings read, write, overlay, absent;
	const char *memory, *files, *processes, *output;
};

/* 0: none. */
struct sim_limits {
	uint64_t memory, files, processes, output;
};

struct sim_options {
	bool functional;
	bool interpreter;
	bool profile;
	bool real_time;
	int children; /* enum guest_children */
	uint64_t seed;
	uint64_t max_insts; /* 0: no limit */
	const char *sysroot;
	const char *streams;	    /* IN,OUT,ERR; NULL: culprit's own */
	struct cmd_strings content; /* N=FILE: what is in them */
	const char *input;	    /* file: what comes through them; NULL: nothing */
	bool forget_input;
	struct cmd_strings hide;
	const char *summary_json;
	struct cmd_strings env;
	const char *machine; /* name or file; NULL: SIM_DEFAULT_MACHINE */
	struct cmd_strings set;
	uint64_t fast_forward, warm; /* instructions before the timed part */
	struct session_options session;
	struct sim_sandbox sandbox;
};

/* How a run ended and what it took. */
struct sim_run {
	char *child; /* NULL: the program that was started; else which forked process: "2.1" */
	bool anew;   /* measuring begins when the core has nothing in flight, by calling … */
	void (*begin)(void *ctx);
	void *begin_ctx;
	uint64_t first_inst;	 /* instructions that came before: a forked process' parent's */
	uint64_t first_cycle;	 /* … and cycles */
	uint64_t first_step;	 /* … of those, that the host went through one by one */
	uint64_t first_fault;	 /* … and faults */
	double first_second;	 /* host time when it began */
	const char *machine;	 /* name of the machine model */
	const struct emit *emit; /* where records go; it may ask to stop. NULL: nowhere */
	uint64_t insts;
	uint64_t cycles;  /* if has_cycles */
	uint64_t stepped; /* … of those, that the host went through one by one */
	uint64_t faults;  /* of insts, those that raised a signal; the guest does not count them */
	bool has_cycles;
	double host_seconds;
	enum guest_status status; /* GUEST_RUNNING: stopped, by the two below or --max-insts */
	int stop_signal;	  /* the signal that stopped it; 0: none */
	bool failed;		  /* stopped because an analysis could not go on */
	int exit_status;	  /* of the guest, if it ended */
};

/* The guest's standard streams. */
struct sim_streams {
	int fds[3];		     /* -1: closed */
	struct guest_input input[3]; /* what becomes of what is read there */
	struct guest_identity identity[3];
	char *words; /* of --streams, cut up; NULL: none */
	int kept;    /* file of what is read, or is given to be read; -1: none */
};

/* One run, from the options to the report. */
struct sim {
	const struct sim_options *options;
	char *const *args; /* of the first process: the program and its arguments */
	struct guest *guest;
	struct core *core;	 /* NULL: functional */
	struct session *session; /* analyses; NULL: none */
	struct output *json;	 /* where the summary goes; NULL: nowhere */
	struct sim_streams streams;
	char machine[64];
	struct sim_run run;
	/* sim_children.c */
	struct sim_tree *tree;
	unsigned forks;		 /* made by this process */
	char *suffix;		 /* of what a forked process writes: ".2.1"; NULL: the first */
	char *program;		 /* of the first process, when measuring began */
	char *store_path;	 /* of the first process; NULL: none */
	struct session *parents; /* of the process that forked this one; its threads are not here */
	uint64_t fork_cycle;	 /* when this one was forked */
	struct trust_key key;	 /* of the user: signs the store */
	char confined[256];	 /* what holds culprit itself, in words */
};

/* Runs the guest to its end, to --max-insts or to the first SIGINT or SIGTERM. */
void sim_functional(struct guest *g, const struct sim_options *options, struct sim_run *run);

/* The same on a modelled core, which sim_timing_new makes from the options. */
struct core *sim_timing_new(struct guest *g, const struct sim_options *options, struct err *e);
bool sim_timing_config(const struct sim_options *options, struct machine *config, struct err *e);
void sim_timing(struct core *c, struct guest *g, const struct sim_options *options,
		struct sim_run *run);

/* sim_session.c: analyses on the records of a run, from where its core is now. */
struct session *sim_session_open(struct sim *s, const struct trigger_cutter *before, struct err *e);
/* Writes what was measured. Whatever comes of it, s has no session any more. */
bool sim_session_close(struct sim *s, struct err *e);
/* What the run was called with, as settings of section "run"; values and list are allocated. */
struct trace_setting *sim_command_rows(const struct sim *s, size_t *count);
/* Which files the guest has read and written, as JSON; the caller frees. */
char *sim_files_text(const struct guest *g);
/* … and which folders it has listed, with what they held; NULL: none. */
char *sim_folders_text(const struct guest *g);
/* … what a forked process has instead: it cannot be run alone. */
struct trace_setting *sim_child_rows(const struct sim *s, size_t *count);

/* sim_sandbox.c. False, and a line, if an option needs --sandbox. */
bool sim_sandbox_check(const struct sim_options *o, struct err *e);
bool sim_limits(const struct sim_options *o, struct sim_limits *out, struct err *e);
/* cmd_option.check for the --limit options. */
bool sim_check_limit(const char *text, struct err *e);
/* As confine_enter; *status is -1 and e filled if the options cannot be. */
bool sim_sandbox_enter(const struct sim_options *o, const int *streams, const char *program,
		       uint64_t limit_output, struct confine_report *report, int *status,
		       struct err *e);

/* sim_streams.c: the guest's standard streams. */
/* Opens what --streams says. */
bool sim_streams_open(const struct sim_options *o, struct sim_streams *out, struct err *e);
/* The guest has its own descriptors. */
void sim_streams_close(struct sim_streams *s);
/* What the streams are, as --streams takes it; the caller frees. */
char *sim_streams_text(const struct sim_options *o);
/* What a stream's file holds before the run, packed, where that cannot be found out later: a file
 * that the guest may both read and write. NULL: it can, or it is too much to keep. */
char *sim_streams_content(const struct sim_options *o, int index);
/* What the guest has read from pipes and terminals, packed; NULL: not known, or there are none. */
char *sim_streams_kept(const struct sim_streams *s);

/* sim_children.c: processes that the guest forks. */
void sim_children_init(struct sim *s);
void sim_children_free(struct sim *s);
/* For guest_config's forked; ctx is a struct sim. */
void sim_on_fork(void *ctx, enum guest_fork phase, unsigned number);
/* Measuring begins, with whatever comes next. Nothing must be in flight. ctx is a struct sim. */
void sim_begin(void *ctx);
/* This process has written its results, or failed to; counts if it was forked. */
void sim_children_wrote(struct sim *s, bool ok);
/* One line about all forked processes, if there are any and this is the first one. False if one
 * could not write its results. */
bool sim_children_report(FILE *out, const struct sim *s);

/* The signal that asked culprit to end the run, or 0. */
int sim_stop_signal(void);

/* Instruction mix and hot functions, from the guest's block counts; debug files from sysroot. */
void sim_print_profile(FILE *out, const struct guest *g, const char *sysroot);

/* sim_summary.c */
void sim_print_summary(FILE *out, const struct guest *g, const struct sim_run *run);
/* --summary-json: opened before the run, so that a bad name costs nothing. */
bool sim_open_json(struct sim *s, struct err *e);
/* … written if asked for, and closed. False, and a line on standard error, if that failed. */
bool sim_close_json(struct sim *s, bool write);
/* Writes n with a comma between groups of three digits; returns buf. */
#define COMMAS_BYTES 32
const char *sim_commas(uint64_t n, char buf[COMMAS_BYTES]);
/* Million instructions a second. */
double sim_mips(uint64_t insts, double seconds);

#endif

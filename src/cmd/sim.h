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
#include "core/core.h"
#include "guest/guest.h"

#define SIM_DEFAULT_MACHINE "boom-tip"

struct sim_options {
	bool functional;
	bool interpreter;
	bool profile;
	bool real_time;
	int children; /* enum guest_children */
	uint64_t seed;
	uint64_t max_insts; /* 0: no limit */
	const char *sysroot;
	const char *summary_json;
	struct cmd_strings env;
	const char *machine; /* name or file; NULL: SIM_DEFAULT_MACHINE */
	struct cmd_strings set;
	uint64_t fast_forward, warm; /* instructions before the timed part */
	struct session_options session;
};

/* How a run ended and what it took. */
struct sim_run {
	unsigned child; /* 0: the program that was started; else the number of a forked process */
	uint64_t first_inst;	 /* instructions that came before: a forked process' parent's */
	uint64_t first_cycle;	 /* … and cycles */
	double first_second;	 /* host time when it began */
	const char *machine;	 /* name of the machine model */
	const struct emit *emit; /* where records go; it may ask to stop. NULL: nowhere */
	uint64_t insts;
	uint64_t cycles;  /* if has_cycles */
	uint64_t stepped; /* … of those, that the host went through one by one */
	bool has_cycles;
	double host_seconds;
	enum guest_status status; /* GUEST_RUNNING: stopped, by the two below or --max-insts */
	int stop_signal;	  /* the signal that stopped it; 0: none */
	bool failed;		  /* stopped because an analysis could not go on */
	int exit_status;	  /* of the guest, if it ended */
};

/* Runs the guest to its end, to --max-insts or to the first SIGINT or SIGTERM. */
void sim_functional(struct guest *g, const struct sim_options *options, struct sim_run *run);

/* The same on a modelled core, which sim_timing_new makes from the options. */
struct core *sim_timing_new(struct guest *g, const struct sim_options *options, struct err *e);
bool sim_timing_config(const struct sim_options *options, struct core_config *config,
		       struct err *e);
void sim_timing(struct core *c, struct guest *g, const struct sim_options *options,
		struct sim_run *run);

/* sim_session.c: analyses on the records of a run. */
struct session *sim_session_open(struct core *c, struct guest *g, const struct sim_options *options,
				 char *const *args, struct err *e);
/* What the run was called with, as settings of section "run"; values and list are allocated. */
struct trace_setting *sim_command_rows(const struct sim_options *o, char *const *args,
				       size_t *count);
bool sim_session_close(struct session *s, const struct core *c, const struct guest *g,
		       const struct sim_run *run, struct err *e);

/* The signal that asked culprit to end the run, or 0. */
int sim_stop_signal(void);

/* Instruction mix and hot functions, from the guest's block counts; debug files from sysroot. */
void sim_print_profile(FILE *out, const struct guest *g, const char *sysroot);

/* sim_summary.c */
void sim_print_summary(FILE *out, const struct sim_run *run);
bool sim_write_json(FILE *out, const struct guest *g, const struct sim_run *run);
/* Writes n with a comma between groups of three digits; returns buf. */
#define COMMAS_BYTES 32
const char *sim_commas(uint64_t n, char buf[COMMAS_BYTES]);
/* Million instructions a second. */
double sim_mips(uint64_t insts, double seconds);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * What the files of `culprit sim` share. sim.c loads the guest; one file per way to run it
 * (sim_functional.c, sim_timing.c) drives it and fills in a struct sim_run; sim_summary.c reports
 * that.
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
#include "sampling/sampling.h"
#include "state/file.h"

#define SIM_DEFAULT_MACHINE "boom-tip"
#define SIM_SLICE_CYCLES    100000 /* between two looks for a signal: a fiftieth of a second or so */
#define SIM_INSTS_MAX	    1000000000000000000ull /* more than anyone waits for */
/* --warm: instead of a number of instructions */
#define SIM_WARM_ALL (SIM_INSTS_MAX + 1) /* all that precede */

/* 0: none. */
struct sim_limits {
	uint64_t memory, files, processes, output;
};

/* Options (jobs/recipe.def); NULL, 0 or empty if not given. */
struct sim_options {
#define SIM(name, type, ...) CMD_VALUE_##type name;
#include "jobs/recipe.def"
	struct session_options session;
	const struct sim_into *into; /* no option: the functional pass of `culprit sample` */
};
/* sim_options.c: the table of options, each at the index of its enum recipe_item. */
extern const struct cmd_option sim_option_table[];
/* In the order of enum guest_children. */
extern const char *const sim_children_choices[];
extern const char *const sim_clock_choices[];
extern const char *const sim_unknown_choices[]; /* enum mem_unknown */
enum sim_clock { SIM_CLOCK_CYCLES, SIM_CLOCK_INSTS };
extern const char *const sim_warm_words[];
/* The guest's guest_config.clock_cpi. */
double sim_clock_cpi(const struct sim_options *o);
/* False and e filled if options contradict each other or a value is wrong. */
bool sim_options_check(const struct sim_options *o, struct err *e);

/* --intervals: what is measured of a run, interval by interval. */
struct sim_interval {
	uint64_t start;	 /* instructions of the guest before it */
	uint64_t warm;	 /* of these, warmed */
	uint64_t settle; /* and timed, after that, before it begins */
	uint64_t insts;	 /* how long it is */
	char *output;	 /* its store */
};
struct sim_intervals {
	struct sim_interval *items;
	size_t count;
};

/* How a run ended and what it took. */
struct sim_run {
	char *child; /* number of a forked process ("2.1"); NULL: the first process */
	bool anew;   /* call begin(begin_ctx) as soon as nothing is in flight */
	void (*begin)(void *ctx);
	void *begin_ctx;
	uint64_t first_inst;  /* instructions before measuring began: of a forked process' parent */
	uint64_t first_cycle; /* cycles before that */
	uint64_t first_step;  /* of cycles, those that the host simulated one by one */
	uint64_t first_fault; /* faults before that */
	double first_second;  /* host time when measuring began */
	/* --settle: what is measured begins after this instruction of the guest; what there was at
	 * its end, 0 before. */
	uint64_t start;
	bool settled; /* that one has committed */
	uint64_t last_inst, last_cycle, last_fault;
	const char *machine;	 /* name of the machine model */
	const struct emit *emit; /* where records go; it may ask to stop. NULL: nowhere */
	uint64_t insts;
	uint64_t cycles;  /* if has_cycles */
	uint64_t stepped; /* of cycles, those that the host simulated one by one */
	uint64_t faults;  /* instructions that raised a signal; the guest does not count them */
	bool has_cycles;
	double host_seconds;
	enum guest_status
	    status;	 /* GUEST_RUNNING: stopped by a signal, an analysis or --max-insts */
	int stop_signal; /* the signal that stopped it; 0: none */
	bool failed;	 /* stopped because an analysis could not go on */
	int exit_status; /* of the guest, if it ended */
};

/* The guest's standard streams. */
struct sim_streams {
	int fds[3];		     /* -1: closed */
	struct guest_input input[3]; /* whether what is read there is kept, or given */
	struct guest_identity identity[3];
	char *words; /* copy of --streams that identity and others point into; NULL: none */
	int kept;    /* file with what was read, or with what is given to be read; -1: none */
};

/* What `culprit checkpoint` wants of a run: where to save it, and how far it has come. */
struct sim_saving {
	const uint64_t *at; /* instructions, ascending */
	size_t count;
	const char *folder;
	bool with_history; /* which lines were touched is noted on the way, and saved too */
	bool with_core;	   /* caches, TLBs and predictors learn on the way, and are saved too */
	bool skip;	   /* a point at which the process cannot be saved is left out */
	struct state_pool *pool;
};

/* One run, from the options to the report. */
struct sim {
	const char *command; /* "sim" or "checkpoint", for messages */
	const struct sim_options *options;
	char *const *args;	   /* of the first process: the program and its arguments */
	struct sim_saving *saving; /* NULL: an ordinary run */
	struct state_file *from;   /* the checkpoint that the guest comes from; NULL: none */
	struct guest_saved saved;  /* what that says of itself */
	int home; /* culprit's own working folder while the guest's is another; -1 */
	struct guest *guest;
	struct core *core;	 /* NULL: functional */
	struct session *session; /* analyses; NULL: none */
	struct output *json;	 /* where the summary goes; NULL: nowhere */
	struct sim_streams streams;
	char machine[64];
	struct sim_run run;
	struct sim_intervals intervals;	  /* empty: one session, which is open before the run */
	struct session_interval interval; /* what the session measures of what is timed */
	bool relisten; /* the core is running: the next session takes over from the one before */
	/* state of sim_children.c */
	struct sim_tree *tree;
	unsigned forks; /* forks that this process has made */
	char *suffix;	/* suffix of files that a forked process writes: ".2.1"; NULL: the first */
	char *program;	/* of the first process, when measuring began */
	char *store_path; /* of the first process; NULL: none */
	struct session
	    *parents; /* session of the process that forked this one; its threads are not here */
	uint64_t fork_cycle;	  /* when this one was forked */
	struct trust_key key;	  /* the user's key, which signs the store */
	char confined[256];	  /* how culprit itself is confined, in words */
	struct intervals vectors; /* of options->into */
};

/* sim.c: runs `culprit sim`, or with saving not NULL `culprit checkpoint`; the exit status. */
int sim_main(const struct sim_options *o, char **args, struct sim_saving *saving);

/* sim_checkpoint.c */
/* Opens the checkpoint of --restore, from which the guest's arguments come. True if there is none. */
bool sim_restore_open(struct sim *s, struct err *e);
void sim_restore_close(struct sim *s);
/* The guest of that checkpoint. Afterwards the working folder is culprit's again; sim_enter_folder makes it the
 * guest's. */
struct guest *sim_restore_guest(struct sim *s, const struct guest_config *config, int *folder,
				struct err *e);
/* --restore-core: reads what that checkpoint has of a core into the new one. True if nothing is to be read. */
bool sim_restore_core(struct sim *s, struct err *e);
/* --history: the same of the lines that were touched. */
bool sim_restore_history(struct sim *s, struct err *e);
void sim_enter_folder(int folder);
/* The run is over: relative names of files that culprit writes mean its own folder again. */
void sim_leave_folder(struct sim *s);
/* The program of a checkpoint on this machine, if it is still what it was; the caller frees. NULL: it is not. */
char *sim_restore_program(const struct sim *s);
/* The file of a checkpoint at `insts`, in a folder; the caller frees. */
char *sim_checkpoint_path(const char *folder, uint64_t insts);
/* Says which files sim_save will write, before culprit can open no others, and hides them from the guest. */
void sim_save_announce(const struct sim *s);
/* Runs the guest from point to point and saves it. The exit status. */
int sim_save(struct sim *s);
/* The guest's environment does not depend on the host's, so that runs repeat; --env adds to it. The
 * caller frees the list. */
char **sim_make_env(const struct cmd_strings *added);
/* Looks up a name without a slash in the sysroot's program folders, as a shell there would. The caller
 * frees. */
char *sim_find_program(const char *name, const char *sysroot);
/* From now on the first SIGINT or SIGTERM ends the run cleanly; a second one ends culprit. NULL: the run
 * is over. */
void sim_catch_stop(struct guest *g);

/* Runs the guest to its end, to --max-insts or to the first SIGINT or SIGTERM. */
void sim_functional(struct guest *g, const struct sim_options *options, struct sim_run *run);

/* Runs the guest in the same way on a modelled core, which sim_timing_new makes. */
struct core *sim_timing_new(struct guest *g, const struct sim_options *options, struct err *e);
bool sim_timing_config(const struct sim_options *options, struct machine *config, struct err *e);
void sim_timing(struct core *c, struct guest *g, const struct sim_options *options,
		struct sim_run *run);

/* sim_intervals.c */
/* Reads the file of --intervals. False and e filled if it is none; free it in any case. */
bool sim_intervals_read(const char *path, struct sim_intervals *list, struct err *e);
void sim_intervals_free(struct sim_intervals *list);
/* Measures one after the other and prints a line for each. s has guest and core, and no session. */
bool sim_intervals(struct sim *s, const struct sim_intervals *list, struct err *e);

/* sim_session.c: opens analyses on the records that the core emits from now on. */
struct session *sim_session_open(struct sim *s, const struct trigger_cutter *before, struct err *e);
/* Writes what was measured. s has no session afterwards, whether that failed or not. */
bool sim_session_close(struct sim *s, struct err *e);
/* sim_command.c: the run's recipe as settings of section "run"; values and list are allocated. */
struct trace_setting *sim_command_rows(const struct sim *s, size_t *count);
/* The files that the guest has read, changed and made, as JSON; the caller frees. */
char *sim_files_text(const struct guest *g);
/* The folders that the guest has listed and what they held, as JSON; NULL: none. */
char *sim_folders_text(const struct guest *g);
/* Settings of a forked process, which has no recipe: it cannot be run alone. */
struct trace_setting *sim_child_rows(const struct sim *s, size_t *count);

/* sim_sandbox.c */
/* The limits that the options say, or the defaults. */
struct sim_limits sim_limits(const struct sim_options *o);
/* cmd_option.check for the --limit options. */
bool sim_check_limit(const char *text, struct err *e);
/* As confine_enter. If an option is wrong, *status is -1 and e is filled. */
bool sim_sandbox_enter(const struct sim_options *o, const int *streams, const char *program,
		       uint64_t limit_output, struct confine_report *report, int *status,
		       struct err *e);

/* sim_streams.c: the guest's standard streams. */
/* Opens what --streams says. */
bool sim_streams_open(const struct sim_options *o, struct sim_streams *out, struct err *e);
/* Closes them: the guest has descriptors of its own. */
void sim_streams_close(struct sim_streams *s);
/* What the streams are, as --streams takes it; the caller frees. */
char *sim_streams_text(const struct sim_options *o);
/* What a stream's file holds before the run, packed, if the guest may both read and write it:
 * then it cannot be read again later. NULL: it can, or is too large to keep. */
char *sim_streams_content(const struct sim_options *o, int index);
/* What the guest has read from pipes and terminals, packed; NULL: not known, or there are none. */
char *sim_streams_kept(const struct sim_streams *s);

/* sim_children.c: processes that the guest forks. */
void sim_children_init(struct sim *s);
void sim_children_free(struct sim *s);
/* For guest_config's forked; ctx is a struct sim. */
void sim_on_fork(void *ctx, enum guest_fork phase, unsigned number);
/* Begins measuring with the next instruction. Nothing may be in flight. ctx is a struct sim. */
void sim_begin(void *ctx);
/* Counts a forked process that has written its results, or failed to. */
void sim_children_wrote(struct sim *s, bool ok);
/* Prints one line about the forked processes, if there are any and this is the first process.
 * False if one could not write its results. */
bool sim_children_report(FILE *out, const struct sim *s);

/* The signal that asked culprit to end the run, or 0. */
int sim_stop_signal(void);

/* sim_profile.c: prints the instruction mix and the hot functions, from the guest's block
 * counts. */
void sim_print_profile(FILE *out, struct guest *g, const char *sysroot);

/* sim_summary.c */
void sim_print_summary(FILE *out, const struct guest *g, const struct sim_run *run);
/* Opens the file of --summary-json; before the run, so that a bad name costs nothing. */
bool sim_open_json(struct sim *s, struct err *e);
/* Writes the summary, if `write`, and closes the file. False, and a line on stderr, if that
 * failed. */
bool sim_close_json(struct sim *s, bool write);
/* Millions of instructions a second. */
double sim_mips(uint64_t insts, double seconds);

#endif

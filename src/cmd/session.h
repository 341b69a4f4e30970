/* SPDX-License-Identifier: MIT */
/*
 * What a live run (`culprit sim`) and a replayed one (`culprit replay`) share: the options that
 * concern analyses, a bus with those analyses on it, and the profile store at the end.
 *
 *      struct session *s = session_open(&options, &setup, &e);
 *      … run, writing into session_emit(s) …
 *      session_close(s, &result, &e);
 */
#ifndef CMD_SESSION_H
#define CMD_SESSION_H

#include <stddef.h>

#include "cmd/cmd.h"
#include "jobs/trust.h"
#include "trace/bus.h"
#include "trace/file.h"
#include "trace/trigger.h"

/* Options (jobs/recipe.def); a member named `session` of a command's values. workers is
 * OPTION_NOT_GIVEN and trace_records -1 if not given; all others NULL, 0 or empty. */
struct session_options {
#define SESSION(name, type, ...) CMD_VALUE_##type name;
#include "jobs/recipe.def"
};

extern const char *const session_trace_records[]; /* what --trace writes */

/* --analyze all: what the HTML page shows */
#define SESSION_ALL "profile,cpistack,icost,calls,windows"

#define SESSION_PERIOD_MAX 1000000000000000ull /* of cycles, and of samples a second */

/* cmd_option.check for KEY=VALUE, and for NAME=RULE:EVENTS:PERIOD. */
bool session_check_param(const char *text, struct err *e);
bool session_check_profiler(const char *text, struct err *e);

/* Row for the option table of a command. */
extern const struct cmd_option session_group[];
#define SESSION_OPTIONS(values)                                                                    \
	{                                                                                          \
		.group = session_group, .offset = offsetof(values, session)                        \
	}

/* What is known before the run. Everything stays the caller's; the session copies what it needs. */
struct session_setup {
	const char *command; /* "sim": for messages */
	const struct trace_meta *meta;
	const struct machine *machine;
	const struct trace_setting *settings; /* the machine as text, and the run's recipe in
						 section "run" */
	size_t nsettings;
	const struct trace_image *images; /* loaded so far: --start symbol:NAME looks there */
	size_t nimages;
	const char *debug_root; /* sysroot, or NULL */
	uint64_t seed;		/* of sampling */
	unsigned absent;	/* enum trace_want: what the source does not have */
	/* NULL but for a process that was forked during the run: */
	const char *suffix;		     /* added to the name of every file that is written */
	const char *program;		     /* its name begins default file names; NULL: meta's */
	const struct trigger_cutter *before; /* regions continue from there (session_regions) */
	/* One region instead of those of the options: it begins after `skip` instructions have
	 * committed and ends when `count` more have, both counted from the first record. */
	struct session_interval {
		bool on;
		uint64_t skip, count; /* count 0: to the end */
		uint64_t start;	      /* instructions of the run before it */
	} interval;
};

/* What is known after the run. */
struct session_result {
	uint64_t insts, cycles; /* of the whole run */
	bool ended;		/* exit_status is valid */
	int exit_status;
	double host_seconds;
	const struct trust_key *key;	  /* signs the store; NULL: it stays unsigned */
	const char *files;		  /* JSON: which it read and wrote; NULL: not known */
	const char *folders;		  /* JSON: which it listed; NULL: none */
	const char *input;		  /* what came through a pipe, packed; NULL: not known */
	const struct trace_image *images; /* all that the run loaded */
	size_t nimages;
	const struct trace_counter *counters; /* of the machine; become rows of table counter */
	size_t ncounters;
	const struct trace_wait *waits; /* of threads; NULL: not known */
	size_t nwaits;
	/* Asked while addresses are given names; true: the rest stays without. May be NULL. */
	bool (*stop)(void);
};

struct session;

/* NULL and e filled if an option is wrong, a file cannot be written or an analysis cannot start. */
struct session *session_open(const struct session_options *o, const struct session_setup *setup,
			     struct err *e);
/* Where records go; NULL if no analysis wants any (--analyze none). */
struct emit *session_emit(struct session *s);
/*
 * Ends the analyses and writes the store; with result NULL discards everything. Frees s in any
 * case. False and e filled if an analysis failed or a file could not be written.
 */
bool session_close(struct session *s, const struct session_result *result, struct err *e);

/* Path of the store; NULL if none is written. */
const char *session_path(const struct session *s);

/* Call before this process is forked: lets the session's threads come to rest. */
void session_quiet(struct session *s);
/*
 * Call in a process forked during the run: threads and files belong to the parent. What is emitted
 * from now on is dropped; only session_regions may still be called.
 */
void session_forget(struct session *s);
/* The state of the regions (--start, --stop) after all that was emitted. */
struct trigger_cutter session_regions(struct session *s);

#endif

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

/* Filled from the command line by the rows of SESSION_OPTIONS. */
struct session_options {
	const char *analyze;	/* "profile,bbv:4"; NULL: profile; "none" */
	const char *output;	/* of the store; NULL: basename(program).culprit here */
	uint64_t workers;	/* OPTION_NOT_GIVEN: as the host has cores to spare */
	uint64_t buffer_memory; /* bytes; 0: the default */
	struct cmd_strings start, stop;
	uint64_t period;    /* cycles; 0: by frequency, else the default */
	uint64_t frequency; /* samples a second of the machine's time; 0: by period */
	bool random;
	struct cmd_strings params;
	const char *trace;
	const char *trace_records; /* NULL: all; "misses", "committed" */
};

#define SESSION_PERIOD_MAX 1000000000000000ull /* of cycles, and of samples a second */

/* cmd_option.check for KEY=VALUE. */
bool session_check_param(const char *text, struct err *e);

/* Rows for the option table of a command whose values have a struct session_options `session`. */
#define SESSION_ROW(values, session, option) .offset = offsetof(values, session.option)
#define SESSION_OPTIONS(values, session)                                                           \
	{ .name = "analyze",                                                                       \
	  .type = CMD_TEXT,                                                                        \
	  SESSION_ROW(values, session, analyze),                                                   \
	  .arg = "LIST",                                                                           \
	  .help = "What to compute: names with commas between ('culprit list analyses' shows "     \
		  "them), profile by default, none for nothing. NAME:N spreads one over N "        \
		  "workers." },                                                                    \
	    { .name = "output",                                                                    \
	      .type = CMD_TEXT,                                                                    \
	      SESSION_ROW(values, session, output),                                                \
	      .arg = "FILE",                                                                       \
	      .letter = 'o',                                                                       \
	      .help = "Where the profile goes; the program's name with .culprit, in this folder, " \
		      "by default." },                                                             \
	    { .name = "workers",                                                                   \
	      .type = CMD_NUMBER,                                                                  \
	      .range = { 0, 64, NUMBER_PLAIN },                                                    \
	      .unset = OPTION_NOT_GIVEN,                                                           \
	      SESSION_ROW(values, session, workers),                                               \
	      .arg = "N",                                                                          \
	      .help = "Threads that run analyses; 0: none but the main one. As many as there are " \
		      "cores to spare by default." },                                              \
	    { .name = "buffer-memory",                                                             \
	      .type = CMD_NUMBER,                                                                  \
	      .range = { 1, 1ull << 40, NUMBER_BINARY },                                           \
	      SESSION_ROW(values, session, buffer_memory),                                         \
	      .arg = "BYTES",                                                                      \
	      .help = "Memory for records on their way to analyses, 16M by default (k, M, G: "     \
		      "2^10, 2^20, 2^30)." },                                                      \
	    { .name = "start",                                                                     \
	      .type = CMD_STRINGS,                                                                 \
	      SESSION_ROW(values, session, start),                                                 \
	      .check = trigger_check,                                                              \
	      .arg = "TRIGGER",                                                                    \
	      .help =                                                                              \
		  "Measures from here on: cycle:N, inst:N, pc:ADDR[#n], symbol:NAME[#n] (n-th "    \
		  "time, #0 every time) or mark. The n-th --start goes with the n-th --stop." },   \
	    { .name = "stop",                                                                      \
	      .type = CMD_STRINGS,                                                                 \
	      SESSION_ROW(values, session, stop),                                                  \
	      .check = trigger_check,                                                              \
	      .arg = "TRIGGER",                                                                    \
	      .help = "… up to here." },                                                           \
	    { .name = "period",                                                                    \
	      .type = CMD_NUMBER,                                                                  \
	      SESSION_ROW(values, session, period),                                                \
	      .range = { 1, SESSION_PERIOD_MAX, NUMBER_DECIMAL },                                  \
	      .arg = "CYCLES",                                                                     \
	      .help = "Cycles between two samples, 1000 by default." },                            \
	    { .name = "frequency",                                                                 \
	      .type = CMD_NUMBER,                                                                  \
	      SESSION_ROW(values, session, frequency),                                             \
	      .range = { 1, SESSION_PERIOD_MAX, NUMBER_DECIMAL },                                  \
	      .arg = "HZ",                                                                         \
	      .help = "Samples a second of the machine's time, instead of --period: 4000 is "      \
		      "what perf takes." },                                                        \
	    { .name = "random",                                                                    \
	      .type = CMD_SWITCH,                                                                  \
	      SESSION_ROW(values, session, random),                                                \
	      .help = "Samples at a random cycle of each period." },                               \
	    { .name = "param",                                                                     \
	      .type = CMD_STRINGS,                                                                 \
	      SESSION_ROW(values, session, params),                                                \
	      .arg = "KEY=VALUE",                                                                  \
	      .check = session_check_param,                                                        \
	      .help = "A parameter of an analysis that runs ('culprit list analyses' shows "       \
		      "them)." },                                                                  \
	    { .name = "trace",                                                                     \
	      .type = CMD_TEXT,                                                                    \
	      SESSION_ROW(values, session, trace),                                                 \
	      .arg = "FILE",                                                                       \
	      .help =                                                                              \
		  "Writes all records to FILE, for 'culprit replay' and 'culprit pipeline'." },    \
	{                                                                                          \
		.name = "trace-records", .type = CMD_TEXT,                                         \
		SESSION_ROW(values, session, trace_records), .arg = "all|misses|committed",        \
		.help = "What --trace writes: all records, those and one per cache miss, or "      \
			"committed instructions alone, for less time and space; csv and folded "   \
			"can be made from those."                                                  \
	}

/* What is known before the run. Everything stays the caller's and is copied where needed. */
struct session_setup {
	const char *command; /* "sim": for messages */
	const struct trace_meta *meta;
	const struct trace_setting *settings; /* the resolved machine */
	size_t nsettings;
	const struct trace_image *images; /* that are loaded already: for --start symbol:… */
	size_t nimages;
	const char *debug_root; /* sysroot, or NULL */
	uint64_t seed;		/* of sampling */
	unsigned absent;	/* enum trace_want that the source cannot give */
	/* For a process that was forked during the run; otherwise NULL. */
	const char *suffix;  /* is added to the name of every file that is written */
	const char *program; /* whose name names begin with by default; NULL: meta's */
	const struct trigger_cutter *before; /* regions go on from there (session_regions) */
};

/* What is known after it. */
struct session_result {
	uint64_t insts, cycles; /* of the whole run */
	bool ended;		/* exit_status is valid */
	int exit_status;
	double host_seconds;
	const struct trust_key *key;	  /* signs the store; NULL: it stays unsigned */
	const char *files;		  /* JSON: which it read and wrote; NULL: not known */
	const char *folders;		  /* JSON: which it listed; NULL: none */
	const char *input;		  /* what came through a pipe, packed; NULL: not known */
	const struct trace_image *images; /* all that were loaded */
	size_t nimages;
	const struct trace_counter *counters; /* of the machine; become rows of table counter */
	size_t ncounters;
	/* If not NULL: asked while addresses get their names; true: the rest goes without. */
	bool (*stop)(void);
};

struct session;

/* NULL and e filled if an option is wrong, a file cannot be written or an analysis cannot start. */
struct session *session_open(const struct session_options *o, const struct session_setup *setup,
			     struct err *e);
/* Where records go; NULL if no analysis wants any (--analyze none). */
struct emit *session_emit(struct session *s);
/*
 * Ends the analyses and writes the store, unless result is NULL: then all is thrown away. Frees s
 * in any case. False and e filled if an analysis failed or a file could not be written.
 */
bool session_close(struct session *s, const struct session_result *result, struct err *e);

/* Where its store goes; NULL if none is written. */
const char *session_path(const struct session *s);

/* Before this process is forked: lets its threads come to rest. */
void session_quiet(struct session *s);
/*
 * In a process forked during the run: threads and files are the parent's. What is emitted from now
 * on is dropped; s is good for session_regions alone.
 */
void session_forget(struct session *s);
/* Where the regions (--start, --stop) are after all that was emitted. */
struct trigger_cutter session_regions(struct session *s);

#endif

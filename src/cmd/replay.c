/* SPDX-License-Identifier: MIT */
/*
 * culprit replay: analyses a run from its trace instead of the modelled core. What the store says
 * about the run (program, machine, cycles) comes from the trace, so the store is the one that the
 * run itself would have written.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/progress.h"
#include "cmd/session.h"
#include "trace/file_samples.h"
#include "trace/import.h"
#include "trace/replay.h"

struct replay_values {
	struct session_options session;
	bool salvage;
	uint64_t seed; /* OPTION_NOT_GIVEN: the run's own */
	const char *sysroot;
	const char *program;
	const char *twin;
};

static volatile sig_atomic_t stop_signal;

static void on_stop(int signal)
{
	stop_signal = signal;
}

static void catch_stop(void)
{
	struct sigaction action = { .sa_handler = on_stop, .sa_flags = (int)SA_RESETHAND };
	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

static bool stop_asked(void)
{
	return stop_signal != 0;
}

static bool on_progress(void *ctx, uint64_t insts)
{
	progress_update(ctx, insts);
	return !stop_signal;
}

static bool open_session(const struct replay_values *o, const struct trace_info *info,
			 struct session **s, struct err *e)
{
	struct session_setup setup = { .command = "replay",
				       .meta = &info->meta,
				       .machine = info->machine,
				       .settings = info->settings,
				       .nsettings = info->nsettings,
				       .images = info->images,
				       .nimages = info->nimages,
				       .debug_root = o->sysroot,
				       .seed = info->meta.seed,
				       .absent = info->absent };
	if (o->twin)
		setup.absent &= ~(unsigned)WANT_TWIN;
	if (o->seed != OPTION_NOT_GIVEN)
		setup.seed = o->seed;
	*s = session_open(&o->session, &setup, e);
	return *s != NULL;
}

static bool close_session(struct session *s, const struct trace_info *info, double began, bool ok,
			  struct err *e)
{
	struct session_result result = { .insts = info->insts,
					 .cycles = info->cycles,
					 .ended = info->ended,
					 .exit_status = info->exit_status,
					 .host_seconds = host_now() - began,
					 .files = info->files,
					 .folders = info->folders,
					 .input = info->input,
					 .images = info->images,
					 .nimages = info->nimages,
					 .counters = info->counters,
					 .ncounters = info->ncounters,
					 .waits = info->waits,
					 .nwaits = info->nwaits,
					 .stop = stop_signal ? NULL : stop_asked };
	return session_close(s, ok ? &result : NULL, e) && ok;
}

/* Decodes every record though no analysis wants any, to find damage. */
static bool check_only(struct trace_reader *r, struct err *e)
{
	struct trace_records records;
	bool ok = true;
	for (size_t i = 0; ok && i < trace_reader_blocks(r); i++)
		ok = trace_reader_read(r, i, &records, e);
	return ok;
}

static bool replay_trace(const struct replay_values *o, const char *path, struct err *e)
{
	const double began = host_now();
	struct trace_reader *r = trace_reader_open(path, o->salvage, e);
	struct session *s;
	struct progress progress;
	if (!r)
		return false;
	const struct trace_info *info = trace_reader_info(r);
	struct twin *twin = NULL;
	bool ok = !o->twin || (twin = twin_open(o->twin, o->salvage, info, e));
	ok = ok && open_session(o, info, &s, e);
	if (ok) {
		if (*trace_reader_damage(r))
			warn("replay: %s: %s", path, trace_reader_damage(r));
		struct replay_options options = { .progress = on_progress,
						  .ctx = &progress,
						  .twin = twin };
		progress_begin(&progress, info->insts);
		ok = session_emit(s) ? replay_feed(r, session_emit(s), &options, e)
				     : check_only(r, e);
		progress_end(&progress);
		ok = close_session(s, info, began, ok, e);
	}
	twin_close(twin);
	trace_reader_close(r);
	return ok;
}

static bool check_program(const char *path, struct err *e)
{
	return !path || !access(path, R_OK) ||
	       err_set(e, "--program: cannot read %s: %s", path, strerror(errno));
}

static bool replay_o3pipeview(const struct replay_values *o, FILE *f, const char *name,
			      struct err *e)
{
	const double began = host_now();
	struct o3_import *im = import_o3pipeview_open(f, name, e);
	struct session *s;
	if (!im)
		return false;
	struct trace_info info = *import_o3pipeview_info(im);
	const struct trace_image program = { .path = o->program, .name = o->program };

	info.images = &program;
	info.nimages = o->program != NULL;
	if (o->program)
		snprintf(info.meta.program, sizeof(info.meta.program), "%s", o->program);
	bool ok = check_program(o->program, e) && open_session(o, &info, &s, e);
	if (ok) {
		ok = !session_emit(s) || import_o3pipeview_feed(im, session_emit(s), e);
		import_o3pipeview_size(im, &info.insts, &info.cycles);
		ok = close_session(s, &info, began, ok, e);
	}
	import_o3pipeview_close(im);
	return ok;
}

/* What a file of samples cannot have: it has no records. */
static bool check_samples_options(const struct replay_values *o, const char *path, struct err *e)
{
	const struct session_options *s = &o->session;
	const char *what = o->program		? "--program: it names the programs of its run"
			   : o->twin		? "--twin: it has no misses"
			   : o->salvage		? "--salvage: it is whole or of no use"
			   : s->trace		? "--trace: it has no records"
			   : s->profilers.count ? "--profiler: it has no cycles"
			   : s->start.count + s->stop.count ? "--start, --stop: it has no records"
							    : NULL;

	if (what)
		return err_set(e, "%s has samples of a shotgun profiler; %s", path, what);
	return !s->analyze || !strcmp(s->analyze, "shotgun") ||
	       err_set(e,
		       "%s has samples of a shotgun profiler, from which only analysis shotgun "
		       "can be made; leave --analyze out",
		       path);
}

/* Builds fragments from samples that analysis shotgun-samples kept. */
static bool replay_samples(const struct replay_values *given, const char *path, struct err *e)
{
	const double began = host_now();
	struct replay_values o = *given;
	struct samples_file *f = NULL;
	struct session *s;
	bool ok = check_samples_options(given, path, e) &&
		  (f = samples_file_open(path, &samples_shotgun, e));
	const size_t n = given->session.params.count;
	const char **params = x_calloc(n + 1, sizeof(*params));

	for (size_t i = 0; i < n; i++)
		params[i] = given->session.params.items[i];
	char *from = x_asprintf("shotgun.from=%s", path);
	params[n] = from;
	o.session.params.items = params;
	o.session.params.count = n + 1;
	o.session.analyze = "shotgun";
	ok = ok && open_session(&o, samples_file_info(f), &s, e) &&
	     close_session(s, samples_file_info(f), began, true, e);
	samples_file_close(f);
	free(from);
	free(params);
	return ok;
}

static int replay_run(void *values, int nargs, char **args)
{
	const struct replay_values *o = values;
	struct err e = { "" };
	char head[16];
	bool ok, standard_input = !strcmp(args[0], "-");
	FILE *f = standard_input ? stdin : fopen(args[0], "re");
	if (!f) {
		warn("replay: cannot read %s: %s", args[0], strerror(errno));
		return 2;
	}
	catch_stop();
	if (standard_input) {
		ok = replay_o3pipeview(o, f, "o3pipeview", &e);
	} else {
		size_t n = fread(head, 1, sizeof(head), f);
		rewind(f);
		const bool text = import_is_o3pipeview(head, n);

		if (o->program && !text) {
			warn("replay: --program: %s names the programs of its run itself", args[0]);
			return 2;
		}
		if (o->twin && text) {
			warn("replay: --twin: %s has no misses; both must be traces that 'culprit "
			     "sim --trace' wrote",
			     args[0]);
			return 2;
		}
		ok = text ? replay_o3pipeview(o, f, args[0], &e)
		     : samples_file_begins(&samples_shotgun, head, n)
			 ? replay_samples(o, args[0], &e)
			 : replay_trace(o, args[0], &e);
		fclose(f);
	}
	if (!ok)
		warn("replay: %s", e.text);
	return !ok ? 2 : stop_signal ? 128 + stop_signal : 0;
}

static const struct cmd_option options[] = {
	SESSION_OPTIONS(struct replay_values),
	{ .name = "salvage",
	  .type = CMD_SWITCH,
	  .offset = offsetof(struct replay_values, salvage),
	  .help = "Uses what is readable of a truncated or damaged file." },
	{ .name = "seed",
	  .type = CMD_NUMBER,
	  .offset = offsetof(struct replay_values, seed),
	  .range = { 0, OPTION_NOT_GIVEN - 1, NUMBER_DECIMAL },
	  .unset = OPTION_NOT_GIVEN,
	  .arg = "N",
	  .help = "Seed of random sampling; the run's own by default." },
	{ .name = "sysroot",
	  .type = CMD_TEXT,
	  .offset = offsetof(struct replay_values, sysroot),
	  .arg = "DIR",
	  .help = "Where debug files of the program and its libraries are looked up first." },
	{ .name = "program",
	  .type = CMD_TEXT,
	  .offset = offsetof(struct replay_values, program),
	  .arg = "FILE",
	  .help = "The binary that O3PipeView text is of, for names of functions, lines and "
		  "disassembly: statically linked, or its addresses as in the file." },
	{ .name = "twin",
	  .type = CMD_TEXT,
	  .offset = offsetof(struct replay_values, twin),
	  .arg = "FILE",
	  .help = "Trace of the same program on the same machine with perfect caches and TLBs "
		  "(--set ideal.dmiss=on, imiss, dtlb, itlb), for analysis spectrum." },
	{ .name = NULL },
};

static const struct cmd_example examples[] = {
	{ "culprit sim --analyze none --trace program.trace -- ./program", "Records a run." },
	{ "culprit replay program.trace --analyze profile,cpistack", "Analyses the recorded run." },
	{ "culprit replay program.trace --start symbol:main --stop inst:5M", "Only part of it." },
	{ "culprit replay finite.trace --twin infinite.trace --analyze spectrum",
	  "What every cluster of cache misses cost." },
	{ "zcat gem5.txt.gz | culprit replay - --program a.out -o gem5.culprit",
	  "A profile of a run on gem5, for 'culprit report' and 'culprit html'." },
	{ "culprit replay program.shotgun",
	  "Costs from the samples that analysis shotgun-samples kept, for 'culprit icost'." },
	{ "culprit replay gem5.txt --trace gem5.trace",
	  "Turns gem5's O3PipeView text into a trace, too, for 'culprit pipeline'." },
	{ NULL, NULL },
};

const struct command cmd_replay = {
	.name = "replay",
	.summary = "run analyses over a trace",
	.args = "TRACE",
	.min_args = 1,
	.max_args = 1,
	.description =
	    "Feeds the records of a trace that 'culprit sim --trace' wrote to analyses, which "
	    "give exactly what they would have given in the run itself.\n\n"
	    "The text of gem5's O3PipeView is a trace, too; - reads it from standard input. Its "
	    "cycle records are rebuilt from the stamps of fetch, dispatch, retire and squash, and "
	    "every view of the profile says so. It lacks dependences, latencies and most events: "
	    "an analysis that needs them says so.\n\n"
	    "A file of samples that 'culprit sim --analyze shotgun-samples' wrote has no records: "
	    "analysis shotgun builds its fragments from the samples, the binaries and the "
	    "machine alone.",
	.exit_status =
	    "0 on success, 2 if the trace cannot be read, an analysis failed or the command "
	    "was used wrongly, 128 + n if signal n ended it (the store then holds what was "
	    "replayed).",
	.options = options,
	.examples = examples,
	.values_size = sizeof(struct replay_values),
	.run = replay_run,
};

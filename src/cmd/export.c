/* SPDX-License-Identifier: MIT */
/* culprit export: a window of a trace, or a profile, in the formats of other tools. */
#include <errno.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/reading.h"
#include "cmd/window.h"
#include "util/output.h"
#include "view/export.h"
#include "view/export_chrome.h"
#include "view/export_samples.h"

/* Those of traces come first, then those of profiles in the order of export_list, then those of files of
 * samples. */
enum format {
	FORMAT_KANATA,
	FORMAT_O3PIPEVIEW,
	FORMAT_CSV,
	FORMAT_CHROME,
	FORMAT_PROFILES,
	FORMAT_PERF_DATA = FORMAT_PROFILES + 6,
	FORMAT_SAMPLES,
};
static const char *const formats[] = { "kanata",      "o3pipeview", "csv",	 "chrome",
				       "pprof",	      "callgrind",  "folded",	 "speedscope",
				       "perf-script", "firefox",    "perf-data", "samples",
				       NULL };

struct values {
	struct window_options window; /* must come first */
	struct reading reading;	      /* of it, --profiler and --raw-names */
	const char *event, *function;
	bool exact, event_leaf, calls;
	int format;
	const char *output;
	uint64_t ticks;
};

static bool write_format(FILE *out, const struct values *o, const struct trace_info *info,
			 const struct window_records *w)
{
	switch ((enum format)o->format) {
	case FORMAT_KANATA:
		return export_kanata(out, info, w);
	case FORMAT_O3PIPEVIEW:
		return export_o3pipeview(out, info, w, o->ticks ? o->ticks : 500);
	case FORMAT_CSV:
		return export_csv(out, info, w);
	case FORMAT_CHROME:
		return export_chrome(out, info, w);
	default:
		break;
	}
	return false;
}

/* What goes into the file: a window of a trace, or a profile. */
struct content {
	const struct trace_info *info;
	const struct window_records *window;
	const struct export_profile *profile;
	struct tip_reader *samples;
};

static bool write_content(FILE *out, const struct values *o, const struct content *c)
{
	struct err e = { "" };

	if (c->samples) {
		const bool ok = o->format == FORMAT_PERF_DATA
				    ? export_perf_data(out, c->samples, &e)
				    : export_samples(out, c->samples, &e);

		if (!ok && *e.text)
			warn("export: %s", e.text);
		return ok;
	}
	return c->profile ? export_list[o->format - FORMAT_PROFILES]->write(out, c->profile)
			  : write_format(out, o, c->info, c->window);
}

/* Half a file is of no use: one that cannot be written whole is removed. */
static bool write_file(const struct values *o, const struct content *c)
{
	static const struct output_kind kinds[] = {
		{ "a Kanata log", "-o", false, export_is_kanata },
		{ "O3PipeView text", "-o", false, export_is_o3pipeview },
		{ "a table that culprit wrote", "-o", false, export_is_csv },
		{ "trace events that culprit wrote", "-o", false, export_is_chrome },
	};
	static const struct output_kind of_samples[] = {
		{ "perf.data", "-o", false, export_is_perf_data },
		{ "a table of samples", "-o", false, export_is_samples },
	};
	struct err e = { "" };
	struct output *file =
	    output_open(o->output,
			c->samples   ? &of_samples[o->format - FORMAT_PERF_DATA]
			: c->profile ? &export_list[o->format - FORMAT_PROFILES]->kind
				     : &kinds[o->format],
			&e);
	FILE *out = file ? output_stream(file, &e) : NULL;
	bool ok = out && (write_content(out, o, c) ||
			  err_set(&e, "cannot write %s: %s", o->output, strerror(errno)));
	if (out && fclose(out) && ok)
		ok = err_set(&e, "cannot write %s: %s", o->output, strerror(errno));
	if (ok)
		ok = output_commit(file, &e);
	else
		output_discard(file);
	if (!ok)
		warn("export: %s", e.text);
	return ok;
}

static bool write_output(const struct values *o, const struct content *c)
{
	if (o->output && strcmp(o->output, "-") != 0)
		return write_file(o, c);
	bool ok = write_content(stdout, o, c);

	return cmd_flush() && ok;
}

static int export_profile(const struct values *o, char **args)
{
	const struct exporter *exporter = export_list[o->format - FORMAT_PROFILES];
	const struct export_options options = {
		.profiler = o->reading.profiler,
		.event = o->event,
		.function = o->function,
		.exact = o->exact,
		.event_leaf = o->event_leaf,
		.calls = o->calls || exporter->calls,
		.phases = exporter->phases,
	};
	struct reading reading = o->reading;
	struct export_profile p;
	struct store *s;
	struct err e = { "" };

	reading.selecting.cpu = OPTION_NOT_GIVEN;
	if (!reading_open_any("export", &reading, args, 1, &s))
		return 2;
	bool ok = export_read(s, &options, &p, &e);

	store_close(s);
	if (!ok) {
		warn("export: %s", e.text);
		return 2;
	}
	if (o->calls && !p.calls)
		warn(
		    "export: %s has no call stacks; culprit sim --analyze profile,calls keeps them",
		    args[0]);
	ok = !(o->calls && !p.calls) && write_output(o, &(struct content){ .profile = &p });
	export_free(&p);
	return ok ? 0 : 2;
}

/* Whether the options fit the format; says on stderr if they do not. */
static bool options_fit(const struct values *o)
{
	const bool of_window = o->window.from || o->window.count || o->window.salvage;
	const bool of_profile = o->reading.profiler || o->reading.raw_names ||
				o->reading.debug.count || o->event || o->function || o->exact ||
				o->calls;

	if (o->ticks && o->format != FORMAT_O3PIPEVIEW)
		warn("export: --ticks is for --format o3pipeview alone");
	else if (o->format >= FORMAT_PERF_DATA && (of_profile || of_window))
		warn("export: %s is of a whole file of samples: options that choose a part of a "
		     "trace or a profile are not for it",
		     formats[o->format]);
	else if (o->format >= FORMAT_PROFILES && of_window)
		warn("export: --from, --count and --salvage are for the formats of traces, and %s "
		     "is of "
		     "profiles",
		     formats[o->format]);
	else if (o->format < FORMAT_PROFILES && of_profile)
		warn("export: --profiler, --event, --function, --exact, --calls, --raw-names and "
		     "--debug are for the formats of profiles, and %s is of traces",
		     formats[o->format]);
	else if (o->event_leaf && strcmp(formats[o->format], "folded") != 0 &&
		 strcmp(formats[o->format], "speedscope") != 0 &&
		 strcmp(formats[o->format], "perf-script") != 0)
		warn("export: --event-leaf is for folded, speedscope and perf-script alone");
	else if (o->calls && !strcmp(formats[o->format], "callgrind"))
		warn("export: --calls is not for callgrind, whose calls have counts that the store "
		     "does not know");
	else
		return true;
	return false;
}

/* Reads it whole first, so that of a damaged file nothing is written. */
static bool check_samples(struct tip_reader *r, struct err *e)
{
	struct tip_sample s;
	enum tip_next next;

	while ((next = tip_read(r, &s, e)) == TIP_SAMPLE)
		;
	return next == TIP_END && tip_rewind(r, e);
}

static int export_of_samples(const struct values *o, const char *path)
{
	struct err e = { "" };
	struct tip_reader *r = tip_open(path, &e);
	bool ok = r && check_samples(r, &e);

	if (!ok)
		warn("export: %s", e.text);
	ok = ok && write_output(o, &(struct content){ .samples = r });
	tip_close(r);
	return ok ? 0 : 2;
}

static int export_run(void *values, int nargs, char **args)
{
	const struct values *o = values;
	struct window_records w;

	if (!options_fit(o))
		return 2;
	if (o->format >= FORMAT_PERF_DATA)
		return export_of_samples(o, args[0]);
	if (o->format >= FORMAT_PROFILES)
		return export_profile(o, args);
	struct trace_reader *r = window_open("export", args[0], &o->window, 10000, SIZE_MAX, &w);
	if (!r)
		return 2;
	bool ok = write_output(o, &(struct content){ .info = trace_reader_info(r), .window = &w });
	window_free(&w);
	trace_reader_close(r);
	return ok ? 0 : 2;
}

static const struct cmd_option options[] = {
	{ .name = "format",
	  .type = CMD_CHOICE,
	  .offset = offsetof(struct values, format),
	  .arg = "FORMAT",
	  .letter = 'f',
	  .choices = formats,
	  .help =
	      "kanata (default): the log of the Konata pipeline viewer, with stalls in a second "
	      "lane and dependences as arrows. o3pipeview: gem5's text. csv: committed "
	      "instructions with their cycles. chrome: trace events, for chrome://tracing, "
	      "Perfetto "
	      "and speedscope: calls over cycles (a microsecond there is a cycle), IPC and CPI "
	      "as counters. Of profiles: pprof; callgrind, for KCachegrind and "
	      "callgrind_annotate; folded stacks; speedscope; perf-script; firefox, for "
	      "profiler.firefox.com, with call stacks, and the CPI stack over time as counters. Of "
	      "the samples of "
	      "TIP's hardware (--analyze tip-samples): perf-data, for perf report; samples: a "
	      "table." },
	WINDOW_OPTIONS,
	{ .group = reading_profiler_group, .offset = offsetof(struct values, reading) },
	{ .group = reading_names_group, .offset = offsetof(struct values, reading) },
	DEBUG_OPTION(struct values, reading.debug),
	{ .name = "event",
	  .type = CMD_TEXT,
	  .offset = offsetof(struct values, event),
	  .arg = "EVENT",
	  .help = "Of a profile: only time with this event, such as ST-LLC" },
	{ .name = "function",
	  .type = CMD_TEXT,
	  .offset = offsetof(struct values, function),
	  .arg = "NAME",
	  .help = "Of a profile: only instructions of this function" },
	{ .name = "event-leaf",
	  .type = CMD_SWITCH,
	  .offset = offsetof(struct values, event_leaf),
	  .help = "In folded, speedscope and perf-script: the events are the innermost frame" },
	{ .name = "calls",
	  .type = CMD_SWITCH,
	  .offset = offsetof(struct values, calls),
	  .help = "In pprof, folded, speedscope and perf-script: under the functions that called, "
		  "if the profile has call stacks (--analyze calls); always in firefox. Time of an "
		  "instruction is divided among its function's stacks by their cycles." },
	{ .name = "exact",
	  .type = CMD_SWITCH,
	  .offset = offsetof(struct values, exact),
	  .help =
	      "Of a profile: time in parts of a cycle, in which every sum is exact, in place of "
	      "rounded cycles" },
	{ .name = "output",
	  .type = CMD_TEXT,
	  .offset = offsetof(struct values, output),
	  .arg = "FILE",
	  .letter = 'o',
	  .help = "Where to write; standard output by default, and for -." },
	{ .name = "ticks",
	  .type = CMD_NUMBER,
	  .offset = offsetof(struct values, ticks),
	  .range = { 1, 1000000, NUMBER_DECIMAL },
	  .arg = "N",
	  .help = "Ticks a cycle in o3pipeview, 500 by default." },
	{ .name = NULL },
};

static const struct cmd_example examples[] = {
	{ "culprit export program.trace --from 120000 --count 2000 -o program.kanata",
	  "Two thousand instructions for Konata." },
	{ "culprit export program.trace -f csv --from cycle:5000 --count 100", "As a table." },
	{ "culprit export program.culprit -f pprof -o program.pb.gz", "For go tool pprof." },
	{ "culprit export program.culprit -f firefox -o program.json",
	  "For profiler.firefox.com, \"Load a profile from file\"." },
	{ "culprit export program.trace -f chrome --count 100000 -o program.json",
	  "Calls over time." },
	{ "culprit export program.tip -f perf-data -o perf.data", "For perf report." },
	{ NULL, NULL },
};

const struct command cmd_export = {
	.name = "export",
	.summary = "write a profile, or part of a trace, for other tools",
	.args = "FILE",
	.min_args = 1,
	.max_args = 1,
	.description =
	    "Reads a window of a trace that 'culprit sim --trace' wrote, 10,000 instructions "
	    "unless --count says otherwise, and writes it in another tool's format.\n\n"
	    "Formats of profiles read a profile that `culprit sim` wrote, all of it: time by "
	    "instruction, with the functions that were inlined there and the events that explain "
	    "it. Cycles are rounded along the file, so that a function or a line of it is less "
	    "than "
	    "a cycle from the truth and the sum is right.",
	.exit_status =
	    "0 on success, 2 if the file cannot be read or the command was used wrongly.",
	.options = options,
	.examples = examples,
	.values_size = sizeof(struct values),
	.run = export_run,
};

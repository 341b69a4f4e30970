/* SPDX-License-Identifier: MIT */
/* culprit export: a window of a trace in the formats of other tools. */
#include <errno.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/window.h"
#include "util/output.h"

enum format { FORMAT_KANATA, FORMAT_O3PIPEVIEW, FORMAT_CSV };
static const char *const formats[] = { "kanata", "o3pipeview", "csv", NULL };

struct export_options {
	struct window_options window; /* must come first */
	int format;
	const char *output;
	uint64_t ticks;
};

static bool write_format(FILE *out, const struct export_options *o, const struct trace_info *info,
			 const struct window_records *w)
{
	switch ((enum format)o->format) {
	case FORMAT_KANATA:
		return export_kanata(out, info, w);
	case FORMAT_O3PIPEVIEW:
		return export_o3pipeview(out, info, w, o->ticks ? o->ticks : 500);
	case FORMAT_CSV:
		return export_csv(out, info, w);
	}
	return false;
}

/* Half a window is of no use: a file that cannot be written whole is removed. */
static bool write_file(const struct export_options *o, const struct trace_info *info,
		       const struct window_records *w)
{
	static const struct output_kind kinds[] = {
		{ "a Kanata log", "-o", false, export_is_kanata },
		{ "O3PipeView text", "-o", false, export_is_o3pipeview },
		{ "a table that culprit wrote", "-o", false, export_is_csv },
	};
	struct err e = { "" };
	struct output *file = output_open(o->output, &kinds[o->format], &e);
	FILE *out = file ? output_stream(file, &e) : NULL;
	bool ok = out && (write_format(out, o, info, w) ||
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

static int export_run(void *values, int nargs, char **args)
{
	const struct export_options *o = values;
	struct window_records w;
	if (o->ticks && o->format != FORMAT_O3PIPEVIEW) {
		warn("export: --ticks is for --format o3pipeview alone");
		return 2;
	}
	struct trace_reader *r = window_open("export", args[0], &o->window, 10000, SIZE_MAX, &w);
	if (!r)
		return 2;
	bool ok = o->output ? write_file(o, trace_reader_info(r), &w)
			    : write_format(stdout, o, trace_reader_info(r), &w);
	if (!o->output)
		ok = cmd_flush() && ok;
	window_free(&w);
	trace_reader_close(r);
	return ok ? 0 : 2;
}

static const struct cmd_option options[] = {
	{ .name = "format",
	  .type = CMD_CHOICE,
	  .offset = offsetof(struct export_options, format),
	  .arg = "FORMAT",
	  .letter = 'f',
	  .choices = formats,
	  .help =
	      "kanata (default): the log of the Konata pipeline viewer, with stalls in a second "
	      "lane and dependences as arrows. o3pipeview: gem5's text. csv: committed "
	      "instructions with their cycles." },
	WINDOW_OPTIONS,
	{ .name = "output",
	  .type = CMD_TEXT,
	  .offset = offsetof(struct export_options, output),
	  .arg = "FILE",
	  .letter = 'o',
	  .help = "Where to write; standard output by default." },
	{ .name = "ticks",
	  .type = CMD_NUMBER,
	  .offset = offsetof(struct export_options, ticks),
	  .range = { 1, 1000000, NUMBER_DECIMAL },
	  .arg = "N",
	  .help = "Ticks a cycle in o3pipeview, 500 by default." },
	{ .name = NULL },
};

static const struct cmd_example examples[] = {
	{ "culprit export program.trace --from 120000 --count 2000 -o program.kanata",
	  "Two thousand instructions for Konata." },
	{ "culprit export program.trace -f csv --from cycle:5000 --count 100", "As a table." },
	{ NULL, NULL },
};

const struct command cmd_export = {
	.name = "export",
	.summary = "write part of a trace for other tools",
	.args = "TRACE",
	.min_args = 1,
	.max_args = 1,
	.description =
	    "Reads a window of a trace that 'culprit sim --trace' wrote, 10,000 instructions "
	    "unless --count says otherwise, and writes it in another tool's format.",
	.exit_status =
	    "0 on success, 2 if the trace cannot be read or the command was used wrongly.",
	.options = options,
	.examples = examples,
	.values_size = sizeof(struct export_options),
	.run = export_run,
};

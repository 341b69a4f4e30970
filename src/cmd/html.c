/* SPDX-License-Identifier: MIT */
/* culprit html: one page of a run, for a browser. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/reading.h"
#include "cmd/window.h"
#include "trace/file_read.h"
#include "trace/trigger.h"
#include "util/text.h"
#include "util/output.h"
#include "view/html.h"
#include "view/model.h"

struct html_values {
	struct reading reading;
	const char *output, *trace;
	struct cmd_strings windows;
	uint64_t count;
	int source;
	bool open;
};

enum { SOURCE_HOT, SOURCE_NONE };
static const char *const source_words[] = { "hot", "none", NULL };

#define WINDOW_INSTS 200  /* unless --count says otherwise */
#define WINDOW_MOST  2000 /* instructions of a window; as many squashed ones may be among them */

static bool is_page(const uint8_t *head, size_t size, const char *path)
{
	return output_begins(head, size, "<!DOCTYPE html>\n<!-- culprit html -->");
}

static const struct output_kind page_kind = {
	.what = "a page that culprit wrote",
	.option = "-o",
	.only_files = true,
	.is = is_page,
};

static bool write_page(const struct html_input *in, const char *path, struct err *e)
{
	struct output *file = output_open(path, &page_kind, e);

	if (!file)
		return false;
	FILE *out = output_stream(file, e);
	bool ok = out && view_html(in, out, e);

	if (out) {
		const bool failed = ferror(out);

		if ((fclose(out) || failed) && ok)
			ok = err_set(e, "cannot write %s: %s", path, strerror(errno));
	}
	if (ok)
		return output_commit(file, e);
	output_discard(file);
	return false;
}

/* Whether the trace may be of the run: the same program on the same machine. */
static bool same_run(struct store *s, const struct trace_info *info, const char *path,
		     struct err *e)
{
	char program[MODEL_PROGRAM], machine[MODEL_MACHINE];
	const char *traced = info->meta.program, *on = info->meta.machine;

	model_run_names(s, program, machine);
	if (traced && strcmp(path_name(traced), path_name(program)) != 0)
		return err_set(e, "%s is a trace of %s, and %s is a profile of %s", path,
			       path_name(traced), store_path(s), path_name(program));
	if (on && strcmp(on, machine) != 0)
		return err_set(e, "%s is a trace of a run on %s, and %s is a profile of one on %s",
			       path, on, store_path(s), machine);
	return true;
}

/* Reads the windows of the trace; list has room for them all. */
static bool read_windows(const struct html_values *v, struct trace_reader *r,
			 struct html_window *list, struct window_records *records, size_t *count,
			 struct err *e)
{
	const size_t asked = v->windows.count ? v->windows.count : 1;

	for (*count = 0; *count < asked; ++*count) {
		const struct window_options o = {
			.from = v->windows.count ? v->windows.items[*count] : NULL,
			.count = v->count,
		};
		const size_t i = *count;

		if (!window_read_at(r, v->trace, &o, WINDOW_INSTS, (size_t)2 * WINDOW_MOST,
				    &records[i], e))
			return false;
		list[i] = (struct html_window){ .name = o.from ? o.from : "the beginning",
						.info = trace_reader_info(r),
						.records = &records[i] };
	}
	return true;
}

static bool make_page(const struct html_values *v, struct html_input *in, struct err *e)
{
	const size_t room = v->windows.count + 1;
	const char *path = v->output ? v->output : "report.html";
	struct html_window *list = x_calloc(room, sizeof(*list));
	struct window_records *records = x_calloc(room, sizeof(*records));
	struct trace_reader *r = v->trace ? trace_reader_open(v->trace, false, e) : NULL;
	size_t n = 0;
	const bool ok =
	    (!v->trace || (r && same_run(in->stores[0], trace_reader_info(r), v->trace, e) &&
			   read_windows(v, r, list, records, &n, e)));

	in->windows = list;
	in->nwindows = n;
	const bool written = ok && write_page(in, path, e);

	for (size_t i = 0; i < room; i++)
		window_free(&records[i]);
	if (r)
		trace_reader_close(r);
	free(records);
	free(list);
	return written;
}

/* Starts the user's browser, and does not wait for it. */
static void open_browser(const char *path)
{
	fflush(NULL);
	const pid_t pid = fork();

	if (pid == 0) {
		execlp("xdg-open", "xdg-open", path, (char *)NULL);
		warn("html: cannot start xdg-open: %s", strerror(errno));
		_exit(1);
	}
	if (pid < 0)
		warn("html: cannot start a browser: %s", strerror(errno));
}

static int html_run(void *values, int nargs, char **args)
{
	const struct html_values *v = values;
	struct html_input in = { .nstores = (size_t)nargs, .source = v->source == SOURCE_HOT };
	struct err e = { "" };

	if (v->windows.count && !v->trace) {
		warn("html: --window says where in a trace; --trace says which");
		return 2;
	}
	if (!reading_open("html", args, nargs, in.stores))
		return 2;
	const bool ok = make_page(v, &in, &e);

	for (int i = 0; i < nargs; i++)
		store_close(in.stores[i]);
	if (ok && v->open)
		open_browser(v->output ? v->output : "report.html");
	return reading_status("html", ok, &e);
}

static const struct cmd_option options[] = {
	{ .name = "output",
	  .letter = 'o',
	  .type = CMD_PATH,
	  .offset = offsetof(struct html_values, output),
	  .arg = "FILE",
	  .help = "Where the page goes; report.html if not given" },
	{ .name = "trace",
	  .type = CMD_PATH,
	  .offset = offsetof(struct html_values, trace),
	  .arg = "FILE",
	  .help = "A trace of the run ('culprit sim --trace'), for the page Pipeline" },
	{ .name = "window",
	  .type = CMD_STRINGS,
	  .offset = offsetof(struct html_values, windows),
	  .check = trigger_check,
	  .arg = "WHERE",
	  .help = "Where in the trace a window of the pipeline begins: the number of an "
		  "instruction, cycle:N, pc:ADDR[#n] or symbol:NAME[#n]. May be given more than "
		  "once; the trace's first instruction unless given" },
	{ .name = "count",
	  .letter = 'n',
	  .type = CMD_NUMBER,
	  .offset = offsetof(struct html_values, count),
	  .range = { 1, WINDOW_MOST, NUMBER_DECIMAL },
	  .arg = "N",
	  .help = "How many instructions a window has, 200 unless given" },
	{ .name = "source",
	  .type = CMD_CHOICE,
	  .offset = offsetof(struct html_values, source),
	  .choices = source_words,
	  .arg = "hot|none",
	  .help =
	      "Whether source lines of functions with time go into the page (hot, the default)" },
	{ .name = "open",
	  .type = CMD_SWITCH,
	  .offset = offsetof(struct html_values, open),
	  .help = "Starts the browser with the page, by xdg-open" },
	{ .name = NULL },
};

static const struct cmd_example examples[] = {
	{ "culprit html lbm.culprit -o lbm.html",
	  "One file that a browser opens, without a server." },
	{ "culprit html before.culprit after.culprit -o change.html",
	  "Two runs, by what changed." },
	{ "culprit html lbm.culprit --trace lbm.trace --window symbol:step#3 -o lbm.html",
	  "With the pipeline from the third call of step() on." },
	{ NULL, NULL },
};

const struct command cmd_html = {
	.name = "html",
	.summary = "one page of a run, for a browser",
	.args = "FILE [FILE2]",
	.min_args = 1,
	.max_args = 2,
	.description =
	    "Writes one HTML file with everything that is known of a run: findings, time by "
	    "library, file, function, line and instruction, source beside disassembly, CPI stacks, "
	    "costs and interaction costs, the pipeline, the errors of profilers, and the machine. "
	    "With two profiles the page shows what changed, and has both runs. It needs no server "
	    "and makes no request. The same stores and the same source files give the same bytes. "
	    "An analysis that the run did not have is named on its page, with what makes it.\n\n"
	    "Source lines are put into the page where their files can be read.",
	.exit_status = READING_EXIT_STATUS,
	.options = options,
	.examples = examples,
	.values_size = sizeof(struct html_values),
	.run = html_run,
};

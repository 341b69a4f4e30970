/* SPDX-License-Identifier: MIT */
/* culprit html: one page of a run, for a browser. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/adding.h"
#include "cmd/html_windows.h"
#include "cmd/reading.h"
#include "cmd/session.h"
#include "util/number.h"
#include "util/output.h"
#include "view/html.h"

struct html_values {
	struct reading reading;
	const char *output, *trace, *least;
	struct cmd_strings windows, maps;
	uint64_t count;
	int source;
	bool open, add;
	struct simulating simulating;
};

enum { SOURCE_HOT, SOURCE_NONE, SOURCE_ALL };
static const char *const source_words[] = { "hot", "none", "all", NULL };

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

/* in->windows are these windows. */
static bool make_page(const struct html_values *v, const struct html_input *in,
		      struct html_windows *windows, struct err *e)
{
	const char *path = v->output ? v->output : "report.html";
	const struct html_windows_asked asked = { .trace = v->trace,
						  .store = in->stores[0],
						  .where = v->windows.items,
						  .count = v->windows.count,
						  .insts = in->window_insts };

	return (!v->trace || html_windows_read(&asked, windows, e)) && write_page(in, path, e);
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

/* "0.01", of all cycles in %, as a share; negative if it is none. */
static double share_of(const char *text)
{
	double share;

	if (!text)
		return 0;
	return number_share(text, &share) ? share : -1;
}

static bool check_share(const char *text, struct err *e)
{
	return share_of(text) >= 0 ||
	       err_set(e, "'%s' is not valid: a share of all cycles in %%, 0 to 100", text);
}

static int html_run(void *values, int nargs, char **args)
{
	const struct html_values *v = values;
	struct html_windows windows = { 0 };
	struct html_input in = { .windows = &windows,
				 .nstores = (size_t)nargs,
				 .window_insts = v->count ? v->count : HTML_WINDOW_INSTS,
				 .least_share = share_of(v->least),
				 .source = v->source != SOURCE_NONE,
				 .source_whole = v->source == SOURCE_ALL,
				 .source_maps = v->maps.items,
				 .nsource_maps = v->maps.count };
	struct err e = { "" };

	if (v->windows.count && !v->trace) {
		warn("html: --window says where in a trace; --trace says which");
		return 2;
	}
	if (!reading_open("html", &v->reading, args, nargs, in.stores))
		return 2;
	for (int i = 0; v->add && i < nargs; i++)
		if (!adding_ensure("html", &v->reading, &in.stores[i], SESSION_ALL, true,
				   &v->simulating)) {
			for (int k = 0; k < nargs; k++)
				store_close(in.stores[k]);
			return 2;
		}
	const bool ok = make_page(v, &in, &windows, &e);

	html_windows_free(&windows);

	for (int i = 0; i < nargs; i++)
		store_close(in.stores[i]);
	if (ok && v->open)
		open_browser(v->output ? v->output : "report.html");
	return reading_status("html", ok, &e);
}

static bool check_map(const char *text, struct err *e)
{
	const char *to = strchr(text, '=');

	return (to && to > text) ||
	       err_set(e, "'%s' is not valid: FROM=TO, where paths of source files begin", text);
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
	  .help = "A trace of the run ('culprit sim --trace'), for more windows of the page "
		  "Pipeline than the profile has (analysis windows)" },
	{ .name = "window",
	  .type = CMD_STRINGS,
	  .offset = offsetof(struct html_values, windows),
	  .check = html_window_check,
	  .arg = "WHERE",
	  .help =
	      "Where in the trace a window of the pipeline begins: the number of an "
	      "instruction, cycle:N, pc:ADDR[#n] or symbol:NAME[#n]; or worst:ADDR or "
	      "median:ADDR, around the execution of the instruction there (an address or a "
	      "symbol) that kept others from committing longest, or as long as the median. May be "
	      "given more than once; the worst and the median of the 20 instructions with most "
	      "time unless given" },
	{ .name = "count",
	  .letter = 'n',
	  .type = CMD_NUMBER,
	  .offset = offsetof(struct html_values, count),
	  .range = { 1, HTML_WINDOW_MOST, NUMBER_DECIMAL },
	  .arg = "N",
	  .help = "How many instructions a window has, 200 unless given" },
	{ .name = "min-share",
	  .type = CMD_TEXT,
	  .offset = offsetof(struct html_values, least),
	  .check = check_share,
	  .arg = "PERCENT",
	  .help = "Instructions with a smaller share of all cycles are one row of their function, "
		  "which has their sums; 0 unless given, so each has its own" },
	{ .name = "source",
	  .type = CMD_CHOICE,
	  .offset = offsetof(struct html_values, source),
	  .choices = source_words,
	  .arg = "hot|none|all",
	  .help = "Which source lines go into the page: those around code with time (hot, the "
		  "default), none, or all of these files" },
	{ .name = "source-map",
	  .type = CMD_STRINGS,
	  .offset = offsetof(struct html_values, maps),
	  .check = check_map,
	  .arg = "FROM=TO",
	  .help = "Source files whose path begins with FROM are at TO now. May be given more "
		  "than once; the first that fits counts" },
	READING_DEBUG_OPTION,
	{ .name = "add",
	  .type = CMD_SWITCH,
	  .offset = offsetof(struct html_values, add),
	  .help = "Runs the program again as it ran, in a sandbox, with those analyses of "
		  "'--analyze all' that the profile lacks beside those that it has, and puts the "
		  "new profile in its place: no page is empty then" },
	SIMULATING_OPTIONS(struct html_values),
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
	{ "culprit html lbm.culprit --trace lbm.trace --window worst:0x105d2 -o lbm.html",
	  "With the pipeline around the costliest execution of that instruction." },
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

/* SPDX-License-Identifier: MIT */
/* culprit html: one page of a run, for a browser. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmd/reading.h"
#include "util/output.h"
#include "view/html.h"

struct html_values {
	struct reading reading;
	const char *output;
};

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

static bool write_page(struct store *s, const char *path, struct err *e)
{
	struct output *file = output_open(path, &page_kind, e);

	if (!file)
		return false;
	FILE *out = output_stream(file, e);
	bool ok = out && view_html(s, out, e);

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

static int html_run(void *values, int nargs, char **args)
{
	const struct html_values *v = values;
	struct store *s;
	struct err e = { "" };

	if (!reading_open("html", args, 1, &s))
		return 2;
	const bool ok = write_page(s, v->output ? v->output : "report.html", &e);

	store_close(s);
	return reading_status("html", ok, &e);
}

static const struct cmd_option options[] = {
	{ .name = "output",
	  .letter = 'o',
	  .type = CMD_PATH,
	  .offset = offsetof(struct html_values, output),
	  .arg = "FILE",
	  .help = "Where the page goes; report.html if not given" },
	{ .name = NULL },
};

static const struct cmd_example examples[] = {
	{ "culprit html lbm.culprit -o lbm.html",
	  "One file that a browser opens, without a server." },
	{ NULL, NULL },
};

const struct command cmd_html = {
	.name = "html",
	.summary = "one page of a run, for a browser",
	.args = "FILE",
	.min_args = 1,
	.max_args = 1,
	.description = "Writes one HTML file with everything that is known of a run: findings, "
		       "time by function, "
		       "line and instruction, source beside disassembly, CPI stacks, costs and "
		       "interaction costs, "
		       "the errors of profilers, and the machine. It needs no server and makes no "
		       "request. The "
		       "same store and the same source files give the same bytes. An analysis that "
		       "the run did "
		       "not have is named on its page, with what makes it.\n\n"
		       "Source lines are put into the page where their files can be read.",
	.exit_status = READING_EXIT_STATUS,
	.options = options,
	.examples = examples,
	.values_size = sizeof(struct html_values),
	.run = html_run,
};

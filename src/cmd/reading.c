/* SPDX-License-Identifier: MIT */
#include "cmd/reading.h"

bool reading_options(const char *command, const struct reading *r, struct view_options *o)
{
	*o = (struct view_options){ .out = stdout,
				    .format = r->json  ? VIEW_JSON
					      : r->csv ? VIEW_CSV
						       : VIEW_TEXT,
				    .width = (int)r->width,
				    .limit = (int)r->limit,
				    .profiler = r->profiler };
	if (r->json && r->csv) {
		warn("%s: --json and --csv exclude each other", command);
		return false;
	}
	view_defaults(o);
	return true;
}

bool reading_open(const char *command, char **paths, int count, struct store **stores)
{
	for (int i = 0; i < count; i++) {
		struct err e = { "" };
		stores[i] = store_open(paths[i], &e);
		if (!stores[i]) {
			warn("%s: %s", command, e.text);
			while (i--)
				store_close(stores[i]);
			return false;
		}
	}
	return true;
}

int reading_status(const char *command, bool ok, const struct err *e)
{
	if (ok || ferror(stdout))
		return cmd_flush() ? 0 : 2;
	warn("%s: %s", command, e->text);
	return 2;
}

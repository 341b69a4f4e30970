/* SPDX-License-Identifier: MIT */
/*
 * One self-contained HTML file of a run. The page's script and style are bundled at build time from
 * src/page/ and built into the program; its data are the documents that the other views print as
 * JSON, and the instructions and functions of the model, deflated, in base64.
 */
#ifndef VIEW_HTML_H
#define VIEW_HTML_H

#include <stdio.h>

#include "store/store.h"
#include "util/util.h"

/* Whether the program was built with the page; else `html_missing` says why not. */
extern const bool html_built;
extern const char html_missing[];
extern const char html_script[], html_style[];

struct trace_info;
struct window_records;

/* A window of a trace of the run. */
struct html_window {
	const char *name;
	const struct trace_info *info;
	const struct window_records *records;
};

/* What the page shows: one run, or two by what changed. */
struct html_input {
	struct store *stores[2];
	size_t nstores;
	const struct html_window *windows;
	size_t nwindows;
	bool source; /* lines of source files, where they can be read */
};

bool view_html(const struct html_input *in, FILE *out, struct err *e);

/* html_model.c: the data of the page as JSON; the caller frees. NULL and e filled on failure. */
char *html_data(const struct html_input *in, size_t *size_bytes, struct err *e);
/* A text in quotes, as JSON has it; at most that many bytes of it. NULL gives null. */
void html_put_text(FILE *f, const char *text, size_t most);
/* html_window.c: the instructions of a window. */
void html_put_window(FILE *f, const struct html_window *w);

#endif

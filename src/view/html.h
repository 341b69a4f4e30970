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
#include "trace/export.h"
#include "util/util.h"

/* Whether the program was built with the page; else `html_missing` says why not. */
extern const bool html_built;
extern const char html_missing[];
extern const char html_script[], html_style[];

#define HTML_WINDOW_INSTS 200 /* of a window, unless the user says otherwise */

/* Part of the pipeline of a run. */
struct html_window {
	char name[192];
	unsigned run; /* of which run: 0, 1 */
	size_t at;    /* the instruction that it is about */
	struct window_records records;
};
struct html_windows {
	struct html_window *list;
	size_t count, capacity;
};

/* What the page shows: one run, or two by what changed. */
struct html_input {
	struct store *stores[2];
	size_t nstores;
	const struct html_windows *windows; /* of a trace; the stores' own come after them */
	size_t window_insts;		    /* of each of the stores' own windows */
	double least_share; /* instructions with less of all cycles are folded (html_insts.h) */
	bool source;	    /* lines of source files, where they can be read */
	bool source_whole;  /* all lines of these files, not only those around code */
	const char *const *source_maps; /* "FROM=TO": where files are now (view/source.h) */
	size_t nsource_maps;
};

bool view_html(const struct html_input *in, FILE *out, struct err *e);

/* html_model.c: a run as it is read once for both parts of the page. NULL and e filled on failure. */
struct html_run;
struct html_run *html_run_read(struct store *s, struct err *e);
void html_run_free(struct html_run *r);
/* What the reader sees first, as JSON: the head and the findings. The browser has it before it has the rest. */
void html_put_first(const struct html_run *r, FILE *f);
/* The data of the page as JSON; first: of the first store. False and e filled on failure; the text is cut then. */
bool html_put_data(const struct html_input *in, const struct html_run *first, FILE *f,
		   struct err *e);
/* A number with twelve digits; null if it is not finite. */
void html_put_real(FILE *f, double value);
/* A text in quotes, as JSON has it; at most that many bytes of it. NULL gives null. */
void html_put_text(FILE *f, const char *text, size_t most);
/* html_window.c: an empty window at the end of the list; valid until the next one is added. */
struct html_window *html_window_add(struct html_windows *windows);
void html_windows_free(struct html_windows *windows);
/* The instructions of a window. */
void html_put_window(FILE *f, const struct html_window *w);

#endif

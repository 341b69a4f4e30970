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

bool view_html(struct store *s, FILE *out, struct err *e);

/* html_model.c: the data of the page as JSON; the caller frees. NULL and e filled on failure. */
char *html_data(struct store *s, size_t *size_bytes, struct err *e);

#endif

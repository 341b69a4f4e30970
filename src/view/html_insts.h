/* SPDX-License-Identifier: MIT */
/* Functions and instructions of the page, as columns; html_insts.c says how. */
#ifndef VIEW_HTML_INSTS_H
#define VIEW_HTML_INSTS_H

#include <stdio.h>

#include "view/model.h"

/* least_share: instructions with a smaller share of all cycles are one row of their function; 0:
 * every instruction has its own. */
void html_put_insts(FILE *f, const struct model *m, double least_share);

#endif

/* SPDX-License-Identifier: MIT */
/* Time by phase and function, for the page. */
#ifndef VIEW_HTML_PHASES_H
#define VIEW_HTML_PHASES_H

#include <stdio.h>

#include "store/store.h"
#include "view/model.h"

bool html_put_phases(FILE *f, struct store *s, const struct model *m, struct err *e);

#endif

/* SPDX-License-Identifier: MIT */
/* Windows that `culprit html` cuts out of a trace. */
#ifndef CMD_HTML_WINDOWS_H
#define CMD_HTML_WINDOWS_H

#include "store/store.h"
#include "util/util.h"
#include "view/html.h"

#define HTML_WINDOW_MOST                                                                           \
	2000 /* instructions of a window; as many squashed ones may be among them */

struct html_windows_asked {
	const char *trace;
	struct store *store;	  /* of the same run */
	const char *const *where; /* count of them; none: of the instructions with most time */
	size_t count;
	uint64_t insts; /* of a window */
};

/* Appends the windows. False and e filled if the trace cannot be read or is of another run. */
bool html_windows_read(const struct html_windows_asked *asked, struct html_windows *out,
		       struct err *e);
/* Whether a text says where a window begins; for cmd_option.check. */
bool html_window_check(const char *text, struct err *e);

#endif

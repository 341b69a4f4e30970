/* SPDX-License-Identifier: MIT */
/* Views: each reads one or more stores and prints what is in them. Nothing here measures. */
#ifndef VIEW_VIEW_H
#define VIEW_VIEW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "store/store.h"
#include "util/array.h"
#include "util/util.h"

enum view_format { VIEW_TEXT, VIEW_JSON, VIEW_CSV };

struct view_options {
	FILE *out;
	enum view_format format;
	int width; /* columns; 0: the terminal's, or 100 */
	bool colour;
	int limit;		/* rows in a list; 0: 10 */
	const char *function;	/* only this function; NULL: all */
	const char *event;	/* only instructions with this event */
	const char *file;	/* only source files whose name ends so */
	const char *sort;	/* "cycles" (default), "address", "executions" */
	bool spectrum;		/* annotate: what misses cost, too */
	bool calc;		/* annotate: what samples alone say, too */
	bool stack;		/* annotate: what each instruction loses by FMT, too */
	bool icost;		/* annotate: what fixing would save, and slack, too */
	bool source;		/* annotate: source lines alone */
	const char *profiler;	/* "oracle" (default) or one of the sampled ones */
	bool user_only;		/* without the kernel's time */
	const uint64_t *thread; /* only this guest thread; NULL: all */
	/* of live profiles, and by: "thread" of a run: */
	const char *by;		  /* what a row is: "procedure" (default), "image", … */
	const char *image;	  /* only this image, by name, name without folder or build-id */
	const char *process;	  /* only this process, by pid or name */
	const char *container;	  /* only this container */
	const char *user;	  /* only processes of this user, by name or number */
	const uint64_t *cpu;	  /* only this processor; NULL: all */
	const char *const *debug; /* folders in which debug files were looked for first */
	size_t ndebug;
};

/* Fills in width and colour from what out is; NO_COLOR is respected. */
void view_defaults(struct view_options *o);

bool view_report(struct store *s, const struct view_options *o, struct err *e);
bool view_annotate(struct store *s, const struct view_options *o, struct err *e);
struct model;
struct accuracy_options {
	bool sweep;
	bool events;		 /* correlation of event counts with cycles */
	bool states;		 /* right time by commit state */
	bool bits;		 /* what sets of events explain */
	bool bandwidth;		 /* of the samples; text only, JSON has their bytes */
	const struct model *run; /* as model_read gives it; NULL: read it */
};
bool view_accuracy(struct store *s, const struct view_options *o, const struct accuracy_options *a,
		   struct err *e);
bool view_diff(struct store *before, struct store *after, const struct view_options *o,
	       struct err *e);
bool view_stats(struct store **stores, size_t count, const struct view_options *o, struct err *e);

#endif

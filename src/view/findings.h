/* SPDX-License-Identifier: MIT */
/* What a profile says, in sentences: about instructions, lines, events and libraries. */
#ifndef VIEW_FINDINGS_H
#define VIEW_FINDINGS_H

#include "view/model.h"

struct finding {
	double share; /* of all cycles */
	const struct model_inst
	    *inst;	     /* the one with most of it; NULL: about the run or a library */
	const char *event;   /* name of the event that it is about, or NULL */
	const char *library; /* the same of a library */
	char text[1024];
};

/* Writes at most max findings, the most expensive first, and returns how many. */
size_t findings_of(const struct model *m, struct finding *out, size_t max);
/* "compute-intensive", "flush-intensive" or "stall-intensive", as tip2021 section 4 has it. */
const char *findings_class(const struct model *m);
/* What makes it so, in words. */
const char *findings_class_words(const struct model *m);

#endif

/* SPDX-License-Identifier: MIT */
/* The time of a run by source line and by library, and a run restricted to a part of its instructions. */
#ifndef VIEW_PARTS_H
#define VIEW_PARTS_H

#include "view/model.h"

struct part {
	struct model_inst
	    sum; /* cycles and stack of all its instructions; file and line, of a line */
	const struct model_inst *most; /* the instruction with most time */
	const char *image;	       /* of a library: its path */
	double nameless;	       /* of a library: cycles in code that no symbol covers */
};

/* Source lines, or libraries (the program is one), most cycles first; those without time are left
 * out. parts_free() frees them; they point into the model. */
struct part *parts_lines(const struct model *m, size_t *count);
struct part *parts_libraries(const struct model *m, size_t *count);
void parts_free(struct part *list, size_t count);

/* Whether the options ask for a part of the instructions, and whether i is in it. */
bool parts_restricted(const struct view_options *o);
bool parts_match(const struct model *m, const struct model_inst *i, const struct view_options *o);
/* Takes the time away from all other instructions, functions and categories. The run's own cycles stay: shares
 * are of the whole run. Returns the cycles that are left. */
double parts_restrict(struct model *m, const struct view_options *o);

#endif

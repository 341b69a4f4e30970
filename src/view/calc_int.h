/* SPDX-License-Identifier: MIT */
/* What the files calc_….c of this folder share and no other needs. */
#ifndef VIEW_CALC_INT_H
#define VIEW_CALC_INT_H

#include "view/calc.h"

/* calc_truth.c: reads what really happened into m->names. No estimate is made from it. */
bool calc_read_truth(struct calc_model *m, struct err *e);
/* Cycles per execution and culprits with the truth's frequencies; false: the store has no truth. */
bool calc_run_exact(struct calc_model *m, struct err *e);
/* Once M is known: leaves of the true causes what is beyond it. */
void calc_truth_beyond(struct calc_model *m);

#endif

/* SPDX-License-Identifier: MIT */
/* What the files calc_….c of this folder share and no other needs. */
#ifndef VIEW_CALC_INT_H
#define VIEW_CALC_INT_H

#include "view/calc.h"

/* A stretch of code and the block that it is. */
struct calc_piece {
	uint64_t start, end;
	uint32_t proc, block;
};

struct calc_pieces {
	struct calc_piece *list; /* by start; the caller frees it */
	size_t count;
};

struct calc_pieces calc_pieces_new(const struct calc_model *m);
const struct calc_piece *calc_piece_at(const struct calc_pieces *p, uint64_t pc);

/* calc_records.c: branch records into the procedures. e says so if the store has none. */
bool calc_read_records(struct calc_model *m, const char *sampling, unsigned depth, struct err *e);

/* calc_truth.c: reads what really happened into m->names. No estimate is made from it. */
bool calc_read_truth(struct calc_model *m, struct err *e);
/* Cycles per execution and culprits with the truth's frequencies; false: the store has no truth. */
bool calc_run_exact(struct calc_model *m, struct err *e);
/* Once M is known: leaves of the true causes what is beyond it. */
void calc_truth_beyond(struct calc_model *m);

#endif

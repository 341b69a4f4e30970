/* SPDX-License-Identifier: MIT */
/* What the files of src/calc share and others do not need. */
#ifndef CALC_CALC_INT_H
#define CALC_CALC_INT_H

#include "calc/calc.h"

/* The evidence of classes where samples are not of the issue queue's head: calc_evidence() hands on by
 * calc_mode. */
void calc_evidence_commit(struct calc_program *p, struct calc_proc *proc);   /* commit.c */
void calc_evidence_relative(struct calc_program *p, struct calc_proc *proc); /* relative.c */

/* thresholds.c: the value in force. */
double calc_threshold(const struct calc_program *p, enum calc_threshold which);

/* dcpi.c: the longest stall that the machine can make an instruction wait, system calls apart. */
double calc_longest_stall(const struct machine *m);

/* The classes' blocks: those of class c are list[at[c]] to list[at[c + 1] - 1], in order of address.
 * The caller frees both. */
struct calc_members {
	uint32_t *at, *list;
};
struct calc_members calc_members(const struct calc_proc *proc);

#endif

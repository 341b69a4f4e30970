/* SPDX-License-Identifier: MIT */
/* What the files of src/calc share and others do not need. */
#ifndef CALC_CALC_INT_H
#define CALC_CALC_INT_H

#include "calc/calc.h"

/* The evidence of classes where samples are not of the issue queue's head: calc_evidence() hands on by
 * calc_mode. */
void calc_evidence_commit(struct calc_program *p, struct calc_proc *proc);   /* commit.c */
void calc_evidence_relative(struct calc_program *p, struct calc_proc *proc); /* relative.c */
void calc_evidence_records(struct calc_program *p, struct calc_proc *proc);  /* records.c */

/* thresholds.c: the value in force. */
double calc_threshold(const struct calc_program *p, enum calc_threshold which);

/* dcpi.c: the longest stall that the machine can make an instruction wait, system calls apart. */
double calc_longest_stall(const struct machine *m);

/*
 * schedule.c: schedules of single blocks, for tests and for the truth's comparison. Without
 * calc_scheduler_edges() nothing is known of what precedes a block; with it, the estimated frequencies
 * of edges say from which side each block is entered most often.
 */
struct calc_scheduler *calc_scheduler_new(const struct machine *m, const struct calc_proc *p);
void calc_scheduler_edges(struct calc_scheduler *s);
/* m and fixed of the block's instructions, entered by that edge (UINT32_MAX: not known which), until
 * the next call. */
const struct calc_inst *calc_scheduler_block(struct calc_scheduler *s, uint32_t block,
					     uint32_t edge);
/* As calc_schedule(), for several rounds. False: this one changed nothing. */
bool calc_schedule_round(struct calc_scheduler *s, struct calc_proc *p, bool first_round);
void calc_scheduler_free(struct calc_scheduler *s);

/*
 * likelihood.c: how likely it is that an instruction with such risks (calc_inst.risks) does not stall; and
 * what the program's own samples say of that, given frequencies.
 */
double calc_unstalled(const struct calc_program *p, uint16_t risks);
void calc_learn_risks(struct calc_program *p);

/* A table of erfc(), for calc_program.tails; freed with free(). */
struct calc_tails *calc_tails_new(void);

/* The classes' blocks: those of class c are list[at[c]] to list[at[c + 1] - 1], in order of address.
 * The caller frees both. */
struct calc_members {
	uint32_t *at, *list;
};
struct calc_members calc_members(const struct calc_proc *proc);

/* An issue point's ratio, in samples per cycle. */
struct calc_ratio {
	double value;
	double samples, m; /* that it is made of */
	double unstalled;  /* how likely it is that nothing made its instructions wait */
	bool dropped;
};
/* Writes the ratios of a class's issue points that are fit for use, the smallest first, and returns how
 * many: there is room for one per instruction of the class. */
uint32_t calc_ratios(const struct calc_program *p, const struct calc_proc *proc,
		     const uint32_t *blocks, uint32_t nblocks, struct calc_ratio *ratios);

#endif

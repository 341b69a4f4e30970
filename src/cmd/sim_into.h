/* SPDX-License-Identifier: MIT */
/* The functional pass of `culprit sample`: what it writes into a folder, and reading that again. */
#ifndef CMD_SIM_INTO_H
#define CMD_SIM_INTO_H

#include "cmd/sim.h"
#include "sampling/sampling.h"

#define SIM_INTO_RUN	   "run.culprit" /* the recipe: a store without measurements */
#define SIM_INTO_DIMS	   1024
#define SIM_INTO_INTERVALS (1ull << 32)
#define SIM_INTO_PCS	   (1ull << 32)

struct sim_into {
	const char *dir; /* an empty folder */
	const char *bb;	 /* .bb or .bb.gz to write; NULL: none */
	uint64_t interval, seed;
	unsigned dims;
	bool data;    /* vectors with the data part */
	bool partial; /* also of a program that was killed or interrupted */
};

/* Runs the guest to its end and fills s->run and s->vectors. */
bool sim_into_run(struct sim *s, struct err *e);
/* Writes everything; the recipe last. */
bool sim_into_write(struct sim *s, struct err *e);

/* Reading. False: the file is not there, or not as expected. */
bool sim_into_vectors(const char *dir, struct intervals *out);
bool sim_into_executions(const char *dir, uint64_t **pcs, uint64_t **times, size_t *count);

#endif

/* SPDX-License-Identifier: MIT */
/* Runs one program in several machines at once and says where they disagree. */
#ifndef RANDOM_RUN_H
#define RANDOM_RUN_H

#include <sys/types.h>

#include "differential/random/program.h"

enum machine {
	MACHINE_TRANSLATED, /* culprit sim --functional */
	MACHINE_INTERPRETED,
	MACHINE_QEMU,
	MACHINES,
};
extern const char *const machine_name[MACHINES];

struct runner {
	const char *culprit, *qemu; /* qemu NULL: not compared */
	char folder[64];	    /* holds all files of a run */
};

#define OUTPUT_BYTES (DUMP_BYTES + DATA_BYTES)

struct outcome {
	uint8_t output[OUTPUT_BYTES + 1]; /* zero after the bytes that were written */
	size_t output_bytes;
	int status; /* as wait reports it */
	uint64_t insts;
	uint64_t faults; /* included in insts; only with a timing model */
};

struct outcomes {
	struct outcome of[MACHINES];
};

/* Starts a command with its output in out.number and err.number of the folder. */
pid_t run_start(const struct runner *r, unsigned number, const char *const *argv);
/* Waits for a command that run_start started; counts come from sum.number, if that file exists. */
void run_collect(const struct runner *r, unsigned number, pid_t pid, struct outcome *o);
/* Returns the exit status as a shell reports it: a guest killed by a signal is an exit status of
 * culprit, but a signal for qemu. */
int run_status(int status);

/* Runs the program on all machines. `insts` of an outcome is 0 if that machine could not be run. */
void run_everywhere(const struct runner *r, const struct program *p, struct outcomes *out);
/* Returns the machine that differs from the first one, or MACHINES. */
enum machine run_differs(const struct runner *r, const struct outcomes *out);
/* Prints one line per register or word of data that differs. */
void run_print_difference(const struct outcomes *out, enum machine m);

/* Switches items off and lowers iterations for as long as the machines still disagree. */
void program_minimise(const struct runner *r, struct program *p);
void program_print(const struct program *p);
/* Prints after which instruction the machines disagree. */
void locate(const struct runner *r, struct program *p, enum machine m);

#endif

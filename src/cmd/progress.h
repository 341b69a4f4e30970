/* SPDX-License-Identifier: MIT */
/* A line on the terminal that shows how far a long run has come. */
#ifndef CMD_PROGRESS_H
#define CMD_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	bool on; /* standard error is a terminal */
	bool shown;
	uint64_t goal;	    /* instructions after which the run stops; 0: not known */
	double start, last; /* host seconds: when the run began, when the line was last written */
	uint64_t last_insts;
};

/* Seconds by a clock that never goes back. */
double host_now(void);

void progress_begin(struct progress *p, uint64_t goal_insts);
/* Shows the line once the run has taken two seconds, at most five times a second. */
void progress_update(struct progress *p, uint64_t insts);
/* Erases the line. */
void progress_end(struct progress *p);

#endif

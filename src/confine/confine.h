/* SPDX-License-Identifier: MIT */
/*
 * What culprit itself may still do once a guest runs in it, by the kernel's own means:
 * capabilities, seccomp, Landlock, namespaces, resource limits. Each is used as far as the kernel
 * has it and allows it; a report says which are in force.
 *
 * confine_drop gives up what a simulation never needs, and is for every run. confine_enter is
 * `sim --sandbox`: it splits the process in two. One stays outside, opens the files that culprit
 * writes (util/outside.h) and passes signals on; the other one goes on, confined.
 */
#ifndef CONFINE_CONFINE_H
#define CONFINE_CONFINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/util.h"

/* Paths are absolute. Lists end with NULL, or are NULL. Paths that do not exist are left out. */
struct confine_plan {
	char *const *read;  /* files and folders that can be read */
	char *const *write; /* … and written */
	char *const
	    *overlay; /* folders shown as they are; writes go to a layer that is thrown away */
	char *const *absent;  /* files in these folders that the guest does not see */
	char *const *scratch; /* folders that begin empty but for other named paths; thrown away */
	bool net;
	/* A standard stream is a terminal: the host's /dev/pts is shown, where its name is. */
	bool terminal;
	uint64_t limit_output; /* bytes that can be written to what is thrown away; 0: no limit */
};

struct confine_report {
	bool namespaces; /* mount, pid, ipc and uts; net unless the plan allows it. What is written
			    then goes where it is thrown away */
	bool seccomp, capabilities;
	int landlock;	  /* version of its interface; 0: the kernel has none */
	bool net;	  /* as planned */
	size_t uncovered; /* overlays of the plan that could not be made */
};

/*
 * Confines what comes after it. Returns in two processes: true in the one that goes on, confined;
 * false in the one outside once the other has ended, with *status its exit status (128 + n: killed
 * by signal n), or -1 and e filled if it could not begin. Before there are threads.
 */
bool confine_enter(const struct confine_plan *plan, struct confine_report *report, int *status,
		   struct err *e);

/*
 * Holds for good, for all threads and processes that this one starts: no program can be executed,
 * no other process traced, read or signalled, nothing mounted, no kernel interface used that a
 * guest's calls do not lead to.
 */
void confine_drop(struct confine_report *report);

/* Limits how many bytes a process can allocate beyond what it has now. Called just before the guest
 * runs. */
void confine_limit_memory(uint64_t bytes);

/* Describes the report in words: one line without a newline. */
void confine_describe(const struct confine_report *r, bool sandbox, char *text, size_t size);

#endif

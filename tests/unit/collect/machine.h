/* SPDX-License-Identifier: MIT */
/* For tests on the machine that they run on: programs to look at, and a world that looks. */
#ifndef TESTS_COLLECT_MACHINE_H
#define TESTS_COLLECT_MACHINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/maps.h"
#include "collect/sideband.h"

struct machine {
	struct live_profile *profile;
	struct live_sink sink;
	struct maps *maps;
	struct sideband *sideband;
	char folder[64]; /* of this test alone */
};

/* Ends the test program with status 77 and one line if this user may not look. */
void machine_begin(struct machine *m, uint32_t ring_bytes);
void machine_end(struct machine *m);

/* A program that waits. */
struct child {
	pid_t pid;
	int in, out;
	uint64_t address; /* that it told */
};
struct child_how {
	int flags;		     /* of clone */
	bool (*prepare)(void *self); /* in the child, before it becomes the program */
	void *self;
	int fd; /* of the program; 0: by path */
};
/* Runs PATH WHAT MORE and waits for what it tells. */
struct child child_run(const struct child_how *how, const char *path, const char *what,
		       const char *more);
void child_end(struct child *c);

/* Where the child's address is, after everything that has happened. */
struct maps_place machine_find(struct machine *m, const struct child *c);
const struct live_image *machine_image(struct machine *m, const struct child *c);
/* The name of the kept symbol at an offset, "" if there is none. */
const char *kept_name(const struct live_image *i, uint64_t offset);

/* Copies a file, optionally with a changed build-id, and makes it a program. */
void copy_program(const char *from, const char *to, bool other_build_id);
/* The two programs: with a build-id, and without. */
const char *target(void);
const char *target_plain(void);

#endif

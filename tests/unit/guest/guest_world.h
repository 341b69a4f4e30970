/* SPDX-License-Identifier: MIT */
/* What the tests of the guest process share: programs run with their output captured, and tiny ELF
 * files. */
#ifndef TESTS_GUEST_WORLD_H
#define TESTS_GUEST_WORLD_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>

#include "guest/kernel/syscall.h"
#include "guest/process/process.h"

struct run {
	char out[65536]; /* the guest's standard output */
	char err[65536]; /* what came on standard error */
	int status;
	uint64_t insts;
};

/* Returns the path of a test program, or NULL after skip() if there is no cross compiler. */
const char *world_program(const char *name);
/* Runs a program to its end; step: instruction by instruction. Returns false if the program was
 * refused. */
bool world_run(const char *path, const struct guest_config *base, bool step, struct run *r);

/* Writes a file and returns its path, which is the same each time. */
const char *world_file(const void *data, size_t size_bytes);
/* Makes a small static program that exits with status 42, for tests that damage its ELF headers. */
size_t world_elf(uint8_t buf[8192]);
/* Makes a guest of the program of world_elf, not yet run. */
struct guest *world_guest(void);

#endif

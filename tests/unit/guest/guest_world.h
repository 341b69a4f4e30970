/* SPDX-License-Identifier: MIT */
/* What the tests of the guest process share: running programs with their output caught, tiny ELF
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
	char out[65536]; /* what the guest wrote to stdout */
	char err[65536]; /* and what came on stderr */
	int status;
	uint64_t insts;
};

/* The path of a test program, or NULL after skip() if there is no cross compiler. */
const char *world_program(const char *name);
/* Runs to the end; step: instruction by instruction. False if the program was refused. */
bool world_run(const char *path, const struct guest_config *base, bool step, struct run *r);

/* Writes a file and returns its path, the same each time. */
const char *world_file(const void *data, size_t size_bytes);
/* A small static program that exits with status 42: its ELF headers, to be spoilt. */
size_t world_elf(uint8_t buf[8192]);
/* A guest made from it, not yet run. */
struct guest *world_guest(void);

#endif

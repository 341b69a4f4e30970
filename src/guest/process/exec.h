/* SPDX-License-Identifier: MIT */
/* The program that a process executes, and how another takes its place. */
#ifndef GUEST_PROCESS_EXEC_H
#define GUEST_PROCESS_EXEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/util.h"

struct guest;

#define GUEST_STACK_TOP	 0x3ffffff000ull
#define GUEST_PIE_BASE	 0x2aaaaaa000ull
#define GUEST_TRAMPOLINE 0x3ffffff000ull /* li a7,139; ecall */

/* The part of a process that exec.c owns. */
struct program {
	char *host, *name; /* the file: path on the host, and as the guest knows it */
	int fd;		   /* and open, O_PATH */
	char **argv, **envp;
	uint64_t auxv[48];
	size_t auxv_bytes;
	uint64_t entry;
	uint64_t brk_start, brk;
};

/* Replaces the process image. On failure nothing has changed and *code is an errno. */
bool exec_load(struct guest *g, const char *name, char **argv, char **envp, struct err *e,
	       int *code);
/* 0 or -errno: may the guest execute it? */
int exec_check(struct guest *g, const char *name);

#endif

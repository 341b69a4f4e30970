/* SPDX-License-Identifier: MIT */
/* A place for tests that let a guest make arbitrary system calls: whatever it does, the machine is
 * afterwards as it was. */
#ifndef TESTS_CAGE_H
#define TESTS_CAGE_H

#include <stdbool.h>

/*
 * Confines this process, for good, to the folder `root`, which becomes "/": as nobody, without
 * network, and without a right to write files of more than 16 MiB. The folder should be empty.
 * Descriptors that are open stay open: none of them should lead to anything of value. False where
 * the system does not allow it; then nothing arbitrary may be tried.
 */
bool cage_enter(const char *root);

#endif

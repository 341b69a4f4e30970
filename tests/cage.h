/* SPDX-License-Identifier: MIT */
/* A cage for tests that let a guest make arbitrary system calls: whatever the guest does, the
 * machine is unchanged afterwards. */
#ifndef TESTS_CAGE_H
#define TESTS_CAGE_H

#include <stdbool.h>

/*
 * Confines this process for good to the folder `root`, which becomes "/" and should be empty: the
 * process is nobody, has no network and may not write files of more than 16 MiB. Open descriptors
 * stay open, so none of them should lead to anything of value. Returns false where the system does
 * not allow it; the caller must then try nothing arbitrary.
 */
bool cage_enter(const char *root);

#endif

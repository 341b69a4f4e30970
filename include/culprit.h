/* SPDX-License-Identifier: MIT */
/*
 * Brackets a region of interest in a guest program. The two instructions are HINTs (they write x0),
 * so they do nothing on real hardware; culprit sees them.
 *
 *      #include "culprit.h"
 *      CULPRIT_BEGIN();
 *      work();
 *      CULPRIT_END();
 */
#ifndef CULPRIT_H
#define CULPRIT_H

#if defined(__riscv)
#define CULPRIT_BEGIN() __asm__ volatile("slti x0, x0, 0x101" ::: "memory")
#define CULPRIT_END()	__asm__ volatile("slti x0, x0, 0x102" ::: "memory")
#else
#define CULPRIT_BEGIN() ((void)0)
#define CULPRIT_END()	((void)0)
#endif

#endif

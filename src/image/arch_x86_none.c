/* SPDX-License-Identifier: MIT */
/* x86 where culprit is built without Zydis: images have names and lines, but no instructions. */
#include <elf.h>

#include "image/arch.h"

const struct arch arch_x86_64 = { .name = "x86-64", .machine = EM_X86_64 };
const struct arch arch_i386 = { .name = "i386", .machine = EM_386 };

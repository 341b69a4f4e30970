/* SPDX-License-Identifier: MIT */
/* What arch.c and arch_x86.c put into struct arch for control-flow graphs. */
#ifndef IMAGE_EFFECT_H
#define IMAGE_EFFECT_H

#include "image/arch.h"

#define RISCV_STACK 2 /* sp */
/* ra, t0-t2, a0-a7, t3-t6, memory */
#define RISCV_CALL_WRITES                                                                          \
	(1ull << 1 | 7ull << 5 | 0xffull << 10 | 0xfull << 28 | 1ull << ARCH_MEMORY)
bool riscv_stops(const struct image_inst *in);
bool riscv_is_system(uint32_t word, unsigned size_bytes);
bool riscv_pads(const struct image_inst *in);
bool riscv_pair(uint32_t before, uint64_t before_pc, uint32_t word, uint64_t *target);
bool riscv_effect(const uint8_t *bytes, size_t left_bytes, uint64_t pc, struct arch_effect *out);
bool riscv_exits(uint64_t number);

#define X86_STACK 4 /* rsp */
/* rax, rcx, rdx, rsi, rdi, r8-r11, flags, memory */
#define X86_CALL_WRITES                                                                            \
	(1ull | 1ull << 1 | 1ull << 2 | 3ull << 6 | 0xfull << 8 | 1ull << 16 | 1ull << ARCH_MEMORY)
bool x86_stops(const struct image_inst *in);
bool x86_is_system(uint32_t word, unsigned size_bytes);
bool x86_pads(const struct image_inst *in);
bool x86_effect(const uint8_t *bytes, size_t left_bytes, uint64_t pc, struct arch_effect *out);
bool x86_exits(uint64_t number);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * IEEE 754-2019 binary32 and binary64 in integer arithmetic, as the RISC-V F and D extensions (2.2)
 * want it: five rounding modes, accrued exceptions, tininess detected after rounding, every NaN
 * result the canonical one. It is the reference for the fast paths in isa/fp.h, and computes what
 * these do not.
 */
#ifndef ISA_SOFTFLOAT_H
#define ISA_SOFTFLOAT_H

#include <stdint.h>

enum fp_round {
	FP_RNE, /* to nearest, ties to even */
	FP_RTZ, /* towards zero */
	FP_RDN, /* down */
	FP_RUP, /* up */
	FP_RMM, /* to nearest, ties away from zero */
	FP_DYN = 7,
};

enum fp_flag {
	FP_NX = 1,  /* inexact */
	FP_UF = 2,  /* underflow */
	FP_OF = 4,  /* overflow */
	FP_DZ = 8,  /* division by zero */
	FP_NV = 16, /* invalid */
};

#define FP_NAN_S 0x7fc00000u
#define FP_NAN_D 0x7ff8000000000000ull

/* Arguments and results are bit patterns; rm is 0..4; flags are or'ed into *flags. */
#define FP_SOFT_DECLARE(p, bits)                                                                   \
	bits fp_soft_add_##p(bits a, bits b, unsigned rm, uint32_t *flags);                        \
	bits fp_soft_sub_##p(bits a, bits b, unsigned rm, uint32_t *flags);                        \
	bits fp_soft_mul_##p(bits a, bits b, unsigned rm, uint32_t *flags);                        \
	bits fp_soft_div_##p(bits a, bits b, unsigned rm, uint32_t *flags);                        \
	bits fp_soft_sqrt_##p(bits a, unsigned rm, uint32_t *flags);                               \
	/* a * b + c, rounded once. */                                                             \
	bits fp_soft_madd_##p(bits a, bits b, bits c, unsigned rm, uint32_t *flags);               \
	/* minimumNumber and maximumNumber: -0 is less than +0, a number wins against a NaN. */    \
	bits fp_soft_min_##p(bits a, bits b, uint32_t *flags);                                     \
	bits fp_soft_max_##p(bits a, bits b, uint32_t *flags);                                     \
	/* 0 or 1. For eq only a signalling NaN is invalid; for lt and le any NaN is. */           \
	uint64_t fp_soft_eq_##p(bits a, bits b, uint32_t *flags);                                  \
	uint64_t fp_soft_lt_##p(bits a, bits b, uint32_t *flags);                                  \
	uint64_t fp_soft_le_##p(bits a, bits b, uint32_t *flags);                                  \
	/* The ten-bit class mask of fclass. */                                                    \
	uint64_t fp_soft_class_##p(bits a);                                                        \
	/* To an integer register: 32-bit results, also unsigned ones, are sign-extended. */       \
	uint64_t fp_soft_cvt_w_##p(bits a, unsigned rm, uint32_t *flags);                          \
	uint64_t fp_soft_cvt_wu_##p(bits a, unsigned rm, uint32_t *flags);                         \
	uint64_t fp_soft_cvt_l_##p(bits a, unsigned rm, uint32_t *flags);                          \
	uint64_t fp_soft_cvt_lu_##p(bits a, unsigned rm, uint32_t *flags);                         \
	/* From an integer register: 32-bit operands are its low half. */                          \
	bits fp_soft_cvt_##p##_w(uint64_t x, unsigned rm, uint32_t *flags);                        \
	bits fp_soft_cvt_##p##_wu(uint64_t x, unsigned rm, uint32_t *flags);                       \
	bits fp_soft_cvt_##p##_l(uint64_t x, unsigned rm, uint32_t *flags);                        \
	bits fp_soft_cvt_##p##_lu(uint64_t x, unsigned rm, uint32_t *flags);

FP_SOFT_DECLARE(s, uint32_t)
FP_SOFT_DECLARE(d, uint64_t)
#undef FP_SOFT_DECLARE

uint32_t fp_soft_cvt_s_d(uint64_t a, unsigned rm, uint32_t *flags);
uint64_t fp_soft_cvt_d_s(uint32_t a, unsigned rm, uint32_t *flags);

#endif

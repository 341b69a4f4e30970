/* SPDX-License-Identifier: MIT */
/*
 * Floating-point semantics of the rows in isa/insts.def: the contracts are those of the fp_soft_
 * functions in isa/softfloat.h. Each function here first tries the host's FPU, where it can prove
 * that bits and flags come out the same, and else calls the soft one. The proofs:
 *
 *   H1  The host computes binary32 and binary64 in those formats, rounds to nearest-even, and does
 *       not contract or reassociate (asserted below; isa_dep passes -ffp-contract=off). So a fast
 *       path needs RNE, or a result that is exact.
 *   H2  A finite result of + - * / sqrt fma has no NaN and no infinity among its operands, except
 *       a zero from x / inf. So with a finite, nonzero result there is no NV, DZ or OF.
 *   H3  A result whose magnitude is at least twice the smallest normal number was not tiny: no UF.
 *       A tiny result of + and - is exact: no UF either.
 *   H4  Only NX remains. If it is accrued already, it need not be known; otherwise it is found
 *       exactly: for + - by the error term of two-sum (exact while nothing overflows); for single
 *       precision by computing back in double precision, where a product of two 24-bit
 *       significands is exact; for double precision by counting the significant bits of a product.
 *
 * Fast paths are inline: a call costs as much as the operation.
 */
#ifndef ISA_FP_H
#define ISA_FP_H

#include <float.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "isa/softfloat.h"

#if FLT_EVAL_METHOD != 0 || defined(__FAST_MATH__)
#error "isa/fp.h needs IEEE arithmetic without excess precision or -ffast-math"
#endif

#define FP_LIKELY(x) __builtin_expect(!!(x), 1)

static inline double fp_to_double(uint64_t v)
{
	double d;

	memcpy(&d, &v, sizeof(d));
	return d;
}

static inline uint64_t fp_from_double(double d)
{
	uint64_t v;

	memcpy(&v, &d, sizeof(v));
	return v;
}

static inline float fp_to_float(uint32_t v)
{
	float f;

	memcpy(&f, &v, sizeof(f));
	return f;
}

static inline uint32_t fp_from_float(float f)
{
	uint32_t v;

	memcpy(&v, &f, sizeof(v));
	return v;
}

static inline uint64_t fp_box(uint32_t v)
{
	return 0xffffffff00000000ull | v;
}

static inline uint32_t fp_unbox(uint64_t v)
{
	return v >> 32 == 0xffffffff ? (uint32_t)v : FP_NAN_S;
}

/* Biased exponent in [low, high), by one comparison. */
static inline bool fp_exp_in_d(uint64_t v, unsigned low, unsigned high)
{
	return (v << 1) - ((uint64_t)low << 53) < (uint64_t)(high - low) << 53;
}

static inline bool fp_exp_in_s(uint32_t v, unsigned low, unsigned high)
{
	return (v << 1) - (low << 24) < (high - low) << 24;
}

/* H3 */
static inline bool fp_safe_d(uint64_t v)
{
	return fp_exp_in_d(v, 2, 0x7ff);
}

static inline bool fp_safe_s(uint32_t v)
{
	return fp_exp_in_s(v, 2, 0xff);
}

static inline uint64_t fp_neg_d(uint64_t a)
{
	return a ^ 1ull << 63;
}

static inline uint32_t fp_neg_s(uint32_t a)
{
	return a ^ 1u << 31;
}

/* Two-sum's error term is not zero. Exact as long as the sum does not come near overflow. */
static inline bool fp_sum_inexact_d(double a, double b, double sum)
{
	double b_part = sum - a, a_part = sum - b_part;

	return (a - a_part) + (b - b_part) != 0;
}

static inline bool fp_sum_inexact_s(float a, float b, float sum)
{
	/* A sum of floats need not be exact in double, so this is done in float as well. */
	float b_part = sum - a, a_part = sum - b_part;

	return (a - a_part) + (b - b_part) != 0;
}

static inline uint64_t fp_add_d(uint64_t a, uint64_t b, unsigned rm, uint32_t *flags)
{
	double x = fp_to_double(a), y = fp_to_double(b), sum = x + y;
	uint64_t r = fp_from_double(sum);

	if (FP_LIKELY(rm == FP_RNE && fp_exp_in_d(r, 0, 0x7fe))) {
		if (FP_LIKELY(*flags & FP_NX))
			return r;
		/* Two-sum could overflow with operands near overflow. */
		if (fp_exp_in_d(a, 0, 0x7fd) && fp_exp_in_d(b, 0, 0x7fd)) {
			*flags |= fp_sum_inexact_d(x, y, sum) ? FP_NX : 0;
			return r;
		}
	}
	return fp_soft_add_d(a, b, rm, flags);
}

static inline uint32_t fp_add_s(uint32_t a, uint32_t b, unsigned rm, uint32_t *flags)
{
	float x = fp_to_float(a), y = fp_to_float(b), sum = x + y;
	uint32_t r = fp_from_float(sum);

	if (FP_LIKELY(rm == FP_RNE && fp_exp_in_s(r, 0, 0xfe))) {
		if (FP_LIKELY(*flags & FP_NX))
			return r;
		if (fp_exp_in_s(a, 0, 0xfd) && fp_exp_in_s(b, 0, 0xfd)) {
			*flags |= fp_sum_inexact_s(x, y, sum) ? FP_NX : 0;
			return r;
		}
	}
	return fp_soft_add_s(a, b, rm, flags);
}

/* a - b is a + -b, in every rounding mode; a NaN's sign does not survive. */
static inline uint64_t fp_sub_d(uint64_t a, uint64_t b, unsigned rm, uint32_t *flags)
{
	return fp_add_d(a, fp_neg_d(b), rm, flags);
}

static inline uint32_t fp_sub_s(uint32_t a, uint32_t b, unsigned rm, uint32_t *flags)
{
	return fp_add_s(a, fp_neg_s(b), rm, flags);
}

/* The significand of a finite, nonzero number without its trailing zeros: odd. */
static inline uint64_t fp_odd_part_d(uint64_t v)
{
	uint64_t sig = v & ((1ull << 52) - 1);

	sig |= v >> 52 & 0x7ff ? 1ull << 52 : 0;
	return sig >> __builtin_ctzll(sig);
}

/* Finite, nonzero operands; a product that is not tiny is exact if it has at most 53 significant
 * bits. */
static inline bool fp_product_inexact_d(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(fp_odd_part_d(a), fp_odd_part_d(b), &product) ||
	       product >> 53;
}

static inline uint64_t fp_mul_d(uint64_t a, uint64_t b, unsigned rm, uint32_t *flags)
{
	uint64_t r = fp_from_double(fp_to_double(a) * fp_to_double(b));

	if (FP_LIKELY(rm == FP_RNE && fp_safe_d(r))) {
		if (!(*flags & FP_NX))
			*flags |= fp_product_inexact_d(a, b) ? FP_NX : 0;
		return r;
	}
	return fp_soft_mul_d(a, b, rm, flags);
}

static inline uint32_t fp_mul_s(uint32_t a, uint32_t b, unsigned rm, uint32_t *flags)
{
	double exact = (double)fp_to_float(a) * (double)fp_to_float(b);
	uint32_t r = fp_from_float((float)exact);

	if (FP_LIKELY(rm == FP_RNE && fp_safe_s(r))) {
		*flags |= fp_to_float(r) != exact ? FP_NX : 0;
		return r;
	}
	return fp_soft_mul_s(a, b, rm, flags);
}

static inline uint64_t fp_div_d(uint64_t a, uint64_t b, unsigned rm, uint32_t *flags)
{
	if (FP_LIKELY(rm == FP_RNE)) {
		double y = fp_to_double(b), q = fp_to_double(a) / y;
		uint64_t r = fp_from_double(q);

		if (FP_LIKELY(fp_safe_d(r))) {
			if (FP_LIKELY(*flags & FP_NX))
				return r;
			/* Exact if multiplying back is, and gives the dividend. */
			if (fp_safe_d(a)) {
				if (q * y != fp_to_double(a) || fp_product_inexact_d(r, b))
					*flags |= FP_NX;
				return r;
			}
		}
	}
	return fp_soft_div_d(a, b, rm, flags);
}

static inline uint32_t fp_div_s(uint32_t a, uint32_t b, unsigned rm, uint32_t *flags)
{
	if (FP_LIKELY(rm == FP_RNE)) {
		float y = fp_to_float(b), q = fp_to_float(a) / y;
		uint32_t r = fp_from_float(q);

		if (FP_LIKELY(fp_safe_s(r))) {
			*flags |= (double)q * y != fp_to_float(a) ? FP_NX : 0;
			return r;
		}
	}
	return fp_soft_div_s(a, b, rm, flags);
}

static inline uint64_t fp_sqrt_d(uint64_t a, unsigned rm, uint32_t *flags)
{
	/* A root is never tiny or too large; negative and non-finite operands take the soft
	 * path. */
	if (FP_LIKELY(rm == FP_RNE && a - (2ull << 52) < 0x7fdull << 52)) {
		double root = __builtin_sqrt(fp_to_double(a));
		uint64_t r = fp_from_double(root);

		if (!(*flags & FP_NX)) {
			if (root * root != fp_to_double(a) || fp_product_inexact_d(r, r))
				*flags |= FP_NX;
		}
		return r;
	}
	return fp_soft_sqrt_d(a, rm, flags);
}

static inline uint32_t fp_sqrt_s(uint32_t a, unsigned rm, uint32_t *flags)
{
	if (FP_LIKELY(rm == FP_RNE && a < 0xffu << 23)) {
		float root = __builtin_sqrtf(fp_to_float(a));

		*flags |= (double)root * root != fp_to_float(a) ? FP_NX : 0;
		return fp_from_float(root);
	}
	return fp_soft_sqrt_s(a, rm, flags);
}

/* Whether p, the host's a * b, is exact: a true zero, or finite, not tiny and of at most 53
 * bits. */
static inline bool fp_product_exact_d(uint64_t a, uint64_t b, uint64_t p)
{
	if (FP_LIKELY(fp_exp_in_d(p, 2, 0x7fd)))
		return !fp_product_inexact_d(a, b);
	return p << 1 == 0 && (a << 1 == 0 || b << 1 == 0);
}

static inline uint64_t fp_madd_d(uint64_t a, uint64_t b, uint64_t c, unsigned rm, uint32_t *flags)
{
	if (FP_LIKELY(rm == FP_RNE)) {
		double x = fp_to_double(a), y = fp_to_double(b), z = fp_to_double(c);

		if (FP_LIKELY(*flags & FP_NX)) {
			uint64_t r = fp_from_double(__builtin_fma(x, y, z));

			if (FP_LIKELY(fp_safe_d(r)))
				return r;
		}
		/* With an exact product it is a sum. */
		double product = x * y, sum = product + z;
		uint64_t r = fp_from_double(sum);

		if (fp_product_exact_d(a, b, fp_from_double(product)) && fp_exp_in_d(c, 0, 0x7fd) &&
		    fp_exp_in_d(r, 0, 0x7fe)) {
			*flags |= fp_sum_inexact_d(product, z, sum) ? FP_NX : 0;
			return r;
		}
	}
	return fp_soft_madd_d(a, b, c, rm, flags);
}

/*
 * The product is exact in double. The sum is rounded to odd in double; rounding that to single
 * gives the same as rounding once (53 >= 24 + 2).
 */
static inline uint32_t fp_madd_s(uint32_t a, uint32_t b, uint32_t c, unsigned rm, uint32_t *flags)
{
	if (FP_LIKELY(rm == FP_RNE)) {
		double product = (double)fp_to_float(a) * (double)fp_to_float(b);
		double z = fp_to_float(c), sum = product + z;
		double z_part = sum - product, product_part = sum - z_part;
		double error = (product - product_part) + (z - z_part);

		if (error != 0) {
			uint64_t bits = fp_from_double(sum);

			if (!(bits & 1))
				bits += (error > 0) == (sum > 0) ? 1 : -1ull;
			sum = fp_to_double(bits);
		}
		uint32_t r = fp_from_float((float)sum);

		if (FP_LIKELY(fp_safe_s(r))) {
			*flags |= fp_to_float(r) != sum ? FP_NX : 0;
			return r;
		}
	}
	return fp_soft_madd_s(a, b, c, rm, flags);
}

/* Sign injection: the magnitude of a; the sign of b, its opposite, or both signs xor'ed. */
static inline uint64_t fp_sgnj_d(uint64_t a, uint64_t b)
{
	return (a & ~(1ull << 63)) | (b & 1ull << 63);
}

static inline uint64_t fp_sgnjn_d(uint64_t a, uint64_t b)
{
	return (a & ~(1ull << 63)) | (~b & 1ull << 63);
}

static inline uint64_t fp_sgnjx_d(uint64_t a, uint64_t b)
{
	return a ^ (b & 1ull << 63);
}

static inline uint32_t fp_sgnj_s(uint32_t a, uint32_t b)
{
	return (a & ~(1u << 31)) | (b & 1u << 31);
}

static inline uint32_t fp_sgnjn_s(uint32_t a, uint32_t b)
{
	return (a & ~(1u << 31)) | (~b & 1u << 31);
}

static inline uint32_t fp_sgnjx_s(uint32_t a, uint32_t b)
{
	return a ^ (b & 1u << 31);
}

/* Ordered operands raise nothing; unequal ones are not a pair of zeros. */
#define FP_COMPARISONS(p, bits, type, to)                                                          \
	static inline bits fp_min_##p(bits a, bits b, uint32_t *flags)                             \
	{                                                                                          \
		type x = to(a), y = to(b);                                                         \
                                                                                                   \
		return x < y ? a : x > y ? b : fp_soft_min_##p(a, b, flags);                       \
	}                                                                                          \
	static inline bits fp_max_##p(bits a, bits b, uint32_t *flags)                             \
	{                                                                                          \
		type x = to(a), y = to(b);                                                         \
                                                                                                   \
		return x > y ? a : x < y ? b : fp_soft_max_##p(a, b, flags);                       \
	}                                                                                          \
	static inline uint64_t fp_eq_##p(bits a, bits b, uint32_t *flags)                          \
	{                                                                                          \
		type x = to(a), y = to(b);                                                         \
                                                                                                   \
		if (__builtin_isunordered(x, y))                                                   \
			return fp_soft_eq_##p(a, b, flags);                                        \
		return x == y;                                                                     \
	}                                                                                          \
	static inline uint64_t fp_lt_##p(bits a, bits b, uint32_t *flags)                          \
	{                                                                                          \
		type x = to(a), y = to(b);                                                         \
                                                                                                   \
		if (__builtin_isunordered(x, y))                                                   \
			return fp_soft_lt_##p(a, b, flags);                                        \
		return x < y;                                                                      \
	}                                                                                          \
	static inline uint64_t fp_le_##p(bits a, bits b, uint32_t *flags)                          \
	{                                                                                          \
		type x = to(a), y = to(b);                                                         \
                                                                                                   \
		if (__builtin_isunordered(x, y))                                                   \
			return fp_soft_le_##p(a, b, flags);                                        \
		return x <= y;                                                                     \
	}                                                                                          \
	static inline uint64_t fp_class_##p(bits a)                                                \
	{                                                                                          \
		return fp_soft_class_##p(a);                                                       \
	}
FP_COMPARISONS(d, uint64_t, double, fp_to_double)
FP_COMPARISONS(s, uint32_t, float, fp_to_float)
#undef FP_COMPARISONS

/*
 * To integer. x is rounded to an integral double, t, which is exact to convert; if it is out of
 * range, the soft path is taken. Adding and subtracting 1.5 * 2^52 rounds to nearest-even below
 * 2^51.
 */
static inline bool fp_integral(double x, unsigned rm, double *t)
{
	if (rm == FP_RTZ && __builtin_fabs(x) < 0x1p62) {
		*t = (double)(int64_t)x;
		return true;
	}
	if (rm == FP_RNE && __builtin_fabs(x) < 0x1p51) {
		*t = (x + 0x1.8p52) - 0x1.8p52;
		return true;
	}
	return false;
}

#define FP_TO_INTEGER(name, bits, to, low, high, narrow)                                           \
	static inline uint64_t fp_##name(bits a, unsigned rm, uint32_t *flags)                     \
	{                                                                                          \
		double x = to(a), t;                                                               \
                                                                                                   \
		if (FP_LIKELY(fp_integral(x, rm, &t) && t >= (low) && t < (high))) {               \
			*flags |= t != x ? FP_NX : 0;                                              \
			return (uint64_t)(int64_t)(narrow)(int64_t)t;                              \
		}                                                                                  \
		return fp_soft_##name(a, rm, flags);                                               \
	}
FP_TO_INTEGER(cvt_w_d, uint64_t, fp_to_double, -0x1p31, 0x1p31, int32_t)
FP_TO_INTEGER(cvt_wu_d, uint64_t, fp_to_double, 0, 0x1p32, int32_t)
FP_TO_INTEGER(cvt_l_d, uint64_t, fp_to_double, -0x1p62, 0x1p62, int64_t)
FP_TO_INTEGER(cvt_lu_d, uint64_t, fp_to_double, 0, 0x1p62, int64_t)
FP_TO_INTEGER(cvt_w_s, uint32_t, fp_to_float, -0x1p31, 0x1p31, int32_t)
FP_TO_INTEGER(cvt_wu_s, uint32_t, fp_to_float, 0, 0x1p32, int32_t)
FP_TO_INTEGER(cvt_l_s, uint32_t, fp_to_float, -0x1p62, 0x1p62, int64_t)
FP_TO_INTEGER(cvt_lu_s, uint32_t, fp_to_float, 0, 0x1p62, int64_t)
#undef FP_TO_INTEGER

/* From integer: 32 bits always fit a double; what fits 53 (24) bits is exact in any rounding mode.
 */
static inline uint64_t fp_cvt_d_w(uint64_t x, unsigned rm, uint32_t *flags)
{
	(void)rm;
	(void)flags;
	return fp_from_double((int32_t)x);
}

static inline uint64_t fp_cvt_d_wu(uint64_t x, unsigned rm, uint32_t *flags)
{
	(void)rm;
	(void)flags;
	return fp_from_double((uint32_t)x);
}

static inline uint64_t fp_cvt_d_l(uint64_t x, unsigned rm, uint32_t *flags)
{
	if (FP_LIKELY(x + (1ull << 53) <= 1ull << 54 || (rm == FP_RNE && *flags & FP_NX)))
		return fp_from_double((double)(int64_t)x);
	return fp_soft_cvt_d_l(x, rm, flags);
}

static inline uint64_t fp_cvt_d_lu(uint64_t x, unsigned rm, uint32_t *flags)
{
	if (FP_LIKELY(x <= 1ull << 53 || (rm == FP_RNE && *flags & FP_NX)))
		return fp_from_double((double)x);
	return fp_soft_cvt_d_lu(x, rm, flags);
}

#define FP_TO_SINGLE(name, type, tiny)                                                             \
	static inline uint32_t fp_##name(uint64_t x, unsigned rm, uint32_t *flags)                 \
	{                                                                                          \
		if (FP_LIKELY(tiny || (rm == FP_RNE && *flags & FP_NX)))                           \
			return fp_from_float((float)(type)x);                                      \
		return fp_soft_##name(x, rm, flags);                                               \
	}
FP_TO_SINGLE(cvt_s_w, int32_t, (uint32_t)x + (1u << 24) <= 1u << 25)
FP_TO_SINGLE(cvt_s_wu, uint32_t, (uint32_t)x <= 1u << 24)
FP_TO_SINGLE(cvt_s_l, int64_t, x + (1ull << 24) <= 1ull << 25)
FP_TO_SINGLE(cvt_s_lu, uint64_t, x <= 1ull << 24)
#undef FP_TO_SINGLE

static inline uint32_t fp_cvt_s_d(uint64_t a, unsigned rm, uint32_t *flags)
{
	double x = fp_to_double(a);
	uint32_t r = fp_from_float((float)x);

	if (FP_LIKELY(rm == FP_RNE && fp_safe_s(r))) {
		*flags |= fp_to_float(r) != x ? FP_NX : 0;
		return r;
	}
	return fp_soft_cvt_s_d(a, rm, flags);
}

static inline uint64_t fp_cvt_d_s(uint32_t a, unsigned rm, uint32_t *flags)
{
	if (FP_LIKELY((a & 0x7fffffff) <= 0xffu << 23)) /* not a NaN */
		return fp_from_double(fp_to_float(a));
	return fp_soft_cvt_d_s(a, rm, flags);
}

#endif

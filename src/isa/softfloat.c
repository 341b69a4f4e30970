/* SPDX-License-Identifier: MIT */
/*
 * IEEE 754 arithmetic in integers; the contract is in isa/softfloat.h.
 *
 * A finite, nonzero operand is unpacked to sign, exponent and a 64-bit significand whose top bit is
 * set: value = (-1)^sign * sig * 2^(exp - 63), subnormals included. An operation computes its
 * result in that form, the lowest bit of sig standing for "and something more" (jamming), which is
 * enough to round because both formats leave at least eleven bits below their own. round_pack does
 * all rounding.
 *
 * Invariants: only round_pack and the special cases raise flags; a NaN result is always canonical;
 * both formats go through the same code, specialised by inlining.
 */
#include "isa/softfloat.h"

#include <stdbool.h>

#define INLINE static inline __attribute__((always_inline))

typedef unsigned __int128 u128; /* a typedef, because the type has no shorter name */

struct format {
	int precision; /* bits of significand, the hidden one included */
	int exp_bits;
};

static const struct format single = { 24, 8 };
static const struct format double_ = { 53, 11 };

enum kind {
	ZERO,
	FINITE,
	INFINITE,
	QUIET,
	SIGNALLING,
};

struct number {
	enum kind kind;
	bool sign;
	int exp;      /* of FINITE: unbiased */
	uint64_t sig; /* of FINITE: bit 63 is set */
};

INLINE int format_bias(struct format f)
{
	return (1 << (f.exp_bits - 1)) - 1;
}

INLINE uint64_t format_nan(struct format f)
{
	return ((1ull << (f.exp_bits + 1)) - 1) << (f.precision - 2);
}

INLINE uint64_t pack_sign(struct format f, bool sign)
{
	return (uint64_t)sign << (f.precision - 1 + f.exp_bits);
}

INLINE uint64_t pack_infinity(struct format f, bool sign)
{
	return pack_sign(f, sign) | ((1ull << f.exp_bits) - 1) << (f.precision - 1);
}

INLINE bool is_nan(struct number n)
{
	return n.kind >= QUIET;
}

INLINE struct number unpack(struct format f, uint64_t v)
{
	int biased = v >> (f.precision - 1) & ((1 << f.exp_bits) - 1);
	uint64_t fraction = v & ((1ull << (f.precision - 1)) - 1);
	struct number n = { .sign = v >> (f.precision - 1 + f.exp_bits) & 1 };

	if (biased == (1 << f.exp_bits) - 1) {
		if (!fraction)
			n.kind = INFINITE;
		else
			n.kind = fraction >> (f.precision - 2) ? QUIET : SIGNALLING;
	} else if (biased) {
		n.kind = FINITE;
		n.exp = biased - format_bias(f);
		n.sig = 1ull << 63 | fraction << (64 - f.precision);
	} else if (fraction) {
		int shift = __builtin_clzll(fraction);

		n.kind = FINITE;
		n.exp = 1 - format_bias(f) - (shift - (64 - f.precision));
		n.sig = fraction << shift;
	} else {
		n.kind = ZERO;
	}
	return n;
}

/* Right shift that keeps in the lowest bit whether anything was lost. */
INLINE uint64_t jam_64(uint64_t v, int by)
{
	if (by > 63)
		return v != 0;
	return by ? v >> by | (v << (64 - by) != 0) : v;
}

INLINE u128 jam_128(u128 v, int by)
{
	if (by > 127)
		return v != 0;
	return by ? v >> by | (v << (128 - by) != 0) : v;
}

/* Whether a magnitude grows when `low` of `half * 2` units are cut off below a digit that is odd or
 * not. */
INLINE bool rounds_up(unsigned rm, bool sign, bool odd, uint64_t low, uint64_t half)
{
	switch (rm) {
	case FP_RNE:
		return low > half || (low == half && odd);
	case FP_RTZ:
		return false;
	case FP_RDN:
		return sign && low;
	case FP_RUP:
		return !sign && low;
	default:
		return low >= half;
	}
}

/* Rounds (-1)^sign * sig * 2^(exp - 63), bit 63 of sig set, and raises OF, UF and NX. */
INLINE uint64_t round_pack(struct format f, bool sign, int exp, uint64_t sig, unsigned rm,
			   uint32_t *flags)
{
	int cut = 64 - f.precision;
	uint64_t half = 1ull << (cut - 1), low_mask = half * 2 - 1;
	int biased = exp + format_bias(f);
	bool tiny = false;

	if (biased <= 0) {
		/* Tiny unless rounding to full precision reaches the smallest normal number. */
		uint64_t kept = sig >> cut;
		bool up = rounds_up(rm, sign, kept & 1, sig & low_mask, half);

		tiny = biased < 0 || (kept + up) >> f.precision == 0;
		sig = jam_64(sig, 1 - biased);
		biased = 0;
	}
	uint64_t low = sig & low_mask, kept = sig >> cut;

	if (low) {
		*flags |= tiny ? FP_NX | FP_UF : FP_NX;
		kept += rounds_up(rm, sign, kept & 1, low, half);
	}
	/* The hidden bit counts into the exponent field, and so does a carry out of the
	 * significand. */
	uint64_t r = ((uint64_t)(biased ? biased - 1 : 0) << (f.precision - 1)) + kept;

	if (biased + 1 >= (1 << f.exp_bits) - 1 && r >= pack_infinity(f, false)) {
		bool to_infinity = rm == FP_RNE || rm == FP_RMM || rm == (sign ? FP_RDN : FP_RUP);

		*flags |= FP_OF | FP_NX;
		r = pack_infinity(f, false) - !to_infinity;
	}
	return pack_sign(f, sign) | r;
}

/* As round_pack, for any 128-bit sig that is not zero: value = sig * 2^(exp - 127). */
INLINE uint64_t round_pack_128(struct format f, bool sign, int exp, u128 sig, unsigned rm,
			       uint32_t *flags)
{
	uint64_t high = sig >> 64;
	int shift = high ? __builtin_clzll(high) : 64 + __builtin_clzll((uint64_t)sig);

	sig <<= shift;
	return round_pack(f, sign, exp - shift, (uint64_t)(sig >> 64) | ((uint64_t)sig != 0), rm,
			  flags);
}

INLINE uint64_t invalid(struct format f, uint32_t *flags)
{
	*flags |= FP_NV;
	return format_nan(f);
}

/* The result when at least one operand is a NaN. */
INLINE uint64_t propagate(struct format f, bool signalling, uint32_t *flags)
{
	if (signalling)
		*flags |= FP_NV;
	return format_nan(f);
}

/*
 * Sum of two finite, nonzero terms with 128-bit significands, value = sig * 2^(exp - 125), bit 125
 * or 126 of sig set. Terms carry their bits so far up that jamming cannot reach a bit that survives
 * cancellation.
 */
INLINE uint64_t add_terms(struct format f, bool sign_a, int exp_a, u128 a, bool sign_b, int exp_b,
			  u128 b, unsigned rm, uint32_t *flags)
{
	int exp = exp_a > exp_b ? exp_a : exp_b;

	a = jam_128(a, exp - exp_a);
	b = jam_128(b, exp - exp_b);
	if (sign_a == sign_b)
		return round_pack_128(f, sign_a, exp + 2, a + b, rm, flags);
	if (a == b)
		return pack_sign(f, rm == FP_RDN);
	if (a > b)
		return round_pack_128(f, sign_a, exp + 2, a - b, rm, flags);
	return round_pack_128(f, sign_b, exp + 2, b - a, rm, flags);
}

INLINE uint64_t soft_add(struct format f, uint64_t va, uint64_t vb, unsigned rm, uint32_t *flags)
{
	struct number a = unpack(f, va), b = unpack(f, vb);

	if (is_nan(a) || is_nan(b))
		return propagate(f, a.kind == SIGNALLING || b.kind == SIGNALLING, flags);
	if (a.kind == INFINITE && b.kind == INFINITE && a.sign != b.sign)
		return invalid(f, flags);
	if (a.kind == INFINITE)
		return va;
	if (b.kind == INFINITE)
		return vb;
	if (a.kind == ZERO && b.kind == ZERO)
		return a.sign == b.sign ? va : pack_sign(f, rm == FP_RDN);
	if (a.kind == ZERO)
		return vb;
	if (b.kind == ZERO)
		return va;
	return add_terms(f, a.sign, a.exp, (u128)a.sig << 62, b.sign, b.exp, (u128)b.sig << 62, rm,
			 flags);
}

INLINE uint64_t soft_mul(struct format f, uint64_t va, uint64_t vb, unsigned rm, uint32_t *flags)
{
	struct number a = unpack(f, va), b = unpack(f, vb);
	bool sign = a.sign ^ b.sign;

	if (is_nan(a) || is_nan(b))
		return propagate(f, a.kind == SIGNALLING || b.kind == SIGNALLING, flags);
	if (a.kind == INFINITE || b.kind == INFINITE) {
		if (a.kind == ZERO || b.kind == ZERO)
			return invalid(f, flags);
		return pack_infinity(f, sign);
	}
	if (a.kind == ZERO || b.kind == ZERO)
		return pack_sign(f, sign);
	return round_pack_128(f, sign, a.exp + b.exp + 1, (u128)a.sig * b.sig, rm, flags);
}

INLINE uint64_t soft_madd(struct format f, uint64_t va, uint64_t vb, uint64_t vc, unsigned rm,
			  uint32_t *flags)
{
	struct number a = unpack(f, va), b = unpack(f, vb), c = unpack(f, vc);
	bool sign = a.sign ^ b.sign;

	/* Infinity times zero is invalid even when the addend is a quiet NaN. */
	if ((a.kind == INFINITE && b.kind == ZERO) || (a.kind == ZERO && b.kind == INFINITE))
		return invalid(f, flags);
	if (is_nan(a) || is_nan(b) || is_nan(c))
		return propagate(
		    f, a.kind == SIGNALLING || b.kind == SIGNALLING || c.kind == SIGNALLING, flags);
	if (a.kind == INFINITE || b.kind == INFINITE) {
		if (c.kind == INFINITE && c.sign != sign)
			return invalid(f, flags);
		return pack_infinity(f, sign);
	}
	if (c.kind == INFINITE)
		return vc;
	if (a.kind == ZERO || b.kind == ZERO) {
		if (c.kind == ZERO)
			return sign == c.sign ? vc : pack_sign(f, rm == FP_RDN);
		return vc;
	}
	/* A product has at most 106 significant bits of 128, so the lowest two are zero. */
	u128 product = (u128)a.sig * b.sig;

	if (c.kind == ZERO)
		return round_pack_128(f, sign, a.exp + b.exp + 1, product, rm, flags);
	return add_terms(f, sign, a.exp + b.exp, product >> 1, c.sign, c.exp, (u128)c.sig << 62, rm,
			 flags);
}

INLINE uint64_t soft_div(struct format f, uint64_t va, uint64_t vb, unsigned rm, uint32_t *flags)
{
	struct number a = unpack(f, va), b = unpack(f, vb);
	bool sign = a.sign ^ b.sign;

	if (is_nan(a) || is_nan(b))
		return propagate(f, a.kind == SIGNALLING || b.kind == SIGNALLING, flags);
	if (a.kind == b.kind && a.kind != FINITE)
		return invalid(f, flags);
	if (a.kind == INFINITE)
		return pack_infinity(f, sign);
	if (a.kind == ZERO || b.kind == INFINITE)
		return pack_sign(f, sign);
	if (b.kind == ZERO) {
		*flags |= FP_DZ;
		return pack_infinity(f, sign);
	}
	/* Scaled so that the quotient has its top bit at 63. */
	int smaller = a.sig < b.sig;
	u128 dividend = (u128)a.sig << (63 + smaller);
	uint64_t quotient = (uint64_t)(dividend / b.sig);

	quotient |= (u128)quotient * b.sig != dividend;
	return round_pack(f, sign, a.exp - b.exp - smaller, quotient, rm, flags);
}

/* The largest r with r * r <= v; v has bit 126 or 127 set, so that r has bit 63 set. */
static uint64_t root_128(u128 v)
{
	u128 rest = v, root = 0;

	for (u128 bit = (u128)1 << 126; bit; bit >>= 2) {
		if (rest >= root + bit) {
			rest -= root + bit;
			root = (root >> 1) + bit;
		} else {
			root >>= 1;
		}
	}
	return (uint64_t)root;
}

INLINE uint64_t soft_sqrt(struct format f, uint64_t va, unsigned rm, uint32_t *flags)
{
	struct number a = unpack(f, va);

	if (is_nan(a))
		return propagate(f, a.kind == SIGNALLING, flags);
	if (a.kind == ZERO)
		return va;
	if (a.sign)
		return invalid(f, flags);
	if (a.kind == INFINITE)
		return va;
	/* An even exponent halves; an odd one lends its last doubling to the significand. */
	int odd = a.exp & 1;
	u128 radicand = (u128)a.sig << (63 + odd);
	uint64_t root = root_128(radicand);

	root |= (u128)root * root != radicand;
	return round_pack(f, false, (a.exp - odd) / 2, root, rm, flags);
}

/* -1, 0, 1 for numbers; zeros are equal. */
INLINE int compare(struct format f, uint64_t va, uint64_t vb)
{
	uint64_t sign = pack_sign(f, true);

	if (((va | vb) & ~sign) == 0 || va == vb)
		return 0;
	if ((va ^ vb) & sign)
		return va & sign ? -1 : 1;
	return (va < vb) != !!(va & sign) ? -1 : 1;
}

INLINE uint64_t soft_min_max(struct format f, uint64_t va, uint64_t vb, bool max, uint32_t *flags)
{
	struct number a = unpack(f, va), b = unpack(f, vb);

	if (a.kind == SIGNALLING || b.kind == SIGNALLING)
		*flags |= FP_NV;
	if (is_nan(a))
		return is_nan(b) ? format_nan(f) : vb;
	if (is_nan(b))
		return va;
	if (a.kind == ZERO && b.kind == ZERO)
		return a.sign == max ? vb : va;
	return (compare(f, va, vb) < 0) != max ? va : vb;
}

INLINE bool soft_unordered(struct format f, uint64_t va, uint64_t vb, bool quiet, uint32_t *flags)
{
	struct number a = unpack(f, va), b = unpack(f, vb);

	if (!is_nan(a) && !is_nan(b))
		return false;
	if (!quiet || a.kind == SIGNALLING || b.kind == SIGNALLING)
		*flags |= FP_NV;
	return true;
}

INLINE uint64_t soft_class(struct format f, uint64_t va)
{
	struct number a = unpack(f, va);
	bool subnormal = a.exp < 1 - format_bias(f);

	switch (a.kind) {
	case INFINITE:
		return a.sign ? 1 << 0 : 1 << 7;
	case FINITE:
		if (subnormal)
			return a.sign ? 1 << 2 : 1 << 5;
		return a.sign ? 1 << 1 : 1 << 6;
	case ZERO:
		return a.sign ? 1 << 3 : 1 << 4;
	case SIGNALLING:
		return 1 << 8;
	default:
		return 1 << 9;
	}
}

/* Rounds to an integer in [-low, high]; outside, and for NaN, saturates and is invalid. */
INLINE uint64_t soft_to_int(struct format f, uint64_t va, uint64_t low, uint64_t high, unsigned rm,
			    uint32_t *flags)
{
	struct number a = unpack(f, va);

	if (a.kind == ZERO)
		return 0;
	if (a.kind == FINITE && a.exp < 64) {
		/* 64 bits of integer, then what is cut off, as a fraction of 2^64. */
		u128 fixed =
		    a.exp >= 0 ? (u128)a.sig << (a.exp + 1) : (u128)jam_64(a.sig, -a.exp - 1);
		uint64_t magnitude = (uint64_t)(fixed >> 64), rest = (uint64_t)fixed;
		bool up = rounds_up(rm, a.sign, magnitude & 1, rest, 1ull << 63);
		uint64_t limit = a.sign ? low : high;

		if (magnitude <= limit && !(up && magnitude == limit)) {
			magnitude += up;
			if (rest)
				*flags |= FP_NX;
			return a.sign ? -magnitude : magnitude;
		}
	}
	*flags |= FP_NV;
	return a.sign && !is_nan(a) ? -low : high;
}

INLINE uint64_t soft_from_int(struct format f, bool sign, uint64_t magnitude, unsigned rm,
			      uint32_t *flags)
{
	if (!magnitude)
		return 0;
	int shift = __builtin_clzll(magnitude);

	return round_pack(f, sign, 63 - shift, magnitude << shift, rm, flags);
}

INLINE uint64_t soft_to_format(struct format from, struct format to, uint64_t va, unsigned rm,
			       uint32_t *flags)
{
	struct number a = unpack(from, va);

	switch (a.kind) {
	case ZERO:
		return pack_sign(to, a.sign);
	case FINITE:
		return round_pack(to, a.sign, a.exp, a.sig, rm, flags);
	case INFINITE:
		return pack_infinity(to, a.sign);
	default:
		return propagate(to, a.kind == SIGNALLING, flags);
	}
}

static uint64_t sext_w(uint64_t v)
{
	return (uint64_t)(int64_t)(int32_t)v;
}

#define DEFINE(p, bits, format)                                                                    \
	bits fp_soft_add_##p(bits a, bits b, unsigned rm, uint32_t *flags)                         \
	{                                                                                          \
		return (bits)soft_add(format, a, b, rm, flags);                                    \
	}                                                                                          \
	bits fp_soft_sub_##p(bits a, bits b, unsigned rm, uint32_t *flags)                         \
	{                                                                                          \
		return (bits)soft_add(format, a, b ^ (bits)pack_sign(format, true), rm, flags);    \
	}                                                                                          \
	bits fp_soft_mul_##p(bits a, bits b, unsigned rm, uint32_t *flags)                         \
	{                                                                                          \
		return (bits)soft_mul(format, a, b, rm, flags);                                    \
	}                                                                                          \
	bits fp_soft_div_##p(bits a, bits b, unsigned rm, uint32_t *flags)                         \
	{                                                                                          \
		return (bits)soft_div(format, a, b, rm, flags);                                    \
	}                                                                                          \
	bits fp_soft_sqrt_##p(bits a, unsigned rm, uint32_t *flags)                                \
	{                                                                                          \
		return (bits)soft_sqrt(format, a, rm, flags);                                      \
	}                                                                                          \
	bits fp_soft_madd_##p(bits a, bits b, bits c, unsigned rm, uint32_t *flags)                \
	{                                                                                          \
		return (bits)soft_madd(format, a, b, c, rm, flags);                                \
	}                                                                                          \
	bits fp_soft_min_##p(bits a, bits b, uint32_t *flags)                                      \
	{                                                                                          \
		return (bits)soft_min_max(format, a, b, false, flags);                             \
	}                                                                                          \
	bits fp_soft_max_##p(bits a, bits b, uint32_t *flags)                                      \
	{                                                                                          \
		return (bits)soft_min_max(format, a, b, true, flags);                              \
	}                                                                                          \
	uint64_t fp_soft_eq_##p(bits a, bits b, uint32_t *flags)                                   \
	{                                                                                          \
		return !soft_unordered(format, a, b, true, flags) && compare(format, a, b) == 0;   \
	}                                                                                          \
	uint64_t fp_soft_lt_##p(bits a, bits b, uint32_t *flags)                                   \
	{                                                                                          \
		return !soft_unordered(format, a, b, false, flags) && compare(format, a, b) < 0;   \
	}                                                                                          \
	uint64_t fp_soft_le_##p(bits a, bits b, uint32_t *flags)                                   \
	{                                                                                          \
		return !soft_unordered(format, a, b, false, flags) && compare(format, a, b) <= 0;  \
	}                                                                                          \
	uint64_t fp_soft_class_##p(bits a)                                                         \
	{                                                                                          \
		return soft_class(format, a);                                                      \
	}                                                                                          \
	uint64_t fp_soft_cvt_w_##p(bits a, unsigned rm, uint32_t *flags)                           \
	{                                                                                          \
		return soft_to_int(format, a, 1ull << 31, INT32_MAX, rm, flags);                   \
	}                                                                                          \
	uint64_t fp_soft_cvt_wu_##p(bits a, unsigned rm, uint32_t *flags)                          \
	{                                                                                          \
		return sext_w(soft_to_int(format, a, 0, UINT32_MAX, rm, flags));                   \
	}                                                                                          \
	uint64_t fp_soft_cvt_l_##p(bits a, unsigned rm, uint32_t *flags)                           \
	{                                                                                          \
		return soft_to_int(format, a, 1ull << 63, INT64_MAX, rm, flags);                   \
	}                                                                                          \
	uint64_t fp_soft_cvt_lu_##p(bits a, unsigned rm, uint32_t *flags)                          \
	{                                                                                          \
		return soft_to_int(format, a, 0, UINT64_MAX, rm, flags);                           \
	}                                                                                          \
	bits fp_soft_cvt_##p##_w(uint64_t x, unsigned rm, uint32_t *flags)                         \
	{                                                                                          \
		return fp_soft_cvt_##p##_l(sext_w(x), rm, flags);                                  \
	}                                                                                          \
	bits fp_soft_cvt_##p##_wu(uint64_t x, unsigned rm, uint32_t *flags)                        \
	{                                                                                          \
		return (bits)soft_from_int(format, false, (uint32_t)x, rm, flags);                 \
	}                                                                                          \
	bits fp_soft_cvt_##p##_l(uint64_t x, unsigned rm, uint32_t *flags)                         \
	{                                                                                          \
		bool sign = x >> 63;                                                               \
                                                                                                   \
		return (bits)soft_from_int(format, sign, sign ? -x : x, rm, flags);                \
	}                                                                                          \
	bits fp_soft_cvt_##p##_lu(uint64_t x, unsigned rm, uint32_t *flags)                        \
	{                                                                                          \
		return (bits)soft_from_int(format, false, x, rm, flags);                           \
	}

DEFINE(s, uint32_t, single)
DEFINE(d, uint64_t, double_)

uint32_t fp_soft_cvt_s_d(uint64_t a, unsigned rm, uint32_t *flags)
{
	return (uint32_t)soft_to_format(double_, single, a, rm, flags);
}

uint64_t fp_soft_cvt_d_s(uint32_t a, unsigned rm, uint32_t *flags)
{
	return soft_to_format(single, double_, a, rm, flags);
}

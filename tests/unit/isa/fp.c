/* SPDX-License-Identifier: MIT */
/*
 * Soft floating point against the host's FPU (in its four rounding modes), against exact arithmetic
 * in binary128 for ties away from zero, and the fast paths against the soft ones.
 *
 * The host rounds and raises flags as RISC-V wants (SSE: tininess after rounding) but for two
 * things: the bits of NaNs, so a host NaN stands for the canonical one; and infinity times zero
 * plus a quiet NaN, which is invalid on RISC-V and quiet on x86. Compiled with -frounding-math;
 * operands pass through volatile variables so that nothing is computed before the rounding mode is
 * set.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <fenv.h>
#include <math.h>

#include "isa/fp.h"
#include "numbers.h"

/* Four times as many bits as a float: what all compilers for x86-64 call __float128 is long double elsewhere. */
#ifdef __SIZEOF_FLOAT128__
typedef __float128 quad;
#else
typedef long double quad;
_Static_assert(sizeof(quad) == 16, "long double has no 113 bits here");
#endif

#define ROUNDS 150000

static const int host_mode[4] = { FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD };

static uint32_t host_flags(void)
{
	int e = fetestexcept(FE_ALL_EXCEPT);

	return (e & FE_INEXACT ? FP_NX : 0) | (e & FE_UNDERFLOW ? FP_UF : 0) |
	       (e & FE_OVERFLOW ? FP_OF : 0) | (e & FE_DIVBYZERO ? FP_DZ : 0) |
	       (e & FE_INVALID ? FP_NV : 0);
}

struct outcome {
	uint64_t bits;
	uint32_t flags;
};

enum operation {
	ADD,
	SUB,
	MUL,
	DIV,
	SQRT,
	MADD,
	OPERATIONS,
};
static const char *const operation_name[] = { "add", "sub", "mul", "div", "sqrt", "madd" };

static struct outcome soft(enum operation op, bool d, uint64_t a, uint64_t b, uint64_t c,
			   unsigned rm)
{
	struct outcome o = { 0, 0 };

#define SOFT(name, ...)                                                                            \
	o.bits = d ? fp_soft_##name##_d(__VA_ARGS__, rm, &o.flags)                                 \
		   : fp_soft_##name##_s(__VA_ARGS__, rm, &o.flags)
	switch (op) {
	case ADD:
		SOFT(add, a, b);
		break;
	case SUB:
		SOFT(sub, a, b);
		break;
	case MUL:
		SOFT(mul, a, b);
		break;
	case DIV:
		SOFT(div, a, b);
		break;
	case SQRT:
		SOFT(sqrt, a);
		break;
	default:
		SOFT(madd, a, b, c);
	}
#undef SOFT
	return o;
}

static struct outcome fast(enum operation op, bool d, uint64_t a, uint64_t b, uint64_t c,
			   unsigned rm, uint32_t flags)
{
	struct outcome o = { 0, flags };

#define FAST(name, ...)                                                                            \
	o.bits = d ? fp_##name##_d(__VA_ARGS__, rm, &o.flags)                                      \
		   : fp_##name##_s(__VA_ARGS__, rm, &o.flags)
	switch (op) {
	case ADD:
		FAST(add, a, b);
		break;
	case SUB:
		FAST(sub, a, b);
		break;
	case MUL:
		FAST(mul, a, b);
		break;
	case DIV:
		FAST(div, a, b);
		break;
	case SQRT:
		FAST(sqrt, a);
		break;
	default:
		FAST(madd, a, b, c);
	}
#undef FAST
	return o;
}

static struct outcome host_d(enum operation op, uint64_t va, uint64_t vb, uint64_t vc, unsigned rm)
{
	volatile double a = fp_to_double(va), b = fp_to_double(vb), c = fp_to_double(vc), r;

	fesetround(host_mode[rm]);
	feclearexcept(FE_ALL_EXCEPT);
	switch (op) {
	case ADD:
		r = a + b;
		break;
	case SUB:
		r = a - b;
		break;
	case MUL:
		r = a * b;
		break;
	case DIV:
		r = a / b;
		break;
	case SQRT:
		r = sqrt(a);
		break;
	default:
		r = fma(a, b, c);
	}
	struct outcome o = { fp_from_double(r), host_flags() };

	fesetround(FE_TONEAREST);
	if (r != r)
		o.bits = FP_NAN_D;
	if (op == MADD && ((isinf(a) && b == 0) || (a == 0 && isinf(b))))
		o.flags |= FP_NV;
	return o;
}

static struct outcome host_s(enum operation op, uint32_t va, uint32_t vb, uint32_t vc, unsigned rm)
{
	volatile float a = fp_to_float(va), b = fp_to_float(vb), c = fp_to_float(vc), r;

	fesetround(host_mode[rm]);
	feclearexcept(FE_ALL_EXCEPT);
	switch (op) {
	case ADD:
		r = a + b;
		break;
	case SUB:
		r = a - b;
		break;
	case MUL:
		r = a * b;
		break;
	case DIV:
		r = a / b;
		break;
	case SQRT:
		r = sqrtf(a);
		break;
	default:
		r = fmaf(a, b, c);
	}
	struct outcome o = { fp_from_float(r), host_flags() };

	fesetround(FE_TONEAREST);
	if (r != r)
		o.bits = FP_NAN_S;
	if (op == MADD && ((isinf(a) && b == 0) || (a == 0 && isinf(b))))
		o.flags |= FP_NV;
	return o;
}

/*
 * What RISC-V and x86 say where this host may differ: others find a result tiny before it is rounded (so that the
 * smallest normal number may come with underflow), and clang compares quietly there.
 */
static uint32_t flags_of_host(struct outcome got, struct outcome want, bool ordered)
{
#ifdef __x86_64__
	return want.flags;
#else
	const uint64_t magnitude = want.bits & 0x7fffffffffffffffu;
	uint32_t flags = want.flags;

	if (magnitude == 0x0010000000000000u || (want.bits & ~0x80000000u) == 0x800000u)
		flags = (flags & ~FP_UF) | (got.flags & FP_UF);
	return ordered ? flags | (got.flags & FP_NV) : flags;
#endif
}

static void check(const char *what, uint64_t a, uint64_t b, uint64_t c, unsigned rm,
		  struct outcome got, struct outcome want)
{
	want.flags = flags_of_host(got, want, !strcmp(what, "lt") || !strcmp(what, "le"));
	if (got.bits != want.bits || got.flags != want.flags)
		fail_msg("%s(%#llx, %#llx, %#llx) rm %u: %#llx flags %#x, not %#llx flags %#x",
			 what, (unsigned long long)a, (unsigned long long)b, (unsigned long long)c,
			 rm, (unsigned long long)got.bits, got.flags, (unsigned long long)want.bits,
			 want.flags);
}

static void test_140_soft_double_arithmetic_is_that_of_the_host(void **state)
{
	struct rng r;

	rng_seed(&r, 140);
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t a = random_d(&r), b = random_d(&r), c = random_d(&r);
		unsigned rm = i & 3;

		for (enum operation op = ADD; op < OPERATIONS; op++)
			check(operation_name[op], a, b, c, rm, soft(op, true, a, b, c, rm),
			      host_d(op, a, b, c, rm));
	}
}

static void test_141_soft_single_arithmetic_is_that_of_the_host(void **state)
{
	struct rng r;

	rng_seed(&r, 141);
	for (int i = 0; i < ROUNDS; i++) {
		uint32_t a = random_s(&r), b = random_s(&r), c = random_s(&r);
		unsigned rm = i & 3;

		for (enum operation op = ADD; op < OPERATIONS; op++)
			check(operation_name[op], a, b, c, rm, soft(op, false, a, b, c, rm),
			      host_s(op, a, b, c, rm));
	}
}

/* A fused multiply-add goes wrong first where the sum cancels almost or exactly. */
static void test_142_fused_products_that_cancel_keep_their_last_bits(void **state)
{
	struct rng r;

	rng_seed(&r, 142);
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t a = random_d(&r), b = random_d(&r);
		double product = -fp_to_double(a) * fp_to_double(b);
		uint64_t c = fp_from_double(product) + rng_below(&r, 5) - 2;
		uint32_t as = random_s(&r), bs = random_s(&r);
		float product_s = -fp_to_float(as) * fp_to_float(bs);
		uint32_t cs = fp_from_float(product_s) + (uint32_t)rng_below(&r, 5) - 2;
		unsigned rm = i & 3;

		check("madd_d", a, b, c, rm, soft(MADD, true, a, b, c, rm),
		      host_d(MADD, a, b, c, rm));
		check("madd_s", as, bs, cs, rm, soft(MADD, false, as, bs, cs, rm),
		      host_s(MADD, as, bs, cs, rm));
	}
}

/*
 * Ties away from zero differ from ties to even only when the exact result lies halfway between its
 * two neighbours, which the directed modes give. flags are those of ties to even.
 */
static struct outcome ties_away(bool d, struct outcome even, struct outcome down, struct outcome up,
				bool tie)
{
	uint64_t magnitude = d ? ~(1ull << 63) : 0x7fffffff;
	uint64_t low = down.bits & magnitude, high = up.bits & magnitude;

	if (tie)
		even.bits = low > high ? down.bits : up.bits;
	return even;
}

static bool is_tie(enum operation op, quad a, quad b, quad c, quad twice_mid)
{
	switch (op) {
	case ADD:
		return 2 * (a + b) == twice_mid;
	case SUB:
		return 2 * (a - b) == twice_mid;
	case MUL:
		return 2 * (a * b) == twice_mid;
	case DIV:
		return 2 * a == twice_mid * b;
	case SQRT:
		return 4 * a == twice_mid * twice_mid;
	default:
		return 2 * (a * b + c) == twice_mid;
	}
}

static bool finite_d(uint64_t v)
{
	return (v >> 52 & 0x7ff) != 0x7ff;
}

static bool finite_s(uint32_t v)
{
	return (v >> 23 & 0xff) != 0xff;
}

static void test_143_ties_away_in_double_are_those_of_binary128(void **state)
{
	struct rng r;
	unsigned ties = 0;

	rng_seed(&r, 143);
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t a = random_d(&r), b = random_d(&r), c = random_d(&r);

		for (enum operation op = ADD; op < OPERATIONS; op++) {
			if (op == MADD) {
				/* Few bits and exponents near one keep a * b + c exact in 113 bits.
				 */
				a = (a & 0x800fffff00000000ull) | (1008 + rng_below(&r, 30)) << 52;
				b = (b & 0x800fffff00000000ull) | (1008 + rng_below(&r, 30)) << 52;
				c = (c & 0x800fffffffffffffull) | (1023 + rng_below(&r, 30)) << 52;
			}
			struct outcome even = host_d(op, a, b, c, FP_RNE);
			struct outcome down = host_d(op, a, b, c, FP_RDN);
			struct outcome up = host_d(op, a, b, c, FP_RUP);
			bool tie = false;

			if (down.bits != up.bits && finite_d(down.bits) && finite_d(up.bits))
				tie = is_tie(op, fp_to_double(a), fp_to_double(b), fp_to_double(c),
					     (quad)fp_to_double(down.bits) + fp_to_double(up.bits));
			ties += tie;
			check(operation_name[op], a, b, c, FP_RMM, soft(op, true, a, b, c, FP_RMM),
			      ties_away(true, even, down, up, tie));
		}
	}
	assert_true(ties > 1000);
}

static void test_144_ties_away_in_single_are_those_of_binary128(void **state)
{
	struct rng r;
	unsigned ties = 0;

	rng_seed(&r, 144);
	for (int i = 0; i < ROUNDS; i++) {
		uint32_t a = random_s(&r), b = random_s(&r), c = random_s(&r);

		for (enum operation op = ADD; op < OPERATIONS; op++) {
			if (op == MADD) {
				a = (a & 0x807fffff) | (uint32_t)(112 + rng_below(&r, 30)) << 23;
				b = (b & 0x807fffff) | (uint32_t)(112 + rng_below(&r, 30)) << 23;
				c = (c & 0x807fffff) | (uint32_t)(112 + rng_below(&r, 30)) << 23;
			}
			struct outcome even = host_s(op, a, b, c, FP_RNE);
			struct outcome down = host_s(op, a, b, c, FP_RDN);
			struct outcome up = host_s(op, a, b, c, FP_RUP);
			bool tie = false;

			if (down.bits != up.bits && finite_s((uint32_t)down.bits) &&
			    finite_s((uint32_t)up.bits))
				tie = is_tie(op, fp_to_float(a), fp_to_float(b), fp_to_float(c),
					     (quad)fp_to_float((uint32_t)down.bits) +
						 fp_to_float((uint32_t)up.bits));
			ties += tie;
			check(operation_name[op], a, b, c, FP_RMM, soft(op, false, a, b, c, FP_RMM),
			      ties_away(false, even, down, up, tie));
		}
	}
	assert_true(ties > 1000);
}

static void test_145_fast_paths_give_what_the_soft_ones_give(void **state)
{
	struct rng r;

	rng_seed(&r, 145);
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t a = random_d(&r), b = random_d(&r), c = random_d(&r);
		uint32_t as = random_s(&r), bs = random_s(&r), cs = random_s(&r);
		/* Use RNE half of the time, and have NX set already half of the time. */
		unsigned rm = i & 1 ? FP_RNE : (unsigned)rng_below(&r, 5);
		uint32_t before = i & 2 ? FP_NX : 0;

		if (i % 5 == 0) { /* sums that nearly cancel */
			c = fp_from_double(-fp_to_double(a) * fp_to_double(b)) + rng_below(&r, 3);
			cs = fp_from_float(-fp_to_float(as) * fp_to_float(bs)) +
			     (uint32_t)rng_below(&r, 3);
		}
		if (i % 5 == 1) { /* exact products, quotients and roots */
			a = fp_from_double((double)(int32_t)rng_next(&r) /
					   (1 << rng_below(&r, 30)));
			b = fp_from_double((double)(int16_t)rng_next(&r));
			if (i & 4)
				a = fp_from_double(fp_to_double(a) * fp_to_double(b));
			if (i & 8)
				a = fp_from_double(fp_to_double(b) * fp_to_double(b));
			as = fp_from_float((float)fp_to_double(a));
			bs = fp_from_float((float)fp_to_double(b));
		}
		for (enum operation op = ADD; op < OPERATIONS; op++) {
			struct outcome want = soft(op, true, a, b, c, rm);

			want.flags |= before;
			check(operation_name[op], a, b, c, rm, fast(op, true, a, b, c, rm, before),
			      want);
			want = soft(op, false, as, bs, cs, rm);
			want.flags |= before;
			check(operation_name[op], as, bs, cs, rm,
			      fast(op, false, as, bs, cs, rm, before), want);
		}
	}
}

#define CHECK_UNARY(name, arg)                                                                     \
	do {                                                                                       \
		struct outcome want = { 0, 0 }, got = { 0, before };                               \
                                                                                                   \
		want.bits = fp_soft_##name(arg, rm, &want.flags);                                  \
		want.flags |= before;                                                              \
		got.bits = fp_##name(arg, rm, &got.flags);                                         \
		check(#name, arg, 0, 0, rm, got, want);                                            \
	} while (0)

#define CHECK_PAIR(name, x, y)                                                                     \
	do {                                                                                       \
		struct outcome want = { 0, 0 }, got = { 0, before };                               \
                                                                                                   \
		want.bits = fp_soft_##name(x, y, &want.flags);                                     \
		want.flags |= before;                                                              \
		got.bits = fp_##name(x, y, &got.flags);                                            \
		check(#name, x, y, 0, 0, got, want);                                               \
	} while (0)

static void test_146_fast_conversions_and_comparisons_give_what_the_soft_ones_give(void **state)
{
	struct rng r;

	rng_seed(&r, 146);
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t a = random_d(&r), b = rng_below(&r, 8) ? random_d(&r) : a;
		uint32_t as = random_s(&r), bs = rng_below(&r, 8) ? random_s(&r) : as;
		uint64_t x = rng_next(&r) >> rng_below(&r, 64);
		unsigned rm = (unsigned)rng_below(&r, 5);
		uint32_t before = i & 2 ? FP_NX : 0;

		if (i & 1)
			x = -x;
		CHECK_UNARY(cvt_w_d, a);
		CHECK_UNARY(cvt_wu_d, a);
		CHECK_UNARY(cvt_l_d, a);
		CHECK_UNARY(cvt_lu_d, a);
		CHECK_UNARY(cvt_w_s, as);
		CHECK_UNARY(cvt_wu_s, as);
		CHECK_UNARY(cvt_l_s, as);
		CHECK_UNARY(cvt_lu_s, as);
		CHECK_UNARY(cvt_d_w, x);
		CHECK_UNARY(cvt_d_wu, x);
		CHECK_UNARY(cvt_d_l, x);
		CHECK_UNARY(cvt_d_lu, x);
		CHECK_UNARY(cvt_s_w, x);
		CHECK_UNARY(cvt_s_wu, x);
		CHECK_UNARY(cvt_s_l, x);
		CHECK_UNARY(cvt_s_lu, x);
		CHECK_UNARY(cvt_s_d, a);
		CHECK_UNARY(cvt_d_s, as);
		CHECK_PAIR(min_d, a, b);
		CHECK_PAIR(max_d, a, b);
		CHECK_PAIR(eq_d, a, b);
		CHECK_PAIR(lt_d, a, b);
		CHECK_PAIR(le_d, a, b);
		CHECK_PAIR(min_s, as, bs);
		CHECK_PAIR(max_s, as, bs);
		CHECK_PAIR(eq_s, as, bs);
		CHECK_PAIR(lt_s, as, bs);
		CHECK_PAIR(le_s, as, bs);
	}
}

/* Rounds to an integer as rm says. The result is exact, because binary128 holds every double and
 * its neighbours. */
static quad round_128(quad x, unsigned rm)
{
	quad magnitude = x < 0 ? -x : x;

	if (magnitude >= 0x1p64)
		return x;
	quad whole = (quad)(uint64_t)magnitude, rest = magnitude - whole;
	bool odd = (uint64_t)magnitude & 1, up;

	switch (rm) {
	case FP_RNE:
		up = rest > 0.5 || (rest == 0.5 && odd);
		break;
	case FP_RTZ:
		up = false;
		break;
	case FP_RDN:
		up = x < 0 && rest > 0;
		break;
	case FP_RUP:
		up = x > 0 && rest > 0;
		break;
	default:
		up = rest >= 0.5;
	}
	whole += up;
	return x < 0 ? -whole : whole;
}

static struct outcome want_integer(double x, quad low, quad high, uint64_t at_low, uint64_t at_high,
				   unsigned rm)
{
	if (x != x)
		return (struct outcome){ at_high, FP_NV };
	quad rounded = round_128(x, rm);

	if (rounded < low)
		return (struct outcome){ at_low, FP_NV };
	if (rounded > high)
		return (struct outcome){ at_high, FP_NV };
	return (struct outcome){ rounded < 0 ? -(uint64_t)-rounded : (uint64_t)rounded,
				 rounded != x ? FP_NX : 0 };
}

static void test_147_conversions_to_integer_round_saturate_and_flag(void **state)
{
	struct rng r;

	rng_seed(&r, 147);
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t a = random_d(&r);
		uint32_t as = random_s(&r);
		unsigned rm = i % 5;

		if (i % 3 == 0) { /* at the limits of the four integer types */
			static const double limit[] = { 0x1p31, 0x1p32, 0x1p63, 0x1p64, 0 };

			a = fp_from_double(limit[rng_below(&r, 5)] +
					   ((double)rng_below(&r, 13) - 6) / 4);
			a ^= rng_next(&r) & 1ull << 63;
			as = fp_from_float((float)fp_to_double(a));
		}
		for (int single = 0; single < 2; single++) {
			double x = single ? fp_to_float(as) : fp_to_double(a);
			struct outcome got[4] = { { 0 } }, want[4];

#define GET(k, name)                                                                               \
	got[k].bits = single ? fp_soft_##name##_s(as, rm, &got[k].flags)                           \
			     : fp_soft_##name##_d(a, rm, &got[k].flags)
			GET(0, cvt_w);
			GET(1, cvt_wu);
			GET(2, cvt_l);
			GET(3, cvt_lu);
#undef GET
			want[0] = want_integer(x, INT32_MIN, INT32_MAX, INT32_MIN, INT32_MAX, rm);
			want[1] = want_integer(x, 0, UINT32_MAX, 0, UINT32_MAX, rm);
			want[1].bits = (uint64_t)(int32_t)want[1].bits;
			want[2] = want_integer(x, INT64_MIN, INT64_MAX, INT64_MIN, INT64_MAX, rm);
			want[3] = want_integer(x, 0, UINT64_MAX, 0, UINT64_MAX, rm);
			for (int k = 0; k < 4; k++)
				check(single ? "cvt int s" : "cvt int d", single ? as : a,
				      (uint64_t)k, 0, rm, got[k], want[k]);
		}
	}
}

/* Conversions from integers, and between the formats, in the host's four modes. */
static void test_148_conversions_to_floating_point_are_those_of_the_host(void **state)
{
	struct rng r;

	rng_seed(&r, 148);
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t x = rng_next(&r) >> rng_below(&r, 64);
		uint64_t a = random_d(&r);
		uint32_t as = random_s(&r);
		unsigned rm = i & 3;

		if (i & 4)
			x = -x;
		volatile int64_t l = (int64_t)x;
		volatile uint64_t lu = x;
		volatile int32_t w = (int32_t)x;
		volatile uint32_t wu = (uint32_t)x;
		volatile double da = fp_to_double(a), d;
		volatile float sa = fp_to_float(as), s;
		struct outcome want, got;

#define HOST(expression, result, from, nan)                                                        \
	fesetround(host_mode[rm]);                                                                 \
	feclearexcept(FE_ALL_EXCEPT);                                                              \
	result = expression;                                                                       \
	want.flags = host_flags();                                                                 \
	fesetround(FE_TONEAREST);                                                                  \
	want.bits = result != result ? nan : from(result)
#define SOFT(name, arg)                                                                            \
	got.flags = 0;                                                                             \
	got.bits = fp_soft_##name(arg, rm, &got.flags);                                            \
	check(#name, arg, 0, 0, rm, got, want)
		HOST(w, d, fp_from_double, 0);
		SOFT(cvt_d_w, x);
		HOST(wu, d, fp_from_double, 0);
		SOFT(cvt_d_wu, x);
		HOST(l, d, fp_from_double, 0);
		SOFT(cvt_d_l, x);
		HOST(w, s, fp_from_float, 0);
		SOFT(cvt_s_w, x);
		HOST(l, s, fp_from_float, 0);
		SOFT(cvt_s_l, x);
		/* Compilers build unsigned conversions from several operations, which are exact
		 * only for values that fit into the signed type. */
		if (x >> 63 == 0) {
			HOST((int64_t)lu, d, fp_from_double, 0);
			SOFT(cvt_d_lu, x);
			HOST((int64_t)lu, s, fp_from_float, 0);
			SOFT(cvt_s_lu, x);
		}
		HOST((int64_t)wu, s, fp_from_float, 0);
		SOFT(cvt_s_wu, x);
		HOST((float)da, s, fp_from_float, FP_NAN_S);
		SOFT(cvt_s_d, a);
		HOST(sa, d, fp_from_double, FP_NAN_D);
		SOFT(cvt_d_s, as);
#undef HOST
#undef SOFT
	}
}

/* An unsigned operand with its top bit set converts like half of it, with the lost bit jammed,
 * except for the exponent. */
static void test_149_large_unsigned_integers_convert_like_their_halves(void **state)
{
	struct rng r;

	rng_seed(&r, 149);
	for (int i = 0; i < ROUNDS / 4; i++) {
		uint64_t x = rng_next(&r) | 1ull << 63, half = x >> 1 | (x & 1);
		unsigned rm = i % 5;
		struct outcome got = { 0 }, want = { 0 };

		if (i % 3 == 0)
			x &= ~0ull << rng_below(&r, 64);
		half = x >> 1 | (x & 1);
		got.bits = fp_soft_cvt_d_lu(x, rm, &got.flags);
		want.bits = fp_soft_cvt_d_l(half, rm, &want.flags) + (1ull << 52);
		check("cvt_d_lu", x, 0, 0, rm, got, want);
		got = want = (struct outcome){ 0 };
		got.bits = fp_soft_cvt_s_lu(x, rm, &got.flags);
		want.bits = fp_soft_cvt_s_l(half, rm, &want.flags) + (1u << 23);
		check("cvt_s_lu", x, 0, 0, rm, got, want);
	}
}

static void test_150_comparisons_are_those_of_the_host(void **state)
{
	struct rng r;

	rng_seed(&r, 150);
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t a = random_d(&r),
			 b = rng_below(&r, 4) ? random_d(&r) : a ^ rng_below(&r, 2) << 63;
		volatile double x = fp_to_double(a), y = fp_to_double(b);
		struct outcome want, got;

#define COMPARE(name, expression)                                                                  \
	feclearexcept(FE_ALL_EXCEPT);                                                              \
	want.bits = expression;                                                                    \
	want.flags = host_flags();                                                                 \
	got.flags = 0;                                                                             \
	got.bits = fp_soft_##name##_d(a, b, &got.flags);                                           \
	check(#name, a, b, 0, 0, got, want)
		COMPARE(eq, x == y);
		COMPARE(lt, x < y);
		COMPARE(le, x <= y);
#undef COMPARE
		uint32_t as = random_s(&r), bs = rng_below(&r, 4) ? random_s(&r) : as ^ 1u << 31;
		volatile float xs = fp_to_float(as), ys = fp_to_float(bs);

#define COMPARE(name, expression)                                                                  \
	feclearexcept(FE_ALL_EXCEPT);                                                              \
	want.bits = expression;                                                                    \
	want.flags = host_flags();                                                                 \
	got.flags = 0;                                                                             \
	got.bits = fp_soft_##name##_s(as, bs, &got.flags);                                         \
	check(#name, as, bs, 0, 0, got, want)
		COMPARE(eq, xs == ys);
		COMPARE(lt, xs < ys);
		COMPARE(le, xs <= ys);
#undef COMPARE
	}
}

#define SNAN_D 0x7ff0000000000001ull
#define SNAN_S 0x7f800001u

static void test_151_minimum_and_maximum_prefer_numbers_and_order_zeros(void **state)
{
	const uint64_t plus = 0, minus = 1ull << 63, one = fp_from_double(1);
	const uint64_t quiet = 0xfff8000000001234ull;
	uint32_t flags = 0;

	assert_int_equal(fp_soft_min_d(plus, minus, &flags), minus);
	assert_int_equal(fp_soft_min_d(minus, plus, &flags), minus);
	assert_int_equal(fp_soft_max_d(plus, minus, &flags), plus);
	assert_int_equal(fp_soft_max_d(minus, plus, &flags), plus);
	assert_int_equal(fp_soft_min_d(quiet, one, &flags), one);
	assert_int_equal(fp_soft_max_d(one, quiet, &flags), one);
	assert_int_equal(fp_soft_max_d(quiet, quiet, &flags), FP_NAN_D);
	assert_int_equal(flags, 0);
	assert_int_equal(fp_soft_min_d(SNAN_D, one, &flags), one);
	assert_int_equal(flags, FP_NV);
	flags = 0;
	assert_int_equal(fp_soft_max_s(SNAN_S, SNAN_S, &flags), FP_NAN_S);
	assert_int_equal(flags, FP_NV);
}

static void test_152_every_class_has_its_bit(void **state)
{
	static const uint64_t d[10] = {
		0xfff0000000000000,
		0xbff0000000000000,
		0x8000000000000001,
		0x8000000000000000,
		0,
		0x000fffffffffffff,
		0x7fefffffffffffff,
		0x7ff0000000000000,
		SNAN_D,
		0xfff8000000000000,
	};
	static const uint32_t s[10] = {
		0xff800000, 0xbf800000, 0x80000001, 0x80000000, 0,
		0x007fffff, 0x7f7fffff, 0x7f800000, SNAN_S,	0xffc00000,
	};

	for (int i = 0; i < 10; i++) {
		assert_int_equal(fp_class_d(d[i]), 1u << i);
		assert_int_equal(fp_class_s(s[i]), 1u << i);
	}
}

static void test_153_what_is_not_boxed_is_the_canonical_nan(void **state)
{
	assert_int_equal(fp_unbox(0xffffffff3f800000), 0x3f800000);
	assert_int_equal(fp_unbox(0xfffffffe3f800000), FP_NAN_S);
	assert_int_equal(fp_unbox(0x000000003f800000), FP_NAN_S);
	assert_int_equal(fp_box(0x3f800000), 0xffffffff3f800000);
}

/* The smallest normal number minus less than half a unit rounds up, and is not tiny after
 * rounding. */
static void test_154_tininess_is_detected_after_rounding(void **state)
{
	uint64_t below_one = 0x3fefffffffffffff, least = 1ull << 52;
	uint32_t flags = 0;

	/* (1 - 2^-53) * least lies half a unit below least; nearest-even gives least itself. */
	assert_int_equal(fp_soft_mul_d(below_one, least, FP_RNE, &flags), least);
	assert_int_equal(flags, FP_NX | FP_UF);
	/* least * (1 + 2^-52) * (1 - 2^-53) is above least - 2^-54 * least: full precision reaches
	 * it. */
	flags = 0;
	assert_int_equal(fp_soft_mul_d(0x3ff0000000000001, 0x000fffffffffffff, FP_RUP, &flags),
			 least);
	assert_int_equal(flags, FP_NX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_140_soft_double_arithmetic_is_that_of_the_host),
		cmocka_unit_test(test_141_soft_single_arithmetic_is_that_of_the_host),
		cmocka_unit_test(test_142_fused_products_that_cancel_keep_their_last_bits),
		cmocka_unit_test(test_143_ties_away_in_double_are_those_of_binary128),
		cmocka_unit_test(test_144_ties_away_in_single_are_those_of_binary128),
		cmocka_unit_test(test_145_fast_paths_give_what_the_soft_ones_give),
		cmocka_unit_test(
		    test_146_fast_conversions_and_comparisons_give_what_the_soft_ones_give),
		cmocka_unit_test(test_147_conversions_to_integer_round_saturate_and_flag),
		cmocka_unit_test(test_148_conversions_to_floating_point_are_those_of_the_host),
		cmocka_unit_test(test_149_large_unsigned_integers_convert_like_their_halves),
		cmocka_unit_test(test_150_comparisons_are_those_of_the_host),
		cmocka_unit_test(test_151_minimum_and_maximum_prefer_numbers_and_order_zeros),
		cmocka_unit_test(test_152_every_class_has_its_bit),
		cmocka_unit_test(test_153_what_is_not_boxed_is_the_canonical_nan),
		cmocka_unit_test(test_154_tininess_is_detected_after_rounding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

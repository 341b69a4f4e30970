/* SPDX-License-Identifier: MIT */
/*
 * Integer semantics too long for a row of isa/insts.def. Registers are uint64_t; a 32-bit operation
 * ("w") uses the low halves and sign-extends its result. Nothing traps: division by zero and
 * overflow give what the M extension says.
 */
#ifndef ISA_ALU_H
#define ISA_ALU_H

#include <stdint.h>

static inline uint64_t alu_sext_w(uint64_t v)
{
	return (uint64_t)(int64_t)(int32_t)(uint32_t)v;
}

static inline uint64_t alu_mulh(uint64_t a, uint64_t b)
{
	return (uint64_t)(((__int128)(int64_t)a * (int64_t)b) >> 64);
}

static inline uint64_t alu_mulhsu(uint64_t a, uint64_t b)
{
	return (uint64_t)(((__int128)(int64_t)a * (__int128)b) >> 64);
}

static inline uint64_t alu_mulhu(uint64_t a, uint64_t b)
{
	return (uint64_t)(((unsigned __int128)a * b) >> 64);
}

static inline uint64_t alu_div(uint64_t a, uint64_t b)
{
	if (b == 0)
		return ~0ull;
	if (b == ~0ull)
		return -a; /* also INT64_MIN / -1 */
	return (uint64_t)((int64_t)a / (int64_t)b);
}

static inline uint64_t alu_divu(uint64_t a, uint64_t b)
{
	return b ? a / b : ~0ull;
}

static inline uint64_t alu_rem(uint64_t a, uint64_t b)
{
	if (b == 0)
		return a;
	if (b == ~0ull)
		return 0;
	return (uint64_t)((int64_t)a % (int64_t)b);
}

static inline uint64_t alu_remu(uint64_t a, uint64_t b)
{
	return b ? a % b : a;
}

static inline uint64_t alu_divw(uint64_t a, uint64_t b)
{
	uint32_t n = (uint32_t)a, d = (uint32_t)b;

	if (d == 0)
		return ~0ull;
	if (d == ~0u)
		return alu_sext_w(-n);
	return (uint64_t)(int64_t)((int32_t)n / (int32_t)d);
}

static inline uint64_t alu_divuw(uint64_t a, uint64_t b)
{
	return (uint32_t)b ? alu_sext_w((uint32_t)a / (uint32_t)b) : ~0ull;
}

static inline uint64_t alu_remw(uint64_t a, uint64_t b)
{
	uint32_t n = (uint32_t)a, d = (uint32_t)b;

	if (d == 0)
		return alu_sext_w(n);
	if (d == ~0u)
		return 0;
	return (uint64_t)(int64_t)((int32_t)n % (int32_t)d);
}

static inline uint64_t alu_remuw(uint64_t a, uint64_t b)
{
	return alu_sext_w((uint32_t)b ? (uint32_t)a % (uint32_t)b : (uint32_t)a);
}

static inline uint64_t alu_clz(uint64_t v)
{
	return v ? (uint64_t)__builtin_clzll(v) : 64;
}

static inline uint64_t alu_ctz(uint64_t v)
{
	return v ? (uint64_t)__builtin_ctzll(v) : 64;
}

static inline uint64_t alu_cpop(uint64_t v)
{
	return (uint64_t)__builtin_popcountll(v);
}

static inline uint64_t alu_clzw(uint64_t v)
{
	return (uint32_t)v ? (uint64_t)__builtin_clz((uint32_t)v) : 32;
}

static inline uint64_t alu_ctzw(uint64_t v)
{
	return (uint32_t)v ? (uint64_t)__builtin_ctz((uint32_t)v) : 32;
}

static inline uint64_t alu_cpopw(uint64_t v)
{
	return (uint64_t)__builtin_popcount((uint32_t)v);
}

static inline uint64_t alu_rol(uint64_t v, uint64_t by)
{
	return v << (by & 63) | v >> (-by & 63);
}

static inline uint64_t alu_ror(uint64_t v, uint64_t by)
{
	return v >> (by & 63) | v << (-by & 63);
}

static inline uint64_t alu_rolw(uint64_t v, uint64_t by)
{
	uint32_t w = (uint32_t)v;

	return alu_sext_w(w << (by & 31) | w >> (-by & 31));
}

static inline uint64_t alu_rorw(uint64_t v, uint64_t by)
{
	uint32_t w = (uint32_t)v;

	return alu_sext_w(w >> (by & 31) | w << (-by & 31));
}

/* Each byte becomes 0xff unless it is zero. */
static inline uint64_t alu_orc_b(uint64_t v)
{
	uint64_t low = 0x0101010101010101ull;

	v |= v >> 4 & low * 0x0f;
	v |= v >> 2 & low * 0x03;
	v |= v >> 1 & low;
	return (v & low) * 0xff;
}

static inline int32_t alu_amomin_w(int32_t old, uint64_t v)
{
	return old < (int32_t)v ? old : (int32_t)v;
}

static inline int32_t alu_amomax_w(int32_t old, uint64_t v)
{
	return old > (int32_t)v ? old : (int32_t)v;
}

static inline uint32_t alu_amominu_w(int32_t old, uint64_t v)
{
	return (uint32_t)old < (uint32_t)v ? (uint32_t)old : (uint32_t)v;
}

static inline uint32_t alu_amomaxu_w(int32_t old, uint64_t v)
{
	return (uint32_t)old > (uint32_t)v ? (uint32_t)old : (uint32_t)v;
}

static inline int64_t alu_amomin_d(int64_t old, uint64_t v)
{
	return old < (int64_t)v ? old : (int64_t)v;
}

static inline int64_t alu_amomax_d(int64_t old, uint64_t v)
{
	return old > (int64_t)v ? old : (int64_t)v;
}

static inline uint64_t alu_amominu_d(int64_t old, uint64_t v)
{
	return (uint64_t)old < v ? (uint64_t)old : v;
}

static inline uint64_t alu_amomaxu_d(int64_t old, uint64_t v)
{
	return (uint64_t)old > v ? (uint64_t)old : v;
}

#endif

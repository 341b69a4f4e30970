/* SPDX-License-Identifier: MIT */
/*
 * Floating point for the x86-64 translator: the host's scalar SSE (and FMA) does the arithmetic.
 *
 * Why that is exact: both sides follow IEEE 754, detect tininess after rounding, and code runs only
 * with round-to-nearest-even; MXCSR accrues invalid, divide by zero, overflow, underflow and
 * inexact just as fflags does. What differs takes the slow path: any NaN result (payloads and signs
 * differ, and 0 * inf + NaN), operands of min and max that are equal or unordered, conversions
 * whose result does not fit, singles that are not NaN-boxed, and other static rounding modes. A
 * trial on the host that ends in the slow path has raised no flag that the operation does not
 * raise.
 *
 * A single stays NaN-boxed because SSE leaves the upper half of its destination alone.
 */
#include "guest/engine/jit_x86_64.h"

#define PD   0xf2 /* prefix: scalar double */
#define PS   0xf3 /* scalar single */
#define CC_O 0

enum {
	MOVAPS = 0x0f28,
	UCOMIS = 0x0f2e,
	COMIS = 0x0f2f,
	ANDPS = 0x0f54,
	ANDNPS = 0x0f55,
	ORPS = 0x0f56,
	XORPS = 0x0f57,
	SQRT = 0x0f51,
	ADD = 0x0f58,
	MUL = 0x0f59,
	SUB = 0x0f5c,
	MIN = 0x0f5d,
	DIV = 0x0f5e,
	MAX = 0x0f5f,
	CONVERT = 0x0f5a
};

void trans_forget_fp(struct trans *t)
{
	memset(t->xmm_of, REG_NONE, sizeof(t->xmm_of));
	memset(t->freg_of, REG_NONE, sizeof(t->freg_of));
	if (t->in && op_info[t->in->op].flags & OPF_RD_FP)
		t->boxed[t->in->rd] = false;
}

static bool is_operand(const struct trans *t, unsigned f)
{
	unsigned flags = op_info[t->in->op].flags;

	return (flags & OPF_RS1_FP && t->in->rs1 == f) || (flags & OPF_RS2_FP && t->in->rs2 == f) ||
	       (flags & OPF_RS3_FP && t->in->rs3 == f);
}

/* A register for a copy of f, taken from one that this instruction does not need. */
static unsigned allocate(struct trans *t, unsigned f)
{
	while (t->freg_of[t->next_xmm] != REG_NONE && is_operand(t, t->freg_of[t->next_xmm]))
		t->next_xmm = t->next_xmm == 15 ? 2 : t->next_xmm + 1;
	unsigned x = t->next_xmm;
	t->next_xmm = x == 15 ? 2 : x + 1;
	if (t->freg_of[x] != REG_NONE)
		t->xmm_of[t->freg_of[x]] = REG_NONE;
	t->freg_of[x] = (uint8_t)f;
	t->xmm_of[f] = (uint8_t)x;
	return x;
}

static unsigned use_d(struct trans *t, unsigned f)
{
	if (t->xmm_of[f] == REG_NONE)
		asm_sse(&t->c, 0xf3, 0x0f7e, allocate(t, f), trans_f(f)); /* movq */
	return t->xmm_of[f];
}

static unsigned use_s(struct trans *t, unsigned f)
{
	if (!t->boxed[f]) {
		struct opnd upper = trans_f(f);
		upper.disp += 4;
		asm_alu_imm(&t->c, ALU_CMP, 0, upper, -1);
		trans_slow_if(t, CC_NE);
		/* The code that follows may rely on the check, so the slow path does not come back
		 * into the block. Where whole blocks are counted it must come back, so there each
		 * use checks again. */
		if (!t->e->counts) {
			t->boxed[f] = true;
			t->slow[t->i].leaves = true;
		}
	}
	return use_d(t, f);
}

static unsigned use(struct trans *t, unsigned prefix, unsigned f)
{
	return prefix == PD ? use_d(t, f) : use_s(t, f);
}

static unsigned dest(struct trans *t)
{
	unsigned f = t->in->rd;

	return t->xmm_of[f] != REG_NONE ? t->xmm_of[f] : allocate(t, f);
}

/* f[rd] has been computed in x, its register. */
static void done(struct trans *t, unsigned prefix, unsigned x)
{
	asm_op(&t->c, 0x66, 0, 0x0fd6, x, trans_f(t->in->rd), 0); /* movq */
	t->boxed[t->in->rd] = prefix == PS;
}

static void compare(struct trans *t, unsigned prefix, unsigned opcode, unsigned a, unsigned b)
{
	asm_op(&t->c, prefix == PD ? 0x66 : 0, 0, opcode, a, asm_reg(b), 0);
}

static void slow_if_nan(struct trans *t, unsigned prefix, unsigned x)
{
	compare(t, prefix, UCOMIS, x, x);
	trans_slow_if(t, CC_P);
}

static void move(struct trans *t, unsigned to, unsigned from)
{
	if (to != from)
		asm_op(&t->c, 0, 0, MOVAPS, to, asm_reg(from), 0);
}

static bool rounds_to_even(const struct trans *t)
{
	return t->in->rm == 0 || t->in->rm == 7;
}

static bool arith(struct trans *t, unsigned prefix, unsigned opcode)
{
	if (!rounds_to_even(t))
		return false;
	unsigned a = use(t, prefix, t->in->rs1);
	unsigned b = use(t, prefix, t->in->rs2);
	unsigned d = dest(t);
	if (d == b && d != a) {
		if (opcode == ADD || opcode == MUL) {
			asm_sse(&t->c, prefix, opcode, d, asm_reg(a));
		} else {
			move(t, 0, a);
			asm_sse(&t->c, prefix, opcode, 0, asm_reg(b));
			move(t, d, 0);
		}
	} else {
		move(t, d, a);
		asm_sse(&t->c, prefix, opcode, d, asm_reg(b));
	}
	slow_if_nan(t, prefix, d);
	done(t, prefix, d);
	return true;
}

static bool square_root(struct trans *t, unsigned prefix)
{
	if (!rounds_to_even(t))
		return false;
	unsigned a = use(t, prefix, t->in->rs1);
	unsigned d = dest(t);
	move(t, d, a);
	asm_sse(&t->c, prefix, SQRT, d, asm_reg(a));
	slow_if_nan(t, prefix, d);
	done(t, prefix, d);
	return true;
}

/* opcode: the 213 form, dst = src * dst + third */
static bool fused(struct trans *t, unsigned prefix, unsigned opcode)
{
	if (!t->j->has_fma || !rounds_to_even(t))
		return false;
	unsigned a = use(t, prefix, t->in->rs1);
	unsigned b = use(t, prefix, t->in->rs2);
	unsigned c = use(t, prefix, t->in->rs3);
	unsigned d = dest(t);
	move(t, 0, a);
	asm_vex(&t->c, 2, 1, prefix == PD, opcode, 0, b, c);
	slow_if_nan(t, prefix, 0);
	move(t, d, 0);
	done(t, prefix, d);
	return true;
}

static bool min_max(struct trans *t, unsigned prefix, unsigned opcode)
{
	unsigned a = use(t, prefix, t->in->rs1);
	unsigned b = use(t, prefix, t->in->rs2);

	compare(t, prefix, UCOMIS, a, b);
	trans_slow_if(t, CC_E); /* equal (perhaps +0 and -0) or unordered */
	unsigned d = dest(t);
	if (d == b) {
		asm_sse(&t->c, prefix, opcode, d, asm_reg(a));
	} else {
		move(t, d, a);
		asm_sse(&t->c, prefix, opcode, d, asm_reg(b));
	}
	done(t, prefix, d);
	return true;
}

enum { SIGN_COPY, SIGN_NOT, SIGN_XOR };

static bool sign(struct trans *t, unsigned prefix, unsigned kind)
{
	const struct inst *in = t->in;
	struct code *c = &t->c;
	struct opnd sign_bit = asm_near(prefix == PD ? t->j->data->sign_d : t->j->data->sign_s);
	struct opnd others = asm_near(prefix == PD ? t->j->data->abs_d : t->j->data->abs_s);
	unsigned a = use(t, prefix, in->rs1);
	unsigned b = use(t, prefix, in->rs2);
	unsigned d = dest(t);

	if (in->rs1 == in->rs2) {
		move(t, d, a);
		if (kind == SIGN_NOT)
			asm_op(c, 0, 0, XORPS, d, sign_bit, 0);
		else if (kind == SIGN_XOR)
			asm_op(c, 0, 0, ANDPS, d, others, 0);
	} else {
		move(t, 0, b);
		if (kind == SIGN_NOT)
			asm_op(c, 0, 0, XORPS, 0, sign_bit, 0);
		asm_op(c, 0, 0, ANDPS, 0, sign_bit, 0);
		move(t, d, a);
		if (kind == SIGN_XOR) {
			asm_op(c, 0, 0, XORPS, d, asm_reg(0), 0);
		} else {
			asm_op(c, 0, 0, ANDPS, d, others, 0);
			asm_op(c, 0, 0, ORPS, d, asm_reg(0), 0);
		}
	}
	done(t, prefix, d);
	return true;
}

static bool equal(struct trans *t, unsigned prefix)
{
	unsigned a = use(t, prefix, t->in->rs1);
	unsigned b = use(t, prefix, t->in->rs2);

	compare(t, prefix, UCOMIS, a, b);
	asm_setcc(&t->c, CC_NP, RAX);
	asm_setcc(&t->c, CC_E, RCX);
	asm_op(&t->c, 0, 0, 0x21, RCX, asm_reg(RAX), 0); /* and */
	asm_movzx8(&t->c, RAX, RAX);
	trans_done(t, t->in->rd, RAX);
	return true;
}

/* cc for swapped operands, so that an unordered pair gives 0. */
static bool less(struct trans *t, unsigned prefix, enum host_cc cc)
{
	unsigned a = use(t, prefix, t->in->rs1);
	unsigned b = use(t, prefix, t->in->rs2);

	compare(t, prefix, COMIS, b, a);
	asm_setcc(&t->c, cc, RAX);
	asm_movzx8(&t->c, RAX, RAX);
	trans_done(t, t->in->rd, RAX);
	return true;
}

/* To a signed integer of 32 (w 0) or 64 bits. What does not fit comes out as the smallest integer.
 */
static bool to_int(struct trans *t, unsigned prefix, unsigned w)
{
	unsigned rm = t->in->rm;
	unsigned opcode = rm == 1 ? 0x0f2c : 0x0f2d; /* cvtt, cvt */
	unsigned a;

	if (rm == 0 || rm == 1 || rm == 7) {
		a = use(t, prefix, t->in->rs1);
	} else if ((rm == 2 || rm == 3) && w && prefix == PD && t->j->has_sse41) {
		/* Down or up: numbers too large for 64 bits are whole, so this is inexact only if
		 * the conversion is. */
		a = use(t, prefix, t->in->rs1);
		asm_op(&t->c, 0x66, 0, 0x0f3a0b, 0, asm_reg(a), 1); /* roundsd */
		asm_u8(&t->c, rm == 2 ? 1 : 2);
		a = 0;
		opcode = 0x0f2c;
	} else {
		return false;
	}
	asm_op(&t->c, prefix, w, opcode, RAX, asm_reg(a), 0);
	asm_alu_imm(&t->c, ALU_CMP, w, asm_reg(RAX), 1);
	trans_slow_if(t, CC_O);
	if (!w)
		asm_movsxd(&t->c, RAX, asm_reg(RAX));
	trans_done(t, t->in->rd, RAX);
	return true;
}

/* To an unsigned integer, truncating; limit: the first double that does not fit, at most 2^63. */
static bool to_unsigned(struct trans *t, const double *limit, bool word)
{
	if (t->in->rm != 1)
		return false;
	unsigned a = use_d(t, t->in->rs1);
	asm_op(&t->c, 0, 0, XORPS, 0, asm_reg(0), 0);
	compare(t, PD, COMIS, a, 0);
	trans_slow_if(t, CC_B); /* negative or unordered */
	asm_op(&t->c, 0x66, 0, COMIS, a, asm_near(limit), 0);
	trans_slow_if(t, CC_AE);
	asm_op(&t->c, PD, ASM_W, 0x0f2c, RAX, asm_reg(a), 0);
	if (word)
		asm_movsxd(&t->c, RAX, asm_reg(RAX));
	trans_done(t, t->in->rd, RAX);
	return true;
}

enum { FROM_W, FROM_WU, FROM_L, FROM_LU };

static bool from_int(struct trans *t, unsigned prefix, unsigned kind)
{
	const struct inst *in = t->in;
	struct code *c = &t->c;
	bool exact = prefix == PD && (kind == FROM_W || kind == FROM_WU) && in->rm < 5;
	unsigned w = kind == FROM_W ? 0 : ASM_W;
	unsigned a = RAX;

	if (!exact && !rounds_to_even(t))
		return false;
	if (kind == FROM_WU)
		asm_op(c, 0, 0, 0x8b, RAX, trans_x(in->rs1), 0);
	else
		a = trans_use(t, in->rs1, RAX);
	if (kind == FROM_LU) {
		asm_test(c, ASM_W, a, a);
		trans_slow_if(t, CC_S);
	}
	unsigned d = dest(t);
	if (prefix == PD)
		asm_op(c, 0, 0, XORPS, d, asm_reg(d), 0);
	else
		asm_op(c, 0, 0, MOVAPS, d, asm_near(t->j->data->box), 0);
	asm_op(c, prefix, w, 0x0f2a, d, asm_reg(a), 0);
	done(t, prefix, d);
	return true;
}

static bool convert(struct trans *t, bool to_single)
{
	if (!rounds_to_even(t))
		return false;
	unsigned a = use(t, to_single ? PD : PS, t->in->rs1);
	unsigned d = dest(t);
	if (to_single)
		asm_op(&t->c, 0, 0, MOVAPS, 0, asm_near(t->j->data->box), 0);
	else
		asm_op(&t->c, 0, 0, XORPS, 0, asm_reg(0), 0);
	asm_sse(&t->c, to_single ? PD : PS, CONVERT, 0, asm_reg(a));
	slow_if_nan(t, to_single ? PS : PD, 0);
	move(t, d, 0);
	done(t, to_single ? PS : PD, d);
	return true;
}

static bool to_x(struct trans *t, unsigned opcode)
{
	asm_op(&t->c, 0, ASM_W, opcode, RAX, trans_f(t->in->rs1), 0);
	trans_done(t, t->in->rd, RAX);
	return true;
}

static bool from_x(struct trans *t, unsigned prefix)
{
	unsigned a = RAX;

	if (prefix == PD) {
		a = trans_use(t, t->in->rs1, RAX);
	} else {
		asm_op(&t->c, 0, 0, 0x8b, RAX, trans_x(t->in->rs1), 0);
		asm_alu(&t->c, ALU_OR, ASM_W, RAX, asm_near(t->j->data->box));
	}
	unsigned d = dest(t);
	asm_op(&t->c, 0x66, ASM_W, 0x0f6e, d, asm_reg(a), 0); /* movq */
	done(t, prefix, d);
	return true;
}

static bool load(struct trans *t, unsigned prefix)
{
	struct opnd at = trans_address(t);
	unsigned d = dest(t);

	trans_touch_before(t, at);
	if (prefix == PD) {
		asm_sse(&t->c, 0xf3, 0x0f7e, d, at); /* movq */
		trans_touch_after(t);
	} else {
		asm_sse(&t->c, PS, 0x0f10, d, at); /* movss */
		trans_touch_after(t);
		asm_op(&t->c, 0, 0, ORPS, d, asm_near(t->j->data->box), 0);
	}
	done(t, prefix, d);
	return true;
}

static bool store(struct trans *t, unsigned prefix)
{
	struct opnd at = trans_address(t);
	unsigned f = t->in->rs2;

	trans_touch_before(t, at);
	if (t->xmm_of[f] != REG_NONE) {
		if (prefix == PD)
			asm_op(&t->c, 0x66, 0, 0x0fd6, t->xmm_of[f], at, 0); /* movq */
		else
			asm_sse(&t->c, PS, 0x0f11, t->xmm_of[f], at); /* movss */
		trans_touch_after(t);
		return true;
	}
	unsigned w = prefix == PD ? ASM_W : 0;
	asm_op(&t->c, 0, w, 0x8b, RCX, trans_f(f), 0);
	asm_op(&t->c, 0, w, 0x89, RCX, at, 0);
	trans_touch_after(t);
	return true;
}

static bool trans_convert(struct trans *t)
{
	switch (t->in->op) {
	case OP_FCVT_W_D:
		return to_int(t, PD, 0);
	case OP_FCVT_L_D:
		return to_int(t, PD, ASM_W);
	case OP_FCVT_W_S:
		return to_int(t, PS, 0);
	case OP_FCVT_L_S:
		return to_int(t, PS, ASM_W);
	case OP_FCVT_WU_D:
		return to_unsigned(t, &t->j->data->two_32, true);
	case OP_FCVT_LU_D:
		return to_unsigned(t, &t->j->data->two_63, false);
	case OP_FCVT_D_W:
		return from_int(t, PD, FROM_W);
	case OP_FCVT_D_WU:
		return from_int(t, PD, FROM_WU);
	case OP_FCVT_D_L:
		return from_int(t, PD, FROM_L);
	case OP_FCVT_D_LU:
		return from_int(t, PD, FROM_LU);
	case OP_FCVT_S_W:
		return from_int(t, PS, FROM_W);
	case OP_FCVT_S_WU:
		return from_int(t, PS, FROM_WU);
	case OP_FCVT_S_L:
		return from_int(t, PS, FROM_L);
	case OP_FCVT_S_LU:
		return from_int(t, PS, FROM_LU);
	case OP_FCVT_S_D:
		return convert(t, true);
	case OP_FCVT_D_S:
		return convert(t, false);
	case OP_FMV_X_D:
		return to_x(t, 0x8b);
	case OP_FMV_X_W:
		return to_x(t, 0x63);
	case OP_FMV_D_X:
		return from_x(t, PD);
	case OP_FMV_W_X:
		return from_x(t, PS);
	default:
		return false;
	}
}

bool trans_fp(struct trans *t)
{
	switch (t->in->op) {
	case OP_FLW:
		return load(t, PS);
	case OP_FLD:
		return load(t, PD);
	case OP_FSW:
		return store(t, PS);
	case OP_FSD:
		return store(t, PD);
	case OP_FADD_S:
		return arith(t, PS, ADD);
	case OP_FADD_D:
		return arith(t, PD, ADD);
	case OP_FSUB_S:
		return arith(t, PS, SUB);
	case OP_FSUB_D:
		return arith(t, PD, SUB);
	case OP_FMUL_S:
		return arith(t, PS, MUL);
	case OP_FMUL_D:
		return arith(t, PD, MUL);
	case OP_FDIV_S:
		return arith(t, PS, DIV);
	case OP_FDIV_D:
		return arith(t, PD, DIV);
	case OP_FSQRT_S:
		return square_root(t, PS);
	case OP_FSQRT_D:
		return square_root(t, PD);
	case OP_FMADD_S:
		return fused(t, PS, 0xa9);
	case OP_FMADD_D:
		return fused(t, PD, 0xa9);
	case OP_FMSUB_S:
		return fused(t, PS, 0xab);
	case OP_FMSUB_D:
		return fused(t, PD, 0xab);
	case OP_FNMSUB_S:
		return fused(t, PS, 0xad);
	case OP_FNMSUB_D:
		return fused(t, PD, 0xad);
	case OP_FNMADD_S:
		return fused(t, PS, 0xaf);
	case OP_FNMADD_D:
		return fused(t, PD, 0xaf);
	case OP_FSGNJ_S:
		return sign(t, PS, SIGN_COPY);
	case OP_FSGNJ_D:
		return sign(t, PD, SIGN_COPY);
	case OP_FSGNJN_S:
		return sign(t, PS, SIGN_NOT);
	case OP_FSGNJN_D:
		return sign(t, PD, SIGN_NOT);
	case OP_FSGNJX_S:
		return sign(t, PS, SIGN_XOR);
	case OP_FSGNJX_D:
		return sign(t, PD, SIGN_XOR);
	case OP_FMIN_S:
		return min_max(t, PS, MIN);
	case OP_FMIN_D:
		return min_max(t, PD, MIN);
	case OP_FMAX_S:
		return min_max(t, PS, MAX);
	case OP_FMAX_D:
		return min_max(t, PD, MAX);
	case OP_FEQ_S:
		return equal(t, PS);
	case OP_FEQ_D:
		return equal(t, PD);
	case OP_FLT_S:
		return less(t, PS, CC_A);
	case OP_FLT_D:
		return less(t, PD, CC_A);
	case OP_FLE_S:
		return less(t, PS, CC_AE);
	case OP_FLE_D:
		return less(t, PD, CC_AE);
	default:
		return trans_convert(t);
	}
}

/* SPDX-License-Identifier: MIT */
/*
 * Integer operations, loads and stores for the x86-64 translator.
 *
 * An access checks its base register against the guest's limit once; later accesses in the block
 * from the same register, or from it plus small constants, cannot miss the guest's region by more
 * than the guards around it, and need no check. The exact address is in the host's fault report.
 */
#include "guest/engine/jit_x86_64.h"
#include "isa/csr.h"

/* rd = rs1 op rs2 */
static void binary(struct trans *t, enum host_alu op)
{
	const struct inst *in = t->in;
	struct code *c = &t->c;
	unsigned d = trans_dest(in->rd, RAX);
	unsigned a = jit_host_of[in->rs1], b = jit_host_of[in->rs2];

	if (op == ALU_ADD && (in->rs1 == 0 || in->rs2 == 0)) { /* mv */
		unsigned r = in->rs1 ? in->rs1 : in->rs2;
		int32_t slack = t->slack[r];
		if (jit_host_of[in->rd] != REG_NONE || jit_host_of[r] == REG_NONE) {
			if (d != jit_host_of[r])
				asm_load(c, d, trans_x(r));
		} else {
			d = jit_host_of[r];
		}
		trans_done(t, in->rd, d);
		t->slack[in->rd] = slack;
		return;
	}
	if (d == a) {
		asm_alu(c, op, ASM_W, d, trans_x(in->rs2));
	} else if (d == b) {
		if (op == ALU_SUB) {
			asm_op(c, 0, ASM_W, 0xf7, 3, asm_reg(d), 0); /* neg */
			op = ALU_ADD;
		}
		asm_alu(c, op, ASM_W, d, trans_x(in->rs1));
	} else if (op == ALU_ADD && a != REG_NONE && b != REG_NONE) {
		asm_lea(c, ASM_W, d, asm_index(a, b, 0, 0));
	} else {
		asm_load(c, d, trans_x(in->rs1));
		asm_alu(c, op, ASM_W, d, trans_x(in->rs2));
	}
	trans_done(t, in->rd, d);
}

/* rd = sign-extended low half of rs1 op rs2 */
static void binary_w(struct trans *t, enum host_alu op)
{
	unsigned d = trans_dest(t->in->rd, RAX);

	asm_op(&t->c, 0, 0, 0x8b, RAX, trans_x(t->in->rs1), 0);
	asm_alu(&t->c, op, 0, RAX, trans_x(t->in->rs2));
	asm_movsxd(&t->c, d, asm_reg(RAX));
	trans_done(t, t->in->rd, d);
}

static void binary_imm(struct trans *t, enum host_alu op)
{
	const struct inst *in = t->in;
	unsigned d = trans_dest(in->rd, RAX);

	if (d != jit_host_of[in->rs1])
		asm_load(&t->c, d, trans_x(in->rs1));
	asm_alu_imm(&t->c, op, ASM_W, asm_reg(d), in->imm);
	trans_done(t, in->rd, d);
}

static void add_imm(struct trans *t)
{
	const struct inst *in = t->in;
	unsigned d = trans_dest(in->rd, RAX);
	unsigned a = jit_host_of[in->rs1];
	int32_t slack = t->slack[in->rs1];

	if (in->rs1 == 0)
		asm_imm(&t->c, d, (uint64_t)(int64_t)in->imm);
	else if (a == REG_NONE || d == a) {
		if (a == REG_NONE)
			asm_load(&t->c, d, trans_x(in->rs1));
		if (in->imm)
			asm_alu_imm(&t->c, ALU_ADD, ASM_W, asm_reg(d), in->imm);
	} else if (in->imm) {
		asm_lea(&t->c, ASM_W, d, asm_mem(a, in->imm));
	} else {
		d = jit_host_of[in->rd] != REG_NONE ? d : a;
		asm_mov(&t->c, d, a);
	}
	trans_done(t, in->rd, d);
	if (slack >= 0 && in->rs1) {
		slack += in->imm < 0 ? -in->imm : in->imm;
		t->slack[in->rd] = slack < (int32_t)(GUEST_GUARD_BYTES / 2) ? slack : -1;
	}
}

static void add_imm_w(struct trans *t)
{
	const struct inst *in = t->in;
	unsigned d = trans_dest(in->rd, RAX);

	if (in->imm == 0) {
		asm_movsxd(&t->c, d, trans_x(in->rs1));
	} else if (jit_host_of[in->rs1] != REG_NONE) {
		asm_lea(&t->c, 0, RAX, asm_mem(jit_host_of[in->rs1], in->imm));
		asm_movsxd(&t->c, d, asm_reg(RAX));
	} else {
		asm_op(&t->c, 0, 0, 0x8b, RAX, trans_x(in->rs1), 0);
		asm_alu_imm(&t->c, ALU_ADD, 0, asm_reg(RAX), in->imm);
		asm_movsxd(&t->c, d, asm_reg(RAX));
	}
	trans_done(t, in->rd, d);
}

static void shift_imm(struct trans *t, enum host_shift op, bool word)
{
	const struct inst *in = t->in;
	unsigned d = trans_dest(in->rd, RAX);

	if (word) {
		asm_op(&t->c, 0, 0, 0x8b, RAX, trans_x(in->rs1), 0);
		if (in->imm)
			asm_shift_imm(&t->c, op, 0, RAX, (unsigned)in->imm);
		asm_movsxd(&t->c, d, asm_reg(RAX));
	} else {
		if (d != jit_host_of[in->rs1])
			asm_load(&t->c, d, trans_x(in->rs1));
		if (in->imm)
			asm_shift_imm(&t->c, op, ASM_W, d, (unsigned)in->imm);
	}
	trans_done(t, in->rd, d);
}

static void shift_reg(struct trans *t, enum host_shift op, bool word)
{
	const struct inst *in = t->in;
	struct code *c = &t->c;
	unsigned d = trans_dest(in->rd, RAX);

	/* The host masks the count as the guest does: 5 bits for words, 6 for double words. */
	if (t->j->has_bmi2 && op != SHIFT_ROL && op != SHIFT_ROR) {
		unsigned pp = op == SHIFT_LEFT ? 1 : op == SHIFT_RIGHT ? 3 : 2;
		unsigned n = trans_use(t, in->rs2, RCX);
		unsigned a = trans_use(t, in->rs1, RDX);
		unsigned r = word ? RAX : d;
		asm_vex(c, 2, pp, !word, 0xf7, r, n, a);
	} else {
		asm_load(c, RCX, trans_x(in->rs2));
		asm_load(c, RAX, trans_x(in->rs1));
		asm_op(c, 0, word ? 0 : ASM_W, 0xd3, op, asm_reg(RAX), 0);
		if (!word)
			asm_mov(c, d, RAX);
	}
	if (word)
		asm_movsxd(c, d, asm_reg(RAX));
	trans_done(t, in->rd, d);
}

/* rd = the flags say cc; they have been set. */
static void set_from_flags(struct trans *t, enum host_cc cc)
{
	unsigned d = trans_dest(t->in->rd, RAX);

	asm_setcc(&t->c, cc, RAX);
	asm_movzx8(&t->c, d, RAX);
	trans_done(t, t->in->rd, d);
}

static void set_less(struct trans *t, enum host_cc cc)
{
	const struct inst *in = t->in;

	if (in->rs1 == 0 && cc == CC_B) { /* snez */
		unsigned b = trans_use(t, in->rs2, RAX);
		asm_test(&t->c, ASM_W, b, b);
		set_from_flags(t, CC_NE);
		return;
	}
	unsigned a = trans_use(t, in->rs1, RAX);
	asm_alu(&t->c, ALU_CMP, ASM_W, a, trans_x(in->rs2));
	set_from_flags(t, cc);
}

static void set_less_imm(struct trans *t, enum host_cc cc)
{
	asm_alu_imm(&t->c, ALU_CMP, ASM_W, trans_x(t->in->rs1), t->in->imm);
	set_from_flags(t, cc);
}

static void multiply(struct trans *t, bool word)
{
	const struct inst *in = t->in;
	unsigned d = word ? RAX : trans_dest(in->rd, RAX);
	unsigned w = word ? 0 : ASM_W;

	if (d == jit_host_of[in->rs1] && !word) {
		asm_op(&t->c, 0, w, 0x0faf, d, trans_x(in->rs2), 0);
	} else if (d == jit_host_of[in->rs2] && !word) {
		asm_op(&t->c, 0, w, 0x0faf, d, trans_x(in->rs1), 0);
	} else {
		asm_op(&t->c, 0, w, 0x8b, d, trans_x(in->rs1), 0);
		asm_op(&t->c, 0, w, 0x0faf, d, trans_x(in->rs2), 0);
	}
	if (word) {
		unsigned to = trans_dest(in->rd, RAX);
		asm_movsxd(&t->c, to, asm_reg(RAX));
		d = to;
	}
	trans_done(t, in->rd, d);
}

static void multiply_high(struct trans *t, bool is_signed)
{
	asm_load(&t->c, RAX, trans_x(t->in->rs1));
	asm_op(&t->c, 0, ASM_W, 0xf7, is_signed ? 5 : 4, trans_x(t->in->rs2), 0);
	trans_done(t, t->in->rd, RDX);
}

/* Division by 0 and (signed) by -1, which may overflow, take the slow path. */
static void divide(struct trans *t, bool is_signed, bool word, bool remainder)
{
	const struct inst *in = t->in;
	struct code *c = &t->c;
	unsigned w = word ? 0 : ASM_W;

	asm_op(c, 0, w, 0x8b, RCX, trans_x(in->rs2), 0);
	asm_op(c, 0, w, 0x8b, RAX, trans_x(in->rs1), 0);
	if (is_signed) {
		asm_lea(c, w, RDX, asm_mem(RCX, 1));
		asm_alu_imm(c, ALU_CMP, w, asm_reg(RDX), 1);
		trans_slow_if(t, CC_BE);
		asm_op(c, 0, w, 0x99, 0, asm_reg(0),
		       0); /* cqo, cdq; the ModRM byte is taken back */
		c->p--;
		asm_op(c, 0, w, 0xf7, 7, asm_reg(RCX), 0);
	} else {
		asm_test(c, w, RCX, RCX);
		trans_slow_if(t, CC_E);
		asm_op(c, 0, 0, 0x31, RDX, asm_reg(RDX), 0);
		asm_op(c, 0, w, 0xf7, 6, asm_reg(RCX), 0);
	}
	unsigned r = remainder ? RDX : RAX;
	if (word)
		asm_movsxd(c, r, asm_reg(r));
	trans_done(t, in->rd, r);
}

/* Zba: rd = (rs1 << n) + rs2, rs1 as an unsigned word if uw */
static void shift_add(struct trans *t, unsigned n, bool uw)
{
	const struct inst *in = t->in;
	unsigned d = trans_dest(in->rd, RAX);
	unsigned a;

	if (uw) {
		asm_op(&t->c, 0, 0, 0x8b, RCX, trans_x(in->rs1), 0);
		a = RCX;
	} else {
		a = trans_use(t, in->rs1, RCX);
	}
	unsigned b = trans_use(t, in->rs2, RAX);
	asm_lea(&t->c, ASM_W, d, asm_index(b, a, n, 0));
	trans_done(t, in->rd, d);
}

/* rd = rs1 extended by a two-byte move. */
static void extend(struct trans *t, unsigned w, unsigned opcode)
{
	unsigned d = trans_dest(t->in->rd, RAX);

	asm_op(&t->c, 0, w | ASM_BYTE_RM, opcode, d, trans_x(t->in->rs1), 0);
	trans_done(t, t->in->rd, d);
}

/* rd = cc after comparing rs1 with rs2 ? rs1 : rs2 */
static void select_by(struct trans *t, enum host_cc keep_first)
{
	asm_load(&t->c, RAX, trans_x(t->in->rs1));
	asm_alu(&t->c, ALU_CMP, ASM_W, RAX, trans_x(t->in->rs2));
	asm_op(&t->c, 0, ASM_W, 0x0f40 | (keep_first ^ 1), RAX, trans_x(t->in->rs2), 0); /* cmov */
	trans_done(t, t->in->rd, RAX);
}

static void invert_second(struct trans *t, enum host_alu op)
{
	asm_load(&t->c, RAX, trans_x(t->in->rs2));
	asm_op(&t->c, 0, ASM_W, 0xf7, 2, asm_reg(RAX), 0); /* not */
	asm_alu(&t->c, op, ASM_W, RAX, trans_x(t->in->rs1));
	trans_done(t, t->in->rd, RAX);
}

static void zero_if(struct trans *t, enum host_cc cc)
{
	asm_load(&t->c, RCX, trans_x(t->in->rs2));
	asm_load(&t->c, RAX, trans_x(t->in->rs1));
	asm_imm(&t->c, RDX, 0);
	asm_test(&t->c, ASM_W, RCX, RCX);
	asm_op(&t->c, 0, ASM_W, 0x0f40 | cc, RAX, asm_reg(RDX), 0);
	trans_done(t, t->in->rd, RAX);
}

static bool trans_bits(struct trans *t)
{
	switch (t->in->op) {
	case OP_ADD_UW:
		shift_add(t, 0, true);
		return true;
	case OP_SH1ADD:
		shift_add(t, 1, false);
		return true;
	case OP_SH2ADD:
		shift_add(t, 2, false);
		return true;
	case OP_SH3ADD:
		shift_add(t, 3, false);
		return true;
	case OP_SH1ADD_UW:
		shift_add(t, 1, true);
		return true;
	case OP_SH2ADD_UW:
		shift_add(t, 2, true);
		return true;
	case OP_SH3ADD_UW:
		shift_add(t, 3, true);
		return true;
	case OP_SEXT_B:
		extend(t, ASM_W, 0x0fbe);
		return true;
	case OP_SEXT_H:
		extend(t, ASM_W, 0x0fbf);
		return true;
	case OP_ZEXT_H:
		extend(t, 0, 0x0fb7);
		return true;
	case OP_MAX:
		select_by(t, CC_G);
		return true;
	case OP_MAXU:
		select_by(t, CC_A);
		return true;
	case OP_MIN:
		select_by(t, CC_L);
		return true;
	case OP_MINU:
		select_by(t, CC_B);
		return true;
	case OP_ANDN:
		invert_second(t, ALU_AND);
		return true;
	case OP_ORN:
		invert_second(t, ALU_OR);
		return true;
	case OP_XNOR:
		invert_second(t, ALU_XOR);
		return true;
	case OP_CZERO_EQZ:
		zero_if(t, CC_E);
		return true;
	case OP_CZERO_NEZ:
		zero_if(t, CC_NE);
		return true;
	case OP_ROL:
		shift_reg(t, SHIFT_ROL, false);
		return true;
	case OP_ROR:
		shift_reg(t, SHIFT_ROR, false);
		return true;
	case OP_ROLW:
		shift_reg(t, SHIFT_ROL, true);
		return true;
	case OP_RORW:
		shift_reg(t, SHIFT_ROR, true);
		return true;
	case OP_RORI:
		shift_imm(t, SHIFT_ROR, false);
		return true;
	case OP_RORIW:
		shift_imm(t, SHIFT_ROR, true);
		return true;
	default:
		return false;
	}
}

/* fflags alone, without leaving generated code: glibc's floor and ceil do this around every call.
 */
static bool trans_csr(struct trans *t)
{
	const struct inst *in = t->in;
	struct code *c = &t->c;
	struct jit_data *d = t->j->data;
	bool reads = in->op == OP_CSRRS && in->rs1 == 0;

	if (in->imm != CSR_FFLAGS || (!reads && in->op != OP_CSRRW))
		return false;
	if (!reads) {
		asm_load(c, RDX, trans_x(in->rs1));
		asm_alu_imm(c, ALU_AND, 0, asm_reg(RDX), 31);
	}
	if (in->rd) {
		asm_op(c, 0, 0, 0x0fae, 3, asm_near(&d->mxcsr), 0); /* stmxcsr */
		asm_op(c, 0, 0, 0x8b, RAX, asm_near(&d->mxcsr), 0);
		asm_alu_imm(c, ALU_AND, 0, asm_reg(RAX), 63);
		asm_lea(c, ASM_W, RCX, asm_near(d->fflags_of_mxcsr));
		asm_op(c, 0, 0, 0x0fb6, RAX, asm_index(RCX, RAX, 0, 0), 0);
		asm_alu(c, ALU_OR, 0, RAX, trans_hart(offsetof(struct hart, fflags)));
	}
	if (!reads) {
		asm_op(c, 0, 0, 0x89, RDX, trans_hart(offsetof(struct hart, fflags)), 0);
		asm_op(c, 0, 0, 0x0fae, 2, asm_near(&d->mxcsr_default), 0); /* ldmxcsr */
	}
	if (in->rd)
		trans_done(t, in->rd, RAX);
	return true;
}

/* Operations on a register and an immediate; false: another operation. */
static bool immediate(struct trans *t)
{
	const struct inst *in = t->in;

	switch (t->in->op) {
	case OP_LUI:
	case OP_AUIPC: {
		unsigned d = trans_dest(in->rd, RAX);
		asm_imm(&t->c, d, (uint64_t)(int64_t)in->imm + (in->op == OP_AUIPC ? t->pc : 0));
		trans_done(t, in->rd, d);
		break;
	}
	case OP_ADDI:
		add_imm(t);
		break;
	case OP_ADDIW:
		add_imm_w(t);
		break;
	case OP_XORI:
		binary_imm(t, ALU_XOR);
		break;
	case OP_ORI:
		binary_imm(t, ALU_OR);
		break;
	case OP_ANDI:
		binary_imm(t, ALU_AND);
		break;
	case OP_SLTI:
		set_less_imm(t, CC_L);
		break;
	case OP_SLTIU:
		set_less_imm(t, CC_B);
		break;
	case OP_SLLI:
		shift_imm(t, SHIFT_LEFT, false);
		break;
	case OP_SRLI:
		shift_imm(t, SHIFT_RIGHT, false);
		break;
	case OP_SRAI:
		shift_imm(t, SHIFT_ARITH, false);
		break;
	case OP_SLLIW:
		shift_imm(t, SHIFT_LEFT, true);
		break;
	case OP_SRLIW:
		shift_imm(t, SHIFT_RIGHT, true);
		break;
	case OP_SRAIW:
		shift_imm(t, SHIFT_ARITH, true);
		break;
	default:
		return false;
	}
	return true;
}

/* Operations on two registers. */
static bool registers(struct trans *t)
{
	switch (t->in->op) {
	case OP_ADD:
		binary(t, ALU_ADD);
		break;
	case OP_SUB:
		binary(t, ALU_SUB);
		break;
	case OP_AND:
		binary(t, ALU_AND);
		break;
	case OP_OR:
		binary(t, ALU_OR);
		break;
	case OP_XOR:
		binary(t, ALU_XOR);
		break;
	case OP_ADDW:
		binary_w(t, ALU_ADD);
		break;
	case OP_SUBW:
		binary_w(t, ALU_SUB);
		break;
	case OP_SLT:
		set_less(t, CC_L);
		break;
	case OP_SLTU:
		set_less(t, CC_B);
		break;
	case OP_SLL:
		shift_reg(t, SHIFT_LEFT, false);
		break;
	case OP_SRL:
		shift_reg(t, SHIFT_RIGHT, false);
		break;
	case OP_SRA:
		shift_reg(t, SHIFT_ARITH, false);
		break;
	case OP_SLLW:
		shift_reg(t, SHIFT_LEFT, true);
		break;
	case OP_SRLW:
		shift_reg(t, SHIFT_RIGHT, true);
		break;
	case OP_SRAW:
		shift_reg(t, SHIFT_ARITH, true);
		break;
	default:
		return false;
	}
	return true;
}

/* The M extension, but for mulhsu. */
static bool multiply_or_divide(struct trans *t)
{
	switch (t->in->op) {
	case OP_MUL:
		multiply(t, false);
		break;
	case OP_MULW:
		multiply(t, true);
		break;
	case OP_MULH:
		multiply_high(t, true);
		break;
	case OP_MULHU:
		multiply_high(t, false);
		break;
	case OP_DIV:
		divide(t, true, false, false);
		break;
	case OP_DIVU:
		divide(t, false, false, false);
		break;
	case OP_REM:
		divide(t, true, false, true);
		break;
	case OP_REMU:
		divide(t, false, false, true);
		break;
	case OP_DIVW:
		divide(t, true, true, false);
		break;
	case OP_DIVUW:
		divide(t, false, true, false);
		break;
	case OP_REMW:
		divide(t, true, true, true);
		break;
	case OP_REMUW:
		divide(t, false, true, true);
		break;
	default:
		return false;
	}
	return true;
}

bool trans_int(struct trans *t)
{
	const struct inst *in = t->in;
	unsigned cls = op_info[in->op].cls;

	if (cls == CLASS_CSR)
		return trans_csr(t);
	if (cls == CLASS_HINT || in->op == OP_FENCE)
		return true;
	if (cls != CLASS_ALU && cls != CLASS_MUL && cls != CLASS_DIV)
		return false;
	if (in->rd == 0)
		return true;
	return immediate(t) || registers(t) || multiply_or_divide(t) || trans_bits(t);
}

struct opnd trans_address(struct trans *t)
{
	const struct inst *in = t->in;
	unsigned a = trans_use(t, in->rs1, RAX);

	if (t->slack[in->rs1] < 0) {
		asm_alu(&t->c, ALU_CMP, ASM_W, a, asm_near(&t->j->data->limit));
		trans_slow_if(t, CC_AE);
		t->slack[in->rs1] = 0;
	}
	if (engine_notes(t->e, in))
		asm_lea(&t->c, ASM_W, RDX, asm_mem(a, in->imm)); /* for emit_touch */
	return asm_index(R15, a, 0, in->imm);
}

void trans_touch_before(struct trans *t, struct opnd at)
{
	if (!t->e->touched || t->e->history)
		return;
	asm_op(&t->c, 0, ASM_W, 0x8d, RDX, asm_mem(at.index, at.disp), 0); /* lea */
	asm_shift_imm(&t->c, SHIFT_RIGHT, ASM_W, RDX, 12);
	asm_alu(&t->c, ALU_ADD, ASM_W, RDX, asm_near(&t->j->data->touched));
}

void trans_touch_after(struct trans *t)
{
	if (!t->e->touched || t->e->history)
		return;
	asm_op(&t->c, 0, 0, 0xc6, 0, asm_mem(RDX, 0), 1); /* mov byte */
	asm_u8(&t->c, 1);
}

static void load(struct trans *t, unsigned w, unsigned opcode)
{
	unsigned d = trans_dest(t->in->rd, RAX);
	struct opnd at = trans_address(t);

	trans_touch_before(t, at);
	asm_op(&t->c, 0, w, opcode, d, at, 0);
	trans_touch_after(t);
	trans_done(t, t->in->rd, d);
}

static void store(struct trans *t, unsigned prefix, unsigned flags, unsigned opcode)
{
	const struct inst *in = t->in;
	struct opnd at = trans_address(t);
	unsigned v = trans_use(t, in->rs2, RCX);

	trans_touch_before(t, at);
	asm_op(&t->c, prefix, flags, opcode, v, at, 0);
	trans_touch_after(t);
}

bool trans_mem(struct trans *t)
{
	switch (t->in->op) {
	case OP_LB:
		load(t, ASM_W, 0x0fbe);
		return true;
	case OP_LH:
		load(t, ASM_W, 0x0fbf);
		return true;
	case OP_LW:
		load(t, ASM_W, 0x63);
		return true;
	case OP_LD:
		load(t, ASM_W, 0x8b);
		return true;
	case OP_LBU:
		load(t, 0, 0x0fb6);
		return true;
	case OP_LHU:
		load(t, 0, 0x0fb7);
		return true;
	case OP_LWU:
		load(t, 0, 0x8b);
		return true;
	case OP_SB:
		store(t, 0, ASM_BYTE_REG, 0x88);
		return true;
	case OP_SH:
		store(t, 0x66, 0, 0x89);
		return true;
	case OP_SW:
		store(t, 0, 0, 0x89);
		return true;
	case OP_SD:
		store(t, 0, ASM_W, 0x89);
		return true;
	default:
		return false;
	}
}

/* SPDX-License-Identifier: MIT */
/*
 * Semantics of the rows: recorded vectors for operations that only compute, and tests by hand for
 * those that touch memory, the pc, CSRs or reservations, or must leave no trace when they fault.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "machine.h"

/* The enc_ functions encode by format: enough of an assembler for these tests. */
static uint32_t enc_r(enum op op, unsigned rd, unsigned rs1, unsigned rs2)
{
	return op_info[op].match | rd << 7 | rs1 << 15 | rs2 << 20;
}

static uint32_t enc_i(enum op op, unsigned rd, unsigned rs1, int imm)
{
	return op_info[op].match | rd << 7 | rs1 << 15 | (uint32_t)imm << 20;
}

static uint32_t enc_s(enum op op, unsigned rs2, unsigned rs1, int imm)
{
	uint32_t u = (uint32_t)imm;

	return op_info[op].match | rs1 << 15 | rs2 << 20 | (u & 31) << 7 | u >> 5 << 25;
}

static uint32_t enc_b(enum op op, unsigned rs1, unsigned rs2, int imm)
{
	uint32_t u = (uint32_t)imm;

	return op_info[op].match | rs1 << 15 | rs2 << 20 | (u >> 1 & 15) << 8 |
	       (u >> 5 & 63) << 25 | (u >> 11 & 1) << 7 | u >> 12 << 31;
}

static uint32_t enc_csr(enum op op, unsigned rd, unsigned csr, unsigned rs1)
{
	return op_info[op].match | rd << 7 | rs1 << 15 | csr << 20;
}

static struct machine new_machine(void)
{
	struct machine m = { .lr_addr = ~0ull, .pc = 0x1000 };

	for (unsigned i = 0; i < MEMORY_BYTES; i++)
		m.memory[i] = (uint8_t)(0x80 + i * 7);
	return m;
}

static uint64_t peek(const struct machine *m, uint64_t addr, unsigned bytes)
{
	uint64_t v = 0;

	memcpy(&v, m->memory + addr, bytes);
	return v;
}

static void test_120_recorded_vectors_come_out_again(void **state)
{
	static const struct vector {
		uint16_t op;
		uint32_t word;
		uint64_t rs1, rs2, rs3, rd;
		uint32_t fflags;
	} vectors[] = {
#define V(op, ...) { OP_##op, __VA_ARGS__ },
#include "vectors.inc"
#undef V
	};

	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		const struct vector *v = &vectors[i];
		struct inst in = isa_decode(v->word);
		struct machine m = new_machine();

		m.x[10] = m.f[10] = v->rs1;
		m.x[11] = m.f[11] = v->rs2;
		m.x[12] = m.f[12] = v->rs3;
		assert_int_equal(in.op, v->op);
		assert_int_equal(machine_step(&m, &in), DONE);
		uint64_t rd = op_info[in.op].flags & OPF_RD_FP ? m.f[13] : m.x[13];

		if (rd != v->rd || m.fflags != v->fflags)
			fail_msg(
			    "%s %#x (%#llx, %#llx, %#llx): %#llx flags %#x, not %#llx flags %#x",
			    op_info[in.op].name, v->word, (unsigned long long)v->rs1,
			    (unsigned long long)v->rs2, (unsigned long long)v->rs3,
			    (unsigned long long)rd, m.fflags, (unsigned long long)v->rd, v->fflags);
		assert_int_equal(m.pc, 0x1004);
	}
}

/* Rows that compute from registers alone must be in the recording; the tests below cover the
 * rest. */
static void test_121_every_computing_row_has_vectors(void **state)
{
	static const uint16_t ops[] = {
#define V(op, ...) OP_##op,
#include "vectors.inc"
#undef V
	};
	bool seen[OP_COUNT] = { false };

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		seen[ops[i]] = true;
	seen[OP_LUI] = seen[OP_AUIPC] = seen[OP_CZERO_EQZ] = seen[OP_CZERO_NEZ] = true;
	for (int op = OP_ILLEGAL + 1; op < OP_COUNT; op++) {
		unsigned cls = op_info[op].cls;
		bool computes = cls <= CLASS_DIV || (cls >= CLASS_FADD && cls <= CLASS_FSQRT);

		if (computes && !seen[op])
			fail_msg("no vector for %s", op_info[op].name);
	}
}

static void test_122_upper_immediates_are_sign_extended_and_pc_relative(void **state)
{
	struct machine m = new_machine();

	machine_run(&m, 0x800000b7 | 0); /* lui ra,0x80000 */
	assert_int_equal(m.x[1], 0xffffffff80000000);
	m.pc = 0x1000;
	machine_run(&m, 0xfffff097); /* auipc ra,0xfffff */
	assert_int_equal(m.x[1], 0);
}

static void test_123_conditional_zero_keeps_or_clears(void **state)
{
	struct machine m = new_machine();

	m.x[10] = 42;
	m.x[11] = 1ull << 63;
	machine_run(&m, enc_r(OP_CZERO_EQZ, 13, 10, 11));
	assert_int_equal(m.x[13], 42);
	machine_run(&m, enc_r(OP_CZERO_NEZ, 13, 10, 11));
	assert_int_equal(m.x[13], 0);
	machine_run(&m, enc_r(OP_CZERO_EQZ, 13, 10, 0));
	assert_int_equal(m.x[13], 0);
	machine_run(&m, enc_r(OP_CZERO_NEZ, 13, 10, 0));
	assert_int_equal(m.x[13], 42);
}

static void test_119_counting_zeros_of_a_zero_word_gives_its_width(void **state)
{
	struct machine m = new_machine();

	m.x[10] = 0xffffffff00000000;
	machine_run(&m, enc_r(OP_CTZW, 13, 10, 0));
	assert_int_equal(m.x[13], 32);
	machine_run(&m, enc_r(OP_CLZW, 13, 10, 0));
	assert_int_equal(m.x[13], 32);
	machine_run(&m, enc_r(OP_CTZW, 13, 0, 0));
	assert_int_equal(m.x[13], 32);
}

static void test_124_register_zero_stays_zero(void **state)
{
	struct machine m = new_machine();

	machine_run(&m, enc_i(OP_ADDI, 0, 0, 5));
	machine_run(&m, enc_i(OP_LD, 0, 0, 8));
	machine_run(&m, enc_i(OP_JALR, 0, 0, 64));
	assert_int_equal(m.x[0], 0);
	assert_int_equal(m.pc, 64);
}

static void test_125_loads_extend_at_any_alignment(void **state)
{
	static const struct {
		enum op op;
		bool sign;
	} loads[] = {
		{ OP_LB, true },   { OP_LH, true },   { OP_LW, true },	 { OP_LD, true },
		{ OP_LBU, false }, { OP_LHU, false }, { OP_LWU, false },
	};
	struct machine m = new_machine();

	for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++) {
		unsigned bytes = op_info[loads[i].op].mem_bytes;

		for (int at = 0; at < 40; at++) {
			uint64_t want = peek(&m, (uint64_t)at, bytes);

			if (loads[i].sign)
				want = (uint64_t)((int64_t)(want << (64 - 8 * bytes)) >>
						  (64 - 8 * bytes));
			m.x[5] = 100;
			assert_int_equal(machine_run(&m, enc_i(loads[i].op, 6, 5, at - 100)), DONE);
			assert_int_equal(m.x[6], want);
		}
	}
}

static void test_126_stores_write_their_bytes_and_no_more(void **state)
{
	static const enum op stores[] = { OP_SB, OP_SH, OP_SW, OP_SD, OP_FSW, OP_FSD };

	for (size_t i = 0; i < sizeof(stores) / sizeof(stores[0]); i++) {
		unsigned bytes = op_info[stores[i]].mem_bytes;

		for (uint64_t at = 8; at < 24; at++) {
			struct machine m = new_machine(), before = m;
			uint64_t value = 0x1122334455667788, mask = ~0ull >> (64 - 8 * bytes);

			m.x[5] = at + 3;
			m.x[6] = m.f[6] = value;
			assert_int_equal(machine_run(&m, enc_s(stores[i], 6, 5, -3)), DONE);
			assert_int_equal(peek(&m, at, bytes), value & mask);
			memcpy(m.memory + at, before.memory + at, bytes);
			assert_memory_equal(m.memory, before.memory, MEMORY_BYTES);
		}
	}
}

static void test_127_single_precision_is_boxed_by_loads_and_moves_only(void **state)
{
	struct machine m = new_machine();

	machine_run(&m, enc_i(OP_FLW, 6, 0, 16));
	assert_int_equal(m.f[6], 0xffffffff00000000 | peek(&m, 16, 4));
	machine_run(&m, enc_i(OP_FLD, 6, 0, 16));
	assert_int_equal(m.f[6], peek(&m, 16, 8));
	m.x[5] = 0x123456783f800000;
	machine_run(&m, enc_r(OP_FMV_W_X, 6, 5, 0));
	assert_int_equal(m.f[6], 0xffffffff3f800000);
	/* Moves to integer registers and stores ignore the NaN box. */
	m.f[6] = 0x12345678bf800000;
	machine_run(&m, enc_r(OP_FMV_X_W, 5, 6, 0));
	assert_int_equal(m.x[5], 0xffffffffbf800000);
	machine_run(&m, enc_s(OP_FSW, 6, 0, 0));
	assert_int_equal(peek(&m, 0, 4), 0xbf800000);
}

static void test_128_branches_go_where_they_should(void **state)
{
	static const struct {
		enum op op;
		bool less, equal, greater, less_u, greater_u; /* taken if rs1 and rs2 compare so */
	} branches[] = {
		{ OP_BEQ, false, true, false, false, false },
		{ OP_BNE, true, false, true, true, true },
		{ OP_BLT, true, false, false, false, true },
		{ OP_BGE, false, true, true, true, false },
		{ OP_BLTU, true, false, false, true, false },
		{ OP_BGEU, false, true, true, false, true },
	};

	for (size_t i = 0; i < sizeof(branches) / sizeof(branches[0]); i++) {
		const struct {
			uint64_t a, b;
			bool taken;
		} c[] = { { 1, 2, branches[i].less },
			  { 2, 2, branches[i].equal },
			  { 2, 1, branches[i].greater },
			  { 1, ~0ull, branches[i].less_u },	 /* unsigned less, signed greater */
			  { ~0ull, 1, branches[i].greater_u } }; /* the opposite */

		for (size_t k = 0; k < 5; k++) {
			struct machine m = new_machine();

			m.x[5] = c[k].a;
			m.x[6] = c[k].b;
			machine_run(&m, enc_b(branches[i].op, 5, 6, -4096));
			assert_int_equal(m.pc, c[k].taken ? 0 : 0x1004);
		}
	}
}

static void test_129_jumps_link_the_next_instruction(void **state)
{
	struct machine m = new_machine();

	machine_run(&m, 0x800000ef); /* jal ra,-1048576 */
	assert_int_equal(m.x[1], 0x1004);
	assert_int_equal(m.pc, 0x1000 - 0x100000);
	m = new_machine();
	m.x[5] = 0x2001;
	machine_run(&m,
		    enc_i(OP_JALR, 5, 5, -2)); /* target from the old value, lowest bit cleared */
	assert_int_equal(m.x[5], 0x1004);
	assert_int_equal(m.pc, 0x1ffe);
	m = new_machine();
	m.x[5] = 0x3000;
	machine_run(&m, 0x9282); /* c.jalr t0 */
	assert_int_equal(m.x[1], 0x1002);
	assert_int_equal(m.pc, 0x3000);
}

static void test_130_atomics_return_the_old_value_and_store_the_new(void **state)
{
	const int64_t a = -5, b = 3;
	static const struct {
		enum op w, d;
	} ops[] = {
		{ OP_AMOSWAP_W, OP_AMOSWAP_D }, { OP_AMOADD_W, OP_AMOADD_D },
		{ OP_AMOXOR_W, OP_AMOXOR_D },	{ OP_AMOAND_W, OP_AMOAND_D },
		{ OP_AMOOR_W, OP_AMOOR_D },	{ OP_AMOMIN_W, OP_AMOMIN_D },
		{ OP_AMOMAX_W, OP_AMOMAX_D },	{ OP_AMOMINU_W, OP_AMOMINU_D },
		{ OP_AMOMAXU_W, OP_AMOMAXU_D },
	};
	const int64_t want[] = { b, a + b, a ^ b, a & b, a | b, a, b, b, a };

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		struct machine m = new_machine();
		uint64_t beyond = peek(&m, 20, 4);

		memcpy(m.memory + 16, &a, 4);
		m.x[5] = 16;
		m.x[6] = (uint64_t)b | 0x7700000000; /* the upper half does not count */
		assert_int_equal(machine_run(&m, enc_r(ops[i].w, 6, 5, 6)), DONE);
		assert_int_equal(m.x[6], (uint64_t)a);
		assert_int_equal(peek(&m, 16, 4), (uint32_t)want[i]);
		assert_int_equal(peek(&m, 20, 4), beyond);
		memcpy(m.memory + 16, &a, 8);
		m.x[6] = (uint64_t)b;
		assert_int_equal(machine_run(&m, enc_r(ops[i].d, 7, 5, 6)), DONE);
		assert_int_equal(m.x[7], (uint64_t)a);
		assert_int_equal(peek(&m, 16, 8), (uint64_t)want[i]);
	}
}

static void test_131_a_store_conditional_needs_its_reservation(void **state)
{
	struct machine m = new_machine();

	m.x[5] = 64;
	m.x[6] = 0xabcdef01;
	m.x[7] = 72;
	/* There is no reservation yet. */
	machine_run(&m, enc_r(OP_SC_W, 8, 5, 6));
	assert_int_equal(m.x[8], 1);
	/* With a reservation sc stores, once. */
	machine_run(&m, enc_r(OP_LR_W, 9, 5, 0));
	assert_int_equal(m.x[9], (uint64_t)(int32_t)peek(&m, 64, 4));
	machine_run(&m, enc_r(OP_SC_W, 8, 5, 6));
	assert_int_equal(m.x[8], 0);
	assert_int_equal(peek(&m, 64, 4), 0xabcdef01);
	machine_run(&m, enc_r(OP_SC_W, 8, 5, 6));
	assert_int_equal(m.x[8], 1);
	/* An sc to another address fails and also gives up the reservation. */
	machine_run(&m, enc_r(OP_LR_D, 9, 5, 0));
	machine_run(&m, enc_r(OP_SC_D, 8, 7, 6));
	assert_int_equal(m.x[8], 1);
	machine_run(&m, enc_r(OP_SC_D, 8, 5, 6));
	assert_int_equal(m.x[8], 1);
	/* A store in between breaks the reservation. */
	machine_run(&m, enc_r(OP_LR_D, 9, 5, 0));
	m.memory[71] ^= 1;
	machine_run(&m, enc_r(OP_SC_D, 8, 5, 6));
	assert_int_equal(m.x[8], 1);
	assert_int_equal(m.sc_stored, 1);
	assert_int_equal(m.sc_failed, 5);
}

static void test_132_csr_instructions_read_and_change_the_fp_state(void **state)
{
	struct machine m = new_machine();

	m.x[5] = 0xfff;
	machine_run(&m, enc_csr(OP_CSRRW, 6, CSR_FCSR, 5));
	assert_int_equal(m.x[6], 0);
	assert_int_equal(m.fflags, 31);
	assert_int_equal(m.frm, 7);
	machine_run(&m, enc_csr(OP_CSRRCI, 6, CSR_FFLAGS, 5));
	assert_int_equal(m.x[6], 31);
	assert_int_equal(m.fflags, 26);
	machine_run(&m, enc_csr(OP_CSRRWI, 6, CSR_FRM, 2));
	assert_int_equal(m.x[6], 7);
	assert_int_equal(m.frm, 2);
	machine_run(&m, enc_csr(OP_CSRRSI, 6, CSR_FRM, 1));
	assert_int_equal(m.frm, 3);
	m.x[5] = 2;
	machine_run(&m, enc_csr(OP_CSRRC, 5, CSR_FRM, 5)); /* rd is rs1 */
	assert_int_equal(m.x[5], 3);
	assert_int_equal(m.frm, 1);
	m.x[5] = 4;
	machine_run(&m, enc_csr(OP_CSRRS, 6, CSR_FCSR, 5));
	assert_int_equal(m.x[6], 1 << 5 | 26);
	assert_int_equal(m.fflags, 30);
}

static void test_133_counters_can_be_read_but_not_written(void **state)
{
	struct machine m = new_machine();

	m.counter[2] = 77;
	assert_int_equal(machine_run(&m, enc_csr(OP_CSRRS, 6, CSR_INSTRET, 0)), DONE);
	assert_int_equal(m.x[6], 77);
	struct machine before = m;

	assert_int_equal(machine_run(&m, enc_csr(OP_CSRRW, 6, CSR_INSTRET, 0)),
			 ILLEGAL_INSTRUCTION);
	assert_int_equal(machine_run(&m, enc_csr(OP_CSRRSI, 6, CSR_TIME, 1)), ILLEGAL_INSTRUCTION);
	assert_int_equal(machine_run(&m, enc_csr(OP_CSRRS, 6, 0x300, 0)), ILLEGAL_INSTRUCTION);
	assert_memory_equal(&m, &before, sizeof(m));
}

static void test_134_rounding_mode_may_be_dynamic_and_must_be_valid(void **state)
{
	struct machine m = new_machine();
	uint32_t fadd = enc_r(OP_FADD_D, 7, 5, 6);

	m.f[5] = fp_from_double(1);
	m.f[6] = fp_from_double(0x1p-60);
	m.frm = FP_RUP;
	assert_int_equal(machine_run(&m, fadd | 7 << 12), DONE);
	assert_int_equal(m.f[7], fp_from_double(1) + 1);
	assert_int_equal(m.fflags, FP_NX);
	assert_int_equal(machine_run(&m, fadd | FP_RTZ << 12), DONE);
	assert_int_equal(m.f[7], fp_from_double(1));
	m.fflags = 0;
	for (unsigned frm = 5; frm < 8; frm++) {
		m.frm = frm;
		struct machine before = m;

		assert_int_equal(machine_run(&m, fadd | 7 << 12), ILLEGAL_INSTRUCTION);
		assert_int_equal(machine_run(&m, fadd | 5 << 12), ILLEGAL_INSTRUCTION);
		assert_int_equal(machine_run(&m, fadd | 6 << 12), ILLEGAL_INSTRUCTION);
		assert_memory_equal(&m, &before, sizeof(m));
		/* Operations without a rounding mode ignore a reserved one. */
		assert_int_equal(machine_run(&m, enc_r(OP_FMIN_D, 8, 5, 6)), DONE);
	}
}

static void test_135_what_faults_leaves_no_trace(void **state)
{
	for (int op = OP_ILLEGAL + 1; op < OP_COUNT; op++) {
		if (!op_info[op].mem_bytes || op_info[op].cls == CLASS_HINT)
			continue;
		struct machine m = new_machine();

		m.x[5] = MEMORY_BYTES; /* the first address beyond memory, aligned */
		m.x[6] = m.f[6] = 0x1234;
		m.lr_addr = MEMORY_BYTES; /* so that a store-conditional gets as far as memory */
		struct machine before = m;

		assert_int_equal(
		    machine_run(&m, enc_r(op, 6, 5, 6) & ~(op_info[op].mask & ~op_info[op].match)),
		    FAULT);
		assert_memory_equal(&m, &before, sizeof(m));
	}
}

static void test_136_atomics_want_alignment(void **state)
{
	struct machine m = new_machine();

	m.x[5] = 34;
	struct machine before = m;

	assert_int_equal(machine_run(&m, enc_r(OP_AMOADD_W, 6, 5, 6)), MISALIGNED_AMO);
	assert_int_equal(machine_run(&m, enc_r(OP_LR_D, 6, 5, 0)), MISALIGNED_AMO);
	assert_int_equal(machine_run(&m, enc_r(OP_SC_W, 6, 5, 6)), MISALIGNED_AMO);
	assert_memory_equal(&m, &before, sizeof(m));
}

static void test_137_fences_hints_and_calls_reach_the_executor(void **state)
{
	struct machine m = new_machine();

	assert_int_equal(machine_run(&m, 0x0ff0000f), DONE); /* fence */
	assert_int_equal(machine_run(&m, 0x8330000f), DONE); /* fence.tso */
	assert_int_equal(machine_run(&m, 0x0000100f), DONE); /* fence.i */
	assert_int_equal(machine_run(&m, 0x0100000f), DONE); /* pause */
	assert_int_equal(m.fences, 2);
	assert_int_equal(m.code_fences, 1);
	assert_int_equal(machine_run(&m, 0x02306013), DONE); /* prefetch.w 32(zero) */
	m.x[5] = ~0ull;
	assert_int_equal(machine_run(&m, 0x0012e013), DONE); /* prefetch.r 0(t0): never faults */
	assert_int_equal(m.prefetches, 1);
	assert_int_equal(machine_run(&m, 0x00000073), ENVIRONMENT_CALL);
	assert_int_equal(machine_run(&m, 0x00100073), BREAKPOINT);
	assert_int_equal(machine_run(&m, 0x9002), BREAKPOINT);
	assert_int_equal(machine_run(&m, 0x0000), ILLEGAL_INSTRUCTION);
}

/* Flags accrue: set flags stay set, and an operation adds its own. */
static void test_138_flags_accrue(void **state)
{
	struct machine m = new_machine();

	m.f[5] = fp_from_double(1);
	m.f[6] = fp_from_double(0);
	machine_run(&m, enc_r(OP_FDIV_D, 7, 5, 6));
	assert_int_equal(m.fflags, FP_DZ);
	machine_run(&m, enc_r(OP_FDIV_D, 7, 6, 6));
	assert_int_equal(m.fflags, FP_DZ | FP_NV);
	assert_int_equal(m.f[7], FP_NAN_D);
	m.f[6] = fp_from_double(3);
	machine_run(&m, enc_r(OP_FDIV_D, 7, 5, 6));
	assert_int_equal(m.fflags, FP_DZ | FP_NV | FP_NX);
	machine_run(&m, enc_r(OP_FADD_D, 7, 5, 5));
	assert_int_equal(m.fflags, FP_DZ | FP_NV | FP_NX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_119_counting_zeros_of_a_zero_word_gives_its_width),
		cmocka_unit_test(test_120_recorded_vectors_come_out_again),
		cmocka_unit_test(test_121_every_computing_row_has_vectors),
		cmocka_unit_test(test_122_upper_immediates_are_sign_extended_and_pc_relative),
		cmocka_unit_test(test_123_conditional_zero_keeps_or_clears),
		cmocka_unit_test(test_124_register_zero_stays_zero),
		cmocka_unit_test(test_125_loads_extend_at_any_alignment),
		cmocka_unit_test(test_126_stores_write_their_bytes_and_no_more),
		cmocka_unit_test(test_127_single_precision_is_boxed_by_loads_and_moves_only),
		cmocka_unit_test(test_128_branches_go_where_they_should),
		cmocka_unit_test(test_129_jumps_link_the_next_instruction),
		cmocka_unit_test(test_130_atomics_return_the_old_value_and_store_the_new),
		cmocka_unit_test(test_131_a_store_conditional_needs_its_reservation),
		cmocka_unit_test(test_132_csr_instructions_read_and_change_the_fp_state),
		cmocka_unit_test(test_133_counters_can_be_read_but_not_written),
		cmocka_unit_test(test_134_rounding_mode_may_be_dynamic_and_must_be_valid),
		cmocka_unit_test(test_135_what_faults_leaves_no_trace),
		cmocka_unit_test(test_136_atomics_want_alignment),
		cmocka_unit_test(test_137_fences_hints_and_calls_reach_the_executor),
		cmocka_unit_test(test_138_flags_accrue),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

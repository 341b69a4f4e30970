/* SPDX-License-Identifier: MIT */
/*
 * The table of instructions, the decoder, operand roles, control-flow kinds, marks and the text of
 * instructions. The comparison with objdump over all encodings is in tests/differential.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "isa/format.h"
#include "isa/isa.h"
#include "util/util.h"

static void test_100_rows_match_only_bits_that_they_mask(void **state)
{
	for (int op = OP_ILLEGAL + 1; op < OP_COUNT; op++) {
		assert_int_equal(op_info[op].match & ~op_info[op].mask, 0);
		assert_int_equal(op_info[op].match & 3, 3);
		assert_int_equal(op_info[op].mask & 0x7f, 0x7f);
	}
	for (int row = 0; row < C_ROW_COUNT; row++) {
		assert_int_equal(isa_c_rows[row].match & ~isa_c_rows[row].mask, 0);
		assert_int_not_equal(isa_c_rows[row].match & 3, 3);
		assert_int_equal(isa_c_rows[row].mask & 0xe003, 0xe003);
	}
}

/* No two rows share an encoding, except a hint inside another instruction's space; the hint must
 * come first. */
static void test_101_rows_do_not_overlap(void **state)
{
	for (int a = OP_ILLEGAL + 1; a < OP_COUNT; a++) {
		for (int b = a + 1; b < OP_COUNT; b++) {
			const struct op_info *p = &op_info[a], *q = &op_info[b];

			if ((p->match ^ q->match) & p->mask & q->mask)
				continue;
			bool hint_inside = p->cls == CLASS_HINT && (p->mask & q->mask) == q->mask;

			if (!hint_inside)
				fail_msg("%s and %s overlap", p->name, q->name);
		}
	}
}

static void test_102_mnemonics_are_unique(void **state)
{
	for (int a = OP_ILLEGAL; a < OP_COUNT; a++) {
		for (int b = a + 1; b < OP_COUNT; b++)
			assert_string_not_equal(op_info[a].name, op_info[b].name);
	}
}

static void test_103_every_row_decodes_to_itself(void **state)
{
	struct rng rng;

	rng_seed(&rng, 103);
	for (int op = OP_ILLEGAL + 1; op < OP_COUNT; op++) {
		for (int i = 0; i < 1000; i++) {
			uint32_t w = (uint32_t)rng_next(&rng);
			struct inst in = isa_decode((w & ~op_info[op].mask) | op_info[op].match);

			/* A word of a row that contains a hint's encodings may be that hint. */
			if (in.op != op && op_info[in.op].cls != CLASS_HINT)
				fail_msg("%s decodes as %s", op_info[op].name, op_info[in.op].name);
			assert_int_equal(in.len, 4);
		}
	}
}

static void test_104_whatever_is_not_a_row_is_illegal(void **state)
{
	struct rng rng;

	rng_seed(&rng, 104);
	for (int i = 0; i < 200000; i++) {
		uint32_t w = (uint32_t)rng_next(&rng) | 3;
		int want = OP_ILLEGAL;

		for (int op = OP_COUNT - 1; op > OP_ILLEGAL; op--) {
			if ((w & op_info[op].mask) == op_info[op].match)
				want = op;
		}
		assert_int_equal(isa_decode(w).op, want);
	}
}

static void test_105_the_upper_half_of_a_compressed_word_does_not_count(void **state)
{
	for (uint32_t w = 0; w < 0x10000; w++) {
		if ((w & 3) == 3)
			continue;
		struct inst a = isa_decode(w), b = isa_decode(w | 0xdead0000);

		assert_memory_equal(&a, &b, sizeof(a));
		assert_int_equal(a.len, 2);
		assert_int_equal(a.word, w);
	}
}

static void test_106_reserved_compressed_encodings_are_illegal(void **state)
{
	static const uint16_t reserved[] = {
		0x0000,			 /* all zeros */
		0x0004,			 /* c.addi4spn with no immediate */
		0x8000,			 /* quadrant 0, funct3 4 */
		0x2005,			 /* c.addiw zero */
		0x6085 & ~0x7cu,	 /* c.lui with no immediate */
		0x9c41,		 0x9c61, /* beyond c.addw */
		0x4002,		 0x6002, /* c.lwsp, c.ldsp zero */
		0x8002,			 /* c.jr zero */
	};

	for (size_t i = 0; i < ARRAY_LEN(reserved); i++)
		assert_int_equal(isa_decode(reserved[i]).op, OP_ILLEGAL);
}

struct expansion {
	uint16_t c;
	uint32_t full;
};

/* Each compressed instruction with the full one that it stands for, assembled by binutils. */
static void test_107_compressed_instructions_expand_to_full_ones(void **state)
{
	static const struct expansion pairs[] = {
		{ 0x1fe8, 0x3fc10513 }, /* addi a0,sp,1020 */
		{ 0x2188, 0x0005b507 }, /* fld fa0,0(a1) */
		{ 0x5de8, 0x07c5a503 }, /* lw a0,124(a1) */
		{ 0x7de8, 0x0f85b503 }, /* ld a0,248(a1) */
		{ 0xbde8, 0x0ea5bc27 }, /* fsd fa0,248(a1) */
		{ 0xdde8, 0x06a5ae23 }, /* sw a0,124(a1) */
		{ 0xfde8, 0x0ea5bc23 }, /* sd a0,248(a1) */
		{ 0x157d, 0xfff50513 }, /* addi a0,a0,-1 */
		{ 0x3501, 0xfe05051b }, /* addiw a0,a0,-32 */
		{ 0x5501, 0xfe000513 }, /* li a0,-32 */
		{ 0x7101, 0xe0010113 }, /* addi sp,sp,-512 */
		{ 0x757d, 0xfffff537 }, /* lui a0,0xfffff */
		{ 0x917d, 0x03f55513 }, /* srli a0,a0,63 */
		{ 0x957d, 0x43f55513 }, /* srai a0,a0,63 */
		{ 0x9901, 0xfe057513 }, /* andi a0,a0,-32 */
		{ 0x8d0d, 0x40b50533 }, /* sub a0,a0,a1 */
		{ 0x8d2d, 0x00b54533 }, /* xor */
		{ 0x8d4d, 0x00b56533 }, /* or */
		{ 0x8d6d, 0x00b57533 }, /* and */
		{ 0x9d0d, 0x40b5053b }, /* subw */
		{ 0x9d2d, 0x00b5053b }, /* addw */
		{ 0xb001, 0x801ff06f }, /* j .-2048 */
		{ 0xd101, 0xf00500e3 }, /* beqz a0,.-256 */
		{ 0xed7d, 0x0e051f63 }, /* bnez a0,.+254 */
		{ 0x157e, 0x03f51513 }, /* slli a0,a0,63 */
		{ 0x357e, 0x1f813507 }, /* fld fa0,504(sp) */
		{ 0x557e, 0x0fc12503 }, /* lw a0,252(sp) */
		{ 0x757e, 0x1f813503 }, /* ld a0,504(sp) */
		{ 0x8502, 0x00050067 }, /* jr a0 */
		{ 0x852e, 0x00b00533 }, /* add a0,zero,a1 */
		{ 0x9002, 0x00100073 }, /* ebreak */
		{ 0x9502, 0x000500e7 }, /* jalr a0 */
		{ 0x952e, 0x00b50533 }, /* add a0,a0,a1 */
		{ 0xbfaa, 0x1ea13c27 }, /* fsd fa0,504(sp) */
		{ 0xdfaa, 0x0ea12e23 }, /* sw a0,252(sp) */
		{ 0xffaa, 0x1ea13c23 }, /* sd a0,504(sp) */
	};
	bool seen[C_ROW_COUNT] = { false };

	for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
		struct inst c = isa_decode(pairs[i].c), full = isa_decode(pairs[i].full);

		c.len = full.len;
		c.word = full.word;
		if (memcmp(&c, &full, sizeof(c)))
			fail_msg("%#x does not expand to %#x", pairs[i].c, pairs[i].full);
		seen[isa_find_c_row(pairs[i].c)] = true;
	}
	for (int row = 0; row < C_ROW_COUNT; row++) {
		if (!seen[row] && !strstr(isa_c_rows[row].name, "64"))
			fail_msg("no pair for %s", isa_c_rows[row].name);
	}
}

static void test_108_immediates_reach_both_ends_of_their_range(void **state)
{
	static const struct {
		uint32_t word;
		int32_t imm;
	} cases[] = {
		{ 0x7ff00093, 2047 },	   { 0x80000093, -2048 },    { 0x7e000fa3, 2047 },
		{ 0x80000023, -2048 },	   { 0x7e000fe3, 4094 },     { 0x80000063, -4096 },
		{ 0x7ffff0ef, 1048574 },   { 0x800000ef, -1048576 }, { 0x7ffff0b7, 0x7ffff000 },
		{ 0x800000b7, INT32_MIN }, { 0x03f09093, 63 },	     { 0x01f0909b, 31 },
		{ 0xfff01073, 0xfff },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(isa_decode(cases[i].word).imm, cases[i].imm);
}

static void check_operands(uint32_t word, unsigned dst, unsigned a, unsigned b, unsigned c)
{
	struct inst in = isa_decode(word);
	struct inst_operands o = isa_operands(&in);

	assert_int_equal(o.dst, dst);
	assert_int_equal(o.src[0], a);
	assert_int_equal(o.src[1], b);
	assert_int_equal(o.src[2], c);
}

static void test_109_operands_are_numbered_in_one_space(void **state)
{
	check_operands(0x00b50533, 10, 10, 11, 0);  /* add a0,a0,a1 */
	check_operands(0x00000013, 0, 0, 0, 0);	    /* nop: x0 is not a dependence */
	check_operands(0x6ac5f543, 42, 43, 44, 45); /* fmadd.d fa0,fa1,fa2,fa3 */
	check_operands(0x00053007, 32, 10, 0, 0);   /* fld ft0,0(a0): f0 is a dependence */
	check_operands(0x00a5b027, 0, 11, 42, 0);   /* fsd fa0,0(a1) */
	check_operands(0xa2b52553, 10, 42, 43, 0);  /* feq.d a0,fa0,fa1 */
	check_operands(0x00b6252f, 10, 12, 11, 0);  /* amoadd.w a0,a1,(a2) */
	check_operands(0x00255573, 10, 0, 0, 0);    /* csrrwi a0,frm,10: 10 is no register */
	check_operands(0x852e, 10, 0, 11, 0);	    /* c.mv a0,a1 */
	check_operands(0x00000000, 0, 0, 0, 0);
}

static struct inst decoded(uint32_t word)
{
	return isa_decode(word);
}

static void test_110_calls_and_returns_follow_the_link_registers(void **state)
{
	struct inst jal_ra = decoded(0x000000ef), jal_t0 = decoded(0x000002ef),
		    j = decoded(0x0000006f);
	struct inst ret = decoded(0x00008067), ret_t0 = decoded(0x00028067),
		    jr_a0 = decoded(0x00050067);
	struct inst jalr_ra_a0 = decoded(0x000500e7), swap = decoded(0x000082e7),
		    c_ret = decoded(0x8082);

	assert_true(isa_is_call(&jal_ra) && isa_is_call(&jal_t0) && isa_is_call(&jalr_ra_a0));
	assert_true(isa_is_call(&swap));
	assert_false(isa_is_call(&j) || isa_is_call(&ret) || isa_is_call(&jr_a0));
	assert_true(isa_is_return(&ret) && isa_is_return(&ret_t0) && isa_is_return(&c_ret));
	assert_false(isa_is_return(&jr_a0) || isa_is_return(&swap) || isa_is_return(&jal_ra));
	assert_true(isa_is_indirect(&jr_a0) && isa_is_indirect(&jalr_ra_a0) &&
		    isa_is_indirect(&ret));
	assert_false(isa_is_indirect(&jal_ra));
}

static void test_111_marks_are_two_hints(void **state)
{
	struct inst begin = decoded(0x10102013), end = decoded(0x10202013);
	struct inst other = decoded(0x10302013), writes = decoded(0x10102513);

	assert_true(isa_is_mark_begin(&begin) && !isa_is_mark_end(&begin));
	assert_true(isa_is_mark_end(&end) && !isa_is_mark_begin(&end));
	assert_false(isa_is_mark_begin(&other) || isa_is_mark_end(&other));
	assert_false(isa_is_mark_begin(&writes));
}

static void test_112_flags_agree_with_class_and_size(void **state)
{
	for (int op = OP_ILLEGAL + 1; op < OP_COUNT; op++) {
		const struct op_info *i = &op_info[op];
		bool memory = i->flags & (OPF_LOAD | OPF_STORE);

		assert_int_equal(memory, i->mem_bytes != 0);
		assert_int_equal(!!(i->flags & OPF_CTRL),
				 i->cls == CLASS_BRANCH || i->cls == CLASS_JUMP);
		assert_int_equal(memory, i->cls == CLASS_LOAD || i->cls == CLASS_STORE ||
					     i->cls == CLASS_AMO);
		assert_false((i->flags & OPF_RD_INT) && (i->flags & OPF_RD_FP));
		if (i->flags & OPF_USES_RM)
			assert_true(i->flags & OPF_FFLAGS);
	}
	for (int c = 0; c < CLASS_COUNT; c++)
		assert_non_null(op_class_name[c]);
}

static void check_text(uint32_t word, const char *nice, const char *raw)
{
	struct inst in = isa_decode(word);
	char text[64];

	isa_disasm(&in, 0x10000, DISASM_ALIASES, text, sizeof(text));
	assert_string_equal(text, nice);
	isa_disasm(&in, 0x10000, DISASM_RAW, text, sizeof(text));
	assert_string_equal(text, raw);
}

static void test_113_text_is_that_of_binutils(void **state)
{
	check_text(0x8082, "ret", "c.jr\tra");
	check_text(0x1141, "add\tsp,sp,-16", "c.addi\tsp,-16");
	check_text(0xfe0518e3, "bnez\ta0,0xfff0", "bne\ta0,zero,0xfff0");
	check_text(0x02b57553, "fadd.d\tfa0,fa0,fa1", "fadd.d\tfa0,fa0,fa1");
	check_text(0xc2051553, "fcvt.w.d\ta0,fa0,rtz", "fcvt.w.d\ta0,fa0,rtz");
	check_text(0x1605262f, "lr.w.aqrl\ta2,(a0)", "lr.w.aqrl\ta2,(a0)");
	check_text(0xc0001073, "unimp", "unimp");
	check_text(0x0000, "unimp", "c.unimp");
	check_text(0xffffffff, ".4byte\t0xffffffff", ".4byte\t0xffffffff");
	check_text(0x0ec5d533, "czero.eqz\ta0,a1,a2", "czero.eqz\ta0,a1,a2");
	check_text(0x420515d3, "fcvt.d.s\tfa1,fa0,rtz", "fcvt.d.s\tfa1,fa0,rtz");
}

static void test_114_text_is_cut_at_the_end_of_the_buffer(void **state)
{
	struct inst in = isa_decode(0x02b57553);
	char text[64];

	memset(text, 'x', sizeof(text));
	isa_disasm(&in, 0, DISASM_RAW, text, 9);
	assert_string_equal(text, "fadd.d\tf");
	assert_int_equal(text[9], 'x');
	isa_disasm(&in, 0, DISASM_RAW, text, 1);
	assert_string_equal(text, "");
	isa_disasm(&in, 0, DISASM_RAW, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_100_rows_match_only_bits_that_they_mask),
		cmocka_unit_test(test_101_rows_do_not_overlap),
		cmocka_unit_test(test_102_mnemonics_are_unique),
		cmocka_unit_test(test_103_every_row_decodes_to_itself),
		cmocka_unit_test(test_104_whatever_is_not_a_row_is_illegal),
		cmocka_unit_test(test_105_the_upper_half_of_a_compressed_word_does_not_count),
		cmocka_unit_test(test_106_reserved_compressed_encodings_are_illegal),
		cmocka_unit_test(test_107_compressed_instructions_expand_to_full_ones),
		cmocka_unit_test(test_108_immediates_reach_both_ends_of_their_range),
		cmocka_unit_test(test_109_operands_are_numbered_in_one_space),
		cmocka_unit_test(test_110_calls_and_returns_follow_the_link_registers),
		cmocka_unit_test(test_111_marks_are_two_hints),
		cmocka_unit_test(test_112_flags_agree_with_class_and_size),
		cmocka_unit_test(test_113_text_is_that_of_binutils),
		cmocka_unit_test(test_114_text_is_cut_at_the_end_of_the_buffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

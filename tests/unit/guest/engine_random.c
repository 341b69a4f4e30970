/* SPDX-License-Identifier: MIT */
/*
 * Random programs, executed by single steps, by the interpreter and by generated code, must end in
 * the same registers, flags, memory and instruction count. A program is a loop of random
 * instructions from the whole table (loads and stores around fixed bases, forward branches, jumps,
 * FP with special values, atomics, CSRs), run often enough to be translated.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "isa/csr.h"
#include "unit/guest/engine_world.h"

enum { LINK = 1, BASE_SP = 2, JUMP_BASE = 5, BASE_S0 = 8, BASE_S2 = 18, LOOP_COUNT = 31 };

static bool is_base(unsigned r)
{
	return r == BASE_SP || r == BASE_S0 || r == BASE_S2;
}

static bool is_reserved(unsigned r)
{
	return is_base(r) || r == LOOP_COUNT || r == JUMP_BASE;
}

static uint64_t random_value(struct rng *rng)
{
	static const uint64_t special[] = {
		0,
		1,
		~0ull,
		1ull << 63,
		~(1ull << 63),
		0x3ff0000000000000,
		0x7ff0000000000000,
		0xfff0000000000000,
		0x7ff8000000000000,
		0x7ff0000000000001,
		0x0010000000000000,
		0x000fffffffffffff,
		0x7fefffffffffffff,
		0xffffffff3f800000,
		0xffffffff7f800000,
		0xffffffffff800000,
		0xffffffff7fc00000,
		0xffffffff7f800001,
		0xffffffff00800000,
		0xffffffff007fffff,
		0xffffffff80000000,
		0xffffffff7f7fffff,
		0x41e0000000000000,
		0xc1e0000000200000,
		0x43e0000000000000,
		0xc3e0000000000000,
		0x8000000000000000,
		0xffffffff4f000000,
		0xffffffff5f000000,
		0xbfe0000000000000,
		0x41efffffffe00001,
	};
	uint64_t r = rng_next(rng);

	switch (rng_below(rng, 8)) {
	case 0:
		return special[rng_below(rng, ARRAY_LEN(special))];
	case 1:
		return r >> rng_below(rng, 64);
	case 2: /* a double of moderate size */
		return (r & 0x800fffffffffffff) | (1023 - 40 + rng_below(rng, 80)) << 52;
	case 3: /* a double with few significant bits, so that results are often exact */
		return (r & 0x800f000000000000) | (1023 - 10 + rng_below(rng, 20)) << 52;
	case 4: /* a boxed single */
		return 0xffffffff00000000 | (r & 0x807fffff) |
		       (127 - 20 + rng_below(rng, 40)) << 23;
	case 5:
		return 0xffffffff00000000 | (r & 0x80780000) |
		       (127 - 10 + rng_below(rng, 20)) << 23;
	case 6: /* near the limits of double */
		return (r & 0x800fffffffffffff) |
		       (rng_below(rng, 2) ? rng_below(rng, 60) : 2046 - rng_below(rng, 60)) << 52;
	default:
		return r;
	}
}

/* Returns one random instruction that may stand anywhere, or 0. */
static uint32_t random_inst(struct rng *rng, bool fp_heavy)
{
	uint32_t word;

	if (rng_below(rng, 4) == 0) {
		word = (uint32_t)rng_below(rng, 0x10000);
		if ((word & 3) == 3)
			return 0;
	} else {
		enum op op = (enum op)(1 + rng_below(rng, OP_COUNT - 1));
		const struct op_info *info = &op_info[op];
		bool is_fp = info->cls >= CLASS_FADD && info->cls <= CLASS_FSQRT;
		if (fp_heavy && !is_fp && rng_below(rng, 2))
			return 0;
		word = info->match | ((uint32_t)rng_next(rng) & ~info->mask);
		if (info->flags & (OPF_LOAD | OPF_STORE)) {
			static const uint8_t bases[] = { BASE_SP, BASE_S0, BASE_S2 };
			word = (word & ~(31u << 15)) | (uint32_t)bases[rng_below(rng, 3)] << 15;
		}
		if (info->cls == CLASS_CSR) {
			static const uint16_t csrs[] = { CSR_FFLAGS, CSR_FFLAGS, CSR_FRM,
							 CSR_FCSR,   CSR_CYCLE,	 CSR_TIME,
							 CSR_INSTRET };
			word = (word & 0xfffff) | (uint32_t)csrs[rng_below(rng, 7)] << 20;
		}
		/* Mostly the rounding modes that compilers use. */
		if (info->flags & OPF_USES_RM && rng_below(rng, 4))
			word |= 7u << 12;
	}
	struct inst in = isa_decode(word);
	const struct op_info *info = &op_info[in.op];
	if (in.op == OP_ILLEGAL || in.op == OP_ECALL || in.op == OP_EBREAK || in.op == OP_FENCE_I ||
	    info->flags & OPF_CTRL || isa_is_mark_begin(&in) || isa_is_mark_end(&in))
		return 0;
	if (info->flags & OPF_RD_INT && is_reserved(in.rd))
		return 0;
	if (info->flags & (OPF_LOAD | OPF_STORE) && !is_base(in.rs1))
		return 0;
	if (info->flags & OPF_USES_RM && in.rm != 7 && in.rm > 4)
		return 0;
	if (info->cls == CLASS_CSR) {
		bool writes = in.op == OP_CSRRW || in.op == OP_CSRRWI || in.rs1 != 0;
		if (writes && in.imm == CSR_FRM && in.op == OP_CSRRWI && in.rs1 < 5)
			return rng_below(rng, 4) ? 0 : word;
		if (writes && in.imm != CSR_FFLAGS)
			return 0;
	}
	return word;
}

static void emit_random_program(struct world *w, struct rng *rng, unsigned count)
{
	bool fp_heavy = rng_below(rng, 2);

	world_restart(w);
	uint64_t start = world_pc(w);
	for (unsigned i = 0; i < count;) {
		unsigned kind = (unsigned)rng_below(rng, 12);
		unsigned skip = 4 * (unsigned)rng_below(rng, 4);
		uint32_t word = 0;
		if (kind == 0) {
			static const enum op branches[] = { OP_BEQ, OP_BNE,  OP_BLT,
							    OP_BGE, OP_BLTU, OP_BGEU };
			world_emit(w,
				   enc_b(branches[rng_below(rng, 6)], (unsigned)rng_below(rng, 32),
					 (unsigned)rng_below(rng, 32), 4 + (int)skip));
		} else if (kind == 1 && rng_below(rng, 2)) {
			world_emit(w, enc_j(OP_JAL, rng_below(rng, 2) ? LINK : 10, 4 + (int)skip));
		} else if (kind == 1) {
			world_emit(w, enc_u(OP_AUIPC, JUMP_BASE, 0));
			world_emit(w, enc_i(OP_JALR, rng_below(rng, 2) ? LINK : 11, JUMP_BASE,
					    8 + (int)skip));
		} else {
			skip = 0;
			while (!word)
				word = random_inst(rng, fp_heavy);
			world_emit(w, word);
		}
		/* A jump skips whole instructions of four bytes. */
		for (unsigned k = 0; k < skip; k += 4) {
			do {
				word = random_inst(rng, fp_heavy);
			} while (!word || (word & 3) != 3);
			world_emit(w, word);
		}
		i += 1 + skip / 4;
	}
	world_emit(w, enc_i(OP_ADDI, LOOP_COUNT, LOOP_COUNT, -1));
	world_emit(w, enc_b(OP_BEQ, LOOP_COUNT, 0, 8));
	world_emit(w, enc_j(OP_JAL, 0, (int)(start - world_pc(w))));
	world_emit(w, enc_i(OP_ECALL, 0, 0, 0));
}

static void random_hart(struct hart *h, struct rng *rng)
{
	memset(h, 0, sizeof(*h));
	for (int i = 1; i < 32; i++)
		h->x[i] = random_value(rng);
	for (int i = 0; i < 32; i++)
		h->f[i] = random_value(rng);
	h->x[BASE_SP] = DATA_PC + 0x1000;
	h->x[BASE_S0] = DATA_PC + 0x1800;
	h->x[BASE_S2] = DATA_PC + 0x2008;
	h->x[LOOP_COUNT] = 60;
	h->lr_addr = ~0ull;
	h->pc = CODE_PC;
	h->fflags = rng_below(rng, 2) ? 0 : 1;
}

static void assert_same_harts(const struct hart *a, const struct hart *b, unsigned seed, int by)
{
	for (int i = 0; i < 32; i++) {
		if (a->x[i] != b->x[i])
			fail_msg("seed %u executor %d: x%d is %lx, not %lx", seed, by, i, b->x[i],
				 a->x[i]);
		if (a->f[i] != b->f[i])
			fail_msg("seed %u executor %d: f%d is %lx, not %lx", seed, by, i, b->f[i],
				 a->f[i]);
	}
	if (a->pc != b->pc || a->fflags != b->fflags || a->frm != b->frm ||
	    a->lr_addr != b->lr_addr || a->lr_value != b->lr_value)
		fail_msg("seed %u executor %d: pc %lx/%lx fflags %x/%x frm %u/%u", seed, by, a->pc,
			 b->pc, a->fflags, b->fflags, a->frm, b->frm);
}

static void compare_executors(unsigned seeds, unsigned first, unsigned count, uint64_t piece)
{
	struct world w;
	uint8_t *before = malloc(DATA_BYTES), *expected = malloc(DATA_BYTES);

	world_open(&w);
	for (unsigned seed = first; seed < first + seeds; seed++) {
		struct rng rng;
		struct hart start, reference;
		uint64_t executed = 0;

		rng_seed(&rng, seed);
		emit_random_program(&w, &rng, count);
		random_hart(&start, &rng);
		for (uint64_t i = 0; i < DATA_BYTES; i += 8) {
			uint64_t v = random_value(&rng);
			memcpy(before + i, &v, 8);
		}
		for (int by = 0; by < EXECUTORS; by++) {
			struct hart h = start;
			memcpy(w.mem.base + DATA_PC, before, DATA_BYTES);
			enum engine_exit result =
			    world_run(&w, by, &h, 1000000, by == BY_STEP ? 0 : piece, &rng);
			if (result != ENGINE_ECALL)
				fail_msg("seed %u executor %d: exit %d at pc %lx", seed, by, result,
					 h.pc);
			if (by == BY_STEP) {
				reference = h;
				executed = w.executed;
				memcpy(expected, w.mem.base + DATA_PC, DATA_BYTES);
				continue;
			}
			assert_same_harts(&reference, &h, seed, by);
			if (memcmp(expected, w.mem.base + DATA_PC, DATA_BYTES))
				fail_msg("seed %u executor %d: memory differs", seed, by);
			assert_int_equal(executed, w.executed);
		}
	}
	free(before);
	free(expected);
	world_close(&w);
}

/*
 * After a random number of instructions one page of data loses its protection: all executors must
 * fault at the same instruction, in the same state.
 */
static void compare_faults(unsigned seeds, unsigned first)
{
	static const unsigned prots[] = { 0, MEM_R };
	uint64_t page = DATA_PC + 0x1000;
	uint8_t *before = malloc(DATA_BYTES), *expected = malloc(DATA_BYTES);
	unsigned faults = 0;
	struct world w;

	world_open(&w);
	for (unsigned seed = first; seed < first + seeds; seed++) {
		struct rng rng;
		struct hart start, reference;
		uint64_t executed = 0, fault_addr = 0;
		enum engine_exit expected_result = ENGINE_BUDGET;

		rng_seed(&rng, seed);
		emit_random_program(&w, &rng, 30);
		random_hart(&start, &rng);
		for (uint64_t i = 0; i < DATA_BYTES; i += 8) {
			uint64_t v = random_value(&rng);
			memcpy(before + i, &v, 8);
		}
		uint64_t good_insts = rng_below(&rng, 1500);
		unsigned prot = prots[rng_below(&rng, 2)];
		for (int by = 0; by < EXECUTORS; by++) {
			struct hart h = start;
			int host = prot ? PROT_READ : PROT_NONE;
			memcpy(w.mem.base + DATA_PC, before, DATA_BYTES);
			if (world_run(&w, by, &h, good_insts, 0, &rng) != ENGINE_BUDGET)
				break;
			mprotect(w.mem.base + page, GUEST_PAGE_BYTES, host);
			enum engine_exit result = world_run(&w, by, &h, 1000000, 0, &rng);
			mprotect(w.mem.base + page, GUEST_PAGE_BYTES, PROT_READ | PROT_WRITE);
			const struct engine_fault *fault = engine_last_fault(w.engine[by]);
			if (by == BY_STEP) {
				reference = h;
				executed = w.executed;
				expected_result = result;
				fault_addr = fault->addr;
				faults += result == ENGINE_FAULT;
				memcpy(expected, w.mem.base + DATA_PC, DATA_BYTES);
				continue;
			}
			assert_same_harts(&reference, &h, seed, by);
			assert_int_equal(result, expected_result);
			assert_int_equal(executed, w.executed);
			if (result == ENGINE_FAULT)
				assert_int_equal(fault->addr, fault_addr);
			if (memcmp(expected, w.mem.base + DATA_PC, DATA_BYTES))
				fail_msg("seed %u executor %d: memory differs", seed, by);
		}
	}
	assert_true(faults > seeds / 3);
	free(before);
	free(expected);
	world_close(&w);
}

static unsigned seeds_from_environment(unsigned otherwise)
{
	const char *text = getenv("CULPRIT_TEST_SEEDS");

	return text ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

static void test_220_random_programs_end_alike_in_all_executors(void **state)
{
	(void)state;
	compare_executors(seeds_from_environment(400), 1, 60, 0);
}

static void test_221_random_budgets_stop_and_resume_exactly(void **state)
{
	(void)state;
	compare_executors(seeds_from_environment(200), 100001, 40, 100);
}

static void test_222_short_random_programs_end_alike(void **state)
{
	(void)state;
	compare_executors(seeds_from_environment(600), 200001, 6, 0);
}

static void test_223_random_programs_run_into_a_lost_page_alike(void **state)
{
	(void)state;
	compare_faults(seeds_from_environment(400), 300001);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_220_random_programs_end_alike_in_all_executors),
		cmocka_unit_test(test_221_random_budgets_stop_and_resume_exactly),
		cmocka_unit_test(test_222_short_random_programs_end_alike),
		cmocka_unit_test(test_223_random_programs_run_into_a_lost_page_alike),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * Faults are precise: whatever access fails, in whichever executor, the hart stands before the
 * instruction, with every register and flag as it was, and the report names address and kind.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "unit/guest/engine_world.h"

enum { LOOP_COUNT = 31, GOOD_RUNS = 100 };

static uint32_t with_rs1(uint32_t word, unsigned rs1)
{
	return (word & ~(31u << 15)) | rs1 << 15;
}

/* Encodes op with rd 12 and rs2 13 where it has them, rs1 as given, and no offset. */
static uint32_t memory_word(enum op op, unsigned rs1)
{
	const struct op_info *info = &op_info[op];
	uint32_t word = info->match;

	if (info->flags & (OPF_RD_INT | OPF_RD_FP))
		word |= 12u << 7;
	if (info->flags & (OPF_RS2_INT | OPF_RS2_FP))
		word |= 13u << 20;
	return with_rs1(word, rs1);
}

/*
 * Emits a loop that executes the access word, at pc *at, GOOD_RUNS times through base register
 * `base`, which holds good, and then once with bad.
 */
static void emit_loop(struct world *w, uint32_t word, unsigned base, uint64_t *at)
{
	world_restart(w);
	world_emit(w, enc_i(OP_ADDI, 14, 14, 1));
	world_emit(w, enc_r(OP_ADD, 6, 14, 5));
	*at = world_pc(w);
	world_emit(w, word);
	world_emit(w, enc_i(OP_ADDI, 7, 7, 3));
	world_emit(w, enc_i(OP_ADDI, LOOP_COUNT, LOOP_COUNT, -1));
	world_emit(w, enc_b(OP_BNE, LOOP_COUNT, 0, (int)(CODE_PC - world_pc(w))));
	world_emit(w, enc_r(OP_ADD, base, 0, 30));
	world_emit(w, enc_j(OP_JAL, 0, (int)(CODE_PC - world_pc(w))));
}

static struct hart start_hart(unsigned base, uint64_t good, uint64_t bad)
{
	struct hart h;

	memset(&h, 0, sizeof(h));
	for (unsigned i = 1; i < 32; i++) {
		h.x[i] = 0x1111111111111111ull * (i % 16) + i;
		h.f[i] = 0x4000000000000000ull + i;
	}
	h.x[base] = good;
	h.x[30] = bad;
	h.x[LOOP_COUNT] = GOOD_RUNS;
	h.lr_addr = ~0ull;
	h.pc = CODE_PC;
	return h;
}

static void expect_fault(struct world *w, uint32_t word, unsigned base, uint64_t good, uint64_t bad,
			 uint64_t fault_addr, bool mapped)
{
	uint64_t at;
	struct inst in = isa_decode(word);

	emit_loop(w, word, base, &at);
	for (int by = 0; by < EXECUTORS; by++) {
		struct hart h = start_hart(base, good, bad);
		enum engine_exit result = world_run(w, by, &h, 100000, 0, NULL);
		const struct engine_fault *fault = engine_last_fault(w->engine[by]);

		if (result != ENGINE_FAULT || h.pc != at || fault->addr != fault_addr)
			fail_msg("%s at %lx by %d: exit %d, pc %lx (expected %lx), address %lx",
				 op_info[in.op].name, bad, by, result, h.pc, at, fault->addr);
		assert_int_equal(fault->write, (op_info[in.op].flags & OPF_STORE) != 0);
		assert_int_equal(fault->mapped, mapped);
		assert_false(fault->bus);
		assert_int_equal(w->executed, 6 * GOOD_RUNS + 4);
		/* The registers before the access, after the rounds that were executed. */
		struct hart before = start_hart(base, good, bad);
		assert_int_equal(h.x[14], before.x[14] + GOOD_RUNS + 1);
		assert_int_equal(h.x[6], h.x[14] + before.x[5]);
		assert_int_equal(h.x[7], before.x[7] + 3 * GOOD_RUNS);
		assert_int_equal(h.x[LOOP_COUNT], 0);
		assert_int_equal(h.x[base], bad);
		assert_int_equal(h.x[0], 0);
		for (unsigned i = 16; i < 30; i++)
			if (i != base)
				assert_int_equal(h.x[i], before.x[i]);
	}
}

static void each_memory_op(struct world *w,
			   void (*check)(struct world *w, enum op op, unsigned base))
{
	for (unsigned op = 1; op < OP_COUNT; op++) {
		if (!(op_info[op].flags & (OPF_LOAD | OPF_STORE)))
			continue;
		check(w, (enum op)op, 10); /* kept in a host register */
		check(w, (enum op)op, 28); /* not kept in a host register */
	}
}

static void check_unmapped(struct world *w, enum op op, unsigned base)
{
	/* A store-conditional without a reservation does not touch memory. */
	if (op == OP_SC_W || op == OP_SC_D)
		return;
	expect_fault(w, memory_word(op, base), base, DATA_PC, 0x80000, 0x80000, false);
}

static void test_230_each_access_to_an_unmapped_page_faults_precisely(void **state)
{
	struct world w;

	(void)state;
	world_open(&w);
	each_memory_op(&w, check_unmapped);
	world_close(&w);
}

static void check_wild(struct world *w, enum op op, unsigned base)
{
	static const uint64_t wild[] = { GUEST_ADDR_LIMIT,
					 GUEST_ADDR_LIMIT + 0x100000,
					 1ull << 39,
					 0x7ffffffff000,
					 0x800000000000,
					 1ull << 63,
					 0xffffffffffffff00ull,
					 0xfffffffffff00000ull };

	if (op == OP_SC_W || op == OP_SC_D)
		return;
	for (unsigned i = 0; i < ARRAY_LEN(wild); i++)
		expect_fault(w, memory_word(op, base), base, DATA_PC, wild[i], wild[i], false);
}

static void test_231_addresses_that_no_guest_has_fault_cleanly(void **state)
{
	struct world w;

	(void)state;
	world_open(&w);
	each_memory_op(&w, check_wild);
	world_close(&w);
}

static void test_232_a_store_to_a_read_only_page_is_a_protection_fault(void **state)
{
	struct world w;

	(void)state;
	world_open(&w);
	world_map(&w, 0x60000, 0x1000, MEM_R);
	expect_fault(&w, enc_s(OP_SD, 10, 13, 8), 10, DATA_PC, 0x60000, 0x60008, true);
	expect_fault(&w, memory_word(OP_AMOADD_W, 28), 28, DATA_PC, 0x60000, 0x60000, true);
	world_close(&w);
}

static void test_233_an_access_across_pages_faults_at_the_second(void **state)
{
	struct world w;

	(void)state;
	world_open(&w);
	uint64_t end = DATA_PC + DATA_BYTES;
	expect_fault(&w, enc_i(OP_LD, 12, 10, 0), 10, DATA_PC, end - 4, end, false);
	expect_fault(&w, enc_s(OP_SW, 28, 13, 1), 28, DATA_PC, end - 3, end, false);
	expect_fault(&w, enc_i(OP_FLD, 12, 10, 0), 10, DATA_PC, end - 1, end, false);
	world_close(&w);
}

static void test_234_an_access_across_the_last_address_faults(void **state)
{
	struct world w;

	(void)state;
	world_open(&w);
	world_map(&w, GUEST_ADDR_LIMIT - 0x1000, 0x1000, MEM_R | MEM_W);
	expect_fault(&w, enc_i(OP_LD, 12, 10, 0), 10, DATA_PC, GUEST_ADDR_LIMIT - 4,
		     GUEST_ADDR_LIMIT, false);
	expect_fault(&w, enc_s(OP_SD, 28, 13, 0), 28, DATA_PC, GUEST_ADDR_LIMIT - 1,
		     GUEST_ADDR_LIMIT, false);
	expect_fault(&w, enc_i(OP_LD, 12, 10, -2047), 10, DATA_PC + 4096, 2040, -7ull, false);
	world_close(&w);
}

static void test_235_a_base_outside_with_an_offset_inside_is_no_fault(void **state)
{
	struct world w;

	(void)state;
	world_open(&w);
	world_map(&w, GUEST_ADDR_LIMIT - 0x1000, 0x1000, MEM_R | MEM_W);
	world_map(&w, 0, 0x1000, MEM_R | MEM_W);
	world_emit(&w, enc_i(OP_LD, 12, 10, -8));
	world_emit(&w, enc_i(OP_LD, 13, 11, 16));
	world_emit(&w, enc_i(OP_LD, 15, 28, 24));
	world_emit(&w, enc_i(OP_ADDI, LOOP_COUNT, LOOP_COUNT, -1));
	world_emit(&w, enc_b(OP_BNE, LOOP_COUNT, 0, -16));
	world_emit(&w, enc_i(OP_ECALL, 0, 0, 0));
	uint64_t values[3] = { 0x0123456789abcdef, 0xfedcba9876543210, 77 };
	memcpy(w.mem.base + GUEST_ADDR_LIMIT - 8, &values[0], 8);
	memcpy(w.mem.base + 8, &values[1], 16);
	for (int by = 0; by < EXECUTORS; by++) {
		struct hart h = start_hart(10, GUEST_ADDR_LIMIT, 0);
		h.x[11] = -8ull;
		h.x[28] = -8ull;
		assert_int_equal(world_run(&w, by, &h, 100000, 0, NULL), ENGINE_ECALL);
		assert_int_equal(h.x[12], values[0]);
		assert_int_equal(h.x[13], values[1]);
		assert_int_equal(h.x[15], values[2]);
	}
	world_close(&w);
}

/*
 * The first and the last page of the guest's addresses are mapped. Pages outside of the guards can
 * be read and written, so that an access that gets past the guards does not fault.
 */
enum { OUTSIDE_BYTES = 0x20000, EDGE_BYTES = 0x1000 };

static void open_edges(struct world *w, uint8_t *outside[2])
{
	world_open(w);
	world_map(w, 0, EDGE_BYTES, MEM_R | MEM_W);
	world_map(w, GUEST_ADDR_LIMIT - EDGE_BYTES, EDGE_BYTES, MEM_R | MEM_W);
	outside[0] = w->mem.base - GUEST_GUARD_BYTES - OUTSIDE_BYTES;
	outside[1] = w->mem.base + GUEST_ADDR_LIMIT + GUEST_GUARD_BYTES;
	for (int i = 0; i < 2; i++) {
		assert_ptr_equal(mmap(outside[i], OUTSIDE_BYTES, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0),
				 outside[i]);
		memset(outside[i], 0xa5, OUTSIDE_BYTES);
	}
}

static void close_edges(struct world *w, uint8_t *outside[2])
{
	for (int i = 0; i < 2; i++) {
		for (unsigned k = 0; k < OUTSIDE_BYTES; k++)
			if (outside[i][k] != 0xa5)
				fail_msg("a store got past the guard, to byte %u", k);
		munmap(outside[i], OUTSIDE_BYTES);
	}
	world_close(w);
}

static bool is_there(uint64_t addr)
{
	return addr < EDGE_BYTES ||
	       (addr < GUEST_ADDR_LIMIT && addr >= GUEST_ADDR_LIMIT - EDGE_BYTES);
}

/* Returns whether an access of that many bytes faults. The host reports one of the missing
 * bytes. */
static bool faults(uint64_t addr, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		if (!is_there(addr + i))
			return true;
	return false;
}

/* Atomic operations have no offset, and must be aligned. */
static bool is_atomic(enum op op)
{
	return (op_info[op].match & 0x7f) == 0x2f;
}

/* Executes word, whose base register is x10, at the end of a block that has run before. */
static void try_edge(struct world *w, uint32_t word, uint64_t base)
{
	struct inst in = isa_decode(word);
	const struct op_info *info = &op_info[in.op];
	unsigned bytes = info->mem_bytes;
	uint64_t addr = base + (is_atomic(in.op) ? 0 : (uint64_t)(int64_t)in.imm);
	bool aligned = !is_atomic(in.op) || addr % bytes == 0;

	for (int by = 0; by < EXECUTORS; by++) {
		struct hart h = start_hart(10, 64, base);
		uint64_t value = h.f[13];
		enum engine_exit result;

		if (!is_atomic(in.op))
			h.x[10] = (uint64_t)(64 - (int64_t)in.imm);
		h.x[LOOP_COUNT] = 20;
		result = world_run(w, by, &h, 100000, 0, NULL);
		const struct engine_fault *f = engine_last_fault(w->engine[by]);

		assert_int_equal(h.f[13], value);
		if (!aligned) {
			assert_int_equal(result, ENGINE_FAULT);
			assert_true(f->misaligned);
		} else if (faults(addr, bytes)) {
			if (result != ENGINE_FAULT || h.x[10] != base || f->addr - addr >= bytes ||
			    is_there(f->addr))
				fail_msg("%s at %lx by %d: exit %d, address %lx", info->name, addr,
					 by, result, f->addr);
		} else if (result != ENGINE_ECALL) {
			fail_msg("%s at %lx by %d: exit %d", info->name, addr, by, result);
		}
	}
}

/* Emits the word 20 times with a good base, then once with the bad one, then ecall. */
static void emit_edge(struct world *w, uint32_t word)
{
	uint64_t loop;

	world_restart(w);
	loop = world_pc(w);
	world_emit(w, word);
	world_emit(w, enc_i(OP_ADDI, LOOP_COUNT, LOOP_COUNT, -1));
	world_emit(w, enc_b(OP_BLT, 0, LOOP_COUNT, (int)(loop - world_pc(w))));
	world_emit(w, enc_r(OP_ADD, 10, 0, 30));
	world_emit(w, enc_b(OP_BEQ, LOOP_COUNT, 0, (int)(loop - world_pc(w))));
	world_emit(w, enc_i(OP_ECALL, 0, 0, 0));
}

static void test_275_accesses_at_the_ends_of_the_reservation_fault_or_are_the_guests(void **state)
{
	static const int offsets[] = { -2048, -9, -8, -1, 0, 1, 7, 8, 2047 };
	static const uint64_t places[] = { 0,
					   EDGE_BYTES,
					   GUEST_ADDR_LIMIT - EDGE_BYTES,
					   GUEST_ADDR_LIMIT,
					   GUEST_ADDR_LIMIT + GUEST_GUARD_BYTES,
					   GUEST_ADDR_LIMIT + GUEST_GUARD_BYTES + OUTSIDE_BYTES,
					   -GUEST_GUARD_BYTES,
					   -GUEST_GUARD_BYTES - OUTSIDE_BYTES };
	static const int near[] = { -2048, -2047, -16, -8, -7, -4, -1, 0, 1, 4, 8, 2040, 2048 };
	uint8_t *outside[2];
	struct world w;

	(void)state;
	open_edges(&w, outside);
	for (unsigned op = 1; op < OP_COUNT; op++) {
		const struct op_info *info = &op_info[op];
		bool amo = is_atomic((enum op)op);

		/* A store-conditional without a reservation does not touch memory. */
		if (!(info->flags & (OPF_LOAD | OPF_STORE)) || op == OP_SC_W || op == OP_SC_D)
			continue;
		for (unsigned o = 0; o < (amo ? 1 : ARRAY_LEN(offsets)); o++) {
			uint32_t word = memory_word((enum op)op, 10);

			if (!amo && info->flags & OPF_LOAD)
				word |= (uint32_t)offsets[o] << 20;
			else if (!amo)
				word |= ((uint32_t)offsets[o] & 31) << 7 |
					((uint32_t)offsets[o] >> 5 & 127) << 25;
			emit_edge(&w, word);
			for (unsigned p = 0; p < ARRAY_LEN(places); p++)
				for (unsigned n = 0; n < ARRAY_LEN(near); n++)
					try_edge(&w, word, places[p] + (uint64_t)(int64_t)near[n]);
		}
	}
	close_edges(&w, outside);
}

/*
 * Generated code checks a base register once and then tracks how far additions can have moved it.
 * Here a register walks off either end in one block, in steps of all sizes, by additions and
 * moves.
 */
static void test_276_a_checked_base_cannot_walk_past_the_guards(void **state)
{
	uint8_t *outside[2];
	struct world w;

	(void)state;
	open_edges(&w, outside);
	for (unsigned stores = 0; stores < 2; stores++) {
		for (unsigned steps = 0; steps < 56; steps++) {
			for (unsigned kind = 0; kind < 6; kind++) {
				int by = kind & 1 ? -2048 : 2047;
				uint64_t start = by < 0 ? 0 : GUEST_ADDR_LIMIT - 8;
				uint64_t end = start + (uint64_t)((int64_t)by * steps);
				unsigned reg = 10;

				world_restart(&w);
				world_emit(&w, enc_i(OP_LD, 12, 10, 0));
				for (unsigned i = 0; i < steps; i++) {
					/* add to the same register, or from one to the other */
					unsigned to = kind < 2 ? reg : 10 + (i + 1) % 2 * 18;
					if (kind >= 4 && i % 4 == 3)
						world_emit(&w, enc_r(OP_ADD, 18, reg, 0)), reg = 18;
					world_emit(&w, enc_i(OP_ADDI, to, reg, by));
					reg = to;
				}
				world_emit(&w, stores ? enc_s(OP_SD, reg, 12, 0)
						      : enc_i(OP_LD, 13, reg, 0));
				world_emit(&w, enc_i(OP_ECALL, 0, 0, 0));
				for (int x = 0; x < EXECUTORS; x++) {
					enum engine_exit result = ENGINE_BUDGET;
					/* run often enough to be translated */
					for (int times = 0; times < 16; times++) {
						struct hart h = start_hart(10, start, 0);
						result = world_run(&w, x, &h, 1000, 0, NULL);
					}
					const struct engine_fault *f =
					    engine_last_fault(w.engine[x]);
					if (faults(end, 8)
						? result != ENGINE_FAULT || f->addr - end >= 8
						: result != ENGINE_ECALL)
						fail_msg("%u steps of %d by %d: exit %d, %lx",
							 steps, by, x, result, f->addr);
				}
			}
		}
	}
	close_edges(&w, outside);
}

static void test_236_a_misaligned_atomic_is_a_bus_error(void **state)
{
	struct world w;
	uint64_t at;

	(void)state;
	world_open(&w);
	emit_loop(&w, memory_word(OP_AMOSWAP_D, 10), 10, &at);
	for (int by = 0; by < EXECUTORS; by++) {
		struct hart h = start_hart(10, DATA_PC, DATA_PC + 4);
		assert_int_equal(world_run(&w, by, &h, 100000, 0, NULL), ENGINE_FAULT);
		assert_int_equal(h.pc, at);
		assert_true(engine_last_fault(w.engine[by])->bus);
		assert_true(engine_last_fault(w.engine[by])->misaligned);
	}
	world_close(&w);
}

static void test_237_a_mapped_file_that_ends_early_is_a_bus_error(void **state)
{
	struct world w;
	uint64_t at;
	char path[] = "/tmp/culprit-engine-XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	unlink(path);
	world_open(&w);
	world_map(&w, 0x60000, 0x1000, MEM_R | MEM_W);
	assert_ptr_not_equal(mmap(w.mem.base + 0x60000, 0x1000, PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_FIXED, fd, 0),
			     MAP_FAILED);
	emit_loop(&w, enc_i(OP_LW, 12, 10, 0), 10, &at);
	for (int by = 0; by < EXECUTORS; by++) {
		struct hart h = start_hart(10, DATA_PC, 0x60010);
		assert_int_equal(world_run(&w, by, &h, 100000, 0, NULL), ENGINE_FAULT);
		assert_int_equal(h.pc, at);
		assert_int_equal(engine_last_fault(w.engine[by])->addr, 0x60010);
		assert_true(engine_last_fault(w.engine[by])->bus);
	}
	close(fd);
	world_close(&w);
}

static void test_238_misaligned_accesses_work_also_across_pages(void **state)
{
	static const enum op loads[] = { OP_LH, OP_LHU, OP_LW, OP_LWU, OP_LD };
	struct world w;

	(void)state;
	world_open(&w);
	for (unsigned i = 0; i < DATA_BYTES; i++)
		w.mem.base[DATA_PC + i] = (uint8_t)(i * 37 + 11);
	for (unsigned k = 0; k < ARRAY_LEN(loads); k++) {
		unsigned bytes = op_info[loads[k]].mem_bytes;
		world_restart(&w);
		world_emit(&w, enc_i(loads[k], 12, 10, 0));
		world_emit(&w, enc_s(bytes == 2 ? OP_SH : bytes == 4 ? OP_SW : OP_SD, 11, 12, 0));
		world_emit(&w, enc_i(OP_ADDI, LOOP_COUNT, LOOP_COUNT, -1));
		world_emit(&w, enc_b(OP_BNE, LOOP_COUNT, 0, -12));
		world_emit(&w, enc_i(OP_ECALL, 0, 0, 0));
		for (int by = 0; by < EXECUTORS; by++) {
			for (unsigned offset = 0; offset < 8; offset++) {
				struct hart h = start_hart(10, DATA_PC + 0x1000 - offset, 0);
				uint64_t to = DATA_PC + 0x3000 - 7 + offset;
				h.x[11] = to;
				memset(w.mem.base + to, 0, 8);
				assert_int_equal(world_run(&w, by, &h, 100000, 0, NULL),
						 ENGINE_ECALL);
				assert_memory_equal(w.mem.base + to, w.mem.base + h.x[10], bytes);
			}
		}
	}
	world_close(&w);
}

static uint64_t bad_counter(void *ctx, unsigned csr, uint64_t executed)
{
	(void)csr, (void)executed;
	return *(volatile uint64_t *)ctx;
}

static void test_239_a_fault_outside_of_guest_memory_ends_the_process(void **state)
{
	struct world w;
	int status;

	(void)state;
	world_open(&w);
	world_emit(&w, 0xc00025f3); /* rdcycle a1 */
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct engine_config config = { .counter = bad_counter, .counter_ctx = (void *)16 };
		struct engine *e = engine_new(&w.mem, &config);
		struct hart h = start_hart(10, 0, 0);
		uint64_t budget = 10;
		engine_run(e, &h, &budget);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSEGV);
	world_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_230_each_access_to_an_unmapped_page_faults_precisely),
		cmocka_unit_test(test_231_addresses_that_no_guest_has_fault_cleanly),
		cmocka_unit_test(test_232_a_store_to_a_read_only_page_is_a_protection_fault),
		cmocka_unit_test(test_233_an_access_across_pages_faults_at_the_second),
		cmocka_unit_test(test_234_an_access_across_the_last_address_faults),
		cmocka_unit_test(test_235_a_base_outside_with_an_offset_inside_is_no_fault),
		cmocka_unit_test(
		    test_275_accesses_at_the_ends_of_the_reservation_fault_or_are_the_guests),
		cmocka_unit_test(test_276_a_checked_base_cannot_walk_past_the_guards),
		cmocka_unit_test(test_236_a_misaligned_atomic_is_a_bus_error),
		cmocka_unit_test(test_237_a_mapped_file_that_ends_early_is_a_bus_error),
		cmocka_unit_test(test_238_misaligned_accesses_work_also_across_pages),
		cmocka_unit_test(test_239_a_fault_outside_of_guest_memory_ends_the_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

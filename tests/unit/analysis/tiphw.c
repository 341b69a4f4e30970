/* SPDX-License-Identifier: MIT */
/* 1650: TIP's sampling hardware on hand-written cycles, its registers as bits, its file, and what the
 * profilers cost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/profile/cost.h"
#include "analysis/profile/tiphw.h"
#include "isa/isa.h"

/* A machine of `ways` and the cycles that its hardware has seen. */
struct bench {
	struct tip_layout layout;
	struct tiphw hw;
	struct rec_inst inst[TIP_WAYS_MAX];
	uint64_t po, now;
	unsigned delivered;
	struct tip_sample got[8];
};

static void start(struct bench *b, unsigned ways)
{
	memset(b, 0, sizeof(*b));
	assert_true(tip_layout(ways, EVENT_TEA_COUNT, &b->layout));
	tiphw_init(&b->hw, &b->layout);
	b->po = 1;
}

static uint64_t pc_of(uint64_t po)
{
	return 0x1000 * po;
}

static void take(struct bench *b, bool complete)
{
	if (complete)
		b->got[b->delivered++] = b->hw.sample;
}

/* One cycle; fire: the counter overflows in it. */
static void cycle(struct bench *b, struct rec_cycle c, bool fire)
{
	const struct rec_inst *group[TIP_WAYS_MAX] = { NULL };

	for (unsigned i = 0; i < c.ncommit; i++)
		group[i] = &b->inst[i];
	c.cycle = b->now;
	c.repeat = 1;
	take(b, tiphw_begin(&b->hw, &c, group));
	if (fire)
		take(b, tiphw_fire(&b->hw, &c, b->now, 10));
	tiphw_end(&b->hw, &c, group);
	b->now++;
}

/* n instructions commit; the youngest has these flags and events. */
static void commit(struct bench *b, unsigned n, uint32_t flags, uint32_t psv, bool fire)
{
	struct rec_cycle c = { .ncommit = (uint8_t)n, .head_po = b->po, .head_pc = pc_of(b->po) };

	for (unsigned i = 0; i < n; i++)
		b->inst[i] = (struct rec_inst){ .po = b->po + i, .pc = pc_of(b->po + i), .tid = 7 };
	b->inst[n - 1].flags = flags;
	b->inst[n - 1].psv = psv;
	b->po += n;
	if (flags & RI_FLUSHES) {
		c.flags = RC_FLUSH;
		c.flush_po = b->po - 1;
	}
	cycle(b, c, fire);
}

static void stall(struct bench *b, uint16_t flags, bool fire)
{
	cycle(b,
	      (struct rec_cycle){
		  .head_po = b->po, .head_pc = pc_of(b->po), .flags = flags, .flush_po = b->po },
	      fire);
}

static void empty(struct bench *b, enum flush_cause cause, uint64_t po, bool fire)
{
	cycle(b,
	      (struct rec_cycle){
		  .flags = RC_ROB_EMPTY, .flush_cause = (uint8_t)cause, .flush_po = po },
	      fire);
}

static void test_1650_a_committing_group_fills_the_registers_of_its_banks(void **state)
{
	struct bench b;
	unsigned which[TIP_WAYS_MAX];

	start(&b, 4);
	commit(&b, 3, 0, 0, false);
	commit(&b, 3, 0, PSV_ST_L1, true); /* 4, 5 and 6: banks 3, 0 and 1 */
	assert_int_equal(b.delivered, 1);
	assert_int_equal(b.got[0].valid, 0xb);
	assert_int_equal(b.got[0].oldest, 3);
	assert_int_equal(b.got[0].flags, 0);
	assert_int_equal(b.got[0].cycles, 10);
	assert_int_equal(b.got[0].tid, 7);
	assert_int_equal(tip_blames(&b.layout, &b.got[0], which), 3);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(b.got[0].address[which[i]], pc_of(4 + i));
	assert_int_equal(b.got[0].psv[which[2]], PSV_ST_L1);
}

static void test_1651_a_stalled_sample_waits_for_its_psv(void **state)
{
	struct bench b;

	start(&b, 4);
	commit(&b, 1, 0, 0, false);
	stall(&b, 0, true);
	stall(&b, 0, false);
	assert_int_equal(b.delivered, 0);
	stall(&b, 0, true); /* the counter overflows again: the sample that waits gets the time */
	commit(&b, 1, 0, PSV_ST_L1 | PSV_ST_TLB, false);
	assert_int_equal(b.delivered, 1);
	assert_int_equal(b.got[0].flags, TIP_STALLED);
	assert_int_equal(b.got[0].cycles, 20);
	assert_int_equal(b.hw.merged, 1);
	assert_int_equal(b.got[0].oldest, 1);
	assert_int_equal(b.got[0].address[1], pc_of(2));
	assert_int_equal(b.got[0].psv[1], PSV_ST_L1 | PSV_ST_TLB);
}

static void test_1652_a_drained_sample_takes_the_first_to_enter(void **state)
{
	struct bench b;

	start(&b, 2);
	commit(&b, 2, 0, 0, false);
	empty(&b, FLUSH_NONE, 0, true);
	empty(&b, FLUSH_NONE, 0, false);
	stall(&b, 0, false);
	assert_int_equal(b.delivered, 0);
	commit(&b, 2, 0, 0, false);
	assert_int_equal(b.delivered, 1);
	assert_int_equal(b.got[0].flags, TIP_FRONT_END);
	assert_int_equal(b.got[0].valid, 1);
	assert_int_equal(b.got[0].address[0], pc_of(3));
}

static void test_1653_the_offending_instruction_is_the_branch_that_committed_last(void **state)
{
	struct bench b;

	start(&b, 2);
	commit(&b, 2, RI_MISPREDICT, PSV_FL_MB, false);
	empty(&b, FLUSH_MISPREDICT, 2, true);
	assert_int_equal(b.delivered, 1);
	assert_int_equal(b.got[0].flags, TIP_MISPREDICTED);
	assert_int_equal(b.got[0].valid, 1);
	assert_int_equal(b.got[0].oldest, 0);
	assert_int_equal(b.got[0].address[0], pc_of(2));
	assert_int_equal(b.got[0].psv[0], PSV_FL_MB);
	/* The next commit overwrites the register. */
	commit(&b, 1, 0, 0, false);
	empty(&b, FLUSH_NONE, 0, true);
	stall(&b, 0, false);
	commit(&b, 1, 0, 0, false);
	assert_int_equal(b.got[1].flags, TIP_FRONT_END);
}

static void test_1654_an_exception_and_a_flush_are_told_apart(void **state)
{
	static const struct {
		enum flush_cause cause;
		unsigned flags;
		uint32_t psv;
	} cases[] = { { FLUSH_EXCEPTION, TIP_EXCEPTION, PSV_FL_EX },
		      { FLUSH_ORDER, TIP_FLUSH, PSV_FL_MO } };

	for (unsigned i = 0; i < 2; i++) {
		struct bench b;

		start(&b, 4);
		commit(&b, 1, 0, 0, false);
		stall(&b, RC_FLUSH | RC_HEAD_DONE, false); /* instruction 2 cannot commit */
		empty(&b, cases[i].cause, 2, true);
		assert_int_equal(b.delivered, 1);
		assert_int_equal(b.got[0].flags, cases[i].flags);
		assert_int_equal(b.got[0].address[0], pc_of(2));
		assert_int_equal(b.got[0].psv[0], cases[i].psv);
	}
}

static void test_1669_a_sample_does_not_wait_for_the_end_of_a_handler(void **state)
{
	struct bench b;

	start(&b, 4);
	commit(&b, 1, 0, 0, false);
	stall(&b, 0, true);
	stall(&b, RC_FLUSH | RC_HEAD_DONE, false);
	assert_int_equal(b.delivered, 0);
	empty(&b, FLUSH_EXCEPTION, 2, true);
	assert_int_equal(b.delivered, 2);
	assert_int_equal(b.got[0].flags, TIP_STALLED);
	assert_int_equal(b.got[0].cycles, 10);
	assert_int_equal(b.got[0].psv[1], PSV_FL_EX);
	assert_int_equal(b.got[1].flags, TIP_EXCEPTION);
}

static void test_1655_an_instruction_executed_again_raises_no_second_exception(void **state)
{
	struct bench b;

	start(&b, 4);
	commit(&b, 1, 0, 0, false);
	stall(&b, RC_FLUSH | RC_HEAD_DONE, false);
	empty(&b, FLUSH_EXCEPTION, 2, false);
	stall(&b, 0, false);
	/* It commits with the flags of its first life, and without a flush. */
	struct rec_cycle c = { .ncommit = 1, .head_po = 2, .head_pc = pc_of(2) };
	b.inst[0] = (struct rec_inst){
		.po = 2, .pc = pc_of(2), .flags = RI_FLUSHES | RI_EXCEPTION, .psv = PSV_FL_EX
	};
	b.po = 3;
	cycle(&b, c, false);
	empty(&b, FLUSH_NONE, 0, true);
	stall(&b, 0, false);
	commit(&b, 1, 0, 0, false);
	assert_int_equal(b.got[0].flags, TIP_FRONT_END);
	/* A system call commits and flushes in the same cycle. */
	commit(&b, 1, RI_FLUSHES | RI_EXCEPTION, PSV_FL_EX, false);
	empty(&b, FLUSH_EXCEPTION, b.po - 1, true);
	assert_int_equal(b.got[1].flags, TIP_EXCEPTION);
	assert_int_equal(b.got[1].address[0], pc_of(b.po - 1));
}

static void test_1656_registers_keep_every_bit_at_every_width(void **state)
{
	struct rng rng;

	rng_seed(&rng, 1);
	for (unsigned ways = 1; ways <= TIP_WAYS_MAX; ways++)
		for (unsigned bits = 0; bits <= TIP_PSV_BITS_MAX; bits += 9) {
			struct tip_layout l;
			struct tip_sample in = { .time = 0 }, out = { .time = 0 };
			uint64_t csr[TIP_CSRS_MAX];

			assert_true(tip_layout(ways, bits, &l));
			assert_true(l.csrs <= TIP_CSRS_MAX);
			in.valid = rng_next(&rng) & (ways == 64 ? ~0ull : (1ull << ways) - 1);
			in.oldest = (unsigned)rng_below(&rng, ways);
			in.flags = (unsigned)rng_below(&rng, 32);
			for (unsigned i = 0; i < ways; i++)
				in.psv[i] = (uint32_t)rng_below(&rng, 1u << bits);
			tip_pack(&l, &in, csr);
			tip_unpack(&l, csr, &out);
			assert_memory_equal(&in, &out, sizeof(in));
		}
}

/* The papers: 88 bytes with four ways, PSVs or not; the flags use 10 bits, by their own list 11. */
static void test_1657_a_sample_has_the_size_of_the_papers(void **state)
{
	struct tip_layout l;

	assert_true(tip_layout(4, 0, &l));
	assert_int_equal(l.sample_bytes, 88);
	assert_int_equal(l.flag_bits, 11);
	assert_true(tip_layout(4, 9, &l));
	assert_int_equal(l.sample_bytes, 88);
	assert_int_equal(l.flag_bits, 11 + 36);
	assert_true(tip_layout(2, 9, &l));
	assert_int_equal(l.sample_bytes, 40 + 8 * (2 + 2));
	assert_true(tip_layout(8, 9, &l)); /* the PSVs need a second register */
	assert_int_equal(l.csrs, 2);
	assert_int_equal(l.sample_bytes, 40 + 8 * (1 + 2 + 8));
}

/* tip2021 section 3.2, tea2023 section 3 and table B.1. */
static void test_1658_the_costs_are_those_of_the_papers_on_their_machine(void **state)
{
	struct machine m;
	struct err e;
	struct cost_storage s;
	struct cost_profiler p;

	assert_true(machine_load(&m, "boom-tea", &e));
	cost_storage(&m, PSV_TEA, &s);
	assert_int_equal(s.tip_bytes, 57);
	assert_int_equal(s.tea_bytes, 249);
	assert_int_equal(s.both_bytes, 306);
	assert_int_equal(s.fetch_buffer, 12 * 8);
	assert_int_equal(s.rob, 216 * 8);
	static const struct {
		enum profiler_id id;
		unsigned bits;
	} tagged[] = { { PROFILER_IBS, 6 }, { PROFILER_SPE, 5 }, { PROFILER_RIS, 7 } };
	for (unsigned i = 0; i < 3; i++) {
		cost_profiler(&m, tagged[i].id, COST_HERTZ, COST_INTERRUPT, &p);
		assert_int_equal(p.storage_bits, tagged[i].bits);
	}
	cost_profiler(&m, PROFILER_TEA, COST_HERTZ, COST_INTERRUPT, &p);
	assert_float_equal(p.bytes_per_second, 352e3, 1);
	assert_float_equal(p.slowdown, 0.011, 1e-6);
	cost_profiler(&m, PROFILER_NCI, COST_HERTZ, COST_INTERRUPT, &p);
	assert_float_equal(p.bytes_per_second, 224e3, 1);
	assert_float_equal(p.slowdown, 0.010, 1e-6);
	assert_float_equal(cost_oracle(&m), 179e9, 0.5e9);
	assert_float_equal(cost_golden(&m), 116e9, 1e9); /* ours: 116.8 */
}

static void test_1659_a_file_gives_back_its_samples_and_images(void **state)
{
	char path[] = "/tmp/culprit-tiphw-XXXXXX";
	const int fd = mkstemp(path);
	struct tip_header h = {
		.period = 100, .clock_hz = 3200000000, .program = "p", .machine = "m"
	};
	struct tip_sample s = { .time = 9,
				.cycles = 10,
				.valid = 1,
				.flags = TIP_STALLED,
				.pid = 1,
				.tid = 2,
				.kernel = true },
			  got;
	struct tip_image image = { (char *)"/no/such", (char *)"such", 0x1000, 0x2000, 0 };
	struct export_file f;
	struct err e = { "" };
	size_t n;

	assert_true(fd >= 0);
	close(fd);
	unlink(path);
	s.address[0] = 0x1234;
	s.psv[0] = PSV_ST_L1;
	assert_true(tip_layout(4, 9, &h.layout));
	assert_true(export_file_open(&f, path, &tip_file_kind, &e));
	assert_true(tip_write_header(&f, &h, &e));
	assert_true(tip_write_sample(&f, &h.layout, &s, &e));
	assert_true(tip_write_image(&f, &image, &e));
	assert_true(tip_write_end(&f, 1, 10, 5, &e));
	assert_true(export_file_finish(&f, &e));
	export_file_free(&f);
	assert_true(tip_file_is(path));
	struct tip_reader *r = tip_open(path, &e);
	assert_non_null(r);
	for (int round = 0; round < 2; round++) {
		assert_int_equal(tip_read(r, &got, &e), TIP_SAMPLE);
		assert_memory_equal(&got, &s, sizeof(s));
		assert_int_equal(tip_read(r, &got, &e), TIP_END);
		assert_string_equal(tip_images(r, &n)->path, "/no/such");
		assert_int_equal(n, 1);
		assert_int_equal(tip_cycles(r), 10);
		assert_int_equal(tip_lost(r), 5);
		assert_true(tip_rewind(r, &e));
	}
	tip_close(r);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_1650_a_committing_group_fills_the_registers_of_its_banks),
		cmocka_unit_test(test_1651_a_stalled_sample_waits_for_its_psv),
		cmocka_unit_test(test_1652_a_drained_sample_takes_the_first_to_enter),
		cmocka_unit_test(
		    test_1653_the_offending_instruction_is_the_branch_that_committed_last),
		cmocka_unit_test(test_1654_an_exception_and_a_flush_are_told_apart),
		cmocka_unit_test(
		    test_1655_an_instruction_executed_again_raises_no_second_exception),
		cmocka_unit_test(test_1656_registers_keep_every_bit_at_every_width),
		cmocka_unit_test(test_1657_a_sample_has_the_size_of_the_papers),
		cmocka_unit_test(test_1658_the_costs_are_those_of_the_papers_on_their_machine),
		cmocka_unit_test(test_1669_a_sample_does_not_wait_for_the_end_of_a_handler),
		cmocka_unit_test(test_1659_a_file_gives_back_its_samples_and_images),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

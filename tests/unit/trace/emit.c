/* SPDX-License-Identifier: MIT */
/* 1000: writing records into batches (trace/emit.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "trace/emit.h"

#define CYCLES 4
#define INSTS  8

struct batches {
	struct emit emit;
	struct rec_cycle cycles[2][CYCLES]; /* used in turn, as the bus uses its buffers */
	struct rec_inst insts[2][INSTS];
	unsigned turn;
	uint64_t insts_seen, cycles_seen; /* po of the last instruction, number of the last cycle */
};

/* R3: a cycle's record is not handed over before all instructions that left in it. */
static void take(struct emit *e)
{
	struct batches *b = (struct batches *)e;

	for (size_t i = 0; i < e->ninsts; i++)
		assert_int_equal(e->insts[i].po, ++b->insts_seen);
	for (size_t i = 0; i < e->ncycles; i++) {
		const struct rec_cycle *r = &e->cycles[i];

		assert_int_equal(r->cycle, ++b->cycles_seen);
		assert_int_equal(r->repeat, 1);
		assert_true(r->head_po + r->ncommit - 1 <= b->insts_seen);
	}
	b->turn = !b->turn;
	e->cycles = b->cycles[b->turn];
	e->insts = b->insts[b->turn];
	e->ncycles = e->ninsts = 0;
}

static void test_1000_a_batch_that_fills_in_mid_cycle_keeps_r3_and_the_begun_record(void **state)
{
	static struct batches b;
	struct emit *e = &b.emit;
	uint64_t po = 1;

	*e = (struct emit){ .max_cycles = CYCLES,
			    .max_insts = INSTS,
			    .full = take,
			    .wants = WANT_CYCLES | WANT_INSTS };
	e->cycles = b.cycles[0];
	e->insts = b.insts[0];
	/* Instructions for up to three batches leave in one cycle. */
	for (uint64_t cycle = 1; cycle <= 200; cycle++) {
		size_t leave = cycle * 7 % (3 * INSTS), n;

		emit_reserve(e, leave < INSTS ? leave : INSTS);

		struct rec_cycle *begun = emit_begin_cycle(e);

		begun->cycle = cycle;
		begun->head_po = po;
		begun->ncommit = (uint8_t)leave;
		for (size_t done = 0; done < leave; done += n) {
			struct rec_inst *r = emit_insts(e, leave - done, &begun, &n);

			assert_in_range(n, 1, leave - done);
			for (size_t i = 0; i < n; i++)
				r[i].po = po++;
		}
		begun->repeat = 1;
		assert_ptr_equal(begun, emit_cycle(e));
		assert_ptr_equal(begun, emit_last_cycle(e));
	}
	take(e);
	assert_null(emit_last_cycle(e));
	assert_int_equal(b.insts_seen, po - 1);
	assert_int_equal(b.cycles_seen, 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    test_1000_a_batch_that_fills_in_mid_cycle_keeps_r3_and_the_begun_record),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

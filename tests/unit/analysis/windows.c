/* SPDX-License-Identifier: MIT */
/* 1561 to 1566: which stretches of a run analysis windows keeps, and that their records come back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/windows.h"
#include "store/store.h"
#include "trace/stretch.h"

#define INSTS 200000

static struct rec_inst *insts;
static size_t ninsts;
static struct stretch_coder *coder;

/* A run in which an instruction commits every cycle, but for four: a load that misses, a longer one
 * before it, a mispredicted branch, after which the next one is dispatched late, and a stall without
 * an event. After the branch, ten instructions of the wrong path. */
static void make_run(void)
{
	uint64_t cycle = 12, seq = 1;

	insts = x_calloc(INSTS + 100, sizeof(*insts));
	ninsts = 0;
	for (uint64_t po = 1; po <= INSTS; po++) {
		struct rec_inst *r = &insts[ninsts++];
		const unsigned waits = po == 50000    ? 90
				       : po == 120000 ? 70
				       : po == 150001 ? 30
				       : po == 170000 ? 55
						      : 0;

		cycle += 1 + waits;
		*r = (struct rec_inst){ .seq = seq++,
					.po = po,
					.pc = 0x10000 + 4 * (po % 1000),
					.word = 0x13,
					.flags = RI_COMMITTED,
					.fetch = cycle - 12,
					.decode = 2,
					.dispatch = po == 150001 ? 12 : 5,
					.ready = po == 150001 ? 12 : 5,
					.issue = po == 150001 ? 12 : 5,
					.complete = 12,
					.commit = 12 };
		r->target = r->pc + 4;
		if (po == 50000 || po == 120000)
			r->psv = PSV_ST_L1;
		if (po == 50000)
			r->psv |= PSV_ST_LLC;
		if (po != 150000)
			continue;
		r->flags |= RI_MISPREDICT | RI_BRANCH;
		r->psv = PSV_FL_MB;
		for (int k = 0; k < 10; k++)
			insts[ninsts++] = (struct rec_inst){ .seq = seq++,
							     .pc = 0x50000 + 4 * (unsigned)k,
							     .word = 0x13,
							     .fetch = cycle - 8,
							     .decode = STAMP_NONE,
							     .dispatch = STAMP_NONE,
							     .ready = STAMP_NONE,
							     .issue = STAMP_NONE,
							     .complete = STAMP_NONE,
							     .commit = 9 };
	}
}

/* Runs the analysis over the run in batches of that size. */
static struct store *kept(size_t batch)
{
	const struct analysis *a = &windows_analysis;
	struct err e = { "" };
	struct store *s = store_create_memory("kept", &e);
	void *state = x_calloc(1, a->state_size);

	assert_true(a->start(state, NULL, &(struct analysis_options){ 0 }, &e));
	for (size_t i = 0; i < ninsts; i += batch)
		assert_true(a->batch(state, insts + i, min_u64(batch, ninsts - i), NULL, 0, &e));
	assert_true(a->finish(state, s, &e));
	a->free(state);
	free(state);
	return s;
}

static void costliest(struct store *s, const char *why, uint64_t po, uint64_t cycles)
{
	struct store_rows r = store_query(s,
					  "SELECT po, cycles, first, records, bytes FROM "
					  "stretch_why JOIN stretch ON id = stretch "
					  "WHERE why = ?1",
					  "s", why);
	struct err e = { "" };
	size_t size;
	bool found = false;

	assert_true(store_next(&r));
	assert_int_equal(store_int(&r, 0), po);
	assert_int_equal(store_int(&r, 1), cycles);
	assert_true((uint64_t)store_int(&r, 2) <= po);

	const size_t count = (size_t)store_int(&r, 3);
	const void *bytes = store_blob(&r, 4, &size);
	struct rec_inst *back = stretch_unpack(coder, bytes, size, count);

	assert_non_null(back);
	for (size_t i = 0; i < count; i++)
		found |= back[i].po == po && back[i].flags & RI_COMMITTED;
	assert_true(found);
	free(back);
	assert_true(store_done(&r, &e));
}

static void test_1561_the_costliest_instance_of_each_event_is_kept(void **state)
{
	struct store *s = kept(1000);

	costliest(s, "ST-LLC", 50000, 91);
	costliest(s, "ST-L1", 50000, 91);
	costliest(s, "stall", 170000, 56);
	store_close(s);
}

static void test_1562_what_a_flush_costs_is_of_the_instruction_that_flushed(void **state)
{
	struct store *s = kept(1000);

	costliest(s, "FL-MB", 150000, 31);
	store_close(s);
}

static void test_1563_stretches_are_kept_at_equal_distances(void **state)
{
	struct store *s = kept(4096);
	struct store_rows r = store_query(s,
					  "SELECT first FROM stretch_why JOIN stretch ON id = "
					  "stretch WHERE why = 'even' ORDER BY 1",
					  "");
	struct err e = { "" };
	int64_t before = -1, distance = -1;
	size_t n = 0;

	for (; store_next(&r); n++) {
		const int64_t first = store_int(&r, 0);

		if (n > 2)
			assert_int_equal(first - before, distance);
		if (n > 1)
			distance = first - before;
		before = first;
	}
	assert_true(store_done(&r, &e));
	assert_true(n >= 16 && n <= 32);
	assert_true(before > INSTS - 2 * distance);
	store_close(s);
}

static void test_1564_what_is_kept_does_not_depend_on_batches(void **state)
{
	static const size_t batches[] = { 1, 777, 100000 };
	struct store *first = kept(1000);
	struct err e = { "" };

	for (size_t k = 0; k < ARRAY_LEN(batches); k++) {
		struct store *other = kept(batches[k]);
		static const char *const sql[] = {
			"SELECT id || ',' || first || ',' || records || hex(bytes) FROM stretch",
			"SELECT stretch || why || ',' || pc || ',' || po || ',' || cycles "
			"FROM stretch_why"
		};

		for (size_t q = 0; q < ARRAY_LEN(sql); q++) {
			struct store_rows a = store_query(first, sql[q], ""),
					  b = store_query(other, sql[q], "");

			while (store_next(&a)) {
				assert_true(store_next(&b));
				assert_string_equal(store_text(&a, 0), store_text(&b, 0));
			}
			assert_false(store_next(&b));
			assert_true(store_done(&a, &e) && store_done(&b, &e));
		}
		store_close(other);
	}
	store_close(first);
}

static void test_1565_packed_records_come_back(void **state)
{
	size_t size;
	uint8_t *bytes = stretch_pack(coder, insts + 149000, 3000, &size);
	struct rec_inst *back = stretch_unpack(coder, bytes, size, 3000);

	assert_non_null(back);
	for (size_t i = 0; i < 3000; i++)
		assert_memory_equal(&back[i], &insts[149000 + i], sizeof(*back));
	assert_true(size < 3000 * 10);
	free(back);
	free(bytes);
}

static void test_1566_bytes_that_are_no_records_are_refused(void **state)
{
	size_t size;
	uint8_t *bytes = stretch_pack(coder, insts, 2000, &size);

	assert_null(stretch_unpack(coder, bytes, size, 0));
	assert_null(stretch_unpack(coder, bytes, size, STRETCH_RECORDS_MAX + 1));
	assert_null(stretch_unpack(coder, bytes, size / 2, 2000));
	assert_null(stretch_unpack(coder, (const uint8_t *)"no", 2, 2000));
	for (size_t i = 0; i < size; i += size / 20) { /* it may be records, but nothing breaks */
		bytes[i] ^= 0x55;
		free(stretch_unpack(coder, bytes, size, 2000));
		bytes[i] ^= 0x55;
	}
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_1561_the_costliest_instance_of_each_event_is_kept),
		cmocka_unit_test(test_1562_what_a_flush_costs_is_of_the_instruction_that_flushed),
		cmocka_unit_test(test_1563_stretches_are_kept_at_equal_distances),
		cmocka_unit_test(test_1564_what_is_kept_does_not_depend_on_batches),
		cmocka_unit_test(test_1565_packed_records_come_back),
		cmocka_unit_test(test_1566_bytes_that_are_no_records_are_refused),
	};

	make_run();
	coder = stretch_coder_new();
	const int failed = cmocka_run_group_tests_name("windows", tests, NULL, NULL);

	stretch_coder_free(coder);
	free(insts);
	return failed;
}

/* SPDX-License-Identifier: MIT */
/* 2467: the reasons of the truth on kernels whose cycles are known in closed form. */
#include "../core/harness.h"

#include <inttypes.h>
#include <stdlib.h>

#include "analysis/calc/analyses.h"
#include "store/store.h"

#define BATCH	 512
#define LOOP_END 2 /* cycles: the counter, then the branch that waits for it */
#define LINE	 8 /* cycles for a line from the write buffer */
#define QUIET	 PERFECT, "ideal.imiss=on", "ideal.itlb=on", "ideal.dtlb=on"

/* Hands batches to the analysis as the bus does. */
struct listener {
	struct emit emit; /* must come first: full() gets a pointer to it */
	struct rec_cycle cycles[BATCH];
	struct rec_inst insts[BATCH];
	void *state;
};

static void deliver(struct emit *emit)
{
	struct listener *l = (struct listener *)emit;
	struct err e = { "" };
	if (!truth_analysis.batch(l->state, l->insts, emit->ninsts, l->cycles, emit->ncycles, &e))
		fail_msg("%s", e.text);
	emit->ninsts = emit->ncycles = 0;
}

/* Adds what the truth says of so many rounds, times sign. */
static void add_rounds(unsigned kernel, uint64_t rounds, int64_t sign, int64_t *cycles,
		       int64_t *unnamed)
{
	static struct listener l;
	char text[2][32];
	char *args[] = { (char *)KERNELS, text[0], text[1], NULL };
	struct err e = { "" };
	struct machine config;
	struct trace_meta meta;
	struct store *store = store_create_memory("test", &e);
	snprintf(text[0], sizeof(text[0]), "%u", kernel);
	snprintf(text[1], sizeof(text[1]), "%" PRIu64, rounds);
	config_of(&config, "inorder-2w", SETS(QUIET));
	struct guest *g = guest_new(
	    &(struct guest_config){ .argv = args, .envp = (char **)kernel_environment }, &e);
	assert_non_null(g);
	l.emit = (struct emit){ .cycles = l.cycles,
				.insts = l.insts,
				.max_cycles = BATCH,
				.max_insts = BATCH,
				.wants = truth_analysis.wants,
				.full = deliver };
	l.state = x_calloc(1, truth_analysis.state_size);
	struct core *c = core_new(&config, g, &l.emit, &e);
	assert_non_null(c);
	core_meta(c, &meta);
	assert_true(truth_analysis.start(l.state, &meta, &(struct analysis_options){ 0 }, &e));
	assert_int_equal(core_run(c, 0), CORE_ENDED);
	deliver(&l.emit);
	if (!truth_analysis.finish(l.state, store, &e))
		fail_msg("%s", e.text);
	assert_int_equal(store_number(store, "SELECT sum(cycles) FROM calc_truth_reason", -1),
			 core_stats(c)->cycles);
	struct store_rows r = store_query(
	    store,
	    "SELECT reason, sum(cycles), sum(cycles * (producer = 0)) FROM calc_truth_reason "
	    "GROUP BY reason",
	    "");
	while (store_next(&r)) {
		cycles[store_int(&r, 0)] += sign * store_int(&r, 1);
		unnamed[store_int(&r, 0)] += sign * store_int(&r, 2);
	}
	assert_true(store_done(&r, &e));
	truth_analysis.free(l.state);
	free(l.state);
	store_close(store);
	core_free(c);
	guest_free(g);
}

/* A hundred rounds: the difference of two runs. Every reason that is not named in `reasons` (bits)
 * has no cycle. */
static void hundred(unsigned kernel, uint64_t reasons, int64_t *cycles, int64_t *unnamed)
{
	memset(cycles, 0, REASON_COUNT * sizeof(*cycles));
	memset(unnamed, 0, REASON_COUNT * sizeof(*unnamed));
	add_rounds(kernel, 210, 1, cycles, unnamed);
	add_rounds(kernel, 110, -1, cycles, unnamed);
	for (unsigned k = 0; k < REASON_COUNT; k++)
		if (!(reasons >> k & 1) && cycles[k])
			fail_msg("%" PRId64 " cycles of reason %s", cycles[k],
				 words_reasons[k].name);
}
#define ONLY(...) hundred(__VA_ARGS__, cycles, unnamed)
#define BIT(id)	  (1ull << REASON_##id)

static void test_2467_kernels_have_the_reasons_that_they_were_made_for(void **state)
{
	int64_t cycles[REASON_COUNT], unnamed[REASON_COUNT];
	/* Pairs of independent additions: an instruction issues in every cycle. */
	ONLY(1, BIT(ISSUED));
	assert_int_equal(cycles[REASON_ISSUED], 100 * (16 * 2 + LOOP_END));
	/* 16 loads, each a cycle too soon after a store, which is named. */
	ONLY(5, BIT(ISSUED) | BIT(UNIT));
	assert_int_equal(cycles[REASON_UNIT], 100 * 16);
	assert_int_equal(unnamed[REASON_UNIT], 0);
	assert_int_equal(cycles[REASON_ISSUED], 100 * (16 * 4 + LOOP_END));
	/* Stores to 64 lines: the write buffer takes one in LINE cycles. */
	ONLY(7, BIT(ISSUED) | BIT(STORES));
	assert_near((double)cycles[REASON_STORES], 100.0 * 64 * (LINE - 1), 1);
	/* 16 divisions and fused multiply-adds, each of which waits for the other's result: 35
	 * cycles, in three of which something issues. */
	ONLY(10, BIT(ISSUED) | BIT(EXECUTION));
	assert_near((double)cycles[REASON_EXECUTION], 100.0 * 16 * 32, 1);
	assert_int_equal(unnamed[REASON_EXECUTION], 0);
	/* Six lines, and a fence that waits until they are written. */
	ONLY(11, BIT(ISSUED) | BIT(SERIAL));
	assert_true(cycles[REASON_SERIAL] >= (int64_t)100 * 16 * (6 * LINE - 10));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_2467_kernels_have_the_reasons_that_they_were_made_for),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

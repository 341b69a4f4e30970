/* SPDX-License-Identifier: MIT */
/* 2470: samples of commit and branch records, on hand-written records. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analysis/calc/analyses.h"
#include "calc_stream.h"

static const struct trace_meta meta = { .machine = "test", .commit_width = 4, .rob_entries = 8 };

static void expect(struct store *store, const char *sql, const char *rows)
{
	char *got = rows_of(store, sql);
	assert_string_equal(got, rows);
	free(got);
}

/* Feeds cycles one after the other, with the instructions that commit in them, every `batch`
 * records. */
static struct store *commits_of(const struct rec_cycle *cycles, size_t n, size_t batch)
{
	struct err e = { "" };
	struct store *store = store_create_memory("test", &e);
	void *state = x_calloc(1, commits_analysis.state_size);
	struct rec_inst insts[64];
	assert_true(commits_analysis.start(
	    state, &meta, &(struct analysis_options){ .period = 1, .seed = 1 }, &e));
	for (size_t i = 0; i < n; i += batch) {
		const size_t m = min_u64(batch, n - i);
		size_t ninsts = 0;
		/* records are read ahead */
		struct rec_cycle *copy = x_calloc(m + 64, sizeof(*copy));
		for (size_t k = 0; k < m; k++) {
			copy[k] = cycles[i + k];
			for (uint64_t po = copy[k].head_po; po < copy[k].head_po + copy[k].ncommit;
			     po++)
				insts[ninsts++] = (struct rec_inst){
					.po = po, .seq = po, .pc = 10 * po, .flags = RI_COMMITTED
				};
		}
		assert_true(commits_analysis.batch(state, insts, ninsts, copy, m, &e));
		free(copy);
	}
	assert_true(commits_analysis.finish(state, store, &e));
	commits_analysis.free(state);
	free(state);
	return store;
}

static void test_2470_a_sample_says_what_commits(void **state)
{
	const struct rec_cycle cycles[] = {
		/* drained: for 1, which enters next */
		{ .cycle = 1, .repeat = 2, .flags = RC_ROB_EMPTY, .fetch_po = 1 },
		/* 1 … 3 commit together */
		{ .cycle = 3,
		  .repeat = 1,
		  .ncommit = 3,
		  .head_po = 1,
		  .head_pc = 10,
		  .fetch_po = 5 },
		/* 4 stalls, then commits alone */
		{ .cycle = 4, .repeat = 5, .head_po = 4, .head_pc = 40, .fetch_po = 6 },
		{ .cycle = 9,
		  .repeat = 1,
		  .ncommit = 1,
		  .head_po = 4,
		  .head_pc = 40,
		  .fetch_po = 6 },
		/* 4 was a mispredicted branch that emptied the ROB */
		{ .cycle = 10,
		  .repeat = 3,
		  .flags = RC_ROB_EMPTY,
		  .flush_cause = FLUSH_MISPREDICT,
		  .flush_po = 4,
		  .flush_pc = 40,
		  .fetch_po = 5 },
		{ .cycle = 13,
		  .repeat = 1,
		  .ncommit = 2,
		  .head_po = 5,
		  .head_pc = 50,
		  .fetch_po = 8 },
	};
	for (size_t batch = 1; batch <= 6; batch++) {
		struct store *s = commits_of(cycles, ARRAY_LEN(cycles), batch);
		/* A cycle has 12 units: lcm of 1 … 4. */
		expect(s,
		       "SELECT pc, units, commits FROM calc_commit WHERE rule = 'tip' ORDER BY pc",
		       "10,28,1 20,4,1 30,4,1 40,108,1 50,6,1 60,6,1");
		expect(s,
		       "SELECT pc, units, commits FROM calc_commit WHERE rule = 'nci' ORDER BY pc",
		       "10,36,0 40,72,0 50,48,0");
		/* The resumed instructions of the last samples never commit. */
		expect(s, "SELECT pc, units FROM calc_commit WHERE rule = 'software' ORDER BY pc",
		       "10,24 50,48 60,72");
		expect(s, "SELECT pc, other, count FROM calc_commit_pair ORDER BY 1, 2",
		       "10,20,1 10,30,1 20,30,1 50,60,1");
		expect(s, "SELECT event, period, samples, occurred FROM calc_event", "0,1,13,13");
		store_close(s);
	}
}

static void test_2471_what_a_region_leaves_behind_goes_to_nobody(void **state)
{
	const struct rec_cycle cycles[] = {
		{ .cycle = 1, .repeat = 2, .flags = RC_ROB_EMPTY, .fetch_po = 7 },
		{ .cycle = 50,
		  .repeat = 1,
		  .ncommit = 1,
		  .head_po = 7,
		  .head_pc = 70,
		  .fetch_po = 7 },
	};
	struct store *s = commits_of(cycles, ARRAY_LEN(cycles), 2);
	expect(s, "SELECT rule, pc, units FROM calc_commit ORDER BY rule",
	       "nci,70,12 software,70,12 tip,70,12");
	store_close(s);
}

static void test_2472_a_machine_that_issues_in_order_is_refused(void **state)
{
	struct trace_meta other = meta;
	struct err e = { "" };
	void *c = x_calloc(1, commits_analysis.state_size);
	other.in_order = 1;
	assert_false(
	    commits_analysis.start(c, &other, &(struct analysis_options){ .period = 1 }, &e));
	assert_non_null(strstr(e.text, "use --analyze issue"));
	free(c);
}

/* A loop whose branch is taken round - 1 times of round, and then a jump back after a slow load. */
static struct stream *loop(unsigned round)
{
	struct stream *s = x_calloc(1, sizeof(*s));
	uint64_t now = 10;
	stream_region(s, 1, 20000);
	for (unsigned i = 0; i < 100 * round; i++) {
		stream_add(s, 100, now += 1);
		struct rec_inst *r = stream_add(s, 104, now += 1);
		const bool taken = i % round != round - 1;
		r->flags |= RI_BRANCH | (taken ? RI_TAKEN : 0);
		r->target = taken ? 100 : 108;
		if (taken)
			continue;
		r = stream_add(s, 108, now += 100);
		r->flags |= RI_JUMP | RI_TAKEN;
		r->target = 100;
	}
	return s;
}

static void test_2473_branch_records_at_branches_are_without_bias(void **state)
{
	struct stream *s = loop(8);
	const char *const params[] = { "branches.period=1", NULL };
	for (size_t batch = 1; batch < 50; batch += 48) {
		struct store *store = stream_run(
		    s, &branches_analysis, &meta,
		    &(struct analysis_options){ .period = 1000, .seed = 1, .params = params },
		    batch);
		/* Every taken branch is in the 16 records that follow it, but for the last 15. */
		expect(
		    store,
		    "SELECT source, target, count FROM calc_branch WHERE sampling = 'branches' AND "
		    "depth = 16 ORDER BY 1",
		    "104,100,11102 108,100,1578");
		expect(store,
		       "SELECT start, end, count FROM calc_range WHERE sampling = 'branches' AND "
		       "depth "
		       "= 16 ORDER BY 1, 2",
		       "100,104,10400 100,108,1480");
		expect(store, "SELECT value FROM counter WHERE name = 'taken_branches'", "800");
		store_close(store);
	}
	free(s);
}

static void test_2474_records_at_cycles_favour_what_comes_before_a_stall(void **state)
{
	struct stream *s = loop(11);
	const char *const params[] = { "branches.period=1", NULL };
	struct store *store =
	    stream_run(s, &branches_analysis, &meta,
		       &(struct analysis_options){ .period = 7, .seed = 1, .params = params }, 40);
	/* 11 taken branches a round. Most cycles pass before the jump: the last 16 branches are then
	 * this round's ten, the jump before them, and five. */
#define SHARE(by)                                                                                  \
	store_number(store,                                                                        \
		     "SELECT 10000 * sum(count * (source = 108)) / sum(count) FROM "               \
		     "calc_branch WHERE depth = 16 AND sampling = '" by "'",                       \
		     0)
	assert_in_range(SHARE("branches"), 10000 / 11 - 20, 10000 / 11 + 20);
	assert_in_range(SHARE("cycles"), 10000 / 16, 10000 / 16 + 100);
	store_close(store);
	free(s);
}

static void test_2475_a_trap_that_goes_elsewhere_is_a_branch(void **state)
{
	struct stream *s = x_calloc(1, sizeof(*s));
	stream_region(s, 1, 100);
	struct rec_inst *r = stream_add(s, 100, 10);
	r->flags |= RI_EXCEPTION; /* a system call that comes back */
	r->word = 0x73;
	r = stream_add(s, 104, 11);
	r->flags |= RI_EXCEPTION; /* one after which a handler runs */
	r->word = 0x73;
	r->target = 200;
	r = stream_add(s, 204, 12);
	r->flags |= RI_JUMP | RI_RETURN | RI_TAKEN;
	r->target = 108;
	const char *const params[] = { "branches.period=2", NULL };
	struct store *store = stream_run(
	    s, &branches_analysis, &meta,
	    &(struct analysis_options){ .period = 1000, .seed = 1, .params = params }, 2);
	expect(store, "SELECT source, target, count FROM calc_branch WHERE depth = 32 ORDER BY 1",
	       "104,200,1 204,108,1");
	expect(store, "SELECT start, end, count FROM calc_range WHERE depth = 32", "200,204,1");
	store_close(store);
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_2470_a_sample_says_what_commits),
		cmocka_unit_test(test_2471_what_a_region_leaves_behind_goes_to_nobody),
		cmocka_unit_test(test_2472_a_machine_that_issues_in_order_is_refused),
		cmocka_unit_test(test_2473_branch_records_at_branches_are_without_bias),
		cmocka_unit_test(test_2474_records_at_cycles_favour_what_comes_before_a_stall),
		cmocka_unit_test(test_2475_a_trap_that_goes_elsewhere_is_a_branch),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

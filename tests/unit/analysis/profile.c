/* SPDX-License-Identifier: MIT */
/* 600: the golden reference and the profilers on hand-written record streams, with the worked
 * examples of the papers and a sample in every cycle. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/profile/profile.h"
#include "isa/isa.h"

/* A stream under construction: instructions are numbered 1, 2, … and have pc 0x1000 * number. */
struct stream {
	struct rec_cycle cycles[2100];
	struct rec_inst insts[8400];
	size_t ncycles, ninsts;
	uint64_t now, next_po;
	uint64_t dispatched; /* seq of the last one that dispatched */
};

static uint64_t pc_of(uint64_t po)
{
	return 0x1000 * po;
}

static struct rec_cycle *cycle(struct stream *s, uint32_t repeat)
{
	struct rec_cycle *c = &s->cycles[s->ncycles++];
	*c = (struct rec_cycle){
		.cycle = s->now, .repeat = repeat, .fetch_seq = 100, .fetch_po = 100
	};
	s->now += repeat;
	return c;
}

static void stalled(struct stream *s, uint32_t n)
{
	struct rec_cycle *c = cycle(s, n);
	c->head_po = s->next_po;
	c->head_pc = pc_of(s->next_po);
}

static void drained(struct stream *s, uint32_t n)
{
	cycle(s, n)->flags = RC_ROB_EMPTY;
}

static void flushed(struct stream *s, uint32_t n, enum flush_cause cause, uint64_t po)
{
	struct rec_cycle *c = cycle(s, n);
	c->flags = RC_ROB_EMPTY;
	c->flush_cause = cause;
	c->flush_po = po;
	c->flush_pc = pc_of(po);
}

/* Commits n instructions; the events and class are those of the first. */
static struct rec_inst *commit(struct stream *s, unsigned n, uint32_t psv, unsigned cls)
{
	struct rec_cycle *c = cycle(s, 1);
	struct rec_inst *first = &s->insts[s->ninsts];
	c->ncommit = (uint8_t)n;
	c->head_po = s->next_po;
	c->head_pc = pc_of(s->next_po);
	for (unsigned i = 0; i < n; i++) {
		s->insts[s->ninsts++] = (struct rec_inst){ .seq = s->next_po,
							   .po = s->next_po,
							   .pc = pc_of(s->next_po),
							   .fetch = c->cycle,
							   .flags = RI_COMMITTED,
							   .psv = i ? 0 : psv,
							   .cls = (uint8_t)(i ? CLASS_ALU : cls) };
		s->next_po++;
	}
	return first;
}

static void begin(struct stream *s)
{
	memset(s, 0, sizeof(*s));
	s->next_po = 1;
}

static struct profile *analyse(struct stream *s, unsigned width, uint64_t period)
{
	struct trace_meta meta = { .commit_width = width };
	struct analysis_options options = { .period = period };
	struct err e = { "" };
	struct profile *p = calloc(1, sizeof(*p));
	assert_true(profile_analysis.start(p, &meta, &options, &e));
	if (!profile_analysis.batch(p, s->insts, s->ninsts, s->cycles, s->ncycles, &e))
		fail_msg("%s", e.text);
	assert_true(profile_analysis.finish(p, NULL, &e));
	return p;
}

static void done(struct profile *p)
{
	profile_analysis.free(p);
	free(p);
}

/* Returns the golden reference's time for an instruction, in units. */
static uint64_t golden(struct profile *p, uint64_t po)
{
	uint64_t sum = 0;
	for (size_t i = 0; i <= p->cells.mask; i++)
		if (p->cells.slot[i].key && cell_pc(&p->cells.slot[i]) == pc_of(po))
			sum += p->cells.slot[i].units;
	return sum;
}

static uint64_t golden_events(struct profile *p, uint64_t po, unsigned events)
{
	uint64_t sum = 0;
	for (size_t i = 0; i <= p->cells.mask; i++)
		if (p->cells.slot[i].key && cell_pc(&p->cells.slot[i]) == pc_of(po) &&
		    cell_events(&p->cells.slot[i]) == events)
			sum += p->cells.slot[i].units;
	return sum;
}

static uint64_t category(struct profile *p, unsigned cat)
{
	uint64_t sum = 0;
	for (size_t i = 0; i <= p->cells.mask; i++)
		if (p->cells.slot[i].key && cell_category(&p->cells.slot[i]) == cat)
			sum += p->cells.slot[i].units;
	return sum;
}

/* Returns the time that a rule gives an instruction, in units. */
static uint64_t blamed(struct profile *p, enum select_rule rule, uint64_t po)
{
	const struct sampler *s = &p->sampler[0];
	uint64_t sum = 0;
	for (size_t i = 0; i <= s->pairs.mask; i++) {
		const struct cell *c = &s->pairs.slot[i];
		if (!c->key || pair_rule(c) != (unsigned)rule)
			continue;
		const struct group *g = &s->groups[pair_group(c)];
		for (unsigned k = 0; k < g->n; k++)
			if (g->key[k] >> CELL_EVENT_BITS == pc_of(po))
				sum += c->units * p->scale / g->n;
	}
	return sum;
}

static uint64_t total(struct profile *p, enum select_rule rule)
{
	const struct sampler *s = &p->sampler[0];
	uint64_t sum = 0;
	for (size_t i = 0; i <= s->pairs.mask; i++)
		if (s->pairs.slot[i].key && pair_rule(&s->pairs.slot[i]) == (unsigned)rule)
			sum += s->pairs.slot[i].units;
	return sum;
}

static void check_conservation(struct profile *p)
{
	uint64_t sum = 0, executions = 0;
	for (size_t i = 0; i <= p->cells.mask; i++) {
		sum += p->cells.slot[i].units;
		executions += p->cells.slot[i].count;
	}
	assert_int_equal(sum, p->cycles * p->scale);
	assert_int_equal(executions, p->insts);
	for (unsigned r = 0; r < SELECT_HARDWARE; r++) /* that one was not asked for */
		assert_int_equal(total(p, r), p->cycles);
}

/* Figure A.4a: I1 and I2 commit in cycle 1, I3 and I4 in cycle 2. */
static void test_601_computing_shares_the_cycle(void **state)
{
	static struct stream s;
	begin(&s);
	commit(&s, 2, 0, CLASS_ALU);
	commit(&s, 2, 0, CLASS_ALU);
	struct profile *p = analyse(&s, 2, 1);
	for (uint64_t i = 1; i <= 4; i++) {
		assert_int_equal(golden(p, i), p->scale / 2);
		assert_int_equal(blamed(p, SELECT_TIP, i), p->scale / 2);
	}
	assert_int_equal(blamed(p, SELECT_NCI, 1), p->scale);
	assert_int_equal(blamed(p, SELECT_NCI, 2), 0);
	assert_int_equal(blamed(p, SELECT_TIP_OLDEST, 3), p->scale);
	check_conservation(p);
	done(p);
}

/* Figure A.4b: I1 commits in cycle 1, the load I2 stalls for 40 cycles and commits with I3 in
 * cycle 42. */
static void test_602_a_stall_belongs_to_the_oldest(void **state)
{
	static struct stream s;
	begin(&s);
	commit(&s, 1, 0, CLASS_ALU);
	stalled(&s, 40);
	commit(&s, 2, PSV_ST_L1, CLASS_LOAD);
	commit(&s, 1, 0, CLASS_ALU);
	struct profile *p = analyse(&s, 2, 1);
	assert_int_equal(golden(p, 1), p->scale);
	assert_int_equal(golden(p, 2), 40 * p->scale + p->scale / 2);
	assert_int_equal(golden_events(p, 2, PSV_ST_L1), 40 * p->scale + p->scale / 2);
	assert_int_equal(golden(p, 3), p->scale / 2);
	assert_int_equal(category(p, TIME_LOAD_STALL), 40 * p->scale);
	assert_int_equal(blamed(p, SELECT_NCI, 2), 41 * p->scale);
	assert_int_equal(blamed(p, SELECT_NCI, 3), 0);
	assert_int_equal(blamed(p, SELECT_NCI_ALL, 2), 41 * p->scale / 2);
	/* LCI: I1, as in the figure. Of cycles in which something commits the text gives the load's to the
	 * load; here, as in the authors' artefact, the last to commit strictly before the cycle. */
	assert_int_equal(blamed(p, SELECT_LCI, 1), 41 * p->scale);
	assert_int_equal(blamed(p, SELECT_LCI, 2), 0);
	assert_int_equal(blamed(p, SELECT_LCI, 3), p->scale);
	check_conservation(p);
	done(p);
}

/* Figure A.4c: I1 and the branch I2 commit in cycle 1, the ROB is empty for 4 cycles, I3 stalls in
 * cycle 6. */
static void test_603_a_flush_belongs_to_the_branch(void **state)
{
	static struct stream s;
	begin(&s);
	commit(&s, 2, 0, CLASS_ALU)[1].psv = PSV_FL_MB;
	flushed(&s, 4, FLUSH_MISPREDICT, 2);
	stalled(&s, 1);
	commit(&s, 1, 0, CLASS_ALU);
	struct profile *p = analyse(&s, 2, 1);
	assert_int_equal(golden(p, 1), p->scale / 2);
	assert_int_equal(golden(p, 2), p->scale / 2 + 4 * p->scale);
	assert_int_equal(golden_events(p, 2, PSV_FL_MB), p->scale / 2 + 4 * p->scale);
	assert_int_equal(golden(p, 3), 2 * p->scale);
	assert_int_equal(category(p, TIME_MISPREDICT), 4 * p->scale);
	assert_int_equal(blamed(p, SELECT_TIP, 2), p->scale / 2 + 4 * p->scale);
	assert_int_equal(blamed(p, SELECT_NCI, 2), 0);
	assert_int_equal(blamed(p, SELECT_NCI, 3), 6 * p->scale);
	assert_int_equal(blamed(p, SELECT_LCI, 2), 6 * p->scale); /* correct for the flush */
	check_conservation(p);
	done(p);
}

/* Figure A.4d: I1 and I2 commit in cycle 1, I3 misses the I-cache: empty for 40 cycles, stalls one
 * more. */
static void test_604_a_drain_belongs_to_the_next_to_enter(void **state)
{
	static struct stream s;
	begin(&s);
	commit(&s, 2, 0, CLASS_ALU);
	drained(&s, 40);
	stalled(&s, 1);
	commit(&s, 1, PSV_DR_L1, CLASS_ALU);
	struct profile *p = analyse(&s, 2, 1);
	assert_int_equal(golden(p, 1), p->scale / 2);
	assert_int_equal(golden(p, 2), p->scale / 2);
	assert_int_equal(golden(p, 3),
			 42 * p->scale); /* 40 drained, 1 stalled, 1 committing alone */
	assert_int_equal(golden_events(p, 3, PSV_DR_L1), 42 * p->scale);
	assert_int_equal(category(p, TIME_FRONTEND), 40 * p->scale);
	assert_int_equal(blamed(p, SELECT_NCI, 3), 42 * p->scale);
	assert_int_equal(blamed(p, SELECT_LCI, 2), 42 * p->scale);
	check_conservation(p);
	done(p);
}

static void test_605_an_exception_belongs_to_the_instruction_that_took_it(void **state)
{
	static struct stream s;
	begin(&s);
	commit(&s, 1, 0, CLASS_ALU);
	stalled(&s, 5);
	flushed(&s, 30, FLUSH_EXCEPTION, 2); /* I2 is not committed yet: a page fault */
	stalled(&s, 10);
	commit(&s, 1, PSV_FL_EX, CLASS_LOAD);
	struct profile *p = analyse(&s, 4, 1);
	assert_int_equal(golden_events(p, 2, PSV_FL_EX), 46 * p->scale);
	assert_int_equal(category(p, TIME_MISC_FLUSH), 30 * p->scale);
	assert_int_equal(category(p, TIME_LOAD_STALL), 15 * p->scale);
	assert_int_equal(blamed(p, SELECT_TIP, 2), 46 * p->scale);
	check_conservation(p);
	done(p);
}

/* Figure B.1: one sample in 1,000 cycles sees an I-miss, a mispredict and a D-miss, and two see
 * full flow. */
static void test_606_the_worked_example_of_tea(void **state)
{
	static struct stream s;
	begin(&s);
	drained(&s, 1000); /* sample 1: I1 misses the I-cache */
	commit(&s, 4, PSV_DR_L1, CLASS_LOAD)[3].psv = PSV_FL_MB;
	flushed(&s, 999, FLUSH_MISPREDICT, 4); /* sample 2: I4 was mispredicted */
	stalled(&s, 999);		       /* sample 3: I1 misses the D-cache */
	stalled(&s, 1);
	for (int i = 0; i < 2000; i++) /* samples 4 and 5: all four commit together */
		commit(&s, 4, i ? 0 : PSV_ST_L1, CLASS_LOAD);
	for (size_t i = 0; i < s.ninsts; i++) /* it is one loop of four instructions */
		s.insts[i].pc = pc_of(1 + i % 4);
	struct profile *p = analyse(&s, 4, 1000);
	assert_int_equal(p->sampler[0].taken, 5);
	const uint64_t full = 1000 * p->scale;
	/* TEA reports 1,000 cycles for each of the three events, and the rest evenly for all four
	 * instructions */
	assert_int_equal(blamed(p, SELECT_TIP, 1), 2 * full + full / 2);
	assert_int_equal(blamed(p, SELECT_TIP, 2), full / 2);
	assert_int_equal(blamed(p, SELECT_TIP, 3), full / 2);
	assert_int_equal(blamed(p, SELECT_TIP, 4), full + full / 2);
	/* the golden reference sees every cycle */
	assert_int_equal(golden_events(p, 1, PSV_DR_L1), full + p->scale / 4);
	assert_int_equal(golden_events(p, 4, PSV_FL_MB), full - p->scale + p->scale / 4);
	assert_int_equal(golden_events(p, 1, PSV_ST_L1), full + p->scale / 4);
	assert_int_equal(golden_events(p, 2, 0), golden_events(p, 3, 0));
	check_conservation(p);
	done(p);
}

static void test_607_a_squashed_tag_passes_its_weight_on(void **state)
{
	static struct stream s;
	begin(&s);
	stalled(&s, 10);
	s.cycles[0].ndispatch = 1;
	s.cycles[0].dispatch_seq = 50; /* never commits */
	commit(&s, 1, 0, CLASS_ALU)->seq = 40;
	s.cycles[1].ndispatch = 1;
	s.cycles[1].dispatch_seq = 60;
	commit(&s, 1, 0, CLASS_ALU)->seq = 60; /* younger than the tag: it was squashed */
	struct profile *p = analyse(&s, 4, 5);
	assert_int_equal(p->sampler[0].dropped[SELECT_DISPATCH], 2);
	assert_int_equal(total(p, SELECT_DISPATCH), 12);
	check_conservation(p);
	done(p);
}

static void test_608_software_blames_where_execution_resumes(void **state)
{
	static struct stream s;
	begin(&s);
	stalled(&s, 10);
	s.cycles[0].fetch_po = 3;
	commit(&s, 2, PSV_ST_L1, CLASS_LOAD);
	s.cycles[1].fetch_po = 4;
	commit(&s, 2, 0, CLASS_ALU);
	struct profile *p = analyse(&s, 4, 10);
	assert_int_equal(blamed(p, SELECT_RESUME, 3), 10 * p->scale);
	assert_int_equal(blamed(p, SELECT_RESUME, 1), 0);
	done(p);
}

static void test_609_random_streams_conserve_every_cycle(void **state)
{
	struct rng rng;
	rng_seed(&rng, 5);
	for (int round = 0; round < 300; round++) {
		static struct stream s;
		begin(&s);
		unsigned width = 1 + (unsigned)rng_below(&rng, 8);
		while (s.ncycles < 200 && s.ninsts < 200) {
			uint32_t n = 1 + (uint32_t)rng_below(&rng, 30);
			switch (rng_below(&rng, 4)) {
			case 0:
				stalled(&s, n);
				break;
			case 1:
				if (s.next_po > 1)
					flushed(&s, n, FLUSH_CSR, s.next_po - 1);
				break;
			case 2:
				drained(&s, n);
				break;
			default:
				commit(&s, 1 + (unsigned)rng_below(&rng, width),
				       (uint32_t)rng_below(&rng, 512), CLASS_LOAD);
			}
			if (s.ncycles) {
				s.cycles[s.ncycles - 1].ndispatch = rng_below(&rng, 2);
				s.cycles[s.ncycles - 1].dispatch_seq =
				    s.next_po + rng_below(&rng, 5);
				s.cycles[s.ncycles - 1].fetch_seq = s.next_po + rng_below(&rng, 20);
				s.cycles[s.ncycles - 1].fetch_po = s.next_po + rng_below(&rng, 20);
			}
		}
		struct profile *p = analyse(&s, width, 1 + rng_below(&rng, 50));
		check_conservation(p);
		done(p);
	}
}

static void test_610_a_missing_record_is_an_error(void **state)
{
	static struct stream s;
	struct trace_meta meta = { .commit_width = 4 };
	struct analysis_options options = { .period = 10 };
	struct err e = { "" };
	struct profile *p = calloc(1, sizeof(*p));
	begin(&s);
	commit(&s, 3, 0, CLASS_ALU);
	assert_true(profile_analysis.start(p, &meta, &options, &e));
	assert_false(profile_analysis.batch(p, s.insts, 2, s.cycles, s.ncycles, &e));
	assert_non_null(strstr(e.text, "missing"));
	done(p);
}

static void test_611_a_miss_of_the_last_level_alone_is_no_combined_event(void **state)
{
	static struct stream s;
	begin(&s);
	commit(&s, 1, PSV_ST_L1 | PSV_ST_LLC, CLASS_LOAD);
	commit(&s, 1, PSV_FL_CSR, CLASS_CSR);
	commit(&s, 1, PSV_ST_L1 | PSV_ST_LLC | PSV_ST_TLB, CLASS_LOAD);
	commit(&s, 1, PSV_FL_MB | PSV_FL_CSR, CLASS_BRANCH);
	struct profile *p = analyse(&s, 4, 1);
	assert_int_equal(p->sums.with_event, 3);
	assert_int_equal(p->sums.with_combined, 1);
	done(p);
}

static void test_612_executions_of_every_address_are_counted_apart(void **state)
{
	struct execs x;
	struct cells c;
	cells_init(&c);
	execs_init(&x, &c, TIME_EXECUTION);
	/* Add neighbours, odd ones too, and chunks that share a near slot: more than the first
	 * table has room for, and more units than a word holds. */
	for (uint64_t far = 0; far < 200; far++)
		for (uint64_t near = 0; near < 5; near++)
			for (uint64_t n = 0; n <= near; n++)
				execs_add(&x, (far << 19) + 0x1000 + near, (far + 1) << 23);
	execs_move(&x);
	assert_int_equal(c.used, 1000);
	execs_move(&x); /* a second move counts nothing twice */
	struct cell *all = cells_sorted(&c);
	for (uint64_t i = 0; i < 1000; i++) {
		assert_int_equal(cell_pc(&all[i]), (i / 5 << 19) + 0x1000 + i % 5);
		assert_int_equal(all[i].count, i % 5 + 1);
		assert_int_equal(all[i].units, ((i / 5 + 1) << 23) * (i % 5 + 1));
	}
	free(all);
	execs_free(&x);
	cells_free(&c);
}

/* The paper charges an exception with the empty cycles up to the handler; the kernel is not executed
 * here, so the time in which it would be is told apart. */
static void test_1670_the_kernels_time_is_no_flush(void **state)
{
	static struct stream s;
	begin(&s);
	commit(&s, 1, PSV_FL_EX, CLASS_SYSTEM);
	flushed(&s, 500, FLUSH_EXCEPTION, 1);
	s.cycles[s.ncycles - 1].fetch_stall = FETCH_EXCEPTION;
	flushed(&s, 8, FLUSH_EXCEPTION, 1);
	commit(&s, 1, 0, CLASS_ALU);
	flushed(&s, 300, FLUSH_EXCEPTION, 3); /* a page fault */
	s.cycles[s.ncycles - 1].fetch_stall = FETCH_EXCEPTION;
	flushed(&s, 9, FLUSH_EXCEPTION, 3);
	commit(&s, 1, PSV_FL_EX, CLASS_LOAD);
	struct profile *p = analyse(&s, 4, 1);
	assert_int_equal(category(p, TIME_KERNEL), 800 * p->scale);
	assert_int_equal(category(p, TIME_MISC_FLUSH), 17 * p->scale);
	assert_int_equal(golden(p, 1), 509 * p->scale);
	check_conservation(p);
	done(p);
}

static void test_1671_a_full_store_queue_is_no_front_end(void **state)
{
	static struct stream s;
	begin(&s);
	commit(&s, 1, 0, CLASS_ALU);
	drained(&s, 20);
	commit(&s, 1, PSV_DR_SQ, CLASS_STORE);
	drained(&s, 7);
	commit(&s, 1, PSV_DR_L1, CLASS_ALU);
	struct profile *p = analyse(&s, 4, 1);
	assert_int_equal(category(p, TIME_STORES), 20 * p->scale);
	assert_int_equal(category(p, TIME_FRONTEND), 7 * p->scale);
	check_conservation(p);
	done(p);
}

static void test_1672_each_thread_keeps_its_time(void **state)
{
	static struct stream s;
	begin(&s);
	for (unsigned i = 0; i < 6; i++) {
		stalled(&s, i);
		commit(&s, 2, 0, CLASS_LOAD);
		for (unsigned k = 0; k < 2; k++)
			s.insts[s.ninsts - 1 - k].tid = 5 + i / 2 % 2;
	}
	struct profile *p = analyse(&s, 4, 1);
	uint64_t all = 0, sum[2] = { 0 };
	assert_int_equal(p->nthreads, 2);
	for (unsigned t = 0; t < 2; t++) {
		const struct cells *c = &p->threads[t].cells;
		for (size_t i = 0; i <= c->mask; i++)
			if (c->slot[i].key)
				sum[p->threads[t].tid - 5] += c->slot[i].units;
	}
	for (size_t i = 0; i <= p->cells.mask; i++)
		all += p->cells.slot[i].key ? p->cells.slot[i].units : 0;
	assert_int_equal(sum[1], (2 + 3 + 2) * p->scale); /* turns 2 and 3 */
	assert_int_equal(sum[0] + sum[1], all);
	assert_int_equal(all, p->cycles * p->scale);
	check_conservation(p);
	done(p);
}

static void test_1673_bits_and_independent_events_are_counted_apart(void **state)
{
	static struct stream s;
	begin(&s);
	commit(&s, 1, PSV_ST_L1 | PSV_ST_LLC, CLASS_LOAD);
	commit(&s, 1, PSV_ST_L1 | PSV_ST_TLB, CLASS_LOAD);
	commit(&s, 1, PSV_ST_TLB, CLASS_LOAD);
	struct profile *p = analyse(&s, 4, 1);
	assert_int_equal(p->sums.with_event, 3);
	assert_int_equal(p->sums.with_combined, 1);
	assert_int_equal(p->sums.with_bits, 2);
	done(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_601_computing_shares_the_cycle),
		cmocka_unit_test(test_602_a_stall_belongs_to_the_oldest),
		cmocka_unit_test(test_603_a_flush_belongs_to_the_branch),
		cmocka_unit_test(test_604_a_drain_belongs_to_the_next_to_enter),
		cmocka_unit_test(test_605_an_exception_belongs_to_the_instruction_that_took_it),
		cmocka_unit_test(test_606_the_worked_example_of_tea),
		cmocka_unit_test(test_607_a_squashed_tag_passes_its_weight_on),
		cmocka_unit_test(test_608_software_blames_where_execution_resumes),
		cmocka_unit_test(test_609_random_streams_conserve_every_cycle),
		cmocka_unit_test(test_610_a_missing_record_is_an_error),
		cmocka_unit_test(test_611_a_miss_of_the_last_level_alone_is_no_combined_event),
		cmocka_unit_test(test_612_executions_of_every_address_are_counted_apart),
		cmocka_unit_test(test_1670_the_kernels_time_is_no_flush),
		cmocka_unit_test(test_1671_a_full_store_queue_is_no_front_end),
		cmocka_unit_test(test_1672_each_thread_keeps_its_time),
		cmocka_unit_test(test_1673_bits_and_independent_events_are_counted_apart),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

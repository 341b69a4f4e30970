/* SPDX-License-Identifier: MIT */
/* 620: edges from records, for mechanisms that show only in several records. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/icost/edges.h"
#include "analysis/icost/shadow.h"
#include "isa/isa.h"

#define DIVU(rd, rs1, rs2) (0x02005033u | (rd) << 7 | (rs1) << 15 | (rs2) << 20)
#define SB(rs2, rs1)	   (0x00000023u | (rs1) << 15 | (rs2) << 20)
#define LBU(rd, rs1)	   (0x00004003u | (rd) << 7 | (rs1) << 15)

#define ADDI(rd, rs1) (0x00000013u | (rd) << 7 | (rs1) << 15)

#define DIV_CYCLES 34
#define ALL_COMMIT 16 /* instructions a cycle, so that their number does not matter */
#define FORWARD	   4
#define FLUSH	   2
#define FIRST	   1 /* the graph gives its first packet a cycle that the run did not need */

static const struct trace_meta meta = {
	.machine = "test",
	.fetch_width = 4,
	.dispatch_width = 4,
	.commit_width = 4,
	.rob_entries = 64,
	.frontend_depth = 5,
	.mispredict_loop = 7,
	.l1d_latency = 4,
	.l2_latency = 18,
	.mem_latency = 150,
	.llc_latency = 48,
	.line_bytes = 64,
};

struct run {
	struct edges *edges;
	struct graph *graph;
	struct graph_inst last;
	uint64_t po, commit;
};

static struct edges_machine machine_of(uint32_t l1d_latency)
{
	struct edges_machine m;
	struct err e = { 0 };
	struct machine machine;
	machine_unknown(&machine);
	assert_true(edges_machine_read(&m, &meta, &machine, &e));
	m.l1d_latency = l1d_latency;
	m.forward_latency = FORWARD;
	m.flush = FLUSH;
	m.unit[PORT_DIV].count = 1;
	m.of_class[CLASS_DIV].latency = DIV_CYCLES;
	return m;
}

static struct run run_of(const struct edges_machine *m)
{
	const struct graph_config config = edges_graph_config(m);
	return (struct run){ .edges = edges_new(m), .graph = graph_new(&config) };
}

/* A machine with so many issue slots a cycle, and MSHRs; 0: no limit. */
static struct run run_on(uint32_t l1d_latency, uint32_t mshrs, uint32_t issue_slots)
{
	struct edges_machine m = machine_of(l1d_latency);
	m.mshrs = mshrs;
	m.issue_slots = issue_slots;
	if (issue_slots)
		m.commit_width = ALL_COMMIT;
	return run_of(&m);
}

/* A machine whose loads pass stores of unknown address, or wait for the right one. */
static struct run run_that(bool speculates)
{
	struct edges_machine m = machine_of(meta.l1d_latency);
	m.speculates = speculates;
	return run_of(&m);
}

static struct run run_with(uint32_t l1d_latency, uint32_t mshrs)
{
	return run_on(l1d_latency, mshrs, 0);
}

static struct run run_with_l1(uint32_t l1d_latency)
{
	return run_with(l1d_latency, 0);
}

static struct run run_new(void)
{
	return run_with_l1(meta.l1d_latency);
}

static void run_free(struct run *r)
{
	edges_free(r->edges);
	graph_free(r->graph);
}

/* Makes the next instruction: all are in one packet and dispatch together; it executes from issue
 * to complete. */
static struct rec_inst inst(struct run *r, uint32_t word, enum op_class cls, uint32_t issue,
			    uint32_t complete)
{
	r->commit = max_u64(r->commit, complete);
	return (struct rec_inst){ .po = ++r->po,
				  .pc = 0x1000 + 4 * r->po,
				  .word = word,
				  .cls = (uint8_t)cls,
				  .flags = RI_COMMITTED | (r->po == 1 ? RI_FETCH_HEAD : 0) |
					   (cls == CLASS_LOAD	 ? RI_LOAD
					    : cls == CLASS_STORE ? RI_STORE
								 : 0),
				  .fetch = 100,
				  .dispatch = 5,
				  .issue = issue,
				  .complete = complete,
				  .commit = (uint32_t)r->commit };
}

static void add(struct run *r, const struct rec_inst *i)
{
	edges_next(r->edges, i, &r->last);
	graph_add(r->graph, &r->last, 1);
}

static void test_621_a_division_that_overtakes_another_does_not_wait_for_it(void **state)
{
	struct run r = run_new();
	/* The first division waits for an operand until 100; the second issues at once, the third
	 * after the second. */
	const uint32_t begin[] = { 100, 6, 6 + DIV_CYCLES };
	for (unsigned k = 0; k < 3; k++) {
		const struct rec_inst i =
		    inst(&r, DIVU(5 + k, 8 + k, 9), CLASS_DIV, begin[k], begin[k] + DIV_CYCLES);
		add(&r, &i);
	}
	assert_int_equal(graph_base(r.graph).c, 100 + DIV_CYCLES);
	/* nothing is unexplained but the cycle of the first packet */
	assert_int_equal(edges_residuals(r.edges)[RESIDUAL_STRICT], FIRST);
	run_free(&r);
}

static void test_622_a_divider_that_others_had_stays_busy_in_a_larger_window(void **state)
{
	struct run r = run_new();
	struct graph_inst first;
	/* A wrong-path division had the unit between the two. */
	struct rec_inst i = inst(&r, DIVU(5, 8, 9), CLASS_DIV, 6, 6 + DIV_CYCLES);
	add(&r, &i);
	first = r.last;
	i = inst(&r, DIVU(6, 8, 9), CLASS_DIV, 6 + 2 * DIV_CYCLES, 6 + 3 * DIV_CYCLES);
	add(&r, &i);
	assert_int_equal(r.last.after, first.port);
	assert_int_equal(r.last.re.cycles, DIV_CYCLES);
	assert_int_equal(r.last.re.category, CAT_BW_LGALU);
	assert_int_equal(r.last.occupies.cycles, 2 * DIV_CYCLES);
	assert_int_equal(graph_base(r.graph).c, 6 + 3 * DIV_CYCLES);
	assert_int_equal(graph_commit(r.graph, 1u << CAT_WIN), 6 + 3 * DIV_CYCLES);
	assert_int_equal(graph_commit(r.graph, 1u << CAT_LGALU), FIRST + 6 + 1);
	run_free(&r);
}

static void test_623_a_load_waits_for_its_own_byte_not_for_its_granules_youngest(void **state)
{
	struct run r = run_new();
	struct rec_inst i = inst(&r, DIVU(5, 8, 9), CLASS_DIV, 6, 6 + DIV_CYCLES);
	add(&r, &i);
	i = inst(&r, SB(5, 2), CLASS_STORE, 6, 6 + DIV_CYCLES); /* data: the quotient */
	i.addr = 0x8000;
	i.size = 1;
	add(&r, &i);
	const uint16_t store = r.last.mem;
	i = inst(&r, SB(0, 2), CLASS_STORE, 6, 7);
	i.addr = 0x8001;
	i.size = 1;
	add(&r, &i);
	i = inst(&r, LBU(7, 2), CLASS_LOAD, 6, 6 + DIV_CYCLES + FORWARD);
	i.addr = 0x8000;
	i.size = 1;
	i.prod_mem = 2;
	i.dlevel = LEVEL_FWD;
	add(&r, &i);
	assert_int_equal(r.last.late, store);
	assert_int_equal(edges_residuals(r.edges)[RESIDUAL_EXECUTE], 0);
	assert_int_equal(graph_commit(r.graph, 1u << CAT_LGALU), FIRST + 6 + 1 + FORWARD);
	assert_int_equal(graph_commit(r.graph, 1u << CAT_DL1), 6 + DIV_CYCLES + 1);
	run_free(&r);
}

/* The store's address is a quotient, the load's a miss. Without the miss the load executes first, reads
 * what was there before, and is fetched again when the store has committed. */
static void test_3791_a_load_that_overtakes_its_store_is_flushed(void **state)
{
	for (int speculates = 0; speculates < 2; speculates++) {
		struct run r = run_that(speculates);
		const uint32_t there = 6 + DIV_CYCLES, miss = 50,
			       late = 6 + meta.l1d_latency + miss;
		struct rec_inst i = inst(&r, DIVU(5, 8, 9), CLASS_DIV, 6, there);
		add(&r, &i);
		i = inst(&r, LBU(7, 10), CLASS_LOAD, 6, late);
		i.psv = PSV_ST_L1;
		i.lat_dmiss = (uint16_t)miss;
		i.dlevel = LEVEL_L2;
		i.addr = 0x4000;
		i.size = 1;
		add(&r, &i);
		i = inst(&r, SB(0, 5), CLASS_STORE, there, there + 1);
		i.addr = 0x8000;
		i.size = 1;
		add(&r, &i);
		const uint64_t stored = graph_commit(r.graph, 1u << CAT_DMISS);
		i = inst(&r, LBU(6, 7), CLASS_LOAD, late, late + FORWARD);
		i.addr = 0x8000;
		i.size = 1;
		i.prod_mem = 1;
		i.dlevel = LEVEL_FWD;
		add(&r, &i);
		assert_int_equal(graph_commit(r.graph, 0), FIRST + late + FORWARD);
		const unsigned again = 1 + FLUSH + meta.frontend_depth + 1;
		assert_int_equal(graph_commit(r.graph, 1u << CAT_DMISS),
				 stored + (speculates ? again : 0) + FORWARD);
		/* with the quotient there at once, too, nothing is overtaken */
		assert_int_equal(graph_commit(r.graph, 1u << CAT_DMISS | 1u << CAT_LGALU),
				 FIRST + 6 + meta.l1d_latency + FORWARD);
		run_free(&r);
	}
	(void)state;
}

/* A store of the byte 0x8000, whose address is in `base`. */
static void add_store(struct run *r, unsigned base, uint32_t issue)
{
	struct rec_inst i = inst(r, SB(0, base), CLASS_STORE, issue, issue + 1);
	i.addr = 0x8000;
	i.size = 1;
	add(r, &i);
}

/* A load of that byte, which comes from that store. */
static struct rec_inst load_after(struct run *r, unsigned base, uint32_t issue)
{
	struct rec_inst i = inst(r, LBU(6, base), CLASS_LOAD, issue, issue + FORWARD);
	i.addr = 0x8000;
	i.size = 1;
	i.prod_mem = 1;
	i.dlevel = LEVEL_FWD;
	return i;
}

/* The store's operands are there at 6, but it has no port before 20. A load that is ready in between is
 * younger, so it does not issue first. */
static void test_4920_a_store_that_waits_for_a_port_is_not_overtaken(void **state)
{
	struct run r = run_that(true);
	const uint32_t miss = 50, late = 6 + meta.l1d_latency + miss, port = 20;
	struct rec_inst i = inst(&r, LBU(7, 10), CLASS_LOAD, 6, late);
	i.psv = PSV_ST_L1;
	i.lat_dmiss = (uint16_t)miss;
	i.dlevel = LEVEL_L2;
	i.addr = 0x4000;
	i.size = 1;
	add(&r, &i);
	add_store(&r, 5, port);
	i = load_after(&r, 7, late);
	add(&r, &i);
	assert_int_equal(graph_commit(r.graph, 0), late + FORWARD);
	assert_int_equal(graph_commit(r.graph, 1u << CAT_DMISS), FIRST + port + FORWARD);
	run_free(&r);
	(void)state;
}

/* The store's address is a quotient, and the load behind it was flushed in the run. With the quotient
 * there at once it is not. */
static void test_4921_a_load_that_no_longer_overtakes_its_store_is_not_flushed(void **state)
{
	struct run r = run_that(true);
	const uint32_t there = 6 + DIV_CYCLES, fetched = there + 1 + 1 + FLUSH,
		       issued = meta.frontend_depth + 1;
	struct rec_inst i = inst(&r, DIVU(5, 8, 9), CLASS_DIV, 6, there);
	add(&r, &i);
	add_store(&r, 5, there);
	i = load_after(&r, 10, issued);
	i.flags |= RI_REFETCH | RI_FETCH_HEAD;
	i.psv = PSV_FL_MO;
	i.fetch += fetched;
	i.commit = i.complete;
	add(&r, &i);
	assert_int_equal(graph_commit(r.graph, 0), fetched + issued + FORWARD);
	assert_int_equal(graph_commit(r.graph, 1u << CAT_LGALU), FIRST + 6 + FORWARD);
	run_free(&r);
	(void)state;
}

/* An L1 hit of one cycle leaves no part for the L1, so the miss is the first part. */
static void test_700_a_miss_counts_where_an_l1_hit_takes_one_cycle(void **state)
{
	struct run r = run_with_l1(1);
	struct rec_inst i = inst(&r, LBU(7, 8), CLASS_LOAD, 6, 6 + 150);
	i.addr = 0x8000;
	i.size = 1;
	i.psv = PSV_ST_L1;
	i.dlevel = LEVEL_MEM;
	i.lat_dmiss = 149;
	add(&r, &i);
	assert_int_equal(graph_base(r.graph).c, 6 + 150);
	assert_int_equal(graph_commit(r.graph, 1u << CAT_DMISS), 6 + 1);
	run_free(&r);
}

/* ---- tags of the right path, with a prefetcher ---- */

/* Makes the shadow of a machine that has nothing but these settings. */
static struct shadow *shadow_with(const char *const *sets)
{
	struct machine machine;
	struct err e;
	machine_unknown(&machine);
	for (; *sets; sets++)
		assert_true(machine_set(&machine, *sets, &e));
	return shadow_new(&machine, &meta);
}

static void test_624_nothing_is_said_of_a_line_that_a_prefetcher_brought(void **state)
{
	struct shadow *s = shadow_with(
	    (const char *[]){ "l1d.size=4k", "l1d.ways=1", "l1d.prefetch=next-line", NULL });
	for (uint64_t line = 0; line < 64; line++) /* a set is unknown until it is full */
		shadow_access(s, SHADOW_DATA, 0x100000 + 64 * line, LEVEL_MEM);
	assert_true(shadow_access(s, SHADOW_DATA, 0x200000, LEVEL_L1) > LEVEL_L1);
	assert_int_equal(shadow_access(s, SHADOW_DATA, 0x200000, LEVEL_L1), LEVEL_L1);
	assert_int_equal(shadow_access(s, SHADOW_DATA, 0x200040, LEVEL_L1), LEVEL_NONE);
	assert_int_equal(shadow_access(s, SHADOW_DATA, 0x200040, LEVEL_L1), LEVEL_L1);
	assert_int_equal(shadow_access(s, SHADOW_DATA, 0x200080, LEVEL_L1), LEVEL_NONE);
	assert_true(shadow_access(s, SHADOW_DATA, 0x200200, LEVEL_L1) > LEVEL_L1);
	shadow_free(s);
}

static void test_1267_nothing_is_said_of_lines_of_a_front_end_that_runs_ahead(void **state)
{
	const char *sets[] = { "l1i.size=4k", "l1i.ways=1", NULL, NULL };

	for (unsigned ahead = 0; ahead < 2; ahead++) {
		sets[2] = ahead ? "fetch.ahead=4" : NULL;

		struct shadow *s = shadow_with(sets);

		for (uint64_t line = 0; line < 64; line++)
			shadow_access(s, SHADOW_INST, 0x100000 + 64 * line, LEVEL_MEM);
		/* A hit of a line that the right path had not: a wrong path brought it. */
		if (ahead)
			assert_int_equal(shadow_access(s, SHADOW_INST, 0x200000, LEVEL_L1),
					 LEVEL_NONE);
		else
			assert_true(shadow_access(s, SHADOW_INST, 0x200000, LEVEL_L1) > LEVEL_L1);
		shadow_free(s);
	}
}

static void test_627_a_page_that_only_a_wrong_path_had_translated_takes_a_walk(void **state)
{
	struct shadow *s =
	    shadow_with((const char *[]){ "l1d.size=4k", "dtlb.entries=4", "dtlb.ways=0", NULL });
	for (uint64_t page = 0; page < 64; page++) /* all walk: the shadow learns 30 cycles */
		shadow_translate(s, page << 12, 30);
	assert_int_equal(shadow_translate(s, 63 << 12, 0), 0); /* the TLB has it */
	assert_int_equal(shadow_translate(s, 60 << 12 | 0x80, 0), 0);
	assert_int_equal(shadow_translate(s, 7 << 12, 30), 0); /* the run walked as well */
	assert_in_range(shadow_translate(s, 8 << 12, 0), 28, 30);
	assert_int_equal(shadow_translate(s, 60 << 12, 0), 0); /* among the last four */
	assert_in_range(shadow_translate(s, 61 << 12, 0), 28, 30);
	shadow_free(s);
}

static void test_1027_pages_are_as_large_as_the_machine_says(void **state)
{
	struct shadow *s = shadow_with((const char *[]){ "l1d.size=4k", "l1d.ways=1",
							 "dtlb.entries=4", "walk.page=16k", NULL });
	for (uint64_t page = 0; page < 64; page++)
		shadow_translate(s, page << 14, 30);
	assert_int_equal(shadow_translate(s, (63 << 14) + 0x3fff, 0), 0); /* the same page */
	assert_in_range(shadow_translate(s, 8 << 14, 0), 28, 30);
	shadow_free(s);
	s = shadow_with((const char *[]){ "l1d.size=4k", "l1d.ways=1", "l1d.prefetch=next-line",
					  "l1d.prefetch_cross_page=yes", NULL });
	for (uint64_t line = 0; line < 64; line++)
		shadow_access(s, SHADOW_DATA, 0x100000 + 64 * line, LEVEL_MEM);
	/* the last line of a page prefetches the first line of the next */
	shadow_access(s, SHADOW_DATA, 0x200fc0, LEVEL_L1);
	assert_int_equal(shadow_access(s, SHADOW_DATA, 0x201000, LEVEL_L1), LEVEL_NONE);
	shadow_free(s);
}

/* ---- lines that stores fetch ---- */

#define SET(a) (1u << CAT_##a)

/* A store to a line that no cache has commits at 8. A load of another word of the line is fetched
 * `later` cycles after the store, because of an instruction miss, and has its data `took` cycles
 * after it issues. */
static struct run store_and_load(struct shadow *s, uint32_t later, uint32_t took, uint32_t psv)
{
	struct run r = run_new();
	for (uint64_t line = 0; line < 64; line++)
		shadow_access(s, SHADOW_DATA, 0x100000 + 64 * line, LEVEL_MEM);
	edges_shadow(r.edges, s);
	struct rec_inst i = inst(&r, SB(5, 6), CLASS_STORE, 6, 7);
	i.addr = 0x200000;
	i.size = 1;
	i.commit = 8;
	i.flags &= ~(uint32_t)RI_FETCH_HEAD; /* as if its packet had begun earlier */
	add(&r, &i);
	assert_int_equal(r.last.fill, 1 + 150 - 4);
	i = inst(&r, LBU(7, 8), CLASS_LOAD, 6, 6 + took);
	i.flags |= RI_FETCH_HEAD;
	i.fetch += later;
	i.lat_icache = (uint16_t)(later - 1);
	i.ilevel = LEVEL_MEM;
	i.commit = 6 + took;
	i.addr = 0x200008;
	i.size = 1;
	i.psv = psv;
	i.dlevel = psv ? LEVEL_MEM : LEVEL_L1;
	i.lat_dmiss = (uint16_t)(took - 4);
	add(&r, &i);
	return r;
}

static struct shadow *small_shadow(void)
{
	return shadow_with((const char *[]){ "l1d.size=4k", "l1d.ways=1", NULL });
}

#define PREFETCH_R(rs1) (0x00106013u | (rs1) << 15)
#define PREFETCH_I(rs1) (0x00006013u | (rs1) << 15)
#define PAUSE		0x0100000fu

static void hint(struct shadow *s, uint32_t word, uint64_t addr)
{
	const struct rec_inst r = { .word = word, .cls = CLASS_HINT, .addr = addr };
	shadow_hint(s, &r);
}

static void test_3520_nothing_is_said_of_a_line_that_the_program_prefetched(void **state)
{
	struct shadow *s = shadow_with((const char *[]){ "l1d.size=4k", "l1d.ways=1", NULL });
	for (uint64_t line = 0; line < 64; line++)
		shadow_access(s, SHADOW_DATA, 0x100000 + 64 * line, LEVEL_MEM);
	hint(s, PREFETCH_R(5), 0x200000);
	hint(s, PREFETCH_R(5), 0x200008); /* of a line that is there or on its way */
	hint(s, PREFETCH_R(5), 0);	  /* of nothing: the end of a list, say */
	hint(s, PREFETCH_I(5), 0x200040); /* of code */
	hint(s, PAUSE, 0);
	assert_int_equal(shadow_access(s, SHADOW_DATA, 0x200010, LEVEL_L1), LEVEL_NONE);
	assert_int_equal(shadow_access(s, SHADOW_DATA, 0x200010, LEVEL_L1), LEVEL_L1);
	hint(s, PREFETCH_R(5), 0x200000); /* once more: a hit, as of any other line */
	assert_int_equal(shadow_access(s, SHADOW_DATA, 0x200010, LEVEL_L1), LEVEL_L1);
	assert_true(shadow_access(s, SHADOW_DATA, 0x200040, LEVEL_L1) > LEVEL_L1);
	/* its set has nothing else now: the line is as old as its prefetch */
	hint(s, PREFETCH_R(5), 0x300000);
	assert_true(shadow_access(s, SHADOW_DATA, 0x200000, LEVEL_L1) > LEVEL_L1);
	shadow_free(s);
	(void)state;
}

static void test_3521_a_load_of_a_prefetched_line_costs_nothing_without_mispredicts(void **state)
{
	struct shadow *s = small_shadow();
	for (uint64_t line = 0; line < 64; line++)
		shadow_access(s, SHADOW_DATA, 0x100000 + 64 * line, LEVEL_MEM);
	for (unsigned asked = 0; asked < 2; asked++) {
		const uint64_t line = 0x200000 + 0x1000 * asked;
		struct run r = run_new();
		edges_shadow(r.edges, s);
		struct rec_inst i = inst(&r, PREFETCH_R(5), CLASS_HINT, 6, 7);
		i.addr = asked ? line : line + 0x40000;
		i.commit = 8;
		add(&r, &i);
		/* It hits in the run. Without wrong paths it still does if the program asked for its line, and
		 * otherwise misses, as all lines did that the shadow has seen. */
		i = inst(&r, LBU(7, 8), CLASS_LOAD, 6, 6 + 4);
		i.commit = 6 + 4;
		i.addr = line + 8;
		i.size = 1;
		i.dlevel = LEVEL_L1;
		add(&r, &i);
		const uint64_t base = graph_commit(r.graph, 0);
		assert_int_equal(graph_commit(r.graph, SET(BMISP)), base + (asked ? 0 : 150 - 4));
		run_free(&r);
	}
	shadow_free(s);
	(void)state;
}

static void test_628_a_load_that_comes_sooner_waits_for_the_line_of_a_store(void **state)
{
	struct shadow *s = small_shadow();
	/* The load hit: the line had arrived long before. */
	struct run r = store_and_load(s, 300, 4, 0);
	assert_int_equal(graph_base(r.graph).c, 300 + 6 + 4);
	assert_int_equal(graph_commit(r.graph, SET(DMISS)), 300 + 6 + 4);
	/* Without instruction misses the load is ready before the store commits, and misses
	 * itself. */
	assert_int_equal(graph_commit(r.graph, SET(IMISS)), 6 + 150);
	assert_int_equal(graph_commit(r.graph, SET(IMISS) | SET(DMISS)), 6 + 4);
	run_free(&r);
	shadow_free(s);
}

static void test_629_a_load_that_waits_for_a_stores_line_has_it_when_it_comes(void **state)
{
	struct shadow *s = small_shadow();
	/* The store is written at 9 + 3, so its line arrives at 9 + 3 + 150. */
	struct run r = store_and_load(s, 60, 9 + 3 + 150 - 66, PSV_ST_L1 | PSV_ST_MERGE);
	assert_int_equal(graph_base(r.graph).c, 9 + 3 + 150);
	assert_int_equal(graph_commit(r.graph, SET(DMISS)), 60 + 6 + 4);
	assert_int_equal(graph_commit(r.graph, SET(DL1)), 9 + 3 + 150 - 3);
	/* The load comes before the store commits, so no line is on its way. */
	assert_int_equal(graph_commit(r.graph, SET(IMISS)), 6 + 3 + 150);
	run_free(&r);
	shadow_free(s);
}

static void test_630_a_load_that_misses_itself_does_not_wait_for_a_stores_line(void **state)
{
	struct shadow *s = small_shadow();
	struct run r = store_and_load(s, 300, 150, PSV_ST_L1);
	assert_int_equal(r.last.late, 0);
	assert_int_equal(graph_base(r.graph).c, 300 + 6 + 150);
	assert_int_equal(graph_commit(r.graph, SET(DMISS)), 300 + 6 + 4);
	run_free(&r);
	shadow_free(s);
}

/* Three loads of lines that come from memory, all ready at 6; the third gets its MSHR, and so its line, when
 * the first line is there. A store's line and a prefetched one take MSHRs as well. */
static void misses(unsigned mshrs, bool store_before, struct run *r, uint16_t slot[3])
{
	struct shadow *s = small_shadow();
	*r = run_with(meta.l1d_latency, mshrs);
	for (uint64_t line = 0; line < 64; line++)
		shadow_access(s, SHADOW_DATA, 0x100000 + 64 * line, LEVEL_MEM);
	edges_shadow(r->edges, s);
	for (unsigned k = 0; k < 3; k++) {
		const uint32_t done = k < 2 ? 6 + 150 : 6 + 300;
		if (k == 2 && store_before) {
			struct rec_inst i = inst(r, SB(5, 6), CLASS_STORE, 6, 7);
			i.addr = 0x300000;
			i.size = 1;
			add(r, &i);
		}
		struct rec_inst i = inst(r, LBU(7 + k, 20), CLASS_LOAD, 6, done);
		i.addr = 0x200000 + 64 * k;
		i.size = 1;
		i.psv = PSV_ST_L1 | (k < 2 ? 0 : PSV_ST_MSHR);
		i.dlevel = LEVEL_MEM;
		i.lat_dmiss = (uint16_t)(done - 6 - 4);
		add(r, &i);
		slot[k] = r->last.mem;
	}
	edges_shadow(r->edges, NULL);
	shadow_free(s);
}

static void test_1701_a_miss_waits_for_the_line_that_has_its_mshr(void **state)
{
	uint16_t slot[3];
	struct run r;
	misses(2, false, &r, slot);
	assert_int_equal(r.last.mshr, slot[0]);
	assert_int_equal(graph_base(r.graph).c, FIRST + 6 + 300);
	/* from the first cycle of the access on: the L1 is looked up while it has the MSHR */
	assert_int_equal(r.last.mshr_for[0].cycles + r.last.mshr_for[2].cycles, 150);
	assert_int_equal(r.last.mshr_for[2].category, CAT_DL1);
	run_free(&r);
	/* the store took an MSHR after the second load, so it is that line that must come */
	misses(3, true, &r, slot);
	assert_int_equal(r.last.mshr, slot[0]);
	run_free(&r);
	misses(2, true, &r, slot);
	assert_int_equal(r.last.mshr, slot[1]);
	run_free(&r);
	/* enough of them, and none is waited for */
	misses(3, false, &r, slot);
	assert_int_equal(r.last.mshr, 0);
	run_free(&r);
}

static void test_631_where_lines_of_stores_come_from_is_learnt(void **state)
{
	struct shadow *s = shadow_with(
	    (const char *[]){ "l1d.size=4k", "l1d.ways=1", "l2.size=1M", "l2.ways=8", NULL });
	unsigned memory = 0;
	for (uint64_t line = 0; line < 64; line++)
		shadow_access(s, SHADOW_DATA, 0x100000 + 64 * line, LEVEL_L2);
	shadow_stored(s, true);
	for (unsigned k = 0; k < 3; k++)
		shadow_stored(s, false);
	for (uint64_t line = 0; line < 64; line++)
		memory += shadow_store(s, 0x200000 + 64 * line) == LEVEL_MEM;
	assert_int_equal(memory, 64 / 4);
	shadow_free(s);
}

/* A line that the right path had not used, and that hits: a wrong path brought it, from where the real misses
 * of such lines come, of each side. */
static void test_4923_a_line_not_seen_before_comes_from_where_others_do(void **state)
{
	struct shadow *s = shadow_with((const char *[]){ "l1d.size=4k", "l1d.ways=1", "l1i.size=4k",
							 "l1i.ways=1", "l2.size=1M", "l2.ways=8",
							 "llc.size=4M", "llc.ways=8", NULL });
	unsigned of[LEVEL_MEM + 1] = { 0 };
	for (uint64_t line = 0; line < 64; line++) {
		shadow_access(s, SHADOW_INST, 0x100000 + 64 * line, LEVEL_MEM);
		shadow_access(s, SHADOW_DATA, 0x200000 + 64 * line,
			      line % 4 ? LEVEL_L2 : LEVEL_LLC);
	}
	for (uint64_t line = 0; line < 64; line++)
		of[shadow_access(s, SHADOW_DATA, 0x300000 + 64 * line, LEVEL_L1)]++;
	assert_int_equal(of[LEVEL_L2], 48);
	assert_int_equal(of[LEVEL_LLC], 16);
	shadow_free(s);
	(void)state;
}

static void test_633_without_data_misses_stores_bring_no_lines(void **state)
{
	for (unsigned ideal = 0; ideal < 2; ideal++) {
		struct shadow *s = shadow_with((const char *[]){
		    "l1d.size=4k", "l1d.ways=1", ideal ? "ideal.dmiss=on" : NULL, NULL });
		for (uint64_t line = 0; line < 64; line++)
			shadow_store(s, 0x100000 + 64 * line);
		assert_int_equal(shadow_store(s, 0x200000), ideal ? LEVEL_NONE : LEVEL_MEM);
		shadow_free(s);
	}
}

/* A load whose data comes at `at`, into register rd. */
static void add_load(struct run *r, unsigned rd, uint32_t at)
{
	struct rec_inst i = inst(r, LBU(rd, 2), CLASS_LOAD, 6, at);
	i.addr = 0x8000 + 0x1000 * rd;
	i.dlevel = LEVEL_L1;
	add(r, &i);
}

/* A one-cycle operation rd <- rs that executes in cycle e. */
static void add_operation(struct run *r, unsigned rd, unsigned rs, uint32_t e)
{
	const struct rec_inst i = inst(r, ADDI(rd, rs), CLASS_ALU, e, e + 1);
	add(r, &i);
}

static void
test_3312_a_wait_for_an_issue_slot_counts_once_where_operations_take_no_time(void **state)
{
	struct run r = run_on(meta.l1d_latency, 0, 1);
	/* Three operations on a load's data, one slot a cycle: with or without latency they execute at
	 * 20, 21 and 22. */
	add_operation(&r, 9, 9, 6);
	add_load(&r, 5, 20);
	for (unsigned k = 0; k < 3; k++)
		add_operation(&r, 6 + k, 5, 20 + k);
	assert_int_equal(graph_commit(r.graph, 0), FIRST + 23);
	assert_int_equal(graph_commit(r.graph, 1u << CAT_SHALU), FIRST + 22);
	assert_int_equal(graph_commit(r.graph, 1u << CAT_BW), 21);
	run_free(&r);
	(void)state;
}

static void test_3313_operations_that_wait_for_different_loads_share_the_issue_slots(void **state)
{
	struct run r = run_on(meta.l1d_latency, 0, 3);
	/* Three loads with a chain of three operations each, three slots: in the run 20, 21 and 22, and so
	 * it stays where operations take no time, since all nine are then ready at 20. */
	add_operation(&r, 9, 9, 6);
	for (unsigned k = 0; k < 3; k++)
		add_load(&r, 5 + k, 20);
	for (unsigned n = 0; n < 9; n++)
		add_operation(&r, 5 + n % 3, 5 + n % 3, 20 + n / 3);
	assert_int_equal(graph_commit(r.graph, 0), FIRST + 23);
	assert_int_equal(graph_commit(r.graph, 1u << CAT_SHALU), FIRST + 22);
	run_free(&r);
	(void)state;
}

/* Three operations wait for a load. In the run the third was dispatched late; without limits of bandwidth
 * it would be at once, but its queue of two entries is full until the data comes. */
static void test_4922_without_limits_of_bandwidth_an_issue_queue_may_be_full(void **state)
{
	for (unsigned full = 0; full < 2; full++) {
		struct edges_machine m = machine_of(meta.l1d_latency);
		const uint32_t data = 20;
		m.iq[0] = full ? 2 : m.rob - 1;
		struct run r = run_of(&m);
		add_load(&r, 5, data);
		add_operation(&r, 6, 5, data);
		add_operation(&r, 7, 5, data);
		struct rec_inst i = inst(&r, ADDI(8, 5), CLASS_ALU, data + 1, data + 2);
		i.dispatch = data;
		i.dispatch_stall = DISPATCH_OK;
		add(&r, &i);
		const uint64_t last = graph_commit(r.graph, 0);
		for (unsigned dl1 = 0; dl1 < 2; dl1++) {
			const unsigned set = 1u << CAT_BW | dl1 << CAT_DL1;
			const uint64_t without = graph_commit(r.graph, set | 1u << CAT_WIN);
			assert_true(without < last);
			assert_int_equal(graph_commit(r.graph, set), without + full);
		}
		run_free(&r);
	}
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_621_a_division_that_overtakes_another_does_not_wait_for_it),
		cmocka_unit_test(test_622_a_divider_that_others_had_stays_busy_in_a_larger_window),
		cmocka_unit_test(
		    test_623_a_load_waits_for_its_own_byte_not_for_its_granules_youngest),
		cmocka_unit_test(test_3791_a_load_that_overtakes_its_store_is_flushed),
		cmocka_unit_test(test_4920_a_store_that_waits_for_a_port_is_not_overtaken),
		cmocka_unit_test(
		    test_4921_a_load_that_no_longer_overtakes_its_store_is_not_flushed),
		cmocka_unit_test(test_700_a_miss_counts_where_an_l1_hit_takes_one_cycle),
		cmocka_unit_test(test_1027_pages_are_as_large_as_the_machine_says),
		cmocka_unit_test(
		    test_627_a_page_that_only_a_wrong_path_had_translated_takes_a_walk),
		cmocka_unit_test(test_628_a_load_that_comes_sooner_waits_for_the_line_of_a_store),
		cmocka_unit_test(test_629_a_load_that_waits_for_a_stores_line_has_it_when_it_comes),
		cmocka_unit_test(
		    test_630_a_load_that_misses_itself_does_not_wait_for_a_stores_line),
		cmocka_unit_test(test_633_without_data_misses_stores_bring_no_lines),
		cmocka_unit_test(test_4923_a_line_not_seen_before_comes_from_where_others_do),
		cmocka_unit_test(test_1701_a_miss_waits_for_the_line_that_has_its_mshr),
		cmocka_unit_test(test_631_where_lines_of_stores_come_from_is_learnt),
		cmocka_unit_test(test_624_nothing_is_said_of_a_line_that_a_prefetcher_brought),
		cmocka_unit_test(test_3520_nothing_is_said_of_a_line_that_the_program_prefetched),
		cmocka_unit_test(
		    test_3521_a_load_of_a_prefetched_line_costs_nothing_without_mispredicts),
		cmocka_unit_test(
		    test_3312_a_wait_for_an_issue_slot_counts_once_where_operations_take_no_time),
		cmocka_unit_test(
		    test_3313_operations_that_wait_for_different_loads_share_the_issue_slots),
		cmocka_unit_test(test_4922_without_limits_of_bandwidth_an_issue_queue_may_be_full),
		cmocka_unit_test(test_1267_nothing_is_said_of_lines_of_a_front_end_that_runs_ahead),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

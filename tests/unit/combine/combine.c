/* SPDX-License-Identifier: MIT */
/* One profile from the stores of points: sums that add up, whatever the weights and their order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <math.h>
#include <sqlite3.h>

#include "combine/combine.h"
#include "combine/sums.h"
#include "store/store.h"

#define POINTS 6
#define SCALE  12
#define PCS    40

static char dir[64], out[128], paths[POINTS][128];
static const char *names[POINTS];
static struct store *result; /* what was combined last */

static int make_dir(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/culprit-combine-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(out, sizeof(out), "%s/out.culprit", dir);
	for (int i = 0; i < POINTS; i++) {
		snprintf(paths[i], sizeof(paths[i]), "%s/p%d.culprit", dir, i);
		names[i] = paths[i];
	}
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	store_close(result);
	unlink(out);
	for (int i = 0; i < POINTS; i++)
		unlink(paths[i]);
	return rmdir(dir);
}

/* ---- made-up points ---- */

struct size {
	int64_t insts, cycles;
};

#define PUT(s, ...) assert_true(store_insert(s, NULL, __VA_ARGS__))

/* Deals `total` out to n rows. */
static void deal(struct rng *r, int64_t total, int64_t *parts, int n)
{
	for (int i = 0; i < n; i++) {
		parts[i] = i + 1 < n ? (int64_t)rng_below(r, (uint64_t)(2 * total / n) + 1) : total;
		parts[i] = parts[i] > total ? total : parts[i];
		total -= parts[i];
	}
	parts[n - 1] += total;
}

static void put_profile(struct store *s, struct rng *r, struct size z)
{
	int64_t units[PCS], execs[PCS];

	deal(r, z.cycles * SCALE, units, PCS);
	deal(r, z.insts, execs, PCS);
	for (int64_t i = 0; i < PCS; i++)
		if (units[i] || execs[i])
			PUT(s, "golden", "iiiii", 4096 + 4 * i, i % 3, i % 2, units[i], execs[i]);
	PUT(s, "category", "is", (int64_t)0, "execution");
	PUT(s, "category", "is", (int64_t)1, "load stall");
	PUT(s, "event", "issi", (int64_t)0, "ST-L1", "a miss", (int64_t)rng_below(r, 1000));
	PUT(s, "sampler", "iiii", (int64_t)0, (int64_t)100, (int64_t)0, z.cycles / 100);
	PUT(s, "profiler", "issiii", (int64_t)0, "nci", "next", (int64_t)1, (int64_t)0, (int64_t)8);
	deal(r, z.cycles / 100 * 100 * SCALE, units, PCS);
	for (int64_t i = 0; i < PCS; i++)
		if (units[i])
			PUT(s, "profile", "iiiii", (int64_t)0, (int64_t)0, 4096 + 4 * i, (int64_t)0,
			    units[i]);
	/* two groups, whose numbers differ from point to point */
	const int64_t first = (int64_t)rng_below(r, 2);

	PUT(s, "sample_group", "iiii", first, (int64_t)0, (int64_t)4096, (int64_t)1);
	PUT(s, "sample_group", "iiii", 1 - first, (int64_t)0, (int64_t)4100, (int64_t)2);
	PUT(s, "sample_group", "iiii", 1 - first, (int64_t)1, (int64_t)4104, (int64_t)0);
	PUT(s, "sample_pair", "iiiii", (int64_t)1, first, 1 - first, z.cycles / 100 * 100,
	    z.cycles / 100);
	PUT(s, "bare_stall", "ii", (int64_t)rng_below(r, 3), (int64_t)rng_below(r, 50) + 1);
}

static void put_stacks(struct store *s, struct rng *r, struct size z)
{
	static const char *const components[] = { "base", "dcache", "bpred", "other" };
	int64_t units[4], cycles[2];

	PUT(s, "cpi_method", "issi", (int64_t)0, "fmt", "counters", (int64_t)4);
	PUT(s, "cpi_method", "issi", (int64_t)1, "commit", "at commit", (int64_t)1);
	PUT(s, "cpi_phase", "iii", (int64_t)-1, z.cycles, z.insts);
	cycles[0] = z.cycles / 3;
	cycles[1] = z.cycles - cycles[0];
	for (int64_t phase = 0; phase < 2; phase++)
		PUT(s, "cpi_phase", "iii", phase, cycles[phase], z.insts / 2);
	for (int64_t m = 0; m < 2; m++) {
		int64_t all[4] = { 0 };

		for (int64_t phase = 0; phase < 2; phase++) {
			deal(r, cycles[phase] * (m ? 1 : 4), units, 4);
			/* what remains may be below zero */
			units[3] -= 17;
			units[0] += 17;
			for (int k = 0; k < 4; k++) {
				all[k] += units[k];
				if (units[k])
					PUT(s, "cpi_component", "iisi", phase, m, components[k],
					    units[k]);
			}
		}
		for (int k = 0; k < 4; k++)
			PUT(s, "cpi_component", "iisi", (int64_t)-1, m, components[k], all[k]);
	}
	PUT(s, "cpi_instruction", "isid", (int64_t)4096, "base", z.insts, (double)z.cycles);
	PUT(s, "cpi_event", "sii", "bpred", (int64_t)rng_below(r, 500), (int64_t)rng_below(r, 400));
}

static void put_icost(struct store *s, struct rng *r, struct size z)
{
	double length[4] = { (double)z.cycles }, cost[4];

	for (int set = 1; set < 4; set++)
		length[set] = (double)rng_below(r, (uint64_t)z.cycles);
	PUT(s, "icost_phase", "iid", (int64_t)-1, z.insts, (double)z.cycles);
	for (int64_t set = 1; set < 4; set++) {
		char name[8];

		snprintf(name, sizeof(name), "s%d", (int)set);
		cost[set] = length[0] - length[set];
		PUT(s, "icost", "iisdd", (int64_t)-1, set, name, cost[set],
		    set == 3 ? cost[3] - cost[2] - cost[1] : cost[set]);
	}
	PUT(s, "icost_instruction", "iddddddddd", (int64_t)4096, (double)z.insts, 0.25, 3.0, 2.0,
	    (double)rng_below(r, 9), 10.0, 20.0, 30.0, 40.0);
	PUT(s, "run", "sd", "graph_cycles", (double)z.cycles);
}

/* Names: every point has function `even`; only some have function `late`, at lower addresses. */
static void put_names(struct store *s, int number)
{
	const int64_t late = number % 2, id = late;

	PUT(s, "image", "isssiii", (int64_t)0, "/bin/prog", "prog", NULL, (int64_t)0,
	    (int64_t)65536, (int64_t)0);
	if (late) {
		PUT(s, "function", "iisiisi", (int64_t)0, (int64_t)0, "late", (int64_t)1024,
		    (int64_t)1040, NULL, (int64_t)0);
		PUT(s, "block", "iiii", (int64_t)0, (int64_t)0, (int64_t)1024, (int64_t)1040);
		PUT(s, "instruction", "iiiissis", (int64_t)1024, (int64_t)0, (int64_t)0,
		    (int64_t)19, "nop", NULL, (int64_t)0, "alu");
	}
	PUT(s, "function", "iisiisi", id, (int64_t)0, "even", (int64_t)4096,
	    (int64_t)(4096 + 4 * PCS), "a.c", (int64_t)7);
	PUT(s, "block", "iiii", id, id, (int64_t)4096, (int64_t)(4096 + 4 * PCS));
	for (int64_t i = 0; i < PCS; i++)
		PUT(s, "instruction", "iiiissis", 4096 + 4 * i, id, id, (int64_t)19, "nop", "a.c",
		    7 + i, "alu");
	PUT(s, "inlined", "iissi", (int64_t)4100, (int64_t)0, "inner", "a.c", (int64_t)3);
}

static struct size make_point(int number, uint64_t seed, int64_t insts)
{
	struct err e = { "" };
	struct rng r;

	unlink(paths[number]);
	rng_seed(&r, seed * 64 + (uint64_t)number);

	const struct size z = { insts, insts / 2 + (int64_t)rng_below(&r, (uint64_t)insts * 3) };
	struct store *s = store_create(paths[number], &e);

	assert_non_null(s);
	PUT(s, "run", "ss", "program", "/bin/prog");
	PUT(s, "run", "ss", "machine", "boom-tip");
	PUT(s, "run", "si", "instructions", z.insts);
	PUT(s, "run", "si", "cycles", z.cycles);
	PUT(s, "run", "si", "profiled_instructions", z.insts);
	PUT(s, "run", "si", "profiled_cycles", z.cycles);
	PUT(s, "run", "si", "scale", (int64_t)SCALE);
	PUT(s, "run", "si", "fast_forward", (int64_t)number * 1000);
	PUT(s, "run", "sd", "host_seconds", 0.5);
	PUT(s, "machine", "sss", "window", "rob", "128");
	put_profile(s, &r, z);
	put_stacks(s, &r, z);
	put_icost(s, &r, z);
	put_names(s, number);
	assert_true(store_commit(s, &e));
	store_close(s);
	return z;
}

/* ---- combining ---- */

static struct combine_weight weights[POINTS];
static struct combine_options options;

static void make_points(uint64_t seed)
{
	memset(weights, 0, sizeof(weights));
	options = (struct combine_options){ .method = "simpoint", .interval = 1000 };
	for (int i = 0; i < POINTS; i++) {
		const struct size z = make_point(i, seed, 1000 + 37 * i);

		weights[i] = (struct combine_weight){ .start = 2000 * (uint64_t)i,
						      .length = (uint64_t)z.insts,
						      .stands_for = (uint64_t)z.insts,
						      .cluster = (uint32_t)i / 2 };
		options.total_instructions += weights[i].stands_for;
	}
}

/* Opening checks what is in it (store/check.c). */
static void combined(void)
{
	struct err e = { "" };

	store_close(result);
	unlink(out);
	if (!combine_stores(names, weights, POINTS, &options, out, &e))
		fail_msg("%s", e.text);

	result = store_open(out, &e);
	if (!result)
		fail_msg("%s", e.text);
}

static int64_t number(const char *format, ...)
{
	char sql[400];
	va_list ap;

	va_start(ap, format);
	vsnprintf(sql, sizeof(sql), format, ap);
	va_end(ap);
	return store_number(result, sql, INT64_MIN);
}

/* The sum of a query's number over all points. */
static int64_t sum_of(struct store *const *all, const char *sql)
{
	int64_t sum = 0;

	for (int i = 0; i < POINTS; i++)
		sum += store_number(all[i], sql, 0);
	return sum;
}

static void open_points(struct store **all)
{
	for (int i = 0; i < POINTS; i++) {
		all[i] = store_open(paths[i], NULL);
		assert_non_null(all[i]);
	}
}

static void close_points(struct store **all)
{
	for (int i = 0; i < POINTS; i++)
		store_close(all[i]);
}

static void test_3000_whole_numbers_add_up_and_stay_next_to_their_values(void **state)
{
	struct rng r;

	(void)state;
	rng_seed(&r, 7);
	for (int round = 0; round < 2000; round++) {
		fixed values[50], sum = 0;
		int64_t whole[50], all = 0;
		const size_t n = 1 + rng_below(&r, 50);

		for (size_t i = 0; i < n; i++) {
			values[i] = (fixed)(rng_next(&r) >> (rng_below(&r, 40) + 8));
			values[i] = rng_below(&r, 4) ? values[i] : -values[i];
			sum += values[i];
		}
		apportion(values, n, fixed_round(sum), whole);
		for (size_t i = 0; i < n; i++) {
			all += whole[i];
			assert_true(fabs((double)whole[i] - fixed_double(values[i])) <= 1.0);
		}
		assert_int_equal(all, fixed_round(sum));
	}
}

static void test_3001_a_total_far_from_the_sum_is_met(void **state)
{
	const fixed values[] = { fixed_from(2.5), fixed_from(0), fixed_from(4.25) };
	int64_t whole[3];

	(void)state;
	for (int64_t total = -5; total < 1000; total++) {
		apportion(values, 3, total, whole);
		assert_int_equal(whole[0] + whole[1] + whole[2], total);
		assert_true(total < 0 || (whole[0] >= 0 && whole[1] >= 0 && whole[2] >= 0));
	}
	apportion(values, 3, 7, whole);
	assert_int_equal(whole[0], 3);
	assert_int_equal(whole[1], 0);
	assert_int_equal(whole[2], 4);
}

static void test_3002_a_product_is_exact_and_too_large_ones_are_refused(void **state)
{
	struct rng r;
	fixed x;

	(void)state;
	rng_seed(&r, 3);
	for (int round = 0; round < 10000; round++) {
		const int64_t value = (int64_t)(rng_next(&r) >> (2 + rng_below(&r, 60)));
		const uint64_t n = 1 + rng_below(&r, 1u << 20);

		assert_true(fixed_times(value, (struct factor){ n, n }, &x));
		assert_true(x == fixed_from(1) * value);
		assert_true(fixed_times(-value, (struct factor){ n, 3 * n }, &x));
		/* within one unit in the last place, never above */
		assert_true(x * 3 <= -(fixed_from(1) * value));
		assert_true(x * 3 + 3 > -(fixed_from(1) * value));
	}
	assert_false(fixed_times(SUM_MOST, (struct factor){ 3, 2 }, &x));
	assert_false(fixed_times(-SUM_MOST, (struct factor){ 1ull << 40, 1 }, &x));
}

/* Tables and columns that are sums, and those that are none. */
static const char *const sums[] = {
	"SELECT sum(units) FROM golden",
	"SELECT sum(executions) FROM golden",
	"SELECT sum(units) FROM golden WHERE pc = 4120",
	"SELECT sum(units) FROM golden WHERE category = 1 AND events = 2",
	"SELECT sum(units) FROM profile",
	"SELECT sum(units) FROM profile WHERE pc = 4132",
	"SELECT samples FROM sampler",
	"SELECT sum(samples) FROM sample_pair",
	"SELECT sum(cycles) FROM sample_pair",
	"SELECT sum(count) FROM bare_stall",
	"SELECT sum(count) FROM bare_stall WHERE length = 1",
	"SELECT executions FROM event WHERE bit = 0",
	"SELECT units FROM cpi_component WHERE phase = -1 AND method = 0 AND component = 'other'",
	"SELECT units FROM cpi_component WHERE phase = -1 AND method = 1 AND component = 'bpred'",
	"SELECT cycles FROM cpi_phase WHERE phase = -1",
	"SELECT instructions FROM cpi_phase WHERE phase = -1",
	"SELECT fetched FROM cpi_event",
	"SELECT committed FROM cpi_event",
	"SELECT cycles FROM icost_phase WHERE phase = -1",
	"SELECT cost FROM icost WHERE categories = 2 AND phase = -1",
	"SELECT icost FROM icost WHERE categories = 3 AND phase = -1",
	"SELECT executions FROM icost_instruction",
	"SELECT value FROM run WHERE key = 'cycles'",
	"SELECT value FROM run WHERE key = 'instructions'",
	"SELECT value FROM run WHERE key = 'graph_cycles'",
};

static void test_3003_points_that_tile_the_run_give_the_sums_of_their_stores(void **state)
{
	struct store *all[POINTS];

	(void)state;
	for (uint64_t seed = 0; seed < 2; seed++) {
		make_points(seed);
		combined();
		open_points(all);
		for (size_t i = 0; i < ARRAY_LEN(sums); i++)
			if (number("%s", sums[i]) != sum_of(all, sums[i]))
				fail_msg("%s: %lld, not %lld", sums[i],
					 (long long)number("%s", sums[i]),
					 (long long)sum_of(all, sums[i]));
		close_points(all);
	}
	/* nothing is added up that is no sum */
	assert_int_equal(number("SELECT period FROM sampler"), 100);
	assert_int_equal(number("SELECT 4 * critical FROM icost_instruction"), 1);
	assert_int_equal(number("SELECT slack FROM icost_instruction"), 3);
	assert_int_equal(number("SELECT scale FROM cpi_method WHERE id = 0"), 4);
	assert_int_equal(number("SELECT count(*) FROM run WHERE key = 'fast_forward'"), 0);
}

static void holds_the_laws(void)
{
	const int64_t cycles = number("SELECT value FROM run WHERE key = 'cycles'");

	assert_int_equal(number("SELECT value FROM run WHERE key = 'profiled_cycles'"), cycles);
	assert_int_equal(number("SELECT sum(units) FROM golden"), cycles * SCALE);
	assert_int_equal(number("SELECT cycles FROM cpi_phase WHERE phase = -1"), cycles);
	assert_int_equal(number("SELECT sum(cycles) FROM cpi_phase WHERE phase >= 0"), cycles);
	assert_int_equal(number("SELECT sum(instructions) FROM cpi_phase WHERE phase >= 0"),
			 options.total_instructions);
	assert_int_equal(
	    number("SELECT count(*) FROM cpi_phase p, cpi_method m WHERE p.cycles * "
		   "m.scale <> (SELECT sum(units) FROM cpi_component c WHERE c.phase = "
		   "p.phase AND c.method = m.id)"),
	    0);
	assert_int_equal(number("SELECT sum(executions) FROM golden"), options.total_instructions);
	/* all interaction costs are the cost of everything */
	assert_int_equal(
	    number("SELECT count(*) FROM icost_phase p WHERE (SELECT sum(icost) FROM icost "
		   "i WHERE i.phase = p.phase) <> (SELECT cost FROM icost i WHERE i.phase "
		   "= p.phase AND categories = 3)"),
	    0);
	assert_int_equal(number("SELECT count(*) FROM icost WHERE cost <> round(cost)"), 0);
}

static void random_weights(uint64_t seed)
{
	struct rng r;

	rng_seed(&r, seed);
	make_points(seed);
	options.total_instructions = 0;
	for (int i = 0; i < POINTS; i++) {
		weights[i].stands_for = 1 + rng_below(&r, 1ull << rng_below(&r, 36));
		options.total_instructions += weights[i].stands_for;
	}
}

static void test_3004_laws_hold_for_any_weights(void **state)
{
	(void)state;
	for (uint64_t seed = 10; seed < 15; seed++) {
		random_weights(seed);
		combined();
		holds_the_laws();

		/* within one of the exact weighted sum */
		struct store *all[POINTS];
		double exact = 0;

		open_points(all);
		for (int h = 0; h < POINTS / 2; h++) {
			double units = 0, insts = 0, stands_for = 0;

			for (int i = 2 * h; i < 2 * h + 2; i++) {
				units += (double)store_number(
				    all[i], "SELECT sum(units) FROM golden WHERE pc = 4120", 0);
				insts += (double)weights[i].length;
				stands_for += (double)weights[i].stands_for;
			}
			exact += units * stands_for / insts;
		}
		close_points(all);
		assert_true(fabs((double)number("SELECT sum(units) FROM golden WHERE pc = 4120") -
				 exact) <= 1 + SCALE + 1e-12 * exact);
	}
}

static char *read_all(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	char *bytes;

	assert_non_null(f);
	fseek(f, 0, SEEK_END);
	*size = (size_t)ftell(f);
	rewind(f);
	bytes = malloc(*size + 1);
	assert_int_equal(fread(bytes, 1, *size, f), *size);
	fclose(f);
	return bytes;
}

static void test_3005_the_order_of_points_changes_no_byte(void **state)
{
	struct combine_weight w[POINTS];
	const char *n[POINTS];
	struct err e = { "" };
	size_t size, again;
	struct rng r;

	(void)state;
	random_weights(5);
	combined();

	char *bytes = read_all(out, &size);

	rng_seed(&r, 9);
	for (int round = 0; round < 3; round++) {
		memcpy(w, weights, sizeof(w));
		memcpy(n, names, sizeof(n));
		for (int i = POINTS; i-- > 1;) {
			const size_t j = rng_below(&r, (uint64_t)i + 1);
			const struct combine_weight x = w[i];
			const char *name = n[i];

			w[i] = w[j];
			w[j] = x;
			n[i] = n[j];
			n[j] = name;
		}
		unlink(out);
		assert_true(combine_stores(n, w, POINTS, &options, out, &e));

		char *other = read_all(out, &again);

		assert_int_equal(size, again);
		assert_memory_equal(bytes, other, size);
		free(other);
	}
	free(bytes);
}

static void test_3006_names_are_the_union_by_address(void **state)
{
	(void)state;
	make_points(1);
	combined();
	assert_int_equal(number("SELECT count(*) FROM image"), 1);
	assert_int_equal(number("SELECT count(*) FROM function"), 2);
	assert_int_equal(number("SELECT id FROM function WHERE name = 'late'"), 0);
	assert_int_equal(number("SELECT id FROM function WHERE name = 'even'"), 1);
	assert_int_equal(number("SELECT count(*) FROM instruction"), PCS + 1);
	assert_int_equal(
	    number("SELECT count(*) FROM instruction n JOIN function f ON f.id = n.function "
		   "JOIN block b ON b.id = n.block WHERE n.pc >= f.start AND n.pc < f.end "
		   "AND b.function = f.id"),
	    PCS + 1);
	assert_int_equal(number("SELECT count(*) FROM inlined"), 1);
}

static void test_3007_groups_of_samples_are_found_by_what_is_in_them(void **state)
{
	(void)state;
	make_points(4);
	combined();
	assert_int_equal(number("SELECT count(*) FROM sample_pair"), 1);
	assert_int_equal(number("SELECT count(DISTINCT id) FROM sample_group"), 2);
	assert_int_equal(number("SELECT sum(g.pc) FROM sample_pair p JOIN sample_group g ON g.id = "
				"p.blamed"),
			 4096);
	assert_int_equal(number("SELECT sum(g.pc) FROM sample_pair p JOIN sample_group g ON g.id = "
				"p.truth"),
			 4100 + 4104);
}

static uint64_t exact_pcs[PCS], exact[PCS];

static void make_exact(uint64_t seed)
{
	struct rng r;
	int64_t parts[PCS];

	rng_seed(&r, seed);
	deal(&r, (int64_t)options.total_instructions, parts, PCS);
	for (int i = 0; i < PCS; i++) {
		exact_pcs[i] = 4096 + 4 * (uint64_t)i;
		exact[i] =
		    (uint64_t)parts[i] + 1; /* 0 would be an instruction that was not counted */
	}
	options.pcs = exact_pcs;
	options.executions = exact;
	options.npcs = PCS;
}

static void test_3008_executions_are_exact_and_time_follows_them(void **state)
{
	(void)state;
	for (uint64_t seed = 40; seed < 42; seed++) {
		for (int mode = 0; mode < 2; mode++) {
			random_weights(seed);
			make_exact(seed);
			options.mode = mode ? COMBINE_EXECUTIONS : COMBINE_WEIGHTS;
			combined();
			const int64_t unmeasured =
			    number("SELECT value FROM sampled WHERE key = 'unmeasured_executions'");

			for (int i = 0; i < PCS; i++) {
				const int64_t n =
				    number("SELECT sum(executions) FROM golden WHERE pc = %d",
					   4096 + 4 * i);

				/* a row with time has the exact executions, unless none was seen */
				if (n != INT64_MIN && n)
					assert_int_equal(n, exact[i]);
			}
			assert_true(unmeasured >= 0);
			assert_int_equal(number("SELECT sum(units) FROM golden"),
					 SCALE *
					     number("SELECT value FROM run WHERE key = 'cycles'"));
		}
		/* cycles per execution of two instructions keep their ratio */
		const double a = (double)number("SELECT sum(units) FROM golden WHERE pc = 4096"),
			     b = (double)number("SELECT sum(units) FROM golden WHERE pc = 4100");
		double plain[2];

		options.mode = COMBINE_WEIGHTS;
		options.pcs = NULL;
		combined();
		for (int i = 0; i < 2; i++)
			plain[i] = (double)number("SELECT sum(units) FROM golden WHERE pc = %d",
						  4096 + 4 * i) /
				   (double)number(
				       "SELECT max(1, sum(executions)) FROM golden WHERE pc = %d",
				       4096 + 4 * i);
		if (exact[0] > 100000 && exact[1] > 100000 && plain[1] > 1)
			assert_true(fabs(a / (double)exact[0] / (b / (double)exact[1]) /
					     (plain[0] / plain[1]) -
					 1) < 0.01);
	}
}

static void test_3009_exact_executions_of_a_tiled_run_change_nothing(void **state)
{
	struct store *all[POINTS];

	(void)state;
	make_points(2);
	open_points(all);
	for (int i = 0; i < PCS; i++) {
		char sql[100];

		snprintf(sql, sizeof(sql), "SELECT sum(executions) FROM golden WHERE pc = %d",
			 4096 + 4 * i);
		exact_pcs[i] = 4096 + 4 * (uint64_t)i;
		exact[i] = (uint64_t)sum_of(all, sql);
	}
	close_points(all);
	combined();

	const int64_t plain =
	    number("SELECT sum(units * (pc + 7 * events + category)) FROM golden");

	options.pcs = exact_pcs;
	options.executions = exact;
	options.npcs = PCS;
	options.mode = COMBINE_EXECUTIONS;
	combined();
	assert_int_equal(number("SELECT sum(units * (pc + 7 * events + category)) FROM golden"),
			 plain);
	assert_int_equal(number("SELECT value FROM sampled WHERE key = 'unmeasured_executions'"),
			 0);
}

/* ---- what is refused ---- */

static void change(int point, const char *sql)
{
	sqlite3 *db;
	char *why = NULL;

	assert_int_equal(sqlite3_open(paths[point], &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
		fail_msg("%s: %s", sql, why);
	sqlite3_close(db);
}

static void refused(const char *why)
{
	struct err e = { "" };

	unlink(out);
	if (combine_stores(names, weights, POINTS, &options, out, &e))
		fail_msg("it was combined; expected: %s", why);
	if (!strstr(e.text, why))
		fail_msg("'%s' does not say '%s'", e.text, why);
	assert_null(strchr(e.text, '\n'));
	/* nothing is left under the final name */
	assert_int_equal(access(out, F_OK), -1);
}

static void test_3010_points_of_different_runs_are_refused_in_one_line(void **state)
{
	static const struct {
		const char *sql, *why;
	} cases[] = {
		{ "UPDATE run SET value = '/bin/other' WHERE key = 'program'",
		  "differ in 'program'" },
		{ "DELETE FROM run WHERE key = 'program'", "differ in 'program'" },
		{ "INSERT INTO run VALUES ('sysroot', '/x')", "differ in 'sysroot'" },
		{ "UPDATE run SET value = 24 WHERE key = 'scale'", "differ in 'scale'" },
		{ "UPDATE machine SET value = '64'", "different machines" },
		{ "DELETE FROM machine", "different machines" },
		{ "DELETE FROM golden", "the same --analyze" },
		{ "DELETE FROM icost", "the same --analyze" },
		{ "UPDATE category SET name = 'x' WHERE id = 0", "do not agree in table category" },
		{ "UPDATE sampler SET period = 7", "do not agree in table sampler" },
		{ "UPDATE run SET value = 1 WHERE key = 'profiled_cycles'", "profiled 1 of its" },
		{ "UPDATE run SET value = 0 WHERE key = 'instructions'",
		  "measured no instruction" },
		{ "UPDATE run SET value = 'many' WHERE key = 'cycles'", "measured no instruction" },
		{ "INSERT INTO run VALUES ('kind', 'live')", "is a live profile" },
		{ "INSERT INTO run VALUES ('child', '2')", "forked process" },
		{ "INSERT INTO run VALUES ('regions', 1)", "--start" },
		{ "INSERT INTO sampled VALUES ('method', 'simpoint')", "is a combined profile" },
		{ "DROP TABLE golden", "does not have the tables" },
		{ "PRAGMA user_version = 99", "format version 99" },
		{ "UPDATE golden SET units = 'x'", "table golden" },
	};

	(void)state;
	make_points(3);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		make_point(1, 3, (int64_t)weights[1].length);
		change(1, cases[i].sql);
		refused(cases[i].why);
	}
	make_points(3);
	unlink(paths[2]);
	refused("cannot read");
}

static void test_3011_weights_that_make_no_run_are_refused(void **state)
{
	static const uint32_t strip[] = { 0, 1, 2, 9 };
	struct err e = { "" };

	(void)state;
	make_points(3);
	options.total_instructions++;
	refused("but the run has");
	make_points(3);
	weights[2].start = weights[1].start;
	refused("are the same interval");
	make_points(3);
	weights[5].cluster = 4;
	refused("cluster 3 has no point");
	weights[5].cluster = UINT32_MAX;
	refused("there is no cluster");
	make_points(3);
	weights[0].stands_for = UINT64_MAX;
	refused("too many instructions");
	make_points(3);
	options.strip = strip;
	options.nstrip = 4;
	refused("interval 3 is of cluster 9");
	options.nstrip = 3;
	refused("are not a run of");
	make_points(3);
	assert_false(combine_stores(names, weights, 0, &options, out, &e));
	assert_non_null(strstr(e.text, "no points"));
	/* what a hostile store may hold, times its weight */
	make_points(3);
	change(1, "UPDATE counter SET value = 0");
	change(1, "INSERT INTO counter VALUES ('x', 4611686018427387904)");
	weights[0].stands_for += 1 << 20;
	options.total_instructions += 1 << 20;
	refused("too large");
}

static void test_3012_a_store_of_an_older_version_is_a_point_too(void **state)
{
	(void)state;
	make_points(6);
	combined();

	const int64_t before = number("SELECT sum(units * pc) FROM golden");

	change(
	    2,
	    "DROP TABLE sampled; DROP TABLE sampled_cluster; DROP TABLE sampled_strip; DROP TABLE "
	    "point; DROP TABLE point_component; DROP TABLE point_function; DROP TABLE "
	    "sampled_unit; DROP TABLE estimate; DROP TABLE call_context; PRAGMA user_version = 6");
	combined();
	assert_int_equal(number("SELECT sum(units * pc) FROM golden"), before);
}

static void test_3013_phases_follow_the_clusters_of_all_intervals(void **state)
{
	static uint32_t strip[600];

	(void)state;
	random_weights(8);
	options.interval = 1000;
	options.total_instructions = 0;
	for (int i = 0; i < POINTS; i++)
		weights[i].stands_for = 100000;
	options.total_instructions = 600000;
	for (int i = 0; i < 600; i++)
		strip[i] = (uint32_t)i / 200;
	options.strip = strip;
	options.nstrip = 600;
	combined();
	holds_the_laws();
	/* at most 256 phases, all but the last of three intervals */
	assert_int_equal(number("SELECT count(*) FROM cpi_phase WHERE phase >= 0"), 200);
	assert_int_equal(number("SELECT max(instructions) FROM cpi_phase WHERE phase >= 0"), 3000);
	/* a phase of one cluster has its CPI */
	const int64_t cycles =
	    number("SELECT cycles FROM point WHERE cluster = 2") +
	    number("SELECT cycles FROM point WHERE cluster = 2 ORDER BY id DESC");
	const int64_t insts = number("SELECT sum(instructions) FROM point WHERE cluster = 2");

	assert_true(fabs((double)number("SELECT cycles FROM cpi_phase WHERE phase = 199") -
			 3000.0 * (double)cycles / (double)insts) <= 1);
	/* run-length: a row for each stretch of one cluster */
	assert_int_equal(number("SELECT count(*) FROM sampled_strip"), 3);
	assert_int_equal(number("SELECT sum(count) FROM sampled_strip"), 600);
	assert_int_equal(number("SELECT cluster FROM sampled_strip WHERE first = 400"), 2);
}

static void test_3014_figures_have_intervals_where_clusters_have_two_points(void **state)
{
	(void)state;
	random_weights(12);
	for (int i = 0; i < POINTS; i++)
		weights[i].stands_for = 1000000;
	options.total_instructions = POINTS * 1000000;
	combined();

	const int64_t cycles = number("SELECT value FROM run WHERE key = 'cycles'");

	assert_int_equal(
	    number("SELECT count(*) FROM estimate WHERE what = 'cpi' AND low < value AND "
		   "high > value"),
	    1);
	assert_true(llabs(number("SELECT value * %llu FROM estimate WHERE what = 'cpi'",
				 (unsigned long long)options.total_instructions) -
			  cycles) <= 1);
	/* functions and components are in cycles, and add up */
	assert_true(
	    llabs(number("SELECT sum(value) FROM estimate WHERE what = 'function'") - cycles) <= 1);
	assert_true(
	    llabs(number("SELECT sum(value) FROM estimate WHERE what = 'stack' AND item = 0") -
		  cycles) <= 1);
	assert_int_equal(number("SELECT count(*) FROM estimate WHERE what = 'stack'"), 8);
	assert_int_equal(number("SELECT count(*) FROM estimate WHERE what = 'icost'"), 3);
	/* one point a cluster: nothing is known of the error */
	for (int i = 0; i < POINTS; i++)
		weights[i].cluster = (uint32_t)i;
	combined();
	assert_int_equal(number("SELECT count(*) FROM estimate WHERE low IS NOT NULL"), 0);
	assert_true(number("SELECT count(*) FROM estimate") > 10);
	/* but what warm-up left open is */
	weights[0].has_bracket = true;
	weights[0].low_cycles = 1;
	weights[0].high_cycles = 1e6;
	combined();
	assert_int_equal(number("SELECT low_cycles FROM point WHERE id = 0"), 1);
}

static void test_3015_shares_become_instructions_that_add_up(void **state)
{
	const double w[] = { 0.1, 0.2, 0.3, 0.4 - 1e-9 };
	uint64_t n[4];

	(void)state;
	combine_shares(w, 4, 1000003, n);
	assert_int_equal(n[0] + n[1] + n[2] + n[3], 1000003);
	assert_int_equal(n[0], 100000);
	combine_shares(w, 1, 77, n);
	assert_int_equal(n[0], 77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_3000_whole_numbers_add_up_and_stay_next_to_their_values),
		cmocka_unit_test(test_3001_a_total_far_from_the_sum_is_met),
		cmocka_unit_test(test_3002_a_product_is_exact_and_too_large_ones_are_refused),
		cmocka_unit_test(test_3003_points_that_tile_the_run_give_the_sums_of_their_stores),
		cmocka_unit_test(test_3004_laws_hold_for_any_weights),
		cmocka_unit_test(test_3005_the_order_of_points_changes_no_byte),
		cmocka_unit_test(test_3006_names_are_the_union_by_address),
		cmocka_unit_test(test_3007_groups_of_samples_are_found_by_what_is_in_them),
		cmocka_unit_test(test_3008_executions_are_exact_and_time_follows_them),
		cmocka_unit_test(test_3009_exact_executions_of_a_tiled_run_change_nothing),
		cmocka_unit_test(test_3010_points_of_different_runs_are_refused_in_one_line),
		cmocka_unit_test(test_3011_weights_that_make_no_run_are_refused),
		cmocka_unit_test(test_3012_a_store_of_an_older_version_is_a_point_too),
		cmocka_unit_test(test_3013_phases_follow_the_clusters_of_all_intervals),
		cmocka_unit_test(test_3014_figures_have_intervals_where_clusters_have_two_points),
		cmocka_unit_test(test_3015_shares_become_instructions_that_add_up),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}

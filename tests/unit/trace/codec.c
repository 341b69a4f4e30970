/* SPDX-License-Identifier: MIT */
/* 520: a block of records is the same after coding and decoding, and small. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "synth.h"
#include "trace/file_codec.h"

/* Keeps all records. */
struct keep {
	struct emit emit;
	struct rec_inst *insts;
	struct rec_cycle *cycles;
	size_t ninsts, ncycles;
};

static void keep_full(struct emit *e)
{
	e->stop = true;
	e->ninsts = e->ncycles = 0; /* discard what comes after the end */
}

static struct keep keep_run(uint64_t seed, size_t insts)
{
	struct keep k = { .emit = { .wants = ~(unsigned)WANT_LESS, .full = keep_full } };
	k.insts = x_calloc(4 * insts + 4096, sizeof(*k.insts));
	k.cycles = x_calloc(4 * insts + 4096, sizeof(*k.cycles));
	k.emit.insts = k.insts;
	k.emit.cycles = k.cycles;
	k.emit.max_insts = k.emit.max_cycles = 4 * insts + 4096;
	synth_run(&k.emit, seed, insts);
	assert_false(k.emit.stop);
	k.ninsts = k.emit.ninsts;
	k.ncycles = k.emit.ncycles;
	return k;
}

static void keep_free(struct keep *k)
{
	free(k->insts);
	free(k->cycles);
}

static void check_same(const struct rec_inst *a, const struct rec_inst *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_memory_equal(&a[i], &b[i], sizeof(a[i]));
}

/* Codes and decodes one block; returns its size in bytes. */
static size_t round_trip(const struct trace_meta *meta, const struct rec_inst *insts, size_t ninsts,
			 const struct rec_cycle *cycles, size_t ncycles)
{
	struct codec *c = codec_new(meta), *d = codec_new(meta);
	struct bytes out = { 0 };
	struct rec_inst *insts2 = x_calloc(ninsts + 1, sizeof(*insts2));
	struct rec_cycle *cycles2 = x_calloc(ncycles + 1, sizeof(*cycles2));
	codec_begin(c);
	codec_put_insts(c, insts, ninsts);
	codec_put_cycles(c, cycles, ncycles);
	codec_finish(c, &out);
	assert_true(codec_decode(d, out.data, out.size, insts2, ninsts, cycles2, ncycles));
	check_same(insts, insts2, ninsts);
	for (size_t i = 0; i < ncycles; i++)
		assert_memory_equal(&cycles[i], &cycles2[i], sizeof(cycles[i]));
	free(out.data);
	free(insts2);
	free(cycles2);
	codec_free(c);
	codec_free(d);
	return out.size;
}

static void test_521_a_block_decodes_to_what_was_coded(void **state)
{
	struct trace_meta meta;
	synth_meta(&meta);
	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct keep k = keep_run(seed, 20000);
		assert_true(k.ninsts > 20000); /* the run has a wrong path */
		round_trip(&meta, k.insts, k.ninsts, k.cycles, k.ncycles);
		keep_free(&k);
	}
}

static void test_522_any_records_at_all_survive(void **state)
{
	struct trace_meta meta;
	struct rng rng;
	struct rec_inst insts[200];
	struct rec_cycle cycles[200];
	rng_seed(&rng, 5);
	synth_meta(&meta);
	for (int round = 0; round < 50; round++) {
		for (size_t i = 0; i < sizeof(insts); i++)
			((uint8_t *)insts)[i] = (uint8_t)rng_next(&rng);
		for (size_t i = 0; i < sizeof(cycles); i++)
			((uint8_t *)cycles)[i] = (uint8_t)rng_next(&rng);
		for (size_t i = 0; i < 200; i++) {
			memset(cycles[i].unused, 0, sizeof(cycles[i].unused));
			if (round & 1)
				insts[i].flags |= RI_COMMITTED;
			if (round & 2)
				insts[i].dispatch = insts[i].complete = STAMP_NONE;
			if (round & 4)
				cycles[i].cycle =
				    i ? cycles[i - 1].cycle + cycles[i - 1].repeat : 7;
		}
		round_trip(&meta, insts, 200, cycles, 200);
	}
}

static void test_523_an_empty_block_is_a_block(void **state)
{
	struct trace_meta meta;
	synth_meta(&meta);
	round_trip(&meta, NULL, 0, NULL, 0);
	struct rec_cycle one = { .cycle = UINT64_MAX - 1, .repeat = 1 };
	round_trip(&meta, NULL, 0, &one, 1);
}

static void test_524_committed_instructions_take_less_than_eight_bytes(void **state)
{
	struct trace_meta meta;
	synth_meta(&meta);
	struct keep k = keep_run(1, 30000);
	size_t bytes = round_trip(&meta, k.insts, k.ninsts, k.cycles, k.ncycles);
	assert_true(bytes < 8 * 30000);
	keep_free(&k);
}

static void test_525_damaged_payloads_are_refused_or_decode_within_bounds(void **state)
{
	struct trace_meta meta;
	struct rng rng;
	rng_seed(&rng, 6);
	synth_meta(&meta);
	struct keep k = keep_run(2, 2000);
	struct codec *c = codec_new(&meta), *d = codec_new(&meta);
	struct bytes out = { 0 };
	codec_begin(c);
	codec_put_insts(c, k.insts, k.ninsts);
	codec_put_cycles(c, k.cycles, k.ncycles);
	codec_finish(c, &out);
	struct rec_inst *insts = x_calloc(k.ninsts, sizeof(*insts));
	struct rec_cycle *cycles = x_calloc(k.ncycles, sizeof(*cycles));
	for (int round = 0; round < 2000; round++) {
		uint8_t *bad = x_malloc(out.size);
		memcpy(bad, out.data, out.size);
		for (uint64_t i = 0; i <= rng_below(&rng, 4); i++)
			bad[rng_below(&rng, out.size)] = (uint8_t)rng_next(&rng);
		size_t size = round & 1 ? out.size : rng_below(&rng, out.size);
		bool ok = codec_decode(d, bad, size, insts, k.ninsts, cycles, k.ncycles);
		assert_true(!ok || size == out.size);
		free(bad);
	}
	free(insts);
	free(cycles);
	free(out.data);
	codec_free(c);
	codec_free(d);
	keep_free(&k);
}

/* Checks that the coder for brief records codes the committed instructions like the other coder,
 * without their notes. */
static void check_brief(struct codec *brief, struct codec *whole, struct codec *reader,
			const struct rec_inst *insts, size_t ninsts)
{
	struct rec_inst *bare = x_calloc(ninsts, sizeof(*bare));
	const struct rec_inst **list = x_calloc(ninsts, sizeof(*list));
	struct bytes a = { 0 }, b = { 0 };
	size_t n = 0;
	for (size_t i = 0; i < ninsts; i++) {
		if (!(insts[i].flags & RI_COMMITTED))
			continue;
		list[n] = &insts[i];
		bare[n] = insts[i];
		bare[n].dispatch_stall = DISPATCH_OK;
		memset(&bare[n].notes, 0, sizeof(bare[n].notes));
		bare[n].decode = bare[n].dispatch = bare[n].ready = bare[n].issue =
		    bare[n].complete = STAMP_NONE;
		n++;
	}
	assert_true(n > 0);
	codec_begin(brief);
	codec_begin(whole);
	for (size_t i = 0; i < n; i += 300) {
		size_t some = n - i < 300 ? n - i : 300;
		codec_put_brief(brief, list + i, some);
		codec_put_insts(whole, bare + i, some);
	}
	assert_int_equal(codec_insts(brief), n);
	codec_finish(brief, &a);
	codec_finish(whole, &b);
	assert_int_equal(a.size, b.size);
	assert_memory_equal(a.data, b.data, a.size);
	struct rec_inst *read = x_calloc(n, sizeof(*read));
	assert_true(codec_decode(reader, a.data, a.size, read, n, NULL, 0));
	check_same(bare, read, n);
	free(read);
	free(bare);
	free(list);
	free(a.data);
	free(b.data);
}

static void test_526_brief_records_are_coded_as_records_without_notes(void **state)
{
	struct trace_meta meta;
	struct rng rng;
	static struct rec_inst insts[100];
	synth_meta(&meta);
	struct codec *brief = codec_new(&meta), *whole = codec_new(&meta),
		     *reader = codec_new(&meta);
	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct keep k = keep_run(seed, 20000);
		check_brief(brief, whole, reader, k.insts, k.ninsts);
		keep_free(&k);
	}
	/* random records at few addresses, in more blocks than a table can tell apart */
	rng_seed(&rng, 6);
	for (int round = 0; round < 300; round++) {
		for (size_t i = 0; i < sizeof(insts); i++)
			((uint8_t *)insts)[i] = (uint8_t)rng_next(&rng);
		for (size_t i = 0; i < ARRAY_LEN(insts); i++) {
			insts[i].flags |= RI_COMMITTED;
			insts[i].pc = 0x1000 + 2 * (insts[i].pc % 16);
			insts[i].word = 0x100 + insts[i].word % 4;
		}
		check_brief(brief, whole, reader, insts, ARRAY_LEN(insts));
	}
	codec_free(brief);
	codec_free(whole);
	codec_free(reader);
}

/* Not a test: prints sizes by column and speed if CODEC_SIZES=1 is set. */
static void print_sizes(void)
{
	struct trace_meta meta;
	synth_meta(&meta);
	struct keep k = keep_run(1, 60000);
	struct codec *c = codec_new(&meta);
	struct bytes out = { 0 };
	struct timespec a, b;
	const struct codec_column_size *sizes;
	for (int i = 0; i < 10; i++) {
		clock_gettime(CLOCK_MONOTONIC, &a);
		codec_begin(c);
		size_t n = k.ninsts < CODEC_INSTS_MAX ? k.ninsts : CODEC_INSTS_MAX;
		codec_put_insts(c, k.insts, n);
		codec_put_cycles(c, k.cycles,
				 k.ncycles < CODEC_CYCLES_MAX ? k.ncycles : CODEC_CYCLES_MAX);
		clock_gettime(CLOCK_MONOTONIC, &b);
		double put = (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
		out.size = 0;
		codec_finish(c, &out);
		clock_gettime(CLOCK_MONOTONIC, &b);
		double all = (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
		printf("insts %zu cycles %zu, %.1f M records/s (insts alone %.1f M/s), %zu bytes\n",
		       n, k.ncycles, (double)(n + k.ncycles) / all / 1e6, (double)n / put / 1e6,
		       out.size);
	}
	size_t n = codec_sizes(c, &sizes);
	for (size_t i = 0; i < n; i++)
		if (sizes[i].raw)
			printf("%-22s %8llu %8llu\n", sizes[i].name,
			       (unsigned long long)sizes[i].raw / 10,
			       (unsigned long long)sizes[i].stored / 10);
}

int main(void)
{
	if (getenv("CODEC_SIZES")) {
		print_sizes();
		return 0;
	}
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_521_a_block_decodes_to_what_was_coded),
		cmocka_unit_test(test_522_any_records_at_all_survive),
		cmocka_unit_test(test_523_an_empty_block_is_a_block),
		cmocka_unit_test(test_524_committed_instructions_take_less_than_eight_bytes),
		cmocka_unit_test(test_525_damaged_payloads_are_refused_or_decode_within_bounds),
		cmocka_unit_test(test_526_brief_records_are_coded_as_records_without_notes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

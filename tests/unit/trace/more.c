/* SPDX-License-Identifier: MIT */
/* 1080: records of misses and of a twin go through the bus, into trace files and back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "synth.h"
#include "trace/bus.h"
#include "trace/file.h"
#include "trace/file_codec.h"
#include "trace/file_format.h"
#include "trace/file_read.h"
#include "trace/replay.h"

#define INSTS 30000
#define ROOM  (4 * INSTS)

/* All records of a run. */
struct streams {
	struct emit emit;
	struct rec_inst insts[ROOM];
	struct rec_cycle cycles[ROOM];
	struct rec_miss misses[ROOM];
	struct rec_twin twins[ROOM];
	size_t nmisses, ntwins;
};

static int by_end(const void *a, const void *b)
{
	const uint64_t x = miss_end(a), y = miss_end(b);
	return (x > y) - (x < y);
}

static void make_misses(struct streams *s)
{
	for (size_t i = 0; i < s->emit.ninsts; i++) {
		const struct rec_inst *r = &s->insts[i];
		/* add some misses: the made-up program has few */
		const bool invented = r->dlevel <= LEVEL_L1 && hash_u64(r->seq) % 16 == 0;
		if (r->issue == STAMP_NONE || (r->dlevel <= LEVEL_L1 && !invented))
			continue;
		s->misses[s->nmisses++] = (struct rec_miss){
			.begin = r->fetch + r->issue + 2,
			.line = r->addr & ~63ull,
			.pc = r->pc,
			.po = r->po,
			.seq = r->seq,
			.end = (invented ? 10 + hash_u64(r->pc) % 100 : r->lat_dmiss) + 1u,
			.queue = r->lat_dmiss ? r->lat_bus % (r->lat_dmiss + 1u) : 0,
			.use = STAMP_NONE,
			.kind = r->flags & RI_STORE ? MISS_STORE : MISS_LOAD,
			.level = invented ? LEVEL_L2 : r->dlevel,
			.flags = r->flags & RI_COMMITTED ? 0 : MISS_WRONG_PATH,
			.waits = r->flags & RI_COMMITTED && !(r->flags & RI_STORE) ? 0 : WAITS_NONE,
		};
	}
	qsort(s->misses, s->nmisses, sizeof(*s->misses), by_end);
	for (size_t i = 0; i < s->nmisses; i++) {
		struct rec_miss *m = &s->misses[i];
		uint64_t oldest = miss_end(m);
		for (size_t k = i + 1; k < s->nmisses && k < i + 300; k++)
			if (s->misses[k].begin < oldest)
				oldest = s->misses[k].begin;
		m->oldest = (uint32_t)(miss_end(m) - oldest);
	}
}

/* Makes a twin that executes four instructions a cycle, in order. */
static void make_twins(struct streams *s)
{
	uint64_t dispatch = 10, commit = 0, n = 0;
	for (size_t i = 0; i < s->emit.ninsts; i++) {
		const struct rec_inst *r = &s->insts[i];
		if (!(r->flags & RI_COMMITTED))
			continue;
		dispatch += n++ % 4 == 0 || r->flags & RI_MISPREDICT;
		const uint64_t done = dispatch + 2 + r->lat_exec;
		commit = done > commit ? done : commit;
		s->twins[s->ntwins++] = (struct rec_twin){
			.po = r->po, .dispatch = dispatch, .commit = (uint32_t)(commit - dispatch)
		};
	}
}

static void never_full(struct emit *e)
{
	fail_msg("there is room for all");
}

static struct streams *streams_new(uint64_t seed)
{
	struct streams *s = x_calloc(1, sizeof(*s));
	s->emit = (struct emit){ .insts = s->insts,
				 .cycles = s->cycles,
				 .max_insts = ROOM,
				 .max_cycles = ROOM,
				 .wants = ~(unsigned)WANT_LESS,
				 .full = never_full };
	synth_run(&s->emit, seed, INSTS);
	make_misses(s);
	make_twins(s);
	assert_true(s->nmisses > 100);
	assert_true(s->ntwins > INSTS - 200);
	return s;
}

/* Gives the records to a listener as a core would; the twin is `ahead` instructions ahead. */
static void feed(struct emit *out, const struct streams *s, int64_t ahead)
{
	size_t inst = 0, miss = 0, twin = 0;
	uint64_t po = 0;
	for (size_t i = 0; i < s->emit.ncycles; i++) {
		const struct rec_cycle *c = &s->cycles[i];
		size_t to = inst;
		while (to < s->emit.ninsts &&
		       s->insts[to].fetch + s->insts[to].commit < c->cycle + c->repeat)
			to++;
		emit_reserve(out, to - inst);
		for (; inst < to; inst++) {
			if (s->insts[inst].flags & RI_COMMITTED)
				po = s->insts[inst].po;
			emit_copy_inst(out, &s->insts[inst]);
		}
		for (; out->wants & WANT_MISSES && miss < s->nmisses &&
		       miss_end(&s->misses[miss]) <= c->cycle + c->repeat;
		     miss++)
			*emit_miss(out) = s->misses[miss];
		*emit_cycle(out) = *c;
		for (; out->wants & WANT_TWIN && twin < s->ntwins &&
		       (int64_t)s->twins[twin].po <= (int64_t)po + ahead;
		     twin++)
			*emit_twin(out, NULL) = s->twins[twin];
	}
	for (; out->wants & WANT_TWIN && twin < s->ntwins; twin++)
		*emit_twin(out, NULL) = s->twins[twin];
}

/* The records that a listener got. */
struct got {
	struct rec_miss misses[ROOM];
	struct rec_twin twins[ROOM];
	size_t nmisses, ntwins;
	uint64_t insts, first_po, end_po, first_cycle, end_cycle;
};
static struct got *result;

static bool got_misses(void *state, const struct rec_miss *m, size_t n, struct err *e)
{
	struct got *g = state;
	memcpy(g->misses + g->nmisses, m, n * sizeof(*m));
	g->nmisses += n;
	return true;
}
static bool got_twins(void *state, const struct rec_twin *t, size_t n, struct err *e)
{
	struct got *g = state;
	memcpy(g->twins + g->ntwins, t, n * sizeof(*t));
	g->ntwins += n;
	return true;
}
static bool got_batch(void *state, const struct rec_inst *insts, size_t ninsts,
		      const struct rec_cycle *cycles, size_t ncycles, struct err *e)
{
	struct got *g = state;
	for (size_t i = 0; i < ninsts; i++)
		if (insts[i].flags & RI_COMMITTED) {
			if (!g->insts++)
				g->first_po = insts[i].po;
			g->end_po = insts[i].po + 1;
		}
	if (ncycles && !g->end_cycle)
		g->first_cycle = cycles[0].cycle;
	if (ncycles)
		g->end_cycle = cycles[ncycles - 1].cycle + cycles[ncycles - 1].repeat;
	return true;
}
static bool got_finish(void *state, struct store *store, struct err *e)
{
	*result = *(struct got *)state;
	return true;
}

static const struct analysis got_analysis = {
	.name = "got",
	.wants = ~(unsigned)WANT_LESS,
	.state_size = sizeof(struct got),
	.misses = got_misses,
	.twins = got_twins,
	.batch = got_batch,
	.finish = got_finish,
};

struct plan {
	const struct streams *from;
	const char *replay; /* trace to replay instead */
	const char *trace;  /* trace to write */
	const struct region *region;
	int64_t ahead;
	unsigned workers;
	bool deaf; /* no listener wants misses or a twin */
};

static struct got *run(const struct plan *p)
{
	struct trace_meta meta;
	struct err e = { "" };
	char *param = x_asprintf("trace=%s", p->trace ? p->trace : "");
	const char *params[] = { param, NULL };
	struct analysis_options options = { .params = params };
	struct bus_config config = { .workers = p->workers,
				     .regions = p->region,
				     .nregions = p->region ? 1 : 0 };
	synth_meta(&meta);
	result = x_calloc(1, sizeof(*result));
	struct bus *b = bus_new(&config, &meta, &options);
	if (!p->deaf)
		assert_true(bus_add(b, &got_analysis, 1, &e));
	if (p->trace)
		assert_true(bus_add(b, &trace_analysis, 1, &e));
	assert_true(bus_start(b, &e));
	if (p->replay) {
		struct trace_reader *r = trace_reader_open(p->replay, false, &e);
		assert_non_null(r);
		assert_true(replay_feed(r, bus_emit(b), NULL, &e));
		trace_reader_close(r);
	} else {
		feed(bus_emit(b), p->from, p->ahead);
	}
	assert_true(bus_stop(b, &e));
	assert_true(bus_finish(b, NULL, &e));
	bus_free(b);
	free(param);
	return result;
}

static void check_misses(const struct rec_miss *a, size_t na, const struct rec_miss *b, size_t nb)
{
	assert_int_equal(na, nb);
	for (size_t i = 0; i < na; i++)
		assert_memory_equal(&a[i], &b[i], sizeof(*a));
}

static void check_twins(const struct rec_twin *a, size_t na, const struct rec_twin *b, size_t nb)
{
	assert_int_equal(na, nb);
	for (size_t i = 0; i < na; i++)
		assert_memory_equal(&a[i], &b[i], sizeof(*a));
}

static char *temporary(void)
{
	char name[] = "/tmp/culprit-more-XXXXXX";
	int fd = mkstemp(name);
	assert_true(fd >= 0);
	close(fd);
	unlink(name);
	return x_strdup(name);
}

/* Codes and decodes the records with instructions; then decodes damaged copies, `damages` times. */
static void round_trip(const struct streams *s, size_t ninsts, const struct rec_miss *misses,
		       size_t nmisses, const struct rec_twin *twins, size_t ntwins, int damages)
{
	struct trace_meta meta;
	struct bytes out = { 0 };
	struct rng rng;
	const struct rec_miss *m;
	const struct rec_twin *t;
	synth_meta(&meta);
	struct codec *c = codec_new(&meta), *d = codec_new(&meta);
	struct rec_inst *insts = x_calloc(ninsts + 1, sizeof(*insts));
	codec_begin(c);
	codec_put_misses(c, misses, nmisses);
	codec_put_insts(c, s->insts, ninsts);
	codec_put_twins(c, twins, ntwins);
	codec_finish(c, &out);
	assert_true(codec_decode(d, out.data, out.size, insts, ninsts, NULL, 0));
	assert_memory_equal(insts, s->insts, ninsts * sizeof(*insts));
	size_t n = codec_misses(d, &m);
	check_misses(misses, nmisses, m, n);
	n = codec_twins(d, &t);
	check_twins(twins, ntwins, t, n);
	rng_seed(&rng, 9);
	for (int i = 0; i < damages; i++) {
		uint8_t *bad = x_malloc(out.size);
		memcpy(bad, out.data, out.size);
		bad[rng_below(&rng, out.size)] ^= (uint8_t)(1 + rng_below(&rng, 255));
		codec_decode(d, bad, i % 3 ? out.size : rng_below(&rng, out.size), insts, ninsts,
			     NULL, 0);
		free(bad);
	}
	free(insts);
	free(out.data);
	codec_free(c);
	codec_free(d);
}

static void test_1080_misses_and_stamps_decode_to_what_was_coded(void **state)
{
	const struct streams *s = *state;
	const size_t n = 20000;
	round_trip(s, n, s->misses, s->nmisses, s->twins, s->ntwins, 0);
	round_trip(s, n, s->misses, s->nmisses, s->twins, 0, 0);
	round_trip(s, n, s->misses, 0, s->twins, s->ntwins, 0);
	round_trip(s, 0, s->misses, s->nmisses, s->twins, s->ntwins, 0);
}

static void test_1081_any_misses_and_stamps_at_all_survive(void **state)
{
	const struct streams *s = *state;
	static struct rec_miss misses[200];
	static struct rec_twin twins[200];
	struct rng rng;
	rng_seed(&rng, 4);
	for (int round = 0; round < 20; round++) {
		for (size_t i = 0; i < sizeof(misses); i++)
			((uint8_t *)misses)[i] = (uint8_t)rng_next(&rng);
		for (size_t i = 0; i < sizeof(twins); i++)
			((uint8_t *)twins)[i] = (uint8_t)rng_next(&rng);
		for (size_t i = 0; i < 200; i++) {
			twins[i].unused = 0;
		}
		round_trip(s, 100, misses, 200, twins, 200, 0);
	}
}

static void test_1082_damaged_misses_and_stamps_decode_within_bounds(void **state)
{
	const struct streams *s = *state;
	round_trip(s, 300, s->misses, 200, s->twins, 300, 3000);
}

/* Reads a varint of a payload. */
static uint64_t varint_at(const uint8_t **at)
{
	uint64_t v = 0;
	for (unsigned shift = 0;; shift += 7) {
		const uint8_t b = *(*at)++;
		v |= (uint64_t)(b & 127) << shift;
		if (b < 128)
			return v;
	}
}

static void skip_columns(const uint8_t **at, size_t count)
{
	while (count--) {
		varint_at(at);
		const uint64_t stored = varint_at(at);
		*at += stored;
	}
}

static void test_2701_blocks_of_version_2_lack_the_column_of_who_waited(void **state)
{
	const struct streams *s = *state;
	const size_t n = 2000, nmisses = 300;
	struct trace_meta meta;
	struct bytes out = { 0 };
	const struct rec_miss *m;
	synth_meta(&meta);
	struct codec *c = codec_new(&meta), *d = codec_new(&meta);
	struct rec_inst *insts = x_calloc(n, sizeof(*insts));
	codec_begin(c);
	codec_put_misses(c, s->misses, nmisses);
	codec_put_insts(c, s->insts, n);
	codec_put_twins(c, s->twins, n);
	codec_finish(c, &out);

	/* These misses are as predicted, so the column is empty: two bytes of zero. */
	const uint8_t *at = out.data;
	varint_at(&at);
	skip_columns(&at, 1 + 4 + 32 + 4 + 21);
	assert_int_equal(varint_at(&at), nmisses);
	assert_int_equal(varint_at(&at), n);
	skip_columns(&at, 4 + 13);
	const size_t place = (size_t)(at - out.data);
	assert_int_equal(out.data[place] | out.data[place + 1], 0);
	memmove(out.data + place, out.data + place + 2, out.size - place - 2);

	assert_false(codec_decode(d, out.data, out.size - 2, insts, n, NULL, 0));
	codec_read_version_2(d);
	assert_true(codec_decode(d, out.data, out.size - 2, insts, n, NULL, 0));
	const size_t got = codec_misses(d, &m);
	check_misses(s->misses, nmisses, m, got);
	free(insts);
	free(out.data);
	codec_free(c);
	codec_free(d);
}

static void test_1083_a_trace_has_the_misses_and_stamps_of_its_run(void **state)
{
	const struct streams *s = *state;
	char *path = temporary(), *plain = temporary();
	struct err e = { "" };
	struct got *live = run(&(struct plan){ .from = s, .trace = path, .ahead = 200 });
	check_misses(s->misses, s->nmisses, live->misses, live->nmisses);
	check_twins(s->twins, s->ntwins, live->twins, live->ntwins);
	for (unsigned workers = 0; workers < 3; workers++) {
		struct got *again = run(&(struct plan){ .replay = path, .workers = workers });
		check_misses(s->misses, s->nmisses, again->misses, again->nmisses);
		check_twins(s->twins, s->ntwins, again->twins, again->ntwins);
		assert_int_equal(again->insts, live->insts);
		free(again);
	}
	free(run(&(struct plan){ .from = s, .trace = plain, .deaf = true }));

	struct trace_reader *with = trace_reader_open(path, false, &e),
			    *without = trace_reader_open(plain, false, &e);
	assert_non_null(with);
	assert_non_null(without);
	assert_int_equal(trace_reader_info(with)->absent, 0);
	assert_int_equal(trace_reader_info(without)->absent, WANT_MISSES | WANT_TWIN);
	uint64_t more = 0;
	for (size_t i = 0; i < trace_reader_blocks(with); i++)
		more += trace_reader_block(with, i)->payload_bytes;
	for (size_t i = 0; i < trace_reader_blocks(without); i++)
		more -= trace_reader_block(without, i)->payload_bytes;
	if (getenv("CODEC_SIZES"))
		printf("%.2f bytes an instruction more, %zu misses\n", (double)more / INSTS,
		       s->nmisses);
	assert_true(more > 0 && more < 3 * INSTS);
	trace_reader_close(with);
	trace_reader_close(without);

	/* An older culprit must refuse what it cannot read, and read the rest. */
	for (int k = 0; k < 2; k++) {
		uint8_t head[16];
		FILE *f = fopen(k ? path : plain, "rb");
		assert_int_equal(fread(head, 1, sizeof(head), f), sizeof(head));
		fclose(f);
		assert_int_equal(head[8], k ? 3 : 1);
	}
	unlink(path);
	unlink(plain);
	free(path);
	free(plain);
	free(live);
}

static size_t in_progress(const struct got *g, const struct rec_miss *from, size_t count,
			  struct rec_miss *to)
{
	size_t n = 0;
	for (size_t i = 0; i < count; i++)
		if (from[i].begin < g->end_cycle && miss_end(&from[i]) > g->first_cycle)
			to[n++] = from[i];
	return n;
}

/* Checks that all misses and stamps of a region have come, and nothing else except a few misses
 * that ended at the end of the batch. */
static void check_region(const struct streams *s, const struct got *g)
{
	struct rec_miss *expected = x_calloc(ROOM, sizeof(*expected));
	struct rec_miss *got = x_calloc(ROOM, sizeof(*got));
	size_t first = 0;
	const size_t n = in_progress(g, s->misses, s->nmisses, expected);
	const size_t ngot = in_progress(g, g->misses, g->nmisses, got);
	assert_true(g->insts > 1000 && n > 10);
	check_misses(expected, n, got, ngot);
	assert_true(g->nmisses - ngot <= 4);
	while (s->twins[first].po < g->first_po)
		first++;
	check_twins(s->twins + first, g->end_po - g->first_po, g->twins, g->ntwins);
	free(expected);
	free(got);
}

static void test_1084_a_region_has_the_misses_and_stamps_that_concern_it(void **state)
{
	const struct streams *s = *state;
	const struct region region = { { .kind = TRIGGER_INST, .value = 12000 },
				       { .kind = TRIGGER_INST, .value = 19000 } };
	const int64_t ahead[] = { 0, 1000, 5000, -200, -5000 };
	char *path = temporary();
	for (size_t i = 0; i < ARRAY_LEN(ahead); i++) {
		struct got *g = run(&(struct plan){
		    .from = s, .region = &region, .ahead = ahead[i], .workers = (unsigned)i % 2 });
		check_region(s, g);
		free(g);
	}
	free(run(&(struct plan){ .from = s, .trace = path, .ahead = -300 }));
	struct got *g = run(&(struct plan){ .replay = path, .region = &region });
	check_region(s, g);
	free(g);
	unlink(path);
	free(path);
}

static int setup(void **state)
{
	*state = streams_new(1);
	return 0;
}
static int teardown(void **state)
{
	free(*state);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_1080_misses_and_stamps_decode_to_what_was_coded),
		cmocka_unit_test(test_1081_any_misses_and_stamps_at_all_survive),
		cmocka_unit_test(test_1082_damaged_misses_and_stamps_decode_within_bounds),
		cmocka_unit_test(test_2701_blocks_of_version_2_lack_the_column_of_who_waited),
		cmocka_unit_test(test_1083_a_trace_has_the_misses_and_stamps_of_its_run),
		cmocka_unit_test(test_1084_a_region_has_the_misses_and_stamps_that_concern_it),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}

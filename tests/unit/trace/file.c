/* SPDX-License-Identifier: MIT */
/* 530: trace files: what is written can be read from any place; damaged files are refused or
 * salvaged. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "analysis/folded.h"
#include "analysis/null.h"
#include "analysis/profile/profile.h"
#include "store/store.h"
#include "synth.h"
#include "trace/bus.h"
#include "trace/export.h"
#include "trace/file.h"
#include "trace/file_read.h"
#include "trace/replay.h"

static char folder[] = "/tmp/culprit-trace-XXXXXX";

static char *in_folder(const char *name)
{
	return x_asprintf("%s/%s", folder, name);
}

static uint8_t *slurp(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	assert_non_null(f);
	fseek(f, 0, SEEK_END);
	*size = (size_t)ftell(f);
	rewind(f);
	uint8_t *data = x_malloc(*size + 1);
	assert_int_equal(fread(data, 1, *size, f), *size);
	fclose(f);
	return data;
}

static void spill(const char *path, const uint8_t *data, size_t size)
{
	FILE *f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, size, f), size);
	fclose(f);
}

/* Sums all records that it is given, in order. */
struct sum {
	uint64_t insts, cycles, hash;
};

static bool sum_batch(void *state, const struct rec_inst *insts, size_t ninsts,
		      const struct rec_cycle *cycles, size_t ncycles, struct err *e)
{
	struct sum *s = state;
	for (size_t i = 0; i < ninsts; i++)
		for (size_t k = 0; k < sizeof(*insts) / 8; k++)
			s->hash +=
			    hash_u64(((const uint64_t *)&insts[i])[k] + insts[i].seq * 31 + k);
	for (size_t i = 0; i < ncycles; i++)
		for (size_t k = 0; k < sizeof(*cycles) / 8; k++)
			s->hash +=
			    hash_u64(((const uint64_t *)&cycles[i])[k] + cycles[i].cycle * 37 + k);
	s->insts += ninsts;
	s->cycles += ncycles;
	return true;
}

static struct sum *sum_result;
static bool sum_finish(void *state, struct store *store, struct err *e)
{
	*sum_result = *(struct sum *)state;
	return true;
}

static const struct analysis sum_analysis = {
	.name = "sum",
	.wants = ~(unsigned)WANT_LESS,
	.state_size = sizeof(struct sum),
	.batch = sum_batch,
	.finish = sum_finish,
};

struct plan {
	const char *trace; /* path of a trace to write, too */
	const char *from;  /* trace to replay instead of making records */
	const char *store; /* store for the real analyses */
	unsigned workers, shards;
	bool salvage;
	uint64_t insts;
	const struct region *region;
	const char *csv, *folded;
};

/* Runs a plan; returns the sum of its records. */
static struct sum run_plan(const struct plan *p)
{
	struct trace_meta meta;
	struct err e = { "" };
	struct sum sum = { 0 };
	struct store *store = NULL;
	struct trace_setting settings[] = { { "core", "rob", "96" },
					    { "a", "tab\tkey", "x\\y\nz" } };
	struct trace_image images[] = { { "/bin/none", "none", 0x10000, 0x20000, 0 } };
	synth_meta(&meta);
	struct trace_info info = { .meta = meta,
				   .settings = settings,
				   .nsettings = 2,
				   .images = images,
				   .nimages = 1,
				   .insts = p->insts,
				   .ended = true,
				   .exit_status = 3,
				   .folders = "[]",
				   .input = "packed",
				   .host_seconds = 0.1 };
	char *params[4] = { NULL };
	int n = 0;
	if (p->trace)
		params[n++] = x_asprintf("trace=%s", p->trace);
	if (p->csv)
		params[n++] = x_asprintf("csv=%s", p->csv);
	if (p->folded)
		params[n++] = x_asprintf("folded=%s", p->folded);
	struct analysis_options options = { .params = (const char *const *)params,
					    .period = 97,
					    .info = &info };
	struct bus_config config = { .workers = p->workers,
				     .regions = p->region,
				     .nregions = p->region ? 1 : 0 };
	struct bus *b = bus_new(&config, &meta, &options);
	sum_result = &sum;
	if (p->store) {
		store = store_create(p->store, &e);
		assert_non_null(store);
		assert_true(bus_add(b, &profile_analysis, 1, &e));
		assert_true(bus_add(b, &null_analysis, p->shards ? p->shards : 1, &e));
	}
	if (p->csv)
		assert_true(bus_add(b, &csv_analysis, 1, &e));
	if (p->folded)
		assert_true(bus_add(b, &folded_analysis, 1, &e));
	assert_true(bus_add(b, &sum_analysis, 1, &e));
	if (p->trace)
		assert_true(bus_add(b, &trace_analysis, 1, &e));
	assert_true(bus_start(b, &e));
	if (p->from) {
		struct trace_reader *r = trace_reader_open(p->from, p->salvage, &e);
		assert_non_null(r);
		assert_true(replay_feed(r, bus_emit(b), NULL, &e));
		trace_reader_close(r);
	} else {
		synth_run(bus_emit(b), 1, p->insts);
	}
	assert_true(bus_stop(b, &e));
	assert_true(bus_finish(b, store, &e));
	if (store)
		assert_true(store_commit(store, &e));
	store_close(store);
	bus_free(b);
	for (int i = 0; i < n; i++)
		free(params[i]);
	return sum;
}

static char *the_trace; /* has 150,000 instructions in several blocks */
static struct sum the_sum;

static int make_folder(void **state)
{
	assert_non_null(mkdtemp(folder));
	the_trace = in_folder("whole.trace");
	the_sum = run_plan(&(struct plan){ .trace = the_trace, .insts = 150000 });
	return 0;
}

static int remove_folder(void **state)
{
	char *command = x_asprintf("rm -rf %s", folder);
	int status = system(command);
	free(command);
	free(the_trace);
	return status;
}

static void same_files(const char *a, const char *b)
{
	size_t na, nb;
	uint8_t *x = slurp(a, &na), *y = slurp(b, &nb);
	assert_int_equal(na, nb);
	assert_memory_equal(x, y, na);
	free(x);
	free(y);
}

static void test_531_a_replayed_trace_has_every_record_as_it_was(void **state)
{
	assert_true(the_sum.insts > 150000);
	struct sum s = run_plan(&(struct plan){ .from = the_trace });
	assert_memory_equal(&s, &the_sum, sizeof(s));
}

static void test_532_live_replayed_threads_and_shards_give_the_same_store(void **state)
{
	char *live = in_folder("live.culprit"), *csv = in_folder("live.csv"),
	     *folded = in_folder("live.folded");
	char *other = in_folder("other.culprit"), *csv2 = in_folder("other.csv"),
	     *folded2 = in_folder("other.folded");
	run_plan(&(struct plan){ .store = live, .csv = csv, .folded = folded, .insts = 150000 });
	const struct plan plans[] = {
		{ .insts = 150000, .workers = 1 },
		{ .insts = 150000, .workers = 4 },
		{ .insts = 150000, .workers = 4, .shards = 3 },
		{ .from = the_trace },
		{ .from = the_trace, .workers = 1 },
		{ .from = the_trace, .workers = 4, .shards = 4 },
		{ .from = the_trace, .salvage = true },
	};
	for (size_t i = 0; i < ARRAY_LEN(plans); i++) {
		struct plan p = plans[i];
		p.store = other;
		p.csv = csv2;
		p.folded = folded2;
		run_plan(&p);
		same_files(live, other);
		same_files(csv, csv2);
		same_files(folded, folded2);
	}
	free(live);
	free(csv);
	free(folded);
	free(other);
	free(csv2);
	free(folded2);
}

static void test_533_a_region_of_a_replay_is_the_region_of_the_run(void **state)
{
	struct region region = { { TRIGGER_INST, 20000, 1, 0 }, { TRIGGER_INST, 90001, 1, 0 } };
	struct sum live = run_plan(&(struct plan){ .insts = 150000, .region = &region });
	struct sum replayed = run_plan(&(struct plan){ .from = the_trace, .region = &region });
	assert_true(live.insts && live.insts < the_sum.insts);
	assert_memory_equal(&live, &replayed, sizeof(live));
}

static void test_534_the_description_of_the_run_comes_back(void **state)
{
	struct err e = { "" };
	struct trace_reader *r = trace_reader_open(the_trace, false, &e);
	struct trace_meta meta;
	synth_meta(&meta);
	assert_non_null(r);
	const struct trace_info *i = trace_reader_info(r);
	assert_memory_equal(&i->meta, &meta, sizeof(meta));
	assert_int_equal(i->nsettings, 2);
	assert_string_equal(i->settings[1].key, "tab\tkey");
	assert_string_equal(i->settings[1].value, "x\\y\nz");
	assert_int_equal(i->nimages, 1);
	assert_int_equal(i->images[0].end, 0x20000);
	assert_int_equal(i->exit_status, 3);
	assert_string_equal(i->folders, "[]");
	assert_string_equal(i->input, "packed");
	/* a trace leaves it out: it differs in every run, and equal runs must write equal files */
	assert_true(i->host_seconds == 0);
	trace_reader_close(r);
}

static void test_535_the_index_finds_the_block_of_a_cycle_and_of_an_instruction(void **state)
{
	struct err e = { "" };
	struct trace_reader *r = trace_reader_open(the_trace, false, &e);
	assert_true(trace_reader_blocks(r) >= 3);
	for (uint64_t po = 1; po < 150000; po += 7777) {
		struct trace_records b;
		bool found = false;
		assert_true(trace_reader_read(r, trace_reader_find_inst(r, po), &b, &e));
		for (size_t i = 0; i < b.ninsts; i++)
			found |= b.insts[i].po == po && b.insts[i].flags & RI_COMMITTED;
		assert_true(found);
	}
	for (uint64_t cycle = 1; cycle < 100000; cycle += 5555) {
		struct trace_records b;
		bool found = false;
		assert_true(trace_reader_read(r, trace_reader_find_cycle(r, cycle), &b, &e));
		for (size_t i = 0; i < b.ncycles; i++)
			found |= b.cycles[i].cycle <= cycle &&
				 cycle < b.cycles[i].cycle + b.cycles[i].repeat;
		assert_true(found);
	}
	assert_int_equal(trace_reader_find_inst(r, UINT64_MAX), trace_reader_blocks(r));
	trace_reader_close(r);
}

static void refused(const uint8_t *data, size_t size, const char *word)
{
	struct err e = { "" };
	char *path = in_folder("bad.trace");
	spill(path, data, size);
	struct trace_reader *r = trace_reader_open(path, false, &e);
	for (size_t i = 0; r && i < trace_reader_blocks(r) && !e.text[0]; i++) {
		struct trace_records b;
		trace_reader_read(r, i, &b, &e);
	}
	trace_reader_close(r);
	if (!strstr(e.text, word))
		fail_msg("'%s' lacks '%s'", e.text, word);
	assert_null(strchr(e.text, '\n'));
	free(path);
}

static void test_536_truncated_files_are_refused_and_salvaged(void **state)
{
	size_t size;
	uint8_t *data = slurp(the_trace, &size);
	struct rng rng;
	rng_seed(&rng, 3);
	refused(data, 0, "not a culprit trace");
	refused(data, 10, "not a culprit trace");
	refused(data, 16, "truncated");
	for (int i = 0; i < 20; i++)
		refused(data, 16 + rng_below(&rng, size - 16), "--salvage");
	char *path = in_folder("short.trace");
	spill(path, data, size / 2);
	struct sum s = run_plan(&(struct plan){ .from = path, .salvage = true });
	assert_true(s.insts > 0 && s.insts < the_sum.insts);
	free(path);
	free(data);
}

static void test_537_a_flipped_bit_anywhere_is_noticed_and_costs_one_block(void **state)
{
	size_t size;
	uint8_t *data = slurp(the_trace, &size);
	struct rng rng;
	struct err e = { "" };
	struct trace_reader *r = trace_reader_open(the_trace, false, &e);
	size_t blocks = trace_reader_blocks(r);
	trace_reader_close(r);
	rng_seed(&rng, 4);
	for (int i = 0; i < 40; i++) {
		size_t at = rng_below(&rng, size);
		uint8_t bit = (uint8_t)(1u << rng_below(&rng, 8));
		data[at] ^= bit;
		/* The last description supersedes the first, so damage to the first may go
		 * unseen. */
		struct trace_reader *s = trace_reader_open_memory(data, size, "flipped", true, &e);
		if (s) {
			assert_true(trace_reader_blocks(s) + 1 >= blocks);
			trace_reader_close(s);
		} else {
			assert_true(at < 16 || strstr(e.text, "salvaged"));
		}
		data[at] ^= bit;
	}
	size_t middle = size / 2;
	data[middle] ^= 1;
	refused(data, size, "damaged");
	free(data);
}

static void test_538_a_future_version_is_refused_even_with_salvage(void **state)
{
	size_t size;
	struct err e = { "" };
	uint8_t *data = slurp(the_trace, &size);
	data[8] = 4;
	refused(data, size, "newer culprit");
	assert_null(trace_reader_open_memory(data, size, "future", true, &e));
	assert_non_null(strstr(e.text, "version 4"));
	free(data);
}

static void test_539_a_full_disk_ends_the_run_and_leaves_what_was_written(void **state)
{
	struct rlimit before, small;
	struct trace_meta meta;
	struct err e = { "" };
	char *path = in_folder("full.trace"), *param = x_asprintf("trace=%s", path);
	const char *params[] = { param, NULL };
	struct analysis_options options = { .params = params };
	struct bus_config config = { .workers = 1 };
	synth_meta(&meta);
	getrlimit(RLIMIT_FSIZE, &before);
	small = before;
	small.rlim_cur = 60000;
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &small);
	struct bus *b = bus_new(&config, &meta, &options);
	assert_true(bus_add(b, &trace_analysis, 1, &e));
	assert_true(bus_start(b, &e));
	synth_run(bus_emit(b), 1, 1000000);
	bool stopped = bus_emit(b)->stop;
	bool ok = bus_stop(b, &e);
	bus_free(b);
	setrlimit(RLIMIT_FSIZE, &before);
	assert_false(ok);
	assert_true(stopped);
	assert_non_null(strstr(e.text, "--salvage"));
	assert_null(trace_reader_open(path, false, &e));
	struct sum s = run_plan(&(struct plan){ .from = path, .salvage = true });
	assert_true(s.insts > 0);
	free(path);
	free(param);
}

static void test_540_a_trace_that_nobody_finished_leaves_no_file_behind(void **state)
{
	struct trace_meta meta;
	struct err e = { "" };
	char *path = in_folder("never.trace"), *param = x_asprintf("trace=%s", path);
	const char *params[] = { param, NULL };
	struct analysis_options options = { .params = params };
	synth_meta(&meta);
	struct bus *b = bus_new(&(struct bus_config){ 0 }, &meta, &options);
	assert_true(bus_add(b, &trace_analysis, 1, &e));
	bus_free(b);
	assert_int_equal(access(path, F_OK), -1);
	free(path);
	free(param);
}

static void test_541_folded_stacks_sum_to_the_cycles_of_the_run(void **state)
{
	char *path = in_folder("sum.folded"), line[8192];
	uint64_t total = 0, cycles = 0;
	struct err e = { "" };
	run_plan(&(struct plan){ .from = the_trace, .folded = path });
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		total += strtoull(strrchr(line, ' '), NULL, 10);
	fclose(f);
	struct trace_reader *r = trace_reader_open(the_trace, false, &e);
	for (size_t i = 0; i < trace_reader_blocks(r); i++)
		cycles +=
		    trace_reader_block(r, i)->end_cycle - trace_reader_block(r, i)->first_cycle;
	trace_reader_close(r);
	assert_int_equal(total, cycles);
	free(path);
}

static void test_542_a_window_holds_its_committed_and_the_squashed_between(void **state)
{
	struct err e = { "" };
	struct trace_reader *r = trace_reader_open(the_trace, false, &e);
	struct window_records w;
	size_t squashed = 0, committed = 0;
	assert_true(
	    window_read(r, &(struct window){ .from = 70000, .count = 2000 }, SIZE_MAX, &w, &e));
	for (size_t i = 0; i < w.ninsts; i++) {
		const struct rec_inst *in = &w.insts[i];
		assert_true(!i || in->seq > w.insts[i - 1].seq);
		if (in->flags & RI_COMMITTED)
			assert_int_equal(in->po, 70000 + committed++);
		else
			squashed++;
	}
	assert_int_equal(committed, 2000);
	assert_true(squashed > 0);
	window_free(&w);
	assert_true(window_read(r, &(struct window){ .by_cycle = true, .from = 5000, .count = 100 },
				SIZE_MAX, &w, &e));
	for (size_t i = 0; i < w.ninsts; i++)
		assert_in_range(w.insts[i].fetch + w.insts[i].commit, 5000, 5099);
	assert_true(w.ninsts > 0);
	window_free(&w);
	trace_reader_close(r);
}

static void test_543_every_line_of_values_is_what_printf_would_write(void **state)
{
	enum { COUNT = 20000 };
	char *path = in_folder("lines.csv"), *param = x_asprintf("csv=%s", path);
	const char *params[] = { param, NULL };
	const struct analysis_options o = { .params = params };
	struct rec_inst *insts = x_calloc(COUNT, sizeof(*insts));
	char *expected = x_malloc(COUNT * 100), *at = expected;
	void *csv = x_calloc(1, csv_analysis.state_size);
	struct err e = { "" };
	struct rng rng;
	rng_seed(&rng, 9);
	at += sprintf(at, "cycle,instruction,thread,pc,word\n");
	for (size_t i = 0; i < COUNT; i++) {
		struct rec_inst *r = &insts[i];
		/* numbers mostly grow a little; now and then they are random */
		bool any = rng_below(&rng, 64) == 0;
		r->flags = rng_below(&rng, 16) ? RI_COMMITTED : 0;
		r->po = any || !i ? rng_next(&rng) >> rng_below(&rng, 64) : insts[i - 1].po + 1;
		r->fetch = any || !i ? rng_next(&rng) >> rng_below(&rng, 64)
				     : insts[i - 1].fetch + rng_below(&rng, 150);
		r->commit = (uint32_t)rng_below(&rng, 30);
		r->tid = 1000 + (uint32_t)rng_below(&rng, 2);
		r->pc = rng_below(&rng, 8) ? 0x10000 + 2 * rng_below(&rng, 100)
					   : rng_next(&rng) >> rng_below(&rng, 64);
		r->word = (uint32_t)(r->pc * 0x9e3779b9) >> r->pc % 31;
		if (r->flags & RI_COMMITTED)
			at += sprintf(at, "%llu,%llu,%u,0x%llx,0x%x\n",
				      (unsigned long long)(r->fetch + r->commit),
				      (unsigned long long)r->po, r->tid, (unsigned long long)r->pc,
				      r->word);
	}
	assert_true(csv_analysis.start(csv, NULL, &o, &e));
	for (size_t i = 0; i < COUNT; i += 500)
		assert_true(csv_analysis.insts(csv, insts + i, 500, &e));
	assert_true(csv_analysis.finish(csv, NULL, &e));
	csv_analysis.free(csv);
	size_t size;
	uint8_t *data = slurp(path, &size);
	assert_int_equal(size, at - expected);
	assert_memory_equal(data, expected, size);
	free(data);
	free(csv);
	free(insts);
	free(expected);
	free(param);
	free(path);
}

/* Writes a trace of these cycle records, with valid checksums, and returns whether it can be
 * read. */
static bool cycles_are_read(const struct rec_cycle *cycles, size_t count, bool salvage,
			    struct err *e)
{
	struct trace_meta meta;
	char *path = in_folder("absurd.trace"), *param = x_asprintf("trace=%s", path);
	synth_meta(&meta);
	struct trace_info info = { .meta = meta };
	struct analysis_options options = { .params = (const char *const[]){ param, NULL },
					    .info = &info };
	struct bus *b = bus_new(&(struct bus_config){ 0 }, &meta, &options);
	assert_true(bus_add(b, &trace_analysis, 1, e) && bus_start(b, e));
	for (size_t i = 0; i < count; i++) {
		emit_reserve(bus_emit(b), 0);
		*emit_cycle(bus_emit(b)) = cycles[i];
	}
	assert_true(bus_stop(b, e) && bus_finish(b, NULL, e));
	bus_free(b);
	struct trace_reader *r = trace_reader_open(path, salvage, e);
	struct trace_records records;
	bool ok = r && trace_reader_blocks(r) && trace_reader_read(r, 0, &records, e);
	trace_reader_close(r);
	free(param);
	free(path);
	return ok;
}

static void test_565_cycle_counts_that_no_run_can_have_are_refused(void **state)
{
	static const struct rec_cycle good[] = { { .cycle = 1, .repeat = 1 },
						 { .cycle = 2, .repeat = 1000000 },
						 { .cycle = 5000000, .repeat = 1 } };
	static const struct rec_cycle bad[][2] = {
		{ { .cycle = 1, .repeat = UINT32_MAX }, { .cycle = 1ull << 32, .repeat = 1 } },
		{ { .cycle = 1, .repeat = 1 }, { .cycle = 2, .repeat = 1 << 25 } },
		{ { .cycle = 1, .repeat = 0 }, { .cycle = 1, .repeat = 1 } },
		{ { .cycle = 9, .repeat = 1 }, { .cycle = 3, .repeat = 1 } },
		{ { .cycle = 1, .repeat = 5 }, { .cycle = 3, .repeat = 1 } },
		{ { .cycle = 1, .repeat = 1 }, { .cycle = 1ull << 62, .repeat = 1 } },
		{ { .cycle = UINT64_MAX - 1, .repeat = 9 }, { .cycle = 8, .repeat = 1 } },
	};
	struct err e = { "" };
	assert_true(cycles_are_read(good, ARRAY_LEN(good), false, &e));
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_false(cycles_are_read(bad[i], 2, true, &e));
		e.text[0] = '\0';
		assert_false(cycles_are_read(bad[i], 2, false, &e));
		assert_non_null(strstr(e.text, "at byte "));
	}
	/* Each record by itself would be valid, but not so many in a row. */
	struct rec_cycle *many = x_calloc(1000, sizeof(*many));
	for (size_t i = 0; i < 1000; i++)
		many[i] = (struct rec_cycle){ .cycle = 1 + (i << 24), .repeat = 1 << 24 };
	assert_false(cycles_are_read(many, 1000, false, &e));
	free(many);
}

/* Tests the tables with a row per instruction, except those that describe an instruction, those whose
 * instructions are all in another table of the same analysis, and those of live profiles. */
static void test_1085_every_table_by_pc_is_declared_by_an_analysis(void **state)
{
	struct err e = { "" };
	char *path = in_folder("tables.culprit");
	struct store *store = store_create(path, &e);
	size_t found = 0;
	assert_non_null(store);
	struct store_rows r = store_query(
	    store,
	    "SELECT m.name FROM sqlite_master m, pragma_table_info(m.name) c WHERE m.type = 'table'"
	    " AND c.name = 'pc' AND m.name NOT IN ('instruction', 'inlined', 'sample_group', "
	    "'icost_critical', 'calc_commit_pair', 'calc_truth_event', 'calc_truth_reason', "
	    "'golden_phase_function') AND m.name"
	    " NOT GLOB 'live_*'",
	    "");
	while (store_next(&r)) {
		const char *name = store_text(&r, 0);
		bool declared = false;
		for (size_t i = 0; analysis_list[i]; i++)
			for (const struct analysis_table *t = analysis_list[i]->tables;
			     t && t->name; t++)
				declared = declared || !strcmp(t->name, name);
		if (!declared)
			fail_msg("no analysis declares table %s", name);
		found++;
	}
	assert_true(store_done(&r, &e));
	assert_true(found >= 5);
	store_close(store);
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_531_a_replayed_trace_has_every_record_as_it_was),
		cmocka_unit_test(test_532_live_replayed_threads_and_shards_give_the_same_store),
		cmocka_unit_test(test_533_a_region_of_a_replay_is_the_region_of_the_run),
		cmocka_unit_test(test_534_the_description_of_the_run_comes_back),
		cmocka_unit_test(
		    test_535_the_index_finds_the_block_of_a_cycle_and_of_an_instruction),
		cmocka_unit_test(test_536_truncated_files_are_refused_and_salvaged),
		cmocka_unit_test(test_537_a_flipped_bit_anywhere_is_noticed_and_costs_one_block),
		cmocka_unit_test(test_538_a_future_version_is_refused_even_with_salvage),
		cmocka_unit_test(test_539_a_full_disk_ends_the_run_and_leaves_what_was_written),
		cmocka_unit_test(test_540_a_trace_that_nobody_finished_leaves_no_file_behind),
		cmocka_unit_test(test_541_folded_stacks_sum_to_the_cycles_of_the_run),
		cmocka_unit_test(test_542_a_window_holds_its_committed_and_the_squashed_between),
		cmocka_unit_test(test_543_every_line_of_values_is_what_printf_would_write),
		cmocka_unit_test(test_1085_every_table_by_pc_is_declared_by_an_analysis),
		cmocka_unit_test(test_565_cycle_counts_that_no_run_can_have_are_refused),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

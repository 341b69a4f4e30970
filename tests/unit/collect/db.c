/* SPDX-License-Identifier: MIT */
/* The profile database: nothing is lost or doubled, whatever is cut off, merged or dropped. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/db.h"
#include "collect/db_merge.h"
#include "synth.h"

static struct db *must_open(const char *path, enum db_mode mode)
{
	struct err e = { "" };
	struct db *d = db_open(path, mode, NULL, &e);

	if (!d)
		fail_msg("%s", e.text);
	return d;
}

static void must(bool ok, const struct err *e)
{
	if (!ok)
		fail_msg("%s", e->text);
}

static void complain(void *self, const char *line)
{
	(*(int *)self)++;
	print_message("%s\n", line);
}

static void assert_clean(const char *path)
{
	struct db *d = must_open(path, DB_READ);
	int lines = 0;

	assert_true(db_check(d, complain, &lines));
	assert_int_equal(lines, 0);
	db_close(d);
}

static char *selected(const char *path, const struct db_selection *s)
{
	struct err e = { "" };
	struct db *d = must_open(path, DB_READ);
	struct live_profile *p = db_select(d, s, &e);

	must(p != NULL, &e);
	char *text = synth_text(p);

	live_profile_free(p);
	db_close(d);
	return text;
}

static char *everything(const char *path)
{
	return selected(path, &(struct db_selection){ 0 });
}

static const struct db_writer_options apart = {
	.source = DB_SOURCE_DAEMON, .boot_id = "boot-1", .per_process = true, .per_cpu = true
};

static void fill_by(const struct db_writer_options *o, const char *path, uint64_t seed, int epochs,
		    int cuts, int n)
{
	struct err e = { "" };
	struct db *d = must_open(path, DB_OWN);
	struct db_writer *w = db_writer_open(d, o, &e);
	struct live_sink sink;
	struct synth s;

	must(w != NULL, &e);
	sink = db_writer_sink(w);
	synth_begin(&s, seed);
	for (int k = 0; k < epochs; k++) {
		for (int i = 0; i < cuts; i++) {
			synth_counts(&s, &sink, n);
			s.pending = (uint64_t)(k + i) % 3;
			must(synth_cut(&s, &sink, &e), &e);
			must(db_writer_flush(w, &e), &e);
		}
		must(db_writer_end_epoch(w, &e), &e);
	}
	must(db_writer_close(w, &e), &e);
	db_close(d);
}

/* Epochs of some cuts each. The same seed gives the same counts. */
static void fill(const char *path, uint64_t seed, int epochs, int cuts, int n)
{
	fill_by(&apart, path, seed, epochs, cuts, n);
}

static void keep(const char *path, const struct db_keep *k)
{
	struct err e = { "" };
	struct db *d = must_open(path, DB_OWN);
	bool more = true;

	while (more)
		must(db_keep_step(d, k, 0.2, &more, &e), &e);
	must(db_vacuum(d, &e), &e);
	db_close(d);
}

/* One cut with the symbols and pieces of code at these offsets. */
static void put_kept(const char *path, const uint64_t *offsets, size_t n)
{
	struct err e = { "" };
	struct db *d = must_open(path, DB_OWN);
	struct db_writer *w = db_writer_open(d, &apart, &e);
	struct live_symbol symbols[8];
	struct live_code code[8];
	char names[8][16];
	uint8_t bytes[8];
	struct synth s;

	must(w != NULL, &e);
	const struct live_sink sink = db_writer_sink(w);

	synth_begin(&s, 1);
	/* It comes with the first, and again with one more each time. */
	for (size_t i = 0; i < n; i++) {
		snprintf(names[i], sizeof(names[i]), "f%d", (int)offsets[i]);
		bytes[i] = (uint8_t)offsets[i];
		symbols[i] = (struct live_symbol){ offsets[i], 8, names[i] };
		code[i] = (struct live_code){ offsets[i], 1, &bytes[i] };
		const uint32_t image =
		    sink.image(sink.self, &(struct live_image){ .kind = LIVE_KERNEL,
								.name = "[kernel]",
								.build_id = "0123456789",
								.symbols = symbols,
								.nsymbols = i + 1,
								.code = code,
								.ncode = i + 1 });
		const uint32_t event = sink.event(sink.self, &s.events[0]);

		sink.count(sink.self, &(struct live_count){ .image = image,
							    .process = LIVE_NO_PROCESS,
							    .cpu = LIVE_NO_CPU,
							    .event = event,
							    .offset = offsets[i],
							    .count = 1 });
		s.events[0].taken++;
		s.events[0].stored++;
		must(sink.cut(sink.self, s.events, 1, &s.facts, &e), &e);
		must(db_writer_flush(w, &e), &e);
	}
	must(db_writer_close(w, &e), &e);
	db_close(d);
}

static void test_2786_symbols_and_code_of_an_image_that_comes_again_are_added(void **state)
{
	static const uint64_t first[] = { 16, 48, 64 }, later[] = { 32, 48, 80 };
	struct err e = { "" };

	put_kept("db", first, 3);
	put_kept("db", later, 3);
	struct db *d = must_open("db", DB_READ);
	struct live_profile *p = db_select(d, &(struct db_selection){ 0 }, &e);

	must(p != NULL, &e);
	const struct live_image *i = live_image(p, 0);

	assert_int_equal(i->nsymbols, 5);
	assert_int_equal(i->ncode, 5);
	for (size_t k = 0; k < 5; k++) {
		char name[16];

		snprintf(name, sizeof(name), "f%d", (int)(k + 1) * 16);
		assert_int_equal(i->symbols[k].offset, (k + 1) * 16);
		assert_string_equal(i->symbols[k].name, name);
		assert_int_equal(i->code[k].bytes[0], (k + 1) * 16);
	}
	live_profile_free(p);
	db_close(d);
	assert_clean("db");
	(void)state;
}

static void test_2300_what_is_written_is_read_back(void **state)
{
	struct live_profile *p = live_profile_new();
	struct live_sink sink = live_profile_sink(p);
	struct synth s;

	fill("db", 1, 1, 5, 300);
	synth_begin(&s, 1);
	for (int i = 0; i < 5; i++)
		synth_counts(&s, &sink, 300);
	assert_true(synth_cut(&s, &sink, NULL));
	char *want = synth_text(p), *got = everything("db");

	assert_string_equal(got, want);
	assert_clean("db");
	free(want);
	free(got);
	live_profile_free(p);
	(void)state;
}

static uint64_t sum_of(const char *path, const struct db_selection *s, const char *only)
{
	struct err e;
	struct db *d = must_open(path, DB_READ);
	struct live_profile *p = db_select(d, s, &e);
	uint64_t sum = 0;
	size_t n;

	must(p != NULL, &e);
	const struct live_count *c = live_counts(p, &n);
	for (size_t i = 0; i < n; i++) {
		static const struct live_process together = { .comm = "", .container = "" };
		const struct live_process *x =
		    c[i].process == LIVE_NO_PROCESS ? &together : live_process(p, c[i].process);

		if (!only || strstr(live_image(p, c[i].image)->name, only) ||
		    !strcmp(x->comm, only) || !strcmp(x->container, only) ||
		    !strcmp(live_event(p, c[i].event)->name, only) ||
		    (only[0] == '#' && (int)x->uid == atoi(only + 1)) ||
		    (only[0] == '@' && c[i].cpu == atoi(only + 1)))
			sum += c[i].count;
	}
	live_profile_free(p);
	db_close(d);
	return sum;
}

static void test_2301_a_selection_is_what_the_whole_has_of_it(void **state)
{
	const uint32_t uid = 1;
	const uint16_t cpu = 1;
	const struct db_selection all = { 0 };
	const struct {
		struct db_selection s;
		const char *only;
	} cases[] = {
		{ { .image = "lib3.so" }, "lib3.so" },
		{ { .image = "/usr/lib/lib3.so" }, "lib3.so" },
		{ { .image = "lib3*" }, "lib3.so" },
		{ { .process = "prog1" }, "prog1" },
		{ { .container = "web" }, "web" },
		{ { .event = "imiss" }, "imiss" },
		{ { .uid = &uid }, "#1" },
		{ { .cpu = &cpu }, "@1" },
	};

	fill("db", 2, 2, 2, 400);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const uint64_t want = sum_of("db", &all, cases[i].only);

		assert_true(want > 0 && want < sum_of("db", &all, NULL));
		assert_int_equal(sum_of("db", &cases[i].s, NULL), want);
	}
	assert_int_equal(sum_of("db", &(struct db_selection){ .epoch = 1 }, NULL) +
			     sum_of("db", &(struct db_selection){ .epoch = 2 }, NULL),
			 sum_of("db", &all, NULL));
	(void)state;
}

static void test_3552_what_was_not_kept_apart_cannot_be_selected(void **state)
{
	const struct db_writer_options together = { .source = DB_SOURCE_DAEMON,
						    .boot_id = "boot-1" };
	const uint16_t cpu = 1;
	const uint32_t uid = 1;
	const struct {
		struct db_selection s;
		const char *says;
	} cases[] = {
		{ { .cpu = &cpu }, "--per-cpu" },
		{ { .process = "prog1" }, "--per-process" },
		{ { .container = "web" }, "--per-process" },
		{ { .uid = &uid }, "--per-process" },
	};

	fill_by(&together, "together", 2, 1, 1, 100);
	struct db *d = must_open("together", DB_READ);

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err e = { "" };

		assert_null(db_select(d, &cases[i].s, &e));
		assert_non_null(strstr(e.text, cases[i].says));
	}
	db_close(d);
	assert_true(sum_of("together", &(struct db_selection){ .event = "imiss" }, NULL) > 0);
	(void)state;
}

static void test_2302_a_reader_sees_whole_cuts_and_holds_up_nobody(void **state)
{
	struct err e = { "" };
	struct db *d = must_open("db", DB_OWN);
	struct db_writer *w = db_writer_open(d, &apart, &e);
	struct live_sink sink = db_writer_sink(w);
	struct synth s;
	uint64_t before = 0;
	int between = 0;

	synth_begin(&s, 3);
	s.nimages = 200;
	for (int i = 0; i < 4; i++) {
		bool more = true;

		synth_counts(&s, &sink, 2000);
		must(synth_cut(&s, &sink, &e), &e);
		const uint64_t after = s.events[0].stored + s.events[1].stored;

		while (more) {
			must(db_writer_step(w, 0.3, &more, &e), &e);
			if (!i && more)
				continue; /* there is no epoch to be seen yet */
			const uint64_t sum = sum_of("db", &(struct db_selection){ 0 }, NULL);

			assert_true(sum == (more ? before : after));
			between += more;
		}
		before = after;
	}
	assert_true(between > 5);
	must(db_writer_close(w, &e), &e);
	db_close(d);
	assert_clean("db");
	(void)state;
}

static void test_2303_compaction_keeps_every_count_in_at_most_six_bytes(void **state)
{
	fill("db", 4, 3, 20, 3000);
	char *before = everything("db");

	keep("db", &(struct db_keep){ 0 });
	char *after = everything("db");

	assert_string_equal(after, before);
	assert_clean("db");
	struct err e;
	struct db *d = must_open("db", DB_READ);
	struct db_epoch *epochs;
	size_t n;

	must(db_epochs(d, &epochs, &n, &e), &e);
	assert_int_equal(n, 3);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(epochs[i].cuts, 0);
		print_message("%.2f bytes per count\n",
			      (double)epochs[i].bytes / (double)epochs[i].entries);
		assert_true(epochs[i].bytes < 6 * epochs[i].entries);
		assert_int_equal(epochs[i].taken, epochs[i].stored + epochs[i].lost);
	}
	db_epochs_free(epochs, n);
	db_close(d);
	free(before);
	free(after);
	(void)state;
}

static void test_2304_merging_is_exact_in_any_order(void **state)
{
	static const uint64_t orders[][4] = { { 1, 2, 3, 4 }, { 4, 2, 1, 3 } };
	char *texts[3];

	fill("one", 5, 4, 3, 500);
	fill("two", 5, 4, 3, 500);
	texts[2] = everything("one");
	for (int i = 0; i < 2; i++) {
		const char *path = i ? "two" : "one";
		struct db *d = must_open(path, DB_OWN);
		struct err e = { "" };

		/* Two pairs, and then their sums; or all at once. */
		if (i == 0) {
			must(db_merge(d, orders[0], 2, &e), &e);
			must(db_merge(d, orders[0] + 2, 2, &e), &e);
			must(db_merge(d, (uint64_t[]){ 3, 1 }, 2, &e), &e);
		} else {
			must(db_merge(d, orders[1], 4, &e), &e);
		}
		db_close(d);
		texts[i] = everything(path);
		assert_clean(path);
	}
	assert_string_equal(texts[0], texts[1]);
	assert_string_equal(texts[0], texts[2]);
	for (int i = 0; i < 3; i++)
		free(texts[i]);
	(void)state;
}

struct fake_clock {
	uint64_t wall, steady;
};

static uint64_t fake_wall(void *self)
{
	return ((struct fake_clock *)self)->wall;
}

static uint64_t fake_steady(void *self)
{
	return ((struct fake_clock *)self)->steady;
}

#define HOUR 3600000000000ull

static void test_2305_epochs_never_overlap_however_the_clock_is_set(void **state)
{
	struct fake_clock t = { 1000 * HOUR, 5 * HOUR };
	const struct db_clock clock = { &t, fake_wall, fake_steady };
	struct db_writer_options o = apart;
	static const int64_t jumps[] = { 1, -30, 1, 1, 100, -200, 1, 0, -1, 1, 300 };
	struct err e = { "" };
	struct synth s;

	o.clock = &clock;
	synth_begin(&s, 6);
	for (int run = 0; run < 2; run++) {
		struct db *d = must_open("db", DB_OWN);
		struct db_writer *w = db_writer_open(d, &o, &e);
		struct live_sink sink = db_writer_sink(w);

		for (size_t i = 0; i < ARRAY_LEN(jumps); i++) {
			t.wall += (uint64_t)jumps[i] * HOUR;
			t.steady += HOUR;
			synth_counts(&s, &sink, 20);
			must(synth_cut(&s, &sink, &e) && db_writer_flush(w, &e) &&
				 db_writer_end_epoch(w, &e),
			     &e);
		}
		must(db_writer_close(w, &e), &e);
		db_close(d);
		synth_begin(&s, 7); /* a new source counts from 0 again */
		t.wall -= 50 * HOUR;
	}
	struct db *d = must_open("db", DB_READ);
	struct db_epoch *epochs;
	size_t n;

	must(db_epochs(d, &epochs, &n, &e), &e);
	assert_int_equal(n, 2 * ARRAY_LEN(jumps));
	for (size_t i = 0; i < n; i++) {
		assert_true(epochs[i].end_ns >= epochs[i].begin_ns);
		if (i)
			assert_true(epochs[i].begin_ns >= epochs[i - 1].end_ns);
	}
	db_epochs_free(epochs, n);
	db_close(d);
	assert_clean("db");
	(void)state;
}

static void test_2306_old_epochs_become_days_and_then_go(void **state)
{
	struct fake_clock t = { 24000 * HOUR, HOUR };
	const struct db_clock clock = { &t, fake_wall, fake_steady };
	struct db_writer_options o = apart;
	struct err e = { "" };
	struct synth s;
	struct db *d = must_open("db", DB_OWN);
	struct db_epoch *epochs;
	size_t n;

	o.clock = &clock;
	struct db_writer *w = db_writer_open(d, &o, &e);
	struct live_sink sink = db_writer_sink(w);

	synth_begin(&s, 8);
	for (int i = 0; i < 72; i++) {
		t.wall += HOUR;
		t.steady += HOUR;
		synth_counts(&s, &sink, 50);
		must(synth_cut(&s, &sink, &e) && db_writer_flush(w, &e) &&
			 db_writer_end_epoch(w, &e),
		     &e);
	}
	must(db_writer_close(w, &e), &e);
	db_close(d);
	char *before = everything("db");

	keep("db", &(struct db_keep){ .now_ns = t.wall, .day_after_ns = 24 * HOUR });
	char *after = everything("db");

	assert_string_equal(after, before);
	assert_clean("db");
	d = must_open("db", DB_READ);
	must(db_epochs(d, &epochs, &n, &e), &e);
	assert_in_range(n, 25, 27); /* two days, and the hours of the last one */
	assert_true(epochs[0].parts >= 23);
	db_epochs_free(epochs, n);
	db_close(d);

	keep("db", &(struct db_keep){ .now_ns = t.wall, .max_age_ns = 30 * HOUR });
	d = must_open("db", DB_READ);
	must(db_epochs(d, &epochs, &n, &e), &e);
	assert_true(epochs[0].end_ns + 30 * HOUR >= t.wall);
	db_epochs_free(epochs, n);
	db_close(d);
	keep("db", &(struct db_keep){ .now_ns = t.wall, .max_bytes = 1 });
	d = must_open("db", DB_READ);
	must(db_epochs(d, &epochs, &n, &e), &e);
	assert_int_equal(n, 0);
	struct db_size size;

	must(db_size(d, &size, &e), &e);
	assert_true(size.file_bytes < 200000);
	db_close(d);
	assert_clean("db");
	free(before);
	free(after);
	(void)state;
}

/* Writes cuts until it is killed, and says after each which totals are on disk. */
static void write_until_killed(int said)
{
	struct err e = { "" };
	struct db *d = db_open("db", DB_OWN, NULL, &e);
	struct db_writer *w = d ? db_writer_open(d, &apart, &e) : NULL;
	struct live_sink sink;
	struct synth s;

	if (!w)
		_exit(3);
	sink = db_writer_sink(w);
	synth_begin(&s, 9);
	s.pending = 3;
	for (;;) {
		bool more = true;

		synth_counts(&s, &sink, 200);
		if (!synth_cut(&s, &sink, &e))
			_exit(4);
		while (more)
			if (!db_writer_step(w, 0.05, &more, &e))
				_exit(5);
		const uint64_t total = s.events[0].stored + s.events[1].stored;

		if (write(said, &total, sizeof(total)) != sizeof(total))
			_exit(6);
		for (int i = 0; i < 3; i++)
			if (!db_keep_step(d, &(struct db_keep){ 0 }, 0.2, &more, &e))
				_exit(7);
	}
}

static void test_2307_killed_a_hundred_times_it_loses_at_most_one_cut(void **state)
{
	uint64_t expected_min = 0;
	struct rng r;

	rng_seed(&r, 10);
	for (int i = 0; i < 100; i++) {
		int said[2];

		assert_int_equal(pipe(said), 0);
		const pid_t child = fork();

		if (!child)
			write_until_killed(said[1]);
		close(said[1]);
		/* One in four is killed while it opens the database. */
		uint64_t last = 0, now;

		if (i % 4)
			assert_int_equal(read(said[0], &last, sizeof(last)), sizeof(last));
		usleep((useconds_t)rng_below(&r, 8000));
		kill(child, SIGKILL);
		int status;

		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status));
		while (read(said[0], &now, sizeof(now)) == sizeof(now))
			last = now;
		close(said[0]);
		expected_min += last;
	}
	/* The owner's open cleans up what the last one left. */
	db_close(must_open("db", DB_OWN));
	assert_clean("db");
	struct err e;
	struct db *d = must_open("db", DB_READ);
	struct db_epoch *epochs;
	size_t n;
	uint64_t stored = 0;

	must(db_epochs(d, &epochs, &n, &e), &e);
	for (size_t i = 0; i < n; i++) {
		stored += epochs[i].stored;
		assert_int_equal(epochs[i].taken, epochs[i].stored + epochs[i].lost);
	}
	assert_true(n > 20);
	/* What was said to be on disk is there; a cut of 200 counts of at most 5 may be more. */
	assert_in_range(stored, expected_min, expected_min + 100 * 1000);
	db_epochs_free(epochs, n);
	db_close(d);
	(void)state;
}

/* In a process of its own, with a small file system of its own. */
static int full_disk(void)
{
	struct err e = { "" };
	struct db_writer_options o = apart;
	struct synth s;
	bool more = true, failed = false;

	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mkdir("small", 0755) || mount("none", "small", "tmpfs", 0, "size=2m"))
		return 77;
	struct db *d = must_open("small/db", DB_OWN);

	o.waiting_max = 20000;
	struct db_writer *w = db_writer_open(d, &o, &e);
	struct live_sink sink = db_writer_sink(w);

	must(w != NULL, &e);
	synth_begin(&s, 11);
	s.nimages = 50;
	s.noffsets = 10000;
	s.stacks = false;
	synth_counts(&s, &sink, 2000);
	must(synth_cut(&s, &sink, &e) && db_writer_flush(w, &e), &e);
	const uint64_t before = s.events[0].stored + s.events[1].stored;
	const int fd = open("small/filler", O_WRONLY | O_CREAT, 0600);
	static char zeroes[4096];

	while (write(fd, zeroes, sizeof(zeroes)) > 0)
		;
	close(fd);
	for (int i = 0; i < 20; i++) {
		synth_counts(&s, &sink, 2000);
		assert_true(synth_cut(&s, &sink, &e));
		for (int k = 0; k < 10 && !failed; k++)
			failed = !db_writer_step(w, 5, &more, &e);
		db_writer_step(w, 5, &more, NULL);
		assert_true(db_writer_status(w).waiting <= 20000 + 2000);
	}
	assert_true(failed);
	assert_non_null(strstr(e.text, "No space left"));
	assert_true(db_writer_status(w).lost > 0);
	assert_int_equal(sum_of("small/db", &(struct db_selection){ 0 }, NULL), before);
	/* Room again: it goes on by itself. */
	assert_int_equal(unlink("small/filler"), 0);
	must(db_writer_flush(w, &e), &e);
	const uint64_t taken = s.events[0].taken + s.events[1].taken;
	const uint64_t lost = db_writer_status(w).lost;

	assert_int_equal(sum_of("small/db", &(struct db_selection){ 0 }, NULL), taken - lost);
	must(db_writer_close(w, &e), &e);
	db_close(d);
	assert_clean("small/db");
	return 0;
}

static void test_2308_a_full_disk_costs_only_what_does_not_fit_into_memory(void **state)
{
	const pid_t child = fork();
	int status;

	if (!child)
		_exit(full_disk());
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		print_message("no right to mount a small file system here\n");
		skip();
	}
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	(void)state;
}

static void ignore(void *self, const char *line)
{
	(void)self;
	(void)line;
}

static void test_2309_a_damaged_file_is_noticed_and_does_no_harm(void **state)
{
	struct rng r;
	int noticed = 0;

	fill("db", 12, 2, 2, 300);
	keep("db", &(struct db_keep){ 0 });
	const int fd = open("db/profile.db", O_RDWR);
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	rng_seed(&r, 13);
	for (int i = 0; i < 300; i++) {
		const off_t at = (off_t)rng_below(&r, (uint64_t)st.st_size);
		uint8_t old[4], new[4];
		struct err e = { "" };

		assert_int_equal(pread(fd, old, 4, at) >= 0, 1);
		for (int k = 0; k < 4; k++)
			new[k] = (uint8_t)rng_next(&r);
		assert_int_equal(pwrite(fd, new, 4, at), 4);
		struct db *d = db_open("db", DB_READ, NULL, &e);
		bool ok = d != NULL;

		if (d) {
			struct live_profile *p = db_select(d, &(struct db_selection){ 0 }, &e);

			ok = db_check(d, ignore, NULL) && p;
			live_profile_free(p);
		}
		noticed += !ok;
		db_close(d);
		assert_int_equal(pwrite(fd, old, 4, at), 4);
	}
	assert_int_equal(ftruncate(fd, st.st_size), 0);
	close(fd);
	print_message("%d of 300 damages noticed\n", noticed);
	/* The rest lay in free space, or in names and times that nothing can tell from others. */
	assert_true(noticed > 30);
	assert_clean("db");
	(void)state;
}

static void test_2310_a_second_owner_is_told_the_first_ones_pid(void **state)
{
	struct err e = { "" };
	struct db *d = must_open("db", DB_OWN);
	int32_t pid = 0;
	char text[32];

	assert_null(db_open("db", DB_OWN, &pid, &e));
	assert_int_equal(pid, getpid());
	snprintf(text, sizeof(text), "%d", (int)getpid());
	assert_non_null(strstr(e.text, text));
	/* Others may still write and read. */
	struct db *other = must_open("db", DB_WRITE);

	db_close(other);
	db_close(d);
	db_close(must_open("db", DB_OWN));
	(void)state;
}

static void test_2311_others_cannot_read_it_and_no_link_leads_to_it(void **state)
{
	struct err e = { "" };
	struct stat st;
	const mode_t old = umask(077);

	fill("db", 14, 1, 1, 10);
	umask(old);
	assert_int_equal(stat("db/profile.db", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_int_equal(stat("db", &st), 0);
	assert_int_equal(st.st_mode & 0007, 0);
	assert_int_equal(symlink("db", "link"), 0);
	assert_null(db_open("link", DB_OWN, NULL, &e));
	assert_non_null(strstr(e.text, "link"));
	assert_int_equal(chmod("db", 0777), 0);
	assert_null(db_open("db", DB_OWN, NULL, &e));
	assert_non_null(strstr(e.text, "chmod"));
	assert_int_equal(chmod("db", 0750), 0);
	assert_int_equal(rename("db/profile.db", "elsewhere"), 0);
	assert_int_equal(symlink("../elsewhere", "db/profile.db"), 0);
	assert_null(db_open("db", DB_OWN, NULL, &e));
	(void)state;
}

static void test_2312_a_newer_database_is_refused_in_one_line(void **state)
{
	struct err e = { "" };
	static const uint8_t nine[] = { 0, 0, 0, 9 };

	fill("db", 15, 1, 1, 10);
	const int fd = open("db/profile.db", O_WRONLY);

	assert_int_equal(pwrite(fd, nine, 4, 60), 4); /* user_version */
	close(fd);
	assert_null(db_open("db", DB_READ, NULL, &e));
	assert_non_null(strstr(e.text, "format version 9"));
	assert_null(strchr(e.text, '\n'));
	(void)state;
}

static void test_2313_a_database_without_processes_keeps_none(void **state)
{
	struct err e = { "" };
	struct db *d = must_open("db", DB_OWN);
	const struct db_writer_options o = { .source = DB_SOURCE_DAEMON, .boot_id = "b" };
	struct db_writer *w = db_writer_open(d, &o, &e);
	struct live_sink sink = db_writer_sink(w);
	struct db_size size;
	struct synth s;

	synth_begin(&s, 16);
	synth_counts(&s, &sink, 100);
	must(synth_cut(&s, &sink, &e) && db_writer_close(w, &e), &e);
	must(db_size(d, &size, &e), &e);
	assert_int_equal(size.processes, 0);
	assert_int_equal(size.samples, s.events[0].stored + s.events[1].stored);
	db_close(d);
	(void)state;
}

static void test_2314_a_pack_of_anybodys_bytes_is_refused_or_read_back_alike(void **state)
{
	struct db_bytes out = { 0 };
	struct rng r;

	rng_seed(&r, 17);
	for (int i = 0; i < 20000; i++) {
		uint8_t bytes[64];
		struct db_count *c;
		size_t n, size = rng_below(&r, sizeof(bytes));

		for (size_t k = 0; k < size; k++)
			bytes[k] = (uint8_t)(rng_below(&r, 3) ? rng_below(&r, 8) : rng_next(&r));
		if (!db_unpack_counts(bytes, size, &c, &n))
			continue;
		struct db_count *again;
		size_t m;

		db_pack_counts(c, n, &out);
		assert_true(db_unpack_counts(out.data, out.size, &again, &m));
		assert_int_equal(n, m);
		assert_memory_equal(c, again, n * sizeof(*c));
		free(c);
		free(again);
	}
	db_bytes_free(&out);
	(void)state;
}

/* What one step did: instructions of SQLite's machine, processor time, and the entries of the largest pack. */
struct worked {
	uint64_t instructions, ns;
};

static int count_instructions(void *self)
{
	((struct worked *)self)->instructions += 10;
	return 0;
}

/* An epoch of the size that an hour has: the kernel's counts in every cut, and many short processes. */
static void fill_large(const char *path)
{
	struct err e = { "" };
	struct db *d = must_open(path, DB_OWN);
	struct db_writer *w = db_writer_open(d, &apart, &e);
	struct live_sink sink;
	struct synth s;

	must(w != NULL, &e);
	sink = db_writer_sink(w);
	synth_begin(&s, 11);
	s.stacks = false;
	for (int cut = 0; cut < 20; cut++) {
		s.nimages = 1;
		s.nprocesses = 1;
		s.noffsets = 20000;
		synth_counts(&s, &sink, 30000);
		s.nimages = 9;
		s.nprocesses = 2000;
		synth_counts(&s, &sink, 3000);
		must(synth_cut(&s, &sink, &e), &e);
		must(db_writer_flush(w, &e), &e);
	}
	must(db_writer_close(w, &e), &e);
	db_close(d);
}

static void test_4401_packing_goes_in_pieces_of_a_pack(void **state)
{
	struct err e = { "" };
	struct worked all = { 0 }, most = { 0 };
	uint64_t steps = 0;
	bool more = true;

	fill_large("db");
	char *before = everything("db");
	struct db *d = must_open("db", DB_OWN);

	/* Without time, a step is one piece. */
	while (more) {
		struct worked one = { 0 };
		const uint64_t begin = db_cpu_ns();

		sqlite3_progress_handler(d->sql, 10, count_instructions, &one);
		must(db_keep_step(d, &(struct db_keep){ 0 }, 0, &more, &e), &e);
		sqlite3_progress_handler(d->sql, 0, NULL, NULL);
		one.ns = db_cpu_ns() - begin;
		most.instructions =
		    one.instructions > most.instructions ? one.instructions : most.instructions;
		most.ns = one.ns > most.ns ? one.ns : most.ns;
		all.instructions += one.instructions;
		all.ns += one.ns;
		steps++;
	}
	print_message("%llu pieces; of %.0f ms the longest took %.1f; of %llu instructions %llu\n",
		      (unsigned long long)steps, (double)all.ns / 1e6, (double)most.ns / 1e6,
		      (unsigned long long)all.instructions, (unsigned long long)most.instructions);
	assert_true(most.instructions < 3000);
	assert_true(most.ns < all.ns / 10);
	struct db_rows q = db_query(d, "SELECT max(entries), count(*) FROM pack", "");

	assert_true(db_next(&q));
	assert_in_range(db_int(&q, 0), 1, 8192);
	assert_true(db_int(&q, 1) > 1000);
	assert_true(db_done(&q, &e));
	db_close(d);
	char *after = everything("db");

	assert_string_equal(after, before);
	assert_clean("db");
	free(before);
	free(after);
	(void)state;
}

/* A merge that goes back to where it was before a step that failed has the sums of one that did not. */
static void test_4402_a_merge_that_is_set_back_counts_nothing_twice(void **state)
{
	struct err e = { "" };
	bool ended = false;

	fill("db", 12, 4, 5, 800);
	char *before = everything("db");
	struct db *d = must_open("db", DB_OWN);

	must(db_begin(d, &e) && db_merge_begin(d, (int64_t[]){ 1, 2, 3, 4 }, 4, &e) &&
		 db_end(d, true, &e),
	     &e);
	for (int i = 0; !ended; i++) {
		const struct db_merge_place place = db_merge_place(d);
		const bool fails = i % 3 == 1;

		must(db_begin(d, &e), &e);
		for (int k = 0; k < 1 + i % 40 && !ended; k++)
			must(db_merge_piece(d, &ended, &e), &e);
		if (fails) {
			assert_false(db_end(d, false, &e));
			db_merge_return(d, &place);
			ended = false;
		} else {
			must(db_end(d, true, &e), &e);
		}
	}
	db_merge_free(d);
	db_close(d);
	char *after = everything("db");

	assert_string_equal(after, before);
	assert_clean("db");
	free(before);
	free(after);
	(void)state;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, synth_make_folder, synth_remove_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_2786_symbols_and_code_of_an_image_that_comes_again_are_added),
		TEST(test_2300_what_is_written_is_read_back),
		TEST(test_2301_a_selection_is_what_the_whole_has_of_it),
		TEST(test_3552_what_was_not_kept_apart_cannot_be_selected),
		TEST(test_2302_a_reader_sees_whole_cuts_and_holds_up_nobody),
		TEST(test_2303_compaction_keeps_every_count_in_at_most_six_bytes),
		TEST(test_2304_merging_is_exact_in_any_order),
		TEST(test_2305_epochs_never_overlap_however_the_clock_is_set),
		TEST(test_2306_old_epochs_become_days_and_then_go),
		TEST(test_2307_killed_a_hundred_times_it_loses_at_most_one_cut),
		TEST(test_2308_a_full_disk_costs_only_what_does_not_fit_into_memory),
		TEST(test_2309_a_damaged_file_is_noticed_and_does_no_harm),
		TEST(test_2310_a_second_owner_is_told_the_first_ones_pid),
		TEST(test_2311_others_cannot_read_it_and_no_link_leads_to_it),
		TEST(test_2312_a_newer_database_is_refused_in_one_line),
		TEST(test_2313_a_database_without_processes_keeps_none),
		TEST(test_4401_packing_goes_in_pieces_of_a_pack),
		TEST(test_4402_a_merge_that_is_set_back_counts_nothing_twice),
		TEST(test_2314_a_pack_of_anybodys_bytes_is_refused_or_read_back_alike),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

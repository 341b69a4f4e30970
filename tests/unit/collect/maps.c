/* SPDX-License-Identifier: MIT */
/* Address spaces from records alone: order, fork, exec, reuse of pids, replaced mappings. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <setjmp.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <cmocka.h>

#include "collect/maps_int.h"

struct world {
	struct live_profile *profile;
	struct live_sink sink;
	struct maps *maps;
	uint64_t now;
};

static struct world begin(void)
{
	struct world w = { .profile = live_profile_new(), .now = 1000 };

	w.sink = live_profile_sink(w.profile);
	w.maps = maps_new(&w.sink, NULL);
	return w;
}

static void end(struct world *w)
{
	maps_free(w->maps);
	live_profile_free(w->profile);
}

static void add(struct world *w, struct maps_record r)
{
	if (!r.time_ns)
		r.time_ns = ++w->now;
	if (!r.tid)
		r.tid = r.pid;
	maps_add(w->maps, &r);
}

static void map(struct world *w, int32_t pid, const char *name, uint64_t address, uint64_t size,
		uint64_t pgoff)
{
	add(w, (struct maps_record){ .kind = MAPS_MMAP,
				     .pid = pid,
				     .name = name,
				     .address = address,
				     .size_bytes = size,
				     .pgoff = pgoff,
				     .ino = 1,
				     .prot = PROT_READ | PROT_EXEC });
}

static void forks(struct world *w, int32_t pid, int32_t child)
{
	add(w, (struct maps_record){ .kind = MAPS_FORK, .pid = child, .ppid = pid });
}

static void execs(struct world *w, int32_t pid, const char *comm)
{
	add(w, (struct maps_record){ .kind = MAPS_COMM, .pid = pid, .name = comm, .exec = true });
}

static void exits(struct world *w, int32_t pid)
{
	add(w, (struct maps_record){ .kind = MAPS_EXIT, .pid = pid });
}

static const char *name_of(struct world *w, struct maps_space space, uint64_t address,
			   uint64_t *offset)
{
	const struct maps_place p = maps_find(w->maps, space, address);

	if (offset)
		*offset = p.offset;
	return live_image(w->profile, p.image)->name;
}

static const char *name_in(struct world *w, int32_t pid, uint64_t address)
{
	return name_of(w, (struct maps_space){ .pid = pid }, address, NULL);
}

static void test_2110_an_address_is_an_offset_of_its_file(void **state)
{
	struct world w = begin();
	uint64_t offset;

	map(&w, 5, "/bin/a", 0x10000, 0x3000, 0x2000);
	assert_string_equal(name_of(&w, (struct maps_space){ .pid = 5 }, 0x11234, &offset),
			    "/bin/a");
	assert_int_equal(offset, 0x3234);
	assert_string_equal(name_in(&w, 5, 0x13000), "[unknown]");
	assert_string_equal(name_in(&w, 6, 0x11000), "[unknown]");
	map(&w, 5, "[vdso]", 0x7fff0000000, 0x2000, 0x55);
	assert_string_equal(name_of(&w, (struct maps_space){ .pid = 5 }, 0x7fff0000010, &offset),
			    "[vdso]");
	assert_int_equal(offset, 0x10);
	end(&w);
	(void)state;
}

static void test_2111_a_mapping_cuts_what_it_covers(void **state)
{
	struct world w = begin();
	uint64_t offset;

	map(&w, 5, "/lib/a", 0x10000, 0x10000, 0);
	map(&w, 5, "/lib/b", 0x14000, 0x2000, 0);
	assert_string_equal(name_in(&w, 5, 0x13fff), "/lib/a");
	assert_string_equal(name_in(&w, 5, 0x14000), "/lib/b");
	assert_string_equal(name_of(&w, (struct maps_space){ .pid = 5 }, 0x16004, &offset),
			    "/lib/a");
	assert_int_equal(offset, 0x6004);
	add(&w, (struct maps_record){ .kind = MAPS_MMAP,
				      .pid = 5,
				      .address = 0x13000,
				      .size_bytes = 0x2000,
				      .prot = PROT_READ,
				      .name = "//anon" });
	assert_string_equal(name_in(&w, 5, 0x13000), "[unknown]");
	assert_string_equal(name_in(&w, 5, 0x15000), "/lib/b");
	end(&w);
	(void)state;
}

static void test_2112_a_fork_copies_and_an_exec_forgets(void **state)
{
	struct world w = begin();

	map(&w, 5, "/bin/sh", 0x10000, 0x1000, 0);
	forks(&w, 5, 6);
	map(&w, 5, "/lib/late", 0x20000, 0x1000, 0);
	assert_string_equal(name_in(&w, 6, 0x10000), "/bin/sh");
	assert_string_equal(name_in(&w, 6, 0x20000), "[unknown]");
	execs(&w, 6, "ls");
	map(&w, 6, "/bin/ls", 0x30000, 0x1000, 0);
	assert_string_equal(name_in(&w, 6, 0x10000), "[unknown]");
	assert_string_equal(name_in(&w, 6, 0x30000), "/bin/ls");
	assert_string_equal(name_in(&w, 5, 0x10000), "/bin/sh");
	const struct maps_place p = maps_find(w.maps, (struct maps_space){ .pid = 6 }, 0x30000);
	assert_string_equal(live_process(w.profile, p.process)->comm, "ls");
	assert_string_equal(live_process(w.profile, p.process)->exe, "/bin/ls");
	end(&w);
	(void)state;
}

static void test_2113_start_and_exec_tell_the_uses_of_a_pid_apart(void **state)
{
	struct world w = begin();
	const uint64_t first = w.now;

	map(&w, 1, "/bin/sh", 0x10000, 0x1000, 0);
	maps_find(w.maps, (struct maps_space){ 1, 3, 50 }, 0x10000);
	forks(&w, 1, 9);
	execs(&w, 9, "one");
	map(&w, 9, "/bin/one", 0x10000, 0x1000, 0);
	exits(&w, 9);
	const uint64_t second = w.now;
	forks(&w, 1, 9);
	execs(&w, 9, "two");
	map(&w, 9, "/bin/two", 0x10000, 0x1000, 0);
	execs(&w, 9, "three");
	map(&w, 9, "/bin/three", 0x10000, 0x1000, 0);

	/* The shell has called execve three times, and its children begin with that count. */
	assert_string_equal(name_of(&w, (struct maps_space){ 9, 4, first + 2 }, 0x10000, NULL),
			    "/bin/one");
	assert_string_equal(name_of(&w, (struct maps_space){ 9, 3, second + 1 }, 0x10000, NULL),
			    "/bin/sh");
	assert_string_equal(name_of(&w, (struct maps_space){ 9, 4, second + 1 }, 0x10000, NULL),
			    "/bin/two");
	assert_string_equal(name_of(&w, (struct maps_space){ 9, 5, second + 1 }, 0x10000, NULL),
			    "/bin/three");
	assert_string_equal(name_in(&w, 9, 0x10000), "/bin/three");
	end(&w);
	(void)state;
}

static void test_2114_an_unknown_first_exec_count_is_learned(void **state)
{
	struct world w = begin();
	const struct maps_space old = { 7, 10, 50 }, new = { 7, 11, 50 };

	map(&w, 7, "/bin/old", 0x10000, 0x1000, 0);
	execs(&w, 7, "new");
	map(&w, 7, "/bin/new", 0x10000, 0x1000, 0);
	/* Nothing tells yet that 10 is the older of two. */
	assert_string_equal(name_of(&w, old, 0x10000, NULL), "/bin/new");
	assert_string_equal(name_of(&w, new, 0x10000, NULL), "/bin/new");
	assert_string_equal(name_of(&w, old, 0x10000, NULL), "/bin/old");
	end(&w);
	(void)state;
}

static void test_2115_another_library_at_the_same_place_is_told_by_time(void **state)
{
	struct world w = begin();
	const struct maps_space space = { .pid = 5 };

	map(&w, 5, "/lib/one", 0x10000, 0x4000, 0);
	const uint64_t before = w.now;
	map(&w, 5, "/lib/two", 0x10000, 0x4000, 0);
	const uint64_t between = w.now;
	map(&w, 5, "/lib/three", 0x12000, 0x1000, 0);
	struct maps_place p = maps_find_at(w.maps, space, 0x12000, before);
	assert_string_equal(live_image(w.profile, p.image)->name, "/lib/one");
	p = maps_find_at(w.maps, space, 0x12000, between);
	assert_string_equal(live_image(w.profile, p.image)->name, "/lib/two");
	p = maps_find_at(w.maps, space, 0x12000, w.now);
	assert_string_equal(live_image(w.profile, p.image)->name, "/lib/three");
	maps_forget(w.maps, between);
	p = maps_find_at(w.maps, space, 0x12000, between);
	assert_string_equal(live_image(w.profile, p.image)->name, "/lib/two");
	end(&w);
	(void)state;
}

static void test_2116_a_build_id_is_one_image_under_all_names(void **state)
{
	struct world w = begin();
	struct maps_record r = { .kind = MAPS_MMAP,
				 .pid = 5,
				 .address = 0x10000,
				 .size_bytes = 0x1000,
				 .prot = PROT_EXEC,
				 .build_id = { 0xab, 0xcd },
				 .build_id_bytes = 2,
				 .name = "/a/x" };

	add(&w, r);
	r.address = 0x20000;
	r.name = "/b/x (deleted)";
	add(&w, r);
	r.address = 0x30000;
	r.build_id[0] = 0xac;
	add(&w, r);
	const struct maps_space space = { .pid = 5 };
	const uint32_t a = maps_find(w.maps, space, 0x10000).image;
	assert_int_equal(maps_find(w.maps, space, 0x20000).image, a);
	const uint32_t c = maps_find(w.maps, space, 0x30000).image;
	assert_int_not_equal(c, a);
	assert_string_equal(live_image(w.profile, c)->build_id, "accd");
	assert_string_equal(live_image(w.profile, c)->name, "/b/x");
	end(&w);
	(void)state;
}

static void test_4404_ended_processes_are_forgotten_unless_somebody_wants_them(void **state)
{
	struct world w = begin();

	for (int32_t pid = 10; pid < 1010; pid++) {
		forks(&w, 5, pid);
		execs(&w, pid, "cc1");
		map(&w, pid, "/bin/cc1", 0x10000, 0x1000, 0);
		assert_int_equal(maps_goes_on(w.maps, pid),
				 false); /* it was its parent's program */
		if (pid % 10)
			exits(&w, pid);
	}
	map(&w, 6, "/bin/a", 0x10000, 0x1000, 0);
	assert_true(maps_goes_on(w.maps, 6));
	assert_false(maps_goes_on(w.maps, 7));
	maps_forget_ended(w.maps, w.now, (int32_t[]){ 17, 999 }, 2);
	/* 100 that run, two that are wanted with their parent's program before them, 6, and the parent. */
	assert_in_range(maps_status(w.maps).spaces, 103, 106);
	assert_string_equal(name_in(&w, 17, 0x10000), "/bin/cc1");
	assert_string_equal(name_in(&w, 20, 0x10000), "/bin/cc1");
	assert_string_equal(name_in(&w, 999, 0x10000), "/bin/cc1");
	assert_string_not_equal(name_in(&w, 998, 0x10000), "/bin/cc1");
	end(&w);
	(void)state;
}

static void test_2117_a_thread_is_no_process_and_does_not_end_it(void **state)
{
	struct world w = begin();

	map(&w, 5, "/bin/a", 0x10000, 0x1000, 0);
	add(&w, (struct maps_record){ .kind = MAPS_FORK, .pid = 5, .tid = 6, .ppid = 5 });
	add(&w, (struct maps_record){ .kind = MAPS_COMM, .pid = 5, .tid = 6, .name = "worker" });
	add(&w, (struct maps_record){ .kind = MAPS_EXIT, .pid = 5, .tid = 5 });
	maps_forget(w.maps, w.now + 1);
	assert_string_equal(name_in(&w, 5, 0x10000), "/bin/a");
	add(&w, (struct maps_record){ .kind = MAPS_EXIT, .pid = 5, .tid = 6 });
	maps_forget(w.maps, w.now - 1);
	assert_string_equal(name_in(&w, 5, 0x10000), "/bin/a");
	maps_forget(w.maps, w.now);
	assert_int_equal(maps_status(w.maps).spaces, 0);
	assert_string_equal(name_in(&w, 5, 0x10000), "[unknown]");
	end(&w);
	(void)state;
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void test_2118_a_fork_storm_stays_small(void **state)
{
	struct world w = begin();
	const size_t lives = 100000;
	uint64_t most = 0;

	for (uint64_t i = 0; i < 2000; i++)
		map(&w, 1, "/lib/x", 0x100000 + i * 8192, 4096, 0);
	const uint64_t t0 = cpu_ns();

	for (size_t i = 0; i < lives; i++) {
		const int32_t pid = (int32_t)(2 + i % 30000);

		forks(&w, 1, pid);
		execs(&w, pid, "cc1");
		for (uint64_t k = 0; k < 5; k++)
			map(&w, pid, "/bin/cc1", 0x10000 * (k + 1), 4096, k);
		exits(&w, pid);
		if (i % 1000 == 999) {
			const uint64_t bytes = maps_status(w.maps).memory_bytes;

			most = bytes > most ? bytes : most;
			maps_forget(w.maps, w.now);
		}
	}
	const double us = (double)(cpu_ns() - t0) / 1e3 / (double)lives;

	print_message("one fork, exec, five mappings and exit: %.2f us\n", us);
	/* 1,000 a second take less than a hundredth of a processor; 3 us here, more under ASan. */
	assert_true(us < 100);
	assert_in_range(most, 1, 4000000);
	assert_int_equal(maps_status(w.maps).mappings, 2000);
	end(&w);
	(void)state;
}

static void test_2119_bpf_programs_come_and_go(void **state)
{
	struct world w = begin();
	const struct maps_space space = { .pid = 5 };
	struct maps_record r = { .kind = MAPS_KSYMBOL,
				 .pid = 5,
				 .address = 0xffffffffc0001000,
				 .size_bytes = 0x200,
				 .bpf = true,
				 .name = "bpf_prog_6deef7357e7b4530_count" };

	add(&w, r);
	struct maps_place p = maps_find_kernel(w.maps, space, r.address + 0x10);
	assert_int_equal(live_image(w.profile, p.image)->kind, LIVE_BPF);
	assert_string_equal(live_image(w.profile, p.image)->name, r.name);
	assert_int_equal(p.offset, 0x10);
	r.unregister = true;
	add(&w, r);
	/* Counts of the program may still come, until that time is forgotten. */
	p = maps_find_kernel(w.maps, space, r.address + 0x10);
	assert_int_equal(live_image(w.profile, p.image)->kind, LIVE_BPF);
	maps_forget(w.maps, w.now);
	p = maps_find_kernel(w.maps, space, r.address + 0x10);
	assert_int_equal(live_image(w.profile, p.image)->kind, LIVE_UNKNOWN);
	end(&w);
	(void)state;
}

static void test_2133_a_hundred_thousand_mappings_cost_little(void **state)
{
	struct world w = begin();
	const struct maps_space space = { .pid = 5 };
	const uint64_t count = 100000, t0 = cpu_ns();

	for (uint64_t i = 0; i < count; i++)
		map(&w, 5, "/lib/x", 0x100000 + i * 8192, 4096, i * 3);
	const uint64_t t1 = cpu_ns();
	for (uint64_t i = 0; i < count; i++)
		assert_int_equal(maps_find(w.maps, space, 0x100000 + i * 8192 + 7).offset,
				 i * 3 + 7);
	const uint64_t t2 = cpu_ns();
	for (int32_t i = 0; i < 1000; i++)
		forks(&w, 5, 100 + i);
	const uint64_t t3 = cpu_ns();

	print_message("a mapping %.2f us, a find %.2f us, a fork of 100,000 mappings %.2f us\n",
		      (double)(t1 - t0) / 1e3 / (double)count,
		      (double)(t2 - t1) / 1e3 / (double)count, (double)(t3 - t2) / 1e6);
	/* A tenth of a millisecond for each would be slow; it is about a microsecond. */
	assert_true(t1 - t0 < count * 30000 && t2 - t1 < count * 30000);
	assert_true(t3 - t2 < 1000 * 50000);
	assert_int_equal(maps_status(w.maps).mappings, count);
	end(&w);
	(void)state;
}

/* What a pass over running processes found. */
static void put_running(struct world *w, uint64_t time_ns, uint64_t start_ns, const char *name)
{
	const struct maps_record record = { .kind = MAPS_MMAP,
					    .pid = 5,
					    .address = 0x10000,
					    .size_bytes = 0x1000,
					    .prot = PROT_EXEC,
					    .ino = 1,
					    .name = name };
	const struct running p = { .pid = 5,
				   .time_ns = time_ns,
				   .start_ns = start_ns,
				   .exec_id = 7,
				   .exec_known = true,
				   .threads = 1,
				   .comm = "x",
				   .maps = &record,
				   .nmaps = 1 };

	maps_put_running(w->maps, &p);
}

static void test_2134_what_was_read_is_neither_older_nor_covered_by_older(void **state)
{
	struct world w = begin();
	const struct maps_space now = { 5, 7, 50 }, next = { 5, 8, 50 };

	put_running(&w, 2000, 50, "/bin/read");
	/* Waited in the ring while the process was read. */
	w.now = 1500;
	map(&w, 5, "/bin/before", 0x10000, 0x1000, 0);
	exits(&w, 5);
	assert_string_equal(name_of(&w, now, 0x10000, NULL), "/bin/read");
	w.now = 2500;
	execs(&w, 5, "after");
	map(&w, 5, "/bin/after", 0x10000, 0x1000, 0);
	assert_string_equal(name_of(&w, next, 0x10000, NULL), "/bin/after");
	assert_string_equal(name_of(&w, now, 0x10000, NULL), "/bin/read");
	/* A reading that is older than a record is dropped. */
	put_running(&w, 2400, 50, "/bin/late");
	assert_string_equal(name_of(&w, next, 0x10000, NULL), "/bin/after");
	/* Another process has the pid: its end was missed. */
	put_running(&w, 900000000, 800000000, "/bin/other");
	assert_string_equal(name_of(&w, (struct maps_space){ 5, 7, 800000000 }, 0x10000, NULL),
			    "/bin/other");
	assert_string_equal(name_of(&w, next, 0x10000, NULL), "/bin/after");
	end(&w);
	(void)state;
}

static void test_2137_images_that_nobody_has_are_forgotten(void **state)
{
	struct world w = begin();
	char name[32];

	map(&w, 1, "/bin/stays", 0x10000, 0x1000, 0);
	const struct maps_place first = maps_find(w.maps, (struct maps_space){ .pid = 1 }, 0x10000);
	for (int i = 0; i < 20000; i++) {
		forks(&w, 1, 2);
		execs(&w, 2, "new");
		snprintf(name, sizeof(name), "/built/%d", i);
		map(&w, 2, name, 0x10000, 0x1000, 0);
		assert_string_equal(name_in(&w, 2, 0x10000), name);
		exits(&w, 2);
		maps_forget(w.maps, w.now);
		assert_in_range(maps_status(w.maps).images, 1, 4200);
	}
	const struct maps_place p = maps_find(w.maps, (struct maps_space){ .pid = 1 }, 0x10000);
	assert_int_equal(p.image, first.image);
	/* An image that comes back has the sink's old number. */
	map(&w, 1, "/built/5", 0x20000, 0x1000, 0);
	assert_string_equal(name_in(&w, 1, 0x20000), "/built/5");
	assert_int_equal(live_images(w.profile), 20001);
	end(&w);
	(void)state;
}

/* ---- Random records against tables of pages ---- */

enum { PIDS = 6, PAGES_OF_SPACE = 64, FILES = 5 };

struct model {
	uint8_t page[PIDS][PAGES_OF_SPACE]; /* file + 1 */
	uint64_t offset[PIDS][PAGES_OF_SPACE];
	bool alive[PIDS];
};

static void random_step(struct world *w, struct model *x, struct rng *r)
{
	static const char *const files[FILES] = { "/a", "/b", "/c", "/d", "/e" };
	const int pid = (int)rng_below(r, PIDS), other = (int)rng_below(r, PIDS);
	const uint64_t act = rng_below(r, 20);

	if (!x->alive[pid])
		return;
	if (act == 0 && other != pid) {
		forks(w, pid + 1, other + 1);
		memcpy(x->page[other], x->page[pid], sizeof(x->page[pid]));
		memcpy(x->offset[other], x->offset[pid], sizeof(x->offset[pid]));
		x->alive[other] = true;
	} else if (act == 1) {
		execs(w, pid + 1, "x");
		memset(x->page[pid], 0, sizeof(x->page[pid]));
	} else if (act == 2 && pid) {
		exits(w, pid + 1);
		x->alive[pid] = false;
	} else {
		const uint64_t from = rng_below(r, PAGES_OF_SPACE),
			       many = 1 + rng_below(r, PAGES_OF_SPACE - from),
			       file = rng_below(r, FILES), offset = rng_below(r, 9) * 4096;

		map(w, pid + 1, files[file], from * 4096, many * 4096, offset);
		for (uint64_t i = 0; i < many; i++) {
			x->page[pid][from + i] = (uint8_t)(file + 1);
			x->offset[pid][from + i] = offset + i * 4096;
		}
	}
}

static void test_2135_random_records_are_as_tables_of_pages(void **state)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct world w = begin();
		struct model x = { .alive = { true } };
		struct rng r;

		rng_seed(&r, seed);
		for (int n = 0; n < 400; n++) {
			random_step(&w, &x, &r);
			if (rng_below(&r, 50) == 0)
				maps_forget(w.maps, w.now);
			for (int pid = 0; pid < PIDS; pid++)
				for (uint64_t i = 0; x.alive[pid] && i < PAGES_OF_SPACE; i++) {
					uint64_t offset;
					const char *name =
					    name_of(&w, (struct maps_space){ .pid = pid + 1 },
						    i * 4096 + 5, &offset);

					if (!x.page[pid][i]) {
						assert_string_equal(name, "[unknown]");
						continue;
					}
					assert_int_equal(name[1] - 'a', x.page[pid][i] - 1);
					assert_int_equal(offset, x.offset[pid][i] + 5);
				}
		}
		end(&w);
	}
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_2110_an_address_is_an_offset_of_its_file),
		cmocka_unit_test(test_2111_a_mapping_cuts_what_it_covers),
		cmocka_unit_test(test_2112_a_fork_copies_and_an_exec_forgets),
		cmocka_unit_test(test_2113_start_and_exec_tell_the_uses_of_a_pid_apart),
		cmocka_unit_test(test_2114_an_unknown_first_exec_count_is_learned),
		cmocka_unit_test(test_2115_another_library_at_the_same_place_is_told_by_time),
		cmocka_unit_test(test_2116_a_build_id_is_one_image_under_all_names),
		cmocka_unit_test(
		    test_4404_ended_processes_are_forgotten_unless_somebody_wants_them),
		cmocka_unit_test(test_2117_a_thread_is_no_process_and_does_not_end_it),
		cmocka_unit_test(test_2118_a_fork_storm_stays_small),
		cmocka_unit_test(test_2119_bpf_programs_come_and_go),
		cmocka_unit_test(test_2133_a_hundred_thousand_mappings_cost_little),
		cmocka_unit_test(test_2134_what_was_read_is_neither_older_nor_covered_by_older),
		cmocka_unit_test(test_2137_images_that_nobody_has_are_forgotten),
		cmocka_unit_test(test_2135_random_records_are_as_tables_of_pages),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

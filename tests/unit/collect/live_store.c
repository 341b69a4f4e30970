/* SPDX-License-Identifier: MIT */
/* A live profile as a store: places of images, names from files and from what was kept. */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/live_export.h"
#include "collect/live_names.h"
#include "collect/live_store.h"
#include "names/demangle.h"
#include "image/image.h"
#include "util/util.h"

static char self[4096];

static struct live_event cycles = {
	.name = "cycles", .actual = "cpu-clock", .running = 1, .taken = 10, .stored = 10
};

/* A function of this program to look for; its file offset is computed from the headers. */
__attribute__((noinline)) int hot_function(int x);
int hot_function(int x)
{
	__asm__ volatile("" : "+r"(x));
	return 3 * x + 1;
}

/* The file offset of a function of this program. */
static uint64_t offset_of(const char *function)
{
	struct images *set = images_new(NULL);
	struct image_probe probe;
	uint64_t address = 0;

	assert_true(images_add(set, self, self, 0, NULL));
	assert_true(images_find(set, function, &address));
	images_free(set);
	assert_true(image_probe(self, &probe, NULL));
	for (size_t i = 0; i < probe.nsegments; i++)
		if (address - probe.segment[i].address < probe.segment[i].file_bytes)
			return address - probe.segment[i].address + probe.segment[i].offset;
	fail_msg("%s is in no segment", function);
	return 0;
}

static void count(struct live_sink *s, uint32_t image, uint32_t process, uint32_t event,
		  uint64_t offset, uint64_t n)
{
	s->count(s->self, &(struct live_count){ .image = image,
						.process = process,
						.event = event,
						.cpu = LIVE_NO_CPU,
						.offset = offset,
						.count = n });
}

static void end(struct live_sink *s, struct live_event *events, size_t n)
{
	struct live_facts f = { .machine = "host",
				.command = "test",
				.begin_ns = 1000000000,
				.end_ns = 3000000000,
				.cpus = 2 };

	assert_true(s->cut(s->self, events, n, &f, NULL));
}

static char *text_of(struct store *s, const char *sql)
{
	struct store_rows r = store_query(s, sql, "");
	char *text = x_strdup(store_next(&r) && store_text(&r, 0) ? store_text(&r, 0) : "");

	store_done(&r, NULL);
	return text;
}

static void assert_text(struct store *s, const char *sql, const char *expected)
{
	char *text = text_of(s, sql);

	assert_string_equal(text, expected);
	free(text);
}

static struct store *store_of(struct live_profile *p)
{
	struct err e = { "" };
	struct store *s = live_store_open(p, "test", &e);

	if (!s)
		fail_msg("%s", e.text);
	live_profile_free(p);
	return s;
}

static void test_2200_an_offset_of_a_file_becomes_a_function_line_and_instruction(void **state)
{
	struct live_profile *p = live_profile_new();
	struct live_sink s = live_profile_sink(p);
	struct image_probe probe;

	assert_true(image_probe(self, &probe, NULL));
	const uint32_t image = s.image(s.self, &(struct live_image){ .kind = LIVE_FILE,
								     .name = self,
								     .path = self,
								     .build_id = probe.build_id });
	const uint32_t event = s.event(s.self, &cycles);

	count(&s, image, LIVE_NO_PROCESS, event, offset_of("hot_function"), 10);
	end(&s, &cycles, 1);
	struct store *store = store_of(p);

	assert_text(store,
		    "SELECT f.name FROM live_count c JOIN instruction i USING (pc) JOIN function f "
		    "ON f.id = i.function",
		    "hot_function");
	assert_text(store, "SELECT names FROM live_image", "file");
	assert_text(store, "SELECT value FROM run WHERE key = 'kind'", "live");
	/* the function is hot, so all of it is there */
	assert_true(store_number(store,
				 "SELECT count(*) FROM instruction WHERE disasm LIKE '%ret%'",
				 0) >= 1);
	assert_true(store_number(store,
				 "SELECT count(*) FROM instruction i JOIN live_count c USING (pc) "
				 "WHERE i.line > 0 AND i.file LIKE '%live_store.c'",
				 0) == 1);
	assert_int_equal(store_number(store, "SELECT sum(count) FROM live_count", 0), 10);
	store_close(store);
	(void)state;
}

static void test_2201_images_at_the_same_addresses_have_places_of_their_own(void **state)
{
	struct live_profile *p = live_profile_new();
	struct live_sink s = live_profile_sink(p);
	const uint32_t event = s.event(s.self, &cycles);
	char name[24];

	for (int i = 0; i < 5; i++) {
		snprintf(name, sizeof(name), "[jit%d]", i);
		struct live_symbol symbol = { .offset = 0x7f0012340000,
					      .size_bytes = 64,
					      .name = name };
		const uint32_t image = s.image(s.self, &(struct live_image){ .kind = LIVE_JIT,
									     .name = name,
									     .symbols = &symbol,
									     .nsymbols = 1 });

		count(&s, image, LIVE_NO_PROCESS, event, 0x7f0012340010, 2);
	}
	end(&s, &cycles, 1);
	struct store *store = store_of(p);

	assert_int_equal(store_number(store, "SELECT count(DISTINCT pc) FROM live_count", 0), 5);
	assert_int_equal(
	    store_number(store,
			 "SELECT count(*) FROM live_count c JOIN image i ON c.pc >= "
			 "i.start AND c.pc < i.end WHERE c.pc - i.bias = 0x7f0012340010",
			 0),
	    5);
	assert_int_equal(
	    store_number(store,
			 "SELECT count(DISTINCT name) FROM function WHERE name LIKE '[jit_]'", 0),
	    5);
	store_close(store);
	(void)state;
}

static void test_2202_frames_are_named_one_by_one(void **state)
{
	struct live_profile *p = live_profile_new();
	struct live_sink s = live_profile_sink(p);
	struct live_symbol symbols[] = { { 0x100, 0x10, "do_idle" } };
	struct image_probe probe;

	assert_true(image_probe(self, &probe, NULL));
	const uint32_t file = s.image(
	    s.self,
	    &(struct live_image){ .kind = LIVE_FILE, .name = self, .build_id = probe.build_id });
	const uint32_t kernel = s.image(s.self, &(struct live_image){ .kind = LIVE_KERNEL,
								      .name = "[kernel]",
								      .symbols = symbols,
								      .nsymbols = 1 });
	const uint32_t other = s.image(
	    s.self,
	    &(struct live_image){ .kind = LIVE_FILE, .name = self, .build_id = "0123456789ab" });
	struct live_names *names = live_names_new(p);
	struct live_name n = live_names_find(names, file, offset_of("hot_function") + 1);

	assert_string_equal(n.function, "hot_function");
	assert_int_equal(n.offset, 1);
	n = live_names_find(names, kernel, 0x105);
	assert_string_equal(n.function, "do_idle");
	assert_string_equal(n.image, "[kernel]");
	assert_int_equal(n.address, 0x105);
	/* this program under another build-id: not guessed */
	n = live_names_find(names, other, offset_of("hot_function"));
	assert_string_equal(n.function, "[test_live_store]");
	live_names_free(names);
	live_profile_free(p);
	(void)state;
}

static void test_2783_stacks_of_the_same_names_are_one_folded_line(void **state)
{
	struct live_profile *p = live_profile_new();
	struct live_sink s = live_profile_sink(p);
	struct live_symbol symbols[] = { { 0, 0x10, "_ZN1a1fEv" },
					 { 0x10, 0x10, "_ZN1a1fEi" },
					 { 0x20, 0x10, "root" } };
	const uint32_t image = s.image(s.self, &(struct live_image){ .kind = LIVE_KERNEL,
								     .name = "[kernel]",
								     .symbols = symbols,
								     .nsymbols = 3 });
	const uint32_t event = s.event(s.self, &cycles);

	for (uint64_t at = 0; at < 0x30; at += 8)
		count(&s, image, LIVE_NO_PROCESS, event, at, 1);
	end(&s, &cycles, 1);
	static const struct {
		bool raw;
		const char *expected;
	} rows[] = { { false, "all;a::f 4\nall;root 2\n" },
		     { true, "all;_ZN1a1fEi 2\nall;_ZN1a1fEv 2\nall;root 2\n" } };

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char *text = NULL, *readable = demangle(symbols[0].name);
		size_t bytes;
		FILE *out = open_memstream(&text, &bytes);
		struct err e = { "" };
		const struct live_export o = { NULL, rows[i].raw };

		assert_true(live_export_folded(p, &o, out, &e));
		fclose(out);
		if (readable || rows[i].raw)
			assert_string_equal(text, rows[i].expected);
		free(text);
		free(readable);
	}
	live_profile_free(p);
	(void)state;
}

static void test_2203_more_images_than_descriptors(void **state)
{
	struct live_profile *p = live_profile_new();
	struct live_sink s = live_profile_sink(p);
	const struct rlimit few = { 24, 24 };
	struct rlimit before;
	const uint64_t offset = offset_of("hot_function");
	const uint32_t event = s.event(s.self, &cycles);

	for (uint64_t i = 0; i < 100; i++) {
		char name[32];

		snprintf(name, sizeof(name), "copy%d", (int)i);
		count(
		    &s,
		    s.image(s.self,
			    &(struct live_image){ .kind = LIVE_FILE, .name = name, .path = self }),
		    LIVE_NO_PROCESS, event, offset, 1);
	}
	end(&s, &cycles, 1);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(
	    setrlimit(RLIMIT_NOFILE, &(struct rlimit){ few.rlim_cur, before.rlim_max }), 0);
	struct store *store = store_of(p);

	setrlimit(RLIMIT_NOFILE, &before);
	assert_int_equal(
	    store_number(store, "SELECT count(*) FROM function WHERE name = 'hot_function'", 0),
	    100);
	store_close(store);
	(void)state;
}

static void test_2204_stacks_and_edges_keep_their_places(void **state)
{
	struct live_profile *p = live_profile_new();
	struct live_sink s = live_profile_sink(p);
	struct live_symbol symbols[] = { { 0, 0x10, "leaf" }, { 0x10, 0x10, "root" } };
	const uint32_t image = s.image(s.self, &(struct live_image){ .kind = LIVE_KERNEL,
								     .name = "[kernel]",
								     .symbols = symbols,
								     .nsymbols = 2 });
	const uint32_t event = s.event(s.self, &cycles);
	const struct live_frame frames[] = { { image, 4 }, { image, 0x14 } };

	s.stack(s.self, &(struct live_stack){ .process = LIVE_NO_PROCESS,
					      .event = event,
					      .frames = frames,
					      .nframes = 2,
					      .broken = true,
					      .count = 10 });
	s.edge(s.self, &(struct live_edge){ image, 8, 30, 10 });
	end(&s, &cycles, 1);
	struct store *store = store_of(p);

	assert_text(store,
		    "SELECT group_concat(name, ';') FROM (SELECT f.name FROM live_frame x JOIN "
		    "instruction i USING (pc) JOIN function f ON f.id = i.function ORDER BY "
		    "x.depth DESC)",
		    "root;leaf");
	assert_int_equal(store_number(store, "SELECT count * broken FROM live_stack", 0), 10);
	assert_text(store,
		    "SELECT f.name FROM live_edge e JOIN instruction i USING (pc) JOIN function f "
		    "ON f.id = i.function WHERE e.taken = 30 AND e.not_taken = 10",
		    "leaf");
	store_close(store);
	(void)state;
}

int main(int argc, char **argv)
{
	const ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    test_2200_an_offset_of_a_file_becomes_a_function_line_and_instruction),
		cmocka_unit_test(test_2201_images_at_the_same_addresses_have_places_of_their_own),
		cmocka_unit_test(test_2202_frames_are_named_one_by_one),
		cmocka_unit_test(test_2783_stacks_of_the_same_names_are_one_folded_line),
		cmocka_unit_test(test_2203_more_images_than_descriptors),
		cmocka_unit_test(test_2204_stacks_and_edges_keep_their_places),
	};

	(void)argc, (void)argv;
	hot_function((int)n);
	return n > 0 ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}

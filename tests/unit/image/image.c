/* SPDX-License-Identifier: MIT */
/* 840: names of addresses, in a small RISC-V program in several states. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "image/image.h"
#include "isa/isa.h"

static const char *full_path, *bare_path, *source_path, *go_path;

static struct images *open_at(const char *path, uint64_t bias)
{
	struct images *s = images_new(NULL);
	struct err e = { "" };
	if (!images_add(s, path, "/usr/lib/sample", bias, &e))
		fail_msg("%s", e.text);
	return s;
}

static void test_841_a_symbol_covers_its_code_at_any_bias(void **state)
{
	for (uint64_t bias = 0; bias <= 0x2a00000000; bias += 0x2a00000000) {
		struct images *s = open_at(full_path, bias);
		uint64_t at;
		assert_true(images_find(s, "loop", &at));
		assert_true(at >= bias);
		struct place p = images_place(s, at + 2);
		assert_string_equal(p.function, "loop");
		assert_int_equal(p.start, at);
		assert_true(p.end > at + 8);
		assert_string_equal(images_place(s, p.end).function, "_start");
		assert_int_equal(images_place(s, 16).image,
				 bias ? SIZE_MAX : images_place(s, 16).image);
		images_free(s);
	}
}

static void test_842_lines_and_inlined_frames_are_those_of_the_source(void **state)
{
	struct images *s = open_at(full_path, 0);
	uint64_t at;
	bool inlined = false;
	assert_true(images_find(s, "loop", &at));
	struct place f = images_place(s, at);
	for (uint64_t pc = f.start; pc < f.end;) {
		struct inline_frame frames[4];
		uint32_t word;
		struct place p = images_place(s, pc);
		size_t n = images_inlined(s, pc, frames, 4);
		assert_non_null(p.file);
		assert_non_null(strstr(p.file, "sample.c"));
		assert_true(p.file[0] == '/');
		if (n) {
			inlined = true;
			assert_int_equal(n, 1);
			assert_string_equal(frames[0].function, "square");
			assert_int_equal(frames[0].line, 5);
		}
		assert_true(images_word(s, pc, &word));
		pc += isa_decode(word).len;
	}
	assert_true(inlined);
	const char *file;
	int line;
	assert_true(images_declared(s, at, &file, &line));
	assert_int_equal(line, 8);
	images_free(s);
}

static void test_843_a_loop_has_a_block_of_its_own(void **state)
{
	struct images *s = open_at(full_path, 0);
	const uint64_t *starts;
	uint64_t at;
	assert_true(images_find(s, "loop", &at));
	size_t n = images_blocks(s, at, &starts);
	assert_in_range(n, 3, 6);
	assert_int_equal(starts[0], at);
	for (size_t i = 1; i < n; i++)
		assert_true(starts[i] > starts[i - 1]);
	/* every control transfer ends a block */
	struct place f = images_place(s, at);
	for (uint64_t pc = f.start; pc < f.end;) {
		uint32_t word;
		assert_true(images_word(s, pc, &word));
		struct inst in = isa_decode(word);
		pc += in.len;
		if (op_info[in.op].flags & OPF_CTRL && pc < f.end) {
			bool found = false;
			for (size_t i = 0; i < n; i++)
				found |= starts[i] == pc;
			assert_true(found);
		}
	}
	images_free(s);
}

static void test_844_a_stripped_program_is_known_by_its_unwind_ranges(void **state)
{
	struct images *s = open_at(full_path, 0);
	uint64_t loop;
	assert_true(images_find(s, "loop", &loop));
	struct place named = images_place(s, loop);
	images_free(s);

	s = open_at(bare_path, 0x1000000);
	uint64_t nowhere;
	assert_false(images_find(s, "loop", &nowhere));
	struct place p = images_place(s, loop + 0x1000000 + 2);
	char expect[64];
	snprintf(expect, sizeof(expect), "[sample+0x%llx]", (unsigned long long)loop);
	assert_string_equal(p.function, expect);
	assert_int_equal(p.end - p.start, named.end - named.start);
	assert_null(p.file);
	images_free(s);
}

static void test_845_what_is_no_program_is_refused_with_a_reason(void **state)
{
	struct images *s = images_new(NULL);
	struct err e = { "" };
	assert_false(images_add(s, source_path, "sample", 0, &e));
	assert_non_null(strstr(e.text, "not an ELF"));
	assert_false(images_add(s, "/nonexistent", "sample", 0, &e));
	assert_non_null(strstr(e.text, "cannot read"));
	assert_string_equal(images_place(s, 0x1000).function, "[unknown]");
	images_free(s);
}

/* The frames come innermost first, up to the function itself, each at the line of the call in
 * it. */
static void test_846_frames_inlined_into_inlined_ones_are_all_named(void **state)
{
	struct images *s = open_at(full_path, 0x40000000);
	uint64_t at;
	bool both = false;
	assert_true(images_find(s, "nested", &at));
	struct place f = images_place(s, at);
	for (uint64_t pc = f.start; pc < f.end;) {
		struct inline_frame frames[4];
		uint32_t word;
		const char *file;
		int line;
		size_t n = images_inlined(s, pc, frames, 4);
		assert_true(n <= 2);
		if (n == 2) {
			both = true;
			assert_string_equal(frames[0].function, "square");
			assert_int_equal(frames[0].line, 5);
			assert_string_equal(frames[1].function, "twice");
			assert_int_equal(frames[1].line, 25);
			assert_string_equal(frames[1].file, frames[0].file);
			assert_int_equal(images_inlined(s, pc, frames, 1), 1);
			assert_string_equal(frames[0].function, "square");
		} else if (n == 1) {
			assert_string_equal(frames[0].function, "twice");
		}
		assert_true(images_declared(s, pc, &file, &line));
		assert_int_equal(line, 28);
		assert_true(images_word(s, pc, &word));
		pc += isa_decode(word).len;
	}
	assert_true(both);
	images_free(s);
}

/* The first address of the only image that is in a function of that name; 0: none. */
static uint64_t find_named(struct images *s, const char *name)
{
	const struct image_info info = images_info(s, 0);
	for (uint64_t pc = info.start; pc < info.end; pc += 4)
		if (!strcmp(images_place(s, pc).function, name))
			return pc;
	return 0;
}

static void test_847_a_stripped_go_program_is_known_by_its_run_times_table(void **state)
{
	struct images *s = open_at(go_path, 0);
	const uint64_t helper = find_named(s, "main.(*T).helper"),
		       start = find_named(s, "main.main");
	assert_true(helper && start);
	assert_int_equal(helper - start, 16);
	struct place p = images_place(s, helper + 4);
	assert_string_equal(p.function, "main.(*T).helper");
	assert_int_equal(p.end - p.start, 12);
	assert_int_equal(images_place(s, start).end, helper);
	images_free(s);
}

/* Whatever a damaged table says, each address has one function, and that holds it. */
static void test_848_a_damaged_table_of_go_names_nothing_outside_of_the_program(void **state)
{
	static const uint32_t bad[] = { 0xffffffff, 0x7fffffff, 1, 0x1000 };
	static const char magic[] = { (char)0xf1, (char)0xff, (char)0xff, (char)0xff, 0, 0, 2, 8 };
	char path[] = "/tmp/culprit-go.XXXXXX";
	int fd = mkstemp(path);
	FILE *in = fopen(go_path, "rb");
	uint8_t file[1 << 16];
	assert_true(fd >= 0 && in);
	size_t size = fread(file, 1, sizeof(file), in);
	fclose(in);
	const uint8_t *table = memmem(file, size, magic, sizeof(magic));
	assert_non_null(table);
	const size_t from = (size_t)(table - file);
	for (size_t at = from; at < from + 136; at += 4)
		for (unsigned k = 0; k < 4; k++) {
			uint32_t kept;
			memcpy(&kept, file + at, 4);
			memcpy(file + at, &bad[k], 4);
			assert_int_equal(pwrite(fd, file, size, 0), size);
			memcpy(file + at, &kept, 4);
			struct images *s = open_at(path, 0);
			const struct image_info info = images_info(s, 0);
			for (uint64_t pc = info.start; pc < info.end; pc += 4) {
				struct place p = images_place(s, pc);
				if (p.end > p.start)
					assert_true(p.start <= pc && pc < p.end);
			}
			images_free(s);
		}
	close(fd);
	unlink(path);
}

int main(int argc, char **argv)
{
	if (argc != 5)
		return 2;
	full_path = argv[1];
	bare_path = argv[2];
	source_path = argv[3];
	go_path = argv[4];
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_841_a_symbol_covers_its_code_at_any_bias),
		cmocka_unit_test(test_842_lines_and_inlined_frames_are_those_of_the_source),
		cmocka_unit_test(test_843_a_loop_has_a_block_of_its_own),
		cmocka_unit_test(test_844_a_stripped_program_is_known_by_its_unwind_ranges),
		cmocka_unit_test(test_845_what_is_no_program_is_refused_with_a_reason),
		cmocka_unit_test(test_846_frames_inlined_into_inlined_ones_are_all_named),
		cmocka_unit_test(test_847_a_stripped_go_program_is_known_by_its_run_times_table),
		cmocka_unit_test(
		    test_848_a_damaged_table_of_go_names_nothing_outside_of_the_program),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

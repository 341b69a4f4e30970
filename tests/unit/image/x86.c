/* SPDX-License-Identifier: MIT */
/*
 * Images of this machine: names of stripped programs, function tables that are kept in a folder, and
 * images without a file. The image is this program itself.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "image/image.h"

/* Function tables of smaller files are not kept. */
__attribute__((used)) const unsigned char ballast[(1 << 20) + 4096] = { 1 };

static char self[4096], folder[] = "/tmp/culprit-x86-XXXXXX", cache[128], kept[256];

int looked_for(int x);
__attribute__((noinline)) int looked_for(int x)
{
	int sum = 0;

	for (int i = 0; i < x; i++) {
		__asm__ volatile("" : "+r"(sum));
		sum += i;
	}
	return sum;
}

static struct images *open_image(const char *path, bool cached)
{
	struct images *set = images_new(NULL);
	struct err e = { "" };

	if (cached)
		images_set_cache(set, cache);
	if (!images_add(set, path, path, 0x10000000000, &e))
		fail_msg("%s", e.text);
	return set;
}

static uint64_t address_of(const char *name)
{
	struct images *set = open_image(self, false);
	uint64_t at = 0;

	assert_true(images_find(set, name, &at));
	images_free(set);
	return at;
}

static size_t code(uint64_t *start)
{
	struct image_probe p;

	assert_true(image_probe(self, &p, NULL));
	for (size_t i = 0; i < p.nsegments; i++)
		if (p.segment[i].executable) {
			*start = 0x10000000000 + p.segment[i].address;
			return p.segment[i].file_bytes;
		}
	fail();
	return 0;
}

static void test_2230_a_kept_function_table_says_what_the_file_says(void **state)
{
	uint64_t start;
	const size_t size = code(&start);
	struct images *plain = open_image(self, false), *first = open_image(self, true);

	images_function(first, start + size / 2);
	images_free(first);
	assert_int_equal(access(kept, R_OK), 0);
	struct images *again = open_image(self, true);

	for (uint64_t pc = start; pc < start + size; pc += 7) {
		const struct place a = images_function(plain, pc), b = images_function(again, pc);

		assert_string_equal(a.function, b.function);
		assert_true(a.start == b.start && a.end == b.end);
	}
	images_free(plain);
	images_free(again);
	(void)state;
}

static size_t read_kept(unsigned char **bytes)
{
	FILE *f = fopen(kept, "rb");

	assert_non_null(f);
	fseek(f, 0, SEEK_END);
	const size_t n = (size_t)ftell(f);

	rewind(f);
	*bytes = malloc(n + 1);
	assert_int_equal(fread(*bytes, 1, n, f), n);
	fclose(f);
	return n;
}

static void write_kept(const unsigned char *bytes, size_t n)
{
	FILE *f = fopen(kept, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	fclose(f);
}

/* Whatever is in the folder: a function holds the address that was asked for, or there is none. */
static void look(uint64_t pc)
{
	struct images *set = open_image(self, true);
	const struct place p = images_function(set, pc);

	assert_non_null(memchr(p.function, '\0', 5000));
	if (strcmp(p.function, "[unknown]") != 0)
		assert_true(p.start <= pc && pc < p.end);
	images_free(set);
}

static void test_2231_a_damaged_function_table_is_checked(void **state)
{
	uint64_t start, random = 88172645463325252;
	const size_t size = code(&start);
	unsigned char *good;
	const size_t n = read_kept(&good);

	for (int i = 0; i < 400; i++) {
		unsigned char *bad = malloc(n + 1);
		size_t length = n;

		memcpy(bad, good, n);
		for (int k = 0; k < 1 + i % 4; k++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			/* every other change is in the header and the first entries */
			bad[i % 2 ? random % n : random % 200] = (unsigned char)(random >> 40);
		}
		if (i % 5 == 0)
			length = (size_t)(random >> 20) % n;
		write_kept(bad, length);
		look(start + random % size);
		free(bad);
	}
	/* each entry lies behind the one before it: a table in disorder does not count */
	unsigned char *swapped = malloc(n);

	memcpy(swapped, good, n);
	memcpy(swapped + 40, good + 64, 16);
	write_kept(swapped, n);
	struct images *set = open_image(self, true);

	assert_string_equal(images_function(set, address_of("looked_for")).function, "looked_for");
	images_free(set);
	free(swapped);
	free(good);
	(void)state;
}

static void test_2232_only_a_plain_file_of_this_user_is_a_function_table(void **state)
{
	char elsewhere[300];
	unsigned char *good;
	const size_t n = read_kept(&good);
	const uint64_t at = address_of("looked_for");
	unsigned char *name = memmem(good, n, "looked_for", 10);

	assert_non_null(name);
	memcpy(name, "LOOKED_FOR", 10);
	write_kept(good, n);
	struct images *set = open_image(self, true);

	assert_string_equal(images_function(set, at).function, "LOOKED_FOR");
	images_free(set);
	snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", folder);
	assert_int_equal(rename(kept, elsewhere), 0);
	assert_int_equal(symlink(elsewhere, kept), 0);
	set = open_image(self, true);
	assert_string_equal(images_function(set, at).function, "looked_for");
	images_free(set);
	unlink(kept);
	unlink(elsewhere);
	assert_int_equal(mkfifo(kept, 0600), 0);
	set = open_image(self, true);
	assert_string_equal(images_function(set, at).function, "looked_for");
	images_free(set);
	unlink(kept);
	free(good);
	(void)state;
}

static void test_2233_a_stripped_program_has_names_from_its_unwind_tables(void **state)
{
	char bare[300], command[9000];
	const uint64_t at = address_of("looked_for");

	snprintf(bare, sizeof(bare), "%s/bare", folder);
	snprintf(command, sizeof(command), "strip -o '%s' '%s'", bare, self);
	if (system(command) != 0)
		skip();
	struct images *set = open_image(bare, false), *full = open_image(self, false);
	const struct place stripped = images_function(set, at), named = images_function(full, at);

	assert_true(strncmp(stripped.function, "[bare+0x", 8) == 0);
	assert_true(stripped.start == named.start);
	assert_true(stripped.end == named.end);
	images_free(set);
	images_free(full);
	unlink(bare);
	(void)state;
}

static void test_2234_blocks_begin_where_jumps_lead_and_after_them(void **state)
{
	struct images *set = open_image(self, false);
	const uint64_t at = address_of("looked_for");
	const uint64_t *starts;
	const size_t n = images_blocks(set, at, &starts);
	const struct place f = images_function(set, at);
	struct image_inst in;
	bool jumps = false;

	assert_true(n >= 3); /* before the loop, the loop, after it */
	for (uint64_t pc = f.start; pc < f.end && images_inst(set, pc, &in); pc += in.size_bytes) {
		char text[128];

		images_disasm(set, pc, text, sizeof(text));
		assert_true(text[0] && strcmp(text, "(bad)") != 0);
		if (in.flow == IMAGE_NEXT)
			continue;
		jumps = true;
		for (int k = 0; k < 2; k++) {
			const uint64_t block = k ? in.target : pc + in.size_bytes;
			bool found = block >= f.end || block < f.start || (k && !in.direct);

			for (size_t i = 0; i < n; i++)
				found = found || starts[i] == block;
			assert_true(found);
		}
	}
	assert_true(jumps);
	images_free(set);
	(void)state;
}

static void test_2235_an_image_without_a_file_is_what_was_kept_of_it(void **state)
{
	const struct image_symbol symbols[] = { { 0x1200, 0, "second" },
						{ 0x1000, 0x10, "first" },
						{ 0x1000, 0x20, "_alias" },
						{ 0x9000, 8, "outside" } };
	const uint8_t ret[] = { 0xc3 };
	const struct image_bytes bytes[] = { { 0x1000, 1, ret }, { 0x8fff, 100, ret } };
	struct images *set = images_new(NULL);
	struct image_inst in;

	images_add_kept(set, &(struct image_kept){ .name = "[kernel]",
						   .start = 0x1000,
						   .end = 0x2000,
						   .symbols = symbols,
						   .nsymbols = 4,
						   .code = bytes,
						   .ncode = 2 });
	images_add_kept(
	    set, &(struct image_kept){ .name = "/bin/gone", .start = 0x3000, .end = 0x4000 });
	assert_string_equal(images_place(set, 0x1008).function, "first");
	assert_string_equal(images_place(set, 0x101f).function, "first");
	assert_string_equal(images_place(set, 0x1020).function, "[kernel+0x1020]");
	assert_string_equal(images_place(set, 0x1fff).function, "second");
	assert_string_equal(images_place(set, 0x3fff).function, "[gone]");
	assert_string_equal(images_place(set, 0x9000).function, "[unknown]");
	assert_true(images_inst(set, 0x1000, &in) && in.flow == IMAGE_RETURN);
	assert_false(images_inst(set, 0x1001, &in));
	images_free(set);
	(void)state;
}

static int make_folder(void **state)
{
	struct image_probe p;
	const ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n <= 0 || !mkdtemp(folder) || !image_probe(self, &p, NULL))
		return -1;
	snprintf(cache, sizeof(cache), "%s/culprit/symbols", folder);
	snprintf(kept, sizeof(kept), "%s/%s", cache, p.build_id);
	return looked_for((int)n) < 0;
	(void)state;
}

static int remove_folder(void **state)
{
	char above[128];

	unlink(kept);
	rmdir(cache);
	snprintf(above, sizeof(above), "%s/culprit", folder);
	rmdir(above);
	return rmdir(folder);
	(void)state;
}

/* Somebody builds the program anew while its profile is shown. */
static void test_4620_a_file_that_becomes_shorter_while_it_is_read_does_no_harm(void **state)
{
	char *copy = x_asprintf("%s/copy", folder), *command = x_asprintf("cp %s %s", self, copy);
	uint64_t at;
	int status;

	assert_int_equal(system(command), 0);
	const pid_t child = fork();

	if (!child) {
		signal(SIGBUS, SIG_DFL); /* the tests have a handler */
		struct images *set = open_image(copy, false);

		if (truncate(copy, 4096))
			_exit(2);
		const bool found = images_find(set, "looked_for", &at);

		images_function(set, 0x10000000000 + 0x2000);
		images_free(set);
		_exit(found ? 3 : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	unlink(copy);
	free(command);
	free(copy);
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_2230_a_kept_function_table_says_what_the_file_says),
		cmocka_unit_test(test_2231_a_damaged_function_table_is_checked),
		cmocka_unit_test(test_2232_only_a_plain_file_of_this_user_is_a_function_table),
		cmocka_unit_test(test_2233_a_stripped_program_has_names_from_its_unwind_tables),
		cmocka_unit_test(test_2234_blocks_begin_where_jumps_lead_and_after_them),
		cmocka_unit_test(
		    test_4620_a_file_that_becomes_shorter_while_it_is_read_does_no_harm),
		cmocka_unit_test(test_2235_an_image_without_a_file_is_what_was_kept_of_it),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

/* SPDX-License-Identifier: MIT */
/* Loading of programs: good files run; any other file is refused in one clear line. */
#include "guest_world.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct run r;

static void expect_refusal(const uint8_t *elf, size_t n, const char *why)
{
	assert_false(world_run(world_file(elf, n), NULL, false, &r));
	if (!strstr(r.err, why))
		print_message("expected \"%s\" in \"%s\"\n", why, r.err);
	assert_non_null(strstr(r.err, why));
	assert_null(strchr(r.err, '\n'));
	assert_non_null(strstr(r.err, "/tmp/culprit-test-"));
}

static void test_212_a_minimal_program_runs(void **state)
{
	uint8_t elf[8192];
	size_t n = world_elf(elf);

	assert_true(world_run(world_file(elf, n), NULL, false, &r));
	assert_int_equal(r.status, 42);
	assert_int_equal(r.insts, 3);
}

static void test_213_every_truncation_is_refused(void **state)
{
	uint8_t elf[8192];
	size_t n = world_elf(elf);

	for (size_t i = 0; i < n; i += i < 200 ? 1 : 37)
		assert_false(world_run(world_file(elf, i), NULL, false, &r));
}

static void test_214_other_machines_and_classes_are_refused(void **state)
{
	uint8_t elf[8192];
	size_t n = world_elf(elf);

	((Elf64_Ehdr *)elf)->e_machine = EM_X86_64;
	expect_refusal(elf, n, "not a RISC-V program");
	world_elf(elf);
	elf[EI_CLASS] = ELFCLASS32;
	expect_refusal(elf, n, "64-bit");
	world_elf(elf);
	((Elf64_Ehdr *)elf)->e_type = ET_REL;
	expect_refusal(elf, n, "not a program");
	expect_refusal((const uint8_t *)"hello, I am text", 16, "not an ELF file");
}

static void test_224_hostile_segments_are_refused(void **state)
{
	uint8_t elf[8192];
	size_t n = world_elf(elf);
	Elf64_Phdr *ph = (Elf64_Phdr *)(elf + sizeof(Elf64_Ehdr));

	ph[1].p_memsz = 1ull << 37;
	expect_refusal(elf, n, "more memory");
	world_elf(elf);
	ph[1].p_memsz = UINT64_MAX - 5;
	expect_refusal(elf, n, "38-bit");
	world_elf(elf);
	ph[1].p_vaddr = UINT64_MAX - 0xcff;
	expect_refusal(elf, n, "38-bit");
	world_elf(elf);
	ph[1].p_vaddr = 0x10300 - 0x1000;
	expect_refusal(elf, n, "overlap");
	world_elf(elf);
	ph[1].p_offset = UINT64_MAX - 0xcff;
	expect_refusal(elf, n, "beyond the end");
	world_elf(elf);
	ph[1].p_offset--;
	expect_refusal(elf, n, "disagree");
	world_elf(elf);
	ph[0].p_filesz = 0x301;
	expect_refusal(elf, n, "larger in the file");
	world_elf(elf);
	ph[0].p_vaddr = 0;
	expect_refusal(elf, n, "address zero");
	world_elf(elf);
	((Elf64_Ehdr *)elf)->e_phnum = 0xffff;
	expect_refusal(elf, n, "program headers");
	world_elf(elf);
	((Elf64_Ehdr *)elf)->e_phoff = UINT64_MAX - 8;
	expect_refusal(elf, n, "program headers");
}

static void test_225_interpreters_that_are_missing_or_wrong_are_refused(void **state)
{
	uint8_t elf[8192];
	size_t n = world_elf(elf);
	Elf64_Phdr *ph = (Elf64_Phdr *)(elf + sizeof(Elf64_Ehdr));

	ph[1].p_type = PT_INTERP;
	ph[1].p_offset = 0x240;
	ph[1].p_filesz = 64;
	strcpy((char *)elf + 0x240, "/no/such/interpreter");
	expect_refusal(elf, n, "--sysroot");
	strcpy((char *)elf + 0x240, "/etc/passwd");
	assert_false(world_run(world_file(elf, n), NULL, false, &r));
	memset(elf + 0x240, 'x', 64);
	expect_refusal(elf, n, "does not end");
	ph[1].p_filesz = 1 << 20;
	expect_refusal(elf, n, "impossible length");
}

static void test_226_an_interpreter_that_is_its_own_program_is_refused(void **state)
{
	uint8_t elf[8192];
	size_t n = world_elf(elf);
	Elf64_Phdr *ph = (Elf64_Phdr *)(elf + sizeof(Elf64_Ehdr));

	ph[1].p_type = PT_INTERP;
	ph[1].p_offset = 0x240;
	ph[1].p_filesz = 64;
	snprintf((char *)elf + 0x240, 64, "%s", world_file(elf, 1));
	expect_refusal(elf, n, "overlaps its interpreter");
}

static void test_227_scripts_that_interpret_each_other_are_refused(void **state)
{
	char text[128];

	snprintf(text, sizeof(text), "#!%s\n", world_file("", 0));
	expect_refusal((const uint8_t *)text, strlen(text), "circle");
}

static void test_228_random_damage_never_crashes_the_host(void **state)
{
	uint8_t elf[8192];
	struct rng rng;

	rng_seed(&rng, 228);
	for (int i = 0; i < 400; i++) {
		size_t n = world_elf(elf);
		struct guest_config config = { 0 };
		char *argv[] = { "x", NULL };
		struct err e;
		struct guest *g;

		for (uint64_t k = 1 + rng_below(&rng, 4); k > 0; k--)
			elf[rng_below(&rng, 0x120)] = (uint8_t)rng_next(&rng);
		config.argv = argv;
		config.program = world_file(elf, n);
		g = guest_new(&config, &e);
		guest_free(g);
	}
}

static void test_229_folders_and_missing_files_are_refused(void **state)
{
	assert_false(world_run("/tmp", NULL, false, &r));
	assert_non_null(strstr(r.err, "/tmp: not a regular file"));
	assert_false(world_run("/no/such/program", NULL, false, &r));
	assert_non_null(strstr(r.err, "No such file"));
}

static int cleanup(void **state)
{
	unlink(world_file("", 0));
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_212_a_minimal_program_runs),
		cmocka_unit_test(test_213_every_truncation_is_refused),
		cmocka_unit_test(test_214_other_machines_and_classes_are_refused),
		cmocka_unit_test(test_224_hostile_segments_are_refused),
		cmocka_unit_test(test_225_interpreters_that_are_missing_or_wrong_are_refused),
		cmocka_unit_test(test_226_an_interpreter_that_is_its_own_program_is_refused),
		cmocka_unit_test(test_227_scripts_that_interpret_each_other_are_refused),
		cmocka_unit_test(test_228_random_damage_never_crashes_the_host),
		cmocka_unit_test(test_229_folders_and_missing_files_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, cleanup);
}

/* SPDX-License-Identifier: MIT */
/* Guest memory: mappings, protections, and checked copies. */
#include "guest_world.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE GUEST_PAGE_BYTES
#define ANON (MAP_PRIVATE | MAP_ANONYMOUS)
#define RW   (PROT_READ | PROT_WRITE)

static int setup(void **state)
{
	static struct guest_mem m;
	struct err e;

	if (!mem_init(&m, &e))
		return 1;
	*state = &m;
	return 0;
}

static int teardown(void **state)
{
	mem_fini(*state);
	return 0;
}

static void test_201_new_mappings_are_zero_and_do_not_overlap(void **state)
{
	struct guest_mem *m = *state;
	int64_t a = mem_map(m, 0, 3 * PAGE, RW, ANON, -1, 0, NULL);
	int64_t b = mem_map(m, 0, 1, RW, ANON, -1, 0, NULL);
	uint64_t v = 1;

	assert_true(a > 0 && b > 0);
	assert_true(b + (int64_t)PAGE <= a || a + 3 * (int64_t)PAGE <= b);
	assert_int_equal(mem_read(m, &v, (uint64_t)a + 2 * PAGE + 4088, 8), 0);
	assert_int_equal(v, 0);
}

static void test_202_wrong_arguments_of_mmap_are_refused(void **state)
{
	struct guest_mem *m = *state;

	assert_int_equal(mem_map(m, 0, 0, RW, ANON, -1, 0, NULL), -EINVAL);
	assert_int_equal(mem_map(m, 0, PAGE, RW, MAP_ANONYMOUS, -1, 0, NULL), -EINVAL);
	assert_int_equal(mem_map(m, 123, PAGE, RW, ANON | MAP_FIXED, -1, 0, NULL), -EINVAL);
	assert_int_equal(mem_map(m, GUEST_ADDR_LIMIT, PAGE, RW, ANON | MAP_FIXED, -1, 0, NULL),
			 -ENOMEM);
	assert_int_equal(mem_map(m, 0, UINT64_MAX, RW, ANON, -1, 0, NULL), -ENOMEM);
	assert_int_equal(mem_map(m, 0, GUEST_ADDR_LIMIT, RW, ANON, -1, 0, NULL), -ENOMEM);
	assert_int_equal(mem_map(m, 0, PAGE, RW, MAP_PRIVATE, -1, 0, NULL), -EBADF);
	assert_int_equal(mem_map(m, 0, PAGE, RW, MAP_PRIVATE, 0, 7, NULL), -EINVAL);
}

static void test_203_fixed_noreplace_keeps_what_is_there(void **state)
{
	struct guest_mem *m = *state;
	int64_t a = mem_map(m, 0x100000, PAGE, RW, ANON | MAP_FIXED, -1, 0, NULL);

	assert_int_equal(a, 0x100000);
	assert_int_equal(mem_map(m, 0x100000, PAGE, RW, ANON | MAP_FIXED_NOREPLACE, -1, 0, NULL),
			 -EEXIST);
}

static void test_204_mprotect_splits_and_merges_regions(void **state)
{
	struct guest_mem *m = *state;
	int64_t a = mem_map(m, 0, 9 * PAGE, RW, ANON, -1, 0, NULL);
	size_t before = m->nregions;

	assert_int_equal(mem_protect(m, (uint64_t)a + 3 * PAGE, 3 * PAGE, PROT_READ), 0);
	assert_int_equal(m->nregions, before + 2);
	assert_int_equal(mem_write(m, (uint64_t)a + 3 * PAGE, "x", 1), -EFAULT);
	assert_int_equal(mem_write(m, (uint64_t)a + 3 * PAGE - 1, "xy", 2), -EFAULT);
	assert_int_equal(mem_write(m, (uint64_t)a + 6 * PAGE, "x", 1), 0);
	assert_int_equal(mem_protect(m, (uint64_t)a + 3 * PAGE, 3 * PAGE, RW), 0);
	assert_int_equal(m->nregions, before);
	assert_int_equal(mem_protect(m, (uint64_t)a, 100 * PAGE, RW), -ENOMEM);
}

static void test_205_mremap_keeps_the_contents(void **state)
{
	struct guest_mem *m = *state;
	int64_t a = mem_map(m, 0, 2 * PAGE, RW, ANON, -1, 0, NULL), b;
	int64_t wall =
	    mem_map(m, (uint64_t)a + 2 * PAGE, PAGE, RW, ANON | MAP_FIXED, -1, 0, "[wall]");
	char buf[6] = "";

	assert_true(wall > 0);
	mem_write(m, (uint64_t)a + PAGE, "hello", 6);
	assert_int_equal(mem_remap(m, (uint64_t)a, 2 * PAGE, 8 * PAGE, 0, 0), -ENOMEM);
	b = mem_remap(m, (uint64_t)a, 2 * PAGE, 8 * PAGE, MREMAP_MAYMOVE, 0);
	assert_true(b > 0 && b != a);
	assert_int_equal(mem_read(m, buf, (uint64_t)b + PAGE, 6), 0);
	assert_string_equal(buf, "hello");
	assert_int_equal(mem_read(m, buf, (uint64_t)a, 1), -EFAULT);
	assert_int_equal(mem_write(m, (uint64_t)b + 8 * PAGE - 1, "x", 1), 0);
	assert_int_equal(mem_remap(m, (uint64_t)b, 8 * PAGE, PAGE, 0, 0), b);
	assert_int_equal(mem_read(m, buf, (uint64_t)b + PAGE, 1), -EFAULT);
	assert_int_equal(
	    mem_remap(m, (uint64_t)b, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, 0x200000),
	    0x200000);
	assert_int_equal(mem_remap(m, 0x7000000, PAGE, 2 * PAGE, MREMAP_MAYMOVE, 0), -EFAULT);
}

static void test_206_shared_file_mappings_move_and_grow(void **state)
{
	struct guest_mem *m = *state;
	int fd = memfd_create("f", 0);
	char buf[4] = "";
	int64_t a, b;

	assert_int_equal(ftruncate(fd, 4 * PAGE), 0);
	assert_int_equal(pwrite(fd, "end", 4, 3 * PAGE), 4);
	a = mem_map(m, 0, PAGE, RW, MAP_SHARED, fd, 0, "f");
	b = mem_remap(m, (uint64_t)a, PAGE, 4 * PAGE, MREMAP_MAYMOVE, 0);
	assert_true(b > 0);
	assert_int_equal(mem_read(m, buf, (uint64_t)b + 3 * PAGE, 4), 0);
	assert_string_equal(buf, "end");
	close(fd);
}

static void test_207_copies_beyond_the_end_of_a_file_give_efault(void **state)
{
	struct guest_mem *m = *state;
	int fd = memfd_create("f", 0);
	uint64_t v;
	int64_t a;

	assert_int_equal(ftruncate(fd, 2 * PAGE), 0);
	a = mem_map(m, 0, 4 * PAGE, RW, MAP_SHARED, fd, 0, "f");
	assert_int_equal(mem_read(m, &v, (uint64_t)a + PAGE, 8), 0);
	assert_int_equal(mem_read(m, &v, (uint64_t)a + 2 * PAGE, 8), -EFAULT);
	assert_int_equal(mem_write(m, (uint64_t)a + 3 * PAGE, &v, 8), -EFAULT);
	assert_int_equal(mem_peek(m, (uint64_t)a + 2 * PAGE, 8), 0);
	/* the file is truncated after it was mapped */
	assert_int_equal(ftruncate(fd, PAGE), 0);
	mem_file_cut(m, m->regions[0].dev, m->regions[0].ino);
	assert_int_equal(mem_read(m, &v, (uint64_t)a + PAGE, 8), -EFAULT);
	assert_int_equal(mem_read(m, &v, (uint64_t)a, 8), 0);
	close(fd);
}

static void test_208_strings_end_at_the_end_of_memory(void **state)
{
	struct guest_mem *m = *state;
	int64_t a = mem_map(m, 0x300000, PAGE, RW, ANON | MAP_FIXED, -1, 0, NULL);
	char buf[64];

	mem_write(m, (uint64_t)a + PAGE - 4, "abc", 4);
	assert_int_equal(mem_read_string(m, buf, (uint64_t)a + PAGE - 4, sizeof(buf)), 3);
	mem_write(m, (uint64_t)a + PAGE - 1, "d", 1);
	assert_int_equal(mem_read_string(m, buf, (uint64_t)a + PAGE - 4, sizeof(buf)), -EFAULT);
	memset(m->base + a, 'x', 100);
	assert_int_equal(mem_read_string(m, buf, (uint64_t)a, sizeof(buf)), -ENAMETOOLONG);
}

static void test_209_peek_reads_zero_where_nothing_is(void **state)
{
	struct guest_mem *m = *state;
	int64_t a = mem_map(m, 0x300000, PAGE, RW, ANON | MAP_FIXED, -1, 0, NULL);

	memset(m->base + a, 0xee, PAGE);
	assert_int_equal(mem_peek(m, (uint64_t)a + PAGE - 2, 8), 0xeeee);
	assert_int_equal(mem_peek(m, (uint64_t)a - 2, 4), 0xeeee0000);
	assert_int_equal(mem_peek(m, UINT64_MAX - 3, 8), 0);
	assert_int_equal(mem_peek(m, GUEST_ADDR_LIMIT - 1, 8), 0);
}

/* The model is a plain page table. */
static void test_210_random_calls_agree_with_a_simple_model(void **state)
{
	enum { PAGES = 64 };
	struct guest_mem *m = *state;
	const uint64_t base = 0x400000;
	uint8_t model[PAGES] = { 0 }, value[PAGES] = { 0 };
	struct rng r;

	rng_seed(&r, 210);
	for (int i = 0; i < 4000; i++) {
		uint64_t at = rng_below(&r, PAGES), n = 1 + rng_below(&r, PAGES - at), to;
		int prot = rng_below(&r, 2) ? RW : PROT_READ;
		bool all = true;
		uint8_t byte;

		for (uint64_t p = at; p < at + n; p++)
			all &= model[p] != 0;
		switch (rng_below(&r, 5)) {
		case 0:
			assert_int_equal(mem_map(m, base + at * PAGE, n * PAGE, prot,
						 ANON | MAP_FIXED, -1, 0, NULL),
					 base + at * PAGE);
			memset(model + at, prot, n);
			memset(value + at, 0, n);
			break;
		case 1:
			assert_int_equal(mem_unmap(m, base + at * PAGE, n * PAGE), 0);
			memset(model + at, 0, n);
			break;
		case 2:
			assert_int_equal(mem_protect(m, base + at * PAGE, n * PAGE, prot),
					 all ? 0 : -ENOMEM);
			if (all)
				memset(model + at, prot, n);
			break;
		case 3:
			byte = (uint8_t)i;
			assert_int_equal(mem_write(m, base + at * PAGE + 77, &byte, 1),
					 model[at] == RW ? 0 : -EFAULT);
			if (model[at] == RW)
				value[at] = byte;
			break;
		default:
			to = rng_below(&r, PAGES);
			if (to == at)
				break;
			if (mem_remap(m, base + at * PAGE, PAGE, PAGE,
				      MREMAP_MAYMOVE | MREMAP_FIXED, base + to * PAGE) < 0) {
				assert_int_equal(model[at], 0);
				break;
			}
			assert_int_not_equal(model[at], 0);
			model[to] = model[at];
			value[to] = value[at];
			model[at] = 0;
			break;
		}
		for (uint64_t p = 0; p < PAGES; p++) {
			uint8_t prot_now = m->prot[base / PAGE + p];
			const struct mem_region *reg = mem_region_at(m, base + p * PAGE);
			bool mapped = reg && reg->start <= base + p * PAGE;

			assert_int_equal(mapped, model[p] != 0);
			assert_int_equal(!!(prot_now & MEM_MAPPED), mapped);
			assert_int_equal(!!(prot_now & MEM_W), model[p] == RW);
			if (mapped) {
				assert_int_equal(mem_read(m, &byte, base + p * PAGE + 77, 1), 0);
				assert_int_equal(byte, value[p]);
			}
		}
	}
}

static unsigned changes;
static void count_change(void *ctx, uint64_t start, uint64_t end)
{
	changes++;
}

static void test_211_changes_of_code_are_told_and_others_are_not(void **state)
{
	struct guest_mem *m = *state;
	int64_t data = mem_map(m, 0, PAGE, RW, ANON, -1, 0, NULL);
	int64_t code = mem_map(m, 0, PAGE, RW | PROT_EXEC, ANON, -1, 0, NULL);

	m->code_changed = count_change;
	changes = 0;
	mem_write(m, (uint64_t)data, "x", 1);
	mem_protect(m, (uint64_t)data, PAGE, PROT_READ);
	mem_unmap(m, (uint64_t)data, PAGE);
	assert_int_equal(changes, 0);
	mem_write(m, (uint64_t)code, "x", 1);
	assert_int_equal(changes, 1);
	mem_protect(m, (uint64_t)code, PAGE, PROT_READ);
	assert_int_equal(changes, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_201_new_mappings_are_zero_and_do_not_overlap,
						setup, teardown),
		cmocka_unit_test_setup_teardown(test_202_wrong_arguments_of_mmap_are_refused, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_203_fixed_noreplace_keeps_what_is_there, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_204_mprotect_splits_and_merges_regions, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_205_mremap_keeps_the_contents, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_206_shared_file_mappings_move_and_grow, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
		    test_207_copies_beyond_the_end_of_a_file_give_efault, setup, teardown),
		cmocka_unit_test_setup_teardown(test_208_strings_end_at_the_end_of_memory, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_209_peek_reads_zero_where_nothing_is, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_210_random_calls_agree_with_a_simple_model,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
		    test_211_changes_of_code_are_told_and_others_are_not, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

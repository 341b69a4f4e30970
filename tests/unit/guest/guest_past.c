/* SPDX-License-Identifier: MIT */
/* System calls whose answers once differed from Linux's. */
#include "guest_world.h"

#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

static int64_t call(struct guest *g, unsigned nr, const uint64_t *a)
{
	struct thread *t = g->cur;

	memcpy(&t->hart.x[10], a, 6 * 8);
	t->hart.x[17] = nr;
	syscall_enter(g, t);
	assert_int_not_equal(t->state, THREAD_BLOCKED);
	return (int64_t)t->hart.x[10];
}
#define CALL(g, nr, ...) call(g, nr, (const uint64_t[6]){ __VA_ARGS__ })

/* Returns the address of a page after which nothing is mapped. */
static uint64_t last_page(struct guest *g)
{
	int64_t at = mem_map(&g->mem, 0, 2 * GUEST_PAGE_BYTES, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0, NULL);

	assert_true(at > 0);
	assert_int_equal(mem_unmap(&g->mem, (uint64_t)at + GUEST_PAGE_BYTES, GUEST_PAGE_BYTES), 0);
	return (uint64_t)at;
}

static void test_931_getrandom_fills_what_it_can_reach(void **state)
{
	struct guest *g = world_guest();
	uint64_t end = last_page(g) + GUEST_PAGE_BYTES;

	assert_int_equal(CALL(g, 278, end - 3, 8, 0), 3);
	assert_int_equal(CALL(g, 278, end - 300, 1000, 0), 300);
	assert_int_equal(CALL(g, 278, end, 8, 0), -EFAULT);
	guest_free(g);
}

static void test_932_waitid_without_children_clears_its_answer(void **state)
{
	struct guest *g = world_guest();
	uint64_t page = last_page(g), ones = ~0ull;

	mem_write(&g->mem, page, &ones, 8);
	assert_int_equal(CALL(g, 95, P_ALL, 0, page, WEXITED | WNOHANG), -ECHILD);
	assert_int_equal(mem_peek(&g->mem, page, 8), 0);
	assert_int_equal(CALL(g, 95, P_ALL, 0, page + GUEST_PAGE_BYTES, WEXITED | WNOHANG),
			 -EFAULT);
	assert_int_equal(CALL(g, 95, P_ALL, 0, 0, WEXITED | WNOHANG), -ECHILD);
	guest_free(g);
}

static void test_933_a_signal_stack_that_stays_as_it_is_may_be_small(void **state)
{
	struct guest *g = world_guest();
	uint64_t page = last_page(g), size = 100;

	assert_int_equal(CALL(g, 132, page, 0), 0);
	mem_write(&g->mem, page + 16, &size, 8);
	assert_int_equal(CALL(g, 132, page, 0), -ENOMEM);
	guest_free(g);
}

static void test_934_a_shared_futex_has_to_be_in_memory(void **state)
{
	struct guest *g = world_guest();
	uint64_t page = last_page(g);

	assert_int_equal(CALL(g, 98, page, FUTEX_WAKE, 1), 0);
	assert_int_equal(CALL(g, 98, page + GUEST_PAGE_BYTES, FUTEX_WAKE, 1), -EFAULT);
	assert_int_equal(CALL(g, 98, page + GUEST_PAGE_BYTES, FUTEX_WAKE_PRIVATE, 1), 0);
	guest_free(g);
}

static void test_935_the_name_of_a_socket_needs_a_place(void **state)
{
	struct guest *g = world_guest();
	uint64_t page = last_page(g), room = 16;
	int64_t fd = CALL(g, 198, 1 /* AF_UNIX */, 1, 0);

	assert_true(fd > 2);
	mem_write(&g->mem, page, &room, 4);
	assert_int_equal(CALL(g, 204, (uint64_t)fd, 0, page), -EFAULT);
	assert_int_equal(CALL(g, 204, (uint64_t)fd, page + 8, page), 0);
	guest_free(g);
}

static void test_936_epoll_looks_at_the_address_before_it_waits(void **state)
{
	struct guest *g = world_guest();
	int64_t fd = CALL(g, 20, 0);

	assert_true(fd > 2);
	assert_int_equal(CALL(g, 22, (uint64_t)fd, UINT64_MAX - 4095, 1, 0, 0, 8), -EFAULT);
	guest_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_931_getrandom_fills_what_it_can_reach),
		cmocka_unit_test(test_932_waitid_without_children_clears_its_answer),
		cmocka_unit_test(test_933_a_signal_stack_that_stays_as_it_is_may_be_small),
		cmocka_unit_test(test_934_a_shared_futex_has_to_be_in_memory),
		cmocka_unit_test(test_935_the_name_of_a_socket_needs_a_place),
		cmocka_unit_test(test_936_epoll_looks_at_the_address_before_it_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

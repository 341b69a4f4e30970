/* SPDX-License-Identifier: MIT */
/* A core that is saved and read again goes on as the one that paused there. */
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "state/state.h"

#define BEFORE 60000
#define AFTER  40000

struct pair {
	struct guest *guest;
	struct core *core;
};

static struct pair make(const char *machine, const char *const *sets, const char *kernel)
{
	char *program[] = { (char *)KERNELS, (char *)kernel, (char *)"100000",
			    (char *)"65536", (char *)"64",   NULL };
	struct guest_config config = { .argv = program,
				       .envp = (char **)kernel_environment,
				       .clock_cpi = 1 };
	struct machine m;
	struct err e;

	config_of(&m, machine, sets);

	struct pair p = { .guest = guest_new(&config, &e) };

	if (!p.guest)
		fail_msg("%s", e.text);
	p.core = core_new(&m, p.guest, NULL, &e);
	if (!p.core)
		fail_msg("%s", e.text);
	return p;
}

static void drop(struct pair *p)
{
	core_free(p->core);
	guest_free(p->guest);
}

static void walk(struct pair *p, struct state *s)
{
	guest_touched_state(p->guest, s);
	core_state(p->core, s);
	state_end(s);
}

/* Cycles of the next AFTER instructions. */
static uint64_t go_on(struct pair *p)
{
	uint64_t before = core_stats(p->core)->cycles;

	assert_int_equal(core_run(p->core, AFTER), CORE_STOPPED);
	return core_stats(p->core)->cycles - before;
}

/* Saves after BEFORE timed instructions, reads into a new core, and compares what follows. */
static void goes_on(const char *machine, const char *const *sets, const char *kernel)
{
	struct pair a = make(machine, sets, kernel), b = make(machine, sets, kernel),
		    cold = make(machine, sets, kernel);
	struct state *s = state_writer(NULL), *r;
	const void *bytes;
	size_t n;

	assert_int_equal(core_run(a.core, BEFORE), CORE_STOPPED);
	core_pause(a.core);
	walk(&a, s);
	assert_true(state_ok(s));
	bytes = state_bytes_written(s, &n);

	guest_run(b.guest, BEFORE);
	guest_run(cold.guest, BEFORE);
	core_attach(b.core);
	core_attach(cold.core);
	r = state_reader(bytes, n, STATE_VERSION, NULL);
	walk(&b, r);
	if (!state_ok(r))
		fail_msg("%s: %s", machine, state_error(r));

	uint64_t paused = go_on(&a), read = go_on(&b), alone = go_on(&cold);

	if (paused != read)
		fail_msg(
		    "%s, kernel %s: %llu cycles after the pause, %llu from the state (%llu cold)",
		    machine, kernel, (unsigned long long)paused, (unsigned long long)read,
		    (unsigned long long)alone);
	print_message("%s, kernel %s: %llu cycles, cold %llu, %zu bytes\n", machine, kernel,
		      (unsigned long long)paused, (unsigned long long)alone, n);
	assert_int_not_equal(alone, paused);
	state_free(s);
	state_free(r);
	drop(&a);
	drop(&b);
	drop(&cold);
}

static void test_2824_a_core_goes_on_from_a_saved_state_as_after_a_pause(void **state)
{
	(void)state;
	/* loads that miss, a store whose address comes late, branches, branches under misses, code */
	static const char *const kernels[] = { "10", "16", "17", "20", "22" };

	for (size_t k = 0; k < ARRAY_LEN(kernels); k++) {
		goes_on("boom-tip", NULL, kernels[k]);
		goes_on("boom-tea", NULL, kernels[k]);
		goes_on("inorder-2w", NULL, kernels[k]);
		goes_on("fields2004", NULL, kernels[k]);
		goes_on("boom-tip",
			SETS("bpred.direction=tournament", "l1d.replacement=random",
			     "l2.replacement=plru"),
			kernels[k]);
		goes_on("boom-tip", SETS("bpred.direction=gshare", "l1d.prefetch=stride"),
			kernels[k]);
		goes_on("boom-tip", SETS("bpred.direction=bimodal", "fetch.ahead=16"), kernels[k]);
	}
}

static void test_2825_a_state_of_another_machine_is_refused(void **state)
{
	struct pair a = make("boom-tip", NULL, "9"),
		    b = make("boom-tip", SETS("l1d.size=65536"), "9");
	struct state *s = state_writer(NULL), *r;
	const void *bytes;
	size_t n;

	(void)state;
	core_run(a.core, 1000);
	core_pause(a.core);
	walk(&a, s);
	bytes = state_bytes_written(s, &n);
	r = state_reader(bytes, n, STATE_VERSION, NULL);
	walk(&b, r);
	assert_false(state_ok(r));
	assert_non_null(strstr(state_error(r), "another machine"));
	assert_non_null(strstr(state_error(r), "l1d"));
	state_free(r);
	state_free(s);
	drop(&a);
	drop(&b);
}

static void test_2826_damaged_states_are_read_safely(void **state)
{
	struct pair a = make("boom-tip", NULL, "17"), b = make("boom-tip", NULL, "17");
	struct state *s = state_writer(NULL);
	const void *bytes;
	unsigned refused = 0;
	uint8_t *copy;
	struct rng rng;
	size_t n;

	(void)state;
	core_run(a.core, 5000);
	core_pause(a.core);
	walk(&a, s);
	bytes = state_bytes_written(s, &n);
	copy = x_malloc(n);
	rng_seed(&rng, 7);
	for (unsigned i = 0; i < 60; i++) {
		size_t length = i % 3 == 0 ? rng_below(&rng, n) : n;

		memcpy(copy, bytes, n);
		for (unsigned k = 0; i % 3 && k < 1 + i % 5; k++)
			copy[rng_below(&rng, i % 3 == 1 ? min_u64(n, 4096) : n)] =
			    (uint8_t)rng_next(&rng);

		struct state *r = state_reader(copy, length, STATE_VERSION, NULL);

		walk(&b, r);
		refused += !state_ok(r);
		state_free(r);
	}
	print_message("%u of 60 refused\n", refused);
	assert_true(refused >= 20);
	free(copy);
	state_free(s);
	drop(&a);
	drop(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_2824_a_core_goes_on_from_a_saved_state_as_after_a_pause),
		cmocka_unit_test(test_2825_a_state_of_another_machine_is_refused),
		cmocka_unit_test(test_2826_damaged_states_are_read_safely),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

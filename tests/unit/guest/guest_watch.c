/* SPDX-License-Identifier: MIT */
/*
 * guest_watch: the stretches that it tells are the instructions that single steps execute, with the
 * same addresses, wherever the run is cut: faults in the middle of a block, code that is written,
 * signals.
 */
#include <fcntl.h>

#include "isa/isa.h"
#include "unit/guest/guest_world.h"

static struct guest *new_guest(const char *program)
{
	static int null = -1;
	char *argv[] = { (char *)(uintptr_t)world_program(program), NULL };
	struct guest_config config = { .argv = argv };
	struct guest *g;
	struct err e;

	if (null < 0)
		null = open("/dev/null", O_RDWR | O_CLOEXEC);
	config.streams = (int[]){ null, null, null };
	g = guest_new(&config, &e);
	assert_non_null(g);
	return g;
}

struct told {
	uint64_t insts, accesses, hash, taken;
};

static void tell(struct told *t, uint64_t pc, uint32_t word, bool has, uint64_t addr)
{
	t->insts++;
	t->accesses += has;
	t->hash = hash_u64(t->hash ^ pc);
	t->hash = hash_u64(t->hash ^ word);
	t->hash = hash_u64(t->hash ^ (has ? addr : 1));
}

static bool accesses_memory(const struct inst *in)
{
	return op_info[in->op].flags & (OPF_LOAD | OPF_STORE);
}

static void take(void *ctx, const struct guest_seen *list, size_t n, uint64_t next_pc)
{
	struct told *t = ctx;

	for (const struct guest_seen *s = list; s < list + n; s++) {
		const struct guest_access *a = s->accesses;
		uint64_t pc = s->pc;

		assert_true(s->count > 0);
		for (const struct inst *in = s->insts; in < s->insts + s->count; in++) {
			const bool has = accesses_memory(in);

			if (has) {
				assert_true(a < s->accesses + s->naccesses);
				assert_ptr_equal(a->inst, in);
			}
			tell(t, pc, in->word, has, has ? a->addr : 0);
			a += has;
			pc += in->len;
			/* none but the last is a control transfer */
			if (in < s->insts + s->count - 1)
				assert_false(op_info[in->op].flags & OPF_CTRL);
		}
		assert_ptr_equal(a, s->accesses + s->naccesses);
		assert_int_equal(pc, s->end);
		t->taken += s->taken;
	}
}

static void step_all(const char *program, struct told *t)
{
	struct guest *g = new_guest(program);
	struct guest_step out = { .pc = 0 };

	while (!(out.flags & STEP_END)) {
		guest_step(g, &out);
		if (out.flags & STEP_FAULT || !out.inst)
			continue;
		/* The instruction may be gone with what it changed. */
		const struct inst in = isa_decode(out.inst->word);

		tell(t, out.pc, in.word, accesses_memory(&in), out.addr);
		t->taken += op_info[in.op].flags & OPF_CTRL && out.flags & STEP_TAKEN;
	}
	assert_int_equal(t->insts, guest_insts(g));
	guest_free(g);
}

static void watch_all(const char *program, uint64_t most, struct told *t)
{
	const struct guest_watcher w = { .seen = take, .ctx = t };
	struct guest *g = new_guest(program);
	struct rng r;

	rng_seed(&r, most);
	while (guest_watch(g, 1 + rng_below(&r, most), &w) == GUEST_RUNNING)
		;
	assert_int_equal(t->insts, guest_insts(g));
	guest_free(g);
}

static void test_4682_stretches_are_what_single_steps_execute(void **state)
{
	static const char *const programs[] = { "vectors", "signals" };
	static const uint64_t most[] = { 500, 1000000000 };

	for (unsigned p = 0; p < ARRAY_LEN(programs); p++) {
		struct told steps = { .insts = 0 };

		step_all(programs[p], &steps);
		assert_true(steps.accesses > 1000);
		for (unsigned i = 0; i < ARRAY_LEN(most); i++) {
			struct told seen = { .insts = 0 };

			watch_all(programs[p], most[i], &seen);
			assert_int_equal(seen.insts, steps.insts);
			assert_int_equal(seen.accesses, steps.accesses);
			assert_int_equal(seen.taken, steps.taken);
			assert_int_equal(seen.hash, steps.hash);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_4682_stretches_are_what_single_steps_execute),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * Basic block vectors: every way to execute a program gives those that single steps give, by the rule
 * itself. tests/guest/vectors.c is the program that makes it hard.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "guest/process/image.h"
#include "sampling/walk.h"
#include "unit/guest/guest_world.h"
#include "util/array.h"

/* What a run gave. */
struct vectors {
	FILE *out;
	char *text;
	size_t bytes;
	uint64_t insts, count;
	uint64_t interval; /* all but the last must have so many instructions */
	bool short_one;
	/* executions by pc, as pairs */
	uint64_t *pcs;
	size_t npcs;
};

static struct guest *new_guest(const char *path, bool interpreter, uint64_t quantum)
{
	static int null = -1;
	if (null < 0)
		null = open("/dev/null", O_RDWR | O_CLOEXEC);
	char *argv[] = { (char *)(uintptr_t)path, NULL };
	struct guest_config config = { .argv = argv,
				       .interpreter_only = interpreter,
				       .quantum = quantum,
				       .streams = (int[]){ null, null, null } };
	struct err e;

	struct guest *g = guest_new(&config, &e);
	assert_non_null(g);
	return g;
}

static void begin(struct vectors *v, uint64_t interval)
{
	*v = (struct vectors){ .interval = interval };
	v->out = open_memstream(&v->text, &v->bytes);
}

static void end(struct vectors *v)
{
	fclose(v->out);
}

static void release(struct vectors *v)
{
	free(v->text);
	free(v->pcs);
}

static bool take(void *ctx, const struct bb_interval *i, struct err *e)
{
	struct vectors *v = ctx;
	uint64_t sum = 0;

	(void)e;
	for (size_t k = 0; k < i->count; k++) {
		fprintf(v->out, " %llu:%llu", (unsigned long long)i->parts[k].block,
			(unsigned long long)i->parts[k].insts);
		assert_true(i->parts[k].insts > 0);
		sum += i->parts[k].insts;
	}
	for (unsigned k = 0; i->data && k < BB_DATA; k++)
		fprintf(v->out, " #%llu", (unsigned long long)i->data[k]);
	fputc('\n', v->out);
	assert_int_equal(sum, i->insts);
	assert_false(v->short_one);
	assert_true(sum <= v->interval);
	v->short_one = sum < v->interval;
	v->insts += sum;
	v->count++;
	return true;
}

/* ---- the engine ---- */

struct parts {
	struct bb_part *parts;
	size_t count;
	uint64_t insts;
};

static void take_part(void *ctx, uint64_t block, uint64_t insts)
{
	struct parts *p = ctx;

	*ARRAY_ADD(p->parts, p->count) = (struct bb_part){ block, insts };
	p->insts += insts;
}

static void hand_on(struct guest *g, bool data, struct vectors *v)
{
	struct parts p = { 0 };
	uint64_t counts[BB_DATA];

	guest_take_vector(g, take_part, &p);
	if (data)
		guest_take_data(g, counts);
	struct bb_interval i = { p.parts, p.count, p.insts, data ? counts : NULL };
	take(v, &i, NULL);
	free(p.parts);
}

static void count_pcs(void *ctx, uint64_t pc, const struct inst *insts, size_t count,
		      uint64_t times)
{
	struct vectors *v = ctx;

	for (size_t i = 0; i < count; i++) {
		*ARRAY_ADD(v->pcs, v->npcs) = pc;
		*ARRAY_ADD(v->pcs, v->npcs) = times;
		pc += insts[i].len;
	}
}

/* cut: also stops within intervals, at random. */
static void by_engine(const char *path, bool interpreter, bool data, uint64_t cut,
		      uint64_t interval, struct vectors *v)
{
	struct guest *g = new_guest(path, interpreter, 997);
	enum guest_status status = GUEST_RUNNING;
	struct rng rng;

	rng_seed(&rng, cut);
	begin(v, interval);
	guest_vectors(g, true, data);
	while (status == GUEST_RUNNING) {
		uint64_t stop = guest_insts(g) + interval;

		while (status == GUEST_RUNNING && guest_insts(g) < stop) {
			uint64_t left = stop - guest_insts(g);

			status = guest_run(g, cut ? 1 + rng_below(&rng, min_u64(left, 300)) : left);
		}
		hand_on(g, data, v);
	}
	assert_int_equal(v->insts, guest_insts(g));
	guest_visit_blocks(g, count_pcs, v);
	end(v);
	guest_free(g);
}

/* ---- single steps ---- */

struct stepping {
	struct guest *guest;
	struct engine_place at; /* of the instruction that is about to be executed */
	struct locality locality;
};

static void place(void *ctx, uint64_t pc, uint64_t *file, uint64_t *offset)
{
	struct stepping *s = ctx;

	(void)pc;
	*file = s->at.file;
	*offset = s->at.offset;
}

static void step_data(void *ctx, uint64_t counts[BB_DATA])
{
	locality_take(ctx, counts);
}

static void by_steps(const char *path, bool data, uint64_t interval, struct vectors *v)
{
	struct stepping *s = calloc(1, sizeof(*s));
	struct guest *g = s->guest = new_guest(path, false, 997);
	struct bb_walk_options o = { interval,	  take, v, place, s, data ? step_data : NULL,
				     &s->locality };
	struct bb_walk *w = bb_walk_new(&o);
	struct guest_step out = { 0 };
	struct err e;

	begin(v, interval);
	while (!(out.flags & STEP_END)) {
		uint64_t pc = guest_hart(g)->pc;

		image_place(g, pc, &s->at);
		guest_step(g, &out);
		if (out.flags & STEP_FAULT || !out.inst)
			continue;
		if (out.pc != pc)
			image_place(g, out.pc, &s->at);
		/* The instruction may be gone with what it changed. */
		struct inst in = isa_decode(out.inst->word);
		if (isa_has_locality(&in))
			locality_touch(&s->locality, out.addr);
		*ARRAY_ADD(v->pcs, v->npcs) = out.pc;
		*ARRAY_ADD(v->pcs, v->npcs) = 1;
		assert_true(bb_walk_add(w, out.tid, out.pc, out.pc + in.len,
					isa_ends_static_block(&in), &e));
	}
	assert_true(bb_walk_finish(w, &e));
	assert_int_equal(v->insts, guest_insts(g));
	bb_walk_free(w);
	end(v);
	guest_free(g);
	free(s);
}

static void same(const struct vectors *a, const struct vectors *b)
{
	assert_int_equal(a->insts, b->insts);
	assert_string_equal(a->text, b->text);
}

static void test_2840_interpreter_and_generated_code_give_the_vectors_of_single_steps(void **state)
{
	static const char *const programs[] = { "vectors", "signals", "threads" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
		const char *path = world_program(programs[i]);
		struct vectors steps, interpreted, generated;

		by_steps(path, false, 5003, &steps);
		by_engine(path, true, false, 0, 5003, &interpreted);
		by_engine(path, false, false, 0, 5003, &generated);
		assert_true(steps.count > 5);
		same(&steps, &interpreted);
		same(&steps, &generated);
		release(&steps);
		release(&interpreted);
		release(&generated);
	}
}

static void test_2841_where_runs_are_cut_does_not_change_vectors(void **state)
{
	const char *path = world_program("vectors");
	struct vectors whole, cut;

	(void)state;
	by_engine(path, false, false, 0, 20011, &whole);
	for (unsigned seed = 1; seed <= 4; seed++) {
		by_engine(path, seed % 2, false, seed, 20011, &cut);
		same(&whole, &cut);
		release(&cut);
	}
	release(&whole);
}

static void test_2842_the_data_part_is_that_of_single_steps(void **state)
{
	const char *path = world_program("vectors");
	struct vectors steps, other;

	(void)state;
	by_steps(path, true, 10007, &steps);
	assert_non_null(strchr(steps.text, '#'));
	for (unsigned i = 0; i < 4; i++) {
		by_engine(path, i % 2, true, i / 2, 10007, &other);
		same(&steps, &other);
		release(&other);
	}
	release(&steps);
}

static int by_pc(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return x[0] < y[0] ? -1 : x[0] > y[0];
}

/* Adds up pairs of the same pc. */
static void sum_pcs(struct vectors *v)
{
	size_t n = 0;

	qsort(v->pcs, v->npcs / 2, 2 * sizeof(*v->pcs), by_pc);
	for (size_t i = 0; i < v->npcs; i += 2) {
		if (n && v->pcs[n - 2] == v->pcs[i]) {
			v->pcs[n - 1] += v->pcs[i + 1];
			continue;
		}
		v->pcs[n] = v->pcs[i];
		v->pcs[n + 1] = v->pcs[i + 1];
		n += 2;
	}
	v->npcs = n;
}

static void test_2843_executions_of_every_instruction_are_exact_with_vectors(void **state)
{
	const char *path = world_program("vectors");
	struct vectors steps, engine;

	(void)state;
	by_steps(path, false, 1000003, &steps);
	by_engine(path, false, false, 7, 1000003, &engine);
	sum_pcs(&steps);
	sum_pcs(&engine);
	assert_int_equal(steps.npcs, engine.npcs);
	assert_memory_equal(steps.pcs, engine.pcs, steps.npcs * sizeof(*steps.pcs));
	release(&steps);
	release(&engine);
}

static void test_2844_a_block_belongs_to_a_file_and_an_offset(void **state)
{
	const char *path = world_program("vectors");
	struct guest *g = new_guest(path, false, 0);
	struct parts ignored = { 0 };
	unsigned files = 0, addresses = 0;

	(void)state;
	guest_vectors(g, true, false);
	while (guest_run(g, UINT64_MAX) == GUEST_RUNNING)
		;
	guest_take_vector(g, take_part, &ignored);
	assert_true(guest_vector_blocks(g) > 100);
	for (uint64_t n = 1; n <= guest_vector_blocks(g); n++) {
		struct guest_block b = guest_vector_block(g, n);

		/* The program runs twice and maps itself at other addresses, but is one file. */
		if (b.name) {
			assert_string_equal(b.path, path);
			assert_true(b.offset < 1u << 24);
			files++;
		} else {
			addresses++;
		}
		for (uint64_t k = 1; k < n; k++) {
			struct guest_block other = guest_vector_block(g, k);

			assert_false(other.offset == b.offset && other.name == b.name);
		}
	}
	assert_true(files > 100);
	/* What was written, and the page that signal handlers return through. */
	assert_in_range(addresses, 2, 10);
	free(ignored.parts);
	guest_free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    test_2840_interpreter_and_generated_code_give_the_vectors_of_single_steps),
		cmocka_unit_test(test_2841_where_runs_are_cut_does_not_change_vectors),
		cmocka_unit_test(test_2842_the_data_part_is_that_of_single_steps),
		cmocka_unit_test(test_2843_executions_of_every_instruction_are_exact_with_vectors),
		cmocka_unit_test(test_2844_a_block_belongs_to_a_file_and_an_offset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

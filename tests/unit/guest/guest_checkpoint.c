/* SPDX-License-Identifier: MIT */
/*
 * A process that was saved and restored goes on as if nothing had happened: the same instructions, output, exit status
 * and memory at its end as in one piece, from points anywhere in the guest tests.
 */
#include "guest_world.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "state/file.h"
#include "util/digest.h"

#define FAR UINT64_MAX

/* How a run ended. */
struct ending {
	uint64_t insts;
	int status;
	char memory[DIGEST_HEX], output[DIGEST_HEX];
};

/*
 * A folder for checkpoints, and where the output of guests goes. What fstat says of a file changes when it is written, and
 * programs leave that in their memory: so either the output is looked at, or (quiet, /dev/null) the memory.
 */
struct place {
	char folder[64], file[128];
	int out;
	bool quiet;
};

static void place_open(struct place *p, bool quiet)
{
	p->quiet = quiet;
	snprintf(p->folder, sizeof(p->folder), "/tmp/culprit-test-%d-XXXXXX", getpid());
	assert_non_null(mkdtemp(p->folder));
	snprintf(p->file, sizeof(p->file), "%s/one%s", p->folder, STATE_FILE_SUFFIX);
	p->out = quiet ? open("/dev/null", O_RDWR | O_CLOEXEC) : memfd_create("out", MFD_CLOEXEC);
}

static void place_close(struct place *p)
{
	char pool[128];

	snprintf(pool, sizeof(pool), "%s/pages.pool", p->folder);
	unlink(p->file);
	unlink(pool);
	assert_int_equal(rmdir(p->folder), 0);
	close(p->out);
}

static struct guest *start(const char *path, const struct place *p, uint64_t quantum)
{
	char *argv[] = { (char *)(uintptr_t)path, NULL };
	const int streams[] = { -1, p->out, p->out };
	const struct guest_config config = { .argv = argv, .streams = streams, .quantum = quantum };
	struct err e = { "" };
	struct guest *g = guest_new(&config, &e);

	assert_string_equal(e.text, "");
	return g;
}

static bool save(struct guest *g, const struct place *p, struct err *e)
{
	struct state_pool *pool = state_pool_open(p->folder, e);
	struct state_file *f;
	bool ok;

	assert_non_null(pool);
	f = state_file_new(pool);
	ok = guest_save(g, f, e) && state_file_write(f, p->file, e);
	state_file_free(f);
	state_pool_close(pool);
	return ok;
}

static struct guest *restore(const struct place *p, bool interpreter, struct err *e)
{
	const int streams[] = { -1, p->out, p->out };
	const struct guest_config config = { .streams = streams, .interpreter_only = interpreter };
	struct state_file *f = state_file_open(p->file, e);
	struct guest *g = f ? guest_restore(&config, f, e) : NULL;

	state_file_free(f);
	return g;
}

static void digest_memory(struct guest *g, char hex[DIGEST_HEX])
{
	uint8_t page[GUEST_PAGE_BYTES];
	struct digest d;

	digest_init(&d);
	for (size_t i = 0; i < g->mem.nregions; i++) {
		const struct mem_region *r = &g->mem.regions[i];

		digest_add(&d, &r->start, 8);
		digest_add(&d, &r->end, 8);
		digest_add(&d, &r->prot, 1);
		digest_text(&d, r->name);
		for (uint64_t at = r->start; r->prot & MEM_R && at < r->end; at += sizeof(page)) {
			if (mem_read(&g->mem, page, at, sizeof(page)) < 0)
				memset(page, 0xee, sizeof(page));
			digest_add(&d, page, sizeof(page));
		}
	}
	digest_hex(&d, hex);
}

static void empty(const struct place *p)
{
	assert_true(p->quiet || ftruncate(p->out, 0) == 0);
	lseek(p->out, 0, SEEK_SET);
}

static void finish(struct guest *g, const struct place *p, struct ending *end)
{
	struct digest d;

	while (guest_run(g, FAR) == GUEST_RUNNING)
		;
	end->insts = guest_insts(g);
	end->status = guest_exit_status(g);
	end->memory[0] = end->output[0] = 0;
	if (p->quiet)
		digest_memory(g, end->memory);
	guest_free(g);
	if (p->quiet)
		return;
	digest_init(&d);
	assert_true(digest_descriptor(&d, p->out));
	digest_hex(&d, end->output);
	empty(p);
}

static void same_ending(const struct ending *a, const struct ending *b, const char *name,
			uint64_t at)
{
	if (a->insts != b->insts || a->status != b->status || strcmp(a->output, b->output) ||
	    strcmp(a->memory, b->memory))
		print_message("%s, saved after %llu instructions:\n", name, (unsigned long long)at);
	assert_int_equal(a->insts, b->insts);
	assert_int_equal(a->status, b->status);
	assert_string_equal(a->output, b->output);
	assert_string_equal(a->memory, b->memory);
}

/* Saves g, ends it, and goes on from the checkpoint. False: it cannot be saved here. */
static bool through(struct guest *g, const struct place *p, bool interpreter,
		    const struct ending *whole, const char *name)
{
	const uint64_t at = guest_insts(g);
	struct ending end;
	struct err e = { "" };

	if (!guest_can_save(g, &e)) {
		guest_free(g);
		empty(p);
		return false;
	}
	e.text[0] = 0;
	assert_true(
	    save(g, p, &e) ||
	    (print_message("%s at %llu: %s\n", name, (unsigned long long)at, e.text), false));
	guest_free(g);
	g = restore(p, interpreter, &e);
	if (!g)
		print_message("%s at %llu: %s\n", name, (unsigned long long)at, e.text);
	assert_non_null(g);
	assert_int_equal(guest_insts(g), at);
	finish(g, p, &end);
	same_ending(whole, &end, name, at);
	return true;
}

static void random_points_of(const char *name, uint64_t quantum, unsigned points, bool quiet)
{
	const char *path = world_program(name);
	struct place p;
	struct ending whole;
	struct rng rng;
	unsigned saved = 0;

	place_open(&p, quiet);
	finish(start(path, &p, quantum), &p, &whole);
	rng_seed(&rng, 29 + quiet);
	for (unsigned i = 0; i < points; i++) {
		struct guest *g = start(path, &p, quantum);

		guest_run(g, i ? rng_below(&rng, whole.insts) : 0);
		saved += through(g, &p, i & 1, &whole, name);
	}
	/* Where a program has children that cannot be saved, it has points without. */
	assert_true(saved > 0);
	place_close(&p);
}

static void random_points(const char *name, uint64_t quantum, unsigned points)
{
	random_points_of(name, quantum, points / 2, false);
	random_points_of(name, quantum, points - points / 2, true);
}

static void test_2900_threads_go_on(void **state)
{
	(void)state;
	random_points("threads", 0, 6);
	random_points("threads", 777, 4);
}

static void test_2901_signals_go_on(void **state)
{
	(void)state;
	random_points("signals", 0, 6);
}

static void test_2902_timers_and_clocks_go_on(void **state)
{
	(void)state;
	random_points("clocks", 0, 8);
}

static void test_2903_mappings_go_on(void **state)
{
	(void)state;
	random_points("holes", 0, 8);
}

static void test_2904_a_crash_is_the_same_crash(void **state)
{
	(void)state;
	random_points("crash", 0, 4);
}

/* Steps to the first place from `after` on where the condition holds. */
static bool step_to(struct guest *g, bool (*is)(const struct guest *g), uint64_t after)
{
	struct guest_step s = { 0 };

	while (!(s.flags & STEP_END)) {
		if (guest_insts(g) >= after && is(g))
			return true;
		guest_step(g, &s);
	}
	return false;
}

static bool has_reservation(const struct guest *g)
{
	return g->cur->hart.lr_addr != ~0ull;
}

static bool in_a_handler(const struct guest *g)
{
	return g->cur->hart.x[1] == GUEST_TRAMPOLINE;
}

static bool one_waits(const struct guest *g)
{
	for (size_t i = 0; i < g->sched.nthreads; i++)
		if (g->sched.threads[i]->state == THREAD_BLOCKED)
			return true;
	return false;
}

static void at_places(const char *name, bool (*is)(const struct guest *g), unsigned places)
{
	const char *path = world_program(name);
	struct place p;
	struct ending whole;
	unsigned saved = 0;

	place_open(&p, true);
	finish(start(path, &p, 0), &p, &whole);
	for (unsigned i = 0; i < places; i++) {
		struct guest *g = start(path, &p, 0);

		if (step_to(g, is, whole.insts / places * i))
			saved += through(g, &p, i & 1, &whole, name);
		else
			guest_free(g);
	}
	assert_true(saved > 0);
	place_close(&p);
}

static void test_2905_between_lr_and_sc(void **state)
{
	(void)state;
	at_places("threads", has_reservation, 4);
}

static void test_2906_within_a_signal_handler(void **state)
{
	(void)state;
	at_places("signals", in_a_handler, 2);
}

static void test_2907_while_threads_wait(void **state)
{
	(void)state;
	at_places("threads", one_waits, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_2900_threads_go_on),
		cmocka_unit_test(test_2901_signals_go_on),
		cmocka_unit_test(test_2902_timers_and_clocks_go_on),
		cmocka_unit_test(test_2903_mappings_go_on),
		cmocka_unit_test(test_2904_a_crash_is_the_same_crash),
		cmocka_unit_test(test_2905_between_lr_and_sc),
		cmocka_unit_test(test_2906_within_a_signal_handler),
		cmocka_unit_test(test_2907_while_threads_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

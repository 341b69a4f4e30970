/* SPDX-License-Identifier: MIT */
/*
 * Runs a program in every way there is to run it and checks that it executes the same instructions,
 * one by one:   stream [-L SYSROOT] [-m MACHINE] [-n INSTS] [-c CPI] [-d] PROGRAM [ARG…]
 *
 * The reference is the program stepped by guest_step: the pc and thread of every instruction. Held
 * against it are
 *   - guest_run in pieces of many lengths, by the interpreter and by generated code: the instruction
 *     after each piece;
 *   - guest_run in one piece: how often each instruction was executed;
 *   - the core: every instruction that commits, in one piece and in turns with guest_run and core_warm;
 *   - the core warming alone, in pieces: the instruction after each.
 * The exit status, the number of instructions and the pages that loads and stores touched are held
 * against it, too. -c 0 lets time follow from
 * cycles; -d expects that some way differs.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/core.h"
#include "guest/guest.h"
#include "util/array.h"
#include "util/util.h"

struct reference {
	uint32_t *insts; /* a hash of pc and thread for each */
	size_t count, capacity;
	uint64_t sum;	  /* of a hash of each pc */
	uint8_t *touched; /* by page */
	uint64_t faults;
	int status;
	bool ended;
};

struct way {
	const char *name;
	const struct reference *ref;
	uint64_t seen;
	bool pages; /* it says which were touched */
	bool differs;
};

struct run_config {
	struct guest_config guest;
	struct machine machine;
	uint64_t limit;
};

static uint32_t hash_of(uint64_t pc, uint32_t tid)
{
	return (uint32_t)(hash_u64((pc & ((1ull << REC_PC_BITS) - 1)) ^ (uint64_t)tid << 51) >> 32);
}

/* With streams of its own: a program may leave theirs in another state (O_NONBLOCK). */
static struct guest *start(const struct run_config *c)
{
	int out = open("/dev/null", O_RDWR), streams[3] = { out, out, out };
	struct guest_config config = c->guest;
	struct err e;

	config.streams = streams;

	struct guest *g = out >= 0 ? guest_new(&config, &e) : NULL;

	if (!g)
		die("%s", out >= 0 ? e.text : "/dev/null");
	guest_touched(g);
	close(out);
	return g;
}

#define PAGES (GUEST_ADDR_LIMIT / GUEST_PAGE_BYTES)

static void touch(uint8_t *touched, const struct guest_step *s)
{
	if (!(s->flags & STEP_FAULT) && op_info[s->inst->op].flags & (OPF_LOAD | OPF_STORE))
		touched[s->addr / GUEST_PAGE_BYTES] = 1;
}

static void step_all(const struct run_config *c, struct reference *r)
{
	struct guest *g = start(c);
	struct guest_step s = { 0 };

	while (!(s.flags & STEP_END) && guest_insts(g) < c->limit) {
		uint64_t before = guest_insts(g);

		guest_step(g, &s);
		if (guest_insts(g) == before) {
			r->faults++;
			continue;
		}
		if (r->count == r->capacity) {
			r->capacity = r->capacity ? 2 * r->capacity : 1u << 20;
			r->insts = x_realloc(r->insts, r->capacity * sizeof(*r->insts));
		}
		touch(r->touched, &s);
		r->insts[r->count++] = hash_of(s.pc, s.tid);
		r->sum += hash_u64(s.pc);
	}
	r->ended = s.flags & STEP_END;
	r->status = r->ended ? guest_exit_status(g) : 0;
	guest_free(g);
}

/* The instruction with that number (from 0) was at pc, in thread tid. */
static void see(struct way *w, uint64_t number, uint64_t pc, uint32_t tid)
{
	w->seen++;
	if (w->differs || (number < w->ref->count && w->ref->insts[number] == hash_of(pc, tid)))
		return;
	w->differs = true;
	printf("%s: instruction %" PRIu64 " is another one (pc %#" PRIx64 ", thread %u)\n", w->name,
	       number, pc, tid);
}

static void end(struct way *w, struct guest *g, bool ended)
{
	if (!w->differs && (ended != w->ref->ended || guest_insts(g) != w->ref->count ||
			    (ended && guest_exit_status(g) != w->ref->status))) {
		w->differs = true;
		printf("%s: %" PRIu64 " instructions, status %d; stepped: %zu, status %d\n",
		       w->name, guest_insts(g), ended ? guest_exit_status(g) : -1, w->ref->count,
		       w->ref->status);
	}
	if (!w->differs && w->pages && memcmp(w->ref->touched, guest_touched(g), PAGES) != 0) {
		const uint8_t *touched = guest_touched(g);
		uint64_t page = 0;

		while (w->ref->touched[page] == touched[page])
			page++;
		w->differs = true;
		printf("%s: page %#" PRIx64 " was %stouched\n", w->name,
		       (uint64_t)(page * GUEST_PAGE_BYTES), touched[page] ? "" : "not ");
	}
	guest_free(g);
}

/* Mostly short, so that blocks are cut everywhere; now and then long, so that code gets hot. */
static uint64_t some(struct rng *r, uint64_t most)
{
	uint64_t n = rng_next(r);

	return 1 + (n >> 8) % ((n & 127) == 0 ? most : (n & 7) ? 40 : 1000);
}

static void see_step(struct way *w, struct guest *g, bool *ended)
{
	struct guest_step s;
	uint64_t number = guest_insts(g);

	guest_step(g, &s);
	touch(guest_touched(g), &s);
	if (guest_insts(g) > number)
		see(w, number, s.pc, s.tid);
	*ended = s.flags & STEP_END;
}

static void run_pieces(const struct run_config *c, struct way *w)
{
	struct guest *g = start(c);
	bool ended = false;
	struct rng r;

	rng_seed(&r, 1);
	while (!ended && guest_insts(g) < c->limit) {
		ended = guest_run(g, min_u64(some(&r, 100000), c->limit - guest_insts(g))) !=
			GUEST_RUNNING;
		if (!ended && guest_insts(g) < c->limit)
			see_step(w, g, &ended);
	}
	end(w, g, ended);
}

static void add_block(void *ctx, uint64_t pc, const struct inst *insts, size_t count,
		      uint64_t times)
{
	uint64_t *sum = ctx;

	for (size_t i = 0; i < count; pc += insts[i++].len)
		*sum += hash_u64(pc) * times;
}

static void run_whole(const struct run_config *c, struct way *w)
{
	struct guest *g = start(c);
	uint64_t sum = 0;

	guest_count_blocks(g, true);

	bool ended = guest_run(g, c->limit) != GUEST_RUNNING;

	guest_visit_blocks(g, add_block, &sum);
	if (sum != w->ref->sum) {
		w->differs = true;
		printf("%s: other instructions were executed, or not as often\n", w->name);
	}
	end(w, g, ended);
}

/* Takes the core's records. */
struct listener {
	struct emit emit;
	struct rec_cycle cycles[4096];
	struct rec_inst insts[4096];
	struct way *way;
	uint64_t next;
};

static void take(struct emit *e)
{
	struct listener *l = (struct listener *)e;

	for (size_t i = 0; i < e->ninsts; i++)
		if ((e->insts[i].flags & (RI_COMMITTED | RI_FAULT)) == RI_COMMITTED)
			see(l->way, l->next++, e->insts[i].pc, e->insts[i].tid);
	e->ninsts = e->ncycles = 0;
}

static void run_core(const struct run_config *c, struct way *w, bool timed, bool other)
{
	struct listener *l = x_calloc(1, sizeof(*l));
	struct guest *g = start(c);
	bool ended = false;
	struct err e;
	struct rng r;

	l->way = w;
	l->emit = (struct emit){ .cycles = l->cycles,
				 .insts = l->insts,
				 .max_cycles = ARRAY_LEN(l->cycles),
				 .max_insts = ARRAY_LEN(l->insts),
				 .wants = WANT_INSTS | WANT_CYCLES,
				 .full = take };

	struct core *core = core_new(&c->machine, g, timed ? &l->emit : NULL, &e);

	if (!core)
		die("%s", e.text);
	rng_seed(&r, 2);
	while (!ended && guest_insts(g) < c->limit) {
		uint64_t left = c->limit - guest_insts(g);

		if (timed) {
			l->next = guest_insts(g);
			ended = core_run(core, other ? min_u64(some(&r, 20000), left) : left) ==
				CORE_ENDED;
			take(&l->emit);
		} else {
			see_step(w, g, &ended);
			core_attach(core);
		}
		left = c->limit - guest_insts(g);
		if (other && !ended && left)
			ended = core_warm(core, min_u64(some(&r, 50000), left)) == CORE_ENDED;
		left = c->limit - guest_insts(g);
		if (other && timed && !ended && left) {
			ended = guest_run(g, min_u64(some(&r, 50000), left)) != GUEST_RUNNING;
			core_attach(core);
		}
	}
	core_free(core);
	end(w, g, ended);
	free(l);
}

int main(int argc, char **argv)
{
	struct run_config c = { .limit = 1ull << 60, .guest.clock_cpi = 1 };
	const char *machine = "boom-tip";
	bool expected = false, differs = false;
	struct reference ref = { .touched = x_calloc(1, PAGES) };
	struct err e;
	int opt;

	while ((opt = getopt(argc, argv, "+L:m:n:c:d")) != -1) {
		switch (opt) {
		case 'L':
			c.guest.sysroot = optarg;
			break;
		case 'm':
			machine = optarg;
			break;
		case 'n':
			c.limit = strtoull(optarg, NULL, 0);
			break;
		case 'c':
			c.guest.clock_cpi = strtod(optarg, NULL);
			break;
		case 'd':
			expected = true;
			break;
		default:
			return 2;
		}
	}
	if (optind == argc)
		die("usage: stream [-L SYSROOT] [-m MACHINE] [-n INSTS] [-c CPI] [-d] PROGRAM "
		    "[ARG…]");
	if (!machine_load(&c.machine, machine, &e))
		die("%s", e.text);
	c.guest.argv = argv + optind;
	setvbuf(stdout, NULL, _IOLBF, 0);
	step_all(&c, &ref);
	for (unsigned i = 0; i < 7; i++) {
		static const char *const names[] = {
			"interpreter in pieces",
			"generated code in pieces",
			"interpreter",
			"generated code",
			"core",
			"core in turns",
			"core warming",
		};
		struct way w = { .name = names[i],
				 .ref = &ref,
				 .pages = i < 4 || c.machine.page_faults };

		c.guest.interpreter_only = i == 0 || i == 2;
		if (i < 2)
			run_pieces(&c, &w);
		else if (i < 4)
			run_whole(&c, &w);
		else
			run_core(&c, &w, i<6, i> 4);
		differs |= w.differs;
		if (i != 2 && i != 3)
			printf("%s: %" PRIu64 " instructions seen\n", w.name, w.seen);
	}
	printf("%zu instructions, %" PRIu64 " faults, status %d%s\n", ref.count, ref.faults,
	       ref.status, ref.ended ? "" : ", cut");
	free(ref.insts);
	free(ref.touched);
	return differs != expected;
}

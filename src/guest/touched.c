/* SPDX-License-Identifier: MIT */
/*
 * Which pages the guest's own loads and stores have touched: a byte for each page. The core models a
 * page fault for the first touch of a page, whoever executed it; copies that the (emulated) kernel
 * makes do not count. A page once touched stays so, also when it is unmapped.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "guest/engine/engine.h"
#include "guest/process/process.h"

#define PAGES	   (GUEST_ADDR_LIMIT / GUEST_PAGE_BYTES)
#define RUNS_LIMIT (PAGES / 2)

uint8_t *guest_touched(struct guest *g)
{
	if (g->touched)
		return g->touched;
	g->touched = mmap(NULL, PAGES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (g->touched == MAP_FAILED)
		die("out of memory: cannot map the table of touched pages");
	engine_track(g->engine, g->touched);
	return g->touched;
}

void touched_free(struct guest *g)
{
	if (g->touched)
		munmap(g->touched, PAGES);
	g->touched = NULL;
}

/* The first page from `at` on whose byte is (not) set; PAGES: none. Most of the table is empty. */
static uint64_t next_page(const uint8_t *touched, uint64_t at, bool set)
{
	for (; at < PAGES && (touched[at] != 0) != set; at++) {
		uint64_t eight;

		while (set && at % 8 == 0 && at < PAGES &&
		       (memcpy(&eight, touched + at, 8), eight == 0))
			at += 8;
		if (at >= PAGES || (touched[at] != 0) == set)
			break;
	}
	return at < PAGES ? at : PAGES;
}

/* How many runs of touched pages there are. */
static size_t count_runs(const struct guest *g)
{
	size_t n = 0;

	for (uint64_t at = 0; (at = next_page(g->touched, at, true)) < PAGES; n++)
		at = next_page(g->touched, at, false);
	return n;
}

void guest_touched_state(struct guest *g, struct state *s)
{
	bool known = g->touched;
	uint64_t at = 0;
	size_t n;

	state_mark(s, "touched");
	state_bool(s, &known);
	if (!known)
		return;
	if (state_reading(s))
		guest_touched(g);
	n = state_count(s, state_reading(s) ? 0 : count_runs(g), RUNS_LIMIT);
	for (size_t i = 0; i < n && state_ok(s); i++) {
		uint64_t from = 0, to = 0;

		if (!state_reading(s)) {
			from = next_page(g->touched, at, true);
			to = next_page(g->touched, from, false);
		}
		state_u64(s, &from);
		state_u64(s, &to);
		if (from < at || to <= from || to > PAGES) {
			state_fail(s, "touched pages are not in order");
			return;
		}
		if (state_reading(s))
			memset(g->touched + from, 1, to - from);
		at = to;
	}
}

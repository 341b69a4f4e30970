/* SPDX-License-Identifier: MIT */
/*
 * A memory system on a test bench: requests by hand, completions in a table by token, and a clock
 * that jumps from event to event.
 */
#ifndef TESTS_MEMORY_RIG_H
#define TESTS_MEMORY_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "core/mem/mem.h"

#define RIG_TOKENS 65536

enum rig_kind {
	RIG_LOAD,
	RIG_STORE,
	RIG_FETCH,
};

struct rig {
	struct memsys_config cfg;
	struct memsys *ms;
	uint64_t now;
	uint64_t tokens;	/* last one given out */
	struct mem_result *res; /* [token] */
	uint8_t *done;		/* [token] times completed */
	uint32_t woken;		/* by wake() */
	uint64_t early;		/* completions announced for a cycle before the event's */
};

static inline void rig_done(void *ctx, uint64_t token, const struct mem_result *r)
{
	struct rig *g = ctx;

	assert_true(token > 0 && token < RIG_TOKENS);
	g->done[token]++;
	g->res[token] = *r;
}

static inline void rig_wake(void *ctx, uint32_t caches)
{
	((struct rig *)ctx)->woken |= caches;
}

/* A small machine whose times are easy to compute: TLBs off, L1s 1 KB 2-way latency 2, L2 4 KB
 * 4-way latency 10, flat memory 100. */
static inline void rig_config(struct memsys_config *cfg)
{
	int i;

	*cfg = machine_default.mem;
	for (i = 0; i < MEM_CACHES; i++) {
		cfg->cache[i].ways = i <= MEM_L1D ? 2 : 4;
		cfg->cache[i].mshrs = 8;
	}
	cfg->cache[MEM_L1I].size_bytes = cfg->cache[MEM_L1D].size_bytes = 1024;
	cfg->cache[MEM_L1I].latency = cfg->cache[MEM_L1D].latency = 2;
	cfg->cache[MEM_L2].size_bytes = 4096;
	cfg->cache[MEM_L2].latency = 10;
	cfg->cache[MEM_LLC].latency = 30;
	cfg->itlb.entries = cfg->dtlb.entries = 0;
	cfg->mem.latency = 100;
}

static inline struct rig *rig_new(const struct memsys_config *cfg)
{
	struct rig *g = x_calloc(1, sizeof(*g));
	struct memsys_callbacks cb = { .ctx = g, .done = rig_done, .wake = rig_wake };
	struct err e = { "" };

	if (!machine_check_memory(cfg, &e))
		fail_msg("%s", e.text);
	g->cfg = *cfg;
	g->res = x_calloc(RIG_TOKENS, sizeof(*g->res));
	g->done = x_calloc(RIG_TOKENS, 1);
	g->ms = memsys_new(cfg, &cb);
	return g;
}

static inline void rig_free(struct rig *g)
{
	struct err e = { "" };

	if (!memsys_check_state(g->ms, &e))
		fail_msg("%s", e.text);
	memsys_free(g->ms);
	free(g->res);
	free(g->done);
	free(g);
}

/* Lets time pass up to and including the events of cycle t. */
static inline void rig_to(struct rig *g, uint64_t t)
{
	while (memsys_next_event(g->ms) <= t) {
		uint64_t n = memsys_next_event(g->ms);

		g->now = n > g->now ? n : g->now;
		memsys_advance(g->ms, g->now);
	}
	g->now = t;
	memsys_advance(g->ms, t);
}

/* Makes one request in the present cycle; *token (may be NULL) gets its token. */
static inline enum mem_reply rig_ask(struct rig *g, enum rig_kind kind, uint64_t addr,
				     uint32_t size, uint32_t flags, uint64_t *token)
{
	uint64_t t = ++g->tokens;
	struct mem_result *r = &g->res[t];
	enum mem_reply reply;

	if (kind == RIG_LOAD)
		reply = memsys_load(g->ms, g->now, addr, size, 0x1000, t, flags, r);
	else if (kind == RIG_STORE)
		reply = memsys_store(g->ms, g->now, addr, size, 0x1000, t, flags, r);
	else
		reply = memsys_ifetch(g->ms, g->now, addr, size, t, flags, r);
	assert_int_equal(reply, r->reply);
	if (reply == MEM_DONE)
		g->done[t]++;
	if (token)
		*token = t;
	return reply;
}

/* Lets time pass until the request is complete. */
static inline const struct mem_result *rig_wait(struct rig *g, uint64_t token)
{
	while (!g->done[token]) {
		assert_true(memsys_next_event(g->ms) != MEM_NEVER);
		rig_to(g, memsys_next_event(g->ms));
	}
	assert_int_equal(g->done[token], 1);
	return &g->res[token];
}

/* Lets time pass until nothing is under way. */
static inline void rig_drain(struct rig *g)
{
	while (memsys_next_event(g->ms) != MEM_NEVER)
		rig_to(g, memsys_next_event(g->ms));
}

/* Makes a request at cycle t, repeats it until it is accepted, and waits for its result. */
static inline const struct mem_result *rig_access(struct rig *g, enum rig_kind kind, uint64_t t,
						  uint64_t addr, uint32_t flags)
{
	uint64_t token;

	rig_to(g, t);
	while (rig_ask(g, kind, addr, 8, flags, &token) == MEM_RETRY)
		rig_to(g, min_u64(g->res[token].ready, memsys_next_event(g->ms)));
	return rig_wait(g, token);
}

/* Makes one access in an idle system and waits until it is idle again; returns the latency. */
static inline uint64_t rig_latency(struct rig *g, enum rig_kind kind, uint64_t addr)
{
	uint64_t start, latency;

	rig_drain(g);
	start = g->now + 1000;
	latency = rig_access(g, kind, start, addr, 0)->ready - start;
	rig_drain(g);
	return latency;
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Host time per request of the memory model: L1 hits (a few lines, and all over the L1), L2 hits,
 * DRAM misses with eight outstanding, and functional warming. Absolute times depend on the host;
 * compare lines of one run.
 */
#include <stdio.h>
#include <time.h>

#include "core/mem/mem.h"

static uint64_t completions;

static void done(void *ctx, uint64_t token, const struct mem_result *r)
{
	completions++;
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static struct memsys *machine(void)
{
	struct memsys_callbacks cb = { .done = done };
	struct memsys_config c;

	c = machine_default.mem; /* the memory of boom-tip */
	c.cache[MEM_L1D].prefetch.kind = MEM_PF_NEXT_LINE;
	c.cache[MEM_L2].mshrs = 12;
	c.cache[MEM_LLC].size_bytes = 4 << 20;
	c.stlb = (struct mem_tlb_config){ .entries = 512, .ways = 1, .latency = 4 };
	c.walk = MEM_WALK_CACHES;
	c.mem.kind = MEM_DRAM;
	c.mem.bytes_per_kcycle = 8000;
	return memsys_new(&c, &cb);
}

static void run(const char *name, uint64_t span, uint64_t stride, uint64_t n)
{
	struct memsys *ms = machine();
	uint64_t i, addr = 0, t = 0;
	struct mem_result r;
	double start;

	for (i = 0; i < span; i += 64)
		memsys_warm(ms, MEM_ACCESS_LOAD, 0x100000 + i, 8, 0);
	start = now_ns();
	for (i = 0; i < n; i++) {
		while (memsys_load(ms, t, 0x100000 + addr, 8, 0x1000, i + 1, 0, &r) == MEM_RETRY) {
			t = memsys_next_event(ms);
			memsys_advance(ms, t);
		}
		addr = (addr + stride) & (span - 1);
		t++;
		if (memsys_next_event(ms) <= t)
			memsys_advance(ms, t);
	}
	start = now_ns() - start;
	printf("%-36s %7.1f ns a request  (%.2f events, %.1f%% L1 misses)\n", name, start / n,
	       (double)memsys_stats(ms)->events / n,
	       100.0 * memsys_stats(ms)->cache[MEM_L1D].misses /
		   memsys_stats(ms)->cache[MEM_L1D].accesses);
	memsys_free(ms);
}

int main(void)
{
	struct memsys *ms;
	double start;
	uint64_t i;

	run("L1 hits, one page", 4096, 8, 20000000);
	run("L1 hits, all of the L1, scattered", 32768, 8 * 1237, 20000000);
	run("L2 hits, scattered", 262144, 64 * 1237, 2000000);
	run("LLC hits, scattered", 2 << 20, 64 * 12371, 1000000);
	run("DRAM, sequential words", 64 << 20, 8, 2000000);
	run("DRAM, scattered", 64 << 20, 64 * 123457, 500000);
	ms = machine();
	start = now_ns();
	for (i = 0; i < 10000000; i++)
		memsys_warm(ms, MEM_ACCESS_LOAD, i * 8 & 0xffff, 8, 0);
	printf("%-36s %7.1f ns a request\n", "warming, 64 KB sequential", (now_ns() - start) / 1e7);
	memsys_free(ms);
	return completions == 0;
}

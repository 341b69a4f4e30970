/* SPDX-License-Identifier: MIT */
/*
 * Defaults and legality of a memory system. Every number has a range here, every combination that
 * cannot work a sentence; the access path relies on both (shifts and masks instead of divisions).
 */
#include <string.h>

#include "core/mem/mem.h"

static const char *const cache_names[MEM_CACHES] = { "l1i", "l1d", "l2", "llc" };

void memsys_config_default(struct memsys_config *cfg)
{
	static const uint32_t sizes[MEM_CACHES] = { 32768, 32768, 524288, 0 };
	static const uint32_t latencies[MEM_CACHES] = { 1, 3, 12, 30 };
	int i;

	memset(cfg, 0, sizeof(*cfg));
	cfg->line_bytes = 64;
	for (i = 0; i < MEM_CACHES; i++) {
		struct mem_cache_config *c = &cfg->cache[i];

		c->size_bytes = sizes[i];
		c->ways = 8;
		c->latency = latencies[i];
		c->miss_latency = -1;
		c->mshrs = i == MEM_L1I ? 4 : 8;
		c->targets = 16;
		c->bank_interval = 1;
		c->prefetch =
		    (struct mem_prefetch_config){ .degree = 1, .distance = 1, .entries = 64 };
		c->bus.interval = 1;
	}
	cfg->itlb.entries = cfg->dtlb.entries = 32;
	cfg->page_bytes = 4096;
	cfg->walk_latency = 30;
	cfg->walkers = 1;
	cfg->walk_cache = 8;
	cfg->mem.latency = 100;
	cfg->mem.bus.interval = 1;
	cfg->mem.bytes_per_kcycle = 0;
	cfg->mem.dram = (struct mem_dram_config){ .channels = 1,
						  .ranks = 4,
						  .banks = 8,
						  .row_bytes = 8192,
						  .cas = 14,
						  .rcd = 14,
						  .rp = 14,
						  .clock_milli = 3200,
						  .overhead = 20,
						  .queue_depth = 8,
						  .max_reads = 32,
						  .max_writes = 32,
						  .max_bypass = 16 };
	cfg->seed = 1;
}

static bool power_of_two(uint64_t x)
{
	return x && !(x & (x - 1));
}

struct check {
	struct err *e;
	const char *section;
};

static bool range(const struct check *k, const char *key, uint64_t v, uint64_t low, uint64_t high)
{
	if (v >= low && v <= high)
		return true;
	return err_set(k->e, "%s.%s = %llu: out of range, valid: %llu to %llu", k->section, key,
		       (unsigned long long)v, (unsigned long long)low, (unsigned long long)high);
}

static bool range_pow2(const struct check *k, const char *key, uint64_t v, uint64_t low,
		       uint64_t high)
{
	if (v >= low && v <= high && power_of_two(v))
		return true;
	return err_set(k->e, "%s.%s = %llu: must be a power of two, valid: %llu to %llu",
		       k->section, key, (unsigned long long)v, (unsigned long long)low,
		       (unsigned long long)high);
}

static bool check_bus(const struct check *k, const struct mem_bus_config *b, uint32_t line)
{
	if (b->width_bytes && !range_pow2(k, "bus_width", b->width_bytes, 1, line))
		return false;
	return range(k, "bus_interval", b->interval, 1, 64);
}

static bool check_prefetch(const struct check *k, const struct mem_prefetch_config *p)
{
	if (p->kind >= MEM_PF_COUNT)
		return err_set(
		    k->e, "%s.prefetch = %u: no such prefetcher, valid: none, next-line, stride",
		    k->section, p->kind);
	if (p->kind == MEM_PF_NONE)
		return true;
	return range(k, "prefetch_degree", p->degree, 1, 8) &&
	       range(k, "prefetch_distance", p->distance, 1, 64) &&
	       range_pow2(k, "prefetch_entries", p->entries, 1, 4096);
}

static bool check_cache(const struct memsys_config *cfg, int i, struct err *e)
{
	const struct mem_cache_config *c = &cfg->cache[i];
	struct check k = { e, cache_names[i] };
	uint64_t way_bytes;

	if (!c->size_bytes) {
		if (i > MEM_L1D)
			return true;
		return err_set(
		    e, "%s.size = 0: the L1 caches cannot be left out, valid: %u to 1073741824",
		    k.section, cfg->line_bytes);
	}
	if (!range(&k, "size", c->size_bytes, cfg->line_bytes, 1u << 30) ||
	    !range(&k, "ways", c->ways, 1, 64))
		return false;
	way_bytes = (uint64_t)c->ways * cfg->line_bytes;
	if (c->size_bytes % way_bytes || !power_of_two(c->size_bytes / way_bytes))
		return err_set(
		    e,
		    "%s.size = %u: size / (ways × line) = %u / (%u × %u) must be a power of two; "
		    "change %s.size or %s.ways",
		    k.section, c->size_bytes, c->size_bytes, c->ways, cfg->line_bytes, k.section,
		    k.section);
	if (!range(&k, "latency", c->latency, 1, 1000) || !range(&k, "mshrs", c->mshrs, 1, 256) ||
	    !range(&k, "targets", c->targets, 1, 256) || !range(&k, "ports", c->ports, 0, 64) ||
	    !range(&k, "bank_interval", c->bank_interval, 1, 64))
		return false;
	if (c->miss_latency < -1 || c->miss_latency > 1000)
		return err_set(
		    e,
		    "%s.miss_latency = %d: out of range, valid: 0 to 1000, or -1 for the latency",
		    k.section, c->miss_latency);
	if (c->banks && !range_pow2(&k, "banks", c->banks, 1, 64))
		return false;
	if (c->replacement > MEM_RANDOM)
		return err_set(e, "%s.replacement = %u: no such policy, valid: lru, plru, random",
			       k.section, c->replacement);
	if (c->replacement == MEM_PLRU && !power_of_two(c->ways))
		return err_set(
		    e, "%s.ways = %u: replacement plru needs a power of two, valid: 1 to 64",
		    k.section, c->ways);
	if (i != MEM_L1D && (c->write_through || c->no_write_allocate))
		return err_set(e, "%s.%s = on: only l1d can be so", k.section,
			       c->write_through ? "write_through" : "no_write_allocate");
	if (i <= MEM_L1D && c->inclusive)
		return err_set(
		    e, "%s.inclusive = on: there is no cache above an L1; valid for l2 and llc",
		    k.section);
	return check_prefetch(&k, &c->prefetch) && check_bus(&k, &c->bus, cfg->line_bytes);
}

static bool check_tlb(const struct mem_tlb_config *t, const char *section, struct err *e)
{
	struct check k = { e, section };

	if (!t->entries)
		return true;
	if (!range(&k, "entries", t->entries, 1, 65536) ||
	    !range(&k, "latency", t->latency, 0, 1000))
		return false;
	if (t->ways &&
	    (t->ways > t->entries || t->entries % t->ways || !power_of_two(t->entries / t->ways)))
		return err_set(e,
			       "%s.ways = %u: entries / ways = %u / %u must be a power of two; "
			       "valid: a divisor "
			       "of %s.entries, or 0 for fully associative",
			       section, t->ways, t->entries, t->ways, section);
	return true;
}

static bool check_memory(const struct memsys_config *cfg, struct err *e)
{
	const struct mem_memory_config *m = &cfg->mem;
	const struct mem_dram_config *d = &m->dram;
	struct check k = { e, "mem" };

	if (m->kind > MEM_DRAM)
		return err_set(e, "mem.kind = %u: no such memory, valid: flat, dram", m->kind);
	if (!range(&k, "bytes_per_kcycle", m->bytes_per_kcycle, m->kind == MEM_DRAM ? 1 : 0,
		   10000000))
		return false;
	if (m->kind == MEM_FLAT)
		return range(&k, "latency", m->latency, 1, 100000) &&
		       check_bus(&k, &m->bus, cfg->line_bytes);
	k.section = "dram";
	if (!range_pow2(&k, "channels", d->channels, 1, 8) ||
	    !range_pow2(&k, "ranks", d->ranks, 1, 8) || !range_pow2(&k, "banks", d->banks, 1, 32) ||
	    !range_pow2(&k, "row_bytes", d->row_bytes, cfg->line_bytes, 1u << 20) ||
	    !range(&k, "cas", d->cas, 1, 100) || !range(&k, "rcd", d->rcd, 1, 100) ||
	    !range(&k, "rp", d->rp, 1, 100) || !range(&k, "ras", d->ras, 0, 200) ||
	    !range(&k, "clock_milli", d->clock_milli, 100, 100000) ||
	    !range(&k, "overhead", d->overhead, 0, 1000) ||
	    !range(&k, "queue_depth", d->queue_depth, 1, 64) ||
	    !range(&k, "max_reads", d->max_reads, 1, 256) ||
	    !range(&k, "max_writes", d->max_writes, 1, 256) ||
	    !range(&k, "max_bypass", d->max_bypass, 1, 1000))
		return false;
	return true;
}

bool memsys_check(const struct memsys_config *cfg, struct err *e)
{
	struct check mem = { e, "mem" }, walk = { e, "walk" };
	int i;

	if (!range_pow2(&mem, "line", cfg->line_bytes, 16, 1024) ||
	    !range_pow2(&walk, "page", cfg->page_bytes, 4096, 1u << 30))
		return false;
	for (i = 0; i < MEM_CACHES; i++) {
		if (!check_cache(cfg, i, e))
			return false;
	}
	if (!check_tlb(&cfg->itlb, "itlb", e) || !check_tlb(&cfg->dtlb, "dtlb", e) ||
	    !check_tlb(&cfg->stlb, "stlb", e))
		return false;
	if (cfg->walk > MEM_WALK_CACHES)
		return err_set(e, "walk.kind = %u: no such walk, valid: flat, caches", cfg->walk);
	return range(&walk, "latency", cfg->walk_latency, 0, 10000) &&
	       range(&walk, "walkers", cfg->walkers, 1, 16) &&
	       range(&walk, "cache", cfg->walk_cache, 0, 64) && check_memory(cfg, e);
}

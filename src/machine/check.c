/* SPDX-License-Identifier: MIT */
/*
 * Whether a machine can work: ranges and powers of two as the rows of params.h say, and the rules
 * that join several parameters. The core relies on both (shifts and masks instead of divisions).
 */
#include "machine/machine.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "machine/machine_int.h"

static bool is_power_of_two(uint64_t x)
{
	return x && !(x & (x - 1));
}

/* ---- memory ---- */

static const char *const cache_names[MEM_CACHES] = { "l1i", "l1d", "l2", "llc" };

struct check {
	struct err *e;
	const char *section;
};

static const struct param *row(const struct check *k, const char *key)
{
	struct err e;
	const struct param *p = machine_param_find(k->section, key, &e);

	if (!p)
		die("%s", e.text);
	return p;
}

/* That a value is in a range, and a power of two where its row says so. */
static bool within(const struct check *k, const char *key, uint32_t v, double low, double high)
{
	bool pow2 = row(k, key)->flags & PARAM_POW2;

	if (v >= low && v <= high && (!pow2 || is_power_of_two(v)))
		return true;
	return err_set(k->e, "%s.%s = %u: %s, valid: %.0f to %.0f", k->section, key, v,
		       pow2 ? "must be a power of two" : "out of range", low, high);
}

/* The same with the range of its row. */
static bool valid(const struct check *k, const char *key, uint32_t v)
{
	const struct param *p = row(k, key);

	return (p->flags & PARAM_ZERO && !v) || within(k, key, v, p->min, p->max);
}

static bool valid_choice(const struct check *k, const char *key, uint32_t v, uint32_t count,
			 const char *what)
{
	char all[128];

	return v < count || err_set(k->e, "%s.%s = %u: no such %s, valid: %s", k->section, key, v,
				    what, machine_param_choices(row(k, key), all, sizeof(all)));
}

static bool check_bus(const struct check *k, const struct mem_bus_config *b, uint32_t line)
{
	return (!b->width_bytes || within(k, "bus_width", b->width_bytes, 1, line)) &&
	       valid(k, "bus_interval", b->interval);
}

static bool check_prefetch(const struct check *k, const struct mem_prefetch_config *p)
{
	return valid_choice(k, "prefetch", p->kind, MEM_PF_COUNT, "prefetcher") &&
	       (p->kind == MEM_PF_NONE || (valid(k, "prefetch_degree", p->degree) &&
					   valid(k, "prefetch_distance", p->distance) &&
					   valid(k, "prefetch_entries", p->entries)));
}

uint32_t machine_line_bytes(const struct memsys_config *c, int cache)
{
	const uint32_t own = cache < MEM_CACHES ? c->cache[cache].line_bytes : 0;

	return own ? own : c->line_bytes;
}

/* A line is part of one line of the next level, and memory sends lines of its own size. */
static bool check_line(const struct memsys_config *cfg, int i, struct err *e)
{
	const uint32_t line = machine_line_bytes(cfg, i);
	int next = i <= MEM_L1D ? MEM_L2 : i + 1;

	while (next < MEM_CACHES && !cfg->cache[next].size_bytes)
		next++;
	if (next == MEM_CACHES && line != cfg->line_bytes)
		return err_set(
		    e,
		    "%s.line = %u: the cache before memory has its lines, mem.line = %u; "
		    "valid: 0 or %u",
		    cache_names[i], line, cfg->line_bytes, cfg->line_bytes);
	if (line > machine_line_bytes(cfg, next))
		return err_set(e, "%s.line = %u: longer than the next level's %u, valid: 16 to %u",
			       cache_names[i], line, machine_line_bytes(cfg, next),
			       machine_line_bytes(cfg, next));
	return true;
}

static bool check_cache(const struct memsys_config *cfg, int i, struct err *e)
{
	const struct mem_cache_config *c = &cfg->cache[i];
	const uint32_t line = machine_line_bytes(cfg, i);
	struct check k = { e, cache_names[i] };

	if (!c->size_bytes) {
		if (i > MEM_L1D)
			return true;
		return err_set(
		    e, "%s.size = 0: the L1 caches cannot be left out, valid: %u to 1073741824",
		    k.section, line);
	}
	if (!valid(&k, "line", c->line_bytes) || !check_line(cfg, i, e))
		return false;
	if (!within(&k, "size", c->size_bytes, line, row(&k, "size")->max) ||
	    !valid(&k, "ways", c->ways))
		return false;

	uint64_t way_bytes = (uint64_t)c->ways * line;

	if (c->size_bytes % way_bytes || !is_power_of_two(c->size_bytes / way_bytes))
		return err_set(
		    e,
		    "%s.size = %u: size / (ways × line) = %u / (%u × %u) must be a power of two; "
		    "change %s.size or %s.ways",
		    k.section, c->size_bytes, c->size_bytes, c->ways, line, k.section, k.section);
	if (!valid(&k, "latency", c->latency) || !valid(&k, "mshrs", c->mshrs) ||
	    !valid(&k, "targets", c->targets) || !valid(&k, "ports", c->ports) ||
	    !valid(&k, "bank_interval", c->bank_interval))
		return false;
	if (c->miss_latency < -1 || c->miss_latency > row(&k, "miss_latency")->max)
		return err_set(
		    e,
		    "%s.miss_latency = %d: out of range, valid: 0 to 1000, or -1 for the latency",
		    k.section, c->miss_latency);
	if (!valid(&k, "banks", c->banks) ||
	    !valid_choice(&k, "replacement", c->replacement, MEM_REPLACEMENTS, "policy"))
		return false;
	if (c->replacement == MEM_PLRU && !is_power_of_two(c->ways))
		return err_set(
		    e, "%s.ways = %u: replacement plru needs a power of two, valid: 1 to 64",
		    k.section, c->ways);
	if (i != MEM_L1D && (c->write_through || c->no_write_allocate))
		return err_set(e, "%s.%s = on: only l1d can be so", k.section,
			       c->write_through ? "write_through" : "no_write_allocate");
	if (c->write_buffer && !c->write_through)
		return err_set(e, "%s.write_buffer = %u: needs %s; valid: 0", k.section,
			       c->write_buffer,
			       i == MEM_L1D ? "l1d.write_through = yes" : "to be the l1d's");
	if (!valid(&k, "write_buffer", c->write_buffer))
		return false;
	if (i <= MEM_L1D && c->inclusive)
		return err_set(
		    e, "%s.inclusive = on: there is no cache above an L1; valid for l2 and llc",
		    k.section);
	return check_prefetch(&k, &c->prefetch) && check_bus(&k, &c->bus, line);
}

static bool check_tlb(const struct mem_tlb_config *t, const char *section, struct err *e)
{
	struct check k = { e, section };

	if (!t->entries)
		return true;
	if (!valid(&k, "entries", t->entries) || !valid(&k, "latency", t->latency))
		return false;
	if (t->ways && (t->ways > t->entries || t->entries % t->ways ||
			!is_power_of_two(t->entries / t->ways)))
		return err_set(e,
			       "%s.ways = %u: entries / ways = %u / %u must be a power of two; "
			       "valid: a divisor of %s.entries, or 0 for fully associative",
			       section, t->ways, t->entries, t->ways, section);
	return true;
}

static bool check_memory(const struct memsys_config *cfg, struct err *e)
{
	const struct mem_memory_config *m = &cfg->mem;
	const struct mem_dram_config *d = &m->dram;
	struct check mem = { e, "mem" }, dram = { e, "dram" };

	if (!valid_choice(&mem, "kind", m->kind, MEM_MEMORIES, "memory") ||
	    !within(&mem, "bytes_per_kcycle", m->bytes_per_kcycle, m->kind == MEM_DRAM ? 1 : 0,
		    row(&mem, "bytes_per_kcycle")->max))
		return false;
	if (m->kind == MEM_FLAT)
		return valid(&mem, "latency", m->latency) &&
		       check_bus(&mem, &m->bus, cfg->line_bytes);
	return valid(&dram, "channels", d->channels) && valid(&dram, "ranks", d->ranks) &&
	       valid(&dram, "banks", d->banks) &&
	       within(&dram, "row_bytes", d->row_bytes, cfg->line_bytes,
		      row(&dram, "row_bytes")->max) &&
	       valid(&dram, "cas", d->cas) && valid(&dram, "rcd", d->rcd) &&
	       valid(&dram, "rp", d->rp) && valid(&dram, "ras", d->ras) &&
	       valid(&dram, "clock_milli", d->clock_milli) &&
	       valid(&dram, "overhead", d->overhead) &&
	       valid(&dram, "queue_depth", d->queue_depth) &&
	       valid(&dram, "max_reads", d->max_reads) &&
	       valid(&dram, "max_writes", d->max_writes) &&
	       valid(&dram, "max_bypass", d->max_bypass);
}

bool machine_check_memory(const struct memsys_config *c, struct err *e)
{
	struct check mem = { e, "mem" }, walk = { e, "walk" };

	if (!valid(&mem, "line", c->line_bytes) || !valid(&walk, "page", c->page_bytes))
		return false;
	for (int i = 0; i < MEM_CACHES; i++)
		if (!check_cache(c, i, e))
			return false;
	return check_tlb(&c->itlb, "itlb", e) && check_tlb(&c->dtlb, "dtlb", e) &&
	       check_tlb(&c->stlb, "stlb", e) &&
	       valid_choice(&walk, "kind", c->walk, MEM_WALKS, "walk") &&
	       valid(&walk, "latency", c->walk_latency) && valid(&walk, "walkers", c->walkers) &&
	       valid(&walk, "cache", c->walk_cache) &&
	       valid(&(struct check){ e, "l1d" }, "ideal_latency", c->ideal_dl1) &&
	       check_memory(c, e);
}

/* ---- branch prediction ---- */

static bool check_name(const struct param *p, const char *name, struct err *e)
{
	char all[128];

	for (size_t i = 0; p->choices[i]; i++)
		if (!strncmp(name, p->choices[i], p->size_bytes))
			return true;
	return err_set(e, "%s = %.15s: must be one of %s", p->key, name,
		       machine_param_choices(p, all, sizeof(all)));
}

bool machine_check_bpred(const struct bpred_config *c, struct err *e)
{
	for (size_t i = 0; i < machine_params_count; i++) {
		const struct param *p = &machine_params[i];

		if (strcmp(p->section, "bpred"))
			continue;

		const void *at = (const char *)c + p->offset - offsetof(struct machine, bpred);
		const uint32_t *x = at;

		if (p->type == PARAM_NAME) {
			if (!check_name(p, at, e))
				return false;
			continue;
		}
		for (uint32_t j = 0; j < (p->type == PARAM_LIST ? c->tage_tables : 1); j++)
			if (!machine_item_check(p, x[j], e))
				return false;
	}
	if (c->gshare_history > (uint32_t)__builtin_ctz(c->gshare_entries))
		return err_set(e,
			       "gshare_history = %u: must be in 1..%u bits, log2 of gshare_entries",
			       c->gshare_history, (uint32_t)__builtin_ctz(c->gshare_entries));
	if (c->tage_min_history > c->tage_max_history)
		return err_set(e, "tage_min_history = %u: must be in 1..%u, tage_max_history",
			       c->tage_min_history, c->tage_max_history);
	if (c->btb_ways > c->btb_entries)
		return err_set(e, "btb_ways = %u: must be in 1..%u, btb_entries", c->btb_ways,
			       c->btb_entries);
	return true;
}

/* ---- the whole ---- */

/* Fails with the place at which section.key was set, if it was set in a file. */
static bool bad_value(const struct machine *m, const char *name, struct err *e, const char *fmt,
		      ...) PRINTF(4, 5);
static bool bad_value(const struct machine *m, const char *name, struct err *e, const char *fmt,
		      ...)
{
	char text[400], prefix[300] = "";
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	for (size_t i = 0; i < machine_params_count; i++) {
		const struct param *p = &machine_params[i];
		char full[128];

		snprintf(full, sizeof(full), "%s.%s", p->section, p->key);
		if (!strcmp(full, name) && m->line[i])
			snprintf(prefix, sizeof(prefix), "%s:%u: ", m->file, m->line[i]);
	}
	return err_set(e, "%s%s", prefix, text);
}

bool machine_check(const struct machine *m, struct err *e)
{
	struct err inner;
	char key[64];

	if (m->rob < m->commit_width)
		return bad_value(
		    m, "window.rob", e,
		    "window.rob = %u is smaller than window.commit_width = %u; valid: %u…1024",
		    m->rob, m->commit_width, m->commit_width);
	if (m->rob < m->decode_width)
		return bad_value(
		    m, "window.rob", e,
		    "window.rob = %u is smaller than decode.width = %u; valid: %u…1024", m->rob,
		    m->decode_width, m->decode_width);
	if (!is_power_of_two(m->fetch_block_bytes))
		return bad_value(m, "fetch.block_bytes", e,
				 "fetch.block_bytes = %u: valid: powers of two, 4…256",
				 m->fetch_block_bytes);
	if (m->fetch_block_bytes > machine_line_bytes(&m->mem, MEM_L1I))
		return bad_value(
		    m, "fetch.block_bytes", e,
		    "fetch.block_bytes = %u is larger than %s.line = %u; valid: 4…%u",
		    m->fetch_block_bytes, m->mem.cache[MEM_L1I].line_bytes ? "l1i" : "mem",
		    machine_line_bytes(&m->mem, MEM_L1I), machine_line_bytes(&m->mem, MEM_L1I));
	if (m->fetch_buffer < m->decode_width)
		return bad_value(
		    m, "fetch.buffer", e,
		    "fetch.buffer = %u is smaller than decode.width = %u; valid: %u…1024",
		    m->fetch_buffer, m->decode_width, m->decode_width);
	if (m->wait_entries && !is_power_of_two(m->wait_entries))
		return bad_value(m, "lsu.wait_entries", e,
				 "lsu.wait_entries = %u: valid: 0 or powers of two, 16…65536",
				 m->wait_entries);
	if (m->issue_group && m->model != MODEL_INORDER)
		return bad_value(m, "window.issue_group", e,
				 "window.issue_group = %u: needs machine.model = inorder; valid: 0",
				 m->issue_group);
	if (m->third_waits && m->model != MODEL_INORDER)
		return bad_value(m, "window.third_waits", e,
				 "window.third_waits = yes: needs machine.model = inorder; "
				 "valid: no");
	if (m->load_after_store && m->model != MODEL_INORDER)
		return bad_value(
		    m, "window.load_after_store", e,
		    "window.load_after_store = %u: needs machine.model = inorder; valid: 0",
		    m->load_after_store);
	if (!machine_check_bpred(&m->bpred, &inner)) {
		snprintf(key, sizeof(key), "bpred.%.*s", (int)strcspn(inner.text, " =:"),
			 inner.text);
		return bad_value(m, key, e, "bpred.%s", inner.text);
	}
	if (!machine_check_memory(&m->mem, &inner)) {
		snprintf(key, sizeof(key), "%.*s", (int)strcspn(inner.text, " =:"), inner.text);
		return bad_value(m, key, e, "%s", inner.text);
	}
	return true;
}

/* SPDX-License-Identifier: MIT */
/*
 * The table of parameters. One row is all that a parameter needs: it can then be read from a
 * machine file, set from the command line, checked, printed and documented. Rows of the predictors
 * come from bpred_keys, those of the memory system name the fields of memsys_config.
 */
#include "core/config.h"

#include <string.h>

static const char *const models[] = { "ooo", "inorder", NULL };
static const char *const orders[] = { "speculative", "perfect", "conservative", NULL };
static const char *const serials[] = { "none", "wait", "flush", NULL };
static const char *const replacements[] = { "lru", "plru", "random", NULL };
static const char *const prefetchers[] = { "none", "next-line", "stride", NULL };
static const char *const walks[] = { "flat", "caches", NULL };
static const char *const memories[] = { "flat", "dram", NULL };

const char *const ideal_name[IDEAL_COUNT] = {
#define X(id, name, ...) name,
	WORDS_COSTS(X) WORDS_IDEALS(X)
#undef X
};

#define F(field) offsetof(struct core_config, field)
#define NUM(sec, k, field, un, lo, hi, def, hlp)                                                   \
	{                                                                                          \
		.section = sec, .key = k, .type = PARAM_U32, .offset = F(field), .unit = un,       \
		.min = lo, .max = hi, .initial = def, .help = hlp                                  \
	}
#define NUM0(sec, k, field, un, lo, hi, def, hlp)                                                  \
	{                                                                                          \
		.section = sec, .key = k, .type = PARAM_U32, .offset = F(field), .unit = un,       \
		.min = lo, .max = hi, .initial = def, .help = hlp, .zero_ok = true                 \
	}
#define INT(sec, k, field, un, lo, hi, def, hlp)                                                   \
	{                                                                                          \
		.section = sec, .key = k, .type = PARAM_I32, .offset = F(field), .unit = un,       \
		.min = lo, .max = hi, .initial = def, .help = hlp                                  \
	}
#define YES8(sec, k, field, def, hlp)                                                              \
	{                                                                                          \
		.section = sec, .key = k, .type = PARAM_BOOL8, .offset = F(field),                 \
		.unit = "yes/no", .max = 1, .initial = def, .help = hlp                            \
	}
#define YES(sec, k, field, def, hlp)                                                               \
	{                                                                                          \
		.section = sec, .key = k, .type = PARAM_BOOL32, .offset = F(field),                \
		.unit = "yes/no", .max = 1, .initial = def, .help = hlp                            \
	}
#define PICK(sec, k, field, list, def, hlp)                                                        \
	{                                                                                          \
		.section = sec, .key = k, .type = PARAM_CHOICE, .offset = F(field),                \
		.unit = "name", .initial = def, .help = hlp, .choices = list                       \
	}
#define TEXT(sec, k, field, hlp)                                                                   \
	{                                                                                          \
		.section = sec, .key = k, .type = PARAM_TEXT, .offset = F(field),                  \
		.size_bytes = sizeof(((struct core_config *)0)->field), .unit = "text",            \
		.initial = "", .help = hlp                                                         \
	}
#define IDEAL(k, bit, hlp)                                                                         \
	{                                                                                          \
		.section = "ideal", .key = k, .type = PARAM_IDEAL, .offset = bit,                  \
		.unit = "on/off/pcs", .initial = "off", .help = hlp                                \
	}

#define UNIT(k, u, n, lo, lat, pipe, what)                                                         \
	NUM("units", k, unit[u].count, "units", lo, 64, n, what),                                  \
	    NUM("units", k "_latency", unit[u].latency, "cycles", 1, 1000, lat,                    \
		"cycles until a dependent can issue"),                                             \
	    YES("units", k "_pipelined", unit[u].pipelined, pipe,                                  \
		"takes a new operation every cycle")

#define PREFETCH(sec, at)                                                                          \
	PICK(sec, "prefetch", at.kind, prefetchers, NULL, "prefetcher at this cache"),             \
	    NUM(sec, "prefetch_degree", at.degree, "lines", 1, 8, NULL, "lines per trigger"),      \
	    NUM(sec, "prefetch_distance", at.distance, "strides", 1, 64, NULL,                     \
		"stride: how far ahead"),                                                          \
	    NUM(sec, "prefetch_entries", at.entries, "entries", 1, 4096, NULL,                     \
		"stride: table entries, a power of two"),                                          \
	    YES8(sec, "prefetch_cross_page", at.cross_page, NULL, "may leave the trigger's page")

#define BUS(sec, at)                                                                               \
	NUM0(sec, "bus_width", at.width_bytes, "bytes", 1, 1024, NULL,                             \
	     "bytes per beat of the bus to the level above; 0: a line at once, never busy"),       \
	    NUM(sec, "bus_interval", at.interval, "cycles", 1, 64, NULL, "cycles per beat"),       \
	    YES8(sec, "bus_trailing_edge", at.trailing_edge, NULL,                                 \
		 "data usable only when the whole line is there")

#define CACHE(sec, c)                                                                              \
	NUM0(sec, "size", mem.cache[c].size_bytes, "bytes", 64, 1 << 30, NULL,                     \
	     "capacity; 0: no such cache (l2, llc)"),                                              \
	    NUM(sec, "ways", mem.cache[c].ways, "ways", 1, 64, NULL, "associativity"),             \
	    NUM(sec, "latency", mem.cache[c].latency, "cycles", 1, 1000, NULL,                     \
		"from arrival of a request to its data, on a hit"),                                \
	    INT(sec, "miss_latency", mem.cache[c].miss_latency, "cycles", -1, 1000, NULL,          \
		"from arrival until a miss is sent on; -1: as latency"),                           \
	    NUM(sec, "mshrs", mem.cache[c].mshrs, "lines", 1, 256, NULL, "outstanding misses"),    \
	    NUM(sec, "targets", mem.cache[c].targets, "requests", 1, 256, NULL,                    \
		"requests that may wait for one line"),                                            \
	    NUM0(sec, "ports", mem.cache[c].ports, "requests/cycle", 1, 64, NULL,                  \
		 "requests accepted per cycle; 0: no limit"),                                      \
	    NUM0(sec, "banks", mem.cache[c].banks, "banks", 1, 64, NULL,                           \
		 "line-interleaved banks; 0: none"),                                               \
	    NUM(sec, "bank_interval", mem.cache[c].bank_interval, "cycles", 1, 64, NULL,           \
		"cycles between two requests to one bank"),                                        \
	    PICK(sec, "replacement", mem.cache[c].replacement, replacements, NULL,                 \
		 "victim choice"),                                                                 \
	    YES8(sec, "inclusive", mem.cache[c].inclusive, NULL,                                   \
		 "holds all lines of the caches above it"),                                        \
	    YES8(sec, "write_through", mem.cache[c].write_through, NULL,                           \
		 "stores go on to the next level (l1d)"),                                          \
	    YES8(sec, "no_write_allocate", mem.cache[c].no_write_allocate, NULL,                   \
		 "a store that misses fetches no line (l1d)"),                                     \
	    PREFETCH(sec, mem.cache[c].prefetch), BUS(sec, mem.cache[c].bus)

#define TLB(sec, t)                                                                                \
	NUM0(sec, "entries", mem.t.entries, "entries", 1, 65536, NULL, "0: no such TLB"),          \
	    NUM0(sec, "ways", mem.t.ways, "ways", 1, 65536, NULL, "0: fully associative"),         \
	    NUM0(sec, "latency", mem.t.latency, "cycles", 1, 1000, NULL,                           \
		 "stlb: added to an L1 TLB miss that hits here")

static const struct param own[] = {
	TEXT("machine", "base", base, "machine to start from; must come first"),
	TEXT("machine", "summary", summary, "what it is, in one line"),
	{ .section = "machine",
	  .key = "clock_ghz",
	  .type = PARAM_REAL,
	  .offset = F(clock_ghz),
	  .unit = "GHz",
	  .min = 0.001,
	  .max = 100,
	  .initial = "3.2",
	  .help = "core clock" },
	PICK("machine", "model", model, models, "ooo", "out of order, or issue in program order"),

	NUM("fetch", "width", fetch_width, "insts/cycle", 1, 32, "8",
	    "instructions fetched per cycle"),
	NUM("fetch", "block_bytes", fetch_block_bytes, "bytes", 4, 256, "16",
	    "aligned block that one access reads, a power of two"),
	NUM("fetch", "taken_branches", fetch_taken, "branches", 1, 32, "1",
	    "a cycle's fetch stops at this taken branch"),
	NUM("fetch", "buffer", fetch_buffer, "insts", 1, 1024, "32", "fetch buffer"),
	NUM("fetch", "targets", fetch_targets, "packets", 1, 1024, "40",
	    "fetch-target queue: fetch packets in flight until they commit"),
	NUM("fetch", "depth", fetch_depth, "cycles", 1, 60, "5", "from fetch to decode"),
	NUM("fetch", "redirect", fetch_redirect, "cycles", 1, 60, "2",
	    "from a mispredicted branch's completion to the fetch of the right path"),
	NUM("fetch", "flush", fetch_flush, "cycles", 1, 60, "2",
	    "from a flush at commit to the fetch of what follows"),
	NUM("fetch", "btb_bubble", fetch_btb_bubble, "cycles", 0, 60, "3",
	    "lost when a taken branch's target is known only at decode"),
	NUM("decode", "width", decode_width, "insts/cycle", 1, 32, "4",
	    "decoded and renamed per cycle"),
	NUM("decode", "depth", decode_depth, "cycles", 0, 60, "3", "from decode to dispatch"),
	NUM0("decode", "dispatch_width", dispatch_width, "insts/cycle", 1, 32, "0",
	     "dispatched per cycle; 0: as decode.width"),
	NUM("decode", "branches", branches, "branches", 1, 4096, "20",
	    "branches and indirect jumps dispatched and not yet resolved"),

	NUM("window", "rob", rob, "insts", 2, 1024, "128", "reorder buffer"),
	YES("window", "unified", unified, "no", "one issue queue instead of three"),
	NUM("window", "queue", unified_queue, "insts", 1, 1024, "128", "unified issue queue"),
	NUM("window", "int_queue", int_queue, "insts", 1, 1024, "40", "integer issue queue"),
	NUM("window", "mem_queue", mem_queue, "insts", 1, 1024, "24", "memory issue queue"),
	NUM("window", "fp_queue", fp_queue, "insts", 1, 1024, "32", "FP issue queue"),
	NUM("window", "issue_width", issue_width, "insts/cycle", 1, 32, "8",
	    "issued per cycle, all queues"),
	NUM("window", "int_issue", int_issue, "insts/cycle", 1, 32, "4",
	    "issued by the integer queue"),
	NUM("window", "mem_issue", mem_issue, "insts/cycle", 1, 32, "2",
	    "issued by the memory queue"),
	NUM("window", "fp_issue", fp_issue, "insts/cycle", 1, 32, "2", "issued by the FP queue"),
	NUM("window", "int_regs", int_regs, "registers", 33, 4096, "128",
	    "physical integer registers"),
	NUM("window", "fp_regs", fp_regs, "registers", 33, 4096, "128", "physical FP registers"),
	NUM("window", "wakeup", wakeup, "cycles", 0, 10, "0",
	    "cycles that a dependent of an ALU or FP operation waits in addition (issue-wakeup "
	    "loop)"),
	NUM("window", "commit_width", commit_width, "insts/cycle", 1, 32, "4",
	    "committed per cycle"),

	UNIT("alu", UNIT_ALU, "4", 1, "1", "yes", "integer ALUs; also jumps and CSR accesses"),
	UNIT("branch", UNIT_BRANCH, "0", 0, "1", "yes", "branch units; 0: branches use the ALUs"),
	UNIT("mul", UNIT_MUL, "1", 1, "3", "yes", "integer multipliers"),
	UNIT("div", UNIT_DIV, "1", 1, "20", "no", "integer dividers"),
	UNIT("fadd", UNIT_FADD, "2", 1, "4", "yes", "FP adders; also compare, convert, move"),
	UNIT("fmul", UNIT_FMUL, "2", 1, "4", "yes", "FP multipliers, fused multiply-add"),
	UNIT("fdiv", UNIT_FDIV, "1", 1, "16", "no", "FP dividers"),
	UNIT("fsqrt", UNIT_FSQRT, "0", 0, "20", "no",
	     "FP square-root units; 0: the dividers do it"),
	NUM("units", "load", unit[UNIT_LOAD].count, "units", 1, 64, "2", "load ports"),
	NUM("units", "store", unit[UNIT_STORE].count, "units", 0, 64, "0",
	    "store-address ports; 0: stores use the load ports"),

	NUM("lsu", "load_queue", load_queue, "loads", 1, 1024, "32", "load queue"),
	NUM("lsu", "store_queue", store_queue, "stores", 1, 1024, "32",
	    "store queue; an entry is held until the store has been written"),
	NUM0("lsu", "shared_queue", shared_queue, "accesses", 2, 2048, "0",
	     "one limit for loads and stores together; 0: none"),
	PICK("lsu", "order", order, orders, "speculative",
	     "loads before older stores of unknown address"),
	NUM0("lsu", "wait_entries", wait_entries, "entries", 16, 65536, "0",
	     "table of loads that once violated order and now wait for stores, a power of two; 0: "
	     "none"),
	NUM("lsu", "wait_clear", wait_clear, "cycles", 1024, 1 << 30, "131072",
	    "the table is forgotten this often"),
	NUM("lsu", "forward_latency", forward_latency, "cycles", 1, 100, "3",
	    "load-to-use when the store queue has the data"),
	NUM("lsu", "store_ports", store_ports, "stores/cycle", 1, 16, "1",
	    "stores written per cycle"),
	NUM0("lsu", "store_misses", store_misses, "stores", 1, 1024, "0",
	     "store misses under way before the next store waits; 0: the cache's MSHRs are the "
	     "limit "
	     "and a store leaves the queue when the cache has taken it"),
	NUM0("lsu", "hint_queue", hint_queue, "entries", 1, HINTS_MAX, "16",
	     "prefetch hints that may wait for an MSHR or a page walk; 0: such a hint is dropped"),

	NUM("exception", "syscall_cycles", syscall_cycles, "cycles", 0, 1000000, "500",
	    "time in the kernel for a system call"),
	YES("exception", "page_faults", page_faults, "no",
	    "the first touch of a data page raises an exception"),
	NUM("exception", "page_fault_cycles", page_fault_cycles, "cycles", 0, 1000000, "1000",
	    "time in the kernel for it"),
	PICK("exception", "csr", csr, serials, "flush",
	     "CSR accesses: nothing special, wait, wait and flush"),
	PICK("exception", "fence", fence, serials, "flush", "fences: the same"),
	PICK("exception", "amo", amo, serials, "flush", "atomics and store-conditionals: the same"),

	CACHE("l1i", MEM_L1I),
	CACHE("l1d", MEM_L1D),
	CACHE("l2", MEM_L2),
	CACHE("llc", MEM_LLC),
	TLB("itlb", itlb),
	TLB("dtlb", dtlb),
	TLB("stlb", stlb),
	PICK("walk", "kind", mem.walk, walks, NULL,
	     "a fixed penalty, or three loads through the caches"),
	NUM("walk", "latency", mem.walk_latency, "cycles", 0, 10000, NULL, "flat: the penalty"),
	NUM("walk", "walkers", mem.walkers, "walks", 1, 16, NULL, "caches: walks at a time"),
	NUM("walk", "cache", mem.walk_cache, "entries", 0, 64, NULL,
	    "caches: upper-level entries kept"),
	YES8("walk", "from_l2", mem.walk_from_l2, NULL,
	     "caches: loads start at the L2, not at the L1D"),
	NUM("walk", "page", mem.page_bytes, "bytes", 4096, 1 << 30, NULL, "page size"),
	NUM("mem", "line", mem.line_bytes, "bytes", 16, 1024, NULL, "line of every cache"),
	PICK("mem", "kind", mem.mem.kind, memories, NULL, "a fixed latency, or DRAM"),
	NUM("mem", "latency", mem.mem.latency, "cycles", 1, 100000, NULL,
	    "flat: from the last cache's miss to the first data"),
	NUM("mem", "bytes_per_kcycle", mem.mem.bytes_per_kcycle, "bytes/1000 cycles", 0, 1 << 30,
	    NULL, "peak bandwidth; 0: no limit (flat only)"),
	BUS("mem", mem.mem.bus),
	NUM("dram", "channels", mem.mem.dram.channels, "channels", 1, 8, NULL, "line-interleaved"),
	NUM("dram", "ranks", mem.mem.dram.ranks, "ranks", 1, 8, NULL, "per channel"),
	NUM("dram", "banks", mem.mem.dram.banks, "banks", 1, 32, NULL, "per rank"),
	NUM("dram", "row_bytes", mem.mem.dram.row_bytes, "bytes", 64, 1 << 20, NULL, "row buffer"),
	NUM("dram", "cas", mem.mem.dram.cas, "DRAM clocks", 1, 100, NULL, "column access"),
	NUM("dram", "rcd", mem.mem.dram.rcd, "DRAM clocks", 1, 100, NULL, "row to column"),
	NUM("dram", "rp", mem.mem.dram.rp, "DRAM clocks", 1, 100, NULL, "precharge"),
	NUM("dram", "ras", mem.mem.dram.ras, "DRAM clocks", 0, 200, NULL,
	    "activate to precharge; 0: no limit"),
	NUM("dram", "clock_milli", mem.mem.dram.clock_milli, "core cycles/1000", 100, 100000, NULL,
	    "core cycles per DRAM clock, times 1000"),
	NUM("dram", "overhead", mem.mem.dram.overhead, "cycles", 0, 1000, NULL,
	    "in the controller and on the way, both directions"),
	NUM("dram", "queue_depth", mem.mem.dram.queue_depth, "requests", 1, 64, NULL,
	    "oldest requests that the scheduler sees"),
	NUM("dram", "max_reads", mem.mem.dram.max_reads, "requests", 1, 256, NULL, "reads held"),
	NUM("dram", "max_writes", mem.mem.dram.max_writes, "requests", 1, 256, NULL, "writes held"),
	NUM("dram", "max_bypass", mem.mem.dram.max_bypass, "requests", 1, 1000, NULL,
	    "row hits that may overtake the oldest request"),
	YES8("dram", "fcfs", mem.mem.dram.fcfs, NULL,
	     "first come first served instead of row hits first"),

#define X(id, name, bit, letter, colour, rgb, kind, words, better, verb, meaning)                  \
	IDEAL(name, IDEAL_##id, meaning),
	WORDS_COSTS(X)
#undef X
#define X(id, name, meaning) IDEAL(name, IDEAL_##id, meaning),
	    WORDS_IDEALS(X)
#undef X
};

size_t config_params(void)
{
	return ARRAY_LEN(own) + bpred_keys_count;
}

struct param config_param(size_t i)
{
	/* The predictors' rows stand before those of idealisation, with the front end's neighbours.
	 */
	if (i < ARRAY_LEN(own))
		return own[i];
	const struct bpred_key *k = &bpred_keys[i - ARRAY_LEN(own)];
	struct param p = {
		.section = "bpred",
		.key = k->name,
		.type = PARAM_BPRED,
		.offset = F(bpred) + k->offset_bytes,
		.size_bytes = k->count,
		.unit = k->unit,
		.min = k->min,
		.max = k->max,
		.help = k->summary,
		.zero_ok = k->zero_ok,
	};
	return p;
}

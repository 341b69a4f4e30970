/* SPDX-License-Identifier: MIT */
/*
 * The parameters of a machine, one row each. The member of struct machine, its default, reading
 * from a machine file or from a trace, `--set`, range checks, `culprit machines`, and the reference
 * in docs/ all derive from the row: a new parameter is a new row and the code that uses it.
 *
 * A list is a macro that calls X once per row. The order of the rows is that in which parameters are
 * printed and written to a trace file. Columns:
 *
 *   type     U32, I32, REAL, BOOL (yes or no), CHOICE (a name from a list), TEXT, NAME (a name
 *            from a list, kept as text), LIST (one number per tagged table), NUMBER (as LIST, but
 *            one number)
 *   section  of the machine file
 *   at       where the row's struct lies in struct machine; empty: in struct machine itself
 *   member   of that struct
 *   key      in the section
 *   unit     what a number counts. CHOICE and NAME: the list of names. TEXT: room in bytes. BOOL:
 *            YES_NO
 *   min max  the valid range
 *   flags    ZERO: zero is valid though below min, and means that the part is absent; POW2: a power
 *            of two
 *   default
 *   help     one line
 */
#ifndef MACHINE_PARAMS_H
#define MACHINE_PARAMS_H

/* clang-format off */

/* ---- lists of names: enumerator, name; their order is that of the enum ---- */

#define MACHINE_MODELS(X) \
	X(MODEL_OOO,     "ooo")     /* out of order */ \
	X(MODEL_INORDER, "inorder") /* issues in program order */
#define MACHINE_ORDERS(X) \
	X(ORDER_SPECULATIVE,  "speculative")  /* loads pass stores of unknown address; a wrong guess flushes */ \
	X(ORDER_PERFECT,      "perfect")      /* a load waits just for the store that it depends on */ \
	X(ORDER_CONSERVATIVE, "conservative") /* a load waits until all older stores know their addresses */
#define MACHINE_SERIALS(X) \
	X(SERIAL_NONE,  "none")  /* as any other instruction */ \
	X(SERIAL_WAIT,  "wait")  /* waits for an empty ROB, holds dispatch until it commits */ \
	X(SERIAL_FLUSH, "flush") /* waits as well, and everything younger is fetched again after it */
#define MACHINE_REPLACEMENTS(X) \
	X(MEM_LRU,    "lru")    /* least recently used */ \
	X(MEM_PLRU,   "plru")   /* binary tree of ways; ways a power of two */ \
	X(MEM_RANDOM, "random") /* seeded: the same seed gives the same victims */
#define MACHINE_PREFETCHERS(X) \
	X(MEM_PF_NONE,      "none") \
	X(MEM_PF_NEXT_LINE, "next-line") /* the lines after a miss or after the first use of a prefetched line */ \
	X(MEM_PF_STRIDE,    "stride")    /* by pc: starts after two equal strides in a row */
#define MACHINE_WALKS(X) \
	X(MEM_WALK_FLAT,   "flat")   /* a fixed latency, any number of walks at a time (SimpleScalar) */ \
	X(MEM_WALK_CACHES, "caches") /* sv39: three dependent 8-byte loads through the caches */
#define MACHINE_MEMORIES(X) \
	X(MEM_FLAT, "flat") \
	X(MEM_DRAM, "dram")
/* Direction predictors: the object dir_NAME of core/bpred, and its name. */
#define MACHINE_DIRECTIONS(X) \
	X(tage, "tage") X(gshare, "gshare") X(bimodal, "bimodal") X(tournament, "tournament") \
	X(perfect, "perfect") X(taken, "taken")

/* ---- the core ---- */

#define MACHINE_CORE(X) \
	X(TEXT, "machine", , base, "base", 64, 0, 0, 0, "", "machine to start from; must come first") \
	X(TEXT, "machine", , summary, "summary", 160, 0, 0, 0, "", "what it is, in one line") \
	X(REAL, "machine", , clock_ghz, "clock_ghz", "GHz", 0.001, 100, 0, 3.2, "core clock") \
	X(CHOICE, "machine", , model, "model", MODELS, 0, 0, 0, MODEL_OOO, "out of order, or issue in program order") \
	\
	X(U32, "fetch", , fetch_width, "width", "insts/cycle", 1, 32, 0, 8, "instructions fetched per cycle") \
	X(U32, "fetch", , fetch_block_bytes, "block_bytes", "bytes", 4, 256, POW2, 16, \
	  "aligned block that one access reads, a power of two") \
	X(U32, "fetch", , fetch_taken, "taken_branches", "branches", 1, 32, 0, 1, \
	  "a cycle's fetch stops at this taken branch") \
	X(U32, "fetch", , fetch_buffer, "buffer", "insts", 1, 1024, 0, 32, "fetch buffer") \
	X(U32, "fetch", , fetch_targets, "targets", "packets", 1, 1024, 0, 40, \
	  "fetch-target queue: fetch packets in flight until they commit") \
	X(U32, "fetch", , fetch_ahead, "ahead", "blocks", 1, 256, ZERO, 0, \
	  "blocks that the predictors run ahead of fetch, asking the I-cache for their lines; 0: they do not") \
	X(U32, "fetch", , fetch_depth, "depth", "cycles", 1, 60, 0, 5, "from fetch to decode") \
	X(U32, "fetch", , fetch_redirect, "redirect", "cycles", 1, 60, 0, 2, \
	  "from a mispredicted branch's completion to the fetch of the right path") \
	X(U32, "fetch", , fetch_flush, "flush", "cycles", 1, 60, 0, 2, \
	  "from a flush at commit to the fetch of what follows") \
	X(U32, "fetch", , fetch_btb_bubble, "btb_bubble", "cycles", 0, 60, 0, 3, \
	  "lost when a taken branch's target is known only at decode") \
	X(U32, "decode", , decode_width, "width", "insts/cycle", 1, 32, 0, 4, "decoded and renamed per cycle") \
	X(U32, "decode", , decode_depth, "depth", "cycles", 0, 60, 0, 3, "from decode to dispatch") \
	X(U32, "decode", , dispatch_width, "dispatch_width", "insts/cycle", 1, 32, ZERO, 0, \
	  "dispatched per cycle; 0: as decode.width") \
	X(U32, "decode", , branches, "branches", "branches", 1, 4096, 0, 20, \
	  "branches and indirect jumps dispatched and not yet resolved") \
	\
	X(U32, "window", , rob, "rob", "insts", 2, 1024, 0, 128, "reorder buffer") \
	X(BOOL, "window", , unified, "unified", YES_NO, 0, 1, 0, false, "one issue queue instead of three") \
	X(U32, "window", , unified_queue, "queue", "insts", 1, 1024, 0, 128, "unified issue queue") \
	X(U32, "window", , int_queue, "int_queue", "insts", 1, 1024, 0, 40, "integer issue queue") \
	X(U32, "window", , mem_queue, "mem_queue", "insts", 1, 1024, 0, 24, "memory issue queue") \
	X(U32, "window", , fp_queue, "fp_queue", "insts", 1, 1024, 0, 32, "FP issue queue") \
	X(U32, "window", , issue_width, "issue_width", "insts/cycle", 1, 32, 0, 8, "issued per cycle, all queues") \
	X(U32, "window", , int_issue, "int_issue", "insts/cycle", 1, 32, 0, 4, "issued by the integer queue") \
	X(U32, "window", , mem_issue, "mem_issue", "insts/cycle", 1, 32, 0, 2, "issued by the memory queue") \
	X(U32, "window", , fp_issue, "fp_issue", "insts/cycle", 1, 32, 0, 2, "issued by the FP queue") \
	X(U32, "window", , int_regs, "int_regs", "registers", 33, 4096, 0, 128, "physical integer registers") \
	X(U32, "window", , fp_regs, "fp_regs", "registers", 33, 4096, 0, 128, "physical FP registers") \
	X(U32, "window", , wakeup, "wakeup", "cycles", 0, 10, 0, 0, \
	  "cycles that a dependent of an ALU or FP operation waits in addition (issue-wakeup loop)") \
	X(U32, "window", , issue_group, "issue_group", "bytes", 4, 256, ZERO | POW2, 0, \
	  "in order: only instructions of one aligned group of so many bytes issue together; 0: any") \
	X(BOOL, "window", , third_waits, "third_waits", YES_NO, 0, 1, 0, false, \
	  "in order: three-source instructions, too, wait for the last writer of their destination") \
	X(U32, "window", , load_after_store, "load_after_store", "cycles", 1, 16, ZERO, 0, \
	  "in order: a load does not issue this many cycles after a store; 0: whenever it can") \
	X(U32, "window", , commit_width, "commit_width", "insts/cycle", 1, 32, 0, 4, "committed per cycle")

/* A kind of functional unit. */
#define MACHINE_UNIT(X, key, at, least, n, cycles, pipe, what) \
	X(U32, "units", at, count, key, "units", least, 64, 0, n, what) \
	X(U32, "units", at, latency, key "_latency", "cycles", 1, 1000, 0, cycles, \
	  "cycles until a dependent can issue") \
	X(BOOL, "units", at, pipelined, key "_pipelined", YES_NO, 0, 1, 0, pipe, \
	  "takes a new operation every cycle")
#define MACHINE_UNITS(X) \
	MACHINE_UNIT(X, "alu", unit[UNIT_ALU]., 1, 4, 1, true, "integer ALUs; also jumps and CSR accesses") \
	MACHINE_UNIT(X, "branch", unit[UNIT_BRANCH]., 0, 0, 1, true, "branch units; 0: branches use the ALUs") \
	MACHINE_UNIT(X, "mul", unit[UNIT_MUL]., 1, 1, 3, true, "integer multipliers") \
	MACHINE_UNIT(X, "div", unit[UNIT_DIV]., 1, 1, 20, false, "integer dividers") \
	MACHINE_UNIT(X, "fadd", unit[UNIT_FADD]., 1, 2, 4, true, "FP adders; also compare, convert, move") \
	MACHINE_UNIT(X, "fmul", unit[UNIT_FMUL]., 1, 2, 4, true, "FP multipliers, fused multiply-add") \
	MACHINE_UNIT(X, "fdiv", unit[UNIT_FDIV]., 0, 1, 16, false, "FP dividers; 0: the multipliers do it") \
	MACHINE_UNIT(X, "fsqrt", unit[UNIT_FSQRT]., 0, 0, 20, false, "FP square-root units; 0: the dividers do it") \
	X(U32, "units", unit[UNIT_LOAD]., count, "load", "units", 1, 64, 0, 2, "load ports") \
	X(U32, "units", unit[UNIT_STORE]., count, "store", "units", 0, 64, 0, 0, \
	  "store-address ports; 0: stores use the load ports")

#define MACHINE_LSU(X) \
	X(U32, "lsu", , load_queue, "load_queue", "loads", 1, 1024, 0, 32, "load queue") \
	X(U32, "lsu", , store_queue, "store_queue", "stores", 1, 1024, 0, 32, \
	  "store queue; an entry is held until the store has been written") \
	X(U32, "lsu", , shared_queue, "shared_queue", "accesses", 2, 2048, ZERO, 0, \
	  "one limit for loads and stores together; 0: none") \
	X(CHOICE, "lsu", , order, "order", ORDERS, 0, 0, 0, ORDER_SPECULATIVE, \
	  "loads before older stores of unknown address") \
	X(U32, "lsu", , wait_entries, "wait_entries", "entries", 16, 65536, ZERO | POW2, 0, \
	  "table of loads that once violated order and now wait for stores, a power of two; 0: none") \
	X(U32, "lsu", , wait_clear, "wait_clear", "cycles", 1024, 1 << 30, 0, 131072, \
	  "the table is forgotten this often") \
	X(U32, "lsu", , forward_latency, "forward_latency", "cycles", 1, 100, 0, 3, \
	  "load-to-use when the store queue has the data") \
	X(U32, "lsu", , store_ports, "store_ports", "stores/cycle", 1, 16, 0, 1, "stores written per cycle") \
	X(BOOL, "lsu", , shared_ports, "shared_ports", YES_NO, 0, 1, 0, false, \
	  "a store that is written takes a load port for that cycle") \
	X(U32, "lsu", , store_misses, "store_misses", "stores", 1, 1024, ZERO, 0, \
	  "store misses under way before the next store waits; 0: the cache's MSHRs are the limit " \
	  "and a store leaves the queue when the cache has taken it") \
	X(U32, "lsu", , hint_queue, "hint_queue", "entries", 1, HINTS_MAX, ZERO, 16, \
	  "prefetch hints that may wait for an MSHR or a page walk; 0: such a hint is dropped") \
	\
	X(U32, "exception", , syscall_cycles, "syscall_cycles", "cycles", 0, 1000000, 0, 500, \
	  "time in the kernel for a system call") \
	X(BOOL, "exception", , page_faults, "page_faults", YES_NO, 0, 1, 0, false, \
	  "the first touch of a data page raises an exception") \
	X(U32, "exception", , page_fault_cycles, "page_fault_cycles", "cycles", 0, 1000000, 0, 1000, \
	  "time in the kernel for it") \
	X(CHOICE, "exception", , csr, "csr", SERIALS, 0, 0, 0, SERIAL_FLUSH, \
	  "CSR accesses: nothing special, wait, wait and flush") \
	X(CHOICE, "exception", , fence, "fence", SERIALS, 0, 0, 0, SERIAL_FLUSH, "fences: the same") \
	X(CHOICE, "exception", , amo, "amo", SERIALS, 0, 0, 0, SERIAL_FLUSH, \
	  "atomics and store-conditionals: the same")

/* ---- memory ---- */

/* A prefetcher; its lines go into the cache at which it sits. */
#define MACHINE_PREFETCH(X, section, at) \
	X(CHOICE, section, at, kind, "prefetch", PREFETCHERS, 0, 0, 0, MEM_PF_NONE, "prefetcher at this cache") \
	X(U32, section, at, degree, "prefetch_degree", "lines", 1, 8, 0, 1, "lines per trigger") \
	X(U32, section, at, distance, "prefetch_distance", "strides", 1, 64, 0, 1, "stride: how far ahead") \
	X(U32, section, at, entries, "prefetch_entries", "entries", 1, 4096, POW2, 64, \
	  "stride: table entries, a power of two") \
	X(BOOL, section, at, cross_page, "prefetch_cross_page", YES_NO, 0, 1, 0, false, \
	  "may leave the trigger's page")

/*
 * The data bus by which a level delivers lines to the levels above it and takes write-backs. The
 * leading beat arrives at the end of the supplying level's latency (plus the wait for the bus);
 * beat i arrives i × interval later, in wrap-around order from the critical word; the bus is busy
 * for beats × interval. puzak2007 section 10: width 16, interval 2, line 128: busy 16 cycles.
 */
#define MACHINE_BUS(X, section, at) \
	X(U32, section, at, width_bytes, "bus_width", "bytes", 1, 1024, ZERO | POW2, 0, \
	  "bytes per beat of the bus to the level above; 0: a line at once, never busy") \
	X(U32, section, at, interval, "bus_interval", "cycles", 1, 64, 0, 1, "cycles per beat") \
	X(BOOL, section, at, trailing_edge, "bus_trailing_edge", YES_NO, 0, 1, 0, false, \
	  "data usable only when the whole line is there")

/*
 * A cache. by(l1i, l1d, l2, llc) is the default of the cache that the rows are for. size / (ways ×
 * line) must be a power of two. ports: a full L1 refuses a request, the others queue it.
 */
#define MACHINE_CACHE(X, section, at, by) \
	X(U32, section, at, size_bytes, "size", "bytes", 64, 1 << 30, ZERO, by(32768, 32768, 524288, 0), \
	  "capacity; 0: no such cache (l2, llc)") \
	X(U32, section, at, ways, "ways", "ways", 1, 64, 0, 8, "associativity") \
	X(U32, section, at, line_bytes, "line", "bytes", 16, 1024, ZERO | POW2, 0, \
	  "its line, not longer than that of the next level; 0: as mem.line") \
	X(U32, section, at, latency, "latency", "cycles", 1, 1000, 0, by(1, 3, 12, 30), \
	  "from arrival of a request to its data, on a hit") \
	X(I32, section, at, miss_latency, "miss_latency", "cycles", -1, 1000, 0, -1, \
	  "from arrival until a miss is sent on; -1: as latency") \
	X(U32, section, at, mshrs, "mshrs", "lines", 1, 256, 0, by(4, 8, 8, 8), "outstanding misses") \
	X(U32, section, at, targets, "targets", "requests", 1, 256, 0, 16, "requests that may wait for one line") \
	X(U32, section, at, ports, "ports", "requests/cycle", 1, 64, ZERO, 0, \
	  "requests accepted per cycle; 0: no limit") \
	X(U32, section, at, banks, "banks", "banks", 1, 64, ZERO | POW2, 0, "line-interleaved banks; 0: none") \
	X(U32, section, at, bank_interval, "bank_interval", "cycles", 1, 64, 0, 1, \
	  "cycles between two requests to one bank") \
	X(CHOICE, section, at, replacement, "replacement", REPLACEMENTS, 0, 0, 0, MEM_LRU, "victim choice") \
	X(BOOL, section, at, inclusive, "inclusive", YES_NO, 0, 1, 0, false, \
	  "holds all lines of the caches above it") \
	X(BOOL, section, at, write_through, "write_through", YES_NO, 0, 1, 0, false, \
	  "stores go on to the next level (l1d)") \
	X(U32, section, at, write_buffer, "write_buffer", "lines", 2, WRITE_BUFFER_MAX, ZERO, 0, \
	  "lines that wait to be written through to the next level (l1d); 0: stores are posted, without limit") \
	X(BOOL, section, at, no_write_allocate, "no_write_allocate", YES_NO, 0, 1, 0, false, \
	  "a store that misses fetches no line (l1d)")
#define MACHINE_CACHE_ALL(X, section, at, by) \
	MACHINE_CACHE(X, section, at, by) MACHINE_PREFETCH(X, section, at prefetch.) MACHINE_BUS(X, section, at bus.)
/* Of the L1D alone; in struct memsys_config. */
#define MACHINE_L1D_IDEAL(X, at) \
	X(U32, "l1d", at, ideal_dl1, "ideal_latency", "cycles", 0, 1, 0, 1, \
	  "from load to use of a hit, or of a forwarded store, where ideal.dl1 is on; fields2004's is 0")
#define MACHINE_L1I(l1i, l1d, l2, llc) l1i
#define MACHINE_L1D(l1i, l1d, l2, llc) l1d
#define MACHINE_L2(l1i, l1d, l2, llc) l2
#define MACHINE_LLC(l1i, l1d, l2, llc) llc

/* Without an L1 TLB every translation is free; without an STLB every L1 TLB miss walks. */
#define MACHINE_TLB(X, section, at, n) \
	X(U32, section, at, entries, "entries", "entries", 1, 65536, ZERO, n, "0: no such TLB") \
	X(U32, section, at, ways, "ways", "ways", 1, 65536, ZERO, 0, "0: fully associative") \
	X(U32, section, at, latency, "latency", "cycles", 1, 1000, ZERO, 0, \
	  "stlb: added to an L1 TLB miss that hits here")

#define MACHINE_WALK(X, at) \
	X(CHOICE, "walk", at, walk, "kind", WALKS, 0, 0, 0, MEM_WALK_FLAT, \
	  "a fixed penalty, or three loads through the caches") \
	X(U32, "walk", at, walk_latency, "latency", "cycles", 0, 10000, 0, 30, "flat: the penalty") \
	X(U32, "walk", at, walkers, "walkers", "walks", 1, 16, 0, 1, "caches: walks at a time") \
	X(U32, "walk", at, walk_cache, "cache", "entries", 0, 64, 0, 8, "caches: upper-level entries kept") \
	X(BOOL, "walk", at, walk_from_l2, "from_l2", YES_NO, 0, 1, 0, false, \
	  "caches: loads start at the L2, not at the L1D") \
	X(BOOL, "walk", at, walk_beside, "beside", YES_NO, 0, 1, 0, false, \
	  "the cache is looked up while an L1 TLB miss is served: an access takes the longer of the two") \
	X(U32, "walk", at, page_bytes, "page", "bytes", 4096, 1 << 30, POW2, 4096, "page size") \
	X(U32, "mem", at, line_bytes, "line", "bytes", 16, 1024, POW2, 64, "line of memory, and of every cache that has no other")

/* bytes_per_kcycle: 25.6 GB/s at 3.2 GHz are 8000. bus: of DRAM only trailing_edge counts. */
#define MACHINE_MEMORY(X, at) \
	X(CHOICE, "mem", at, kind, "kind", MEMORIES, 0, 0, 0, MEM_FLAT, "a fixed latency, or DRAM") \
	X(U32, "mem", at, latency, "latency", "cycles", 1, 100000, 0, 100, \
	  "flat: from the last cache's miss to the first data") \
	X(U32, "mem", at, bytes_per_kcycle, "bytes_per_kcycle", "bytes/1000 cycles", 0, 10000000, 0, 0, \
	  "peak bandwidth; 0: no limit (flat only)")
#define MACHINE_DRAM(X, at) \
	X(U32, "dram", at, channels, "channels", "channels", 1, 8, POW2, 1, "line-interleaved") \
	X(U32, "dram", at, ranks, "ranks", "ranks", 1, 8, POW2, 4, "per channel") \
	X(U32, "dram", at, banks, "banks", "banks", 1, 32, POW2, 8, "per rank") \
	X(U32, "dram", at, row_bytes, "row_bytes", "bytes", 64, 1 << 20, POW2, 8192, "row buffer") \
	X(U32, "dram", at, cas, "cas", "DRAM clocks", 1, 100, 0, 14, "column access") \
	X(U32, "dram", at, rcd, "rcd", "DRAM clocks", 1, 100, 0, 14, "row to column") \
	X(U32, "dram", at, rp, "rp", "DRAM clocks", 1, 100, 0, 14, "precharge") \
	X(U32, "dram", at, ras, "ras", "DRAM clocks", 0, 200, 0, 0, "activate to precharge; 0: no limit") \
	X(U32, "dram", at, clock_milli, "clock_milli", "core cycles/1000", 100, 100000, 0, 3200, \
	  "core cycles per DRAM clock, times 1000") \
	X(U32, "dram", at, overhead, "overhead", "cycles", 0, 1000, 0, 20, \
	  "in the controller and on the way, both directions") \
	X(U32, "dram", at, queue_depth, "queue_depth", "requests", 1, 64, 0, 8, \
	  "oldest requests that the scheduler sees") \
	X(U32, "dram", at, max_reads, "max_reads", "requests", 1, 256, 0, 32, "reads held") \
	X(U32, "dram", at, max_writes, "max_writes", "requests", 1, 256, 0, 32, "writes held") \
	X(U32, "dram", at, max_bypass, "max_bypass", "requests", 1, 1000, 0, 16, \
	  "row hits that may overtake the oldest request") \
	X(BOOL, "dram", at, fcfs, "fcfs", YES_NO, 0, 1, 0, false, \
	  "first come first served instead of row hits first")

/* ---- branch prediction ---- */

/* inflight is no hardware: the most control instructions between prediction and commit. */
#define MACHINE_BPRED(X, at) \
	X(NAME, "bpred", at, direction, "direction", DIRECTIONS, 0, 0, 0, "tage", "direction predictor") \
	X(NUMBER, "bpred", at, bimodal_entries, "bimodal_entries", "entries", 16, 1 << 20, POW2, 8192, \
	  "bimodal: 2-bit counters") \
	X(NUMBER, "bpred", at, gshare_entries, "gshare_entries", "entries", 16, 1 << 20, POW2, 8192, \
	  "gshare: 2-bit counters") \
	X(NUMBER, "bpred", at, gshare_history, "gshare_history", "bits", 1, 20, 0, 13, "gshare: global history") \
	X(NUMBER, "bpred", at, meta_entries, "meta_entries", "entries", 16, 1 << 20, POW2, 8192, \
	  "tournament: choosers") \
	X(NUMBER, "bpred", at, tage_tables, "tage_tables", "tables", 1, BPRED_TAGE_MAX, 0, 8, \
	  "TAGE: tagged tables") \
	X(NUMBER, "bpred", at, tage_base_entries, "tage_base_entries", "entries", 16, 1 << 20, POW2, 8192, \
	  "TAGE: base counters") \
	X(NUMBER, "bpred", at, tage_min_history, "tage_min_history", "bits", 1, 1024, 0, 4, \
	  "TAGE: shortest history") \
	X(NUMBER, "bpred", at, tage_max_history, "tage_max_history", "bits", 1, 1024, 0, 256, \
	  "TAGE: longest history") \
	X(LIST, "bpred", at, tage_entries, "tage_entries", "entries", 16, 1 << 13, POW2, \
	  MACHINE_EACH(2048, 2048, 2048, 2048, 2048, 2048, 1024, 1024), \
	  "TAGE: entries of each tagged table, shortest history first") \
	X(LIST, "bpred", at, tage_tag_bits, "tage_tag_bits", "bits", 4, 11, 0, \
	  MACHINE_EACH(8, 8, 9, 10, 10, 11, 11, 11), "TAGE: tag of each tagged table") \
	X(NUMBER, "bpred", at, tage_useful_period, "tage_useful_period", "updates", 1024, 1 << 24, POW2, 262144, \
	  "TAGE: between two agings of usefulness") \
	X(NUMBER, "bpred", at, loop_predictor, "loop_predictor", "flag", 0, 1, 0, 0, \
	  "TAGE: with a loop predictor") \
	X(NUMBER, "bpred", at, loop_entries, "loop_entries", "entries", 4, 1024, POW2, 64, \
	  "loop predictor: 4-way entries") \
	X(NUMBER, "bpred", at, btb_entries, "btb_entries", "entries", 1, 1 << 20, POW2, 4096, \
	  "branch-target buffer") \
	X(NUMBER, "bpred", at, btb_ways, "btb_ways", "ways", 1, 16, POW2, 2, "branch-target buffer") \
	X(NUMBER, "bpred", at, ras_entries, "ras_entries", "entries", 0, 1024, 0, 32, \
	  "return-address stack, 0 for none") \
	X(NUMBER, "bpred", at, indirect_entries, "indirect_entries", "entries", 16, 1 << 16, ZERO | POW2, 256, \
	  "indirect targets, per table, 0 for BTB only") \
	X(NUMBER, "bpred", at, inflight, "inflight", "instructions", 1, 1 << 20, 0, 1024, \
	  "control instructions in flight, at most")
#define MACHINE_EACH(...) { __VA_ARGS__ }

/* ---- all of them but idealisations, which are rows of words.h ---- */

#define MACHINE_PARAMS(X) \
	MACHINE_CORE(X) MACHINE_UNITS(X) MACHINE_LSU(X) \
	MACHINE_CACHE_ALL(X, "l1i", mem.cache[MEM_L1I]., MACHINE_L1I) \
	MACHINE_CACHE_ALL(X, "l1d", mem.cache[MEM_L1D]., MACHINE_L1D) \
	MACHINE_L1D_IDEAL(X, mem.) \
	MACHINE_CACHE_ALL(X, "l2", mem.cache[MEM_L2]., MACHINE_L2) \
	MACHINE_CACHE_ALL(X, "llc", mem.cache[MEM_LLC]., MACHINE_LLC) \
	MACHINE_TLB(X, "itlb", mem.itlb., 32) \
	MACHINE_TLB(X, "dtlb", mem.dtlb., 32) \
	MACHINE_TLB(X, "stlb", mem.stlb., 0) \
	MACHINE_WALK(X, mem.) \
	MACHINE_MEMORY(X, mem.mem.) MACHINE_BUS(X, "mem", mem.mem.bus.) MACHINE_DRAM(X, mem.mem.dram.)

/* clang-format on */

#endif

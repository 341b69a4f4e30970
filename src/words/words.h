/* SPDX-License-Identifier: MIT */
/*
 * The vocabulary: every name that records, analyses, store, views, options, help and papers share
 * is one row of a list here, and is defined nowhere else. A list is a macro that calls its argument
 * once per row; enums, tables, error texts and `culprit list` are made from it.
 *
 * To add a name, add a row at the end of its group: the row's place is the number that stores and
 * traces keep. Columns that several lists share:
 *
 *   ID       the end of the enumerator's name
 *   name     as in options, JSON keys, stores and tables
 *   letter   fills a bar on a terminal without colour
 *   colour   on a terminal: the end of a TERM_ name of view/term.h
 *   rgb      in a picture
 *   words    for people, where the name is short
 *   meaning  what it stands for, as `culprit list` and the glossary print it
 */
#ifndef WORDS_WORDS_H
#define WORDS_WORDS_H

/* clang-format off */

/*
 * Events (tea2023): why an instruction took its time; bits of rec_inst.psv. TEA's nine come first,
 * then the others that profiles keep, then those that only records have. rank: which event of a set
 * decides how a bar looks; 0 is the one that usually costs most. hides: an event that this one
 * implies and that is therefore not named beside it.
 *
 *	ID       name       letter colour   rank hides  meaning
 */
#define WORDS_TEA_EVENTS(X) \
	X(DR_L1,    "DR-L1",    'i', CYAN,    9, NONE,  "L1 instruction cache miss") \
	X(DR_TLB,   "DR-TLB",   't', CYAN,    8, NONE,  "L1 instruction TLB miss") \
	X(DR_SQ,    "DR-SQ",    's', BLUE,    7, NONE,  "store held at dispatch by a full store queue") \
	X(FL_MB,    "FL-MB",    'b', MAGENTA, 4, NONE,  "mispredicted branch") \
	X(FL_EX,    "FL-EX",    'x', YELLOW,  1, NONE,  "exception") \
	X(FL_MO,    "FL-MO",    'm', YELLOW,  3, NONE,  "memory ordering violation") \
	X(ST_L1,    "ST-L1",    'l', ORANGE,  6, NONE,  "L1 data cache miss") \
	X(ST_TLB,   "ST-TLB",   'T', GREEN,   5, NONE,  "L1 data TLB miss") \
	X(ST_LLC,   "ST-LLC",   'D', RED,     0, ST_L1, "last-level cache miss")
#define WORDS_PROFILED_EVENTS(X) \
	WORDS_TEA_EVENTS(X) \
	X(FL_CSR,   "FL-CSR",   'f', MAGENTA, 2, NONE,  "pipeline flush by a status-register access or fence")
#define WORDS_EVENTS(X) \
	WORDS_PROFILED_EVENTS(X) \
	X(DR_L2,    "DR-L2",    ' ', CYAN,   19, NONE,  "instruction fetch that missed the L2 as well") \
	X(DR_LLC,   "DR-LLC",   ' ', CYAN,   19, NONE,  "instruction fetch that went to memory") \
	X(DR_STLB,  "DR-STLB",  ' ', CYAN,   19, NONE,  "instruction TLB miss that missed the second-level TLB") \
	X(ST_L2,    "ST-L2",    ' ', ORANGE, 19, NONE,  "data access that missed the L2") \
	X(ST_STLB,  "ST-STLB",  ' ', GREEN,  19, NONE,  "data TLB miss that missed the second-level TLB") \
	X(ST_FWD,   "ST-FWD",   ' ', GREY,   19, NONE,  "load that got its data from the store queue") \
	X(ST_MSHR,  "ST-MSHR",  ' ', GREY,   19, NONE,  "access that waited for a free miss register (MSHR)") \
	X(ST_MERGE, "ST-MERGE", ' ', GREY,   19, NONE,  "access that merged into an outstanding miss of its line") \
	X(ST_BUS,   "ST-BUS",   ' ', GREY,   19, NONE,  "miss that waited for a bus or a DRAM queue") \
	X(SERIAL,   "SERIAL",   ' ', GREY,   19, NONE,  "serialised at dispatch: waited for an empty ROB")

/*
 * Commit states (tip2021 section 2.2): what commit does in a cycle, and which instruction the
 * golden reference blames for it.
 *
 *	ID         name         meaning
 */
#define WORDS_STATES(X) \
	X(COMPUTING, "computing", "instructions commit: the n that do share the cycle, 1/n each") \
	X(STALLED,   "stalled",   "the oldest instruction is not finished: it is blamed") \
	X(FLUSHED,   "flushed",   "the ROB was emptied by a flush: blamed is the instruction that caused it, which is the last that committed, or the one that took an exception") \
	X(DRAINED,   "drained",   "the ROB is empty because the front end delivers nothing: blamed is the next instruction to enter it")

/*
 * Time categories: a finer division of the commit states (tip2021 figure A.7).
 *
 *	ID           name           colour   meaning
 */
#define WORDS_TIMES(X) \
	X(EXECUTION,   "execution",   GREEN,   "instructions commit") \
	X(FRONTEND,    "front end",   CYAN,    "drained: the front end delivers nothing") \
	X(ALU_STALL,   "ALU stall",   GREY,    "the oldest instruction is unfinished, and neither load nor store") \
	X(LOAD_STALL,  "load stall",  RED,     "the oldest instruction is an unfinished load") \
	X(STORE_STALL, "store stall", BLUE,    "the oldest instruction is an unfinished store or atomic") \
	X(MISPREDICT,  "mispredict",  MAGENTA, "flushed by a mispredicted branch") \
	X(MISC_FLUSH,  "misc. flush", YELLOW,  "flushed by anything else") \
	X(STORES,      "store queue", ORANGE,  "drained: the store queue is full of stores that wait to be written (DR-SQ)") \
	X(KERNEL,      "kernel",      DIM,     "flushed by an exception, and the kernel's time passes: system call, page fault, thread switch")

/*
 * Cost categories (fields2004 table I), in the order in which they are shown. bit: its number in a
 * set of categories of the graph. kind: the per-instruction cost that it is a part of, for
 * `what-if`. better, verb: how to be rid of it, as a noun and as a gerund. meaning: what idealising
 * it does.
 *
 *	ID     name  bit letter colour rgb  kind  words  better  verb  meaning
 */
#define WORDS_COSTS(X) \
	X(DL1,   "dl1",   0, 'd', YELLOW,  "#f2d06b", LATENCY,    "L1 latency", \
	  "a faster L1", "making the L1 faster", "L1 D-cache hits take one cycle (or none: l1d.ideal_latency)") \
	X(WIN,   "win",   7, 'w', BLUE,    "#3c7fb1", NONE,       "the window", \
	  "a larger window", "enlarging the window", "ROB, queues and registers 20 times as large") \
	X(BW,    "bw",    1, 'b', CYAN,    "#9ad0d3", NONE,       "bandwidth", \
	  "more bandwidth", "widening the machine", "no limit on fetch, issue, commit and transfer bandwidth") \
	X(BMISP, "bmisp", 2, 'B', RED,     "#d1495b", MISPREDICT, "mispredicts", \
	  "better prediction", "predicting branches better", "branches are predicted right") \
	X(DMISS, "dmiss", 3, 'D', ORANGE,  "#e08e45", MISS,       "data misses", \
	  "fewer data misses", "avoiding data misses", "data accesses hit the L1") \
	X(SHALU, "shalu", 4, 's', GREEN,   "#7fb77e", LATENCY,    "one-cycle operations", \
	  "faster one-cycle operations", "speeding up one-cycle operations", "one-cycle operations take none") \
	X(LGALU, "lgalu", 5, 'l', MAGENTA, "#8f5fbf", LATENCY,    "long operations", \
	  "faster long operations", "speeding up long operations", "multi-cycle integer and FP operations take none") \
	X(IMISS, "imiss", 6, 'i', GREY,    "#9b9b9b", IMISS,      "instruction misses", \
	  "fewer instruction misses", "avoiding instruction misses", "fetches hit the L1")

/* Other parts of a machine that can be idealised (`--set ideal.NAME=on`), beside the cost
 * categories. */
#define WORDS_IDEALS(X) \
	X(ITLB,  "itlb",  "fetches hit the TLB") \
	X(DTLB,  "dtlb",  "data accesses hit the TLB") \
	X(FLUSH, "flush", "exceptions, serialising instructions and memory order cost nothing") \
	X(SQ,    "sq",    "the store queue is never full") \
	X(DMEM,  "dmem",  "data never comes from memory: the last cache has it") \
	X(IMEM,  "imem",  "instructions never come from memory: the last cache has them") \
	X(VALUES, "values", "no instruction waits for a register: its values are predicted right") \
	X(FETCH_BW,  "fetch_bw",  "no limit on fetch, decode and dispatch bandwidth") \
	X(ISSUE_BW,  "issue_bw",  "no limit on issue bandwidth and units") \
	X(COMMIT_BW, "commit_bw", "no limit on commit bandwidth")

/*
 * Parts of the machine that could be of another size, one at a time (analysis resources): enumerator,
 * name, section and key of the parameter that says how large it is, kind, in words. Kinds: ENTRIES of a
 * queue; WIDTH, operations a cycle; UNITS; CACHE. Of the kind LIMIT there is no size: without it.
 */
#define WORDS_RESOURCES(X) \
	X(ROB,       "rob",         "window", "rob",         ENTRIES, "reorder buffer") \
	X(QUEUE,     "queue",       "window", "queue",       ENTRIES, "issue queue") \
	X(INT_QUEUE, "int_queue",   "window", "int_queue",   ENTRIES, "integer issue queue") \
	X(MEM_QUEUE, "mem_queue",   "window", "mem_queue",   ENTRIES, "memory issue queue") \
	X(FP_QUEUE,  "fp_queue",    "window", "fp_queue",    ENTRIES, "FP issue queue") \
	X(LQ,        "load_queue",  "lsu",    "load_queue",  ENTRIES, "load queue") \
	X(SQ,        "store_queue", "lsu",    "store_queue", ENTRIES, "store queue") \
	X(INT_REGS,  "int_regs",    "window", "int_regs",    ENTRIES, "integer registers") \
	X(FP_REGS,   "fp_regs",     "window", "fp_regs",     ENTRIES, "FP registers") \
	X(BRANCHES,  "branches",    "decode", "branches",    ENTRIES, "unresolved branches") \
	X(BUFFER,    "buffer",      "fetch",  "buffer",      ENTRIES, "fetch buffer") \
	X(TARGETS,   "targets",     "fetch",  "targets",     ENTRIES, "fetch packets in flight") \
	X(MSHRS,     "mshrs",       "l1d",    "mshrs",       ENTRIES, "L1D misses in flight") \
	X(FETCH,     "fetch",       "fetch",  "width",       WIDTH,   "fetch width") \
	X(DECODE,    "decode",      "decode", "width",       WIDTH,   "decode width") \
	X(ISSUE,     "issue",       "window", "issue_width", WIDTH,   "issue width") \
	X(INT_ISSUE, "int_issue",   "window", "int_issue",   WIDTH,   "integer issue width") \
	X(MEM_ISSUE, "mem_issue",   "window", "mem_issue",   WIDTH,   "memory issue width") \
	X(FP_ISSUE,  "fp_issue",    "window", "fp_issue",    WIDTH,   "FP issue width") \
	X(COMMIT,    "commit",      "window", "commit_width", WIDTH,  "commit width") \
	X(ALU,       "alu",         "units",  "alu",         UNITS,   "integer ALUs") \
	X(BRANCH,    "branch",      "units",  "branch",      UNITS,   "branch units") \
	X(MUL,       "mul",         "units",  "mul",         UNITS,   "multipliers") \
	X(DIV,       "div",         "units",  "div",         UNITS,   "dividers") \
	X(FADD,      "fadd",        "units",  "fadd",        UNITS,   "FP adders") \
	X(FMUL,      "fmul",        "units",  "fmul",        UNITS,   "FP multipliers") \
	X(FDIV,      "fdiv",        "units",  "fdiv",        UNITS,   "FP dividers") \
	X(FSQRT,     "fsqrt",       "units",  "fsqrt",       UNITS,   "FP square-root units") \
	X(LOAD,      "load",        "units",  "load",        UNITS,   "load ports") \
	X(STORE,     "store",       "units",  "store",       UNITS,   "store-address ports") \
	X(L1I,       "l1i",         "l1i",    "size",        CACHE,   "L1 I-cache") \
	X(L1D,       "l1d",         "l1d",    "size",        CACHE,   "L1 D-cache") \
	X(L2,        "l2",          "l2",     "size",        CACHE,   "L2 cache") \
	X(FETCH_BW,  "fetch_bw",    "",       "",            LIMIT,   "fetch and decode bandwidth") \
	X(ISSUE_BW,  "issue_bw",    "",       "",            LIMIT,   "issue bandwidth and units") \
	X(COMMIT_BW, "commit_bw",   "",       "",            LIMIT,   "commit bandwidth") \
	X(VALUES,    "values",      "",       "",            LIMIT,   "waits for registers")

/* What the critical path passes through at an instruction. The first ones are costs that can be
 * fixed. */
#define WORDS_COST_KINDS(X) \
	X(MISS,       "miss",       "its data misses") \
	X(MISPREDICT, "mispredict", "its mispredicts") \
	X(LATENCY,    "latency",    "its latency, without misses") \
	X(IMISS,      "imiss",      "the instruction misses of its fetch packet")
#define WORDS_KINDS(X) \
	WORDS_COST_KINDS(X) \
	X(BANDWIDTH,  "bandwidth",  "the widths of the machine") \
	X(WINDOW,     "window",     "the size of the window") \
	X(OTHER,      "other",      "the length of the pipeline and the rest")

/*
 * Components of CPI stacks (eyerman2006), and other causes for which our machines lose cycles. The
 * first group can be simulated one after the other; in a simulated stack the rest are part of base.
 *
 *	ID         name           letter colour rgb     words  meaning
 */
#define WORDS_SIMULATED_COMPONENTS(X) \
	X(BASE,     "base",         '.', GREEN,   "#7fb77e", "base",                    "all that is no other component") \
	X(L1I,      "L1 I-cache",   'i', CYAN,    "#9ad0d3", "L1 I-cache misses",       "L1 I-cache misses that a lower cache serves") \
	X(L2I,      "L2 I-cache",   'I', BLUE,    "#3c7fb1", "L2 I-cache misses",       "I-cache misses that go to memory") \
	X(ITLB,     "I-TLB",        't', MAGENTA, "#c9a0dc", "I-TLB misses",            "page walks for fetches") \
	X(BMISP,    "mispredict",   'B', RED,     "#d1495b", "mispredicted branches",   "mispredicted branches: their resolution and the refill") \
	X(L1D,      "L1 D-cache",   'd', YELLOW,  "#f2d06b", "L1 D-cache misses",       "L1 D-cache misses that a lower cache serves") \
	X(L2D,      "L2 D-cache",   'D', ORANGE,  "#e08e45", "L2 D-cache misses",       "D-cache misses that go to memory") \
	X(DTLB,     "D-TLB",        'T', BOLD,    "#8f5fbf", "D-TLB misses",            "page walks for data")
#define WORDS_COMPONENTS(X) \
	WORDS_SIMULATED_COMPONENTS(X) \
	X(LONG,     "long latency", 'L', GREY,    "#9b9b9b", "long-latency operations", "long-latency operations and dependences: resource stalls") \
	X(FLUSH,    "other flush",  'F', DIM,     "#5c5c5c", "other flushes",           "exceptions, serialising instructions, memory order") \
	X(SQ,       "store queue",  'S', PLAIN,   "#c7a17a", "store queue full",        "the store queue is full") \
	X(FRONTEND, "front end",    'f', DIM,     "#cfd8dc", "front end too slow",      "the front end delivers too little, with no miss")

/*
 * Methods that make CPI stacks. slots: 1 if it counts dispatch slots, 0 if cycles. axis: 1 if the
 * stack has a time axis; the naive methods know only totals.
 *
 *	ID              name              slots axis  meaning
 */
#define WORDS_METHODS(X) \
	X(FMT,            "fmt",            1, 1, "front-end miss event table (eyerman2006), in slots") \
	X(SFMT,           "sfmt",           1, 1, "shared front-end miss event table (eyerman2006), in slots") \
	X(FMT_PAPER,      "fmt_paper",      0, 1, "front-end miss event table to the letter: cycles, at fetch") \
	X(NAIVE,          "naive",          0, 0, "events times a fixed penalty, wrong paths counted") \
	X(NAIVE_NON_SPEC, "naive_non_spec", 0, 0, "events of committed instructions times a fixed penalty") \
	X(POWER5,         "power5",         0, 1, "completion stalls") \
	X(COMMIT,         "commit",         0, 1, "what commit waits for") \
	X(DISPATCH,       "dispatch",       1, 1, "what keeps dispatch slots empty") \
	X(ISSUE,          "issue",          1, 1, "what keeps issue slots empty") \
	X(STALLS,         "stalls",         1, 1, "where issue in order loses slots")

/* Components of top-down analysis. */
#define WORDS_TOPDOWN(X) \
	X(RETIRING,        "retiring",                       "slots of instructions that committed") \
	X(MISPREDICTS,     "bad speculation: mispredicts",   "slots of wrong paths and of the refill") \
	X(CLEARS,          "bad speculation: other flushes", "the same for exceptions, serialising instructions, memory order") \
	X(FETCH_LATENCY,   "front-end bound: latency",       "cycles in which fetch delivers nothing") \
	X(FETCH_BANDWIDTH, "front-end bound: bandwidth",     "cycles in which fetch delivers too few") \
	X(MEMORY,          "back-end bound: memory",         "a miss is outstanding or the store queue is full") \
	X(CORE,            "back-end bound: core",           "the rest")

/*
 * Profilers (tip2021 section 5, tea2023 table B.1). rule: which instruction a sample selects, the
 * end of a SELECT_ name of analysis/profile. events: the end of an EVENTS_ name there. bytes: of a
 * sample. chart: shown by `accuracy --sweep`, as the papers' figures do.
 *
 *	ID            name            rule        events bytes chart meaning
 */
#define WORDS_PROFILERS(X) \
	X(TIP,          "tip",          TIP,        NONE, 88, 1, "time-proportional: the four commit states") \
	X(TIP_ILP,      "tip-ilp",      TIP_OLDEST, NONE, 56, 1, "TIP that gives a committing group to its oldest") \
	X(NCI,          "nci",          NCI,        NONE, 56, 1, "next-committing instruction, as Intel PEBS") \
	X(NCI_ILP,      "nci+ilp",      NCI_ALL,    NONE, 88, 0, "all of the next-committing group share") \
	X(LCI,          "lci",          LCI,        NONE, 56, 0, "last-committed instruction, as external monitors") \
	X(DISPATCH,     "dispatch",     DISPATCH,   NONE, 56, 0, "tagged at dispatch, as AMD IBS and Arm SPE") \
	X(SOFTWARE,     "software",     RESUME,     NONE, 56, 0, "where execution resumes after an interrupt, as perf") \
	X(TEA,          "tea",          TIP,        TEA,  88, 1, "TIP with all nine events") \
	X(NCI_TEA,      "nci-tea",      NCI,        TEA,  56, 1, "NCI with all nine events") \
	X(IBS,          "ibs",          DISPATCH,   IBS,  56, 0, "tagged at dispatch, IBS's events") \
	X(SPE,          "spe",          DISPATCH,   SPE,  56, 0, "tagged at dispatch, SPE's events") \
	X(RIS,          "ris",          FETCH,      RIS,  56, 0, "tagged at fetch, RIS's events") \
	X(TEA_DISPATCH, "tea-dispatch", DISPATCH,   TEA,  56, 0, "tagged at dispatch, all nine events") \
	X(TIP_HW,       "tip-hw",       HARDWARE,   NONE, 88, 0, "TIP as its registers deliver it (--param tip-hardware=1)") \
	X(TEA_HW,       "tea-hw",       HARDWARE,   TEA,  88, 0, "the same with the PSVs in its flags register") \
	X(TIP_POOLED,   "tip-pooled",   TIP,        NONE, 88, 0, "TIP's samples, executions pooled by flow (--param pooled=1)")

/* Why the instruction at dispatch waits. */
#define WORDS_DISPATCH_STALLS(X) \
	X(OK,       "ok",     "nothing waits, or the width is used up") \
	X(EMPTY,    "empty",  "nothing to dispatch: the front end delivers nothing") \
	X(ROB,      "rob",    "the reorder buffer is full") \
	X(IQ,       "iq",     "the issue queue is full") \
	X(LQ,       "lq",     "the load queue is full") \
	X(SQ,       "sq",     "the store queue is full") \
	X(REGS,     "regs",   "no physical register is free") \
	X(BRANCHES, "br",     "as many branches are outstanding as may be") \
	X(SERIAL,   "serial", "a serialising instruction waits for an empty ROB, or holds up what comes after it")

/* Why fetch delivers nothing. */
#define WORDS_FETCH_STALLS(X) \
	X(OK,         "ok",        "delivers at least one instruction") \
	X(ICACHE_L2,  "l2",        "waits for an I-cache miss that hits the L2") \
	X(ICACHE_LLC, "llc",       "waits for an I-cache miss that misses the L2 and hits the last-level cache") \
	X(ICACHE_MEM, "memory",    "waits for an I-cache miss that goes to memory") \
	X(ITLB,       "itlb",      "waits for a page walk") \
	X(REDIRECT,   "redirect",  "refills after a redirect: mispredict, flush, or a bubble of the BTB") \
	X(BUFFER,     "buffer",    "the fetch buffer or the fetch-target queue is full") \
	X(BRANCHES,   "br",        "as many branches are outstanding as may be") \
	X(BLOCKED,    "blocked",   "a wrong path ran into what it cannot fetch; or a serialising instruction is waited for") \
	X(EXCEPTION,  "exception", "the exception handler's time passes") \
	X(END,        "end",       "the program is over; the pipeline drains")

/* Why the pipeline was flushed. */
#define WORDS_FLUSHES(X) \
	X(NONE,       "none",       "it was not") \
	X(MISPREDICT, "mispredict", "mispredicted branch") \
	X(EXCEPTION,  "exception",  "exception") \
	X(ORDER,      "order",      "memory ordering violation") \
	X(CSR,        "csr",        "serialising status-register access or fence")

/* Where an access was served. */
#define WORDS_LEVELS(X) \
	X(NONE, "none",    "no access") \
	X(FWD,  "forward", "the store queue") \
	X(L1,   "l1",      "the L1 cache") \
	X(L2,   "l2",      "the L2 cache") \
	X(LLC,  "llc",     "the last-level cache") \
	X(MEM,  "memory",  "memory")

/*
 * Kinds of misses (rec_miss.kind).
 *
 *	ID        name        meaning
 */
#define WORDS_MISSES(X) \
	X(LOAD,     "load",     "a load's data") \
	X(STORE,    "store",    "a store's, when it drains after its commit") \
	X(ATOMIC,   "atomic",   "an atomic instruction's or lr's data") \
	X(FETCH,    "fetch",    "instructions") \
	X(HINT,     "hint",     "a prefetch instruction's line") \
	X(PREFETCH, "prefetch", "a line that a hardware prefetcher asked for") \
	X(WALK,     "walk",     "an entry of the page table") \
	X(ITLB,     "itlb",     "a fetch's address translation: L1 TLB miss") \
	X(DTLB,     "dtlb",     "a load's or store's address translation: L1 TLB miss")

/*
 * What a sampling counter counts (dcpi1997 section 4.1).
 *
 *	ID        name        meaning
 */
#define WORDS_SAMPLED(X) \
	X(CYCLES,   "cycles",   "cycles: the oldest instruction not yet issued is sampled") \
	X(IMISS,    "imiss",    "instruction fetches that miss the L1 cache") \
	X(ITLB,     "itlb",     "instruction fetches that miss the TLB") \
	X(DMISS,    "dmiss",    "loads that miss the L1 cache") \
	X(DTLB,     "dtlb",     "loads that miss the TLB") \
	X(BRANCHMP, "branchmp", "mispredicted branches")

/* How control passes from a block of code to another. */
#define WORDS_CFG(X) \
	X(FALL,    "fall-through", "to the next instruction, also after a call that returns") \
	X(TAKEN,   "taken",        "a branch or jump to a known target") \
	X(TABLE,   "jump-table",   "an indirect jump to a target that its table has") \
	X(ENTRY,   "entry",        "into the function: its start, or a second entry") \
	X(EXIT,    "exit",         "out of the function: return, tail call, a call that does not return") \
	X(MISSING, "missing",      "an indirect jump whose targets are not known")

/*
 * Causes of dynamic stalls (dcpi1997 figure 4, in its order).
 *
 *	ID          name letter  words  meaning
 */
#define WORDS_CAUSES(X) \
	X(ICACHE,   "icache",     'i', "I-cache miss",        "its line of code was not in the L1 cache") \
	X(ITLB,     "itlb",       'I', "I-TLB miss",          "its page of code was not in the TLB") \
	X(DCACHE,   "dcache",     'd', "D-cache miss",        "a register that it needs comes from a load that missed the L1 cache") \
	X(DTLB,     "dtlb",       'D', "D-TLB miss",          "a register that it needs comes from a load that missed the TLB") \
	X(WRITE,    "write",      'w', "write buffer",        "stores filled the write buffer faster than it drains") \
	X(SYNC,     "sync",       'y', "synchronisation",     "a fence, an atomic or another serialising instruction") \
	X(BRANCH,   "mispredict", 'p', "branch mispredict",   "the branch, indirect jump or return before it went elsewhere than predicted") \
	X(BUBBLE,   "bubble",     't', "taken-branch bubble", "the front end learnt the target of a jump late") \
	X(MULTIPLY, "multiplier", 'm', "multiplier busy",     "an earlier block left the multiplier busy") \
	X(DIVIDE,   "divider",    'f', "divider busy",        "an earlier block left the divider busy") \
	X(STORE,    "store",      'o', "earlier store",       "it loads what a store still queued has written") \
	X(KERNEL,   "kernel",     'k', "kernel",              "the time of a system call") \
	X(BEFORE,   "before",     'x', "previous block",      "what it waits for was begun by a preceding block")

/* Causes of static stalls: what the schedule of a block itself says (figure 4). */
#define WORDS_STATICS(X) \
	X(NONE,    "none",      "it waits for nothing") \
	X(SLOT,    "slotting",  "the issue group or the fetch block is over, or the width is used up") \
	X(RA,      "ra",        "first source register: an earlier instruction of the block computes it") \
	X(RB,      "rb",        "second or third source register, likewise") \
	X(RC,      "rc",        "destination register: an earlier instruction of the block still writes it") \
	X(UNIT,    "unit",      "the functional unit is taken by an earlier instruction of the block")

/*
 * Why an instruction was at the head of the issue queue in a cycle and did not issue: the truth
 * beside the causes. cause: the end of a CAUSE_ name, or STATIC for what a schedule explains.
 *
 *	ID            name  cause  meaning
 */
#define WORDS_REASONS(X) \
	X(ISSUED,      "issued",      STATIC,   "it issued in this cycle") \
	X(LINE,        "line",        ICACHE,   "not fetched: waits for its line of code") \
	X(PAGE,        "page",        ITLB,     "not fetched: waits for a page walk") \
	X(REDIRECT,    "redirect",    BRANCH,   "not fetched: the front end was on a wrong path, or refills") \
	X(BUBBLE,      "bubble",      BUBBLE,   "not fetched: the target of a taken jump was learnt late") \
	X(KERNEL,      "kernel",      KERNEL,   "not fetched: the kernel's time passes") \
	X(FETCH,       "fetch",       STATIC,   "not fetched: the fetch block before it was over") \
	X(STORES,      "stores",      WRITE,    "the store queue or the write buffer is full") \
	X(SERIAL,      "serial",      SYNC,     "not dispatched: serialised") \
	X(WINDOW,      "window",      DCACHE,   "not dispatched: the window is full") \
	X(EXECUTION,   "execution",   STATIC,   "an operand's producer executes") \
	X(MISS,        "miss",        DCACHE,   "an operand's producer waits for a cache miss") \
	X(WALK,        "walk",        DTLB,     "an operand's producer waits for a page walk") \
	X(QUEUE,       "queue",       DCACHE,   "an operand's producer waits for a miss register, a bus or memory") \
	X(OVERLAP,     "overlap",     STORE,    "an operand's producer waits for an earlier store") \
	X(MULTIPLIER,  "multiplier",  MULTIPLY, "the multiplier is busy") \
	X(DIVIDER,     "divider",     DIVIDE,   "the divider is busy") \
	X(UNIT,        "unit",        STATIC,   "another unit is busy, or a load comes too soon after a store") \
	X(GROUP,       "group",       STATIC,   "the issue group is over, or the width is used up") \
	X(END,         "end",         STATIC,   "it had issued, as the last one before the end of the run or region")

/* Ways to frequencies. */
#define WORDS_FREQUENCIES(X) \
	X(DCPI,  "dcpi",  "clusters of ratios, then local propagation (dcpi1997)") \
	X(PROFI, "profi", "minimum-cost flow with fixed costs, as compilers infer profiles") \
	X(FLOW,  "flow",  "minimum-cost flow within procedures and equations of calls between them, with costs from the likelihood of the samples") \
	X(BIT,   "bit",   "flow, where samples say whether the sampled instruction issued in that very cycle")

/* How far an estimate can be trusted, and where it comes from. */
#define WORDS_CONFIDENCE(X) \
	X(LOW,    "low",    "may be far off") \
	X(MEDIUM, "medium", "in between") \
	X(HIGH,   "high",   "most likely within 15%")
#define WORDS_ORIGINS(X) \
	X(NONE,       "none",       "not known") \
	X(CLUSTER,    "cluster",    "ratios of its own class") \
	X(POOLED,     "pooled",     "all samples of its class over all its least times: too few for a cluster") \
	X(RECORDS,    "records",    "branch records that have it") \
	X(PROPAGATED, "propagated", "what flows in and out") \
	X(FLOW,       "flow",       "a minimum-cost flow") \
	X(NO_SAMPLES, "no samples", "none was taken: at most what the period allows")

/* clang-format on */

enum event_bit {
#define X(id, ...) EVENT_##id,
	WORDS_EVENTS(X)
#undef X
	    EVENT_COUNT
};

#define WORDS_ONE(...) +1
enum {
	EVENT_TEA_COUNT = 0 WORDS_TEA_EVENTS(WORDS_ONE),
	EVENT_PROFILED_COUNT = 0 WORDS_PROFILED_EVENTS(WORDS_ONE),
};

enum commit_state {
#define X(id, ...) STATE_##id,
	WORDS_STATES(X)
#undef X
	    STATE_COUNT
};

enum time_category {
#define X(id, ...) TIME_##id,
	WORDS_TIMES(X)
#undef X
	    TIME_CATEGORY_COUNT
};

/* The numbers are bits of a set; the list is in the order in which people read it. */
enum cost_category {
#define X(id, name, bit, ...) COST_##id = bit,
	WORDS_COSTS(X)
#undef X
	    COST_COUNT = 0 WORDS_COSTS(WORDS_ONE)
};

enum resource {
#define X(id, ...) RESOURCE_##id,
	WORDS_RESOURCES(X)
#undef X
	    RESOURCES
};

enum resource_kind {
	RESOURCE_IS_ENTRIES,
	RESOURCE_IS_WIDTH,
	RESOURCE_IS_UNITS,
	RESOURCE_IS_CACHE,
	RESOURCE_IS_LIMIT,
};

enum cost_kind {
	KIND_NONE = -1,
#define X(id, ...) KIND_##id,
	WORDS_KINDS(X)
#undef X
	    KIND_COUNT,
	KIND_FIXABLE = 0 WORDS_COST_KINDS(WORDS_ONE)
};

enum cpi_component {
#define X(id, ...) CPI_##id,
	WORDS_COMPONENTS(X)
#undef X
	    CPI_COMPONENTS,
	CPI_SIMULATED = 0 WORDS_SIMULATED_COMPONENTS(WORDS_ONE)
};

enum cpi_method {
#define X(id, ...) METHOD_##id,
	WORDS_METHODS(X)
#undef X
	    METHODS
};

enum topdown {
#define X(id, ...) TD_##id,
	WORDS_TOPDOWN(X)
#undef X
	    TD_COMPONENTS
};

enum mem_level {
#define X(id, ...) LEVEL_##id,
	WORDS_LEVELS(X)
#undef X
	    LEVEL_COUNT
};

enum miss_kind {
#define X(id, ...) MISS_##id,
	WORDS_MISSES(X)
#undef X
	    MISS_KINDS
};

enum dispatch_stall {
#define X(id, ...) DISPATCH_##id,
	WORDS_DISPATCH_STALLS(X)
#undef X
	    DISPATCH_STALL_COUNT
};

enum fetch_stall {
#define X(id, ...) FETCH_##id,
	WORDS_FETCH_STALLS(X)
#undef X
	    FETCH_STALL_COUNT
};

enum flush_cause {
#define X(id, ...) FLUSH_##id,
	WORDS_FLUSHES(X)
#undef X
	    FLUSH_CAUSE_COUNT
};

enum profiler_id {
#define X(id, ...) PROFILER_##id,
	WORDS_PROFILERS(X)
#undef X
	    PROFILER_COUNT
};

enum sampled_event {
#define X(id, ...) SAMPLED_##id,
	WORDS_SAMPLED(X)
#undef X
	    SAMPLED_COUNT
};

enum cfg_kind {
#define X(id, ...) CFG_##id,
	WORDS_CFG(X)
#undef X
	    CFG_KINDS
};

enum cause {
#define X(id, ...) CAUSE_##id,
	WORDS_CAUSES(X)
#undef X
	    CAUSE_COUNT,
	CAUSE_STATIC = -1
};

enum static_stall {
#define X(id, ...) STATIC_##id,
	WORDS_STATICS(X)
#undef X
	    STATIC_COUNT
};

enum head_reason {
#define X(id, ...) REASON_##id,
	WORDS_REASONS(X)
#undef X
	    REASON_COUNT
};

enum frequency_method {
#define X(id, ...) FREQUENCY_##id,
	WORDS_FREQUENCIES(X)
#undef X
	    FREQUENCY_METHODS
};

enum confidence {
#define X(id, ...) CONFIDENCE_##id,
	WORDS_CONFIDENCE(X)
#undef X
	    CONFIDENCE_COUNT
};

enum freq_origin {
#define X(id, ...) ORIGIN_##id,
	WORDS_ORIGINS(X)
#undef X
	    ORIGIN_COUNT
};

/* What a culprit search assumes beyond calls and returns. */
enum cross_procedure { CROSS_SELECTIVE, CROSS_PESSIMISTIC, CROSS_OPTIMISTIC };

/* One row of a list, as it is printed. */
struct word {
	const char *name;
	const char *words; /* NULL: the name says it */
	const char *meaning;
};
extern const struct word words_events[EVENT_COUNT];
extern const struct word words_states[STATE_COUNT];
extern const struct word words_times[TIME_CATEGORY_COUNT];
extern const struct word words_costs[COST_COUNT]; /* by bit */
extern const struct word words_resources[RESOURCES];
/* The parameter that says how large it is; of the kind LIMIT: empty texts. */
struct resource_param {
	const char *section, *key;
	enum resource_kind kind;
};
extern const struct resource_param resource_params[RESOURCES];
extern const struct word words_kinds[KIND_COUNT];
extern const struct word words_components[CPI_COMPONENTS];
extern const struct word words_methods[METHODS];
extern const struct word words_topdown[TD_COMPONENTS];
extern const struct word words_profilers[PROFILER_COUNT];
extern const struct word words_dispatch_stalls[DISPATCH_STALL_COUNT];
extern const struct word words_fetch_stalls[FETCH_STALL_COUNT];
extern const struct word words_misses[MISS_KINDS];
extern const struct word words_sampled[SAMPLED_COUNT];
extern const struct word words_cfg[CFG_KINDS];
extern const struct word words_causes[CAUSE_COUNT];
extern const struct word words_statics[STATIC_COUNT];
extern const struct word words_reasons[REASON_COUNT];
extern const struct word words_frequencies[FREQUENCY_METHODS];
extern const struct word words_confidence[CONFIDENCE_COUNT];
extern const struct word words_origins[ORIGIN_COUNT];
/* By enum cause. */
extern const char words_cause_letter[CAUSE_COUNT];
/* By enum head_reason: enum cause. */
extern const signed char words_reason_cause[REASON_COUNT];

/* All lists, for `culprit list` and the glossary. */
struct words_list {
	const char *kind;    /* the KIND of `culprit list KIND` */
	const char *summary; /* what these are */
	const struct word *rows;
	unsigned count;
};
extern const struct words_list words_lists[];
extern const unsigned words_lists_count;

/* For texts that name all rows of a list: "they are" WORDS_EVENTS(WORDS_SPACED). */
#define WORDS_SPACED(id, name, ...) " " name
#define WORDS_COMMA(id, name, ...)  ", " name

#endif

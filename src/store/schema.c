/* SPDX-License-Identifier: MIT */
/*
 * The tables, by the version of the format that brought them. A new store executes the statements
 * of all versions in turn; an older store, in memory, those of the versions after its own. So a
 * change of the tables is a new version: its statements at the end, STORE_VERSION raised, a line in
 * docs/store.md. The statements of a version never change.
 *
 * Time is in integer units: cycles * run.scale, so that shares of a cycle are exact.
 */
#include "store/store.h"

#include <stddef.h>

/*
 * Pipeline spectroscopy (puzak2007). clustering: 0 all misses, 1 those of the right path alone;
 * measure: 0 the paper's cost, 1 net; level: 0 the nearest beyond the L1, and level0, level1, level2
 * are misses that each served.
 *
 * spectrum            totals: cycles, twin_cycles, adder, cost, net, drift, head, tail, a, ks3, …
 * spectrum_miss       misses of both clusterings by kind. cycles: in progress; used: prefetches
 *                     whose line was asked for before it came
 * spectrum_level      where misses are served. latency: beyond an L1 hit
 * spectrum_size       clusters by size; above 64 a row is a power of two
 * spectrum_bin        the spectrograms. cycles: the end of the bin that is nearer to zero
 * spectrum_peak       their peaks. kind, pattern "": all; low, high: 10th and 90th percentile
 * spectrum_pattern    overlapped, zero: of two misses, clusters that overlap, and of those the ones
 *                     that cost nothing; net_: the same by net cost
 * spectrum_predicted  the spectrograms that the theory predicts
 * spectrum_load       by static instruction. even, exposed: the two splits of net cost; sizes: sum
 *                     of the sizes of the clusters that its misses are in
 * spectrum_load_bin   growth of the lag at each miss of a load
 * spectrum_pair       neighbours in a cluster, by the ids of their loads
 */
/* clang-format off */
#define SPECTRUM_TABLES \
	"CREATE TABLE IF NOT EXISTS spectrum (clustering INTEGER, key TEXT, value, PRIMARY KEY (clustering, key)) WITHOUT ROWID;" \
	"CREATE TABLE IF NOT EXISTS spectrum_miss (kind TEXT, level INTEGER, misses INTEGER, wrong INTEGER, cycles INTEGER," \
	" queue INTEGER, merged INTEGER, used INTEGER, PRIMARY KEY (kind, level)) WITHOUT ROWID;" \
	"CREATE TABLE IF NOT EXISTS spectrum_level (clustering INTEGER, level INTEGER, letter TEXT, name TEXT, latency INTEGER," \
	" misses INTEGER, share REAL, PRIMARY KEY (clustering, level)) WITHOUT ROWID;" \
	"CREATE TABLE IF NOT EXISTS spectrum_size (clustering INTEGER, size INTEGER, clusters INTEGER, misses INTEGER," \
	" level0 INTEGER, level1 INTEGER, level2 INTEGER, cost INTEGER, net INTEGER," \
	" PRIMARY KEY (clustering, size)) WITHOUT ROWID;" \
	"CREATE TABLE IF NOT EXISTS spectrum_bin (clustering INTEGER, measure INTEGER, size INTEGER, kind TEXT, pattern TEXT," \
	" cycles INTEGER, clusters INTEGER," \
	" PRIMARY KEY (clustering, measure, size, kind, pattern, cycles)) WITHOUT ROWID;" \
	"CREATE TABLE IF NOT EXISTS spectrum_peak (clustering INTEGER, measure INTEGER, size INTEGER, kind TEXT, pattern TEXT," \
	" sum INTEGER, name TEXT, clusters INTEGER, median INTEGER, low INTEGER, high INTEGER," \
	" PRIMARY KEY (clustering, measure, size, kind, pattern, sum)) WITHOUT ROWID;" \
	"CREATE TABLE IF NOT EXISTS spectrum_pattern (clustering INTEGER, size INTEGER, pattern TEXT, clusters INTEGER," \
	" predicted REAL, overlapped INTEGER, zero INTEGER, net_overlapped INTEGER, net_zero INTEGER," \
	" PRIMARY KEY (clustering, size, pattern)) WITHOUT ROWID;" \
	"CREATE TABLE IF NOT EXISTS spectrum_predicted (clustering INTEGER, measure INTEGER, size INTEGER, cycles INTEGER," \
	" share REAL, PRIMARY KEY (clustering, measure, size, cycles)) WITHOUT ROWID;" \
	"CREATE TABLE IF NOT EXISTS spectrum_load (clustering INTEGER, id INTEGER, pc INTEGER, kind TEXT, level0 INTEGER," \
	" level1 INTEGER, level2 INTEGER, wrong INTEGER, isolated INTEGER, hidden INTEGER, sizes INTEGER," \
	" even INTEGER, exposed INTEGER, PRIMARY KEY (clustering, id)) WITHOUT ROWID;" \
	"CREATE TABLE IF NOT EXISTS spectrum_load_bin (clustering INTEGER, load INTEGER, cycles INTEGER, misses INTEGER," \
	" PRIMARY KEY (clustering, load, cycles)) WITHOUT ROWID;" \
	"CREATE TABLE IF NOT EXISTS spectrum_pair (clustering INTEGER, first INTEGER, second INTEGER, overlapped INTEGER," \
	" serial INTEGER, overlapped_cycles INTEGER, serial_cycles INTEGER," \
	" PRIMARY KEY (clustering, first, second)) WITHOUT ROWID;"

/*
 * spectrum_cluster       a random sample of the clusters of clustering 0, id by id. begin, end: cycles;
 *                        infimum, supremum: instructions by number; last: the one at which net cost
 *                        ends, last_commit: the cycle in which it commits
 * spectrum_cluster_miss  their misses, each by what names it (trace/hits.h)
 * spectrum_second        shares of patterns by a chain of second order, and by one of first order that
 *                        knows where clusters begin and end
 */
#define SPECTRUM_SAMPLE_TABLES \
	"CREATE TABLE IF NOT EXISTS spectrum_cluster (id INTEGER PRIMARY KEY, begin INTEGER, end INTEGER, size INTEGER, kind TEXT," \
	" pattern TEXT, infimum INTEGER, supremum INTEGER, last INTEGER, last_commit INTEGER, cost INTEGER, net INTEGER);" \
	"CREATE TABLE IF NOT EXISTS spectrum_cluster_miss (cluster INTEGER, number INTEGER, begin INTEGER, kind TEXT, address INTEGER," \
	" PRIMARY KEY (cluster, number)) WITHOUT ROWID;" \
	"CREATE TABLE IF NOT EXISTS spectrum_second (clustering INTEGER, size INTEGER, pattern TEXT, share REAL," \
	" ends REAL, PRIMARY KEY (clustering, size, pattern)) WITHOUT ROWID;"
/* clang-format on */

/*
 * A live profile (run.kind is 'live'): samples of a real machine. Every image has a place of its own
 * among the addresses: pc = image.bias + the image's own address, where bias is a multiple of 2^40.
 *
 * live_event    what was sampled: taken = stored + lost + pending; unknown: part of stored that no
 *               image explains; running: share of the time in which it was counted
 * live_process  who executed; start_ns is since boot
 * live_thread   which thread of its process a row of live_process is; none: all of them
 * live_image    more of an image: kind of enum live_kind; names: where its functions' names are
 *               from (file, kept, none), or why there are none (missing, changed)
 * live_count    samples. process, cpu -1: of all together
 * live_stack    call stacks; broken: the chain ends before the thread's first frame
 * live_frame    their frames, innermost first
 * live_edge     conditional branches, seen taken and not taken
 * live_jump     direct jumps and branches of the code that is shown
 */
/* clang-format off */
#define LIVE_TABLES \
	"CREATE TABLE IF NOT EXISTS live_event (id INTEGER PRIMARY KEY, name TEXT, actual TEXT, rate REAL, period INTEGER," \
	" running REAL, taken INTEGER, stored INTEGER, lost INTEGER, pending INTEGER, unknown INTEGER);" \
	"CREATE TABLE IF NOT EXISTS live_process (id INTEGER PRIMARY KEY, pid INTEGER, exec_id INTEGER, start_ns INTEGER," \
	" uid INTEGER, comm TEXT, exe TEXT, container TEXT);" \
	"CREATE TABLE IF NOT EXISTS live_image (id INTEGER PRIMARY KEY REFERENCES image, kind TEXT, names TEXT, digest TEXT," \
	" dev INTEGER, ino INTEGER, size_bytes INTEGER, mtime_ns INTEGER);" \
	"CREATE TABLE IF NOT EXISTS live_count (pc INTEGER, event INTEGER, process INTEGER, cpu INTEGER, count INTEGER," \
	" PRIMARY KEY (pc, event, process, cpu)) WITHOUT ROWID;" \
	"CREATE TABLE IF NOT EXISTS live_stack (id INTEGER PRIMARY KEY, event INTEGER, process INTEGER, broken INTEGER," \
	" count INTEGER);" \
	"CREATE TABLE IF NOT EXISTS live_frame (stack INTEGER, depth INTEGER, pc INTEGER," \
	" PRIMARY KEY (stack, depth)) WITHOUT ROWID;" \
	"CREATE TABLE IF NOT EXISTS live_edge (pc INTEGER PRIMARY KEY, taken INTEGER, not_taken INTEGER);" \
	"CREATE TABLE IF NOT EXISTS live_jump (pc INTEGER PRIMARY KEY, target INTEGER);"
#define LIVE_THREAD_TABLES \
	"CREATE TABLE IF NOT EXISTS live_thread (id INTEGER PRIMARY KEY REFERENCES live_process, tid INTEGER," \
	" start_ns INTEGER, name TEXT);"
/* clang-format on */

/*
 * Samples for frequencies, cycles per execution and culprits, the graphs that they are read with,
 * and the truth beside them, which only views read.
 *
 * graph_function     a function whose graph is known; missing: some edges are not
 * graph_code         its code, part by part
 * graph_block        flags: enum cfg_block_flag; callee 0: none, or not known
 * graph_edge         source, target: starts of blocks, -1: outside; kind: enum cfg_kind
 * calc_event         an event that was sampled; event: enum sampled_event. occurred: how often it happened
 * calc_sample        samples by instruction; issued: those in whose very cycle it issued
 * calc_commit        by instruction: samples of TIP that saw it commit
 * calc_commit_pair   two instructions that committed in the same sampled cycle
 * calc_branch        taken branches in branch records, by what triggered the record and its depth
 * calc_range         stretches of code between two taken branches of a record
 * calc_truth         exact executions, and cycles at the head of the issue queue
 * calc_truth_reason  these cycles by enum head_reason; producer 0: none
 * calc_truth_edge    how often target came right after source, if source is a control transfer
 * calc_truth_event   how often an event really happened at an instruction
 */
/* clang-format off */
#define CALC_TABLES \
	"CREATE TABLE IF NOT EXISTS graph_function (function INTEGER PRIMARY KEY REFERENCES function, start INTEGER," \
	" missing INTEGER);" \
	"CREATE TABLE IF NOT EXISTS graph_code (function INTEGER, start INTEGER, machine INTEGER, bytes BLOB," \
	" PRIMARY KEY (function, start)) WITHOUT ROWID;" \
	"CREATE TABLE IF NOT EXISTS graph_block (function INTEGER, start INTEGER, end INTEGER, flags INTEGER, callee INTEGER," \
	" PRIMARY KEY (function, start)) WITHOUT ROWID;" \
	"CREATE TABLE IF NOT EXISTS graph_edge (function INTEGER, source INTEGER, target INTEGER, kind INTEGER, callee INTEGER," \
	" PRIMARY KEY (function, source, target, kind, callee)) WITHOUT ROWID;" \
	"CREATE TABLE IF NOT EXISTS calc_event (event INTEGER PRIMARY KEY, period INTEGER, running REAL, samples INTEGER," \
	" occurred INTEGER);" \
	"CREATE TABLE IF NOT EXISTS calc_sample (pc INTEGER, event INTEGER, count INTEGER, issued INTEGER," \
	" PRIMARY KEY (pc, event)) WITHOUT ROWID;" \
	"CREATE TABLE IF NOT EXISTS calc_commit (rule TEXT, pc INTEGER, units INTEGER, commits INTEGER," \
	" PRIMARY KEY (rule, pc)) WITHOUT ROWID;" \
	"CREATE TABLE IF NOT EXISTS calc_commit_pair (pc INTEGER, other INTEGER, count INTEGER," \
	" PRIMARY KEY (pc, other)) WITHOUT ROWID;" \
	"CREATE TABLE IF NOT EXISTS calc_branch (sampling TEXT, depth INTEGER, source INTEGER, target INTEGER, count INTEGER," \
	" PRIMARY KEY (sampling, depth, source, target)) WITHOUT ROWID;" \
	"CREATE TABLE IF NOT EXISTS calc_range (sampling TEXT, depth INTEGER, start INTEGER, end INTEGER, count INTEGER," \
	" PRIMARY KEY (sampling, depth, start, end)) WITHOUT ROWID;" \
	"CREATE TABLE IF NOT EXISTS calc_truth (pc INTEGER PRIMARY KEY, executions INTEGER, head INTEGER);" \
	"CREATE TABLE IF NOT EXISTS calc_truth_reason (pc INTEGER, reason INTEGER, producer INTEGER, cycles INTEGER," \
	" PRIMARY KEY (pc, reason, producer)) WITHOUT ROWID;" \
	"CREATE TABLE IF NOT EXISTS calc_truth_edge (source INTEGER, target INTEGER, count INTEGER," \
	" PRIMARY KEY (source, target)) WITHOUT ROWID;" \
	"CREATE TABLE IF NOT EXISTS calc_truth_event (pc INTEGER, event INTEGER, count INTEGER," \
	" PRIMARY KEY (pc, event)) WITHOUT ROWID;"
/* clang-format on */

/*
 * A run of which only intervals were simulated (combine/combine.h). All other tables hold estimates for
 * the whole run, and so do rows cycles, ipc and their like of table run.
 *
 * sampled          one fact each: method, interval, total_instructions, …
 * sampled_cluster  intervals: how many it has; spread: mean squared distance of their vectors
 * sampled_strip    the run's intervals in order: so many of a cluster from number `first` on
 * point            an interval that was simulated. stands_for: instructions of the run; low_cycles,
 *                  high_cycles: with all unknown state as hits, as misses (NULL: not known);
 *                  fast_forward, warm, settle: how it was simulated
 * point_component  CPI stacks of a point, by method, in cycles
 * point_function   the golden reference's time at a point
 * sampled_unit     what each unit measured, where points are many units together
 * estimate         a figure and its 95% interval, in cycles but for what = 'cpi'; low, high are NULL
 *                  where nothing is known of the error. item: function.id, pc, cpi_method.id or set of
 *                  categories, by `what`: function, instruction, stack, cost, icost
 */
/* clang-format off */
#define SAMPLED_TABLES \
	"CREATE TABLE IF NOT EXISTS sampled (key TEXT PRIMARY KEY, value) WITHOUT ROWID;" \
	"CREATE TABLE IF NOT EXISTS sampled_cluster (id INTEGER PRIMARY KEY, intervals INTEGER, instructions INTEGER," \
	" spread REAL);" \
	"CREATE TABLE IF NOT EXISTS sampled_strip (first INTEGER PRIMARY KEY, count INTEGER, cluster INTEGER);" \
	"CREATE TABLE IF NOT EXISTS point (id INTEGER PRIMARY KEY, start INTEGER, length INTEGER, cluster INTEGER," \
	" stands_for INTEGER, instructions INTEGER, cycles INTEGER, low_cycles REAL, high_cycles REAL," \
	" fast_forward INTEGER, warm INTEGER, settle INTEGER);" \
	"CREATE TABLE IF NOT EXISTS point_component (point INTEGER, method INTEGER, component TEXT, time REAL," \
	" PRIMARY KEY (point, method, component)) WITHOUT ROWID;" \
	"CREATE TABLE IF NOT EXISTS point_function (point INTEGER, function INTEGER, units INTEGER, executions INTEGER," \
	" PRIMARY KEY (point, function)) WITHOUT ROWID;" \
	"CREATE TABLE IF NOT EXISTS sampled_unit (start INTEGER PRIMARY KEY, instructions INTEGER, cycles INTEGER);" \
	"CREATE TABLE IF NOT EXISTS estimate (what TEXT, item INTEGER, name TEXT, value REAL, low REAL, high REAL," \
	" PRIMARY KEY (what, item, name)) WITHOUT ROWID;"
/* clang-format on */

/*
 * call_context  call stacks with cycles: a tree. parent 0: none; pc: where the function of the frame begins, or where
 *               it was first entered
 */
/* clang-format off */
#define CALL_TABLES \
	"CREATE TABLE IF NOT EXISTS call_context (id INTEGER PRIMARY KEY, parent INTEGER, pc INTEGER, cycles INTEGER);"
/* clang-format on */

/*
 * golden_thread     the golden reference by guest thread; empty if there was one
 * profile_category  what commit was doing in the samples of a profiler that can say so
 */
/* clang-format off */
#define THREAD_TABLES \
	"CREATE TABLE IF NOT EXISTS golden_thread (tid INTEGER, pc INTEGER, events INTEGER, category INTEGER," \
	" units INTEGER, executions INTEGER, PRIMARY KEY (tid, pc, events, category)) WITHOUT ROWID;" \
	"CREATE TABLE IF NOT EXISTS profile_category (profiler INTEGER, pc INTEGER, category INTEGER, units INTEGER," \
	" PRIMARY KEY (profiler, pc, category)) WITHOUT ROWID;"
/* clang-format on */

/*
 * stretch      stretches of the run: the first instruction that committed there, and `records` instruction records as
 *              trace/stretch.h packs them
 * stretch_why  why a stretch was kept. why: even, the name of an event, or stall: it has the costliest single instance
 *              of it, which is instruction po at pc and cost so many cycles
 */
/* clang-format off */
#define STRETCH_TABLES \
	"CREATE TABLE IF NOT EXISTS stretch (id INTEGER PRIMARY KEY, first INTEGER, records INTEGER, bytes BLOB);" \
	"CREATE TABLE IF NOT EXISTS stretch_why (stretch INTEGER, why TEXT, pc INTEGER, po INTEGER, cycles INTEGER," \
	" PRIMARY KEY (stretch, why)) WITHOUT ROWID;"
/* clang-format on */

/*
 * interval_kind         intervals between miss events, by the event that ends them (base: the run's end). beside: events
 *                       at the end of an interval that another names; curves: events of which there is a curve
 * interval_length       the same by length: 2^length instructions and more
 * interval_curve        useful instructions that began to execute in the `cycles` cycles of a point, summed over
 *                       interval_kind.curves events. Point `origin` begins where the event does, or where dispatch
 *                       goes on after it
 * interval_near         long data misses that came 2^distance instructions and more after another
 * interval_instruction  events by the instruction that is to blame
 * shotgun_instruction, shotgun_critical, shotgun_pair
 *                       what design 4 of the shotgun profiler says of static instructions, as icost_instruction and its
 *                       like do of the graph
 * counter_sample        the machine's counters over time: what they had come to by the end of a cycle
 * thread_time           what a guest thread did, in cycles: it ran, waited for something, could have run
 * thread_wait           waits of a thread, by the thread that ended them (0: no thread did) and by kind
 */
/* clang-format off */
#define INTERVAL_TABLES \
	"CREATE TABLE IF NOT EXISTS interval_kind (kind TEXT PRIMARY KEY, intervals INTEGER, instructions INTEGER," \
	" cycles INTEGER, penalty INTEGER, resolution INTEGER, beside INTEGER, curves INTEGER) WITHOUT ROWID;" \
	"CREATE TABLE IF NOT EXISTS interval_length (kind TEXT, length INTEGER, intervals INTEGER, instructions INTEGER," \
	" cycles INTEGER, penalty INTEGER, resolution INTEGER, PRIMARY KEY (kind, length)) WITHOUT ROWID;" \
	"CREATE TABLE IF NOT EXISTS interval_curve (kind TEXT, anchor TEXT, point INTEGER, origin INTEGER," \
	" cycles INTEGER, issued INTEGER, PRIMARY KEY (kind, anchor, point)) WITHOUT ROWID;" \
	"CREATE TABLE IF NOT EXISTS interval_near (distance INTEGER PRIMARY KEY, misses INTEGER, overlapped INTEGER);" \
	"CREATE TABLE IF NOT EXISTS interval_instruction (pc INTEGER, kind TEXT, events INTEGER, penalty INTEGER," \
	" PRIMARY KEY (pc, kind)) WITHOUT ROWID;"
#define FRAGMENT_TABLES \
	"CREATE TABLE IF NOT EXISTS shotgun_instruction (pc INTEGER PRIMARY KEY, executions REAL, critical REAL," \
	" slack REAL, local_slack REAL, least_slack REAL, miss REAL, mispredict REAL, latency REAL, imiss REAL);" \
	"CREATE TABLE IF NOT EXISTS shotgun_critical (pc INTEGER, kind TEXT, cycles REAL, PRIMARY KEY (pc, kind))" \
	" WITHOUT ROWID;" \
	"CREATE TABLE IF NOT EXISTS shotgun_pair (pc_a INTEGER, kind_a TEXT, pc_b INTEGER, kind_b TEXT, cost REAL," \
	" icost REAL, PRIMARY KEY (pc_a, kind_a, pc_b, kind_b)) WITHOUT ROWID;"
#define COUNTER_TABLES \
	"CREATE TABLE IF NOT EXISTS counter_sample (cycle INTEGER, name TEXT, value INTEGER, PRIMARY KEY (cycle, name))" \
	" WITHOUT ROWID;"
#define WAIT_TABLES \
	"CREATE TABLE IF NOT EXISTS thread_time (tid INTEGER PRIMARY KEY, cycles INTEGER, blocked INTEGER," \
	" ready INTEGER);" \
	"CREATE TABLE IF NOT EXISTS thread_wait (tid INTEGER, waker INTEGER, kind TEXT, waits INTEGER, cycles INTEGER," \
	" PRIMARY KEY (tid, waker, kind)) WITHOUT ROWID;"
/* FMT's slots by instruction, and events of the component there */
#define PLACE_TABLES \
	"CREATE TABLE IF NOT EXISTS cpi_place (pc INTEGER, component TEXT, events INTEGER, units INTEGER," \
	" PRIMARY KEY (pc, component)) WITHOUT ROWID;"
/* a machine with one part (words.h, resources) of another size; 0: without the limit. cycles: how much longer the run
 * would be, by the graph; below zero: shorter */
#define RESOURCE_TABLES \
	"CREATE TABLE IF NOT EXISTS resource (name TEXT, size INTEGER, real INTEGER, settings TEXT, cycles REAL," \
	" PRIMARY KEY (name, size)) WITHOUT ROWID;"
/* clang-format on */

/*
 * golden_events  the golden reference with all events of the records (analysis own); executions too
 * psv_curve      event sets from none to all of them, each with one event more than the one before, the one that
 *                explains most time in which nothing commits. event: the new one's bit, -1 none; stall: 99% of the
 *                stalls without an event of the set are at most so long; idle, bare: cycles in which nothing commits,
 *                and those of them without an event of the set; bytes: what TEA with that set stores in the core; paper:
 *                1 for TEA's own set, which need not be one of the others
 * sample_state   by rule and what commit was doing: samples, the cycles that they stand for, and those of them that the
 *                rule gives to the right instruction, in units
 */
/* clang-format off */
#define EVENT_TABLES \
	"CREATE TABLE IF NOT EXISTS golden_events (pc INTEGER, events INTEGER, units INTEGER, executions INTEGER," \
	" PRIMARY KEY (pc, events)) WITHOUT ROWID;" \
	"CREATE TABLE IF NOT EXISTS psv_curve (paper INTEGER, bits INTEGER, event INTEGER, events INTEGER, stall INTEGER," \
	" idle INTEGER, bare INTEGER, bytes INTEGER, PRIMARY KEY (paper, bits)) WITHOUT ROWID;" \
	"CREATE TABLE IF NOT EXISTS sample_state (rule INTEGER, category INTEGER, samples INTEGER, cycles INTEGER," \
	" units INTEGER, PRIMARY KEY (rule, category)) WITHOUT ROWID;"
/* clang-format on */

/*
 * golden_phase           a phase of the run; phases follow each other
 * golden_phase_function  golden by phase and function. pc: the lowest address in the function that has time in the run
 */
/* clang-format off */
#define PHASE_TABLES \
	"CREATE TABLE IF NOT EXISTS golden_phase (phase INTEGER PRIMARY KEY, cycles INTEGER, instructions INTEGER);" \
	"CREATE TABLE IF NOT EXISTS golden_phase_function (phase INTEGER, pc INTEGER, events INTEGER, category INTEGER," \
	" units INTEGER, PRIMARY KEY (phase, pc, events, category)) WITHOUT ROWID;"
/* clang-format on */

static const char version_1[] =
    /* one fact of the run each: program, machine, instructions, cycles, … */
    "CREATE TABLE run (key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
    /* the whole resolved machine description */
    "CREATE TABLE machine (section TEXT, key TEXT, value TEXT, PRIMARY KEY (section,"
    " key)) WITHOUT ROWID;"
    "CREATE TABLE image (id INTEGER PRIMARY KEY, path TEXT, name TEXT, build_id TEXT,"
    " start INTEGER, end INTEGER, bias INTEGER);"
    "CREATE TABLE function (id INTEGER PRIMARY KEY, image INTEGER REFERENCES image, name TEXT,"
    " start INTEGER, end INTEGER, file TEXT, line INTEGER);"
    "CREATE TABLE block (id INTEGER PRIMARY KEY, function INTEGER REFERENCES function,"
    " start INTEGER, end INTEGER);"
    "CREATE TABLE instruction (pc INTEGER PRIMARY KEY, function INTEGER REFERENCES function,"
    " block INTEGER REFERENCES block, word INTEGER, disasm TEXT, file TEXT, line INTEGER,"
    " class TEXT);"
    /* frames inlined at an instruction, innermost first */
    "CREATE TABLE inlined (pc INTEGER, depth INTEGER, name TEXT, file TEXT, line INTEGER,"
    " PRIMARY KEY (pc, depth)) WITHOUT ROWID;"
    /* the golden reference: every cycle of the run */
    "CREATE TABLE golden (pc INTEGER, events INTEGER, category INTEGER, units INTEGER,"
    " executions INTEGER, PRIMARY KEY (pc, events, category)) WITHOUT ROWID;"
    "CREATE TABLE category (id INTEGER PRIMARY KEY, name TEXT);"
    "CREATE TABLE event (bit INTEGER PRIMARY KEY, name TEXT, meaning TEXT, executions INTEGER);"
    "CREATE TABLE sampler (id INTEGER PRIMARY KEY, period INTEGER, random INTEGER,"
    " samples INTEGER);"
    /* sampler 0 is the one asked for; others belong to a sweep */
    "CREATE TABLE profiler (id INTEGER PRIMARY KEY, name TEXT UNIQUE, summary TEXT,"
    " rule INTEGER, events INTEGER, sample_bytes INTEGER);"
    /* what each profiler says: time by instruction and set of events */
    "CREATE TABLE profile (sampler INTEGER, profiler INTEGER REFERENCES profiler, pc INTEGER,"
    " events INTEGER, units INTEGER, PRIMARY KEY (sampler, profiler, pc, events)) WITHOUT ROWID;"
    /* sample by sample: the instructions that a rule blames, and those that the golden reference
     * blames in the same cycle */
    "CREATE TABLE sample_group (id INTEGER, position INTEGER, pc INTEGER, events INTEGER,"
    " PRIMARY KEY (id, position)) WITHOUT ROWID;"
    "CREATE TABLE sample_pair (rule INTEGER, blamed INTEGER, truth INTEGER, cycles INTEGER,"
    " samples INTEGER, PRIMARY KEY (rule, blamed, truth)) WITHOUT ROWID;"
    /* instructions that stalled commit without any event, by how long */
    "CREATE TABLE bare_stall (length INTEGER PRIMARY KEY, count INTEGER);"
    /* counters of the simulated machine */
    "CREATE TABLE counter (name TEXT PRIMARY KEY, value INTEGER) WITHOUT ROWID;";

/* Some files that call themselves version 1 have these tables. */
static const char version_2[] =
    /* CPI stacks: units are cycles times cpi_method.scale; phase -1 is the whole run */
    "CREATE TABLE IF NOT EXISTS cpi_method (id INTEGER PRIMARY KEY, name TEXT UNIQUE,"
    " summary TEXT, scale INTEGER);"
    "CREATE TABLE IF NOT EXISTS cpi_phase (phase INTEGER PRIMARY KEY, cycles INTEGER,"
    " instructions INTEGER);"
    "CREATE TABLE IF NOT EXISTS cpi_component (phase INTEGER,"
    " method INTEGER REFERENCES cpi_method, component TEXT, units INTEGER, PRIMARY KEY (phase,"
    " method, component)) WITHOUT ROWID;"
    /* the commit-stage stack by instruction, in cycles */
    "CREATE TABLE IF NOT EXISTS cpi_instruction (pc INTEGER, component TEXT, executions INTEGER,"
    " cycles REAL, PRIMARY KEY (pc, component)) WITHOUT ROWID;"
    /* miss events, on all paths and on the right one */
    "CREATE TABLE IF NOT EXISTS cpi_event (component TEXT PRIMARY KEY, fetched INTEGER,"
    " committed INTEGER) WITHOUT ROWID;"
    /* costs by set of categories (bit set and its name), in cycles; phase -1 is the whole run
     * */
    "CREATE TABLE IF NOT EXISTS icost_phase (phase INTEGER PRIMARY KEY, instructions INTEGER,"
    " cycles REAL);"
    "CREATE TABLE IF NOT EXISTS icost (phase INTEGER, categories INTEGER, name TEXT, cost REAL,"
    " icost REAL, PRIMARY KEY (phase, categories)) WITHOUT ROWID;"
    /* by static instruction, estimated from segments: how often on the longest path, slack
     * and what making an event of it free would save, in cycles */
    "CREATE TABLE IF NOT EXISTS icost_instruction (pc INTEGER PRIMARY KEY, executions REAL,"
    " critical REAL, slack REAL, local_slack REAL, least_slack REAL, miss REAL, mispredict REAL,"
    " latency REAL, imiss REAL);"
    /* cycles of the longest path by instruction and kind */
    "CREATE TABLE IF NOT EXISTS icost_critical (pc INTEGER, kind TEXT, cycles REAL,"
    " PRIMARY KEY (pc, kind)) WITHOUT ROWID;"
    /* two events of static instructions: the cost of both, and how much it exceeds the sum */
    "CREATE TABLE IF NOT EXISTS icost_pair (pc_a INTEGER, kind_a TEXT, pc_b INTEGER,"
    " kind_b TEXT, cost REAL, icost REAL, PRIMARY KEY (pc_a, kind_a, pc_b,"
    " kind_b)) WITHOUT ROWID;"
    /* a function's share in the cost of a set of categories: pc is where it begins */
    "CREATE TABLE IF NOT EXISTS icost_place (pc INTEGER, categories INTEGER, cost REAL,"
    " PRIMARY KEY (pc, categories)) WITHOUT ROWID;"
    /* shotgun profiling (fields2004 section 5): what each design found, by set of categories
     * */
    "CREATE TABLE IF NOT EXISTS shotgun (design INTEGER, categories INTEGER, name TEXT,"
    " cost REAL, icost REAL, PRIMARY KEY (design, categories)) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS shotgun_count (design INTEGER, key TEXT, value REAL,"
    " PRIMARY KEY (design, key)) WITHOUT ROWID;";

static const char version_3[] = SPECTRUM_TABLES;
static const char version_4[] = LIVE_TABLES;
static const char version_5[] = SPECTRUM_SAMPLE_TABLES;
static const char version_6[] = CALC_TABLES;
static const char version_7[] = SAMPLED_TABLES;
static const char version_8[] = CALL_TABLES THREAD_TABLES LIVE_THREAD_TABLES;
static const char version_9[] =
    STRETCH_TABLES INTERVAL_TABLES FRAGMENT_TABLES COUNTER_TABLES WAIT_TABLES;
static const char version_10[] = EVENT_TABLES;
static const char version_11[] = PHASE_TABLES;
static const char version_12[] = PLACE_TABLES;
static const char version_13[] = RESOURCE_TABLES;

const char *const store_versions[STORE_VERSION + 1] = {
	NULL,	   version_1, version_2, version_3,  version_4,	 version_5,  version_6,
	version_7, version_8, version_9, version_10, version_11, version_12, version_13
};

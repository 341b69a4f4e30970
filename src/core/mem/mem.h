/* SPDX-License-Identifier: MIT */
/*
 * The memory hierarchy as a timing model: caches, TLBs, page walks, prefetchers, buses, DRAM.
 *
 * It knows cycles and addresses, not instructions, and holds tags, not data. Virtual addresses are
 * physical addresses (identity); only page-table entries live at synthetic addresses of their own.
 *
 *     L1I ─┐
 *          ├─ L2 (optional) ─ LLC (optional) ─ memory (flat latency, or DRAM with FR-FCFS)
 *     L1D ─┘
 *
 * Time. The caller owns the clock. In cycle `now` it first calls memsys_advance(ms, now), which
 * completes what is due (callbacks), then makes its requests with the same `now`. It may let cycles
 * pass unseen as long as it does not go past memsys_next_event(): nothing is stepped per cycle.
 *
 * Latencies add up. A cache's `latency` is counted from the request's arrival at that cache, so an
 * unloaded load that hits the L2 is usable after l1d.miss_latency + l2.latency cycles, one served
 * by flat memory after l1d.miss_latency + l2.miss_latency + llc.miss_latency + mem.latency.
 * miss_latency defaults to latency; a paper that counts "memory is 100 cycles away" from the L1
 * miss on sets miss_latency of the L2 to 0 (l1d.miss_latency stays the L1 hit time: the penalty of
 * a miss, beyond a hit, is then exactly the paper's figure).
 *
 * Tokens. A request carries a 64-bit token that comes back with its completion. The memory system
 * never looks into it and never cancels: when a load is squashed its line still comes (wrong paths
 * pollute, as they should) and its completion is delivered with the stale token. A caller puts a
 * generation into the token (a unique sequence number does) and ignores completions that it does
 * not know.
 */
#ifndef CORE_MEM_MEM_H
#define CORE_MEM_MEM_H

#include <stdbool.h>
#include <stdint.h>

#include "machine/machine.h" /* struct memsys_config */
#include "trace/hits.h"
#include "trace/record.h" /* enum mem_level */
#include "util/util.h"

#define MEM_NEVER UINT64_MAX /* a cycle that never comes */

struct memsys;

/* What happened to a request. Bits of mem_result.events. */
enum mem_event {
	MEM_EV_L1_MISS = 1 << 0,
	MEM_EV_L2_MISS = 1 << 1,
	MEM_EV_LLC_MISS = 1 << 2,  /* missed the last cache there is: memory served it (or will) */
	MEM_EV_TLB_MISS = 1 << 3,  /* L1 TLB */
	MEM_EV_STLB_MISS = 1 << 4, /* second-level TLB too, or there is none: a walk was made */
	MEM_EV_MERGED =
	    1 << 5, /* waited for a line that an earlier request had already asked for */
	MEM_EV_MSHR_WAIT = 1 << 6, /* waited for a free MSHR, at any level */
	MEM_EV_BUS_WAIT = 1 << 7,  /* waited for a bus, a bank or in a DRAM queue */
	MEM_EV_SPLIT = 1 << 8,	   /* crossed a line: two accesses, the slower counts */
	MEM_EV_PF_HIT = 1 << 9,	   /* first use of a line that a prefetcher had brought */
};

enum mem_reply {
	MEM_DONE,    /* result is complete: data usable at `ready` */
	MEM_PENDING, /* accepted; done() will be called once, at or before the cycle at which data
			is usable */
	MEM_RETRY,   /* not accepted (no MSHR, port, bank or request slot free); nothing has changed
			but statistics. Try again at `ready` or later: that is the earliest cycle at
			which it can help, or MEM_NEVER: then wake() will be called when it can */
};

/* Flags of a request: what is ideal for it, and of what kind it is. */
enum mem_flag {
	MEM_IDEAL_DL1 = 1 << 0,	  /* an L1D hit takes 1 cycle; misses start that much earlier */
	MEM_IDEAL_DMISS = 1 << 1, /* a load or store hits the L1D; tags below are not touched */
	MEM_IDEAL_IMISS = 1 << 2, /* a fetch hits the L1I */
	MEM_IDEAL_ITLB = 1 << 3,  /* translation is free */
	MEM_IDEAL_DTLB = 1 << 4,
	MEM_IDEAL_BW = 1 << 5,	 /* no wait for buses, banks, ports, DRAM queues; latencies stay */
	MEM_WRONG_PATH = 1 << 6, /* for statistics only */
	MEM_EXCLUSIVE = 1 << 7,	 /* an atomic's or lr's load: fetches the line as a store does */
	MEM_IDEAL_DMEM = 1 << 8, /* load or store: a miss of the last cache is a hit there: the line
				    is put in at once, so that contents stay those of real misses */
	MEM_IDEAL_IMEM = 1 << 9, /* the same for a fetch */
	MEM_IDEAL_PUT = 1 << 10, /* with MEM_IDEAL_DMISS: the line is put in at once, as a perfect
				    prefetch would, so that another access to the line does not miss
				    instead */
};

/* How a request went. With PENDING only `reply` and the events so far are set; done() gets the
 * whole. */
struct mem_result {
	uint64_t ready;	  /* cycle at which the data can be used (a dependent may execute in it);
			     RETRY: see above */
	uint64_t primary; /* MERGED: the token of the request whose miss it waited for;
			     MEM_NO_TOKEN: a prefetch's or a page walk's */
	uint32_t events;  /* enum mem_event */
	uint32_t miss;	  /* cycles beyond an L1 hit, the next two included */
	uint32_t xlat;	  /* of miss: address translation */
	uint32_t queue;	  /* of miss: waiting for MSHRs, banks, buses and DRAM */
	uint8_t reply;	  /* enum mem_reply */
	uint8_t level; /* enum mem_level that served it. Without an L2 the LLC is LEVEL_LLC all the
			  same */
};

#define MEM_NO_TOKEN 0 /* no caller may use this token */

/* The instruction that makes a request, for records of misses. */
struct mem_asker {
	uint64_t pc, po, seq; /* as in rec_miss */
	uint8_t kind;	      /* enum miss_kind, if its line misses */
	bool wrong;	      /* on a wrong path */
};

/* done() and wake() are called from memsys_advance() only, never from within a request. They make no
 * requests: those wait until memsys_advance() has returned. */
struct memsys_callbacks {
	void *ctx;
	/* A PENDING request is (or will be, at r->ready) complete. r->ready >= the cycle of the
	 * event. */
	void (*done)(void *ctx, uint64_t token, const struct mem_result *r);
	/* Something that a RETRY waited for has become free: 1 << enum mem_cache of the L1s. May be
	 * NULL; then a caller retries whenever memsys_advance() has run. */
	void (*wake)(void *ctx, uint32_t caches);
	/* For records of misses (memsys_listen). The instruction whose request has this token:
	 * called from within that request. */
	void (*asker)(void *ctx, uint64_t token, struct mem_asker *who);
	/* A miss is over. Called from memsys_advance() and memsys_cut(). */
	void (*miss)(void *ctx, const struct rec_miss *m);
};

/* Every request will have the flags of perfect caches and TLBs, so tags need not be kept. Answers
 * are what they would be with them; statistics are not. */
void memsys_perfect(struct memsys *ms);
/* From now on misses that begin have records (asker() and miss() are called), or none have. */
void memsys_listen(struct memsys *ms, bool misses);
/* These misses, of another run that is the same up to the first of them, are hits; hits.c. */
void memsys_hits(struct memsys *ms, const struct hit *hits, size_t count);
/* What becomes of a miss that the state before the first access could decide: one in a set that still has an empty way. */
enum mem_unknown {
	UNKNOWN_EMPTY, /* a miss */
	UNKNOWN_HIT,
	UNKNOWN_DIRTY, /* a miss, and the last cache before memory loses a dirty line by it */
};
/* From now on; warming is as before. */
void memsys_unknown(struct memsys *ms, enum mem_unknown unknown);
/* The run ends in cycle now: misses in progress get their records now, with MISS_CUT. */
void memsys_cut(struct memsys *ms, uint64_t now);

/* cfg must pass machine_check_memory(); it is copied. */
struct memsys *memsys_new(const struct memsys_config *cfg, const struct memsys_callbacks *cb);
void memsys_free(struct memsys *ms);

/* Requests in cycle `now`, which must be ≥ every cycle seen so far and ≤ memsys_next_event(). size
 * is 1…line_bytes bytes (stores and loads) or the fetch block, and may cross one line boundary. The
 * reply is r->reply, also returned. A store is asked for when it drains; DONE or PENDING: the
 * memory system has it; PENDING stores complete by done() like loads. */
enum mem_reply memsys_load(struct memsys *ms, uint64_t now, uint64_t vaddr, uint32_t size,
			   uint64_t pc, uint64_t token, uint32_t flags, struct mem_result *r);
enum mem_reply memsys_store(struct memsys *ms, uint64_t now, uint64_t vaddr, uint32_t size,
			    uint64_t pc, uint64_t token, uint32_t flags, struct mem_result *r);
enum mem_reply memsys_ifetch(struct memsys *ms, uint64_t now, uint64_t vaddr, uint32_t size,
			     uint64_t token, uint32_t flags, struct mem_result *r);
/* A hint: fetch the line of vaddr into an L1 (cache: MEM_L1D or MEM_L1I). No completion. Dropped
 * (false) if it misses the TLB or no MSHR is free. */
bool memsys_prefetch(struct memsys *ms, uint64_t now, enum mem_cache cache, uint64_t vaddr,
		     uint64_t token, uint32_t flags);

/* Fetch will want the line of vaddr: asks for it, as a prefetch into the L1I. No completion. True:
 * it is there or on its way. False: no MSHR is free, or its page is not in the TLB, and nothing has
 * changed; try again after memsys_advance(). */
bool memsys_ahead(struct memsys *ms, uint64_t now, uint64_t vaddr, uint64_t token, uint32_t flags);

/* The cycle of the next thing that will happen by itself; MEM_NEVER if nothing is under way. */
uint64_t memsys_next_event(const struct memsys *ms);
/* Lets everything happen that is due at or before `now`, in order of time; calls done() and wake().
 */
void memsys_advance(struct memsys *ms, uint64_t now);
/* True while the write buffer holds a line that the level below has not taken. */
bool memsys_writing(const struct memsys *ms);
/* True while the translation of vaddr, which missed its L1 TLB, is under way. */
bool memsys_walking(const struct memsys *ms, bool fetch, uint64_t vaddr);
/* Outstanding lines of a cache (demand and prefetch), for RC_DMISS_OUT and the like; whether one of
 * them has missed the last cache. */
uint32_t memsys_outstanding(const struct memsys *ms, enum mem_cache cache);
bool memsys_long_outstanding(struct memsys *ms, enum mem_cache cache);
/* Another number whenever the answer to these may have changed. */
uint64_t memsys_changes(const struct memsys *ms);

enum mem_access {
	MEM_ACCESS_FETCH,
	MEM_ACCESS_LOAD,
	MEM_ACCESS_STORE,
};
/* Functional warming: tags, replacement, TLBs, prefetchers as if the access had been made and had
 * completed before the next one; no time passes, no statistics. Only while nothing is outstanding.
 */
void memsys_warm(struct memsys *ms, enum mem_access kind, uint64_t vaddr, uint32_t size,
		 uint64_t pc);
/* The same where it is easy: a hit in the first cache and TLB of which only the time of last use and the
 * mark of being dirty learn. False: it is not, and nothing has changed. */
bool memsys_warm_hit(struct memsys *ms, enum mem_access kind, uint64_t vaddr, uint32_t size);
/* The same for a load or store of long ago, of which no more is known than that: prefetchers learn nothing. */
void memsys_recall(struct memsys *ms, bool write, uint64_t vaddr, uint32_t size);
/* The bytes of the largest cache. */
uint64_t memsys_reach(const struct memsys *ms);
/* All loads and stores since the program began are in the caches and TLBs as far as they have room (or not): what is unknown
 * (memsys_unknown) is of fetches alone. */
void memsys_data_known(struct memsys *ms);
/* Drops every outstanding request without completion, forgets bus, bank and queue state, keeps
 * tags: for switching between functional and timing mode. */
void memsys_quiesce(struct memsys *ms);
struct state;
/* Saves or reads all that time later depends on (state/state.h). Only after memsys_quiesce. */
void memsys_saved(struct memsys *ms, struct state *s);

/* Load-to-use cycles of an unloaded hit in each level, TLB hit, for trace_meta and reports: index
 * by enum mem_level (LEVEL_L1 … LEVEL_MEM; 0 for an absent level). Memory: DRAM with a closed row.
 */
void memsys_latencies(const struct memsys *ms, bool fetch, uint32_t latency[LEVEL_MEM + 1]);
/* Typical cost of an L1 TLB miss that misses the STLB too: flat, or three L2 hits. */
uint32_t memsys_walk_latency(const struct memsys *ms);

struct mem_cache_stats {
	uint64_t accesses; /* demand: loads, stores, fetches, misses from above, walks */
	uint64_t misses;   /* of accesses: tag misses, merges included */
	uint64_t merges;   /* of misses: the line was on its way already */
	uint64_t fills;
	uint64_t evictions;
	uint64_t writebacks;	     /* dirty lines sent down (write-through: stores sent down) */
	uint64_t invalidations;	     /* lines lost to an inclusive cache's eviction */
	uint64_t prefetches;	     /* issued */
	uint64_t prefetches_useful;  /* brought a line that was then asked for, in time or late */
	uint64_t prefetches_dropped; /* no MSHR free */
	uint64_t mshr_stalls; /* requests refused (L1) or made to wait (others) because MSHRs were
				 full */
	uint64_t bank_stalls; /* the same because of ports or banks */
	uint64_t bus_busy;    /* cycles in which this level's bus upwards carried something */
	uint64_t bus_wait;    /* cycles that lines waited for it */
};
struct mem_tlb_stats {
	uint64_t accesses, misses;
};
struct mem_memory_stats {
	uint64_t reads, writes;
	uint64_t row_hits, row_misses, row_conflicts; /* row_misses: no row was open */
	uint64_t bus_busy;    /* cycles in which data moved, summed over channels */
	uint64_t queue_delay; /* cycles that reads waited beyond their unloaded latency, summed */
	uint64_t reordered;   /* requests served before an older one of their kind */
};
struct memsys_stats {
	struct mem_cache_stats cache[MEM_CACHES];
	struct mem_tlb_stats itlb, dtlb, stlb;
	uint64_t walks;	      /* page walks made */
	uint64_t walk_cycles; /* from L1 TLB miss to translation, summed over walks */
	uint64_t walk_loads;  /* entries loaded by walks */
	uint64_t wrong_path;  /* requests with MEM_WRONG_PATH */
	uint64_t events;      /* internal events processed: the host's work */
	struct mem_memory_stats mem;
};
const struct memsys_stats *memsys_stats(const struct memsys *ms);
void memsys_stats_reset(struct memsys *ms);

/* For tests and for assertions in debug builds. */
/* True if the line of addr is in the cache's tags; nothing is touched. */
bool memsys_probe(const struct memsys *ms, enum mem_cache cache, uint64_t addr);
/* True if the line is there and dirty. */
bool memsys_probe_dirty(const struct memsys *ms, enum mem_cache cache, uint64_t addr);
/* A hash over all tags, dirty bits, replacement and TLB state: equal states, equal hashes. */
uint64_t memsys_state_hash(const struct memsys *ms);
/* False and a text if an invariant is broken (inclusion, duplicate tags, lost MSHRs). Slow. */
bool memsys_check_state(const struct memsys *ms, struct err *e);

#endif

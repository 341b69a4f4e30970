/* SPDX-License-Identifier: MIT */
/*
 * What the files of the memory system share: tag arrays, requests, MSHRs, buses, DRAM, events.
 *
 * A request (struct req) is in one place at a time: on its way (an event), waiting in a cache's
 * list for an MSHR, waiting in an MSHR's target list, waiting in a walk's list, or in a DRAM queue.
 * A cache's MSHR holds the request that it makes to the level below (mshr.self), so a miss of N
 * levels is a chain of N MSHRs, and the answer runs back up the chain.
 *
 * Invariants (memsys_check_state holds them):
 *
 *   C1  A line is at most once in a cache, and not in its tags while an MSHR of the cache waits
 *       for it.
 *   C2  Every line of a cache above an inclusive cache is in that cache.
 *   C3  A lower cache is filled no later than the one above it, and by an earlier event.
 */
#ifndef CORE_MEM_MEM_INT_H
#define CORE_MEM_MEM_INT_H

#include <assert.h>

#include "core/mem/mem.h"
#include "state/state.h"

#define TAG_NONE  UINT64_MAX
#define MEMORY	  MEM_CACHES /* the index after the last cache */
#define FP_SHIFT  10 /* bus time is kept in 1/1024 cycles: bandwidths need not divide lines */
#define MAX_WALKS 32 /* outstanding L1 TLB misses of different pages */
#define MAX_JOINS 64 /* outstanding accesses of several parts */
#define MAX_BANKS 64

static inline uint32_t log2_of(uint64_t x)
{
	return 63 - (uint32_t)__builtin_clzll(x);
}

enum tag_state {
	TS_DIRTY = 1 << 0,
	TS_PREFETCHED = 1 << 1, /* brought by a prefetch and not yet asked for */
};

/* A set-associative array of keys (line or page numbers), for caches and TLBs. */
struct tag_array {
	uint64_t *tag;	 /* [sets × ways] */
	uint64_t *stamp; /* LRU: time of last use; 0: empty */
	uint64_t *tree;	 /* PLRU: one word per set; bit n: node n points right */
	uint32_t *hint; /* where a key was last seen, by its low bits: most hits need one compare */
	uint8_t *state; /* enum tag_state */
	uint64_t clock;
	uint64_t hint_mask;
	uint64_t set_mask;
	uint32_t sets, ways;
	uint32_t replacement;
	struct rng rng;
};

void tags_init(struct tag_array *t, uint32_t sets, uint32_t ways, uint32_t replacement,
	       uint64_t seed, uint32_t hints);
void tags_fini(struct tag_array *t);
/* Index or -1; nothing is touched. */
int64_t tags_peek(const struct tag_array *t, uint64_t key);
/* The way to be replaced in the key's set (an empty one if there is). */
uint32_t tags_victim(struct tag_array *t, uint64_t key);
void tags_touch_tree(struct tag_array *t, uint32_t index);
uint64_t tags_hash(const struct tag_array *t, uint64_t h);

static inline int64_t tags_find(struct tag_array *t, uint64_t key)
{
	uint32_t *hint = &t->hint[key & t->hint_mask];
	uint32_t base;

	if (likely(t->tag[*hint] == key))
		return *hint;
	base = (uint32_t)(key & t->set_mask) * t->ways;
	for (uint32_t w = 0; w < t->ways; w++) {
		if (t->tag[base + w] == key) {
			*hint = base + w;
			return base + w;
		}
	}
	return -1;
}

static inline void tags_touch(struct tag_array *t, uint32_t index)
{
	if (likely(t->replacement == MEM_LRU))
		t->stamp[index] = ++t->clock;
	else if (t->replacement == MEM_PLRU)
		tags_touch_tree(t, index);
}

static inline void tags_put(struct tag_array *t, uint32_t index, uint64_t key, uint8_t state)
{
	t->tag[index] = key;
	t->state[index] = state;
	tags_touch(t, index);
}

enum req_kind {
	REQ_LOAD,
	REQ_STORE,
	REQ_FETCH,
	REQ_WALK,  /* a page walk's load; owner: struct page_walk */
	REQ_CHILD, /* an MSHR's request to the level below; owner: struct mshr */
	REQ_WRITE, /* a posted store of a write-through or non-allocating L1D */
};

/* How a line arrives that comes in beats, in wrap-around order from the critical one. */
struct beats {
	uint32_t step; /* cycles from beat to beat; 0: all at once */
	uint8_t shift; /* log2 of the bytes of a beat */
	uint8_t wrap;  /* log2 of the bytes after which the order wraps around: the line sent */
};

struct mshr;
struct page_walk;

struct req {
	struct req *next;
	uint64_t line; /* line number, in lines of the cache where it is or goes to */
	uint64_t addr; /* byte address: the critical word */
	uint64_t pc;
	uint64_t token;
	uint64_t start;	     /* cycle in which the core asked */
	uint64_t since;	     /* cycle in which the present wait began */
	uint64_t primary;    /* token of the request into whose miss it merged */
	struct mshr *parent; /* the MSHR in whose target list it waits */
	void *owner;	     /* struct mshr, struct page_walk or struct join */
	uint32_t events;     /* enum mem_event */
	uint32_t flags;	     /* enum mem_flag */
	uint32_t xlat, queue;
	struct mem_asker who; /* while somebody listens to misses */
	uint8_t kind;	      /* enum req_kind */
	uint8_t cache;	      /* where it is or goes to */
	uint8_t level;
	uint8_t prefetch; /* REQ_CHILD: no demand request waits for it so far */
	bool translates;  /* asks for a translation alone, beside a cache access (walk.beside) */
};

struct mshr {
	struct req self;
	uint64_t line;		 /* in lines of its cache; self.line: in those of the next */
	struct req *head, *tail; /* targets */
	struct mshr *next_free;
	uint64_t lead, trail; /* if known: arrival of the critical beat and of the last */
	uint32_t ntargets;
	struct beats beats;
	uint8_t cache;
	bool used, known, dirty, prefetch;
	bool to_memory; /* its request goes (went) straight to memory */
};

/* Parts of an access: halves that lie in two lines, translations beside them (walk.beside). */
struct join {
	struct join *next_free;
	struct mem_result r;
	uint64_t token;
	uint64_t walked; /* the last translation beside it was there; 0: none was needed */
	uint64_t start;	 /* cycle in which the core asked */
	uint32_t left;
};

struct data_bus {
	uint64_t free_fp; /* when it is free again, 1/1024 cycles */
	uint64_t busy_fp; /* what a line of the supplier takes; 0: never busy */
	uint32_t step;	  /* cycles from beat to beat */
	uint8_t beat_shift;
	uint8_t line_shift; /* log2 of the bytes that busy_fp is for */
	bool trailing_edge;
};

struct cache {
	struct tag_array t;
	struct mem_cache_config cfg;
	uint64_t *mline; /* [mshrs] line of each MSHR, TAG_NONE if free */
	struct mshr *mshr;
	struct mshr *free_mshr;
	uint32_t nused;
	uint32_t long_mshr; /* one that went to memory, when that was last asked */
	uint32_t latency, miss_latency;
	uint32_t ideal_latency; /* with MEM_IDEAL_DL1 */
	uint8_t line_shift;	/* log2 of the bytes of its lines */
	uint8_t widen;		/* what the next level's line_shift is more */
	uint8_t id, next;	/* enum mem_cache; next: MEMORY if none */
	uint8_t level;		/* enum mem_level */
	bool present;
	bool plain;   /* LRU, no ports, banks, write-through or prefetcher that sees hits: a hit
		       takes the short way (access_plain) */
	bool refused; /* the core was told to wait for wake() */
	uint32_t miss_event;		   /* enum mem_event of missing here */
	struct req *wait_head, *wait_tail; /* for a free MSHR */
	uint64_t bank_free[MAX_BANKS];
	uint64_t port_cycle;
	uint32_t port_count;
	struct data_bus bus; /* upwards */
	void *pf_state;
	const struct prefetcher *pf;
};

enum walk_phase {
	WALK_FREE,
	WALK_FIXED,  /* a known number of cycles: STLB hit or flat walk */
	WALK_QUEUED, /* for a walker */
	WALK_LOADING,
};

/* An outstanding L1 TLB miss. */
struct page_walk {
	uint64_t vpn;
	uint64_t start;
	struct req *head, *tail;
	struct page_walk *next; /* in the queue for a walker */
	struct req load;
	uint64_t since;	 /* wants a walker */
	uint32_t queued; /* cycles that it waited for one */
	uint32_t missed_stlb;
	int8_t depth; /* of the entry being loaded: 2 root … 0 leaf */
	uint8_t phase;
	bool fetch; /* I-TLB, else D-TLB */
};

struct dram_bank {
	uint64_t row;	    /* TAG_NONE: closed */
	uint64_t cas_ready; /* earliest column command */
	uint64_t pre_ready; /* earliest precharge */
	uint32_t opened;    /* 1: row miss, 2: conflict: the next column command is not a row hit */
};

struct dram_item {
	struct req *req; /* NULL: a write */
	uint64_t since;
	uint64_t row;
	uint32_t bank;
};

/* Oldest first; items are taken from the first few places, so removal moves those before it. */
struct dram_queue {
	struct dram_item *item;
	uint32_t head, count, cap;
};

struct channel {
	struct dram_bank *bank;
	struct dram_queue rd, wr;
	uint64_t bus_free_fp;
	uint64_t wake;	   /* cycle of the valid wake-up event, MEM_NEVER if none */
	uint32_t inflight; /* reads issued, data not yet delivered */
	uint32_t bypassed; /* column commands since the oldest read could have gone */
	bool draining;
};

struct memory {
	struct mem_memory_config cfg;
	struct data_bus bus; /* flat */
	struct channel *ch;
	uint64_t burst_fp;	    /* a line on a channel's data bus */
	uint32_t burst;		    /* burst_fp in cycles, rounded down, at least 1 */
	uint32_t cas, rcd, rp, ras; /* core cycles */
	struct beats beats;	    /* of a line from DRAM */
	uint32_t tail;		    /* cycles from leading to trailing beat */
	uint32_t ch_mask, ch_shift, col_shift, bank_mask, bank_shift;
};

enum due_kind {
	DUE_ARRIVE,    /* req at its cache */
	DUE_LOOKUP,    /* req got its bank and port */
	DUE_BUS,       /* req's data is at the output of its cache */
	DUE_MEM_BUS,   /* req's data is at the output of flat memory */
	DUE_FILL,      /* mshr's line is complete */
	DUE_WALK,      /* walk: the fixed time is over */
	DUE_WALK_LOAD, /* walk: an entry has been loaded */
	DUE_DRAM,      /* channel: look again */
	DUE_DRAM_DONE, /* channel: a read's data has been delivered */
	DUE_WRITE,     /* the write buffer tries again to send its oldest entry */
	DUE_WRITTEN,   /* the entry that it sent has been taken */
};

struct due {
	uint64_t time;
	uint64_t
	    order; /* sequence number << 8 | kind: equal times happen in the order of scheduling */
	void *p;
};

/* Between a write-through L1D and the level below: wbuf.c. */
struct write_buffer {
	uint32_t size; /* 0: there is none, stores are posted one by one */
	uint32_t used;
	bool sending; /* the first entry is on its way */
	struct write_entry {
		uint64_t line, addr, pc;
		uint32_t flags;	   /* enum mem_flag */
	} entry[WRITE_BUFFER_MAX]; /* oldest first */
};

struct memsys {
	struct memsys_config cfg;
	struct memsys_callbacks cb;
	struct cache cache[MEM_CACHES];
	struct tag_array itlb, dtlb, stlb;
	bool has_itlb, has_dtlb, has_stlb;
	bool perfect;	 /* memsys_perfect() was called */
	uint8_t unknown; /* enum mem_unknown */
	uint64_t *
	    fetched; /* memsys_data_known: a set of lines and pages that fetches asked for; else NULL */
	uint8_t line_shift; /* of memory, and of the last cache before it */
	uint8_t page_shift;
	struct memory mem;

	uint64_t now;
	uint64_t changes; /* of what is outstanding, and of what is known of it */
	struct due *heap;
	uint32_t nevents, events_cap;
	uint64_t seq;

	struct req *free_req;
	struct req *req_pool;
	uint32_t nreq_free;
	struct join *free_join;
	struct join join_pool[MAX_JOINS];
	struct page_walk walk[MAX_WALKS];
	uint32_t nwalks, walkers_busy;
	struct page_walk *walk_head, *walk_tail;
	struct tag_array walk_cache;
	bool has_walk_cache;
	uint32_t wake;		  /* caches to report by wake() at the end of the event */
	struct miss_list *misses; /* records in progress; NULL: nobody listens */
	struct hit_list *hits;	  /* misses that are to be hits; NULL: none */

	struct memsys_stats stats;
	struct write_buffer wbuf;
};

/* log2 of the bytes of a line of this cache, or of MEMORY. */
static inline uint8_t line_shift_of(const struct memsys *ms, int cache)
{
	return cache == MEMORY ? ms->line_shift : ms->cache[cache].line_shift;
}

/* Where the loads of page walks begin. */
static inline int walk_first(const struct memsys *ms)
{
	return ms->cfg.walk_from_l2 ? ms->cache[MEM_L1D].next : MEM_L1D;
}

/* Cycles from arrival at a cache to data on a hit; in the idealised L1D the core's requests take less. */
static inline uint32_t hit_latency(const struct cache *c, enum req_kind kind, uint32_t flags)
{
	if (unlikely(flags & MEM_IDEAL_DL1) && c->id == MEM_L1D && kind <= REQ_STORE)
		return c->ideal_latency;
	return c->latency;
}

/* True if a request that misses this L1 is answered as if it had hit. */
static inline bool misses_are_ideal(const struct cache *c, enum req_kind kind, uint32_t flags)
{
	if (likely(!(flags & (MEM_IDEAL_DMISS | MEM_IDEAL_IMISS))))
		return false;
	return c->id == MEM_L1D ? flags & MEM_IDEAL_DMISS && kind <= REQ_STORE
				: flags & MEM_IDEAL_IMISS && c->id == MEM_L1I;
}

/* A tag hit of a demand access: recency, dirty bit, prefetch bookkeeping. Returns more events. */
static inline uint32_t cache_hit(struct memsys *ms, struct cache *c, uint32_t index, bool write)
{
	uint8_t state = c->t.state[index];

	tags_touch(&c->t, index);
	if (write && !(c->cfg.write_through))
		c->t.state[index] = state | TS_DIRTY;
	if (unlikely(state & TS_PREFETCHED)) {
		c->t.state[index] &= (uint8_t)~TS_PREFETCHED;
		ms->stats.cache[c->id].prefetches_useful++;
		return MEM_EV_PF_HIT;
	}
	return 0;
}

/* mem.c */
void mem_schedule(struct memsys *ms, uint64_t time, enum due_kind kind, void *p);
/* The data that req asked for below: leading edge, beats, trailing edge, level. */
void mem_respond(struct memsys *ms, struct req *req, uint64_t lead, uint64_t trail,
		 struct beats beats, uint8_t level);
void mem_lookup(struct memsys *ms, struct req *req, uint64_t t);
/* Asks for a line unless it is there or on its way; false if no MSHR is free. who (may be NULL):
 * the instruction that causes it. */
bool mem_issue_prefetch(struct memsys *ms, struct cache *c, uint64_t line, uint64_t pc,
			const struct mem_asker *who, uint64_t t);
/* Asks for the line of what, which c neither has nor waits for; an MSHR is free. */
void mem_ask_early(struct memsys *ms, struct cache *c, const struct req *what,
		   const struct mem_asker *who, uint64_t t);
/* A zeroed request; the caller has seen that ms->nreq_free is not 0. */
struct req *req_alloc(struct memsys *ms);
void req_free(struct memsys *ms, struct req *req);
/* A part of a request of the core is complete; with its last part, the core is told. */
void mem_complete(struct memsys *ms, struct req *req, uint64_t ready);
/* The MSHR that waits for the line, or NULL. */
struct mshr *mshr_find(struct cache *c, uint64_t line);
/* When the word at addr arrives: beats come in wrap-around order from the critical one. */
uint64_t mshr_word_time(const struct mshr *m, uint64_t addr);
/* The first cycle from t on in which c's port and the line's bank take a request; books it. */
uint64_t book_port(struct cache *c, uint64_t line, uint64_t t);
/* A posted write to the level below the L1D. */
struct req *post_write(struct memsys *ms, const struct cache *c, uint64_t addr, uint64_t pc,
		       uint32_t flags, uint64_t t);
/* Books a line of 1 << line_shift bytes on a bus; returns the cycle of its leading beat. */
uint64_t bus_grant(struct data_bus *b, uint8_t line_shift, uint64_t t, uint64_t *busy);
/* Beats that such a line takes. */
static inline uint32_t bus_beats(const struct data_bus *b, uint8_t line_shift)
{
	return line_shift > b->beat_shift ? 1u << (line_shift - b->beat_shift) : 1;
}
/* Cycles from its leading to its trailing beat. */
static inline uint32_t bus_tail(const struct data_bus *b, uint8_t line_shift)
{
	return (bus_beats(b, line_shift) - 1) * b->step;
}

/* wbuf.c, where wbuf.size is not 0. */
/* Whether the buffer has room for a store to one line or two. */
bool wbuf_takes(const struct memsys *ms, uint64_t line, uint64_t second);
void wbuf_write(struct memsys *ms, uint64_t addr, uint64_t pc, uint32_t flags, uint64_t t);
/* The level below takes req, a posted write; if the buffer sent it, its entry is free in t. */
void wbuf_taken(struct memsys *ms, struct req *req, uint64_t t);
/* DUE_WRITE, or DUE_WRITTEN. */
void wbuf_event(struct memsys *ms, bool written, uint64_t t);

/* setup.c: true if the miss has gone, or will go, to memory, as far as is known. */
bool mshr_goes_to_memory(const struct mshr *m);

/* fill.c: tags change hands */
enum install_mode {
	INSTALL_WARM,  /* no time, no statistics */
	INSTALL_TIMED, /* write-backs take bus time and enter memory's queue */
	INSTALL_FREE,  /* bandwidth is ideal: they are counted, and take none */
};
/* Puts the line in, evicts, writes back, invalidates above. */
void cache_install(struct memsys *ms, struct cache *c, uint64_t line, uint8_t state, uint64_t t,
		   enum install_mode mode);
/* A line that c misses: true if it may have been there before anything was seen, and has been put in. */
bool unknown_line(struct memsys *ms, struct cache *c, uint64_t line, bool write, uint64_t t);
/* The same of a page. */
bool unknown_page(struct memsys *ms, struct tag_array *t, uint64_t vpn);
/* Puts a line into the cache and those below it, in no time, unless it is there or on its way. */
void cache_put(struct memsys *ms, struct cache *c, uint64_t line, bool write, uint64_t t);

/* tlb.c */
/* Joins or begins the handling of an L1 TLB miss. The caller has made sure that there is room. */
void tlb_miss(struct memsys *ms, struct req *req, uint64_t t);
bool tlb_can_miss(const struct memsys *ms, bool fetch, uint64_t vpn);
void walk_event(struct memsys *ms, struct page_walk *w, uint64_t t);
void walk_loaded(struct memsys *ms, struct page_walk *w, uint64_t t);
/* Address of the page-table entry of a page: depth 2 root, 1, 0 leaf. */
uint64_t walk_entry_addr(const struct memsys *ms, uint64_t vpn, int depth);
/* The depth at which a walk of vpn starts, by the walk cache; updates its recency. */
int walk_start_depth(struct memsys *ms, uint64_t vpn);
void walk_cache_put(struct memsys *ms, uint64_t vpn, int depth);
void tlb_put(struct tag_array *t, uint64_t vpn);

/* dram.c */
void memory_init(struct memsys *ms);
void memory_fini(struct memsys *ms);
void memory_reset(struct memsys *ms);
void memory_read(struct memsys *ms, struct req *req, uint64_t t);
void memory_write(struct memsys *ms, uint64_t line, uint64_t t);
void dram_wake(struct memsys *ms, struct channel *ch, uint64_t t);
void dram_done(struct memsys *ms, struct channel *ch, uint64_t t);
uint32_t memory_unloaded(const struct memsys *ms);

/* prefetch.c */
struct pf_access {
	uint64_t line, pc;
	bool miss;
	bool first_use; /* hit on a prefetched line for the first time */
};
struct prefetcher {
	const char *name;
	bool hits; /* wants to see hits too, not only misses and first uses */
	void *(*state_new)(const struct mem_prefetch_config *cfg);
	void (*state_free)(void *state);
	/* Fills lines[≤ 8] with what to fetch; returns how many. */
	uint32_t (*observe)(void *state, const struct mem_prefetch_config *cfg,
			    const struct pf_access *a, uint64_t *lines);
	uint64_t (*hash)(const void *state, const struct mem_prefetch_config *cfg, uint64_t h);
	/* Saves or reads the state, if there is any. */
	void (*saved)(void *state, const struct mem_prefetch_config *cfg, struct state *s);
};
extern const struct prefetcher *const mem_prefetchers[MEM_PF_COUNT];
/* Shows a demand access to c's prefetcher and issues what it asks for. */
void prefetch_observe(struct memsys *ms, struct cache *c, const struct pf_access *a,
		      const struct mem_asker *who, uint64_t t);

/* hits.c: misses that are to be hits. Only while ms->hits is not NULL. */
/* Whether this miss of a line that is not on its way is to be a hit; then the line is put in. */
bool hits_line(struct memsys *ms, struct cache *c, const struct pf_access *a, bool write,
	       bool prefetch, uint64_t t);
/* The same for a miss of an L1 TLB. */
bool hits_page(struct memsys *ms, bool fetch, uint64_t vpn, uint64_t t);
/* Puts in what missed before this cycle and was not asked for. */
void hits_pass(struct memsys *ms, uint64_t now);

/* miss.c: records of misses. All but miss_ask() only while ms->misses is not NULL; a cache that is
 * no L1 has no records. */
struct miss_list;
/* The instruction whose access has this token; NULL: nobody listens. */
const struct mem_asker *miss_ask(const struct memsys *ms, uint64_t token, struct mem_asker *who);
void miss_begin_line(struct memsys *ms, const struct cache *c, const struct mshr *m,
		     const struct mem_asker *who, uint64_t t);
/* Another request for a line on its way. */
void miss_join_line(struct memsys *ms, const struct cache *c, const struct mshr *m,
		    const struct mem_asker *who, uint64_t t);
/* The line is filled. */
void miss_end_line(struct memsys *ms, const struct cache *c, const struct mshr *m, uint64_t t);
/* The same for an L1 TLB miss. */
void miss_begin_walk(struct memsys *ms, const struct page_walk *w, const struct mem_asker *who);
void miss_join_walk(struct memsys *ms, const struct page_walk *w, const struct mem_asker *who,
		    uint64_t t);
void miss_end_walk(struct memsys *ms, const struct page_walk *w, uint64_t t);

#endif

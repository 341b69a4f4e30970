/* SPDX-License-Identifier: MIT */
/*
 * Everything that passes between the stages of the core, by owner: front end, window, load/store
 * unit, recorder. Each of these structs says who writes it and who reads it.
 *
 * All instructions in flight stand in one ring, in program order on the path being fetched, and
 * never move. An instruction's place is its program-order number po; three numbers cut the ring:
 *
 *     head ─────────── disp ─────────── tail
 *      │ reorder buffer │ front end      │ next to be fetched
 *      next to commit   next to dispatch
 *
 * Invariants, checked every cycle in debug builds (core_check in check.c):
 *
 *   P1  head <= disp <= tail <= head + ring size; disp - head <= ROB entries.
 *   P2  The rename map names, per register, the youngest dispatched writer; a name below head
 *       means that the value is architectural. So commit has nothing to clean up.
 *   P3  An instruction is in its producers' lists of dependents exactly once per source that it
 *       still waits for; lists are youngest first, so a squash (youngest first) pops their heads.
 *   P4  At most one event per instruction is in the wheel.
 *   P5  regs holds the values after the last fetched instruction; every instruction keeps the
 *       value that it overwrote, so a squash restores regs by walking back.
 *   P6  On the right path the guest has executed exactly the instructions below stream_end, and
 *       steps[] holds those from head on, so that a flush can fetch them again.
 *   P7  The queue of blocks ahead of fetch, if there is one and fetch has not left it, begins with
 *       the block that fetch is in.
 */
#ifndef CORE_PIPE_H
#define CORE_PIPE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/bpred/bpred.h"
#include "core/core.h"
#include "core/mem/mem.h"
#include "core/twin.h"
#include "guest/guest.h"
#include "isa/isa.h"
#include "trace/emit.h"
#include "trace/record.h"
#include "util/util.h"

#define SLOT_NONE  UINT32_MAX
#define SRC_NONE   UINT16_MAX
#define RING_MAX   32768
#define NEVER	   UINT64_MAX
#define WHEEL_SIZE 1024 /* cycles; a later event goes round more than once */
#define SOURCES	   4 /* three registers, and a store (or, in order, the register's last writer) */
#define SRC_MEM	   3 /* index of the fourth */
#define QUEUES	   3
#define STORE_HASH 1024

/* What the core knows of a static instruction; never moved, never changed while an instruction in
 * flight points at it. */
struct uop {
	struct inst in;
	uint64_t pc;
	uint32_t rec_flags; /* enum rec_inst_flag that follow from the encoding */
	uint32_t ideal;	    /* enum ideal that hold for it */
	uint16_t flags;	    /* enum uop_flag */
	uint16_t latency;   /* cycles in its unit */
	uint16_t busy; /* cycles for which the unit takes nothing else, if it is not pipelined */
	uint8_t cls;   /* enum op_class */
	uint8_t mem_bytes;   /* of the memory operand */
	uint8_t unit;	     /* enum unit_kind */
	uint8_t queue;	     /* issue queue */
	uint8_t dst, src[3]; /* isa_operands */
	uint64_t version;    /* guest_code_version when the guest had it at pc */
};

enum uop_flag {
	UOP_LOAD = 1 << 0,   /* reads data memory */
	UOP_STORE = 1 << 1,  /* writes it; an atomic does both */
	UOP_CTRL = 1 << 2,   /* is predicted */
	UOP_TAGGED = 1 << 3, /* counts as an outstanding branch: conditional or indirect */
	UOP_SERIAL = 1 << 4, /* waits for an empty ROB and holds dispatch */
	UOP_FLUSH = 1 << 5,  /* what follows is fetched again when it commits */
	UOP_DRAIN = 1 << 6,  /* executes only when all older stores are written */
	UOP_TRAP = 1 << 7,   /* enters the kernel: fetch waits for it to commit */
	UOP_HINT = 1 << 8,   /* prefetch */
	UOP_ATOMIC = 1 << 9,
	UOP_SPLIT =
	    1 << 10, /* plain store: issues when its address is known, completes with its data */
	UOP_FP_DST = 1 << 11,
	UOP_NO_UNIT = 1 << 12, /* idealised: no unit is taken */
	UOP_CODE = 1 << 13,    /* fence.i: the guest's code may have changed */
};

enum state_flag {
	ST_READY = 1 << 0,	/* all operands available: is, or was, in a ready mask */
	ST_ISSUED = 1 << 1,	/* has left its issue queue */
	ST_DONE = 1 << 2,	/* result available */
	ST_WRONG = 1 << 3,	/* on a wrong path */
	ST_MISPREDICT = 1 << 4, /* fetch went elsewhere after it */
	ST_RESOLVED = 1 << 5,	/* its outstanding-branch tag is free again */
	ST_DATA = 1 << 6,	/* store: data available */
	ST_ADDR = 1 << 7,	/* store: address known */
	ST_FAULT = 1 << 8,	/* raises a page fault at commit */
	ST_VIOLATION = 1 << 9,	/* load that must be executed again */
	ST_TRAP = 1 << 10,	/* fetch waits for it to commit: system call, switch, end */
	ST_BYPASSED = 1 << 11,	/* load that went before the store it depends on knew its address */
	ST_EVENT = 1 << 12,	/* in the wheel */
	ST_MEM = 1 << 13,	/* waits for the memory system */
	ST_WAIT_STORE = 1 << 14, /* load that waits for its store: address, data or write */
	ST_AVAIL = 1 << 15,	 /* dependents may use the result */
};

enum wheel_event {
	WHEEL_COMPLETE, /* the result is there */
	WHEEL_WAKE,	/* dependents may issue: window.wakeup cycles after the result */
	WHEEL_ADDR,	/* a store's address is known */
};

/* An instruction in flight. First line: wake-up, select, completion. Second: fetch, commit, squash.
 */
struct inflight {
	const struct uop *u;
	uint64_t addr;		    /* memory operand */
	uint32_t dep_head;	    /* first dependent: slot << 2 | source */
	uint32_t dep_next[SOURCES]; /* next dependent of the same producer */
	uint32_t ev_next, ev_prev;  /* neighbours in the wheel's bucket */
	uint16_t src_slot[SOURCES]; /* producer that it waits for; SRC_NONE: does not wait */
	uint16_t state;		    /* enum state_flag */
	uint16_t uflags, latency;   /* the uop's, so that one line is enough to issue */
	uint8_t queue, unit, dst;
	uint8_t pending; /* sources that are not yet available */
	uint8_t event;	 /* enum wheel_event */
	uint8_t cls;

	uint64_t seq;
	uint64_t fetch;	  /* cycle; after dispatch with rec.stamps: cycle of dispatch */
	uint64_t next_pc; /* where it really goes on */
	uint32_t psv;	  /* enum psv_event */
	uint32_t flags;	  /* enum rec_inst_flag */

	uint64_t ev_time;
	uint64_t undo;	   /* value of its destination before it */
	uint64_t prev_map; /* rename map of its destination before it */
	uint32_t
	    sq_pos; /* low bits of sq_tail at its dispatch: older stores have smaller numbers */
	uint32_t tid;
};
_Static_assert(sizeof(struct inflight) == 128, "two cache lines");

/* Memory side of a load or store in flight. */
struct memop {
	uint64_t own;	    /* stores: its number in the store queue */
	uint64_t store;	    /* loads: number of the youngest older overlapping store, or 0 */
	uint64_t next_load; /* po of the next older load that depends on the same store */
	uint8_t covered;    /* the store has all bytes that the load wants */
	uint8_t wait;	    /* enum load_wait */
	uint8_t level;	    /* loads: enum mem_level that serves, or will serve, it (WANT_HEAD) */
	uint32_t issue;	    /* cycles from fetch to issue (WANT_HEAD, WANT_ISSUES) */
};

enum load_wait {
	WAIT_NONE,
	WAIT_DATA,  /* for its data */
	WAIT_WRITE, /* for it to be written: it has only some of the bytes */
};

/* A store from dispatch until it is written. Numbers count from 1; the array is indexed modulo
 * size. */
struct sq_entry {
	uint64_t addr;
	uint64_t po, seq;
	uint64_t pc;
	uint64_t loads; /* po of the youngest load that depends on it; 0: none */
	uint64_t
	    next[2]; /* next older store in the hash chain of each granule it touches; 0: none */
	uint16_t hash[2]; /* which chains; hash[1] is used only if it touches two granules */
	uint8_t size;
	uint8_t granules;
	uint8_t addr_known, data_ready;
	uint8_t done;	/* written, or taken by the cache */
	uint8_t fault;	/* raises a signal instead: is not written */
	uint32_t ideal; /* enum ideal */
};

/* A right-path instruction that the guest has executed and a squash has thrown away: kept so that it
 * can be fetched again. */
struct kept_step {
	const struct uop *u;
	uint64_t addr;
	uint64_t next_pc;
	uint64_t value; /* of its destination */
	uint32_t psv;	/* events of its earlier lives that it keeps */
	uint32_t flags; /* RI_ flags, likewise, and RI_TAKEN */
	uint32_t tid;
	uint16_t state; /* ST_TRAP, ST_FAULT */
};
#define STICKY_PSV   (PSV_FL_EX | PSV_FL_MO)
#define STICKY_FLAGS (RI_FLUSHES | RI_EXCEPTION | RI_TAKEN | RI_FAULT)

/* Wrong-path stores that wrong-path loads must see. */
struct overlay_store {
	uint64_t addr, value, po;
	uint32_t size;
};

enum fetch_state {
	FETCHING,
	FETCH_WAIT_CACHE, /* an access is under way; its answer sets time */
	FETCH_WAIT_TRAP,  /* until the last fetched instruction commits */
	FETCH_STUCK,	  /* wrong path that leads nowhere: until a redirect */
	FETCH_OVER,	  /* the guest has ended, or the instructions asked for are fetched */
};

/*
 * The front end: which instruction comes next, and on which path.
 *
 * Writes: fetch.c. Where another stage takes part, the group says so.
 */
struct front_end {
	/* Where fetch is. A redirect (complete.c, commit.c, squash.c) goes through
	 * fetch_redirect(), an answer of the I-cache through fetch_done() and fetch_wake().
	 * Read by the recorder, and by core.c, which skips cycles in which nothing can happen. */
	enum fetch_state state;
	uint8_t reason; /* enum fetch_stall while time lies ahead */
	uint8_t level;	/* enum mem_level that served the next packet */
	bool wrong;	/* on a wrong path */
	bool ended;	/* the guest has ended */
	uint32_t psv;	/* events that the next packet's first instruction has suffered */
	uint32_t lat_icache, lat_itlb;
	uint64_t pc;
	uint64_t time;	 /* not before */
	uint64_t line;	 /* line that the last access delivered; ~0: none */
	uint64_t token;	 /* outstanding access; 0: none */
	uint64_t tokens; /* handed out */
	uint64_t seq;	 /* of the next instruction */
	uint64_t limit;	 /* po that must not be fetched yet; set by core_limit() */
	/* po from which on the guest must not enter the kernel yet (core_target); of a twin: from which
	 * on it must ask whether there is a step. */
	uint64_t hold;
	bool counts_guest; /* numbers of instructions are the guest's: without those that fault */
	uint64_t right_po; /* while wrong: where the right path goes on */

	/* What the guest has done. Squash moves instructions of the right path back into steps,
	 * from which fetch takes them again. */
	uint64_t stream_end; /* the guest has executed every instruction below */
	struct kept_step *steps;
	const struct hart *hart;
	uint64_t code_version; /* guest_code_version after the last fetched instruction */

	/* Registers after the last fetched instruction; a squash restores them. Read by spec.c. */
	uint64_t regs[64];

	/* Wrong-path stores: spec.c alone. */
	struct overlay_store *overlay;
	uint32_t noverlay;
	uint64_t overlay_filter;

	struct ahead *ahead; /* ahead.c alone; NULL: the predictors do not run ahead of fetch */

	/* Predictions by slot: read when the branch resolves, commits or is squashed. */
	struct bpred_pred *preds;

	/* Predecoded instructions: uop.c alone. */
	struct uop_table *uops;
	uint64_t uop_page_number; /* page that uop_page belongs to; ~0: none */
	struct uop_page *uop_page;

	/* A twin can find no step in the middle of a packet: the cycle stops there, and goes on
	 * when there is one. */
	bool starved;
	uint64_t packet_end; /* where the packet's block ends */
	uint32_t packet_taken, packet_room;

	uint64_t warm_line; /* core_warm: line of the last instruction */

	/* Room. A packet's place is freed when its first instruction commits or is squashed. */
	uint32_t packets_used;
	uint64_t buffered; /* instructions below have arrived in the fetch buffer */

	/* The machine's sizes: written once (core.c). */
	uint32_t packets_size;
	uint32_t width, buffer, block_mask;
	uint64_t line_mask;	/* from an address to that of its line in the L1I */
	uint32_t taken_max;	/* a packet ends with this taken branch */
	bool through;		/* goes on into the next block in the same cycle (idealised) */
	uint32_t depth;		/* cycles from fetch to dispatch */
	uint32_t decode_stages; /* instructions that fit between fetch buffer and dispatch */
	uint32_t l1i_latency;
};

/*
 * The window: what has been dispatched and has not left. Dispatch takes entries; issue, commit and
 * squash give them back.
 */
struct window {
	/* Instructions with all operands. Set at dispatch, by wake-up (complete.c) and when a load
	 * may try again (lsu.c); cleared by issue and squash. */
	uint32_t nready[QUEUES];
	uint64_t *ready[QUEUES]; /* bit masks over slots */
	uint8_t *slot_kind;	 /* of the instruction in each slot: unit | queue << 4 */

	/* Renaming: dispatch writes, squash takes back (P2). */
	uint64_t map[64]; /* po of the youngest dispatched writer of each register */

	/* Entries taken, and how many there are. */
	uint32_t iq_used[QUEUES], iq_size[QUEUES];
	uint32_t int_used, int_size; /* writers of integer registers in flight */
	uint32_t fp_used, fp_size;
	uint32_t branches_used, branches_size; /* a branch's tag is free when it resolves */
	uint32_t rob_size;
	bool serial; /* a serialising instruction is in the ROB */

	/* Units and widths: issue.c and inorder.c. */
	bool in_order;
	uint32_t units_full; /* kinds of which none is left in this cycle, one bit each */
	uint8_t unit_count[UNIT_COUNT], unit_used[UNIT_COUNT];
	uint8_t unit_pipelined[UNIT_COUNT];
	uint64_t issue_po;   /* in order: next to issue; a squash moves it back */
	uint64_t group_mask; /* in order: bits of an address that name an issue group; 0: none */
	uint32_t load_after_store; /* in order: hazard, in cycles; 0: none */
	uint32_t stored;	   /* in order: bit n: a store issued n cycles before stored_at */
	uint64_t stored_at;
	uint64_t issue_time; /* when a blocked ready instruction may find its unit free */
	uint32_t dispatch_width, issue_width, commit_width;
	uint32_t iq_width[QUEUES];

	/* The wheel: issue.c and lsu.c put events in, complete.c and squash take them out. */
	bool wheel_open; /* the present cycle's bucket has been emptied: events must lie ahead */
	uint64_t wheel_used[WHEEL_SIZE / 64];
	uint32_t wheel[WHEEL_SIZE];
	uint64_t unit_busy[UNIT_COUNT][64]; /* units that are not pipelined: until when */
};

/*
 * The load/store unit.
 *
 * Writes: lsu.c. Commit alone moves sq_commit, complete.c alone raises sq_complete.
 */
struct lsu {
	struct memop *memops; /* by slot */

	/* The store queue: head..commit..tail are numbers. Dispatch and the recorder read how full
	 * it is, issue reads sq_head. */
	struct sq_entry *stores;
	uint64_t sq_head, sq_commit, sq_tail;
	uint64_t sq_next;  /* next to be sent to the cache */
	uint64_t sq_known; /* all stores below know their addresses */
	uint32_t sq_mask, sq_size;
	uint32_t sq_complete; /* stores in the queue that have address and data */
	uint32_t sq_flight;   /* sent and not yet written */
	uint32_t store_ports;
	uint8_t ports_taken; /* load ports that stores written in this cycle take */
	uint64_t drain_time; /* not before */
	bool buffered;	     /* stores go into a write buffer */

	/* The load queue. Commit counts lq_used down, too. */
	uint32_t lq_used, lq_size;
	uint32_t shared_size; /* of one queue for loads and stores */

	/* Loads that wait. */
	uint8_t order;	      /* enum lsu_order */
	bool retrying;	      /* a load or a hint was refused by the cache */
	uint32_t norder_wait; /* bits of order_wait */
	uint64_t *order_wait; /* loads that wait for sq_known to move, mask over slots */
	uint64_t *retry;      /* loads that the cache refused, mask over slots */
	uint64_t retry_time;
	uint8_t *wait_table; /* 1: this load once violated order, as commit found */
	uint64_t wait_clear; /* cycle in which wait_table is forgotten */

	/* Data prefetches that the cache has not taken yet, oldest first. */
	struct hint {
		uint64_t addr;
		uint32_t flags; /* enum mem_flag */
		struct mem_asker who;
	} hints[HINTS_MAX];
	uint32_t nhints;
	struct mem_asker hint_asker; /* of the one that is being sent */

	/* The guest's: which pages the right path has touched; NULL: no page faults, or a twin, whose
	 * leader says which touches are the first. */
	uint8_t *touched;
	uint64_t store_hash[STORE_HASH]; /* youngest store that touches a granule with that hash */
};

/* Of an instruction in flight whose record has no notes but tells of its events. */
struct event_note {
	uint32_t resolved;	       /* a mispredicted branch: cycles after fetch */
	uint16_t lat_icache, lat_itlb; /* as in rec_notes, if its fetch missed */
};

/*
 * The recorder: what exists only because somebody listens.
 *
 * Writes: record.c. Stages read wants, insts, notes and held, fill in the notes of the instruction
 * at hand, and add to flags.
 */
struct recorder {
	unsigned wants;	    /* enum trace_want; 0: nobody listens */
	bool insts, cycles; /* such records are made, with something in them */
	bool counts;	    /* cycles are counted alone (WANT_COUNTS and less) */
	bool every_cycle;   /* there is something to do every cycle */
	struct emit *emit;
	uint32_t reserve; /* most instructions that can leave in a cycle and are wanted */

	/* Notes of instructions in flight, by slot; NULL: nobody wants them. */
	struct rec_notes *notes;
	uint8_t *held; /* enum dispatch_stall: what held the instruction at dispatch */
	struct rec_notes *all_notes; /* their memory, also while they are off */
	uint8_t *all_held;
	bool stamps; /* WANT_STAMPS, and twins: `fetch` of what is dispatched is when it was */
	struct event_note *events; /* by slot: when its events were (WANT_ISSUES); else NULL */
	uint64_t disp_wait[DISPATCH_STALL_COUNT]; /* cycles that the next to dispatch has waited, by
						     cause */
	uint64_t disp_waiter;			  /* seq it belongs to */

	/* The present cycle's record. */
	struct rec_cycle *cycle; /* being filled */
	uint32_t flags;		 /* enum rec_cycle_flag so far; every stage adds its own */
	uint8_t flush_cause;	 /* enum flush_cause */
	bool quiet;		 /* the previous record may be extended if this cycle equals it */
	uint64_t quiet_state;	 /* what it must equal */
	uint64_t out_changes;	 /* memsys_changes that out_flags tell of */
	uint32_t out_flags;	 /* RC_…_OUT */
	uint64_t head_known;	 /* when the oldest's miss will be known to be one */

	/* Records of some stretches alone (emit.schedule). */
	uint64_t switch_po; /* the next change comes when this one is the oldest; NEVER: none */
	struct stretch stretch;

	/* Counts alone: instructions and cycles below are counted. */
	uint64_t counted_po, counted_to;
};

struct core {
	/* The ring and its three cuts. Fetch moves tail, dispatch disp, commit head; a squash moves
	 * tail and disp back. */
	uint64_t now;
	uint64_t head, disp, tail;
	uint32_t mask;	/* ring size - 1 */
	uint32_t ideal; /* enum ideal of the whole run */
	uint64_t *seen; /* core_unknown: branches executed so far, a bit each by hash; or NULL */
	struct inflight *ring;

	/* What the stages did in this cycle: each counts its own. Read by core.c (if nothing
	 * happened, time jumps) and by the recorder. */
	struct {
		uint32_t commits, dispatches, issues, fetches;
		uint32_t events, drains, walks;
		uint8_t dispatch_stall, fetch_stall; /* enum dispatch_stall, enum fetch_stall */
	} did;

	/* The last flush: note_flush() writes. Dispatch ends it (cause NONE) with the first
	 * instruction of the right path; the recorder reads. */
	struct {
		uint8_t cause; /* enum flush_cause */
		uint64_t po, pc;
	} flush;

	struct window win;
	struct lsu lsu;
	struct front_end front;
	struct recorder rec;

	/* Two cores, one program (twin.h). Set in core_listen() and twin.c. */
	struct {
		struct twin *leads;   /* this core executes the guest, and a twin follows it */
		struct twin *follows; /* this core is a twin: its steps are the leader's */
		uint64_t deliver_at;  /* leader: po at which stamps are handed over next */
	} twin;

	struct guest *guest;
	struct memsys *mem;
	struct bpred *bpred;
	uint64_t progress;	 /* cycle of the last commit */
	uint64_t target;	 /* core_target: instructions of stats, without faults */
	uint64_t before;	 /* instructions that the guest has executed without being timed */
	struct core_stats stats; /* each stage counts its own */
	struct machine cfg;	 /* never changes */
	bool checked;		 /* core_checked() was called */
};

static inline uint32_t slot_of(const struct core *c, uint64_t po)
{
	return (uint32_t)po & c->mask;
}
static inline struct inflight *at(const struct core *c, uint64_t po)
{
	return &c->ring[slot_of(c, po)];
}
/* po of the instruction in a slot that is in flight. */
static inline uint64_t po_of(const struct core *c, uint32_t slot)
{
	return c->head + ((slot - (uint32_t)c->head) & c->mask);
}
static inline struct sq_entry *store_at(const struct core *c, uint64_t number)
{
	return &c->lsu.stores[(uint32_t)number & c->lsu.sq_mask];
}

/* Counts e, which writes a register, among the writers in flight (by 1) or no longer (by -1). */
static inline void count_writer(struct core *c, const struct inflight *e, int by)
{
	if (e->uflags & UOP_FP_DST)
		c->win.fp_used += (uint32_t)by;
	else
		c->win.int_used += (uint32_t)by;
}

/* The pipeline is flushed in this cycle. */
static inline void note_flush(struct core *c, enum flush_cause cause, uint64_t po, uint64_t pc)
{
	c->flush.cause = c->rec.flush_cause = (uint8_t)cause;
	c->flush.po = po;
	c->flush.pc = pc;
	c->rec.flags |= RC_FLUSH;
}

/* Tokens for the memory system: kind, sequence number, place. */
#define TOKEN_LOAD  (1ull << 62)
#define TOKEN_STORE (2ull << 62)
#define TOKEN_FETCH (3ull << 62)
#define TOKEN_KIND  (3ull << 62)
#define TOKEN_HINT  1ull /* nobody waits for these two */
#define TOKEN_AHEAD 2ull
static inline uint64_t token_of(uint64_t seq, uint64_t po)
{
	return TOKEN_LOAD | (seq & ((1ull << 42) - 1)) << 20 | (po & 0xfffff);
}
static inline uint64_t token_seq(uint64_t token)
{
	return token >> 20 & ((1ull << 42) - 1);
}
static inline uint32_t token_po(uint64_t token)
{
	return (uint32_t)token & 0xfffff;
}

/*
 * The wheel: what happens in which cycle, for the next WHEEL_SIZE cycles. An event that lies
 * further ahead is put into the last bucket and goes round again from there.
 */
#define WHEEL_FIRST 0x80000000u /* in ev_prev: first of the bucket whose number follows */

static inline void wheel_put(struct core *c, uint32_t slot, enum wheel_event kind, uint64_t time)
{
	struct inflight *e = &c->ring[slot];
	uint64_t when = time - c->now < WHEEL_SIZE ? time : c->now + WHEEL_SIZE - 1;
	uint32_t b = (uint32_t)when & (WHEEL_SIZE - 1);

	assert(time > c->now || (time == c->now && !c->win.wheel_open));
	assert(!(e->state & ST_EVENT));
	e->event = kind;
	e->state |= ST_EVENT;
	e->ev_time = time;
	e->ev_prev = WHEEL_FIRST | b;
	e->ev_next = c->win.wheel[b];
	if (e->ev_next != SLOT_NONE)
		c->ring[e->ev_next].ev_prev = slot;
	c->win.wheel[b] = slot;
	c->win.wheel_used[b / 64] |= 1ull << (b & 63);
}

static inline void wheel_remove(struct core *c, struct inflight *e)
{
	e->state &= (uint16_t)~ST_EVENT;
	if (e->ev_next != SLOT_NONE)
		c->ring[e->ev_next].ev_prev = e->ev_prev;
	if (!(e->ev_prev & WHEEL_FIRST)) {
		c->ring[e->ev_prev].ev_next = e->ev_next;
		return;
	}
	uint32_t b = e->ev_prev & ~WHEEL_FIRST;

	c->win.wheel[b] = e->ev_next;
	if (e->ev_next == SLOT_NONE)
		c->win.wheel_used[b / 64] &= ~(1ull << (b & 63));
}

/* The first cycle after now in which the wheel has something; NEVER if it is empty. */
uint64_t wheel_next(const struct core *c);

/* Ready masks. */
static inline void ready_set(struct core *c, uint32_t slot, unsigned queue)
{
	assert(!(c->win.ready[queue][slot / 64] >> (slot & 63) & 1));
	c->win.ready[queue][slot / 64] |= 1ull << (slot & 63);
	c->win.nready[queue]++;
}
static inline void ready_clear(struct core *c, uint32_t slot, unsigned queue)
{
	assert(c->win.ready[queue][slot / 64] >> (slot & 63) & 1);
	c->win.ready[queue][slot / 64] &= ~(1ull << (slot & 63));
	c->win.nready[queue]--;
}
static inline bool is_ready(const struct core *c, uint32_t slot, unsigned queue)
{
	return c->win.ready[queue][slot / 64] >> (slot & 63) & 1;
}

/* ---- stages, in the order in which a cycle runs them: last stage first, so that a stage can use
 * in the same cycle what a later one frees, and sees what an earlier one hands on a cycle later
 * ---- */

void complete_stage(struct core *c); /* complete.c: events that are due; resolves branches */
void drain_stage(struct core *c);    /* lsu.c: committed stores go to the cache */
void commit_stage(struct core *c);   /* commit.c */
void issue_stage(struct core *c);    /* issue.c */
void inorder_stage(struct core *c);  /* inorder.c: instead of issue_stage */
void dispatch_stage(struct core *c); /* dispatch.c: decode, rename, dispatch */
void fetch_stage(
    struct core *c); /* core.c: the pipeline is empty; lets stores be written and misses end. */
void core_rest(struct core *c);

/* fetch.c */
void ahead_stage(struct core *c); /* ahead.c: only if front.ahead is not NULL */
/* Takes the registers from the guest: a system call or a switch may have changed any of them. */
void fetch_registers(struct core *c);

/* complete.c */
/* The result of the instruction in slot is available now. */
void complete_now(struct core *c, uint32_t slot);
/* A store's address is known now; if its data is, too, the store is complete. */
void complete_store_address(struct core *c, uint32_t slot);

/* issue.c */
/* Tries to begin execution of a ready instruction; false if its unit or the cache has no room. */
bool issue_try(struct core *c, uint32_t slot);

/* lsu.c */
enum load_try {
	LOAD_GOES,  /* will complete by an event */
	LOAD_WAITS, /* for a store; it becomes ready again by itself */
	LOAD_RETRY, /* the cache refused it; it becomes ready again by itself */
};
enum load_try lsu_load(struct core *c, uint32_t slot);
void lsu_dispatch_load(struct core *c, uint64_t po);
void lsu_dispatch_store(struct core *c, uint64_t po);
void lsu_squash_load(struct core *c, uint64_t po);
void lsu_squash_store(struct core *c, uint64_t po);
/* The address (data) of the store in slot is known now: loads that waited go on, loads that went
 * too early are marked. */
void lsu_store_address(struct core *c, uint32_t slot);
void lsu_store_data(struct core *c, uint32_t slot);
/* Lets refused loads and hints try again. */
void lsu_retry(struct core *c);
/* Whether a prefetch hint can leave its issue queue, and what happens when it does. */
bool lsu_hint_fits(const struct core *c, const struct uop *u);
void lsu_hint(struct core *c, const struct inflight *e);
/* The memory system's answers: to the load, and to the store with that number in the queue. */
void lsu_load_done(struct core *c, uint64_t token, const struct mem_result *r);
void lsu_store_done(struct core *c, uint64_t number);
/* The load, store or hint that makes the request with this token now. */
void lsu_asker(const struct core *c, uint64_t token, struct mem_asker *who);
/* The L1D takes requests again. */
void lsu_wake(struct core *c);
/* True the first time that right-path code touches a page. */
bool lsu_first_touch(struct core *c, uint64_t addr);
uint32_t lsu_psv(uint32_t events);
/* Notes that a branch is executed; true if it was before. Two branches with one hash are taken for one. */
#define SEEN_BITS (1u << 20)
static inline bool see_branch(struct core *c, uint64_t pc)
{
	const uint64_t bit = hash_u64(pc) % SEEN_BITS, mask = 1ull << bit % 64;
	const bool before = c->seen[bit / 64] & mask;

	c->seen[bit / 64] |= mask;
	return before;
}

/* enum mem_flag of an access, from enum ideal, enum state_flag and enum uop_flag. */
uint32_t lsu_mem_flags(uint32_t ideal, uint32_t state, uint32_t uop);

/* fetch.c */
/* Fetch goes on at pc, on the right path or a wrong one, in cycle time at the earliest. */
/* Whether instruction po, which the guest has executed and which has not committed, raised a signal. */
bool fetch_faults(const struct core *c, uint64_t po);
void fetch_redirect(struct core *c, uint64_t pc, bool wrong, uint64_t time,
		    enum fetch_stall reason);
/* The memory system's answer to the access with that token. */
void fetch_done(struct core *c, uint64_t token, const struct mem_result *r);
/* Goes on in the middle of the packet in which a twin was starved. */
void fetch_resume(struct core *c);
#define STEP_TRAPS (STEP_SYSCALL | STEP_SWITCH | STEP_FAULT | STEP_END)
/* The instruction for which fetch makes its request now. */
void fetch_asker(const struct core *c, struct mem_asker *who);
/* The L1I takes requests again. */
void fetch_wake(struct core *c);

/* ahead.c. Apart from these two, only if front.ahead is not NULL. */
struct ahead *ahead_new(struct bpred *bp, uint32_t blocks);
void ahead_free(struct ahead *a);
/* Fetch is redirected. */
void ahead_redirect(struct core *c);
/* As fetch_asker, for the line of a block ahead: the pc is where the path enters the block, the rest
 * is the instruction that fetch has come to. */
void ahead_asker(const struct core *c, struct mem_asker *who);
/* For core_check(). */
void ahead_check(const struct core *c);

/* squash.c */
/* Throws away everything from po on, restores registers and rename map. Returns the prediction of
 * the oldest control instruction thrown away, or NULL. */
const struct bpred_pred *squash_from(struct core *c, uint64_t po);
/* Flushes at commit: throws away everything from `from` on; fetch goes on at pc after wait more
 * cycles. */
void squash_flush(struct core *c, uint64_t from, uint64_t pc, enum flush_cause cause,
		  uint64_t cause_po, uint64_t cause_pc, uint32_t wait);

/* spec.c */
struct spec_result {
	uint64_t next_pc;
	uint64_t addr;
	uint64_t value;
	bool stuck; /* cannot be executed on a wrong path: system call, illegal instruction */
};
/* Executes u on c->front.regs, wrong-path stores into the overlay. Does not write the register. */
void spec_execute(struct core *c, const struct uop *u, uint64_t po, struct spec_result *r);
void spec_squash(struct core *c, uint64_t from);

/* uop.c */
#define UOP_PAGE_SHIFT 12
struct uop_page {
	const struct uop *slot[1u << (UOP_PAGE_SHIFT - 1)];
};
struct uop_table *uop_table_new(void);
void uop_table_free(struct uop_table *t);
/* The predecoded instruction at pc, whose decoded form is in; in NULL: what the guest has there
 * now, NULL if pc is not executable. */
const struct uop *uop_find(struct core *c, uint64_t pc, const struct inst *in);
/* A uop that stands for the instruction that the guest did not find at pc, which may be any number.
 * For the next instruction to be fetched, and no other. */
const struct uop *uop_missing(struct core *c, uint64_t pc);
static inline const struct uop *uop_get(struct core *c, uint64_t pc, const struct inst *in)
{
	if (likely(pc >> UOP_PAGE_SHIFT == c->front.uop_page_number)) {
		const struct uop *u =
		    c->front.uop_page->slot[(pc & ((1u << UOP_PAGE_SHIFT) - 1)) >> 1];

		if (likely(u &&
			   (in ? u->in.word == in->word : u->version == c->front.code_version)))
			return u;
	}
	return uop_find(c, pc, in);
}

/* The same by the instruction's word. */
static inline const struct uop *uop_get_word(struct core *c, uint64_t pc, uint32_t word)
{
	const struct uop *u =
	    pc >> UOP_PAGE_SHIFT == c->front.uop_page_number
		? c->front.uop_page->slot[(pc & ((1u << UOP_PAGE_SHIFT) - 1)) >> 1]
		: NULL;

	if (likely(u && u->in.word == word))
		return u;

	const struct inst in = isa_decode(word);

	return uop_find(c, pc, &in);
}

/* record.c: everything that only listeners cause */
void record_squashed(struct core *c, uint64_t po);
void record_commits(struct core *c); /* those of this cycle */
void record_issues(struct core *c);  /* likewise, with rec.events */
/* The record of the cycle that has passed, and of as many after it as repeat says; then that of the
 * next cycle is begun. */
void record_cycle(struct core *c, uint64_t repeat);
/* Begins the record of a cycle. */
void record_begin(struct core *c);
/* Counts what is not counted yet, for listeners that want no more: cycles, and instructions if
 * there are no records of them (WANT_EMPTY). */
void record_count(struct core *c);
/* e is about to dispatch: notes what held it. */
void record_dispatch(struct core *c, struct inflight *e, uint32_t slot);
/* A stretch of which records are wanted begins or ends. */
void record_switch(struct core *c);
void record_misses(struct core *c); /* after completions: what misses are out */
void record_head(struct core *c);   /* when nothing has committed: what the oldest waits for */
/* A miss is over (WANT_MISSES). */
void record_miss(struct core *c, const struct rec_miss *m);

/* check.c */
void core_check(const struct core *c);

#endif

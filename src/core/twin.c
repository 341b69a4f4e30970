/* SPDX-License-Identifier: MIT */
/*
 * The twin of a core (see twin.h): the steps that the leader records, the memory that the twin
 * sees, the thread that it runs on, and its stamps on their way to the listeners.
 *
 * Steps are in a ring and are published in pieces: waking a thread for each would cost more than
 * the step. A sleeping thread is woken only when what it waits for is true. The ring is long enough
 * for few sleeps where threads share processors, and short enough for a processor's own caches.
 *
 * Old contents of memory are found by address: each slot of a hash table names the last write to one
 * of its granules, and each write names the one before it in that chain. Old contents are published
 * before the guest writes, so a reader that sees the new contents also sees the old ones.
 */
#include "core/twin.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/pipe.h"
#include "trace/gate.h"

#define STEPS	16384 /* a power of two: how far ahead the leader can be */
#define WRITES	4096  /* a power of two: how many writes it can be ahead */
#define PIECE	64    /* steps that are published together */
#define HASH	4096  /* a power of two */
#define GRANULE 8     /* bytes; a store touches at most two */
#define BATCH	256   /* instructions whose stamps are handed on together */
#define LINE	64    /* bytes */
/* Memory that the other processor had last is fetched before it is needed: this many steps and
 * stamps ahead; and where many stamps are handed on at once, this many. */
#define AHEAD	   16
#define AHEAD_MANY 64
#define PERFECT	   (IDEAL_DMISS | IDEAL_IMISS | IDEAL_DTLB | IDEAL_ITLB)

/* What a step was about to overwrite. */
struct write {
	uint64_t po, addr;
	uint64_t old;	    /* contents of addr before it */
	uint64_t before[2]; /* the writes before it in the chains of its granules, as in `last` */
	uint8_t bytes;
};
#define WRITE_SHIFT 16 /* a write is named by its po and, below that, its place in the ring */
_Static_assert(WRITES <= 1 << WRITE_SHIFT, "a place fits");

/* A reservation. */
struct reserved {
	uint64_t addr, value;
};

/* When an instruction was dispatched on the twin, and how many cycles later it committed. */
struct stamped {
	uint64_t dispatch;
	uint32_t commit;
};

/*
 * Fields are in cache lines by who writes them: both threads use this for every instruction, and a
 * line that one writes and the other reads is a transfer between processors each time.
 */
struct twin {
	/* Set once. */
	struct core *leader, *core;
	struct twin_step *ring;	   /* written by the leader */
	struct write *writes;	   /* likewise */
	struct reserved *reserved; /* likewise: by step, after an atomic */
	_Atomic uint64_t *last;	   /* likewise: by hash of the granule, the last write to it */
	struct stamped *stamps;	   /* by po: the twin writes them, the leader delivers them */
	uint64_t stamps_mask;

	/* The leader's own. */
	_Alignas(LINE) uint64_t next; /* po of the next step to be made */
	uint64_t nwrites;
	uint64_t room;	    /* steps below this fit into the ring, by the last look */
	uint64_t delivered; /* instructions below this are delivered or dropped */

	/* Written by the leader, read by the twin. */
	_Alignas(LINE) _Atomic uint64_t made; /* steps below this are published */
	_Atomic uint64_t limit;		      /* the twin's fetch_limit */
	_Atomic uint64_t wait_taken;   /* the leader waits until steps below this are taken */
	_Atomic uint64_t wait_stamped; /* or until instructions below this have stamps */
	_Atomic bool urgent;	       /* the leader waits: wake the twin even for a single step */
	_Atomic bool quit;
	uint64_t trapped_version; /* of the code, after the last entry into the kernel */
	struct hart trapped;	  /* registers, likewise */

	/* Written by the twin, read by the leader. */
	_Alignas(LINE) _Atomic uint64_t taken; /* steps below this have been taken */
	_Atomic uint64_t rests_at; /* the twin sleeps until this step is there; 0: it is at work */
	_Atomic uint64_t stamped;  /* instructions below this have their stamps */

	/* The twin's own. */
	_Alignas(LINE) uint64_t seen_limit;
	uint64_t code_version;
	struct hart hart;
	struct inst fetched;

	_Alignas(LINE) struct gate work; /* the twin sleeps here */
	_Alignas(LINE) struct gate news; /* the leader sleeps here */
	pthread_t thread;
};

static inline struct twin_step *step_at(const struct twin *t, uint64_t po)
{
	return &t->ring[po & (STEPS - 1)];
}

static inline uint32_t hash_of(uint64_t granule)
{
	return (uint32_t)(granule ^ granule >> 12) & (HASH - 1);
}

/* ---- the thread ---- */

static bool twin_has_work(void *ctx)
{
	const struct twin *t = ctx;
	uint64_t left = atomic_load(&t->made) - atomic_load(&t->taken);

	return left >= STEPS / 4 || (left && atomic_load(&t->urgent)) ||
	       atomic_load(&t->limit) != t->seen_limit || atomic_load(&t->quit);
}

/* Tells the leader that instructions below the head have their stamps. */
static void hand_on(struct twin *t)
{
	atomic_store_explicit(&t->stamped, t->core->head, memory_order_release);
	if (t->core->head >= atomic_load_explicit(&t->wait_stamped, memory_order_relaxed))
		gate_wake(&t->news);
}

void twin_commits(struct twin *t)
{
	const struct core *c = t->core;
	struct stamped *stamps = t->stamps;
	const struct inflight *ring = c->ring;
	const uint64_t end = c->head, now = c->now, stamps_mask = t->stamps_mask, mask = c->mask;

	__builtin_prefetch(&stamps[(end + AHEAD) & stamps_mask], 1);
	for (uint64_t po = end - c->did.commits; po < end; po++) {
		const uint64_t dispatch = ring[po & mask].fetch; /* as rec.stamps says */

		stamps[po & stamps_mask] =
		    (struct stamped){ .dispatch = dispatch, .commit = (uint32_t)(now - dispatch) };
	}
	if (end - atomic_load_explicit(&t->stamped, memory_order_relaxed) >= BATCH)
		hand_on(t);
}

/* The thread's loop. It runs the twin until the leader has made no more steps, or until the limit
 * is reached and the pipeline empty; then it sleeps. */
static void *run(void *ctx)
{
	struct twin *t = ctx;

	while (!atomic_load(&t->quit)) {
		if (!twin_has_work(t)) {
			gate_sleep(&t->work, twin_has_work, t);
			continue;
		}
		atomic_store(&t->rests_at, 0);
		t->seen_limit = t->core->front.limit = atomic_load(&t->limit);
		if (core_continue(t->core, NEVER) != CORE_RUNNING)
			hand_on(t);
		atomic_store(&t->taken, t->core->front.stream_end);
		atomic_store(&t->rests_at, t->core->front.stream_end);
		gate_wake(&t->news);
	}
	return NULL;
}

static void start(struct twin *t)
{
	sigset_t all, old;

	/* Signals go to the leader's thread. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (pthread_create(&t->thread, NULL, run, t))
		die("cannot start a thread for the twin core");
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* ---- the leader's side ---- */

static void publish(struct twin *t)
{
	atomic_store_explicit(&t->made, t->next, memory_order_release);
}

static bool rests(void *ctx)
{
	const struct twin *t = ctx;

	return atomic_load(&t->rests_at) == t->next;
}

static bool has_taken(void *ctx)
{
	const struct twin *t = ctx;

	return atomic_load(&t->taken) >= atomic_load(&t->wait_taken);
}

static bool has_stamped(void *ctx)
{
	const struct twin *t = ctx;

	return atomic_load(&t->stamped) >= atomic_load(&t->wait_stamped);
}

/* Waits until the twin has come far enough for is_so to be true. */
static void wait_until(struct twin *t, bool (*is_so)(void *ctx))
{
	atomic_store(&t->urgent, true);
	publish(t);
	gate_wake(&t->work);
	while (!is_so(t))
		gate_sleep(&t->news, is_so, t);
	atomic_store(&t->urgent, false);
	atomic_store(&t->wait_taken, NEVER);
	atomic_store(&t->wait_stamped, NEVER);
}

void twin_kernel(struct twin *t)
{
	wait_until(t, rests);
}

static void wait_taken(struct twin *t, uint64_t below)
{
	atomic_store(&t->wait_taken, below);
	wait_until(t, has_taken);
}

static void make_room(struct twin *t)
{
	/* Half of the ring at once: neither thread is woken for a few steps. */
	if (t->next - atomic_load(&t->taken) >= STEPS - 1)
		wait_taken(t, t->next - STEPS / 2);
	t->room = atomic_load(&t->taken) + STEPS - 1;
}

/* The place of the next write; the twin needs what is there no more. */
static struct write *write_place(struct twin *t)
{
	struct write *w = &t->writes[t->nwrites & (WRITES - 1)];

	/* Steps below room - (STEPS - 1) have been taken. */
	if (unlikely(w->po + STEPS - 1 >= t->room && t->nwrites >= WRITES)) {
		if (w->po >= atomic_load(&t->taken))
			wait_taken(t, t->writes[(t->nwrites + WRITES / 2) & (WRITES - 1)].po + 1);
		t->room = atomic_load(&t->taken) + STEPS - 1;
	}
	return w;
}

/* Puts write w, whose name is given, at the front of a granule's chain. */
static void link_granule(struct twin *t, struct write *w, uint64_t name, unsigned which,
			 uint64_t granule)
{
	_Atomic uint64_t *last = &t->last[hash_of(granule)];

	w->before[which] = atomic_load_explicit(last, memory_order_relaxed);
	atomic_store_explicit(last, name, memory_order_release);
}

static void keep_old(struct twin *t, const struct core *c, const struct uop *u)
{
	const struct hart *h = c->front.hart;
	const uint64_t addr =
	    h->x[u->in.rs1] + (u->flags & UOP_ATOMIC ? 0 : (uint64_t)(int64_t)u->in.imm);
	const uint64_t first = addr / GRANULE, last = (addr + u->mem_bytes - 1) / GRANULE;
	struct write *w = write_place(t);
	const uint64_t name = t->next << WRITE_SHIFT | (t->nwrites++ & (WRITES - 1));

	w->po = t->next;
	w->addr = addr;
	w->old = guest_peek(c->guest, addr, u->mem_bytes);
	w->bytes = u->mem_bytes;
	w->before[1] = 0;
	link_granule(t, w, name, 0, first);
	/* If both granules have the same chain, one link is enough. */
	if (last != first && hash_of(last) != hash_of(first))
		link_granule(t, w, name, 1, last);
	/* The record comes before the guest's write: pairs with the fence in undo(). */
	atomic_thread_fence(memory_order_release);
}

const struct uop *twin_before(struct twin *t, struct core *c, uint64_t pc)
{
	const struct uop *u = uop_get(c, pc, NULL);

	if (unlikely(t->next >= t->room))
		make_room(t);
	if (u && u->flags & UOP_STORE)
		keep_old(t, c, u);
	return u;
}

void twin_after(struct twin *t, const struct core *c, const struct guest_step *gs,
		const struct uop *u, uint64_t value, bool touch)
{
	struct twin_step *s = step_at(t, t->next);
	const struct hart *h = c->front.hart;

	__builtin_prefetch(step_at(t, t->next + AHEAD), 1);
	*s = (struct twin_step){
		.next_pc = gs->next_pc,
		.addr = gs->addr,
		.value = value,
		.word = u->in.word,
		.flags = (uint8_t)gs->flags,
		.more = (uint8_t)((gs->inst ? 0 : TWIN_MISSING) | (touch ? TWIN_TOUCH : 0)),
		/* After a trap the twin takes all registers, and the thread may have ended. */
		.fcsr = gs->flags & STEP_TRAPS ? 0 : (uint8_t)(h->fflags | h->frm << 5),
	};
	if (unlikely(u->flags & (UOP_ATOMIC | UOP_CODE))) {
		s->more |= u->flags & UOP_ATOMIC ? TWIN_ATOMIC : TWIN_CODE;
		if (u->flags & UOP_ATOMIC)
			t->reserved[t->next & (STEPS - 1)] =
			    (struct reserved){ h->lr_addr, h->lr_value };
		else
			s->value = guest_code_version(c->guest);
	}
	if (unlikely(gs->flags & STEP_TRAPS)) {
		t->trapped = *guest_hart(c->guest); /* perhaps of another thread */
		t->trapped_version = guest_code_version(c->guest);
	}
	t->next++;
	if (t->next % PIECE == 0) {
		publish(t);
		if (t->next - atomic_load_explicit(&t->taken, memory_order_relaxed) >= STEPS / 4)
			gate_wake(&t->work);
	}
}

/* Sets the twin's limit, and lets it work until it rests again. */
static void set_limit(struct twin *t, uint64_t limit)
{
	if (atomic_load(&t->limit) == limit)
		return;
	wait_until(t, rests);
	atomic_store(&t->rests_at, 0);
	atomic_store(&t->limit, limit);
	wait_until(t, rests);
}

void twin_drain(struct twin *t)
{
	set_limit(t, t->next);
}

void twin_resume(struct twin *t)
{
	set_limit(t, NEVER);
}

/* The twin's core goes on where the guest is. */
static void attach(struct twin *t)
{
	const struct guest *g = t->leader->guest;

	t->hart = *guest_hart(g);
	t->code_version = guest_code_version(g);
	core_attach(t->core);
	t->core->front.hold = 0; /* at which it asks whether there is a step */
}

void twin_attach(struct twin *t)
{
	wait_until(t, rests);
	attach(t);
}

struct core *twin_core(struct twin *t)
{
	return t->core;
}

/* How many instructions the twin may hold back: the leader's lead, its own window, a batch. */
static uint64_t held_back(const struct twin *t)
{
	return (uint64_t)t->core->mask + 1 + BATCH + STEPS;
}

/* Writes the records of n instructions from po on. */
static void hand_over(const struct twin *t, uint64_t po, struct rec_twin *r, size_t n)
{
	const struct stamped *stamps = t->stamps;
	const uint64_t mask = t->stamps_mask;

	for (const struct rec_twin *end = r + n; r < end; r++, po++) {
		const struct stamped *s = &stamps[po & mask];

		__builtin_prefetch(&stamps[(po + AHEAD_MANY) & mask], 0);
		*r = (struct rec_twin){ .po = po, .dispatch = s->dispatch, .commit = s->commit };
	}
}

/*
 * Instructions further behind than that have their stamps, so nobody waits, and which they are
 * depends on the steps alone.
 */
void twin_deliver(struct twin *t, struct emit *emit, struct rec_cycle **begun, bool all)
{
	const uint64_t held = held_back(t);
	const uint64_t below = all ? t->leader->head : t->next > held ? t->next - held : 0;

	if (below <= t->delivered)
		return;
	if (atomic_load_explicit(&t->stamped, memory_order_acquire) < below) {
		atomic_store(&t->wait_stamped, below);
		wait_until(t, has_stamped);
	}
	for (uint64_t po = t->delivered; po < below && emit;) {
		size_t n;
		struct rec_twin *r = emit_twins(emit, below - po, begun, &n);

		hand_over(t, po, r, n);
		po += n;
	}
	t->delivered = below;
}

/* ---- the twin's side ---- */

bool twin_has_step(struct twin *t)
{
	const uint64_t made = atomic_load_explicit(&t->made, memory_order_acquire);

	t->core->front.hold = made; /* it asks again there */
	return t->core->front.stream_end < made;
}

const struct twin_step *twin_step(struct twin *t, uint64_t *pc)
{
	const uint64_t po = t->core->front.stream_end;
	const struct twin_step *s = step_at(t, po);
	struct hart *h = &t->hart;

	__builtin_prefetch(step_at(t, po + AHEAD), 0);
	*pc = h->pc;
	if (unlikely(s->flags & STEP_TRAPS)) {
		*h = t->trapped;
		t->code_version = t->trapped_version;
	} else {
		h->pc = s->next_pc;
		h->fflags = s->fcsr & 31;
		h->frm = s->fcsr >> 5;
		if (unlikely(s->more & (TWIN_ATOMIC | TWIN_CODE))) {
			const struct reserved *r = &t->reserved[po & (STEPS - 1)];

			if (s->more & TWIN_ATOMIC) {
				h->lr_addr = r->addr;
				h->lr_value = r->value;
			} else {
				t->code_version = s->value;
			}
		}
	}
	if (po % PIECE == 0) {
		atomic_store_explicit(&t->taken, po, memory_order_release);
		if (po >= atomic_load_explicit(&t->wait_taken, memory_order_relaxed))
			gate_wake(&t->news);
	}
	return s;
}

static inline uint64_t low_bytes(unsigned n)
{
	return n >= 8 ? ~0ull : (1ull << 8 * n) - 1;
}

/* Puts back what w overwrote of the bytes in mask; value is the memory from addr on. */
static inline uint64_t put_back(uint64_t value, const struct write *w, uint64_t mask, uint64_t addr)
{
	const uint64_t above = w->addr - addr, below = addr - w->addr;

	if (above < 8) {
		mask &= low_bytes(w->bytes) << 8 * above;
		return (value & ~mask) | (w->old << 8 * above & mask);
	}
	if (below < w->bytes) {
		mask &= low_bytes(w->bytes) >> 8 * below;
		return (value & ~mask) | (w->old >> 8 * below & mask);
	}
	return value;
}

/* Turns what memory holds at addr now into what it held after the last step that the twin took. It
 * goes back through the steps since then, so the oldest is applied last. Each granule's chain has
 * all writes to it, so each puts back that granule's bytes alone. */
static uint64_t undo(const struct twin *t, uint64_t value, uint64_t addr, unsigned size)
{
	const uint64_t from = t->core->front.stream_end;

	/* Memory was read before this: pairs with the fence in keep_old(). */
	atomic_thread_fence(memory_order_acquire);
	for (uint64_t g = addr / GRANULE; g <= (addr + size - 1) / GRANULE; g++) {
		const uint32_t h = hash_of(g);
		const uint64_t first = g * GRANULE;
		const uint64_t mask =
		    low_bytes(size) &
		    (first >= addr ? ~0ull << 8 * (first - addr)
				   : low_bytes((unsigned)(first + GRANULE - addr)));
		uint64_t name = atomic_load_explicit(&t->last[h], memory_order_acquire);

		while (name >> WRITE_SHIFT >= from) {
			const struct write *w = &t->writes[name & (WRITES - 1)];

			value = put_back(value, w, mask, addr);
			name = w->before[hash_of(w->addr / GRANULE) != h];
		}
	}
	return value;
}

uint64_t twin_peek(const struct twin *t, uint64_t addr, unsigned size_bytes)
{
	uint64_t value = guest_peek(t->core->guest, addr, size_bytes);

	return undo(t, value, addr, size_bytes);
}

const struct inst *twin_fetch(struct twin *t, uint64_t pc)
{
	uint32_t word;
	unsigned bytes = guest_code(t->core->guest, pc, &word);

	if (!bytes)
		return NULL;
	t->fetched = isa_decode((uint32_t)undo(t, word, pc, bytes));
	return &t->fetched;
}

const struct hart *twin_hart(const struct twin *t)
{
	return &t->hart;
}

uint64_t twin_code_version(const struct twin *t)
{
	return t->code_version;
}

/* ---- life ---- */

static void on_kernel(void *ctx)
{
	twin_kernel(ctx);
}

struct twin *twin_new(struct core *c)
{
	struct twin *t = x_aligned(sizeof(*t));
	struct machine config = c->cfg;

	memset(t, 0, sizeof(*t));
	t->leader = c;
	t->ring = x_aligned(STEPS * sizeof(*t->ring));
	t->writes = x_calloc(WRITES, sizeof(*t->writes));
	t->reserved = x_calloc(STEPS, sizeof(*t->reserved));
	t->last = x_calloc(HASH, sizeof(*t->last));
	t->next = c->front.stream_end;
	t->delivered = t->next;
	t->made = t->taken = t->stamped = t->rests_at = t->next;
	t->wait_taken = t->wait_stamped = NEVER;
	t->limit = t->seen_limit = t->next;
	t->room = t->next + STEPS - 1;
	gate_init(&t->work);
	gate_init(&t->news);
	config.ideal_all |= PERFECT;
	config.page_faults = false; /* the leader's steps say where they are */
	/* Cannot fail: a valid configuration is valid with perfect caches, too. */
	t->core = core_new(&config, c->guest, NULL, NULL);
	assert(t->core);
	memsys_perfect(t->core->mem);
	t->core->head = t->core->disp = t->core->tail = t->core->front.buffered =
	    t->core->front.stream_end = t->core->win.issue_po = t->next;
	t->core->twin.follows = t;
	t->core->rec.stamps = t->core->rec.insts = true; /* for twin_commits() */
	t->stamps_mask = 64;
	while (t->stamps_mask < held_back(t) + 2 * TWIN_STRETCH)
		t->stamps_mask *= 2;
	t->stamps = x_calloc(t->stamps_mask--, sizeof(*t->stamps));
	attach(t);
	t->core->front.limit = t->limit;
	guest_on_kernel(c->guest, on_kernel, t);
	start(t);
	return t;
}

void twin_free(struct twin *t)
{
	if (!t)
		return;
	guest_on_kernel(t->leader->guest, NULL, NULL);
	atomic_store(&t->quit, true);
	gate_wake(&t->work);
	pthread_join(t->thread, NULL);
	core_free(t->core);
	free(t->ring);
	free((void *)t->last);
	free(t->stamps);
	free(t->writes);
	free(t->reserved);
	gate_free(&t->work);
	gate_free(&t->news);
	free(t);
}

void twin_forked(struct twin *t)
{
	gate_init(&t->work);
	gate_init(&t->news);
	start(t);
}

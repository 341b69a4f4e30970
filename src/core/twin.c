/* SPDX-License-Identifier: MIT */
/*
 * The twin of a core (see twin.h): the steps that the leader records, the memory that the twin
 * sees, the thread that it runs on, and its stamps on their way to the listeners.
 *
 * Steps are in a ring and are published in pieces: waking a thread for each would cost more than
 * the step. Old contents of memory are found by address: each slot of a hash table names the last
 * step that wrote to one of its granules, and each step names the one before it in that chain. Old
 * contents are published before the guest writes, so a reader that sees the new contents also sees
 * the old ones.
 */
#include "core/twin.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/pipe.h"
#include "trace/gate.h"
#include "util/array.h"

#define STEPS	16384 /* a power of two: how far ahead the leader can be */
#define PIECE	64    /* steps that are published together */
#define HASH	4096  /* a power of two */
#define GRANULE 8     /* bytes; a store touches at most two */
#define BATCH	256   /* instructions whose stamps are handed on together */
#define PERFECT (IDEAL_DMISS | IDEAL_IMISS | IDEAL_DTLB | IDEAL_ITLB)

/* A step of the guest, and what it was about to overwrite. */
struct made {
	uint64_t pc, next_pc, addr;
	uint64_t value;	       /* of its destination, after it */
	uint64_t code_version; /* after it */
	uint64_t old;	       /* contents of old_addr before it */
	uint64_t old_addr;
	uint64_t before[2];	    /* the steps before it in the chains of its granules */
	uint64_t lr_addr, lr_value; /* the reservation after it */
	struct inst inst;
	uint32_t flags; /* enum guest_step_flag */
	uint32_t tid;
	uint8_t old_bytes; /* 0: it does not write */
	uint8_t dst;	   /* 0: none */
	uint8_t fflags, frm;
	bool missing; /* there was no instruction at pc */
};

struct twin {
	struct core *leader, *core;

	/* Written by the leader. */
	struct made *ring;
	_Atomic uint64_t *last; /* by hash of the granule: the last step that wrote to it */
	uint64_t next;		/* po of the next step to be made */
	uint64_t room;		/* steps below this fit in the ring, by the last look at `taken` */
	struct hart trapped;	/* registers after the last entry into the kernel */
	_Atomic uint64_t made;	/* steps below this are published */
	_Atomic uint64_t limit; /* the twin's fetch_limit */
	_Atomic bool urgent;	/* the leader waits: wake the twin even for a single step */
	_Atomic bool quit;

	/* Written by the twin. */
	_Alignas(64) _Atomic uint64_t taken; /* steps below this have been taken */
	_Atomic uint64_t rests_at; /* the twin sleeps until this step is there; 0: it is at work */
	uint64_t seen_limit;
	struct hart hart;
	uint64_t code_version;
	struct inst fetched;

	/* Stamps, from the twin to the leader. */
	pthread_mutex_t lock;
	struct rec_twin *stamps; /* not delivered yet */
	size_t nstamps, capacity;
	_Atomic uint64_t stamped; /* instructions below this have their stamps */
	struct rec_twin batch[BATCH + IDEAL_BW_WIDTH]; /* not handed on yet */
	size_t nbatch;
	uint64_t *dispatched; /* by slot: cycle of dispatch */

	struct gate work; /* the twin sleeps here */
	struct gate news; /* the leader sleeps here */
	pthread_t thread;
};

static inline struct made *step_at(const struct twin *t, uint64_t po)
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

/* Hands the stamps of the batch to the leader. */
static void hand_on(struct twin *t)
{
	pthread_mutex_lock(&t->lock);
	ARRAY_ROOM(t->stamps, t->capacity, t->nstamps + t->nbatch);
	memcpy(t->stamps + t->nstamps, t->batch, t->nbatch * sizeof(*t->batch));
	t->nstamps += t->nbatch;
	pthread_mutex_unlock(&t->lock);
	t->nbatch = 0;
	atomic_store(&t->stamped, t->core->head);
	gate_wake(&t->news);
}

void twin_commits(struct twin *t)
{
	const struct core *c = t->core;

	for (uint64_t po = c->head - c->did.commits; po < c->head; po++) {
		const uint64_t dispatch = t->dispatched[slot_of(c, po)];

		t->batch[t->nbatch++] = (struct rec_twin){
			.po = po, .dispatch = dispatch, .commit = (uint32_t)(c->now - dispatch)
		};
	}
	if (t->nbatch >= BATCH)
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
	gate_wake(&t->work);
}

static bool rests(void *ctx)
{
	const struct twin *t = ctx;

	return atomic_load(&t->rests_at) == t->next;
}

static bool has_room(void *ctx)
{
	const struct twin *t = ctx;

	return t->next - atomic_load(&t->taken) <= STEPS / 2;
}

/* Waits until the twin has come far enough for is_so to be true. */
static void wait_until(struct twin *t, bool (*is_so)(void *ctx), void *ctx)
{
	atomic_store(&t->urgent, true);
	publish(t);
	while (!is_so(ctx))
		gate_sleep(&t->news, is_so, ctx);
	atomic_store(&t->urgent, false);
}

void twin_kernel(struct twin *t)
{
	wait_until(t, rests, t);
}

static void make_room(struct twin *t)
{
	if (t->next - atomic_load(&t->taken) >= STEPS - 1)
		wait_until(t, has_room, t);
	t->room = atomic_load(&t->taken) + STEPS - 1;
}

/* Puts a step that is about to write to a granule at the front of the granule's chain. */
static void link_granule(struct twin *t, struct made *m, unsigned which, uint64_t granule)
{
	_Atomic uint64_t *last = &t->last[hash_of(granule)];

	m->before[which] = atomic_load_explicit(last, memory_order_relaxed);
	atomic_store_explicit(last, t->next, memory_order_release);
}

void twin_before(struct twin *t, struct core *c)
{
	struct made *m;
	const struct hart *h = guest_hart(c->guest);
	const struct uop *u = uop_get(c, h->pc, NULL);

	if (unlikely(t->next >= t->room))
		make_room(t);
	m = step_at(t, t->next);
	m->old_bytes = 0;
	if (!u || !(u->flags & UOP_STORE))
		return;
	m->old_addr = h->x[u->in.rs1] + (u->flags & UOP_ATOMIC ? 0 : (uint64_t)(int64_t)u->in.imm);
	m->old = guest_peek(c->guest, m->old_addr, u->mem_bytes);
	m->old_bytes = (uint8_t)u->mem_bytes;

	uint64_t first = m->old_addr / GRANULE, last = (m->old_addr + u->mem_bytes - 1) / GRANULE;

	m->before[1] = 0;
	link_granule(t, m, 0, first);
	/* If both granules have the same chain, one link is enough. */
	if (last != first && hash_of(last) != hash_of(first))
		link_granule(t, m, 1, last);
	/* The record comes before the guest's write: pairs with the fence in twin_peek. */
	atomic_thread_fence(memory_order_release);
}

void twin_after(struct twin *t, const struct core *c, const struct guest_step *gs, unsigned dst)
{
	struct made *m = step_at(t, t->next);
	const struct hart *h = guest_hart(c->guest);

	m->pc = gs->pc;
	m->next_pc = gs->next_pc;
	m->addr = gs->addr;
	m->flags = gs->flags;
	m->tid = gs->tid;
	m->missing = !gs->inst;
	if (gs->inst)
		m->inst = *gs->inst;
	m->dst = (uint8_t)dst;
	m->value = dst < 32 ? h->x[dst] : h->f[dst - 32];
	m->fflags = (uint8_t)h->fflags;
	m->frm = (uint8_t)h->frm;
	m->lr_addr = h->lr_addr;
	m->lr_value = h->lr_value;
	m->code_version = guest_code_version(c->guest);
	if (unlikely(gs->flags & STEP_TRAPS))
		t->trapped = *h;
	t->next++;
	if (t->next % PIECE == 0)
		publish(t);
}

/* Sets the twin's limit, and lets it work until it rests again. */
static void set_limit(struct twin *t, uint64_t limit)
{
	if (atomic_load(&t->limit) == limit)
		return;
	wait_until(t, rests, t);
	atomic_store(&t->rests_at, 0);
	atomic_store(&t->limit, limit);
	wait_until(t, rests, t);
}

void twin_drain(struct twin *t)
{
	set_limit(t, t->next);
}

void twin_resume(struct twin *t)
{
	set_limit(t, NEVER);
}

static void begin_at_guest(struct twin *t)
{
	const struct guest *g = t->leader->guest;

	t->hart = *guest_hart(g);
	t->code_version = guest_code_version(g);
}

void twin_attach(struct twin *t)
{
	wait_until(t, rests, t);
	begin_at_guest(t);
	core_attach(t->core);
}

struct core *twin_core(struct twin *t)
{
	return t->core;
}

struct wait_stamps {
	const struct twin *t;
	uint64_t below;
};

static bool are_stamped(void *ctx)
{
	const struct wait_stamps *w = ctx;

	return atomic_load(&w->t->stamped) >= w->below;
}

/*
 * The twin is at most STEPS behind, and holds back less than its window and a batch of stamps. The
 * stamps below that are there, so nobody waits, and which they are depends on the steps alone.
 */
void twin_deliver(struct twin *t, struct emit *emit, struct rec_cycle **begun, bool all)
{
	const uint64_t held = (uint64_t)t->core->mask + 1 + BATCH + STEPS;
	struct wait_stamps w = { t, all ? t->next : t->next > held ? t->next - held : 0 };
	size_t n = 0;

	if (w.below > 1)
		wait_until(t, are_stamped, &w);
	pthread_mutex_lock(&t->lock);
	while (n < t->nstamps && t->stamps[n].po < w.below)
		n++;
	for (size_t i = 0; i < n && emit; i++)
		*emit_twin(emit, begun) = t->stamps[i];
	t->nstamps -= n;
	if (t->nstamps)
		memmove(t->stamps, t->stamps + n, t->nstamps * sizeof(*t->stamps));
	pthread_mutex_unlock(&t->lock);
}

/* ---- the twin's side ---- */

bool twin_has_step(struct twin *t)
{
	return t->core->front.stream_end < atomic_load_explicit(&t->made, memory_order_acquire);
}

void twin_step(struct twin *t, struct guest_step *gs)
{
	const uint64_t po = t->core->front.stream_end;
	const struct made *m = step_at(t, po);
	struct hart *h = &t->hart;

	*gs = (struct guest_step){
		.pc = m->pc,
		.next_pc = m->next_pc,
		.inst = m->missing ? NULL : &m->inst,
		.addr = m->addr,
		.flags = m->flags,
		.tid = m->tid,
	};
	t->code_version = m->code_version;
	if (unlikely(m->flags & STEP_TRAPS)) {
		*h = t->trapped;
	} else {
		if (m->dst >= 32)
			h->f[m->dst - 32] = m->value;
		else if (m->dst)
			h->x[m->dst] = m->value;
		h->fflags = m->fflags;
		h->frm = m->frm;
		h->pc = m->next_pc;
		h->lr_addr = m->lr_addr;
		h->lr_value = m->lr_value;
	}
	if (po % PIECE == 0) {
		atomic_store_explicit(&t->taken, po, memory_order_release);
		gate_wake(&t->news);
	}
}

/* Puts back what step m overwrote of a granule; value is the memory from addr on. */
static uint64_t put_back(uint64_t value, const struct made *m, uint64_t granule, uint64_t addr,
			 unsigned size)
{
	for (unsigned k = 0; k < m->old_bytes; k++) {
		const uint64_t a = m->old_addr + k;
		const unsigned shift = 8 * (unsigned)(a - addr);

		if (a / GRANULE == granule && a - addr < size)
			value = (value & ~(0xffull << shift)) | (m->old >> 8 * k & 0xff) << shift;
	}
	return value;
}

/* Turns what memory holds at addr now into what it held after the last step that the twin took. It
 * goes back through the steps since then, so the oldest is applied last. */
static uint64_t undo(const struct twin *t, uint64_t value, uint64_t addr, unsigned size)
{
	const uint64_t from = t->core->front.stream_end;

	/* Memory was read before this: pairs with the fence in twin_before. */
	atomic_thread_fence(memory_order_acquire);
	for (uint64_t g = addr / GRANULE; g <= (addr + size - 1) / GRANULE; g++) {
		const uint32_t h = hash_of(g);
		uint64_t po = atomic_load_explicit(&t->last[h], memory_order_acquire);

		while (po >= from) {
			const struct made *m = step_at(t, po);

			value = put_back(value, m, g, addr, size);
			po = m->before[hash_of(m->old_addr / GRANULE) != h];
		}
	}
	return value;
}

uint64_t twin_peek(const struct twin *t, uint64_t addr, unsigned size_bytes)
{
	uint64_t value = guest_peek(t->leader->guest, addr, size_bytes);

	return undo(t, value, addr, size_bytes);
}

const struct inst *twin_fetch(struct twin *t, uint64_t pc)
{
	uint32_t word;
	unsigned bytes = guest_code(t->leader->guest, pc, &word);

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
	struct twin *t = x_aligned((sizeof(*t) + 63) & ~(size_t)63);
	struct machine config = c->cfg;

	memset(t, 0, sizeof(*t));
	t->leader = c;
	t->ring = x_aligned(STEPS * sizeof(*t->ring));
	t->last = x_calloc(HASH, sizeof(*t->last));
	t->next = c->front.stream_end;
	t->made = t->taken = t->stamped = t->rests_at = t->next;
	t->limit = t->seen_limit = t->next;
	t->room = t->next + STEPS - 1;
	pthread_mutex_init(&t->lock, NULL);
	gate_init(&t->work);
	gate_init(&t->news);
	config.ideal_all |= PERFECT;
	config.page_faults = false; /* the leader's steps say where they are */
	/* Cannot fail: a valid configuration is valid with perfect caches, too. */
	t->core = core_new(&config, c->guest, NULL, NULL);
	assert(t->core);
	t->core->head = t->core->disp = t->core->tail = t->core->front.buffered =
	    t->core->front.stream_end = t->core->win.issue_po = t->next;
	t->core->twin.follows = t;
	t->dispatched = x_calloc((size_t)t->core->mask + 1, sizeof(*t->dispatched));
	t->core->twin.dispatched = t->dispatched;
	begin_at_guest(t);
	core_attach(t->core);
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
	free(t->dispatched);
	free(t->ring);
	free((void *)t->last);
	free(t->stamps);
	pthread_mutex_destroy(&t->lock);
	gate_free(&t->work);
	gate_free(&t->news);
	free(t);
}

void twin_forked(struct twin *t)
{
	gate_init(&t->work);
	gate_init(&t->news);
	pthread_mutex_init(&t->lock, NULL);
	start(t);
}

/* SPDX-License-Identifier: MIT */
/*
 * The core as a whole: building it from a machine, the cycle loop, and what it tells about itself.
 *
 * A cycle runs the stages from the back (see pipe.h). If no stage has done anything, nothing can
 * happen until the next event, and the clock goes straight there; the cycles between are the repeat
 * of one record. Every reason for which a stage may wait has a time, or is ended by an event of
 * another stage.
 */
#include "core/pipe.h"

#include <stdlib.h>

#include "machine/units.h"

#define NO_PROGRESS_CYCLES 20000000ull /* without a commit: something is wrong */

static uint32_t times(uint32_t x, uint32_t factor)
{
	return x > UINT32_MAX / factor ? UINT32_MAX : x * factor;
}

static uint32_t power_of_two_above(uint64_t x)
{
	uint32_t p = 64;

	while (p < x)
		p *= 2;
	return p;
}

/* Sets sizes and widths; what is idealised for the whole run changes them. */
static void set_sizes(struct core *c)
{
	const struct machine *cfg = &c->cfg;
	uint32_t factor = c->ideal & IDEAL_WIN ? IDEAL_WIN_FACTOR : 1;
	bool bw = c->ideal & IDEAL_BW;

	c->win.rob_size = times(cfg->rob, factor);
	c->lsu.lq_size = times(cfg->load_queue, factor);
	c->lsu.sq_size = times(cfg->store_queue, c->ideal & IDEAL_SQ ? IDEAL_WIN_FACTOR : factor);
	c->lsu.shared_size = cfg->shared_queue ? times(cfg->shared_queue, factor) : UINT32_MAX;
	c->win.int_size = times(cfg->int_regs - 32, factor);
	c->win.fp_size = times(cfg->fp_regs - 32, factor);
	c->win.branches_size = times(cfg->branches, factor);
	c->front.packets_size = times(cfg->fetch_targets, factor);
	if (cfg->unified) {
		c->win.iq_size[0] = times(cfg->unified_queue, factor);
		c->win.iq_width[0] = cfg->issue_width;
	} else {
		c->win.iq_size[0] = times(cfg->int_queue, factor);
		c->win.iq_size[1] = times(cfg->mem_queue, factor);
		c->win.iq_size[2] = times(cfg->fp_queue, factor);
		c->win.iq_width[0] = cfg->int_issue;
		c->win.iq_width[1] = cfg->mem_issue;
		c->win.iq_width[2] = cfg->fp_issue;
	}
	c->front.width = cfg->fetch_width;
	c->front.taken_max = cfg->fetch_taken;
	c->front.block_mask = cfg->fetch_block_bytes - 1;
	c->front.line_mask = ~(uint64_t)(machine_line_bytes(&cfg->mem, MEM_L1I) - 1);
	c->front.buffer = cfg->fetch_buffer;
	c->win.dispatch_width = cfg->dispatch_width && cfg->dispatch_width < cfg->decode_width
				    ? cfg->dispatch_width
				    : cfg->decode_width;
	c->win.issue_width = cfg->issue_width;
	c->win.commit_width = cfg->commit_width;
	c->win.group_mask = cfg->issue_group ? ~(uint64_t)(cfg->issue_group - 1) : 0;
	c->win.load_after_store = cfg->load_after_store;
	c->lsu.store_ports = cfg->store_ports;
	if (bw || c->ideal & IDEAL_COMMIT_BW)
		c->win.commit_width = IDEAL_BW_WIDTH;
	if (bw || c->ideal & IDEAL_FETCH_BW) {
		c->front.width = c->win.dispatch_width = IDEAL_BW_WIDTH;
		c->front.taken_max = IDEAL_BW_WIDTH;
		c->front.through = true;
		c->front.buffer =
		    cfg->fetch_buffer < 2 * IDEAL_BW_WIDTH ? 2 * IDEAL_BW_WIDTH : cfg->fetch_buffer;
		c->front.packets_size = UINT32_MAX;
	}
	if (bw)
		c->lsu.store_ports = IDEAL_BW_WIDTH;
	if (bw || c->ideal & IDEAL_ISSUE_BW) {
		c->win.group_mask = 0;
		c->win.load_after_store = 0;
		c->win.issue_width = UINT32_MAX;
		for (unsigned q = 0; q < QUEUES; q++)
			c->win.iq_width[q] = UINT32_MAX;
	}
	c->front.depth = cfg->fetch_depth + cfg->decode_depth;
	c->front.decode_stages = cfg->decode_depth * c->win.dispatch_width;
	for (unsigned i = 0; i < UNIT_COUNT; i++) {
		c->win.unit_count[i] = (uint8_t)cfg->unit[i].count;
		c->win.unit_pipelined[i] = units_pipelined(cfg, i);
	}
}

static void allocate(struct core *c)
{
	/* Everything that can be in flight, and committed instructions that still have to wake
	 * others. */
	uint64_t need = (uint64_t)c->win.rob_size + c->front.buffer + c->front.decode_stages +
			(uint64_t)c->front.width * (c->cfg.fetch_depth + 1 + 2 * c->cfg.wakeup);
	uint32_t size = power_of_two_above(need);

	assert(size <= RING_MAX);

	c->mask = size - 1;
	c->ring = aligned_alloc(64, size * sizeof(*c->ring));
	if (!c->ring)
		die("out of memory");
	memset(c->ring, 0, size * sizeof(*c->ring));
	c->lsu.memops = x_calloc(size, sizeof(*c->lsu.memops));
	c->front.steps = x_calloc(size, sizeof(*c->front.steps));
	c->front.preds = x_calloc(size, sizeof(*c->front.preds));
	c->front.overlay = x_calloc((size_t)size + 1, sizeof(*c->front.overlay));
	for (unsigned q = 0; q < QUEUES; q++)
		c->win.ready[q] = x_calloc(size / 64, sizeof(uint64_t));
	c->win.slot_kind = x_calloc(size, 1);
	c->lsu.retry = x_calloc(size / 64, sizeof(uint64_t));
	c->lsu.order_wait = x_calloc(size / 64, sizeof(uint64_t));

	/* An idealised store may exceed sq_size; the ring of stores is then the limit. */
	uint32_t stores = power_of_two_above(
	    (uint64_t)c->lsu.sq_size * (c->cfg.nideal_pcs ? IDEAL_WIN_FACTOR : 1) + 1);
	c->lsu.sq_mask = stores - 1;
	c->lsu.stores = x_calloc(stores, sizeof(*c->lsu.stores));
	if (c->cfg.wait_entries)
		c->lsu.wait_table = x_calloc(c->cfg.wait_entries, 1);
	if (c->cfg.page_faults)
		c->lsu.touched = guest_touched(c->guest);
	for (uint32_t i = 0; i < size; i++)
		c->ring[i].dep_head = SLOT_NONE;
}

/* The memory system has answered a request that was pending. */
static void memory_done(void *ctx, uint64_t token, const struct mem_result *r)
{
	struct core *c = ctx;

	switch (token & TOKEN_KIND) {
	case TOKEN_LOAD:
		lsu_load_done(c, token, r);
		break;
	case TOKEN_STORE:
		lsu_store_done(c, token & ~TOKEN_KIND);
		break;
	case TOKEN_FETCH:
		fetch_done(c, token, r);
		break;
	default: /* TOKEN_HINT, TOKEN_AHEAD: nobody waits */
		break;
	}
}

/* L1 caches (bits by enum mem_cache) that refused a request take one again. */
static void memory_wake(void *ctx, uint32_t caches)
{
	if (caches & 1u << MEM_L1D)
		lsu_wake(ctx);
	if (caches & 1u << MEM_L1I)
		fetch_wake(ctx);
}

static void memory_asker(void *ctx, uint64_t token, struct mem_asker *who)
{
	if ((token & TOKEN_KIND) == TOKEN_FETCH)
		fetch_asker(ctx, who);
	else if (token == TOKEN_AHEAD)
		ahead_asker(ctx, who);
	else
		lsu_asker(ctx, token, who);
}

static void memory_miss(void *ctx, const struct rec_miss *m)
{
	record_miss(ctx, m);
}

struct core *core_new(const struct machine *config, struct guest *g, struct emit *emit,
		      struct err *e)
{
	if (!machine_check(config, e))
		return NULL;

	struct core *c = aligned_alloc(64, (sizeof(*c) + 63) & ~(size_t)63);

	if (!c)
		die("out of memory");
	memset(c, 0, sizeof(*c));
	c->cfg = *config;
	c->ideal = config->ideal_all;
	c->guest = g;
	c->win.in_order = config->model == MODEL_INORDER;
	c->lsu.order = (uint8_t)config->order;
	if (c->ideal & IDEAL_FLUSH)
		c->lsu.order = ORDER_PERFECT;
	set_sizes(c);
	allocate(c);

	struct memsys_callbacks callbacks = { .ctx = c,
					      .done = memory_done,
					      .wake = memory_wake,
					      .asker = memory_asker,
					      .miss = memory_miss };

	struct memsys_config memory = config->mem;

	/* A write buffer is a queue of stores: idealised with the others. */
	if (c->ideal & (IDEAL_SQ | IDEAL_WIN | IDEAL_BW))
		memory.cache[MEM_L1D].write_buffer = 0;
	c->lsu.buffered = memory.cache[MEM_L1D].write_buffer;
	c->mem = memsys_new(&memory, &callbacks);

	struct bpred_config bp = config->bpred;

	bp.inflight = c->mask + 1;
	c->bpred = bpred_new(&bp);
	/* A perfect I-cache need not be asked for anything. */
	if (config->fetch_ahead && !(c->ideal & IDEAL_IMISS))
		c->front.ahead = ahead_new(c->bpred, config->fetch_ahead);
	c->front.uops = uop_table_new();
	c->front.uop_page_number = ~0ull;

	uint32_t latency[LEVEL_MEM + 1];

	memsys_latencies(c->mem, true, latency);
	c->front.l1i_latency = latency[LEVEL_L1];
	c->head = c->disp = c->tail = c->front.buffered = c->front.stream_end = 1;
	c->win.issue_po = 1;
	c->target = c->front.hold = NEVER;
	c->front.seq = 1;
	c->now = 1;
	c->front.counts_guest = guest_clocks_insts(g);
	c->lsu.sq_head = c->lsu.sq_commit = c->lsu.sq_tail = c->lsu.sq_next = c->lsu.sq_known = 1;
	c->lsu.retry_time = NEVER;
	c->lsu.wait_clear = config->wait_clear;
	for (unsigned i = 0; i < WHEEL_SIZE; i++)
		c->win.wheel[i] = SLOT_NONE;
	core_listen(c, emit);
	core_attach(c);
	return c;
}

void core_hits(struct core *c, const struct hit *hits, size_t count)
{
	memsys_hits(c->mem, hits, count);
}

void core_unknown(struct core *c, enum mem_unknown unknown)
{
	if (unknown == UNKNOWN_HIT && !c->seen)
		c->seen = x_calloc(SEEN_BITS / 64, sizeof(*c->seen));
	memsys_unknown(c->mem, unknown);
}

void core_listen(struct core *c, struct emit *emit)
{
	assert(c->head == c->tail);
	c->rec.emit = emit;
	c->rec.wants = emit ? emit->wants : 0;
	if (c->rec.wants & WANT_TWIN && !c->twin.leads)
		c->twin.leads = twin_new(c);
	memsys_listen(c->mem, c->rec.wants & WANT_MISSES);
	c->rec.insts = !(c->rec.wants & WANT_EMPTY) && c->rec.wants & WANT_INSTS;
	c->rec.counts = c->rec.wants & (WANT_LESS & ~WANT_BRIEF);
	c->rec.cycles = !c->rec.counts && c->rec.wants & WANT_CYCLES;
	free(c->rec.all_notes);
	free(c->rec.all_held);
	free(c->rec.events);
	c->rec.stamps = false;
	c->rec.events = NULL;
	c->rec.all_notes = NULL;
	c->rec.all_held = NULL;
	c->rec.cycle = NULL;
	c->rec.switch_po = NEVER;
	if (c->rec.wants) {
		bool squashed = c->rec.wants & (WANT_SQUASHED | WANT_SQUASHED_EVENTS);

		c->rec.reserve = (uint32_t)min_u64(squashed ? c->mask + 1 : c->win.commit_width,
						   emit->max_insts);
	}
	if (c->rec.wants && !(c->rec.wants & WANT_LESS & ~(unsigned)WANT_COUNTS)) {
		c->rec.all_notes = x_aligned(((size_t)c->mask + 1) * sizeof(*c->rec.all_notes));
		memset(c->rec.all_notes, 0, ((size_t)c->mask + 1) * sizeof(*c->rec.all_notes));
		c->rec.all_held = x_calloc((size_t)c->mask + 1, sizeof(*c->rec.all_held));
	}
	c->rec.notes = c->rec.all_notes;
	c->rec.held = c->rec.all_held;
	c->rec.every_cycle = c->rec.cycles || c->rec.notes;
	if (c->rec.counts) {
		c->rec.counted_po = c->head;
		c->rec.counted_to = c->now;
		if (c->rec.wants & WANT_EMPTY)
			c->rec.switch_po = c->head;
		else if (c->rec.wants & WANT_ISSUES)
			c->rec.events = x_calloc((size_t)c->mask + 1, sizeof(*c->rec.events));
		else
			c->rec.stamps = c->rec.wants & WANT_STAMPS;
		assert(!c->rec.events || emit->max_issues >= c->win.commit_width);
	} else if (c->rec.wants && emit->schedule.one_in) {
		c->rec.stretch = (struct stretch){ 0 };
		record_switch(c);
	}
}

void core_relisten(struct core *c, struct emit *emit)
{
	assert(c->rec.emit && emit->wants == c->rec.emit->wants);
	if (c->rec.counts)
		record_count(c);
	core_cut(c);
	c->rec.emit = emit;
}

void core_attach(struct core *c)
{
	c->before = guest_insts(c->guest) - (c->stats.insts - c->stats.faults);
	fetch_registers(c);
	if (c->twin.leads)
		twin_attach(c->twin.leads);
	fetch_redirect(c, c->front.hart->pc, false, c->now, FETCH_REDIRECT);
}

void core_free(struct core *c)
{
	if (!c)
		return;
	twin_free(c->twin.leads);
	memsys_free(c->mem);
	ahead_free(c->front.ahead);
	bpred_free(c->bpred);
	uop_table_free(c->front.uops);
	for (unsigned q = 0; q < QUEUES; q++)
		free(c->win.ready[q]);
	free(c->ring);
	free(c->lsu.memops);
	free(c->front.steps);
	free(c->front.preds);
	free(c->front.overlay);
	free(c->win.slot_kind);
	free(c->lsu.retry);
	free(c->lsu.order_wait);
	free(c->lsu.stores);
	free(c->lsu.wait_table);
	free(c->seen);
	free(c->rec.all_notes);
	free(c->rec.all_held);
	free(c->rec.events);
	free(c);
}

/* The next cycle in which a stage can do something, when none could in this one. */
static uint64_t next_cycle(const struct core *c)
{
	uint64_t t = min_u64(wheel_next(c), memsys_next_event(c->mem));

	if (c->front.state == FETCHING && c->front.time > c->now)
		t = min_u64(t, c->front.time);
	if (c->disp < c->tail) {
		uint64_t ripe = at(c, c->disp)->fetch + c->front.depth;

		if (ripe > c->now)
			t = min_u64(t, ripe);
	}
	if (c->lsu.retrying)
		t = min_u64(t, c->lsu.retry_time);
	if (c->lsu.sq_next < c->lsu.sq_commit && c->lsu.drain_time > c->now)
		t = min_u64(t, c->lsu.drain_time);
	t = min_u64(t, c->win.issue_time);
	if (c->rec.wants && c->rec.head_known > c->now)
		t = min_u64(t, c->rec.head_known);
	return t > c->now ? t : c->now + 1;
}

static _Noreturn void stuck(const struct core *c)
{
	warn("the modelled core makes no progress; this is a bug in culprit. Its state:");
	core_dump(c, stderr);
	abort();
}

static bool is_idle(const struct core *c)
{
	return c->head == c->tail && !c->front.wrong &&
	       (c->front.state == FETCH_OVER || c->tail >= c->front.limit);
}

/* Runs one cycle, and skips those after it in which nothing can happen. */
static void step_cycle(struct core *c)
{
	uint64_t repeat = 1;

	if (unlikely(c->front.starved)) {
		fetch_resume(c);
		goto fetched;
	}
	c->did.commits = c->did.dispatches = c->did.issues = c->did.fetches = c->did.events =
	    c->did.drains = c->did.walks = 0;
	if (unlikely(c->head >= c->rec.switch_po))
		record_switch(c);
	complete_stage(c);
	if (c->rec.wants & WANT_HEAD)
		record_misses(c);
	drain_stage(c);
	commit_stage(c);
	if (c->rec.wants & WANT_HEAD && !c->did.commits)
		record_head(c);
	if (unlikely(c->win.in_order))
		inorder_stage(c);
	else
		issue_stage(c);
	dispatch_stage(c);
	fetch_stage(c);
	if (unlikely(c->front.ahead != NULL))
		ahead_stage(c);
fetched:
	if (unlikely(c->front.starved))
		return;
#ifndef NDEBUG
	if (c->checked)
		core_check(c);
#endif
	c->stats.steps++;
	c->stats.insts += c->did.commits;
	if (c->did.commits) {
		c->progress = c->now;
		c->rec.flags |= RC_HEAD_DONE;
	}
	if (!(c->did.events | c->did.commits | c->did.drains | c->did.issues | c->did.dispatches |
	      c->did.fetches | c->did.walks) &&
	    !is_idle(c)) {
		uint64_t next = next_cycle(c);

		if (unlikely(next == NEVER || next - c->progress > NO_PROGRESS_CYCLES))
			stuck(c);
		repeat = next - c->now;
		c->stats.dispatch_stall[c->did.dispatch_stall] += repeat - 1;
	}
	c->now += repeat;
	c->stats.cycles += repeat;
	if (c->rec.every_cycle)
		record_cycle(c, repeat);
}

void core_limit(struct core *c, uint64_t max_insts)
{
	uint64_t next = c->front.wrong ? c->front.right_po : c->tail;

	c->front.limit = max_insts && max_insts < NEVER - next ? next + max_insts : NEVER;
}

uint64_t core_position(const struct core *c)
{
	return c->stats.insts - c->stats.faults + c->before;
}

void core_target(struct core *c, uint64_t position)
{
	uint64_t here = core_position(c);

	c->target = position ? position - c->before : NEVER;
	c->front.hold = position ? c->head + (position > here ? position - here : 0) : NEVER;
	/* Instructions in flight that raise a signal do not count. */
	for (uint64_t po = c->head; position && po < c->front.hold && po < c->front.stream_end;
	     po++)
		c->front.hold += fetch_faults(c, po);
}

/* Hands the twin's stamps to the listeners. When depends on instructions alone, so that records
 * stand in the same order in every run. */
static void deliver_twin(struct core *c, bool all)
{
	struct emit *emit = c->rec.wants & WANT_TWIN ? c->rec.emit : NULL;

	/* Stamps may fill the batch: what is in it stands beside its cycles. */
	if (c->rec.counts)
		record_count(c);
	twin_deliver(c->twin.leads, emit, &c->rec.cycle, all);
	c->twin.deliver_at = c->front.stream_end + TWIN_STRETCH;
}

enum core_status core_continue(struct core *c, uint64_t max_cycles)
{
	uint64_t end = max_cycles < NEVER - c->now ? c->now + max_cycles : NEVER;
	bool reached = false;

	c->progress = c->now;
	if (c->twin.leads)
		twin_resume(c->twin.leads);
	if (c->rec.cycles)
		record_begin(c);
	while (!is_idle(c)) {
		if (unlikely(c->stats.insts - c->stats.faults >= c->target)) {
			c->target = c->front.hold = NEVER;
			reached = true;
			break;
		}
		if (c->now >= end)
			break;
		step_cycle(c);
		if (unlikely(c->front.starved))
			return CORE_RUNNING;
		if (unlikely(c->twin.leads) && c->front.stream_end >= c->twin.deliver_at)
			deliver_twin(c, false);
	}
	if (c->rec.counts)
		record_count(c);
	if (reached)
		return CORE_REACHED;
	if (!is_idle(c))
		return CORE_RUNNING;
	core_end_twin(c);
	return c->front.state == FETCH_OVER ? CORE_ENDED : CORE_STOPPED;
}

enum core_status core_run(struct core *c, uint64_t max_insts)
{
	core_limit(c, max_insts);
	return core_continue(c, NEVER);
}

/* Nothing is on its way to or from memory. */
static bool is_still(const struct core *c)
{
	return c->lsu.sq_head == c->lsu.sq_tail && memsys_next_event(c->mem) == NEVER;
}

void core_rest(struct core *c)
{
	uint64_t limit = c->front.limit;

	if (is_still(c))
		return;
	c->front.limit = c->tail;
	if (c->rec.cycles)
		record_begin(c);
	while (!is_still(c))
		step_cycle(c);
	if (c->rec.counts)
		record_count(c);
	c->front.limit = limit;
}

void core_drain(struct core *c)
{
	c->front.limit = c->front.stream_end;
	core_continue(c, NEVER);
	core_rest(c);
}

void core_end_twin(struct core *c)
{
	if (!c->twin.leads)
		return;
	twin_drain(c->twin.leads);
	deliver_twin(c, true);
}

void core_cut(struct core *c)
{
	memsys_cut(c->mem, c->now);
}

void core_checked(struct core *c)
{
	c->checked = true;
}

const struct core_stats *core_stats(const struct core *c)
{
	return &c->stats;
}

const struct core_stats *core_twin_stats(const struct core *c)
{
	return c->twin.leads ? &twin_core(c->twin.leads)->stats : NULL;
}

void core_forked(struct core *c)
{
	if (c->twin.leads)
		twin_forked(c->twin.leads);
}

const struct memsys_stats *core_memory_stats(const struct core *c)
{
	return memsys_stats(c->mem);
}

void core_meta(const struct core *c, struct trace_meta *meta)
{
	const struct machine *cfg = &c->cfg;
	uint32_t fetch[LEVEL_MEM + 1], data[LEVEL_MEM + 1];

	memset(meta, 0, sizeof(*meta));
	memsys_latencies(c->mem, true, fetch);
	memsys_latencies(c->mem, false, data);
	snprintf(meta->program, sizeof(meta->program), "%s", guest_program(c->guest));
	snprintf(meta->machine, sizeof(meta->machine), "%s", cfg->name);
	meta->fetch_width = c->front.width;
	meta->decode_width =
	    c->ideal & (IDEAL_BW | IDEAL_FETCH_BW) ? c->win.dispatch_width : cfg->decode_width;
	meta->dispatch_width = c->win.dispatch_width;
	meta->issue_width = c->win.issue_width;
	meta->commit_width = c->win.commit_width;
	meta->rob_entries = c->win.rob_size;
	meta->iq_entries = c->win.iq_size[0] + c->win.iq_size[1] + c->win.iq_size[2];
	meta->lq_entries = c->lsu.lq_size;
	meta->sq_entries = c->lsu.sq_size;
	meta->frontend_depth = c->front.depth;
	meta->mispredict_loop = cfg->fetch_redirect + c->front.depth;
	meta->wakeup_latency = cfg->wakeup;
	meta->l1i_latency = fetch[LEVEL_L1];
	meta->l1d_latency = c->ideal & IDEAL_DL1 ? cfg->mem.ideal_dl1 : data[LEVEL_L1];
	meta->l2_latency = data[LEVEL_L2];
	meta->llc_latency = data[LEVEL_LLC];
	meta->mem_latency = data[LEVEL_MEM];
	meta->itlb_penalty = cfg->mem.itlb.entries ? memsys_walk_latency(c->mem) : 0;
	meta->dtlb_penalty = cfg->mem.dtlb.entries ? memsys_walk_latency(c->mem) : 0;
	meta->line_bytes = machine_line_bytes(&cfg->mem, MEM_L1D);
	meta->outstanding_branches = c->win.branches_size;
	meta->in_order = c->win.in_order;
	meta->taken_per_fetch = c->front.taken_max;
	meta->clock_hz = cfg->clock_ghz * 1e9;
	meta->seed = cfg->mem.seed;
}

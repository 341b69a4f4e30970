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

/* Sizes and widths, with what is idealised for the whole run. */
static void set_sizes(struct core *c)
{
	const struct machine *cfg = &c->cfg;
	uint32_t factor = c->ideal & IDEAL_WIN ? IDEAL_WIN_FACTOR : 1;
	bool bw = c->ideal & IDEAL_BW;

	c->rob_size = times(cfg->rob, factor);
	c->lq_size = times(cfg->load_queue, factor);
	c->sq_size = times(cfg->store_queue, c->ideal & IDEAL_SQ ? IDEAL_WIN_FACTOR : factor);
	c->shared_size = cfg->shared_queue ? times(cfg->shared_queue, factor) : UINT32_MAX;
	c->int_size = times(cfg->int_regs - 32, factor);
	c->fp_size = times(cfg->fp_regs - 32, factor);
	c->branches_size = times(cfg->branches, factor);
	c->packets_size = times(cfg->fetch_targets, factor);
	if (cfg->unified) {
		c->iq_size[0] = times(cfg->unified_queue, factor);
		c->iq_width[0] = cfg->issue_width;
	} else {
		c->iq_size[0] = times(cfg->int_queue, factor);
		c->iq_size[1] = times(cfg->mem_queue, factor);
		c->iq_size[2] = times(cfg->fp_queue, factor);
		c->iq_width[0] = cfg->int_issue;
		c->iq_width[1] = cfg->mem_issue;
		c->iq_width[2] = cfg->fp_issue;
	}
	c->fetch_width = cfg->fetch_width;
	c->fetch_taken = cfg->fetch_taken;
	c->fetch_block_mask = cfg->fetch_block_bytes - 1;
	c->fetch_buffer = cfg->fetch_buffer;
	c->decode_width = cfg->dispatch_width && cfg->dispatch_width < cfg->decode_width
			      ? cfg->dispatch_width
			      : cfg->decode_width;
	c->issue_width = cfg->issue_width;
	c->commit_width = cfg->commit_width;
	c->store_ports = cfg->store_ports;
	if (bw) {
		c->fetch_width = c->decode_width = c->commit_width = IDEAL_BW_WIDTH;
		c->fetch_taken = IDEAL_BW_WIDTH;
		c->fetch_through = true;
		c->fetch_buffer =
		    cfg->fetch_buffer < 2 * IDEAL_BW_WIDTH ? 2 * IDEAL_BW_WIDTH : cfg->fetch_buffer;
		c->packets_size = UINT32_MAX;
		c->store_ports = IDEAL_BW_WIDTH;
		c->issue_width = UINT32_MAX;
		for (unsigned q = 0; q < QUEUES; q++)
			c->iq_width[q] = UINT32_MAX;
	}
	c->depth = cfg->fetch_depth + cfg->decode_depth;
	c->decode_stages = cfg->decode_depth * c->decode_width;
	for (unsigned i = 0; i < UNIT_COUNT; i++) {
		c->unit_count[i] = (uint8_t)cfg->unit[i].count;
		c->unit_pipelined[i] = (uint8_t)cfg->unit[i].pipelined;
	}
	c->unit_pipelined[UNIT_LOAD] = c->unit_pipelined[UNIT_STORE] = 1;
}

static void allocate(struct core *c)
{
	/* What can be in flight; and an instruction that has committed may still have to wake
	 * others. */
	uint64_t need = (uint64_t)c->rob_size + c->fetch_buffer + c->decode_stages +
			(uint64_t)c->fetch_width * (c->cfg.fetch_depth + 1 + 2 * c->cfg.wakeup);
	uint32_t size = power_of_two_above(need);

	assert(size <= RING_MAX);

	c->mask = size - 1;
	c->ring = aligned_alloc(64, size * sizeof(*c->ring));
	if (!c->ring)
		die("out of memory");
	memset(c->ring, 0, size * sizeof(*c->ring));
	c->memops = x_calloc(size, sizeof(*c->memops));
	c->steps = x_calloc(size, sizeof(*c->steps));
	c->preds = x_calloc(size, sizeof(*c->preds));
	c->overlay = x_calloc((size_t)size + 1, sizeof(*c->overlay));
	for (unsigned q = 0; q < QUEUES; q++)
		c->ready[q] = x_calloc(size / 64, sizeof(uint64_t));
	c->slot_kind = x_calloc(size, 1);
	c->retry = x_calloc(size / 64, sizeof(uint64_t));
	c->order_wait = x_calloc(size / 64, sizeof(uint64_t));

	/* An idealised store may exceed sq_size; the ring of stores is then the limit. */
	uint32_t stores = power_of_two_above(
	    (uint64_t)c->sq_size * (c->cfg.nideal_pcs ? IDEAL_WIN_FACTOR : 1) + 1);
	c->sq_mask = stores - 1;
	c->stores = x_calloc(stores, sizeof(*c->stores));
	if (c->cfg.wait_entries)
		c->wait_table = x_calloc(c->cfg.wait_entries, 1);
	if (c->cfg.page_faults)
		c->touched = x_calloc(GUEST_ADDR_LIMIT / GUEST_PAGE_BYTES / 64, sizeof(uint64_t));
	for (uint32_t i = 0; i < size; i++)
		c->ring[i].dep_head = SLOT_NONE;
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
	c->in_order = config->model == MODEL_INORDER;
	c->order = (uint8_t)config->order;
	if (c->ideal & IDEAL_FLUSH)
		c->order = ORDER_PERFECT;
	set_sizes(c);
	allocate(c);

	struct memsys_callbacks callbacks = { .ctx = c, .done = lsu_done, .wake = lsu_wake };

	c->mem = memsys_new(&config->mem, &callbacks);

	struct bpred_config bp = config->bpred;

	bp.inflight = c->mask + 1;
	c->bpred = bpred_new(&bp);
	c->uops = uop_table_new();
	c->uop_page_number = ~0ull;

	uint32_t latency[LEVEL_MEM + 1];

	memsys_latencies(c->mem, true, latency);
	c->l1i_latency = latency[LEVEL_L1];
	c->head = c->disp = c->tail = c->buffered = c->stream_end = 1;
	c->issue_po = 1;
	c->seq = 1;
	c->now = 1;
	c->sq_head = c->sq_commit = c->sq_tail = c->sq_next = c->sq_known = 1;
	c->retry_time = NEVER;
	c->wait_clear = config->wait_clear;
	for (unsigned i = 0; i < WHEEL_SIZE; i++)
		c->wheel[i] = SLOT_NONE;
	core_listen(c, emit);
	core_attach(c);
	return c;
}

void core_listen(struct core *c, struct emit *emit)
{
	assert(c->head == c->tail);
	c->emit = emit;
	c->wants = emit ? emit->wants : 0;
	c->record_insts = !(c->wants & WANT_EMPTY) && c->wants & WANT_INSTS;
	c->record_cycles = !(c->wants & WANT_EMPTY) && c->wants & WANT_CYCLES;
	free(c->all_notes);
	free(c->all_held);
	c->all_notes = NULL;
	c->all_held = NULL;
	c->switch_po = NEVER;
	if (c->wants) {
		bool squashed = c->wants & (WANT_SQUASHED | WANT_SQUASHED_EVENTS);

		c->reserve =
		    (uint32_t)min_u64(squashed ? c->mask + 1 : c->commit_width, emit->max_insts);
	}
	if (c->wants && !(c->wants & WANT_LESS)) {
		c->all_notes = x_aligned(((size_t)c->mask + 1) * sizeof(*c->all_notes));
		memset(c->all_notes, 0, ((size_t)c->mask + 1) * sizeof(*c->all_notes));
		c->all_held = x_calloc((size_t)c->mask + 1, sizeof(*c->all_held));
	}
	c->notes = c->all_notes;
	c->held = c->all_held;
	c->record_steps = c->record_cycles || c->notes;
	if (c->wants & WANT_EMPTY) {
		c->counted_po = c->switch_po = c->head;
		c->counted_to = c->now;
	} else if (c->wants && emit->schedule.one_in) {
		c->stretch = (struct stretch){ 0 };
		record_switch(c);
	}
}

void core_attach(struct core *c)
{
	c->hart = guest_hart(c->guest);
	memcpy(c->regs, c->hart->x, sizeof(c->hart->x));
	memcpy(c->regs + 32, c->hart->f, sizeof(c->hart->f));
	c->regs[0] = 0;
	c->code_version = guest_code_version(c->guest);
	fetch_redirect(c, c->hart->pc, false, c->now, FETCH_REDIRECT);
}

void core_free(struct core *c)
{
	if (!c)
		return;
	memsys_free(c->mem);
	bpred_free(c->bpred);
	uop_table_free(c->uops);
	for (unsigned q = 0; q < QUEUES; q++)
		free(c->ready[q]);
	free(c->ring);
	free(c->memops);
	free(c->steps);
	free(c->preds);
	free(c->overlay);
	free(c->slot_kind);
	free(c->retry);
	free(c->order_wait);
	free(c->stores);
	free(c->wait_table);
	free(c->touched);
	free(c->all_notes);
	free(c->all_held);
	free(c);
}

/* The next cycle in which a stage can do something, when none could in this one. */
static uint64_t next_cycle(const struct core *c)
{
	uint64_t t = min_u64(wheel_next(c), memsys_next_event(c->mem));

	if (c->fetch_state == FETCHING && c->fetch_time > c->now)
		t = min_u64(t, c->fetch_time);
	if (c->disp < c->tail) {
		uint64_t ripe = at(c, c->disp)->fetch + c->depth;

		if (ripe > c->now)
			t = min_u64(t, ripe);
	}
	if (c->retrying)
		t = min_u64(t, c->retry_time);
	if (c->sq_next < c->sq_commit && c->drain_time > c->now)
		t = min_u64(t, c->drain_time);
	t = min_u64(t, c->issue_time);
	if (c->wants && c->head_known > c->now)
		t = min_u64(t, c->head_known);
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
	return c->head == c->tail && !c->wrong &&
	       (c->fetch_state == FETCH_OVER || c->tail >= c->fetch_limit);
}

/* One cycle, and those after it in which nothing happens. */
static void step_cycle(struct core *c)
{
	uint64_t repeat = 1;

	c->ncommit = c->ndispatch = c->nissue = c->nfetch = c->nevents = c->ndrain = 0;
	if (unlikely(c->head >= c->switch_po))
		record_switch(c);
	complete_stage(c);
	if (c->wants & WANT_HEAD)
		record_misses(c);
	drain_stage(c);
	commit_stage(c);
	if (c->wants & WANT_HEAD && !c->ncommit)
		record_head(c);
	if (unlikely(c->in_order))
		inorder_stage(c);
	else
		issue_stage(c);
	dispatch_stage(c);
	fetch_stage(c);
#ifndef NDEBUG
	if (c->checked)
		core_check(c);
#endif
	c->stats.steps++;
	c->stats.insts += c->ncommit;
	if (c->ncommit) {
		c->progress = c->now;
		c->rec_flags |= RC_HEAD_DONE;
	}
	if (!(c->nevents | c->ncommit | c->ndrain | c->nissue | c->ndispatch | c->nfetch) &&
	    !is_idle(c)) {
		uint64_t next = next_cycle(c);

		if (unlikely(next == NEVER || next - c->progress > NO_PROGRESS_CYCLES))
			stuck(c);
		repeat = next - c->now;
		c->stats.dispatch_stall[c->dispatch_stall] += repeat - 1;
	}
	c->now += repeat;
	c->stats.cycles += repeat;
	if (c->record_steps)
		record_cycle(c, repeat);
}

void core_limit(struct core *c, uint64_t max_insts)
{
	uint64_t next = c->wrong ? c->right_po : c->tail;

	c->fetch_limit = max_insts ? next + max_insts : NEVER;
}

enum core_status core_continue(struct core *c, uint64_t max_cycles)
{
	uint64_t end = max_cycles < NEVER - c->now ? c->now + max_cycles : NEVER;

	c->progress = c->now;
	if (c->record_cycles)
		record_begin(c);
	while (!is_idle(c)) {
		if (c->now >= end || unlikely(c->interrupted)) {
			c->interrupted = 0;
			break;
		}
		step_cycle(c);
	}
	if (c->wants & WANT_EMPTY)
		record_count(c);
	if (!is_idle(c))
		return CORE_RUNNING;
	return c->fetch_state == FETCH_OVER ? CORE_ENDED : CORE_STOPPED;
}

enum core_status core_run(struct core *c, uint64_t max_insts)
{
	core_limit(c, max_insts);
	return core_continue(c, NEVER);
}

enum core_status core_warm(struct core *c, uint64_t n)
{
	uint64_t line = ~0ull;
	struct guest_step s;

	assert(c->head == c->tail);
	memsys_quiesce(c->mem);
	for (; n && c->fetch_state != FETCH_OVER; n--) {
		guest_step(c->guest, &s);

		if (s.flags & STEP_END)
			c->fetch_state = FETCH_OVER;
		/* What raises a signal reaches neither caches nor predictors. */
		if (s.flags & STEP_FAULT)
			continue;

		const struct uop *u = uop_get(c, s.pc, s.inst);
		uint64_t l = s.pc & ~(uint64_t)(c->cfg.mem.line_bytes - 1);

		if (l != line)
			memsys_warm(c->mem, MEM_ACCESS_FETCH, s.pc, 4, s.pc);
		line = l;
		if (u->flags & (UOP_LOAD | UOP_STORE)) {
			lsu_first_touch(c, s.addr);
			memsys_warm(c->mem,
				    u->flags & UOP_STORE ? MEM_ACCESS_STORE : MEM_ACCESS_LOAD,
				    s.addr, u->mem_bytes, s.pc);
		}
		if ((u->flags & UOP_CTRL) && !(s.flags & STEP_SWITCH))
			bpred_warm(c->bpred, s.pc, &u->in, !!(s.flags & STEP_TAKEN), s.next_pc);
	}
	if (c->fetch_state == FETCH_OVER)
		return CORE_ENDED;
	core_attach(c);
	return CORE_STOPPED;
}

void core_checked(struct core *c)
{
	c->checked = true;
}

void core_interrupt(struct core *c)
{
	c->interrupted = 1;
}

const struct core_stats *core_stats(const struct core *c)
{
	return &c->stats;
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
	meta->fetch_width = c->fetch_width;
	meta->decode_width = c->ideal & IDEAL_BW ? c->decode_width : cfg->decode_width;
	meta->dispatch_width = c->decode_width;
	meta->issue_width = c->issue_width;
	meta->commit_width = c->commit_width;
	meta->rob_entries = c->rob_size;
	meta->iq_entries = c->iq_size[0] + c->iq_size[1] + c->iq_size[2];
	meta->lq_entries = c->lq_size;
	meta->sq_entries = c->sq_size;
	meta->frontend_depth = c->depth;
	meta->mispredict_loop = cfg->fetch_redirect + c->depth;
	meta->wakeup_latency = cfg->wakeup;
	meta->l1i_latency = fetch[LEVEL_L1];
	meta->l1d_latency = c->ideal & IDEAL_DL1 ? 1 : data[LEVEL_L1];
	meta->l2_latency = data[LEVEL_L2];
	meta->llc_latency = data[LEVEL_LLC];
	meta->mem_latency = data[LEVEL_MEM];
	meta->itlb_penalty = cfg->mem.itlb.entries ? memsys_walk_latency(c->mem) : 0;
	meta->dtlb_penalty = cfg->mem.dtlb.entries ? memsys_walk_latency(c->mem) : 0;
	meta->line_bytes = cfg->mem.line_bytes;
	meta->outstanding_branches = c->branches_size;
	meta->in_order = c->in_order;
	meta->taken_per_fetch = c->fetch_taken;
	meta->clock_hz = cfg->clock_ghz * 1e9;
	meta->seed = cfg->mem.seed;
}

/* SPDX-License-Identifier: MIT */
/*
 * Memory: a flat latency with an optional bus or bandwidth limit, or DRAM.
 *
 * DRAM. Each channel has a data bus and ranks × banks with one row buffer each, left open after an
 * access. A line takes CAS on an open row, RCD + CAS on a closed bank, RP + RCD + CAS when another
 * row is open, from the cycle in which the controller takes it up to the leading edge of its data,
 * then `overhead` to reach the cache. Lines lie across channels first, then along a row, then
 * across banks and ranks. The controller is first-ready first-come first-served (Rixner et al.
 * 2000) over the oldest `queue_depth` requests: of those whose row is open the oldest gets the next
 * column command, as soon as its data finds the bus free; meanwhile banks that no waiting request
 * hits are precharged and activated for the oldest that needs them. A request that was overtaken
 * `max_bypass` times goes next. Reads go before writes until writes fill three quarters of their
 * queue, which are then drained to a quarter, or until there are no reads. At most `max_reads`
 * reads are between acceptance and delivery (as in FireSim's memory model, from which tip2021 and
 * tea2023 take the figures).
 *
 * Not modelled: refresh, the command bus, read/write turn-around, tFAW, tWR and rank switching.
 */
#include <stdlib.h>
#include <string.h>

#include "core/mem/mem_int.h"

#define FP_ONE (1u << FP_SHIFT)

static uint32_t core_cycles(uint32_t dram_clocks, uint32_t clock_milli)
{
	return (uint32_t)(((uint64_t)dram_clocks * clock_milli + 500) / 1000);
}

void memory_init(struct memsys *ms)
{
	struct memory *mem = &ms->mem;
	const struct mem_dram_config *d = &ms->cfg.mem.dram;
	uint32_t line = ms->cfg.line_bytes, i;
	uint64_t rate_fp = ms->cfg.mem.bytes_per_kcycle ? (((uint64_t)line * 1000) << FP_SHIFT) /
							      ms->cfg.mem.bytes_per_kcycle
							: 0;

	mem->cfg = ms->cfg.mem;
	mem->bus.busy_fp = max_u64(mem->bus.busy_fp, rate_fp);
	if (mem->cfg.kind != MEM_DRAM)
		return;
	mem->burst_fp = rate_fp * d->channels;
	mem->burst = (uint32_t)max_u64(mem->burst_fp >> FP_SHIFT, 1);
	mem->cas = core_cycles(d->cas, d->clock_milli);
	mem->rcd = core_cycles(d->rcd, d->clock_milli);
	mem->rp = core_cycles(d->rp, d->clock_milli);
	mem->ras = core_cycles(d->ras, d->clock_milli);
	/* a burst of eight beats, as DDR3's */
	mem->beats = (struct beats){ (uint32_t)((mem->burst_fp / 8 + FP_ONE - 1) >> FP_SHIFT),
				     ms->line_shift - 3, ms->line_shift };
	mem->tail = (uint32_t)((mem->burst_fp * 7 / 8 + FP_ONE - 1) >> FP_SHIFT);
	mem->ch_mask = d->channels - 1;
	mem->ch_shift = log2_of(d->channels);
	mem->col_shift = log2_of(d->row_bytes / line);
	mem->bank_mask = d->banks * d->ranks - 1;
	mem->bank_shift = log2_of(d->banks * d->ranks);
	mem->ch = x_calloc(d->channels, sizeof(*mem->ch));
	for (i = 0; i < d->channels; i++) {
		struct channel *ch = &mem->ch[i];

		ch->bank = x_calloc(mem->bank_mask + 1, sizeof(*ch->bank));
		ch->rd.cap = ch->wr.cap = 256;
		ch->rd.item = x_calloc(ch->rd.cap, sizeof(*ch->rd.item));
		ch->wr.item = x_calloc(ch->wr.cap, sizeof(*ch->wr.item));
	}
	memory_reset(ms);
}

void memory_reset(struct memsys *ms)
{
	struct memory *mem = &ms->mem;

	mem->bus.free_fp = 0;
	for (uint32_t i = 0; mem->ch && i <= mem->ch_mask; i++) {
		struct channel *ch = &mem->ch[i];

		ch->wake = MEM_NEVER;
		ch->rd.count = ch->wr.count = ch->rd.head = ch->wr.head = 0;
		ch->inflight = ch->bypassed = 0;
		ch->bus_free_fp = 0;
		ch->draining = false;
		for (uint32_t b = 0; b <= mem->bank_mask; b++)
			ch->bank[b] = (struct dram_bank){ .row = TAG_NONE };
	}
}

void memory_fini(struct memsys *ms)
{
	struct memory *mem = &ms->mem;

	for (uint32_t i = 0; mem->ch && i <= mem->ch_mask; i++) {
		free(mem->ch[i].bank);
		free(mem->ch[i].rd.item);
		free(mem->ch[i].wr.item);
	}
	free(mem->ch);
}

uint32_t memory_unloaded(const struct memsys *ms)
{
	const struct memory *mem = &ms->mem;

	if (mem->cfg.kind == MEM_FLAT)
		return mem->cfg.latency +
		       (mem->bus.trailing_edge ? bus_tail(&mem->bus, mem->bus.line_shift) : 0);
	return mem->rcd + mem->cas + mem->cfg.dram.overhead +
	       (mem->cfg.bus.trailing_edge ? mem->tail : 0);
}

/* Queues: rings, so that taking from the front costs nothing */

static struct dram_item *queue_at(struct dram_queue *q, uint32_t i)
{
	return &q->item[(q->head + i) & (q->cap - 1)];
}

static void queue_push(struct dram_queue *q, struct dram_item item)
{
	if (unlikely(q->count == q->cap)) {
		uint32_t i;

		q->item = x_realloc(q->item, 2 * (size_t)q->cap * sizeof(*q->item));
		for (i = 0; i < q->head; i++)
			q->item[q->cap + i] = q->item[i];
		q->cap *= 2;
	}
	q->count++;
	*queue_at(q, q->count - 1) = item;
}

static struct dram_item queue_take(struct dram_queue *q, uint32_t i)
{
	struct dram_item item = *queue_at(q, i);

	for (; i > 0; i--)
		*queue_at(q, i) = *queue_at(q, i - 1);
	q->head = (q->head + 1) & (q->cap - 1);
	q->count--;
	return item;
}

static struct dram_item item_of(const struct memory *mem, uint64_t line, struct req *req,
				uint64_t t)
{
	uint64_t rest = line >> mem->ch_shift >> mem->col_shift;

	return (struct dram_item){ .req = req,
				   .since = t,
				   .bank = (uint32_t)rest & mem->bank_mask,
				   .row = rest >> mem->bank_shift };
}

static void read_done(struct memsys *ms, struct channel *ch, struct req *req, uint64_t lead,
		      uint64_t queued)
{
	struct memory *mem = &ms->mem;
	uint64_t trail = lead + mem->tail;

	req->queue += (uint32_t)queued;
	if (queued)
		req->events |= MEM_EV_BUS_WAIT;
	ms->stats.mem.queue_delay += queued;
	if (ch)
		mem_schedule(ms, lead, DUE_DRAM_DONE, ch);
	if (mem->cfg.bus.trailing_edge)
		mem_respond(ms, req, trail, trail, (struct beats){ 0 }, LEVEL_MEM);
	else
		mem_respond(ms, req, lead, trail, mem->beats, LEVEL_MEM);
}

/* The column command of q's i-th request, in cycle t. */
static void issue_column(struct memsys *ms, struct channel *ch, struct dram_queue *q, uint32_t i,
			 uint64_t t)
{
	struct memory *mem = &ms->mem;
	struct mem_memory_stats *st = &ms->stats.mem;
	struct dram_item item = queue_take(q, i);
	struct dram_bank *b = &ch->bank[item.bank];
	uint64_t data_fp = max_u64((t + mem->cas) << FP_SHIFT, ch->bus_free_fp);
	uint64_t data = (data_fp + FP_ONE - 1) >> FP_SHIFT;
	uint64_t unloaded = mem->cas;

	ch->bus_free_fp = data_fp + mem->burst_fp;
	st->bus_busy += (ch->bus_free_fp >> FP_SHIFT) - (data_fp >> FP_SHIFT);
	if (i) {
		st->reordered++;
		ch->bypassed++;
	} else {
		ch->bypassed = 0;
	}
	if (b->opened == 0) {
		st->row_hits++;
	} else if (b->opened == 1) {
		st->row_misses++;
		unloaded += mem->rcd;
	} else {
		st->row_conflicts++;
		unloaded += mem->rcd + mem->rp;
	}
	b->opened = 0;
	b->cas_ready = t + mem->burst;
	b->pre_ready =
	    max_u64(b->pre_ready, item.req ? t + mem->burst : ch->bus_free_fp >> FP_SHIFT);
	if (item.req) {
		uint64_t waited = data - item.since;

		ch->inflight++;
		read_done(ms, ch, item.req, data + mem->cfg.dram.overhead,
			  waited > unloaded ? waited - unloaded : 0);
	}
}

static bool row_wanted(struct dram_queue *q, uint32_t n, uint32_t bank, uint64_t row)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct dram_item *it = queue_at(q, i);

		if (it->bank == bank && it->row == row)
			return true;
	}
	return false;
}

/* Gives one command if one can be given in cycle t; else lowers *next to when one may. */
static bool one_command(struct memsys *ms, struct channel *ch, struct dram_queue *q, uint32_t n,
			uint64_t t, uint64_t *next)
{
	struct memory *mem = &ms->mem;
	uint64_t bus = ch->bus_free_fp >> FP_SHIFT;
	uint64_t bus_ready = bus > mem->cas ? bus - mem->cas : 0;
	bool oldest_only = ch->bypassed >= mem->cfg.dram.max_bypass;

	if (oldest_only)
		n = min_u64(n, 1);
	for (uint32_t i = 0; i < n; i++) {
		const struct dram_item *it = queue_at(q, i);
		const struct dram_bank *b = &ch->bank[it->bank];
		uint64_t when = max_u64(b->cas_ready, bus_ready);

		if (b->row != it->row)
			continue;
		if (when <= t) {
			issue_column(ms, ch, q, i, t);
			return true;
		}
		*next = min_u64(*next, when);
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct dram_item *it = queue_at(q, i);
		struct dram_bank *b = &ch->bank[it->bank];

		if (b->row == it->row || (b->row != TAG_NONE && row_wanted(q, n, it->bank, b->row)))
			continue;
		if (b->pre_ready > t) {
			*next = min_u64(*next, b->pre_ready);
			continue;
		}
		b->opened = b->row == TAG_NONE ? 1 : 2;
		b->cas_ready = t + mem->rcd + (b->opened == 2 ? mem->rp : 0);
		b->pre_ready = b->cas_ready - mem->rcd + mem->ras;
		b->row = it->row;
		return true;
	}
	return false;
}

static void schedule_channel(struct memsys *ms, struct channel *ch, uint64_t t)
{
	const struct mem_dram_config *d = &ms->mem.cfg.dram;
	uint32_t window = d->fcfs ? 1 : d->queue_depth;
	uint64_t next;
	bool more;

	do {
		uint32_t readable = (uint32_t)min_u64(ch->rd.count, d->max_reads - ch->inflight);

		next = MEM_NEVER;
		if (ch->wr.count >= d->max_writes - d->max_writes / 4)
			ch->draining = true;
		else if (ch->wr.count <= d->max_writes / 4)
			ch->draining = false;
		if (ch->wr.count && (ch->draining || !ch->rd.count))
			more = one_command(ms, ch, &ch->wr, (uint32_t)min_u64(ch->wr.count, window),
					   t, &next);
		else
			more = one_command(ms, ch, &ch->rd, (uint32_t)min_u64(readable, window), t,
					   &next);
	} while (more);
	if (next < ch->wake) {
		ch->wake = next;
		mem_schedule(ms, next, DUE_DRAM, ch);
	}
}

void dram_wake(struct memsys *ms, struct channel *ch, uint64_t t)
{
	if (ch->wake != t)
		return; /* overtaken by an earlier one */
	ch->wake = MEM_NEVER;
	schedule_channel(ms, ch, t);
}

void dram_done(struct memsys *ms, struct channel *ch, uint64_t t)
{
	ch->inflight--;
	schedule_channel(ms, ch, t);
}

/* With bandwidth ideal a read takes what its bank's row says, at once. */
static void dram_read_ideal(struct memsys *ms, struct channel *ch, struct dram_item item,
			    uint64_t t)
{
	struct memory *mem = &ms->mem;
	struct dram_bank *b = &ch->bank[item.bank];
	uint64_t lead = t + mem->cas + mem->cfg.dram.overhead;

	if (b->row == item.row) {
		ms->stats.mem.row_hits++;
	} else if (b->row == TAG_NONE) {
		ms->stats.mem.row_misses++;
		lead += mem->rcd;
	} else {
		ms->stats.mem.row_conflicts++;
		lead += mem->rcd + mem->rp;
	}
	b->row = item.row;
	mem_respond(ms, item.req, lead, lead, (struct beats){ 0 }, LEVEL_MEM);
}

static void flat_read(struct memsys *ms, struct req *req, uint64_t t)
{
	struct memory *mem = &ms->mem;
	uint64_t lead, trail;

	if (req->cache == MEMORY && req->level == LEVEL_NONE) {
		ms->stats.mem.reads++;
		if (!mem->bus.busy_fp || req->flags & MEM_IDEAL_BW) {
			t += mem->cfg.latency;
			mem_respond(ms, req, t, t, (struct beats){ 0 }, LEVEL_MEM);
			return;
		}
		req->level = LEVEL_MEM; /* the second time its data is ready for the bus */
		mem_schedule(ms, t + mem->cfg.latency, DUE_MEM_BUS, req);
		return;
	}
	lead = bus_grant(&mem->bus, ms->line_shift, t, &ms->stats.mem.bus_busy);
	trail = lead + bus_tail(&mem->bus, ms->line_shift);
	if (lead > t) {
		req->queue += (uint32_t)(lead - t);
		req->events |= MEM_EV_BUS_WAIT;
		ms->stats.mem.queue_delay += lead - t;
	}
	mem_respond(ms, req, mem->bus.trailing_edge ? trail : lead, trail,
		    (struct beats){ mem->bus.trailing_edge ? 0 : mem->bus.step, mem->bus.beat_shift,
				    ms->line_shift },
		    LEVEL_MEM);
}

void memory_read(struct memsys *ms, struct req *req, uint64_t t)
{
	struct memory *mem = &ms->mem;
	struct channel *ch;
	struct dram_item item;

	if (mem->cfg.kind == MEM_FLAT) {
		flat_read(ms, req, t);
		return;
	}
	ms->stats.mem.reads++;
	ch = &mem->ch[req->line & mem->ch_mask];
	item = item_of(mem, req->line, req, t);
	if (req->flags & MEM_IDEAL_BW) {
		dram_read_ideal(ms, ch, item, t);
		return;
	}
	queue_push(&ch->rd, item);
	schedule_channel(ms, ch, t);
}

void memory_write(struct memsys *ms, uint64_t line, uint64_t t)
{
	struct memory *mem = &ms->mem;
	struct channel *ch;

	ms->stats.mem.writes++;
	if (mem->cfg.kind == MEM_FLAT) {
		bus_grant(&mem->bus, ms->line_shift, t, &ms->stats.mem.bus_busy);
		return;
	}
	ch = &mem->ch[line & mem->ch_mask];
	queue_push(&ch->wr, item_of(mem, line, NULL, t));
	schedule_channel(ms, ch, t);
}

/* SPDX-License-Identifier: MIT */
/*
 * The performance monitors of fields2004 figure 6(a), within the limits of hardware: at most one
 * detailed and one signature sample are under way at a time. Periods are random around their mean,
 * so that samples do not fall into step with loops. When a buffer is full, a new sample replaces a
 * random one with the probability that makes all samples equally likely to be kept.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/shotgun/shotgun.h"

struct monitor {
	struct monitor_config config;
	struct rng rng;
	uint64_t
	    recent; /* bits of the instructions before, as many as the context has, the oldest lowest */
	unsigned nrecent;
	uint32_t to_detail, to_long; /* instructions until the next sample begins */
	bool in_detail, in_long;
	unsigned after; /* instructions seen after the detailed one */
	size_t position;
	struct shotgun_detail detail;
	struct shotgun_long now;
	struct shotgun_detail *details;
	size_t ndetails;
	uint64_t seen_details;
	struct shotgun_long *longs;
	size_t nlongs;
	uint64_t seen_longs;
	uint64_t prev_commit;
	uint32_t prev_flags;
};

unsigned shotgun_bits(const struct rec_inst *r, enum mem_level stored)
{
	const bool memory = r->flags & (RI_LOAD | RI_STORE),
		   taken = r->flags & RI_TAKEN && r->flags & (RI_BRANCH | RI_JUMP),
		   l2_miss = r->psv & PSV_ST_L2 || stored > LEVEL_L2;
	unsigned bits = 0;
	if ((memory || taken) && !l2_miss)
		bits |= SHOTGUN_BIT1;
	if (r->psv & (PSV_DR_L1 | PSV_DR_TLB | PSV_ST_L1 | PSV_ST_L2 | PSV_ST_LLC | PSV_ST_TLB) ||
	    r->flags & RI_MISPREDICT || stored > LEVEL_L1)
		bits |= SHOTGUN_BIT2;
	return bits;
}

static uint32_t next_period(struct monitor *m, uint32_t mean)
{
	return (uint32_t)(mean / 2 + rng_below(&m->rng, mean) + 1);
}

struct monitor *monitor_new(const struct monitor_config *c)
{
	struct monitor *m = x_calloc(1, sizeof(*m));
	m->config = *c;
	rng_seed(&m->rng, c->seed);
	m->details = x_calloc(c->max_details, sizeof(*m->details));
	m->longs = x_calloc(c->max_longs, sizeof(*m->longs));
	m->to_detail = next_period(m, c->detail_period);
	m->to_long = next_period(m, c->long_period);
	return m;
}

void monitor_free(struct monitor *m)
{
	if (!m)
		return;
	free(m->details);
	free(m->longs);
	free(m);
}

/* The index at which the next sample is kept; max: it is not. seen: samples so far. */
static size_t place_for(struct monitor *m, size_t *count, size_t max, uint64_t *seen)
{
	(*seen)++;
	if (*count < max)
		return (*count)++;
	const uint64_t at = rng_below(&m->rng, *seen);
	return at < max ? (size_t)at : max;
}

/* A flush or trap: cycles from the commit of the instruction before to this one's fetch, less those
 * of its own miss. */
static uint16_t flushed(const struct monitor *m, const struct rec_inst *r)
{
	const uint64_t from = m->prev_commit + r->lat_icache + r->lat_itlb;
	const bool by = m->prev_flags & (RI_FLUSHES | RI_EXCEPTION) || r->flags & RI_REFETCH;
	return by && r->fetch > from ? clip_u16(r->fetch - from) : 0;
}

static void begin_detail(struct monitor *m, const struct rec_inst *r,
			 const struct shotgun_seen *seen, unsigned bits)
{
	const uint32_t latency = r->complete - r->issue;
	m->in_detail = true;
	m->after = 0;
	m->detail = (struct shotgun_detail){
		.pc = r->pc,
		.target = r->target,
		.signature = m->recent | (uint64_t)bits << 2 * m->config.shape.context,
		.flags =
		    r->flags & (RI_MISPREDICT | RI_BTB_MISS | RI_TAKEN | RI_SERIAL | RI_REFETCH),
		.prod_mem = r->prod_mem,
		.prod_line = r->prod_line,
		.icache = r->lat_icache,
		.itlb = r->lat_itlb,
		.contention = r->lat_fu,
		.latency = clip_u16(latency),
		.miss = r->lat_dmiss,
		.dtlb = r->lat_dtlb,
		.isaved = seen->isaved,
		.dsaved = seen->dsaved,
		.resolve = clip_u16(r->complete),
		.flush = flushed(m, r),
		.stall = clip_u16(seen->stall.cycles),
		.drain = clip_u16(seen->stall.drain),
		.left = clip_u16(seen->stall.left),
		.bus = r->lat_bus,
		.stalled_by = seen->stall.by,
		.level = r->dlevel,
		.ilevel = r->ilevel,
		.faulted = r->psv & PSV_FL_EX && r->flags & RI_LOAD && r->flags & RI_REFETCH &&
			   !r->lat_icache && !r->lat_itlb,
		.bits = (uint8_t)bits,
	};
}

static void end_detail(struct monitor *m)
{
	const size_t at = place_for(m, &m->ndetails, m->config.max_details, &m->seen_details);
	if (at < m->config.max_details)
		m->details[at] = m->detail;
	m->in_detail = false;
	m->to_detail = next_period(m, m->config.detail_period);
}

bool monitor_add(struct monitor *m, const struct rec_inst *r, const struct shotgun_seen *seen)
{
	const unsigned kept = m->config.shape.bits == SHOTGUN_BITS ? SHOTGUN_BIT1 | SHOTGUN_BIT2
								   : SHOTGUN_BIT1,
		       bits = shotgun_bits(r, seen->stored) & kept;
	bool begins = false;
	if (m->in_detail) {
		m->after++;
		m->detail.signature |= (uint64_t)bits << 2 * (m->config.shape.context + m->after);
		if (m->after == m->config.shape.context)
			end_detail(m);
	} else if (m->to_detail) {
		m->to_detail--;
	} else if (m->nrecent == m->config.shape.context) {
		begin_detail(m, r, seen, bits);
	}
	if (!m->in_long && m->to_long) {
		m->to_long--;
	} else if (!m->in_long) {
		m->in_long = begins = true;
		m->position = 0;
		m->now.start = r->pc;
	}
	if (m->in_long) {
		m->now.bits[m->position] = (uint8_t)bits;
		m->now.pcs[m->position] = r->pc;
		if (++m->position == m->config.shape.length) {
			const size_t at =
			    place_for(m, &m->nlongs, m->config.max_longs, &m->seen_longs);
			if (at < m->config.max_longs)
				m->longs[at] = m->now;
			m->in_long = false;
			m->to_long = next_period(m, m->config.long_period);
		}
	}
	m->recent = m->recent >> 2 | (uint64_t)bits << 2 * (m->config.shape.context - 1);
	m->nrecent += m->nrecent < m->config.shape.context;
	m->prev_commit = r->fetch + r->commit;
	m->prev_flags = r->flags;
	return begins;
}

static int by_pc(const void *x, const void *y)
{
	const struct shotgun_detail *a = x, *b = y;
	if (a->pc != b->pc)
		return a->pc < b->pc ? -1 : 1;
	return (a->signature > b->signature) - (a->signature < b->signature);
}

void monitor_finish(struct monitor *m)
{
	if (m->ndetails)
		qsort(m->details, m->ndetails, sizeof(*m->details), by_pc);
}

const struct shotgun_detail *monitor_details(const struct monitor *m, size_t *count)
{
	*count = m->ndetails;
	return m->details;
}

const struct shotgun_long *monitor_longs(const struct monitor *m, size_t *count)
{
	*count = m->nlongs;
	return m->longs;
}

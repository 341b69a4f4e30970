/* SPDX-License-Identifier: MIT */
/*
 * What the edges must know of the machine: sizes, widths and latencies, and which of its limits can
 * bind at all. Limits that an idealised machine does not have are not read, and none that
 * MACHINE_UNLIMITED lifts is kept.
 */
#include <string.h>

#include "analysis/icost/edges.h"
#include "machine/units.h"

/* The port of each kind of unit; EDGES_UNITS: it never binds here (see issue_slots). */
static const uint8_t port_of[UNIT_COUNT] = {
	[UNIT_ALU] = EDGES_UNITS,  [UNIT_BRANCH] = EDGES_UNITS, [UNIT_MUL] = PORT_MUL,
	[UNIT_DIV] = PORT_DIV,	   [UNIT_FADD] = PORT_FADD,	[UNIT_FMUL] = PORT_FMUL,
	[UNIT_FDIV] = PORT_FDIV,   [UNIT_FSQRT] = PORT_FSQRT,	[UNIT_LOAD] = PORT_MEMORY,
	[UNIT_STORE] = PORT_STORE,
};

static void read_units(struct edges_machine *m, const struct machine *machine)
{
	for (unsigned cls = 0; cls < CLASS_COUNT; cls++) {
		const struct unit_use use = units_of_class(machine, cls);
		m->of_class[cls].unit = port_of[use.unit];
		m->of_class[cls].latency = use.latency;
	}
	if (machine->ideal_all & (IDEAL_BW | IDEAL_ISSUE_BW))
		return;
	for (unsigned kind = 0; kind < UNIT_COUNT; kind++) {
		const unsigned k = port_of[kind];
		if (k == EDGES_UNITS)
			continue;
		m->unit[k].count = machine->unit[kind].count;
		/* a multiplier that divides, too, is taken as free for the next multiplication */
		m->unit[k].pipelined = kind == UNIT_FMUL ? machine->unit[kind].pipelined
							 : units_pipelined(machine, kind);
		if (m->unit[k].pipelined && m->unit[k].count >= m->dispatch_width)
			m->unit[k].count = 0;
		if (m->unit[k].count > EDGES_PORTS)
			m->unit[k].count = 0;
	}
	if (!m->unified && machine->unit[UNIT_STORE].count == 0 &&
	    machine->mem_issue < m->unit[PORT_MEMORY].count)
		m->unit[PORT_MEMORY].count = machine->mem_issue;
}

/* Registers beyond the architectural ones; 0: they never bind. */
static uint32_t spare(uint32_t regs)
{
	return regs == MACHINE_UNLIMITED ? 0 : regs - 32;
}

static uint32_t issue_slots(const struct machine *machine)
{
	const uint64_t slots = min_u64(machine->unified ? machine->issue_width : machine->int_issue,
				       machine->unit[UNIT_ALU].count);
	return machine->ideal_all & (IDEAL_BW | IDEAL_ISSUE_BW) || slots == MACHINE_UNLIMITED
		   ? 0
		   : (uint32_t)slots;
}

bool edges_machine_read(struct edges_machine *m, const struct trace_meta *meta,
			const struct machine *machine, struct err *e)
{
	memset(m, 0, sizeof(*m));
	if (!meta->rob_entries || !meta->dispatch_width || !meta->commit_width)
		return err_set(e, "the trace does not say how large the machine's window is");
	if (meta->in_order)
		return err_set(e,
			       "interaction costs need an out-of-order machine; %s issues in order",
			       meta->machine);
	m->rob = meta->rob_entries;
	m->dispatch_width = meta->dispatch_width;
	m->fetch_width = meta->fetch_width;
	m->commit_width = meta->commit_width;
	m->depth = meta->frontend_depth;
	m->fetch_depth = m->depth - (m->depth > machine->decode_depth ? machine->decode_depth : 0);
	m->front_entries = machine->fetch_buffer + (m->depth - m->fetch_depth) * m->dispatch_width;
	m->front_entries -=
	    min_u64(m->front_entries, min_u64(m->fetch_width, machine->fetch_buffer));
	m->redirect = meta->mispredict_loop - min_u64(meta->mispredict_loop, m->depth);
	m->flush = machine->fetch_flush;
	m->fault = machine->page_fault_cycles;
	m->btb_bubble = machine->fetch_btb_bubble;
	m->wakeup = meta->wakeup_latency;
	m->speculates = machine->order == ORDER_SPECULATIVE && !machine->wait_entries &&
			!(machine->ideal_all & IDEAL_FLUSH);
	m->l1d_latency = meta->l1d_latency;
	m->dl1_least = machine->mem.ideal_dl1;
	m->walks_beside = machine->mem.walk_beside;
	m->l2_latency = meta->l2_latency;
	m->mem_latency = meta->mem_latency;
	m->forward_latency = machine->forward_latency;
	m->walk = UINT32_MAX;
	if (machine->mem.walk == MEM_WALK_CACHES)
		m->walk = machine->mem.stlb.latency + m->l2_latency;
	m->line_bytes = machine_line_bytes(&machine->mem, MEM_L1D);
	m->fetch_line_bytes = machine_line_bytes(&machine->mem, MEM_L1I);
	if (machine->mem.cache[MEM_L1D].mshrs <= EDGES_MSHRS)
		m->mshrs = machine->mem.cache[MEM_L1D].mshrs;
	m->lq = meta->lq_entries;
	m->sq = meta->sq_entries;
	m->int_regs = spare(machine->int_regs);
	m->fp_regs = spare(machine->fp_regs);
	m->unified = machine->unified;
	m->iq[0] = m->unified ? machine->unified_queue : machine->int_queue;
	m->iq[1] = machine->mem_queue;
	m->iq[2] = machine->fp_queue;
	m->taken_per_fetch = meta->taken_per_fetch ? meta->taken_per_fetch : 1;
	m->block_bytes = machine->fetch_block_bytes;
	m->branches = machine->branches == MACHINE_UNLIMITED ? m->rob : machine->branches;
	/* All that can be between fetch and commit, at one packet a cycle: more never binds. */
	if (machine->fetch_targets < EDGES_PACKETS &&
	    !(machine->ideal_all & (IDEAL_BW | IDEAL_FETCH_BW)))
		m->targets = machine->fetch_targets;
	read_units(m, machine);
	m->issue_slots = issue_slots(machine);
	if (m->dispatch_width > GRAPH_WIDTH_MAX)
		m->dispatch_width = GRAPH_WIDTH_MAX; /* an idealised machine: never binds */
	return true;
}

static bool queues_bind(const struct edges_machine *m)
{
	return m->iq[0] < m->rob || (!m->unified && (m->iq[1] < m->rob || m->iq[2] < m->rob));
}

uint32_t edges_past(const struct edges_machine *m)
{
	return m->rob + m->front_entries + m->fetch_width * (m->fetch_depth + 2);
}

struct graph_config edges_graph_config(const struct edges_machine *m)
{
	const uint32_t ideal = IDEAL_BW_WIDTH * (m->depth - m->fetch_depth) + IDEAL_BW_WIDTH;
	return (struct graph_config){
		.window = m->rob,
		.window_ideal = IDEAL_WIN_FACTOR * m->rob,
		.past = edges_past(m),
		.fetch_width = m->dispatch_width,
		.commit_width = m->commit_width,
		.depth = m->depth,
		.dispatch_latency = 1,
		.commit_latency = 1,
		.buffer_ideal = (uint32_t)min_u64(ideal, GRAPH_REACH),
		.order_flush = m->flush,
		.issue_edges = queues_bind(m),
		.overtakes = m->speculates,
	};
}

unsigned edges_queue_of(const struct edges_machine *m, unsigned cls)
{
	if (m->unified)
		return 0;
	switch (cls) {
	case CLASS_LOAD:
	case CLASS_STORE:
	case CLASS_AMO:
	case CLASS_HINT:
		return 1;
	case CLASS_FADD:
	case CLASS_FMUL:
	case CLASS_FDIV:
	case CLASS_FSQRT:
		return 2;
	default:
		return 0;
	}
}

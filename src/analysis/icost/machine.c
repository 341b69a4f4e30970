/* SPDX-License-Identifier: MIT */
/*
 * What the edges must know of the machine, from its description and from what every source of
 * records says of itself: sizes, widths and latencies, and which of its limits can bind at all.
 * Limits that an idealised machine does not have are not read.
 *
 * A source without a description (an imported trace) has an issue queue as large as the reorder
 * buffer, registers for all, and units that never bind.
 */
#include <string.h>

#include "analysis/icost/edges.h"
#include "analysis/icost/settings.h"
#include "isa/isa.h"

static uint32_t setting(const struct trace_info *info, const char *section, const char *key,
			uint32_t otherwise)
{
	return (uint32_t)setting_number(info, section, key, otherwise);
}

static void read_units(struct edges_machine *m, const struct trace_info *info)
{
	static const char *const name[EDGES_UNITS] = {
		[PORT_MEMORY] = "load", [PORT_STORE] = "store", [PORT_MUL] = "mul",
		[PORT_DIV] = "div",	[PORT_FADD] = "fadd",	[PORT_FMUL] = "fmul",
		[PORT_FDIV] = "fdiv",	[PORT_FSQRT] = "fsqrt",
	};
	if (!info || setting_on(info, "ideal", "bw"))
		return;
	for (unsigned k = 0; k < EDGES_UNITS; k++) {
		char key[32];
		snprintf(key, sizeof(key), "%s_pipelined", name[k]);
		m->unit[k].count = setting(info, "units", name[k], 0);
		char latency[32];
		snprintf(latency, sizeof(latency), "%s_latency", name[k]);
		m->unit[k].latency = setting(info, "units", latency, 1);
		m->unit[k].pipelined = k <= PORT_STORE || setting_on(info, "units", key);
		if (m->unit[k].pipelined && m->unit[k].count >= m->dispatch_width)
			m->unit[k].count = 0;
		if (m->unit[k].count > EDGES_PORTS)
			m->unit[k].count = 0;
	}
	if (!m->unified) {
		const uint32_t memory = setting(info, "window", "mem_issue", UINT32_MAX);
		if (m->unit[PORT_STORE].count == 0 && memory < m->unit[PORT_MEMORY].count)
			m->unit[PORT_MEMORY].count = memory;
	}
}

bool edges_machine_read(struct edges_machine *m, const struct trace_meta *meta,
			const struct trace_info *info, struct err *e)
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
	m->fetch_depth = setting(info, "fetch", "depth", m->depth > 3 ? m->depth - 3 : m->depth);
	const uint32_t buffer = setting(info, "fetch", "buffer", 32);
	m->front_entries = buffer + (m->depth - m->fetch_depth) * m->dispatch_width;
	m->front_entries -= min_u64(m->front_entries, min_u64(m->fetch_width, buffer));
	m->redirect = meta->mispredict_loop - min_u64(meta->mispredict_loop, m->depth);
	m->flush = setting(info, "fetch", "flush", m->redirect);
	m->fault = setting(info, "exception", "page_fault_cycles", 0);
	m->btb_bubble = setting(info, "fetch", "btb_bubble", 0);
	m->wakeup = meta->wakeup_latency;
	m->l1d_latency = meta->l1d_latency;
	m->l2_latency = meta->l2_latency;
	m->mem_latency = meta->mem_latency;
	m->forward_latency = setting(info, "lsu", "forward_latency", m->l1d_latency);
	m->walk = UINT32_MAX;
	if (setting_is(info, "walk", "kind", "caches"))
		m->walk = setting(info, "stlb", "latency", 0) + m->l2_latency;
	m->line_bytes = meta->line_bytes ? meta->line_bytes : 64;
	m->lq = meta->lq_entries;
	m->sq = meta->sq_entries;
	m->int_regs = setting(info, "window", "int_regs", UINT32_MAX);
	m->fp_regs = setting(info, "window", "fp_regs", UINT32_MAX);
	m->int_regs = m->int_regs == UINT32_MAX ? 0 : m->int_regs - 32;
	m->fp_regs = m->fp_regs == UINT32_MAX ? 0 : m->fp_regs - 32;
	m->unified = !info || setting_on(info, "window", "unified");
	m->iq[0] = m->unified ? setting(info, "window", "queue", m->rob)
			      : setting(info, "window", "int_queue", m->rob);
	m->iq[1] = setting(info, "window", "mem_queue", m->rob);
	m->iq[2] = setting(info, "window", "fp_queue", m->rob);
	m->taken_per_fetch = meta->taken_per_fetch ? meta->taken_per_fetch : 1;
	/* a trace may say anything */
	m->block_bytes = (uint32_t)max_u64(setting(info, "fetch", "block_bytes", 16), 1);
	m->targets = setting(info, "fetch", "targets", 0);
	m->branches = setting(info, "decode", "branches", m->rob);
	/* All that can be between fetch and commit, at one packet a cycle: more never binds. */
	if (m->targets >= EDGES_PACKETS || setting_on(info, "ideal", "bw"))
		m->targets = 0;
	read_units(m, info);
	if (info && !setting_on(info, "ideal", "bw"))
		m->issue_slots =
		    (uint32_t)min_u64(m->unified ? setting(info, "window", "issue_width", 0)
						 : setting(info, "window", "int_issue", 0),
				      setting(info, "units", "alu", UINT32_MAX));
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
		.issue_edges = queues_bind(m),
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

enum edges_unit edges_unit_of(const struct edges_machine *m, unsigned cls)
{
	switch (cls) {
	case CLASS_LOAD:
	case CLASS_AMO:
	case CLASS_HINT:
		return PORT_MEMORY;
	case CLASS_STORE:
		return m->unit[PORT_STORE].count ? PORT_STORE : PORT_MEMORY;
	case CLASS_MUL:
		return PORT_MUL;
	case CLASS_DIV:
		return PORT_DIV;
	case CLASS_FADD:
		return PORT_FADD;
	case CLASS_FMUL:
		return PORT_FMUL;
	case CLASS_FDIV:
		return PORT_FDIV;
	case CLASS_FSQRT:
		return m->unit[PORT_FSQRT].count ? PORT_FSQRT : PORT_FDIV;
	default:
		return EDGES_UNITS;
	}
}

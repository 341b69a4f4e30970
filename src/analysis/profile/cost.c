/* SPDX-License-Identifier: MIT */
/*
 * Storage and bandwidth of the profilers, as the papers count them.
 *
 * TIP: the OIR (an address and 3 flags), the cycle register, the flags register and an address
 * register per commit way, all of 64 bits. TEA adds 2 bits (the events of fetch) per entry of the
 * fetch buffer, of decode and of dispatch, three 2-bit registers in fetch, one bit in dispatch for DR-SQ, one
 * bit per entry of the load and store queues for ST-TLB, a PSV per entry of the ROB, and one for the last
 * instruction that committed; other sets of events in proportion. IBS, SPE and RIS track one instruction: a bit per event.
 *
 * Slowdown: tip2021 measured 1.0% for samples of 56 bytes and 1.1% for 88, at 4 kHz. At 3.2 GHz that
 * is an interrupt of 6600 cycles and 25 for each byte; the first can be given.
 */
#include "analysis/profile/cost.h"

#include "analysis/profile/profilers.h"
#include "trace/record.h"
#include "trace/tip_file.h"

#define CYCLES_PER_BYTE 25
/* Events that are known where an instruction is fetched, at dispatch, in the load and store queues. */
#define FETCH_EVENTS	  (PSV_DR_L1 | PSV_DR_TLB | PSV_DR_L2 | PSV_DR_LLC | PSV_DR_STLB)
#define DISPATCH_EVENTS	  (PSV_DR_SQ | PSV_SERIAL)
#define LSU_EVENTS	  (PSV_ST_TLB | PSV_ST_STLB)
#define FETCH_REGISTERS	  3
#define LIMIT_BYTES(bits) (((bits) + 7) / 8)

/* The registers with (psv_bits > 0) or without PSVs; the widest commit has 32 ways. */
static struct tip_layout layout_of(const struct machine *m, unsigned psv_bits)
{
	struct tip_layout l = { .ways = 0 };

	tip_layout(m->commit_width, psv_bits, &l);
	return l;
}

static unsigned bits(unsigned events)
{
	return (unsigned)__builtin_popcount(events);
}

void cost_storage(const struct machine *m, unsigned events, struct cost_storage *out)
{
	const unsigned psv = bits(events), fetch = bits(events & FETCH_EVENTS);
	const struct tip_layout tip = layout_of(m, 0), tea = layout_of(m, psv);
	const unsigned dispatch = m->dispatch_width ? m->dispatch_width : m->decode_width;

	*out = (struct cost_storage){
		.oir = 64 + 3,
		.csrs = 64 * (1 + tip.csrs + tip.ways),
		.fetch_buffer = fetch * m->fetch_buffer,
		.rob = psv * m->rob,
		.front = fetch * (FETCH_REGISTERS + m->decode_width + dispatch) +
			 bits(events & DISPATCH_EVENTS),
		.lsu = bits(events & LSU_EVENTS) * (m->load_queue + m->store_queue),
		.last = psv,
	};
	out->tip_bytes = LIMIT_BYTES(out->oir) + LIMIT_BYTES(out->csrs);
	out->tea_bytes = LIMIT_BYTES(out->fetch_buffer) + LIMIT_BYTES(out->rob) +
			 LIMIT_BYTES(out->front) + LIMIT_BYTES(out->lsu) + LIMIT_BYTES(out->last) +
			 8 * (tea.csrs - tip.csrs); /* PSVs that do not fit beside the flags */
	out->both_bytes = out->tip_bytes + out->tea_bytes;
}

void cost_profiler(const struct machine *m, enum profiler_id id, double hertz, double interrupt,
		   struct cost_profiler *out)
{
	const struct profiler *p = &profilers[id];
	const bool tip = p->rule == SELECT_TIP || p->rule == SELECT_HARDWARE,
		   tagged = p->rule == SELECT_DISPATCH || p->rule == SELECT_FETCH;
	struct cost_storage s;

	cost_storage(m, PSV_TEA, &s);
	*out = (struct cost_profiler){ .sample_bytes = TIP_METADATA + 16 };
	if (tip) {
		out->sample_bytes = layout_of(m, p->events ? EVENT_TEA_COUNT : 0).sample_bytes;
		out->storage_bits = 8 * (p->events ? s.both_bytes : s.tip_bytes);
	} else if (p->rule == SELECT_TIP_OLDEST) {
		out->storage_bits = 8 * (LIMIT_BYTES(s.oir) + 3 * 8);
	} else if (p->events && !tagged) {
		out->storage_bits = 8 * s.tea_bytes; /* any instruction may be the next to commit */
	} else if (tagged) {
		out->storage_bits = (unsigned)__builtin_popcount(p->events);
	}
	out->bytes_per_second = out->sample_bytes * hertz;
	out->slowdown = hertz * (interrupt + CYCLES_PER_BYTE * (double)out->sample_bytes) /
			(m->clock_ghz * 1e9);
}

/* Per cycle a word for each way's address, for the one at dispatch, for the time, and for the flags and
 * the pointers to head and tail. */
double cost_oracle(const struct machine *m)
{
	return 8.0 * (m->commit_width + 3) * m->clock_ghz * 1e9;
}

/* Per cycle and way an address and a PSV. */
double cost_golden(const struct machine *m)
{
	return m->commit_width * (64 + EVENT_TEA_COUNT) / 8.0 * m->clock_ghz * 1e9;
}

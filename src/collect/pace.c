/* SPDX-License-Identifier: MIT */
#include "collect/pace.h"

#include <stddef.h>

#include "util/util.h"

#define SECOND_NS 1000000000u
#define NOTE_NS	  (SECOND_NS / 10) /* between two moments that are kept */

/* Processor time since the last moment that is at least a second ago, or since the first one. */
static uint64_t used(const struct pace *p, uint64_t now_ns, uint64_t cpu_ns)
{
	const uint32_t kept = p->n < ARRAY_LEN(p->seen) ? p->n : (uint32_t)ARRAY_LEN(p->seen);
	uint64_t from = cpu_ns;

	for (uint32_t i = 0; i < kept; i++) {
		const uint32_t at = (p->n - 1 - i) % ARRAY_LEN(p->seen);

		from = p->seen[at].cpu_ns;
		if (now_ns - p->seen[at].at_ns >= SECOND_NS)
			break;
	}
	return cpu_ns - from;
}

uint64_t pace_slice(struct pace *p, uint64_t now_ns, uint64_t cpu_ns)
{
	const uint64_t spent = used(p, now_ns, cpu_ns);
	const uint64_t left = spent < PACE_SECOND_NS ? PACE_SECOND_NS - spent : 0;
	uint64_t slice = left < PACE_SLICE_NS ? left : PACE_SLICE_NS;

	if (!p->n || now_ns - p->seen[(p->n - 1) % ARRAY_LEN(p->seen)].at_ns >= NOTE_NS) {
		p->seen[p->n % ARRAY_LEN(p->seen)].at_ns = now_ns;
		p->seen[p->n++ % ARRAY_LEN(p->seen)].cpu_ns = cpu_ns;
	}
	if (!p->slice_ns)
		p->slice_ns = now_ns;
	else if (now_ns - p->slice_ns < PACE_EVERY_NS)
		return 0;
	if (slice < PACE_LEAST_NS)
		slice = now_ns - p->slice_ns >= PACE_STARVED_S * (uint64_t)SECOND_NS ? PACE_LEAST_NS
										     : 0;
	if (slice)
		p->slice_ns = now_ns;
	return slice;
}

/* SPDX-License-Identifier: MIT */
/*
 * Storage of the methods' counters, from the machine's parameters (eyerman2006 figure 10 and sections 2
 * and 4). The paper gives no widths. Chosen here: a local counter holds four times the longest miss, a
 * page walk and an access to memory, because misses add up in a row; one that counts slots is log2 of the
 * dispatch width wider; a global counter has 48 bits.
 *
 * fmt_paper    a row a branch: its number in the ROB, "mispredicted", a penalty counter, three of I-side
 *              misses; three pointers into the table
 * fmt          a row has six penalty counters (charged; under a short miss; lost to a slow head in any case,
 *              by latency and by misses; under a long miss; under a page walk) and three of I-side misses, all
 *              in slots, and "full" and "blocked" bits; beside the pointers into the table four into the ROB
 *              (miss, delayed, bound, long), counters of a miss's delay, its age, the walk, the front end's
 *              pipeline of causes, and the typical branch
 *              Three ideal clocks: a time stamp for each register, for each entry of the ROB, for dispatch, commit
 *              and the account; and how many units of a kind are busy in each of the next IDEAL_TABLE cycles,
 *              for kinds that operations may have to wait for. A stamp spans the ROB's slowest operations.
 * sfmt         the same with one set of I-side counters, and a miss bit an entry of the ROB
 * power5       why the front end last delivered nothing, and what the head waits for: 3 bits each
 * naive        nothing beside global counters; naive_non_spec a bit an entry of the ROB for each event
 * by stage     as power5; stalls: how many instructions wait to issue
 */
#include "analysis/cpistack/bits.h"

#include "analysis/cpistack/ideal.h"

#define EVENTS 7 /* that naive methods count */

static unsigned bits_for(uint64_t most)
{
	unsigned n = 0;

	for (; most; most >>= 1)
		n++;
	return n;
}

static unsigned clock_bits(const struct machine *m, unsigned width)
{
	unsigned slowest = 1, table = 0;

	if (m->model == MODEL_INORDER)
		return 0;
	for (unsigned k = 0; k < UNIT_COUNT; k++) {
		slowest = m->unit[k].latency > slowest ? m->unit[k].latency : slowest;
		if (ideal_keeps(m, width, k))
			table += IDEAL_TABLE * bits_for(m->unit[k].count);
	}
	return CLOCKS * ((63 + m->rob + 5) * bits_for((uint64_t)m->rob * slowest * width) + table);
}

void cpistack_bits(const struct machine *m, enum cpi_method method, struct cpistack_bits *out)
{
	const unsigned width = m->dispatch_width ? m->dispatch_width : m->decode_width;
	const unsigned id = bits_for(m->rob - 1), rows = m->branches,
		       local = bits_for(4 * ((uint64_t)m->mem.mem.latency + m->mem.walk_latency)),
		       slots = local + bits_for(width - 1), row_id = bits_for(rows - 1),
		       front = m->fetch_depth + m->decode_depth;

	*out = (struct cpistack_bits){ .globals = 1 + EVENTS + 1 };
	switch (method) {
	case METHOD_FMT_PAPER:
		out->rows = rows;
		out->table = rows * (id + 1 + 4 * local);
		out->pointers = 3 * row_id;
		break;
	case METHOD_FMT:
	case METHOD_SFMT:
		out->rows = rows;
		out->table = rows * (id + 3 + (method == METHOD_FMT ? 9 : 6) * slots);
		out->rob = method == METHOD_SFMT ? m->rob : 0;
		out->pointers = 3 * row_id + 4 * id + 3 * slots + 4 * front + slots + 6 +
				(method == METHOD_SFMT ? 3 * slots : 0);
		out->clocks = clock_bits(m, width);
		break;
	case METHOD_NAIVE:
		out->globals = EVENTS + 1;
		break;
	case METHOD_NAIVE_NON_SPEC:
		out->globals = EVENTS + 1;
		out->rob = EVENTS * m->rob;
		break;
	case METHOD_STALLS:
		out->pointers = id + 6;
		break;
	default:
		out->pointers = 6;
		break;
	}
	out->bits =
	    out->table + out->rob + out->clocks + out->pointers + out->globals * CPISTACK_GLOBAL;
}

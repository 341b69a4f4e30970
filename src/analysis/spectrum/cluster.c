/* SPDX-License-Identifier: MIT */
/*
 * Forms clusters of misses and adds up their costs. One cluster is open at a time; it takes a fixed
 * number of words, whatever its size. The first miss that does not belong to it closes it.
 */
#include "analysis/spectrum/cluster.h"

#include <string.h>

#include "util/util.h"

unsigned size_row(uint64_t size)
{
	return size <= SIZE_EXACT ? (unsigned)size
				  : SIZE_EXACT + 58 - (unsigned)__builtin_clzll(size);
}

uint64_t size_of_row(unsigned row)
{
	return row <= SIZE_EXACT       ? row
	       : row == SIZE_EXACT + 1 ? SIZE_EXACT + 1
				       : 1ull << (row - 59);
}

void clusters_init(struct clusters *c, struct stamps *stamps, uint32_t recovery)
{
	c->stamps = stamps;
	c->recovery = recovery;
	tally_init(&c->bins);
	loads_init(&c->loads);
}

void clusters_free(struct clusters *c)
{
	tally_free(&c->bins);
	loads_free(&c->loads);
}

void clusters_begin(struct clusters *c, uint64_t cycle)
{
	c->region = cycle;
	c->open = false;
}

void clusters_settle(struct clusters *c)
{
	const struct stamps *s = c->stamps;
	struct cluster *n = &c->now;
	if (!c->open || !stamps_any(s))
		return;
	if (!n->has_supremum && stamps_last(s)->commit >= n->end) {
		n->has_supremum = true;
		n->supremum = stamps_committed(s, n->end) + 1;
		n->supremum_commit = stamps_at(s, n->supremum)->commit;
		n->supremum_twin = stamps_at(s, n->supremum)->twin_commit;
	}
	if (!n->has_recovery && stamps_last(s)->dispatch >= n->end) {
		n->has_recovery = true;
		n->recovery = stamps_dispatched(s, n->end) + c->recovery;
	}
	if (n->has_recovery && !n->recovered && s->end > n->recovery) {
		n->recovered = true;
		n->recovery_lag = stamps_lag(s, n->recovery);
		n->recovery_commit = stamps_at(s, n->recovery)->commit;
	}
}

static unsigned pattern_of(const struct cluster *n)
{
	unsigned p = 0;
	if (n->size <= SPECTRUM_PATTERNS)
		for (uint64_t i = 0; i < n->size; i++)
			p = p << 2 | n->pattern[i];
	return p;
}

static int64_t cost_of(const struct cluster *n)
{
	return (int64_t)(n->supremum_commit - n->infimum_dispatch) -
	       (int64_t)(n->supremum_twin - n->infimum_twin);
}

static void count_cluster(struct clusters *c, int64_t net)
{
	const struct cluster *n = &c->now;
	const int64_t cost = cost_of(n);
	struct size_sums *s = &c->sizes[size_row(n->size)];
	s->clusters++;
	s->misses += n->size;
	s->cost += cost;
	s->net += net;
	for (unsigned k = 0; k < SPECTRUM_LEVELS; k++) {
		s->level[k] += n->level[k];
		c->level[k] += n->level[k];
	}
	c->clusters++;
	c->misses += n->size;
	c->largest = max_u64(c->largest, n->size);
	c->cost += cost;
	c->net += net;
	c->zero += net == 0;
	c->negative += net < 0;
	if (n->size > SPECTRUM_SIZES)
		return;
	const unsigned size = (unsigned)n->size, pattern = pattern_of(n);
	tally_add(&c->bins, bin_key(MEASURE_COST, size, n->kind, pattern, bin_of(cost)), 1);
	tally_add(&c->bins, bin_key(MEASURE_NET, size, n->kind, pattern, bin_of(net)), 1);
}

/* Offers the cluster, whose net cost ends with instruction `last`, to the sample. */
static void offer(struct clusters *c, uint64_t last, uint64_t last_commit, int64_t net)
{
	const struct cluster *n = &c->now;

	samples_close(c->samples, &(struct sampled){ .begin = n->begin,
						     .end = n->end,
						     .size = n->size,
						     .kind = n->kind,
						     .pattern = pattern_of(n),
						     .infimum = n->infimum,
						     .supremum = n->supremum,
						     .last = last,
						     .last_commit = last_commit,
						     .cost = cost_of(n),
						     .net = net });
}

/* Closes the open cluster. If it has not recovered, it ends with a lag of `lag` when instruction
 * `last` commits. */
static void close_cluster(struct clusters *c, uint64_t last, int64_t lag, bool tail)
{
	struct cluster *n = &c->now;
	clusters_settle(c);
	tail = tail || n->cut || !n->has_supremum;
	const bool recovered = !tail && n->recovered && n->recovery <= last;
	const int64_t end = recovered ? n->recovery_lag : lag;
	const int64_t net = end - n->lag_before;
	if (n->head)
		c->head += net;
	else if (tail)
		c->tail += net;
	else
		count_cluster(c, net);
	if (c->samples && (n->head || tail))
		samples_close(c->samples, NULL);
	else if (c->samples && recovered)
		offer(c, n->recovery, n->recovery_commit, net);
	else if (c->samples)
		offer(c, last, stamps_at(c->stamps, last)->commit, net);
	if (n->head || tail) {
		c->cut++;
		c->cut_misses += n->size;
	}
	c->drift += lag - end;
	c->lag = lag;
	c->open = false;
	loads_close(&c->loads, n->size, net, !n->head && !tail);
}

static void open_cluster(struct clusters *c, const struct rec_miss *m, uint64_t infimum)
{
	const struct stamps *s = c->stamps;
	const uint64_t last = stamps_committed(s, m->begin);
	const struct stamp *i = stamps_at(s, infimum);
	const int64_t lag = stamps_lag(s, last);
	c->drift += lag - c->lag;
	c->lag = lag;
	c->open = true;
	c->longer_than_kept += infimum < s->first && s->forgot;
	c->now =
	    (struct cluster){ .begin = m->begin,
			      .kind = m->kind,
			      .head = m->begin < c->region || (infimum < s->first && !s->forgot),
			      .infimum = infimum,
			      .infimum_dispatch = i->dispatch,
			      .infimum_twin = i->twin_dispatch,
			      .lag_before = lag };
}

/* Whether a cluster with this infimum is separate from the open one. */
static bool stands_apart(const struct clusters *c, uint64_t infimum)
{
	const struct cluster *n = &c->now;
	return n->has_supremum && infimum > n->supremum &&
	       stamps_at(c->stamps, infimum)->dispatch >= n->supremum_commit;
}

/* By how much the lag grew at an instruction. */
static int64_t growth_at(const struct stamps *s, uint64_t po)
{
	return po < s->first || po >= s->end ? 0 : stamps_lag(s, po) - stamps_lag(s, po - 1);
}

/* By how much the lag grew at the instructions that waited for the miss: at the oldest one of the
 * right path, and at the one that caused it. A store does not wait, but if the store queue is full,
 * a later one does. */
static int64_t exposed(const struct stamps *s, const struct rec_miss *m)
{
	const bool causes = !(m->flags & MISS_WRONG_PATH) && m->waits &&
			    (m->kind == MISS_STORE || miss_is_waited_for(m->kind));
	return (m->waits == WAITS_NONE ? 0 : growth_at(s, miss_waiter(m))) +
	       (causes ? growth_at(s, m->po) : 0);
}

void clusters_miss(struct clusters *c, const struct rec_miss *m, unsigned level)
{
	const struct stamps *s = c->stamps;
	struct cluster *n = &c->now;
	const uint64_t infimum = stamps_dispatched(s, m->begin);
	if (!c->open) {
		if (!c->lag_known) {
			c->lag_known = true;
			c->lag = s->base;
		}
		open_cluster(c, m, infimum);
	} else if (m->begin > n->end) {
		clusters_settle(c);
		if (stands_apart(c, infimum)) {
			const uint64_t last = stamps_committed(s, m->begin);
			close_cluster(c, last, stamps_lag(s, last), false);
			open_cluster(c, m, infimum);
		} else {
			c->merged++;
		}
	}
	if (miss_end(m) > n->end) {
		n->end = miss_end(m);
		n->has_supremum = n->has_recovery = n->recovered = false;
	}
	if (n->size < SPECTRUM_SIZES)
		n->pattern[n->size] = (uint8_t)level;
	n->size++;
	n->level[level]++;
	n->kind = n->kind == m->kind ? n->kind : KIND_MIXED;
	n->cut = n->cut || m->flags & MISS_CUT;
	if (c->samples)
		samples_miss(c->samples, m);
	loads_miss(&c->loads, m, level, exposed(s, m));
}

void clusters_end(struct clusters *c, uint64_t cycle)
{
	const struct stamps *s = c->stamps;
	if (!stamps_any(s)) {
		if (c->open)
			loads_close(&c->loads, c->now.size, 0, false);
		c->open = false;
		return;
	}
	const int64_t lag = stamps_lag(s, s->end - 1);
	if (!c->lag_known)
		c->lag = s->base;
	if (c->open)
		close_cluster(c, s->end - 1, lag, c->now.end > cycle);
	c->drift += lag - c->lag;
	c->lag_known = false;
	c->adder += lag - s->base;
}

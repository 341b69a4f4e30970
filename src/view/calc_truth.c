/* SPDX-License-Identifier: MIT */
/*
 * What really happened, beside the estimates: exact executions, cycles at the head of the issue
 * queue and why, and executions of edges. Nothing in calc/ sees any of it, but for `--method exact`,
 * which exists to tell errors of culprits from errors of frequencies.
 *
 * Table calc_truth_edge has control transfers alone. Where a block runs into the next one, or goes on
 * after a call that returns, the edge was executed as often as the block. An edge that enters or
 * leaves the function has what the block's other edges leave over, if it is the only one.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "view/calc_int.h"

/* Addresses come sorted, and so do instructions of one part of a procedure: the search begins at the
 * last hit. */
struct finder {
	const struct calc_model *m;
	struct truth_place {
		uint64_t pc;
		uint32_t proc, inst;
	} * places;
	size_t count;
};

static int by_pc(const void *a, const void *b)
{
	const struct truth_place *x = a, *y = b;

	return x->pc < y->pc ? -1 : x->pc > y->pc;
}

static struct finder make_finder(const struct calc_model *m)
{
	struct finder f = { .m = m };
	size_t all = 0;

	for (uint32_t p = 0; p < m->program.nprocs; p++)
		all += m->names[p].graph->ninsts;
	f.places = x_calloc(all + 1, sizeof(*f.places));
	for (uint32_t p = 0; p < m->program.nprocs; p++)
		for (uint32_t i = 0; i < m->names[p].graph->ninsts; i++)
			f.places[f.count++] =
			    (struct truth_place){ m->names[p].graph->insts[i].pc, p, i };
	qsort(f.places, f.count, sizeof(*f.places), by_pc);
	return f;
}

/* Calls its body with `t`, the truth of each procedure that has an instruction at pc. */
#define AT(f, at, t)                                                                               \
	for (size_t k_ = ARRAY_SEARCH((f)->count, k, (f)->places[k].pc < (at));                    \
	     k_ < (f)->count && (f)->places[k_].pc == (at); k_++)                                  \
		for (struct calc_truth *t =                                                        \
			 &(f)->m->names[(f)->places[k_].proc].truth[(f)->places[k_].inst];         \
		     t; t = NULL)

static bool read_insts(struct calc_model *m, const struct finder *f, struct err *e)
{
	struct store_rows r =
	    store_query(m->store, "SELECT pc, executions, head FROM calc_truth", "");

	while (store_next(&r)) {
		m->truth = true;
		AT(f, (uint64_t)store_int(&r, 0), t)
		{
			t->executions = store_double(&r, 1);
			/* out of order, nothing waits at the head of an issue queue */
			t->head =
			    m->program.sampling.mode == CALC_ISSUE ? store_double(&r, 2) : NAN;
		}
	}
	if (!store_done(&r, e))
		return false;
	r = store_query(m->store,
			"SELECT pc, reason, sum(cycles) FROM calc_truth_reason GROUP BY pc, reason",
			"");
	while (store_next(&r)) {
		const int64_t reason = store_int(&r, 1);

		if (reason < 0 || reason >= REASON_COUNT || words_reason_cause[reason] < 0)
			continue;
		AT(f, (uint64_t)store_int(&r, 0), t)
		{
			t->cause[words_reason_cause[reason]] += store_double(&r, 2);
		}
	}
	if (!store_done(&r, e))
		return false;
	r = store_query(m->store, "SELECT pc, event, count FROM calc_truth_event", "");
	while (store_next(&r)) {
		const int64_t event = store_int(&r, 1);

		if (event < 0 || event >= SAMPLED_COUNT)
			continue;
		AT(f, (uint64_t)store_int(&r, 0), t)
		{
			t->event[event] += store_double(&r, 2);
		}
	}
	return store_done(&r, e);
}

/* ---- edges ---- */

struct hop {
	uint64_t source, target;
	double count;
};

static int by_hop(const void *a, const void *b)
{
	const struct hop *x = a, *y = b;

	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	return x->target < y->target ? -1 : x->target > y->target;
}

static double hop_count(const struct hop *hops, size_t count, uint64_t source, uint64_t target)
{
	const struct hop key = { source, target, 0 };
	const size_t at = ARRAY_SEARCH(count, i, by_hop(&hops[i], &key) < 0);

	return at < count && !by_hop(&hops[at], &key) ? hops[at].count : 0;
}

/* Two edges of a block lead to the same place: a branch to what follows it anyway. */
static bool is_double(const struct cfg *g, uint32_t edge)
{
	const struct cfg_block *b = &g->blocks[g->edges[edge].from];

	for (uint32_t k = b->first_out; k < b->first_out + b->nout; k++)
		if (k != edge && g->edges[k].to == g->edges[edge].to)
			return true;
	return false;
}

static double inner_edge(const struct calc_name *n, uint32_t edge, const struct hop *hops,
			 size_t count)
{
	const struct cfg *g = n->graph;
	const struct cfg_edge *d = &g->edges[edge];
	const struct cfg_block *b = &g->blocks[d->from];
	const uint32_t last = b->first + b->count - 1;

	if (is_double(g, edge))
		return NAN;
	if (g->insts[last].flow == IMAGE_NEXT || b->flags & CFG_BLOCK_CALLS)
		return n->truth[last].executions;
	return hop_count(hops, count, g->insts[last].pc, g->blocks[d->to].start);
}

/* What the known edges of a block leave over for the only one that is not known. */
static void leave_over(const struct cfg *g, double *edges, double executions, uint32_t first,
		       uint32_t count, bool in)
{
	uint32_t unknown = UINT32_MAX;
	double known = 0;

	for (uint32_t k = first; k < first + count; k++) {
		const uint32_t edge = in ? g->in[k] : k;

		if (!isnan(edges[edge]))
			known += edges[edge];
		else if (unknown == UINT32_MAX)
			unknown = edge;
		else
			return;
	}
	if (unknown != UINT32_MAX)
		edges[unknown] = fmax(executions - known, 0);
}

static void put_edges(struct calc_name *n, const struct hop *hops, size_t count)
{
	const struct cfg *g = n->graph;

	n->edges = x_calloc(g->nedges + 1, sizeof(*n->edges));
	for (uint32_t k = 0; k < g->nedges; k++)
		n->edges[k] = g->edges[k].from == CFG_OUTSIDE || g->edges[k].to == CFG_OUTSIDE
				  ? NAN
				  : inner_edge(n, k, hops, count);
	for (uint32_t b = 0; b < g->nblocks; b++) {
		const struct cfg_block *block = &g->blocks[b];
		const uint32_t last = block->first + block->count - 1;

		leave_over(g, n->edges, n->truth[last].executions, block->first_out, block->nout,
			   false);
		leave_over(g, n->edges, n->truth[block->first].executions, block->first_in,
			   block->nin, true);
	}
}

static bool read_edges(struct calc_model *m, struct err *e)
{
	struct store_rows r =
	    store_query(m->store, "SELECT source, target, count FROM calc_truth_edge", "");
	struct hop *hops = NULL;
	size_t count = 0;

	while (store_next(&r))
		*ARRAY_ADD(hops, count) =
		    (struct hop){ (uint64_t)store_int(&r, 0), (uint64_t)store_int(&r, 1),
				  store_double(&r, 2) };
	const bool ok = store_done(&r, e);

	if (count)
		qsort(hops, count, sizeof(*hops), by_hop);
	for (uint32_t p = 0; ok && p < m->program.nprocs; p++)
		put_edges(&m->names[p], hops, count);
	free(hops);
	return ok;
}

bool calc_read_truth(struct calc_model *m, struct err *e)
{
	if (!store_number(m->store, "SELECT 1 FROM calc_truth LIMIT 1", 0))
		return true;
	for (uint32_t p = 0; p < m->program.nprocs; p++)
		m->names[p].truth =
		    x_calloc(m->names[p].graph->ninsts + 1, sizeof(*m->names[p].truth));
	struct finder f = make_finder(m);
	const bool ok = read_insts(m, &f, e) && read_edges(m, e);

	free(f.places);
	return ok;
}

/* ---- frequencies of the truth ---- */

static void put_exact(struct calc_program *p, struct calc_proc *proc, const struct calc_name *n)
{
	const struct cfg *g = proc->graph;
	const double period = (double)p->sampling.period[SAMPLED_CYCLES];

	for (uint32_t b = 0; b < g->nblocks; b++) {
		const double f = n->truth[g->blocks[b].first].executions;

		proc->blocks[b] = (struct calc_freq){ f, f, f, CONFIDENCE_HIGH, ORIGIN_CLUSTER };
		for (uint32_t i = g->blocks[b].first; i < g->blocks[b].first + g->blocks[b].count;
		     i++)
			proc->insts[i].cpi =
			    f > 0 ? proc->insts[i].count[SAMPLED_CYCLES] * period / f : NAN;
	}
	for (uint32_t k = 0; k < g->nedges; k++) {
		const double f = n->edges[k];

		proc->edges[k] = (struct calc_freq){ f, f, f, CONFIDENCE_HIGH, ORIGIN_CLUSTER };
	}
}

bool calc_run_exact(struct calc_model *m, struct err *e)
{
	struct calc_program *p = &m->program;

	if (!m->truth)
		return err_set(e,
			       "%s has no truth to take exact frequencies from: run with --analyze "
			       "issue,truth",
			       store_path(m->store));
	for (uint32_t i = 0; i < p->nprocs; i++) {
		struct calc_proc *proc = &p->procs[i];

		for (uint32_t k = 0; k < proc->graph->ninsts; k++)
			proc->samples += proc->insts[k].count[SAMPLED_CYCLES];
		if (p->sampling.mode == CALC_ISSUE)
			calc_schedule(p->machine, proc, true);
		put_exact(p, proc, &m->names[i]);
		if (p->sampling.mode == CALC_ISSUE)
			calc_schedule(p->machine, proc, false);
	}
	if (p->sampling.mode == CALC_ISSUE && p->options.cross == CROSS_SELECTIVE)
		calc_passed(p);
	for (uint32_t i = 0; i < p->nprocs && p->sampling.mode == CALC_ISSUE; i++)
		calc_culprits(p, &p->procs[i]);
	return true;
}

/*
 * The run says that an instruction waited for a busy unit, or to be serialised, whether or not a schedule
 * knows it. What the schedule knows is part of M and no stall: it is taken from these causes, so that causes
 * are what is beyond M.
 */
void calc_truth_beyond(struct calc_model *m)
{
	static const enum cause scheduled[] = { CAUSE_DIVIDE, CAUSE_MULTIPLY, CAUSE_SYNC };

	for (uint32_t p = 0; m->truth && p < m->program.nprocs; p++)
		for (uint32_t i = 0; i < m->names[p].graph->ninsts; i++) {
			struct calc_truth *t = &m->names[p].truth[i];
			const double least = m->program.procs[p].insts[i].m * t->executions;
			double within = -fmax(t->head - least, 0);

			for (unsigned c = 0; c < CAUSE_COUNT; c++)
				within += t->cause[c];
			for (unsigned k = 0; k < ARRAY_LEN(scheduled) && within > 0; k++) {
				const double known = fmin(within, t->cause[scheduled[k]]);

				t->cause[scheduled[k]] -= known;
				within -= known;
			}
		}
}

/* ---- what views ask for ---- */

static void add_true(const struct calc_model *m, uint32_t proc, enum confidence least,
		     double cause[CAUSE_COUNT], double *head, double *executed)
{
	const struct cfg *g = m->names[proc].graph;
	const struct calc_truth *truth = m->names[proc].truth;

	for (uint32_t b = 0; b < g->nblocks; b++) {
		const struct calc_freq *f = &m->program.procs[proc].blocks[b];

		if (!(f->value > 0) || f->confidence < least)
			continue;
		for (uint32_t i = g->blocks[b].first; i < g->blocks[b].first + g->blocks[b].count;
		     i++) {
			*head += truth[i].head;
			*executed += truth[i].executions;
			for (unsigned c = 0; c < CAUSE_COUNT; c++)
				cause[c] += truth[i].cause[c];
		}
	}
}

bool calc_true_summary(const struct calc_model *m, uint32_t proc, enum confidence least,
		       double cause[CAUSE_COUNT], double *cpi)
{
	double head = 0, executed = 0;

	memset(cause, 0, CAUSE_COUNT * sizeof(*cause));
	if (!m->truth)
		return false;
	for (uint32_t i = 0; i < m->program.nprocs; i++)
		if (proc == UINT32_MAX || proc == i)
			add_true(m, i, least, cause, &head, &executed);
	for (unsigned c = 0; c < CAUSE_COUNT; c++)
		cause[c] = head > 0 ? cause[c] / head : 0;
	*cpi = executed > 0 ? head / executed : NAN;
	return true;
}

char *calc_true_causes(const struct calc_truth *t, char *buf, size_t size_bytes)
{
	bool told[CAUSE_COUNT] = { false };
	double all = 0;
	size_t n = 0;

	buf[0] = '\0';
	for (unsigned c = 0; c < CAUSE_COUNT; c++)
		all += t->cause[c];
	for (;;) {
		int most = -1;

		for (int c = 0; c < CAUSE_COUNT; c++)
			if (!told[c] && (most < 0 || t->cause[c] > t->cause[most]))
				most = c;
		if (most < 0 || n + 16 > size_bytes || !(t->cause[most] >= 0.005 * all) ||
		    !(all > 0))
			return buf;
		n += (size_t)snprintf(buf + n, size_bytes - n, "%s%c %.0f%%", n ? ", " : "",
				      words_cause_letter[most], 100 * t->cause[most] / all);
		told[most] = true;
	}
}

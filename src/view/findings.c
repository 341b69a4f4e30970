/* SPDX-License-Identifier: MIT */
/*
 * Turns an instruction's time into a sentence: what it does, how much of the run it takes, why, and
 * whether the why is an event at all. The golden reference's categories say what commit was doing;
 * the events say why. Only what takes at least MIN_SHARE of the run is worth a sentence.
 */
#include "view/findings.h"

#include <stdlib.h>
#include <string.h>

#define MIN_SHARE 0.04

const char *findings_class(const struct model *m)
{
	double total = (double)m->cycles;
	if (m->category[TIME_EXECUTION] > 0.5 * total)
		return "compute-intensive";
	if (m->category[TIME_MISPREDICT] + m->category[TIME_MISC_FLUSH] > 0.03 * total)
		return "flush-intensive";
	return "stall-intensive";
}

static int main_category(const struct model_inst *i)
{
	int best = TIME_EXECUTION;
	for (int c = 1; c < TIME_CATEGORY_COUNT; c++)
		if (i->category[c] > i->category[best])
			best = c;
	return best;
}

static void mnemonic(const struct model_inst *i, char *buf, size_t size_bytes)
{
	const char *text = i->disasm && *i->disasm ? i->disasm : "?";
	snprintf(buf, size_bytes, "%.*s", (int)strcspn(text, "\t "), text);
}

static void explain_load(const struct model_inst *i, char *buf, size_t n)
{
	double llc = model_with_event(i, EVENT_ST_LLC), l1 = model_with_event(i, EVENT_ST_L1),
	       tlb = model_with_event(i, EVENT_ST_TLB);
	const char *translation = tlb > 0.3 * i->cycles ? " and for address translation" : "";
	if (llc > 0.4 * i->cycles)
		snprintf(buf, n, "waits for memory%s: its last-level-cache misses are not hidden",
			 translation);
	else if (l1 > 0.4 * i->cycles)
		snprintf(buf, n, "waits for the lower caches%s: its L1 misses are not hidden",
			 translation);
	else if (tlb > 0.4 * i->cycles)
		snprintf(buf, n,
			 "waits for address translation: its data-TLB misses are not hidden");
	else
		snprintf(
		    buf, n,
		    "stalls commit without a miss: it waits for its operands or for an L1 hit");
}

static void explain(const struct model_inst *i, char *buf, size_t n)
{
	switch (main_category(i)) {
	case TIME_LOAD_STALL:
		explain_load(i, buf, n);
		break;
	case TIME_STORE_STALL:
		snprintf(buf, n, "stalls commit as a store or atomic%s",
			 model_with_event(i, EVENT_ST_TLB) > 0.4 * i->cycles
			     ? " that waits for address translation"
			     : "");
		break;
	case TIME_ALU_STALL:
		snprintf(buf, n,
			 "exposes its own latency: no event, and not enough independent work to "
			 "hide it");
		break;
	case TIME_FRONTEND:
		if (model_with_event(i, EVENT_DR_SQ) > 0.3 * i->cycles)
			snprintf(buf, n,
				 "cannot enter because the store queue is full: store bandwidth is "
				 "the limit");
		else if (model_with_event(i, EVENT_DR_L1) > 0.3 * i->cycles)
			snprintf(buf, n, "starves the core: its code misses the instruction cache");
		else if (model_with_event(i, EVENT_DR_TLB) > 0.3 * i->cycles)
			snprintf(buf, n, "starves the core: its page misses the instruction TLB");
		else
			snprintf(buf, n, "starves the core: the front end delivers it late");
		break;
	case TIME_MISPREDICT:
		snprintf(buf, n,
			 "is a branch that is often mispredicted: refilling the pipeline takes the "
			 "time");
		break;
	case TIME_MISC_FLUSH:
		if (model_with_event(i, EVENT_FL_CSR) > 0.3 * i->cycles)
			snprintf(buf, n,
				 "flushes the pipeline every time it commits; without it, the core "
				 "could look ahead");
		else if (model_with_event(i, EVENT_FL_MO) > 0.3 * i->cycles)
			snprintf(buf, n,
				 "was executed too early, before an older store to the same "
				 "address, and is replayed");
		else if (model_with_event(i, EVENT_FL_EX) > 0.3 * i->cycles)
			snprintf(buf, n, "takes an exception (system call or page fault)");
		else
			snprintf(buf, n, "flushes the pipeline");
		break;
	default:
		snprintf(buf, n,
			 "is simply executed very often (%.0f%% of its time is commit bandwidth)",
			 100 * i->category[TIME_EXECUTION] / (i->cycles ? i->cycles : 1));
	}
}

static int by_cycles(const void *a, const void *b)
{
	const struct model_inst *x = *(const struct model_inst *const *)a,
				*y = *(const struct model_inst *const *)b;
	if (x->cycles != y->cycles)
		return x->cycles < y->cycles ? 1 : -1;
	return (x->pc > y->pc) - (x->pc < y->pc);
}

size_t findings_of(const struct model *m, struct finding *out, size_t max)
{
	const struct model_inst **order = x_calloc(m->ninsts, sizeof(*order));
	size_t count = 0;
	double total = (double)m->cycles;
	for (size_t i = 0; i < m->ninsts; i++)
		order[i] = &m->insts[i];
	qsort(order, m->ninsts, sizeof(*order), by_cycles);
	for (size_t i = 0; i < m->ninsts && count < max; i++) {
		const struct model_inst *in = order[i];
		char symbol[160], source[96], name[32], why[256];
		if (in->cycles < MIN_SHARE * total)
			break;
		if (main_category(in) == TIME_EXECUTION)
			continue;
		model_where(m, in, symbol, sizeof(symbol), source, sizeof(source));
		mnemonic(in, name, sizeof(name));
		explain(in, why, sizeof(why));
		out[count].share = in->cycles / total;
		out[count].inst = in;
		snprintf(out[count].text, sizeof(out[count].text),
			 "`%s` at %s%s%s%s takes %.1f%% of all cycles: it %s.", name,
			 source[0] ? source : symbol, source[0] ? " (" : "",
			 source[0] ? symbol : "", source[0] ? ")" : "", 100 * in->cycles / total,
			 why);
		count++;
	}
	free(order);
	if (!count && max) {
		out[0] = (struct finding){ .share = m->category[TIME_EXECUTION] / total };
		snprintf(out[0].text, sizeof(out[0].text),
			 "No single instruction stands out: %.0f%% of all cycles commit "
			 "instructions, and the time is "
			 "spread.",
			 100 * out[0].share);
		count = 1;
	}
	return count;
}

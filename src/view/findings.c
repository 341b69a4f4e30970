/* SPDX-License-Identifier: MIT */
/*
 * Says in a sentence how much of the run an instruction takes, and why. The golden reference's
 * categories say what commit was doing meanwhile; the events say why. An instruction that takes
 * less than MIN_SHARE of the run gets no sentence.
 */
#include "view/findings.h"

#include <stdlib.h>
#include <string.h>

#define MIN_SHARE  0.04
#define MIN_STORES 0.1 /* of the run with a full store queue, from which on it is said */

const char *findings_class(const struct model *m)
{
	double total = (double)m->cycles;
	if (m->category[TIME_EXECUTION] > 0.5 * total)
		return "compute-intensive";
	if (m->category[TIME_MISPREDICT] + m->category[TIME_MISC_FLUSH] > 0.03 * total)
		return "flush-intensive";
	if (m->category[TIME_STORES] > 0.25 * total)
		return "store-intensive";
	if (m->category[TIME_KERNEL] > 0.25 * total)
		return "kernel-intensive";
	return "stall-intensive";
}

static enum time_category main_category(const struct model_inst *i)
{
	enum time_category best = TIME_EXECUTION;
	for (enum time_category c = 1; c < TIME_CATEGORY_COUNT; c++)
		if (i->category[c] > i->category[best])
			best = c;
	return best;
}

static void mnemonic(const struct model_inst *i, char *buf, size_t size_bytes)
{
	const char *text = i->disasm && *i->disasm ? i->disasm : "?";
	snprintf(buf, size_bytes, "%.*s", (int)strcspn(text, "\t "), text);
}

#define ANY (-1)

/* What is said of an instruction that spends most of its time in a category: the first row whose
 * event takes more than that share of the instruction's time. */
static const struct reason {
	enum time_category category;
	int event; /* ANY: whatever its events */
	double share;
	const char *text;
} reasons[] = {
	{ TIME_LOAD_STALL, EVENT_ST_LLC, 0.4,
	  "waits for memory: its last-level-cache misses are not hidden" },
	{ TIME_LOAD_STALL, EVENT_ST_L1, 0.4,
	  "waits for the lower caches: its L1 misses are not hidden" },
	{ TIME_LOAD_STALL, EVENT_ST_TLB, 0.4,
	  "waits for address translation: its data-TLB misses are not hidden" },
	{ TIME_LOAD_STALL, ANY, 0,
	  "stalls commit without a miss: it waits for its operands or for an L1 hit" },
	{ TIME_STORE_STALL, EVENT_ST_TLB, 0.4,
	  "stalls commit as a store or atomic that waits for address translation" },
	{ TIME_STORE_STALL, ANY, 0, "stalls commit as a store or atomic" },
	{ TIME_ALU_STALL, ANY, 0,
	  "exposes its own latency: no event, and not enough independent work to hide it" },
	{ TIME_STORES, ANY, 0,
	  "cannot enter because the store queue is full: store bandwidth is the limit" },
	{ TIME_FRONTEND, EVENT_DR_L1, 0.3,
	  "starves the core: its code misses the instruction cache" },
	{ TIME_FRONTEND, EVENT_DR_TLB, 0.3,
	  "starves the core: its page misses the instruction TLB" },
	{ TIME_FRONTEND, ANY, 0, "starves the core: the front end delivers it late" },
	{ TIME_MISPREDICT, ANY, 0,
	  "is a branch that is often mispredicted: refilling the pipeline takes the time" },
	{ TIME_MISC_FLUSH, EVENT_FL_CSR, 0.3,
	  "flushes the pipeline every time it commits; without it, the core could look ahead" },
	{ TIME_MISC_FLUSH, EVENT_FL_MO, 0.3,
	  "was executed too early, before an older store to the same address, and is replayed" },
	{ TIME_MISC_FLUSH, EVENT_FL_EX, 0.3, "takes an exception (system call or page fault)" },
	{ TIME_MISC_FLUSH, ANY, 0, "flushes the pipeline" },
	{ TIME_KERNEL, ANY, 0,
	  "takes an exception (system call or page fault): the time is the kernel's" },
};

static void explain(const struct model_inst *i, char *buf, size_t size_bytes)
{
	const struct reason *r = reasons;

	while (r->category != main_category(i) ||
	       (r->event != ANY && model_with_event(i, (unsigned)r->event) <= r->share * i->cycles))
		r++;
	const bool page = (r->event == EVENT_ST_LLC || r->event == EVENT_ST_L1) &&
			  model_with_event(i, EVENT_ST_TLB) > 0.3 * i->cycles;
	const size_t n = strcspn(r->text, ":");

	snprintf(buf, size_bytes, "%.*s%s%s", (int)n, r->text,
		 page ? " and for address translation" : "", r->text + n);
}

size_t findings_of(const struct model *m, struct finding *out, size_t max)
{
	const struct model_inst **order = x_calloc(m->ninsts, sizeof(*order));
	size_t count = 0;
	double total = (double)m->cycles;
	for (size_t i = 0; i < m->ninsts; i++)
		order[i] = &m->insts[i];
	qsort(order, m->ninsts, sizeof(*order), model_by_cycles);
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
	if (m->category[TIME_STORES] > MIN_STORES * total && count < max) {
		out[count] = (struct finding){ .share = m->category[TIME_STORES] / total };
		snprintf(out[count].text, sizeof(out[count].text),
			 "The store queue is full in %.1f%% of all cycles, and nothing can enter: "
			 "store bandwidth is the limit.",
			 100 * out[count].share);
		count++;
	}
	if (!count && max) {
		out[0] = (struct finding){ .share = m->category[TIME_EXECUTION] / total };
		snprintf(out[0].text, sizeof(out[0].text),
			 "No single instruction stands out: %.0f%% of all cycles commit "
			 "instructions, and the time is spread.",
			 100 * out[0].share);
		count = 1;
	}
	return count;
}

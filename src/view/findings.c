/* SPDX-License-Identifier: MIT */
/*
 * Says in a sentence how much of the run an instruction takes, and why. The golden reference's
 * categories say what commit was doing meanwhile; the events say why. Instructions of one line with
 * one reason share a sentence. What takes less than MIN_SHARE of the run gets none.
 *
 * What is spread has sentences of its own: an event of which the sentences above have less than
 * half, and a library that the program uses.
 */
#include "view/findings.h"

#include <stdlib.h>
#include <string.h>

#include "util/text.h"

#define MIN_SHARE 0.04
#define LIBRARY_SHARE                                                                              \
	0.10 /* what a library must take to be told of; the dynamic loader: MIN_SHARE */
#define FINDINGS_MOST 64
#define LINE_INSTS    8	  /* instructions that a sentence about a line counts at most */
#define MIN_STORES    0.1 /* of the run with a full store queue, from which on it is said */

/* Classes of programs, and what makes one so. */
static const struct class
{
	const char *name, *words;
} compute = { "compute-intensive", "more than half of all cycles commit instructions" },
  flush = { "flush-intensive", "more than 3% of all cycles refill the pipeline after a flush" },
  stores = { "store-intensive",
	     "in more than a quarter of all cycles a full store queue lets nothing in" },
  kernel = { "kernel-intensive", "more than a quarter of all cycles are the kernel's" },
  stall = { "stall-intensive", "most cycles wait for an instruction, few of them after a flush" };

static const struct class *class_of(const struct model *m)
{
	const double total = (double)m->cycles;

	if (m->category[TIME_EXECUTION] > 0.5 * total)
		return &compute;
	if (m->category[TIME_MISPREDICT] + m->category[TIME_MISC_FLUSH] > 0.03 * total)
		return &flush;
	if (m->category[TIME_STORES] > 0.25 * total)
		return &stores;
	if (m->category[TIME_KERNEL] > 0.25 * total)
		return &kernel;
	return &stall;
}

const char *findings_class(const struct model *m)
{
	return class_of(m)->name;
}

const char *findings_class_words(const struct model *m)
{
	return class_of(m)->words;
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

static const struct reason *reason_of(const struct model_inst *i)
{
	const struct reason *r = reasons;

	while (r->category != main_category(i) ||
	       (r->event != ANY && model_with_event(i, (unsigned)r->event) <= r->share * i->cycles))
		r++;
	return r;
}

static void explain(const struct model_inst *i, char *buf, size_t size_bytes)
{
	const struct reason *r = reason_of(i);
	const bool page = (r->event == EVENT_ST_LLC || r->event == EVENT_ST_L1) &&
			  model_with_event(i, EVENT_ST_TLB) > 0.3 * i->cycles;
	const size_t n = strcspn(r->text, ":");

	snprintf(buf, size_bytes, "%.*s%s%s", (int)n, r->text,
		 page ? " and for address translation" : "", r->text + n);
}

/* Whether two instructions belong to one line, or to one function without lines, and wait for the same
 * reason. */
static bool together(const struct model_inst *a, const struct model_inst *b)
{
	const bool lines = a->file && b->file && a->line > 0 && b->line > 0;
	const bool none = (!a->file || a->line <= 0) && (!b->file || b->line <= 0);

	return a->function == b->function &&
	       (none || (lines && a->line == b->line && !strcmp(a->file, b->file))) &&
	       main_category(b) != TIME_EXECUTION && reason_of(a) == reason_of(b);
}

/* The instructions of one line, the largest first, that share its reason. */
struct group {
	const struct model_inst *inst[LINE_INSTS];
	size_t count;
	double cycles;
};

static struct group group_of(const struct model *m, const struct model_inst *first)
{
	struct group g = { .inst = { first }, .count = 1, .cycles = first->cycles };
	const struct model_function *f = model_function_of(m, first->function);
	size_t n = 0;
	const struct model_inst *list = f ? model_insts_of(m, f, &n) : NULL;

	for (size_t i = 0; i < n && g.count < LINE_INSTS; i++)
		if (&list[i] != first && list[i].cycles > 0.005 * (double)m->cycles &&
		    together(first, &list[i])) {
			g.cycles += list[i].cycles;
			g.inst[g.count++] = &list[i];
		}
	return g;
}

static const char *function_name(const struct model *m, const struct model_inst *i)
{
	const struct model_function *f = model_function_of(m, i->function);

	return f && f->name ? f->name : "one function";
}

static void tell_instruction(const struct model *m, const struct group *g, struct finding *out)
{
	const struct model_inst *in = g->inst[0];
	const double share = g->cycles / (double)m->cycles;
	char symbol[160], source[96], name[32], why[256];

	model_where(m, in, symbol, sizeof(symbol), source, sizeof(source));
	mnemonic(in, name, sizeof(name));
	explain(in, why, sizeof(why));
	*out = (struct finding){ .share = share, .inst = in };
	if (g->count == 1)
		snprintf(out->text, sizeof(out->text),
			 "`%s` at %s%s%s%s takes %.1f%% of all cycles: it %s.", name,
			 source[0] ? source : symbol, source[0] ? " (" : "",
			 source[0] ? symbol : "", source[0] ? ")" : "", 100 * share, why);
	else
		snprintf(
		    out->text, sizeof(out->text),
		    "%zu instructions of %s take %.1f%% of all cycles. Most of it has `%s` (%s), "
		    "%.1f%%: it %s.",
		    g->count, source[0] ? source : function_name(m, in), 100 * share, name, symbol,
		    100 * in->cycles / (double)m->cycles, why);
}

/* Adds what is said of instructions and lines; told: what has been said, by instruction. */
static size_t tell_instructions(const struct model *m, struct finding *out, size_t max, bool *told)
{
	const struct model_inst **order = x_calloc(m->ninsts, sizeof(*order));
	size_t count = 0, large = 0;

	for (size_t i = 0; i < m->ninsts; i++)
		if (m->insts[i].cycles >= MIN_SHARE * (double)m->cycles)
			order[large++] = &m->insts[i];
	if (large)
		qsort(order, large, sizeof(*order), model_by_cycles);
	for (size_t i = 0; i < large && count < max; i++) {
		if (main_category(order[i]) == TIME_EXECUTION || told[order[i] - m->insts])
			continue;
		const struct group g = group_of(m, order[i]);

		for (size_t k = 0; k < g.count; k++)
			told[g.inst[k] - m->insts] = true;
		tell_instruction(m, &g, &out[count++]);
	}
	free(order);
	return count;
}

/* Exceptions are system calls or first touches of pages. */
static void kinds_of_exceptions(const struct model *m, char *buf, size_t size_bytes)
{
	double calls = 0, others = 0;

	for (size_t i = 0; i < m->ninsts; i++) {
		const struct model_inst *in = &m->insts[i];
		const double cycles = model_with_event(in, EVENT_FL_EX);

		if (in->disasm && !strncmp(in->disasm, "ecall", 5))
			calls += cycles;
		else
			others += cycles;
	}
	snprintf(buf, size_bytes, ": first touches of pages %.1f%%, system calls %.1f%%",
		 100 * others / (double)m->cycles, 100 * calls / (double)m->cycles);
}

/* Time of instructions that suffered an event. */
struct event_time {
	double sum, known; /* known: of it, what has been said */
	double cycles;	   /* of the instruction with most */
	size_t insts;
	const struct model_inst *most;
};

static void add_event_time(struct event_time *t, const struct model_inst *i, double cycles,
			   bool told)
{
	if (cycles <= 0)
		return;
	t->insts++;
	t->sum += cycles;
	t->known += told ? cycles : 0;
	if (!t->most || cycles > t->cycles) {
		t->most = i;
		t->cycles = cycles;
	}
}

static void sum_events(const struct model *m, const bool *told, struct event_time *times)
{
	for (size_t i = 0; i < m->ninsts; i++) {
		unsigned events = 0;

		for (size_t k = 0; k < m->insts[i].nstack; k++)
			events |= m->insts[i].stack[k].events;
		for (events &= (1u << MODEL_EVENTS) - 1; events; events &= events - 1) {
			const unsigned b = (unsigned)__builtin_ctz(events);

			add_event_time(&times[b], &m->insts[i], model_with_event(&m->insts[i], b),
				       told[i]);
		}
	}
}

/* Adds what is said of events that are spread over many instructions. */
static size_t tell_events(const struct model *m, struct finding *out, size_t max, const bool *told)
{
	struct event_time times[MODEL_EVENTS] = { 0 };
	size_t count = 0;

	sum_events(m, told, times);
	for (unsigned b = 0; b < MODEL_EVENTS && count < max; b++) {
		const double sum = times[b].sum;
		const struct model_inst *most = times[b].most;
		char symbol[160], source[96], kinds[96] = "";

		if (!most || sum < MIN_SHARE * (double)m->cycles || times[b].known > sum / 2 ||
		    !m->event_name[b])
			continue;
		model_where(m, most, symbol, sizeof(symbol), source, sizeof(source));
		if (b == EVENT_FL_EX)
			kinds_of_exceptions(m, kinds, sizeof(kinds));
		out[count] = (struct finding){ .share = sum / (double)m->cycles,
					       .inst = most,
					       .event = m->event_name[b] };
		snprintf(out[count].text, sizeof(out[count].text),
			 "%s (%s): %.1f%% of all cycles are spent by %zu instructions that "
			 "suffered one%s. "
			 "`%.*s` at %s has most, %.1f%%.",
			 m->event_name[b], m->event_meaning[b] ? m->event_meaning[b] : "",
			 100 * sum / (double)m->cycles, times[b].insts, kinds,
			 (int)strcspn(most->disasm ? most->disasm : "?", "\t "),
			 most->disasm ? most->disasm : "?", source[0] ? source : symbol,
			 100 * times[b].cycles / (double)m->cycles);
		count++;
	}
	return count;
}

/* Adds what is said of libraries, the dynamic loader among them. */
static size_t tell_libraries(const struct model *m, struct finding *out, size_t max)
{
	const char *own = path_name(m->program);
	size_t count = 0;

	for (size_t i = 0; i < m->nfunctions && count < max; i++) {
		const char *image = m->functions[i].image;
		double sum = 0;
		bool first = image != NULL && strcmp(path_name(image), own) != 0;

		for (size_t k = 0; first && k < m->nfunctions; k++)
			if (m->functions[k].image && !strcmp(m->functions[k].image, image)) {
				first = k >= i;
				sum += m->functions[k].cycles;
			}
		const bool loader = first && !strncmp(path_name(image), "ld-", 3);

		if (!first || sum < (loader ? MIN_SHARE : LIBRARY_SHARE) * (double)m->cycles)
			continue;
		out[count] = (struct finding){ .share = sum / (double)m->cycles,
					       .library = path_name(image) };
		snprintf(out[count].text, sizeof(out[count].text),
			 "%s%s takes %.1f%% of all cycles%s.",
			 loader ? "The dynamic loader " : "The library ", path_name(image),
			 100 * sum / (double)m->cycles,
			 loader ? ": it finds and relocates libraries before main() begins" : "");
		count++;
	}
	return count;
}

/* Adds what is said where stores hold up dispatch. */
static size_t tell_stores(const struct model *m, struct finding *out, size_t max)
{
	const double share = m->category[TIME_STORES] / (double)m->cycles;

	if (share <= MIN_STORES || !max)
		return 0;
	out->share = share;
	snprintf(out->text, sizeof(out->text),
		 "The store queue is full in %.1f%% of all cycles, and nothing can enter: "
		 "store bandwidth is the limit.",
		 100 * share);
	return 1;
}

static int by_share(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;

	return x->share < y->share ? 1 : x->share > y->share ? -1 : strcmp(x->text, y->text);
}

size_t findings_of(const struct model *m, struct finding *out, size_t max)
{
	bool *told = x_calloc(m->ninsts + 1, sizeof(*told));
	struct finding *all = x_calloc(FINDINGS_MOST, sizeof(*all));
	size_t count = tell_instructions(m, all, FINDINGS_MOST, told);

	count += tell_events(m, all + count, FINDINGS_MOST - count, told);
	count += tell_libraries(m, all + count, FINDINGS_MOST - count);
	count += tell_stores(m, all + count, FINDINGS_MOST - count);
	qsort(all, count, sizeof(*all), by_share);
	count = count < max ? count : max;
	memcpy(out, all, count * sizeof(*out));
	free(all);
	free(told);
#define MIN_STORES 0.1 /* of the run with a full store queue, from which on it is said */
	if (!count && max) {
		const double share = m->category[TIME_EXECUTION] / (double)m->cycles;

		out[0] = (struct finding){ .share = share };
		snprintf(out[0].text, sizeof(out[0].text),
			 "No single instruction stands out: %.0f%% of all cycles commit "
			 "instructions, and the time is spread.",
			 100 * share);
		count = 1;
	}
	return count;
}

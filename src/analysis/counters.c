/* SPDX-License-Identifier: MIT */
/*
 * Counters of the machine over time, as hardware that is read out of band would have them
 * (tracedoctor2023's AutoCounter): what each had come to by the end of a cycle, at a fixed rate of the
 * machine's time, into the store and, on request, as a line of text each.
 *
 * A sample falls into the first record that reaches its cycle, so it is exact where something
 * happens in each cycle, and late by no more than cycles in which nothing does. What is counted is
 * what commits: wrong paths are in none of them.
 */
#include "analysis/counters.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/walk.h"
#include "store/store.h"
#include "util/array.h"
#include "util/output.h"

#define RATE_LEAST 1000
#define RATE_MOST  128000

/* Name, and whether an instruction counts. */
#define COUNTERS(X)                                                                                \
	X(INSTRUCTIONS, "instructions", true)                                                      \
	X(LOADS, "loads", r->flags &RI_LOAD)                                                       \
	X(STORES, "stores", r->flags &RI_STORE)                                                    \
	X(BRANCHES, "branches", r->flags &RI_BRANCH)                                               \
	X(MISPREDICTS, "mispredicts", r->flags &RI_MISPREDICT)                                     \
	X(FLUSHES, "flushes", r->flags &RI_FLUSHES)                                                \
	X(EXCEPTIONS, "exceptions", r->flags &RI_EXCEPTION)                                        \
	X(L1I, "L1I-misses", r->psv &PSV_DR_L1)                                                    \
	X(ITLB, "ITLB-misses", r->psv &PSV_DR_TLB)                                                 \
	X(L1D, "L1D-misses", r->psv &PSV_ST_L1)                                                    \
	X(DTLB, "DTLB-misses", r->psv &PSV_ST_TLB)                                                 \
	X(LLC, "LLC-misses", r->psv &PSV_ST_LLC)

enum counter {
#define X(id, ...) COUNTER_##id,
	COUNTERS(X)
#undef X
	    COUNTER_COUNT
};

static const char *const names[COUNTER_COUNT] = {
#define X(id, name, ...) name,
	COUNTERS(X)
#undef X
};

struct sample {
	uint64_t cycles, value[COUNTER_COUNT];
};

struct counters {
	uint64_t period, next;
	struct sample now, *samples;
	size_t count;
	struct output *output; /* NULL: into the store alone */
	FILE *file;
};

static bool is_counters(const uint8_t *head, size_t size, const char *path)
{
	(void)path;
	return output_begins(head, size, "cycle,instructions,loads,");
}

static const struct output_kind kind = {
	.what = "counters over time",
	.option = "--param counters",
	.is = is_counters,
};

static bool counters_start(void *state, const struct trace_meta *meta,
			   const struct analysis_options *o, struct err *e)
{
	struct counters *s = state;
	const uint64_t rate = analysis_number(o, "counters.hz", 16000);
	if (meta->clock_hz < (double)rate)
		return err_set(e, "counters.hz=%llu: the machine's clock is slower",
			       (unsigned long long)rate);
	s->period = (uint64_t)(meta->clock_hz / (double)rate);
	s->next = s->period;
	if (!analysis_given(o, "counters"))
		return true;
	char *path = analysis_path(o, "counters", "counters");
	s->output = output_open(path, &kind, e);
	s->file = s->output ? output_stream(s->output, e) : NULL;
	free(path);
	if (!s->file) {
		output_discard(s->output);
		s->output = NULL;
		return false;
	}
	fputs("cycle", s->file);
	for (int k = 0; k < COUNTER_COUNT; k++)
		fprintf(s->file, ",%s", names[k]);
	fputc('\n', s->file);
	return true;
}

static void take_sample(struct counters *s)
{
	*ARRAY_ADD(s->samples, s->count) = s->now;
	if (!s->file)
		return;
	fprintf(s->file, "%llu", (unsigned long long)s->now.cycles);
	for (int k = 0; k < COUNTER_COUNT; k++)
		fprintf(s->file, ",%llu", (unsigned long long)s->now.value[k]);
	fputc('\n', s->file);
}

static bool counters_batch(void *state, const struct rec_inst *insts, size_t ninsts,
			   const struct rec_cycle *cycles, size_t ncycles, struct err *e)
{
	struct counters *s = state;
	struct walk w = { insts, ninsts, 0 };
	for (size_t i = 0; i < ncycles; i++) {
		for (unsigned k = 0; k < cycles[i].ncommit; k++) {
			const struct rec_inst *r = walk_next(&w, &cycles[i], k, e);
			if (!r)
				return false;
#define X(id, name, counts) s->now.value[COUNTER_##id] += (counts) != 0;
			COUNTERS(X)
#undef X
		}
		s->now.cycles += cycles[i].repeat;
		if (s->now.cycles < s->next)
			continue;
		take_sample(s);
		s->next = s->now.cycles - s->now.cycles % s->period + s->period;
	}
	return !s->file || !ferror(s->file) ||
	       err_set(e, "counters: cannot write: %s", strerror(errno));
}

static bool counters_finish(void *state, struct store *store, struct err *e)
{
	struct counters *s = state;
	bool ok = true;
	if (!s->count || s->samples[s->count - 1].cycles != s->now.cycles)
		take_sample(s);
	for (size_t i = 0; store && ok && i < s->count; i++)
		for (int k = 0; ok && k < COUNTER_COUNT; k++)
			ok = store_insert(store, e, "counter_sample", "isi",
					  (int64_t)s->samples[i].cycles, names[k],
					  (int64_t)s->samples[i].value[k]);
	for (int k = 0; store && ok && k < COUNTER_COUNT; k++) {
		char name[64];
		snprintf(name, sizeof(name), "core.%s", names[k]);
		ok = store_insert(store, e, "counter", "si", name, (int64_t)s->now.value[k]);
	}
	if (!s->file)
		return ok;
	FILE *file = s->file;
	struct output *output = s->output;
	const bool failed = fflush(file) || ferror(file);
	fclose(file);
	s->file = NULL;
	s->output = NULL;
	if (!failed && ok)
		return output_commit(output, e);
	output_discard(output);
	return ok && err_set(e, "counters: cannot write: %s", strerror(errno));
}

static void counters_free(void *state)
{
	struct counters *s = state;
	if (s->file)
		fclose(s->file);
	output_discard(s->output);
	free(s->samples);
}

static const struct analysis_param params[] = {
	{ "counters", "a file to write, too: a line for each sample", false, { 0 } },
	{ "counters.hz",
	  "samples in a second of the machine's time, 1000 to 128000; 16000 by default",
	  true,
	  { RATE_LEAST, RATE_MOST, NUMBER_DECIMAL } },
	{ .name = NULL },
};

const struct analysis counters_analysis = {
	.name = "counters",
	.summary = "counters of the machine over time (--param counters.hz=N, counters=FILE)",
	.wants = WANT_CYCLES | WANT_INSTS | WANT_BRIEF,
	.params = params,
	.state_size = sizeof(struct counters),
	.start = counters_start,
	.batch = counters_batch,
	.finish = counters_finish,
	.free = counters_free,
};

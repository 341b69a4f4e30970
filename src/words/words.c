/* SPDX-License-Identifier: MIT */
/* The lists of words.h as arrays. */
#include "words/words.h"

#include <stddef.h>

const struct word words_events[EVENT_COUNT] = {
#define X(id, name, letter, colour, rank, hides, meaning) { name, NULL, meaning },
	WORDS_EVENTS(X)
#undef X
};

const struct word words_states[STATE_COUNT] = {
#define X(id, name, meaning) { name, NULL, meaning },
	WORDS_STATES(X)
#undef X
};

const struct word words_times[TIME_CATEGORY_COUNT] = {
#define X(id, name, colour, meaning) { name, NULL, meaning },
	WORDS_TIMES(X)
#undef X
};

const struct word words_costs[COST_COUNT] = {
#define X(id, name, bit, letter, colour, rgb, kind, words, better, verb, meaning)                  \
	[bit] = { name, words, meaning },
	WORDS_COSTS(X)
#undef X
};

const struct word words_resources[RESOURCES] = {
#define X(id, name, section, key, kind, meaning) { name, NULL, meaning },
	WORDS_RESOURCES(X)
#undef X
};

const struct resource_param resource_params[RESOURCES] = {
#define X(id, name, section, key, kind, meaning) { section, key, RESOURCE_IS_##kind },
	WORDS_RESOURCES(X)
#undef X
};

const struct word words_kinds[KIND_COUNT] = {
#define X(id, name, meaning) { name, NULL, meaning },
	WORDS_KINDS(X)
#undef X
};

const struct word words_components[CPI_COMPONENTS] = {
#define X(id, name, letter, colour, rgb, words, meaning) { name, words, meaning },
	WORDS_COMPONENTS(X)
#undef X
};

const struct word words_methods[METHODS] = {
#define X(id, name, slots, axis, meaning) { name, NULL, meaning },
	WORDS_METHODS(X)
#undef X
};

const struct word words_topdown[TD_COMPONENTS] = {
#define X(id, name, meaning) { name, NULL, meaning },
	WORDS_TOPDOWN(X)
#undef X
};

const struct word words_profilers[PROFILER_COUNT] = {
#define X(id, name, rule, events, bytes, chart, meaning) { name, NULL, meaning },
	WORDS_PROFILERS(X)
#undef X
};

const struct word words_dispatch_stalls[DISPATCH_STALL_COUNT] = {
#define X(id, name, meaning) { name, NULL, meaning },
	WORDS_DISPATCH_STALLS(X)
#undef X
};

const struct word words_fetch_stalls[FETCH_STALL_COUNT] = {
#define X(id, name, meaning) { name, NULL, meaning },
	WORDS_FETCH_STALLS(X)
#undef X
};

const struct word words_misses[MISS_KINDS] = {
#define X(id, name, meaning) { name, NULL, meaning },
	WORDS_MISSES(X)
#undef X
};

const struct word words_sampled[SAMPLED_COUNT] = {
#define X(id, name, meaning) { name, NULL, meaning },
	WORDS_SAMPLED(X)
#undef X
};

const struct word words_cfg[CFG_KINDS] = {
#define X(id, name, meaning) { name, NULL, meaning },
	WORDS_CFG(X)
#undef X
};

const struct word words_causes[CAUSE_COUNT] = {
#define X(id, name, letter, words, meaning) { name, words, meaning },
	WORDS_CAUSES(X)
#undef X
};

const struct word words_statics[STATIC_COUNT] = {
#define X(id, name, meaning) { name, NULL, meaning },
	WORDS_STATICS(X)
#undef X
};

const struct word words_reasons[REASON_COUNT] = {
#define X(id, name, cause, meaning) { name, NULL, meaning },
	WORDS_REASONS(X)
#undef X
};

const struct word words_frequencies[FREQUENCY_METHODS] = {
#define X(id, name, meaning) { name, NULL, meaning },
	WORDS_FREQUENCIES(X)
#undef X
};

const struct word words_confidence[CONFIDENCE_COUNT] = {
#define X(id, name, meaning) { name, NULL, meaning },
	WORDS_CONFIDENCE(X)
#undef X
};

const struct word words_origins[ORIGIN_COUNT] = {
#define X(id, name, meaning) { name, NULL, meaning },
	WORDS_ORIGINS(X)
#undef X
};

const char words_cause_letter[CAUSE_COUNT] = {
#define X(id, name, letter, words, meaning) letter,
	WORDS_CAUSES(X)
#undef X
};

const signed char words_reason_cause[REASON_COUNT] = {
#define X(id, name, cause, meaning) CAUSE_##cause,
	WORDS_REASONS(X)
#undef X
};

#define LIST(kind, summary, rows)                                                                  \
	{                                                                                          \
		kind, summary, rows, sizeof(rows) / sizeof((rows)[0])                              \
	}
const struct words_list words_lists[] = {
	LIST("events", "why an instruction took its time", words_events),
	LIST("states", "what commit does in a cycle, and who is blamed for it", words_states),
	LIST("times", "where the time of a run went", words_times),
	LIST("categories", "what can be idealised, for costs and interaction costs", words_costs),
	LIST("resources", "parts of the machine that could be of another size", words_resources),
	LIST("kinds", "what of one instruction has a cost", words_kinds),
	LIST("components", "what a CPI stack is made of", words_components),
	LIST("methods", "what makes CPI stacks", words_methods),
	LIST("topdown", "what top-down analysis divides slots into", words_topdown),
	LIST("profilers", "what samples the run, beside the golden reference", words_profilers),
	LIST("dispatch-stalls", "why an instruction waits at dispatch", words_dispatch_stalls),
	LIST("fetch-stalls", "why fetch delivers nothing", words_fetch_stalls),
	LIST("misses", "what missed a cache or a TLB", words_misses),
	LIST("sampled", "what a sampling counter counts", words_sampled),
	LIST("causes", "why an instruction may have stalled, as samples alone can tell",
	     words_causes),
	LIST("statics", "why a schedule makes an instruction wait", words_statics),
	LIST("reasons", "why an instruction really waited at the head of the issue queue",
	     words_reasons),
	LIST("frequencies", "ways from samples to execution frequencies", words_frequencies),
	LIST("confidence", "how far a frequency can be trusted", words_confidence),
	LIST("origins", "where a frequency comes from", words_origins),
	LIST("edges", "how control passes from block to block", words_cfg),
};
const unsigned words_lists_count = sizeof(words_lists) / sizeof(words_lists[0]);

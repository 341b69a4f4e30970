/* SPDX-License-Identifier: MIT */
/* Reads NAME=RULE:EVENTS:PERIOD. Rules and sets of events have the names of the list of profilers. */
#include "analysis/profile/spec.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/nearest.h"
#include "util/number.h"

#define PERIOD_MAX 1000000000000000ull

/* Profilers whose samples come from a rule alone. */
static bool is_rule(size_t p)
{
	return profilers[p].rule != SELECT_HARDWARE && p != PROFILER_TIP_POOLED;
}

static int find_profiler(const char *name)
{
	for (size_t p = 0; p < PROFILER_COUNT; p++)
		if (!strcasecmp(profilers[p].name, name))
			return (int)p;
	return -1;
}

static int find_event(const char *name)
{
	for (size_t b = 0; b < EVENT_COUNT; b++)
		if (!strcasecmp(words_events[b].name, name))
			return (int)b;
	return -1;
}

static void try_events(struct nearest *near)
{
	for (size_t b = 0; b < EVENT_COUNT; b++)
		nearest_try(near, words_events[b].name);
}

static bool bad_event(const char *word, bool sets, struct err *e)
{
	struct nearest near = { .word = word };

	try_events(&near);
	for (size_t p = 0; sets && p < PROFILER_COUNT; p++)
		nearest_try(&near, profilers[p].name);
	return err_set(e,
		       "there is no event '%s'; the nearest is '%s' ('culprit list "
		       "events' shows all)",
		       word, near.best);
}

static bool parse_name(const char *name, struct profiler_spec *out, struct err *e)
{
	if (!*name || strlen(name) >= sizeof(out->name) ||
	    name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789+-_")])
		return err_set(e,
			       "'%s' is no name: 1 to %zu of a-z, 0-9, '+', '-' and "
			       "'_'",
			       name, sizeof(out->name) - 1);
	if (find_profiler(name) >= 0 || !strcmp(name, "oracle"))
		return err_set(e,
			       "there is a profiler '%s' already; choose another "
			       "name",
			       name);
	snprintf(out->name, sizeof(out->name), "%s", name);
	return true;
}

static bool parse_rule(const char *word, struct profiler_spec *out, struct err *e)
{
	struct nearest near = { .word = word };
	const int p = find_profiler(word);

	out->precise = !strcasecmp(word, "event");
	if (out->precise) {
		out->rule = SELECT_NCI; /* is not used */
		return true;
	}
	if (p >= 0 && is_rule((size_t)p)) {
		out->rule = profilers[p].rule;
		return true;
	}
	for (size_t i = 0; i < PROFILER_COUNT; i++)
		if (is_rule(i))
			nearest_try(&near, profilers[i].name);
	nearest_try(&near, "event");
	return err_set(e,
		       "there is no rule '%s'; the nearest is '%s' ('culprit list "
		       "profilers' shows all; event is the instruction that has it)",
		       word, near.best);
}

static bool parse_events(char *list, struct profiler_spec *out, struct err *e)
{
	char *rest = list, *word;

	while ((word = strsep(&rest, ","))) {
		const int p = find_profiler(word), event = find_event(word);

		if (!strcasecmp(word, "all"))
			out->events |= SPEC_ALL;
		else if (event >= 0)
			out->events |= 1u << event;
		else if (p >= 0)
			out->events |= profilers[p].events;
		else if (strcasecmp(word, "none") && *word)
			return bad_event(word, true, e);
	}
	return true;
}

static bool parse_period(char *text, struct profiler_spec *out, struct err *e)
{
	const struct number_range range = { 1, PERIOD_MAX, NUMBER_DECIMAL };
	char *at = strchr(text, '@');

	out->random = *text == '~';
	if (at) {
		*at = '\0';
		out->every = find_event(at + 1);
		if (out->every < 0)
			return bad_event(at + 1, false, e);
		if (out->random)
			return err_set(e, "'~' is for cycles; of events every N-th is "
					  "sampled");
	}
	return number_check("period", text + out->random, &range, &out->period, e);
}

bool profiler_spec_parse(const char *text, struct profiler_spec *out, struct err *e)
{
	char *copy = x_strdup(text), *rest = copy, *name = strsep(&rest, "=");
	char *rule = strsep(&rest, ":"), *events = strsep(&rest, ":"), *period = rest;
	bool ok;

	*out = (struct profiler_spec){ .every = -1 };
	snprintf(out->text, sizeof(out->text), "%s", rule ? text + (rule - copy) : "");
	ok = (rule && *rule) || err_set(e, "'%s' is not valid: NAME=RULE[:EVENTS[:PERIOD]]", text);
	ok = ok && parse_name(name, out, e) && parse_rule(rule, out, e) &&
	     (!events || parse_events(events, out, e)) && (!period || parse_period(period, out, e));
	if (ok && out->precise && out->every < 0)
		ok = err_set(e, "rule event needs a period in events, such as "
				"'100@ST-LLC'");
	free(copy);
	return ok;
}

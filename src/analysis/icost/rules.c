/* SPDX-License-Identifier: MIT */
/*
 * Categories as the user defines them: icost.categories=DEFINITION,… with up to six definitions,
 * which replace all but bandwidth and window. A definition is
 *
 *      [NAME=]EVENT[:LEVEL][/CYCLES][@ADDRESS[-END]][+EVENT…]
 *
 * EVENT: dl1 bmisp dmiss shalu lgalu imiss. LEVEL: only misses that this level serves (l2, llc, mem).
 * CYCLES: how many of each event's cycles are saved, at most (a partial improvement). ADDRESS: only
 * the instructions there. Events that no definition names cannot be idealised. Examples:
 *
 *      dl1/1,l2=dmiss:l2,mem=dmiss:mem,bmisp,alu=shalu+lgalu,imiss
 *      loop=dmiss@0x10640-0x10690,dmiss
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/icost/icost.h"
#include "util/number.h"

static const uint8_t free_bit[] = {
	CAT_DL1, CAT_BMISP, CAT_DMISS, CAT_SHALU, CAT_LGALU, CAT_IMISS
};

static int event_of(const char *text, size_t n)
{
	for (size_t i = 0; i < ARRAY_LEN(free_bit); i++)
		if (strlen(words_costs[free_bit[i]].name) == n &&
		    !strncmp(words_costs[free_bit[i]].name, text, n))
			return free_bit[i];
	return -1;
}

static int level_of(const char *text, size_t n)
{
	static const struct {
		const char *name;
		int level;
	} levels[] = { { "l2", LEVEL_L2 }, { "llc", LEVEL_LLC }, { "mem", LEVEL_MEM } };
	for (size_t i = 0; i < ARRAY_LEN(levels); i++)
		if (strlen(levels[i].name) == n && !strncmp(levels[i].name, text, n))
			return levels[i].level;
	return -1;
}

/* Reads one EVENT with its LEVEL, CYCLES and ADDRESS, from text to end. */
static bool read_term(struct icost_categories *s, const char *text, const char *end, uint8_t bit,
		      struct err *e)
{
	struct edges_rule rule = { .category = bit };
	const char *p = text;
	while (p < end && !strchr(":/@", *p))
		p++;
	const int event = event_of(text, (size_t)(p - text));
	if (event < 0)
		return err_set(
		    e,
		    "icost.categories: there is no event '%.*s'; they are dl1 bmisp dmiss "
		    "shalu lgalu imiss",
		    (int)(p - text), text);
	rule.event = (uint8_t)event;
	while (p < end) {
		const char what = *p++, *from = p;
		const char *stop;
		while (p < end && !strchr(":/@", *p))
			p++;
		if (what == ':') {
			const int level = level_of(from, (size_t)(p - from));
			if (level < 0)
				return err_set(e,
					       "icost.categories: there is no level '%.*s'; they "
					       "are l2 llc mem",
					       (int)(p - from), from);
			rule.level = (uint8_t)level;
		} else if (what == '/') {
			uint64_t cycles;
			if (!number_prefix(from, &stop, &cycles) || stop != p || !cycles ||
			    cycles > UINT16_MAX)
				return err_set(e, "icost.categories: '%.*s' is no number of cycles",
					       (int)(p - from), from);
			rule.cycles = (uint16_t)cycles;
		} else {
			bool ok = number_prefix(from, &stop, &rule.low);
			rule.high = rule.low + 1;
			if (ok && *stop == '-' && stop < p)
				ok = number_prefix(stop + 1, &stop, &rule.high);
			if (!ok || stop != p || rule.high <= rule.low)
				return err_set(e, "icost.categories: '%.*s' is no address or range",
					       (int)(p - from), from);
		}
	}
	if (s->nrules == ICOST_RULES)
		return err_set(e, "icost.categories: at most %d events in all", ICOST_RULES);
	s->rules[s->nrules++] = rule;
	return true;
}

bool icost_categories_read(struct icost_categories *s, const struct analysis_options *o,
			   struct err *e)
{
	const char *text = analysis_given(o, "icost.categories");
	size_t n = 0;
	icost_default_names(s->names);
	if (!text)
		return true;
	for (size_t i = 0; i < ARRAY_LEN(free_bit); i++)
		s->names[free_bit[i]][0] = '\0';
	while (*text) {
		const char *end = text + strcspn(text, ","),
			   *is = memchr(text, '=', (size_t)(end - text)),
			   *from = is ? is + 1 : text;
		if (n == ARRAY_LEN(free_bit))
			return err_set(e, "icost.categories: at most %zu definitions",
				       ARRAY_LEN(free_bit));
		const size_t length = is ? (size_t)(is - text) : (size_t)(end - text);
		snprintf(s->names[free_bit[n]], sizeof(s->names[0]), "%.*s", (int)length, text);
		for (char *c = s->names[free_bit[n]]; *c; c++)
			*c = *c == '+' ? '&' : *c; /* + joins categories */
		while (from < end) {
			const char *plus = memchr(from, '+', (size_t)(end - from)),
				   *stop = plus ? plus : end;
			if (!read_term(s, from, stop, free_bit[n], e))
				return false;
			from = plus ? plus + 1 : end;
		}
		n++;
		text = *end ? end + 1 : end;
	}
	for (size_t i = 0; i < ARRAY_LEN(free_bit); i++) {
		if (s->nrules == ICOST_RULES)
			return err_set(e, "icost.categories: at most %d events in all",
				       ICOST_RULES - 6);
		s->rules[s->nrules++] =
		    (struct edges_rule){ .event = free_bit[i], .category = CAT_NONE };
		if (!s->names[free_bit[i]][0])
			snprintf(s->names[free_bit[i]], sizeof(s->names[0]), "unused%zu", i);
	}
	return true;
}

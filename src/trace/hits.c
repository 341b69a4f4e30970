/* SPDX-License-Identifier: MIT */
/* Names of misses, as text and back. */
#include "trace/hits.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/nearest.h"
#include "util/number.h"
#include "words/words.h"

static bool parse_kind(const char *word, uint8_t *kind, struct err *e)
{
	struct nearest near = { .word = word };

	for (unsigned k = 0; k < MISS_KINDS; k++) {
		if (!strcmp(word, words_misses[k].name)) {
			*kind = (uint8_t)k;
			return true;
		}
		nearest_try(&near, words_misses[k].name);
	}
	return err_set(e, "there are no misses of kind '%s'; the nearest is '%s'", word,
		       near.best ? near.best : words_misses[0].name);
}

static bool parse_one(char *text, struct hit *hit, struct err *e)
{
	const struct number_range any = { 0 };
	char *rest = text;
	const char *kind = strsep(&rest, ":"), *begin = strsep(&rest, ":");

	if (!rest || !number_parse(begin, &any, &hit->begin) ||
	    !number_parse(rest, &any, &hit->addr))
		return err_set(e,
			       "'%s%s%s' is not KIND:CYCLE:ADDRESS, the name of a miss, such as "
			       "load:1200:0x10540",
			       kind, begin ? ":" : "", begin ? begin : "");
	return parse_kind(kind, &hit->kind, e);
}

bool hits_parse(const char *text, struct hit **hits, size_t *count, struct err *e)
{
	char *copy = x_strdup(text), *rest = copy, *word;
	bool ok = true;

	while (ok && (word = strsep(&rest, ","))) {
		*hits = x_realloc(*hits, (*count + 1) * sizeof(**hits));
		ok = parse_one(word, &(*hits)[*count], e);
		*count += ok;
	}
	free(copy);
	return ok;
}

bool hits_check(const char *text, struct err *e)
{
	struct hit *hits = NULL;
	size_t count = 0;
	const bool ok = hits_parse(text, &hits, &count, e);

	free(hits);
	return ok;
}

char *hits_text(const struct hit *hits, size_t count)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	for (size_t i = 0; f && i < count; i++)
		fprintf(f, "%s%s:%" PRIu64 ":0x%" PRIx64, i ? "," : "",
			words_misses[hits[i].kind].name, hits[i].begin, hits[i].addr);
	if (!f || fclose(f))
		die("out of memory");
	return text;
}

/* SPDX-License-Identifier: MIT */
/*
 * The table of recipe.def, and what follows from it for a stored run: which rows of table run are
 * read, which of them a digest covers and which options they become. Items whose value changes on
 * the way are left to rerun.c.
 */
#include "jobs/recipe.h"

#include <jansson.h>
#include <stdlib.h>

enum {
	NOT_KEPT = 0,
	ROW = RECIPE_ROW,
	SIGNED = RECIPE_SIGNED,
	DIGEST = RECIPE_DIGEST,
	REPEAT = RECIPE_REPEAT,
	DECIDES = ROW | SIGNED | DIGEST | REPEAT,
	TIMED = RECIPE_TIMED,
	INSIDE = RECIPE_INSIDE,
};

const struct recipe_row recipe_rows[RUN_ITEMS] = {
#define SIM(name, type, option, use, ...)     [RUN_##name] = { #name, option, RECIPE_##type, use },
#define SESSION(name, type, option, use, ...) [RUN_##name] = { #name, option, RECIPE_##type, use },
#define FACT(name, type, use)		      [RUN_##name] = { #name, NULL, RECIPE_##type, use },
#include "jobs/recipe.def"
};

void words_add(struct words *w, const char *word)
{
	/* Room for the end, too; it doubles at each power of two: a range may have a million words. */
	if (!(w->count & (w->count - 1)))
		w->items = x_realloc(w->items, (2 * w->count + 2) * sizeof(*w->items));
	w->items[w->count++] = x_strdup(word);
	w->items[w->count] = NULL;
}

void words_add_option(struct words *w, const char *option, const char *word)
{
	char *dashed = x_asprintf("--%s", option);

	words_add(w, dashed);
	if (word)
		words_add(w, word);
	free(dashed);
}

void words_free(struct words *w)
{
	for (size_t i = 0; i < w->count; i++)
		free(w->items[i]);
	free(w->items);
	*w = (struct words){ NULL, 0 };
}

static void add_number(struct words *w, int64_t n)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", (long long)n);
	if (n)
		words_add(w, text);
}

/* Adds the strings of a JSON list; nothing if it is not a list of strings. */
static void add_list(struct words *w, const char *text)
{
	json_t *list = text ? json_loads(text, 0, NULL) : NULL;
	bool good = json_is_array(list);

	for (size_t i = 0; good && i < json_array_size(list); i++) {
		const char *word = json_string_value(json_array_get(list, i));

		good = word;
		if (good)
			words_add(w, word);
	}
	if (!good)
		words_free(w);
	json_decref(list);
}

void recipe_read(struct recipe *r, struct store *s)
{
	*r = (struct recipe){ 0 };
	for (unsigned i = 0; i < RUN_ITEMS; i++) {
		const struct recipe_row *row = &recipe_rows[i];
		struct words *w = &r->items[i];

		if (!(row->use & RECIPE_SIGNED))
			continue;

		struct store_rows q =
		    store_query(s, "SELECT value FROM run WHERE key = ?1", "s", row->key);

		if (store_next(&q) && !store_is_null(&q, 0)) {
			if (row->type == RECIPE_SWITCH || row->type == RECIPE_NUMBER)
				add_number(w, store_int(&q, 0));
			else if (row->type == RECIPE_STRINGS)
				add_list(w, store_text(&q, 0));
			else
				words_add(w, store_text(&q, 0));
		}
		store_done(&q, NULL);
	}
}

void recipe_free(struct recipe *r)
{
	for (unsigned i = 0; i < RUN_ITEMS; i++)
		words_free(&r->items[i]);
}

const char *recipe_text(const struct recipe *r, enum recipe_item item)
{
	return r->items[item].count ? r->items[item].items[0] : NULL;
}

void recipe_replace(struct recipe *r, enum recipe_item item, const char *word)
{
	words_free(&r->items[item]);
	words_add(&r->items[item], word);
}

void recipe_digest(const struct recipe *r, struct digest *d)
{
	for (unsigned i = 0; i < RUN_ITEMS; i++) {
		if (!(recipe_rows[i].use & RECIPE_DIGEST) || !r->items[i].count)
			continue;
		digest_text(d, recipe_rows[i].key);
		for (size_t k = 0; k < r->items[i].count; k++)
			digest_text(d, r->items[i].items[k]);
		digest_text(d, NULL);
	}
}

void recipe_options(const struct recipe *r, struct words *w)
{
	for (unsigned i = 0; i < RUN_OPTIONS; i++) {
		const struct recipe_row *row = &recipe_rows[i];

		for (size_t k = 0; row->use & RECIPE_REPEAT && k < r->items[i].count; k++)
			words_add_option(w, row->option,
					 row->type == RECIPE_SWITCH ? NULL : r->items[i].items[k]);
	}
}

/* SPDX-License-Identifier: MIT */
/*
 * A run's recipe: all that decides what a simulation does. `culprit sim` gets it as options, a
 * profile keeps it as rows of table run, and a simulation of the stored run gets it as options
 * again. recipe.def has the table.
 */
#ifndef JOBS_RECIPE_H
#define JOBS_RECIPE_H

#include "util/digest.h"
#include "store/store.h"

/* RUN_argv, RUN_env, …; RUN_OPTIONS of them are options. */
enum recipe_item {
#define SIM(name, ...)	   RUN_##name,
#define SESSION(name, ...) RUN_##name,
#include "jobs/recipe.def"
	RUN_OPTIONS,
	RUN_BEFORE_FACTS = RUN_OPTIONS - 1, /* facts are counted on from here */
#define FACT(name, ...) RUN_##name,
#include "jobs/recipe.def"
	RUN_ITEMS
};

enum recipe_type {
	RECIPE_SWITCH,
	RECIPE_TEXT,
	RECIPE_PATH,
	RECIPE_NUMBER,
	RECIPE_CHOICE,
	RECIPE_STRINGS
};

/* What becomes of an item; recipe.def says it in full. */
enum recipe_use {
	RECIPE_ROW = 1 << 0,
	RECIPE_SIGNED = 1 << 1,
	RECIPE_DIGEST = 1 << 2,
	RECIPE_REPEAT = 1 << 3,
	RECIPE_TIMED = 1 << 4,
	RECIPE_INSIDE = 1 << 5,
};

struct recipe_row {
	const char *key;    /* in table run */
	const char *option; /* without dashes; NULL: none */
	enum recipe_type type;
	unsigned use; /* of enum recipe_use */
};
extern const struct recipe_row recipe_rows[RUN_ITEMS];

/* Words of a command line. */
struct words {
	char **items; /* NULL-terminated unless count is 0 */
	size_t count;
};
void words_add(struct words *w, const char *word);
/* --option word; the option without dashes, word NULL for a switch. */
void words_add_option(struct words *w, const char *option, const char *word);
void words_free(struct words *w);

/* The items of a stored run, each as the words that its option takes; "1" for a switch. No
 * words: the item is absent, is 0, or is not what its type says. */
struct recipe {
	struct words items[RUN_ITEMS];
};
/* Reads the items that the profile's signature covers; all others stay absent. */
void recipe_read(struct recipe *r, struct store *s);
void recipe_free(struct recipe *r);
/* The first word of an item; NULL: it is absent. */
const char *recipe_text(const struct recipe *r, enum recipe_item item);
/* Replaces the words of an item by one. */
void recipe_replace(struct recipe *r, enum recipe_item item, const char *word);
/* Adds all items that are marked DIGEST. */
void recipe_digest(const struct recipe *r, struct digest *d);
/* Adds the options and values of all items that are marked REPEAT to a command line. */
void recipe_options(const struct recipe *r, struct words *w);

#endif

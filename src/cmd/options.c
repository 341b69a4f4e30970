/* SPDX-License-Identifier: MIT */
/*
 * Parses a command line by a command's option table: --name value, --name=value, -x value, -xvalue;
 * "--" ends options. Options and positional arguments may be mixed, unless the command hands its
 * arguments on verbatim. --help and -h are known to every command. There are no abbreviations: a
 * script that works today must not break when an option is added.
 */
#include "cmd/cmd.h"

#include <stdlib.h>
#include <string.h>

#include "util/nearest.h"

bool cmd_walk(struct cmd_walk *w, struct cmd_option *out)
{
	if (w->after && (!w->at->name || (w->after->group_count &&
					  w->at == w->after->group + w->after->group_count))) {
		w->at = w->after + 1;
		w->after = NULL;
	}
	if (w->at && w->at->group) {
		w->after = w->at;
		w->at = w->after->group;
	}
	if (!w->at || !w->at->name)
		return false;
	*out = *w->at++;
	out->offset += w->after ? w->after->offset : 0;
	return true;
}

static bool find_long(const struct command *c, const char *name, size_t len, struct cmd_option *out)
{
	struct cmd_walk w = { .at = c->options };

	while (cmd_walk(&w, out))
		if (!strncmp(out->name, name, len) && !out->name[len])
			return true;
	return false;
}

static bool find_letter(const struct command *c, char letter, struct cmd_option *out)
{
	struct cmd_walk w = { .at = c->options };

	while (cmd_walk(&w, out))
		if (letter && out->letter == letter)
			return true;
	return false;
}

static bool unknown_option(const struct command *c, const char *given, struct err *e)
{
	size_t len = strcspn(given, "=");
	char word[64];
	struct nearest near = { .word = word };
	struct cmd_walk w = { .at = c->options };
	struct cmd_option o;

	snprintf(word, sizeof(word), "%.*s", (int)len, given + strspn(given, "-"));
	word[strcspn(word, "=")] = '\0';
	while (cmd_walk(&w, &o))
		nearest_try(&near, o.name);
	nearest_try(&near, "help");
	return err_set(
	    e, "unknown option '%.*s'; the nearest is '--%s' ('culprit %s --help' lists all)",
	    (int)len, given, near.best, c->name);
}

static bool parse_choice(const struct cmd_option *o, const char *text, int *out, struct err *e)
{
	struct nearest near = { .word = text };

	for (int i = 0; o->choices[i]; i++) {
		if (!strcmp(o->choices[i], text)) {
			*out = i;
			return true;
		}
		nearest_try(&near, o->choices[i]);
	}
	return err_set(e, "--%s has no choice '%s'; the nearest is '%s'", o->name, text, near.best);
}

static void add_string(struct cmd_strings *list, const char *text)
{
	list->items = x_realloc(list->items, (list->count + 2) * sizeof(*list->items));
	list->items[list->count++] = text;
	list->items[list->count] = NULL;
}

static bool check_text(const struct cmd_option *o, const char *text, struct err *e)
{
	struct err why;

	if (!*text)
		return err_set(e, "--%s: '' is not valid: --%s %s", o->name, o->name,
			       o->arg ? o->arg : "");
	return !o->check || o->check(text, &why) || err_set(e, "--%s: %s", o->name, why.text);
}

static bool set_value(const struct cmd_option *o, const char *text, void *values, struct err *e)
{
	void *field = (char *)values + o->offset;
	char name[64];

	switch (o->type) {
	case CMD_SWITCH:
		*(bool *)field = true;
		return true;
	case CMD_TEXT:
		if (!check_text(o, text, e))
			return false;
		*(const char **)field = text;
		return true;
	case CMD_NUMBER:
		for (size_t i = 0; o->words && o->words[i]; i++) {
			if (!strcmp(o->words[i], text)) {
				*(uint64_t *)field = o->range.max - i;
				return true;
			}
		}
		snprintf(name, sizeof(name), "--%s", o->name);
		return number_check(name, text, &o->range, field, e);
	case CMD_CHOICE:
		return parse_choice(o, text, field, e);
	case CMD_STRINGS:
		if (!check_text(o, text, e))
			return false;
		add_string(field, text);
		return true;
	}
	return err_set(e, "--%s cannot be parsed", o->name);
}

/* Parses the option at argv[*i] and moves *i to its last word. */
static bool take_option(const struct command *c, int argc, char **argv, int *i, void *values,
			struct err *e)
{
	const char *word = argv[*i], *value = NULL;
	struct cmd_option o;
	bool known;

	if (word[1] == '-') {
		size_t len = strcspn(word + 2, "=");
		known = find_long(c, word + 2, len, &o);
		if (word[2 + len])
			value = word + 2 + len + 1;
	} else {
		known = find_letter(c, word[1], &o);
		if (word[2])
			value = word + 2;
	}
	if (!known)
		return unknown_option(c, word, e);
	if (o.type == CMD_SWITCH) {
		if (value)
			return err_set(e, "--%s takes no value, but '%s' was given", o.name, word);
	} else if (!value) {
		if (*i + 1 >= argc)
			return err_set(e, "--%s needs a value: --%s %s", o.name, o.name, o.arg);
		value = argv[++*i];
	}
	return set_value(&o, value ? value : "", values, e);
}

bool cmd_parse(const struct command *c, int argc, char **argv, void *values, struct cmd_parsed *out,
	       struct err *e)
{
	struct cmd_walk w = { .at = c->options };
	struct cmd_option o;
	bool options = true;

	/* Positional arguments are moved to the front of argv, over words that are already
	 * parsed. */
	*out = (struct cmd_parsed){ .args = argv };
	while (cmd_walk(&w, &o))
		if (o.type == CMD_NUMBER)
			*(uint64_t *)((char *)values + o.offset) = o.unset;
		else if (o.type == CMD_CHOICE)
			*(int *)((char *)values + o.offset) = (int)o.unset;
	for (int i = 0; i < argc; i++) {
		char *word = argv[i];

		if (!options || word[0] != '-' || !word[1]) {
			argv[out->nargs++] = word;
			if (c->args_verbatim)
				options = false;
		} else if (!strcmp(word, "--")) {
			options = false;
		} else if (!strcmp(word, "--help") || !strcmp(word, "-h")) {
			out->help = true;
			return true;
		} else if (!take_option(c, argc, argv, &i, values, e)) {
			return false;
		}
	}
	argv[out->nargs] = NULL;
	if (out->nargs < c->min_args)
		return err_set(e, "an argument is missing: culprit %s [options] %s", c->name,
			       c->args);
	if (c->max_args >= 0 && out->nargs > c->max_args)
		return err_set(e,
			       "too many arguments, from '%s' on ('culprit %s --help' says which)",
			       argv[c->max_args], c->name);
	return true;
}

void cmd_values_free(const struct command *c, void *values)
{
	struct cmd_walk w = { .at = c->options };
	struct cmd_option o;

	while (cmd_walk(&w, &o))
		if (o.type == CMD_STRINGS)
			free(((struct cmd_strings *)((char *)values + o.offset))->items);
}

bool cmd_given(const struct cmd_option *o, const void *values)
{
	const void *field = (const char *)values + o->offset;

	switch (o->type) {
	case CMD_SWITCH:
		return *(const bool *)field;
	case CMD_TEXT:
		return *(const char *const *)field;
	case CMD_NUMBER:
		return *(const uint64_t *)field != o->unset;
	case CMD_CHOICE:
		return *(const int *)field != (int)o->unset;
	case CMD_STRINGS:
		return ((const struct cmd_strings *)field)->count;
	}
	return false;
}

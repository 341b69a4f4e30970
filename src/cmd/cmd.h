/* SPDX-License-Identifier: MIT */
/*
 * What a command is: one const struct command cmd_NAME in a file NAME.c of its own, and its name in
 * cmd_names (meson.build). Option parsing, --help, man pages and the option lists of the
 * documentation all come from that struct.
 */
#ifndef CMD_CMD_H
#define CMD_CMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/number.h"
#include "util/util.h"

enum cmd_type {
	CMD_SWITCH,  /* bool: given or not */
	CMD_TEXT,    /* const char *: the last one given */
	CMD_NUMBER,  /* uint64_t: util/number.h */
	CMD_CHOICE,  /* int: index into choices */
	CMD_STRINGS, /* struct cmd_strings: every one given, in order */
	CMD_PATH = CMD_TEXT,
};

/* The values of an option that can be given more than once; NULL-terminated unless count is 0. */
struct cmd_strings {
	const char **items;
	size_t count;
};

/* The C type of each, for structs that are made from a table (jobs/recipe.def). */
#define CMD_VALUE_SWITCH  bool
#define CMD_VALUE_TEXT	  const char *
#define CMD_VALUE_PATH	  const char *
#define CMD_VALUE_NUMBER  uint64_t
#define CMD_VALUE_CHOICE  int
#define CMD_VALUE_STRINGS struct cmd_strings

struct cmd_option {
	const char *name; /* long name without dashes; NULL: a group, or the end of the table */
	enum cmd_type type;
	size_t offset;		    /* of the value in the command's values */
	const char *arg;	    /* what its argument is called in help; NULL for a switch */
	const char *help;	    /* what it does; NULL: help does not list it */
	const char *const *choices; /* CMD_CHOICE: the words, NULL-terminated */
	char letter;		    /* one-letter form; 0: none */
	struct number_range range;  /* CMD_NUMBER: what is valid; all that fits by default */
	const char *const *words;   /* CMD_NUMBER: NULL-terminated; the first stands for range.max,
				       the next for range.max - 1, … NULL: none */
	uint64_t unset;		    /* CMD_NUMBER, CMD_CHOICE: the value if it is not given */
	/* CMD_TEXT, CMD_STRINGS: returns false and says in e what is wrong with a value. NULL:
	 * any text is valid. An empty text never is. What depends on other options the command
	 * checks itself. */
	bool (*check)(const char *text, struct err *e);
	/* A row without a name: the options of another table, whose values begin at `offset`; all of them, or
	 * only the first group_count. */
	const struct cmd_option *group;
	size_t group_count;
};

#define OPTION_NOT_GIVEN UINT64_MAX /* as cmd_option.unset, where 0 is a valid value */

/* Walks through the options of a table and of its groups; begins as { .at = table }. */
struct cmd_walk {
	const struct cmd_option *at;
	const struct cmd_option *after; /* the group that `at` is in; NULL: none */
};
/* The next option, with its offset in the command's values. False: there are no more. */
bool cmd_walk(struct cmd_walk *w, struct cmd_option *out);
/* Whether the command line changed the option's value. */
bool cmd_given(const struct cmd_option *o, const void *values);

struct cmd_example {
	const char *line; /* what to type */
	const char *text; /* what it does */
};

struct command {
	const char *name;
	const char *summary;	/* one line, lower case, no full stop */
	const char *args;	/* positional arguments as in usage: "PROG [ARGS...]"; NULL: none */
	int min_args, max_args; /* how many; max_args < 0: any number */
	bool
	    args_verbatim; /* options end at the first positional argument: the rest belongs to another program */
	const char *description; /* paragraphs, with a blank line between them */
	const char *exit_status; /* paragraphs too */
	const struct cmd_option *options;
	const struct cmd_example *examples; /* ends with a NULL line */
	size_t values_size; /* of the struct that options are parsed into; it starts zeroed */
	/* Does the work. args is NULL-terminated. Returns the exit status. */
	int (*run)(void *values, int nargs, char **args);
};

/* Flushes standard output. False, and one line on standard error, if some of it could not be
 * written since the last call. Call it soon after the output, while errno still says why. */
bool cmd_flush(void);

/* All commands, in the order of help, NULL-terminated. */
extern const struct command *const command_list[];
const struct command *cmd_find(const char *name);
/* Warns that there is no command of that name, names the nearest, and returns exit status 2. */
int cmd_unknown(const char *name);

/* The whole program but for main. */
int cmd_main(int argc, char **argv);

/* options.c */
struct cmd_parsed {
	char **args; /* positional arguments, in argv's memory */
	int nargs;
	bool help; /* --help was given; nothing else is checked */
};
/* Fills values (of c->values_size, zeroed) from argv, which does not include the command's name. */
bool cmd_parse(const struct command *c, int argc, char **argv, void *values, struct cmd_parsed *out,
	       struct err *e);
/* Releases what cmd_parse allocated inside values. */
void cmd_values_free(const struct command *c, void *values);

/* help.c: the same text for a terminal, as a man page and as Markdown. NULL: culprit as a whole. */
void cmd_print_help(FILE *out, const struct command *c);
void cmd_print_man(FILE *out, const struct command *c);
void cmd_print_markdown(FILE *out);
/* completion.c: for bash, zsh or fish. */
void cmd_print_completion(FILE *out, const char *shell);

#endif

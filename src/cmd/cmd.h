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
	size_t offset;	  /* of the value in the command's values */
	const char *arg;  /* what its argument is called in help; NULL for a switch */
	const char *help; /* a sentence or more, without a full stop at the end of a single one */
	const char *const *choices; /* CMD_CHOICE: the words, NULL-terminated */
	char letter;		    /* one-letter form; 0: none */
	struct number_range range;  /* CMD_NUMBER: what is valid; all that fits by default */
	uint64_t unset;		    /* CMD_NUMBER, CMD_CHOICE: the value if it is not given */
	/* CMD_TEXT, CMD_STRINGS: false, and what is wrong in e, if it cannot be; NULL: any text but
	 * an empty one is valid. What depends on other options is for the command itself. */
	bool (*check)(const char *text, struct err *e);
	/* Instead of all that: the options of another table, whose values begin at `offset`. */
	const struct cmd_option *group;
};

#define OPTION_NOT_GIVEN UINT64_MAX /* as cmd_option.unset, where 0 means something */

/* Goes through a table of options and those of its groups: begin with { .at = table }. */
struct cmd_walk {
	const struct cmd_option *at;
	const struct cmd_option *after; /* the group that `at` is in; NULL: none */
};
/* The next one, with its offset in the command's values; false: there is none. */
bool cmd_walk(struct cmd_walk *w, struct cmd_option *out);
/* If the option, with that offset, has another value than without being given. */
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
	bool args_verbatim;	/* options end at the first positional argument: the rest is another
				   program's */
	const char *description; /* paragraphs, with a blank line between them */
	const char *exit_status; /* the same */
	const struct cmd_option *options;
	const struct cmd_example *examples; /* ends with a NULL line */
	size_t values_size; /* of the struct that options fill in; it starts zeroed */
	/* Does the work. args is NULL-terminated. Returns the exit status. */
	int (*run)(void *values, int nargs, char **args);
};

/* Writes out standard output. False, and one line on standard error, if some of it could not be
 * written since the last call; to be called soon after the output, while errno says why. */
bool cmd_flush(void);

/* All of them, in the order of help, NULL-terminated. */
extern const struct command *const command_list[];
const struct command *cmd_find(const char *name);
/* Warns that there is no command of that name, which is nearest, and returns exit status 2. */
int cmd_unknown(const char *name);

/* The whole program, less main. */
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

#endif

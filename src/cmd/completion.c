/* SPDX-License-Identifier: MIT */
/*
 * Completion of command lines for bash, zsh and fish, made from the commands' structs. Words of a
 * choice, machines, analyses and events are known when it is made; functions of a profile are asked
 * of the profile on the command line.
 */
#include <string.h>

#include "cmd/cmd.h"
#include "machine/machine.h"
#include "trace/analysis.h"
#include "words/words.h"

/* Prints the words that an option's value can have, with blanks between; false: it has no list. */
static bool put_words(FILE *out, const struct command *c, const struct cmd_option *o)
{
	const char *space = "";

	if (o->type == CMD_CHOICE) {
		for (const char *const *w = o->choices; w && *w; w++, space = " ")
			fprintf(out, "%s%s", space, *w);
	} else if (!strcmp(o->name, "machine")) {
		for (size_t m = 0; m < machine_files_count; m++)
			fprintf(out, "%s%s", m ? " " : "", machine_files[m].name);
	} else if (!strcmp(o->name, "analyze")) {
		fputs("all none", out);
		for (const struct analysis *const *a = analysis_list; *a; a++)
			fprintf(out, " %s", (*a)->name);
	} else if (!strcmp(o->name, "event") && !strcmp(c->name, "report")) {
		for (int b = 0; b < EVENT_PROFILED_COUNT; b++)
			fprintf(out, "%s%s", b ? " " : "", words_events[b].name);
	} else if (!strcmp(o->name, "profiler")) {
		fputs("oracle", out);
		for (int p = 0; p < PROFILER_COUNT; p++)
			fprintf(out, " %s", words_profilers[p].name);
	} else {
		return false;
	}
	return true;
}

/* The first sentence of a help text, without what a shell would take for its own. */
static void put_summary(FILE *out, const char *text)
{
	for (; text && *text && !(*text == '.' && (!text[1] || text[1] == ' ')) && *text != ':';
	     text++)
		if (!strchr("'\"\\[]`$", *text))
			fputc(*text, out);
}

static bool shown(const struct cmd_option *o)
{
	return o->help != NULL;
}

static void put_options(FILE *out, const struct command *c)
{
	struct cmd_walk w = { .at = c->options };
	struct cmd_option o;

	while (cmd_walk(&w, &o))
		if (shown(&o))
			fprintf(out, "--%s ", o.name);
	fputs("--help", out);
}

/* Names of functions of the first profile on the command line; one place for both shells. */
#define FUNCTIONS                                                                                  \
	"\tfor word in \"${words[@]}\"; do\n"                                                      \
	"\t\tcase $word in *.culprit) culprit report \"$word\" --json --limit 1000 2>/dev/null "   \
	"|\n"                                                                                      \
	"\t\t\tsed -n 's/^ *\"symbol\": \"\\([^\"]*\\)\".*/\\1/p' | sort -u; return ;; esac\n"     \
	"\tdone\n"

/* bash; zsh takes it too, by bashcompinit. */
static void put_bash(FILE *out)
{
	fputs("# Made by `culprit help --completion bash`.\n_culprit_functions() {\n"
	      "\tlocal word words=(\"$@\")\n" FUNCTIONS "}\n\n_culprit() {\n"
	      "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=\n"
	      "\tif [ \"$COMP_CWORD\" = 1 ]; then\n\t\tCOMPREPLY=($(compgen -W \"",
	      out);
	for (const struct command *const *c = command_list; *c; c++)
		fprintf(out, "%s ", (*c)->name);
	fputs("--help --version\" -- \"$cur\"))\n\t\treturn\n\tfi\n\tcase ${COMP_WORDS[1]}:$prev "
	      "in\n",
	      out);
	for (const struct command *const *c = command_list; *c; c++) {
		struct cmd_walk w = { .at = (*c)->options };
		struct cmd_option o;

		while (cmd_walk(&w, &o)) {
			if (!shown(&o) || o.type == CMD_SWITCH)
				continue;
			fprintf(out, "\t%s:--%s", (*c)->name, o.name);
			if (o.letter)
				fprintf(out, " | %s:-%c", (*c)->name, o.letter);
			if (!strcmp(o.name, "function")) {
				fputs(") words=$(_culprit_functions \"${COMP_WORDS[@]}\") ;;\n",
				      out);
				continue;
			}
			fputs(") words=\"", out);
			const bool known = put_words(out, *c, &o);
			fputs(known ? "\" ;;\n"
				    : "\"; COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n",
			      out);
		}
	}
	fputs("\thelp:*) words=\"", out);
	for (const struct command *const *c = command_list; *c; c++)
		fprintf(out, "%s ", (*c)->name);
	fputs("\" ;;\n\tesac\n\tif [ -z \"$words\" ]; then\n\t\tcase $cur in\n\t\t-*)\n"
	      "\t\t\tcase ${COMP_WORDS[1]} in\n",
	      out);
	for (const struct command *const *c = command_list; *c; c++) {
		fprintf(out, "\t\t\t%s) words=\"", (*c)->name);
		put_options(out, *c);
		fputs("\" ;;\n", out);
	}
	fputs("\t\t\tesac ;;\n\t\t*)\n\t\t\tCOMPREPLY=($(compgen -f -- \"$cur\"))\n\t\t\treturn "
	      ";;\n\t\tesac\n"
	      "\tfi\n\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n}\n",
	      out);
}

static void put_fish(FILE *out)
{
	fputs("# Made by `culprit help --completion fish`.\n", out);
	for (const struct command *const *c = command_list; *c; c++) {
		struct cmd_walk w = { .at = (*c)->options };
		struct cmd_option o;

		fprintf(out, "complete -c culprit -n __fish_use_subcommand -f -a %s -d '",
			(*c)->name);
		put_summary(out, (*c)->summary);
		fputs("'\n", out);
		while (cmd_walk(&w, &o)) {
			if (!shown(&o))
				continue;
			fprintf(out,
				"complete -c culprit -n '__fish_seen_subcommand_from %s' -l %s",
				(*c)->name, o.name);
			if (o.letter)
				fprintf(out, " -s %c", o.letter);
			if (o.type != CMD_SWITCH) {
				fputs(" -r -a '", out);
				put_words(out, *c, &o);
				fputc('\'', out);
			}
			fputs(" -d '", out);
			put_summary(out, o.help);
			fputs("'\n", out);
		}
	}
}

void cmd_print_completion(FILE *out, const char *shell)
{
	if (!strcmp(shell, "fish")) {
		put_fish(out);
		return;
	}
	if (!strcmp(shell, "zsh"))
		fputs("#compdef culprit\nautoload -U +X bashcompinit && bashcompinit\n", out);
	put_bash(out);
	fputs("complete -o filenames -F _culprit culprit\n", out);
}

/* SPDX-License-Identifier: MIT */
/*
 * culprit list: what is available, one line each. Every list is made from the table that the rest
 * of the program uses, so it cannot be out of date: commands, analyses and instructions from
 * theirs, all other names from the vocabulary (words/words.h).
 */
#include "cmd/cmd.h"

#include <jansson.h>
#include <string.h>

#include "isa/isa.h"
#include "trace/analysis.h"
#include "util/nearest.h"
#include "words/words.h"

struct list_values {
	bool json, glossary;
};

/* Fills in row i of a kind; false if there are no more. */
typedef bool row_fn(const struct words_list *list, unsigned i, struct word *out);

static bool command_row(const struct words_list *list, unsigned i, struct word *out)
{
	*out = (struct word){ 0 };
	if (!command_list[i])
		return false;
	out->name = command_list[i]->name;
	out->meaning = command_list[i]->summary;
	return true;
}

static bool analysis_row(const struct words_list *list, unsigned i, struct word *out)
{
	*out = (struct word){ 0 };
	if (!analysis_list[i])
		return false;
	out->name = analysis_list[i]->name;
	out->meaning = analysis_list[i]->summary;
	return true;
}

static bool instruction_row(const struct words_list *list, unsigned i, struct word *out)
{
	const unsigned op = OP_ILLEGAL + 1 + i;

	*out = (struct word){ 0 };
	if (op >= OP_COUNT)
		return false;
	out->name = op_info[op].name;
	out->meaning = op_class_name[op_info[op].cls];
	return true;
}

static bool word_row(const struct words_list *list, unsigned i, struct word *out)
{
	if (i >= list->count)
		return false;
	*out = list->rows[i];
	return true;
}

struct kind {
	const char *name, *summary;
	row_fn *row;
	const struct words_list *list;
};

static const struct kind own[] = {
	{ "commands", "what culprit can do", command_row, NULL },
	{ "analyses", "what can be computed from a run", analysis_row, NULL },
	{ "instructions", "what the guest machine executes, with the class of each",
	  instruction_row, NULL },
};

static bool kind_at(size_t i, struct kind *out)
{
	if (i < ARRAY_LEN(own)) {
		*out = own[i];
		return true;
	}
	i -= ARRAY_LEN(own);
	if (i >= words_lists_count)
		return false;
	*out =
	    (struct kind){ words_lists[i].kind, words_lists[i].summary, word_row, &words_lists[i] };
	return true;
}

static void print_text(const struct kind *k)
{
	struct word w;
	int width = 16;

	for (unsigned i = 0; k->row(k->list, i, &w); i++)
		width = (int)strlen(w.name) > width ? (int)strlen(w.name) : width;
	for (unsigned i = 0; k->row(k->list, i, &w); i++) {
		printf("%-*s %s\n", width, w.name, w.meaning);
		for (const struct analysis_param *p =
			 k->row == analysis_row ? analysis_list[i]->params : NULL;
		     p && p->name; p++)
			printf("%-*s   --param %s=%s: %s\n", width, "", p->name,
			       p->number ? "N" : "TEXT", p->help);
	}
}

static void print_json(const struct kind *k)
{
	json_t *rows = json_array();
	struct word w;

	for (unsigned i = 0; k->row(k->list, i, &w); i++)
		json_array_append_new(rows,
				      json_pack("{s:s, s:s, s:s}", "name", w.name, "words",
						w.words ? w.words : w.name, "meaning", w.meaning));
	json_dumpf(rows, stdout, JSON_INDENT(1));
	putchar('\n');
	json_decref(rows);
}

static void print_glossary(void)
{
	printf("# Glossary\n\nThe names that reports, options, stores and JSON keys use. Made by "
	       "`culprit list --glossary`.\n");
	for (unsigned i = 0; i < words_lists_count; i++) {
		const struct words_list *l = &words_lists[i];

		printf("\n## %c%s: %s\n\n| name | meaning |\n| --- | --- |\n",
		       l->kind[0] - 'a' + 'A', l->kind + 1, l->summary);
		for (unsigned k = 0; k < l->count; k++)
			printf("| %s | %s |\n", l->rows[k].name, l->rows[k].meaning);
	}
}

static int list_run(void *values, int nargs, char **args)
{
	const struct list_values *v = values;
	struct nearest near = { .word = nargs ? args[0] : "" };
	struct kind k;

	if (v->glossary) {
		print_glossary();
		return 0;
	}
	for (size_t i = 0; kind_at(i, &k); i++) {
		if (!nargs) {
			printf("%-16s %s\n", k.name, k.summary);
			continue;
		}
		if (!strcmp(k.name, args[0])) {
			if (v->json)
				print_json(&k);
			else
				print_text(&k);
			return 0;
		}
		nearest_try(&near, k.name);
	}
	if (!nargs)
		return 0;
	warn("list: there are no '%s' to list; the nearest is '%s'", args[0], near.best);
	return 2;
}

#define OPTION(field) .offset = offsetof(struct list_values, field)
static const struct cmd_option options[] = {
	{ .name = "json",
	  .type = CMD_SWITCH,
	  OPTION(json),
	  .help = "Prints a kind as JSON: name, words for people, meaning" },
	{ .name = "glossary",
	  .type = CMD_SWITCH,
	  OPTION(glossary),
	  .help = "Prints the names of all kinds as a page of documentation" },
	{ .name = NULL },
};

static const struct cmd_example examples[] = {
	{ "culprit list instructions", "Every instruction of RV64GC and its extensions here." },
	{ "culprit list events", "Why an instruction can take time." },
	{ NULL, NULL },
};

const struct command cmd_list = {
	.name = "list",
	.summary = "what is available: commands, analyses, instructions, events, profilers …",
	.args = "[KIND]",
	.max_args = 1,
	.description =
	    "Lists the things of one kind by name, one per line, with what each is. Without "
	    "an argument it lists the kinds.",
	.options = options,
	.examples = examples,
	.values_size = sizeof(struct list_values),
	.run = list_run,
};

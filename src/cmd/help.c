/* SPDX-License-Identifier: MIT */
/*
 * culprit help: walks over the commands' structs and writes what it finds for a terminal, as a man
 * page (roff with the man macros) or as Markdown. The build makes the man pages and commands.md
 * with two switches that --help does not show.
 */
#include "cmd/cmd.h"

#include <ctype.h>
#include <string.h>

#define WIDTH	    80
#define TEXT_COLUMN 24 /* where the text of an item begins */

/* How one format writes the parts of a page. */
struct format {
	void (*title)(FILE *out, const char *page, const char *summary);
	void (*heading)(FILE *out, const char *text);
	void (*usage)(FILE *out, const char *line);
	void (*paragraph)(FILE *out, const char *text, size_t len);
	/* A term, its argument (or NULL) and its meaning. */
	void (*item)(FILE *out, const char *term, const char *arg, const char *text);
};

/* Terminal. */

/* Wraps text at WIDTH. The first line continues at column, the others begin at indent. */
static void put_wrapped(FILE *out, const char *text, size_t len, int column, int indent)
{
	const char *end = text + len;
	bool first = true;

	while (text < end) {
		int word = 0;

		while (text < end && isspace((unsigned char)*text))
			text++;
		while (text + word < end && !isspace((unsigned char)text[word]))
			word++;
		if (!word)
			break;
		if (!first && column + 1 + word > WIDTH) {
			fputc('\n', out);
			column = 0;
			first = true;
		}
		if (first)
			column += fprintf(out, "%*s", indent - column, "");
		column += fprintf(out, "%s%.*s", first ? "" : " ", word, text);
		first = false;
		text += word;
	}
	fputc('\n', out);
}

static void text_title(FILE *out, const char *page, const char *summary)
{
	fprintf(out, "%s: %s\n", page, summary);
}

static void text_heading(FILE *out, const char *text)
{
	fprintf(out, "\n%s:\n", text);
}

static void text_usage(FILE *out, const char *line)
{
	fprintf(out, "  %s\n", line);
}

static void text_paragraph(FILE *out, const char *text, size_t len)
{
	put_wrapped(out, text, len, 0, 2);
}

static void text_item(FILE *out, const char *term, const char *arg, const char *text)
{
	int column = fprintf(out, "  %s%s%s", term, arg ? " " : "", arg ? arg : "");

	if (column >= TEXT_COLUMN - 1) {
		fputc('\n', out);
		column = 0;
	}
	put_wrapped(out, text, strlen(text), column, TEXT_COLUMN);
}

static const struct format text_format = { text_title, text_heading, text_usage, text_paragraph,
					   text_item };

/* Man page. */

static void put_roff(FILE *out, const char *text, size_t len)
{
	bool line_start = true;

	for (size_t i = 0; i < len; i++) {
		char c = text[i];

		if (line_start && (c == '.' || c == '\''))
			fputs("\\&", out);
		if (c == '-')
			fputs("\\-", out);
		else if (c == '\\')
			fputs("\\e", out);
		else
			fputc(c, out);
		line_start = c == '\n';
	}
}

static void man_title(FILE *out, const char *page, const char *summary)
{
	char upper[64];
	size_t n = 0;

	for (; page[n] && n + 1 < sizeof(upper); n++)
		upper[n] = (char)toupper((unsigned char)page[n]);
	upper[n] = '\0';
	fprintf(out, ".TH %s 1 \"\" \"culprit " CULPRIT_VERSION "\" \"culprit manual\"\n", upper);
	fputs(".SH NAME\n", out);
	put_roff(out, page, strlen(page));
	fputs(" \\- ", out);
	put_roff(out, summary, strlen(summary));
	fputc('\n', out);
}

static void man_heading(FILE *out, const char *text)
{
	fputs(".SH ", out);
	for (const char *s = text; *s; s++)
		fputc(toupper((unsigned char)*s), out);
	fputc('\n', out);
}

static void man_usage(FILE *out, const char *line)
{
	fputs(".nf\n.B ", out);
	put_roff(out, line, strlen(line));
	fputs("\n.fi\n", out);
}

static void man_paragraph(FILE *out, const char *text, size_t len)
{
	fputs(".PP\n", out);
	put_roff(out, text, len);
	fputc('\n', out);
}

static void man_item(FILE *out, const char *term, const char *arg, const char *text)
{
	fputs(".TP\n.BI \"", out);
	put_roff(out, term, strlen(term));
	fputc('"', out);
	if (arg) {
		fputs(" \" ", out);
		put_roff(out, arg, strlen(arg));
		fputc('"', out);
	}
	fputc('\n', out);
	put_roff(out, text, strlen(text));
	fputc('\n', out);
}

static const struct format man_format = { man_title, man_heading, man_usage, man_paragraph,
					  man_item };

/* Markdown. */

static void md_title(FILE *out, const char *page, const char *summary)
{
	fprintf(out, "\n## %s\n\n%c%s.\n", page, toupper((unsigned char)summary[0]), summary + 1);
}

static void md_heading(FILE *out, const char *text)
{
	fprintf(out, "\n### %c%s\n\n", toupper((unsigned char)text[0]), text + 1);
}

static void md_usage(FILE *out, const char *line)
{
	fprintf(out, "    %s\n", line);
}

static void md_paragraph(FILE *out, const char *text, size_t len)
{
	fprintf(out, "%.*s\n\n", (int)len, text);
}

static void md_item(FILE *out, const char *term, const char *arg, const char *text)
{
	fprintf(out, "- `%s%s%s`: %s\n", term, arg ? " " : "", arg ? arg : "", text);
}

static const struct format md_format = { md_title, md_heading, md_usage, md_paragraph, md_item };

/* The walk. */

static void put_paragraphs(FILE *out, const struct format *f, const char *text)
{
	while (*text) {
		const char *gap = strstr(text, "\n\n");
		size_t len = gap ? (size_t)(gap - text) : strlen(text);

		f->paragraph(out, text, len);
		text += gap ? len + 2 : len;
		if (*text && f == &text_format)
			fputc('\n', out);
	}
}

static void put_option(FILE *out, const struct format *f, const struct cmd_option *o)
{
	char term[80], arg[120];
	int n = 0;

	if (o->letter)
		n = snprintf(term, sizeof(term), "-%c, ", o->letter);
	snprintf(term + n, sizeof(term) - (size_t)n, "--%s", o->name);
	if (o->type == CMD_CHOICE) {
		n = 0;
		for (const char *const *word = o->choices; *word && n < (int)sizeof(arg); word++)
			n +=
			    snprintf(arg + n, sizeof(arg) - (size_t)n, "%s%s", n ? "|" : "", *word);
	} else {
		snprintf(arg, sizeof(arg), "%s", o->arg ? o->arg : "");
	}
	f->item(out, term, arg[0] ? arg : NULL, o->help);
}

static void put_command(FILE *out, const struct format *f, const struct command *c)
{
	struct cmd_walk w = { .at = c->options };
	struct cmd_option o;
	char name[64], line[160];

	snprintf(name, sizeof(name), f == &man_format ? "culprit-%s" : "culprit %s", c->name);
	f->title(out, name, c->summary);
	f->heading(out, f == &man_format ? "synopsis" : "usage");
	snprintf(line, sizeof(line), "culprit %s%s%s%s", c->name, c->options ? " [options]" : "",
		 c->args ? " " : "", c->args ? c->args : "");
	f->usage(out, line);
	f->heading(out, "description");
	put_paragraphs(out, f, c->description);
	f->heading(out, "options");
	while (cmd_walk(&w, &o))
		if (o.help)
			put_option(out, f, &o);
	f->item(out, "-h, --help", NULL, "Prints this text.");
	if (c->exit_status) {
		f->heading(out, "exit status");
		put_paragraphs(out, f, c->exit_status);
	}
	if (c->examples) {
		f->heading(out, "examples");
		for (const struct cmd_example *x = c->examples; x->line; x++)
			f->item(out, x->line, NULL, x->text);
	}
	if (f == &man_format) {
		f->heading(out, "see also");
		f->paragraph(out, "culprit(1)", strlen("culprit(1)"));
	}
}

static const char overview[] =
    "culprit answers three questions about a program on an out-of-order processor: what takes "
    "time (which instructions), why (which events), and what would fixing it buy (in cycles). "
    "It runs unmodified RISC-V (RV64GC) Linux programs on a modelled machine.";

static const char conventions[] =
    "0 on success, 1 on a failed check, 2 on wrong use or bad input, with one line on standard "
    "error that says what is wrong. culprit sim exits as the program that it runs does.";

static void put_overview(FILE *out, const struct format *f)
{
	f->title(out, "culprit", "what takes time on an out-of-order processor, and why");
	f->heading(out, f == &man_format ? "synopsis" : "usage");
	f->usage(out, "culprit COMMAND [options] [arguments]");
	f->usage(out, "culprit --version");
	f->heading(out, "description");
	put_paragraphs(out, f, overview);
	f->heading(out, "commands");
	for (const struct command *const *c = command_list; *c; c++)
		f->item(out, (*c)->name, NULL, (*c)->summary);
	f->heading(out, "exit status");
	put_paragraphs(out, f, conventions);
	if (f == &man_format) {
		f->heading(out, "see also");
		fputs(".PP\n", out);
		for (const struct command *const *c = command_list; *c; c++)
			fprintf(out, "culprit\\-%s(1)%s\n", (*c)->name, c[1] ? "," : "");
	} else {
		fputs("\n'culprit COMMAND --help' says more about one.\n", out);
	}
}

static void put_page(FILE *out, const struct format *f, const struct command *c)
{
	if (c)
		put_command(out, f, c);
	else
		put_overview(out, f);
}

void cmd_print_help(FILE *out, const struct command *c)
{
	put_page(out, &text_format, c);
}

void cmd_print_man(FILE *out, const struct command *c)
{
	put_page(out, &man_format, c);
}

void cmd_print_markdown(FILE *out)
{
	fputs("# Commands\n\nMade by `culprit help --markdown`, from the commands' own tables.\n",
	      out);
	for (const struct command *const *c = command_list; *c; c++)
		put_command(out, &md_format, *c);
}

/* The command. */

struct help_values {
	bool man;
	bool markdown;
	const char *completion;
};

static bool check_shell(const char *text, struct err *e)
{
	if (!strcmp(text, "bash") || !strcmp(text, "zsh") || !strcmp(text, "fish"))
		return true;
	return err_set(e, "there is no completion for '%s'; it is made for bash, zsh and fish",
		       text);
}

static const struct cmd_option help_options[] = {
	{ .name = "man", .type = CMD_SWITCH, .offset = offsetof(struct help_values, man) },
	{ .name = "markdown",
	  .type = CMD_SWITCH,
	  .offset = offsetof(struct help_values, markdown) },
	{ .name = "completion",
	  .type = CMD_TEXT,
	  .offset = offsetof(struct help_values, completion),
	  .check = check_shell,
	  .arg = "SHELL",
	  .help = "Prints what completes command lines in bash, zsh or fish" },
	{ .name = NULL },
};

static int help_run(void *values, int nargs, char **args)
{
	const struct help_values *v = values;
	const struct command *c = NULL;

	/* The overview's man page is called "culprit". */
	if (nargs && strcmp(args[0], "culprit")) {
		c = cmd_find(args[0]);
		if (!c)
			return cmd_unknown(args[0]);
	}
	if (v->completion)
		cmd_print_completion(stdout, v->completion);
	else if (v->markdown)
		cmd_print_markdown(stdout);
	else if (v->man)
		cmd_print_man(stdout, c);
	else
		cmd_print_help(stdout, c);
	return 0;
}

const struct command cmd_help = {
	.name = "help",
	.summary = "what culprit and its commands do, and how they are called",
	.args = "[COMMAND]",
	.max_args = 1,
	.description = "Prints what a command does and its options, or, without an argument, the "
		       "list of commands.",
	.options = help_options,
	.values_size = sizeof(struct help_values),
	.run = help_run,
};

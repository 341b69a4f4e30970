/* SPDX-License-Identifier: MIT */
/* Text for a terminal, and what all views share. */
#include "view/term.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

void view_defaults(struct view_options *o)
{
	struct winsize size;
	bool terminal = isatty(fileno(o->out));
	if (!o->width && terminal && !ioctl(fileno(o->out), TIOCGWINSZ, &size) && size.ws_col)
		o->width = size.ws_col;
	if (!o->width)
		o->width = 100;
	if (o->width < 60)
		o->width = 60;
	const char *no = getenv("NO_COLOR");
	o->colour = terminal && !(no && *no);
	if (!o->limit)
		o->limit = 10;
}

const char *term_on(const struct view_options *o, enum term_colour c)
{
	static const char *const code[TERM_COLOUR_COUNT] = {
		[TERM_PLAIN] = "",
		[TERM_BOLD] = "\033[1m",
		[TERM_DIM] = "\033[2m",
		[TERM_RED] = "\033[31m",
		[TERM_GREEN] = "\033[32m",
		[TERM_YELLOW] = "\033[33m",
		[TERM_BLUE] = "\033[34m",
		[TERM_MAGENTA] = "\033[35m",
		[TERM_CYAN] = "\033[36m",
		[TERM_ORANGE] = "\033[38;5;208m",
		[TERM_GREY] = "\033[38;5;245m",
	};
	return o->colour ? code[c] : "";
}

const char *term_off(const struct view_options *o)
{
	return o->colour ? "\033[0m" : "";
}

void term_bar(const struct view_options *o, double share, int cells, enum term_colour c)
{
	static const char *const eighth[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	int eighths = (int)lround(fmin(fmax(share, 0), 1) * cells * 8), full = eighths / 8;
	fputs(term_on(o, c), o->out);
	for (int i = 0; i < full; i++)
		fputs("█", o->out);
	fputs(eighth[eighths % 8], o->out);
	fputs(term_off(o), o->out);
	for (int i = full + (eighths % 8 != 0); i < cells; i++)
		fputc(' ', o->out);
}

int term_columns(const char *text, size_t size_bytes)
{
	int columns = 0;

	for (size_t i = 0; i < size_bytes; i++)
		columns += ((unsigned char)text[i] & 0xc0) != 0x80;
	return columns;
}

void term_cells(const struct view_options *o, const struct term_part *part, int cells)
{
	fputs(term_on(o, part->colour), o->out);
	for (; cells > 0; cells--) {
		if (o->colour)
			fputs("█", o->out);
		else
			fputc(part->letter, o->out);
	}
	fputs(term_off(o), o->out);
}

void term_stack(const struct view_options *o, const struct term_part *parts, size_t count,
		int cells)
{
	double sum = 0;
	int at = 0;
	for (size_t i = 0; i < count; i++) {
		sum += parts[i].share;
		const int end = (int)lround(fmin(sum, 1) * cells);

		term_cells(o, &parts[i], end - at);
		at = end > at ? end : at;
	}
	for (; at < cells; at++)
		fputc(' ', o->out);
}

/* What of a text that is cut stands at its end: the address in "[library+0x1234]", without which two
 * places would read alike. "" for any other text, or if little else would be left. */
static const char *kept_end(const char *text, int cells)
{
	const size_t n = strlen(text);
	const char *end = n && text[0] == '[' && text[n - 1] == ']' ? strrchr(text, '+') : NULL;

	return end && term_columns(end, strlen(end)) < cells / 2 + 2 ? end : "";
}

void term_text(const struct view_options *o, const char *text, int cells, bool pad)
{
	const int columns = term_columns(text, strlen(text));
	const char *end = columns > cells ? kept_end(text, cells) : "", *c = text;
	int at = 0, room = columns;

	if (columns > cells)
		room = cells - 1 - term_columns(end, strlen(end));
	for (; *c && (at < room || ((unsigned char)*c & 0xc0) == 0x80); c++) {
		at += ((unsigned char)*c & 0xc0) != 0x80;
		fputc(*c == '\t' ? ' ' : *c, o->out);
	}
	if (columns > cells && cells > 0) {
		fprintf(o->out, "…%s", end);
		at = cells;
	}
	for (; pad && at < cells; at++)
		fputc(' ', o->out);
}

void term_cut(const char *text, int cells, char *buf, size_t size_bytes)
{
	FILE *f = fmemopen(buf, size_bytes, "w");

	if (!f)
		die("out of memory");
	term_text(&(struct view_options){ .out = f }, text, cells, false);
	/* cppcheck-suppress nullPointerRedundantCheck ; die() does not return */
	fclose(f);
	buf[size_bytes - 1] = '\0';
}

/* Where a column of a text begins. */
static const char *column_at(const char *text, int column)
{
	for (int at = -1; *text; text++) {
		at += ((unsigned char)*text & 0xc0) != 0x80;
		if (at == column)
			break;
	}
	return text;
}

void term_cut_middle(const char *text, int cells, int head, char *buf, size_t size_bytes)
{
	const int columns = term_columns(text, strlen(text)), tail = cells - 1 - head;

	if (columns <= cells || tail < 0)
		snprintf(buf, size_bytes, "%s", text);
	else
		snprintf(buf, size_bytes, "%.*s…%s", (int)(column_at(text, head) - text), text,
			 column_at(text, columns - tail));
}

void term_cut_source(const char *text, int cells, char *buf, size_t size_bytes)
{
	char blanks[512];
	size_t n = 0;
	int at = 0;

	for (; *text && n + 9 < sizeof(blanks); text++) {
		if (*text != '\t') {
			at += ((unsigned char)*text & 0xc0) != 0x80;
			blanks[n++] = *text;
			continue;
		}
		do
			blanks[n++] = ' ';
		while (++at % 8);
	}
	blanks[n] = '\0';
	term_cut(blanks, cells, buf, size_bytes);
}

void term_wrap(const struct view_options *o, const char *text, int indent)
{
	int at = indent;
	while (*text) {
		size_t word = strcspn(text, " ");
		int columns = term_columns(text, word);

		if (at > indent && at + 1 + columns > o->width) {
			fprintf(o->out, "\n%*s", indent, "");
			at = indent;
		} else if (at > indent) {
			fputc(' ', o->out);
			at++;
		}
		fwrite(text, 1, word, o->out);
		at += columns;
		text += word;
		text += strspn(text, " ");
	}
	fputc('\n', o->out);
}

void csv_text(FILE *out, const char *text)
{
	if (!text)
		return;
	if (!strpbrk(text, ",\"\n")) {
		fputs(text, out);
		return;
	}
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

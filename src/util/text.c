/* SPDX-License-Identifier: MIT */
/*
 * Text for people, see text.h: a table of characters that are not shown, and a strict UTF-8 decoder
 * (no overlong forms, no surrogates).
 */
#include "util/text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "util/util.h"

/* Characters above ASCII that are not shown: first and last of each range. */
static const struct {
	uint32_t first, last;
} hidden[] = {
	{ 0x80, 0x9f },	      /* controls, which some terminals obey */
	{ 0xad, 0xad },	      /* soft hyphen */
	{ 0x61c, 0x61c },     /* direction of writing */
	{ 0x180e, 0x180e },   /* invisible */
	{ 0x200b, 0x200f },   /* invisible, direction */
	{ 0x2028, 0x202e },   /* line and paragraph ends, direction */
	{ 0x2060, 0x206f },   /* invisible, direction */
	{ 0xfdd0, 0xfdef },   /* no characters */
	{ 0xfe00, 0xfe0f },   /* variants of the character before */
	{ 0xfeff, 0xfeff },   /* byte order mark */
	{ 0xfff0, 0xffff },   /* annotations, non-characters */
	{ 0xe0000, 0xe0fff }, /* tags, variants */
	{ 0xf0000, UINT32_MAX },
};

/* The code point at s, which begins with a byte above 0x7f; 0: not valid UTF-8. */
static uint32_t code_point(const unsigned char *s, size_t *bytes)
{
	unsigned more = s[0] >= 0xf0 ? 3 : s[0] >= 0xe0 ? 2 : 1;
	uint32_t c = s[0] & (0x3fu >> more), least = more == 3 ? 0x10000 : more == 2 ? 0x800 : 0x80;

	*bytes = 1;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	for (unsigned i = 1; i <= more; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < least || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*bytes = 1 + more;
	return c;
}

static bool is_hidden(uint32_t c)
{
	for (size_t i = 0; i < ARRAY_LEN(hidden); i++)
		if (c >= hidden[i].first && c <= hidden[i].last)
			return true;
	return false;
}

/*
 * The length in bytes of the character at s (at least 1, unless s is at its end); *plain says
 * whether it may be shown as it is: a printable character of ASCII, or one of valid UTF-8 that is
 * neither a control, nor invisible, nor changes the direction of what follows.
 */
static size_t character(const char *s, bool *plain)
{
	const unsigned char first = (unsigned char)*s;
	size_t bytes = first != 0;

	*plain = first >= ' ' && first < 0x7f;
	if (first >= 0x80) {
		uint32_t c = code_point((const unsigned char *)s, &bytes);

		*plain = c && !is_hidden(c);
	}
	return bytes;
}

bool text_is_plain(const char *s)
{
	bool plain = true;

	while (*s && plain)
		s += character(s, &plain);
	return plain;
}

char *text_shown_without(const char *s, const char *also)
{
	/* \u{10ffff} is the longest, for four bytes; \xNN for one */
	char *out = s ? x_malloc(4 * strlen(s) + 1) : NULL, *to = out;

	while (s && *s) {
		bool plain;
		size_t n = character(s, &plain);

		if (*s == '\t') {
			*to++ = ' ';
		} else if (plain && !(n == 1 && strchr(also, *s))) {
			memcpy(to, s, n);
			to += n;
		} else if (n == 1) {
			to += sprintf(to, "\\x%02x", (unsigned char)*s);
		} else {
			size_t bytes;

			to += sprintf(to, "\\u{%x}",
				      (unsigned)code_point((const unsigned char *)s, &bytes));
		}
		s += n;
	}
	if (to)
		*to = '\0';
	return out;
}

char *text_shown(const char *s)
{
	return text_shown_without(s, "");
}

void text_make_plain(char *s)
{
	while (*s) {
		bool plain;
		size_t n = character(s, &plain);

		if (!plain)
			memset(s, '?', n);
		s += n;
	}
}

void text_put_word(FILE *f, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "-_./=:,+@%";

	if (*word && !word[strspn(word, plain)]) {
		fputs(word, f);
		return;
	}
	fputc('\'', f);
	for (; *word; word++)
		fputs(*word == '\'' ? "'\\''" : (char[]){ *word, 0 }, f);
	fputc('\'', f);
}

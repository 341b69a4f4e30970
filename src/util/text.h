/* SPDX-License-Identifier: MIT */
/*
 * Text that comes from programs, files and arguments, and goes to people. A name may hold anything
 * but a zero: commands to a terminal, line ends, marks that turn the direction of writing, bytes
 * that are not UTF-8. Shown text has none of these: \xNN stands for a byte, \u{NNNN} for a
 * character, and a space for a tab. Everything that prints a name which culprit did not choose
 * itself goes through here.
 */
#ifndef UTIL_TEXT_H
#define UTIL_TEXT_H

#include <stdbool.h>
#include <stdio.h>
#include <stddef.h>

/* True if all of it may be shown as it is. */
bool text_is_plain(const char *s);

/* The text as it may be shown, in memory that the caller frees. NULL stays NULL. */
char *text_shown(const char *s);
/* Like text_shown, but also escapes the characters of `also` (ASCII), which mean something where
 * the text goes. */
char *text_shown_without(const char *s, const char *also);

/* Puts a question mark for each byte that may not be shown; the length stays. */
void text_make_plain(char *s);
/* Writes a word of a command, with the quotes that a shell needs. */
void text_put_word(FILE *f, const char *word);

#endif

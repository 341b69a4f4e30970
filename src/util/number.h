/* SPDX-License-Identifier: MIT */
/*
 * Numbers that a user writes: the one parser for options, parameters and triggers. A number is
 * decimal digits, or 0x and hexadecimal ones; nothing may stand before it (no space, no sign) and
 * nothing after it but the unit where one is allowed. A zero in front does not make it octal.
 */
#ifndef UTIL_NUMBER_H
#define UTIL_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "util/util.h"

enum number_units {
	NUMBER_DECIMAL, /* k, M, G: 10^3, 10^6, 10^9, after decimal digits */
	NUMBER_BINARY,	/* k, M, G: 2^10, 2^20, 2^30 */
	NUMBER_PLAIN,	/* none */
};

struct number_range {
	uint64_t min, max; /* max 0: 2^64-1 */
	enum number_units units;
};

/* Reads a number at the start of text, without units; *end is what follows. False: there is none,
 * or it does not fit. */
bool number_prefix(const char *text, const char **end, uint64_t *out);
/* All of text is a number in that range. */
bool number_parse(const char *text, const struct number_range *r, uint64_t *out);
/* A number with a fraction, from 0 to 10^9, and what follows it: "1%", "0.5%", "2.5". */
bool number_real(const char *text, double *out, const char **unit);
/* A share in percent, with or without its sign, from 0 to 100; *share is from 0 to 1. */
bool number_share(const char *text, double *share);
/* Like number_parse; on failure e names `what`, the text, and what is valid. */
bool number_check(const char *what, const char *text, const struct number_range *r, uint64_t *out,
		  struct err *e);
/* A number on a test tool's command line. The tool ends with a message if it is not in that
 * range. */
uint64_t number_argument(const char *what, const char *text, uint64_t min, uint64_t max);

/* Writes n with a comma between groups of three digits ("1,234,567"); returns buf. */
#define NUMBER_COMMAS_BYTES 27 /* 20 digits, six commas and the end */
char *number_commas(uint64_t n, char buf[NUMBER_COMMAS_BYTES]);

#endif

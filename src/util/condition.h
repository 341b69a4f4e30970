/* SPDX-License-Identifier: MIT */
/*
 * Conditions that a user writes about named values: "window.rob>=64 program=hash_join|search". All that
 * stand in one text must hold. Operators: = != < <= > >=; after = and != several values may stand with |
 * between. Numbers are compared as numbers, everything else as text, and texts are neither smaller nor
 * larger.
 */
#ifndef UTIL_CONDITION_H
#define UTIL_CONDITION_H

#include <stdbool.h>
#include <stddef.h>

#include "util/util.h"

enum condition_op {
	CONDITION_IS,
	CONDITION_IS_NOT,
	CONDITION_BELOW,
	CONDITION_AT_MOST,
	CONDITION_ABOVE,
	CONDITION_AT_LEAST,
};

struct condition {
	char *field;
	enum condition_op op;
	char *value;
};
struct conditions {
	struct condition *items;
	size_t count;
};

/* Adds the conditions of a text. */
bool conditions_parse(struct conditions *c, const char *text, struct err *e);
void conditions_free(struct conditions *c);

/* The value of a field as text; NULL: it has none, and only != holds. */
typedef const char *condition_lookup(void *ctx, const char *field);
bool conditions_hold(const struct conditions *c, condition_lookup *lookup, void *ctx);

/* A number as conditions compare it: digits, a fraction, and perhaps k, M or G (2^10, 2^20, 2^30), as sizes
 * in machine files. False: the text is not one. */
bool condition_number(const char *text, double *out);

#endif

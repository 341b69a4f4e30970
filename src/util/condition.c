/* SPDX-License-Identifier: MIT */
/* Conditions on named values, as a user writes them. */
#include "util/condition.h"

#include <stdlib.h>
#include <string.h>

#include "util/array.h"

static const struct {
	const char *text;
	enum condition_op op;
} ops[] = {
	/* the longer ones first */
	{ "!=", CONDITION_IS_NOT }, { "<=", CONDITION_AT_MOST }, { ">=", CONDITION_AT_LEAST },
	{ "=", CONDITION_IS },	    { "<", CONDITION_BELOW },	 { ">", CONDITION_ABOVE },
};

static bool parse_one(struct conditions *c, const char *word, size_t n, struct err *e)
{
	const size_t field = strcspn(word, "!<>=");
	const char *rest = word + field;

	for (size_t i = 0; field < n && field && i < ARRAY_LEN(ops); i++) {
		const size_t len = strlen(ops[i].text);

		if (strncmp(rest, ops[i].text, len) || field + len >= n)
			continue;
		*ARRAY_ADD(c->items, c->count) =
		    (struct condition){ .field = x_strndup(word, field),
					.op = ops[i].op,
					.value = x_strndup(rest + len, n - field - len) };
		return true;
	}
	return err_set(e, "'%.*s' is not a condition: FIELD=VALUE, with = != < <= > or >=", (int)n,
		       word);
}

bool conditions_parse(struct conditions *c, const char *text, struct err *e)
{
	bool ok = true, any = false;

	while (ok) {
		text += strspn(text, " \t");
		if (!*text)
			break;

		const size_t n = strcspn(text, " \t");

		ok = parse_one(c, text, n, e);
		any = true;
		text += n;
	}
	return ok && (any || err_set(e, "there is no condition: FIELD=VALUE"));
}

void conditions_free(struct conditions *c)
{
	for (size_t i = 0; i < c->count; i++) {
		free(c->items[i].field);
		free(c->items[i].value);
	}
	free(c->items);
	*c = (struct conditions){ NULL, 0 };
}

bool condition_number(const char *text, double *out)
{
	char *end;

	*out = strtod(text, &end);
	if (end == text)
		return false;
	if (*end && strchr("kMG", *end) && !end[1]) {
		*out *= *end == 'k' ? 1024.0 : *end == 'M' ? 1048576.0 : 1073741824.0;
		end++;
	}
	return !*end;
}

static bool is_equal(const char *a, const char *b)
{
	double x, y;

	return !strcmp(a, b) ||
	       (condition_number(a, &x) && condition_number(b, &y) && !(x < y) && !(x > y));
}

/* Whether value is one of "a|b|c". */
static bool is_among(const char *value, const char *list)
{
	bool found = false;

	while (!found) {
		const size_t n = strcspn(list, "|");
		char *one = x_strndup(list, n);

		found = is_equal(value, one);
		free(one);
		if (!list[n])
			break;
		list += n + 1;
	}
	return found;
}

static bool holds(const struct condition *c, const char *value)
{
	double x, y;

	if (c->op == CONDITION_IS || c->op == CONDITION_IS_NOT)
		return (value && is_among(value, c->value)) == (c->op == CONDITION_IS);
	if (!value || !condition_number(value, &x) || !condition_number(c->value, &y))
		return false;
	return c->op == CONDITION_BELOW	    ? x < y
	       : c->op == CONDITION_AT_MOST ? x <= y
	       : c->op == CONDITION_ABOVE   ? x > y
					    : x >= y;
}

bool conditions_hold(const struct conditions *c, condition_lookup *lookup, void *ctx)
{
	for (size_t i = 0; i < c->count; i++)
		if (!holds(&c->items[i], lookup(ctx, c->items[i].field)))
			return false;
	return true;
}

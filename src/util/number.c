/* SPDX-License-Identifier: MIT */
/* Parsing and printing numbers; the rules are in number.h. Overflow is an error, never a wrap. */
#include "util/number.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int digit_of(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : 16;
}

bool number_prefix(const char *text, const char **end, uint64_t *out)
{
	int base = text[0] == '0' && (text[1] | 32) == 'x' ? 16 : 10;
	const char *at = text + (base == 16 ? 2 : 0), *first = at;

	for (*out = 0; digit_of(*at) < base; at++)
		if (__builtin_mul_overflow(*out, (uint64_t)base, out) ||
		    __builtin_add_overflow(*out, (uint64_t)digit_of(*at), out))
			return false;
	*end = at;
	return at > first;
}

bool number_parse(const char *text, const struct number_range *r, uint64_t *out)
{
	static const char letters[] = "kMG";
	const uint64_t step = r->units == NUMBER_BINARY ? 1024 : 1000;
	const char *end;

	if (!number_prefix(text, &end, out))
		return false;
	if (*end && r->units != NUMBER_PLAIN && (text[1] | 32) != 'x') {
		const char *unit = strchr(letters, *end);

		if (!unit)
			return false;
		for (const char *u = letters; u <= unit; u++)
			if (__builtin_mul_overflow(*out, step, out))
				return false;
		end++;
	}
	return !*end && *out >= r->min && (!r->max || *out <= r->max);
}

bool number_check(const char *what, const char *text, const struct number_range *r, uint64_t *out,
		  struct err *e)
{
	static const char *const units[] = { "; k, M, G may follow: 10^3, 10^6, 10^9",
					     "; k, M, G may follow: 2^10, 2^20, 2^30", "" };
	char most[24] = "2^64-1";

	if (number_parse(text, r, out))
		return true;
	if (r->max && r->max < UINT64_MAX - 1)
		snprintf(most, sizeof(most), "%" PRIu64, r->max);
	return err_set(e, "%s: '%s' is not valid: a whole number from %" PRIu64 " to %s%s", what,
		       text, r->min, most, units[r->units]);
}

uint64_t number_argument(const char *what, const char *text, uint64_t min, uint64_t max)
{
	struct number_range range = { min, max, NUMBER_DECIMAL };
	struct err e;
	uint64_t n;

	if (!number_check(what, text, &range, &n, &e))
		die("%s", e.text);
	return n;
}

char *number_commas(uint64_t n, char buf[NUMBER_COMMAS_BYTES])
{
	char digits[NUMBER_COMMAS_BYTES], *to = buf;
	int left = snprintf(digits, sizeof(digits), "%" PRIu64, n);

	for (const char *from = digits; left; left--) {
		*to++ = *from++;
		if (left > 1 && left % 3 == 1)
			*to++ = ',';
	}
	*to = '\0';
	return buf;
}

bool number_real(const char *text, double *out, const char **unit)
{
	/* Nothing that strtod takes beyond digits and a point: spaces, signs, exponents, "inf". */
	size_t n = strspn(text, "0123456789");
	if (n && text[n] == '.')
		n += 1 + strspn(text + n + 1, "0123456789");
	errno = 0;
	*out = strtod(text, NULL);
	*unit = text + n;
	return n && !errno && *out >= 0 && *out < 1e9;
}

bool number_share(const char *text, double *share)
{
	const char *unit;

	if (!number_real(text, share, &unit) || (*unit && strcmp(unit, "%") != 0))
		return false;
	*share /= 100;
	return *share <= 1;
}

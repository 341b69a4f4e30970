/* SPDX-License-Identifier: MIT */
/* Reads how a profile was estimated, and says it at the head of a view. */
#include "view/estimated.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/array.h"
#include "trace/file.h"
#include "view/model.h"

static double real_or_nan(const struct store_rows *r, int column)
{
	return store_is_null(r, column) ? NAN : store_double(r, column);
}

static uint64_t fact(struct store *s, const char *key)
{
	struct store_rows r = store_query(s, "SELECT value FROM sampled WHERE key = ?1", "s", key);
	const int64_t value = store_next(&r) ? store_int(&r, 0) : 0;

	store_done(&r, NULL);
	return value > 0 ? (uint64_t)value : 0;
}

static void read_rebuilt(struct store *s, struct estimated *x)
{
	struct store_rows r =
	    store_query(s, "SELECT value FROM run WHERE key = ?1", "s", TRACE_REBUILT);

	if (store_next(&r) && store_shown(&r, 0))
		snprintf(x->rebuilt, sizeof(x->rebuilt), "%s", store_shown(&r, 0));
	store_done(&r, NULL);
}

static void rebuilt_line(struct doc *d, const char *before, const struct estimated *x)
{
	if (*x->rebuilt)
		doc_line(d, NULL, "%srebuilt: %s", before, x->rebuilt);
}

void estimated_rebuilt(struct doc *d, struct store *s)
{
	struct estimated x = { .is = false };

	read_rebuilt(s, &x);
	rebuilt_line(d, "", &x);
	if (*x.rebuilt)
		doc_text(d, "rebuilt", x.rebuilt);
}

bool estimated_read(struct store *s, struct estimated *x, struct err *e)
{
	memset(x, 0, sizeof(*x));
	x->low = x->high = NAN;
	read_rebuilt(s, x);

	struct store_rows r = store_query(s, "SELECT value FROM sampled WHERE key = 'method'", "");

	if (store_next(&r)) {
		x->is = true;
		snprintf(x->method, sizeof(x->method), "%s",
			 store_shown(&r, 0) ? store_shown(&r, 0) : "?");
	}
	if (!store_done(&r, e) || !x->is)
		return !x->is;
	x->points = (uint64_t)store_number(s, "SELECT count(*) FROM point", 0);
	x->interval = fact(s, "interval");
	x->measured = fact(s, "measured_instructions");
	x->measured_cycles = (double)store_number(s, "SELECT sum(cycles) FROM point", 0);
	r = store_query(
	    s, "SELECT what, item, name, value, low, high FROM estimate ORDER BY what, item, name",
	    "");
	while (store_next(&r)) {
		const struct estimated_figure f = { .what = x_strdup(store_text(&r, 0)),
						    .item = store_int(&r, 1),
						    .name = x_strdup(store_text(&r, 2)),
						    .value = store_double(&r, 3),
						    .low = real_or_nan(&r, 4),
						    .high = real_or_nan(&r, 5) };

		*ARRAY_ADD(x->figures, x->count) = f;
		if (!strcmp(f.what, "cpi")) {
			x->cpi = f.value;
			x->low = f.low;
			x->high = f.high;
		}
	}
	if (store_done(&r, e))
		return true;
	estimated_free(x);
	return false;
}

void estimated_free(struct estimated *x)
{
	for (size_t i = 0; i < x->count; i++) {
		free(x->figures[i].what);
		free(x->figures[i].name);
	}
	free(x->figures);
	memset(x, 0, sizeof(*x));
}

static int compare(const struct estimated_figure *f, const char *what, int64_t item,
		   const char *name)
{
	const int by_what = strcmp(f->what, what);

	if (by_what)
		return by_what;
	return f->item != item ? (f->item < item ? -1 : 1) : strcmp(f->name, name);
}

double estimated_margin(const struct estimated *x, const char *what, int64_t item, const char *name)
{
	const size_t at = ARRAY_SEARCH(x->count, i, compare(&x->figures[i], what, item, name) < 0);

	if (at == x->count || compare(&x->figures[at], what, item, name))
		return NAN;
	return fmax(x->figures[at].high - x->figures[at].value,
		    x->figures[at].value - x->figures[at].low);
}

/* "1M", "250k", "1234". */
static void short_number(uint64_t n, char *buf, size_t size_bytes)
{
	const bool mega = n && n % 1000000 == 0, kilo = n && n % 1000 == 0;

	snprintf(buf, size_bytes, "%" PRIu64 "%s",
		 mega	? n / 1000000
		 : kilo ? n / 1000
			: n,
		 mega	? "M"
		 : kilo ? "k"
			: "");
}

void estimated_line(struct doc *d, const char *before, const struct estimated *x)
{
	char insts[32], error[64] = "; its error is not known";

	rebuilt_line(d, before, x);
	if (!x->is)
		return;
	short_number(x->interval, insts, sizeof(insts));
	if (!isnan(x->low) && x->cpi > 0)
		snprintf(error, sizeof(error), " ± %.1f%% (95%%)",
			 100 * fmax(x->high - x->cpi, x->cpi - x->low) / x->cpi);
	doc_line(d, NULL, "%sestimated from %" PRIu64 " point%s of %s instructions, CPI %.3f%s",
		 before, x->points, x->points == 1 ? "" : "s", insts, x->cpi, error);
}

void estimated_add(struct doc *d, const struct estimated *x)
{
	estimated_line(d, "", x);
	if (*x->rebuilt)
		doc_text(d, "rebuilt", x->rebuilt);
	if (!x->is)
		return;
	doc_object(d, "estimated");
	doc_text(d, "method", x->method);
	doc_integer(d, "points", (int64_t)x->points);
	doc_integer(d, "interval", (int64_t)x->interval);
	doc_integer(d, "measured_instructions", (int64_t)x->measured);
	doc_real(d, "confidence", 0.95);
	doc_real(d, "cpi", x->cpi);
	doc_real(d, "cpi_low", x->low);
	doc_real(d, "cpi_high", x->high);
	doc_close(d);
}

void estimated_cell(struct doc_table *t, double margin)
{
	if (isnan(margin))
		cell_words(t, "");
	else
		cell_real(t, margin);
}

/* SPDX-License-Identifier: MIT */
/* Tables of points added up: a hash table of rows by key, one cluster after the other. */
#include "combine/table.h"

#include <stdlib.h>
#include <string.h>

#include "util/array.h"

/* ---- texts ---- */

static uint64_t text_hash(const char *text)
{
	uint64_t h = 0;

	for (; *text; text++)
		h = hash_u64(h ^ (unsigned char)*text) + 1;
	return h;
}

static void texts_grow(struct texts *t)
{
	free(t->slots);
	t->nslots = t->nslots ? 2 * t->nslots : 64;
	t->slots = x_calloc(t->nslots, sizeof(*t->slots));
	for (size_t i = 0; i < t->count; i++) {
		size_t at = text_hash(t->text[i]) & (t->nslots - 1);

		while (t->slots[at])
			at = (at + 1) & (t->nslots - 1);
		t->slots[at] = (uint32_t)i + 1;
	}
}

int64_t texts_number(struct texts *t, const char *text)
{
	if (2 * (t->count + 1) > t->nslots)
		texts_grow(t);

	size_t at = text_hash(text) & (t->nslots - 1);

	for (; t->slots[at]; at = (at + 1) & (t->nslots - 1))
		if (!strcmp(t->text[t->slots[at] - 1], text))
			return t->slots[at] - 1;
	t->slots[at] = (uint32_t)t->count + 1;
	*ARRAY_ADD(t->text, t->count) = x_strdup(text);
	return (int64_t)t->count - 1;
}

void texts_free(struct texts *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->text[i]);
	free(t->text);
	free(t->slots);
	memset(t, 0, sizeof(*t));
}

/* ---- tables ---- */

static bool is_key(char letter)
{
	return letter == 'k' || letter == 't';
}

static bool is_count(char letter)
{
	return letter == 'S' || letter == 'C' || letter == 'x';
}

void table_init(struct table *t, const struct rule *r)
{
	memset(t, 0, sizeof(*t));
	t->rule = r;
	for (unsigned i = 0; r->columns[i]; i++) {
		if (is_key(r->columns[i])) {
			t->nkeys++;
			continue;
		}
		if (i == r->by)
			t->by = t->nvalues;
		t->kind[t->nvalues++] = r->columns[i];
	}
}

void table_free(struct table *t)
{
	free(t->keys);
	free(t->now);
	free(t->total);
	free(t->whole);
	free(t->slots);
	memset(t, 0, sizeof(*t));
}

static size_t slot_of(const struct table *t, const int64_t *keys)
{
	uint64_t h = 0;

	for (unsigned i = 0; i < t->nkeys; i++)
		h = hash_u64(h + (uint64_t)keys[i]);

	size_t at = h & (t->nslots - 1);

	while (t->slots[at] &&
	       memcmp(&t->keys[(t->slots[at] - 1) * t->nkeys], keys, t->nkeys * sizeof(*keys)) != 0)
		at = (at + 1) & (t->nslots - 1);
	return at;
}

/* Room for one more row. */
static void table_grow(struct table *t)
{
	const size_t values = t->nvalues ? t->nvalues : 1;

	if (t->count == t->room) {
		t->room = t->room ? 2 * t->room : 64;
		t->keys = x_realloc(t->keys, t->room * t->nkeys * sizeof(*t->keys));
		t->now = x_realloc(t->now, t->room * values * sizeof(*t->now));
		t->total = x_realloc(t->total, t->room * values * sizeof(*t->total));
	}
	if (2 * (t->count + 1) <= t->nslots)
		return;
	free(t->slots);
	t->nslots = t->nslots ? 2 * t->nslots : 128;
	t->slots = x_calloc(t->nslots, sizeof(*t->slots));
	for (size_t i = 0; i < t->count; i++)
		t->slots[slot_of(t, &t->keys[i * t->nkeys])] = (uint32_t)i + 1;
}

size_t table_row(struct table *t, const int64_t *keys)
{
	table_grow(t);

	const size_t at = slot_of(t, keys);

	if (t->slots[at])
		return t->slots[at] - 1;
	memcpy(&t->keys[t->count * t->nkeys], keys, t->nkeys * sizeof(*keys));
	for (unsigned v = 0; v < t->nvalues; v++) {
		union now *now = &t->now[t->count * t->nvalues + v];
		union total *total = &t->total[t->count * t->nvalues + v];

		/* A least value that is not there yet is a NAN: no number is below it. */
		if (is_count(t->kind[v])) {
			now->count = 0;
			total->count = 0;
		} else {
			now->real = 0;
			total->real = t->kind[v] == 'l' ? __builtin_nan("") : 0;
		}
	}
	t->slots[at] = (uint32_t)++t->count;
	return t->count - 1;
}

/* Adds a column of a row of the store. False: the sum is too large. */
static bool add_value(struct table *t, size_t row, unsigned v, const struct store_rows *r,
		      int column)
{
	union now *now = &t->now[row * t->nvalues + v];
	union total *total = &t->total[row * t->nvalues + v];
	const double real = store_double(r, column);

	switch (t->kind[v]) {
	case 'S':
	case 'C':
		return !__builtin_add_overflow(now->count, store_int(r, column), &now->count);
	case 'x':
		if (fixed_from(1) * store_int(r, column) > total->count)
			total->count = fixed_from(1) * store_int(r, column);
		break;
	case 'R':
	case 'P':
		now->real += real;
		break;
	case 'm':
		now->real += real * store_double(r, (int)t->rule->by);
		break;
	case 'l':
		if (!(total->real <= real))
			total->real = real;
		break;
	}
	return true;
}

bool table_read(struct table *t, struct store *s, struct texts *texts, struct err *e)
{
	const char *columns = t->rule->columns;
	char *sql = t->rule->select ? x_strdup(t->rule->select)
				    : x_asprintf("SELECT * FROM %s WHERE %s", t->rule->table,
						 t->rule->where ? t->rule->where : "1");
	struct store_rows r = store_query(s, sql, "");
	int64_t keys[TABLE_COLUMNS];
	bool ok = true;

	free(sql);
	while (ok && store_next(&r)) {
		unsigned k = 0, v = 0;

		for (int i = 0; columns[i]; i++)
			if (columns[i] == 'k')
				keys[k++] = store_int(&r, i);
			else if (columns[i] == 't')
				keys[k++] =
				    texts_number(texts, store_text(&r, i) ? store_text(&r, i) : "");

		const size_t row = table_row(t, keys);
		for (int i = 0; ok && columns[i]; i++)
			if (!is_key(columns[i]))
				ok = add_value(t, row, v++, &r, i);
	}
	return store_done(&r, e) &&
	       (ok || err_set(e, "%s: table %s holds what no run can have measured; it is damaged",
			      store_path(s), t->rule->table));
}

bool table_fold(struct table *t, struct factor f)
{
	const double factor = (double)f.stands_for / (double)f.measured;
	bool ok = true;

	for (size_t i = 0; i < t->count * t->nvalues; i++) {
		const char kind = t->kind[i % t->nvalues];
		union now *now = &t->now[i];
		union total *total = &t->total[i];
		fixed add;

		if (kind == 'x' || kind == 'l')
			continue;
		if (kind == 'S' || kind == 'C') {
			ok = fixed_times(now->count, kind == 'S' ? f : (struct factor){ 1, 1 },
					 &add) &&
			     ok;
			total->count += add;
			now->count = 0;
		} else {
			total->real += kind == 'P' ? now->real : now->real * factor;
			now->real = 0;
		}
	}
	return ok;
}

/* ---- order ---- */

struct ordered {
	const int64_t *keys;
	unsigned nkeys;
	size_t at;
};

static int by_keys(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;

	for (unsigned i = 0; i < x->nkeys; i++)
		if (x->keys[i] != y->keys[i])
			return x->keys[i] < y->keys[i] ? -1 : 1;
	return 0;
}

bool table_sort(struct table *t)
{
	const size_t n = t->count, keys = t->nkeys, values = t->nvalues ? t->nvalues : 1;
	struct ordered *order = x_malloc((n + 1) * sizeof(*order));
	int64_t *k = x_malloc((n + 1) * keys * sizeof(*k));
	union total *v = x_malloc((n + 1) * values * sizeof(*v));
	bool ok = true;

	for (size_t i = 0; i < n; i++)
		order[i] = (struct ordered){ &t->keys[i * keys], t->nkeys, i };
	qsort(order, n, sizeof(*order), by_keys);
	for (size_t i = 0; i < n; i++) {
		memcpy(&k[i * keys], order[i].keys, keys * sizeof(*k));
		memcpy(&v[i * values], &t->total[order[i].at * values], values * sizeof(*v));
		if (i && !memcmp(&k[i * keys], &k[(i - 1) * keys], t->rule->primary * sizeof(*k)))
			ok = false;
	}
	free(order);
	free(t->keys);
	free(t->total);
	free(t->slots);
	t->keys = k;
	t->total = v;
	t->slots = NULL;
	t->nslots = 0;
	t->room = n + 1;
	return ok;
}

/* ---- whole numbers ---- */

size_t *table_groups(const struct table *t, size_t *count)
{
	size_t *starts = x_malloc((t->count + 1) * sizeof(*starts)), n = 0;

	for (size_t i = 0; i < t->count; i++)
		if (!i || memcmp(&t->keys[i * t->nkeys], &t->keys[(i - 1) * t->nkeys],
				 t->rule->group * sizeof(*t->keys)) != 0)
			starts[n++] = i;
	starts[n] = t->count;
	*count = n;
	return starts;
}

/* A column of rows from `from` to `to`. */
static void round_column(struct table *t, unsigned v, size_t from, size_t to, const int64_t *total)
{
	const size_t n = to - from;
	fixed *values = x_malloc(n * sizeof(*values)), sum = 0;
	int64_t *out = x_malloc(n * sizeof(*out));

	for (size_t i = 0; i < n; i++)
		sum += values[i] = t->total[(from + i) * t->nvalues + v].count;
	apportion(values, n, total ? *total : fixed_round(sum), out);
	for (size_t i = 0; i < n; i++)
		t->whole[(from + i) * t->nvalues + v] = out[i];
	free(values);
	free(out);
}

void table_round(struct table *t, const int64_t *totals)
{
	size_t ngroups, *starts = table_groups(t, &ngroups);
	bool is_first = true;

	t->whole = x_calloc(t->count * t->nvalues + 1, sizeof(*t->whole));
	for (unsigned v = 0; v < t->nvalues; v++) {
		if (!is_count(t->kind[v]))
			continue;
		for (size_t g = 0; g < ngroups; g++)
			round_column(t, v, starts[g], starts[g + 1],
				     is_first && totals ? &totals[g] : NULL);
		is_first = false;
	}
	free(starts);
}

/* ---- writing ---- */

static bool is_zero(const struct table *t, size_t row)
{
	for (unsigned v = 0; v < t->nvalues; v++) {
		if (is_count(t->kind[v])) {
			if (t->whole[row * t->nvalues + v])
				return false;
		} else if (strchr("RP", t->kind[v]) && t->total[row * t->nvalues + v].real != 0) {
			return false;
		}
	}
	return t->nvalues > 0;
}

/* What the counts of the row's group add up to in column v. */
static double group_sum(const struct table *t, size_t row, unsigned v)
{
	const size_t bytes = t->rule->group * sizeof(*t->keys);
	const int64_t *keys = &t->keys[row * t->nkeys];
	double sum = 0;

	for (size_t i = 0; i < t->count; i++)
		if (!memcmp(&t->keys[i * t->nkeys], keys, bytes))
			sum += (double)t->whole[i * t->nvalues + v];
	return sum;
}

static double real_of(const struct table *t, size_t row, unsigned v)
{
	const union total *total = &t->total[row * t->nvalues];

	if (t->kind[v] == 'p') {
		const double sum = group_sum(t, row, t->by);

		return sum != 0 ? (double)t->whole[row * t->nvalues + t->by] / sum : 0;
	}
	if (t->kind[v] != 'm')
		return total[v].real;

	const double by =
	    t->kind[t->by] == 'R' ? total[t->by].real : fixed_double(total[t->by].count);
	return by != 0 ? total[v].real / by : 0;
}

bool table_write(const struct table *t, struct store *s, const struct texts *texts, struct err *e)
{
	const char *columns = t->rule->columns;
	bool ok = true;

	for (size_t row = 0; ok && row < t->count; row++) {
		struct store_value values[TABLE_COLUMNS];
		unsigned k = 0, v = 0;

		if (is_zero(t, row))
			continue;
		for (unsigned i = 0; columns[i]; i++) {
			const int64_t key = k < t->nkeys ? t->keys[row * t->nkeys + k] : 0;

			if (columns[i] == 'k')
				values[i] = (struct store_value){ 'i', .number = key };
			else if (columns[i] == 't')
				values[i] = (struct store_value){ 's', .text = texts->text[key] };
			else if (columns[i] == 'n')
				values[i] = (struct store_value){ .type = 'n' };
			else if (is_count(columns[i]))
				values[i] =
				    (struct store_value){ 'i', .number =
								   t->whole[row * t->nvalues + v] };
			else
				values[i] = (struct store_value){ 'd', .real = real_of(t, row, v) };
			k += is_key(columns[i]);
			v += !is_key(columns[i]);
		}
		ok = store_insert_values(s, e, t->rule->table, values, strlen(columns));
	}
	return ok;
}

/* SPDX-License-Identifier: MIT */
/* Reads the results of a campaign, and answers questions about fields and metrics. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/nearest.h"
#include "util/text.h"
#include "view/campaign.h"

/* ---- reading ---- */

static int field_at(struct campaign_model *m, const char *name)
{
	for (size_t i = 0; i < m->nfields; i++)
		if (!strcmp(m->fields[i], name))
			return (int)i;
	*ARRAY_ADD(m->fields, m->nfields) = x_strdup(name);
	return (int)m->nfields - 1;
}

static char *shown(const struct store_rows *q, int column)
{
	const char *text = store_shown(q, column);

	return text ? x_strdup(text) : NULL;
}

static double real(const struct store_rows *q, int column)
{
	return store_is_null(q, column) ? NAN : store_double(q, column);
}

static void set_field(struct campaign_row *r, size_t *room, int field, char *value)
{
	const size_t need = (size_t)field + 1;

	if (need > *room) {
		r->fields = x_realloc(r->fields, need * sizeof(char *));
		memset(r->fields + *room, 0, (need - *room) * sizeof(char *));
		*room = need;
	}
	free(r->fields[field]);
	r->fields[field] = value;
}

static void read_settings(struct campaign_model *m, struct campaign_row *r, size_t *room,
			  const char *text)
{
	json_t *o = text ? json_loads(text, 0, NULL) : NULL, *value;
	const char *key;

	json_object_foreach(o, key, value)
	{
		const char *is = json_string_value(value);
		char *name = is ? text_shown(key) : NULL;

		if (is)
			set_field(r, room, field_at(m, name), text_shown(is));
		free(name);
	}
	json_decref(o);
}

static void free_row(struct campaign_row *r, size_t nfields)
{
	for (size_t i = 0; i < nfields && r->fields; i++)
		free(r->fields[i]);
	free(r->fields);
	free(r->status);
	free(r->message);
	free(r->log);
	free(r->host);
	free(r->store);
	free(r->note);
}

struct looking {
	struct campaign_model *m;
	const struct campaign_row *r;
	size_t room;
	char text[40];
};

/* A field or a metric of a row, as text. */
static const char *look_up(void *ctx, const char *field)
{
	struct looking *l = ctx;

	for (size_t i = 0; i < l->m->nfields && i < l->room; i++)
		if (!strcmp(l->m->fields[i], field))
			return l->r->fields[i];
	if (!strcmp(field, "status"))
		return l->r->status;
	for (const struct campaign_metric *x = campaign_metrics; x->name; x++)
		if (!strcmp(x->name, field) && !isnan(x->of(l->r))) {
			snprintf(l->text, sizeof(l->text), "%.17g", x->of(l->r));
			return l->text;
		}
	return NULL;
}

static void read_row(struct campaign_model *m, const struct store_rows *q, struct campaign_row *r,
		     size_t *room)
{
	*r = (struct campaign_row){
		.id = store_int(q, 0),
		.status = shown(q, 6),
		.cpi = real(q, 7),
		.cpi_low = real(q, 8),
		.cpi_high = real(q, 9),
		.error = real(q, 10),
		.instructions = real(q, 11),
		.cycles = real(q, 12),
		.seconds = real(q, 13),
		.memory_bytes = real(q, 14),
		.host = shown(q, 15),
		.store = shown(q, 16),
		.log = shown(q, 17),
		.message = shown(q, 18),
		.note = shown(q, 19),
	};
	r->done = r->status && !strcmp(r->status, "done");
	*room = 0;
	for (int i = 0; i < CAMPAIGN_FIXED_FIELDS; i++)
		set_field(r, room, i, shown(q, i + 1));
	read_settings(m, r, room, store_text(q, 5));
}

/* Every row has as many fields as the model. */
static void even_out(struct campaign_model *m, const size_t *rooms)
{
	for (size_t i = 0; i < m->nrows; i++) {
		size_t room = rooms[i];

		if (room < m->nfields)
			set_field(&m->rows[i], &room, (int)m->nfields - 1, NULL);
	}
}

/* The settings in the order of the campaign's file. */
static void read_order(struct campaign_model *m, struct store *s)
{
	struct store_rows q =
	    store_query(s, "SELECT value FROM campaign WHERE key = 'settings'", "");
	char *names = store_next(&q) ? shown(&q, 0) : NULL, *rest = names;

	for (char *one; names && (one = strsep(&rest, " "));)
		if (*one && m->nfields < 1000)
			field_at(m, one);
	free(names);
	store_done(&q, NULL);
}

bool campaign_read_model(struct store *s, const struct conditions *where, struct campaign_model *m,
			 struct err *e)
{
	static const char *const fixed[] = { "program", "input", "machine", "seed" };
	size_t *rooms = NULL, nrooms = 0;

	*m = (struct campaign_model){ .fields = NULL };
	for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
		field_at(m, fixed[i]);
	read_order(m, s);

	struct store_rows q = store_query(
	    s,
	    "SELECT id, program, input, machine, seed, settings, status, cpi, cpi_low, cpi_high, "
	    "error, "
	    "instructions, cycles, seconds, memory_bytes, host, store, log, message, note FROM run "
	    "WHERE planned ORDER BY id",
	    "");

	while (store_next(&q)) {
		struct looking l = { .m = m };
		struct campaign_row r;

		read_row(m, &q, &r, &l.room);
		l.r = &r;
		if (!conditions_hold(where, look_up, &l)) {
			free_row(&r, l.room);
			continue;
		}
		m->done += r.done;
		m->failed += r.status && (!strcmp(r.status, "failed") || !strcmp(r.status, "over"));
		*ARRAY_ADD(m->rows, m->nrows) = r;
		*ARRAY_ADD(rooms, nrooms) = l.room;
	}
	even_out(m, rooms);
	free(rooms);
	m->waiting = m->nrows - m->done - m->failed;
	if (!store_done(&q, e)) {
		campaign_free_model(m);
		return false;
	}
	for (size_t i = 0; i < where->count; i++) {
		const char *field = where->items[i].field;
		bool known = !strcmp(field, "status");

		for (const struct campaign_metric *x = campaign_metrics; x->name; x++)
			known |= !strcmp(x->name, field);
		if (!known && campaign_find_field(m, field, e) < 0) {
			campaign_free_model(m);
			return false;
		}
	}
	return true;
}

void campaign_free_model(struct campaign_model *m)
{
	for (size_t i = 0; i < m->nrows; i++)
		free_row(&m->rows[i], m->nfields);
	for (size_t i = 0; i < m->nfields; i++)
		free(m->fields[i]);
	free(m->fields);
	free(m->rows);
	*m = (struct campaign_model){ .fields = NULL };
}

/* ---- fields ---- */

int campaign_find_field(const struct campaign_model *m, const char *name, struct err *e)
{
	struct nearest near = { .word = name };

	for (size_t i = 0; i < m->nfields; i++) {
		if (!strcmp(m->fields[i], name))
			return (int)i;
		nearest_try(&near, m->fields[i]);
	}
	err_set(e, "nothing in this campaign is called '%s'; the nearest is '%s'", name, near.best);
	return -1;
}

static int by_value(const void *a, const void *b)
{
	const char *x = *(const char *const *)a, *y = *(const char *const *)b;
	double p = 0, q = 0;
	const bool xn = condition_number(x, &p), yn = condition_number(y, &q);

	if (xn != yn)
		return xn ? -1 : 1;
	return xn ? (p > q) - (p < q) : 0;
}

const char **campaign_field_values(const struct campaign_model *m, int field, size_t *count)
{
	const char **all = NULL;
	size_t n = 0;

	for (size_t i = 0; i < m->nrows; i++) {
		const char *value = m->rows[i].fields[field];
		size_t k = 0;

		while (value && k < n && strcmp(all[k], value))
			k++;
		if (value && k == n)
			*ARRAY_ADD(all, n) = value;
	}
	/* stable: texts stay in the order of the file */
	for (size_t i = 1; i < n; i++)
		for (size_t k = i; k && by_value(&all[k - 1], &all[k]) > 0; k--) {
			const char *swap = all[k];

			all[k] = all[k - 1];
			all[k - 1] = swap;
		}
	*count = n;
	return all;
}

bool campaign_varies(const struct campaign_model *m, int field)
{
	const char *first = NULL;

	for (size_t i = 0; i < m->nrows; i++) {
		const char *value = m->rows[i].fields[field];

		if (!i)
			first = value;
		else if ((!value) != (!first) || (value && strcmp(value, first)))
			return true;
	}
	return false;
}

/* ---- metrics ---- */

static double of_cpi(const struct campaign_row *r)
{
	return r->cpi;
}
static double half_cpi(const struct campaign_row *r)
{
	return (r->cpi_high - r->cpi_low) / 2;
}
static double of_ipc(const struct campaign_row *r)
{
	return 1 / r->cpi;
}
static double half_ipc(const struct campaign_row *r)
{
	return (1 / r->cpi_low - 1 / r->cpi_high) / 2;
}
static double of_cycles(const struct campaign_row *r)
{
	return r->cycles;
}
static double half_cycles(const struct campaign_row *r)
{
	return r->cycles * half_cpi(r) / r->cpi;
}
static double of_instructions(const struct campaign_row *r)
{
	return r->instructions;
}
static double of_seconds(const struct campaign_row *r)
{
	return r->seconds;
}
static double of_memory(const struct campaign_row *r)
{
	return r->memory_bytes / (1 << 20);
}
static double of_error(const struct campaign_row *r)
{
	return 100 * r->error;
}

const struct campaign_metric campaign_metrics[] = {
	{ "cpi", "cycles per instruction", "%.4f", of_cpi, half_cpi, false },
	{ "ipc", "instructions per cycle", "%.4f", of_ipc, half_ipc, true },
	{ "cycles", "cycles", "%.0f", of_cycles, half_cycles, false },
	{ "instructions", "instructions", "%.0f", of_instructions, NULL, false },
	{ "seconds", "seconds of this host", "%.3f", of_seconds, NULL, false },
	{ "memory", "MiB of this host", "%.1f", of_memory, NULL, false },
	{ "error", "half of the 95% interval, % of CPI", "%.3f", of_error, NULL, false },
	{ NULL, NULL, NULL, NULL, NULL, false },
};

const struct campaign_metric *campaign_find_metric(const char *name, struct err *e)
{
	struct nearest near = { .word = name };

	for (const struct campaign_metric *x = campaign_metrics; x->name; x++) {
		if (!strcmp(x->name, name))
			return x;
		nearest_try(&near, x->name);
	}
	err_set(e, "there is no metric '%s'; the nearest is '%s'", name, near.best);
	return NULL;
}

/*
 * The mean of logarithms. Intervals of the values are independent, so that of the mean is the root of the
 * sum of their squares, over n.
 */
struct campaign_mean campaign_average(const struct campaign_model *m,
				      const struct campaign_metric *metric,
				      bool (*wanted)(const struct campaign_row *r, const void *ctx),
				      const void *ctx)
{
	struct campaign_mean out = { 0 };
	double logs = 0, plain = 0, squares = 0;
	bool positive = true;

	for (size_t i = 0; i < m->nrows; i++) {
		const struct campaign_row *r = &m->rows[i];
		const double x = r->done ? metric->of(r) : NAN;

		if (!isfinite(x) || !wanted(r, ctx))
			continue;

		const double half = metric->half ? metric->half(r) : 0;

		out.n++;
		plain += x;
		positive &= x > 0;
		logs += x > 0 ? log(x) : 0;
		squares += x > 0 && isfinite(half) ? half / x * (half / x) : 0;
	}
	if (!out.n)
		return out;
	out.value = positive ? exp(logs / (double)out.n) : plain / (double)out.n;
	out.half = sqrt(squares) / (double)out.n * out.value;
	return out;
}

double campaign_student(size_t degrees)
{
	static const double table[] = { 0,     12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365,
					2.306, 2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
					2.120, 2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069,
					2.064, 2.060,  2.056, 2.052, 2.048, 2.045, 2.042 };
	const double z = 1.959964, n = (double)degrees;

	/* beyond the table: the first terms of Cornish and Fisher's expansion */
	return degrees < ARRAY_LEN(table)
		   ? table[degrees]
		   : z + (z * z * z + z) / (4 * n) +
			 (5 * pow(z, 5) + 16 * z * z * z + 3 * z) / (96 * n * n);
}

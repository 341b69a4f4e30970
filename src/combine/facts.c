/* SPDX-License-Identifier: MIT */
/*
 * Table run of the combined store. What says which run it was must be the same at all points; counts
 * are weighted sums; where an interval lies and how its simulation went is a fact of the point alone;
 * of anything else that points do not agree on nothing is kept.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "combine/combine_int.h"
#include "util/array.h"

enum kind {
	KIND_KEPT,   /* if all points agree */
	KIND_RUN,    /* all points agree */
	KIND_COUNT,  /* weighted sum in whole numbers */
	KIND_AMOUNT, /* weighted sum */
	KIND_PLAIN,  /* plain sum */
	KIND_LAST,   /* of the point that saw most of the run */
	KIND_POINT,  /* not of the run: written by combine.c, or not at all */
};

static const struct {
	const char *key;
	enum kind kind;
} keys[] = {
	{ "program", KIND_RUN },
	{ "machine", KIND_RUN },
	{ "argv", KIND_RUN },
	{ "env", KIND_RUN },
	{ "cwd", KIND_RUN },
	{ "sysroot", KIND_RUN },
	{ "seed", KIND_RUN },
	{ "sets", KIND_RUN },
	{ "scale", KIND_RUN },
	{ "period", KIND_RUN },
	{ "random", KIND_RUN },
	{ "clock_hz", KIND_RUN },
	{ "clock", KIND_RUN },
	{ "clock_cpi", KIND_RUN },
	{ "profiled_cycles", KIND_COUNT },
	{ "profiled_instructions", KIND_COUNT },
	{ "with_event", KIND_COUNT },
	{ "with_combined_events", KIND_COUNT },
	{ "frontend_backend_overlap_cycles", KIND_COUNT },
	{ "frontend_beside_long_miss_cycles", KIND_COUNT },
	{ "graph_cycles", KIND_AMOUNT },
	{ "graph_reference_cycles", KIND_AMOUNT },
	{ "graph_residual_commit", KIND_AMOUNT },
	{ "graph_residual_dispatch", KIND_AMOUNT },
	{ "graph_residual_execute", KIND_AMOUNT },
	{ "graph_residual_fetch", KIND_AMOUNT },
	{ "graph_residual_strict", KIND_AMOUNT },
	{ "icost_sampled_instructions", KIND_PLAIN },
	{ "shotgun_details", KIND_PLAIN },
	{ "shotgun_signatures", KIND_PLAIN },
	{ "host_seconds", KIND_PLAIN },
	{ "icost_sampled_share", KIND_LAST },
	{ "files", KIND_LAST },
	{ "folders", KIND_LAST },
	{ "input", KIND_LAST },
	{ "instructions", KIND_POINT },
	{ "cycles", KIND_POINT },
	{ "ipc", KIND_POINT },
	{ "exit_status", KIND_POINT },
	{ "signature", KIND_POINT },
	{ "fast_forward", KIND_POINT },
	{ "warm", KIND_POINT },
	{ "settle", KIND_POINT },
	{ "max_insts", KIND_POINT },
	{ "restore", KIND_POINT },
};

static enum kind kind_of(const char *key)
{
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (!strcmp(key, keys[i].key))
			return keys[i].kind;
	return KIND_KEPT;
}

/* What says how a program began: a store of what was restored from a checkpoint lacks it. */
static bool is_of_the_beginning(const char *key)
{
	return !strcmp(key, "env") || !strcmp(key, "seed") || !strcmp(key, "clock_cpi");
}

static bool is_sum(enum kind k)
{
	return k == KIND_COUNT || k == KIND_AMOUNT || k == KIND_PLAIN;
}

void facts_free(struct facts *f)
{
	for (size_t i = 0; i < f->count; i++) {
		free(f->all[i].key);
		free((char *)f->all[i].value.text);
	}
	free(f->all);
	free(f->first);
	free(f->machine);
	memset(f, 0, sizeof(*f));
}

static struct fact *find(const struct facts *f, const char *key)
{
	for (size_t i = 0; i < f->count; i++)
		if (!strcmp(f->all[i].key, key))
			return &f->all[i];
	return NULL;
}

static double number_of(const struct store_value *v)
{
	return v->type == 'i' ? (double)v->number : v->type == 'd' ? v->real : 0;
}

double facts_number(const struct facts *f, const char *key, double fallback)
{
	const struct fact *fact = find(f, key);

	return !fact ? fallback : is_sum(kind_of(key)) ? fact->sum : number_of(&fact->value);
}

/* A value as it is in the store: SQLite's type decides. */
static struct store_value value_of(const struct store_rows *r, const char *type)
{
	struct store_value v = { .type = !strcmp(type, "integer") ? 'i'
					 : !strcmp(type, "real")  ? 'd'
					 : !strcmp(type, "text")  ? 's'
								  : 'n' };

	if (v.type == 'i')
		v.number = store_int(r, 1);
	else if (v.type == 'd')
		v.real = store_double(r, 1);
	else if (v.type == 's')
		v.text = x_strdup(store_text(r, 1));
	return v;
}

static bool is_same(const struct store_value *a, const struct store_value *b)
{
	if (a->type != b->type)
		return false;
	return a->type == 'i'	? a->number == b->number
	       : a->type == 'd' ? a->real == b->real
	       : a->type == 's' ? !strcmp(a->text, b->text)
				: true;
}

static bool differ(const struct facts *f, const struct store *s, const char *key, struct err *e)
{
	return err_set(
	    e,
	    "%s and %s are not of one run: they differ in '%s'; points that are combined come "
	    "from the same program, options and machine",
	    f->first, store_path(s), key);
}

/* Adds a row; what v holds becomes the fact's, or is freed. */
static bool take_row(struct facts *f, struct store *s, const char *key, struct store_value v,
		     bool is_last, struct err *e)
{
	const enum kind kind = kind_of(key);
	struct fact *fact = find(f, key);
	bool ok = true;

	if (kind == KIND_POINT) {
		free((char *)v.text);
		return true;
	}
	if (!fact) {
		fact = ARRAY_ADD(f->all, f->count);
		*fact = (struct fact){ .key = x_strdup(key), .value = v, .is_whole = true };
		/* A fact that the first point does not have is no fact of the run. */
		fact->is_dropped = f->first != NULL && kind != KIND_LAST && !is_sum(kind) &&
				   (f->began || !is_of_the_beginning(key));
		ok = !fact->is_dropped || kind != KIND_RUN || differ(f, s, key, e);
		v.text = NULL;
	} else if (kind == KIND_LAST && is_last) {
		free((char *)fact->value.text);
		fact->value = v;
		v.text = NULL;
	} else if (kind == KIND_RUN && !is_same(&fact->value, &v)) {
		ok = differ(f, s, key, e);
	} else if (kind == KIND_KEPT && !is_same(&fact->value, &v)) {
		fact->is_dropped = true;
	}
	if (is_sum(kind)) {
		fact->now += number_of(&v);
		fact->is_whole = fact->is_whole && number_of(&v) == floor(number_of(&v));
	}
	free((char *)v.text);
	return ok;
}

/* All parameters of the machine as one text; the caller frees. */
static char *machine_of(struct store *s, struct err *e)
{
	struct store_rows r =
	    store_query(s, "SELECT section, key, value FROM machine ORDER BY section, key", "");
	char *text = x_strdup("");

	while (store_next(&r)) {
		char *more = x_asprintf("%s%s.%s=%s\n", text, store_text(&r, 0), store_text(&r, 1),
					store_text(&r, 2));

		free(text);
		text = more;
	}
	if (store_done(&r, e))
		return text;
	free(text);
	return NULL;
}

static bool take_machine(struct facts *f, struct store *s, struct err *e)
{
	char *machine = machine_of(s, e);

	if (!machine)
		return false;
	if (!f->machine) {
		f->machine = machine;
		return true;
	}

	const bool same = !strcmp(machine, f->machine);

	free(machine);
	return same || err_set(e,
			       "%s and %s were simulated on different machines; points that are "
			       "combined come from one",
			       f->first, store_path(s));
}

static bool refuse_kinds(struct store *s, struct err *e)
{
	static const struct {
		const char *query, *what;
	} bad[] = {
		{ "SELECT 1 FROM run WHERE key = 'kind' AND value = 'live'", "a live profile" },
		{ "SELECT 1 FROM run WHERE key = 'child'", "the profile of a forked process" },
		{ "SELECT 1 FROM run WHERE key = 'regions' AND value > 0",
		  "a profile of regions (--start, --stop)" },
		{ "SELECT 1 FROM sampled", "a combined profile" },
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (store_number(s, bad[i].query, 0))
			return err_set(
			    e, "%s is %s, not of an interval; simulate points with `culprit sim`",
			    store_path(s), bad[i].what);
	return true;
}

bool facts_take(struct facts *f, struct store *point, bool is_last, struct err *e)
{
	if (!refuse_kinds(point, e) || !take_machine(f, point, e))
		return false;

	struct store_rows r = store_query(point, "SELECT key, value, typeof(value) FROM run", "");
	bool *seen = x_calloc(f->count + 1, sizeof(*seen)), ok = true;
	const size_t known = f->count;
	const bool restored =
	    store_number(point, "SELECT 1 FROM run WHERE key = 'restore'", 0) != 0;

	while (ok && store_next(&r)) {
		const struct fact *fact = find(f, store_text(&r, 0));

		if (fact && (size_t)(fact - f->all) < known)
			seen[fact - f->all] = true;
		ok = take_row(f, point, store_text(&r, 0), value_of(&r, store_text(&r, 2)), is_last,
			      e);
	}
	ok = store_done(&r, e) && ok;
	for (size_t i = 0; ok && i < known; i++) {
		const enum kind kind = kind_of(f->all[i].key);

		if (seen[i] || is_sum(kind) || kind == KIND_LAST ||
		    (restored && is_of_the_beginning(f->all[i].key)))
			continue;
		f->all[i].is_dropped = true;
		ok = kind != KIND_RUN || differ(f, point, f->all[i].key, e);
	}
	free(seen);
	f->began = f->began || !restored;
	if (!f->first)
		f->first = x_strdup(store_path(point));
	return ok;
}

void facts_fold(struct facts *f, struct factor by)
{
	for (size_t i = 0; i < f->count; i++) {
		struct fact *fact = &f->all[i];

		fact->sum += kind_of(fact->key) == KIND_PLAIN
				 ? fact->now
				 : fact->now * (double)by.stands_for / (double)by.measured;
		fact->now = 0;
	}
}

/* Whole numbers stay whole. */
static bool write_sum(const struct fact *f, struct store *out, struct err *e)
{
	const double sum =
	    f->is_whole && kind_of(f->key) != KIND_PLAIN ? floor(f->sum + 0.5) : f->sum;

	if (f->value.type == 'i')
		return store_insert(out, e, "run", "si", f->key, (int64_t)sum);
	return store_insert(out, e, "run", "sd", f->key, sum);
}

bool facts_write(const struct facts *f, int64_t cycles, int64_t instructions, struct store *out,
		 struct err *e)
{
	bool ok = true;

	for (size_t i = 0; ok && i < f->count; i++) {
		const struct fact *fact = &f->all[i];
		const struct store_value row[] = { { 's', .text = fact->key }, fact->value };

		if (fact->is_dropped)
			continue;
		if (!strcmp(fact->key, "profiled_cycles"))
			ok = store_insert(out, e, "run", "si", fact->key, cycles);
		else if (!strcmp(fact->key, "profiled_instructions"))
			ok = store_insert(out, e, "run", "si", fact->key, instructions);
		else if (is_sum(kind_of(fact->key)))
			ok = write_sum(fact, out, e);
		else
			ok = store_insert_values(out, e, "run", row, ARRAY_LEN(row));
	}
	return ok;
}

bool facts_copy_machine(struct store *point, struct store *out, struct err *e)
{
	struct store_rows r =
	    store_query(point, "SELECT section, key, value FROM machine ORDER BY section, key", "");
	bool ok = true;

	while (ok && store_next(&r))
		ok = store_insert(out, e, "machine", "sss", store_text(&r, 0), store_text(&r, 1),
				  store_text(&r, 2));
	return store_done(&r, ok ? e : NULL) && ok;
}

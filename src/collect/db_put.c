/* SPDX-License-Identifier: MIT */
/* Rows with packs: what the writer, compaction and the fleet put into the database. */
#include <stdlib.h>

#include "collect/db_int.h"

int64_t db_new_data(struct db *d)
{
	return 1 + db_number(d,
			     "SELECT max(ifnull((SELECT max(data) FROM epoch), 0), ifnull((SELECT"
			     " max(data) FROM waste), 0))",
			     0);
}

static int64_t process_column(uint32_t process)
{
	return process == LIVE_NO_PROCESS ? DB_NONE : (int64_t)process;
}

static int by_group(const void *a, const void *b)
{
	const struct live_count *x = a, *y = b;

#define ORDER(m)                                                                                   \
	if (x->m != y->m)                                                                          \
	return x->m < y->m ? -1 : 1
	ORDER(event);
	ORDER(process);
	ORDER(cpu);
	ORDER(offset);
#undef ORDER
	return 0;
}

static bool same_group(const struct live_count *a, const struct live_count *b)
{
	return a->event == b->event && a->process == b->process && a->cpu == b->cpu;
}

bool db_put_group(struct db *d, int64_t data, int64_t cut, const int64_t key[4],
		  const struct db_count *c, size_t n, struct err *e)
{
	struct db_bytes bytes = { 0 };
	uint64_t samples = 0;

	for (size_t i = 0; i < n; i++)
		samples += c[i].count;
	db_pack_counts(c, n, &bytes);
	const bool ok =
	    db_run(d, e, "INSERT OR REPLACE INTO pack VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
		   "iiiiiiiib", data, key[0], key[1], key[2], key[3], cut, (int64_t)n,
		   (int64_t)samples, bytes.data, bytes.size);

	db_bytes_free(&bytes);
	return ok;
}

/* n counts of one group, by offset; an offset may be there several times. */
static bool put_group(struct db *d, int64_t data, int64_t cut, const struct live_count *c, size_t n,
		      struct err *e)
{
	const int64_t key[] = { (int64_t)c->image, (int64_t)c->event, process_column(c->process),
				c->cpu == LIVE_NO_CPU ? DB_NONE : c->cpu };
	struct db_count *counts = x_malloc(n * sizeof(*counts));
	size_t to = 0;

	for (size_t i = 0; i < n; i++) {
		if (to && counts[to - 1].offset == c[i].offset)
			counts[to - 1].count += c[i].count;
		else
			counts[to++] = (struct db_count){ c[i].offset, c[i].count };
	}
	const bool ok = db_put_group(d, data, cut, key, counts, to, e);

	free(counts);
	return ok;
}

bool db_put_counts(struct db *d, int64_t data, int64_t cut, struct live_count *c, size_t n,
		   struct err *e)
{
	bool ok = true;

	if (n)
		qsort(c, n, sizeof(*c), by_group);
	for (size_t i = 0, k; ok && i < n; i = k) {
		for (k = i + 1; k < n && same_group(&c[i], &c[k]); k++)
			;
		ok = put_group(d, data, cut, &c[i], k - i, e);
	}
	return ok;
}

bool db_put_stacks(struct db *d, int64_t data, int64_t cut, const struct live_stack *s, size_t n,
		   struct err *e)
{
	struct db_bytes bytes = { 0 };
	uint64_t samples = 0;

	for (size_t i = 0; i < n; i++)
		samples += s[i].count;
	db_pack_stacks(s, n, &bytes);
	const bool ok =
	    db_run(d, e, "INSERT OR REPLACE INTO stack_pack VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
		   "iiiiiib", data, (int64_t)s->event, process_column(s->process), cut, (int64_t)n,
		   (int64_t)samples, bytes.data, bytes.size);

	db_bytes_free(&bytes);
	return ok;
}

bool db_put_edges(struct db *d, int64_t data, int64_t cut, const struct live_edge *x, size_t n,
		  struct err *e)
{
	struct db_bytes bytes = { 0 };

	db_pack_edges(x, n, &bytes);
	const bool ok =
	    db_run(d, e, "INSERT OR REPLACE INTO edge_pack VALUES (?1, ?2, ?3, ?4, ?5)", "iiiib",
		   data, (int64_t)x->image, cut, (int64_t)n, bytes.data, bytes.size);

	db_bytes_free(&bytes);
	return ok;
}

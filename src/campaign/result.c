/* SPDX-License-Identifier: MIT */
/* Reads what a run left. */
#include "campaign/result.h"

#include <jansson.h>
#include <string.h>
#include <sys/stat.h>

#include "store/store.h"

static const char magic[16] = "SQLite format 3";

/* Whether a profile has all its pages: a host that stopped may have left fewer. */
static bool is_whole_store(FILE *f, const unsigned char head[100])
{
	const uint64_t page = (uint64_t)head[16] << 8 | head[17];
	const uint64_t count = (uint64_t)head[28] << 24 | (uint64_t)head[29] << 16 |
			       (uint64_t)head[30] << 8 | head[31];
	struct stat st;

	return !fstat(fileno(f), &st) && count &&
	       (uint64_t)st.st_size == count * (page == 1 ? 65536 : page);
}

/* 1: a whole profile; 0: no profile; -1: a damaged one, or no file. */
static int is_store(const char *path)
{
	unsigned char head[100];
	FILE *f = fopen(path, "re");
	int is = f ? 0 : -1;

	if (f && fread(head, sizeof(head), 1, f) == 1 && !memcmp(head, magic, sizeof(magic)))
		is = is_whole_store(f, head) ? 1 : -1;
	if (f)
		fclose(f);
	return is;
}

static bool read_summary(const char *path, struct result *out)
{
	json_t *o = json_load_file(path, 0, NULL);
	const json_t *cycles = json_object_get(o, "cycles"),
		     *insts = json_object_get(o, "instructions");
	const json_t *status = json_object_get(o, "exit_status");
	const bool ok = json_is_integer(insts);

	*out = (struct result){
		.has_cycles = json_is_integer(cycles),
		.instructions = (uint64_t)json_integer_value(insts),
		.cycles = (uint64_t)json_integer_value(cycles),
		.exit_status = json_is_integer(status) ? json_integer_value(status) : -1,
		.host_seconds = json_number_value(json_object_get(o, "host_seconds")),
	};
	json_decref(o);
	return ok;
}

bool result_is_usable(const char *path)
{
	struct result ignored;
	const int store = is_store(path);

	return store > 0 || (!store && read_summary(path, &ignored));
}

static double real(struct store *s, const char *sql, int column, double fallback)
{
	struct store_rows q = store_query(s, sql, "");
	const double x =
	    store_next(&q) && !store_is_null(&q, column) ? store_double(&q, column) : fallback;

	return store_done(&q, NULL) ? x : fallback;
}

static bool read_store(const char *path, struct result *out, struct err *e)
{
	static const char estimate[] = "SELECT value, low, high FROM estimate WHERE what = 'cpi'";
	struct store *s = store_open(path, e);

	if (!s)
		return false;
	*out = (struct result){
		.has_cycles = true,
		.instructions = (uint64_t)store_number(
		    s, "SELECT value FROM run WHERE key = 'instructions'", 0),
		.cycles =
		    (uint64_t)store_number(s, "SELECT value FROM run WHERE key = 'cycles'", 0),
		.exit_status = store_number(
		    s, "SELECT ifnull(value, -1) FROM run WHERE key = 'exit_status'", -1),
		.host_seconds = real(s, "SELECT value FROM run WHERE key = 'host_seconds'", 0, 0),
		.is_store = true,
	};
	out->cpi = real(s, estimate, 0, 0);
	out->estimated = out->cpi > 0;
	if (out->estimated) {
		out->cpi_low = real(s, estimate, 1, out->cpi);
		out->cpi_high = real(s, estimate, 2, out->cpi);
	}
	store_close(s);
	return true;
}

bool result_read(const char *path, struct result *out, struct err *e)
{
	const bool ok = is_store(path) ? read_store(path, out, e)
				       : read_summary(path, out) ||
					     err_set(e, "'%s' is not the summary of a run", path);

	if (ok && out->has_cycles && !out->estimated && out->instructions)
		out->cpi = out->cpi_low = out->cpi_high =
		    (double)out->cycles / (double)out->instructions;
	return ok;
}

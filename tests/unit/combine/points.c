/* SPDX-License-Identifier: MIT */
/*
 * Combines stores by hand, for tests of the views:
 *
 *	combine_points OUTPUT TOTAL MODE STRIP [-x PC=EXECUTIONS …] STORE,START,LENGTH,STANDS_FOR,CLUSTER …
 *
 * MODE: weights or executions. STRIP: the interval and the cluster of each interval, as "100000:0 0 1",
 * or "-" for none. Executions are read from the golden reference of the store that -e names.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "combine/combine.h"
#include "store/store.h"
#include "util/array.h"

static uint64_t *pcs, *executions;
static size_t npcs;

static void read_executions(const char *path)
{
	struct err e = { "" };
	struct store *s = store_open(path, &e);
	size_t n = 0;

	if (!s)
		die("%s", e.text);

	struct store_rows r =
	    store_query(s, "SELECT pc, sum(executions) FROM golden GROUP BY pc ORDER BY pc", "");

	while (store_next(&r)) {
		*ARRAY_ADD(pcs, npcs) = (uint64_t)store_int(&r, 0);
		*ARRAY_ADD(executions, n) = (uint64_t)store_int(&r, 1);
	}
	store_done(&r, NULL);
	store_close(s);
}

static uint64_t number_at(char **at)
{
	char *end;
	const uint64_t n = strtoull(*at, &end, 10);

	*at = *end ? end + 1 : end;
	return n;
}

int main(int argc, char **argv)
{
	struct combine_options o = { .method = "simpoint", .warm = "all", .exit_status = 0 };
	struct err e = { "" };
	const char **paths = NULL;
	struct combine_weight *weights = NULL;
	uint32_t *strip = NULL;
	size_t npaths = 0, n = 0;
	int i = 5;

	if (argc < 6)
		die("OUTPUT TOTAL MODE STRIP [-e STORE] STORE,START,LENGTH,STANDS_FOR,CLUSTER …");
	o.total_instructions = strtoull(argv[2], NULL, 10);
	o.mode = strcmp(argv[3], "executions") ? COMBINE_WEIGHTS : COMBINE_EXECUTIONS;
	if (strcmp(argv[4], "-")) {
		char *at = argv[4];

		o.interval = number_at(&at);
		while (*at)
			*ARRAY_ADD(strip, o.nstrip) = (uint32_t)number_at(&at);
		o.strip = strip;
	}
	if (!strcmp(argv[i], "-e")) {
		read_executions(argv[i + 1]);
		i += 2;
	}
	for (; i < argc; i++) {
		char *at = strchr(argv[i], ',');

		if (!at)
			die("%s has no numbers", argv[i]);
		*at++ = '\0';

		struct combine_weight w = { .start = number_at(&at), .length = number_at(&at) };

		w.stands_for = number_at(&at);
		w.cluster = (uint32_t)number_at(&at);
		*ARRAY_ADD(paths, npaths) = argv[i];
		*ARRAY_ADD(weights, n) = w;
		o.interval = max_u64(o.interval, w.length);
	}
	o.pcs = npcs ? pcs : NULL;
	o.executions = executions;
	o.npcs = npcs;
	if (!combine_stores(paths, weights, n, &o, argv[1], &e))
		die("%s", e.text);
	free(paths);
	free(weights);
	free(strip);
	free(pcs);
	free(executions);
	return 0;
}

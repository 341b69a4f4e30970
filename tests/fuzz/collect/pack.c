/* SPDX-License-Identifier: MIT */
/* Fuzzes the packs of a database: the first byte says of what kind, the rest is the pack. */
#include <stdlib.h>
#include <string.h>

#include "collect/db_pack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct db_count *counts, *again;
	struct live_edge *edges;
	struct live_symbol *symbols;
	struct live_code *code;
	struct db_bytes bytes = { 0 };
	size_t n, m;

	if (!size)
		return 0;
	switch (data[0] % 5) {
	case 0:
		if (!db_unpack_counts(data + 1, size - 1, &counts, &n))
			break;
		db_pack_counts(counts, n, &bytes);
		if (!db_unpack_counts(bytes.data, bytes.size, &again, &m) || n != m ||
		    memcmp(counts, again, n * sizeof(*counts)))
			abort();
		free(counts);
		free(again);
		break;
	case 1:
		if (db_unpack_edges(data + 1, size - 1, &edges, &n))
			free(edges);
		break;
	case 2:
		if (db_unpack_symbols(data + 1, size - 1, &symbols, &n))
			db_symbols_free(symbols, n);
		break;
	case 3:
		if (db_unpack_code(data + 1, size - 1, &code, &n))
			db_code_free(code, n);
		break;
	default:
		db_unpack_stacks(data + 1, size - 1, NULL, NULL);
	}
	db_bytes_free(&bytes);
	return 0;
}

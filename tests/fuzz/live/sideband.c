/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the reader of side-band records and the address spaces behind it: the input is a row of
 * records, each with its size in its header; in between, addresses are asked for.
 */
#include <assert.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collect/maps.h"
#include "collect/sideband.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	static const struct sideband_format formats[] = {
		{ 8, 0 }, { 0, SIZE_MAX }, { 16, 8 }, { 8, 4 }
	};
	struct live_profile *profile = live_profile_new();
	const struct live_sink sink = live_profile_sink(profile);
	struct maps *m = maps_new(&sink, NULL);
	struct perf_event_header h;

	for (size_t at = 0, n = 0; size_bytes - at >= sizeof(h); n++) {
		struct maps_record r;
		uint64_t lost;

		memcpy(&h, data + at, sizeof(h));
		const size_t size = h.size < sizeof(h)	       ? sizeof(h)
				    : h.size > size_bytes - at ? size_bytes - at
							       : h.size;
		/* Exactly as large as it says, so that reads beyond it are seen. */
		uint8_t *record = malloc(size);

		memcpy(record, data + at, size);
		if (sideband_parse(record, size, &formats[(n / 16) % 4], &r, &lost) ==
		    SIDEBAND_RECORD) {
			maps_add(m, &r);
			const struct maps_space space = { r.pid, (uint32_t)n % 3,
							  n % 2 ? r.time_ns : 0 };

			maps_find(m, space, r.address);
			maps_find_at(m, space, r.address + r.size_bytes - 1, r.time_ns / 2);
			maps_find_kernel(m, space, r.address + r.size_bytes / 2);
			if (n % 16 == 15)
				maps_forget(m, r.time_ns);
		}
		free(record);
		at += size;
	}
	maps_publish(m);
	assert(maps_status(m).records <= size_bytes / sizeof(h) + 1);
	maps_forget(m, UINT64_MAX);
	maps_free(m);
	live_profile_free(profile);
	return 0;
}

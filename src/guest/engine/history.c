/* SPDX-License-Identifier: MIT */
/*
 * The lines that loads and stores touched last (history.h). Times stand in a table with an entry for each
 * line of the guest's memory, of which the host only has the pages that were written.
 *
 * To take the newest of many millions of lines, one pass counts how many there are of each age, and
 * another one collects those that are young enough.
 */
#include "guest/engine/history.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "util/array.h"
#include "util/util.h"

#define LINES	       (GUEST_ADDR_LIMIT >> GUEST_LINE_BITS)
#define PAGES	       (GUEST_ADDR_LIMIT / GUEST_PAGE_BYTES)
#define LINES_PER_PAGE (GUEST_PAGE_BYTES >> GUEST_LINE_BITS)
#define AGES	       4096

struct history *history_new(uint8_t *touched)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	struct history *h = MAP_FAILED;
	void *times = mmap(NULL, LINES * sizeof(*h->times), PROT_READ | PROT_WRITE, flags, -1, 0);

	if (times == MAP_FAILED)
		return NULL;
#ifdef MAP_32BIT
	h = mmap(NULL, sizeof(*h), PROT_READ | PROT_WRITE, flags | MAP_32BIT, -1, 0);
#endif
	if (h == MAP_FAILED) {
		munmap(times, LINES * sizeof(*h->times));
		return NULL;
	}
	h->touched = touched;
	h->times = times;
	return h;
}

void history_free(struct history *h)
{
	if (!h)
		return;
	munmap(h->times, LINES * sizeof(*h->times));
	munmap(h, sizeof(*h));
}

/* The first line of the next page that was touched, from page `at` on; LINES: there is none. */
static uint64_t next_lines(const struct history *h, uint64_t at)
{
	while (at < PAGES && !h->touched[at]) {
		uint64_t eight;

		at++;
		while (at % 8 == 0 && at < PAGES && (memcpy(&eight, h->touched + at, 8), !eight))
			at += 8;
	}
	return at < PAGES ? at * LINES_PER_PAGE : LINES;
}

#define EACH_LINE(h, line)                                                                         \
	for (uint64_t first_ = next_lines(h, 0); first_ < LINES;                                   \
	     first_ = next_lines(h, first_ / LINES_PER_PAGE + 1))                                  \
		for (uint64_t line = first_; line < first_ + LINES_PER_PAGE; line++)

void history_age(struct history *h)
{
	if (h->now < UINT32_MAX / 2)
		return;
	EACH_LINE(h, line)
	for (unsigned store = 0; store < 2; store++)
		h->times[line].left[store] -= h->times[line].left[store] / 2;
	h->now -= h->now / 2;
}

struct aged {
	uint32_t time, line;
	bool store;
};

static int by_time(const void *a, const void *b)
{
	const struct aged *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return x->store - y->store;
}

void history_take(const struct history *h, size_t most, struct guest_lines *out)
{
	const uint64_t step = (uint64_t)h->now / AGES + 1;
	size_t *count = x_calloc(AGES, sizeof(*count)), n = 0, capacity = 0, newer = 0, total = 0;
	struct aged *all = NULL;
	uint32_t age = AGES;

	EACH_LINE(h, line)
	for (unsigned store = 0; store < 2; store++)
		if (h->times[line].left[store]) {
			count[h->times[line].left[store] / step]++;
			total++;
		}
	while (age && newer < most)
		newer += count[--age];
	EACH_LINE(h, line)
	for (unsigned store = 0; store < 2; store++) {
		const uint32_t time = h->times[line].left[store];

		if (!time || time / step < age || h->near[store][line % HISTORY_NEAR] == line)
			continue;
		ARRAY_ROOM(all, capacity, n + 1);
		all[n++] = (struct aged){ time, (uint32_t)line, store };
	}
	if (n)
		qsort(all, n, sizeof(*all), by_time);
	for (unsigned store = 0; store < 2; store++)
		for (size_t i = 0; i < HISTORY_NEAR; i++)
			if (h->near[store][i]) {
				ARRAY_ROOM(all, capacity, n + 1);
				all[n++] = (struct aged){ 0, h->near[store][i], store };
			}
	out->all = total + ARRAY_LEN(h->near) * HISTORY_NEAR <= most;
	out->count = n < most ? n : most;
	out->lines = x_calloc(out->count + 1, sizeof(*out->lines));
	for (size_t i = 0; i < out->count; i++)
		out->lines[i] = (struct guest_line){ all[n - out->count + i].line,
						     all[n - out->count + i].store };
	free(all);
	free(count);
}

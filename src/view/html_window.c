/* SPDX-License-Identifier: MIT */
/*
 * A window of a trace as the page draws it: one array per instruction, in fetch order. Stamps are
 * cycles after the fetch, -1 where there is none; producers are program-order numbers.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "isa/isa.h"
#include "trace/export.h"
#include "util/array.h"
#include "view/html.h"
#include "words/words.h"

/* A comma and a number: printf takes four times as long, and a window has some thousands. */
static void put_next(FILE *f, int64_t n)
{
	char digits[24];
	size_t i = sizeof(digits);
	uint64_t rest = n < 0 ? -(uint64_t)n : (uint64_t)n;

	do
		digits[--i] = (char)('0' + rest % 10);
	while (rest /= 10);
	if (n < 0)
		digits[--i] = '-';
	digits[--i] = ',';
	fwrite(digits + i, 1, sizeof(digits) - i, f);
}

static void put_stamp(FILE *f, uint32_t stamp)
{
	put_next(f, stamp == STAMP_NONE ? -1 : (int64_t)stamp);
}

/* The instruction that a distance leads back to; -1: none was in flight. */
static int64_t producer(const struct rec_inst *r, uint32_t distance)
{
	return distance && distance <= r->po ? (int64_t)(r->po - distance) : -1;
}

static void put_producers(FILE *f, const struct rec_inst *r)
{
	fprintf(f, ",[%" PRId64, producer(r, r->prod[0]));
	put_next(f, producer(r, r->prod[1]));
	put_next(f, producer(r, r->prod[2]));
	putc_unlocked(']', f);
	put_next(f, producer(r, r->prod_mem));
	put_next(f, producer(r, r->prod_line));
}

static void put_inst(FILE *f, const struct rec_inst *r)
{
	char text[96];
	const struct inst in = isa_decode(r->word);
	const bool committed = r->flags & RI_COMMITTED;
	bool first = true;

	snprintf(text, sizeof(text), "%s", r->cls < CLASS_COUNT ? op_class_name[r->cls] : "?");
	if (r->word) /* an imported record may lack it */
		isa_disasm(&in, r->pc, DISASM_ALIASES, text, sizeof(text));
	fprintf(f, "[%" PRId64 ",\"0x%" PRIx64 "\",", committed ? (int64_t)r->po : -1, r->pc);
	html_put_text(f, text, SIZE_MAX);
	put_next(f, (r->flags & RI_MISPREDICT ? 1 : 0) | (r->flags & RI_FLUSHES ? 2 : 0));
	put_next(f, (int64_t)r->fetch);
	put_stamp(f, r->decode);
	put_stamp(f, r->dispatch);
	put_stamp(f, r->ready);
	put_stamp(f, r->issue);
	put_stamp(f, r->complete);
	put_stamp(f, r->commit);
	put_producers(f, r);
	fputs(",[", f);
	for (unsigned b = 0; b < EVENT_PROFILED_COUNT; b++)
		if (r->psv >> b & 1) {
			fputs(first ? "" : ",", f);
			html_put_text(f, words_events[b].name, SIZE_MAX);
			first = false;
		}
	putc_unlocked(']', f);
	put_next(f, r->lat_icache);
	put_next(f, r->lat_dmiss);
	put_next(f, r->lat_fu);
	putc_unlocked(']', f);
}

struct html_window *html_window_add(struct html_windows *windows)
{
	ARRAY_ROOM(windows->list, windows->capacity, windows->count + 1);

	struct html_window *w = &windows->list[windows->count++];

	*w = (struct html_window){ 0 };
	return w;
}

void html_windows_free(struct html_windows *windows)
{
	for (size_t i = 0; i < windows->count; i++)
		window_free(&windows->list[i].records);
	free(windows->list);
	*windows = (struct html_windows){ 0 };
}

void html_put_window(FILE *f, const struct html_window *w)
{
	fputs("{\"name\":", f);
	html_put_text(f, w->name, SIZE_MAX);
	fprintf(f, ",\"run\":%u,\"at\":%zu,\"insts\":[", w->run, w->at);
	for (size_t i = 0; i < w->records.ninsts; i++) {
		fputs(i ? ",\n" : "", f);
		put_inst(f, &w->records.insts[i]);
	}
	fputs("]}", f);
}

/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes the reader of trace files: whole files with and without --salvage, a block's payload by
 * itself (checksums would keep a fuzzer out), the description of a run, and gem5's text.
 *
 * A custom mutator is not needed: where the input begins as a trace, its checksums are made right
 * before it is read, so that what lies behind them is reached.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "trace/file_codec.h"
#include "trace/file_format.h"
#include "trace/file_read.h"
#include "trace/import.h"
#include "trace/replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes);

#define MAX_RECORDS 4096

struct room {
	struct emit emit;
	struct rec_inst insts[MAX_RECORDS];
	struct rec_cycle cycles[MAX_RECORDS];
	struct rec_miss misses[MAX_RECORDS + EMIT_MISSES];
	struct rec_twin twins[MAX_RECORDS];
	uint64_t seen;
};

static void empty(struct emit *e)
{
	struct room *r = (struct room *)e;
	r->seen += e->ninsts + e->ncycles + e->nmisses + e->ntwins;
	e->ninsts = e->ncycles = e->nmisses = e->ntwins = 0;
	e->stop = r->seen > 1000000;
}

static struct room *room_new(void)
{
	struct room *r = calloc(1, sizeof(*r));
	r->emit = (struct emit){ .insts = r->insts,
				 .cycles = r->cycles,
				 .misses = r->misses,
				 .twins = r->twins,
				 .max_misses = MAX_RECORDS,
				 .max_twins = MAX_RECORDS,
				 .max_insts = MAX_RECORDS,
				 .max_cycles = MAX_RECORDS,
				 .wants = ~(unsigned)WANT_LESS,
				 .full = empty };
	return r;
}

static void read_file(const uint8_t *data, size_t size, bool salvage)
{
	struct err e = { "" };
	struct trace_reader *r = trace_reader_open_memory(data, size, "fuzz", salvage, &e);
	if (!r) {
		assert(e.text[0]);
		return;
	}
	struct room *room = room_new();
	bool ok = replay_feed(r, &room->emit, NULL, &e);
	assert(ok || (!salvage && e.text[0]));
	free(room);
	trace_reader_close(r);
}

/* Corrects the checksums of all blocks that can be found. */
static void mend(uint8_t *data, size_t size)
{
	for (size_t at = TRACE_HEAD_BYTES; at + BLOCK_HEAD_BYTES <= size;) {
		struct block_head h;
		if (!block_head_get(data + at, &h) ||
		    h.payload_bytes > size - at - BLOCK_HEAD_BYTES) {
			at++;
			continue;
		}
		uint8_t head[BLOCK_HEAD_BYTES];
		block_head_put(head, &h, data + at + BLOCK_HEAD_BYTES);
		memcpy(data + at, head, sizeof(head));
		at += BLOCK_HEAD_BYTES + (size_t)h.payload_bytes;
	}
}

static void read_payload(const uint8_t *data, size_t size)
{
	static struct codec *codec;
	struct trace_meta meta = { .commit_width = 4, .dispatch_width = 4, .rob_entries = 64 };
	size_t ninsts = size > 1 ? data[0] : 0, ncycles = size > 1 ? data[1] : 0;
	struct rec_inst insts[256];
	struct rec_cycle cycles[256];
	if (!codec)
		codec = codec_new(&meta);
	if (size > 2)
		codec_decode(codec, data + 2, size - 2, insts, ninsts, cycles, ncycles);
}

static void read_text(const uint8_t *data, size_t size)
{
	struct err e = { "" };
	FILE *f = fmemopen((void *)data, size, "r");
	if (!f)
		return;
	struct o3_import *im = import_o3pipeview_open(f, "fuzz", &e);
	if (im) {
		struct room *room = room_new();
		assert(import_o3pipeview_feed(im, &room->emit, &e) || e.text[0]);
		free(room);
		import_o3pipeview_close(im);
	}
	fclose(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	if (size_bytes > 8 && !memcmp(data, TRACE_MAGIC, 8)) {
		uint8_t *copy = malloc(size_bytes);
		memcpy(copy, data, size_bytes);
		read_file(copy, size_bytes, false);
		mend(copy, size_bytes);
		read_file(copy, size_bytes, false);
		read_file(copy, size_bytes, true);
		free(copy);
	} else if (import_is_o3pipeview((const char *)data, size_bytes)) {
		read_text(data, size_bytes);
	} else {
		struct info_copy info;
		read_payload(data, size_bytes);
		if (info_parse(data, size_bytes, &info))
			info_free(&info);
	}
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * Turns addresses into names once, when all of them are known. All that a view shows is then in the
 * store, so that a profile can be read where the binaries are not.
 */
#include "names/names.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "names/graph.h"
#include "util/array.h"

struct names {
	struct store *store;
	struct images *images;
	int64_t first_image; /* row of the first image of `images` */
	uint64_t *pcs;	     /* sorted, unique */
	int64_t *units;	     /* time of each */
	size_t count;
	uint64_t total;
	int64_t next_function, next_block;
	/* the function being written */
	int64_t function, first_block;
	const uint64_t *blocks;
	size_t nblocks;
	uint64_t spare; /* rows that may still be written for instructions that were not executed */
	bool (*stop)(void); /* asks to write the rest without names; may be NULL */
	bool stopped;
	bool jumps;		      /* fills table live_jump */
	const struct names_row *kept; /* functions that keep their row */
	size_t nkept;
	int64_t graphs_from;
	struct names_function *graphed; /* functions of this call whose graphs are wanted */
	size_t ngraphed;
};

/* Limits for showing functions whole, whatever sizes a binary claims: SPARE_ROWS rows for
 * instructions that were not executed, and SPARE_ROWS_FOR_ONE more for each that was. */
#define SPARE_ROWS	   65536
#define SPARE_ROWS_FOR_ONE 64

static int by_pc(const void *a, const void *b)
{
	uint64_t x = ((const struct names_pc *)a)->pc, y = ((const struct names_pc *)b)->pc;
	return (x > y) - (x < y);
}

/* Sorts the addresses and adds up their times. */
static void take_pcs(struct names *w, struct names_pc *all, size_t n)
{
	if (n)
		qsort(all, n, sizeof(*all), by_pc);
	w->count = 0;
	w->pcs = x_malloc((n + 1) * sizeof(*w->pcs));
	w->units = x_malloc((n + 1) * sizeof(*w->units));
	for (size_t i = 0; i < n; i++) {
		if (!w->count || w->pcs[w->count - 1] != all[i].pc) {
			w->pcs[w->count] = all[i].pc;
			w->units[w->count++] = 0;
		}
		w->units[w->count - 1] += all[i].units;
	}
}

static bool is_stopped(struct names *w)
{
	w->stopped = w->stopped || (w->stop && w->stop());
	return w->stopped;
}

static struct place nowhere(uint64_t pc)
{
	return (struct place){ .image = SIZE_MAX, .function = "[unknown]", .start = pc, .end = pc };
}

static struct place place_of(struct names *w, uint64_t pc)
{
	return is_stopped(w) ? nowhere(pc) : images_place(w->images, pc);
}

static struct place function_of(struct names *w, uint64_t pc)
{
	return is_stopped(w) ? nowhere(pc) : images_function(w->images, pc);
}

/* Disassembles; direct targets are followed by their symbol. */
static void text_of(struct names *w, const struct image_inst *in, uint64_t pc, char *buf,
		    size_t size_bytes)
{
	images_disasm(w->images, pc, buf, size_bytes);
	if (!in->direct)
		return;
	struct place p = function_of(w, in->target);
	size_t n = strlen(buf);
	if (p.image == SIZE_MAX)
		return;
	if (in->target == p.start)
		snprintf(buf + n, size_bytes - n, " <%s>", p.function);
	else
		snprintf(buf + n, size_bytes - n, " <%s+0x%" PRIx64 ">", p.function,
			 in->target - p.start);
}

static int64_t block_of(const struct names *w, uint64_t pc)
{
	const size_t after = ARRAY_SEARCH(w->nblocks, i, w->blocks[i] <= pc);
	return after ? w->first_block + (int64_t)after - 1 : w->first_block;
}

/* Line numbers come from a file and may be anything. */
static int64_t line_of(int line)
{
	return line > 0 ? line : 0;
}

static bool put_instruction(struct names *w, uint64_t pc, unsigned *len, struct err *e)
{
	struct place p = place_of(w, pc);
	struct inline_frame frames[16];
	char text[160] = "";
	struct image_inst in = { .size_bytes = 2 };
	if (!w->stopped && images_inst(w->images, pc, &in))
		text_of(w, &in, pc, text, sizeof(text));
	*len = in.size_bytes;
	bool ok =
	    store_insert(w->store, e, "instruction", "iiiissis", (int64_t)pc, w->function,
			 block_of(w, pc), (int64_t)in.word, text, p.file, line_of(p.line), in.cls);
	if (ok && w->jumps && in.direct && (in.flow == IMAGE_JUMP || in.flow == IMAGE_BRANCH))
		ok = store_insert(w->store, e, "live_jump", "ii", (int64_t)pc, (int64_t)in.target);
	size_t n = w->stopped ? 0 : images_inlined(w->images, pc, frames, ARRAY_LEN(frames));
	for (size_t i = 0; ok && i < n; i++)
		ok = store_insert(w->store, e, "inlined", "iissi", (int64_t)pc, (int64_t)i,
				  frames[i].function, frames[i].file, line_of(frames[i].line));
	return ok;
}

static bool take_spare(struct names *w, uint64_t rows)
{
	if (rows > w->spare)
		return false;
	w->spare -= rows;
	return true;
}

/* Writes the blocks of a function: all, or, if there are too many, those with an executed
 * instruction. */
static bool put_blocks(struct names *w, size_t at, size_t end, const struct place *p, struct err *e)
{
	bool all = take_spare(w, w->nblocks), ok = true;
	if (!w->nblocks) /* no code to look at: one block for the whole function */
		return store_insert(w->store, e, "block", "iiii", w->next_block++, w->function,
				    (int64_t)p->start, (int64_t)p->end);
	for (size_t i = 0; ok && i < w->nblocks; i++) {
		uint64_t stop = i + 1 < w->nblocks ? w->blocks[i + 1] : p->end;
		bool ran = at < end && w->pcs[at] < stop;
		while (at < end && w->pcs[at] < stop)
			at++;
		if (all || ran)
			ok = store_insert(w->store, e, "block", "iiii", w->first_block + (int64_t)i,
					  w->function, (int64_t)w->blocks[i], (int64_t)stop);
	}
	w->next_block += (int64_t)w->nblocks;
	return ok;
}

/* The row of a function that begins here: the one that it had, or a new one. */
static int64_t row_of(struct names *w, uint64_t start)
{
	const size_t after = ARRAY_SEARCH(w->nkept, i, w->kept[i].start <= start);

	return after && w->kept[after - 1].start == start ? w->kept[after - 1].id
							  : w->next_function++;
}

/* Writes the function that holds pcs[at]; returns the index of the first pc after it, or SIZE_MAX.
 */
static size_t put_function(struct names *w, size_t at, struct err *e)
{
	struct place p = place_of(w, w->pcs[at]);
	const char *file = NULL;
	int line = 0;
	size_t end = at + 1, next = at;
	int64_t time = w->units[at];
	unsigned len;
	while (end < w->count && w->pcs[end] < p.end)
		time += w->units[end++];
	if (!w->stopped)
		images_declared(w->images, w->pcs[at], &file, &line);
	w->function = row_of(w, p.start);
	if (w->graphs_from >= 0 && time >= w->graphs_from && p.image != SIZE_MAX)
		*ARRAY_ADD(w->graphed, w->ngraphed) =
		    (struct names_function){ w->function, p.start, p.end };
	bool ok = store_insert(
	    w->store, e, "function", "iisiisi", w->function,
	    p.image == SIZE_MAX ? (int64_t)-1 : w->first_image + (int64_t)p.image, p.function,
	    (int64_t)p.start, (int64_t)p.end, file ? file : p.file, line_of(line));
	w->nblocks = w->stopped ? 0 : images_blocks(w->images, w->pcs[at], &w->blocks);
	w->first_block = w->next_block;
	ok = ok && put_blocks(w, at, end, &p, e);
	struct image_inst first;
	bool whole = p.image != SIZE_MAX && (uint64_t)time >= w->total / 2000 &&
		     images_inst(w->images, p.start, &first) &&
		     take_spare(w, (p.end - p.start) / 2);
	for (uint64_t pc = p.start; ok && whole && pc < p.end && images_inst(w->images, pc, &first);
	     pc += len) {
		/* code that jumps into the middle of an instruction has more than one reading */
		for (; ok && next < end && w->pcs[next] < pc; next++)
			ok = put_instruction(w, w->pcs[next], &len, e);
		next += next < end && w->pcs[next] == pc;
		ok = ok && put_instruction(w, pc, &len, e);
	}
	for (; ok && next < end; next++)
		ok = put_instruction(w, w->pcs[next], &len, e);
	return ok ? end : SIZE_MAX;
}

struct names *names_new(struct store *store, const struct names_options *o)
{
	struct names *w = x_calloc(1, sizeof(*w));

	w->store = store;
	w->stop = o->stop;
	w->jumps = o->jumps;
	w->total = o->total;
	w->graphs_from = o->graphs_from;
	w->next_function = o->first_function;
	w->next_block = o->first_block;
	w->kept = o->kept;
	w->nkept = o->nkept;
	w->spare = SPARE_ROWS;
	return w;
}

bool names_add(struct names *w, struct images *images, int64_t first_image, struct names_pc *pcs,
	       size_t count, struct err *e)
{
	bool ok = true;

	take_pcs(w, pcs, count);
	w->images = images;
	w->first_image = first_image;
	w->spare += SPARE_ROWS_FOR_ONE * (uint64_t)w->count;
	for (size_t i = 0; ok && i < w->count;) {
		i = put_function(w, i, e);
		ok = i != SIZE_MAX;
	}
	if (ok && w->ngraphed && !is_stopped(w))
		ok = names_graph_write(w->store, images, w->graphed, w->ngraphed, e);
	free(w->graphed);
	w->graphed = NULL;
	w->ngraphed = 0;
	free(w->pcs);
	free(w->units);
	return ok;
}

void names_free(struct names *w)
{
	free(w);
}

bool names_put_images(struct store *store, const struct images *images, int64_t first,
		      struct err *e)
{
	bool ok = true;

	for (size_t i = 0; ok && i < images_count(images); i++) {
		struct image_info im = images_info(images, i);
		ok =
		    store_insert(store, e, "image", "isssiii", first + (int64_t)i, im.path, im.name,
				 im.build_id, (int64_t)im.start, (int64_t)im.end, (int64_t)im.bias);
	}
	return ok;
}

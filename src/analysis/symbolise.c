/* SPDX-License-Identifier: MIT */
/*
 * Turns addresses into names once, when the run is over. All that a view shows is then in the
 * store, so that a profile can be read where the binaries are not.
 */
#include "analysis/symbolise.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "isa/isa.h"
#include "trace/analysis.h"
#include "util/array.h"

struct work {
	struct store *store;
	struct images *images;
	uint64_t *pcs;	/* sorted, unique */
	int64_t *units; /* golden time of each */
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
};

/* Limits for showing functions whole, whatever sizes a binary claims: SPARE_ROWS rows for
 * instructions that were not executed, and SPARE_ROWS_FOR_ONE more for each that was. */
#define SPARE_ROWS	   65536
#define SPARE_ROWS_FOR_ONE 64

struct timed_pc {
	uint64_t pc;
	int64_t units;
};

static int by_pc(const void *a, const void *b)
{
	uint64_t x = ((const struct timed_pc *)a)->pc, y = ((const struct timed_pc *)b)->pc;
	return (x > y) - (x < y);
}

/* The query for all rows of the tables that analyses declare, with their times. */
static char *select_pcs(void)
{
	char *sql = x_strdup("");
	for (size_t i = 0; analysis_list[i]; i++)
		for (const struct analysis_table *t = analysis_list[i]->tables; t && t->name; t++) {
			char *longer =
			    x_asprintf("%s%sSELECT pc, %s FROM %s", sql, *sql ? " UNION ALL " : "",
				       t->time ? t->time : "0", t->name);
			free(sql);
			sql = longer;
		}
	return sql;
}

/* Reads all addresses, sorts them and adds up their times. Sorted here because the tables are
 * already sorted runs: SQLite's GROUP BY took a fifth of the time after the last record. */
static bool read_pcs(struct work *w, struct err *e)
{
	struct timed_pc *all = NULL;
	size_t capacity = 0, n = 0;
	char *sql = select_pcs();
	struct store_rows r = store_query(w->store, sql, "");
	while (store_next(&r)) {
		ARRAY_ROOM(all, capacity, n + 1);
		all[n] = (struct timed_pc){ (uint64_t)store_int(&r, 0), store_int(&r, 1) };
		n += all[n].pc != 0;
	}
	free(sql);
	if (n)
		qsort(all, n, sizeof(*all), by_pc);
	w->pcs = x_malloc((n + 1) * sizeof(*w->pcs));
	w->units = x_malloc((n + 1) * sizeof(*w->units));
	for (size_t i = 0; i < n; i++) {
		if (!w->count || w->pcs[w->count - 1] != all[i].pc) {
			w->pcs[w->count] = all[i].pc;
			w->units[w->count++] = 0;
		}
		w->units[w->count - 1] += all[i].units;
		w->total += (uint64_t)all[i].units;
	}
	free(all);
	return store_done(&r, e);
}

static struct place place_of(struct work *w, uint64_t pc)
{
	w->stopped = w->stopped || (w->stop && w->stop());
	return w->stopped ? (struct place){ .image = SIZE_MAX,
					    .function = "[unknown]",
					    .start = pc,
					    .end = pc }
			  : images_place(w->images, pc);
}

/* Disassembles; direct targets are followed by their symbol. */
static void text_of(struct work *w, const struct inst *in, uint64_t pc, char *buf,
		    size_t size_bytes)
{
	isa_disasm(in, pc, DISASM_ALIASES, buf, size_bytes);
	if (in->op == OP_ILLEGAL || !(op_info[in->op].flags & OPF_CTRL) || isa_is_indirect(in))
		return;
	uint64_t target = pc + (uint64_t)(int64_t)in->imm;
	struct place p = place_of(w, target);
	size_t n = strlen(buf);
	if (p.image == SIZE_MAX)
		return;
	if (target == p.start)
		snprintf(buf + n, size_bytes - n, " <%s>", p.function);
	else
		snprintf(buf + n, size_bytes - n, " <%s+0x%" PRIx64 ">", p.function,
			 target - p.start);
}

static int64_t block_of(const struct work *w, uint64_t pc)
{
	const size_t after = ARRAY_SEARCH(w->nblocks, i, w->blocks[i] <= pc);
	return after ? w->first_block + (int64_t)after - 1 : w->first_block;
}

/* Line numbers come from a file and may be anything. */
static int64_t line_of(int line)
{
	return line > 0 ? line : 0;
}

static bool put_instruction(struct work *w, uint64_t pc, unsigned *len, struct err *e)
{
	struct place p = place_of(w, pc);
	struct inline_frame frames[16];
	char text[160] = "";
	uint32_t word = 0;
	const char *cls = NULL;
	*len = 2;
	if (!w->stopped && images_word(w->images, pc, &word)) {
		struct inst in = isa_decode(word);
		*len = in.len;
		text_of(w, &in, pc, text, sizeof(text));
		word = in.word;
		cls = in.op == OP_ILLEGAL ? NULL : op_class_name[op_info[in.op].cls];
	}
	bool ok = store_insert(w->store, e, "instruction", "iiiissis", (int64_t)pc, w->function,
			       block_of(w, pc), (int64_t)word, text, p.file, line_of(p.line), cls);
	size_t n = w->stopped ? 0 : images_inlined(w->images, pc, frames, ARRAY_LEN(frames));
	for (size_t i = 0; ok && i < n; i++)
		ok = store_insert(w->store, e, "inlined", "iissi", (int64_t)pc, (int64_t)i,
				  frames[i].function, frames[i].file, line_of(frames[i].line));
	return ok;
}

static bool take_spare(struct work *w, uint64_t rows)
{
	if (rows > w->spare)
		return false;
	w->spare -= rows;
	return true;
}

/* Writes the blocks of a function: all, or, if there are too many, those with an executed
 * instruction. */
static bool put_blocks(struct work *w, size_t at, size_t end, const struct place *p, struct err *e)
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

/* Writes the function that holds pcs[at]; returns the index of the first pc after it, or SIZE_MAX.
 */
static size_t put_function(struct work *w, size_t at, struct err *e)
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
	w->function = w->next_function++;
	bool ok =
	    store_insert(w->store, e, "function", "iisiisi", w->function,
			 p.image == SIZE_MAX ? (int64_t)-1 : (int64_t)p.image, p.function,
			 (int64_t)p.start, (int64_t)p.end, file ? file : p.file, line_of(line));
	w->nblocks = w->stopped ? 0 : images_blocks(w->images, w->pcs[at], &w->blocks);
	w->first_block = w->next_block;
	ok = ok && put_blocks(w, at, end, &p, e);
	bool whole = p.image != SIZE_MAX && (uint64_t)time >= w->total / 2000 &&
		     take_spare(w, (p.end - p.start) / 2);
	for (uint64_t pc = p.start; ok && whole && pc < p.end; pc += len) {
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

bool symbolise(struct store *store, struct images *images, bool (*stop)(void), struct err *e)
{
	struct work w = { .store = store, .images = images, .stop = stop };
	bool ok = read_pcs(&w, e);
	w.spare = SPARE_ROWS + SPARE_ROWS_FOR_ONE * (uint64_t)w.count;
	for (size_t i = 0; ok && i < images_count(images); i++) {
		struct image_info im = images_info(images, i);
		ok =
		    store_insert(store, e, "image", "isssiii", (int64_t)i, im.path, im.name,
				 im.build_id, (int64_t)im.start, (int64_t)im.end, (int64_t)im.bias);
	}
	for (size_t i = 0; ok && i < w.count;) {
		i = put_function(&w, i, e);
		ok = i != SIZE_MAX;
	}
	free(w.pcs);
	free(w.units);
	return ok;
}

/* SPDX-License-Identifier: MIT */
/*
 * Committed instructions as comma-separated values:
 *
 *      cycle,instruction,thread,pc,word
 *      1042,318,1000,0x1056a,0x00b50533
 *
 * or the fields of a brief record that are asked for.
 *
 * Numbers are written by hand: this is one of the three modes whose slowdown is measured against
 * tracedoctor2023 figure C.3, and printf alone would cost more than the run.
 */
#include "trace/export.h"

#include <stdlib.h>
#include <string.h>

#include "trace/export_file.h"
#include "trace/turns.h"
#include "isa/isa.h"
#include "util/array.h"
#include "util/nearest.h"
#include "words/words.h"

static const char heading[] = "cycle,instruction,thread,pc,word\n";

/* The fields that a line can have (--param csv-fields): those of a brief record. */
enum field { CYCLE, INSTRUCTION, THREAD, PC, WORD, FETCH, TARGET, EVENTS, CLASS, FIELDS };
static const char *const field_names[FIELDS] = { "cycle", "instruction", "thread", "pc",   "word",
						 "fetch", "target",	 "events", "class" };

/* The text of a number without its last two digits: the next number seldom changes it. */
struct number {
	uint64_t hundreds; /* the number that the text stands for, times 100; 0: none */
	size_t size;	   /* of the text */
	char text[20];
};

/* The end of every line of a static instruction in one thread. */
struct ending {
	uint64_t pc;
	uint32_t word;
	uint32_t tid;
	uint16_t size; /* 0: unused */
	char text[46]; /* ",", 10 digits, ",0x", 16 digits, ",0x", 8 digits, line end: 42 */
};
_Static_assert(sizeof(struct ending) == 64, "a cache line");
#define ENDINGS	   4096			    /* a power of two */
#define LINE_BYTES (2 * (20 + 1) + 20 + 48) /* with the bytes that are copied beyond its end */
_Static_assert(LINE_BYTES <= EXPORT_LINE_BYTES, "a line fits");
#define AHEAD 16 /* how many records ahead to prefetch */

struct lines {
	struct number cycle, po;
	struct ending *endings; /* by pc */
	/* The beginning of all endings of a thread: ",", 10 digits, ",0x". */
	uint32_t tid, begin_size; /* 0: none yet */
	char begin[16];
};

struct csv {
	struct export_file file;
	struct lines lines;
	enum field fields[FIELDS]; /* if they were chosen */
	size_t nfields;		   /* 0: those of the heading */
	/* Shards make the lines of their batches; the first has the file. */
	struct csv *first;  /* NULL: there are no shards */
	struct turn now;    /* its text */
	struct turns turns; /* the first's */
	bool has_turns;
};

static const char pairs[] = "0001020304050607080910111213141516171819"
			    "2021222324252627282930313233343536373839"
			    "4041424344454647484950515253545556575859"
			    "6061626364656667686970717273747576777879"
			    "8081828384858687888990919293949596979899";

static char *put_decimal(char *p, uint64_t v)
{
	char digits[20];
	unsigned at = sizeof(digits);
	while (v >= 100) {
		at -= 2;
		memcpy(digits + at, pairs + 2 * (v % 100), 2);
		v /= 100;
	}
	if (v >= 10) {
		at -= 2;
		memcpy(digits + at, pairs + 2 * v, 2);
	} else {
		digits[--at] = (char)('0' + v);
	}
	memcpy(p, digits + at, sizeof(digits) - at);
	return p + sizeof(digits) - at;
}

/* Eight hexadecimal digits, the first in the lowest byte. */
static uint64_t hex_digits(uint32_t v)
{
	uint64_t x = v;
	x = (x << 16 | x) & 0x0000ffff0000ffff;
	x = (x << 8 | x) & 0x00ff00ff00ff00ff;
	x = (x << 4 | x) & 0x0f0f0f0f0f0f0f0f;
	const uint64_t letters = (x + 0x0606060606060606) >> 4 & 0x0101010101010101;
	return __builtin_bswap64(x + 0x3030303030303030 + letters * ('a' - '9' - 1));
}

/* Writes hexadecimal digits, eight bytes at a time: there must be room for seven more. */
static inline char *put_hex32(char *p, uint32_t v)
{
	const unsigned digits = (35u - (unsigned)__builtin_clz(v | 1)) / 4;
	const uint64_t text = hex_digits(v) >> (64 - 8 * digits);
	memcpy(p, &text, 8);
	return p + digits;
}

static inline char *put_hex(char *p, uint64_t v)
{
	const uint64_t low = hex_digits((uint32_t)v);
	if (likely(!(v >> 32)))
		return put_hex32(p, (uint32_t)v);
	p = put_hex32(p, (uint32_t)(v >> 32));
	memcpy(p, &low, 8);
	return p + 8;
}

/* Writes a number whose text but for the last two digits has changed; rare. */
static __attribute__((noinline)) char *put_other(char *p, struct number *n, uint64_t v)
{
	n->hundreds = v - v % 100;
	if (n->hundreds)
		n->size = (size_t)(put_decimal(n->text, v / 100) - n->text);
	return put_decimal(p, v);
}

/* Writes a number. It copies the longest possible text, because the compiler does not know the
 * length. */
static inline char *put_number(char *p, struct number *n, uint64_t v)
{
	const uint64_t rest = v - n->hundreds;
	if (unlikely(rest >= 100 || !n->hundreds))
		return put_other(p, n, v);
	memcpy(p, n->text, sizeof(n->text));
	p += n->size;
	memcpy(p, pairs + 2 * rest, 2);
	return p + 2;
}

static void set_begin(struct lines *c, uint32_t tid)
{
	char *p = c->begin;
	*p++ = ',';
	p = put_decimal(p, tid);
	memcpy(p, ",0x", 3);
	c->begin_size = (uint32_t)(p + 3 - c->begin);
	c->tid = tid;
}

static void set_ending(struct lines *c, struct ending *t, const struct rec_inst *r)
{
	char *p = t->text;
	if (unlikely(c->tid != r->tid || !c->begin_size))
		set_begin(c, r->tid);
	memcpy(p, c->begin, sizeof(c->begin));
	p = put_hex(p + c->begin_size, r->pc);
	memcpy(p, ",0x", 3);
	p = put_hex32(p + 3, r->word);
	*p++ = '\n';
	t->pc = r->pc;
	t->word = r->word;
	t->tid = r->tid;
	t->size = (uint16_t)(p - t->text);
}

static inline char *put_line(struct lines *c, char *p, const struct rec_inst *r)
{
	struct ending *end = &c->endings[r->pc >> 1 & (ENDINGS - 1)];
	if (unlikely(end->pc != r->pc || end->word != r->word || end->tid != r->tid || !end->size))
		set_ending(c, end, r);
	p = put_number(p, &c->cycle, r->fetch + r->commit);
	*p++ = ',';
	p = put_number(p, &c->po, r->po);
	memcpy(p, end->text, sizeof(end->text));
	return p + end->size;
}

static char *put_text(char *p, const char *text)
{
	const size_t n = strlen(text);
	memcpy(p, text, n);
	return p + n;
}

static char *put_events(char *p, uint32_t events)
{
	for (unsigned b = 0, n = 0; b < EVENT_COUNT; b++) {
		if (!(events >> b & 1))
			continue;
		if (n++)
			*p++ = '+';
		p = put_text(p, words_events[b].name);
	}
	return p;
}

/* A line of chosen fields; without what put_line() remembers. */
static char *put_chosen(const struct csv *c, char *p, const struct rec_inst *r)
{
	for (size_t i = 0; i < c->nfields; i++) {
		switch (c->fields[i]) {
		case CYCLE:
			p = put_decimal(p, r->fetch + r->commit);
			break;
		case INSTRUCTION:
			p = put_decimal(p, r->po);
			break;
		case THREAD:
			p = put_decimal(p, r->tid);
			break;
		case PC:
			p = put_hex(put_text(p, "0x"), r->pc);
			break;
		case WORD:
			p = put_hex32(put_text(p, "0x"), r->word);
			break;
		case FETCH:
			p = put_decimal(p, r->fetch);
			break;
		case TARGET:
			p = put_hex(put_text(p, "0x"), r->target);
			break;
		case EVENTS:
			p = put_events(p, r->psv);
			break;
		case CLASS:
			p = put_text(p, r->cls < CLASS_COUNT ? op_class_name[r->cls] : "?");
			break;
		case FIELDS:
			break;
		}
		*p++ = i + 1 < c->nfields ? ',' : '\n';
	}
	return p;
}

static enum field find_field(const char *name, size_t bytes)
{
	enum field f = 0;
	while (f < FIELDS &&
	       (strlen(field_names[f]) != bytes || memcmp(field_names[f], name, bytes)))
		f++;
	return f;
}

/* Reads names with commas between. */
static bool choose_fields(struct csv *c, const char *list, struct err *e)
{
	for (const char *at = list, *end; at; at = *end ? end + 1 : NULL) {
		end = at + strcspn(at, ",");
		const enum field f = find_field(at, (size_t)(end - at));
		char *word = x_strndup(at, (size_t)(end - at));
		struct nearest near = { .word = word };
		for (size_t i = 0; i < FIELDS; i++)
			nearest_try(&near, field_names[i]);
		if (f == FIELDS)
			err_set(e, "csv-fields: there is no field '%s'; the nearest is '%s'", word,
				near.best);
		else if (c->nfields == FIELDS)
			err_set(e, "csv-fields: more than %d fields", FIELDS);
		free(word);
		if (f == FIELDS || c->nfields == FIELDS)
			return false;
		c->fields[c->nfields++] = f;
	}
	return true;
}

static bool put_heading(struct csv *c, struct err *e)
{
	char text[EXPORT_LINE_BYTES], *p = text;
	if (!c->nfields)
		return export_file_text(&c->file, heading, strlen(heading), e);
	for (size_t i = 0; i < c->nfields; i++) {
		p = put_text(p, field_names[c->fields[i]]);
		*p++ = i + 1 < c->nfields ? ',' : '\n';
	}
	return export_file_text(&c->file, text, (size_t)(p - text), e);
}

static struct ending *new_endings(void)
{
	struct ending *all = x_aligned(ENDINGS * sizeof(*all));
	memset(all, 0, ENDINGS * sizeof(*all));
	return all;
}

bool export_is_csv(const uint8_t *head, size_t size, const char *path)
{
	/* A line of names of fields. */
	size_t at = 0;
	for (;;) {
		size_t end = at;
		while (end < size && head[end] >= 'a' && head[end] <= 'z')
			end++;
		if (end == size || find_field((const char *)head + at, end - at) == FIELDS)
			return false;
		if (head[end] == '\n')
			return true;
		if (head[end] != ',')
			return false;
		at = end + 1;
	}
}

static const struct output_kind csv_kind = {
	.what = "a table that culprit wrote",
	.option = "--param csv=FILE",
	.is = export_is_csv,
};

static bool csv_start(void *state, const struct trace_meta *meta, const struct analysis_options *o,
		      struct err *e)
{
	struct csv *c = state;
	const char *fields = analysis_given(o, "csv-fields");
	if (fields && !choose_fields(c, fields, e))
		return false;
	if (o->shards > 1)
		c->first = o->first ? o->first : c;
	if (o->first) {
		c->lines.endings = new_endings();
		return true;
	}
	turns_init(&c->turns);
	c->has_turns = true;
	char *path = analysis_path(o, "csv", "csv");
	bool opened = export_file_open(&c->file, path, &csv_kind, e);
	bool ok = opened && put_heading(c, e);
	free(path);
	if (ok)
		c->lines.endings = new_endings();
	else if (opened)
		export_file_free(&c->file);
	return ok;
}

static inline char *put_any(struct csv *c, char *p, const struct rec_inst *r)
{
	return likely(!c->nfields) ? put_line(&c->lines, p, r) : put_chosen(c, p, r);
}

/* Makes the lines of a shard's batch. */
static void add_lines(struct csv *c, const struct rec_inst *insts, size_t count)
{
	char *text = c->now.data;
	const size_t line = c->nfields ? EXPORT_LINE_BYTES : LINE_BYTES;
	ARRAY_ROOM(text, c->now.capacity, c->now.used + count * line + EXPORT_LINE_BYTES);
	char *p = text + c->now.used;
	for (size_t i = 0; i < count; i++)
		if (insts[i].flags & RI_COMMITTED)
			p = put_any(c, p, &insts[i]);
	c->now.data = text;
	c->now.used = (size_t)(p - text);
}

static bool write_lines(void *ctx, const struct turn *turn, struct err *e)
{
	struct csv *first = ctx;
	return export_file_text(&first->file, turn->data, turn->used, e);
}

static bool csv_turn(void *state, uint64_t index, struct err *e)
{
	struct csv *c = state;
	return turns_bring(&c->first->turns, index, &c->now, write_lines, c->first, e);
}

/* All that a shard made is in the file already. */
static bool csv_merge(void *into, void *from, struct err *e)
{
	(void)into;
	(void)from;
	(void)e;
	return true;
}

static bool csv_insts(void *state, const struct rec_inst *insts, size_t count, struct err *e)
{
	struct csv *c = state;
	if (c->first) {
		add_lines(c, insts, count);
		return true;
	}
	char *p = c->file.buffer + c->file.used;
	for (size_t i = 0; i < count; i++) {
		__builtin_prefetch(&insts[i + AHEAD]);
		if (!(insts[i].flags & RI_COMMITTED))
			continue;
		if (unlikely(p >= c->file.buffer + EXPORT_BUFFER_BYTES)) {
			c->file.used = (size_t)(p - c->file.buffer);
			if (!export_file_spill(&c->file, e))
				return false;
			p = c->file.buffer + c->file.used;
		}
		p = put_any(c, p, &insts[i]);
	}
	c->file.used = (size_t)(p - c->file.buffer);
	return true;
}

static bool csv_finish(void *state, struct store *store, struct err *e)
{
	struct csv *c = state;
	return export_file_finish(&c->file, e);
}

static void csv_free(void *state)
{
	struct csv *c = state;
	export_file_free(&c->file);
	free(c->lines.endings);
	free(c->now.data);
	if (c->has_turns)
		turns_free(&c->turns);
}

const struct analysis csv_analysis = {
	.name = "csv",
	.summary = "committed instructions with their cycles, as text (--param csv=FILE)",
	.wants = WANT_INSTS | WANT_BRIEF,
	.params =
	    (const struct analysis_param[]){
		{ "csv", "the file to write", false, { 0 } },
		{ "csv-fields",
		  "its columns, with commas between, of cycle, instruction, thread, pc, "
		  "word (the default), fetch, target, events, class",
		  false,
		  { 0 } },
		{ .name = NULL } },
	.writes_file = true,
	.state_size = sizeof(struct csv),
	.start = csv_start,
	.insts = csv_insts,
	.merge = csv_merge,
	.turn = csv_turn,
	.finish = csv_finish,
	.free = csv_free,
};

bool export_csv(FILE *out, const struct trace_info *info, const struct window_records *w)
{
	struct lines lines = { .endings = new_endings() };
	char line[EXPORT_LINE_BYTES];
	fputs(heading, out);
	for (size_t i = 0; i < w->ninsts; i++)
		if (w->insts[i].flags & RI_COMMITTED)
			/* cppcheck-suppress legacyUninitvar ; put_line() writes it first */
			fwrite(line, 1, (size_t)(put_line(&lines, line, &w->insts[i]) - line), out);
	free(lines.endings);
	return !ferror(out);
}

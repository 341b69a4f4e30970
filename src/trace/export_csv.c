/* SPDX-License-Identifier: MIT */
/*
 * Committed instructions as comma-separated values:
 *
 *      cycle,instruction,thread,pc,word
 *      1042,318,1000,0x1056a,0x00b50533
 *
 * Numbers are written by hand: this is one of the three modes whose slowdown is measured against
 * tracedoctor2023 figure C.3, and printf alone would cost more than the run.
 */
#include "trace/export.h"

#include <stdlib.h>
#include <string.h>

#include "trace/export_file.h"

static const char heading[] = "cycle,instruction,thread,pc,word\n";

/* A number as text. Those of one line are mostly a little more than those of the line before. */
struct number {
	uint64_t value;
	uint32_t size;
	char text[20];
};

/* What every line of a static instruction ends with. */
struct ending {
	uint64_t pc;
	uint32_t word;
	uint32_t size; /* 0: unused */
	char text[32]; /* ",0x", 16 digits, ",0x", 8 digits, line end */
};
#define ENDINGS	   4096 /* a power of two */
#define LINE_BYTES (3 * 21 + 32)
_Static_assert(LINE_BYTES <= EXPORT_LINE_BYTES, "a line fits");

struct lines {
	struct number cycle, po, tid;
	struct ending *endings; /* by pc */
};

struct csv {
	struct export_file file;
	struct lines lines;
};

static char *put_decimal(char *p, uint64_t v)
{
	static const char pairs[] = "0001020304050607080910111213141516171819"
				    "2021222324252627282930313233343536373839"
				    "4041424344454647484950515253545556575859"
				    "6061626364656667686970717273747576777879"
				    "8081828384858687888990919293949596979899";
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

static char *put_hex(char *p, uint64_t v)
{
	unsigned digits = v ? (67u - (unsigned)__builtin_clzll(v)) / 4 : 1;
	*p++ = '0';
	*p++ = 'x';
	for (unsigned i = digits; i-- > 0; v >>= 4)
		p[i] = "0123456789abcdef"[v & 15];
	return p + digits;
}

static void set_number(struct number *n, uint64_t v)
{
	const uint64_t more = v - n->value;
	if (!more && n->size)
		return;
	n->value = v;
	if (more < 10 && n->size) {
		char *p = n->text + n->size - 1;
		*p = (char)(*p + more);
		while (*p > '9' && p > n->text) {
			*p = (char)(*p - 10);
			++*--p;
		}
		if (*p <= '9')
			return;
	}
	n->size = (uint32_t)(put_decimal(n->text, v) - n->text);
}

/* Copies as much as there can be: the length of what counts is not known to the compiler. */
static char *put_number(char *p, struct number *n, uint64_t v)
{
	set_number(n, v);
	memcpy(p, n->text, sizeof(n->text));
	return p + n->size;
}

static const struct ending *ending_of(struct lines *c, const struct rec_inst *r)
{
	struct ending *t = &c->endings[r->pc >> 1 & (ENDINGS - 1)];
	if (likely(t->size && t->pc == r->pc && t->word == r->word))
		return t;
	char *p = t->text;
	*p++ = ',';
	p = put_hex(p, r->pc);
	*p++ = ',';
	p = put_hex(p, r->word);
	*p++ = '\n';
	t->pc = r->pc;
	t->word = r->word;
	t->size = (uint32_t)(p - t->text);
	return t;
}

static char *put_line(struct lines *c, char *p, const struct rec_inst *r)
{
	const struct ending *end = ending_of(c, r);
	p = put_number(p, &c->cycle, r->fetch + r->commit);
	*p++ = ',';
	p = put_number(p, &c->po, r->po);
	*p++ = ',';
	p = put_number(p, &c->tid, r->tid);
	memcpy(p, end->text, sizeof(end->text));
	return p + end->size;
}

static bool csv_start(void *state, const struct trace_meta *meta, const struct analysis_options *o,
		      struct err *e)
{
	struct csv *c = state;
	const char *param = analysis_param(o, "csv");
	char *path = param ? x_strdup(param) : x_asprintf("%s.csv", o->stem ? o->stem : "culprit");
	bool ok = export_file_open(&c->file, path, e) &&
		  export_file_text(&c->file, heading, strlen(heading), e);
	free(path);
	c->lines.endings = x_calloc(ENDINGS, sizeof(struct ending));
	return ok;
}

static bool csv_insts(void *state, const struct rec_inst *insts, size_t count, struct err *e)
{
	struct csv *c = state;
	for (size_t i = 0; i < count; i++) {
		if (!(insts[i].flags & RI_COMMITTED))
			continue;
		char *line = export_file_line(&c->file, e);
		if (!line)
			return false;
		c->file.used += (size_t)(put_line(&c->lines, line, &insts[i]) - line);
	}
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
}

const struct analysis csv_analysis = {
	.name = "csv",
	.summary = "committed instructions with their cycles, as text (--param csv=FILE)",
	.wants = WANT_INSTS | WANT_BRIEF,
	.state_size = sizeof(struct csv),
	.start = csv_start,
	.insts = csv_insts,
	.finish = csv_finish,
	.free = csv_free,
};

bool export_csv(FILE *out, const struct trace_info *info, const struct window_records *w)
{
	struct lines lines = { .endings = x_calloc(ENDINGS, sizeof(struct ending)) };
	char line[EXPORT_LINE_BYTES];
	fputs(heading, out);
	for (size_t i = 0; i < w->ninsts; i++)
		if (w->insts[i].flags & RI_COMMITTED)
			fwrite(line, 1, (size_t)(put_line(&lines, line, &w->insts[i]) - line), out);
	free(lines.endings);
	return !ferror(out);
}

/* SPDX-License-Identifier: MIT */
/*
 * Files of basic block vectors, .bb and .bb.gz, and the way from vectors to rows.
 *
 * The grammar is what SimPoint reads and valgrind's exp-bbv and other simulators write:
 *
 *	T:45:1024 :189:99634
 *
 * is an interval in which block 45 executed 1,024 instructions and block 189 the others. Space between
 * the parts and at the end of a line is free; blank lines and lines that begin with # are skipped.
 * "#D:1:count :2:count …" after a line is its data part (bb.h), which other tools take for a comment.
 *
 * A file is read byte by byte and never held, so its size and the length of its lines do not matter;
 * an interval has a limit (BB_PARTS_MAX), and so has their number. zlib reads both forms. A file
 * whose last line has no end was cut short.
 */
#include "sampling/bb.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "util/array.h"
#include "util/output.h"
#include "util/text.h"

#define BUFFER_BYTES (64u << 10)

/* ---- reading ---- */

struct reader {
	gzFile file;
	char *shown; /* the file's name */
	unsigned char buffer[BUFFER_BYTES];
	int used, at;
	bool failed; /* zlib could not go on */
	uint64_t line;
	struct bb_part *parts;
	size_t capacity;
	struct bb_interval interval; /* the last one read; not yet taken if it has instructions */
	uint64_t data[BB_DATA];
	uint64_t count;
};

/* The next byte, or -1. */
static int next_byte(struct reader *r)
{
	if (r->at == r->used) {
		r->at = 0;
		r->used = gzread(r->file, r->buffer, sizeof(r->buffer));
		if (r->used <= 0) {
			int why = Z_OK;

			/* A compressed file that was cut short ends like a whole one, but for this. */
			gzerror(r->file, &why);
			r->failed = r->used < 0 || why != Z_OK;
			r->used = 0;
			return -1;
		}
	}
	return r->buffer[r->at++];
}

static bool bad(const struct reader *r, struct err *e, const char *what)
{
	if (r->failed)
		return err_set(e, "%s cannot be read beyond line %llu: it is damaged or cut short",
			       r->shown, (unsigned long long)r->line);
	return err_set(e, "%s, line %llu: %s", r->shown, (unsigned long long)r->line, what);
}

/* A number that begins with byte c; *after is the byte behind it. */
static bool read_number(struct reader *r, int c, uint64_t *out, int *after, struct err *e)
{
	uint64_t n = 0;

	if (c < '0' || c > '9')
		return bad(r, e, "not \"T:block:instructions :block:instructions …\"");
	for (; c >= '0' && c <= '9'; c = next_byte(r))
		if (__builtin_mul_overflow(n, 10u, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(c - '0'), &n))
			return bad(r, e, "a number is beyond 64 bits");
	*out = n;
	*after = c;
	return true;
}

static bool is_space(int c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* The next ":id:count" of a line, c being the byte before it. *end: there is none. */
static bool read_part(struct reader *r, int *c, struct bb_part *out, bool *end, struct err *e)
{
	while (is_space(*c))
		*c = next_byte(r);
	*end = *c == '\n';
	if (*end)
		return true;
	if (*c == -1)
		return bad(r, e, "the line does not end: the file is cut short");
	if (*c != ':')
		return bad(r, e, "not \"T:block:instructions :block:instructions …\"");
	if (!read_number(r, next_byte(r), &out->block, c, e))
		return false;
	if (*c != ':')
		return bad(r, e, "a block without its instructions");
	return read_number(r, next_byte(r), &out->insts, c, e);
}

static bool read_vector(struct reader *r, struct err *e)
{
	struct bb_interval *v = &r->interval;
	int c = next_byte(r);
	bool end = false;

	*v = (struct bb_interval){ 0 };
	for (;;) {
		struct bb_part part;

		if (!read_part(r, &c, &part, &end, e))
			return false;
		if (end)
			break;
		if (part.block == 0)
			return bad(r, e, "block 0: blocks are numbered from 1");
		if (v->count == BB_PARTS_MAX)
			return bad(r, e, "more blocks than any interval has");
		if (__builtin_add_overflow(v->insts, part.insts, &v->insts))
			return bad(r, e, "the instructions of the interval are beyond 64 bits");
		ARRAY_ROOM(r->parts, r->capacity, v->count + 1);
		r->parts[v->count++] = part;
	}
	v->parts = r->parts;
	if (v->insts == 0)
		return bad(r, e, "an interval without instructions");
	if (++r->count > BB_INTERVALS_MAX)
		return bad(r, e, "more intervals than any run has");
	return true;
}

static bool read_data(struct reader *r, int c, struct err *e)
{
	for (unsigned k = 0;; k++) {
		struct bb_part part;
		bool end;

		if (!read_part(r, &c, &part, &end, e))
			return false;
		if (end && k == BB_DATA)
			break;
		if (end || k == BB_DATA || part.block != k + 1)
			return bad(r, e, "a data part that this culprit does not know");
		r->data[k] = part.insts;
	}
	if (r->interval.insts == 0 || r->interval.data)
		return bad(r, e, "a data part without its interval");
	r->interval.data = r->data;
	return true;
}

static bool read_comment(struct reader *r, struct err *e)
{
	int c = next_byte(r);

	if (c == 'D' && (c = next_byte(r)) == ':')
		return read_data(r, c, e);
	while (c != '\n' && c != -1)
		c = next_byte(r);
	return !r->failed || bad(r, e, "");
}

static bool read_lines(struct reader *r, bb_take *take, void *ctx, struct err *e)
{
	int c;

	for (r->line = 1; (c = next_byte(r)) != -1; r->line++) {
		while (is_space(c))
			c = next_byte(r);
		if (c == '\n')
			continue;
		if (c == 'T') {
			if (r->interval.insts && !take(ctx, &r->interval, e))
				return false;
			if (!read_vector(r, e))
				return false;
		} else if (c == '#') {
			if (!read_comment(r, e))
				return false;
		} else {
			return bad(r, e, "not \"T:block:instructions :block:instructions …\"");
		}
	}
	if (r->failed)
		return bad(r, e, "");
	if (r->count == 0)
		return err_set(e, "%s has no interval", r->shown);
	return take(ctx, &r->interval, e);
}

bool bb_read(const char *path, bb_take *take, void *ctx, struct err *e)
{
	char *shown = text_shown(path);
	errno = 0;
	gzFile file = gzopen(path, "rbe");
	bool ok;

	if (!file) {
		err_set(e, "cannot open %s: %s", shown, strerror(errno ? errno : ENOMEM));
		free(shown);
		return false;
	}
	struct reader *r = x_calloc(1, sizeof(*r));
	r->file = file;
	r->shown = shown;
	errno = 0;
	ok = read_lines(r, take, ctx, e);
	gzclose_r(file);
	free(r->parts);
	free(r->shown);
	free(r);
	return ok;
}

/* ---- rows ---- */

/* Blocks up to this number keep their coefficients: making them anew for every interval takes three
 * times as long as adding them. */
#define KEPT_BLOCKS (1u << 20)

/*
 * What a miss of each of the data part's tables counts for. Columns of blocks differ by the order of 1
 * between intervals that run different code; so do these where cycles per instruction do, if a
 * miss takes about so many cycles.
 */
static const double data_weight[BB_DATA] = { 8, 16, 64, 8, 16 };

struct bb_rows {
	unsigned dims;
	uint64_t seed;
	bool with_data;
	double *kept; /* coefficients of blocks, dims each */
	size_t nkept; /* blocks, with an unused one for 0 */
	double *rows;
	uint64_t *insts;
	size_t count, capacity, insts_capacity;
	uint64_t longest;
};

struct bb_rows *bb_rows_new(unsigned dims, uint64_t seed, bool with_data)
{
	struct bb_rows *r = x_calloc(1, sizeof(*r));

	*r = (struct bb_rows){ .dims = dims, .seed = seed, .with_data = with_data };
	return r;
}

void bb_rows_free(struct bb_rows *r)
{
	if (!r)
		return;
	free(r->kept);
	free(r->rows);
	free(r->insts);
	free(r);
}

/* The block's coefficients; NULL: they are not kept. */
static const double *coefficients(struct bb_rows *r, uint64_t block)
{
	if (unlikely(block >= r->nkept)) {
		if (block >= KEPT_BLOCKS)
			return NULL;
		size_t more = min_u64(KEPT_BLOCKS, max_u64(block + 1, 2 * r->nkept));

		r->kept = x_realloc(r->kept, more * r->dims * sizeof(*r->kept));
		memset(r->kept + r->nkept * r->dims, 0,
		       (more - r->nkept) * r->dims * sizeof(*r->kept));
		for (; r->nkept < more; r->nkept++)
			project_add(r->kept + r->nkept * r->dims, r->dims, r->seed, r->nkept, 1);
	}
	return r->kept + block * r->dims;
}

bool bb_rows_add(void *ctx, const struct bb_interval *v, struct err *e)
{
	struct bb_rows *r = ctx;
	unsigned columns = r->dims + (r->with_data ? BB_DATA : 0);

	if (r->with_data && !v->data)
		return err_set(e, "interval %zu has no data part: write the vectors with --data",
			       r->count);
	ARRAY_ROOM(r->rows, r->capacity, (r->count + 1) * columns);
	ARRAY_ROOM(r->insts, r->insts_capacity, r->count + 1);
	double *row = r->rows + r->count * columns;
	memset(row, 0, columns * sizeof(*row));
	for (size_t i = 0; i < v->count; i++) {
		double share = (double)v->parts[i].insts / (double)v->insts;
		const double *c = coefficients(r, v->parts[i].block);

		if (unlikely(!c))
			project_add(row, r->dims, r->seed, v->parts[i].block, share);
		else
			for (unsigned j = 0; j < r->dims; j++)
				row[j] += share * c[j];
	}
	for (unsigned k = 0; r->with_data && k < BB_DATA; k++)
		row[r->dims + k] = data_weight[k] * ((double)v->data[k] / (double)v->insts);
	r->insts[r->count++] = v->insts;
	r->longest = max_u64(r->longest, v->insts);
	return true;
}

void bb_rows_finish(struct bb_rows *r, struct intervals *out)
{
	*out = (struct intervals){
		.interval = r->longest,
		.dims = r->dims + (r->with_data ? BB_DATA : 0),
		.count = r->count,
		.rows = r->rows,
		.insts = r->insts,
	};
	r->rows = NULL;
	r->insts = NULL;
	bb_rows_free(r);
}

bool bb_intervals(const char *path, unsigned dims, uint64_t seed, bool with_data,
		  struct intervals *out, struct err *e)
{
	struct bb_rows *r = bb_rows_new(dims, seed, with_data);

	if (!bb_read(path, bb_rows_add, r, e)) {
		bb_rows_free(r);
		return false;
	}
	bb_rows_finish(r, out);
	return true;
}

/* ---- writing ---- */

struct bb_file {
	struct output *output;
	char *shown;
	gzFile gz; /* NULL: plain */
	char *text;
	size_t used;
};

#define PART_BYTES 44 /* a space, two colons and two numbers of 64 bits */

static bool ends_with(const char *path, const char *end)
{
	size_t n = strlen(path), k = strlen(end);

	return n >= k && !strcmp(path + n - k, end);
}

/* A file that begins as one, or a compressed one of that name. */
static bool is_bb(const uint8_t *head, size_t size, const char *path)
{
	static const char gzip[] = { 0x1f, (char)0x8b, 0 };

	return output_begins(head, size, "T:") ||
	       (output_begins(head, size, gzip) && ends_with(path, ".gz"));
}

static const struct output_kind bb_kind = {
	.what = "a file of basic block vectors",
	.option = "-o",
	.is = is_bb,
};

struct bb_file *bb_create(const char *path, struct err *e)
{
	struct output *o = output_open(path, &bb_kind, e);
	struct bb_file *f;

	if (!o)
		return NULL;
	f = x_calloc(1, sizeof(*f));
	f->output = o;
	f->shown = text_shown(path);
	f->text = x_malloc(BUFFER_BYTES + PART_BYTES);
	if (ends_with(path, ".gz")) {
		int fd = dup(output_fd(o));

		/* The fastest level: others take longer than the run that is written. */
		f->gz = fd < 0 ? NULL : gzdopen(fd, "wb1");
		if (!f->gz) {
			err_set(e, "cannot write %s: %s", f->shown, strerror(errno));
			if (fd >= 0)
				close(fd);
			bb_discard(f);
			return NULL;
		}
	}
	return f;
}

static bool write_failed(const struct bb_file *f, struct err *e)
{
	return err_set(e, "cannot write %s: %s", f->shown, strerror(errno));
}

static bool spill(struct bb_file *f, struct err *e)
{
	size_t done = 0;

	if (f->gz) {
		errno = 0;
		if (f->used && gzwrite(f->gz, f->text, (unsigned)f->used) != (int)f->used)
			return write_failed(f, e);
		done = f->used;
	}
	while (done < f->used) {
		ssize_t n = write(output_fd(f->output), f->text + done, f->used - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return write_failed(f, e);
		done += (size_t)n;
	}
	f->used = 0;
	return true;
}

static void put_number(struct bb_file *f, uint64_t n)
{
	char digits[20];
	unsigned k = sizeof(digits);

	do
		digits[--k] = (char)('0' + n % 10);
	while (n /= 10);
	f->text[f->used++] = ':';
	memcpy(f->text + f->used, digits + k, sizeof(digits) - k);
	f->used += sizeof(digits) - k;
}

static bool put_part(struct bb_file *f, bool first, uint64_t id, uint64_t count, struct err *e)
{
	if (f->used >= BUFFER_BYTES && !spill(f, e))
		return false;
	if (!first)
		f->text[f->used++] = ' ';
	put_number(f, id);
	put_number(f, count);
	return true;
}

static bool put_text(struct bb_file *f, const char *text, struct err *e)
{
	size_t n = strlen(text);

	if (f->used >= BUFFER_BYTES && !spill(f, e))
		return false;
	memcpy(f->text + f->used, text, n);
	f->used += n;
	return true;
}

bool bb_write(void *ctx, const struct bb_interval *v, struct err *e)
{
	struct bb_file *f = ctx;
	bool ok = put_text(f, "T", e);

	for (size_t i = 0; ok && i < v->count; i++)
		ok = put_part(f, i == 0, v->parts[i].block, v->parts[i].insts, e);
	ok = ok && put_text(f, "\n", e);
	if (v->data && ok) {
		ok = put_text(f, "#D", e);
		for (unsigned k = 0; ok && k < BB_DATA; k++)
			ok = put_part(f, k == 0, k + 1, v->data[k], e);
		ok = ok && put_text(f, "\n", e);
	}
	return ok;
}

bool bb_finish(struct bb_file *f, struct err *e)
{
	bool ok = spill(f, e);

	if (f->gz) {
		errno = 0;
		if (gzclose_w(f->gz) != Z_OK && ok)
			ok = write_failed(f, e);
		f->gz = NULL;
	}
	if (ok) {
		ok = output_commit(f->output, e);
		f->output = NULL;
	}
	bb_discard(f);
	return ok;
}

void bb_discard(struct bb_file *f)
{
	if (!f)
		return;
	if (f->gz)
		gzclose_w(f->gz);
	output_discard(f->output);
	free(f->shown);
	free(f->text);
	free(f);
}

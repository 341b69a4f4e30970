/* SPDX-License-Identifier: MIT */
/*
 * The sample file of TIP's and TEA's hardware: a header, then records that begin as perf's do, with
 * a type and a size. Samples come in order of time, then the images of the process, then a record
 * that says how many samples there were; without it a file is not whole and is refused.
 */
#include "trace/tip_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/record.h"
#include "util/array.h"

#define MAGIC	     "TIPHWSMP"
#define MAGIC_BYTES  8
#define FILE_VERSION 1
#define HEADER_BYTES 40
#define IMAGES_MAX   4096

enum { MISC_KERNEL = 1, MISC_USER = 2 }; /* as perf's */
enum { TYPE_SAMPLE = 9, TYPE_IMAGE = 10, TYPE_RUN = 11, TYPE_END = 12 };

struct tip_reader {
	FILE *file;
	char *path;
	struct tip_header header;
	struct tip_image *images;
	size_t nimages;
	uint64_t samples, cycles, time; /* so far */
	uint64_t at;			/* offset of the next record */
	uint64_t lost;
	uint8_t *record;
};

/* ---- registers ---- */

bool tip_layout(unsigned ways, unsigned psv_bits, struct tip_layout *out)
{
	if (!ways || ways > TIP_WAYS_MAX || psv_bits > TIP_PSV_BITS_MAX)
		return false;
	*out = (struct tip_layout){ .ways = ways, .psv_bits = psv_bits };
	while (1u << out->id_bits < ways)
		out->id_bits++;
	out->flag_bits = ways + out->id_bits + TIP_FLAG_BITS + ways * psv_bits;
	out->csrs = (out->flag_bits + 63) / 64;
	out->sample_bytes = TIP_METADATA + 8 * (1 + out->csrs + ways);
	return true;
}

static void put_bits(uint64_t *csr, unsigned *at, unsigned bits, uint64_t value)
{
	for (unsigned i = 0; i < bits; i++, ++*at)
		csr[*at / 64] |= (value >> i & 1) << *at % 64;
}

static uint64_t get_bits(const uint64_t *csr, unsigned *at, unsigned bits)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < bits; i++, ++*at)
		value |= (csr[*at / 64] >> *at % 64 & 1) << i;
	return value;
}

void tip_pack(const struct tip_layout *l, const struct tip_sample *s, uint64_t *csr)
{
	unsigned at = 0;

	memset(csr, 0, l->csrs * sizeof(*csr));
	put_bits(csr, &at, l->ways, s->valid);
	put_bits(csr, &at, l->id_bits, s->oldest);
	put_bits(csr, &at, TIP_FLAG_BITS, s->flags);
	for (unsigned i = 0; i < l->ways; i++)
		put_bits(csr, &at, l->psv_bits, s->psv[i]);
}

void tip_unpack(const struct tip_layout *l, const uint64_t *csr, struct tip_sample *s)
{
	unsigned at = 0;

	s->valid = get_bits(csr, &at, l->ways);
	s->oldest = (unsigned)get_bits(csr, &at, l->id_bits);
	s->flags = (unsigned)get_bits(csr, &at, TIP_FLAG_BITS);
	for (unsigned i = 0; i < l->ways; i++)
		s->psv[i] = (uint32_t)get_bits(csr, &at, l->psv_bits);
}

unsigned tip_blames(const struct tip_layout *l, const struct tip_sample *s,
		    unsigned which[TIP_WAYS_MAX])
{
	unsigned n = 0;

	if (s->flags & (TIP_STALLED | TIP_FRONT_END)) {
		which[n++] = s->oldest;
		return n;
	}
	if (s->flags & TIP_FLUSHED) {
		which[n++] = 0;
		return n;
	}
	for (unsigned i = 0; i < l->ways; i++) {
		const unsigned k = (s->oldest + i) % l->ways;

		if (s->valid >> k & 1)
			which[n++] = k;
	}
	return n;
}

/* ---- writing ---- */

static bool is_tip_file(const uint8_t *head, size_t size, const char *path)
{
	return output_begins(head, size, MAGIC);
}

const struct output_kind tip_file_kind = {
	.what = "a file of TIP's samples",
	.option = "--param tip-samples=FILE",
	.is = is_tip_file,
};

/* A record as it is put together; sizes are multiples of 8. */
struct bytes {
	uint8_t at[UINT16_MAX + 1];
	size_t size;
};

static void put(struct bytes *b, const void *data, size_t size)
{
	memcpy(b->at + b->size, data, size);
	b->size += size;
}

static void put32(struct bytes *b, uint32_t v)
{
	const uint8_t le[] = { (uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16),
			       (uint8_t)(v >> 24) };
	put(b, le, sizeof(le));
}

static void put64(struct bytes *b, uint64_t v)
{
	put32(b, (uint32_t)v);
	put32(b, (uint32_t)(v >> 32));
}

static void begin(struct bytes *b, uint32_t type)
{
	b->size = 0;
	put32(b, type);
	put32(b, 0);
}

static bool end(struct bytes *b, struct export_file *f, struct err *e)
{
	while (b->size % 8)
		b->at[b->size++] = 0;
	b->at[6] = (uint8_t)b->size;
	b->at[7] = (uint8_t)(b->size >> 8);
	return export_file_text(f, (const char *)b->at, b->size, e);
}

bool tip_write_header(struct export_file *f, const struct tip_header *h, struct err *e)
{
	struct bytes b = { .size = 0 };

	put(&b, MAGIC, MAGIC_BYTES);
	put32(&b, FILE_VERSION);
	put32(&b, h->layout.ways);
	put32(&b, h->layout.psv_bits);
	put32(&b, h->layout.sample_bytes);
	put64(&b, h->period);
	put64(&b, h->clock_hz);
	if (!export_file_text(f, (const char *)b.at, b.size, e))
		return false;
	begin(&b, TYPE_RUN);
	put(&b, h->program, strlen(h->program) + 1);
	put(&b, h->machine, strlen(h->machine) + 1);
	return end(&b, f, e);
}

bool tip_write_sample(struct export_file *f, const struct tip_layout *l, const struct tip_sample *s,
		      struct err *e)
{
	uint64_t csr[TIP_CSRS_MAX];
	struct bytes b;

	begin(&b, TYPE_SAMPLE);
	b.at[4] = s->kernel ? MISC_KERNEL : MISC_USER;
	put32(&b, s->pid);
	put32(&b, s->tid);
	put64(&b, s->time);
	put32(&b, s->core);
	put32(&b, 0);
	put64(&b, s->number);
	put64(&b, s->cycles);
	tip_pack(l, s, csr);
	for (unsigned i = 0; i < l->csrs; i++)
		put64(&b, csr[i]);
	for (unsigned i = 0; i < l->ways; i++)
		put64(&b, s->valid >> i & 1 ? s->address[i] : 0);
	return end(&b, f, e);
}

bool tip_write_image(struct export_file *f, const struct tip_image *i, struct err *e)
{
	const size_t path = strlen(i->path) + 1, name = strlen(i->name) + 1;
	struct bytes b;

	if (path > PATH_MAX || name > PATH_MAX)
		return true;
	begin(&b, TYPE_IMAGE);
	put64(&b, i->start);
	put64(&b, i->end);
	put64(&b, i->bias);
	put(&b, i->path, path);
	put(&b, i->name, name);
	return end(&b, f, e);
}

bool tip_write_end(struct export_file *f, uint64_t samples, uint64_t cycles, uint64_t lost,
		   struct err *e)
{
	struct bytes b;

	begin(&b, TYPE_END);
	put64(&b, samples);
	put64(&b, cycles);
	put64(&b, lost);
	return end(&b, f, e);
}

/* ---- reading ---- */

static uint32_t get32(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint64_t get64(const uint8_t *p)
{
	return get32(p) | (uint64_t)get32(p + 4) << 32;
}

static bool wrong(const struct tip_reader *r, struct err *e, const char *what)
{
	return err_set(e, "%s: offset %llu: %s", r->path, (unsigned long long)r->at, what);
}

bool tip_file_is(const char *path)
{
	FILE *f = fopen(path, "rbe");
	char head[MAGIC_BYTES];
	const bool is = f && fread(head, 1, sizeof(head), f) == sizeof(head) &&
			!memcmp(head, MAGIC, sizeof(head));

	if (f)
		fclose(f);
	return is;
}

/* The next record's bytes, its type in *type. */
static bool next_record(struct tip_reader *r, uint32_t *type, size_t *size, struct err *e)
{
	if (fread(r->record, 1, 8, r->file) != 8)
		return wrong(r, e, "the file ends without its last record: its writer was stopped");
	*type = get32(r->record);
	*size = r->record[6] | (size_t)r->record[7] << 8;
	if (*size < 8 || *size % 8)
		return wrong(r, e, "a record of impossible size");
	if (fread(r->record + 8, 1, *size - 8, r->file) != *size - 8)
		return wrong(r, e, "the file ends within a record");
	return true;
}

/* Two texts that fill the rest of a record from `from` on. */
static bool two_texts(const struct tip_reader *r, size_t from, size_t size, const char **a,
		      const char **b)
{
	const char *at = (const char *)r->record + from, *stop = (const char *)r->record + size;
	const char *mid = from < size ? memchr(at, 0, (size_t)(stop - at)) : NULL;

	if (!mid || !memchr(mid + 1, 0, (size_t)(stop - mid - 1)))
		return false;
	*a = at;
	*b = mid + 1;
	return true;
}

static bool read_image(struct tip_reader *r, size_t size, struct err *e)
{
	const char *path, *name;

	if (size < 40 || !two_texts(r, 32, size, &path, &name) || strlen(path) >= PATH_MAX)
		return wrong(r, e, "an image without its names");
	const uint64_t start = get64(r->record + 8), stop = get64(r->record + 16);

	if (start >= stop || r->nimages == IMAGES_MAX)
		return wrong(r, e, "an image of no size, or too many images");
	*ARRAY_ADD(r->images, r->nimages) =
	    (struct tip_image){ x_strdup(path), x_strdup(name), start, stop,
				get64(r->record + 24) };
	return true;
}

/* An address as records have it: REC_PC_BITS, sign-extended. */
static bool is_address(uint64_t a)
{
	const int64_t top = (int64_t)a >> (REC_PC_BITS - 1);

	return top == 0 || top == -1;
}

static bool read_sample(struct tip_reader *r, size_t size, struct tip_sample *s, struct err *e)
{
	const struct tip_layout *l = &r->header.layout;
	uint64_t csr[TIP_CSRS_MAX];
	const uint8_t *p = r->record;

	if (size != l->sample_bytes)
		return wrong(r, e, "a sample of another size than the header says");
	memset(s, 0, sizeof(*s));
	s->kernel = p[4] == MISC_KERNEL;
	s->pid = get32(p + 8);
	s->tid = get32(p + 12);
	s->time = get64(p + 16);
	s->core = get32(p + 24);
	s->number = get64(p + 32);
	s->cycles = get64(p + 40);
	for (unsigned i = 0; i < l->csrs; i++)
		csr[i] = get64(p + 48 + 8 * (size_t)i);
	tip_unpack(l, csr, s);
	for (unsigned i = 0; i < l->ways; i++)
		s->address[i] = get64(p + 48 + 8 * (size_t)(l->csrs + i));
	if (s->cycles > TIP_CYCLES_MAX - r->cycles)
		return wrong(r, e, "samples stand for more cycles than a run can have");
	if (s->number != r->samples || s->time < r->time || s->time > INT64_MAX)
		return wrong(r, e, "a sample out of order");
	unsigned which[TIP_WAYS_MAX];

	if (s->oldest >= l->ways)
		return wrong(r, e, "the oldest id names no address register");
	const unsigned n = tip_blames(l, s, which);

	if (!n)
		return wrong(r, e, "a sample without an address");
	for (unsigned i = 0; i < n; i++)
		if (!(s->valid >> which[i] & 1) || !is_address(s->address[which[i]]))
			return wrong(r, e, "a sample blames an address that is not valid");
	r->samples++;
	r->cycles += s->cycles;
	r->time = s->time;
	return true;
}

static bool read_end(struct tip_reader *r, size_t size, struct err *e)
{
	if (size != 32 || get64(r->record + 8) != r->samples || get64(r->record + 16) != r->cycles)
		return wrong(r, e, "the last record tells of other samples than the file has");
	r->lost = get64(r->record + 24);
	if (r->lost > TIP_CYCLES_MAX)
		return wrong(r, e, "more cycles are lost than a run can have");
	r->at += size;
	if (fgetc(r->file) != EOF)
		return wrong(r, e, "something follows the last record");
	return true;
}

enum tip_next tip_read(struct tip_reader *r, struct tip_sample *s, struct err *e)
{
	for (;;) {
		uint32_t type = 0;
		size_t size = 0;
		bool ok = next_record(r, &type, &size, e);

		if (!ok)
			return TIP_ERROR;
		if (type == TYPE_END)
			return read_end(r, size, e) ? TIP_END : TIP_ERROR;
		if (type == TYPE_SAMPLE)
			ok = r->nimages ? wrong(r, e, "a sample after the images")
					: read_sample(r, size, s, e);
		else if (type == TYPE_IMAGE)
			ok = read_image(r, size, e);
		else
			ok = wrong(r, e, "a record of a type that is not known");
		if (!ok)
			return TIP_ERROR;
		r->at += size;
		if (type == TYPE_SAMPLE)
			return TIP_SAMPLE;
	}
}

static void forget_images(struct tip_reader *r)
{
	for (size_t i = 0; i < r->nimages; i++) {
		free(r->images[i].path);
		free(r->images[i].name);
	}
	r->nimages = 0;
}

bool tip_rewind(struct tip_reader *r, struct err *e)
{
	struct tip_header *h = &r->header;
	const char *program, *machine;
	uint8_t head[HEADER_BYTES];
	uint32_t type = 0;
	size_t size = 0;

	forget_images(r);
	r->samples = r->cycles = r->time = r->lost = r->at = 0;
	rewind(r->file);
	if (fread(head, 1, sizeof(head), r->file) != sizeof(head) ||
	    memcmp(head, MAGIC, MAGIC_BYTES) != 0)
		return wrong(r, e, "not a file of TIP's samples");
	if (get32(head + 8) != FILE_VERSION)
		return wrong(r, e, "a version of the format that this culprit does not know");
	if (!tip_layout(get32(head + 12), get32(head + 16), &h->layout) ||
	    get32(head + 20) != h->layout.sample_bytes)
		return wrong(r, e, "the header describes no registers that can be");
	h->period = get64(head + 24);
	h->clock_hz = get64(head + 32);
	if (!h->period || h->period > INT64_MAX || h->clock_hz > 1000000000000ull)
		return wrong(r, e, "the header has an impossible period or clock");
	r->at = HEADER_BYTES;
	if (!next_record(r, &type, &size, e))
		return false;
	if (type != TYPE_RUN || !two_texts(r, 8, size, &program, &machine) ||
	    strlen(program) >= sizeof(h->program) || strlen(machine) >= sizeof(h->machine))
		return wrong(r, e, "no program and machine");
	snprintf(h->program, sizeof(h->program), "%s", program);
	snprintf(h->machine, sizeof(h->machine), "%s", machine);
	r->at += size;
	return true;
}

struct tip_reader *tip_open(const char *path, struct err *e)
{
	struct tip_reader *r = x_calloc(1, sizeof(*r));

	r->path = x_strdup(path);
	r->record = x_malloc(UINT16_MAX + 1);
	r->file = fopen(path, "rbe");
	if (!r->file)
		err_set(e, "cannot read %s: %s", path, strerror(errno));
	else if (tip_rewind(r, e))
		return r;
	tip_close(r);
	return NULL;
}

const struct tip_header *tip_header(const struct tip_reader *r)
{
	return &r->header;
}

const struct tip_image *tip_images(const struct tip_reader *r, size_t *count)
{
	*count = r->nimages;
	return r->images;
}

uint64_t tip_cycles(const struct tip_reader *r)
{
	return r->cycles;
}

uint64_t tip_lost(const struct tip_reader *r)
{
	return r->lost;
}

void tip_close(struct tip_reader *r)
{
	if (!r)
		return;
	if (r->file)
		fclose(r->file);
	forget_images(r);
	free(r->images);
	free(r->record);
	free(r->path);
	free(r);
}

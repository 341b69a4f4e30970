/* SPDX-License-Identifier: MIT */
/*
 * Files of samples: a magic and a version, then two parts, each with its size and checksum and
 * compressed: the run's description, as lines of text (file_info.c), and the samples.
 */
#include "trace/file_samples.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "trace/export_file.h"
#include "trace/file_format.h"

#define FILE_VERSION 1
#define HEAD_BYTES   16
#define PART_BYTES   24 /* which, zero, size, checksum */
#define FILE_MAX     (1u << 28)

enum { PART_INFO = 1, PART_SAMPLES };

struct samples_file {
	struct info_copy info;
	bool has_info;
	uint8_t *data;
	size_t size;
};

static bool is_shotgun(const uint8_t *head, size_t size, const char *path)
{
	return samples_file_begins(&samples_shotgun, head, size);
}

const struct samples_kind samples_shotgun = {
	.magic = "CULSHOTG",
	.output = {
		.what = "a file of the shotgun profiler's samples",
		.option = "--param shotgun-samples=FILE",
		.is = is_shotgun,
	},
};

bool samples_file_begins(const struct samples_kind *kind, const void *head, size_t size)
{
	return size >= SAMPLES_MAGIC_BYTES && !memcmp(head, kind->magic, SAMPLES_MAGIC_BYTES);
}

/* Packs what follows `from` and puts the part's head before it. */
static void end_part(struct bytes *b, size_t from, uint32_t which)
{
	uint8_t *head;

	info_pack(b, from + PART_BYTES);
	head = b->data + from;
	const size_t size = b->size - from - PART_BYTES;

	put_u32(head, which);
	put_u32(head + 4, 0);
	put_u64(head + 8, size);
	put_u64(head + 16, trace_checksum(which, head + PART_BYTES, size));
}

static size_t begin_part(struct bytes *b)
{
	const size_t from = b->size;

	bytes_reserve(b, PART_BYTES);
	memset(b->data + from, 0, PART_BYTES);
	b->size += PART_BYTES;
	return from;
}

bool samples_file_write(const char *path, const struct samples_kind *kind,
			const struct trace_info *info, const uint8_t *data, size_t size,
			struct err *e)
{
	struct bytes b = { NULL, 0, 0 };
	struct export_file out;
	uint8_t head[HEAD_BYTES] = { 0 };
	size_t from;

	memcpy(head, kind->magic, SAMPLES_MAGIC_BYTES);
	put_u32(head + 8, FILE_VERSION);
	bytes_put(&b, head, sizeof(head));
	from = begin_part(&b);
	info_write(info, &b);
	end_part(&b, from, PART_INFO);
	from = begin_part(&b);
	bytes_put(&b, data, size);
	end_part(&b, from, PART_SAMPLES);

	bool ok = export_file_open(&out, path, &kind->output, e);

	if (ok) {
		ok = export_file_text(&out, (const char *)b.data, b.size, e);
		ok = export_file_finish(&out, ok ? e : NULL) && ok;
		export_file_free(&out);
	}
	free(b.data);
	return ok;
}

/* The whole file in memory; NULL if it cannot be read. */
static uint8_t *read_whole(const char *path, size_t *size, struct err *e)
{
	FILE *f = fopen(path, "rbe");
	struct stat st;
	uint8_t *data = NULL;

	if (!f || fstat(fileno(f), &st)) {
		err_set(e, "cannot read %s: %s", path, strerror(errno));
	} else if (!S_ISREG(st.st_mode) || st.st_size > FILE_MAX) {
		err_set(e, "%s is no file of samples: %s", path,
			S_ISREG(st.st_mode) ? "it is too large" : "it is no regular file");
	} else {
		data = x_malloc((size_t)st.st_size + 1);
		*size = fread(data, 1, (size_t)st.st_size, f);
	}
	if (f)
		fclose(f);
	return data;
}

/* The part at *at, unpacked; NULL if it is not the one that is expected there, or damaged. */
static uint8_t *read_part(const uint8_t *file, size_t file_size, size_t *at, uint32_t which,
			  size_t *size)
{
	const uint8_t *head = file + *at;

	if (file_size - *at < PART_BYTES || get_u32(head) != which || get_u32(head + 4))
		return NULL;

	const uint64_t packed = get_u64(head + 8);

	if (packed > file_size - *at - PART_BYTES ||
	    get_u64(head + 16) != trace_checksum(which, head + PART_BYTES, (size_t)packed))
		return NULL;
	*at += PART_BYTES + (size_t)packed;
	return info_unpack(head + PART_BYTES, (size_t)packed, size);
}

static bool read_parts(struct samples_file *f, const uint8_t *file, size_t file_size,
		       const char *path, struct err *e)
{
	size_t at = HEAD_BYTES, size;
	uint8_t *text = read_part(file, file_size, &at, PART_INFO, &size);

	f->has_info = text && info_parse(text, size, &f->info);
	free(text);
	if (!f->has_info)
		return err_set(e, "%s is damaged: what it says of its run is not what was written",
			       path);
	f->data = read_part(file, file_size, &at, PART_SAMPLES, &f->size);
	if (!f->data || at != file_size)
		return err_set(e, "%s is damaged: its samples are not what was written", path);
	return true;
}

struct samples_file *samples_file_open(const char *path, const struct samples_kind *kind,
				       struct err *e)
{
	struct samples_file *f = NULL;
	size_t size = 0;
	uint8_t *file = read_whole(path, &size, e);

	if (!file)
		return NULL;
	if (size < HEAD_BYTES || !samples_file_begins(kind, file, size)) {
		err_set(e, "%s is not %s", path, kind->output.what);
	} else if (get_u32(file + 8) != FILE_VERSION || get_u32(file + 12)) {
		err_set(e, "%s has version %u of its format; this culprit knows version %d", path,
			get_u32(file + 8), FILE_VERSION);
	} else {
		f = x_calloc(1, sizeof(*f));
		if (!read_parts(f, file, size, path, e)) {
			samples_file_close(f);
			f = NULL;
		}
	}
	free(file);
	return f;
}

void samples_file_close(struct samples_file *f)
{
	if (!f)
		return;
	if (f->has_info)
		info_free(&f->info);
	free(f->data);
	free(f);
}

const struct trace_info *samples_file_info(const struct samples_file *f)
{
	return &f->info.info;
}

const uint8_t *samples_file_data(const struct samples_file *f, size_t *size)
{
	*size = f->size;
	return f->data;
}

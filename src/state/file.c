/* SPDX-License-Identifier: MIT */
/*
 * The file of a checkpoint (file.h; docs/checkpoint-format.md has the layout).
 *
 * Sections are small: registers, lists, numbers of pieces. They are read and checked whole when the file is
 * opened. The frames of the pool that a checkpoint uses are listed in it with their checksums, so a pool
 * that was cut, changed or exchanged is noticed, and nothing of it is read before it is needed.
 */
#include "state/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "state/pool.h"
#include "util/array.h"
#include "util/output.h"

#define MAGIC	       "culprit-ckpt\r\n\x1a"
#define MAGIC_BYTES    16
#define HEAD_BYTES     40 /* magic, version, sections, bytes that follow, their checksum */
#define SECTION_BYTES  64 /* name, version, zero, bytes, packed bytes, checksum */
#define SECTIONS_MAX   64
#define SECTION_MAX    (256u << 20) /* bytes of a section, unpacked */
#define FILE_MAX       (1u << 30)
#define FRAMES_SECTION "frames"
#define LEVEL	       3

struct section {
	char name[STATE_NAME_MAX + 1];
	unsigned version;
	struct state *state;
	uint8_t *bytes; /* reading: unpacked */
	uint64_t count, packed;
};

struct state_file {
	bool reading;
	struct state_pool *pool; /* writing: the caller's */
	struct state_pieces pieces;
	struct state_source *source; /* reading */
	struct section *sections;
	size_t nsections;
};

static void put_number(uint8_t *at, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		at[i] = (uint8_t)(v >> 8 * i);
}

static uint64_t number_at(const uint8_t *at, unsigned bytes)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < bytes; i++)
		v |= (uint64_t)at[i] << 8 * i;
	return v;
}

struct state_file *state_file_new(struct state_pool *pool)
{
	struct state_file *f = x_calloc(1, sizeof(*f));

	f->pool = pool;
	if (pool) {
		state_pool_begin(pool);
		f->pieces = state_pool_pieces(pool);
	}
	return f;
}

void state_file_free(struct state_file *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->nsections; i++) {
		state_free(f->sections[i].state);
		free(f->sections[i].bytes);
	}
	free(f->sections);
	state_source_free(f->source);
	free(f);
}

static struct section *section_add(struct state_file *f, const char *name)
{
	struct section *s;

	f->sections = x_realloc(f->sections, (f->nsections + 1) * sizeof(*f->sections));
	s = &f->sections[f->nsections++];
	memset(s, 0, sizeof(*s));
	snprintf(s->name, sizeof(s->name), "%s", name);
	return s;
}

static struct section *section_find(const struct state_file *f, const char *name)
{
	for (size_t i = 0; i < f->nsections; i++)
		if (!strcmp(f->sections[i].name, name))
			return &f->sections[i];
	return NULL;
}

struct state *state_file_section(struct state_file *f, const char *name)
{
	struct section *s = section_find(f, name);

	if (!f->reading) {
		s = section_add(f, name);
		s->version = STATE_VERSION;
		s->state = state_writer(f->pool ? &f->pieces : NULL);
		return s->state;
	}
	if (!s)
		return NULL;
	state_free(s->state);
	s->state = state_reader(s->bytes, s->count, s->version, f->source ? &f->pieces : NULL);
	return s->state;
}

/* The head of a section at `to`, its packed bytes behind it; how many bytes in all. */
static size_t section_pack(const struct section *s, uint8_t **to, struct err *e)
{
	size_t count;
	const void *bytes = state_bytes_written(s->state, &count);
	const size_t room = ZSTD_compressBound(count);
	uint8_t *out;
	size_t packed;

	if (!state_ok(s->state)) {
		err_set(e, "%s", state_error(s->state));
		return 0;
	}
	if (count > SECTION_MAX) {
		err_set(
		    e,
		    "section %s of the checkpoint has %zu bytes, more than a checkpoint can hold",
		    s->name, count);
		return 0;
	}
	out = x_calloc(1, SECTION_BYTES + room);
	packed = ZSTD_compress(out + SECTION_BYTES, room, bytes, count, LEVEL);
	if (ZSTD_isError(packed)) {
		err_set(e, "cannot compress: %s", ZSTD_getErrorName(packed));
		free(out);
		return 0;
	}
	memcpy(out, s->name, strlen(s->name));
	put_number(out + 32, s->version, 4);
	put_number(out + 40, count, 8);
	put_number(out + 48, packed, 8);
	put_number(out + 56, state_sum(out + SECTION_BYTES, packed), 8);
	*to = out;
	return SECTION_BYTES + packed;
}

static bool is_checkpoint(const uint8_t *head, size_t size, const char *path)
{
	(void)path;
	return size >= MAGIC_BYTES && !memcmp(head, MAGIC, sizeof(MAGIC));
}

static const struct output_kind kind = {
	.what = "a culprit checkpoint",
	.option = "-o",
	.only_files = true,
	.is = is_checkpoint,
};

static bool write_all(int fd, const uint8_t *data, size_t bytes)
{
	while (bytes) {
		ssize_t n = write(fd, data, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		data += n;
		bytes -= (size_t)n;
	}
	return true;
}

/* The whole file in memory. NULL: e says why not. */
static uint8_t *pack_all(struct state_file *f, size_t *bytes, struct err *e)
{
	size_t n = HEAD_BYTES, capacity = 0;
	uint8_t *all = NULL;

	ARRAY_ROOM(all, capacity, n);
	memset(all, 0, n);
	for (size_t i = 0; i < f->nsections; i++) {
		uint8_t *one = NULL;
		const size_t count = section_pack(&f->sections[i], &one, e);

		if (!count) {
			free(all);
			return NULL;
		}
		ARRAY_ROOM(all, capacity, n + count);
		memcpy(all + n, one, count);
		free(one);
		n += count;
	}
	memcpy(all, MAGIC, sizeof(MAGIC));
	put_number(all + 16, STATE_FILE_VERSION, 4);
	put_number(all + 20, f->nsections, 4);
	put_number(all + 24, n - HEAD_BYTES, 8);
	put_number(all + 32, state_sum(all + HEAD_BYTES, n - HEAD_BYTES), 8);
	*bytes = n;
	return all;
}

bool state_file_write(struct state_file *f, const char *path, struct err *e)
{
	struct output *o;
	uint8_t *all;
	size_t bytes = 0;
	bool ok;

	/* The pieces first: a checkpoint that has its name finds all it needs in the pool. */
	if (f->pool) {
		if (!state_pool_flush(f->pool, e))
			return false;
		state_pool_frames(f->pool, state_file_section(f, FRAMES_SECTION));
	}
	all = pack_all(f, &bytes, e);
	if (!all)
		return false;
	o = output_open(path, &kind, e);
	if (!o) {
		free(all);
		return false;
	}
	ok = write_all(output_fd(o), all, bytes);
	free(all);
	if (!ok) {
		err_set(e, "%s: cannot be written: %s", path, strerror(errno));
		output_discard(o);
		return false;
	}
	return output_commit(o, e);
}

static uint8_t *read_whole(const char *path, size_t *bytes, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	uint8_t *all = NULL;
	size_t n = 0;

	if (fd < 0 || fstat(fd, &st) < 0) {
		err_set(e, "%s: %s", path, strerror(errno));
	} else if (!S_ISREG(st.st_mode) || st.st_size < HEAD_BYTES) {
		err_set(e, "%s: not a culprit checkpoint", path);
	} else if ((uint64_t)st.st_size > FILE_MAX) {
		err_set(e, "%s: %llu bytes are too many for a checkpoint", path,
			(unsigned long long)st.st_size);
	} else {
		all = x_malloc((size_t)st.st_size);
		while (n < (size_t)st.st_size) {
			ssize_t got = read(fd, all + n, (size_t)st.st_size - n);

			if (got < 0 && errno == EINTR)
				continue;
			if (got <= 0)
				break;
			n += (size_t)got;
		}
		*bytes = n;
	}
	if (fd >= 0)
		close(fd);
	return all;
}

static bool unpack(struct section *s, const uint8_t *packed, const char *path, struct err *e)
{
	const unsigned long long bytes = ZSTD_getFrameContentSize(packed, s->packed);
	size_t got;

	/* The frame's own word for its length: nothing is allocated for a length that it does not have. */
	if (s->count > SECTION_MAX || bytes != s->count)
		return err_set(e, "%s: damaged: the length of section %s is absurd", path, s->name);
	s->bytes = x_malloc(s->count ? s->count : 1);
	got = ZSTD_decompress(s->bytes, s->count, packed, s->packed);
	if (ZSTD_isError(got) || got != s->count)
		return err_set(e, "%s: damaged: section %s cannot be unpacked", path, s->name);
	return true;
}

static bool plain_name(const uint8_t *name)
{
	size_t n = 0;

	while (n < 32 && ((name[n] >= 'a' && name[n] <= 'z') || name[n] == '-'))
		n++;
	for (size_t i = n; i < 32; i++)
		if (name[i])
			return false;
	return n && n < 32;
}

static bool read_sections(struct state_file *f, const uint8_t *all, size_t bytes, const char *path,
			  struct err *e)
{
	const uint64_t count = number_at(all + 20, 4);
	uint64_t unpacked = 0;
	size_t at = HEAD_BYTES;

	for (uint64_t i = 0; i < count; i++) {
		const uint8_t *head = all + at;
		struct section *s;

		if (i >= SECTIONS_MAX || bytes - at < SECTION_BYTES || !plain_name(head) ||
		    number_at(head + 48, 8) > bytes - at - SECTION_BYTES)
			return err_set(e, "%s: damaged: its sections are not whole", path);
		if (section_find(f, (const char *)head))
			return err_set(e, "%s: damaged: section %s is there twice", path,
				       (const char *)head);
		s = section_add(f, (const char *)head);
		s->version = (unsigned)number_at(head + 32, 4);
		s->count = number_at(head + 40, 8);
		s->packed = number_at(head + 48, 8);
		if (!s->version || s->version > STATE_VERSION)
			return err_set(e,
				       "%s: section %s is of version %u, this culprit reads up to "
				       "%u; use a newer one",
				       path, s->name, s->version, STATE_VERSION);
		if (state_sum(head + SECTION_BYTES, s->packed) != number_at(head + 56, 8))
			return err_set(e, "%s: damaged: the checksum of section %s is wrong", path,
				       s->name);
		unpacked += s->count < SECTION_MAX ? s->count : 0;
		if (unpacked > 2ull * SECTION_MAX)
			return err_set(e, "%s: damaged: its length is absurd", path);
		if (!unpack(s, head + SECTION_BYTES, path, e))
			return false;
		at += SECTION_BYTES + s->packed;
	}
	if (at != bytes)
		return err_set(e, "%s: damaged: %zu bytes too many", path, bytes - at);
	return true;
}

static bool check_head(const uint8_t *all, size_t bytes, const char *path, struct err *e)
{
	unsigned version;

	if (!is_checkpoint(all, bytes, path))
		return err_set(e, "%s: not a culprit checkpoint", path);
	version = (unsigned)number_at(all + 16, 4);
	if (!version || version > STATE_FILE_VERSION)
		return err_set(
		    e,
		    "%s: a checkpoint of version %u, this culprit reads up to %u; use a newer one",
		    path, version, STATE_FILE_VERSION);
	if (number_at(all + 24, 8) != bytes - HEAD_BYTES)
		return err_set(e, "%s: damaged: it is cut short, or something was added", path);
	if (state_sum(all + HEAD_BYTES, bytes - HEAD_BYTES) != number_at(all + 32, 8))
		return err_set(e, "%s: damaged: its checksum is wrong", path);
	return true;
}

static bool get_piece(void *ctx, uint64_t id, void *data, size_t bytes, struct err *e)
{
	return state_source_get(ctx, id, data, bytes, e);
}

struct state_file *state_file_open(const char *path, struct err *e)
{
	struct state_file *f = x_calloc(1, sizeof(*f));
	size_t bytes = 0;
	uint8_t *all = read_whole(path, &bytes, e);
	bool ok = all && bytes >= HEAD_BYTES && check_head(all, bytes, path, e) &&
		  read_sections(f, all, bytes, path, e);

	if (all && bytes < HEAD_BYTES)
		err_set(e, "%s: not a culprit checkpoint", path);
	free(all);
	f->reading = true;
	if (ok && section_find(f, FRAMES_SECTION)) {
		f->source = state_source_new(path, state_file_section(f, FRAMES_SECTION), e);
		ok = f->source;
		f->pieces = (struct state_pieces){ .get = get_piece, .ctx = f->source };
	}
	if (ok)
		return f;
	state_file_free(f);
	return NULL;
}

bool state_file_part(const struct state_file *f, size_t index, struct state_file_part *out)
{
	if (index >= f->nsections)
		return false;
	*out = (struct state_file_part){
		.name = f->sections[index].name,
		.version = f->sections[index].version,
		.bytes = f->sections[index].count,
		.packed_bytes = f->sections[index].packed,
	};
	return true;
}

struct state *state_file_state(const struct state_file *f, size_t index)
{
	return index < f->nsections ? f->sections[index].state : NULL;
}

void state_file_pieces(const struct state_file *f, uint64_t *bytes, uint64_t *packed_bytes)
{
	*bytes = *packed_bytes = 0;
	if (f->source)
		state_source_size(f->source, bytes, packed_bytes);
}

struct state_source *state_file_source(struct state_file *f)
{
	return f->source ? state_source_ref(f->source) : NULL;
}

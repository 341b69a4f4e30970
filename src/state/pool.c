/* SPDX-License-Identifier: MIT */
/*
 * Pieces that the checkpoints of one folder share.
 *
 * A piece (a page of memory, a part of a file) is found again by a hash of 128 bits of its content, so that
 * equal pieces are kept once. New pieces are gathered in frames of up to 64 KiB, which are compressed and
 * appended to one file. All frames, unpacked and one after the other, are a stream of bytes; a piece's number
 * is its place in that stream.
 *
 * Nothing that was written is changed again. A checkpoint lists the frames that it uses, with where they are and
 * their checksums, so reading needs no index. An index is only needed to add pieces: it is built from the
 * heads of the frames. What a writer that was killed has left unfinished is passed over.
 *
 * Not for an enemy's eyes: who controls the content of memory can make two pieces of equal hash, and damages
 * its own checkpoint.
 */
#include "state/pool.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "util/array.h"
#include "util/descriptor.h"

#define POOL_MAGIC  "culprit-pool\r\n\x1a"
#define POOL_HEAD   32 /* magic, version, zero */
#define FRAME_MAGIC 0x454d415246505543ull
#define FRAME_HEAD                                                                                 \
	48 /* magic, start, bytes, packed bytes, pieces, zero, sum of the packed bytes, sum of the rest */
#define PIECE_BYTES  20 /* bytes, hash */
#define FRAME_PIECES 1024
#define FRAMES_MAX   (1u << 24)
#define LEVEL	     1 /* 100 MB take 0.2 s; level 3 saves a tenth of the space and takes twice as long */
#define KEPT	     8 /* unpacked frames that a source keeps */

struct hash {
	uint64_t a, b;
};

struct frame {
	uint64_t start; /* in the stream */
	uint64_t at;	/* in the file: the packed bytes */
	uint32_t bytes, packed;
	uint64_t sum;
};

struct pool_frame {
	struct frame f;
	unsigned used; /* by which checkpoint of this process, the last one */
	bool trusted;  /* written by this process, or its sum was looked at */
};

struct slot {
	struct hash hash;
	uint64_t id;
	uint32_t bytes; /* 0: free */
	uint32_t frame;
};

struct state_pool {
	int fd;
	char *path;
	struct pool_frame *frames; /* the last one is being filled, if open_bytes */
	size_t nframes, cap_frames;
	struct slot *slots;
	size_t nslots, used_slots; /* nslots: a power of two */
	uint64_t end;		   /* of the stream */
	uint64_t file_end;
	unsigned checkpoint;
	uint8_t open[STATE_FRAME_MAX];
	uint32_t open_bytes, open_pieces;
	struct {
		uint32_t bytes;
		struct hash hash;
	} piece[FRAME_PIECES];
	ZSTD_CCtx *zstd;
};

static uint64_t mix(uint64_t x, uint64_t y)
{
	const __uint128_t product = (__uint128_t)x * y;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t word(const uint8_t *at)
{
	uint64_t v;

	memcpy(&v, at, 8);
	return le64toh(v);
}

/* Two chains of multiplications with different constants; 5 GB/s. */
static struct hash hash_of(const void *data, size_t bytes)
{
	const uint8_t *at = data;
	uint64_t a = 0x9e3779b97f4a7c15ull ^ bytes, b = 0xc2b2ae3d27d4eb4full + bytes;
	size_t left = bytes;
	uint8_t rest[16] = { 0 };

	for (; left >= 16; left -= 16, at += 16) {
		const uint64_t x = word(at), y = word(at + 8);

		a = mix(x ^ 0xa0761d6478bd642full, y ^ a);
		b = mix(y ^ 0xe7037ed1a0b428dbull, x ^ b ^ 0x8ebc6af09c88c6e3ull);
	}
	memcpy(rest, at, left);
	a = mix(word(rest) ^ 0x589965cc75374cc3ull, word(rest + 8) ^ a);
	b = mix(word(rest + 8) ^ 0x1d8e4e27c47d124full, word(rest) ^ b);
	return (struct hash){ mix(a ^ 0xa0761d6478bd642full, b ^ bytes),
			      mix(b, a ^ 0xeb44accab455d165ull) };
}

uint64_t state_sum(const void *data, size_t bytes)
{
	return hash_of(data, bytes).a;
}

static void put_number(uint8_t *at, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		at[i] = (uint8_t)(v >> 8 * i);
}

static uint32_t half(const uint8_t *at)
{
	return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
	       (uint32_t)at[3] << 24;
}

static struct slot *find_slot(const struct state_pool *p, struct hash h, uint32_t bytes)
{
	size_t i = h.a & (p->nslots - 1);

	while (p->slots[i].bytes && (p->slots[i].hash.a != h.a || p->slots[i].hash.b != h.b ||
				     p->slots[i].bytes != bytes))
		i = (i + 1) & (p->nslots - 1);
	return &p->slots[i];
}

static void remember(struct state_pool *p, struct hash h, uint32_t bytes, uint64_t id, size_t frame)
{
	struct slot *s;

	if (2 * (p->used_slots + 1) > p->nslots) {
		struct slot *old = p->slots;
		const size_t n = p->nslots;

		p->nslots = n ? 2 * n : 4096;
		p->slots = x_calloc(p->nslots, sizeof(*p->slots));
		for (size_t i = 0; i < n; i++)
			if (old[i].bytes)
				*find_slot(p, old[i].hash, old[i].bytes) = old[i];
		free(old);
	}
	s = find_slot(p, h, bytes);
	if (!s->bytes)
		p->used_slots++;
	*s = (struct slot){ .hash = h, .id = id, .bytes = bytes, .frame = (uint32_t)frame };
}

static struct pool_frame *add_frame(struct state_pool *p)
{
	ARRAY_ROOM(p->frames, p->cap_frames, p->nframes + 1);
	memset(&p->frames[p->nframes], 0, sizeof(*p->frames));
	return &p->frames[p->nframes++];
}

/* The frame at `at` of the file in memory: enters it and its pieces; its bytes in the file, 0: there is none. */
static size_t take_frame(struct state_pool *p, const uint8_t *map, size_t size, size_t at)
{
	const uint8_t *head = map + at, *pieces = head + FRAME_HEAD;
	uint32_t bytes, packed, count, sum = 0;
	struct pool_frame *f;
	uint64_t start;

	if (size - at < FRAME_HEAD || word(head) != FRAME_MAGIC)
		return 0;
	start = word(head + 8);
	bytes = half(head + 16);
	packed = half(head + 20);
	count = half(head + 24);
	if (!bytes || bytes > STATE_FRAME_MAX || packed > ZSTD_COMPRESSBOUND(STATE_FRAME_MAX) ||
	    !count || count > FRAME_PIECES || start > UINT64_MAX / 2 ||
	    size - at - FRAME_HEAD < (uint64_t)count * PIECE_BYTES + packed)
		return 0;
	if (word(head + 40) != (state_sum(head, 40) ^ state_sum(pieces, count * PIECE_BYTES)))
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		const uint32_t n = half(pieces + i * PIECE_BYTES);

		if (!n || n > bytes - sum)
			return 0;
		sum += n;
	}
	f = add_frame(p);
	f->f = (struct frame){ .start = start,
			       .at = at + FRAME_HEAD + count * PIECE_BYTES,
			       .bytes = bytes,
			       .packed = packed,
			       .sum = word(head + 32) };
	sum = 0;
	for (uint32_t i = 0; i < count; i++) {
		const uint8_t *piece = pieces + i * PIECE_BYTES;

		remember(p, (struct hash){ word(piece + 4), word(piece + 12) }, half(piece),
			 start + sum, p->nframes - 1);
		sum += half(piece);
	}
	p->end = max_u64(p->end, start + bytes);
	return FRAME_HEAD + count * PIECE_BYTES + packed;
}

/* Builds the index. What is no frame is passed over up to the next one. */
static bool read_frames(struct state_pool *p, size_t size, struct err *e)
{
	const uint64_t magic = htole64(FRAME_MAGIC);
	const uint8_t *map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, p->fd, 0);
	size_t at = POOL_HEAD;

	if (map == MAP_FAILED)
		return err_set(e, "%s: %s", p->path, strerror(errno));
	if (size < POOL_HEAD || memcmp(map, POOL_MAGIC, sizeof(POOL_MAGIC)) ||
	    half(map + 16) != STATE_FILE_VERSION) {
		munmap((void *)map, size);
		return err_set(e,
			       "%s: not a pool of pages that this culprit can add to; name another "
			       "folder with -o",
			       p->path);
	}
	while (at < size && p->nframes < FRAMES_MAX) {
		const size_t n = take_frame(p, map, size, at);
		const uint8_t *next;

		if (n) {
			at += n;
			continue;
		}
		next = memmem(map + at + 1, size - at - 1, &magic, sizeof(magic));
		at = next ? (size_t)(next - map) : size;
	}
	munmap((void *)map, size);
	return true;
}

static bool write_at(int fd, uint64_t at, const uint8_t *data, size_t bytes)
{
	while (bytes) {
		ssize_t n = pwrite(fd, data, bytes, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		data += n;
		at += (size_t)n;
		bytes -= (size_t)n;
	}
	return true;
}

static bool begin_file(struct state_pool *p, struct err *e)
{
	uint8_t head[POOL_HEAD] = { 0 };
	struct stat st;

	if (flock(p->fd, LOCK_EX) < 0 || fstat(p->fd, &st) < 0)
		return err_set(e, "%s: %s", p->path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(e, "%s: not a file", p->path);
	p->file_end = (uint64_t)st.st_size;
	if (st.st_size > 0)
		return read_frames(p, (size_t)st.st_size, e);
	memcpy(head, POOL_MAGIC, sizeof(POOL_MAGIC));
	put_number(head + 16, STATE_FILE_VERSION, 4);
	if (!write_at(p->fd, 0, head, sizeof(head)))
		return err_set(e, "%s: cannot be written: %s", p->path, strerror(errno));
	p->file_end = POOL_HEAD;
	return true;
}

struct state_pool *state_pool_open(const char *folder, struct err *e)
{
	struct state_pool *p = x_calloc(1, sizeof(*p));

	p->path = x_asprintf("%s/%s", folder, STATE_POOL_NAME);
	p->zstd = ZSTD_createCCtx();
	if (mkdir(folder, 0777) < 0 && errno != EEXIST) {
		p->fd = -1;
		err_set(e, "%s: cannot be made: %s", folder, strerror(errno));
	} else {
		p->fd = open(p->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
		if (p->fd < 0)
			err_set(e, "%s: %s", p->path, strerror(errno));
	}
	if (p->fd >= 0 && p->zstd && begin_file(p, e))
		return p;
	state_pool_close(p);
	return NULL;
}

void state_pool_close(struct state_pool *p)
{
	if (!p)
		return;
	if (p->fd >= 0)
		close(p->fd);
	ZSTD_freeCCtx(p->zstd);
	free(p->frames);
	free(p->slots);
	free(p->path);
	free(p);
}

void state_pool_begin(struct state_pool *p)
{
	p->checkpoint++;
}

bool state_pool_flush(struct state_pool *p, struct err *e)
{
	uint8_t out[FRAME_HEAD + FRAME_PIECES * PIECE_BYTES + ZSTD_COMPRESSBOUND(STATE_FRAME_MAX)];
	const size_t table = (size_t)p->open_pieces * PIECE_BYTES;
	uint8_t *packed_at = out + FRAME_HEAD + table;
	struct frame *f;
	size_t packed;

	if (!p->open_bytes)
		return true;
	packed = ZSTD_compressCCtx(p->zstd, packed_at, ZSTD_COMPRESSBOUND(STATE_FRAME_MAX), p->open,
				   p->open_bytes, LEVEL);
	if (ZSTD_isError(packed))
		return err_set(e, "%s: cannot compress: %s", p->path, ZSTD_getErrorName(packed));
	f = &p->frames[p->nframes - 1].f;
	f->at = p->file_end + FRAME_HEAD + table;
	f->bytes = p->open_bytes;
	f->packed = (uint32_t)packed;
	f->sum = state_sum(packed_at, packed);
	for (uint32_t i = 0; i < p->open_pieces; i++) {
		uint8_t *piece = out + FRAME_HEAD + (size_t)i * PIECE_BYTES;

		put_number(piece, p->piece[i].bytes, 4);
		put_number(piece + 4, p->piece[i].hash.a, 8);
		put_number(piece + 12, p->piece[i].hash.b, 8);
	}
	put_number(out, FRAME_MAGIC, 8);
	put_number(out + 8, f->start, 8);
	put_number(out + 16, f->bytes, 4);
	put_number(out + 20, f->packed, 4);
	put_number(out + 24, p->open_pieces, 4);
	put_number(out + 28, 0, 4);
	put_number(out + 32, f->sum, 8);
	put_number(out + 40, state_sum(out, 40) ^ state_sum(out + FRAME_HEAD, table), 8);
	if (!write_at(p->fd, p->file_end, out, FRAME_HEAD + table + packed))
		return err_set(e, "%s: cannot be written: %s", p->path, strerror(errno));
	p->file_end += FRAME_HEAD + table + packed;
	p->end = f->start + f->bytes;
	p->open_bytes = p->open_pieces = 0;
	return true;
}

/* A frame of an earlier process: is it still what it was? */
static bool trust(struct state_pool *p, struct pool_frame *f)
{
	uint8_t packed[ZSTD_COMPRESSBOUND(STATE_FRAME_MAX)];

	if (!f->trusted)
		f->trusted = descriptor_read(p->fd, (int64_t)f->f.at, packed, f->f.packed) &&
			     state_sum(packed, f->f.packed) == f->f.sum;
	return f->trusted;
}

static bool put(void *ctx, const void *data, size_t bytes, uint64_t *id, struct err *e)
{
	struct state_pool *p = ctx;
	const struct hash h = hash_of(data, bytes);
	const struct slot *s = p->nslots ? find_slot(p, h, (uint32_t)bytes) : NULL;

	if (!bytes || bytes > STATE_FRAME_MAX)
		return err_set(e, "%s: a piece of %zu bytes does not fit", p->path, bytes);
	if (s && s->bytes && trust(p, &p->frames[s->frame])) {
		p->frames[s->frame].used = p->checkpoint;
		*id = s->id;
		return true;
	}
	if (bytes > STATE_FRAME_MAX - p->open_bytes || p->open_pieces == FRAME_PIECES)
		if (!state_pool_flush(p, e))
			return false;
	if (!p->open_bytes) {
		struct pool_frame *f = add_frame(p);

		f->f.start = p->end;
		f->trusted = true;
	}
	*id = p->end + p->open_bytes;
	memcpy(p->open + p->open_bytes, data, bytes);
	p->piece[p->open_pieces].bytes = (uint32_t)bytes;
	p->piece[p->open_pieces++].hash = h;
	p->open_bytes += (uint32_t)bytes;
	p->frames[p->nframes - 1].used = p->checkpoint;
	remember(p, h, (uint32_t)bytes, *id, p->nframes - 1);
	return true;
}

struct state_pieces state_pool_pieces(struct state_pool *p)
{
	return (struct state_pieces){ .put = put, .ctx = p };
}

static void frame_state(struct state *s, struct frame *f)
{
	state_u64(s, &f->start);
	state_u64(s, &f->at);
	state_u32(s, &f->bytes);
	state_u32(s, &f->packed);
	state_u64(s, &f->sum);
}

static int by_start(const void *a, const void *b)
{
	const struct frame *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

void state_pool_frames(struct state_pool *p, struct state *s)
{
	struct frame *list = NULL;
	size_t n = 0;

	for (size_t i = 0; i < p->nframes; i++)
		if (p->frames[i].used == p->checkpoint)
			*ARRAY_ADD(list, n) = p->frames[i].f;
	if (n)
		qsort(list, n, sizeof(*list), by_start);
	STATE_LIST(s, list, n, FRAMES_MAX, f) frame_state(s, f);
	free(list);
}

/* Reading. */

struct kept {
	uint32_t frame; /* 1 + index; 0: nothing */
	uint64_t last_use;
	uint8_t bytes[STATE_FRAME_MAX];
};

struct state_source {
	unsigned holders;
	int fd;
	char *path;
	struct frame *frames; /* by start */
	size_t nframes;
	ZSTD_DCtx *zstd;
	uint64_t uses;
	struct kept kept[KEPT];
	uint8_t packed[ZSTD_COMPRESSBOUND(STATE_FRAME_MAX)];
};

static void check_frames(const struct state_source *p, struct state *s)
{
	uint64_t end = 0;

	for (size_t i = 0; i < p->nframes; i++) {
		const struct frame *f = &p->frames[i];

		if (f->start < end || f->start > UINT64_MAX / 2 || !f->bytes ||
		    f->bytes > STATE_FRAME_MAX || f->packed > sizeof(p->packed) ||
		    f->at > INT64_MAX / 2)
			state_fail(s, "its list of frames is absurd");
		end = f->start + f->bytes;
	}
}

struct state_source *state_source_new(const char *path, struct state *frames, struct err *e)
{
	struct state_source *p = x_calloc(1, sizeof(*p));
	const size_t folder = (size_t)(path_name(path) - path);

	p->holders = 1;
	p->path = x_asprintf("%.*s%s", (int)folder, path, STATE_POOL_NAME);
	p->fd = -1;
	STATE_LIST(frames, p->frames, p->nframes, FRAMES_MAX, f) frame_state(frames, f);
	check_frames(p, frames);
	state_end(frames);
	p->zstd = ZSTD_createDCtx();
	if (!state_ok(frames)) {
		err_set(e, "%s: damaged: %s", path, state_error(frames));
	} else if (!p->nframes) {
		return p;
	} else {
		p->fd = open(p->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (p->fd >= 0 && p->zstd)
			return p;
		err_set(e, "%s: the pages of the checkpoint are missing: %s: %s", path, p->path,
			strerror(errno));
	}
	state_source_free(p);
	return NULL;
}

struct state_source *state_source_ref(struct state_source *p)
{
	p->holders++;
	return p;
}

void state_source_free(struct state_source *p)
{
	if (!p || --p->holders)
		return;
	if (p->fd >= 0)
		close(p->fd);
	ZSTD_freeDCtx(p->zstd);
	free(p->frames);
	free(p->path);
	free(p);
}

void state_source_size(const struct state_source *p, uint64_t *bytes, uint64_t *packed_bytes)
{
	for (size_t i = 0; i < p->nframes; i++) {
		*bytes += p->frames[i].bytes;
		*packed_bytes += p->frames[i].packed;
	}
}

/* The unpacked frame, from those that are kept or from the file. */
static const uint8_t *unpacked(struct state_source *p, size_t frame, struct err *e)
{
	const struct frame *f = &p->frames[frame];
	struct kept *k = &p->kept[0];
	size_t got;

	for (size_t i = 0; i < KEPT; i++) {
		if (p->kept[i].frame == frame + 1) {
			p->kept[i].last_use = ++p->uses;
			return p->kept[i].bytes;
		}
		if (p->kept[i].last_use < k->last_use)
			k = &p->kept[i];
	}
	k->frame = 0;
	if (!descriptor_read(p->fd, (int64_t)f->at, p->packed, f->packed)) {
		err_set(e, "%s: a part that the checkpoint needs is missing", p->path);
		return NULL;
	}
	if (state_sum(p->packed, f->packed) != f->sum) {
		err_set(e, "%s: damaged: a checksum is wrong", p->path);
		return NULL;
	}
	got = ZSTD_decompressDCtx(p->zstd, k->bytes, sizeof(k->bytes), p->packed, f->packed);
	if (ZSTD_isError(got) || got != f->bytes) {
		err_set(e, "%s: damaged: cannot be unpacked", p->path);
		return NULL;
	}
	k->frame = (uint32_t)frame + 1;
	k->last_use = ++p->uses;
	return k->bytes;
}

bool state_source_get(struct state_source *p, uint64_t id, void *data, size_t bytes, struct err *e)
{
	const size_t i = ARRAY_SEARCH(p->nframes, k, p->frames[k].start + p->frames[k].bytes <= id);
	const uint8_t *from;

	if (i == p->nframes || p->frames[i].start > id || bytes > p->frames[i].bytes ||
	    id - p->frames[i].start > p->frames[i].bytes - bytes)
		return err_set(e, "%s: damaged: the checkpoint has no piece %llu", p->path,
			       (unsigned long long)id);
	from = unpacked(p, i, e);
	if (from)
		memcpy(data, from + (id - p->frames[i].start), bytes);
	return from;
}

bool state_source_has(const struct state_source *p, uint64_t id, uint64_t bytes, size_t piece_bytes)
{
	size_t i = ARRAY_SEARCH(p->nframes, k, p->frames[k].start + p->frames[k].bytes <= id);
	const uint64_t end = id + bytes;
	uint64_t at = id;

	if (end < id)
		return false;
	for (; at < end; i++) {
		if (i == p->nframes || p->frames[i].start > at)
			return false;
		at = min_u64(end, p->frames[i].start + p->frames[i].bytes);
		if ((at - id) % piece_bytes)
			return false;
	}
	return true;
}

/* SPDX-License-Identifier: MIT */
/*
 * Reads trace files. The reader trusts nothing: heads are checked against the file's size, payloads
 * against their checksums, and decoding stays within bounds even if both are right and the content
 * is not.
 */
#include "trace/file_read.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/file_format.h"
#include "util/array.h"

struct trace_reader {
	const uint8_t *memory; /* NULL: it is read from fd */
	int fd;
	bool is_open; /* fd is open */
	uint64_t size;
	char *name;
	bool salvage;
	uint32_t version;
	struct info_copy info;
	bool has_info;
	struct trace_block *blocks;
	size_t nblocks;
	struct codec *codec;
	uint8_t *buffer; /* head and payload of the block being read */
	size_t capacity;
	struct trace_records records;
	size_t room_insts, room_cycles; /* of `records` */
	char damage[256];
};

static bool read_at(struct trace_reader *r, uint64_t offset, uint8_t *out, size_t size)
{
	if (offset > r->size || size > r->size - offset)
		return false;
	if (r->memory) {
		memcpy(out, r->memory + offset, size);
		return true;
	}
	while (size) {
		ssize_t n = pread(r->fd, out, size, (off_t)offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		out += n;
		offset += (uint64_t)n;
		size -= (size_t)n;
	}
	return true;
}

/* Reads head and payload of the block at offset into buffer, and checks them. */
static bool read_block(struct trace_reader *r, uint64_t offset, struct block_head *h)
{
	uint8_t head[BLOCK_HEAD_BYTES];
	if (!read_at(r, offset, head, sizeof(head)) || !block_head_get(head, h) ||
	    h->payload_bytes > r->size - offset - sizeof(head))
		return false;
	if (!r->buffer || r->capacity < h->payload_bytes) {
		free(r->buffer);
		r->capacity = (size_t)max_u64(h->payload_bytes, 4096);
		r->buffer = x_malloc(r->capacity);
	}
	return read_at(r, offset + sizeof(head), r->buffer, (size_t)h->payload_bytes) &&
	       block_check(head, r->buffer, (size_t)h->payload_bytes);
}

static bool take_info(struct trace_reader *r, const struct block_head *h)
{
	struct info_copy info;
	size_t size;
	uint8_t *text = info_unpack(r->buffer, (size_t)h->payload_bytes, &size);
	bool ok = text && info_parse(text, size, &info);
	free(text);
	if (!ok)
		return false;
	if (r->has_info)
		info_free(&r->info);
	r->info = info;
	r->has_info = true;
	if (r->version < 2)
		r->info.info.absent |= WANT_MISSES | WANT_TWIN;
	return true;
}

static bool truncated(struct trace_reader *r, struct err *e)
{
	return err_set(e,
		       "%s is truncated: its %" PRIu64
		       " bytes end without an index; add --salvage to use what is readable",
		       r->name, r->size);
}

static bool damaged(struct trace_reader *r, const char *what, uint64_t offset, struct err *e)
{
	return err_set(e,
		       "%s is damaged: %s at byte %" PRIu64
		       " is not what was written; add --salvage to use the rest",
		       r->name, what, offset);
}

static bool open_index(struct trace_reader *r, struct err *e)
{
	uint8_t foot[TRACE_FOOT_BYTES];
	struct block_head h;
	if (r->size < TRACE_HEAD_BYTES + TRACE_FOOT_BYTES ||
	    !read_at(r, r->size - sizeof(foot), foot, sizeof(foot)) ||
	    memcmp(foot + 16, TRACE_END_MAGIC, 8) || get_u64(foot) != ~get_u64(foot + 8))
		return truncated(r, e);
	uint64_t at = get_u64(foot), info_at;
	if (at > r->size || !read_block(r, at, &h) || h.kind != BLOCK_INDEX ||
	    h.payload_bytes < 8 || (h.payload_bytes - 8) % INDEX_ENTRY_BYTES)
		return damaged(r, "the index", at, e);
	info_at = get_u64(r->buffer);
	r->nblocks = (size_t)(h.payload_bytes - 8) / INDEX_ENTRY_BYTES;
	r->blocks = x_calloc(r->nblocks + 1, sizeof(*r->blocks));
	for (size_t i = 0; i < r->nblocks; i++) {
		r->blocks[i] = index_entry_get(r->buffer + 8 + i * INDEX_ENTRY_BYTES);
		const struct trace_block *b = &r->blocks[i], *before = i ? b - 1 : NULL;
		if (b->end_cycle < b->first_cycle || b->end_po < b->first_po ||
		    (before && (b->offset <= before->offset ||
				(b->ncycles && b->first_cycle < before->end_cycle))))
			return damaged(r, "an entry of the index", at, e);
	}
	if (info_at > r->size || !read_block(r, info_at, &h) || h.kind != BLOCK_INFO ||
	    !take_info(r, &h))
		return damaged(r, "the description of the run", info_at, e);
	return true;
}

/* The next offset from `at` on where a block's magic stands; the file's size if there is none. */
static uint64_t next_magic(struct trace_reader *r, uint64_t at)
{
	uint8_t chunk[1 << 16];
	while (at < r->size) {
		size_t n = (size_t)min_u64(sizeof(chunk), r->size - at);
		if (n < 4 || !read_at(r, at, chunk, n))
			break;
		for (size_t i = 0; i + 4 <= n; i++)
			if (get_u32(chunk + i) == BLOCK_MAGIC)
				return at + i;
		at += n - 3;
		if (n < sizeof(chunk))
			break;
	}
	return r->size;
}

static bool decode(struct trace_reader *r, const struct block_head *h)
{
	struct trace_records *to = &r->records;
	if (h->ninsts > r->room_insts) {
		free(to->insts);
		r->room_insts = h->ninsts;
		to->insts = x_calloc(r->room_insts, sizeof(*to->insts));
	}
	if (h->ncycles > r->room_cycles) {
		free(to->cycles);
		r->room_cycles = h->ncycles;
		to->cycles = x_calloc(r->room_cycles, sizeof(*to->cycles));
	}
	to->ninsts = h->ninsts;
	to->ncycles = h->ncycles;
	if (!codec_decode(r->codec, r->buffer, (size_t)h->payload_bytes, to->insts, h->ninsts,
			  to->cycles, h->ncycles))
		return false;
	to->nmisses = codec_misses(r->codec, &to->misses);
	to->ntwins = codec_twins(r->codec, &to->twins);
	return true;
}

/*
 * Limits on repeated cycles. Analyses count and sample every cycle, so a record that claims to
 * stand for very many would keep them busy for ever. A modelled core is never idle for longer than
 * a few system calls or misses of the slowest memory that a machine file can describe, and few such
 * times follow each other.
 */
#define SILENCE_MAX   (1u << 24) /* cycles of one record */
#define SILENCE_MEAN  (1u << 17) /* cycles of a record, on average over a block */
#define SILENCE_FIRST (1u << 26) /* cycles of a block beyond that average */
#define CYCLE_MAX     (1ull << 60)

/* Checks the records of a block; returns NULL or what is wrong with them. */
static const char *absurd(const struct trace_records *b, const struct block_head *h)
{
	uint64_t end = 0, sum = 0;
	for (size_t i = 0; i < b->ncycles; i++) {
		const struct rec_cycle *c = &b->cycles[i];
		if (!c->repeat || c->repeat > SILENCE_MAX || c->cycle < end || c->cycle > CYCLE_MAX)
			return "a cycle count";
		end = c->cycle + c->repeat;
		sum += c->repeat;
	}
	if (sum > SILENCE_FIRST + (uint64_t)SILENCE_MEAN * b->ncycles)
		return "the sum of cycle counts";
	if (b->ncycles && (h->first_cycle != b->cycles[0].cycle || h->end_cycle != end))
		return "the range of cycles";
	for (size_t i = 0; i < b->ninsts; i++)
		if (b->insts[i].fetch > CYCLE_MAX || b->insts[i].po > CYCLE_MAX)
			return "an instruction's cycle";
	if (h->end_po < h->first_po || h->end_po > CYCLE_MAX)
		return "the range of instructions";
	for (size_t i = 0; i < b->nmisses; i++)
		if (b->misses[i].begin > CYCLE_MAX || b->misses[i].kind >= MISS_KINDS)
			return "a miss";
	for (size_t i = 0; i < b->ntwins; i++)
		if (b->twins[i].dispatch > CYCLE_MAX || b->twins[i].po > CYCLE_MAX)
			return "a twin's stamp";
	return NULL;
}

static bool add_block(struct trace_reader *r, uint64_t offset, const struct block_head *h)
{
	if (!r->codec)
		return false;
	if (!decode(r, h) || absurd(&r->records, h))
		return false;
	*ARRAY_ADD(r->blocks, r->nblocks) = block_entry(offset, h);
	return true;
}

static void make_codec(struct trace_reader *r)
{
	r->codec = codec_new(&r->info.info.meta);
	if (r->version == 2)
		codec_read_version_2(r->codec);
}

/* Finds blocks without the index: every whole block that is in its place or comes after a damaged
 * stretch. */
static bool scan_blocks(struct trace_reader *r, struct err *e)
{
	uint64_t at = TRACE_HEAD_BYTES, lost = 0;
	bool index = false;
	while (at < r->size) {
		struct block_head h;
		bool ok = read_block(r, at, &h);
		if (ok && h.kind == BLOCK_INFO) {
			ok = take_info(r, &h);
			if (ok && !r->codec)
				make_codec(r);
		} else if (ok && h.kind == BLOCK_RECORDS) {
			ok = add_block(r, at, &h);
		} else if (ok) {
			index = true;
		}
		if (ok) {
			at += BLOCK_HEAD_BYTES + h.payload_bytes;
			if (index && r->size - at == TRACE_FOOT_BYTES)
				break;
			continue;
		}
		uint64_t next = next_magic(r, at + 1);
		lost += next - at;
		at = next;
	}
	if (!r->has_info)
		return err_set(e,
			       "%s has no readable description of its run; nothing can be salvaged",
			       r->name);
	if (lost)
		snprintf(r->damage, sizeof(r->damage),
			 "%" PRIu64 " of %" PRIu64 " bytes are damaged and were left out", lost,
			 r->size);
	else if (!index)
		snprintf(r->damage, sizeof(r->damage), "the file ends early");
	return true;
}

static bool open_reader(struct trace_reader *r, struct err *e)
{
	uint8_t head[TRACE_HEAD_BYTES];
	if (!read_at(r, 0, head, sizeof(head)) || memcmp(head, TRACE_MAGIC, 8))
		return err_set(e,
			       "%s is not a culprit trace; `culprit sim --trace FILE` writes them",
			       r->name);
	const uint32_t version = r->version = get_u32(head + 8);
	if (version > TRACE_VERSION)
		return err_set(e,
			       "%s has trace format version %u, this culprit reads up to %u; use a "
			       "newer culprit",
			       r->name, version, TRACE_VERSION);
	if (!version)
		return damaged(r, "the version", 8, e);
	if (r->salvage)
		return scan_blocks(r, e);
	if (!open_index(r, e))
		return false;
	make_codec(r);
	return true;
}

static struct trace_reader *finish_open(struct trace_reader *r, struct err *e)
{
	if (open_reader(r, e))
		return r;
	trace_reader_close(r);
	return NULL;
}

struct trace_reader *trace_reader_open(const char *path, bool salvage, struct err *e)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		err_set(e, "cannot read %s: %s", path,
			fd < 0 ? strerror(errno) : "it is not a regular file");
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	struct trace_reader *r = x_calloc(1, sizeof(*r));
	r->fd = fd;
	r->is_open = true;
	r->size = (uint64_t)st.st_size;
	r->name = x_strdup(path);
	r->salvage = salvage;
	return finish_open(r, e);
}

struct trace_reader *trace_reader_open_memory(const uint8_t *data, size_t size, const char *name,
					      bool salvage, struct err *e)
{
	struct trace_reader *r = x_calloc(1, sizeof(*r));
	r->memory = data;
	r->size = size;
	r->name = x_strdup(name);
	r->salvage = salvage;
	return finish_open(r, e);
}

void trace_reader_close(struct trace_reader *r)
{
	if (!r)
		return;
	if (r->is_open)
		close(r->fd);
	if (r->has_info)
		info_free(&r->info);
	codec_free(r->codec);
	free(r->records.insts);
	free(r->records.cycles);
	free(r->blocks);
	free(r->buffer);
	free(r->name);
	free(r);
}

const struct trace_info *trace_reader_info(const struct trace_reader *r)
{
	return &r->info.info;
}

const char *trace_reader_damage(const struct trace_reader *r)
{
	return r->damage;
}

size_t trace_reader_blocks(const struct trace_reader *r)
{
	return r->nblocks;
}

const struct trace_block *trace_reader_block(const struct trace_reader *r, size_t index)
{
	return &r->blocks[index];
}

size_t trace_reader_find_cycle(const struct trace_reader *r, uint64_t cycle)
{
	return ARRAY_SEARCH(r->nblocks, i, r->blocks[i].end_cycle <= cycle);
}

size_t trace_reader_find_inst(const struct trace_reader *r, uint64_t po)
{
	return ARRAY_SEARCH(r->nblocks, i, r->blocks[i].end_po <= po);
}

bool trace_reader_read(struct trace_reader *r, size_t index, struct trace_records *out,
		       struct err *e)
{
	const struct trace_block *b = &r->blocks[index];
	struct block_head h;
	if (!read_block(r, b->offset, &h) || h.kind != BLOCK_RECORDS || !decode(r, &h)) {
		char what[40];
		snprintf(what, sizeof(what), "block %zu of %zu", index + 1, r->nblocks);
		return damaged(r, what, b->offset, e);
	}
	const char *wrong = absurd(&r->records, &h);
	if (!wrong && (h.first_cycle != b->first_cycle || h.end_cycle != b->end_cycle ||
		       h.first_po != b->first_po || h.end_po != b->end_po))
		wrong = "the index entry";
	if (wrong)
		return err_set(e,
			       "%s is damaged: %s of block %zu of %zu at byte %" PRIu64
			       " is one that no run can have",
			       r->name, wrong, index + 1, r->nblocks, b->offset);
	*out = r->records;
	return true;
}

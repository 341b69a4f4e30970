/* SPDX-License-Identifier: MIT */
/*
 * Readers of perf maps (text, one line per function) and of jitdump files (perf's
 * jitdump-specification). Both files grow while they are read, are written by the program that is
 * profiled, and may hold anything.
 *
 * Of a jitdump, headers and names are read, and where the code is; the code itself only if it is
 * asked for. Line tables (JIT_CODE_DEBUG_INFO) and unwinding tables are passed over.
 */
#include "collect/jit_files.h"

#include <string.h>
#include <unistd.h>

#include "collect/identity.h"
#include "util/util.h"

/* ---- Perf maps ---- */

/* A hexadecimal number, with or without 0x, and one space after it. */
static bool take_hex(const char **at, const char *end, uint64_t *value)
{
	const char *s = *at;
	unsigned digits = 0;

	if (end - s > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X'))
		s += 2;
	for (*value = 0; s < end; s++, digits++) {
		const char c = *s;
		unsigned d;

		if (c >= '0' && c <= '9')
			d = (unsigned)(c - '0');
		else if ((c | 32) >= 'a' && (c | 32) <= 'f')
			d = (unsigned)((c | 32) - 'a' + 10);
		else
			break;
		if (*value >> 60)
			return false;
		*value = *value << 4 | d;
	}
	if (!digits || s == end || *s != ' ')
		return false;
	*at = s + 1;
	return true;
}

static void parse_line(const char *at, const char *end, jit_found *found, void *self)
{
	struct jit_load l = { 0 };

	if (!take_hex(&at, end, &l.start) || !take_hex(&at, end, &l.size_bytes) || at == end ||
	    !l.size_bytes || l.start + l.size_bytes < l.start ||
	    memchr(at, '\0', (size_t)(end - at)))
		return;
	l.name = at;
	l.name_bytes = min_u64((uint64_t)(end - at), JIT_NAME_BYTES);
	found(self, &l);
}

size_t jit_parse_map(const char *text, size_t size_bytes, jit_found *found, void *self)
{
	size_t at = 0;

	while (at < size_bytes) {
		const char *end = memchr(text + at, '\n', size_bytes - at);

		if (!end)
			break;
		parse_line(text + at, end, found, self);
		at = (size_t)(end - text) + 1;
	}
	return at;
}

/* ---- jitdump ---- */

#define DUMP_MAGIC 0x4A695444u
enum { CODE_LOAD, CODE_MOVE };

struct dump_head {
	uint32_t magic, version, total_size, elf_mach, pad, pid;
	uint64_t timestamp, flags;
};

struct record_head {
	uint32_t id, total_size;
	uint64_t timestamp;
};

struct load_record {
	struct record_head head;
	uint32_t pid, tid;
	uint64_t vma, address, size_bytes, index;
};

struct move_record {
	struct record_head head;
	uint32_t pid, tid;
	uint64_t vma, from, to, size_bytes, index;
};

/* The name follows the record, and the code follows the name. */
static void read_load(int fd, uint64_t at, const struct record_head *h, jit_found *found,
		      void *self)
{
	struct load_record r;
	char name[JIT_NAME_BYTES + 1];

	if (h->total_size <= sizeof(r) || !elf_read(fd, at, &r, sizeof(r)))
		return;
	const size_t room = min_u64(h->total_size - sizeof(r), sizeof(name));

	if (!elf_read(fd, at + sizeof(r), name, room))
		return;
	const size_t n = strnlen(name, room);

	if (!n || !r.size_bytes || r.address + r.size_bytes < r.address)
		return;
	struct jit_load l = { r.address, r.size_bytes, name, min_u64(n, JIT_NAME_BYTES), 0 };

	/* The code is at the end of the record, if that is large enough for both. */
	if (r.size_bytes <= h->total_size - sizeof(r) - n)
		l.code_at = at + h->total_size - r.size_bytes;
	found(self, &l);
}

static void read_move(int fd, uint64_t at, const struct record_head *h, jit_found *found,
		      void *self)
{
	struct move_record r;

	if (h->total_size < sizeof(r) || !elf_read(fd, at, &r, sizeof(r)) || !r.size_bytes ||
	    r.to + r.size_bytes < r.to)
		return;
	/* Without a name: that of the code at `from`, which code_at carries. */
	found(self, &(struct jit_load){ r.to, r.size_bytes, "", 0, r.from });
}

bool jit_read_dump(int fd, uint64_t *at, uint64_t limit_bytes, jit_found *found, void *self)
{
	struct record_head h;
	const uint64_t begin = *at;

	if (!*at) {
		struct dump_head d;

		if (!elf_read(fd, 0, &d, sizeof(d)) || d.magic != DUMP_MAGIC || d.version != 1 ||
		    d.total_size < sizeof(d) || d.total_size > 65536)
			return false;
		*at = d.total_size;
	}
	while (*at - begin < limit_bytes && elf_read(fd, *at, &h, sizeof(h))) {
		uint8_t last;

		if (h.total_size < sizeof(h))
			return false;
		/* A record that is still being written is read next time. */
		if (!elf_read(fd, *at + h.total_size - 1, &last, 1))
			break;
		if (h.id == CODE_LOAD)
			read_load(fd, *at, &h, found, self);
		else if (h.id == CODE_MOVE)
			read_move(fd, *at, &h, found, self);
		*at += h.total_size;
	}
	return true;
}

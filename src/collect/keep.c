/* SPDX-License-Identifier: MIT */
/*
 * What is kept of images that nobody will find again: removed files, memfds, files of other mount
 * namespaces, generated code, the vdso, and the kernel, whose symbols are gone after the next boot.
 * Of these, functions that were executed are kept, with name and code; of the kernel the names alone.
 * Offsets without a known function wait until the next cut, when all of an image are looked up by one
 * pass over its symbol table.
 *
 * Limits: KEPT_IMAGE_BYTES for an image, KEPT_BYTES for all. What is above is left out.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/identity.h"
#include "collect/maps_int.h"
#include "util/array.h"

#define PENDING_MAX   4096
#define FUNCTION_MAX  65536 /* bytes of code of one function */
#define BLOCK_BYTES   256   /* of code without a function */
#define SECTIONS_MAX  4096
#define SYMBOLS_MAX   (4u << 20)
#define SEGMENTS_KEPT 32
#define NAME_BYTES    512

struct kept {
	uint64_t *pending;
	size_t npending;
	struct live_symbol *symbols; /* by offset */
	size_t nsymbols;
	struct live_code *code; /* by offset */
	size_t ncode;
	size_t bytes;
	bool changed;
};

/* ---- Adding ---- */

static bool is_known(const struct kept *k, uint64_t offset)
{
	const size_t s = ARRAY_SEARCH(k->nsymbols, i, k->symbols[i].offset <= offset);
	const size_t c = ARRAY_SEARCH(k->ncode, i, k->code[i].offset <= offset);

	if (s && offset - k->symbols[s - 1].offset < max_u64(k->symbols[s - 1].size_bytes, 1))
		return true;
	return c && offset - k->code[c - 1].offset < k->code[c - 1].size_bytes;
}

static bool has_room(struct maps *m, const struct kept *k, size_t bytes)
{
	if (k->bytes + bytes <= KEPT_IMAGE_BYTES && m->kept_bytes + bytes <= KEPT_BYTES)
		return true;
	maps_note(m,
		  "images that cannot be found again have more than %u MiB of functions, or all "
		  "together more than %u: the rest has no names",
		  KEPT_IMAGE_BYTES >> 20, KEPT_BYTES >> 20);
	return false;
}

static void add_symbol(struct maps *m, struct kept *k, uint64_t offset, uint64_t size_bytes,
		       const char *name)
{
	const size_t at = ARRAY_SEARCH(k->nsymbols, i, k->symbols[i].offset < offset),
		     bytes = sizeof(struct live_symbol) + strlen(name) + 1;

	if (!has_room(m, k, bytes))
		return;
	if (at < k->nsymbols && k->symbols[at].offset == offset) {
		/* Generated code that took the place of other code. */
		if (strcmp(k->symbols[at].name, name) == 0 &&
		    k->symbols[at].size_bytes == size_bytes)
			return;
		free(k->symbols[at].name);
	} else {
		(void)ARRAY_ADD(k->symbols, k->nsymbols);
		memmove(&k->symbols[at + 1], &k->symbols[at],
			(k->nsymbols - 1 - at) * sizeof(*k->symbols));
	}
	k->symbols[at] = (struct live_symbol){ offset, size_bytes, x_strdup(name) };
	k->bytes += bytes;
	m->kept_bytes += bytes;
	k->changed = true;
}

/* Takes over bytes. */
static void add_code(struct maps *m, struct kept *k, uint64_t offset, uint64_t size_bytes,
		     uint8_t *bytes)
{
	const size_t at = ARRAY_SEARCH(k->ncode, i, k->code[i].offset < offset);

	if (!size_bytes || !has_room(m, k, size_bytes + sizeof(struct live_code)) ||
	    (at < k->ncode && k->code[at].offset == offset)) {
		free(bytes);
		return;
	}
	(void)ARRAY_ADD(k->code, k->ncode);
	memmove(&k->code[at + 1], &k->code[at], (k->ncode - 1 - at) * sizeof(*k->code));
	k->code[at] = (struct live_code){ offset, size_bytes, bytes };
	k->bytes += size_bytes + sizeof(struct live_code);
	m->kept_bytes += size_bytes + sizeof(struct live_code);
	k->changed = true;
}

/* Reads code that starts at `at` of a file and counts as `offset`. */
static void read_code(struct maps *m, struct kept *k, int fd, uint64_t at, uint64_t offset,
		      uint64_t size_bytes)
{
	uint8_t *bytes;

	size_bytes = min_u64(size_bytes, FUNCTION_MAX);
	if (at > INT64_MAX - size_bytes)
		return;
	bytes = x_malloc(size_bytes);
	const ssize_t n = pread(fd, bytes, size_bytes, (off_t)at);

	add_code(m, k, offset, n > 0 ? (uint64_t)n : 0, bytes);
}

/* ---- ELF files ---- */

struct function {
	uint64_t offset, size_bytes; /* size 0: none found */
	uint64_t name_at;	     /* in the file */
};

struct lookup {
	int fd;
	struct elf_head head;
	struct elf_segment loads[SEGMENTS_KEPT];
	size_t nloads;
	const uint64_t *hits; /* sorted */
	size_t nhits;
	struct function *found; /* for each hit */
};

static bool to_offset(const struct lookup *l, uint64_t address, uint64_t *offset)
{
	for (size_t i = 0; i < l->nloads; i++)
		if (address >= l->loads[i].address &&
		    address - l->loads[i].address < l->loads[i].file_bytes) {
			*offset = l->loads[i].offset + (address - l->loads[i].address);
			return true;
		}
	return false;
}

/* Of functions that overlap, the one that starts last is the innermost. */
static void try_symbol(struct lookup *l, uint64_t address, uint64_t size_bytes, uint64_t name_at)
{
	uint64_t offset;

	if (!size_bytes || !to_offset(l, address, &offset))
		return;
	for (size_t i = ARRAY_SEARCH(l->nhits, k, l->hits[k] < offset);
	     i < l->nhits && l->hits[i] - offset < size_bytes; i++)
		if (!l->found[i].size_bytes || l->found[i].offset < offset)
			l->found[i] = (struct function){ offset, size_bytes, name_at };
}

struct section {
	uint32_t type, link;
	uint64_t offset, size_bytes;
};

static bool read_section(const struct lookup *l, uint32_t i, struct section *s)
{
	const size_t need = l->head.is64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
	const uint64_t at = l->head.shoff + (uint64_t)i * l->head.shentsize;
	union {
		Elf64_Shdr s64;
		Elf32_Shdr s32;
	} h;

	if (i >= l->head.shnum || l->head.shentsize < need || l->head.shoff > INT64_MAX / 2 ||
	    !elf_read(l->fd, at, &h, need))
		return false;
	*s = l->head.is64
		 ? (struct section){ h.s64.sh_type, h.s64.sh_link, h.s64.sh_offset, h.s64.sh_size }
		 : (struct section){ h.s32.sh_type, h.s32.sh_link, h.s32.sh_offset, h.s32.sh_size };
	return true;
}

static void read_symbols(struct lookup *l, const struct section *s)
{
	enum { MANY = 1024 };
	const size_t entry = l->head.is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
	const uint64_t count = min_u64(s->size_bytes / entry, SYMBOLS_MAX);
	struct section names;

	if (s->offset > INT64_MAX / 2 || !read_section(l, s->link, &names) ||
	    names.type != SHT_STRTAB || names.offset > INT64_MAX / 2)
		return;
	uint8_t *chunk = x_malloc(MANY * entry);

	for (uint64_t at = 0; at < count; at += MANY) {
		const size_t n = min_u64(MANY, count - at);

		if (!elf_read(l->fd, s->offset + at * entry, chunk, n * entry))
			break;
		for (size_t i = 0; i < n; i++) {
			Elf64_Sym y = { 0 };

			if (l->head.is64) {
				memcpy(&y, chunk + i * entry, sizeof(y));
			} else {
				Elf32_Sym z;

				memcpy(&z, chunk + i * entry, sizeof(z));
				y = (Elf64_Sym){ .st_name = z.st_name,
						 .st_info = z.st_info,
						 .st_value = z.st_value,
						 .st_size = z.st_size };
			}
			const unsigned type = ELF64_ST_TYPE(y.st_info);

			if ((type == STT_FUNC || type == STT_GNU_IFUNC) &&
			    y.st_name < names.size_bytes)
				try_symbol(l, y.st_value, y.st_size, names.offset + y.st_name);
		}
	}
	free(chunk);
}

static bool lookup_open(struct lookup *l)
{
	struct elf_segment s;

	if (!elf_read_head(l->fd, &l->head))
		return false;
	for (unsigned i = 0; l->nloads < SEGMENTS_KEPT && elf_read_segment(l->fd, &l->head, i, &s);
	     i++)
		if (s.type == PT_LOAD)
			l->loads[l->nloads++] = s;
	return true;
}

static void keep_file(struct maps *m, struct kept *k, int fd)
{
	struct lookup l = { .fd = fd, .hits = k->pending, .nhits = k->npending };
	struct section s;
	char name[NAME_BYTES + 1];

	if (!lookup_open(&l))
		return;
	l.found = x_calloc(l.nhits, sizeof(*l.found));
	for (uint32_t i = 0; i < SECTIONS_MAX && read_section(&l, i, &s); i++)
		if (s.type == SHT_SYMTAB || s.type == SHT_DYNSYM)
			read_symbols(&l, &s);
	for (size_t i = 0; i < l.nhits; i++) {
		const struct function *f = &l.found[i];

		if (is_known(k, l.hits[i]))
			continue;
		if (!f->size_bytes) {
			const uint64_t at = l.hits[i] & ~(uint64_t)(BLOCK_BYTES - 1);

			read_code(m, k, fd, at, at, BLOCK_BYTES);
			continue;
		}
		const ssize_t n = pread(fd, name, NAME_BYTES, (off_t)f->name_at);

		name[n > 0 ? n : 0] = '\0';
		if (name[0])
			add_symbol(m, k, f->offset, f->size_bytes, name);
		read_code(m, k, fd, f->offset, f->offset, f->size_bytes);
	}
	free(l.found);
}

/* ---- Generated code ---- */

static void keep_jit(struct maps *m, struct kept *k, struct jit *j)
{
	for (size_t i = 0; j && i < k->npending; i++) {
		struct jit_function f;

		if (is_known(k, k->pending[i]) || !jit_function(m, j, k->pending[i], &f))
			continue;
		add_symbol(m, k, f.start, f.size_bytes, f.name);
		if (f.code_fd >= 0) {
			read_code(m, k, f.code_fd, f.code_at, f.start, f.size_bytes);
		} else if (f.pid && m->proc) {
			char *path = x_asprintf("%s/%d/mem", m->proc, f.pid);
			const int fd = open(path, O_RDONLY | O_CLOEXEC);

			free(path);
			if (fd < 0)
				continue;
			read_code(m, k, fd, f.start, f.start, f.size_bytes);
			close(fd);
		}
	}
}

/* ---- The kernel ---- */

static void keep_kernel(struct maps *m, const struct maps_image *image)
{
	struct kept *k = image->kept;

	for (size_t i = 0; i < k->npending; i++) {
		uint64_t start, end;
		const char *name = kernel_name(m, image->start + k->pending[i], &start, &end);

		if (name && start >= image->start && !is_known(k, k->pending[i]))
			add_symbol(m, k, start - image->start, min_u64(end, image->end) - start,
				   name);
	}
}

/* ---- For all ---- */

static bool is_wanted(const struct maps *m, const struct maps_image *i)
{
	switch (i->kind) {
	case LIVE_FILE:
	case LIVE_VDSO:
		return i->pin >= 0;
	case LIVE_KERNEL:
	case LIVE_MODULE:
		return m->proc && i->start;
	case LIVE_BPF:
	case LIVE_JIT:
		return true;
	default:
		return false;
	}
}

static int by_value(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void make_unique(struct kept *k)
{
	size_t n = 0;

	qsort(k->pending, k->npending, sizeof(*k->pending), by_value);
	for (size_t i = 0; i < k->npending; i++)
		if (!n || k->pending[n - 1] != k->pending[i])
			k->pending[n++] = k->pending[i];
	k->npending = n;
}

void keep_hit(struct maps *m, uint32_t image, uint64_t offset)
{
	struct maps_image *i = &m->images[image];

	if (!is_wanted(m, i))
		return;
	if (!i->kept)
		i->kept = x_calloc(1, sizeof(*i->kept));
	struct kept *k = i->kept;

	if (is_known(k, offset))
		return;
	if (k->npending == PENDING_MAX)
		make_unique(k);
	if (k->npending == PENDING_MAX)
		return;
	if (!k->pending)
		k->pending = x_malloc(PENDING_MAX * sizeof(*k->pending));
	k->pending[k->npending++] = offset;
}

void keep_publish(struct maps *m)
{
	for (uint32_t i = 0; i < m->nimages; i++) {
		struct maps_image *image = &m->images[i];
		struct kept *k = image->kept;

		if (image->number != MAPS_NONE && m->proc)
			maps_image_recheck(m, image);
		if (!k || !k->npending)
			continue;
		make_unique(k);
		if (image->kind == LIVE_KERNEL || image->kind == LIVE_MODULE)
			keep_kernel(m, image);
		else if (image->kind == LIVE_BPF)
			add_symbol(m, k, 0, image->end - image->start, image->name);
		else if (image->kind == LIVE_JIT)
			keep_jit(m, k, image->jit);
		else
			keep_file(m, k, image->pin);
		k->npending = 0;
	}
	for (uint32_t i = 0; i < m->nimages; i++) {
		struct kept *k = m->images[i].kept;

		if (!k)
			continue;
		free(k->pending);
		k->pending = NULL;
		if (!k->changed)
			continue;
		struct live_image out = maps_live_image(&m->images[i]);

		out.symbols = k->symbols;
		out.nsymbols = k->nsymbols;
		out.code = k->code;
		out.ncode = k->ncode;
		m->images[i].number = m->sink.image(m->sink.self, &out);
		k->changed = false;
		/* Its process is forgotten: nothing more will be asked. */
		if (m->images[i].kind == LIVE_JIT && !m->images[i].jit) {
			m->kept_bytes -= keep_free(k);
			m->images[i].kept = NULL;
		}
	}
}

size_t keep_free(struct kept *k)
{
	const size_t bytes = k->bytes;

	for (size_t i = 0; i < k->nsymbols; i++)
		free(k->symbols[i].name);
	for (size_t i = 0; i < k->ncode; i++)
		free(k->code[i].bytes);
	free(k->symbols);
	free(k->code);
	free(k->pending);
	free(k);
	return bytes;
}
